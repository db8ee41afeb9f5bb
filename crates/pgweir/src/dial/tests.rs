use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use engine::{ConnId, Refused};
use rustix::io::Errno;

use super::{Dial, text, unix};
use crate::reactor::{Events, Interest, Reactor, Token};

/// Tries the addresses as a worker does; returns the server's address and ours.
fn dial(addresses: &[SocketAddr]) -> Result<(SocketAddr, SocketAddr), Refused> {
    let mut dial = Dial::new(ConnId::from_bits(1), addresses.iter().copied());
    let reactor = Reactor::new().unwrap();
    loop {
        let socket = dial.next(true)?;
        reactor.add(&socket, Token::Bell, Interest::ReadWrite).unwrap();
        reactor.wait(&mut Events::new(), Some(Duration::from_secs(10))).unwrap();
        if let Some(local) = dial.outcome(&socket) {
            return Ok(local.tcp.unwrap());
        }
    }
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = open.local_addr().unwrap();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let (server, own) = dial(&[closed, at]).unwrap();
    assert_eq!(server, at);
    assert_eq!(own, open.accept().unwrap().1);
    assert_eq!(dial(&[closed]), Err(Refused("Connection refused".into())));
    assert_eq!(dial(&[]), Err(Refused("host name has no address".into())));
}

#[test]
fn errors_are_told_in_words() {
    assert_eq!(unix("/nonexistent/.s.PGSQL.5432").err(), Some(Errno::NOENT));
    assert_eq!(text(Errno::NOENT), "No such file or directory");
    assert!(unix(&"x".repeat(200)).is_err());
}
