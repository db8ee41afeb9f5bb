//! What servers say.
//!
//!     connected ──► login ──► idle
//!     linked: replies ──► the client; ReadyForQuery ends a query cycle, ParameterStatus is noted
//!     errand, parameters being set: replies are swallowed up to ReadyForQuery
//!     free: only what may come unasked

use std::sync::Arc;

use config::PoolMode;
use wire::tag::backend;
use wire::{Header, TransactionStatus};

use super::{Derived, Engine, Pending};
use crate::client::Client;
use crate::command::{Command, Local, Question, Refused};
use crate::ids::Id;
use crate::link::{Heard, Link, Phase};
use crate::params::{self, Params};
use crate::pool::{Failure, route};
use crate::reason::Reason;
use crate::server::login::{Credentials, Login, Outcome};
use crate::server::{Progress, Purpose, Server, Stage, WHOLE_MAX};
use crate::stream::{Source, Verdict};
use crate::time::Time;

impl Engine {
    pub(super) fn server_connected(
        &mut self,
        id: Id<Server>,
        result: Result<Local, Refused>,
        now: Time,
    ) {
        let local = match result {
            Ok(local) => local,
            Err(Refused(text)) => {
                let failure = Failure::of_network(format!("connect failed: {text}"));
                return self.login_failed(id, failure, now);
            }
        };
        let pool = self.servers[id].pool;
        let key = self.pool(pool).key.clone();
        let credentials = Credentials {
            user: key.user.as_bytes().to_vec(),
            secret: route::secret(&self.setup, &key),
            learnt: self.keyring.get(&key.user).and_then(|ring| ring.learnt),
        };
        let target = Arc::clone(&self.servers[id].target);
        let (login, packet) = Login::begin(credentials, &target, self.names.clone());
        let server = &mut self.servers[id];
        server.local = Some(local);
        server.stage = Stage::Login(Box::new(login));
        self.log_connected(id);
        self.tell_server(id, |out| out.extend_from_slice(&packet));
    }

    pub(super) fn server_received(&mut self, id: Id<Server>, bytes: &[u8], now: Time) {
        let Some(server) = self.servers.find_mut(id) else { return };
        if bytes.is_empty() {
            if let Stage::Cancel(delivery) = &mut server.stage {
                delivery.progress = Progress::Heard;
            }
            return self.server_lost(id, "server conn crashed?", now);
        }
        server.times.heard = now;
        if server.stream.held.is_empty() {
            return self.server_bytes(id, bytes, Source::Lent, now);
        }
        if let Some(held) = server.stream.join(bytes) {
            self.server_bytes(id, &held, Source::Held, now);
            self.shelf.put(held);
        }
    }

    fn server_bytes(&mut self, id: Id<Server>, bytes: &[u8], source: Source, now: Time) {
        let mut at = 0;
        while at < bytes.len() {
            let Some(server) = self.servers.find_mut(id) else { return };
            if !server.stream.at_boundary() {
                let (range, passes) = server.stream.advance(at, bytes.len());
                at = range.end;
                if let (true, Stage::Linked(link)) = (passes, &server.stage) {
                    let client = link.client;
                    self.pass_to_client(client, bytes, range, source);
                }
                continue;
            }
            let verdict = self.server_says(id, &bytes[at..], now);
            let Some(server) = self.servers.find_mut(id) else { return };
            match verdict {
                Verdict::Pass(total) => server.stream.pass(total),
                Verdict::Drop(total) => server.stream.discard(total),
                Verdict::Need(total) => {
                    server.stream.hold(&bytes[at..], total, &mut self.shelf);
                    break;
                }
                Verdict::Hold | Verdict::Gone => return,
            }
        }
        self.check_release(id, now);
    }

    fn server_says(&mut self, id: Id<Server>, rest: &[u8], now: Time) -> Verdict {
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => return self.end_server(id, &Reason::ServerDesync("bad pkt header"), now),
        };
        match self.servers[id].stage {
            Stage::Linked(Link { client, phase: Phase::Talking }) => {
                self.server_talks(id, client, head, rest, now)
            }
            Stage::Linked(Link { phase: Phase::Setting { .. }, .. }) | Stage::Errand(_) => {
                self.server_runs(id, head, rest, now)
            }
            Stage::Login(_) => self.server_logs_in(id, head, rest, now),
            Stage::Idle | Stage::Used | Stage::BeingCanceled => {
                self.server_interjects(id, head, rest, now)
            }
            // A server has nothing to say to a cancel request.
            Stage::Cancel(_) | Stage::Connecting => Verdict::Drop(rest.len() as u32),
            Stage::Gone => Verdict::Gone,
        }
    }

    /// A linked server says something: on the path of every message.
    fn server_talks(
        &mut self,
        id: Id<Server>,
        client: Id<Client>,
        head: Header,
        rest: &[u8],
        now: Time,
    ) -> Verdict {
        let whole = match head.tag {
            backend::READY_FOR_QUERY | backend::PARAMETER_STATUS => match whole(head, rest) {
                Ok(body) => body,
                Err(verdict) => return self.or_end(id, verdict, now),
            },
            backend::ERROR_RESPONSE => match whole(head, rest) {
                Ok(body) => body,
                Err(Verdict::Need(total)) => return Verdict::Need(total),
                // Too long to be the server's last words.
                Err(_) => &[],
            },
            _ => &[],
        };
        if head.tag == backend::ERROR_RESPONSE && self.is_left_alone(id) {
            // It has answered everything: this is the end of a free server, and nobody else's.
            let reason = Reason::ServerMovedOn("server sent error while idle");
            self.servers[id].doom(reason);
            return Verdict::Drop(head.total);
        }
        let heard = self.servers[id].outstanding.heard(head.tag);
        match head.tag {
            backend::READY_FOR_QUERY => match wire::backend::ready_for_query(whole) {
                Ok(status) if self.forbids(id, status) => {
                    return self.end_server(id, &Reason::TransactionBlock, now);
                }
                Ok(status) => self.cycle_ended(id, client, status, now),
                Err(_) => return self.end_server(id, &Reason::ServerDesync("bad packet"), now),
            },
            backend::PARAMETER_STATUS => self.parameter_changed(id, Some(client), whole),
            backend::ERROR_RESPONSE if is_fatal(whole) => {
                self.servers[id].doom(Reason::ServerSaidFatal);
            }
            _ => {}
        }
        match heard {
            Heard::Forward => Verdict::Pass(head.total),
            Heard::Swallow => Verdict::Drop(head.total),
            Heard::Unexpected => {
                self.end_server(id, &Reason::ServerDesync("server answered what nobody asked"), now)
            }
        }
    }

    /// Whether a linked server has nothing to do with its client any more, though the client may
    /// not have taken everything yet.
    fn is_left_alone(&self, id: Id<Server>) -> bool {
        let server = &self.servers[id];
        self.pool(server.pool).target.mode != PoolMode::Session
            && server.status == TransactionStatus::Idle
            && server.outstanding.is_settled()
    }

    /// In statement pooling no transaction may outlive its query.
    fn forbids(&self, id: Id<Server>, status: TransactionStatus) -> bool {
        let pool = self.servers[id].pool;
        status != TransactionStatus::Idle && self.pool(pool).target.mode == PoolMode::Statement
    }

    /// ReadyForQuery: a query cycle ends when nothing is outstanding, a transaction when the
    /// status is idle as well.
    fn cycle_ended(
        &mut self,
        id: Id<Server>,
        client: Id<Client>,
        status: TransactionStatus,
        now: Time,
    ) {
        let server = &mut self.servers[id];
        server.status = status;
        if !server.outstanding.is_empty() {
            return;
        }
        let counters = &mut self.pools[server.pool].counters;
        let Some(client) = self.clients.find_mut(client) else { return };
        if client.times.query != Time::NEVER {
            counters.query_time += now.since(client.times.query);
            client.times.query = Time::NEVER;
        }
        if status == TransactionStatus::Idle && client.times.transaction != Time::NEVER {
            counters.transaction_time += now.since(client.times.transaction);
            client.times.transaction = Time::NEVER;
        }
    }

    /// A ParameterStatus: the server's value, and that of the client it serves.
    fn parameter_changed(&mut self, id: Id<Server>, client: Option<Id<Client>>, body: &[u8]) {
        let Ok((name, value)) = wire::backend::parameter_status(body) else { return };
        let place = self.names.place(name).filter(|_| value.len() <= params::VALUE_MAX);
        let Some(place) = place else { return };
        let server = &mut self.servers[id];
        if !server.note_parameter(place, value) {
            return;
        }
        if let Some(client) = client.and_then(|client| self.clients.find_mut(client)) {
            Arc::make_mut(&mut client.params).set(place, value);
            if client.params == server.params {
                client.params = Arc::clone(&server.params);
            }
        }
    }

    /// The pooler's own Query is being answered: everything is swallowed up to ReadyForQuery.
    fn server_runs(&mut self, id: Id<Server>, head: Header, rest: &[u8], now: Time) -> Verdict {
        let body = match head.tag {
            backend::READY_FOR_QUERY | backend::PARAMETER_STATUS | backend::ERROR_RESPONSE => {
                match whole(head, rest) {
                    Ok(body) => body,
                    Err(verdict) => return self.or_end(id, verdict, now),
                }
            }
            _ => return Verdict::Drop(head.total),
        };
        match head.tag {
            backend::PARAMETER_STATUS => self.parameter_changed(id, None, body),
            backend::ERROR_RESPONSE => {
                let text = wire::Fields::parse(body).ok().and_then(|fields| fields.message());
                let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
                log::warn!("{}own query failed: {text}", self.server_name(id));
                match &mut self.servers[id].stage {
                    Stage::Errand(errand) => errand.failed = true,
                    Stage::Linked(link) => link.phase = Phase::Setting { failed: true },
                    _ => {}
                }
            }
            _ => match wire::backend::ready_for_query(body) {
                Ok(status) => {
                    self.servers[id].status = status;
                    self.run_ended(id, now);
                }
                Err(_) => return self.end_server(id, &Reason::ServerDesync("bad packet"), now),
            },
        }
        match self.servers.find(id) {
            Some(Server { stage: Stage::Gone, .. }) | None => Verdict::Gone,
            Some(_) => Verdict::Drop(head.total),
        }
    }

    /// The answer to the pooler's own Query is complete.
    fn run_ended(&mut self, id: Id<Server>, now: Time) {
        let server = &mut self.servers[id];
        let clean = server.status == TransactionStatus::Idle;
        match server.stage {
            Stage::Errand(errand) => {
                let pool = server.pool;
                server.stage = Stage::Idle;
                self.pool_mut(pool).tested -= 1;
                if errand.failed || !clean {
                    let what = match errand.purpose {
                        Purpose::Check => "test failed",
                        Purpose::Reset => "reset query failed",
                    };
                    self.close_server(id, &Reason::ServerMovedOn(what), now);
                } else {
                    if errand.purpose == Purpose::Reset {
                        self.forget_unreported(id);
                    }
                    self.make_available(id, now);
                }
            }
            Stage::Linked(Link { client, phase: Phase::Setting { failed } }) => {
                if failed || !clean {
                    self.close_server(id, &Reason::InvalidServerParameter, now);
                } else {
                    server.stage = Stage::Linked(Link { client, phase: Phase::Talking });
                    let reported = self.pools[server.pool].welcome.as_ref();
                    if let (Some(client), Some(reported)) =
                        (self.clients.find_mut(client), reported)
                    {
                        let unreported = |params: &Params| params.has_unreported(&reported.params);
                        if unreported(&client.params) || unreported(&server.params) {
                            Arc::make_mut(&mut server.params)
                                .take_unreported(&reported.params, &client.params);
                        }
                        client.params = Arc::clone(&server.params);
                    }
                    // At once: until it has spoken the link looks as if it had done all its work.
                    self.resume(client, now);
                }
            }
            _ => {}
        }
    }

    /// What the pooler has set on a server is gone with a reset, where the server does not say so
    /// itself.
    fn forget_unreported(&mut self, id: Id<Server>) {
        let query = self.setup.config.pgbouncer.server_reset_query.as_deref().unwrap_or_default();
        let query = query.to_ascii_lowercase();
        let resets_all = query.contains("discard all") || query.contains("reset all");
        let server = &mut self.servers[id];
        let reported = self.pools[server.pool].welcome.as_ref();
        if let Some(reported) = reported.filter(|_| resets_all)
            && server.params.has_unreported(&reported.params)
        {
            let none = Params::default();
            Arc::make_mut(&mut server.params).take_unreported(&reported.params, &none);
        }
    }

    fn server_logs_in(&mut self, id: Id<Server>, head: Header, rest: &[u8], now: Time) -> Verdict {
        let is_executing =
            matches!(&self.servers[id].stage, Stage::Login(login) if login.is_executing());
        if is_executing && matches!(head.tag, backend::DATA_ROW | backend::COPY_DATA) {
            return Verdict::Drop(head.total);
        }
        let body = match whole(head, rest) {
            Ok(body) => body,
            Err(verdict) => return self.or_end(id, verdict, now),
        };
        let nonce = self.entropy.bytes();
        let Stage::Login(login) = &mut self.servers[id].stage else { return Verdict::Gone };
        let outcome = login.hears(head.tag, body, nonce);
        self.login_goes_on(id, outcome, now);
        match self.servers.find(id) {
            Some(Server { stage: Stage::Gone, .. }) | None => Verdict::Gone,
            Some(_) => Verdict::Drop(head.total),
        }
    }

    fn login_goes_on(&mut self, id: Id<Server>, outcome: Outcome, now: Time) {
        match outcome {
            Outcome::Wait => {}
            Outcome::Send(bytes) => self.tell_server(id, |out| out.extend_from_slice(&bytes)),
            Outcome::Derive { password, salt, iterations } => {
                self.derive_for(id, password, salt, iterations, now);
            }
            Outcome::Complain(text) => {
                log::warn!("{}error while executing exec_on_query: {text}", self.server_name(id));
            }
            Outcome::Ready => self.login_ready(id, now),
            Outcome::Failed(failure) => self.login_failed(id, failure, now),
        }
    }

    fn derive_for(
        &mut self,
        id: Id<Server>,
        password: Vec<u8>,
        salt: Vec<u8>,
        iterations: u32,
        now: Time,
    ) {
        let user = Arc::clone(&self.pool(self.servers[id].pool).key.user);
        let derived = self.keyring.get(&user).and_then(|ring| ring.derived.as_ref());
        match derived {
            Some(known) if known.is_of(&password, &salt, iterations) => {
                let keys = known.keys;
                self.keys_at_hand(id, &keys, now);
            }
            _ => {
                let of = self.generation;
                let pending = Pending::ServerKeys {
                    server: id,
                    password: password.clone(),
                    salt: salt.clone(),
                    iterations,
                    of,
                };
                let ticket = self.ticket(pending);
                let question = Question::Derive { password, salt, iterations };
                self.commands.push_back(Command::Ask { ticket, question });
            }
        }
    }

    /// The keys for a server's login have been derived.
    pub(super) fn server_derived(&mut self, id: Id<Server>, derived: Derived, of: u64, now: Time) {
        let Some(server) = self.servers.find(id) else { return };
        let user = Arc::clone(&self.pool(server.pool).key.user);
        let keys = derived.keys;
        if of == self.generation {
            self.keyring.entry(user).or_default().derived = Some(derived);
        }
        self.keys_at_hand(id, &keys, now);
    }

    fn keys_at_hand(&mut self, id: Id<Server>, keys: &auth::ScramKeys, now: Time) {
        let Some(Server { stage: Stage::Login(login), .. }) = self.servers.find_mut(id) else {
            return;
        };
        let outcome = login.derived(keys);
        self.login_goes_on(id, outcome, now);
    }

    /// A free server says something: only a few things may come unasked.
    fn server_interjects(
        &mut self,
        id: Id<Server>,
        head: Header,
        rest: &[u8],
        now: Time,
    ) -> Verdict {
        let body = match whole(head, rest) {
            Ok(body) => body,
            Err(verdict) => return self.or_end(id, verdict, now),
        };
        match head.tag {
            backend::PARAMETER_STATUS => self.parameter_changed(id, None, body),
            backend::NOTICE_RESPONSE | backend::NOTIFICATION_RESPONSE => {}
            backend::ERROR_RESPONSE => {
                return self.end_server(
                    id,
                    &Reason::ServerMovedOn("server sent error while idle"),
                    now,
                );
            }
            tag => {
                let name = self.server_name(id);
                let tag = char::from(tag);
                log::warn!("{name}got packet '{tag}' from server when not linked");
                let reason = Reason::ServerDesync("unexpected packet from server");
                return self.end_server(id, &reason, now);
            }
        }
        Verdict::Drop(head.total)
    }

    pub(super) fn server_sent(&mut self, id: Id<Server>, n: usize, now: Time) {
        let Some(server) = self.servers.find_mut(id) else { return };
        server.outbox.sent(n, &mut self.shelf);
        if !server.outbox.is_empty() {
            return;
        }
        if let Stage::Linked(Link { client, phase: Phase::Talking }) = server.stage {
            self.read_client(client, true);
            self.check_release(id, now);
        }
    }

    /// A message that cannot be had whole either needs more bytes or is too long.
    fn or_end(&mut self, id: Id<Server>, verdict: Verdict, now: Time) -> Verdict {
        match verdict {
            Verdict::Gone => self.end_server(id, &Reason::ServerDesync("oversized packet"), now),
            verdict => verdict,
        }
    }

    fn end_server(&mut self, id: Id<Server>, reason: &Reason, now: Time) -> Verdict {
        match self.servers[id].stage {
            Stage::Login(_) => {
                let failure = Failure::of_network(reason.text());
                self.login_failed(id, failure, now);
            }
            _ => self.close_server(id, reason, now),
        }
        Verdict::Gone
    }
}

/// Whether an ErrorResponse announces the end of the connection.
fn is_fatal(body: &[u8]) -> bool {
    let fields = wire::Fields::parse(body).ok();
    let severity = fields.and_then(|fields| fields.severity());
    severity.is_some_and(|severity| matches!(severity, b"FATAL" | b"PANIC"))
}

/// The body of a message that must be seen whole; else what to wait for, or `Gone` when it is too
/// long to be honest.
fn whole(head: Header, rest: &[u8]) -> Result<&[u8], Verdict> {
    if head.total > WHOLE_MAX {
        return Err(Verdict::Gone);
    }
    rest.get(..head.total as usize).map(wire::frame::body).ok_or(Verdict::Need(head.total))
}
