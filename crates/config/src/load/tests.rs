use super::*;
use crate::{Database, PoolMode};

/// Files by name; the first one is loaded.
type Files<'a> = &'a [(&'a str, &'a str)];

fn load_files(files: Files) -> Result<Config, Vec<Complaint>> {
    load(files[0].0, &mut |path| {
        let file = files.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| "No such file".to_owned())
    })
}

#[track_caller]
fn check_refused(files: Files, expected: &[&str]) {
    let complaints = load_files(files).unwrap_err();
    let complaints: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert_eq!(complaints, expected);
}

#[track_caller]
fn check_warned(files: Files, expected: &[&str]) -> Config {
    let config = load_files(files).unwrap();
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, expected);
    config
}

#[test]
fn a_file_becomes_a_config() {
    let text = "\
;; comment
[databases]
b = host=x
a =
[users]
u = pool_size=3
[pgbouncer]
pool_mode = transaction
admin_users = root, me
";
    let config = check_warned(&[("a.ini", text)], &[]);
    assert_eq!(config.pgbouncer.pool_mode, PoolMode::Transaction);
    assert_eq!(config.pgbouncer.admin_users, ["root", "me"]);
    assert_eq!(config.pgbouncer.conffile.as_deref(), Some("a.ini"));
    let host = Some("x".to_owned());
    assert_eq!(*config.databases, [Database { host, ..Database::new("b") }, Database::new("a")]);
    assert_eq!(config.user("u").unwrap().pool_size, Some(3));
}

#[test]
fn an_empty_main_section_gives_the_defaults() {
    let config = check_warned(&[("a.ini", "[pgbouncer]")], &[]);
    let conffile = Some("a.ini".to_owned());
    let pgbouncer = Settings { conffile, ..Settings::default() };
    assert_eq!(config, Config { pgbouncer, ..Config::default() });
}

#[test]
fn every_complaint_has_its_file_line_and_key() {
    let text = "\
lost = 1
[pgbouncer]
nosuch = 1
log_stats = yes
  listen_port = 6543 ; comment
job_name
[zzz]
not = read
[databases]
pgbouncer = host=x
a = port=0 pool_mode=x
%include more.ini
[peers]
0 = host=x
1 = port=1
";
    let more = "\n'b c' = password='x\n[users]\nu = foo=1\n";
    check_refused(
        &[("a.ini", text), ("more.ini", more)],
        &[
            "a.ini:1: lost: value without section: lost",
            "a.ini:3: nosuch: unknown parameter: pgbouncer/nosuch",
            "a.ini:4: log_stats: invalid value \"yes\" for parameter log_stats",
            "a.ini:5: listen_port: invalid value \"6543 ; comment\" for parameter listen_port",
            "a.ini:6: syntax error: expected \"=\" after the key",
            "a.ini:7: invalid section \"zzz\"",
            "a.ini:10: pgbouncer: database name \"pgbouncer\" is reserved",
            "a.ini:11: a: invalid port: 0",
            "a.ini:11: a: invalid pool mode: x",
            "more.ini:2: b c: syntax error in connection string: a quote is not closed",
            "more.ini:4: u: unrecognized user parameter: foo",
            "a.ini:14: 0: peer id must be between 1 and 65535: 0",
            "a.ini:15: 1: host was not provided for peer 1",
        ],
    );
}

#[test]
fn the_main_section_must_exist() {
    let why = "a.ini: main section missing from config file";
    check_refused(&[("a.ini", "")], &[why]);
    check_refused(&[("a.ini", "[databases]\na = port=0\n")], &["a.ini:2: a: invalid port: 0", why]);
    check_refused(&[("a.ini", "[Pgbouncer]\n")], &["a.ini:1: invalid section \"Pgbouncer\"", why]);
}

#[test]
fn a_missing_file_is_said_where_it_is_wanted() {
    let complaints = load("a.ini", &mut |_| Err("Permission denied".to_owned())).unwrap_err();
    let printed: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["a.ini: could not load file \"a.ini\": Permission denied"]);
    check_refused(
        &[("a.ini", "[pgbouncer]\n%include b.ini\nx=1")],
        &[
            "a.ini:2: could not load file \"b.ini\": No such file",
            "a.ini:3: x: unknown parameter: pgbouncer/x",
        ],
    );
}

#[test]
fn the_section_goes_into_an_include_and_comes_out() {
    let config = check_warned(
        &[
            ("a.ini", "[pgbouncer]\n%include b.ini\nc = host=y\n"),
            ("b.ini", "verbose=1\n[databases]\nb = host=x\n"),
        ],
        &[],
    );
    assert_eq!(config.pgbouncer.verbose, 1);
    assert_eq!(config.find_database("b").unwrap().host.as_deref(), Some("x"));
    assert_eq!(config.find_database("c").unwrap().host.as_deref(), Some("y"));
}

#[test]
fn a_repeated_main_section_adds_up_with_a_warning() {
    let files = [
        ("a.ini", "[pgbouncer]\nverbose=1\nlisten_port=7000\n%include b.ini\n"),
        ("b.ini", "[pgbouncer]\nverbose=2\n[databases]\n[databases]\n"),
    ];
    let why = "b.ini:1: section [pgbouncer] is repeated: its settings are added";
    let config = check_warned(&files, &[why]);
    assert_eq!((config.pgbouncer.verbose, config.pgbouncer.listen_port), (2, 7000));
}

#[test]
fn of_repeated_entries_the_last_counts() {
    let text = "[pgbouncer]\n[databases]\na = host=x port=1\nb =\na = host=y\n\
                [users]\nu = pool_size=1\nu =\n";
    let config = check_warned(
        &[("a.ini", text)],
        &[
            "a.ini:5: a: database is repeated: the last entry counts",
            "a.ini:8: u: user is repeated: the last entry counts",
        ],
    );
    let names: Vec<_> = config.databases.iter().map(|database| database.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let a = config.find_database("a").unwrap();
    assert_eq!((a.host.as_deref(), a.port), (Some("y"), 5432));
    assert_eq!(config.user("u").unwrap().pool_size, None);
}

#[test]
fn cycles_of_includes_end() {
    check_refused(
        &[("a.ini", "[pgbouncer]\n%include a.ini\n")],
        &["a.ini:2: file \"a.ini\" includes itself"],
    );
    let files = [("a.ini", "[pgbouncer]\n%include b.ini\n"), ("b.ini", "\n\n%include a.ini\n")];
    check_refused(&files, &["b.ini:3: file \"a.ini\" includes itself"]);
}

#[test]
fn the_same_file_may_be_included_twice() {
    let text = "[pgbouncer]\n%include b.ini\n%include b.ini\n";
    let config = check_warned(&[("a.ini", text), ("b.ini", "verbose=1\n")], &[]);
    assert_eq!(config.pgbouncer.verbose, 1);
}

#[test]
fn one_warning_names_all_that_does_not_work_yet() {
    let text = "\
[pgbouncer]
max_prepared_statements = 0
client_tls_sslmode = allow
auth_user = \n\
server_tls_sslmode = Prefer
auth_query = select
[databases]
a = auth_user=x load_balance_hosts=disable
b = host=one,two
[peers]
1 = host=x
";
    let why = "a.ini: set, but without effect yet: auth_query, client_tls_sslmode, \
               max_prepared_statements, a: auth_user, a: load_balance_hosts, \
               b: all hosts but the first, [peers]";
    let config = check_warned(&[("a.ini", text)], &[why]);
    assert_eq!(config.find_database("b").unwrap().host.as_deref(), Some("one"));
    assert_eq!(config.peers.find("1").unwrap().port, 6432);
}

#[test]
fn our_own_settings_may_come_from_the_environment() {
    let load = |value: &str| {
        let variable = |name: &str| match name {
            "PGWEIR_WORKER_THREADS" => Some(value.to_owned()),
            "PGWEIR_POOL_MODE" => Some("statement".to_owned()),
            _ => None,
        };
        load_in("a.ini", &variable, &mut |_| Ok(b"[pgbouncer]\nworker_threads=2\n".to_vec()))
    };
    let config = load("3").unwrap();
    assert_eq!(config.pgbouncer.worker_threads, 3);
    assert_eq!(config.pgbouncer.pool_mode, PoolMode::Session, "PgBouncer's come from the file");
    let complaints = load("x").unwrap_err();
    let why =
        "environment: PGWEIR_WORKER_THREADS: invalid value \"x\" for parameter worker_threads";
    assert_eq!(complaints[0].to_string(), why);
}

#[test]
fn ten_thousand_entries_load_at_once() {
    let mut text = String::from("[pgbouncer]\n[databases]\n");
    for number in 0..10_000 {
        text += &format!("db{number} = host=x\n");
    }
    text += "[users]\n";
    for number in 0..10_000 {
        text += &format!("user{number} = pool_size=5\n");
    }
    let config = check_warned(&[("a.ini", &text)], &[]);
    assert_eq!((config.databases.len(), config.users.len()), (10_000, 10_000));
    assert_eq!(config.user("user9999").unwrap().pool_size, Some(5));
}

/// Loads a main file above a chain of so many files, each of which includes the next.
fn load_chain(length: u32) -> Result<Config, Vec<Complaint>> {
    load("0", &mut |path| {
        let number: u32 = path.parse().map_err(|_| "no number")?;
        let next = if number < length { format!("%include {}", number + 1) } else { String::new() };
        Ok(format!("[pgbouncer]\n{next}\n").into_bytes())
    })
}

#[test]
fn includes_are_ten_deep_at_most() {
    assert!(load_chain(10).is_ok());
    let complaints = load_chain(11).unwrap_err();
    let printed: Vec<_> = complaints.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["10:2: include nesting level too deep"]);
}

#[test]
fn includes_that_multiply_end() {
    let mut reads = 0;
    let outcome = load("0", &mut |path| {
        reads += 1;
        let number: u32 = path.parse().map_err(|_| "no number")?;
        let include = format!("%include {}\n", number + 1);
        Ok(format!("[pgbouncer]\n{}", include.repeat(10)).into_bytes())
    });
    assert_eq!(reads, FILES_MAX);
    let why = &outcome.unwrap_err().last().unwrap().why.clone();
    assert_eq!(why, "more than 1000 files are included");
}

#[test]
fn any_bytes_load_or_complain() {
    let words: [&[u8]; 12] = [
        b"[pgbouncer]\n",
        b"[databases]\n",
        b"[users]\n",
        b"%include a\n",
        b"a",
        b"=",
        b"port",
        b"'",
        b" ",
        b"\n",
        b"\xff",
        b"pool_mode",
    ];
    let mut random = crate::tests::Random(6);
    for _ in 0..5_000 {
        let length = random.below(20);
        let file: Vec<u8> =
            (0..length).flat_map(|_| words[random.below(12) as usize]).copied().collect();
        if let Err(complaints) = load("t.ini", &mut |_| Ok(file.clone())) {
            assert!(!complaints.is_empty());
        }
    }
}
