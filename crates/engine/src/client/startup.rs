//! The first packets of a client, up to a known database and user.
//!
//!     client ──► SSLRequest, GSSENCRequest ──► we: N (each at most once)
//!     client ──► CancelRequest             ──► we: nothing, ever
//!     client ──► StartupMessage            ──► we: NegotiateProtocolVersion, if it wants the
//! future
//!
//! Nothing may be buffered behind a request for encryption: whoever could put plaintext there would
//! have it taken for encrypted (CVE-2021-3935).

use std::sync::Arc;

use wire::startup::{Packet, StartupError, StartupMessage};
use wire::tag::frontend;
use wire::write;

use crate::params::{self, Names, Params};
use crate::pool::route::{CONSOLE, NAME_MAX};
use crate::reason::Reason;

/// PgBouncer: a user name has less than this many bytes.
const USER_LIMIT: usize = 128;

/// Which requests for encryption have been refused already; each may come once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Refused {
    ssl: bool,
    gss: bool,
}

/// What a client wants, as its StartupMessage says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) database: Arc<str>,
    pub(crate) user: Arc<str>,
    pub(crate) params: Params,
    /// NegotiateProtocolVersion, when the client asked for more than we speak; else empty.
    pub(crate) negotiation: Vec<u8>,
}

/// What the next packet is.
#[derive(Debug)]
pub(crate) enum Step {
    /// Not complete: so many bytes are needed at least.
    Incomplete,
    /// Answer `N`; the packet had so many bytes.
    Refuse(usize),
    /// A cancel request with this key.
    Cancel(Vec<u8>),
    /// A login; the packet had so many bytes.
    Login(Box<Request>, usize),
    /// Something that ends the connection.
    Bad(Reason),
}

/// What startup parameters are for.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// Those that follow the client.
    pub(crate) names: &'a Names,
    /// `ignore_startup_parameters`.
    pub(crate) ignored: &'a [String],
}

/// Reads the next of the first packets.
pub(crate) fn read(bytes: &[u8], refused: &mut Refused, rules: Rules<'_>) -> Step {
    if let [frontend::PASSWORD, ..] = bytes {
        return bad("client password pkt before startup packet");
    }
    if let [first, ..] = bytes
        && *first != 0
    {
        // PgBouncer would take it for a message of a later stage and wait for the rest of it.
        return Step::Bad(bad_header(bytes));
    }
    match wire::startup::packet(bytes) {
        Ok(None) => Step::Incomplete,
        Ok(Some((Packet::SslRequest, len))) => refuse(&mut refused.ssl, bytes, len, "SSL"),
        Ok(Some((Packet::GssEncRequest, len))) => {
            refuse(&mut refused.gss, bytes, len, "GSSAPI encryption")
        }
        Ok(Some((Packet::Cancel(key), _))) => Step::Cancel(key.to_vec()),
        Ok(Some((Packet::Startup(message), len))) => match request(&message, rules) {
            Ok(request) => Step::Login(Box::new(request), len),
            Err(reason) => Step::Bad(reason),
        },
        Err(StartupError::Version2) => bad("old V2 protocol not supported"),
        Err(StartupError::NoTerminator) => {
            bad("invalid startup packet layout: expected terminator as last byte")
        }
        Err(StartupError::BadCancel) => Step::Bad(Reason::CancelRefused("bad cancel request")),
        Err(StartupError::BadLength(_) | StartupError::BadVersion { .. }) => {
            Step::Bad(bad_header(bytes))
        }
    }
}

/// PgBouncer shows the bytes that make no sense.
pub(crate) fn bad_header(bytes: &[u8]) -> Reason {
    const SHOWN: usize = 8;
    let hex = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    Reason::BadHeader(hex)
}

fn refuse(before: &mut bool, bytes: &[u8], len: usize, what: &'static str) -> Step {
    if bytes.len() > len {
        return Step::Bad(Reason::UnencryptedData(what));
    }
    if std::mem::replace(before, true) {
        return Step::Bad(bad_header(bytes));
    }
    Step::Refuse(len)
}

fn bad(text: &'static str) -> Step {
    Step::Bad(Reason::BadStartup(text.into()))
}

fn request(message: &StartupMessage<'_>, rules: Rules<'_>) -> Result<Request, Reason> {
    let mut reading = Reading::default();
    for (name, value) in message.parameters() {
        reading.parameter(name, value, rules)?;
    }
    // The console has no session that a parameter could change: it takes any.
    let target = reading.database.filter(|name| !name.is_empty()).or(reading.user);
    if let Some(reason) = reading.unsupported.filter(|_| target != Some(CONSOLE.as_bytes())) {
        return Err(reason);
    }
    let user = reading.user.filter(|user| !user.is_empty());
    let user = user.ok_or_else(|| Reason::BadStartup("no username supplied".into()))?;
    if user.len() >= USER_LIMIT {
        return Err(Reason::BadStartup("username too long".into()));
    }
    let database = reading.database.filter(|name| !name.is_empty()).unwrap_or(user);
    let database = database.get(..NAME_MAX).unwrap_or(database);
    let mut negotiation = Vec::new();
    if message.minor > 0 || !reading.options.is_empty() {
        write::negotiate_protocol_version(&mut negotiation, wire::PROTOCOL_3_0, &reading.options);
    }
    Ok(Request {
        database: text(database)?,
        user: text(user)?,
        params: reading.params,
        negotiation,
    })
}

/// Names are kept as text; PostgreSQL itself would compare bytes, but logs and the console show
/// them, and the configuration that they are looked up in is text.
fn text(name: &[u8]) -> Result<Arc<str>, Reason> {
    let name = std::str::from_utf8(name);
    name.map(Arc::from).map_err(|_| Reason::BadStartup("name is not valid UTF-8".into()))
}

#[derive(Default)]
struct Reading<'a> {
    database: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    params: Params,
    /// The `_pq_.` options, none of which is known.
    options: Vec<&'a [u8]>,
    /// Why a pool has to refuse them: the first one that nobody keeps.
    unsupported: Option<Reason>,
}

impl<'a> Reading<'a> {
    fn parameter(
        &mut self,
        name: &'a [u8],
        value: &'a [u8],
        rules: Rules<'_>,
    ) -> Result<(), Reason> {
        match name {
            b"database" => self.database = Some(value),
            b"user" => self.user = Some(value),
            b"options" => self.read_options(value, rules)?,
            b"replication" if !matches!(value, b"false" | b"off" | b"no" | b"0") => {
                let text = "replication connections are not supported";
                return Err(Reason::UnsupportedFeature(text));
            }
            b"replication" => {}
            _ if name.starts_with(b"_pq_.") => self.options.push(name),
            _ if self.track(name, value, rules.names)? || is_ignored(name, rules.ignored) => {}
            _ => {
                let refusal = unsupported("unsupported startup parameter", name);
                self.unsupported.get_or_insert(refusal);
            }
        }
        Ok(())
    }

    /// PgBouncer: the word `options` in `ignore_startup_parameters` lets unknown names inside of
    /// `options` pass; those that follow a client are kept all the same.
    fn read_options(&mut self, text: &[u8], rules: Rules<'_>) -> Result<(), Reason> {
        let ignored = rules.ignored;
        let lenient = is_ignored(b"options", ignored);
        let options = wire::startup::options(text).map_err(|_| {
            let text = "unsupported options startup parameter: only '-c config=val' and \
                        '--config=val' are allowed";
            Reason::BadStartup(text.into())
        })?;
        for (name, value) in &options {
            if !self.track(name, value, rules.names)? && !lenient && !is_ignored(name, ignored) {
                let refusal = unsupported("unsupported startup parameter in options", name);
                self.unsupported.get_or_insert(refusal);
            }
        }
        Ok(())
    }

    fn track(&mut self, name: &[u8], value: &[u8], names: &Names) -> Result<bool, Reason> {
        let Some(place) = names.place_at_startup(name) else { return Ok(false) };
        if value.len() > params::VALUE_MAX {
            return Err(Reason::InvalidServerParameter);
        }
        self.params.set(place, value);
        Ok(true)
    }
}

/// PgBouncer: the text has at most 127 bytes, however long the name is.
fn unsupported(what: &str, name: &[u8]) -> Reason {
    const TEXT_MAX: usize = 127;
    let mut text = format!("{what}: {}", String::from_utf8_lossy(name));
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    Reason::BadStartup(text.into())
}

fn is_ignored(name: &[u8], ignored: &[String]) -> bool {
    ignored.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
