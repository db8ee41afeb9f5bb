//! A client as a test sees it: it logs in, asks, and reads what it gets as one line a message.

use engine::Peer;
use wire::backend::{command_complete, data_row, row_description};
use wire::{Fields, PROTOCOL_3_0, tag::backend as tag, write};

use crate::world::{Plug, World};

/// A result of SHOW.
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, u32)>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// The column of this name, row by row; NULL is `<null>`.
    pub(crate) fn column(&self, name: &str) -> Vec<&str> {
        let at = self.columns.iter().position(|(column, _)| column == name);
        let at = at.unwrap_or_else(|| panic!("no column {name}"));
        self.rows.iter().map(|row| row[at].as_deref().unwrap_or("<null>")).collect()
    }

    /// The one row whose first cells are these.
    pub(crate) fn row(&self, first: &[&str]) -> Vec<&str> {
        let cells = |row: &Vec<Option<String>>| -> Vec<String> {
            row.iter().map(|cell| cell.clone().unwrap_or_else(|| "<null>".into())).collect()
        };
        let mut found = self.rows.iter().filter(|row| cells(row)[..first.len()] == *first);
        let row = found.next().unwrap_or_else(|| panic!("no row {first:?}: {:?}", self.rows));
        assert!(found.next().is_none(), "several rows {first:?}");
        row.iter().map(|cell| cell.as_deref().unwrap_or("<null>")).collect()
    }
}

pub(crate) fn tcp(port: u16) -> Peer {
    Peer::Tcp { from: ([10, 0, 0, 9], port).into(), at: ([10, 0, 0, 1], 6432).into() }
}

pub(crate) fn unix(uid: u32) -> Peer {
    Peer::Unix { pid: 4711, uid, port: 6432 }
}

/// Bytes built by a writer of the crate `wire`.
pub(crate) fn bytes(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    build(&mut out);
    out
}

pub(crate) fn query(text: &str) -> Vec<u8> {
    bytes(|out| write::query(out, text.as_bytes()))
}

pub(crate) fn startup(user: &str, database: &str, more: &[(&[u8], &[u8])]) -> Vec<u8> {
    let names = [(&b"user"[..], user.as_bytes()), (b"database", database.as_bytes())];
    bytes(|out| write::startup(out, PROTOCOL_3_0, &[&names[..], more].concat()))
}

impl World {
    /// Somebody connects and sends a StartupMessage.
    pub(crate) fn enter(&mut self, worker: u8, peer: Peer, user: &str, database: &str) -> Plug {
        let plug = self.accept(worker, peer);
        self.say(plug, &startup(user, database, &[]));
        plug
    }

    /// A console session of the process's owner, with the welcome read.
    pub(crate) fn owner(&mut self, worker: u8) -> Plug {
        let plug = self.enter(worker, unix(crate::world::UID), "pgbouncer", "pgbouncer");
        assert_eq!(self.lines(plug).last().unwrap(), "ReadyForQuery");
        plug
    }

    /// A client that has logged in to a pool, with the welcome read.
    pub(crate) fn client(&mut self, worker: u8, user: &str, database: &str) -> Plug {
        let plug = self.enter(worker, tcp(5000), user, database);
        assert_eq!(self.lines(plug).last().unwrap(), "ReadyForQuery");
        plug
    }

    /// Sends a query and reads what comes at once.
    pub(crate) fn ask(&mut self, plug: Plug, text: &str) -> Vec<String> {
        self.say(plug, &query(text));
        self.lines(plug)
    }

    /// What a client has got, a line a message.
    pub(crate) fn lines(&mut self, plug: Plug) -> Vec<String> {
        messages(&self.hear(plug)).iter().map(|(tag, body)| line(*tag, body)).collect()
    }

    /// Sends a SHOW and reads its table.
    pub(crate) fn show(&mut self, plug: Plug, what: &str) -> Table {
        self.say(plug, &query(&format!("SHOW {what}")));
        self.table(plug)
    }

    /// Reads a table.
    pub(crate) fn table(&mut self, plug: Plug) -> Table {
        let heard = self.hear(plug);
        let messages = messages(&heard);
        let tags: String = messages.iter().map(|(tag, _)| char::from(*tag)).collect();
        let rows = messages.len() - 3;
        assert_eq!(tags, format!("T{}CZ", "D".repeat(rows)));
        assert_eq!(command_complete(&messages[rows + 1].1).unwrap(), b"SHOW");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let columns = row_description(&messages[0].1).unwrap();
        let columns: Vec<_> = columns.map(|column| (text(column.name), column.type_oid)).collect();
        let row = |body: &[u8]| -> Vec<Option<String>> {
            data_row(body).unwrap().map(|cell| cell.map(text)).collect()
        };
        let rows: Vec<_> = messages[1..=rows].iter().map(|(_, body)| row(body)).collect();
        assert!(rows.iter().all(|row| row.len() == columns.len()));
        Table { columns, rows }
    }
}

/// Takes messages apart: tag and body.
pub(crate) fn messages(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some(head) = wire::header(bytes).unwrap() {
        let (message, rest) = bytes.split_at(head.total as usize);
        found.push((head.tag, wire::frame::body(message).to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "the last message is whole");
    found
}

fn line(tag: u8, body: &[u8]) -> String {
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    match tag {
        tag::ERROR_RESPONSE | tag::NOTICE_RESPONSE => {
            let fields = Fields::parse(body).unwrap();
            let [severity, code] = [fields.severity(), fields.code()].map(text);
            let [message, detail] = [fields.message(), fields.detail()].map(text);
            let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
            format!("{severity} {code} {message}{detail}")
        }
        tag::COMMAND_COMPLETE => text(Some(command_complete(body).unwrap())),
        tag::PARAMETER_STATUS => {
            let (name, value) = wire::backend::parameter_status(body).unwrap();
            format!("{}={}", text(Some(name)), text(Some(value)))
        }
        tag::READY_FOR_QUERY => {
            let in_block = if body == b"I" { "" } else { " in a transaction" };
            format!("ReadyForQuery{in_block}")
        }
        _ => wire::tag::backend_name(tag).unwrap().into(),
    }
}
