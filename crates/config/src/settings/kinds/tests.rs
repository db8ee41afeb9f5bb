use super::*;

const ANY: Range = (i64::MIN, i64::MAX);

#[track_caller]
fn check_integer(text: &str, expected: Option<i64>) {
    assert_eq!(parse_integer(text), expected, "{text}");
}

#[test]
fn integers_are_read_as_strtol_does() {
    check_integer("0", Some(0));
    check_integer("10", Some(10));
    check_integer("+5", Some(5));
    check_integer("-1", Some(-1));
    check_integer("0x10", Some(16));
    check_integer("0XfF", Some(255));
    check_integer("-0x10", Some(-16));
    check_integer("0777", Some(511));
    check_integer("00", Some(0));
    check_integer("9223372036854775807", Some(i64::MAX));
    let refused = [
        "",
        "-",
        "+",
        "0x",
        "0x-1",
        "+-5",
        "--5",
        "08",
        "1 ",
        " 1",
        "1k",
        "x",
        "1.0",
        "yes",
        "é",
        "9223372036854775808",
        "1_000",
    ];
    for text in refused {
        check_integer(text, None);
    }
}

#[test]
fn integers_keep_to_their_range() {
    assert_eq!(u16::parse("65535", ANY), Ok(65535));
    assert_eq!(u16::parse("65536", ANY), Err(Unfit::Outside(0, 65535)));
    assert_eq!(u32::parse("-1", ANY), Err(Unfit::Outside(0, 4_294_967_295)));
    assert_eq!(i32::parse("-1", ANY), Ok(-1));
    assert_eq!(i32::parse("99999999999", ANY), Err(Unfit::Outside(-2_147_483_648, 2_147_483_647)));
    assert_eq!(u32::parse("64", (0, 64)), Ok(64));
    assert_eq!(u32::parse("65", (0, 64)), Err(Unfit::Outside(0, 64)));
    assert_eq!(u32::parse("ten", (0, 64)), Err(Unfit::Malformed));
}

#[track_caller]
fn check_time(text: &str, micros: Micros, printed: &str) {
    let time = Micros::parse(text, ANY).unwrap();
    assert_eq!((time, time.print().as_deref()), (micros, Some(printed)), "{text}");
}

#[test]
fn times_are_seconds_with_fractions() {
    check_time("0", 0, "0");
    check_time("60", 60_000_000, "60");
    check_time("1.25", 1_250_000, "1.25");
    check_time(".5", 500_000, "0.5");
    check_time("5.", 5_000_000, "5");
    check_time("0.3", 300_000, "0.3");
    check_time("1e3", 1_000_000_000, "1000");
    check_time("-0", 0, "0");
    check_time("0.000001", 1, "1e-06");
    check_time("0.0000015", 2, "2e-06");
    check_time("0.0001", 100, "0.0001");
    check_time("123456", 123_456_000_000, "123456");
    check_time("999999.9", 999_999_900_000, "1e+06");
    check_time("1234567", 1_234_567_000_000, "1.23457e+06");
    check_time("4294967295", 4_294_967_295_000_000, "4.29497e+09");
}

#[test]
fn what_is_no_time_is_refused() {
    for text in ["", "1s", "inf", "nan", "1 ", "1,5", "0x10", "e", "1e", "--1", "é"] {
        assert_eq!(Micros::parse(text, ANY), Err(Unfit::Malformed), "{text}");
    }
    for text in ["-1", "-0.5", "4294967296", "1e999"] {
        assert_eq!(Micros::parse(text, ANY), Err(Unfit::Outside(0, SECONDS_MAX)), "{text}");
    }
    assert_eq!(Micros::parse("0.5", (1, 9)), Err(Unfit::Outside(1, 9)));
}

#[test]
fn switches_are_numbers() {
    for (text, expected) in [("0", Ok(false)), ("1", Ok(true)), ("7", Ok(true)), ("-1", Ok(true))] {
        assert_eq!(bool::parse(text, ANY), expected, "{text}");
    }
    for text in ["", "yes", "true", "on"] {
        assert_eq!(bool::parse(text, ANY), Err(Unfit::Malformed), "{text}");
    }
    assert_eq!(true.print().as_deref(), Some("1"));
}

#[test]
fn lists_are_split_at_commas_and_blanks() {
    for text in ["a,b c", " a , b,,c ,", "a\tb c"] {
        assert_eq!(Vec::parse(text, ANY), Ok(["a", "b", "c"].map(str::to_owned).into()), "{text}");
    }
    assert_eq!(Vec::parse(" , ", ANY), Ok(Vec::new()));
}

#[test]
fn words_are_read_without_case() {
    assert_eq!(PoolMode::parse("TRANSACTION", ANY), Ok(PoolMode::Transaction));
    assert_eq!(PoolMode::parse("session", ANY), Ok(PoolMode::Session));
    assert_eq!(PoolMode::parse("Statement", ANY), Ok(PoolMode::Statement));
    assert_eq!(PoolMode::parse("", ANY), Err(Unfit::Malformed));
    assert_eq!(AuthType::parse("Trust", ANY), Ok(AuthType::Trust));
    assert_eq!(AuthType::parse("scram-sha-256", ANY), Ok(AuthType::ScramSha256));
    assert_eq!(AuthType::parse("peer", ANY), Err(Unfit::Malformed));
    for text in ["cert", "hba", "ldap", "pam"] {
        assert_eq!(AuthType::parse(text, ANY), Err(Unfit::Unsafe), "{text}");
    }
}

#[test]
fn the_check_query_has_two_special_texts() {
    for (text, query) in [("", None), ("<empty>", Some("")), ("select 1", Some("select 1"))] {
        assert_eq!(CheckQuery::parse(text, ANY).unwrap().text(), query, "{text}");
    }
}

#[test]
fn times_print_what_they_were_up_to_six_digits() {
    let mut random = crate::tests::Random(5);
    for _ in 0..20_000 {
        let micros = random.below(1_000_000) * 10_u64.pow(random.below(7) as u32);
        let printed = micros.print().unwrap();
        assert_eq!(Micros::parse(&printed, ANY), Ok(micros), "{printed}");
    }
}
