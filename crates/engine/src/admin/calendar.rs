//! Points in time as SHOW prints them.
//!
//!     microseconds since the epoch ──► `2001-09-09 01:46:40 UTC`
//!
//! PgBouncer prints its local time and zone; here it is always UTC, which needs no zone files and
//! never shows an hour twice. Leap seconds do not exist on this clock, as on Unix.

use crate::time::SECOND;

/// Prints `YYYY-MM-DD HH:MM:SS UTC`; `micros` is the time since 1970-01-01.
pub(crate) fn print(micros: u64) -> String {
    let seconds = micros / SECOND;
    let (days, rest) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The civil date of a day since 1970-01-01. Years are counted from 1 March, so that the leap day
/// is the last of its year, and in eras of 400 years, which all have the same number of days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day) = (days / ERA, days % ERA);
    // Every 4th year has a day more, but not every 100th; an era ends with the year 399.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on the months have 31, 30, 31, 30, 31 days, over and over: 153 days in 5 months.
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let day = day - (153 * from_march + 2) / 5 + 1;
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Days of 400 years.
const ERA: u64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

#[cfg(test)]
mod tests;
