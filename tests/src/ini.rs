//! What a pooler of a test is configured with, as the text of its two files.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use scratch::Postgres;

use crate::pooler::{self, Pooler};

/// The configuration of one pooler.
#[derive(Debug, Clone)]
pub struct Ini {
    settings: Vec<(String, String)>,
    databases: Vec<String>,
    users: Vec<String>,
    secrets: Vec<(String, String)>,
    raw: Option<String>,
    environment: Vec<(String, String)>,
}

/// How a pooler that did not want to start has ended.
#[derive(Debug)]
pub struct Refused {
    /// Its exit code.
    pub code: Option<i32>,
    /// What it has logged.
    pub log: String,
}

/// The user, and its password, that may do everything on the console.
pub(crate) const CONSOLE: &str = "console";

impl Ini {
    /// A pooler in transaction mode with two workers in front of a server, by TCP; everybody is
    /// trusted, and every database of the server can be named.
    pub fn new(server: &Postgres) -> Self {
        Self::bare()
            .database(&format!("* = host=127.0.0.1 port={}", server.port))
            .user("postgres", "")
    }

    /// The same without databases and users.
    pub fn bare() -> Self {
        let settings = [
            ("listen_addr", "127.0.0.1"),
            ("auth_type", "trust"),
            ("pool_mode", "transaction"),
            ("worker_threads", "2"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            settings: settings.to_vec(),
            databases: Vec::new(),
            users: Vec::new(),
            secrets: Vec::new(),
            raw: None,
            environment: Vec::new(),
        }
    }

    /// With a setting, which replaces an earlier value.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Display) -> Self {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// With a line of `[databases]`.
    #[must_use]
    pub fn database(mut self, line: &str) -> Self {
        self.databases.push(line.to_owned());
        self
    }

    /// With a user in `auth_file`; an earlier secret is replaced.
    #[must_use]
    pub fn user(mut self, name: &str, secret: &str) -> Self {
        self.secrets.retain(|(known, _)| known != name);
        self.secrets.push((name.to_owned(), secret.to_owned()));
        self
    }

    /// With a line of `[users]`.
    #[must_use]
    pub fn user_settings(mut self, line: &str) -> Self {
        self.users.push(line.to_owned());
        self
    }

    /// With this text behind the rest of the file.
    #[must_use]
    pub fn raw(mut self, text: &str) -> Self {
        self.raw = Some(text.to_owned());
        self
    }

    /// With an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts a pooler.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&self) -> Pooler {
        Pooler::start(self)
    }

    /// Starts a pooler that is to refuse, and waits for its end.
    ///
    /// # Panics
    /// If it does not end by itself.
    pub fn refuse(&self) -> Refused {
        pooler::refuse(self)
    }

    /// The environment variables, besides those of the test itself.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.environment.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The port that a test insists on.
    pub(crate) fn listen_port(&self) -> Option<u16> {
        let setting = self.settings.iter().find(|(name, _)| name == "listen_port");
        setting.and_then(|(_, value)| value.parse().ok())
    }

    /// Writes the two files into a folder.
    pub(crate) fn write(&self, folder: &Path, port: u16) {
        let path = |name: &str| folder.join(name);
        let mut text = format!("[pgbouncer]\nlisten_port = {port}\n");
        text += &format!("unix_socket_dir = {}\n", folder.display());
        text += &format!("auth_file = {}\n", path("userlist.txt").display());
        for (name, value) in &self.settings {
            text += &format!("{name} = {value}\n");
        }
        text += &format!("admin_users = {CONSOLE}\n");
        for (section, lines) in [("databases", &self.databases), ("users", &self.users)] {
            text += &format!("\n[{section}]\n{}\n", lines.join("\n"));
        }
        text += self.raw.as_deref().unwrap_or("");
        let quote = |text: &str| text.replace('"', "\"\"");
        let console = (CONSOLE.to_owned(), CONSOLE.to_owned());
        let secrets = self.secrets.iter().chain([&console]);
        let list: String = secrets
            .map(|(name, secret)| format!("\"{}\" \"{}\"\n", quote(name), quote(secret)))
            .collect();
        // As a whole, so that a reload never sees half a file.
        for (name, text) in [("pgweir.ini", text), ("userlist.txt", list)] {
            fs::write(path("unfinished"), text).expect("a file in a folder of ours");
            fs::rename(path("unfinished"), path(name)).expect("a file in a folder of ours");
        }
    }
}
