//! What a client takes for an answer, and what it does not.

use wire::write;

use super::*;

fn token(number: u32) -> Token {
    Token { session: 1, number }
}

fn expecting(units: &[(Kind, bool)]) -> Conversation {
    let mut conversation = Conversation::new();
    for (kind, extended) in units {
        let unit = Unit { token: token(1), kind: kind.clone(), extended: *extended };
        conversation.expect(unit);
    }
    conversation
}

fn rows(last: u32) -> Kind {
    Kind::Rows { described: false, next: 0, last, size: 0, suspends: false }
}

/// The bytes of these tags, as an honest server would send them for the first request.
fn bytes(tags: &str) -> Vec<u8> {
    let (mut out, mut row) = (Vec::new(), 0);
    for tag in tags.chars() {
        match tag {
            '1' => write::parse_complete(&mut out),
            '2' => write::bind_complete(&mut out),
            'D' => {
                let text = row_text(Some(token(1)), row, 0);
                write::data_row(&mut out, &[Some(text.as_bytes())]);
                row += 1;
            }
            'F' => {
                let text = row_text(Some(token(2)), row, 0);
                write::data_row(&mut out, &[Some(text.as_bytes())]);
            }
            'C' => write::command_complete(&mut out, "SELECT 1"),
            'G' => write::copy_in_response(&mut out, 1),
            'E' => write::error_response(&mut out, "ERROR", "22012", "~1.1~ no"),
            'X' => write::error_response(&mut out, "ERROR", "22012", "~1.2~ no"),
            's' => write::portal_suspended(&mut out),
            'Z' => write::ready_for_query(&mut out, wire::TransactionStatus::Idle),
            other => panic!("{other}"),
        }
    }
    out
}

/// `Some(true)`: all is answered; `Some(false)`: more is to come; `None`: refused.
fn check(units: &[(Kind, bool)], tags: &str, expected: Option<bool>) {
    let all = bytes(tags);
    let mut whole = expecting(units);
    let found = whole.hear(&all).ok().map(|_| whole.is_answered());
    assert_eq!(found, expected, "{tags} for {units:?}");
    let mut pieces = expecting(units);
    let refused = all.iter().any(|byte| pieces.hear(&[*byte]).is_err());
    assert_eq!((!refused).then(|| pieces.is_answered()), expected, "{tags} byte by byte");
}

#[test]
fn answers_come_in_order_and_are_complete() {
    let batch = [(Kind::Parse, true), (Kind::Bind, true), (rows(2), true), (Kind::Ready, true)];
    check(&batch, "12DDCZ", Some(true));
    check(&batch, "12DDC", Some(false));
    check(&batch, "12DCZ", None);
    check(&batch, "12DDDCZ", None);
    check(&batch, "21", None);
    check(&batch, "12DF", None);
    check(&batch, "12DDs", None);
    check(&batch, "12DDCZZ", None);
    check(&batch, "12Z", None);
    check(&[], "Z", None);
    check(&[], "C", None);
}

#[test]
fn an_error_ends_its_query_or_batch() {
    let batch = [(Kind::Parse, true), (Kind::Bind, true), (Kind::Ready, true), (Kind::Parse, true)];
    check(&batch, "E", Some(false));
    check(&batch, "EZ1", Some(true));
    check(&batch, "1EZ1", Some(true));
    check(&batch, "E2", None);
    check(&batch, "X", None);
    check(&batch, "12E", None);
    let query = [(rows(1), false), (rows(1), false), (Kind::Ready, false)];
    check(&query, "DCEZ", Some(true));
    check(&query, "EZ", Some(true));
    check(&[(Kind::Parse, true)], "E", Some(false));
}

#[test]
fn a_failed_copy_may_be_followed_by_one_or_two_ready_for_query() {
    let copy = [
        (Kind::CopyIn { early_sync: true }, true),
        (Kind::Ready, true),
        (Kind::Ready, true),
        (rows(0), false),
        (Kind::Ready, false),
    ];
    check(&copy[..3], "GCZ", Some(true));
    check(&copy[..3], "GCZZ", None);
    check(&copy[..3], "GE", Some(false));
    check(&copy[..3], "GEZ", Some(true));
    check(&copy[..3], "GEZZ", Some(true));
    check(&copy[..3], "GEZZZ", None);
    check(&copy[..3], "GEC", None);
    check(&copy[..3], "EZZ", Some(true));
    check(&copy[..3], "EZZZ", None);
}
