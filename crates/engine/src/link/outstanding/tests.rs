//! Requests and their answers in tables, and at random against a model of PostgreSQL.

use std::collections::VecDeque;

use wire::tag::{backend, frontend};
use wire::{TransactionStatus, write};

use super::{Heard, Outstanding};

#[allow(dead_code, clippy::duplicate_mod, reason = "other tests need more of it")]
#[path = "../../../tests/story/dice.rs"]
mod dice;
#[path = "../../../tests/story/postgres.rs"]
mod postgres;
#[path = "../../../tests/story/talk.rs"]
mod talk;

use dice::Dice;
use postgres::Postgres;

/// What can be done with the server when all is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Somebody else may have it.
    Settled,
    /// Something is still to come.
    Open,
    /// Only a probe can tell.
    Doubtful,
}
use End::{Doubtful, Open, Settled};

fn end(outstanding: &Outstanding) -> End {
    assert!(!(outstanding.is_settled() && outstanding.wants_probe()), "both at once");
    match (outstanding.is_settled(), outstanding.wants_probe()) {
        (true, _) => Settled,
        (_, true) => Doubtful,
        _ => Open,
    }
}

/// Plays words of one kind each: `>PBES` the client says, `<12CZ` the server says for the client,
/// `-IZ` for us, `!1` what nobody asked; `?` a probe is wanted and sent, `+` a Close of our own.
fn play(words: &str) -> Outstanding {
    let mut outstanding = Outstanding::new();
    for word in words.split_whitespace() {
        let (kind, tags) = word.split_at(1);
        let expected = match kind {
            "<" => Heard::Forward,
            "-" => Heard::Swallow,
            "!" => Heard::Unexpected,
            ">" => {
                tags.bytes().for_each(|tag| outstanding.asked(tag));
                continue;
            }
            "+" => {
                outstanding.closed();
                continue;
            }
            "?" => {
                assert_eq!(end(&outstanding), Doubtful, "{words}: nothing to probe");
                outstanding.probed();
                continue;
            }
            _ => panic!("not a word: {word}"),
        };
        for tag in tags.bytes() {
            assert_eq!(outstanding.heard(tag), expected, "{words}: {} in {word}", char::from(tag));
        }
    }
    outstanding
}

fn check(words: &str, expected: End) {
    assert_eq!(end(&play(words)), expected, "{words}");
}

#[test]
fn queries() {
    check("", Settled);
    check(">Q", Open);
    check(">Q <TDC", Open);
    check(">Q <TDCZ", Settled);
    check(">Q <IZ", Settled);
    check(">Q <EZ", Settled);
    check(">Q <TDE", Open);
    check(">Q <TDCTDCCZ", Settled);
    check(">QQ <TDCZ", Open);
    check(">QQ <TDCZ <EZ", Settled);
    check(">QQQ <CZ <EZ <CZ", Settled);
    check(">Q <NSATDNCSAZ", Settled);
    check(">F", Open);
    check(">F <VZ", Settled);
    check(">F <EZ", Settled);
    check(">FQ <VZ", Open);
    check(">FQ <EZCZ", Settled);
    check(">Q <HdddcCZ", Settled);
    check(">Q <HddEZ", Settled);
}

#[test]
fn batches() {
    check(">S", Open);
    check(">S <Z", Settled);
    check(">SSS <ZZ", Open);
    check(">SSS <ZZZ", Settled);
    check(">PBES <12DCZ", Settled);
    check(">PDBDECCS <1tT2TDC33Z", Settled);
    check(">PDBDES <1tn2nCZ", Settled);
    check(">PBES <12IZ", Settled);
    check(">PBES <12Ds", Open);
    check(">PBES <12DsZ", Settled);
    check(">PBEESS <12DsDCZ", Open);
    check(">PBESPBES <12CZ12CZ", Settled);
    check(">PBESQ <12CZ", Open);
    check(">PBESQ <12CZCZ", Settled);
    check(">PBES <12HdcCZ", Settled);
}

#[test]
fn batches_without_sync() {
    check(">P", Open);
    check(">P <1", Open);
    check(">PBEH <12C", Open);
    check(">PBH <12 >EH <DDs >EH <DC >CS <3", Open);
    check(">PBH <12 >EH <DDs >EH <DC >CS <3Z", Settled);
    check(">DH <T", Open);
    check(">CH <3", Open);
    check(">H", Settled);
    check(">dcf", Settled);
    check(">PBEQ <12CCZ", Settled);
    check(">PBEQ <12C", Open);
    check(">PBEQS <12CCZ", Open);
    check(">PBEQS <12CCZZ", Settled);
    check(">PBF <12VZ", Settled);
}

#[test]
fn batches_that_fail() {
    check(">P <E", Open);
    check(">PS <E", Open);
    check(">PS <EZ", Settled);
    check(">PBES <1EZ", Settled);
    check(">PBES <12EZ", Settled);
    check(">PBES <12DDEZ", Settled);
    check(">PBES <12CEZ", Settled);
    check(">DS <EZ", Settled);
    check(">CS <EZ", Settled);
    check(">PBEPBES <12EZ", Settled);
    check(">PBESPBES <E", Open);
    check(">PBESPBES <EZ", Open);
    check(">PBESPBES <EZ12CZ", Settled);
    check(">PBESPBES <EZEZ", Settled);
    check(">PQFS <EZ", Settled);
    check(">PQ <E", Open);
    check(">P <E >QF", Open);
    check(">P <E >QFS <Z", Settled);
    check(">P <E >BEH >S <Z", Settled);
    check(">PSPBD <EZ12T", Open);
    check(">PSPBD <EZ12T >ES <CZ", Settled);
    check(">PS <NENZ", Settled);
}

#[test]
fn copies() {
    check(">Q <G", Open);
    check(">Q <G >ddd", Open);
    check(">Q <G >dddc", Open);
    check(">Q <G >dddc <C", Open);
    check(">Q <G >dddc <CZ", Settled);
    check(">Qddc <GCZ", Settled);
    check(">QddcQ <GCZTDCZ", Settled);
    check(">Q <G >dc <CTDCG >dc <CZ", Settled);
    check(">Q <G >HSd >Sc <CZ", Settled);
    check(">Q <G >df <EZ", Settled);
    check(">Q <G >d <EZ >dc", Settled);
    check(">Q <G >d <E >dc <Z", Settled);
    check(">QQ <CZG >dc <CZ", Settled);
    check(">Qdc <EZ", Settled);
    check(">QdcQ <EZCZ", Settled);
    check(">QdfQc <EZCZ", Settled);
}

#[test]
fn copies_of_batches() {
    check(">PBEH <12G >dc <C", Open);
    check(">PBEH <12G >dcS <CZ", Settled);
    // The early Sync was read during the COPY: the batch still needs one.
    check(">PBES <12G >dc <C", Open);
    check(">PBES <12G >dcS <CZ", Settled);
    check(">PBES <12G >dSSHc <C", Open);
    check(">PBES <12G >dSSHcS <CZ", Settled);
    check(">PBES <12G >dcQ <CCZ", Settled);
    check(">PBEdcPBES <12GC12DCZ", Settled);
    check(">PBEdcS <12GEZ", Settled);
    check(">PBEdfPS <12GEZ", Settled);
    check(">PBE <12G >d <E", Open);
    check(">PBE <12G >d <E >cS <Z", Settled);
    // Nobody knows whether the early Sync was read during the COPY or behind it.
    check(">PBES <12G >d <E", Open);
    check(">PBES <12G >dcS <EZ", Doubtful);
    check(">PBES <12G >dcS <EZ ? -IZ", Settled);
    check(">PBES <12GEZ", Doubtful);
    check(">PBES <12GEZ ? >dcS -IZ <Z", Settled);
    check(">PBES <12GEZ ? -IZ >dcS <Z", Settled);
    check(">PBES <12G >dcS <EZ ? <Z -IZ", Settled);
    check(">PBESdcS <12GEZ ? <Z -IZ", Settled);
    check(">PBESdcS <12GEZ >Q <Z <TDC <Z ? -IZ", Settled);
    check(">PBES <12GEZ >P <1", Open);
    check(">PBES <12GEZ >PBES <12CZ ? -IZ", Settled);
}

#[test]
fn closes_of_our_own() {
    check("+ >BES -3 <2DCZ", Settled);
    check("+ >PS -3 <EZ", Settled);
    check("+ >BES -3 <EZ", Settled);
}

/// Every message of a server in every situation: `wrong` answers nothing, all others are for the
/// client.
#[test]
fn every_message_in_every_situation() {
    const ALL: &[u8] = b"RK123CWdcGHDIEVvNAntSsZT";
    let situations = [
        ("", "123Z"),
        (">Q", "123"),
        (">Q <TD", "123"),
        (">F", "123"),
        (">P", "23Z"),
        (">B", "13Z"),
        (">D", "123Z"),
        (">E", "123Z"),
        (">C", "12Z"),
        (">S", "123"),
        (">H", "123Z"),
        (">P <1", "123Z"),
        (">PS <1", "123"),
        (">P <E", "23Z"),
        (">PBES <E", "23"),
        (">PQ <E", "23Z"),
        (">Q <G", "123"),
        (">Q <G >c", "123"),
        (">E <G", "123Z"),
        (">ES <G", "123Z"),
        (">ES <GE", "123"),
        (">ES <GEZ", "123"),
    ];
    for (situation, wrong) in situations {
        for &tag in ALL {
            let expected = match wrong.as_bytes().contains(&tag) {
                true => Heard::Unexpected,
                false => Heard::Forward,
            };
            let heard = play(situation).heard(tag);
            assert_eq!(heard, expected, "{} after {situation:?}", char::from(tag));
        }
    }
}

#[test]
fn the_queue_has_an_end() {
    let mut outstanding = Outstanding::new();
    for _ in 0..super::REQUESTS_MAX {
        assert!(!outstanding.is_full());
        outstanding.asked(frontend::SYNC);
    }
    assert!(outstanding.is_full());
}

/// Whatever a client says, and however far the server lags behind: its answers are told from ours,
/// and the server is called settled when it is, and not before.
#[test]
fn any_talk_goes_as_with_postgresql() {
    for seed in 0..3000 {
        Scene::new(seed).play();
    }
}

/// A client, a server, and what is on its way between them.
struct Scene {
    seed: u64,
    dice: Dice,
    talk: VecDeque<Vec<u8>>,
    due: Vec<u8>,
    heard: Vec<u8>,
    outstanding: Outstanding,
    status: TransactionStatus,
    to_server: VecDeque<Vec<u8>>,
    server: Postgres,
    to_client: Vec<u8>,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let talk = talk::talk("me", &mut dice);
        let mut own = Postgres::new(b"");
        Self {
            seed,
            dice,
            due: talk.iter().flat_map(|message| own.hear(message)).collect(),
            talk: talk.into(),
            heard: Vec::new(),
            outstanding: Outstanding::new(),
            status: TransactionStatus::Idle,
            to_server: VecDeque::new(),
            server: Postgres::new(b""),
            to_client: Vec::new(),
        }
    }

    fn play(mut self) {
        while !(self.talk.is_empty() && self.to_server.is_empty() && self.to_client.is_empty()) {
            match self.dice.below(3) {
                0 => self.ask(),
                1 => self.act(),
                _ => self.hear(),
            }
            if self.outstanding.is_settled() && self.status == TransactionStatus::Idle {
                self.is_at_rest();
            }
            if self.outstanding.wants_probe() {
                self.outstanding.probed();
                let mut probe = Vec::new();
                write::query(&mut probe, b"");
                self.to_server.push_back(probe);
            }
        }
        let seed = self.seed;
        assert_eq!(self.heard, self.due, "seed {seed}: the client hears something else");
        assert!(self.outstanding.is_settled(), "seed {seed}: {:?}", self.outstanding);
    }

    fn ask(&mut self) {
        if let Some(message) = self.talk.pop_front() {
            self.outstanding.asked(message[0]);
            self.to_server.push_back(message);
        }
    }

    fn act(&mut self) {
        if let Some(message) = self.to_server.pop_front() {
            self.to_client.extend(self.server.hear(&message));
        }
    }

    fn hear(&mut self) {
        let Ok(Some(head)) = wire::header(&self.to_client) else { return };
        let message: Vec<u8> = self.to_client.drain(..head.total as usize).collect();
        if head.tag == backend::READY_FOR_QUERY {
            self.status = wire::backend::ready_for_query(wire::frame::body(&message)).unwrap();
        }
        match self.outstanding.heard(head.tag) {
            Heard::Forward => self.heard.extend(message),
            Heard::Swallow => {}
            Heard::Unexpected => {
                panic!("seed {}: {} in {:?}", self.seed, char::from(head.tag), self.outstanding)
            }
        }
    }

    /// Only what is never answered may still be on its way.
    fn is_at_rest(&self) {
        const SILENT: [u8; 4] =
            [frontend::FLUSH, frontend::COPY_DATA, frontend::COPY_DONE, frontend::COPY_FAIL];
        let silent = |message: &Vec<u8>| SILENT.contains(&message[0]);
        let rest = self.to_client.is_empty() && self.to_server.iter().all(silent);
        assert!(rest && self.server.is_clean(), "seed {}: settled too early", self.seed);
    }
}
