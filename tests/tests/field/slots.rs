//! Client slots: as many as the settings say, and all of them come back.

use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, eventually, server};
use wire::write;

#[test]
fn one_more_than_allowed_is_told_so() {
    let server = server(15);
    for workers in [1, 4] {
        let pooler = Ini::new(server).set("max_client_conn", 10).set("worker_threads", workers);
        let pooler = pooler.start();
        let login = Login::new("postgres", "postgres");
        let mut clients: Vec<Client> = (0..10).map(|_| pooler.client()).collect();
        for place in [pooler.tcp(), pooler.unix()] {
            let mut more = Client::open(&place).unwrap();
            more.start(&login);
            let refusal = more.fatal();
            assert_eq!(refusal.code, "53300");
            assert_eq!(refusal.message, "no more connections allowed (max_client_conn)");
        }
        for client in &mut clients {
            assert_eq!(client.value("SELECT 1"), "1");
        }
        clients.pop();
        eventually("a slot comes back", || Client::login(&pooler.tcp(), &login).is_ok());
    }
}

#[test]
fn slots_and_descriptors_come_back_after_many_short_visits() {
    let server = server(15);
    let pooler = Ini::new(server)
        .set("max_client_conn", 60)
        .set("worker_threads", 4)
        .set("default_pool_size", 4)
        .start();
    let login = Login::new("postgres", "postgres");
    pooler.client().run("SELECT 1");
    let descriptors = pooler.descriptors();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (pooler, login) = (&pooler, &login);
            scope.spawn(move || {
                for round in 0..250 {
                    let mut client = Client::open(&pooler.tcp()).unwrap();
                    match (worker + round) % 5 {
                        0 => {}
                        1 => client.start(login),
                        2 => client.send(write::ssl_request),
                        3 => {
                            client.start(login);
                            client.reset();
                            continue;
                        }
                        _ => {
                            client.start(login);
                            if client.enter(login).is_ok() {
                                client.send(|out| write::query(out, b"SELECT 1"));
                            }
                        }
                    }
                    drop(client);
                }
            });
        }
    });
    let start = Instant::now();
    eventually("all descriptors are given back", || pooler.descriptors() <= descriptors + 4);
    assert!(start.elapsed() < Duration::from_secs(10));
    let mut clients: Vec<Client> = (0..60).map(|_| pooler.client()).collect();
    for client in &mut clients {
        assert_eq!(client.value("SELECT 1"), "1");
    }
}
