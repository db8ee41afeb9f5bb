//! What is worth keeping between runs: PostgreSQL's programs, and a freshly made data folder.
//!
//! ```text
//! the first server of a version: initdb ──► data ──► copied to the cache
//! every other one:               the cache ──► copied to data
//! ```
//!
//! Copying a data folder takes a fifth of the time that initdb takes. The cache only ever helps:
//! if it cannot be read or written, each server runs initdb. A template appears under its name in
//! one step, so that processes which make the same one at the same time do no harm.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, io};

use crate::{Error, Programs, identity};

/// Returns $PGWEIR_CACHE, else the system's cache for root, else the user's own.
pub(crate) fn root() -> PathBuf {
    // Root's own folders are closed to the user that servers run as, so root keeps it elsewhere.
    if let Some(named) = env::var_os("PGWEIR_CACHE") {
        return PathBuf::from(named);
    }
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/cache/pgweir");
    }
    let home = || Path::new(&env::var_os("HOME").unwrap_or_default()).join(".cache");
    env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("pgweir")
}

/// Puts a fresh data folder in place: from the cache, else made by `initdb` and then cached.
pub(crate) fn place_data(
    programs: &Programs,
    data: &Path,
    initdb: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let template = template(programs);
    if copy_tree(&template, data, &give).is_ok() {
        return Ok(());
    }
    // Half a copy is in the way of initdb.
    let _ = fs::remove_dir_all(data);
    initdb()?;
    let _ = keep(data, &template);
    Ok(())
}

/// One template for each build of PostgreSQL: two builds of one version may differ in collations.
fn template(programs: &Programs) -> PathBuf {
    let build = programs.bin.to_string_lossy().replace('/', "-");
    root().join("template").join(format!("{}{build}", programs.release))
}

fn keep(data: &Path, template: &Path) -> io::Result<()> {
    let parent = template.parent().unwrap_or(template);
    fs::create_dir_all(parent)?;
    let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(parent)?;
    let copy = unfinished.path().join("data");
    copy_tree(data, &copy, &|_| Ok(()))?;
    fs::rename(copy, template)
}

fn give(path: &Path) -> io::Result<()> {
    identity::give(path).map_err(io::Error::other)
}

/// Copies a folder with all that is in it, files with their modes and folders private.
fn copy_tree(from: &Path, to: &Path, done: &impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let entries = fs::read_dir(from)?;
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target, done)?;
        } else {
            fs::copy(entry.path(), &target)?;
            done(&target)?;
        }
    }
    done(to)
}

#[cfg(test)]
mod tests;
