//! Profiles of the AWS command line: `~/.aws/config` and `~/.aws/credentials`, as its documentation describes them
//! (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>). Only [`load`] does I/O: it reads the two files.
//! A profile that needs another program or a login is refused; the message names the command that exports its credentials.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{
    Error, Result,
    store::{failure, options::Resolved},
};

type Section = BTreeMap<String, String>;

/// Returns the options of a profile under their canonical names. Empty if no profile is named and the files or the profile
/// `default` do not exist.
///
/// # Errors
/// - `Invalid`: the named profile does not exist, a file cannot be read, or the profile gets its credentials in an
///   unsupported way.
pub(in crate::store) fn load(options: &Resolved) -> Result<BTreeMap<String, String>> {
    let home = || std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let file = |option: &str, usual: &str| match options.get(option) {
        Some(path) => Some(PathBuf::from(path)),
        None => home().map(|home| home.join(".aws").join(usual)),
    };
    let config = read(file("aws_config_file", "config").as_deref())?;
    let credentials = read(file("aws_shared_credentials_file", "credentials").as_deref())?;
    of(&config, &credentials, options.get("aws_profile"))
}

fn read(path: Option<&Path>) -> Result<BTreeMap<String, Section>> {
    match path.map(std::fs::read_to_string) {
        Some(Ok(text)) => Ok(sections(&text)),
        Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
            let path = path.unwrap_or(Path::new("")).display();
            if failure::is_out_of_files(&error) {
                return Err(failure::of_system(&error).at(format!("reading {path}")));
            }
            Err(Error::invalid(format!("AWS profiles in {path}: {error}")))
        }
        _ => Ok(BTreeMap::new()),
    }
}

/// Returns the options of a profile, from the sections of both files.
fn of(
    config: &BTreeMap<String, Section>,
    credentials: &BTreeMap<String, Section>,
    named: Option<&str>,
) -> Result<BTreeMap<String, String>> {
    let name = named.unwrap_or("default");
    let prefixed = format!("profile {name}");
    let in_config = config.get(&prefixed).or_else(|| config.get(name).filter(|_| name == "default"));
    let in_credentials = credentials.get(name);
    if in_config.is_none() && in_credentials.is_none() {
        return match named {
            Some(name) => Err(Error::invalid(format!("no AWS profile `{name}` in the files config and credentials"))),
            None => Ok(BTreeMap::new()),
        };
    }
    let mut found = in_config.cloned().unwrap_or_default();
    // If both files have keys, all keys come from the file `credentials`.
    if let Some(section) = in_credentials {
        if section.contains_key("aws_access_key_id") {
            found.remove("aws_session_token");
        }
        found.extend(section.clone());
    }
    let mut options = BTreeMap::new();
    if found.contains_key("aws_access_key_id") {
        for key in ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"] {
            options.extend(found.get(key).map(|value| (key.to_owned(), value.clone())));
        }
    } else if let Some(way) = ["sso_session", "sso_start_url", "credential_process", "role_arn", "login_session"]
        .iter()
        .find(|way| found.contains_key(**way))
    {
        return Err(Error::invalid(format!(
            "AWS profile `{name}` gets its credentials by `{way}`, which is not supported; put them into the environment with \
             `eval \"$(aws configure export-credentials --profile {name} --format env)\"`"
        )));
    }
    options.extend(found.get("ca_bundle").map(|path| ("ca_bundle".to_owned(), path.clone())));
    options.extend(found.get("region").map(|region| ("aws_region".to_owned(), region.clone())));
    let of_service = found.get("services").and_then(|name| config.get(&format!("services {name}")));
    let endpoint = of_service.and_then(|services| services.get("s3.endpoint_url")).or_else(|| found.get("endpoint_url"));
    options.extend(endpoint.map(|endpoint| ("aws_endpoint".to_owned(), endpoint.clone())));
    Ok(options)
}

/// Parses the sections of a file. A nested setting (indented lines below `s3 =`) is named `s3.endpoint_url`.
fn sections(text: &str) -> BTreeMap<String, Section> {
    let mut found: BTreeMap<String, Section> = BTreeMap::new();
    let (mut section, mut parent): (Option<String>, Option<String>) = (None, None);
    for line in text.lines() {
        let content = line.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
        let (indented, content) = (content.starts_with([' ', '\t']), content.trim());
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "");
            found.entry(name.clone()).or_default();
            (section, parent) = (Some(name), None);
            continue;
        }
        let (Some(section), Some((key, value))) = (&section, content.split_once('=')) else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        let key = match (&parent, indented) {
            (Some(parent), true) => format!("{parent}.{key}"),
            _ => key,
        };
        if value.is_empty() && !indented {
            parent = Some(key);
        } else {
            if !indented {
                parent = None;
            }
            found.entry(section.clone()).or_default().insert(key, value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
[default]
region = eu-central-1  # where we are

[profile minio]
region=us-west-2
services = local
s3 =
    max_concurrent_requests = 20

[services local]
s3 =
  endpoint_url = http://127.0.0.1:9000
dynamodb =
  endpoint_url = http://127.0.0.1:8000

[profile login]
sso_session = company
";
    const CREDENTIALS: &str = "
[default]
aws_access_key_id = AKIDEFAULT
aws_secret_access_key = c2VjcmV0+/=
[minio]
aws_access_key_id=AKMINIO
aws_secret_access_key=minio#secret
aws_session_token = t=o=k
";

    fn option(profile: Option<&str>, name: &str) -> Option<String> {
        of(&sections(CONFIG), &sections(CREDENTIALS), profile).unwrap().remove(name)
    }

    #[test]
    fn a_profile_is_read_from_both_files() {
        assert_eq!(option(None, "aws_region").as_deref(), Some("eu-central-1"));
        assert_eq!(option(None, "aws_secret_access_key").as_deref(), Some("c2VjcmV0+/="));
        assert_eq!(option(None, "aws_endpoint"), None);
        assert_eq!(option(Some("minio"), "aws_endpoint").as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(option(Some("minio"), "aws_secret_access_key").as_deref(), Some("minio#secret"));
        assert_eq!(option(Some("minio"), "aws_session_token").as_deref(), Some("t=o=k"));
    }

    #[test]
    fn what_is_not_there_or_needs_a_login_says_what_to_do() {
        let error = |profile| of(&sections(CONFIG), &sections(CREDENTIALS), Some(profile)).unwrap_err().to_string();
        assert!(error("nobody").contains("no AWS profile `nobody`"));
        assert!(error("login").contains("export-credentials --profile login"));
        assert_eq!(of(&BTreeMap::new(), &BTreeMap::new(), None).unwrap(), BTreeMap::new());
    }
}
