//! What is answered kindly, and what is not.

use super::Courtesy::{self, Begin, Deallocate, DiscardAll, End, Nothing};
use super::read;

#[test]
fn transactions() {
    let check = |text: &str, courtesy: Courtesy| assert_eq!(read(text), Some(courtesy), "{text}");
    check("BEGIN", Begin("BEGIN"));
    check("begin  work", Begin("BEGIN"));
    check("BEGIN TRANSACTION", Begin("BEGIN"));
    check("BEGIN READ ONLY", Begin("BEGIN"));
    check("BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE, NOT DEFERRABLE", Begin("BEGIN"));
    check("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE", Begin("BEGIN"));
    check("START TRANSACTION READ ONLY", Begin("START TRANSACTION"));
    check("COMMIT", End("COMMIT"));
    check("\n\tEND transaction ", End("COMMIT"));
    check("ROLLBACK WORK", End("ROLLBACK"));
    check("ABORT", End("ROLLBACK"));
    check("ROLLBACK TO SAVEPOINT \"_pg3_1\"", Nothing("ROLLBACK"));
    check("SAVEPOINT a", Nothing("SAVEPOINT"));
    check("RELEASE a", Nothing("RELEASE"));
}

#[test]
fn resets() {
    let check = |text: &str, courtesy: Courtesy| assert_eq!(read(text), Some(courtesy), "{text}");
    check("DISCARD ALL", DiscardAll);
    check("reset all", Nothing("RESET"));
    check("CLOSE ALL", Nothing("CLOSE CURSOR ALL"));
    check("UNLISTEN *", Nothing("UNLISTEN"));
    check("SET SESSION AUTHORIZATION DEFAULT", Nothing("SET"));
    check("DEALLOCATE ALL", Deallocate(None));
    check("DEALLOCATE PREPARE ALL", Deallocate(None));
    check("DEALLOCATE s1", Deallocate(Some("s1".into())));
    check("DEALLOCATE \"S 1\"", Deallocate(Some("S 1".into())));
}

#[test]
fn questions() {
    let tables = |text: &str| {
        let answer = read(text).unwrap().answer("PgBouncer 1.2.3");
        let mut out = Vec::new();
        answer.write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    assert!(tables("select\n1").contains("?column?"));
    assert!(tables("SELECT version()").contains("PgBouncer 1.2.3"));
    assert!(tables("SELECT pg_catalog.version()").contains("PgBouncer 1.2.3"));
    assert!(tables("SHOW TRANSACTION ISOLATION LEVEL").contains("read committed"));
    assert!(tables("SELECT pg_advisory_unlock_all()").contains("SELECT 1"));
}

#[test]
fn everything_else_is_not_one() {
    for text in [
        "",
        "BEGIN; COMMIT",
        "BEGIN nonsense",
        "BEGINNING",
        "START",
        "START nonsense",
        "START TRANSACTION nonsense",
        "COMMIT PREPARED 'a'",
        "ROLLBACK PREPARED 'a'",
        "COMMIT AND CHAIN",
        "SAVEPOINT",
        "DEALLOCATE",
        "DISCARD PLANS",
        "RESET a",
        "SELECT 2",
        "SELECT 1 FROM a",
        "SELECT pools",
        "SHOW POOLS",
        "'begin'",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}
