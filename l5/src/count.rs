//! Numbers with their nouns in messages.

/// Formats a number with its noun: `1 byte`, `3 bytes`.
pub(crate) fn counted<N: std::fmt::Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    format!("{number} {one}{}", if number == N::from(1) { "" } else { "s" })
}
