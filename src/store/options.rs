//! [`StoreOptions`]: how a store is reached, as flat names and values in the spelling that other tools use (`aws_region` or
//! `region`, `google_service_account`, `azure_storage_account_name`, `timeout`). They stand in calls and in the environment,
//! never in a URL, and their values are shown by nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use super::allowed::{self, Place};
use crate::{Error, Result};

/// Values under these names may be shown; every other one is taken out of messages.
const PUBLIC: [&str; 14] = [
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
    "tetrys_cache",
    "tetrys_cache_size",
    "tetrys_cache_memory",
];
/// Names of this library's own and of the AWS files, beside those of the backends.
const OWN: [&str; 14] = [
    "aws_ec2_metadata_disabled",
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
];
/// A value shorter than this (`true`, `30s`, `443`) is a setting, not a secret.
const SHORTEST_SECRET: usize = 6;

/// How stores are reached: names and values, from a call on top of the environment.
///
/// Names are those of `object_store`, in any case, with or without the prefix of their service; `Debug` shows names alone.
/// Beside them: `endpoint` of Google Cloud Storage, and `STORAGE_EMULATOR_HOST` of the environment, name another server;
/// `connection_string` (`AZURE_STORAGE_CONNECTION_STRING`) is that of Azure; `aws_profile` chooses a profile of `~/.aws/config` and `~/.aws/credentials`; `max_retries` and
/// `retry_timeout` bound how long a request is tried again (a read that gets no answer 30 s, and a minute in all);
/// `read_timeout` is how long one try waits for a sign of life (15 s of a read, 30 s of a write); `timeout` and
/// `connect_timeout` are deadlines; `single_writer` promises that nobody else writes.
///
/// `cache` (in the environment `TETRYS_CACHE`) is a folder in which what is read of remote stores is kept; there is none unless
/// it is named. Processes may share it. It holds at most `cache_size` (`TETRYS_CACHE_SIZE`; 10 GiB), and beside it small
/// answers stay in memory, at most `cache_memory` of them (`TETRYS_CACHE_MEMORY`; 64 MiB, 0 without a folder). Sizes are
/// written `512MiB` or `20GB`.
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
pub struct StoreOptions {
    given: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    /// True where nothing counts that was not given: no environment, no default profile, no machine that hands out credentials.
    alone: bool,
    /// URLs that stored references may lead to, beside neighbours.
    allowed: Vec<String>,
}

/// The services whose options are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Gcs,
    Azure,
    Http,
}

impl StoreOptions {
    /// These options on top of what the environment says (`AWS_*`, `GOOGLE_*`, `AZURE_*`, `STORAGE_EMULATOR_HOST`,
    /// `TETRYS_CACHE*`, `TETRYS_ALLOW`).
    pub fn new<K: Into<String>, V: Into<String>>(options: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { env: environment(), alone: false, ..Self::only(options) }
    }

    /// What the environment says.
    pub fn from_env() -> Self {
        Self { env: environment(), ..Self::default() }
    }

    /// These options and nothing else: no environment, no default profile, and no asking the machine for credentials.
    pub fn only<K: Into<String>, V: Into<String>>(options: impl IntoIterator<Item = (K, V)>) -> Self {
        let given = options.into_iter().map(|(name, value)| (name.into().to_ascii_lowercase(), value.into())).collect();
        Self { given, env: BTreeMap::new(), alone: true, allowed: Vec::new() }
    }

    /// The same options, with which tables that refer to others are also followed to absolute URLs at or below these:
    /// `s3://bucket/team` allows `s3://bucket/team/sensors`, and neither `s3://bucket/teams` nor `s3://bucket/team/../other`.
    /// A path stands for its `file://` URL. Neighbours, in the same bucket, host or machine, are followed always.
    ///
    /// Unless these options are [alone](StoreOptions::only), the URLs of `TETRYS_ALLOW` (with spaces between them) and of `allow`
    /// in `~/.config/tetrys/config.toml` are allowed too. A URL that cannot be one is `Invalid` where a store is opened.
    ///
    /// ```
    /// use tetrys::StoreOptions;
    /// let options = StoreOptions::from_env().allow(["s3://bucket/team"]);
    /// assert!(options.allows("s3://bucket/team/sensors")?);
    /// assert!(!options.allows("s3://bucket/teams")?);
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    #[must_use]
    pub fn allow<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.allowed.extend(urls.into_iter().map(Into::into));
        self
    }

    /// Whether a stored reference to `url` is followed; one that cannot be compared is not.
    ///
    /// # Errors
    /// `Invalid` for something among what is allowed that is no URL, and for a configuration file that cannot be read.
    pub fn allows(&self, url: &str) -> Result<bool> {
        let allowed = self.allowed_places()?;
        Ok(Place::of(url).is_ok_and(|place| allowed.iter().any(|held| held.holds(&place))))
    }

    /// The places that references may lead to.
    ///
    /// # Errors
    /// As [`StoreOptions::allows`].
    pub(super) fn allowed_places(&self) -> Result<Vec<Place>> {
        let ambient = if self.alone { Vec::new() } else { [allowed::in_environment(), allowed::configured()?].concat() };
        let places = self.allowed.iter().chain(&ambient).map(|url| Place::meant(url)).collect::<Result<Vec<_>>>();
        Ok(places?.concat())
    }

    /// The name and the value of `name=value`.
    ///
    /// # Errors
    /// `Invalid` where there is no `=`; the text is not repeated, it may be a secret.
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

    /// True where the caller gave none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The same environment, and the same cache, without what was given for one store.
    pub(super) fn ambient(&self) -> Self {
        // Where this machine keeps what it read is no secret of a store, and serves all of them.
        let cache = |name: &&String| name.starts_with("cache") || name.starts_with("tetrys_cache");
        let given = self.given.iter().filter(|(name, _)| cache(name)).map(|(name, value)| (name.clone(), value.clone()));
        Self { given: given.collect(), ..self.clone() }
    }

    /// What is said of the cache under one of its names, `tetrys_cache` and those that begin so.
    pub(super) fn of_cache(&self, name: &str) -> Option<&str> {
        let alias = name.trim_start_matches("tetrys_");
        self.given.get(name).or_else(|| self.given.get(alias)).or_else(|| self.env.get(name)).map(String::as_str)
    }

    /// The options of one service by their canonical names: what was given, on top of the environment.
    ///
    /// # Errors
    /// `Invalid` for a given name that no service knows.
    pub(super) fn of(&self, service: Service) -> Result<Resolved> {
        let mut given = BTreeMap::new();
        for (name, value) in &self.given {
            match canonical(service, name) {
                Some(key) => {
                    given.insert(key, value.clone());
                }
                // One set of options may serve several services; what no service knows is a slip of the pen.
                None if [Service::S3, Service::Gcs, Service::Azure, Service::Http]
                    .iter()
                    .any(|s| canonical(*s, name).is_some()) => {}
                None => {
                    let name: String = name.chars().take(64).collect();
                    return Err(Error::invalid(format!(
                        "no store option is called `{name}`; names are those of object_store, such as region, endpoint, \
                         access_key_id, skip_signature"
                    )));
                }
            }
        }
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

/// The options of one service, by canonical name. It holds secrets and has no `Debug`.
pub(super) struct Resolved {
    pub(super) given: BTreeMap<String, String>,
    pub(super) env: BTreeMap<String, String>,
    /// As [`StoreOptions::only`] has it.
    pub(super) alone: bool,
}

impl Resolved {
    /// What the first of these sources says that says anything.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.given.get(name).or_else(|| self.env.get(name)).map(String::as_str)
    }

    /// All options, the given ones on top.
    pub(super) fn merged(&self) -> BTreeMap<String, String> {
        self.env.iter().chain(&self.given).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// The values among `options` that no message may hold.
pub(super) fn secrets(options: &BTreeMap<String, String>) -> Vec<String> {
    let hidden = options.iter().filter(|(name, value)| !PUBLIC.contains(&name.as_str()) && value.len() >= SHORTEST_SECRET);
    let mut found: Vec<String> = hidden.map(|(_, value)| value.clone()).collect();
    // A secret inside another is taken out after the longer one.
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found
}

/// The canonical name of an option of a service.
fn canonical(service: Service, name: &str) -> Option<String> {
    if OWN.contains(&name) {
        return Some(match name {
            "profile" => "aws_profile".to_owned(),
            _ if name.starts_with("cache") => format!("tetrys_{name}"),
            _ => name.to_owned(),
        });
    }
    let key = match service {
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
        Service::Http => ClientConfigKey::from_str(name).ok()?.as_ref().to_owned(),
    };
    Some(key)
}

/// The variables of the environment that name options.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?.to_ascii_lowercase(), value.into_string().ok()?))
    };
    let prefixes = ["aws_", "google_", "azure_", "tetrys_cache", "storage_emulator_host"];
    let ours = |name: &str| prefixes.iter().any(|service| name.starts_with(service));
    let variables = std::env::vars_os().filter_map(text);
    // An empty variable is an unset one, as the AWS tools have it.
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
    fn what_may_be_shown_is_listed_and_all_else_is_secret() {
        let options = StoreOptions::only([("region", "eu-west-1"), ("secret_access_key", "abcdefgh"), ("allow_http", "true")]);
        assert_eq!(secrets(&options.of(Service::S3).unwrap().given), ["abcdefgh"]);
    }
}
