//! The order of runs: targets take turns within a round, so that a drift of the machine hits all.
//!
//!     round 1: A B C   A B C   …        one group for each scenario
//!     round 2: B C A   B C A   …
//!
//! A run that fails is told and left out, and the others go on. Knows nothing of what a run is.

use anyhow::Result;

use crate::interrupt::Interrupt;
use crate::sample::{Sample, Samples};
use crate::target::Target;

/// What came of all runs.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) samples: Samples,
    /// What went wrong, a line for each run that failed.
    pub(crate) failures: Vec<String>,
}

impl Session {
    /// Measures every target of every scenario once a round; the measure is told the round, from 0.
    ///
    /// Fails only when the bench is asked to stop.
    pub(crate) fn run<S>(
        rounds: usize,
        plan: &[(S, Vec<Target>)],
        interrupt: &Interrupt,
        mut measure: impl FnMut(usize, &S, Target) -> Result<Sample>,
    ) -> Result<Self> {
        let mut session = Self::default();
        for round in 0..rounds {
            for (scenario, targets) in plan {
                for turn in 0..targets.len() {
                    let target = targets[(round + turn) % targets.len()];
                    let outcome = measure(round, scenario, target);
                    interrupt.check()?;
                    session.note(round, outcome);
                }
            }
        }
        Ok(session)
    }

    fn note(&mut self, round: usize, outcome: Result<Sample>) {
        let round = round + 1;
        match outcome {
            Ok(sample) => {
                eprintln!("round {round} {}", sample.line());
                self.samples.0.push(sample);
            }
            Err(error) => {
                let line = format!("round {round}: {error:#}");
                eprintln!("{line}");
                self.failures.push(line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
