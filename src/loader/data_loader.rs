//! The data loader: plans batches, reads them ahead, and hands them out in order.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    options::{Choice, LoaderOptions, OnError},
    order::{Draws, Epoch, Order, Shuffle, ShuffleQuality, quality},
    shards::{Shards, Share},
    state::{LoaderState, MadeOf},
};
use crate::{
    ahead::Ahead,
    error::{Error, ErrorKind, Result, counted},
    id::Hash,
    read::{Edge, Window},
    table::{RowLoader, SampleColumns, SampleKey, Windows},
};

/// Bytes of the batches that one read plan covers: enough that blocks and ranges that they share are read once, and few enough
/// that the first of them does not wait long, and that the results stay in the cache of the processor.
const PLAN_BYTES: u64 = 4 << 20;
/// The most batches that one read plan covers.
const PLAN_BATCHES: usize = 16;
/// The most plans that are read at a time.
const PLANS: usize = 16;
/// Decoded bytes of a block of samples that share a chunk: few enough that the blocks of a window fit the default bound of the bytes
/// read ahead, and enough for large requests to a remote store.
const BLOCK_BYTES: u64 = 8 << 20;

/// Delivers the samples of a row loader in batches, epoch after epoch. See the [module](super) for an example.
///
/// The order depends on the seed and the epoch alone, not on ranks, batch sizes or threads. Batches are read ahead on the
/// library's threads, up to a bound in bytes, and handed out in order.
#[derive(Debug)]
pub struct DataLoader {
    rows: RowLoader,
    parts: Arc<[SampleColumns]>,
    /// The positions that are delivered, if they are not all positions.
    positions: Option<Arc<[u64]>>,
    order: Order,
    shards: Shards,
    prefetch: u64,
    on_error: OnError,
    made_of: MadeOf,
    epoch: u64,
    /// Samples of the epoch that all ranks together have handed out.
    offset: u64,
    run: Option<Run>,
    /// The largest bytes of a sample that were seen.
    sample_bytes: u64,
    stats: LoaderStats,
}

/// A batch of samples.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Position of each sample in the index.
    pub positions: Vec<u64>,
    /// Whether each sample only fills the batch ([`Last::Pad`](super::Last::Pad)).
    pub padding: Vec<bool>,
    /// The columns without a window, then those of each window, in the order of [`LoaderOptions::window`]. Part i has one window
    /// for each sample.
    pub parts: Vec<Windows>,
}

/// Counts of what a loader has delivered, and the time that the loader and its consumer waited for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoaderStats {
    /// Batches handed out.
    pub batches: u64,
    /// Samples handed out.
    pub samples: u64,
    /// Bytes of the decoded columns that were handed out.
    pub bytes: u64,
    /// Samples that could not be read and were left out.
    pub skipped: u64,
    /// Time for which the consumer waited for a batch.
    pub consumer_waited: Duration,
    /// Time between two calls, in which the loader waited for the consumer.
    pub loader_waited: Duration,
}

/// The reads of an epoch under way.
#[derive(Debug)]
struct Run {
    order: Arc<Epoch>,
    /// Offset of the first step that is not planned yet.
    planned: u64,
    reads: VecDeque<(u64, Ahead<Plan>)>,
    /// Bytes of the reads under way, as estimated.
    bytes: u64,
    /// Batches that are read and not handed out.
    ready: VecDeque<Result<ReadBatch>>,
    skipped: u64,
    last_call: Option<Instant>,
}

/// The positions of the samples of one batch, and how many of them only fill it.
type Positions = (Vec<u64>, usize);

/// The batches of one read plan.
type Plan = Vec<Result<ReadBatch>>;

/// A batch that was read, and the samples that were left out of it.
#[derive(Debug)]
struct ReadBatch {
    batch: Batch,
    /// Bytes of its decoded columns.
    bytes: u64,
    left_out: u64,
    /// The error of the first sample that was left out.
    first_error: Option<Error>,
}

impl DataLoader {
    /// Creates a loader of the samples of `rows`, with the columns that `rows` reads.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use tetrys::{Schema, Table, WriteOptions, loader::{DataLoader, LoaderOptions}};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("squares", [("square", "i64")]).build()?;
    /// # let numbers = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..100).map(of))) as arrow_array::ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", numbers(|id| id)), ("square", numbers(|id| id * id))])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&batch).await?;
    /// # writer.commit([partition.finish().await?]).await?;
    /// let table = Table::open(&url).await?;
    /// let mut loader = DataLoader::new(table.row_loader(), LoaderOptions::new(32).seed(7)).await?;
    /// let mut seen = 0;
    /// while let Some(batch) = loader.next().await? {
    ///     let squares = batch.parts[0].rows().array::<i64>("square")?;
    ///     assert_eq!((squares.shape(), batch.positions.len()), (&[32][..], 32));
    ///     seen += batch.positions.len();
    /// }
    /// assert_eq!(seen, 96); // the last 4 samples do not fill a batch
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: an option is impossible, such as a batch size of 0, a wrong number of weights, or a last step in which some
    ///   rank would get no sample.
    /// - `NotFound`: the pattern of a window matches no column of `rows`.
    /// - Errors of the stores.
    pub async fn new(rows: RowLoader, options: LoaderOptions) -> Result<Self> {
        let LoaderOptions { shards, shuffle, seed, prefetch, windows, on_error, skip_incomplete, choice } = options;
        shards.check()?;
        let rows = rows.edge(Edge::Pad);
        let parts = parts_of(&rows, &windows)?;
        let mut positions: Option<Arc<[u64]>> = match skip_incomplete {
            true => {
                let windows: Vec<Window> = windows.iter().map(|(_, window)| window.clone()).collect();
                Some(Arc::from(rows.complete(&windows).await?))
            }
            false => None,
        };
        // The first sample of each run of neighbours, for orders that need it.
        let mut starts: Arc<[u64]> = Arc::default();
        match shuffle {
            Shuffle::Sequence => (positions, starts) = together(rows.sequence_runs().await?, rows.len(), positions),
            Shuffle::Block { rows: 0, .. } => {
                let runs = rows.block_runs(BLOCK_BYTES).await?;
                starts = runs_of(runs.iter().map(|(start, _)| *start), rows.len(), positions.as_deref());
            }
            Shuffle::Block { rows: block, .. } => {
                let samples = positions.as_ref().map_or(rows.len(), |held| held.len() as u64);
                starts = (0..samples).step_by(usize::try_from(block).unwrap_or(usize::MAX)).chain([samples]).collect();
            }
            _ => {}
        }
        let samples = positions.as_ref().map_or(rows.len(), |held| held.len() as u64);
        // Refuses an impossible window at once. Otherwise every sample would fail.
        if samples > 0 {
            let first = position_of(positions.as_deref(), 0);
            for part in &parts {
                rows.check_window(first, part).await?;
            }
        }
        let draws = draws_of(choice, rows.len(), positions.as_deref())?;
        let made_of = made_of(&rows, &parts, &windows, (shuffle, &draws, &*starts), samples).await?;
        let order = Order::new(seed, samples, shuffle, draws, starts)?;
        let loader = Self {
            rows,
            parts: parts.into(),
            positions,
            order,
            shards,
            prefetch,
            on_error,
            made_of,
            epoch: 0,
            offset: 0,
            run: None,
            sample_bytes: 0,
            stats: LoaderStats::default(),
        };
        loader.shards.check_last(loader.order.len(), 0)?;
        Ok(loader)
    }

    /// Returns the next batch of this rank, or `None` at the end of an epoch. The call after that begins the next epoch.
    ///
    /// # Errors
    /// - `Corrupt`: a sample is damaged; the message names its position. The next call continues with the next batch. With
    ///   [`OnError::Skip`], only once more samples were left out than its limit says, or if no sample of a batch can be read.
    /// - Errors of the stores: the next call tries the same batch again.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        let began = Instant::now();
        if let Some(before) = self.run.as_mut().and_then(|run| run.last_call.take()) {
            self.stats.loader_waited += began - before;
        }
        let next = self.next_batch().await;
        self.stats.consumer_waited += began.elapsed();
        if let Some(run) = &mut self.run {
            run.last_call = Some(Instant::now());
        }
        let next = next?;
        match &next {
            Some(batch) => {
                self.stats.batches += 1;
                self.stats.samples += batch.positions.len() as u64;
            }
            None => self.set_epoch(self.epoch + 1),
        }
        Ok(next)
    }

    async fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            self.read_ahead().await;
            let (step, len) = (self.shards.step(), self.order.len());
            let Some(run) = &mut self.run else { return Ok(None) };
            if let Some(batch) = run.ready.pop_front() {
                self.offset = (self.offset + step).min(len);
                return self.judged(batch).map(Some);
            }
            // The read stays in the queue until it is done: a caller that stops waiting loses no batch.
            let Some((_, read)) = run.reads.front_mut() else { return Ok(None) };
            read.ready().await;
            let Some((estimate, read)) = run.reads.pop_front() else { return Ok(None) };
            run.bytes -= estimate;
            match read.done().await {
                Ok(read) => {
                    for ReadBatch { batch, bytes, .. } in read.iter().flatten() {
                        let bytes = bytes.div_ceil(batch.positions.len().max(1) as u64);
                        self.sample_bytes = self.sample_bytes.max(bytes);
                    }
                    run.ready.extend(read);
                }
                // Not an error of a sample: the next call begins again behind the last batch that was handed out.
                Err(error) => {
                    self.run = None;
                    return Err(error);
                }
            }
        }
    }

    /// Counts the samples that a batch leaves out, and fails if they are too many.
    fn judged(&mut self, read: Result<ReadBatch>) -> Result<Batch> {
        let ReadBatch { batch, bytes, left_out, first_error } = read?;
        self.stats.bytes += bytes;
        let (OnError::Skip { limit }, Some(run)) = (self.on_error, &mut self.run) else { return Ok(batch) };
        run.skipped += left_out;
        self.stats.skipped += left_out;
        match first_error {
            Some(error) if run.skipped > limit => {
                Err(error.at(format!("{} could not be read, at most {limit} may be left out", counted(run.skipped, "sample"))))
            }
            // All ranks do the same number of steps, so a batch cannot be left out.
            Some(error) if batch.positions.is_empty() => Err(error.at("no sample of the batch can be read")),
            _ => Ok(batch),
        }
    }

    /// Starts reads until the bytes under way reach the bound.
    async fn read_ahead(&mut self) {
        let len = self.order.len();
        if self.run.is_none() {
            let order = Arc::new(self.order.epoch(self.epoch));
            let (reads, ready) = Default::default();
            self.run = Some(Run { order, planned: self.offset, reads, bytes: 0, ready, skipped: 0, last_call: None });
        }
        let Some(run) = &mut self.run else { return };
        loop {
            let batch_bytes = self.sample_bytes.saturating_mul(self.shards.batch_size);
            let waiting = run.bytes + run.ready.len() as u64 * batch_bytes;
            let (_, together) = run.order.shuffled_with(run.planned.min(len.saturating_sub(1)));
            // Samples that are shuffled together are read together, so that their blocks are read once.
            let plan_bytes = match together > run.planned + 1 {
                true => self.prefetch / 3,
                false => PLAN_BYTES.min(self.prefetch / 4),
            };
            let is_idle = run.reads.is_empty() && run.ready.is_empty();
            if !is_idle && (batch_bytes == 0 || waiting + plan_bytes.max(batch_bytes) > self.prefetch || run.reads.len() >= PLANS)
            {
                return;
            }
            let mut batches: Vec<Positions> = Vec::new();
            let mut planned = run.planned;
            while let Some(Share { numbers, padding }) = self.shards.share(len, planned) {
                let position = |number: u64| position_of(self.positions.as_deref(), run.order.at(number));
                batches.push((numbers.into_iter().map(position).collect(), padding));
                planned += self.shards.step();
                let is_apart = planned >= together && batches.len() >= PLAN_BATCHES;
                // Before the size of a sample is known, one batch is read alone.
                if batch_bytes == 0 || is_apart || batch_bytes * (batches.len() as u64 + 1) > plan_bytes {
                    break;
                }
            }
            if batches.is_empty() {
                return;
            }
            let estimate = batch_bytes.saturating_mul(batches.len() as u64);
            let (rows, parts, on_error) = (self.rows.clone(), Arc::clone(&self.parts), self.on_error);
            let read = Ahead::start(async move { read(&rows, &parts, batches, on_error).await }).await;
            // Behind the await: a caller that stops waiting has planned nothing.
            run.planned = planned;
            run.bytes += estimate;
            run.reads.push_back((estimate, read));
        }
    }

    /// Forgets the reads under way and starts them again: a forked child does not have the threads that read for its parent.
    pub fn restart_reads(&mut self) {
        // Dropping the reads would wake threads that do not exist here.
        std::mem::forget(self.run.take());
    }

    /// Returns the number of batches that this rank gets until the end of the epoch.
    pub fn remaining(&self) -> u64 {
        self.shards.steps(self.order.len(), self.offset)
    }

    /// Returns the number of batches of a whole epoch.
    pub fn len(&self) -> u64 {
        self.shards.steps(self.order.len(), 0)
    }

    /// Whether an epoch has no batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of samples of an epoch, over all ranks.
    pub fn samples(&self) -> u64 {
        self.order.len()
    }

    /// Returns the number of the epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Goes to the start of an epoch. Batches that were read ahead are dropped.
    pub fn set_epoch(&mut self, epoch: u64) {
        (self.epoch, self.offset, self.run) = (epoch, 0, None);
    }

    /// Returns the state behind the last batch that was handed out. All ranks save it at the same step.
    pub fn state(&self) -> LoaderState {
        LoaderState::new(self.order.seed(), self.epoch, self.offset, self.made_of.clone())
    }

    /// Continues where a state was saved, with the seed of the state: the next batches have exactly the samples behind it, in the
    /// same order, whatever the batch size and the number of ranks were.
    ///
    /// # Errors
    /// - `Invalid`: the state was saved by a loader with other tables, versions, rows, columns, windows or order, or some rank
    ///   would get no sample in the last step.
    /// - `Unsupported`: a later build saved the state.
    pub fn load_state(&mut self, state: &LoaderState) -> Result<()> {
        state.check(&self.made_of, self.order.len())?;
        self.shards.check_last(self.order.len(), state.offset)?;
        self.order = self.order.clone().with_seed(state.seed);
        (self.epoch, self.offset, self.run) = (state.epoch, state.offset, None);
        // A state that was saved behind the last step begins the next epoch.
        if self.remaining() == 0 {
            self.set_epoch(state.epoch + 1);
        }
        Ok(())
    }

    /// Returns what was delivered, and where time went.
    pub fn stats(&self) -> LoaderStats {
        self.stats
    }

    /// Measures how well the order of this epoch mixes neighbours and sequences.
    ///
    /// # Errors
    /// - Errors of the stores.
    pub async fn quality(&self) -> Result<ShuffleQuality> {
        let runs = self.rows.sequence_runs().await?;
        let numbers = numbered(&runs);
        let sequence = |sample: u64| {
            let position = position_of(self.positions.as_deref(), sample);
            let run = runs.partition_point(|(start, _)| *start <= position).checked_sub(1);
            run.and_then(|run| numbers.get(run)).map_or(0, |number| *number as u64)
        };
        Ok(quality(&self.order, self.shards.step(), self.epoch, sequence))
    }
}

/// Reads batches with one plan. If samples are damaged, reads the batches one by one, so that only those with a damaged sample fail.
///
/// # Errors
/// Errors that are not of a sample, as those of a store that does not answer.
async fn read(rows: &RowLoader, parts: &[SampleColumns], batches: Vec<Positions>, on_error: OnError) -> Result<Plan> {
    let all: Vec<u64> = batches.iter().flat_map(|(positions, _)| positions).copied().collect();
    let mut found = Vec::with_capacity(batches.len());
    match rows.samples(&all, parts).await {
        Ok(windows) => {
            // Of all batches together: slices of lists count the values of all of them.
            let bytes = bytes_of(&windows);
            let mut end = 0;
            for (positions, padding) in batches {
                let start = end;
                end += positions.len();
                let bytes = bytes / (all.len().max(1) as u64) * positions.len() as u64;
                found.push(Ok(whole(positions, padding, windows.iter().map(|held| held.slice(start..end)).collect(), bytes)));
            }
        }
        Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
        Err(_) => {
            for (positions, padding) in batches {
                found.push(match without_damaged(rows, parts, positions, padding, on_error).await {
                    Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                    batch => batch,
                });
            }
        }
    }
    Ok(found)
}

/// Reads a batch in ever smaller parts, to find its damaged samples: leaves them out, or returns the error of the first one with its
/// position.
async fn without_damaged(
    rows: &RowLoader,
    parts: &[SampleColumns],
    positions: Vec<u64>,
    padding: usize,
    on_error: OnError,
) -> Result<ReadBatch> {
    let (real, all) = (positions.len() - padding, positions.len());
    let (mut good, mut good_padding, mut first_error) = (Vec::new(), 0, None);
    // Places that are not read yet, the first of them on top.
    let mut ranges: Vec<std::ops::Range<usize>> = std::iter::once(0..all).collect();
    while let Some(range) = ranges.pop() {
        let part = positions.get(range.clone()).unwrap_or_default();
        match rows.samples(part, parts).await {
            Ok(_) => {
                good_padding += range.filter(|place| *place >= real).count();
                good.extend_from_slice(part);
            }
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            Err(_) if range.len() > 1 => {
                let middle = range.start + range.len() / 2;
                ranges.extend([middle..range.end, range.start..middle]);
            }
            Err(error) => {
                let error = error.at(format!("sample at position {}", part.first().copied().unwrap_or(0)));
                if on_error == OnError::Raise {
                    return Err(error);
                }
                first_error = first_error.or(Some(error));
            }
        }
    }
    let windows = rows.samples(&good, parts).await?;
    let (left_out, bytes) = ((all - good.len()) as u64, bytes_of(&windows));
    Ok(ReadBatch { left_out, first_error, ..whole(good, good_padding, windows, bytes) })
}

fn whole(positions: Vec<u64>, padding: usize, parts: Vec<Windows>, bytes: u64) -> ReadBatch {
    let real = positions.len() - padding;
    let padding = (0..positions.len()).map(|place| place >= real).collect();
    ReadBatch { batch: Batch { positions, padding, parts }, bytes, left_out: 0, first_error: None }
}

fn bytes_of(parts: &[Windows]) -> u64 {
    let columns = parts.iter().flat_map(|part| part.rows().batch().columns());
    columns.map(|array| array.to_data().get_slice_memory_size().unwrap_or(0) as u64).sum()
}

/// Returns the columns without a window, then those of each window.
fn parts_of(rows: &RowLoader, windows: &[(String, Window)]) -> Result<Vec<SampleColumns>> {
    let mut left: Vec<usize> = (0..rows.column_names().len()).collect();
    let mut parts = Vec::new();
    for (pattern, window) in windows {
        let places = rows.places(pattern)?;
        if let Some(twice) = places.iter().find(|place| !left.contains(place)) {
            let name = rows.column_names().nth(*twice).unwrap_or_default();
            return Err(Error::invalid(format!("column `{name}` has two windows: pattern `{pattern}` selects it again")));
        }
        left.retain(|place| !places.contains(place));
        parts.push((places, Some(window.clone())));
    }
    parts.insert(0, (left, None));
    Ok(parts)
}

/// Returns the position of a sample.
fn position_of(positions: Option<&[u64]>, sample: u64) -> u64 {
    match positions {
        Some(held) => usize::try_from(sample).ok().and_then(|sample| held.get(sample)).copied().unwrap_or(0),
        None => sample,
    }
}

/// Returns the number of the sequence of each run. Sequences are numbered from 0, in the order of their first run.
fn numbered(runs: &[(u64, SampleKey)]) -> Vec<usize> {
    let mut of_key: BTreeMap<SampleKey, usize> = BTreeMap::new();
    let number = |(_, key): &(u64, SampleKey)| {
        let next = of_key.len();
        *of_key.entry(*key).or_insert(next)
    };
    runs.iter().map(number).collect()
}

/// Returns the starts of runs of samples, and their number, from the starts of runs of `len` positions.
fn runs_of(starts: impl Iterator<Item = u64>, len: u64, positions: Option<&[u64]>) -> Arc<[u64]> {
    let place = |start: u64| positions.map_or(start, |held| held.partition_point(|position| *position < start) as u64);
    let mut runs: Vec<u64> = starts.chain([len]).map(place).collect();
    runs.dedup();
    runs.into()
}

/// Returns the positions so that those of a sequence stand together, in the order of the index, and the starts of the sequences.
/// Returns the given positions if they stand together already.
fn together(runs: Vec<(u64, SampleKey)>, len: u64, positions: Option<Arc<[u64]>>) -> (Option<Arc<[u64]>>, Arc<[u64]>) {
    // The ranges of positions of each sequence.
    let mut sequences: Vec<Vec<(u64, u64)>> = Vec::new();
    let ends = runs.iter().skip(1).map(|(start, _)| *start).chain([len]);
    for (((start, _), end), number) in runs.iter().zip(ends).zip(numbered(&runs)) {
        if number == sequences.len() {
            sequences.push(Vec::new());
        }
        sequences[number].push((*start, end));
    }
    if sequences.len() == runs.len() {
        let starts = runs_of(runs.iter().map(|(start, _)| *start), len, positions.as_deref());
        return (positions, starts);
    }
    let mut all = Vec::new();
    let mut starts = Vec::new();
    for ranges in sequences {
        let before = all.len();
        for (start, end) in ranges {
            match &positions {
                Some(held) => {
                    let place = |end: u64| held.partition_point(|position| *position < end);
                    all.extend_from_slice(held.get(place(start)..place(end)).unwrap_or_default());
                }
                None => all.extend(start..end),
            }
        }
        if all.len() > before {
            starts.push(before as u64);
        }
    }
    starts.push(all.len() as u64);
    (Some(all.into()), starts.into())
}

fn draws_of(choice: Choice, positions: u64, chosen: Option<&[u64]>) -> Result<Draws> {
    let count = chosen.map_or(positions, |chosen| chosen.len() as u64);
    let fits = |what: &str, values: usize| match values as u64 == positions {
        true => Ok(()),
        false => Err(Error::invalid(format!("{}, expected one for each of {positions} positions", counted(values, what)))),
    };
    let of_chosen = |place: &u64| usize::try_from(*place).unwrap_or(usize::MAX);
    match choice {
        Choice::All => Ok(Draws::Once),
        Choice::Weights { weights, replace, draws } => {
            fits("weight", weights.len())?;
            let weights = match chosen {
                Some(chosen) => chosen.iter().map(|place| weights[of_chosen(place)]).collect(),
                None => weights,
            };
            Draws::by_weight(weights, replace, draws.unwrap_or(count))
        }
        Choice::Classes { classes, draws } => {
            fits("class number", classes.len())?;
            let mut classes = match chosen {
                Some(chosen) => chosen.iter().map(|place| classes[of_chosen(place)]).collect(),
                None => classes,
            };
            // A class may have no sample left.
            let mut there = classes.clone();
            there.sort_unstable();
            there.dedup();
            for class in &mut classes {
                *class = u32::try_from(there.binary_search(class).unwrap_or(0)).unwrap_or(0);
            }
            Draws::by_class(&classes, draws.unwrap_or(count))
        }
    }
}

async fn made_of(
    rows: &RowLoader,
    parts: &[SampleColumns],
    windows: &[(String, Window)],
    (shuffle, draws, starts): (Shuffle, &Draws, &[u64]),
    samples: u64,
) -> Result<MadeOf> {
    let digits = |hash: Hash| hash.to_string().chars().take(16).collect::<String>();
    let [tables, versions, all] = rows.identity().await?.map(digits);
    let names: Vec<&str> = rows.column_names().collect();
    let columns = Hash::of(format!("{names:?} {parts:?} {windows:?}").as_bytes());
    let order = match draws {
        // A copy of the table in another kind of store may choose other column groups, and so other blocks.
        Draws::Once => format!("{shuffle:?} {}", Hash::of(bytemuck::cast_slice(starts))),
        Draws::Replaced { sums, draws } => format!("replaced {draws} {}", of_floats(sums)),
        Draws::Weighted { weights, draws } => format!("weighted {draws} {}", of_floats(weights)),
        Draws::Balanced { samples, starts, draws } => {
            format!("balanced {draws} {} {starts:?}", Hash::of(bytemuck::cast_slice(samples)))
        }
    };
    let order = digits(Hash::of(order.as_bytes()));
    let rows = digits(Hash::of(format!("{all} {samples}").as_bytes()));
    Ok(MadeOf { tables, versions, rows, columns: digits(columns), order })
}

fn of_floats(values: &[f64]) -> Hash {
    Hash::of(bytemuck::cast_slice(values))
}
