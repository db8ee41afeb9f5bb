use super::*;

#[test]
fn figures_are_short() {
    for (number, expected) in [
        (0.0, "0"),
        (0.0351, "0.035"),
        (0.735, "0.735"),
        (1.0, "1"),
        (13.184, "13.2"),
        (20.0, "20"),
        (99.96, "100.0"),
        (303.39, "303"),
        (5442.27, "5,442"),
        (15_814.94, "15,815"),
        (1_234_567.0, "1,234,567"),
    ] {
        assert_eq!(figure(number), expected);
    }
}

#[test]
fn factors_say_which_way() {
    for (first, second, expected) in [
        (300.0, 5400.0, "18x"),
        (10.0, 11.4, "1.1x"),
        (10.0, 10.0, "1.0x"),
        (10.0, 8.0, "1/1.2"),
        (200.0, 20.0, "1/10"),
        (1.0, 9.96, "10x"),
        (1.0, 1234.0, "1,234x"),
        (0.0, 5.0, ""),
        (5.0, 0.0, ""),
        (0.0, 0.0, ""),
    ] {
        assert_eq!(factor(first, second), expected, "{first} {second}");
    }
}

#[test]
fn rows_stand_in_columns() {
    let row = Row {
        label: "queries per second",
        direct: 303.4,
        pooled: 5442.3,
        meaning: "what this machine gets done",
    };
    let head = "                                      direct    pgweir";
    let text = "  queries per second                     303     5,442     18x   what this machine";
    assert_eq!(columns("", "direct", "pgweir", "", "").trim_end(), head);
    assert!(row.text().starts_with(text), "{}", row.text());
}
