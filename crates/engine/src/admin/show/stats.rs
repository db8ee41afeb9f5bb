//! SHOW STATS and its relatives: what each database has counted, and its averages; and the line of
//! the log.
//!
//! The column names are PgBouncer's, which are not consistent: scripts parse them.

use crate::admin::report::{Census, Figures};
use crate::admin::sheet::Type::{Numeric, Text};
use crate::admin::sheet::{Column, Sheet};
use crate::stats::Counters;

pub(super) fn stats(sheet: &mut Sheet, census: &Census) {
    by_database(sheet, census, |figures| vec![figures.counters, figures.averages()]);
}

pub(super) fn totals(sheet: &mut Sheet, census: &Census) {
    by_database(sheet, census, |figures| vec![figures.counters]);
}

pub(super) fn averages(sheet: &mut Sheet, census: &Census) {
    by_database(sheet, census, |figures| vec![figures.averages()]);
}

/// One row a database, of the counters that `choose` takes.
fn by_database(sheet: &mut Sheet, census: &Census, choose: impl Fn(&Figures) -> Vec<Counters>) {
    for (database, figures) in census.by_database() {
        sheet.text(database);
        for number in choose(&figures).iter().flat_map(row) {
            sheet.number(number);
        }
        sheet.end_row();
    }
}

/// SHOW TOTALS: everything in one column.
pub(super) fn overall(sheet: &mut Sheet, census: &Census) {
    let all = census.in_all();
    for (prefix, counters) in [("total", all.counters), ("avg", all.averages())] {
        for (name, number) in COUNTERS.iter().zip(row(&counters)) {
            sheet.text(&format!("{prefix}_{name}")).number(number).end_row();
        }
    }
}

/// The line that goes to the log every `stats_period`, from what has been counted in so many
/// microseconds. Log analysers parse it.
pub(crate) fn line(counted: &Counters, micros: u64) -> String {
    let averages = counted.averages(micros);
    let [.., parses, server_parses, binds] = row(&averages);
    format!(
        "stats: {} xacts/s, {} queries/s, {parses} client parses/s, {server_parses} server \
         parses/s, {binds} binds/s, {} client logins/s, in {} B/s, out {} B/s, xact {} us, \
         query {} us, wait {} us",
        averages.transactions,
        averages.queries,
        averages.logins,
        averages.received,
        averages.sent,
        averages.transaction_time,
        averages.query_time,
        averages.wait_time,
    )
}

/// The counters in the order of all these tables. The last three count prepared statements, of
/// which nothing is known yet.
fn row(counters: &Counters) -> [u64; 11] {
    [
        counters.assignments,
        counters.transactions,
        counters.queries,
        counters.received,
        counters.sent,
        counters.transaction_time,
        counters.query_time,
        counters.wait_time,
        0,
        0,
        0,
    ]
}

pub(super) const STATS: &[Column] = &[
    ("database", Text),
    ("total_server_assignment_count", Numeric),
    ("total_xact_count", Numeric),
    ("total_query_count", Numeric),
    ("total_received", Numeric),
    ("total_sent", Numeric),
    ("total_xact_time", Numeric),
    ("total_query_time", Numeric),
    ("total_wait_time", Numeric),
    ("total_client_parse_count", Numeric),
    ("total_server_parse_count", Numeric),
    ("total_bind_count", Numeric),
    ("avg_server_assignment_count", Numeric),
    ("avg_xact_count", Numeric),
    ("avg_query_count", Numeric),
    ("avg_recv", Numeric),
    ("avg_sent", Numeric),
    ("avg_xact_time", Numeric),
    ("avg_query_time", Numeric),
    ("avg_wait_time", Numeric),
    ("avg_client_parse_count", Numeric),
    ("avg_server_parse_count", Numeric),
    ("avg_bind_count", Numeric),
];

pub(super) const STATS_TOTALS: &[Column] = &[
    ("database", Text),
    ("server_assignment_count", Numeric),
    ("xact_count", Numeric),
    ("query_count", Numeric),
    ("bytes_received", Numeric),
    ("bytes_sent", Numeric),
    ("xact_time", Numeric),
    ("query_time", Numeric),
    ("wait_time", Numeric),
    ("client_parse_count", Numeric),
    ("server_parse_count", Numeric),
    ("bind_count", Numeric),
];

pub(super) const STATS_AVERAGES: &[Column] = &[
    ("database", Text),
    ("server_assignment_count", Numeric),
    ("xact_count", Numeric),
    ("query_count", Numeric),
    ("bytes_received", Numeric),
    ("bytes_sent", Numeric),
    ("xact_time", Numeric),
    ("query_time", Numeric),
    ("wait_time", Numeric),
    ("avg_client_parse_count", Numeric),
    ("avg_server_parse_count", Numeric),
    ("avg_bind_count", Numeric),
];

pub(super) const TOTALS: &[Column] = &[("name", Text), ("value", Numeric)];

/// The rows of SHOW TOTALS, behind `total_` and `avg_`.
const COUNTERS: [&str; 11] = [
    "server_assignment_count",
    "xact_count",
    "query_count",
    "client_bytes",
    "server_bytes",
    "xact_time",
    "query_time",
    "wait_time",
    "ps_client_parse_count",
    "ps_server_parse_count",
    "ps_bind_count",
];
