//! Builds the HTTP client of a store from the options of `object_store`. The client follows no redirects: a redirect would carry
//! tokens to another host. It trusts the authorities of the system, or those of the option `ca_bundle` alone.

use std::{
    fmt,
    io::ErrorKind as Io,
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use object_store::{ClientConfigKey as Key, ClientOptions, client::HttpClient};
use reqwest::{
    Certificate, ClientBuilder, NoProxy, Proxy,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};

use crate::{Error, Result, store::failure};

/// Option with the PEM file of the authorities that sign the certificates of servers. `AWS_CA_BUNDLE` sets it for S3.
pub(in crate::store) const CA_BUNDLE: &str = "ca_bundle";

/// Reads the certificates of a PEM file.
///
/// # Errors
/// - `Invalid`: the file does not exist, or holds no certificate.
/// - `Denied`, `Unavailable`: the file cannot be read.
pub(in crate::store) fn authorities(path: &str) -> Result<Vec<Certificate>> {
    let place = |error: Error| error.at(format!("certificates in {path} (store option {CA_BUNDLE}, AWS_CA_BUNDLE)"));
    let pem = std::fs::read(Path::new(path)).map_err(|error| match error.kind() {
        Io::NotFound | Io::IsADirectory | Io::NotADirectory => place(Error::invalid(error.to_string())),
        _ => place(failure::of_system(&error)),
    })?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(place(Error::invalid("the file holds no certificate; expected PEM: -----BEGIN CERTIFICATE-----"))),
        Err(error) => Err(place(Error::invalid(failure::chain(&error)))),
    }
}

/// Builds a client. `authorities` takes the place of the authorities of the system.
///
/// # Errors
/// An option has a bad value, or the system has no certificates.
pub(super) fn connect(options: &ClientOptions, authorities: Option<&[Certificate]>) -> object_store::Result<HttpClient> {
    let text = |key: Key| options.get_config_value(&key);
    let flag = |key: Key| match text(key) {
        Some(value) => parse_flag(&value).ok_or_else(|| wrong(format!("{}: expected true or false", key.as_ref()))),
        None => Ok(false),
    };
    let span = |key: Key| match text(key) {
        Some(value) => parse_span(&value).map(Some).ok_or_else(|| wrong(format!("{}: {SPANS}", key.as_ref()))),
        None => Ok(None),
    };
    let number = |key: Key| match text(key) {
        Some(value) => value.parse::<usize>().map(Some).map_err(|_| wrong(format!("{}: expected a number", key.as_ref()))),
        None => Ok(None),
    };
    let unusable = |error: reqwest::Error| {
        let text = failure::chain(&error);
        wrong(match text.contains("No CA certificates were loaded") {
            true => format!(
                "no certificates of authorities found; install the package ca-certificates, or name a PEM file in SSL_CERT_FILE \
                 or in the store option {CA_BUNDLE}"
            ),
            false => text,
        })
    };
    let mut builder = ClientBuilder::new()
        .redirect(Policy::none())
        .referer(false)
        .user_agent(text(Key::UserAgent).unwrap_or_else(|| concat!("tetrys/", env!("CARGO_PKG_VERSION")).to_owned()))
        .https_only(!flag(Key::AllowHttp)?)
        .danger_accept_invalid_certs(flag(Key::AllowInvalidCertificates)?)
        .http2_keep_alive_while_idle(flag(Key::Http2KeepAliveWhileIdle)?);
    if let Some(headers) = options.get_default_headers() {
        builder = builder.default_headers(headers.clone());
    }
    let mut of_proxy = Vec::new();
    if let Some(url) = text(Key::ProxyUrl) {
        let mut proxy = Proxy::all(url).map_err(unusable)?;
        if let Some(pem) = text(Key::ProxyCaCertificate) {
            of_proxy.push(Certificate::from_pem(pem.as_bytes()).map_err(unusable)?);
        }
        if let Some(hosts) = text(Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&hosts));
        }
        builder = builder.proxy(proxy);
    }
    builder = match authorities {
        Some(own) => builder.tls_certs_only(own.iter().cloned().chain(of_proxy)),
        None if flag(Key::NoSystemCertificates)? => builder.tls_certs_only(of_proxy),
        None => builder.tls_certs_merge(of_proxy),
    };
    if let Some(time) = span(Key::Timeout)? {
        builder = builder.timeout(time);
    }
    if let Some(time) = span(Key::ConnectTimeout)? {
        builder = builder.connect_timeout(time);
    }
    if let Some(time) = span(Key::ReadTimeout)? {
        builder = builder.read_timeout(time);
    }
    if let Some(time) = span(Key::PoolIdleTimeout)? {
        builder = builder.pool_idle_timeout(time);
    }
    if let Some(most) = number(Key::PoolMaxIdlePerHost)? {
        builder = builder.pool_max_idle_per_host(most);
    }
    if let Some(time) = span(Key::Http2KeepAliveInterval)? {
        builder = builder.http2_keep_alive_interval(time);
    }
    if let Some(time) = span(Key::Http2KeepAliveTimeout)? {
        builder = builder.http2_keep_alive_timeout(time);
    }
    if let Some(most) = number(Key::Http2MaxFrameSize)? {
        builder = builder.http2_max_frame_size(u32::try_from(most).unwrap_or(u32::MAX));
    }
    if flag(Key::Http1Only)? {
        builder = builder.http1_only();
    }
    if flag(Key::Http2Only)? {
        builder = builder.http2_prior_knowledge();
    }
    let turns = flag(Key::RandomizeAddresses)?.then(AtomicUsize::default).map(Arc::new);
    // Compression would change `Content-Length`, from which the size of an object is taken.
    builder = builder.no_gzip().no_brotli().no_zstd().no_deflate().dns_resolver(Addresses { turns });
    Ok(HttpClient::new(builder.build().map_err(unusable)?))
}

fn wrong(text: String) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP client", source: text.into() }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Some(true),
        "0" | "false" | "off" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// The text of an error about a duration.
pub(in crate::store) const SPANS: &str = "expected a duration such as 30s, 500ms, 2m or 1h 30m";

/// Parses a duration such as `30s`, `500ms`, `2m` or `1h 30m`; a bare number counts seconds.
pub(in crate::store) fn parse_span(text: &str) -> Option<Duration> {
    let (mut sum, mut rest) = (Duration::ZERO, text.trim());
    loop {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let after = after.trim_start();
        let (unit, after) = after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        let unit = match unit {
            "ns" | "nsec" => Duration::from_nanos(1),
            "us" | "usec" => Duration::from_micros(1),
            "ms" | "msec" | "millis" => Duration::from_millis(1),
            "" | "s" | "sec" | "secs" | "second" | "seconds" => Duration::from_secs(1),
            "m" | "min" | "mins" | "minute" | "minutes" => Duration::from_secs(60),
            "h" | "hr" | "hrs" | "hour" | "hours" => Duration::from_secs(3_600),
            "d" | "day" | "days" => Duration::from_secs(86_400),
            _ => return None,
        };
        sum = sum.checked_add(unit.checked_mul(number.parse().ok()?)?)?;
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// Resolves host names. With `turns`, each answer begins with another address, so that connections spread over servers.
struct Addresses {
    turns: Option<Arc<AtomicUsize>>,
}

/// A host name without an address.
#[derive(Debug)]
pub(super) struct NoAddress(pub(super) String);

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAddress {}

impl Resolve for Addresses {
    fn resolve(&self, name: Name) -> Resolving {
        let turns = self.turns.clone();
        Box::pin(async move {
            let look = move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
            let mut found = match tokio::task::spawn_blocking(look).await? {
                Ok(found) if !found.is_empty() => found,
                Ok(_) => return Err(NoAddress("it has no address".to_owned()).into()),
                // The files or sockets that the resolver needs are not the fault of the name.
                Err(error) if failure::is_out_of_files(&error) => return Err(error.into()),
                Err(error) => return Err(NoAddress(error.to_string()).into()),
            };
            if let Some(turns) = turns {
                let turn = turns.fetch_add(1, Ordering::Relaxed) % found.len();
                found.rotate_left(turn);
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_in_every_usual_spelling() {
        let seconds = |text: &str| parse_span(text).map(|span| span.as_secs_f64());
        for (text, expected) in
            [("30", 30.0), ("30s", 30.0), ("500ms", 0.5), ("1m 30s", 90.0), ("2 minutes", 120.0), ("1h", 3_600.0)]
        {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "soon", "s", "5 parsecs", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615 days"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn every_option_of_the_client_reaches_it() {
        crate::store::install_crypto_provider();
        let pairs = [
            (Key::AllowHttp, "yes", "perhaps"),
            (Key::AllowInvalidCertificates, "false", "perhaps"),
            (Key::ConnectTimeout, "3s", "soon"),
            (Key::Http1Only, "off", "perhaps"),
            (Key::Http2KeepAliveInterval, "1m", "soon"),
            (Key::Http2KeepAliveTimeout, "1m", "soon"),
            (Key::Http2KeepAliveWhileIdle, "1", "perhaps"),
            (Key::Http2MaxFrameSize, "20000", "large"),
            (Key::Http2Only, "true", "perhaps"),
            (Key::PoolIdleTimeout, "1m", "soon"),
            (Key::PoolMaxIdlePerHost, "7", "many"),
            (Key::RandomizeAddresses, "false", "perhaps"),
            (Key::Timeout, "1h", "soon"),
        ];
        for (key, good, bad) in pairs {
            let with = |value: &str| connect(&ClientOptions::new().with_config(key, value), Some(&[]));
            assert!(with(good).is_ok(), "{}={good}", key.as_ref());
            let error = with(bad).expect_err(key.as_ref()).to_string();
            assert!(error.contains(key.as_ref()) && !error.contains(bad), "{error}");
        }
    }
}
