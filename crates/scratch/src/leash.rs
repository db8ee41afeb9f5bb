//! Nothing outlives the process that started it, even if that process is killed.
//!
//! ```text
//! we ──► "\n", then end of file     the leash ──► does nothing: all was ended in order
//! we die ──► end of file alone      the leash ──► ends the server, removes the folder
//! ```
//!
//! A leash is a small shell that waits on a pipe of which only we hold the other end. The kernel
//! closes that end when we die, by whatever cause, and the shell cleans up. It stands in a process
//! group of its own, so that the terminal's Ctrl-C reaches us alone. This needs no signal handler,
//! and it works where a process cannot ask the kernel for a signal at its parent's death.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::{Error, Folder, unprivileged};

/// A promise that something is cleaned up if this process dies; dropping it takes the promise back.
#[derive(Debug)]
pub struct Leash {
    shell: Child,
}

impl Leash {
    /// Kills a child process if this process dies before the leash is dropped.
    ///
    /// Drop it only after the child was waited for.
    ///
    /// # Errors
    /// If no shell can be started.
    pub fn hold(child: &Child) -> Result<Self, Error> {
        // Not run as the unprivileged user: the child may belong to the caller itself.
        Self::tie("kill -KILL \"$1\"", |shell| {
            shell.arg(child.id().to_string());
        })
    }

    /// Stops the server in a folder and removes the folder if this process dies.
    pub(crate) fn serve(pg_ctl: &Path, data: &Path, folder: &Path) -> Result<Self, Error> {
        let script = "test ! -f \"$2/postmaster.pid\" || \"$1\" stop -s -D \"$2\" -m immediate
                      rm -rf \"$3\"";
        Self::tie(script, |shell| {
            shell.arg(pg_ctl).arg(data).arg(folder);
            unprivileged(shell);
        })
    }

    /// Keeps a folder until this process ends, then removes it.
    pub(crate) fn outlive(folder: Folder) -> Result<(), Error> {
        let leash = Self::tie("rm -rf \"$1\"", |shell| {
            shell.arg(folder.path());
            unprivileged(shell);
        })?;
        // Neither is dropped: the end of this process is what they wait for.
        std::mem::forget(leash);
        std::mem::forget(folder);
        Ok(())
    }

    fn tie(script: &str, fill_in: impl FnOnce(&mut Command)) -> Result<Self, Error> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("trap '' HUP INT TERM; read -r _ && exit\n{script}"));
        shell.arg("leash").process_group(0).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        fill_in(&mut shell);
        let shell = shell.spawn().map_err(Error::io("starting /bin/sh"))?;
        Ok(Self { shell })
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            // A failure means that the shell is gone already, and then there is nothing to release.
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests;
