//! What peers say, whichever way the network cuts what they hear.

use std::net::{Ipv4Addr, TcpListener};

use wire::write;

use super::*;

fn peer(role: Role) -> Peer {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    Peer::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap(), role)
}

/// Hears `bytes` whole and cut in two at every place; the outcome must be the same.
fn check(role: Role, bytes: &[u8], said: &[u8], transactions: u64, logins: usize) {
    let script = Script::new();
    for cut in 0..bytes.len() {
        let mut peer = peer(role);
        let mut out = Vec::new();
        let mut sum = (0, 0);
        for part in [&bytes[..cut], &bytes[cut..]] {
            let heard = peer.hears(part, &script, &mut out).unwrap();
            sum = (sum.0 + heard.transactions, sum.1 + heard.logins);
        }
        assert_eq!(out, said, "cut at {cut}");
        assert_eq!(sum, (transactions, logins), "cut at {cut}");
        assert_eq!(peer.rest, b"", "cut at {cut}");
    }
}

#[test]
fn a_client_asks_after_its_login_and_after_each_answer() {
    let script = Script::new();
    check(Role::client(), &script.welcome, &script.query, 0, 1);
    check(Role::Client, &script.row, &script.query, 1, 0);
    let all = [&script.welcome[..], &script.row, &script.row].concat();
    check(Role::client(), &all, &script.query.repeat(3), 2, 1);
}

#[test]
fn a_server_welcomes_and_answers() {
    let script = Script::new();
    let mut asked = Vec::new();
    write::ssl_request(&mut asked);
    asked.extend_from_slice(&script.startup);
    asked.extend_from_slice(&script.query);
    let said = [b"N", &script.welcome[..], &script.row].concat();
    check(Role::server(), &asked, &said, 0, 0);
}

#[test]
fn a_server_names_the_command_it_was_given() {
    for (statement, tag) in [
        (&b"SET application_name='x'"[..], "SET"),
        (b"discard all", "DISCARD"),
        (b" begin;", "BEGIN"),
    ] {
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        write::query(&mut asked, statement);
        write::command_complete(&mut said, tag);
        write::ready_for_query(&mut said, wire::TransactionStatus::Idle);
        check(Role::Server, &asked, &said, 0, 0);
    }
    let (mut asked, script) = (Vec::new(), Script::new());
    write::query(&mut asked, b" ; ");
    check(Role::Server, &asked, &script.nothing, 0, 0);
}

#[test]
fn errors_and_strangers_end_the_run() {
    let script = Script::new();
    let mut bytes = Vec::new();
    write::error_response(&mut bytes, "FATAL", "08P01", "no more connections allowed");
    let error = peer(Role::client()).hears(&bytes, &script, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "a client heard: no more connections allowed");

    let mut bytes = Vec::new();
    write::sync(&mut bytes);
    let error = peer(Role::Server).hears(&bytes, &script, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "the fake server does not understand message 'S'");
}
