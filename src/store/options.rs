//! [`StoreOptions`]: connection options as flat names and values, in the spelling of other tools (`aws_region` or `region`,
//! `google_service_account`, `azure_storage_account_name`, `timeout`). They come from calls and from the environment, never from
//! a URL, and their values are never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use super::allowed::{self, Place};
use crate::{Error, Result};

/// Options whose values may be shown. The values of all other options are removed from messages.
const PUBLIC: [&str; 16] = [
    "aws_region",
    "aws_default_region",
    "aws_endpoint",
    "aws_endpoint_url_s3",
    "aws_bucket",
    "azure_storage_endpoint",
    "azure_storage_account_name",
    "azure_container_name",
    "google_bucket",
    "google_base_url",
    "aws_profile",
    "ca_bundle",
    "tetrys_cache",
    "tetrys_cache_size",
    "tetrys_cache_memory",
    "tetrys_cold_reads",
];
/// Options of this library and of the AWS files, in addition to those of the backends.
const OWN: [&str; 17] = [
    "aws_ec2_metadata_disabled",
    "ca_bundle",
    "profile",
    "aws_profile",
    "aws_config_file",
    "aws_shared_credentials_file",
    "max_retries",
    "retry_timeout",
    "single_writer",
    "cache",
    "tetrys_cache",
    "cache_size",
    "tetrys_cache_size",
    "cache_memory",
    "tetrys_cache_memory",
    "cold_reads",
    "tetrys_cold_reads",
];
/// Options that the message about an unknown option lists.
const KNOWN: [&str; 24] = [
    "region",
    "endpoint",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "skip_signature",
    "virtual_hosted_style_request",
    "aws_profile",
    "google_service_account",
    "azure_storage_account_name",
    "azure_storage_account_key",
    "connection_string",
    "allow_http",
    "timeout",
    "connect_timeout",
    "read_timeout",
    "max_retries",
    "retry_timeout",
    "ca_bundle",
    AUTHORIZATION,
    "cache",
    "cache_size",
    "cache_memory",
    "cold_reads",
];
/// The header `Authorization` for web servers.
pub(super) const AUTHORIZATION: &str = "authorization";
/// Minimum length of a secret. A shorter value (`true`, `30s`, `443`) is a setting.
const SHORTEST_SECRET: usize = 6;

/// Connection options of stores: names and values, from a call and from the environment.
///
/// Names are those of `object_store`, in upper or lower case, with or without the prefix of their service. `Debug` shows only
/// names. Further options:
///
/// | option | meaning |
/// |---|---|
/// | `endpoint` (Google; in the environment `STORAGE_EMULATOR_HOST`) | another server, such as an emulator |
/// | `connection_string` (in the environment `AZURE_STORAGE_CONNECTION_STRING`) | connection string of Azure |
/// | `aws_profile` | profile in `~/.aws/config` and `~/.aws/credentials` |
/// | `retry_timeout` | how long a request is sent again: 2 minutes; 30 s for a read without progress; 3 s if a host that has never answered refuses the connection or has no address. The option sets all three |
/// | `max_retries` | how often a request is sent again; default: time decides |
/// | `read_timeout` | idle timeout of one attempt: 15 s for a read, 30 s for a write |
/// | `timeout`, `connect_timeout` | total time of a request and time to connect |
/// | `ca_bundle` (S3 in the environment `AWS_CA_BUNDLE`, in a profile `ca_bundle`) | PEM file of authorities that are trusted instead of those of the system |
/// | `authorization` (web servers) | the header `Authorization` of each request, such as `Bearer TOKEN`; redirected requests do not have it |
/// | `single_writer` | promises that there are no other writers |
/// | `cache` (in the environment `TETRYS_CACHE`) | folder of the cache of remote reads; default: no cache |
/// | `cache_size` (`TETRYS_CACHE_SIZE`) | maximum size of the cache on disk, such as `512MiB` or `20GB`; default 10 GiB |
/// | `cache_memory` (`TETRYS_CACHE_MEMORY`) | maximum size of the cache in memory; default 64 MiB with a folder, else 0 |
/// | `cold_reads` (`TETRYS_COLD_READS`) | how rows are read from a directory: `cached` through the page cache of the system; `direct` past it, up to 16 ranges at a time, for data much larger than memory; default `auto`, which is `cached` |
///
/// Several processes may share one cache folder.
///
/// ```
/// use tetrys::store::StoreOptions;
///
/// let options = StoreOptions::new([("aws_region", "eu-west-1"), ("aws_secret_access_key", "wJalrXUtnFEMI")]);
/// assert_eq!(format!("{options:?}"), "StoreOptions([aws_region, aws_secret_access_key])");
/// let without_names: Result<StoreOptions, _> = ["region".to_owned()].iter().map(|text| StoreOptions::parse_pair(text)).collect();
/// assert!(without_names.is_err());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct StoreOptions {
    given: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    /// Whether only the given options count: no environment, no default profile, no credentials from the metadata service.
    alone: bool,
    /// URLs that stored references may lead to, in addition to neighbours.
    allowed: Vec<String>,
}

/// A remote service. Each has its own options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Gcs,
    Azure,
    Http,
}

impl StoreOptions {
    /// Creates options from `options` and the environment (`AWS_*`, `GOOGLE_*`, `AZURE_*`, `STORAGE_EMULATOR_HOST`,
    /// `TETRYS_CACHE*`, `TETRYS_ALLOW`). The given options take precedence.
    pub fn new<K: Into<String>, V: Into<String>>(options: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { env: environment(), alone: false, ..Self::only(options) }
    }

    /// Creates options from the environment alone.
    pub fn from_env() -> Self {
        Self { env: environment(), ..Self::default() }
    }

    /// Creates options from `options` alone: without the environment, the default profile, and credentials from the
    /// metadata service.
    pub fn only<K: Into<String>, V: Into<String>>(options: impl IntoIterator<Item = (K, V)>) -> Self {
        let given = options.into_iter().map(|(name, value)| (name.into().to_ascii_lowercase(), value.into())).collect();
        Self { given, env: BTreeMap::new(), alone: true, allowed: Vec::new() }
    }

    /// Allows tables to refer to other tables at or below these URLs: `s3://bucket/team` allows `s3://bucket/team/sensors`, but
    /// neither `s3://bucket/teams` nor `s3://bucket/team/../other`. A path stands for its `file://` URL. Neighbours in the same
    /// bucket, on the same host or on the same machine are always allowed.
    ///
    /// The URLs in `TETRYS_ALLOW` (separated by spaces) and in `allow` of `~/.config/tetrys/config.toml` are allowed too, unless
    /// the options were created by [`StoreOptions::only`]. A malformed URL is reported as `Invalid` when a store is opened.
    ///
    /// ```
    /// use tetrys::StoreOptions;
    /// let options = StoreOptions::from_env().allow(["s3://bucket/team"]);
    /// assert!(options.allows("s3://bucket/team/sensors")?);
    /// assert!(!options.allows("s3://bucket/teams")?);
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn allow<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.allowed.extend(urls.into_iter().map(Into::into));
        self
    }

    /// Whether a stored reference to `url` is allowed. A reference that cannot be compared with the allowed URLs is not allowed.
    ///
    /// # Errors
    /// - `Invalid`: an allowed URL is malformed, or the configuration file cannot be read.
    pub fn allows(&self, url: &str) -> Result<bool> {
        let allowed = self.allowed_places()?;
        Ok(Place::of(url).is_ok_and(|place| allowed.iter().any(|existing| existing.holds(&place))))
    }

    /// Returns the places that references may lead to.
    ///
    /// # Errors
    /// - `Invalid`: an allowed URL is malformed, or the configuration file cannot be read.
    pub(super) fn allowed_places(&self) -> Result<Vec<Place>> {
        let ambient = if self.alone { Vec::new() } else { [allowed::in_environment(), allowed::configured()?].concat() };
        let places = self.allowed.iter().chain(&ambient).map(|url| Place::meant(url)).collect::<Result<Vec<_>>>();
        Ok(places?.concat())
    }

    /// Splits `name=value` into name and value.
    ///
    /// # Errors
    /// - `Invalid`: there is no `=` or no name. The message does not repeat the text, because it may be secret.
    ///
    /// ```
    /// # use tetrys::store::StoreOptions;
    /// assert_eq!(StoreOptions::parse_pair("region=eu-west-1")?, ("region".to_owned(), "eu-west-1".to_owned()));
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn parse_pair(text: &str) -> Result<(String, String)> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Error::invalid("a store option is `name=value`, for example `region=eu-west-1`")),
        }
    }

    /// Whether the caller gave no options.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the options for other stores: the environment and the cache options, without the other given options.
    pub(super) fn ambient(&self) -> Self {
        // The cache serves all stores, and its options are not secrets of one store.
        let cache =
            |name: &&String| ["cache", "tetrys_cache", "cold_reads", "tetrys_cold_reads"].iter().any(|own| name.starts_with(own));
        let given = self.given.iter().filter(|(name, _)| cache(name)).map(|(name, value)| (name.clone(), value.clone()));
        Self { given: given.collect(), ..self.clone() }
    }

    /// Returns the options without the header `Authorization`.
    pub(super) fn without_authorization(&self) -> Self {
        let mut options = self.clone();
        options.given.remove(AUTHORIZATION);
        options
    }

    /// Returns the value of a cache option: `tetrys_cache` or a name that begins so.
    pub(super) fn of_cache(&self, name: &str) -> Option<&str> {
        let alias = name.trim_start_matches("tetrys_");
        self.given.get(name).or_else(|| self.given.get(alias)).or_else(|| self.env.get(name)).map(String::as_str)
    }

    /// Whether rows are read from a directory past the page cache.
    ///
    /// # Errors
    /// - `Invalid`: the value is not one of the option's.
    pub(super) fn reads_direct(&self) -> Result<bool> {
        match self.of_cache("tetrys_cold_reads") {
            None | Some("" | "auto" | "cached") => Ok(false),
            Some("direct") => Ok(true),
            Some(other) => {
                let found: String = other.chars().take(64).collect();
                Err(Error::invalid(format!("store option `cold_reads`: expected `auto`, `cached` or `direct`, found `{found}`")))
            }
        }
    }

    /// Checks that some service knows each given name. One set of options may serve several services.
    ///
    /// # Errors
    /// - `Invalid`: no service knows a given name.
    pub(super) fn check(&self) -> Result<()> {
        let is_known = |name: &str| {
            let services = [Service::S3, Service::Gcs, Service::Azure, Service::Http];
            services.into_iter().any(|service| canonical(service, name).is_some())
        };
        match self.given.keys().find(|name| !is_known(name)) {
            Some(name) => {
                let name: String = name.chars().take(64).collect();
                Err(Error::invalid(format!(
                    "unknown store option `{name}`; there are: {}, and the other names of the object_store library",
                    KNOWN.join(", ")
                )))
            }
            None => Ok(()),
        }
    }

    /// Returns the options of one service by their canonical names.
    ///
    /// # Errors
    /// - `Invalid`: no service knows a given name.
    pub(super) fn of(&self, service: Service) -> Result<Resolved> {
        self.check()?;
        let named = |(name, value): (&String, &String)| Some((canonical(service, name)?, value.clone()));
        let given = self.given.iter().filter_map(named).collect();
        let env = self.env.iter().filter_map(|(name, value)| Some((canonical(service, name)?, value.clone()))).collect();
        Ok(Resolved { given, env, alone: self.alone })
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for StoreOptions {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(options: I) -> Self {
        Self::new(options)
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.given.keys().cloned().collect();
        write!(f, "StoreOptions([{}])", names.join(", "))
    }
}

/// The options of one service, by canonical name. Contains secrets, so it has no `Debug`.
pub(super) struct Resolved {
    pub(super) given: BTreeMap<String, String>,
    pub(super) env: BTreeMap<String, String>,
    /// Whether only the given options count, as for [`StoreOptions::only`].
    pub(super) alone: bool,
}

impl Resolved {
    /// Returns the given value of an option, else the value of the environment.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.given.get(name).or_else(|| self.env.get(name)).map(String::as_str)
    }

    /// Returns all options. The given ones take precedence.
    pub(super) fn merged(&self) -> BTreeMap<String, String> {
        self.env.iter().chain(&self.given).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Returns the values of `options` that messages must not contain.
pub(super) fn secrets(options: &BTreeMap<String, String>) -> Vec<String> {
    let hidden = options.iter().filter(|(name, value)| !PUBLIC.contains(&name.as_str()) && value.len() >= SHORTEST_SECRET);
    // A server may repeat `TOKEN` of `Bearer TOKEN`.
    let bare = options.get(AUTHORIZATION).and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim().to_owned());
    let bare = bare.filter(|token| token.len() >= SHORTEST_SECRET);
    let mut found: Vec<String> = hidden.map(|(_, value)| value.clone()).chain(bare).collect();
    // The longest first: a secret may contain a shorter one.
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found
}

/// Returns the canonical name of an option; `None` if the service does not know the name.
fn canonical(service: Service, name: &str) -> Option<String> {
    if OWN.contains(&name) {
        return Some(match name {
            "profile" => "aws_profile".to_owned(),
            _ if name.starts_with("cache") || name == "cold_reads" => format!("tetrys_{name}"),
            _ => name.to_owned(),
        });
    }
    let key = match service {
        Service::S3 if name == "aws_ca_bundle" => "ca_bundle".to_owned(),
        Service::S3 => AmazonS3ConfigKey::from_str(name).ok()?.as_ref().to_owned(),
        Service::Gcs => match name {
            "endpoint" | "endpoint_url" | "google_endpoint" | "google_endpoint_url" => "google_base_url".to_owned(),
            "storage_emulator_host" => name.to_owned(),
            _ => GoogleConfigKey::from_str(name).ok()?.as_ref().to_owned(),
        },
        Service::Azure => match name {
            "connection_string" | "azure_storage_connection_string" => "azure_storage_connection_string".to_owned(),
            _ => AzureConfigKey::from_str(name).ok()?.as_ref().to_owned(),
        },
        Service::Http if name == AUTHORIZATION => name.to_owned(),
        Service::Http => ClientConfigKey::from_str(name).ok()?.as_ref().to_owned(),
    };
    Some(key)
}

/// Returns the options in the environment.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?.to_ascii_lowercase(), value.into_string().ok()?))
    };
    let prefixes = ["aws_", "google_", "azure_", "tetrys_cache", "storage_emulator_host"];
    let ours = |name: &str| prefixes.iter().any(|service| name.starts_with(service));
    let variables = std::env::vars_os().filter_map(text);
    // An empty variable counts as unset, as in the AWS tools.
    variables.filter(|(name, value)| ours(name) && !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_and_cases_mean_one_option() {
        let options = StoreOptions::only([("REGION", "a"), ("endpoint", "b"), ("AWS_TOKEN", "c"), ("timeout", "3s")]);
        let found = options.of(Service::S3).unwrap().given;
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["aws_endpoint", "aws_region", "aws_session_token", "timeout"]);
    }

    #[test]
    fn options_of_other_services_are_left_alone_and_unknown_ones_refused() {
        let mixed = StoreOptions::only([("google_service_account", "/key.json"), ("aws_region", "r")]);
        assert_eq!(mixed.of(Service::S3).unwrap().given.len(), 1);
        let slip = StoreOptions::only([("aws_regoin", "hunter2hunter2")]);
        let error = slip.of(Service::S3).err().unwrap().to_string();
        assert!(error.contains("`aws_regoin`") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn every_option_that_messages_name_is_known() {
        assert!(StoreOptions::only(KNOWN.map(|name| (name, "x"))).check().is_ok());
    }

    #[test]
    fn what_may_be_shown_is_listed_and_all_else_is_secret() {
        let options = StoreOptions::only([("region", "eu-west-1"), ("secret_access_key", "abcdefgh"), ("allow_http", "true")]);
        assert_eq!(secrets(&options.of(Service::S3).unwrap().given), ["abcdefgh"]);
    }
}
