//! A few threads for slow plain code: key stretching and looking up host names.
//!
//! ```text
//! worker ──► ask (never waits) ──► a queue ──► a helper works it out ──► a letter to the worker
//! ```
//!
//! Names have threads of their own, because a name server that does not answer must not hold up
//! logins. A queue holds at most one question for each connection that is being opened or logged
//! in.

use std::collections::VecDeque;
use std::net::ToSocketAddrs;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use engine::{Answer, ConnId, Question, Ticket, WorkerId};

use crate::post::{Letter, Post};

/// The front door to the helpers, shared by all workers.
pub(crate) struct Helpers {
    keys: Arc<Queue>,
    names: Arc<Queue>,
}

/// One thing to work out, and who asks.
enum Task {
    Answer(Ticket, Question),
    Resolve(ConnId, String, u16),
}

impl Helpers {
    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(post: &Arc<Post>, cpus: u8) -> std::io::Result<Self> {
        let helpers = Self { keys: Arc::default(), names: Arc::default() };
        for _ in 0..cpus.clamp(1, KEY_THREADS_MAX) {
            spawn("keys", &helpers.keys, post)?;
        }
        for _ in 0..NAME_THREADS {
            spawn("names", &helpers.names, post)?;
        }
        Ok(helpers)
    }

    /// Has this question answered to the worker `by`.
    pub(crate) fn ask(&self, by: WorkerId, ticket: Ticket, question: Question) {
        self.keys.put(by, Task::Answer(ticket, question));
    }

    /// Has this host name looked up for a connection of the worker `by`.
    pub(crate) fn resolve(&self, by: WorkerId, conn: ConnId, host: String, port: u16) {
        self.names.put(by, Task::Resolve(conn, host, port));
    }
}

fn spawn(name: &str, queue: &Arc<Queue>, post: &Arc<Post>) -> std::io::Result<()> {
    let (queue, post) = (Arc::clone(queue), Arc::clone(post));
    let serve = move || loop {
        let (by, task) = queue.take();
        post.send(by, work_out(task));
    };
    thread::Builder::new().name(name.into()).spawn(serve).map(drop)
}

fn work_out(task: Task) -> Letter {
    match task {
        Task::Answer(ticket, Question::Derive { password, salt, iterations }) => {
            Letter::Answer(ticket, Answer::Keys(auth::derive(&password, &salt, iterations)))
        }
        Task::Resolve(conn, host, port) => {
            let found = (host.as_str(), port).to_socket_addrs();
            let found = found.map(Iterator::collect).map_err(|error| error.to_string());
            Letter::Resolved(conn, found)
        }
    }
}

/// Tasks that no helper has taken yet, oldest first.
#[derive(Default)]
struct Queue {
    tasks: Mutex<VecDeque<(WorkerId, Task)>>,
    some: Condvar,
}

impl Queue {
    fn put(&self, by: WorkerId, task: Task) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push_back((by, task));
        self.some.notify_one();
    }

    fn take(&self) -> (WorkerId, Task) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match tasks.pop_front() {
                Some(task) => return task,
                None => tasks = self.some.wait(tasks).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

const KEY_THREADS_MAX: u8 = 4;
const NAME_THREADS: u8 = 2;

#[cfg(test)]
mod tests;
