//! The command line: PgBouncer's options, and sub-commands of our own.
//!
//! ```text
//! pgweir [OPTION]... CONFIG_FILE      serve, as PgBouncer would
//! pgweir demo [OPTION]...             handed on as it stands
//! ```
//!
//! Knows no files: what it returns is what was asked for, or what is wrong with the asking.

use std::ffi::OsString;

use lexopt::Arg;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// Serve connections.
    Serve(Serve),
    /// Print the versions.
    Version,
    /// Print how to use the program.
    Help,
    /// Run the demo with these arguments.
    Demo(Vec<OsString>),
}

/// How to serve.
#[derive(Debug, PartialEq, Eq, Clone, Default)]
pub(crate) struct Serve {
    /// The path of the configuration file.
    pub(crate) config: String,
    /// Whether to keep the log away from standard error.
    pub(crate) quiet: bool,
    /// How often `-v` was given.
    pub(crate) verbose: u32,
    /// Whether to go on in the background.
    pub(crate) daemon: bool,
    /// The user of the operating system to become; the configuration's does not count then.
    pub(crate) user: Option<String>,
}

/// What is wrong with the command line, as text for standard error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// It cannot be understood: the reader is pointed to `--help`.
    Unclear(String),
    /// It asks for something that PgBouncer does and we do not.
    Unsupported(String),
}

/// Reads the arguments that follow the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, Misuse> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.first().is_some_and(|word| word == "demo") {
        return Ok(Invocation::Demo(args.into_iter().skip(1).collect()));
    }
    let mut serve = Serve::default();
    let mut files = 0;
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| Misuse::Unclear(error.to_string()))? {
        match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Invocation::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Invocation::Version),
            Arg::Short('q') | Arg::Long("quiet") => serve.quiet = true,
            Arg::Short('v') | Arg::Long("verbose") => serve.verbose += 1,
            Arg::Short('d') | Arg::Long("daemon") => serve.daemon = true,
            Arg::Short('u') | Arg::Long("user") => serve.user = Some(user(&mut parser)?),
            Arg::Short('R') | Arg::Long("reboot") => {
                return Err(Misuse::Unsupported(REBOOT.into()));
            }
            Arg::Value(file) => {
                files += 1;
                serve.config = file.into_string().map_err(|file| {
                    Misuse::Unclear(format!("path is not valid UTF-8: {}", file.display()))
                })?;
            }
            Arg::Short(letter) => return unclear(format!("invalid option -- '{letter}'")),
            Arg::Long(name) => return unclear(format!("unrecognized option '--{name}'")),
        }
    }
    if files == 1 {
        Ok(Invocation::Serve(serve))
    } else {
        unclear("no configuration file specified".into())
    }
}

/// The text of `--help`.
pub(crate) fn help(program: &str) -> String {
    format!(
        "{program} is a connection pooler for PostgreSQL.

Usage:
  {program} [OPTION]... CONFIG_FILE
  {program} demo [--once]

Options:
  -d, --daemon         run in the background; needs a pidfile
  -u, --user=USER      become this user of the operating system after reading CONFIG_FILE
  -q, --quiet          run quietly: keep the log away from standard error
  -v, --verbose        log more; may be given several times
  -V, --version        show the version, then exit
  -h, --help           show this help, then exit

CONFIG_FILE is a pgbouncer.ini. The demo starts a throw-away PostgreSQL with {program} in front.
"
    )
}

/// The text of `--version`; its first line is what SHOW VERSION says.
pub(crate) fn version() -> String {
    format!("{}\nevents: epoll\nadns: getaddrinfo\ntls: no\n", first_line())
}

/// The first line of `--version`: the PgBouncer version whose behaviour is kept, and our own.
pub(crate) fn first_line() -> &'static str {
    concat!("PgBouncer 1.25.2 (pgweir ", env!("CARGO_PKG_VERSION"), ")")
}

fn unclear<T>(why: String) -> Result<T, Misuse> {
    Err(Misuse::Unclear(why))
}

fn user(parser: &mut lexopt::Parser) -> Result<String, Misuse> {
    let value = parser.value().map_err(|error| Misuse::Unclear(error.to_string()))?;
    let invalid =
        |user: OsString| Misuse::Unclear(format!("user is not valid UTF-8: {}", user.display()));
    value.into_string().map_err(invalid)
}

/// PgBouncer's takeover is a private affair between two of its own processes, and deprecated there.
const REBOOT: &str = "option -R (--reboot) is not supported: start the new process beside the old \
                      one with so_reuseport = 1 in both configurations, then end the old one with \
                      SIGTERM";

#[cfg(test)]
mod tests;
