//! Rows and their cells, in both formats.

use super::Format::{Binary, Text as Plain};
use super::Type::{Int4, Int8, Numeric, Text};
use super::{Formats, Sheet, describe};
use wire::backend::{data_row, row_description};

const COLUMNS: &[super::Column] =
    &[("name", Text), ("size", Int4), ("large", Int8), ("sum", Numeric)];

fn sheet() -> Sheet {
    let mut sheet = Sheet::new(COLUMNS);
    sheet.text("a").number(7_u32).number(1_u64 << 40).number(20_001_u32).end_row();
    sheet.bytes(b"\xff").null().null().null().end_row();
    sheet.text("").signed(-1).number(u64::MAX).signed(-12_345_678).end_row();
    sheet.text_or_null(None).number(u64::MAX).number(0_u8).number(0_u8).end_row();
    sheet
}

fn bodies(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let Some(head) = wire::header(bytes).unwrap() {
        let (message, rest) = bytes.split_at(head.total as usize);
        found.push(wire::frame::body(message));
        bytes = rest;
    }
    found
}

fn check(formats: &Formats, expected: &[[Option<&[u8]>; 4]]) {
    let mut out = Vec::new();
    sheet().write(0..4, formats, &mut out);
    let rows: Vec<Vec<_>> =
        bodies(&out).iter().map(|body| data_row(body).unwrap().collect()).collect();
    assert_eq!(rows, expected);
}

#[test]
fn as_text() {
    let rows: [[Option<&[u8]>; 4]; 4] = [
        [Some(b"a"), Some(b"7"), Some(b"1099511627776"), Some(b"20001")],
        [Some(b"\xff"), None, None, None],
        [Some(b""), Some(b"-1"), Some(b"9223372036854775807"), Some(b"-12345678")],
        [None, Some(b"2147483647"), Some(b"0"), Some(b"0")],
    ];
    check(&Formats::default(), &rows);
    check(&Formats(vec![Plain]), &rows);
}

#[test]
fn as_binary() {
    let rows: [[Option<&[u8]>; 4]; 4] = [
        [
            Some(b"a"),
            Some(b"\0\0\0\x07"),
            Some(b"\0\0\x01\0\0\0\0\0"),
            Some(b"\0\x02\0\x01\0\0\0\0\0\x02\0\x01"),
        ],
        [Some(b"\xff"), None, None, None],
        [
            Some(b""),
            Some(b"\xff\xff\xff\xff"),
            Some(b"\x7f\xff\xff\xff\xff\xff\xff\xff"),
            Some(b"\0\x02\0\x01\x40\0\0\0\x04\xd2\x16\x2e"),
        ],
        [None, Some(b"\x7f\xff\xff\xff"), Some(b"\0\0\0\0\0\0\0\0"), Some(b"\0\0\0\0\0\0\0\0")],
    ];
    check(&Formats(vec![Binary]), &rows);
}

#[test]
fn each_column_in_its_own_format() {
    let mut out = Vec::new();
    let formats = Formats(vec![Plain, Binary, Plain, Plain]);
    sheet().write(0..1, &formats, &mut out);
    let row: Vec<_> = data_row(bodies(&out)[0]).unwrap().collect();
    let expected: [&[u8]; 4] = [b"a", b"\0\0\0\x07", b"1099511627776", b"20001"];
    assert_eq!(row, expected.map(Some));
    for (formats, suits) in [(0, true), (1, true), (2, false), (4, true), (5, false)] {
        assert_eq!(Formats(vec![Plain; formats]).suit(4), suits, "{formats}");
    }
}

#[test]
fn some_of_the_rows() {
    let written = |rows: std::ops::Range<usize>| {
        let mut out = Vec::new();
        sheet().write(rows, &Formats::default(), &mut out);
        out
    };
    assert_eq!(sheet().rows(), 4);
    assert_eq!([written(0..1), written(1..4)].concat(), written(0..4));
    assert_eq!(written(4..4), [0; 0]);
    assert_eq!(written(3..9), written(3..4));
}

#[test]
fn the_description() {
    let mut out = Vec::new();
    describe(COLUMNS, &Formats(vec![Binary]), &mut out);
    let columns: Vec<_> = row_description(bodies(&out)[0])
        .unwrap()
        .map(|column| (column.name, column.type_oid, column.format))
        .collect();
    let expected: [(&[u8], u32, i16); 4] =
        [(b"name", 25, 1), (b"size", 23, 1), (b"large", 20, 1), (b"sum", 1700, 1)];
    assert_eq!(columns, expected);
}
