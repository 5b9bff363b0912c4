//! The keys of a recipe, and the place of one that there is not.

use tetrys::{Error, Result};
use toml::de::{DeTable, DeValue};

const RECIPE: &[&str] = &["clock", "match", "tf", "defaults"];
const CLOCK: &[&str] = &["topic", "name", "fields", "rate", "start", "end", "on_equal", "gap"];
const MATCH: &[&str] =
    &["name", "topic", "policy", "tolerance", "max_gap", "future", "strict", "fields", "dt", "missing", "table"];
const TF: &[&str] = &["target", "source", "at", "tolerance", "topic", "static_topic", "time", "offset"];
/// Those of `[defaults]`, which `[clock]` and `[[match]]` have, too.
const TOPIC: &[&str] = &["time", "offset", "zero_stamp", "max_lateness", "on_late", "jump"];

/// Checks the keys of a text of TOML. Whether it is TOML, and what the values are, is checked elsewhere.
///
/// # Errors
/// - `Invalid`: there is no such key. The message has its line, and the keys that there are.
pub(super) fn check(text: &str) -> Result<()> {
    let Ok(document) = DeTable::parse(text) else { return Ok(()) };
    let recipe = document.get_ref();
    check_table(text, recipe, "a recipe", &[RECIPE])?;
    for (key, value) in recipe.iter() {
        match (&**key.get_ref(), value.get_ref()) {
            ("clock", DeValue::Table(clock)) => check_table(text, clock, "[clock]", &[CLOCK, TOPIC])?,
            ("defaults", DeValue::Table(defaults)) => check_table(text, defaults, "[defaults]", &[TOPIC])?,
            ("match", DeValue::Array(matches)) => {
                for matched in matches.iter() {
                    if let DeValue::Table(matched) = matched.get_ref() {
                        check_table(text, matched, "[[match]]", &[MATCH, TOPIC])?;
                    }
                }
            }
            ("tf", DeValue::Table(all)) => {
                for (name, tf) in all.iter() {
                    if let DeValue::Table(tf) = tf.get_ref() {
                        check_table(text, tf, &format!("[tf.{}]", name.get_ref().escape_debug()), &[TF])?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_table(text: &str, table: &DeTable<'_>, place: &str, known: &[&[&str]]) -> Result<()> {
    let known: Vec<&str> = known.concat();
    for (key, _) in table.iter() {
        let name: &str = key.get_ref();
        if !known.contains(&name) {
            let near = nearest(name, &known).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::invalid(format!(
                "line {}: {place} has no key `{}`{near}; there are: {}",
                line(text, key.span().start),
                name.escape_debug(),
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// Returns the error of a text of TOML, with its line.
pub(super) fn error(text: &str, error: &toml::de::Error) -> Error {
    let message = error.message().trim_end().replace('\n', ", ");
    let Some(span) = error.span() else { return Error::invalid(message) };
    let number = line(text, span.start);
    // Of a value inside of a table, serde may know the place of the table alone.
    let is_table = text.lines().nth(number - 1).is_some_and(|line| line.trim_start().starts_with('['));
    let place = if is_table { "in the table at line" } else { "line" };
    Error::invalid(format!("{place} {number}: {message}"))
}

/// Returns the number of the line that has a byte.
fn line(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count()
}

/// Returns the name that differs by the fewest letters, if these are at most a third of them.
fn nearest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().map(|name| (distance(wanted, name), *name)).min()?;
    (best.0 * 3 <= best.1.len().max(3)).then_some(best.1)
}

/// Returns how many letters must be added, removed or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // A long key is no typing error.
    for (number, found) in one.chars().take(40).enumerate() {
        let mut before = number;
        let mut next = vec![number + 1];
        for (place, expected) in other.iter().enumerate() {
            let above = row[place + 1];
            let replaced = before + usize::from(found != *expected);
            next.push(replaced.min(above + 1).min(next[place] + 1));
            before = above;
        }
        row = next;
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    #[test]
    fn a_wrong_key_is_named_with_its_line_and_the_keys_that_there_are() {
        let clock = "[clock]\ntopic = \"/a\"\ntime = \"log\"\n";
        for (text, expected) in [
            (
                format!("{clock}[[match]]\nname = \"b\"\ntolerence = 5\n"),
                "line 6: [[match]] has no key `tolerence`: did you mean `tolerance`?",
            ),
            (format!("{clock}colour = 5\n"), "line 4: [clock] has no key `colour`; there are: topic, name, "),
            (format!("{clock}[default]\ntime = \"log\"\n"), "line 4: a recipe has no key `default`: did you mean `defaults`?"),
            (format!("{clock}[tf.a]\nframe = \"map\"\n"), "line 5: [tf.a] has no key `frame`; there are: target, source"),
            (format!("{clock}[defaults]\ntopic = \"/a\"\n"), "line 5: [defaults] has no key `topic`"),
            (format!("{clock}gap = \"5 parsecs\"\n"), "expected a duration"),
            (format!("{clock}gap = \n"), "line "),
        ] {
            let error = Recipe::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("TOML parse error"), "{text}\n{error}");
        }
    }

    #[test]
    fn every_key_is_one() {
        let topic =
            "time = \"stamp\"\noffset = 0\nzero_stamp = \"drop\"\nmax_lateness = 1\non_late = \"drop\"\njump = \"none\"\n";
        let text = format!(
            "[clock]\ntopic = \"/a\"\nname = \"a\"\nfields = [\"x\"]\non_equal = \"first\"\ngap = 5\n{topic}[[match]]\nname = \"b\"\n\
             topic = \"/b\"\npolicy = \"last\"\ntolerance = 5\nfuture = false\nstrict = false\nfields = [\"x\"]\ndt = true\n\
             missing = \"drop\"\ntable = \"t\"\n{topic}[[match]]\nname = \"c\"\ntopic = \"/c\"\npolicy = \"linear\"\nmax_gap = 5\n\
             future = true\n[tf.d]\ntarget = \"map\"\nsource = \"lidar\"\nat = \"row\"\ntolerance = 5\ntopic = \"/tf\"\n\
             static_topic = \"/tf_static\"\ntime = \"log\"\noffset = 5\n[defaults]\n{topic}"
        );
        Recipe::parse(&text).unwrap();
        for key in [CLOCK, MATCH, TF, TOPIC].concat() {
            let is_of_rate = ["rate", "start", "end"].contains(&key);
            assert!(is_of_rate || text.contains(&format!("\n{key} = ")), "{key}");
        }
        let matched = "[[match]]\nname = \"a\"\ntopic = \"/a\"\ntime = \"log\"\npolicy = \"all\"\n";
        Recipe::parse(&format!("[clock]\nrate = \"1Hz\"\nstart = \"any\"\nend = \"any\"\n{matched}")).unwrap();
    }
}
