use super::*;

#[track_caller]
fn check_database(text: &str, expected: &Database) {
    let mut findings = Findings::default();
    let database = parse_database("d", text, &mut findings);
    assert_eq!((&database, findings), (expected, Findings::default()), "{text}");
}

#[track_caller]
fn check_user(text: &str, expected: &User) {
    let mut findings = Findings::default();
    let user = parse_user("u", text, &mut findings);
    assert_eq!((&user, findings), (expected, Findings::default()), "{text}");
}

#[track_caller]
fn check_refused(name: &str, text: &str, expected: &[&str]) {
    let mut findings = Findings::default();
    parse_database(name, text, &mut findings);
    assert_eq!(findings.complaints, expected, "{name} = {text}");
}

fn database() -> Database {
    Database::new("d")
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn password(text: &str) -> Option<Password> {
    Some(Password(text.to_owned()))
}

#[test]
fn every_supported_key_of_a_database_is_read() {
    check_database(
        "min_pool_size=1 reserve_pool=2 max_db_connections=3 max_db_client_connections=4 \
         connect_query='select 1'",
        &Database {
            min_pool_size: Some(1),
            reserve_pool_size: Some(2),
            max_db_connections: Some(3),
            max_db_client_connections: Some(4),
            connect_query: text("select 1"),
            ..database()
        },
    );
    check_database("reserve_pool_size=2", &Database { reserve_pool_size: Some(2), ..database() });
    check_database("host=@x", &Database { host: text("@x"), ..database() });
    check_database("", &database());
    check_database(
        "dbname=x host=h port=1",
        &Database { dbname: text("x"), host: text("h"), port: 1, ..database() },
    );
    check_database(
        "user='a b' password='c''d'",
        &Database { user: text("a b"), password: password("c'd"), ..database() },
    );
    check_database(
        "pool_size=5 pool_mode=Transaction",
        &Database { pool_size: Some(5), pool_mode: Some(PoolMode::Transaction), ..database() },
    );
    check_database(
        "query_wait_timeout=5 server_lifetime=7",
        &Database {
            query_wait_timeout: Some(5_000_000),
            server_lifetime: Some(7_000_000),
            ..database()
        },
    );
    check_database(
        "host=/run/postgresql",
        &Database { host: text("/run/postgresql"), ..database() },
    );
    // PgBouncer reads these with atoi, the settings with strtol.
    check_database(
        "port=05433 pool_size=08",
        &Database { port: 5433, pool_size: Some(8), ..database() },
    );
    check_database("host=::1", &Database { host: text("::1"), ..database() });
}

#[test]
fn some_numbers_stand_for_the_setting() {
    check_database("pool_size=-1 query_wait_timeout=-1 server_lifetime=0", &database());
    check_database(
        "pool_size=0 query_wait_timeout=0",
        &Database { pool_size: Some(0), query_wait_timeout: Some(0), ..database() },
    );
}

#[test]
fn startup_parameters_keep_one_order() {
    let startup = vec![
        ("client_encoding", "utf8".to_owned()),
        ("datestyle", "iso, mdy".to_owned()),
        ("timezone", "UTC".to_owned()),
        ("application_name", "app".to_owned()),
    ];
    let expected = Database { startup, ..database() };
    let first = "client_encoding=utf8 datestyle='iso, mdy' timezone=UTC application_name=app";
    let second = "application_name=x timezone=UTC application_name=app datestyle='iso, mdy' \
                  client_encoding=utf8";
    check_database(first, &expected);
    check_database(second, &expected);
}

#[test]
fn the_last_of_two_keys_counts() {
    check_database("port=1 host=a port=2", &Database { host: text("a"), port: 2, ..database() });
}

#[test]
fn refusals_use_pgbouncers_words() {
    check_refused("d", "foo=1", &["unrecognized connection parameter: foo"]);
    check_refused("d", "HOST=x", &["unrecognized connection parameter: HOST"]);
    for port in ["0", "70000", "-1", "x"] {
        check_refused("d", &format!("port={port}"), &[&format!("invalid port: {port}")]);
    }
    check_refused("d", "pool_mode=bad", &["invalid pool mode: bad"]);
    check_refused("d", "pool_size=x", &["invalid value \"x\" for parameter pool_size"]);
    let why = "invalid value \"99999999999\" for parameter pool_size: \
               must be between -1 and 4294967295";
    check_refused("d", "pool_size=99999999999", &[why]);
    check_refused(
        "d",
        "server_lifetime=1.5",
        &["invalid value \"1.5\" for parameter server_lifetime"],
    );
}

#[test]
fn everything_wrong_with_an_entry_is_said() {
    check_refused(
        "pgbouncer",
        "foo=1 port=0 min_pool_size=x",
        &[
            "database name \"pgbouncer\" is reserved",
            "unrecognized connection parameter: foo",
            "invalid port: 0",
            "invalid value \"x\" for parameter min_pool_size",
        ],
    );
}

#[test]
fn names_have_a_length() {
    let longest = "x".repeat(63);
    check_refused(&longest, "", &[]);
    let longer = "x".repeat(64);
    check_refused(&longer, "", &[&format!("too long db name: {longer}")]);
    check_refused("", "", &["database name is empty"]);
    let mut findings = Findings::default();
    parse_user(&"x".repeat(127), "", &mut findings);
    assert_eq!(findings, Findings::default());
    parse_user(&"x".repeat(128), "", &mut findings);
    parse_user("", "", &mut findings);
    assert_eq!(
        findings.complaints,
        [format!("too long user name: {}", "x".repeat(128)), "user name is empty".to_owned()]
    );
}

#[test]
fn every_key_of_pgbouncer_is_known() {
    for key in DATABASE_KEYS.iter().filter(|key| matches!(key.takes, Takes::Later)) {
        let mut findings = Findings::default();
        assert_eq!(parse_database("d", &format!("{}=1", key.name), &mut findings), database());
        let expected = Findings { complaints: Vec::new(), later: vec![key.name] };
        assert_eq!(findings, expected);
    }
    assert_eq!((DATABASE_KEYS.len(), USER_KEYS.len(), PEER_KEYS.len()), (23, 10, 3));
}

#[test]
fn a_malformed_entry_does_not_leak_its_password() {
    check_refused(
        "d",
        "password='top secret",
        &["syntax error in connection string: a quote is not closed"],
    );
    check_refused(
        "d",
        "password=top secret",
        &["syntax error in connection string: expected key=value"],
    );
}

#[test]
fn every_key_of_a_user_is_read() {
    check_user("", &User::new("u"));
    check_user(
        "pool_mode=session pool_size=3 reserve_pool_size=2 query_wait_timeout=0",
        &User {
            pool_mode: Some(PoolMode::Session),
            pool_size: Some(3),
            reserve_pool_size: Some(2),
            query_wait_timeout: Some(0),
            ..User::new("u")
        },
    );
    check_user(
        "max_user_connections=1 max_user_client_connections=2 query_timeout=3 \
         idle_transaction_timeout=4 transaction_timeout=5 client_idle_timeout=6",
        &User {
            max_user_connections: Some(1),
            max_user_client_connections: Some(2),
            query_timeout: Some(3_000_000),
            idle_transaction_timeout: Some(4_000_000),
            transaction_timeout: Some(5_000_000),
            client_idle_timeout: Some(6_000_000),
            ..User::new("u")
        },
    );
    check_user("max_user_connections=0 max_user_client_connections=-1", &User::new("u"));
    let mut findings = Findings::default();
    parse_user("u", "foo=1 pool_mode=x query_timeout=y", &mut findings);
    assert_eq!(
        findings.complaints,
        [
            "unrecognized user parameter: foo",
            "invalid pool mode: x",
            "invalid value \"y\" for parameter query_timeout",
        ]
    );
}

#[test]
fn a_database_is_called_the_same_on_its_server() {
    assert_eq!(database().server_name(), Some("d"));
    assert_eq!(Database { dbname: text("x"), ..database() }.server_name(), Some("x"));
    assert_eq!(Database::new("*").server_name(), None);
    assert_eq!(Database { dbname: text("x"), ..Database::new("*") }.server_name(), Some("x"));
}
