use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use config::Settings;
use engine::Peer;
use rustix::io::Errno;
use rustix::net::sockopt;

use super::{Listener, addresses, as_ip, is_answered, open, open_tcp, open_unix, unix_path};

fn settings(listen_addr: &[&str], folder: Option<&str>) -> Settings {
    Settings {
        listen_addr: listen_addr.iter().map(ToString::to_string).collect(),
        unix_socket_dir: folder.map(Into::into),
        listen_port: 16432,
        ..Settings::default()
    }
}

fn address(listener: &Listener) -> SocketAddr {
    as_ip(rustix::net::getsockname(&listener.socket).unwrap()).unwrap()
}

/// A folder of this test's own, removed by the caller.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("pgweir-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn accept(listener: &Listener) -> (std::os::fd::OwnedFd, Peer) {
    loop {
        match listener.accept() {
            Err(Errno::AGAIN) => std::thread::yield_now(),
            result => return result.unwrap(),
        }
    }
}

#[test]
fn addresses_are_expanded_in_order_without_repeats() {
    let of = |list: &[&str]| {
        addresses(&settings(list, None)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of(&["*"]), ["0.0.0.0:16432", "[::]:16432"]);
    assert_eq!(of(&["127.0.0.1", "::1", "127.0.0.1"]), ["127.0.0.1:16432", "[::1]:16432"]);
    assert!(of(&["localhost"]).contains(&"127.0.0.1:16432".to_owned()));
    assert_eq!(of(&[]), [""; 0]);
}

#[test]
fn the_unix_socket_is_named_after_the_port() {
    assert_eq!(unix_path(&settings(&[], Some("/tmp"))).as_deref(), Some("/tmp/.s.PGSQL.16432"));
    assert_eq!(unix_path(&settings(&[], Some("@x"))).as_deref(), Some("@x/.s.PGSQL.16432"));
    assert_eq!(unix_path(&settings(&[], Some(""))), None);
    assert_eq!(unix_path(&settings(&[], None)), None);
}

#[test]
fn accepted_sockets_inherit_what_the_listener_was_given() {
    for (at, keepalive) in [("127.0.0.1:0", true), ("0.0.0.0:0", false)] {
        let settings = Settings { tcp_keepalive: keepalive, ..settings(&[], None) };
        let listener = open_tcp(at.parse().unwrap(), &settings).unwrap();
        assert_eq!(listener.accept().err(), Some(Errno::AGAIN));
        let port = address(&listener).port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (socket, peer) = accept(&listener);
        assert!(sockopt::tcp_nodelay(&socket).unwrap());
        assert_eq!(sockopt::socket_keepalive(&socket).unwrap(), keepalive);
        let Peer::Tcp { from, at } = peer else { panic!("not TCP") };
        assert_eq!(from, client.local_addr().unwrap());
        assert_eq!(at.ip().to_string(), "127.0.0.1");
        let mut byte = [0; 1];
        let nothing = rustix::net::recv(&socket, &mut byte, rustix::net::RecvFlags::empty());
        assert_eq!(nothing.err(), Some(Errno::AGAIN), "reads do not block");
    }
}

#[test]
fn a_unix_socket_tells_who_connects_and_replaces_a_stale_one() {
    let folder = folder("listen");
    let path = folder.join(".s.PGSQL.16432").to_str().unwrap().to_owned();
    let settings = Settings { unix_socket_mode: 0o700, ..settings(&[], folder.to_str()) };
    assert!(!is_answered(&path));
    drop(open_unix(&path, &settings, None).unwrap());
    assert!(std::fs::exists(&path).unwrap() && !is_answered(&path), "stale");
    let listener = open_unix(&path, &settings, None).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"x").unwrap();
    let (_socket, peer) = accept(&listener);
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(peer, Peer::Unix { pid: std::process::id(), uid, port: 16432 });
    assert!(is_answered(&path));
    assert_eq!(listener.file(), Some(path.as_str()));
    assert_eq!(listener.to_string(), format!("unix:{path}"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_abstract_socket_leaves_no_file() {
    let name = format!("@pgweir-{}/.s.PGSQL.16432", std::process::id());
    let listener = open_unix(&name, &settings(&[], None), None).unwrap();
    assert!(is_answered(&name));
    assert_eq!(listener.file(), None);
}

#[test]
fn one_address_that_fails_is_left_out_and_none_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let both = Settings { listen_port: port, ..settings(&["127.0.0.1", "127.0.0.2"], None) };
    let listeners = open(&both).unwrap();
    assert_eq!(
        listeners.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!("127.0.0.2:{port}")]
    );
    let one = Settings { listen_port: port, ..settings(&["127.0.0.1"], None) };
    assert!(open(&one).is_err());
}
