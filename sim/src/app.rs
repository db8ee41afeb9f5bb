//! A client of the pooler: it logs in, does one workload after the other, and leaves.
//!
//! ```text
//! away ──► StartupMessage, proof ──► working: step, answer, step … ──► Terminate, or rudely away
//! ```
//!
//! Bytes go in and come out; the world carries them and decides when the client wakes up.

pub(crate) mod conversation;
pub(crate) mod workload;

use std::collections::VecDeque;

use auth::ScramClient;
use config::PoolMode;
use wire::backend::{self, Authentication};
use wire::tag::backend as tag;
use wire::{Fields, write};

use crate::net::WireId;
use crate::params::{self, Params};
use crate::plan::derive;
use crate::random::Random;
use crate::statement::Token;
use conversation::{Conversation, Copy, Kind, News, Unit};
pub(crate) use workload::Habits;
use workload::{Author, Step, When};

/// What a client is like.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// The place of its database.
    pub(crate) database: usize,
    pub(crate) database_name: &'static str,
    /// When it loses its server.
    pub(crate) mode: PoolMode,
    pub(crate) user: &'static str,
    /// As whom its servers log in, by place.
    pub(crate) server_user: usize,
    pub(crate) password: &'static str,
    /// It reads only so many bytes at a time, and rests for so long.
    pub(crate) slow: Option<(u64, u64)>,
    /// Its login is to fail: a wrong password, or a parameter that no server takes.
    pub(crate) flaw: Flaw,
    /// It sends its first query along with its startup packet.
    pub(crate) eager: bool,
    /// It asks for encryption first.
    pub(crate) asks_for_tls: bool,
}

/// What is wrong with a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    Password,
    Parameter,
}

/// Where a client is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Away,
    /// SSLRequest has been sent.
    Asking,
    LoggingIn,
    Working,
    /// It will not come again.
    Over,
}

/// A request that nothing stands before: when it is waiting, it waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) token: Token,
    /// Where in the stream of bytes its header ends, and its token.
    pub(crate) header_end: u64,
    pub(crate) token_end: u64,
    /// Since when the pooler has its header: without jumps of the clock, and with them.
    pub(crate) since: Option<(u64, u64)>,
    /// Whether the pooler has its token as well, and has not given it to a server.
    pub(crate) waiting: bool,
}

/// A client.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) traits: Traits,
    pub(crate) session: u32,
    pub(crate) wire: Option<WireId>,
    pub(crate) stage: Stage,
    pub(crate) conversation: Conversation,
    /// The key with which its query can be cancelled.
    pub(crate) key: Option<(u32, Vec<u8>)>,
    pub(crate) rounds_left: u32,
    pub(crate) request: Option<Request>,
    /// When it connected: without jumps of the clock, and with them.
    pub(crate) connected: (u64, u64),
    /// Whether it has proved who it is.
    pub(crate) proved: bool,
    /// Since when it has been seen to wait for its welcome.
    pub(crate) newcomer_since: Option<u64>,
    /// When it has begun to wait for an answer, and that with no transaction open, by the engines'
    /// clock.
    pub(crate) busy_since: u64,
    pub(crate) open_since: u64,
    /// It does nothing until then.
    pub(crate) rests_until: u64,
    /// Whether it has begun a transaction.
    pub(crate) is_bold: bool,
    /// Whether it has been told that it waits, since it has asked last.
    pub(crate) was_notified: bool,
    /// Whether it has asked for anything in this session.
    pub(crate) has_asked: bool,
    /// It has been told that the connection ends.
    pub(crate) told: bool,
    number: u32,
    input: Vec<u8>,
    steps: VecDeque<Step>,
    scram: Option<Box<ScramClient>>,
}

impl App {
    pub(crate) fn new(traits: Traits, rounds_left: u32) -> Self {
        Self {
            traits,
            session: 0,
            wire: None,
            stage: Stage::Away,
            conversation: Conversation::new(),
            key: None,
            rounds_left,
            request: None,
            connected: (0, 0),
            proved: false,
            newcomer_since: None,
            busy_since: 0,
            open_since: 0,
            rests_until: 0,
            is_bold: false,
            was_notified: false,
            has_asked: false,
            told: false,
            number: 0,
            input: Vec::new(),
            steps: VecDeque::new(),
            scram: None,
        }
    }

    /// Begins a session: the first bytes to send.
    pub(crate) fn open(&mut self, session: u32, random: &mut Random) -> Vec<u8> {
        self.session = session;
        self.conversation = Conversation::new();
        self.key = None;
        self.request = None;
        self.proved = false;
        self.newcomer_since = None;
        self.rests_until = 0;
        self.is_bold = false;
        self.has_asked = false;
        self.told = false;
        self.number = 0;
        self.input.clear();
        self.steps.clear();
        let mut bytes = Vec::new();
        if self.traits.asks_for_tls && random.chance(500) {
            self.stage = Stage::Asking;
            write::ssl_request(&mut bytes);
            return bytes;
        }
        self.start(&mut bytes, random);
        bytes
    }

    fn start(&mut self, out: &mut Vec<u8>, random: &mut Random) {
        self.stage = Stage::LoggingIn;
        let mut parameters: Vec<(&str, String)> = vec![
            ("user", self.traits.user.to_owned()),
            ("database", self.traits.database_name.to_owned()),
        ];
        for name in params::TRACKED {
            if random.chance(200) {
                parameters.push((name, params::value(random, name)));
            }
        }
        if self.traits.flaw == Flaw::Parameter {
            parameters.retain(|(name, _)| *name != "TimeZone");
            parameters.push(("TimeZone", "bad".to_owned()));
        }
        let parameters: Vec<(&[u8], &[u8])> =
            parameters.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        write::startup(out, wire::PROTOCOL_3_0, &parameters);
        if self.traits.eager {
            let (token, mut text) = (Token { session: self.session, number: 1 }, Vec::new());
            self.number = 1;
            write::query(&mut text, format!("{token} select rows=1").as_bytes());
            out.extend_from_slice(&text);
            let rows = Kind::Rows { described: true, next: 0, last: 1, size: 0, suspends: false };
            for kind in [rows, Kind::Ready] {
                self.conversation.expect(Unit { token, kind, extended: false });
            }
        }
    }

    /// Hears bytes: what to send at once, and what there is to know.
    pub(crate) fn hear(
        &mut self,
        bytes: &[u8],
        random: &mut Random,
    ) -> Result<(Vec<u8>, Vec<News>), String> {
        let mut out = Vec::new();
        if self.stage == Stage::Working {
            return Ok((out, self.conversation.hear(bytes)?));
        }
        self.input.extend_from_slice(bytes);
        if self.stage == Stage::Asking {
            match self.input.first() {
                Some(b'N') => {
                    self.input.remove(0);
                    self.start(&mut out, random);
                }
                Some(b'E') => self.stage = Stage::LoggingIn,
                other => return Err(format!("SSLRequest answered with {other:?}")),
            }
        }
        let mut news = Vec::new();
        while self.stage == Stage::LoggingIn {
            let head = wire::header(&self.input).map_err(|why| why.to_string())?;
            let Some(head) = head.filter(|head| self.input.len() >= head.total as usize) else {
                break;
            };
            let message: Vec<u8> = self.input.drain(..head.total as usize).collect();
            let body = wire::frame::body(&message);
            news.extend(self.login_message((head.tag, body), &mut out, random)?);
        }
        if self.stage == Stage::Working {
            let rest = std::mem::take(&mut self.input);
            news.extend(self.conversation.hear(&rest)?);
        }
        Ok((out, news))
    }

    fn login_message(
        &mut self,
        (tag, body): (u8, &[u8]),
        out: &mut Vec<u8>,
        random: &mut Random,
    ) -> Result<Option<News>, String> {
        let wrong = |what: &dyn std::fmt::Display| format!("at login: {what}");
        match tag {
            tag::AUTHENTICATION => {
                let request = backend::authentication(body).map_err(|why| wrong(&why))?;
                self.prove(request, out, random)?;
            }
            tag::PARAMETER_STATUS => {
                let (name, value) = backend::parameter_status(body).map_err(|why| wrong(&why))?;
                if let Some(name) = params::name(&String::from_utf8_lossy(name)) {
                    let value = String::from_utf8_lossy(value).into_owned();
                    self.conversation.params.insert(name, value);
                }
            }
            tag::BACKEND_KEY_DATA => {
                let key = backend::backend_key(body).map_err(|why| wrong(&why))?;
                self.key = Some((key.pid, key.secret.to_vec()));
            }
            tag::READY_FOR_QUERY => {
                if self.key.is_none() || self.conversation.params.len() != params::TRACKED.len() {
                    return Err("welcomed without key or parameters".into());
                }
                self.stage = Stage::Working;
            }
            tag::ERROR_RESPONSE => {
                let fields = Fields::parse(body).map_err(|why| wrong(&why))?;
                let text = |field: Option<&[u8]>| {
                    String::from_utf8_lossy(field.unwrap_or_default()).into_owned()
                };
                return Ok(Some(News::Fatal(text(fields.code()), text(fields.message()))));
            }
            tag => return Err(format!("{:?} at login", char::from(tag))),
        }
        Ok(None)
    }

    fn prove(
        &mut self,
        request: Authentication<'_>,
        out: &mut Vec<u8>,
        random: &mut Random,
    ) -> Result<(), String> {
        let out_of_turn = || "SCRAM message out of turn".to_owned();
        match request {
            Authentication::Ok => {}
            Authentication::Sasl(_) => {
                let scram = ScramClient::new(random.bytes());
                write::sasl_initial_response(out, "SCRAM-SHA-256", &scram.first());
                self.scram = Some(Box::new(scram));
            }
            Authentication::SaslContinue(first) => {
                let scram = self.scram.as_mut().ok_or_else(out_of_turn)?;
                let challenge = scram.challenge(first).map_err(|why| why.to_string())?;
                let password = match self.traits.flaw {
                    Flaw::Password => b"wrong",
                    _ => self.traits.password.as_bytes(),
                };
                let keys = derive(password, &challenge.salt, challenge.iterations);
                let last = scram.last(&keys).map_err(|why| why.to_string())?;
                write::sasl_response(out, &last);
            }
            Authentication::SaslFinal(last) => {
                let scram = self.scram.take().ok_or_else(out_of_turn)?;
                scram.verify(last).map_err(|why| why.to_string())?;
                self.proved = true;
            }
            other => return Err(format!("asked for {other:?}")),
        }
        Ok(())
    }

    /// Whether it has nothing to do until it wakes up.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.stage == Stage::Working && self.steps.is_empty() && self.conversation.is_answered()
    }

    /// Begins the next workload.
    pub(crate) fn plan_workload(&mut self, habits: Habits, random: &mut Random) {
        let sure = self.conversation.is_sure();
        let first = !self.has_asked;
        let params: Option<Params> = sure.then(|| self.conversation.params.clone());
        let open = self.conversation.status != b'I';
        let number = &mut self.number;
        let habits = Habits { mode: self.traits.mode, ..habits };
        let mut author = Author { random, habits, session: self.session, number, params };
        if open {
            self.steps.push_back(author.rollback());
        } else if !sure || first && self.traits.mode == PoolMode::Session {
            // What is answered with ReadyForQuery alone would not show where the answers to a
            // failed copy end; and who has a server for a session has to say so in its first words.
            self.steps.extend(author.simple(When::Answered));
        } else {
            self.rounds_left = self.rounds_left.saturating_sub(1);
            self.steps.extend(author.workload());
        }
    }

    /// The next step, when it can be sent.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        if self.stage != Stage::Working {
            return None;
        }
        loop {
            let Some(front) = self.steps.front() else { return self.missing_sync() };
            match front.when {
                When::Now => return self.steps.pop_front(),
                When::Answered if self.conversation.is_answered() => {
                    return self.steps.pop_front();
                }
                When::Answered if self.conversation.is_skipping() => {
                    return self.steps.pop_front();
                }
                When::Copying { .. } if self.conversation.copy == Copy::Open => {
                    return self.steps.pop_front();
                }
                When::Copying { sync } if !self.conversation.waits_for_copy() => {
                    let step = self.steps.pop_front();
                    if let (true, Some(step)) = (sync, step) {
                        return Some(Step { after_copy: true, ..sync_step(step.token) });
                    }
                }
                When::Answered | When::Copying { .. } => return None,
            }
        }
    }

    /// After an error in a batch that was to be ended by a Query, which was skipped.
    fn missing_sync(&mut self) -> Option<Step> {
        let token = Token { session: self.session, number: self.number };
        self.conversation.is_skipping().then(|| sync_step(token))
    }

    /// Whether its next request finds its server given back.
    pub(crate) fn is_fresh(&self) -> bool {
        let first = self.traits.mode != PoolMode::Session || !self.has_asked;
        first
            && !self.is_sticky()
            && !self.traits.eager
            && self.conversation.status == b'I'
            && self.conversation.is_answered()
            && self.conversation.is_sure()
    }

    /// Whether its session has seen a failure after which the pooler may keep its server.
    pub(crate) fn is_sticky(&self) -> bool {
        self.conversation.copy_has_failed
    }

    /// The connection is gone.
    pub(crate) fn gone(&mut self) {
        self.wire = None;
        self.request = None;
        self.steps.clear();
        self.stage = if self.rounds_left == 0 { Stage::Over } else { Stage::Away };
    }
}

fn sync_step(token: Token) -> Step {
    let mut bytes = Vec::new();
    write::sync(&mut bytes);
    let expects = vec![Unit { token, kind: Kind::Ready, extended: true }];
    Step { bytes, expects, when: When::Answered, token, after_copy: false, slow: false }
}
