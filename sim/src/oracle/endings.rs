//! What a client is told when its connection ends, and whether that is true.
//!
//! A timeout is true when its time is over, a limit when it is reached, a failure when something
//! has failed lately. Times are those of the engines' clock at the instant at which the pooler has
//! closed the connection.

use config::PoolMode;

use super::{AFTERMATH, Oracle};
use crate::app::Flaw;
use crate::plan::Plan;

/// A client that was told that its connection ends.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) place: usize,
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
    pub(crate) flow: u64,
    /// For how long its request has waited, as the engine counts.
    pub(crate) waited: Option<u64>,
    pub(crate) connected: u64,
    /// How long ago it has begun what it is at: a query or batch, and a transaction.
    pub(crate) asking: u64,
    pub(crate) in_transaction: u64,
    /// How long ago it has said something.
    pub(crate) silent: u64,
    /// How many clients of its database, and of its user, the pooler had besides.
    pub(crate) crowd: (u32, u32),
    pub(crate) database: usize,
    pub(crate) user: usize,
    /// Whether it has begun a transaction, or nobody can tell what it has begun.
    pub(crate) is_bold: bool,
    /// Whether a copy has failed: then it may have said more than the pooler takes for requests.
    pub(crate) is_sticky: bool,
    pub(crate) flaw: Flaw,
    pub(crate) shutdown: bool,
    pub(crate) moved: bool,
    pub(crate) crowded: bool,
}

impl Oracle {
    /// A client was told why its connection ends: was it true?
    pub(crate) fn client_told(&mut self, ending: &Ending<'_>, plan: &Plan) {
        if !self.has_cause(ending, plan) {
            self.fail(format!(
                "client {} was told {} {:?} without a cause: {ending:?}",
                ending.place, ending.code, ending.message
            ));
        }
    }

    fn has_cause(&self, ending: &Ending<'_>, plan: &Plan) -> bool {
        let lately =
            |since: Option<u64>| since.is_some_and(|since| ending.flow < since + AFTERMATH);
        let over = |lasted: u64, limit: u64| limit > 0 && lasted >= limit;
        let spans = &plan.bounds.spans;
        let pool = &plan.pools[ending.database];
        match ending.message {
            "query_wait_timeout" => over(ending.waited.unwrap_or(u64::MAX), plan.times.query_wait),
            "client_login_timeout" | "client_login_timeout (server down)" => {
                over(ending.connected, plan.times.login)
            }
            "query_timeout" => over(ending.waited.unwrap_or(ending.asking), spans.query),
            "query timeout" => over(ending.asking, spans.query),
            "transaction timeout" => over(ending.in_transaction, spans.transaction),
            "idle transaction timeout" => {
                over(ending.silent, spans.idle_transaction)
                    || ending.is_sticky && spans.idle_transaction > 0
            }
            "client_idle_timeout" => {
                over(ending.silent, spans.client_idle) || ending.is_sticky && spans.client_idle > 0
            }
            "transaction blocks not allowed in statement pooling mode" => {
                pool.mode == PoolMode::Statement && ending.is_bold
            }
            "client connections exceeded (max_db_client_connections)" => {
                pool.most_clients > 0 && ending.crowd.0 >= pool.most_clients
            }
            "client connections exceeded (max_user_client_connections)" => {
                let most = plan.bounds.user_clients[ending.user];
                most > 0 && ending.crowd.1 >= most
            }
            "database configuration changed" => {
                let keeps = pool.mode == PoolMode::Session;
                plan.bounds.fast_close && keeps && ending.moved
            }
            "pooler is shutting down" | "server shutting down" => ending.shutdown,
            "no more connections allowed (max_client_conn)" => plan.max_client_conn < 100,
            "server conn crashed?" => lately(self.mishap),
            "invalid server parameter" => ending.flaw == Flaw::Parameter,
            "simulated end" => lately(self.mishap) || lately(self.refused),
            text if text.starts_with("server login has been failing") => {
                lately(self.refused) || lately(self.mishap)
            }
            text if text.contains("authentication failed") => ending.flaw == Flaw::Password,
            _ => false,
        }
    }

    /// A client was cut off: had it been told?
    pub(crate) fn client_ended(&mut self, place: usize, flow: u64, told: bool, in_message: bool) {
        let died = self.mishap.is_some_and(|since| flow < since + AFTERMATH);
        if !told && !died {
            self.fail(format!("client {place} was cut off without a word"));
        }
        if in_message && !died && !told {
            self.fail(format!("client {place} was cut off in the middle of a message"));
        }
    }
}
