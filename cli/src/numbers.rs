//! Parsers of numbers on the command line. Their errors say which numbers are expected.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

use tetrys::store::parse_size;

/// Returns a parser of whole numbers in a range.
pub(crate) fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: Clone + Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    move |text: &str| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("expected a whole number from {} to {}", range.start(), range.end())),
    }
}

/// Parses a number.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("expected a number, as in 0.25".to_owned()),
    }
}

/// Parses a size in bytes: `1000000`, `16MiB`, `4GB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).ok_or_else(|| "expected a size, such as 512MiB or 4GB".to_owned())
}

/// Parses a number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    number(text).ok().filter(|number| *number > 0.0).ok_or_else(|| "expected a number above 0".to_owned())
}
