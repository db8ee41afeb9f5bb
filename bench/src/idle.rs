//! Clients that have asked once and stay: what each of them costs in memory.
//!
//!     client ──► startup ──► ◄── ReadyForQuery ──► Query "SELECT 1" ──► ◄── ReadyForQuery ──► …
//!
//! A few clients come first, so that servers, buffers and code are in memory before the first look.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::{Result, bail};
use wire::tag::backend;
use wire::{PROTOCOL_3_0, frame, write};

use crate::interrupt::Interrupt;
use crate::pgbench::USER;
use crate::target::Running;

/// Private memory of the pooler per idle client, in bytes.
#[expect(clippy::cast_precision_loss, reason = "some thousand clients")]
pub(crate) fn memory(pooler: &Running, clients: usize, interrupt: &Interrupt) -> Result<f64> {
    let _first = open(pooler.port, FIRST, interrupt)?;
    interrupt.sleep(SETTLE)?;
    let before = pooler.private_memory()?;
    let _clients = open(pooler.port, clients, interrupt)?;
    interrupt.sleep(SETTLE)?;
    Ok((pooler.private_memory()? - before) / clients as f64)
}

fn open(port: u16, clients: usize, interrupt: &Interrupt) -> Result<Vec<TcpStream>> {
    let ask = || {
        interrupt.check()?;
        log_in_and_ask(port)
    };
    (0..clients).map(|_| ask()).collect()
}

fn log_in_and_ask(port: u16) -> Result<TcpStream> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_nodelay(true)?;
    let mut message = Vec::new();
    let user = USER.as_bytes();
    write::startup(&mut message, PROTOCOL_3_0, &[(b"user", user), (b"database", user)]);
    socket.write_all(&message)?;
    read_until_ready(&mut socket)?;
    message.clear();
    write::query(&mut message, b"SELECT 1");
    socket.write_all(&message)?;
    read_until_ready(&mut socket)?;
    Ok(socket)
}

fn read_until_ready(source: &mut impl Read) -> Result<()> {
    let mut heard = Vec::new();
    let mut received = [0; 4096];
    loop {
        let length = source.read(&mut received)?;
        if length == 0 {
            bail!("the pooler closed an idle client's connection");
        }
        heard.extend_from_slice(&received[..length]);
        while let Some(header) = frame::header(&heard)? {
            let total = usize::try_from(header.total)?;
            if heard.len() < total {
                break;
            }
            heard.drain(..total);
            match header.tag {
                backend::READY_FOR_QUERY => return Ok(()),
                backend::ERROR_RESPONSE => bail!("an idle client got an error"),
                _ => {}
            }
        }
    }
}

const FIRST: usize = 20;
const SETTLE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
