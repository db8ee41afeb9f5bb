//! Keys and verifiers against PostgreSQL 15's `pg_authid.rolpassword` and RFC 7914's PBKDF2
//! vectors.

use super::*;

/// What `ALTER ROLE … PASSWORD` stored; the last four in a database with encoding SQL_ASCII.
const STORED_BY_POSTGRESQL: [(&[u8], &str); 18] = [
    (
        b"pencil",
        "SCRAM-SHA-256$4096:kCgL7YE7IoygaL+BLgORUw==$FZxyyNjDbT2vYgtog3Zq7JKhvT+ZLZ8z1C7jHIpxKGc=:MrMcR18pxLvN5sCTNfsEwYRYx9GD4AF4YxryYKp8VvQ=",
    ),
    (
        b"a\xc2\xaab",
        "SCRAM-SHA-256$4096:hH0w4usfL9N7KXq4qnqVYw==$hlFIhTJs5Vm6A9GcgiBo4chef+bPPNnDFA5yq52+CSw=:jCK16kbWGEFn1vMW72Pnhccl2nnUfzpiKbfffCrdHuk=",
    ),
    (
        b"a\xc2\xa0b",
        "SCRAM-SHA-256$4096:mlu6tSvX7AtMOr/J/GyZXA==$JfIXGzWd7tihJjtAsqHZN2L3WuWC9bokhAp3AFjPjGc=:tGtIQ3AUnmdCPDht5t2gjdh77AjeN58aEh7ma17q8rA=",
    ),
    (
        b"I\xc2\xadX",
        "SCRAM-SHA-256$4096:WYB8EUiGZua44b9edYrTIg==$GczHCWnrvgwzmz/dxThPUEwLLdIsuznpug9PKHilYGE=:JbWnvBJQ74UAo3LT9agaxVSx4tNE5pA8Dwf0aSZ5F1w=",
    ),
    (
        b"cafe\xcc\x81",
        "SCRAM-SHA-256$4096:FUqOlibDbnVlnI0gW4wC8A==$36B1PKjL9gtza7WgVnL/HLpX8bVEZ/pxLQpfRpSLSUY=:YwTkOJfxoDoMHXs6CfXvPqYVtTzvTnbG2dwRnkEtbCo=",
    ),
    (
        b"a\x07b",
        "SCRAM-SHA-256$4096:IGDqYjK3V/ye+pWwkSRnTg==$PhV62togDy6py8sQT56nzDsX8JLsyhoYigMu1bmstgY=:X1tIwlF8CD/pudi426wL9kEHXoorHaK1Buy9C+3G+DA=",
    ),
    (
        b"\xc3\xa9\x07",
        "SCRAM-SHA-256$4096:2Sw1Bc9LaFRnZ2i4XSiCKQ==$QMr2/BMXQ+Ig++0qR6Jld7wmuaUoMDWmNsVTJnimkjo=:IYmv1wCQOF5FU+KoNZq1r6WT+uOcocRB0p5PogGDj6E=",
    ),
    (
        b"p\xf0\x9f\x94\x91w",
        "SCRAM-SHA-256$4096:dDEctl8AGkrcno9k0r4hdw==$5s96xwO8Hm1pLTmQrxsBJQtaB7xnhaeGidH83CgWT/0=:BT8QxQHitZ+O+wFixfjirSCwJRb9UCShfmGGs74kxBI=",
    ),
    (
        b" pencil ",
        "SCRAM-SHA-256$4096:nRQsjjLU9wzbzqw3t32EWg==$ojdf8IK6OJmHaTIAmi/kBJG4j5qN1ULjVlIQLDbQqf4=:sMF3cx4l0zEEFbhvCK7drciBz0RIthdcZYc7MwcDMPI=",
    ),
    (
        b"\xc2\xad",
        "SCRAM-SHA-256$4096:vC0N4BFXIHzn5FVEpZGPWQ==$OryMhxPb5yjvNopc/20jB6OM3uV2nZEymRFJApHHupY=:GQr5eMnx6DwptbV6d41kGufUSV4S1v4RdtYM46qe5Yc=",
    ),
    (
        b"\xe2\x85\xa8",
        "SCRAM-SHA-256$4096:0yxwlrYU2ZvOKnCUytJlwA==$dVfG/8H7VjdQP0URkqHyhO192CYnmksx0TKTVXozTHQ=:fTGcpFfXZMtTggRl6oAYPkJG2p6MibZX4ZChRqq7DT8=",
    ),
    (
        b"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
        "SCRAM-SHA-256$4096:zWNGMWZ74QsaEJgRIXdneQ==$vlAEqIC+w6U6z6qoFNOMSmG62uXchU67fxoBkBLDnPs=:qjHoCllzOgoJFkPQX7fu/jeqCuIu5Gr+xmhFdfhYC1I=",
    ),
    (
        b"\xd7\x90a",
        "SCRAM-SHA-256$4096:iYXJ8KzxqjMIyY+BIkwq8Q==$SNLbrKx+oGMYPlyhgzaFrB0eImVQ689Pjm1k8MJI/ck=:Cc5avg5nnEYoKMtJ8waZ6WsXfJGCM9QRqeLspjy8ehc=",
    ),
    (
        b"it's \"$:,=%",
        "SCRAM-SHA-256$4096:uJOPNfWyFPDBaswpYlEPCA==$MyA3vZM57pmdD5ZSH3rL1cvmjBmVDPY0rNGRRN4jDR8=:BmA9x8VHD6+Q+t4JauFIluEXfQBj5aKvuF4CNb9XABg=",
    ),
    (
        b"a\xff\xfeb",
        "SCRAM-SHA-256$4096:G+f/0qo/f9lxxSwkPAyDcA==$tO9auRPqzBcDlw015lWq1gsswQUTm91nrAvxVaH06ro=:MqDD/l5xWj2ORMWj50lEzKFKNC4PfEN6rr9EvqEC+FI=",
    ),
    (
        b"\xc3",
        "SCRAM-SHA-256$4096:lLHft2aqA0yhiRWktFOtjA==$yQYRalsxh+HpWVK03yo7meEgA9Oo6rTYSMcka/6QovM=:a+ii1A1XcdN/6RxQRoAodzz719SPg/rBAMStX+RiBIw=",
    ),
    (
        b"caf\xe9",
        "SCRAM-SHA-256$4096:+8/ee8dk2Yi+wnpp/8PGbg==$mM3S8VXWNWMEcrxR09a57v3Q3FfG2VQhYzRVSbwa74Q=:BS/diGBbsj5uJJuA4Ql+kh2iZl8U3rSkCCm7ZhEByuY=",
    ),
    (
        b"\xed\xa0\x80",
        "SCRAM-SHA-256$4096:hvLdslmDy5DdDYe2qQ5Fvg==$vMTUwvV8VBfx8IDLFuK04rgXabm2aUOtd6Ae54OMyQc=:IKiv+M1qPo8w3G3uQLT69v+ggjfp2H80cK/0tZYapoA=",
    ),
];

#[test]
fn derived_keys_are_postgresqls() {
    for (password, stored) in STORED_BY_POSTGRESQL {
        let verifier = Verifier::parse(stored.as_bytes()).unwrap();
        let keys = derive(password, &verifier.salt, verifier.iterations);
        assert!(keys.matches(&verifier), "{password:?}");
        let rebuilt = keys.verifier(&verifier.salt, verifier.iterations);
        assert_eq!(rebuilt.to_string(), stored, "{password:?}");
    }
}

#[test]
fn long_passwords_are_hashed_first() {
    let stored = "SCRAM-SHA-256$4096:QhMdXwHkimDnr2fbKuJpZQ==$WKm/pfzBdPTd5f4M\
                  XTjRapTRbt/1Mrwu6/qH2tSPswQ=:U6e6EeOreWQZq2dUKJC2VW8U6vJoENt8ck18B3g8djQ=";
    let verifier = Verifier::parse(stored.as_bytes()).unwrap();
    let password = "ä".repeat(600);
    assert!(derive(password.as_bytes(), &verifier.salt, 4096).matches(&verifier));
}

#[test]
fn pbkdf2_gives_the_known_blocks() {
    let check = |password: &[u8], salt: &[u8], iterations, expected: &str| {
        let block = pbkdf2(password, salt, iterations);
        let block: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(block, expected);
    };
    // RFC 7914 section 11, the first 32 bytes.
    check(
        b"passwd",
        b"salt",
        1,
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc",
    );
    // Around the block size of HMAC, and nothing at all.
    check(
        &[b'k'; 64],
        b"salt",
        3,
        "59e38449e5b5499366e8ef715d2cb11880bafafa02ff5699caa77948092dc60c",
    );
    check(
        &[b'k'; 65],
        b"salt",
        3,
        "37681f3749277f6b4ddde0ffeb99b3fcf332f61ba1ee3612ed0fd921583c6cfe",
    );
    check(b"", b"s", 2, "dec72eebccd6734375f39d022c49b61527675741ebb6d63467409be9e9521da7");
    assert_eq!(pbkdf2(b"passwd", b"salt", 0), pbkdf2(b"passwd", b"salt", 1));
}

#[test]
fn keys_match_only_their_own_verifier() {
    let keys = derive(b"pencil", b"salt", 2);
    let verifier = keys.verifier(b"salt", 2);
    assert!(keys.matches(&verifier));
    assert!(!derive(b"pencils", b"salt", 2).matches(&verifier));
    assert!(!derive(b"pencil", b"salty", 2).matches(&verifier));
    assert!(!derive(b"pencil", b"salt", 3).matches(&verifier));
    let mut other_server = verifier.clone();
    other_server.server_key[31] ^= 1;
    assert!(!keys.matches(&other_server));
    let mut other_client = verifier.clone();
    other_client.stored_key[0] ^= 0x80;
    assert!(!keys.matches(&other_client));
    assert_ne!(verifier, other_server);
    assert_ne!(verifier, other_client);
    assert_ne!(verifier, Verifier { iterations: 3, ..verifier.clone() });
    assert_ne!(verifier, Verifier { salt: Box::from(*b"salty"), ..verifier.clone() });
    assert_eq!(verifier, verifier.clone());
}

#[test]
fn misspelled_verifiers_are_refused() {
    const KEY: &str = "WypGonGEb3zEaAsvV1Pmoss6NvGkicR4zCac1aaDjsI=";
    let check = |text: String, expected: Option<Denied>| {
        assert_eq!(Verifier::parse(text.as_bytes()).err(), expected, "{text}");
    };
    let malformed = |text: String| {
        let denied = Verifier::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(denied, Denied::Malformed(_)), "{text}: {denied:?}");
    };
    check(format!("SCRAM-SHA-256$1:AA==${KEY}:{KEY}"), None);
    check(format!("SCRAM-SHA-256$100000:AA==${KEY}:{KEY}"), None);
    check(format!("SCRAM-SHA-256$100001:AA==${KEY}:{KEY}"), Some(Denied::Iterations));
    check(format!("SCRAM-SHA-256$99999999999999999999:AA==${KEY}:{KEY}"), Some(Denied::Iterations));
    check(format!("SCRAM-SHA-256$0:AA==${KEY}:{KEY}"), Some(Denied::Iterations));
    malformed(String::new());
    malformed("SCRAM-SHA-256$".into());
    malformed(format!("scram-sha-256$1:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-1$1:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$-1:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$+1:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$01:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$:AA==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$1:${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$1:AB==${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$1:AA=${KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$1:AA==${KEY}"));
    malformed(format!("SCRAM-SHA-256$1:AA==${KEY}:{KEY}:{KEY}"));
    malformed(format!("SCRAM-SHA-256$1:AA==${KEY}:{KEY}$"));
    malformed(format!("SCRAM-SHA-256$1:AA==${KEY}:{KEY} "));
    malformed(format!("SCRAM-SHA-256$1:AA==$AAAA:{KEY}"));
    malformed(format!("SCRAM-SHA-256$100001:AA==$AAAA:{KEY}"));
}

#[test]
fn mock_verifiers_are_stable_and_match_nothing() {
    let secret = [7; 32];
    let mock = mock_verifier(&secret, b"nobody", 4096);
    assert_eq!(mock, mock_verifier(&secret, b"nobody", 4096));
    assert_eq!((mock.salt.len(), mock.iterations), (16, 4096));
    let others =
        [mock_verifier(&secret, b"nobody2", 4096), mock_verifier(&[8; 32], b"nobody", 4096)];
    for other in others {
        assert_ne!(mock.salt, other.salt);
        assert_ne!(mock.stored_key, other.stored_key);
        assert_ne!(mock.server_key, other.server_key);
    }
    assert_ne!(mock.stored_key, mock.server_key);
    for password in [&b""[..], b"nobody", &mock.salt, &secret] {
        assert!(!derive(password, &mock.salt, 1).matches(&mock));
    }
}

#[test]
fn debug_hides_the_keys() {
    let keys = derive(b"pencil", b"salt", 1);
    let verifier = keys.verifier(b"salt", 7);
    assert_eq!(format!("{keys:?}"), "ScramKeys { .. }");
    assert_eq!(format!("{verifier:?}"), "Verifier { iterations: 7, .. }");
}
