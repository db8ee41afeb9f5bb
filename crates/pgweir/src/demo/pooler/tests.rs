use super::*;

#[test]
fn the_log_tells_whether_clients_can_come() {
    let tcp = "… LOG listening on 127.0.0.1:6432\n";
    let other = "… LOG listening on 127.0.0.1:64321\n";
    let unix = "… LOG listening on unix:/tmp/x/.s.PGSQL.6432\n";
    let taken = "… WARNING could not listen on 127.0.0.1:6432: Address already in use\n";
    let cases = [
        (String::new(), Listening::Awaited),
        (tcp.to_owned(), Listening::Awaited),
        (format!("{other}{unix}"), Listening::Awaited),
        (format!("{tcp}{unix}"), Listening::Begun),
        (format!("{taken}{unix}"), Listening::PortTaken),
    ];
    for (log, expected) in cases {
        assert_eq!(Listening::read(&log, 6432), expected, "{log}");
    }
}

#[test]
fn the_configuration_is_understood() {
    let folder = Path::new("/tmp/it's a folder");
    let settings = Settings { name: "demo", servers: 20, clients: 250 };
    let text = ini_text(folder, (5432, 6432), settings);
    let mut read = |_: &str| Ok(text.clone().into_bytes());
    let config = config::load("pgweir.ini", &mut read).unwrap();
    assert_eq!(config.warnings, []);

    let demo = config.find_database("demo").unwrap();
    assert_eq!(demo.host.as_deref(), folder.to_str());
    assert_eq!(demo.port, 5432);
    let settings = &config.pgbouncer;
    assert_eq!(settings.auth_type, config::AuthType::Trust);
    assert_eq!(settings.listen_addr, ["127.0.0.1"]);
    assert_eq!(settings.listen_port, 6432);
    assert_eq!(settings.unix_socket_dir.as_deref(), folder.to_str());
    assert_eq!((settings.default_pool_size, settings.max_client_conn), (20, 250));
    let user = Identity::unprivileged().map(|user| user.name).unwrap_or_default();
    assert_eq!(settings.user.as_deref().unwrap_or_default(), user);
}
