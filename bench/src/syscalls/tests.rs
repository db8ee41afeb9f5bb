//! The table of `perf stat -x,`, and a real counting where perf may count.

use super::*;

#[test]
fn a_table_is_understood() {
    let table = "# started on …\n\n\
                 310,,raw_syscalls:sys_enter,1999000000,100.00,,\n\
                 300,,syscalls:sys_enter_sendto,1999000000,100.00,,\n\
                 0,,syscalls:sys_enter_close,1999000000,100.00,,\n\
                 <not counted>,,syscalls:sys_enter_read,0,100.00,,\n";
    let expected = [("sendto".to_owned(), 300.0), ("other".to_owned(), 10.0)];
    assert_eq!(parse(table), Calls::from(expected));
    assert_eq!(parse(""), Calls::new());
}

#[test]
fn a_process_is_counted_between_start_and_stop() {
    let Some(counting) = Counting::start(&[std::process::id()]).unwrap() else {
        assert!(!can_count());
        return;
    };
    for _ in 0..1000 {
        rustix::thread::sched_yield();
    }
    let calls = counting.stop().unwrap();
    assert_eq!(calls.get("sched_yield").copied(), Some(1000.0), "{calls:?}");
}

#[test]
fn nobody_has_no_calls() {
    assert!(Counting::start(&[]).unwrap().is_none());
}
