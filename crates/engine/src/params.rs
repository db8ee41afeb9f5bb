//! Session parameters that follow a client to whichever server it gets.
//!
//!     server ──► ParameterStatus ──► kept for the server and for the linked client
//!     link: client's values ≠ server's ──► one Query "SET …; SET …" before the first message
//!
//! What a server does not report is only known as far as the pooler itself has set it: the value
//! of a client's startup packet is set all the same, and taken back for the next client that has
//! none. A whole set is shared behind one pointer, so that "same settings?" is one comparison in
//! the steady state.

use std::sync::Arc;

/// The parameters that are kept for each client, in the order in which they are set: those that
/// PgBouncer keeps by default (1.26). Who one is comes first, because it decides what one may set.
const ALWAYS: [&str; 10] = [
    "session_authorization",
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
    "application_name",
    "IntervalStyle",
    "default_transaction_read_only",
    "scram_iterations",
    "search_path",
];

/// The place of `application_name` in [`ALWAYS`].
const APPLICATION_NAME: usize = 5;

/// The longest value that is kept, in bytes; PostgreSQL's own values are far shorter.
pub(crate) const VALUE_MAX: usize = 4096;

/// The most parameters that are kept.
const NAMES_MAX: usize = 64;

/// The names of the parameters that are kept, from the start of the process to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names(Arc<[Box<str>]>);

impl Names {
    /// Those that are kept always, and `track_extra_parameters`. What cannot be a name is left out.
    pub(crate) fn new(extra: &[String]) -> Self {
        let mut names: Vec<Box<str>> = ALWAYS.into_iter().map(Into::into).collect();
        for name in extra {
            let is_part = |letter: u8| letter.is_ascii_alphanumeric() || b"_.".contains(&letter);
            let is_known = names.iter().any(|known| known.eq_ignore_ascii_case(name));
            if is_known {
                continue;
            }
            if name.bytes().all(is_part) && names.len() < NAMES_MAX {
                names.push(name.as_str().into());
            } else {
                log::warn!("track_extra_parameters: \"{name}\" is not kept");
            }
        }
        Self(names.into())
    }

    /// The place of a parameter; names are compared without regard to case, as in PostgreSQL.
    pub(crate) fn place(&self, name: &[u8]) -> Option<usize> {
        self.0.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name))
    }

    /// The place of a parameter that a startup packet may give. Who a client is, it has to prove.
    pub(crate) fn place_at_startup(&self, name: &[u8]) -> Option<usize> {
        self.place(name).filter(|place| ALWAYS.get(*place) != Some(&"session_authorization"))
    }

    /// All names with their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.iter().map(|name| &**name).enumerate()
    }
}

/// The values of the parameters that are kept, by their place; `None` where a value is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Params {
    values: Vec<Option<Box<[u8]>>>,
}

impl Params {
    pub(crate) fn value(&self, place: usize) -> Option<&[u8]> {
        self.values.get(place)?.as_deref()
    }

    pub(crate) fn set(&mut self, place: usize, value: &[u8]) {
        self.put(place, Some(value));
    }

    /// Sets a value, or forgets it.
    pub(crate) fn put(&mut self, place: usize, value: Option<&[u8]>) {
        if self.values.len() <= place {
            self.values.resize(place + 1, None);
        }
        self.values[place] = value.map(Into::into);
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
        let length = self.values.len().max(defaults.values.len());
        self.values.resize(length, None);
        for (value, default) in self.values.iter_mut().zip(&defaults.values) {
            if value.is_none() {
                value.clone_from(default);
            }
        }
        self
    }

    /// Takes over what a client has of the parameters that its server does not report, of which
    /// `reported` knows nothing: they have just been set.
    pub(crate) fn take_unreported(&mut self, reported: &Self, client: &Self) {
        for place in 0..self.values.len().max(client.values.len()) {
            if reported.value(place).is_none() && self.value(place) != client.value(place) {
                self.put(place, client.value(place));
            }
        }
    }

    /// Whether anything is known of a parameter that the server does not report.
    pub(crate) fn has_unreported(&self, reported: &Self) -> bool {
        (0..self.values.len())
            .any(|place| self.value(place).is_some() && reported.value(place).is_none())
    }
}

/// The statements that give a server with `theirs` the values of a client with `ours`; empty when
/// nothing differs. A client without a value has never asked for one: if the pooler has set it for
/// another client, it is taken back.
pub(crate) fn difference(names: &Names, ours: &Arc<Params>, theirs: &Arc<Params>) -> Vec<u8> {
    let mut sql = Vec::new();
    if Arc::ptr_eq(ours, theirs) {
        return sql;
    }
    for (place, name) in names.iter() {
        match (ours.value(place), theirs.value(place)) {
            (Some(our), Some(their)) if same(place, our, their) => {}
            (Some(our), _) => push_set(&mut sql, place, name, our),
            (None, Some(_)) => {
                sql.extend_from_slice(b"RESET ");
                sql.extend_from_slice(name.as_bytes());
                sql.push(b';');
            }
            (None, None) => {}
        }
    }
    sql
}

/// PgBouncer: values are compared without regard to case; a name that somebody gave is not.
fn same(place: usize, one: &[u8], other: &[u8]) -> bool {
    match ALWAYS.get(place) {
        Some(&("application_name" | "session_authorization" | "search_path")) | None => {
            one == other
        }
        Some(_) => one.eq_ignore_ascii_case(other),
    }
}

/// SET would take a list of names, as in `search_path`, for one name with commas in it; so would
/// it be with anything that is not among those known here.
fn push_set(sql: &mut Vec<u8>, place: usize, name: &str, value: &[u8]) {
    let takes_text = ALWAYS.get(place).is_some_and(|name| *name != "search_path");
    if takes_text {
        sql.extend_from_slice(b"SET ");
        sql.extend_from_slice(name.as_bytes());
        sql.push(b'=');
        quote(value, sql);
        sql.push(b';');
    } else {
        sql.extend_from_slice(b"SELECT pg_catalog.set_config(");
        quote(name.as_bytes(), sql);
        sql.push(b',');
        quote(value, sql);
        sql.extend_from_slice(b",false);");
    }
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
