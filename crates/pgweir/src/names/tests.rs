use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{ConnId, WorkerId};

use super::Names;
use crate::post::{Letter, Post};

const WORKER: WorkerId = WorkerId(0);

fn conn(number: u64) -> ConnId {
    ConnId::from_bits(number)
}

fn addresses() -> Vec<SocketAddr> {
    ["10.0.0.1:0", "10.0.0.2:0", "[fe80::3%7]:0"].map(|address| address.parse().unwrap()).to_vec()
}

#[test]
fn names_are_looked_up() {
    let post = Arc::new(Post::new(1).unwrap());
    let names = Names::start(&post).unwrap();
    let resolve = |host: &str| {
        names.ask(WORKER, conn(77), host.into(), 5432);
        let start = Instant::now();
        let mut letters = Vec::new();
        while letters.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(30), "no letter has come");
            post.mailbox(WORKER).take(&mut letters);
            std::thread::sleep(Duration::from_millis(1));
        }
        match letters.pop() {
            Some(Letter::Resolved(name, result)) if name == conn(77) => result,
            _ => panic!("no addresses"),
        }
    };
    let expected: SocketAddr = "127.0.0.1:5432".parse().unwrap();
    assert!(resolve("localhost").unwrap().contains(&expected));
    assert!(resolve("no such host").is_err());
}

#[test]
fn one_lookup_answers_all_that_are_still_there() {
    let names = Names::default();
    for number in 1..=3 {
        names.ask(WORKER, conn(number), "a".into(), 5432);
    }
    names.ask(WORKER, conn(4), "gone".into(), 5432);
    names.ask(WORKER, conn(5), "b".into(), 1);
    names.forget(WORKER, conn(2));
    names.forget(WORKER, conn(4));
    assert_eq!(names.take(), "a");
    names.ask(WORKER, conn(6), "a".into(), 7);
    assert_eq!(names.take(), "b", "nobody waits for the name between");
    let told = names.finish("a", &Ok(addresses()));
    assert!(told.iter().map(|(asker, _)| asker.conn).eq([1, 3, 6].map(conn)));
    assert!(names.finish("a", &Ok(addresses())).is_empty());
    assert_eq!(names.finish("b", &Err("no".into()))[0].1, Err("no".into()));
    names.ask(WORKER, conn(7), "gone".into(), 5432);
    assert_eq!(names.take(), "gone");
}

#[test]
fn each_dial_starts_at_another_address() {
    let names = Names::default();
    let mut first = Vec::new();
    for number in 0..4 {
        names.ask(WORKER, conn(number), "a".into(), 5432);
        let told = names.finish("a", &Ok(addresses())).remove(0).1.unwrap();
        assert_eq!(told.len(), 3);
        first.push(told[0].to_string());
    }
    assert_eq!(first, ["10.0.0.1:5432", "10.0.0.2:5432", "[fe80::3%7]:5432", "10.0.0.1:5432"]);
    names.ask(WORKER, conn(9), "a".into(), 5432);
    assert_eq!(names.finish("a", &Ok(Vec::new())).remove(0).1, Ok(Vec::new()));
}
