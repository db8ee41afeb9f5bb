//! Counts of what a run has really made happen.
//!
//! A promise that was never put to the test has not been kept: a sweep fails when one of these
//! stays zero.

macro_rules! tally {
    ($($name:ident: $text:literal;)*) => {
        /// How often each thing has happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub(crate) struct Tally {
            $( #[doc = $text] pub(crate) $name: u64, )*
        }

        impl Tally {
            /// Adds the counts of another run.
            pub(crate) fn add(&mut self, other: &Self) {
                $( self.$name += other.$name; )*
            }

            /// Names, meanings and counts.
            pub(crate) fn rows(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![ $( (stringify!($name), $text, self.$name), )* ]
            }
        }
    };
}

tally! {
    transactions: "statements that a server has run for a client";
    sessions: "sessions of clients";
    servers: "logins to a server that succeeded";
    refused_clients: "logins of clients that were refused, as they should be";
    placements: "clients shipped to another worker";
    loans: "servers shipped to another worker";
    borrows: "requests for a loan";
    withdrawals: "requests for a loan taken back";
    slots_freed: "workers told that a slot is free which they had been refused";
    set_errands: "queries that gave a server its client's parameters";
    reset_queries: "reset queries";
    check_queries: "check queries";
    probes: "empty queries that show whether a server is settled";
    copies_in: "copies into a server";
    copies_out: "copies out of a server";
    copies_failed: "copies into a server that failed half way";
    function_calls: "function calls";
    suspended: "portals suspended";
    skipped: "messages skipped up to Sync after an error";
    cancels_sent: "cancel requests of clients";
    cancels_far: "cancel requests mailed to another worker";
    cancels_hit: "cancel requests that ended a query";
    cancels_late: "cancel requests that found nothing to end";
    held: "times that bytes had to wait in an engine";
    short_writes: "writes that took less than there was";
    reclaimed: "times that an engine copied what a buffer still held";
    split_reads: "reads cut short";
    reads_stopped: "times that an engine stopped reading";
    stalls: "connections that stood still for a while";
    resets: "connections of clients reset";
    hang_ups: "connections of clients closed without a word";
    server_fatals: "servers that said FATAL";
    server_losses: "servers that vanished";
    connects_refused: "connections to a server refused";
    logins_refused: "logins to a server refused";
    logins_hung: "logins that a server left unanswered";
    clock_jumps: "jumps of the clock";
    worker_stalls: "workers that stood still for a while";
    pauses: "PAUSE";
    resumes: "RESUME";
    suspends: "SUSPEND";
    reconnects: "RECONNECT";
    reloads: "new configurations";
    timeouts: "clients told that they waited for too long";
    notices: "clients told that they wait";
    query_timeouts: "clients told that their query has taken too long";
    query_timeouts_waiting: "clients told so before they had a server";
    transaction_timeouts: "clients told that their transaction has taken too long";
    idle_transaction_timeouts: "clients told that they were silent within a transaction";
    client_idle_timeouts: "clients told that they were silent";
    refused_of_database: "clients refused because their database had as many as it may";
    refused_of_user: "clients refused because their user had as many as it may";
    full_of_clients: "clients that were the last for whom there was room";
    forbidden: "clients told that statement pooling has no transactions";
    fast_closes: "clients of session pools told that their database is elsewhere";
    full_databases: "servers that were the last ones of their database";
    full_users: "servers that were the last ones of their user";
    reserves: "servers out of a reserve";
    refills: "servers opened because a pool had too few, though nobody waited";
    minimums: "pools found with their minimum when all was quiet";
    starving: "clients that waited because the database or user was full";
    hungry: "workers told that a pool goes hungry";
    evictions: "idle servers closed for another pool";
    swept: "pools dropped because nobody used them";
    told: "clients told that a server has gone or cannot be had";
    derivations: "slow questions answered";
    huge: "messages larger than a buffer";
    shutdowns_for_clients: "shutdowns that waited for clients";
    shutdowns_for_servers: "shutdowns that waited for servers";
    shutdowns_at_once: "shutdowns at once";
}
