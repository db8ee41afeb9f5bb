//! What one end of a connection has heard from the pooler, message by message.
//!
//! ```text
//! bytes ──► complete messages as words, and what is there of the next
//! ```
//!
//! Takes part in SCRAM: remembers the challenge it has to answer, and judges the signature at the
//! end. Answers a salt with `MD5Response USER "PASSWORD"`. Remembers the key with which a client's
//! query can be cancelled.

use std::cell::RefCell;

use auth::{ScramClient, ScramKeys, ScramServer, Verifier};
use wire::startup::Packet;
use wire::{backend, frontend, tag, write};

use super::message::{show_backend, show_frontend, show_raw, show_startup};

/// The rounds of every secret in the stories.
const ITERATIONS: u32 = 4096;

/// Who hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The ear of one end, and its memory.
pub(crate) struct Ear {
    side: Side,
    /// What is there of a message that is not complete.
    tail: Vec<u8>,
    first: First,
    sasl: Sasl,
    /// The latest body of a SASL message.
    sasl_said: Vec<u8>,
    /// The salt that a md5 response needs, once it has come.
    salt: Option<[u8; 4]>,
    /// BackendKeyData, once it has come.
    pub(crate) key: Option<[u8; 8]>,
}

/// What comes before the first message with a tag.
enum First {
    /// To a client: so many answers of one byte.
    Answers(usize),
    /// To a server: a startup packet or a cancel request.
    Packet,
    /// Nothing.
    Over,
}

enum Sasl {
    None,
    /// Offered: SASLInitialResponse is to come.
    Offered,
    Server(ScramServer),
    Client(ScramClient),
}

impl Ear {
    pub(crate) fn new(side: Side) -> Self {
        let first = match side {
            Side::Client => First::Answers(0),
            Side::Server => First::Packet,
        };
        let (tail, sasl, sasl_said) = (Vec::new(), Sasl::None, Vec::new());
        Self { side, tail, first, sasl, sasl_said, salt: None, key: None }
    }

    /// Hears bytes and says which messages they complete.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut bytes = [&std::mem::take(&mut self.tail)[..], bytes].concat();
        let mut said = Vec::new();
        while let Some((text, len)) = self.next(&bytes) {
            said.push(text);
            bytes.drain(..len);
        }
        self.tail = bytes;
        said
    }

    /// What is there of the next message.
    pub(crate) fn part(&self) -> Option<String> {
        let name = match self.side {
            Side::Client => tag::backend_name(*self.tail.first()?)?,
            Side::Server => tag::frontend_name(*self.tail.first()?)?,
        };
        let Ok(Some(head)) = wire::header(&self.tail) else {
            return Some(format!("({} bytes of {name})", self.tail.len()));
        };
        Some(format!("({} of {} bytes of {name})", self.tail.len(), head.total))
    }

    /// Notes that a client has asked for encryption: one byte will answer it.
    pub(crate) fn asked_for_encryption(&mut self) {
        if let First::Answers(count) = &mut self.first {
            *count += 1;
        }
    }

    /// Speaks the messages whose bytes depend on what was heard; false for all others.
    pub(crate) fn speak(&mut self, words: &[super::words::Word], out: &mut Vec<u8>) -> bool {
        let password = words.get(1).map_or(&b""[..], |word| &word.text);
        let nonce = *b"nonce of a story!!";
        match words[0].as_str() {
            "SASLInitialResponse" => {
                let scram = ScramClient::new(nonce);
                write::sasl_initial_response(out, "SCRAM-SHA-256", &scram.first());
                self.sasl = Sasl::Client(scram);
            }
            "SASLResponse" => {
                let Sasl::Client(scram) = &mut self.sasl else { panic!("no SASL begun") };
                let challenge = scram.challenge(&self.sasl_said).expect("a fair challenge");
                let keys = derive(password, &challenge.salt, challenge.iterations);
                write::sasl_response(out, &scram.last(&keys).expect("a proof"));
            }
            "MD5Response" => {
                let hash = auth::md5_hash(&words[2].text, password);
                let salt = self.salt.expect("a salt has come");
                write::password(out, &auth::md5_response(&hash, salt));
            }
            "AuthenticationSASL" => {
                self.sasl = Sasl::Offered;
                return false;
            }
            "AuthenticationSASLContinue" => {
                let mut scram = ScramServer::new(nonce);
                let first = scram.first(&self.sasl_said, &verifier(password));
                write::authentication_sasl_continue(out, &first.expect("a fair beginning"));
                self.sasl = Sasl::Server(scram);
            }
            "AuthenticationSASLFinal" => {
                let Sasl::Server(scram) = &mut self.sasl else { panic!("no SASL begun") };
                let proven = scram.last(&self.sasl_said).expect("the proof is right");
                write::authentication_sasl_final(out, &proven.server_final);
            }
            _ => return false,
        }
        true
    }

    /// The first message of some bytes as words, and its length.
    fn next(&mut self, bytes: &[u8]) -> Option<(String, usize)> {
        match &mut self.first {
            First::Packet => return self.packet(bytes),
            First::Answers(due) if *due > 0 && bytes.first() == Some(&b'N') => {
                *due -= 1;
                return Some(("N".into(), 1));
            }
            _ => {}
        }
        let Ok(head) = wire::header(bytes) else {
            return Some((show_raw(bytes), bytes.len()));
        };
        let len = head?.total as usize;
        let message = bytes.get(..len)?;
        let shown = match self.side {
            Side::Client => self.a_server_says(message),
            Side::Server => self.a_client_says(message),
        };
        Some((shown, len))
    }

    fn packet(&mut self, bytes: &[u8]) -> Option<(String, usize)> {
        let (packet, len) = wire::startup::packet(bytes).expect("the pooler begins well")?;
        self.first = First::Over;
        let shown = match packet {
            Packet::Startup(message) => show_startup(&message),
            Packet::Cancel(key) => {
                let pid = u32::from_be_bytes([key[0], key[1], key[2], key[3]]);
                assert_eq!(key, server_key(pid).concat(), "the key of a server");
                format!("CancelRequest S{pid}")
            }
            Packet::SslRequest | Packet::GssEncRequest => "a request for encryption".into(),
        };
        Some((shown, len))
    }

    fn a_server_says(&mut self, message: &[u8]) -> String {
        let body = wire::frame::body(message);
        match message[0] {
            tag::backend::BACKEND_KEY_DATA => self.key = body.try_into().ok(),
            tag::backend::AUTHENTICATION => match backend::authentication(body) {
                Ok(backend::Authentication::SaslContinue(challenge)) => {
                    self.sasl_said = challenge.to_vec();
                    return "AuthenticationSASLContinue".into();
                }
                Ok(backend::Authentication::SaslFinal(last)) => {
                    let Sasl::Client(scram) = &self.sasl else { panic!("no SASL begun") };
                    scram.verify(last).expect("the pooler knows the secret");
                    return "AuthenticationSASLFinal".into();
                }
                Ok(backend::Authentication::Md5Password(salt)) => {
                    self.salt = Some(salt);
                    return "AuthenticationMD5Password".into();
                }
                _ => {}
            },
            _ => {}
        }
        show_backend(message)
    }

    fn a_client_says(&mut self, message: &[u8]) -> String {
        let body = wire::frame::body(message);
        match (&self.sasl, message[0]) {
            (Sasl::Offered, tag::frontend::PASSWORD) => {
                let initial = frontend::sasl_initial(body).expect("SASLInitialResponse");
                self.sasl_said = initial.response.unwrap_or_default().to_vec();
                "SASLInitialResponse".into()
            }
            (Sasl::Server(_), tag::frontend::PASSWORD) => {
                self.sasl_said = body.to_vec();
                "SASLResponse".into()
            }
            _ => show_frontend(message),
        }
    }
}

/// The SCRAM secret of a password: always the same, with a salt of its own.
pub(crate) fn verifier(password: &[u8]) -> Verifier {
    let salt = [password, b"salt of a story!"].concat();
    let salt = &salt[..16];
    derive(password, salt, ITERATIONS).verifier(salt, ITERATIONS)
}

/// Derives keys, the same ones only once in a thread: it is slow.
pub(crate) fn derive(password: &[u8], salt: &[u8], iterations: u32) -> ScramKeys {
    type Known = Vec<(Vec<u8>, ScramKeys)>;
    thread_local! {
        static KNOWN: RefCell<Known> = const { RefCell::new(Vec::new()) };
    }
    let name = [password, b"/", salt, &iterations.to_be_bytes()].concat();
    KNOWN.with_borrow_mut(|known| {
        if let Some((_, keys)) = known.iter().find(|(other, _)| *other == name) {
            return *keys;
        }
        let keys = auth::derive(password, salt, iterations);
        known.push((name, keys));
        keys
    })
}

/// The cancel key of a server, from its number: process id and secret.
pub(crate) fn server_key(number: u32) -> [[u8; 4]; 2] {
    [number.to_be_bytes(), (0x5ec0_0000 | number).to_be_bytes()]
}
