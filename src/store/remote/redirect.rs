//! Redirects. The request to an object store is signed for one host and carries tokens, so it follows none; the error of a
//! redirect of S3 names the region of the bucket. A table on a web server follows redirects to allowed URLs, without any header
//! but the range. Pure: it returns the next request, and sends nothing.

use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use object_store::client::{HttpRequest, HttpResponse};
use url::Url;

use crate::{
    Error, ErrorKind,
    store::{
        allowed::{Place, how_to_allow},
        failure::{Known, printable, public_url},
        options::Service,
    },
};

/// Maximum number of redirects of one request.
pub(super) const HOPS: usize = 5;

/// What a redirect may do in a store.
#[derive(Debug)]
pub(in crate::store) struct Redirects {
    pub(in crate::store) service: Service,
    /// Places that tables in this store may refer to. Only a web server redirects to them.
    pub(in crate::store) allowed: Vec<Place>,
}

impl Redirects {
    /// Returns the request that follows an answer: `None` if the answer is no redirect. `first` is the first request of the
    /// chain, and `asked` the one that the answer belongs to.
    ///
    /// # Errors
    /// - `Invalid`: the redirect is not allowed.
    pub(super) fn next(&self, first: &HttpRequest, asked: &Uri, answer: &HttpResponse) -> Result<Option<HttpRequest>, Known> {
        let status = answer.status();
        if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let refuse = |text: String| Err(Known { kind: ErrorKind::Invalid, text });
        let text = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let target = text("location").and_then(|location| Url::parse(&asked.to_string()).ok()?.join(location).ok());
        let shown = target
            .as_ref()
            .map_or_else(|| "a place that it does not name".to_owned(), |target| printable(&public_url(target.as_str())));
        if self.service != Service::Http {
            return refuse(match text("x-amz-bucket-region").filter(|region| is_region(region)) {
                Some(region) => format!(
                    "the bucket is in the region {region}, and the request went to another one: set the store option \
                     region={region}, or AWS_REGION, and leave out an endpoint of another region"
                ),
                None => format!(
                    "the server redirects to {shown} ({status}), and requests with credentials follow no redirects: check the \
                     store options region and endpoint"
                ),
            });
        }
        let Some(target) = target.filter(|_| matches!(*first.method(), Method::GET | Method::HEAD)) else {
            return refuse(format!("the server redirects to {shown} ({status})"));
        };
        let here = Url::parse(&first.uri().to_string()).map(|url| url.origin());
        if here != Ok(target.origin()) && !self.allows(&target).unwrap_or(false) {
            let why = how_to_allow(&shown);
            return refuse(format!("the server redirects to {shown} ({status}), which is not allowed; {why}"));
        }
        if !target.username().is_empty() || target.password().is_some() {
            return refuse(format!("the server redirects to {shown} ({status}) with a user or a password"));
        }
        let Ok(target) = target.as_str().parse::<Uri>() else {
            return refuse(format!("the server redirects to {shown} ({status}), which is no URL of an object"));
        };
        let mut next = Request::builder().method(first.method().clone()).uri(target);
        if let Some(range) = first.headers().get(header::RANGE) {
            next = next.header(header::RANGE, HeaderValue::clone(range));
        }
        let mut next = match next.body(Vec::<u8>::new().into()) {
            Ok(next) => next,
            Err(error) => return refuse(format!("the server redirects to {shown} ({status}): {error}")),
        };
        *next.extensions_mut() = first.extensions().clone();
        Ok(Some(next))
    }

    /// Whether the user allowed this URL, or a URL above it. The query does not count: it holds signatures.
    fn allows(&self, target: &Url) -> Result<bool, Error> {
        let mut place = target.clone();
        place.set_query(None);
        place.set_fragment(None);
        let place = Place::of(place.as_str())?;
        Ok(self.allowed.iter().any(|allowed| allowed.holds(&place)))
    }
}

/// Whether a text of the server looks like the name of a region, so that it may be shown as one.
fn is_region(text: &str) -> bool {
    (3..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "https://data.example/t/manifests/1";

    fn follow(service: Service, allowed: &[&str], status: u16, headers: &[(&str, &str)]) -> Result<Option<HttpRequest>, String> {
        let allowed = allowed.iter().flat_map(|url| Place::meant(url).expect("a place")).collect();
        let first = Request::get(FIRST).header("range", "bytes=0-9").header("x-amz-security-token", "hunter2");
        let first = first.header("authorization", "hunter2").body(Vec::<u8>::new().into()).expect("a request");
        let mut answer = http::Response::builder().status(status);
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        let answer = answer.body(Vec::<u8>::new().into()).expect("an answer");
        Redirects { service, allowed }.next(&first, first.uri(), &answer).map_err(|known| known.text)
    }

    const ALL: [u16; 5] = [301, 302, 303, 307, 308];

    #[test]
    fn an_object_store_is_followed_nowhere_and_the_region_is_named() {
        for (service, status) in [Service::S3, Service::Gcs, Service::Azure].into_iter().flat_map(|s| ALL.map(|n| (s, n))) {
            for target in ["https://other.example/x?sig=hunter2", "/t/other", ""] {
                let error = follow(service, &["https://other.example"], status, &[("location", target)]).expect_err("refused");
                assert!(error.contains("follow no redirects") && !error.contains("hunter2"), "{error}");
            }
            let region = [("location", "https://other.example"), ("x-amz-bucket-region", "eu-west-1")];
            let error = follow(service, &[], status, &region).expect_err("refused");
            assert!(error.contains("region=eu-west-1"), "{error}");
            let hostile = [("x-amz-bucket-region", "eu-west-1; curl evil")];
            assert!(!follow(service, &[], status, &hostile).expect_err("refused").contains("curl"));
        }
        for status in [200, 206, 304, 404, 500] {
            assert!(follow(Service::S3, &[], status, &[("location", "https://other.example")]).is_ok_and(|next| next.is_none()));
        }
    }

    #[test]
    fn a_web_server_is_followed_to_allowed_places_without_our_headers() {
        let allowed = ["https://cdn.example/team"];
        for status in ALL {
            let go = |target: &str| follow(Service::Http, &allowed, status, &[("location", target)]);
            for target in ["https://cdn.example/team/a?sig=x", "https://data.example/elsewhere", "../2", "/x"] {
                let next = go(target).expect(target).expect(target);
                let names: Vec<&str> = next.headers().keys().map(|name| name.as_str()).collect();
                assert_eq!(names, ["range"], "{target}");
            }
            for target in [
                "https://cdn.example/teams/a",
                "https://cdn.example/team/../a",
                "https://cdn.example/team/%2e%2e/a",
                "http://cdn.example/team/a",
                "https://cdn.example:8443/team/a",
                "https://u@cdn.example/team/a",
                "https://u:p@data.example/t",
                "http://data.example/t/manifests/1",
                "//evil.example/t",
                "file:///etc/passwd",
                "http://169.254.169.254/latest",
            ] {
                assert!(go(target).is_err(), "{status} {target}");
            }
            assert!(follow(Service::Http, &allowed, status, &[]).is_err());
        }
    }
}
