//! Logins of clients.
//!
//!     first packets ──► console, cancel request, another worker, or authentication
//!     authentication ──► welcome, or wait as a newcomer for one
//!
//! What is asked of a client and whether its answer proves anything is decided in `authenticate`;
//! here it finds its worker, its secret, its pool and its welcome.

use std::collections::VecDeque;
use std::sync::Arc;

use auth::{ScramKeys, Secret, Verifier};
use config::AuthType;

use super::{Engine, Made, Pending, Work};
use crate::client::authenticate::{self, Authentication, Method, Outcome};
use crate::client::startup::{self, Request, Step};
use crate::client::{Client, Login, Stage};
use crate::command::{Command, Peer, Question};
use crate::ids::Id;
use crate::pool::route;
use crate::reason::Reason;
use crate::stream::Verdict;
use crate::time::Time;
use wire::startup::Packet;
use wire::tag::frontend;
use wire::{Report, sqlstate, write};

impl Engine {
    pub(super) fn client_starts(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let ignored = &self.setup.config.pgbouncer.ignore_startup_parameters;
        let rules = startup::Rules { names: &self.names, ignored };
        let Stage::Startup { refused } = &mut self.clients[id].stage else {
            return Verdict::Gone;
        };
        match startup::read(rest, refused, rules) {
            Step::Incomplete => Verdict::Need(startup_needs(rest)),
            Step::Refuse(len) => {
                self.tell_client(id, |out| out.push(b'N'));
                Verdict::Drop(len as u32)
            }
            Step::Cancel(key) => {
                self.cancel_requested(id, &key, now);
                Verdict::Drop(rest.len() as u32)
            }
            Step::Login(request, len) => {
                if request.database.as_ref() == route::CONSOLE {
                    self.console_login(id, *request, now);
                } else {
                    self.client_logs_in(id, *request, &rest[len..], now);
                }
                match self.clients.find(id) {
                    Some(Client { stage: Stage::Gone(_), .. }) | None => Verdict::Gone,
                    Some(_) => Verdict::Drop(len as u32),
                }
            }
            Step::Bad(reason) => self.end_client(id, &reason, now),
        }
    }

    fn client_logs_in(&mut self, id: Id<Client>, request: Request, behind: &[u8], now: Time) {
        let settings = &self.setup.config.pgbouncer;
        if self.ledger.clients() > settings.max_client_conn {
            return self.close_client(id, &Reason::TooManyClients, now);
        }
        if self.mode.shutdown.is_some() {
            return self.close_client(id, &Reason::ShuttingDown, now);
        }
        match self.place(&request) {
            Some(worker) if worker != self.me => self.ship_client(id, worker, request, behind),
            _ => self.authenticate(id, request, now),
        }
    }

    /// Begins the proof of who a client is; it lives on this worker from here on.
    pub(super) fn authenticate(&mut self, id: Id<Client>, mut request: Request, now: Time) {
        self.name_client(id, &request);
        self.log_login(id);
        if self.setup.config.pgbouncer.auth_type == AuthType::Any
            && let Err(reason) = self.impose_user(id, &mut request)
        {
            return self.close_client(id, &reason, now);
        }
        if let Err(reason) = self.admit(id, &request) {
            return self.close_client(id, &reason, now);
        }
        if !request.negotiation.is_empty() {
            self.tell_client(id, |out| out.extend_from_slice(&request.negotiation));
        }
        self.ask_for_proof(id, request, now);
    }

    fn name_client(&mut self, id: Id<Client>, request: &Request) {
        let (database, user) = (Arc::clone(&request.database), Arc::clone(&request.user));
        self.clients[id].login = Some(Arc::new(Login { database, user }));
    }

    /// PgBouncer: with `auth_type=any` a client is the user that its database forces, whatever name
    /// it gives; only the console looks at the name.
    fn impose_user(&mut self, id: Id<Client>, request: &mut Request) -> Result<(), Reason> {
        let is_console = request.database.as_ref() == route::CONSOLE;
        let entry = route::entry(&self.setup, &request.database).filter(|_| !is_console);
        let Some(entry) = entry else { return Ok(()) };
        let Some(forced) = entry.user.as_deref() else {
            log::error!("{}auth_type=any requires forced user", self.client_name(id));
            return Err(Reason::Misconfigured);
        };
        request.user = forced.into();
        self.name_client(id, request);
        Ok(())
    }

    fn ask_for_proof(&mut self, id: Id<Client>, request: Request, now: Time) {
        let setup = Arc::clone(&self.setup);
        let secret = setup.userlist.find(request.user.as_bytes());
        let method = Method::of(setup.config.pgbouncer.auth_type, secret);
        if secret.is_none() && method != Method::Any {
            log::info!("{}no such user: {}", self.client_name(id), request.user);
        }
        let authentication = match method {
            Method::Any => return self.authenticated(id, request, now),
            Method::Trust if secret.is_some() => return self.authenticated(id, request, now),
            Method::Trust => return self.close_client(id, &Reason::TrustFailed, now),
            Method::Password => {
                let stretch = self.stretch(&request.user, secret);
                Authentication::password(request, secret, stretch)
            }
            Method::Md5 => Authentication::md5(request, secret, self.entropy.bytes()),
            Method::Scram => {
                let verifier = self.verifier(id, &request.user);
                Authentication::scram(request, verifier)
            }
        };
        let question = authentication.question();
        self.clients[id].stage = Stage::Authenticating(Box::new(authentication));
        self.tell_client(id, |out| out.extend_from_slice(&question));
    }

    /// What the keys of a password are derived for. As soon as that is necessary for one user it is
    /// done for all, so that the time does not tell who exists.
    fn stretch(&self, user: &str, secret: Option<&Secret>) -> Option<Verifier> {
        match secret {
            Some(Secret::Scram(verifier)) => Some(verifier.clone()),
            _ if self.setup.userlist.has_verifiers() => Some(self.mock_verifier(user)),
            _ => None,
        }
    }

    fn mock_verifier(&self, user: &str) -> Verifier {
        let iterations = self.setup.config.pgbouncer.scram_iterations;
        auth::mock_verifier(&self.process_secret, user.as_bytes(), iterations)
    }

    /// The verifier of a user; that of a plain password is derived by the first who needs it, and
    /// whoever needs it meanwhile waits for the same.
    fn verifier(&mut self, id: Id<Client>, user: &Arc<str>) -> Option<Verifier> {
        let password = match self.secret(user) {
            Some(Secret::Scram(verifier)) => return Some(verifier.clone()),
            Some(Secret::Plain(password)) if !password.is_empty() => password.to_vec(),
            _ => return Some(self.mock_verifier(user)),
        };
        match self.keyring.get_mut(user).map(|ring| &mut ring.verifier) {
            Some(Made::Yes(verifier)) => return Some(verifier.clone()),
            Some(Made::Underway(waiting)) => waiting.push(id),
            Some(Made::No) | None => {
                // The salt is made up from the name, so that it does not tell who exists.
                let Verifier { salt, iterations, .. } = self.mock_verifier(user);
                let ring = self.keyring.entry(Arc::clone(user)).or_default();
                ring.verifier = Made::Underway(vec![id]);
                let salt = salt.to_vec();
                let pending = Pending::ClientVerifier {
                    user: Arc::clone(user),
                    salt: salt.clone(),
                    iterations,
                    of: self.generation,
                };
                self.ask(pending, Question::Derive { password, salt, iterations });
            }
        }
        None
    }

    /// A verifier has been derived from a plain password: those who wait for it may go on. If the
    /// configuration has changed meanwhile, so may have the password.
    pub(super) fn verifier_derived(&mut self, user: &Arc<str>, verifier: Verifier, of: u64) {
        let made = if of == self.generation { Made::Yes(verifier) } else { Made::No };
        let ring = self.keyring.entry(Arc::clone(user)).or_default();
        let Made::Underway(waiting) = std::mem::replace(&mut ring.verifier, made) else { return };
        for id in waiting {
            if self.clients.find(id).is_none() {
                continue;
            }
            let verifier = self.verifier(id, user);
            let Stage::Authenticating(authentication) = &mut self.clients[id].stage else {
                continue;
            };
            authentication.derived(verifier);
            let question = authentication.question();
            self.tell_client(id, |out| out.extend_from_slice(&question));
            self.work.push_back(Work::Resume(id));
        }
    }

    fn ask(&mut self, pending: Pending, question: Question) {
        let ticket = self.ticket(pending);
        self.commands.push_back(Command::Ask { ticket, question });
    }

    pub(super) fn client_proves(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        if rest.first() == Some(&0) {
            return self.client_starts_again(id, rest, now);
        }
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => {
                return self.end_client(id, &startup::bad_header(&rest[..wire::HEADER]), now);
            }
        };
        if head.tag != frontend::PASSWORD {
            return self.end_client(id, &Reason::BadPacket, now);
        }
        if head.total > authenticate::MESSAGE_MAX {
            // What follows the header may be a password, which no log shall show.
            return self.end_client(id, &startup::bad_header(&rest[..wire::HEADER]), now);
        }
        let Some(message) = rest.get(..head.total as usize) else {
            return Verdict::Need(head.total);
        };
        let nonce = self.entropy.bytes();
        let Stage::Authenticating(authentication) = &mut self.clients[id].stage else {
            return Verdict::Gone;
        };
        if authentication.is_costly() && !self.checks.begin(id) {
            return Verdict::Hold;
        }
        let outcome = authentication.hears(wire::frame::body(message), nonce);
        self.proof_judged(id, outcome, now);
        match self.clients.find(id) {
            Some(Client { stage: Stage::Gone(_), .. }) | None => Verdict::Gone,
            Some(_) => Verdict::Drop(head.total),
        }
    }

    /// Who it is has been said and is not said again.
    fn client_starts_again(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let reason = match wire::startup::packet(rest) {
            Ok(None) => return Verdict::Need(startup_needs(rest)),
            Ok(Some((Packet::Startup(_), _))) => {
                Reason::BadStartup("client re-sent startup pkt".into())
            }
            Ok(Some(_)) | Err(_) => Reason::BadPacket,
        };
        self.end_client(id, &reason, now)
    }

    fn proof_judged(&mut self, id: Id<Client>, outcome: Outcome, now: Time) {
        match outcome {
            Outcome::Send(bytes) => self.tell_client(id, |out| out.extend_from_slice(&bytes)),
            Outcome::Ask(question) => self.ask(Pending::ClientKeys { client: id }, question),
            Outcome::Proven(bytes, keys) => {
                let Stage::Authenticating(authentication) = &self.clients[id].stage else { return };
                let request = authentication.request.clone();
                self.tell_client(id, |out| out.extend_from_slice(&bytes));
                if let Some(keys) = keys {
                    self.learn(&request.user, keys);
                }
                self.authenticated(id, request, now);
            }
            Outcome::Denied(reason) => {
                // PgBouncer: what bans addresses looks for this line, which the reason lacks.
                if reason == authenticate::SASL_FAILED {
                    log::error!("{}password authentication failed", self.client_name(id));
                }
                self.close_client(id, &reason, now);
            }
        }
    }

    /// The keys of a password that a client gave have been derived.
    pub(super) fn password_derived(&mut self, id: Id<Client>, keys: ScramKeys, now: Time) {
        self.checks.end();
        if let Some(Client { stage: Stage::Authenticating(authentication), .. }) =
            self.clients.find_mut(id)
        {
            let outcome = authentication.stretched(keys);
            self.proof_judged(id, outcome, now);
            self.work.push_back(Work::Resume(id));
        }
        while let Some(next) = self.checks.next() {
            self.resume(next, now);
        }
    }

    /// A client is who it says: into its pool, or onto the console.
    fn authenticated(&mut self, id: Id<Client>, request: Request, now: Time) {
        if request.database.as_ref() == route::CONSOLE {
            return self.console_enter(id, now);
        }
        let Some(entry) = route::entry(&self.setup, &request.database) else {
            let reason = Reason::NoSuchDatabase(request.database.to_string());
            return self.close_client(id, &reason, now);
        };
        if self.mode.disables(&request.database) {
            let reason = Reason::DatabaseDisabled(request.database.to_string());
            return self.close_client(id, &reason, now);
        }
        let key = route::key(entry, &request.database, &request.user);
        let Some(pool) = self.pool_for(&key) else {
            let reason = Reason::NoSuchDatabase(request.database.to_string());
            return self.close_client(id, &reason, now);
        };
        self.join(id, pool);
        let add_host = self.setup.config.pgbouncer.application_name_add_host;
        let client = &mut self.clients[id];
        client.params = Arc::new(match add_host {
            true => request.params.with_origin(&origin(client.peer, &self.setup.host)),
            false => request.params,
        });
        client.stage = Stage::Newcomer;
        client.times.requested = now;
        client.times.waiting = now;
        if self.pool(pool).welcome.is_some() {
            self.welcome(id);
        } else {
            self.pool_mut(pool).newcomers.push(id);
            self.touch(pool);
        }
    }

    /// Tells a client that it is logged in, and what its session is like.
    pub(super) fn welcome(&mut self, id: Id<Client>) {
        let key = self.cancel_key();
        let client = &mut self.clients[id];
        let Some(pool) = client.pool else { return };
        let Some(welcome) = self.pools[pool].welcome.clone() else { return };
        let params = (*client.params).clone().or(&welcome.params);
        client.params =
            if params == *welcome.params { Arc::clone(&welcome.params) } else { Arc::new(params) };
        client.key = key;
        client.stage = Stage::Idle;
        self.pools[pool].counters.logins += 1;
        let (params, names) = (Arc::clone(&client.params), self.names.clone());
        let notice = self.setup.config.pgbouncer.login_notify_message.clone();
        self.keys.insert(key, id);
        self.tell_client(id, |out| {
            write::authentication_ok(out);
            out.extend_from_slice(&welcome.fixed);
            for (place, name) in names.iter() {
                let is_reported = welcome.params.value(place).is_some();
                if let Some(value) = params.value(place).filter(|_| is_reported) {
                    write::parameter_status(out, name.as_bytes(), value);
                }
            }
            let key = key.to_be_bytes();
            let (pid, secret) = key.split_at(4);
            let pid = u32::from_be_bytes([pid[0], pid[1], pid[2], pid[3]]);
            write::backend_key_data(out, pid, secret);
            if let Some(message) = notice.as_deref().filter(|message| !message.is_empty()) {
                let code = sqlstate::SUCCESSFUL_COMPLETION;
                let (detail, hint) = (None, None);
                let notice = Report { severity: "NOTICE", code, message, detail, hint };
                write::notice_response(out, &notice);
            }
            write::ready_for_query(out, wire::TransactionStatus::Idle);
        });
        self.work.push_back(Work::Resume(id));
    }

    pub(super) fn log_login(&self, id: Id<Client>) {
        if self.setup.config.pgbouncer.log_connections
            && let Some(login) = &self.clients[id].login
        {
            let (database, user) = (&login.database, &login.user);
            let name = self.client_name(id);
            log::info!("{name}login attempt: db={database} user={user} tls=no replication=no");
        }
    }
}

/// Where a client comes from, as PgBouncer writes it behind its `application_name`.
fn origin(peer: Peer, host: &str) -> String {
    match peer {
        Peer::Tcp { from, .. } => from.to_string(),
        Peer::Unix { pid, port, .. } => format!("unix({pid}@{host}):{port}"),
    }
}

/// The passwords whose keys are being derived, which are not more than the helper threads can soon
/// work off: whoever floods them waits with what it has said.
#[derive(Default)]
pub(super) struct Checks {
    underway: usize,
    waiting: VecDeque<Id<Client>>,
}

/// How many passwords of one worker's clients are checked at a time.
const CHECKS_MAX: usize = 16;

impl Checks {
    /// Begins a check, or has the client wait until [`next`](Self::next) names it.
    fn begin(&mut self, id: Id<Client>) -> bool {
        let is_free = self.underway < CHECKS_MAX;
        match is_free {
            true => self.underway += 1,
            false => self.waiting.push_back(id),
        }
        is_free
    }

    fn end(&mut self) {
        self.underway -= 1;
    }

    /// Who may begin now, if it is still there.
    fn next(&mut self) -> Option<Id<Client>> {
        if self.underway < CHECKS_MAX { self.waiting.pop_front() } else { None }
    }
}

/// How many bytes of a first packet are worth another look: its length field says.
fn startup_needs(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 4,
    }
}

#[cfg(test)]
mod tests;
