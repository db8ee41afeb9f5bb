//! The untagged first packet, and the text of the parameter `options`.
//!
//! ```text
//! data ──► packet ──► parameters, key ──► write ──► the same bytes
//! data ──► options ──► pairs ──► escaped again ──► options ──► the same pairs
//! ```
//!
//! The same bytes are taken as a packet and as an options text.

use wire::startup::{self, Packet, STARTUP_MAX, StartupError};
use wire::write;

use crate::assert_within;

/// Checks that a packet is judged by its own bytes alone and only when they are all there, that
/// what was read can be written again, and that options survive being escaped.
pub fn startup(data: &[u8]) {
    check_length(data);
    check_packet(data);
    check_options(data);
}

fn check_length(data: &[u8]) {
    let Some(field) = data.first_chunk::<4>() else {
        assert!(matches!(startup::packet(data), Ok(None)));
        return;
    };
    let length = u32::from_be_bytes(*field);
    let total = length as usize;
    if !(8..=STARTUP_MAX).contains(&total) {
        let error = StartupError::BadLength(length);
        assert_eq!(startup::packet(data).err(), Some(error));
        assert_eq!(startup::packet(field).err(), Some(error), "a length is judged at once");
        return;
    }
    let missing = data.get(..total).is_none();
    assert_eq!(matches!(startup::packet(data), Ok(None)), missing);
    if let Some((_, cut)) = data.get(..total).and_then(<[u8]>::split_last) {
        assert!(matches!(startup::packet(cut), Ok(None)), "a prefix is incomplete, never wrong");
    }
}

fn check_packet(data: &[u8]) {
    let Ok(Some((packet, total))) = startup::packet(data) else {
        return;
    };
    let whole = &data[..total];
    let mut out = Vec::new();
    match packet {
        Packet::SslRequest => write::ssl_request(&mut out),
        Packet::GssEncRequest => write::gss_request(&mut out),
        Packet::Cancel(key) => {
            assert_within(whole, key);
            let (pid, secret) = key.split_first_chunk().expect("a key begins with a process id");
            assert!((4..=256).contains(&secret.len()));
            write::cancel_request(&mut out, u32::from_be_bytes(*pid), secret);
        }
        Packet::Startup(message) => {
            assert_eq!(message.major, 3);
            let parameters: Vec<_> = message.parameters().collect();
            for (name, value) in &parameters {
                assert_within(whole, name);
                assert_within(whole, value);
                assert!(!name.is_empty());
            }
            let version = u32::from(message.major) << 16 | u32::from(message.minor);
            write::startup(&mut out, version, &parameters);
        }
    }
    assert_eq!(out, whole, "what was read is not what is written");
    assert!(matches!(startup::packet(whole), Ok(Some((_, length))) if length == total));
}

fn check_options(data: &[u8]) {
    let Ok(pairs) = startup::options(data) else {
        return;
    };
    for switch in ["-c ", "-c", "--"] {
        let mut text = Vec::new();
        for (name, value) in &pairs {
            assert!(!name.is_empty() && !name.contains(&b'-') && !name.contains(&b'='));
            text.extend_from_slice(switch.as_bytes());
            escape(&mut text, name);
            text.push(b'=');
            escape(&mut text, value);
            text.push(b' ');
        }
        assert_eq!(startup::options(&text).as_ref(), Ok(&pairs), "{}", text.escape_ascii());
    }
}

fn escape(text: &mut Vec<u8>, word: &[u8]) {
    for byte in word {
        if byte.is_ascii_whitespace() || matches!(byte, b'\\' | 0x0b) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
}
