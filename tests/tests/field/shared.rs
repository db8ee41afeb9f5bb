//! Limits of a database and of a user over all their pools, as PostgreSQL sees them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, Place, database, eventually, own, server};
use scratch::Postgres;

/// Somebody who looks at PostgreSQL itself.
struct Observer(Client);

impl Observer {
    fn of(server: &Postgres) -> Self {
        Self(Client::login(&Place::Tcp(server.port), &Login::new("postgres", "postgres")).unwrap())
    }

    /// The backends that fulfil a condition.
    fn count(&mut self, condition: &str) -> usize {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND {condition}"
        );
        self.0.value(&sql).parse().unwrap()
    }
}

/// Users that PostgreSQL trusts.
fn roles(server: &Postgres, names: &[&str]) {
    let mut client =
        Client::login(&Place::Tcp(server.port), &Login::new("postgres", "postgres")).unwrap();
    for name in names {
        client.run(&format!("CREATE ROLE {name} LOGIN SUPERUSER"));
    }
}

fn client(pooler: &integration::Pooler, user: &str, database: &str) -> Client {
    Client::login(&pooler.tcp(), &Login::new(user, database)).unwrap()
}

#[test]
fn the_servers_of_a_database_are_limited_over_all_its_pools_and_workers() {
    let server = server(15);
    let users = ["fair_a", "fair_b", "fair_c"];
    roles(server, &users);
    for workers in [1, 4] {
        let name = format!("shared_{workers}");
        database(server, &name);
        let mut ini = Ini::new(server)
            .set("worker_threads", workers)
            .set("default_pool_size", 8)
            .set("max_db_connections", 4);
        for user in users {
            ini = ini.user(user, "");
        }
        let pooler = ini.start();
        let mut clients: Vec<Client> =
            (0..18).map(|place| client(&pooler, users[place % 3], &name)).collect();
        let is_over = AtomicBool::new(false);
        let mut observer = Observer::of(server);
        let condition = format!("datname = '{name}'");
        let (most, served) = thread::scope(|scope| {
            let running: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(|| {
                        let mut served = 0;
                        while !is_over.load(Relaxed) {
                            client.run("SELECT pg_sleep(0.005)");
                            served += 1;
                        }
                        served
                    })
                })
                .collect();
            let end = Instant::now() + Duration::from_secs(3);
            let mut most = 0;
            while Instant::now() < end {
                most = most.max(observer.count(&condition));
            }
            is_over.store(true, Relaxed);
            (most, running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<usize>>())
        });
        // A backend that has been told to end is seen for a moment longer.
        assert!((4..=6).contains(&most), "{workers} workers: {most}");
        // Three pools share four servers: none of them has to wait until the others are done.
        for (place, user) in users.iter().enumerate() {
            let of_user: usize = served.iter().skip(place).step_by(3).sum();
            assert!(of_user >= 20, "{workers} workers: {of_user} of {user}");
        }
        assert!(pooler.log().contains("closing because: evicted"), "{}", pooler.log());
    }
}

#[test]
fn the_servers_of_a_user_are_limited_over_all_databases() {
    let server = server(15);
    roles(server, &["thrifty"]);
    let (one, two) = (database(server, "thrift_one"), database(server, "thrift_two"));
    let pooler = Ini::new(server)
        .set("default_pool_size", 5)
        .user("thrifty", "")
        .user_settings("thrifty = max_user_connections=2")
        .start();
    let mut clients: Vec<Client> =
        (0..6).map(|place| client(&pooler, "thrifty", [one, two][place % 2])).collect();
    let mut observer = Observer::of(server);
    for client in &mut clients {
        client.run("SELECT 1");
        let most = observer.count("usename = 'thrifty' AND state <> 'disabled'");
        assert!((1..=3).contains(&most), "{most}");
    }
    eventually("two servers are left at most", || observer.count("usename = 'thrifty'") <= 2);
}

#[test]
fn clients_of_a_database_and_of_a_user_are_limited() {
    let server = server(15);
    roles(server, &["guest", "host"]);
    let (one, two) = (database(server, "inn_one"), database(server, "inn_two"));
    for workers in [1, 4] {
        let pooler = Ini::new(server)
            .set("worker_threads", workers)
            .set("max_db_client_connections", 3)
            .user("guest", "")
            .user("host", "")
            .user_settings("guest = max_user_client_connections=2")
            .start();
        let enter = |user: &str, database: &str| {
            Client::login(&pooler.tcp(), &Login::new(user, database)).map_err(|no| no.message)
        };
        let guests = [enter("guest", one).unwrap(), enter("guest", two).unwrap()];
        let refused = enter("guest", two).err().unwrap();
        assert_eq!(refused, "client connections exceeded (max_user_client_connections)");
        let hosts = [enter("host", one).unwrap(), enter("host", one).unwrap()];
        let refused = enter("host", one).err().unwrap();
        assert_eq!(refused, "client connections exceeded (max_db_client_connections)");
        drop((guests, hosts));
        eventually("there is room again", || enter("guest", one).is_ok());
    }
}

#[test]
fn the_minimum_is_there_at_once_and_stays() {
    let server = server(15);
    let (name, forced) = (database(server, "minimum"), database(server, "minimum_forced"));
    let mut observer = Observer::of(server);
    let place = format!("host=127.0.0.1 port={}", server.port);
    let pooler = Ini::new(server)
        .set("default_pool_size", 12)
        .set("min_pool_size", 10)
        .set("server_idle_timeout", 1)
        .database(&format!("{forced} = {place} user=postgres min_pool_size=3"))
        .start();
    // Without any client, since the database forces its user.
    eventually("a forced user's pool is full", || {
        observer.count(&format!("datname = '{forced}'")) == 3
    });
    assert_eq!(observer.count(&format!("datname = '{name}'")), 0);
    let begin = Instant::now();
    let _client = pooler.client_in(name);
    eventually("the pool is full", || observer.count(&format!("datname = '{name}'")) == 10);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    // Neither timeout nor upkeep opens and closes servers in circles.
    let pids = |observer: &mut Observer| {
        observer.0.value(&format!(
            "SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity \
             WHERE datname IN ('{name}', '{forced}')"
        ))
    };
    let before = pids(&mut observer);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(pids(&mut observer), before);
}

#[test]
fn a_minimum_that_cannot_be_reached_is_not_fought_for() {
    let server = server(15);
    let users = ["calm_a", "calm_b", "calm_c"];
    roles(server, &users);
    let name = database(server, "calm");
    let mut ini = Ini::new(server).set("min_pool_size", 10).set("max_db_connections", 6);
    for user in users {
        ini = ini.user(user, "");
    }
    let pooler = ini.start();
    let mut clients: Vec<Client> = users.iter().map(|user| client(&pooler, user, name)).collect();
    for client in &mut clients {
        client.run("SELECT 1");
    }
    let mut observer = Observer::of(server);
    let mut backends = || {
        observer.0.value(&format!(
            "SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity \
             WHERE datname = '{name}'"
        ))
    };
    thread::sleep(Duration::from_secs(1));
    let before = backends();
    assert_eq!(before.split(',').count(), 6, "{before}");
    thread::sleep(Duration::from_secs(4));
    assert_eq!(backends(), before, "at rest nobody comes and goes");
}

#[test]
fn the_reserve_is_for_those_who_have_waited() {
    let server = server(15);
    let name = database(server, "reserved");
    let pooler = Ini::new(server)
        .set("default_pool_size", 1)
        .set("reserve_pool_size", 1)
        .set("reserve_pool_timeout", 1)
        .start();
    let (mut one, mut two) = (pooler.client_in(name), pooler.client_in(name));
    one.run("BEGIN");
    let begin = Instant::now();
    assert_eq!(two.value("SELECT 1"), "1");
    let waited = begin.elapsed();
    assert!((900..2_500).contains(&waited.as_millis()), "{waited:?}");
    pooler.logs("WARNING taking connection from reserve_pool");
}

#[test]
fn a_database_that_comes_back_is_not_stormed() {
    let server = own(15, scratch::Options::default());
    let pooler = Ini::new(&server)
        .set("default_pool_size", 40)
        .set("max_client_conn", 200)
        .set("server_login_retry", 1)
        .start();
    let mut clients: Vec<Client> = (0..80).map(|_| pooler.client()).collect();
    let mut observer = Observer::of(&server);
    thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| client.run("SELECT pg_sleep(0.2)"));
        }
    });
    let killed = observer.count("pid <> pg_backend_pid()");
    assert!(killed >= 30, "{killed}");
    observer.0.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND backend_type = 'client backend'",
    );
    let mut console = pooler.console();
    let mut highest = |column: usize| {
        let rows = console.run("SHOW POOLS").rows();
        rows.iter().map(|row| row[column].parse::<usize>().unwrap()).max().unwrap()
    };
    let (idle, login) = (9, 12);
    eventually("the pooler knows that they are gone", || highest(idle) == 0);
    // All clients want a server at once; few connects are under way at any time.
    for client in &mut clients {
        client.send(|out| wire::write::query(out, b"SELECT pg_sleep(0.2)"));
    }
    let end = Instant::now() + Duration::from_secs(1);
    let mut most = 0;
    while Instant::now() < end {
        most = most.max(highest(login));
    }
    assert!((1..=8).contains(&most), "{most} logins at once");
    for client in &mut clients {
        client.expect("TDCZ");
    }
}
