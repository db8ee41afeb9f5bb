//! A place where one instance may run: its configuration, its files, its process.
//!
//! ```text
//! Place ──► pgbouncer.ini ──► Running, on a leash ──► signals ──► exit code
//! ```
//!
//! Knows nothing of what is tested.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use scratch::{Folder, Leash, free_port, reachable, unprivileged};

/// What the pooler says to an SSLRequest.
pub(crate) fn answer(mut client: TcpStream) -> [u8; 1] {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(&SSL_REQUEST).unwrap();
    let mut byte = [0; 1];
    client.read_exact(&mut byte).unwrap();
    byte
}

/// A folder with a configuration, in which one instance may run.
pub(crate) struct Place {
    folder: Folder,
    port: u16,
    ini: PathBuf,
}

impl Place {
    pub(crate) fn new(settings: &str) -> Self {
        let folder = Folder::new("process").unwrap();
        let ini = folder.path().join("pgbouncer.ini");
        let place = Self { folder, port: free_port(), ini };
        place.write_ini(settings);
        place
    }

    /// Another place with the same port.
    pub(crate) fn beside(other: &Self, settings: &str) -> Self {
        let mut place = Self::new("");
        place.port = other.port;
        place.write_ini(settings);
        place
    }

    pub(crate) fn write_ini(&self, settings: &str) {
        let folder = self.folder.path().display();
        let text = format!(
            "[databases]\na = host=127.0.0.1 port=1\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {}\nunix_socket_dir = {folder}\nauth_type = trust\nworker_threads = 2\n\
             pidfile = {folder}/pid\nlogfile = {folder}/log\n{settings}",
            self.port
        );
        fs::write(&self.ini, text).unwrap();
    }

    pub(crate) fn ini(&self) -> &str {
        self.ini.to_str().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.path("pid")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path(&format!(".s.PGSQL.{}", self.port))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(crate) fn tcp(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port))
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, otherwise: &str, is_true: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_true(self) {
            assert!(start.elapsed() < PATIENCE, "{otherwise}; log:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }
}

/// A running instance, which dies with the test.
pub(crate) struct Running {
    pub(crate) process: Child,
    _leash: Leash,
}

impl Running {
    pub(crate) fn start(place: &Place) -> Self {
        Self::spawn(&mut command(&["-q", place.ini()]), place)
    }

    #[track_caller]
    pub(crate) fn spawn(command: &mut Command, place: &Place) -> Self {
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        let leash = Leash::hold(&process).unwrap();
        let pid = format!("{}\n", process.id());
        place.wait_until("it did not start", |place| {
            fs::read_to_string(place.pid_file()).is_ok_and(|text| text == pid)
        });
        place.wait_until("it is not up", |place| place.log().contains("LOG process up: "));
        Self { process, _leash: leash }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn exit_code(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code().expect("it was not killed by a signal");
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has usually ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args);
    unprivileged(&mut command);
    command
}

pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| reachable(Path::new(env!("CARGO_BIN_EXE_pgweir"))).unwrap())
}

pub(crate) fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// Length and code, as the protocol has them (section "SSL Session Encryption").
pub(crate) const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
