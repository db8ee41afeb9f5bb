//! The SHOW tables, columns exactly as PgBouncer's.
//!
//!     SHOW x ──► source: known here, or which parts to gather from all workers ──► the table
//!
//! Knows the configuration and the figures that it is given; does not count anything itself.

mod databases;
mod pools;
mod sockets;
mod stats;

pub(crate) use stats::line as statistics_line;

use std::sync::Arc;

use super::answer::Sheet;
use super::answer::Type::{Int4, Text};
use super::grammar::{Parameter, Show};
use super::report::{Census, Socket, Table};
use super::{answer, help};
use crate::pool::ledger::Ledger;
use crate::setup::Setup;
use crate::time::Time;

/// The pool of the console's own clients: its database, and its user.
pub(crate) const CONSOLE_SIZE: u32 = 2;

/// What a table is made from, besides figures.
pub(crate) struct Facts<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) ledger: &'a Ledger,
    /// PAUSE without a database is in force.
    pub(crate) paused_all: bool,
    /// The databases that are paused by name.
    pub(crate) paused: &'a [Arc<str>],
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
            Self::Databases
            | Self::Lists
            | Self::Pools
            | Self::Stats
            | Self::StatsAverages
            | Self::StatsTotals
            | Self::Totals
            | Self::Users => Source::Gathered(Table::Pools),
            Self::Config
            | Self::Help
            | Self::Parameter(_)
            | Self::State
            | Self::Unsupported(_)
            | Self::Version => Source::Here,
        }
    }
}

impl Facts<'_> {
    /// The answer to a SHOW that needs no figures.
    pub(crate) fn show(&self, show: Show) -> Vec<u8> {
        match show {
            Show::Config => self.config(),
            Show::Parameter(parameter) => fake(parameter),
            Show::State => self.state(),
            Show::Unsupported(name) => answer::refusal(&format!("SHOW {name} {UNSUPPORTED}")),
            Show::Version => self.version(),
            _ => help(),
        }
    }

    /// The answer to a SHOW about pools.
    pub(crate) fn show_census(&self, show: Show, mut census: Census) -> Vec<u8> {
        // A pool outlives its database; nobody wants to see it then.
        census.pools.retain(|key, _| databases::is_known(self.setup, &key.database));
        match show {
            Show::Databases => self.databases(&census),
            Show::Lists => self.lists(&census),
            Show::Stats => stats::stats(&census),
            Show::StatsAverages => stats::averages(&census),
            Show::StatsTotals => stats::totals(&census),
            Show::Totals => stats::overall(&census),
            Show::Users => self.users(&census),
            _ => self.pools(&census),
        }
    }

    /// The answer to SHOW CLIENTS and SHOW SERVERS.
    pub(crate) fn show_sockets(&self, sockets: &[Socket]) -> Vec<u8> {
        sockets::table(sockets, self.wall)
    }

    fn config(&self) -> Vec<u8> {
        let mut sheet =
            Sheet::new(&[("key", Text), ("value", Text), ("default", Text), ("changeable", Text)]);
        for row in self.setup.config.show() {
            let changeable = if row.changeable { "yes" } else { "no" };
            sheet.text(row.key);
            sheet.text_or_null(row.value.as_deref());
            sheet.text_or_null(row.default.as_deref()).text(changeable).end_row();
        }
        sheet.finish()
    }

    fn state(&self) -> Vec<u8> {
        let mut sheet = Sheet::new(&[("key", Text), ("value", Text)]);
        let states = [("active", !self.paused_all), ("paused", self.paused_all), SUSPENDED];
        for (key, holds) in states {
            sheet.text(key).text(if holds { "yes" } else { "no" }).end_row();
        }
        sheet.finish()
    }

    fn version(&self) -> Vec<u8> {
        let mut sheet = Sheet::new(&[("version", Text)]);
        sheet.text(&self.setup.version).end_row();
        sheet.finish()
    }

    fn lists(&self, census: &Census) -> Vec<u8> {
        let servers = census.in_all().servers;
        let rows = [
            ("databases", databases::names(self.setup, census).len()),
            ("users", self.user_names(census).len()),
            ("peers", 0),
            ("pools", census.pools.len()),
            ("peer_pools", 0),
            ("free_clients", 0),
            ("used_clients", census.clients as usize),
            ("login_clients", census.logins as usize),
            ("free_servers", 0),
            ("used_servers", (servers.in_all() + servers.active_cancel) as usize),
            ("dns_names", 0),
            ("dns_zones", 0),
            ("dns_queries", 0),
            ("dns_pending", 0),
        ];
        let mut sheet = Sheet::new(&[("list", Text), ("items", Int4)]);
        for (list, items) in rows {
            sheet.text(list).number(items as u64).end_row();
        }
        sheet.finish()
    }
}

/// PgBouncer: drivers ask for some parameters and get an answer that suits the console.
fn fake(parameter: &Parameter) -> Vec<u8> {
    let mut sheet = Sheet::new(&[(parameter.name, Text)]);
    sheet.text(parameter.value).end_row();
    sheet.finish()
}

/// What is said of commands and tables that are not there.
pub(crate) const UNSUPPORTED: &str = "is not supported yet";

/// SUSPEND does not exist.
const SUSPENDED: (&str, bool) = ("suspended", false);
