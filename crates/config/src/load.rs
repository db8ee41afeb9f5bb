//! From the main file to a [`Config`] or every complaint about it.
//!
//! ```text
//! path ──► read ──► lines ──► [pgbouncer] ──► Settings::set
//!            ▲        │       [databases], [users], [peers] ──► entries
//!            └────────┘ %include, at most 10 deep; the section in force goes in and comes out
//! environment ──► settings of our own, which come before the file
//! ```
//!
//! One complaint is enough to refuse the whole: a reload changes everything or nothing. The
//! settings start from their defaults, so that a line taken out of the file takes its effect with
//! it. Knows no file system: `read` resolves and reads what `%include` names.

use crate::entries::{self, Findings};
use crate::ini::{self, Line};
use crate::settings::{Row, Settings, Standing, TABLE};
use crate::{Complaint, Config};

/// Loads the configuration from the file `path` and the files it includes, without an environment.
///
/// # Errors
///
/// Every complaint, in the order of reading.
pub fn load(
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Config, Vec<Complaint>> {
    load_in(path, &|_| None, read)
}

/// Loads the configuration from the file `path`, the files it includes, and the environment.
///
/// `read` returns the content of a file, or why it cannot be read; `variable` the value of an
/// environment variable: `PGWEIR_NAME` comes before the line for `name` in the file, if PgBouncer
/// has no such setting, so that one file can serve both. What is odd, but accepted, stands in
/// [`Config::warnings`].
///
/// # Errors
///
/// Every complaint, in the order of reading.
pub fn load_in(
    path: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Config, Vec<Complaint>> {
    let mut loading = Loading::new(path, read);
    let mut outcome = loading.file(path);
    if outcome.is_ok() && !loading.met_main {
        outcome = Err("main section missing from config file".to_owned());
    }
    if let Err(why) = outcome {
        loading.complain("", why);
    }
    loading.environment(variable);
    loading.warn_of_later(path);
    if loading.complaints.is_empty() { Ok(loading.config) } else { Err(loading.complaints) }
}

/// A load under way.
struct Loading<'a> {
    read: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    /// The main file.
    main: String,
    /// The file being read and those that include it, outermost first.
    open: Vec<String>,
    /// How many files were read.
    files: u32,
    line: u32,
    section: Section,
    /// Whether `[pgbouncer]` was met.
    met_main: bool,
    config: Config,
    complaints: Vec<Complaint>,
    /// Keys of entries that do not work yet, with the names of their entries.
    later: Vec<String>,
}

/// The section in force.
#[derive(Clone, Copy)]
enum Section {
    /// No section yet.
    Outside,
    Pgbouncer,
    Databases,
    Users,
    Peers,
    /// A section that was complained about; its entries are not read.
    Refused,
}

impl<'a> Loading<'a> {
    fn new(path: &str, read: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Self {
        let pgbouncer = Settings { conffile: Some(path.to_owned()), ..Settings::default() };
        Self {
            read,
            main: path.to_owned(),
            open: Vec::new(),
            files: 0,
            line: 0,
            section: Section::Outside,
            met_main: false,
            config: Config { pgbouncer, ..Config::default() },
            complaints: Vec::new(),
            later: Vec::new(),
        }
    }

    fn file(&mut self, path: &str) -> Result<(), String> {
        if self.open.iter().any(|open| open == path) {
            return Err(format!("file \"{path}\" includes itself"));
        }
        if self.open.len() > NESTING_MAX {
            return Err("include nesting level too deep".to_owned());
        }
        if self.files >= FILES_MAX {
            return Err(format!("more than {FILES_MAX} files are included"));
        }
        let bytes =
            (self.read)(path).map_err(|why| format!("could not load file \"{path}\": {why}"))?;
        self.files += 1;
        self.open.push(path.to_owned());
        for (number, line) in ini::lines(&bytes) {
            self.line = number;
            self.take(line);
        }
        self.open.pop();
        self.line = 0;
        Ok(())
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Section(name) => self.enter(&name),
            Line::Entry { key, value } => self.entry(&key, &value),
            Line::Broken(why) => self.complain("", why.to_owned()),
            Line::Include(path) => {
                let line = self.line;
                let outcome = self.file(&path);
                self.line = line;
                if let Err(why) = outcome {
                    self.complain("", why);
                }
            }
        }
    }

    fn enter(&mut self, name: &str) {
        self.section = match name {
            "pgbouncer" => Section::Pgbouncer,
            "databases" => Section::Databases,
            "users" => Section::Users,
            "peers" => Section::Peers,
            _ => Section::Refused,
        };
        match self.section {
            Section::Pgbouncer if self.met_main => {
                self.warn("", "section [pgbouncer] is repeated: its settings are added".to_owned());
            }
            Section::Pgbouncer => self.met_main = true,
            Section::Refused => self.complain("", format!("invalid section \"{name}\"")),
            Section::Outside | Section::Databases | Section::Users | Section::Peers => {}
        }
    }

    fn entry(&mut self, key: &str, value: &str) {
        match self.section {
            Section::Pgbouncer => {
                if let Err(why) = self.config.pgbouncer.set(key, value) {
                    self.complain(key, why);
                }
            }
            Section::Databases => {
                let database = self.parsed(key, value, entries::parse_database);
                if self.config.databases.put(database).is_some() {
                    self.warn(key, "database is repeated: the last entry counts".to_owned());
                }
            }
            Section::Users => {
                let user = self.parsed(key, value, entries::parse_user);
                if self.config.users.put(user).is_some() {
                    self.warn(key, "user is repeated: the last entry counts".to_owned());
                }
            }
            Section::Peers => {
                let peer = self.parsed(key, value, entries::parse_peer);
                if self.config.peers.put(peer).is_some() {
                    self.warn(key, "peer is repeated: the last entry counts".to_owned());
                }
            }
            Section::Outside => self.complain(key, format!("value without section: {key}")),
            Section::Refused => {}
        }
    }

    /// Reads an entry. PgBouncer: a repeated one replaces the earlier one, with nothing kept of it.
    fn parsed<Entry>(
        &mut self,
        name: &str,
        text: &str,
        parse: fn(&str, &str, &mut Findings) -> Entry,
    ) -> Entry {
        let mut findings = Findings::default();
        let entry = parse(name, text, &mut findings);
        for why in findings.complaints {
            self.complain(name, why);
        }
        self.later.extend(findings.later.iter().map(|key| format!("{name}: {key}")));
        entry
    }

    /// Our own settings may come from the environment, and then the file's do not count.
    fn environment(&mut self, variable: &dyn Fn(&str) -> Option<String>) {
        for row in TABLE.iter().filter(|row| row.standing == Standing::Own) {
            let name = format!("PGWEIR_{}", row.key.to_ascii_uppercase());
            let Some(value) = variable(&name) else { continue };
            if let Err(why) = self.config.pgbouncer.set(row.key, &value) {
                let file = "environment".to_owned();
                self.complaints.push(Complaint { file, line: 0, key: name, why });
            }
        }
    }

    /// One warning for all that is set and does not work yet.
    fn warn_of_later(&mut self, path: &str) {
        let defaults = Settings::default();
        let settings = &self.config.pgbouncer;
        let is_set =
            |row: &&Row| row.standing == Standing::Later && !settings.agrees(&defaults, row);
        let mut names: Vec<String> =
            TABLE.iter().filter(is_set).map(|row| row.key.to_owned()).collect();
        names.append(&mut self.later);
        if !self.config.peers.is_empty() {
            names.push("[peers]".to_owned());
        }
        if !names.is_empty() {
            let why = format!("set, but without effect yet: {}", names.join(", "));
            let file = path.to_owned();
            self.config.warnings.push(Complaint { file, line: 0, key: String::new(), why });
        }
    }

    fn complain(&mut self, key: &str, why: String) {
        let complaint = self.here(key, why);
        self.complaints.push(complaint);
    }

    fn warn(&mut self, key: &str, why: String) {
        let warning = self.here(key, why);
        self.config.warnings.push(warning);
    }

    fn here(&self, key: &str, why: String) -> Complaint {
        let file = self.open.last().unwrap_or(&self.main).clone();
        Complaint { file, line: self.line, key: key.to_owned(), why }
    }
}

/// How many files may be open at once below the main file (as PgBouncer).
const NESTING_MAX: usize = 10;

/// How many files one load reads, since files that include each other twice would double at every
/// level.
const FILES_MAX: u32 = 1000;

#[cfg(test)]
mod tests;
