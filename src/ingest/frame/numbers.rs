//! Numbers and times in text, and whether a type gives back each digit of them.

use chrono::NaiveDateTime;

/// Beyond this limit some integers are not floats.
pub(super) const EXACT: u64 = 1 << 53;

/// Whether a cell is a whole number in canonical form: no `+`, no leading zeros.
pub(super) fn is_whole(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let canonical = digits == "0" && digits == cell || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    canonical && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether a number has neither leading zeros nor a plus sign, as names made of digits may have.
pub(super) fn is_plain(text: &str) -> bool {
    !text.starts_with('+') && !matches!(text.strip_prefix('-').unwrap_or(text).as_bytes(), [b'0', b'0'..=b'9', ..])
}

pub(super) fn is_float(cell: &str, whole: bool) -> bool {
    if whole {
        return cell.trim_start_matches('-').parse::<u64>().is_ok_and(|number| number <= EXACT);
    }
    if matches!(cell, "NaN" | "nan" | "inf" | "-inf") {
        return true;
    }
    let (mantissa, exponent) = cell.split_once(['e', 'E']).unwrap_or((cell, "0"));
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let before = before.strip_prefix('-').unwrap_or(before);
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let sound = (before == "0" || before.is_empty() || !before.starts_with('0'))
        && digits(before)
        && digits(behind)
        && before.len() + behind.len() > usize::from(!mantissa.contains('.'))
        && !exponent.is_empty()
        && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    sound && comes_back(cell, before, behind, exponent)
}

/// Whether the nearest float to a number, printed with as many digits, gives back the number's digits.
pub(super) fn comes_back(cell: &str, before: &str, behind: &str, exponent: &str) -> bool {
    let all = format!("{before}{behind}");
    let significant = all.trim_start_matches('0');
    let zeros = all.len() - significant.len();
    let digits = significant.trim_end_matches('0');
    let Some(value) = cell.parse::<f64>().ok().filter(|value| value.is_finite()) else { return false };
    if digits.is_empty() {
        return true;
    }
    let Some(exponent) = exponent.parse::<i64>().ok().and_then(|exponent| {
        exponent.checked_add(i64::try_from(before.len()).ok()?)?.checked_sub(i64::try_from(zeros).ok()?.checked_add(1)?)
    }) else {
        return false;
    };
    match digits.len() {
        // Every float of usual magnitude preserves this many digits.
        ..=15 if (-300..=300).contains(&exponent) => true,
        // No float has more digits.
        768.. => false,
        // A digit exactly between two values may be rounded either way.
        count => [format!("{:.*e}", count - 1, value.abs()), format!("{:e}", value.abs())].iter().any(|given| {
            let (mantissa, power) = given.split_once('e').unwrap_or((given, "0"));
            mantissa.replace('.', "") == digits && power.parse() == Ok(exponent)
        }),
    }
}

/// Parses `2020-02-29T12:00:00.25`, optionally with a blank instead of `T` and with a final `Z`. Returns whether there is a `Z`,
/// and the digits of the fraction.
pub(super) fn time_of(cell: &str) -> Option<(bool, usize)> {
    let naive = cell.strip_suffix('Z').unwrap_or(cell);
    let date_and_time = naive.get(10..11).filter(|middle| matches!(*middle, "T" | " "));
    if date_and_time.is_none() || naive.len() < 19 {
        return None;
    }
    let digits = match naive.as_bytes().get(19) {
        None => 0,
        Some(b'.') => naive.len() - 20,
        Some(_) => return None,
    };
    let format = if naive.contains('T') { "%Y-%m-%dT%H:%M:%S%.f" } else { "%Y-%m-%d %H:%M:%S%.f" };
    let time = NaiveDateTime::parse_from_str(naive, format).ok()?;
    // Nanosecond timestamps cover the years 1677 to 2262 and no leap seconds.
    let fits = digits <= 6 || time.and_utc().timestamp_nanos_opt().is_some();
    (digits <= 9 && fits && !naive.get(17..19)?.starts_with('6')).then_some((naive.len() < cell.len(), digits))
}
