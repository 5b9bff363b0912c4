//! The tail of an index segment: where the pages of its columns are, their checksums and their bounds. By a tail, a reader reads and
//! verifies a part of the segment. Follows `format-spec/tails.md#tail`.
//!
//! The caller has verified the bytes of the tail against the BLAKE3 in the manifest. A tail that this file refuses is no damage: the
//! reader then reads the whole segment.

use std::{ops::Range, sync::Arc};

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::{
    arrow::arrow_reader::ArrowReaderMetadata,
    file::{
        metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader},
        page_index::{column_index::ColumnIndexMetaData, offset_index::PageLocation},
        statistics::Statistics,
    },
};

use super::{
    bloom_filter::{BloomFilter, FILTERS_KEY, Hashed, place_of},
    bounds::{Bound, Bounds, Kind},
    lengths::PackedLengths,
    page_sums::{PAGES_KEY, bytes_of_hex, page_sum},
    parquet::{check_rows, corrupt, parquet},
    row_groups::{RowGroups, Stored},
    segment::{copied, sequences_of, viewed_options},
    unfold::{Unfolding, check_footer, check_page_index},
};
use crate::{
    error::{Error, Result, counted},
    schema::Schema,
};

/// Ranges that are no further apart than this many bytes are read as one.
const GAP: u64 = 16 << 10;

/// The tail of an index segment.
#[derive(Clone, Debug)]
pub struct IndexTail {
    metadata: ArrowReaderMetadata,
    object_bytes: u64,
    rows: u64,
    groups: Vec<RowGroup>,
}

#[derive(Clone, Debug)]
struct RowGroup {
    rows: Range<u64>,
    columns: Vec<Column>,
}

/// A column of a row group.
#[derive(Clone, Debug)]
struct Column {
    bounds: Bounds,
    filter: Option<(StoredPage, Hashed)>,
    dictionary: Option<StoredPage>,
    pages: Vec<DataPage>,
}

/// A page or a bloom filter in the object.
#[derive(Clone, Debug)]
struct StoredPage {
    range: Range<u64>,
    sum: u64,
}

#[derive(Clone, Debug)]
struct DataPage {
    stored: StoredPage,
    rows: Range<u64>,
    bounds: Bounds,
}

/// Some rows of a segment, with the bounds of a column in these rows.
pub type PagePiece<'a> = (Range<u64>, &'a Bounds);

/// Where the bloom filter of a column of a row group is.
#[derive(Clone, Debug)]
pub struct StoredFilter {
    group: usize,
    column: usize,
    stored: StoredPage,
    hashed: Hashed,
}

impl StoredFilter {
    /// Returns the number of the row group in the segment.
    pub fn group(&self) -> usize {
        self.group
    }

    /// Returns the number of the index column.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the byte range of the filter in the object.
    pub fn range(&self) -> Range<u64> {
        self.stored.range.clone()
    }

    /// Verifies and parses the bytes of the filter.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes do not have the checksum of the tail, or are no bloom filter.
    pub fn open(&self, bytes: &Bytes) -> Result<BloomFilter> {
        let Range { start, end } = self.stored.range;
        let computed = page_sum(start, bytes);
        match computed == self.stored.sum {
            true => BloomFilter::parse(bytes, self.hashed),
            false => {
                let sum = self.stored.sum;
                Err(corrupt(format!("bloom filter at {start}..{end}: checksum {computed:#x}, the tail says {sum:#x}")))
            }
        }
    }
}

/// A part of a segment: some columns of some rows, and the byte ranges that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPart {
    columns: Vec<usize>,
    rows: Vec<Range<u64>>,
    groups: Vec<usize>,
    pages: Vec<(Range<u64>, u64)>,
    ranges: Vec<Range<u64>>,
}

impl SegmentPart {
    /// Returns the byte ranges to read, in ascending order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns the byte range of each page, in ascending order, with its checksum.
    #[cfg(feature = "unstable")]
    pub fn pages(&self) -> &[(Range<u64>, u64)] {
        &self.pages
    }

    /// Returns the rows of the part, as ascending ranges of the rows of the segment.
    pub fn rows(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Returns the number of row groups with rows of the part.
    pub fn row_groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of bytes in all ranges.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

impl IndexTail {
    /// Parses the tail of an index segment of `object_bytes` bytes and `rows` rows.
    ///
    /// # Errors
    /// - `Corrupt`: the tail does not describe the pages of such a segment.
    pub fn parse(bytes: &Bytes, object_bytes: u64, schema: &Schema, rows: u64) -> Result<Self> {
        let start = object_bytes.checked_sub(bytes.len() as u64).ok_or_else(|| corrupt("a tail longer than its segment"))?;
        check_footer(bytes).map_err(|error| error.at("segment"))?;
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
        parquet(|| reader.try_parse_sized(bytes, object_bytes))?;
        let metadata = parquet(|| reader.finish())?;
        check_rows(&metadata, rows)?;
        check_page_indexes(&metadata, bytes, start)?;
        let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
            .with_offset_index_policy(PageIndexPolicy::Required)
            .with_column_index_policy(PageIndexPolicy::Optional);
        parquet(|| reader.read_page_indexes_sized(bytes, object_bytes))?;
        let metadata = Arc::new(parquet(|| reader.finish())?);
        let groups = parquet(|| row_groups(&metadata, start, schema))?;
        let metadata = parquet(|| ArrowReaderMetadata::try_new(metadata, viewed_options(schema)))?;
        Ok(Self { metadata, object_bytes, rows, groups })
    }

    /// Returns the length of each sequence of the segment.
    ///
    /// # Errors
    /// - `Corrupt`: the lengths are missing, malformed, or do not add up to the rows of the segment.
    pub fn sequences(&self) -> Result<PackedLengths> {
        sequences_of(self.metadata.metadata().file_metadata(), self.rows)
    }

    /// Returns the number of row groups.
    pub fn row_groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the rows of each row group, with the bounds of an index column.
    pub fn row_group_bounds(&self, column: usize) -> Vec<PagePiece<'_>> {
        let groups = self.groups.iter().filter_map(|group| Some((group.rows.clone(), &group.columns.get(column)?.bounds)));
        groups.collect()
    }

    /// Returns the rows of each page of an index column, with its bounds.
    pub fn page_bounds(&self, column: usize) -> Vec<PagePiece<'_>> {
        let pages = self.groups.iter().filter_map(|group| group.columns.get(column)).flat_map(|column| &column.pages);
        pages.map(|page| (page.rows.clone(), &page.bounds)).collect()
    }

    /// Returns the bloom filters of `columns` in the row groups that have any of `rows`, which are ascending ranges that do not
    /// touch each other. Ordered by row group, then by column.
    pub fn filters(&self, columns: &[usize], rows: &[Range<u64>]) -> Vec<StoredFilter> {
        let groups = self.groups.iter().enumerate().filter(|(_, group)| touches(rows, &group.rows));
        let filters = groups.flat_map(|(number, group)| {
            columns.iter().filter_map(move |column| {
                let (stored, hashed) = group.columns.get(*column)?.filter.clone()?;
                Some(StoredFilter { group: number, column: *column, stored, hashed })
            })
        });
        filters.collect()
    }

    /// Returns the filters that [`Self::filters`] returns of `columns`, without those that are larger than what they may save: the pages of
    /// `read`, the columns to read, in their row group.
    pub(crate) fn useful_filters(&self, columns: &[usize], read: &[usize], rows: &[Range<u64>]) -> Vec<StoredFilter> {
        let is_useful = |filter: &StoredFilter| {
            let Range { start, end } = filter.range();
            end - start < self.part_bytes(filter.group(), read, rows)
        };
        self.filters(columns, rows).into_iter().filter(is_useful).collect()
    }

    /// Returns the stored bytes of the data pages of a row group that have any of `rows` in `columns`.
    pub fn part_bytes(&self, group: usize, columns: &[usize], rows: &[Range<u64>]) -> u64 {
        let columns = columns.iter().filter_map(|column| self.groups.get(group)?.columns.get(*column));
        let pages = columns.flat_map(|column| &column.pages).filter(|page| touches(rows, &page.rows));
        pages.map(|page| page.stored.range.end - page.stored.range.start).sum()
    }

    /// Plans to read some index columns of some rows. `columns` are ascending column numbers, `rows` are ascending ranges of rows of
    /// the segment that do not touch each other.
    pub fn part(&self, columns: &[usize], rows: &[Range<u64>]) -> SegmentPart {
        let (mut groups, mut pages) = (Vec::new(), Vec::new());
        for (number, group) in self.groups.iter().enumerate().filter(|(_, group)| touches(rows, &group.rows)) {
            groups.push(number);
            for column in columns.iter().filter_map(|column| group.columns.get(*column)) {
                let wanted = column.pages.iter().filter(|page| touches(rows, &page.rows)).map(|page| &page.stored);
                pages.extend(column.dictionary.iter().chain(wanted).map(|page| (page.range.clone(), page.sum)));
            }
        }
        pages.sort_unstable_by_key(|(range, _)| range.start);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (page, _) in &pages {
            match ranges.last_mut() {
                Some(last) if page.start <= last.end.saturating_add(GAP) => last.end = last.end.max(page.end),
                _ => ranges.push(page.clone()),
            }
        }
        SegmentPart { columns: columns.to_vec(), rows: rows.to_vec(), groups, pages, ranges }
    }

    /// Verifies the bytes of the ranges of a part.
    ///
    /// # Errors
    /// - `Corrupt`: a page does not have the checksum of the tail. The message names its place.
    pub fn verify(&self, part: &SegmentPart, fetched: &[Bytes]) -> Result<()> {
        let found = self.stored(part, fetched)?;
        let mut unfolding = Unfolding::of(self.object_bytes);
        for (range, sum) in &part.pages {
            let page = found.range(range.start, range.end - range.start).map_err(corrupt)?;
            let computed = page_sum(range.start, &page);
            if computed != *sum {
                let Range { start, end } = range;
                return Err(corrupt(format!("page at {start}..{end}: checksum {computed:#x}, the tail says {sum:#x}")));
            }
            unfolding.column(&page).map_err(|error| error.at("segment"))?;
        }
        Ok(())
    }

    /// Returns the row groups of a part, from the verified bytes of its ranges. They have the rows of the part, in order.
    ///
    /// # Errors
    /// - `Internal`: the bytes are not those of the ranges.
    pub fn open(&self, part: &SegmentPart, fetched: &[Bytes]) -> Result<RowGroups> {
        let stored = self.stored(part, fetched)?;
        let groups = part.groups.iter().filter_map(|number| Some((*number, self.groups.get(*number)?.rows.clone())));
        let groups = groups.map(|(number, rows)| (number, rows, part.rows.as_slice()));
        RowGroups::of_part(stored, self.metadata.clone(), self.rows, groups)
    }

    /// Reads the rows of a part, from the verified bytes of its ranges. The batches have its columns, with the types of
    /// [`index_arrow_schema`](super::index_arrow_schema).
    ///
    /// # Errors
    /// - `Corrupt`: a row group is damaged.
    pub fn read(&self, part: &SegmentPart, fetched: &[Bytes], schema: &Schema) -> Result<Vec<RecordBatch>> {
        let groups = self.open(part, fetched)?;
        let mut batches = Vec::new();
        for number in 0..groups.rows().len() {
            batches.extend(copied(groups.read(number, &part.columns)?, schema, self.rows, &part.columns)?);
        }
        batches.into_iter().collect()
    }

    fn stored(&self, part: &SegmentPart, fetched: &[Bytes]) -> Result<Stored> {
        let fits = |(range, bytes): (&Range<u64>, &Bytes)| range.end - range.start == bytes.len() as u64;
        if part.ranges.len() != fetched.len() || !part.ranges.iter().zip(fetched).all(fits) {
            return Err(Error::internal(format!("{} of a segment for {}", counted(fetched.len(), "range"), part.ranges.len())));
        }
        let ranges = part.ranges.iter().map(|range| range.start).zip(fetched.iter().cloned()).collect();
        Ok(Stored { object_bytes: self.object_bytes, ranges })
    }
}

/// Whether `other` has a row of `rows`, which are ascending ranges.
fn touches(rows: &[Range<u64>], other: &Range<u64>) -> bool {
    let first = rows.partition_point(|range| range.end <= other.start);
    rows.get(first).is_some_and(|range| range.start < other.end)
}

/// Checks the lists of all page indexes before the Parquet reader reads them.
fn check_page_indexes(metadata: &ParquetMetaData, tail: &Bytes, start: u64) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let column_index = column.column_index_offset().zip(column.column_index_length());
        let offset_index = column.offset_index_offset().zip(column.offset_index_length());
        if offset_index.is_none() {
            return Err(corrupt("a column without an offset index in a tail"));
        }
        for (offset, len) in column_index.into_iter().chain(offset_index) {
            let place = u64::try_from(offset).ok().and_then(|offset| usize::try_from(offset.checked_sub(start)?).ok());
            let index = place.zip(usize::try_from(len).ok()).and_then(|(at, len)| tail.get(at..at.checked_add(len)?));
            check_page_index(index.ok_or_else(|| corrupt("a page index outside of the tail"))?)?;
        }
    }
    Ok(())
}

/// Returns the row groups of a segment whose tail begins at `start`.
fn row_groups(metadata: &ParquetMetaData, start: u64, schema: &Schema) -> Result<Vec<RowGroup>> {
    let kinds: Vec<Kind> = schema.index().filter_map(|column| Kind::of(&column.ty)).collect();
    if kinds.len() != schema.index().len() {
        return Err(Error::internal("an index column of a type that an index cannot have"));
    }
    let sums = sums_of(metadata, PAGES_KEY)?.ok_or_else(|| corrupt(format!("no `{PAGES_KEY}` in the file metadata")))?;
    let mut sums = sums.into_iter();
    // Without checksums, filters are not read.
    let mut filter_sums = sums_of(metadata, FILTERS_KEY)?.map(Vec::into_iter);
    let (mut groups, mut first_row) = (Vec::new(), 0_u64);
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).map_err(corrupt)?;
        let index = metadata.page_index_for_row_group(number);
        if group.columns().len() != kinds.len() {
            return Err(corrupt("columns differ from the schema's index columns"));
        }
        let mut columns = Vec::with_capacity(kinds.len());
        for ((place, stored), kind) in group.columns().iter().enumerate().zip(&kinds) {
            let locations = index.page_locations(place).ok_or_else(|| corrupt("a column without an offset index in a tail"))?;
            let bounds = stored.statistics().map(|statistics| of_statistics(statistics, *kind)).unwrap_or_default();
            let (dictionary, mut pages) = pages_of(stored, locations, first_row..first_row + rows, start)?;
            if let Some(index) = index.column_index(place).filter(|index| index.num_pages() == pages.len() as u64) {
                for (number, page) in pages.iter_mut().enumerate() {
                    page.bounds = of_page(index, number, *kind, page.rows.end - page.rows.start);
                }
            }
            let filter = filter_sums.as_mut().map(|sums| filter_of(stored, *kind, start, sums)).transpose()?.flatten();
            let mut column = Column { bounds, filter, dictionary, pages };
            for page in column.dictionary.iter_mut().chain(column.pages.iter_mut().map(|page| &mut page.stored)) {
                page.sum =
                    sums.next().ok_or_else(|| corrupt(format!("`{PAGES_KEY}` has fewer checksums than there are pages")))?;
            }
            columns.push(column);
        }
        groups.push(RowGroup { rows: first_row..first_row + rows, columns });
        first_row += rows;
    }
    match (sums.next(), filter_sums.as_mut().and_then(Iterator::next)) {
        (None, None) => Ok(groups),
        (Some(_), _) => Err(corrupt(format!("`{PAGES_KEY}` has more checksums than there are pages"))),
        (_, Some(_)) => Err(corrupt(format!("`{FILTERS_KEY}` has more checksums than there are bloom filters"))),
    }
}

/// Returns the checksums of a key of the file metadata; `None` if it is not there.
fn sums_of(metadata: &ParquetMetaData, key: &str) -> Result<Option<Vec<u64>>> {
    let entries = metadata.file_metadata().key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let Some(entry) = entries.iter().find(|entry| entry.key == key) else { return Ok(None) };
    let bytes = entry.value.as_deref().and_then(bytes_of_hex);
    let sums = bytes.as_deref().map(<[u8]>::as_chunks::<8>).filter(|(_, rest)| rest.is_empty());
    let (sums, _) = sums.ok_or_else(|| corrupt(format!("`{key}` is not a list of checksums")))?;
    Ok(Some(sums.iter().map(|sum| u64::from_le_bytes(*sum)).collect()))
}

/// Returns the bloom filter of a column of a row group, in a segment whose tail begins at `tail`; `None` if the column has none, or
/// one that is not read. Takes its checksum from `sums`.
fn filter_of(
    column: &ColumnChunkMetaData,
    kind: Kind,
    tail: u64,
    sums: &mut impl Iterator<Item = u64>,
) -> Result<Option<(StoredPage, Hashed)>> {
    if column.bloom_filter_offset().is_none() {
        return Ok(None);
    }
    let range = place_of(column).and_then(|(offset, len)| Some(offset..offset.checked_add(len)?));
    let range = range.filter(|range| range.end <= tail).ok_or_else(|| {
        let (name, offset, len) = (column.column_path(), column.bloom_filter_offset(), column.bloom_filter_length());
        let len = len.map_or_else(|| "no length".to_owned(), |len| counted(len, "byte"));
        corrupt(format!(
            "bloom filter of column {name}: {len} at {}, expected before the tail at {tail}",
            offset.unwrap_or_default()
        ))
    })?;
    let sum = sums.next().ok_or_else(|| corrupt(format!("`{FILTERS_KEY}` has fewer checksums than there are bloom filters")))?;
    let hashed = Hashed::of(kind, column.column_type(), range.end - range.start);
    Ok(hashed.map(|hashed| (StoredPage { range, sum }, hashed)))
}

/// Returns the dictionary page and the data pages of a column of a row group. The pages have no checksums yet.
fn pages_of(
    column: &ColumnChunkMetaData,
    locations: &[PageLocation],
    rows: Range<u64>,
    tail: u64,
) -> Result<(Option<StoredPage>, Vec<DataPage>)> {
    let wrong = || corrupt("the offset index does not describe the pages of its column");
    let number = |value: i64| u64::try_from(value).map_err(|_| wrong());
    let start = number(column.dictionary_page_offset().unwrap_or(column.data_page_offset()))?;
    let end = start.checked_add(number(column.compressed_size())?).filter(|end| *end <= tail).ok_or_else(wrong)?;
    if number(column.num_values())? != rows.end - rows.start || column.dictionary_page_offset() == Some(column.data_page_offset())
    {
        return Err(wrong());
    }
    let first = number(locations.first().ok_or_else(wrong)?.offset)?;
    if first < start || (first > start) != column.dictionary_page_offset().is_some() {
        return Err(wrong());
    }
    let dictionary = (first > start).then_some(StoredPage { range: start..first, sum: 0 });
    let (mut pages, mut next, mut row): (Vec<DataPage>, u64, u64) = (Vec::with_capacity(locations.len()), first, rows.start);
    for (place, location) in locations.iter().enumerate() {
        let len = number(i64::from(location.compressed_page_size))?;
        let until = match locations.get(place + 1) {
            Some(location) => rows.start.checked_add(number(location.first_row_index)?).ok_or_else(wrong)?,
            None => rows.end,
        };
        let begins = rows.start.checked_add(number(location.first_row_index)?).ok_or_else(wrong)?;
        if number(location.offset)? != next || len == 0 || begins != row || until <= row || until > rows.end {
            return Err(wrong());
        }
        let stored = StoredPage { range: next..next.checked_add(len).ok_or_else(wrong)?, sum: 0 };
        (next, row) = (stored.range.end, until);
        pages.push(DataPage { stored, rows: begins..until, bounds: Bounds::default() });
    }
    if next != end {
        return Err(wrong());
    }
    Ok((dictionary, pages))
}

/// Returns the bounds of a column of a row group.
fn of_statistics(statistics: &Statistics, kind: Kind) -> Bounds {
    let (min, max) = match statistics {
        Statistics::Boolean(found) => pair(found.min_opt(), found.max_opt(), |value| of_bool(*value, kind)),
        Statistics::Int32(found) => pair(found.min_opt(), found.max_opt(), |value| of_i32(*value, kind)),
        Statistics::Int64(found) => pair(found.min_opt(), found.max_opt(), |value| of_i64(*value, kind)),
        Statistics::Float(found) => pair(found.min_opt(), found.max_opt(), |value| of_float((*value).into(), kind)),
        Statistics::Double(found) => pair(found.min_opt(), found.max_opt(), |value| of_float(*value, kind)),
        Statistics::ByteArray(found) => pair(found.min_opt(), found.max_opt(), |value| of_text(value.data(), kind)),
        _ => (None, None),
    };
    // Older statistics of text and of unsigned integers had another order.
    let ordered = !statistics.is_min_max_deprecated();
    Bounds {
        min: min.filter(|_| ordered),
        max: max.filter(|_| ordered),
        nulls: statistics.null_count_opt(),
        nans: statistics.nan_count_opt(),
    }
}

/// Returns the bounds of a page of `rows` rows.
fn of_page(index: &ColumnIndexMetaData, page: usize, kind: Kind, rows: u64) -> Bounds {
    let (min, max) = match index {
        ColumnIndexMetaData::BOOLEAN(of) => pair(of.min_value(page), of.max_value(page), |value| of_bool(*value, kind)),
        ColumnIndexMetaData::INT32(of) => pair(of.min_value(page), of.max_value(page), |value| of_i32(*value, kind)),
        ColumnIndexMetaData::INT64(of) => pair(of.min_value(page), of.max_value(page), |value| of_i64(*value, kind)),
        ColumnIndexMetaData::FLOAT(of) => pair(of.min_value(page), of.max_value(page), |value| of_float((*value).into(), kind)),
        ColumnIndexMetaData::DOUBLE(of) => pair(of.min_value(page), of.max_value(page), |value| of_float(*value, kind)),
        ColumnIndexMetaData::BYTE_ARRAY(of) => pair(of.min_value(page), of.max_value(page), |value| of_text(value, kind)),
        _ => (None, None),
    };
    let count = |found: Option<i64>| found.and_then(|count| u64::try_from(count).ok());
    let nulls = if index.is_null_page(page) { Some(rows) } else { count(index.null_count(page)) };
    // The writer may have fewer counts of NaN than pages.
    let nans = index.nan_counts().filter(|counts| counts.len() as u64 == index.num_pages());
    Bounds { min, max, nulls, nans: nans.and_then(|counts| count(counts.get(page).copied())) }
}

/// Returns the bounds of a stored minimum and maximum.
fn pair<T: ?Sized>(min: Option<&T>, max: Option<&T>, bound: impl Fn(&T) -> Option<Bound>) -> (Option<Bound>, Option<Bound>) {
    (min.and_then(&bound), max.and_then(&bound))
}

fn of_bool(value: bool, kind: Kind) -> Option<Bound> {
    (kind == Kind::Unsigned).then_some(Bound::Integer(value.into()))
}

fn of_i32(value: i32, kind: Kind) -> Option<Bound> {
    of_integer(value.into(), value.cast_unsigned().into(), kind)
}

fn of_i64(value: i64, kind: Kind) -> Option<Bound> {
    of_integer(value.into(), value.cast_unsigned().into(), kind)
}

fn of_integer(signed: i128, unsigned: i128, kind: Kind) -> Option<Bound> {
    match kind {
        Kind::Signed => Some(Bound::Integer(signed)),
        Kind::Unsigned => Some(Bound::Integer(unsigned)),
        Kind::Float | Kind::Text => None,
    }
}

fn of_float(value: f64, kind: Kind) -> Option<Bound> {
    (kind == Kind::Float && !value.is_nan()).then_some(Bound::Float(value))
}

fn of_text(value: &[u8], kind: Kind) -> Option<Bound> {
    (kind == Kind::Text).then(|| Bound::Text(value.to_vec()))
}
