//! Peak runs on a machine that is not idle: everything of the bench goes before everything else.
//!
//! Children inherit the priority, so that it is raised once, before the first of them starts. Where
//! Linux groups processes by session for fairness, the session is raised as well, and let down
//! again at the end. PostgreSQL's backends leave the session: real runs cannot be helped this way.

use std::fs;

use anyhow::{Context, Result};
use rustix::process::setpriority_process;

/// A raised priority; what is left of it is let down when dropped.
pub(crate) struct Urgency(());

impl Urgency {
    /// Raises the priority of this process, its children to come, and its session.
    pub(crate) fn raise() -> Result<Self> {
        setpriority_process(None, MOST_URGENT).context("only root may use --urgent")?;
        if fs::exists(SESSION)? {
            fs::write(SESSION, MOST_URGENT.to_string()).context("cannot raise the session")?;
        }
        Ok(Self(()))
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        // It could be raised, so it can be lowered; and where there is no session, nothing is lost.
        let _ = fs::write(SESSION, "0");
    }
}

const SESSION: &str = "/proc/self/autogroup";
/// The least nice that a process can be.
const MOST_URGENT: i32 = -20;
