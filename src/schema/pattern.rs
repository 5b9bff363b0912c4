//! Column patterns: the globs and regular expressions by which reads ask for columns.
//!
//! `*` stands for any run of characters (dots too), `?` for one, everything else for itself; `*` and a lone `.*` mean all;
//! `re:` starts a regular expression that must match the whole name.

use std::str::FromStr;

use crate::error::{Error, Result};

/// A compiled column pattern.
///
/// ```
/// let pattern: tetrys::ColumnPattern = "agents.pose.*".parse()?;
/// assert!(pattern.matches("agents.pose.yaw") && !pattern.matches("agents.velocity"));
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnPattern(regex::Regex);

impl ColumnPattern {
    /// Whether the whole name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for ColumnPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expression = match text.strip_prefix("re:") {
            Some(expression) => format!("^(?:{expression})$"),
            None if text == ".*" => "^.*$".to_owned(),
            None => {
                let mut expression = String::from("^");
                for character in text.chars() {
                    match character {
                        '*' => expression.push_str(".*"),
                        '?' => expression.push('.'),
                        _ => expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4]))),
                    }
                }
                expression.push('$');
                expression
            }
        };
        regex::RegexBuilder::new(&expression)
            .dot_matches_new_line(true)
            .size_limit(1 << 20)
            .build()
            .map(Self)
            .map_err(|error| Error::invalid(format!("column pattern `{text}`: {error}")))
    }
}

/// The places of the names that match any of the patterns, in the order of the names, each once.
///
/// # Errors
/// `NotFound` for a pattern that matches nothing, naming the nearest name or the index column that was meant; `Invalid` for a
/// malformed one.
pub(crate) fn select<P: AsRef<str>>(names: &[&str], index: &[&str], patterns: impl IntoIterator<Item = P>) -> Result<Vec<usize>> {
    let mut chosen = vec![false; names.len()];
    for text in patterns {
        let text = text.as_ref();
        let pattern: ColumnPattern = text.parse()?;
        let mut found = false;
        for (name, chosen) in names.iter().zip(&mut chosen) {
            if pattern.matches(name) {
                *chosen = true;
                found = true;
            }
        }
        if !found && let Some(name) = index.iter().find(|name| pattern.matches(name)) {
            return Err(Error::not_found(format!(
                "no group column matches `{text}`; `{name}` is an index column, found in the index"
            )));
        }
        if !found {
            return Err(Error::not_found(no_match(text, names.iter().copied())));
        }
    }
    Ok(chosen.iter().enumerate().filter_map(|(place, chosen)| chosen.then_some(place)).collect())
}

/// The message for a pattern that matched nothing: names the nearest column, or the pattern that was probably meant.
pub(crate) fn no_match<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> String {
    let stem = pattern.strip_suffix('*').map(|stem| stem.trim_end_matches('.'));
    let mut nearest: Option<(usize, String)> = None;
    let mut offer = |distance: usize, meant: &dyn Fn() -> String| {
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, meant()));
        }
    };
    for name in names {
        match stem {
            // Before each of its dots a name may have been meant to go on as it likes.
            Some(stem) => {
                for (dot, _) in name.match_indices('.') {
                    offer(edit_distance(stem, &name[..dot]), &|| format!("{}.*", &name[..dot]));
                }
                offer(edit_distance(stem, name), &|| name.to_owned());
            }
            None => {
                offer(edit_distance(pattern, name), &|| name.to_owned());
                if let Some((_, last)) = name.rsplit_once('.') {
                    offer(1 + edit_distance(pattern, last), &|| name.to_owned());
                }
            }
        }
    }
    match nearest {
        Some((_, meant)) => format!("no column matches `{pattern}`; nearest: `{meant}`"),
        None => format!("no column matches `{pattern}`: there is none to match"),
    }
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_cross_dots_and_take_other_characters_literally() {
        for (pattern, name, expected) in [
            ("*", "a.b", true),
            (".*", "a.b", true),
            ("a.*", "a.b.c", true),
            ("a.*", "axb", false),
            ("*.jpeg", "cam.front.jpeg", true),
            ("a?c", "abc", true),
            ("a+b", "a+b", true),
            ("re:a.+", "abc", true),
            ("re:b", "abc", false),
            ("", "a", false),
        ] {
            assert_eq!(pattern.parse::<ColumnPattern>().unwrap().matches(name), expected, "{pattern} {name}");
        }
        assert!("re:(".parse::<ColumnPattern>().is_err());
    }
}
