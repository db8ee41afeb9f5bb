//! Every figure of SHOW against a state made on purpose.

use std::cell::RefCell;
use std::collections::BTreeSet;

use engine::{Mail, Time};

use crate::busy::{Busy, INI, USERS, busy};
use crate::seat::{Table, query, tcp};
use crate::world::{SECOND, World, setup};

#[test]
fn pools() {
    let Busy { mut world, owner, .. } = busy();
    let table = world.show(owner, "pools");
    let names = "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req \
        sv_active sv_active_cancel sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait \
        maxwait_us pool_mode load_balance_hosts";
    columns(&table, names, "t t i i i i i i i i i i i i i t t");
    let rows = [
        "app carol 28 1 20 5 24 20 1 0 2 1 0 1 500000 transaction <null>",
        "app dave 2 0 0 0 0 0 0 1 1 0 0 0 0 transaction <null>",
        "auto carol 0 1 0 0 0 0 0 0 0 0 1 1 500000 transaction <null>",
        "pgbouncer pgbouncer 1 0 0 0 0 0 0 0 0 0 0 0 0 statement <null>",
    ];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row).join(" ")).collect();
    assert_eq!(found, rows);
}

#[test]
fn clients() {
    let Busy { mut world, owner, hanging } = busy();
    let table = world.show(owner, "clients");
    columns(&table, SOCKETS, SOCKET_TYPES);
    let count = |state: &str| table.column("state").iter().filter(|it| **it == state).count();
    let states = ["active", "idle", "waiting", "waiting_cancel_req", "active_cancel_req"];
    assert_eq!(states.map(count), [25, 6, 2, 5, 20]);
    assert_eq!(table.rows.len(), 58, "who has not logged in is not shown");
    for unique in ["ptr", "id"] {
        assert_eq!(table.column(unique).iter().collect::<BTreeSet<_>>().len(), 58, "{unique}");
    }
    // The worker stands in front, counted from 1.
    let pointer = format!("{:#x}", 1 << 48 | world.name(hanging).to_bits());
    let at = table.column("ptr").iter().position(|it| *it == pointer).unwrap();
    let row = cells(&table.rows[at]);
    let connected = "2001-09-09 01:46:40 UTC";
    let start = "C carol app none active 10.0.0.9 5000 10.0.0.1 6432".split(' ');
    let rest = [connected, connected, "0", "0", "0", &pointer];
    assert_eq!(row[..15], [start.collect::<Vec<_>>(), rest.to_vec()].concat());
    assert_eq!(row[16..20], ["0", "", "batch", "0"]);
    // The link leads to its server, and back.
    let servers = world.show(owner, "servers");
    let at = servers.column("ptr").iter().position(|it| *it == row[15]).expect("its server");
    assert_eq!(servers.column("link")[at], pointer);
    // The one that waits for its first server came through the Unix socket.
    let at = table.column("database").iter().position(|it| *it == "auto").unwrap();
    let row = cells(&table.rows[at]);
    let start = "C carol auto none waiting unix 6432 unix 6432".split(' ');
    let now = "2001-09-09 01:46:46 UTC";
    assert_eq!(row[..11], [start.collect::<Vec<_>>(), vec![now, now]].concat());
    assert_eq!(row[11..14], ["1", "500000", "0"]);
    assert_eq!(row[16], "4711");
    // A cancel request names nobody.
    let at = table.column("state").iter().position(|it| *it == "active_cancel_req").unwrap();
    assert_eq!(cells(&table.rows[at])[1..3], ["(nouser)", "(nodb)"]);
    // The console sees itself.
    let at = table.column("database").iter().position(|it| *it == "pgbouncer").unwrap();
    let row = cells(&table.rows[at]);
    assert_eq!(row[1..5], ["pgbouncer", "pgbouncer", "none", "active"]);
    assert_eq!(row[10], "2001-09-09 01:46:47 UTC", "its last request is this one");
}

#[test]
fn servers() {
    let Busy { mut world, owner, .. } = busy();
    let table = world.show(owner, "servers");
    columns(&table, SOCKETS, SOCKET_TYPES);
    let count = |state: &str| table.column("state").iter().filter(|it| **it == state).count();
    let states = ["active", "idle", "used", "tested", "login", "being_canceled", "active_cancel"];
    assert_eq!(states.map(count), [24, 1, 3, 1, 1, 1, 20]);
    let at = table.column("state").iter().position(|it| *it == "active").unwrap();
    let row = cells(&table.rows[at]);
    assert_eq!(row[..7], ["S", "carol", "app", "none", "active", "10.0.0.2", "5432"]);
    assert_eq!(row[7], "10.0.0.2");
    assert!(row[8].starts_with("400"), "our own port: {}", row[8]);
    assert!(row[16].starts_with("70"), "the process of the server: {}", row[16]);
    assert_eq!(row[18], "batch");
    // One that is not connected shows where it is going.
    let at = table.column("state").iter().position(|it| *it == "login").unwrap();
    let row = cells(&table.rows[at]);
    assert_eq!(row[1..9], ["carol", "auto", "none", "login", "10.0.0.3", "5432", "", "0"]);
    // Another place for the database: those at work are closed when they are free.
    let moved = INI.replace("10.0.0.2", "10.0.0.4");
    world.post(0, Mail::Setup(setup(&moved, USERS)));
    let table = world.show(owner, "servers");
    let at = table.column("state").iter().position(|it| *it == "active").unwrap();
    assert_eq!(table.column("close_needed")[at], "1");
    let at = table.column("state").iter().position(|it| *it == "login").unwrap();
    assert_eq!(table.column("close_needed")[at], "0");
}

#[test]
fn a_server_behind_a_unix_socket() {
    let mut world = World::new(1, INI, USERS);
    world.holds_connects = true;
    world.enter(0, tcp(5000), "dave", "local");
    let owner = world.owner(0);
    let table = world.show(owner, "servers");
    assert_eq!(cells(&table.rows[0])[5..9], ["unix", "5432", "unix", "5432"]);
}

#[test]
fn databases() {
    let Busy { mut world, owner, .. } = busy();
    let dave = world.enter(0, tcp(5000), "dave", "other");
    let server = *world.servers().last().unwrap();
    world.connect(server);
    assert_eq!(world.lines(dave).last().unwrap(), "ReadyForQuery");
    assert_eq!(world.ask(owner, "pause local"), ["PAUSE", "ReadyForQuery"]);
    let table = world.show(owner, "databases");
    let names = "name host port database force_user pool_size min_pool_size reserve_pool_size \
        server_lifetime pool_mode load_balance_hosts max_connections current_connections \
        max_client_connections current_client_connections paused disabled";
    columns(&table, names, "t t i t t i i i i t t i i i i i i");
    let rows = [
        "app 10.0.0.2 5433 real <null> 5 0 0 100 transaction <null> 0 30 0 31 0 0",
        "auto 10.0.0.3 5432 auto <null> 5 0 0 3600 <null> <null> 0 1 0 1 0 0",
        "local <null> 5432 local <null> 5 0 0 3600 <null> <null> 0 0 0 0 1 0",
        "other 10.0.0.2 5432 other forced 7 0 0 3600 <null> <null> 0 1 0 1 0 0",
        "pgbouncer <null> 6433 pgbouncer pgbouncer 2 0 0 3600 statement <null> 0 0 0 1 0 0",
    ];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row).join(" ")).collect();
    assert_eq!(found, rows);
}

#[test]
fn users() {
    let Busy { mut world, owner, .. } = busy();
    let table = world.show(owner, "users");
    let names = "name pool_size reserve_pool_size pool_mode max_user_connections \
        current_connections max_user_client_connections current_client_connections";
    columns(&table, names, "t t t t i i i i");
    let rows = [
        ["bob", "", "", "<null>", "0", "0", "0", "0"],
        ["carol", "       30", "", "transaction", "0", "29", "0", "30"],
        ["dave", "", "", "<null>", "0", "2", "0", "2"],
        ["pgbouncer", "", "", "<null>", "0", "0", "0", "1"],
    ];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row)).collect();
    assert_eq!(found, rows);
}

#[test]
fn lists() {
    let Busy { mut world, owner, .. } = busy();
    let table = world.show(owner, "lists");
    columns(&table, "list items", "t i");
    let expected = [
        ("databases", "5"),
        ("users", "4"),
        ("peers", "0"),
        ("pools", "4"),
        ("peer_pools", "0"),
        ("free_clients", "0"),
        ("used_clients", "59"),
        ("login_clients", "1"),
        ("free_servers", "0"),
        ("used_servers", "51"),
        ("dns_names", "0"),
        ("dns_zones", "0"),
        ("dns_queries", "0"),
        ("dns_pending", "0"),
    ];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row)).collect();
    assert_eq!(found, expected.map(|(list, items)| [list, items]));
}

#[test]
fn config_and_version_and_state() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    let table = world.show(owner, "config");
    columns(&table, "key value default changeable", "t t t t");
    assert_eq!(table.row(&["default_pool_size"]), ["default_pool_size", "5", "20", "yes"]);
    assert_eq!(table.row(&["listen_port"]), ["listen_port", "6433", "6432", "no"]);
    assert_eq!(table.row(&["auth_file"]), ["auth_file", "<null>", "<null>", "yes"]);
    assert_eq!(table.rows.len(), config::TABLE.len());
    let table = world.show(owner, "version");
    columns(&table, "version", "t");
    assert_eq!(table.column("version"), ["PgBouncer 1.25.2 (pgweir 0.0.0)"]);
    let table = world.show(owner, "state");
    columns(&table, "key value", "t t");
    assert_eq!(table.column("key"), ["active", "paused", "suspended"]);
    assert_eq!(table.column("value"), ["yes", "no", "no"]);
}

/// One server and two clients of a user: the first works for 2 seconds while the second waits, then
/// the second works for 3. Then 30 short queries, up to the given time.
fn worked(world: &mut World, until: u64) {
    let (one, two) = (world.client(0, "dave", "one"), world.client(0, "dave", "one"));
    world.say(one, &query("hang"));
    world.say(two, &query("hang"));
    let server = world.servers()[0];
    world.wait(2 * SECOND);
    world.answer(server);
    world.wait(3 * SECOND);
    world.answer(server);
    assert_eq!([one, two].map(|client| world.lines(client).len()), [2, 2]);
    for _ in 0..30 {
        assert_eq!(world.ask(one, "quick"), ["DONE", "ReadyForQuery"]);
    }
    let left = until * SECOND - world.now.0;
    world.wait(left);
}

const ONE: &str = "[databases]\none = host=10.0.0.2 pool_size=1 pool_mode=transaction\n\
    [pgbouncer]\nauth_type = trust\nstats_period = 10\nserver_idle_timeout = 0\n";

const NUMBERS: &str = "server_assignment_count xact_count query_count";

#[test]
fn stats() {
    let mut world = World::new(1, ONE, USERS);
    worked(&mut world, 15);
    let owner = world.owner(0);
    let table = world.show(owner, "stats");
    let names = "database total_server_assignment_count total_xact_count total_query_count \
        total_received total_sent total_xact_time total_query_time total_wait_time \
        total_client_parse_count total_server_parse_count total_bind_count \
        avg_server_assignment_count avg_xact_count avg_query_count avg_recv avg_sent \
        avg_xact_time avg_query_time avg_wait_time avg_client_parse_count \
        avg_server_parse_count avg_bind_count";
    columns(&table, names, &format!("t{}", " n".repeat(22)));
    // 2 queries of 10 bytes with 20 bytes of answer, 30 of 11 bytes with 16 bytes of answer; the
    // averages are over 15 seconds: the last roll but one was at 0.
    let totals = "32 32 32 350 520 5000000 5000000 2000000 0 0 0";
    let averages = "2 2 2 23 34 156250 156250 62500 0 0 0";
    assert_eq!(table.row(&["one"]).join(" "), format!("one {totals} {averages}"));
    let table = world.show(owner, "stats_totals");
    let names = "bytes_received bytes_sent xact_time query_time wait_time";
    let parses = "client_parse_count server_parse_count bind_count";
    columns(&table, &format!("database {NUMBERS} {names} {parses}"), "t n n n n n n n n n n n");
    assert_eq!(table.row(&["one"]).join(" "), format!("one {totals}"));
    let table = world.show(owner, "stats_averages");
    let parses = "avg_client_parse_count avg_server_parse_count avg_bind_count";
    columns(&table, &format!("database {NUMBERS} {names} {parses}"), "t n n n n n n n n n n n");
    assert_eq!(table.row(&["one"]).join(" "), format!("one {averages}"));
    // From the last roll but one on: at 25 seconds nothing has happened since.
    world.wait(10 * SECOND);
    let table = world.show(owner, "stats");
    let nothing = "0 0 0 0 0 0 0 0 0 0 0";
    assert_eq!(table.row(&["one"]).join(" "), format!("one {totals} {nothing}"));
}

#[test]
fn totals() {
    let mut world = World::new(1, ONE, USERS);
    worked(&mut world, 15);
    let owner = world.owner(0);
    let table = world.show(owner, "totals");
    columns(&table, "name value", "t n");
    let names = "server_assignment_count xact_count query_count client_bytes server_bytes \
        xact_time query_time wait_time ps_client_parse_count ps_server_parse_count ps_bind_count";
    let prefixed = ["total", "avg"].map(|prefix| {
        names.split_whitespace().map(|name| format!("{prefix}_{name}")).collect::<Vec<_>>()
    });
    assert_eq!(table.column("name"), prefixed.concat());
    // The console counts as well: this is its first query, of 17 bytes, and it has had its welcome.
    let values = table.column("value");
    assert_eq!(values[..4], ["32", "33", "33", "350"]);
    let sent: u64 = values[4].parse().unwrap();
    assert!(sent > 520 + 150, "{sent}");
}

#[test]
fn the_console_counts_itself() {
    let mut world = World::new(1, ONE, USERS);
    let dave = world.client(0, "dave", "one");
    world.ask(dave, "begin");
    let owner = world.owner(0);
    world.ask(owner, "pause");
    world.wait(3 * SECOND);
    world.ask(dave, "commit");
    world.wait(SECOND / 50);
    world.lines(owner);
    let table = world.show(owner, "stats");
    let row = table.row(&["pgbouncer"]);
    // PAUSE and this SHOW, the former in 3 seconds and a little.
    assert_eq!(row[2..5], ["2", "2", "11"]);
    let time: u64 = row[6].parse().unwrap();
    assert!((3 * SECOND..=3 * SECOND + SECOND / 50).contains(&time), "{time}");
    assert_eq!(row[6], row[7]);
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the lines of statistics, by thread, because tests run side by side.
struct Log;

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        if line.starts_with("stats: ") {
            assert_eq!(record.level(), log::Level::Info);
            LINES.with_borrow_mut(|lines| lines.push(line));
        }
    }

    fn flush(&self) {}
}

fn logged() -> Vec<String> {
    LINES.with_borrow_mut(std::mem::take)
}

fn open_log() {
    // Only the first test of the process finds nobody there.
    let _ = log::set_logger(&Log);
    log::set_max_level(log::LevelFilter::Info);
}

const QUIET: &str = "stats: 0 xacts/s, 0 queries/s, 0 client parses/s, 0 server parses/s, \
    0 binds/s, 0 client logins/s, in 0 B/s, out 0 B/s, xact 0 us, query 0 us, wait 0 us";

#[test]
fn the_line_of_statistics() {
    open_log();
    for workers in [1, 2] {
        let mut world = World::new(workers, ONE, USERS);
        worked(&mut world, 11);
        let line = "stats: 3 xacts/s, 3 queries/s, 0 client parses/s, 0 server parses/s, \
            0 binds/s, 0 client logins/s, in 35 B/s, out 52 B/s, xact 156250 us, query 156250 us, \
            wait 62500 us";
        assert_eq!(logged(), [line], "{workers}");
        for _ in 0..25 {
            world.client(0, "dave", "one");
        }
        world.wait(10 * SECOND);
        assert_eq!(logged(), [QUIET.replace("0 client logins", "2 client logins")]);
        world.wait(30 * SECOND);
        assert_eq!(logged(), [QUIET; 3]);
    }
}

#[test]
fn one_worker_writes_it_even_if_it_is_idle() {
    open_log();
    let mut world = World::new(2, ONE, USERS);
    assert_eq!([0, 1].map(|worker| world.next_tick(worker)), [Time(10 * SECOND), Time::NEVER]);
    world.wait(25 * SECOND);
    assert_eq!(logged(), [QUIET; 2]);
    let mut silent = World::new(2, &format!("{ONE}log_stats = 0\n"), USERS);
    silent.wait(25 * SECOND);
    assert_eq!(logged(), [""; 0]);
    assert_eq!(silent.statuses, [QUIET; 2], "a supervisor is told all the same");
}

#[test]
fn figures_are_those_of_all_workers() {
    let mut world = World::new(2, INI, USERS);
    let clients: Vec<_> = (0..6).map(|_| world.client(0, "carol", "app")).collect();
    for client in &clients {
        world.say(*client, &query("hang"));
    }
    let one = world.owner(0);
    let two = world.owner(1);
    world.owner(1);
    for owner in [one, two] {
        let table = world.show(owner, "pools");
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.row(&["app", "carol"])[2..7], ["6", "0", "0", "0", "6"]);
        assert_eq!(table.row(&["pgbouncer"])[2], "3");
        let table = world.show(owner, "clients");
        assert_eq!(table.rows.len(), 9);
        for unique in ["ptr", "id"] {
            assert_eq!(table.column(unique).iter().collect::<BTreeSet<_>>().len(), 9, "{unique}");
        }
        let links: BTreeSet<_> = table.column("link").into_iter().map(str::to_owned).collect();
        let servers = world.show(owner, "servers");
        for pointer in servers.column("ptr") {
            assert!(links.contains(pointer), "{pointer}");
        }
        assert_eq!(world.show(owner, "databases").row(&["app"])[12], "6");
        assert_eq!(world.show(owner, "stats").row(&["app"])[1..4], ["6", "6", "6"]);
    }
}

#[test]
fn a_client_that_goes_leaves_nothing_behind() {
    let mut world = World::new(2, INI, USERS);
    let owner = world.owner(0);
    world.holds_mail = true;
    world.say(owner, &query("show pools"));
    world.hang_up(owner);
    world.holds_mail = false;
    world.carry();
    let owner = world.owner(0);
    assert_eq!(world.show(owner, "pools").row(&["pgbouncer"])[2], "1");
}

#[test]
fn databases_that_are_removed_are_not_shown() {
    let mut world = World::new(1, ONE, USERS);
    let dave = world.client(0, "dave", "one");
    world.ask(dave, "select");
    let owner = world.owner(0);
    assert_eq!(world.show(owner, "pools").column("database"), ["one", "pgbouncer"]);
    world.post(0, Mail::Setup(setup(&ONE.replace("one =", "two ="), USERS)));
    assert_eq!(world.show(owner, "pools").column("database"), ["pgbouncer"]);
    assert_eq!(world.show(owner, "stats").column("database"), ["pgbouncer"]);
    assert_eq!(world.show(owner, "databases").column("name"), ["pgbouncer", "two"]);
}

/// Columns that say nothing until what they are about is there.
const SILENT: &[&str] = &[
    // Hosts: one for each database.
    "load_balance_hosts",
    // Limits that cannot be set.
    "min_pool_size",
    "reserve_pool_size",
    "max_connections",
    "max_client_connections",
    "max_user_connections",
    "max_user_client_connections",
    // DISABLE.
    "disabled",
    // Replication, TLS and prepared statements.
    "replication",
    "tls",
    "prepared_statements",
    "total_client_parse_count",
    "total_server_parse_count",
    "total_bind_count",
    "avg_client_parse_count",
    "avg_server_parse_count",
    "avg_bind_count",
    "client_parse_count",
    "server_parse_count",
    "bind_count",
];

#[test]
fn every_column_says_something() {
    let mut busy = busy();
    let dave = busy.world.enter(0, tcp(5000), "dave", "other");
    let server = *busy.world.servers().last().unwrap();
    busy.world.connect(server);
    busy.world.lines(dave);
    busy.world.ask(busy.owner, "pause local");
    let mut worked_world = World::new(1, ONE, USERS);
    worked(&mut worked_world, 15);
    let watcher = worked_world.owner(0);
    let mut silent: BTreeSet<String> = BTreeSet::new();
    for what in ["pools", "clients", "databases", "users", "lists", "config", "servers"] {
        if what == "servers" {
            // Those at work are now at the wrong place.
            let moved = INI.replace("dbname=real", "dbname=moved");
            busy.world.post(0, Mail::Setup(setup(&moved, USERS)));
        }
        let table = busy.world.show(busy.owner, what);
        silent.extend(silent_columns(&table).map(|column| format!("{what}.{column}")));
    }
    for what in ["stats", "stats_totals", "stats_averages", "totals"] {
        let table = worked_world.show(watcher, what);
        silent.extend(silent_columns(&table).map(|column| format!("{what}.{column}")));
    }
    let mut expected: BTreeSet<String> = silent
        .iter()
        .filter(|column| SILENT.iter().any(|known| column.ends_with(&format!(".{known}"))))
        .cloned()
        .collect();
    // A server does not wait for a server, and a client is not closed when it is free.
    expected.extend(["servers.wait", "servers.wait_us", "clients.close_needed"].map(String::from));
    assert_eq!(silent, expected);
}

fn silent_columns(table: &Table) -> impl Iterator<Item = String> {
    let says = |at: usize| {
        let mut cells = table.rows.iter().map(move |row| row[at].as_deref().unwrap_or_default());
        cells.any(|cell| !["", "0", "none"].contains(&cell))
    };
    (0..table.columns.len()).filter(move |at| !says(*at)).map(|at| table.columns[at].0.clone())
}

fn cells(row: &[Option<String>]) -> Vec<&str> {
    row.iter().map(|cell| cell.as_deref().unwrap_or("<null>")).collect()
}

/// The columns of a table: names and types, the latter as `t`ext, `i`nt4 or `n`umeric.
fn columns(table: &Table, names: &str, types: &str) {
    let oid = |letter: &str| match letter {
        "t" => 25,
        "i" => 23,
        "n" => 1700,
        _ => panic!("{letter}"),
    };
    let types = types.split_whitespace().map(oid);
    let expected: Vec<(String, u32)> =
        names.split_whitespace().map(str::to_owned).zip(types).collect();
    assert_eq!(names.split_whitespace().count(), expected.len());
    assert_eq!(table.columns, expected);
}

const SOCKETS: &str = "type user database replication state addr port local_addr local_port \
    connect_time request_time wait wait_us close_needed ptr link remote_pid tls application_name \
    prepared_statements id";
const SOCKET_TYPES: &str = "t t t t t t i t i t t i i i t t i t t i i";
