//! Mail between workers, and from the operator to all of them.
//!
//! ```text
//! Post, Ship ──► under way for a while ──► mail, arrived
//! ```
//!
//! Letters of one sender to one receiver stay in order, as in a real mailbox; others overtake each
//! other as chance will have it. A wire that is shipped goes on collecting bytes.

use engine::{ConnId, Mail, Parcel, WorkerId};

use super::{Event, World};
use crate::net::{Place, WireId};

/// What one worker sends to another.
pub(crate) enum Letter {
    Mail(Mail),
    Parcel(Parcel, WireId),
}

impl World {
    pub(crate) fn worker_gets_mail(&mut self, to: usize, from: usize) {
        if self.workers[to].exited {
            if let Some(Letter::Parcel(_, wire)) = self.workers[to].mail[from].pop_front() {
                self.workers[to].lost_parcels += 1;
                self.abandon(wire);
            }
            return;
        }
        if self.is_away(to, Event::Mail { to, from }).is_none() {
            return;
        }
        let Some(letter) = self.workers[to].mail[from].pop_front() else { return };
        let now = self.now();
        match letter {
            Letter::Mail(mail) => {
                self.tell(|_| format!("worker {to}: mail from {from}: {mail:?}"));
                self.note_orders(to, &mail);
                self.workers[to].engine.mail(mail, now);
            }
            Letter::Parcel(parcel, wire) => {
                let conn = self.workers[to].engine.arrived(parcel, now);
                self.tell(|_| format!("worker {to}: wire {} arrives from {from}", wire.0));
                self.workers[to].conns.insert(conn, wire);
                self.wires[wire.0].place = Place::At(to, conn);
                self.wires[wire.0].reading = true;
                self.wires[wire.0].touched = self.flow;
                self.readable(wire, 0);
            }
        }
        self.obey(to, &[]);
        self.turn_ends(to);
    }

    pub(super) fn post(&mut self, from: usize, to: WorkerId, mail: Mail) {
        match &mail {
            Mail::Borrow { .. } => self.tally.borrows += 1,
            Mail::Withdraw { .. } => self.tally.withdrawals += 1,
            Mail::Hungry { .. } => self.tally.hungry += 1,
            Mail::SlotFreed { .. } => self.tally.slots_freed += 1,
            Mail::Cancel { .. } => self.tally.cancels_far += 1,
            _ => {}
        }
        self.send(from, usize::from(to.0), Letter::Mail(mail));
    }

    pub(super) fn ship(&mut self, worker: usize, conn: ConnId, to: WorkerId, parcel: Parcel) {
        let Some(id) = self.workers[worker].conns.remove(&conn) else {
            return self.oracle.fail(format!("worker {worker} ships what it does not have"));
        };
        match &parcel {
            Parcel::Client(_) => self.tally.placements += 1,
            Parcel::Server(_) => self.tally.loans += 1,
        }
        self.tell(|_| format!("worker {worker}: ships wire {} to {}", id.0, to.0));
        self.wires[id.0].place = Place::Mailed(usize::from(to.0));
        self.wires[id.0].down.blocked = false;
        self.send(worker, usize::from(to.0), Letter::Parcel(parcel, id));
    }

    /// Sends a letter; those of one sender to one receiver stay in order.
    pub(crate) fn send(&mut self, from: usize, to: usize, letter: Letter) {
        let delay = self.random.range(10, self.plan.mail_max);
        self.workers[to].mail[from].push_back(letter);
        self.after(delay, Event::Mail { to, from });
    }
}
