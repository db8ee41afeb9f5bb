//! Plain counters of one pool on one worker (contract: PgBouncer's SHOW STATS).

/// What has happened in a pool since it exists. Times are microseconds, volumes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Times that a server was given to a client.
    pub assignments: u64,
    /// Transactions.
    pub transactions: u64,
    /// Query cycles: a pipeline counts as one.
    pub queries: u64,
    /// Bytes from clients.
    pub received: u64,
    /// Bytes to clients.
    pub sent: u64,
    /// Time that servers were in a transaction.
    pub transaction_time: u64,
    /// Time that servers worked on a query cycle.
    pub query_time: u64,
    /// Time that clients waited for a server.
    pub wait_time: u64,
}

impl Counters {
    /// The counters in the order of SHOW STATS.
    pub fn as_array(&self) -> [u64; 8] {
        [
            self.assignments,
            self.transactions,
            self.queries,
            self.received,
            self.sent,
            self.transaction_time,
            self.query_time,
            self.wait_time,
        ]
    }

    /// Adds what another worker has counted.
    pub fn add(&mut self, other: &Self) {
        self.assignments += other.assignments;
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.received += other.received;
        self.sent += other.sent;
        self.transaction_time += other.transaction_time;
        self.query_time += other.query_time;
        self.wait_time += other.wait_time;
    }
}
