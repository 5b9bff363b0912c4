//! Settings of text: the separator of cells, and the types of columns.

use std::collections::BTreeMap;

use crate::schema::{ColumnType, Schema};

/// How to read text: CSV and line-delimited JSON.
///
/// Rows that join a table should be read with its types. Otherwise `9` is a whole number, although the table's column has floats.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Table, ingest::frame::{Frame, FrameFormat, FrameSettings, TextSettings, patch}};
/// let table = Table::open("drives").await?;
/// let text = TextSettings { table: Some(table.schema().clone()), ..TextSettings::default() };
/// let frame = Frame::open("relabelled.csv", FrameFormat::Csv, &text)?;
/// let table = patch(&frame, &table, &["log_id", "timestamp"], &FrameSettings::default()).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSettings {
    /// Separator of CSV cells. `None`: a tab in files that end in `.tsv`, else a comma.
    pub delimiter: Option<u8>,
    /// Types of columns by name. Every other column has the type that it has in `table`, or else a type that reproduces all its
    /// values exactly: text if it has none. The spelling of numbers may change: `1.50` becomes 1.5. Leading zeros and plus signs are
    /// only lost if the type is declared here.
    pub types: BTreeMap<String, ColumnType>,
    /// Schema of the table that the rows are for.
    pub table: Option<Schema>,
}
