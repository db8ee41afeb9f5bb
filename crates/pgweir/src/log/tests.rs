use std::time::{Duration, SystemTime};

use jiff::tz::{Offset, TimeZone};
use log::{Level, Log, Record};

use super::{Echo, PATIENCE, PENDING_MAX, Sink, Stamp, lock, name, write_text};

fn stamp(millis: u64, zone: &TimeZone) -> String {
    let mut line = Vec::new();
    Stamp::default().write(&mut line, SystemTime::UNIX_EPOCH + Duration::from_millis(millis), zone);
    String::from_utf8(line).unwrap()
}

fn text(level: &str, text: &str) -> String {
    let mut line = Vec::new();
    write_text(&mut line, 4711, level, text);
    String::from_utf8(line).unwrap()
}

#[test]
fn points_in_time_are_local_with_milliseconds() {
    let east = TimeZone::fixed(Offset::constant(2));
    assert_eq!(stamp(1_767_225_599_007, &TimeZone::UTC), "2025-12-31 23:59:59.007 UTC");
    assert_eq!(stamp(1_767_225_599_999, &east), "2026-01-01 01:59:59.999 +02");
    assert_eq!(stamp(0, &TimeZone::UTC), "1970-01-01 00:00:00.000 UTC");
}

#[test]
fn a_stamp_notices_the_next_second() {
    let mut stamp = Stamp::default();
    let mut lines = Vec::new();
    for millis in [999, 1000, 1001] {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        stamp.write(&mut lines, at, &TimeZone::UTC);
        lines.push(b'\n');
    }
    let expected =
        "1970-01-01 00:00:00.999 UTC\n1970-01-01 00:00:01.000 UTC\n1970-01-01 00:00:01.001 UTC\n";
    assert_eq!(String::from_utf8(lines).unwrap(), expected);
}

#[test]
fn the_lines_of_a_text_are_set_in() {
    assert_eq!(text("LOG", "one"), " [4711] LOG one\n");
    assert_eq!(text("WARNING", "one\ntwo\nthree\n"), " [4711] WARNING one\n\ttwo\n\tthree\n");
}

#[test]
fn control_characters_are_replaced() {
    assert_eq!(text("LOG", "a\rb\x1b[2J\0c\u{9b}d\te"), " [4711] LOG a?b?[2J?c?d\te\n");
}

#[test]
fn levels_have_pgbouncers_names() {
    let cases = [
        (Level::Error, "fatal", "FATAL"),
        (Level::Error, "pgweir", "ERROR"),
        (Level::Warn, "fatal", "WARNING"),
        (Level::Info, "", "LOG"),
        (Level::Debug, "", "DEBUG"),
        (Level::Trace, "", "NOISE"),
    ];
    for (level, target, expected) in cases {
        assert_eq!(name(level, target), expected);
    }
}

#[test]
fn what_waits_is_bounded_and_losses_are_counted() {
    log::set_max_level(log::LevelFilter::Info);
    let sink = Sink::new(Echo::Nothing);
    lock(&sink.pending).writer = true;
    let long = "x".repeat(1000);
    for _ in 0..2000 {
        sink.log(&Record::builder().level(Level::Info).args(format_args!("{long}")).build());
    }
    let (text, lost) = lock(&sink.pending).take();
    assert!(text.len() <= PENDING_MAX + 2000, "{} bytes wait", text.len());
    let kept = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(kept + lost, 2000);
    assert!(lost > 0);
}

#[test]
fn the_file_is_appended_to_and_may_be_rotated() {
    let folder = std::env::temp_dir().join(format!("pgweir-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.log");
    let name = path.to_str().unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let sink = Sink::new(Echo::Nothing);
    let say = |word: &str| {
        sink.log(&Record::builder().level(Level::Info).args(format_args!("{word}")).build());
    };
    sink.open(Some(name)).unwrap();
    say("first");
    std::fs::rename(&path, folder.join("a.log.1")).unwrap();
    say("second");
    sink.open(Some(name)).unwrap();
    say("third");
    assert!(sink.open(Some("/nonexistent/a.log")).is_err());
    say("fourth");
    let words = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        text.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(words("a.log.1"), ["first", "second"]);
    assert_eq!(words("a.log"), ["third", "fourth"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nobody_waits_for_ever_for_a_log_that_nobody_reads() {
    log::set_max_level(log::LevelFilter::Info);
    let sink: &'static Sink = Box::leak(Box::new(Sink::new(Echo::Nothing)));
    sink.spawn().unwrap();
    let say = || sink.log(&Record::builder().level(Level::Info).args(format_args!("x")).build());
    let waited = || {
        let start = std::time::Instant::now();
        say();
        sink.settle();
        start.elapsed()
    };
    assert!(waited() < PATIENCE, "what waits is written at once");
    let stalled = lock(&sink.outlets);
    assert!(waited() >= PATIENCE);
    sink.open(None).unwrap();
    drop(stalled);
    sink.settle();
    let pending = lock(&sink.pending);
    assert_eq!((pending.put, pending.written), (2, 2));
}
