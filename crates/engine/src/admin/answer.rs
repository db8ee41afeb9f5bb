//! What the console sends, as bytes.
//!
//!     we ──► RowDescription, DataRow…, CommandComplete, ReadyForQuery
//!     we ──► NoticeResponse, CommandComplete, ReadyForQuery
//!     we ──► ErrorResponse, ReadyForQuery
//!
//! All values are text, whatever type a column is declared with (PgBouncer). Does not know any
//! table.

use wire::{Report, TransactionStatus, sqlstate, write};

/// The type that a column is declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Int4,
    Numeric,
}

/// Name and type of a column.
pub(crate) type Column = (&'static str, Type);

/// A table under way: rows are added cell by cell.
pub(crate) struct Sheet {
    columns: usize,
    out: Vec<u8>,
    /// The values of the current row, one after the other, and where each ends; `None` is a null.
    values: Vec<u8>,
    ends: Vec<Option<usize>>,
}

impl Sheet {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let described: Vec<_> = columns.iter().map(|(name, kind)| kind.describe(name)).collect();
        let mut out = Vec::new();
        write::row_description(&mut out, &described);
        Self { columns: columns.len(), out, values: Vec::new(), ends: Vec::new() }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.values.extend_from_slice(value);
        self.ends.push(Some(self.values.len()));
        self
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    pub(crate) fn number(&mut self, value: impl Into<u64>) -> &mut Self {
        self.text(&value.into().to_string())
    }

    pub(crate) fn null(&mut self) -> &mut Self {
        self.ends.push(None);
        self
    }

    pub(crate) fn text_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// Ends the current row.
    pub(crate) fn end_row(&mut self) {
        debug_assert_eq!(self.ends.len(), self.columns, "a row has a value for each column");
        let mut start = 0;
        let row: Vec<Option<&[u8]>> = self
            .ends
            .iter()
            .map(|end| {
                let end = (*end)?;
                let value = self.values.get(start..end);
                start = end;
                value
            })
            .collect();
        write::data_row(&mut self.out, &row);
        self.values.clear();
        self.ends.clear();
    }

    /// The whole answer to SHOW.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = self.out;
        complete(&mut out, "SHOW");
        out
    }
}

impl Type {
    /// What RowDescription says: name, type oid and size (PostgreSQL's `pg_type`).
    fn describe(self, name: &str) -> (&str, u32, i16) {
        match self {
            Self::Text => (name, 25, -1),
            Self::Int4 => (name, 23, 4),
            Self::Numeric => (name, 1700, -1),
        }
    }
}

/// The answer to a command without rows.
pub(crate) fn done(tag: &str) -> Vec<u8> {
    let mut out = Vec::new();
    complete(&mut out, tag);
    out
}

/// A notice, then the end of the answer with this tag.
pub(crate) fn notice(message: &str, detail: Option<&str>, tag: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let code = sqlstate::SUCCESSFUL_COMPLETION;
    let report = Report { severity: "NOTICE", code, message, detail, hint: None };
    write::notice_response(&mut out, &report);
    complete(&mut out, tag);
    out
}

/// The answer to a command that is refused.
pub(crate) fn refusal(message: &str) -> Vec<u8> {
    error(sqlstate::PROTOCOL_VIOLATION, message, None)
}

/// The answer to a command that has failed in this way.
pub(crate) fn error(code: &str, message: &str, detail: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    report(&mut out, code, message, detail);
    ready(&mut out);
    out
}

/// An error in a batch, which ends with the ReadyForQuery of its Sync.
pub(crate) fn refused_message(message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    report(&mut out, sqlstate::PROTOCOL_VIOLATION, message, None);
    out
}

/// Appends a ReadyForQuery.
pub(crate) fn ready(out: &mut Vec<u8>) {
    write::ready_for_query(out, TransactionStatus::Idle);
}

fn report(out: &mut Vec<u8>, code: &str, message: &str, detail: Option<&str>) {
    write::error_report(out, &Report { severity: "ERROR", code, message, detail, hint: None });
}

fn complete(out: &mut Vec<u8>, tag: &str) {
    write::command_complete(out, tag);
    ready(out);
}

#[cfg(test)]
mod tests;
