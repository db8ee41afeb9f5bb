//! A place in a message body from which integers, strings and byte runs are taken in wire order.
//!
//! The only code that reads lengths. Each `take` either moves past what it returns or fails and
//! moves nowhere, so that a view built from it cannot reach outside the body.
//!
//! Knows no messages: `frontend`, `backend`, `startup` and `fields` say what is taken in which
//! order.

use std::ffi::CStr;

use crate::Malformed;

const ENDS_EARLY: Malformed = Malformed("message ends too early");
const NO_ZERO: Malformed = Malformed("string without its final zero");
const TRAILING: Malformed = Malformed("bytes left over at the end of the message");

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// Takes a string and the zero that ends it; the zero is not part of the result.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let text = CStr::from_bytes_until_nul(self.rest).map_err(|_| NO_ZERO)?;
        self.bytes(text.to_bytes_with_nul().len())?;
        Ok(text.to_bytes())
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes a length field and that many bytes; a length of -1 is a null.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let mut ahead = *self;
        let value = match ahead.i32()? {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed("negative length"))?;
                Some(ahead.bytes(length)?)
            }
        };
        *self = ahead;
        Ok(value)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.chunk().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.chunk().map(u16::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        self.chunk().map(i16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.chunk().map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.chunk().map(i32::from_be_bytes)
    }

    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Looks at what has not been taken yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(TRAILING) }
    }
}
