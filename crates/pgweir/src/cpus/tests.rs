use super::{quota, usable};

#[test]
fn the_smallest_quota_on_the_way_up_counts() {
    let files = [
        ("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"),
        ("/sys/fs/cgroup/a/cpu.max", "400000 100000\n"),
        ("/sys/fs/cgroup/free/cpu.max", "max 100000\n"),
        ("/sys/fs/cgroup/odd/cpu.max", "1000 0\n"),
        ("/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us", "300000\n"),
        ("/sys/fs/cgroup/cpu/old/cpu.cfs_period_us", "100000\n"),
        ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ];
    let read = |path: &str| {
        files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    };
    let cases = [
        ("0::/a/b\n", Some(2)),
        ("0::/a\n", Some(4)),
        ("0::/a/b/c/d\n", Some(2)),
        ("0::/free\n", None),
        ("0::/odd\n", None),
        ("0::/\n", None),
        ("5:cpuset:/a/b\n4:cpu,cpuacct:/old\n1:name=systemd:/x\n", Some(3)),
        ("4:cpu,cpuacct:/old\n0::/a/b\n", Some(2)),
        ("4:cpuset:/old\nnonsense\n", None),
        ("", None),
    ];
    for (groups, expected) in cases {
        assert_eq!(quota(groups, &read), expected, "{groups:?}");
    }
}

#[test]
fn there_is_always_one_cpu() {
    assert!(usable() >= 1);
}
