use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use config::Settings;
use nix::sys::socket::sockopt::GetUsize;
use nix::sys::socket::{getsockopt, setsockopt};
use rustix::net::sockopt;

use super::{DEFERRED, DeferAccept, Tcp};

nix::getsockopt_impl!(DeferAccept, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, usize, GetUsize);

fn settings() -> Settings {
    Settings {
        tcp_keepidle: 11,
        tcp_keepintvl: 12,
        tcp_keepcnt: 13,
        tcp_user_timeout: 14_000,
        tcp_socket_buffer: 30_000,
        ..Settings::default()
    }
}

/// Idle, interval, count; user timeout; sizes of the buffers.
type Options = (Option<(Duration, Duration, u32)>, u32, usize, usize);

fn options(socket: impl AsFd) -> Options {
    let socket = socket.as_fd();
    assert!(sockopt::tcp_nodelay(socket).unwrap());
    let probes = || {
        let idle = sockopt::tcp_keepidle(socket).unwrap();
        (idle, sockopt::tcp_keepintvl(socket).unwrap(), sockopt::tcp_keepcnt(socket).unwrap())
    };
    (
        sockopt::socket_keepalive(socket).unwrap().then(probes),
        sockopt::tcp_user_timeout(socket).unwrap(),
        sockopt::socket_send_buffer_size(socket).unwrap(),
        sockopt::socket_recv_buffer_size(socket).unwrap(),
    )
}

/// The options of a connection that comes in at this listener.
fn accepted(listener: &TcpListener) -> Options {
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::io::Write::write_all(&mut client, b"x").unwrap();
    options(listener.accept().unwrap().0)
}

/// What the settings of [`settings`] come to; Linux doubles the sizes for its own needs.
fn wanted() -> Options {
    let seconds = Duration::from_secs;
    (Some((seconds(11), seconds(12), 13)), 14_000, 60_000, 60_000)
}

#[test]
fn connections_inherit_the_options_of_their_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Tcp::new(&settings()).tune_listener(&listener).unwrap();
    assert_eq!(accepted(&listener), wanted());
    assert!(getsockopt(&listener, DeferAccept).unwrap() >= DEFERRED);

    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    Tcp::new(&Settings::default()).tune_listener(&plain).unwrap();
    let (default, ..) = accepted(&plain);
    assert!(default.is_some(), "keepalive is the default");
    Tcp::new(&settings()).retune_listener(&plain).unwrap();
    assert_eq!(accepted(&plain), wanted(), "a reload is for the next connections");

    Tcp::new(&Settings::default()).retune_listener(&plain).unwrap();
    let (probes, user_timeout, ..) = accepted(&plain);
    assert_eq!((probes, user_timeout), (default, 0), "0 is the kernel's default again");
    let off = Settings { tcp_keepalive: false, tcp_defer_accept: false, ..settings() };
    Tcp::new(&off).retune_listener(&plain).unwrap();
    assert_eq!(accepted(&plain).0, None);
    assert_eq!(getsockopt(&plain, DeferAccept).unwrap(), 0);
}

#[test]
fn a_socket_to_a_server_gets_what_is_not_the_default() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    Tcp::new(&settings()).tune(&socket).unwrap();
    assert_eq!(options(&socket), wanted());
    let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let before = sockopt::socket_send_buffer_size(&other).unwrap();
    Tcp::new(&Settings { tcp_keepalive: false, ..Settings::default() }).tune(&other).unwrap();
    let (probes, user_timeout, sent, _) = options(&other);
    assert_eq!((probes, user_timeout, sent), (None, 0, before));
}

#[test]
fn a_silent_client_is_handed_over_after_a_moment() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    setsockopt(&listener, DeferAccept, &DEFERRED).unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert!(listener.accept().is_err(), "it has said nothing yet");
    for _ in 0..100 {
        if listener.accept().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("its login time would never begin");
}
