//! SHOW CLIENTS, SHOW SERVERS, SHOW SOCKETS and SHOW ACTIVE_SOCKETS: connections, one by one.
//!
//! The latter two say as well what waits in the buffers of a connection, and call its state by a
//! name that tells clients (`cl_`) and servers (`sv_`) apart (PgBouncer).

use crate::admin::calendar;
use crate::admin::report::{Buffers, Socket};
use crate::admin::sheet::Type::{Int4, Text};
use crate::admin::sheet::{Column, Sheet};
use crate::time::{SECOND, Time};

pub(super) fn plain(sheet: &mut Sheet, sockets: &[Socket], wall: u64) {
    for socket in sockets {
        row(sheet, socket, socket.state, wall);
        sheet.end_row();
    }
}

pub(super) fn with_buffers<'a>(
    sheet: &mut Sheet,
    sockets: impl Iterator<Item = &'a Socket>,
    wall: u64,
) {
    for socket in sockets {
        row(sheet, socket, &state(socket), wall);
        buffers(sheet, socket.buffers);
        sheet.end_row();
    }
}

/// PgBouncer: clients that are idle are active clients, too.
fn state(socket: &Socket) -> String {
    match (socket.kind, socket.state) {
        ("C", "idle") => "cl_active".to_owned(),
        ("C", state) => format!("cl_{state}"),
        (_, state) => format!("sv_{state}"),
    }
}

fn buffers(sheet: &mut Sheet, buffers: Buffers) {
    let Buffers { kept, rest, sent, unsent } = buffers;
    sheet.number(kept).number(FRONT).number(rest);
    sheet.number(sent).number(0_u32).number(kept).number(unsent);
}

fn row(sheet: &mut Sheet, socket: &Socket, state: &str, wall: u64) {
    let date = |at: Time| calendar::print(wall.saturating_add(at.0));
    let login = socket.login.as_ref();
    let (database, user) = login.map_or(NOBODY, |(database, user)| (database, user));
    let ends = &socket.ends;
    sheet.text(socket.kind).text(user).text(database).text("none").text(state);
    sheet.text(&ends.peer).number(ends.peer_port).text(&ends.own).number(ends.own_port);
    sheet.text(&date(socket.connected)).text(&date(socket.requested));
    sheet.number(socket.wait / SECOND).number(socket.wait % SECOND);
    sheet.number(u32::from(socket.close_needed));
    sheet.text(&format!("{:#x}", socket.pointer));
    sheet.text(&socket.link.map_or(String::new(), |link| format!("{link:#x}")));
    // A key that another pooler made may not fit the column: PgBouncer prints it signed.
    sheet.signed(socket.pid as i32);
    let name = String::from_utf8_lossy(&socket.application_name);
    sheet.text(NO_TLS).text(&name).number(NO_STATEMENTS);
    sheet.number(socket.number);
}

/// What is kept of a connection's bytes begins with the message that is next.
const FRONT: u32 = 0;

/// What is shown for a connection that has not said who it is (PgBouncer).
const NOBODY: (&str, &str) = ("(nodb)", "(nouser)");
/// There is neither TLS nor are prepared statements known.
const NO_TLS: &str = "";
const NO_STATEMENTS: u32 = 0;

pub(super) const COLUMNS: &[Column] = BUFFERED.split_at(BUFFERED.len() - BUFFER_COLUMNS).0;

/// How many columns at the end are about buffers.
const BUFFER_COLUMNS: usize = 7;

pub(super) const BUFFERED: &[Column] = &[
    ("type", Text),
    ("user", Text),
    ("database", Text),
    ("replication", Text),
    ("state", Text),
    ("addr", Text),
    ("port", Int4),
    ("local_addr", Text),
    ("local_port", Int4),
    ("connect_time", Text),
    ("request_time", Text),
    ("wait", Int4),
    ("wait_us", Int4),
    ("close_needed", Int4),
    ("ptr", Text),
    ("link", Text),
    ("remote_pid", Int4),
    ("tls", Text),
    ("application_name", Text),
    ("prepared_statements", Int4),
    ("id", Int4),
    ("recv_pos", Int4),
    ("pkt_pos", Int4),
    ("pkt_remain", Int4),
    ("send_pos", Int4),
    ("send_remain", Int4),
    ("pkt_avail", Int4),
    ("send_avail", Int4),
];
