//! Why connections end, from the lines that the engine logs.
//!
//! The log of the stories is kept by thread, because tests run side by side.

use std::cell::RefCell;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Journal;

impl log::Log for Journal {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LINES.with_borrow_mut(|lines| lines.push(record.args().to_string()));
    }

    fn flush(&self) {}
}

/// Begins to listen.
pub(crate) fn open() {
    // Only the first test of the process finds nobody there.
    let _ = log::set_logger(&Journal);
    log::set_max_level(log::LevelFilter::Info);
    LINES.with_borrow_mut(Vec::clear);
}

/// The reason in the log line that closes the connection of this number, if there is one.
pub(crate) fn closing(bits: u64) -> Option<String> {
    let prefixes = [format!("C-{bits:#x}: "), format!("S-{bits:#x}: ")];
    LINES.with_borrow_mut(|lines| {
        let closes = |line: &String| {
            prefixes.iter().any(|prefix| line.starts_with(prefix)) && line.contains(CLOSING)
        };
        let line = lines.remove(lines.iter().position(closes)?);
        let reason = line.split_once(CLOSING)?.1;
        Some(reason.split(" (age=").next()?.to_owned())
    })
}

const CLOSING: &str = "closing because: ";
