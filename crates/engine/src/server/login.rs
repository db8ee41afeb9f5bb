//! The login to a server.
//!
//!     we ──► StartupMessage
//!     server ──► AuthenticationCleartextPassword ──► we: PasswordMessage
//!     server ──► AuthenticationMD5Password       ──► we: PasswordMessage, md5 proof
//!     server ──► AuthenticationSASL ──► we: SASLInitialResponse
//!                AuthenticationSASLContinue ──► we: SASLResponse (keys learnt, or derived
//! elsewhere)
//!                AuthenticationSASLFinal
//!     server ──► AuthenticationOk, ParameterStatus…, BackendKeyData, ReadyForQuery
//!     we ──► Query, if there is a connect_query; server ──► whatever, ReadyForQuery
//!
//! NoticeResponse may come at any time and is dropped. A server is as hostile as a client: what it
//! may say when is decided here, and its iteration count is bounded.

use std::sync::Arc;

use auth::{ScramClient, ScramKeys, Secret};
use wire::backend::{self, Authentication};
use wire::{Fields, Malformed, TransactionStatus, tag, write};

use super::CancelKey;
use crate::params::{self, Names, Params};
use crate::pool::route::Target;
use crate::pool::{Failure, Welcome};

/// With what a pool logs in.
pub(crate) struct Credentials {
    pub(crate) user: Vec<u8>,
    /// The password or secret that is known of the user.
    pub(crate) secret: Option<Secret>,
    /// Keys learnt from a client's login with that secret.
    pub(crate) learnt: Option<ScramKeys>,
}

/// A login under way.
pub(crate) struct Login {
    step: Step,
    credentials: Credentials,
    names: Names,
    /// SQL to run when the server is ready.
    connect_query: Option<String>,
    tracked: Params,
    fixed: Vec<u8>,
    pub(crate) key: Option<CancelKey>,
}

enum Step {
    /// The server is to say how it wants to be convinced.
    Asked,
    /// A password has been sent.
    Password,
    /// SASLInitialResponse has been sent.
    Challenged(ScramClient),
    /// The keys are being derived on another thread.
    Deriving(ScramClient),
    /// The proof has been sent.
    Proved(ScramClient),
    /// The server has proved itself as well.
    Verified,
    /// AuthenticationOk has come.
    Accepted,
    /// `connect_query` runs.
    Executing,
}

/// What a message of the server leads to.
pub(crate) enum Outcome {
    /// Wait for the next.
    Wait,
    /// Send this.
    Send(Vec<u8>),
    /// Have the keys derived, and go on with [`Login::derived`].
    Derive { password: Vec<u8>, salt: Vec<u8>, iterations: u32 },
    /// `connect_query` has failed; that is no reason to do without the server.
    Complain(String),
    /// Logged in.
    Ready,
    /// It will not be.
    Failed(Failure),
}

impl From<Malformed> for Outcome {
    fn from(what: Malformed) -> Self {
        Self::Failed(Failure::of_network(format!("bad packet: {}", what.0)))
    }
}

impl Login {
    /// Begins: the login and the StartupMessage to send.
    pub(crate) fn begin(
        credentials: Credentials,
        target: &Target,
        names: Names,
    ) -> (Self, Vec<u8>) {
        let mut parameters: Vec<(&[u8], &[u8])> =
            vec![(b"user", &credentials.user), (b"database", target.dbname.as_bytes())];
        parameters
            .extend(target.startup.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
        let mut packet = Vec::new();
        write::startup(&mut packet, wire::PROTOCOL_3_0, &parameters);
        let login = Self {
            step: Step::Asked,
            credentials,
            names,
            connect_query: target.connect_query.clone(),
            tracked: Params::default(),
            fixed: Vec::new(),
            key: None,
        };
        (login, packet)
    }

    /// Hears one whole message; `nonce` is fresh entropy in case SCRAM begins.
    pub(crate) fn hears(&mut self, tag: u8, body: &[u8], nonce: [u8; 18]) -> Outcome {
        match tag {
            _ if self.is_executing() => self.executes(tag, body),
            tag::backend::AUTHENTICATION => match backend::authentication(body) {
                Ok(request) => self.authenticate(request, nonce),
                Err(what) => what.into(),
            },
            tag::backend::ERROR_RESPONSE => match Fields::parse(body) {
                Ok(fields) => Outcome::Failed(Failure::of_server(&fields)),
                Err(what) => what.into(),
            },
            tag::backend::NOTICE_RESPONSE => Outcome::Wait,
            _ if !matches!(self.step, Step::Accepted) => {
                Outcome::Failed(Failure::of_network("unexpected message in server login"))
            }
            tag::backend::PARAMETER_STATUS => match backend::parameter_status(body) {
                Ok((name, value)) => self.parameter(name, value),
                Err(what) => what.into(),
            },
            tag::backend::BACKEND_KEY_DATA => match backend::backend_key(body) {
                Ok(key) => {
                    self.key = Some(CancelKey { pid: key.pid, secret: key.secret.into() });
                    Outcome::Wait
                }
                Err(what) => what.into(),
            },
            tag::backend::READY_FOR_QUERY => match self.connect_query.take() {
                None => Outcome::Ready,
                Some(query) => {
                    let mut out = Vec::new();
                    write::query(&mut out, query.as_bytes());
                    self.step = Step::Executing;
                    Outcome::Send(out)
                }
            },
            _ => Outcome::Failed(Failure::of_network("unknown pkt from server")),
        }
    }

    /// Whether `connect_query` runs: its rows may be long, and nobody wants them.
    pub(crate) fn is_executing(&self) -> bool {
        matches!(self.step, Step::Executing)
    }

    /// Hears the answer to `connect_query`.
    fn executes(&mut self, tag: u8, body: &[u8]) -> Outcome {
        match tag {
            tag::backend::PARAMETER_STATUS => match backend::parameter_status(body) {
                Ok((name, value)) => self.parameter(name, value),
                Err(what) => what.into(),
            },
            tag::backend::ERROR_RESPONSE => match Fields::parse(body) {
                Ok(fields) => Outcome::Complain(Failure::of_server(&fields).text),
                Err(what) => what.into(),
            },
            tag::backend::READY_FOR_QUERY => match backend::ready_for_query(body) {
                Ok(TransactionStatus::Idle) => Outcome::Ready,
                Ok(_) => failed("connect_query leaves a transaction open"),
                Err(what) => what.into(),
            },
            tag::backend::COPY_IN_RESPONSE | tag::backend::COPY_BOTH_RESPONSE => {
                failed("connect_query begins a COPY")
            }
            _ => Outcome::Wait,
        }
    }

    /// Goes on with the derived keys.
    pub(crate) fn derived(&mut self, keys: &ScramKeys) -> Outcome {
        match std::mem::replace(&mut self.step, Step::Asked) {
            Step::Deriving(scram) => self.prove(scram, keys),
            _ => failed("server login failed: keys without a challenge"),
        }
    }

    /// What the server reported, once it is ready.
    pub(crate) fn finish(self, origin: &Arc<Target>, epoch: u64) -> (Welcome, Option<CancelKey>) {
        let (origin, params) = (Arc::clone(origin), Arc::new(self.tracked));
        (Welcome { epoch, origin, fixed: self.fixed, params }, self.key)
    }

    fn parameter(&mut self, name: &[u8], value: &[u8]) -> Outcome {
        const FIXED_MAX: usize = 64 * 1024;
        if value.len() > params::VALUE_MAX || self.fixed.len() > FIXED_MAX {
            return failed("server reports too many or too long parameters");
        }
        match self.names.place(name) {
            Some(place) => self.tracked.set(place, value),
            None => write::parameter_status(&mut self.fixed, name, value),
        }
        Outcome::Wait
    }

    fn authenticate(&mut self, request: Authentication<'_>, nonce: [u8; 18]) -> Outcome {
        match (std::mem::replace(&mut self.step, Step::Asked), request) {
            (Step::Asked | Step::Password | Step::Verified, Authentication::Ok) => {
                self.step = Step::Accepted;
                Outcome::Wait
            }
            (Step::Asked, Authentication::CleartextPassword) => self.cleartext(),
            (Step::Asked, Authentication::Md5Password(salt)) => self.md5(salt),
            (Step::Asked, Authentication::Sasl(mut mechanisms)) => {
                if mechanisms.any(|name| name == b"SCRAM-SHA-256") {
                    let scram = ScramClient::new(nonce);
                    let mut out = Vec::new();
                    write::sasl_initial_response(&mut out, "SCRAM-SHA-256", &scram.first());
                    self.step = Step::Challenged(scram);
                    Outcome::Send(out)
                } else {
                    failed("server offers no SASL mechanism that is known")
                }
            }
            (Step::Challenged(scram), Authentication::SaslContinue(first)) => {
                self.challenged(scram, first)
            }
            (Step::Proved(scram), Authentication::SaslFinal(last)) => match scram.verify(last) {
                Ok(()) => {
                    self.step = Step::Verified;
                    Outcome::Wait
                }
                Err(_) => failed("server login failed: invalid server signature"),
            },
            (_, Authentication::Other(_)) => failed("unknown/unsupported auth method"),
            _ => failed("unexpected authentication message from server"),
        }
    }

    fn cleartext(&mut self) -> Outcome {
        match &self.credentials.secret {
            Some(Secret::Plain(password)) if !password.is_empty() => {
                let mut out = Vec::new();
                write::password(&mut out, password);
                self.step = Step::Password;
                Outcome::Send(out)
            }
            secret => no_password(secret.as_ref()),
        }
    }

    fn md5(&mut self, salt: [u8; 4]) -> Outcome {
        let hash = match &self.credentials.secret {
            Some(Secret::Plain(password)) if !password.is_empty() => {
                auth::md5_hash(password, &self.credentials.user)
            }
            Some(Secret::Md5(hash)) => *hash,
            secret => return no_password(secret.as_ref()),
        };
        let mut out = Vec::new();
        write::password(&mut out, &auth::md5_response(&hash, salt));
        self.step = Step::Password;
        Outcome::Send(out)
    }

    fn challenged(&mut self, mut scram: ScramClient, first: &[u8]) -> Outcome {
        let challenge = match scram.challenge(first) {
            Ok(challenge) => challenge,
            Err(denied) => return failed(&format!("server login failed: {denied}")),
        };
        match (&self.credentials.secret, self.credentials.learnt) {
            (Some(Secret::Plain(password)), _) if !password.is_empty() => {
                let password = password.to_vec();
                self.step = Step::Deriving(scram);
                Outcome::Derive { password, salt: challenge.salt, iterations: challenge.iterations }
            }
            // Keys prove nothing to a server whose secret is another one.
            (Some(Secret::Scram(verifier)), Some(keys))
                if keys.matches(verifier)
                    && *verifier.salt == *challenge.salt
                    && verifier.iterations == challenge.iterations =>
            {
                self.prove(scram, &keys)
            }
            (secret, _) => no_password(secret.as_ref()),
        }
    }

    fn prove(&mut self, mut scram: ScramClient, keys: &ScramKeys) -> Outcome {
        match scram.last(keys) {
            Ok(response) => {
                let mut out = Vec::new();
                write::sasl_response(&mut out, &response);
                self.step = Step::Proved(scram);
                Outcome::Send(out)
            }
            Err(denied) => failed(&format!("server login failed: {denied}")),
        }
    }
}

fn failed(text: &str) -> Outcome {
    Outcome::Failed(Failure::of_network(text))
}

/// The server wants a proof that what we know of the user cannot give.
fn no_password(secret: Option<&Secret>) -> Outcome {
    match secret {
        Some(Secret::Scram(_)) => {
            log::error!(
                "cannot do SCRAM authentication: password is SCRAM secret but client \
                 authentication did not provide SCRAM keys"
            );
            failed("server login failed: wrong password type")
        }
        Some(Secret::Md5(_)) => failed("server login failed: wrong password type"),
        _ => failed("server login failed: no password for this user in auth_file"),
    }
}

#[cfg(test)]
mod tests;
