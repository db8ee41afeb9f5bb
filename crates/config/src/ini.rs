//! The ini dialect, one file at a time: bytes in, numbered lines out.
//!
//! ```text
//! ; comment, also with #         only when it is the first non-blank character of a line
//! [section]
//! %include FILE
//! key = the rest of the line     'key' and "key" may be quoted, with the quote doubled inside
//! ```
//!
//! A broken line yields [`Line::Broken`] and reading goes on, so that one load finds every error.
//! Knows neither files nor what sections and keys mean. Comments may be in any encoding.

/// What one line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// `[name]`.
    Section(String),
    /// `%include FILE`, with the file as written.
    Include(String),
    /// `key = value`, both without surrounding blanks.
    Entry {
        /// The key without its quotes.
        key: String,
        /// The rest of the line; may be empty.
        value: String,
    },
    /// A line that is none of these, and why; the line itself is not repeated, for it may hold a
    /// password.
    Broken(&'static str),
}

/// Reads a file into its lines with their numbers, from 1; blank lines and comments are left out.
///
/// As in PgBouncer, what follows a `[section]` on the same line counts as a line of its own.
#[must_use]
pub fn lines(file: &[u8]) -> Vec<(u32, Line)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        let mut rest = line.trim_ascii();
        while !is_skipped(rest) {
            let (line, after) = next_line(rest);
            found.push((number, line));
            rest = after.trim_ascii();
        }
    }
    found
}

fn is_skipped(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b';' | b'#'))
}

/// Reads what `rest` starts with, and returns what it did not use.
fn next_line(rest: &[u8]) -> (Line, &[u8]) {
    let read = match rest {
        [b'[', name @ ..] => section(name),
        _ => whole_line(rest).map(|line| (line, &[][..])),
    };
    read.unwrap_or_else(|why| (Line::Broken(why), &[]))
}

fn section(rest: &[u8]) -> Result<(Line, &[u8]), &'static str> {
    let end = rest.iter().position(|&byte| byte == b']').ok_or("syntax error: \"]\" is missing")?;
    let (name, after) = rest.split_at(end);
    Ok((Line::Section(text(name)?.to_owned()), after.get(1..).unwrap_or_default()))
}

fn whole_line(line: &[u8]) -> Result<Line, &'static str> {
    let line = text(line)?;
    if let Some(file) = line.strip_prefix("%include").filter(|file| file.starts_with([' ', '\t'])) {
        return Ok(Line::Include(file.trim_ascii().to_owned()));
    }
    let mut letters = line.chars();
    let (key, rest) = match letters.next() {
        Some(quote @ ('\'' | '"')) => quoted_key(letters.as_str(), quote)?,
        _ => plain_key(line),
    };
    let value = rest.trim_ascii_start().strip_prefix('=');
    let value = value.ok_or("syntax error: expected \"=\" after the key")?;
    Ok(Line::Entry { key, value: value.trim_ascii().to_owned() })
}

/// Reads a key up to its closing quote; a doubled quote stands for one.
fn quoted_key(rest: &str, quote: char) -> Result<(String, &str), &'static str> {
    let mut key = String::new();
    let mut rest = rest;
    loop {
        let (part, after) =
            rest.split_once(quote).ok_or("syntax error: the key's quote is not closed")?;
        key.push_str(part);
        let Some(more) = after.strip_prefix(quote) else {
            return Ok((key, after));
        };
        key.push(quote);
        rest = more;
    }
}

fn plain_key(line: &str) -> (String, &str) {
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "_.-*".contains(letter);
    let end = line.find(|letter| !is_key(letter)).unwrap_or(line.len());
    let (key, rest) = line.split_at(end);
    (key.to_owned(), rest)
}

fn text(bytes: &[u8]) -> Result<&str, &'static str> {
    if bytes.contains(&0) {
        return Err("syntax error: the line contains a zero byte");
    }
    std::str::from_utf8(bytes).map_err(|_| "the line is not valid UTF-8")
}

#[cfg(test)]
mod tests;
