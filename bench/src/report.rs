//! The results as a page to read (Markdown) and as values to compute with (JSON).
//!
//! The page has a table for each scenario with the medians of all targets, then the goals. The JSON
//! file has every single run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::goal::{Goal, Standing};
use crate::sample::{Figure, Sample};
use crate::session::Session;
use crate::target::Target;

/// Everything that is written about a session of measuring.
#[derive(Debug)]
pub(crate) struct Report {
    /// `peak` or `real`: the heading, and the name of the files.
    pub(crate) name: &'static str,
    /// How it was measured, in a sentence or two.
    pub(crate) method: String,
    /// Versions of all programs and the machine, by name.
    pub(crate) versions: Vec<(String, String)>,
    pub(crate) session: Session,
    pub(crate) goals: Vec<Goal>,
}

impl Report {
    /// Writes both files into a folder and returns the page's path.
    pub(crate) fn save(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let page = folder.join(format!("{}.md", self.name));
        std::fs::write(&page, self.markdown())?;
        std::fs::write(folder.join(format!("{}.json", self.name)), self.json())?;
        Ok(page)
    }

    /// The page.
    pub(crate) fn markdown(&self) -> String {
        let mut page = format!("# bench {}\n\n{}\n\n", self.name, self.method);
        for (name, version) in &self.versions {
            line(&mut page, &format!("- {name}: {version}"));
        }
        for scenario in self.session.samples.scenarios() {
            line(&mut page, &format!("\n## {scenario}\n"));
            self.scenario(&mut page, scenario);
        }
        self.standings(&mut page);
        self.failures(&mut page);
        page
    }

    fn scenario(&self, page: &mut String, scenario: &str) {
        let samples = &self.session.samples;
        let figures: Vec<Figure> = samples.figures(scenario).into_iter().collect();
        let main = main_figure(&figures);
        let yardsticks: Vec<Target> = samples
            .targets(scenario)
            .into_iter()
            .filter(|target| matches!(target, Target::PgBouncer(1) | Target::Relay))
            .collect();

        let mut head = vec!["target".to_owned()];
        head.extend(figures.iter().map(|figure| figure.name().to_owned()));
        if let Some(main) = main {
            head.push(format!("spread of {}", main.name()));
            head.extend(yardsticks.iter().map(|target| format!("{} × {target}", main.name())));
        }
        row(page, &head);
        row(page, &head.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());

        for target in samples.targets(scenario) {
            let value = |figure| samples.median(scenario, target, figure);
            let mut cells = vec![target.to_string()];
            cells.extend(figures.iter().map(|figure| cell(value(*figure), figure.places())));
            if let Some(main) = main {
                let spread = samples.spread(scenario, target, main);
                cells.push(spread.map_or_else(absent, |part| format!("{:.0} %", part * 100.0)));
                cells.extend(yardsticks.iter().map(|other| {
                    let other = samples.median(scenario, *other, main);
                    cell(value(main).zip(other).map(|(ours, theirs)| ours / theirs), 2)
                }));
            }
            row(page, &cells);
        }
        self.calls(page, scenario);
    }

    fn calls(&self, page: &mut String, scenario: &str) {
        let samples = &self.session.samples;
        for target in samples.targets(scenario) {
            let calls = samples.calls(scenario, target);
            let named: Vec<String> = calls
                .iter()
                .filter(|(_, rate)| *rate >= 0.01)
                .map(|(name, rate)| format!("{name} {rate:.2}"))
                .collect();
            if !named.is_empty() {
                line(page, &format!("\n{target}: {}", named.join(", ")));
            }
        }
    }

    fn standings(&self, page: &mut String) {
        let standings = self.all_standings();
        if standings.is_empty() {
            return;
        }
        line(page, "\n## Goals\n");
        row(page, &["goal", "reached", ""].map(str::to_owned));
        row(page, &["---", "---", "---"].map(str::to_owned));
        for standing in standings {
            let verdict = if standing.is_met { "met" } else { "**missed**" };
            row(page, &[standing.goal, format!("{:.2}", standing.reached), verdict.to_owned()]);
        }
    }

    fn all_standings(&self) -> Vec<Standing> {
        self.goals.iter().filter_map(|goal| goal.standing(&self.session.samples)).collect()
    }

    fn failures(&self, page: &mut String) {
        if !self.session.failures.is_empty() {
            line(page, "\n## Failed runs\n");
        }
        for failure in &self.session.failures {
            // A failure may be of several lines: what the failed program said.
            line(page, &format!("- {}", failure.replace('\n', "\n  ")));
        }
    }

    /// Every run, as one JSON object.
    pub(crate) fn json(&self) -> String {
        let versions: Vec<String> =
            self.versions.iter().map(|(name, text)| pair(name, &quoted(text))).collect();
        let runs: Vec<String> = self.session.samples.0.iter().map(run).collect();
        let standings: Vec<String> = self.all_standings().iter().map(standing).collect();
        let failures: Vec<String> = self.session.failures.iter().map(|f| quoted(f)).collect();
        let whole = object(&[
            pair("name", &quoted(self.name)),
            pair("method", &quoted(&self.method)),
            pair("versions", &object(&versions)),
            pair("runs", &format!("[\n{}\n]", runs.join(",\n"))),
            pair("goals", &format!("[\n{}\n]", standings.join(",\n"))),
            pair("failures", &format!("[{}]", failures.join(", "))),
        ]);
        whole + "\n"
    }
}

/// The figure that a scenario is about.
fn main_figure(figures: &[Figure]) -> Option<Figure> {
    [Figure::Idle, Figure::CpuPerVolume, Figure::Cpu].into_iter().find(|f| figures.contains(f))
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn row(page: &mut String, cells: &[String]) {
    line(page, &format!("| {} |", cells.join(" | ")));
}

fn cell(value: Option<f64>, places: usize) -> String {
    value.map_or_else(absent, |value| format!("{value:.places$}"))
}

fn absent() -> String {
    "–".to_owned()
}

fn run(sample: &Sample) -> String {
    let figures: BTreeMap<&str, f64> =
        sample.figures.iter().map(|(figure, value)| (figure.name(), *value)).collect();
    let values = |(name, value): (&str, f64)| pair(name, &number(value));
    let figures: Vec<String> = figures.into_iter().map(values).collect();
    let calls: Vec<String> =
        sample.calls.iter().map(|(name, value)| values((name, *value))).collect();
    object(&[
        pair("scenario", &quoted(&sample.scenario)),
        pair("target", &quoted(&sample.target.to_string())),
        pair("figures", &object(&figures)),
        pair("syscalls per transaction", &object(&calls)),
    ])
}

fn standing(standing: &Standing) -> String {
    object(&[
        pair("goal", &quoted(&standing.goal)),
        pair("reached", &number(standing.reached)),
        pair("met", &standing.is_met.to_string()),
    ])
}

fn object(pairs: &[String]) -> String {
    format!("{{{}}}", pairs.join(", "))
}

fn pair(name: &str, value: &str) -> String {
    format!("{}: {value}", quoted(name))
}

/// JSON has no infinities.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "null".to_owned() }
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
