//! pgweir, a PostgreSQL connection pooler: the program around the engine.
//!
//! ```text
//! arguments ──► boot ──► run (the main thread waits; workers serve) ──► remove our files ──► exit
//! ```
//!
//! This crate owns sockets, threads, signals and files, and decides nothing: who talks to whom is
//! known to the engine. Exit codes are PgBouncer's: 0 after an orderly stop, 1 when it could not
//! start or has failed.
#![forbid(unsafe_code)]

mod accept;
mod boot;
mod cli;
mod conn;
mod cpus;
mod demo;
mod detach;
mod dial;
mod helpers;
mod identity;
mod limits;
mod linger;
mod listen;
mod log;
mod names;
mod notify;
mod post;
mod reactor;
mod reload;
mod run;
mod signals;
mod tcp;
mod traces;
mod worker;

use std::ffi::OsStr;
use std::io::Write;
use std::process::{ExitCode, exit};
use std::sync::Arc;

use cli::{Invocation, Misuse, Serve};
use log::Echo;
use traces::Traces;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| "pgweir".into());
    let program = name.display().to_string();
    match cli::parse(args) {
        Ok(Invocation::Serve(how)) if how.daemon && !detach::is_detached() => start_detached(&how),
        Ok(Invocation::Serve(how)) => serve(&how, &name),
        Ok(Invocation::Demo(args)) => demo::run(&args),
        Ok(Invocation::Help) => print(&cli::help(&program)),
        Ok(Invocation::Version) => print(&cli::version()),
        Err(Misuse::Unclear(why)) => {
            eprintln!("{program}: {why}\nTry \"{program} --help\" for more information.");
            ExitCode::FAILURE
        }
        Err(Misuse::Unsupported(why)) => {
            eprintln!("{program}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn start_detached(how: &Serve) -> ExitCode {
    log::install(Echo::Fatal, how.verbose);
    match detach::start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if !why.is_empty() {
                ::log::error!(target: log::FATAL, "{why}");
            }
            ExitCode::FAILURE
        }
    }
}

fn serve(how: &Serve, name: &OsStr) -> ExitCode {
    if how.daemon {
        detach::leave_terminal(name);
    }
    let sink = log::install(echo(how), how.verbose);
    let files = Arc::new(Traces::default());
    end_on_panic(&files);
    let outcome = boot::boot(how, sink, &files).map(run::Program::run);
    files.remove();
    if let Err(why) = &outcome {
        ::log::error!(target: log::FATAL, "{why}");
    }
    log::flush();
    // Workers may still run; they have nothing left to say.
    exit(i32::from(outcome.is_err()))
}

/// In the background, standard error is there until the process is up.
fn echo(how: &Serve) -> Echo {
    match how {
        Serve { daemon: true, .. } => Echo::Fatal,
        Serve { quiet: true, .. } => Echo::Nothing,
        _ => Echo::All,
    }
}

/// A panic in any thread ends the process: half a pooler is worse than none, and a supervisor
/// restarts it.
fn end_on_panic(files: &Arc<Traces>) {
    let files = Arc::clone(files);
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("?");
        ::log::error!(target: log::FATAL, "thread {name}: {panic}");
        files.remove();
        log::flush();
        exit(1)
    }));
}

fn print(text: &str) -> ExitCode {
    // A reader that has gone away is not our failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
