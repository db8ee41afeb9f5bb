use config::{Config, Database, Settings};
use engine::Setup;

use super::{OWN, expected, warning};

fn setup(settings: Settings, databases: Vec<Database>) -> Setup {
    let pgbouncer = Settings { max_client_conn: 1000, default_pool_size: 20, ..settings };
    let config =
        Config { pgbouncer, databases: databases.into_iter().collect(), ..Config::default() };
    let userlist = auth::Userlist::parse(b"\"ann\" \"\"\n\"bob\" \"\"\n").0.into();
    Setup { config, userlist, version: "".into(), host: "".into(), uid: 1 }
}

#[test]
fn descriptors_are_counted_by_client_and_by_pool() {
    let forced = Database { user: Some("ann".into()), pool_size: Some(7), ..Database::new("x") };
    let open = Database::new("y");
    let capped = Database { max_db_connections: Some(11), ..Database::new("z") };
    let unlimited = Database { pool_size: Some(0), ..capped.clone() };
    let reserve = Database { reserve_pool_size: Some(3), ..Database::new("r") };
    let base = 1000 + OWN;
    for (database, servers) in
        [(forced.clone(), 7), (open, 40), (capped, 11), (unlimited, 11), (reserve, 46)]
    {
        let name = database.name.clone();
        assert_eq!(expected(&setup(Settings::default(), vec![database])), base + servers, "{name}");
    }
    let settings = Settings { reserve_pool_size: 5, ..Settings::default() };
    let both = vec![forced, Database::new("y")];
    assert_eq!(expected(&setup(settings, both)), base + 12 + 50);
    let settings = Settings { max_db_connections: 9, ..Settings::default() };
    assert_eq!(expected(&setup(settings, vec![Database::new("y")])), base + 9);
}

#[test]
fn a_limit_that_is_too_low_is_told_by_what_it_is_too_low_for() {
    assert_eq!(warning(2000, 1800, 1000), None);
    let pools = warning(2000, 2001, 1000).unwrap();
    assert!(pools.contains("2001 may be needed"), "{pools}");
    let clients = warning(1000, 1800, 1000).unwrap();
    assert!(clients.starts_with("max_client_conn is 1000, but "), "{clients}");
    assert!(clients.contains("hard limit of file descriptors is 1000"), "{clients}");
}
