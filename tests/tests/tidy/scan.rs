//! Rust source taken apart: code without comments and texts, comments without code, tokens.
//!
//! Both halves keep the lines and columns of the whole, with blanks where the other half is, so
//! that a rule can say where a fault is. Knows what a string, a character, a lifetime and a nested
//! comment look like; knows nothing of syntax.

/// One file of Rust, as the rules want to see it.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) comments: String,
    pub(crate) tokens: Vec<Token>,
}

/// A word, `::`, or a single sign.
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &'a str, text: &'a str) -> Self {
        let (code, comments) = split(text);
        Self { path, text, comments, tokens: tokens(&code) }
    }

    /// Tells whether this file holds tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
    }

    /// The text of the token at a position; empty beyond both ends.
    pub(crate) fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }
}

/// What a stretch of text is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// Splits text into code and comments, each with blanks in place of everything else.
fn split(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < chars.len() {
        let (kind, length) = stretch(&chars, at);
        for &c in &chars[at..at + length] {
            let keep = |wanted| if kind == wanted || c == '\n' { c } else { ' ' };
            code.push(keep(Kind::Code));
            comments.push(keep(Kind::Comment));
        }
        at += length;
    }
    (code, comments)
}

/// The kind and length of what starts at a position; code comes one character at a time.
fn stretch(chars: &[char], at: usize) -> (Kind, usize) {
    let rest = &chars[at..];
    let is_in_word = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => (Kind::Comment, until(rest, |c| c == '\n')),
        ['/', '*', ..] => (Kind::Comment, nested_comment(rest)),
        ['"', ..] => (Kind::Text, quoted(rest, 1)),
        ['\'', '\\', ..] => (Kind::Text, character(rest)),
        ['\'', _, '\'', ..] => (Kind::Text, 3),
        ['r', ..] if !is_in_word => raw(rest, 1),
        ['b' | 'c', 'r', ..] if !is_in_word => raw(rest, 2),
        _ => (Kind::Code, 1),
    }
}

fn until(rest: &[char], is_end: impl Fn(char) -> bool) -> usize {
    rest.iter().position(|c| is_end(*c)).unwrap_or(rest.len())
}

fn nested_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a text up to its closing quote; it starts with `before` characters to skip.
fn quoted(rest: &[char], before: usize) -> usize {
    let mut at = before;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of a character that is written with a backslash: '\'', '\n', '\u{1F418}'.
fn character(rest: &[char]) -> usize {
    let end = rest.iter().skip(3).position(|c| *c == '\'');
    end.map_or(rest.len(), |end| end + 4)
}

/// A text without escapes, as r#"…"#; or code, when it is a word that starts with r.
fn raw(rest: &[char], before: usize) -> (Kind, usize) {
    let hashes = until(&rest[before..], |c| c != '#');
    let open = before + hashes;
    if rest.get(open) != Some(&'"') {
        return (Kind::Code, 1);
    }
    let is_end = |at: usize| {
        let end = rest.get(at..=at + hashes);
        end.is_some_and(|end| end[0] == '"' && end[1..].iter().all(|c| *c == '#'))
    };
    let end = (open + 1..rest.len()).find(|at| is_end(*at));
    (Kind::Text, end.map_or(rest.len(), |end| end + 1 + hashes))
}

fn tokens(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { line: index + 1, text: text.to_owned() });
            rest = after.trim_start();
        }
    }
    tokens
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn code_and_comments_are_told_apart() {
    let check = |text: &str, code: &str, comments: &str| {
        assert_eq!(split(text), (code.to_owned(), comments.to_owned()), "{text:?}");
    };
    check("a // b\nc", "a     \nc", "  // b\n ");
    check("a/*b/*c*/d*/e", "a           e", " /*b/*c*/d*/ ");
    check(r#"f("a\"//{")g"#, "f(        )g", "            ");
    check(r##"r#"{"}"#;r#fn"##, r##"        ;r#fn"##, &" ".repeat(13));
    check(r#"br"\";cr"{";b"{""#, r#"     ;     ;b   "#, &" ".repeat(16));
    check("'{';'\\'';b'\\u{7b}'", "   ;    ;b        ", &" ".repeat(18));
    check("&'a str;'b: loop", "&'a str;'b: loop", &" ".repeat(16));
    check("'→'{\"→\"}", "   {   }", &" ".repeat(8));
    check("\"open", "     ", "     ");
}

#[test]
fn tokens_are_words_paths_and_signs() {
    let source = Source::new("x.rs", "use std::fs; // no\n  fn go_2(&self)");
    let seen: Vec<(usize, &str)> =
        source.tokens.iter().map(|token| (token.line, token.text.as_str())).collect();
    let first = ["use", "std", "::", "fs", ";"].map(|text| (1, text));
    let second = ["fn", "go_2", "(", "&", "self", ")"].map(|text| (2, text));
    assert_eq!(seen, [first.as_slice(), second.as_slice()].concat());
}
