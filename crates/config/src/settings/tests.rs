use super::*;

#[track_caller]
fn check(key: &str, text: &str, shown: Option<&str>) {
    let mut settings = Settings::default();
    settings.set(key, text).unwrap();
    let row = TABLE.iter().find(|row| row.key == key).unwrap();
    assert_eq!(settings.show(row).as_deref(), shown, "{key} = {text}");
}

#[track_caller]
fn check_refused(key: &str, text: &str, why: &str) {
    let mut settings = Settings::default();
    assert_eq!(settings.set(key, text).unwrap_err(), why);
    assert_eq!(settings, Settings::default(), "a refused text changes nothing");
}

#[test]
fn numbers_print_their_value_and_texts_what_was_written() {
    check("max_client_conn", "0x10", Some("16"));
    check("unix_socket_mode", "0700", Some("448"));
    check("log_connections", "7", Some("1"));
    check("listen_backlog", "-1", Some("-1"));
    check("query_wait_timeout", "0.50", Some("0.5"));
    check("pool_mode", "TRANSACTION", Some("transaction"));
    check("auth_type", "Trust", Some("trust"));
    check("admin_users", "a , b  c", Some("a , b  c"));
    check("server_check_query", "", Some(""));
    check("server_check_query", "select 1", Some("select 1"));
    check("unix_socket_dir", "", Some(""));
    check("auth_file", "/etc/users", Some("/etc/users"));
}

#[test]
fn refusals_use_pgbouncers_words() {
    check_refused("nosuch", "1", "unknown parameter: pgbouncer/nosuch");
    check_refused("", "5", "unknown parameter: pgbouncer/");
    check_refused("POOL_MODE", "session", "unknown parameter: pgbouncer/POOL_MODE");
    check_refused("log_stats", "yes", "invalid value \"yes\" for parameter log_stats");
    check_refused("default_pool_size", "", "invalid value \"\" for parameter default_pool_size");
    check_refused("pool_mode", "x", "invalid value \"x\" for parameter pool_mode");
    let why = "invalid value \"65\" for parameter worker_threads: must be between 0 and 64";
    check_refused("worker_threads", "65", why);
    let why = "invalid value \"0\" for parameter stats_period: must be between 1 and 2147483647";
    check_refused("stats_period", "0", why);
    let why = "invalid value \"0\" for parameter pkt_buf: must be between 1 and 2147483647";
    check_refused("pkt_buf", "0", why);
}

#[test]
fn what_would_be_less_safe_than_it_says_is_refused() {
    let unsafe_values = [
        ("client_tls_sslmode", "require"),
        ("client_tls_sslmode", "verify-full"),
        ("server_tls_sslmode", "Verify-CA"),
        ("auth_type", "hba"),
        ("auth_type", "cert"),
        ("auth_type", "pam"),
        ("auth_type", "ldap"),
        ("auth_hba_file", "/etc/hba"),
    ];
    for (key, text) in unsafe_values {
        let why = format!(
            "value \"{text}\" of {key} does not work yet, and without it connections would be \
             less safe than it says"
        );
        check_refused(key, text, &why);
    }
    check("client_tls_sslmode", "Allow", Some("allow"));
    check("auth_hba_file", "", Some(""));
    let why = "invalid value \"on\" for parameter server_tls_sslmode";
    check_refused("server_tls_sslmode", "on", why);
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = Settings::default();
    assert!(settings.written.is_empty());
    assert_eq!(settings.auth_type, AuthType::Md5);
    assert_eq!(settings.client_login_timeout, 60_000_000);
    assert_eq!(settings.default_pool_size, 20);
    assert!(settings.listen_addr.is_empty());
    assert_eq!(settings.listen_port, 6432);
    assert_eq!(settings.logfile, None);
    assert_eq!(settings.max_client_conn, 100);
    assert_eq!(settings.max_packet_size, 2_147_483_647);
    assert_eq!(settings.pool_mode, PoolMode::Session);
    assert_eq!(settings.server_check_query, CheckQuery::Empty);
    assert_eq!(settings.server_lifetime, 3_600_000_000);
    assert_eq!(settings.server_reset_query.as_deref(), Some("DISCARD ALL"));
    assert_eq!(settings.unix_socket_dir.as_deref(), Some("/tmp"));
    assert_eq!(settings.unix_socket_mode, 0o777);
    assert_eq!((settings.worker_threads, settings.verbose), (0, 0));
}

#[test]
fn every_row_takes_its_own_default() {
    for row in TABLE {
        let mut settings = Settings::default();
        if let Some(text) = row.default {
            assert_eq!(settings.set(row.key, text), Ok(()), "{}", row.key);
        }
        assert!(settings.agrees(&Settings::default(), row), "{}", row.key);
        assert!(!row.doc.trim().is_empty(), "{}", row.key);
    }
}

#[test]
fn a_copied_setting_brings_its_spelling() {
    let mut old = Settings::default();
    old.set("admin_users", "a, b").unwrap();
    let row = &TABLE[0];
    let mut new = Settings::default();
    assert!(!new.agrees(&old, row));
    new.copy(&old, row);
    assert_eq!(new, old);
    new.copy(&Settings::default(), row);
    assert_eq!(new, Settings::default());
}

#[test]
fn rows_stand_in_pgbouncers_order_and_ours_last() {
    let is_own = |row: &&Row| row.standing == Standing::Own;
    let (theirs, ours) = TABLE.split_at(TABLE.len() - TABLE.iter().filter(is_own).count());
    assert!(ours.iter().all(|row| is_own(&row)), "ours come last");
    let names = |rows: &[Row]| rows.iter().map(|row| row.key).collect::<Vec<_>>();
    assert_eq!(names(ours), ["legacy_sqlstate", "worker_threads"]);
    // SHOW CONFIG of PgBouncer has 100 rows, in the order of their names but for one.
    assert_eq!(theirs.len(), 100);
    let mut sorted = names(theirs);
    sorted.sort_unstable();
    let place = sorted.iter().position(|key| *key == "pool_idle_timeout").unwrap();
    sorted.swap(place, place + 1);
    assert_eq!(names(theirs), sorted);
}
