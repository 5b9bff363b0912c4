//! Messages of other crates in words that users know.
//!
//! polars, Arrow and Parquet also print values in the notation of Rust: `HexStringLiteral("ab")` becomes `` `ab` ``, and
//! `RangeOutOfBounds { range: 4..8 }` becomes `range out of bounds`. Types get the names that columns have here: `Int64` is `i64`.
//! Text in quotes stays as it is, because it may be a name or a value of the user.

/// Types of Arrow and polars, and their names here.
const TYPES: [(&str, &str); 20] = [
    ("Int8", "i8"),
    ("Int16", "i16"),
    ("Int32", "i32"),
    ("Int64", "i64"),
    ("UInt8", "u8"),
    ("UInt16", "u16"),
    ("UInt32", "u32"),
    ("UInt64", "u64"),
    ("Float16", "f16"),
    ("Float32", "f32"),
    ("Float64", "f64"),
    ("Boolean", "bool"),
    ("Utf8", "utf8"),
    ("LargeUtf8", "utf8"),
    ("Utf8View", "utf8"),
    ("LargeBinary", "binary"),
    ("BinaryView", "binary"),
    ("Date32", "date"),
    ("Date64", "date"),
    ("LargeList", "list"),
];

/// Starts of the types of Arrow and polars that have arguments: `Timestamp(ns, "UTC")` stays as it is.
const ARROW: [&str; 10] =
    ["Array", "Datetime", "Decimal", "Dictionary", "Duration", "FixedSize", "List", "Map", "Struct", "Time"];

/// What parsers of Rust say about numbers, and the same in plain words.
const REPLACEMENTS: [(&str, &str); 5] = [
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid digit found in string", "expected digits alone"),
    ("cannot parse integer from empty string", "expected a number, found nothing"),
    ("invalid float literal", "expected a number"),
];

/// Returns a message of another crate in words that users know.
pub(crate) fn plain(message: &str) -> String {
    REPLACEMENTS.iter().fold(plain_values(message), |text, (message, plain)| text.replace(message, plain))
}

fn plain_values(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let is_inside = text.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let length = match first {
            '"' | '`' | '\'' if !is_inside => match quoted(rest) {
                Some(length) => {
                    let ty = type_named(rest.get(1..length - 1).unwrap_or_default());
                    match ty.filter(|_| first == '`' || text.ends_with("type ")) {
                        Some(ty) => text.push_str(ty),
                        None => text.push_str(rest.get(..length).unwrap_or_default()),
                    }
                    length
                }
                None => 0,
            },
            'A'..='Z' if !is_inside => word(rest, &mut text),
            _ => 0,
        };
        let length = match length {
            0 => {
                text.push(first);
                first.len_utf8()
            }
            length => length,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    text
}

fn type_named(word: &str) -> Option<&'static str> {
    TYPES.iter().find(|(name, _)| *name == word).map(|(_, plain)| *plain)
}

/// Returns the length of the text in quotes at the start of `text`, with the quotes.
fn quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(place, character)| {
        let ends = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        ends.then_some(place + quote.len_utf8())
    })
}

/// Appends the word or the value at the start of `rest` in plain words. Returns its length; 0 if it is plain already.
fn word(rest: &str, text: &mut String) -> usize {
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if let Some(plain) = type_named(name) {
        text.push_str(plain);
        return end;
    }
    if ARROW.iter().any(|ty| name.starts_with(ty)) {
        text.push_str(name);
        return end;
    }
    // A value of Rust: a name with small letters, and its fields.
    let blank = usize::from(after.starts_with(" {"));
    let opens = after.starts_with('(') || after.starts_with('{') || blank == 1;
    if !opens || !name.chars().nth(1).is_some_and(|second| second.is_ascii_lowercase()) {
        return 0;
    }
    let fields = after.get(blank..).unwrap_or_default();
    let length = enclosed(fields);
    let inner = fields.get(..length).unwrap_or_default();
    match inner.find('"').and_then(|start| inner.get(start..)).and_then(|inner| inner.get(1..quoted(inner)? - 1)) {
        Some(value) => text.push_str(&format!("`{value}`")),
        None => text.push_str(&words_of(name)),
    }
    end + blank + length
}

/// Returns the length of the text up to the bracket that closes the first one; all of it if there is none.
fn enclosed(text: &str) -> usize {
    let (mut depth, mut place) = (0_usize, 0);
    while let Some(rest) = text.get(place..)
        && let Some(character) = rest.chars().next()
    {
        place += match character {
            '"' => quoted(rest).unwrap_or(1),
            _ => character.len_utf8(),
        };
        match character {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return place;
        }
    }
    text.len()
}

/// Returns the words in a name of Rust: `RangeOutOfBounds` has `range out of bounds`.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_types_of_rust_become_plain_words() {
        for (text, expected) in [
            (r#"value HexStringLiteral("ab") is not a supported literal type"#, "value `ab` is not a supported literal type"),
            (
                r#"found Interval { value: Value(ValueWithSpan { value: Number("1", false), span: Span(a..b) }), last: None }; no"#,
                "found `1`; no",
            ),
            ("message: RangeOutOfBounds { range: 4..8, error_trace: ErrorTrace([]) }", "message: range out of bounds"),
            ("cut: RangeOutOfBounds { range: 4..8, error", "cut: range out of bounds"),
            (
                "Error while parsing value 'x' as type 'Int64' for column 1",
                "Error while parsing value 'x' as type i64 for column 1",
            ),
            ("cannot cast LargeUtf8 to Date32", "cannot cast utf8 to date"),
            (r#"Casting from Timestamp(ns, "UTC") to Int64"#, r#"Casting from Timestamp(ns, "UTC") to i64"#),
            (r#"found List(Struct("a": Int64))"#, r#"found List(Struct("a": i64))"#),
            ("must be of type `Boolean`, got `Int64`", "must be of type bool, got i64"),
            ("column 3: number too large to fit in target type", "column 3: the number is too large"),
            // Names and values of users, and words of SQL.
            ("no column \"Int64\" and 'Foo(1)'", "no column \"Int64\" and 'Foo(1)'"),
            ("It's COUNT(x) in `Some(1)`, Int64x", "It's COUNT(x) in `Some(1)`, Int64x"),
            ("", ""),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = ["Some(", "\"", "'", "`", "é", "Int64", " {", "}", ")", "[", "\\", "type ", "x", "Ab{"];
        let mut state = 5_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            let _ = plain(&text);
        }
    }
}
