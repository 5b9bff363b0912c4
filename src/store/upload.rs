//! Multipart uploads: parts of 8 MiB, a few at a time. The object becomes visible when the upload completes, or never. To a local
//! directory, the parts are written one after another.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{FuturesUnordered, TryStreamExt};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use super::{
    failure::{self, Doing},
    inner::{Inner, Put},
    local,
};
use crate::{Result, work::blocking};

/// Maximum size of a single put, and the size of a part of a larger object, in bytes.
pub(super) const PART: u64 = 8 << 20;
/// Maximum number of concurrent parts, and of all parts of an upload.
const PARTS_AT_ONCE: usize = 4;
const MOST_PARTS: u64 = 10_000;

impl Inner {
    pub(super) async fn file_part(self: &Arc<Self>, name: &str, file: &Arc<File>, range: Range<u64>) -> Result<Bytes> {
        let (inner, name, file) = (Arc::clone(self), name.to_owned(), Arc::clone(file));
        blocking(move || local::read_part(&file, &name, &inner.url, range)).await
    }

    pub(super) async fn upload(self: &Arc<Self>, name: &str, location: &Path, file: &Arc<File>, bytes: u64) -> Result<()> {
        if self.files.is_some() {
            return self.copy(name, file, bytes).await;
        }
        let fail = |error| self.fail(error, Doing::Writing, name);
        let mut upload = self.objects.put_multipart(location).await.map_err(fail)?;
        let part = PART.max(bytes.div_ceil(MOST_PARTS));
        let done = async {
            let mut sending = FuturesUnordered::new();
            let mut start = 0;
            while start < bytes {
                let end = (start + part).min(bytes);
                let payload = self.file_part(name, file, start..end).await?;
                if sending.len() >= PARTS_AT_ONCE {
                    sending.try_next().await.map_err(fail)?;
                }
                sending.push(upload.put_part(payload.into()));
                start = end;
            }
            while sending.try_next().await.map_err(fail)?.is_some() {}
            Ok(())
        }
        .await;
        if let Err(error) = done {
            // The caller gets the first error. If the abort fails too, lifecycle rules of the store remove the parts.
            let _ = upload.abort().await;
            return Err(error);
        }
        let Err(error) = upload.complete().await else { return Ok(()) };
        // The first request may have completed the upload, although its answer was lost; the store then knows no such upload.
        match self.size(name).await {
            Ok(found) if found == bytes => Ok(()),
            _ => Err(fail(error)),
        }
    }

    /// Writes the first `bytes` bytes of `file` to a local directory.
    async fn copy(self: &Arc<Self>, name: &str, file: &Arc<File>, bytes: u64) -> Result<()> {
        let (file, owned) = (Arc::clone(file), name.to_owned());
        let copied = self.on_disk(move |files| {
            files.put(&owned, |out| {
                for start in (0..bytes).step_by(PART as usize) {
                    let part = local::read_part(&file, &owned, files.url(), start..(start + PART).min(bytes))?;
                    out.write_all(&part).map_err(|error| failure::disk(&error, Doing::Writing, &owned, files.url()))?;
                }
                Ok(())
            })
        });
        match copied.await? {
            // Another writer was faster.
            Some(Put::AlreadyThere) => {
                self.same_size(name, bytes, self.size(name).await?)?;
                self.already_there(name).await.map(drop)
            }
            _ => Ok(()),
        }
    }
}
