//! Both halves of SCRAM against each other.

use crate::xorshift::Xorshift;
use crate::{Denied, ScramClient, ScramKeys, ScramServer, Verifier, derive};

/// The messages of one exchange, in order; the flipped one is named by its place.
const MESSAGES: usize = 4;

#[test]
fn the_right_password_is_accepted() {
    for seed in 0..2000 {
        let mut random = Xorshift::new(seed);
        let password = random.text(b"pencil \xC3\xA9\x07", 12);
        let (keys, verifier) = stored(&mut random, &password);
        let learnt = play(&mut random, &password, &verifier, |_, _| {});
        assert_eq!(learnt, Ok(keys), "seed {seed}");
    }
}

#[test]
fn keys_learnt_from_a_client_log_in_to_a_server() {
    let mut random = Xorshift::new(1);
    let (_, verifier) = stored(&mut random, b"pencil");
    let keys = play(&mut random, b"pencil", &verifier, |_, _| {}).unwrap();
    let mut client = ScramClient::new(nonce(&mut random));
    let mut server = ScramServer::new(nonce(&mut random));
    client.challenge(&server.first(&client.first(), &verifier).unwrap()).unwrap();
    let proven = server.last(&client.last(&keys).unwrap()).unwrap();
    assert_eq!(client.verify(&proven.server_final), Ok(()));
}

#[test]
fn another_password_is_refused() {
    for seed in 0..2000 {
        let mut random = Xorshift::new(seed);
        let (_, verifier) = stored(&mut random, b"pencil");
        let wrong = random.text(b"pencil", 6);
        let expected = if wrong == b"pencil" { None } else { Some(Denied::Proof) };
        let outcome = play(&mut random, &wrong, &verifier, |_, _| {});
        assert_eq!(outcome.err(), expected, "seed {seed}");
    }
}

/// Goal: nobody in the middle can change anything. Method: one byte of one message is flipped.
#[test]
fn one_changed_byte_is_never_accepted() {
    for seed in 0..8000 {
        let mut random = Xorshift::new(seed);
        let (_, verifier) = stored(&mut random, b"pencil");
        let (place, flip) = (random.below(MESSAGES), random.below(255));
        let at = random.below(1 << 16);
        let outcome = play(&mut random, b"pencil", &verifier, |message_place, message| {
            if message_place == place {
                let at = at % message.len();
                message[at] ^= u8::try_from(flip + 1).unwrap();
            }
        });
        assert!(outcome.is_err(), "seed {seed}, message {place}");
    }
}

/// Goal: no message makes a half panic or accept. Method: messages from an alphabet of what SCRAM
/// treats specially.
#[test]
fn any_message_is_survived() {
    let mut random = Xorshift::new(3);
    let (keys, verifier) = stored(&mut random, b"pencil");
    for _ in 0..20_000 {
        let mut server = ScramServer::new(nonce(&mut random));
        let first = [b"n,,n=,r=", &*random.text(b"a,=mrp\0", 8)].concat();
        let answered = server.first(&first, &verifier).is_ok();
        let last = random.text(b"c=biws,r=a,p=", 40);
        assert!(server.last(&last).is_err(), "{answered} {last:?}");
        let mut client = ScramClient::new(nonce(&mut random));
        let server_first = [&client.first()[6..], &*random.text(b"x,s=A=,i=10", 20)].concat();
        if client.challenge(&server_first).is_ok() {
            client.last(&keys).unwrap();
        }
        assert!(client.verify(&random.text(b"v=eA,", 48)).is_err());
    }
}

/// Plays one exchange; `meddle` sees each message and its place before it is delivered. Returns the
/// keys that the server's half has learnt when both halves are content.
fn play(
    random: &mut Xorshift,
    password: &[u8],
    verifier: &Verifier,
    meddle: impl Fn(usize, &mut [u8]),
) -> Result<ScramKeys, Denied> {
    let mut client = ScramClient::new(nonce(random));
    let mut server = ScramServer::new(nonce(random));
    let deliver = |place, mut message: Vec<u8>| {
        meddle(place, &mut message);
        message
    };
    let server_first = server.first(&deliver(0, client.first()), verifier)?;
    let challenge = client.challenge(&deliver(1, server_first))?;
    let keys = derive(password, &challenge.salt, challenge.iterations.min(9));
    let proven = server.last(&deliver(2, client.last(&keys)?))?;
    client.verify(&deliver(3, proven.server_final))?;
    Ok(proven.keys)
}

fn stored(random: &mut Xorshift, password: &[u8]) -> (ScramKeys, Verifier) {
    let salt: Vec<u8> = (0..=random.below(20)).map(|_| random.byte()).collect();
    let iterations = u32::try_from(1 + random.below(3)).unwrap();
    let keys = derive(password, &salt, iterations);
    (keys, keys.verifier(&salt, iterations))
}

fn nonce(random: &mut Xorshift) -> [u8; 18] {
    std::array::from_fn(|_| random.byte())
}
