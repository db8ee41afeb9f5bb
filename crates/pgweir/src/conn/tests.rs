use engine::ConnId;

use super::{Conn, Conns, Family, Input, Output, Stage};

fn name(generation: u64, slot: u64) -> ConnId {
    ConnId::from_bits(generation << 32 | slot)
}

#[test]
fn an_entry_is_small() {
    assert!(size_of::<Option<Conn>>() <= 32, "{} bytes", size_of::<Option<Conn>>());
}

#[test]
fn a_late_event_cannot_hit_the_next_connection_in_a_slot() {
    let mut conns = Conns::default();
    conns.insert(name(0, 6), None, Stage::Open, Family::Tcp);
    assert!(conns.find(name(0, 6)).is_some());
    assert!(conns.find(name(1, 6)).is_none());
    assert!(conns.find(name(0, 7)).is_none());
    assert!(conns.remove(name(1, 6)).is_none());
    assert!(conns.remove(name(0, 6)).is_some());
    assert!(conns.remove(name(0, 6)).is_none());
    conns.insert(name(1, 6), None, Stage::Open, Family::Unix);
    assert!(conns.find(name(0, 6)).is_none());
    assert!(conns.find(name(1, 6)).is_some());
}

#[test]
fn reading_and_writing_make_sense_only_when_they_can_succeed() {
    let mut conns = Conns::default();
    conns.insert(name(0, 0), None, Stage::Open, Family::Tcp);
    let conn = conns.find(name(0, 0)).unwrap();
    for (input, expected) in [
        (Input::Quiet, false),
        (Input::Waiting, true),
        (Input::Ending, true),
        (Input::Ended, false),
    ] {
        conn.input = input;
        conn.wanted = true;
        assert_eq!(conn.may_read(), expected, "{input:?}");
        conn.wanted = false;
        assert!(!conn.may_read());
        assert_eq!(conn.ends_unread(), input == Input::Ending, "{input:?}");
        conn.wanted = true;
        assert!(!conn.ends_unread());
    }
    for (output, expected) in [(Output::Room, true), (Output::Full, false), (Output::Failed, false)]
    {
        conn.output = output;
        assert_eq!(conn.may_write(), expected, "{output:?}");
    }
    conn.output = Output::Room;
    conn.stage = Stage::Opening;
    assert!(!conn.may_write());
}
