//! The bytes of an answer to a Query, read back with the views of a client.

use super::{Answer, Tag, done, error, nothing, notice, refusal, table, tagged};
use crate::admin::sheet::Sheet;
use crate::admin::sheet::Type::{Int4, Text};
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

fn bytes(answer: &Answer) -> Vec<u8> {
    let mut out = Vec::new();
    answer.write(&mut out);
    out
}

fn tags(answer: &Answer) -> String {
    messages(&bytes(answer)).iter().map(|(tag, _)| char::from(*tag)).collect()
}

#[test]
fn a_table() {
    let mut sheet = Sheet::new(&[("name", Text), ("size", Int4)]);
    sheet.text("a").number(7_u32).end_row();
    sheet.text("b").null().end_row();
    assert_eq!(tags(&tagged(sheet.clone(), Tag::Select)), "TDDC");
    let bytes = bytes(&table(sheet));
    let messages = messages(&bytes);
    let columns: Vec<_> = row_description(messages[0].1)
        .unwrap()
        .map(|column| (column.name, column.type_oid))
        .collect();
    assert_eq!(columns, [(&b"name"[..], 25), (b"size", 23)]);
    let row = |at: usize| data_row(messages[at].1).unwrap().collect::<Vec<_>>();
    assert_eq!(row(1), [Some(&b"a"[..]), Some(b"7")]);
    assert_eq!(row(2), [Some(&b"b"[..]), None]);
    assert_eq!(command_complete(messages[3].1).unwrap(), b"SHOW");
}

#[test]
fn answers_without_rows() {
    assert_eq!(tags(&done("RELOAD")), "C");
    assert_eq!(tags(&nothing()), "I");
    assert_eq!(tags(&notice("n", Some("d"), "SET")), "NC");
    assert_eq!(tags(&refusal("no")), "E");
}

#[test]
fn an_error_says_what_and_why() {
    let bytes_of = bytes(&error("F0000", "failed", Some("because")));
    let fields = Fields::parse(messages(&bytes_of)[0].1).unwrap();
    assert_eq!(fields.severity(), Some(&b"ERROR"[..]));
    assert_eq!(fields.code(), Some(&b"F0000"[..]));
    assert_eq!(fields.message(), Some(&b"failed"[..]));
    assert_eq!(fields.detail(), Some(&b"because"[..]));
    let bytes = bytes(&refusal("no"));
    assert_eq!(Fields::parse(messages(&bytes)[0].1).unwrap().code(), Some(&b"08P01"[..]));
}
