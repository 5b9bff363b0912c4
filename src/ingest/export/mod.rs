//! Exports a table or a view as a Parquet or Arrow file, batch by batch in bounded memory.
//!
//! Columns get the Arrow types that they were imported from, as far as their properties tell: times of day, decimals, structs,
//! lists of structs, maps. A tensor whose only variable dimension is the first one becomes a list; every other tensor gets
//! Arrow's canonical extension type. The properties of a column become the metadata of its field. Parquet has no seconds and no
//! `date64`: its files have timestamps in milliseconds, and times of day in microseconds, for these.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::{Table, ingest::export::{ExportFormat, ExportSettings, export}};
//! let table = Table::open("drives@3").await?;
//! let settings = ExportSettings { columns: vec!["log_id".into(), "ego.*".into()], ..ExportSettings::default() };
//! let file = std::fs::File::create("ego.parquet")?;
//! export(&table, file, ExportFormat::Parquet, &settings, |rows| eprintln!("{rows}")).await?;
//! # Ok(()) }
//! ```

mod columns;
mod settings;
mod sink;
mod values;

use std::{io::Write, ops::Range, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::{concat::concat, take::take};

pub use self::settings::{ExportFormat, ExportSettings};
use self::{
    columns::{Exported, chosen},
    sink::Sink,
};
use super::nested::{Node, tree};
use crate::{
    error::{Error, Result},
    table::{RowLoader, Rows, Table, ranges_of},
    work::{Ahead, waves},
};

/// Approximate bytes of a batch.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Rows of the index that are read together, unless a segment has more of them, and the most segments.
const INDEX_ROWS: u64 = 64 << 10;
const SEGMENTS_TOGETHER: usize = 16;
/// Rows of the first batch, before the size of a row is known.
const FIRST_ROWS: usize = 64;

/// Writes a table or a view as a file into `out`. Returns the number of rows. `progress` receives the number of rows written so
/// far.
///
/// Memory holds the stored index, or that of the rows of up to 16 segments if rows are chosen, two batches of about 8 MiB, and
/// for Parquet the current row group of up to 64 MiB.
///
/// # Errors
/// After an error `out` holds a part of the file.
/// - `NotFound`: a pattern matches no column.
/// - `Invalid`: a row does not exist, or a value does not fit the type that its column's properties name.
/// - `Unsupported`: Parquet or Arrow cannot hold a column.
/// - `Corrupt`: stored data is damaged.
/// - Errors of the store and of `out`.
pub async fn export(
    table: &Table,
    out: impl Write + Send,
    format: ExportFormat,
    settings: &ExportSettings,
    progress: impl Fn(u64),
) -> Result<u64> {
    let columns = chosen(table, format, settings).await?;
    let leaves: Vec<_> = columns.iter().map(|column| column.leaf.clone()).collect();
    let nodes = tree(&leaves);
    let fields: Vec<_> = nodes.iter().map(Node::field).collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    let mut sink = Sink::new(out, format, &schema)?;
    let payload: Vec<&str> = columns.iter().filter(|column| column.index.is_none()).map(|column| column.name.as_str()).collect();
    let loader = match payload.is_empty() {
        true => None,
        false if settings.columns.is_empty() => Some(table.row_loader()),
        false => Some(table.row_loader().columns(payload.iter().map(|name| exact(name)))?),
    };
    let mut index = match columns.iter().any(|column| column.index.is_some()) {
        true => Some(IndexRows::new(table, settings.rows.as_deref()).await?),
        false => None,
    };
    let mut rows = Positions::new(table, settings)?;
    let total = rows.left;
    let (mut size, mut done) = (FIRST_ROWS, 0);
    let mut ahead = read(&loader, rows.next(size)).await;
    while let Some((positions, payload)) = ahead.take() {
        let payload = payload.done().await?;
        let payload_bytes = payload.as_ref().map_or(0, |rows| rows.batch().get_array_memory_size()) / positions.len();
        size = (BATCH_BYTES / payload_bytes.max(1)).clamp(1, BATCH_ROWS);
        ahead = read(&loader, rows.next(size)).await;
        let of_index = match &mut index {
            Some(index) => index.rows(&positions).await?,
            None => Vec::new(),
        };
        let arrays = columns.iter().map(|column| column.array(&of_index, payload.as_ref())).collect::<Result<Vec<ArrayRef>>>()?;
        let built = nodes.iter().map(|node| node.array(&arrays, positions.len())).collect::<Result<Vec<_>>>();
        let built = built.map_err(|error| error.at(format!("rows from {}", positions[0])))?;
        let options = RecordBatchOptions::new().with_row_count(Some(positions.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), built, &options);
        sink.write(&batch.map_err(|error| Error::internal(error.to_string()))?)?;
        done += positions.len() as u64;
        progress(done);
        tokio::task::yield_now().await;
    }
    sink.finish()?;
    Ok(total)
}

/// Returns a pattern that matches only this name.
fn exact(name: &str) -> String {
    format!("re:{}", regex::escape(name))
}

type Reading = Ahead<Option<Rows>>;

/// Starts to read rows while earlier rows are written. Returns `None` after the last row.
async fn read(loader: &Option<RowLoader>, positions: Vec<u64>) -> Option<(Vec<u64>, Reading)> {
    if positions.is_empty() {
        return None;
    }
    let (loader, wanted) = (loader.clone(), positions.clone());
    let reading = async move {
        match loader {
            Some(loader) => loader.take(&wanted).await.map(Some),
            None => Ok(None),
        }
    };
    Some((positions, Reading::start(reading).await))
}

/// The rows to write, in ascending order.
struct Positions {
    rows: Option<Vec<u64>>,
    next: u64,
    left: u64,
}

impl Positions {
    fn new(table: &Table, settings: &ExportSettings) -> Result<Self> {
        let rows = settings.rows.clone().map(|mut rows| {
            rows.sort_unstable();
            rows
        });
        if let Some(row) = rows.iter().flatten().find(|row| **row >= table.rows()) {
            return Err(Error::invalid(format!("{}: row {row} of {}", table.url(), table.rows())));
        }
        let left = rows.as_ref().map_or(table.rows(), |rows| rows.len() as u64);
        Ok(Self { rows, next: 0, left })
    }

    fn next(&mut self, size: usize) -> Vec<u64> {
        let end = self.next + self.left.min(size as u64);
        let places = self.next..end;
        self.left -= end - self.next;
        self.next = end;
        match &self.rows {
            Some(rows) => places.filter_map(|place| rows.get(usize::try_from(place).ok()?)).copied().collect(),
            None => places.collect(),
        }
    }
}

/// Index columns of rows that are requested in ascending order.
struct IndexRows<'a> {
    table: &'a Table,
    source: IndexSource,
    /// The batch of the last rows, with their numbers.
    pending: Option<(Vec<u64>, RecordBatch)>,
}

enum IndexSource {
    /// All rows, and the number of the next one.
    All(Box<dyn Iterator<Item = Result<RecordBatch>> + Send>, u64),
    /// These rows, by the segments that are read together.
    Some(std::vec::IntoIter<Vec<u64>>),
}

impl<'a> IndexRows<'a> {
    async fn new(table: &'a Table, wanted: Option<&[u64]>) -> Result<Self> {
        let source = match wanted {
            None => IndexSource::All(Box::new(table.index_batches().await?), 0),
            Some(rows) => {
                let mut rows = rows.to_vec();
                rows.sort_unstable();
                rows.dedup();
                let of_segments = table.rows_by_segment(&ranges_of(&rows)).into_iter();
                let len = |rows: Vec<Range<u64>>| rows.iter().map(|range| range.end - range.start).sum::<u64>() as usize;
                let parts: Vec<usize> = of_segments.map(|(_, rows)| len(rows)).collect();
                // Whole segments, so that none is read twice.
                let together = waves(parts.iter().map(|rows| *rows as u64), INDEX_ROWS, SEGMENTS_TOGETHER);
                let mut rows = rows.into_iter();
                let mut of = |part: Range<usize>| rows.by_ref().take(parts[part].iter().sum()).collect();
                IndexSource::Some(together.into_iter().map(&mut of).collect::<Vec<Vec<u64>>>().into_iter())
            }
        };
        Ok(Self { table, source, pending: None })
    }

    async fn rows(&mut self, positions: &[u64]) -> Result<Vec<ArrayRef>> {
        let internal = |error: arrow_schema::ArrowError| Error::internal(error.to_string());
        let mut parts: Vec<Vec<ArrayRef>> = Vec::new();
        let mut rest = positions;
        while let Some(position) = rest.first() {
            let end = self.pending.as_ref().and_then(|(numbers, _)| numbers.last()).map_or(0, |last| last + 1);
            let Some((numbers, batch)) = self.pending.as_ref().filter(|_| *position < end) else {
                let ends = || Error::corrupt(format!("the index ends before row {position}"));
                self.pending = Some(self.next().await?.ok_or_else(ends)?);
                continue;
            };
            let (here, others) = rest.split_at(rest.partition_point(|position| *position < end));
            rest = others;
            let places: UInt64Array =
                here.iter().map(|position| numbers.binary_search(position).ok().map(|place| place as u64)).collect();
            let taken = batch.columns().iter().map(|column| take(column, &places, None)).collect::<Result<_, _>>();
            parts.push(taken.map_err(internal)?);
        }
        let columns = parts.first().map_or(0, Vec::len);
        let whole = |column: usize| {
            let parts: Vec<&dyn Array> = parts.iter().filter_map(|part| part.get(column)).map(AsRef::as_ref).collect();
            concat(&parts).map_err(internal)
        };
        (0..columns).map(whole).collect()
    }

    /// Returns the next rows with their numbers; `None` after the last ones.
    async fn next(&mut self) -> Result<Option<(Vec<u64>, RecordBatch)>> {
        match &mut self.source {
            IndexSource::All(batches, first) => {
                let Some(batch) = batches.next().transpose()? else { return Ok(None) };
                let start = *first;
                *first += batch.num_rows() as u64;
                Ok(Some(((start..*first).collect(), batch)))
            }
            IndexSource::Some(parts) => match parts.next() {
                Some(rows) => {
                    let batch = self.table.take_index(&rows).await?;
                    Ok(Some((rows, batch)))
                }
                None => Ok(None),
            },
        }
    }
}

impl Exported {
    fn array(&self, index: &[ArrayRef], payload: Option<&Rows>) -> Result<ArrayRef> {
        let array = match self.index {
            Some(place) => index.get(place).ok_or_else(|| Error::internal(format!("no index column `{}`", self.name)))?,
            None => payload.ok_or_else(|| Error::internal("no payload was read"))?.column(&self.name)?,
        };
        self.given(array).map_err(|error| error.at(format!("column `{}`", self.name)))
    }
}
