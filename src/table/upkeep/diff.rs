//! Compares two tables or versions: finds the rows that were added, removed or changed. Compares index columns and logical block
//! hashes of the segments that differ (`diff_segments.rs`), and reads no payload. The logical hash of a block
//! (`format-spec/canonical.md#logical-block-hash`) does not depend on codec, chunk or table. If rows share blocks, `diff_rows.rs`
//! reads these rows on request. If the hashes of all rows do not fit into memory, `diff_parts.rs` partitions them on disk by
//! their keys, and each partition is compared alone.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use futures::{
    future::{try_join, try_join_all},
    stream::{self, StreamExt, TryStreamExt},
};
use serde::Serialize;
use twox_hash::XxHash3_64;

use super::{
    diff_hashes::{IndexOfRows, Prints, ROW_BYTES, RowHashes, SegmentRows, Typed, columns_of, hash_rows, print_of, prints_of},
    diff_parts::{RowsInParts, parts_for},
    diff_rows::{self, Doubts, Origin},
    diff_segments::{Chosen, SegmentToCompare, choose},
    diff_views::{Contents, Places, RowsOfGroups, content},
};
use crate::{
    error::{Error, Result, counted},
    format::Segment,
    progress::Progress,
    schema::{Column, Schema},
    table::version::{
        seen::seen_columns,
        table::Table,
        temporary::{Folder, MEMORY_LIMIT},
    },
    work::{offload, offload_large},
};

/// The most segments of a column group that are read at a time.
const SEGMENTS_AT_ONCE: usize = 16;

/// How [`Table::diff_with`] compares tables.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Table, table::DiffOptions};
/// let (old, new) = (Table::open("/data/sensors@6").await?, Table::open("/data/sensors@7").await?);
/// let options = DiffOptions { memory_limit: Some(8 << 30), temporary_folder: Some("/scratch".into()), ..DiffOptions::default() };
/// let found = new.diff_with(&old, ["log_id", "timestamp"], &options).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// Whether to read and compare the rows that may differ because they share a block, as [`Table::diff_exact`] does.
    pub exact: bool,
    /// Memory in bytes up to which the keys and hashes of both tables are compared in memory. Those of larger tables go through
    /// temporary files; the comparison then takes about this limit, plus the objects of a segment, plus 8 bytes for each row that
    /// was added, removed or changed, and for each row of a view and each of its sources. All rows with one key are compared together, so
    /// they must fit into memory. The default is 2 GiB.
    pub memory_limit: Option<u64>,
    /// Folder for the temporary files. They are deleted when they are closed, even if the process is killed. The default is the
    /// folder of the system.
    pub temporary_folder: Option<PathBuf>,
}

/// Differences between two tables or versions, the first (before) and the second (now).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Key columns, by which rows of both tables are matched; empty if rows are matched by their numbers.
    pub keys: Vec<String>,
    /// Number of rows of the first and of the second table.
    pub rows: [u64; 2],
    /// Rows of the second table whose key the first one does not have.
    pub added: Vec<u64>,
    /// Rows of the first table whose key the second one does not have.
    pub removed: Vec<u64>,
    /// Rows of the second table whose key the first one has, and that differ in the index or in a column group. If
    /// [`Diff::is_exact`] is false, some of them may be equal.
    pub changed: Vec<u64>,
    /// Number of rows with equal keys that do not differ. If [`Diff::is_exact`] is false, there may be more.
    pub unchanged: u64,
    /// Index columns of both tables that are not keys, with the number of rows with equal keys in which they differ.
    pub index: Vec<ColumnDiff>,
    /// Column groups of both tables.
    pub groups: Vec<GroupDiff>,
    /// Columns of the second table only, with their types. A column whose type changed is here and in `columns_removed`.
    pub columns_added: Vec<(String, String)>,
    /// Columns of the first table only, with their types.
    pub columns_removed: Vec<(String, String)>,
    /// Columns of both tables that were not compared, because their column groups have different columns or names.
    pub not_compared: Vec<String>,
    /// Bytes of index, layouts and hashes that were compared.
    pub bytes_read: u64,
    /// Bytes of payload that were read; 0 except with [`Table::diff_exact`].
    pub payload_bytes: u64,
}

impl Diff {
    /// Whether every changed row is known to differ and every column was compared. If rows share a block and the block differs,
    /// it is unknown which of its rows differ; [`Table::diff_exact`] reads these rows.
    pub fn is_exact(&self) -> bool {
        self.not_compared.is_empty() && self.is_counted()
    }

    /// Whether every changed row is known to differ.
    fn is_counted(&self) -> bool {
        self.groups.iter().all(|group| group.exact || group.changed.is_none())
    }

    /// Whether no difference was found and every column was compared.
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed, columns_added, columns_removed, not_compared, .. } = self;
        added.is_empty()
            && removed.is_empty()
            && changed.is_empty()
            && columns_added.is_empty()
            && columns_removed.is_empty()
            && not_compared.is_empty()
    }
}

/// Differences in an index column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ColumnDiff {
    /// Name of the column.
    pub name: String,
    /// Number of rows with equal keys in which the column differs.
    pub changed: u64,
}

impl fmt::Display for Diff {
    /// Writes a line about the rows, and a line for each column and group that differs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, now] = self.rows;
        let Self { added, removed, changed, unchanged, .. } = self;
        let (added, removed, changed) = (added.len(), removed.len(), changed.len());
        let (most, least) = if self.is_counted() { ("", "") } else { ("at most ", "at least ") };
        write!(
            f,
            "{} -> {now}: {added} added, {removed} removed, {most}{changed} changed, {least}{unchanged} unchanged",
            counted(before, "row")
        )?;
        for column in self.index.iter().filter(|column| column.changed > 0) {
            write!(f, "\nindex column {}: {} changed", column.name, column.changed)?;
        }
        for group in &self.groups {
            match group.changed {
                Some(0) => {}
                Some(changed) => {
                    write!(f, "\ncolumn group {}: {}{changed} changed", group.name, if group.exact { "" } else { "at most " })?;
                }
                None => write!(f, "\ncolumn group {}: different columns", group.name)?,
            }
        }
        for (what, columns) in [("new column", &self.columns_added), ("removed column", &self.columns_removed)] {
            for (name, ty) in columns {
                write!(f, "\n{what} {name}: {ty}")?;
            }
        }
        for name in &self.not_compared {
            write!(f, "\nnot compared, because the column groups differ: {name}")?;
        }
        Ok(())
    }
}

/// Differences in a column group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GroupDiff {
    /// Name of the group.
    pub name: String,
    /// Number of rows with equal keys whose blocks differ. `None` if the group has different columns in the two tables.
    pub changed: Option<u64>,
    /// Whether each of these rows is known to differ. It is not if rows share a block.
    pub exact: bool,
}

impl Table {
    /// Compares this table with an earlier version or another table: `new.diff(&old, keys)` returns the changes from `old` to
    /// `new`.
    ///
    /// Rows are matched by the index columns in `on`. If `on` is empty, they are matched by the `sequence_by` and `order_by`
    /// columns that both tables have, or else by their numbers. Segments that both tables have are equal and not read, and of segments
    /// with the same index only the column groups that differ. Among the other rows with equal keys, the first row of one table is
    /// compared with the first row of the other, and so on. No payload is read.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let (old, new) = (Table::open("/data/sensors@6").await?, Table::open("/data/sensors@7").await?);
    /// let found = new.diff(&old, ["log_id", "timestamp"]).await?;
    /// println!("{} rows added, {} removed, {} changed", found.added.len(), found.removed.len(), found.changed.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables.
    /// - `Invalid`: a key has different types in the two tables.
    /// - `Corrupt`: an index, layout or hashes object is damaged.
    /// - Errors of the stores.
    pub async fn diff<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        self.diff_with(before, on, &DiffOptions::default()).await
    }

    /// Compares as [`Table::diff`] does, and exactly where rows share blocks: reads the rows that may differ from both tables and
    /// compares their values. Rows with a block of their own are not read.
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables.
    /// - `Invalid`: a key has different types in the two tables.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn diff_exact<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        self.diff_with(before, on, &DiffOptions { exact: true, ..DiffOptions::default() }).await
    }

    /// Compares as [`Table::diff`] or [`Table::diff_exact`] does, with these options. The result does not depend on the memory limit.
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables, or the folder for temporary files does not exist.
    /// - `Invalid`: a key has different types in the two tables.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn diff_with<K: AsRef<str>>(
        &self,
        before: &Self,
        on: impl IntoIterator<Item = K>,
        options: &DiffOptions,
    ) -> Result<Diff> {
        let mut keys: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        if keys.is_empty() {
            let ordered = self.schema().sequence_by().chain(self.schema().order_by());
            keys = ordered.map(|column| column.name.clone()).collect();
            let mut seen = HashSet::new();
            keys.retain(|key| seen.insert(key.clone()));
            keys.retain(|key| before.schema().index().any(|column| column.name == *key));
        }
        for key in &keys {
            let (new, old) = (self.key(key)?, before.key(key)?);
            if new.ty != old.ty {
                return Err(Error::invalid(format!(
                    "diff: key `{key}` is {} in {} and {} in {}",
                    new.ty,
                    self.url(),
                    old.ty,
                    before.url()
                )));
            }
        }
        let memory = options.memory_limit.unwrap_or(MEMORY_LIMIT);
        let chosen = choose(before, self, &keys);
        let [of_before, of_now] = &chosen;
        let (now, then) = try_join(self.bytes_to_compare(of_now), before.bytes_to_compare(of_before)).await?;
        let mut found = match now.saturating_add(then) <= memory {
            true => self.diff_in_memory(before, &keys, &chosen, options.exact).await?,
            false => self.diff_in_parts(before, &keys, &chosen, options, memory).await?,
        };
        (found.columns_added, found.columns_removed) = columns(before.schema(), self.schema());
        found.keys = keys;
        // The rows of segments that were not read are equal.
        found.rows = [before.rows(), self.rows()];
        found.unchanged = self.rows() - (found.added.len() + found.changed.len()) as u64;
        Ok(found)
    }

    /// Returns the number of rows of some segments.
    pub(super) fn rows_of(&self, chosen: &[SegmentToCompare]) -> u64 {
        chosen.iter().filter_map(|chosen| self.manifest().segments.get(chosen.segment)).map(|segment| segment.rows).sum()
    }

    async fn diff_in_memory(&self, before: &Self, keys: &[String], chosen: &Chosen, exact: bool) -> Result<Diff> {
        let [of_before, of_now] = chosen;
        let progress = Arc::new(Progress::new("reading hashes", self.rows_of(of_now) + before.rows_of(of_before)));
        // Where a view is compared, any row may lie anywhere: first the places of the rows are compared.
        let places = (self.is_view() || before.is_view()).then(Contents::new);
        let (new, old) = try_join(
            self.rows_to_compare(keys, of_now, places.as_ref(), &progress),
            before.rows_to_compare(keys, of_before, places.as_ref(), &progress),
        )
        .await?;
        let (mut old, mut new, mut found, mut doubts) = compare_away(old, new, BTreeMap::new()).await?;
        if places.is_some() && !doubts.is_empty() {
            let (of_old, of_new): (RowsOfGroups, RowsOfGroups) = split(doubts);
            let (mut contents, others) = try_join(self.contents(of_new), before.contents(of_old)).await?;
            contents.extend(others);
            ((new.groups, new.bytes), (old.groups, old.bytes)) = {
                let ((of_new, more), (of_old, others)) =
                    try_join(self.prints(of_now, Some(&contents)), before.prints(of_before, Some(&contents))).await?;
                ((of_new, new.bytes + more), (of_old, old.bytes + others))
            };
            (old, new, found, doubts) = compare_away(old, new, BTreeMap::new()).await?;
        }
        if exact && !doubts.is_empty() {
            let (same, bytes) = diff_rows::settled(&old.origins(), &new.origins(), &doubts).await?;
            found = compare_away(old, new, same).await?.2;
            found.payload_bytes = bytes;
        }
        Ok(found)
    }

    /// Compares partitions of the rows, one after the other.
    async fn diff_in_parts(
        &self,
        before: &Self,
        keys: &[String],
        chosen: &Chosen,
        options: &DiffOptions,
        memory: u64,
    ) -> Result<Diff> {
        let folder = Folder::new("diff", options.temporary_folder.clone());
        let [of_before, of_now] = chosen;
        let (now, then) = try_join(Places::of(self), Places::of(before)).await?;
        let parts = parts_for([(&now, of_now), (&then, of_before)], memory);
        let read = ReadInParts { now: (&now, of_now), then: (&then, of_before), keys, parts, memory, folder };
        let is_of_views = self.is_view() || before.is_view();
        // As in memory: first the places of the rows of views are compared.
        let nothing = Contents::new();
        let (mut old, mut new) = read.rows(is_of_views.then_some(&nothing)).await?;
        let mut bytes_before = 0;
        if is_of_views {
            let contents = contents_of((&old, &then), (&new, &now), parts).await?;
            if !contents.is_empty() {
                bytes_before = old.bytes + new.bytes;
                drop((old, new));
                (old, new) = read.rows(Some(&contents)).await?;
            }
        }
        let (mut found, doubts) = compare_parts(&old, &new, parts, Arc::default(), options.exact).await?;
        if options.exact && !doubts.is_empty() {
            let (same, bytes) = diff_rows::settled(&old.origins(), &new.origins(), &doubts).await?;
            found = compare_parts(&old, &new, parts, Arc::new(same), false).await?.0;
            found.payload_bytes = bytes;
        }
        found.bytes_read += bytes_before;
        Ok(found)
    }

    /// Estimates the bytes that it takes to compare the rows of these segments in memory: of a view, with the hashes of its sources.
    async fn bytes_to_compare(&self, chosen: &[SegmentToCompare]) -> Result<u64> {
        let mut bytes = self.own_bytes_to_compare(chosen);
        if self.is_view() {
            for source in self.sources().await?.iter() {
                let segments = &source.manifest().segments;
                let groups = segments.iter().flat_map(|segment| segment.groups.iter().map(|group| (segment.rows, group.blocks)));
                bytes = groups.fold(bytes, |bytes, (rows, blocks)| bytes.saturating_add(9 * rows + 40 * blocks));
                bytes = bytes.saturating_add(8 * self.rows());
            }
        }
        Ok(bytes)
    }

    fn own_bytes_to_compare(&self, chosen: &[SegmentToCompare]) -> u64 {
        let schema = &self.manifest().schema;
        let each = ROW_BYTES + 8 * schema.index().len() as u64 + 9 * schema.groups().len() as u64;
        let segments: Vec<&Segment> = chosen.iter().filter_map(|chosen| self.manifest().segments.get(chosen.segment)).collect();
        let blocks = segments.iter().flat_map(|segment| &segment.groups).map(|group| group.blocks);
        let objects = segments.iter().map(|segment| segment.index.bytes).chain(blocks.map(|blocks| blocks.saturating_mul(40)));
        objects.fold(self.rows_of(chosen).saturating_mul(each), u64::saturating_add)
    }

    fn key(&self, name: &str) -> Result<&Column> {
        let found = self.schema().column_named(name).filter(|found| self.schema().index().any(|column| column.id == found.id));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.schema().index().map(|column| column.name.as_str()).collect();
            Error::not_found(format!("diff: no index column `{name}` in {}; there are: {}", self.url(), names.join(", ")))
        })
    }

    /// Reads the rows of these segments. `contents` has the contents whose hashes are read; `None` means all of them.
    async fn rows_to_compare(
        &self,
        keys: &[String],
        chosen: &[SegmentToCompare],
        contents: Option<&Contents>,
        progress: &Arc<Progress>,
    ) -> Result<RowHashes> {
        usize::try_from(self.rows_of(chosen)).map_err(|_| Error::unsupported("too many rows to compare"))?;
        let index = self.schema().index().map(|column| (column.name.clone(), Vec::new())).collect();
        let ((segments, of_index), (groups, of_groups)) =
            try_join(self.index_to_compare(chosen), self.prints(chosen, contents)).await?;
        let (keys, progress, schema) = (keys.to_vec(), Arc::clone(progress), self.manifest().schema.clone());
        let places = seen_columns(self.manifest());
        // The two tables are hashed concurrently, each on its own thread.
        let (numbers, keys, index) =
            offload(move |stop| hash_rows(segments, (&schema, &places), index, &keys, (stop, &progress))).await?;
        Ok(RowHashes { numbers, keys, index, groups, bytes: of_index + of_groups })
    }

    /// Returns the index of the rows of these segments, and the bytes read.
    async fn index_to_compare(&self, chosen: &[SegmentToCompare]) -> Result<(Vec<SegmentRows>, u64)> {
        let segments = chosen.iter().map(|chosen| self.segment(chosen.segment)).collect::<Result<Vec<_>>>()?;
        let read = segments.iter().zip(chosen).filter(|(_, chosen)| chosen.pair.is_none()).map(|(segment, _)| &segment.index);
        let bytes = read.clone().map(|index| index.bytes).sum();
        let mut objects = self.objects_of("index", read.cloned()).await?.into_iter();
        let rows = segments.into_iter().zip(chosen).map(|(segment, chosen)| {
            let index = match chosen.pair {
                Some(pair) => IndexOfRows::Paired(pair),
                None => IndexOfRows::Read(objects.next().ok_or_else(|| Error::internal("fewer objects than were read"))?),
            };
            Ok(SegmentRows { first_row: segment.first_row, rows: segment.rows, index })
        });
        Ok((rows.collect::<Result<_>>()?, bytes))
    }

    /// Returns the hashes of each column group of the rows of these segments, and the bytes read.
    pub(super) async fn own_prints(
        &self,
        chosen: &[SegmentToCompare],
        contents: Option<&Contents>,
    ) -> Result<(Vec<Prints>, u64)> {
        let schema = &self.manifest().schema;
        let groups = schema.groups().iter().enumerate().map(|(number, group)| async move {
            let read: Vec<_> = chosen.iter().map(|chosen| self.segment_prints(chosen, number, contents)).collect();
            let mut read = stream::iter(read).buffered(SEGMENTS_AT_ONCE);
            let (mut rows, mut alone, mut bytes) = (Vec::new(), Vec::new(), 0);
            while let Some((of_rows, are_alone, of_segment)) = read.try_next().await? {
                rows.extend(of_rows);
                alone.extend(are_alone);
                bytes += of_segment;
            }
            let (columns, valid) = columns_of(schema, group);
            let origin = Some(Origin { table: self.clone(), group: number, at: None });
            Ok::<_, Error>((Prints { columns, valid, rows, alone, origin }, bytes))
        });
        let (groups, bytes): (Vec<_>, Vec<u64>) = try_join_all(groups).await?.into_iter().unzip();
        Ok((groups, bytes.into_iter().sum()))
    }

    /// Reads the first 8 bytes of the logical hash of each block of a group in one segment.
    async fn segment_hashes(&self, segment: &Segment, group: usize) -> Result<Vec<u64>> {
        let Some(stored) = segment.groups.get(group) else { return Ok(Vec::new()) };
        Ok(self.block_hashes(stored).await?.into_iter().map(|hash| hash.first_u64()).collect())
    }

    /// Returns the hash of each row of a group in one segment, whether the row has a block of its own, and the bytes read. What is not
    /// compared has the hash 0. With `contents`, the rows of other contents have the hashes of their places, which may differ although the
    /// rows are equal.
    pub(super) async fn segment_prints(
        &self,
        chosen: &SegmentToCompare,
        group: usize,
        contents: Option<&Contents>,
    ) -> Result<(Vec<u64>, Vec<bool>, u64)> {
        let segment = self.segment(chosen.segment)?;
        if !chosen.groups.contains(&group) {
            let rows = usize::try_from(segment.rows).unwrap_or_default();
            return Ok((vec![0; rows], vec![true; rows], 0));
        }
        if let Some(contents) = contents
            && let Some(content) = content(segment, group).filter(|content| !contents.contains(content))
        {
            let rows = segment.rows;
            return offload_large(usize::try_from(rows).unwrap_or(usize::MAX), move |_| {
                let first = XxHash3_64::oneshot(content.map(|hash| hash.to_string()).concat().as_bytes());
                let hashes: Vec<u64> = (0..rows).map(|place| print_of(first, place)).collect();
                let alone = vec![false; hashes.len()];
                Ok((hashes, alone, 0))
            })
            .await;
        }
        let (runs, hashes) = try_join(self.segment_layout(segment, group), self.segment_hashes(segment, group)).await?;
        let name = self.manifest().schema.groups().get(group).map_or_else(String::new, |group| group.name.clone());
        let bytes = segment.groups.get(group).map_or(0, |stored| stored.layout.bytes + stored.hashes.bytes);
        let (rows, alone) = offload(move |_| prints_of(&name, &runs, hashes.into_iter())).await?;
        Ok((rows, alone, bytes))
    }
}

/// Returns the rows of pairs: those before, and those now.
fn split(pairs: Doubts) -> (RowsOfGroups, RowsOfGroups) {
    let split = pairs.into_iter().map(|(group, pairs)| {
        let (old, new) = pairs.into_iter().unzip();
        ((group.clone(), old), (group, new))
    });
    split.unzip()
}

/// Compares rows as [`compare`] does, off the executor.
async fn compare_away(
    old: RowHashes,
    new: RowHashes,
    same: BTreeMap<String, BTreeSet<usize>>,
) -> Result<(RowHashes, RowHashes, Diff, Doubts)> {
    offload(move |_| {
        let (found, doubts) = compare(&old, &new, &same);
        Ok((old, new, found, doubts))
    })
    .await
}

/// Returns for each new key the position of the equal old key. Among equal keys, the first belongs to the first, and so on.
fn partners(old: &[u128], new: &[u128]) -> Vec<Option<usize>> {
    let sorted = |keys: &[u128]| {
        let mut places: Vec<(u128, usize)> = keys.iter().copied().zip(0..).collect();
        places.sort_unstable();
        places
    };
    let (old, sorted_new) = (sorted(old), sorted(new));
    let (mut partners, mut rest) = (vec![None; new.len()], old.iter().peekable());
    for (key, row) in sorted_new {
        while rest.next_if(|(before, _)| *before < key).is_some() {}
        if let Some((_, before)) = rest.next_if(|(before, _)| *before == key) {
            partners.get_mut(row).into_iter().for_each(|partner| *partner = Some(*before));
        }
    }
    partners
}

/// The values that are read of two tables, in partitions on disk.
struct ReadInParts<'a> {
    now: (&'a Places, &'a [SegmentToCompare]),
    then: (&'a Places, &'a [SegmentToCompare]),
    keys: &'a [String],
    parts: usize,
    memory: u64,
    folder: Folder,
}

impl ReadInParts<'_> {
    /// Returns the rows of the table before and of the table now, with the hashes of these contents.
    async fn rows(&self, contents: Option<&Contents>) -> Result<(Arc<RowsInParts>, Arc<RowsInParts>)> {
        let Self { now, then, keys, parts, memory, folder } = self;
        let rows = |(places, chosen): (&Places, &[SegmentToCompare])| places.table().rows_of(chosen);
        let progress = Arc::new(Progress::new("reading hashes", rows(*now) + rows(*then)));
        let new = RowsInParts::of(*now, keys, contents, *parts, memory / 4, folder, &progress).await?;
        let old = RowsInParts::of(*then, keys, contents, *parts, memory / 4, folder, &progress).await?;
        Ok((Arc::new(old), Arc::new(new)))
    }
}

/// Returns the contents of the rows that may differ: those at other places. Partition by partition, because these may be all rows.
async fn contents_of(
    (old, then): (&Arc<RowsInParts>, &Places),
    (new, now): (&Arc<RowsInParts>, &Places),
    parts: usize,
) -> Result<Contents> {
    let (old, then, new, now) = (Arc::clone(old), then.clone(), Arc::clone(new), now.clone());
    offload(move |stop| {
        let mut contents = Contents::new();
        for part in 0..parts {
            stop.check()?;
            let (_, doubts) = compare(&old.part(part)?, &new.part(part)?, &BTreeMap::new());
            let (of_old, of_new): (RowsOfGroups, RowsOfGroups) = split(doubts);
            contents.extend(then.contents(of_old));
            contents.extend(now.contents(of_new));
        }
        Ok(contents)
    })
    .await
}

/// Compares all partitions of the rows of two tables, as [`compare`] does. Returns the rows that may be equal only if `with_doubts`.
async fn compare_parts(
    old: &Arc<RowsInParts>,
    new: &Arc<RowsInParts>,
    parts: usize,
    same: Arc<BTreeMap<String, BTreeSet<usize>>>,
    with_doubts: bool,
) -> Result<(Diff, Doubts)> {
    let (old, new) = (Arc::clone(old), Arc::clone(new));
    offload(move |stop| {
        let (mut found, mut doubts) = (None::<Diff>, Doubts::new());
        let progress = Progress::new("comparing", parts as u64);
        for part in 0..parts {
            stop.check()?;
            progress.add(1);
            let (diff, open) = compare(&old.part(part)?, &new.part(part)?, &same);
            if with_doubts {
                open.into_iter().for_each(|(group, mut pairs)| doubts.entry(group).or_default().append(&mut pairs));
            }
            match &mut found {
                Some(found) => found.add(diff),
                none => *none = Some(diff),
            }
        }
        let mut found = found.unwrap_or_else(|| compare(&RowHashes::default(), &RowHashes::default(), &same).0);
        [&mut found.added, &mut found.removed, &mut found.changed].into_iter().for_each(|rows| rows.sort_unstable());
        doubts.values_mut().for_each(|pairs| pairs.sort_unstable_by_key(|(_, row)| *row));
        found.bytes_read = old.bytes + new.bytes;
        Ok((found, doubts))
    })
    .await
}

impl Diff {
    /// Adds the differences of other rows of the same tables.
    fn add(&mut self, other: Self) {
        self.rows.iter_mut().zip(other.rows).for_each(|(sum, more)| *sum += more);
        self.added.extend(other.added);
        self.removed.extend(other.removed);
        self.changed.extend(other.changed);
        self.unchanged += other.unchanged;
        self.index.iter_mut().zip(other.index).for_each(|(sum, more)| sum.changed += more.changed);
        for (sum, more) in self.groups.iter_mut().zip(other.groups) {
            sum.changed = sum.changed.zip(more.changed).map(|(sum, more)| sum + more);
            sum.exact &= more.exact;
        }
    }
}

/// Compares the rows of two tables, or of a partition of both. The caller fills in the key columns and the added and removed
/// columns. `same` has, for each group whose values were compared, the rows that are equal. For other groups, returns also the rows
/// that may be equal.
fn compare(old: &RowHashes, new: &RowHashes, same: &BTreeMap<String, BTreeSet<usize>>) -> (Diff, Doubts) {
    let partners = partners(&old.keys, &new.keys);
    let (mut added, mut pairs, mut kept) = (Vec::new(), Vec::with_capacity(new.keys.len()), vec![false; old.keys.len()]);
    for (row, before) in partners.into_iter().enumerate() {
        match before {
            Some(before) => {
                kept.get_mut(before).into_iter().for_each(|kept| *kept = true);
                pairs.push((before, row));
            }
            None => added.push(new.number(row)),
        }
    }
    let removed = (0..).zip(&kept).filter(|(_, kept)| !**kept).map(|(row, _)| old.number(row)).collect();
    let mut differs = vec![false; new.keys.len()];
    let mut mark = |olds: &[u64], news: &[u64], same: Option<&BTreeSet<usize>>| {
        let mut changed = Vec::new();
        for (before, row) in &pairs {
            if olds.get(*before) != news.get(*row) && !same.is_some_and(|same| same.contains(&(new.number(*row) as usize))) {
                changed.push((*before, *row));
                differs.get_mut(*row).into_iter().for_each(|differs| *differs = true);
            }
        }
        changed
    };
    let mut index = Vec::new();
    for (name, news) in &new.index {
        if let Some((_, olds)) = old.index.iter().find(|(existing, _)| existing == name) {
            index.push(ColumnDiff { name: name.clone(), changed: mark(olds, news, None).len() as u64 });
        }
    }
    let (mut groups, mut doubts, mut compared) = (Vec::new(), Doubts::new(), HashSet::new());
    for (name, news) in &new.groups {
        let Some(olds) = old.groups.get(name) else { continue };
        if !olds.columns.iter().map(|(_, ty)| ty).eq(news.columns.iter().map(|(_, ty)| ty)) {
            groups.push(GroupDiff { name: name.clone(), changed: None, exact: false });
            continue;
        }
        compared.extend(news.valid.iter().filter(|column| olds.valid.contains(column)));
        let known = same.get(name);
        let changed = mark(&olds.rows, &news.rows, known);
        let is_open =
            |(before, row): &&(usize, usize)| olds.alone.get(*before) != Some(&true) || news.alone.get(*row) != Some(&true);
        let open: Vec<(usize, usize)> = match known {
            Some(_) => Vec::new(),
            None => {
                let number = |(before, row): &(usize, usize)| (old.number(*before) as usize, new.number(*row) as usize);
                changed.iter().filter(is_open).map(number).collect()
            }
        };
        groups.push(GroupDiff { name: name.clone(), changed: Some(changed.len() as u64), exact: open.is_empty() });
        if !open.is_empty() {
            doubts.insert(name.clone(), open);
        }
    }
    let of = |rows: &RowHashes| -> BTreeSet<Typed> {
        rows.groups.values().flat_map(|prints| &prints.valid).filter(|column| !compared.contains(column)).cloned().collect()
    };
    let not_compared = of(old).intersection(&of(new)).map(|(name, _)| name.clone()).collect();
    let changed: Vec<u64> = (0..).zip(&differs).filter(|(_, differs)| **differs).map(|(row, _)| new.number(row)).collect();
    let diff = Diff {
        keys: Vec::new(),
        rows: [old.keys.len() as u64, new.keys.len() as u64],
        unchanged: (pairs.len() - changed.len()) as u64,
        added,
        removed,
        changed,
        index,
        groups,
        columns_added: Vec::new(),
        columns_removed: Vec::new(),
        not_compared,
        bytes_read: old.bytes + new.bytes,
        payload_bytes: 0,
    };
    (diff, doubts)
}

/// Returns the columns that only the new schema has, and those that only the old one has.
fn columns(old: &Schema, new: &Schema) -> (Vec<Typed>, Vec<Typed>) {
    let typed = |schema: &Schema| -> Vec<Typed> {
        schema.columns().iter().map(|column| (column.name.clone(), column.ty.to_string())).collect()
    };
    let (old, new) = (typed(old), typed(new));
    let (in_old, in_new): (HashSet<_>, HashSet<_>) = (old.iter().cloned().collect(), new.iter().cloned().collect());
    let without = |columns: Vec<_>, others: &HashSet<_>| columns.into_iter().filter(|column| !others.contains(column)).collect();
    (without(new, &in_old), without(old, &in_new))
}
