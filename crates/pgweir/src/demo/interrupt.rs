//! Ctrl-C: every wait of the demo ends early, and what it holds is dropped in order.
//!
//! A second Ctrl-C ends the process at once. Then the leashes of its children clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::Unfinished;

/// Whether somebody wants the demo to end.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP from here on.
    ///
    /// # Errors
    /// When the signals cannot be caught.
    pub(crate) fn listen() -> Result<Self, Unfinished> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_shutdown(signal, EXIT_CODE.into(), Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(Unfinished::io("catching signals"))?;
        }
        Ok(Self(asked))
    }

    /// Tells whether the demo was asked to end.
    pub(crate) fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps.
    ///
    /// # Errors
    /// As soon as the demo is asked to end.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Unfinished> {
        let end = Instant::now() + duration;
        loop {
            if self.was_asked() {
                return Err(Unfinished::Interrupted);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(STEP));
        }
    }
}

/// What shells report for a program that Ctrl-C has ended.
pub(crate) const EXIT_CODE: u8 = 130;
/// The longest that a signal goes unnoticed: a sleeping thread goes on sleeping after one.
const STEP: Duration = Duration::from_millis(50);
