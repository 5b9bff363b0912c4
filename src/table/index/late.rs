//! Reads index columns in two stages (late materialization): the columns that conditions read, then the other wanted columns, of the rows
//! that the conditions choose.
//!
//! ```text
//! columns of the conditions -> rows -> pages of the other columns that have these rows
//! ```
//!
//! The second stage waits for the first, so it is worth its requests only where it leaves out many bytes. A segment without a tail
//! is read in one stage.

use std::{collections::BTreeMap, ops::Range};

use futures::stream::{self, StreamExt, TryStreamExt};
use polars::prelude::DataFrame;

use super::{
    choose::{Choice, FEW, READ_BYTES, places, side_by_side},
    segments::{IndexPlan, SegmentRead},
};
use crate::{
    error::Result,
    index::{Filling, internal, locate, taken},
    ranges::joined,
    table::version::{index_rows::ranges_of, table::Table},
    work::{offload_large, waves},
};

/// Columns that no condition reads are read in a second stage if they take at least so many bytes.
const LATE: u64 = 2 << 20;
/// The most segments of which a stage reads at a time.
const SEGMENTS_OF_WAVE: usize = 256;
/// Waves of segments that are read at a time: while one waits for its second stage, the next one is in its first.
const WAVES_AT_ONCE: usize = 2;

/// The parts of segments that are read for conditions.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    /// The plan of the first stage.
    pub(super) plan: IndexPlan,
    /// `None` for segments of which nothing is read.
    pub(super) segments: Vec<Option<Stage>>,
}

/// Columns of some rows of a segment: all that are wanted, or those of the conditions in `first`, and in `then` the others of the same rows.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) first: SegmentRead,
    pub(super) then: Option<SegmentRead>,
}

impl Stages {
    fn one(plan: IndexPlan, reads: Vec<Option<SegmentRead>>) -> Self {
        let segments = reads.into_iter().map(|read| read.map(|first| Stage { first, then: None }));
        Self { plan, segments: segments.collect() }
    }

    /// Returns the stages that have rows.
    fn with_rows(self) -> impl Iterator<Item = Stage> {
        self.segments.into_iter().flatten().filter(|stage| !stage.first.rows.is_empty())
    }
}

impl Table {
    /// Plans to read each segment for conditions that read the columns at these places.
    pub(super) async fn plan_stages(&self, plan: IndexPlan, read: &[usize]) -> Result<Stages> {
        let others = without(&plan.columns, read);
        let index: u64 = self.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
        // Where little can be left out, tails are read only if the plan needs them.
        if others.is_empty() || index < 2 * LATE {
            let reads = self.plan_each(&plan).await?;
            return Ok(Stages::one(plan, reads));
        }
        let of_conditions = plan.of_conditions(self, read);
        let first = self.plan_each(&of_conditions).await?;
        let wider = |read: &Option<SegmentRead>| read.as_ref().map(|read| self.with_columns(read, &plan.columns)).transpose();
        let all = first.iter().map(wider).collect::<Result<Vec<_>>>()?;
        let both = || first.iter().flatten().zip(all.iter().flatten());
        let late = both().filter(|(first, _)| first.part.is_some()).map(|(first, all)| all.bytes.saturating_sub(first.bytes));
        if late.sum::<u64>() < LATE {
            return Ok(Stages::one(of_conditions, all));
        }
        let stage = |(first, all): (SegmentRead, SegmentRead)| match first.part {
            Some(_) => Stage { then: Some(first.of_rows(&others, first.rows.clone())), first },
            None => Stage { first: all, then: None },
        };
        let segments = first.into_iter().zip(all).map(|(first, all)| first.zip(all).map(stage)).collect();
        Ok(Stages { plan: of_conditions, segments })
    }

    /// Loads the rows that the conditions choose, with their locators. `columns` columns are read.
    pub(super) async fn load_stages(&self, stages: Stages, columns: usize, choice: Choice) -> Result<DataFrame> {
        let stages: Vec<Stage> = stages.with_rows().collect();
        if stages.iter().all(|stage| stage.then.is_none()) {
            return self.load_wave(&stages, columns, &choice).await;
        }
        let mut frame = choice.without_rows(self)?;
        let kinds = stages.chunk_by(|one, next| one.then.is_some() == next.then.is_some());
        let waves = kinds.flat_map(|stages| {
            let sizes = stages.iter().map(|stage| stage.first.bytes + stage.then.as_ref().map_or(0, |then| then.bytes));
            let waves = waves(sizes, READ_BYTES / WAVES_AT_ONCE as u64, SEGMENTS_OF_WAVE);
            waves.into_iter().map(|wave| stages.get(wave).unwrap_or_default())
        });
        let choice = &choice;
        let load = waves.map(|wave| self.load_wave(wave, columns, choice)).collect::<Vec<_>>();
        let mut found = stream::iter(load).buffered(WAVES_AT_ONCE);
        while let Some(chosen) = found.try_next().await? {
            frame.vstack_mut_owned(chosen).map_err(internal)?;
            // An error if the system does not have the memory for the chosen rows in one piece.
            drop(Filling::new(&self.described(&choice.wanted), frame.height() as u64, false)?);
        }
        offload_large(frame.height().saturating_mul(8 * (frame.width() + 1)), move |_| {
            frame.rechunk_mut();
            Ok(frame)
        })
        .await
    }

    /// Loads the chosen rows of stages of one kind.
    async fn load_wave(&self, wave: &[Stage], columns: usize, choice: &Choice) -> Result<DataFrame> {
        let first = wave.iter().map(|stage| stage.first.clone()).collect();
        if wave.iter().all(|stage| stage.then.is_none()) {
            return Ok(self.load_planned(first, columns, choice.clone()).await?.0);
        }
        let others = without(&choice.wanted, &choice.read);
        let early = Choice { wanted: without(&choice.wanted, &others), ..choice.clone() };
        let (found, looked) = self.load_planned(first, choice.read.len(), early).await?;
        if found.height() == 0 {
            return choice.without_rows(self);
        }
        let rows = locate(&found, choice.tag, self.rows(), false)?;
        let height: u64 = looked.iter().map(SegmentRead::height).sum();
        let mut ranges = ranges_of(&rows.iter().filter_map(|row| u64::try_from(*row).ok()).collect::<Vec<_>>());
        // To skip rows again and again takes longer than to decode all of them, and few pages have none of so many.
        if (ranges.len() as u64).saturating_mul(FEW as u64) > height {
            ranges = looked.iter().flat_map(|read| read.table_rows(self)).collect();
        }
        let tails: BTreeMap<usize, &SegmentRead> = wave.iter().map(|stage| (stage.first.segment, &stage.first)).collect();
        let then = self.rows_by_segment(&ranges).into_iter();
        let then = then.filter_map(|(number, rows)| Some(tails.get(&number)?.of_rows(&others, joined(rows)))).collect();
        let (frame, then) = self.load_segments(then, &others, false).await?;
        let (table, wanted, tag) = (self.clone(), choice.wanted.clone(), choice.tag);
        offload_large(frame.height().saturating_mul(8 * wanted.len()), move |_| {
            let read: Vec<Range<u64>> = then.iter().flat_map(|read| read.table_rows(&table)).collect();
            let others = taken(&frame, places(&rows, &read)?)?;
            side_by_side(&table, &wanted, tag, &found, &others)
        })
        .await
    }
}

/// Returns the places that are not among `some`.
fn without(places: &[usize], some: &[usize]) -> Vec<usize> {
    places.iter().filter(|place| !some.contains(place)).copied().collect()
}
