//! The user of the operating system that the process runs as: switching to `user`, and refusing
//! root; and the ids of groups.
//!
//! Works before any other thread is started, because Linux keeps user ids by thread and threads
//! inherit them. Reads `/etc/passwd` and `/etc/group` itself: users of a directory service are not
//! found.

use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// A user of the system with its groups.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// Becomes this user.
///
/// # Errors
/// When there is no such user, or the process may not switch.
pub(crate) fn switch(name: &str) -> Result<(), String> {
    let read = |path: &str| {
        std::fs::read_to_string(path).map_err(|error| format!("could not read {path}: {error}"))
    };
    let account = find(name, &read("/etc/passwd")?, &read("/etc/group").unwrap_or_default())
        .ok_or_else(|| format!("could not find user \"{name}\" in /etc/passwd"))?;
    if account.uid == geteuid().as_raw() && account.gid == getegid().as_raw() {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    let groups: Vec<Gid> = account.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    set_thread_groups(&groups)
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        .map_err(|error| format!("could not switch to user \"{name}\": {error}"))
}

/// The id of a group, by its name or number (`unix_socket_group`).
///
/// # Errors
/// When there is no such group.
pub(crate) fn group(name: &str) -> Result<u32, String> {
    if let Ok(gid) = name.parse() {
        return Ok(gid);
    }
    let text = std::fs::read_to_string("/etc/group")
        .map_err(|error| format!("could not read /etc/group: {error}"))?;
    find_group(name, &text).ok_or_else(|| format!("could not find group '{name}' in /etc/group"))
}

/// Makes sure that the process does not run as root.
///
/// # Errors
/// When it does, with what to do about it.
pub(crate) fn refuse_root() -> Result<(), String> {
    if geteuid().is_root() {
        return Err("pgweir should not run as root: start it as another user, for instance with \
                    \"runuser -u postgres\", or name one with the setting \"user\""
            .into());
    }
    Ok(())
}

fn find_group(name: &str, text: &str) -> Option<u32> {
    let fields = |line: &str| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    };
    text.lines().find_map(fields)
}

fn find(name: &str, passwd: &str, group: &str) -> Option<Account> {
    let mut account = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_named = fields.next() == Some(name);
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        is_named.then_some(Account { uid, gid, groups: vec![gid] })
    })?;
    for line in group.lines() {
        let mut fields = line.split(':').skip(2);
        let gid = fields.next().and_then(|gid| gid.parse().ok());
        let is_member =
            fields.next().is_some_and(|members| members.split(',').any(|one| one == name));
        if let Some(gid) = gid
            && is_member
            && !account.groups.contains(&gid)
        {
            account.groups.push(gid);
        }
    }
    Some(account)
}

#[cfg(test)]
mod tests;
