use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use engine::Time;

use super::{DRAINED_MAX, Lingering, PATIENCE, SOCKETS_MAX};

fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

fn rest(mut far: UnixStream) -> Vec<u8> {
    let mut text = Vec::new();
    far.read_to_end(&mut text).unwrap();
    text
}

#[test]
fn a_peer_that_has_closed_needs_no_waiting() {
    let (near, mut far) = pair();
    far.write_all(b"unread").unwrap();
    far.shutdown(std::net::Shutdown::Write).unwrap();
    let mut lingering = Lingering::default();
    assert!(!lingering.part(near.into(), b"goodbye".to_vec(), Time(0)));
    assert!(lingering.is_empty());
    assert_eq!(rest(far), b"goodbye");
}

#[test]
fn unread_bytes_do_not_cost_the_peer_the_message() {
    let (near, mut far) = pair();
    far.write_all(b"unread").unwrap();
    let mut lingering = Lingering::default();
    assert!(lingering.part(near.into(), b"goodbye".to_vec(), Time(5)));
    let (number, _) = lingering.last().unwrap();
    assert_eq!(lingering.deadline(), Time(5 + PATIENCE));
    far.write_all(b"more").unwrap();
    lingering.ready(number);
    lingering.ready(number + 1);
    assert!(!lingering.is_empty(), "the peer has not closed yet");
    assert_eq!(rest(far), b"goodbye");
    lingering.ready(number);
    assert!(lingering.is_empty());
}

#[test]
fn a_long_message_is_written_as_the_peer_reads() {
    let (near, mut far) = pair();
    let message = vec![7; 1_000_000];
    let mut lingering = Lingering::default();
    assert!(lingering.part(near.into(), message.clone(), Time(0)));
    let (number, _) = lingering.last().unwrap();
    let mut got = Vec::new();
    let mut part = vec![0; 50_000];
    while !lingering.is_empty() {
        let count = far.read(&mut part).unwrap();
        if count == 0 {
            far.shutdown(std::net::Shutdown::Write).unwrap();
        }
        got.extend_from_slice(&part[..count]);
        lingering.ready(number);
    }
    assert_eq!(got, message);
}

#[test]
fn time_amount_and_number_are_bounded() {
    let mut lingering = Lingering::default();
    let mut peers = Vec::new();
    for at in 0..=SOCKETS_MAX as u64 {
        let (near, far) = pair();
        assert!(lingering.part(near.into(), Vec::new(), Time(at)));
        peers.push(far);
    }
    assert_eq!(lingering.deadline(), Time(1 + PATIENCE), "the oldest has been closed");
    lingering.expire(Time(PATIENCE));
    assert_eq!(lingering.deadline(), Time(1 + PATIENCE));
    lingering.expire(Time(10 + PATIENCE));
    assert_eq!(lingering.deadline(), Time(11 + PATIENCE));

    let (number, _) = lingering.last().unwrap();
    let talker = peers.last_mut().unwrap();
    talker.set_nonblocking(true).unwrap();
    let mut said = 0;
    while let Ok(count) = talker.write(&[0; 10_000]) {
        said += count;
        lingering.ready(number);
        assert!(said <= 2 * DRAINED_MAX, "it listens for ever");
    }
    lingering.hurry(Time(0), 3);
    assert_eq!(lingering.deadline(), Time(3));
    lingering.expire(Time(3));
    assert!(lingering.is_empty());
}
