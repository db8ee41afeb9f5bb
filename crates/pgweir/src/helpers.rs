//! A few threads for slow plain code: key stretching.
//!
//! ```text
//! worker ──► ask (never waits) ──► a queue ──► a helper works it out ──► a letter to the worker
//! ```
//!
//! The queue holds at most one question for each connection that is being logged in. Host names
//! have threads of their own, in `names`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use engine::{Answer, Question, Ticket, WorkerId};

use crate::post::{Letter, Post};

/// The front door to the helpers, shared by all workers.
pub(crate) struct Helpers {
    keys: Arc<Queue>,
}

impl Helpers {
    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(post: &Arc<Post>, cpus: u8) -> std::io::Result<Self> {
        let helpers = Self { keys: Arc::default() };
        for _ in 0..cpus.clamp(1, KEY_THREADS_MAX) {
            spawn("keys", &helpers.keys, post)?;
        }
        Ok(helpers)
    }

    /// Has this question answered to the worker `by`.
    pub(crate) fn ask(&self, by: WorkerId, ticket: Ticket, question: Question) {
        self.keys.put((by, ticket, question));
    }
}

fn spawn(name: &str, queue: &Arc<Queue>, post: &Arc<Post>) -> std::io::Result<()> {
    let (queue, post) = (Arc::clone(queue), Arc::clone(post));
    let serve = move || loop {
        let (by, ticket, question) = queue.take();
        post.send(by, Letter::Answer(ticket, work_out(question)));
    };
    thread::Builder::new().name(name.into()).spawn(serve).map(drop)
}

fn work_out(question: Question) -> Answer {
    match question {
        Question::Derive { password, salt, iterations } => {
            Answer::Keys(auth::derive(&password, &salt, iterations))
        }
    }
}

/// What to work out, and who asks.
type Task = (WorkerId, Ticket, Question);

/// Tasks that no helper has taken yet, oldest first.
#[derive(Default)]
struct Queue {
    tasks: Mutex<VecDeque<Task>>,
    some: Condvar,
}

impl Queue {
    fn put(&self, task: Task) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
        self.some.notify_one();
    }

    fn take(&self) -> Task {
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

#[cfg(test)]
mod tests;
