//! The project speaks of itself alone.
//!
//! Paths of one machine and names of papers that are not in this repository mean nothing to a
//! reader. The words below are put together from halves, or this file would break its own rule.

use crate::Fault;

const WORDS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
    concat!("../con", "tract"),
    concat!("HOU", "SE.md"),
];

pub(crate) fn faults(path: &str, text: &str) -> Vec<Fault> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let word = WORDS.iter().find(|word| line.contains(**word))?;
            Some(Fault::new(path, index + 1, format!("{word} is not of this repository")))
        })
        .collect()
}
