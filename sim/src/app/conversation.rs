//! What a client has asked and what may be answered: the strictest reader of the protocol.
//!
//! ```text
//! expect: Parse Bind Rows Ready          each message heard must belong to the first of these
//! hear:   1     2    T D D C   Z         an error takes the rest of its query or batch along
//! ```
//!
//! Every answer must name the request in front. Where PostgreSQL itself leaves open how many
//! ReadyForQuery follow a failed copy, both numbers are accepted. Knows nothing of what comes next.

use std::collections::VecDeque;

use wire::tag::backend as tag;
use wire::{Fields, backend};

use crate::params::{self, Params};
use crate::postgres::row_text;
use crate::statement::Token;

/// One expected answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) token: Token,
    pub(crate) kind: Kind,
    /// Whether an error here takes everything up to Sync along.
    pub(crate) extended: bool,
}

/// What an answer consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Parse,
    Bind,
    /// Of the unnamed statement of an earlier batch, which may be gone (SQLSTATE 26000).
    LateBind,
    Close,
    /// Of a statement that returns rows.
    DescribeStatement,
    /// Of a portal that returns rows.
    DescribePortal,
    /// RowDescription if `described`, the rows in order, CommandComplete or PortalSuspended.
    Rows {
        described: bool,
        next: u32,
        last: u32,
        size: u32,
        suspends: bool,
    },
    Command,
    Empty,
    CopyIn {
        /// A Sync was sent right behind Execute; while the server copies it is ignored.
        early_sync: bool,
    },
    CopyOut {
        next: u32,
        last: u32,
        size: u32,
        begun: bool,
    },
    Call,
    Ready,
}

/// Something that concerns whoever leads the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// A query has failed with this SQLSTATE.
    Failed(String),
    /// The pooler says that it has no server yet.
    Notified,
    /// The connection will be closed: SQLSTATE and message.
    Fatal(String, String),
}

/// Where a copy into the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    None,
    Open,
}

/// How many more ReadyForQuery may come after a failed copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Doubt {
    seen: u32,
    max: u32,
}

/// A client's side of the protocol after login.
#[derive(Debug)]
pub(crate) struct Conversation {
    buffer: Vec<u8>,
    expected: VecDeque<Unit>,
    /// After an error in a batch whose Sync was not sent yet.
    skipping: bool,
    pub(crate) copy: Copy,
    doubt: Option<Doubt>,
    /// A copy has failed: its data may still be on the way to the server.
    pub(crate) copy_has_failed: bool,
    /// Whether nothing has been asked since the last ReadyForQuery.
    pub(crate) is_between: bool,
    /// The status of the last ReadyForQuery.
    pub(crate) status: u8,
    pub(crate) params: Params,
}

impl Conversation {
    pub(crate) fn new() -> Self {
        Self {
            buffer: Vec::new(),
            expected: VecDeque::new(),
            skipping: false,
            copy: Copy::None,
            doubt: None,
            copy_has_failed: false,
            is_between: true,
            status: b'I',
            params: Params::new(),
        }
    }

    /// Adds what is expected next.
    pub(crate) fn expect(&mut self, unit: Unit) {
        self.is_between = false;
        let ends_batch = unit.extended && unit.kind == Kind::Ready;
        if !self.skipping || ends_batch {
            self.skipping = false;
            self.expected.push_back(unit);
        }
    }

    /// Adds the answer to a Sync that is sent because a copy has failed.
    pub(crate) fn expect_after_copy(&mut self, unit: Unit) {
        match &mut self.doubt {
            Some(doubt) => doubt.max += 1,
            None => self.expect(unit),
        }
    }

    /// Whether everything that was asked has been answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.expected.is_empty() && !self.skipping && self.doubt.is_none_or(|doubt| doubt.seen > 0)
    }

    /// Whether the server throws everything away up to a Sync that was not sent yet.
    pub(crate) fn is_skipping(&self) -> bool {
        self.skipping
    }

    /// Whether a copy is still to begin or under way.
    pub(crate) fn waits_for_copy(&self) -> bool {
        self.expected.iter().any(|unit| matches!(unit.kind, Kind::CopyIn { .. }))
    }

    /// Whether it is sure how many answers are still to come.
    pub(crate) fn is_sure(&self) -> bool {
        self.doubt.is_none()
    }

    /// Whether a message has come in part only.
    pub(crate) fn is_in_message(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Whether an error stands where the rest of a message should.
    pub(crate) fn has_words_in_a_message(&self) -> bool {
        self.buffer.windows(WORDS.len()).skip(1).any(|words| words == WORDS)
    }

    /// What is waited for, for a story.
    pub(crate) fn front(&self) -> String {
        format!("{:?} and {} more", self.expected.front(), self.expected.len())
    }

    /// Hears bytes of the server; the error says what is wrong with them.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Result<Vec<News>, String> {
        self.buffer.extend_from_slice(bytes);
        let mut news = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.buffer[at..];
            let head = wire::header(rest).map_err(|why| format!("{why}: {:02x?}", &rest[..5]))?;
            let Some(head) = head.filter(|head| rest.len() >= head.total as usize) else { break };
            let message = rest[..head.total as usize].to_vec();
            at += message.len();
            let body = wire::frame::body(&message);
            news.extend(self.message(head.tag, body).map_err(|why| {
                let tag = char::from(head.tag);
                format!("{why}, when {tag:?} came and {} was expected", self.front())
            })?);
        }
        self.buffer.drain(..at);
        Ok(news)
    }

    fn message(&mut self, tag: u8, body: &[u8]) -> Result<Option<News>, String> {
        match tag {
            tag::PARAMETER_STATUS => {
                let (name, value) = backend::parameter_status(body).map_err(|e| e.to_string())?;
                if let Some(name) = params::name(&String::from_utf8_lossy(name)) {
                    self.params.insert(name, String::from_utf8_lossy(value).into_owned());
                }
            }
            tag::NOTICE_RESPONSE => return Ok(Some(News::Notified)),
            tag::ERROR_RESPONSE => return self.error(body).map(Some),
            tag::READY_FOR_QUERY => {
                let status = backend::ready_for_query(body).map_err(|e| e.to_string())?;
                self.status = status.as_byte();
                self.ready()?;
            }
            _ => self.answer(tag, body)?,
        }
        Ok(None)
    }

    fn ready(&mut self) -> Result<(), String> {
        self.is_between = true;
        if let Some(doubt) = &mut self.doubt {
            if doubt.seen < doubt.max {
                doubt.seen += 1;
                return Ok(());
            }
            self.doubt = None;
        }
        match self.expected.front() {
            Some(Unit { kind: Kind::Ready, .. }) => {
                self.expected.pop_front();
                Ok(())
            }
            _ => Err("ReadyForQuery that nobody asked for".into()),
        }
    }

    fn end_doubt(&mut self) -> Result<(), String> {
        match self.doubt.take() {
            Some(Doubt { seen: 0, .. }) => Err("no ReadyForQuery after a failed copy".into()),
            _ => Ok(()),
        }
    }

    fn error(&mut self, body: &[u8]) -> Result<News, String> {
        let fields = Fields::parse(body).map_err(|why| why.to_string())?;
        let text =
            |field: Option<&[u8]>| String::from_utf8_lossy(field.unwrap_or_default()).into_owned();
        let (code, message) = (text(fields.code()), text(fields.message()));
        if fields.severity() == Some(b"FATAL") {
            return Ok(News::Fatal(code, message));
        }
        self.end_doubt()?;
        let Some(front) = self.expected.pop_front() else {
            return Err(format!("error that nobody asked for: {message}"));
        };
        let token = Token::parse(&message).map(|(token, _)| token);
        let is_gone = front.kind == Kind::LateBind && code == "26000";
        if !is_gone && token != Some(front.token) || front.kind == Kind::Ready {
            self.expected.push_front(front);
            return Err(format!("error of another request: {code} {message}"));
        }
        let early = self.copy == Copy::Open && front.kind == Kind::CopyIn { early_sync: true };
        self.copy_has_failed |= self.copy == Copy::Open;
        self.copy = Copy::None;
        // The rest of the query or batch is not answered.
        while let Some(next) = self.expected.front() {
            if next.kind == Kind::Ready && (!front.extended || next.extended) {
                break;
            }
            self.expected.pop_front();
        }
        if early {
            let readies = self.expected.iter().filter(|unit| unit.kind == Kind::Ready).count();
            self.expected.clear();
            self.doubt = Some(Doubt { seen: 0, max: readies as u32 });
        } else {
            self.skipping = front.extended && self.expected.is_empty();
        }
        Ok(News::Failed(code))
    }

    fn answer(&mut self, tag: u8, body: &[u8]) -> Result<(), String> {
        self.end_doubt()?;
        let Some(front) = self.expected.front_mut() else {
            return Err("an answer that nobody asked for".into());
        };
        let token = front.token;
        let done = match (&mut front.kind, tag) {
            (Kind::Parse, tag::PARSE_COMPLETE)
            | (Kind::Bind | Kind::LateBind, tag::BIND_COMPLETE)
            | (Kind::Close, tag::CLOSE_COMPLETE)
            | (Kind::Command, tag::COMMAND_COMPLETE)
            | (Kind::DescribePortal, tag::ROW_DESCRIPTION)
            | (Kind::Empty, tag::EMPTY_QUERY_RESPONSE) => true,
            (kind @ Kind::DescribeStatement, tag::PARAMETER_DESCRIPTION) => {
                *kind = Kind::DescribePortal;
                false
            }
            (Kind::Rows { described, next: 0, .. }, tag::ROW_DESCRIPTION) if *described => {
                *described = false;
                false
            }
            (Kind::Rows { described: false, next, last, size, .. }, tag::DATA_ROW)
                if *next < *last =>
            {
                let mut row = backend::data_row(body).map_err(|why| why.to_string())?;
                next_row(row.next().flatten().unwrap_or_default(), token, next, *size)?
            }
            (Kind::Rows { described: false, next, last, suspends, .. }, tag)
                if *next == *last && *suspends == (tag == tag::PORTAL_SUSPENDED) =>
            {
                *suspends || tag == tag::COMMAND_COMPLETE || return Err("out of order".into())
            }
            (Kind::CopyIn { .. }, tag::COPY_IN_RESPONSE) if self.copy == Copy::None => {
                self.copy = Copy::Open;
                false
            }
            (Kind::CopyIn { early_sync }, tag::COMMAND_COMPLETE) if self.copy == Copy::Open => {
                let early_sync = *early_sync;
                return self.copied(early_sync);
            }
            (Kind::CopyOut { begun, .. }, tag::COPY_OUT_RESPONSE) if !*begun => {
                *begun = true;
                false
            }
            (Kind::CopyOut { begun: true, next, last, size }, tag::COPY_DATA) if *next < *last => {
                next_row(body, token, next, *size)?
            }
            (Kind::CopyOut { begun: true, next, last, .. }, tag::COPY_DONE) if *next == *last => {
                front.kind = Kind::Command;
                false
            }
            (Kind::Call, tag::FUNCTION_CALL_RESPONSE) => {
                if body.get(4..) != Some(token.to_string().as_bytes()) {
                    return Err("the result of another call".into());
                }
                true
            }
            _ => return Err("out of order".into()),
        };
        if done {
            self.expected.pop_front();
        }
        Ok(())
    }

    /// A copy into the server has come to its good end.
    fn copied(&mut self, early_sync: bool) -> Result<(), String> {
        self.copy = Copy::None;
        self.expected.pop_front();
        if early_sync {
            // The server has read and ignored it.
            self.expected.pop_front();
        }
        Ok(())
    }
}

/// How an error begins that ends a connection.
const WORDS: &[u8] = b"SFATAL";

/// A row must be the one that was asked for, down to its last byte; it is never the whole answer.
fn next_row(found: &[u8], token: Token, row: &mut u32, size: u32) -> Result<bool, String> {
    let expected = row_text(Some(token), *row, size);
    if found == expected.as_bytes() {
        *row += 1;
        return Ok(false);
    }
    let end = found.len().min(40);
    let start = String::from_utf8_lossy(&found[..end]);
    Err(format!("row of {} bytes {start:?}… is not row {row} of {token}", found.len()))
}

#[cfg(test)]
mod tests;
