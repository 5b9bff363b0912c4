//! The limits of the format, in the words of the specification. Follows `format-spec/manifest.md#limits`.

/// The limits of a table: what is limited, and the most that a reader accepts. Readers check a limit before they allocate memory.
///
/// ```
/// assert!(tetrys::table::LIMITS.contains(&("columns", "100,000")));
/// ```
pub const LIMITS: &[(&str, &str)] = &[
    ("manifest", "256 MiB; JSON nested 127 deep"),
    ("all bytes, stored_bytes, stored and logical of a manifest, those of condemned objects too, added up", "2^64 − 1"),
    ("rows of a table", "2^48"),
    ("rows of a segment, and of a partition", "4,194,304"),
    ("segments", "1,048,576"),
    ("stores, URLs of a store, and sources of a view", "4,096; 16; 4,096"),
    ("columns", "100,000"),
    ("columns of a group", "65,534"),
    ("name", "1,024 bytes"),
    ("text of an index column", "65,536 bytes; 16,777,216 + 1,024 × rows bytes in all in a segment"),
    ("type text", "65,535 bytes; lists 8 deep; 32 dimensions; extent 2,147,483,647"),
    ("steps of a codec chain", "4"),
    ("rows of a block", "1,048,576"),
    ("block, stored and logical", "1 GiB (1,073,741,824 bytes)"),
    ("chunk, stored", "1 GiB"),
    ("decoded values of a page, where a codec compresses them", "255 × (LZ4) or 32,768 × (Zstandard) their stored length"),
    ("slots of a page, at each level", "the greater of 1,048,576 and 8 × values_len"),
    ("blocks of a chunk", "2^32 − 1"),
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;
    use crate::format::{Locator, MAX_SEGMENT_ROWS};

    #[test]
    fn the_limits_are_those_of_the_specification_and_of_the_code() {
        let page = include_str!("../../format-spec/manifest.md");
        let section = page.split_once("\n## Limits\n").unwrap().1.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
        let plain = |text: &str| text.split(", see [").next().unwrap().replace('`', "");
        let rows: Vec<_> = rows.map(|(what, most)| (plain(what), plain(most))).skip(1).collect();
        let limits: Vec<_> = LIMITS.iter().map(|(what, most)| (what.to_string(), most.to_string())).collect();
        assert_eq!(limits, rows);
        let of = |name: &str| LIMITS.iter().find(|(what, _)| what.starts_with(name)).map(|(_, most)| *most);
        assert_eq!(of("rows of a segment").map(|most| most.replace(',', "")), Some(MAX_SEGMENT_ROWS.to_string()));
        assert_eq!((of("rows of a table"), Locator::MAX_ROWS), (Some("2^48"), 1 << 48));
    }
}
