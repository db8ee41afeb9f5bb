//! Names of the tags, and that the two directions are kept apart.

use super::*;

#[test]
fn the_same_byte_has_two_names() {
    fn check(tag: u8, from_client: Option<&str>, from_server: Option<&str>) {
        assert_eq!(frontend_name(tag), from_client, "{} from a client", tag.escape_ascii());
        assert_eq!(backend_name(tag), from_server, "{} from a server", tag.escape_ascii());
    }
    check(b'D', Some("Describe"), Some("DataRow"));
    check(b'C', Some("Close"), Some("CommandComplete"));
    check(b'E', Some("Execute"), Some("ErrorResponse"));
    check(b'S', Some("Sync"), Some("ParameterStatus"));
    check(b'H', Some("Flush"), Some("CopyOutResponse"));
    check(b'd', Some("CopyData"), Some("CopyData"));
    check(b'c', Some("CopyDone"), Some("CopyDone"));
    check(b'Q', Some("Query"), None);
    check(b'p', Some("PasswordMessage"), None);
    check(b'Z', None, Some("ReadyForQuery"));
    check(b'v', None, Some("NegotiateProtocolVersion"));
    check(0, None, None);
    check(0xff, None, None);
}

#[test]
fn every_tag_is_one_of_the_protocol() {
    fn check(name: fn(u8) -> Option<&'static str>, expected: &[u8]) {
        let known: Vec<u8> = (0..=u8::MAX).filter(|tag| name(*tag).is_some()).collect();
        assert_eq!(known.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
    check(frontend_name, b"BCDEFHPQSXcdfp");
    check(backend_name, b"123ACDEGHIKNRSTVWZcdnstv");
}
