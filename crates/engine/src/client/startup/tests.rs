//! First packets, right and wrong.

use wire::write;

use super::{Refused, Rules, Step, read};
use crate::params::Names;

/// What a first packet leads to, in a line.
fn outcome(bytes: &[u8], ignored: &[&str]) -> String {
    let ignored: Vec<String> = ignored.iter().map(|&name| name.into()).collect();
    let names = Names::new(&[]);
    let rules = Rules { names: &names, ignored: &ignored };
    match read(bytes, &mut Refused::default(), rules) {
        Step::Incomplete => "incomplete".into(),
        Step::Refuse(len) => format!("N, {len} bytes"),
        Step::Cancel(key) => format!("cancel {}", key.escape_ascii()),
        Step::Bad(reason) => {
            let sqlstate = reason.told().map_or_else(|| "silent".into(), |told| told.sqlstate);
            format!("{sqlstate} {}", reason.text())
        }
        Step::Login(request, len) => {
            assert_eq!(len, bytes.len(), "all of it is the packet");
            let mut line = format!("{}/{}", request.database, request.user);
            for (place, name) in names.iter() {
                if let Some(value) = request.params.value(place) {
                    line += &format!(" {name}={}", value.escape_ascii());
                }
            }
            if !request.negotiation.is_empty() {
                line += &format!(" negotiated {}", request.negotiation[13..].escape_ascii());
            }
            line
        }
    }
}

type Parameters<'a> = &'a [(&'a str, &'a str)];

fn packet(version: u32, parameters: Parameters<'_>) -> Vec<u8> {
    let parameters: Vec<_> =
        parameters.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    let mut packet = Vec::new();
    write::startup(&mut packet, version, &parameters);
    packet
}

fn check(parameters: Parameters<'_>, expected: &str) {
    let packet = packet(wire::PROTOCOL_3_0, parameters);
    assert_eq!(outcome(&packet, &["extra_float_digits", "geqo"]), expected, "{parameters:?}");
}

fn check_raw(bytes: &[u8], expected: &str) {
    assert_eq!(outcome(bytes, &[]), expected, "{}", bytes.escape_ascii());
}

#[test]
fn names() {
    check(&[("user", "me"), ("database", "app")], "app/me");
    check(&[("database", "app"), ("user", "me")], "app/me");
    check(&[("user", "me")], "me/me");
    check(&[("user", "me"), ("database", "")], "me/me");
    check(&[], "08P01 no username supplied");
    check(&[("database", "app")], "08P01 no username supplied");
    check(&[("user", ""), ("database", "app")], "08P01 no username supplied");
    // PostgreSQL: the last of equal names counts.
    check(&[("user", "you"), ("user", "me")], "me/me");
    check(&[("user", "me"), ("database", "one"), ("database", "two")], "two/me");
    check(&[("user", "Ünal")], "Ünal/Ünal");
    check(&[("user", &"u".repeat(127)), ("database", "d")], &format!("d/{}", "u".repeat(127)));
    check(&[("user", &"u".repeat(128))], "08P01 username too long");
    // PostgreSQL cuts names at 63 bytes.
    check(&[("user", "u"), ("database", &"d".repeat(64))], &format!("{}/u", "d".repeat(63)));
    check(&[("USER", "me")], "08P01 unsupported startup parameter: USER");
}

#[test]
fn names_that_are_not_text() {
    let mut packet = Vec::new();
    write::startup(&mut packet, wire::PROTOCOL_3_0, &[(b"user", b"\xff\xfe")]);
    check_raw(&packet, "08P01 name is not valid UTF-8");
}

#[test]
fn parameters() {
    let login = |more: (&str, &str), expected: &str| check(&[("user", "me"), more], expected);
    login(("TimeZone", "UTC"), "me/me TimeZone=UTC");
    login(("timezone", "UTC"), "me/me TimeZone=UTC");
    login(("DATESTYLE", "German"), "me/me DateStyle=German");
    login(("client_encoding", "LATIN1"), "me/me client_encoding=LATIN1");
    login(("application_name", ""), "me/me application_name=");
    login(("application_name", "a 'b' \\c"), "me/me application_name=a \\'b\\' \\\\c");
    login(("intervalstyle", "iso_8601"), "me/me IntervalStyle=iso_8601");
    login(("standard_conforming_strings", "off"), "me/me standard_conforming_strings=off");
    login(("extra_float_digits", "2"), "me/me");
    login(("Extra_Float_Digits", "2"), "me/me");
    login(("work_mem", "x"), "08P01 unsupported startup parameter: work_mem");
    let long = &"x".repeat(98);
    let cut = format!("08P01 unsupported startup parameter: {}", &long[..96]);
    login((long, "1"), &cut);
    login(("application_name", &"x".repeat(4097)), "22023 invalid server parameter");
    login(("_pq_.fancy", "1"), "me/me negotiated _pq_.fancy\\x00");
    let two = [("user", "me"), ("TimeZone", "UTC"), ("timezone", "GMT")];
    check(&two, "me/me TimeZone=GMT");
    assert_eq!(Names::new(&[]).place(b"nothing"), None);
}

#[test]
fn replication() {
    let login =
        |value: &str, expected: &str| check(&[("user", "me"), ("replication", value)], expected);
    for off in ["false", "off", "no", "0"] {
        login(off, "me/me");
    }
    for on in ["true", "on", "yes", "1", "database"] {
        login(on, "0A000 replication connections are not supported");
    }
}

#[test]
fn options() {
    const NOT_ALLOWED: &str = "08P01 unsupported options startup parameter: only \
                               '-c config=val' and '--config=val' are allowed";
    let login = |text: &str, expected: &str| check(&[("user", "me"), ("options", text)], expected);
    login("", "me/me");
    login("  ", "me/me");
    login("-c TimeZone=UTC", "me/me TimeZone=UTC");
    login("-cTimeZone=UTC", "me/me TimeZone=UTC");
    login("--TimeZone=UTC", "me/me TimeZone=UTC");
    login("--client-encoding=UTF8", "me/me client_encoding=UTF8");
    login("-c  application_name=a\\ b", "me/me application_name=a b");
    login("-c application_name=a\\\\b", "me/me application_name=a\\\\b");
    login("-c application_name=", "me/me application_name=");
    login("-c datestyle=German --timezone=UTC", "me/me DateStyle=German TimeZone=UTC");
    login("-c geqo=off -c timezone=UTC", "me/me TimeZone=UTC");
    login("-c work_mem=x", "08P01 unsupported startup parameter in options: work_mem");
    for text in ["-c=", "-c =", "--=", "-c\\", "-c timezone=UTC -c="] {
        login(text, NOT_ALLOWED);
    }
    for text in ["-x", "-c", "-c timezone", "timezone=UTC", "+c", "%20", "-c =x", "--", "-d 5"] {
        login(text, NOT_ALLOWED);
    }
}

#[test]
fn options_that_are_ignored() {
    let packet = packet(wire::PROTOCOL_3_0, &[("user", "me"), ("options", "-c work_mem=x")]);
    assert_eq!(outcome(&packet, &["options", "work_mem"]), "me/me");
}

#[test]
fn versions() {
    let login = |version: u32, expected: &str| {
        assert_eq!(outcome(&packet(version, &[("user", "me")]), &[]), expected, "{version:#x}");
    };
    login(0x0003_0000, "me/me");
    login(0x0003_0002, "me/me negotiated ");
    login(0x0003_270f, "me/me negotiated ");
    login(0x0002_0000, "08P01 old V2 protocol not supported");
    login(0x0004_0000, "08P01 bad packet header: '0000001100040000'");
    login(0x0000_0000, "08P01 bad packet header: '0000001100000000'");
}

#[test]
fn requests_without_a_login() {
    check_raw(b"\0\0\0\x08\x04\xd2\x16\x2f", "N, 8 bytes");
    check_raw(b"\0\0\0\x08\x04\xd2\x16\x30", "N, 8 bytes");
    check_raw(
        b"\0\0\0\x08\x04\xd2\x16\x2fmore",
        "08P01 received unencrypted data after SSL request",
    );
    check_raw(
        b"\0\0\0\x08\x04\xd2\x16\x30\0",
        "08P01 received unencrypted data after GSSAPI encryption request",
    );
    check_raw(b"\0\0\0\x10\x04\xd2\x16\x2e12345678", "cancel 12345678");
    check_raw(b"\0\0\0\x14\x04\xd2\x16\x2e123456789012", "cancel 123456789012");
    check_raw(b"\0\0\0\x0f\x04\xd2\x16\x2e1234567", "silent bad cancel request");
    check_raw(b"\0\0\0\x08\x04\xd2\x16\x2e", "silent bad cancel request");
}

#[test]
fn encryption_is_refused_once_of_each_kind() {
    let (ssl, gss) = (b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x08\x04\xd2\x16\x30");
    let names = Names::new(&[]);
    let rules = Rules { names: &names, ignored: &[] };
    for (first, second) in [(ssl, gss), (gss, ssl)] {
        let mut refused = Refused::default();
        assert!(matches!(read(first, &mut refused, rules), Step::Refuse(8)));
        assert!(matches!(read(second, &mut refused, rules), Step::Refuse(8)));
        assert!(matches!(read(first, &mut refused, rules), Step::Bad(_)));
        assert!(matches!(read(second, &mut refused, rules), Step::Bad(_)));
    }
}

#[test]
fn lengths() {
    for length in [0_u32, 4, 7, 10_001, 0x7fff_ffff, u32::MAX] {
        let packet = [&length.to_be_bytes()[..], b"\0\x03\0\0"].concat();
        let hex: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
        check_raw(&packet, &format!("08P01 bad packet header: '{hex}'"));
    }
    check_raw(b"", "incomplete");
    check_raw(b"\0\0\0", "incomplete");
    check_raw(b"\0\0\x27\x10", "incomplete");
    check_raw(b"\0\0\0\x09\0\x03\0\0", "incomplete");
    check_raw(b"GET / HTTP/1.1", "08P01 bad packet header: '474554202f204854'");
    check_raw(b"\x16\x03\x01", "08P01 bad packet header: '160301'");
    let longest = packet(wire::PROTOCOL_3_0, &[("user", "me"), ("geqo", &"x".repeat(9_977))]);
    assert_eq!(longest.len(), 10_000);
    assert_eq!(outcome(&longest, &["geqo"]), "me/me");
}

#[test]
fn layouts() {
    const NO_END: &str = "08P01 invalid startup packet layout: expected terminator as last byte";
    check_raw(b"\0\0\0\x08\0\x03\0\0", NO_END);
    check_raw(b"\0\0\0\x0f\0\x03\0\0user\0m\0", NO_END);
    check_raw(b"\0\0\0\x0e\0\x03\0\0user\0\0", NO_END);
    check_raw(b"\0\0\0\x12\0\x03\0\0user\0m\0\0\0\0", NO_END);
    check_raw(b"\0\0\0\x09\0\x03\0\0\0", "08P01 no username supplied");
}

/// Every beginning of a packet asks for more, and nothing else.
#[test]
fn packets_in_pieces() {
    let packet = packet(wire::PROTOCOL_3_2, &[("user", "me"), ("options", "-c timezone=UTC")]);
    for len in 0..packet.len() {
        check_raw(&packet[..len], "incomplete");
    }
    check_raw(&packet, "me/me TimeZone=UTC negotiated ");
}
