use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::ConnId;

use super::{Events, Interest, Reactor, Ready, Token, bits, token};

/// What happens within a moment.
fn wait(reactor: &Reactor) -> Vec<Ready> {
    let mut events = Events::new();
    reactor.wait(&mut events, Some(Duration::from_millis(20))).unwrap();
    events.iter().collect()
}

#[test]
fn tokens_survive_the_kernel() {
    let tokens = [
        Token::Bell,
        Token::Listener(0),
        Token::Listener(u32::MAX),
        Token::Lingering(0),
        Token::Lingering(u32::MAX),
        Token::Conn(ConnId::from_bits(0)),
        Token::Conn(ConnId::from_bits(!(1 << 31))),
    ];
    for expected in tokens {
        assert_eq!(token(bits(expected)), expected);
    }
}

#[test]
fn an_edge_is_reported_once() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let reactor = Reactor::new().unwrap();
    reactor.add(&near, Token::Listener(7), Interest::Read).unwrap();
    assert!(wait(&reactor).is_empty());

    far.write_all(b"x").unwrap();
    let [ready] = wait(&reactor)[..] else { panic!("no edge") };
    assert_eq!(ready.token, Token::Listener(7));
    assert!(ready.readable && !ready.writable && !ready.ended && !ready.gone);
    assert!(wait(&reactor).is_empty(), "nothing new has come");

    far.write_all(b"y").unwrap();
    assert_eq!(wait(&reactor).len(), 1, "unread bytes do not hide new ones");
    near.read_exact(&mut [0; 2]).unwrap();

    drop(far);
    let [ready] = wait(&reactor)[..] else { panic!("no edge") };
    assert!(ready.ended && ready.gone);
}

#[test]
fn room_to_write_is_reported_on_request_only() {
    let (near, _far) = UnixStream::pair().unwrap();
    let reactor = Reactor::new().unwrap();
    reactor.add(&near, Token::Bell, Interest::Read).unwrap();
    assert!(wait(&reactor).is_empty());
    reactor.modify(&near, Token::Bell, Interest::ReadWrite).unwrap();
    assert!(matches!(wait(&reactor)[..], [Ready { writable: true, .. }]));
}
