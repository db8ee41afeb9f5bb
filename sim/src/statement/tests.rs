//! Statements, their parts and their tokens, by tables.

use super::*;

fn token(session: u32, number: u32) -> Token {
    Token { session, number }
}

#[test]
fn statements_are_read() {
    let set = |name: &str, value: &str, local| Verb::Set {
        name: name.to_owned(),
        value: value.to_owned(),
        local,
    };
    let check = |text: &str, verb: Verb| assert_eq!(Statement::parse(text).verb, verb, "{text}");
    check("", Verb::Empty);
    check("  ", Verb::Empty);
    check("~1.2~ p=ff", Verb::Empty);
    check("~1.2~ p=ff select rows=3 size=20 sleep=5", Verb::Select { rows: 3, size: 20 });
    check("select 1", Verb::Select { rows: 1, size: 0 });
    check("~1.2~ begin", Verb::Begin);
    check("COMMIT", Verb::Commit);
    check("DISCARD ALL", Verb::DiscardAll);
    check("~1.2~ copyin fail=0", Verb::CopyIn { fails_at: Some(0) });
    check("~1.2~ copyout rows=2", Verb::CopyOut { rows: 2, size: 0 });
    check("SET TimeZone='UTC'", set("TimeZone", "UTC", false));
    check("~1.2~ p=1 set local TimeZone='UTC'", set("TimeZone", "UTC", true));
    check("SET a='it''s'", set("a", "it's", false));
    check("SET a=E'b\\\\c''d'", set("a", "b\\c'd", false));
    check("set a", Verb::Fail);
    let statement = Statement::parse("~7.8~ p=ff select sleep=5");
    assert_eq!(statement.token, Some(token(7, 8)));
    assert_eq!((statement.fingerprint, statement.sleep), (Some(255), 5));
}

#[test]
fn queries_are_cut_at_semicolons_outside_of_quotes() {
    let check = |text: &str, parts: &[&str]| assert_eq!(split(text), parts, "{text}");
    check("", &[]);
    check(";;", &[]);
    check("a;b", &["a", "b"]);
    check("SET a='x;y';SET b='';", &["SET a='x;y'", "SET b=''"]);
    check("a='it''s;';b", &["a='it''s;'", "b"]);
}

#[test]
fn quoted_values_come_back() {
    for value in ["", "web", "it's", "back\\slash", "a;b", "'\\'"] {
        let text = format!("SET a={}", quoted(value));
        let Verb::Set { value: found, .. } = Statement::parse(&text).verb else {
            panic!("{text}");
        };
        assert_eq!(found, value, "{text}");
    }
}

#[test]
fn tokens_are_found_however_the_bytes_are_cut() {
    let text = b"Q~ ~1.2~~3.4~ ~x.1~ ~5.6~";
    for cut in 0..text.len() {
        let (mut scanner, mut found) = (Scanner::default(), Vec::new());
        scanner.scan(&text[..cut], &mut found);
        scanner.scan(&text[cut..], &mut found);
        assert_eq!(found, [token(1, 2), token(3, 4), token(5, 6)], "cut at {cut}");
    }
}
