//! The untagged first packets of a connection.
//!
//! ```text
//! client ──► SSLRequest, GSSENCRequest     any number of them, in any order
//! client ──► StartupMessage                user, database, options, … (protocol 3.0, 3.2)
//!         or CancelRequest                 the key of another connection, then goodbye
//! ```
//!
//! Packets are judged only when they are complete, except for their length, which is judged as soon
//! as it is there. Does not know which parameters are allowed, nor which packet may come when.

use crate::Malformed;
use crate::cursor::Cursor;

/// The version code of protocol 3.0.
pub const PROTOCOL_3_0: u32 = 0x0003_0000;
/// The version code of protocol 3.2, which brought long cancel keys (PostgreSQL 18).
pub const PROTOCOL_3_2: u32 = 0x0003_0002;
/// The request code of SSLRequest, in the place of a version.
pub const SSL_REQUEST: u32 = 80_877_103;
/// The request code of GSSENCRequest, in the place of a version.
pub const GSSENC_REQUEST: u32 = 80_877_104;
/// The request code of CancelRequest, in the place of a version.
pub const CANCEL_REQUEST: u32 = 80_877_102;

/// The longest first packet in bytes, its length field included.
///
/// PostgreSQL's limit has the same number but does not count the four bytes of the length field.
pub const STARTUP_MAX: usize = 10_000;

/// A first packet.
#[derive(Debug, Clone, Copy)]
pub enum Packet<'a> {
    /// May we speak TLS? Answered with one byte.
    SslRequest,
    /// May we speak GSSAPI encryption? Answered with one byte.
    GssEncRequest,
    /// Process id and secret of the connection whose query shall be cancelled: 8 bytes in protocol
    /// 3.0, 8 to 260 in 3.2.
    Cancel(&'a [u8]),
    /// Who the client is and what it wants.
    Startup(StartupMessage<'a>),
}

/// Why a first packet cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartupError {
    /// The length field, in bytes: under 8, over [`STARTUP_MAX`], or not 8 in an encryption
    /// request.
    BadLength(u32),
    /// Protocol 2, last spoken by PostgreSQL 13.
    Version2,
    /// A version that is neither 2 nor 3, or an unknown request code.
    BadVersion {
        /// The upper 16 bits of the version code.
        major: u16,
        /// The lower 16 bits of the version code.
        minor: u16,
    },
    /// A cancel key shorter than 4 or longer than 256 bytes.
    BadCancel,
    /// The parameters do not end with one empty name as the packet's last byte.
    NoTerminator,
}

/// Reads the packet at the start of `bytes` and tells its length in bytes; `None` while incomplete.
///
/// Any minor version of protocol 3 is accepted: the server answers a newer one than it knows with
/// NegotiateProtocolVersion.
pub fn packet(bytes: &[u8]) -> Result<Option<(Packet<'_>, usize)>, StartupError> {
    let Ok(length) = Cursor::new(bytes).u32() else {
        return Ok(None);
    };
    let total = usize::try_from(length).unwrap_or(usize::MAX);
    if !(PACKET_MIN..=STARTUP_MAX).contains(&total) {
        return Err(StartupError::BadLength(length));
    }
    let Some(packet) = bytes.get(..total) else {
        return Ok(None);
    };
    let too_short = |_| StartupError::BadLength(length);
    let mut cursor = Cursor::new(packet);
    cursor.u32().map_err(too_short)?;
    let code = cursor.u32().map_err(too_short)?;
    let body = cursor.rest();
    let read = match code {
        // PostgreSQL skips what follows the code. No client sends anything there, and bytes that
        // one side skips and the other reads are how requests are smuggled.
        SSL_REQUEST | GSSENC_REQUEST if !body.is_empty() => {
            return Err(StartupError::BadLength(length));
        }
        SSL_REQUEST => Packet::SslRequest,
        GSSENC_REQUEST => Packet::GssEncRequest,
        CANCEL_REQUEST if !CANCEL_BODY.contains(&body.len()) => {
            return Err(StartupError::BadCancel);
        }
        CANCEL_REQUEST => Packet::Cancel(body),
        version => Packet::Startup(StartupMessage::parse(version, body)?),
    };
    Ok(Some((read, total)))
}

/// A StartupMessage whose parameters are known to be well formed.
#[derive(Debug, Clone, Copy)]
pub struct StartupMessage<'a> {
    /// The protocol's major version: always 3.
    pub major: u16,
    /// The protocol's minor version, which may be one that nobody has defined.
    pub minor: u16,
    body: &'a [u8],
}

impl<'a> StartupMessage<'a> {
    /// Lists the parameters as pairs of name and value, in the order and number they were sent.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters { cursor: Cursor::new(self.body) }
    }

    fn parse(version: u32, body: &'a [u8]) -> Result<Self, StartupError> {
        let [a, b, c, d] = version.to_be_bytes();
        let (major, minor) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        match major {
            3 => {}
            2 => return Err(StartupError::Version2),
            _ => return Err(StartupError::BadVersion { major, minor }),
        }
        if !is_terminated(body) {
            return Err(StartupError::NoTerminator);
        }
        Ok(Self { major, minor, body })
    }
}

fn is_terminated(body: &[u8]) -> bool {
    let mut parameters = Parameters { cursor: Cursor::new(body) };
    while parameters.next().is_some() {}
    parameters.cursor.rest() == [0]
}

/// The parameters of a StartupMessage; ends at the empty name.
#[derive(Debug, Clone)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut ahead = self.cursor;
        let name = ahead.text().ok().filter(|name| !name.is_empty())?;
        let value = ahead.text().ok()?;
        self.cursor = ahead;
        Some((name, value))
    }
}

/// A setting's name and the value it shall have.
pub type Setting = (Vec<u8>, Vec<u8>);

/// Reads the startup parameter `options` as pairs of setting and value.
///
/// Understands `-c name=value`, `-cname=value` and `--name=value`, split into words and unescaped
/// as PostgreSQL does it (`pg_split_opts`); a dash in a name becomes an underscore. Fails on any
/// other switch, a setting without `=` and an empty name.
pub fn options(text: &[u8]) -> Result<Vec<Setting>, Malformed> {
    let mut settings = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let setting = match word.as_slice() {
            b"-c" => assignment(&words.next().ok_or(Malformed("-c without a setting"))?)?,
            [b'-', b'c' | b'-', setting @ ..] => assignment(setting)?,
            _ => return Err(Malformed("neither -c nor --")),
        };
        settings.push(setting);
    }
    Ok(settings)
}

fn assignment(setting: &[u8]) -> Result<Setting, Malformed> {
    let mut halves = setting.splitn(2, |byte| *byte == b'=');
    let name = halves.next().filter(|name| !name.is_empty());
    let name = name.ok_or(Malformed("setting without a name"))?;
    let value = halves.next().ok_or(Malformed("setting without a value"))?;
    let name = name.iter().map(|&byte| if byte == b'-' { b'_' } else { byte }).collect();
    Ok((name, value.to_vec()))
}

fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            // What C calls a space; a lone vertical tab separates words, too.
            b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => words.extend(word.take()),
            // A backslash at the very end escapes nothing and vanishes.
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

impl std::fmt::Display for StartupError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadLength(length) => write!(out, "impossible startup packet length {length}"),
            Self::Version2 => out.write_str("protocol version 2"),
            Self::BadVersion { major, minor } => write!(out, "protocol version {major}.{minor}"),
            Self::BadCancel => out.write_str("impossible cancel key length"),
            Self::NoTerminator => out.write_str("no terminator as last byte"),
        }
    }
}

impl std::error::Error for StartupError {}

const PACKET_MIN: usize = 8;
/// A process id and a secret of 4 to 256 bytes; protocol 3.0 knows only 4.
const CANCEL_BODY: std::ops::RangeInclusive<usize> = 8..=260;

#[cfg(test)]
mod tests;
