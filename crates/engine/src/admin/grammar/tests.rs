//! What is a command and what is not, in tables.

use super::{Command, PARAMETERS, Refusal, Show, parse};
use crate::command::Shutdown;

#[expect(clippy::needless_pass_by_value, reason = "so that tables are easy to read")]
fn check(query: &str, expected: Result<Command, Refusal>) {
    assert_eq!(parse(query.as_bytes()), expected, "{query:?}");
}

fn pause(database: &str) -> Result<Command, Refusal> {
    Ok(Command::Pause(Some(database.into())))
}

#[test]
fn commands() {
    let show = |show| Ok(Command::Show(show));
    check("SHOW POOLS", show(Show::Pools));
    check("show pools;", show(Show::Pools));
    check(" \t\r\nShOw  Pools ; \n", show(Show::Pools));
    check("SELECT pools", show(Show::Pools));
    check("\"show\" \"POOLS\"", show(Show::Pools));
    check("show clients", show(Show::Clients));
    check("show config", show(Show::Config));
    check("show databases", show(Show::Databases));
    check("show help", show(Show::Help));
    check("show lists", show(Show::Lists));
    check("show servers", show(Show::Servers));
    check("show state", show(Show::State));
    check("show stats", show(Show::Stats));
    check("show stats_averages", show(Show::StatsAverages));
    check("show stats_totals", show(Show::StatsTotals));
    check("show totals", show(Show::Totals));
    check("show users", show(Show::Users));
    check("show version", show(Show::Version));
    check("show Timezone", show(Show::Parameter(&PARAMETERS[4])));
    check("show fds", show(Show::Fds));
    check("show active_sockets", show(Show::ActiveSockets));
    check("show sockets", show(Show::Sockets));
    check("show mem", show(Show::Mem));
    check("show peers", show(Show::Peers));
    check("show peer_pools", show(Show::PeerPools));
    check("show dns_hosts", show(Show::DnsHosts));
    check("show dns_zones", show(Show::DnsZones));
    check("reload", Ok(Command::Reload));
    check("pause", Ok(Command::Pause(None)));
    check("resume;", Ok(Command::Resume(None)));
    check("resume app", Ok(Command::Resume(Some("app".into()))));
    check("shutdown", Ok(Command::Shutdown(Shutdown::Immediate)));
    check("shutdown wait_for_clients", Ok(Command::Shutdown(Shutdown::WaitForClients)));
    check("SHUTDOWN WAIT_FOR_SERVERS", Ok(Command::Shutdown(Shutdown::WaitForServers)));
    check("kill", Ok(Command::Kill(None)));
    check("kill app", Ok(Command::Kill(Some("app".into()))));
    check("kill_client 17", Ok(Command::KillClient(Some("17".into()))));
    check("kill_client", Ok(Command::KillClient(None)));
    check("suspend", Ok(Command::Suspend));
    check("Disable \"my db\";", Ok(Command::Disable(Some("my db".into()))));
    check("enable app", Ok(Command::Enable(Some("app".into()))));
    check("enable", Ok(Command::Enable(None)));
    check("reconnect", Ok(Command::Reconnect(None)));
    check("reconnect app", Ok(Command::Reconnect(Some("app".into()))));
    check("wait_close ;", Ok(Command::WaitClose(None)));
    check("WAIT_CLOSE app", Ok(Command::WaitClose(Some("app".into()))));
}

#[test]
fn names_of_databases_are_taken_as_they_are() {
    check("pause App_1", pause("App_1"));
    check("pause \"my db\"", pause("my db"));
    check("pause \"a\"\"b\";", pause("a\"b"));
    check("pause \"\"\"\"", pause("\""));
    check("pause \"größe\"", pause("größe"));
    check("pause \"it's; --\" ;", pause("it's; --"));
}

#[test]
fn nonsense() {
    let nonsense = [
        "",
        " ",
        ";",
        ";;;;",
        "show",
        "show;",
        "show pools;;",
        "show pools pools",
        "show \"pools",
        "show\"pools\"",
        "show -- pools",
        "show 'pools'",
        "show nothing",
        "/* hello */ show pools",
        "show pools -- now",
        "show pools; show stats",
        "select 1",
        "select 1;",
        "begin",
        "reload now",
        "pause \"\"",
        "pause \"\" app",
        "suspend now",
        "kill app app",
        "kill_client -1",
        "disable app, other",
        "set datestyle = 'open",
        "set datestyle = iso; show pools",
        "set session characteristics as transaction read only; reload",
        "\"\" pause",
        "pause \"\"x\"",
        "shutdown now",
        "größe",
        "show größe",
        "set",
        "set;",
        "set x",
        "set x =",
        "set = 1",
        "set x = 1 2",
        "set x to",
        "set x 1",
        "set x = 'open",
        "set \"x\"to 1",
        "set x=1; set y=2",
        "\0",
    ];
    for query in nonsense {
        check(query, Err(Refusal::Invalid));
    }
    assert_eq!(parse(b"show \xff"), Err(Refusal::Invalid));
}

#[test]
fn settings() {
    check("set pool_mode = session", set("pool_mode", "session"));
    check("SET Pool_Mode='session';", set("pool_mode", "session"));
    check("set verbose to 3 ;", set("verbose", "3"));
    check("set server_check_query = ''", set("server_check_query", ""));
    check("set server_check_query = 'select ''x'''", set("server_check_query", "select 'x'"));
    check("set nonsense = 1", set("nonsense", "1"));
}

fn set(key: &str, value: &str) -> Result<Command, Refusal> {
    Ok(Command::Set { key: key.into(), value: value.into() })
}

#[test]
fn what_drivers_set() {
    for query in [
        "set client_encoding to 'UTF8'",
        "SET DateStyle = ISO",
        "SET datestyle TO 'ISO, MDY';",
        "set timezone='GMT'",
        "SET TIME ZONE 'UTC'",
        "set standard_conforming_strings = on",
        "set default_transaction_isolation = 'read committed'",
        "SET extra_float_digits=2",
        "SET extra_float_digits = -15",
        "SET application_name = 'it''s; \"mine\"'",
        "set client_min_messages to warning",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE;",
        "SET search_path TO \"$user\", public",
        "SET NAMES 'UTF8'",
        "set statement_timeout = 0",
        "SET lock_timeout = '1s' ; ",
    ] {
        check(query, Ok(Command::SetParameter));
    }
}

#[test]
fn a_client_is_named_by_the_digits_in_front() {
    use super::decimal;
    let table = [("17", Some(17)), ("17abc", Some(17)), ("0", Some(0)), ("", None), ("x1", None)];
    for (word, number) in table {
        assert_eq!(decimal(word), number, "{word:?}");
    }
    assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
    assert_eq!(decimal("18446744073709551616"), None);
}

#[test]
fn lengths() {
    let long = |n: usize| "x".repeat(n);
    check(&long(15), Err(Refusal::Invalid));
    check(&long(16), Err(Refusal::BadArguments));
    check(&format!("pause {}", long(63)), pause(&long(63)));
    check(&format!("pause {}", long(64)), Err(Refusal::BadArguments));
    check(&format!("pause \"{}\"", long(64)), Err(Refusal::BadArguments));
    check(&format!("set {} = 1", long(63)), set(&long(63), "1"));
    check(&format!("set {} = 1", long(64)), Err(Refusal::BadArguments));
    check(&format!("set a = '{}'", long(255)), set("a", &long(255)));
    check(&format!("set a = '{}'", long(256)), Err(Refusal::BadArguments));
}

#[test]
fn what_the_client_is_told() {
    let text = |refusal: Refusal, query: &[u8]| refusal.text(query);
    assert_eq!(text(Refusal::BadArguments, b"whatever"), "bad arguments");
    assert_eq!(text(Refusal::Invalid, b""), "invalid command '', use SHOW HELP;");
    assert_eq!(text(Refusal::Invalid, b"BEGIN;"), "invalid command 'BEGIN;', use SHOW HELP;");
    let echo = text(Refusal::Invalid, &b"x".repeat(100_000));
    assert_eq!(echo, format!("invalid command '{}', use SHOW HELP;", "x".repeat(500)));
    assert!(
        text(Refusal::Invalid, "ä".repeat(10_000).as_bytes()).starts_with("invalid command 'ä")
    );
}

#[test]
fn any_bytes_are_read_without_panic() {
    let alphabet = b"show pause set to = ' \" ; \xc3\xa4 \xff \0 _9\t\n";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut understood = 0;
    for _ in 0..200_000 {
        let mut query = Vec::new();
        for _ in 0..state % 24 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            query.push(alphabet[(state >> 32) as usize % alphabet.len()]);
        }
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        match parse(&query) {
            Ok(_) => understood += 1,
            Err(refusal) => assert!(refusal.text(&query).len() < 600),
        }
    }
    assert!(understood < 1000, "{understood} of the queries make sense");
}
