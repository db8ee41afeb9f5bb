//! A console session: what it may, what it is at, and what its client has prepared.
//!
//!     Query   ──► Answer ──► the messages of a Query, ReadyForQuery
//!     Parse   ──► a statement        Bind ──► a portal        Describe, Close
//!     Execute ──► Answer ──► rows of the portal, as many as are wanted at a time
//!     Sync    ──► ReadyForQuery; outside of a transaction the portals are over
//!
//! As in PostgreSQL an error in a batch silences the rest of it up to Sync. Does not carry out
//! anything itself, and knows no sockets.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{self, Answer, Part, Tag};
use super::courtesy::Courtesy;
use super::sheet::{self, Format, Formats, Sheet};
use super::statement::Statement;
use super::{Phase, Rights};
use wire::tag::frontend as tag;
use wire::{Malformed, TransactionStatus, frontend, sqlstate, write};

/// A console session.
pub(crate) struct Console {
    pub(crate) rights: Rights,
    pub(crate) phase: Phase,
    asked: Asked,
    /// Whether a transaction has been begun; there are none, but drivers look at it.
    status: TransactionStatus,
    statements: BTreeMap<Box<[u8]>, Arc<Statement>>,
    portals: BTreeMap<Box<[u8]>, Portal>,
}

/// What the next answer is the answer to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Query,
    /// An Execute of this portal, which wants so many rows at most; 0 means all.
    Execute {
        portal: Box<[u8]>,
        most: usize,
    },
}

/// A statement that is to be run, or is being run.
struct Portal {
    statement: Arc<Statement>,
    formats: Formats,
    progress: Progress,
}

enum Progress {
    /// It has not been run.
    New,
    /// It has been, and had no rows.
    Over,
    /// So many of its rows have been sent; then comes its tag.
    Rows { sheet: Sheet, sent: usize, tag: Tag },
}

/// What comes of a message of the extended protocol.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It is answered with these bytes.
    Reply(Vec<u8>),
    /// This has to be done; its answer is then given to [`Console::reply`].
    Run(Arc<Statement>),
    /// It is refused; the refusal is then given to [`Console::refuse`].
    Refused(Answer),
}

impl Console {
    pub(crate) fn new(rights: Rights) -> Self {
        Self {
            rights,
            phase: Phase::Ready,
            asked: Asked::Query,
            status: TransactionStatus::Idle,
            statements: BTreeMap::new(),
            portals: BTreeMap::new(),
        }
    }

    /// Whether it hears its client now: the last command has been answered, and the answer has been
    /// taken.
    pub(crate) fn listens(&self, is_taken: bool) -> bool {
        is_taken && !matches!(self.phase, Phase::Waiting { .. })
    }

    /// A Query has come; PostgreSQL: it ends the unnamed statement and portal.
    pub(crate) fn query(&mut self, text: &[u8]) -> Result<Statement, Answer> {
        self.asked = Asked::Query;
        self.statements.remove(UNNAMED);
        self.portals.remove(UNNAMED);
        Statement::read(text)
    }

    /// Does what a courtesy asks of the session itself.
    pub(crate) fn oblige(&mut self, courtesy: &Courtesy) {
        match courtesy {
            Courtesy::Begin(_) => self.status = TransactionStatus::Block,
            Courtesy::End(_) => self.status = TransactionStatus::Idle,
            Courtesy::DiscardAll | Courtesy::Deallocate(None) => self.statements.clear(),
            Courtesy::Deallocate(Some(name)) => drop(self.statements.remove(name.as_bytes())),
            Courtesy::Nothing(_) | Courtesy::Constant(_) => {}
        }
    }

    /// The answer to what was asked for last, as the protocol wants it that asked.
    pub(crate) fn reply(&mut self, answer: &Answer) -> Vec<u8> {
        let mut out = Vec::new();
        match std::mem::replace(&mut self.asked, Asked::Query) {
            Asked::Query => {
                answer.write(&mut out);
                self.ready(&mut out);
            }
            Asked::Execute { portal, most } => {
                for part in &answer.parts {
                    self.executed(&portal, part, most, &mut out);
                }
            }
        }
        out
    }

    /// An error in the middle of a batch.
    pub(crate) fn refuse(&mut self, answer: &Answer) -> Vec<u8> {
        let mut out = Vec::new();
        answer.write(&mut out);
        self.phase = Phase::Skipping;
        out
    }

    /// A Sync has come.
    pub(crate) fn sync(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.phase = Phase::Ready;
        self.ready(&mut out);
        out
    }

    /// A Parse, Bind, Describe, Execute or Close has come.
    pub(crate) fn hear(&mut self, tag: u8, body: &[u8]) -> Heard {
        let heard = match tag {
            tag::PARSE => self.parse(body).map(Heard::Reply),
            tag::BIND => self.bind(body).map(Heard::Reply),
            tag::DESCRIBE => self.describe(body).map(Heard::Reply),
            tag::CLOSE => self.close(body).map(Heard::Reply),
            _ => self.execute(body),
        };
        heard.unwrap_or_else(Heard::Refused)
    }

    fn parse(&mut self, body: &[u8]) -> Result<Vec<u8>, Answer> {
        let parse = frontend::parse(body).map_err(malformed)?;
        if parse.name.is_empty() {
            self.statements.remove(UNNAMED);
        } else if self.statements.contains_key(parse.name) {
            let text = format!("prepared statement {} already exists", shown(parse.name));
            return Err(answer::error(sqlstate::DUPLICATE_PREPARED_STATEMENT, &text, None));
        }
        room(self.statements.len(), STATEMENTS_MAX, parse.name)?;
        let statement = Arc::new(Statement::prepare(parse.query)?);
        self.statements.insert(parse.name.into(), statement);
        Ok(written(write::parse_complete))
    }

    fn bind(&mut self, body: &[u8]) -> Result<Vec<u8>, Answer> {
        let bind = frontend::bind(body).map_err(malformed)?;
        let (values, results) = bind.values().map_err(malformed)?;
        let statement = Arc::clone(self.statement(bind.statement)?);
        if values > 0 {
            let text = format!(
                "bind message supplies {values} parameters, but prepared statement {} requires 0",
                shown(bind.statement)
            );
            return Err(answer::refusal(&text));
        }
        let formats = formats(results, statement.columns().len())?;
        if bind.portal.is_empty() {
            self.portals.remove(UNNAMED);
        } else if self.portals.contains_key(bind.portal) {
            let text = format!("portal {} already exists", shown(bind.portal));
            return Err(answer::error(sqlstate::DUPLICATE_CURSOR, &text, None));
        }
        room(self.portals.len(), PORTALS_MAX, bind.portal)?;
        let portal = Portal { statement, formats, progress: Progress::New };
        self.portals.insert(bind.portal.into(), portal);
        Ok(written(write::bind_complete))
    }

    fn describe(&self, body: &[u8]) -> Result<Vec<u8>, Answer> {
        let describe = frontend::describe(body).map_err(malformed)?;
        let mut out = Vec::new();
        let (columns, formats) = match describe.kind {
            STATEMENT => {
                write::parameter_description(&mut out, &[]);
                (self.statement(describe.name)?.columns(), &Formats::default())
            }
            PORTAL => {
                let portal = self.portals.get(describe.name);
                let portal = portal.ok_or_else(|| no_portal(describe.name))?;
                (portal.statement.columns(), &portal.formats)
            }
            kind => {
                return Err(answer::refusal(&format!("invalid DESCRIBE message subtype {kind}")));
            }
        };
        match columns {
            [] => write::no_data(&mut out),
            columns => sheet::describe(columns, formats, &mut out),
        }
        Ok(out)
    }

    fn close(&mut self, body: &[u8]) -> Result<Vec<u8>, Answer> {
        let close = frontend::close(body).map_err(malformed)?;
        // PostgreSQL: what is not there is closed already.
        match close.kind {
            STATEMENT => drop(self.statements.remove(close.name)),
            PORTAL => drop(self.portals.remove(close.name)),
            kind => return Err(answer::refusal(&format!("invalid CLOSE message subtype {kind}"))),
        }
        Ok(written(write::close_complete))
    }

    fn execute(&mut self, body: &[u8]) -> Result<Heard, Answer> {
        let execute = frontend::execute(body).map_err(malformed)?;
        // PostgreSQL: a limit below zero is none.
        let most = usize::try_from(execute.max_rows).unwrap_or(0);
        let portal = self.portals.get_mut(execute.portal);
        let portal = portal.ok_or_else(|| no_portal(execute.portal))?;
        match portal.progress {
            Progress::New => {
                self.asked = Asked::Execute { portal: execute.portal.into(), most };
                Ok(Heard::Run(Arc::clone(&portal.statement)))
            }
            Progress::Rows { .. } => {
                let mut out = Vec::new();
                portal.go_on(most, &mut out);
                Ok(Heard::Reply(out))
            }
            Progress::Over => {
                let code = sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE;
                let text = format!("portal {} cannot be run", shown(execute.portal));
                Err(answer::error(code, &text, None))
            }
        }
    }

    /// Appends what one part of an answer is to an Execute.
    fn executed(&mut self, name: &[u8], part: &Part, most: usize, out: &mut Vec<u8>) {
        let portal = self.portals.get_mut(name);
        match (part, portal) {
            (Part::Table(sheet, tag), Some(portal)) => {
                portal.progress = Progress::Rows { sheet: sheet.clone(), sent: 0, tag: *tag };
                portal.go_on(most, out);
            }
            (Part::Refused(..), _) => {
                part.write(out);
                self.phase = Phase::Skipping;
            }
            // PostgreSQL: nothing may be done as often as one likes.
            (Part::Nothing, _) => part.write(out),
            (_, portal) => {
                part.write(out);
                if let Some(portal) = portal {
                    portal.progress = Progress::Over;
                }
            }
        }
    }

    fn statement(&self, name: &[u8]) -> Result<&Arc<Statement>, Answer> {
        self.statements.get(name).ok_or_else(|| {
            let text = match name {
                UNNAMED => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement {} does not exist", shown(name)),
            };
            answer::error(sqlstate::INVALID_SQL_STATEMENT_NAME, &text, None)
        })
    }

    /// Appends a ReadyForQuery; PostgreSQL: a portal lives no longer than its transaction.
    fn ready(&mut self, out: &mut Vec<u8>) {
        if self.status == TransactionStatus::Idle {
            self.portals.clear();
        }
        write::ready_for_query(out, self.status);
    }
}

impl Portal {
    /// Appends its next rows, and what follows them.
    fn go_on(&mut self, most: usize, out: &mut Vec<u8>) {
        let Progress::Rows { sheet, sent, tag } = &mut self.progress else { return };
        let left = sheet.rows().saturating_sub(*sent);
        let count = if most == 0 { left } else { left.min(most) };
        sheet.write(*sent..*sent + count, &self.formats, out);
        *sent += count;
        // PostgreSQL: who asks for as many rows as there are learns with the next Execute that
        // these were all.
        if most > 0 && count == most {
            write::portal_suspended(out);
        } else {
            write::command_complete(out, &tag.text(count));
        }
    }
}

fn formats(results: impl ExactSizeIterator<Item = i16>, columns: usize) -> Result<Formats, Answer> {
    let count = results.len();
    if columns == 0 {
        return Ok(Formats::default());
    }
    let formats = results.map(|format| match format {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        other => Err(answer::error(
            sqlstate::INVALID_PARAMETER_VALUE,
            &format!("invalid format code: {other}"),
            None,
        )),
    });
    let formats = Formats(formats.collect::<Result<_, _>>()?);
    if formats.suit(columns) {
        return Ok(formats);
    }
    let text = format!("bind message has {count} result formats but query has {columns} columns");
    Err(answer::refusal(&text))
}

/// Whether there is room for another statement or portal of this name.
fn room(count: usize, most: usize, name: &[u8]) -> Result<(), Answer> {
    if name.len() > NAME_MAX {
        let text = format!("the name of a statement or portal may have {NAME_MAX} bytes");
        return Err(answer::error(sqlstate::INSUFFICIENT_RESOURCES, &text, None));
    }
    if count >= most {
        let text =
            format!("the admin console keeps at most {most} statements and portals a session");
        return Err(answer::error(sqlstate::INSUFFICIENT_RESOURCES, &text, None));
    }
    Ok(())
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn malformed(_: Malformed) -> Answer {
    answer::refusal("invalid message format")
}

fn no_portal(name: &[u8]) -> Answer {
    let text = format!("portal {} does not exist", shown(name));
    answer::error(sqlstate::INVALID_CURSOR_NAME, &text, None)
}

fn shown(name: &[u8]) -> String {
    format!("\"{}\"", String::from_utf8_lossy(name.get(..NAME_MAX).unwrap_or(name)))
}

/// The name of the unnamed statement and portal.
const UNNAMED: &[u8] = b"";

/// The kinds of Describe and Close.
const STATEMENT: u8 = b'S';
const PORTAL: u8 = b'P';

/// How many statements a session keeps: drivers keep a few hundred at most. A portal may keep the
/// rows of a table, so there are fewer of them.
const STATEMENTS_MAX: usize = 1000;
const PORTALS_MAX: usize = 16;
/// The longest name of one, in bytes.
const NAME_MAX: usize = 255;

#[cfg(test)]
mod tests;
