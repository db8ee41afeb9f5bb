//! A temporary folder in which the user that servers run as can work.
//!
//! It is closed to all other users, removed when dropped, and its path is short: a Unix socket
//! in it must fit into the 107 bytes of `sockaddr_un`, with room for the socket's own name.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, identity};

/// A temporary folder that belongs to the user that servers run as, removed when dropped.
#[derive(Debug)]
pub struct Folder {
    dir: TempDir,
}

impl Folder {
    /// Makes an empty folder whose name starts with `pgweir-` and the given word.
    ///
    /// # Errors
    /// If the folder cannot be made or given to the user that servers run as.
    pub fn new(word: &str) -> Result<Self, Error> {
        let parent = parent();
        let dir = tempfile::Builder::new()
            .prefix(&format!("pgweir-{word}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)
            .map_err(Error::io(format!("making a folder in {}", parent.display())))?;
        identity::give(dir.path())?;
        Ok(Self { dir })
    }

    /// Returns where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Chooses the system's folder for temporary files, unless it is too long or closed to servers.
fn parent() -> PathBuf {
    let system = std::env::temp_dir();
    let is_short = system.as_os_str().len() <= 40;
    if is_short && identity::can_write(&system) { system } else { PathBuf::from("/tmp") }
}

#[cfg(test)]
mod tests;
