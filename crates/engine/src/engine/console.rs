//! The console's side of the switchboard.

use super::Engine;
use crate::admin::report::{Part, Table};
use crate::client::Client;
use crate::client::startup::Request;
use crate::command::Ticket;
use crate::ids::Id;
use crate::reason::Reason;
use crate::stream::Verdict;
use crate::time::Time;

/// What a console command waits for.
pub(super) enum Waiting {}

impl Engine {
    /// Somebody wants onto the console.
    pub(super) fn console_login(&mut self, id: Id<Client>, _request: Request, now: Time) {
        self.close_client(id, Reason::NotAllowed, now);
    }

    pub(super) fn console_enter(&mut self, id: Id<Client>, now: Time) {
        self.close_client(id, Reason::NotAllowed, now);
    }

    pub(super) fn console_says(&mut self, id: Id<Client>, _rest: &[u8], now: Time) -> Verdict {
        self.end_client(id, Reason::NotAllowed, now)
    }

    pub(super) fn report(&mut self, _table: Table, _now: Time) -> Part {
        Part {}
    }

    pub(super) fn console_reported(&mut self, _ticket: Ticket, _part: Part, _now: Time) {}

    pub(super) fn console_reloaded(&mut self, _waiting: &Waiting, _result: Result<(), String>) {}

    pub(super) fn console_tick(&mut self, _now: Time) {}
}
