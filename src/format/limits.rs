//! The limits of the format, as the specification states them. Follows `format-spec/manifest.md#limits`.

/// Returns the limits of the format as pairs of name and maximum, in the words of the specification. A reader refuses larger
/// objects before it allocates memory for them.
///
/// ```
/// let limits = tetrys::format::limits();
/// assert!(limits.contains(&("columns", "100,000")));
/// ```
pub fn limits() -> Vec<(&'static str, &'static str)> {
    let page = include_str!("../../format-spec/manifest.md");
    let section = page.split_once("\n## Limits\n").map_or("", |(_, section)| section);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.filter(|row| *row != ("what", "at most")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Locator, MAX_SEGMENT_ROWS};

    #[test]
    fn the_specification_s_limits_are_those_of_the_code() {
        let limits = limits();
        let of = |name: &str| limits.iter().find(|(what, _)| what.starts_with(name)).map(|(_, most)| *most);
        assert!(limits.len() > 12, "{limits:?}");
        assert_eq!(of("rows of a segment").map(|most| most.replace(',', "")), Some(MAX_SEGMENT_ROWS.to_string()));
        assert_eq!((of("rows of a table"), Locator::MAX_ROWS), (Some("2^48"), 1 << 48));
    }
}
