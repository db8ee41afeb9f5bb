//! Reading the configuration and the files it names into one value, a [`Setup`].
//!
//! ```text
//! config file, auth_file ──► read ──► Setup ──► boot, or mail to every worker
//!                                 └─► complaints: logged, and answered to RELOAD; nothing changes
//! ```
//!
//! Files are read here and nowhere else; what they mean is known to the crates config and auth.

use std::sync::Arc;

use auth::Userlist;
use config::{Change, Complaint, Config};
use engine::Setup;

use crate::cli;

/// Reads everything for the first time.
///
/// # Errors
/// Every complaint about the configuration, one a line.
pub(crate) fn read(path: &str) -> Result<Setup, String> {
    let config = load(path)?;
    let (userlist, complaints) = match read_userlist(&config) {
        Ok(read) => read,
        Err(why) => (Userlist::default(), vec![why]),
    };
    for complaint in complaints {
        log::error!("{complaint}");
    }
    let userlist = Arc::new(userlist);
    let uid = rustix::process::geteuid().as_raw();
    let host = rustix::system::uname().nodename().to_string_lossy().into();
    Ok(Setup { config, userlist, version: cli::first_line().into(), host, uid })
}

/// Reads everything again. Settings that only a start can change keep their value.
///
/// # Errors
/// Every complaint about the configuration, one a line; those about the userlist are among them,
/// since half a userlist would lock out the users of the other half.
pub(crate) fn read_again(path: &str, old: &Setup) -> Result<Setup, String> {
    let read = load(path)?;
    let restart = boot_only(&old.config, &read);
    let config = config::keep_boot_settings(&old.config, read);
    let (userlist, complaints) = read_userlist(&config)?;
    if !complaints.is_empty() {
        return Err(complaints.join("\n"));
    }
    for setting in restart {
        log::warn!("{path}: {setting} has changed, which takes effect after a restart");
    }
    let userlist = Arc::new(userlist);
    let (version, host) = (Arc::clone(&old.version), Arc::clone(&old.host));
    Ok(Setup { config, userlist, version, host, uid: old.uid })
}

/// The settings that differ but keep their value until the next start.
fn boot_only(old: &Config, new: &Config) -> Vec<&'static str> {
    let changes = config::diff(old, new);
    let boot_only = |change| match change {
        Change::BootOnly(setting) => Some(setting),
        _ => None,
    };
    changes.into_iter().filter_map(boot_only).collect()
}

fn load(path: &str) -> Result<Config, String> {
    let mut read = |path: &str| std::fs::read(path).map_err(|error| error.to_string());
    let config = config::load(path, &mut read).map_err(|complaints| text(&complaints))?;
    for warning in &config.warnings {
        log::warn!("{warning}");
    }
    Ok(config)
}

fn text(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The users of `auth_file`, as far as it can be read, and what is wrong with it.
fn read_userlist(config: &Config) -> Result<(Userlist, Vec<String>), String> {
    let path = config.pgbouncer.auth_file.as_deref().filter(|path| !path.is_empty());
    let Some(path) = path else { return Ok(Default::default()) };
    let text =
        std::fs::read(path).map_err(|error| format!("could not open auth_file {path}: {error}"))?;
    let (userlist, complaints) = Userlist::parse(&text);
    let complaints = complaints.iter().map(|it| format!("{path}:{}: {}", it.line, it.why));
    Ok((userlist, complaints.collect()))
}

#[cfg(test)]
mod tests;
