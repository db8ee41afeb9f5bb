//! Whom to run servers as: PostgreSQL and poolers refuse to run as root.
//!
//! For an ordinary user everything here is a no-op: servers run as that user. For root (a
//! container, a CI machine) they run as `postgres`, else as `nobody`, with that user's home and
//! from the folder `/`, because the caller's own working directory may be closed to that user.
//!
//! Users are looked up in /etc/passwd only: the two names are local ones wherever they exist.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Folder, Leash};

/// A user that servers run as when the caller is root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's name, as in /etc/passwd.
    pub name: String,
    /// The user's numeric id.
    pub uid: u32,
    /// The numeric id of the user's own group.
    pub gid: u32,
    /// The user's home folder.
    pub home: PathBuf,
}

impl Identity {
    /// Returns the user to run servers as if the caller is root, else nothing.
    #[must_use]
    pub fn unprivileged() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Some(Self::choose(&passwd))
    }

    fn choose(passwd: &str) -> Self {
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| passwd.lines().filter_map(Self::parse).find(|u| u.name == *name))
            .unwrap_or_else(Self::nobody)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        let home = PathBuf::from(fields.nth(1)?);
        Some(Self { name, uid, gid, home })
    }

    /// The ids that every kernel reserves for nobody, for systems without an /etc/passwd.
    fn nobody() -> Self {
        Self { name: "nobody".to_owned(), uid: 65_534, gid: 65_534, home: PathBuf::from("/") }
    }

    fn take_on(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid).current_dir("/");
        command.env("HOME", &self.home).env("USER", &self.name).env("LOGNAME", &self.name);
    }
}

/// Makes a command run as the unprivileged user if the caller is root.
///
/// Then it also starts in `/`: give it absolute paths.
pub fn unprivileged(command: &mut Command) {
    if let Some(identity) = Identity::unprivileged() {
        identity.take_on(command);
    }
}

/// Gives a file or folder to the unprivileged user if the caller is root.
pub(crate) fn give(path: &Path) -> Result<(), Error> {
    match Identity::unprivileged() {
        None => Ok(()),
        Some(identity) => chown(path, Some(identity.uid), Some(identity.gid))
            .map_err(Error::io(format!("giving {} to {}", path.display(), identity.name))),
    }
}

/// Tells whether the user that servers run as can run this program.
pub(crate) fn can_run(program: &Path) -> bool {
    may(Access::Run, program)
}

/// Tells whether the user that servers run as can make files in this folder.
pub(crate) fn can_write(folder: &Path) -> bool {
    may(Access::Write, folder)
}

/// Returns a path under which the user that servers run as can run a program.
///
/// That is the program's own path, except when the caller is root and works below a folder that is
/// closed to others, such as /root. Then the program is linked or copied to a folder that is
/// removed when this process ends; so call it once for each program.
///
/// # Errors
/// If the program does not exist or cannot be copied.
pub fn reachable(program: &Path) -> Result<PathBuf, Error> {
    let doing = || format!("looking for {}", program.display());
    let program = program.canonicalize().map_err(Error::io(doing()))?;
    if can_run(&program) {
        return Ok(program);
    }
    let name = program.file_name().unwrap_or_default();
    let folder = Folder::new("reach")?;
    let copy = folder.path().join(name);
    // A link costs nothing but works within one file system and for a file all may run only.
    let linked = fs::hard_link(&program, &copy).is_ok() && can_run(&copy);
    if !linked {
        copy_for_all(&program, &copy)
            .map_err(Error::io(format!("copying {}", program.display())))?;
    }
    Leash::outlive(folder)?;
    Ok(copy)
}

fn copy_for_all(program: &Path, copy: &Path) -> std::io::Result<()> {
    if copy.exists() {
        fs::remove_file(copy)?;
    }
    fs::copy(program, copy)?;
    fs::set_permissions(copy, fs::Permissions::from_mode(0o755))
}

#[derive(Clone, Copy)]
enum Access {
    Run,
    Write,
}

/// Asks the kernel, as the user in question: that counts access lists and odd mounts too.
fn may(access: Access, path: &Path) -> bool {
    let mut test = Command::new("test");
    match access {
        Access::Run => test.arg("-x"),
        Access::Write => test.arg("-w"),
    };
    test.arg(path).stdin(Stdio::null());
    unprivileged(&mut test);
    test.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests;
