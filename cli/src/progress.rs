//! Progress bars on stderr, shown only if stderr is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar that counts rows.
pub(crate) fn rows(what: &'static str, total: u64, quiet: bool) -> ProgressBar {
    bar(what, total, quiet, "{prefix} [{bar:40}] {human_pos} of {human_len} rows, {per_sec}, {eta} left")
}

/// Returns a bar that counts bytes.
pub(crate) fn bytes(what: &'static str, total: u64, quiet: bool) -> ProgressBar {
    bar(what, total, quiet, "{prefix} [{bar:40}] {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left")
}

fn bar(what: &'static str, total: u64, quiet: bool, template: &str) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style.progress_chars("=> ")).with_prefix(what)
}
