//! What acts make of the whole pooler.

use super::{Act, Rest};

#[test]
fn acts_and_what_they_lead_to() {
    use Rest::{Paused, Suspended, Working};
    let database = || Some("app".into());
    let table = [
        (Act::Pause(None), [Paused, Paused, Suspended]),
        (Act::Suspend, [Suspended, Paused, Suspended]),
        (Act::Resume(None), [Working, Working, Working]),
        (Act::Pause(database()), [Working, Paused, Suspended]),
        (Act::Resume(database()), [Working, Paused, Suspended]),
        (Act::Reconnect(None), [Working, Paused, Suspended]),
        (Act::Kill(vec!["app".into()]), [Working, Paused, Suspended]),
    ];
    for (act, after) in table {
        for (before, after) in [Working, Paused, Suspended].into_iter().zip(after) {
            assert_eq!(before.after(&act), after, "{act:?} while {before:?}");
        }
    }
}
