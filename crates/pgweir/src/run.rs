//! The main thread between start and end: it waits for signals and for orders of the engines.
//!
//! ```text
//! HUP, RELOAD ──► read the files ──► Setup to every worker
//! SET ──► the setup in force with one setting changed ──► the same
//! USR1, USR2, acts of the console ──► to every worker, all in one order ──► announced to the asker
//! TERM, INT ──► shutdown to every worker ──► all have ended ──► the end
//! QUIT, or a second TERM or INT ──► the end
//! ```
//!
//! What a shutdown means for clients and servers is up to the engines; the process ends when all
//! workers have.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use engine::{Act, Answer, Mail, Order, Rest, Setup, Shutdown, Ticket, WorkerId};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::boot::verbosity;
use crate::cli::Serve;
use crate::listen::{self, Listener};
use crate::log::{self as sink, Sink};
use crate::notify::{self, State};
use crate::post::{Letter, Post};
use crate::worker::Notice;
use crate::{limits, reload};

/// A running program.
pub(crate) struct Program {
    serve: Serve,
    log: &'static Sink,
    setup: Arc<Setup>,
    post: Arc<Post>,
    inbox: Receiver<Notice>,
    listeners: Vec<Arc<Listener>>,
    /// How many workers have not ended.
    working: u8,
    stage: Stage,
    /// What the acts that all workers hear have led to.
    rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Serving,
    Stopping(Shutdown),
    Ended,
}

impl Program {
    /// Takes over from `boot`.
    pub(crate) fn new(
        serve: Serve,
        log: &'static Sink,
        setup: Arc<Setup>,
        reach: (Arc<Post>, Receiver<Notice>),
        listeners: Vec<Arc<Listener>>,
    ) -> Self {
        let (post, inbox) = reach;
        let working = post.workers();
        let (stage, rest) = (Stage::Serving, Rest::Working);
        Self { serve, log, setup, post, inbox, listeners, working, stage, rest }
    }

    /// Runs until the process is to end.
    pub(crate) fn run(mut self) {
        while self.stage != Stage::Ended {
            match self.inbox.recv() {
                Ok(Notice::Signal(signal)) => self.hear(signal),
                Ok(Notice::Order(by, ticket, order)) => self.carry_out(by, ticket, order),
                Ok(Notice::Status(line)) => notify::tell(State::Status(&line)),
                Ok(Notice::Ended) => self.count_out(),
                // The thread that catches signals has a sender for ever.
                Err(_) => return,
            }
        }
    }

    fn hear(&mut self, signal: i32) {
        let is_stopping = self.stage != Stage::Serving;
        match signal {
            SIGHUP => {
                log::info!("got SIGHUP, re-reading config");
                // The complaints have been logged.
                let _ = self.reload();
            }
            SIGTERM if is_stopping => self.end("got SIGTERM while shutting down, fast exit"),
            SIGINT if is_stopping => self.end("got SIGINT while shutting down, fast exit"),
            SIGQUIT => self.end("got SIGQUIT, fast exit"),
            SIGTERM | SIGINT if self.rest == Rest::Suspended => self.end(SUSPENDED),
            SIGTERM => {
                log::info!("got SIGTERM, shutting down, waiting for all clients disconnect");
                self.shut_down(Shutdown::WaitForClients);
            }
            SIGINT => {
                log::info!(
                    "got SIGINT, shutting down, waiting for all servers connections to be released"
                );
                self.shut_down(Shutdown::WaitForServers);
            }
            SIGUSR1 => self.hear_pause(),
            SIGUSR2 if is_stopping => log::info!("got SIGUSR2 while shutting down, ignoring"),
            SIGUSR2 => self.hear_resume(),
            _ => {}
        }
    }

    fn hear_pause(&mut self) {
        if self.rest == Rest::Working {
            log::info!("got SIGUSR1, pausing all activity");
            self.announce(Act::Pause(None));
        } else {
            log::info!("got SIGUSR1, but already paused/suspended");
        }
    }

    fn hear_resume(&mut self) {
        match self.rest {
            Rest::Working => return log::info!("got SIGUSR2, but not paused/suspended"),
            Rest::Paused => log::info!("got SIGUSR2, continuing from PAUSE"),
            Rest::Suspended => log::info!("got SIGUSR2, continuing from SUSPEND"),
        }
        self.announce(Act::Resume(None));
    }

    /// Every worker hears an act; mailboxes keep the order of acts and setups.
    fn announce(&mut self, act: Act) {
        self.rest = self.rest.after(&act);
        self.post.send_all(&Mail::Act(act));
    }

    fn carry_out(&mut self, by: WorkerId, ticket: Ticket, order: Order) {
        // What is ordered is in the asker's mailbox before the answer.
        let answer = match order {
            Order::Act(act) => {
                self.announce(act);
                Answer::Announced
            }
            Order::ConsoleEmpty => {
                if self.rest == Rest::Suspended {
                    log::info!("admin disappeared when suspended, doing RESUME");
                    self.announce(Act::Resume(None));
                }
                return;
            }
            Order::Reload => Answer::Reloaded(self.reload()),
            Order::Set { key, value } => Answer::Set(self.set(&key, &value)),
            Order::Shutdown(how) => return self.shut_down(how),
        };
        self.post.send(by, Letter::Answer(ticket, answer));
    }

    fn reload(&mut self) -> Result<(), String> {
        if self.stage != Stage::Serving {
            return self.put_in_force();
        }
        notify::tell(State::Reloading);
        let result = self.put_in_force();
        notify::tell(State::Ready);
        result
    }

    /// Puts the configuration in force as it is on disk, or leaves everything as it was.
    fn put_in_force(&mut self) -> Result<(), String> {
        let setup = self.read_again().inspect_err(|complaints| {
            for complaint in complaints.lines() {
                log::warn!("{complaint}");
            }
        })?;
        self.put(setup);
        Ok(())
    }

    /// Gives one setting another value, until the next reload.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let setup = reload::with(&self.setup, key, value)?;
        if key == "logfile" {
            self.open_log(&setup)?;
        }
        self.put(setup);
        Ok(())
    }

    fn put(&mut self, setup: Setup) {
        let settings = &setup.config.pgbouncer;
        sink::set_verbosity(verbosity(&self.serve, settings));
        limits::check(&self.setup.config.pgbouncer, settings);
        listen::retune(&self.listeners, &self.setup.config.pgbouncer, settings);
        self.setup = Arc::new(setup);
        self.post.send_all(&Mail::Setup(Arc::clone(&self.setup)));
    }

    /// The log file is opened last, because nothing may fail after something was changed.
    fn read_again(&self) -> Result<Setup, String> {
        let conffile = self.setup.config.pgbouncer.conffile.as_deref();
        let path = conffile.unwrap_or(&self.serve.config);
        let setup = reload::read_again(path, &self.setup)?;
        self.open_log(&setup).map_err(|why| format!("{path}: {why}"))?;
        Ok(setup)
    }

    fn open_log(&self, setup: &Setup) -> Result<(), String> {
        let logfile = setup.config.pgbouncer.logfile.as_deref();
        self.log.open(logfile).map_err(|why| format!("logfile: {why}"))
    }

    fn shut_down(&mut self, how: Shutdown) {
        if how == Shutdown::Immediate {
            return self.end("SHUTDOWN command issued, fast exit");
        }
        if self.rest == Rest::Suspended {
            return self.end(SUSPENDED);
        }
        if how == Shutdown::WaitForServers {
            self.rest = Rest::Paused;
        }
        self.enter(Stage::Stopping(how));
        self.close_listeners();
        self.post.send_all(&Mail::Shutdown(how));
    }

    /// TCP only: over the Unix socket an operator can still reach the console.
    fn close_listeners(&mut self) {
        self.listeners.clear();
        self.post.close_listeners();
    }

    fn count_out(&mut self) {
        self.working = self.working.saturating_sub(1);
        if self.working == 0 {
            self.end(match self.stage {
                Stage::Stopping(Shutdown::WaitForServers) => "server connections dropped, exiting",
                _ => "client connections dropped, exiting",
            });
        }
    }

    fn end(&mut self, why: &str) {
        log::info!("{why}");
        self.enter(Stage::Ended);
    }

    fn enter(&mut self, stage: Stage) {
        if self.stage == Stage::Serving {
            notify::tell(State::Stopping);
        }
        self.stage = stage;
    }
}

/// PgBouncer: who suspends is about to take over, and nobody is served any more.
const SUSPENDED: &str = "suspend was in progress, going down immediately";
