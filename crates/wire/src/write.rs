//! Appends messages to a byte buffer; the only place that knows big-endian on the way out.
//!
//! One function per message. All names are here, whichever direction they belong to; CopyData and
//! CopyDone are the same bytes in both and are written by the same functions.
//!
//! A string on the wire ends at its first zero, so a zero inside of one cuts it there: whatever a
//! peer has put into a name, it cannot start a field or a message of its own. Lists are cut at the
//! 65,535 entries that their count can express.

use std::ffi::CStr;

mod backend;
mod frontend;

pub use backend::*;
pub use frontend::*;

fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    untagged(out, body);
}

/// Writes the length field, then the body, then what the length turned out to be.
fn untagged(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_u32(out, 0);
    body(out);
    let length = out.len().saturating_sub(start);
    debug_assert!(i32::try_from(length).is_ok(), "a message of {length} bytes");
    // What does not fit the field is written as a length that every peer refuses.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    if let Some(field) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *field = length.to_be_bytes();
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = CStr::from_bytes_until_nul(text).map_or(text, CStr::to_bytes);
    out.extend_from_slice(text);
    out.push(0);
}

fn put_value(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(bytes) => {
            put_u32(out, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(bytes);
        }
        None => put_i32(out, -1),
    }
}

fn put_list<T: Copy>(out: &mut Vec<u8>, list: &[T], put: impl Fn(&mut Vec<u8>, T)) {
    let count = u16::try_from(list.len()).unwrap_or(u16::MAX);
    put_u16(out, count);
    for item in list.iter().take(usize::from(count)) {
        put(out, *item);
    }
}

fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put_i16(out: &mut Vec<u8>, number: i16) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put_i32(out: &mut Vec<u8>, number: i32) {
    out.extend_from_slice(&number.to_be_bytes());
}

#[cfg(test)]
mod tests;
