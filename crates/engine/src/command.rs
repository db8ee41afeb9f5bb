//! What only the world can do, and the values that come and go with it.

use core::net::SocketAddr;

use crate::act::Act;
use crate::ids::{ConnId, WorkerId};
use crate::mail::{Mail, Parcel};

/// One thing that the engine wants done; carried out at once and in order.
#[derive(Debug)]
pub enum Command {
    /// Open a connection to a server and report it with [`connected`](crate::Engine::connected).
    Connect {
        /// The name under which the connection is known from here on.
        conn: ConnId,
        /// Where to.
        to: Address,
    },
    /// Write what [`gather`](crate::Engine::gather) gives, reporting each write with
    /// [`sent`](crate::Engine::sent), until it gives nothing or the socket takes no more; in the
    /// latter case go on by yourself when the socket can be written again.
    Write {
        /// Whose bytes wait.
        conn: ConnId,
    },
    /// Read from this connection, or stop reading from it. A new connection is read from.
    Read {
        /// Which connection.
        conn: ConnId,
        /// Whether to read.
        on: bool,
    },
    /// Take the last bytes with [`farewell`](crate::Engine::farewell) and close.
    Close {
        /// Which connection; its name is invalid after `farewell`.
        conn: ConnId,
    },
    /// Let a helper thread answer a slow question, with [`answered`](crate::Engine::answered).
    Ask {
        /// Comes back with the answer.
        ticket: Ticket,
        /// What to work out.
        question: Question,
    },
    /// Deliver to the engine of another worker.
    Post {
        /// The receiver.
        to: WorkerId,
        /// The letter.
        mail: Mail,
    },
    /// Deliver a connection with its socket to the engine of another worker, which takes it with
    /// [`arrived`](crate::Engine::arrived). The name `conn` is invalid from here on.
    Ship {
        /// The connection on this worker.
        conn: ConnId,
        /// The receiver.
        to: WorkerId,
        /// What the engine knows about it.
        parcel: Parcel,
    },
    /// Ask the program for something that concerns all workers.
    Order {
        /// Comes back with the answer, where there is one.
        ticket: Ticket,
        /// What is wanted.
        order: Order,
    },
    /// A line of statistics that covers all workers, for whoever watches over the process.
    Status {
        /// As it goes to the log.
        line: String,
    },
    /// Nothing is left to do on this worker: the thread ends.
    Exit,
}

/// The most parts that one call of [`gather`](crate::Engine::gather) gives.
pub const PARTS_MAX: usize = 8;

/// Names a question until its answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Slow work that a worker must not do itself.
#[derive(Clone)]
pub enum Question {
    /// Derive SCRAM keys from a password (RFC 5802, section 3): [`auth::derive`].
    Derive {
        /// The password as it was given.
        password: Vec<u8>,
        /// The salt of the verifier.
        salt: Vec<u8>,
        /// The iteration count of the verifier.
        iterations: u32,
    },
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Derive { iterations, .. } = self;
        write!(f, "Derive {{ iterations: {iterations} }}")
    }
}

/// The answer to a [`Question`] or an [`Order`].
pub enum Answer {
    /// To [`Question::Derive`].
    Keys(auth::ScramKeys),
    /// To [`Order::Act`]: the act is in every mailbox.
    Announced,
    /// To [`Order::Reload`]: whether the new configuration is in force; if not, what is wrong,
    /// one complaint a line.
    Reloaded(Result<(), String>),
    /// To [`Order::Set`]: whether the new value is in force; if not, why.
    Set(Result<(), String>),
}

/// What an engine may ask the program for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Mail an act to every worker, the asker included, in one sequence with all other acts and
    /// reloads; then answer the ticket.
    Act(Act),
    /// Nobody is on the console any more, on no worker: a SUSPEND is over. No answer.
    ConsoleEmpty,
    /// Read the configuration again and mail it to every worker; answer the ticket.
    Reload,
    /// Give a setting another value until the next reload, and do what a reload does with it;
    /// answer the ticket.
    Set {
        /// The name of the setting.
        key: String,
        /// Its value, as in the configuration file.
        value: String,
    },
    /// Shut the process down in this way, as for a signal; no answer.
    Shutdown(Shutdown),
}

/// The ways to shut down (PgBouncer's SHUTDOWN command and signals).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// SIGTERM: serve the connected clients until all have gone.
    WaitForClients,
    /// SIGINT: hand out no more servers, end when all servers are closed.
    WaitForServers,
    /// SIGQUIT: now.
    Immediate,
}

/// How to part from a connection after its last bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// Close at once; the peer expects it or has gone.
    Close,
    /// Write the bytes, shut down for writing, read and throw away until the peer closes (for a
    /// few seconds at most), then close: so that the last message is not lost in a reset.
    Drain,
}

/// The end of a connection.
#[derive(Debug)]
pub struct Farewell {
    /// What was not sent yet, in order.
    pub bytes: Vec<u8>,
    /// How to close.
    pub parting: Parting,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address, and a port.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// Port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix {
        /// The path, `DIR/.s.PGSQL.PORT`.
        path: String,
    },
}

/// Who opened a connection to us, and at which of our addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP.
    Tcp {
        /// The address of the client.
        from: SocketAddr,
        /// Our own address.
        at: SocketAddr,
    },
    /// Over a Unix socket, with the peer's credentials.
    Unix {
        /// Process id of the client, 0 if not known.
        pid: u32,
        /// User id of the client.
        uid: u32,
        /// The port in the name of the socket.
        port: u16,
    },
}

/// Our end of a connection that we opened, and the address of the other, for SHOW SERVERS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Addresses of the server and of our end; `None` over a Unix socket.
    pub tcp: Option<(SocketAddr, SocketAddr)>,
}

/// Why a connection could not be opened, as text for logs and clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);
