//! Sizes in settings.

/// Parses a number of bytes with or without a unit: `20000000`, `512MiB`, `20 GB`. Returns `None` for any other text.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: Option<u64> = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000),
        "kib" | "k" => Some(1 << 10),
        "mib" | "m" => Some(1 << 20),
        "gib" | "g" => Some(1 << 30),
        "tib" | "t" => Some(1 << 40),
        _ => None,
    };
    number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit))
}
