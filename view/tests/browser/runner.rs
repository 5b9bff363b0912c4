//! Runs a scenario of `browser.mjs`, for the suites of several packages.

use std::{path::PathBuf, process::Command};

use crate::common::environment::{root, skip};

/// Returns a Chromium without a window; `TETRYS_CHROMIUM` names one.
fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TETRYS_CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium-headless-shell", "chromium", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

/// Runs a scenario of `browser.mjs` with these addresses.
pub(crate) fn run(scenario: &str, addresses: &[String]) {
    let here = root().join("view");
    let Some(chromium) = chromium() else {
        return skip("no Chromium (Debian: chromium-headless-shell); TETRYS_CHROMIUM names one");
    };
    if !here.join("web/node_modules/playwright-core").is_dir() {
        return skip("no packages in view/web/node_modules: `npm ci` in view/web");
    }
    let mut command = Command::new("node");
    command.arg(here.join("tests/browser/browser.mjs")).arg(scenario).args(addresses).env("CHROMIUM", chromium);
    let Ok(output) = command.output() else { return skip("no Node") };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}{err}");
    assert!(output.status.success() && out.contains("\nall done\n"), "{out}{err}");
}
