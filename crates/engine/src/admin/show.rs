//! The SHOW tables, columns exactly as PgBouncer's.
//!
//!     SHOW x ──► columns: for a Describe, before anything is known
//!            ──► source: known here, or which parts to gather from all workers ──► the table
//!
//! Knows the configuration and the figures that it is given; does not count anything itself.

mod databases;
mod mem;
mod peers;
mod pools;
mod sockets;
mod stats;
mod users;

pub(crate) use stats::line as statistics_line;

use std::sync::Arc;

use super::answer::{self, Answer};
use super::grammar::{Parameter, Show};
use super::help;
use super::report::{Census, Socket, Table};
use super::sheet::Type::{Int4, Int8, Text};
use super::sheet::{Column, Sheet};
use crate::act::Rest;
use crate::pool::ledger::Ledger;
use crate::setup::Setup;
use crate::time::Time;

/// The pool of the console's own clients: its database, and its user.
pub(crate) const CONSOLE_SIZE: u32 = 2;

/// What a table is made from, besides figures.
pub(crate) struct Facts<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) ledger: &'a Ledger,
    /// Whether the pooler as a whole is paused or suspended.
    pub(crate) rest: Rest,
    /// The databases that are paused by name.
    pub(crate) paused: &'a [Arc<str>],
    /// Those that let no more clients in.
    pub(crate) disabled: &'a [Arc<str>],
    /// The wall clock at [`Time::ZERO`], in microseconds since the Unix epoch.
    pub(crate) wall: u64,
    pub(crate) now: Time,
}

/// Where the content of a table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Every worker knows it all.
    Here,
    /// It is put together from all workers.
    Gathered(Table),
}

impl Show {
    pub(crate) fn source(self) -> Source {
        match self {
            Self::Clients => Source::Gathered(Table::Clients),
            Self::Servers => Source::Gathered(Table::Servers),
            Self::ActiveSockets | Self::Sockets => Source::Gathered(Table::Sockets),
            Self::Databases
            | Self::Lists
            | Self::Mem
            | Self::Pools
            | Self::Stats
            | Self::StatsAverages
            | Self::StatsTotals
            | Self::Totals
            | Self::Users => Source::Gathered(Table::Pools),
            Self::Config
            | Self::DnsHosts
            | Self::DnsZones
            | Self::Fds
            | Self::Help
            | Self::Parameter(_)
            | Self::PeerPools
            | Self::Peers
            | Self::State
            | Self::Version => Source::Here,
        }
    }

    /// The columns of the table, always the same; none where there is no table.
    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::ActiveSockets | Self::Sockets => sockets::BUFFERED,
            Self::Clients | Self::Servers => sockets::COLUMNS,
            Self::Config => CONFIG,
            Self::Databases => databases::COLUMNS,
            Self::DnsHosts => DNS_HOSTS,
            Self::DnsZones => DNS_ZONES,
            Self::Fds | Self::Help => &[],
            Self::Lists => LISTS,
            Self::Mem => mem::COLUMNS,
            Self::Parameter(parameter) => parameter.columns,
            Self::PeerPools => peers::POOLS,
            Self::Peers => peers::COLUMNS,
            Self::Pools => pools::COLUMNS,
            Self::State => STATE,
            Self::Stats => stats::STATS,
            Self::StatsAverages => stats::STATS_AVERAGES,
            Self::StatsTotals => stats::STATS_TOTALS,
            Self::Totals => stats::TOTALS,
            Self::Users => users::COLUMNS,
            Self::Version => VERSION,
        }
    }
}

impl Facts<'_> {
    /// The answer to a SHOW that needs no figures.
    pub(crate) fn show(&self, show: Show) -> Answer {
        let mut sheet = Sheet::new(show.columns());
        match show {
            Show::Config => self.config(&mut sheet),
            // No name is remembered once it has been looked up, and nothing is sent to peers.
            Show::DnsHosts | Show::DnsZones | Show::PeerPools => {}
            Show::Fds => return answer::refusal(FDS),
            Show::Parameter(parameter) => fake(&mut sheet, parameter),
            Show::Peers => self.peers(&mut sheet),
            Show::State => self.state(&mut sheet),
            Show::Version => sheet.text(&self.setup.version).end_row(),
            _ => return help(),
        }
        answer::table(sheet)
    }

    /// The answer to a SHOW about pools.
    pub(crate) fn show_census(&self, show: Show, mut census: Census) -> Answer {
        // A pool outlives its database; nobody wants to see it then.
        census.pools.retain(|key, _| databases::is_known(self.setup, &key.database));
        let mut sheet = Sheet::new(show.columns());
        match show {
            Show::Databases => self.databases(&mut sheet, &census),
            Show::Lists => self.lists(&mut sheet, &census),
            Show::Mem => self.mem(&mut sheet, &census),
            Show::Stats => stats::stats(&mut sheet, &census),
            Show::StatsAverages => stats::averages(&mut sheet, &census),
            Show::StatsTotals => stats::totals(&mut sheet, &census),
            Show::Totals => stats::overall(&mut sheet, &census),
            Show::Users => self.users(&mut sheet, &census),
            _ => self.pools(&mut sheet, &census),
        }
        answer::table(sheet)
    }

    /// The answer to a SHOW of connections.
    pub(crate) fn show_sockets(&self, show: Show, sockets: &[Socket]) -> Answer {
        let mut sheet = Sheet::new(show.columns());
        match show {
            Show::ActiveSockets => sockets::with_buffers(
                &mut sheet,
                sockets.iter().filter(|socket| socket.buffers.hold_something()),
                self.wall,
            ),
            Show::Sockets => sockets::with_buffers(&mut sheet, sockets.iter(), self.wall),
            _ => sockets::plain(&mut sheet, sockets, self.wall),
        }
        answer::table(sheet)
    }

    fn config(&self, sheet: &mut Sheet) {
        for row in self.setup.config.show() {
            let changeable = if row.changeable { "yes" } else { "no" };
            sheet.text(row.key);
            sheet.text_or_null(row.value.as_deref());
            sheet.text_or_null(row.default.as_deref()).text(changeable).end_row();
        }
    }

    fn state(&self, sheet: &mut Sheet) {
        let states =
            [("active", Rest::Working), ("paused", Rest::Paused), ("suspended", Rest::Suspended)];
        for (key, rest) in states {
            sheet.text(key).text(if rest == self.rest { "yes" } else { "no" }).end_row();
        }
    }

    fn lists(&self, sheet: &mut Sheet, census: &Census) {
        let servers = census.in_all().servers;
        let rows = [
            ("databases", databases::names(self.setup, census).len()),
            ("users", self.user_names(census).len()),
            ("peers", self.setup.config.peers.len()),
            ("pools", census.pools.len()),
            ("peer_pools", 0),
            ("free_clients", census.memory.clients.free as usize),
            ("used_clients", census.memory.clients.used as usize),
            ("login_clients", census.logins as usize),
            ("free_servers", census.memory.servers.free as usize),
            ("used_servers", (servers.in_all() + servers.active_cancel) as usize),
            ("dns_names", 0),
            ("dns_zones", 0),
            ("dns_queries", 0),
            ("dns_pending", 0),
        ];
        for (list, items) in rows {
            sheet.text(list).number(items as u64).end_row();
        }
    }
}

/// PgBouncer: drivers ask for some parameters and get an answer that suits the console.
fn fake(sheet: &mut Sheet, parameter: &Parameter) {
    sheet.text(parameter.value).end_row();
}

const CONFIG: &[Column] =
    &[("key", Text), ("value", Text), ("default", Text), ("changeable", Text)];
const DNS_HOSTS: &[Column] = &[("hostname", Text), ("ttl", Int8), ("addrs", Text)];
const DNS_ZONES: &[Column] = &[("zonename", Text), ("serial", Int8), ("count", Int4)];
const LISTS: &[Column] = &[("list", Text), ("items", Int4)];
const STATE: &[Column] = &[("key", Text), ("value", Text)];
const VERSION: &[Column] = &[("version", Text)];

/// Why nobody is shown the descriptors: PgBouncer's table is meant for its own next process.
const FDS: &str = "SHOW FDS is not supported: it would show passwords and keys";

#[cfg(test)]
mod tests;
