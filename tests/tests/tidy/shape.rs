//! Lengths, columns, openings and leftovers.
//!
//! Tests may be as long as their tables. A function that is one flat match on tags may be longer
//! than others if the line above it says `// tidy: flat match`.

use crate::Fault;
use crate::scan::{Source, is_word};

const FILE_LINES: usize = 500;
const FILE_LINES_WALL: usize = 700;
const FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 100;
const OPENING_LINES: usize = 12;

/// Files that may have more than FILE_LINES, with the lines they may have; these only ever shrink.
const RATCHET: &[(&str, usize)] = &[];

pub(crate) fn faults(source: &Source) -> Vec<Fault> {
    let mut found = columns(source);
    found.extend(leftovers(source));
    if !source.is_test() {
        found.extend(file_length(source, RATCHET));
        found.extend(opening(source));
        found.extend(function_lengths(source));
        found.extend(inline_tests(source));
    }
    found
}

fn columns(source: &Source) -> Vec<Fault> {
    let lines = source.text.lines().enumerate();
    lines
        .map(|(index, line)| (index + 1, line.chars().count()))
        .filter(|(number, length)| *length > COLUMNS && !is_data(source, *number))
        .map(|(number, length)| {
            Fault::new(source.path, number, format!("{length} columns; {COLUMNS} at most"))
        })
        .collect()
}

/// A line of a table in a test may be one long text that would not be the same if it were cut.
fn is_data(source: &Source, line: usize) -> bool {
    let is_comment = source.comments.lines().nth(line - 1).is_some_and(|c| !c.trim().is_empty());
    let mut tokens = source.tokens.iter().filter(|token| token.line == line);
    source.is_test() && !is_comment && !tokens.any(|token| token.text.contains(is_word))
}

pub(crate) fn file_length(source: &Source, ratchet: &[(&str, usize)]) -> Option<Fault> {
    let lines = source.text.lines().count();
    let tolerated = ratchet.iter().find(|(path, _)| *path == source.path).map(|(_, lines)| *lines);
    let what = match tolerated {
        Some(most) if most > FILE_LINES_WALL => format!("{FILE_LINES_WALL} lines are the wall"),
        Some(most) if lines < most => format!("the ratchet can go from {most} to {lines} lines"),
        most if lines > most.unwrap_or(FILE_LINES) => {
            format!("{lines} lines; look for the second conversation in this file")
        }
        _ => return None,
    };
    Some(Fault::new(source.path, 1, what))
}

/// Every file says first what it is for; a lib.rs is the front page of its crate and may say more.
fn opening(source: &Source) -> Option<Fault> {
    let says_something = |line: &&str| !["//!", "//! ```", "//! ```text"].contains(line);
    let opening = || source.text.lines().take_while(|line| line.starts_with("//!"));
    let lines = opening().filter(says_something).count();
    let most = if source.path.ends_with("lib.rs") { 2 * OPENING_LINES } else { OPENING_LINES };
    let what = match opening().count() {
        0 => "the file does not open with `//!`".to_owned(),
        _ if lines > most => format!("{lines} lines of opening; {most} at most"),
        _ => return None,
    };
    Some(Fault::new(source.path, 1, what))
}

fn function_lengths(source: &Source) -> Vec<Fault> {
    let comments: Vec<&str> = source.comments.lines().collect();
    let mut found = Vec::new();
    for (at, token) in source.tokens.iter().enumerate() {
        // A type such as `fn(u8)` has no name, and a declaration in a trait has no body.
        let is_named = source.token(at + 1).starts_with(|c: char| c.is_alphabetic() || c == '_');
        if token.text != "fn" || !is_named {
            continue;
        }
        let Some(end) = body_end(source, at) else { continue };
        let lines = end + 1 - token.line;
        let above = token.line.checked_sub(2).and_then(|index| comments.get(index));
        let is_flat = above.is_some_and(|line| line.trim() == "// tidy: flat match");
        if lines > FUNCTION_LINES && !is_flat {
            let name = source.token(at + 1);
            let what = format!("`{name}` has {lines} lines; {FUNCTION_LINES} at most");
            found.push(Fault::new(source.path, token.line, what));
        }
    }
    found
}

/// The last line of the function whose `fn` is the given token.
fn body_end(source: &Source, at: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for token in &source.tokens[at..] {
        match token.text.as_str() {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            ";" if braces == 0 && brackets == 0 => return None,
            "{" => braces += 1,
            "}" if braces == 1 => return Some(token.line),
            "}" => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The tests of foo.rs are in foo/tests.rs, where they do not make foo.rs long.
fn inline_tests(source: &Source) -> Option<Fault> {
    let words = |at: usize| [at, at + 1, at + 2].map(|at| source.token(at));
    let at = (0..source.tokens.len()).find(|at| words(*at) == ["mod", "tests", "{"])?;
    Some(Fault::new(source.path, source.tokens[at].line, "tests belong into a file of their own"))
}

/// What was left for later.
fn leftovers(source: &Source) -> Vec<Fault> {
    let mut found = Vec::new();
    for (index, line) in source.comments.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        if let Some(word) = words.find(|word| ["TODO", "FIXME", "XXX"].contains(word)) {
            found.push(Fault::new(source.path, index + 1, format!("{word} in a comment")));
        }
    }
    for (at, token) in source.tokens.iter().enumerate() {
        let is_macro = source.token(at + 1) == "!";
        if is_macro && ["todo", "dbg", "unimplemented"].contains(&token.text.as_str()) {
            found.push(Fault::new(source.path, token.line, format!("{}! in the code", token.text)));
        }
    }
    found
}
