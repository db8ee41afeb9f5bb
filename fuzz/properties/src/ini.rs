//! The configuration file: its lines, and the whole that they make.
//!
//! ```text
//! data ──► lines ──► written again, keys in quotes ──► the same lines
//! data ──► load  ──► Config that differs in nothing from itself, or complaints with a line
//! ```
//!
//! A file that is included is `data` once more.

use config::ini::{self, Line};
use config::{Config, diff, keep_boot_settings, load};

/// Checks that lines are numbered in order, that what was read can be written again, and that
/// loading either succeeds wholly or says where it fails.
pub fn ini(data: &[u8]) {
    check_lines(data);
    check_load(data);
}

fn check_lines(data: &[u8]) {
    let found = ini::lines(data);
    assert!(found.is_sorted_by_key(|(number, _)| *number));
    let count = data.split(|&byte| byte == b'\n').count();
    for (number, line) in found {
        assert!((1..=count).contains(&(number as usize)));
        if let Some(text) = written(&line) {
            assert_eq!(ini::lines(text.as_bytes()), [(1, line)], "{text:?}");
        }
    }
}

/// The line as text again, unless it is broken.
fn written(line: &Line) -> Option<String> {
    match line {
        Line::Section(name) => Some(format!("[{name}]")),
        Line::Include(file) => Some(format!("%include {file}")),
        Line::Entry { key, value } => Some(format!("'{}' = {value}", key.replace('\'', "''"))),
        Line::Broken(_) => None,
    }
}

fn check_load(data: &[u8]) {
    let mut reads = 0;
    let outcome = load("main.ini", &mut |_| {
        reads += 1;
        if reads > READS_MAX { Err("too many".to_owned()) } else { Ok(data.to_vec()) }
    });
    match outcome {
        Ok(config) => check_config(&config),
        Err(complaints) => {
            assert!(!complaints.is_empty());
            assert!(complaints.iter().all(|complaint| !complaint.why.is_empty()));
        }
    }
}

fn check_config(config: &Config) {
    assert_eq!(diff(config, config), []);
    assert_eq!(keep_boot_settings(config, config.clone()), *config);
    for row in config.show() {
        let shown = row.value.as_deref().unwrap_or_default();
        assert!(!shown.contains('\n'), "{} is shown in two lines", row.key);
    }
    for database in &config.databases {
        assert!((1..=63).contains(&database.name.len()) && database.name != "pgbouncer");
        assert!(database.port > 0);
    }
}

/// How often `data` stands in for an included file.
const READS_MAX: u32 = 4;
