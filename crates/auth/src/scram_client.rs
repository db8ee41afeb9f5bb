//! SCRAM-SHA-256 as the pooler proves itself to a server (RFC 5802, RFC 7677).
//!
//! ```text
//! `first`      ──►  client-first  n,,n=,r=C
//! `challenge`  ◄──  server-first  r=CS,s=SALT,i=4096
//! `last`       ──►  client-final  c=biws,r=CS,p=P
//! `verify`     ◄──  server-final  v=SIGNATURE
//! ```
//!
//! Between `challenge` and `last` the caller finds the keys: cached, passed through from a client,
//! or derived (slow). The user name stays empty: PostgreSQL takes it from the startup packet.
//!
//! The server is a stranger until `verify` succeeds: every length and the iteration count have a
//! bound.

use std::fmt;
use std::mem;

use subtle::ConstantTimeEq;

use crate::denied::Denied;
use crate::keys::{ScramKeys, hmac, sha256, xor};
use crate::scram::{
    Attributes, MESSAGE_MAX, OUT_OF_TURN, decode_key, decode_salt, encode, nonce, parse_iterations,
};

/// One exchange with one server; any refusal ends it.
pub struct ScramClient {
    nonce: String,
    step: Step,
}

/// What the keys must be derived with, as the server asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The salt of the user.
    pub salt: Vec<u8>,
    /// The number of PBKDF2 rounds, 1 to [`ITERATIONS_MAX`](crate::ITERATIONS_MAX).
    pub iterations: u32,
}

enum Step {
    /// Waits for server-first.
    Asking,
    /// Has understood server-first and waits for the keys.
    Challenged { nonce: Vec<u8>, server_first: Vec<u8> },
    /// Has sent its proof and waits for this signature of the server.
    Proven { signature: [u8; 32] },
    /// Has refused the server.
    Over,
}

impl ScramClient {
    /// Starts an exchange; the nonce is 18 fresh random bytes.
    #[must_use]
    pub fn new(nonce: [u8; 18]) -> Self {
        Self { nonce: encode(&nonce), step: Step::Asking }
    }

    /// Returns the client-first-message.
    #[must_use]
    pub fn first(&self) -> Vec<u8> {
        format!("n,,{}", self.first_bare()).into_bytes()
    }

    /// Reads the server-first-message.
    ///
    /// # Errors
    /// `Nonce` when the server's nonce does not continue ours, `Iterations` when it asks for none
    /// or too much work, else `Malformed`.
    pub fn challenge(&mut self, server_first: &[u8]) -> Result<Challenge, Denied> {
        let Step::Asking = mem::replace(&mut self.step, Step::Over) else {
            return Err(OUT_OF_TURN);
        };
        if server_first.len() > MESSAGE_MAX {
            return Err(Denied::Malformed("message too long"));
        }
        let mut attributes = Attributes::new(server_first);
        let nonce = nonce(attributes.expect(b'r')?)?;
        let salt = decode_salt(attributes.expect(b's')?)?;
        let iterations = parse_iterations(attributes.expect(b'i')?)?;
        attributes.end()?;
        match nonce.strip_prefix(self.nonce.as_bytes()) {
            None | Some([]) => return Err(Denied::Nonce),
            Some(_) => {}
        }
        self.step = Step::Challenged { nonce: nonce.to_vec(), server_first: server_first.to_vec() };
        Ok(Challenge { salt, iterations })
    }

    /// Returns the client-final-message with the proof that we own the keys.
    ///
    /// # Errors
    /// `Malformed` when there was no challenge.
    pub fn last(&mut self, keys: &ScramKeys) -> Result<Vec<u8>, Denied> {
        let Step::Challenged { nonce, server_first } = mem::replace(&mut self.step, Step::Over)
        else {
            return Err(OUT_OF_TURN);
        };
        let without_proof = [b"c=biws,r=", &*nonce].concat();
        let bare = self.first_bare();
        let auth_message = [bare.as_bytes(), b",", &server_first, b",", &without_proof].concat();
        let client_signature = hmac(&sha256(&keys.client_key), &auth_message);
        let proof = encode(&xor(client_signature, &keys.client_key));
        self.step = Step::Proven { signature: hmac(&keys.server_key, &auth_message) };
        Ok([&*without_proof, b",p=", proof.as_bytes()].concat())
    }

    /// Checks the server-final-message, in constant time: does the server know the verifier?
    ///
    /// # Errors
    /// `ServerSignature` for an impostor, `ServerError` when the server refuses us, else
    /// `Malformed`.
    pub fn verify(&self, server_final: &[u8]) -> Result<(), Denied> {
        let Step::Proven { signature } = &self.step else {
            return Err(OUT_OF_TURN);
        };
        if server_final.len() > MESSAGE_MAX {
            return Err(Denied::Malformed("message too long"));
        }
        if let Some(error) = server_final.strip_prefix(b"e=") {
            return Err(Denied::ServerError(printable(error)));
        }
        let mut attributes = Attributes::new(server_final);
        let theirs = decode_key(attributes.expect(b'v')?)?;
        attributes.end()?;
        if bool::from(theirs.ct_eq(signature)) { Ok(()) } else { Err(Denied::ServerSignature) }
    }

    fn first_bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }
}

impl fmt::Debug for ScramClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.step {
            Step::Asking => "ScramClient(asking)",
            Step::Challenged { .. } => "ScramClient(challenged)",
            Step::Proven { .. } => "ScramClient(proven)",
            Step::Over => "ScramClient(over)",
        })
    }
}

/// Makes a stranger's text fit for one log line.
fn printable(text: &[u8]) -> String {
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    String::from_utf8_lossy(text).chars().map(shown).collect()
}

#[cfg(test)]
mod tests;
