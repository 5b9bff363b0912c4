//! Merges two tables part by part, and writes the index and the join map of a view.

use std::{ops::Range, path::PathBuf, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use futures::future::{join, try_join};
use polars::prelude::{BooleanChunked, Column, DataFrame};
use serde_json::Value;

use super::{
    partitions::{Buckets, partitioned},
    runs::{OBJECTS_ON_THE_RIGHT, Step, plan},
    spans::Spans,
    task::Task,
};
use crate::{
    commit::{IndexSegments, put_file},
    error::{Error, Result},
    format::{JoinWriter, Segment, index_arrow_schema},
    id::ObjectRef,
    index::{Merge, NO_PARTNER, internal, unframed, without_locators},
    offload::{Stop, offload, offload_large},
    progress::Progress,
    schema::{Column as TableColumn, Schema},
    store::{Store, StoreOptions},
    table::{
        frame::{
            index::Index,
            merge::{Partners, beside, names_beside},
        },
        table::Table,
        temporary::{Counted, Folder, MEMORY_LIMIT},
        views::{
            SavedView, ViewSize, ViewWriter,
            saving::{Stored, ViewSettings, is_free, may_be_next},
        },
    },
};

/// Rows on the left that are merged together if the partners come from partitions.
const STEP_ROWS: u64 = 256 << 10;
/// The column with the numbers of run keys. The first character keeps it apart from columns of users.
const RUN: &str = "\u{1}run";

/// Merges two tables and saves the result as a view, even if their indexes are larger than memory. [`Table::merge_writer`] creates
/// it.
///
/// The result is that of [`Index::merge`] for the indexes of both tables, saved by [`Index::save`]: the same rows in the same
/// order. If the indexes do not fit into the memory limit, both are read part by part. Tables that begin and end sequences by the
/// same keys, or rise by a key or time, are read side by side. The rows of other tables go through temporary files.
///
/// Merges to lists of rows ([`Merge::group_to_list`]) and merges of views are always made in memory.
#[derive(Clone, Debug)]
pub struct MergeWriter {
    left: Table,
    right: Table,
    merge: Merge,
    settings: ViewSettings,
    memory: u64,
    folder: Option<PathBuf>,
}

impl Table {
    /// Returns a writer that merges the rows of `right` into those of this table, and saves the result as a view.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Merge, Table};
    /// let (sensors, labels) = (Table::open("/data/sensors").await?, Table::open("/data/labels").await?);
    /// let merge = Merge::on(["log_id", "timestamp"]);
    /// let view = sensors.merge_writer(&labels, merge).memory_limit(4 << 30).save("/data/labelled").await?;
    /// println!("{} rows", view.table.rows());
    /// # Ok(()) }
    /// ```
    pub fn merge_writer(&self, right: &Self, merge: Merge) -> MergeWriter {
        MergeWriter {
            left: self.clone(),
            right: right.clone(),
            merge,
            settings: ViewSettings::default(),
            memory: MEMORY_LIMIT,
            folder: None,
        }
    }
}

impl MergeWriter {
    /// Sets the memory in bytes up to which the merge is made in memory. A larger merge takes about this limit, plus the index
    /// objects of three segments, plus a few hundred megabytes. The default is 2 GiB.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the folder for temporary files. They are deleted when they are closed, even if the process is killed. The default is
    /// the folder of the system.
    #[must_use]
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets a property of the view.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.properties.insert(key.into(), value.into());
        self
    }

    /// Sets a lineage entry of the view, such as the recipe that made it.
    #[must_use]
    pub fn lineage(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.lineage.insert(key.into(), value.into());
        self
    }

    /// Sets whether to save the view even if no pin can be written to a source. See [`ViewWriter::allow_unpinned`].
    #[must_use]
    pub fn allow_unpinned(mut self, allowed: bool) -> Self {
        self.settings.allow_unpinned = allowed;
        self
    }

    /// Merges the tables, and saves a new view at `url`.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `NotFound`: a key column does not exist, or the folder for temporary files.
    /// - `Invalid`: the key types differ, keys on the right are equal without [`Merge::first`] or [`Merge::last`], or a column has a
    ///   type that an index cannot hold.
    /// - `Unsupported`: a merge by time has more unsorted rows with equal keys than fit into the memory limit.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    /// - `Denied`: no pin can be written to a source (see [`MergeWriter::allow_unpinned`]).
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save(self, url: &str) -> Result<SavedView> {
        self.save_in(Store::open(url)?).await
    }

    /// Merges and saves as [`MergeWriter::save`] does, with options of the store of the view.
    ///
    /// # Errors
    /// Those of [`MergeWriter::save`], and `Invalid` for a malformed option.
    pub async fn save_with(self, url: &str, stores: &StoreOptions) -> Result<SavedView> {
        self.save_in(Store::open_with(url, stores)?).await
    }

    /// Merges and saves as [`MergeWriter::save`] does, in `store`.
    ///
    /// # Errors
    /// Those of [`MergeWriter::save`].
    pub async fn save_in(self, store: Store) -> Result<SavedView> {
        is_free(&store).await?;
        self.publish(store, None).await
    }

    /// Merges and saves the next version of a view. Its tags and attachments stay, and so do properties that get no new value.
    ///
    /// # Errors
    /// Those of [`MergeWriter::save`] except `Exists`, `Invalid` if the table is not a view, and `Conflict` if the view has a newer
    /// version.
    pub async fn save_over(self, view: &Table) -> Result<SavedView> {
        may_be_next(view)?;
        self.publish(view.store().clone(), Some(view)).await
    }

    /// Returns the size of the view that [`MergeWriter::save`] would save. A large view is written to a folder in the
    /// temporary folder for that, and this folder stays if the process is killed.
    ///
    /// # Errors
    /// Those of [`MergeWriter::save`].
    pub async fn size(&self) -> Result<ViewSize> {
        if self.is_in_memory() {
            return self.view_of(self.merged().await?).size().await;
        }
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::tempdir_in(&folder)
            .map_err(|error| Error::from(error).at(format!("merge: a temporary folder in {}", folder.display())))?;
        let view = self.view_of(self.skeleton()?);
        let stored = self.store(&view, &Store::open(&folder.path().display().to_string())?, None).await?;
        Ok(view.size_of(&stored.segments, &stored.sources))
    }

    async fn publish(self, store: Store, before: Option<&Table>) -> Result<SavedView> {
        if self.is_in_memory() {
            return self.view_of(self.merged().await?).publish(store, before).await;
        }
        let view = self.view_of(self.skeleton()?);
        let publishing = view.begin(&store, before)?;
        let stored = self.store(&view, publishing.store(), before).await?;
        view.finish(publishing, store, before, stored).await
    }

    /// Whether the merge is made in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        let is_small = self.left.bytes_in_memory().saturating_add(self.right.bytes_in_memory()) <= self.memory;
        is_small || self.left.is_view() || self.right.is_view() || matches!(self.merge.list_keys(), Ok(Some(_)) | Err(_))
    }

    fn view_of(&self, index: Index) -> ViewWriter {
        ViewWriter { index, settings: self.settings.clone() }
    }

    /// Merges in memory.
    async fn merged(&self) -> Result<Index> {
        let (left, right) = try_join(self.left.index(), self.right.index()).await?;
        let left = if self.left.is_view() { left.with_sources().await? } else { left };
        let merge = self.merge.clone();
        offload(move |_| left.merge(&right, &merge)).await
    }

    /// Merges the indexes without their rows: an index with the columns and sources of the result.
    fn skeleton(&self) -> Result<Index> {
        self.left.empty_index()?.merge(&self.right.empty_index()?, &self.merge)
    }

    /// Stores the index and the join map of the view.
    async fn store(&self, view: &ViewWriter, store: &Store, before: Option<&Table>) -> Result<Stored> {
        let (schema, rows) = view.schema(before)?;
        let (left, right) = (self.left.empty_index()?, self.right.empty_index()?);
        let right = right.apart_from(&left)?;
        let task = Task {
            unit: left.unit_of_times(&right, &self.merge)?,
            names: names_beside(&left, &right, &self.merge),
            left_frame: without_locators(&left.to_frame())?,
            right_frame: without_locators(&right.to_frame())?,
            right_bytes: self.right.row_bytes(),
            left: self.left.clone(),
            right: self.right.clone(),
            merge: self.merge.clone(),
            folder: Folder::new("merge", self.folder.clone()),
            memory: self.memory,
        };
        let tails = before.is_some_and(|before| before.manifest().has_tails());
        let (segments, join) = Arc::new(task).run(store, &schema, tails).await?;
        let sources = view.described(rows, vec![(None, None), (Some(join), None)])?;
        Ok(Stored { schema, segments, sources })
    }
}

/// Where the partners come from.
enum Finder {
    Planned { steps: std::vec::IntoIter<Step>, spans: Spans, merge: Arc<Merge> },
    Spilled(Buckets),
}

/// Rows on the left with the rows on the right among which their partners are.
struct Work {
    left: Range<u64>,
    left_frame: DataFrame,
    right_frame: DataFrame,
    /// The row numbers of `right_frame`.
    right_rows: Vec<i64>,
    partners: Ready,
}

enum Ready {
    /// To be found by this merge: the runs of rows on the left, and of neighbours in `right_frame`.
    Not(Arc<Merge>, Vec<(Range<u64>, u32)>, Vec<(u64, u32)>),
    Yes(Partners),
}

/// Rows of the view, and of its join map.
#[derive(Default)]
struct Made {
    batches: Vec<RecordBatch>,
    partners: Vec<i64>,
}

/// The objects of the view while they are being written.
struct Out {
    index: IndexSegments,
    join: JoinWriter<Counted>,
}

impl Task {
    /// Stores the segments and the join map of the view.
    async fn run(self: Arc<Self>, store: &Store, schema: &Schema, tails: bool) -> Result<(Vec<Segment>, ObjectRef)> {
        let most = (self.memory / 8 / self.right_bytes.max(1)).max(1 << 19);
        let planned = plan(&self.left, &self.right, &self.merge, most, self.memory / 8).await?;
        let mut finder = match planned {
            Some(plan) => Finder::Planned {
                steps: plan.steps.into_iter(),
                spans: Spans::new(&self.right, OBJECTS_ON_THE_RIGHT),
                merge: Arc::new(self.merge.by(RUN, &plan.clustered)),
            },
            None => Finder::Spilled(partitioned(&self).await?),
        };
        let mut left = Spans::new(&self.left, 1);
        let (described, arrow) = (schema.index().cloned().collect::<Arc<[_]>>(), index_arrow_schema(schema));
        let mut out = Out {
            index: IndexSegments::new(schema.clone(), tails, Some(self.folder.place())),
            join: JoinWriter::new(self.folder.counted()?)?,
        };
        let mut ready = Made::default();
        let progress = Progress::new("writing the view", self.left.rows());
        loop {
            // Rows are written while the next ones are merged.
            let make = async {
                let Some(work) = finder.next(&mut left).await? else { return Ok(None) };
                progress.add(work.left.end - work.left.start);
                let (task, described, arrow) = (Arc::clone(&self), Arc::clone(&described), Arc::clone(&arrow));
                offload(move |stop| task.make(work, &described, &arrow, stop)).await.map(Some)
            };
            let (made, written) = join(make, out.append(store, ready, self.folder.clone())).await;
            out = written?;
            match made? {
                Some(made) => ready = made,
                None => break,
            }
        }
        let segments = out.index.finish(store).await?;
        out.join.salt(store.salt());
        let file = out.join.finish()?.into_file();
        Ok((segments, put_file(store, "joins", file).await?))
    }

    /// Finds the partners, and makes rows of the view.
    fn make(&self, work: Work, described: &[TableColumn], arrow: &SchemaRef, stop: &Stop) -> Result<Made> {
        let Work { left, left_frame, right_frame, right_rows, partners } = work;
        let partners = match partners {
            Ready::Yes(partners) => partners,
            Ready::Not(..) if right_frame.height() == 0 => vec![None; left_frame.height()],
            Ready::Not(merge, of_left, of_right) => {
                let mut runs: Vec<Option<u32>> = vec![None; left_frame.height()];
                for (rows, number) in of_left {
                    let rows = (rows.start - left.start) as usize..(rows.end - left.start) as usize;
                    runs.get_mut(rows).unwrap_or_default().fill(Some(number));
                }
                let lefts = with_runs(&left_frame, runs, merge.left_keys())?;
                let runs = of_right.into_iter().flat_map(|(rows, number)| std::iter::repeat_n(Some(number), rows as usize));
                let names = merge.pairs().iter().map(|(_, right)| right.as_str()).chain(merge.times().map(|(_, right)| right));
                let rights = with_runs(&right_frame, runs.collect(), names)?;
                merge.partners(&lefts, &rights, self.unit)?
            }
        };
        stop.check()?;
        let row_of = |partner: &Option<u32>| partner.and_then(|row| right_rows.get(row as usize)).copied().unwrap_or(NO_PARTNER);
        let rights: Vec<i64> = partners.iter().map(row_of).collect();
        let (keeps_all, height) = (self.merge.keeps_left() || partners.iter().all(Option::is_some), left_frame.height());
        let (left_frame, found, rows) = match keeps_all {
            true => (left_frame, partners, (left.start.cast_signed()..left.end.cast_signed()).collect::<Vec<i64>>()),
            false => {
                let there: BooleanChunked = partners.iter().map(|partner| Some(partner.is_some())).collect();
                let rows = (left.start.cast_signed()..).zip(&partners).filter(|(_, partner)| partner.is_some());
                let rows = rows.map(|(row, _)| row).collect();
                let frame = left_frame.filter(&there).map_err(internal)?;
                (frame, partners.into_iter().filter(Option::is_some).collect(), rows)
            }
        };
        debug_assert_eq!(rights.len(), height);
        let frame = beside(&left_frame, &right_frame, &found, &self.names)?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(described.len());
        for (column, described) in frame.columns().iter().zip(described) {
            stop.check()?;
            arrays.push(unframed(column, &described.ty)?);
        }
        let of_view = found.iter().map(row_of).collect::<Vec<i64>>();
        arrays.push(Arc::new(Int64Array::from(rows)));
        arrays.push(Arc::new(Int64Array::from(of_view)));
        let options = RecordBatchOptions::new().with_row_count(Some(frame.height()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(arrow), arrays, &options);
        let batch = batch.map_err(|error| Error::internal(format!("index of a view: {error}")))?;
        Ok(Made { batches: vec![batch], partners: rights })
    }
}

/// Returns the key columns with these names, and a column of run keys.
fn with_runs<'a>(frame: &DataFrame, runs: Vec<Option<u32>>, names: impl Iterator<Item = &'a str>) -> Result<DataFrame> {
    let mut columns = vec![Column::new(RUN.into(), runs)];
    for name in names {
        if columns.iter().all(|held| held.name() != name) {
            columns.push(frame.column(name).map_err(internal)?.clone());
        }
    }
    DataFrame::new(frame.height(), columns).map_err(internal)
}

impl Finder {
    /// Returns the next rows on the left, with the rows on the right among which their partners are.
    async fn next(&mut self, left: &mut Spans) -> Result<Option<Work>> {
        match self {
            Self::Planned { steps, spans, merge } => {
                let Some(step) = steps.next() else { return Ok(None) };
                let left_frame = left.read(std::slice::from_ref(&step.left)).await?;
                let ranges: Vec<Range<u64>> = step.right.iter().map(|(rows, _)| rows.clone()).collect();
                let right_frame = spans.read(&ranges).await?;
                let right_rows = ranges.into_iter().flat_map(|rows| rows.start.cast_signed()..rows.end.cast_signed()).collect();
                let of_right = step.right.iter().map(|(rows, number)| (rows.end - rows.start, *number)).collect();
                let partners = Ready::Not(Arc::clone(merge), step.runs, of_right);
                Ok(Some(Work { left: step.left, left_frame, right_frame, right_rows, partners }))
            }
            Self::Spilled(buckets) => {
                let Some((rows, right_frame, right_rows, partners)) = buckets.next(STEP_ROWS).await? else { return Ok(None) };
                let left_frame = left.read(std::slice::from_ref(&rows)).await?;
                Ok(Some(Work { left: rows, left_frame, right_frame, right_rows, partners: Ready::Yes(partners) }))
            }
        }
    }
}

impl Out {
    /// Appends rows.
    async fn append(self, store: &Store, made: Made, folder: Folder) -> Result<Self> {
        let Self { index, mut join } = self;
        let index = index.append(store, made.batches, move || folder.file()).await?;
        let join = offload_large(size_of_val(made.partners.as_slice()), move |_| {
            if !made.partners.is_empty() {
                join.write(made.partners)?;
            }
            Ok(join)
        })
        .await?;
        Ok(Self { index, join })
    }
}
