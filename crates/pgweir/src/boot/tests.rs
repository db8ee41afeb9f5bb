use config::Settings;

use super::{entropy, verbosity, workers};
use crate::cli::Serve;

#[test]
fn the_setting_decides_over_the_number_of_workers() {
    let of = |worker_threads| workers(&Settings { worker_threads, ..Settings::default() });
    assert_eq!(of(1), 1);
    assert_eq!(of(64), 64);
    assert_eq!(of(1000), 64);
    assert!(of(0) >= 1);
}

#[test]
fn the_configuration_goes_before_the_command_line() {
    let serve = Serve { verbose: 2, ..Serve::default() };
    let of = |verbose| verbosity(&serve, &Settings { verbose, ..Settings::default() });
    assert_eq!(of(0), 2);
    assert_eq!(of(1), 1);
}

#[test]
fn entropy_differs() {
    assert_ne!(entropy().unwrap(), entropy().unwrap());
}
