use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::{State, send, text};

#[track_caller]
fn receive(supervisor: &UnixDatagram) -> String {
    let mut bytes = [0; 100];
    let count = supervisor.recv(&mut bytes).unwrap();
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

#[test]
fn a_supervisor_is_told_at_a_path_or_an_abstract_name() {
    let name = format!("pgweir-notify-{}", std::process::id());
    let path = std::env::temp_dir().join(&name);
    let supervisor = UnixDatagram::bind(&path).unwrap();
    send(path.as_os_str(), &text(State::Ready)).unwrap();
    assert_eq!(receive(&supervisor), "READY=1\n");
    std::fs::remove_file(&path).unwrap();
    assert!(send(path.as_os_str(), "x").is_err());

    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let supervisor = UnixDatagram::bind_addr(&address).unwrap();
    send(format!("@{name}").as_ref(), &text(State::Stopping)).unwrap();
    assert_eq!(receive(&supervisor), "STOPPING=1\n");

    assert!(send("vsock:2:1".as_ref(), "x").is_err());
}

#[test]
fn a_reload_is_told_with_its_time() {
    let text = text(State::Reloading);
    let micros = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(micros.trim_end().parse::<u64>().unwrap() > 0);
}
