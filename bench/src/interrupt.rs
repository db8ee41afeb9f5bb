//! Ctrl-C as an error: every wait of the bench ends early, and everything it holds is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the bench was asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from here on.
    pub(crate) fn listen() -> Result<Self> {
        let interrupt = Self::default();
        flag::register(SIGINT, Arc::clone(&interrupt.0))?;
        flag::register(SIGTERM, Arc::clone(&interrupt.0))?;
        Ok(interrupt)
    }

    /// Fails once the bench was asked to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }

    /// Sleeps, unless the bench is asked to stop.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<()> {
        let end = Instant::now() + duration;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
