//! What one reload builds: everything that all engines read and none changes.

use std::sync::Arc;

use auth::Userlist;
use config::Config;

/// The configuration in force, shared by all workers and replaced as a whole.
#[derive(Clone)]
pub struct Setup {
    /// The settings.
    pub config: Config,
    /// The users of `auth_file`.
    pub userlist: Arc<Userlist>,
    /// The first line of `--version`, which SHOW VERSION repeats.
    pub version: Arc<str>,
    /// The name of this host, for `application_name_add_host`.
    pub host: Arc<str>,
    /// The user id of the process: its owner may enter the console over a Unix socket.
    pub uid: u32,
}
