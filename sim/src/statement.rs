//! The language that simulated clients and servers speak, instead of SQL.
//!
//! ```text
//! ~12.5~ p=1f00c6 select rows=3 size=20 sleep=500
//! └───┬┘ └───┬──┘ └─┬──┘ └────────┬─────────────┘
//!   token  fingerprint of the   verb      how many rows, how large, how slow (microseconds)
//!          client's parameters
//! ```
//!
//! The token says which session of which client asks, and which of its requests this is; the server
//! repeats it in every answer. What the pooler itself asks has no token.

use std::fmt;

/// Names one request of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    /// The session; no two sessions of a world have the same number.
    pub(crate) session: u32,
    /// The request.
    pub(crate) number: u32,
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "~{}.{}~", self.session, self.number)
    }
}

impl Token {
    /// Reads a token at the start of a text.
    pub(crate) fn parse(text: &str) -> Option<(Self, &str)> {
        let (inside, rest) = text.strip_prefix('~')?.split_once('~')?;
        let (session, number) = inside.split_once('.')?;
        Some((Self { session: session.parse().ok()?, number: number.parse().ok()? }, rest))
    }
}

/// A statement, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) token: Option<Token>,
    /// What the client takes its parameters to be, where it is sure.
    pub(crate) fingerprint: Option<u64>,
    pub(crate) verb: Verb,
    /// How long it takes, in microseconds.
    pub(crate) sleep: u64,
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Nothing at all.
    Empty,
    /// Returns so many rows of so many bytes.
    Select {
        rows: u32,
        size: u32,
    },
    /// Fails.
    Fail,
    Begin,
    Commit,
    Rollback,
    /// Sets a parameter, for the transaction or the session.
    Set {
        name: String,
        value: String,
        local: bool,
    },
    DiscardAll,
    /// Takes data until the client is done, or fails at the given piece.
    CopyIn {
        fails_at: Option<u32>,
    },
    /// Sends so many pieces of so many bytes.
    CopyOut {
        rows: u32,
        size: u32,
    },
}

impl Statement {
    /// Reads one statement; anything unknown selects one row, as a check query does.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (token, rest) =
            Token::parse(text).map_or((None, text), |(token, rest)| (Some(token), rest.trim()));
        let words = || rest.split_whitespace();
        let number = |name: &str| {
            let mut values = words().filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            values.next()
        };
        let small = |name: &str| number(name).and_then(|text| text.parse::<u32>().ok());
        let fingerprint = number("p").and_then(|text| u64::from_str_radix(text, 16).ok());
        let sleep = small("sleep").map_or(0, u64::from);
        let (rows, size) = (small("rows").unwrap_or(1), small("size").unwrap_or(0));
        let verb = words().find(|word| !word.starts_with("p="));
        let verb =
            match verb.map(str::to_ascii_lowercase).as_deref() {
                None => Verb::Empty,
                Some("fail") => Verb::Fail,
                Some("begin") => Verb::Begin,
                Some("commit") => Verb::Commit,
                Some("rollback") => Verb::Rollback,
                Some("discard") => Verb::DiscardAll,
                Some("copyin") => Verb::CopyIn { fails_at: small("fail") },
                Some("copyout") => Verb::CopyOut { rows, size },
                Some("set") => assignment(rest)
                    .map_or(Verb::Fail, |(name, value, local)| Verb::Set { name, value, local }),
                Some(_) => Verb::Select { rows, size },
            };
        Self { token, fingerprint, verb, sleep }
    }
}

/// Reads `SET [LOCAL] name='value'`, behind a token or not.
fn assignment(text: &str) -> Option<(String, String, bool)> {
    let at = text.to_ascii_lowercase().find("set ")?;
    let rest = text.get(at + 4..)?.trim_start();
    let (local, rest) = match rest.strip_prefix("local ") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (name, value) = rest.split_once('=')?;
    let escaped = value.starts_with('E');
    let quoted = value.trim_start_matches('E').strip_prefix('\'')?;
    let mut out = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '\\' if escaped => out.push(chars.next()?),
            '\'' => match chars.next() {
                Some('\'') => out.push('\''),
                _ => return Some((name.trim().to_owned(), out, local)),
            },
            other => out.push(other),
        }
    }
}

/// Writes `'value'`, so that it means the same whatever the settings are.
pub(crate) fn quoted(value: &str) -> String {
    let escape = if value.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

/// Cuts a query into its statements, at semicolons outside of quotes; without any statement there
/// is one, the empty one.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, char) in text.char_indices() {
        match char {
            '\'' => inside = !inside,
            ';' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Finds tokens in a stream of bytes, however it is cut.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    inside: Option<Vec<u8>>,
}

impl Scanner {
    /// The tokens that are complete with these bytes.
    pub(crate) fn scan(&mut self, bytes: &[u8], found: &mut Vec<Token>) {
        for &byte in bytes {
            match (&mut self.inside, byte) {
                (Some(inside), b'~') => {
                    let text = format!("~{}~", String::from_utf8_lossy(inside));
                    match Token::parse(&text) {
                        Some((token, _)) => {
                            found.push(token);
                            self.inside = None;
                        }
                        None => inside.clear(),
                    }
                }
                (Some(inside), b'0'..=b'9' | b'.') if inside.len() < 24 => inside.push(byte),
                (_, b'~') => self.inside = Some(Vec::new()),
                _ => self.inside = None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
