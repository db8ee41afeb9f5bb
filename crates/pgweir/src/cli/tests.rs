use super::{Invocation, Misuse, Serve, first_line, help, parse, version};

fn read(line: &str) -> Result<Invocation, Misuse> {
    parse(line.split_whitespace().map(Into::into))
}

fn serve(config: &str, quiet: bool, verbose: u32) -> Result<Invocation, Misuse> {
    Ok(Invocation::Serve(Serve { config: config.into(), quiet, verbose, ..Serve::default() }))
}

fn unclear(text: &str) -> Result<Invocation, Misuse> {
    Err(Misuse::Unclear(text.into()))
}

#[test]
fn options_are_read_as_pgbouncer_reads_them() {
    let cases = [
        ("a.ini", serve("a.ini", false, 0)),
        ("-q a.ini", serve("a.ini", true, 0)),
        ("a.ini --quiet -v --verbose", serve("a.ini", true, 2)),
        ("-qvv a.ini", serve("a.ini", true, 2)),
        ("-- -q", serve("-q", false, 0)),
        ("-V", Ok(Invocation::Version)),
        ("--help a b c", Ok(Invocation::Help)),
        ("", unclear("no configuration file specified")),
        ("a.ini b.ini", unclear("no configuration file specified")),
        ("--nope a.ini", unclear("unrecognized option '--nope'")),
        ("-x a.ini", unclear("invalid option -- 'x'")),
        ("demo", Ok(Invocation::Demo(vec![]))),
        ("demo --once", Ok(Invocation::Demo(vec!["--once".into()]))),
        ("./demo", serve("./demo", false, 0)),
    ];
    for (line, expected) in cases {
        assert_eq!(read(line), expected, "{line:?}");
    }
}

#[test]
fn the_background_and_the_user_are_read_in_all_spellings() {
    let of = |daemon, user: Option<&str>| {
        let user = user.map(Into::into);
        Ok(Invocation::Serve(Serve { config: "a.ini".into(), daemon, user, ..Serve::default() }))
    };
    for (line, expected) in [
        ("-d a.ini", of(true, None)),
        ("a.ini --daemon", of(true, None)),
        ("-u ann a.ini", of(false, Some("ann"))),
        ("-uann a.ini", of(false, Some("ann"))),
        ("-duann a.ini", of(true, Some("ann"))),
        ("--user=ann a.ini", of(false, Some("ann"))),
        ("a.ini --user ann", of(false, Some("ann"))),
    ] {
        assert_eq!(read(line), expected, "{line:?}");
    }
    assert!(matches!(read("a.ini -u"), Err(Misuse::Unclear(_))));
}

#[test]
fn taking_over_sockets_is_refused_with_a_way_out() {
    for line in ["-R a.ini", "--reboot a.ini"] {
        let Err(Misuse::Unsupported(text)) = read(line) else { panic!("{line:?} was accepted") };
        assert!(text.contains("so_reuseport"), "{text}");
    }
}

#[test]
fn version_starts_with_the_line_of_show_version() {
    assert!(first_line().starts_with("PgBouncer 1.25.2 (pgweir "));
    assert_eq!(version().lines().next(), Some(first_line()));
    assert!(
        help("pgweir").starts_with("pgweir is a connection pooler for PostgreSQL.\n\nUsage:\n")
    );
}
