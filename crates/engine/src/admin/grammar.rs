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
    /// DISABLE; without a database it is refused.
    Disable(Option<Arc<str>>),
    /// ENABLE; the same.
    Enable(Option<Arc<str>>),
    /// KILL, of one database or of all that have pools.
    Kill(Option<Arc<str>>),
    /// KILL_CLIENT, with what stands for a client.
    KillClient(Option<Arc<str>>),
    /// PAUSE, of one database or of all.
    Pause(Option<Arc<str>>),
    /// RECONNECT, of one database or of all.
    Reconnect(Option<Arc<str>>),
    /// RELOAD.
    Reload,
    /// RESUME, of one database or of all.
    Resume(Option<Arc<str>>),
    /// SET of a setting.
    Set { key: String, value: String },
    /// SET of one of the parameters that drivers set after login.
    SetParameter,
    /// SHOW of a table.
    Show(Show),
    /// SHUTDOWN, in one of three ways.
    Shutdown(Shutdown),
    /// SUSPEND.
    Suspend,
    /// WAIT_CLOSE, of one database or of all.
    WaitClose(Option<Arc<str>>),
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
    if is_of_drivers(&key) {
        // Of what is ignored, nothing but the end is understood.
        return reader.one_statement().map(|()| Command::SetParameter);
    }
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
    Ok(Command::Set { key: key.to_ascii_lowercase(), value })
}

fn command(name: &str, argument: Option<&str>) -> Option<Command> {
    let word = argument.map(Into::into);
    match (name, argument) {
        ("disable", _) => Some(Command::Disable(word)),
        ("enable", _) => Some(Command::Enable(word)),
        ("kill", _) => Some(Command::Kill(word)),
        ("kill_client", _) => Some(Command::KillClient(word)),
        ("pause", _) => Some(Command::Pause(word)),
        ("reconnect", _) => Some(Command::Reconnect(word)),
        ("reload", None) => Some(Command::Reload),
        ("resume", _) => Some(Command::Resume(word)),
        ("show" | "select", Some(what)) => show(&what.to_ascii_lowercase()).map(Command::Show),
        ("shutdown", how) => shutdown(how).map(Command::Shutdown),
        ("suspend", None) => Some(Command::Suspend),
        ("wait_close", _) => Some(Command::WaitClose(word)),
        _ => None,
    }
}

/// The number at the begin of a word (PgBouncer: what follows does not matter).
pub(crate) fn decimal(word: &str) -> Option<u64> {
    let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
    word[..end].parse().ok()
}

/// Whether drivers set it after login, or begin a SET with it that is no setting of ours.
fn is_of_drivers(key: &str) -> bool {
    let is_among = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    is_among(OF_DRIVERS) || parameter(&key.to_ascii_lowercase()).is_some()
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

    /// The end of a query of which nothing more is understood, if no other statement follows.
    fn one_statement(mut self) -> Result<(), Refusal> {
        let mut open = None;
        let ends = |(_, letter): &(usize, char)| {
            match (open, *letter) {
                (None, '\'' | '"') => open = Some(*letter),
                (Some(quote), letter) if quote == letter => open = None,
                (None, ';') => return true,
                _ => {}
            }
            false
        };
        let end = self.rest.char_indices().find(ends).map_or(self.rest.len(), |(at, _)| at);
        self.rest = &self.rest[end..];
        if open.is_some() { Err(Refusal::Invalid) } else { self.end() }
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

/// What else drivers set after login: parameters, and the words of `SET SESSION CHARACTERISTICS`,
/// `SET TIME ZONE` and `SET NAMES`.
const OF_DRIVERS: &[&str] = &[
    "application_name",
    "bytea_output",
    "client_min_messages",
    "default_transaction_read_only",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "intervalstyle",
    "lock_timeout",
    "names",
    "search_path",
    "session",
    "statement_timeout",
    "time",
];

#[cfg(test)]
mod tests;
