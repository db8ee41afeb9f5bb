//! Logins to servers, honest and hostile.

use auth::{ScramServer, Verifier};

use super::*;

const NONCE: [u8; 18] = *b"nonce of a login!!";
const SALT: &[u8] = b"salt of a secret";
const ROUNDS: u32 = 16;

fn names() -> Names {
    Names::new(&[])
}

/// A login that has said who it is.
fn begin(secret: Option<Secret>, learnt: Option<ScramKeys>) -> Login {
    let credentials = Credentials { user: b"me".to_vec(), secret, learnt };
    Login::begin(credentials, &Target::sample(), names()).0
}

fn plain() -> Option<Secret> {
    Some(Secret::Plain(Box::from(&b"secret"[..])))
}

fn keys() -> ScramKeys {
    auth::derive(b"secret", SALT, ROUNDS)
}

fn verifier() -> Verifier {
    keys().verifier(SALT, ROUNDS)
}

/// The login hears messages as a server builds them; the outcome of the last, in a line.
fn hear(login: &mut Login, build: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    build(&mut bytes);
    let mut outcome = String::new();
    let mut rest = &bytes[..];
    while let Ok(Some(head)) = wire::header(rest) {
        let message = &rest[..head.total as usize];
        outcome = line(login.hears(head.tag, wire::frame::body(message), NONCE));
        rest = &rest[message.len()..];
    }
    outcome
}

fn line(outcome: Outcome) -> String {
    match outcome {
        Outcome::Wait => "wait".into(),
        Outcome::Ready => "ready".into(),
        Outcome::Send(bytes) => format!("send {}", bytes.escape_ascii()),
        Outcome::Derive { password, salt, iterations } => {
            format!("derive {} {} {iterations}", password.escape_ascii(), salt.escape_ascii())
        }
        Outcome::Complain(text) => format!("complain {text}"),
        Outcome::Failed(failure) => match failure.sqlstate {
            Some(code) => format!("failed {code} {}", failure.text),
            None => format!("failed {}", failure.text),
        },
    }
}

#[test]
fn the_first_packet() {
    let credentials = Credentials { user: b"me".to_vec(), secret: None, learnt: None };
    let startup = vec![("client_encoding", "UTF8".to_owned()), ("timezone", "UTC".to_owned())];
    let target = Target { startup, ..Target::sample() };
    let (_, packet) = Login::begin(credentials, &target, names());
    let expected = b"\0\x03\0\0user\0me\0database\0app\0client_encoding\0UTF8\0timezone\0UTC\0\0";
    assert_eq!(packet[4..], expected[..]);
}

#[test]
fn trusted() {
    let mut login = begin(None, None);
    assert_eq!(hear(&mut login, write::authentication_ok), "wait");
    let parameters = hear(&mut login, |out| {
        write::parameter_status(out, b"server_version", b"15.14");
        write::parameter_status(out, b"timezone", b"UTC");
        write::parameter_status(out, b"application_name", b"");
    });
    assert_eq!(parameters, "wait");
    assert_eq!(hear(&mut login, |out| write::backend_key_data(out, 7, b"long secret")), "wait");
    let ready = |out: &mut Vec<u8>| write::ready_for_query(out, TransactionStatus::Idle);
    assert_eq!(hear(&mut login, ready), "ready");
    assert_eq!(login.key, Some(CancelKey { pid: 7, secret: Box::from(&b"long secret"[..]) }));
    assert_eq!(login.fixed, b"S\0\0\0\x19server_version\x0015.14\0");
    assert_eq!(login.tracked.value(names().place(b"TimeZone").unwrap()), Some(&b"UTC"[..]));
}

/// A login with a connect_query, up to where it runs.
fn execute() -> Login {
    let credentials = Credentials { user: b"me".to_vec(), secret: None, learnt: None };
    let target = Target { connect_query: Some("set a".into()), ..Target::sample() };
    let mut login = Login::begin(credentials, &target, names()).0;
    hear(&mut login, write::authentication_ok);
    hear(&mut login, |out| write::parameter_status(out, b"TimeZone", b"UTC"));
    let ready = hear(&mut login, |out| write::ready_for_query(out, TransactionStatus::Idle));
    assert!(ready.starts_with("send Q") && login.is_executing(), "{ready}");
    login
}

#[test]
fn connect_query() {
    let ready = |status| move |out: &mut Vec<u8>| write::ready_for_query(out, status);
    let mut login = execute();
    assert_eq!(hear(&mut login, |out| write::parameter_status(out, b"TimeZone", b"GMT")), "wait");
    assert_eq!(hear(&mut login, |out| write::command_complete(out, "SET")), "wait");
    let error = |out: &mut Vec<u8>| write::error_response(out, "ERROR", "42601", "no");
    assert_eq!(hear(&mut login, error), "complain no");
    assert_eq!(hear(&mut login, ready(TransactionStatus::Idle)), "ready");
    assert_eq!(login.tracked.value(names().place(b"TimeZone").unwrap()), Some(&b"GMT"[..]));
    for status in [TransactionStatus::Block, TransactionStatus::Failed] {
        let expected = "failed connect_query leaves a transaction open";
        assert_eq!(hear(&mut execute(), ready(status)), expected);
    }
    let copy = |out: &mut Vec<u8>| write::copy_in_response(out, 1);
    assert_eq!(hear(&mut execute(), copy), "failed connect_query begins a COPY");
}

#[test]
fn passwords() {
    let cleartext = |secret| hear(&mut begin(secret, None), write::authentication_cleartext);
    let md5 =
        |secret| hear(&mut begin(secret, None), |out| write::authentication_md5(out, *b"salt"));
    let hash = auth::md5_hash(b"secret", b"me");
    let proof = auth::md5_response(&hash, *b"salt").escape_ascii().to_string();
    let empty = Some(Secret::Plain(Box::default()));
    let scram = || Some(Secret::Scram(verifier()));
    const NO_PASSWORD: &str = "failed server login failed: no password for this user in auth_file";
    const WRONG_TYPE: &str = "failed server login failed: wrong password type";

    assert_eq!(cleartext(plain()), "send p\\x00\\x00\\x00\\x0bsecret\\x00");
    assert_eq!(cleartext(None), NO_PASSWORD);
    assert_eq!(cleartext(empty.clone()), NO_PASSWORD);
    assert_eq!(cleartext(Some(Secret::Md5(hash))), WRONG_TYPE);
    assert_eq!(cleartext(scram()), WRONG_TYPE);
    assert_eq!(md5(plain()), format!("send p\\x00\\x00\\x00({proof}\\x00"));
    assert_eq!(md5(Some(Secret::Md5(hash))), format!("send p\\x00\\x00\\x00({proof}\\x00"));
    assert_eq!(md5(None), NO_PASSWORD);
    assert_eq!(md5(empty), NO_PASSWORD);
    assert_eq!(md5(scram()), WRONG_TYPE);
}

/// A SCRAM exchange with a server that knows `verifier`, up to our proof or a refusal.
fn prove(login: &mut Login, verifier: &Verifier) -> Result<ScramServer, String> {
    let offer = |out: &mut Vec<u8>| write::authentication_sasl(out, &["SCRAM-SHA-256"]);
    let mut first = Vec::new();
    write::authentication_sasl(&mut first, &["SCRAM-SHA-256"]);
    let Outcome::Send(initial) = login.hears(first[0], wire::frame::body(&first), NONCE) else {
        return Err(hear(login, offer));
    };
    let initial = wire::frontend::sasl_initial(wire::frame::body(&initial)).unwrap();
    assert_eq!(initial.mechanism, b"SCRAM-SHA-256");
    let mut server = ScramServer::new(*b"nonce of a server!");
    let challenge = server.first(initial.response.unwrap(), verifier).unwrap();
    let mut next = Vec::new();
    write::authentication_sasl_continue(&mut next, &challenge);
    let outcome = match login.hears(next[0], wire::frame::body(&next), NONCE) {
        Outcome::Derive { password, salt, iterations } => {
            login.derived(&auth::derive(&password, &salt, iterations))
        }
        outcome => outcome,
    };
    let Outcome::Send(response) = outcome else { return Err(line(outcome)) };
    match server.last(wire::frame::body(&response)) {
        Ok(proven) => {
            let end = |out: &mut Vec<u8>| {
                write::authentication_sasl_final(out, &proven.server_final);
                write::authentication_ok(out);
                write::ready_for_query(out, TransactionStatus::Idle);
            };
            assert_eq!(hear(login, end), "ready");
            Ok(server)
        }
        Err(denied) => Err(format!("denied: {denied:?}")),
    }
}

#[test]
fn scram() {
    assert!(prove(&mut begin(plain(), None), &verifier()).is_ok());
    let wrong = Some(Secret::Plain(Box::from(&b"guess"[..])));
    assert_eq!(prove(&mut begin(wrong, None), &verifier()).unwrap_err(), "denied: Proof");

    let secret = || Some(Secret::Scram(verifier()));
    assert!(prove(&mut begin(secret(), Some(keys())), &verifier()).is_ok());
    const WRONG_TYPE: &str = "failed server login failed: wrong password type";
    assert_eq!(prove(&mut begin(secret(), None), &verifier()).unwrap_err(), WRONG_TYPE);
    // Keys of an older secret, and a server with another salt or count.
    let old = auth::derive(b"old", SALT, ROUNDS);
    assert_eq!(prove(&mut begin(secret(), Some(old)), &verifier()).unwrap_err(), WRONG_TYPE);
    for (salt, rounds) in [(&b"another salt"[..], ROUNDS), (SALT, ROUNDS + 1)] {
        let other = auth::derive(b"secret", salt, rounds).verifier(salt, rounds);
        assert_eq!(prove(&mut begin(secret(), Some(keys())), &other).unwrap_err(), WRONG_TYPE);
    }
    const NO_PASSWORD: &str = "failed server login failed: no password for this user in auth_file";
    assert_eq!(prove(&mut begin(None, None), &verifier()).unwrap_err(), NO_PASSWORD);
    let md5 = Some(Secret::Md5([b'0'; 32]));
    assert_eq!(prove(&mut begin(md5, None), &verifier()).unwrap_err(), WRONG_TYPE);
}

/// A server that offers SCRAM, and then sends this as its challenge.
fn challenge(text: &str) -> String {
    let mut login = begin(plain(), None);
    hear(&mut login, |out| write::authentication_sasl(out, &["SCRAM-SHA-256"]));
    let own = ScramClient::new(NONCE).first();
    let own = String::from_utf8(own).unwrap().split_once("r=").unwrap().1.to_owned();
    let text = text.replace("OWN", &own);
    hear(&mut login, |out| write::authentication_sasl_continue(out, text.as_bytes()))
}

#[test]
fn hostile_challenges() {
    assert_eq!(challenge("r=OWNmore,s=c2FsdA==,i=4096"), "derive secret salt 4096");
    for text in [
        "",
        "r=OWNmore",
        "r=OWNmore,s=c2FsdA==",
        "s=c2FsdA==,i=4096",
        "r=OWN,s=c2FsdA==,i=4096",
        "r=another,s=c2FsdA==,i=4096",
        "r=OWNmore,s=,i=4096",
        "r=OWNmore,s=!!,i=4096",
        "r=OWNmore,s=c2FsdA==,i=0",
        "r=OWNmore,s=c2FsdA==,i=-1",
        "r=OWNmore,s=c2FsdA==,i=100001",
        "r=OWNmore,s=c2FsdA==,i=99999999999999999999",
        "r=OWNmore,s=c2FsdA==,i=4096,m=must-know",
        "m=must-know,r=OWNmore,s=c2FsdA==,i=4096",
        "e=other-error",
    ] {
        let outcome = challenge(text);
        assert!(outcome.starts_with("failed server login failed: "), "{text}: {outcome}");
    }
}

/// A server that has our proof, and answers it with this.
fn answer_proof(build: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut login = begin(plain(), None);
    hear(&mut login, |out| write::authentication_sasl(out, &["SCRAM-SHA-256"]));
    let own = String::from_utf8(ScramClient::new(NONCE).first()).unwrap();
    let text = format!("r={}more,s=c2FsdA==,i=4096", own.split_once("r=").unwrap().1);
    hear(&mut login, |out| write::authentication_sasl_continue(out, text.as_bytes()));
    assert!(line(login.derived(&keys())).starts_with("send "));
    hear(&mut login, build)
}

#[test]
fn hostile_ends() {
    const SIGNATURE: &str = "failed server login failed: invalid server signature";
    const ORDER: &str = "failed unexpected authentication message from server";
    for text in
        ["v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "v=", "", "e=unknown-user", "v=AA=="]
    {
        let outcome = answer_proof(|out| write::authentication_sasl_final(out, text.as_bytes()));
        assert_eq!(outcome, SIGNATURE, "{text}");
    }
    // An impostor would rather not prove that it knows the secret.
    assert_eq!(answer_proof(write::authentication_ok), ORDER);
    assert_eq!(answer_proof(write::authentication_cleartext), ORDER);
    assert_eq!(answer_proof(|out| write::authentication_sasl_continue(out, b"r=x")), ORDER);
    assert_eq!(
        answer_proof(|out| write::error_response(out, "FATAL", "28P01", "no")),
        "failed 28P01 no"
    );
}

#[test]
fn messages_out_of_order() {
    const EARLY: &str = "failed unexpected message in server login";
    const ORDER: &str = "failed unexpected authentication message from server";
    let check = |expected: &str, build: &dyn Fn(&mut Vec<u8>)| {
        assert_eq!(hear(&mut begin(plain(), None), |out| build(out)), expected);
    };
    let ready = |out: &mut Vec<u8>| write::ready_for_query(out, TransactionStatus::Idle);
    check(EARLY, &ready);
    check(EARLY, &|out| write::parameter_status(out, b"a", b"b"));
    check(EARLY, &|out| write::backend_key_data(out, 1, b"1234"));
    check(EARLY, &|out| write::data_row(out, &[]));
    check(ORDER, &|out| write::authentication_sasl_continue(out, b""));
    check(ORDER, &|out| write::authentication_sasl_final(out, b""));
    check(ORDER, &|out| {
        write::authentication_cleartext(out);
        write::authentication_cleartext(out);
    });
    check(ORDER, &|out| {
        write::authentication_cleartext(out);
        write::authentication_md5(out, *b"salt");
    });
    check(ORDER, &|out| {
        write::authentication_ok(out);
        write::authentication_ok(out);
    });
    check(ORDER, &|out| {
        write::authentication_sasl(out, &["SCRAM-SHA-256"]);
        write::authentication_ok(out);
    });
    check("failed unknown pkt from server", &|out| {
        write::authentication_ok(out);
        write::data_row(out, &[]);
    });
    check("failed server offers no SASL mechanism that is known", &|out| {
        write::authentication_sasl(out, &["SCRAM-SHA-256-PLUS", "OAUTHBEARER"]);
    });
    check("wait", &|out| {
        let (detail, hint) = (None, None);
        let (severity, code, message) = ("NOTICE", "00000", "hello");
        write::notice_response(out, &wire::Report { severity, code, message, detail, hint });
    });
}

#[test]
fn broken_messages() {
    let check = |tag: u8, body: &[u8], accepted: bool, expected: &str| {
        let mut login = begin(plain(), None);
        if accepted {
            hear(&mut login, write::authentication_ok);
        }
        let outcome = line(login.hears(tag, body, NONCE));
        assert!(outcome.starts_with(expected), "{} {body:?}: {outcome}", char::from(tag));
    };
    const BAD: &str = "failed bad packet: ";
    check(b'R', b"", false, BAD);
    check(b'R', b"\0\0\0", false, BAD);
    check(b'R', b"\0\0\0\0\0", false, BAD);
    check(b'R', b"\0\0\0\x05sal", false, BAD);
    check(b'R', b"\0\0\0\x0aSCRAM", false, BAD);
    for method in [1, 2, 6, 7, 8, 9, 13, 255] {
        let body = [0, 0, 0, method];
        check(b'R', &body, false, "failed unknown/unsupported auth method");
    }
    check(b'E', b"", false, BAD);
    check(b'E', b"SFATAL\0", false, BAD);
    check(b'E', b"\0", false, "failed 08006 server login failed");
    check(b'S', b"", true, BAD);
    check(b'S', b"name\0", true, BAD);
    check(b'S', b"name\0value\0more", true, BAD);
    check(b'K', b"1234567", true, BAD);
    check(b'K', &[0; 261], true, BAD);
    check(b'K', &[0; 260], true, "wait");
}

#[test]
fn too_many_parameters() {
    const TOO_MANY: &str = "failed server reports too many or too long parameters";
    let report = |login: &mut Login, len: usize| {
        hear(login, |out| write::parameter_status(out, b"name", &vec![b'x'; len]))
    };
    let mut login = begin(None, None);
    hear(&mut login, write::authentication_ok);
    assert_eq!(report(&mut login, params::VALUE_MAX + 1), TOO_MANY);
    let mut login = begin(None, None);
    hear(&mut login, write::authentication_ok);
    let reported = (0..100).take_while(|_| report(&mut login, params::VALUE_MAX) == "wait").count();
    assert!((10..20).contains(&reported), "{reported} parameters of 4 kB each");
}
