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
use config::{Complaint, Config};
use engine::Setup;

use crate::cli;

/// Reads everything for the first time.
///
/// # Errors
/// Every complaint about the configuration, one a line.
pub(crate) fn read(path: &str) -> Result<Setup, String> {
    let config = load(path)?;
    let userlist = read_userlist(&config).map_or_else(Arc::default, Arc::new);
    let uid = rustix::process::geteuid().as_raw();
    Ok(Setup { config, userlist, version: cli::first_line().into(), uid })
}

/// Reads everything again. Settings that only a start can change keep their value, and a userlist
/// that cannot be read leaves the old one in force.
///
/// # Errors
/// Every complaint about the configuration, one a line.
pub(crate) fn read_again(path: &str, old: &Setup) -> Result<Setup, String> {
    let config = config::keep_boot_settings(&old.config, load(path)?);
    let named = config.pgbouncer.auth_file.is_some();
    let userlist = match read_userlist(&config) {
        Some(userlist) => Arc::new(userlist),
        None if named => Arc::clone(&old.userlist),
        None => Arc::default(),
    };
    Ok(Setup { config, userlist, version: Arc::clone(&old.version), uid: old.uid })
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

fn read_userlist(config: &Config) -> Option<Userlist> {
    let path = config.pgbouncer.auth_file.as_deref().filter(|path| !path.is_empty())?;
    let text = std::fs::read(path)
        .inspect_err(|error| log::error!("could not open auth_file {path}: {error}"))
        .ok()?;
    let (userlist, complaints) = Userlist::parse(&text);
    for complaint in complaints {
        log::error!("{path}:{}: {}", complaint.line, complaint.why);
    }
    Some(userlist)
}

#[cfg(test)]
mod tests;
