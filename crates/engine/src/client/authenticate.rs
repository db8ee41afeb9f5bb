//! How a client proves who it is.
//!
//!     trust: nothing is asked
//!     we ──► AuthenticationSASL          client ──► SASLInitialResponse
//!     we ──► AuthenticationSASLContinue  client ──► SASLResponse
//!     we ──► AuthenticationSASLFinal, AuthenticationOk
//!
//! An unknown user, and one whose secret cannot do SCRAM, goes through the same exchange with a
//! made-up verifier and fails at its end, so that nobody learns which users exist.

use auth::{Proven, ScramServer, Secret, Verifier};
use wire::{Malformed, frontend, write};

use super::startup::Request;
use crate::reason::Reason;

/// PostgreSQL: the longest password or SASL message, in bytes.
pub(crate) const MESSAGE_MAX: u32 = 65_535 + 1;

/// The one mechanism that is offered.
const MECHANISM: &str = "SCRAM-SHA-256";

/// The iterations of a verifier made from a plain password (PgBouncer's `scram_iterations`).
pub(crate) const ITERATIONS: u32 = 4096;

/// A login under way.
pub(crate) struct Authentication {
    pub(crate) request: Request,
    step: Step,
}

enum Step {
    /// The verifier is being derived from a plain password on another thread.
    Deriving,
    /// SASLInitialResponse is to come.
    Offered(Verifier),
    /// SASLResponse is to come.
    Challenged(ScramServer),
}

/// What is known of the user who wants in.
pub(crate) enum Known {
    /// A verifier to check against; made up for those who shall fail.
    Verifier(Verifier),
    /// A plain password, whose verifier has to be derived first with this salt.
    Password { password: Vec<u8>, salt: Vec<u8> },
}

/// What a message leads to.
pub(crate) enum Outcome {
    /// Send this and wait for the next.
    Send(Vec<u8>),
    /// Send this: the client is who it says.
    Proven(Vec<u8>, auth::ScramKeys),
    /// It is not.
    Denied(Reason),
}

/// What a stored secret allows. `mock` makes what unknown users are measured against, and what a
/// plain password is salted with.
pub(crate) fn known(secret: Option<&Secret>, mock: impl FnOnce() -> Verifier) -> Known {
    match secret {
        Some(Secret::Scram(verifier)) => Known::Verifier(verifier.clone()),
        Some(Secret::Plain(password)) if !password.is_empty() => {
            Known::Password { password: password.to_vec(), salt: mock().salt.into() }
        }
        _ => Known::Verifier(mock()),
    }
}

impl Authentication {
    /// Begins with the verifier at hand; or, with `None`, when [`derived`](Self::derived) brings
    /// it.
    pub(crate) fn begin(request: Request, verifier: Option<Verifier>) -> Self {
        let step = verifier.map_or(Step::Deriving, Step::Offered);
        Self { request, step }
    }

    /// AuthenticationSASL, once there is a verifier.
    pub(crate) fn offer(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if matches!(self.step, Step::Offered(_)) {
            write::authentication_sasl(&mut out, &[MECHANISM]);
        }
        out
    }

    /// Takes the verifier that has been derived.
    pub(crate) fn derived(&mut self, verifier: Verifier) {
        if matches!(self.step, Step::Deriving) {
            self.step = Step::Offered(verifier);
        }
    }

    /// Whether the client may speak now.
    pub(crate) fn listens(&self) -> bool {
        !matches!(self.step, Step::Deriving)
    }

    /// Hears the body of a PasswordMessage, SASLInitialResponse or SASLResponse.
    pub(crate) fn hears(&mut self, body: &[u8], nonce: [u8; 18]) -> Outcome {
        match std::mem::replace(&mut self.step, Step::Deriving) {
            Step::Deriving => Outcome::Denied(Reason::BadPacket),
            Step::Offered(verifier) => self.initial(body, &verifier, nonce),
            Step::Challenged(mut scram) => match scram.last(body) {
                Ok(Proven { server_final, keys }) => {
                    let mut out = Vec::new();
                    write::authentication_sasl_final(&mut out, &server_final);
                    Outcome::Proven(out, keys)
                }
                Err(denied) => {
                    log::debug!("SCRAM: {denied}");
                    Outcome::Denied(FAILED)
                }
            },
        }
    }

    fn initial(&mut self, body: &[u8], verifier: &Verifier, nonce: [u8; 18]) -> Outcome {
        let initial = match frontend::sasl_initial(body) {
            Ok(initial) => initial,
            Err(Malformed(what)) => return Outcome::Denied(Reason::BadStartup(what.into())),
        };
        if initial.mechanism != MECHANISM.as_bytes() {
            let text = "client selected an invalid SASL authentication mechanism";
            return Outcome::Denied(Reason::BadStartup(text.into()));
        }
        let mut scram = ScramServer::new(nonce);
        match scram.first(initial.response.unwrap_or_default(), verifier) {
            Ok(challenge) => {
                let mut out = Vec::new();
                write::authentication_sasl_continue(&mut out, &challenge);
                self.step = Step::Challenged(scram);
                Outcome::Send(out)
            }
            Err(denied) => {
                log::debug!("SCRAM: {denied}");
                Outcome::Denied(FAILED)
            }
        }
    }
}

const FAILED: Reason = Reason::PasswordFailed("SASL authentication failed");
