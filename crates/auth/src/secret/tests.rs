//! Which text is which kind of secret, and which passwords it lets in.

use super::*;

const MD5: &[u8] = b"md592393812f403d256cd07b05461479c1a";
const SCRAM: &[u8] =
    b"SCRAM-SHA-256$4096:VXe6a2dVLGgKqdKn3Td6cA==$WypGonGEb3zEaAsvV1Pmoss6NvGkicR4zCac1\
    aaDjsI=:QgGPnfcztNl0x755nBKbEYL8l27BFusQTJCgDceoiNA=";

#[test]
fn the_text_tells_the_kind() {
    let check = |text: &[u8], expected: &str| {
        let secret = Secret::parse(text);
        assert_eq!(format!("{secret:?}"), expected, "{}", String::from_utf8_lossy(text));
    };
    check(b"", "Secret(empty)");
    check(b"pencil", "Secret(plain)");
    check(MD5, "Secret(md5)");
    check(&MD5.to_ascii_uppercase(), "Secret(plain)");
    check(&[b"md5", &MD5[3..].to_ascii_uppercase()[..]].concat(), "Secret(plain)");
    check(&MD5[..34], "Secret(plain)");
    check(&[MD5, b"0"].concat(), "Secret(plain)");
    check(b"md5", "Secret(plain)");
    check(SCRAM, "Secret(scram)");
    check(b"SCRAM-SHA-256$foo", "Secret(plain)");
}

#[test]
fn a_scram_secret_beyond_the_iteration_limit_is_no_password() {
    for iterations in ["0", "100001", "4294967296"] {
        let text = String::from_utf8_lossy(SCRAM).replace("4096", iterations);
        let secret = Secret::parse(text.as_bytes());
        assert!(secret.is_empty(), "{iterations}");
        assert!(!secret.accepts_plain(b"r", text.as_bytes()), "{iterations}");
    }
}

#[test]
fn clear_text_passwords_are_compared_with_every_kind() {
    let check = |text: &[u8], user: &[u8], password: &[u8], expected| {
        let secret = Secret::parse(text);
        assert_eq!(secret.accepts_plain(user, password), expected, "{secret:?} {password:?}");
    };
    for secret in [&b"pencil"[..], MD5, SCRAM] {
        check(secret, b"r", b"pencil", true);
        check(secret, b"r", b"pencils", false);
        check(secret, b"r", b"penci", false);
        check(secret, b"r", b"Pencil", false);
        check(secret, b"r", b"", false);
    }
    // Only md5 depends on the user.
    check(b"pencil", b"s", b"pencil", true);
    check(MD5, b"s", b"pencil", false);
    check(SCRAM, b"s", b"pencil", true);
    // The stored text is not a password.
    check(MD5, b"r", MD5, false);
    check(SCRAM, b"r", SCRAM, false);
    check(b"", b"r", b"", false);
    check(b"", b"r", b"pencil", false);
}

#[test]
fn secrets_are_equal_when_kind_and_contents_are() {
    let kinds = [&b""[..], b"pencil", b"pencils", MD5, SCRAM].map(Secret::parse);
    for (place, secret) in kinds.iter().enumerate() {
        for (other_place, other) in kinds.iter().enumerate() {
            assert_eq!(secret == other, place == other_place, "{secret:?} {other:?}");
        }
    }
}
