//! The table of faults.

use super::*;

#[test]
fn faults_are_read_from_their_table() {
    let table = "# words\n\nfault one\nbreaks this\nfile a.rs\n-old\n-  more\n+new\nfile b.rs\n-x\n\
                 \nfault two\n";
    let hunk = |file: &str, old: &str, new: &str| Hunk {
        file: file.to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    let hunks = vec![hunk("a.rs", "old\n  more", "new"), hunk("b.rs", "x", "")];
    let one = Fault { name: "one".into(), breaks: "this".into(), hunks };
    assert_eq!(parse(table), [one, Fault { name: "two".into(), ..Fault::default() }]);
}

#[test]
fn every_fault_fits_its_file() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/src");
    let faults = parse(include_str!("../../mutants/faults.txt"));
    assert!(faults.len() >= 20, "{} faults", faults.len());
    for fault in faults {
        assert!(!fault.breaks.is_empty() && !fault.hunks.is_empty(), "{}", fault.name);
        for hunk in &fault.hunks {
            let text = fs::read_to_string(sources.join(&hunk.file)).expect("a file of the engine");
            assert_eq!(text.matches(&hunk.old).count(), 1, "{}: {}", fault.name, hunk.old);
            assert_ne!(hunk.old, hunk.new, "{}", fault.name);
        }
    }
}
