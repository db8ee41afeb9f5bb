//! Tables for the comparison of two sets.

use std::sync::Arc;

use super::{Params, difference, tracked};

fn set(pairs: &[(&str, &str)]) -> Arc<Params> {
    let mut params = Params::default();
    for (name, value) in pairs {
        params.set(tracked(name.as_bytes()).expect("a tracked name"), value.as_bytes());
    }
    Arc::new(params)
}

#[track_caller]
fn check(ours: &[(&str, &str)], theirs: &[(&str, &str)], expected: &str) {
    let sql = difference(&set(ours), &set(theirs));
    assert_eq!(String::from_utf8_lossy(&sql), expected);
}

#[test]
fn only_what_differs_is_set() {
    check(&[("DateStyle", "ISO, MDY")], &[("DateStyle", "ISO, MDY")], "");
    check(&[("timezone", "UTC")], &[("TimeZone", "utc")], "");
    check(&[("TimeZone", "UTC")], &[("TimeZone", "GMT")], "SET TimeZone='UTC';");
    check(&[("application_name", "A")], &[("application_name", "a")], "SET application_name='A';");
    check(&[("application_name", "A")], &[], "");
    check(&[], &[("application_name", "A")], "");
    check(
        &[("application_name", "x"), ("client_encoding", "LATIN1")],
        &[("application_name", "y"), ("client_encoding", "UTF8")],
        "SET client_encoding='LATIN1';SET application_name='x';",
    );
}

#[test]
fn values_are_quoted_for_every_mode_of_strings() {
    let empty = [("application_name", "")];
    check(&[("application_name", "it's")], &empty, "SET application_name='it''s';");
    check(&[("application_name", r"a\'b")], &empty, r"SET application_name=E'a\\''b';");
}

#[test]
fn defaults_fill_only_what_is_missing() {
    let own = set(&[("TimeZone", "UTC")]);
    let defaults = set(&[("TimeZone", "GMT"), ("DateStyle", "ISO, MDY")]);
    let both = (*own).clone().or(&defaults);
    assert_eq!(both, *set(&[("TimeZone", "UTC"), ("DateStyle", "ISO, MDY")]));
}
