//! This worker's part of what SHOW shows, counted at the connections themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::PoolMode;

use crate::admin::OWNER;
use crate::admin::report::{Buffers, Census, Ends, Figures, Part, Servers, Socket, Table};
use crate::client::{Client, Stage as ClientStage};
use crate::command::{Address, Peer};
use crate::engine::Engine;
use crate::ids::{ConnId, Id};
use crate::mail::PoolKey;
use crate::pool::{Pool, PoolId, route::CONSOLE};
use crate::server::{Fate, Server, Stage};
use crate::stream::{Outbox, Stream};
use crate::time::Time;

impl Engine {
    /// This worker's part of a table.
    pub(in crate::engine) fn report(&mut self, table: Table, now: Time) -> Part {
        match table {
            Table::Pools => {
                self.roll_statistics(now);
                Part::Pools(self.census(now))
            }
            Table::Clients => Part::Sockets(self.client_sockets(|client| client.state(), now)),
            Table::Client(number) => Part::Client(self.client_numbered(number).is_some()),
            Table::Flushed => Part::Flushed,
            Table::Servers => Part::Sockets(self.server_sockets()),
            Table::Sockets => {
                let state = |client: &Client| client.state().or_else(|| login_state(client));
                let mut sockets = self.client_sockets(state, now);
                sockets.extend(self.server_sockets());
                Part::Sockets(sockets)
            }
        }
    }

    fn client_sockets(
        &self,
        state: impl Fn(&Client) -> Option<&'static str>,
        now: Time,
    ) -> Vec<Socket> {
        let shown = self.clients.iter().filter_map(|(id, client)| {
            let state = state(client)?;
            Some(self.client_socket(id, client, state, now))
        });
        shown.collect()
    }

    fn server_sockets(&self) -> Vec<Socket> {
        let shown = self.servers.iter().filter(|(_, server)| !matches!(server.stage, Stage::Gone));
        shown.map(|(id, server)| self.server_socket(id, server)).collect()
    }

    /// The name of a connection in SHOW and in the log: with the worker in front, never 0.
    pub(in crate::engine) fn pointer(&self, conn: ConnId) -> u64 {
        (u64::from(self.me.0) + 1) << 48 | conn.to_bits() & (u64::MAX >> 16)
    }

    fn census(&self, now: Time) -> Census {
        let mut census = Census { memory: self.memory(), ..Census::default() };
        let mut pools: BTreeMap<PoolId, Figures> =
            self.pools.iter().map(|(id, pool)| (id, pool_figures(pool, now))).collect();
        let mut console = self.desk.figures(now);
        for (_, client) in self.clients.iter() {
            match &client.stage {
                ClientStage::Console(_) => console.clients.active += 1,
                ClientStage::Startup { .. } | ClientStage::Authenticating(_) => census.logins += 1,
                stage if client.is_in_pool() => {
                    if let Some(figures) = client.pool.and_then(|pool| pools.get_mut(&pool)) {
                        figures.count_client(stage, client.times.waiting);
                    }
                }
                _ => {}
            }
            if let Some(login) = client.login.as_ref().filter(|_| client.state().is_some()) {
                *census.users.entry(Arc::clone(&login.user)).or_default() += 1;
            }
        }
        for (_, server) in self.servers.iter() {
            if let Some(figures) = pools.get_mut(&server.pool) {
                figures.servers.count(&server.stage);
            }
        }
        let named = |(id, figures): (PoolId, Figures)| (self.pool(id).key.clone(), figures);
        census.pools = pools.into_iter().map(named).collect();
        census.pools.insert(console_key(), console);
        census
    }

    fn client_socket(
        &self,
        id: Id<Client>,
        client: &Client,
        state: &'static str,
        now: Time,
    ) -> Socket {
        let waits = client.waits();
        let login = client.login.as_ref();
        Socket {
            kind: "C",
            login: login.map(|login| (Arc::clone(&login.database), Arc::clone(&login.user))),
            state,
            ends: client_ends(client.peer),
            connected: client.times.connected,
            requested: client.times.requested,
            wait: if waits { now.since(client.times.waiting) } else { 0 },
            close_needed: false,
            pointer: self.pointer(id.into()),
            link: client.server().map(|server| self.pointer(server.into())),
            pid: match client.peer {
                Peer::Unix { pid, .. } => pid,
                Peer::Tcp { .. } => 0,
            },
            application_name: client.params.application_name().to_vec(),
            number: client.number,
            buffers: buffers(&client.stream, &client.outbox),
        }
    }

    fn server_socket(&self, id: Id<Server>, server: &Server) -> Socket {
        let pool = self.pool(server.pool);
        Socket {
            kind: "S",
            login: Some((Arc::clone(&pool.key.database), Arc::clone(&pool.key.user))),
            state: server.state(),
            ends: server_ends(server, &pool.target.address),
            connected: server.times.opened,
            requested: server.times.assigned,
            wait: 0,
            close_needed: server.fate != Fate::Stay,
            pointer: self.pointer(id.into()),
            link: server.link().map(|link| self.pointer(link.client.into())),
            pid: server.key.as_ref().map_or(0, |key| key.pid),
            application_name: server.params.application_name().to_vec(),
            number: server.number,
            buffers: buffers(&server.stream, &server.outbox),
        }
    }
}

/// The state of a client that SHOW CLIENTS leaves out (PgBouncer: SHOW SOCKETS does not).
fn login_state(client: &Client) -> Option<&'static str> {
    matches!(client.stage, ClientStage::Startup { .. } | ClientStage::Authenticating(_))
        .then_some("login")
}

fn buffers(stream: &Stream, outbox: &Outbox) -> Buffers {
    Buffers {
        kept: stream.held.len() as u64,
        rest: stream.rest().into(),
        sent: outbox.sent_of_block() as u64,
        unsent: outbox.unsent(),
    }
}

/// The pool of the console's own clients (PgBouncer).
fn console_key() -> PoolKey {
    PoolKey { database: CONSOLE.into(), user: OWNER.into() }
}

fn pool_figures(pool: &Pool, now: Time) -> Figures {
    let older = pool.windows.older();
    let mut figures = Figures {
        mode: pool.target.mode,
        counters: pool.counters,
        recent: pool.counters.since(&older.counters),
        span: now.since(older.at),
        ..Figures::default()
    };
    figures.clients.active_cancel = pool.cancelling as u32;
    figures.clients.waiting_cancel = pool.cancels.len() as u32;
    figures
}

impl super::Desk {
    fn figures(&self, now: Time) -> Figures {
        let older = self.windows.older();
        Figures {
            mode: PoolMode::Statement,
            counters: self.counters,
            recent: self.counters.since(&older.counters),
            span: now.since(older.at),
            ..Figures::default()
        }
    }
}

impl Figures {
    fn count_client(&mut self, stage: &ClientStage, since: Time) {
        if matches!(stage, ClientStage::Waiting { .. } | ClientStage::Newcomer) {
            self.clients.waiting += 1;
            self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
        } else {
            // PgBouncer: those that are idle are active clients, too.
            self.clients.active += 1;
        }
    }
}

impl Servers {
    fn count(&mut self, stage: &Stage) {
        let count = match stage {
            Stage::Linked(_) => &mut self.active,
            Stage::Cancel(_) => &mut self.active_cancel,
            Stage::BeingCanceled => &mut self.being_canceled,
            Stage::Idle => &mut self.idle,
            Stage::Used => &mut self.used,
            Stage::Errand(_) => &mut self.tested,
            Stage::Connecting | Stage::Login(_) => &mut self.login,
            Stage::Gone => return,
        };
        *count += 1;
    }
}

fn client_ends(peer: Peer) -> Ends {
    match peer {
        Peer::Tcp { from, at } => Ends {
            peer: from.ip().to_string(),
            peer_port: from.port(),
            own: at.ip().to_string(),
            own_port: at.port(),
        },
        Peer::Unix { port, .. } => unix(port),
    }
}

fn server_ends(server: &Server, address: &Address) -> Ends {
    match (server.local.and_then(|local| local.tcp), address) {
        (Some((peer, own)), _) => Ends {
            peer: peer.ip().to_string(),
            peer_port: peer.port(),
            own: own.ip().to_string(),
            own_port: own.port(),
        },
        (None, Address::Tcp { host, port }) => {
            Ends { peer: host.clone(), peer_port: *port, ..Ends::default() }
        }
        (None, Address::Unix { path }) => {
            let port = path.rsplit('.').next().and_then(|port| port.parse().ok());
            unix(port.unwrap_or_default())
        }
    }
}

/// PgBouncer: a Unix socket is its own address on both ends, with the port in its name.
fn unix(port: u16) -> Ends {
    Ends { peer: "unix".into(), peer_port: port, own: "unix".into(), own_port: port }
}
