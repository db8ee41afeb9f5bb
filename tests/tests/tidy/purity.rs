//! The pure crates do not touch the world, so that the simulator can be the world.
//!
//! wire, auth, config, sql and engine open no socket and no file, read no clock, start no thread,
//! share no memory, draw no random number and depend on no order of a hash table. One room, the
//! ledger of limits, is what workers share: it alone may lock and count atomically.

use crate::Fault;
use crate::scan::Source;

const PURE: &[&str] = &["wire", "auth", "config", "sql", "engine"];
const LEDGER: &str = "crates/engine/src/pool/ledger";

/// Modules of `std` that are the world.
const MODULES: &[(&str, &str)] = &[
    ("env", "what the environment says is an input"),
    ("fs", "files are read by the caller"),
    ("net", "sockets belong to the shell; addresses are in core::net"),
    ("process", "processes belong to the shell"),
    ("thread", "threads belong to the shell"),
];

/// Words that are the world wherever they come from.
const WORDS: &[(&str, &str)] = &[
    ("Instant", "time is an input: `now` comes last"),
    ("SystemTime", "time is an input: `now` comes last"),
    ("rand", "random bytes come from the seed"),
    ("getrandom", "random bytes come from the seed"),
    ("RandomState", "hash seeds are given at construction"),
    ("thread_local", "state belongs to a struct"),
    ("OnceLock", "state belongs to a struct"),
    ("LazyLock", "state belongs to a struct"),
    ("unsafe", "pure crates need none"),
];

/// Words of shared memory, which the ledger may use.
const SHARING: &[&str] = &["Mutex", "RwLock", "Condvar"];

pub(crate) fn faults(source: &Source) -> Vec<Fault> {
    let is_pure = PURE.iter().any(|name| source.path.starts_with(&format!("crates/{name}/src/")));
    if !is_pure || source.is_test() {
        return Vec::new();
    }
    let banned = (0..source.tokens.len()).filter_map(|at| {
        let what = banned(source, at)?;
        Some(Fault::new(source.path, source.tokens[at].line, what))
    });
    banned.chain(map_orders(source)).collect()
}

fn banned(source: &Source, at: usize) -> Option<String> {
    let word = source.token(at);
    if let Some((_, why)) = WORDS.iter().find(|(banned, _)| *banned == word) {
        return Some(format!("{word}: {why}"));
    }
    let is_sharing = SHARING.contains(&word) || word.starts_with("Atomic");
    if is_sharing && !source.path.starts_with(LEDGER) {
        return Some(format!("{word}: workers share the ledger only"));
    }
    if word == "static" && source.token(at + 1) == "mut" {
        return Some("static mut: state belongs to a struct".to_owned());
    }
    let (module, why) = MODULES.iter().find(|(module, _)| names_module(source, at, module))?;
    Some(format!("std::{module}: {why}"))
}

/// Recognises `std::fs` and `std::{io, fs::File}`.
fn names_module(source: &Source, at: usize, module: &str) -> bool {
    if source.token(at) != "std" || source.token(at + 1) != "::" {
        return false;
    }
    if source.token(at + 2) != "{" {
        return source.token(at + 2) == module;
    }
    let mut depth = 0_usize;
    for here in at + 2..source.tokens.len() {
        match source.token(here) {
            "{" => depth += 1,
            "}" => depth -= 1,
            word if depth == 1 && word == module => return source.token(here - 1) != "::",
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    false
}

/// Whoever walks a hash table gets an order that no seed can repeat.
fn map_orders(source: &Source) -> Vec<Fault> {
    let maps: Vec<&str> =
        (0..source.tokens.len()).filter_map(|at| declared_map(source, at)).collect();
    let walked = |at: &usize| {
        let is_map = |at: usize| maps.contains(&source.token(at));
        match source.token(*at) {
            "for" => loop_over(source, *at).is_some_and(is_map),
            _ => is_map(*at) && source.token(at + 1) == "." && walks(source.token(at + 2)),
        }
    };
    let places = (0..source.tokens.len()).filter(walked);
    let what = "walks a HashMap: use a BTreeMap or a Vec, whose order is known";
    places.map(|at| Fault::new(source.path, source.tokens[at].line, what)).collect()
}

/// The name in `name: &mut HashMap<…>` or `name = std::collections::HashMap::new()`.
fn declared_map<'a>(source: &'a Source, at: usize) -> Option<&'a str> {
    if !source.token(at).ends_with("HashMap") && !source.token(at).ends_with("HashSet") {
        return None;
    }
    let is_prefix = |word: &str| ["::", "std", "collections", "&", "mut"].contains(&word);
    let before = (0..at).rev().find(|at| !is_prefix(source.token(*at)))?;
    let is_declared = [":", "="].contains(&source.token(before));
    is_declared.then(|| source.token(before.wrapping_sub(1)))
}

/// The last word before the body of `for … in &self.name {`.
fn loop_over(source: &Source, at: usize) -> Option<usize> {
    let body = (at..source.tokens.len()).find(|at| source.token(*at) == "{")?;
    let has_in = (at..body).any(|at| source.token(at) == "in");
    has_in.then(|| body - 1)
}

fn walks(method: &str) -> bool {
    let exact = ["drain", "retain", "extract_if"].contains(&method);
    let parts = ["iter", "keys", "values", "into_iter", "into_keys", "into_values"];
    exact || parts.contains(&method.trim_end_matches("_mut"))
}
