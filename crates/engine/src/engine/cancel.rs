//! Cancel requests.
//!
//!     requester ──► CancelRequest ──► the worker that the key names ──► the client, its server
//!     a new connection ──► CancelRequest with the server's own key ──► the server closes it
//!     ──► the requester is closed
//!
//! A cancel must never hit another client's query. Therefore a server at which a request is under
//! way is kept aside until the connection that carries it has ended, and a request whose client has
//! lost its server before it could be sent is dropped. As with PostgreSQL itself it may meet the
//! same client's next query.

use std::sync::Arc;

use wire::write;

use super::Engine;
use crate::client::{self, Client};
use crate::command::{Command, Local, Refused};
use crate::ids::{Id, WorkerId};
use crate::link::{Link, Phase};
use crate::mail::Mail;
use crate::pool::{CancelRequest, PoolId};
use crate::reason::Reason;
use crate::server::{Delivery, Progress, Requester, Server, Stage};
use crate::time::Time;

/// The most connections of one pool that carry cancel requests on one worker.
const DELIVERIES_MAX: usize = 20;

/// The most cancel requests that wait for one of those.
const WAITING_MAX: usize = 1000;

/// The byte of a key that names the worker, in its lower bits.
const WORKER_BYTE: u32 = 4;
const WORKER_MASK: u64 = 0x3f;

impl Engine {
    /// A fresh cancel key, which names this worker. PgBouncer: the first bit is 0.
    pub(super) fn cancel_key(&mut self) -> u64 {
        loop {
            let key = u64::from_be_bytes(self.entropy.bytes()) & (u64::MAX >> 1);
            let key = key & !(WORKER_MASK << (8 * WORKER_BYTE))
                | u64::from(self.me.0) << (8 * WORKER_BYTE);
            if !self.keys.contains_key(&key) {
                return key;
            }
        }
    }

    /// A client turns out to be nothing but a cancel request.
    pub(super) fn cancel_requested(&mut self, id: Id<Client>, key: &[u8], now: Time) {
        let Ok(key) = <[u8; 8]>::try_from(key) else {
            return self.close_client(id, &Reason::CancelRefused("failed cancel request"), now);
        };
        let worker = (u64::from_be_bytes(key) >> (8 * WORKER_BYTE) & WORKER_MASK) as u8;
        self.clients[id].stage = client::Stage::Canceling { delivered: true };
        let requester = Requester { worker: self.me, conn: id.into() };
        if worker >= self.workers {
            self.close_client(id, &Reason::CancelRefused("failed cancel request"), now);
        } else if WorkerId(worker) == self.me {
            self.cancel_here(key, requester, now);
        } else {
            let mail = Mail::Cancel { key, by: self.me, requester: id.into() };
            self.commands.push_back(Command::Post { to: WorkerId(worker), mail });
        }
    }

    /// The target of a cancel request lives here, if anywhere.
    pub(super) fn cancel_here(&mut self, key: [u8; 8], requester: Requester, now: Time) {
        let Some(&client) = self.keys.get(&u64::from_be_bytes(key)) else {
            return self.answer_requester(requester, now);
        };
        let Some(pool) = self.clients[client].pool else {
            self.console_canceled(client, now);
            return self.answer_requester(requester, now);
        };
        let request = CancelRequest { client, requester, at: now };
        if self.target_of(client).is_none() {
            self.answer_requester(requester, now);
        } else if self.pool(pool).cancelling < DELIVERIES_MAX {
            let _ = self.deliver(pool, request, now);
        } else if self.pool(pool).cancels.len() < WAITING_MAX {
            if requester.worker == self.me
                && let Some(client) = self.clients.find_mut(requester.conn.into())
            {
                client.stage = client::Stage::Canceling { delivered: false };
            }
            self.pool_mut(pool).cancels.push_back(request);
        } else {
            self.answer_requester(requester, now);
        }
    }

    /// The server that works for a client right now.
    fn target_of(&self, client: Id<Client>) -> Option<Id<Server>> {
        let id = self.clients.find(client)?.server()?;
        let server = &self.servers[id];
        let talking = server.link().is_some_and(|link| link.phase == Phase::Talking);
        (talking && server.key.is_some()).then_some(id)
    }

    /// Opens a connection for a cancel request; false when it has come too late.
    fn deliver(&mut self, pool: PoolId, request: CancelRequest, now: Time) -> bool {
        let CancelRequest { client, requester, at } = request;
        let limit = self.setup.config.pgbouncer.cancel_wait_timeout;
        let in_time = (limit == 0 || now.since(at) < limit) && !self.mode.exited;
        let Some(target) = self.target_of(client).filter(|_| in_time) else {
            self.answer_requester(requester, now);
            return false;
        };
        if requester.worker == self.me
            && let Some(client) = self.clients.find_mut(requester.conn.into())
        {
            client.stage = client::Stage::Canceling { delivered: true };
        }
        self.servers[target].cancels += 1;
        let delivery = Delivery { target, client, requester, progress: Progress::Opening };
        let opened_for = Arc::clone(&self.servers[target].target);
        let to = opened_for.address.clone();
        self.pool_mut(pool).cancelling += 1;
        let server = Server::new(pool, opened_for, None, Stage::Cancel(delivery), now);
        let conn = self.take_in(server).into();
        self.commands.push_back(Command::Connect { conn, to });
        true
    }

    /// The connection for a cancel request is there: sends it, if its client still has the server.
    pub(super) fn cancel_connected(
        &mut self,
        id: Id<Server>,
        result: Result<Local, Refused>,
        now: Time,
    ) {
        let Stage::Cancel(delivery) = &self.servers[id].stage else { return };
        let target = self.servers.find(delivery.target);
        let linked = target.and_then(Server::link).map(|Link { client, .. }| client);
        let key = target.filter(|_| linked == Some(delivery.client)).and_then(|t| t.key.clone());
        match (result, key) {
            (Ok(_), Some(key)) => {
                if let Stage::Cancel(delivery) = &mut self.servers[id].stage {
                    delivery.progress = Progress::Sent;
                }
                self.tell_server(id, |out| write::cancel_request(out, key.pid, &key.secret));
            }
            _ => self.close_server(id, &Reason::CancelRefused("cancel request not sent"), now),
        }
    }

    /// The connection that carried a cancel request has ended.
    pub(super) fn cancel_ended(&mut self, id: Id<Server>, delivery: &Delivery, now: Time) {
        let pool = self.servers[id].pool;
        self.commands.push_back(Command::Close { conn: id.into() });
        self.pool_mut(pool).cancelling -= 1;
        if let Some(target) = self.servers.find_mut(delivery.target) {
            target.cancels -= 1;
            if delivery.progress == Progress::Sent {
                // It may still arrive: nobody else may get this server.
                target.doom(Reason::ServerMovedOn("cancel request without an end"));
            }
            if target.cancels == 0 && matches!(target.stage, Stage::BeingCanceled) {
                self.make_free(delivery.target, now);
            }
        }
        self.answer_requester(delivery.requester, now);
        while let Some(next) = self.pool_mut(pool).cancels.pop_front() {
            if self.deliver(pool, next, now) {
                break;
            }
        }
    }

    /// Closes the connection that a cancel request came on.
    pub(super) fn answer_requester(&mut self, requester: Requester, now: Time) {
        if requester.worker == self.me {
            self.cancel_answered(requester.conn.into(), now);
        } else {
            let mail = Mail::CancelEnded { requester: requester.conn };
            self.commands.push_back(Command::Post { to: requester.worker, mail });
        }
    }

    pub(super) fn cancel_answered(&mut self, id: Id<Client>, now: Time) {
        if let Some(Client { stage: client::Stage::Canceling { .. }, .. }) = self.clients.find(id) {
            self.close_client(id, &Reason::CancelEnded, now);
        }
    }
}
