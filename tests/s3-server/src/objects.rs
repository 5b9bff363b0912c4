//! The content of the server: objects by bucket and name, and unfinished uploads. One lock protects all of it, so that each
//! request is atomic.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use bytes::Bytes;
use md5::{Digest, Md5};
use s3s::dto::Metadata;

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
    pub(crate) modified: SystemTime,
    pub(crate) attributes: Attributes,
    pub(crate) tags: Vec<(String, String)>,
}

impl Object {
    pub(crate) fn new(bytes: Bytes, attributes: Attributes) -> Self {
        let etag = hex(&Md5::digest(&bytes));
        Self { bytes, etag, modified: SystemTime::now(), attributes, tags: Vec::new() }
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
    /// Whether conditional puts are done as if they had no condition, as some servers do.
    pub(crate) ignores_conditions: bool,
    /// The buckets and names of what requests for many objects deleted.
    pub(crate) deleted: Vec<(String, String)>,
    /// Whether unsigned reads are answered.
    pub(crate) anybody_reads: bool,
}
