//! What clients say.
//!
//!     first packets ──► console, cancel request, another worker, or authentication
//!     authentication ──► welcome, or wait as a newcomer for one
//!     a request ──► a server is sought ──► it passes, or everything is held until one comes

use std::sync::Arc;

use super::{Engine, Pending, Work};
use crate::client::authenticate::{self, Authentication, Known};
use crate::client::inspect::{Said, inspect};
use crate::client::startup::{self, Request, Step};
use crate::client::{Client, Login, Stage};
use crate::command::{Command, Question};
use crate::ids::Id;
use crate::link::Phase;
use crate::pool::route;
use crate::reason::Reason;
use crate::server::Server;
use crate::stream::{Source, Verdict};
use crate::time::Time;
use wire::tag::frontend;
use wire::{Header, write};

impl Engine {
    pub(super) fn client_received(&mut self, id: Id<Client>, bytes: &[u8], now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if matches!(client.stage, Stage::Gone(_)) {
            return;
        }
        if bytes.is_empty() {
            return self.close_client(id, &Reason::ClientEof, now);
        }
        if client.stream.held.is_empty() {
            return self.client_bytes(id, bytes, Source::Lent, now);
        }
        if let Some(held) = client.stream.join(bytes) {
            self.client_bytes(id, &held, Source::Held, now);
            self.shelf.put(held);
        }
    }

    /// Hears again what was held, and reads on.
    pub(super) fn resume(&mut self, id: Id<Client>, now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if matches!(client.stage, Stage::Gone(_)) {
            return;
        }
        let held = std::mem::take(&mut client.stream.held);
        self.client_bytes(id, &held, Source::Held, now);
        self.shelf.put(held);
        let Some(client) = self.clients.find(id) else { return };
        let open = match client.stage {
            // When the server's outbox is empty, `server_sent` reads on.
            Stage::Linked(server) => self.servers[server].outbox.is_empty(),
            Stage::Waiting { .. } | Stage::Newcomer => false,
            Stage::Console(ref console) => {
                let is_short = client.stream.held.len() < crate::admin::KEPT_MAX;
                is_short || console.listens(client.outbox.is_empty())
            }
            _ => true,
        };
        if open {
            self.read_client(id, true);
        }
    }

    fn client_bytes(&mut self, id: Id<Client>, bytes: &[u8], source: Source, now: Time) {
        let mut at = 0;
        while at < bytes.len() {
            let Some(client) = self.clients.find_mut(id) else { return };
            if !client.stream.at_boundary() {
                let (range, passes) = client.stream.advance(at, bytes.len());
                at = range.end;
                if let (true, Stage::Linked(server)) = (passes, &client.stage) {
                    let server = *server;
                    self.pass_to_server(server, bytes, range, source);
                }
                continue;
            }
            let verdict = self.client_says(id, &bytes[at..], now);
            let Some(client) = self.clients.find_mut(id) else { return };
            match verdict {
                Verdict::Pass(total) => client.stream.pass(total),
                Verdict::Drop(total) => client.stream.discard(total),
                Verdict::Need(total) => {
                    client.stream.hold(&bytes[at..], total, &mut self.shelf);
                    break;
                }
                Verdict::Hold => {
                    client.stream.hold(&bytes[at..], 0, &mut self.shelf);
                    self.read_client(id, false);
                    break;
                }
                Verdict::Gone => return,
            }
        }
        if let Some(server) = self.clients.find(id).and_then(Client::server) {
            self.check_release(server, now);
        }
    }

    fn client_says(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let client = &mut self.clients[id];
        match &client.stage {
            Stage::Idle | Stage::Linked(_) => self.client_asks(id, rest, now),
            Stage::Waiting { .. } | Stage::Newcomer => Verdict::Hold,
            Stage::Startup { .. } => self.client_starts(id, rest, now),
            Stage::Authenticating(authentication) if !authentication.listens() => Verdict::Hold,
            Stage::Authenticating(_) => self.client_proves(id, rest, now),
            Stage::Console(_) => self.console_says(id, rest, now),
            // PgBouncer: whatever follows a cancel request is ignored.
            Stage::Canceling { .. } => Verdict::Drop(rest.len() as u32),
            Stage::Gone(_) => Verdict::Gone,
        }
    }

    /// A logged-in client says something: on the path of every message.
    fn client_asks(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => return self.end_client(id, &startup::bad_header(rest), now),
        };
        let said = inspect(head, self.setup.config.pgbouncer.max_packet_size);
        if names_a_statement(head) && rest.len() <= wire::HEADER {
            // Whether the name is empty must be known before a server is sought for it.
            return Verdict::Need(wire::HEADER as u32 + 1);
        }
        let linked = self.clients[id].server();
        match (said, linked) {
            (Said::Request, None) => {
                self.seek(id, now);
                match self.clients.find(id).map(|client| &client.stage) {
                    Some(Stage::Linked(server)) => {
                        self.client_talks(id, *server, (head, rest), now)
                    }
                    Some(_) => Verdict::Hold,
                    None => Verdict::Gone,
                }
            }
            (Said::Request | Said::Sequel, Some(server)) => {
                self.client_talks(id, server, (head, rest), now)
            }
            // PgBouncer: COPY data that comes too late, and a Flush with nothing to flush.
            (Said::Sequel, None) => Verdict::Drop(head.total),
            (Said::Terminate, _) => self.end_client(id, &Reason::ClientClose, now),
            (Said::Unknown, _) => self.end_client(id, &Reason::UnknownMessage, now),
            (Said::TooLong, _) => self.end_client(id, &startup::bad_header(rest), now),
        }
    }

    fn client_talks(
        &mut self,
        id: Id<Client>,
        server_id: Id<Server>,
        (head, rest): (Header, &[u8]),
        now: Time,
    ) -> Verdict {
        let server = &mut self.servers[server_id];
        if !server.link().is_some_and(|link| link.phase == Phase::Talking) {
            return Verdict::Hold;
        }
        if server.outstanding.is_full() {
            return self.end_client(id, &Reason::TooManyRequests, now);
        }
        if names_a_statement(head) {
            let unnamed = rest.get(wire::HEADER) == Some(&0);
            self.guard_unnamed(id, server_id, head.tag, unnamed);
        }
        let (client, server) = (&mut self.clients[id], &mut self.servers[server_id]);
        server.outstanding.asked(head.tag);
        client.times.requested = now;
        if client.times.query == Time::NEVER {
            let counters = &mut self.pools[server.pool].counters;
            client.times.query = now;
            counters.queries += 1;
            if client.times.transaction == Time::NEVER {
                client.times.transaction = now;
                counters.transactions += 1;
            }
        }
        Verdict::Pass(head.total)
    }

    /// Sees to it that a client never uses the unnamed statement of another one, or an older one of
    /// its own, which the server may still have: that is closed first, so that PostgreSQL itself
    /// says that there is none.
    fn guard_unnamed(&mut self, id: Id<Client>, server: Id<Server>, tag: u8, unnamed: bool) {
        let owner = &mut self.servers[server].unnamed_of;
        let last = &mut self.clients[id].unnamed_on;
        if tag == frontend::PARSE {
            if unnamed {
                (*owner, *last) = (Some(id), Some(server));
            }
        } else if (*owner, *last) != (Some(id), Some(server)) {
            (*owner, *last) = (Some(id), Some(server));
            self.servers[server].outstanding.closed();
            self.tell_server(server, |out| write::close(out, b'S', b""));
        }
    }

    fn client_starts(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
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

    fn client_proves(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
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

    pub(super) fn client_sent(&mut self, id: Id<Client>, n: usize, now: Time) {
        let Some(client) = self.clients.find_mut(id) else { return };
        client.outbox.sent(n, &mut self.shelf);
        if !client.outbox.is_empty() {
            return;
        }
        match client.stage {
            Stage::Linked(server) => {
                self.read_server(server, true);
                self.check_release(server, now);
            }
            Stage::Console(_) if !client.stream.held.is_empty() => {
                self.work.push_back(Work::Resume(id));
            }
            _ => {}
        }
    }

    pub(super) fn end_client(&mut self, id: Id<Client>, reason: &Reason, now: Time) -> Verdict {
        self.close_client(id, reason, now);
        Verdict::Gone
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

/// Whether a message may name a statement, and is long enough to.
fn names_a_statement(head: Header) -> bool {
    matches!(head.tag, frontend::PARSE | frontend::BIND | frontend::DESCRIBE)
        && head.total as usize > wire::HEADER
}

/// How many bytes of a first packet are worth another look: its length field says.
fn startup_needs(bytes: &[u8]) -> u32 {
    match bytes {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 4,
    }
}
