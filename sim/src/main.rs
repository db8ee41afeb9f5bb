//! The simulator: whole engines under a virtual clock, with fake clients and fake servers, from a
//! seed.
//!
//! ```text
//! sim                           256 seeds, and a table of what has happened in them
//! sim --seeds 10000 --from 256  as many as you like
//! sim SEED [--lines 80]         one seed; when it fails, the smallest failing story that was found
//! sim --mutants [NAME]          planted faults, each of which must be found
//! ```
//!
//! Everything that the pooler promises is checked from outside; see `oracle`.

#![forbid(unsafe_code)]

mod app;
mod mutants;
mod net;
mod operator;
mod oracle;
mod params;
mod plan;
mod postgres;
mod random;
mod statement;
mod story;
mod sweep;
mod tally;
#[cfg(test)]
mod tests;
mod world;

use std::process::ExitCode;

use plan::Plan;
use tally::Tally;

fn main() -> ExitCode {
    match Order::parse(std::env::args().skip(1)) {
        Some(Order::Seed { seed, lines }) => one(seed, lines),
        Some(Order::Seeds { from, count, brief }) => many(from, count, brief),
        Some(Order::Mutants(only)) => mutants::plant_all(&only),
        None => {
            eprintln!(
                "usage: sim [SEED [--lines COUNT] | --seeds COUNT [--from SEED] | --mutants [NAME]]"
            );
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for.
enum Order {
    Seed { seed: u64, lines: usize },
    Seeds { from: u64, count: u64, brief: bool },
    Mutants(String),
}

impl Order {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let (mut from, mut count, mut brief) = (0, 256, false);
        let (mut lines, mut seed) = (LINES, None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seeds" => count = words.next()?.parse().ok()?,
                "--from" => from = words.next()?.parse().ok()?,
                "--brief" => brief = true,
                "--mutants" => return Some(Self::Mutants(words.next().unwrap_or_default())),
                "--lines" => lines = words.next()?.parse().ok()?,
                word => seed = Some(word.parse().ok()?),
            }
        }
        Some(seed.map_or(Self::Seeds { from, count, brief }, |seed| Self::Seed { seed, lines }))
    }
}

fn one(seed: u64, lines: usize) -> ExitCode {
    let plan = Plan::new(seed);
    let run = sweep::run(plan.clone(), 0);
    let Some(failure) = run.failure else {
        print(&run.tally);
        println!("sim {seed}: every promise was kept (digest {:016x})", run.digest);
        return ExitCode::SUCCESS;
    };
    let smaller = silently(|| sweep::shrink(plan, &failure));
    let told = silently(|| sweep::run(smaller.clone(), lines));
    for line in &told.story {
        println!("{line}");
    }
    println!("sim {seed}: {}", told.failure.unwrap_or(failure));
    println!("{smaller}");
    ExitCode::FAILURE
}

fn many(from: u64, count: u64, brief: bool) -> ExitCode {
    match sweep::sweep(from, count) {
        Ok(tally) => {
            print(&tally);
            println!("{count} seeds from {from}: every promise was kept");
            ExitCode::SUCCESS
        }
        Err((seed, failure)) => {
            println!("sim {seed}: {failure}");
            if brief {
                return ExitCode::FAILURE;
            }
            one(seed, LINES)
        }
    }
}

fn print(tally: &Tally) {
    for (name, text, count) in tally.rows() {
        println!("{count:>9}  {name:<22} {text}");
    }
}

/// So many lines of a story are worth reading.
const LINES: usize = 80;

/// Runs something of which the panics need not be seen.
fn silently<T>(work: impl FnOnce() -> T) -> T {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = work();
    std::panic::set_hook(hook);
    done
}
