//! What must hold for any bytes that a stranger sends: one function per target, which panics if it
//! does not hold.
//!
//! ```text
//! libFuzzer ──────────────► fuzz_targets/x.rs ──► x(data)
//! cargo test ─► corpus/x/* ► tests/replay.rs ───► x(data)
//! ```
//!
//! Knows neither who calls it nor where the bytes come from.

mod conninfo;
mod frame;
mod ini;
mod scram_client;
mod scram_server;
mod secret;
mod startup;
mod userlist;

pub use conninfo::conninfo;
pub use frame::frame;
pub use ini::ini;
pub use scram_client::scram_client;
pub use scram_server::scram_server;
pub use secret::secret;
pub use startup::startup;
pub use userlist::userlist;

/// A function that panics if a property does not hold for these bytes.
pub type Property = fn(data: &[u8]);

/// All properties by the names of their corpora.
#[rustfmt::skip] // One a line, so that adding one is adding a line.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("conninfo", conninfo),
    ("frame", frame),
    ("ini", ini),
    ("scram_client", scram_client),
    ("scram_server", scram_server),
    ("secret", secret),
    ("startup", startup),
    ("userlist", userlist),
];

/// Asserts that `part` is a piece of `whole` itself, not merely equal to one. Nothing is anywhere.
fn assert_within(whole: &[u8], part: &[u8]) {
    if part.is_empty() {
        return;
    }
    let (whole, part) = (whole.as_ptr_range(), part.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end, "a view reaches outside");
}
