//! Why a request got no answer, and whether another try can help: a certificate that is not trusted stays so, a server that
//! refuses connections may be starting, and a cut connection is worth many tries. Pure, but for the look at the runtime.

use std::{cell::Cell, error::Error as StdError, io};

use http::{Method, Uri};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};
use rustls::CertificateError;

use super::client::{CA_BUNDLE, NoAddress};
use crate::{
    ErrorKind,
    error::guarded,
    store::failure::{self, Known},
};

/// Whether a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Never: the same request fails again.
    Never,
    /// For a while: the server may be starting, or a name server may have failed.
    ForAWhile,
}

/// Returns the cause of an error without an answer, if this build knows it, and whether to send the request again.
pub(super) fn of(error: &HttpError, uri: &Uri) -> Option<(Known, Again)> {
    let host = uri.authority().map_or("the server", |authority| authority.as_str());
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(NoAddress(why)) = error.downcast_ref() {
            let name = uri.host().unwrap_or(host);
            let text = format!("the host name {name} cannot be resolved: {why}; check the URL and the store option endpoint");
            return Some((Known { kind: ErrorKind::Unavailable, text }, Again::ForAWhile));
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>()
            && error.is_builder()
        {
            return Some((Known { kind: ErrorKind::Invalid, text: failure::chain(error) }, Again::Never));
        }
        if let Some(system) = error.downcast_ref::<io::Error>() {
            if failure::is_out_of_files(system) {
                let text = failure::of_system(system).to_string();
                return Some((Known { kind: ErrorKind::Unavailable, text }, Again::ForAWhile));
            }
            if system.kind() == io::ErrorKind::ConnectionRefused {
                let text =
                    format!("{host} refuses connections: no server listens there; check the URL and the store option endpoint");
                return Some((Known { kind: ErrorKind::Unavailable, text }, Again::ForAWhile));
            }
            // The source of an I/O error is that of the error inside, so what is inside is looked at here.
            let mut inside = system.get_ref();
            while let Some(error) = inside {
                if let Some(tls) = error.downcast_ref::<rustls::Error>() {
                    return Some(of_tls(tls, host));
                }
                inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            }
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(of_tls(tls, host));
        }
        next = error.source();
    }
    None
}

fn of_tls(error: &rustls::Error, host: &str) -> (Known, Again) {
    use CertificateError as C;
    let certificate = |why: String| (ErrorKind::Invalid, format!("the certificate of {host} {why}"), Again::Never);
    let (kind, text, again) = match error {
        rustls::Error::InvalidCertificate(C::UnknownIssuer) => certificate(format!(
            "is not trusted: its issuer is unknown. If you trust the issuer, name its PEM file in the store option {CA_BUNDLE}, in \
             AWS_CA_BUNDLE for S3, or in SSL_CERT_FILE"
        )),
        rustls::Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => {
            certificate(format!("is for another name ({error}); check the host name in the URL and in the store option endpoint"))
        }
        rustls::Error::InvalidCertificate(
            C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. },
        ) => certificate(format!("is not valid now ({error}); check the clock of this machine")),
        rustls::Error::InvalidCertificate(_) => certificate(format!("is not accepted: {error}")),
        rustls::Error::InvalidMessage(_) => {
            let text = format!("{host} does not speak TLS ({error}): it may expect http:// instead of https://");
            (ErrorKind::Invalid, text, Again::Never)
        }
        _ => (ErrorKind::Unavailable, format!("TLS with {host} failed: {error}"), Again::ForAWhile),
    };
    (Known { kind, text }, again)
}

/// Whether a request has the same effect once and twice. Puts are, but for those of manifests: an object is created, never
/// changed, so a second put is answered with "already there".
pub(super) fn is_idempotent(request: &HttpRequest) -> bool {
    match *request.method() {
        // The committer sends a manifest again itself, after another look at the versions. (The backend does too after an answer of the
        // kind 5xx, 408 or 429: `was_sent_again`.)
        Method::PUT => !is_of_manifest(request.uri().path()),
        Method::GET | Method::HEAD | Method::DELETE => true,
        Method::POST => {
            let query = request.uri().query().unwrap_or_default();
            // An upload begun twice leaves one without parts. Deleting and completing twice has the effect of once.
            query.split('&').any(|part| {
                let name = part.split('=').next().unwrap_or_default();
                ["delete", "uploads", "uploadId"].contains(&name) || part == "comp=batch"
            })
        }
        _ => false,
    }
}

/// Whether the path is that of a manifest. `object_store` encodes the slashes of names in paths of Google.
fn is_of_manifest(path: &str) -> bool {
    path.replace("%2F", "/").rsplit('/').nth(1) == Some("manifests")
}

/// Returns the error with its causes in its text, and of a kind that the backend retries if the request is idempotent. Without
/// this, the backend gives up a create-only put as soon as its connection breaks.
pub(super) fn with_cause(error: &HttpError, idempotent: bool) -> HttpError {
    use HttpErrorKind as K;
    let kind = match error.kind() {
        K::Timeout | K::Interrupted | K::Unknown if idempotent => K::Request,
        kind => kind,
    };
    let cause = error.source().map_or_else(|| error.to_string(), failure::chain);
    HttpError::new(kind, io::Error::other(cause))
}

/// Creates an error that the backend does not retry.
pub(super) fn last(known: Known) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, known)
}

/// Checks that the caller is inside a Tokio runtime with timers and I/O. Tokio itself panics without them.
///
/// # Errors
/// - `Invalid`: there is no runtime, or it lacks timers or I/O.
pub(super) fn check_runtime() -> Result<(), Known> {
    thread_local! {
        /// The runtime that this thread found complete.
        static COMPLETE: Cell<Option<tokio::runtime::Id>> = const { Cell::new(None) };
    }
    let refuse = |what: &str| {
        let text = format!("{what}; build the runtime with enable_all and call this inside of it, or wait with tetrys::block_on");
        Err(Known { kind: ErrorKind::Invalid, text })
    };
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return refuse("a store on the network needs a Tokio runtime, and this future runs outside of one");
    };
    if COMPLETE.get() == Some(runtime.id()) {
        return Ok(());
    }
    let fails = |work: &dyn Fn()| {
        let without_error = || {
            work();
            Ok::<_, String>(())
        };
        guarded(without_error).is_err()
    };
    if fails(&|| drop(tokio::time::sleep(std::time::Duration::ZERO))) {
        return refuse("a store on the network needs a Tokio runtime with timers, and those of this one are disabled");
    }
    // A socket that never connects registers with the driver of I/O.
    let socket = std::net::UdpSocket::bind(("127.0.0.1", 0)).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
    if let Ok(socket) = socket {
        let register = || {
            if let Ok(socket) = socket.try_clone() {
                drop(tokio::net::UdpSocket::from_std(socket));
            }
        };
        if fails(&register) {
            return refuse("a store on the network needs a Tokio runtime with I/O, and that of this one is disabled");
        }
    }
    COMPLETE.set(Some(runtime.id()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, url: &str) -> HttpRequest {
        let mut request = HttpRequest::new(object_store::client::HttpRequestBody::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, url.parse().expect("a URL"));
        request
    }

    #[test]
    fn only_requests_for_tokens_are_sent_once() {
        for (method, url, expected) in [
            (Method::PUT, "http://h/b/chunks/a", true),
            (Method::PUT, "http://h/b/t/manifests/1.json", false),
            (Method::PUT, "http://h/b/t%2Fmanifests%2F1%2Ejson", false),
            (Method::PUT, "http://h/b/t%2Fchunks%2Fa", true),
            (Method::PUT, "http://h/b/a?partNumber=3&uploadId=x", true),
            (Method::DELETE, "http://h/b/a", true),
            (Method::POST, "http://h/b?delete", true),
            (Method::POST, "http://h/b/a?uploads=", true),
            (Method::POST, "http://h/b/a?uploadId=x", true),
            (Method::POST, "http://h/a?restype=container&comp=batch", true),
            (Method::POST, "http://sts/?Action=AssumeRole", false),
            (Method::POST, "http://oauth/token", false),
        ] {
            assert_eq!(is_idempotent(&request(method.clone(), url)), expected, "{method} {url}");
        }
    }

    #[test]
    fn a_certificate_is_found_inside_of_the_errors_around_it() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls));
        let uri = "https://lab:9000/b".parse().expect("a URL");
        let (known, again) = of(&HttpError::new(HttpErrorKind::Connect, error), &uri).expect("known");
        assert!(known.text.starts_with("the certificate of lab:9000 is not trusted"), "{known}");
        assert_eq!((known.kind, again), (ErrorKind::Invalid, Again::Never));
    }

    #[test]
    fn a_broken_connection_is_retried_and_names_its_cause() {
        let reset = || HttpError::new(HttpErrorKind::Interrupted, io::Error::from(io::ErrorKind::ConnectionReset));
        let error = with_cause(&reset(), true);
        assert_eq!((error.kind(), error.to_string()), (HttpErrorKind::Request, "HTTP error: connection reset".to_owned()));
        assert_eq!(with_cause(&reset(), false).kind(), HttpErrorKind::Interrupted);
    }
}
