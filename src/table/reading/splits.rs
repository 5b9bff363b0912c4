//! Splits of a read for several tasks, and the batches of one split, bounded by bytes. `read/splits.rs` decides where rows are
//! cut.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use futures::{Stream, future::try_join_all, stream};

use super::{beside::IndexBeside, loader::RowLoader, samples::SampleColumns, source::LoaderSource, windows::Windows};
use crate::{
    error::Result,
    ranges::check_ranges,
    read::{Edge, Layout, Piece, ReadSplit, SplitSize, Window, even_splits, splits},
    schema::ColumnId,
    table::version::described::GroupBytes,
    work::{Ahead, Stop, offload_large},
    write::slice_bytes,
};

/// Bytes of a row that are assumed beside those in column groups, for index columns.
const BESIDE: u64 = 16;
/// Most rows of a batch.
const MOST_ROWS: u64 = 1 << 20;

/// A column group that the loader reads: where its rows lie.
#[derive(Clone, Debug)]
struct GroupRows {
    layout: Arc<Layout>,
    /// The row of the table at each position of the loader; `None` if position p is row p.
    at: Option<Arc<[i64]>>,
    /// Share of the stored bytes that is read, in 1/256.
    share: u64,
    /// Bytes of the group in the whole table.
    bytes: GroupBytes,
}

impl RowLoader {
    /// Cuts positions of this loader, given as ranges in ascending order, into splits of about equal bytes, which tasks can read
    /// independently. Splits begin where a chunk of the largest column group begins, or, if it has too few chunks, a block. If the loader
    /// reads index columns alone, all rows weigh the same, and splits have about equal numbers of rows.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use tetrys::{Schema, SplitSize, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("squares", [("square", "i64")]).build()?;
    /// # let numbers = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..100_000).map(of))) as arrow_array::ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", numbers(|id| id)), ("square", numbers(|id| id * id % 977))])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&batch).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let loader = table.row_loader().columns(["square"])?;
    /// let splits = loader.splits(&[0..loader.len()], SplitSize::Count(2)).await?;
    /// assert_eq!(splits.iter().flat_map(|split| &split.rows).map(|rows| rows.end - rows.start).sum::<u64>(), 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a range ends outside the loader, or before the range in front of it.
    /// - `Corrupt`: a layout is damaged.
    /// - `Denied`, `NotFound`: a source of a view is not allowed or cannot be found.
    /// - Any error of the stores.
    pub async fn splits(&self, rows: &[Range<u64>], size: SplitSize) -> Result<Vec<ReadSplit>> {
        check_ranges(rows, self.len())?;
        if self.columns.iter().all(|column| column.of_index) {
            let (bytes, of_rows) = self.index_size();
            return Ok(even_splits(rows, bytes, of_rows, size));
        }
        let groups = self.group_rows().await?;
        let (len, rows) = (self.len(), rows.to_vec());
        let (stored, decoded) = groups.iter().fold((0, 0), |(stored, decoded): (u64, u64), group| {
            (stored.saturating_add(group.bytes.stored), decoded.saturating_add(group.bytes.logical))
        });
        let work = groups.iter().map(GroupRows::work).fold(0, usize::saturating_add);
        offload_large(work, move |stop| {
            let mut pieces = groups.iter().map(|group| group.pieces(len, false, stop)).collect::<Result<Vec<_>>>()?;
            let mut chosen = splits(&pieces, &rows, size);
            if let Some(largest) = chosen.largest.filter(|_| chosen.too_few) {
                if let (Some(pieces), Some(group)) = (pieces.get_mut(largest), groups.get(largest)) {
                    *pieces = group.pieces(len, true, stop)?;
                }
                chosen = splits(&pieces, &rows, size);
            }
            Ok(chosen.splits.into_iter().map(|split| split.expanded(stored, decoded)).collect())
        })
        .await
    }

    /// Reads positions of this loader, given as ranges in ascending order, in batches of at most `batch_bytes` bytes of Arrow
    /// data. A row that alone has more is a batch of its own. While the caller uses a batch, the next one is prefetched: about
    /// three times `batch_bytes` are in memory.
    ///
    /// Of a loader for all rows of a table, index columns are those of the table, read as [`Table::index_rows`](crate::Table::index_rows)
    /// does: those of all these rows are in memory. If such a loader of a view reads nothing else, it does not open the source tables, and
    /// [`Rows::table_rows`](crate::Rows::table_rows) has row numbers of the view. Windows have the values of the source tables.
    ///
    /// Without `windows`, a batch has one part: the rows, each as a window of one row. With `windows`, which has column patterns
    /// and the window of each, it has a part for each. Missing rows of windows are padded.
    ///
    /// # Errors
    /// - `Invalid`: a range ends outside the loader, or before the range in front of it; `batch_bytes` is 0.
    /// - `NotFound`: a pattern matches no column of the loader.
    ///
    /// An item of the stream may be an error of [`RowLoader::get_windows`]. The stream ends there.
    pub fn batches(
        &self,
        rows: Vec<Range<u64>>,
        batch_bytes: usize,
        windows: Vec<(String, Window)>,
    ) -> Result<impl Stream<Item = Result<Vec<Windows>>> + Send + Unpin + use<>> {
        check_ranges(&rows, self.len())?;
        super::more_than_nothing(batch_bytes, "batches of 0 bytes")?;
        let mut loader = self.clone().edge(Edge::Pad);
        let mut beside = None;
        let parts: Vec<SampleColumns> = match windows.is_empty() {
            true => {
                beside = loader.index_beside();
                if beside.is_some() {
                    loader = loader.only(|column| !column.of_index);
                }
                vec![(loader.every_column(), None)]
            }
            false => windows
                .into_iter()
                .map(|(pattern, window)| Ok((loader.places(&pattern)?, Some(window))))
                .collect::<Result<_>>()?,
        };
        let width = parts.iter().map(|(_, window)| window.as_ref().map_or(1, Window::len)).max().unwrap_or(1).max(1) as u64;
        let reader = Reader {
            loader,
            beside,
            parts: parts.into(),
            rows: rows.into_iter().filter(|range| !range.is_empty()).rev().collect(),
            bound: batch_bytes as u64,
            width,
            groups: None,
            growth: 1.0,
            ahead: None,
            ready: Vec::new(),
        };
        let next = |mut reader: Reader| async move { Ok(reader.next().await?.map(|batch| (batch, reader))) };
        Ok(Box::pin(stream::try_unfold(reader, next)))
    }

    /// Returns the column groups to read, with their layouts.
    async fn group_rows(&self) -> Result<Vec<GroupRows>> {
        self.bind().await?;
        let columns = self.every_column();
        let mut found = Vec::new();
        for (number, source) in self.sources().iter().enumerate() {
            let groups = self.groups(number, &columns)?.into_owned();
            let layouts = try_join_all(groups.iter().map(|group| source.table.layout(group.group()))).await?;
            for (group, layout) in groups.iter().zip(layouts) {
                let share = source.read_share(group.group(), &columns_of(self, number));
                let bytes = source.table.group_bytes(group.group());
                found.push(GroupRows { layout, at: source.at.clone(), share, bytes });
            }
        }
        Ok(found)
    }
}

/// Returns the columns of a source that a loader reads.
fn columns_of(loader: &RowLoader, number: usize) -> BTreeSet<ColumnId> {
    let stored = loader.columns.iter().filter(|column| !column.of_index);
    stored.flat_map(|column| &column.origins).filter(|(origin, _)| *origin == number).map(|(_, id)| *id).collect()
}

impl LoaderSource {
    /// Returns the share of a group's stored bytes that is read for these columns, in 1/256, rounded up.
    fn read_share(&self, group: usize, wanted: &BTreeSet<ColumnId>) -> u64 {
        let segments = &self.table.manifest().segments;
        let stored: u64 = segments.iter().map(|segment| segment.groups[group].stored_bytes).sum();
        let read: u64 = segments.iter().map(|segment| self.read_bytes(segment, group, wanted)).sum();
        let share = u128::from(read) * 256 / u128::from(stored.max(1));
        u64::try_from(share).unwrap_or(256).clamp(1, 256)
    }
}

impl GroupRows {
    /// Returns the approximate work of [`GroupRows::pieces`], in bytes.
    fn work(&self) -> usize {
        match &self.at {
            Some(at) => size_of_val::<[i64]>(at),
            None => self.layout.runs().len() * 64,
        }
    }

    /// Returns the pieces of the positions up to `len`: runs, which may begin a split where a chunk begins, or blocks, which may
    /// each begin one.
    fn pieces(&self, len: u64, of_blocks: bool, stop: &Stop) -> Result<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        let Some(at) = &self.at else {
            let mut end = 0;
            let mut chunk = None;
            for run in self.layout.runs() {
                stop.check()?;
                let may_begin = chunk.replace((run.owner, run.chunk)) != Some((run.owner, run.chunk));
                if !of_blocks {
                    end += run.rows;
                    pieces.push(Piece { end, bytes: self.scaled(run.stored_bytes()), may_begin });
                    continue;
                }
                for (rows, length) in run.block_rows.iter().zip(run.lengths.iter()) {
                    end += u64::from(rows);
                    pieces.push(Piece { end, bytes: self.scaled(8 * u64::from(length)), may_begin: true });
                }
            }
            return Ok(pieces);
        };
        let (mut last, mut chunk) = (None, None);
        for (position, row) in (0..len).zip(at.iter()) {
            if position % 4096 == 0 {
                stop.check()?;
            }
            let Ok(row) = u64::try_from(*row) else {
                // The position has no row of this source.
                match pieces.last_mut() {
                    Some(piece) => piece.end = position + 1,
                    None => pieces.push(Piece { end: position + 1, bytes: 0, may_begin: true }),
                }
                continue;
            };
            let place = self.layout.locate(row)?.block;
            let run = self.layout.run(place)?;
            let rows = u64::from(run.block_rows.get(place.block)).max(1);
            let bytes = self.scaled(8 * u64::from(run.lengths.get(place.block)) / rows);
            let here = if of_blocks { (place.run, place.block) } else { (place.run, 0) };
            match pieces.last_mut() {
                Some(piece) if last == Some(here) => (piece.end, piece.bytes) = (position + 1, piece.bytes.saturating_add(bytes)),
                _ => {
                    let is_new_chunk = chunk.replace((run.owner, run.chunk)) != Some((run.owner, run.chunk));
                    pieces.push(Piece { end: position + 1, bytes, may_begin: of_blocks || is_new_chunk });
                }
            }
            last = Some(here);
        }
        Ok(pieces)
    }

    fn scaled(&self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * u128::from(self.share) / 256).unwrap_or(u64::MAX)
    }

    /// Returns the expected decoded bytes of the row at a position, and for how many positions from there on they hold: the rows
    /// of a block count the same.
    fn bytes_at(&self, position: u64) -> (u64, u64) {
        let row = match &self.at {
            None => Some(position),
            Some(at) => {
                usize::try_from(position).ok().and_then(|position| at.get(position)).and_then(|row| u64::try_from(*row).ok())
            }
        };
        let place = row.and_then(|row| self.layout.locate(row).ok());
        let Some((place, run)) = place.and_then(|place| Some((place, self.layout.run(place.block).ok()?))) else { return (0, 1) };
        let rows = u64::from(run.block_rows.get(place.block.block)).max(1);
        let bytes = self.scaled(8 * u64::from(run.lengths.get(place.block.block)) / rows);
        (
            bytes.saturating_mul(self.layout.expansion()),
            if self.at.is_some() { 1 } else { rows.saturating_sub(place.row as u64).max(1) },
        )
    }
}

/// The reader of one split. It chooses the rows of the next batch by their stored bytes, and by how much larger than expected the
/// batches so far were when they were decoded.
struct Reader {
    loader: RowLoader,
    /// Index columns that the loader does not read, for the front of its rows.
    beside: Option<IndexBeside>,
    parts: Arc<[SampleColumns]>,
    /// Ranges that are not read yet, the next one last.
    rows: Vec<Range<u64>>,
    bound: u64,
    /// Rows of the longest window.
    width: u64,
    groups: Option<Vec<GroupRows>>,
    /// Arrow bytes for each expected byte: the most of the last batches.
    growth: f64,
    ahead: Option<(u64, Ahead<Vec<Windows>>)>,
    /// Batches that were read, the next one last.
    ready: Vec<Vec<Windows>>,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Vec<Windows>>> {
        loop {
            if let Some(batch) = self.ready.pop() {
                return Ok(Some(batch));
            }
            if self.ahead.is_none() {
                self.start().await?;
            }
            let Some((expected, read)) = self.ahead.take() else { return Ok(None) };
            let mut read = read.done().await?;
            if let Some(beside) = self.beside.as_mut().filter(|_| !self.loader.columns.is_empty()) {
                read = read.iter().map(|payload| beside.join(payload)).collect::<Result<_>>()?;
            }
            let count = read.first().map_or(0, Windows::len);
            let growth = bytes_of(&read) as f64 / expected.max(1) as f64;
            self.growth = growth.max(self.growth * 0.75);
            self.ready = cut(read, 0..count, self.bound);
            self.ready.reverse();
            // Read ahead while the caller uses these.
            self.start().await?;
        }
    }

    /// Starts to read the next rows.
    async fn start(&mut self) -> Result<()> {
        let groups = match self.groups.take() {
            Some(groups) => groups,
            None => self.prepare().await?,
        };
        let mut positions: Vec<u64> = Vec::new();
        let mut expected = 0_u64;
        while let Some(range) = self.rows.last_mut() {
            let (mut bytes, mut alike) = (BESIDE, range.end - range.start);
            for (of_group, positions) in groups.iter().map(|group| group.bytes_at(range.start)) {
                (bytes, alike) = (bytes.saturating_add(of_group), alike.min(positions));
            }
            bytes = bytes.saturating_mul(self.width);
            let left = self.bound as f64 / self.growth - expected as f64;
            let fit = (left / bytes as f64).max(0.0) as u64;
            let fit = fit.min((MOST_ROWS / self.width).saturating_sub(positions.len() as u64));
            let taken = alike.min(fit.max(u64::from(positions.is_empty())));
            if taken == 0 {
                break;
            }
            positions.extend(range.start..range.start + taken);
            expected = expected.saturating_add(bytes.saturating_mul(taken));
            range.start += taken;
            if range.is_empty() {
                self.rows.pop();
            }
        }
        self.groups = Some(groups);
        if positions.is_empty() {
            return Ok(());
        }
        let read = match &mut self.beside {
            Some(beside) if self.loader.columns.is_empty() => Ahead::Done(Ok(vec![beside.alone(&positions)?])),
            _ => {
                let (loader, parts) = (self.loader.clone(), Arc::clone(&self.parts));
                Ahead::start(async move { loader.samples(&positions, &parts).await }).await
            }
        };
        self.ahead = Some((expected, read));
        Ok(())
    }

    /// Loads the index columns of all rows, and returns the column groups of the others.
    async fn prepare(&mut self) -> Result<Vec<GroupRows>> {
        if let Some(beside) = &mut self.beside {
            let rows: Vec<Range<u64>> = self.rows.iter().rev().cloned().collect();
            beside.load(&rows).await?;
            if self.loader.columns.is_empty() {
                return Ok(Vec::new());
            }
        }
        self.loader.group_rows().await
    }
}

/// Returns the bytes of the Arrow data of all parts.
fn bytes_of(parts: &[Windows]) -> usize {
    parts.iter().flat_map(|part| part.rows().batch().columns()).map(slice_bytes).fold(0, usize::saturating_add)
}

/// Cuts what was read into batches of at most `bound` bytes, by halves.
fn cut(read: Vec<Windows>, samples: Range<usize>, bound: u64) -> Vec<Vec<Windows>> {
    if samples.len() <= 1 || bytes_of(&read) as u64 <= bound {
        return vec![read];
    }
    let half = samples.len() / 2;
    let part = |range: Range<usize>| read.iter().map(|windows| windows.slice(range.clone())).collect::<Vec<_>>();
    let mut batches = cut(part(0..half), 0..half, bound);
    batches.extend(cut(part(half..samples.len()), 0..samples.len() - half, bound));
    batches
}
