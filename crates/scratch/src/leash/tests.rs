use std::os::unix::process::ExitStatusExt;

use super::*;

fn sleeper() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

#[test]
fn a_child_dies_with_its_leash_cut() {
    let mut child = sleeper();
    let mut leash = Leash::hold(&child).unwrap();
    // What the kernel does when this process dies.
    drop(leash.shell.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_child_survives_its_leash_dropped() {
    let mut child = sleeper();
    drop(Leash::hold(&child).unwrap());
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}
