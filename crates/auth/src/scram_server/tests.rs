//! The server half against RFC 7677's example, psql's messages and hostile clients.

use super::*;
use crate::keys::{derive, mock_verifier};

const ENTROPY: [u8; 18] = *b"eighteen bytes....";
/// The entropy in base64.
const NONCE: &str = "ZWlnaHRlZW4gYnl0ZXMuLi4u";

/// The server's nonce of the example is no base64, so that the exchange begins after server-first.
#[test]
fn the_exchange_of_rfc_7677_is_accepted() {
    let salt = b"\x5B\x6D\x99\x68\x9D\x12\x35\x8E\xEC\xA0\x4B\x14\x12\x36\xFA\x81";
    let verifier = derive(b"pencil", salt, 4096).verifier(salt, 4096);
    let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let transcript =
        format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,");
    let mut server = ScramServer {
        step: Step::Challenged(Exchange {
            binding: b"biws",
            nonce: nonce.into(),
            transcript: transcript.into(),
            stored_key: verifier.stored_key,
            server_key: verifier.server_key,
        }),
    };
    let client_final = format!("c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let proven = server.last(client_final.as_bytes()).unwrap();
    assert_eq!(proven.server_final, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    assert_eq!(proven.keys, derive(b"pencil", salt, 4096));
}

/// Recorded from psql 15, which went on with a query.
#[test]
fn psql_is_accepted() {
    let verifier = Verifier::parse(
        b"SCRAM-SHA-256$4096:c2l4dGVlbiBieXRlIHNhbA==$ycA8cgNknDVohDLVffrZrO4DdzXncUlupexLx+LfQS0=\
        :q48yQhrFGnKyVWA7ABTRDih627YUzSAB97px2D+htpI=",
    )
    .unwrap();
    let mut server = ScramServer::new(ENTROPY);
    let server_first = server.first(b"n,,n=,r=p2L48SlVx7Iy8NxFctRPdC9H", &verifier).unwrap();
    let expected = "r=p2L48SlVx7Iy8NxFctRPdC9HZWlnaHRlZW4gYnl0ZXMuLi4u,\
        s=c2l4dGVlbiBieXRlIHNhbA==,i=4096";
    assert_eq!(String::from_utf8(server_first).unwrap(), expected);
    let client_final = b"c=biws,r=p2L48SlVx7Iy8NxFctRPdC9HZWlnaHRlZW4gYnl0ZXMuLi4u,\
        p=70lobNmF2mtCLwx8luStyQv8E2Fh45S4KB2lyULorIQ=";
    let proven = server.last(client_final).unwrap();
    assert_eq!(proven.server_final, b"v=5KhpXXz3fBuO3XS6O5oT/HeaFu9EbMyCQpX1sAs22W0=");
    assert!(proven.keys.matches(&verifier));
}

#[test]
fn first_messages_are_accepted_as_in_postgresql() {
    let check = |client_first: &[u8], nonce: &str| {
        let answer = ScramServer::new(ENTROPY).first(client_first, &verifier()).unwrap();
        assert!(answer.starts_with(format!("r={nonce}{NONCE},s=").as_bytes()), "{client_first:?}");
    };
    check(b"n,,n=,r=abc", "abc");
    check(b"n,,n=*,r=abc", "abc");
    check(b"y,,n=user,r=abc", "abc");
    check(b"n,,n=a=2Cb,r=~!$%&'*+-", "~!$%&'*+-");
    check(b"n,,n=\xC3\xA9,r=abc,x=extension,y=", "abc");
    check(b"n,,n=\xFF,r=a=b=c", "a=b=c");
}

#[test]
fn wrong_first_messages_are_refused() {
    let refusal = |client_first: &[u8]| {
        ScramServer::new(ENTROPY).first(client_first, &verifier()).unwrap_err()
    };
    assert_eq!(refusal(b"p=tls-server-end-point,,n=,r=abc"), Denied::Binding);
    assert_eq!(refusal(b"p"), Denied::Binding);
    let malformed: &[&[u8]] = &[
        b"",
        b"n",
        b"n,",
        b"n,,",
        b"n,,,",
        b"n,,n=",
        b"n,,n=,",
        b"n,,n=,r=",
        b"n,,n=,r=,",
        b"n,,n=,r=abc,",
        b"n,,n=,r=a b",
        b"n,,n=,r=a\x7F",
        b"n,,n=,r=a\xC3\xA9",
        b"n,,n=,r=a\0",
        b"n,,n=\0,r=a",
        b"n,,r=abc",
        b"n,,r=abc,n=",
        b"n,,m=ext,n=,r=abc",
        b"n,,n=,m=ext,r=abc",
        b"n,,n=,r=abc,m=ext",
        b"n,,n=,r=abc,r=def",
        b"n,,n=,r=abc,1=x",
        b"n,,n=,r=abc,xy",
        b"n,,n=,r=abc,x",
        b"n,a=root,n=,r=abc",
        b"y,a=root,n=,r=abc",
        b"N,,n=,r=abc",
        b"x,,n=,r=abc",
        b" n,,n=,r=abc",
        b"n=,r=abc",
    ];
    for client_first in malformed {
        let denied = refusal(client_first);
        assert!(matches!(denied, Denied::Malformed(_)), "{client_first:?} {denied:?}");
    }
    let long = [b"n,,n=,r=", &[b'a'; MESSAGE_MAX][..]].concat();
    assert_eq!(refusal(&long), Denied::Malformed("message too long"));
}

#[test]
fn wrong_final_messages_are_refused() {
    let nonce = format!("abc{NONCE}");
    let proof = encode(&[0; 32]);
    let refusal = |client_first: &[u8], client_final: String| {
        let mut server = ScramServer::new(ENTROPY);
        server.first(client_first, &verifier()).unwrap();
        server.last(client_final.as_bytes()).unwrap_err()
    };
    let check = |client_final: String, expected| {
        assert_eq!(refusal(b"n,,n=,r=abc", client_final.clone()), expected, "{client_final}");
    };
    check(format!("c=biws,r={nonce},p={proof}"), Denied::Proof);
    check(format!("c=biws,r={nonce},x=extension,p={proof}"), Denied::Proof);
    check(format!("c=eSws,r={nonce},p={proof}"), Denied::Binding);
    check(format!("c=biwsAAAA,r={nonce},p={proof}"), Denied::Binding);
    check(format!("c=,r={nonce},p={proof}"), Denied::Binding);
    check(format!("c=biws,r=abc,p={proof}"), Denied::Nonce);
    check(format!("c=biws,r=,p={proof}"), Denied::Nonce);
    check(format!("c=biws,r={nonce}a,p={proof}"), Denied::Nonce);
    let malformed = [
        String::new(),
        ",p=".into(),
        format!("c=biws,r={nonce}"),
        format!("c=biws,r={nonce},"),
        format!("c=biws,r={nonce},p"),
        format!("c=biws,r={nonce},p="),
        format!("c=biws,r={nonce},p={proof},"),
        format!("c=biws,r={nonce},p={proof},x=y"),
        format!("c=biws,r={nonce},p={proof},p={proof}"),
        format!("c=biws,r={nonce},p={proof}="),
        format!("c=biws,r={nonce},p={}", encode(&[0; 31])),
        format!("c=biws,r={nonce},p={}", encode(&[0; 33])),
        format!("c=biws,r={nonce},p={} ", &proof[..43]),
        format!("c=biws,r={nonce},p={}", proof.replace("A=", "B=")),
        format!("c=biws,r={nonce},m=ext,p={proof}"),
        format!("c=biws,r={nonce},r={nonce},p={proof}"),
        format!("c=biws,c=biws,r={nonce},p={proof}"),
        format!("r={nonce},c=biws,p={proof}"),
        format!("c=biws,p={proof}"),
        format!("p={proof}"),
        format!("c=biws,r={nonce},,p={proof}"),
    ];
    for client_final in malformed {
        let denied = refusal(b"n,,n=,r=abc", client_final.clone());
        assert!(matches!(denied, Denied::Malformed(_)), "{client_final} {denied:?}");
    }
    let contradiction = refusal(b"y,,n=,r=abc", format!("c=biws,r={nonce},p={proof}"));
    assert_eq!(contradiction, Denied::Binding);
    let long = format!("c=biws,r={nonce},x={},p={proof}", "x".repeat(MESSAGE_MAX));
    check(long, Denied::Malformed("message too long"));
}

#[test]
fn steps_come_once_and_in_turn() {
    let mut server = ScramServer::new(ENTROPY);
    assert_eq!(server.last(b"c=biws").unwrap_err(), OUT_OF_TURN);
    assert_eq!(server.first(b"n,,n=,r=abc", &verifier()).unwrap_err(), OUT_OF_TURN);

    let mut server = ScramServer::new(ENTROPY);
    server.first(b"n,,n=,r=abc", &verifier()).unwrap();
    assert_eq!(server.first(b"n,,n=,r=abc", &verifier()).unwrap_err(), OUT_OF_TURN);
    assert_eq!(server.last(b"c=biws").unwrap_err(), OUT_OF_TURN);

    // A refused proof cannot be tried again with the same nonce.
    let mut server = ScramServer::new(ENTROPY);
    server.first(b"n,,n=,r=abc", &verifier()).unwrap();
    let client_final = format!("c=biws,r=abc{NONCE},p={}", encode(&[0; 32]));
    assert_eq!(server.last(client_final.as_bytes()).unwrap_err(), Denied::Proof);
    assert_eq!(server.last(client_final.as_bytes()).unwrap_err(), OUT_OF_TURN);
}

#[test]
fn an_unknown_user_fails_at_the_proof() {
    let mock = mock_verifier(&[7; 32], b"nobody", 4096);
    let mut server = ScramServer::new(ENTROPY);
    let server_first = server.first(b"n,,n=,r=abc", &mock).unwrap();
    let expected = format!("r=abc{NONCE},s={},i=4096", encode(&mock.salt));
    assert_eq!(server_first, expected.as_bytes());
    let client_final = format!("c=biws,r=abc{NONCE},p={}", encode(&[1; 32]));
    assert_eq!(server.last(client_final.as_bytes()).unwrap_err(), Denied::Proof);
}

fn verifier() -> Verifier {
    derive(b"pencil", b"salt", 1).verifier(b"salt", 1)
}
