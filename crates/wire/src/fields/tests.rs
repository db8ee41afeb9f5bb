//! Errors as PostgreSQL, PgBouncer and hostile servers send them.

use super::*;

#[test]
fn an_error_of_postgresql() {
    let body = b"SFEHLER\0VERROR\0C42601\0Mmessage\0Ddetail\0Hhint\0P7\0Fscan.l\0L1176\0Rf\0\0";
    let fields = Fields::parse(body).unwrap();
    assert_eq!(fields.severity(), Some(b"ERROR".as_slice()));
    assert_eq!(fields.code(), Some(sqlstate::SYNTAX_ERROR.as_bytes()));
    assert_eq!(fields.message(), Some(b"message".as_slice()));
    assert_eq!(fields.detail(), Some(b"detail".as_slice()));
    assert_eq!(fields.hint(), Some(b"hint".as_slice()));
    assert_eq!(fields.field(b'P'), Some(b"7".as_slice()));
    assert_eq!(fields.field(b'W'), None);
    let letters: Vec<u8> = fields.iter().map(|field| field.0).collect();
    assert_eq!(letters, b"SVCMDHPFLR");
}

#[test]
fn every_field_is_optional() {
    let fields = Fields::parse(b"SFATAL\0\0").unwrap();
    assert_eq!(fields.severity(), Some(b"FATAL".as_slice()));
    assert_eq!((fields.code(), fields.message()), (None, None));
    assert_eq!((fields.detail(), fields.hint()), (None, None));
    assert_eq!(Fields::parse(b"\0").unwrap().iter().count(), 0);
}

#[test]
fn the_first_of_two_equal_fields_counts() {
    let fields = Fields::parse(b"Mfirst\0Msecond\0\0").unwrap();
    assert_eq!(fields.message(), Some(b"first".as_slice()));
}

#[test]
fn malformed_fields() {
    fn check(body: &[u8], expected: &'static str) {
        let found = Fields::parse(body).map(|fields| fields.iter().count());
        assert_eq!(found, Err(Malformed(expected)), "{}", body.escape_ascii());
    }
    check(b"", "message ends too early");
    check(b"M", "string without its final zero");
    check(b"Mtext", "string without its final zero");
    check(b"Mtext\0", "message ends too early");
    check(b"Mtext\0\0x", "bytes left over at the end of the message");
    check(b"\0\0", "bytes left over at the end of the message");
}

#[test]
fn what_is_written_is_read() {
    let report = crate::Report {
        severity: "FATAL",
        code: sqlstate::TOO_MANY_CONNECTIONS,
        message: "no more connections allowed (max_client_conn)",
        detail: None,
        hint: Some("wait"),
    };
    let mut out = Vec::new();
    crate::write::error_report(&mut out, &report);
    let fields = Fields::parse(crate::frame::body(&out)).unwrap();
    assert_eq!(fields.severity(), Some(report.severity.as_bytes()));
    assert_eq!(fields.code(), Some(report.code.as_bytes()));
    assert_eq!(fields.message(), Some(report.message.as_bytes()));
    assert_eq!((fields.detail(), fields.hint()), (None, report.hint.map(str::as_bytes)));
}
