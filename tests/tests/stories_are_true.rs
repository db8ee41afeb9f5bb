//! What the servers say in the engine's stories is what PostgreSQL says.
//!
//! ```text
//! A connects ──► a connection of its own     A> Query … ──► sent     A< … ──► must come next
//! ```
//!
//! Plays the clients of every story that begins with `# oracle:` without a pooler. Compared are the
//! kinds of messages, rows, command tags, SQLSTATEs and transaction states, not columns and texts.

#![expect(clippy::unwrap_used, reason = "a story that cannot be played has failed")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use scratch::{Options, Postgres, Programs};
use wire::{Fields, tag, write};

#[allow(dead_code, reason = "what servers never hear is not shown here")]
#[path = "../../crates/engine/tests/story/message.rs"]
mod message;
#[allow(dead_code, reason = "the engine's own tests need more of it")]
#[path = "../../crates/engine/tests/story/words.rs"]
mod words;

#[test]
fn stories_are_true() {
    let programs = Programs::find().expect("PostgreSQL is installed");
    let postgres = Postgres::start(&programs, &Options::default()).expect("it starts");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/stories");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut told = 0;
    let mut wrong = Vec::new();
    for path in paths {
        let story = std::fs::read_to_string(&path).unwrap();
        if !story.starts_with("# oracle:") {
            continue;
        }
        told += 1;
        let database = format!("story{told}");
        postgres.psql(&format!("create database {database}")).expect("a new database");
        let given = story.lines().filter_map(|line| line.strip_prefix("given "));
        postgres
            .psql_in(&database, &given.map(|sql| format!("{sql};\n")).collect::<String>())
            .unwrap();
        if let Err(what) = play(&story, &postgres, &database) {
            wrong.push(format!("{}: {what}", path.display()));
        }
    }
    assert!(told > 20, "only {told} stories");
    assert!(wrong.is_empty(), "{} stories are not true:\n{}", wrong.len(), wrong.join("\n"));
}

fn play(story: &str, postgres: &Postgres, database: &str) -> Result<(), String> {
    let mut clients = BTreeMap::new();
    for line in story.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.trim().split_once(' ').unwrap_or((line, ""));
        if rest.starts_with("connects ") {
            clients.insert(name.to_owned(), Client::connect(postgres.port, database));
        } else if let Some(client) = name.strip_suffix('>').and_then(|name| clients.get_mut(name)) {
            client.say(rest);
        } else if let Some(client) = name.strip_suffix('<').and_then(|name| clients.get_mut(name))
            && !rest.starts_with("AuthenticationOk …")
        {
            client.hear(rest).map_err(|what| format!("{line}\n{what}"))?;
        }
    }
    clients.values_mut().try_for_each(Client::hear_nothing)
}

struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    fn connect(port: u16, database: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Self { stream, received: Vec::new() };
        let mut packet = Vec::new();
        let parameters: [(&[u8], &[u8]); 2] =
            [(b"user", b"postgres"), (b"database", database.as_bytes())];
        write::startup(&mut packet, wire::PROTOCOL_3_0, &parameters);
        client.stream.write_all(&packet).unwrap();
        while client.next().expect("a login")[0] != tag::backend::READY_FOR_QUERY {}
        client
    }

    fn say(&mut self, line: &str) {
        let mut bytes = Vec::new();
        for words in words::messages(line) {
            assert!(message::frontend(&words, &mut bytes), "no such message: {line}");
        }
        self.stream.write_all(&bytes).unwrap();
    }

    /// Hears the messages of a line.
    fn hear(&mut self, line: &str) -> Result<(), String> {
        for words in words::messages(line) {
            let mut told = Vec::new();
            assert!(message::backend(&words, &mut told), "no such message: {line}");
            let heard = self.next().ok_or("nothing comes")?;
            if kind(&heard) != kind(&told) {
                return Err(format!("- {}\n+ {}", kind(&told), kind(&heard)));
            }
        }
        Ok(())
    }

    fn hear_nothing(&mut self) -> Result<(), String> {
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        self.next().map_or(Ok(()), |more| Err(format!("there is more: {}", kind(&more))))
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(head) = wire::header(&self.received).unwrap()
                && self.received.len() >= head.total as usize
            {
                return Some(self.received.drain(..head.total as usize).collect());
            }
            let mut more = [0; 4096];
            let count = self.stream.read(&mut more).ok().filter(|count| *count > 0)?;
            self.received.extend_from_slice(&more[..count]);
        }
    }
}

/// What of a message must be the same.
fn kind(heard: &[u8]) -> String {
    let body = wire::frame::body(heard);
    let name = tag::backend_name(heard[0]).unwrap_or("unknown");
    match heard[0] {
        tag::backend::ERROR_RESPONSE | tag::backend::NOTICE_RESPONSE => {
            let fields = Fields::parse(body).expect("well formed");
            let text = |text: Option<&[u8]>| String::from_utf8_lossy(text.unwrap()).into_owned();
            format!("{name} {} {}", text(fields.severity()), text(fields.code()))
        }
        tag::backend::READY_FOR_QUERY
        | tag::backend::COMMAND_COMPLETE
        | tag::backend::DATA_ROW
        | tag::backend::COPY_DATA
        | tag::backend::PARAMETER_STATUS
        | tag::backend::FUNCTION_CALL_RESPONSE => format!("{name} {}", body.escape_ascii()),
        _ => name.to_owned(),
    }
}
