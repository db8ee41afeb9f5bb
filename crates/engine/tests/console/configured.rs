//! Tables that come of the configuration, and what SHOW MEM counts.

use crate::busy::{Busy, INI, USERS, busy};
use crate::figures::{cells, columns};
use crate::world::{SECOND, World};

/// Limits of all kinds, and peers.
pub(crate) const LIMITS: &str = "[databases]\n\
    app = host=10.0.0.2 pool_size=4 min_pool_size=3 reserve_pool_size=2 max_db_connections=10 \
    max_db_client_connections=20\n\
    other = host=10.0.0.2\n\
    [users]\n\
    carol = pool_size=30 reserve_pool_size=1 max_user_connections=11 \
    max_user_client_connections=12\n\
    [peers]\n\
    10 = host=10.0.0.10 port=6433\n\
    2 = host=/run/two pool_size=3\n\
    [pgbouncer]\n\
    auth_type = trust\n\
    default_pool_size = 9\n\
    min_pool_size = 8\n\
    reserve_pool_size = 7\n\
    max_db_connections = 6\n\
    max_db_client_connections = 5\n\
    max_user_connections = 13\n\
    max_user_client_connections = 14\n";

#[test]
fn limits_are_those_that_count() {
    let mut world = World::new(1, LIMITS, USERS);
    let owner = world.owner(0);
    let table = world.show(owner, "databases");
    let rows = [
        "app 10.0.0.2 5432 app <null> 4 3 2 3600 <null> <null> 10 0 20 0 0 0",
        "other 10.0.0.2 5432 other <null> 9 8 7 3600 <null> <null> 6 0 5 0 0 0",
        "pgbouncer <null> 6432 pgbouncer pgbouncer 2 0 0 3600 statement <null> 6 0 5 1 0 0",
    ];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row).join(" ")).collect();
    assert_eq!(found, rows);
    let table = world.show(owner, "users");
    let carol = ["carol", "       30", "        1", "<null>", "11", "0", "12", "0"];
    assert_eq!(table.row(&["carol"]), carol);
    assert_eq!(table.row(&["dave"]), ["dave", "", "", "<null>", "13", "0", "14", "0"]);
}

#[test]
fn peers() {
    let mut world = World::new(1, LIMITS, USERS);
    let owner = world.owner(0);
    let table = world.show(owner, "peers");
    columns(&table, "peer_id host port pool_size", "i t i i");
    let rows = [["2", "/run/two", "6432", "3"], ["10", "10.0.0.10", "6433", "9"]];
    let found: Vec<_> = table.rows.iter().map(|row| cells(row)).collect();
    assert_eq!(found, rows);
    assert_eq!(world.show(owner, "lists").row(&["peers"]), ["peers", "2"]);
}

#[test]
fn tables_without_rows() {
    let mut world = World::new(1, LIMITS, USERS);
    let owner = world.owner(0);
    let peers = "peer_id cl_active_cancel_req cl_waiting_cancel_req sv_active_cancel sv_login";
    for (what, names, types) in [
        ("peer_pools", peers, "i i i i i"),
        ("dns_hosts", "hostname ttl addrs", "t l t"),
        ("dns_zones", "zonename serial count", "t l i"),
    ] {
        let table = world.show(owner, what);
        columns(&table, names, types);
        assert_eq!(table.rows.len(), 0);
    }
}

#[test]
fn memory() {
    let Busy { mut world, owner, .. } = busy();
    let table = world.show(owner, "mem");
    columns(&table, "name size used free memtotal", "t i i i i");
    let names = "user_cache credentials_cache db_cache peer_cache peer_pool_cache pool_cache \
        outstanding_request_cache server_cache client_cache iobuf_cache var_list_cache \
        server_prepared_statement_cache";
    assert_eq!(table.column("name").join(" "), names);
    let number = |row: &[&str], at: usize| row[at].parse::<u64>().unwrap();
    for row in table.rows.iter().map(|row| cells(row)) {
        let count = number(&row, 2) + number(&row, 3);
        assert_eq!(number(&row, 4), number(&row, 1) * count, "{row:?}");
    }
    let used = |name: &str| number(&table.row(&[name]), 2);
    assert_eq!((used("user_cache"), used("db_cache")), (4, 5));
    assert_eq!((used("pool_cache"), used("server_cache"), used("client_cache")), (3, 51, 59));
    assert_eq!(used("outstanding_request_cache"), 24, "one for each query that hangs");
    assert_eq!(used("iobuf_cache"), 1, "the query of the one that waits");
    let free = |name: &str| number(&table.row(&[name]), 3);
    assert!(free("iobuf_cache") > 0, "blocks that had been used");
    assert_eq!((free("client_cache"), free("server_cache")), (0, 0));
}

#[test]
fn slots_that_are_free() {
    let mut world = World::new(1, INI, USERS);
    let clients: Vec<_> = (0..3).map(|_| world.client(0, "dave", "app")).collect();
    let owner = world.owner(0);
    for client in clients {
        world.hang_up(client);
    }
    world.ask(owner, "pause");
    world.wait(SECOND);
    world.lines(owner);
    assert_eq!(world.servers(), []);
    let lists = world.show(owner, "lists");
    assert_eq!(lists.row(&["free_clients"])[1], "3");
    assert_eq!(lists.row(&["free_servers"])[1], "1");
    let table = world.show(owner, "mem");
    assert_eq!(table.row(&["client_cache"])[2..4], ["1", "3"]);
    assert_eq!(table.row(&["server_cache"])[2..4], ["0", "1"]);
}
