//! Which tables a reader follows into other stores: those at or below the URLs that its user allowed, and no others.
//!
//! URLs are compared as places: scheme, host and names, each decoded and with its dots resolved, name by name. So `s3://b/t`
//! allows `s3://b/t/x` and neither `s3://b/t2` nor `s3://b/t/../u`. What is allowed comes from the call, from `TETRYS_ALLOW`
//! and from the configuration file.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use object_store::path::Path as ObjectPath;
use serde::Deserialize;
use url::Url;

use super::{failure::public_url, local};
use crate::{Error, Result, error::short};

/// Bytes of the longest URL that is compared.
const LONGEST: usize = 4096;

/// Where a table lies, in the one way in which it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    scheme: String,
    user: String,
    host: String,
    port: Option<u16>,
    names: Vec<String>,
}

impl Place {
    /// The place of a URL. Separators and dots in disguise are refused: what opens a URL may unmask them.
    ///
    /// # Errors
    /// `Invalid` for what is no URL, has no host or bucket, or holds a password, a query or a fragment.
    pub(crate) fn of(text: &str) -> Result<Self> {
        // The message leaves out what may be secret: a password, a query.
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
        // Names of machines have no case; those of buckets may.
        let host = if scheme == "abfss" { host.to_ascii_lowercase() } else { host.to_owned() };
        if host.is_empty() && scheme != "file" {
            return Err(refuse("it has no bucket and no host"));
        }
        // As whatever opens the URL decodes it.
        let path = ObjectPath::from_url_path(url.path()).map_err(|error| refuse(&error.to_string()))?;
        let names = path.parts().map(|name| name.as_ref().to_owned()).collect();
        Ok(Self { scheme: scheme.to_owned(), user, host, port: url.port(), names })
    }

    /// The places that a user means by a URL or by a path of this machine: as it is written, and where links lead.
    ///
    /// # Errors
    /// As [`Place::of`].
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

    /// Whether `other` is this place, or lies below it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        (&self.scheme, &self.user, &self.host, self.port) == (&other.scheme, &other.user, &other.host, other.port)
            && other.names.starts_with(&self.names)
    }
}

/// What a user allows once and for all: `allow` in the configuration file. That is `TETRYS_CONFIG`, else
/// `tetrys/config.toml` in `XDG_CONFIG_HOME`, else in `~/.config`; one that is not there says nothing.
///
/// # Errors
/// `Invalid` for a file that cannot be read or says what is not known, and where the one that is named is not there. One in the usual place that may not be
/// read says nothing.
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
        // A usual place that is not there, or is somebody else's, says nothing.
        Err(error) if named.is_none() && is_absent(error.kind()) => Ok(Vec::new()),
        Err(error) => Err(refuse(&error)),
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

/// What `TETRYS_ALLOW` says: URLs with spaces between them.
pub(super) fn in_environment() -> Vec<String> {
    variable("TETRYS_ALLOW").iter().flat_map(|urls| urls.split_whitespace()).map(str::to_owned).collect()
}

/// The flag of the command line that allows a URL. The URL may come from stored bytes: it is quoted for the shell.
pub fn allow_flag(url: &str) -> String {
    let url = url.replace('\'', "%27");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-+,@%=".contains(c);
    if url.chars().all(is_plain) { format!("--allow {url}") } else { format!("--allow '{url}'") }
}

/// A hint with the flag that allows this URL.
pub(crate) fn how_to_allow(url: &str) -> String {
    let flag = allow_flag(url);
    format!(
        "where you trust it, allow it: `{flag}` on the command line, `allow=[..]` in Python, the store options in Rust, \
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
