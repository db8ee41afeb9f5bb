//! The mailboxes: how workers, helpers and the main thread reach a worker.
//!
//! ```text
//! any thread ──► put the letter in ──► ring the bell, only if the worker sleeps
//! worker     ──► each turn: look at one flag, empty the box if it is set
//!            ──► before a wait: say that it sleeps, look once more
//! ```
//!
//! A worker that is awake is never written to with a system call. Boxes have no bound of their own:
//! what engines send is bounded by their connections and pools. Knows nothing of what is in a
//! letter.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Answer, ConnId, Mail, Parcel, Ticket, WorkerId};
use rustix::event::{EventfdFlags, eventfd};

use crate::conn::Family;

/// What comes to a worker from outside its own sockets.
pub(crate) enum Letter {
    /// From the engine of another worker, or from the main thread.
    Mail(Mail),
    /// A connection, from another worker.
    Parcel(Parcel, OwnedFd, Family),
    /// From a helper or the main thread.
    Answer(Ticket, Answer),
    /// The addresses of the host that this connection is to be opened to, or why there are none.
    Resolved(ConnId, Result<Vec<SocketAddr>, String>),
    /// Stop listening for TCP connections.
    CloseListeners,
}

/// The mailboxes of all workers.
pub(crate) struct Post {
    boxes: Box<[Mailbox]>,
}

impl Post {
    /// Sets up one mailbox for each worker.
    pub(crate) fn new(workers: u8) -> rustix::io::Result<Self> {
        let boxes = (0..workers).map(|_| Mailbox::new()).collect::<rustix::io::Result<_>>()?;
        Ok(Self { boxes })
    }

    /// Delivers a letter. One to a worker that does not exist or has ended is lost, with its
    /// socket.
    pub(crate) fn send(&self, to: WorkerId, letter: Letter) {
        match self.boxes.get(usize::from(to.0)) {
            Some(mailbox) => mailbox.put(letter),
            None => log::error!("letter to worker {}, which does not exist", to.0),
        }
    }

    /// Delivers a copy of this mail to every worker.
    pub(crate) fn send_all(&self, mail: &Mail) {
        for mailbox in &self.boxes {
            mailbox.put(Letter::Mail(mail.clone()));
        }
    }

    /// Tells every worker to stop listening for TCP connections.
    pub(crate) fn close_listeners(&self) {
        for mailbox in &self.boxes {
            mailbox.put(Letter::CloseListeners);
        }
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> u8 {
        self.boxes.len() as u8
    }

    /// The mailbox of this worker, which exists.
    pub(crate) fn mailbox(&self, of: WorkerId) -> &Mailbox {
        &self.boxes[usize::from(of.0)]
    }
}

/// One worker's letters.
pub(crate) struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    /// Whether letters wait: what the worker looks at instead of taking the lock.
    filled: AtomicBool,
    asleep: AtomicBool,
    bell: OwnedFd,
}

impl Mailbox {
    fn new() -> rustix::io::Result<Self> {
        Ok(Self {
            letters: Mutex::new(Vec::new()),
            filled: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// The eventfd that is written to when a letter comes to a sleeping worker. It need not be
    /// read: each write is an edge of its own.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Says that the worker is about to wait; false when letters are there already. Either this
    /// sees the letter, or the sender sees the sleeper: both write first and look second, in one
    /// total order.
    pub(crate) fn may_sleep(&self) -> bool {
        self.asleep.store(true, Ordering::SeqCst);
        !self.filled.load(Ordering::SeqCst)
    }

    /// Says that the worker is awake, and moves what has come into `letters`, which is empty.
    pub(crate) fn take(&self, letters: &mut Vec<Letter>) {
        if self.filled.load(Ordering::Acquire) {
            let mut waiting = self.lock();
            self.filled.store(false, Ordering::Relaxed);
            std::mem::swap(&mut *waiting, letters);
        }
    }

    /// Says that the worker no longer sleeps.
    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    fn put(&self, letter: Letter) {
        let mut letters = self.lock();
        letters.push(letter);
        let waiting = letters.len();
        self.filled.store(true, Ordering::SeqCst);
        drop(letters);
        if waiting.is_multiple_of(SUSPICIOUS) {
            log::warn!("{waiting} letters wait for one worker");
        }
        if self.asleep.swap(false, Ordering::SeqCst) {
            // Fails only when the counter is full, and then the bell is ringing.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Letter>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So many letters in one box deserve a line in the log.
const SUSPICIOUS: usize = 100_000;

#[cfg(test)]
mod tests;
