//! What the demo prints.
//!
//! ```text
//!                                   direct    pgweir
//!   queries per second                 303     5,442     18x   what this machine gets done
//! ```
//!
//! Bold type and the line that says what is being measured are for terminals only. Knows no more
//! of the figures than how to write and to compare them.

use std::cell::Cell;
use std::env;
use std::io::{IsTerminal, Write};

use super::Unfinished;

/// A figure of both ways, with what it means to a user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) label: &'static str,
    pub(crate) direct: f64,
    pub(crate) pooled: f64,
    pub(crate) meaning: &'static str,
}

/// Standard output, and standard error for what need not be kept.
pub(crate) struct Page {
    is_bold: bool,
    progress: Cell<Progress>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// There is no terminal to show it on.
    Hidden,
    Shown,
    Cleared,
}

impl Page {
    /// Looks at where the output goes.
    pub(crate) fn new() -> Self {
        let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_none_or(|term| term == "dumb");
        let is_shown = std::io::stderr().is_terminal() && !is_plain;
        let progress = if is_shown { Progress::Cleared } else { Progress::Hidden };
        Self {
            is_bold: std::io::stdout().is_terminal() && !is_plain,
            progress: Cell::new(progress),
        }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// When it cannot be written, as when its reader has gone.
    pub(crate) fn line(&self, line: &str) -> Result<(), Unfinished> {
        self.clear_progress();
        let mut out = std::io::stdout();
        writeln!(out, "{}", line.trim_end()).map_err(Unfinished::io("writing"))
    }

    /// Writes a line that stands out.
    ///
    /// # Errors
    /// As for [`Page::line`].
    pub(crate) fn title(&self, line: &str) -> Result<(), Unfinished> {
        if self.is_bold { self.line(&format!("\x1b[1m{line}\x1b[0m")) } else { self.line(line) }
    }

    /// Writes figures under a title.
    ///
    /// # Errors
    /// As for [`Page::line`].
    pub(crate) fn table(&self, title: &str, rows: &[Row]) -> Result<(), Unfinished> {
        self.line("")?;
        self.title(title)?;
        self.line(&columns("", "direct", "pgweir", "", ""))?;
        rows.iter().try_for_each(|row| self.line(&row.text()))
    }

    /// Shows on a terminal what is going on, until something else is written.
    pub(crate) fn show_progress(&self, doing: &str) {
        self.clear_progress();
        if self.progress.get() == Progress::Cleared {
            // Nobody misses it if it cannot be written.
            let _ = write!(std::io::stderr(), "{doing} ...");
            self.progress.set(Progress::Shown);
        }
    }

    /// Takes away what shows the progress.
    pub(crate) fn clear_progress(&self) {
        if self.progress.get() == Progress::Shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.progress.set(Progress::Cleared);
        }
    }
}

impl Row {
    fn text(&self) -> String {
        let Self { label, direct, pooled, meaning } = *self;
        columns(label, &figure(direct), &figure(pooled), &factor(direct, pooled), meaning)
    }
}

fn columns(label: &str, direct: &str, pooled: &str, factor: &str, meaning: &str) -> String {
    format!("  {label:<32}{direct:>10}{pooled:>10}{factor:>8}   {meaning}")
}

/// A number with three digits or more, as "5,442", "13.2" or "0.735".
fn figure(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        ..1.0 => format!("{number:.3}"),
        1.0..100.0 if number.fract() != 0.0 => format!("{number:.1}"),
        _ => with_commas(&format!("{number:.0}")),
    }
}

fn with_commas(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How the second number compares with the first, as "18x" or "1/18".
fn factor(first: f64, second: f64) -> String {
    let (ratio, is_more) =
        if second >= first { (second / first, true) } else { (first / second, false) };
    if !ratio.is_finite() {
        return String::new();
    }
    let ratio =
        if ratio < 9.95 { format!("{ratio:.1}") } else { with_commas(&format!("{ratio:.0}")) };
    if is_more { format!("{ratio}x") } else { format!("1/{ratio}") }
}

#[cfg(test)]
mod tests;
