//! The rows of a data set as batches of a table: decoded value by value, in batches of bounded size. An error names file, row
//! group, row and column.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema as ArrowSchema};
use parquet::arrow::{
    ProjectionMask,
    arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder},
};
use tetrys::{Error, Result};

use crate::{
    builders::Builder,
    cells::Cell,
    columns::{Column, Origin, ROW_GROUP},
    dataset::{Dataset, Parts},
    footer::guarded,
    source::FileReader,
};

/// Maximum bytes of a batch, before the row that exceeds them.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum rows of a batch.
const BATCH_ROWS: usize = 1024;

/// Batches of a range of rows. Ends after the first error.
pub(crate) struct Rows {
    parts: Arc<Parts>,
    columns: Arc<[Column]>,
    /// First ordinal of a row group in the table.
    first_group: u32,
    builders: Vec<Builder>,
    row_groups: Vec<u32>,
    /// Row groups to read: number, and the rows of it.
    left: VecDeque<(usize, Range<u64>)>,
    file: Option<(usize, FileReader, ArrowReaderMetadata)>,
    reading: Option<Reading>,
    ended: bool,
}

/// A row group that is read.
struct Reading {
    group: usize,
    /// Row in the group, and the row to end at.
    row: u64,
    end: u64,
    reader: ParquetRecordBatchReader,
    /// A batch, its columns in the order of the fields, and how many of its rows are done.
    batch: Option<(Vec<Option<ArrayRef>>, usize, usize)>,
}

impl Dataset {
    /// Returns the rows of a range in batches of the columns.
    pub(crate) fn rows(&self, columns: Arc<[Column]>, range: Range<u64>, first_group: u32) -> Rows {
        let groups = &self.parts.groups;
        let first = groups.partition_point(|group| group.start + group.rows <= range.start);
        let within = groups.iter().enumerate().skip(first).take_while(|(_, group)| group.start < range.end);
        let left = within.filter(|(_, group)| group.rows > 0).map(|(number, group)| {
            let start = range.start.saturating_sub(group.start);
            (number, start..(range.end - group.start).min(group.rows))
        });
        Rows {
            parts: Arc::clone(&self.parts),
            builders: columns.iter().map(Builder::new).collect(),
            columns,
            first_group,
            row_groups: Vec::new(),
            left: left.collect(),
            file: None,
            reading: None,
            ended: false,
        }
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.fill().and_then(|()| (!self.row_groups.is_empty()).then(|| self.finish()).transpose());
        self.ended = !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl Rows {
    /// Appends rows until the batch is full or all rows are read.
    fn fill(&mut self) -> Result<()> {
        loop {
            while self.row_groups.len() < BATCH_ROWS && self.bytes() < BATCH_BYTES {
                if !self.append_row()? {
                    break;
                }
            }
            if self.row_groups.len() >= BATCH_ROWS || self.bytes() >= BATCH_BYTES {
                return Ok(());
            }
            if !self.read_on()? {
                return self.check_file();
            }
        }
    }

    fn bytes(&self) -> usize {
        self.builders.iter().map(Builder::bytes).sum()
    }

    /// Appends the next row of the batch at hand. False if there is none.
    fn append_row(&mut self) -> Result<bool> {
        let Some(reading) = &mut self.reading else { return Ok(false) };
        let Some((arrays, rows, done)) = &mut reading.batch else { return Ok(false) };
        if done == rows {
            reading.batch = None;
            return Ok(false);
        }
        let group = self.parts.groups[reading.group];
        let file = &self.parts.files[group.file];
        for ((column, array), builder) in self.columns.iter().zip(arrays.iter()).zip(&mut self.builders) {
            let cell = match (array, &column.origin) {
                (Some(array), _) => Cell::of(array, *done),
                (None, _) => {
                    let folder = file.folders.iter().find(|(key, _)| *key == column.name);
                    folder.and_then(|(_, value)| value.as_deref()).map_or(Cell::Null, Cell::Text)
                }
            };
            builder.append(&cell).map_err(|error| {
                let place = self.parts.source.at(&file.name);
                error.at(format!("{place}: row group {}, row {}, column `{}`", group.number, reading.row, column.name))
            })?;
        }
        *done += 1;
        reading.row += 1;
        let ordinal = u32::try_from(reading.group).ok().and_then(|group| group.checked_add(self.first_group));
        self.row_groups.push(ordinal.ok_or_else(|| Error::unsupported("over 2^32 row groups"))?);
        Ok(true)
    }

    /// Reads the next batch, or begins the next row group. False if there is none.
    fn read_on(&mut self) -> Result<bool> {
        if let Some(reading) = &mut self.reading {
            let group = self.parts.groups[reading.group];
            let name = &self.parts.files[group.file].name;
            let place = |error: Error| error.at(format!("{}: row group {}", self.parts.source.at(name), group.number));
            let batch = match guarded(|| reading.reader.next().transpose()) {
                Ok(batch) => batch,
                // A file that is cut while it is read is damaged, too.
                Err(error) => {
                    self.parts.source.check(name, &self.parts.files[group.file].stamp)?;
                    return Err(place(error));
                }
            };
            match batch {
                Some(batch) => {
                    let of = |column: &Column| match column.origin {
                        Origin::Folder => Ok(None),
                        Origin::Parquet => {
                            let lacks = || Error::invalid(format!("expected a column `{}`, found none", column.name));
                            batch.column_by_name(&column.name).cloned().map(Some).ok_or_else(lacks)
                        }
                    };
                    let arrays = self.columns.iter().map(of).collect::<Result<_>>().map_err(place)?;
                    reading.batch = Some((arrays, batch.num_rows(), 0));
                    return Ok(true);
                }
                None if reading.row < reading.end => {
                    let (found, expected) = (reading.row, reading.end);
                    return Err(place(Error::corrupt(format!("expected {expected} rows, found {found}"))));
                }
                None => self.reading = None,
            }
        }
        let Some((group, rows)) = self.left.pop_front() else { return Ok(false) };
        self.begin(group, &rows)?;
        Ok(true)
    }

    fn begin(&mut self, number: usize, rows: &Range<u64>) -> Result<()> {
        let group = self.parts.groups[number];
        if self.file.as_ref().is_none_or(|(file, ..)| *file != group.file) {
            self.check_file()?;
            let (reader, metadata) = self.parts.open_file(group.file)?;
            self.file = Some((group.file, reader, metadata));
        }
        let Some((_, reader, metadata)) = &self.file else { return Err(Error::internal("no open file")) };
        let name = self.parts.source.at(&self.parts.files[group.file].name);
        let place = |error: Error| error.at(format!("{name}: row group {}", group.number));
        let batch_rows = BATCH_BYTES as u64 / (group.bytes / group.rows.max(1)).max(1);
        let size = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let reading = guarded(|| -> Result<ParquetRecordBatchReader, parquet::errors::ParquetError> {
            let stored = metadata.metadata().row_group(group.number);
            let is_wanted = |name: &String| self.columns.iter().any(|column| column.name == *name);
            let chunks = stored.columns().iter().filter(|chunk| chunk.column_path().parts().first().is_some_and(is_wanted));
            let ranges = || chunks.clone().map(parquet::file::metadata::ColumnChunkMetaData::byte_range);
            let start = ranges().map(|(start, _)| start).min().unwrap_or(0);
            let end = ranges().map(|(start, len)| start.saturating_add(len)).max().unwrap_or(0);
            let reader = reader.ahead(start, end).map_err(|error| parquet::errors::ParquetError::External(Box::new(error)))?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reader, metadata.clone());
            let fields = builder.schema().fields();
            let wanted = self.columns.iter().filter_map(|column| fields.iter().position(|field| *field.name() == column.name));
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
            builder
                .with_projection(mask)
                .with_row_groups(vec![group.number])
                .with_offset(size(rows.start))
                .with_limit(size(rows.end - rows.start))
                .with_batch_size(size(batch_rows).clamp(1, BATCH_ROWS))
                .build()
        });
        let reader = reading.map_err(place)?;
        self.reading = Some(Reading { group: number, row: rows.start, end: rows.end, reader, batch: None });
        Ok(())
    }

    /// Checks that the file that was read has not changed.
    fn check_file(&self) -> Result<()> {
        let Some((file, ..)) = &self.file else { return Ok(()) };
        let file = &self.parts.files[*file];
        self.parts.source.check(&file.name, &file.stamp)
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (column, builder) in self.columns.iter().zip(&mut self.builders) {
            let names = column.columns().into_iter().map(|(name, _)| name);
            columns.extend(names.zip(builder.finish()?));
        }
        columns.push((ROW_GROUP.to_owned(), Arc::new(UInt32Array::from(std::mem::take(&mut self.row_groups)))));
        let fields = columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect::<Vec<_>>();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
            .map_err(|error| Error::internal(format!("arrow: {error}")).with_source(error))
    }
}
