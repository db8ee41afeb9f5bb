//! Going on in the background (`-d`).
//!
//! ```text
//! pgweir -d FILE ──► itself again, in a session of its own ──► boot ──► up ──► 0, 1, 2: /dev/null
//!    waits ◄─────────────────── standard output, a pipe ────────────────┘
//!    ends: with 0 when it is up, else with 1; its FATAL lines have been written by then
//! ```
//!
//! Nothing is forked: the new process begins at the beginning, in the same folder and with the same
//! arguments, name included. Knows nothing of what it takes to be up.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{Read, Result, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{getpid, getppid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_name;

/// Whether this process is the one in the background: its parent has said so.
pub(crate) fn is_detached() -> bool {
    let parent = getppid().map(|pid| pid.to_string());
    parent.is_some_and(|pid| std::env::var_os(PARENT) == Some(pid.into()))
}

/// Starts this program again in the background and waits until it is up.
///
/// # Errors
/// When it could not be started, or ended before it was up, as text for the FATAL line; that is
/// empty when it has written one itself.
pub(crate) fn start() -> std::result::Result<(), String> {
    let mut args = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    let parent = getpid().to_string();
    command.args(args).env(PARENT, parent).stdin(Stdio::null()).stdout(Stdio::piped());
    let failed = |error| format!("could not start in the background: {error}");
    let mut process = command.spawn().map_err(failed)?;
    let mut word = Vec::new();
    if let Some(mut pipe) = process.stdout.take() {
        pipe.read_to_end(&mut word).map_err(failed)?;
    }
    if word == UP {
        return Ok(());
    }
    let status = process.wait().map_err(failed)?;
    match status.code() {
        Some(_) => Err(String::new()),
        None => Err(format!("the process in the background was ended by a signal ({status})")),
    }
}

/// Leaves the terminal and takes back the name that the process was started by: the kernel has
/// named it after the path of its program.
pub(crate) fn leave_terminal(program: &OsStr) {
    // Fails only for the leader of a group, which a process just started is not.
    let _ = setsid();
    let name = Path::new(program).file_name().unwrap_or(program);
    if let Ok(name) = std::ffi::CString::new(name.as_encoded_bytes()) {
        // Just what `ps` and `pgrep` show.
        let _ = set_name(&name);
    }
}

/// Tells the parent that this process is up, and lets go of what it got from there.
///
/// # Errors
/// When there is no /dev/null.
pub(crate) fn let_go() -> Result<()> {
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // A parent that was interrupted does not listen any more.
    let _ = std::io::stdout().write_all(UP).and_then(|()| std::io::stdout().flush());
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(dup2_stderr(&nothing)?)
}

/// The environment variable that holds the process id of the parent.
const PARENT: &str = "PGWEIR_DETACHED_FROM";
/// What is said when the process is up.
const UP: &[u8] = b"up\n";
