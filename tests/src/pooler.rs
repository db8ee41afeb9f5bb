//! One pooler of a test: its folder, its process, its end.
//!
//! ```text
//! start:  files ──► a free port ──► pgweir, as the user that servers run as ──► "process up"
//! drop:   SIGTERM ──► its clients have left, so it ends with 0 ──► no panic in its log
//! ```
//!
//! Clients of a test are declared behind the pooler and therefore dropped before it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use scratch::{Folder, Leash, free_port, unprivileged};

use crate::client::{Client, Login, Place};
use crate::ini::{CONSOLE, Ini, Refused};
use crate::program::pgweir;
use crate::wait::eventually;

/// A running pooler; dropping it ends it and removes all its files.
pub struct Pooler {
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
    pid: u32,
    process: Mutex<Child>,
    is_over: bool,
    _leash: Leash,
    folder: Folder,
}

/// The longest that a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(20);

impl Pooler {
    pub(crate) fn start(ini: &Ini) -> Self {
        let folder = Folder::new("weir").unwrap_or_else(|error| panic!("{error}"));
        for _ in 0..8 {
            let port = ini.listen_port().unwrap_or_else(free_port);
            ini.write(folder.path(), port);
            let mut process = launch(ini, folder.path());
            let leash = Leash::hold(&process).unwrap_or_else(|error| panic!("{error}"));
            if wait_for_start(folder.path(), &mut process) {
                let (pid, process) = (process.id(), Mutex::new(process));
                return Self { port, pid, process, is_over: false, _leash: leash, folder };
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("the pooler does not start:\n{}", log(folder.path()));
    }

    /// Logs in as `postgres` to the database `postgres`.
    ///
    /// # Panics
    /// If it is refused.
    pub fn client(&self) -> Client {
        self.client_in("postgres")
    }

    /// Logs in as `postgres` to a database.
    ///
    /// # Panics
    /// If it is refused.
    pub fn client_in(&self, database: &str) -> Client {
        let login = Login::new("postgres", database);
        Client::login(&self.tcp(), &login).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    /// Enters its console with all rights.
    ///
    /// # Panics
    /// If it is refused.
    pub fn console(&self) -> Client {
        let login = Login::new(CONSOLE, "pgbouncer").password(CONSOLE);
        Client::login(&self.tcp(), &login).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    /// Where it listens by TCP.
    pub fn tcp(&self) -> Place {
        Place::Tcp(self.port)
    }

    /// Where it listens by a Unix socket.
    pub fn unix(&self) -> Place {
        Place::Unix(self.folder.path().join(format!(".s.PGSQL.{}", self.port)))
    }

    /// Makes a client program of PostgreSQL, as one of `Postgres::client`, reach this pooler by
    /// TCP.
    #[must_use]
    pub fn reach(&self, mut command: Command) -> Command {
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        command
    }

    /// The same by its Unix socket.
    #[must_use]
    pub fn reach_unix(&self, mut command: Command) -> Command {
        command.env("PGHOST", self.folder.path()).env("PGPORT", self.port.to_string());
        command
    }

    /// Its folder: of its configuration, its log and its Unix socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        log(self.folder.path())
    }

    /// Waits until it has logged a text.
    ///
    /// # Panics
    /// If it does not.
    pub fn logs(&self, text: &str) {
        eventually(text, || self.log().contains(text));
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its memory, in bytes.
    ///
    /// # Panics
    /// If it has ended.
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kilobytes.and_then(|number| number.parse::<u64>().ok()).expect("a number of kB") * 1024
    }

    /// How many descriptors it has open.
    ///
    /// # Panics
    /// If it has ended.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("a running process").count()
    }

    /// Writes another configuration, without telling the pooler.
    pub fn configure(&self, ini: &Ini) {
        ini.write(self.folder.path(), self.port);
    }

    /// Writes another configuration and makes the pooler read it.
    pub fn reconfigure(&self, ini: &Ini) {
        self.configure(ini);
        self.reload();
    }

    /// Makes the pooler read its configuration again.
    ///
    /// # Panics
    /// If it does not hear the signal.
    pub fn reload(&self) {
        let count = || self.log().matches("got SIGHUP").count();
        let before = count();
        self.signal(Signal::HUP);
        eventually("got SIGHUP", || count() > before);
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If the process has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("a running process");
    }

    /// Tells whether it still runs.
    ///
    /// # Panics
    /// If it cannot be waited for.
    pub fn is_running(&self) -> bool {
        self.process().try_wait().expect("a child").is_none()
    }

    fn process(&self) -> MutexGuard<'_, Child> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end, which a test has asked for.
    ///
    /// # Panics
    /// If it does not end.
    pub fn end(mut self) -> (ExitStatus, String) {
        self.is_over = true;
        let status = wait_for_end(&mut self.process());
        let status = status.unwrap_or_else(|| panic!("it does not end:\n{}", self.log()));
        (status, self.log())
    }

    /// Ends it, and returns what is wrong with the way it ended.
    fn finish(&mut self) -> Option<String> {
        if !self.is_running() {
            return Some("the pooler has died".to_owned());
        }
        let unrest = self.unrest();
        self.signal(Signal::TERM);
        let status = wait_for_end(&mut self.process());
        match status {
            _ if unrest.is_some() => unrest,
            None => Some("the pooler does not end though its clients have left".to_owned()),
            Some(status) if !status.success() => Some(format!("the pooler ended with {status}")),
            Some(_) if self.log().contains("panicked") => Some("the pooler panicked".to_owned()),
            Some(_) => None,
        }
    }

    /// Waits until no pool has clients or busy servers any more; returns the pools if that does not
    /// come.
    fn unrest(&self) -> Option<String> {
        let mut console = self.console();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let pools = console.run("SHOW POOLS").rows();
            // Database, user, twelve counts of which the idle and the used servers may stay.
            let counts = |row: &[String]| [&row[2..9], &row[11..13]].concat();
            let is_busy = |row: &&Vec<String>| {
                row[0] != "pgbouncer" && counts(row).iter().any(|count| count != "0")
            };
            let busy: Vec<_> = pools.iter().filter(is_busy).collect();
            if busy.is_empty() {
                return None;
            }
            if Instant::now() > deadline {
                return Some(format!("pools do not come to rest: {busy:?}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let fault = if self.is_over || thread::panicking() { None } else { self.finish() };
        let mut process = self.process();
        let _ = process.kill();
        let _ = process.wait();
        drop(process);
        if thread::panicking() && !self.is_over {
            eprintln!("the pooler's log ends with:\n{}", last_lines(&self.log()));
        }
        if let Some(fault) = fault {
            panic!("{fault}; its log ends with:\n{}", last_lines(&self.log()));
        }
    }
}

pub(crate) fn refuse(ini: &Ini) -> Refused {
    let folder = Folder::new("weir").unwrap_or_else(|error| panic!("{error}"));
    ini.write(folder.path(), free_port());
    let mut process = launch(ini, folder.path());
    let status = wait_for_end(&mut process);
    let _ = process.kill();
    let _ = process.wait();
    let log = log(folder.path());
    let status = status.unwrap_or_else(|| panic!("it did not refuse:\n{log}"));
    Refused { code: status.code(), log }
}

fn launch(ini: &Ini, folder: &Path) -> Child {
    let mut command = Command::new(pgweir());
    command.arg(folder.join("pgweir.ini")).envs(ini.variables());
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    command.stderr(File::create(log_path(folder)).expect("a file in a folder of ours"));
    unprivileged(&mut command);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits until it listens; says no when another process has taken the port.
fn wait_for_start(folder: &Path, process: &mut Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let log = log(folder);
        if log.contains("could not listen on") {
            return false;
        }
        if log.contains("process up") {
            return true;
        }
        let has_ended = process.try_wait().expect("a child").is_some();
        assert!(!has_ended && Instant::now() < deadline, "the pooler does not start:\n{log}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn wait_for_end(process: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let status = process.try_wait().expect("a child");
        if status.is_some() || Instant::now() > deadline {
            return status;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn log(folder: &Path) -> String {
    let bytes = fs::read(log_path(folder)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("log")
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
