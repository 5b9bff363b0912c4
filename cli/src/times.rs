//! Formats dates and timestamps as ISO 8601 text.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tetrys::TimeUnit;

/// Formats a date: `2020-02-29`. Outside the range of the calendar, returns the number of days since 1970.
pub(crate) fn date(days: i64) -> Value {
    match days.checked_mul(86_400).and_then(|seconds| DateTime::<Utc>::from_timestamp(seconds, 0)) {
        Some(time) => time.format("%F").to_string().into(),
        None => days.into(),
    }
}

/// Returns a time in milliseconds since 1970 as text, to the second.
pub(crate) fn moment(ms: i64) -> String {
    timestamp(ms.div_euclid(1000), TimeUnit::Second, true).as_str().unwrap_or_default().to_owned()
}

/// Formats a timestamp: `2020-02-29T12:00:00.25`, without trailing zeros, and with `Z` if it has a time zone. Outside the range
/// of the calendar, returns the number.
pub(crate) fn timestamp(ticks: i64, unit: TimeUnit, zoned: bool) -> Value {
    let a_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let nanoseconds = u32::try_from(ticks.rem_euclid(a_second) * (1_000_000_000 / a_second)).unwrap_or(0);
    match DateTime::<Utc>::from_timestamp(ticks.div_euclid(a_second), nanoseconds) {
        Some(time) => {
            let text = time.format("%FT%T%.9f").to_string();
            let text = text.trim_end_matches('0').trim_end_matches('.');
            format!("{text}{}", if zoned { "Z" } else { "" }).into()
        }
        None => ticks.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_as_many_digits_as_they_need() {
        assert_eq!(date(18_321), "2020-02-29");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(timestamp(0, TimeUnit::Second, false), "1970-01-01T00:00:00");
        assert_eq!(timestamp(-1, TimeUnit::Nanosecond, true), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(timestamp(1_250, TimeUnit::Millisecond, true), "1970-01-01T00:00:01.25Z");
        assert_eq!(timestamp(i64::MAX, TimeUnit::Second, true), i64::MAX);
    }
}
