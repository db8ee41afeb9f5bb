use super::*;

#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let found = pairs(text).unwrap();
    let found: Vec<_> = found.iter().map(|(key, value)| (*key, value.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[track_caller]
fn check_malformed(text: &str, expected: Malformed) {
    assert_eq!(pairs(text), Err(expected), "{text}");
}

#[test]
fn pairs_are_separated_by_blanks() {
    check("", &[]);
    check(" \t ", &[]);
    check("a=1", &[("a", "1")]);
    check("a=1 b=2\t c=3 ", &[("a", "1"), ("b", "2"), ("c", "3")]);
    check("host = x  port =5", &[("host", "x"), ("port", "5")]);
    check("a=1 a=2", &[("a", "1"), ("a", "2")]);
}

#[test]
fn a_value_reaches_to_the_blank() {
    check("a=b=c", &[("a", "b=c")]);
    check("a=it's", &[("a", "it's")]);
    check("a=\"b\"", &[("a", "\"b\"")]);
    check(r"a=\'", &[("a", r"\'")]);
    check("a=é,b", &[("a", "é,b")]);
}

#[test]
fn quotes_hold_blanks_and_doubled_quotes() {
    check("a='b c' d=e", &[("a", "b c"), ("d", "e")]);
    check("a='it''s'", &[("a", "it's")]);
    check("a=''''", &[("a", "'")]);
    check("a='b=c'", &[("a", "b=c")]);
    check(r"a='b\' c=d", &[("a", r"b\"), ("c", "d")]);
}

#[test]
fn what_is_not_a_pair_is_refused() {
    check_malformed("a", Malformed::Equals);
    check_malformed("a=1 b", Malformed::Equals);
    check_malformed("=1", Malformed::Equals);
    check_malformed(", host=x", Malformed::Equals);
    check_malformed("a b=1", Malformed::Equals);
    check_malformed("a=", Malformed::Empty);
    check_malformed("a=''", Malformed::Empty);
    check_malformed("a= ", Malformed::Empty);
    check_malformed("a='", Malformed::Quote);
    check_malformed("a='b", Malformed::Quote);
    check_malformed("a='b''", Malformed::Quote);
    check_malformed("a='b'c", Malformed::AfterQuote);
}

#[test]
fn every_complaint_begins_as_pgbouncers() {
    use Malformed::{AfterQuote, Empty, Equals, Quote};
    for malformed in [Equals, Empty, Quote, AfterQuote] {
        assert!(malformed.as_str().starts_with("syntax error in connection string"));
    }
}

#[test]
fn quoted_values_are_read_back() {
    let mut random = crate::tests::Random(3);
    for _ in 0..20_000 {
        let values: Vec<_> = (0..3)
            .map(|_| String::from_utf8(random.text(b"a '=\\\t\"")).unwrap())
            .map(|value| if value.is_empty() { "x".to_owned() } else { value })
            .collect();
        let text: String =
            values.iter().map(|value| format!("k = '{}' ", value.replace('\'', "''"))).collect();
        let expected: Vec<_> = values.iter().map(|value| ("k", value.as_str())).collect();
        check(&text, &expected);
    }
}

#[test]
fn any_text_gives_nonempty_pairs_or_an_error() {
    let mut random = crate::tests::Random(4);
    for _ in 0..20_000 {
        let text = String::from_utf8(random.text(b"ab'= \t")).unwrap();
        for (key, value) in pairs(&text).unwrap_or_default() {
            assert!(!key.is_empty() && !key.contains(is_blank) && !value.is_empty(), "{text}");
        }
    }
}
