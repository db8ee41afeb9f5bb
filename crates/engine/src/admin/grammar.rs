//! The command language of the console.
//!
//!     CMD [ARG] [;]      words of [0-9A-Za-z_], or "quoted"; SELECT is another name of SHOW
//!     SET key (= | TO) value [;]
//!
//! One command in each query, and nothing else: SQL is an error (PgBouncer). Comments have been
//! taken out before. Knows what a command is called, not what it does or who may say it.

use std::sync::Arc;

use super::sheet::Column;
use super::sheet::Type::Text;
use crate::command::Shutdown;

/// A command that has been understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// PAUSE, of one database or of all.
    Pause(Option<Arc<str>>),
    /// RELOAD.
    Reload,
    /// RESUME, of one database or of all.
    Resume(Option<Arc<str>>),
    /// SET of a setting.
    Set(String),
    /// SET of one of the parameters that drivers set after login.
    SetParameter,
    /// SHOW of a table.
    Show(Show),
    /// SHUTDOWN, in one of three ways.
    Shutdown(Shutdown),
    /// A command of PgBouncer's that is not supported.
    Unsupported(&'static str),
}

/// A table that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    ActiveSockets,
    Clients,
    Config,
    Databases,
    DnsHosts,
    DnsZones,
    /// Refused to everybody: it would show secrets.
    Fds,
    Help,
    Lists,
    Mem,
    /// One of the parameters that drivers ask for after login.
    Parameter(&'static Parameter),
    PeerPools,
    Peers,
    Pools,
    Servers,
    Sockets,
    State,
    Stats,
    StatsAverages,
    StatsTotals,
    Totals,
    Users,
    Version,
}

/// A parameter of PostgreSQL's that the console pretends to have (PgBouncer).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// One column, with the name of the parameter.
    pub(crate) columns: &'static [Column],
    pub(crate) value: &'static str,
}

/// Why a query is not a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A word is too long.
    BadArguments,
    /// Anything else.
    Invalid,
}

/// Reads a query.
pub(crate) fn parse(query: &[u8]) -> Result<Command, Refusal> {
    let text = std::str::from_utf8(query).map_err(|_| Refusal::Invalid)?;
    let mut reader = Reader { rest: text };
    reader.blanks();
    let name = reader.word().ok_or(Refusal::Invalid)?;
    let apart = reader.blanks();
    if name.eq_ignore_ascii_case("set") && apart {
        return set(reader);
    }
    let argument = if apart { reader.word() } else { None };
    reader.end()?;
    let argument = argument.as_deref();
    if name.len() > NAME_MAX || argument.is_some_and(|word| word.len() > ARGUMENT_MAX) {
        return Err(Refusal::BadArguments);
    }
    command(&name.to_ascii_lowercase(), argument).ok_or(Refusal::Invalid)
}

impl Refusal {
    /// What the client is told about its query.
    pub(crate) fn text(self, query: &[u8]) -> String {
        match self {
            Self::BadArguments => "bad arguments".into(),
            Self::Invalid => {
                let shown = String::from_utf8_lossy(query.get(..ECHO_MAX).unwrap_or(query));
                format!("invalid command '{shown}', use SHOW HELP;")
            }
        }
    }
}

fn set(mut reader: Reader<'_>) -> Result<Command, Refusal> {
    let key = reader.word().ok_or(Refusal::Invalid)?;
    let apart = reader.blanks();
    if !reader.take('=') {
        let to = reader.word().filter(|word| apart && word.eq_ignore_ascii_case("to"));
        to.ok_or(Refusal::Invalid)?;
    }
    reader.blanks();
    let value = reader.literal().or_else(|| reader.word()).ok_or(Refusal::Invalid)?;
    reader.end()?;
    if key.len() > ARGUMENT_MAX || value.len() > VALUE_MAX {
        return Err(Refusal::BadArguments);
    }
    let key = key.to_ascii_lowercase();
    Ok(if parameter(&key).is_some() { Command::SetParameter } else { Command::Set(key) })
}

fn command(name: &str, argument: Option<&str>) -> Option<Command> {
    match (name, argument) {
        ("pause", database) => Some(Command::Pause(database.map(Into::into))),
        ("reload", None) => Some(Command::Reload),
        ("resume", database) => Some(Command::Resume(database.map(Into::into))),
        ("show" | "select", Some(what)) => show(&what.to_ascii_lowercase()).map(Command::Show),
        ("shutdown", how) => shutdown(how).map(Command::Shutdown),
        _ => UNSUPPORTED
            .iter()
            .find(|known| known.eq_ignore_ascii_case(name))
            .map(|known| Command::Unsupported(known)),
    }
}

fn shutdown(how: Option<&str>) -> Option<Shutdown> {
    match how.map(str::to_ascii_lowercase).as_deref() {
        None => Some(Shutdown::Immediate),
        Some("wait_for_clients") => Some(Shutdown::WaitForClients),
        Some("wait_for_servers") => Some(Shutdown::WaitForServers),
        Some(_) => None,
    }
}

fn show(what: &str) -> Option<Show> {
    match what {
        "active_sockets" => Some(Show::ActiveSockets),
        "clients" => Some(Show::Clients),
        "config" => Some(Show::Config),
        "databases" => Some(Show::Databases),
        "dns_hosts" => Some(Show::DnsHosts),
        "dns_zones" => Some(Show::DnsZones),
        "fds" => Some(Show::Fds),
        "help" => Some(Show::Help),
        "lists" => Some(Show::Lists),
        "mem" => Some(Show::Mem),
        "peer_pools" => Some(Show::PeerPools),
        "peers" => Some(Show::Peers),
        "pools" => Some(Show::Pools),
        "servers" => Some(Show::Servers),
        "sockets" => Some(Show::Sockets),
        "state" => Some(Show::State),
        "stats" => Some(Show::Stats),
        "stats_averages" => Some(Show::StatsAverages),
        "stats_totals" => Some(Show::StatsTotals),
        "totals" => Some(Show::Totals),
        "users" => Some(Show::Users),
        "version" => Some(Show::Version),
        _ => parameter(what).map(Show::Parameter),
    }
}

fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.columns.iter().any(|(known, _)| *known == name))
}

/// What is left of a query.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Skips blanks; true when there were some.
    fn blanks(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest.len() < before
    }

    fn take(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A bare word or a quoted one.
    fn word(&mut self) -> Option<String> {
        if self.rest.starts_with("\"\"") && !self.rest.starts_with("\"\"\"") {
            // Nothing has no name: it stays where it is, and the query is refused.
            return None;
        }
        if self.rest.starts_with('"') {
            return self.quoted('"');
        }
        let is_other = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let (word, rest) = self.rest.split_at(self.rest.find(is_other).unwrap_or(self.rest.len()));
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// A string in single quotes.
    fn literal(&mut self) -> Option<String> {
        self.quoted('\'')
    }

    /// Something in quotes, in which the quote itself is doubled.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut rest = self.rest.strip_prefix(quote)?;
        let mut text = String::new();
        loop {
            let (before, after) = rest.split_once(quote)?;
            text.push_str(before);
            match after.strip_prefix(quote) {
                Some(after) => {
                    text.push(quote);
                    rest = after;
                }
                None => {
                    self.rest = after;
                    return Some(text);
                }
            }
        }
    }

    /// The end of the query, behind at most one semicolon.
    fn end(mut self) -> Result<(), Refusal> {
        self.blanks();
        self.take(';');
        self.blanks();
        if self.rest.is_empty() { Ok(()) } else { Err(Refusal::Invalid) }
    }
}

/// PgBouncer: the longest name of a command, argument and value, in bytes.
const NAME_MAX: usize = 15;
const ARGUMENT_MAX: usize = 63;
const VALUE_MAX: usize = 255;

/// How much of a query that makes no sense is repeated, in bytes.
const ECHO_MAX: usize = 500;

const PARAMETERS: &[Parameter] = &[
    Parameter { columns: &[("client_encoding", Text)], value: "UTF-8" },
    Parameter { columns: &[("default_transaction_isolation", Text)], value: "read committed" },
    Parameter { columns: &[("standard_conforming_strings", Text)], value: "on" },
    Parameter { columns: &[("datestyle", Text)], value: "ISO" },
    Parameter { columns: &[("timezone", Text)], value: "GMT" },
    // Not PgBouncer's: libpq asks for it when `target_session_attrs` is set.
    Parameter { columns: &[("transaction_read_only", Text)], value: "off" },
];

const UNSUPPORTED: &[&str] =
    &["DISABLE", "ENABLE", "KILL", "KILL_CLIENT", "RECONNECT", "SUSPEND", "WAIT_CLOSE"];

#[cfg(test)]
mod tests;
