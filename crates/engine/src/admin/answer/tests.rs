//! The bytes of an answer, read back with the views of a client.

use super::Type::{Int4, Numeric, Text};
use super::{Sheet, done, error, notice, refusal, refused_message};
use wire::Fields;
use wire::backend::{command_complete, data_row, row_description};

/// The messages of an answer: tag and body.
fn messages(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let Some(head) = wire::header(bytes).unwrap() {
        let (message, rest) = bytes.split_at(head.total as usize);
        found.push((head.tag, wire::frame::body(message)));
        bytes = rest;
    }
    found
}

fn tags(bytes: &[u8]) -> String {
    messages(bytes).iter().map(|(tag, _)| char::from(*tag)).collect()
}

#[test]
fn a_table() {
    let mut sheet = Sheet::new(&[("name", Text), ("size", Int4), ("sum", Numeric)]);
    sheet.text("a").number(7_u32).number(u64::MAX).end_row();
    sheet.bytes(b"\xff").null().text_or_null(None).end_row();
    sheet.text("").text_or_null(Some("8")).number(0_u8).end_row();
    let bytes = sheet.finish();
    assert_eq!(tags(&bytes), "TDDDCZ");
    let messages = messages(&bytes);
    let columns: Vec<_> = row_description(messages[0].1)
        .unwrap()
        .map(|column| (column.name, column.type_oid))
        .collect();
    assert_eq!(columns, [(&b"name"[..], 25), (b"size", 23), (b"sum", 1700)]);
    let row = |at: usize| data_row(messages[at].1).unwrap().collect::<Vec<_>>();
    assert_eq!(row(1), [Some(&b"a"[..]), Some(b"7"), Some(b"18446744073709551615")]);
    assert_eq!(row(2), [Some(&b"\xff"[..]), None, None]);
    assert_eq!(row(3), [Some(&b""[..]), Some(b"8"), Some(b"0")]);
    assert_eq!(command_complete(messages[4].1).unwrap(), b"SHOW");
    assert_eq!(messages[5].1, b"I");
}

#[test]
fn answers_without_rows() {
    assert_eq!(tags(&done("RELOAD")), "CZ");
    assert_eq!(tags(&notice("n", Some("d"), "SET")), "NCZ");
    assert_eq!(tags(&refusal("no")), "EZ");
    assert_eq!(tags(&refused_message("no")), "E");
}

#[test]
fn an_error_says_what_and_why() {
    let bytes = error("F0000", "failed", Some("because"));
    let fields = Fields::parse(messages(&bytes)[0].1).unwrap();
    assert_eq!(fields.severity(), Some(&b"ERROR"[..]));
    assert_eq!(fields.code(), Some(&b"F0000"[..]));
    assert_eq!(fields.message(), Some(&b"failed"[..]));
    assert_eq!(fields.detail(), Some(&b"because"[..]));
    let bytes = refusal("no");
    assert_eq!(Fields::parse(messages(&bytes)[0].1).unwrap().code(), Some(&b"08P01"[..]));
}
