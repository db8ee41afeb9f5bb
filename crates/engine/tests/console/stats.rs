//! What is counted: totals, averages and the line of the log.

use std::cell::RefCell;

use engine::Time;

use crate::figures::columns;
use crate::seat::query;
use crate::world::{SECOND, World};

const USERS: &str = crate::busy::USERS;

/// One server and two clients of a user: the first works for 2 seconds while the second waits, then
/// the second works for 3. Then 30 short queries, up to the given time.
pub(crate) fn worked(world: &mut World, until: u64) {
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

pub(crate) const ONE: &str = "[databases]\none = host=10.0.0.2 pool_size=1 pool_mode=transaction\n\
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
