//! `pgweir demo` from outside: what it shows, and that nothing of it stays.
//!
//! ```text
//! demo ──► figures ──► commands to try ──► SIGINT ──► no process, no file
//! ```
//!
//! Each demo has a folder for temporary files of its own, and all its processes know that folder:
//! from their environment, their arguments or as where they work. So others can run beside it.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test says by a panic that it has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use integration::{Said, must, pgweir, run, until};
use rustix::process::{Pid, Signal, kill_process};
use scratch::{Folder, Programs, unprivileged};

#[test]
fn it_shows_what_pooling_gives() {
    let _turn = turn();
    let mut demo = Demo::start(&["--once"], |_| {});
    let page = demo.rest();
    assert_eq!(demo.ended().code(), Some(0), "{page}");

    let (connecting, staying) = page.split_once("\n200 clients that stay connected").unwrap();
    let (direct, pooled) = row(connecting, "queries per second");
    assert!(pooled > direct, "connecting through a pooler is not slower:\n{page}");
    let (direct, pooled) = row(connecting, "milliseconds for one");
    assert!(pooled < direct, "{page}");
    for label in ["queries per second", "milliseconds for one"] {
        let (direct, pooled) = row(staying, label);
        assert!(direct > 0.0 && pooled > 0.0, "{page}");
    }
    assert_eq!(row(staying, "PostgreSQL processes"), (200.0, 20.0), "{page}");
    let (direct, pooled) = row(staying, "their memory, and pgweir's, MB");
    assert!(pooled < direct, "{page}");
    assert!(!page.contains("psql") && !page.contains('\x1b'), "{page}");
    demo.leaves_nothing();
}

#[test]
fn it_stays_for_others_to_try() {
    let _turn = turn();
    let mut demo = Demo::start(&[], unprivileged);
    let mut commands = Vec::new();
    while commands.len() < 5 {
        let line = demo.line();
        assert!(!line.is_empty(), "the demo has ended");
        commands.extend(line.find("psql").map(|at| line[at..].trim_end().to_owned()));
    }
    let console = commands.pop().unwrap();
    for command in &commands {
        let asked = format!("{command} -XAtc 'SELECT count(*) FROM pgbench_accounts'");
        assert_eq!(must(&mut shell(&asked)), "100000\n", "{command}");
    }
    let pools = must(&mut shell(&console));
    assert!(pools.contains("demo"), "{pools}");

    // Everybody on the machine can come by TCP.
    for command in commands.iter().filter(|command| command.contains("-h 127.0.0.1")) {
        let superuser = command.replace("-U demo", "-U postgres");
        let refused = run(&mut shell(&format!("{superuser} -Xc 'SELECT 1'")));
        assert!(!refused.status.success(), "{superuser}: {refused}");
    }

    // Whoever is still there does not hold it up.
    let mut sleeping = shell(&format!("exec {} -Xc 'SELECT pg_sleep(600)'", commands[2]));
    let mut sleeper = sleeping.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let busy = format!("{} -XAtc \"{SLEEPING}\"", commands[0]);
    until("somebody sleeps", PATIENCE, || must(&mut shell(&busy)) == "1\n");
    demo.signal(Signal::INT);
    assert_eq!(demo.ended().code(), Some(0));
    assert!(!sleeper.wait().unwrap().success());
    demo.leaves_nothing();
}

#[test]
fn it_can_be_interrupted_at_any_time() {
    for (signal, is_reached) in [
        // PostgreSQL is being started.
        (Signal::INT, (|demo| demo.has_files()) as fn(&mut Demo) -> bool),
        // The first pgbench is running.
        (Signal::INT, |demo| demo.line().starts_with("pgweir")),
        (Signal::TERM, |demo| demo.line().starts_with("pgweir")),
    ] {
        let mut demo = Demo::start(&[], |_| {});
        until("the demo is under way", PATIENCE, || is_reached(&mut demo));
        demo.signal(signal);
        assert_eq!(demo.ended().code(), Some(130), "{signal:?}");
        demo.leaves_nothing();
    }
}

#[test]
fn it_cleans_up_even_if_killed() {
    let mut demo = Demo::start(&[], |_| {});
    assert!(demo.line().starts_with("pgweir"));
    assert!(demo.has_files() && demo.has_processes());
    demo.signal(Signal::KILL);
    assert_eq!(demo.ended().code(), None);
    until("everything is gone", PATIENCE, || !demo.has_files() && !demo.has_processes());
}

#[test]
fn it_ends_when_nobody_reads() {
    let mut demo = Demo::start(&["--once"], |_| {});
    assert!(demo.line().starts_with("pgweir"));
    demo.page = None;
    assert_eq!(demo.ended().code(), Some(0));
    demo.leaves_nothing();
}

#[test]
fn it_says_what_is_missing() {
    let missing = |bin: &str| run(Command::new(pgweir()).arg("demo").env("PGWEIR_PG_BIN", bin));
    says(&missing("/nowhere"), "/nowhere does not hold PostgreSQL's programs");

    let programs = Programs::find().unwrap();
    let bin = Folder::new("bin").unwrap();
    for name in ["postgres", "initdb", "pg_ctl", "psql"] {
        symlink(programs.program(name), bin.path().join(name)).unwrap();
    }
    says(&missing(bin.path().to_str().unwrap()), "pgbench was not found in");
}

#[test]
fn it_explains_itself() {
    let said = run(Command::new(pgweir()).args(["demo", "--twice"]));
    says(&said, "Usage: pgweir demo [--once]");
    let help = must(Command::new(pgweir()).args(["demo", "--help"]));
    assert!(help.starts_with("Usage: pgweir demo [--once]"), "{help}");
}

fn says(said: &Said, words: &str) {
    assert_eq!(said.status.code(), Some(1), "{said}");
    assert!(said.err.contains(words) && said.out.is_empty(), "{said}");
}

/// A running demo.
struct Demo {
    process: Child,
    page: Option<BufReader<ChildStdout>>,
    /// For its temporary files.
    folder: Folder,
}

impl Demo {
    fn start(args: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let folder = Folder::new("demo").unwrap();
        let mut demo = Command::new(pgweir());
        demo.arg("demo").args(args).env("TMPDIR", folder.path());
        demo.stdin(Stdio::null()).stdout(Stdio::piped());
        prepare(&mut demo);
        let mut process = demo.spawn().unwrap();
        let page = process.stdout.take().map(BufReader::new);
        Self { process, page, folder }
    }

    /// The next line that it prints, empty at the end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.page.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.page.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        rest
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        until("the demo ends", PATIENCE, || self.process.try_wait().unwrap().is_some());
        self.process.wait().unwrap()
    }

    fn leaves_nothing(&self) {
        assert!(!self.has_files(), "files stay in {}", self.folder.path().display());
        // A killed pgbench has nobody to wait for once the demo has ended.
        until("no process is left", PATIENCE, || !self.has_processes());
    }

    fn has_files(&self) -> bool {
        fs::read_dir(self.folder.path()).unwrap().next().is_some()
    }

    fn has_processes(&self) -> bool {
        let folder = self.folder.path().to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes.into_iter().any(|process| {
            let holds = |file: &str| {
                let bytes = fs::read(process.join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).contains(folder)
            };
            let works_in = fs::read_link(process.join("cwd")).unwrap_or_default();
            works_in.starts_with(folder) || holds("cmdline") || holds("environ")
        })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // After a failed test: its leashes clean up.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The two figures of a row: direct, and through pgweir.
fn row(table: &str, label: &str) -> (f64, f64) {
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no row \"{label}\" in:\n{table}"));
    let figures = row.split_whitespace().map(|word| word.replace(',', "").parse().unwrap());
    let [direct, pooled] = figures.take(2).collect::<Vec<f64>>().try_into().unwrap();
    (direct, pooled)
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    shell
}

/// Those that measure take turns: figures taken side by side mean little.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const SLEEPING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
const PATIENCE: Duration = Duration::from_secs(60);
