//! The data loader: plans batches, reads them ahead, and hands them out in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    batch::{self, Batch, Filling, Planned, ReadBatch},
    draws::Sources,
    mix::{Mix, Stop},
    options::{LoaderOptions, OnError},
    order::ShuffleQuality,
    planner::{BatchPlan, Planner},
    prepared::{Key, Prepared},
    run::{NextEpoch, PlanRead, Run},
    shards::Shards,
    source::Source,
    state::{LoaderState, MadeOf},
    trace::Trace,
};
use crate::{
    error::{Error, Result, counted},
    machine,
    read::MAX_WINDOW,
    table::RowLoader,
    work::Ahead,
};

/// Delivers the samples of a row loader in batches, epoch after epoch. See the [module](super) for an example.
///
/// The order depends on the seed and the epoch alone, not on ranks, batch sizes or threads. Batches are read ahead on the
/// library's threads, up to a bound in bytes, and handed out in order. Before an epoch ends, the first batches of the next one are read,
/// up to half of the bound; before the first end of an epoch, at most a tenth of one.
///
/// A clone is at the same place, and goes on from there by itself. Clones share what [`DataLoader::stats`] counts, and the trace.
#[derive(Debug)]
pub struct DataLoader {
    pub(super) sources: Sources,
    /// The choice between several sources.
    pub(super) mix: Option<Mix>,
    pub(super) shards: Shards,
    pub(super) prefetch: u64,
    on_error: OnError,
    trace: Option<Trace>,
    pub(super) epoch: u64,
    /// Samples of the epoch that all ranks together have handed out.
    offset: u64,
    run: Option<Run>,
    delivered: Arc<Delivered>,
    prepared: Prepared<Run>,
}

/// Counts what a loader and its clones have delivered. Times are in nanoseconds.
#[derive(Debug, Default)]
struct Delivered {
    batches: AtomicU64,
    samples: AtomicU64,
    bytes: AtomicU64,
    skipped: AtomicU64,
    consumer_waited: AtomicU64,
    loader_waited: AtomicU64,
    /// The largest bytes of a sample that were seen.
    sample_bytes: AtomicU64,
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Clone for DataLoader {
    fn clone(&self) -> Self {
        let Self { sources, mix, shards, prefetch, on_error, trace, epoch, offset, run: _, delivered, prepared } = self;
        Self {
            sources: sources.clone(),
            mix: mix.clone(),
            shards: *shards,
            prefetch: *prefetch,
            on_error: *on_error,
            trace: trace.clone(),
            epoch: *epoch,
            offset: *offset,
            run: None,
            delivered: Arc::clone(delivered),
            prepared: prepared.clone(),
        }
    }
}

/// Counts of what a loader has delivered, and the time that the loader and its consumer waited for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoaderStats {
    /// Batches handed out.
    pub batches: u64,
    /// Samples handed out.
    pub samples: u64,
    /// Bytes of the decoded columns that were handed out.
    pub bytes: u64,
    /// Samples that could not be read and were left out.
    pub skipped: u64,
    /// Requests that were sent to the stores, also for batches that were read and not yet handed out; of local tables, reads of
    /// files. Those for the index and the layouts of a table do not count. See [`DataLoader::planned_reads`] for those of the plans.
    pub requests: u64,
    /// Bytes of these requests.
    pub requested_bytes: u64,
    /// Blocks that were needed.
    pub blocks: u64,
    /// Blocks of these that were in the block cache.
    pub cached_blocks: u64,
    /// Time for which the consumer waited for a batch.
    pub consumer_waited: Duration,
    /// Time between two calls, in which the loader waited for the consumer.
    pub loader_waited: Duration,
}

impl LoaderStats {
    /// Returns the share of the consumer's time that it waited for batches, from 0 to 1; `None` if it has asked for none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tetrys::loader::LoaderStats;
    ///
    /// let mut stats = LoaderStats::default();
    /// assert_eq!(stats.wait_share(), None);
    /// stats.consumer_waited = Duration::from_secs(1);
    /// stats.loader_waited = Duration::from_secs(99);
    /// assert_eq!(stats.wait_share(), Some(0.01));
    /// ```
    pub fn wait_share(&self) -> Option<f64> {
        let all = self.consumer_waited + self.loader_waited;
        (!all.is_zero()).then(|| self.consumer_waited.as_secs_f64() / all.as_secs_f64())
    }
}

/// The requests that the read plans of a loader name, for all blocks that are not in its block cache. Fewer are sent
/// ([`LoaderStats::requests`]) if the cache of the store has some of the bytes, or if reads share a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedReads {
    /// Requests of the plans.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
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
    ///   rank would get no sample; the windows of a batch have more than 16,777,216 rows.
    /// - `NotFound`: the pattern of a window matches no column of `rows`.
    /// - Errors of the stores.
    pub async fn new(rows: RowLoader, options: LoaderOptions) -> Result<Self> {
        options.shards.check()?;
        let (samples, widest) = (options.shards.batch_size.min(rows.len()), options.widest());
        if samples.saturating_mul(widest) > MAX_WINDOW && widest > 1 {
            return Err(Error::invalid(format!(
                "a batch of {samples} windows of {} each: expected at most {MAX_WINDOW} rows in all; use a smaller batch or fewer \
                 offsets",
                counted(widest, "row")
            )));
        }
        let (shards, prefetch, on_error) = (options.shards, options.prefetch, options.on_error);
        let source = Source::new(rows, options).await?;
        let loader = Self::of(Sources(Arc::new([source])), None, shards, prefetch, on_error);
        loader.shards.check_last(loader.samples(), 0)?;
        Ok(loader)
    }

    /// Mixes the samples of several loaders: of n samples, loader i gives n · `weights[i]` / (sum of the weights), give or take one.
    /// The samples of each loader come in the order that the loader gives them.
    ///
    /// The loaders have the same columns, windows, batch size and rank. Everything else that is not of the samples, such as the bound
    /// of the bytes that are read ahead, is that of the first loader.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions, loader::{DataLoader, LoaderOptions, Stop}};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("squares", [("square", "i64")]).build()?;
    /// # let numbers = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..100).map(of))) as arrow_array::ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", numbers(|id| id)), ("square", numbers(|id| id * id))])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&batch).await?;
    /// # writer.commit([partition.finish().await?]).await?;
    /// # let table = Table::open(&url).await?;
    /// let city = DataLoader::new(table.row_loader(), LoaderOptions::new(32)).await?;
    /// let highway = DataLoader::new(table.row_loader(), LoaderOptions::new(32).seed(1)).await?;
    /// let mut mixed = DataLoader::mix([&city, &highway], &[3.0, 1.0], Stop::Longest)?;
    /// let batch = mixed.next().await?.expect("an epoch has batches");
    /// assert_eq!(batch.sources.iter().filter(|source| **source == 0).count(), 24);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: there are no loaders, a weight is not above 0, a loader is empty or a mix itself, or the loaders differ in what
    ///   they must have in common.
    pub fn mix<'a>(loaders: impl IntoIterator<Item = &'a Self>, weights: &[f64], stop: Stop) -> Result<Self> {
        let loaders: Vec<&Self> = loaders.into_iter().collect();
        let Some(first) = loaders.first() else { return Err(Error::invalid("a mix of no loaders: expected 1 or more")) };
        for (number, loader) in loaders.iter().enumerate() {
            let differs = match (&*first.sources.0, &*loader.sources.0) {
                _ if loader.mix.is_some() => Some("is a mix itself".to_owned()),
                _ if loader.shards != first.shards => {
                    Some(format!("has {}, expected {}, as loader 0 has", loader.shards.describe(), first.shards.describe()))
                }
                ([first], [source]) => source.differs(first),
                _ => None,
            };
            if let Some(differs) = differs {
                return Err(Error::invalid(format!("loader {number} of a mix {differs}")));
            }
        }
        let mix = Mix::new(loaders.iter().map(|loader| loader.samples()).collect(), weights, stop)?;
        let sources = loaders.iter().flat_map(|loader| loader.sources.0.iter()).map(|source| source.clone().counted()).collect();
        let mixed = Self::of(Sources(sources), Some(mix), first.shards, first.prefetch, first.on_error);
        let mixed = Self { trace: first.trace.clone(), ..mixed };
        mixed.shards.check_last(mixed.samples(), 0)?;
        Ok(mixed)
    }

    fn of(sources: Sources, mix: Option<Mix>, shards: Shards, prefetch: u64, on_error: OnError) -> Self {
        let (delivered, prepared) = Default::default();
        Self { sources, mix, shards, prefetch, on_error, trace: None, epoch: 0, offset: 0, run: None, delivered, prepared }
    }

    /// Records what the loader does from here on.
    pub fn set_trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }

    /// Returns the next batch of this rank, or `None` at the end of an epoch. The call after that begins the next epoch.
    ///
    /// # Errors
    /// - `Corrupt`: a sample is damaged; the message names its position. The next call continues with the next batch. With
    ///   [`OnError::Skip`], only once more samples were left out than its limit says, or if no sample of a batch can be read and
    ///   none at the start of the epoch, which would fill the batch.
    /// - Errors of the stores: the next call tries the same batch again.
    /// - Once, the error that ended the trace.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        if let Some(trace) = &self.trace {
            trace.check()?;
        }
        let began = machine::now();
        if let Some(before) = self.run.as_mut().and_then(|run| run.last_call.take()) {
            add(&self.delivered.loader_waited, nanoseconds(began - before));
            self.record("work on a batch", before, began);
        }
        let next = self.next_batch().await;
        let ended = machine::now();
        add(&self.delivered.consumer_waited, nanoseconds(ended - began));
        self.record("wait for a batch", began, ended);
        if let Some(run) = &mut self.run {
            run.last_call = Some(machine::now());
        }
        let next = next?;
        match &next {
            Some(batch) => {
                add(&self.delivered.batches, 1);
                add(&self.delivered.samples, batch.positions.len() as u64);
            }
            None => self.set_epoch(self.epoch.wrapping_add(1)),
        }
        Ok(next)
    }

    fn record(&self, name: &str, began: Instant, ended: Instant) {
        if let Some(trace) = &self.trace {
            trace.record(name, began, ended, &[]);
        }
    }

    async fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            self.read_ahead().await;
            let (step, len) = (self.shards.step(), self.samples());
            self.fill_next().await?;
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
                    run.prepared = run.prepared.saturating_sub(1);
                    for ReadBatch { batch, bytes, .. } in read.batches.iter().flatten() {
                        let bytes = bytes.div_ceil(batch.positions.len().max(1) as u64);
                        self.delivered.sample_bytes.fetch_max(bytes, Ordering::Relaxed);
                    }
                    if let Err(error) = run.make_ready(read) {
                        self.run = None;
                        return Err(error);
                    }
                }
                // It may have failed long ago: this epoch reads again.
                Err(_) if run.prepared > 0 => self.run = None,
                // Not an error of a sample: the next call begins again behind the last batch that was handed out.
                Err(error) => {
                    self.run = None;
                    return Err(error);
                }
            }
        }
    }

    /// If no sample of the next batch can be read, fills the batch with padding: every rank must do the same number of steps.
    async fn fill_next(&mut self) -> Result<()> {
        let next = self.run.as_ref().and_then(|run| run.ready.front()?.as_ref().ok());
        let Some(left_out) = next.filter(|read| read.batch.positions.is_empty()).map(|read| read.left_out) else { return Ok(()) };
        let ranks = self.shards.world_size;
        let filling = Filling { mix: self.mix.clone(), epoch: self.epoch, samples: self.samples(), ranks };
        let filled = filling.batch(left_out, &self.sources, self.on_error).await?;
        if let (Some(filled), Some(Ok(next))) = (filled, self.run.as_mut().and_then(|run| run.ready.front_mut())) {
            (next.batch, next.bytes) = (filled.batch, filled.bytes);
        }
        Ok(())
    }

    /// Counts the samples that a batch leaves out, and fails if they are too many.
    fn judged(&mut self, read: Result<ReadBatch>) -> Result<Batch> {
        let ReadBatch { batch, bytes, left_out, first_error } = read?;
        add(&self.delivered.bytes, bytes);
        let (OnError::Skip { limit }, Some(run)) = (self.on_error, &mut self.run) else { return Ok(batch) };
        run.skipped += left_out;
        add(&self.delivered.skipped, left_out);
        match first_error {
            Some(error) if run.skipped > limit => {
                Err(error.at(format!("{} could not be read, at most {limit} may be left out", counted(run.skipped, "sample"))))
            }
            // All ranks do the same number of steps, so a batch cannot be left out.
            Some(error) if batch.positions.is_empty() => {
                Err(error.at("no sample of the batch can be read, and none at the start of the epoch, to fill it"))
            }
            _ => Ok(batch),
        }
    }

    /// Starts as many reads as may be read ahead.
    async fn read_ahead(&mut self) {
        if self.run.is_none() {
            let prepared = self.prepared.take(&self.key()).filter(|_| self.offset == 0);
            self.run = Some(match prepared {
                Some(mut run) => {
                    self.prepared.note_use();
                    run.prepared = run.reads.len();
                    run
                }
                None => Run::new(&self.sources, self.mix.as_ref(), self.epoch, self.offset),
            });
        }
        loop {
            let (planner, Some(run)) = (self.planner(), &mut self.run) else { return };
            let is_idle = run.reads.is_empty() && run.ready.is_empty();
            let bytes = planner.plan_bytes(&run.drawing, run.planned);
            if !is_idle && !planner.may_read(bytes, run.ahead(planner.batch_bytes)) {
                return;
            }
            let plan = planner.plan(&mut run.drawing, run.planned);
            if plan.batches.is_empty() {
                return self.prepare().await;
            }
            let planned = plan.next;
            let (estimate, read) = self.start(plan, &planner).await;
            // Behind the await: a caller that stops waiting has planned nothing.
            let Some(run) = &mut self.run else { return };
            run.add(planned, estimate, read);
        }
    }

    /// Starts to read the first batches of the next epoch, where all of this one is planned and half of the bound is free. Each call goes on
    /// behind the one before. Until an epoch has begun with such batches, they are at most a tenth of one: a loader that runs no other
    /// epoch has read little for nothing.
    async fn prepare(&mut self) {
        let (planner, Some(run)) = (self.planner(), &mut self.run) else { return };
        let half = self.prefetch / 2;
        let this = run.ahead(planner.batch_bytes);
        let is_due = run.next != NextEpoch::Done && planner.batch_bytes > 0 && planner.batch_bytes <= half && this.bytes <= half;
        if !is_due {
            return;
        }
        let before = std::mem::replace(&mut run.next, NextEpoch::Done);
        let mut next = self.clone();
        next.set_epoch(self.epoch.wrapping_add(1));
        let mut ahead = match self.prepared.take(&next.key()) {
            Some(ahead) => ahead,
            None if before == NextEpoch::Begun => return,
            None => Run::new(&next.sources, next.mix.as_ref(), next.epoch, 0),
        };
        let bound = Planner { prefetch: half, ..planner };
        let is_done = loop {
            let bytes = planner.plan_bytes(&ahead.drawing, ahead.planned);
            if !ahead.reads.is_empty() && !bound.may_read(bytes, this + ahead.ahead(planner.batch_bytes)) {
                break false;
            }
            let plan = planner.plan(&mut ahead.drawing, ahead.planned);
            let planned = plan.next;
            let is_too_much = !self.prepared.was_used() && planned.draw.div_ceil(self.shards.step()) > next.len() / 10;
            if plan.batches.is_empty() || is_too_much {
                break true;
            }
            let (estimate, read) = next.start(plan, &planner).await;
            ahead.add(planned, estimate, read);
        };
        if !ahead.reads.is_empty() {
            self.prepared.put(next.key(), ahead);
        }
        if let (false, Some(run)) = (is_done, &mut self.run) {
            run.next = NextEpoch::Begun;
        }
    }

    /// Starts to read batches of this epoch. Returns also their bytes, as estimated.
    async fn start(&self, plan: BatchPlan<Planned>, planner: &Planner) -> (u64, Ahead<PlanRead>) {
        let BatchPlan { batches, goes_on, .. } = plan;
        let samples = batches.iter().map(|batch| batch.draws.len() as u64).sum::<u64>();
        let estimate = planner.batch_bytes.saturating_mul(samples) / self.shards.batch_size;
        let (sources, on_error, trace) = (self.sources.clone(), self.on_error, self.trace.clone());
        let read = Ahead::start(async move {
            let began = machine::now();
            let batches = batch::read(&sources, batches, on_error).await?;
            if let Some(trace) = trace {
                let bytes = batches.iter().flatten().map(|batch| batch.bytes).sum();
                trace.record("read", began, machine::now(), &[("samples", samples), ("bytes", bytes)]);
            }
            Ok(PlanRead { batches, goes_on })
        });
        (estimate, read.await)
    }

    fn planner(&self) -> Planner {
        let sample_bytes = self.delivered.sample_bytes.load(Ordering::Relaxed);
        let batch_bytes = sample_bytes.saturating_mul(self.shards.batch_size);
        Planner { shards: self.shards, samples: self.samples(), batch_bytes, prefetch: self.prefetch }
    }

    fn key(&self) -> Key {
        Key::new(self.epoch, self.seeds(), self.mix.clone())
    }

    fn seeds(&self) -> Vec<u64> {
        self.sources.0.iter().map(|source| source.order.seed()).collect()
    }

    /// Forgets the reads under way and starts them again: a forked child does not have the threads that read for its parent.
    pub fn restart_reads(&mut self) {
        // Dropping the reads would wake threads that do not exist here. The trace is the parent's.
        std::mem::forget(self.run.take());
        std::mem::forget(self.trace.take());
        self.prepared.leave();
    }

    /// Returns the number of batches that this rank gets until the end of the epoch.
    pub fn remaining(&self) -> u64 {
        self.shards.steps(self.samples(), self.offset)
    }

    /// Returns the number of batches of a whole epoch.
    pub fn len(&self) -> u64 {
        self.shards.steps(self.samples(), 0)
    }

    /// Whether an epoch has no batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of samples of an epoch, over all ranks.
    pub fn samples(&self) -> u64 {
        match (&self.mix, &*self.sources.0) {
            (Some(mix), _) => mix.len(),
            (None, sources) => sources.first().map_or(0, |source| source.order.len()),
        }
    }

    /// Returns the number of the epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Goes to the start of an epoch. Batches that were read ahead are dropped.
    pub fn set_epoch(&mut self, epoch: u64) {
        (self.epoch, self.offset, self.run) = (epoch, 0, None);
        self.mix = self.mix.take().map(Mix::fresh);
    }

    /// Returns the state behind the last batch that was handed out. All ranks save it at the same step.
    pub fn state(&self) -> LoaderState {
        LoaderState::new(&self.seeds(), self.epoch, self.offset, self.made_of(), self.mix.as_ref().map(Mix::change))
    }

    fn made_of(&self) -> MadeOf {
        MadeOf::all(self.sources.0.iter().map(|source| &source.made_of))
    }

    /// Continues where a state was saved, with the seed of the state: the next batches have exactly the samples behind it, in the
    /// same order, whatever the batch size and the number of ranks were.
    ///
    /// # Errors
    /// - `Invalid`: the state was saved by a loader with other tables, content of them, rows, columns, windows or order, or some rank
    ///   would get no sample in the last step.
    /// - `Unsupported`: an earlier or a later build saved the state, in another format.
    pub fn load_state(&mut self, state: &LoaderState) -> Result<()> {
        let (seeds, change) = state.check(&self.made_of(), self.sources.0.len())?;
        let mix = match (&self.mix, change) {
            (Some(mix), Some(change)) => Some(mix.resumed(change, state.offset)?),
            (None, None) => None,
            (Some(_), None) => return Err(Error::invalid("loader state: of a single loader, expected one of a mix")),
            (None, Some(_)) => return Err(Error::invalid("loader state: of a mix, expected one of a single loader")),
        };
        let seeded = |(source, seed): (&Source, &u64)| source.clone().with_seed(*seed);
        let sources = Sources(self.sources.0.iter().zip(&seeds).map(seeded).collect());
        let loader = Self {
            trace: self.trace.clone(),
            epoch: state.epoch,
            offset: state.offset,
            delivered: Arc::clone(&self.delivered),
            prepared: self.prepared.clone(),
            ..Self::of(sources, mix, self.shards, self.prefetch, self.on_error)
        };
        if state.offset > loader.samples() {
            return Err(Error::invalid(format!(
                "loader state: offset {} in an epoch of {} samples",
                state.offset,
                loader.samples()
            )));
        }
        loader.shards.check_last(loader.samples(), state.offset)?;
        *self = loader;
        // A state that was saved behind the last step begins the next epoch.
        if self.remaining() == 0 {
            self.set_epoch(state.epoch.wrapping_add(1));
        }
        Ok(())
    }

    /// Returns what was delivered, and where time went, for this loader and its clones together.
    pub fn stats(&self) -> LoaderStats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let delivered = &*self.delivered;
        let stats = LoaderStats {
            batches: of(&delivered.batches),
            samples: of(&delivered.samples),
            bytes: of(&delivered.bytes),
            skipped: of(&delivered.skipped),
            consumer_waited: Duration::from_nanos(of(&delivered.consumer_waited)),
            loader_waited: Duration::from_nanos(of(&delivered.loader_waited)),
            ..LoaderStats::default()
        };
        self.sources.0.iter().map(|source| source.rows.counts()).fold(stats, |stats, counts| LoaderStats {
            requests: stats.requests + counts.requests,
            requested_bytes: stats.requested_bytes + counts.bytes,
            blocks: stats.blocks + counts.blocks,
            cached_blocks: stats.cached_blocks + counts.cached_blocks,
            ..stats
        })
    }

    /// Returns the requests that the read plans of this loader and its clones named.
    pub fn planned_reads(&self) -> PlannedReads {
        self.sources.0.iter().map(|source| source.rows.counts()).fold(PlannedReads::default(), |planned, counts| PlannedReads {
            requests: planned.requests + counts.planned_requests,
            bytes: planned.bytes + counts.planned_bytes,
        })
    }

    /// Measures how well the order of this epoch mixes neighbours and sequences; of a mix, the order of the first loader.
    ///
    /// # Errors
    /// - Errors of the stores.
    pub async fn quality(&self) -> Result<ShuffleQuality> {
        match self.sources.0.first() {
            Some(source) => source.quality(self.shards.step(), self.epoch).await,
            None => Err(Error::internal("a loader without sources")),
        }
    }
}
