//! Times as text: RFC 3339 with nanoseconds. Both ways.

/// Parses a time: RFC 3339 (`2026-05-01T12:00:00.5Z`), or a number of nanoseconds since 1970. `None` if it is neither.
///
/// ```
/// assert_eq!(tetrys_logs::parse_time("1970-01-01T00:00:01Z"), Some(1_000_000_000));
/// assert_eq!(tetrys_logs::parse_time("-5"), Some(-5));
/// ```
pub fn parse_time(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| parse(text))
}

/// Parses `2026-05-01T12:00:00.5Z` as nanoseconds since 1970.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let digits = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let bytes = text.as_bytes();
    let is_at = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    if !(text.is_ascii() && is_at(4, b"-") && is_at(7, b"-") && is_at(10, b"Tt ") && is_at(13, b":") && is_at(16, b":")) {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("", rest),
    };
    let in_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_real = (1..=12).contains(&month) && (1..=in_month).contains(&day) && hour < 24 && minute < 60 && second < 60;
    if !is_real || fraction.len() > 9 || (rest.starts_with('.') && fraction.is_empty()) {
        return None;
    }
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let sign = match zone.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let part = |text: &str| text.parse::<i64>().ok().filter(|_| text.len() == 2);
            sign * (part(hours)? * 3600 + part(minutes)? * 60)
        }
    };
    // Days since 1970 of the proleptic Gregorian calendar, whose years begin in March here.
    let (shifted, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = shifted.div_euclid(400);
    let (of_era, of_year) = (shifted.rem_euclid(400), (153 * month + 2) / 5 + day - 1);
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Writes a time: `1970-01-01T00:00:01.5Z`.
pub(crate) fn text(ns: i64) -> String {
    let (seconds, fraction) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The inverse of [`parse`]: years begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let of_era_years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_era_years + of_era_years / 4 - of_era_years / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + of_era_years + i64::from(month <= 2);
    let fraction = match fraction {
        0 => String::new(),
        fraction => format!(".{fraction:09}").trim_end_matches('0').to_owned(),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(1_490_149_580_103_843_113), "2017-03-22T02:26:20.103843113Z");
        assert_eq!(text(-1_500_000_000), "1969-12-31T23:59:58.5Z");
        for days in [-30_000_i64, -719, 58, 59, 60, 364, 365, 10_956, 10_957, 11_016, 20_000, 47_541, 47_542] {
            let ns = days * 86_400_000_000_000 + 3_723_000_000_001;
            assert_eq!(parse(&text(ns)), Some(ns), "{}", text(ns));
        }
    }

    #[test]
    fn times_are_read_to_the_nanosecond() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2017-03-22T02:26:20.103843113Z"), Some(1_490_149_580_103_843_113));
        assert_eq!(parse("2000-02-29T23:59:59.5+02:30"), Some(951_859_799_500_000_000));
        assert_eq!(parse("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
        for wrong in
            ["", "2000-02-30T00:00:00Z", "2000-01-01", "2000-01-01T00:00:00", "2000-01-01T00:00:00.Z", "2000-13-01T00:00:00Z"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
