//! Planted faults: the simulator is only as good as what it finds.
//!
//! ```text
//! mutants/faults.txt ──► a copy of the engine with one fault ──► its sweep must fail
//! ```
//!
//! A fault that survives shows a promise that nobody checks; one that no longer fits its file has
//! to be planted anew. The copies are built in one folder, so that only the engine is built again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// One planted fault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) name: String,
    /// What it breaks.
    pub(crate) breaks: String,
    pub(crate) hunks: Vec<Hunk>,
}

/// A place where lines are exchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// In the engine's folder of sources.
    pub(crate) file: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// What has come of a fault.
enum Fate {
    /// The sweep has failed, as it should, with this.
    Found(String),
    Survived,
    /// Its lines are not there exactly once, or what is planted does not build.
    Misfit(String),
}

/// Plants every fault, or those whose names contain a part of `only`, and prints what has come of
/// them.
pub(crate) fn plant_all(only: &str) -> ExitCode {
    let faults = parse(include_str!("../mutants/faults.txt"));
    let copy = Copy::new();
    let mut lost = 0;
    let is_wanted = |fault: &&Fault| only.split(',').any(|part| fault.name.contains(part));
    for fault in faults.iter().filter(is_wanted) {
        let (mark, text) = match copy.plant(fault) {
            Fate::Found(how) => ("found", how),
            Fate::Survived => ("SURVIVED", fault.breaks.clone()),
            Fate::Misfit(why) => ("MISFIT", why),
        };
        lost += usize::from(mark != "found");
        println!("{mark:<9} {:<36} {text}", fault.name);
    }
    println!("{} faults, {lost} not found", faults.len());
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads the table of faults.
pub(crate) fn parse(table: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for line in table.lines() {
        if let Some(name) = line.strip_prefix("fault ") {
            faults.push(Fault { name: name.to_owned(), ..Fault::default() });
        }
        let Some(fault) = faults.last_mut() else { continue };
        match (line.split_at_checked(1), line.split_once(' ')) {
            (_, Some(("breaks", text))) => text.clone_into(&mut fault.breaks),
            (_, Some(("file", text))) => {
                fault.hunks.push(Hunk { file: text.to_owned(), ..Hunk::default() });
            }
            (Some(("-", text)), _) => add_line(fault.hunks.last_mut().map(|h| &mut h.old), text),
            (Some(("+", text)), _) => add_line(fault.hunks.last_mut().map(|h| &mut h.new), text),
            _ => {}
        }
    }
    faults
}

fn add_line(text: Option<&mut String>, line: &str) {
    if let Some(text) = text {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
}

/// A copy of what the simulator is built from.
struct Copy {
    root: PathBuf,
}

/// The folders that are copied.
const FOLDERS: [&str; 5] = ["crates/wire", "crates/auth", "crates/config", "crates/engine", "sim"];
/// A run that takes longer than this does not come to its end: that is found, too.
const PATIENCE: Duration = Duration::from_secs(120);

impl Copy {
    fn new() -> Self {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = std::env::temp_dir().join(format!("pgweir-mutants-{}", std::process::id()));
        for folder in FOLDERS {
            copy_folder(&original.join(folder), &root.join(folder));
        }
        let manifest = fs::read_to_string(original.join("Cargo.toml")).expect("a workspace");
        let members = FOLDERS.map(|folder| format!("\"{folder}\"")).join(", ");
        let lines = manifest.lines().map(|line| match line.starts_with("members = ") {
            true => format!("members = [{members}]\n"),
            false => format!("{line}\n"),
        });
        fs::write(root.join("Cargo.toml"), lines.collect::<String>()).expect("a copy");
        fs::copy(original.join("Cargo.lock"), root.join("Cargo.lock")).expect("a copy");
        Self { root }
    }

    fn plant(&self, fault: &Fault) -> Fate {
        let mut sound = Vec::new();
        let mut fate = None;
        for hunk in &fault.hunks {
            let path = self.root.join("crates/engine/src").join(&hunk.file);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let count = text.matches(&hunk.old).count();
            if count != 1 {
                fate = Some(Fate::Misfit(format!("its lines are {count} times in {}", hunk.file)));
                break;
            }
            fs::write(&path, text.replacen(&hunk.old, &hunk.new, 1)).expect("a copy");
            sound.push((path, text));
        }
        let fate = fate.unwrap_or_else(|| self.judge());
        for (path, text) in sound.into_iter().rev() {
            fs::write(path, text).expect("a copy");
        }
        fate
    }

    fn judge(&self) -> Fate {
        let mut build = Command::new("cargo");
        build.args(["build", "--quiet", "--offline", "--package", "sim", "--profile", "sim"]);
        // The faults are many and the runs are short.
        build.envs([("CARGO_PROFILE_SIM_OPT_LEVEL", "1"), ("CARGO_PROFILE_SIM_DEBUG", "0")]);
        build.env("CARGO_PROFILE_SIM_INCREMENTAL", "true").env("RUSTFLAGS", "-Awarnings");
        build.env("CARGO_TARGET_DIR", self.root.join("target")).current_dir(&self.root);
        let built = build.output().expect("cargo is installed");
        if !built.status.success() {
            let text = String::from_utf8_lossy(&built.stderr).into_owned();
            let error = text.lines().find(|line| line.starts_with("error"));
            return Fate::Misfit(error.unwrap_or("does not build").to_owned());
        }
        let mut run = Command::new(self.root.join("target/sim/sim"));
        run.args(["--seeds", "256", "--brief"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut run = run.spawn().expect("what was built can be run");
        let begin = Instant::now();
        loop {
            match run.try_wait().expect("a child") {
                Some(status) if status.success() => return Fate::Survived,
                Some(_) => break,
                None if begin.elapsed() > PATIENCE => {
                    // It may have ended just so.
                    let _ = run.kill();
                    let _ = run.wait();
                    return Fate::Found("a seed does not come to its end".into());
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        let output = run.wait_with_output().map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&output).into_owned();
        Fate::Found(text.lines().next_back().unwrap_or_default().chars().take(120).collect())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the folder of temporary files.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder of temporary files");
    for entry in fs::read_dir(from).expect("a folder of sources").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => drop(fs::copy(&from, &to).expect("a file of sources")),
        }
    }
}

#[cfg(test)]
mod tests;
