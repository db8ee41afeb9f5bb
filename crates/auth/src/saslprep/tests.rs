//! SASLprep against `pg_saslprep` of PostgreSQL 15.18.

use sha2::{Digest, Sha256};

use super::*;

#[test]
fn passwords_are_prepared_as_in_postgresql() {
    check("pencil", "pencil");
    check(" pencil ", " pencil ");
    check("a\u{A0}b", "a b");
    check("I\u{AD}X", "IX");
    check("\u{AA}", "a");
    check("\u{2168}", "IX");
    check("e\u{301}", "é");
    check("\u{FB01}", "fi");
    check("\u{200B}", " ");
    check("\u{5D0}1\u{5D0}", "\u{5D0}1\u{5D0}");
}

#[test]
fn refused_passwords_stay_as_they_are() {
    let refused = [
        "a\x07b",                // ASCII is not looked at
        "é\x07",                 // control character
        "\u{AD}",                // nothing left
        "\u{5D0}a",              // mixed directions
        "\u{5D0}1",              // begins right-to-left and ends otherwise
        "\u{1F511}\u{AD}",       // unassigned in Unicode 3.2
        "\u{221}\u{AD}",         // unassigned in Unicode 3.2
        "\u{340}",               // prohibited, though its normal form is not
        "\u{2135}\u{5D0}\u{AD}", // left-to-right, though its normal form is not
        "\u{E000}\u{AD}",        // private use
        "\u{FFFD}\u{AD}",        // not for plain text
    ];
    for password in refused {
        check(password, password);
    }
    for password in [&b"a\xFFb"[..], b"\xC3", b"caf\xE9", b"\xED\xA0\x80"] {
        assert_eq!(&*saslprep(password), password, "{password:?}");
    }
}

/// Goal: no code point is treated differently from PostgreSQL, whatever Unicode version our tables
/// come from. Method: all that Unicode has assigned outside the private planes, in four contexts
/// that tell mapping, right-to-left, left-to-right and normalization apart; the soft hyphen shows
/// whether the text was prepared at all. The digests were computed over `pg_saslprep`'s answers.
#[test]
fn every_code_point_is_prepared_as_in_postgresql() {
    let contexts = [
        ("a\u{AD}", "", "94f92db1565133fea0306cdd4bbe4db0095f08a4c6c23389fde43f9885d035bc"),
        ("\u{5D0}\u{AD}", "", "9075aa9e759fcf9ed03edefa799ae485746de768a0be47f5eb8f847ececb47ee"),
        (
            "\u{5D0}\u{AD}",
            "\u{5D0}",
            "54122a9279a5063c32e070e90db49cb7fb19a0afb897675322d8fc5e8774e5f5",
        ),
        ("é\u{AD}", "\u{301}", "47b9f63bade4b66fb5ecb88f3e613b350f4847da9f82f3cae736116fe6a0d9cf"),
    ];
    for (before, after, expected) in contexts {
        let mut digest = Sha256::new();
        for letter in ('\u{80}'..'\u{30000}').chain('\u{E0000}'..'\u{E0200}') {
            digest.update(saslprep(format!("{before}{letter}{after}").as_bytes()));
            digest.update(b"\n");
        }
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected, "context {before:?} {after:?}");
    }
}

fn check(password: &str, expected: &str) {
    assert_eq!(&*saslprep(password.as_bytes()), expected.as_bytes(), "{password:?}");
}
