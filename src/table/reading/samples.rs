//! Calls of a row loader for the data loader: read samples with windows of different columns, find runs of neighbouring positions,
//! and find the positions whose windows are complete.

use std::sync::Arc;

use super::{
    loader::RowLoader,
    select::{Part, Slots},
    source::GroupPages,
    windows::Windows,
};
use crate::{
    error::{Error, Result},
    format::Manifest,
    id::{Digest, Hash},
    read::{Explain, Layout, Sequences, TimeSpan, Window},
    schema::ColumnType,
    work::{offload, yield_now},
};

/// Columns of a loader, by their places in [`RowLoader::column_names`], and the window in which they are read; `None` for the
/// row itself.
pub(crate) type SampleColumns = (Vec<usize>, Option<Window>);

/// The source and a part of it to which a position belongs; `None` if no table has the position.
pub(crate) type SampleKey = Option<(usize, u64)>;

/// Positions whose windows are looked up before other futures may run.
const AT_ONCE: usize = 4096;

impl RowLoader {
    /// Reads windows of different columns around several positions, as [`RowLoader::get_parts`] does around one. Each pair of column
    /// pattern and window gives one [`Windows`], with one window for each position. A block that several windows or parts share is
    /// read and decoded once.
    ///
    /// ```no_run
    /// # async fn example(loader: tetrys::RowLoader) -> tetrys::Result<()> {
    /// use tetrys::Offsets;
    /// let parts = [("lidar.*", Offsets::try_from(-9..=0)?), ("labels.*", Offsets::new([0])?)];
    /// let [lidar, labels] = loader.get_parts_of_windows(&[120, 7], parts).await?.try_into().expect("one for each part");
    /// assert_eq!((lidar.rows().len(), labels.rows().len()), (20, 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column of the loader.
    /// - Any error of [`RowLoader::get_rows`], for any of the positions.
    pub async fn get_parts_of_windows<P: AsRef<str>, W>(
        &self,
        positions: &[u64],
        parts: impl IntoIterator<Item = (P, W)>,
    ) -> Result<Vec<Windows>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.samples(positions, &self.sample_columns(parts)?).await
    }

    /// Returns the cost of [`RowLoader::get_parts_of_windows`].
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_parts_of_windows`].
    pub async fn explain_parts_of_windows<P: AsRef<str>, W>(
        &self,
        positions: &[u64],
        parts: impl IntoIterator<Item = (P, W)>,
    ) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.explain_samples(positions, &self.sample_columns(parts)?).await
    }

    fn sample_columns<P: AsRef<str>, W>(&self, parts: impl IntoIterator<Item = (P, W)>) -> Result<Vec<SampleColumns>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        parts.into_iter().map(|(pattern, window)| Ok((self.places(pattern.as_ref())?, Some(Window::try_from(window)?)))).collect()
    }

    /// Reads the samples at several positions. Returns the windows of each part, one for each position. A block that several
    /// samples or parts share is read and decoded once.
    pub(crate) async fn samples(&self, positions: &[u64], parts: &[SampleColumns]) -> Result<Vec<Windows>> {
        self.bind().await?;
        let slots = self.sample_slots(positions, parts).await?;
        let read = self.read_parts(parts_of(parts, &slots)).await?;
        Ok(read.into_iter().zip(slots).map(|(rows, (_, starts))| Windows::new(rows, starts)).collect())
    }

    /// Returns the rows of each part, and the start of each sample in them.
    async fn sample_slots(&self, positions: &[u64], parts: &[SampleColumns]) -> Result<Vec<(Slots, Vec<usize>)>> {
        let mut slots = Vec::with_capacity(parts.len());
        for (columns, window) in parts {
            slots.push(match window {
                Some(window) => self.windows_slots(positions, window, columns).await?,
                None => (self.slots_of(positions).await?, (0..=positions.len()).collect()),
            });
        }
        Ok(slots)
    }

    /// Returns the places of the columns that match a pattern.
    pub(crate) fn places(&self, pattern: &str) -> Result<Vec<usize>> {
        self.select(&self.columns, [pattern])
    }

    /// Returns the names and types of columns, by their places.
    pub(crate) fn typed<'a>(&'a self, places: &'a [usize]) -> impl Iterator<Item = (&'a str, &'a ColumnType)> {
        places.iter().filter_map(|place| self.columns.get(*place)).map(|column| (column.name.as_str(), &column.ty))
    }

    /// Returns the cost of [`RowLoader::samples`].
    pub(crate) async fn explain_samples(&self, positions: &[u64], parts: &[SampleColumns]) -> Result<Explain> {
        self.bind().await?;
        let slots = self.sample_slots(positions, parts).await?;
        self.explain_parts(&parts_of(parts, &slots)).await
    }

    /// Estimates the decoded bytes of a sample from what the column groups hold and how far they expand.
    pub(crate) async fn sample_bytes(&self, parts: &[SampleColumns]) -> Result<u64> {
        self.bind().await?;
        let mut bytes = 0_u64;
        for (columns, window) in parts {
            let rows = window.as_ref().map_or(1, Window::len) as u64;
            for (number, source) in self.sources().iter().enumerate() {
                let manifest = source.table.manifest();
                for pages in self.groups(number, columns)?.iter() {
                    let stored = stored_bytes(manifest, pages.group());
                    let decoded = stored.saturating_mul(source.table.expansion(pages.group()));
                    bytes = bytes.saturating_add((decoded / source.table.rows().max(1)).saturating_mul(rows));
                }
            }
        }
        Ok(bytes)
    }

    /// Returns the runs of positions in one sequence: the first position of each, and the key of its sequence.
    pub(crate) async fn sequence_runs(&self) -> Result<Vec<(u64, SampleKey)>> {
        self.bind().await?;
        let mut sequences: Vec<Arc<Sequences>> = Vec::new();
        for source in self.sources() {
            sequences.push(source.table.sequences().await?);
        }
        self.runs(move |source, row| sequences.get(source).and_then(|runs| runs.around(row)).map_or(0, |rows| rows.start)).await
    }

    /// Returns the runs of positions whose rows lie in one block: up to `block_bytes` decoded bytes of a chunk of the largest column
    /// group that is read.
    pub(crate) async fn block_runs(&self, block_bytes: u64) -> Result<Vec<(u64, SampleKey)>> {
        self.bind().await?;
        let mut layouts: Vec<Option<Arc<Layout>>> = Vec::new();
        for (number, source) in self.sources().iter().enumerate() {
            let groups = self.groups(number, &self.every_column())?;
            let largest = groups.iter().map(GroupPages::group).max_by_key(|group| stored_bytes(source.table.manifest(), *group));
            layouts.push(match largest {
                Some(group) => Some(source.table.layout(group).await?),
                None => None,
            });
        }
        self.runs(move |source, row| {
            let layout = layouts.get(source).and_then(Option::as_ref);
            let place = layout.and_then(|layout| Some((layout, layout.locate(row).ok()?.block)));
            let Some((layout, block)) = place else { return 0 };
            let start = layout.byte_range(block).map_or(0, |range| range.start);
            ((block.run as u64) << 32) | (start.saturating_mul(layout.expansion()) / block_bytes.max(1)).min(u64::from(u32::MAX))
        })
        .await
    }

    /// Checks that the window of these columns exists at a position, without reading payload.
    pub(crate) async fn check_window(&self, position: u64, (columns, window): &SampleColumns) -> Result<()> {
        self.bind().await?;
        if let Some(window) = window {
            self.windows_slots(&[position], window, columns).await?;
        }
        Ok(())
    }

    /// Returns the first position of each run of positions whose rows have the same source and the same key, and that key.
    async fn runs(&self, key_of: impl Fn(usize, u64) -> u64 + Send + 'static) -> Result<Vec<(u64, SampleKey)>> {
        let loader = self.clone();
        offload(move |stop| {
            let bases: Vec<_> = loader.sources().iter().enumerate().filter(|(number, source)| source.base == *number).collect();
            let mut runs: Vec<(u64, SampleKey)> = Vec::new();
            for position in 0..loader.len() {
                if position % (1 << 16) == 0 {
                    stop.check()?;
                }
                let found = bases.iter().find_map(|(number, source)| source.row_at(position).map(|row| (*number, row)));
                let key = found.map(|(source, row)| (source, key_of(source, row)));
                if runs.last().is_none_or(|(_, last)| *last != key) {
                    runs.push((position, key));
                }
            }
            Ok(runs)
        })
        .await
    }

    /// Returns the positions whose windows are complete: no row of them is missing, and no two rows that follow each other between
    /// the first and the last row of the window are further apart in time than `max_step`.
    ///
    /// # Errors
    /// - `Invalid`: a time step is given, and a table has no `order_by` column, or that column has no times or no unit of time.
    /// - Errors of the stores.
    pub(crate) async fn complete(&self, windows: &[Window], max_step: Option<TimeSpan>) -> Result<Vec<u64>> {
        self.bind().await?;
        let large_steps = match max_step {
            Some(most) => Some(self.large_steps(most).await?),
            None => None,
        };
        let mut found = Vec::new();
        'positions: for position in 0..self.len() {
            if position % AT_ONCE as u64 == 0 {
                yield_now().await;
            }
            for window in windows {
                let (base, rows) = self.window_of(position, window, &[]).await?;
                if rows.iter().any(Option::is_none) {
                    continue 'positions;
                }
                let steps = large_steps.as_ref().and_then(|of| of.get(base)).map_or(&[][..], Vec::as_slice);
                let own = self.sources().get(base).and_then(|source| source.row_at(position));
                let rows = rows.into_iter().flatten().chain(own);
                let (first, last) = rows.fold((u64::MAX, 0), |(first, last), row| (first.min(row), last.max(row)));
                let before = |row: u64| usize::try_from(row).ok().and_then(|row| steps.get(row));
                if before(first) != before(last) {
                    continue 'positions;
                }
            }
            found.push(position);
        }
        Ok(found)
    }

    /// Counts the large time steps of each source up to each of its rows; nothing for sources that are merged into another one.
    async fn large_steps(&self, most: TimeSpan) -> Result<Vec<Vec<u32>>> {
        let mut found = Vec::with_capacity(self.sources().len());
        for (number, source) in self.sources().iter().enumerate() {
            found.push(match source.base == number {
                true => {
                    let column = source.table.schema().order_by().next().map(|column| column.name.clone());
                    let column = column.ok_or_else(|| {
                        Error::invalid("max_step: the table has no order_by column, so its rows have no steps in time")
                    })?;
                    source.table.times(&column).await?.large_steps(most, &column)?
                }
                false => Vec::new(),
            });
        }
        Ok(found)
    }

    /// Returns hashes of the tables, of their content, and of the rows of the positions. The content is what their segments refer to: the
    /// index, and the hashes of the blocks of the column groups that this loader reads.
    pub(crate) async fn identity(&self) -> Result<[Hash; 3]> {
        self.bind().await?;
        let loader = self.clone();
        offload(move |_| {
            let (mut tables, mut content, mut rows) = (Vec::new(), Digest::default(), blake3::Hasher::new());
            rows.update(&loader.len().to_le_bytes());
            for (number, source) in loader.sources().iter().enumerate() {
                let manifest = source.table.manifest();
                tables.extend(manifest.table.as_bytes());
                let groups = loader.groups_read(number);
                content.number(manifest.segments.len() as u64);
                for segment in &manifest.segments {
                    content.number(segment.rows).number(u64::from(segment.continues)).hash(&segment.index.blake3);
                    for group in groups.iter().filter_map(|group| segment.groups.get(*group)) {
                        content.hash(&group.hashes.blake3);
                    }
                }
                rows.update(&[u8::from(source.at.is_some())]);
                if let Some(at) = &source.at {
                    rows.update(&(at.len() as u64).to_le_bytes());
                    at.iter().for_each(|row| {
                        rows.update(&row.to_le_bytes());
                    });
                }
            }
            Ok([Hash::of(&tables), content.finish(), Hash(*rows.finalize().as_bytes())])
        })
        .await
    }
}

/// Returns the parts of a read of samples.
fn parts_of<'a>(parts: &[SampleColumns], slots: &'a [(Slots, Vec<usize>)]) -> Vec<Part<'a>> {
    parts.iter().zip(slots).map(|((columns, _), (slots, _))| Part { columns: columns.clone(), slots }).collect()
}

/// Returns the stored bytes of a column group in all segments.
fn stored_bytes(manifest: &Manifest, group: usize) -> u64 {
    manifest.segments.iter().map(|segment| segment.groups[group].stored_bytes).sum()
}
