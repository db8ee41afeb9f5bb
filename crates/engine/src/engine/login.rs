//! Logins of clients.
//!
//!     first packets ──► console, cancel request, another worker, or authentication
//!     authentication ──► welcome, or wait as a newcomer for one
//!
//! What is asked of a client and whether its answer proves anything is decided in `authenticate`;
//! here it finds its worker, its secret, its pool and its welcome.

use std::sync::Arc;

use super::{Engine, Pending, Work};
use crate::client::authenticate::{self, Authentication, Known};
use crate::client::startup::{self, Request, Step};
use crate::client::{Client, Login, Stage};
use crate::command::{Command, Question};
use crate::ids::Id;
use crate::pool::route;
use crate::reason::Reason;
use crate::stream::Verdict;
use crate::time::Time;
use wire::tag::frontend;
use wire::write;

impl Engine {
    pub(super) fn client_starts(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let ignored = &self.setup.config.pgbouncer.ignore_startup_parameters;
        let Stage::Startup { refused } = &mut self.clients[id].stage else {
            return Verdict::Gone;
        };
        match startup::read(rest, refused, ignored) {
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
    pub(super) fn authenticate(&mut self, id: Id<Client>, request: Request, now: Time) {
        let login =
            Login { database: Arc::clone(&request.database), user: Arc::clone(&request.user) };
        self.clients[id].login = Some(Arc::new(login));
        self.log_login(id);
        if let Err(reason) = self.admit(id, &request) {
            return self.close_client(id, &reason, now);
        }
        if !request.negotiation.is_empty() {
            self.tell_client(id, |out| out.extend_from_slice(&request.negotiation));
        }
        match self.setup.config.pgbouncer.auth_type {
            config::AuthType::Trust if self.secret(&request.user).is_some() => {
                self.authenticated(id, request, now);
            }
            config::AuthType::Trust => self.close_client(id, &Reason::TrustFailed, now),
            _ => self.challenge(id, request),
        }
    }

    fn challenge(&mut self, id: Id<Client>, request: Request) {
        let user = Arc::clone(&request.user);
        let cached = self.keyring.get(&user).and_then(|ring| ring.verifier.clone());
        let secret = self.secret(&user);
        if secret.is_none() {
            log::info!("{}no such user: {user}", self.client_name(id));
        }
        let known = cached.map_or_else(
            || {
                // The salt is made up from the name, so that it does not tell who exists.
                authenticate::known(secret, || {
                    let iterations = authenticate::ITERATIONS;
                    auth::mock_verifier(&self.process_secret, user.as_bytes(), iterations)
                })
            },
            Known::Verifier,
        );
        let authentication = match known {
            Known::Verifier(verifier) => Authentication::begin(request, Some(verifier)),
            Known::Password { password, salt } => {
                let iterations = authenticate::ITERATIONS;
                let of = self.generation;
                let pending = Pending::ClientVerifier { client: id, salt: salt.clone(), of };
                let ticket = self.ticket(pending);
                let question = Question::Derive { password, salt, iterations };
                self.commands.push_back(Command::Ask { ticket, question });
                Authentication::begin(request, None)
            }
        };
        let offer = authentication.offer();
        self.clients[id].stage = Stage::Authenticating(Box::new(authentication));
        self.tell_client(id, |out| out.extend_from_slice(&offer));
    }

    /// A client's verifier has been derived from the plain password.
    pub(super) fn client_derived(&mut self, id: Id<Client>, verifier: &auth::Verifier, of: u64) {
        let Some(client) = self.clients.find_mut(id) else { return };
        let Stage::Authenticating(authentication) = &mut client.stage else { return };
        if of != self.generation {
            // The password may have been changed meanwhile.
            let request = authentication.request.clone();
            return self.challenge(id, request);
        }
        authentication.derived(verifier.clone());
        let offer = authentication.offer();
        let user = Arc::clone(&authentication.request.user);
        self.keyring.entry(user).or_default().verifier = Some(verifier.clone());
        self.tell_client(id, |out| out.extend_from_slice(&offer));
        self.work.push_back(Work::Resume(id));
    }

    pub(super) fn client_proves(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => return self.end_client(id, &startup::bad_header(rest), now),
        };
        if head.tag != frontend::PASSWORD {
            return self.end_client(id, &Reason::BadPacket, now);
        }
        if head.total > authenticate::MESSAGE_MAX {
            return self.end_client(id, &startup::bad_header(rest), now);
        }
        let Some(message) = rest.get(..head.total as usize) else {
            return Verdict::Need(head.total);
        };
        let nonce = self.entropy.bytes();
        let Stage::Authenticating(authentication) = &mut self.clients[id].stage else {
            return Verdict::Gone;
        };
        match authentication.hears(wire::frame::body(message), nonce) {
            authenticate::Outcome::Send(bytes) => {
                self.tell_client(id, |out| out.extend_from_slice(&bytes));
                Verdict::Drop(head.total)
            }
            authenticate::Outcome::Proven(bytes, keys) => {
                let request = authentication.request.clone();
                self.tell_client(id, |out| out.extend_from_slice(&bytes));
                self.learn(&request.user, keys);
                self.authenticated(id, request, now);
                match self.clients.find(id) {
                    Some(Client { stage: Stage::Gone(_), .. }) | None => Verdict::Gone,
                    Some(_) => Verdict::Drop(head.total),
                }
            }
            authenticate::Outcome::Denied(reason) => self.end_client(id, &reason, now),
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
        let key = route::key(entry, &request.database, &request.user);
        let Some(pool) = self.pool_for(&key) else {
            let reason = Reason::NoSuchDatabase(request.database.to_string());
            return self.close_client(id, &reason, now);
        };
        self.join(id, pool);
        let client = &mut self.clients[id];
        client.params = Arc::new(request.params);
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
        let params = Arc::clone(&client.params);
        self.keys.insert(key, id);
        self.tell_client(id, |out| {
            write::authentication_ok(out);
            out.extend_from_slice(&welcome.fixed);
            for (place, name) in crate::params::TRACKED.iter().enumerate() {
                if let Some(value) = params.value(place) {
                    write::parameter_status(out, name.as_bytes(), value);
                }
            }
            let key = key.to_be_bytes();
            let (pid, secret) = key.split_at(4);
            let pid = u32::from_be_bytes([pid[0], pid[1], pid[2], pid[3]]);
            write::backend_key_data(out, pid, secret);
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

/// How many bytes of a first packet are worth another look: its length field says.
fn startup_needs(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 4,
    }
}
