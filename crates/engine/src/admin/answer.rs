//! What the console answers, and as which messages.
//!
//!     a command ──► Answer: tables, tags, a notice, or an error
//!     Query   ──► RowDescription, DataRow…, CommandComplete   or ErrorResponse, ReadyForQuery
//!     Execute ──► DataRow…, CommandComplete or PortalSuspended   or ErrorResponse
//!
//! The former is written here, the latter by the session, which knows its portals. Does not know
//! what is answered.

use wire::{Report, sqlstate, write};

use super::sheet::{self, Formats, Sheet};
use crate::reason::sqlstate_of_ours;

/// The answer to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
}

/// One part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Notice(Text),
    /// A table and its tag.
    Table(Sheet, Tag),
    /// The tag of what has been done.
    Done(String),
    /// There was nothing to do.
    Nothing,
    /// It was refused with this SQLSTATE.
    Refused(String, Text),
}

/// What ends a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Show,
    /// With the number of rows.
    Select,
}

/// What a notice or an error says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    message: String,
    detail: Option<String>,
}

impl Answer {
    fn of(part: Part) -> Self {
        Self { parts: vec![part] }
    }

    /// The same, with the SQLSTATE of PgBouncer's errors where that is wanted.
    pub(crate) fn coded(mut self, legacy: bool) -> Self {
        for part in &mut self.parts {
            if let Part::Refused(code, _) = part {
                *code = sqlstate_of_ours(code, legacy).to_owned();
            }
        }
        self
    }

    /// Appends what a Query is answered with, ReadyForQuery excepted.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for part in &self.parts {
            part.write(out);
        }
    }
}

impl Part {
    /// Appends its messages; a table is described and whole.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Notice(text) => {
                write::notice_response(
                    out,
                    &text.report("NOTICE", sqlstate::SUCCESSFUL_COMPLETION),
                );
            }
            Self::Table(sheet, tag) => {
                let formats = Formats::default();
                sheet::describe(sheet.columns(), &formats, out);
                sheet.write(0..sheet.rows(), &formats, out);
                write::command_complete(out, &tag.text(sheet.rows()));
            }
            Self::Done(tag) => write::command_complete(out, tag),
            Self::Nothing => write::empty_query_response(out),
            Self::Refused(code, text) => write::error_report(out, &text.report("ERROR", code)),
        }
    }
}

impl Tag {
    /// The tag behind so many rows.
    pub(crate) fn text(self, rows: usize) -> String {
        match self {
            Self::Show => "SHOW".to_owned(),
            Self::Select => format!("SELECT {rows}"),
        }
    }
}

impl Text {
    fn new(message: &str, detail: Option<&str>) -> Self {
        Self { message: message.to_owned(), detail: detail.map(str::to_owned) }
    }

    fn report<'a>(&'a self, severity: &'a str, code: &'a str) -> Report<'a> {
        let (message, detail) = (&self.message, self.detail.as_deref());
        Report { severity, code, message, detail, hint: None }
    }
}

/// The answer to SHOW.
pub(crate) fn table(sheet: Sheet) -> Answer {
    tagged(sheet, Tag::Show)
}

/// A table with another tag.
pub(crate) fn tagged(sheet: Sheet, tag: Tag) -> Answer {
    Answer::of(Part::Table(sheet, tag))
}

/// The answer to a command without rows.
pub(crate) fn done(tag: &str) -> Answer {
    Answer::of(Part::Done(tag.to_owned()))
}

/// The answer to nothing.
pub(crate) fn nothing() -> Answer {
    Answer::of(Part::Nothing)
}

/// A notice, then the end of the answer with this tag.
pub(crate) fn notice(message: &str, detail: Option<&str>, tag: &str) -> Answer {
    Answer { parts: vec![Part::Notice(Text::new(message, detail)), Part::Done(tag.to_owned())] }
}

/// The answer to a command that is refused.
pub(crate) fn refusal(message: &str) -> Answer {
    error(sqlstate::PROTOCOL_VIOLATION, message, None)
}

/// The answer to a command that has failed in this way.
pub(crate) fn error(code: &str, message: &str, detail: Option<&str>) -> Answer {
    Answer::of(Part::Refused(code.to_owned(), Text::new(message, detail)))
}

/// The answer to a SET that is refused, with the reason.
pub(crate) fn set_failed(why: &str) -> Answer {
    error(sqlstate::PROTOCOL_VIOLATION, "SET failed", Some(why))
}

#[cfg(test)]
mod tests;
