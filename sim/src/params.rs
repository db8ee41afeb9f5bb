//! Session parameters, as PostgreSQL keeps and reports them.
//!
//! Knows the canonical spelling of values, so that both sides can say with one number what a
//! session is like. Knows nothing of messages.

use std::collections::BTreeMap;

use crate::random::Random;

/// The parameters that follow a client.
pub(crate) const TRACKED: [&str; 6] = [
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
    "application_name",
    "IntervalStyle",
];

/// What a server starts with.
pub(crate) const DEFAULTS: [&str; 6] = ["UTF8", "ISO, MDY", "Etc/UTC", "on", "", "postgres"];

/// The values of all tracked parameters, under their canonical names.
pub(crate) type Params = BTreeMap<&'static str, String>;

/// What a server starts with.
pub(crate) fn defaults() -> Params {
    TRACKED.into_iter().zip(DEFAULTS.map(str::to_owned)).collect()
}

/// The canonical spelling of a name; `None` where no such parameter is known.
pub(crate) fn name(name: &str) -> Option<&'static str> {
    TRACKED.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// What a server makes of a value; `None` where it refuses it.
pub(crate) fn canonical(name: &str, value: &str) -> Option<String> {
    match name {
        _ if value == "bad" => None,
        "client_encoding" => Some(value.to_ascii_uppercase().replace('-', "")),
        "DateStyle" if value.eq_ignore_ascii_case("iso") => Some("ISO, MDY".into()),
        "DateStyle" if value.eq_ignore_ascii_case("german") => Some("German, DMY".into()),
        _ => Some(value.to_owned()),
    }
}

/// A number that is the same when all parameters mean the same (FNV-1a).
pub(crate) fn fingerprint(params: &Params) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (name, value) in params {
        let value = canonical(name, value).unwrap_or_default();
        let value = if *name == "application_name" { value } else { value.to_ascii_lowercase() };
        for byte in value.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// A value for a parameter; some are spelled as a server would not.
pub(crate) fn value(random: &mut Random, name: &str) -> String {
    let choices: &[&str] = match name {
        "client_encoding" => &["UTF8", "utf8", "LATIN1", "UTF-8"],
        "DateStyle" => &["ISO", "iso, mdy", "German", "SQL, DMY"],
        "TimeZone" => &["UTC", "Europe/Berlin", "Etc/UTC", "utc"],
        "standard_conforming_strings" => &["on", "off"],
        "application_name" => &["", "web", "Web", "it's", "back\\slash", "a;b", "two words"],
        _ => &["postgres", "iso_8601", "sql_standard"],
    };
    random.pick(choices).to_owned()
}
