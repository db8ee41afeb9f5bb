//! What is written, byte for byte, against the layouts in PostgreSQL's manual.

use super::*;
use crate::TransactionStatus::{Block, Failed, Idle};
use crate::{PROTOCOL_3_0, PROTOCOL_3_2};

/// The tag may be missing; the length field must be what the body makes it.
fn check(tag: &[u8], body: &[u8], write: impl Fn(&mut Vec<u8>)) {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    let expected = [tag, &length, body].concat();
    let mut alone = Vec::new();
    write(&mut alone);
    assert_eq!(alone, expected, "\n{}\n{}", alone.escape_ascii(), expected.escape_ascii());
    let mut behind = b"before".to_vec();
    write(&mut behind);
    assert_eq!(&behind[6..], expected, "what stands in the buffer already must not matter");
}

#[test]
fn first_packets() {
    check(b"", b"\0\x03\0\0user\0u\0a\0\0\0", |out| {
        startup(out, PROTOCOL_3_0, &[(b"user", b"u"), (b"a", b"")]);
    });
    check(b"", b"\0\x03\0\x02\0", |out| {
        startup(out, PROTOCOL_3_2, &[]);
    });
    check(b"", b"\x04\xd2\x16\x2f", ssl_request);
    check(b"", b"\x04\xd2\x16\x30", gss_request);
    check(b"", b"\x04\xd2\x16\x2e\0\0\x01\0abcd", |out| {
        cancel_request(out, 256, b"abcd");
    });
}

#[test]
fn authentication() {
    check(b"R", b"\0\0\0\0", authentication_ok);
    check(b"R", b"\0\0\0\x03", authentication_cleartext);
    check(b"R", b"\0\0\0\x05salt", |out| {
        authentication_md5(out, *b"salt");
    });
    check(b"R", b"\0\0\0\x0aA\0B+\0\0", |out| {
        authentication_sasl(out, &["A", "B+"]);
    });
    check(b"R", b"\0\0\0\x0br=1", |out| {
        authentication_sasl_continue(out, b"r=1");
    });
    check(b"R", b"\0\0\0\x0cv=1", |out| {
        authentication_sasl_final(out, b"v=1");
    });
    check(b"p", b"pw\0", |out| password(out, b"pw"));
    check(b"p", b"S\0\0\0\0\0", |out| {
        sasl_initial_response(out, "S", b"");
    });
    check(b"p", b"S\0\0\0\0\x03n,,", |out| {
        sasl_initial_response(out, "S", b"n,,");
    });
    check(b"p", b"c=bi", |out| sasl_response(out, b"c=bi"));
}

#[test]
fn a_server_introduces_itself() {
    check(b"v", b"\0\x03\0\0\0\0\0\x02a\0b\0", |out| {
        negotiate_protocol_version(out, PROTOCOL_3_0, &[b"a", b"b"]);
    });
    check(b"S", b"a\0b\0", |out| parameter_status(out, b"a", b"b"));
    check(b"K", b"\0\0\0\x07\x01\x02\x03\x04", |out| {
        backend_key_data(out, 7, &[1, 2, 3, 4]);
    });
    check(b"Z", b"I", |out| ready_for_query(out, Idle));
    check(b"Z", b"T", |out| ready_for_query(out, Block));
    check(b"Z", b"E", |out| ready_for_query(out, Failed));
}

#[test]
fn questions() {
    check(b"Q", b"select 1\0", |out| query(out, b"select 1"));
    check(b"P", b"s\0q\0\0\x02\0\0\0\x17\0\0\0\0", |out| {
        parse(out, b"s", b"q", &[23, 0]);
    });
    let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x02\0\0\0\x01";
    check(b"B", body, |out| {
        bind(out, b"p", b"s", &[1], &[Some(b"x"), None], &[0, 1]);
    });
    check(b"D", b"Ss\0", |out| describe(out, b'S', b"s"));
    check(b"C", b"Pp\0", |out| close(out, b'P', b"p"));
    check(b"E", b"p\0\0\0\0\x09", |out| execute(out, b"p", 9));
    check(b"S", b"", sync);
    check(b"H", b"", flush);
    check(b"X", b"", terminate);
    check(b"f", b"no\0", |out| copy_fail(out, "no"));
    let body = b"\0\0\0\x09\0\0\0\x01\0\0\0\x01a\0\0";
    check(b"F", body, |out| function_call(out, 9, &[Some(b"a")]));
}

#[test]
fn answers() {
    let body = b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    check(b"T", body, |out| row_description(out, &[("a", 25, -1)]));
    let body = b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
    check(b"T", body, |out| row_description_in(out, &[("a", 23, 4, 1)]));
    let body = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
    check(b"D", body, |out| data_row(out, &[Some(b"x"), None]));
    check(b"C", b"SHOW\0", |out| command_complete(out, "SHOW"));
    check(b"I", b"", empty_query_response);
    check(b"1", b"", parse_complete);
    check(b"2", b"", bind_complete);
    check(b"3", b"", close_complete);
    check(b"n", b"", no_data);
    check(b"s", b"", portal_suspended);
    check(b"t", b"\0\x01\0\0\0\x17", |out| {
        parameter_description(out, &[23]);
    });
    check(b"G", b"\0\0\x02\0\0\0\0", |out| copy_in_response(out, 2));
    check(b"H", b"\0\0\x01\0\0", |out| copy_out_response(out, 1));
    check(b"W", b"\0\0\0", |out| copy_both_response(out, 0));
    check(b"d", b"1\t2\n", |out| copy_data(out, b"1\t2\n"));
    check(b"c", b"", copy_done);
    check(b"V", b"\xff\xff\xff\xff", |out| {
        function_call_response(out, None);
    });
    check(b"V", b"\0\0\0\x01x", |out| {
        function_call_response(out, Some(b"x"));
    });
    check(b"A", b"\0\0\0\x07c\0p\0", |out| {
        notification_response(out, 7, b"c", b"p");
    });
}

#[test]
fn errors_and_notices() {
    let report = Report { severity: "X", code: "00000", message: "m", detail: None, hint: None };
    check(b"E", b"SX\0C00000\0Mm\0\0", |out| {
        error_response(out, "X", "00000", "m");
    });
    check(b"E", b"SX\0VX\0C00000\0Mm\0\0", |out| {
        error_report(out, &report);
    });
    let report = Report { detail: Some("d"), hint: Some("h"), ..report };
    check(b"N", b"SX\0VX\0C00000\0Mm\0Dd\0Hh\0\0", |out| {
        notice_response(out, &report);
    });
}

#[test]
fn a_zero_ends_a_string_wherever_it_stands() {
    check(b"Q", b"a\0", |out| query(out, b"a\0b"));
    check(b"S", b"a\0\0", |out| parameter_status(out, b"a\0x", b"\0y"));
    check(b"E", b"SX\0C0\0Mm\0\0", |out| {
        error_response(out, "X", "0", "m\0Hhint");
    });
    check(b"v", b"\0\x03\0\0\0\0\0\x02\0b\0", |out| {
        negotiate_protocol_version(out, PROTOCOL_3_0, &[b"\0a", b"b"]);
    });
}

#[test]
fn an_empty_name_does_not_end_a_list() {
    check(b"", b"\0\x03\0\0a\0b\0\0", |out| {
        startup(out, PROTOCOL_3_0, &[(b"", b"lost"), (b"\0", b"lost"), (b"a", b"b")]);
    });
    check(b"R", b"\0\0\0\x0aA\0\0", |out| {
        authentication_sasl(out, &["", "\0", "A"]);
    });
}

#[test]
fn a_list_is_cut_at_what_its_count_can_say() {
    let mut out = Vec::new();
    data_row(&mut out, &vec![None; 65_536]);
    let row = crate::backend::data_row(crate::frame::body(&out)).unwrap();
    assert_eq!(row.len(), 65_535);
}
