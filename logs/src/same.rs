//! Logs that a table has already: whether their files are those that were imported, and the times those that were asked for.
//!
//! A log is known by its name. The report of its import has the bytes of its files and the times, so that another file of the same name,
//! such as the whole one after a cut one, does not count as imported.

use std::collections::{BTreeMap, HashMap};

use tetrys::{Error, Result, extension::blocking};
use tokio::task::JoinSet;

use crate::{
    log::{LogSource, OpenOptions},
    report::{LogReport, Report},
    resume, times,
};

/// First and last time of rows, in nanoseconds since 1970.
pub(crate) type Span = (Option<i64>, Option<i64>);

/// Maximum logs whose files are looked up at the same time.
const AT_A_TIME: usize = 32;

/// Checks the times of an import.
///
/// # Errors
/// - `Invalid`: the first one is later than the last one.
pub(crate) fn check_span(span: Span) -> Result<()> {
    match span {
        (Some(from), Some(to)) if from > to => Err(Error::invalid(format!(
            "expected a start of the rows (--from) that is not after their end (--to), found {} and {}",
            times::text(from),
            times::text(to)
        ))),
        _ => Ok(()),
    }
}

/// Returns the text of the times of an import.
pub(crate) fn span_text(span: Span) -> String {
    let text = |time: Option<i64>, open: &str| time.map_or_else(|| open.to_owned(), times::text);
    format!("{} and {}", text(span.0, "the start"), text(span.1, "the end"))
}

/// Returns an error for each of these logs that the table has from another file, or with other times. `report` is that of the table, and
/// `span` has the times of the import.
/// Files that are not there any more, and logs of tables that do not say what they were made of, are taken for the same.
pub(crate) async fn different(here: &[LogSource], report: &Report, span: Span, options: &OpenOptions) -> BTreeMap<String, Error> {
    let known: HashMap<&str, &LogReport> = report.logs.iter().map(|log| (log.log.as_str(), log)).collect();
    let (mut found, mut looked_up) = (BTreeMap::new(), Vec::new());
    for log in here {
        let Some(report) = known.get(log.name.as_str()) else { continue };
        match (report.span, report.bytes) {
            (Some(then), _) if then != span => {
                let why = format!(
                    "the table has its rows between {}, and these are between {}; its rows stay as they are: import it into another \
                     table, or delete its rows first",
                    span_text(then),
                    span_text(span)
                );
                found.insert(log.name.clone(), Error::exists(why));
            }
            (_, Some(then)) => looked_up.push((log.clone(), then)),
            _ => {}
        }
    }
    for some in looked_up.chunks(AT_A_TIME) {
        let mut jobs = JoinSet::new();
        for (log, then) in some.iter().cloned() {
            let options = options.clone();
            jobs.spawn(async move { (log.name.clone(), then, blocking(move || bytes_of(&log, &options)).await) });
        }
        while let Some(job) = jobs.join_next().await {
            let Ok((name, then, Ok(Some(now)))) = job else { continue };
            if now != then {
                let why = format!(
                    "this is not the file that was imported: {now} bytes now, {then} then; its rows stay as they are: import it into \
                     another table, or delete its rows first"
                );
                found.insert(name, Error::exists(why));
            }
        }
    }
    found
}

/// Returns the bytes of the files of a log. Blocks.
fn bytes_of(log: &LogSource, options: &OpenOptions) -> Result<Option<u64>> {
    Ok(resume::bytes(&resume::stamps(log, options)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_behind_the_end_is_refused_with_both() {
        assert!(check_span((Some(5), Some(5))).is_ok() && check_span((Some(5), None)).is_ok());
        let error = check_span((Some(2_000_000_000), Some(1_500_000_000))).unwrap_err().to_string();
        assert!(error.ends_with("found 1970-01-01T00:00:02Z and 1970-01-01T00:00:01.5Z"), "{error}");
    }
}
