//! The index of a table: an ordinary polars frame whose rows can be read.

use std::sync::Arc;

use polars::prelude::{DataFrame, Expr, IntoLazy};

use super::{loader::RowLoader, version::Table};
use crate::{
    error::{Error, Result},
    format::{Locator, index_reader},
    index,
};

/// A frame of the index columns and one locator column, and the table version that its locators point to.
///
/// Filter, sort, sample or join the frame as you like: as long as its locator column stays, its rows can be read.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use polars::prelude::{col, lit};
/// use tetrys::{RowLoader, Table};
/// let index = Table::open("/data/sensors").await?.index().await?;
/// let busy = index.filter(col("agents_count").gt(lit(100)))?;
/// let loader = RowLoader::new(&busy)?.columns(["agents.pose.*"])?;
/// let history = loader.get_rows(0, -10..=0).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    frame: DataFrame,
    table: Table,
    tag: u16,
}

impl Table {
    /// The index of this version, loaded into a frame.
    ///
    /// # Errors
    /// `Corrupt` where an index object is not what the manifest says; errors of the store.
    pub async fn index(&self) -> Result<Index> {
        let tag = Locator::tag(self.manifest().table, self.version());
        let objects = self.index_objects_and_sequences().await?;
        let mut batches = Vec::new();
        for (bytes, segment) in objects.into_iter().zip(&self.manifest().segments) {
            batches.extend(index_reader(bytes, self.schema(), segment.rows)?);
        }
        let frame = index::frame(self.schema(), tag, batches)?;
        if frame.height() as u64 != self.rows() {
            return Err(Error::corrupt(format!(
                "{}: index of {} rows, the manifest says {}",
                self.url(),
                frame.height(),
                self.rows()
            )));
        }
        Ok(Index { frame, table: self.clone(), tag })
    }
}

impl Index {
    /// The frame.
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// The table version that the locators point to.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows for which the expression is true.
    ///
    /// # Errors
    /// `Invalid` where polars refuses the expression.
    pub fn filter(&self, predicate: Expr) -> Result<Self> {
        let frame = self.frame.clone().lazy().filter(predicate).collect();
        self.with_frame(frame.map_err(|error| Error::invalid(format!("filter: {error}")))?)
    }

    /// The same table under another frame, whatever made it: its locator column says which rows it means.
    ///
    /// # Errors
    /// `Invalid` where the locator column is missing or does not point into this table version.
    pub fn with_frame(&self, frame: DataFrame) -> Result<Self> {
        index::locate(&frame, self.tag, self.table.rows())?;
        Ok(Self { frame, table: self.table.clone(), tag: self.tag })
    }
}

impl RowLoader {
    /// A loader whose positions are the rows of the index.
    ///
    /// # Errors
    /// As [`Index::with_frame`].
    pub fn new(index: &Index) -> Result<Self> {
        let rows: Arc<[u64]> = index::locate(&index.frame, index.tag, index.table.rows())?.into();
        Ok(Self::of_rows(&index.table, rows))
    }
}
