//! A session after login: what PostgreSQL does with each message, and when it says ReadyForQuery.
//!
//! ```text
//! Query ──► statements, one after the other ──► ReadyForQuery
//! Parse, Bind, Describe, Execute, Close ──► an error? everything up to Sync is skipped
//! COPY FROM STDIN ──► data until CopyDone, CopyFail or an error; Sync and Flush are ignored
//! ```
//!
//! After PostgreSQL's postgres.c (PostgresMain, exec_simple_query), copyfromparse.c (CopyGetData)
//! and guc.c (transactional SET, ReportChangedGUCOptions).

use std::collections::{BTreeMap, VecDeque};

use wire::tag::frontend as tag;
use wire::{Report, TransactionStatus, frontend, write};

use super::Outcome;
use super::settings::Settings;
use crate::params::Params;
use crate::statement::{Scanner, Statement, Token, Verb, split};

/// Something that an observer would like to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The login has succeeded.
    LoggedIn,
    /// The login was refused.
    Refused,
    /// A client's statement begins to run; where the client said what its parameters are: that, and
    /// what they really are.
    Ran(Token, Option<(u64, u64)>),
    /// The pooler itself has asked something.
    Asked(Own),
    /// No transaction and no batch is open.
    Settled,
    /// A message was thrown away because an error came before it.
    Skipped,
    /// Something else worth a count.
    Copied { into: bool, failed: bool },
    /// A portal has more rows to give.
    Suspended,
    /// A function was called.
    Called(Token),
    /// A message that no sound client sends at this point.
    Nonsense(String),
}

/// What the pooler asks on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Set,
    Probe,
    Check,
    Reset,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) output: Vec<u8>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) status: TransactionStatus,
    skipping: bool,
    todo: VecDeque<Todo>,
    running: Option<(Statement, How)>,
    copy: Option<CopyIn>,
    statements: BTreeMap<Vec<u8>, String>,
    portals: BTreeMap<Vec<u8>, Portal>,
    settings: Settings,
}

#[derive(Debug)]
enum Todo {
    Run(String),
    Ready,
}

/// On whose behalf a statement runs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    Simple,
    Portal { name: Vec<u8>, rows_max: u32 },
}

#[derive(Debug)]
struct CopyIn {
    token: Option<Token>,
    how: How,
    fails_at: Option<u32>,
    pieces: u32,
}

#[derive(Debug)]
struct Portal {
    text: String,
    position: u32,
}

impl Session {
    pub(crate) fn new(start: Params, at_once: bool) -> Self {
        Self {
            output: Vec::new(),
            facts: Vec::new(),
            status: TransactionStatus::Idle,
            skipping: false,
            todo: VecDeque::new(),
            running: None,
            copy: None,
            statements: BTreeMap::new(),
            portals: BTreeMap::new(),
            settings: Settings::new(start, at_once),
        }
    }

    /// Takes a parameter of the startup packet.
    pub(crate) fn start_with(&mut self, name: &str, value: &str) {
        self.settings.start_with(name, value);
    }

    /// Whether there is nothing to do and nothing open.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.running.is_none() && self.todo.is_empty() && self.copy.is_none() && !self.skipping
    }

    /// The slow statement has taken its time.
    pub(crate) fn wake(&mut self) {
        if let Some((statement, how)) = self.running.take() {
            self.finish(&statement, how);
        }
    }

    /// A cancel request has come; tells whose statement it has ended, if any.
    pub(crate) fn cancel(&mut self) -> Option<Option<Token>> {
        let (token, how) = match (self.running.take(), self.copy.take()) {
            (Some((statement, how)), _) => (statement.token, how),
            (None, Some(copy)) => (copy.token, copy.how),
            (None, None) => return None,
        };
        self.fail(token, &how, "57014", "canceling statement due to user request");
        Some(token)
    }

    /// Does what can be done.
    pub(crate) fn work(&mut self, input: &mut Vec<u8>) -> Outcome {
        loop {
            if let Some((statement, _)) = &self.running {
                return Outcome::Sleeps(statement.sleep);
            }
            if self.copy.is_none()
                && let Some(todo) = self.todo.pop_front()
            {
                match todo {
                    Todo::Run(text) => self.run(&text, How::Simple),
                    Todo::Ready => self.ready(),
                }
                continue;
            }
            let head = match wire::header(input) {
                Ok(Some(head)) if input.len() >= head.total as usize => head,
                Ok(_) => return Outcome::Waits,
                Err(_) => {
                    self.facts.push(Fact::Nonsense(format!("header {:?}", input.get(..5))));
                    return Outcome::Ends;
                }
            };
            let message: Vec<u8> = input.drain(..head.total as usize).collect();
            if head.tag == tag::TERMINATE {
                return Outcome::Ends;
            }
            self.hear(head.tag, wire::frame::body(&message));
        }
    }

    fn hear(&mut self, tag: u8, body: &[u8]) {
        if self.copy.is_some() {
            return self.hear_copy(tag, body);
        }
        match tag {
            tag::SYNC => {
                self.skipping = false;
                self.ready();
            }
            // PostgreSQL: accepted but ignored; a client may still send them after a failed copy.
            tag::COPY_DATA | tag::COPY_DONE | tag::COPY_FAIL => {}
            tag::FLUSH => {}
            _ if self.skipping => self.facts.push(Fact::Skipped),
            tag::QUERY => self.query(body),
            tag::FUNCTION_CALL => self.call(body),
            tag::PARSE | tag::BIND | tag::DESCRIBE | tag::EXECUTE | tag::CLOSE => {
                self.extended(tag, body);
            }
            tag => self.facts.push(Fact::Nonsense(format!("message {:?}", char::from(tag)))),
        }
    }

    fn query(&mut self, body: &[u8]) {
        let text = frontend::query(body).map(String::from_utf8_lossy).unwrap_or_default();
        // PostgreSQL: drop_unnamed_stmt() in exec_simple_query.
        self.statements.remove(&b""[..]);
        let statements = split(&text);
        if statements.is_empty() {
            self.todo.push_back(Todo::Run(String::new()));
        }
        self.todo.extend(statements.iter().map(|text| Todo::Run((*text).to_owned())));
        self.todo.push_back(Todo::Ready);
    }

    fn call(&mut self, body: &[u8]) {
        let mut tokens = Vec::new();
        Scanner::default().scan(body, &mut tokens);
        let token = tokens.first().copied();
        self.facts.extend(token.map(|token| Fact::Ran(token, None)));
        self.facts.extend(token.map(Fact::Called));
        self.todo.push_back(Todo::Ready);
        if self.status == TransactionStatus::Failed {
            return self.fail(token, &How::Simple, "25P02", "transaction is aborted");
        }
        let text = token.map(|token| token.to_string()).unwrap_or_default();
        write::function_call_response(&mut self.output, Some(text.as_bytes()));
    }

    fn extended(&mut self, tag: u8, body: &[u8]) {
        let done = match tag {
            tag::PARSE => self.parse(body),
            tag::BIND => self.bind(body),
            tag::DESCRIBE => self.describe(body),
            tag::EXECUTE => return self.execute(body),
            _ => self.close(body),
        };
        if let Err((token, code)) = done {
            let how = How::Portal { name: Vec::new(), rows_max: 0 };
            self.fail(token, &how, code, "simulated");
        }
    }

    fn parse(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let parse = frontend::parse(body).map_err(|_| (None, "08P01"))?;
        let text = String::from_utf8_lossy(parse.query).into_owned();
        let statement = Statement::parse(&text);
        let ends = matches!(statement.verb, Verb::Commit | Verb::Rollback);
        self.facts.extend(statement.token.map(|token| Fact::Ran(token, None)));
        if self.status == TransactionStatus::Failed && !ends {
            return Err((statement.token, "25P02"));
        }
        if !parse.name.is_empty() && self.statements.contains_key(parse.name) {
            return Err((statement.token, "42P05"));
        }
        self.statements.insert(parse.name.to_vec(), text);
        write::parse_complete(&mut self.output);
        Ok(())
    }

    fn bind(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let bind = frontend::bind(body).map_err(|_| (None, "08P01"))?;
        let text = self.statements.get(bind.statement).ok_or((None, "26000"))?.clone();
        self.portals.insert(bind.portal.to_vec(), Portal { text, position: 0 });
        write::bind_complete(&mut self.output);
        Ok(())
    }

    fn describe(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let describe = frontend::describe(body).map_err(|_| (None, "08P01"))?;
        let text = if describe.kind == b'S' {
            let text = self.statements.get(describe.name).ok_or((None, "26000"))?;
            write::parameter_description(&mut self.output, &[]);
            text
        } else {
            &self.portals.get(describe.name).ok_or((None, "34000"))?.text
        };
        match Statement::parse(text).verb {
            Verb::Select { .. } => row_description(&mut self.output),
            _ => write::no_data(&mut self.output),
        }
        Ok(())
    }

    fn execute(&mut self, body: &[u8]) {
        let Ok(execute) = frontend::execute(body) else {
            return self.facts.push(Fact::Nonsense("Execute".into()));
        };
        let rows_max = u32::try_from(execute.max_rows).unwrap_or(0);
        let how = How::Portal { name: execute.portal.to_vec(), rows_max };
        match self.portals.get(execute.portal).map(|portal| portal.text.clone()) {
            Some(text) => self.run(&text, how),
            None => self.fail(None, &how, "34000", "portal does not exist"),
        }
    }

    fn close(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let close = frontend::close(body).map_err(|_| (None, "08P01"))?;
        match close.kind {
            b'S' => drop(self.statements.remove(close.name)),
            _ => drop(self.portals.remove(close.name)),
        }
        write::close_complete(&mut self.output);
        Ok(())
    }

    fn run(&mut self, text: &str, how: How) {
        let statement = Statement::parse(text);
        let real = self.settings.fingerprint();
        match (statement.token, &statement.verb) {
            (Some(token), _) => {
                let claim = statement.fingerprint.map(|claim| (claim, real));
                self.facts.push(Fact::Ran(token, claim));
            }
            (None, Verb::Set { .. }) => self.facts.push(Fact::Asked(Own::Set)),
            (None, Verb::DiscardAll) => self.facts.push(Fact::Asked(Own::Reset)),
            (None, Verb::Empty) => self.facts.push(Fact::Asked(Own::Probe)),
            (None, _) => self.facts.push(Fact::Asked(Own::Check)),
        }
        if statement.sleep > 0 && self.status != TransactionStatus::Failed {
            self.running = Some((statement, how));
        } else {
            self.finish(&statement, how);
        }
    }

    fn finish(&mut self, statement: &Statement, how: How) {
        let token = statement.token;
        let ends = matches!(statement.verb, Verb::Commit | Verb::Rollback);
        if self.status == TransactionStatus::Failed && !ends {
            return self.fail(token, &how, "25P02", "current transaction is aborted");
        }
        match &statement.verb {
            Verb::Empty => write::empty_query_response(&mut self.output),
            Verb::Select { rows, size } => self.select(token, (*rows, *size), &how),
            Verb::Fail => return self.fail(token, &how, "22012", "division by zero"),
            Verb::Begin => {
                self.status = TransactionStatus::Block;
                self.complete("BEGIN");
            }
            Verb::Commit if self.status != TransactionStatus::Failed => {
                self.end_transaction(true);
                self.complete("COMMIT");
            }
            Verb::Commit | Verb::Rollback => {
                self.end_transaction(false);
                self.complete("ROLLBACK");
            }
            Verb::Set { name, value, local } => {
                if let Err((code, text)) = self.settings.set(name, value, *local) {
                    return self.fail(token, &how, code, text);
                }
                self.complete("SET");
            }
            Verb::DiscardAll => {
                if self.status != TransactionStatus::Idle {
                    return self.fail(token, &how, "25001", "DISCARD ALL in a transaction block");
                }
                self.settings.discard();
                self.statements.clear();
                self.portals.clear();
                self.complete("DISCARD ALL");
            }
            Verb::CopyIn { fails_at } => self.copy_in(token, how, *fails_at),
            Verb::CopyOut { rows, size } => self.copy_out(token, *rows, *size),
        }
        self.settings.report_at_once(&mut self.output);
    }

    fn select(&mut self, token: Option<Token>, (rows, size): (u32, u32), how: &How) {
        let (first, last) = match how {
            How::Simple => {
                row_description(&mut self.output);
                (0, rows)
            }
            How::Portal { name, rows_max } => {
                let Some(portal) = self.portals.get_mut(name) else { return };
                let first = portal.position;
                // A portal that gives exactly as many rows as were asked for is suspended, too.
                let last = if *rows_max == 0 { rows } else { rows.min(first + rows_max) };
                portal.position = last;
                if *rows_max > 0 && last - first == *rows_max {
                    self.rows(token, first..last, size);
                    self.facts.push(Fact::Suspended);
                    return write::portal_suspended(&mut self.output);
                }
                (first, last)
            }
        };
        self.rows(token, first..last, size);
        self.complete(&format!("SELECT {}", last - first));
    }

    fn rows(&mut self, token: Option<Token>, range: std::ops::Range<u32>, size: u32) {
        for row in range {
            write::data_row(&mut self.output, &[Some(row_text(token, row, size).as_bytes())]);
        }
    }

    fn copy_in(&mut self, token: Option<Token>, how: How, fails_at: Option<u32>) {
        write::copy_in_response(&mut self.output, 1);
        let fails_now = fails_at == Some(0);
        self.copy = Some(CopyIn { token, how, fails_at, pieces: 0 });
        if fails_now {
            self.copy_fails("22P02", "invalid input syntax");
        }
    }

    fn hear_copy(&mut self, tag: u8, _body: &[u8]) {
        let Some(copy) = &mut self.copy else { return };
        match tag {
            tag::COPY_DATA => {
                copy.pieces += 1;
                if copy.fails_at == Some(copy.pieces) {
                    self.copy_fails("22P02", "invalid input syntax");
                }
            }
            tag::COPY_DONE => {
                let command = format!("COPY {}", copy.pieces);
                self.copy = None;
                self.facts.push(Fact::Copied { into: true, failed: false });
                self.complete(&command);
            }
            tag::COPY_FAIL => self.copy_fails("57014", "COPY from stdin failed"),
            tag::SYNC | tag::FLUSH => {}
            tag => {
                self.facts.push(Fact::Nonsense(format!("{:?} during copy", char::from(tag))));
                self.copy_fails("08P01", "unexpected message type during COPY from stdin");
            }
        }
    }

    fn copy_fails(&mut self, code: &str, text: &str) {
        if let Some(copy) = self.copy.take() {
            self.facts.push(Fact::Copied { into: true, failed: true });
            self.fail(copy.token, &copy.how, code, text);
        }
    }

    fn copy_out(&mut self, token: Option<Token>, rows: u32, size: u32) {
        write::copy_out_response(&mut self.output, 1);
        for row in 0..rows {
            write::copy_data(&mut self.output, row_text(token, row, size).as_bytes());
        }
        write::copy_done(&mut self.output);
        self.facts.push(Fact::Copied { into: false, failed: false });
        self.complete(&format!("COPY {rows}"));
    }

    fn complete(&mut self, command: &str) {
        write::command_complete(&mut self.output, command);
    }

    /// An error: the transaction is lost, and so is the rest of the batch or query.
    fn fail(&mut self, token: Option<Token>, how: &How, code: &str, text: &str) {
        let token = token.map(|token| token.to_string()).unwrap_or_default();
        let message = format!("{token} {text}");
        let report =
            Report { severity: "ERROR", code, message: &message, detail: None, hint: None };
        write::error_report(&mut self.output, &report);
        if self.status == TransactionStatus::Idle {
            self.end_transaction(false);
        } else {
            self.status = TransactionStatus::Failed;
        }
        self.todo.clear();
        match how {
            How::Simple => self.todo.push_back(Todo::Ready),
            How::Portal { .. } => self.skipping = true,
        }
    }

    fn end_transaction(&mut self, kept: bool) {
        self.status = TransactionStatus::Idle;
        self.portals.clear();
        self.settings.end(kept);
    }

    fn ready(&mut self) {
        if self.status == TransactionStatus::Idle {
            self.end_transaction(true);
            self.facts.push(Fact::Settled);
        }
        self.settings.report(&mut self.output);
        write::ready_for_query(&mut self.output, self.status);
    }

    /// Reports the parameters that have changed.
    pub(crate) fn report(&mut self, out: &mut Vec<u8>) {
        self.settings.report(out);
    }
}

/// What an error of the extended protocol is about, and its SQLSTATE.
type Refusal = (Option<Token>, &'static str);

/// The text of a row, which names the request it answers.
pub(crate) fn row_text(token: Option<Token>, row: u32, size: u32) -> String {
    let token = token.map(|token| token.to_string()).unwrap_or_default();
    format!("{token} {row} {}", "x".repeat(size as usize))
}

fn row_description(out: &mut Vec<u8>) {
    write::row_description(out, &[("simulated", 25, -1)]);
}
