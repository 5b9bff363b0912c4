//! Formats numbers and text tables for people.

use std::{borrow::Cow, io::IsTerminal, sync::OnceLock, time::Duration};

use tetrys::schema::Column;

/// Formats a count: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun: `3 rows`, `1 row`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats bytes in decimal units with three digits: `1.23 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    for unit in ["kB", "MB", "GB", "TB", "PB"] {
        value /= 1000.0;
        if value < 999.5 || unit == "PB" {
            let digits = if value < 9.995 {
                2
            } else if value < 99.95 {
                1
            } else {
                0
            };
            return format!("{value:.digits$} {unit}");
        }
    }
    unreachable!("the last unit takes all")
}

/// Formats `part / whole` as `0.52`, or as a dash if `whole` is 0.
pub(crate) fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.2}", part as f64 / whole as f64) }
}

/// Formats a duration: `12.3 s`, `4.5 ms`, `67 us`.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.1} s"),
        _ if seconds >= 1e-3 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.0} us", seconds * 1e6),
    }
}

/// Returns the width of a line in characters: `COLUMNS`, or the width of the terminal. `None` if neither is known.
fn line_width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let setting = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let stdout = std::io::stdout();
        let terminal = || stdout.is_terminal().then(|| terminal_size::terminal_size_of(&stdout)).flatten();
        setting.or_else(|| terminal().map(|(width, _)| usize::from(width.0))).filter(|width| *width >= NARROWEST)
    })
}

/// Smallest line width in characters; narrower settings are ignored.
const NARROWEST: usize = 40;
/// Smallest width in characters to which a column of text is cut.
const NARROW: usize = 10;

/// Most characters of a cell of a text table. JSON, NDJSON and CSV have whole values.
const WIDEST: usize = 1000;

/// Formats rows of cells as a text table with two spaces between columns. A heading that starts with `>` aligns its column to the
/// right, one with `<` or without either to the left. Cells are cut after [`WIDEST`] characters. On a terminal, the widest columns of text are cut so that lines fit.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    table_of(headings, rows, line_width())
}

fn table_of(headings: &[&str], rows: &[Vec<String>], most: Option<usize>) -> String {
    let names: Vec<String> =
        headings.iter().map(|heading| heading.strip_prefix(['<', '>']).unwrap_or(heading).to_owned()).collect();
    let lines: Vec<&Vec<String>> =
        std::iter::once(&names).filter(|names| names.iter().any(|name| !name.is_empty())).chain(rows).collect();
    let length = |cell: &String| cell.chars().take(WIDEST + 1).count();
    let widest = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(length).max().unwrap_or(0).min(WIDEST);
    let mut widths: Vec<usize> = (0..headings.len()).map(widest).collect();
    while let Some(most) = most
        && widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2) > most
    {
        let texts = widths.iter_mut().zip(headings).filter(|(width, heading)| !heading.starts_with('>') && **width > NARROW);
        match texts.map(|(width, _)| width).max() {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    let mut text = String::new();
    for line in lines {
        let mut padded = String::new();
        for ((cell, width), heading) in line.iter().zip(&widths).zip(headings) {
            // Padded by hand: the width of a format string ends at 65,535.
            let blanks = " ".repeat(width.saturating_sub(length(cell)));
            let (before, after) = if heading.starts_with('>') { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
            padded.extend([before, &cut(cell, *width), after, "  "]);
        }
        text.push_str(padded.trim_end_matches(' '));
        text.push('\n');
    }
    text
}

/// Returns the first `most` characters of a text. The last one is `…` if there are more.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain("…".chars()).collect::<String>().into(),
    }
}

/// Returns the unit of a column, if its properties have one.
pub(crate) fn unit(column: &Column) -> Option<String> {
    let value = column.properties.get("unit").or_else(|| column.properties.get("units"))?;
    Some(printable(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
}

/// Formats a shape: `[68,2]`. Empty for a single element.
pub(crate) fn shape(extents: &[usize]) -> String {
    bracketed(extents.iter().map(usize::to_string).collect())
}

/// Formats the shapes of many values as one: `[38..=42,2]`.
pub(crate) fn shapes(shapes: &[Vec<usize>]) -> String {
    let Some(first) = shapes.first() else { return String::new() };
    let axis = |axis: usize| {
        let extents = || shapes.iter().filter_map(|shape| shape.get(axis));
        match (extents().min(), extents().max()) {
            (Some(min), Some(max)) if min != max => format!("{min}..={max}"),
            (min, _) => min.map(usize::to_string).unwrap_or_default(),
        }
    };
    bracketed((0..first.len()).map(axis).collect())
}

fn bracketed(extents: Vec<String>) -> String {
    if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(",")) }
}

/// Whether a character is printed as an escape: a control character, or one that shows nothing and may change how the text around
/// it is shown. These are the line and paragraph separators, the marks of bidirectional and interlinear text, and all other
/// characters with the property `Default_Ignorable_Code_Point` of Unicode.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns the escape of a character as JSON writes it: `\u001b`, and two of them above U+FFFF.
pub(crate) fn escape(character: char) -> String {
    character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Escapes control characters and hidden characters, so that stored text cannot control a terminal or look like another text.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            _ if is_hidden(character) => shown.push_str(&escape(character)),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [999, 1000, 9_999, 999_499, 999_500, 1_234_567_890].map(bytes),
            ["999 B", "1.00 kB", "10.0 kB", "999 kB", "1.00 MB", "1.23 GB"]
        );
        assert_eq!(bytes(u64::MAX), "18447 PB");
        assert_eq!((ratio(1, 2), ratio(1, 0)), ("0.50".to_owned(), "-".to_owned()));
        assert_eq!((counted(1, "row"), counted(0, "row")), ("1 row".to_owned(), "0 rows".to_owned()));
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [vec!["a".to_owned(), "10".to_owned()], vec!["bcd".to_owned(), "9".to_owned()]];
        assert_eq!(table(&["name", ">n"], &rows), "name   n\na     10\nbcd    9\n");
        assert_eq!(printable("a\u{1b}[1m"), "a\\u001b[1m");
        let long =
            [vec!["x".repeat(50), "1".to_owned(), "y".repeat(30)], vec!["é".repeat(30), "234567".to_owned(), "z".to_owned()]];
        let cut = table_of(&["name", ">n", "text"], &long, Some(60));
        assert!(cut.lines().all(|line| line.chars().count() <= 60), "{cut}");
        assert!(cut.contains("234567") && cut.contains('…') && cut.lines().count() == 3, "{cut}");
        assert!(!table_of(&["name", ">n", "text"], &long, None).contains('…'));
        assert_eq!(shapes(&[vec![38, 2], vec![42, 2]]), "[38..=42,2]");
        assert_eq!(table(&["<", ">", ">>n"], &[vec!["a".into(), "b".into(), "c".into()]]), "      >n\na  b   c\n");
    }

    #[test]
    fn no_character_that_hides_reaches_a_terminal() {
        assert_eq!(
            printable("a\u{202e}b\u{200d}c\u{feff}\u{e0041}\r\u{2028}"),
            "a\\u202eb\\u200dc\\ufeff\\udb40\\udc41\\r\\u2028"
        );
        // Letters of all kinds, marks on letters, blanks and pictures stay.
        let shown = "é ñ ü\u{301} ع ا ש ไทย हिन्दी 漢字 한글 🚗 \u{a0}→█▀";
        assert_eq!(printable(shown), shown);
        for character in (0..=0x10_ffff).filter_map(char::from_u32).filter(|character| is_hidden(*character)) {
            let parsed: String = serde_json::from_str(&format!("\"{}\"", escape(character))).unwrap();
            assert_eq!(parsed, character.to_string(), "the escape is that of JSON");
        }
    }

    /// Returns a text of up to 70,000 characters, of which many are control characters, hidden or wide.
    fn odd_text(random: &mut impl FnMut(usize) -> usize) -> String {
        const ODD: [&str; 16] = [
            "a",
            " ",
            "\u{0}",
            "\n",
            "\t",
            "\r",
            "\u{1b}[2J",
            "\u{7f}",
            "\u{9b}",
            "é",
            "\u{202e}",
            "\u{200b}",
            "漢",
            "🚗",
            "\\",
            ">",
        ];
        let most = [3, 40, 1_100, 70_000][random(4)];
        (0..random(most)).map(|_| ODD[random(ODD.len())]).collect()
    }

    #[test]
    fn any_texts_make_a_table_of_printable_lines() {
        let mut random = crate::safe::random();
        for case in 0..200 {
            let columns = 1 + random(4);
            let name = |random: &mut dyn FnMut(usize) -> usize| printable(&odd_text(&mut |most| random(most)));
            let headings: Vec<String> = (0..columns).map(|_| name(&mut random)).collect();
            let rows: Vec<Vec<String>> = (0..random(5)).map(|_| (0..columns).map(|_| name(&mut random)).collect()).collect();
            let most = [None, Some(NARROWEST), Some(200)][random(3)];
            let shown = table_of(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &rows, most);
            assert!(!shown.chars().any(|character| character != '\n' && is_hidden(character)), "case {case}");
            assert!(shown.lines().all(|line| line.chars().count() <= columns * (WIDEST + 2)), "case {case}");
            let named = headings.iter().any(|heading| !heading.strip_prefix(['<', '>']).unwrap_or(heading).is_empty());
            assert_eq!(shown.lines().count(), rows.len() + usize::from(named), "case {case}");
        }
        assert_eq!(cut("éab", 3), "éab");
        assert_eq!((cut("éabc", 3), cut("a", 0)), ("éa…".into(), "…".into()));
    }
}
