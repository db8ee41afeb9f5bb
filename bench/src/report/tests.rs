//! A small report, whole.

use super::*;
use crate::goal;
use crate::sample::Samples;

fn report() -> Report {
    let sample = |target, cpu| Sample {
        target,
        scenario: "peak 64".to_owned(),
        figures: [(Figure::Throughput, 1000.4), (Figure::Cpu, cpu)].into(),
        calls: [("sendto".to_owned(), 2.0), ("mmap".to_owned(), 0.001)].into(),
    };
    Report {
        name: "peak",
        method: "By \"hand\".".to_owned(),
        versions: vec![("PgBouncer".to_owned(), "1.18".to_owned())],
        session: Session {
            samples: Samples(vec![
                sample(Target::PgBouncer(1), 10.0),
                sample(Target::Pgweir(1), 7.0),
                sample(Target::PgBouncer(1), 11.0),
            ]),
            failures: vec!["round 2: no luck:\nnone".to_owned()],
        },
        goals: goal::peak(&["peak 64".to_owned()]),
    }
}

#[test]
fn the_page() {
    let expected = "\
# bench peak

By \"hand\".

- PgBouncer: 1.18

## peak 64

| target | tps | CPU µs/txn | spread of CPU µs/txn | CPU µs/txn × pgbouncer ×1 |
| --- | --- | --- | --- | --- |
| pgbouncer ×1 | 1000 | 10.50 | 10 % | 1.00 |
| pgweir/1 | 1000 | 7.00 | 0 % | 0.67 |

pgbouncer ×1: sendto 2.00

pgweir/1: sendto 2.00

## Goals

| goal | reached |  |
| --- | --- | --- |
| peak 64 pgweir/1: CPU µs/txn ≤ 0.80 × pgbouncer ×1 | 0.67 | met |

## Failed runs

- round 2: no luck:
  none
";
    assert_eq!(report().markdown(), expected);
}

#[test]
fn the_values() {
    let json = report().json();
    assert!(json.contains(r#""method": "By \"hand\".""#), "{json}");
    let run = r#"{"scenario": "peak 64", "target": "pgweir/1", "figures": "#.to_owned()
        + r#"{"CPU µs/txn": 7.0000, "tps": 1000.4000}, "syscalls per transaction": "#
        + r#"{"mmap": 0.0010, "sendto": 2.0000}}"#;
    assert!(json.contains(&run), "{json}");
    assert_eq!(json.matches(r#""target": "#).count(), 3);
}

#[test]
fn text_and_numbers_as_json() {
    assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    assert_eq!(number(f64::INFINITY), "null");
    assert_eq!(number(0.5), "0.5000");
}
