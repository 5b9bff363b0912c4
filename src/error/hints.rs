//! Hints in error messages: the known name that is nearest to an unknown one, and short lists of names.

/// Returns the name that is most similar to `wanted` (Jaro-Winkler, case ignored), if its similarity exceeds 0.7.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase());
    let named = names.into_iter().map(|name| (likeness(name), name));
    named.filter(|(likeness, _)| *likeness > 0.7).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

/// Returns a hint for an index column that does not exist: the nearest one, or all.
pub(crate) fn hint<'a>(missing: &str, columns: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(missing, columns.clone()) {
        Some(near) => format!("nearest: `{near}`"),
        None => format!("index columns: {}", listed(columns)),
    }
}

/// Joins the first 20 names with commas, and adds how many more there are.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_near() {
        let names = ["log_id", "timestamp", "agents_count"];
        assert_eq!(nearest("agent_count", names), Some("agents_count"));
        assert_eq!(nearest("TimeStamp", names), Some("timestamp"));
        assert_eq!(nearest("xyz", names), None);
        assert_eq!(listed(names), "log_id, timestamp, agents_count");
        assert_eq!(hint("agent_count", names), "nearest: `agents_count`");
        assert_eq!(hint("", names), "index columns: log_id, timestamp, agents_count");
    }
}
