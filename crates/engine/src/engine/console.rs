//! The console's side of the switchboard.
//!
//!     login ──► rights ──► welcome, or `not allowed`
//!     SHOW  ──► Gather ──► every worker's Report ──► the table            (waits)
//!     PAUSE ──► an act for all workers ──► no server is left ──► PAUSE    (acts, waits)
//!     RELOAD, SET, SHUTDOWN ──► an order to the program                   (acts)
//!
//! A session carries out one command at a time; what its client says meanwhile is kept, and no
//! more than that is read. Reading goes on while a command waits, so that the end of the client is
//! noticed.

mod acts;
mod batch;
mod census;
mod memory;
mod statistics;
mod waits;

use std::sync::Arc;

pub(super) use statistics::Desk;
pub(super) use waits::Waiting;

use super::Engine;
use crate::admin::answer::Answer;
use crate::admin::show::Facts;
use crate::admin::{self, Console, KEPT_MAX, Phase, QUERY_MAX, Rights, Statement, answer};
use crate::client::inspect::{Said, inspect};
use crate::client::startup::{self, Request};
use crate::client::{Client, Login, Stage};
use crate::command::{Command, Order, Ticket};
use crate::ids::Id;
use crate::reason::Reason;
use crate::stream::Verdict;
use crate::time::Time;
use wire::{Header, tag::frontend};

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
        self.ledger.console_opened();
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

    /// What time does for the console.
    pub(super) fn console_tick(&mut self, now: Time) {
        self.console_watches(now);
        self.statistics_tick(now);
    }

    /// A session has ended: with the last one, a SUSPEND does (PgBouncer).
    pub(super) fn console_left(&mut self) {
        if self.ledger.console_closed() {
            let order = Order::ConsoleEmpty;
            self.commands.push_back(Command::Order { ticket: NO_ANSWER, order });
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
            rest: self.mode.rest,
            paused: &self.mode.paused,
            disabled: &self.mode.disabled,
            wall: self.wall,
            now,
        }
    }
}

/// What a client says before it has its answer is kept; reading goes on as long as that is little.
fn later(rest: &[u8]) -> Verdict {
    if rest.len() < KEPT_MAX { Verdict::Need(rest.len() as u32 + 1) } else { Verdict::Hold }
}

/// The ticket of an order that is not answered, or to nobody; those of questions begin with 1.
const NO_ANSWER: Ticket = Ticket(0);

/// PgBouncer's words for what cannot be done while the pooler rests.
const AT_REST: &str = "already suspended/paused";

const TOO_LONG: &str = "query is too long";
