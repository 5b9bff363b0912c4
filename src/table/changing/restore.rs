//! Restores an earlier version: commits a version with its content. Nothing but the manifest is written, and pins at other tables
//! whose chunks or rows the earlier version uses.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    error::Result,
    format::Manifest,
    table::{
        session::{Session, lineage},
        version::table::Table,
    },
};

impl Table {
    /// Does what `Versions::restore` says.
    pub(crate) async fn restore(&self, version: u64) -> Result<Self> {
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
        let details = BTreeMap::from([("restored".to_owned(), Value::from(version)), ("bytes_added".to_owned(), 0.into())]);
        let manifest =
            Manifest { lineage: lineage("restore", details)?, ..with_content_of(session.child()?, earlier.manifest()) };
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
