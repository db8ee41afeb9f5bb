use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{Act, Mail, WorkerId};

use super::{Letter, Post};
use crate::reactor::{Events, Interest, Reactor, Token};

const WORKER: WorkerId = WorkerId(0);

fn letter() -> Letter {
    Letter::Mail(Mail::Act(Act::Pause(None)))
}

#[test]
fn letters_come_in_order_and_once() {
    let post = Post::new(2).unwrap();
    let mailbox = post.mailbox(WORKER);
    let mut letters = Vec::new();
    assert!(mailbox.may_sleep());
    post.send(WORKER, letter());
    post.send(WORKER, Letter::CloseListeners);
    post.send(WorkerId(1), letter());
    post.send(WorkerId(9), letter());
    assert!(!mailbox.may_sleep());
    mailbox.take(&mut letters);
    assert!(matches!(letters[..], [Letter::Mail(_), Letter::CloseListeners]));
    letters.clear();
    mailbox.take(&mut letters);
    assert!(letters.is_empty() && mailbox.may_sleep());
}

#[test]
fn only_a_sleeper_is_woken() {
    let post = Post::new(1).unwrap();
    let mailbox = post.mailbox(WORKER);
    let reactor = Reactor::new().unwrap();
    reactor.add(mailbox.bell(), Token::Bell, Interest::Read).unwrap();
    let mut letters = Vec::new();
    let rings = || {
        let mut events = Events::new();
        reactor.wait(&mut events, Some(Duration::from_millis(20))).unwrap();
        events.iter().count()
    };

    post.send(WORKER, letter());
    assert_eq!(rings(), 0, "the worker is awake");
    mailbox.take(&mut letters);
    letters.clear();

    for _ in 0..3 {
        assert!(mailbox.may_sleep());
        post.send(WORKER, letter());
        post.send(WORKER, letter());
        assert_eq!(rings(), 1, "the bell rings again without being read");
        assert_eq!(rings(), 0);
        mailbox.wake();
        mailbox.take(&mut letters);
        assert_eq!(letters.len(), 2);
        letters.clear();
    }
}

#[test]
fn no_letter_is_slept_through() {
    const SENDERS: usize = 3;
    const EACH: usize = 20_000;
    let post = Arc::new(Post::new(1).unwrap());
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let post = Arc::clone(&post);
            thread::spawn(move || (0..EACH).for_each(|_| post.send(WORKER, letter())))
        })
        .collect();
    let mailbox = post.mailbox(WORKER);
    let reactor = Reactor::new().unwrap();
    reactor.add(mailbox.bell(), Token::Bell, Interest::Read).unwrap();
    let mut events = Events::new();
    let mut letters = Vec::new();
    let mut got = 0;
    while got < SENDERS * EACH {
        if mailbox.may_sleep() {
            reactor.wait(&mut events, Some(Duration::from_secs(20))).unwrap();
            assert_eq!(events.iter().count(), 1, "slept through after {got} letters");
        }
        mailbox.wake();
        mailbox.take(&mut letters);
        got += letters.len();
        letters.clear();
    }
    for sender in senders {
        sender.join().unwrap();
    }
    assert_eq!(got, SENDERS * EACH);
}
