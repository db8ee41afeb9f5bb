//! A plan in few words: whoever reads a failure wants to know what took part in it.
//!
//! What is as in most plans, or switched off, is not mentioned.

use std::fmt;

use config::PoolMode;

use super::{Plan, PoolPlan, USERS};

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = vec![
            format!("{} workers", self.workers),
            format!("{} clients with {} workloads each", self.apps, self.rounds),
        ];
        let mut when = |is_so: bool, word: &str| {
            if is_so {
                words.push(word.to_owned());
            }
        };
        when(self.calm, "calm");
        when(self.unattended, "unattended");
        when(self.rude > 0, "rude clients");
        when(self.habits.cancels, "cancels");
        when(self.net.split > 0, "split reads");
        when(self.net.short > 0, "short writes");
        when(self.net.stall > 0, "stalls");
        when(self.net.slow_readers > 0, "slow readers");
        when(self.turn_max > 0, "slow turns");
        when(self.bounds.round_robin, "round robin");
        when(self.bounds.fast_close, "fast close");
        words.extend(self.early_end.map(|(at, how)| format!("{how:?} after {} ms", at / 1000)));
        words.extend(self.pools.iter().map(|pool| format!("\n  {pool}")));
        for (user, name) in USERS.iter().enumerate() {
            let (servers, clients) =
                (self.bounds.user_servers[user], self.bounds.user_clients[user]);
            if servers + clients > 0 {
                words.push(format!("\n  {name}: {servers} servers, {clients} clients"));
            }
        }
        let spans = &self.bounds.spans;
        let times = [
            ("query_wait", self.times.query_wait),
            ("login", self.times.login),
            ("server_idle", self.times.idle),
            ("lifetime", self.times.lifetime),
            ("reserve", spans.reserve),
            ("query", spans.query),
            ("transaction", spans.transaction),
            ("idle_transaction", spans.idle_transaction),
            ("client_idle", spans.client_idle),
            ("pool_idle", spans.pool_idle),
            ("autodb_idle", spans.made_idle),
        ];
        let times = times.iter().filter(|(_, time)| *time > 0);
        let times: Vec<_> =
            times.map(|(name, time)| format!("{name} {} ms", time / 1000)).collect();
        write!(out, "{}\n  {}", words.join(", ").replace(", \n", "\n"), times.join(", "))
    }
}

impl fmt::Display for PoolPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
            PoolMode::Statement => "statement",
        };
        write!(out, "{}: {mode}, {} servers", self.name, self.size)?;
        let more = [
            ("in reserve", self.reserve),
            ("at least", self.minimum),
            ("in the whole database", self.most_servers),
            ("clients at most", self.most_clients),
        ];
        for (what, count) in more.iter().filter(|(_, count)| *count > 0) {
            write!(out, ", {count} {what}")?;
        }
        if let Some(user) = self.forced {
            write!(out, ", as {user}")?;
        }
        if self.is_made { write!(out, ", from the template") } else { Ok(()) }
    }
}
