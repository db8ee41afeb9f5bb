//! Running PostgreSQL's programs.
//!
//! Their environment is the caller's, but without the variables by which libpq and the server are
//! configured: those would lead a program to another server than the one it is meant for.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use crate::Error;

/// A command without the PG* variables of the caller, which would lead it to another server.
pub(crate) fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("PG") && !name_text.starts_with("PGWEIR") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end and returns what it wrote.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let program = program.to_string_lossy().into_owned();
    let output = command.output().map_err(Error::io(format!("running {program}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::Failed { program, output })
    }
}

/// The text as a file without a name, which can be read while its output is read too.
pub(crate) fn script(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}
