//! The commands that change something.
//!
//!     PAUSE ──► nobody gets a server ──► all workers have heard it, no server is left ──► PAUSE
//!     RESUME, or a cancel of the PAUSE ──► the one that waits is told that it is revoked
//!     RELOAD, SHUTDOWN ──► an order to the program
//!
//! Whether somebody may say a command has been decided before.

use std::sync::Arc;

use config::TABLE;

use super::{Pause, Waiting};
use crate::admin::answer::Answer;
use crate::admin::grammar::Command as Asked;
use crate::admin::report::Table;
use crate::admin::show::UNSUPPORTED;
use crate::admin::{Phase, answer};
use crate::client::Client;
use crate::command::{Command, Order, Shutdown, Ticket};
use crate::engine::{Engine, Pending};
use crate::ids::Id;
use crate::mail::Mail;
use crate::pool::route;
use crate::reason::sqlstate_of_ours;
use crate::time::{MILLISECOND, Time};
use wire::sqlstate;

impl Engine {
    /// Carries out a command that is permitted.
    pub(super) fn console_acts(&mut self, id: Id<Client>, command: Asked, now: Time) {
        match command {
            Asked::Pause(database) => self.console_pause(id, database, now),
            Asked::Reload => self.console_reload(id, now),
            Asked::Resume(database) => self.console_resume(id, database, now),
            Asked::Set(key) => {
                let known = TABLE.iter().any(|row| row.key == key);
                let text =
                    if known { format!("SET {UNSUPPORTED}") } else { "SET failed".to_owned() };
                self.console_tells(id, &answer::refusal(&text));
            }
            Asked::SetParameter => {
                self.console_tells(id, &answer::notice("SET ignored", None, "SET"));
            }
            Asked::Show(show) => self.console_shows(id, show, now),
            Asked::Shutdown(how) => self.console_shutdown(id, how, now),
            Asked::Unsupported(name) => {
                self.console_tells(id, &answer::refusal(&format!("{name} {UNSUPPORTED}")));
            }
        }
    }

    fn console_pause(&mut self, id: Id<Client>, database: Option<Arc<str>>, now: Time) {
        log_issued("PAUSE", database.as_deref());
        if let Err(why) = self.may_pause(database.as_deref()) {
            return self.console_tells(id, &answer::refusal(&why));
        }
        self.pause(database.clone(), now);
        self.post_to_others(&Mail::Pause { database: database.clone() });
        // Mail arrives in the order in which it was sent: who reports has paused.
        let mut pause = Pause { database, pools: Vec::new(), missing: self.workers };
        pause.reported(self.report(Table::Pools, now));
        let ticket = self.ticket(Pending::Console(Waiting::Pausing { client: id, pause }));
        self.post_to_others(&Mail::Gather { by: self.me, ticket, table: Table::Pools });
        self.console_phase(id, Phase::Waiting { ticket, since: now });
        self.console_pauses(now);
    }

    fn may_pause(&self, database: Option<&str>) -> Result<(), String> {
        match database {
            None if self.mode.paused_all => Err("already suspended/paused".into()),
            None => Ok(()),
            Some(route::CONSOLE) => Err(format!("cannot pause admin db: {}", route::CONSOLE)),
            Some(name) => self.must_know(name),
        }
    }

    fn must_know(&self, database: &str) -> Result<(), String> {
        let known = route::entry(&self.setup, database).is_some();
        if known { Ok(()) } else { Err(format!("no such database: {database}")) }
    }

    /// Looks at each PAUSE that waits: it is over, revoked, of no interest any more, or goes on.
    pub(super) fn console_pauses(&mut self, now: Time) {
        let tickets: Vec<Ticket> = self.pending.keys().copied().collect();
        for ticket in tickets {
            if let Some(Pending::Console(Waiting::Pausing { client, pause })) =
                self.pending.get(&ticket)
            {
                let client = *client;
                let outcome = if self.waits_since(client, ticket).is_none() {
                    Some(Answer::default())
                } else if !self.is_in_force(pause) {
                    Some(revoked(self.setup.config.pgbouncer.legacy_sqlstate))
                } else {
                    self.is_complete(pause).then(|| answer::done("PAUSE"))
                };
                match outcome {
                    Some(answer) => {
                        self.pending.remove(&ticket);
                        self.console_answers(client, ticket, &answer, now);
                    }
                    None => self.upkeep.due_by(now + PAUSE_CHECK),
                }
            }
        }
    }

    fn is_in_force(&self, pause: &Pause) -> bool {
        match &pause.database {
            None => self.mode.paused_all,
            Some(database) => self.mode.paused.contains(database),
        }
    }

    fn is_complete(&self, pause: &Pause) -> bool {
        let servers = match pause.database {
            None => self.ledger.servers(),
            Some(_) => pause.pools.iter().map(|pool| self.ledger.open(pool)).sum(),
        };
        pause.missing == 0 && servers == 0
    }

    fn console_resume(&mut self, id: Id<Client>, database: Option<Arc<str>>, now: Time) {
        log_issued("RESUME", database.as_deref());
        if let Err(why) = self.may_resume(database.as_deref()) {
            return self.console_tells(id, &answer::refusal(&why));
        }
        self.resume_everywhere(database, now);
        self.console_tells(id, &answer::done("RESUME"));
    }

    fn may_resume(&self, database: Option<&str>) -> Result<(), String> {
        match database {
            _ if self.mode.shutdown.is_some() => Err("pooler is shutting down".into()),
            None if self.mode.paused_all => Ok(()),
            None => Err("pooler is not paused/suspended".into()),
            Some(name) if self.mode.paused.iter().any(|paused| **paused == *name) => Ok(()),
            Some(name) => {
                self.must_know(name)?;
                Err(format!("database {name} is not paused"))
            }
        }
    }

    fn resume_everywhere(&mut self, database: Option<Arc<str>>, now: Time) {
        self.resume_pools(database.as_deref());
        self.post_to_others(&Mail::Resume { database });
        self.console_pauses(now);
    }

    /// A cancel request for a session: PgBouncer resumes what a PAUSE that waits has paused.
    pub(in crate::engine) fn console_canceled(&mut self, id: Id<Client>, now: Time) {
        let pausing = self.pending.values().find_map(|pending| match pending {
            Pending::Console(Waiting::Pausing { client, pause }) if *client == id => {
                Some(pause.database.clone())
            }
            _ => None,
        });
        if let (Some(database), None) = (pausing, self.mode.shutdown) {
            self.resume_everywhere(database, now);
        }
    }

    fn console_reload(&mut self, id: Id<Client>, now: Time) {
        log_issued("RELOAD", None);
        let ticket = self.ticket(Pending::Console(Waiting::Reloading { client: id }));
        self.console_phase(id, Phase::Waiting { ticket, since: now });
        self.commands.push_back(Command::Order { ticket, order: Order::Reload });
    }

    fn console_shutdown(&mut self, id: Id<Client>, how: Shutdown, now: Time) {
        let name = match how {
            Shutdown::Immediate => "SHUTDOWN",
            Shutdown::WaitForClients => "SHUTDOWN WAIT_FOR_CLIENTS",
            Shutdown::WaitForServers => "SHUTDOWN WAIT_FOR_SERVERS",
        };
        log_issued(name, None);
        let order = Order::Shutdown(how);
        self.commands.push_back(Command::Order { ticket: NO_ANSWER, order });
        match how {
            // PgBouncer: there is no answer, the connection ends with the process.
            Shutdown::Immediate => {
                self.console_phase(id, Phase::Waiting { ticket: NO_ANSWER, since: now });
            }
            _ => self.console_tells(id, &answer::done("SHUTDOWN")),
        }
    }
}

/// What a PAUSE is told when somebody has resumed.
fn revoked(legacy: bool) -> Answer {
    let sqlstate = sqlstate_of_ours(sqlstate::QUERY_CANCELED, legacy);
    answer::error(sqlstate, "PAUSE was revoked by RESUME", None)
}

fn log_issued(command: &str, database: Option<&str>) {
    match database {
        Some(name) => log::info!("{command} '{name}' command issued"),
        None => log::info!("{command} command issued"),
    }
}

/// How often to look whether a PAUSE is over.
const PAUSE_CHECK: u64 = 20 * MILLISECOND;

/// The ticket of an order that is not answered; those of questions begin with 1.
const NO_ANSWER: Ticket = Ticket(0);
