//! Checks whether a stored reference to another store is allowed: only URLs at or below those that the user allowed are.
//!
//! URLs are compared as places: scheme, host and path, with every part decoded and dots resolved, part by part. So `s3://b/t`
//! allows `s3://b/t/x`, but neither `s3://b/t2` nor `s3://b/t/../u`. Allowed URLs come from the call, from `TETRYS_ALLOW` and
//! from the configuration file.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use object_store::path::Path as ObjectPath;
use serde::Deserialize;
use url::Url;

use super::{
    failure::{is_out_of_files, of_system, public_url},
    local,
};
use crate::{Error, Result, error::short};

/// Maximum length of a URL in bytes.
const LONGEST: usize = 4096;

/// The location of a table in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    scheme: String,
    user: String,
    host: String,
    port: Option<u16>,
    names: Vec<String>,
}

impl Place {
    /// Parses the place of a URL. Encoded separators and dots are refused, because the code that opens the URL may decode them.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a URL, has no host or bucket, or has a password, a query or a fragment.
    pub(crate) fn of(text: &str) -> Result<Self> {
        // The message leaves out passwords and queries, which may be secret.
        let refuse = |why: &str| Error::invalid(format!("URL {}: {why}", short(public_url(text))));
        let lower = text.to_ascii_lowercase();
        if text.len() > LONGEST {
            return Err(refuse(&format!("it has over {LONGEST} bytes")));
        }
        if text.contains('\\') || ["%2e", "%2f", "%5c", "%00"].iter().any(|masked| lower.contains(masked)) {
            return Err(refuse("it has a backslash, or a separator or dots written with %"));
        }
        let url = Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
        if url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("it has a password, a query or a fragment"));
        }
        let user = url.username().to_owned();
        let host = url.host_str().unwrap_or_default();
        let scheme = match url.scheme() {
            "s3" | "s3a" => "s3",
            "gs" | "gcs" => "gs",
            "abfs" | "abfss" if !user.is_empty() => "abfss",
            "az" | "azure" | "adl" | "abfs" | "abfss" => "az",
            other => other,
        };
        // Host names are case-insensitive; bucket names may not be.
        let host = if scheme == "abfss" { host.to_ascii_lowercase() } else { host.to_owned() };
        if host.is_empty() && scheme != "file" {
            return Err(refuse("it has no bucket and no host"));
        }
        // Decoded as in the code that opens the URL.
        let path = ObjectPath::from_url_path(url.path()).map_err(|error| refuse(&error.to_string()))?;
        let names = path.parts().map(|name| name.as_ref().to_owned()).collect();
        Ok(Self { scheme: scheme.to_owned(), user, host, port: url.port(), names })
    }

    /// Returns the places of a URL or local path that a user allows: as written, and with links resolved.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a URL or path, has no host or bucket, or has a password, a query or a fragment.
    pub(crate) fn meant(text: &str) -> Result<Vec<Self>> {
        let not_allowed = |error: Error| error.at(format!("allowed URL `{}`", short(public_url(text))));
        let path = match text.split_once("://") {
            Some(("file", _)) => Url::parse(text).ok().and_then(|url| url.to_file_path().ok()),
            Some(_) => None,
            None => Some(PathBuf::from(text.strip_prefix("file:").unwrap_or(text))),
        };
        let Some(path) = path else { return Ok(vec![Self::of(text).map_err(not_allowed)?]) };
        if path.as_os_str().is_empty() {
            return Err(not_allowed(Error::invalid("the path is empty")));
        }
        let url = |path: &Path| Url::from_directory_path(path).ok().and_then(|url| Self::of(url.as_str()).ok());
        let written = std::path::absolute(&path).ok().and_then(|path| url(&path));
        let real = local::resolve(&path).ok().and_then(|(there, missing)| url(&there.join(missing.iter().collect::<PathBuf>())));
        let mut places: Vec<Self> = written.into_iter().chain(real).collect();
        places.dedup();
        match places.is_empty() {
            true => Err(not_allowed(Error::invalid("it cannot be written as a URL"))),
            false => Ok(places),
        }
    }

    /// Whether `other` is this place or below it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        (&self.scheme, &self.user, &self.host, self.port) == (&other.scheme, &other.user, &other.host, other.port)
            && other.names.starts_with(&self.names)
    }
}

/// Returns the URLs in `allow` of the configuration file. The file is `TETRYS_CONFIG`, else `tetrys/config.toml` in
/// `XDG_CONFIG_HOME`, else in `~/.config`. At the default path, a file that does not exist or may not be read counts as empty.
///
/// # Errors
/// - `Invalid`: the file cannot be read, has an unknown key, or `TETRYS_CONFIG` names a file that does not exist.
pub(super) fn configured() -> Result<Vec<String>> {
    let named = variable("TETRYS_CONFIG").map(PathBuf::from);
    let usual = || match variable("XDG_CONFIG_HOME") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(PathBuf::from(variable("HOME")?).join(".config")),
    };
    let Some(path) = named.clone().or_else(|| Some(usual()?.join("tetrys").join("config.toml"))) else { return Ok(Vec::new()) };
    let refuse = |why: &dyn fmt::Display| Error::invalid(format!("configuration {}: {why}", path.display()));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let Configuration { allow } = toml::from_str(&text).map_err(|error| refuse(&error.message()))?;
            Ok(allow)
        }
        // The default path does not exist, or belongs to another user.
        Err(error) if named.is_none() && is_absent(error.kind()) => Ok(Vec::new()),
        Err(error) if is_out_of_files(&error) => Err(of_system(&error).at(format!("reading {}", path.display()))),
        Err(error) => Err(refuse(&error)),
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

/// Returns the URLs in `TETRYS_ALLOW`, which are separated by spaces.
pub(super) fn in_environment() -> Vec<String> {
    variable("TETRYS_ALLOW").iter().flat_map(|urls| urls.split_whitespace()).map(str::to_owned).collect()
}

/// Returns the command line flag that allows a URL. The URL is quoted for the shell, because it may come from stored bytes.
pub fn allow_flag(url: &str) -> String {
    let url = url.replace('\'', "%27");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-+,@%=".contains(c);
    if url.chars().all(is_plain) { format!("--allow {url}") } else { format!("--allow '{url}'") }
}

/// Returns the hint how to allow a URL.
pub(crate) fn how_to_allow(url: &str) -> String {
    let flag = allow_flag(url);
    format!(
        "if you trust it, allow it: `{flag}` on the command line, `allow=[..]` in Python, the store options in Rust, \
         TETRYS_ALLOW in the environment, or `allow` in ~/.config/tetrys/config.toml"
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    #[serde(default)]
    allow: Vec<String>,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
