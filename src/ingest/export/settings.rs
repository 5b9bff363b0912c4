//! Settings of an export.

/// File format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Parquet, compressed with Zstandard.
    Parquet,
    /// An Arrow IPC file (Feather 2), compressed with LZ4.
    Arrow,
    /// An Arrow IPC stream, compressed with LZ4. Use it for pipes.
    ArrowStream,
}

/// Which columns and rows to export, and how. The default exports everything.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// Index and group columns, as [patterns](crate::schema::ColumnPattern). Empty: all columns.
    pub columns: Vec<String>,
    /// Row numbers from 0. Rows are written in table order. `None`: all rows.
    pub rows: Option<Vec<u64>>,
    /// Whether to write columns as the table stores them: no structs, lists of structs or maps, and decimals as text.
    pub flat: bool,
}
