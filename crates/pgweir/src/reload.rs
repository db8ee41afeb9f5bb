//! Reading the configuration and the files it names into one value, a [`Setup`].
//!
//! ```text
//! config file, environment, auth_file ──► read ──► Setup ──► boot, or mail to every worker
//!                                              └─► complaints: the old ones stay in force
//! SET ──► with ──► the setup in force with one setting changed
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
    let userlist = match read_userlist(&config) {
        Ok((userlist, broken)) => {
            if let Some(why) = broken {
                log::error!("{why}");
            }
            userlist
        }
        Err(why) => {
            log::error!("{why}");
            Userlist::default()
        }
    };
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
    let userlist = whole_userlist(&config)?;
    for setting in restart {
        log::warn!("{path}: {setting} has changed, which takes effect after a restart");
    }
    let userlist = Arc::new(userlist);
    let (version, host) = (Arc::clone(&old.version), Arc::clone(&old.host));
    Ok(Setup { config, userlist, version, host, uid: old.uid })
}

/// The setup in force with one setting changed.
///
/// # Errors
/// Why the value is refused, or what is wrong with the file that it names.
pub(crate) fn with(old: &Setup, key: &str, value: &str) -> Result<Setup, String> {
    let mut setup = old.clone();
    setup.config.pgbouncer.set(key, value)?;
    if key == "auth_file" {
        setup.userlist = Arc::new(whole_userlist(&setup.config)?);
    }
    Ok(setup)
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
    let variable = |name: &str| std::env::var(name).ok();
    let config =
        config::load_in(path, &variable, &mut read).map_err(|complaints| text(&complaints))?;
    for warning in &config.warnings {
        log::warn!("{warning}");
    }
    Ok(config)
}

fn text(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The users of `auth_file`, all of them or none.
fn whole_userlist(config: &Config) -> Result<Userlist, String> {
    match read_userlist(config)? {
        (userlist, None) => Ok(userlist),
        (_, Some(why)) => Err(why),
    }
}

/// The users of `auth_file`, as far as it can be read, and what is wrong with it where that ends. A
/// locked user is no reason to do without the others, and only warned of.
fn read_userlist(config: &Config) -> Result<(Userlist, Option<String>), String> {
    let path = config.pgbouncer.auth_file.as_deref().filter(|path| !path.is_empty());
    let Some(path) = path else { return Ok(Default::default()) };
    let text =
        std::fs::read(path).map_err(|error| format!("could not open auth_file {path}: {error}"))?;
    let (userlist, complaints) = Userlist::parse(&text);
    let mut broken = None;
    for complaint in complaints {
        let why = format!("{path}:{}: {}", complaint.line, complaint.flaw);
        if complaint.flaw.ends_reading() {
            broken = Some(why);
        } else {
            log::warn!("{why}");
        }
    }
    Ok((userlist, broken))
}

#[cfg(test)]
mod tests;
