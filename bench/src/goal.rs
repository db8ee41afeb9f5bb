//! The goals of the project as comparisons of medians.
//!
//! A goal holds one figure of one target against the same figure of another, or against a fixed
//! value. Goals whose figures were not measured are left out, never counted as met.

use crate::sample::{Figure, Samples};
use crate::target::Target;

/// One comparison.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    pub(crate) scenario: String,
    pub(crate) figure: Figure,
    pub(crate) ours: Target,
    pub(crate) bound: Bound,
}

/// What a figure is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// At most this many times the other's.
    AtMost(f64, Target),
    /// At least this many times the other's.
    AtLeast(f64, Target),
    /// At most this value.
    Limit(f64),
}

/// How a goal stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Standing {
    /// The goal in words.
    pub(crate) goal: String,
    /// The ratio, or the value where the bound is a fixed one.
    pub(crate) reached: f64,
    pub(crate) is_met: bool,
}

impl Goal {
    /// Judges a goal; None if a figure is missing.
    pub(crate) fn standing(&self, samples: &Samples) -> Option<Standing> {
        let of = |target| samples.median(&self.scenario, target, self.figure);
        let ours = of(self.ours)?;
        let name = format!("{} {}: {}", self.scenario, self.ours, self.figure.name());
        let (goal, reached, is_met) = match self.bound {
            Bound::AtMost(times, other) => {
                let ratio = ours / of(other)?;
                (format!("{name} ≤ {times:.2} × {other}"), ratio, ratio <= times)
            }
            Bound::AtLeast(times, other) => {
                let ratio = ours / of(other)?;
                (format!("{name} ≥ {times:.2} × {other}"), ratio, ratio >= times)
            }
            Bound::Limit(most) => (format!("{name} ≤ {most}"), ours, ours <= most),
        };
        Some(Standing { goal, reached, is_met })
    }
}

/// The goals of a peak run: one worker, the pooler alone on its core.
pub(crate) fn peak(scenarios: &[String]) -> Vec<Goal> {
    let goals = |scenario: &String| {
        [
            cpu(scenario, Bound::AtMost(0.80, Target::PgBouncer(1))),
            cpu(scenario, Bound::AtMost(1.20, Target::Relay)),
        ]
    };
    scenarios.iter().flat_map(goals).collect()
}

fn cpu(scenario: &str, bound: Bound) -> Goal {
    let scenario = scenario.to_owned();
    Goal { scenario, figure: Figure::Cpu, ours: Target::Pgweir(1), bound }
}

#[cfg(test)]
mod tests;
