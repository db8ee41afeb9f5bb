//! Mail between workers, and where a client lives.
//!
//!     startup packet read ──► the worker of the span with the fewest clients ──► shipped, once
//!     Borrow ──► the oldest waiter is served first, wherever it waits ──► a server is shipped

use std::sync::Arc;

use super::{Engine, Made, Work};
use crate::client::startup::Request;
use crate::client::{Client, ClientParcel, Stage as ClientStage};
use crate::command::Command;
use crate::ids::{ConnId, Id, WorkerId};
use crate::mail::{Mail, Parcel, PoolKey};
use crate::pool::share::Request as ShareRequest;
use crate::pool::{Door, Failed, PoolId, route};
use crate::reason::Reason;
use crate::server::{Requester, Server, ServerParcel, Stage};
use crate::time::Time;

impl Engine {
    /// Another worker, or the program, has sent mail.
    pub fn mail(&mut self, mail: Mail, now: Time) {
        match mail {
            Mail::Borrow { pool, by, since } => self.with_pool(&pool, |engine, id| {
                engine.pool_mut(id).share.request(ShareRequest { by, since });
                engine.touch(id);
            }),
            Mail::Withdraw { pool, by } => self.with_known_pool(&pool, |engine, id| {
                engine.pool_mut(id).share.withdraw(by);
            }),
            Mail::SlotFreed { of } => self.slot_freed(&of),
            Mail::Hungry { of } => self.feed(&of, now),
            Mail::Welcome { pool, welcome } => self.with_pool(&pool, |engine, id| {
                let pool = engine.pool_mut(id);
                if pool.takes(&welcome) {
                    pool.failed = None;
                    engine.touch(id);
                    if engine.pool(id).welcome.is_none() {
                        engine.learn_welcome(id, welcome);
                    }
                }
            }),
            Mail::LoginFailed { pool, failure } => self.with_known_pool(&pool, |engine, id| {
                let pool = engine.pool_mut(id);
                pool.failed = Some(Failed::after(pool.failed.as_ref(), failure, now));
                engine.touch(id);
            }),
            Mail::Keys { user, keys } => self.keyring.entry(user).or_default().learnt = Some(keys),
            Mail::Cancel { key, by, requester } => {
                self.cancel_here(key, Requester { worker: by, conn: requester }, now);
            }
            Mail::CancelEnded { requester } => self.cancel_answered(requester.into(), now),
            Mail::Act(act) => self.act(act, now),
            Mail::Gather { by, ticket, table } => self.gather_for(by, ticket, table, now),
            Mail::Report { ticket, part } => self.console_reported(ticket, *part, now),
            Mail::Setup(setup) => self.reconfigure(setup, now),
            Mail::Shutdown(how) => self.shut_down(how, now),
        }
        self.settle(now);
    }

    /// A connection has come from another worker; the answer names it here.
    pub fn arrived(&mut self, parcel: Parcel, now: Time) -> ConnId {
        let conn = match parcel {
            Parcel::Client(parcel) => self.client_arrived(*parcel, now),
            Parcel::Server(parcel) => self.server_arrived(*parcel, now),
        };
        self.settle(now);
        conn
    }

    /// Sends mail to every other worker.
    pub(super) fn post_to_others(&mut self, mail: &Mail) {
        for worker in (0..self.workers).map(WorkerId).filter(|worker| *worker != self.me) {
            self.commands.push_back(Command::Post { to: worker, mail: mail.clone() });
        }
    }

    /// Does something with this worker's part of a pool, if the configuration knows the pool.
    fn with_pool(&mut self, key: &PoolKey, act: impl FnOnce(&mut Self, PoolId)) {
        if let Some(id) = self.pool_for(key) {
            act(self, id);
        }
    }

    /// Does something with this worker's part of a pool, if it has one: mail about somebody else's
    /// trouble makes no pools.
    pub(super) fn with_known_pool(&mut self, key: &PoolKey, act: impl FnOnce(&mut Self, PoolId)) {
        if let Some(&id) = self.pool_ids.get(key) {
            act(self, id);
        }
    }

    /// Where a client should live; `None` when that makes no difference.
    pub(super) fn place(&self, request: &Request) -> Option<WorkerId> {
        if self.workers == 1 {
            return None;
        }
        let entry = route::entry(&self.setup, &request.database)?;
        let key = route::key(entry, &request.database, &request.user);
        let size = route::target(&self.setup, &key)?.size;
        self.ledger.least_loaded(self.span(&key, size), self.me)
    }

    /// Sends a client, whose startup packet has been read, to another worker.
    pub(super) fn ship_client(
        &mut self,
        id: Id<Client>,
        to: WorkerId,
        request: Request,
        behind: &[u8],
    ) {
        let Some(mut client) = self.clients.remove(id) else { return };
        self.shelf.put(std::mem::take(&mut client.stream.held));
        let parcel = Parcel::Client(Box::new(ClientParcel {
            peer: client.peer,
            number: client.number,
            request,
            connected: client.times.connected,
            held: behind.to_vec(),
            unsent: client.outbox.take(&[], &mut self.shelf),
        }));
        self.ledger.report_load(self.me, self.clients.len());
        self.commands.push_back(Command::Ship { conn: id.into(), to, parcel });
    }

    fn client_arrived(&mut self, parcel: ClientParcel, now: Time) -> ConnId {
        let ClientParcel { peer, number, request, connected, held, unsent } = parcel;
        let id = self.clients.insert(Client::new(peer, number, connected));
        self.ledger.report_load(self.me, self.clients.len());
        self.clients[id].stream.hold(&held, 0, &mut self.shelf);
        self.tell_client(id, |out| out.extend_from_slice(&unsent));
        if self.mode.shutdown.is_some() {
            self.close_client(id, &Reason::ShuttingDown, now);
        } else {
            self.authenticate(id, request, now);
        }
        self.work.push_back(Work::Resume(id));
        id.into()
    }

    /// Sends an idle server, which is on no list, to another worker. It stays counted.
    pub(super) fn ship_server(&mut self, id: Id<Server>, to: WorkerId) {
        let Some(mut server) = self.servers.remove(id) else { return };
        self.shelf.put(std::mem::take(&mut server.stream.held));
        let unsent = server.outbox.take(&[], &mut self.shelf);
        debug_assert!(unsent.is_empty(), "an idle server has nothing to be told");
        let pool = self.pool_mut(server.pool);
        pool.servers -= 1;
        pool.tenants -= 1;
        let parcel = Parcel::Server(Box::new(ServerParcel {
            number: server.number,
            epoch: server.epoch,
            pool: pool.key.clone(),
            target: server.target,
            params: server.params,
            key: server.key,
            fate: server.fate,
            times: server.times,
            local: server.local,
        }));
        self.commands.push_back(Command::Ship { conn: id.into(), to, parcel });
    }

    fn server_arrived(&mut self, parcel: ServerParcel, now: Time) -> ConnId {
        let slots = self.ledger.slots(&parcel.pool);
        let pool = self.pool_for(&parcel.pool).unwrap_or_else(|| self.doomed_pool(&parcel));
        // It may have been under way while all others were marked, or come from a worker that has
        // heard more than this one.
        let moved = self.pool(pool).target.leads_elsewhere(&parcel.target)
            && parcel.epoch <= self.mode.epoch
            || parcel.epoch < self.pool(pool).slots.epoch();
        let mut server = Server::new(pool, parcel.target, Some(slots), Stage::Idle, now);
        server.params = parcel.params;
        server.key = parcel.key;
        (server.number, server.epoch) = (parcel.number, parcel.epoch);
        server.fate = parcel.fate;
        if moved {
            server.doom(Reason::ConfigurationChanged);
        }
        server.times = parcel.times;
        server.local = parcel.local;
        if let Some(welcome) = &self.pool(pool).welcome
            && welcome.params == server.params
        {
            server.params = Arc::clone(&welcome.params);
        }
        self.pool_mut(pool).servers += 1;
        self.pool_mut(pool).share.lent();
        let id = self.take_in(server);
        self.make_available(id, now);
        id.into()
    }

    /// A place for a server whose database has been removed while it was under way.
    fn doomed_pool(&mut self, parcel: &ServerParcel) -> PoolId {
        let slots = self.ledger.slots(&parcel.pool);
        let target = (*parcel.target).clone();
        let mut pool = crate::pool::Pool::new(parcel.pool.clone(), target, slots);
        pool.door = Door::Removed;
        let id = self.pools.insert(pool);
        self.pool_ids.insert(parcel.pool.clone(), id);
        id
    }

    /// SCRAM keys learnt from a login are kept when they prove the stored secret.
    pub(super) fn learn(&mut self, user: &Arc<str>, keys: auth::ScramKeys) {
        let Some(auth::Secret::Scram(verifier)) = self.secret(user) else { return };
        if !keys.matches(verifier) {
            return;
        }
        let ring = self.keyring.entry(Arc::clone(user)).or_default();
        if ring.learnt != Some(keys) {
            ring.learnt = Some(keys);
            self.post_to_others(&Mail::Keys { user: Arc::clone(user), keys });
        }
    }

    /// A new configuration is in force.
    fn reconfigure(&mut self, setup: Arc<crate::setup::Setup>, now: Time) {
        self.setup = setup;
        self.generation += 1;
        self.mode.epoch += 1;
        for ring in self.keyring.values_mut() {
            ring.derived = None;
            if let Made::Yes(_) = ring.verifier {
                ring.verifier = Made::No;
            }
        }
        for pool in self.pools.ids() {
            match route::target(&self.setup, &self.pool(pool).key) {
                None => self.remove_pool(pool, now),
                Some(target) => {
                    let moved = self.pool(pool).target.leads_elsewhere(&target);
                    let door = self.mode.door(&self.pool(pool).key.database);
                    self.pool_mut(pool).door = door;
                    // What has failed may have been mended.
                    self.pool_mut(pool).failed = None;
                    self.pool_mut(pool).target = Arc::new(target);
                    if moved {
                        self.redirect_pool(pool, now);
                    }
                    self.touch(pool);
                }
            }
        }
        self.found_pools(now);
    }

    /// The database of a pool is not configured any more: everybody has to go.
    fn remove_pool(&mut self, pool: PoolId, now: Time) {
        self.pool_mut(pool).door = Door::Removed;
        self.dismiss(pool, now);
        self.pool_mut(pool).welcome = None;
    }

    /// Everybody has to go.
    pub(super) fn dismiss(&mut self, pool: PoolId, now: Time) {
        for id in self.clients_of(pool) {
            self.close_client(id, &Reason::DatabaseRemoved, now);
        }
        for id in self.servers_of(pool) {
            self.close_server(id, &Reason::DatabaseRemoved, now);
        }
    }

    /// The database of a pool is somewhere else, or not what it was: servers go when they are free.
    pub(super) fn redirect_pool(&mut self, pool: PoolId, now: Time) {
        let epoch = self.mode.epoch;
        self.pool(pool).slots.renew(epoch);
        self.pool_mut(pool).welcome = None;
        self.pool_mut(pool).failed = None;
        for id in self.servers_of(pool) {
            if self.servers[id].epoch >= epoch {
                // It is on loan from a worker that had heard of it before.
                continue;
            }
            self.servers[id].doom(Reason::ConfigurationChanged);
            match self.servers[id].stage {
                Stage::Connecting | Stage::Login(_) => {
                    let reason = Reason::ServerMovedOn("connect string changed");
                    self.close_server(id, &reason, now);
                }
                // With `server_fast_close`, one whose client rests need not wait for it to leave.
                _ => self.check_release(id, now),
            }
        }
        self.close_doomed(pool, now);
    }

    pub(super) fn servers_of(&self, pool: PoolId) -> Vec<Id<Server>> {
        let of_pool = |(id, server): (Id<Server>, &Server)| {
            (server.pool == pool && server.slot.is_some()).then_some(id)
        };
        self.servers.iter().filter_map(of_pool).collect()
    }

    pub(super) fn clients_of(&self, pool: PoolId) -> Vec<Id<Client>> {
        let of_pool = |(id, client): (Id<Client>, &Client)| {
            let gone = matches!(client.stage, ClientStage::Gone(_));
            (client.pool == Some(pool) && !gone).then_some(id)
        };
        self.clients.iter().filter_map(of_pool).collect()
    }
}
