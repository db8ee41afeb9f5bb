//! What was measured with what: versions of the programs and the machine under them.

use std::path::Path;
use std::process::Command;

use crate::child;
use crate::target::Programs;

/// Names and versions, in the order of the report.
pub(crate) fn all(programs: &Programs) -> Vec<(String, String)> {
    let mut versions = vec![("PgBouncer".to_owned(), version(&programs.pgbouncer))];
    if let Some(pgweir) = &programs.pgweir {
        versions.push(("pgweir".to_owned(), version(pgweir)));
    }
    versions.push(("kernel".to_owned(), first_line("/proc/sys/kernel/osrelease")));
    versions.push(("CPU".to_owned(), cpu()));
    versions
}

/// The first line of `PROGRAM --version`, and where the program is.
fn version(program: &Path) -> String {
    let mut command = Command::new(program);
    command.arg("--version");
    scratch::unprivileged(&mut command);
    let text = child::output(&mut command).unwrap_or_else(|error| error.to_string());
    format!("{} ({})", text.lines().next().unwrap_or_default(), program.display())
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'))
        .map_or("unknown", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores")
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}
