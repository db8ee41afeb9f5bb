//! Session parameters that follow each client from server to server.

use integration::{Client, Ini, Login, Place, own, server};
use scratch::Options;

const NAMES: [&str; 6] = [
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "application_name",
    "standard_conforming_strings",
    "IntervalStyle",
];

fn all() -> String {
    NAMES.map(|name| format!("current_setting('{name}')")).join(", ")
}

/// What a client sees of its own parameters.
fn seen(client: &mut Client) -> Vec<String> {
    client.run(&format!("SELECT {}", all())).rows().remove(0)
}

/// A login with values for the parameters above, in their order; empty ones are left out.
fn login(values: &[&str]) -> Login {
    let named = NAMES.iter().zip(values).filter(|(_, value)| !value.is_empty());
    named.fold(Login::new("postgres", "postgres"), |login, (name, value)| login.with(name, value))
}

const LONG: &str = "a name that is longer than the sixty-three bytes which PostgreSQL keeps of it";

#[test]
fn two_clients_with_different_parameters_share_one_server() {
    for (major, workers) in [(15, 1), (15, 2), (18, 4)] {
        let server = server(major);
        let pooler =
            Ini::new(server).set("default_pool_size", 1).set("worker_threads", workers).start();
        let direct = Place::Tcp(server.port);
        let mut pairs = Vec::new();
        for values in [
            ["UTF8", "ISO, MDY", "UTC", "plain", "on", "postgres"],
            ["LATIN1", "German", "Europe/Zurich", "it's \\ \"quoted\"", "off", "iso_8601"],
            ["SQL_ASCII", "SQL, DMY", "Asia/Tokyo", LONG, "on", "sql_standard"],
            ["UTF8", "Postgres, YMD", "<+03>-03", "on two\tlines", "off", "postgres_verbose"],
            ["", "", "", "", "", ""],
        ] {
            let mut alone = Client::login(&direct, &login(&values)).unwrap();
            let client = Client::login(&pooler.tcp(), &login(&values)).unwrap();
            let expected = seen(&mut alone);
            for name in NAMES {
                // At login a client is told its own spelling, later PostgreSQL's.
                assert!(client.parameters.contains_key(name), "{name} is not reported");
            }
            pairs.push((client, expected));
        }
        for _ in 0..100 {
            for (client, expected) in &mut pairs {
                assert_eq!(&seen(client), expected, "PostgreSQL {major}, {workers} workers");
            }
        }
    }
}

#[test]
fn a_change_follows_the_client_that_made_it() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let (mut a, mut b) = (pooler.client(), pooler.client());
    let before = seen(&mut b);
    for (n, change) in [
        "SET TimeZone = 'Asia/Tokyo'",
        "SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'",
        "BEGIN; SET application_name = 'of a'; COMMIT",
        "SELECT set_config('client_encoding', 'LATIN1', false)",
        "RESET TimeZone",
    ]
    .iter()
    .enumerate()
    {
        a.run(change);
        assert_eq!(seen(&mut b), before, "{change}");
        let mine = seen(&mut a);
        assert_eq!(mine[1] == "German, DMY", n >= 1, "{change}: {mine:?}");
        assert_eq!(mine[3] == "of a", n >= 2, "{change}: {mine:?}");
        assert_eq!(mine[0] == "LATIN1", n >= 3, "{change}: {mine:?}");
        assert_eq!(mine[2] == "Asia/Tokyo", n < 4, "{change}: {mine:?}");
    }
    // What is rolled back, or local to a transaction, does not follow.
    a.run("BEGIN; SET TimeZone = 'Asia/Tokyo'; ROLLBACK");
    a.run("BEGIN; SET LOCAL IntervalStyle = 'postgres_verbose'; COMMIT");
    assert_eq!(seen(&mut b), before);
    let mine = seen(&mut a);
    assert_eq!((&*mine[2], &*mine[5]), ("UTC", "iso_8601"), "{mine:?}");
    // A value that PostgreSQL refuses is its own affair.
    assert_eq!(a.query("SET TimeZone = 'Europe/Nowhere'").codes(), "22023");
    assert_eq!(seen(&mut a), mine);
}

#[test]
fn text_arrives_in_the_client_s_encoding() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let latin = Login::new("postgres", "postgres").with("client_encoding", "LATIN1");
    let mut latin = Client::login(&pooler.tcp(), &latin).unwrap();
    let mut utf = pooler.client();
    for _ in 0..10 {
        latin.send(|out| wire::write::query(out, b"SELECT '\xfc', octet_length('\xfc')"));
        let reply = latin.reply();
        let row = reply.messages.iter().find(|message| message.tag == b'D').unwrap();
        let values: Vec<_> = wire::backend::data_row(&row.body).unwrap().flatten().collect();
        assert_eq!(values, [b"\xfc".as_slice(), b"2"]);
        assert_eq!(utf.run("SELECT 'ü', octet_length('ü')").rows(), [["ü", "2"]]);
    }
}

#[test]
fn nothing_is_set_when_nothing_differs() {
    let settings = vec![("log_statement".to_owned(), "all".to_owned())];
    let server = own(15, Options { settings, ..Options::default() });
    let pooler = Ini::new(&server).set("default_pool_size", 1).start();
    let sets = || server.log().matches("SET ").count();
    let values = ["UTF8", "ISO, MDY", "UTC", "same", "on", "postgres"];
    let mut same: Vec<Client> =
        (0..2).map(|_| Client::login(&pooler.tcp(), &login(&values)).unwrap()).collect();
    seen(&mut same[0]);
    let first = sets();
    for _ in 0..50 {
        same.iter_mut().for_each(|client| drop(seen(client)));
    }
    assert_eq!(sets(), first, "{}", server.log());

    // One that spells the same values in another way costs one round trip, not one each time.
    let spelled = ["utf8", "ISO", "utc", "same", "true", "POSTGRES"];
    let mut spelled = Client::login(&pooler.tcp(), &login(&spelled)).unwrap();
    seen(&mut spelled);
    let first = sets();
    for _ in 0..50 {
        seen(&mut spelled);
        seen(&mut same[1]);
    }
    assert_eq!(sets(), first, "{}", server.log());

    // Two that differ cost one statement for each change of hands.
    let other = ["UTF8", "German", "UTC", "same", "on", "postgres"];
    let mut other = Client::login(&pooler.tcp(), &login(&other)).unwrap();
    for _ in 0..10 {
        seen(&mut other);
        seen(&mut other);
        seen(&mut same[0]);
        seen(&mut same[1]);
    }
    assert_eq!(sets() - first, 20, "{}", server.log());
}

#[test]
fn a_value_that_no_server_takes_ends_its_client_alone() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let mut bystander = pooler.client();
    let broken = Login::new("postgres", "postgres").with("TimeZone", "Europe/Nowhere");
    let mut client = Client::login(&pooler.tcp(), &broken).unwrap();
    client.send(|out| wire::write::query(out, b"SELECT 1"));
    let refusal = client.fatal();
    assert_eq!((&*refusal.code, &*refusal.message), ("22023", "invalid server parameter"));
    assert_eq!(bystander.value("SELECT 1"), "1");
}

#[test]
fn parameters_come_by_options_as_well() {
    let server = server(15);
    let pooler = Ini::new(server).set("ignore_startup_parameters", "extra_float_digits").start();
    let options = "-c TimeZone=Asia/Tokyo --DateStyle=German -c application_name=a\\ b";
    let login =
        Login::new("postgres", "postgres").with("options", options).with("extra_float_digits", "2");
    let mut client = Client::login(&pooler.tcp(), &login).unwrap();
    let mine = seen(&mut client);
    assert_eq!(mine[1..4], ["German, DMY", "Asia/Tokyo", "a b"]);

    for (name, value, message) in [
        ("geqo", "off", "unsupported startup parameter: geqo"),
        ("options", "-c geqo=off", "unsupported startup parameter in options: geqo"),
    ] {
        let login = Login::new("postgres", "postgres").with(name, value);
        let refusal = Client::login(&pooler.tcp(), &login).map(drop).unwrap_err();
        assert_eq!((&*refusal.code, &*refusal.message), ("08P01", message));
    }
}
