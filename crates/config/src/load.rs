//! From the main file to a [`Config`] or every complaint about it.
//!
//! ```text
//! path ──► read ──► lines ──► [pgbouncer] ──► Settings::set
//!            ▲        │       [databases], [users] ──► entries
//!            └────────┘ %include, at most 10 deep; the section in force goes in and comes out
//! ```
//!
//! One complaint is enough to refuse the whole: a reload changes everything or nothing. The
//! settings start from their defaults, so that a line taken out of the file takes its effect with
//! it. Knows no file system: `read` resolves and reads what `%include` names.

use crate::ini::{self, Line};
use crate::settings::Settings;
use crate::{Complaint, Config, entries};

/// Loads the configuration from the file `path` and the files it includes.
///
/// `read` returns the content of a file, or why it cannot be read. What is odd, but accepted,
/// stands in [`Config::warnings`].
///
/// # Errors
///
/// Every complaint, in the order of reading.
pub fn load(
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Config, Vec<Complaint>> {
    let mut loading = Loading::new(path, read);
    let mut outcome = loading.file(path);
    if outcome.is_ok() && !loading.met_main {
        outcome = Err("main section missing from config file".to_owned());
    }
    if let Err(why) = outcome {
        let file = path.to_owned();
        loading.complaints.push(Complaint { file, line: 0, key: String::new(), why });
    }
    if loading.complaints.is_empty() { Ok(loading.config) } else { Err(loading.complaints) }
}

/// A load under way.
struct Loading<'a> {
    read: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
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
}

/// The section in force.
#[derive(Clone, Copy)]
enum Section {
    /// No section yet.
    Outside,
    Pgbouncer,
    Databases,
    Users,
    /// A section that was complained about; its entries are not read.
    Refused,
}

impl<'a> Loading<'a> {
    fn new(path: &str, read: &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Self {
        let pgbouncer = Settings { conffile: Some(path.to_owned()), ..Settings::default() };
        Self {
            read,
            open: Vec::new(),
            files: 0,
            line: 0,
            section: Section::Outside,
            met_main: false,
            config: Config { pgbouncer, ..Config::default() },
            complaints: Vec::new(),
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
            _ => Section::Refused,
        };
        match self.section {
            Section::Pgbouncer if self.met_main => {
                self.warn("", "section [pgbouncer] is repeated: its settings are added".to_owned());
            }
            Section::Pgbouncer => self.met_main = true,
            Section::Refused if name == "peers" => {
                self.complain("", "section [peers] is not supported yet".to_owned());
            }
            Section::Refused => self.complain("", format!("invalid section \"{name}\"")),
            Section::Outside | Section::Databases | Section::Users => {}
        }
    }

    fn entry(&mut self, key: &str, value: &str) {
        match self.section {
            Section::Pgbouncer => {
                if let Err(why) = self.config.pgbouncer.set(key, value) {
                    self.complain(key, why);
                }
            }
            Section::Databases => self.database(key, value),
            Section::Users => self.user(key, value),
            Section::Outside => self.complain(key, format!("value without section: {key}")),
            Section::Refused => {}
        }
    }

    /// PgBouncer: a repeated entry replaces the earlier one, with nothing kept of it.
    fn database(&mut self, name: &str, text: &str) {
        let mut wrong = Vec::new();
        let database = entries::parse_database(name, text, &mut wrong);
        for why in wrong {
            self.complain(name, why);
        }
        match self.config.databases.iter_mut().find(|earlier| earlier.name == name) {
            Some(earlier) => {
                *earlier = database;
                self.warn(name, "database is repeated: the last entry counts".to_owned());
            }
            None => self.config.databases.push(database),
        }
    }

    fn user(&mut self, name: &str, text: &str) {
        let mut wrong = Vec::new();
        let user = entries::parse_user(name, text, &mut wrong);
        for why in wrong {
            self.complain(name, why);
        }
        match self.config.users.iter_mut().find(|earlier| earlier.name == name) {
            Some(earlier) => {
                *earlier = user;
                self.warn(name, "user is repeated: the last entry counts".to_owned());
            }
            None => self.config.users.push(user),
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
        let file = self.open.last().cloned().unwrap_or_default();
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
