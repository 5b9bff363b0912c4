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

/// Returns the message for a pattern that matches no name: with the nearest name or the pattern that was probably meant, or, if no
/// name is near, with the names that there are.
pub(crate) fn no_match<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> String {
    let stem = pattern.strip_suffix('*').map(|stem| stem.trim_end_matches('.'));
    let wanted = stem.unwrap_or(pattern);
    let mut nearest: Option<(usize, String)> = None;
    let mut offer = |found: &str, more: usize, meant: &dyn Fn() -> String| {
        let Some(distance) = near(wanted, found).map(|distance| distance + more) else { return };
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, meant()));
        }
    };
    let names: Vec<&str> = names.collect();
    for name in &names {
        match stem {
            // The user may have meant any prefix of the name that ends before a dot.
            Some(_) => {
                for (dot, _) in name.match_indices('.') {
                    offer(&name[..dot], 0, &|| format!("{}.*", &name[..dot]));
                }
                offer(name, 0, &|| (*name).to_owned());
            }
            None => {
                offer(name, 0, &|| (*name).to_owned());
                if let Some((_, last)) = name.rsplit_once('.') {
                    offer(last, 1, &|| (*name).to_owned());
                }
                if let Some((first, _)) = name.split_once('.').filter(|_| !pattern.contains('.')) {
                    offer(first, 0, &|| format!("{first}.*"));
                }
            }
        }
    }
    match (nearest, names.as_slice()) {
        (Some((_, meant)), _) => format!("no column matches `{pattern}`; nearest: `{meant}`"),
        (None, []) => format!("no column matches `{pattern}`: there are no columns"),
        (None, names) => {
            let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let more = match names.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("no column matches `{pattern}`; there are {shown}{more}")
        }
    }
}

/// Most names that a message lists.
const SHOWN: usize = 8;
/// Bytes from which on the start of a name stands for the name.
const START: usize = 3;

/// Returns the edit distance of two names if one may have been meant by the other: if at most a third of the longer one differs, or
/// one begins with the other.
fn near(wanted: &str, name: &str) -> Option<usize> {
    let distance = edit_distance(wanted, name);
    let begins = wanted.len().min(name.len()) >= START && (name.starts_with(wanted) || wanted.starts_with(name));
    (begins || 3 * distance <= wanted.len().max(name.len())).then_some(distance)
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

    #[test]
    fn only_a_name_that_is_near_is_suggested() {
        for (pattern, names, expected) in [
            ("camera", &["time"][..], "no column matches `camera`; there are `time`"),
            ("speed", &["time", "log"], "no column matches `speed`; there are `time`, `log`"),
            ("camera", &["time", "camera.front.jpeg"], "no column matches `camera`; nearest: `camera.*`"),
            ("labelz", &["labels.key"], "no column matches `labelz`; nearest: `labels.*`"),
            ("jpg", &["time", "camera.jpeg"], "no column matches `jpg`; nearest: `camera.jpeg`"),
            ("log", &["time", "log_id"], "no column matches `log`; nearest: `log_id`"),
            ("lidr.*", &["time", "lidar.points"], "no column matches `lidr.*`; nearest: `lidar.*`"),
            ("x.*", &["time"], "no column matches `x.*`; there are `time`"),
            ("a", &[], "no column matches `a`: there are no columns"),
        ] {
            assert_eq!(no_match(pattern, names.iter().copied()), expected);
        }
        let many: Vec<String> = (0..10).map(|number| format!("column.{number}")).collect();
        let text = no_match("x", many.iter().map(String::as_str));
        assert!(text.ends_with("`column.6`, `column.7` and 2 more"), "{text}");
    }
}
