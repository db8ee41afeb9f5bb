//! Whether the pooler works, rests or ends, and what the acts of an operator do to this worker.
//!
//!     PAUSE ──► doors shut, idle servers closed       RESUME ──► doors open, who waits is served
//!     SUSPEND ──► doors shut, nothing is read ──► all that was buffered has left ──► Report
//!     RECONNECT ──► servers marked, welcome forgotten    KILL ──► a PAUSE, and everybody goes
//!
//! Which act may follow which was decided before it was mailed; here none is refused, so that all
//! workers come to the same.

use std::sync::Arc;

use super::Engine;
use crate::act::{Act, Rest};
use crate::admin::report::Part;
use crate::client::Client;
use crate::command::{Command, Shutdown, Ticket};
use crate::ids::{Id, WorkerId};
use crate::link::{Link, Phase};
use crate::mail::Mail;
use crate::pool::{Door, PoolId};
use crate::reason::Reason;
use crate::server::{Server, Stage};
use crate::stream::Reading;
use crate::time::{MILLISECOND, Time};

/// Whether the pooler works, rests or ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mode {
    pub(super) rest: Rest,
    /// The databases that are paused by name.
    pub(super) paused: Vec<Arc<str>>,
    /// The databases that let no more clients in.
    pub(super) disabled: Vec<Arc<str>>,
    /// Counts the RECONNECTs and reloads, which all workers hear in the same order.
    pub(super) epoch: u64,
    /// Who wants to know, while SUSPEND waits for what is buffered.
    pub(super) flush: Option<Flush>,
    pub(super) shutdown: Option<Shutdown>,
    pub(super) exited: bool,
}

/// A question whether all that was buffered has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flush {
    by: WorkerId,
    ticket: Ticket,
    since: Time,
}

impl Mode {
    pub(super) fn door(&self, database: &str) -> Door {
        let by_name = self.paused.iter().any(|paused| paused.as_ref() == database);
        match self.rest {
            _ if by_name => Door::Paused,
            Rest::Working => Door::Open,
            Rest::Paused => Door::Paused,
            Rest::Suspended => Door::Suspended,
        }
    }

    pub(super) fn disables(&self, database: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled.as_ref() == database)
    }

    /// How a client is read from that might be read from. Who logs in or is on the console is heard
    /// even while nothing else is.
    pub(super) fn reading_client(&self, client: &Client) -> Reading {
        let rests = self.rest == Rest::Suspended && client.is_in_pool();
        if rests { Reading::Suspended } else { Reading::On }
    }

    /// How a server is read from that might be read from. What the pooler itself has begun is
    /// finished even while nothing else is read.
    pub(super) fn reading_server(&self, server: &Server) -> Reading {
        let own = match server.stage {
            Stage::Idle | Stage::Used | Stage::BeingCanceled => false,
            Stage::Linked(link) => link.phase != Phase::Talking,
            _ => true,
        };
        if self.rest == Rest::Suspended && !own { Reading::Suspended } else { Reading::On }
    }
}

impl Engine {
    /// An operator has done something.
    pub(super) fn act(&mut self, act: Act, now: Time) {
        let before = self.mode.rest;
        self.mode.rest = before.after(&act);
        match act {
            Act::Disable(database) => note(&mut self.mode.disabled, database),
            Act::Enable(database) => self.mode.disabled.retain(|other| *other != database),
            Act::Kill(databases) => self.kill(databases, now),
            Act::KillClient(number) => {
                if let Some(client) = self.client_numbered(number) {
                    self.close_client(client, &Reason::AdminForced, now);
                }
            }
            Act::Pause(Some(database)) => {
                note(&mut self.mode.paused, database);
                self.apply_mode(now);
            }
            Act::Reconnect(database) => self.reconnect(database.as_deref(), now),
            Act::Resume(Some(database)) => {
                self.mode.paused.retain(|paused| *paused != database);
                self.apply_mode(now);
            }
            Act::Pause(None) | Act::Resume(None) | Act::Suspend => {
                if before != self.mode.rest {
                    self.apply_mode(now);
                }
            }
        }
        // Some who wait may have got what they wait for, or may do so in vain now.
        self.console_watches(now);
    }

    /// PAUSE of everything, whatever it was at.
    pub(super) fn pause_everything(&mut self, now: Time) {
        self.mode.rest = Rest::Paused;
        self.apply_mode(now);
    }

    /// Puts the doors of all pools and the reading of all connections as the mode says.
    fn apply_mode(&mut self, now: Time) {
        for id in self.pools.ids() {
            let pool = &mut self.pools[id];
            if pool.door != Door::Removed {
                pool.door = self.mode.door(&pool.key.database);
            }
            self.touch(id);
        }
        for id in self.pools.ids() {
            self.clear_idle(id, now);
        }
        self.apply_reading();
    }

    /// Stops to read, or reads on, where SUSPEND makes a difference.
    fn apply_reading(&mut self) {
        let clients: Vec<_> = self.clients.iter().map(|(id, _)| id).collect();
        for id in clients {
            if self.clients[id].reading != Reading::Off {
                self.read_client(id, true);
            }
        }
        let servers: Vec<_> = self.servers.iter().map(|(id, _)| id).collect();
        for id in servers {
            if self.servers[id].reading != Reading::Off {
                self.read_server(id, true);
            }
        }
    }

    fn kill(&mut self, databases: Vec<Arc<str>>, now: Time) {
        for database in databases {
            note(&mut self.mode.paused, Arc::clone(&database));
            self.apply_mode(now);
            for pool in self.pools_of(Some(&database)) {
                self.dismiss(pool, now);
            }
        }
    }

    fn reconnect(&mut self, database: Option<&str>, now: Time) {
        self.mode.epoch += 1;
        for pool in self.pools_of(database) {
            self.redirect_pool(pool, now);
            self.touch(pool);
        }
    }

    fn pools_of(&self, database: Option<&str>) -> Vec<PoolId> {
        let is_meant =
            |id: &PoolId| database.is_none_or(|database| *self.pool(*id).key.database == *database);
        self.pools.ids().into_iter().filter(is_meant).collect()
    }

    /// The client of this number, unless it is about to go anyway.
    pub(super) fn client_numbered(&self, number: u64) -> Option<Id<Client>> {
        let is_meant = |client: &Client| client.number == number && !client.is_gone();
        self.clients.iter().find(|(_, client)| is_meant(client)).map(|(id, _)| id)
    }

    /// A worker wants to know when all that was buffered here has left.
    pub(super) fn flush(&mut self, by: WorkerId, ticket: Ticket, now: Time) {
        self.mode.flush = Some(Flush { by, ticket, since: now });
        self.look_at_flush(now);
    }

    /// SUSPEND: answers when everything has left, and after `suspend_timeout` closes what keeps
    /// it from being so.
    pub(super) fn look_at_flush(&mut self, now: Time) {
        if self.mode.rest == Rest::Suspended {
            self.apply_reading();
        }
        let Some(flush) = self.mode.flush else { return };
        let timeout = self.setup.config.pgbouncer.suspend_timeout;
        let is_late = timeout > 0 && now.since(flush.since) >= timeout;
        if is_late && self.mode.rest == Rest::Suspended {
            for server in self.unflushed_servers() {
                self.close_server(server, &Reason::SuspendTimeout, now);
            }
            for client in self.unflushed_clients() {
                self.close_client(client, &Reason::SuspendTimeout, now);
            }
        }
        let is_flushed = self.unflushed_servers().is_empty() && self.unflushed_clients().is_empty();
        if is_flushed || self.mode.rest != Rest::Suspended {
            self.mode.flush = None;
            self.report_to(flush.by, flush.ticket, Part::Flushed, now);
        } else {
            self.upkeep.due_by(now + FLUSH_CHECK);
        }
    }

    fn unflushed_clients(&self) -> Vec<Id<Client>> {
        let is_busy = |client: &Client| client.is_in_pool() && !client.outbox.is_empty();
        self.clients.iter().filter(|(_, client)| is_busy(client)).map(|(id, _)| id).collect()
    }

    fn unflushed_servers(&self) -> Vec<Id<Server>> {
        let is_busy = |server: &Server| match server.stage {
            // The client's parameters are set first; what it has said leaves after that.
            Stage::Linked(Link { phase: Phase::Setting { .. }, .. }) => true,
            Stage::Linked(_) | Stage::Errand(_) => !server.outbox.is_empty(),
            _ => false,
        };
        self.servers.iter().filter(|(_, server)| is_busy(server)).map(|(id, _)| id).collect()
    }

    /// Gives a worker its part of what it has asked for.
    pub(super) fn report_to(&mut self, to: WorkerId, ticket: Ticket, part: Part, now: Time) {
        if to == self.me {
            self.console_reported(ticket, part, now);
        } else {
            let mail = Mail::Report { ticket, part: Box::new(part) };
            self.commands.push_back(Command::Post { to, mail });
        }
    }
}

/// Puts a name on a list that it may be on.
fn note(names: &mut Vec<Arc<str>>, name: Arc<str>) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// How often to look whether what was buffered has left.
const FLUSH_CHECK: u64 = 20 * MILLISECOND;
