//! Plays a story: reads its lines, lets them happen, prints what the pooler does.
//!
//! ```text
//! A connects                     a client connects, and says nothing yet
//! A connects app/me TimeZone=UTC …and sends a StartupMessage; `at 1` before it: to worker 1
//! A> Query "select 1", Sync      it says something
//! A begins 10 Query "x"*70000    it sends ten bytes;  A goes on [20]: the rest, or 20 more
//! A closes · A breaks "reset"    its connection ends in order, or not
//! A stops reading · A reads 100 · A reads on
//! S1 accepts · S1 refuses "why"  a server is there, or not; it says and does what clients do
//! S1 logs in [name=value …]      it accepts, trusts and welcomes
//! wait 5s · wait 20ms · reload · pause [app] · resume [app] · suspend · shut down TERM|INT|QUIT
//! reconnect [app] · kill app · disable app · enable app
//! hold mail · carry mail · hold answers · carry answers
//! show reads · show login · show questions
//! uncut                          the story depends on what arrives together
//! ```
//!
//! Lines of `conf` may stand anywhere; after the first event they take effect with `reload`.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Act, Mail, Shutdown};

use super::conf::Conf;
use super::dice::Dice;
use super::ear::server_key;
use super::message;
use super::stage::{Conn, Event, Stage};
use super::words::{Word, messages, words};

/// A story as it was played.
pub(crate) struct Played {
    /// The story with what the pooler did this time.
    pub(crate) text: String,
    /// What each connection heard, and why it ended.
    pub(crate) heard: BTreeMap<String, (Vec<u8>, Option<String>)>,
}

/// Plays the inputs of a story; with dice, in pieces of any length.
pub(crate) fn play(story: &str, dice: Option<Dice>) -> Played {
    let mut player = Player {
        conf: Conf::new(),
        workers: 1,
        stage: None,
        dice,
        show_reads: false,
        show_login: false,
        show_questions: false,
        parts: BTreeMap::new(),
        text: String::new(),
        ends: BTreeMap::new(),
    };
    for line in story.lines().filter(|line| !line.starts_with(' ')) {
        player.text += line;
        player.text.push('\n');
        if !line.is_empty() && !line.starts_with('#') {
            player.line(line);
        }
    }
    player.finish()
}

struct Player {
    conf: Conf,
    workers: u8,
    stage: Option<Stage>,
    dice: Option<Dice>,
    show_reads: bool,
    show_login: bool,
    show_questions: bool,
    /// What was printed of messages that are not complete.
    parts: BTreeMap<String, String>,
    text: String,
    ends: BTreeMap<String, String>,
}

impl Player {
    fn line(&mut self, line: &str) {
        if self.conf.take(line) {
            return;
        }
        match line.split_once(' ').unwrap_or((line, "")) {
            // For a real PostgreSQL, and for those who cut.
            ("given", _) | ("uncut", "") => return,
            ("workers", count) => {
                self.workers = count.parse().unwrap();
                return;
            }
            ("show", "reads") => self.show_reads = true,
            ("show", "login") => self.show_login = true,
            ("show", "questions") => self.show_questions = true,
            ("wait", time) => self.stage().wait(micros(time)),
            ("hold", "mail") => self.stage().mail_held = true,
            ("carry", "mail") => self.stage().mail_held = false,
            ("hold", "answers") => self.stage().answers_held = true,
            ("carry", "answers") => self.stage().answers_held = false,
            ("reload", "") => {
                let setup = self.conf.setup();
                self.stage().post(&Mail::Setup(setup));
            }
            ("pause", database) => self.stage().post(&Mail::Act(Act::Pause(named(database)))),
            ("resume", database) => self.stage().post(&Mail::Act(Act::Resume(named(database)))),
            ("suspend", "") => self.stage().post(&Mail::Act(Act::Suspend)),
            ("reconnect", name) => self.stage().post(&Mail::Act(Act::Reconnect(named(name)))),
            ("kill", name) => self.stage().post(&Mail::Act(Act::Kill(vec![name.into()]))),
            ("disable", name) => self.stage().post(&Mail::Act(Act::Disable(name.into()))),
            ("enable", name) => self.stage().post(&Mail::Act(Act::Enable(name.into()))),
            ("shut", rest) => {
                let how = match rest {
                    "down TERM" => Shutdown::WaitForClients,
                    "down INT" => Shutdown::WaitForServers,
                    "down QUIT" => Shutdown::Immediate,
                    _ => panic!("shut down TERM, INT or QUIT: {line}"),
                };
                self.stage().post(&Mail::Shutdown(how));
            }
            (name, rest) => match name.strip_suffix('>') {
                Some(name) => self.say(name, rest),
                None => self.happen(name, rest),
            },
        }
        self.stage().settle();
        self.print();
    }

    fn happen(&mut self, name: &str, what: &str) {
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        match (verb, rest) {
            ("connects", rest) => self.connect(name, rest),
            ("accepts", "") => self.stage().connected(name, Ok(())),
            ("refuses", why) => {
                let why = words(why)[0].as_str().to_owned();
                self.stage().connected(name, Err(why));
            }
            ("logs", rest) => self.log_in(name, rest.strip_prefix("in").expect("logs in")),
            ("begins", rest) => {
                let (count, rest) = rest.split_once(' ').expect("begins COUNT MESSAGE");
                let mut bytes = self.bytes(name, rest);
                self.stage().conn(name).unsaid = bytes.split_off(count.parse().unwrap());
                self.stage().say(name, bytes);
            }
            ("goes", rest) => {
                let count = rest.strip_prefix("on").expect("goes on").trim();
                let unsaid = &mut self.stage().conn(name).unsaid;
                let count = if count.is_empty() { unsaid.len() } else { count.parse().unwrap() };
                let bytes = unsaid.drain(..count).collect();
                self.stage().say(name, bytes);
            }
            ("closes", "") => self.stage().end(name),
            ("breaks", why) => {
                let why = words(why)[0].as_str().to_owned();
                self.stage().reset(name, &why);
            }
            ("stops", "reading") => self.stage().open_window(name, Some(0)),
            ("reads", "on") => self.stage().open_window(name, None),
            ("reads", count) => {
                let count = count.parse().expect("reads COUNT");
                self.stage().open_window(name, Some(count));
            }
            _ => panic!("nobody can do this: {name} {what}"),
        }
    }

    fn connect(&mut self, name: &str, what: &str) {
        let (worker, what) = match what.strip_prefix("at ") {
            Some(rest) => rest.split_once(' ').unwrap_or((rest, "")),
            None => ("0", what),
        };
        self.stage().accept(name, worker.parse().unwrap());
        let (login, parameters) = what.split_once(' ').unwrap_or((what, ""));
        if let Some((database, user)) = login.split_once('/') {
            let startup = format!("Startup user={user} database={database} {parameters}");
            self.say(name, startup.trim());
        }
    }

    fn log_in(&mut self, name: &str, parameters: &str) {
        self.stage().connected(name, Ok(()));
        let parameters = words(parameters);
        let mut lines = String::from("AuthenticationOk");
        for (key, value) in WELCOME {
            let own = parameters.iter().map(Word::pair).find(|pair| pair.0 == key.as_bytes());
            let value = own.map_or(value.as_bytes(), |pair| pair.1);
            lines += &format!(", ParameterStatus {key}=\"{}\"", value.escape_ascii());
        }
        self.say(name, &(lines + ", BackendKeyData, ReadyForQuery I"));
    }

    fn say(&mut self, name: &str, line: &str) {
        let bytes = self.bytes(name, line);
        self.stage().say(name, bytes);
    }

    /// The messages of a line as bytes.
    fn bytes(&mut self, name: &str, line: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for words in messages(line) {
            let known = self.special(name, &words, &mut out)
                || self.stage().conn(name).ear.speak(&words, &mut out)
                || match server_number(name) {
                    Some(_) => message::backend(&words, &mut out),
                    None => message::frontend(&words, &mut out),
                };
            assert!(known, "no such message: {line}");
        }
        out
    }

    /// Messages that need to know more than one connection.
    fn special(&mut self, name: &str, words: &[Word], out: &mut Vec<u8>) -> bool {
        match (words[0].as_str(), server_number(name)) {
            ("CancelRequest", None) => {
                let whose = words[1].as_str();
                let key = self.stage().conn(whose).ear.key.expect("it has got a key");
                let (pid, secret) = key.split_first_chunk().unwrap();
                wire::write::cancel_request(out, u32::from_be_bytes(*pid), secret);
            }
            ("BackendKeyData", Some(number)) => {
                let [_, secret] = server_key(number);
                wire::write::backend_key_data(out, number, &secret);
            }
            ("SSLRequest" | "GSSENCRequest", None) => {
                self.stage().conn(name).ear.asked_for_encryption();
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Prints what has happened since the last line.
    fn print(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        for event in std::mem::take(&mut stage.events) {
            if let Event::Close { name, reason } = &event {
                self.ends.insert(name.clone(), reason.clone());
            }
            let line = match event {
                Event::Connect { name, to } => format!("connect {name} to {to}"),
                Event::Says { name, messages } => {
                    format!("{name}< {}", shorten(messages, self.show_login).join(", "))
                }
                Event::Close { name, reason } if reason.is_empty() => format!("close {name}"),
                Event::Close { name, reason } => format!("close {name} ({reason})"),
                Event::Reading { .. } if !self.show_reads => continue,
                Event::Reading { name, on: true } => format!("read {name} again"),
                Event::Reading { name, on: false } => format!("stop reading {name}"),
                Event::Post { from, to, kind } => format!("mail {from} to {to}: {kind}"),
                Event::Ship { name, to } => format!("{name} goes to worker {to}"),
                Event::Ask { .. } if !self.show_questions => continue,
                Event::Ask { worker, question } => format!("worker {worker} asks: {question}"),
                Event::Exit { worker } => format!("worker {worker} ends"),
            };
            self.text += &format!("    {line}\n");
        }
        for (name, conn) in &stage.conns {
            let part = conn.ear.part().unwrap_or_default();
            let before = self.parts.insert(name.clone(), part.clone()).unwrap_or_default();
            if part != before && !part.is_empty() {
                self.text += &format!("    {name}< {part}\n");
            }
        }
    }

    fn stage(&mut self) -> &mut Stage {
        let (conf, workers, dice) = (&self.conf, self.workers, &mut self.dice);
        self.stage.get_or_insert_with(|| Stage::new(&conf.setup(), workers, dice.take()))
    }

    fn finish(mut self) -> Played {
        let ends = std::mem::take(&mut self.ends);
        let heard = |(name, conn): (&String, &Conn)| {
            (name.clone(), (conn.heard.clone(), ends.get(name).cloned()))
        };
        let heard = self.stage().conns.iter().map(heard).collect();
        self.stage().sweep();
        Played { text: std::mem::take(&mut self.text), heard }
    }
}

impl Drop for Player {
    /// Shows how far a story has come that ends in a panic.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print();
            eprintln!("{}", self.text);
        }
    }
}

/// The parameters that a server reports, in PostgreSQL's order.
const WELCOME: [(&str, &str); 8] = [
    ("application_name", ""),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("server_version", "15.14"),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "UTC"),
];

/// A login of a client in one word, unless the story is about logins.
fn shorten(messages: Vec<String>, show_login: bool) -> Vec<String> {
    let find = |text: &str| messages.iter().position(|message| message == text);
    match (find("AuthenticationOk"), find("ReadyForQuery I")) {
        (Some(begin), Some(end)) if begin < end && !show_login => {
            let mut short = messages;
            short.splice(begin..=end, ["AuthenticationOk … ReadyForQuery I".to_owned()]);
            short
        }
        _ => messages,
    }
}

fn server_number(name: &str) -> Option<u32> {
    name.strip_prefix('S')?.parse().ok()
}

fn named(database: &str) -> Option<Arc<str>> {
    (!database.is_empty()).then(|| database.into())
}

fn micros(time: &str) -> u64 {
    let (number, unit) = match time.strip_suffix("ms") {
        Some(number) => (number, 1_000),
        None => (time.strip_suffix('s').expect("a time in s or ms"), 1_000_000),
    };
    number.parse::<u64>().expect("a whole number") * unit
}
