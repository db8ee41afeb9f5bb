//! The demo: a throw-away PostgreSQL with pgweir in front, and what that changes.
//!
//! ```text
//! Stage ──► the same pgbench, direct and pooled ──► Page ──► commands to try ──► Ctrl-C ──► gone
//! ```
//!
//! Every figure is measured while one looks. What runs is ended in order, however the demo ends;
//! and if it is killed, its leashes clean up.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use backends::{Backends, Found, private_kilobytes};
use interrupt::Interrupt;
use page::{Page, Row};
use pgbench::{Load, Speed};
use stage::{Stage, Way};

mod backends;
mod interrupt;
mod page;
mod pgbench;
mod pooler;
mod stage;

/// Runs the demo with the arguments that follow the word `demo`.
pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let stays = match args {
        [] => true,
        [once] if once == "--once" => false,
        [help] if help == "--help" || help == "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match show(stays) {
        // Whoever has read enough, as `head` has, is not told about it.
        Ok(()) | Err(Unfinished::Unread) => ExitCode::SUCCESS,
        Err(Unfinished::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(Unfinished::Failed(why)) => {
            eprintln!("pgweir: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Why the demo did not come to its end.
#[derive(Debug)]
enum Unfinished {
    /// Somebody has asked it to end.
    Interrupted,
    /// Its output has no reader any more.
    Unread,
    /// Something went wrong, in words for whoever sits in front of the terminal.
    Failed(String),
}

impl Unfinished {
    /// Wraps a refusal of the operating system together with what was being done.
    fn io(doing: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Failed(format!("{doing}: {error}")),
        }
    }
}

impl From<scratch::Error> for Unfinished {
    fn from(error: scratch::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

fn show(stays: bool) -> Result<(), Unfinished> {
    let (page, interrupt) = (Page::new(), Interrupt::listen()?);
    page.show_progress("starting PostgreSQL and pgweir");
    let shown = Stage::set(STAYING.clients, SERVERS, &interrupt)
        .and_then(|stage| Show { stage, page: &page, interrupt: &interrupt }.run(stays));
    page.clear_progress();
    match shown {
        // The terminal sends Ctrl-C to PostgreSQL's programs too: what they say then is no news.
        Err(Unfinished::Failed(_)) if interrupt.was_asked() => Err(Unfinished::Interrupted),
        shown => shown,
    }
}

/// A demo in the middle of its work.
struct Show<'a> {
    stage: Stage,
    page: &'a Page,
    interrupt: &'a Interrupt,
}

impl Show<'_> {
    fn run(mut self, stays: bool) -> Result<(), Unfinished> {
        self.page.title(&self.headline())?;
        self.page
            .line("Measured just now: pgbench --select-only, 100,000 rows, over Unix sockets.")?;
        self.connecting()?;
        self.staying()?;
        if stays {
            self.invite()?;
            self.stage.wait(self.interrupt)?;
        }
        Ok(())
    }

    fn headline(&self) -> String {
        let (ours, theirs) = (env!("CARGO_PKG_VERSION"), &self.stage.postgres.programs.release);
        let cpus = crate::cpus::usable();
        let plural = if cpus == 1 { "" } else { "s" };
        format!("pgweir {ours} in front of PostgreSQL {theirs}, on {cpus} CPU{plural}")
    }

    /// What it costs to connect.
    fn connecting(&self) -> Result<(), Unfinished> {
        let (direct, _) = self.measure(CONNECTING, Way::Direct)?;
        let (pooled, _) = self.measure(CONNECTING, Way::Pooled)?;
        let title = format!("{} clients that connect anew for every query", CONNECTING.clients);
        self.page.table(&title, &speeds(direct, pooled))
    }

    /// What it costs to be connected.
    fn staying(&self) -> Result<(), Unfinished> {
        let (direct, theirs) = self.measure(STAYING, Way::Direct)?;
        let (pooled, ours) = self.measure(STAYING, Way::Pooled)?;
        let mut rows = speeds(direct, pooled).to_vec();
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            rows.extend(self.sizes(theirs, ours));
        }
        let title = format!(
            "{} clients that stay connected (pgweir: {SERVERS} server connections)",
            STAYING.clients
        );
        self.page.table(&title, &rows)
    }

    fn sizes(&self, direct: Found, pooled: Found) -> Vec<Row> {
        let mut rows = vec![Row {
            label: "PostgreSQL processes",
            direct: direct.count as f64,
            pooled: pooled.count as f64,
            meaning: "what max_connections has to allow",
        }];
        let pgweir = private_kilobytes(self.stage.pooler.id());
        if let (Some(direct), Some(pooled), Some(pgweir)) =
            (direct.kilobytes, pooled.kilobytes, pgweir)
        {
            rows.push(Row {
                label: "their memory, and pgweir's, MB",
                direct: direct as f64 / 1024.0,
                pooled: (pooled + pgweir) as f64 / 1024.0,
                meaning: "what caches cannot have",
            });
        }
        rows
    }

    fn measure(&self, load: Load, way: Way) -> Result<(Speed, Option<Found>), Unfinished> {
        let (clients, seconds) = (load.clients, load.seconds);
        self.page.show_progress(&format!("{clients} clients, {}, {seconds} seconds", way.name()));
        let mut backends = Backends::new(&self.stage.postgres, way.name());
        let mut look = || if load.connects { Ok(()) } else { backends.look() };
        let speed = load.run(self.stage.pgbench(way), self.interrupt, &mut look)?;
        Ok((speed, backends.found()))
    }

    fn invite(&self) -> Result<(), Unfinished> {
        let (page, stage) = (self.page, &self.stage);
        page.line("")?;
        page.title("To try in another terminal; Ctrl-C ends and removes everything")?;
        page.line(&format!("  direct   {}", stage.psql_by_tcp(Way::Direct)))?;
        page.line(&format!("           {}", stage.psql_by_unix(Way::Direct)))?;
        page.line(&format!("  pgweir   {}", stage.psql_by_tcp(Way::Pooled)))?;
        page.line(&format!("           {}", stage.psql_by_unix(Way::Pooled)))?;
        page.line(&format!("  console  {}", stage.psql_to_console()))
    }
}

fn speeds(direct: Speed, pooled: Speed) -> [Row; 2] {
    [
        Row {
            label: "queries per second",
            direct: direct.per_second,
            pooled: pooled.per_second,
            meaning: "what this machine gets done",
        },
        Row {
            label: "milliseconds for one",
            direct: direct.milliseconds,
            pooled: pooled.milliseconds,
            meaning: "what somebody waits for it",
        },
    ]
}

const CONNECTING: Load = Load { clients: 4, connects: true, seconds: 2 };
const STAYING: Load = Load { clients: 200, connects: false, seconds: 4 };
/// The size of pgweir's pool.
const SERVERS: usize = 20;
const USAGE: &str = "\
Usage: pgweir demo [--once]

Starts a throw-away PostgreSQL with pgweir in front, measures both, and stays until Ctrl-C
for you to try them out. With --once it ends after the figures.";
