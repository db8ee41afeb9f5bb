//! The scenarios of a real run: what clients do, how many there are, and who is measured.
//!
//! The letter says what they do, the number how many do it: S selects a row by key over the simple
//! protocol, E the same over the extended one, B is pgbench's TPC-B, C connects for each
//! transaction, CS the same with SCRAM, I is idle, BIG reads a result of 10 MB.

use crate::target::Target;

/// What all clients of a run do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) clients: usize,
    pub(crate) work: Work,
}

/// One kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Selects a row by its key over the simple protocol.
    Simple,
    /// The same over the extended protocol, with unnamed statements.
    Extended,
    /// pgbench's default transaction, akin to TPC-B.
    TpcB,
    /// Connects without a password, selects a row, disconnects.
    Connect,
    /// The same with SCRAM, the pooler knowing the stored secret only.
    ConnectScram,
    /// Has asked once and stays.
    Idle,
    /// Reads a result of [`RESULT_BYTES`].
    BigResult,
}

/// All scenarios, in the order of the report.
pub(crate) const ALL: [Scenario; 13] = [
    scenario("S1", 1, Work::Simple),
    scenario("S16", 16, Work::Simple),
    scenario("S64", 64, Work::Simple),
    scenario("S256", 256, Work::Simple),
    scenario("E1", 1, Work::Extended),
    scenario("E16", 16, Work::Extended),
    scenario("E64", 64, Work::Extended),
    scenario("E256", 256, Work::Extended),
    scenario("B64", 64, Work::TpcB),
    scenario("C16", 16, Work::Connect),
    scenario("CS16", 16, Work::ConnectScram),
    scenario("I1000", 1000, Work::Idle),
    scenario("BIG4", 4, Work::BigResult),
];

/// The statement of [`Work::BigResult`].
pub(crate) const BIG_RESULT: &str = "SELECT repeat('x', 1000) FROM generate_series(1, 10000);\n";

/// What PostgreSQL sends for it: 10,000 DataRow messages of one column.
pub(crate) const RESULT_BYTES: f64 = 10_000.0 * (1.0 + 4.0 + 2.0 + 4.0 + 1000.0);

impl Scenario {
    /// Who is measured in it.
    pub(crate) fn targets(&self, has_pgweir: bool) -> Vec<Target> {
        let all = [
            Target::Direct,
            Target::PgBouncer(1),
            Target::PgBouncer(2),
            Target::Pgweir(1),
            Target::Pgweir(2),
        ];
        // PostgreSQL itself lets everybody in without a password, and an idle backend is no pooler.
        let no_direct = matches!(self.work, Work::ConnectScram | Work::Idle);
        let is_measured = |target: &Target| match target {
            Target::Direct => !no_direct,
            Target::Pgweir(_) => has_pgweir,
            _ => true,
        };
        all.into_iter().filter(is_measured).collect()
    }
}

const fn scenario(name: &'static str, clients: usize, work: Work) -> Scenario {
    Scenario { name, clients, work }
}
