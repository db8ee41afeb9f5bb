//! What a seed decides before anything happens: how many take part, how they are configured, and
//! how much goes wrong.
//!
//! A plan can be made smaller, so that a failure is told with fewer words. Knows no world.

mod bounds;
mod words;

use std::sync::Arc;

use auth::Userlist;
use config::{AuthType, CheckQuery, Config, PoolMode, Settings};
use engine::{Setup, Shutdown};

use crate::app::Habits;
use crate::postgres::{Account, Method};
use crate::random::Random;
pub(crate) use bounds::{Bounds, Spans};

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// Everything that a seed decides at the start.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) workers: u8,
    pub(crate) apps: usize,
    /// How many workloads each client does in all.
    pub(crate) rounds: u32,
    /// Whether nothing goes wrong at all: then nobody may be told that something did.
    pub(crate) calm: bool,
    /// Whether the operator leaves the pooler alone.
    pub(crate) unattended: bool,
    pub(crate) net: Net,
    /// The longest that mail is under way, in microseconds.
    pub(crate) mail_max: u64,
    /// The longest that a worker stands still, in microseconds.
    pub(crate) turn_max: u64,
    /// Everything happens at multiples of so many microseconds.
    pub(crate) grid: u64,
    pub(crate) method: Method,
    /// Whether all clients are the user whose password is known.
    pub(crate) one_user: bool,
    pub(crate) auth_type: AuthType,
    pub(crate) pools: Vec<PoolPlan>,
    pub(crate) bounds: Bounds,
    pub(crate) times: Times,
    pub(crate) max_client_conn: u32,
    pub(crate) habits: Habits,
    /// How often a client leaves rudely, in a thousand of its steps.
    pub(crate) rude: u32,
    /// A shutdown while all are at work, and when.
    pub(crate) early_end: Option<(u64, Shutdown)>,
    pub(crate) end: Shutdown,
}

/// What the network does to bytes; shares are in a thousand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Net {
    pub(crate) latency_max: u64,
    pub(crate) split: u32,
    pub(crate) short: u32,
    pub(crate) stall: u32,
    /// The room in a pipe, in bytes.
    pub(crate) room: usize,
    /// How many clients read slowly.
    pub(crate) slow_readers: u32,
}

/// One database.
#[derive(Debug, Clone)]
pub(crate) struct PoolPlan {
    pub(crate) name: &'static str,
    pub(crate) size: u32,
    pub(crate) mode: PoolMode,
    pub(crate) port: u16,
    /// How many servers more there may be when a client has waited for long; how many there are
    /// while it has clients.
    pub(crate) reserve: u32,
    pub(crate) minimum: u32,
    /// The most servers and clients of the database, with all its pools; 0 means no limit.
    pub(crate) most_servers: u32,
    pub(crate) most_clients: u32,
    /// As whom its servers log in, whoever the client is.
    pub(crate) forced: Option<&'static str>,
    /// It is made from the template `*`.
    pub(crate) is_made: bool,
}

/// The settings that are times, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) query_wait: u64,
    pub(crate) login: u64,
    pub(crate) retry: u64,
    pub(crate) connect: u64,
    pub(crate) idle: u64,
    pub(crate) lifetime: u64,
    pub(crate) check: u64,
}

/// The names of the databases, by their place.
pub(crate) const DATABASES: [&str; 3] = ["one", "two", "three"];

/// The names of the users, by their place.
pub(crate) const USERS: [&str; 2] = ["ann", "bob"];

impl Plan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let random = &mut Random::new(seed ^ 0x706c_616e);
        let calm = random.chance(200);
        let workers = random.pick(&[1, 2, 2, 4, 4]);
        let auth_type = random.pick(&[AuthType::Trust, AuthType::ScramSha256]);
        // Of the user with a SCRAM secret the pooler can only know the keys, and only from a login.
        let one_user = random.chance(300);
        let method = match auth_type {
            _ if one_user => {
                random.pick(&[Method::Cleartext, Method::Md5, Method::Scram, Method::Trust])
            }
            AuthType::Trust => Method::Trust,
            _ => random.pick(&[Method::Trust, Method::Scram, Method::Scram]),
        };
        let end =
            random.pick(&[Shutdown::WaitForClients, Shutdown::WaitForServers, Shutdown::Immediate]);
        let early = !calm && random.chance(250);
        let early_end = early.then(|| (random.range(20 * MILLI, 900 * MILLI), end));
        let timed = !calm && random.chance(350);
        let checked = random.chance(500);
        let mut plan = Self {
            seed,
            workers,
            apps: random.range(2, 32) as usize,
            rounds: random.range(5, 60) as u32,
            calm,
            unattended: random.chance(300),
            net: Net::new(random),
            mail_max: random.pick(&[100, 2 * MILLI, 10 * MILLI]),
            turn_max: random.pick(&[0, MILLI, 5 * MILLI]),
            grid: random.pick(&[1, 20, 200, 1000]),
            method,
            one_user,
            auth_type,
            pools: pools(random),
            bounds: Bounds::default(),
            times: Times {
                query_wait: if timed { random.range(SECOND, 5 * SECOND) } else { 0 },
                login: if timed { random.range(SECOND, 5 * SECOND) } else { 0 },
                retry: random.range(100 * MILLI, 2 * SECOND),
                connect: random.range(SECOND, 4 * SECOND),
                idle: random.pick(&[0, 500 * MILLI, 3 * SECOND]),
                lifetime: random.pick(&[200 * MILLI, 2 * SECOND, 600 * SECOND]),
                check: if checked { random.pick(&[0, 5 * MILLI, SECOND]) } else { 600 * SECOND },
            },
            max_client_conn: if random.chance(150) { 8 } else { 1000 },
            habits: Habits {
                size_max: random.pick(&[5_000, 40_000, 200_000]),
                sleep_max: random.pick(&[5_000, 50_000, 300_000]),
                cancels: random.chance(700),
                rest_max: 0,
                mode: PoolMode::Transaction,
            },
            rude: if random.chance(600) { random.range(1, 40) as u32 } else { 0 },
            early_end,
            end,
        };
        plan.bounds = Bounds::new(seed, &mut plan.pools);
        plan.habits.rest_max = plan.bounds.spans.rest_max();
        plan
    }

    /// Something that is smaller for a smaller plan.
    pub(crate) fn size(&self) -> String {
        format!("{self:?}")
    }

    /// The longest that a fair pooler may need to find out who has waited for the longest: its own
    /// lag, asked for at most once in a lag, and what mail and turns add.
    pub(crate) fn patience(&self) -> u64 {
        let lag = 5 * MILLI;
        2 * lag + 4 * (self.mail_max + self.turn_max + self.grid) + 2 * MILLI
    }

    /// The configuration, with these pool sizes and ports instead of the first ones.
    pub(crate) fn setup(&self, pools: &[PoolPlan], accounts: &[Account]) -> Arc<Setup> {
        let mut pgbouncer = Settings {
            auth_type: self.auth_type,
            client_login_timeout: self.times.login,
            default_pool_size: 5,
            max_client_conn: self.max_client_conn,
            query_wait_timeout: self.times.query_wait,
            server_check_delay: self.times.check,
            server_check_query: CheckQuery::Sql("select 1".into()),
            server_connect_timeout: self.times.connect,
            server_idle_timeout: self.times.idle,
            server_lifetime: self.times.lifetime,
            server_login_retry: self.times.retry,
            server_reset_query: Some("DISCARD ALL".into()),
            ..Settings::default()
        };
        self.bounds.apply(&mut pgbouncer);
        let databases = pools.iter().map(PoolPlan::entry).collect();
        let users = self.bounds.users().collect();
        let config = Config { pgbouncer, databases, users, ..Config::default() };
        let (userlist, _) = Userlist::parse(userlist(accounts).as_bytes());
        Arc::new(Setup {
            config,
            userlist: Arc::new(userlist),
            version: "sim".into(),
            host: "sim".into(),
            uid: 0,
        })
    }
}

impl Net {
    fn new(random: &mut Random) -> Self {
        Self {
            latency_max: random.pick(&[50, 500, 3 * MILLI]),
            split: random.pick(&[0, 20, 300]),
            short: random.pick(&[0, 10, 200]),
            stall: random.pick(&[0, 0, 3]),
            room: random.pick(&[2_000, 16_000, 100_000]),
            slow_readers: random.pick(&[0, 100, 400]),
        }
    }
}

fn pools(random: &mut Random) -> Vec<PoolPlan> {
    let size = |random: &mut Random| random.pick(&[1, 2, 3, 5, 8, 12]);
    let modes = [PoolMode::Transaction, PoolMode::Transaction, PoolMode::Session];
    let pools = DATABASES.iter().zip(modes).zip([5010, 5020, 5030]);
    let pools = pools.map(|((name, mode), port)| PoolPlan {
        name,
        size: size(random),
        mode,
        port,
        reserve: 0,
        minimum: 0,
        most_servers: 0,
        most_clients: 0,
        forced: None,
        is_made: false,
    });
    pools.collect()
}

/// The place of a user.
pub(crate) fn user_place(name: &str) -> usize {
    USERS.iter().position(|user| *user == name).unwrap_or_default()
}

/// The database that a port leads to.
pub(crate) fn database_at(port: u16) -> usize {
    usize::from((port - 5010) / 10)
}

/// Those who may log in: one is known by a password, the other by a SCRAM secret.
pub(crate) fn accounts(seed: u64) -> Vec<Account> {
    let random = &mut Random::new(seed ^ 0x7573_6572);
    USERS
        .into_iter()
        .zip(["open sesame", "hunter2"])
        .map(|(name, password)| {
            let salt: [u8; 16] = random.bytes();
            let verifier = derive(password.as_bytes(), &salt, 4).verifier(&salt, 4);
            Account { name, password, verifier }
        })
        .collect()
}

/// Key derivation as in a real world, but for the work: both sides leave out the same rounds.
pub(crate) fn derive(password: &[u8], salt: &[u8], iterations: u32) -> auth::ScramKeys {
    auth::derive(password, salt, iterations.min(4))
}

fn userlist(accounts: &[Account]) -> String {
    let lines = accounts.iter().map(|account| match account.name {
        "ann" => format!("\"{}\" \"{}\"\n", account.name, account.password),
        _ => format!("\"{}\" \"{}\"\n", account.name, account.verifier),
    });
    lines.collect()
}
