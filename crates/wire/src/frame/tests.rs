//! Lengths at and beyond their bounds.

use super::*;

#[test]
fn headers() {
    let impossible = Err(Malformed("impossible message length"));
    let check = |bytes: &[u8], expected: Result<Option<u32>, Malformed>| {
        let total = header(bytes).map(|header| header.map(|header| header.total));
        assert_eq!(total, expected, "{}", bytes.escape_ascii());
    };
    check(b"", Ok(None));
    check(b"Q", Ok(None));
    check(b"Q\xff\xff\xff", Ok(None));
    check(b"S\0\0\0\x04", Ok(Some(5)));
    check(b"Q\0\0\0\x05", Ok(Some(6)));
    check(b"Q\0\0\0\x05\0and more", Ok(Some(6)));
    check(b"d\x7f\xff\xff\xfe", Ok(Some(0x7fff_ffff)));
    check(b"Q\0\0\0\x03", impossible);
    check(b"Q\0\0\0\0", impossible);
    check(b"d\x7f\xff\xff\xff", impossible);
    check(b"d\x80\0\0\0", impossible);
    check(b"d\xff\xff\xff\xff", impossible);
}

#[test]
fn any_tag_is_passed_on() {
    for tag in 0..=u8::MAX {
        assert_eq!(header(&[tag, 0, 0, 1, 0]), Ok(Some(Header { tag, total: 257 })));
    }
}

#[test]
fn a_body_follows_its_header() {
    assert_eq!(body(b"Q\0\0\0\x07ab\0"), b"ab\0");
    assert_eq!(body(b"S\0\0\0\x04"), b"");
    assert_eq!(body(b"S\0"), b"");
    assert_eq!(body(b""), b"");
}
