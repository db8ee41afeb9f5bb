//! The fields of ErrorResponse and NoticeResponse, and SQLSTATE codes by name.
//!
//! ```text
//! server ──► ErrorResponse     (letter, text)… 0      S severity · V the same, never translated ·
//!         or NoticeResponse                           C code · M message · D detail · H hint · …
//! ```
//!
//! Every field is optional here, though PostgreSQL always sends S, V, C and M: poolers and old
//! servers do not. Knows no texts of its own. Source: PostgreSQL's manual, "Error and Notice
//! Message
//! Fields" and "PostgreSQL Error Codes".

use crate::Malformed;
use crate::cursor::Cursor;

/// The fields of one error or notice, known to be well formed.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    body: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads the body of an ErrorResponse or a NoticeResponse.
    pub fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body);
        while cursor.u8()? != 0 {
            cursor.text()?;
        }
        cursor.end()?;
        Ok(Self { body })
    }

    /// Returns the severity: the untranslated one (V, since PostgreSQL 9.6) if there is one, else
    /// S.
    pub fn severity(&self) -> Option<&'a [u8]> {
        self.field(b'V').or_else(|| self.field(b'S'))
    }

    /// Returns the SQLSTATE.
    pub fn code(&self) -> Option<&'a [u8]> {
        self.field(b'C')
    }

    /// Returns the message itself.
    pub fn message(&self) -> Option<&'a [u8]> {
        self.field(b'M')
    }

    /// Returns the secondary message that carries more detail.
    pub fn detail(&self) -> Option<&'a [u8]> {
        self.field(b'D')
    }

    /// Returns the suggestion what to do about it.
    pub fn hint(&self) -> Option<&'a [u8]> {
        self.field(b'H')
    }

    /// Returns the first field with this letter.
    pub fn field(&self, letter: u8) -> Option<&'a [u8]> {
        self.iter().find(|field| field.0 == letter).map(|field| field.1)
    }

    /// Lists all fields, letter and text, in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut cursor = Cursor::new(self.body);
        std::iter::from_fn(move || match cursor.u8() {
            Ok(0) | Err(_) => None,
            Ok(letter) => cursor.text().ok().map(|text| (letter, text)),
        })
    }
}

/// SQLSTATE codes by the names that PostgreSQL gives them.
#[expect(missing_docs, reason = "the names are PostgreSQL's own, explained in its manual")]
pub mod sqlstate {
    pub const SUCCESSFUL_COMPLETION: &str = "00000";
    pub const CONNECTION_EXCEPTION: &str = "08000";
    pub const CONNECTION_DOES_NOT_EXIST: &str = "08003";
    pub const CONNECTION_FAILURE: &str = "08006";
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    pub const ACTIVE_SQL_TRANSACTION: &str = "25001";
    pub const IN_FAILED_SQL_TRANSACTION: &str = "25P02";
    pub const IDLE_IN_TRANSACTION_SESSION_TIMEOUT: &str = "25P03";
    pub const TRANSACTION_TIMEOUT: &str = "25P04";
    pub const INVALID_SQL_STATEMENT_NAME: &str = "26000";
    pub const INVALID_AUTHORIZATION_SPECIFICATION: &str = "28000";
    pub const INVALID_PASSWORD: &str = "28P01";
    pub const INVALID_CURSOR_NAME: &str = "34000";
    pub const INVALID_CATALOG_NAME: &str = "3D000";
    pub const SYNTAX_ERROR: &str = "42601";
    pub const UNDEFINED_OBJECT: &str = "42704";
    pub const DUPLICATE_CURSOR: &str = "42P03";
    pub const DUPLICATE_PREPARED_STATEMENT: &str = "42P05";
    pub const INSUFFICIENT_RESOURCES: &str = "53000";
    pub const OUT_OF_MEMORY: &str = "53200";
    pub const TOO_MANY_CONNECTIONS: &str = "53300";
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: &str = "55000";
    pub const CANT_CHANGE_RUNTIME_PARAM: &str = "55P02";
    pub const OPERATOR_INTERVENTION: &str = "57000";
    pub const QUERY_CANCELED: &str = "57014";
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    pub const CRASH_SHUTDOWN: &str = "57P02";
    pub const CANNOT_CONNECT_NOW: &str = "57P03";
    pub const DATABASE_DROPPED: &str = "57P04";
    pub const IDLE_SESSION_TIMEOUT: &str = "57P05";
    pub const CONFIG_FILE_ERROR: &str = "F0000";
    pub const INTERNAL_ERROR: &str = "XX000";
}

#[cfg(test)]
mod tests;
