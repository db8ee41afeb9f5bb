//! The stories of the engine: every file in `stories/` is played and must go as it says.
//!
//! `UPDATE=1 cargo test -p engine --test stories` writes what happens into the files; whoever does
//! that reads the difference.

#![expect(clippy::unwrap_used, reason = "a story that cannot be played has failed")]

mod story;

use std::path::{Path, PathBuf};

use story::dice::Dice;
use story::script::play;

/// Stories that tell what should happen and does not happen yet; whoever makes one come true takes
/// it out of here.
const NOT_YET: &[&str] = &["workers_server_under_way_to_nowhere"];

/// Stories that differ when they are cut, and should not.
const CUT_NOT_YET: &[&str] = &["copy_in_interrupted_by_a_query", "server_dies_in_query"];

#[test]
fn stories_go_as_they_say() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in paths() {
        let told = std::fs::read_to_string(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| play(&told, None).text);
        match outcome {
            _ if NOT_YET.contains(&&*name(&path)) => {
                assert!(!outcome.is_ok_and(|played| played == told), "{} is true", name(&path));
            }
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
    for path in paths().iter().filter(|path| !NOT_YET.contains(&&*name(path))) {
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
    wrong.retain(|wrong| !CUT_NOT_YET.iter().any(|name| wrong.starts_with(name)));
    assert!(wrong.is_empty(), "{} stories differ when cut:\n{}", wrong.len(), wrong.join("\n"));
}

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
