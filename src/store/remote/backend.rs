//! Builds remote backends from URLs and options: S3, Google Cloud Storage, Azure and plain HTTP. Maps schemes to services,
//! collects the options of a service, and refuses bad URLs and options before any request.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::HeaderValue;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig, StaticCredentialProvider};
use url::Url;

use super::{
    client::{CA_BUNDLE, SPANS, authorities, parse_span},
    credentials,
    crypto::install_crypto_provider,
    profile,
    redirect::Redirects,
    wire::{Patience, Rules, Wire},
};
use crate::{
    Error, Result,
    store::{
        allowed::Place,
        failure::{self, UNCOUNTED},
        options::{AUTHORIZATION, Resolved, Service, StoreOptions, secrets},
    },
};

/// First backoff of a request. Later ones are random: up to three times the one before, and up to a maximum.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A remote backend and its settings.
pub(in crate::store) struct Remote {
    pub(in crate::store) objects: Arc<dyn ObjectStore>,
    /// The same backend, which deletes many objects with one request; `None` if the service has no such requests.
    pub(in crate::store) bulk: Option<Arc<Bulk>>,
    /// Path of the root in the backend.
    pub(in crate::store) prefix: Path,
    pub(in crate::store) service: Service,
    pub(in crate::store) retry: RetryConfig,
    pub(in crate::store) wire: Wire,
    /// Values that messages must not contain, longest first.
    pub(in crate::store) secrets: Vec<String>,
    /// Identifier of the bucket, different for every bucket; not secret.
    pub(in crate::store) identity: String,
    /// Whether the caller promises that there are no other writers.
    pub(in crate::store) single_writer: bool,
    /// Whether the connection is plain HTTP, which does not detect flipped bits.
    pub(in crate::store) plain: bool,
    /// Present if credentials can come only from the metadata service of this machine.
    pub(in crate::store) machine: Option<Machine>,
    /// Places that tables in this store may refer to.
    pub(in crate::store) allowed: Vec<Place>,
}

/// A backend that is built where it is needed; `None` if it cannot be.
pub(in crate::store) type Bulk = LazyLock<Option<Arc<dyn ObjectStore>>, Box<dyn FnOnce() -> Option<Arc<dyn ObjectStore>> + Send>>;

/// The metadata service of this machine, which provides credentials if none are configured.
#[derive(Clone, Debug)]
pub(in crate::store) struct Machine {
    looked: &'static str,
    /// Configured addresses of the service, in addition to the usual ones.
    endpoints: Vec<String>,
}

impl Machine {
    fn of(looked: &'static str, values: &BTreeMap<String, String>) -> Self {
        let options = ["aws_metadata_endpoint", "azure_msi_endpoint"].iter().filter_map(|name| values.get(*name).cloned());
        let of_google = ["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"];
        let of_google = of_google.iter().filter_map(|name| Some(format!("http://{}", std::env::var(name).ok()?)));
        Self { looked, endpoints: options.chain(of_google).filter(|url| url.len() > "http://".len()).collect() }
    }

    /// Returns the error "no credentials" if `error` comes from a request to the metadata service.
    pub(in crate::store) fn refusal(&self, error: &object_store::Error) -> Option<Error> {
        let text = failure::chain(error);
        let usual = ["http://169.254.", "http://metadata.google.internal"];
        let place = usual.iter().copied().chain(self.endpoints.iter().map(String::as_str)).find(|place| text.contains(place))?;
        let (_, after) = text.split_once(place)?;
        let status = ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found"];
        let message = status.iter().find(|status| after.contains(**status)).copied().unwrap_or("no answer");
        Some(credentials::none_found(self.looked, Some(message)))
    }
}

/// Returns the service of a URL scheme.
pub(in crate::store) fn service(scheme: &str) -> Option<Service> {
    match scheme {
        "s3" | "s3a" => Some(Service::S3),
        "gs" | "gcs" => Some(Service::Gcs),
        "az" | "azure" | "adl" | "abfs" | "abfss" => Some(Service::Azure),
        "http" | "https" => Some(Service::Http),
        _ => None,
    }
}

/// Builds the backend of a URL. Sends no request.
///
/// # Errors
/// - `Invalid`: the URL has a user, a password, a query or a fragment, or an option is invalid.
/// - `Denied`: no credentials are configured, and the options exclude the metadata service of the machine.
pub(in crate::store) fn open(url: &str, service: Service, options: &StoreOptions) -> Result<Remote> {
    let public = failure::public_url(url);
    let invalid = |why: &str| Error::invalid(format!("URL {public}: {why}"));
    install_crypto_provider();
    let parsed = Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
    let host = parsed.host_str().filter(|host| !host.is_empty()).ok_or_else(|| invalid("it has no bucket and no host"))?;
    // `abfss://container@account.host/path` has the container in the place of the user.
    let container = matches!(parsed.scheme(), "abfs" | "abfss") && !parsed.username().is_empty();
    if parsed.password().is_some() || (!parsed.username().is_empty() && !container) {
        return Err(invalid("a URL must not contain users or passwords; pass them as store options or in the environment"));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(invalid(
            "a URL must not contain a query or fragment; pass store options separately, write `?` as %3F and `#` as %23",
        ));
    }
    let prefix = Path::from_url_path(parsed.path()).map_err(|error| invalid(&error.to_string()))?;
    let resolved = options.of(service)?;
    let values = match service {
        Service::S3 => s3_values(&resolved).map_err(|error| error.at(&public))?,
        Service::Gcs => credentials::google(&resolved),
        Service::Azure => credentials::azure(&resolved).map_err(|error| error.at(&public))?,
        Service::Http => resolved.merged(),
    };
    let secrets = secrets(&values);
    let looked = credentials::looked_in_vain(service, &values);
    if let (Some(_), true, Service::Gcs | Service::Azure) = (looked, resolved.alone, service) {
        return Err(credentials::none_found("the store options", None).at(&public));
    }
    // The message of a builder about a bad value may repeat the value.
    let clean = |error: object_store::Error| {
        let text = failure::without_secrets(&failure::without_queries(&error.to_string()), &secrets);
        Error::invalid(format!("{public}: store options: {text}"))
    };
    let (retry, identity) = (retry(&values)?, identity(service, &parsed, &values));
    let bundle = values.get(CA_BUNDLE).map(|path| authorities(path)).transpose().map_err(|error| error.at(&public))?;
    let allowed = options.allowed_places()?;
    let wire = Wire::new(Rules {
        patience: patience(&values)?,
        retries: retry.max_retries,
        redirects: Redirects { service, allowed: allowed.clone() },
        authorization: values
            .get(AUTHORIZATION)
            .map(|value| authorization(value))
            .transpose()
            .map_err(|error| error.at(&public))?,
        authorities: bundle,
    });
    // A timeout for a whole body would cut off large bodies on slow lines. The option `timeout` sets one.
    let client = ClientOptions::new().with_timeout_disabled();
    let allow_http = ["aws_endpoint", "aws_endpoint_url_s3", "azure_storage_endpoint", "google_base_url"];
    let plain = |name: &&str| values.get(*name).is_some_and(|endpoint| endpoint.starts_with("http://"));
    let emulator = values.get("azure_storage_use_emulator").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    // Whoever configures an `http://` endpoint wants plain HTTP.
    let allow_http = allow_http.iter().any(plain) || parsed.scheme() == "http";
    let plain = allow_http || emulator;
    let client = if allow_http { client.with_allow_http(true) } else { client };
    let for_backend = values.iter().filter(|(name, _)| name.as_str() != "read_timeout");
    let mut bulk = None;
    let objects: Arc<dyn ObjectStore> = match service {
        Service::S3 => {
            let builder = AmazonS3Builder::new().with_client_options(client);
            let known = for_backend.filter_map(|(name, value)| Some((AmazonS3ConfigKey::from_str(name).ok()?, value)));
            let builder = known.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            let builder = builder.with_bucket_name(host).with_retry(retry.clone()).with_http_connector(wire.clone());
            // One object is deleted by a plain DELETE.
            let single = builder.clone().with_disable_bulk_delete(true).build().map_err(clean)?;
            if values.get("aws_disable_bulk_delete").is_none_or(|value| !value.eq_ignore_ascii_case("true")) {
                let builder = builder.with_credentials(Arc::clone(single.credentials()));
                let build = move || builder.build().ok().map(|objects| Arc::new(objects) as Arc<dyn ObjectStore>);
                bulk = Some(Arc::new(Bulk::new(Box::new(build))));
            }
            Arc::new(single)
        }
        Service::Gcs => {
            let builder = GoogleCloudStorageBuilder::new().with_client_options(client);
            let known = for_backend.filter_map(|(name, value)| Some((GoogleConfigKey::from_str(name).ok()?, value)));
            let builder = known.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            let builder = builder.with_bucket_name(host).with_retry(retry.clone()).with_http_connector(wire.clone());
            // Without this, `object_store` asks the metadata service of the machine for a token for each write that is not signed.
            let builder = match values.get("google_skip_signature").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
                true => {
                    builder.with_credentials(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer: String::new() })))
                }
                false => builder,
            };
            Arc::new(builder.build().map_err(clean)?)
        }
        Service::Azure => {
            let builder = MicrosoftAzureBuilder::new().with_client_options(client);
            let known = for_backend.filter_map(|(name, value)| Some((AzureConfigKey::from_str(name).ok()?, value)));
            let builder = known.fold(builder, |builder, (key, value)| builder.with_config(key, value)).with_url(url);
            let builder = builder.with_retry(retry.clone()).with_http_connector(wire.clone());
            let objects: Arc<dyn ObjectStore> = Arc::new(builder.build().map_err(clean)?);
            let same = Arc::clone(&objects);
            bulk = Some(Arc::new(Bulk::new(Box::new(move || Some(same)))));
            objects
        }
        Service::Http => {
            let mut origin = parsed.clone();
            origin.set_path("/");
            let builder = HttpBuilder::new().with_url(origin).with_client_options(client);
            let known = for_backend.filter_map(|(name, value)| Some((ClientConfigKey::from_str(name).ok()?, value)));
            let builder = known.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            Arc::new(builder.with_retry(retry.clone()).with_http_connector(wire.clone()).build().map_err(clean)?)
        }
    };
    let single_writer = values.get("single_writer").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    // The metadata service, and where credentials were looked for before.
    let machine = looked.map(|looked| Machine::of(looked, &values));
    Ok(Remote { objects, bulk, prefix, service, retry, wire, secrets, identity, single_writer, plain, machine, allowed })
}

/// Returns the value of the header `Authorization`.
///
/// # Errors
/// - `Invalid`: no header may have this value.
fn authorization(value: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Error::invalid(
            "store option authorization: expected the value of the header, such as `Bearer TOKEN`, of printable ASCII characters",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the identity of a bucket, the same for every reader: service, address and bucket name.
fn identity(service: Service, url: &Url, values: &BTreeMap<String, String>) -> String {
    const PLACES: [&str; 4] =
        ["azure_storage_account_name", "azure_storage_endpoint", "azure_storage_use_emulator", "google_base_url"];
    // Bucket names of Amazon are unique within a partition, whatever the region. Other buckets are identified by their endpoint.
    let value = |names: [&str; 2]| names.iter().find_map(|name| values.get(*name)).map(String::as_str);
    let endpoint = value(["aws_endpoint_url_s3", "aws_endpoint"]).map(|url| url.trim_end_matches('/'));
    let endpoint = endpoint.filter(|url| !url.ends_with(".amazonaws.com")).map(failure::public_url);
    let region = value(["aws_region", "aws_default_region"]).unwrap_or_default();
    let partition = ["cn-", "us-gov-", "us-iso"].into_iter().find(|partition| region.starts_with(partition));
    let amazon = endpoint.or_else(|| partition.map(str::to_owned)).filter(|_| service == Service::S3);
    let own = match service {
        Service::S3 => "aws_",
        Service::Gcs => "google_",
        Service::Azure => "azure_",
        Service::Http => "http",
    };
    let places = PLACES.iter().filter(|name| name.starts_with(own));
    let message =
        places.filter_map(|name| Some(format!("{name}={}", failure::public_url(values.get(*name)?).trim_end_matches('/'))));
    // The schemes of a service are aliases, but `http` and `https` are different servers.
    let scheme = if service == Service::Http { url.scheme() } else { "" };
    let port = url.port().map(|port| port.to_string()).unwrap_or_default();
    let bucket = [scheme, url.username(), url.host_str().unwrap_or_default(), &port].map(str::to_owned);
    [format!("{service:?}")].into_iter().chain(bucket).chain(amazon).chain(message).collect::<Vec<_>>().join("\n")
}

/// Collects the options of S3: given options, then the environment, then a profile. Access key, secret and token come from one
/// source and are never mixed.
fn s3_values(resolved: &Resolved) -> Result<BTreeMap<String, String>> {
    const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
    const MACHINE: [&str; 3] =
        ["aws_web_identity_token_file", "aws_container_credentials_relative_uri", "aws_container_credentials_full_uri"];
    const DISABLED: &str = "aws_ec2_metadata_disabled";
    let has_keys = |options: &BTreeMap<String, String>| KEYS.iter().any(|key| options.contains_key(*key));
    for (whose, options) in [("store options", &resolved.given), ("the environment", &resolved.env)] {
        if has_keys(options)
            && let Some(missing) = KEYS.iter().take(2).find(|key| !options.contains_key(**key))
        {
            return Err(Error::invalid(format!(
                "{whose}: no {missing}; key, secret and token of S3 must come from the same place"
            )));
        }
    }
    let mut env = resolved.env.clone();
    let given = &resolved.given;
    let asked_for_profile = given.contains_key("aws_profile");
    if has_keys(given) || asked_for_profile {
        KEYS.iter().for_each(|key| drop(env.remove(*key)));
    }
    if given.contains_key("aws_endpoint") {
        env.remove("aws_endpoint_url_s3");
    }
    let from_files = asked_for_profile || !resolved.alone;
    let anonymous = resolved.get("aws_skip_signature").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let mut values = if from_files && (asked_for_profile || !(anonymous || has_keys(given)) || !given.contains_key("aws_region"))
    {
        match profile::load(resolved) {
            Ok(values) => values,
            // With keys from elsewhere, an unusable default profile does not matter.
            Err(_) if !asked_for_profile && (anonymous || has_keys(given) || has_keys(&env)) => BTreeMap::new(),
            Err(error) => return Err(error),
        }
    } else {
        BTreeMap::new()
    };
    let by_machine = MACHINE.iter().any(|name| env.contains_key(*name)) && resolved.get("aws_profile").is_none();
    if has_keys(given) || has_keys(&env) || by_machine {
        KEYS.iter().for_each(|key| drop(values.remove(*key)));
    }
    if env.contains_key("aws_endpoint_url_s3") || env.contains_key("aws_endpoint") || given.contains_key("aws_endpoint") {
        values.remove("aws_endpoint");
    }
    if env.contains_key("aws_region") || env.contains_key("aws_default_region") || given.contains_key("aws_default_region") {
        values.remove("aws_region");
    }
    values.extend(env);
    values.extend(given.clone());
    let by_machine = MACHINE.iter().any(|name| values.contains_key(*name)) || values.contains_key("aws_metadata_endpoint");
    let machine_asked = !resolved.alone && !values.get(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if !(anonymous || has_keys(&values) || by_machine || machine_asked) {
        let looked = credentials::looked_in_vain(Service::S3, &values).unwrap_or_default();
        return Err(credentials::none_found(if resolved.alone { "the store options" } else { looked }, None));
    }
    Ok(values)
}

/// Returns number and duration of the retries of a request.
fn retry(values: &BTreeMap<String, String>) -> Result<RetryConfig> {
    let mut retry = RetryConfig::default();
    (retry.backoff.init_backoff, retry.backoff.max_backoff, retry.backoff.base) = (FIRST_WAIT, LONGEST_WAIT, 3.0);
    (retry.max_retries, retry.retry_timeout) = (UNCOUNTED, Patience::DEFAULT.failures);
    if let Some(text) = values.get("max_retries") {
        retry.max_retries = text.parse().map_err(|_| Error::invalid("store option max_retries: expected a number"))?;
    }
    if let Some(text) = values.get("retry_timeout") {
        retry.retry_timeout = span("retry_timeout", text)?;
    }
    Ok(retry)
}

/// Returns the timeouts.
fn patience(values: &BTreeMap<String, String>) -> Result<Patience> {
    let mut patience = Patience::DEFAULT;
    if let Some(text) = values.get("read_timeout") {
        let each = span("read_timeout", text)?;
        (patience.read, patience.write) = (each, each);
    }
    if let Some(text) = values.get("retry_timeout") {
        let time = span("retry_timeout", text)?;
        (patience.silence, patience.failures, patience.unreached) = (time, time, time);
    }
    Ok(patience)
}

/// Parses the duration of an option.
fn span(name: &str, text: &str) -> Result<Duration> {
    let span = parse_span(text).filter(|span| !span.is_zero());
    span.ok_or_else(|| Error::invalid(format!("store option {name}: {SPANS}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn refused(url: &str, options: &StoreOptions) -> Error {
        let scheme = url.split_once("://").unwrap().0;
        open(url, service(scheme).unwrap(), options).err().expect(url)
    }

    #[test]
    fn secrets_in_urls_are_refused_and_not_repeated() {
        let none = StoreOptions::only([("region", "r")]);
        for url in ["s3://AKID:hunter2@bucket/a", "s3://hunter2@bucket/a", "https://host/a?sig=hunter2", "gs://bucket/a#hunter2"]
        {
            let error = refused(url, &none);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_not_repeated() {
        let options = StoreOptions::only([("region", "r"), ("skip_signature", "true"), ("allow_http", "hunter2hunter2")]);
        let error = refused("s3://bucket/a", &options);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }

    #[test]
    fn keys_and_tokens_of_two_sources_are_never_mixed() {
        let env = [("aws_access_key_id", "E"), ("aws_secret_access_key", "S"), ("aws_session_token", "T")];
        let given = [("aws_access_key_id", "G"), ("aws_secret_access_key", "H"), ("aws_region", "r")];
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let values = s3_values(&Resolved { given: map(&given), env: map(&env), alone: true }).unwrap();
        assert_eq!(values.get("aws_access_key_id").map(String::as_str), Some("G"));
        assert_eq!(values.get("aws_session_token"), None);
    }

    #[test]
    fn spans_have_units() {
        assert_eq!(span("timeout", "500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(span("timeout", "2m").unwrap(), Duration::from_secs(120));
        assert_eq!(span("timeout", "30").unwrap(), Duration::from_secs(30));
        assert!(span("timeout", "soon").is_err() && span("timeout", "0").is_err());
    }
}
