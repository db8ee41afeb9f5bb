//! Server processes: they read, take their time, answer, and end.
//!
//! ```text
//! bytes ──► work ──► output, as far as the pipe has room ──► a slow statement: later on
//! a cancel request ──► after a while ──► the process that its key names is interrupted
//! ```
//!
//! Carries bytes; what they mean is known to `postgres`.

use super::{Event, Process, World};
use crate::net::{End, Far, Place};
use crate::plan::database_at;
use crate::postgres::Outcome;

impl World {
    pub(crate) fn process_reads(&mut self, place: usize) {
        let id = self.processes[place].wire;
        loop {
            self.process_writes(place);
            let process = &mut self.processes[place];
            if process.napping || !process.unsent.is_empty() || process.ending {
                break;
            }
            let bytes = self.wires[id.0].down.take(8192);
            let ended = bytes.is_empty();
            process.backend.hear(&bytes);
            let outcome = process.backend.work(&self.accounts);
            process.unsent = process.backend.take_output();
            self.process_tells(place);
            if !ended {
                self.taken(id);
            }
            match outcome {
                Outcome::Waits => {}
                Outcome::Sleeps(time) => {
                    let process = &mut self.processes[place];
                    process.naps += 1;
                    process.napping = true;
                    process.nap_since = self.flow;
                    let nap = process.naps;
                    self.after(time, Event::Done(place, nap));
                }
                Outcome::Cancel(key) => {
                    // PostgreSQL forks a process for it, which signals the other and then ends.
                    self.oracle.spans.is_cancel(id);
                    self.processes[place].napping = true;
                    let delay = self.random.pick(&[0, 100, 2_000, 30_000]);
                    let delay = self.random.below(delay + 1);
                    self.after(delay, Event::Signal(place, key));
                }
                Outcome::Ends => self.processes[place].ending = true,
            }
            if ended && self.processes[place].unsent.is_empty() {
                break;
            }
        }
        let process = &self.processes[place];
        let is_done = process.ending && process.unsent.is_empty();
        let wire = &self.wires[id.0];
        if matches!(wire.far, Far::Backend(_)) && (is_done || self.is_left(place)) {
            let delay = self.random.below(2_000);
            self.after(delay, Event::HangUp(id));
        }
    }

    /// Whether the pooler has closed, and there is nothing more to do.
    fn is_left(&self, place: usize) -> bool {
        let process = &self.processes[place];
        let down = &self.wires[process.wire.0].down;
        !process.napping && down.len() == 0 && matches!(down.end, End::Closed | End::Reset)
    }

    fn process_writes(&mut self, place: usize) {
        let process = &mut self.processes[place];
        let id = process.wire;
        let wire = &mut self.wires[id.0];
        if wire.place == Place::Gone {
            process.unsent.clear();
        }
        let room = wire.up.room().min(process.unsent.len());
        if room > 0 {
            let bytes: Vec<u8> = process.unsent.drain(..room).collect();
            self.say(id, &bytes);
        }
    }

    /// Passes on what an observer would like to know.
    pub(crate) fn process_tells(&mut self, place: usize) {
        let process = &mut self.processes[place];
        let facts = std::mem::take(&mut process.backend.session.facts);
        let is_open = process.backend.session.status != wire::TransactionStatus::Idle;
        let begin = process.open_since.unwrap_or(self.flow);
        process.open_since = is_open.then_some(begin);
        let id = process.wire;
        for fact in facts {
            self.tell(|_| format!("server {place} on wire {}: {fact:?}", id.0));
            self.note_fact(place, id, &fact);
        }
        if self.processes[place].backend.is_ready() {
            return;
        }
        let process = &self.processes[place];
        if let Some((database, user)) = &process.backend.login {
            let port = self.wires[id.0].port.map_or(0, database_at);
            self.oracle.server_known(id, (port, database, user));
        }
    }

    pub(crate) fn process_wakes(&mut self, place: usize, nap: u64) {
        let process = &mut self.processes[place];
        if !process.napping || process.naps != nap {
            return;
        }
        process.napping = false;
        process.backend.session.wake();
        process.unsent.append(&mut process.backend.take_output());
        self.process_tells(place);
        self.process_reads(place);
    }

    /// A cancel request reaches the server: the process that it names is interrupted, now.
    pub(crate) fn process_cancels(&mut self, place: usize, key: &[u8]) {
        let named = |process: &Process| {
            let mut own = process.backend.pid.to_be_bytes().to_vec();
            own.extend_from_slice(&process.backend.secret);
            own == key
        };
        if self.processes[place].ending {
            return;
        }
        self.processes[place].napping = false;
        self.processes[place].ending = true;
        self.process_reads(place);
        let Some(target) = self.processes.iter().position(named) else {
            let wire = self.processes[place].wire;
            return self.oracle.fail(format!("wire {}: cancel request with a strange key", wire.0));
        };
        let process = &mut self.processes[target];
        let lives = matches!(self.wires[process.wire.0].far, Far::Backend(_));
        let hit = if lives { process.backend.session.cancel() } else { None };
        self.tell(|_| format!("server {target}: cancel request, hits {hit:?}"));
        match hit {
            None => self.tally.cancels_late += 1,
            Some(token) => {
                self.tally.cancels_hit += 1;
                self.oracle.cancel_hit(token);
                let process = &mut self.processes[target];
                process.napping = false;
                process.unsent.append(&mut process.backend.take_output());
                self.process_reads(target);
            }
        }
    }
}
