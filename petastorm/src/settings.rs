//! The settings of an import, of data sets with a Petastorm schema and of plain Parquet stores alike.

use tetrys::ingest::IngestOptions;

/// How to import a data set. By default every small scalar is an index column, and every other field is a column group of its
/// own.
///
/// Columns are named by [patterns](tetrys::schema::ColumnPattern).
#[derive(Clone, Debug, Default)]
pub struct IngestSettings {
    /// Whether to store pictures as pixels. Otherwise their PNG or JPEG files are stored.
    pub decode: bool,
    /// Index columns. `None`: every column of an indexable type that no group takes.
    pub index: Option<Vec<String>>,
    /// Column groups and their columns.
    pub groups: Vec<(String, Vec<String>)>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns that define sequences: rows with equal values in them. The rows of a sequence must be consecutive.
    pub sequence_by: Vec<String>,
    /// Columns whose values never fall within a sequence.
    pub order_by: Vec<String>,
    /// How to store rows, and what they become. A partition ends where a row group ends, too. The default of `partition_rows` is 8,192 rows
    /// or at most 256 MiB of Parquet, whichever is less.
    pub options: IngestOptions,
}
