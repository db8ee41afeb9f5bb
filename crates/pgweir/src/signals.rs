//! Signals, as notices to the main thread.
//!
//! ```text
//! HUP reload · TERM, INT, QUIT shut down · USR1 pause · USR2 resume
//! ```
//!
//! SIGPIPE is ignored by Rust's runtime already. What a signal means is decided in `run`.

use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::worker::Notice;

/// Starts to catch the signals and passes each on.
///
/// # Errors
/// When a signal cannot be caught or the thread cannot be started.
pub(crate) fn catch(notices: Sender<Notice>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2])?;
    let pass_on = move || {
        for signal in signals.forever() {
            if notices.send(Notice::Signal(signal)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("signals".into()).spawn(pass_on).map(drop)
}
