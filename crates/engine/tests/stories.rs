//! The stories of the engine: every file in `stories/` is played and must go as it says.
//!
//! `UPDATE=1 cargo test -p engine --test stories` writes what happens into the files; whoever does
//! that reads the difference.

#![expect(clippy::unwrap_used, reason = "a story that cannot be played has failed")]

mod story;

use std::path::{Path, PathBuf};

use story::crowd;
use story::dice::Dice;
use story::script::play;

#[test]
fn stories_go_as_they_say() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in paths() {
        let told = std::fs::read_to_string(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| play(&told, None).text);
        match outcome {
            Ok(played) if played == told => {}
            Ok(played) if update => std::fs::write(&path, played).unwrap(),
            Ok(played) => wrong.push(format!("{}: {}", name(&path), difference(&told, &played))),
            Err(_) => wrong.push(format!("{}: panicked, see above", name(&path))),
        }
    }
    assert!(wrong.is_empty(), "{} stories go otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

/// However the bytes are cut into reads, and whatever of them a write takes: the same bytes arrive
/// everywhere, and the same connections end.
#[test]
fn cutting_does_not_matter() {
    let mut wrong = Vec::new();
    for path in &paths() {
        let told = std::fs::read_to_string(path).unwrap();
        if told.lines().any(|line| line == "uncut") {
            continue;
        }
        let whole = play(&told, None).heard;
        let differs = (0..CUTS).find_map(|seed| {
            let cut = play(&told, Some(Dice::new(seed))).heard;
            let who = whole.keys().find(|who| whole.get(*who) != cut.get(*who))?;
            let [whole, cut] =
                [&whole, &cut].map(|heard| heard.get(who).map_or_else(|| "-".into(), shown));
            Some(format!("{} with seed {seed}: {who}\n- {whole}\n+ {cut}", name(path)))
        });
        wrong.extend(differs);
    }
    assert!(wrong.is_empty(), "{} stories differ when cut:\n{}", wrong.len(), wrong.join("\n"));
}

/// Clients that say at random what they like hear through a pooler what they would hear from a
/// PostgreSQL of their own.
#[test]
fn a_crowd_hears_what_each_would_hear_alone() {
    let seeds = match std::env::var("SEED") {
        Ok(seed) => seed.parse().map(|seed| seed..seed + 1).unwrap(),
        Err(_) => 0..CROWDS,
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| crowd::play(seed));
        let outcome = outcome.unwrap_or_else(|_| Err("panicked, see above".into()));
        assert_eq!(outcome, Ok(()), "with SEED={seed}");
    }
}

/// How many crowds there are.
const CROWDS: u64 = 300;

/// How often each story is cut.
const CUTS: u64 = 8;

fn shown((bytes, end): &(Vec<u8>, Option<String>)) -> String {
    format!("{} ({})", bytes.escape_ascii(), end.as_deref().unwrap_or("open"))
}

/// The files of all stories.
fn paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let only = std::env::var("STORY").unwrap_or_default();
    paths.retain(|path| name(path).contains(&only));
    assert!(!paths.is_empty(), "no stories");
    paths
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// The first line that is not as told, with what stands before it.
fn difference(told: &str, played: &str) -> String {
    let pairs = told.lines().zip(played.lines());
    let same = pairs.take_while(|(told, played)| told == played).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").trim_end().to_owned();
    let before: Vec<_> = told.lines().take(same).skip(same.saturating_sub(4)).collect();
    let before = before.join("\n");
    format!("line {}\n{before}\n- {}\n+ {}\n", same + 1, line(told), line(played))
}
