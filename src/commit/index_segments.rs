//! Index segments without column groups, for views, which have no chunks (`format-spec/views.md#index`).

use std::{collections::VecDeque, fs::File, sync::Arc};

use arrow_array::RecordBatch;

use super::merge::{SegmentIndex, temporary};
use crate::{
    error::Result,
    format::{MAX_SEGMENT_ROWS, Segment, SequenceTracker},
    schema::Schema,
    store::Store,
    work::{next_of, offload_large},
};

/// Stores the rows of these batches as segments of one sequence, with tails if `tails`. The batches have the index columns of
/// `schema`.
///
/// # Errors
/// - `Invalid`: a text value is too long.
/// - Errors of `batches` and of the store.
pub async fn index_segments(
    store: &Store,
    schema: &Schema,
    tails: bool,
    batches: impl IntoIterator<Item = Result<RecordBatch>, IntoIter: Send + 'static>,
) -> Result<Vec<Segment>> {
    let (mut segments, mut batches) = (IndexSegments::new(schema.clone(), tails, None), batches.into_iter());
    while let (Some(batch), rest) = next_of(batches).await? {
        segments = segments.append(store, vec![batch?], temporary).await?;
        batches = rest;
    }
    segments.finish(store).await
}

/// Segments of one sequence while they are being written. Memory holds one row group.
#[derive(Debug)]
pub struct IndexSegments {
    schema: Schema,
    tails: bool,
    tracker: SequenceTracker,
    /// The segment that is being written.
    open: Option<SegmentIndex>,
    stored: Vec<Segment>,
    rows: u64,
    /// The temporary files as errors name them.
    place: Option<Arc<str>>,
}

impl IndexSegments {
    /// Creates the segments of a view with this schema, without rows. They get tails if `tails`. Errors of temporary files name
    /// `place`.
    pub fn new(schema: Schema, tails: bool, place: Option<Arc<str>>) -> Self {
        let tracker = SequenceTracker::new(&schema);
        Self { schema, tails, tracker, open: None, stored: Vec::new(), rows: 0, place }
    }

    /// Appends rows, and stores each segment that is full. `file` creates the temporary file of a segment.
    ///
    /// # Errors
    /// - `Invalid`: a text value is too long.
    /// - `Unavailable`: the temporary file cannot be written.
    /// - Errors of the store.
    pub async fn append(
        mut self,
        store: &Store,
        batches: Vec<RecordBatch>,
        file: impl Fn() -> Result<File> + Clone + Send + 'static,
    ) -> Result<Self> {
        let mut rest = VecDeque::from(batches);
        while !rest.is_empty() {
            let file = file.clone();
            let size = rest.iter().map(RecordBatch::get_array_memory_size).sum();
            (self, rest) = offload_large(size, move |stop| {
                while let Some(batch) = rest.pop_front() {
                    stop.check()?;
                    if let Some(after) = self.push(&batch, &file)? {
                        rest.push_front(after);
                        break;
                    }
                }
                Ok((self, rest))
            })
            .await?;
            if self.room() == 0 {
                self = self.stored(store).await?;
            }
        }
        Ok(self)
    }

    /// Stores the last segment. Returns all segments.
    ///
    /// # Errors
    /// - `Unavailable`: the temporary file cannot be read or written.
    /// - Errors of the store.
    pub async fn finish(self, store: &Store) -> Result<Vec<Segment>> {
        Ok(self.stored(store).await?.stored)
    }

    /// Returns how many rows fit into the open segment.
    fn room(&self) -> usize {
        let open_rows = self.open.as_ref().map_or(0, SegmentIndex::rows);
        usize::try_from(MAX_SEGMENT_ROWS.saturating_sub(open_rows)).unwrap_or(usize::MAX)
    }

    /// Appends the rows that fit into the open segment. Returns the others.
    fn push(&mut self, batch: &RecordBatch, file: &impl Fn() -> Result<File>) -> Result<Option<RecordBatch>> {
        let (rows, room) = (batch.num_rows(), self.room());
        if rows == 0 {
            return Ok(None);
        }
        let here = batch.slice(0, rows.min(room));
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(SegmentIndex::in_file(file()?, self.place.clone(), &self.schema, self.tails)?),
        };
        open.push(&here, &mut self.tracker)?;
        Ok((rows > room).then(|| batch.slice(room, rows - room)))
    }

    async fn stored(mut self, store: &Store) -> Result<Self> {
        if let Some(open) = self.open.take() {
            let segment = open.finish(store, self.rows).await?;
            self.rows += segment.rows;
            self.stored.push(segment);
        }
        Ok(self)
    }
}
