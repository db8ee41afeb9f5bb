//! Messages with a tag: the header, and every view of both directions on the same body.
//!
//! ```text
//! data ──► header ──► body ──► view ──► write ──► the same bytes
//!                     body less or more one byte ──► refused
//! ```
//!
//! The tag is not looked at: a body that one message accepts is shown to all of them, which lets a
//! fuzzer reach any view with any bytes.

use wire::backend::{self, Authentication};
use wire::{Fields, Malformed, frame as framing, frontend, write};

use crate::assert_within;

/// Checks that headers are read from five bytes alone, that views stay inside of their body, that
/// what was read can be written again, and that messages with an end of their own insist on it.
pub fn frame(data: &[u8]) {
    let message = check_header(data);
    let body = framing::body(message);
    assert_within(data, body);
    let padded = [body, b"\0"].concat();
    check_frontend(&padded);
    check_backend(&padded);
    check_authentication(&padded);
    check_fields(&padded);
}

/// Returns the message that the header announces if all of it is there, else all of `data`.
fn check_header(data: &[u8]) -> &[u8] {
    let found = wire::header(data);
    let Some(first) = data.get(..wire::HEADER) else {
        assert_eq!(found, Ok(None));
        return data;
    };
    assert_eq!(found, wire::header(first), "a header is five bytes");
    let length = u32::from_be_bytes([first[1], first[2], first[3], first[4]]);
    assert_eq!(found.is_err(), !(4..=0x7fff_fffe).contains(&length));
    let Ok(Some(header)) = found else {
        return data;
    };
    assert_eq!((header.tag, header.total), (first[0], length + 1));
    data.get(..header.total as usize).unwrap_or(data)
}

fn check_frontend(padded: &[u8]) {
    let body = unpadded(padded);
    for view in [frontend::query, frontend::password, frontend::copy_fail] {
        check(padded, view, |out, text| write::query(out, text));
    }
    check(padded, frontend::parse, |out, found| {
        let types: Vec<u32> = found.types.clone().collect();
        assert_eq!(types.len(), found.types.len());
        write::parse(out, found.name, found.query, &types);
    });
    check(padded, frontend::describe, |out, found| {
        write::describe(out, found.kind, found.name);
    });
    check(padded, frontend::close, |out, found| {
        write::close(out, found.kind, found.name);
    });
    check(padded, frontend::execute, |out, found| {
        write::execute(out, found.portal, found.max_rows);
    });
    check(padded, frontend::sasl_initial, |out, found| {
        let head = [found.mechanism, b"\0".as_slice()].concat();
        match found.response {
            Some(response) => {
                let length = u32::try_from(response.len()).unwrap_or(u32::MAX).to_be_bytes();
                write::sasl_response(out, &[head.as_slice(), &length, response].concat());
            }
            None => write::sasl_response(out, &[head.as_slice(), &[0xff; 4]].concat()),
        }
    });
    if let Ok(found) = frontend::bind(body) {
        assert_within(body, found.rest);
        let whole = [found.portal, b"\0", found.statement, b"\0", found.rest].concat();
        assert_eq!(whole, body);
        if let Ok((_, formats)) = found.values() {
            assert_eq!(formats.len(), formats.count());
        }
    }
}

fn check_backend(padded: &[u8]) {
    let body = unpadded(padded);
    check(padded, backend::ready_for_query, |out, status| {
        write::ready_for_query(out, *status);
    });
    check(padded, backend::parameter_status, |out, (name, value)| {
        write::parameter_status(out, name, value);
    });
    check(padded, backend::command_complete, |out, tag| {
        write::query(out, tag);
    });
    check(padded, backend::notification, |out, (pid, channel, payload)| {
        write::notification_response(out, *pid, channel, payload);
    });
    check(padded, backend::data_row, |out, row| {
        let values: Vec<_> = row.clone().collect();
        assert_eq!(values.len(), row.len());
        values.iter().flatten().for_each(|value| assert_within(body, value));
        write::data_row(out, &values);
    });
    check(
        padded,
        |body| backend::parameter_description(body).map(Vec::from_iter),
        |out, types| {
            write::parameter_description(out, types);
        },
    );
    check(padded, backend::negotiate_protocol_version, |out, (newest, names)| {
        let names: Vec<_> = names.clone().collect();
        write::negotiate_protocol_version(out, *newest, &names);
    });
    check(padded, backend::row_description, |out, columns| {
        assert_eq!(columns.clone().count(), columns.len());
        write::copy_data(out, &describe(columns.clone()));
    });
    if let Ok(key) = backend::backend_key(body) {
        assert_within(body, key.secret);
        check_written(body, |out| {
            write::backend_key_data(out, key.pid, key.secret);
        });
    }
}

/// Spells columns out, since the writer knows only those that belong to no table.
fn describe(columns: backend::Columns<'_>) -> Vec<u8> {
    let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
    let mut out = count.to_be_bytes().to_vec();
    for column in columns {
        out.extend(column.name);
        out.push(0);
        out.extend(column.table_oid.to_be_bytes());
        out.extend(column.attribute.to_be_bytes());
        out.extend(column.type_oid.to_be_bytes());
        out.extend(column.type_size.to_be_bytes());
        out.extend(column.type_modifier.to_be_bytes());
        out.extend(column.format.to_be_bytes());
    }
    out
}

fn check_authentication(padded: &[u8]) {
    let body = unpadded(padded);
    match backend::authentication(body) {
        // These have no end of their own.
        Ok(Authentication::SaslContinue(challenge)) => {
            check_written(body, |out| {
                write::authentication_sasl_continue(out, challenge);
            });
        }
        Ok(Authentication::SaslFinal(outcome)) => {
            check_written(body, |out| write::authentication_sasl_final(out, outcome));
        }
        Ok(Authentication::Other(code)) => assert_eq!(body[..4], code.to_be_bytes()),
        _ => check(padded, backend::authentication, write_authentication),
    }
}

fn write_authentication(out: &mut Vec<u8>, found: &Authentication<'_>) {
    match found {
        Authentication::CleartextPassword => write::authentication_cleartext(out),
        Authentication::Md5Password(salt) => write::authentication_md5(out, *salt),
        Authentication::Sasl(names) => {
            let names: Vec<&[u8]> = names.clone().collect();
            let list: Vec<u8> =
                names.iter().flat_map(|name| [name, b"\0".as_slice()].concat()).collect();
            write::copy_data(out, &[b"\0\0\0\x0a", list.as_slice(), b"\0"].concat());
        }
        _ => write::authentication_ok(out),
    }
}

fn check_fields(padded: &[u8]) {
    let body = unpadded(padded);
    check(padded, Fields::parse, |out, fields| {
        let mut whole = Vec::new();
        for (letter, text) in fields.iter() {
            assert_within(body, text);
            assert!(fields.field(letter).is_some());
            whole.push(letter);
            whole.extend_from_slice(text);
            whole.push(0);
        }
        whole.push(0);
        write::copy_data(out, &whole);
    });
}

/// Checks a view that must account for every byte: if it accepts a body, then writing what it found
/// gives that body again, and it refuses the body with one byte less or more.
fn check<'a, T>(
    padded: &'a [u8],
    view: impl Fn(&'a [u8]) -> Result<T, Malformed>,
    write: impl Fn(&mut Vec<u8>, &T),
) {
    let body = unpadded(padded);
    if let Ok(found) = view(body) {
        check_written(body, |out| write(out, &found));
        assert!(view(padded).is_err(), "a byte too many is accepted");
        assert!(view(unpadded(body)).is_err(), "a byte too few is accepted");
    }
}

fn unpadded(padded: &[u8]) -> &[u8] {
    padded.split_last().map_or(&[], |(_, body)| body)
}

fn check_written(body: &[u8], write: impl Fn(&mut Vec<u8>)) {
    let mut out = Vec::new();
    write(&mut out);
    assert_eq!(framing::body(&out), body, "what was read is not what is written");
    let header = wire::header(&out).map(|header| header.map(|header| header.total as usize));
    assert_eq!(header, Ok(Some(out.len())));
}
