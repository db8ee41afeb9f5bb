//! pgweir as the demo's child: this very program, with a configuration of a few lines.
//!
//! ```text
//! start:  files ──► pgweir FILE ──► "listening on …" twice ──► ready
//! drop:   SIGQUIT ──► waited for
//! ```
//!
//! Its files are in PostgreSQL's folder and vanish with it: so it must be dropped first. If the
//! demo was started by root, pgweir changes to PostgreSQL's user itself (the setting `user`).

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use scratch::{Identity, Leash, Postgres, free_port};

use super::Unfinished;
use super::interrupt::Interrupt;

/// A running pgweir; dropping it ends it.
pub(crate) struct Pooler {
    /// The TCP port on 127.0.0.1, which is also the number in the Unix socket's name.
    pub(crate) port: u16,
    process: Child,
    // Released after the process was waited for.
    _leash: Leash,
}

/// What the demo decides about pgweir; all else is as delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The name of the only database and of the only user.
    pub(crate) name: &'static str,
    /// How many connections to PostgreSQL there may be.
    pub(crate) servers: usize,
    /// How many clients there may be.
    pub(crate) clients: usize,
}

/// What the log says of the listeners.
#[derive(Debug, PartialEq, Eq)]
enum Listening {
    Awaited,
    Begun,
    /// Another process was faster.
    PortTaken,
}

impl Pooler {
    /// Starts pgweir in front of a server and returns when it accepts clients.
    ///
    /// # Errors
    /// When it does not start, with what it says; when the demo is asked to end.
    pub(crate) fn start(
        postgres: &Postgres,
        settings: Settings,
        interrupt: &Interrupt,
    ) -> Result<Self, Unfinished> {
        for _ in 0..PORTS_TRIED {
            let files = Files::write(postgres, settings, free_port())?;
            let mut pooler = files.launch()?;
            if pooler.wait(&files, interrupt)? == Listening::Begun {
                return Ok(pooler);
            }
        }
        Err(Unfinished::Failed("pgweir finds no free port".into()))
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Tells whether the process has ended by itself.
    ///
    /// # Errors
    /// When the system does not say.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Unfinished> {
        let ended = self.process.try_wait().map_err(Unfinished::io("waiting for pgweir"))?;
        Ok(ended.is_some())
    }

    fn wait(&mut self, files: &Files, interrupt: &Interrupt) -> Result<Listening, Unfinished> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let has_ended = self.has_ended()?;
            let log = fs::read_to_string(&files.log).unwrap_or_default();
            match Listening::read(&log, self.port) {
                Listening::Awaited if has_ended || Instant::now() >= deadline => {
                    return Err(Unfinished::Failed(format!("pgweir does not start:\n{log}")));
                }
                Listening::Awaited => interrupt.sleep(GLANCE)?,
                found => return Ok(found),
            }
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        // An ended process that was waited for is not signalled: its number may be another's.
        if let (Ok(false), Some(pid)) = (self.has_ended(), pid) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        let deadline = Instant::now() + PATIENCE;
        while self.has_ended().is_ok_and(|has_ended| !has_ended) {
            if Instant::now() >= deadline {
                let _ = self.process.kill();
                let _ = self.process.wait();
            }
            std::thread::sleep(GLANCE);
        }
    }
}

impl Listening {
    fn read(log: &str, port: u16) -> Self {
        let tcp = format!("listening on 127.0.0.1:{port}\n");
        if log.contains("could not listen on") {
            Self::PortTaken
        } else if log.contains(&tcp) && log.contains("listening on unix:") {
            Self::Begun
        } else {
            Self::Awaited
        }
    }
}

/// The files of one start.
struct Files {
    port: u16,
    ini: PathBuf,
    log: PathBuf,
}

impl Files {
    fn write(postgres: &Postgres, settings: Settings, port: u16) -> Result<Self, Unfinished> {
        let folder = &postgres.socket_dir;
        let ini = folder.join("pgweir.ini");
        let text = ini_text(folder, (postgres.port, port), settings);
        fs::write(&ini, text)
            .and_then(|()| fs::write(userlist(folder), format!("\"{}\" \"\"\n", settings.name)))
            .map_err(Unfinished::io("configuring pgweir"))?;
        Ok(Self { port, ini, log: folder.join("pgweir.log") })
    }

    fn launch(&self) -> Result<Pooler, Unfinished> {
        let ourselves = std::env::current_exe().map_err(Unfinished::io("looking for pgweir"))?;
        let log = File::create(&self.log).map_err(Unfinished::io("opening pgweir's log"))?;
        let mut pgweir = Command::new(ourselves);
        pgweir.arg(&self.ini).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C is for us; pgweir is told by us.
        pgweir.process_group(0).current_dir("/");
        let mut process = pgweir.spawn().map_err(Unfinished::io("starting pgweir"))?;
        match Leash::hold(&process) {
            Ok(leash) => Ok(Pooler { port: self.port, process, _leash: leash }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error.into())
            }
        }
    }
}

fn ini_text(folder: &Path, (server, own): (u16, u16), settings: Settings) -> String {
    let Settings { name, servers, clients } = settings;
    let user = Identity::unprivileged().map_or_else(String::new, |user| user.name);
    let host = folder.display().to_string().replace('\'', "''");
    let userlist = userlist(folder);
    format!(
        "\
[databases]
{name} = host='{host}' port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir = {folder}
user = {user}
auth_type = trust
auth_file = {userlist}
stats_users = {name}
pool_mode = transaction
default_pool_size = {servers}
max_client_conn = {clients}
",
        folder = folder.display(),
        userlist = userlist.display(),
    )
}

fn userlist(folder: &Path) -> PathBuf {
    folder.join("userlist.txt")
}

const PORTS_TRIED: usize = 8;
/// The longest that pgweir may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests;
