//! Password preparation (SASLprep, RFC 4013) exactly as PostgreSQL does it.
//!
//! ```text
//! non-ASCII spaces ──► ' '   soft hyphens and the like ──► nothing   rest ──► NFKC
//! ```
//!
//! Where RFC 4013 refuses a password (invalid UTF-8, prohibited or unassigned characters, mixed
//! directions), PostgreSQL hashes its raw bytes, and so must every client and pooler. Its other
//! liberties are kept too: pure ASCII is never looked at, and the checks see the characters before
//! normalization.

use std::borrow::Cow;

use stringprep::tables;
use unicode_normalization::UnicodeNormalization;

/// Returns the bytes that SCRAM hashes for this password; raw bytes where SASLprep refuses.
#[must_use]
pub fn saslprep(password: &[u8]) -> Cow<'_, [u8]> {
    if password.is_ascii() {
        return Cow::Borrowed(password);
    }
    let prepared = str::from_utf8(password).ok().and_then(prepare);
    prepared.map_or(Cow::Borrowed(password), |text| Cow::Owned(text.into_bytes()))
}

fn prepare(text: &str) -> Option<String> {
    let mapped: Vec<char> = text.chars().filter_map(map).collect();
    let allowed = !mapped.is_empty()
        && !mapped.iter().any(|letter| is_prohibited(*letter))
        && has_one_direction(&mapped);
    allowed.then(|| mapped.into_iter().nfkc().collect())
}

/// RFC 4013 section 2.1. U+200B stands in both tables and becomes a space.
fn map(letter: char) -> Option<char> {
    if tables::non_ascii_space_character(letter) {
        Some(' ')
    } else if tables::commonly_mapped_to_nothing(letter) {
        None
    } else {
        Some(letter)
    }
}

/// RFC 4013 sections 2.3 and 2.5.
fn is_prohibited(letter: char) -> bool {
    tables::ascii_control_character(letter)
        || tables::non_ascii_control_character(letter)
        || tables::private_use(letter)
        || tables::non_character_code_point(letter)
        || tables::inappropriate_for_plain_text(letter)
        || tables::inappropriate_for_canonical_representation(letter)
        || tables::change_display_properties_or_deprecated(letter)
        || tables::tagging_character(letter)
        || tables::unassigned_code_point(letter)
}

/// RFC 3454 section 6: right-to-left text begins and ends so, and holds no left-to-right letter.
fn has_one_direction(letters: &[char]) -> bool {
    let right_to_left = |letter: &char| tables::bidi_r_or_al(*letter);
    !letters.iter().any(right_to_left)
        || (letters.first().is_some_and(right_to_left)
            && letters.last().is_some_and(right_to_left)
            && !letters.iter().any(|letter| is_left_to_right(*letter)))
}

/// RFC 3454 table D.2, which keeps the directions of Unicode 3.2.
fn is_left_to_right(letter: char) -> bool {
    match letter {
        // Since then made left-to-right.
        '\u{0CBF}' | '\u{0CC6}' | '\u{1734}' | '\u{2132}' | '\u{302E}' | '\u{302F}' => false,
        '\u{2800}'..='\u{28FF}' => false,
        // Since then made neutral; most are nablas and partial differentials.
        '\u{17B4}' | '\u{17B5}' | '\u{1885}' | '\u{1886}' => true,
        '\u{1D6C1}' | '\u{1D6DB}' | '\u{1D6FB}' | '\u{1D715}' | '\u{1D735}' => true,
        '\u{1D74F}' | '\u{1D76F}' | '\u{1D789}' | '\u{1D7A9}' | '\u{1D7C3}' => true,
        _ => tables::bidi_l(letter),
    }
}

#[cfg(test)]
mod tests;
