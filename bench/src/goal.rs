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

/// The goals of a real run: one worker against one PgBouncer, two against two.
pub(crate) fn real() -> Vec<Goal> {
    let mut goals = Vec::new();
    for scenario in ["S64", "S256", "E64", "E256"] {
        let goal =
            |figure, ours, bound| Goal { scenario: scenario.to_owned(), figure, ours, bound };
        let (one, two) = (Target::Pgweir(1), Target::Pgweir(2));
        let (bouncer, bouncers) = (Target::PgBouncer(1), Target::PgBouncer(2));
        goals.extend([
            goal(Figure::Cpu, one, Bound::AtMost(0.90, bouncer)),
            goal(Figure::Syscalls, one, Bound::Limit(4.3)),
            goal(Figure::P99, one, Bound::AtMost(1.0, bouncer)),
            goal(Figure::Throughput, two, Bound::AtLeast(1.0, bouncers)),
            goal(Figure::P99, two, Bound::AtMost(1.0, bouncer)),
        ]);
    }
    for scenario in ["C16", "CS16"] {
        goals.push(cpu(scenario, Bound::AtMost(1.0, Target::PgBouncer(1))));
        goals.push(Goal {
            figure: Figure::Throughput,
            ..cpu(scenario, Bound::AtLeast(1.0, Target::PgBouncer(1)))
        });
    }
    goals.push(Goal { figure: Figure::Idle, ..cpu("I1000", Bound::Limit(1500.0)) });
    goals.push(Goal {
        figure: Figure::CpuPerVolume,
        ..cpu("BIG4", Bound::AtMost(0.60, Target::PgBouncer(1)))
    });
    goals
}

fn cpu(scenario: &str, bound: Bound) -> Goal {
    let scenario = scenario.to_owned();
    Goal { scenario, figure: Figure::Cpu, ours: Target::Pgweir(1), bound }
}

#[cfg(test)]
mod tests;
