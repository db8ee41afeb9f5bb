//! The two messages of a client that logs in with SCRAM, separated by a line feed.
//!
//! ```text
//! client-first ──► ScramServer ──► server-first: the client's nonce, longer, and the verifier's
//! salt
//! client-final ──► ScramServer ──► refused, unless the client knows the keys
//! ```
//!
//! The server's nonce is always the same, so that a seed can hold a proof that is accepted.

use auth::{ScramServer, derive};

const NONCE: [u8; 18] = *b"eighteen bytes....";
/// The nonce, the salt `salt` and one iteration as server-first spells them.
const SERVER_FIRST_END: &[u8] = b"ZWlnaHRlZW4gYnl0ZXMuLi4u,s=c2FsdA==,i=1";

/// Checks what is answered to any client-first, and that nothing but a proof is accepted, once.
pub fn scram_server(data: &[u8]) {
    let (client_first, client_final) = split(data);
    let keys = derive(b"pencil", b"salt", 1);
    let verifier = keys.verifier(b"salt", 1);
    let mut server = ScramServer::new(NONCE);
    let answered = server.first(client_first, &verifier);
    if let Ok(server_first) = &answered {
        let nonce = server_first.strip_prefix(b"r=").unwrap_or_default();
        let nonce = nonce.strip_suffix(SERVER_FIRST_END).unwrap_or_default();
        assert!(!nonce.is_empty() && !nonce.contains(&b','));
        let named = [b",r=", nonce].concat();
        assert!(client_first.windows(named.len()).any(|piece| piece == named));
    }
    if let Ok(proven) = server.last(client_final) {
        assert!(answered.is_ok(), "a proof of nothing");
        assert!(proven.keys == keys && proven.server_final.starts_with(b"v="));
        assert!(server.last(client_final).is_err(), "a proof was taken twice");
    }
}

fn split(data: &[u8]) -> (&[u8], &[u8]) {
    let mut messages = data.splitn(2, |byte| *byte == b'\n');
    (messages.next().unwrap_or_default(), messages.next().unwrap_or_default())
}
