//! Replays what fuzzing has collected, without a fuzzer.
//!
//! ```text
//! corpus/x/*, regressions/x/* ──► x(bytes), then x(mutated bytes), the same ones in every run
//! ```
//!
//! A file that breaks its property is named by the last line of the test's output.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use properties::{PROPERTIES, Property};

const MUTATIONS: usize = 200;
const FILES_MAX: usize = 60;
const FILE_BYTES_MAX: usize = 2_000;

#[test]
fn what_was_collected_holds() {
    for (name, property) in PROPERTIES {
        for (path, bytes) in collected(name) {
            println!("{}", path.display());
            property(&bytes);
        }
    }
}

#[test]
fn mutations_of_what_was_collected_hold() {
    for (name, property) in PROPERTIES {
        let files = collected(name);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for (path, bytes) in &files {
            println!("{}", path.display());
            let other = &files[random.below(files.len())].1;
            mutate(*property, bytes, other, &mut random);
        }
    }
}

#[test]
fn every_corpus_has_a_property_and_is_small() {
    for entry in fs::read_dir(root().join("corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = PROPERTIES.iter().any(|(property, _)| *property == name);
        assert!(known, "nobody replays the corpus {name}");
    }
    for (name, _) in PROPERTIES {
        let corpus = files(&root().join("corpus").join(name));
        assert!((1..=FILES_MAX).contains(&corpus.len()), "{name} has {} files", corpus.len());
        for (path, bytes) in corpus {
            assert!(bytes.len() < FILE_BYTES_MAX, "{} is too large", path.display());
        }
    }
}

fn mutate(property: Property, bytes: &[u8], other: &[u8], random: &mut Random) {
    for _ in 0..MUTATIONS {
        let mut mutated = bytes.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(mutated.len() + 1);
            match random.below(5) {
                0 => mutated.truncate(at),
                1 => mutated.insert(at, random.byte()),
                2 => drop(mutated.splice(at.., other.iter().skip(at).copied())),
                3 if at < mutated.len() => drop(mutated.remove(at)),
                _ if at < mutated.len() => mutated[at] = random.byte(),
                _ => mutated.push(random.byte()),
            }
        }
        property(&mutated);
    }
}

fn collected(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    ["corpus", "regressions"].iter().flat_map(|kind| files(&root().join(kind).join(name))).collect()
}

/// Reads a folder's files in the order of their names; a folder that is not there has none.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Xorshift, so that every run tries the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Bytes that lengths, counts and strings are made of come more often than others.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => 0,
            1 => 0xff,
            2 => self.next().to_be_bytes()[0] % 16,
            _ => self.next().to_be_bytes()[0],
        }
    }
}
