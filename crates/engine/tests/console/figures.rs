//! Every figure of SHOW against a state made on purpose.

use std::collections::BTreeSet;

use engine::Mail;

use crate::busy::{Busy, INI, USERS, busy};
use crate::configured::LIMITS;
use crate::seat::{Table, query, tcp};
use crate::stats::{ONE, worked};
use crate::world::{World, setup};

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
fn sockets() {
    let Busy { mut world, owner, .. } = busy();
    let (clients, servers) = (world.show(owner, "clients"), world.show(owner, "servers"));
    let table = world.show(owner, "sockets");
    columns(&table, &format!("{SOCKETS} {BUFFERS}"), &format!("{SOCKET_TYPES} i i i i i i i"));
    // Those of the other two tables, with other names for their states, and who logs in.
    let row = |row: &[Option<String>]| [&row[..4], &row[5..10], &row[11..21]].concat();
    let rows = |table: &Table| table.rows.iter().map(|it| row(it)).collect::<BTreeSet<_>>();
    let both: BTreeSet<_> = rows(&clients).union(&rows(&servers)).cloned().collect();
    let more: Vec<_> = rows(&table).difference(&both).cloned().collect();
    assert_eq!((table.rows.len(), both.len(), more.len()), (58 + 51 + 1, 58 + 51, 1));
    let count = |state: &str| table.column("state").iter().filter(|it| **it == state).count();
    let states = ["cl_active", "cl_waiting", "cl_waiting_cancel_req", "cl_active_cancel_req"];
    assert_eq!(states.map(count), [31, 2, 5, 20]);
    assert_eq!(count("cl_login"), 1);
    let states = ["sv_active", "sv_idle", "sv_used", "sv_tested", "sv_login"];
    assert_eq!(states.map(count), [24, 1, 3, 1, 1]);
    assert_eq!(["sv_being_canceled", "sv_active_cancel"].map(count), [1, 20]);
}

#[test]
fn what_waits_in_buffers() {
    let mut world = World::new(1, INI, USERS);
    let owner = world.owner(0);
    assert_eq!(world.show(owner, "active_sockets").rows.len(), 0);
    // A query of which the end is missing, for a server that takes nothing.
    let cut = world.client(0, "carol", "app");
    world.ask(cut, "select");
    world.block(world.servers()[0], true);
    world.say(cut, &query(&"x".repeat(94))[..40]);
    // An answer that is not taken, but for five bytes.
    let slow = world.client(0, "dave", "app");
    world.block(slow, true);
    world.say(slow, &query("select"));
    world.take(slow, 5);
    // A query that nobody serves.
    let waiting = world.client(0, "carol", "local");
    let other = world.owner(0);
    world.ask(other, "pause local");
    world.say(waiting, &query("select"));
    let table = world.show(owner, "active_sockets");
    let found: Vec<_> = table.rows.iter().map(|row| cells(row)).collect();
    let found: Vec<_> =
        found.iter().map(|row| [&row[..3], &row[21..]].concat().join(" ")).collect();
    let expected = [
        "C carol app 0 0 60 0 0 0 0",
        "C dave app 0 0 0 5 0 0 11",
        "C carol local 12 0 0 0 0 12 0",
        "S carol app 0 0 0 0 0 0 40",
    ];
    assert_eq!(found, expected);
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
    let mut shown = Shown::default();
    for what in ["pools", "clients", "databases", "users", "lists", "config", "servers", "mem"] {
        if what == "servers" {
            // Those at work are now at the wrong place.
            let moved = INI.replace("dbname=real", "dbname=moved");
            busy.world.post(0, Mail::Setup(setup(&moved, USERS)));
        }
        shown.note(what, &busy.world.show(busy.owner, what));
    }
    let mut world = World::new(1, ONE, USERS);
    worked(&mut world, 15);
    let watcher = world.owner(0);
    for what in ["stats", "stats_totals", "stats_averages", "totals"] {
        shown.note(what, &world.show(watcher, what));
    }
    let mut world = World::new(1, LIMITS, USERS);
    let watcher = world.owner(0);
    for what in ["databases", "users", "peers"] {
        shown.note(what, &world.show(watcher, what));
    }
    let silent: BTreeSet<_> = shown.all.difference(&shown.speaking).cloned().collect();
    let mut expected: BTreeSet<String> = silent
        .iter()
        .filter(|column| SILENT.iter().any(|known| column.ends_with(&format!(".{known}"))))
        .cloned()
        .collect();
    // A server does not wait for a server, and a client is not closed when it is free.
    expected.extend(["servers.wait", "servers.wait_us", "clients.close_needed"].map(String::from));
    assert_eq!(silent, expected);
}

/// The columns of all tables, and those that have said something.
#[derive(Default)]
struct Shown {
    all: BTreeSet<String>,
    speaking: BTreeSet<String>,
}

impl Shown {
    fn note(&mut self, what: &str, table: &Table) {
        for (at, (column, _)) in table.columns.iter().enumerate() {
            let name = format!("{what}.{column}");
            let mut cells = table.rows.iter().map(|row| row[at].as_deref().unwrap_or_default());
            if cells.any(|cell| !["", "0", "none"].contains(&cell.trim())) {
                self.speaking.insert(name.clone());
            }
            self.all.insert(name);
        }
    }
}

pub(crate) fn cells(row: &[Option<String>]) -> Vec<&str> {
    row.iter().map(|cell| cell.as_deref().unwrap_or("<null>")).collect()
}

/// The columns of a table: names and types, the latter as `t`ext, `i`nt4, `l`ong or `n`umeric.
pub(crate) fn columns(table: &Table, names: &str, types: &str) {
    let oid = |letter: &str| match letter {
        "t" => 25,
        "i" => 23,
        "l" => 20,
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
const BUFFERS: &str = "recv_pos pkt_pos pkt_remain send_pos send_remain pkt_avail send_avail";
