//! The two messages of a server that asks for SCRAM, separated by a line feed.
//!
//! ```text
//! server-first ──► ScramClient ──► refused, or a challenge within bounds and our client-final
//! server-final ──► ScramClient ──► refused, unless it is the signature of whoever has the verifier
//! ```
//!
//! Our nonce is always the same, so that a seed can hold a signature that is accepted.

use auth::{ITERATIONS_MAX, ScramClient, derive};

const NONCE: [u8; 18] = *b"eighteen bytes....";
/// What every answer of a server must begin with.
const SERVER_FIRST_BEGIN: &[u8] = b"r=ZWlnaHRlZW4gYnl0ZXMuLi4u";

/// Checks the bounds of a challenge, our answer to it, and that only one signature is accepted.
pub fn scram_client(data: &[u8]) {
    let mut messages = data.splitn(2, |byte| *byte == b'\n');
    let server_first = messages.next().unwrap_or_default();
    let server_final = messages.next().unwrap_or_default();
    let keys = derive(b"pencil", b"salt", 1);
    let mut client = ScramClient::new(NONCE);
    let Ok(challenge) = client.challenge(server_first) else {
        assert!(client.last(&keys).is_err(), "a proof for nothing");
        return;
    };
    assert!(server_first.starts_with(SERVER_FIRST_BEGIN));
    assert!((1..=ITERATIONS_MAX).contains(&challenge.iterations) && !challenge.salt.is_empty());

    let nonce = server_first.split(|byte| *byte == b',').next().unwrap_or_default();
    let expected = [b"c=biws,", nonce, b",p="].concat();
    let client_final = client.last(&keys).unwrap_or_default();
    assert!(client_final.starts_with(&expected) && client_final.len() == expected.len() + 44);

    if client.verify(server_final).is_ok() {
        assert!(server_final.starts_with(b"v=") && server_final.len() == 46);
        for at in 0..server_final.len() {
            let mut changed = server_final.to_vec();
            changed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            assert!(client.verify(&changed).is_err(), "two signatures were accepted");
        }
    }
}
