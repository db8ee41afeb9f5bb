//! The demo: a throw-away PostgreSQL with pgweir in front.
//!
//! Not there yet: this is the place that the command line leads to.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the demo with the arguments that follow the word `demo`.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    eprintln!("pgweir: the demo is not there yet ({} arguments ignored)", args.len());
    ExitCode::FAILURE
}
