//! The settings of an export.

/// The kind of the file that an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Parquet, compressed with Zstandard.
    Parquet,
    /// An Arrow IPC file (Feather 2), compressed with LZ4.
    Arrow,
    /// An Arrow IPC stream, compressed with LZ4: for pipes.
    ArrowStream,
}

/// The columns and rows that an export writes. The default: all of them.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// The columns, index and group columns alike, as [patterns](crate::ColumnPattern); none: all.
    pub columns: Vec<String>,
    /// The rows, counted from 0; they are written in the order of the table. `None`: all.
    pub rows: Option<Vec<u64>>,
    /// Structs, lists of structs and maps as the columns that they became, and values as the table holds them: decimals are text.
    pub flat: bool,
}
