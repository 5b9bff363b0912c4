//! Column patterns: globs and regular expressions that select columns.
//!
//! In a glob, `*` matches any run of characters (including dots) and `?` matches one character. All other characters match
//! themselves. `*` and a lone `.*` match all names. `re:` starts a regular expression that must match the whole name.

use std::str::FromStr;

use crate::error::{Error, Result};

/// A compiled column pattern.
///
/// ```
/// let pattern: tetrys::schema::ColumnPattern = "agents.pose.*".parse()?;
/// assert!(pattern.matches("agents.pose.yaw") && !pattern.matches("agents.velocity"));
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnPattern(regex::Regex);

impl ColumnPattern {
    /// Whether the pattern matches the whole name.
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

/// Returns the positions of the names that match any of the patterns, in the order of the names, each once.
///
/// # Errors
/// - `NotFound`: a pattern matches no name. The message suggests the nearest name, or the index column that the pattern matches.
/// - `Invalid`: a pattern is malformed.
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

/// Returns the message for a pattern that matches no name, with the nearest name or the pattern that was probably meant.
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
            // The user may have meant any prefix of the name that ends before a dot.
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
        None => format!("no column matches `{pattern}`: there are no columns"),
    }
}

/// Returns the Levenshtein distance in bytes.
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
