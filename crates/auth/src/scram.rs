//! What both halves of a SCRAM exchange share: attributes, nonces, base64 and numbers.
//!
//! ```text
//! message = attribute *("," attribute)      attribute = letter "=" value      (RFC 5802 section 7)
//! ```
//!
//! Strict where RFC 5802 is: whatever is not spelled exactly so is `Malformed`. Knows neither whose
//! turn it is nor what the values mean.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::denied::Denied;
use crate::keys::ITERATIONS_MAX;

/// The longest accepted SCRAM message in bytes, as in PostgreSQL.
pub(crate) const MESSAGE_MAX: usize = 1024;

/// What a half answers when it is asked for a step that is not its next one.
pub(crate) const OUT_OF_TURN: Denied = Denied::Malformed("message out of turn");

/// Reads the attributes of one message in order.
pub(crate) struct Attributes<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Attributes<'a> {
    /// Starts at the first attribute.
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: Some(message) }
    }

    /// Takes the next attribute, which must have this name.
    pub(crate) fn expect(&mut self, name: u8) -> Result<&'a [u8], Denied> {
        match self.next()? {
            Some((found, value)) if found == name => Ok(value),
            Some((b'm', _)) => Err(Denied::Malformed("unknown mandatory extension")),
            Some(_) => Err(Denied::Malformed("unexpected attribute")),
            None => Err(Denied::Malformed("attribute missing")),
        }
    }

    /// Skips optional extensions, which may only come last.
    pub(crate) fn skip_extensions(&mut self) -> Result<(), Denied> {
        while let Some((name, _)) = self.next()? {
            if b"anmrcsipve".contains(&name) {
                return Err(Denied::Malformed("attribute repeated or out of place"));
            }
        }
        Ok(())
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), Denied> {
        match self.rest {
            None => Ok(()),
            Some(_) => Err(Denied::Malformed("attributes after the last one")),
        }
    }

    fn next(&mut self) -> Result<Option<(u8, &'a [u8])>, Denied> {
        let Some(rest) = self.rest else {
            return Ok(None);
        };
        let mut parts = rest.splitn(2, |byte| *byte == b',');
        let attribute = parts.next().unwrap_or_default();
        self.rest = parts.next();
        match attribute {
            [name, b'=', value @ ..] if name.is_ascii_alphabetic() && !value.contains(&0) => {
                Ok(Some((*name, value)))
            }
            _ => Err(Denied::Malformed("not an attribute")),
        }
    }
}

/// Checks a nonce: printable ASCII, no comma (which ends the attribute), not empty.
pub(crate) fn nonce(value: &[u8]) -> Result<&[u8], Denied> {
    if !value.is_empty() && value.iter().all(u8::is_ascii_graphic) {
        Ok(value)
    } else {
        Err(Denied::Malformed("nonce is not printable"))
    }
}

/// Reads an iteration count in decimal, without sign or leading zeros.
pub(crate) fn parse_iterations(text: &[u8]) -> Result<u32, Denied> {
    match text {
        [b'0'] => return Err(Denied::Iterations),
        [] | [b'0', ..] => return Err(Denied::Malformed("iteration count")),
        _ if !text.iter().all(u8::is_ascii_digit) => {
            return Err(Denied::Malformed("iteration count"));
        }
        _ => {}
    }
    text.iter()
        .try_fold(0_u32, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u32::from(digit.wrapping_sub(b'0')))
        })
        .filter(|count| *count <= ITERATIONS_MAX)
        .ok_or(Denied::Iterations)
}

/// Reads a salt: canonical base64 (RFC 4648 section 3.5) of at least one byte.
pub(crate) fn decode_salt(text: &[u8]) -> Result<Vec<u8>, Denied> {
    match STANDARD.decode(text) {
        Ok(salt) if !salt.is_empty() => Ok(salt),
        _ => Err(Denied::Malformed("salt")),
    }
}

/// Reads a key, proof or signature: canonical base64 of exactly 32 bytes.
pub(crate) fn decode_key(text: &[u8]) -> Result<[u8; 32], Denied> {
    let key = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    key.ok_or(Denied::Malformed("not 32 bytes in base64"))
}

/// Writes base64 with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests;
