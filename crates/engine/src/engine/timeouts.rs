//! How long clients and servers may take.
//!
//!     a client ──► logs in, waits, is silent ──► told why, and gone
//!     a server ──► connects, works, is idle, is old ──► closed, and its client with it
//!
//! The intervals are PgBouncer's. Looked at three times a second.

use config::CheckQuery;

use super::Engine;
use crate::client::{Client, Stage as ClientStage};
use crate::ids::Id;
use crate::link::{Link, Phase};
use crate::pool::Failure;
use crate::reason::Reason;
use crate::server::{Server, Stage};
use crate::time::{SECOND, Time};
use wire::write::{self, Report};
use wire::{TransactionStatus, sqlstate};

impl Engine {
    pub(super) fn look_at_clients(&mut self, now: Time) {
        let mut due: Vec<_> = self
            .clients
            .iter()
            .filter_map(|(id, client)| {
                Some((client.times.waiting, id, self.client_timeout(client, now)?))
            })
            .collect();
        // In the order of their queues, so that each is found at the front of its own.
        due.sort_by_key(|(waiting, ..)| *waiting);
        for (_, id, reason) in due {
            self.close_client(id, &reason, now);
        }
        self.notify_waiting(now);
    }

    /// Why a client has to go now, if it has.
    fn client_timeout(&self, client: &Client, now: Time) -> Option<Reason> {
        let settings = &self.setup.config.pgbouncer;
        match client.stage {
            ClientStage::Startup { .. } | ClientStage::Authenticating(_) => {
                over(client.times.connected, settings.client_login_timeout, now)
                    .then_some(Reason::ClientLoginTimeout { server_down: false })
            }
            ClientStage::Newcomer => self.waited_too_long(client, now).or_else(|| {
                over(client.times.connected, settings.client_login_timeout, now)
                    .then_some(Reason::ClientLoginTimeout { server_down: true })
            }),
            ClientStage::Waiting { .. } => self.waited_too_long(client, now),
            ClientStage::Idle => {
                over(client.times.requested, self.client_idle_timeout(client), now)
                    .then_some(Reason::ClientIdleTimeout)
            }
            ClientStage::Canceling { .. } => {
                over(client.times.connected, settings.cancel_wait_timeout, now)
                    .then_some(Reason::CancelRefused("cancel_wait_timeout"))
            }
            _ => None,
        }
    }

    /// Why a client that waits for a server has to go; the user that has logged in decides.
    fn waited_too_long(&self, client: &Client, now: Time) -> Option<Reason> {
        let target = &self.pool(client.pool?).target;
        let user = client.login.as_ref().and_then(|login| self.setup.config.user(&login.user));
        let wait = user.and_then(|user| user.query_wait_timeout);
        if over(client.times.waiting, wait.unwrap_or(target.query_wait_timeout), now) {
            return Some(Reason::QueryWaitTimeout);
        }
        over(client.times.waiting, target.query_timeout, now)
            .then_some(Reason::QueryTimeout { waiting: true })
    }

    fn client_idle_timeout(&self, client: &Client) -> u64 {
        let config = &self.setup.config;
        let user = match config.users.is_empty() {
            true => None,
            false => client.login.as_ref().and_then(|login| config.user(&login.user)),
        };
        let own = user.and_then(|user| user.client_idle_timeout);
        own.unwrap_or(config.pgbouncer.client_idle_timeout)
    }

    /// Tells those that have waited for some time that they wait, once each time.
    fn notify_waiting(&mut self, now: Time) {
        let limit = u64::from(self.setup.config.pgbouncer.query_wait_notify) * SECOND;
        if limit == 0 {
            return;
        }
        let is_due = |client: &Client| {
            matches!(client.stage, ClientStage::Waiting { notified: false })
                && now.since(client.times.waiting) > limit
        };
        let due: Vec<_> =
            self.clients.iter().filter(|(_, client)| is_due(client)).map(|(id, _)| id).collect();
        for id in due {
            self.clients[id].stage = ClientStage::Waiting { notified: true };
            self.tell_client(id, |out| {
                write::notice_response(out, &QUEUED);
            });
        }
    }

    pub(super) fn look_at_servers(&mut self, now: Time) {
        for id in self.servers.ids() {
            self.look_at_server(id, now);
        }
    }

    fn look_at_server(&mut self, id: Id<Server>, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let Some(server) = self.servers.find(id) else { return };
        let times = server.times;
        match server.stage {
            Stage::Connecting | Stage::Login(_) => {
                if over(times.opened, settings.server_connect_timeout, now) {
                    self.login_failed(id, Failure::of_network("connect timeout"), now);
                }
            }
            Stage::Errand(_) => {
                let since = times.heard.max(times.assigned);
                if over(since, settings.server_connect_timeout, now) {
                    self.close_server(id, &Reason::ServerMovedOn("test failed"), now);
                }
            }
            Stage::Cancel(_) => {
                if over(times.opened, settings.cancel_wait_timeout, now) {
                    self.close_server(id, &Reason::CancelRefused("cancel_wait_timeout"), now);
                }
            }
            Stage::Linked(Link { phase: Phase::Setting { .. }, .. }) => {
                if over(times.assigned, settings.server_connect_timeout, now) {
                    self.close_server(id, &Reason::ServerCrashed, now);
                }
            }
            Stage::Linked(link) => self.look_at_linked(id, link, now),
            Stage::Idle | Stage::Used => self.look_at_idle(id, now),
            Stage::BeingCanceled | Stage::Gone => {}
        }
    }

    /// A query, a transaction or the silence within one may have lasted too long.
    fn look_at_linked(&mut self, id: Id<Server>, link: Link, now: Time) {
        let server = &self.servers[id];
        let Some(client) = self.clients.find(link.client) else { return };
        let target = &self.pool(server.pool).target;
        let is_asked = !server.outstanding.is_empty();
        // A batch without its Sync holds the server as a transaction does.
        let is_open = server.status != TransactionStatus::Idle || !server.outstanding.is_settled();
        let reason = if is_asked && over(client.times.asked, target.query_timeout, now) {
            Reason::QueryTimeout { waiting: false }
        } else if over(client.times.transaction, target.transaction_timeout, now) {
            Reason::TransactionTimeout
        } else if is_open
            && !is_asked
            && over(server.times.heard, target.idle_transaction_timeout, now)
        {
            Reason::IdleTransactionTimeout
        } else {
            return;
        };
        self.close_server(id, &reason, now);
    }

    fn look_at_idle(&mut self, id: Id<Server>, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let server = &self.servers[id];
        let pool_id = server.pool;
        let pool = self.pool(pool_id);
        let idle = now.since(server.times.heard);
        let is_needed = pool.slots.staying() <= pool.target.minimum;
        let idle_timeout = settings.server_idle_timeout;
        let stale = idle >= settings.server_check_delay
            && settings.server_check_query != CheckQuery::Never
            && matches!(server.stage, Stage::Idle);
        if idle_timeout > 0 && idle >= idle_timeout && !is_needed {
            self.close_server(id, &Reason::ServerIdleTimeout, now);
        } else if self.is_over_age(id, now) {
            self.close_server(id, &Reason::LifetimeOver, now);
        } else if stale {
            let pool = self.pool_mut(pool_id);
            pool.forget_server(id);
            pool.used.push_back(id);
            self.servers[id].stage = Stage::Used;
        }
    }
}

/// PgBouncer's words for those that wait.
const QUEUED: Report<'_> = Report {
    severity: "NOTICE",
    code: sqlstate::SUCCESSFUL_COMPLETION,
    message: "No server connection available in postgres backend, client being queued",
    detail: None,
    hint: None,
};

/// Whether something that began at `since` has lasted for `limit` microseconds; 0 means no limit,
/// and what has begun never has not begun.
fn over(since: Time, limit: u64, now: Time) -> bool {
    limit > 0 && since != Time::NEVER && now.since(since) >= limit
}
