//! Progress bars on stderr, shown only if stderr is a terminal.

use std::{
    fmt::{self, Write},
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

use crate::text;

/// Returns a bar that counts rows. It is drawn at once: the first rows may take long.
pub(crate) fn rows(what: &'static str, total: u64, quiet: bool) -> ProgressBar {
    let bar = bar(what, total, quiet, "{prefix} [{bar:40}] {human_pos} of {human_len} rows, {rate} rows/s, {eta} left");
    bar.tick();
    bar
}

/// Returns a bar that counts bytes.
pub(crate) fn bytes(what: &'static str, total: u64, quiet: bool) -> ProgressBar {
    bar(what, total, quiet, "{prefix} [{bar:40}] {decimal_bytes} of {decimal_total_bytes}, {byte_rate}, {eta} left")
}

fn bar(what: &'static str, total: u64, quiet: bool, template: &str) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style
        .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&rate(state.per_sec()));
        })
        .with_key("byte_rate", |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&byte_rate(state.per_sec()));
        });
    ProgressBar::new(total).with_style(style.progress_chars("=> ")).with_prefix(what)
}

/// Formats a number per second, without decimals: they would change too fast to read.
fn rate(each_second: f64) -> String {
    text::count(each_second.max(0.0).round() as u64)
}

/// Formats bytes per second, without decimals: `12 MB/s`.
fn byte_rate(each_second: f64) -> String {
    let (mut value, mut unit) = (each_second.max(0.0), "B");
    for larger in ["kB", "MB", "GB"] {
        if value >= 999.5 {
            (value, unit) = (value / 1000.0, larger);
        }
    }
    format!("{value:.0} {unit}/s")
}

/// The bar of the command that runs, to which the library reports.
static WATCHED: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar that follows what the library reports of a change or a comparison. It disappears when this value is dropped.
#[derive(Debug)]
pub(crate) struct Watching(ProgressBar);

/// Shows how far the work of this command is.
pub(crate) fn watch(command: &'static str) -> Watching {
    let bar = bar(command, 1, false, "{prefix}{msg} [{bar:30}] {percent} %, {elapsed} so far");
    if !bar.is_hidden() {
        // Without a terminal nobody listens, and reports cost nothing.
        let _ = set_global_default(Reports);
        *WATCHED.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        bar.tick();
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    Watching(bar)
}

impl Drop for Watching {
    fn drop(&mut self) {
        *WATCHED.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.finish_and_clear();
    }
}

/// Passes the reports of the library to the bar.
struct Reports;

impl Subscriber for Reports {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == "tetrys::progress"
    }

    fn event(&self, event: &Event<'_>) {
        let mut report = Report::default();
        event.record(&mut report);
        if let Some(bar) = WATCHED.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            let what = format!(": {}", report.what);
            if bar.message() != what {
                bar.set_position(0);
                bar.set_message(what);
            }
            bar.set_length(report.total.max(1));
            bar.set_position(report.done);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The fields of a report.
#[derive(Default)]
struct Report {
    what: String,
    done: u64,
    total: u64,
}

impl Visit for Report {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "done" => self.done = value,
            "total" => self.total = value,
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "what" {
            value.clone_into(&mut self.what);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_no_decimals() {
        assert_eq!([0.0, 0.4, 1234.56].map(rate), ["0", "0", "1,235"]);
        assert_eq!([0.0, 999.4, 999.6, 12_345_678.9].map(byte_rate), ["0 B/s", "999 B/s", "1 kB/s", "12 MB/s"]);
    }
}
