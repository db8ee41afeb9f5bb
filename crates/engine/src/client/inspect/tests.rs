//! Every type of message at every interesting length.

use wire::Header;

use super::{LARGE_MAX, SMALL_MAX, Said, inspect};

fn check(tags: &[u8], total: u32, limit: u32, expected: Said) {
    for &tag in tags {
        let said = inspect(Header { tag, total }, limit);
        assert_eq!(said, expected, "{} of {total} bytes, {limit} at most", char::from(tag));
    }
}

const NONE: u32 = 0x7fff_ffff;

#[test]
fn kinds_of_messages() {
    check(b"QPBF", 5, NONE, Said::Request);
    check(b"SDEC", 5, NONE, Said::Request);
    check(b"dfcH", 5, NONE, Said::Sequel);
    check(b"X", 5, NONE, Said::Terminate);
    let known = b"QPBFSDECdfcHX";
    let others: Vec<u8> = (0..=255).filter(|tag| !known.contains(tag)).collect();
    check(&others, 5, NONE, Said::Unknown);
    check(&others, NONE, NONE, Said::Unknown);
}

#[test]
fn lengths() {
    check(b"QPBF", LARGE_MAX, NONE, Said::Request);
    check(b"df", LARGE_MAX, NONE, Said::Sequel);
    check(b"QPBFdf", LARGE_MAX + 1, NONE, Said::TooLong);
    check(b"SDEC", SMALL_MAX, NONE, Said::Request);
    check(b"cH", SMALL_MAX, NONE, Said::Sequel);
    check(b"X", SMALL_MAX, NONE, Said::Terminate);
    check(b"SDECcHX", SMALL_MAX + 1, NONE, Said::TooLong);
}

#[test]
fn max_packet_size() {
    check(b"QPBFSDEC", 100, 100, Said::Request);
    check(b"QPBFSDECdfcHX", 101, 100, Said::TooLong);
}
