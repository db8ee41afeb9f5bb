//! The log: PgBouncer's line format, to standard error and to a file, behind the `log` facade.
//!
//! ```text
//! any thread ──► pending bytes ──► the writer's thread ──► standard error, logfile
//!                (one short lock)   (wakes once a burst)
//! 2026-11-30 20:44:57.123 UTC [4711] LOG process up: …
//! ```
//!
//! A worker never waits for a disk: a line is formatted into memory, and when more than a megabyte
//! waits to be written, lines are dropped and counted. Nor does the main thread wait for more than
//! a moment, at its end or when it opens another file: a reader of the log that stands still must
//! not keep the process from hearing signals. Until [`Sink::spawn`] is called, lines are written at
//! once. Levels: error is ERROR, or FATAL when the target is "fatal"; info is LOG, trace
//! is NOISE.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use log::{Level, LevelFilter, Metadata, Record};

/// The target of a log record that makes an error a FATAL line.
pub(crate) const FATAL: &str = "fatal";

/// What is written to standard error, besides the log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Every line.
    All,
    /// Why the process ends.
    Fatal,
    /// Nothing.
    Nothing,
}

/// Where all log lines go.
pub(crate) struct Sink {
    pid: u32,
    echo: Echo,
    zone: TimeZone,
    pending: Mutex<Pending>,
    some: Condvar,
    done: Condvar,
    outlets: Mutex<Outlets>,
}

/// Installs the log, which is written to standard error so far.
pub(crate) fn install(echo: Echo, verbose: u32) -> &'static Sink {
    let sink = SINK.get_or_init(|| Sink::new(echo));
    // Fails only when a test has installed the log before.
    let _ = log::set_logger(sink);
    set_verbosity(verbose);
    sink
}

/// Has what waits written out, if the log is installed; gives up after a second.
pub(crate) fn flush() {
    if let Some(sink) = SINK.get() {
        sink.settle();
    }
}

/// Sets how much is logged: 0 up to LOG, 1 with DEBUG, more with NOISE.
pub(crate) fn set_verbosity(verbose: u32) {
    log::set_max_level(match verbose {
        0 => LevelFilter::Info,
        1 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    });
}

impl Sink {
    fn new(echo: Echo) -> Self {
        Self {
            pid: std::process::id(),
            echo,
            zone: TimeZone::try_system().unwrap_or(TimeZone::UTC),
            pending: Mutex::new(Pending::default()),
            some: Condvar::new(),
            done: Condvar::new(),
            outlets: Mutex::new(Outlets { file: None, stderr: echo == Echo::All }),
        }
    }

    /// Appends to this file from here on, or to none. Opening again what is open already is how a
    /// rotated file is left behind.
    ///
    /// # Errors
    /// When the file cannot be opened; the log then goes on as before.
    pub(crate) fn open(&self, path: Option<&str>) -> Result<(), String> {
        let file = match path.filter(|path| !path.is_empty()) {
            None => None,
            Some(path) => Some(
                OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path)
                    .map_err(|error| format!("could not open logfile \"{path}\": {error}"))?,
            ),
        };
        self.settle();
        let mut pending = lock(&self.pending);
        pending.file = Some(file);
        let writer = pending.writer;
        drop(pending);
        if writer {
            self.some.notify_one();
        } else {
            self.write_out();
        }
        Ok(())
    }

    /// Starts the writer's thread, which writes from here on.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn spawn(&'static self) -> std::io::Result<()> {
        thread::Builder::new().name("log".into()).spawn(|| self.write_forever())?;
        lock(&self.pending).writer = true;
        Ok(())
    }

    fn write_forever(&self) {
        loop {
            let mut pending = lock(&self.pending);
            while pending.text.is_empty() && pending.file.is_none() {
                pending = self.some.wait(pending).unwrap_or_else(PoisonError::into_inner);
            }
            drop(pending);
            self.write_out();
            // A burst of lines costs one wake-up instead of one for each line.
            thread::sleep(BREATH);
        }
    }

    /// Waits for the writer to write what waits now, but not for ever.
    fn settle(&self) {
        let pending = lock(&self.pending);
        if !pending.writer {
            drop(pending);
            return self.write_out();
        }
        let all = pending.put;
        // In vain when the log's reader stands still: then there is nobody to tell.
        let _ = self.done.wait_timeout_while(pending, PATIENCE, |pending| pending.written < all);
    }

    fn write_out(&self) {
        // Taken first, so that two callers cannot write their parts in the wrong order.
        let mut outlets = lock(&self.outlets);
        let mut pending = lock(&self.pending);
        let (text, lost) = pending.take();
        let all = pending.put;
        if let Some(file) = pending.file.take() {
            outlets.file = file;
        }
        drop(pending);
        outlets.write(&text);
        if lost > 0 {
            let line =
                self.line(Level::Warn, &format!("{lost} log lines lost: writing is too slow"));
            outlets.write(&line);
        }
        lock(&self.pending).written = all;
        self.done.notify_all();
    }

    fn line(&self, level: Level, text: &str) -> Vec<u8> {
        let mut stamp = Stamp::default();
        let mut line = Vec::new();
        stamp.write(&mut line, SystemTime::now(), &self.zone);
        write_text(&mut line, self.pid, name(level, ""), text);
        line
    }
}

impl log::Log for Sink {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = name(record.level(), record.target());
        let text = record.args().to_string();
        let mut guard = lock(&self.pending);
        let pending = &mut *guard;
        if pending.text.len() > PENDING_MAX {
            pending.lost += 1;
            return;
        }
        let was_empty = pending.text.is_empty();
        pending.put += 1;
        let start = pending.text.len();
        pending.stamp.write(&mut pending.text, SystemTime::now(), &self.zone);
        write_text(&mut pending.text, self.pid, level, &text);
        if level == FATAL_LEVEL && self.echo == Echo::Fatal {
            // Nobody may be left to read it.
            let _ = std::io::stderr().write_all(&pending.text[start..]);
        }
        let writer = pending.writer;
        drop(guard);
        if !writer {
            self.write_out();
        } else if was_empty {
            self.some.notify_one();
        }
    }

    fn flush(&self) {
        self.settle();
    }
}

/// Lines that are not written yet.
#[derive(Default)]
struct Pending {
    text: Vec<u8>,
    lost: u64,
    /// How many lines were put here, and how many of them are written.
    put: u64,
    written: u64,
    /// The file to write to from here on, or none.
    file: Option<Option<File>>,
    writer: bool,
    stamp: Stamp,
}

impl Pending {
    fn take(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.text), std::mem::take(&mut self.lost))
    }
}

struct Outlets {
    file: Option<File>,
    stderr: bool,
}

impl Outlets {
    /// A log that cannot be written is no reason to stop pooling, and there is nobody left to tell.
    fn write(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(text);
        }
        if self.stderr {
            let _ = std::io::stderr().write_all(text);
        }
    }
}

/// Writes points in time; the text of a second is worked out once.
#[derive(Default)]
struct Stamp {
    second: Option<i64>,
    date: String,
    zone: String,
}

impl Stamp {
    /// Writes `YYYY-MM-DD HH:MM:SS.mmm TZ`.
    fn write(&mut self, line: &mut Vec<u8>, at: SystemTime, zone: &TimeZone) {
        let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
        if self.second != Some(at.as_second()) {
            let local = at.to_zoned_datetime(zone.clone());
            self.second = Some(at.as_second());
            self.date = local.strftime("%Y-%m-%d %H:%M:%S").to_string();
            self.zone = local.strftime("%Z").to_string();
        }
        let millis = at.subsec_millisecond();
        // Writing to memory cannot fail.
        let _ = write!(line, "{}.{millis:03} {}", self.date, self.zone);
    }
}

/// Writes the rest of a line: ` [PID] LEVEL text`, further lines of the text set in. Names in it
/// come from anybody: control characters, with which they could fake lines or steer a terminal,
/// are replaced.
fn write_text(line: &mut Vec<u8>, pid: u32, level: &str, text: &str) {
    let is_hostile = |letter: char| letter.is_control() && !matches!(letter, '\t' | '\n');
    let text = text.trim_end_matches('\n').replace(is_hostile, "?").replace('\n', "\n\t");
    let _ = writeln!(line, " [{pid}] {level} {text}");
}

fn name(level: Level, target: &str) -> &'static str {
    match level {
        Level::Error if target == FATAL => FATAL_LEVEL,
        Level::Error => "ERROR",
        Level::Warn => "WARNING",
        Level::Info => "LOG",
        Level::Debug => "DEBUG",
        Level::Trace => "NOISE",
    }
}

/// A thread that panicked while it held the lock leaves the log usable: its last words come through
/// here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What such a line says.
const FATAL_LEVEL: &str = "FATAL";

/// The one log of the process; the `log` facade asks for a static.
static SINK: OnceLock<Sink> = OnceLock::new();

/// How many bytes may wait to be written.
const PENDING_MAX: usize = 1 << 20;
/// How long anybody waits for the writer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the writer rests after a burst.
const BREATH: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests;
