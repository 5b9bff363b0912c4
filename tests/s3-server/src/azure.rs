//! The part of the REST API of Azure Blob Storage that the client of `object_store` uses (its `azure/client.rs`). The pages that
//! comments name are those of <https://learn.microsoft.com/en-us/rest/api/storageservices/>.
//!
//! A request has the token of the server ("Authorize with Microsoft Entra ID"), or a signature that is the token ("Create a service
//! SAS"). Signatures of account keys are not checked.

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use s3s::dto::TimestampFormat;

use crate::{
    objects::{From, Object, Objects, Page},
    protocol::Protocol,
    rest::{Answer, Ask, Refusal, elements, empty, escaped, set, time, xml},
};

/// Maximum names in a page of a listing: "List Blobs".
const PAGE: usize = 5000;
/// Maximum deletions in a batch: "Blob Batch".
const BATCH: usize = 256;
const NO_CONTAINER: Refusal = (404, "ContainerNotFound");
const METADATA: &str = "x-ms-meta-";

/// Answers a request. With `inside`, each deletion of a batch fails so.
pub(crate) fn answer(objects: &mut Objects, ask: &Ask, token: &str, inside: Option<Refusal>) -> Answer {
    is_allowed(objects, ask, token)?;
    match (&ask.method, ask.key.is_empty(), ask.query("comp").unwrap_or_default()) {
        (&Method::GET, true, "list") => list(objects, ask),
        (&Method::POST, true, "batch") => batch(objects, ask, token, inside),
        (&Method::GET | &Method::HEAD, false, "") => {
            let object = ask.bucket(objects, NO_CONTAINER)?.get(&ask.key).ok_or((404, Protocol::Azure.no_object()))?;
            ask.read(object, &tag(object), METADATA, "ConditionNotMet")
        }
        (&Method::PUT, false, "") => put(objects, ask),
        (&Method::PUT, false, "block") => put_block(objects, ask),
        (&Method::PUT, false, "blocklist") => put_block_list(objects, ask),
        _ => Err((405, "UnsupportedHttpVerb")),
    }
}

/// "Status and error codes": 401 `NoAuthenticationInformation` and `InvalidAuthenticationInfo`, 403 `AuthenticationFailed`.
fn is_allowed(objects: &Objects, ask: &Ask, token: &str) -> Result<(), Refusal> {
    match (ask.header("authorization"), ask.query("sig")) {
        _ if ask.is_allowed(objects, token) => Ok(()),
        (None, Some(signature)) if signature == token => Ok(()),
        (None, Some(_)) => Err((403, "AuthenticationFailed")),
        (None, None) => Err((401, "NoAuthenticationInformation")),
        (Some(_), _) => Err((401, "InvalidAuthenticationInfo")),
    }
}

/// Every write gives another tag.
fn tag(object: &Object) -> String {
    format!("0x{:016X}", object.generation)
}

fn written(objects: &mut Objects, ask: &Ask, object: Object) -> Answer {
    let mut answer = empty(StatusCode::CREATED);
    set(&mut answer, "etag", &format!("\"{}\"", tag(&object)));
    set(&mut answer, "last-modified", &time(object.modified, TimestampFormat::HttpDate));
    // A blob that is written loses its blocks that are not committed: "Put Blob", "Put Block List".
    objects.blocks.remove(&(ask.bucket.clone(), ask.key.clone()));
    ask.store(objects, object);
    Ok(answer)
}

/// "Put Blob". If the blob exists, a put with `If-None-Match: *` fails with 409 `BlobAlreadyExists` ("Blob service error codes"); any
/// other condition that does not hold gives 412 `ConditionNotMet` ("Specifying conditional headers for Blob service operations").
fn put(objects: &mut Objects, ask: &Ask) -> Answer {
    let there = ask.bucket(objects, NO_CONTAINER)?.get(&ask.key).map(tag);
    // "Copy Blob".
    let source = ask.header("x-ms-copy-source").and_then(|url| url.parse::<Uri>().ok());
    if source.is_none() && ask.header("x-ms-blob-type") != Some("BlockBlob") {
        return Err((400, "MissingRequiredHeader"));
    }
    let object = ask.object(objects, source.as_ref().map(Uri::path), ask.attributes("x-ms-blob-", METADATA));
    let object = object.ok_or((404, Protocol::Azure.no_object()))?;
    let conditions = ask.conditions();
    if !objects.ignores_conditions {
        match conditions.none_match.as_deref() {
            Some("*") if there.is_some() => return Err((409, "BlobAlreadyExists")),
            _ => conditions.check_write(there.as_deref()).map_err(|status| (status, "ConditionNotMet"))?,
        }
    }
    written(objects, ask, object)
}

/// "Put Block". The blob need not exist, and does not exist before its blocks are committed.
fn put_block(objects: &mut Objects, ask: &Ask) -> Answer {
    ask.bucket(objects, NO_CONTAINER)?;
    let id = ask.query("blockid").filter(|id| !id.is_empty()).ok_or((400, "InvalidQueryParameterValue"))?;
    let blocks = objects.blocks.entry((ask.bucket.clone(), ask.key.clone())).or_default();
    if blocks.keys().any(|existing| existing.len() != id.len()) {
        return Err((400, "InvalidBlobOrBlock"));
    }
    blocks.insert(id.to_owned(), ask.body.clone());
    Ok(empty(StatusCode::CREATED))
}

/// "Put Block List". A block that the blob does not have gives 400 `InvalidBlockList`, as after another list has been committed.
fn put_block_list(objects: &mut Objects, ask: &Ask) -> Answer {
    ask.bucket(objects, NO_CONTAINER)?;
    let list = String::from_utf8_lossy(&ask.body).into_owned();
    let none = HashMap::new();
    let blocks = objects.blocks.get(&(ask.bucket.clone(), ask.key.clone())).unwrap_or(&none);
    let named = elements(&list, "Uncommitted").into_iter().map(|id| blocks.get(id)).collect::<Option<Vec<_>>>();
    let bytes = named.ok_or((400, "InvalidBlockList"))?.into_iter().fold(Vec::new(), |mut bytes, block| {
        bytes.extend_from_slice(block);
        bytes
    });
    written(objects, ask, Object::new(bytes.into(), ask.attributes("x-ms-blob-", METADATA)))
}

/// "List Blobs". Blobs and prefixes come in one order. `marker` is opaque, and `startFrom` includes the name that it gives.
fn list(objects: &Objects, ask: &Ask) -> Answer {
    let bucket = ask.bucket(objects, NO_CONTAINER)?;
    let (prefix, delimiter) = (ask.query("prefix").unwrap_or_default(), ask.query("delimiter"));
    let most = ask.query("maxresults").and_then(|most| most.parse().ok()).unwrap_or(PAGE).min(PAGE);
    let from = match (ask.query("marker"), ask.query("startFrom")) {
        (Some(last), _) => From::Behind(last),
        (None, Some(first)) => From::At(first),
        (None, None) => From::Behind(""),
    };
    let Page { objects: found, prefixes, next } = Page::of(bucket, prefix, delimiter, from, most);
    let mut entries: Vec<(String, String)> = found
        .iter()
        .map(|(name, object)| {
            let (written, bytes) = (time(object.modified, TimestampFormat::HttpDate), object.bytes.len());
            let kind = object.attributes.content_type.as_deref().unwrap_or("application/octet-stream");
            let entry = format!(
                "<Blob><Name>{}</Name><Properties><Creation-Time>{written}</Creation-Time><Last-Modified>{written}</Last-Modified>\
                 <Etag>{}</Etag><Content-Length>{bytes}</Content-Length><Content-Type>{}</Content-Type><Content-Encoding />\
                 <BlobType>BlockBlob</BlobType></Properties></Blob>",
                escaped(name),
                tag(object),
                escaped(kind),
            );
            (name.clone(), entry)
        })
        .chain(prefixes.into_iter().map(|name| {
            let entry = format!("<BlobPrefix><Name>{}</Name></BlobPrefix>", escaped(&name));
            (name, entry)
        }))
        .collect();
    entries.sort();
    let entries: String = entries.into_iter().map(|(_, entry)| entry).collect();
    let marker = next.map_or_else(|| "<NextMarker />".to_owned(), |next| format!("<NextMarker>{}</NextMarker>", escaped(&next)));
    Ok(xml(&format!(
        "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1/\" ContainerName=\"{}\"><Prefix>{}</Prefix><MaxResults>{most}\
         </MaxResults><Blobs>{entries}</Blobs>{marker}</EnumerationResults>",
        escaped(&ask.bucket),
        escaped(prefix)
    )))
}

/// "Blob Batch": deletions as parts of one request. Each has an authorization, and an answer with a status of its own.
fn batch(objects: &mut Objects, ask: &Ask, token: &str, inside: Option<Refusal>) -> Answer {
    ask.bucket(objects, NO_CONTAINER)?;
    let boundary = ask.header("content-type").and_then(|kind| kind.strip_prefix("multipart/mixed; boundary="));
    let boundary = format!("--{}", boundary.ok_or((400, "InvalidHeaderValue"))?);
    let body = String::from_utf8_lossy(&ask.body).into_owned();
    let parts: Vec<&str> = body.split(&boundary).filter(|part| part.contains("DELETE ")).collect();
    if parts.is_empty() || parts.len() > BATCH {
        return Err((400, "InvalidInput"));
    }
    let mut text = String::new();
    for part in parts {
        let field = |name: &str| part.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let path = field("DELETE ").and_then(|line| line.split(' ').next());
        let uri = path.and_then(|path| path.parse::<Uri>().ok()).ok_or((400, "InvalidInput"))?;
        let mut headers = HeaderMap::new();
        if let Some(value) = field("Authorization:").and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(header::AUTHORIZATION, value);
        }
        let deletion = Ask::new(Method::DELETE, &uri, headers, Bytes::new());
        let result = match inside.map_or_else(|| delete(objects, &deletion, token), Err) {
            Ok(()) => "202 Accepted\r\nx-ms-delete-type-permanent: true\r\nx-ms-version: 2018-11-09\r\n\r\n".to_owned(),
            Err((status, code)) => {
                let body = Protocol::Azure.refusal(status, code).into_body();
                let (bytes, body) = (body.len(), String::from_utf8_lossy(&body).into_owned());
                let head = format!("{status} as the test has it\r\nx-ms-error-code: {code}\r\nContent-Length: {bytes}");
                format!("{head}\r\nContent-Type: application/xml\r\n\r\n{body}\r\n")
            }
        };
        let id = field("Content-ID:").ok_or((400, "InvalidInput"))?;
        text += &format!("--batchresponse\r\nContent-Type: application/http\r\nContent-ID: {id}\r\n\r\nHTTP/1.1 {result}");
    }
    let mut answer = empty(StatusCode::ACCEPTED);
    *answer.body_mut() = format!("{text}--batchresponse--\r\n").into();
    set(&mut answer, "content-type", "multipart/mixed; boundary=batchresponse");
    Ok(answer)
}

/// "Delete Blob".
fn delete(objects: &mut Objects, ask: &Ask, token: &str) -> Result<(), Refusal> {
    is_allowed(objects, ask, token)?;
    let bucket = objects.buckets.get_mut(&ask.bucket).ok_or(NO_CONTAINER)?;
    bucket.remove(&ask.key).ok_or((404, Protocol::Azure.no_object()))?;
    objects.deleted.push((ask.bucket.clone(), ask.key.clone()));
    Ok(())
}
