//! A fake PostgreSQL server process, as far as a pooler can tell it from a real one.
//!
//! ```text
//! StartupMessage ──► trust, password, SCRAM, or FATAL ──► parameters, key, ReadyForQuery: session
//! CancelRequest  ──► a key; nothing is answered
//! ```
//!
//! Bytes go in and come out; a slow statement is a time to wait for. Knows no pooler, no clock and
//! no pipes. What an observer would like to know comes out as facts.

mod session;
mod settings;

use auth::{ScramServer, Verifier};
use wire::startup::Packet;
use wire::{frontend, tag, write};

use crate::params;
pub(crate) use session::{Fact, Own, Session, row_text};

/// How a server wants to be convinced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Trust,
    Cleartext,
    Md5,
    Scram,
}

/// What a server does to whoever wants in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It lets in who may.
    Open,
    /// It says FATAL, with this SQLSTATE.
    Refuses(&'static str),
    /// It says nothing.
    Silent,
}

/// What a server knows of its users.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
    pub(crate) verifier: Verifier,
}

/// One connection to the server.
pub(crate) struct Backend {
    stage: Stage,
    input: Vec<u8>,
    output: Vec<u8>,
    pub(crate) pid: u32,
    pub(crate) secret: [u8; 4],
    nonce: [u8; 18],
    method: Method,
    pub(crate) mood: Mood,
    /// Database and user, once they are known.
    pub(crate) login: Option<(String, String)>,
    pub(crate) session: Session,
    has_let_in: bool,
}

enum Stage {
    Startup,
    /// PasswordMessage is to come.
    Password,
    /// SASLInitialResponse is to come.
    Offered,
    /// SASLResponse is to come.
    Challenged(ScramServer),
    Ready,
    /// It has said all it will.
    Over,
}

/// What has come of the bytes so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// More is needed.
    Waits,
    /// The statement at hand takes so many microseconds.
    Sleeps(u64),
    /// A cancel request with this key; the connection is to be closed.
    Cancel(Vec<u8>),
    /// The connection is to be closed.
    Ends,
}

impl Backend {
    pub(crate) fn new(pid: u32, method: Method, mood: Mood, entropy: [u8; 22]) -> Self {
        let [a, b, c, d, nonce @ ..] = entropy;
        Self {
            stage: Stage::Startup,
            input: Vec::new(),
            output: Vec::new(),
            pid,
            secret: [a, b, c, d],
            nonce,
            method,
            mood,
            login: None,
            session: Session::new(params::defaults(), pid.is_multiple_of(2)),
            has_let_in: false,
        }
    }

    /// Takes bytes.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Whether the login is over and has succeeded.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }

    /// Whether it has let somebody in, however that has ended.
    pub(crate) fn has_let_in(&self) -> bool {
        self.has_let_in
    }

    /// Whether there is nothing to do, nothing open, and no message half there.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.input.is_empty() && self.session.is_at_rest()
    }

    /// What it has said since this was asked last.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        let mut output = std::mem::take(&mut self.output);
        output.append(&mut self.session.output);
        output
    }

    /// Does what can be done with the bytes at hand; `accounts` are those who may log in.
    pub(crate) fn work(&mut self, accounts: &[Account]) -> Outcome {
        loop {
            let before = self.input.len();
            let outcome = match self.stage {
                Stage::Startup => self.startup(accounts),
                Stage::Ready => return self.session.work(&mut self.input),
                Stage::Over => return Outcome::Ends,
                _ => self.password(accounts),
            };
            if outcome != Outcome::Waits || self.input.len() == before {
                return outcome;
            }
        }
    }

    fn startup(&mut self, accounts: &[Account]) -> Outcome {
        let Ok(packet) = wire::startup::packet(&self.input) else { return self.fatal("08P01") };
        let Some((packet, length)) = packet else { return Outcome::Waits };
        let mut login = None;
        match packet {
            Packet::Cancel(key) => return Outcome::Cancel(key.to_vec()),
            Packet::SslRequest | Packet::GssEncRequest => self.output.push(b'N'),
            Packet::Startup(message) => {
                let mut names = (String::new(), String::new());
                for (name, value) in message.parameters() {
                    let value = String::from_utf8_lossy(value).into_owned();
                    match name {
                        b"database" => names.0 = value,
                        b"user" => names.1 = value,
                        name => {
                            let name = String::from_utf8_lossy(name).into_owned();
                            self.session.start_with(&name, &value);
                        }
                    }
                }
                login = Some(names);
            }
        }
        self.input.drain(..length);
        if let Some(login) = login {
            self.login = Some(login);
            return self.challenge(accounts);
        }
        Outcome::Waits
    }

    fn challenge(&mut self, accounts: &[Account]) -> Outcome {
        match self.mood {
            Mood::Open => {}
            Mood::Refuses(code) => {
                self.session.facts.push(Fact::Refused);
                return self.fatal(code);
            }
            Mood::Silent => {
                self.stage = Stage::Password;
                return Outcome::Waits;
            }
        }
        if self.account(accounts).is_none() {
            return self.fatal("28000");
        }
        match self.method {
            Method::Trust => return self.let_in(),
            Method::Cleartext => write::authentication_cleartext(&mut self.output),
            Method::Md5 => write::authentication_md5(&mut self.output, self.secret),
            Method::Scram => write::authentication_sasl(&mut self.output, &["SCRAM-SHA-256"]),
        }
        self.stage = if self.method == Method::Scram { Stage::Offered } else { Stage::Password };
        Outcome::Waits
    }

    fn account<'a>(&self, accounts: &'a [Account]) -> Option<&'a Account> {
        let (_, user) = self.login.as_ref()?;
        accounts.iter().find(|account| account.name == user)
    }

    fn password(&mut self, accounts: &[Account]) -> Outcome {
        if self.mood == Mood::Silent {
            return Outcome::Waits;
        }
        let Ok(head) = wire::header(&self.input) else { return self.fatal("08P01") };
        let Some(head) = head.filter(|head| self.input.len() >= head.total as usize) else {
            return Outcome::Waits;
        };
        let message: Vec<u8> = self.input.drain(..head.total as usize).collect();
        if head.tag != tag::frontend::PASSWORD {
            return self.fatal("08P01");
        }
        let Some(account) = self.account(accounts).cloned() else { return self.fatal("28000") };
        let body = wire::frame::body(&message);
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Password => {
                let expected = match self.method {
                    Method::Md5 => {
                        let hash =
                            auth::md5_hash(account.password.as_bytes(), account.name.as_bytes());
                        auth::md5_response(&hash, self.secret).to_vec()
                    }
                    _ => account.password.as_bytes().to_vec(),
                };
                let given = frontend::password(body).map(<[u8]>::to_vec);
                if given == Ok(expected) { self.let_in() } else { self.fatal("28P01") }
            }
            Stage::Offered => self.offered(body, &account.verifier),
            Stage::Challenged(mut scram) => match scram.last(body) {
                Ok(proven) => {
                    write::authentication_sasl_final(&mut self.output, &proven.server_final);
                    self.let_in()
                }
                Err(_) => self.fatal("28P01"),
            },
            _ => self.fatal("08P01"),
        }
    }

    fn offered(&mut self, body: &[u8], verifier: &Verifier) -> Outcome {
        let mut scram = ScramServer::new(self.nonce);
        let first = frontend::sasl_initial(body).ok().and_then(|initial| initial.response);
        match first.map(|first| scram.first(first, verifier)) {
            Some(Ok(challenge)) => {
                write::authentication_sasl_continue(&mut self.output, &challenge);
                self.stage = Stage::Challenged(scram);
                Outcome::Waits
            }
            _ => self.fatal("08P01"),
        }
    }

    fn let_in(&mut self) -> Outcome {
        self.stage = Stage::Ready;
        self.has_let_in = true;
        write::authentication_ok(&mut self.output);
        write::parameter_status(&mut self.output, b"server_version", b"15.7 (simulated)");
        write::parameter_status(&mut self.output, b"integer_datetimes", b"on");
        self.session.report(&mut self.output);
        write::backend_key_data(&mut self.output, self.pid, &self.secret);
        write::ready_for_query(&mut self.output, wire::TransactionStatus::Idle);
        self.session.facts.push(Fact::LoggedIn);
        Outcome::Waits
    }

    /// Says why, for the last time.
    pub(crate) fn fatal(&mut self, code: &str) -> Outcome {
        self.stage = Stage::Over;
        let report = wire::Report {
            severity: "FATAL",
            code,
            message: "simulated end",
            detail: None,
            hint: None,
        };
        let output = if self.session.output.is_empty() {
            &mut self.output
        } else {
            &mut self.session.output
        };
        write::error_report(output, &report);
        Outcome::Ends
    }
}

#[cfg(test)]
mod tests;
