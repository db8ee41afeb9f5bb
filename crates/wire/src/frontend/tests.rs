//! Each view on good bodies and on bodies that are cut, stretched or lie about their lengths.

use std::fmt::Debug;

use super::*;

const NO_ZERO: &str = "string without its final zero";
const ENDS_EARLY: &str = "message ends too early";
const LEFT_OVER: &str = "bytes left over at the end of the message";

#[expect(clippy::needless_pass_by_value, reason = "expectations read best as plain values")]
fn check<T: Debug + PartialEq>(found: Result<T, Malformed>, expected: Result<T, &'static str>) {
    assert_eq!(found.map_err(|Malformed(why)| why), expected);
}

#[test]
fn texts() {
    for view in [query, password, copy_fail] {
        check(view(b"select 1\0"), Ok(b"select 1".as_slice()));
        check(view(b"\0"), Ok(b"".as_slice()));
        check(view(b""), Err(NO_ZERO));
        check(view(b"select 1"), Err(NO_ZERO));
        check(view(b"a\0b\0"), Err(LEFT_OVER));
        check(view(b"\0\0"), Err(LEFT_OVER));
    }
}

#[test]
fn parses() {
    fn check_parse(body: &[u8], expected: Result<(&str, &str, &[u32]), &'static str>) {
        let found = parse(body).map(|found| (found.name, found.query, found.types.collect()));
        let expected = expected
            .map(|(name, query, types)| (name.as_bytes(), query.as_bytes(), types.to_vec()));
        check(found, expected);
    }
    check_parse(b"s\0q\0\0\0", Ok(("s", "q", &[])));
    check_parse(b"\0\0\0\x02\0\0\0\x17\xff\xff\xff\xff", Ok(("", "", &[23, u32::MAX])));
    check_parse(b"", Err(NO_ZERO));
    check_parse(b"s\0q", Err(NO_ZERO));
    check_parse(b"s\0q\0", Err(ENDS_EARLY));
    check_parse(b"s\0q\0\0\x01\0\0\0", Err(ENDS_EARLY));
    check_parse(b"s\0q\0\xff\xff\0\0\0\x17", Err(ENDS_EARLY));
    check_parse(b"s\0q\0\0\0\0", Err(LEFT_OVER));
    check_parse(b"s\0q\0\0\x01\0\0\0\x17\0", Err(LEFT_OVER));
}

#[test]
fn types_know_their_number_and_bytes() {
    let mut types = parse(b"\0\0\0\x02\0\0\0\x17\0\0\0\x19").unwrap().types;
    assert_eq!((types.len(), types.as_bytes()), (2, b"\0\0\0\x17\0\0\0\x19".as_slice()));
    assert_eq!(types.next(), Some(23));
    assert_eq!((types.len(), types.as_bytes()), (1, b"\0\0\0\x19".as_slice()));
}

#[test]
fn binds() {
    let rest = b"\0\0\0\0\0\0".as_slice();
    check(bind(b"p\0s\0\0\0\0\0\0\0"), Ok(Bind { portal: b"p", statement: b"s", rest }));
    check(bind(b"\0\0"), Ok(Bind { portal: b"", statement: b"", rest: b"" }));
    check(bind(b"p\0s"), Err(NO_ZERO));
    check(bind(b"p\0"), Err(NO_ZERO));
    check(bind(b""), Err(NO_ZERO));
}

#[test]
fn values_of_a_bind() {
    let values = |rest: &[u8]| {
        let body = [b"\0\0", rest].concat();
        let (count, formats) = bind(&body)?.values()?;
        Ok((count, formats.len(), Vec::from_iter(formats)))
    };
    check(values(b"\0\0\0\0\0\0"), Ok((0, 0, vec![])));
    check(values(b"\0\0\0\0\0\x02\0\x01\0\0"), Ok((0, 2, vec![1, 0])));
    let two = b"\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\x01";
    check(values(two), Ok((2, 1, vec![1])));
    for end in 0..two.len() {
        check(values(&two[..end]), Err(ENDS_EARLY));
    }
    check(values(&[&two[..], b"\0"].concat()), Err(LEFT_OVER));
    check(values(b"\0\0\0\x01\xff\xff\xff\xfe\0\0"), Err("negative length"));
}

#[test]
fn kinds_and_names() {
    check(describe(b"Ss\0"), Ok(Describe { kind: b'S', name: b"s" }));
    check(describe(b"P\0"), Ok(Describe { kind: b'P', name: b"" }));
    check(describe(b"x\0"), Ok(Describe { kind: b'x', name: b"" }));
    check(describe(b""), Err(ENDS_EARLY));
    check(describe(b"S"), Err(NO_ZERO));
    check(describe(b"Ss\0\0"), Err(LEFT_OVER));
    check(close(b"Ss\0"), Ok(Close { kind: b'S', name: b"s" }));
    check(close(b"P"), Err(NO_ZERO));
    check(close(b"Pp\0x"), Err(LEFT_OVER));
}

#[test]
fn executes() {
    check(execute(b"p\0\0\0\0\x09"), Ok(Execute { portal: b"p", max_rows: 9 }));
    check(execute(b"\0\xff\xff\xff\xff"), Ok(Execute { portal: b"", max_rows: -1 }));
    check(execute(b"p\0\0\0\0"), Err(ENDS_EARLY));
    check(execute(b"p"), Err(NO_ZERO));
    check(execute(b"\0\0\0\0\0\0"), Err(LEFT_OVER));
}

#[test]
fn sasl_initial_responses() {
    let some = |response| Ok(SaslInitial { mechanism: b"S", response: Some(response) });
    check(sasl_initial(b"S\0\0\0\0\x03n,,"), some(b"n,,".as_slice()));
    check(sasl_initial(b"S\0\0\0\0\0"), some(b"".as_slice()));
    check(
        sasl_initial(b"S\0\xff\xff\xff\xff"),
        Ok(SaslInitial { mechanism: b"S", response: None }),
    );
    check(sasl_initial(b"S\0\xff\xff\xff\xfe"), Err("negative length"));
    check(sasl_initial(b"S\0\x80\0\0\0"), Err("negative length"));
    check(sasl_initial(b"S\0\x7f\xff\xff\xffn,,"), Err(ENDS_EARLY));
    check(sasl_initial(b"S\0\0\0\0\x04n,,"), Err(ENDS_EARLY));
    check(sasl_initial(b"S\0\0\0"), Err(ENDS_EARLY));
    check(sasl_initial(b"S\0"), Err(ENDS_EARLY));
    check(sasl_initial(b"S"), Err(NO_ZERO));
    check(sasl_initial(b"S\0\0\0\0\x02n,,"), Err(LEFT_OVER));
    check(sasl_initial(b"S\0\xff\xff\xff\xff\0"), Err(LEFT_OVER));
}
