//! Connection strings, and the entries of `[databases]` and `[users]` that consist of them.
//!
//! ```text
//! data ──► pairs ──► written again, values in quotes ──► pairs ──► the same pairs
//! data ──► load as an entry ──► a password that neither Debug output nor a complaint repeats
//! ```

use config::{conninfo, load};

/// Checks that pairs survive being quoted, and that a password stays where it belongs.
pub fn conninfo(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(pairs) = conninfo::pairs(text) {
        check_pairs(&pairs);
    }
    check_password(text);
}

fn check_pairs(pairs: &[(&str, String)]) {
    let mut text = String::new();
    for (key, value) in pairs {
        assert!(!key.is_empty() && !key.contains('=') && !value.is_empty());
        text += &format!("{key} = '{}' ", value.replace('\'', "''"));
    }
    assert_eq!(conninfo::pairs(&text).as_deref(), Ok(pairs), "{text:?}");
}

/// Puts a password before the text, which may break the entry, but may not bring it to light.
fn check_password(text: &str) {
    let text = text.replace('\n', " ");
    for entry in [format!("password={SECRET} {text}"), format!("password='{SECRET} {text}")] {
        let file = format!("[pgbouncer]\n[databases]\nd = {entry}\n");
        let printed = match load("main.ini", &mut |_| Ok(file.clone().into_bytes())) {
            Ok(config) => format!("{config:?}"),
            Err(complaints) => format!("{complaints:?}"),
        };
        assert!(!printed.contains(SECRET), "{entry:?} gave {printed}");
    }
}

/// Found in no other place than the password.
const SECRET: &str = "b3tw33n-us";
