//! The console, from outside: bytes in, bytes out; every figure against a state made on purpose.

#![expect(clippy::unwrap_used, reason = "a test that is surprised fails")]

mod acts;
mod busy;
mod commands;
mod configured;
mod extended;
mod figures;
mod login;
mod seat;
mod stats;
mod suspend;
mod world;
