//! What the protocols of Azure and Google share: parsed requests, answers, and reads of objects. S3 has this from `s3s`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use s3s::dto::{Timestamp, TimestampFormat};

use crate::objects::{Attributes, Conditions, Object, Objects, asked_seconds};

/// Status and code of an error.
pub(crate) type Refusal = (u16, &'static str);
pub(crate) type Answer = Result<Response<Bytes>, Refusal>;

/// A request, parsed.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) body: Bytes,
    query: BTreeMap<String, String>,
}

impl Ask {
    pub(crate) fn new(method: Method, uri: &Uri, headers: HeaderMap, body: Bytes) -> Self {
        let (bucket, key) = place(uri.path());
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let query = query.map(|(name, value)| (decoded(name), decoded(&value.replace('+', " ")))).collect();
        Self { method, headers, bucket, key, body, query }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(crate) fn reads(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// Whether the request has the token of the server, or may do without.
    pub(crate) fn is_allowed(&self, objects: &Objects, token: &str) -> bool {
        let is_open = if self.reads() { objects.anybody_reads } else { objects.anybody_writes };
        is_open || self.header("authorization") == Some(&format!("Bearer {token}"))
    }

    /// Returns the objects of the bucket.
    pub(crate) fn bucket<'a>(&self, objects: &'a Objects, missing: Refusal) -> Result<&'a BTreeMap<String, Object>, Refusal> {
        objects.buckets.get(&self.bucket).ok_or(missing)
    }

    /// Returns the object that a put writes: its body, or a copy of the object at the path `source`.
    pub(crate) fn object(&self, objects: &Objects, source: Option<&str>, attributes: Attributes) -> Option<Object> {
        let Some(source) = source else { return Some(Object::new(self.body.clone(), attributes)) };
        let (bucket, key) = place(source);
        let stored = objects.buckets.get(&bucket)?.get(&key)?;
        Some(Object::new(stored.bytes.clone(), stored.attributes.clone()))
    }

    /// Stores an object under the name of the request.
    pub(crate) fn store(&self, objects: &mut Objects, object: Object) {
        objects.buckets.entry(self.bucket.clone()).or_default().insert(self.key.clone(), object);
    }

    /// Returns the conditions of the request: RFC 9110, which "Specifying conditional headers for Blob service operations" of Azure and
    /// "HTTP headers and query string parameters for XML" of Google refer to.
    pub(crate) fn conditions(&self) -> Conditions {
        let tag = |name: &str| self.header(name).map(|tag| tag.trim_matches('"').to_owned());
        let time = |name: &str| asked_seconds(&Timestamp::parse(TimestampFormat::HttpDate, self.header(name)?).ok()?);
        Conditions {
            matches: tag("if-match"),
            none_match: tag("if-none-match"),
            modified_since: time("if-modified-since"),
            unmodified_since: time("if-unmodified-since"),
        }
    }

    /// Returns the attributes of the headers whose names begin so, and the metadata.
    pub(crate) fn attributes(&self, prefix: &str, of_metadata: &str) -> Attributes {
        let text = |name: &str| self.header(&format!("{prefix}{name}")).map(str::to_owned);
        let metadata = self.headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().strip_prefix(of_metadata)?.to_owned(), value.to_str().ok()?.to_owned()))
        });
        Attributes {
            content_type: text("content-type"),
            cache_control: text("cache-control"),
            content_disposition: text("content-disposition"),
            content_encoding: text("content-encoding"),
            content_language: text("content-language"),
            metadata: Some(metadata.collect()),
        }
    }

    /// Returns the requested range: `bytes=5-9`, `bytes=5-` or `bytes=-5`. A range behind the end is an error.
    fn range(&self, total: usize) -> Result<Option<std::ops::Range<usize>>, ()> {
        let Some((first, last)) = self.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
            return Ok(None);
        };
        let range = match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => first..last.saturating_add(1).min(total),
            (Ok(first), Err(_)) => first..total,
            (Err(_), Ok(last)) => total.saturating_sub(last)..total,
            _ => return Err(()),
        };
        if range.start < range.end { Ok(Some(range)) } else { Err(()) }
    }

    /// Answers a GET or HEAD: status 304 or the code `changed` with 412 if a condition does not hold, 416 for a range behind the end.
    pub(crate) fn read(&self, object: &Object, tag: &str, of_metadata: &str, changed: &'static str) -> Answer {
        self.conditions().check_read(tag, object.modified).map_err(|status| (status, changed))?;
        let total = object.bytes.len();
        let range = self.range(total).map_err(|()| (416, "InvalidRange"))?;
        let mut answer = Response::new(object.bytes.slice(range.clone().unwrap_or(0..total)));
        let length = answer.body().len();
        set(&mut answer, "content-length", &length.to_string());
        if let Some(range) = range {
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(&mut answer, "content-range", &format!("bytes {}-{}/{total}", range.start, range.end - 1));
        }
        let Attributes { content_type, cache_control, content_disposition, content_encoding, content_language, metadata } =
            &object.attributes;
        let named = [
            (header::CONTENT_TYPE, content_type.as_deref().or(Some("application/octet-stream"))),
            (header::CACHE_CONTROL, cache_control.as_deref()),
            (header::CONTENT_DISPOSITION, content_disposition.as_deref()),
            (header::CONTENT_ENCODING, content_encoding.as_deref()),
            (header::CONTENT_LANGUAGE, content_language.as_deref()),
            (header::ACCEPT_RANGES, Some("bytes")),
            (header::ETAG, Some(&*format!("\"{tag}\""))),
            (header::LAST_MODIFIED, Some(&*time(object.modified, TimestampFormat::HttpDate))),
        ];
        named
            .iter()
            .filter_map(|(name, value)| Some((name, (*value)?)))
            .for_each(|(name, value)| set(&mut answer, name.as_str(), value));
        for (name, value) in metadata.iter().flatten() {
            set(&mut answer, &format!("{of_metadata}{name}"), value);
        }
        if self.method == Method::HEAD {
            *answer.body_mut() = Bytes::new();
        }
        Ok(answer)
    }
}

/// Returns the bucket and the name of the object in the path of a request.
pub(crate) fn place(path: &str) -> (String, String) {
    let path = path.trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    (decoded(bucket), decoded(key))
}

/// Decodes percent encoding.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sets a header.
pub(crate) fn set(answer: &mut Response<Bytes>, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
        answer.headers_mut().insert(name, value);
    }
}

/// Returns an answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    answer
}

/// Returns an answer of XML.
pub(crate) fn xml(text: &str) -> Response<Bytes> {
    let mut answer = Response::new(format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>{text}").into());
    set(&mut answer, "content-type", "application/xml");
    answer
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the text of each element of this name.
pub(crate) fn elements<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    text.split(&open).skip(1).filter_map(|rest| Some(rest.split_once(&close)?.0)).collect()
}

pub(crate) fn time(time: SystemTime, format: TimestampFormat) -> String {
    let mut text = Vec::new();
    let _ = Timestamp::from(time).format(format, &mut text);
    String::from_utf8(text).unwrap_or_default()
}
