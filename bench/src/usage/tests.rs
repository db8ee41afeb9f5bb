//! The formats of /proc, and our own process as it stands there.

use super::*;

#[test]
fn stat_is_read_behind_any_name() {
    let tick = 1e6 / clock_ticks();
    for name in ["pgbouncer", "a (b) 7 7", ""] {
        let text = format!("17 ({name}) S 1 17 17 0 -1 4194560 100 0 0 0 123 45 6 7 20 0 1 0 99");
        let cpu = parse_stat(&text).unwrap();
        assert_eq!(cpu, Cpu { user: 123.0 * tick, system: 45.0 * tick });
    }
    assert_eq!(parse_stat("17 (short) S 1 17"), None);
    assert_eq!(parse_stat(""), None);
}

#[test]
fn a_core_is_found_by_its_number() {
    let tick = 1e6 / clock_ticks();
    let text =
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 9 9 9 9 9 9 9\ncpu10 1 2 4 99 99 8 16 99 0 0\nintr 5";
    assert_eq!(parse_core(text, 10), Some(Cpu { user: 3.0 * tick, system: 28.0 * tick }));
    assert_eq!(parse_core(text, 0), None);
    assert!(core(0).unwrap().total() > 0.0);
}

#[test]
fn private_lines_are_summed() {
    let text = "00400000-7fff rollup\nRss: 900 kB\nPrivate_Clean: 8 kB\nPrivate_Dirty: 34 kB\n";
    assert!((parse_rollup(text) - 42.0).abs() < f64::EPSILON);
}

#[test]
fn our_own_process_can_be_read() {
    let started = std::time::Instant::now();
    let before = Cpu::of(std::process::id()).unwrap();
    let used = loop {
        let used = (Cpu::of(std::process::id()).unwrap() - before).total();
        if used > 0.0 {
            break used;
        }
    };
    assert!(used < 1e6 * 64.0 * (started.elapsed().as_secs_f64() + 1.0), "{used}");
    assert!(private_memory(std::process::id()).unwrap() > 4096.0);
}
