//! Borrowed views of what servers say, one function per message.
//!
//! ```text
//! server ──► Authentication, NegotiateProtocolVersion, ParameterStatus, BackendKeyData
//! server ──► RowDescription, DataRow, CommandComplete, NotificationResponse
//! server ──► ReadyForQuery                    ErrorResponse and NoticeResponse are in `fields`
//! ```
//!
//! Each function takes the body behind the five header bytes and judges all of it, so that the
//! iterators it returns cannot fail. Servers are not trusted more than clients.

use crate::Malformed;
use crate::cursor::Cursor;

/// Reads the transaction status of a ReadyForQuery.
#[inline]
pub fn ready_for_query(body: &[u8]) -> Result<TransactionStatus, Malformed> {
    match body {
        b"I" => Ok(TransactionStatus::Idle),
        b"T" => Ok(TransactionStatus::Block),
        b"E" => Ok(TransactionStatus::Failed),
        _ => Err(Malformed("unknown transaction status")),
    }
}

/// Reads name and value of a ParameterStatus.
pub fn parameter_status(body: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let mut cursor = Cursor::new(body);
    let name = cursor.text()?;
    let value = cursor.text()?;
    cursor.end()?;
    Ok((name, value))
}

/// Reads a BackendKeyData, whose secret has 4 bytes in protocol 3.0 and 4 to 256 in 3.2.
pub fn backend_key(body: &[u8]) -> Result<BackendKey<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let pid = cursor.u32()?;
    let secret = cursor.rest();
    if !(4..=256).contains(&secret.len()) {
        return Err(Malformed("impossible cancel key length"));
    }
    Ok(BackendKey { pid, secret })
}

/// Reads which authentication the server asks for, or that it is content.
pub fn authentication(body: &[u8]) -> Result<Authentication<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let request = match cursor.u32()? {
        0 => Authentication::Ok,
        3 => Authentication::CleartextPassword,
        5 => Authentication::Md5Password(cursor.chunk()?),
        10 => return sasl_mechanisms(cursor.rest()).map(Authentication::Sasl),
        11 => return Ok(Authentication::SaslContinue(cursor.rest())),
        12 => return Ok(Authentication::SaslFinal(cursor.rest())),
        other => return Ok(Authentication::Other(other)),
    };
    cursor.end()?;
    Ok(request)
}

/// Reads the command tag of a CommandComplete, such as `INSERT 0 1`.
pub fn command_complete(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut cursor = Cursor::new(body);
    let tag = cursor.text()?;
    cursor.end()?;
    Ok(tag)
}

/// Reads the values of a DataRow.
pub fn data_row(body: &[u8]) -> Result<Row<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let count = cursor.u16()?;
    let row = Row { cursor, left: count };
    for _ in 0..count {
        cursor.value()?;
    }
    cursor.end()?;
    Ok(row)
}

/// Reads the columns of a RowDescription.
pub fn row_description(body: &[u8]) -> Result<Columns<'_>, Malformed> {
    let mut cursor = Cursor::new(body);
    let count = cursor.u16()?;
    let columns = Columns { cursor, left: count };
    for _ in 0..count {
        column(&mut cursor)?;
    }
    cursor.end()?;
    Ok(columns)
}

/// Reads the parameter types of a ParameterDescription.
pub fn parameter_description(body: &[u8]) -> Result<impl Iterator<Item = u32>, Malformed> {
    let mut cursor = Cursor::new(body);
    let count = cursor.u16()?;
    let oids = cursor.bytes(usize::from(count).saturating_mul(4))?;
    cursor.end()?;
    Ok(oids.as_chunks().0.iter().map(|oid| u32::from_be_bytes(*oid)))
}

/// Reads who notifies (a process id), the channel and the payload of a NotificationResponse.
pub fn notification(body: &[u8]) -> Result<(u32, &[u8], &[u8]), Malformed> {
    let mut cursor = Cursor::new(body);
    let pid = cursor.u32()?;
    let channel = cursor.text()?;
    let payload = cursor.text()?;
    cursor.end()?;
    Ok((pid, channel, payload))
}

/// Reads the newest version that the server knows and the names of the options it does not know.
///
/// The documentation promises a minor version alone; PostgreSQL and PgBouncer send the whole code.
pub fn negotiate_protocol_version(body: &[u8]) -> Result<(u32, Names<'_>), Malformed> {
    let mut cursor = Cursor::new(body);
    let newest = cursor.u32()?;
    let count = cursor.u32()?;
    let names = Names { cursor };
    // A hostile count costs nothing: every name takes at least one byte of the body.
    for _ in 0..count {
        cursor.text()?;
    }
    cursor.end()?;
    Ok((newest, names))
}

/// Where a server stands between two queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside of a transaction (`I`).
    Idle,
    /// In a transaction block (`T`).
    Block,
    /// In a transaction block that can only be rolled back (`E`).
    Failed,
}

impl TransactionStatus {
    /// Returns the byte that stands for it in ReadyForQuery.
    pub fn as_byte(self) -> u8 {
        match self {
            Self::Idle => b'I',
            Self::Block => b'T',
            Self::Failed => b'E',
        }
    }
}

/// What a client must know in order to cancel its query later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendKey<'a> {
    /// The server's process id.
    pub pid: u32,
    /// The secret, 4 to 256 bytes.
    pub secret: &'a [u8],
}

/// What the server asks for, or says, during authentication.
#[derive(Debug, Clone)]
pub enum Authentication<'a> {
    /// Authentication is done.
    Ok,
    /// It wants the password in clear.
    CleartextPassword,
    /// It wants the md5 proof, salted with these bytes.
    Md5Password([u8; 4]),
    /// It offers these SASL mechanisms.
    Sasl(Names<'a>),
    /// The mechanism's next message.
    SaslContinue(&'a [u8]),
    /// The mechanism's last message.
    SaslFinal(&'a [u8]),
    /// A method that a pooler does not speak (Kerberos, GSSAPI, SSPI, …), by its code.
    Other(u32),
}

/// A list of strings; ends where the message does.
#[derive(Debug, Clone)]
pub struct Names<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Names<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.cursor.text().ok()
    }
}

/// The values of a DataRow from left to right; `None` is a null.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    cursor: Cursor<'a>,
    left: u16,
}

impl<'a> Iterator for Row<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        self.cursor.value().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Row<'_> {}

/// The columns of a RowDescription from left to right.
#[derive(Debug, Clone)]
pub struct Columns<'a> {
    cursor: Cursor<'a>,
    left: u16,
}

impl<'a> Iterator for Columns<'a> {
    type Item = Column<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        column(&mut self.cursor).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Columns<'_> {}

/// One column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The table it comes from, or 0.
    pub table_oid: u32,
    /// Its number in that table, or 0.
    pub attribute: i16,
    /// Its type.
    pub type_oid: u32,
    /// The type's size in bytes; negative if it varies.
    pub type_size: i16,
    /// The type's modifier, such as the length of a `varchar`; -1 if it has none.
    pub type_modifier: i32,
    /// 0 for text, 1 for binary.
    pub format: i16,
}

fn column<'a>(cursor: &mut Cursor<'a>) -> Result<Column<'a>, Malformed> {
    Ok(Column {
        name: cursor.text()?,
        table_oid: cursor.u32()?,
        attribute: cursor.i16()?,
        type_oid: cursor.u32()?,
        type_size: cursor.i16()?,
        type_modifier: cursor.i32()?,
        format: cursor.i16()?,
    })
}

fn sasl_mechanisms(list: &[u8]) -> Result<Names<'_>, Malformed> {
    let Some((0, names)) = list.split_last() else {
        return Err(Malformed("list of mechanisms without its final zero"));
    };
    let mut cursor = Cursor::new(names);
    while !cursor.rest().is_empty() {
        if cursor.text()?.is_empty() {
            return Err(Malformed("empty name in the list of mechanisms"));
        }
    }
    Ok(Names { cursor: Cursor::new(names) })
}

#[cfg(test)]
mod tests;
