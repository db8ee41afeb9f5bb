//! Every way to ask clients, every way to store a password, and what they may answer.
//!
//! ```text
//! auth_type × stored secret × password ──► we, PgBouncer, psql, psycopg ──► the same verdict
//! ```

use std::sync::Once;

use integration::{Bouncer, Client, Ini, Login, Lost, Place, must, python, run, server};
use scratch::Postgres;
use wire::write;

const METHODS: [&str; 4] = ["trust", "plain", "md5", "scram-sha-256"];
/// What is stored of them: the password itself, its md5, a verifier, nothing, and not even that.
const USERS: [&str; 5] = ["p_plain", "p_md5", "p_scram", "p_empty", "p_nobody"];
const RIGHT: &str = "it's a secret";
const WRONG: &str = "it's a guess";

/// The shared server trusts everybody, so that the pooler alone decides.
fn proving() -> &'static Postgres {
    static ONCE: Once = Once::new();
    let server = server(15);
    ONCE.call_once(|| {
        for (user, encryption) in [("plain", "md5"), ("md5", "md5"), ("scram", "scram-sha-256")] {
            let sql = format!(
                "SET password_encryption = '{encryption}';
                 CREATE ROLE p_{user} LOGIN PASSWORD 'it''s a secret'"
            );
            server.psql(&sql).unwrap();
        }
        server.psql("CREATE ROLE p_empty LOGIN").unwrap();
    });
    server
}

fn ini(auth_type: &str) -> Ini {
    let server = proving();
    let stored = |user: &str| {
        let sql = format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{user}'");
        server.psql(&sql).unwrap()
    };
    Ini::new(server)
        .set("auth_type", auth_type)
        .user("p_plain", RIGHT)
        .user("p_md5", &stored("p_md5"))
        .user("p_scram", &stored("p_scram"))
        .user("p_empty", "")
}

/// What a login comes to: what was asked, and whether it ended with ReadyForQuery or an error.
fn outcome(place: &Place, login: &Login) -> String {
    let mut client = Client::open(place).unwrap();
    client.start(login);
    let end = match client.enter(login) {
        Ok(()) => "ready".to_owned(),
        Err(refusal) => {
            assert_eq!(client.rest(), (Vec::new(), Lost::Closed), "{login:?}");
            format!("{} {}", refusal.severity, refusal.message)
        }
    };
    format!("{:?} {end}", client.asked)
}

/// Whether somebody with this secret and password is let in.
fn is_welcome(auth_type: &str, user: &str, password: &str) -> bool {
    match (auth_type, user) {
        (_, "p_nobody") => false,
        ("trust", _) => true,
        (_, "p_empty") | ("scram-sha-256", "p_md5") => false,
        _ => password == RIGHT,
    }
}

#[test]
fn verdicts_are_those_of_pgbouncer() {
    for auth_type in METHODS {
        let ini = ini(auth_type);
        let (pooler, bouncer) = (ini.start(), Bouncer::start(&ini));
        for (user, password) in
            USERS.iter().flat_map(|user| [RIGHT, WRONG, ""].map(|password| (*user, password)))
        {
            let login = Login::new(user, "postgres").password(password);
            let ours = outcome(&pooler.tcp(), &login);
            let who = format!("{auth_type} {user} {password:?}");
            assert_eq!(ours.contains("ready"), is_welcome(auth_type, user, password), "{who}");
            match (auth_type, user, password) {
                // PgBouncer says at once that the secret of this user cannot do SCRAM.
                ("scram-sha-256", "p_md5", _) => {
                    assert_eq!(ours, "[10, 11] FATAL SASL authentication failed", "{who}");
                }
                // PgBouncer takes an empty secret for an empty password here.
                ("scram-sha-256", "p_empty", "") => {
                    assert_eq!(ours, "[10, 11] FATAL SASL authentication failed", "{who}");
                }
                _ => assert_eq!(ours, outcome(&bouncer.tcp(), &login), "{who}"),
            }
        }
    }
}

#[test]
fn psql_and_psycopg_are_told_the_same() {
    for auth_type in METHODS {
        let pooler = ini(auth_type).start();
        for password in [RIGHT, WRONG, ""] {
            let mut drivers = python("logins.py");
            let place = format!("host=127.0.0.1 port={} dbname=postgres", pooler.port);
            let said = must(drivers.arg(place).arg(password).args(USERS));
            assert_eq!(said.lines().count(), USERS.len(), "{said}");
            for (user, psycopg) in USERS.iter().zip(said.lines()) {
                let mut psql = pooler.reach(proving().client("psql"));
                psql.env("PGUSER", user).env("PGPASSWORD", password).env("PGDATABASE", "postgres");
                let psql = run(psql.args(["-XAtw", "-c", "SELECT session_user"]));
                let who = format!("{auth_type} {user} {password:?}: {psql}");
                if is_welcome(auth_type, user, password) {
                    assert_eq!((psql.out.trim(), psycopg), (*user, *user), "{who}");
                } else {
                    let message = psql.err.trim_end();
                    assert!(message.ends_with(psycopg) && !psycopg.is_empty(), "{who} {psycopg}");
                }
            }
        }
    }
}

#[test]
fn names_do_not_matter_where_everybody_may_in() {
    let line = format!("host=127.0.0.1 port={} dbname=postgres", proving().port);
    let ini = Ini::bare()
        .set("auth_type", "any")
        .set("stats_users", "watcher")
        .database(&format!("forced = {line} user=p_plain"))
        .database(&format!("free = {line}"));
    let (pooler, bouncer) = (ini.start(), Bouncer::start(&ini));
    for (user, database, expected) in [
        ("whoever", "forced", "[0] ready"),
        ("postgres", "free", "[] FATAL bouncer config error"),
        ("watcher", "pgbouncer", "[0] ready"),
        ("whoever", "pgbouncer", "[] FATAL not allowed"),
    ] {
        let login = Login::new(user, database);
        assert_eq!(outcome(&pooler.tcp(), &login), expected, "{user} {database}");
        // PgBouncer lets everybody onto its console here.
        let theirs = if user == "whoever" { "[0] ready" } else { expected };
        assert_eq!(outcome(&bouncer.tcp(), &login), theirs, "PgBouncer: {user} {database}");
    }
    let mut client = Client::login(&pooler.tcp(), &Login::new("whoever", "forced")).unwrap();
    assert_eq!(client.value("SELECT session_user"), "p_plain");
}

#[test]
fn who_somebody_is_is_said_once_and_first() {
    for auth_type in ["plain", "md5", "scram-sha-256"] {
        let ini = ini(auth_type);
        let (pooler, bouncer) = (ini.start(), Bouncer::start(&ini));
        for place in [pooler.tcp(), bouncer.tcp()] {
            let mut client = Client::open(&place).unwrap();
            client.start(&Login::new("p_plain", "postgres"));
            client.expect("R");
            client.start(&Login::new("console", "pgbouncer"));
            assert_eq!(client.fatal().message, "client re-sent startup pkt", "{place:?}");
        }
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.send(|out| write::password(out, RIGHT.as_bytes()));
        assert_eq!(client.fatal().message, "client password pkt before startup packet");
    }
}

#[test]
fn the_longest_passwords_are_accepted_in_pieces() {
    let longest = "x".repeat(65_530);
    let pooler = ini("plain").user("p_empty", &longest).start();
    let login = Login::new("p_empty", "postgres");
    let mut client = Client::open(&pooler.tcp()).unwrap();
    client.start(&login);
    client.expect("R");
    let mut message = Vec::new();
    write::password(&mut message, longest.as_bytes());
    for piece in message.chunks(1_000) {
        client.send_bytes(piece).unwrap();
    }
    client.enter(&login).unwrap();
    assert_eq!(client.value("SELECT session_user"), "p_empty");

    let shorter = login.clone().password(&longest[1..]);
    assert_eq!(outcome(&pooler.tcp(), &shorter), "[3] FATAL password authentication failed");
    let longer = login.password(&format!("{longest}x"));
    assert_eq!(outcome(&pooler.tcp(), &longer), "[3] FATAL bad packet header: '7000010000'");
    assert!(!pooler.log().contains("787878"), "a password is in the log");
}

#[test]
fn a_verifier_serves_whoever_gives_the_password_in_clear() {
    // The server, too, asks for the password; only the keys that the check brings can open it.
    let mut server = integration::own(15, scratch::Options::default());
    server.psql("CREATE ROLE u LOGIN PASSWORD 'pw'").unwrap();
    server.add_hba("host all u 127.0.0.1/32 scram-sha-256").unwrap();
    let stored = server.psql("SELECT rolpassword FROM pg_authid WHERE rolname = 'u'").unwrap();
    let pooler = Ini::new(&server).set("auth_type", "plain").user("u", &stored).start();
    let login = Login::new("u", "postgres").password("pw");
    for mut client in (0..40).map(|_| Client::login(&pooler.tcp(), &login).unwrap()) {
        assert_eq!(client.value("SELECT session_user"), "u");
    }
}

#[test]
fn iterations_of_made_up_verifiers_follow_the_setting() {
    let ini = ini("scram-sha-256").set("worker_threads", 1);
    let pooler = ini.clone().set("scram_iterations", 1_000).start();
    let iterations = |user: &str| {
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.start(&Login::new(user, "postgres"));
        client.expect("R");
        let first = auth::ScramClient::new([7; 18]).first();
        client.send(|out| write::sasl_initial_response(out, "SCRAM-SHA-256", &first));
        let challenge = client.next_message().body;
        let text = String::from_utf8_lossy(&challenge[4..]).into_owned();
        text.rsplit_once(",i=").unwrap().1.to_owned()
    };
    let of_both =
        |count: &str| ["p_plain", "p_nobody"].iter().all(|user| iterations(user) == count);
    assert!(of_both("1000"));
    // A stored verifier has its own.
    assert_eq!(iterations("p_scram"), "4096");
    pooler.reconfigure(&ini.set("scram_iterations", 2_000));
    integration::eventually("the setting is in force", || of_both("2000"));
    let login = Login::new("p_plain", "postgres").password(RIGHT);
    assert_eq!(outcome(&pooler.tcp(), &login), "[10, 11, 12, 0] ready");
}

#[test]
fn where_a_client_comes_from_is_in_its_name() {
    let ini = ini("trust").set("application_name_add_host", 1).set("pool_mode", "session");
    let (pooler, bouncer) = (ini.start(), Bouncer::start(&ini));
    let name = |place: &Place, given: Option<&str>| {
        let mut login = Login::new("p_plain", "postgres");
        if let Some(name) = given {
            login = login.with("application_name", name);
        }
        let mut client = Client::login(place, &login).unwrap();
        client.value("SELECT current_setting('application_name')")
    };
    let without_port = |name: String| {
        let (name, port) = name.rsplit_once(':').unwrap();
        assert!(port.parse::<u16>().is_ok(), "{name}:{port}");
        name.to_owned()
    };
    for given in [None, Some("psql")] {
        let ours = without_port(name(&pooler.tcp(), given));
        assert_eq!(ours, format!("{} - 127.0.0.1", given.unwrap_or("app")));
        assert_eq!(ours, without_port(name(&bouncer.tcp(), given)));
        let ours = name(&pooler.unix(), given).replace(&pooler.port.to_string(), "PORT");
        let theirs = name(&bouncer.unix(), given).replace(&bouncer.port.to_string(), "PORT");
        assert!(ours.contains(&format!("unix({}@", std::process::id())), "{ours}");
        assert_eq!(ours, theirs);
    }
}

#[test]
fn a_word_of_welcome() {
    let pooler = ini("trust").set("login_notify_message", "be nice").start();
    let mut client = Client::open(&pooler.tcp()).unwrap();
    client.start(&Login::new("p_plain", "postgres"));
    let tags = client.reply().tags();
    assert!(tags.ends_with("KNZ") && tags.matches('N').count() == 1, "{tags}");
    let mut psql = pooler.reach(proving().client("psql"));
    psql.env("PGUSER", "p_plain").env("PGDATABASE", "postgres");
    let said = run(psql.args(["-XAt", "-c", "SELECT 1"]));
    assert_eq!((said.out.as_str(), said.err.as_str()), ("1\n", "NOTICE:  be nice\n"));
}

#[test]
fn simple_queries_can_be_forbidden() {
    let ini = ini("trust").set("disable_pqexec", 1);
    let (pooler, bouncer) = (ini.start(), Bouncer::start(&ini));
    for place in [pooler.tcp(), bouncer.tcp()] {
        let mut client = Client::login(&place, &Login::new("p_plain", "postgres")).unwrap();
        client.send(|out| {
            write::parse(out, b"", b"SELECT 1", &[]);
            write::bind(out, b"", b"", &[], &[], &[]);
            write::execute(out, b"", 0);
            write::sync(out);
        });
        assert_eq!(client.reply().tags(), "12DCZ", "{place:?}");
        client.send(|out| write::query(out, b"SELECT 1"));
        assert_eq!(client.fatal().message, "PQexec disallowed", "{place:?}");
    }
}

#[test]
fn codes_as_pgbouncer_gives_them() {
    let ini = ini("scram-sha-256");
    let bouncer = Bouncer::start(&ini);
    let pooler = ini.set("legacy_sqlstate", 1).start();
    for (user, database, password) in
        [("p_plain", "postgres", WRONG), ("p_plain", "nowhere", RIGHT), ("p_nobody", "x", WRONG)]
    {
        let login = Login::new(user, database).password(password);
        let refusal = |place: &Place| Client::login(place, &login).map(drop).unwrap_err();
        let (ours, theirs) = (refusal(&pooler.tcp()), refusal(&bouncer.tcp()));
        assert_eq!(ours.message, theirs.message, "{login:?}");
        // The one about the database is PostgreSQL's own; the old PgBouncer dropped its code.
        let code = if database == "nowhere" { "3D000" } else { "08P01" };
        assert_eq!((&*ours.code, &*theirs.code), (code, "08P01"), "{login:?}");
    }
}
