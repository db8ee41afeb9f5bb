//! A PgBouncer beside the pooler, for what both are meant to say in the same words.
//!
//! ```text
//! Ini ──► our own settings left out ──► pgbouncer, as the user that servers run as ──► a port
//! ```
//!
//! It is the one that `tools/setup test` installs, which is older than the one that we follow:
//! whoever compares says what has changed since.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use scratch::{Folder, Leash, free_port, unprivileged};

use crate::client::Place;
use crate::ini::Ini;
use crate::wait::eventually;

/// A running PgBouncer; dropping it ends it.
pub struct Bouncer {
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
    process: Child,
    _leash: Leash,
    folder: Folder,
}

impl Bouncer {
    /// Starts a PgBouncer with the same configuration as a pooler of ours.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    pub fn start(ini: &Ini) -> Self {
        let folder = Folder::new("bouncer").unwrap_or_else(|error| panic!("{error}"));
        let port = free_port();
        ini.write(folder.path(), port);
        let path = folder.path().join("pgweir.ini");
        let text = fs::read_to_string(&path).expect("a file of ours");
        let known = |line: &&str| !line.starts_with("worker_threads");
        let text: Vec<&str> = text.lines().filter(known).collect();
        fs::write(&path, text.join("\n") + "\n").expect("a file of ours");
        let mut command = Command::new(program());
        command.arg("-q").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        command.stderr(File::create(folder.path().join("log")).expect("a file of ours"));
        unprivileged(&mut command);
        let process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let leash = Leash::hold(&process).unwrap_or_else(|error| panic!("{error}"));
        eventually("PgBouncer listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Self { port, process, _leash: leash, folder }
    }

    /// Where it listens by TCP.
    pub fn tcp(&self) -> Place {
        Place::Tcp(self.port)
    }

    /// Where it listens by a Unix socket.
    pub fn unix(&self) -> Place {
        Place::Unix(self.folder.path().join(format!(".s.PGSQL.{}", self.port)))
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.path().join("log"));
            eprintln!("PgBouncer's log:\n{}", log.unwrap_or_default());
        }
    }
}

fn program() -> &'static Path {
    ["/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "/usr/bin/pgbouncer"]
        .map(Path::new)
        .into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("there is no pgbouncer; run `tools/setup test`"))
}
