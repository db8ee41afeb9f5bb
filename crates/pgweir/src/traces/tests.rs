use std::path::PathBuf;

use super::{Traces, check_pid_file, write_pid_file};

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("pgweir-traces-{name}-{}", std::process::id()))
}

#[test]
fn a_pid_file_is_refused_unless_its_process_is_dead() {
    // Above the largest pid that Linux gives out.
    let dead = (1 << 22) + 1;
    let own = std::process::id();
    let other = rustix::process::getppid().unwrap().as_raw_nonzero();
    let cases = [
        (format!("{dead}\n"), true),
        (format!("{own}\n"), true),
        (format!("{other}\n"), false),
        (String::new(), false),
        ("nonsense\n".into(), false),
        ("-1\n".into(), false),
        ("0\n".into(), false),
    ];
    let path = file("check");
    let name = path.to_str().unwrap();
    for (text, may_start) in cases {
        std::fs::write(&path, &text).unwrap();
        assert_eq!(check_pid_file(name).is_ok(), may_start, "{text:?}");
        assert_eq!(!path.exists(), may_start, "{text:?}");
        let _ = std::fs::remove_file(&path);
    }
    assert_eq!(check_pid_file(name), Ok(()));
}

#[test]
fn the_pid_file_is_written_once_and_removed_at_the_end() {
    let path = file("write");
    let name = path.to_str().unwrap();
    write_pid_file(name).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    assert!(write_pid_file(name).is_err());
    let traces = Traces::default();
    traces.add(name);
    traces.add("/nonexistent/file");
    traces.remove();
    assert!(!path.exists());
}

#[test]
fn a_file_that_has_come_in_the_place_of_ours_is_left_alone() {
    let path = file("replaced");
    std::fs::write(&path, "ours").unwrap();
    let traces = Traces::default();
    traces.add(path.to_str().unwrap());
    let theirs = file("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    std::fs::rename(&theirs, &path).unwrap();
    traces.remove();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    std::fs::remove_file(&path).unwrap();
}
