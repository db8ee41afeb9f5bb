//! Dates by their seconds since the epoch, as `date -u` prints them.

use super::{date, print};

fn check(seconds: u64, expected: &str) {
    assert_eq!(print(seconds * 1_000_000), format!("{expected} UTC"), "{seconds}");
}

#[test]
fn known_dates() {
    check(0, "1970-01-01 00:00:00");
    check(59, "1970-01-01 00:00:59");
    check(86_399, "1970-01-01 23:59:59");
    check(951_782_399, "2000-02-28 23:59:59");
    check(951_782_400, "2000-02-29 00:00:00");
    check(951_868_800, "2000-03-01 00:00:00");
    check(978_307_199, "2000-12-31 23:59:59");
    check(1_000_000_000, "2001-09-09 01:46:40");
    check(1_709_164_800, "2024-02-29 00:00:00");
    check(2_147_483_648, "2038-01-19 03:14:08");
    check(4_107_542_400, "2100-03-01 00:00:00");
    check(253_402_300_799, "9999-12-31 23:59:59");
}

#[test]
fn fractions_of_a_second_are_cut() {
    assert_eq!(print(1_999_999), "1970-01-01 00:00:01 UTC");
}

#[test]
fn every_day_follows_the_one_before() {
    let leap = |year: u64| {
        let divided_by = |number| year.is_multiple_of(number);
        divided_by(4) && !divided_by(100) || divided_by(400)
    };
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for number in 0..400_000 {
        assert_eq!(date(number), (year, month, day));
        let length = match month {
            2 if leap(year) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}
