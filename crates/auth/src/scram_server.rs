//! SCRAM-SHA-256 as the pooler answers a client (RFC 5802, RFC 7677).
//!
//! ```text
//! client-first  n,,n=*,r=C         ──►  `first`
//!                                  ◄──  server-first  r=CS,s=SALT,i=4096
//! client-final  c=biws,r=CS,p=P    ──►  `last`
//!                                  ◄──  server-final  v=SIGNATURE
//! ```
//!
//! The user name in client-first is ignored, as in PostgreSQL: the startup packet has named the
//! user. An unknown user gets a mock verifier and fails at the proof, like a wrong password.
//!
//! Does not know where the verifier comes from nor what the client is told after a refusal.

use std::fmt;
use std::mem;

use subtle::ConstantTimeEq;

use crate::denied::Denied;
use crate::keys::{ScramKeys, Verifier, hmac, sha256, xor};
use crate::scram::{Attributes, MESSAGE_MAX, OUT_OF_TURN, decode_key, encode, nonce};

/// One exchange with one client; any refusal ends it.
pub struct ScramServer {
    step: Step,
}

/// What a client has shown by its proof.
pub struct Proven {
    /// The server-final-message, to be sent to the client.
    pub server_final: Vec<u8>,
    /// The client's keys: they log in wherever the same verifier is stored.
    pub keys: ScramKeys,
}

enum Step {
    /// Waits for client-first.
    Waiting { nonce: [u8; 18] },
    /// Has sent server-first and waits for client-final.
    Challenged(Exchange),
    /// Has accepted or refused.
    Over,
}

/// What client-final is checked against.
struct Exchange {
    /// The only acceptable value of `c`: the client's GS2 header in base64.
    binding: &'static [u8],
    /// The client's nonce and ours.
    nonce: Vec<u8>,
    /// `client-first-bare,server-first,`: the AuthMessage so far.
    transcript: Vec<u8>,
    stored_key: [u8; 32],
    server_key: [u8; 32],
}

impl ScramServer {
    /// Starts an exchange; the nonce is 18 fresh random bytes.
    #[must_use]
    pub fn new(nonce: [u8; 18]) -> Self {
        Self { step: Step::Waiting { nonce } }
    }

    /// Answers a client-first-message with the server-first-message.
    ///
    /// # Errors
    /// `Binding` when the client insists on channel binding, else `Malformed`.
    pub fn first(&mut self, client_first: &[u8], verifier: &Verifier) -> Result<Vec<u8>, Denied> {
        let Step::Waiting { nonce } = mem::replace(&mut self.step, Step::Over) else {
            return Err(OUT_OF_TURN);
        };
        let ClientFirst { binding, bare, nonce: client_nonce } = ClientFirst::parse(client_first)?;
        let nonce = [client_nonce, encode(&nonce).as_bytes()].concat();
        let cost = format!(",s={},i={}", encode(&verifier.salt), verifier.iterations);
        let server_first = [b"r=", &*nonce, cost.as_bytes()].concat();
        self.step = Step::Challenged(Exchange {
            binding,
            nonce,
            transcript: [bare, b",", &server_first, b","].concat(),
            stored_key: verifier.stored_key,
            server_key: verifier.server_key,
        });
        Ok(server_first)
    }

    /// Judges a client-final-message; the proof is compared in constant time.
    ///
    /// # Errors
    /// `Proof` for a wrong password, `Nonce`, `Binding` or `Malformed` for a wrong message.
    pub fn last(&mut self, client_final: &[u8]) -> Result<Proven, Denied> {
        let Step::Challenged(exchange) = mem::replace(&mut self.step, Step::Over) else {
            return Err(OUT_OF_TURN);
        };
        let ClientFinal { binding, nonce, without_proof, proof } =
            ClientFinal::parse(client_final)?;
        if binding != exchange.binding {
            return Err(Denied::Binding);
        }
        if nonce != exchange.nonce {
            return Err(Denied::Nonce);
        }
        let auth_message = [&*exchange.transcript, without_proof].concat();
        let client_signature = hmac(&exchange.stored_key, &auth_message);
        let client_key = xor(client_signature, &proof);
        if !bool::from(sha256(&client_key).ct_eq(&exchange.stored_key)) {
            return Err(Denied::Proof);
        }
        let server_signature = hmac(&exchange.server_key, &auth_message);
        Ok(Proven {
            server_final: format!("v={}", encode(&server_signature)).into_bytes(),
            keys: ScramKeys { client_key, server_key: exchange.server_key },
        })
    }
}

impl fmt::Debug for ScramServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.step {
            Step::Waiting { .. } => "ScramServer(waiting)",
            Step::Challenged(_) => "ScramServer(challenged)",
            Step::Over => "ScramServer(over)",
        })
    }
}

impl fmt::Debug for Proven {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Proven").finish_non_exhaustive()
    }
}

struct ClientFirst<'a> {
    binding: &'static [u8],
    bare: &'a [u8],
    nonce: &'a [u8],
}

impl<'a> ClientFirst<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, Denied> {
        if message.len() > MESSAGE_MAX {
            return Err(Denied::Malformed("message too long"));
        }
        let (binding, bare): (&[u8], _) = match message {
            [b'n', b',', b',', bare @ ..] => (b"biws", bare),
            // The client could bind, but believes that we cannot: we offer no -PLUS mechanism.
            [b'y', b',', b',', bare @ ..] => (b"eSws", bare),
            [b'p', ..] => return Err(Denied::Binding),
            [b'n' | b'y', b',', b'a', b'=', ..] => {
                return Err(Denied::Malformed("authorization identity is not supported"));
            }
            _ => return Err(Denied::Malformed("no GS2 header")),
        };
        let mut attributes = Attributes::new(bare);
        attributes.expect(b'n')?;
        let nonce = nonce(attributes.expect(b'r')?)?;
        attributes.skip_extensions()?;
        Ok(Self { binding, bare, nonce })
    }
}

struct ClientFinal<'a> {
    binding: &'a [u8],
    nonce: &'a [u8],
    without_proof: &'a [u8],
    proof: [u8; 32],
}

impl<'a> ClientFinal<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, Denied> {
        if message.len() > MESSAGE_MAX {
            return Err(Denied::Malformed("message too long"));
        }
        let comma = message.iter().rposition(|byte| *byte == b',');
        let (without_proof, proof) = comma
            .and_then(|at| message.split_at_checked(at))
            .and_then(|(head, tail)| Some((head, tail.strip_prefix(b",p=")?)))
            .ok_or(Denied::Malformed("no proof at the end"))?;
        let mut attributes = Attributes::new(without_proof);
        let binding = attributes.expect(b'c')?;
        let nonce = attributes.expect(b'r')?;
        attributes.skip_extensions()?;
        Ok(Self { binding, nonce, without_proof, proof: decode_key(proof)? })
    }
}

#[cfg(test)]
mod tests;
