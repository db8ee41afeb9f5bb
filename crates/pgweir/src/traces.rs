//! What the process leaves in the file system while it runs: its pid file and its Unix socket.
//!
//! Both say that an instance is running, so a start refuses when they belong to a living process,
//! takes the place of those that a dead one has left, and whoever ends the process removes its own.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, getpid, test_kill_process};

/// The files to remove at the end.
#[derive(Debug, Default)]
pub(crate) struct Traces(Mutex<Vec<Trace>>);

#[derive(Debug)]
struct Trace {
    path: String,
    /// Tells the file that we made from one that has come in its place.
    identity: Option<(u64, u64)>,
}

impl Traces {
    /// Remembers a file that was just made.
    pub(crate) fn add(&self, path: &str) {
        let trace = Trace { path: path.to_owned(), identity: identity(path) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
    }

    /// Removes those that are still ours.
    pub(crate) fn remove(&self) {
        for trace in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if trace.identity.is_some() && identity(&trace.path) == trace.identity {
                // Somebody else may have tidied up.
                let _ = fs::remove_file(trace.path);
            }
        }
    }
}

/// The device and the number of a file.
fn identity(path: &str) -> Option<(u64, u64)> {
    let file = fs::symlink_metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Makes sure that a pid file names no other living process, and removes one that names a dead one,
/// or us: the process before us had the same id, as the first in a container has each time.
///
/// # Errors
/// When another instance may be running, or the file cannot be read or removed.
pub(crate) fn check_pid_file(path: &str) -> Result<(), String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("could not read pidfile '{path}': {error}")),
    };
    let pid = text.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    // Any answer but "no such process" means that there is one, perhaps of another user.
    let is_dead = pid.is_some_and(|pid| {
        pid == getpid() || test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
    });
    if !is_dead {
        return Err(format!("pidfile '{path}' exists, another instance running?"));
    }
    log::info!("stale pidfile, removing");
    fs::remove_file(path)
        .map_err(|error| format!("could not remove stale pidfile '{path}': {error}"))
}

/// Writes the pid file, which must not exist.
///
/// # Errors
/// When it exists or cannot be written.
pub(crate) fn write_pid_file(path: &str) -> Result<(), String> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
        writeln!(file, "{}", std::process::id())
    };
    write().map_err(|error| format!("could not write pidfile '{path}': {error}"))
}

#[cfg(test)]
mod tests;
