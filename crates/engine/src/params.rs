//! Session parameters that follow a client to whichever server it gets.
//!
//!     server ──► ParameterStatus ──► kept for the server and for the linked client
//!     link: client's values ≠ server's ──► one Query "SET …; SET …" before the first message
//!
//! Only parameters that PostgreSQL reports can be kept this way. A whole set is shared behind one
//! pointer, so that "same settings?" is one comparison in the steady state.

use std::sync::Arc;

/// The parameters that are kept for each client (contract of PgBouncer's `track_extra_parameters`:
/// its fixed five and the default extra one), in the order in which they are set.
pub(crate) const TRACKED: [&str; 6] = [
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
    "application_name",
    "IntervalStyle",
];

/// The place of `application_name` in [`TRACKED`].
const APPLICATION_NAME: usize = 4;

/// The longest value that is kept, in bytes; PostgreSQL's own values are far shorter.
pub(crate) const VALUE_MAX: usize = 4096;

/// The place of a parameter in [`TRACKED`]; names are compared without regard to case, as in
/// PostgreSQL.
pub(crate) fn tracked(name: &[u8]) -> Option<usize> {
    TRACKED.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// The values of the tracked parameters; `None` where a value is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Params {
    values: [Option<Box<[u8]>>; TRACKED.len()],
}

impl Params {
    pub(crate) fn value(&self, place: usize) -> Option<&[u8]> {
        self.values[place].as_deref()
    }

    pub(crate) fn set(&mut self, place: usize, value: &[u8]) {
        self.values[place] = Some(value.into());
    }

    pub(crate) fn application_name(&self) -> &[u8] {
        self.value(APPLICATION_NAME).unwrap_or_default()
    }

    /// These values, with the origin of the client behind its name (PgBouncer's
    /// `application_name_add_host`).
    pub(crate) fn with_origin(mut self, origin: &str) -> Self {
        let name = Some(self.application_name()).filter(|name| !name.is_empty()).unwrap_or(b"app");
        let name = [name, b" - ", origin.as_bytes()].concat();
        self.set(APPLICATION_NAME, &name);
        self
    }

    /// These values, with `defaults` where none is known.
    pub(crate) fn or(mut self, defaults: &Self) -> Self {
        for (value, default) in self.values.iter_mut().zip(&defaults.values) {
            if value.is_none() {
                value.clone_from(default);
            }
        }
        self
    }
}

/// The statements that give a server with `theirs` the values of a client with `ours`; empty when
/// nothing differs. Where the server's value is not known nothing can be compared.
pub(crate) fn difference(ours: &Arc<Params>, theirs: &Arc<Params>) -> Vec<u8> {
    let mut sql = Vec::new();
    if Arc::ptr_eq(ours, theirs) {
        return sql;
    }
    for (place, name) in TRACKED.iter().enumerate() {
        if let (Some(our), Some(their)) = (ours.value(place), theirs.value(place))
            && !same(place, our, their)
        {
            sql.extend_from_slice(b"SET ");
            sql.extend_from_slice(name.as_bytes());
            sql.push(b'=');
            quote(our, &mut sql);
            sql.push(b';');
        }
    }
    sql
}

/// PgBouncer: values are compared without regard to case; a name that somebody gave is not.
fn same(place: usize, one: &[u8], other: &[u8]) -> bool {
    if place == APPLICATION_NAME { one == other } else { one.eq_ignore_ascii_case(other) }
}

/// A string literal that means the same whatever `standard_conforming_strings` and the server's
/// current `client_encoding` say. PostgreSQL itself keeps only ASCII of an `application_name`.
fn quote(value: &[u8], sql: &mut Vec<u8>) {
    if value.contains(&b'\\') {
        sql.push(b'E');
    }
    sql.push(b'\'');
    for &byte in value {
        if byte == b'\'' || byte == b'\\' {
            sql.push(byte);
        }
        sql.push(if byte.is_ascii() { byte } else { b'?' });
    }
    sql.push(b'\'');
}

#[cfg(test)]
mod tests;
