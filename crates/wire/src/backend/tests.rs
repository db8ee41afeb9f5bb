//! Each view on good bodies and on bodies that are cut, stretched or lie about their lengths.

use std::fmt::Debug;

use super::*;

const NO_ZERO: &str = "string without its final zero";
const ENDS_EARLY: &str = "message ends too early";
const LEFT_OVER: &str = "bytes left over at the end of the message";
const BAD_KEY: &str = "impossible cancel key length";
const BAD_STATUS: &str = "unknown transaction status";

#[expect(clippy::needless_pass_by_value, reason = "expectations read best as plain values")]
fn check<T: Debug + PartialEq>(found: Result<T, Malformed>, expected: Result<T, &'static str>) {
    assert_eq!(found.map_err(|Malformed(why)| why), expected);
}

#[test]
fn transaction_statuses() {
    for status in [TransactionStatus::Idle, TransactionStatus::Block, TransactionStatus::Failed] {
        check(ready_for_query(&[status.as_byte()]), Ok(status));
    }
    for body in [b"".as_slice(), b"i", b"X", b"\0", b"II", b"I\0"] {
        check(ready_for_query(body), Err(BAD_STATUS));
    }
}

#[test]
fn parameter_statuses() {
    check(parameter_status(b"a\0b\0"), Ok((b"a".as_slice(), b"b".as_slice())));
    check(parameter_status(b"\0\0"), Ok((b"".as_slice(), b"".as_slice())));
    check(parameter_status(b"a\0b"), Err(NO_ZERO));
    check(parameter_status(b"a\0"), Err(NO_ZERO));
    check(parameter_status(b"a\0b\0\0"), Err(LEFT_OVER));
}

#[test]
fn backend_keys() {
    fn check_key(secret: usize, expected: Result<usize, &'static str>) {
        let body = [b"\0\0\x01\0".as_slice(), &vec![9; secret]].concat();
        let found = backend_key(&body).map(|key| (key.pid, key.secret.len()));
        check(found, expected.map(|length| (256, length)));
    }
    check_key(0, Err(BAD_KEY));
    check_key(3, Err(BAD_KEY));
    check_key(4, Ok(4));
    check_key(32, Ok(32));
    check_key(256, Ok(256));
    check_key(257, Err(BAD_KEY));
    check(backend_key(b"\0\0\0"), Err(ENDS_EARLY));
}

#[test]
fn authentications() {
    fn check(body: &[u8], expected: &str) {
        let found = match authentication(body) {
            Ok(Authentication::Sasl(names)) => {
                let names: Vec<_> = names.map(|name| name.escape_ascii().to_string()).collect();
                format!("Sasl {}", names.join(" "))
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{}", body.escape_ascii());
    }
    check(b"\0\0\0\0", "Ok");
    check(b"\0\0\0\x03", "CleartextPassword");
    check(b"\0\0\0\x05abcd", "Md5Password([97, 98, 99, 100])");
    check(
        b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
        "Sasl SCRAM-SHA-256-PLUS SCRAM-SHA-256",
    );
    check(b"\0\0\0\x0a\0", "Sasl ");
    check(b"\0\0\0\x0br=", "SaslContinue([114, 61])");
    check(b"\0\0\0\x0cv=", "SaslFinal([118, 61])");
    check(b"\0\0\0\x07", "Other(7)");
    check(b"\xff\xff\xff\xffx", "Other(4294967295)");
    check(b"", ENDS_EARLY);
    check(b"\0\0\0", ENDS_EARLY);
    check(b"\0\0\0\0x", LEFT_OVER);
    check(b"\0\0\0\x03x", LEFT_OVER);
    check(b"\0\0\0\x05abc", ENDS_EARLY);
    check(b"\0\0\0\x05abcde", LEFT_OVER);
    check(b"\0\0\0\x0a", "list of mechanisms without its final zero");
    check(b"\0\0\0\x0aA", "list of mechanisms without its final zero");
    check(b"\0\0\0\x0aA\0", NO_ZERO);
    check(b"\0\0\0\x0aA\0\0\0", "empty name in the list of mechanisms");
    check(b"\0\0\0\x0a\0A\0\0", "empty name in the list of mechanisms");
}

#[test]
fn command_tags() {
    check(command_complete(b"INSERT 0 1\0"), Ok(b"INSERT 0 1".as_slice()));
    check(command_complete(b"INSERT 0 1"), Err(NO_ZERO));
    check(command_complete(b"\0\0"), Err(LEFT_OVER));
}

#[test]
fn data_rows() {
    fn check_row(body: &[u8], expected: Result<&[Option<&[u8]>], &'static str>) {
        let found = data_row(body).map(|row| (row.len(), row.collect::<Vec<_>>()));
        check(found, expected.map(|row| (row.len(), row.to_vec())));
    }
    check_row(b"\0\0", Ok(&[]));
    check_row(b"\0\x01\xff\xff\xff\xff", Ok(&[None]));
    check_row(b"\0\x02\0\0\0\0\0\0\0\x02\0x", Ok(&[Some(b""), Some(b"\0x")]));
    check_row(b"\0", Err(ENDS_EARLY));
    check_row(b"\0\x01", Err(ENDS_EARLY));
    check_row(b"\xff\xff\0\0\0\0", Err(ENDS_EARLY));
    check_row(b"\0\x01\0\0\0\x02x", Err(ENDS_EARLY));
    check_row(b"\0\x01\x7f\xff\xff\xffx", Err(ENDS_EARLY));
    check_row(b"\0\x01\xff\xff\xff\xfe", Err("negative length"));
    check_row(b"\0\0\0", Err(LEFT_OVER));
    check_row(b"\0\x01\0\0\0\x01xy", Err(LEFT_OVER));
}

#[test]
fn row_descriptions() {
    let body = b"\0\x01a\0\0\0\x40\0\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
    let a = Column {
        name: b"a",
        table_oid: 16384,
        attribute: 3,
        type_oid: 23,
        type_size: 4,
        type_modifier: -1,
        format: 1,
    };
    check(row_description(body).map(Vec::from_iter), Ok(vec![a]));
    check(row_description(b"\0\0").map(Vec::from_iter), Ok(vec![]));
    check(row_description(&body[..body.len() - 1]).map(Vec::from_iter), Err(ENDS_EARLY));
    check(row_description(b"\0\x01a").map(Vec::from_iter), Err(NO_ZERO));
    check(row_description(&[body, [0].as_slice()].concat()).map(Vec::from_iter), Err(LEFT_OVER));
    assert_eq!(row_description(body).unwrap().len(), 1);
}

#[test]
fn parameter_descriptions() {
    let types = |body| parameter_description(body).map(Vec::from_iter);
    check(types(b"\0\0"), Ok(vec![]));
    check(types(b"\0\x02\0\0\0\x17\0\0\0\x19"), Ok(vec![23, 25]));
    check(types(b"\0\x02\0\0\0\x17\0\0\0"), Err(ENDS_EARLY));
    check(types(b"\0\x01\0\0\0\x17\0"), Err(LEFT_OVER));
}

#[test]
fn notifications() {
    check(notification(b"\0\0\0\x07c\0p\0"), Ok((7, b"c".as_slice(), b"p".as_slice())));
    check(notification(b"\0\0\0\x07c\0p"), Err(NO_ZERO));
    check(notification(b"\0\0\0"), Err(ENDS_EARLY));
    check(notification(b"\0\0\0\x07c\0p\0\0"), Err(LEFT_OVER));
}

#[test]
fn negotiations() {
    fn check_negotiation(body: &[u8], expected: Result<(u32, &[&[u8]]), &'static str>) {
        let found = negotiate_protocol_version(body);
        let found = found.map(|(newest, names)| (newest, names.collect::<Vec<_>>()));
        check(found, expected.map(|(newest, names)| (newest, names.to_vec())));
    }
    check_negotiation(b"\0\x03\0\0\0\0\0\0", Ok((196_608, &[])));
    check_negotiation(b"\0\0\0\0\0\0\0\x02_pq_.a\0\0", Ok((0, &[b"_pq_.a", b""])));
    check_negotiation(b"\0\x03\0\0\0\0\0", Err(ENDS_EARLY));
    check_negotiation(b"\0\x03\0\0\0\0\0\x02a\0", Err(NO_ZERO));
    check_negotiation(b"\0\x03\0\0\xff\xff\xff\xffa\0", Err(NO_ZERO));
    check_negotiation(b"\0\x03\0\0\0\0\0\0a\0", Err(LEFT_OVER));
}
