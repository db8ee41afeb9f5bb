use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use config::Settings;
use engine::{ConnId, Refused};
use rustix::io::Errno;

use super::{Dial, Halt, is_scarcity, text, unix};
use crate::reactor::{Events, Interest, Reactor, Token};
use crate::tcp::Tcp;

/// Tries the addresses as a worker does; returns the server's address and ours.
fn dial(addresses: &[SocketAddr]) -> Result<(SocketAddr, SocketAddr), Halt> {
    let mut dial = Dial::new(ConnId::from_bits(1), addresses.iter().copied());
    let reactor = Reactor::new().unwrap();
    loop {
        let socket = dial.next(&Tcp::new(&Settings::default()))?;
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
    let refusal = |why: &str| Err(Halt::Refused(Refused(why.into())));
    let (server, own) = dial(&[closed, at]).unwrap();
    assert_eq!(server, at);
    assert_eq!(own, open.accept().unwrap().1);
    assert_eq!(dial(&[closed]), refusal("Connection refused"));
    assert_eq!(dial(&[]), refusal("host name has no address"));
}

#[test]
fn errors_are_told_in_words() {
    assert_eq!(unix("/nonexistent/.s.PGSQL.5432").err(), Some(Errno::NOENT));
    assert_eq!(text(Errno::NOENT), "No such file or directory");
    assert!(unix(&"x".repeat(200)).is_err());
}

#[test]
fn having_too_little_is_not_the_servers_fault() {
    for error in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert!(is_scarcity(error), "{error}");
    }
    for error in [Errno::CONNREFUSED, Errno::AGAIN, Errno::NOENT, Errno::TIMEDOUT] {
        assert!(!is_scarcity(error), "{error}");
    }
}
