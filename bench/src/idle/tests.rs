//! Reading up to ReadyForQuery.

use wire::TransactionStatus;

use super::*;

fn check(bytes: &[u8], expected: Result<(), &str>) {
    let outcome = read_until_ready(&mut &bytes[..]).map_err(|error| error.to_string());
    assert_eq!(outcome, expected.map_err(str::to_owned));
}

#[test]
fn reading_ends_with_the_right_message() {
    let mut bytes = Vec::new();
    write::authentication_ok(&mut bytes);
    write::parameter_status(&mut bytes, b"TimeZone", b"Z");
    check(&bytes, Err("the pooler closed an idle client's connection"));
    write::ready_for_query(&mut bytes, TransactionStatus::Idle);
    check(&bytes, Ok(()));
    bytes.clear();
    write::error_response(&mut bytes, "FATAL", "08P01", "no");
    check(&bytes, Err("an idle client got an error"));
}
