//! Lengths that lie, and bytes that are no messages: only their sender is harmed.

use std::time::{Duration, Instant};

use integration::{Client, Ini, Login, Lost, Message, Place, Pooler, database, server, tags};
use wire::write;

/// Bystanders: one that is logged in, and one that comes.
fn others_are_served(pooler: &Pooler, bystander: &mut Client, what: &str) {
    assert_eq!(bystander.value("SELECT 1"), "1", "{what}");
    assert_eq!(pooler.client().value("SELECT 2"), "2", "{what}");
}

/// What comes back, which may only be a FATAL, and how soon.
fn refused(client: &mut Client, what: &str) {
    let start = Instant::now();
    let (messages, lost) = client.rest();
    let tags = tags(&messages);
    assert!(["", "E"].contains(&tags.as_str()), "{what}: {messages:?}");
    if tags == "E" {
        let fields = wire::Fields::parse(&messages[0].body).unwrap();
        assert_eq!(fields.code(), Some(b"08P01".as_slice()), "{what}: {messages:?}");
        assert_eq!(lost, Lost::Closed, "{what}");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:?}", start.elapsed());
}

#[test]
fn before_the_login() {
    let server = server(15);
    let pooler = Ini::new(server).set("client_login_timeout", 2).start();
    let mut bystander = pooler.client();
    let memory = pooler.memory();
    for length in [0_u32, 1, 3, 4, 7, 10_001, 65_536, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        let what = format!("a first packet of length {length}");
        let mut client = Client::open(&pooler.tcp()).unwrap();
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&wire::PROTOCOL_3_0.to_be_bytes());
        client.send_bytes(&bytes).unwrap();
        refused(&mut client, &what);
        others_are_served(&pooler, &mut bystander, &what);
    }
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0\0\0\x08\0\0\0\0",
        b"\0\0\0\x08\0\x03\0\0",
        b"\0\0\0\x09\0\x03\0\0\0",
        b"\0\0\0\x0e\0\x03\0\0user\0x",
        b"\0\0\0\x0d\0\x03\0\0user\0",
        b"\0\0\0\x10\x04\xd2\x16\x2f\0\0\0\x01\0\0\0\x02\0",
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02",
        b"Q\0\0\0\x0dSELECT 1\0",
    ] {
        let what = format!("{:?}", String::from_utf8_lossy(bytes));
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.send_bytes(bytes).unwrap();
        refused(&mut client, &what);
        others_are_served(&pooler, &mut bystander, &what);
    }
    // Silence, and one byte, end with the login timeout.
    for bytes in [b"".as_slice(), b"\0"] {
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.send_bytes(bytes).unwrap();
        let refusal = client.fatal();
        assert_eq!(refusal.message, "client_login_timeout", "{refusal:?}");
    }
    assert!(pooler.memory() < memory + 5_000_000, "{memory} became {}", pooler.memory());
}

#[test]
fn in_the_middle_of_a_password() {
    let server = server(15);
    let pooler = Ini::new(server).set("auth_type", "scram-sha-256").user("anna", "secret").start();
    let login = Login::new("anna", "postgres");
    let mut response = Vec::new();
    write::sasl_initial_response(&mut response, "SCRAM-SHA-256", b"n,,n=,r=abc");
    let mut longer = response.clone();
    let inner = 5 + "SCRAM-SHA-256".len() + 1;
    longer[inner..inner + 4].copy_from_slice(&1_000_000_u32.to_be_bytes());
    let message = |tag: u8, length: u32, body: &[u8]| {
        [&[tag], length.to_be_bytes().as_slice(), body].concat()
    };
    for bytes in [
        message(b'p', 0, b""),
        message(b'p', 3, b""),
        message(b'p', u32::MAX, b""),
        message(b'p', 0x7fff_ffff, b"abc"),
        message(b'p', 0x7fff_fff0, b"abc"),
        message(b'p', 100_000, b"abc"),
        message(b'p', 4, b""),
        message(b'p', 9, b"abcde"),
        message(b'Q', 13, b"SELECT 1\0"),
        message(b'R', 8, b"\0\0\0\0"),
        longer,
    ] {
        let mut client = Client::open(&pooler.tcp()).unwrap();
        client.start(&login);
        client.expect("R");
        let _ = client.send_bytes(&bytes);
        let start = Instant::now();
        let (messages, _) = client.rest();
        assert!(["", "E"].contains(&tags(&messages).as_str()), "{bytes:?}: {messages:?}");
        assert!(start.elapsed() < Duration::from_secs(5), "{bytes:?}");
    }
    // Logged in are those only who have proved themselves.
    let refusal = Client::login(&pooler.tcp(), &login).map(drop).unwrap_err();
    assert_eq!(refusal.code, "28P01");
}

#[test]
fn after_the_login() {
    let server = server(15);
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let mut bystander = pooler.client();
    let memory = pooler.memory();
    for tag in b"QPBDECSHFdcfpX" {
        for length in [0_u32, 3, u32::MAX, 0x7fff_ffff, 0x8000_0000] {
            let what = format!("{} of length {length}", char::from(*tag));
            let mut client = pooler.client();
            let bytes = [&[*tag], length.to_be_bytes().as_slice(), b"abc"].concat();
            client.send_bytes(&bytes).unwrap();
            refused(&mut client, &what);
            others_are_served(&pooler, &mut bystander, &what);
        }
    }
    for tag in [b'z', b'1', b'R', b'Z', 0, 255] {
        let what = format!("the unknown message {tag}");
        let mut client = pooler.client();
        client.send_bytes(&[tag, 0, 0, 0, 5, 0]).unwrap();
        refused(&mut client, &what);
        others_are_served(&pooler, &mut bystander, &what);
    }
    assert!(pooler.memory() < memory + 5_000_000, "{memory} became {}", pooler.memory());
}

#[test]
fn inside_of_messages_as_postgresql_sees_it() {
    let server = server(15);
    let name = database(server, "inner_lengths");
    let pooler = Ini::new(server).set("default_pool_size", 1).start();
    let mut bystander = pooler.client_in(name);
    let message = |tag: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag], length.to_be_bytes().as_slice(), body].concat()
    };
    for bytes in [
        message(b'Q', b"SELECT 1"),
        message(b'Q', b""),
        message(b'Q', b"SELECT 1\0SELECT 2\0"),
        message(b'P', b"\0SELECT 1\0\xff\xff"),
        message(b'P', b"\0SELECT 1"),
        message(b'P', b""),
        message(b'B', b"\0\0\0\0\xff\xff"),
        message(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"),
        message(b'B', b"\0\0\0\x01"),
        message(b'B', b""),
        message(b'D', b"X\0"),
        message(b'D', b""),
        message(b'C', b"X\0"),
        message(b'E', b"\0"),
        message(b'E', b"\0\0\0\0\0extra"),
        message(b'F', b"\0\0\0\x01\xff\xff"),
        message(b'S', b"extra"),
    ] {
        let play = |mut client: Client| {
            client.send_bytes(&bytes).unwrap();
            client.send(|out| {
                write::sync(out);
                write::sync(out);
                write::query(out, b"SELECT 'the end'");
            });
            let mut messages = Vec::new();
            let is_end = |message: &Message| message.body.ends_with(b"the end");
            while !messages.iter().any(is_end) {
                match client.try_message() {
                    Ok(message) => messages.push(message),
                    Err(lost) => panic!("{bytes:?}: {lost:?} after {messages:?}"),
                }
            }
            let errors = messages.iter().filter(|message| message.tag == b'E');
            let code = |message: &Message| {
                wire::Fields::parse(&message.body).unwrap().code().unwrap().to_vec()
            };
            let codes: Vec<_> = errors.map(code).collect();
            (tags(&messages), codes)
        };
        let login = Login::new("postgres", name);
        let expected = play(Client::login(&Place::Tcp(server.port), &login).unwrap());
        let seen = play(pooler.client_in(name));
        assert_eq!(seen, expected, "{:?}", String::from_utf8_lossy(&bytes));
        assert_eq!(bystander.value("SELECT 1"), "1");
    }
}
