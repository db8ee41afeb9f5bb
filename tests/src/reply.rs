//! What a server has answered, as tests want to look at it.

use wire::{Fields, backend, tag};

/// One message of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Its first byte.
    pub tag: u8,
    /// What follows its length.
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = &self.body[..self.body.len().min(200)];
        write!(f, "{} {}", char::from(self.tag), String::from_utf8_lossy(start))
    }
}

/// An ErrorResponse or a NoticeResponse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The severity, as `FATAL`.
    pub severity: String,
    /// The SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
}

impl Refusal {
    pub(crate) fn parse(body: &[u8]) -> Self {
        let fields = Fields::parse(body).expect("a well-formed error or notice");
        let text =
            |field: Option<&[u8]>| String::from_utf8_lossy(field.unwrap_or(b"")).into_owned();
        Self {
            severity: text(fields.severity()),
            code: text(fields.code()),
            message: text(fields.message()),
        }
    }
}

/// The messages up to and including a ReadyForQuery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// All messages in their order.
    pub messages: Vec<Message>,
}

/// The tags of messages, one letter each.
pub fn tags(messages: &[Message]) -> String {
    messages.iter().map(|message| char::from(message.tag)).collect()
}

impl Reply {
    /// The tags of all messages, one letter each.
    pub fn tags(&self) -> String {
        tags(&self.messages)
    }

    /// The values of all rows; a null is "NULL".
    pub fn rows(&self) -> Vec<Vec<String>> {
        let rows = self.bodies(tag::backend::DATA_ROW);
        rows.map(|body| {
            let row = backend::data_row(body).expect("a well-formed row");
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            row.map(|value| value.map_or_else(|| "NULL".to_owned(), text)).collect()
        })
        .collect()
    }

    /// The first value of the first row.
    ///
    /// # Panics
    /// If there is none.
    pub fn value(&self) -> String {
        let rows = self.rows();
        let value = rows.first().and_then(|row| row.first());
        value.unwrap_or_else(|| panic!("no value in {self:?}")).clone()
    }

    /// All errors.
    pub fn errors(&self) -> Vec<Refusal> {
        self.bodies(tag::backend::ERROR_RESPONSE).map(Refusal::parse).collect()
    }

    /// The SQLSTATEs of all errors, separated by blanks; empty when all went well.
    pub fn codes(&self) -> String {
        let codes: Vec<String> = self.errors().into_iter().map(|error| error.code).collect();
        codes.join(" ")
    }

    /// The command tags, as `INSERT 0 1`.
    pub fn commands(&self) -> Vec<String> {
        let bodies = self.bodies(tag::backend::COMMAND_COMPLETE);
        bodies
            .map(|body| backend::command_complete(body).expect("a well-formed command tag"))
            .map(|tag| String::from_utf8_lossy(tag).into_owned())
            .collect()
    }

    /// The transaction status at the end: `I`, `T` or `E`.
    pub fn status(&self) -> char {
        self.messages.last().map_or('?', |last| char::from(last.body[0]))
    }

    fn bodies(&self, tag: u8) -> impl Iterator<Item = &[u8]> {
        let wanted = self.messages.iter().filter(move |message| message.tag == tag);
        wanted.map(|message| message.body.as_slice())
    }
}
