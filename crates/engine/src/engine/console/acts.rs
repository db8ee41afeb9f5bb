//! The commands that change something.
//!
//!     a command ──► may it be done now? ──► an act for all workers, or an order to the program
//!                              └─► refused, in PgBouncer's words
//!
//! Whether somebody may say a command has been decided before; what comes of it is waited for in
//! `waits`.

use std::sync::Arc;

use config::{TABLE, When};

use super::waits::{Asker, Then, Until};
use super::{AT_REST, NO_ANSWER};
use crate::act::{Act, Rest};
use crate::admin::grammar::{Command as Asked, decimal};
use crate::admin::report::Table;
use crate::admin::{Phase, answer};
use crate::client::Client;
use crate::command::{Command, Order, Shutdown};
use crate::engine::Engine;
use crate::ids::Id;
use crate::pool::route;
use crate::time::Time;

/// The name of a database, where a command has one.
type Name = Option<Arc<str>>;

impl Engine {
    /// Carries out a command that is permitted.
    pub(super) fn console_acts(&mut self, id: Id<Client>, command: Asked, now: Time) {
        let outcome = match command {
            Asked::Disable(database) => self.console_disables(id, database, now),
            Asked::Enable(database) => self.console_enables(id, database, now),
            Asked::Kill(database) => self.console_kills(id, database, now),
            Asked::KillClient(number) => self.console_kills_client(id, number.as_deref(), now),
            Asked::Pause(database) => self.console_pauses(id, database, now),
            Asked::Reconnect(database) => self.console_reconnects(id, database, now),
            Asked::Reload => {
                log_issued("RELOAD", None);
                self.console_orders(id, Order::Reload, Then::Answer("RELOAD".into()), now);
                Ok(())
            }
            Asked::Resume(database) => self.console_resumes(id, database, now),
            Asked::Set { key, value } => {
                self.console_sets(id, key, value, now);
                Ok(())
            }
            Asked::SetParameter => {
                self.console_tells(id, &answer::notice("SET ignored", None, "SET"));
                Ok(())
            }
            Asked::Show(show) => {
                self.console_shows(id, show, now);
                Ok(())
            }
            Asked::Shutdown(how) => {
                self.console_shuts_down(id, how, now);
                Ok(())
            }
            Asked::Suspend => self.console_suspends(id, now),
            Asked::WaitClose(database) => self.console_waits_for_closes(id, database, now),
        };
        if let Err(why) = outcome {
            self.console_tells(id, &answer::refusal(&why));
        }
    }

    fn console_pauses(&mut self, id: Id<Client>, database: Name, now: Time) -> Result<(), String> {
        log_issued("PAUSE", database.as_deref());
        match database.as_deref() {
            None => self.must_work()?,
            Some(name) => {
                self.must_be_database(name, "pause")?;
                // It would wait for servers that cannot get on.
                if self.mode.rest == Rest::Suspended {
                    return Err(AT_REST.into());
                }
            }
        }
        let then = Then::Watch(Until::Paused(database.clone()));
        self.console_orders(id, Order::Act(Act::Pause(database)), then, now);
        Ok(())
    }

    fn console_resumes(&mut self, id: Id<Client>, database: Name, now: Time) -> Result<(), String> {
        log_issued("RESUME", database.as_deref());
        match database.as_deref() {
            _ if self.mode.shutdown.is_some() => return Err("pooler is shutting down".into()),
            None if self.mode.rest == Rest::Working => {
                return Err("pooler is not paused/suspended".into());
            }
            None => {}
            Some(name) if self.mode.paused.iter().any(|paused| **paused == *name) => {}
            Some(name) => {
                self.must_know(name)?;
                return Err(format!("database {name} is not paused"));
            }
        }
        self.console_acts_at_once(id, Act::Resume(database), "RESUME", now);
        Ok(())
    }

    fn console_suspends(&mut self, id: Id<Client>, now: Time) -> Result<(), String> {
        log_issued("SUSPEND", None);
        self.must_work()?;
        if !self.mode.paused.is_empty() {
            return Err("cannot suspend with paused databases".into());
        }
        let then = Then::Watch(Until::Suspended);
        self.console_orders(id, Order::Act(Act::Suspend), then, now);
        Ok(())
    }

    fn console_disables(
        &mut self,
        id: Id<Client>,
        database: Name,
        now: Time,
    ) -> Result<(), String> {
        let database = self.must_be_named(database)?;
        log_issued("DISABLE", Some(&database));
        self.console_acts_at_once(id, Act::Disable(database), "DISABLE", now);
        Ok(())
    }

    fn console_enables(&mut self, id: Id<Client>, database: Name, now: Time) -> Result<(), String> {
        let database = self.must_be_named(database)?;
        log_issued("ENABLE", Some(&database));
        self.console_acts_at_once(id, Act::Enable(database), "ENABLE", now);
        Ok(())
    }

    fn console_reconnects(
        &mut self,
        id: Id<Client>,
        database: Name,
        now: Time,
    ) -> Result<(), String> {
        log_issued("RECONNECT", database.as_deref());
        if let Some(name) = database.as_deref() {
            self.must_be_database(name, "reconnect")?;
        }
        self.console_acts_at_once(id, Act::Reconnect(database), "RECONNECT", now);
        Ok(())
    }

    fn console_waits_for_closes(
        &mut self,
        id: Id<Client>,
        database: Name,
        now: Time,
    ) -> Result<(), String> {
        log_issued("WAIT_CLOSE", database.as_deref());
        if let Some(name) = database.as_deref() {
            self.must_be_database(name, "wait in")?;
        }
        self.console_watches_until(id, Until::Closed(database), now);
        Ok(())
    }

    fn console_kills(&mut self, id: Id<Client>, database: Name, now: Time) -> Result<(), String> {
        log_issued("KILL", database.as_deref());
        self.must_work()?;
        match database {
            None => self.console_gathers(id, Asker::Kill(id), Table::Pools, now),
            Some(database) => {
                self.must_be_database(&database, "kill")?;
                self.console_acts_at_once(id, Act::Kill(vec![database]), "KILL", now);
            }
        }
        Ok(())
    }

    fn console_kills_client(
        &mut self,
        id: Id<Client>,
        number: Option<&str>,
        now: Time,
    ) -> Result<(), String> {
        let number = number.and_then(decimal);
        let number = number.ok_or("invalid client pointer supplied")?;
        log_issued("KILL_CLIENT", Some(&number.to_string()));
        let table = Table::Client(number);
        self.console_gathers(id, Asker::KillClient(id, number), table, now);
        Ok(())
    }

    /// An act that needs no wait.
    fn console_acts_at_once(&mut self, id: Id<Client>, act: Act, tag: &'static str, now: Time) {
        self.console_orders(id, Order::Act(act), Then::Answer(tag.into()), now);
    }

    fn console_sets(&mut self, id: Id<Client>, key: String, value: String, now: Time) {
        log_issued("SET", Some(&key));
        if let Err(why) = self.setup.config.pgbouncer.clone().set(&key, &value) {
            return self.console_tells(id, &answer::set_failed(&why));
        }
        let tag = format!("SET {key}={value}");
        if TABLE.iter().any(|row| row.key == key && row.when == When::Boot) {
            // PgBouncer: this counts as done.
            let text = format!("\"{key}\" changes at a restart only");
            return self.console_tells(id, &answer::notice(&text, None, &tag));
        }
        self.console_orders(id, Order::Set { key, value }, Then::Answer(tag.into()), now);
    }

    fn console_shuts_down(&mut self, id: Id<Client>, how: Shutdown, now: Time) {
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

    fn must_work(&self) -> Result<(), String> {
        if self.mode.rest == Rest::Working { Ok(()) } else { Err(AT_REST.into()) }
    }

    fn must_know(&self, database: &str) -> Result<(), String> {
        let known = route::entry(&self.setup, database).is_some();
        if known { Ok(()) } else { Err(format!("no such database: {database}")) }
    }

    /// A database of clients, to which something can be done that the console itself is spared.
    fn must_be_database(&self, name: &str, verb: &str) -> Result<(), String> {
        if name == route::CONSOLE {
            return Err(format!("cannot {verb} admin db: {name}"));
        }
        self.must_know(name)
    }

    fn must_be_named(&self, database: Name) -> Result<Arc<str>, String> {
        let database = database.ok_or("a database is required")?;
        self.must_be_database(&database, "disable")?;
        Ok(database)
    }
}

fn log_issued(command: &str, argument: Option<&str>) {
    match argument {
        Some(name) => log::info!("{command} '{name}' command issued"),
        None => log::info!("{command} command issued"),
    }
}
