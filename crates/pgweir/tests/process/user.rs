//! The user of the operating system that the process becomes.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use rustix::process::Signal;
use scratch::Identity;

use crate::place::{Place, Running, program, said};

#[test]
fn root_is_told_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new("");
    let output = Command::new(program()).arg(place.ini()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("FATAL pgweir should not run as root: "), "{}", said(&output));
    let user = Identity::unprivileged().unwrap();
    let place = Place::new(&format!("user = {}\n", user.name));
    let mut running = Running::spawn(Command::new(program()).arg("-q").arg(place.ini()), &place);
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}

#[test]
fn the_user_of_the_command_line_goes_before_that_of_the_configuration() {
    let Some(user) = Identity::unprivileged() else { return };
    let place = Place::new("user = nobody-of-this-name\n");
    let refused = Command::new(program()).arg(place.ini()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("FATAL could not find user \"nobody-of-this-name\""));
    let mut command = Command::new(program());
    command.args(["-q", "-u", &user.name, place.ini()]);
    let mut running = Running::spawn(&mut command, &place);
    let owner = std::fs::metadata(format!("/proc/{}", running.process.id())).unwrap().uid();
    assert_eq!(owner, user.uid);
    running.signal(Signal::QUIT);
    assert_eq!(running.exit_code(), 0);
}
