//! The memory of an index, column by column.

use serde::Serialize;

use super::index::Index;
use crate::index::{bytes_of, is_locator};

/// Bytes of an index in memory, as `tetrys info --memory` prints them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexMemory {
    /// Number of rows.
    pub rows: u64,
    /// The columns, in the order of the frame.
    pub columns: Vec<ColumnMemory>,
    /// Bytes of the locators. The locators of consecutive rows of one table take none.
    pub locator_bytes: u64,
}

/// Bytes of a column of an index in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnMemory {
    /// Name of the column.
    pub name: String,
    /// Type of the column in the frame.
    pub r#type: String,
    /// Bytes of its values and nulls. A categorical column has 4 bytes a row; the texts of its categories, which all categorical
    /// columns of a process share, are not counted.
    pub bytes: u64,
}

impl IndexMemory {
    /// Returns the bytes of all columns and locators.
    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.bytes).sum::<u64>() + self.locator_bytes
    }
}

impl Index {
    /// Returns the bytes of the index in memory. Memory that several columns or indexes share counts in each of them.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let table = Table::open("/data/sensors").await?;
    /// let (text, codes) = (table.index().await?, table.index().categorical().await?);
    /// println!("{} bytes, {} with categorical text", text.memory().bytes(), codes.memory().bytes());
    /// # Ok(()) }
    /// ```
    pub fn memory(&self) -> IndexMemory {
        let (mut columns, mut locator_bytes) = (Vec::new(), 0);
        for column in self.frame.bare().columns() {
            match is_locator(column.name()) {
                true => locator_bytes += bytes_of(column),
                false => columns.push(ColumnMemory {
                    name: column.name().to_string(),
                    r#type: column.dtype().to_string(),
                    bytes: bytes_of(column),
                }),
            }
        }
        IndexMemory { rows: self.len() as u64, columns, locator_bytes }
    }
}
