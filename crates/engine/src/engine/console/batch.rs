//! The extended protocol on the console.
//!
//!     Parse, Bind, Describe, Close ──► the session answers
//!     Execute ──► the portal's statement is run like that of a Query ──► its rows
//!     an error ──► nothing is heard up to Sync
//!
//! A batch is heard message by message; while one of its statements waits, the rest is kept.

use crate::admin::answer::Answer;
use crate::admin::{Console, Heard};
use crate::client::{Client, Stage};
use crate::engine::Engine;
use crate::ids::Id;
use crate::time::Time;

impl Engine {
    /// A message of a batch other than Sync and Flush has come.
    pub(super) fn console_batches(&mut self, id: Id<Client>, tag: u8, body: &[u8], now: Time) {
        let Some(console) = self.console(id) else { return };
        match console.hear(tag, body) {
            Heard::Reply(bytes) => self.console_sends(id, &bytes),
            Heard::Run(statement) => self.console_runs(id, &statement, now),
            Heard::Refused(refusal) => self.console_refuses(id, refusal),
        }
    }

    pub(super) fn console_syncs(&mut self, id: Id<Client>) {
        let Some(console) = self.console(id) else { return };
        let bytes = console.sync();
        self.console_sends(id, &bytes);
    }

    /// Refuses a message of a batch.
    pub(super) fn console_refuses(&mut self, id: Id<Client>, refusal: Answer) {
        let refusal = refusal.coded(self.setup.config.pgbouncer.legacy_sqlstate);
        let Some(console) = self.console(id) else { return };
        let bytes = console.refuse(&refusal);
        self.console_sends(id, &bytes);
    }

    fn console(&mut self, id: Id<Client>) -> Option<&mut Console> {
        match &mut self.clients.find_mut(id)?.stage {
            Stage::Console(console) => Some(console),
            _ => None,
        }
    }
}
