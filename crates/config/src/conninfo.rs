//! Connection strings: `key=value key='quoted ''value'''`.
//!
//! The dialect of PgBouncer's `[databases]` and `[users]`, not of libpq: a quote is escaped by
//! doubling it, a backslash is an ordinary character, blanks may surround `=`, and an empty value
//! is an error.
//!
//! Knows no keys. Its errors never repeat the text, which may hold a password.

/// Why a connection string cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A word stands without `=`, or `=` without a word before it.
    Equals,
    /// A key has no value, or an empty one.
    Empty,
    /// A quote is not closed.
    Quote,
    /// Something other than a blank follows a closing quote.
    AfterQuote,
}

impl Malformed {
    /// The complaint, beginning with PgBouncer's own words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "syntax error in connection string: expected key=value",
            Self::Empty => "syntax error in connection string: a value is empty",
            Self::Quote => "syntax error in connection string: a quote is not closed",
            Self::AfterQuote => {
                "syntax error in connection string: expected a blank after a closing quote"
            }
        }
    }
}

/// Splits a connection string into its keys and values, in order; a key may come twice.
///
/// # Errors
///
/// The first thing that is wrong: from there on, nobody knows what is key and what is value.
pub fn pairs(text: &str) -> Result<Vec<(&str, String)>, Malformed> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_ascii();
    while !rest.is_empty() {
        let (key, value, after) = pair(rest)?;
        pairs.push((key, value));
        rest = after.trim_ascii_start();
    }
    Ok(pairs)
}

fn pair(rest: &str) -> Result<(&str, String, &str), Malformed> {
    let (key, rest) = rest.split_once('=').ok_or(Malformed::Equals)?;
    let key = key.trim_ascii_end();
    if key.is_empty() || key.contains(is_blank) {
        return Err(Malformed::Equals);
    }
    let rest = rest.trim_ascii_start();
    let (value, after) = match rest.strip_prefix('\'') {
        Some(quoted) => quoted_value(quoted)?,
        None => plain_value(rest),
    };
    if value.is_empty() {
        return Err(Malformed::Empty);
    }
    Ok((key, value, after))
}

fn plain_value(rest: &str) -> (String, &str) {
    let (value, after) = rest.split_at(rest.find(is_blank).unwrap_or(rest.len()));
    (value.to_owned(), after)
}

fn quoted_value(rest: &str) -> Result<(String, &str), Malformed> {
    let mut value = String::new();
    let mut rest = rest;
    loop {
        let (part, after) = rest.split_once('\'').ok_or(Malformed::Quote)?;
        value.push_str(part);
        let Some(more) = after.strip_prefix('\'') else {
            let ends = after.is_empty() || after.starts_with(is_blank);
            return if ends { Ok((value, after)) } else { Err(Malformed::AfterQuote) };
        };
        value.push('\'');
        rest = more;
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_ascii_whitespace()
}

#[cfg(test)]
mod tests;
