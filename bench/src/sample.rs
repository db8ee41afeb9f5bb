//! What a run yields: figures of one target in one scenario, and medians over the rounds.

use std::collections::{BTreeMap, BTreeSet};

use crate::syscalls::Calls;
use crate::target::Target;

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Figure {
    /// Transactions per second.
    Throughput,
    /// The pooler's CPU time per transaction, user and system, all threads.
    Cpu,
    /// The user part of it.
    CpuUser,
    /// The pooler's CPU time per wall-clock time; 100 % is one core.
    Busy,
    /// Time that its core spent on anything but the pooler: the noise of a shared machine.
    Foreign,
    /// System calls of the pooler per transaction.
    Syscalls,
    /// Mean latency seen by the clients.
    Mean,
    /// Median latency.
    P50,
    /// 99th percentile of the latency.
    P99,
    /// Result bytes per second.
    Volume,
    /// The pooler's CPU time per MB (10^6 bytes) of results.
    CpuPerVolume,
    /// Private memory of the pooler per idle client.
    Idle,
}

impl Figure {
    /// The head of its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "tps",
            Self::Cpu => "CPU µs/txn",
            Self::CpuUser => "user µs/txn",
            Self::Busy => "busy %",
            Self::Foreign => "others %",
            Self::Syscalls => "syscalls/txn",
            Self::Mean => "mean ms",
            Self::P50 => "p50 ms",
            Self::P99 => "p99 ms",
            Self::Volume => "MB/s",
            Self::CpuPerVolume => "CPU µs/MB",
            Self::Idle => "B/idle client",
        }
    }

    /// Digits behind the point that mean something.
    pub(crate) fn places(self) -> usize {
        match self {
            Self::Throughput | Self::Volume | Self::CpuPerVolume | Self::Idle => 0,
            Self::Busy | Self::Foreign => 0,
            Self::Mean | Self::P50 | Self::P99 => 3,
            Self::Cpu | Self::CpuUser | Self::Syscalls => 2,
        }
    }
}

/// One run of one target.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) target: Target,
    pub(crate) scenario: String,
    pub(crate) figures: BTreeMap<Figure, f64>,
    /// System calls per transaction by name; empty when they were not counted.
    pub(crate) calls: Calls,
}

impl Sample {
    /// A sample without figures.
    pub(crate) fn new(target: Target, scenario: &str) -> Self {
        let scenario = scenario.to_owned();
        Self { target, scenario, figures: BTreeMap::new(), calls: Calls::new() }
    }

    /// The run on one line, to watch the progress by.
    pub(crate) fn line(&self) -> String {
        let figure = |(figure, value): (&Figure, &f64)| {
            format!("{value:.*} {}", figure.places(), figure.name())
        };
        let figures: Vec<String> = self.figures.iter().map(figure).collect();
        format!("{} {}: {}", self.scenario, self.target, figures.join(", "))
    }

    /// Notes the system calls that were made in this many transactions.
    pub(crate) fn take_calls(&mut self, calls: Calls, transactions: f64) {
        self.calls = calls;
        for count in self.calls.values_mut() {
            *count /= transactions;
        }
        self.figures.insert(Figure::Syscalls, self.calls.values().sum());
    }
}

/// All runs of a session of measuring.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(pub(crate) Vec<Sample>);

impl Samples {
    /// Scenarios in the order in which they were first run.
    pub(crate) fn scenarios(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.0.iter().map(|s| s.scenario.as_str()).filter(|name| seen.insert(*name)).collect()
    }

    /// Targets of a scenario, in their own order.
    pub(crate) fn targets(&self, scenario: &str) -> BTreeSet<Target> {
        self.0.iter().filter(|s| s.scenario == scenario).map(|s| s.target).collect()
    }

    /// Figures that any target of a scenario has.
    pub(crate) fn figures(&self, scenario: &str) -> BTreeSet<Figure> {
        let of_scenario = self.0.iter().filter(|s| s.scenario == scenario);
        of_scenario.flat_map(|s| s.figures.keys().copied()).collect()
    }

    /// The median over the rounds.
    pub(crate) fn median(&self, scenario: &str, target: Target, figure: Figure) -> Option<f64> {
        median(self.values(scenario, target, figure))
    }

    /// How far the rounds lie apart: the widest distance, as a share of the median.
    pub(crate) fn spread(&self, scenario: &str, target: Target, figure: Figure) -> Option<f64> {
        let values = self.values(scenario, target, figure);
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        let middle = median(values)?;
        (middle > 0.0).then(|| (most - least) / middle)
    }

    /// Medians of the system calls per transaction, the most frequent first.
    pub(crate) fn calls(&self, scenario: &str, target: Target) -> Vec<(String, f64)> {
        let runs: Vec<&Calls> =
            self.runs(scenario, target).map(|s| &s.calls).filter(|c| !c.is_empty()).collect();
        let names: BTreeSet<&String> = runs.iter().flat_map(|calls| calls.keys()).collect();
        let of = |name: &String| runs.iter().map(|c| c.get(name).copied().unwrap_or(0.0)).collect();
        let mut calls: Vec<(String, f64)> =
            names.into_iter().filter_map(|name| Some((name.clone(), median(of(name))?))).collect();
        calls.sort_by(|a, b| b.1.total_cmp(&a.1));
        calls
    }

    fn values(&self, scenario: &str, target: Target, figure: Figure) -> Vec<f64> {
        self.runs(scenario, target).filter_map(|s| s.figures.get(&figure).copied()).collect()
    }

    fn runs(&self, scenario: &str, target: Target) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |s| s.scenario == scenario && s.target == target)
    }
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(values[middle - 1], upper))
}

#[cfg(test)]
mod tests;
