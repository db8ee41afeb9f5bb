//! From the text of a query to what it asks for.
//!
//!     text ──► comments become blanks ──► statements, cut at `;`
//!          ──► nothing · courtesies (one or several) · one command of the console
//!
//! What is none of these is refused with PgBouncer's text. Does not know who asks, or by which
//! protocol.

use super::answer::{self, Answer};
use super::courtesy::{self, Courtesy};
use super::grammar::{self, Command};
use super::sheet::Column;
use wire::sqlstate;

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statement {
    /// Nothing: blanks, semicolons and comments.
    Nothing,
    /// What drivers send on their own.
    Courtesies(Vec<Courtesy>),
    /// A command of the console.
    Command(Command),
}

impl Statement {
    /// Reads the text of a Query.
    pub(crate) fn read(query: &[u8]) -> Result<Self, Answer> {
        let plain = std::str::from_utf8(query).ok().and_then(without_comments);
        let Some(plain) = plain else { return Self::command(query, query) };
        let statements = split(&plain);
        if statements.is_empty() {
            return Ok(Self::Nothing);
        }
        let few = statements.len() <= STATEMENTS_MAX;
        let courtesies = statements.iter().map(|statement| courtesy::read(statement));
        match courtesies.collect::<Option<Vec<_>>>().filter(|_| few) {
            Some(courtesies) => Ok(Self::Courtesies(courtesies)),
            None => Self::command(plain.as_bytes(), query),
        }
    }

    /// Reads the text of a Parse: one statement, without parameters.
    pub(crate) fn prepare(query: &[u8]) -> Result<Self, Answer> {
        let syntax_error = |text| Err(answer::error(sqlstate::SYNTAX_ERROR, text, None));
        match Self::read(query) {
            Ok(Self::Courtesies(list)) if list.len() > 1 => {
                syntax_error("cannot insert multiple commands into a prepared statement")
            }
            Err(_) if has_parameter(query) => {
                syntax_error("parameters are not supported by the admin console")
            }
            read => read,
        }
    }

    fn command(plain: &[u8], query: &[u8]) -> Result<Self, Answer> {
        let command = grammar::parse(plain).map(Self::Command);
        command.map_err(|refusal| answer::refusal(&refusal.text(query)))
    }

    /// The columns of its rows; none where it has no rows.
    pub(crate) fn columns(&self) -> &'static [Column] {
        match self {
            Self::Courtesies(list) => list.first().map_or(&[], Courtesy::columns),
            Self::Command(Command::Show(show)) => show.columns(),
            Self::Nothing | Self::Command(_) => &[],
        }
    }
}

/// The text with a blank in place of each comment; `None` when one does not end. As in PostgreSQL,
/// comments nest, and what stands in quotes is none.
fn without_comments(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '\'' | '"' => {
                let length = quoted(rest)?;
                plain.push_str(rest.get(..length)?);
                length
            }
            '-' if rest.starts_with("--") => {
                plain.push(' ');
                rest.find('\n').unwrap_or(rest.len())
            }
            '/' if rest.starts_with("/*") => {
                plain.push(' ');
                comment(rest)?
            }
            _ => {
                plain.push(letter);
                letter.len_utf8()
            }
        };
        rest = rest.get(length..)?;
    }
    Some(plain)
}

/// The length of something in quotes; a quote that is doubled ends one and begins another.
fn quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    text.get(1..)?.find(quote).map(|end| end + 2)
}

/// The length of a comment with all that are in it.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match text.as_bytes().get(at..at + 2)? {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The statements of a text without comments, those that are blank left out.
fn split(plain: &str) -> Vec<&str> {
    let (mut statements, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(letter) = plain.get(at..).and_then(|rest| rest.chars().next()) {
        match letter {
            '\'' | '"' => at += plain.get(at..).and_then(quoted).unwrap_or(1),
            ';' => {
                statements.push(&plain[start..at]);
                at += 1;
                start = at;
            }
            _ => at += letter.len_utf8(),
        }
    }
    statements.extend(plain.get(start..));
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

fn has_parameter(query: &[u8]) -> bool {
    query.windows(2).any(|pair| matches!(pair, [b'$', b'0'..=b'9']))
}

/// The most statements of one query: each has an answer of its own.
const STATEMENTS_MAX: usize = 16;

#[cfg(test)]
mod tests;
