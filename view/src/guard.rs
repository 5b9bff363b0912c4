//! Decides who may ask. Another page in the same browser must get nothing, also if it reaches this server under a name of its own
//! (DNS rebinding), and neither may another user of the machine who does not have the token.
//!
//! Every request names a known host. A request for data also has the token in its `Authorization` header, which no other page can send,
//! and comes from this origin. There are no cookies: a browser sends those to all ports of a host.

use std::net::SocketAddr;

use hyper::{
    HeaderMap, Method, StatusCode, Uri,
    header::{AUTHORIZATION, HOST},
};

/// Headers of every answer.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
];

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

/// The rules of one server.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    token: String,
    /// Values of the `Host` header that lead to the loopback interface.
    loopback: Vec<String>,
    /// Further values that the user allowed.
    allowed: Vec<String>,
}

impl Guard {
    pub(crate) fn new(token: String, address: SocketAddr, allowed: Vec<String>) -> Self {
        let port = address.port();
        let mut loopback: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).into();
        if address.ip().is_loopback() && !loopback.contains(&address.to_string()) {
            loopback.push(address.to_string());
        }
        let mut allowed: Vec<String> = allowed.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        // Browsers leave the usual port out.
        for hosts in [&mut loopback, &mut allowed] {
            let short: Vec<String> = hosts.iter().filter_map(|host| host.strip_suffix(":80")).map(str::to_owned).collect();
            hosts.extend(short);
        }
        Self { token, loopback, allowed }
    }

    /// Checks what holds for every request: it only reads, and it names this server.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if method != Method::GET {
            return Err(refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                format!("method: expected GET, found {method}; nothing is ever written"),
            ));
        }
        if uri.authority().is_some() {
            return Err(refusal(StatusCode::BAD_REQUEST, "expected a path, found a whole address: this is no proxy"));
        }
        let host = host(headers)?;
        match self.loopback.contains(&host) || self.allowed.contains(&host) {
            true => Ok(()),
            false => Err(refusal(
                StatusCode::MISDIRECTED_REQUEST,
                format!("Host: expected {}, found {:?}; --allow-host allows another", self.loopback.join(" or "), shown(&host)),
            )),
        }
    }

    /// Checks a request for data: it has the token, and the page of this server sent it.
    pub(crate) fn check_data(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        // The token first: who opens an address of data without it needs the page, whatever the browser says of the site.
        let headers_found = headers.get_all(AUTHORIZATION).iter().collect::<Vec<_>>();
        let token = match headers_found.as_slice() {
            [header] => header.as_bytes().strip_prefix(b"Bearer "),
            _ => None,
        };
        if token.is_none_or(|token| !is_same(token, self.token.as_bytes())) {
            return Err(refusal(
                StatusCode::UNAUTHORIZED,
                "the token is missing, or belongs to an earlier run: open the address of the viewer",
            ));
        }
        let site = headers.get_all("sec-fetch-site").iter().collect::<Vec<_>>();
        let is_from_here = match site.as_slice() {
            [site] => site.as_bytes() == b"same-origin",
            // Browsers name the site to loopback addresses and over HTTPS alone.
            [] => self.allowed.contains(&host(headers)?),
            _ => false,
        };
        match is_from_here {
            true => Ok(()),
            false => Err(refusal(
                StatusCode::FORBIDDEN,
                "Sec-Fetch-Site: expected same-origin: only the page of this server gets data",
            )),
        }
    }
}

fn host(headers: &HeaderMap) -> Result<String, Refusal> {
    let hosts: Vec<_> = headers.get_all(HOST).iter().collect();
    match hosts.as_slice() {
        [host] => Ok(String::from_utf8_lossy(host.as_bytes()).to_ascii_lowercase()),
        _ => Err(refusal(StatusCode::BAD_REQUEST, format!("expected one Host header, found {}", hosts.len()))),
    }
}

/// Compares in a time that depends on the lengths alone.
fn is_same(found: &[u8], expected: &[u8]) -> bool {
    let differ = found.iter().zip(expected).fold(0, |differ, (found, expected)| differ | (found ^ expected));
    found.len() == expected.len() && std::hint::black_box(differ) == 0
}

fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

fn refusal(status: StatusCode, message: impl Into<String>) -> Refusal {
    Refusal { status, message: message.into() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new("secret".to_owned(), "127.0.0.1:8000".parse().unwrap(), vec!["gpu7:9000".to_owned()])
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn checked(pairs: &[(&'static str, &str)]) -> Result<(), u16> {
        let path = Uri::from_static("/api/tables");
        guard().check(&Method::GET, &path, &headers(pairs)).map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        for host in ["127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000", "gpu7:9000"] {
            assert_eq!(checked(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8000",
            "127.0.0.1",
            "127.0.0.1:8001",
            "localhost",
            "localhost:80",
            "gpu7",
            "gpu7:8000",
            "",
            "localhost:8000.evil",
        ] {
            assert_eq!(checked(&[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(checked(&[]), Err(400));
        assert_eq!(checked(&[("host", "localhost:8000"), ("host", "localhost:8000")]), Err(400));
    }

    #[test]
    fn the_bound_address_and_the_usual_port_are_names_too() {
        let status = |address: &str, host: &str| {
            let guard = Guard::new("secret".to_owned(), address.parse().unwrap(), vec!["GPU7:80".to_owned()]);
            guard
                .check(&Method::GET, &Uri::from_static("/"), &headers(&[("host", host)]))
                .map_err(|refusal| refusal.status.as_u16())
        };
        assert_eq!((status("127.0.0.2:8000", "127.0.0.2:8000"), status("127.0.0.1:8000", "127.0.0.2:8000")), (Ok(()), Err(421)));
        assert_eq!(status("0.0.0.0:8000", "0.0.0.0:8000"), Err(421));
        assert_eq!((status("0.0.0.0:8000", "gpu7"), status("0.0.0.0:8000", "gpu7:80")), (Ok(()), Ok(())));
        assert_eq!((status("127.0.0.1:80", "localhost"), status("127.0.0.1:8080", "localhost")), (Ok(()), Err(421)));
    }

    #[test]
    fn only_gets_of_a_path_are_answered() {
        let local = headers(&[("host", "localhost:8000")]);
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD, Method::CONNECT, Method::PATCH] {
            let refused = guard().check(&method, &Uri::from_static("/"), &local).unwrap_err();
            assert_eq!(refused.status.as_u16(), 405, "{method}");
        }
        let refused = guard().check(&Method::GET, &Uri::from_static("http://localhost:8000/"), &local).unwrap_err();
        assert_eq!(refused.status.as_u16(), 400);
    }

    #[test]
    fn data_needs_the_token_and_this_origin() {
        let checked = |pairs: &[_]| guard().check_data(&headers(pairs)).map_err(|refusal| refusal.status.as_u16());
        let (local, here, token) =
            (("host", "localhost:8000"), ("sec-fetch-site", "same-origin"), ("authorization", "Bearer secret"));
        assert_eq!(checked(&[local, here, token]), Ok(()));
        for site in ["cross-site", "same-site", "none", "", "same-origin, same-origin"] {
            assert_eq!(checked(&[local, ("sec-fetch-site", site), token]), Err(403), "{site}");
        }
        assert_eq!(checked(&[local, token]), Err(403));
        assert_eq!(checked(&[local, here, here, token]), Err(403));
        for header in ["Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "bearer secret", "Basic secret", "secret"] {
            assert_eq!(checked(&[local, here, ("authorization", header)]), Err(401), "{header}");
        }
        assert_eq!(checked(&[local, here]), Err(401));
        // A tab that was opened at an address of data has no token either.
        assert_eq!(checked(&[local, ("sec-fetch-site", "none")]), Err(401));
        assert_eq!(checked(&[local, here, token, token]), Err(401));
        // Without HTTPS, browsers do not name the site to hosts that are not of the loopback interface.
        assert_eq!(checked(&[("host", "gpu7:9000"), token]), Ok(()));
        assert_eq!(checked(&[("host", "gpu7:9000"), ("sec-fetch-site", "cross-site"), token]), Err(403));
    }
}
