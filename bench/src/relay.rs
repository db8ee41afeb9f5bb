//! A bare TCP relay: the least that anything between a client and a server can cost.
//!
//!     client ──► recv, send ──► its own server        client ◄── recv, send ◄── its own server
//!
//! One edge-triggered epoll loop, one recv and one send per turn, no protocol, no pool, no limits.
//! It is the measure of a peak run and nothing else: it ends when an answer is too large for a
//! socket's buffer.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use anyhow::{Result, bail};
use rustix::event::epoll;

/// Relays every connection to `listen` to one of its own to `target`, both on the loopback address.
pub(crate) fn run(listen: u16, target: u16) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, listen))?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let level = epoll::EventFlags::IN;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), level)?;
    let mut ends: Vec<Option<TcpStream>> = Vec::new();
    let mut buffer = vec![0; RECEIVE];
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            match event.data.u64() {
                LISTENER => {
                    let pair = [listener.accept()?.0, connect(target)?];
                    for end in pair {
                        end.set_nodelay(true)?;
                        end.set_nonblocking(true)?;
                        watch(&poll, &end, ends.len())?;
                        ends.push(Some(end));
                    }
                }
                end => pass(&mut ends, usize::try_from(end)?, &mut buffer)?,
            }
        }
    }
}

/// Passes on what one end has to say; both ends of a pair are neighbours in the list.
fn pass(ends: &mut [Option<TcpStream>], from: usize, buffer: &mut [u8]) -> Result<()> {
    let to = from ^ 1;
    loop {
        let Some(source) = &mut ends[from] else {
            return Ok(());
        };
        let length = match source.read(buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(_) => 0,
        };
        let Some(sink) = &mut ends[to] else {
            return Ok(());
        };
        if length == 0 {
            ends[from] = None;
            ends[to] = None;
            return Ok(());
        }
        if sink.write(&buffer[..length])? != length {
            bail!("an answer is larger than a socket's buffer");
        }
        if length < buffer.len() {
            return Ok(());
        }
    }
}

fn connect(port: u16) -> Result<TcpStream> {
    Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?)
}

fn watch(poll: impl AsFd, source: impl AsFd, token: usize) -> Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(poll, source, epoll::EventData::new_u64(u64::try_from(token)?), flags)?)
}

const LISTENER: u64 = u64::MAX;
const EVENTS: usize = 256;
const RECEIVE: usize = 16 * 1024;
