//! The dialect of `auth_file`, checked against PgBouncer where the two are meant to agree.

use super::Flaw::{Locked, NoPassword, NoUser, PasswordTooLong, Unclosed, UserTooLong, ZeroByte};
use super::*;
use crate::xorshift::Xorshift;

#[test]
fn users_are_read_in_file_order() {
    check(b"", &[], &[]);
    check(b"\"u\" \"x\"", &[("u", "x")], &[]);
    check(b"\"u\" \"x\"\n\"w\" \"y\"\n", &[("u", "x"), ("w", "y")], &[]);
    check(b"\"b\" \"1\"\n\"a\" \"2\"\n", &[("b", "1"), ("a", "2")], &[]);
    check(b"  \t \"u\" \"x\"   \n\x0b\x0c\"w\" \"y\"", &[("u", "x"), ("w", "y")], &[]);
    check(b"\"u\" \"x\"\r\n\r\n\"w\" \"y\"\r\n", &[("u", "x"), ("w", "y")], &[]);
    check(b"\"\" \"x\"\n\"u\" \"\"\n", &[("", "x"), ("u", "")], &[]);
}

#[test]
fn what_follows_the_password_is_ignored() {
    check(b"\"u\" \"x\" \"y\" # z\n\"w\" \"y\"", &[("u", "x"), ("w", "y")], &[]);
    check(b"\"u\" \"x\"; \"v\" \"v\"\n\"w\" \"y\"", &[("u", "x"), ("w", "y")], &[]);
    check(b"\"u\", \"x\"\n", &[("u", "x")], &[]);
    check(b"\"u\" between \"x\"\n", &[("u", "x")], &[]);
}

#[test]
fn comments_begin_a_line_with_a_semicolon() {
    check(b";\"u\" \"x\"\n  ; more\n\"w\" \"y\"\n;", &[("w", "y")], &[]);
    check(b"# u\n\"w\" \"y\"", &[], &[(1, NoUser)]);
}

#[test]
fn quotes_inside_a_field_are_doubled() {
    check(b"\"u\"\"v\" \"a\"\"b\"", &[("u\"v", "a\"b")], &[]);
    check(b"\"u\" \"\"\"\"", &[("u", "\"")], &[]);
    check(b"\"u\" \"a\nb\"\nx", &[("u", "a\nb")], &[(3, NoUser)]);
    check(b"\"u\"\"\"x\"", &[], &[(1, Unclosed)]);
}

#[test]
fn the_first_malformed_line_ends_the_reading() {
    check(b"\"u\" \"x\"\n\nv y\n\"w\" \"y\"\n", &[("u", "x")], &[(3, NoUser)]);
    check(b"\"u\" \"x\"\n\"w\"\n", &[("u", "x")], &[(2, NoPassword)]);
    check(b"\"u\" \"x", &[], &[(1, Unclosed)]);
    check(b"\"u\"", &[], &[(1, NoPassword)]);
    check(b"\"u", &[], &[(1, Unclosed)]);
    check(b"\"", &[], &[(1, Unclosed)]);
    check(b"\"u\" \"a\0b\"\n", &[], &[(1, ZeroByte)]);
    check(b"\xEF\xBB\xBF\"u\" \"x\"\n", &[], &[(1, NoUser)]);
}

/// PgBouncer would give `u` the password `w` here.
#[test]
fn a_password_is_not_looked_for_on_the_next_line() {
    check(b"\"u\"\n\"w\" \"y\"\n", &[], &[(1, NoPassword)]);
}

#[test]
fn names_and_passwords_have_a_limit() {
    let line = |user: usize, password: usize| {
        let (user, password) = ("u".repeat(user), "p".repeat(password));
        (format!("\"{user}\" \"{password}\"\n\"w\" \"y\"").into_bytes(), user, password)
    };
    let (text, user, password) = line(127, 65_530);
    check(&text, &[(&user, &password), ("w", "y")], &[]);
    check(&line(128, 1).0, &[], &[(1, UserTooLong)]);
    check(&line(1, 65_531).0, &[], &[(1, PasswordTooLong)]);
}

#[test]
fn the_last_line_of_a_user_wins() {
    let text = b"\"u\" \"1\"\n\"w\" \"y\"\n\"u\" \"2\"\n";
    check(text, &[("u", "2"), ("w", "y")], &[]);
    assert_eq!(Userlist::parse(text).0.len(), 2);
}

#[test]
fn an_unusable_scram_secret_locks_its_user_only() {
    let key = "WypGonGEb3zEaAsvV1Pmoss6NvGkicR4zCac1aaDjsI=";
    let text = format!("\n\"u\" \"SCRAM-SHA-256$100001:AA==${key}:{key}\"\n\"w\" \"y\"\n");
    check(text.as_bytes(), &[("u", ""), ("w", "y")], &[(2, Locked)]);
    let (_, complaints) = Userlist::parse(text.as_bytes());
    let shown: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
    assert_eq!(shown, ["SCRAM secret with unacceptable iteration count in auth file (line 2)"]);
}

#[test]
fn a_broken_line_is_told_with_what_was_expected() {
    for (text, told) in [
        ("ann pencil\n", "broken auth file: expected a user name in double quotes (line 1)"),
        (
            "\n\"ann\"\n",
            "broken auth file: expected a password in double quotes behind the user name (line 2)",
        ),
        ("\"ann\" \"pencil\n", "broken auth file: a double quote is not closed (line 1)"),
    ] {
        let (_, complaints) = Userlist::parse(text.as_bytes());
        let shown: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert_eq!(shown, [told], "{text:?}");
        assert!(complaints[0].flaw.ends_reading());
    }
}

#[test]
fn debug_hides_the_passwords() {
    let (list, _) = Userlist::parse(b"\"u\" \"pencil\"");
    assert!(!format!("{list:?}").contains("pencil"));
}

/// Goal: whatever is written with doubled quotes is read back. Method: random users and passwords
/// over an alphabet that holds everything the dialect treats specially.
#[test]
fn written_users_are_read_back() {
    let mut random = Xorshift::new(1);
    for _ in 0..2000 {
        let users: Vec<(Vec<u8>, Vec<u8>)> = (0..random.below(5))
            .map(|place| {
                let name = random.text(b"\"; \n\r#a\xFF", 6);
                (
                    [&name[..], place.to_string().as_bytes()].concat(),
                    random.text(b"\"; \n\r#a\xFF", 6),
                )
            })
            .collect();
        let text: Vec<u8> = users
            .iter()
            .flat_map(|(user, password)| {
                [b"\"", &*doubled(user), b"\" \"", &*doubled(password), b"\" rest\n"].concat()
            })
            .collect();
        let (list, complaints) = Userlist::parse(&text);
        assert_eq!(complaints, []);
        assert_eq!(list.len(), users.len());
        for (user, password) in &users {
            assert_eq!(list.find(user), Some(&Secret::parse(password)));
        }
    }
}

/// Goal: no text makes the reader panic, loop or complain twice about a broken line.
#[test]
fn any_text_is_survived() {
    let mut random = Xorshift::new(2);
    for _ in 0..20_000 {
        let text = random.text(b"\"\"\" \n;a\0", 24);
        let (list, complaints) = Userlist::parse(&text);
        assert!(complaints.len() <= 1, "{text:?}");
        assert!(list.len() <= text.len() / 4, "{text:?}");
        let lines = text.split(|byte| *byte == b'\n').count();
        assert!(complaints.iter().all(|complaint| (1..=lines).contains(&complaint.line)));
    }
}

fn check(text: &[u8], users: &[(&str, &str)], complaints: &[(usize, Flaw)]) {
    let (list, found) = Userlist::parse(text);
    let shown = String::from_utf8_lossy(text);
    let expected: Vec<(&[u8], Secret)> = users
        .iter()
        .map(|(user, password)| (user.as_bytes(), Secret::parse(password.as_bytes())))
        .collect();
    assert!(list.users().eq(expected.iter().map(|(user, secret)| (*user, secret))), "{shown}");
    for (user, secret) in &expected {
        assert_eq!(list.find(user), Some(secret), "{shown}");
    }
    assert_eq!(list.find(b"no such user"), None);
    assert_eq!(list.is_empty(), users.is_empty());
    let expected: Vec<Complaint> =
        complaints.iter().map(|(line, flaw)| Complaint { line: *line, flaw: *flaw }).collect();
    assert_eq!(found, expected, "{shown}");
}

fn doubled(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| [*byte].repeat(1 + usize::from(*byte == b'"'))).collect()
}

#[test]
fn a_list_knows_whether_it_holds_verifiers() {
    let scram = crate::derive(b"x", b"salt", 1).verifier(b"salt", 1);
    let holds = |text: &str| Userlist::parse(text.as_bytes()).0.has_verifiers();
    assert!(!holds(""));
    assert!(!holds("\"u\" \"x\"\n\"w\" \"md5d41d8cd98f00b204e9800998ecf8427e\""));
    assert!(holds(&format!("\"u\" \"x\"\n\"w\" \"{scram}\"")));
    // The last secret of a user counts.
    assert!(!holds(&format!("\"u\" \"{scram}\"\n\"u\" \"x\"")));
}
