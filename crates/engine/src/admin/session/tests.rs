//! Statements and portals of a session, and how they end.

use wire::{Fields, frame, write};

use super::{Console, Heard, PORTALS_MAX, STATEMENTS_MAX};
use crate::admin::answer;
use crate::admin::sheet::{Sheet, Type};
use crate::admin::{Phase, Rights};

fn console() -> Console {
    Console::new(Rights::Admin)
}

/// The tags of the answer to a message; `!` where a statement is to be run, and the SQLSTATE in
/// place of an error.
fn say(console: &mut Console, build: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut message = Vec::new();
    build(&mut message);
    match console.hear(message[0], frame::body(&message)) {
        Heard::Reply(bytes) => tags(&bytes),
        Heard::Run(_) => "!".to_owned(),
        Heard::Refused(refusal) => tags(&console.refuse(&refusal)),
    }
}

fn tags(mut bytes: &[u8]) -> String {
    let mut found = String::new();
    while let Some(head) = wire::header(bytes).unwrap() {
        let (message, rest) = bytes.split_at(head.total as usize);
        if head.tag == b'E' {
            let code = Fields::parse(frame::body(message)).unwrap().code().unwrap();
            found.push_str(&String::from_utf8_lossy(code));
        } else {
            found.push(char::from(head.tag));
        }
        bytes = rest;
    }
    found
}

fn parse(console: &mut Console, name: &str, text: &str) -> String {
    say(console, |out| write::parse(out, name.as_bytes(), text.as_bytes(), &[]))
}

fn bind(console: &mut Console, portal: &str, statement: &str) -> String {
    say(console, |out| {
        write::bind(out, portal.as_bytes(), statement.as_bytes(), &[], &[], &[]);
    })
}

fn execute(console: &mut Console, portal: &str, most: i32) -> String {
    say(console, |out| write::execute(out, portal.as_bytes(), most))
}

fn rows(count: u32) -> answer::Answer {
    let mut sheet = Sheet::new(&[("a", Type::Int4)]);
    for number in 0..count {
        sheet.number(number).end_row();
    }
    answer::table(sheet)
}

#[test]
fn a_batch() {
    let mut console = console();
    assert_eq!(parse(&mut console, "", "SHOW STATE"), "1");
    assert_eq!(say(&mut console, |out| write::describe(out, b'S', b"")), "tT");
    assert_eq!(bind(&mut console, "", ""), "2");
    assert_eq!(say(&mut console, |out| write::describe(out, b'P', b"")), "T");
    assert_eq!(execute(&mut console, "", 0), "!");
    assert_eq!(tags(&console.reply(&rows(2))), "DDC");
    assert_eq!(say(&mut console, |out| write::close(out, b'P', b"")), "3");
    assert_eq!(tags(&console.sync()), "Z");
    // A statement without rows, and none at all.
    for text in ["RELOAD", "BEGIN", ""] {
        assert_eq!(parse(&mut console, "", text), "1");
        assert_eq!(say(&mut console, |out| write::describe(out, b'S', b"")), "tn");
    }
}

#[test]
fn rows_come_as_many_at_a_time_as_are_wanted() {
    let mut console = console();
    parse(&mut console, "", "SHOW STATE");
    bind(&mut console, "p", "");
    assert_eq!(execute(&mut console, "p", 2), "!");
    assert_eq!(tags(&console.reply(&rows(5))), "DDs");
    assert_eq!(execute(&mut console, "p", 2), "DDs");
    assert_eq!(execute(&mut console, "p", 2), "DC");
    assert_eq!(execute(&mut console, "p", 0), "C", "nothing is left");
    bind(&mut console, "q", "");
    assert_eq!(execute(&mut console, "q", 5), "!");
    assert_eq!(tags(&console.reply(&rows(5))), "DDDDDs", "as PostgreSQL does");
    assert_eq!(execute(&mut console, "q", -1), "C", "no limit");
}

#[test]
fn an_error_silences_the_rest() {
    let mut console = console();
    assert_eq!(parse(&mut console, "", "nonsense"), "08P01");
    assert_eq!(console.phase, Phase::Skipping);
    assert_eq!(tags(&console.sync()), "Z");
    assert_eq!(console.phase, Phase::Ready);
    // One that comes of an Execute does so as well.
    parse(&mut console, "", "RELOAD");
    bind(&mut console, "", "");
    execute(&mut console, "", 0);
    assert_eq!(tags(&console.reply(&answer::refusal("no"))), "08P01");
    assert_eq!(console.phase, Phase::Skipping);
}

#[test]
fn what_is_refused() {
    let mut console = console();
    let refused = |console: &mut Console, code: &str, build: fn(&mut Vec<u8>)| {
        assert_eq!(say(console, build), code);
        console.sync();
    };
    refused(&mut console, "26000", |out| write::bind(out, b"", b"s", &[], &[], &[]));
    refused(&mut console, "26000", |out| write::describe(out, b'S', b""));
    refused(&mut console, "34000", |out| write::describe(out, b'P', b"p"));
    refused(&mut console, "34000", |out| write::execute(out, b"", 0));
    refused(&mut console, "08P01", |out| write::describe(out, b'x', b""));
    refused(&mut console, "08P01", |out| write::close(out, b'x', b""));
    refused(&mut console, "42601", |out| write::parse(out, b"", b"PAUSE $1", &[25]));
    parse(&mut console, "s", "RELOAD");
    refused(&mut console, "42P05", |out| write::parse(out, b"s", b"RELOAD", &[]));
    refused(&mut console, "08P01", |out| write::bind(out, b"", b"s", &[], &[None], &[]));
    parse(&mut console, "t", "SHOW STATE");
    refused(&mut console, "22023", |out| write::bind(out, b"", b"t", &[], &[], &[2]));
    refused(&mut console, "08P01", |out| write::bind(out, b"", b"t", &[], &[], &[0; 3]));
    // What is malformed, and names that are too long.
    for tag in *b"PBDEC" {
        assert_eq!(say(&mut console, |out| out.extend_from_slice(&[tag, 0, 0, 0, 4])), "08P01");
    }
    assert_eq!(parse(&mut console, &"x".repeat(256), "RELOAD"), "53000");
    // What was done cannot be done again, and what exists is not made again.
    console.sync();
    bind(&mut console, "p", "s");
    assert_eq!(execute(&mut console, "p", 0), "!");
    assert_eq!(tags(&console.reply(&answer::done("RELOAD"))), "C");
    assert_eq!(execute(&mut console, "p", 0), "55000");
    assert_eq!(bind(&mut console, "p", "s"), "42P03");
}

#[test]
fn there_are_limits() {
    let mut console = console();
    for number in 0..STATEMENTS_MAX {
        assert_eq!(parse(&mut console, &format!("s{number}"), "SHOW STATE"), "1");
    }
    assert_eq!(parse(&mut console, "more", "SHOW STATE"), "53000");
    for number in 0..PORTALS_MAX {
        assert_eq!(bind(&mut console, &format!("p{number}"), "s0"), "2");
    }
    assert_eq!(bind(&mut console, "more", "s0"), "53000");
    say(&mut console, |out| write::close(out, b'S', b"s0"));
    assert_eq!(parse(&mut console, "more", "SHOW STATE"), "1");
}

#[test]
fn portals_live_as_long_as_a_transaction() {
    let mut console = console();
    parse(&mut console, "s", "SHOW STATE");
    bind(&mut console, "p", "s");
    console.sync();
    assert_eq!(execute(&mut console, "p", 0), "34000");
    let courtesy = |console: &mut Console, text: &str| {
        let Ok(super::Statement::Courtesies(list)) = console.query(text.as_bytes()) else {
            panic!("{text}")
        };
        console.oblige(&list[0]);
        let answer = list[0].answer("");
        console.reply(&answer).pop().map(char::from)
    };
    assert_eq!(courtesy(&mut console, "BEGIN"), Some('T'));
    bind(&mut console, "p", "s");
    assert_eq!(tags(&console.sync()), "Z");
    assert_eq!(execute(&mut console, "p", 0), "!");
    assert_eq!(courtesy(&mut console, "COMMIT"), Some('I'));
    assert_eq!(execute(&mut console, "p", 0), "34000");
    // Statements live longer, until they are forgotten by name or all together.
    parse(&mut console, "t", "SHOW STATE");
    courtesy(&mut console, "DEALLOCATE s");
    assert_eq!((&*bind(&mut console, "", "s"), &*bind(&mut console, "", "t")), ("26000", "2"));
    courtesy(&mut console, "DISCARD ALL");
    assert_eq!(bind(&mut console, "", "t"), "26000");
}

#[test]
fn a_query_ends_what_is_unnamed() {
    let mut console = console();
    parse(&mut console, "", "SHOW STATE");
    bind(&mut console, "", "");
    assert!(console.query(b"SHOW STATE").is_ok());
    assert_eq!(tags(&console.reply(&rows(1))), "TDCZ");
    assert_eq!(bind(&mut console, "", ""), "26000");
    assert_eq!(execute(&mut console, "", 0), "34000");
}
