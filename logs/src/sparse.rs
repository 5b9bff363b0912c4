//! Checks the report of a log behind its last row: rows between two times that it does not have, and matches that most rows lack.

use tetrys::{Error, Result};

use crate::{
    entries::Entries,
    recipe::{Bound, Match, Policy, written},
    report::{LogReport, MatchReport},
    rows::Rows,
    same::{Span, span_text},
    times,
};

/// Returns the report of a log whose rows are written, with a warning for each match that more than half of the rows lack.
///
/// # Errors
/// - `Invalid`: the log has no row between the times of the import.
/// - Errors of temporary files.
pub(crate) fn checked(rows: &Rows, span: Span) -> Result<LogReport> {
    let mut report = rows.report();
    if report.rows == 0 && report.dropped == 0 && span != (None, None) {
        let messages = match extent(rows.of_ticks())? {
            Some((first, last)) => format!("its messages are from {} to {}", times::text(first), times::text(last)),
            None => "it has no messages".to_owned(),
        };
        return Err(Error::invalid(format!("log {}: no row between {}: {messages}", report.log, span_text(span))));
    }
    // The table of a match may well have nothing of a log.
    if report.rows == 0 && rows.matches().next().is_some() {
        let why = match report.dropped {
            0 => "the clock has no ticks".to_owned(),
            dropped => format!("missing = \"drop\" has left out all {dropped}"),
        };
        report.warnings.push(format!("log {}: no rows: {why}", report.log));
    }
    for (matched, found, messages) in rows.matches() {
        let warning = warning(matched, &found, &report, messages)?;
        report.warnings.extend(warning);
    }
    Ok(report)
}

/// Returns the first and the last time of some messages. Those of each topic are sorted.
fn extent<'a>(messages: impl Iterator<Item = &'a Entries>) -> Result<Option<(i64, i64)>> {
    let mut found: Option<(i64, i64)> = None;
    for entries in messages {
        let Some(last) = entries.len().checked_sub(1) else { continue };
        for number in [0, last] {
            let time = entries.get(number)?.time;
            found = Some(found.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
    }
    Ok(found)
}

/// Returns a warning if more than half of the rows lack a match: its bound is likely too small, or has the wrong unit.
fn warning(matched: &Match, found: &MatchReport, log: &LogReport, messages: &Entries) -> Result<Option<String>> {
    let rows = log.rows + log.dropped;
    let (bound, key) = match matched.policy.is_between() {
        true => (matched.max_gap, "max_gap"),
        false => (matched.tolerance, "tolerance"),
    };
    let Some(Bound::At(bound)) = bound else { return Ok(None) };
    // A log may lack a topic, and then says so by nulls.
    if matched.policy == Policy::All || found.messages == 0 || found.missing.saturating_mul(2) <= rows {
        return Ok(None);
    }
    let (mut longest, mut before) = (0_u64, None::<i64>);
    for number in 0..messages.len() {
        let time = messages.get(number)?.time;
        longest = longest.max(before.map_or(0, |before| time.abs_diff(before)));
        before = Some(time);
    }
    let lack = match matched.policy.is_between() {
        true => format!("are between no two messages of `{}` at most {} apart", matched.name, written(bound)),
        false => format!("have no `{}` within {}", matched.name, written(bound)),
    };
    Ok(Some(format!(
        "log {}: {} of {rows} rows {lack}; its messages are up to {} apart: see `{key}`",
        log.log,
        found.missing,
        rounded(longest)
    )))
}

/// Writes a duration with two digits or more, and a unit.
fn rounded(ns: u64) -> String {
    match ns {
        10_000_000_000.. => format!("{} s", ns / 1_000_000_000),
        10_000_000.. => format!("{} ms", ns / 1_000_000),
        10_000.. => format!("{} us", ns / 1_000),
        _ => format!("{ns} ns"),
    }
}
