//! The section `[pgbouncer]`: one table of every setting.
//!
//! The table below is the struct [`Settings`], the parser, SHOW CONFIG, SET and the manual at once:
//! the doc comment of a field *is* its text in the manual. A new setting is a new entry, at
//! PgBouncer's place.
//!
//! ```text
//! name: type = default as SHOW CONFIG prints it, Boot or Live, lowest..=highest number accepted;
//! ```
//!
//! Knows no files and no line numbers. How a type is read and printed stands in `kinds`.

mod kinds;
mod table;

pub use kinds::{AuthType, CheckQuery, Micros, PoolMode};
pub(crate) use kinds::{Unfit, parse_decimal, parse_pool_mode};
pub(crate) use table::NOT_YET;
use table::settings;
pub use table::{Row, When};

settings! {
    /// Users that may run every command on the admin console.
    admin_users: Vec<String> = Some(""), Live;

    /// File with the names and passwords of users. It is read again on reload.
    auth_file: Option<String> = None, Live;

    /// How clients prove who they are. PgBouncer's default is `md5`, which is not supported yet: a
    /// file without this line asks for SCRAM.
    auth_type: AuthType = Some("scram-sha-256"), Live;

    /// How long a client may take from connecting to being logged in. 0 means no limit.
    client_login_timeout: Micros = Some("60"), Live;

    /// The path of the configuration file, which the next reload reads.
    conffile: Option<String> = None, Live;

    /// How many servers one pool, that is one pair of database and user, may have. 0 means no
    /// limit.
    default_pool_size: u32 = Some("20"), Live;

    /// Startup parameters that clients may send and that are then dropped. The word `options` also
    /// drops unknown names inside `options`.
    ignore_startup_parameters: Vec<String> = Some(""), Live;

    /// The name of the pooler as a service. It is accepted and shown, and changes nothing.
    job_name: String = Some("pgbouncer"), Boot;

    /// Addresses to listen on for TCP connections; `*` means all of them, IPv4 and IPv6. Empty
    /// means none.
    listen_addr: Vec<String> = Some(""), Boot;

    /// How many connections the kernel may hold that are not accepted yet.
    listen_backlog: i32 = Some("128"), Boot;

    /// The TCP port, which also names the Unix socket `.s.PGSQL.PORT`.
    listen_port: u16 = Some("6432"), Boot;

    /// Log logins of clients.
    log_connections: bool = Some("1"), Live;

    /// Log the end of connections and its reason.
    log_disconnections: bool = Some("1"), Live;

    /// Log the error messages that the pooler sends to clients.
    log_pooler_errors: bool = Some("1"), Live;

    /// Log a line of statistics every `stats_period`.
    log_stats: bool = Some("1"), Live;

    /// File to append the log to. It is opened again on reload, so that it can be rotated.
    logfile: Option<String> = Some(""), Live;

    /// How many client connections are accepted, those in login included.
    max_client_conn: u32 = Some("100"), Live;

    /// The longest message, in bytes, that passes; a longer one ends its connection.
    max_packet_size: u32 = Some("2147483647"), Live;

    /// File to write the process id to.
    pidfile: Option<String> = Some(""), Boot;

    /// The size of PgBouncer's buffers in bytes. It is accepted and shown, but buffers here do not
    /// depend on it.
    pkt_buf: u32 = Some("4096"), Boot, 1..=2147483647;

    /// When a server goes back to its pool: `session`, when the client leaves; `transaction`, when
    /// the transaction ends.
    pool_mode: PoolMode = Some("session"), Live;

    /// How long a client waits for a server before it is told so and disconnected. 0 means no
    /// limit.
    query_wait_timeout: Micros = Some("120"), Live;

    /// How long a server may be idle before it is checked with `server_check_query` ahead of its
    /// next use. 0 means always check.
    server_check_delay: Micros = Some("30"), Live;

    /// The query that shows whether a server still answers. Empty means no check; `<empty>` means a
    /// query without a statement, the cheapest one.
    server_check_query: CheckQuery = Some("<empty>"), Live;

    /// How long connecting and logging in to a server may take. 0 means no limit.
    server_connect_timeout: Micros = Some("15"), Live;

    /// How long a server may stay idle before it is closed. 0 means no limit.
    server_idle_timeout: Micros = Some("600"), Live;

    /// The age from which a server is closed when it is next idle. 0 means that a server is used
    /// once.
    server_lifetime: Micros = Some("3600"), Live;

    /// How long to wait after a failed connect or login before the next attempt.
    server_login_retry: Micros = Some("15"), Live;

    /// The query sent to a server when its client leaves, in session pooling. Empty means none.
    server_reset_query: Option<String> = Some("DISCARD ALL"), Live;

    /// The time between two lines of statistics in the log, and the span of the averages in SHOW
    /// STATS.
    stats_period: Micros = Some("60"), Live, 1..=2147483647;

    /// Users that may run the SHOW commands of the admin console.
    stats_users: Vec<String> = Some(""), Live;

    /// Turn TCP keepalive on.
    tcp_keepalive: bool = Some("1"), Live;

    /// The directory of the Unix socket for clients, and of those of databases without a host.
    /// Empty means no Unix socket.
    unix_socket_dir: Option<String> = Some("/tmp"), Boot;

    /// The file mode of the Unix socket; a leading 0 makes the number octal.
    unix_socket_mode: u32 = Some("0777"), Boot, 0..=0o7777;

    /// The user of the operating system to become after start.
    user: Option<String> = None, Boot;

    /// How much more to log, from 0 to 3.
    verbose: u32 = None, Live;

    /// How many threads serve connections. 0 means one for each CPU that the process may use.
    /// PgBouncer has no such setting: it always uses one thread.
    worker_threads: u32 = Some("0"), Boot, 0..=64;
}

#[cfg(test)]
mod tests;
