//! Where the program under test comes from.
//!
//! ```text
//! $PGWEIR_BIN ──► else TARGET/PROFILE/pgweir beside this test, if newer than its sources
//!             ──► else `cargo build` of that profile
//! ```
//!
//! `cargo test` does not build the program of another package, and a stale one would be tested in
//! silence; hence the look at the sources.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the path of the program under test, where the user that servers run as can run it.
///
/// # Panics
/// If it is not there and cannot be built.
pub fn pgweir() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = env::var_os("PGWEIR_BIN").map_or_else(find, PathBuf::from);
        scratch::reachable(&program).unwrap_or_else(|error| panic!("{error}"))
    })
}

fn find() -> PathBuf {
    // TARGET/PROFILE/deps/field-0123456789abcdef
    let test = env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(Path::parent).expect("the folder of the profile");
    let program = folder.join("pgweir");
    let built = program.metadata().and_then(|file| file.modified()).ok();
    if built.is_none_or(|built| built < newest(&root().join("crates"))) {
        build(folder);
    }
    program
}

fn build(folder: &Path) {
    let target = folder.parent().expect("the target folder");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "pgweir", "--profile", profile, "--target-dir"]);
    let status = cargo.arg(target).current_dir(root()).status().expect("cargo runs");
    assert!(status.success(), "cargo build --package pgweir: {status}");
}

/// When a file below a folder was last written.
fn newest(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let times = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => newest(&entry.path()),
        Ok(found) => found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        Err(_) => SystemTime::UNIX_EPOCH,
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
