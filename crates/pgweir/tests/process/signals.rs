//! What signals do, one at a time and in storms.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::place::{PATIENCE, Place, Running, SSL_REQUEST, answer};

#[test]
fn nothing_is_left_behind_whatever_the_signal() {
    let cases = [
        (Signal::TERM, "LOG client connections dropped, exiting\n"),
        (Signal::INT, "LOG server connections dropped, exiting\n"),
        (Signal::QUIT, "LOG got SIGQUIT, fast exit\n"),
    ];
    for (signal, last_words) in cases {
        let place = Place::new("");
        let mut running = Running::start(&place);
        running.signal(signal);
        assert_eq!(running.exit_code(), 0, "{signal:?}");
        assert!(!place.pid_file().exists() && !place.socket().exists(), "{signal:?}");
        assert!(place.log().ends_with(last_words), "{signal:?}: {}", place.log());
    }
}

#[test]
fn a_shutdown_waits_for_clients_and_a_second_signal_does_not() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    let mut client = place.tcp().unwrap();
    // Once it is answered, the client counts.
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(&SSL_REQUEST).unwrap();
    client.read_exact(&mut [0; 1]).unwrap();
    running.signal(Signal::TERM);
    place.wait_until("TCP is still open", |place| place.tcp().is_err());
    assert!(UnixStream::connect(place.socket()).is_ok(), "the console must be within reach");
    running.signal(Signal::USR2);
    place.wait_until("SIGUSR2 was not heard", |place| {
        place.log().contains("LOG got SIGUSR2 while shutting down, ignoring\n")
    });
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    assert!(place.log().ends_with("LOG got SIGTERM while shutting down, fast exit\n"));
}

#[test]
fn a_storm_of_signals_is_weathered() {
    let place = Place::new("");
    let mut running = Running::start(&place);
    for round in 0..300 {
        running.signal([Signal::HUP, Signal::USR1, Signal::USR2][round % 3]);
        if round % 50 == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    running.signal(Signal::USR2);
    assert_eq!(answer(place.tcp().unwrap()), *b"N", "it serves as before");
    // Signals of one kind that have not been heard are one; what counts is that the last is heard.
    place
        .wait_until("no reload", |place| place.log().contains("LOG got SIGHUP, re-reading config"));
    assert!(!place.log().contains("WARNING"), "{}", place.log());
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), 0);
    assert!(!place.pid_file().exists() && !place.socket().exists());
}

#[test]
fn signals_on_top_of_each_other_end_it_once() {
    let kinds = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP];
    for first in kinds {
        for second in [Signal::TERM, Signal::INT, Signal::QUIT] {
            let place = Place::new("");
            let mut running = Running::start(&place);
            running.signal(first);
            // It may have ended: it is not waited for before its exit code is read.
            running.signal(second);
            assert_eq!(running.exit_code(), 0, "{first:?} {second:?}");
            assert!(!place.pid_file().exists() && !place.socket().exists());
        }
    }
}
