//! The console's side of the switchboard.
//!
//!     login ──► rights ──► welcome, or `not allowed`
//!     SHOW  ──► Gather ──► every worker's Report ──► the table
//!     PAUSE ──► Pause, Gather ──► every Report: all have heard it ──► no server is left ──► PAUSE
//!     RELOAD, SHUTDOWN ──► an order to the program
//!
//! A session carries out one command at a time; what its client says meanwhile is kept, and no
//! more than that is read. Reading goes on while a command waits, so that the end of the client is
//! noticed.

mod acts;
mod batch;
mod census;
mod memory;
mod statistics;

use std::sync::Arc;

pub(super) use statistics::Desk;

use super::{Engine, Pending, Work};
use crate::admin::answer::Answer;
use crate::admin::grammar::Show;
use crate::admin::report::{Census, Part, Socket, Table};
use crate::admin::show::{Facts, Source};
use crate::admin::{self, Console, KEPT_MAX, Phase, QUERY_MAX, Rights, Statement, answer};
use crate::client::inspect::{Said, inspect};
use crate::client::startup::{self, Request};
use crate::client::{Client, Login, Stage};
use crate::command::Ticket;
use crate::ids::Id;
use crate::mail::{Mail, PoolKey};
use crate::reason::Reason;
use crate::stream::Verdict;
use crate::time::Time;
use wire::{Header, sqlstate, tag::frontend};

/// What a console command waits for.
pub(super) enum Waiting {
    /// The parts of a table, for a client or for the log.
    Gathering { by: Asker, parts: Box<Parts>, missing: u8 },
    /// The end of the servers.
    Pausing { client: Id<Client>, pause: Pause },
    /// The program's answer.
    Reloading { client: Id<Client> },
}

/// Who wants a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Client(Id<Client>, Show),
    Log,
}

/// What has come of a table.
#[derive(Default)]
pub(super) struct Parts {
    census: Census,
    sockets: Vec<Socket>,
}

/// A PAUSE that is not over.
pub(super) struct Pause {
    database: Option<Arc<str>>,
    /// The pools of that database, as far as they are known.
    pools: Vec<PoolKey>,
    /// The workers that have not heard of it.
    missing: u8,
}

impl Engine {
    /// Somebody wants onto the console.
    pub(super) fn console_login(&mut self, id: Id<Client>, request: Request, now: Time) {
        let client = &mut self.clients[id];
        client.params = Arc::new(request.params.clone());
        let Some(rights) = Rights::without_proof(&request.user, client.peer, &self.setup) else {
            return self.authenticate(id, request, now);
        };
        client.login = Some(Arc::new(Login { database: request.database, user: request.user }));
        self.log_login(id);
        self.tell_client(id, |out| out.extend_from_slice(&request.negotiation));
        self.console_opens(id, rights);
    }

    /// A client of the console has proven who it is.
    pub(super) fn console_enter(&mut self, id: Id<Client>, now: Time) {
        let settings = &self.setup.config.pgbouncer;
        let login = self.clients[id].login.as_ref();
        match login.and_then(|login| Rights::of(&login.user, settings)) {
            Some(rights) => self.console_opens(id, rights),
            None => self.close_client(id, &Reason::NotAllowed, now),
        }
    }

    fn console_opens(&mut self, id: Id<Client>, rights: Rights) {
        let key = self.cancel_key();
        let client = &mut self.clients[id];
        client.key = key;
        client.stage = Stage::Console(Box::new(Console::new(rights)));
        self.keys.insert(key, id);
        self.desk.counters.logins += 1;
        let welcome = admin::welcome(&self.setup.version, key);
        self.console_sends(id, &welcome);
    }

    pub(super) fn console_says(&mut self, id: Id<Client>, rest: &[u8], now: Time) -> Verdict {
        let client = &self.clients[id];
        let Stage::Console(console) = &client.stage else { return Verdict::Gone };
        let phase = console.phase;
        if !console.listens(client.outbox.is_empty()) {
            return later(rest);
        }
        let head = match wire::header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return Verdict::Need(wire::HEADER as u32),
            Err(_) => return self.end_client(id, &startup::bad_header(rest), now),
        };
        match inspect(head, self.setup.config.pgbouncer.max_packet_size) {
            Said::Terminate => self.end_client(id, &Reason::ClientClose, now),
            Said::Unknown => self.end_client(id, &Reason::UnknownMessage, now),
            Said::TooLong => self.end_client(id, &startup::bad_header(rest), now),
            Said::Request | Said::Sequel => self.console_hears(id, phase, head, rest, now),
        }
    }

    fn console_hears(
        &mut self,
        id: Id<Client>,
        phase: Phase,
        head: Header,
        rest: &[u8],
        now: Time,
    ) -> Verdict {
        match (head.tag, phase) {
            (frontend::SYNC, _) => self.console_syncs(id),
            (_, Phase::Skipping) => {}
            (frontend::QUERY, _) if head.total as usize > QUERY_MAX => {
                self.console_tells(id, &answer::refusal(TOO_LONG));
            }
            (frontend::QUERY, _) => {
                let Some(message) = rest.get(..head.total as usize) else {
                    return Verdict::Need(head.total);
                };
                match wire::frontend::query(wire::frame::body(message)) {
                    Ok(query) => self.console_asks(id, query, now),
                    Err(_) => {
                        let reason = Reason::BadStartup("invalid message format".into());
                        return self.end_client(id, &reason, now);
                    }
                }
            }
            (frontend::FUNCTION_CALL, _) => {
                let text = format!("unsupported packet type for admin console: {}", head.tag);
                self.console_tells(id, &answer::refusal(&text));
            }
            // PostgreSQL ignores what belongs to a COPY that is over; a Flush has nothing to flush,
            // because whatever is answered is sent at once.
            (frontend::FLUSH | frontend::COPY_DATA | frontend::COPY_DONE, _)
            | (frontend::COPY_FAIL, _) => {}
            (_, _) if head.total as usize > QUERY_MAX => {
                self.console_refuses(id, answer::refusal(TOO_LONG));
            }
            _ => {
                let Some(message) = rest.get(..head.total as usize) else {
                    return Verdict::Need(head.total);
                };
                self.console_batches(id, head.tag, wire::frame::body(message), now);
            }
        }
        if let Stage::Console(_) = self.clients[id].stage {
            self.desk.counters.received += u64::from(head.total);
            return Verdict::Drop(head.total);
        }
        Verdict::Gone
    }

    fn console_asks(&mut self, id: Id<Client>, query: &[u8], now: Time) {
        let Stage::Console(console) = &mut self.clients[id].stage else { return };
        match console.query(query) {
            Ok(statement) => self.console_runs(id, &statement, now),
            Err(refusal) => {
                self.console_counts(id, now);
                self.console_tells(id, &refusal);
            }
        }
    }

    /// Runs a statement, whichever protocol has asked for it.
    fn console_runs(&mut self, id: Id<Client>, statement: &Statement, now: Time) {
        self.console_counts(id, now);
        let Stage::Console(console) = &mut self.clients[id].stage else { return };
        match statement {
            Statement::Nothing => self.console_tells(id, &answer::nothing()),
            Statement::Courtesies(list) => {
                let mut answer = Answer::default();
                for courtesy in list {
                    console.oblige(courtesy);
                    answer.parts.extend(courtesy.answer(&self.setup.version).parts);
                }
                self.console_tells(id, &answer);
            }
            Statement::Command(command) if console.rights.permit(command) => {
                self.console_acts(id, command.clone(), now);
            }
            Statement::Command(_) => {
                self.console_tells(id, &answer::refusal("admin access needed"));
            }
        }
    }

    fn console_counts(&mut self, id: Id<Client>, now: Time) {
        self.desk.counters.queries += 1;
        self.desk.counters.transactions += 1;
        self.clients[id].times.requested = now;
    }

    /// SHOW: from what is known here, or from what all workers say.
    fn console_shows(&mut self, id: Id<Client>, show: Show, now: Time) {
        match show.source() {
            Source::Here => {
                let table = self.facts(now).show(show);
                self.console_tells(id, &table);
            }
            Source::Gathered(table) => {
                let ticket = self.gather_table(Asker::Client(id, show), table, now);
                self.console_phase(id, Phase::Waiting { ticket, since: now });
                self.console_gathered(ticket, now);
            }
        }
    }

    /// Asks all workers for their parts of a table; the own part is there at once.
    fn gather_table(&mut self, by: Asker, table: Table, now: Time) -> Ticket {
        let mut parts = Box::<Parts>::default();
        parts.add(self.report(table, now));
        let waiting = Waiting::Gathering { by, parts, missing: self.workers - 1 };
        let ticket = self.ticket(Pending::Console(waiting));
        self.post_to_others(&Mail::Gather { by: self.me, ticket, table });
        ticket
    }

    /// Another worker's part has come.
    pub(super) fn console_reported(&mut self, ticket: Ticket, part: Part, now: Time) {
        match self.pending.get_mut(&ticket) {
            Some(Pending::Console(Waiting::Gathering { parts, missing, .. })) => {
                parts.add(part);
                *missing = missing.saturating_sub(1);
                self.console_gathered(ticket, now);
            }
            Some(Pending::Console(Waiting::Pausing { pause, .. })) => {
                pause.reported(part);
                self.console_pauses(now);
            }
            _ => {}
        }
    }

    /// Answers when all parts of a table are there.
    fn console_gathered(&mut self, ticket: Ticket, now: Time) {
        let waiting = self.pending.remove(&ticket);
        match waiting {
            Some(Pending::Console(Waiting::Gathering { by, parts, missing: 0 })) => match by {
                Asker::Log => self.log_statistics(&parts.census, now),
                Asker::Client(client, show) => {
                    let facts = self.facts(now);
                    let table = match show {
                        Show::ActiveSockets | Show::Clients | Show::Servers | Show::Sockets => {
                            facts.show_sockets(show, &parts.sockets)
                        }
                        _ => facts.show_census(show, parts.census),
                    };
                    self.console_answers(client, ticket, &table, now);
                }
            },
            Some(pending) => drop(self.pending.insert(ticket, pending)),
            None => {}
        }
    }

    /// The program has answered a RELOAD.
    pub(super) fn console_reloaded(
        &mut self,
        ticket: Ticket,
        waiting: &Waiting,
        result: Result<(), String>,
        now: Time,
    ) {
        let Waiting::Reloading { client } = waiting else { return };
        let answer = match result {
            Ok(()) => answer::done("RELOAD"),
            Err(why) => {
                let text = "RELOAD failed, see logs for additional details";
                answer::error(sqlstate::CONFIG_FILE_ERROR, text, Some(&why))
            }
        };
        self.console_answers(*client, ticket, &answer, now);
    }

    /// What time does for the console.
    pub(super) fn console_tick(&mut self, now: Time) {
        self.console_pauses(now);
        self.statistics_tick(now);
    }

    /// A command that had to wait is answered, if its client is still there for it.
    fn console_answers(&mut self, id: Id<Client>, ticket: Ticket, answer: &Answer, now: Time) {
        let Some(since) = self.waits_since(id, ticket) else { return };
        self.desk.counters.query_time += now.since(since);
        self.desk.counters.transaction_time += now.since(since);
        self.console_phase(id, Phase::Ready);
        self.console_tells(id, answer);
        self.work.push_back(Work::Resume(id));
    }

    /// Since when a session waits for the answer with this ticket, if it does.
    fn waits_since(&self, id: Id<Client>, ticket: Ticket) -> Option<Time> {
        match &self.clients.find(id)?.stage {
            Stage::Console(console) => match console.phase {
                Phase::Waiting { ticket: mine, since } if mine == ticket => Some(since),
                _ => None,
            },
            _ => None,
        }
    }

    /// Answers what was asked for last.
    fn console_tells(&mut self, id: Id<Client>, answer: &Answer) {
        if let Some(Client { stage: Stage::Console(console), .. }) = self.clients.find_mut(id) {
            let bytes = console.reply(answer);
            self.console_sends(id, &bytes);
        }
    }

    fn console_sends(&mut self, id: Id<Client>, bytes: &[u8]) {
        self.desk.counters.sent += bytes.len() as u64;
        self.tell_client(id, |out| out.extend_from_slice(bytes));
    }

    fn console_phase(&mut self, id: Id<Client>, phase: Phase) {
        if let Some(Client { stage: Stage::Console(console), .. }) = self.clients.find_mut(id) {
            console.phase = phase;
        }
    }

    fn facts(&self, now: Time) -> Facts<'_> {
        Facts {
            setup: &self.setup,
            ledger: &self.ledger,
            paused_all: self.mode.paused_all,
            paused: &self.mode.paused,
            wall: self.wall,
            now,
        }
    }
}

impl Parts {
    fn add(&mut self, part: Part) {
        match part {
            Part::Pools(census) => self.census.add(census),
            Part::Sockets(sockets) => self.sockets.extend(sockets),
        }
    }
}

impl Pause {
    /// A worker has heard of the pause; its pools may have servers.
    fn reported(&mut self, part: Part) {
        self.missing = self.missing.saturating_sub(1);
        if let Part::Pools(census) = part {
            let of_database = |key: &PoolKey| self.database.as_ref() == Some(&key.database);
            self.pools.extend(census.pools.into_keys().filter(of_database));
        }
    }
}

/// What a client says before it has its answer is kept; reading goes on as long as that is little.
fn later(rest: &[u8]) -> Verdict {
    if rest.len() < KEPT_MAX { Verdict::Need(rest.len() as u32 + 1) } else { Verdict::Hold }
}

const TOO_LONG: &str = "query is too long";
