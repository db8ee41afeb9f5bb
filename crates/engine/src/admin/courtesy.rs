//! What drivers, pools and monitors send on their own, answered without doing anything.
//!
//!     BEGIN, COMMIT, ROLLBACK …      drivers with transactions of their own
//!     DISCARD ALL, RESET ALL …       pools, when a connection comes back
//!     SELECT 1, SELECT version() …   is anybody there?
//!
//! There are no transactions on the console: the session only remembers that one was begun, because
//! drivers look at the status that ReadyForQuery tells. Knows neither commands nor rights.

use super::answer::{self, Answer, Tag};
use super::sheet::Type::{Int4, Text};
use super::sheet::{Column, Sheet};

/// A statement that does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Courtesy {
    /// It begins a transaction; the tag.
    Begin(&'static str),
    /// It ends one; the tag.
    End(&'static str),
    /// It does nothing at all; the tag.
    Nothing(&'static str),
    /// The session's statements and portals are forgotten.
    DiscardAll,
    /// A prepared statement is forgotten, or all are.
    Deallocate(Option<String>),
    /// It asks for a value that never changes.
    Constant(&'static Constant),
}

/// A question with one value as its answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Constant {
    text: &'static str,
    columns: &'static [Column],
    value: Value,
    tag: Tag,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Number(u32),
    Text(&'static str),
    Version,
}

/// Reads one statement, without comments and without its semicolon.
pub(crate) fn read(statement: &str) -> Option<Courtesy> {
    let folded = fold(statement);
    let (first, rest) = folded.split_once(' ').unwrap_or((&folded, ""));
    match first {
        "begin" if are_modes(rest.strip_prefix(TRANSACTION).unwrap_or(rest)) => {
            Some(Courtesy::Begin("BEGIN"))
        }
        "start" => {
            let modes = rest.strip_prefix(TRANSACTION)?;
            are_modes(modes).then_some(Courtesy::Begin("START TRANSACTION"))
        }
        "commit" | "end" if is_noise(rest) => Some(Courtesy::End("COMMIT")),
        "rollback" | "abort" if is_noise(rest) => Some(Courtesy::End("ROLLBACK")),
        "rollback" if rest.starts_with("to ") => Some(Courtesy::Nothing("ROLLBACK")),
        "savepoint" if !rest.is_empty() => Some(Courtesy::Nothing("SAVEPOINT")),
        "release" if !rest.is_empty() => Some(Courtesy::Nothing("RELEASE")),
        "deallocate" => deallocate(rest.strip_prefix("prepare ").unwrap_or(rest)),
        _ => exact(&folded),
    }
}

impl Courtesy {
    /// The columns of its row, if it has one.
    pub(crate) fn columns(&self) -> &'static [Column] {
        match self {
            Self::Constant(constant) => constant.columns,
            _ => &[],
        }
    }

    /// Its answer; `version` is that of SHOW VERSION.
    pub(crate) fn answer(&self, version: &str) -> Answer {
        match self {
            Self::Begin(tag) | Self::End(tag) | Self::Nothing(tag) => answer::done(tag),
            Self::DiscardAll => answer::done("DISCARD ALL"),
            Self::Deallocate(None) => answer::done("DEALLOCATE ALL"),
            Self::Deallocate(Some(_)) => answer::done("DEALLOCATE"),
            Self::Constant(constant) => {
                let mut sheet = Sheet::new(constant.columns);
                match constant.value {
                    Value::Number(number) => sheet.number(number),
                    Value::Text(text) => sheet.text(text),
                    Value::Version => sheet.text(version),
                };
                sheet.end_row();
                answer::tagged(sheet, constant.tag)
            }
        }
    }
}

fn exact(folded: &str) -> Option<Courtesy> {
    match folded {
        "discard all" => Some(Courtesy::DiscardAll),
        "reset all" => Some(Courtesy::Nothing("RESET")),
        "close all" => Some(Courtesy::Nothing("CLOSE CURSOR ALL")),
        "set session authorization default" => Some(Courtesy::Nothing("SET")),
        "unlisten *" => Some(Courtesy::Nothing("UNLISTEN")),
        _ => CONSTANTS.iter().find(|known| known.text == folded).map(Courtesy::Constant),
    }
}

fn deallocate(name: &str) -> Option<Courtesy> {
    match name {
        "" => None,
        "all" => Some(Courtesy::Deallocate(None)),
        name => {
            let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
            Some(Courtesy::Deallocate(Some(bare.unwrap_or(name).to_owned())))
        }
    }
}

/// Lower case and single blanks, except within quotes.
fn fold(statement: &str) -> String {
    let mut folded = String::with_capacity(statement.len());
    let mut quote = None;
    for letter in statement.trim().chars() {
        match (letter, quote) {
            (_, Some(open)) => {
                quote = Some(open).filter(|open| *open != letter);
                folded.push(letter);
            }
            ('\'' | '"', None) => {
                quote = Some(letter);
                folded.push(letter);
            }
            _ if letter.is_ascii_whitespace() => {
                if !folded.ends_with(' ') {
                    folded.push(' ');
                }
            }
            _ => folded.push(letter.to_ascii_lowercase()),
        }
    }
    folded
}

/// Whether these are only modes of a transaction.
fn are_modes(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "committed",
        "deferrable",
        "isolation",
        "level",
        "not",
        "only",
        "read",
        "repeatable",
        "serializable",
        "transaction",
        "uncommitted",
        "work",
        "write",
    ];
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    words.into_iter().all(|word| WORDS.contains(&word))
}

fn is_noise(text: &str) -> bool {
    matches!(text, "" | "work" | "transaction")
}

const TRANSACTION: &str = "transaction";

const CONSTANTS: &[Constant] = &[
    Constant {
        text: "select 1",
        columns: &[("?column?", Int4)],
        value: Value::Number(1),
        tag: Tag::Select,
    },
    Constant {
        text: "select version()",
        columns: &[("version", Text)],
        value: Value::Version,
        tag: Tag::Select,
    },
    Constant {
        text: "select pg_catalog.version()",
        columns: &[("version", Text)],
        value: Value::Version,
        tag: Tag::Select,
    },
    Constant {
        text: "select pg_advisory_unlock_all()",
        columns: &[("pg_advisory_unlock_all", Text)],
        value: Value::Text(""),
        tag: Tag::Select,
    },
    Constant {
        text: "show transaction isolation level",
        columns: &[("transaction_isolation", Text)],
        value: Value::Text("read committed"),
        tag: Tag::Show,
    },
];

#[cfg(test)]
mod tests;
