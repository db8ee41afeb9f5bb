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
    let script = "read -r _; exec dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none";
    let mut command = Command::new("sh");
    let mut child = Child::start(command.args(["-c", script]).stdin(Stdio::piped())).unwrap();
    let Some(counting) = Counting::start(&[child.id()]).unwrap() else {
        assert!(!can_count());
        return;
    };
    child.stdin().unwrap().write_all(b"\n").unwrap();
    child.wait(&crate::interrupt::Interrupt::default()).unwrap();
    let calls = counting.stop().unwrap();
    let of = |name: &str| calls.get(name).copied().unwrap_or_default();
    // One more for the line that starts it, some more for what the programs load.
    assert!((1000.0..1100.0).contains(&of("read")), "{calls:?}");
    assert!((1000.0..1100.0).contains(&of("write")), "{calls:?}");
}

#[test]
fn nobody_has_no_calls() {
    assert!(Counting::start(&[]).unwrap().is_none());
}
