//! Texts of queries, and what they ask for.

use super::Statement::{self, Command, Courtesies, Nothing};
use crate::admin::answer::{self, Answer};
use crate::admin::grammar::{Command as Asked, Show};

fn read(text: &str) -> Result<Statement, Answer> {
    Statement::read(text.as_bytes())
}

fn invalid(text: &str) -> Result<Statement, Answer> {
    let shown = format!("invalid command '{text}', use SHOW HELP;");
    Err(answer::refusal(&shown))
}

#[test]
fn nothing() {
    for text in ["", ";", " ;;; \n;", "-- ping", "/* a /* nested */ one */;", "-- a\n ; --b"] {
        assert_eq!(read(text), Ok(Nothing), "{text}");
    }
}

#[test]
fn comments_are_blanks() {
    let pools = Ok(Command(Asked::Show(Show::Pools)));
    for text in [
        "SHOW POOLS",
        "/* app='x' */ SHOW POOLS",
        "SHOW/**/POOLS;",
        "show pools -- of all\n;",
        "-- first\nSHOW POOLS",
        "SHOW \"pools\"",
    ] {
        assert_eq!(read(text), pools, "{text}");
    }
    let pause = Ok(Command(Asked::Pause(Some("--a".into()))));
    assert_eq!(read("PAUSE \"--a\" -- b"), pause, "quoted");
}

#[test]
fn what_does_not_end_is_refused() {
    for text in ["SHOW POOLS /*", "/* /* */", "SHOW \"pools", "SET a = 'b"] {
        assert_eq!(read(text), invalid(text));
    }
    assert!(Statement::read(b"SHOW \xff").is_err());
}

#[test]
fn one_command_or_several_courtesies() {
    let count = |text: &str| match read(text) {
        Ok(Courtesies(list)) => list.len(),
        _ => 0,
    };
    assert_eq!(count("BEGIN"), 1);
    assert_eq!(count("BEGIN; COMMIT"), 2);
    let reset = "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;";
    assert_eq!(count(reset), 4);
    assert_eq!(count(&"SELECT 1;".repeat(16)), 16);
    for text in ["SHOW POOLS; SHOW POOLS", "BEGIN; SHOW POOLS", &"SELECT 1;".repeat(17)] {
        assert_eq!(read(text), invalid(text));
    }
}

#[test]
fn only_one_is_prepared_and_it_has_no_parameters() {
    let refused = |text: &str, why: &str| {
        let error = answer::error("42601", why, None);
        assert_eq!(Statement::prepare(text.as_bytes()), Err(error), "{text}");
    };
    refused("BEGIN; COMMIT", "cannot insert multiple commands into a prepared statement");
    refused("SHOW $1", "parameters are not supported by the admin console");
    refused("PAUSE $12", "parameters are not supported by the admin console");
    assert_eq!(Statement::prepare(b"SHOW x$"), invalid("SHOW x$"));
    assert_eq!(Statement::prepare(b"SHOW POOLS"), read("SHOW POOLS"));
    assert_eq!(Statement::prepare(b""), Ok(Nothing));
}

#[test]
fn columns_are_known_before_anything_is_shown() {
    let names = |text: &str| {
        read(text).unwrap().columns().iter().map(|(name, _)| *name).collect::<Vec<_>>()
    };
    assert_eq!(names("SHOW STATE"), ["key", "value"]);
    assert_eq!(names("SHOW timezone"), ["timezone"]);
    assert_eq!(names("SELECT 1"), ["?column?"]);
    for text in ["", "BEGIN", "PAUSE", "SHOW HELP", "SHOW FDS"] {
        assert_eq!(names(text), [""; 0], "{text}");
    }
    let counts = ["clients", "servers", "sockets", "active_sockets", "pools", "databases"];
    assert_eq!(counts.map(|name| names(&format!("SHOW {name}")).len()), [21, 21, 28, 28, 17, 17]);
}
