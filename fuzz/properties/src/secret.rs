//! Stored passwords, the clear-text and md5 proofs against them, and password preparation.
//!
//! ```text
//! data ──► Secret ──► written again ──► data
//! data ──► Secret ──► the right password is accepted, the stored text is not
//! data ──► saslprep ──► data itself, or valid UTF-8
//! ```

use std::borrow::Cow;

use auth::{Denied, ITERATIONS_MAX, Secret, Verifier, md5_matches, md5_response, saslprep};

const USER: &[u8] = b"alice";
const SALT: [u8; 4] = [1, 2, 3, 4];

/// Checks that a text is of exactly one kind, and that only what matches this kind is let in.
pub fn secret(data: &[u8]) {
    let secret = Secret::parse(data);
    assert_eq!(secret, Secret::parse(data));
    match &secret {
        Secret::Plain(password) if password.is_empty() => check_empty(data, &secret),
        Secret::Plain(password) => check_plain(data, password, &secret),
        Secret::Md5(hash) => check_md5(data, hash, &secret),
        Secret::Scram(verifier) => check_scram(data, verifier),
    }
    let debug = format!("{secret:?}");
    assert!(matches!(&*debug, "Secret(empty)" | "Secret(plain)" | "Secret(md5)" | "Secret(scram)"));
    check_preparation(data);
}

fn check_empty(data: &[u8], secret: &Secret) {
    assert!(secret.is_empty() && !secret.accepts_plain(USER, data));
    assert!(data.is_empty() || Verifier::parse(data) == Err(Denied::Iterations));
}

fn check_plain(data: &[u8], password: &[u8], secret: &Secret) {
    assert_eq!(password, data);
    assert!(secret.accepts_plain(USER, data));
    assert!(!secret.accepts_plain(USER, &[data, b" "].concat()));
    let response = md5_response(&auth::md5_hash(data, USER), SALT);
    assert!(md5_matches(secret, USER, SALT, &response));
    assert!(!md5_matches(secret, USER, SALT, data));
}

fn check_md5(data: &[u8], hash: &[u8; 32], secret: &Secret) {
    assert_eq!([b"md5", &hash[..]].concat(), data);
    assert!(!secret.accepts_plain(USER, data));
    assert!(md5_matches(secret, USER, SALT, &md5_response(hash, SALT)));
    assert!(!md5_matches(secret, USER, SALT, data));
}

fn check_scram(data: &[u8], verifier: &Verifier) {
    assert_eq!(verifier.to_string().as_bytes(), data, "there is one way to write a verifier");
    assert!((1..=ITERATIONS_MAX).contains(&verifier.iterations) && !verifier.salt.is_empty());
}

fn check_preparation(data: &[u8]) {
    match saslprep(data) {
        Cow::Borrowed(raw) => assert_eq!(raw, data),
        Cow::Owned(prepared) => assert!(!prepared.is_empty() && str::from_utf8(&prepared).is_ok()),
    }
}
