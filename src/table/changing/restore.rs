//! Restores an earlier version: commits a version with its content. Nothing but the manifest is written, and pins at other tables
//! whose chunks or rows the earlier version uses.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    error::Result,
    format::Manifest,
    table::{
        session::{Session, lineage},
        table::Table,
    },
};

impl Table {
    /// Commits a version with the content of an earlier one: its rows, columns, table properties, attachments, codec preset and
    /// cut limits, and the tables behind a view. Returns this version if it has that content already. `self` is the newest version.
    ///
    /// No row and no payload is read or written: the new version names the objects of the earlier one, and condemnations of these
    /// objects are withdrawn. Tags stay as they are, and so do the versions in between; views of these versions read the same rows
    /// as before. Column ids that were used since are not used again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let fewer = table.delete([0, 1, 2], WriteOptions::default()).await?;
    /// let again = fewer.restore(1).await?;
    /// assert_eq!((again.version(), again.rows(), fewer.rows()), (3, 10, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: there was no such version, or its manifest is missing: a garbage collection deletes the versions that are not
    ///   kept. The message names the versions that exist.
    /// - `Conflict`: another writer committed since this version was opened, or a garbage collection deletes an object of the
    ///   earlier version, here or in a table that it uses.
    /// - `Unsupported`: this version or the earlier one needs a later writer.
    /// - `Denied`: no pin can be written to a table that the earlier version uses (see [`Table::allow_unpinned`]).
    /// - Errors of the stores.
    pub async fn restore(&self, version: u64) -> Result<Self> {
        self.next_version_may_be_written()?;
        if version == self.version() {
            return Ok(self.clone());
        }
        let earlier = Self::open_version_in(self.store().clone(), version).await?.allow(self.allowed().iter().cloned());
        earlier.next_version_may_be_written()?;
        if has_content_of(self.manifest(), earlier.manifest()) {
            return Ok(self.clone());
        }
        let mut session = Session::child_of(self, false, false).await?;
        for (number, foreign) in (1..).zip(&earlier.manifest().stores) {
            session.owners.push(foreign.clone(), earlier.store_of(number).await);
        }
        let said = BTreeMap::from([("restored".to_owned(), Value::from(version)), ("bytes_added".to_owned(), 0.into())]);
        let manifest = Manifest { lineage: lineage("restore", said)?, ..with_content_of(session.child()?, earlier.manifest()) };
        session.publish_alone(manifest).await
    }
}

/// Returns the next version `child` with the content of `earlier`. Tags and what garbage collection gives up are those of the
/// newest version.
fn with_content_of(child: Manifest, earlier: &Manifest) -> Manifest {
    let next = child.schema.next_id().max(earlier.schema.next_id());
    Manifest {
        schema: earlier.schema.clone().with_next_id(next),
        preset: earlier.preset.clone(),
        cuts: earlier.cuts,
        segments: earlier.segments.clone(),
        attachments: earlier.attachments.clone(),
        properties: earlier.properties.clone(),
        stores: earlier.stores.clone(),
        view: earlier.view.clone(),
        ..child
    }
}

/// Whether a restored `earlier` would be like `newest`.
fn has_content_of(newest: &Manifest, earlier: &Manifest) -> bool {
    with_content_of(newest.clone(), earlier) == *newest
}
