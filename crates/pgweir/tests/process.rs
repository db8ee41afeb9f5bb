//! The life of the process, from outside: start, signals, files, exit codes.
//!
//! ```text
//! a folder with a pgbouncer.ini ──► the program ──► signals, connections ──► log, exit code
//! ```
//!
//! Needs no PostgreSQL: what passes between clients and servers is tested elsewhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use scratch::{Folder, Leash, free_port, reachable, unprivileged};

#[test]
fn arguments_are_answered_as_by_pgbouncer() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["-V"], 0, "PgBouncer 1.25.2 (pgweir "),
        (&["--help"], 0, " is a connection pooler for PostgreSQL.\n\nUsage:\n"),
        (&[], 1, ": no configuration file specified\nTry \""),
        (&["a.ini", "b.ini"], 1, ": no configuration file specified\nTry \""),
        (&["--nope"], 1, ": unrecognized option '--nope'\nTry \""),
        (&["-d", "a.ini"], 1, " is not supported yet: "),
        (&["/nonexistent.ini"], 1, "] FATAL /nonexistent.ini"),
    ];
    for (args, code, text) in cases {
        let output = command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(said(&output).contains(text), "{args:?}: {}", said(&output));
    }
}

#[test]
fn every_complaint_about_the_configuration_is_told_at_once() {
    let place = Place::new("max_client_conn = many\nnonsense = 1\n");
    let output = command(&[place.ini()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("FATAL ") && text.contains("max_client_conn"), "{text}");
    assert!(text.contains("\n\t") && text.contains("nonsense"), "{text}");
}

#[test]
fn root_is_told_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new("");
    let output = Command::new(program()).arg(place.ini()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("FATAL pgweir should not run as root: "), "{}", said(&output));
    let user = scratch::Identity::unprivileged().unwrap();
    let place = Place::new(&format!("user = {}\n", user.name));
    let mut running = Running::spawn(Command::new(program()).arg("-q").arg(place.ini()), &place);
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn a_second_instance_is_refused_and_a_dead_one_is_replaced() {
    let place = Place::new("");
    let mut first = Running::start(&place);
    let second = command(&[place.ini()]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).contains("FATAL unix socket is in use, cannot continue"));
    fs::remove_file(place.socket()).unwrap();
    let third = command(&[place.ini()]).output().unwrap();
    assert!(said(&third).contains("exists, another instance running?"), "{}", said(&third));

    first.signal(Signal::KILL);
    first.process.wait().unwrap();
    assert!(place.pid_file().exists(), "nobody could tidy up");
    let mut next = Running::start(&place);
    next.signal(Signal::TERM);
    assert_eq!(next.exit_code(), 0);
    assert!(place.log().contains("LOG stale pidfile, removing\n"));
}

#[test]
fn nothing_is_left_behind_whatever_the_signal() {
    let cases = [
        (Signal::TERM, "LOG client connections dropped, exiting\n"),
        (Signal::INT, "LOG server connections dropped, exiting\n"),
        (Signal::QUIT, "LOG got SIGQUIT, fast exit\n"),
    ];
    for (signal, last_words) in cases {
        let place = Place::new("");
        let mut running = Running::start(&place);
        running.signal(signal);
        assert_eq!(running.exit_code(), 0, "{signal:?}");
        assert!(!place.pid_file().exists() && !place.socket().exists(), "{signal:?}");
        assert!(place.log().ends_with(last_words), "{signal:?}: {}", place.log());
    }
}

#[test]
fn a_shutdown_waits_for_clients_and_a_second_signal_does_not() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    let mut client = place.tcp().unwrap();
    // Once it is answered, the client counts.
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(&SSL_REQUEST).unwrap();
    client.read_exact(&mut [0; 1]).unwrap();
    running.signal(Signal::TERM);
    place.wait_until("TCP is still open", |place| place.tcp().is_err());
    assert!(UnixStream::connect(place.socket()).is_ok(), "the console must be within reach");
    running.signal(Signal::USR2);
    place.wait_until("SIGUSR2 was not heard", |place| {
        place.log().contains("LOG got SIGUSR2 while shutting down, ignoring\n")
    });
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    assert!(place.log().ends_with("LOG got SIGTERM while shutting down, fast exit\n"));
}

#[test]
fn a_reload_opens_the_log_again_and_refuses_a_broken_file() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    fs::rename(place.path("log"), place.path("log.1")).unwrap();
    running.signal(Signal::HUP);
    place.wait_until("the log was not opened again", |place| place.path("log").exists());
    place.write_ini("nonsense = 1\n");
    running.signal(Signal::HUP);
    place.wait_until("no complaint", |place| place.log().contains("WARNING "));
    assert!(place.log().contains("nonsense"), "{}", place.log());
    assert!(place.tcp().is_ok(), "it must go on serving");

    let other = place.path("other.ini");
    place.write_ini(&format!("conffile = {}\n", other.display()));
    running.signal(Signal::HUP);
    place.wait_until("the other file was not read", |place| {
        // Each reload reads what the one before has named.
        running.signal(Signal::HUP);
        place.log().contains("other.ini")
    });
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let place = Place::new("");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 50; exec \"$0\" -q \"$1\""]).arg(program()).arg(place.ini());
    unprivileged(&mut limited);
    let mut running = Running::spawn(&mut limited, &place);
    let mut clients: Vec<TcpStream> = (0..80).map(|_| place.tcp().unwrap()).collect();
    place.wait_until("nothing was logged", |place| place.log().contains("Too many open files"));
    clients.truncate(60);
    for client in clients.drain(..59) {
        drop(client);
    }
    let last = clients.pop().unwrap();
    assert_eq!(answer(last), *b"N", "the last of them is served when there is room again");
    assert!(place.log().matches("could not accept connections").count() < 20, "{}", place.log());
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn a_supervisor_hears_how_far_it_is() {
    let place = Place::new("");
    let path = place.path("notify");
    let supervisor = UnixDatagram::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    supervisor.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = |expected: &str| {
        let mut bytes = [0; 100];
        let count = supervisor.recv(&mut bytes).unwrap();
        assert!(bytes[..count].starts_with(expected.as_bytes()), "no {expected}");
    };
    let mut command = command(&["-q", place.ini()]);
    let mut running = Running::spawn(command.env("NOTIFY_SOCKET", &path), &place);
    heard("READY=1");
    running.signal(Signal::HUP);
    heard("RELOADING=1\nMONOTONIC_USEC=");
    heard("READY=1");
    running.signal(Signal::TERM);
    heard("STOPPING=1");
    assert_eq!(running.exit_code(), 0);
}

/// What the pooler says to an SSLRequest.
fn answer(mut client: TcpStream) -> [u8; 1] {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(&SSL_REQUEST).unwrap();
    let mut byte = [0; 1];
    client.read_exact(&mut byte).unwrap();
    byte
}

/// A folder with a configuration, in which one instance may run.
struct Place {
    folder: Folder,
    port: u16,
    ini: PathBuf,
}

impl Place {
    fn new(settings: &str) -> Self {
        let folder = Folder::new("process").unwrap();
        let ini = folder.path().join("pgbouncer.ini");
        let place = Self { folder, port: free_port(), ini };
        place.write_ini(settings);
        place
    }

    fn write_ini(&self, settings: &str) {
        let folder = self.folder.path().display();
        let text = format!(
            "[databases]\na = host=127.0.0.1 port=1\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {}\nunix_socket_dir = {folder}\nauth_type = trust\nworker_threads = 2\n\
             pidfile = {folder}/pid\nlogfile = {folder}/log\n{settings}",
            self.port
        );
        fs::write(&self.ini, text).unwrap();
    }

    fn ini(&self) -> &str {
        self.ini.to_str().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pid_file(&self) -> PathBuf {
        self.path("pid")
    }

    fn socket(&self) -> PathBuf {
        self.path(&format!(".s.PGSQL.{}", self.port))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn tcp(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port))
    }

    #[track_caller]
    fn wait_until(&self, otherwise: &str, is_true: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_true(self) {
            assert!(start.elapsed() < PATIENCE, "{otherwise}; log:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }
}

/// A running instance, which dies with the test.
struct Running {
    process: Child,
    _leash: Leash,
}

impl Running {
    fn start(place: &Place) -> Self {
        Self::spawn(&mut command(&["-q", place.ini()]), place)
    }

    #[track_caller]
    fn spawn(command: &mut Command, place: &Place) -> Self {
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        let leash = Leash::hold(&process).unwrap();
        let pid = format!("{}\n", process.id());
        place.wait_until("it did not start", |place| {
            fs::read_to_string(place.pid_file()).is_ok_and(|text| text == pid)
        });
        place.wait_until("it is not up", |place| place.log().contains("LOG process up: "));
        Self { process, _leash: leash }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    #[track_caller]
    fn exit_code(&mut self) -> i32 {
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

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args);
    unprivileged(&mut command);
    command
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| reachable(Path::new(env!("CARGO_BIN_EXE_pgweir"))).unwrap())
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// Length and code, as the protocol has them (section "SSL Session Encryption").
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const PATIENCE: Duration = Duration::from_secs(20);
