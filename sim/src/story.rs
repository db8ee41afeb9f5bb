//! What has happened in a world, told line by line: the last lines are printed when a run fails.
//!
//! A sweep runs without a story; the seed that fails is run again with one.

use std::collections::VecDeque;

/// The most lines that are kept.
const LINES_MAX: usize = 100_000;

/// The last lines of what has happened, or nothing where nobody listens.
#[derive(Debug)]
pub(crate) struct Story {
    lines: VecDeque<String>,
    told: bool,
}

impl Story {
    pub(crate) fn new(told: bool) -> Self {
        Self { lines: VecDeque::new(), told }
    }

    /// Whether somebody listens; else a line need not be put together.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    pub(crate) fn line(&mut self, flow: u64, text: &str) {
        if self.told {
            if self.lines.len() == LINES_MAX {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{:>12.3} ms  {text}", flow as f64 / 1000.0));
        }
    }

    /// The last `count` lines.
    pub(crate) fn end(&self, count: usize) -> impl Iterator<Item = &str> {
        let first = self.lines.len().saturating_sub(count);
        self.lines.iter().skip(first).map(String::as_str)
    }
}
