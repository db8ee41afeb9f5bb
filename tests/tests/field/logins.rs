//! Logins: of clients to the pooler, and of the pooler to its servers.

use integration::{Client, Ini, Login, Place, Pooler, Refusal, eventually, own};
use scratch::{Options, Postgres};

/// A server on which each user has to prove itself in another way.
fn proving(major: u32) -> Postgres {
    let mut server = own(major, Options::default());
    for (user, method, encryption) in [
        ("plain", "password", "scram-sha-256"),
        ("md5", "md5", "md5"),
        ("scram", "scram-sha-256", "scram-sha-256"),
        ("other", "scram-sha-256", "scram-sha-256"),
        ("trusted", "trust", "scram-sha-256"),
    ] {
        let sql = format!(
            "SET password_encryption = '{encryption}';
             CREATE ROLE u_{user} LOGIN PASSWORD 'pw {user}'"
        );
        server.psql(&sql).unwrap();
        server.add_hba(&format!("host all u_{user} 127.0.0.1/32 {method}")).unwrap();
    }
    server
}

/// What is stored on the server for a user.
fn stored(server: &Postgres, user: &str) -> String {
    server.psql(&format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{user}'")).unwrap()
}

fn login(user: &str, password: &str) -> Login {
    Login::new(user, "postgres").password(password)
}

/// A login that must be refused with one FATAL, which must arrive.
fn refused(place: &Place, login: &Login) -> Refusal {
    let mut client = Client::open(place).unwrap();
    client.start(login);
    let refusal = client.enter(login).expect_err("a login that is refused");
    assert_eq!(refusal.severity, "FATAL", "{refusal:?}");
    let (more, lost) = client.rest();
    assert!(more.is_empty() && lost == integration::Lost::Closed, "{more:?} {lost:?}");
    refusal
}

/// Logs in as a user and asks the server who that is.
fn enter(pooler: &Pooler, user: &str, password: &str) {
    for place in [pooler.tcp(), pooler.unix()] {
        let client = Client::login(&place, &login(user, password));
        let mut client = client.unwrap_or_else(|refusal| panic!("{user}: {refusal:?}"));
        assert_eq!(client.value("SELECT session_user"), user);
    }
}

#[test]
fn every_way_of_a_server_to_ask_and_of_a_secret_to_be_stored() {
    for (major, workers) in [(15, 1), (15, 4), (18, 2)] {
        let server = proving(major);
        let line = format!("* = host=127.0.0.1 port={}", server.port);
        let ini = Ini::bare()
            .set("worker_threads", workers)
            .database(&line)
            .user("u_plain", "pw plain")
            .user("u_md5", "pw md5")
            .user("u_scram", "pw scram")
            .user("u_other", &stored(&server, "u_other"))
            .user("u_trusted", "pw trusted");
        let pooler = ini.clone().set("auth_type", "scram-sha-256").start();
        for name in ["plain", "md5", "scram", "other", "trusted"] {
            enter(&pooler, &format!("u_{name}"), &format!("pw {name}"));
        }
        // Trusted clients: the pooler knows the passwords itself, or the hash that md5 needs.
        let pooler = ini.user("u_md5", &stored(&server, "u_md5")).start();
        for name in ["plain", "md5", "scram", "trusted"] {
            enter(&pooler, &format!("u_{name}"), "");
        }
    }
}

#[test]
fn a_wrong_password_and_an_unknown_user_look_the_same() {
    let server = proving(15);
    for secret in ["pw scram", &stored(&server, "u_scram")] {
        let pooler = Ini::bare()
            .set("auth_type", "scram-sha-256")
            .database(&format!("postgres = host=127.0.0.1 port={}", server.port))
            .user("u_scram", secret)
            .user("u_empty", "")
            .user("u_md5", &stored(&server, "u_md5"))
            .start();
        let wrong = refused(&pooler.tcp(), &login("u_scram", "wrong"));
        assert_eq!(wrong.code, "28P01");
        for (user, password) in [
            ("nobody", "pw scram"),
            ("nobody", ""),
            ("u_scram", ""),
            ("u_scram", "pw scram "),
            ("u_empty", ""),
            ("u_empty", "x"),
            // Only a md5 hash is known of this one, which cannot be used for SCRAM.
            ("u_md5", "pw md5"),
        ] {
            assert_eq!(refused(&pooler.tcp(), &login(user, password)), wrong, "{user}");
            assert_eq!(refused(&pooler.unix(), &login(user, password)), wrong, "{user}");
        }
        // Which databases exist is told to those who have proved themselves, and to nobody else.
        let nowhere = Login::new("u_scram", "nowhere");
        assert_eq!(refused(&pooler.tcp(), &nowhere.clone().password("wrong")), wrong);
        let refusal = refused(&pooler.tcp(), &nowhere.password("pw scram"));
        assert_eq!((&*refusal.code, &*refusal.message), ("3D000", "no such database: nowhere"));
        enter(&pooler, "u_scram", "pw scram");
    }
}

#[test]
fn trust_lets_in_whom_the_userlist_knows() {
    let server = proving(15);
    let pooler = Ini::new(&server).user("u_trusted", "").start();
    enter(&pooler, "u_trusted", "");
    let refusal = refused(&pooler.tcp(), &login("stranger", ""));
    assert_eq!(refusal.code, "28000");
    assert_eq!(refusal.message, "\"trust\" authentication failed");
}

#[test]
fn keys_of_a_client_open_the_server_again_and_again() {
    for workers in [1, 2, 4] {
        let server = proving(15);
        let pooler = Ini::bare()
            .set("auth_type", "scram-sha-256")
            .set("worker_threads", workers)
            .set("default_pool_size", 4)
            .set("server_login_retry", 1)
            .database(&format!("* = host=127.0.0.1 port={}", server.port))
            .database(&format!("alias = host=127.0.0.1 port={} dbname=postgres", server.port))
            .user("u_scram", &stored(&server, "u_scram"))
            .start();
        let scram = login("u_scram", "pw scram");
        let mut clients: Vec<Client> =
            (0..8).map(|_| Client::login(&pooler.tcp(), &scram).unwrap()).collect();
        for _ in 0..2 {
            for client in &mut clients {
                assert_eq!(client.value("SELECT session_user"), "u_scram");
            }
            // The servers go; those who are still here do not log in again.
            let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE usename = 'u_scram'";
            server.psql(kill).unwrap();
            let left = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'u_scram'";
            eventually("all servers have gone", || server.psql(left).unwrap() == "0");
            eventually("the pooler knows", || {
                let log = pooler.log();
                let count = |text: &str| log.matches(text).count();
                let closed = log
                    .lines()
                    .filter(|line| line.contains("S-0x") && line.contains("closing"))
                    .count();
                count("new connection to server") == closed
            });
        }
        let alias = Login::new("u_scram", "alias").password("pw scram");
        let mut aliased = Client::login(&pooler.tcp(), &alias).unwrap();
        assert_eq!(aliased.value("SELECT current_database()"), "postgres");
    }
}

#[test]
fn keys_are_used_only_where_the_secret_is_the_server_s_own() {
    let server = proving(15);
    let foreign = stored(&server, "u_other");
    let pooler = Ini::bare()
        .set("auth_type", "scram-sha-256")
        .database(&format!("* = host=127.0.0.1 port={}", server.port))
        .user("u_scram", &foreign)
        .start();
    // The password that the pooler's secret was made from is right, but it opens no server.
    let refusal = refused(&pooler.tcp(), &login("u_scram", "pw other"));
    assert!(refusal.message.contains("wrong password type"), "{refusal:?}");
    pooler.logs("cannot do SCRAM authentication");
}

#[test]
fn the_server_s_refusal_is_passed_on() {
    let server = proving(15);
    let pooler = Ini::bare()
        .database(&format!("* = host=127.0.0.1 port={}", server.port))
        .user("u_scram", "not the password")
        .user("u_nobody", "x")
        .user("u_trusted", "")
        .start();
    for (user, database, code) in [
        ("u_scram", "postgres", "28P01"),
        ("u_nobody", "postgres", "28000"),
        ("u_trusted", "nowhere", "3D000"),
    ] {
        let refusal = refused(&pooler.tcp(), &Login::new(user, database));
        assert_eq!(refusal.code, code, "{refusal:?}");
    }
    enter(&pooler, "u_trusted", "");
}

#[test]
fn a_forced_user_serves_everybody() {
    let server = proving(15);
    let line = format!("host=127.0.0.1 port={} dbname=postgres", server.port);
    let pooler = Ini::bare()
        .set("auth_type", "scram-sha-256")
        .set("default_pool_size", 1)
        .database(&format!("forced = {line} user=u_scram password='pw scram'"))
        .database(&format!("listed = {line} user=u_plain"))
        .user("anna", "a")
        .user("otto", "o")
        .user("u_plain", "pw plain")
        .start();
    for (user, password) in [("anna", "a"), ("otto", "o")] {
        for (database, owner) in [("forced", "u_scram"), ("listed", "u_plain")] {
            let login = Login::new(user, database).password(password);
            let mut client = Client::login(&pooler.tcp(), &login).unwrap();
            assert_eq!(client.value("SELECT session_user"), owner);
        }
    }
}

#[test]
fn passwords_of_every_kind_are_accepted_as_by_postgresql() {
    let mut server = own(15, Options::default());
    server.add_hba("host all u_odd 127.0.0.1/32 scram-sha-256").unwrap();
    server.psql("CREATE ROLE u_odd LOGIN").unwrap();
    for password in [
        "simple",
        " leading and trailing ",
        "with \"quotes\" and 'more'",
        "back\\slash",
        "ﬁ ligature, \u{a0}no-break, \u{ad}soft",
        "e\u{301} combined",
        "🐘 elephant",
        "control \u{7} bell",
        &"long ".repeat(200),
    ] {
        let sql = password.replace('\'', "''");
        server.psql(&format!("ALTER ROLE u_odd PASSWORD '{sql}'")).unwrap();
        let login = login("u_odd", password);
        Client::login(&Place::Tcp(server.port), &login).map(drop).unwrap();
        for secret in [password, &stored(&server, "u_odd")] {
            let pooler = Ini::bare()
                .set("auth_type", "scram-sha-256")
                .set("worker_threads", 1)
                .database(&format!("* = host=127.0.0.1 port={}", server.port))
                .user("u_odd", secret)
                .start();
            let client = Client::login(&pooler.tcp(), &login);
            let mut client = client.unwrap_or_else(|refusal| panic!("{password:?}: {refusal:?}"));
            assert_eq!(client.value("SELECT session_user"), "u_odd");
        }
    }
}

#[test]
fn a_login_in_pieces_is_a_login() {
    let server = proving(15);
    let pooler = Ini::bare()
        .set("auth_type", "scram-sha-256")
        .database(&format!("* = host=127.0.0.1 port={}", server.port))
        .user("u_scram", "pw scram")
        .start();
    let mut whole = Vec::new();
    let parameters: [(&[u8], &[u8]); 2] = [(b"user", b"u_scram"), (b"database", b"postgres")];
    wire::write::startup(&mut whole, wire::PROTOCOL_3_0, &parameters);
    let mut client = Client::open(&pooler.tcp()).unwrap();
    for byte in &whole {
        client.send_bytes(&[*byte]).unwrap();
    }
    client.enter(&login("u_scram", "pw scram")).unwrap();
    assert_eq!(client.value("SELECT 1"), "1");
}

#[test]
fn encryption_is_declined_and_the_login_goes_on() {
    let server = proving(15);
    let pooler = Ini::new(&server).start();
    for place in [pooler.tcp(), pooler.unix()] {
        let mut client = Client::open(&place).unwrap();
        client.send(wire::write::gss_request);
        assert_eq!(client.byte(), b'N');
        client.send(wire::write::ssl_request);
        assert_eq!(client.byte(), b'N');
        let login = login("postgres", "");
        client.start(&login);
        client.enter(&login).unwrap();
        assert_eq!(client.value("SELECT 1"), "1");
    }
    // What stands behind the request in the same segment was not encrypted.
    let mut client = Client::open(&pooler.tcp()).unwrap();
    let parameters: [(&[u8], &[u8]); 1] = [(b"user", b"postgres")];
    client.send(|out| {
        wire::write::ssl_request(out);
        wire::write::startup(out, wire::PROTOCOL_3_0, &parameters);
    });
    assert_eq!(client.fatal().message, "received unencrypted data after SSL request");
}

#[test]
fn newer_protocols_are_negotiated() {
    let server = proving(15);
    let pooler = Ini::new(&server).start();
    for (version, option, answer) in [
        (wire::PROTOCOL_3_0, None, ""),
        (wire::PROTOCOL_3_2, None, "v"),
        (0x0003_270f, None, "v"),
        (wire::PROTOCOL_3_0, Some("_pq_.anything"), "v"),
    ] {
        let mut login = login("postgres", "").version(version);
        if let Some(option) = option {
            login = login.with(option, "1");
        }
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.start(&login);
        let seen = client.reply().tags();
        assert_eq!(seen.matches('v').count(), answer.len(), "{version:x}: {seen}");
        assert!(seen.starts_with(&format!("{answer}R")) && seen.ends_with("KZ"), "{seen}");
        assert_eq!(client.value("SELECT 1"), "1");
    }
    for version in [0x0002_0000, 0x0004_0000] {
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.start(&login("postgres", "").version(version));
        assert_eq!(client.fatal().code, "08P01", "{version:x}");
    }
}
