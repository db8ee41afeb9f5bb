//! Messages as words and as bytes.
//!
//! ```text
//! words ──► frontend, backend ──► bytes ──► show_frontend, show_backend ──► words
//! ```
//!
//! What is shown reads back to the same bytes, or is shown as `raw` bytes. Messages whose bytes
//! depend on what was said before (SASL, cancel requests, keys) are not known here.

use wire::write;
use wire::{Report, TransactionStatus, backend, frontend, tag};

use super::words::{Word, bare, quote};

/// Appends a message of a client, if its words are understood here.
pub(crate) fn frontend(words: &[Word], out: &mut Vec<u8>) -> bool {
    let [name, rest @ ..] = words else { return false };
    let text = |at: usize| rest.get(at).map_or(&b""[..], |word| &word.text);
    match name.as_str() {
        "raw" => raw(rest, out),
        "SSLRequest" => write::ssl_request(out),
        "GSSENCRequest" => write::gss_request(out),
        "Startup" => startup(rest, out),
        "Query" => write::query(out, text(0)),
        "Parse" => {
            let types: Vec<u32> = rest.iter().skip(2).map(Word::number).collect();
            write::parse(out, text(0), text(1), &types);
        }
        "Bind" => {
            let values: Vec<_> = rest.iter().skip(2).map(Word::value).collect();
            write::bind(out, text(0), text(1), &[], &values, &[]);
        }
        "Describe" => write::describe(out, text(0)[0], text(1)),
        "Close" => write::close(out, text(0)[0], text(1)),
        "Execute" => write::execute(out, text(0), rest.get(1).map_or(0, Word::number)),
        "Sync" => write::sync(out),
        "Flush" => write::flush(out),
        "Terminate" => write::terminate(out),
        "CopyData" => write::copy_data(out, text(0)),
        "CopyDone" => write::copy_done(out),
        "CopyFail" => write::copy_fail(out, rest[0].as_str()),
        "FunctionCall" => {
            let values: Vec<_> = rest.iter().skip(1).map(Word::value).collect();
            write::function_call(out, rest[0].number(), &values);
        }
        "PasswordMessage" => write::password(out, text(0)),
        _ => return false,
    }
    true
}

/// Appends a message of a server, if its words are understood here.
pub(crate) fn backend(words: &[Word], out: &mut Vec<u8>) -> bool {
    let [name, rest @ ..] = words else { return false };
    let text = |at: usize| rest.get(at).map_or(&b""[..], |word| &word.text);
    match name.as_str() {
        "raw" => raw(rest, out),
        "AuthenticationOk" => write::authentication_ok(out),
        "AuthenticationCleartextPassword" => write::authentication_cleartext(out),
        "AuthenticationMD5Password" => {
            write::authentication_md5(out, text(0).try_into().expect("a salt of four bytes"));
        }
        "AuthenticationSASL" => {
            let names: Vec<&str> = rest.iter().map(Word::as_str).collect();
            write::authentication_sasl(out, &names);
        }
        "NegotiateProtocolVersion" => {
            let names: Vec<&[u8]> = rest.iter().skip(1).map(|word| &word.text[..]).collect();
            write::negotiate_protocol_version(out, version(&rest[0]), &names);
        }
        "ParameterStatus" => {
            let (name, value) = rest[0].pair();
            write::parameter_status(out, name, value);
        }
        "ReadyForQuery" => write::ready_for_query(out, status(text(0))),
        "RowDescription" => {
            let columns: Vec<_> = rest.iter().map(|word| (word.as_str(), 25, -1)).collect();
            write::row_description(out, &columns);
        }
        "DataRow" => write::data_row(out, &rest.iter().map(Word::value).collect::<Vec<_>>()),
        "CommandComplete" => write::command_complete(out, rest[0].as_str()),
        "EmptyQueryResponse" => write::empty_query_response(out),
        "ErrorResponse" => write::error_report(out, &report(rest)),
        "NoticeResponse" => write::notice_response(out, &report(rest)),
        "ParseComplete" => write::parse_complete(out),
        "BindComplete" => write::bind_complete(out),
        "CloseComplete" => write::close_complete(out),
        "NoData" => write::no_data(out),
        "PortalSuspended" => write::portal_suspended(out),
        "ParameterDescription" => {
            let types: Vec<u32> = rest.iter().map(Word::number).collect();
            write::parameter_description(out, &types);
        }
        "CopyInResponse" => write::copy_in_response(out, rest[0].number()),
        "CopyOutResponse" => write::copy_out_response(out, rest[0].number()),
        "CopyData" => write::copy_data(out, text(0)),
        "CopyDone" => write::copy_done(out),
        "FunctionCallResponse" => write::function_call_response(out, rest[0].value()),
        "NotificationResponse" => write::notification_response(out, 7, text(0), text(1)),
        _ => return false,
    }
    true
}

/// A message of a client as words.
pub(crate) fn show_frontend(message: &[u8]) -> String {
    let body = wire::frame::body(message);
    let name = tag::frontend_name(message[0]).unwrap_or("raw");
    let shown = match message[0] {
        tag::frontend::QUERY => texts(name, [frontend::query(body).ok()]),
        tag::frontend::PARSE => frontend::parse(body).ok().map(|parse| {
            let types = parse.types.map(|oid| format!(" {oid}"));
            format!("{name} {} {}{}", quote(parse.name), quote(parse.query), join(types))
        }),
        tag::frontend::BIND => frontend::bind(body).ok().and_then(|bind| {
            let values = join(values(bind.rest.get(2..)?)?.into_iter());
            Some(format!("{name} {} {}{values}", quote(bind.portal), quote(bind.statement)))
        }),
        tag::frontend::DESCRIBE => frontend::describe(body)
            .ok()
            .map(|it| format!("{name} {} {}", char::from(it.kind), quote(it.name))),
        tag::frontend::CLOSE => frontend::close(body)
            .ok()
            .map(|it| format!("{name} {} {}", char::from(it.kind), quote(it.name))),
        tag::frontend::EXECUTE => frontend::execute(body).ok().map(|it| match it.max_rows {
            0 => format!("{name} {}", quote(it.portal)),
            rows => format!("{name} {} {rows}", quote(it.portal)),
        }),
        tag::frontend::COPY_DATA => texts(name, [Some(body)]),
        tag::frontend::COPY_FAIL => texts(name, [frontend::copy_fail(body).ok()]),
        tag::frontend::PASSWORD => texts("PasswordMessage", [frontend::password(body).ok()]),
        tag::frontend::FUNCTION_CALL => body.split_first_chunk().and_then(|(oid, rest)| {
            let values = join(values(rest.get(2..)?)?.into_iter());
            Some(format!("{name} {}{values}", u32::from_be_bytes(*oid)))
        }),
        _ => Some(name.to_owned()),
    };
    checked(shown, message, frontend)
}

/// A message of a server as words.
pub(crate) fn show_backend(message: &[u8]) -> String {
    let body = wire::frame::body(message);
    let name = tag::backend_name(message[0]).unwrap_or("raw");
    let shown = match message[0] {
        tag::backend::AUTHENTICATION => authentication(body),
        tag::backend::NEGOTIATE_PROTOCOL_VERSION => {
            backend::negotiate_protocol_version(body).ok().map(|(newest, names)| {
                let names = names.map(|name| format!(" {}", bare(name)));
                format!("{name} {}.{}{}", newest >> 16, newest & 0xffff, join(names))
            })
        }
        tag::backend::PARAMETER_STATUS => backend::parameter_status(body)
            .ok()
            .map(|(key, value)| format!("{name} {}={}", bare(key), bare(value))),
        tag::backend::READY_FOR_QUERY => backend::ready_for_query(body)
            .ok()
            .map(|status| format!("{name} {}", char::from(status.as_byte()))),
        tag::backend::ROW_DESCRIPTION => backend::row_description(body).ok().map(|columns| {
            name.to_owned() + &join(columns.map(|it| format!(" {}", bare(it.name))))
        }),
        tag::backend::DATA_ROW => backend::data_row(body).ok().map(|row| {
            let values = row
                .map(|value| value.map_or_else(|| " null".into(), |it| format!(" {}", quote(it))));
            name.to_owned() + &join(values)
        }),
        tag::backend::COMMAND_COMPLETE => texts(name, [backend::command_complete(body).ok()]),
        tag::backend::ERROR_RESPONSE | tag::backend::NOTICE_RESPONSE => {
            wire::Fields::parse(body).ok().map(|fields| {
                let word = |text: Option<&[u8]>| bare(text.unwrap_or_default());
                let message = quote(fields.message().unwrap_or_default());
                format!("{name} {} {} {message}", word(fields.severity()), word(fields.code()))
            })
        }
        tag::backend::PARAMETER_DESCRIPTION => backend::parameter_description(body)
            .ok()
            .map(|types| name.to_owned() + &join(types.map(|oid| format!(" {oid}")))),
        tag::backend::COPY_IN_RESPONSE | tag::backend::COPY_OUT_RESPONSE => {
            body.get(1..3).map(|count| format!("{name} {}", count[1]))
        }
        tag::backend::COPY_DATA => texts(name, [Some(body)]),
        tag::backend::FUNCTION_CALL_RESPONSE => values(&[&[0, 1], body, &[0, 0]].concat())
            .map(|values| format!("{name}{}", join(values.into_iter()))),
        tag::backend::NOTIFICATION_RESPONSE => backend::notification(body)
            .ok()
            .and_then(|(_, channel, payload)| texts(name, [Some(channel), Some(payload)])),
        // The key is not shown: it is another one for every server and every client.
        tag::backend::BACKEND_KEY_DATA => return name.to_owned(),
        _ => Some(name.to_owned()),
    };
    checked(shown, message, backend)
}

/// A startup packet as words.
pub(crate) fn show_startup(packet: &wire::startup::StartupMessage<'_>) -> String {
    let version = match packet.minor {
        0 => String::new(),
        minor => format!(" {}.{minor}", packet.major),
    };
    let parameters = packet.parameters();
    let parameters = parameters.map(|(name, value)| format!(" {}={}", bare(name), bare(value)));
    format!("Startup{version}{}", join(parameters))
}

/// Bytes as they are.
pub(crate) fn show_raw(bytes: &[u8]) -> String {
    format!("raw{}", join(bytes.iter().map(|byte| format!(" {byte:02x}"))))
}

/// Takes what is shown only when it reads back to the same message. An error of the pooler's own
/// lacks the severity that is never translated, which is not shown.
fn checked(
    shown: Option<String>,
    message: &[u8],
    read: fn(&[Word], &mut Vec<u8>) -> bool,
) -> String {
    let shown = shown.filter(|shown| {
        let mut again = Vec::new();
        let words = super::words::words(shown);
        let known = read(&words, &mut again) && again == message;
        known || message[0] == tag::backend::ERROR_RESPONSE && short_error(&words) == message
    });
    shown.unwrap_or_else(|| show_raw(message))
}

fn short_error(words: &[Word]) -> Vec<u8> {
    let mut out = Vec::new();
    if let [_, severity, code, text] = words {
        let text = String::from_utf8_lossy(&text.text);
        write::error_response(&mut out, severity.as_str(), code.as_str(), &text);
    }
    out
}

fn authentication(body: &[u8]) -> Option<String> {
    Some(match backend::authentication(body).ok()? {
        backend::Authentication::Ok => "AuthenticationOk".into(),
        backend::Authentication::CleartextPassword => "AuthenticationCleartextPassword".into(),
        backend::Authentication::Md5Password(salt) => {
            format!("AuthenticationMD5Password {}", quote(&salt))
        }
        backend::Authentication::Sasl(names) => {
            format!("AuthenticationSASL{}", join(names.map(|name| format!(" {}", bare(name)))))
        }
        _ => return None,
    })
}

fn raw(bytes: &[Word], out: &mut Vec<u8>) {
    let byte = |word: &Word| u8::from_str_radix(word.as_str(), 16).expect("two hex digits");
    out.extend(bytes.iter().map(byte));
}

fn startup(words: &[Word], out: &mut Vec<u8>) {
    let given = words.first().filter(|word| !word.text.contains(&b'='));
    let parameters: Vec<_> = words.iter().skip(given.iter().count()).map(Word::pair).collect();
    write::startup(out, given.map_or(wire::PROTOCOL_3_0, version), &parameters);
}

fn version(word: &Word) -> u32 {
    let (major, minor) = word.as_str().split_once('.').expect("a version, major.minor");
    let number = |text: &str| text.parse::<u32>().expect("a number");
    number(major) << 16 | number(minor)
}

fn status(letter: &[u8]) -> TransactionStatus {
    backend::ready_for_query(letter).expect("I, T or E")
}

fn report(words: &[Word]) -> Report<'_> {
    let [severity, code, message] = words else { panic!("severity, SQLSTATE and text") };
    let (detail, hint) = (None, None);
    Report {
        severity: severity.as_str(),
        code: code.as_str(),
        message: message.as_str(),
        detail,
        hint,
    }
}

/// The values of a Bind or FunctionCall, from their count on, when the formats of the result that
/// follow are none.
fn values(bytes: &[u8]) -> Option<Vec<String>> {
    let (values, formats) = bytes.split_at_checked(bytes.len().checked_sub(2)?)?;
    let row = backend::data_row(values).ok().filter(|_| formats == [0, 0])?;
    Some(
        row.map(|value| value.map_or_else(|| " null".into(), |it| format!(" {}", quote(it))))
            .collect(),
    )
}

fn texts<const N: usize>(name: &str, texts: [Option<&[u8]>; N]) -> Option<String> {
    let texts: Option<Vec<_>> = texts.into_iter().map(|text| text.map(quote)).collect();
    Some(format!("{name} {}", texts?.join(" ")))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect()
}
