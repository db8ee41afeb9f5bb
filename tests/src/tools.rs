//! Running psql, pgbench, Python, Java and Go to their end, with a limit.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use crate::program::root;

/// What a program has said.
#[derive(Debug)]
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.out, self.err)
    }
}

/// The longest that a program may run.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a program to its end.
///
/// # Panics
/// If it cannot be started or runs for more than two minutes.
pub fn run(command: &mut Command) -> Said {
    let mut out = tempfile::tempfile().expect("a temporary file");
    let mut err = tempfile::tempfile().expect("a temporary file");
    command.stdout(out.try_clone().expect("a descriptor"));
    command.stderr(err.try_clone().expect("a descriptor"));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child to wait for") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command:?} runs for ever; it has said:\n{}{}", text(&mut out), text(&mut err));
        }
        thread::sleep(Duration::from_millis(2));
    };
    Said { status, out: text(&mut out), err: text(&mut err) }
}

/// Runs a program that has to succeed, and returns what it wrote to its standard output.
///
/// # Panics
/// If it fails.
pub fn must(command: &mut Command) -> String {
    let said = run(command);
    assert!(said.status.success(), "{command:?}: {said}");
    said.out
}

/// Runs SQL by a prepared psql; rows are lines, and fields are separated by `|`.
///
/// # Panics
/// If psql cannot be run.
pub fn ask(psql: &mut Command, sql: &str) -> Said {
    let mut script = tempfile::tempfile().expect("a temporary file");
    std::io::Write::write_all(&mut script, sql.as_bytes()).expect("a script is written");
    script.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-"]).stdin(script);
    run(psql)
}

/// Prepares Python, with psycopg at hand, to run a script of the folder of the tests.
///
/// # Panics
/// If `tools/setup test` has not been run.
pub fn python(script: &str) -> Command {
    let python = root().join(".cache/venv/bin/python");
    assert!(python.exists(), "there is no {}; run `tools/setup test`", python.display());
    let mut command = Command::new(python);
    command.arg("-X").arg("faulthandler").arg(beside(script)).stdin(Stdio::null());
    command
}

/// Prepares Java, with pgjdbc at hand, to compile and run a class of the folder of the tests.
pub fn java(source: &str) -> Command {
    let mut command = Command::new("java");
    command.args(["-cp", "/usr/share/java/postgresql.jar"]).arg(beside(source));
    command.stdin(Stdio::null());
    command
}

/// Prepares Go, with lib/pq at hand, to compile and run a program of the folder of the tests.
pub fn go(source: &str) -> Command {
    let mut command = Command::new("go");
    // Debian's libraries are no modules.
    command.env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode");
    command.env("GOCACHE", root().join(".cache/go"));
    command.arg("run").arg(beside(source)).stdin(Stdio::null());
    command
}

fn beside(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field").join(script)
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    file.read_to_end(&mut bytes).expect("a file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
