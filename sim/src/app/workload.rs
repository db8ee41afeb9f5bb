//! What clients do: each workload is a list of steps, with what is to be answered.
//!
//! ```text
//! a query, several at once · BEGIN … COMMIT · a batch, batches in a pipeline · a portal paged with
//! Flush · COPY both ways · a function call · SET · the unnamed statement, later · huge messages
//! ```
//!
//! Knows neither whether a server is there nor what has come of earlier steps.

use config::PoolMode;
use wire::write;

use super::conversation::{Kind, Unit};
use crate::params::{self, Params};
use crate::random::Random;
use crate::statement::{Token, quoted};

/// Something to send, and what is expected for it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) bytes: Vec<u8>,
    pub(crate) expects: Vec<Unit>,
    pub(crate) when: When,
    /// Whether it is a Sync after a copy that has failed.
    pub(crate) after_copy: bool,
    /// The first request of the step.
    pub(crate) token: Token,
    /// Whether the query may run for so long that its client wants it cancelled.
    pub(crate) slow: bool,
}

impl Step {
    /// Something that is said when everything before has been answered.
    fn answered(bytes: Vec<u8>, expects: Vec<Unit>, token: Token) -> Self {
        let when = When::Answered;
        Self { bytes, expects, when, token, after_copy: false, slow: false }
    }
}

/// What a step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Nothing: it is sent behind the step before.
    Now,
    /// The answers to all steps before.
    Answered,
    /// The server is ready for data; without that, only a Sync is sent if `sync`, else nothing.
    Copying { sync: bool },
}

/// Which things a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habits {
    /// The most bytes of a row or message.
    pub(crate) size_max: u32,
    /// The longest that a statement takes, in microseconds.
    pub(crate) sleep_max: u32,
    /// Whether a statement may take much longer, to be cancelled.
    pub(crate) cancels: bool,
    /// The longest that a client does nothing, now and then, in microseconds.
    pub(crate) rest_max: u64,
    /// When a client loses its server: some things cannot be done without.
    pub(crate) mode: PoolMode,
}

/// Makes workloads for one session.
pub(crate) struct Author<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) habits: Habits,
    pub(crate) session: u32,
    pub(crate) number: &'a mut u32,
    /// The client's parameters, as long as it is sure of them.
    pub(crate) params: Option<Params>,
}

/// So long runs a statement that is to be cancelled, in microseconds.
const FOREVER: u32 = 20_000_000;

impl Author<'_> {
    /// One workload.
    pub(crate) fn workload(&mut self) -> Vec<Step> {
        let weights = [12, 4, 12, 14, 8, 7, 8, 5, 4, 6, 6, 3, 4, 4];
        match self.random.weighted(&weights) {
            0 => self.simple(When::Answered),
            1 => self.several(),
            2 if self.habits.mode == PoolMode::Statement => self.forbidden(),
            2 => self.transaction(),
            3 => self.batch(When::Answered),
            4 => self.pipeline(),
            5 => self.portal(),
            6 => self.copy_in_simple(),
            7 => self.copy_in_extended(),
            8 => self.copy_out(),
            9 => self.call(),
            10 => self.set(),
            11 => self.lone_messages(),
            12 => self.mixed(),
            _ => self.late_bind(),
        }
    }

    /// Ends a transaction that is still open.
    pub(crate) fn rollback(&mut self) -> Step {
        let (token, text) = self.text("rollback");
        self.query_step(&text, token, vec![unit(token, Kind::Command, false)], When::Answered)
    }

    /// One query with one statement.
    pub(crate) fn simple(&mut self, when: When) -> Vec<Step> {
        let (token, text, units, slow) = self.statement(false);
        let mut step = self.query_step(&text, token, units, when);
        step.slow = slow;
        vec![step]
    }

    fn several(&mut self) -> Vec<Step> {
        let (mut text, mut units, mut first) = (String::new(), Vec::new(), None);
        self.habits.cancels = false;
        for _ in 0..self.random.range(1, 4) {
            let (token, part, mut more, _) = self.statement(false);
            first = first.or(Some(token));
            text = if text.is_empty() { part } else { format!("{text}; {part}") };
            units.append(&mut more);
        }
        let token = first.unwrap_or_else(|| self.token());
        vec![self.query_step(&text, token, units, When::Answered)]
    }

    fn transaction(&mut self) -> Vec<Step> {
        let (token, text) = self.text("begin");
        let units = vec![unit(token, Kind::Command, false)];
        let mut steps = vec![self.query_step(&text, token, units, When::Answered)];
        let pipelined = self.random.chance(250);
        for _ in 0..self.random.below(4) {
            let when = if pipelined { When::Now } else { When::Answered };
            let more = match self.random.below(5) {
                0 => self.batch(when),
                1 => self.set_step("set", when),
                2 => self.set_step("set local", when),
                3 if !pipelined => self.copy_in_simple(),
                _ => self.simple(when),
            };
            steps.extend(more);
            self.params = None;
        }
        let end = if self.random.chance(700) { "commit" } else { "rollback" };
        let (token, text) = self.text(end);
        let units = vec![unit(token, Kind::Command, false)];
        steps.push(self.query_step(&text, token, units, When::Answered));
        steps
    }

    /// What statement pooling does not allow; mostly a client knows.
    fn forbidden(&mut self) -> Vec<Step> {
        if self.random.chance(850) {
            return self.simple(When::Answered);
        }
        let (token, text) = self.text("begin");
        let units = vec![unit(token, Kind::Command, false)];
        vec![self.query_step(&text, token, units, When::Answered)]
    }

    fn batch(&mut self, when: When) -> Vec<Step> {
        let mut bytes = Vec::new();
        let mut units = Vec::new();
        let mut first = None;
        let mut slow = false;
        for _ in 0..self.random.range(1, 3) {
            let (token, takes_long) = self.parse_bind_execute(&mut bytes, &mut units);
            first = first.or(Some(token));
            slow |= takes_long;
        }
        let token = first.unwrap_or_else(|| self.token());
        write::sync(&mut bytes);
        units.push(unit(token, Kind::Ready, true));
        vec![Step { bytes, expects: units, when, token, after_copy: false, slow }]
    }

    fn pipeline(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.habits.cancels = false;
        for place in 0..self.random.range(2, 5) {
            let when = if place == 0 { When::Answered } else { When::Now };
            let simple = self.random.chance(250);
            steps.extend(if simple { self.simple(when) } else { self.batch(when) });
        }
        steps
    }

    /// Parse, Bind, Describe, Flush; Execute and Flush page by page; Sync.
    fn portal(&mut self) -> Vec<Step> {
        let token = self.token();
        let rows = self.random.range(1, 12) as u32;
        let size = self.random.below(50) as u32;
        let page = self.random.range(1, 5) as u32;
        let text = format!("{token}{} select rows={rows} size={size}", self.claim());
        let mut bytes = Vec::new();
        write::parse(&mut bytes, b"", text.as_bytes(), &[]);
        write::bind(&mut bytes, b"page", b"", &[], &[], &[]);
        write::describe(&mut bytes, b'P', b"page");
        write::flush(&mut bytes);
        let kinds = [Kind::Parse, Kind::Bind, Kind::DescribePortal];
        let expects = kinds.into_iter().map(|kind| unit(token, kind, true)).collect();
        let mut steps = vec![Step::answered(bytes, expects, token)];
        let mut next = 0;
        loop {
            let last = rows.min(next + page);
            let suspends = last - next == page;
            let mut bytes = Vec::new();
            write::execute(&mut bytes, b"page", page as i32);
            write::flush(&mut bytes);
            let kind = Kind::Rows { described: false, next, last, size, suspends };
            let expects = vec![unit(token, kind, true)];
            steps.push(Step::answered(bytes, expects, token));
            next = last;
            if !suspends || self.random.chance(200) {
                break;
            }
        }
        let mut bytes = Vec::new();
        write::sync(&mut bytes);
        let expects = vec![unit(token, Kind::Ready, true)];
        steps.push(Step::answered(bytes, expects, token));
        steps
    }

    fn copy_in_simple(&mut self) -> Vec<Step> {
        let token = self.token();
        let (pieces, fails) = self.copy_plan();
        let text = format!("{token}{} copyin{fails}", self.claim());
        let kind = Kind::CopyIn { early_sync: false };
        let mut step =
            self.query_step(&text, token, vec![unit(token, kind, false)], When::Answered);
        let data = self.copy_data(pieces);
        if self.random.chance(300) {
            step.bytes.extend_from_slice(&data);
            return vec![step];
        }
        let when = When::Copying { sync: false };
        vec![
            step,
            Step { bytes: data, expects: Vec::new(), when, token, after_copy: false, slow: false },
        ]
    }

    fn copy_in_extended(&mut self) -> Vec<Step> {
        let token = self.token();
        let (pieces, fails) = self.copy_plan();
        let early_sync = self.random.chance(600);
        let text = format!("{token}{} copyin{fails}", self.claim());
        let mut bytes = Vec::new();
        write::parse(&mut bytes, b"", text.as_bytes(), &[]);
        write::bind(&mut bytes, b"", b"", &[], &[], &[]);
        write::execute(&mut bytes, b"", 0);
        let kinds = [Kind::Parse, Kind::Bind, Kind::CopyIn { early_sync }];
        let mut expects: Vec<_> = kinds.into_iter().map(|kind| unit(token, kind, true)).collect();
        if early_sync {
            write::sync(&mut bytes);
            expects.push(unit(token, Kind::Ready, true));
        } else {
            write::flush(&mut bytes);
        }
        let mut data = self.copy_data(pieces);
        write::sync(&mut data);
        let ready = unit(token, Kind::Ready, true);
        if self.random.chance(500) {
            bytes.extend_from_slice(&data);
            expects.push(ready);
            return vec![Step::answered(bytes, expects, token)];
        }
        let when = When::Copying { sync: true };
        vec![
            Step::answered(bytes, expects, token),
            Step { bytes: data, expects: vec![ready], when, token, after_copy: false, slow: false },
        ]
    }

    fn copy_plan(&mut self) -> (u64, String) {
        let pieces = self.random.below(8);
        let fails = self.random.chance(450);
        let at_once = self.random.chance(400);
        let fails_at = if at_once { 0 } else { self.random.range(0, pieces) };
        (pieces, if fails { format!(" fail={fails_at}") } else { String::new() })
    }

    fn copy_data(&mut self, pieces: u64) -> Vec<u8> {
        let mut data = Vec::new();
        for _ in 0..pieces {
            let size = self.size();
            write::copy_data(&mut data, "#".repeat(size as usize).as_bytes());
        }
        if self.random.chance(200) {
            write::copy_fail(&mut data, "changed my mind");
        } else {
            write::copy_done(&mut data);
        }
        data
    }

    fn copy_out(&mut self) -> Vec<Step> {
        let token = self.token();
        let (last, size) = (self.random.below(20) as u32, self.size());
        let text = format!("{token}{} copyout rows={last} size={size}", self.claim());
        let kind = Kind::CopyOut { next: 0, last, size, begun: false };
        vec![self.query_step(&text, token, vec![unit(token, kind, false)], When::Answered)]
    }

    fn call(&mut self) -> Vec<Step> {
        let token = self.token();
        let mut bytes = Vec::new();
        write::function_call(&mut bytes, 1598, &[Some(token.to_string().as_bytes())]);
        let expects = vec![unit(token, Kind::Call, false), unit(token, Kind::Ready, false)];
        vec![Step::answered(bytes, expects, token)]
    }

    fn set(&mut self) -> Vec<Step> {
        self.set_step("set", When::Answered)
    }

    fn set_step(&mut self, verb: &str, when: When) -> Vec<Step> {
        let name = self.random.pick(&params::TRACKED);
        let value = params::value(self.random, name);
        let (token, text) = self.text(&format!("{verb} {name}={}", quoted(&value)));
        vec![self.query_step(&text, token, vec![unit(token, Kind::Command, false)], when)]
    }

    /// Sync alone, Flush and Sync, Close of what never was.
    fn lone_messages(&mut self) -> Vec<Step> {
        let token = self.token();
        let mut bytes = Vec::new();
        let mut expects = Vec::new();
        if self.random.chance(500) {
            write::close(&mut bytes, b'S', token.to_string().as_bytes());
            expects.push(unit(token, Kind::Close, true));
        }
        if self.random.chance(300) {
            write::flush(&mut bytes);
        }
        write::sync(&mut bytes);
        expects.push(unit(token, Kind::Ready, true));
        vec![Step::answered(bytes, expects, token)]
    }

    /// A batch that a simple query ends instead of a Sync.
    fn mixed(&mut self) -> Vec<Step> {
        let token = self.token();
        let mut bytes = Vec::new();
        let text = format!("{token}{} select rows=2 size=3", self.claim());
        write::parse(&mut bytes, b"", text.as_bytes(), &[]);
        write::bind(&mut bytes, b"", b"", &[], &[], &[]);
        write::execute(&mut bytes, b"", 0);
        let rows = Kind::Rows { described: false, next: 0, last: 2, size: 3, suspends: false };
        let kinds = [Kind::Parse, Kind::Bind, rows];
        let expects = kinds.into_iter().map(|kind| unit(token, kind, true)).collect();
        let mut steps = vec![Step::answered(bytes, expects, token)];
        if self.random.chance(300) {
            steps[0].bytes.extend_from_slice(&sync());
            steps[0].expects.push(unit(token, Kind::Ready, true));
        } else {
            steps.extend(self.simple(When::Now));
        }
        steps
    }

    /// Parse of the unnamed statement in one batch, Bind in another: in transaction pooling it may
    /// be gone by then, but never be somebody else's.
    fn late_bind(&mut self) -> Vec<Step> {
        let token = self.token();
        let text = format!("{token}{} select rows=2 size=3", self.claim());
        let mut bytes = Vec::new();
        write::parse(&mut bytes, b"", text.as_bytes(), &[]);
        write::sync(&mut bytes);
        let ready = |token| unit(token, Kind::Ready, true);
        let expects = vec![unit(token, Kind::Parse, true), ready(token)];
        let when = When::Answered;
        let parse = Step { bytes, expects, when, token, after_copy: false, slow: false };
        let late = self.token();
        let portal = late.to_string();
        let mut bytes = Vec::new();
        write::bind(&mut bytes, portal.as_bytes(), b"", &[], &[], &[]);
        write::execute(&mut bytes, portal.as_bytes(), 0);
        write::sync(&mut bytes);
        let rows = Kind::Rows { described: false, next: 0, last: 2, size: 3, suspends: false };
        let expects = vec![unit(late, Kind::LateBind, true), unit(token, rows, true), ready(late)];
        vec![parse, Step { bytes, expects, when, token: late, after_copy: false, slow: false }]
    }

    fn parse_bind_execute(&mut self, bytes: &mut Vec<u8>, units: &mut Vec<Unit>) -> (Token, bool) {
        let (token, text, results, slow) = self.statement(true);
        let name = if self.random.chance(200) { token.to_string() } else { String::new() };
        write::parse(bytes, name.as_bytes(), text.as_bytes(), &[]);
        units.push(unit(token, Kind::Parse, true));
        let returns_rows = matches!(results[0].kind, Kind::Rows { .. });
        if self.random.chance(300) && returns_rows {
            write::describe(bytes, b'S', name.as_bytes());
            units.push(unit(token, Kind::DescribeStatement, true));
        }
        write::bind(bytes, b"", name.as_bytes(), &[], &[], &[]);
        units.push(unit(token, Kind::Bind, true));
        if self.random.chance(300) && returns_rows {
            write::describe(bytes, b'P', b"");
            units.push(unit(token, Kind::DescribePortal, true));
        }
        write::execute(bytes, b"", 0);
        units.extend(results);
        if !name.is_empty() {
            write::close(bytes, b'S', name.as_bytes());
            units.push(unit(token, Kind::Close, true));
        }
        (token, slow)
    }

    /// A statement that returns rows, fails or sets something: token, text, what it is answered
    /// with, and whether it takes for ever.
    fn statement(&mut self, extended: bool) -> (Token, String, Vec<Unit>, bool) {
        let token = self.token();
        let claim = self.claim();
        if self.random.chance(120) {
            let units = vec![unit(token, Kind::Command, extended)];
            return (token, format!("{token}{claim} fail"), units, false);
        }
        if self.random.chance(40) {
            let units = vec![unit(token, Kind::Empty, extended)];
            return (token, format!("{token}{claim}"), units, false);
        }
        let rows = self.random.below(5) as u32;
        let size = self.size();
        let slow = self.habits.cancels && self.random.chance(60);
        let sleep = if slow { FOREVER } else { self.sleep() };
        let text = format!("{token}{claim} select rows={rows} size={size} sleep={sleep}");
        let kind = Kind::Rows { described: !extended, next: 0, last: rows, size, suspends: false };
        (token, text, vec![unit(token, kind, extended)], slow)
    }

    fn query_step(&mut self, text: &str, token: Token, mut units: Vec<Unit>, when: When) -> Step {
        let mut bytes = Vec::new();
        write::query(&mut bytes, text.as_bytes());
        units.push(unit(token, Kind::Ready, false));
        Step { bytes, expects: units, when, token, after_copy: false, slow: false }
    }

    fn text(&mut self, rest: &str) -> (Token, String) {
        let token = self.token();
        (token, format!("{token}{} {rest}", self.claim()))
    }

    fn token(&mut self) -> Token {
        *self.number += 1;
        Token { session: self.session, number: *self.number }
    }

    fn claim(&self) -> String {
        let params = self.params.as_ref();
        params.map_or_else(String::new, |params| format!(" p={:x}", params::fingerprint(params)))
    }

    fn size(&mut self) -> u32 {
        match self.random.below(20) {
            0 => self.random.below(u64::from(self.habits.size_max)) as u32,
            1..4 => self.random.below(2000) as u32,
            _ => self.random.below(60) as u32,
        }
    }

    fn sleep(&mut self) -> u32 {
        match self.random.below(4) {
            0 => self.random.below(u64::from(self.habits.sleep_max)) as u32,
            1 => self.random.below(2000) as u32,
            _ => 0,
        }
    }
}

fn unit(token: Token, kind: Kind, extended: bool) -> Unit {
    Unit { token, kind, extended }
}

fn sync() -> Vec<u8> {
    let mut bytes = Vec::new();
    write::sync(&mut bytes);
    bytes
}
