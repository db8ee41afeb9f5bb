use super::*;
use crate::tests::config;

#[track_caller]
fn check(old: &str, new: &str, expected: &[Change]) {
    let config = |text| config(&format!("[pgbouncer]\n{text}"));
    assert_eq!(diff(&config(old), &config(new)), expected, "{old} | {new}");
}

fn added(name: &str) -> Change {
    Change::DatabaseAdded(name.to_owned())
}

fn removed(name: &str) -> Change {
    Change::DatabaseRemoved(name.to_owned())
}

fn retargeted(name: &str) -> Change {
    Change::DatabaseRetargeted(name.to_owned())
}

fn tuned(name: &str) -> Change {
    Change::DatabaseTuned(name.to_owned())
}

fn user(name: &str) -> Change {
    Change::UserTuned(name.to_owned())
}

#[test]
fn settings_change_by_value_not_by_spelling() {
    check("", "", &[]);
    check("", "verbose=0\npool_mode=SESSION\nunix_socket_mode=511", &[]);
    check("admin_users=a,b", "admin_users=a , b", &[]);
    check("verbose=1", "", &[Change::Setting("verbose")]);
    check(
        "",
        "listen_port=1\npool_mode=transaction\nmax_client_conn=7",
        &[
            Change::BootOnly("listen_port"),
            Change::Setting("max_client_conn"),
            Change::Setting("pool_mode"),
        ],
    );
}

#[test]
fn a_database_keeps_its_servers_while_its_target_stays() {
    for (old, new) in [
        ("", "host=x"),
        ("host=x", "host=y"),
        ("port=1", ""),
        ("", "dbname=b"),
        ("user=u", ""),
        ("user=u pool_size=1", "user=v pool_size=2"),
    ] {
        check(
            &format!("[databases]\na={old}"),
            &format!("[databases]\na={new}"),
            &[retargeted("a")],
        );
    }
    for (old, new) in [
        ("", "pool_size=1"),
        ("password=x", "password=y"),
        ("pool_mode=session", ""),
        ("", "query_wait_timeout=1"),
        ("", "server_lifetime=1"),
        ("", "timezone=UTC"),
        ("dbname=a", "pool_size=1"),
    ] {
        check(&format!("[databases]\na={old}"), &format!("[databases]\na={new}"), &[tuned("a")]);
    }
    for (old, new) in [("", "port=5432"), ("", "dbname=a"), ("host=x port=1", "port=1 host='x'")] {
        check(&format!("[databases]\na={old}"), &format!("[databases]\na={new}"), &[]);
    }
    check("[databases]\n*=", "[databases]\n*=dbname=x", &[retargeted("*")]);
}

#[test]
fn databases_come_and_go() {
    check(
        "[databases]\na=\nb=\nc=",
        "[databases]\nd=\nc=\na=port=1",
        &[removed("b"), added("d"), retargeted("a")],
    );
    check("[databases]\na=\nb=", "[databases]\nb=\na=", &[]);
}

#[test]
fn users_are_named_once() {
    check(
        "[users]\na=\nb=pool_size=1\nc=",
        "[users]\nc=\nb=pool_size=2\nd=",
        &[user("a"), user("b"), user("d")],
    );
}

#[test]
fn boot_settings_outlive_a_reload_and_nothing_else_does() {
    let old = config("[pgbouncer]\nlisten_addr=a, b\nverbose=1\n[databases]\na=\n");
    let new = config("[pgbouncer]\nlisten_port=7\nverbose=2\n[databases]\nb=\n");
    let kept = keep_boot_settings(&old, new.clone());
    assert_eq!(kept.pgbouncer.listen_addr, ["a", "b"]);
    assert_eq!(kept.pgbouncer.written.get("listen_addr").map(String::as_str), Some("a, b"));
    assert_eq!(kept.pgbouncer.listen_port, 6432);
    assert_eq!((kept.pgbouncer.verbose, &kept.databases), (2, &new.databases));
    let changes = diff(&old, &kept);
    assert_eq!(changes, [Change::Setting("verbose"), removed("a"), added("b")]);
}

#[test]
fn there_and_back_again_is_two_diffs() {
    let a = config("[pgbouncer]\ndefault_pool_size=5\n[databases]\nx=port=1\n");
    let b = config("[pgbouncer]\n[databases]\nx=port=2\n");
    let expected = [Change::Setting("default_pool_size"), retargeted("x")];
    assert_eq!(diff(&a, &b), expected);
    assert_eq!(diff(&b, &a), expected);
}
