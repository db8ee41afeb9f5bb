//! The fake server by tables: a conversation, and the tags that a real PostgreSQL answers with.
//!
//! A line is a message of the client: its letter, and the text where it has one. Of the answer
//! only the tags are told, and of ReadyForQuery the status.

use super::*;

fn accounts() -> Vec<Account> {
    let verifier = auth::derive(b"secret", b"salt", 4).verifier(b"salt", 4);
    vec![Account { name: "ann", password: "secret", verifier }]
}

fn logged_in() -> Backend {
    let mut backend = Backend::new(8, Method::Trust, Mood::Open, [7; 22]);
    let mut bytes = Vec::new();
    write::startup(&mut bytes, wire::PROTOCOL_3_0, &[(b"user", b"ann"), (b"database", b"one")]);
    backend.hear(&bytes);
    assert_eq!(backend.work(&accounts()), Outcome::Waits);
    assert!(tags(&backend.take_output()).starts_with("RS") && backend.is_ready());
    backend
}

fn tags(mut bytes: &[u8]) -> String {
    let mut out = String::new();
    while let Ok(Some(head)) = wire::header(bytes) {
        let (message, rest) = bytes.split_at(head.total as usize);
        out.push(char::from(head.tag));
        if head.tag == b'Z' {
            out.push(char::from(message[5]).to_ascii_lowercase());
        }
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a message");
    out
}

fn message(line: &str) -> Vec<u8> {
    let (letter, text) = line.split_at(1);
    let text = text.trim();
    let mut out = Vec::new();
    match letter {
        "Q" => write::query(&mut out, text.as_bytes()),
        "P" => write::parse(&mut out, b"", text.as_bytes(), &[]),
        "N" => write::parse(&mut out, b"named", text.as_bytes(), &[]),
        "B" => write::bind(&mut out, b"", text.as_bytes(), &[], &[], &[]),
        "D" => write::describe(&mut out, b'P', b""),
        "T" => write::describe(&mut out, b'S', b""),
        "E" => write::execute(&mut out, b"", text.parse().unwrap_or(0)),
        "C" => write::close(&mut out, b'S', b"named"),
        "S" => write::sync(&mut out),
        "H" => write::flush(&mut out),
        "F" => write::function_call(&mut out, 1, &[Some(b"~1.1~")]),
        "d" => write::copy_data(&mut out, b"row"),
        "c" => write::copy_done(&mut out),
        "f" => write::copy_fail(&mut out, "no"),
        "!" => {}
        other => panic!("{other}"),
    }
    out
}

/// Says all lines at once, then one by one: the answers must be the same. `!` is a cancel request.
fn check(lines: &[&str], expected: &str) {
    for at_once in [true, false] {
        let mut backend = logged_in();
        let mut found = String::new();
        for line in lines {
            backend.hear(&message(line));
            if *line == "!" {
                backend.session.cancel();
            }
            if !at_once || *line == "!" {
                backend.work(&accounts());
            }
            found += &tags(&backend.take_output());
        }
        while let Outcome::Sleeps(_) = backend.work(&accounts()) {
            backend.session.wake();
        }
        found += &tags(&backend.take_output());
        assert_eq!(found, expected, "{lines:?}, at once: {at_once}");
    }
}

#[test]
fn simple_queries() {
    check(&["Q select rows=2"], "TDDCZi");
    check(&["Q"], "IZi");
    check(&["Q ;"], "IZi");
    check(&["Q select rows=0; select"], "TCTDCZi");
    check(&["Q select; fail; select"], "TDCEZi");
    check(&["Q begin", "Q select", "Q commit"], "CZtTDCZtCZi");
    check(&["Q begin; fail", "Q select", "Q commit", "Q select"], "CEZeEZeCZiTDCZi");
    check(&["Q begin", "Q fail", "Q rollback"], "CZtEZeCZi");
    check(&["F"], "VZi");
    check(&["Q begin", "Q fail", "F", "Q rollback"], "CZtEZeEZeCZi");
    check(&["Q select sleep=9", "Q select"], "TDCZiTDCZi");
}

#[test]
fn batches() {
    check(&["S"], "Zi");
    check(&["H", "S"], "Zi");
    check(&["P select rows=2", "B", "D", "E", "S"], "12TDDCZi");
    check(&["P select", "T", "B", "E", "S"], "1tT2DCZi");
    check(&["P begin", "B", "D", "E", "S"], "12nCZt");
    check(&["P fail", "B", "E", "P select", "B", "E", "S", "S"], "12EZiZi");
    check(&["P fail", "B", "E", "Q select", "F", "S"], "12EZi");
    check(&["B gone", "E", "S", "Q select"], "EZiTDCZi");
    check(&["N select", "N select", "S"], "1EZi");
    check(&["P select", "S", "B", "E", "S", "Q select", "B", "S"], "1Zi2DCZiTDCZiEZi");
    check(&["N select", "C", "N select", "S"], "131Zi");
    check(&["P select rows=5", "B", "E 2", "E 2", "E 2", "S"], "12DDsDDsDCZi");
    check(&["P select rows=2", "B", "E 2", "E 2", "S"], "12DDsCZi");
    check(&["P select", "B", "S", "E", "S"], "12ZiEZi");
    check(&["P select", "B", "E", "Q select"], "12DCTDCZi");
    check(&["Q begin", "P fail", "B", "E", "S", "P select", "S", "Q rollback"], "CZt12EZeEZeCZi");
}

#[test]
fn copies() {
    check(&["Q copyin", "d", "d", "c"], "GCZi");
    check(&["Q copyin", "d", "f"], "GEZi");
    check(&["Q copyin; select", "d", "c"], "GCTDCZi");
    check(&["Q copyin fail=1", "d", "d", "c", "Q select"], "GEZiTDCZi");
    check(&["Q copyin fail=0", "d", "c", "S"], "GEZiZi");
    check(&["Q copyout rows=2"], "HddcCZi");
    check(&["d", "c", "f", "Q select"], "TDCZi");
    // What was said before the copy has failed was read during the copy, and ignored.
    check(&["P copyin", "B", "E", "S", "d", "H", "c", "S"], "12GCZi");
    check(&["P copyin fail=1", "B", "E", "S", "d", "d", "c", "S"], "12GEZi");
    check(&["P copyin fail=0", "B", "E", "S", "d", "c", "S"], "12GEZiZi");
    check(&["P copyin", "B", "E", "f", "S"], "12GEZi");
}

#[test]
fn parameters() {
    // A server with an even process id reports at once, and the other before ReadyForQuery.
    check(&["Q set TimeZone='UTC'"], "CSZi");
    check(&["Q set TimeZone='Etc/UTC'"], "CZi");
    check(&["Q set TimeZone='bad'"], "EZi");
    check(&["Q set nothing='x'"], "EZi");
    check(&["Q begin", "Q set TimeZone='UTC'", "Q rollback"], "CZtCSZtCSZi");
    check(&["Q begin", "Q set local TimeZone='UTC'", "Q commit"], "CZtCSZtCSZi");
    check(&["Q begin", "Q set TimeZone='UTC'", "Q commit"], "CZtCSZtCZi");
    check(&["Q set TimeZone='UTC'; fail"], "CSESZi");
    check(&["Q set TimeZone='UTC'", "Q DISCARD ALL"], "CSZiCSZi");
    check(&["Q begin", "Q DISCARD ALL", "Q rollback"], "CZtEZeCZi");
}

#[test]
fn cancel_requests_end_what_runs_and_nothing_else() {
    check(&["!", "Q select"], "TDCZi");
    let mut backend = logged_in();
    backend.hear(&message("Q ~1.1~ select sleep=9; select"));
    assert_eq!(backend.work(&accounts()), Outcome::Sleeps(9));
    assert_eq!(
        backend.session.cancel(),
        Some(Some(crate::statement::Token { session: 1, number: 1 }))
    );
    assert_eq!(backend.work(&accounts()), Outcome::Waits);
    assert_eq!(tags(&backend.take_output()), "EZi");
    assert_eq!(backend.session.cancel(), None);
}

#[test]
fn logins() {
    let check = |method, mood, password: &[u8], expected: (&str, bool)| {
        let mut backend = Backend::new(8, method, mood, [7; 22]);
        let mut bytes = Vec::new();
        let parameters: [(&[u8], &[u8]); 2] = [(b"user", b"ann"), (b"database", b"one")];
        write::startup(&mut bytes, wire::PROTOCOL_3_0, &parameters);
        backend.hear(&bytes);
        backend.work(&accounts());
        let mut bytes = Vec::new();
        write::password(&mut bytes, password);
        backend.hear(&bytes);
        backend.work(&accounts());
        let tags = tags(&backend.take_output());
        assert_eq!((tags.as_str(), backend.is_ready()), expected, "{method:?} {mood:?}");
    };
    check(Method::Cleartext, Mood::Open, b"secret", ("RRSSSSSSSSKZi", true));
    check(Method::Cleartext, Mood::Open, b"wrong", ("RE", false));
    let md5 = auth::md5_response(&auth::md5_hash(b"secret", b"ann"), [7; 4]);
    check(Method::Md5, Mood::Open, &md5, ("RRSSSSSSSSKZi", true));
    check(Method::Md5, Mood::Open, b"secret", ("RE", false));
    check(Method::Scram, Mood::Open, b"secret", ("RE", false));
    check(Method::Trust, Mood::Refuses("3D000"), b"", ("E", false));
    check(Method::Trust, Mood::Silent, b"", ("", false));
}
