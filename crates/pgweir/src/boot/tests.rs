use config::{Config, Database, Settings};
use engine::Setup;

use super::{OWN_DESCRIPTORS, entropy, expected_descriptors, verbosity, workers};
use crate::cli::Serve;

fn setup(userlist: &str, databases: Vec<Database>) -> Setup {
    let pgbouncer =
        Settings { max_client_conn: 1000, default_pool_size: 20, ..Settings::default() };
    let config =
        Config { pgbouncer, databases: databases.into_iter().collect(), ..Config::default() };
    let userlist = auth::Userlist::parse(userlist.as_bytes()).0.into();
    Setup { config, userlist, version: "".into(), host: "".into(), uid: 1 }
}

#[test]
fn descriptors_are_counted_by_client_and_by_pool() {
    let forced = Database { user: Some("ann".into()), pool_size: Some(7), ..Database::new("x") };
    let open = Database::new("y");
    let setup = setup("\"ann\" \"\"\n\"bob\" \"\"\n", vec![forced, open]);
    assert_eq!(expected_descriptors(&setup), 1000 + 7 + 2 * 20 + OWN_DESCRIPTORS);
}

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
    let serve = Serve { config: String::new(), quiet: false, verbose: 2 };
    let of = |verbose| verbosity(&serve, &Settings { verbose, ..Settings::default() });
    assert_eq!(of(0), 2);
    assert_eq!(of(1), 1);
}

#[test]
fn entropy_differs() {
    assert_ne!(entropy().unwrap(), entropy().unwrap());
}
