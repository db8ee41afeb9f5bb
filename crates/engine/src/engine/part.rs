//! How connections end, and what their end means for others.
//!
//!     client goes ──► its server is settled? free again : closed
//!     server goes ──► its client is told ──► others that wait get a new server
//!     either ──► Close ──► farewell (last bytes) ──► socket closed ──► slot given back

use wire::write;

use super::{Engine, Parted};
use crate::client::{self, Client};
use crate::command::{Address, Command, Farewell, Parting, Peer};
use crate::ids::{ConnId, Id, Kind};
use crate::link;
use crate::mail::Mail;
use crate::pool::{Failure, PoolId};
use crate::reason::Reason;
use crate::server::{self, Fate, Server};
use crate::time::Time;

impl Engine {
    /// Ends a client: tells it why where it should know, and deals with its server.
    pub(super) fn close_client(&mut self, id: Id<Client>, reason: &Reason, now: Time) {
        let Some(client) = self.clients.find(id) else { return };
        if matches!(client.stage, client::Stage::Gone(_)) {
            return;
        }
        self.log_closing(|| self.client_name(id), client.times.connected, reason, now);
        let server = client.server();
        // Words of ours would be taken for the rest of a message that has been passed on in part.
        let cut = server.is_some_and(|server| self.servers[server].stream.is_passing());
        let told = reason.told().filter(|_| !cut);
        if let Some(server) = server {
            self.leave_server(id, server, now);
        }
        let client = &mut self.clients[id];
        let (pool, key) = (client.pool, client.key);
        let gone = client::Stage::Gone(reason.parting());
        if let client::Stage::Console(_) = std::mem::replace(&mut client.stage, gone) {
            self.console_left();
        }
        if let Some(pool) = pool {
            for requester in self.pool_mut(pool).forget_client(id) {
                self.answer_requester(requester, now);
            }
            self.touch(pool);
        }
        self.keys.remove(&key);
        if let Some(told) = told {
            if self.setup.config.pgbouncer.log_pooler_errors {
                log::warn!("{}pooler error: {}", self.client_name(id), told.message);
            }
            let sqlstate = told.sqlstate(self.setup.config.pgbouncer.legacy_sqlstate);
            self.tell_client(id, |out| {
                write::error_response(out, "FATAL", sqlstate, &told.message);
            });
        }
        self.commands.push_back(Command::Close { conn: id.into() });
    }

    /// A client leaves its server, which somebody else may have if nothing is unfinished.
    fn leave_server(&mut self, id: Id<Client>, server_id: Id<Server>, now: Time) {
        let server = &self.servers[server_id];
        if matches!(server.stage, server::Stage::Gone) {
            return;
        }
        let settled = link::is_settled(&self.clients[id], server);
        let reason = match server.outstanding.is_empty() {
            true => "client disconnect while server was not ready",
            false => "client disconnected with query in progress",
        };
        self.unlink(id);
        if settled {
            self.make_free(server_id, now);
        } else {
            self.servers[server_id].stage = server::Stage::Gone;
            self.abandon(server_id, &Reason::ServerMovedOn(reason), now);
        }
    }

    /// Ends a server, and with it the client that it serves.
    pub(super) fn close_server(&mut self, id: Id<Server>, reason: &Reason, now: Time) {
        let Some(server) = self.servers.find_mut(id) else { return };
        let pool_id = server.pool;
        match std::mem::replace(&mut server.stage, server::Stage::Gone) {
            server::Stage::Gone => return,
            server::Stage::Cancel(delivery) => return self.cancel_ended(id, &delivery, now),
            server::Stage::Connecting | server::Stage::Login(_) => {
                self.pool_mut(pool_id).connecting -= 1;
            }
            server::Stage::Errand(_) => self.pool_mut(pool_id).tested -= 1,
            server::Stage::Linked(link) => {
                let client = self.clients.find(link.client);
                let is_between = client.is_some_and(|client| client.stream.at_boundary());
                let is_there = !matches!(reason, Reason::ServerCrashed | Reason::ServerSaidFatal);
                if is_there && is_between && self.servers[id].outbox.is_empty() {
                    self.tell_server(id, write::terminate);
                }
                self.close_client(link.client, reason, now);
            }
            server::Stage::Idle | server::Stage::Used | server::Stage::BeingCanceled => {
                self.pool_mut(pool_id).forget_server(id);
                if self.servers[id].outbox.is_empty() {
                    self.tell_server(id, write::terminate);
                }
            }
        }
        self.abandon(id, reason, now);
    }

    /// What the end of every server means, once its stage says that it is gone.
    fn abandon(&mut self, id: Id<Server>, reason: &Reason, now: Time) {
        let server = &self.servers[id];
        let (pool_id, opened) = (server.pool, server.times.opened);
        if let Some(slots) = &server.slot {
            slots.leave();
        }
        self.log_closing(|| self.server_name(id), opened, reason, now);
        self.pool_mut(pool_id).servers -= 1;
        self.touch(pool_id);
        self.commands.push_back(Command::Close { conn: id.into() });
    }

    /// A server's connection has ended from the other side.
    pub(super) fn server_lost(&mut self, id: Id<Server>, why: &str, now: Time) {
        match self.servers.find(id).map(|server| &server.stage) {
            Some(server::Stage::Connecting) => {
                self.login_failed(id, Failure::of_network(why), now);
            }
            Some(server::Stage::Login(_)) => {
                self.login_failed(id, Failure::of_silence(why), now);
            }
            Some(_) => {
                let said = self.servers[id].fate == Fate::Close(Reason::ServerSaidFatal);
                let reason = if said { Reason::ServerSaidFatal } else { Reason::ServerCrashed };
                self.close_server(id, &reason, now);
            }
            None => {}
        }
    }

    /// Closes the servers that nobody uses of a pool that hands out none and keeps none.
    pub(super) fn clear_idle(&mut self, pool: PoolId, now: Time) {
        let Some(reason) = self.pool(pool).door.reason() else { return };
        for server in self.free_servers(pool) {
            self.close_server(server, &reason, now);
        }
    }

    /// Closes the servers that nobody uses and that are not to be used any more.
    pub(super) fn close_doomed(&mut self, pool: PoolId, now: Time) {
        for server in self.free_servers(pool) {
            if let Fate::Close(reason) = self.servers[server].fate.clone() {
                self.close_server(server, &reason, now);
            }
        }
    }

    fn free_servers(&self, pool: PoolId) -> Vec<Id<Server>> {
        let pool = self.pool(pool);
        pool.idle.iter().chain(&pool.used).copied().collect()
    }

    /// The end of a connection: its last bytes and how to close it. Its name is invalid from here
    /// on; what it counted for is given back with the next command, when its socket is closed.
    pub fn farewell(&mut self, conn: ConnId, chunk: &[u8]) -> Farewell {
        let gone = match conn.kind() {
            Kind::Client => self.clients.remove(conn.into()).map(|mut client| {
                self.parted.push(Parted::Client(client.membership.take().zip(client.login.take())));
                if let Some(pool) = client.pool {
                    self.pools[pool].tenants -= 1;
                    self.pools[pool].slots.client_left(self.now);
                }
                self.shelf.put(std::mem::take(&mut client.stream.held));
                let parting = match client.stage {
                    client::Stage::Gone(parting) => parting,
                    _ => Parting::Close,
                };
                Farewell { bytes: client.outbox.take(chunk, &mut self.shelf), parting }
            }),
            Kind::Server => self.servers.remove(conn.into()).map(|mut server| {
                self.pools[server.pool].tenants -= 1;
                let slot = server.take_slot();
                self.parted.extend(slot.map(|slot| Parted::Server(server.pool, slot)));
                self.shelf.put(std::mem::take(&mut server.stream.held));
                let bytes = server.outbox.take(chunk, &mut self.shelf);
                Farewell { bytes, parting: Parting::Close }
            }),
        };
        gone.unwrap_or(Farewell { bytes: Vec::new(), parting: Parting::Close })
    }

    /// Sockets have been closed: their slots are free, and who was refused one is told.
    pub(super) fn give_back(&mut self) {
        for parted in std::mem::take(&mut self.parted) {
            match parted {
                Parted::Client(member) => {
                    if let Some((membership, login)) = member {
                        self.ledger.dismiss(membership, &login.database, &login.user);
                    }
                    self.ledger.client_closed();
                    self.ledger.report_load(self.me, self.clients.len());
                }
                Parted::Server(pool, slots) => {
                    for (to, of) in self.ledger.release(&slots, self.now) {
                        if to == self.me {
                            self.slot_freed(&of);
                        } else {
                            self.commands
                                .push_back(Command::Post { to, mail: Mail::SlotFreed { of } });
                        }
                    }
                    self.touch(pool);
                }
            }
        }
    }

    fn log_closing(&self, name: impl FnOnce() -> String, opened: Time, reason: &Reason, now: Time) {
        if self.setup.config.pgbouncer.log_disconnections {
            let age = now.since(opened) / 1_000_000;
            log::info!("{}closing because: {} (age={age}s)", name(), reason.text());
        }
    }

    /// PgBouncer's name of a connection in log lines: `C-0x…: db/user@host:port `.
    pub(super) fn client_name(&self, id: Id<Client>) -> String {
        let Some(client) = self.clients.find(id) else { return String::new() };
        let bits = self.pointer(id.into());
        let (database, user) = client
            .login
            .as_ref()
            .map_or(("(nodb)", "(nouser)"), |login| (login.database.as_ref(), login.user.as_ref()));
        let peer = match client.peer {
            Peer::Tcp { from, .. } => from.to_string(),
            Peer::Unix { pid, port, .. } => format!("unix({pid}):{port}"),
        };
        format!("C-{bits:#x}: {database}/{user}@{peer} ")
    }

    pub(super) fn server_name(&self, id: Id<Server>) -> String {
        let Some(server) = self.servers.find(id) else { return String::new() };
        let bits = self.pointer(id.into());
        let pool = self.pool(server.pool);
        let peer = server.local.and_then(|local| local.tcp).map(|(peer, _)| peer);
        let address = match (&server.target.address, peer) {
            (_, Some(peer)) => peer.to_string(),
            (Address::Tcp { host, port }, None) if host.contains(':') => format!("[{host}]:{port}"),
            (Address::Tcp { host, port }, None) => format!("{host}:{port}"),
            (Address::Unix { path }, _) => {
                let port = path.rsplit('.').next().unwrap_or_default();
                let pid = server.key.as_ref().map_or(0, |key| key.pid);
                format!("unix({pid}):{port}")
            }
        };
        format!("S-{bits:#x}: {}/{}@{address} ", pool.key.database, pool.key.user)
    }

    pub(super) fn log_connected(&self, id: Id<Server>) {
        if !self.setup.config.pgbouncer.log_connections {
            return;
        }
        let from = self.servers[id].local.and_then(|local| local.tcp);
        let from = from.map_or(String::new(), |(_, at)| format!(" (from {at})"));
        log::info!("{}new connection to server{from}", self.server_name(id));
    }
}
