//! The shape of the code, as a test: what a reviewer should not have to say twice.
//!
//! ```text
//! git ls-files ──► Source: code and comments apart ──► rules ──► faults, all of them at once
//! ```
//!
//! A rule is a function from one file to its faults. Each has a test of its own in planted.rs, in
//! which it finds a planted fault. Rules read tokens, not syntax trees: a rule that needs more than
//! that belongs into a lint.

mod arrows;
mod planted;
mod purity;
mod scan;
mod shape;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use scan::Source;

#[test]
fn the_code_is_tidy() {
    let root = root();
    let faults: Vec<String> = files(&root)
        .iter()
        .filter_map(|path| Some((path, std::fs::read_to_string(root.join(path)).ok()?)))
        .flat_map(|(path, text)| faults(path, &text))
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// All faults of one file, whatever kind of file it is.
fn faults(path: &str, text: &str) -> Vec<Fault> {
    let mut found = words::faults(path, text);
    if path.ends_with(".rs") {
        let source = Source::new(path, text);
        found.extend(shape::faults(&source));
        found.extend(purity::faults(&source));
    }
    if path.ends_with("Cargo.toml") {
        found.extend(arrows::faults(path, text));
    }
    found
}

/// Something that is not as it should be, printed as compilers do.
#[derive(Debug)]
struct Fault {
    path: String,
    line: usize,
    what: String,
}

impl Fault {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files that are tracked or about to be, relative to the root.
fn files(root: &Path) -> Vec<String> {
    let mut git = Command::new("git");
    // A machine may run the tests as another user than the one who owns the clone.
    git.args(["-c", "safe.directory=*", "ls-files", "-z"]);
    git.args(["--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(root).output().expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git ls-files: {said}");
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let files: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    assert!(files.iter().any(|path| path == "Cargo.toml"), "this is not the root: {files:?}");
    files
}
