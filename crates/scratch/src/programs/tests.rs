use super::*;

#[test]
fn the_version_is_read_from_what_postgres_says() {
    let check = |said: &str, expected: Option<(u32, &str)>| {
        let expected = expected.map(|(major, release)| (major, release.to_owned()));
        assert_eq!(parse_version(said), expected, "{said:?}");
    };
    check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some((15, "15.18")));
    check("postgres (PostgreSQL) 18.6\n", Some((18, "18.6")));
    check("postgres (PostgreSQL) 19devel\n", Some((19, "19devel")));
    check("postgres (PostgreSQL) 18beta1\n", Some((18, "18beta1")));
    check("psql (PostgreSQL) 15.18\n", None);
    check("postgres (PostgreSQL) devel\n", None);
    check("", None);
}

#[test]
fn programs_are_found_with_their_version() {
    let found = Programs::find().unwrap();
    assert!(found.version >= 14, "{found:?}");
    assert!(found.release.starts_with(&found.version.to_string()));
    assert!(found.program("initdb").is_file());

    let same = Programs::find_major(found.version).unwrap();
    assert_eq!(same.version, found.version);
    assert!(matches!(Programs::find_major(7), Err(Error::NoMajor(7))));
}

#[test]
fn every_version_is_listed_once_oldest_first() {
    let versions: Vec<u32> = Programs::all().iter().map(|programs| programs.version).collect();
    assert!(!versions.is_empty());
    assert!(versions.windows(2).all(|pair| pair[0] < pair[1]), "{versions:?}");
}

#[test]
fn a_folder_with_psql_alone_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("psql"), "").unwrap();
    assert_eq!(Programs::look(folder.path()), None);
    assert_eq!(Programs::look(Path::new("/nowhere")), None);
}

#[test]
fn only_the_folders_of_red_hat_packages_are_taken_from_usr() {
    assert!(is_pgdg_rpm(Path::new("/usr/pgsql-17/bin")));
    assert!(!is_pgdg_rpm(Path::new("/usr/local/bin")));
}
