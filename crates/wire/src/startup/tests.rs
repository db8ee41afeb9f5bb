//! First packets as PostgreSQL would judge them, and the words of `options`.

use super::*;

/// Renders a packet so that one line can hold the expectation.
fn read(bytes: &[u8]) -> String {
    match packet(bytes) {
        Ok(None) => "incomplete".to_owned(),
        Ok(Some((Packet::SslRequest, length))) => format!("ssl, {length}"),
        Ok(Some((Packet::GssEncRequest, length))) => format!("gss, {length}"),
        Ok(Some((Packet::Cancel(key), length))) => format!("cancel {} bytes, {length}", key.len()),
        Ok(Some((Packet::Startup(startup), length))) => {
            let pairs: Vec<String> = startup
                .parameters()
                .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
                .collect();
            format!("{}.{} {}, {length}", startup.major, startup.minor, pairs.join(" "))
        }
        Err(error) => format!("{error:?}"),
    }
}

/// Puts the length field before what is checked.
fn check(rest: &[u8], expected: &str) {
    let length = u32::try_from(rest.len() + 4).unwrap();
    let bytes = [&length.to_be_bytes(), rest].concat();
    assert_eq!(read(&bytes), expected, "{}", bytes.escape_ascii());
}

#[test]
fn requests() {
    check(b"\x04\xd2\x16\x2f", "ssl, 8");
    check(b"\x04\xd2\x16\x30", "gss, 8");
    check(b"\x04\xd2\x16\x2fx", "BadLength(9)");
    check(b"\x04\xd2\x16\x30\0\0\0\0", "BadLength(12)");
    check(b"\x04\xd2\x16\x31", "BadVersion { major: 1234, minor: 5681 }");
}

#[test]
fn cancel_keys() {
    let check = |key: usize, expected: &str| {
        check(&[b"\x04\xd2\x16\x2e", vec![7; key].as_slice()].concat(), expected);
    };
    check(0, "BadCancel");
    check(4, "BadCancel");
    check(7, "BadCancel");
    check(8, "cancel 8 bytes, 16");
    check(36, "cancel 36 bytes, 44");
    check(260, "cancel 260 bytes, 268");
    check(261, "BadCancel");
}

#[test]
fn startup_messages() {
    check(b"\0\x03\0\0user\0u\0database\0d\0\0", "3.0 user=u database=d, 27");
    check(b"\0\x03\0\x02user\0u\0\0", "3.2 user=u, 16");
    check(b"\0\x03\xff\xffuser\0u\0\0", "3.65535 user=u, 16");
    check(b"\0\x03\0\0user\0a\0user\0b\0\0", "3.0 user=a user=b, 23");
    check(b"\0\x03\0\0user\0\0\0", "3.0 user=, 15");
    check(b"\0\x03\0\0\0", "3.0 , 9");
}

#[test]
fn a_terminator_is_the_last_byte() {
    check(b"\0\x03\0\0", "NoTerminator");
    check(b"\0\x03\0\0x", "NoTerminator");
    check(b"\0\x03\0\0user", "NoTerminator");
    check(b"\0\x03\0\0user\0", "NoTerminator");
    check(b"\0\x03\0\0user\0u", "NoTerminator");
    check(b"\0\x03\0\0user\0u\0", "NoTerminator");
    check(b"\0\x03\0\0user\0\0", "NoTerminator");
    check(b"\0\x03\0\0user\0u\0\0\0", "NoTerminator");
    check(b"\0\x03\0\0\0user\0u\0\0", "NoTerminator");
}

#[test]
fn versions() {
    check(b"\0\x02\0\0", "Version2");
    check(b"\0\x02\0\x07user\0u\0\0", "Version2");
    check(b"\0\x01\0\0", "BadVersion { major: 1, minor: 0 }");
    check(b"\0\x04\0\0user\0u\0\0", "BadVersion { major: 4, minor: 0 }");
    check(b"\0\0\0\0", "BadVersion { major: 0, minor: 0 }");
    check(b"\xff\xff\xff\xff", "BadVersion { major: 65535, minor: 65535 }");
}

#[test]
fn a_length_is_judged_as_soon_as_it_is_there() {
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(read(bytes), expected, "{}", bytes.escape_ascii());
    }
    check(b"", "incomplete");
    check(b"\xff\xff\xff", "incomplete");
    check(b"\0\0\0\0", "BadLength(0)");
    check(b"\0\0\0\x07", "BadLength(7)");
    check(b"\0\0\0\x08", "incomplete");
    check(b"\0\0\0\x08\x04\xd2\x16", "incomplete");
    check(b"\0\0\x27\x10", "incomplete");
    check(b"\0\0\x27\x11", "BadLength(10001)");
    check(b"GET / HTTP/1.1", "BadLength(1195725856)");
    check(b"\x16\x03\x01\x02", "BadLength(369295618)");
}

#[test]
fn every_prefix_is_incomplete_and_what_follows_does_not_matter() {
    let whole = b"\0\0\0\x10\0\x03\0\0user\0u\0\0";
    for end in 0..whole.len() {
        assert_eq!(read(&whole[..end]), "incomplete", "{end} bytes");
    }
    assert_eq!(read(&[whole, b"Q\0\0".as_slice()].concat()), read(whole));
}

#[test]
fn option_words() {
    fn check(text: &str, expected: &[(&str, &str)]) {
        let pairs = options(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (str::from_utf8(name).unwrap(), str::from_utf8(value).unwrap()))
            .collect();
        assert_eq!(pairs, expected, "{text:?}");
    }
    check("", &[]);
    check(" \t\r\n\x0b\x0c", &[]);
    check("-c a=b", &[("a", "b")]);
    check("-ca=b", &[("a", "b")]);
    check("--a=b", &[("a", "b")]);
    check("-c a=b --c=d -ce=f", &[("a", "b"), ("c", "d"), ("e", "f")]);
    check("\t-c\x0b\n a=b  ", &[("a", "b")]);
    check("-c a=", &[("a", "")]);
    check("-c a=b=c", &[("a", "b=c")]);
    check("-c a=b -c a=c", &[("a", "b"), ("a", "c")]);
    check("--extra-float-digits=-2", &[("extra_float_digits", "-2")]);
    check("-c statement-timeout=1", &[("statement_timeout", "1")]);
    check("-c --a=b", &[("__a", "b")]);
    check("-c gruß=schön", &[("gruß", "schön")]);
}

#[test]
fn option_escapes() {
    fn check(text: &str, expected: &str) {
        let expected = vec![(b"a".to_vec(), expected.as_bytes().to_vec())];
        assert_eq!(options(text.as_bytes()), Ok(expected), "{text:?}");
    }
    check(r"-c a=b\ c", "b c");
    check(r"-c a=b\\c", r"b\c");
    check(r"-c a=\b", "b");
    check(r"-c a=b\", "b");
    check(r"-c a=\ ", " ");
    check(r"-c a\=b", "b");
    check(r"\-c \a=b", "b");
    check("-c a=b\\\n\\\tc", "b\n\tc");
    check(r#"-c a='b'"#, "'b'");
}

#[test]
fn option_errors() {
    fn check(text: &str, expected: &str) {
        assert_eq!(options(text.as_bytes()), Err(Malformed(error(expected))), "{text:?}");
    }
    fn error(short: &str) -> &'static str {
        match short {
            "switch" => "neither -c nor --",
            "name" => "setting without a name",
            "value" => "setting without a value",
            _ => "-c without a setting",
        }
    }
    check("-c", "nothing");
    check("-c a=b -c", "nothing");
    check("-c ", "nothing");
    check("-c=", "name");
    check("-c =b", "name");
    check("--=b", "name");
    check("--", "name");
    check(r"-c \", "name");
    check("-c a", "value");
    check("--a", "value");
    check("-c a b=c", "value");
    check("a=b", "switch");
    check("-B 100", "switch");
    check("-", "switch");
    check("-ca=b -x", "switch");
    check("-C a=b", "switch");
    check(r"\", "switch");
}
