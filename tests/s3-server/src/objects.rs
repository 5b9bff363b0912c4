//! The content of the server: objects by bucket and name, and unfinished uploads. One lock protects all of it, so that each
//! request is atomic.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use md5::{Digest, Md5};
use s3s::dto::{Metadata, Timestamp, TimestampFormat};

#[derive(Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) content_type: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    pub(crate) etag: String,
    /// A number that is larger for each later write.
    pub(crate) generation: u64,
    pub(crate) modified: SystemTime,
    pub(crate) attributes: Attributes,
    pub(crate) tags: Vec<(String, String)>,
}

impl Object {
    pub(crate) fn new(bytes: Bytes, attributes: Attributes) -> Self {
        static WRITES: AtomicU64 = AtomicU64::new(1);
        let (etag, generation) = (hex(&Md5::digest(&bytes)), WRITES.fetch_add(1, Ordering::Relaxed));
        Self { bytes, etag, generation, modified: SystemTime::now(), attributes, tags: Vec::new() }
    }
}

pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) attributes: Attributes,
    pub(crate) parts: BTreeMap<i32, Object>,
}

impl Upload {
    /// Returns the object made of the parts with these numbers, with an ETag computed as S3 does.
    pub(crate) fn join(&self, numbers: &[i32]) -> Option<Object> {
        let parts = numbers.iter().map(|number| self.parts.get(number)).collect::<Option<Vec<_>>>()?;
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.bytes.iter().copied()).collect();
        let tags: Vec<u8> = parts.iter().flat_map(|part| Md5::digest(&part.bytes)).collect();
        let etag = format!("{}-{}", hex(&Md5::digest(&tags)), parts.len());
        Some(Object { etag, ..Object::new(bytes.into(), self.attributes.clone()) })
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) buckets: BTreeMap<String, BTreeMap<String, Object>>,
    pub(crate) uploads: HashMap<String, Upload>,
    /// Blocks of Azure that are not committed, by container and name of the blob, and by their identifiers.
    pub(crate) blocks: HashMap<(String, String), HashMap<String, Bytes>>,
    /// Whether conditional puts are done as if they had no condition, as some servers do.
    pub(crate) ignores_conditions: bool,
    /// The buckets and names of what requests for many objects deleted.
    pub(crate) deleted: Vec<(String, String)>,
    /// Whether unsigned reads are answered.
    pub(crate) anybody_reads: bool,
    /// Whether other unsigned requests are answered, by Azure and Google.
    pub(crate) anybody_writes: bool,
}

/// Returns the whole seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the whole seconds since 1970 of a time in a request.
pub(crate) fn asked_seconds(time: &Timestamp) -> Option<u64> {
    let mut text = Vec::new();
    time.format(TimestampFormat::EpochSeconds, &mut text).ok()?;
    String::from_utf8(text).ok()?.split('.').next()?.parse().ok()
}

/// The conditions of a request: tags without quotes, or `*`; seconds since 1970.
#[derive(Default)]
pub(crate) struct Conditions {
    pub(crate) matches: Option<String>,
    pub(crate) none_match: Option<String>,
    pub(crate) modified_since: Option<u64>,
    pub(crate) unmodified_since: Option<u64>,
}

impl Conditions {
    /// Checks the conditions of a read, in the order of RFC 9110. Returns the status of the refusal.
    pub(crate) fn check_read(&self, tag: &str, modified: SystemTime) -> Result<(), u16> {
        let modified = seconds(modified);
        let is_changed = match &self.matches {
            Some(wanted) => wanted != "*" && wanted != tag,
            None => self.unmodified_since.is_some_and(|time| modified > time),
        };
        let is_same = match &self.none_match {
            Some(existing) => existing == "*" || existing == tag,
            None => self.modified_since.is_some_and(|time| modified <= time),
        };
        match (is_changed, is_same) {
            (true, _) => Err(412),
            (false, true) => Err(304),
            (false, false) => Ok(()),
        }
    }

    /// Checks the conditions of a write against the tag of the object that is there. Returns the status of the refusal.
    pub(crate) fn check_write(&self, there: Option<&str>) -> Result<(), u16> {
        let is = |wanted: &str| there.is_some_and(|tag| wanted == "*" || wanted == tag);
        let is_refused = self.none_match.as_deref().is_some_and(is) || self.matches.as_deref().is_some_and(|wanted| !is(wanted));
        if is_refused { Err(412) } else { Ok(()) }
    }
}

/// Where a page of a listing begins.
#[derive(Clone, Copy)]
pub(crate) enum From<'a> {
    At(&'a str),
    Behind(&'a str),
}

impl From<'_> {
    fn skips(self, name: &str) -> bool {
        match self {
            Self::At(first) => name < first,
            Self::Behind(last) => name <= last,
        }
    }
}

/// A page of a listing.
pub(crate) struct Page {
    pub(crate) objects: Vec<(String, Object)>,
    /// The beginnings of names up to the delimiter.
    pub(crate) prefixes: Vec<String>,
    /// The last name, if more names follow.
    pub(crate) next: Option<String>,
}

impl Page {
    pub(crate) fn of(
        bucket: &BTreeMap<String, Object>,
        prefix: &str,
        delimiter: Option<&str>,
        from: From<'_>,
        most: usize,
    ) -> Self {
        let mut page = Self { objects: Vec::new(), prefixes: Vec::new(), next: None };
        let mut last = None;
        for (key, object) in bucket.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix)) {
            let folder = delimiter.and_then(|mark| {
                let end = key[prefix.len()..].find(mark)? + prefix.len() + mark.len();
                Some(key[..end].to_owned())
            });
            let name = folder.clone().unwrap_or_else(|| key.clone());
            let is_again = folder.is_some() && page.prefixes.last() == folder.as_ref();
            if from.skips(&name) || (folder.is_some() && from.skips(key)) || is_again {
                continue;
            }
            if page.objects.len() + page.prefixes.len() == most {
                page.next = last;
                break;
            }
            last = Some(name);
            match folder {
                Some(folder) => page.prefixes.push(folder),
                None => page.objects.push((key.clone(), object.clone())),
            }
        }
        page
    }
}
