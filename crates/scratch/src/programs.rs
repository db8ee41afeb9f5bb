//! Where PostgreSQL's programs are.
//!
//! ```text
//! $PGWEIR_PG_BIN ──► PATH, the folders of packages: newest first ──► the cache of tools/setup
//! ```
//!
//! A folder counts only if it holds the server as well as psql: Debian's /usr/bin, for one, holds
//! psql alone. The version is what `postgres --version` says, never what the folder is called.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{Error, cache};

/// The programs of one installed PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The folder that holds initdb, postgres, pg_ctl and psql.
    pub bin: PathBuf,
    /// The major version, as 15.
    pub version: u32,
    /// The full version, as "15.18".
    pub release: String,
}

impl Programs {
    /// Finds the newest PostgreSQL installed on the system, else the newest in the cache.
    ///
    /// # Errors
    /// If there is none, or if PGWEIR_PG_BIN names a folder without PostgreSQL.
    pub fn find() -> Result<Self, Error> {
        if let Some(bin) = env::var_os("PGWEIR_PG_BIN").map(PathBuf::from) {
            return Self::look(&bin).ok_or(Error::NotPrograms(bin));
        }
        newest(&installed()).or_else(|| newest(&cached())).ok_or(Error::NoPrograms)
    }

    /// Finds the PostgreSQL of a major version, on the system or in the cache.
    ///
    /// # Errors
    /// If there is none of that version.
    pub fn find_major(major: u32) -> Result<Self, Error> {
        let all = Self::all();
        all.into_iter().find(|programs| programs.version == major).ok_or(Error::NoMajor(major))
    }

    /// Finds one PostgreSQL of each major version, oldest first.
    ///
    /// Of several with one major version PGWEIR_PG_BIN's wins, then the system's.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let named = env::var_os("PGWEIR_PG_BIN").map(PathBuf::from);
        let bins = named.into_iter().chain(installed()).chain(cached());
        let mut all = Vec::<Self>::new();
        for programs in bins.filter_map(|bin| Self::look(&bin)) {
            if !all.iter().any(|known| known.version == programs.version) {
                all.push(programs);
            }
        }
        all.sort_by_key(|programs| programs.version);
        all
    }

    /// Returns the path of one program, as "pgbench".
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Looks whether a folder holds PostgreSQL's programs, and which version.
    fn look(bin: &Path) -> Option<Self> {
        let bin = bin.canonicalize().ok()?;
        let needed = ["postgres", "initdb", "pg_ctl", "psql"];
        if !needed.iter().all(|name| bin.join(name).is_file()) {
            return None;
        }
        let said = Command::new(bin.join("postgres")).arg("--version").output().ok()?;
        let (version, release) = parse_version(&String::from_utf8_lossy(&said.stdout))?;
        Some(Self { bin, version, release })
    }
}

fn newest(bins: &[PathBuf]) -> Option<Programs> {
    // The first of equals wins, and `max_by_key` would take the last.
    bins.iter().rev().filter_map(|bin| Programs::look(bin)).max_by_key(|found| found.version)
}

/// Reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"; also "19devel" and "18beta1".
fn parse_version(said: &str) -> Option<(u32, String)> {
    let release = said.strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()?;
    let major = release.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some((major, release.to_owned()))
}

/// The folders of PATH and those where packages put PostgreSQL.
fn installed() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut bins: Vec<PathBuf> = env::split_paths(&path).collect();
    bins.extend(bins_in(Path::new("/usr/lib/postgresql"))); // Debian, Ubuntu
    bins.extend(bins_in(Path::new("/usr")).into_iter().filter(|bin| is_pgdg_rpm(bin)));
    bins.push(PathBuf::from("/usr/local/pgsql/bin")); // built from source
    bins.extend(bins_in(Path::new("/opt/homebrew/opt"))); // a Mac
    bins
}

/// Red Hat packages of the PostgreSQL project: /usr/pgsql-17/bin.
fn is_pgdg_rpm(bin: &Path) -> bool {
    bin.to_string_lossy().starts_with("/usr/pgsql-")
}

/// What tools/setup has unpacked: for this checkout first, which may differ from the newest.
fn cached() -> Vec<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache");
    let mut bins = bins_in(&checkout.join("postgresql"));
    bins.extend(bins_in(&cache::root().join("postgresql")));
    bins
}

/// The `*/bin` of a folder, in the order of their names.
fn bins_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut bins: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
    bins.sort();
    bins
}

#[cfg(test)]
mod tests;
