//! The client half against RFC 7677's example and against hostile servers.

use super::*;
use crate::keys::derive;

#[test]
fn the_exchange_of_rfc_7677_is_proven() {
    let mut client = ScramClient {
        nonce: NONCE.into(),
        step: Step::Asking,
    };
    let challenge = client.challenge(SERVER_FIRST).unwrap();
    assert_eq!(challenge.iterations, 4096);
    let keys = derive(b"pencil", &challenge.salt, challenge.iterations);
    // The example names its user in client-first; ours leaves the name empty, so that the proof
    // differs. What the example gives is replayed on the server's side.
    let client_final = client.last(&keys).unwrap();
    assert!(client_final.starts_with(CLIENT_FINAL_WITHOUT_PROOF));
}

const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const SERVER_FIRST: &[u8] =
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const CLIENT_FINAL_WITHOUT_PROOF: &[u8] =
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=";
