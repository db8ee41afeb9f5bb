//! Tables for the comparison of two sets.

use std::sync::Arc;

use super::*;

fn names() -> Names {
    Names::new(&["app.user_id".into(), "IntervalStyle".into(), "no; name".into()])
}

fn set(pairs: &[(&str, &str)]) -> Arc<Params> {
    let mut params = Params::default();
    for (name, value) in pairs {
        params.set(names().place(name.as_bytes()).expect("a tracked name"), value.as_bytes());
    }
    Arc::new(params)
}

#[track_caller]
fn check(ours: &[(&str, &str)], theirs: &[(&str, &str)], expected: &str) {
    let sql = difference(&names(), &set(ours), &set(theirs));
    assert_eq!(String::from_utf8_lossy(&sql), expected);
}

#[test]
fn only_what_differs_is_set() {
    check(&[("DateStyle", "ISO, MDY")], &[("DateStyle", "ISO, MDY")], "");
    check(&[("timezone", "UTC")], &[("TimeZone", "utc")], "");
    check(&[("TimeZone", "UTC")], &[("TimeZone", "GMT")], "SET TimeZone='UTC';");
    check(&[("application_name", "A")], &[("application_name", "a")], "SET application_name='A';");
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
fn what_is_not_reported_is_set_and_taken_back() {
    check(&[("app.user_id", "7")], &[], "SELECT pg_catalog.set_config('app.user_id','7',false);");
    check(&[("app.user_id", "7")], &[("app.user_id", "7")], "");
    check(&[], &[("app.user_id", "7")], "RESET app.user_id;");
    check(
        &[("search_path", "\"$user\", o'neill")],
        &[],
        "SELECT pg_catalog.set_config('search_path','\"$user\", o''neill',false);",
    );
    check(
        &[("session_authorization", "b")],
        &[("session_authorization", "B")],
        "SET session_authorization='b';",
    );
    let mut server = (*set(&[("TimeZone", "UTC"), ("app.user_id", "6")])).clone();
    let reported = set(&[("TimeZone", "GMT")]);
    assert!(server.has_unreported(&reported));
    server.take_unreported(&reported, &set(&[("TimeZone", "GMT"), ("search_path", "a")]));
    assert_eq!(server.or(&Params::default()), {
        let mut expected = (*set(&[("TimeZone", "UTC"), ("search_path", "a")])).clone();
        expected.put(names().place(b"app.user_id").unwrap(), None);
        expected
    });
}

#[test]
fn names_are_kept_once_and_only_if_they_are_names() {
    let names = names();
    assert_eq!(names.iter().count(), ALWAYS.len() + 1);
    assert_eq!(names.place(b"APP.USER_ID"), Some(ALWAYS.len()));
    assert_eq!(names.place(b"application_name"), Some(APPLICATION_NAME));
    assert_eq!(names.place_at_startup(b"session_authorization"), None);
    let many: Vec<String> = (0..200).map(|number| format!("p{number}")).collect();
    assert_eq!(Names::new(&many).iter().count(), NAMES_MAX);
}

#[test]
fn defaults_fill_only_what_is_missing() {
    let own = set(&[("TimeZone", "UTC")]);
    let defaults = set(&[("TimeZone", "GMT"), ("DateStyle", "ISO, MDY")]);
    let both = (*own).clone().or(&defaults);
    assert_eq!(both, *set(&[("TimeZone", "UTC"), ("DateStyle", "ISO, MDY")]));
}
