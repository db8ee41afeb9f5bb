use rustix::io::Errno;

use super::{BURST_MAX, Pace, Reserve};

#[test]
fn the_pace_grows_only_from_turn_to_turn() {
    let mut pace = Pace::default();
    let turns = [1, 2, 3, 4, 9, 10, 12, 13];
    assert_eq!(turns.map(|turn| pace.next(turn)), [1, 2, 4, 8, 1, 2, 1, 2]);
    assert_eq!((14..40).map(|turn| pace.next(turn)).max(), Some(BURST_MAX));
}

#[test]
fn the_last_descriptors_are_not_for_clients() {
    let any = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
    let check = |from, last, expected| {
        let mut reserve = Reserve { from, last };
        assert_eq!(reserve.spares(&any), expected, "{last} of {from}");
    };
    check(10_000, 9_999, Ok(()));
    // The number that is free now counts, and this process has few open.
    check(10_000, 10_001, Ok(()));
    check(1, 1, Err(Errno::MFILE));
}
