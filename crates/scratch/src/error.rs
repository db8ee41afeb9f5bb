//! What can go wrong with a throw-away server, in words for the person in front of the terminal.
//!
//! Every text says what happened and, where something can be done about it, what to do. Nobody is
//! expected to recover from these errors in code; a test fails with the text, the demo prints it.

use std::path::PathBuf;
use std::{fmt, io};

/// Why a throw-away server could not be found, started or asked.
#[derive(Debug)]
pub enum Error {
    /// No PostgreSQL is installed where this crate looks.
    NoPrograms,
    /// PostgreSQL is installed, but not in this major version.
    NoMajor(u32),
    /// A folder was named as PostgreSQL's, but its programs are not in it.
    NotPrograms(PathBuf),
    /// The programs exist, but the unprivileged user cannot run them.
    Unreachable {
        /// The program that cannot be run.
        program: PathBuf,
        /// The user that would have to run it.
        user: String,
    },
    /// The operating system refused something.
    Io {
        /// What was being done, as "reading /some/file".
        doing: String,
        /// The refusal.
        source: io::Error,
    },
    /// A program of PostgreSQL's ended with an error.
    Failed {
        /// The program, as "initdb".
        program: String,
        /// What it said.
        output: String,
    },
    /// A server did not do what it was asked within the time it had.
    TimedOut {
        /// What was awaited, as "the server to start".
        awaited: &'static str,
        /// The end of the server's log.
        log: String,
    },
}

impl Error {
    /// Wraps a refusal of the operating system together with what was being done.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrograms => f.write_str(
                "PostgreSQL's programs were not found; install them \
                 (Debian: `tools/setup demo` or `apt-get install postgresql`), \
                 or set PGWEIR_PG_BIN to the folder that holds initdb and postgres",
            ),
            Self::NoMajor(major) => write!(
                f,
                "PostgreSQL {major} was not found; `tools/setup test` installs the versions \
                 that the tests need, or set PGWEIR_PG_BIN to the folder that holds initdb \
                 and postgres of that version",
            ),
            Self::NotPrograms(bin) => write!(
                f,
                "{} does not hold PostgreSQL's programs (initdb, postgres, pg_ctl and psql); \
                 correct PGWEIR_PG_BIN or unset it",
                bin.display(),
            ),
            Self::Unreachable { program, user } => write!(
                f,
                "{} cannot be run by the user \"{user}\", and PostgreSQL does not run as root; \
                 move it to a folder that every user can read, or do not run this as root",
                program.display(),
            ),
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::Failed { program, output } => write!(f, "{program} failed: {}", output.trim()),
            Self::TimedOut { awaited, log } => {
                write!(f, "waited too long for {awaited}; the server's log ends with:\n{log}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
