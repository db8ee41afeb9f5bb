//! How a client proves who it is.
//!
//!     any, trust: nothing is asked
//!     we ──► AuthenticationCleartextPassword  client ──► PasswordMessage
//!     we ──► AuthenticationMD5Password        client ──► PasswordMessage
//!     we ──► AuthenticationSASL               client ──► SASLInitialResponse
//!     we ──► AuthenticationSASLContinue       client ──► SASLResponse
//!     we ──► AuthenticationSASLFinal, AuthenticationOk
//!
//! An unknown user, and one whose secret does not fit the question, goes through the same exchange
//! and fails at its end, so that nobody learns which users exist.

use auth::{Proven, ScramKeys, ScramServer, Secret, Verifier};
use config::AuthType;
use wire::{Malformed, frontend, write};

use super::startup::Request;
use crate::command::Question;
use crate::reason::Reason;

/// PostgreSQL: the longest password or SASL message, in bytes.
pub(crate) const MESSAGE_MAX: u32 = 65_535 + 1;

/// The one mechanism that is offered.
const MECHANISM: &str = "SCRAM-SHA-256";

/// What a client is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Nothing; its name does not matter.
    Any,
    /// Nothing, if its user is known.
    Trust,
    /// The password in clear.
    Password,
    /// A hash of the password and a salt.
    Md5,
    /// The SCRAM exchange.
    Scram,
}

impl Method {
    /// The method for a user with this secret.
    pub(crate) fn of(auth_type: AuthType, secret: Option<&Secret>) -> Self {
        match (auth_type, secret) {
            (AuthType::Any, _) => Self::Any,
            (AuthType::Trust, _) => Self::Trust,
            (AuthType::Plain, _) => Self::Password,
            // Nobody can check a md5 response with a SCRAM secret at hand.
            (AuthType::Md5, Some(Secret::Scram(_))) | (AuthType::ScramSha256, _) => Self::Scram,
            (AuthType::Md5, _) => Self::Md5,
            // The configuration refuses them; nobody gets in by mistake.
            (AuthType::Cert | AuthType::Hba | AuthType::Ldap | AuthType::Pam, _) => Self::Scram,
        }
    }
}

/// A login under way.
pub(crate) struct Authentication {
    pub(crate) request: Request,
    step: Step,
}

enum Step {
    /// The verifier of the user is being derived on another thread.
    Deriving,
    /// SASLInitialResponse is to come.
    Offered(Verifier),
    /// SASLResponse is to come.
    Challenged(ScramServer),
    /// PasswordMessage with the md5 response to this salt is to come.
    Salted { secret: Secret, salt: [u8; 4] },
    /// PasswordMessage with the password is to come; with `stretch`, its keys are derived.
    Asked { secret: Secret, stretch: Option<Verifier> },
    /// The keys of the password are being derived on another thread.
    Stretching(Verdict),
    /// It has failed.
    Over,
}

/// On what it depends whether a password is right.
enum Verdict {
    /// On its keys.
    Keys(Verifier),
    /// It is known; the keys are only derived because that takes time for other users.
    Known(bool),
}

/// What a message leads to.
pub(crate) enum Outcome {
    /// Send this and wait for the next.
    Send(Vec<u8>),
    /// Have this answered, and tell it to [`Authentication::stretched`].
    Ask(Question),
    /// Send this: the client is who it says; with the keys of its password, if they are known.
    Proven(Vec<u8>, Option<ScramKeys>),
    /// It is not.
    Denied(Reason),
}

impl Authentication {
    /// Begins SCRAM with the verifier at hand; with `None` it is being derived.
    pub(crate) fn scram(request: Request, verifier: Option<Verifier>) -> Self {
        let step = verifier.map_or(Step::Deriving, Step::Offered);
        Self { request, step }
    }

    /// Begins the md5 exchange. The salt is fresh.
    pub(crate) fn md5(request: Request, secret: Option<&Secret>, salt: [u8; 4]) -> Self {
        let secret = secret.cloned().unwrap_or_else(nobodys);
        Self { request, step: Step::Salted { secret, salt } }
    }

    /// Begins with the question for the password. `stretch` is the verifier to derive its keys for,
    /// made up for users that have none; `None` when no user has one.
    pub(crate) fn password(
        request: Request,
        secret: Option<&Secret>,
        stretch: Option<Verifier>,
    ) -> Self {
        let secret = secret.cloned().unwrap_or_else(nobodys);
        Self { request, step: Step::Asked { secret, stretch } }
    }

    /// Takes the verifier that has been derived; with `None` another one is being derived.
    pub(crate) fn derived(&mut self, verifier: Option<Verifier>) {
        if let (Step::Deriving, Some(verifier)) = (&self.step, verifier) {
            self.step = Step::Offered(verifier);
        }
    }

    /// The message that asks for the proof; nothing while the verifier is being derived.
    pub(crate) fn question(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.step {
            Step::Offered(_) => write::authentication_sasl(&mut out, &[MECHANISM]),
            Step::Salted { salt, .. } => write::authentication_md5(&mut out, *salt),
            Step::Asked { .. } => write::authentication_cleartext(&mut out),
            Step::Deriving | Step::Challenged(_) | Step::Stretching(_) | Step::Over => {}
        }
        out
    }

    /// Whether the client may speak now.
    pub(crate) fn listens(&self) -> bool {
        !matches!(self.step, Step::Deriving | Step::Stretching(_))
    }

    /// Whether the next message costs a derivation of keys.
    pub(crate) fn is_costly(&self) -> bool {
        matches!(self.step, Step::Asked { stretch: Some(_), .. })
    }

    /// Hears the body of a PasswordMessage, SASLInitialResponse or SASLResponse.
    pub(crate) fn hears(&mut self, body: &[u8], nonce: [u8; 18]) -> Outcome {
        match std::mem::replace(&mut self.step, Step::Over) {
            Step::Deriving | Step::Stretching(_) | Step::Over => Outcome::Denied(Reason::BadPacket),
            Step::Salted { secret, salt } => match self.read_password(body) {
                Ok(response) => {
                    let user = self.request.user.as_bytes();
                    judge(auth::md5_matches(&secret, user, salt, response), None)
                }
                Err(reason) => Outcome::Denied(reason),
            },
            Step::Asked { secret, stretch } => match self.read_password(body) {
                Ok(password) => self.check(password, secret, stretch),
                Err(reason) => Outcome::Denied(reason),
            },
            Step::Offered(verifier) => self.initial(body, &verifier, nonce),
            Step::Challenged(mut scram) => match scram.last(body) {
                Ok(Proven { server_final, keys }) => {
                    let mut out = Vec::new();
                    write::authentication_sasl_final(&mut out, &server_final);
                    Outcome::Proven(out, Some(keys))
                }
                Err(denied) => {
                    log::debug!("SCRAM: {denied}");
                    Outcome::Denied(SASL_FAILED)
                }
            },
        }
    }

    /// Takes the keys that have been derived from the password that the client gave.
    pub(crate) fn stretched(&mut self, keys: ScramKeys) -> Outcome {
        match std::mem::replace(&mut self.step, Step::Over) {
            Step::Stretching(Verdict::Keys(verifier)) => judge(keys.matches(&verifier), Some(keys)),
            Step::Stretching(Verdict::Known(is_right)) => judge(is_right, None),
            _ => Outcome::Denied(Reason::BadPacket),
        }
    }

    fn read_password<'a>(&self, body: &'a [u8]) -> Result<&'a [u8], Reason> {
        let password = frontend::password(body);
        let password = password.map_err(|Malformed(what)| Reason::BadStartup(what.into()))?;
        // PostgreSQL: no password can be empty, whoever it is.
        if password.is_empty() { Err(EMPTY) } else { Ok(password) }
    }

    fn check(&mut self, password: &[u8], secret: Secret, stretch: Option<Verifier>) -> Outcome {
        let user = self.request.user.as_bytes();
        let Some(Verifier { salt, iterations, .. }) = stretch else {
            return judge(secret.accepts_plain(user, password), None);
        };
        let verdict = match secret {
            Secret::Scram(verifier) => Verdict::Keys(verifier),
            secret => Verdict::Known(secret.accepts_plain(user, password)),
        };
        self.step = Step::Stretching(verdict);
        let password = password.to_vec();
        Outcome::Ask(Question::Derive { password, salt: salt.into(), iterations })
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
                Outcome::Denied(SASL_FAILED)
            }
        }
    }
}

const EMPTY: Reason = Reason::PasswordFailed("empty password returned by client");
const PASSWORD_FAILED: Reason = Reason::PasswordFailed("password authentication failed");
/// What a client is told whose SCRAM exchange has failed, whatever was wrong.
pub(crate) const SASL_FAILED: Reason = Reason::PasswordFailed("SASL authentication failed");

/// The secret of a user who has none: no password fits.
fn nobodys() -> Secret {
    Secret::Plain(Box::default())
}

fn judge(is_right: bool, keys: Option<ScramKeys>) -> Outcome {
    match is_right {
        true => Outcome::Proven(Vec::new(), keys),
        false => Outcome::Denied(PASSWORD_FAILED),
    }
}
