use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};

use super::*;

fn start(options: &Options) -> Postgres {
    Postgres::start(&Programs::find().unwrap(), options).unwrap()
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn a_server_answers_and_leaves_nothing_behind() {
    let postgres = start(&Options::default());
    assert_eq!(postgres.psql("SELECT 1 + 1, 'x'; SELECT NULL").unwrap(), "2|x");
    assert_eq!(postgres.psql("SHOW fsync").unwrap(), "off");
    assert!(listens(postgres.port));
    assert!(postgres.socket_dir.join(format!(".s.PGSQL.{}", postgres.port)).exists());
    assert!(postgres.log().contains("ready to accept connections"));

    let (port, folder) = (postgres.port, postgres.socket_dir.clone());
    drop(postgres);
    assert!(!listens(port));
    assert!(!folder.exists());
}

#[test]
fn every_authentication_method_lets_the_superuser_in() {
    for auth in ["trust", "password", "md5", "scram-sha-256"] {
        let password = "it's \\ a \"password\"".to_owned();
        let postgres = start(&Options { auth, password, ..Options::default() });
        let stored = "SELECT coalesce(left(rolpassword, 3), '-') FROM pg_authid WHERE rolname = \
                      'postgres'";
        let expected = match auth {
            "trust" => "-",
            "md5" => "md5",
            _ => "SCR",
        };
        assert_eq!(postgres.psql(stored).unwrap(), expected, "{auth}");

        let mut psql = plain(&postgres.programs.program("psql"));
        psql.args(["-XAtc", "SELECT current_user", &postgres.conninfo()]);
        assert_eq!(run(&mut psql).unwrap(), "postgres\n", "{auth}");

        let mut wrong = postgres.client("psql");
        wrong.args(["-Xc", "SELECT 1"]).env("PGPASSWORD", "wrong");
        assert_eq!(run(&mut wrong).is_ok(), auth == "trust", "{auth}");
    }
}

#[test]
fn settings_are_taken_and_changed() {
    let settings = vec![
        ("work_mem".to_owned(), "5MB".to_owned()),
        ("cluster_name".to_owned(), "it's \\ quoted".to_owned()),
    ];
    let postgres = start(&Options { settings, max_connections: 17, ..Options::default() });
    assert_eq!(postgres.psql("SHOW work_mem").unwrap(), "5MB");
    assert_eq!(postgres.psql("SHOW cluster_name").unwrap(), "it's \\ quoted");
    assert_eq!(postgres.psql("SHOW max_connections").unwrap(), "17");

    postgres.set("work_mem", "6MB").unwrap();
    assert_eq!(postgres.psql("SHOW work_mem").unwrap(), "6MB");
}

#[test]
fn an_unknown_setting_is_told_from_the_log() {
    let settings = vec![("no_such_setting".to_owned(), "1".to_owned())];
    let options = Options { settings, ..Options::default() };
    let error = Postgres::start(&Programs::find().unwrap(), &options).unwrap_err();
    assert!(error.to_string().contains("\"no_such_setting\""), "{error}");
}

#[test]
fn sql_errors_are_told() {
    let postgres = start(&Options::default());
    let error = postgres.psql("SELECT 1; SELECT nothing; SELECT 2").unwrap_err();
    assert!(error.to_string().contains("column \"nothing\" does not exist"), "{error}");
}

#[test]
fn a_server_restarts_on_its_port_with_its_data() {
    let mut postgres = start(&Options::default());
    postgres.psql("CREATE TABLE kept AS SELECT 42 AS x").unwrap();
    let (port, pid) = (postgres.port, postgres.pid());
    for mode in [Stop::Smart, Stop::Fast] {
        postgres.restart(mode).unwrap();
        assert_eq!(postgres.psql("SELECT x FROM kept").unwrap(), "42");
    }
    postgres.stop(Stop::Immediate).unwrap();
    assert_eq!(postgres.pid(), None);
    assert!(!listens(port));
    assert!(postgres.psql("SELECT 1").is_err());
    assert!(postgres.stop(Stop::Fast).is_err());

    postgres.launch().unwrap();
    assert_eq!(postgres.port, port);
    assert_ne!(postgres.pid(), pid);
    assert_eq!(postgres.psql("SELECT 1").unwrap(), "1");
}

#[test]
fn an_added_rule_wins() {
    let mut postgres = start(&Options::default());
    postgres.psql("CREATE ROLE guest LOGIN").unwrap();
    let attempt = |postgres: &Postgres| {
        let mut psql = postgres.client("psql");
        psql.args(["-XAtc", "SELECT current_user"]).env("PGUSER", "guest");
        run(&mut psql)
    };
    assert_eq!(attempt(&postgres).unwrap(), "guest\n");
    postgres.add_hba("local all guest reject").unwrap();
    let refusal = attempt(&postgres).unwrap_err().to_string();
    assert!(refusal.contains("pg_hba.conf rejects connection"), "{refusal}");
    assert_eq!(postgres.psql("SELECT 1").unwrap(), "1");
}

#[test]
fn the_first_rules_win() {
    let rules = ["local all all trust", "host all all all reject"].map(str::to_owned).to_vec();
    let postgres = start(&Options { rules, ..Options::default() });
    assert_eq!(postgres.psql("SELECT 1").unwrap(), "1");
    let mut psql = plain(&postgres.programs.program("psql"));
    psql.args(["-Xc", "SELECT 1", &postgres.conninfo()]);
    let refusal = run(&mut psql).unwrap_err().to_string();
    assert!(refusal.contains("pg_hba.conf rejects connection"), "{refusal}");
}

#[test]
fn a_taken_port_is_noticed() {
    let mut postgres = start(&Options::default());
    postgres.stop(Stop::Fast).unwrap();
    let other = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, postgres.port)).unwrap();
    assert!(matches!(postgres.spawn().unwrap(), Outcome::PortTaken));
    assert!(postgres.launch().is_err());
    postgres.launch_on_free_port().unwrap();
    assert_ne!(postgres.port, other.local_addr().unwrap().port());
}

/// Not a test of its own: the process that the next test kills.
#[test]
fn owner_that_is_killed() {
    if std::env::var_os("SCRATCH_OWNER").is_none() {
        return;
    }
    let postgres = start(&Options::default());
    println!("\nstarted {} {}", postgres.port, postgres.socket_dir.display());
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_server_dies_with_its_killed_owner() {
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["--exact", "--nocapture", "postgres::tests::owner_that_is_killed"]);
    owner.env("SCRATCH_OWNER", "1").stdout(Stdio::piped());
    let mut owner = owner.spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.into_iter().find_map(|line| Some(line.strip_prefix("started ")?.to_owned()));
    let said = said.unwrap();
    let (port, folder) = said.split_once(' ').unwrap();
    let (port, folder) = (port.parse().unwrap(), Path::new(folder));
    assert!(listens(port));

    owner.kill().unwrap();
    owner.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while listens(port) || folder.exists() {
        assert!(Instant::now() < deadline, "the server or {} is still there", folder.display());
        pause();
    }
}

#[test]
fn every_installed_version_runs() {
    for programs in Programs::all() {
        let postgres = Postgres::start(&programs, &Options::default()).unwrap();
        let version = postgres.psql("SHOW server_version").unwrap();
        assert!(version.starts_with(&programs.release), "{version} from {programs:?}");
    }
}
