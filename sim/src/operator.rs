//! The operator, and fate: what happens to a pooler besides its clients.
//!
//! ```text
//! PAUSE, RESUME, new sizes, another port, a shutdown        the operator
//! servers say FATAL or vanish, refuse connections or logins; wires stall; the clock jumps     fate
//! ```

use engine::{Act, Mail, Shutdown};

use crate::net::Far;
use crate::plan::PoolPlan;
use crate::postgres::Mood;
use crate::world::mail::Letter;
use crate::world::{Event, Phase, World};

/// What the operator has done so far.
#[derive(Debug)]
pub(crate) struct Operator {
    /// The configuration of the last reload.
    pub(crate) pools: Vec<PoolPlan>,
    /// How the pooler was told to end.
    pub(crate) how: Option<Shutdown>,
    /// When everybody else shall stop being busy.
    pub(crate) shutdown: Option<u64>,
    /// When each database was told to RECONNECT, each time.
    pub(crate) reconnects: [Vec<u64>; crate::plan::DATABASES.len()],
    /// Whether a database was ever moved.
    pub(crate) has_moved: bool,
    /// When the clock has jumped last.
    pub(crate) jumped_at: u64,
}

impl Operator {
    pub(crate) fn new(pools: Vec<PoolPlan>) -> Self {
        let reconnects = Default::default();
        let (how, shutdown, has_moved) = (None, None, false);
        Self { pools, how, shutdown, reconnects, has_moved, jumped_at: 0 }
    }

    /// Whether any database was ever told to RECONNECT.
    pub(crate) fn has_reconnected(&self) -> bool {
        self.reconnects.iter().any(|times| !times.is_empty())
    }
}

impl World {
    /// One thing, and when to do the next.
    pub(crate) fn operate(&mut self) {
        if self.phase != Phase::Busy {
            return;
        }
        if let Some((at, how)) = self.plan.early_end
            && self.flow >= at
            && self.operator.how.is_none()
        {
            self.shut_down(how);
        }
        let operator = if self.plan.unattended { 0 } else { 1 };
        let fate = if self.plan.calm { 0 } else { 1 };
        let stall = if self.plan.net.stall > 0 { 6 } else { 0 };
        let weights = [
            3 * operator,
            8 * operator,
            3 * operator,
            operator,
            2 * operator,
            operator,
            4 * fate,
            4 * fate,
            3 * fate,
            10 * fate,
            stall * fate,
            2 * fate,
            10,
        ];
        match self.random.weighted(&weights) {
            0 => self.pause(),
            1 => self.resume(),
            2 => self.resize(),
            3 => self.move_database(),
            4 => self.reconnect(),
            5 => self.suspend(),
            6 => self.server_says_fatal(),
            7 => self.server_vanishes(),
            8 => self.servers_refuse(),
            9 => self.servers_open(),
            10 => self.stall(),
            11 => self.jump(),
            _ => {}
        }
        let delay = self.random.range(2_000, 60_000);
        self.after(delay, Event::Operate);
    }

    /// Mails something to every worker.
    pub(crate) fn mail_all(&mut self, mail: &Mail) {
        let operator = self.workers.len();
        self.tell(|_| format!("operator: {mail:?}"));
        for worker in 0..self.workers.len() {
            self.send(operator, worker, Letter::Mail(mail.clone()));
        }
    }

    fn pause(&mut self) {
        self.tally.pauses += 1;
        let name = self.random.pick(&crate::plan::DATABASES);
        let database = self.random.chance(600).then(|| name.into());
        self.mail_all(&Mail::Act(Act::Pause(database)));
    }

    fn resume(&mut self) {
        self.tally.resumes += 1;
        if self.random.chance(500) {
            return self.resume_everything();
        }
        let name = self.random.pick(&crate::plan::DATABASES);
        self.mail_all(&Mail::Act(Act::Resume(Some(name.into()))));
    }

    pub(crate) fn resume_everything(&mut self) {
        self.mail_all(&Mail::Act(Act::Resume(None)));
        for database in crate::plan::DATABASES {
            self.mail_all(&Mail::Act(Act::Resume(Some(database.into()))));
        }
    }

    fn reconnect(&mut self) {
        self.tally.reconnects += 1;
        let place = self.random.below(crate::plan::DATABASES.len() as u64) as usize;
        let database = self.random.chance(500).then_some(place);
        for (at, times) in self.operator.reconnects.iter_mut().enumerate() {
            if database.is_none_or(|place| place == at) {
                times.push(self.flow);
            }
        }
        let name = database.map(|place| crate::plan::DATABASES[place].into());
        self.mail_all(&Mail::Act(Act::Reconnect(name)));
    }

    fn suspend(&mut self) {
        self.tally.suspends += 1;
        self.mail_all(&Mail::Act(Act::Suspend));
    }

    fn resize(&mut self) {
        let place = self.random.below(self.operator.pools.len() as u64) as usize;
        let pool = &mut self.operator.pools[place];
        pool.size = self.random.range(1, 10) as u32;
        if pool.most_servers > 0 {
            pool.most_servers = self.random.range(1, 8) as u32;
        }
        if pool.minimum > 0 {
            pool.minimum = self.random.range(1, 4) as u32;
        }
        self.reload();
    }

    fn move_database(&mut self) {
        let place = self.random.below(self.operator.pools.len() as u64) as usize;
        self.operator.has_moved = true;
        let port = &mut self.operator.pools[place].port;
        *port = if (*port).is_multiple_of(10) { *port + 1 } else { *port - 1 };
        self.reload();
    }

    fn reload(&mut self) {
        self.tally.reloads += 1;
        let setup = self.plan.setup(&self.operator.pools, &self.accounts);
        self.mail_all(&Mail::Setup(setup));
    }

    /// A server process that still stands, by its place.
    fn some_server(&mut self) -> Option<usize> {
        let alive: Vec<usize> = (0..self.processes.len())
            .filter(|place| {
                let process = &self.processes[*place];
                matches!(self.wires[process.wire.0].far, Far::Backend(_)) && !process.ending
            })
            .collect();
        if alive.is_empty() { None } else { Some(self.random.pick(&alive)) }
    }

    fn server_says_fatal(&mut self) {
        let Some(place) = self.some_server() else { return };
        self.tally.server_fatals += 1;
        self.oracle.mishap(self.flow);
        self.tell(|_| format!("fate: server {place} says FATAL"));
        let process = &mut self.processes[place];
        process.unsent.append(&mut process.backend.take_output());
        process.backend.fatal("57P01");
        process.unsent.append(&mut process.backend.take_output());
        process.napping = false;
        process.ending = true;
        self.process_reads(place);
    }

    fn server_vanishes(&mut self) {
        let Some(place) = self.some_server() else { return };
        self.tally.server_losses += 1;
        self.oracle.mishap(self.flow);
        self.tell(|_| format!("fate: server {place} vanishes"));
        let process = &mut self.processes[place];
        process.napping = false;
        process.ending = true;
        let wire = process.wire;
        self.peer_resets(wire);
    }

    fn servers_refuse(&mut self) {
        match self.random.below(5) {
            0 => self.refuses_connects = true,
            1 => {
                self.mood = Mood::Silent;
                self.tally.logins_hung += 1;
            }
            _ => {
                let code = self.random.pick(&["3D000", "53300", "57P03", "28P01"]);
                self.mood = Mood::Refuses(code);
            }
        }
        self.oracle.refusal(self.flow);
        self.tell(|world| format!("fate: servers are {:?}", world.mood));
    }

    fn servers_open(&mut self) {
        if self.mood != Mood::Open || self.refuses_connects {
            self.oracle.refusal(self.flow);
            self.tell(|_| "fate: servers are open".into());
        }
        self.mood = Mood::Open;
        self.refuses_connects = false;
    }

    fn stall(&mut self) {
        if self.wires.is_empty() {
            return;
        }
        self.tally.stalls += 1;
        self.oracle.mishap(self.flow);
        let wire = self.random.below(self.wires.len() as u64) as usize;
        let time = self.random.range(1_000, 1_500_000);
        self.wires[wire].stalled = self.flow + time;
        self.tell(|_| format!("fate: wire {wire} stalls for {time}"));
    }

    fn jump(&mut self) {
        self.tally.clock_jumps += 1;
        self.oracle.mishap(self.flow);
        let step = self.random.pick(&[10_000, 400_000, 2_000_000, 8_000_000]);
        self.jumped += step;
        self.operator.jumped_at = self.flow;
        self.tell(|_| format!("fate: the clock jumps by {step}"));
        for worker in 0..self.workers.len() {
            self.plan_tick(worker);
        }
    }
}
