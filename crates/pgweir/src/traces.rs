//! What the process leaves in the file system while it runs: its pid file and its Unix socket.
//!
//! Both say that an instance is running, so a start refuses when they belong to a living process,
//! takes the place of those that a dead one has left, and whoever ends the process removes its own.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, test_kill_process};

/// The files to remove at the end.
#[derive(Debug, Default)]
pub(crate) struct Traces(Mutex<Vec<String>>);

impl Traces {
    /// Remembers a file.
    pub(crate) fn add(&self, path: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    /// Removes all of them.
    pub(crate) fn remove(&self) {
        for path in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Somebody else may have tidied up.
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes sure that a pid file names no living process, and removes one that names a dead one.
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
    let is_dead = pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
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
