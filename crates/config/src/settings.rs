//! The section `[pgbouncer]`: one table of every setting.
//!
//! The table below is the struct [`Settings`], the parser, SHOW CONFIG, SET and the manual at once:
//! the doc comment of a field *is* its text in the manual. A new setting is a new entry, at
//! PgBouncer's place; our own come last.
//!
//! ```text
//! name: type = default as SHOW CONFIG prints it, Boot or Live [later or own], lowest..=highest;
//! ```
//!
//! `later` says that the setting is read and shown, but does not work yet; `own`, that PgBouncer
//! has none of the name. Knows no files and no line numbers. How a type is read and printed stands
//! in `kinds`.

mod kinds;
mod table;

pub use kinds::{AuthType, CheckQuery, HbaFile, Micros, PoolMode, TlsMode};
pub(crate) use kinds::{Unfit, parse_decimal, parse_pool_mode};
use table::settings;
pub use table::{Row, Standing, When};

settings! {
    /// Users that may run every command on the admin console.
    admin_users: Vec<String> = Some(""), Live;

    /// Put the address of the client behind its `application_name` when it logs in, as in
    /// `app - 10.0.0.7:5123`.
    application_name_add_host: bool = Some("0"), Live;

    /// Database of `[databases]` in which `auth_query` runs.
    auth_dbname: Option<String> = None, Live [later];

    /// File with the names and passwords of users. It is read again on reload.
    auth_file: Option<String> = None, Live;

    /// File with rules of who may log in from where and how, used when `auth_type` is `hba`. It is
    /// refused, because without it more might be let in than it allows.
    auth_hba_file: HbaFile = Some(""), Live;

    /// File with maps from names of the operating system to users.
    auth_ident_file: Option<String> = None, Live [later];

    /// How to ask an LDAP server, when `auth_type` is `ldap`.
    auth_ldap_options: Option<String> = None, Live [later];

    /// Query for the password of a user that `auth_file` does not name.
    auth_query: Option<String> = Some(AUTH_QUERY), Live [later];

    /// How clients prove who they are. `md5` is the md5 exchange, or SCRAM for users whose secret
    /// is a SCRAM verifier; `scram-sha-256` and `plain` ask for just that; `trust` asks for
    /// nothing, but the user must be known; `any` takes any name, for databases that force a user.
    /// `hba`, `cert`, `ldap` and `pam` are refused.
    auth_type: AuthType = Some("md5"), Live;

    /// Role that runs `auth_query`, for users that `auth_file` does not name.
    auth_user: Option<String> = None, Live [later];

    /// How long the pools of a database that is made from the entry `*` may be unused before they
    /// and their statistics are dropped. 0 means for ever.
    autodb_idle_timeout: Micros = Some("3600"), Live;

    /// How long a cancel request may take. 0 means no limit.
    cancel_wait_timeout: Micros = Some("10"), Live;

    /// How long a client may be silent while it has no server. 0 means no limit.
    client_idle_timeout: Micros = Some("0"), Live;

    /// How long a client may take from connecting to being logged in. 0 means no limit.
    client_login_timeout: Micros = Some("60"), Live;

    /// Cipher suites of TLS 1.3 towards clients.
    client_tls13_ciphers: Option<String> = None, Live [later];

    /// Certificates of the authorities that vouch for clients.
    client_tls_ca_file: Option<String> = Some(""), Live [later];

    /// Certificate of the pooler towards clients.
    client_tls_cert_file: Option<String> = Some(""), Live [later];

    /// Ciphers of TLS up to 1.2 towards clients.
    client_tls_ciphers: String = Some("default"), Live [later];

    /// Parameters of the Diffie-Hellman exchange towards clients.
    client_tls_dheparams: String = Some("auto"), Live [later];

    /// Curve of the elliptic exchange towards clients.
    client_tls_ecdhcurve: String = Some("auto"), Live [later];

    /// Private key of `client_tls_cert_file`.
    client_tls_key_file: Option<String> = Some(""), Live [later];

    /// Versions of TLS towards clients.
    client_tls_protocols: String = Some("secure"), Live [later];

    /// Whether clients use TLS. Modes that demand it (`require`, `verify-ca`, `verify-full`) are
    /// refused, because connections would not be encrypted.
    client_tls_sslmode: TlsMode = Some("disable"), Live [later];

    /// The path of the configuration file, which the next reload reads.
    conffile: Option<String> = None, Live;

    /// How many servers one pool, that is one pair of database and user, may have. 0 means no
    /// limit.
    default_pool_size: u32 = Some("20"), Live;

    /// End clients that use the simple query protocol.
    disable_pqexec: bool = Some("0"), Boot;

    /// How long the addresses of a host name are taken for true.
    dns_max_ttl: Micros = Some("15"), Live [later];

    /// How long a failed lookup of a host name is taken for true.
    dns_nxdomain_ttl: Micros = Some("15"), Live [later];

    /// How often to look whether a DNS zone has changed.
    dns_zone_check_period: Micros = Some("0"), Live [later];

    /// How long a client may be silent within a transaction. 0 means no limit.
    idle_transaction_timeout: Micros = Some("0"), Live;

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

    /// A notice for every client when it has logged in. Empty means none.
    login_notify_message: Option<String> = Some(""), Live;

    /// How many client connections are accepted, those in login included.
    max_client_conn: u32 = Some("100"), Live;

    /// How many clients of one database are accepted. 0 means no limit.
    max_db_client_connections: u32 = Some("0"), Live;

    /// How many servers all pools of one database may have together. 0 means no limit.
    max_db_connections: u32 = Some("0"), Live;

    /// The longest message, in bytes, that passes; a longer one ends its connection.
    max_packet_size: u32 = Some("2147483647"), Live;

    /// How many prepared statements of clients one server keeps.
    max_prepared_statements: u32 = Some("200"), Live [later];

    /// How many clients of one user are accepted. 0 means no limit.
    max_user_client_connections: u32 = Some("0"), Live;

    /// How many servers all pools of one user may have together. 0 means no limit.
    max_user_connections: u32 = Some("0"), Live;

    /// How many servers a pool keeps open that has clients, or whose database forces a user.
    min_pool_size: u32 = Some("0"), Live;

    /// Number of this process among its peers.
    peer_id: u32 = Some("0"), Live [later];

    /// File to write the process id to.
    pidfile: Option<String> = Some(""), Boot;

    /// The size of PgBouncer's buffers in bytes. It is accepted and shown, but buffers here do not
    /// depend on it.
    pkt_buf: u32 = Some("4096"), Boot, 1..=2147483647;

    /// When a server goes back to its pool: `session`, when the client leaves; `transaction`, when
    /// the transaction ends; `statement`, after every query, with transactions over several of them
    /// forbidden.
    pool_mode: PoolMode = Some("session"), Live;

    /// How long a pool may be without clients and servers before it and its statistics are dropped.
    /// 0 means for ever.
    pool_idle_timeout: Micros = Some("0"), Live;

    /// How long a query may take, the wait for a server excluded; also how long a client waits for
    /// a server. 0 means no limit.
    query_timeout: Micros = Some("0"), Live;

    /// After how many seconds of waiting for a server a client is told so by a notice. 0 means
    /// never.
    query_wait_notify: u32 = Some("5"), Live;

    /// How long a client waits for a server before it is told so and disconnected. 0 means no
    /// limit.
    query_wait_timeout: Micros = Some("120"), Live;

    /// How many more servers a pool may have when a client has waited for `reserve_pool_timeout`.
    reserve_pool_size: u32 = Some("0"), Live;

    /// How long a client waits before its pool may use its reserve. 0 means that it never may.
    reserve_pool_timeout: Micros = Some("5"), Live;

    /// File that says how to ask for host names.
    resolv_conf: Option<String> = Some(""), Boot [later];

    /// How much PgBouncer reads from one connection before it turns to the next. It is accepted and
    /// shown; here every connection has its turn after one read.
    sbuf_loopcnt: u32 = Some("5"), Live;

    /// How many iterations a SCRAM verifier gets that is made from a plain password.
    scram_iterations: u32 = Some("4096"), Live, 1..=100000;

    /// How long a server may be idle before it is checked with `server_check_query` ahead of its
    /// next use. 0 means always check.
    server_check_delay: Micros = Some("30"), Live;

    /// The query that shows whether a server still answers. Empty means no check; `<empty>` means a
    /// query without a statement, the cheapest one.
    server_check_query: CheckQuery = Some("<empty>"), Live;

    /// How long connecting and logging in to a server may take. 0 means no limit.
    server_connect_timeout: Micros = Some("15"), Live;

    /// In session pooling, close a server that is to be replaced as soon as its client rests, and
    /// end the client with it, instead of waiting for the client to leave.
    server_fast_close: bool = Some("0"), Live;

    /// How long a server may stay idle before it is closed. 0 means no limit.
    server_idle_timeout: Micros = Some("600"), Live;

    /// The age from which a server is closed when it is next idle. 0 means that a server is used
    /// once.
    server_lifetime: Micros = Some("3600"), Live;

    /// How long to wait after a failed connect or login before the next attempt.
    server_login_retry: Micros = Some("15"), Live;

    /// The query sent to a server when its client leaves, in session pooling. Empty means none.
    server_reset_query: Option<String> = Some("DISCARD ALL"), Live;

    /// Send `server_reset_query` in every pool mode, after each transaction.
    server_reset_query_always: bool = Some("0"), Live;

    /// Take the server that has rested longest, not the one that was used last.
    server_round_robin: bool = Some("0"), Live;

    /// Cipher suites of TLS 1.3 towards servers.
    server_tls13_ciphers: Option<String> = None, Live [later];

    /// Certificates of the authorities that vouch for servers.
    server_tls_ca_file: Option<String> = Some(""), Live [later];

    /// Certificate of the pooler towards servers.
    server_tls_cert_file: Option<String> = Some(""), Live [later];

    /// Ciphers of TLS up to 1.2 towards servers.
    server_tls_ciphers: String = Some("default"), Live [later];

    /// Private key of `server_tls_cert_file`.
    server_tls_key_file: Option<String> = Some(""), Live [later];

    /// Versions of TLS towards servers.
    server_tls_protocols: String = Some("secure"), Live [later];

    /// Whether servers are asked for TLS. With `prefer`, the default, connections are not encrypted
    /// as long as TLS does not work; modes that demand it (`require`, `verify-ca`, `verify-full`)
    /// are refused.
    server_tls_sslmode: TlsMode = Some("prefer"), Live [later];

    /// Let several processes listen on the same port.
    so_reuseport: bool = Some("0"), Boot;

    /// The time between two lines of statistics in the log, and the span of the averages in SHOW
    /// STATS.
    stats_period: Micros = Some("60"), Live, 1..=2147483647;

    /// Users that may run the SHOW commands of the admin console.
    stats_users: Vec<String> = Some(""), Live;

    /// How long SUSPEND waits for connections to become quiet before it closes them.
    suspend_timeout: Micros = Some("10"), Live;

    /// Log to syslog.
    syslog: bool = Some("0"), Live [later];

    /// Facility of the lines in syslog.
    syslog_facility: String = Some("daemon"), Live [later];

    /// Name of the program in syslog.
    syslog_ident: String = Some("pgbouncer"), Live [later];

    /// Have the kernel hand over a TCP connection only when its client has said something.
    tcp_defer_accept: bool = Some("1"), Live;

    /// Turn TCP keepalive on.
    tcp_keepalive: bool = Some("1"), Live;

    /// How many TCP keepalive probes may stay unanswered. 0 means the kernel's default.
    tcp_keepcnt: u32 = Some("0"), Live, 0..=127;

    /// After how many idle seconds the first TCP keepalive probe is sent. 0 means the kernel's
    /// default.
    tcp_keepidle: u32 = Some("0"), Live, 0..=32767;

    /// How many seconds apart TCP keepalive probes are. 0 means the kernel's default.
    tcp_keepintvl: u32 = Some("0"), Live, 0..=32767;

    /// Size of the kernel's send and receive buffers of a TCP connection, in bytes. 0 means the
    /// kernel's default.
    tcp_socket_buffer: u32 = Some("0"), Live, 0..=1073741823;

    /// For how many milliseconds sent data may stay unacknowledged before a TCP connection is
    /// given up. 0 means the kernel's default.
    tcp_user_timeout: u32 = Some("0"), Live, 0..=2147483647;

    /// Parameters to keep for each client on whichever server it gets, besides those that are kept
    /// always: `application_name`, `client_encoding`, `DateStyle`, `default_transaction_read_only`,
    /// `IntervalStyle`, `scram_iterations`, `search_path`, `session_authorization`,
    /// `standard_conforming_strings` and `TimeZone`. A parameter that the server does not report is
    /// only kept as the client gave it at login.
    track_extra_parameters: Vec<String> = Some("IntervalStyle"), Boot;

    /// How long a transaction may take. 0 means no limit.
    transaction_timeout: Micros = Some("0"), Live;

    /// The directory of the Unix socket for clients, and of those of databases without a host.
    /// Empty means no Unix socket.
    unix_socket_dir: Option<String> = Some("/tmp"), Boot;

    /// The group that owns the Unix socket. Empty means that of the process.
    unix_socket_group: Option<String> = Some(""), Boot;

    /// The file mode of the Unix socket; a leading 0 makes the number octal.
    unix_socket_mode: u32 = Some("0777"), Boot, 0..=0o7777;

    /// The user of the operating system to become after start.
    user: Option<String> = None, Boot;

    /// How much more to log, from 0 to 3.
    verbose: u32 = None, Live;

    /// Give all errors of the pooler itself the SQLSTATE 08P01, as PgBouncer does, instead of the
    /// one that PostgreSQL would give, such as 28P01 for a wrong password.
    legacy_sqlstate: bool = Some("0"), Live [own];

    /// How many threads serve connections. 0 means one for each CPU that the process may use.
    /// PgBouncer always uses one thread.
    worker_threads: u32 = Some("0"), Boot [own], 0..=64;
}

/// PgBouncer's query for the password of a user.
const AUTH_QUERY: &str = "SELECT rolname, CASE WHEN rolvaliduntil < now() THEN NULL \
                          ELSE rolpassword END FROM pg_authid WHERE rolname=$1 AND rolcanlogin";

#[cfg(test)]
mod tests;
