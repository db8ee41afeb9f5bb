use super::{BURST_MAX, Pace};

#[test]
fn the_pace_grows_only_from_turn_to_turn() {
    let mut pace = Pace::default();
    let turns = [1, 2, 3, 4, 9, 10, 12, 13];
    assert_eq!(turns.map(|turn| pace.next(turn)), [1, 2, 4, 8, 1, 2, 1, 2]);
    assert_eq!((14..40).map(|turn| pace.next(turn)).max(), Some(BURST_MAX));
}
