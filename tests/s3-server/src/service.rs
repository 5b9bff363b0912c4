//! The S3 operations that object stores use, over [`Objects`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CommonPrefix, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopyPartResult, CopySource,
    CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput,
    DeleteObjectsOutput, DeletedObject, ETag, ETagCondition, GetObjectInput, GetObjectOutput, GetObjectTaggingInput,
    GetObjectTaggingOutput, HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListObjectsV2Input,
    ListObjectsV2Output, Object as Listed, PutObjectInput, PutObjectOutput, PutObjectTaggingInput, PutObjectTaggingOutput,
    StreamingBlob, Tag, UploadPartCopyInput, UploadPartCopyOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use uuid::Uuid;

use crate::objects::{Attributes, Conditions, From, Object, Objects, Page, Upload, asked_seconds};

/// Maximum names in a page of a listing.
const PAGE: usize = 1000;

#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Mutex<Objects>>);

impl Service {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, bucket: &str, key: &str) -> S3Result<Object> {
        let objects = self.lock();
        let bucket = objects.buckets.get(bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        bucket.get(key).cloned().ok_or_else(|| s3_error!(NoSuchKey))
    }
}

async fn collect(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let mut bytes = BytesMut::new();
    if let Some(mut body) = body {
        while let Some(piece) = body.try_next().await.map_err(|_| s3_error!(IncompleteBody))? {
            bytes.extend_from_slice(&piece);
        }
    }
    Ok(bytes.freeze())
}

fn tag(condition: ETagCondition) -> String {
    match condition {
        ETagCondition::Any => "*".to_owned(),
        ETagCondition::ETag(tag) => tag.value().to_owned(),
    }
}

/// Checks the conditions of a write against the existing object.
fn check_write(there: Option<&Object>, none_match: Option<ETagCondition>, matches: Option<ETagCondition>) -> S3Result<()> {
    if matches.is_some() && there.is_none() {
        return Err(s3_error!(NoSuchKey));
    }
    let conditions = Conditions { matches: matches.map(tag), none_match: none_match.map(tag), ..Default::default() };
    conditions.check_write(there.map(|object| object.etag.as_str())).map_err(|_| s3_error!(PreconditionFailed))
}

/// Checks the conditions of a read against the object.
fn check_read(object: &Object, input: &GetObjectInput) -> S3Result<()> {
    let conditions = Conditions {
        matches: input.if_match.clone().map(tag),
        none_match: input.if_none_match.clone().map(tag),
        modified_since: input.if_modified_since.as_ref().and_then(asked_seconds),
        unmodified_since: input.if_unmodified_since.as_ref().and_then(asked_seconds),
    };
    conditions.check_read(&object.etag, object.modified).map_err(|status| match status {
        304 => s3_error!(NotModified),
        _ => s3_error!(PreconditionFailed),
    })
}

fn length(bytes: usize) -> Option<i64> {
    i64::try_from(bytes).ok()
}

#[async_trait::async_trait]
impl S3 for Service {
    async fn head_bucket(&self, req: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        match self.lock().buckets.contains_key(&req.input.bucket) {
            true => Ok(S3Response::new(HeadBucketOutput::default())),
            false => Err(s3_error!(NoSuchBucket)),
        }
    }

    async fn get_object(&self, req: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = req.input;
        let object = self.find(&input.bucket, &input.key)?;
        check_read(&object, &input)?;
        let total = object.bytes.len() as u64;
        let (bytes, content_range) = match &input.range {
            Some(range) => {
                let range = range.check(total)?;
                let text = format!("bytes {}-{}/{total}", range.start, range.end - 1);
                let (start, end) = (range.start as usize, range.end as usize);
                (object.bytes.slice(start..end), Some(text))
            }
            None => (object.bytes.clone(), None),
        };
        let Attributes { content_type, cache_control, content_disposition, content_encoding, content_language, metadata } =
            object.attributes;
        let output = GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: length(bytes.len()),
            body: Some(StreamingBlob::from(s3s::Body::from(bytes))),
            content_range,
            content_type: content_type.and_then(|text| text.parse().ok()),
            cache_control,
            content_disposition,
            content_encoding,
            content_language,
            metadata,
            e_tag: Some(ETag::Strong(object.etag)),
            last_modified: Some(object.modified.into()),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn head_object(&self, req: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = req.input;
        let object = self.find(&input.bucket, &input.key)?;
        let as_get = GetObjectInput {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
            if_modified_since: input.if_modified_since,
            if_unmodified_since: input.if_unmodified_since,
            ..Default::default()
        };
        check_read(&object, &as_get)?;
        let output = HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: length(object.bytes.len()),
            content_type: object.attributes.content_type.and_then(|text| text.parse().ok()),
            cache_control: object.attributes.cache_control,
            content_disposition: object.attributes.content_disposition,
            content_encoding: object.attributes.content_encoding,
            content_language: object.attributes.content_language,
            metadata: object.attributes.metadata,
            e_tag: Some(ETag::Strong(object.etag)),
            last_modified: Some(object.modified.into()),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn put_object(&self, req: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = req.input;
        let bytes = collect(input.body).await?;
        let attributes = Attributes {
            content_type: input.content_type.map(|text| text.to_string()),
            cache_control: input.cache_control,
            content_disposition: input.content_disposition,
            content_encoding: input.content_encoding,
            content_language: input.content_language,
            metadata: input.metadata,
        };
        let mut object = Object::new(bytes, attributes);
        object.tags = tags(input.tagging.as_deref().unwrap_or_default());
        let tag = object.etag.clone();
        let mut objects = self.lock();
        let ignores = objects.ignores_conditions;
        let bucket = objects.buckets.get_mut(&input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        if !ignores {
            check_write(bucket.get(&input.key), input.if_none_match, input.if_match)?;
        }
        bucket.insert(input.key, object);
        Ok(S3Response::new(PutObjectOutput { e_tag: Some(ETag::Strong(tag)), ..Default::default() }))
    }

    async fn copy_object(&self, req: S3Request<CopyObjectInput>) -> S3Result<S3Response<CopyObjectOutput>> {
        let CopySource::Bucket { bucket, key, .. } = &req.input.copy_source else { return Err(s3_error!(NotImplemented)) };
        let mut object = self.find(bucket, key)?;
        object.modified = std::time::SystemTime::now();
        let result = CopyObjectResult {
            e_tag: Some(ETag::Strong(object.etag.clone())),
            last_modified: Some(object.modified.into()),
            ..Default::default()
        };
        let mut objects = self.lock();
        let bucket = objects.buckets.get_mut(&req.input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        bucket.insert(req.input.key, object);
        Ok(S3Response::new(CopyObjectOutput { copy_object_result: Some(result), ..Default::default() }))
    }

    async fn delete_object(&self, req: S3Request<DeleteObjectInput>) -> S3Result<S3Response<DeleteObjectOutput>> {
        let mut objects = self.lock();
        let bucket = objects.buckets.get_mut(&req.input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        bucket.remove(&req.input.key);
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(&self, req: S3Request<DeleteObjectsInput>) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let mut objects = self.lock();
        let bucket = objects.buckets.get_mut(&req.input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        let keys: Vec<String> = req.input.delete.objects.into_iter().map(|object| object.key).collect();
        keys.iter().for_each(|key| drop(bucket.remove(key)));
        objects.deleted.extend(keys.iter().map(|key| (req.input.bucket.clone(), key.clone())));
        let deleted = keys.into_iter().map(|key| DeletedObject { key: Some(key), ..Default::default() });
        Ok(S3Response::new(DeleteObjectsOutput { deleted: Some(deleted.collect()), ..Default::default() }))
    }

    async fn list_objects_v2(&self, req: S3Request<ListObjectsV2Input>) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = req.input;
        let objects = self.lock();
        let bucket = objects.buckets.get(&input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        let prefix = input.prefix.clone().unwrap_or_default();
        let after = input.continuation_token.clone().or(input.start_after.clone()).unwrap_or_default();
        let most = input.max_keys.map_or(PAGE, |most| usize::try_from(most).unwrap_or(PAGE).min(PAGE));
        let page = Page::of(bucket, &prefix, input.delimiter.as_deref(), From::Behind(&after), most);
        let contents: Vec<Listed> = page
            .objects
            .into_iter()
            .map(|(key, object)| Listed {
                key: Some(key),
                size: length(object.bytes.len()),
                e_tag: Some(ETag::Strong(object.etag)),
                last_modified: Some(object.modified.into()),
                ..Default::default()
            })
            .collect();
        let prefixes = page.prefixes;
        let output = ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: input.prefix,
            delimiter: input.delimiter,
            start_after: input.start_after,
            max_keys: i32::try_from(most).ok(),
            key_count: i32::try_from(contents.len() + prefixes.len()).ok(),
            contents: Some(contents),
            common_prefixes: Some(prefixes.into_iter().map(|prefix| CommonPrefix { prefix: Some(prefix) }).collect()),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next,
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let input = req.input;
        let attributes = Attributes {
            content_type: input.content_type.map(|text| text.to_string()),
            cache_control: input.cache_control,
            content_disposition: input.content_disposition,
            content_encoding: input.content_encoding,
            content_language: input.content_language,
            metadata: input.metadata,
        };
        let id = Uuid::new_v4().simple().to_string();
        let mut objects = self.lock();
        if !objects.buckets.contains_key(&input.bucket) {
            return Err(s3_error!(NoSuchBucket));
        }
        let upload = Upload { bucket: input.bucket.clone(), key: input.key.clone(), attributes, parts: Default::default() };
        objects.uploads.insert(id.clone(), upload);
        let output = CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let input = req.input;
        let part = Object::new(collect(input.body).await?, Attributes::default());
        let tag = part.etag.clone();
        let mut objects = self.lock();
        let upload = objects.uploads.get_mut(&input.upload_id).ok_or_else(|| s3_error!(NoSuchUpload))?;
        upload.parts.insert(input.part_number, part);
        Ok(S3Response::new(UploadPartOutput { e_tag: Some(ETag::Strong(tag)), ..Default::default() }))
    }

    async fn upload_part_copy(&self, req: S3Request<UploadPartCopyInput>) -> S3Result<S3Response<UploadPartCopyOutput>> {
        let input = req.input;
        let CopySource::Bucket { bucket, key, .. } = &input.copy_source else { return Err(s3_error!(NotImplemented)) };
        let part = Object::new(self.find(bucket, key)?.bytes, Attributes::default());
        let result = CopyPartResult {
            e_tag: Some(ETag::Strong(part.etag.clone())),
            last_modified: Some(part.modified.into()),
            ..Default::default()
        };
        let mut objects = self.lock();
        let upload = objects.uploads.get_mut(&input.upload_id).ok_or_else(|| s3_error!(NoSuchUpload))?;
        upload.parts.insert(input.part_number, part);
        Ok(S3Response::new(UploadPartCopyOutput { copy_part_result: Some(result), ..Default::default() }))
    }

    async fn complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let input = req.input;
        let listed = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
        let mut objects = self.lock();
        let ignores = objects.ignores_conditions;
        let upload = objects.uploads.get(&input.upload_id).ok_or_else(|| s3_error!(NoSuchUpload))?;
        let numbers: Vec<i32> = listed.iter().filter_map(|part| part.part_number).collect();
        let same = |part: &s3s::dto::CompletedPart| {
            let stored = part.part_number.and_then(|number| upload.parts.get(&number));
            stored.is_some_and(|stored| part.e_tag.as_ref().is_none_or(|tag| tag.value() == stored.etag))
        };
        if numbers.is_empty() || !listed.iter().all(same) {
            return Err(s3_error!(InvalidPart));
        }
        let joined = upload.join(&numbers).ok_or_else(|| s3_error!(InvalidPart))?;
        let (bucket, key, tag) = (upload.bucket.clone(), upload.key.clone(), joined.etag.clone());
        let there = objects.buckets.get_mut(&bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        if !ignores {
            check_write(there.get(&key), input.if_none_match, input.if_match)?;
        }
        there.insert(key.clone(), joined);
        objects.uploads.remove(&input.upload_id);
        let output = CompleteMultipartUploadOutput {
            bucket: Some(bucket),
            key: Some(key),
            e_tag: Some(ETag::Strong(tag)),
            ..Default::default()
        };
        Ok(S3Response::new(output))
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        match self.lock().uploads.remove(&req.input.upload_id) {
            Some(_) => Ok(S3Response::new(AbortMultipartUploadOutput::default())),
            None => Err(s3_error!(NoSuchUpload)),
        }
    }

    async fn get_object_tagging(&self, req: S3Request<GetObjectTaggingInput>) -> S3Result<S3Response<GetObjectTaggingOutput>> {
        let object = self.find(&req.input.bucket, &req.input.key)?;
        let tag_set = object.tags.into_iter().map(|(key, value)| Tag { key: Some(key), value: Some(value) }).collect();
        Ok(S3Response::new(GetObjectTaggingOutput { tag_set, version_id: None }))
    }

    async fn put_object_tagging(&self, req: S3Request<PutObjectTaggingInput>) -> S3Result<S3Response<PutObjectTaggingOutput>> {
        let input = req.input;
        let mut objects = self.lock();
        let bucket = objects.buckets.get_mut(&input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        let object = bucket.get_mut(&input.key).ok_or_else(|| s3_error!(NoSuchKey))?;
        object.tags =
            input.tagging.tag_set.into_iter().map(|tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default())).collect();
        Ok(S3Response::new(PutObjectTaggingOutput::default()))
    }
}

/// Allows everything with an access key, and reads without one if unsigned reads are on.
pub(crate) struct Access(pub(crate) Arc<Mutex<Objects>>);

#[async_trait::async_trait]
impl s3s::access::S3Access for Access {
    async fn check(&self, cx: &mut s3s::access::S3AccessContext<'_>) -> S3Result<()> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner).anybody_reads;
        let reads = matches!(*cx.method(), http::Method::GET | http::Method::HEAD);
        match cx.credentials().is_some() || (open && reads) {
            true => Ok(()),
            false => Err(s3_error!(AccessDenied)),
        }
    }
}

/// Parses the tags of a header: `a=b&c=d`.
fn tags(header: &str) -> Vec<(String, String)> {
    header.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
