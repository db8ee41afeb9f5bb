//! What a seed says of limits: how many servers and clients there may be, and how long things may
//! take.
//!
//! Some plans have none of it, and each limit is in some of the others: small enough to be hit, or
//! so large that it never is. Knows no world.

use config::{Database, PoolMode, Settings, User};

use super::{MILLI, PoolPlan, SECOND, USERS};
use crate::random::Random;

/// The limits that are no pool's own; 0 means that there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    /// The most servers and clients of each user.
    pub(crate) user_servers: [u32; 2],
    pub(crate) user_clients: [u32; 2],
    pub(crate) round_robin: bool,
    pub(crate) fast_close: bool,
    pub(crate) spans: Spans,
}

/// How long things may take, in microseconds; 0 means for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spans {
    /// How long a client waits before its pool may use its reserve.
    pub(crate) reserve: u64,
    pub(crate) query: u64,
    pub(crate) transaction: u64,
    pub(crate) idle_transaction: u64,
    pub(crate) client_idle: u64,
    /// When a client is told that it waits, in seconds.
    pub(crate) notify: u32,
    /// How long pools may be unused, all of them and those of databases made from the template.
    pub(crate) pool_idle: u64,
    pub(crate) made_idle: u64,
}

impl Bounds {
    /// The bounds of a seed; those of its pools are put into `pools`.
    pub(crate) fn new(seed: u64, pools: &mut [PoolPlan]) -> Self {
        let random = &mut Random::new(seed ^ 0x0062_6f75_6e64);
        let mut bounds = Self::default();
        if random.chance(350) {
            return bounds;
        }
        let clients_too = random.chance(250);
        if random.chance(400) {
            pools[1].mode = PoolMode::Statement;
        }
        for pool in pools.iter_mut() {
            pool.limit(random, clients_too);
        }
        pools[1].is_made = random.chance(250);
        if random.chance(250) {
            pools[random.below(3) as usize].forced = Some(USERS[0]);
        }
        for user in 0..USERS.len() {
            bounds.user_servers[user] = random.maybe(200, &[1, 2, 3, 5]);
            bounds.user_clients[user] =
                random.maybe(if clients_too { 300 } else { 0 }, &[2, 4, 10]);
        }
        bounds.round_robin = random.chance(250);
        bounds.fast_close = random.chance(300);
        bounds.spans = Spans::new(random);
        bounds
    }

    /// Puts what it says into the settings.
    pub(super) fn apply(&self, settings: &mut Settings) {
        settings.server_round_robin = self.round_robin;
        settings.server_fast_close = self.fast_close;
        settings.reserve_pool_timeout = self.spans.reserve;
        settings.query_timeout = self.spans.query;
        settings.transaction_timeout = self.spans.transaction;
        settings.idle_transaction_timeout = self.spans.idle_transaction;
        settings.client_idle_timeout = self.spans.client_idle;
        settings.query_wait_notify = self.spans.notify;
        settings.pool_idle_timeout = self.spans.pool_idle;
        settings.autodb_idle_timeout = self.spans.made_idle;
    }

    /// The entries of the users that have limits.
    pub(super) fn users(&self) -> impl Iterator<Item = User> {
        let limit = |most: u32| Some(most).filter(|most| *most > 0);
        let users = USERS.iter().enumerate().map(move |(place, name)| User {
            max_user_connections: limit(self.user_servers[place]),
            max_user_client_connections: limit(self.user_clients[place]),
            ..User::new(name)
        });
        users.filter(|user| *user != User::new(&user.name))
    }
}

impl Spans {
    fn new(random: &mut Random) -> Self {
        let short = |random: &mut Random| match random.below(10) {
            0..2 => random.range(300 * MILLI, 1_500 * MILLI),
            2..4 => 60 * SECOND,
            _ => 0,
        };
        Self {
            reserve: random.pick(&[0, 100 * MILLI, 400 * MILLI, SECOND]),
            query: short(random),
            transaction: short(random),
            idle_transaction: short(random),
            client_idle: short(random),
            notify: random.pick(&[0, 0, 1, 2]),
            pool_idle: random.maybe(400, &[500 * MILLI, 2 * SECOND]),
            made_idle: random.maybe(500, &[500 * MILLI, 2 * SECOND]),
        }
    }

    /// How long clients rest now and then, so that they are found to be idle for too long.
    pub(super) fn rest_max(&self) -> u64 {
        let hit = |limit: u64| if limit < 10 * SECOND { 2 * limit } else { 0 };
        hit(self.client_idle).max(hit(self.idle_transaction))
    }
}

impl PoolPlan {
    fn limit(&mut self, random: &mut Random, clients_too: bool) {
        self.reserve = random.maybe(350, &[1, 2, 5]);
        self.minimum = random.maybe(250, &[1, 2, 4]);
        self.most_servers = random.maybe(350, &[1, 2, 3, 4, 6]);
        self.most_clients = random.maybe(if clients_too { 400 } else { 0 }, &[1, 3, 6]);
    }

    /// Its entry in the configuration.
    pub(super) fn entry(&self) -> Database {
        let limit = |most: u32| Some(most).filter(|most| *most > 0);
        Database {
            host: Some("postgres".into()),
            port: self.port,
            user: self.forced.map(str::to_owned),
            pool_size: Some(self.size),
            pool_mode: Some(self.mode),
            reserve_pool_size: Some(self.reserve),
            min_pool_size: Some(self.minimum),
            max_db_connections: limit(self.most_servers),
            max_db_client_connections: limit(self.most_clients),
            ..Database::new(if self.is_made { "*" } else { self.name })
        }
    }

    /// The same pool as an entry of the configuration has it.
    pub(crate) fn as_entry_says(&self, entry: &Database) -> Self {
        Self {
            size: entry.pool_size.unwrap_or_default(),
            port: entry.port,
            reserve: entry.reserve_pool_size.unwrap_or_default(),
            minimum: entry.min_pool_size.unwrap_or_default(),
            most_servers: entry.max_db_connections.unwrap_or_default(),
            ..self.clone()
        }
    }
}
