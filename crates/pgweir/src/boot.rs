//! From the command line to a running program, in PgBouncer's order.
//!
//! ```text
//! config ─► user ─► log file ─► nobody else here? ─► limits ─► pid file ─► listeners ─► workers
//! ```
//!
//! Any step may refuse with a text for a FATAL line; the files made until then are among the
//! [`Traces`].

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use config::Settings;
use engine::{Engine, Init, Ledger, Setup, WorkerId};

use crate::cli::Serve;
use crate::helpers::Helpers;
use crate::listen::{self, Listener};
use crate::log::{self as sink, Sink};
use crate::names::Names;
use crate::post::Post;
use crate::run::Program;
use crate::tcp::Tcp;
use crate::traces::Traces;
use crate::worker::{Clock, Notice, Reach, Worker};
use crate::{cli, cpus, detach, identity, limits, notify, reload, signals, traces};

/// Starts everything.
///
/// # Errors
/// A text for the FATAL line.
pub(crate) fn boot(
    serve: &Serve,
    log: &'static Sink,
    files: &Arc<Traces>,
) -> Result<Program, String> {
    let setup = Arc::new(prepare(serve, log)?);
    let settings = &setup.config.pgbouncer;
    check_alone(settings)?;
    limits::raise(&setup);
    log.spawn().map_err(|error| format!("could not start a thread: {error}"))?;
    let (notices, inbox) = channel();
    signals::catch(notices.clone()).map_err(|error| format!("could not catch signals: {error}"))?;
    // Before the listeners, so that of two that start at once one ends here.
    if let Some(path) = settings.pidfile.as_deref().filter(|path| !path.is_empty()) {
        traces::write_pid_file(path)?;
        files.add(path);
    }
    let listeners = open_listeners(settings, files)?;
    let workers = workers(settings);
    let post = start_workers(workers, &setup, &listeners, notices)?;
    log::info!("process up: {}, epoll, worker threads: {workers}", cli::first_line());
    if serve.daemon {
        // Whoever waits for the parent may look into the log next.
        sink::flush();
        detach::let_go().map_err(|error| format!("could not open /dev/null: {error}"))?;
    }
    notify::tell(notify::State::Ready);
    Ok(Program::new(serve.clone(), log, setup, (post, inbox), listeners))
}

/// Reads the configuration and settles who the process is and where it logs.
fn prepare(serve: &Serve, log: &'static Sink) -> Result<Setup, String> {
    let mut setup = reload::read(&serve.config)?;
    let settings = &setup.config.pgbouncer;
    if serve.daemon && settings.pidfile.as_deref().is_none_or(str::is_empty) {
        return Err("daemon needs pidfile configured".into());
    }
    let user = serve.user.as_deref().or(settings.user.as_deref());
    if let Some(user) = user.filter(|user| !user.is_empty()) {
        identity::switch(user)?;
    }
    identity::refuse_root()?;
    setup.uid = rustix::process::geteuid().as_raw();
    sink::set_verbosity(verbosity(serve, settings));
    log.open(settings.logfile.as_deref())?;
    Ok(setup)
}

/// How much to log: the configuration goes before the command line.
pub(crate) fn verbosity(serve: &Serve, settings: &Settings) -> u32 {
    if settings.verbose > 0 { settings.verbose } else { serve.verbose }
}

fn check_alone(settings: &Settings) -> Result<(), String> {
    if listen::unix_path(settings).is_some_and(|path| listen::is_answered(&path)) {
        return Err("unix socket is in use, cannot continue".into());
    }
    match settings.pidfile.as_deref().filter(|path| !path.is_empty()) {
        Some(path) => traces::check_pid_file(path),
        None => Ok(()),
    }
}

fn open_listeners(settings: &Settings, files: &Traces) -> Result<Vec<Arc<Listener>>, String> {
    let listeners = listen::open(settings)?;
    for file in listeners.iter().filter_map(Listener::file) {
        files.add(file);
    }
    Ok(listeners.into_iter().map(Arc::new).collect())
}

fn workers(settings: &Settings) -> u8 {
    let wanted =
        if settings.worker_threads == 0 { cpus::usable() } else { settings.worker_threads };
    wanted.clamp(1, WORKERS_MAX) as u8
}

fn start_workers(
    workers: u8,
    setup: &Arc<Setup>,
    listeners: &[Arc<Listener>],
    notices: Sender<Notice>,
) -> Result<Arc<Post>, String> {
    let failed = |error: std::io::Error| format!("could not start a worker: {error}");
    let post = Arc::new(Post::new(workers).map_err(|error| failed(error.into()))?);
    let helpers = Arc::new(Helpers::start(&post, workers).map_err(failed)?);
    let names = Names::start(&post).map_err(failed)?;
    let reach = Reach { post: Arc::clone(&post), helpers, names, notices };
    let ledger = Arc::new(Ledger::new(workers));
    let time = Clock::start();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
    let process_secret = entropy().map_err(failed)?;
    for worker in (0..workers).map(WorkerId) {
        let (ledger, setup) = (Arc::clone(&ledger), Arc::clone(setup));
        let tcp = Tcp::new(&setup.config.pgbouncer);
        let (entropy, now) = (entropy().map_err(failed)?, time.now());
        let init = Init { worker, workers, ledger, setup, entropy, process_secret, wall, now };
        let engine = Engine::new(init);
        let worker = Worker::new(worker, engine, listeners, tcp, (reach.clone(), time));
        let worker = worker.map_err(|error| failed(error.into()))?;
        thread::Builder::new().name("worker".into()).spawn(|| worker.run()).map_err(failed)?;
    }
    Ok(post)
}

fn entropy() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// More workers than this have nothing left to do.
const WORKERS_MAX: u32 = 64;

#[cfg(test)]
mod tests;
