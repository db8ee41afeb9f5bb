//! What follows a client from server to server besides the usual six parameters, and what is left
//! behind for the next one: nothing.

use integration::{Client, Ini, Login, Place, Pooler, database, server};

/// A pooler with one server, and two clients that share it.
fn shared(ini: &Ini, name: &str, first: &Login) -> (Pooler, Client, Client) {
    let pooler = ini.clone().set("default_pool_size", 1).start();
    let one = Client::login(&pooler.tcp(), first).unwrap();
    let two = pooler.client_in(name);
    (pooler, one, two)
}

#[test]
fn a_search_path_follows_its_client_whether_it_is_reported_or_not() {
    // PostgreSQL reports it from 18 on.
    for major in [15, 18] {
        let server = server(major);
        let name = database(server, "paths");
        let login =
            Login::new("postgres", name).with("options", "-c search_path=\"odd,name\",public");
        let (_pooler, mut one, mut two) = shared(&Ini::new(server), name, &login);
        let mut direct = Client::login(&Place::Tcp(server.port), &login).unwrap();
        let default = two.value("SHOW search_path");
        let expected = direct.value("SHOW search_path");
        assert_ne!(expected, default, "{major}");
        for _ in 0..3 {
            assert_eq!(one.value("SHOW search_path"), expected, "{major}");
            assert_eq!(two.value("SHOW search_path"), default, "{major}");
        }
        let reports = |client: &Client| client.parameters.contains_key("search_path");
        assert_eq!((reports(&one), reports(&direct)), (major >= 18, major >= 18));
        if major >= 18 {
            one.run("SET search_path = a, \"B c\", ''");
            assert_eq!(two.value("SHOW search_path"), default);
            assert_eq!(one.value("SHOW search_path"), "a, \"B c\", \"\"");
        }
    }
}

#[test]
fn who_one_is_and_whether_one_may_write_follow_the_client() {
    for major in [15, 18] {
        let server = server(major);
        let name = database(server, "identity");
        let login = Login::new("postgres", name);
        let mut direct = Client::login(&Place::Tcp(server.port), &login).unwrap();
        direct.run("CREATE ROLE identity_other LOGIN");
        let (pooler, mut one, mut two) = shared(&Ini::new(server), name, &login);
        one.run("SET SESSION AUTHORIZATION identity_other");
        assert_eq!(two.value("SELECT session_user"), "postgres");
        assert_eq!(one.value("SELECT session_user"), "identity_other");
        one.run("RESET SESSION AUTHORIZATION");
        two.run("SET default_transaction_read_only = on");
        assert_eq!(one.value("SHOW default_transaction_read_only"), "off");
        assert_eq!(two.value("SHOW default_transaction_read_only"), "on");
        let login = Login::new("postgres", name).with("session_authorization", "identity_other");
        let refusal = Client::login(&pooler.tcp(), &login).err().unwrap();
        assert_eq!(refusal.message, "unsupported startup parameter: session_authorization");
    }
}

#[test]
fn extra_parameters_are_kept_as_the_client_gave_them() {
    let server = server(15);
    let name = database(server, "tenants");
    let login =
        Login::new("postgres", name).with("app.tenant", "o'neill, 7").with("work_mem", "5MB");
    let ini = Ini::new(server).set("track_extra_parameters", "app.tenant, work_mem");
    let (_pooler, mut one, mut two) = shared(&ini, name, &login);
    let tenant = "SELECT current_setting('app.tenant', true)";
    for _ in 0..3 {
        assert_eq!(one.value(tenant), "o'neill, 7");
        assert_eq!(one.value("SHOW work_mem"), "5MB");
        assert_eq!(two.value(tenant), "");
        assert_eq!(two.value("SHOW work_mem"), "4MB");
    }
}

#[test]
fn servers_run_their_connect_query() {
    let server = server(15);
    let name = database(server, "greeted");
    let place = format!("{name} = host=127.0.0.1 port={} connect_query=", server.port);
    let sql =
        "'SET work_mem = ''7MB''; SET TimeZone = ''Asia/Tokyo''; SELECT repeat(''x'', 200000)'";
    let pooler = Ini::new(server).database(&format!("{place}{sql}")).start();
    let mut client = pooler.client_in(name);
    assert_eq!(client.parameters.get("TimeZone").map(String::as_str), Some("Asia/Tokyo"));
    assert_eq!(client.value("SHOW work_mem"), "7MB");

    let pooler = Ini::new(server).database(&format!("{place}'SELECT nonsense'")).start();
    assert_eq!(pooler.client_in(name).value("SELECT 1"), "1");
    pooler.logs("error while executing exec_on_query: column \"nonsense\" does not exist");

    let pooler = Ini::new(server).database(&format!("{place}BEGIN")).start();
    let refusal = Client::login(&pooler.tcp(), &Login::new("postgres", name)).err().unwrap();
    assert!(refusal.message.contains("connect_query leaves a transaction open"), "{refusal:?}");
}

#[test]
fn a_reset_after_every_transaction_leaves_nothing() {
    let server = server(15);
    let name = database(server, "cleaned");
    let login = Login::new("postgres", name).with("search_path", "a");
    let ini = Ini::new(server).set("server_reset_query_always", 1);
    let (_pooler, mut one, mut two) = shared(&ini, name, &login);
    for _ in 0..3 {
        one.run("SET work_mem = '9MB'");
        assert_eq!(two.value("SHOW work_mem"), "4MB");
        assert_eq!(one.value("SHOW search_path"), "a");
        one.run("SET TimeZone = 'Asia/Tokyo'");
        assert_ne!(two.value("SHOW TimeZone"), "Asia/Tokyo");
        assert_eq!(one.value("SHOW TimeZone"), "Asia/Tokyo");
    }
}
