//! Response bodies for the wrappers: converts every form of body to a stream.

use std::ops::Range;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, Result};

/// Applies `change` to the body of `answer`. A body that is a file is read first.
pub(in crate::store) async fn reshape(
    answer: GetResult,
    change: impl FnOnce(BoxStream<'static, Result<Bytes>>) -> BoxStream<'static, Result<Bytes>>,
) -> Result<GetResult> {
    let GetResult { payload, meta, range, attributes, extensions } = answer;
    let body = match payload {
        GetResultPayload::Stream(body) => body,
        payload @ GetResultPayload::File(..) => {
            let file = GetResult {
                payload,
                meta: meta.clone(),
                range: range.clone(),
                attributes: attributes.clone(),
                extensions: Default::default(),
            };
            stream::iter([file.bytes().await]).boxed()
        }
    };
    Ok(GetResult { payload: GetResultPayload::Stream(change(body)), meta, range, attributes, extensions })
}

/// Sends one request to `store` per range, so that a wrapper counts, delays or fails each request separately.
pub(in crate::store) async fn each_range(store: &impl ObjectStore, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let requests: Vec<_> = ranges.iter().map(|range| store.get_range(location, range.clone())).collect();
    stream::iter(requests).buffered(10).try_collect().await
}
