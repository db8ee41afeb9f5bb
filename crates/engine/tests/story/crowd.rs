//! A crowd of clients that talk at random through a few servers, as if each had its own.
//!
//! ```text
//! talk ──► pooler ──► one of the servers, each a small PostgreSQL ──► pooler ──► the client
//!   └────► a small PostgreSQL of the client's own: what it must have heard
//! ```

use std::collections::BTreeMap;

use super::conf::Conf;
use super::dice::Dice;
use super::message::show_frontend;
use super::postgres::Postgres;
use super::stage::{Event, Stage};
use super::talk::talk;
use wire::{tag, write};

/// Plays one crowd to its end, and says what went wrong.
pub(crate) fn play(seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let mut conf = Conf::new();
    let (size, mode) = (1 + dice.below(3), dice.pick(&["transaction", "transaction", "session"]));
    conf.take(&format!("config default_pool_size={size} pool_mode={mode}"));
    let workers = dice.pick(&[1, 1, 2]);
    let mut crowd = Crowd {
        stage: Stage::new(&conf.setup(), workers, Some(Dice::new(seed + 1))),
        clients: BTreeMap::new(),
        servers: BTreeMap::new(),
    };
    for number in 0..2 + dice.below(4) {
        crowd.enter(format!("C{number}"), number % usize::from(workers), &mut dice);
    }
    // So many vain attempts in a row are no accident.
    let mut idle = 0;
    while idle < 200 {
        let busy = match dice.below(5) {
            0 | 1 => crowd.clients_talk(&mut dice),
            2 => crowd.servers_answer(&mut dice),
            3 if mode == "session" || dice.once_in(4) => crowd.client_leaves(&mut dice),
            _ => crowd.stage.nudge(1 + dice.below(20)),
        };
        crowd.answer_events();
        idle = if busy { 0 } else { idle + 1 };
        if idle == 100 {
            crowd.stage.wait(20_000);
            crowd.answer_events();
        }
    }
    let outcome = crowd.judge();
    crowd.stage.sweep();
    outcome
}

struct Crowd {
    stage: Stage,
    clients: BTreeMap<String, Client>,
    servers: BTreeMap<String, Server>,
}

struct Client {
    /// Everything that it says, for those who look for the fault.
    says: String,
    /// What it still has to say.
    talk: std::vec::IntoIter<Vec<u8>>,
    /// What it must have heard behind its welcome when all is said.
    due: Vec<u8>,
    /// It goes without a word at some point.
    rude: bool,
    gone: bool,
}

struct Server {
    postgres: Postgres,
    /// How much of what it has received it has acted on.
    acted: usize,
}

impl Crowd {
    fn enter(&mut self, name: String, worker: usize, dice: &mut Dice) {
        let application = dice.pick(&["", "one", "two"]);
        let mut own = Postgres::new(application.as_bytes());
        let said = talk(&name, dice);
        let due = said.iter().flat_map(|message| own.hear(message)).collect();
        let mut packet = Vec::new();
        let mut parameters: Vec<(&[u8], &[u8])> = vec![(b"user", b"me"), (b"database", b"app")];
        if !application.is_empty() {
            parameters.push((b"application_name", application.as_bytes()));
        }
        write::startup(&mut packet, wire::PROTOCOL_3_0, &parameters);
        self.stage.accept(&name, worker as u8);
        self.stage.say(&name, packet);
        let says = said.iter().map(|message| show_frontend(message)).collect::<Vec<_>>();
        let (says, talk, rude) = (says.join(", "), said.into_iter(), dice.once_in(6));
        self.clients.insert(name, Client { says, talk, due, rude, gone: false });
    }

    /// Some client says something more; false when nobody has anything to say.
    fn clients_talk(&mut self, dice: &mut Dice) -> bool {
        let able = |(name, client): (&String, &Client)| {
            (!client.gone && client.talk.len() > 0).then(|| name.clone())
        };
        let able: Vec<_> = self.clients.iter().filter_map(able).collect();
        let Some(name) = able.get(dice.below(able.len().max(1))) else { return false };
        let client = self.clients.get_mut(name).unwrap();
        for message in client.talk.by_ref().take(1 + dice.below(6)) {
            self.stage.say(name, message);
        }
        if client.rude && dice.once_in(4) {
            client.gone = true;
            self.stage.reset(name, "rude");
        }
        true
    }

    /// Somebody who has heard everything leaves.
    fn client_leaves(&mut self, dice: &mut Dice) -> bool {
        let able = |(name, client): (&String, &Client)| {
            let heard = behind_welcome(&self.stage.conns[name].heard);
            let done = client.talk.len() == 0 && heard == client.due && !heard.is_empty();
            (!client.gone && done).then(|| name.clone())
        };
        let able: Vec<_> = self.clients.iter().filter_map(able).collect();
        let Some(name) = able.get(dice.below(able.len().max(1))) else { return false };
        self.clients.get_mut(name).unwrap().gone = true;
        match dice.below(3) {
            0 => self.stage.end(name),
            1 => self.stage.reset(name, "done"),
            _ => {
                let mut terminate = Vec::new();
                write::terminate(&mut terminate);
                self.stage.say(name, terminate);
            }
        }
        true
    }

    /// Some server acts on some of what it has received.
    fn servers_answer(&mut self, dice: &mut Dice) -> bool {
        let able = |(name, server): (&String, &Server)| {
            let conn = &self.stage.conns[name];
            let rest = conn.heard.get(server.acted..)?;
            let head = wire::header(rest).expect("a sound message")?;
            (conn.open && rest.len() >= head.total as usize).then(|| name.clone())
        };
        let able: Vec<_> = self.servers.iter().filter_map(able).collect();
        let Some(name) = able.get(dice.below(able.len().max(1))) else { return false };
        let server = self.servers.get_mut(name).unwrap();
        let mut answer = Vec::new();
        for _ in 0..1 + dice.below(8) {
            let rest = &self.stage.conns[name].heard[server.acted..];
            let Some(head) = wire::header(rest).expect("a sound message") else { break };
            let Some(message) = rest.get(..head.total as usize) else { break };
            server.acted += message.len();
            answer.extend(server.postgres.hear(message));
        }
        self.stage.say(name, answer);
        true
    }

    /// Servers that the pooler wants are there, and let it in.
    fn answer_events(&mut self) {
        for event in std::mem::take(&mut self.stage.events) {
            let Event::Connect { name, .. } = event else { continue };
            self.stage.connected(&name, Ok(()));
            let startup = u32::from_be_bytes(self.startup_of(&name));
            let mut login = Vec::new();
            write::authentication_ok(&mut login);
            write::parameter_status(&mut login, b"application_name", b"");
            write::backend_key_data(&mut login, 1, &[0; 4]);
            write::ready_for_query(&mut login, wire::TransactionStatus::Idle);
            self.stage.say(&name, login);
            let server = Server { postgres: Postgres::new(b""), acted: startup as usize };
            self.servers.insert(name, server);
        }
    }

    fn startup_of(&mut self, name: &str) -> [u8; 4] {
        while self.stage.conns[name].heard.len() < 4 {
            self.stage.nudge(1);
        }
        self.stage.conns[name].heard[..4].try_into().unwrap()
    }

    fn judge(&self) -> Result<(), String> {
        for (name, client) in &self.clients {
            let conn = &self.stage.conns[name];
            let heard = behind_welcome(&conn.heard);
            let right = match client.gone {
                true => client.due.starts_with(heard),
                false => client.due == heard,
            };
            if !right {
                let [due, heard] = [&client.due, heard].map(kinds);
                return Err(format!("{name} says {}\n- {due}\n+ {heard}", client.says));
            }
        }
        let dirty = |(name, server): &(&String, &Server)| {
            self.stage.conns[*name].open && !server.postgres.is_clean()
        };
        self.servers.iter().find(dirty).map_or(Ok(()), |(name, _)| Err(format!("{name} is dirty")))
    }
}

/// What a client has heard behind the ReadyForQuery of its login.
fn behind_welcome(mut heard: &[u8]) -> &[u8] {
    while let Ok(Some(head)) = wire::header(heard) {
        heard = heard.get(head.total as usize..).unwrap_or_default();
        if head.tag == tag::backend::READY_FOR_QUERY {
            break;
        }
    }
    heard
}

/// Messages by the letters of their tags, rows by what they say.
fn kinds(bytes: &[u8]) -> String {
    let (mut rest, mut kinds) = (bytes, String::new());
    while let Ok(Some(head)) = wire::header(rest) {
        let Some(message) = rest.get(..head.total as usize) else { break };
        kinds.push(char::from(head.tag));
        if let Ok(mut row) = wire::backend::data_row(wire::frame::body(message)) {
            kinds += &format!("({})", row.next().flatten().unwrap_or_default().escape_ascii());
        }
        rest = &rest[message.len()..];
    }
    kinds
}
