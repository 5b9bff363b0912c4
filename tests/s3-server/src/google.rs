//! The part of the XML API of Google Cloud Storage that the client of `object_store` uses (its `gcp/client.rs`). The pages that
//! comments name are those of <https://cloud.google.com/storage/docs/xml-api/>.
//!
//! A request has the token of the server. Any other one is refused with 401 `AuthenticationRequired`: "HTTP status and error codes".

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use s3s::dto::TimestampFormat;
use uuid::Uuid;

use crate::{
    objects::{From, Object, Objects, Page, Upload},
    protocol::Protocol,
    rest::{Answer, Ask, Refusal, elements, empty, escaped, set, time, xml},
};

/// Maximum names in a page of a listing: "List objects".
const PAGE: usize = 1000;
const NO_BUCKET: Refusal = (404, "NoSuchBucket");
const NO_UPLOAD: Refusal = (404, "NoSuchUpload");
const METADATA: &str = "x-goog-meta-";

/// Answers a request.
pub(crate) fn answer(objects: &mut Objects, ask: &Ask, token: &str) -> Answer {
    if !ask.is_allowed(objects, token) {
        return Err((401, "AuthenticationRequired"));
    }
    let missing = (404, Protocol::Google.no_object());
    match (&ask.method, ask.key.is_empty(), ask.query("uploadId")) {
        (&Method::GET, true, None) if ask.query("list-type") == Some("2") => list(objects, ask),
        (&Method::GET | &Method::HEAD, false, None) => {
            let object = ask.bucket(objects, NO_BUCKET)?.get(&ask.key).ok_or(missing)?;
            // As a bucket without versions of objects: "Download an object".
            if ask.query("generation").is_some_and(|wanted| wanted != object.generation.to_string()) {
                return Err(missing);
            }
            let mut answer = ask.read(object, &object.etag, METADATA, "PreconditionFailed")?;
            set(&mut answer, "x-goog-generation", &object.generation.to_string());
            Ok(answer)
        }
        (&Method::PUT, false, None) => {
            // "Copy an object".
            let object = ask.object(objects, ask.header("x-goog-copy-source"), ask.attributes("", METADATA)).ok_or(missing)?;
            check_write(objects, ask)?;
            written(objects, ask, object)
        }
        (&Method::DELETE, false, None) => {
            ask.bucket(objects, NO_BUCKET)?;
            objects.buckets.get_mut(&ask.bucket).and_then(|bucket| bucket.remove(&ask.key)).ok_or(missing)?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        (&Method::POST, false, None) if ask.query("uploads").is_some() => begin(objects, ask),
        (&Method::PUT, false, Some(id)) => put_part(objects, ask, id),
        (&Method::POST, false, Some(id)) => complete(objects, ask, id),
        (&Method::DELETE, false, Some(id)) => {
            objects.uploads.remove(id).ok_or(NO_UPLOAD)?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        _ => Err((405, "MethodNotAllowed")),
    }
}

/// "Reference headers", `x-goog-if-generation-match`: the put fails with 412 `PreconditionFailed` if the object has another generation;
/// 0 is that of an object that does not exist.
fn check_write(objects: &Objects, ask: &Ask) -> Result<(), Refusal> {
    let there = ask.bucket(objects, NO_BUCKET)?.get(&ask.key).map_or(0, |object| object.generation);
    match ask.header("x-goog-if-generation-match") {
        Some(wanted) if wanted != there.to_string() && !objects.ignores_conditions => Err((412, "PreconditionFailed")),
        _ => Ok(()),
    }
}

fn written(objects: &mut Objects, ask: &Ask, object: Object) -> Answer {
    let mut answer = empty(StatusCode::OK);
    set(&mut answer, "etag", &format!("\"{}\"", object.etag));
    set(&mut answer, "x-goog-generation", &object.generation.to_string());
    ask.store(objects, object);
    Ok(answer)
}

/// "Initiate a multipart upload".
fn begin(objects: &mut Objects, ask: &Ask) -> Answer {
    ask.bucket(objects, NO_BUCKET)?;
    let id = Uuid::new_v4().simple().to_string();
    let (bucket, key, attributes) = (ask.bucket.clone(), ask.key.clone(), ask.attributes("", METADATA));
    objects.uploads.insert(id.clone(), Upload { bucket, key, attributes, parts: BTreeMap::new() });
    Ok(xml(&format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>")))
}

/// "Upload a part".
fn put_part(objects: &mut Objects, ask: &Ask, id: &str) -> Answer {
    let number = ask.query("partNumber").and_then(|number| number.parse().ok()).ok_or((400, "InvalidArgument"))?;
    let part = Object::new(ask.body.clone(), Default::default());
    let mut answer = empty(StatusCode::OK);
    set(&mut answer, "etag", &format!("\"{}\"", part.etag));
    objects.uploads.get_mut(id).ok_or(NO_UPLOAD)?.parts.insert(number, part);
    Ok(answer)
}

/// "Complete a multipart upload".
fn complete(objects: &mut Objects, ask: &Ask, id: &str) -> Answer {
    let list = String::from_utf8_lossy(&ask.body).into_owned();
    let upload = objects.uploads.get(id).ok_or(NO_UPLOAD)?;
    let numbers: Vec<i32> = elements(&list, "PartNumber").iter().filter_map(|number| number.parse().ok()).collect();
    let tags: Vec<&str> = elements(&list, "ETag").into_iter().map(|tag| tag.trim_matches('"')).collect();
    let etags: Vec<&str> = numbers.iter().filter_map(|number| Some(upload.parts.get(number)?.etag.as_str())).collect();
    if numbers.is_empty() || etags != tags {
        return Err((400, "InvalidPart"));
    }
    let joined = upload.join(&numbers).ok_or((400, "InvalidPart"))?;
    let tag = joined.etag.clone();
    objects.uploads.remove(id);
    let mut answer = written(objects, ask, joined)?;
    let (bucket, key) = (escaped(&ask.bucket), escaped(&ask.key));
    *answer.body_mut() = xml(&format!(
        "<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key><ETag>&quot;{tag}&quot;</ETag>\
         </CompleteMultipartUploadResult>"
    ))
    .into_body();
    Ok(answer)
}

/// "List objects", version 2.
fn list(objects: &Objects, ask: &Ask) -> Answer {
    let bucket = ask.bucket(objects, NO_BUCKET)?;
    let (prefix, delimiter) = (ask.query("prefix").unwrap_or_default(), ask.query("delimiter"));
    let most = ask.query("max-keys").and_then(|most| most.parse().ok()).unwrap_or(PAGE).min(PAGE);
    let behind = ask.query("continuation-token").or(ask.query("start-after")).unwrap_or_default();
    let Page { objects: found, prefixes, next } = Page::of(bucket, prefix, delimiter, From::Behind(behind), most);
    let contents: String = found
        .iter()
        .map(|(name, object)| {
            format!(
                "<Contents><Key>{}</Key><Generation>{}</Generation><LastModified>{}</LastModified><ETag>&quot;{}&quot;</ETag>\
                 <Size>{}</Size></Contents>",
                escaped(name),
                object.generation,
                time(object.modified, TimestampFormat::DateTime),
                object.etag,
                object.bytes.len()
            )
        })
        .collect();
    let prefixes: String =
        prefixes.iter().map(|name| format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(name))).collect();
    let token = next
        .as_ref()
        .map_or_else(String::new, |next| format!("<NextContinuationToken>{}</NextContinuationToken>", escaped(next)));
    Ok(xml(&format!(
        "<ListBucketResult xmlns=\"http://doc.s3.amazonaws.com/2006-03-01\"><Name>{}</Name><Prefix>{}</Prefix><IsTruncated>{}\
         </IsTruncated>{token}{contents}{prefixes}</ListBucketResult>",
        escaped(&ask.bucket),
        escaped(prefix),
        next.is_some()
    )))
}
