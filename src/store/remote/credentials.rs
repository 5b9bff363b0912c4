//! Sources of credentials: the options of Google and Azure beyond those of `object_store`, and whether any credentials are
//! configured. Pure, except for one check whether the credentials file of the Google tools exists.

use std::collections::BTreeMap;

use crate::{
    Error, Result,
    store::options::{Resolved, Service},
};

type Values = BTreeMap<String, String>;

/// Options with credentials of Google.
const GOOGLE: [&str; 4] =
    ["google_service_account", "google_service_account_key", "google_application_credentials", "google_bearer_token"];
/// Options with credentials of Azure, by canonical name.
const AZURE: [&str; 7] = [
    "azure_storage_account_key",
    "azure_storage_sas_key",
    "azure_storage_token",
    "azure_storage_client_id",
    "azure_storage_client_secret",
    "azure_federated_token_file",
    "azure_use_azure_cli",
];

/// Returns the options of Google Cloud Storage. Requests to a plain `http://` server, such as an emulator, are not signed unless
/// credentials are configured: the credentials of this machine are for Google only.
pub(in crate::store) fn google(resolved: &Resolved) -> Values {
    const BASE: &str = "google_base_url";
    let with_base = |mut values: Values| {
        if let Some(host) = values.remove("storage_emulator_host") {
            let url = if host.contains("://") { host } else { format!("http://{host}") };
            values.insert(BASE.to_owned(), url.trim_end_matches('/').to_owned());
        }
        values
    };
    let mut values = with_base(resolved.env.clone());
    values.extend(with_base(resolved.given.clone()));
    let plain = values.get(BASE).is_some_and(|url| url.starts_with("http://"));
    if plain && !GOOGLE.iter().any(|name| values.contains_key(*name)) {
        values.entry("google_skip_signature".to_owned()).or_insert_with(|| "true".to_owned());
    }
    values
}

/// Returns the options of Azure. A connection string replaces the account and key options of its source.
///
/// # Errors
/// - `Invalid`: a connection string is malformed. The message does not repeat the string.
pub(in crate::store) fn azure(resolved: &Resolved) -> Result<Values> {
    const STRING: &str = "azure_storage_connection_string";
    let (mut env, mut given) = (resolved.env.clone(), resolved.given.clone());
    let (of_env, of_given) = (env.remove(STRING), given.remove(STRING));
    let account = |name: &String| AZURE.contains(&name.as_str()) || name.contains("account") || name.contains("endpoint");
    if of_env.is_some() || of_given.is_some() {
        env.retain(|name, _| !account(name));
    }
    let mut values = env;
    for text in [if of_given.is_some() { None } else { of_env }, of_given].into_iter().flatten() {
        values.extend(connection(&text)?);
    }
    values.extend(given);
    Ok(values)
}

/// Parses a connection string of Azure.
///
/// <https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string>
fn connection(text: &str) -> Result<Values> {
    let refuse = |why: &str| Error::invalid(format!("the connection string of Azure {why}"));
    let mut settings = BTreeMap::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| refuse("has a part that is not `Name=Value`"))?;
        settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut values = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| values.extend(value.map(|value| (name.to_owned(), value)));
    if settings.get("usedevelopmentstorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        set("azure_storage_use_emulator", Some("true".to_owned()));
        return Ok(values);
    }
    let endpoint = settings.get("blobendpoint").map(|url| url.trim_end_matches('/').to_owned());
    let host = || endpoint.as_ref()?.split_once("://")?.1.split(['.', ':', '/']).next().map(str::to_owned);
    let account = settings.get("accountname").cloned().or_else(host).ok_or_else(|| refuse("names no account: AccountName"))?;
    let built = || {
        let (protocol, suffix) = (settings.get("defaultendpointsprotocol"), settings.get("endpointsuffix"));
        let (protocol, suffix) = (protocol.map_or("https", String::as_str), suffix.map_or("core.windows.net", String::as_str));
        (settings.contains_key("endpointsuffix") || protocol == "http").then(|| format!("{protocol}://{account}.blob.{suffix}"))
    };
    set("azure_storage_endpoint", endpoint.clone().or_else(built));
    set("azure_storage_account_key", settings.get("accountkey").cloned());
    set("azure_storage_sas_key", settings.get("sharedaccesssignature").map(|sas| sas.trim_start_matches('?').to_owned()));
    set("azure_storage_account_name", Some(account.clone()));
    Ok(values)
}

/// Returns where credentials were looked for if none are configured, so that only the metadata service remains; else `None`.
pub(in crate::store) fn looked_in_vain(service: Service, values: &Values) -> Option<&'static str> {
    let is_true = |name: &str| values.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let any = |names: &[&str]| names.iter().any(|name| values.contains_key(*name));
    match service {
        Service::S3 => {
            let keys = ["aws_access_key_id", "aws_secret_access_key", "aws_web_identity_token_file"];
            let machine = ["aws_container_credentials_relative_uri", "aws_container_credentials_full_uri"];
            let found = any(&keys) || any(&machine) || is_true("aws_skip_signature");
            (!found).then_some(
                "the store options access_key_id and secret_access_key, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the \
                 environment, the profile in ~/.aws/credentials and ~/.aws/config",
            )
        }
        Service::Gcs => {
            let home = || std::env::var_os(if cfg!(windows) { "APPDATA" } else { "HOME" }).map(std::path::PathBuf::from);
            let usual = if cfg!(windows) { "gcloud" } else { ".config/gcloud" };
            let file = || home().is_some_and(|home| home.join(usual).join("application_default_credentials.json").exists());
            let found = any(&GOOGLE) || is_true("google_skip_signature") || file();
            (!found).then_some(
                "the store options service_account and service_account_key, GOOGLE_APPLICATION_CREDENTIALS and \
                 GOOGLE_SERVICE_ACCOUNT in the environment, ~/.config/gcloud/application_default_credentials.json",
            )
        }
        Service::Azure => {
            // A client id alone selects an identity of the machine.
            let own = AZURE.iter().filter(|name| !name.ends_with("client_id"));
            let found = own.into_iter().any(|name| values.contains_key(*name))
                || is_true("azure_skip_signature")
                || is_true("azure_storage_use_emulator");
            (!found).then_some(
                "the store options account_key, sas_key, bearer_token, client_id and connection_string, \
                 AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_CONNECTION_STRING and AZURE_CLIENT_ID in the environment",
            )
        }
        Service::Http => None,
    }
}

/// Creates the error for missing credentials: `looked` names the places, `machine` is the answer of the metadata service.
pub(in crate::store) fn none_found(looked: &str, machine: Option<&str>) -> Error {
    let machine = machine.map(|failure| format!(", and the metadata service of this machine ({failure})")).unwrap_or_default();
    Error::denied(format!(
        "no credentials found. Tetrys looked at: {looked}{machine}. A public bucket is read with the store option \
         skip_signature=true"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn map(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_emulator_of_google_is_asked_without_credentials_and_google_is_not() {
        let of = |env: &[(&str, &str)], given: &[(&str, &str)]| {
            let values = google(&Resolved { given: map(given), env: map(env), alone: false });
            (values.get("google_base_url").cloned(), values.contains_key("google_skip_signature"))
        };
        let at = |url: &str, anonymous| (Some(url.to_owned()), anonymous);
        assert_eq!(of(&[], &[]), (None, false));
        assert_eq!(of(&[("storage_emulator_host", "localhost:4443")], &[]), at("http://localhost:4443", true));
        assert_eq!(of(&[("storage_emulator_host", "https://lab/")], &[]), at("https://lab", false));
        let given = [("google_base_url", "http://127.0.0.1:1")];
        assert_eq!(of(&[("storage_emulator_host", "localhost:4443")], &given), at("http://127.0.0.1:1", true));
        assert_eq!(of(&[("google_service_account", "/key.json")], &given), at("http://127.0.0.1:1", false));
    }

    #[test]
    fn a_connection_string_of_azure_takes_the_place_of_the_other_account() {
        let string = "DefaultEndpointsProtocol=http;AccountName=one;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:10000/one;";
        let env = [
            ("azure_storage_connection_string", string),
            ("azure_storage_account_name", "other"),
            ("azure_storage_sas_key", "s"),
        ];
        let values = azure(&Resolved { given: map(&[]), env: map(&env), alone: false }).unwrap();
        let expected = [
            ("azure_storage_account_key", "a2V5=="),
            ("azure_storage_account_name", "one"),
            ("azure_storage_endpoint", "http://127.0.0.1:10000/one"),
        ];
        assert_eq!(values, map(&expected));
        let values =
            connection("AccountName=a;SharedAccessSignature=?sv=1&sig=x%3D;EndpointSuffix=core.chinacloudapi.cn").unwrap();
        assert_eq!(values["azure_storage_endpoint"], "https://a.blob.core.chinacloudapi.cn");
        assert_eq!(values["azure_storage_sas_key"], "sv=1&sig=x%3D");
        assert_eq!(connection("UseDevelopmentStorage=true").unwrap(), map(&[("azure_storage_use_emulator", "true")]));
        assert_eq!(connection("BlobEndpoint=https://lab.blob.core.windows.net").unwrap()["azure_storage_account_name"], "lab");
        for wrong in ["hunter2hunter2", "AccountKey=hunter2hunter2"] {
            let error = connection(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
