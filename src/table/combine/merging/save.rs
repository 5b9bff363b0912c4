//! Merges two tables part by part, and writes the index and the join map of a view.

use std::{ops::Range, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use futures::future::{join, try_join};
use polars::prelude::{BooleanChunked, Column, DataFrame};

use super::{
    partitions::{Buckets, partitioned},
    runs::{OBJECTS_ON_THE_RIGHT, Step, plan},
    spans::Spans,
    task::{Task, at_source},
};
use crate::{
    commit::{IndexSegments, put_file},
    error::{Error, Result},
    format::{JoinWriter, Segment, index_arrow_schema},
    id::ObjectRef,
    index::{Merge, NO_PARTNER, internal, unframed, without_locators},
    progress::Progress,
    schema::{Column as TableColumn, Schema},
    store::Store,
    table::{
        combine::{
            merge::{Partners, beside, names_beside},
            new_view::{NewView, Place, Stored, ViewOptions},
        },
        index::index::Index,
        version::{
            table::Table,
            temporary::{Counted, Folder},
        },
    },
    work::{Stop, offload, offload_large},
};

/// Rows on the left that are merged together if the partners come from partitions.
const STEP_ROWS: u64 = 256 << 10;
/// The column with the numbers of run keys. The first character keeps it apart from columns of users.
const RUN: &str = "\u{1}run";

/// A merge of two tables, to be saved as a view even if their indexes are larger than memory. [`Table::merge`] creates it.
///
/// The result is that of [`Index::merge`] for the indexes of both tables, saved by [`Index::save`]: the same rows in the same
/// order. If the indexes do not fit into the memory limit, both are read part by part. Tables that begin and end sequences by the
/// same keys, or rise by a key or time, are read side by side. The rows of other tables go through temporary files.
///
/// A merge to lists of rows ([`Merge::group_to_list`]) also takes 8 bytes for each row of the right table. Merges of views are always
/// made in memory.
#[must_use = "a merge writes nothing until it is saved"]
#[derive(Clone, Debug)]
pub struct TableMerge {
    left: Table,
    right: Table,
    merge: Merge,
    /// The names of both tables in a recipe, for errors of loading them.
    sources: Option<[String; 2]>,
}

impl Table {
    /// Describes the merge of the rows of `right` into those of this table. [`TableMerge::save`] reads both and saves the result.
    pub fn merge(&self, right: &Self, merge: Merge) -> TableMerge {
        TableMerge { left: self.clone(), right: right.clone(), merge, sources: None }
    }
}

impl TableMerge {
    /// Names both tables as a recipe does, for errors of loading them.
    pub(crate) fn of_sources(self, left: &str, right: &str) -> Self {
        Self { sources: Some([left.to_owned(), right.to_owned()]), ..self }
    }

    /// Whether the merge is made in memory.
    pub(in crate::table) fn is_in_memory(&self, options: &ViewOptions) -> bool {
        let is_small = self.left.bytes_in_memory().saturating_add(self.right.bytes_in_memory()) <= options.memory();
        is_small || self.left.is_view() || self.right.is_view() || self.merge.list_keys().is_err()
    }

    /// Merges in memory.
    pub(in crate::table) async fn in_memory(self) -> Result<Index> {
        let is_one = (self.left.url(), self.left.manifest_hash()) == (self.right.url(), self.right.manifest_hash());
        let (left, right) = match is_one {
            true => {
                let both = self.loaded(&self.left, 0).await?;
                (both.clone(), both)
            }
            false => try_join(self.loaded(&self.left, 0), self.loaded(&self.right, 1)).await?,
        };
        let left = if self.left.is_view() { left.with_sources().await? } else { left };
        offload(move |_| left.merge(&right, &self.merge)).await
    }

    async fn loaded(&self, table: &Table, side: usize) -> Result<Index> {
        table.index().await.map_err(|error| at_source(self.sources.as_ref(), side, error))
    }

    /// Merges the indexes without their rows: an index with the columns and sources of the result.
    pub(in crate::table) fn without_rows(&self) -> Result<Index> {
        self.left.empty_index()?.merge(&self.right.empty_index()?, &self.merge)
    }

    /// Merges part by part, and stores the index and the join map of the view.
    pub(in crate::table) async fn store(&self, view: &NewView, (store, before): &Place, options: &ViewOptions) -> Result<Stored> {
        let (schema, rows) = view.schema(before.as_ref())?;
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
            sources: self.sources.clone(),
            merge: self.merge.clone(),
            folder: Folder::new("merge", options.temporary_folder.clone()),
            memory: options.memory(),
        };
        let tails = before.as_ref().is_some_and(|before| before.manifest().has_tails());
        let (segments, join, lists) = Arc::new(task).run(store, &schema, tails).await?;
        let sources = view.described(rows, vec![(None, None), (Some(join), lists)])?;
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
    /// Stores the segments, the join map and the lists of the view.
    async fn run(
        self: Arc<Self>,
        store: &Store,
        schema: &Schema,
        tails: bool,
    ) -> Result<(Vec<Segment>, ObjectRef, Option<ObjectRef>)> {
        let most = (self.memory / 8 / self.right_bytes.max(1)).max(1 << 19);
        let planned = match self.merge.list_keys()? {
            // All rows of a list are needed together.
            Some(_) => None,
            None => {
                let tables = (&self.left, &self.right);
                plan(tables, self.sources.as_ref(), &self.merge, most, self.memory / 8).await?
            }
        };
        let mut lists = None;
        let mut finder = match planned {
            Some(plan) => Finder::Planned {
                steps: plan.steps.into_iter(),
                spans: Spans::new(&self.right, OBJECTS_ON_THE_RIGHT),
                merge: Arc::new(self.merge.by(RUN, &plan.clustered)),
            },
            None => {
                let mut buckets = partitioned(&self).await?;
                if let Some(firsts) = buckets.lists.take() {
                    lists = Some(self.put_lists(store, firsts).await?);
                }
                Finder::Spilled(buckets)
            }
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
                let Some(work) = finder.next(&self, &mut left).await? else { return Ok(None) };
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
        Ok((segments, put_file(store, "joins", file).await?, lists))
    }

    /// Stores the first row of the list of each row on the right.
    async fn put_lists(&self, store: &Store, firsts: Vec<i64>) -> Result<ObjectRef> {
        let (mut lists, salt) = (JoinWriter::new(self.folder.counted()?)?, store.salt());
        let file = offload_large(size_of_val(firsts.as_slice()), move |_| {
            lists.write(firsts)?;
            lists.salt(salt);
            Ok(lists.finish()?.into_file())
        });
        put_file(store, "joins", file.await?).await
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
        if columns.iter().all(|existing| existing.name() != name) {
            columns.push(frame.column(name).map_err(internal)?.clone());
        }
    }
    DataFrame::new(frame.height(), columns).map_err(internal)
}

impl Finder {
    /// Returns the next rows on the left, with the rows on the right among which their partners are.
    async fn next(&mut self, task: &Task, left: &mut Spans) -> Result<Option<Work>> {
        let at = |side| move |error| at_source(task.sources.as_ref(), side, error);
        match self {
            Self::Planned { steps, spans, merge } => {
                let Some(step) = steps.next() else { return Ok(None) };
                let left_frame = left.read(std::slice::from_ref(&step.left)).await.map_err(at(0))?;
                let ranges: Vec<Range<u64>> = step.right.iter().map(|(rows, _)| rows.clone()).collect();
                let right_frame = spans.read(&ranges).await.map_err(at(1))?;
                let right_rows = ranges.into_iter().flat_map(|rows| rows.start.cast_signed()..rows.end.cast_signed()).collect();
                let of_right = step.right.iter().map(|(rows, number)| (rows.end - rows.start, *number)).collect();
                let partners = Ready::Not(Arc::clone(merge), step.runs, of_right);
                Ok(Some(Work { left: step.left, left_frame, right_frame, right_rows, partners }))
            }
            Self::Spilled(buckets) => {
                let Some((rows, right_frame, right_rows, partners)) = buckets.next(STEP_ROWS).await? else { return Ok(None) };
                let left_frame = left.read(std::slice::from_ref(&rows)).await.map_err(at(0))?;
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
