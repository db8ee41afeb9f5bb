//! How a throw-away server is set up, as the text of its two files.
//!
//! postgresql.conf is written whole: what initdb put there is a commented list of defaults. What
//! the server stores need not survive a crash, so everything that waits for a disk is off.
//!
//! Knows nothing of processes or folders.

use std::path::Path;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The method in pg_hba.conf for everybody: "trust", "password", "md5" or "scram-sha-256".
    ///
    /// With "trust", every user of this machine can reach the server by TCP, as superuser.
    pub auth: &'static str,
    /// The password of the superuser `postgres`; with "trust" it is not set.
    pub password: String,
    /// Lines for the top of pg_hba.conf, where they win over `auth`, in force from the start.
    pub rules: Vec<String>,
    /// The server's `max_connections`.
    pub max_connections: u32,
    /// More settings for postgresql.conf, as name and value; they win over all others.
    pub settings: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auth: "trust",
            password: "scratch".to_owned(),
            rules: Vec::new(),
            max_connections: 100,
            settings: Vec::new(),
        }
    }
}

impl Options {
    /// The text of postgresql.conf.
    pub(crate) fn settings_file(&self, port: u16, socket_dir: &Path) -> String {
        let password_encryption = if self.auth == "md5" { "md5" } else { "scram-sha-256" };
        let fixed = [
            ("listen_addresses", "127.0.0.1"),
            ("port", &port.to_string()),
            ("unix_socket_directories", &socket_dir.to_string_lossy()),
            ("max_connections", &self.max_connections.to_string()),
            ("password_encryption", password_encryption),
            ("shared_buffers", "32MB"),
            ("fsync", "off"),
            ("synchronous_commit", "off"),
            ("full_page_writes", "off"),
            ("log_line_prefix", "%m [%p] %q%u@%d "),
            ("lc_messages", "C"),
            ("timezone", "UTC"),
        ];
        let wished = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fixed.into_iter().chain(wished).map(|(name, value)| setting(name, value)).collect()
    }
}

/// The text of pg_hba.conf: some rules, then one method for everybody who comes from this machine.
pub(crate) fn hba_file(rules: &[String], method: &str) -> String {
    let special = rules.iter().map(|rule| format!("{rule}\n"));
    let general = ["all", "replication"].map(|database| {
        format!("local {database} all {method}\nhost {database} all 127.0.0.1/32 {method}\n")
    });
    special.chain(general).collect()
}

/// One line of postgresql.conf.
pub(crate) fn setting(name: &str, value: &str) -> String {
    format!("{name} = '{}'\n", escape(value))
}

/// Quotes inside of '…', in postgresql.conf and in connection strings alike.
pub(crate) fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests;
