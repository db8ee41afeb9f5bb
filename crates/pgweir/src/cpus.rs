//! How many CPUs the process may use: the affinity mask, and the quota of its control groups.
//!
//! A container may run on every CPU of its host and yet be given the time of two. A quota of one
//! and a half is two: a worker that waits for its share now and then beats a CPU that nobody uses.

use std::path::Path;

/// The number of CPUs, at least 1.
pub(crate) fn usable() -> u32 {
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |path: &str| std::fs::read_to_string(path).ok();
    quota(&groups, &read).map_or(allowed, |quota| quota.min(allowed)).max(1)
}

/// The smallest quota of the groups in `/proc/self/cgroup` and of those above them, in CPUs,
/// rounded up.
fn quota(groups: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<u32> {
    groups
        .lines()
        .filter_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            if controllers.is_empty() {
                above(path, |path| parse_v2(&read(&format!("/sys/fs/cgroup{path}/cpu.max"))?))
            } else if controllers.split(',').any(|controller| controller == "cpu") {
                above(path, |path| {
                    let folder = format!("/sys/fs/cgroup/cpu{path}");
                    let quota = read(&format!("{folder}/cpu.cfs_quota_us"))?;
                    parse(&quota, &read(&format!("{folder}/cpu.cfs_period_us"))?)
                })
            } else {
                None
            }
        })
        .min()
}

/// The smallest quota of a group and of all above it. The root is asked as well: inside a
/// container, what is mounted there is often the container's own group.
fn above(path: &str, quota: impl Fn(&str) -> Option<u32>) -> Option<u32> {
    let ancestors = Path::new(path).ancestors().filter_map(Path::to_str);
    ancestors.filter_map(|path| quota(path.trim_end_matches('/'))).min()
}

/// `QUOTA PERIOD`, or `max PERIOD` for no quota.
fn parse_v2(text: &str) -> Option<u32> {
    let (quota, period) = text.split_once(' ')?;
    parse(quota, period)
}

/// Both in microseconds; a quota that is not positive is none.
fn parse(quota: &str, period: &str) -> Option<u32> {
    let quota: u64 = quota.trim().parse().ok().filter(|quota| *quota > 0)?;
    let period: u64 = period.trim().parse().ok().filter(|period| *period > 0)?;
    u32::try_from(quota.div_ceil(period)).ok()
}

#[cfg(test)]
mod tests;
