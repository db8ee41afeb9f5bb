//! Every rule finds a planted fault, and leaves alone what only looks like one.

use crate::scan::Source;
use crate::{faults, shape};

/// Asserts that a file has exactly these faults, each given as "line: beginning of the text".
fn check(path: &str, text: &str, expected: &[&str]) {
    let found = faults(path, text);
    let found: Vec<String> =
        found.iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect();
    let is_same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
    assert!(is_same, "{path}: {text}\nexpected {expected:?}\nfound    {found:?}");
}

/// Checks code below an opening, so that its first line is line 2.
fn check_code(path: &str, code: &str, expected: &[&str]) {
    check(path, &format!("//! For a test.\n{code}"), expected);
}

fn function(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

#[test]
fn long_lines() {
    let line = |columns: usize| format!("// {}\n", "→".repeat(columns - 3));
    check_code("sim/src/x.rs", &line(100), &[]);
    check_code("sim/src/x.rs", &line(101), &["2: 101 columns"]);
    check_code("sim/src/x/tests.rs", &line(101), &["2: 101 columns"]);

    let data = format!("    (\"{}\", \"x\"),\n", "x".repeat(100));
    check_code("sim/src/x/tests.rs", &data, &[]);
    check_code("sim/src/x/tests.rs", &format!("x{data}"), &["2: 115 columns"]);
    check_code("sim/src/x.rs", &data, &["2: 114 columns"]);
}

#[test]
fn long_files() {
    let file = |lines: usize| "step();\n".repeat(lines - 1);
    check_code("sim/src/x.rs", &file(500), &[]);
    check_code("sim/src/x.rs", &file(501), &["1: 501 lines"]);
    check_code("sim/src/x/tests.rs", &file(2000), &[]);

    let check_ratchet = |lines, most, expected: Option<&str>| {
        let text = "step();\n".repeat(lines);
        let fault = shape::file_length(&Source::new("a.rs", &text), &[("a.rs", most)]);
        let is_same = match (&fault, expected) {
            (Some(fault), Some(expected)) => fault.what.starts_with(expected),
            (fault, expected) => fault.is_none() && expected.is_none(),
        };
        assert!(is_same, "{lines} lines, {most} tolerated: {fault:?}");
    };
    check_ratchet(600, 600, None);
    check_ratchet(601, 600, Some("601 lines; look"));
    check_ratchet(599, 600, Some("the ratchet can go from 600 to 599"));
    check_ratchet(701, 701, Some("700 lines are the wall"));
}

#[test]
fn long_functions() {
    let path = "sim/src/x.rs";
    check_code(path, &function(70), &[]);
    check_code(path, &function(71), &["2: `long` has 71 lines"]);
    check_code(path, &format!("// tidy: flat match\n{}", function(71)), &[]);
    check_code(path, &format!("// a flat match\n{}", function(71)), &["3: `long` has 71"]);
    check_code("sim/src/x/tests.rs", &function(71), &[]);

    let short = "fn short(x: [u8; 2]) -> fn(u8) { let _ = (\"{\", '{'); /* { */ }\n";
    check_code(path, &format!("{short}{}", function(70)), &[]);
    let declared = "trait T { fn declared(x: [u8; 2]); }\n";
    check_code(path, &format!("{declared}{}", "struct S {}\n".repeat(80)), &[]);
    let nested = format!("fn outer() {{\n{}}}\n", function(71));
    check_code(path, &nested, &["2: `outer` has 73", "3: `long` has 71"]);
}

#[test]
fn openings() {
    check("sim/src/x.rs", "fn x() {}\n", &["1: the file does not open"]);
    check("sim/src/x.rs", "// Plain.\n//! Late.\n", &["1: the file does not open"]);
    let much = format!("{}//!\n//! ```text\n//! ```\n", "//! Much.\n".repeat(12));
    check("sim/src/x.rs", &much, &[]);
    check("sim/src/x.rs", &"//! Much.\n".repeat(13), &["1: 13 lines of opening"]);
    check("sim/src/lib.rs", &"//! Much.\n".repeat(24), &[]);
    check("sim/src/lib.rs", &"//! Much.\n".repeat(25), &["1: 25 lines of opening"]);
    check("sim/src/x/tests.rs", "fn x() {}\n", &[]);
}

#[test]
fn tests_in_the_file() {
    check_code("sim/src/x.rs", "mod tests { }\n", &["2: tests belong into"]);
    check_code("sim/src/x.rs", "mod tests;\n", &[]);
}

#[test]
fn leftovers() {
    let path = "sim/src/x.rs";
    check_code(path, "// TODO: more\n/* FIXME */ fn x() {}\n", &["2: TODO", "3: FIXME"]);
    check_code(path, "let x = \"TODO\"; // todo list\n", &[]);
    check_code(path, "dbg!(x);\ntodo!();\n", &["2: dbg!", "3: todo!"]);
    check_code("tests/tests/x.rs", "unimplemented!()\n", &["2: unimplemented!"]);
    check_code(path, "let todo = 1; // dbg!\n", &[]);
}

#[test]
fn the_world_in_a_pure_crate() {
    let faulty = |code: &str, expected: &str| {
        for path in ["crates/wire/src/x.rs", "crates/engine/src/pool/x.rs"] {
            check_code(path, code, &[expected]);
        }
        check_code("crates/pgweir/src/x.rs", code, &[]);
        check_code("crates/engine/src/pool/tests.rs", code, &[]);
    };
    faulty("use std::time::Instant;\n", "2: Instant: time");
    faulty("use std::time::{Duration, SystemTime};\n", "2: SystemTime: time");
    faulty("use std::net::TcpStream;\n", "2: std::net: sockets");
    faulty("use std::{io, fs::File};\n", "2: std::fs: files");
    faulty("let x = std::fs::read(y);\n", "2: std::fs: files");
    faulty("std::thread::yield_now();\n", "2: std::thread: threads");
    faulty("std::process::exit(1);\n", "2: std::process: processes");
    faulty("std::env::var(x);\n", "2: std::env: what");
    faulty("x: Mutex<u8>,\n", "2: Mutex: workers");
    faulty("x: RwLock<u8>,\n", "2: RwLock: workers");
    faulty("x: AtomicU32,\n", "2: AtomicU32: workers");
    faulty("rand::random();\n", "2: rand: random");
    faulty("static mut X: u8 = 0;\n", "2: static mut: state");
    faulty("unsafe { x() }\n", "2: unsafe: pure");
}

#[test]
fn what_only_looks_like_the_world() {
    let path = "crates/engine/src/x.rs";
    check_code(path, "#![forbid(unsafe_code)]\nuse core::net::IpAddr;\n", &[]);
    check_code(path, "// An Instant, a Mutex.\nlet x = \"unsafe\";\n", &[]);
    check_code(path, "use std::{io::{self, net}, fmt};\nlet strand = 1;\n", &[]);
    check_code(path, "static NAMES: [&str; 0] = [];\n", &[]);
    let ledger = "crates/engine/src/pool/ledger.rs";
    check_code(ledger, "struct Ledger { map: Mutex<u8>, used: AtomicU32 }\n", &[]);
    check_code(ledger, "use std::sync::OnceLock;\n", &["2: OnceLock: state"]);
}

#[test]
fn the_order_of_a_hash_map() {
    let path = "crates/engine/src/x.rs";
    let field = "struct S { names: HashMap<u8, u8>, list: Vec<u8> }\n";
    let check_use = |code: &str, expected: &[&str]| {
        check_code(path, &format!("{field}{code}\n"), expected);
        check_code("sim/src/x.rs", &format!("{field}{code}\n"), &[]);
    };
    check_use("for (k, v) in &self.names { }", &["3: walks a HashMap"]);
    check_use("for k in self.names.keys() { }", &["3: walks a HashMap"]);
    check_use("self.names.retain(|_, _| true);", &["3: walks a HashMap"]);
    check_use("let x = s.names.values_mut().count();", &["3: walks a HashMap"]);
    check_use("self.names.get(&1); for x in &self.list { self.list.iter(); }", &[]);
    check_use("self.names.insert(1, 2); self.names.remove(&1);", &[]);

    let local = "let mut seen = std::collections::HashSet::new();\nfor x in seen { }\n";
    check_code(path, local, &["3: walks a HashMap"]);
    let argument = "fn f(by_name: &mut HashMap<u8, u8>) { by_name.drain(); }\n";
    check_code(path, argument, &["2: walks a HashMap"]);
}

#[test]
fn arrows() {
    let check_manifest = |name: &str, rest: &str, expected: &[&str]| {
        let text = format!("[package]\nname = \"{name}\"\n\n{rest}\n");
        check("crates/x/Cargo.toml", &text, expected);
    };
    check_manifest("wire", "[dependencies]\nsha2 = \"0.11\"", &[]);
    check_manifest("wire", "[dependencies]\nauth.workspace = true", &["5: wire must not know"]);
    check_manifest("auth", "[dev-dependencies]\nwire = { path = \"y\" }", &["5: auth must not"]);
    check_manifest("config", "[dependencies.wire]\npath = \"y\"", &["4: config must not know"]);
    check_manifest("engine", "[dependencies]\nwire.workspace = true\nconfig = \"1\"", &[]);
    check_manifest("engine", "[dependencies]\nsim.workspace = true", &["5: engine must not"]);
    check_manifest("sim", "[dependencies]\npgweir.workspace = true", &["5: sim must not know"]);
    check_manifest("scratch", "[dependencies]\nx = { package = \"wire\" }", &["5: scratch must"]);
    check_manifest("brand-new", "[dependencies]\nwire.workspace = true", &["5: brand-new must"]);
    let target = "[target.'cfg(unix)'.dependencies]\nengine.workspace = true";
    check_manifest("wire", target, &["5: wire must not know engine"]);
    check("Cargo.toml", "[workspace.dependencies]\nwire = { path = \"crates/wire\" }\n", &[]);
}

#[test]
fn words_from_elsewhere() {
    let word = concat!("/wo", "rk/");
    check("docs/x.md", &format!("See {word}x.\n"), &["1: /"]);
    check("Makefile", &format!("\n# {}\n", concat!("HOU", "SE.md")), &["2: HOU"]);
    check_code("sim/src/x.rs", &format!("let x = \"{word}\";\n"), &["2: /"]);
    check("docs/x.md", "This works/as it should.\n", &[]);
}
