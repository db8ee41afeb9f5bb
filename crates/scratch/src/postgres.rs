//! One throw-away server: its folder, its settings, its process.
//!
//! ```text
//! start:  folder ──► leash ──► data ──► settings and rules ──► postgres ──► "ready"
//! drop:   SIGQUIT ──► waited for ──► folder removed ──► leash released
//! ```
//!
//! The server is our child, in a process group of its own, and writes its log to a file in its
//! folder. It listens on 127.0.0.1 and on a Unix socket in that folder. Nothing it stores survives
//! it, so it syncs nothing to disk.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{plain, run, script};
use crate::{
    Error, Folder, Identity, Leash, Options, Programs, cache, free_port, identity, options,
    unprivileged,
};

/// The ways in which PostgreSQL can be told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Waits until all clients have left.
    Smart,
    /// Rolls back and disconnects all clients.
    Fast,
    /// Stops at once, as if the power had failed.
    Immediate,
}

impl Stop {
    fn signal(self) -> Signal {
        match self {
            Self::Smart => Signal::TERM,
            Self::Fast => Signal::INT,
            Self::Immediate => Signal::QUIT,
        }
    }
}

/// A throw-away server; dropping it stops it and removes all its files.
#[derive(Debug)]
pub struct Postgres {
    /// The TCP port on 127.0.0.1, which is also the number in the Unix socket's name.
    pub port: u16,
    /// The folder of the Unix socket.
    pub socket_dir: PathBuf,
    /// The programs that the server runs from.
    pub programs: Programs,
    options: Options,
    process: Option<Child>,
    rules: Vec<String>,
    // Fields are dropped in this order: the folder is gone before the leash is released.
    folder: Folder,
    _leash: Leash,
}

/// The longest that a server may take to start, stop or reload.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a start ended.
enum Outcome {
    Ready,
    PortTaken,
}

impl Postgres {
    /// Starts a server and returns when it accepts connections.
    ///
    /// # Errors
    /// If the programs cannot be run, or the server refuses to start, as for an unknown setting.
    pub fn start(programs: &Programs, options: &Options) -> Result<Self, Error> {
        let server = programs.program("postgres");
        if !identity::can_run(&server) {
            let user = Identity::unprivileged().map_or_else(String::new, |identity| identity.name);
            return Err(Error::Unreachable { program: server, user });
        }
        let folder = Folder::new("pg")?;
        let data = folder.path().join("data");
        let leash = Leash::serve(&programs.program("pg_ctl"), &data, folder.path())?;
        cache::place_data(programs, &data, || initdb(programs, &data))?;
        let mut postgres = Self {
            port: 0,
            socket_dir: folder.path().to_owned(),
            programs: programs.clone(),
            options: options.clone(),
            process: None,
            rules: options.rules.clone(),
            folder,
            _leash: leash,
        };
        postgres.set_up()?;
        Ok(postgres)
    }

    /// Starts a stopped server again, on the same port.
    ///
    /// # Errors
    /// If the server does not start, as when another process has taken the port meanwhile.
    pub fn launch(&mut self) -> Result<(), Error> {
        match self.spawn()? {
            Outcome::Ready => Ok(()),
            Outcome::PortTaken => Err(self.failed()),
        }
    }

    /// Stops the server and returns when its process has ended; its files stay.
    ///
    /// # Errors
    /// If it does not stop in time, as for [`Stop::Smart`] while a client stays.
    pub fn stop(&mut self, mode: Stop) -> Result<(), Error> {
        self.signal(mode.signal())?;
        let deadline = Instant::now() + PATIENCE;
        while let Some(process) = &mut self.process {
            if process.try_wait().map_err(Error::io("waiting for postgres"))?.is_some() {
                self.process = None;
            } else if Instant::now() >= deadline {
                return Err(self.timed_out("the server to stop"));
            } else {
                pause();
            }
        }
        Ok(())
    }

    /// Stops the server and starts it again, on the same port.
    ///
    /// # Errors
    /// As for [`Postgres::stop`] and [`Postgres::launch`].
    pub fn restart(&mut self, mode: Stop) -> Result<(), Error> {
        self.stop(mode)?;
        self.launch()
    }

    /// Makes the server read its files again; connections made from then on see the new state.
    ///
    /// # Errors
    /// If the server does not run.
    pub fn reload(&self) -> Result<(), Error> {
        let before = self.log().len();
        self.signal(Signal::HUP)?;
        // The server logs this line, reads its files, and only then accepts a connection again.
        let is_done =
            || self.log().get(before..).is_some_and(|new| new.contains("received SIGHUP"));
        let deadline = Instant::now() + PATIENCE;
        while !is_done() {
            if Instant::now() >= deadline {
                return Err(self.timed_out("the server to reload"));
            }
            pause();
        }
        Ok(())
    }

    /// Adds a line to pg_hba.conf, in front of the general ones so that it wins, and reloads.
    ///
    /// Of several added lines the one added first wins, and those of [`Options`] before them.
    ///
    /// # Errors
    /// If the file cannot be written or the server does not run.
    pub fn add_hba(&mut self, line: &str) -> Result<(), Error> {
        self.rules.push(line.to_owned());
        self.write_hba(self.options.auth)?;
        self.reload()
    }

    /// Writes a setting into postgresql.conf, where it wins over earlier ones, and reloads.
    ///
    /// # Errors
    /// If the file cannot be written or the server does not run.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = self.data_dir().join("postgresql.conf");
        let doing = format!("writing {}", path.display());
        let written = OpenOptions::new().append(true).open(&path);
        written
            .and_then(|mut file| file.write_all(options::setting(name, value).as_bytes()))
            .map_err(Error::io(doing))?;
        self.reload()
    }

    /// Runs SQL as the superuser in the database `postgres` and returns what it gave.
    ///
    /// # Errors
    /// If the server does not run, or with the first error in the SQL.
    pub fn psql(&self, sql: &str) -> Result<String, Error> {
        self.psql_in("postgres", sql)
    }

    /// Runs SQL as the superuser in a database and returns what it gave.
    ///
    /// Each statement is a transaction of its own. Rows are lines, and fields are separated by `|`.
    ///
    /// # Errors
    /// If the server does not run, or with the first error in the SQL.
    pub fn psql_in(&self, database: &str, sql: &str) -> Result<String, Error> {
        let mut psql = self.client("psql");
        psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"]).env("PGDATABASE", database);
        psql.stdin(script(sql).map_err(Error::io("writing a script for psql"))?);
        run(&mut psql).map(|output| output.trim_end().to_owned())
    }

    /// Prepares one of PostgreSQL's client programs to reach this server by its Unix socket, as
    /// superuser.
    #[must_use]
    pub fn client(&self, name: &str) -> Command {
        let mut command = plain(&self.programs.program(name));
        command.env("PGHOST", &self.socket_dir).env("PGPORT", self.port.to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres");
        command.env("PGPASSWORD", &self.options.password);
        command
    }

    /// Returns how to reach this server by TCP as superuser, as a libpq connection string.
    #[must_use]
    pub fn conninfo(&self) -> String {
        let (port, password) = (self.port, options::escape(&self.options.password));
        format!("host=127.0.0.1 port={port} dbname=postgres user=postgres password='{password}'")
    }

    /// Returns the process id of the server, or nothing when it is stopped.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Returns the data folder.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns all that the server has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn set_up(&mut self) -> Result<(), Error> {
        let is_open = self.options.auth == "trust";
        self.write_hba("trust")?;
        self.launch_on_free_port()?;
        if !is_open {
            let password = self.options.password.replace('\'', "''");
            self.psql(&format!("ALTER ROLE postgres PASSWORD '{password}'"))?;
            self.write_hba(self.options.auth)?;
            self.reload()?;
        }
        Ok(())
    }

    fn launch_on_free_port(&mut self) -> Result<(), Error> {
        for _ in 0..8 {
            self.port = free_port();
            self.write_settings()?;
            match self.spawn()? {
                Outcome::Ready => return Ok(()),
                Outcome::PortTaken => {}
            }
        }
        Err(self.failed())
    }

    fn spawn(&mut self) -> Result<Outcome, Error> {
        if self.process.is_some() {
            return Ok(Outcome::Ready);
        }
        let log = OpenOptions::new().create(true).append(true).open(self.log_path());
        let log = log.map_err(Error::io("opening the server's log"))?;
        let start = fs::metadata(self.log_path()).map_or(0, |log| log.len());

        let mut command = plain(&self.programs.program("postgres"));
        command.arg("-D").arg(self.data_dir()).env("LC_ALL", "C").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        unprivileged(&mut command);
        let mut process = command.spawn().map_err(Error::io("starting postgres"))?;

        let deadline = Instant::now() + PATIENCE;
        loop {
            if process.try_wait().map_err(Error::io("waiting for postgres"))?.is_some() {
                break;
            }
            if self.is_ready(process.id()) {
                self.process = Some(process);
                return Ok(Outcome::Ready);
            }
            if Instant::now() >= deadline {
                let _ = process.kill();
                let _ = process.wait();
                return Err(self.timed_out("the server to start"));
            }
            pause();
        }
        let log = self.log();
        let said = usize::try_from(start).ok().and_then(|start| log.get(start..));
        let is_taken = said.is_some_and(|said| said.contains("Address already in use"));
        if is_taken { Ok(Outcome::PortTaken) } else { Err(self.failed()) }
    }

    /// postmaster.pid holds the process id in its first line and the state in its eighth.
    fn is_ready(&self, pid: u32) -> bool {
        let file = fs::read_to_string(self.data_dir().join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = file.lines().map(str::trim).collect();
        lines.first() == Some(&pid.to_string().as_str()) && lines.get(7) == Some(&"ready")
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else {
            let output = "the server does not run".to_owned();
            return Err(Error::Failed { program: "postgres".to_owned(), output });
        };
        kill_process(pid, signal).map_err(|errno| Error::io("signalling postgres")(errno.into()))
    }

    fn write_settings(&self) -> Result<(), Error> {
        let text = self.options.settings_file(self.port, &self.socket_dir);
        write_owned(&self.data_dir().join("postgresql.conf"), &text)
    }

    fn write_hba(&self, method: &str) -> Result<(), Error> {
        let text = options::hba_file(&self.rules, method);
        write_owned(&self.data_dir().join("pg_hba.conf"), &text)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn failed(&self) -> Error {
        Error::Failed { program: "postgres".to_owned(), output: self.log_end() }
    }

    fn timed_out(&self, awaited: &'static str) -> Error {
        Error::TimedOut { awaited, log: self.log_end() }
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        self.process = None;
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::QUIT);
        }
        // PostgreSQL itself kills what has not ended five seconds after an immediate stop.
        let _ = process.wait();
    }
}

fn initdb(programs: &Programs, data: &Path) -> Result<(), Error> {
    let mut initdb = plain(&programs.program("initdb"));
    initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N", "-D"]);
    initdb.arg(data).env("LC_ALL", "C");
    unprivileged(&mut initdb);
    run(&mut initdb).map(drop)
}

fn write_owned(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))?;
    identity::give(path)
}

fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[cfg(test)]
mod tests;
