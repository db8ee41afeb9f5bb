//! How a run ends.
//!
//! ```text
//! faults stop ──► quiet: nobody asks for anything, pools have their minimum and keep it
//!             ──► clients finish and leave ──► nothing waits anywhere, unused pools are dropped
//!             ──► shutdown ──► nothing may be left
//! ```

use engine::{PoolKey, Shutdown};

use super::{Event, Phase, World};
use crate::app::{App, Stage};
use crate::net::{Far, Place};
use crate::oracle::fairness::Pool;
use crate::plan::{DATABASES, USERS};
use crate::postgres::Mood;

/// How long it may take until pools have what they are to have, in microseconds of flow: a login
/// that hangs has to time out, and another attempt may have to wait.
const CALMING: u64 = 7_000_000;
/// How long it is then watched whether they keep it.
const QUIET: u64 = 3_000_000;
/// How long an engine may take to find out that a pool is not used any more, besides the timeouts.
const SWEEPING: u64 = 6_000_000;

impl World {
    /// From here on nothing goes wrong any more.
    pub(super) fn faults_stop(&mut self) {
        self.tell(|_| "faults stop".into());
        self.phase = Phase::Quiet;
        self.mood = Mood::Open;
        self.refuses_connects = false;
        for wire in 0..self.wires.len() {
            self.wires[wire].stalled = 0;
        }
        for process in 0..self.processes.len() {
            if self.processes[process].backend.mood == Mood::Silent {
                let wire = self.processes[process].wire;
                self.peer_closes(wire);
            }
        }
        self.resume_everything();
    }

    /// Clients that have nothing to wait for say nothing for a while: do pools have their minimum?
    pub(super) fn be_quiet(&mut self) -> Result<(), String> {
        if self.operator.how.is_some() || self.plan.pools.iter().all(|pool| pool.minimum == 0) {
            return Ok(());
        }
        let until = self.flow + CALMING;
        self.live(|world| world.flow < until)?;
        let begin = self.flow;
        self.live(|world| world.flow < begin + QUIET)?;
        for database in 0..DATABASES.len() {
            for user in 0..USERS.len() {
                self.check_minimum((database, user), begin)?;
            }
        }
        Ok(())
    }

    fn check_minimum(&mut self, pool: Pool, begin: u64) -> Result<(), String> {
        let (database, user) = pool;
        let plan = self.operator.pools[database].clone();
        let minimum = plan.minimum.min(plan.size);
        let is_quiet = |app: &&App| app.stage == Stage::Working && app.is_at_rest();
        let of_pool = |place: &usize| self.pool_of(*place) == Some(pool);
        let mut inside = (0..self.apps.len()).filter(of_pool).map(|place| &self.apps[place]);
        let mut wires = self.wires.iter().filter(|wire| wire.place != Place::Gone);
        let all_quiet = inside.clone().all(|app| app.wire.is_none() || is_quiet(&app));
        let somebody = inside.any(|app| is_quiet(&app) && app.connected.0 + CALMING < self.flow);
        let is_wanted = somebody || plan.forced == Some(USERS[user]) && !plan.is_made;
        let is_strange = wires.any(|wire| wire.pool == Some(pool) && wire.far == Far::Nobody);
        if minimum == 0 || !is_wanted || !all_quiet || is_strange {
            return Ok(());
        }
        let spans = &self.oracle.spans;
        let room = |count: u32, most: u32| most == 0 || count < most;
        let has_room = room(spans.of_database(database), plan.most_servers)
            && room(spans.of_user(user), self.plan.bounds.user_servers[user]);
        // Whoever is old is replaced all the time.
        let lasts = self.plan.times.lifetime > QUIET;
        if lasts && has_room && spans.of_pool(pool) < minimum {
            let count = spans.of_pool(pool);
            return Err(format!("pool {pool:?} has {count} servers, and its minimum is {minimum}"));
        }
        let lives = 1 + QUIET.checked_div(self.plan.times.lifetime).unwrap_or_default();
        let opened = spans.opened_since(pool, begin);
        if opened as u64 > u64::from(minimum) * lives + 2 {
            return Err(format!("pool {pool:?} is quiet and has opened {opened} servers"));
        }
        self.tally.minimums += 1;
        Ok(())
    }

    /// Clients finish what they are at, and leave.
    pub(super) fn leave(&mut self) {
        self.phase = Phase::Leaving;
        for app in 0..self.apps.len() {
            self.after(0, Event::Wake(app));
        }
    }

    pub(super) fn all_have_left(&self) -> bool {
        self.apps.iter().all(|app| app.wire.is_none())
            && self.wires.iter().all(|wire| {
                let is_clients = matches!(wire.far, Far::App(_) | Far::Canceller(_));
                !is_clients || wire.place == Place::Gone
            })
    }

    pub(super) fn who_is_left(&self) -> String {
        let left = self.apps.iter().enumerate().filter(|(_, app)| app.wire.is_some());
        let left = left.map(|(place, app)| {
            format!(
                "client {place} in stage {:?} waits for {}",
                app.stage,
                app.conversation.front()
            )
        });
        let left: Vec<_> = left.collect();
        format!("not everybody was served or told when faults had stopped: {}", left.join("; "))
    }

    /// With all clients gone, nothing may wait in an engine.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let idle = self.plan.bounds.spans.pool_idle;
        let sweeps = idle > 0 && self.plan.times.idle > 0;
        let sweeping = self.plan.times.idle + idle + SWEEPING;
        let until = self.flow + if sweeps { sweeping } else { 2_000_000 };
        self.live(|world| world.flow < until)?;
        for (place, worker) in self.workers.iter().enumerate().filter(|(_, w)| !w.exited) {
            let out = worker.engine.blocks_out();
            if out > 0 {
                return Err(format!("{out} blocks of bytes are left on worker {place}"));
            }
        }
        if self.workers.iter().any(|worker| worker.exited) {
            return Ok(());
        }
        self.check_counts()?;
        match sweeps && self.operator.how.is_none() {
            true => self.check_swept(),
            false => Ok(()),
        }
    }

    /// What the ledger counts must be what there is: no clients, and so many servers.
    fn check_counts(&self) -> Result<(), String> {
        let clients = self.ledger.clients();
        if clients > 0 {
            return Err(format!("the ledger counts {clients} clients, and there are none"));
        }
        for (database, name) in DATABASES.iter().enumerate() {
            let counted = self.ledger.clients_of_database(name);
            if counted > 0 {
                return Err(format!("the ledger counts {counted} clients of {name}"));
            }
            let (counted, open) =
                (self.ledger.open_of_database(name), self.oracle.spans.of_database(database));
            if counted != open {
                return Err(format!("the ledger counts {counted} of {open} servers of {name}"));
            }
        }
        for name in USERS {
            let counted = self.ledger.clients_of_user(name);
            if counted > 0 {
                return Err(format!("the ledger counts {counted} clients of {name}"));
            }
        }
        Ok(())
    }

    /// Pools that nobody uses are dropped; those with a minimum keep their servers.
    fn check_swept(&mut self) -> Result<(), String> {
        let mut is_empty = true;
        for (database, plan) in self.operator.pools.iter().enumerate() {
            for user in USERS {
                let key = PoolKey { database: DATABASES[database].into(), user: user.into() };
                let knows = self.ledger.knows(&key);
                is_empty &= !knows;
                if knows && plan.minimum == 0 {
                    return Err(format!(
                        "nobody uses {}/{user}, and it is not dropped",
                        key.database
                    ));
                }
                self.tally.swept += u64::from(!knows);
            }
        }
        match self.ledger.names() {
            left if is_empty && left > 0 => Err(format!("the ledger keeps {left} names of nobody")),
            _ => Ok(()),
        }
    }

    pub(super) fn check_empty(&mut self) -> Result<(), String> {
        for (place, worker) in self.workers.iter().enumerate() {
            if !worker.exited {
                return Err(format!("worker {place} has not said Exit"));
            }
        }
        // Who ends at once leaves mail unread.
        let lost = self.workers.iter().any(|worker| worker.lost_parcels > 0);
        if self.ledger.servers() != 0 && !lost {
            return Err(format!("the ledger counts {} servers at the end", self.ledger.servers()));
        }
        if self.ledger.clients() != 0 && !lost {
            return Err(format!("the ledger counts {} clients at the end", self.ledger.clients()));
        }
        let reached = self.oracle.spans.check()?;
        self.tally.full_databases += reached.database;
        self.tally.full_users += reached.user;
        self.tally.reserves += reached.reserve;
        self.tally.refills += reached.minimum;
        Ok(())
    }

    /// The operator's last word.
    pub(crate) fn shut_down(&mut self, how: Shutdown) {
        match how {
            Shutdown::WaitForClients => self.tally.shutdowns_for_clients += 1,
            Shutdown::WaitForServers => self.tally.shutdowns_for_servers += 1,
            Shutdown::Immediate => self.tally.shutdowns_at_once += 1,
        }
        self.operator.shutdown = Some(self.flow + 300_000);
        self.operator.how = Some(how);
        self.mail_all(&engine::Mail::Shutdown(how));
    }
}
