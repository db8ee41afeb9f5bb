use super::*;

fn section(name: &str) -> Line {
    Line::Section(name.to_owned())
}

fn entry(key: &str, value: &str) -> Line {
    Line::Entry { key: key.to_owned(), value: value.to_owned() }
}

fn include(file: &str) -> Line {
    Line::Include(file.to_owned())
}

#[track_caller]
fn check(file: &[u8], expected: &[(u32, Line)]) {
    assert_eq!(lines(file), expected, "{}", String::from_utf8_lossy(file));
}

#[track_caller]
fn check_broken(line: &[u8], why: &'static str) {
    check(line, &[(1, Line::Broken(why))]);
}

const NO_EQUALS: &str = "syntax error: expected \"=\" after the key";

#[test]
fn blank_lines_and_comments_only_count() {
    check(b"", &[]);
    check(b"\n \t\n; a = 1\n  # b = 2\n\r\na=1", &[(6, entry("a", "1"))]);
    check(b"; caf\xe9\n#\0\na=1\n", &[(3, entry("a", "1"))]);
}

#[test]
fn a_value_is_the_rest_of_its_line() {
    check(b"a=1", &[(1, entry("a", "1"))]);
    check(b"  a  =  1 2  \r\n", &[(1, entry("a", "1 2"))]);
    check(b"a=\n", &[(1, entry("a", ""))]);
    check(b"a = b = c", &[(1, entry("a", "b = c"))]);
    check(b"a = 1 ; no comment", &[(1, entry("a", "1 ; no comment"))]);
    check(b"a = 'x' # y", &[(1, entry("a", "'x' # y"))]);
    check("a = größe".as_bytes(), &[(1, entry("a", "größe"))]);
}

#[test]
fn keys_are_words_or_quoted() {
    check(b"a_B.9-* = 1", &[(1, entry("a_B.9-*", "1"))]);
    check(b"= 5", &[(1, entry("", "5"))]);
    check(b"'my db' = 1", &[(1, entry("my db", "1"))]);
    check(b"\"my db\"=1", &[(1, entry("my db", "1"))]);
    check(b"'it''s' = 1", &[(1, entry("it's", "1"))]);
    check(b"\"a\"\"b'\" = 1", &[(1, entry("a\"b'", "1"))]);
    check(b"'' = 1", &[(1, entry("", "1"))]);
    check(b"'''' = 1", &[(1, entry("'", "1"))]);
    check("'größe' = 1".as_bytes(), &[(1, entry("größe", "1"))]);
    check_broken(b"my db = 1", NO_EQUALS);
    check_broken("größe = 1".as_bytes(), NO_EQUALS);
    check_broken(b"'a = 1", "syntax error: the key's quote is not closed");
    check_broken(b"'a'' = 1", "syntax error: the key's quote is not closed");
    check_broken(b"'a' b = 1", NO_EQUALS);
}

#[test]
fn sections_may_be_followed_by_more() {
    check(b"[a]", &[(1, section("a"))]);
    check(b" [a] ; comment \xff", &[(1, section("a"))]);
    check(
        b"[a] x = 1\n[b][c]",
        &[(1, section("a")), (1, entry("x", "1")), (2, section("b")), (2, section("c"))],
    );
    check(b"[]\n[ a ]", &[(1, section("")), (2, section(" a "))]);
    check(
        b"[a\n]",
        &[(1, Line::Broken("syntax error: \"]\" is missing")), (2, Line::Broken(NO_EQUALS))],
    );
}

#[test]
fn include_wants_a_blank_and_a_file() {
    check(b"%include a.ini", &[(1, include("a.ini"))]);
    check(b"  %include \t a b.ini  \n", &[(1, include("a b.ini"))]);
    check_broken(b"%include", NO_EQUALS);
    check_broken(b"%include ", NO_EQUALS);
    check_broken(b"%includea.ini", NO_EQUALS);
}

#[test]
fn a_broken_line_does_not_hide_the_next() {
    check(
        b"job_name\na=1\n\0b=2\nc=\xff\nd=4",
        &[
            (1, Line::Broken(NO_EQUALS)),
            (2, entry("a", "1")),
            (3, Line::Broken("syntax error: the line contains a zero byte")),
            (4, Line::Broken("the line is not valid UTF-8")),
            (5, entry("d", "4")),
        ],
    );
}

#[test]
fn any_bytes_are_read_and_line_numbers_rise() {
    let mut random = crate::tests::Random(1);
    for _ in 0..20_000 {
        let file = random.text(b"a1=='\"[];#%include \t\n\r\0\xc3\xa9");
        let found = lines(&file);
        let count = file.iter().filter(|&&byte| byte == b'\n').count() + 1;
        assert!(found.is_sorted_by_key(|(number, _)| *number));
        assert!(found.iter().all(|(number, _)| (1..=count).contains(&(*number as usize))));
    }
}

#[test]
fn an_entry_written_with_quotes_is_read_back() {
    let mut random = crate::tests::Random(2);
    for _ in 0..20_000 {
        let word = |bytes| String::from_utf8(bytes).unwrap();
        let key = word(random.text(b"a '\"=;[]%"));
        let value = word(random.text(b"a '\"=;[]%")).trim().to_owned();
        for quote in ["'", "\""] {
            let doubled = key.replace(quote, &quote.repeat(2));
            let line = format!("{quote}{doubled}{quote} = {value}");
            check(line.as_bytes(), &[(1, entry(&key, &value))]);
        }
    }
}
