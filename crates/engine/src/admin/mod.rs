//! The console: what may be said to the pooler itself, and what it answers.
//!
//!     login to the database `pgbouncer` ──► rights ──► welcome
//!     Query, Parse … ──► session ──► statement: a courtesy, or a command of the grammar
//!     a command ──► permits? ──► show: a table, or an act of the switchboard ──► answer
//!
//! Knows no connections and no pools: the switchboard acts, and brings the figures that are shown.

pub(crate) mod answer;
mod calendar;
mod courtesy;
pub(crate) mod grammar;
pub(crate) mod report;
mod session;
mod sheet;
pub(crate) mod show;
mod statement;

pub(crate) use session::{Console, Heard};
pub(crate) use statement::Statement;

use config::Settings;
use wire::{TransactionStatus, write};

use crate::command::{Peer, Ticket};
use crate::setup::Setup;
use crate::time::Time;
use answer::Answer;
use grammar::{Command, Show};

/// The user that the owner of the process is on the console (PgBouncer).
pub(crate) const OWNER: &str = "pgbouncer";

/// The longest query, in bytes, header included.
pub(crate) const QUERY_MAX: usize = 1024 * 1024;

/// When so many bytes are kept of what a client says before it has its answer, reading stops.
pub(crate) const KEPT_MAX: usize = 16 * 1024;

/// What the session is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It takes the next command.
    Ready,
    /// Something in a batch of the extended protocol was refused: nothing is heard up to Sync.
    Skipping,
    /// A command is being carried out since `since`.
    Waiting { ticket: Ticket, since: Time },
}

/// What somebody may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Every command.
    Admin,
    /// What only shows.
    Stats,
}

impl Rights {
    /// The rights of a user who has proven to be one; `None`: it may not enter.
    pub(crate) fn of(user: &str, settings: &Settings) -> Option<Self> {
        let is_among = |users: &[String]| users.iter().any(|known| known == user);
        if is_among(&settings.admin_users) {
            Some(Self::Admin)
        } else if is_among(&settings.stats_users) {
            Some(Self::Stats)
        } else {
            None
        }
    }

    /// Those of a client that needs no proof: the owner of the process, known by the Unix socket.
    pub(crate) fn without_proof(user: &str, peer: Peer, setup: &Setup) -> Option<Self> {
        match peer {
            Peer::Unix { uid, .. } if uid == setup.uid && user == OWNER => Some(Self::Admin),
            _ => None,
        }
    }

    /// Whether they permit a command. Whoever is not an admin may only do what is listed here.
    pub(crate) fn permit(self, command: &Command) -> bool {
        match self {
            Self::Admin => true,
            Self::Stats => match command {
                Command::Show(show) => *show != Show::Fds,
                Command::SetParameter => true,
                _ => false,
            },
        }
    }
}

/// What a client is told when it enters; `key` is its cancel key.
pub(crate) fn welcome(version: &str, key: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write::authentication_ok(&mut out);
    // Of `PgBouncer 1.25.2 (…)` drivers want the number.
    let number = version.split(' ').nth(1).unwrap_or("0");
    let server_version = format!("{number}/bouncer");
    let parameters = [
        ("server_version", server_version.as_str()),
        ("client_encoding", "UTF8"),
        ("server_encoding", "UTF8"),
        ("DateStyle", "ISO"),
        ("TimeZone", "GMT"),
        ("standard_conforming_strings", "on"),
        ("is_superuser", "on"),
    ];
    for (name, value) in parameters {
        write::parameter_status(&mut out, name.as_bytes(), value.as_bytes());
    }
    let (pid, secret) = ((key >> 32) as u32, (key as u32).to_be_bytes());
    write::backend_key_data(&mut out, pid, &secret);
    write::ready_for_query(&mut out, TransactionStatus::Idle);
    out
}

/// The answer to SHOW HELP.
pub(crate) fn help() -> Answer {
    answer::notice("Console usage", Some(HELP), "SHOW")
}

const HELP: &str = "
SHOW CLIENTS | SERVERS | SOCKETS | ACTIVE_SOCKETS
SHOW POOLS | PEER_POOLS | DATABASES | PEERS | USERS | LISTS
SHOW STATS | STATS_TOTALS | STATS_AVERAGES | TOTALS
SHOW CONFIG | STATE | VERSION | MEM | DNS_HOSTS | DNS_ZONES | HELP
SET key = value
RELOAD
PAUSE [database]
RESUME [database]
DISABLE database
ENABLE database
RECONNECT [database]
WAIT_CLOSE [database]
KILL [database]
KILL_CLIENT id
SUSPEND
SHUTDOWN [WAIT_FOR_SERVERS | WAIT_FOR_CLIENTS]";

#[cfg(test)]
mod tests;
