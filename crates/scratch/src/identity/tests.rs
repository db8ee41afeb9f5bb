use super::*;

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
    broken line\n\
    nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n";

#[test]
fn postgres_is_preferred_to_nobody() {
    let check = |passwd: &str, name: &str, uid: u32, gid: u32, home: &str| {
        let expected = Identity { name: name.to_owned(), uid, gid, home: PathBuf::from(home) };
        assert_eq!(Identity::choose(passwd), expected, "{passwd:?}");
    };
    let both = format!("{PASSWD}postgres:x:101:104:PostgreSQL:/var/lib/postgresql:/bin/bash\n");
    check(&both, "postgres", 101, 104, "/var/lib/postgresql");
    check(PASSWD, "nobody", 65_534, 65_533, "/nonexistent");
    check("", "nobody", 65_534, 65_534, "/");
    check("postgres:x:high:104:PostgreSQL:/:/bin/sh\n", "nobody", 65_534, 65_534, "/");
}

#[test]
fn an_unprivileged_command_is_not_root() {
    let mut id = Command::new("id");
    id.arg("-u");
    unprivileged(&mut id);
    let output = id.output().unwrap();
    assert!(output.status.success());
    assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), "0");
}

#[test]
fn a_reachable_program_stays_where_it_is() {
    let program = Path::new("/bin/sh").canonicalize().unwrap();
    assert_eq!(reachable(&program).unwrap(), program);
    assert!(reachable(Path::new("/nowhere/pgweir")).is_err());
}

#[test]
fn a_program_in_a_closed_folder_becomes_reachable() {
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let program = closed.path().join("true");
    fs::copy("/bin/true", &program).unwrap();
    for mode in [0o755, 0o700] {
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let reached = reachable(&program).unwrap();
        let mut command = Command::new(&reached);
        unprivileged(&mut command);
        assert!(command.status().unwrap().success(), "mode {mode:o}");
        assert_eq!(reached == program, Identity::unprivileged().is_none());
    }
}
