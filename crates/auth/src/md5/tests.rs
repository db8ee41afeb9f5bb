//! The md5 exchange against PostgreSQL's stored hash and hashes computed elsewhere.

use super::*;

/// `rolpassword` of role `r` with password `pencil` in PostgreSQL 15.
const STORED: &[u8] = b"md592393812f403d256cd07b05461479c1a";
const SALT: [u8; 4] = [1, 2, 0xFE, 0xFF];
const RESPONSE: &[u8; 35] = b"md5cc5e252ac22b3a3f96876fb1751b50a3";

#[test]
fn the_hash_is_postgresqls() {
    assert_eq!(md5_hash(b"pencil", b"r")[..], STORED[3..]);
}

#[test]
fn the_response_hashes_the_hash_with_the_salt() {
    assert_eq!(md5_response(&md5_hash(b"pencil", b"r"), SALT), *RESPONSE);
}

#[test]
fn responses_match_the_secret_they_were_made_from() {
    let check = |secret: &[u8], user: &[u8], response: &[u8], expected| {
        let secret = Secret::parse(secret);
        assert_eq!(md5_matches(&secret, user, SALT, response), expected, "{secret:?} {user:?}");
    };
    check(b"pencil", b"r", RESPONSE, true);
    check(STORED, b"r", RESPONSE, true);
    // The user name is already in the stored hash.
    check(STORED, b"somebody", RESPONSE, true);
    check(b"pencil", b"somebody", RESPONSE, false);
    check(b"pencils", b"r", RESPONSE, false);
    check(b"pencil", b"r", &RESPONSE[..34], false);
    check(b"pencil", b"r", &[RESPONSE, &b"0"[..]].concat(), false);
    check(b"pencil", b"r", &RESPONSE.to_ascii_uppercase(), false);
    check(b"pencil", b"r", b"pencil", false);
    check(b"pencil", b"r", b"", false);
    check(STORED, b"r", STORED, false);
}

#[test]
fn empty_and_scram_secrets_match_nothing() {
    let of_empty_password = md5_response(&md5_hash(b"", b"r"), SALT);
    assert!(!md5_matches(&Secret::parse(b""), b"r", SALT, &of_empty_password));
    let verifier = crate::derive(b"pencil", b"salt", 1).verifier(b"salt", 1);
    assert!(!md5_matches(&Secret::Scram(verifier), b"r", SALT, RESPONSE));
}
