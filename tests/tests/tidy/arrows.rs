//! Which crate may know which.
//!
//! ```text
//! wire  auth  config  sql      leaves: they do not know each other
//!          engine              decides, on the leaves
//!       pgweir   sim           the world, real and simulated
//! ```

use crate::Fault;

/// Every crate of ours with those it may depend on, tests included.
const ARROWS: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("auth", &[]),
    ("config", &[]),
    ("sql", &[]),
    ("scratch", &[]),
    ("engine", &["wire", "auth", "config", "sql"]),
    ("pgweir", &["engine", "wire", "auth", "config", "sql", "measure", "scratch"]),
    ("sim", &["engine", "wire", "auth", "config", "sql"]),
    ("measure", &["wire", "auth", "config", "scratch"]),
    ("bench", &["wire", "auth", "config", "measure", "scratch"]),
    ("integration", &["wire", "auth", "config", "scratch"]),
    // What the fuzz targets ask, in a crate of its own so that `cargo test` can replay the corpus.
    ("properties", &["wire", "auth", "config", "sql", "engine"]),
    ("fuzz", &["properties"]),
];

pub(crate) fn faults(path: &str, text: &str) -> Vec<Fault> {
    let (mut name, mut section) = (String::new(), String::new());
    let mut found = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
        }
        if section == "package"
            && let Some(value) = line.strip_prefix("name = ")
        {
            name = value.trim_matches('"').to_owned();
        }
        let Some(dependency) = dependency(&section, line) else { continue };
        let allowed = ARROWS.iter().find(|(from, _)| *from == name);
        let is_ours = ARROWS.iter().any(|(ours, _)| *ours == dependency);
        if is_ours && !allowed.is_some_and(|(_, to)| to.contains(&dependency)) {
            let what = format!("{name} must not know {dependency}");
            found.push(Fault::new(path, index + 1, what));
        }
    }
    found
}

/// The crate in `wire.workspace = true` below a heading of dependencies, or in the heading itself.
fn dependency<'a>(section: &'a str, line: &'a str) -> Option<&'a str> {
    if section.starts_with("workspace") {
        return None;
    }
    let (before, after) = section.split_once("dependencies")?;
    let is_dependencies = before.is_empty() || before.ends_with(['-', '.']);
    if !is_dependencies {
        return None;
    }
    if let Some(name) = after.strip_prefix('.') {
        return line.starts_with('[').then_some(name);
    }
    // A renamed crate names itself last.
    if let Some((_, package)) = line.split_once("package = \"") {
        return package.split('"').next();
    }
    line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty())
}
