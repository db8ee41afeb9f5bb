//! The parameters of a session, and what transactions do to them (PostgreSQL's guc.c).
//!
//! A change is lost when its transaction is; SET LOCAL holds until the transaction ends. What a
//! client has been told is remembered, so that every change is reported once.

use wire::write;

use crate::params::{self, Params};

/// The parameters of one session.
#[derive(Debug)]
pub(super) struct Settings {
    /// What DISCARD ALL goes back to.
    start: Params,
    session: Params,
    /// What holds until the transaction ends.
    local: Params,
    /// What a rollback goes back to.
    before: Option<Params>,
    reported: Params,
    /// PostgreSQL up to 13 reports a change at once, later ones before ReadyForQuery.
    at_once: bool,
}

/// SQLSTATE and text of a refusal.
pub(super) type Refused = (&'static str, &'static str);

impl Settings {
    pub(super) fn new(start: Params, at_once: bool) -> Self {
        let (session, local) = (start.clone(), start.clone());
        Self { start, session, local, before: None, reported: Params::new(), at_once }
    }

    /// Takes a parameter of the startup packet.
    pub(super) fn start_with(&mut self, name: &str, value: &str) {
        let Some(name) = params::name(name) else { return };
        if let Some(value) = params::canonical(name, value) {
            for params in [&mut self.start, &mut self.session, &mut self.local] {
                params.insert(name, value.clone());
            }
        }
    }

    /// What the session is like right now.
    pub(super) fn fingerprint(&self) -> u64 {
        params::fingerprint(&self.local)
    }

    /// SET, or SET LOCAL.
    pub(super) fn set(&mut self, name: &str, value: &str, local: bool) -> Result<(), Refused> {
        let name = params::name(name).ok_or(("42704", "unrecognized configuration parameter"))?;
        let value = params::canonical(name, value).ok_or(("22023", "invalid value"))?;
        if self.before.is_none() {
            self.before = Some(self.session.clone());
        }
        self.local.insert(name, value.clone());
        if !local {
            self.session.insert(name, value);
        }
        Ok(())
    }

    /// DISCARD ALL.
    pub(super) fn discard(&mut self) {
        self.session = self.start.clone();
        self.local = self.start.clone();
    }

    /// The transaction ends, and its changes are kept or not.
    pub(super) fn end(&mut self, kept: bool) {
        if let Some(before) = self.before.take() {
            if !kept {
                self.session = before;
            }
            self.local = self.session.clone();
        }
    }

    /// Reports what has changed.
    pub(super) fn report(&mut self, out: &mut Vec<u8>) {
        for (name, value) in &self.local {
            if self.reported.get(name) != Some(value) {
                write::parameter_status(out, name.as_bytes(), value.as_bytes());
                self.reported.insert(name, value.clone());
            }
        }
    }

    /// Reports what has changed, where the server does not wait for ReadyForQuery.
    pub(super) fn report_at_once(&mut self, out: &mut Vec<u8>) {
        if self.at_once {
            self.report(out);
        }
    }
}
