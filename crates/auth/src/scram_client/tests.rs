//! The client half against PostgreSQL 15's messages and hostile servers.

use super::*;
use crate::keys::derive;

const ENTROPY: [u8; 18] = *b"eighteen bytes....";
const CLIENT_FIRST: &[u8] = b"n,,n=,r=ZWlnaHRlZW4gYnl0ZXMuLi4u";
/// Recorded from PostgreSQL 15, which then accepted the password `pencil`.
const SERVER_FIRST: &[u8] =
    b"r=ZWlnaHRlZW4gYnl0ZXMuLi4uStkOpG9506PYRyyCL0QD/OkQ,s=85B0Dmqzdl06taTLnAHnrw==,i=4096";
const SERVER_FINAL: &[u8] = b"v=K6jLgSsRVKdFTcsW04BRV0FuaP3GDCfVTqdo9SlsYZo=";

#[test]
fn postgresql_is_understood() {
    let mut client = ScramClient::new(ENTROPY);
    assert_eq!(client.first(), CLIENT_FIRST);
    let Challenge { salt, iterations } = client.challenge(SERVER_FIRST).unwrap();
    assert_eq!(encode(&salt), "85B0Dmqzdl06taTLnAHnrw==");
    assert_eq!(iterations, 4096);
    let client_final = client.last(&derive(b"pencil", &salt, iterations)).unwrap();
    let expected = "c=biws,r=ZWlnaHRlZW4gYnl0ZXMuLi4uStkOpG9506PYRyyCL0QD/OkQ,\
        p=z7L5sT9OSmbEJZb2bKvLQ9TPC1+BNDBlPAqif3qBSkE=";
    assert_eq!(String::from_utf8(client_final).unwrap(), expected);
    assert_eq!(client.verify(SERVER_FINAL), Ok(()));
}

#[test]
fn challenges_are_judged() {
    let judge = |rest: &str| {
        let server_first = format!("r=ZWlnaHRlZW4gYnl0ZXMuLi4u{rest}");
        ScramClient::new(ENTROPY).challenge(server_first.as_bytes())
    };
    assert_eq!(judge("x,s=AA==,i=1"), Ok(Challenge { salt: vec![0], iterations: 1 }));
    assert_eq!(judge("x,s=AA==,i=100000").map(|challenge| challenge.iterations), Ok(100_000));
    assert_eq!(judge(",s=AA==,i=1"), Err(Denied::Nonce));
    assert_eq!(judge("x,s=AA==,i=0"), Err(Denied::Iterations));
    assert_eq!(judge("x,s=AA==,i=100001"), Err(Denied::Iterations));
    assert_eq!(judge("x,s=AA==,i=4294967297"), Err(Denied::Iterations));
    assert_eq!(judge("x,s=AA==,i=18446744073709551617"), Err(Denied::Iterations));
    let malformed = [
        "",
        "x",
        "x,",
        "x,s=AA==",
        "x,i=1",
        "x,i=1,s=AA==",
        "x,s=,i=1",
        "x,s=A,i=1",
        "x,s=AB==,i=1",
        "x,s=AA==,i=",
        "x,s=AA==,i=-1",
        "x,s=AA==,i=+1",
        "x,s=AA==,i=01",
        "x,s=AA==,i=00",
        "x,s=AA==,i=1a",
        "x,s=AA==,i= 1",
        "x,s=AA==,i=1,",
        "x,s=AA==,i=1,x=y",
        "x y,s=AA==,i=1",
        "x\0,s=AA==,i=1",
        "é,s=AA==,i=1",
    ];
    for rest in malformed {
        assert!(matches!(judge(rest), Err(Denied::Malformed(_))), "{rest}");
    }
    let long = format!("{},s=AA==,i=1", "x".repeat(MESSAGE_MAX));
    assert_eq!(judge(&long), Err(Denied::Malformed("message too long")));
}

#[test]
fn foreign_nonces_and_extensions_are_refused() {
    let judge = |server_first: &[u8]| ScramClient::new(ENTROPY).challenge(server_first);
    assert_eq!(judge(b"r=zzzzaHRlZW4gYnl0ZXMuLi4uxyz,s=AA==,i=1"), Err(Denied::Nonce));
    assert_eq!(judge(b"r=ZWlnaHRlZW4gYnl0,s=AA==,i=1"), Err(Denied::Nonce));
    let mandatory = judge(b"m=ext,r=ZWlnaHRlZW4gYnl0ZXMuLi4uxyz,s=AA==,i=1");
    assert_eq!(mandatory, Err(Denied::Malformed("unknown mandatory extension")));
    assert!(matches!(judge(b"e=other-error"), Err(Denied::Malformed(_))));
    assert!(matches!(judge(b""), Err(Denied::Malformed(_))));
}

#[test]
fn the_server_must_prove_itself() {
    let verdict = |server_final: &[u8]| {
        let mut client = ScramClient::new(ENTROPY);
        let Challenge { salt, iterations } = client.challenge(SERVER_FIRST).unwrap();
        client.last(&derive(b"pencil", &salt, iterations)).unwrap();
        client.verify(server_final)
    };
    assert_eq!(verdict(SERVER_FINAL), Ok(()));
    let impostor = format!("v={}", encode(&[0; 32]));
    assert_eq!(verdict(impostor.as_bytes()), Err(Denied::ServerSignature));
    let refused = |text: &str| Err(Denied::ServerError(text.into()));
    assert_eq!(verdict(b"e=invalid-proof"), refused("invalid-proof"));
    assert_eq!(verdict(b"e="), refused(""));
    assert_eq!(verdict(b"e=a\nb\x1B[31m\xFF"), refused("a?b?[31m\u{FFFD}"));
    let trailing = [SERVER_FINAL, b",x=y"].concat();
    for server_final in [&b""[..], b"v", b"v=", b"v=AAAA", b"r=abc", &trailing] {
        let verdict = verdict(server_final);
        assert!(matches!(verdict, Err(Denied::Malformed(_))), "{server_final:?} {verdict:?}");
    }
    let long = [b"e=", &[b'x'; MESSAGE_MAX][..]].concat();
    assert_eq!(verdict(&long), Err(Denied::Malformed("message too long")));
}

#[test]
fn steps_come_once_and_in_turn() {
    let keys = derive(b"pencil", b"salt", 1);
    let mut client = ScramClient::new(ENTROPY);
    assert_eq!(client.verify(SERVER_FINAL), Err(OUT_OF_TURN));
    assert_eq!(client.last(&keys), Err(OUT_OF_TURN));
    assert_eq!(client.challenge(SERVER_FIRST), Err(OUT_OF_TURN));

    let mut client = ScramClient::new(ENTROPY);
    client.challenge(SERVER_FIRST).unwrap();
    assert_eq!(client.verify(SERVER_FINAL), Err(OUT_OF_TURN));
    assert_eq!(client.challenge(SERVER_FIRST), Err(OUT_OF_TURN));
    assert_eq!(client.last(&keys), Err(OUT_OF_TURN));
}
