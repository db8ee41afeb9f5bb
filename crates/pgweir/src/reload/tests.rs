use std::path::{Path, PathBuf};

use super::{boot_only, read, read_again};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("pgweir-reload-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ini(users: &Path, settings: &str) -> String {
    format!("[databases]\na =\n[pgbouncer]\nauth_file = {}\n{settings}\n", users.display())
}

#[test]
fn a_reload_is_all_or_nothing_and_keeps_what_only_a_start_changes() {
    let folder = Folder::new("whole");
    let users = folder.write("users.txt", "\"ann\" \"x\"\n");
    let path =
        folder.write("a.ini", &ini(users.as_ref(), "listen_port = 7001\nquery_wait_timeout = 5"));
    let old = read(&path).unwrap();
    assert_eq!(old.config.pgbouncer.query_wait_timeout, 5_000_000);
    assert!(old.userlist.find(b"ann").is_some());

    folder.write("a.ini", &ini(users.as_ref(), "listen_port = 7002\nquery_wait_timeout = 6"));
    folder.write("users.txt", "\"bob\" \"x\"\n");
    assert_eq!(boot_only(&old.config, &read(&path).unwrap().config), ["listen_port"]);
    let new = read_again(&path, &old).unwrap();
    assert_eq!(new.config.pgbouncer.query_wait_timeout, 6_000_000);
    assert_eq!(new.config.pgbouncer.listen_port, 7001);
    assert!(new.userlist.find(b"bob").is_some() && new.userlist.find(b"ann").is_none());

    folder.write("a.ini", &ini(users.as_ref(), "query_wait_timeout = often\nnonsense = 1"));
    let complaints = read_again(&path, &new).err().unwrap();
    assert_eq!(complaints.lines().count(), 2, "{complaints}");
    assert!(complaints.starts_with(&format!("{path}:5:")), "{complaints}");
}

#[test]
fn a_broken_userlist_refuses_a_reload_but_not_a_start() {
    let folder = Folder::new("users");
    let users = folder.write("users.txt", "\"ann\" \"x\"\nnonsense\n\"bob\" \"y\"\n");
    let path = folder.write("a.ini", &ini(users.as_ref(), ""));
    let old = read(&path).unwrap();
    assert!(old.userlist.find(b"ann").is_some(), "the users before a malformed line count");
    let complaints = read_again(&path, &old).err().unwrap();
    assert!(complaints.starts_with(&format!("{users}:2: ")), "{complaints}");
    std::fs::remove_file(&users).unwrap();
    let complaints = read_again(&path, &old).err().unwrap();
    assert!(complaints.contains(&users), "{complaints}");
    assert!(read(&path).unwrap().userlist.find(b"ann").is_none());
    assert!(read("/nonexistent/a.ini").is_err());

    folder.write("a.ini", "[databases]\n[pgbouncer]\n");
    assert!(read_again(&path, &old).unwrap().userlist.is_empty(), "no file is named any more");
}

#[test]
fn a_locked_user_is_no_reason_to_refuse_the_others() {
    let folder = Folder::new("locked");
    let key = "WypGonGEb3zEaAsvV1Pmoss6NvGkicR4zCac1aaDjsI=";
    let locked = format!("\"ann\" \"SCRAM-SHA-256$100001:AA==${key}:{key}\"\n\"bob\" \"x\"\n");
    let users = folder.write("users.txt", &locked);
    let path = folder.write("a.ini", &ini(users.as_ref(), ""));
    let old = read(&path).unwrap();
    let new = read_again(&path, &old).unwrap();
    for setup in [old, new] {
        assert!(setup.userlist.find(b"ann").unwrap().is_empty(), "locked");
        assert!(!setup.userlist.find(b"bob").unwrap().is_empty());
    }
}
