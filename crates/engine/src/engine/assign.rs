//! Who gets which server: seek, attach, release, launch.
//!
//!     client needs a server ──► idle? attach : wait ──► serve (when something has come free)
//!     attach ──► parameters equal? talk : SET first, then talk
//!     server settled ──► release ──► make available ──► serve

use std::sync::Arc;

use config::{CheckQuery, PoolMode};
use wire::{TransactionStatus, write};

use super::{Engine, Work};
use crate::client::{self, Client};
use crate::command::Shutdown;
use crate::ids::Id;
use crate::link::{self, Link, Phase};
use crate::mail::{Mail, PoolKey};
use crate::params;
use crate::pool::share::{self, Ask};
use crate::pool::{Claim, Door, Failed, Failure, Pool, PoolId, route};
use crate::reason::Reason;
use crate::server::{Errand, Fate, Purpose, Server, Stage};
use crate::time::Time;

/// PgBouncer's words for a server that is one too many.
pub(super) const SURPLUS: &str = "too many servers in the pool";

/// The most pools of one worker: clients may name databases that are made from the template `*`.
const POOLS_MAX: usize = 10_000;

impl Engine {
    /// This worker's part of a pool; `None` when the configuration knows no such database.
    pub(super) fn pool_for(&mut self, key: &PoolKey) -> Option<PoolId> {
        if let Some(&id) = self.pool_ids.get(key) {
            return Some(id);
        }
        let target = route::target(&self.setup, key)?;
        if self.pools.len() >= POOLS_MAX {
            log::warn!("no more pools: {} has none", key.database);
            return None;
        }
        let is_made = self.setup.config.find_database(&key.database).is_none();
        if is_made && self.ledger.makes(&key.database) {
            log::info!("registered new auto-database: db={}", key.database);
        }
        let mut pool = Pool::new(key.clone(), target, self.ledger.slots(key));
        pool.door = self.mode.door(&key.database);
        let id = self.pools.insert(pool);
        self.pool_ids.insert(key.clone(), id);
        Some(id)
    }

    /// A client needs a server: it gets one, or waits.
    pub(super) fn seek(&mut self, id: Id<Client>, now: Time) {
        let client = &mut self.clients[id];
        let Some(pool_id) = client.pool else { return };
        client.times.waiting = now;
        let pool = &mut self.pools[pool_id];
        if pool.door == Door::Open
            && pool.waiting.is_empty()
            && let Some(server) = pool.take_idle()
        {
            return self.attach(id, server, now);
        }
        client.stage = client::Stage::Waiting { notified: false };
        client.times.requested = now;
        pool.waiting.push_back(id);
        self.touch(pool_id);
    }

    /// Links a client and a server that is on no list any more.
    fn attach(&mut self, id: Id<Client>, server_id: Id<Server>, now: Time) {
        let (client, server) = (&mut self.clients[id], &mut self.servers[server_id]);
        let counters = &mut self.pools[server.pool].counters;
        counters.assignments += 1;
        counters.wait_time += now.since(client.times.waiting);
        client.stage = client::Stage::Linked(server_id);
        server.times.assigned = now;
        let sql = params::difference(&self.names, &client.params, &server.params);
        if sql.is_empty() {
            if !Arc::ptr_eq(&client.params, &server.params) && client.params == server.params {
                client.params = Arc::clone(&server.params);
            }
            server.stage = Stage::Linked(Link { client: id, phase: Phase::Talking });
        } else {
            let phase = Phase::Setting { failed: false };
            server.stage = Stage::Linked(Link { client: id, phase });
            log::debug!("varcache_apply: {}", String::from_utf8_lossy(&sql));
            self.tell_server(server_id, |out| write::query(out, &sql));
        }
    }

    /// Takes the server away from its client when nothing speaks against it; where only a probe
    /// can tell, sends one.
    pub(super) fn check_release(&mut self, id: Id<Server>, now: Time) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let Stage::Linked(Link { client, phase: Phase::Talking }) = server.stage else { return };
        let Some(partner) = self.clients.find(client) else { return };
        if self.pools[server.pool].target.mode == PoolMode::Session {
            let fast = self.setup.config.pgbouncer.server_fast_close;
            let is_obsolete = server.fate == Fate::Close(Reason::ConfigurationChanged);
            if fast && is_obsolete && link::may_release(partner, server) {
                self.close_server(id, &Reason::ConfigurationChanged, now);
            }
            return;
        }
        if link::may_release(partner, server) {
            self.unlink(client);
            self.make_free(id, now);
        } else if server.outstanding.wants_probe()
            && server.status == TransactionStatus::Idle
            && partner.stream.at_boundary()
        {
            server.outstanding.probed();
            self.tell_server(id, |out| write::query(out, b""));
        }
    }

    /// The client's side of a link ends; it may be read from again.
    pub(super) fn unlink(&mut self, id: Id<Client>) {
        let Some(client) = self.clients.find_mut(id) else { return };
        if !matches!(client.stage, client::Stage::Linked(_)) {
            return;
        }
        client.stage = client::Stage::Idle;
        client.times.query = Time::NEVER;
        client.times.transaction = Time::NEVER;
        self.read_client(id, true);
    }

    /// A server has served its client: where it goes from here.
    pub(super) fn make_free(&mut self, id: Id<Server>, now: Time) {
        let server = &mut self.servers[id];
        let (pool, cancels) = (server.pool, server.cancels);
        self.read_server(id, true);
        if cancels > 0 {
            self.servers[id].stage = Stage::BeingCanceled;
            return;
        }
        let over = self.is_over_age(id, now).then_some(Reason::LifetimeOver);
        let end = over.or_else(|| self.closing_time(id)).or_else(|| self.is_wanted_elsewhere(id));
        let settings = &self.setup.config.pgbouncer;
        let session = self.pool(pool).target.mode == PoolMode::Session;
        let reset = settings.server_reset_query.as_deref().unwrap_or_default();
        let always_check =
            settings.server_check_delay == 0 && settings.server_check_query != CheckQuery::Never;
        if let Some(reason) = end {
            self.servers[id].stage = Stage::Idle;
            self.close_server(id, &reason, now);
        } else if (session || settings.server_reset_query_always) && !reset.is_empty() {
            let reset = reset.as_bytes().to_vec();
            self.run(id, Purpose::Reset, &reset, now);
        } else if always_check {
            self.servers[id].stage = Stage::Used;
            self.pool_mut(pool).used.push_back(id);
            self.touch(pool);
        } else {
            self.rest(id);
        }
    }

    /// A server that is clean and known to answer goes into its pool, unless it has to be closed.
    pub(super) fn make_available(&mut self, id: Id<Server>, now: Time) {
        match self.closing_time(id).or_else(|| self.is_wanted_elsewhere(id)) {
            Some(reason) => {
                self.servers[id].stage = Stage::Idle;
                self.close_server(id, &reason, now);
            }
            None => self.rest(id),
        }
    }

    /// Puts a server on the list of idle ones; whoever waits is served next.
    fn rest(&mut self, id: Id<Server>) {
        let server = &mut self.servers[id];
        server.stage = Stage::Idle;
        let pool = server.pool;
        self.pool_mut(pool).idle.push_back(id);
        self.touch(pool);
    }

    /// Why a free server must be closed now, whatever its age.
    fn closing_time(&self, id: Id<Server>) -> Option<Reason> {
        let server = &self.servers[id];
        match (&server.fate, self.mode.shutdown) {
            (_, Some(Shutdown::WaitForServers | Shutdown::Immediate)) => {
                Some(Reason::ServersShutDown)
            }
            (Fate::Close(reason), _) => Some(reason.clone()),
            _ => {
                let pool = self.pool(server.pool);
                // When its size has been lowered, waiters may never leave a server idle.
                let is_surplus = pool.surplus() > 0;
                let surplus = || is_surplus.then_some(Reason::ServerMovedOn(SURPLUS));
                pool.door.reason().or_else(surplus)
            }
        }
    }

    /// Whether a server has served for longer than it may and its turn to go has come; if so, the
    /// next one's comes later.
    pub(super) fn is_over_age(&self, id: Id<Server>, now: Time) -> bool {
        let server = &self.servers[id];
        let pool = self.pool(server.pool);
        let lifetime = pool.target.server_lifetime;
        if now.since(server.times.opened) < lifetime {
            return false;
        }
        // Without a lifetime a server is used once: one that has not been used may wait.
        let is_unused = lifetime == 0 && server.times.assigned == server.times.opened;
        // Without a limit there is no share of a lifetime either (PgBouncer).
        let spread = lifetime.checked_div(pool.target.size.into()).unwrap_or(0);
        !is_unused && pool.slots.expire(spread, now)
    }

    /// Starts an errand on a free server that is on no list.
    fn run(&mut self, id: Id<Server>, purpose: Purpose, sql: &[u8], now: Time) {
        let server = &mut self.servers[id];
        server.times.assigned = now;
        server.stage = Stage::Errand(Errand { purpose, failed: false });
        let pool = server.pool;
        self.pool_mut(pool).tested += 1;
        self.tell_server(id, |out| write::query(out, sql));
    }

    /// Brings servers and waiters of a pool together, and sees to it that more servers come.
    pub(super) fn serve(&mut self, pool_id: PoolId, now: Time) {
        loop {
            let oldest = self.oldest_wait(pool_id);
            let pool = self.pool_mut(pool_id);
            if pool.door != Door::Open {
                self.clear_idle(pool_id, now);
                break;
            }
            match pool.next_claim(oldest) {
                Claim::Client(client) => {
                    let Some(server) = pool.take_idle() else { break };
                    pool.waiting.pop_front();
                    self.attach(client, server, now);
                    if self.servers[server].link().is_some_and(|l| l.phase == Phase::Talking) {
                        self.work.push_back(Work::Resume(client));
                    }
                }
                Claim::Worker(worker) => {
                    let Some(server) = self.take_lendable(pool_id) else { break };
                    self.lend(server, worker);
                }
                Claim::Nobody => break,
            }
        }
        if !self.pool(pool_id).used.is_empty() {
            self.check_used(pool_id, now);
        }
        if !self.pool(pool_id).newcomers.is_empty() {
            self.look_for_welcome(pool_id);
        }
        let pool = self.pool(pool_id);
        if pool.is_waited_for() || pool.target.minimum > 0 {
            self.launch(pool_id, now);
            self.tell_the_hopeless(pool_id, now);
        } else {
            self.has_eaten(pool_id);
        }
        self.ask_around(pool_id, now);
        if self.pool(pool_id).wants_watching() {
            self.watch(pool_id);
        }
    }

    /// An idle server that may travel: half a message of a server cannot.
    fn take_lendable(&mut self, pool_id: PoolId) -> Option<Id<Server>> {
        let pool = &mut self.pools[pool_id];
        let servers = &self.servers;
        let place = pool.idle.iter().rposition(|id| servers[*id].is_between_messages())?;
        pool.idle.remove(place)
    }

    /// Another worker may have logged in to this pool's servers while this one could not.
    fn look_for_welcome(&mut self, pool_id: PoolId) {
        let pool = self.pool(pool_id);
        let welcome = pool.slots.welcome().filter(|_| pool.welcome.is_none());
        if let Some(welcome) = welcome.filter(|welcome| pool.takes(welcome)) {
            self.learn_welcome(pool_id, welcome);
        }
    }

    /// Since when the oldest client of a pool waits here.
    pub(super) fn oldest_wait(&self, pool: PoolId) -> Option<Time> {
        let client = self.pool(pool).waiting.front()?;
        self.clients.find(*client).map(|client| client.times.waiting)
    }

    /// Servers that have been idle for long are checked when somebody waits.
    fn check_used(&mut self, pool_id: PoolId, now: Time) {
        loop {
            let pool = self.pool_mut(pool_id);
            let wanted = pool.waiting.len().max(usize::from(pool.share.oldest_request().is_some()));
            if pool.door != Door::Open || wanted <= pool.tested {
                return;
            }
            let Some(server) = pool.used.pop_back() else { return };
            let setup = Arc::clone(&self.setup);
            let query = setup.config.pgbouncer.server_check_query.text().unwrap_or_default();
            self.run(server, Purpose::Check, query.as_bytes(), now);
        }
    }

    /// Asks other workers for a server, or takes the request back.
    fn ask_around(&mut self, pool_id: PoolId, now: Time) {
        if self.workers == 1 {
            return;
        }
        let oldest = self.oldest_wait(pool_id).filter(|_| self.pool(pool_id).door == Door::Open);
        let by = self.me;
        let pool = self.pool_mut(pool_id);
        let mail = match pool.share.ask(oldest, now) {
            Ask::Borrow(since) => Some(Mail::Borrow { pool: pool.key.clone(), by, since }),
            Ask::Withdraw => Some(Mail::Withdraw { pool: pool.key.clone(), by }),
            Ask::Nothing => None,
        };
        let next = pool.share.next_ask(oldest);
        self.upkeep.ask_at(pool_id, next);
        if let Some(mail) = mail {
            self.post_to_others(&mail);
        }
    }

    /// A server could not be had: remember it, tell the other workers, tell who waits in vain.
    pub(super) fn login_failed(&mut self, id: Id<Server>, failure: Failure, now: Time) {
        log::warn!("{}server login failed: FATAL {}", self.server_name(id), failure.text);
        let pool_id = self.servers[id].pool;
        let failure = Arc::new(failure);
        let reason = Reason::LoginFailed(Arc::clone(&failure));
        let pool = self.pool_mut(pool_id);
        pool.failed = Some(Failed::after(pool.failed.as_ref(), Arc::clone(&failure), now));
        self.close_server(id, &reason, now);
        let pool = self.pool(pool_id).key.clone();
        self.post_to_others(&Mail::LoginFailed { pool, failure });
    }

    /// A server has logged in.
    pub(super) fn login_ready(&mut self, id: Id<Server>, now: Time) {
        let server = &mut self.servers[id];
        let Stage::Login(login) = std::mem::replace(&mut server.stage, Stage::Idle) else { return };
        let pool_id = server.pool;
        let (welcome, key) = login.finish(&server.target, server.epoch);
        server.key = key;
        server.params = Arc::clone(&welcome.params);
        let pool = &mut self.pools[pool_id];
        pool.connecting -= 1;
        let recovered = pool.failed.take().is_some();
        let welcome = match &pool.welcome {
            Some(known) => {
                if known.params == welcome.params {
                    server.params = Arc::clone(&known.params);
                }
                recovered.then(|| Arc::clone(known))
            }
            None => Some(Arc::new(welcome)),
        };
        if let Some(welcome) = welcome {
            let mail = Mail::Welcome { pool: pool.key.clone(), welcome: Arc::clone(&welcome) };
            self.learn_welcome(pool_id, welcome);
            self.post_to_others(&mail);
        }
        self.make_available(id, now);
    }

    /// Newcomers can be welcomed.
    pub(super) fn learn_welcome(&mut self, pool_id: PoolId, welcome: Arc<crate::pool::Welcome>) {
        let pool = self.pool_mut(pool_id);
        pool.slots.keep_welcome(&welcome);
        pool.welcome = Some(welcome);
        pool.failed = None;
        for client in std::mem::take(&mut pool.newcomers) {
            self.welcome(client);
        }
    }

    /// Lends an idle server that is on no list to another worker.
    fn lend(&mut self, id: Id<Server>, worker: crate::ids::WorkerId) {
        let pool_id = self.servers[id].pool;
        self.pool_mut(pool_id).share.withdraw(worker);
        self.ship_server(id, worker);
    }

    /// The span of a pool.
    pub(super) fn span(
        &self,
        key: &PoolKey,
        size: u32,
    ) -> impl Iterator<Item = crate::ids::WorkerId> {
        share::span(key, size, self.workers)
    }
}
