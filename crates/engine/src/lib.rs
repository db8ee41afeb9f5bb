//! Who talks to whom: the decisions of a PostgreSQL connection pooler, without sockets, clock,
//! threads or randomness.
//!
//! One [`Engine`] belongs to one worker thread and owns its clients, servers and pools. Whatever
//! happens is told to it by an *input*, each with the time `now`; what only the world can do comes
//! out as a [`Command`]. A caller runs this loop:
//!
//! 1. Wait for events, but not longer than [`Engine::next_tick`].
//! 2. Tell the engine one input ([`accepted`](Engine::accepted), [`received`](Engine::received),
//!    [`mail`](Engine::mail), …), then carry out [`Engine::next_command`] until it is `None`.
//!    While doing so `sent`, `broken` and `farewell` may be called.
//! 3. After the commands that follow `received`, call [`Engine::reclaim`] with the same bytes: what
//!    is still unsent is copied then, and the buffer may be used again.
//! 4. Call [`Engine::tick`] once per turn, and carry out its commands.
//!
//! Rooms: `client` knows what a client says, `server` what a server says, `pool` who gets which
//! server, `link` what must hold while both talk, `stream` the bytes, `admin` the console. They do
//! not call each other; `engine` introduces them.
#![forbid(unsafe_code)]

mod act;
mod admin;
mod client;
mod command;
mod engine;
mod ids;
mod link;
mod mail;
mod params;
mod pool;
mod reason;
mod server;
mod setup;
mod stats;
mod stream;
mod time;

pub use act::{Act, Rest};
pub use command::{
    Address, Answer, Command, Farewell, Local, Order, PARTS_MAX, Parting, Peer, Question, Refused,
    Shutdown, Ticket,
};
pub use engine::{Engine, Init};
pub use ids::{ConnId, Kind, WorkerId};
pub use mail::{Mail, Parcel, PoolKey};
pub use pool::ledger::Ledger;
pub use setup::Setup;
pub use time::Time;
