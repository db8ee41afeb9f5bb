use super::*;

#[test]
fn private_memory_is_summed() {
    let rollup = "\
55d6c7a3e000-7ffd8f5f2000 ---p 00000000 00:00 0                          [rollup]
Rss:               12000 kB
Pss_Anon:            900 kB
Shared_Clean:       5120 kB
Private_Clean:       128 kB
Private_Dirty:      1024 kB
Private_Hugetlb:       0 kB
";
    let cases = [
        (rollup, Some(1152)),
        ("", None),
        ("Rss: 1 kB\n", None),
        ("Private_Dirty: many kB\n", None),
        ("Private_Dirty: 1 MB\n", None),
    ];
    for (rollup, expected) in cases {
        assert_eq!(sum_private(rollup), expected, "{rollup}");
    }
}

#[test]
fn only_what_runs_has_memory() {
    assert_eq!(private_kilobytes(u32::MAX), None);
    if fs::exists("/proc/self/smaps_rollup").is_ok_and(|exists| exists) {
        assert!(private_kilobytes(std::process::id()).is_some_and(|size| size > 100));
    }
}

#[test]
fn those_that_have_gone_are_taken_to_be_like_the_others() {
    assert_eq!(in_all(&[10, 20], &[1, 2]), Some(30));
    assert_eq!(in_all(&[10, 20], &[1, 2, 3, 4]), Some(60));
    assert_eq!(in_all(&[], &[1, 2]), None);
}
