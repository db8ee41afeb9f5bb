//! The users of `auth_file`.
//!
//! ```text
//! data ──► users ──► written again ──► the same users
//! data without complaints, one more line ──► one more user
//! ```

use auth::{Secret, Userlist};

/// Checks that users are unique and within their limits, that complaints name lines of the text,
/// and that what was read can be written again.
pub fn userlist(data: &[u8]) {
    let (list, complaints) = Userlist::parse(data);
    let mut users: Vec<&[u8]> = list.users().map(|(user, _)| user).collect();
    assert_eq!(users.len(), list.len());
    users.sort_unstable();
    assert!(users.windows(2).all(|pair| pair.first() != pair.last()), "a user stands twice");
    for (user, secret) in list.users() {
        assert!(user.len() < 128 && !user.contains(&0));
        assert_eq!(list.find(user), Some(secret));
    }

    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(complaints.iter().all(|complaint| (1..=lines).contains(&complaint.line)));
    assert!(complaints.is_sorted_by_key(|complaint| complaint.line));
    if complaints.is_empty() {
        check_one_more(data, &list);
    }
    check_written_again(&list);
}

fn check_one_more(data: &[u8], list: &Userlist) {
    let (more, complaints) = Userlist::parse(&[data, b"\n\"one more\" \"x\""].concat());
    assert_eq!(complaints, []);
    assert_eq!(more.find(b"one more"), Some(&Secret::parse(b"x")));
    let fresh = usize::from(list.find(b"one more").is_none());
    assert_eq!(more.len(), list.len() + fresh);
}

fn check_written_again(list: &Userlist) {
    let mut text = Vec::new();
    for (user, secret) in list.users() {
        text.extend(
            [b"\"", &*doubled(user), b"\" \"", &*doubled(&stored(secret)), b"\"\n"].concat(),
        );
    }
    let (again, complaints) = Userlist::parse(&text);
    assert_eq!(complaints, []);
    assert_eq!(again, *list);
}

fn stored(secret: &Secret) -> Vec<u8> {
    match secret {
        Secret::Plain(password) => password.to_vec(),
        Secret::Md5(hash) => [b"md5", &hash[..]].concat(),
        Secret::Scram(verifier) => verifier.to_string().into_bytes(),
    }
}

fn doubled(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| [*byte].repeat(1 + usize::from(*byte == b'"'))).collect()
}
