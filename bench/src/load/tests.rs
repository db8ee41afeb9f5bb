//! The load against itself: clients talk to its own fake server, and through the relay.

use super::*;

#[test]
fn clients_ask_again_and_again() {
    let mut load = Load::listen().unwrap();
    let port = load.port().unwrap();
    for _ in 0..8 {
        load.connect(port).unwrap();
    }
    for _ in 0..1000 {
        load.turn(Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).unwrap();
    }
    assert_eq!(load.logged_in(), 8);
    // Eight clients take a few turns to log in, and then each turn completes some of their queries.
    assert!(load.transactions() > 1000, "{}", load.transactions());
}

#[test]
fn the_relay_passes_everything_on() {
    let mut load = Load::listen().unwrap();
    let target = load.port().unwrap();
    let listen = scratch::free_port();
    std::thread::spawn(move || crate::relay::run(listen, target));
    while TcpStream::connect((Ipv4Addr::LOCALHOST, listen)).is_err() {
        std::thread::yield_now();
    }
    for _ in 0..4 {
        load.connect(listen).unwrap();
    }
    while load.transactions() < 100 {
        load.turn(Some(&Timespec { tv_sec: 5, tv_nsec: 0 })).unwrap();
    }
    assert_eq!(load.logged_in(), 4);
}

#[test]
fn a_closed_client_is_a_fault_of_the_run() {
    let mut load = Load::listen().unwrap();
    let pooler = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    load.connect(pooler.local_addr().unwrap().port()).unwrap();
    drop(pooler.accept().unwrap());
    let error = load.turn(None).unwrap_err();
    assert_eq!(error.to_string(), "the pooler closed a client's connection");
}
