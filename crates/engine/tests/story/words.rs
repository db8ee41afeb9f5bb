//! The words of a line: bare ones, quoted ones, and commas between messages.
//!
//! ```text
//! Parse "" "select 1", Sync        two messages; the first has three words
//! DataRow "x"*70000 null           a text of 70,000 bytes, and a null
//! Startup application_name="a b"   one word, part of it quoted
//! ```
//!
//! Inside of quotes a backslash escapes as in Rust: `\"`, `\\`, `\n`, `\xff`.

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: Vec<u8>,
    /// Whether any of it stood in quotes.
    pub(crate) quoted: bool,
}

impl Word {
    /// The word as a text of the story's own language.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).expect("words outside of quotes are text")
    }

    /// A value: `null` without quotes is none.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        (self.quoted || self.text != b"null").then_some(&self.text)
    }

    /// The word as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self) -> T {
        let text = self.as_str();
        text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
    }

    /// `name=value` in two.
    pub(crate) fn pair(&self) -> (&[u8], &[u8]) {
        let at = self.text.iter().position(|byte| *byte == b'=');
        let at = at.unwrap_or_else(|| panic!("not name=value: {}", self.text.escape_ascii()));
        (&self.text[..at], &self.text[at + 1..])
    }
}

/// The messages of a line, each as its words.
pub(crate) fn messages(line: &str) -> Vec<Vec<Word>> {
    let mut messages = vec![Vec::new()];
    let mut bytes = line.bytes().peekable();
    while let Some(byte) = bytes.peek() {
        match byte {
            b' ' => drop(bytes.next()),
            b',' => {
                bytes.next();
                messages.push(Vec::new());
            }
            _ => messages.last_mut().expect("one at least").push(word(&mut bytes)),
        }
    }
    messages
}

/// The words of a line without commas.
pub(crate) fn words(line: &str) -> Vec<Word> {
    let mut all = messages(line);
    assert_eq!(all.len(), 1, "one message on this line: {line}");
    all.remove(0)
}

type Bytes<'a> = std::iter::Peekable<std::str::Bytes<'a>>;

fn word(bytes: &mut Bytes<'_>) -> Word {
    let mut word = Word { text: Vec::new(), quoted: false };
    while let Some(byte) = bytes.next_if(|byte| !matches!(byte, b' ' | b',')) {
        if byte == b'"' {
            word.quoted = true;
            let text = quoted(bytes);
            let times = times(bytes);
            word.text.extend(text.repeat(times));
        } else {
            word.text.push(byte);
        }
    }
    word
}

fn quoted(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    loop {
        match bytes.next().expect("the quote is closed") {
            b'"' => return text,
            b'\\' => text.push(escaped(bytes)),
            byte => text.push(byte),
        }
    }
}

fn escaped(bytes: &mut Bytes<'_>) -> u8 {
    match bytes.next() {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'x') => {
            let mut digit = || {
                let digit = bytes.next().and_then(|digit| char::from(digit).to_digit(16));
                digit.expect("two hex digits") as u8
            };
            digit() << 4 | digit()
        }
        Some(byte @ (b'"' | b'\\' | b'\'')) => byte,
        other => panic!("unknown escape: {other:?}"),
    }
}

fn times(bytes: &mut Bytes<'_>) -> usize {
    if bytes.next_if_eq(&b'*').is_none() {
        return 1;
    }
    let mut times = 0;
    while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
        times = times * 10 + usize::from(digit - b'0');
    }
    times
}

/// A text in quotes; many equal bytes as a repetition.
pub(crate) fn quote(text: &[u8]) -> String {
    let plain = |text: &[u8]| format!("\"{}\"", text.escape_ascii()).replace("\\'", "'");
    match text {
        [first, .., last] if text.len() > 40 => {
            let head = text.iter().take_while(|byte| *byte == first).count();
            let tail = text.iter().rev().take_while(|byte| *byte == last).count();
            match (head, tail) {
                (head, _) if head == text.len() => format!("{}*{head}", plain(&[*first])),
                (head, _) if head > 40 => {
                    format!("{}*{head}{}", plain(&[*first]), plain(&text[head..]))
                }
                (_, tail) if tail > 40 => {
                    let head = plain(&text[..text.len() - tail]);
                    format!("{head}{}*{tail}", plain(&[*last]))
                }
                _ => plain(text),
            }
        }
        _ => plain(text),
    }
}

/// A word as short as it can be: bare where that reads back the same.
pub(crate) fn bare(text: &[u8]) -> String {
    let simple = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:/+-".contains(byte);
    match text {
        [_, ..] if text.iter().all(simple) => text.escape_ascii().to_string(),
        _ => quote(text),
    }
}
