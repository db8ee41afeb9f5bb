//! Who gets the next server, how many are opened, and who is told that none will come.

use std::sync::Arc;

use super::ledger::{Ledger, Limits};
use super::share::{LAG, Request};
use super::*;
use crate::command::Peer;
use crate::ids::{Slab, WorkerId};

const RETRY: u64 = 15_000_000;

/// What makes a pool ready for a case.
type Prepare<'a> = &'a dyn for<'s> Fn(&'s mut Scene) -> &'s mut Scene;

/// A pool with clients that wait.
struct Scene {
    ledger: Ledger,
    clients: Slab<Client>,
    pool: Pool,
}

fn scene() -> Scene {
    let key = PoolKey { database: "app".into(), user: "me".into() };
    let target = Target::sample();
    let ledger = Ledger::new(2);
    let slots = ledger.slots(&key);
    Scene { ledger, clients: Slab::new(), pool: Pool::new(key, target, slots) }
}

impl Scene {
    fn client(&mut self) -> Id<Client> {
        self.clients.insert(Client::new(Peer::Unix { pid: 0, uid: 0, port: 6432 }, 1, Time::ZERO))
    }

    fn wait(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            let client = self.client();
            self.pool.waiting.push_back(client);
        }
        self
    }

    fn newcomers(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            let client = self.client();
            self.pool.newcomers.push(client);
        }
        self
    }

    fn under_way(&mut self, connecting: usize, tested: usize) -> &mut Self {
        (self.pool.connecting, self.pool.tested) = (connecting, tested);
        self
    }

    fn shut(&mut self, door: Door) -> &mut Self {
        self.pool.door = door;
        self
    }

    fn fail(&mut self, sqlstate: Option<&str>, at: Time) -> &mut Self {
        let failure =
            Failure { sqlstate: sqlstate.map(str::to_owned), ..Failure::of_network("no") };
        self.pool.failed = Some(Failed::after(None, Arc::new(failure), at));
        self
    }

    fn open(&mut self, count: u32) -> &mut Self {
        for _ in 0..count {
            let limits = Limits { pool: 0, database: 0, user: 0 };
            assert_eq!(self.ledger.reserve(&self.pool.slots, limits, WorkerId(0)), Ok(()));
        }
        self
    }
}

#[test]
fn the_oldest_waiter_is_next() {
    let mut scene = scene();
    let time = |micros: u64| Time(1_000_000 + micros);
    assert_eq!(scene.pool.next_claim(None), Claim::Nobody);
    scene.wait(2);
    let first = Claim::Client(scene.pool.waiting[0]);
    assert_eq!(scene.pool.next_claim(Some(time(0))), first);
    // A client of another worker goes first when it is older by more than the lag.
    for (since, expected) in [
        (time(0), first),
        (time(0) - LAG, first),
        (time(0) - LAG - 1, Claim::Worker(WorkerId(1))),
        (time(5), first),
    ] {
        scene.pool.share.request(Request { by: WorkerId(1), since });
        assert_eq!(scene.pool.next_claim(Some(time(0))), expected, "{since:?}");
    }
    // Who needs no server here leaves it to the others, however young.
    scene.pool.waiting.clear();
    assert_eq!(scene.pool.next_claim(None), Claim::Worker(WorkerId(1)));
    scene.pool.share.withdraw(WorkerId(1));
    assert_eq!(scene.pool.next_claim(None), Claim::Nobody);
}

#[test]
fn one_server_is_opened_for_each_waiter() {
    let now = Time(100_000_000);
    let check = |prepare: Prepare<'_>, expected: usize| {
        let mut scene = scene();
        prepare(&mut scene);
        assert_eq!(scene.pool.launches(now, RETRY), expected);
    };
    check(&|scene| scene, 0);
    check(&|scene| scene.wait(1), 1);
    check(&|scene| scene.wait(3), 3);
    check(&|scene| scene.wait(9), CONNECTS_MAX);
    check(&|scene| scene.wait(3).under_way(1, 0), 2);
    check(&|scene| scene.wait(3).under_way(1, 1), 1);
    check(&|scene| scene.wait(3).under_way(0, 3), 0);
    check(&|scene| scene.wait(3).under_way(4, 4), 0);
    check(&|scene| scene.wait(9).under_way(CONNECTS_MAX, 0), 0);
    check(&|scene| scene.wait(9).under_way(CONNECTS_MAX - 1, 0), 1);
    // One login brings the welcome for all who wait for it.
    check(&|scene| scene.newcomers(5), 1);
    check(&|scene| scene.newcomers(5).under_way(1, 0), 0);
    check(&|scene| scene.newcomers(5).wait(2), 2);
    check(&|scene| scene.wait(3).shut(Door::Paused), 0);
    check(&|scene| scene.wait(3).shut(Door::Removed), 0);
    // A failed login makes everybody wait, whatever its reason.
    check(&|scene| scene.wait(3).fail(None, now), 0);
    check(&|scene| scene.wait(3).fail(Some("53300"), now - RETRY + 1), 0);
    check(&|scene| scene.wait(3).fail(None, now - RETRY), 3);
}

#[test]
fn who_waits_in_vain_is_told() {
    let now = Time(100_000_000);
    let check = |prepare: Prepare<'_>, expected: bool| {
        let mut scene = scene();
        prepare(&mut scene);
        assert_eq!(scene.pool.hopeless(now, RETRY).is_some(), expected);
    };
    check(&|scene| scene, false);
    check(&|scene| scene.fail(None, now), true);
    check(&|scene| scene.fail(Some("3D000"), now), true);
    check(&|scene| scene.fail(Some("28P01"), now - RETRY + 1), true);
    check(&|scene| scene.fail(Some("3D000"), now - RETRY), false);
    // The server starts, or is full: that passes.
    check(&|scene| scene.fail(Some("57P03"), now), false);
    check(&|scene| scene.fail(Some("53300"), now), false);
    // Servers that work, here or elsewhere, will come free; those that connect may fail as well.
    check(&|scene| scene.fail(None, now).open(1), false);
    check(&|scene| scene.fail(None, now).open(2).under_way(1, 0), false);
    check(&|scene| scene.fail(None, now).open(2).under_way(2, 0), true);
}

#[test]
fn what_is_more_than_size_and_reserve_is_surplus() {
    for (size, reserve, open, expected) in
        [(2, 0, 2, 0), (2, 0, 3, 1), (0, 0, 3, 0), (1, 0, 0, 0), (2, 1, 5, 2)]
    {
        let mut scene = scene();
        let target = Arc::make_mut(&mut scene.pool.target);
        (target.size, target.reserve) = (size, reserve);
        scene.open(open);
        assert_eq!(scene.pool.surplus(), expected, "{open} of {size}");
        // Those that are leaving are not counted again.
        if open > 0 {
            scene.pool.slots.leave();
            assert_eq!(scene.pool.surplus(), expected.saturating_sub(1));
        }
    }
}

#[test]
fn the_minimum_is_kept_up_where_somebody_may_want_it() {
    #[track_caller]
    fn check(prepare: Prepare<'_>, expected: usize) {
        let mut scene = scene();
        Arc::make_mut(&mut scene.pool.target).minimum = 6;
        prepare(&mut scene);
        assert_eq!(scene.pool.missing(Time(RETRY * 2), RETRY), expected);
    }
    fn force(scene: &mut Scene) -> &mut Scene {
        Arc::make_mut(&mut scene.pool.target).forces_user = true;
        scene
    }
    fn join(scene: &mut Scene) -> &mut Scene {
        scene.pool.slots.client_joined();
        scene
    }
    check(&|scene| scene, 0);
    check(&|scene| join(scene), 4);
    check(&|scene| force(scene), 4);
    check(&|scene| force(scene).under_way(3, 0), 1);
    check(&|scene| force(scene).open(5), 1);
    check(&|scene| force(scene).open(6), 0);
    check(&|scene| force(scene).open(9), 0);
    check(&|scene| force(scene).shut(Door::Paused), 0);
    check(&|scene| force(scene).fail(None, Time(RETRY * 2)), 0);
    check(&|scene| force(scene).fail(None, Time::ZERO), 4);
}

#[test]
fn idle_servers_are_used_last_in_first_out_or_in_turn() {
    let (one, two) =
        (crate::ids::ConnId::from_bits(1).into(), crate::ids::ConnId::from_bits(3).into());
    for (round_robin, expected) in [(false, [two, one]), (true, [one, two])] {
        let mut scene = scene();
        Arc::make_mut(&mut scene.pool.target).round_robin = round_robin;
        scene.pool.idle.extend([one, two]);
        assert_eq!(scene.pool.take_idle(), Some(expected[0]));
        assert_eq!(scene.pool.take_idle(), Some(expected[1]));
    }
}

#[test]
fn clients_and_servers_are_forgotten_everywhere() {
    let mut scene = scene();
    scene.wait(3).newcomers(1);
    let (first, second) = (scene.pool.waiting[0], scene.pool.waiting[1]);
    let requester =
        |slot| Requester { worker: WorkerId(1), conn: crate::ids::ConnId::from_bits(slot) };
    let cancel =
        |client, slot| CancelRequest { client, requester: requester(slot), at: Time::ZERO };
    scene.pool.cancels.push_back(cancel(second, 2));
    scene.pool.cancels.push_back(cancel(first, 4));
    scene.pool.cancels.push_back(cancel(second, 6));
    assert_eq!(scene.pool.forget_client(second), [requester(2), requester(6)]);
    assert_eq!(scene.pool.waiting.len(), 2);
    assert_eq!(scene.pool.cancels.len(), 1);
    assert_eq!(scene.pool.forget_client(first), [requester(4)]);
    let newcomer = scene.pool.newcomers[0];
    assert_eq!(scene.pool.forget_client(newcomer), []);
    assert!(scene.pool.newcomers.is_empty());
}

#[test]
fn failures_are_told_in_the_words_of_whoever_failed() {
    let told = Failure::of_network("connect failed: no route").told();
    assert_eq!(told.sqlstate, "08006");
    assert_eq!(
        told.message,
        "server login has been failing, cached error: connect failed: no route (server_login_retry)"
    );
    for (body, sqlstate, message) in [
        (&b"SFATAL\0C3D000\0Mno such database\0\0"[..], "3D000", "no such database"),
        (b"SFATAL\0Mno code\0\0", "08006", "no code"),
        (b"SFATAL\0C28P01\0\0", "28P01", "server login failed"),
        (b"C1234567\0Mx\0\0", "12345", "x"),
        (b"\0", "08006", "server login failed"),
    ] {
        let failure = Failure::of_server(&Fields::parse(body).unwrap());
        let told = failure.told();
        assert_eq!((&*told.sqlstate, &*told.message), (sqlstate, message));
    }
    let long = [b"M", &[b'x'; 5000][..], b"\0\0"].concat();
    let failure = Failure::of_server(&Fields::parse(&long).unwrap());
    assert_eq!(failure.told().message.len(), 400);
}

#[test]
fn a_login_that_ends_without_a_word_is_tried_again_a_few_times() {
    let failed = |failure: Failure| {
        let mut last = None;
        (0..10).map(move |_| {
            last = Some(Failed::after(last.as_ref(), Arc::new(failure.clone()), Time::ZERO));
            last.as_ref().is_some_and(Failed::may_pass)
        })
    };
    let silent: Vec<_> = failed(Failure::of_silence("gone")).collect();
    assert_eq!(silent, [true, true, true, true, true, false, false, false, false, false]);
    assert!(failed(Failure::of_network("refused")).all(|may_pass| !may_pass));
}
