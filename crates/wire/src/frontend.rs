//! Borrowed views of what clients say, one function per message.
//!
//! ```text
//! client ──► Query
//! client ──► Parse, Bind, Describe, Execute, Close       Sync and Flush have no body
//! client ──► PasswordMessage, SASLInitialResponse        SASLResponse is its raw body
//! ```
//!
//! Each function takes the body behind the five header bytes. Bytes that are left over are an
//! error,
//! as in PostgreSQL. Knows neither order nor meaning: names are bytes and kinds are not judged.

use crate::Malformed;
use crate::cursor::Cursor;

/// Reads the text of a Query, without its final zero.
pub fn query(body: &[u8]) -> Result<&[u8], Malformed> {
    only_text(body)
}

/// Reads a Parse.
pub fn parse(body: &[u8]) -> Result<Parse<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let name = cursor.text()?;
    let query = cursor.text()?;
    let count = cursor.u16()?;
    let types = Types { cursor };
    for _ in 0..count {
        cursor.u32()?;
    }
    cursor.end()?;
    Ok(Parse { name, query, types })
}

/// Reads the two names of a Bind; what follows them is not looked at.
pub fn bind(body: &[u8]) -> Result<Bind<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let portal = cursor.text()?;
    let statement = cursor.text()?;
    Ok(Bind { portal, statement, rest: cursor.rest() })
}

/// Reads a Describe.
pub fn describe(body: &[u8]) -> Result<Describe<'_>, Malformed> {
    kind_and_name(body).map(|(kind, name)| Describe { kind, name })
}

/// Reads a Close.
pub fn close(body: &[u8]) -> Result<Close<'_>, Malformed> {
    kind_and_name(body).map(|(kind, name)| Close { kind, name })
}

/// Reads an Execute.
pub fn execute(body: &[u8]) -> Result<Execute<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let portal = cursor.text()?;
    let max_rows = cursor.i32()?;
    cursor.end()?;
    Ok(Execute { portal, max_rows })
}

/// Reads the password or md5 proof of a PasswordMessage, without its final zero.
pub fn password(body: &[u8]) -> Result<&[u8], Malformed> {
    only_text(body)
}

/// Reads a SASLInitialResponse.
pub fn sasl_initial(body: &[u8]) -> Result<SaslInitial<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let mechanism = cursor.text()?;
    let response = cursor.value()?;
    cursor.end()?;
    Ok(SaslInitial { mechanism, response })
}

/// Reads the reason that a CopyFail gives, without its final zero.
pub fn copy_fail(body: &[u8]) -> Result<&[u8], Malformed> {
    only_text(body)
}

/// A statement to prepare.
#[derive(Debug, Clone)]
pub struct Parse<'a> {
    /// The statement's name; empty for the unnamed one.
    pub name: &'a [u8],
    /// Its text.
    pub query: &'a [u8],
    /// The types of its parameters, as far as the client says them.
    pub types: Types<'a>,
}

/// The type oids of a Parse; 0 leaves a type to the server.
#[derive(Debug, Clone)]
pub struct Types<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Types<'a> {
    /// Returns the oids that are still to come as they stand in the message, four bytes each.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.cursor.rest()
    }
}

impl Iterator for Types<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.cursor.u32().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.as_bytes().as_chunks::<4>().0.len();
        (count, Some(count))
    }
}

impl ExactSizeIterator for Types<'_> {}

/// A prepared statement to be made a portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal's name; empty for the unnamed one.
    pub portal: &'a [u8],
    /// The statement's name; empty for the unnamed one.
    pub statement: &'a [u8],
    /// Formats and values of the parameters and formats of the results, unexamined.
    pub rest: &'a [u8],
}

impl<'a> Bind<'a> {
    /// Reads what follows the names: how many values there are, and the formats of the results.
    pub fn values(&self) -> Result<(u16, Formats<'a>), Malformed> {
        let mut cursor = Cursor::new(self.rest);
        for _ in 0..cursor.u16()? {
            cursor.i16()?;
        }
        let count = cursor.u16()?;
        for _ in 0..count {
            cursor.value()?;
        }
        let formats = cursor.u16()?;
        let results = Formats { cursor };
        for _ in 0..formats {
            cursor.i16()?;
        }
        cursor.end()?;
        Ok((count, results))
    }
}

/// The formats that a Bind wants its results in, 0 for text and 1 for binary: none for all text,
/// one for all alike, or one for each column.
#[derive(Debug, Clone)]
pub struct Formats<'a> {
    cursor: Cursor<'a>,
}

impl Iterator for Formats<'_> {
    type Item = i16;

    fn next(&mut self) -> Option<i16> {
        self.cursor.i16().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.cursor.rest().as_chunks::<2>().0.len();
        (count, Some(count))
    }
}

impl ExactSizeIterator for Formats<'_> {}

/// A question what a statement or portal looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Describe<'a> {
    /// `S` for a statement, `P` for a portal. PostgreSQL answers any other with an error.
    pub kind: u8,
    /// Its name; empty for the unnamed one.
    pub name: &'a [u8],
}

/// A statement or portal to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close<'a> {
    /// `S` for a statement, `P` for a portal. PostgreSQL answers any other with an error.
    pub kind: u8,
    /// Its name; empty for the unnamed one.
    pub name: &'a [u8],
}

/// A portal to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The portal's name; empty for the unnamed one.
    pub portal: &'a [u8],
    /// How many rows to return before the portal is suspended; 0 for all.
    pub max_rows: i32,
}

/// The beginning of a SASL exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaslInitial<'a> {
    /// The mechanism that the client has chosen, such as `SCRAM-SHA-256`.
    pub mechanism: &'a [u8],
    /// The mechanism's first message, if the client sends one.
    pub response: Option<&'a [u8]>,
}

fn only_text(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut cursor = Cursor::new(body);
    let text = cursor.text()?;
    cursor.end()?;
    Ok(text)
}

fn kind_and_name(body: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    let mut cursor = Cursor::new(body);
    let kind = cursor.u8()?;
    let name = cursor.text()?;
    cursor.end()?;
    Ok((kind, name))
}

#[cfg(test)]
mod tests;
