//! The rows of a log: ticks of the clock, the messages that each gets, and batches of their values.

use std::{
    collections::{BTreeSet, VecDeque},
    ops::Range,
    sync::Arc,
};

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, TimestampNanosecondArray, UInt32Array};
use arrow_schema::{Field, Schema as ArrowSchema};
use tetrys::{ColumnType, Error, Result, Schema, TimeUnit, schema::Primitive};

use crate::{
    cells::{Builder, Cell, stack},
    decoder::Decoder,
    entries::{Entries, Entry},
    found::{Found, Messages},
    layout::{LOG, PART, Stream, TIME},
    limits::{AHEAD, MAX_BYTES, MESSAGES},
    log::Log,
    matching::{Pick, Runs, Since, Tick, Ticks, difference, pick, weight},
    recipe::{Bound, Match, Missing, OnEqual, Policy, Recipe},
    report::{LogReport, MatchReport},
    slerp,
    tf::{TfReport, Transforms},
    video::{self, Frames},
};

/// Maximum bytes of a batch, before the row that exceeds them.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum rows of a batch.
const BATCH_ROWS: usize = 1024;
/// Maximum decoded messages of a match that are kept for the next rows, and their bytes if there are more than two.
const KEPT: usize = 4;
const KEPT_BYTES: usize = 16 << 20;

/// Returns the rows of an open log, batch by batch, without a table. They end after the first error.
///
/// ```
/// use tetrys_logs::{Input, Log, Recipe, mcap::McapFile, rows};
/// # fn example(recording: Vec<u8>) -> tetrys::Result<()> {
/// let recipe = Recipe::parse("[clock]\ntopic = \"/camera\"\ntime = \"log\"")?;
/// let log = Log::of_files("monday", vec![McapFile::open(Input::of_bytes("monday.mcap", recording), false)?])?;
/// for batch in rows(log, &recipe)? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// - `NotFound`: a topic is missing, or a pattern of `fields` matches nothing.
/// - `Invalid`: a stamp is missing, a message is late, or columns cannot be interpolated.
/// - `Corrupt`, `Unsupported`: a message does not fit its definition; a chunk is damaged.
/// - Errors of the file system or the store.
pub fn rows(log: Log, recipe: &Recipe) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    Rows::of(Found::of(log, recipe, MESSAGES)?, recipe, (None, None), None)
}

/// The rows of a log, batch by batch. Ends after the first error.
pub(crate) struct Rows {
    log: Log,
    builders: Vec<StreamBuilder>,
    transforms: Transforms,
    ticks: Ticks,
    /// The place of the next tick.
    at: usize,
    gap: Option<Bound>,
    on_equal: OnEqual,
    /// Whether the ticks are those of a rate.
    by_rate: bool,
    /// First time of rows. Earlier ticks say only what came before the first row.
    from: Option<i64>,
    /// Time of the tick before, and of the last one with a message; also of those whose row is left out.
    before: Option<i64>,
    matched_at: Option<i64>,
    part: u32,
    /// The run of the messages of the tick before.
    run: usize,
    /// Whether the next row begins a new part.
    begins_part: bool,
    /// Ticks behind this one whose blocks were fetched.
    ahead: usize,
    report: LogReport,
    ended: bool,
    /// The columns `part` and `time` of the batch.
    parts: Vec<u32>,
    times: Vec<i64>,
    bytes: usize,
}

/// Collects the values that a stream has in the rows of a batch.
struct StreamBuilder {
    stream: Stream,
    decoder: Decoder,
    /// Whether the messages are frames of encoded video.
    is_video: bool,
    messages: Runs,
    /// Messages that rows have, and the end of those of the last row that has some. Rows get later and later messages.
    used: u64,
    used_until: usize,
    kept: VecDeque<(usize, Arc<Decoded>)>,
    dt: Builder,
    gap: Builder,
    columns: Vec<Builder>,
    report: MatchReport,
}

/// The values of a message.
struct Decoded {
    cells: Vec<Cell>,
    /// Bytes that it keeps in memory.
    bytes: usize,
}

impl Rows {
    /// Returns the rows of a log whose messages are found. `span` bounds the times of rows, inclusive. `table` is the schema of the rows,
    /// if it is known.
    pub(crate) fn of(found: Found, recipe: &Recipe, span: (Option<i64>, Option<i64>), table: Option<&Schema>) -> Result<Self> {
        let found = found.with_columns(recipe, table)?;
        let ticks = found.ticks(recipe, span.1)?;
        let Found { log, streams, messages: Messages { runs, reports, transforms }, .. } = found;
        let report = LogReport { log: log.name().to_owned(), ..LogReport::default() };
        let duration = ColumnType::Duration(TimeUnit::Nanosecond);
        let mut builders = Vec::new();
        for ((stream, messages), report) in streams.into_iter().zip(runs).zip(reports) {
            let types: Vec<ColumnType> = stream.outputs().into_iter().map(|(_, ty, ..)| ty).collect();
            let values = &types[types.len() - stream.columns.len()..];
            let topic = log.topic(&stream.topic)?;
            builders.push(StreamBuilder {
                decoder: topic.decoder.clone(),
                is_video: video::is_video(&topic.schema),
                messages,
                used: 0,
                used_until: 0,
                kept: VecDeque::new(),
                dt: Builder::new(if stream.has_dt() { &types[0] } else { &duration }),
                gap: Builder::new(&duration),
                columns: values.iter().map(Builder::new).collect(),
                stream,
                report,
            });
        }
        Ok(Self {
            log,
            builders,
            transforms,
            ticks,
            at: 0,
            gap: recipe.clock.gap,
            on_equal: recipe.clock.on_equal,
            by_rate: recipe.clock.rate.is_some(),
            from: span.0,
            before: None,
            matched_at: None,
            part: 0,
            run: 0,
            begins_part: false,
            ahead: 0,
            report,
            ended: false,
            parts: Vec::new(),
            times: Vec::new(),
            bytes: 0,
        })
    }

    /// Whether an index leads to the messages. If it leads to damage, reading the whole log tells what is left.
    pub(crate) fn is_indexed(&self) -> bool {
        self.log.is_indexed()
    }

    /// Returns the streams with their columns.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        self.builders.iter().map(|builder| builder.stream.clone()).collect()
    }

    /// Returns what became of the transforms so far.
    pub(crate) fn transforms(&self) -> impl Iterator<Item = &TfReport> {
        self.transforms.reports()
    }

    /// Returns each match with its counts so far and its messages.
    pub(crate) fn matches(&self) -> impl Iterator<Item = (&Match, MatchReport, &Entries)> {
        let all = self.builders.iter().filter_map(|builder| builder.stream.matched.as_ref().map(|matched| (matched, builder)));
        all.map(|(matched, builder)| (matched, builder.reported(), &builder.messages.entries))
    }

    /// Returns the messages that ticks depend on: those of the clock, or of all matches if there is a rate.
    pub(crate) fn of_ticks(&self) -> impl Iterator<Item = &Entries> {
        let wanted = if self.by_rate { self.builders.len() } else { 1 };
        self.builders.iter().take(wanted).map(|builder| &builder.messages.entries)
    }

    /// Returns why the messages of a topic stay bytes, if they do.
    pub(crate) fn problem_of(&self, topic: &str) -> Option<&str> {
        self.log.topics.get(topic)?.decoder.reason()
    }

    /// Returns the number of rows that may follow.
    ///
    /// # Errors
    /// - Errors of temporary files.
    pub(crate) fn ticks_left(&self) -> Result<u64> {
        let (mut at, mut count) = (self.at, 0);
        while let Some(tick) = self.ticks.next(self.clock(), &mut at)? {
            count += u64::from(self.is_inside(tick.time));
        }
        Ok(count)
    }

    /// Returns the messages of the clock, if a topic is the clock.
    fn clock(&self) -> Option<&Runs> {
        self.builders.first().filter(|builder| builder.stream.matched.is_none()).map(|builder| &builder.messages)
    }

    /// Whether the import has rows of this time. Later ticks are left out before.
    fn is_inside(&self, time: i64) -> bool {
        self.from.is_none_or(|from| time >= from)
    }

    /// Returns what became of the log so far.
    pub(crate) fn report(&self) -> LogReport {
        let mut report = self.report.clone();
        report.matches = self.builders.iter().map(StreamBuilder::reported).collect();
        report.parts = if report.rows == 0 { 0 } else { self.part + 1 };
        report.transforms = self.transforms().cloned().collect();
        report.warnings = self.log.warnings();
        let videos = self.builders.iter().zip(&report.matches).filter(|(builder, _)| builder.is_video);
        let of_video = |(builder, found): (&StreamBuilder, &MatchReport)| {
            let frames = Frames { all: found.messages, skipped: found.skipped, left_out: found.late + found.without_stamp };
            let warning = video::warning(&builder.stream, &frames, self.on_equal, report.dropped)?;
            Some(format!("log {}: {warning}", report.log))
        };
        let warnings: Vec<String> = videos.filter_map(of_video).collect();
        report.warnings.extend(warnings);
        report
    }

    fn fill(&mut self) -> Result<()> {
        while self.times.len() < BATCH_ROWS && self.bytes < BATCH_BYTES {
            self.read_ahead()?;
            let mut at = self.at;
            let Some(tick) = self.ticks.next(self.clock(), &mut at)? else { return Ok(()) };
            self.at = at;
            self.append(tick)?;
        }
        Ok(())
    }

    /// Fetches the blocks of the next rows together, if files are in a store.
    fn read_ahead(&mut self) -> Result<()> {
        if self.ahead > 0 || !self.log.is_remote() {
            self.ahead = self.ahead.saturating_sub(1);
            return Ok(());
        }
        let mut blocks: BTreeSet<(u32, u32)> = BTreeSet::new();
        let (mut bytes, mut before, mut run, mut at) = (0, self.before, self.run, self.at);
        while self.ahead < BATCH_ROWS
            && let Some(tick) = self.ticks.next(self.clock(), &mut at)?
        {
            if run != tick.run {
                // Nothing before a jump belongs to what comes behind it.
                (run, before) = (tick.run, None);
            }
            let mut more = self.blocks_of(&tick, before)?;
            more.retain(|block| !blocks.contains(block));
            let added: u64 = more.iter().map(|block| self.log.left_to_read(*block)).sum();
            if self.ahead > 0 && bytes + added > AHEAD {
                break;
            }
            (bytes, before) = (bytes + added, Some(tick.time));
            blocks.append(&mut more);
            self.ahead += 1;
        }
        self.log.fetch(&blocks);
        // The row that follows is one of them.
        self.ahead = self.ahead.saturating_sub(1);
        Ok(())
    }

    /// Returns the blocks of the messages of a row, as far as these depend on times alone. `before` is the time of the tick before.
    fn blocks_of(&self, tick: &Tick, before: Option<i64>) -> Result<BTreeSet<(u32, u32)>> {
        let mut blocks = BTreeSet::new();
        if !self.is_inside(tick.time) {
            return Ok(blocks);
        }
        let since = Since { before, is_first: before.is_none() };
        for builder in self.builders.iter().filter(|builder| !builder.stream.is_apart()) {
            for number in builder.pick(tick, since)?.numbers() {
                let entry = builder.messages.entries.get(number)?;
                blocks.insert((entry.file, entry.block));
            }
        }
        Ok(blocks)
    }

    fn append(&mut self, tick: Tick) -> Result<()> {
        let time = tick.time;
        let is_inside = self.is_inside(time);
        if self.run != tick.run {
            // Nothing before a jump belongs to what comes behind it.
            (self.run, self.before, self.matched_at) = (tick.run, None, None);
            self.begins_part = true;
        }
        let is_gap = |before: Option<i64>| before.zip(self.gap).is_some_and(|(before, gap)| !gap.allows(time - before));
        let place = |error: Error, log: &Log, builder: &StreamBuilder| {
            error.at(format!("log {}: row at {time}: topic {}", log.name(), builder.stream.topic))
        };
        let is_behind_gap = !self.by_rate && is_gap(self.before);
        let since = Since { before: self.before, is_first: self.before.is_none() || is_behind_gap };
        let mut picks: Vec<Pick> = Vec::new();
        let mut any = false;
        for builder in &mut self.builders {
            let mut pick = builder.pick(&tick, since).map_err(|error| place(error, &self.log, builder))?;
            if builder.stream.policy() == Some(Policy::Slerp)
                && !builder.has_rotation(&self.log, &pick).map_err(|error| place(error, &self.log, builder))?
            {
                pick = Pick::None;
            }
            any |= !matches!(&pick, Pick::None) && !matches!(&pick, Pick::All(range) if range.is_empty());
            picks.push(pick);
        }
        self.begins_part |= is_behind_gap || (self.by_rate && any && is_gap(self.matched_at));
        self.before = Some(time);
        if any {
            self.matched_at = Some(time);
        }
        for (builder, pick) in self.builders.iter_mut().zip(&picks) {
            let missing = builder.stream.matched.as_ref().map_or(Missing::Null, |matched| matched.missing);
            match missing {
                _ if *pick != Pick::None => {}
                Missing::Drop => {
                    self.report.dropped += u64::from(is_inside);
                    builder.report.missing += u64::from(is_inside);
                    return Ok(());
                }
                Missing::Error if is_inside => {
                    let name = &builder.stream.name;
                    return Err(place(
                        Error::invalid(format!("no message for `{name}`, and missing = \"error\"")),
                        &self.log,
                        builder,
                    ));
                }
                Missing::Null | Missing::Error => {}
            }
        }
        if !is_inside {
            return Ok(());
        }
        if std::mem::take(&mut self.begins_part) && self.report.rows > 0 {
            self.part += 1;
        }
        let mut left = MAX_BYTES;
        for (builder, pick) in self.builders.iter_mut().zip(&picks) {
            self.bytes += builder.append(&self.log, pick, time, &mut left).map_err(|error| place(error, &self.log, builder))?;
        }
        let builders = &self.builders;
        let time_of = |name: &str| {
            let at = builders.iter().position(|builder| builder.stream.matched.is_some() && builder.stream.name == name)?;
            match picks.get(at)? {
                // The row has it already, so it can be read.
                Pick::One(number) => builders[at].messages.entries.get(*number).ok().map(|entry| entry.time),
                // A value between two messages is of the time of the row.
                Pick::Between(..) => Some(time),
                Pick::None | Pick::All(_) => None,
            }
        };
        self.bytes += self.transforms.append(tick.run, time, &time_of)?;
        self.parts.push(self.part);
        self.times.push(time);
        self.bytes += 16;
        self.report.rows += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let rows = self.times.len();
        let mut columns: Vec<(String, ArrayRef)> = vec![
            (LOG.to_owned(), Arc::new(LargeStringArray::from_iter_values((0..rows).map(|_| self.log.name())))),
            (PART.to_owned(), Arc::new(UInt32Array::from(std::mem::take(&mut self.parts)))),
            (TIME.to_owned(), Arc::new(TimestampNanosecondArray::from(std::mem::take(&mut self.times)))),
        ];
        for builder in &mut self.builders {
            let mut names = builder.stream.outputs().into_iter().map(|(name, ..)| name);
            if builder.stream.has_dt() {
                columns.push((names.next().unwrap_or_default(), builder.dt.finish()?));
                if builder.stream.is_between() {
                    columns.push((names.next().unwrap_or_default(), builder.gap.finish()?));
                }
            }
            for (name, column) in names.zip(&mut builder.columns) {
                columns.push((name, column.finish()?));
            }
        }
        columns.extend(self.transforms.finish()?);
        self.bytes = 0;
        let fields = columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect::<Vec<_>>();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
            .map_err(|error| Error::internal(format!("arrow: {error}")).with_source(error))
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.fill().and_then(|()| (!self.times.is_empty()).then(|| self.finish()).transpose());
        self.ended = !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl StreamBuilder {
    /// Returns the messages of a row.
    fn pick(&self, tick: &Tick, since: Since) -> Result<Pick> {
        match (&self.stream.matched, tick.message) {
            (None, message) => Ok(message.map_or(Pick::None, Pick::One)),
            (Some(matched), _) => pick(matched, self.messages.run(tick.run), tick.time, since),
        }
    }

    fn reported(&self) -> MatchReport {
        let skipped = self.messages.entries.len() as u64 - self.used;
        MatchReport { skipped, ..self.report.clone() }
    }

    /// Counts the messages of a row. Both ends of what rows get only move on, so those before the end of the last row were in it.
    fn count(&mut self, numbers: &Range<usize>) {
        if numbers.is_empty() {
            return;
        }
        let reused = self.used_until.clamp(numbers.start, numbers.end) - numbers.start;
        self.report.reused += reused as u64;
        self.used += (numbers.len() - reused) as u64;
        self.used_until = self.used_until.max(numbers.end);
    }

    /// Appends the values of a row, whose messages may have `left` more bytes. Returns the bytes of the values.
    fn append(&mut self, log: &Log, pick: &Pick, time: i64, left: &mut usize) -> Result<usize> {
        let numbers = pick.numbers();
        match numbers.is_empty() {
            true => self.report.missing += 1,
            false => self.report.matched += 1,
        }
        self.count(&numbers);
        let is_all = self.stream.policy() == Some(Policy::All);
        let (dt, gap) = difference(pick, &self.messages.entries, time)?;
        let distance = |number: usize| self.messages.entries.get(number).map(|entry| entry.time - time);
        let all: Vec<i64> = if is_all { numbers.map(distance).collect::<Result<_>>()? } else { Vec::new() };
        let largest = match is_all {
            true => all.iter().map(|dt| dt.unsigned_abs()).max(),
            false => dt.map(i64::unsigned_abs),
        };
        if self.stream.matched.is_some() {
            self.report.largest_dt = self.report.largest_dt.max(largest);
        }
        if self.stream.has_dt() {
            let cell = |ns: Option<i64>| ns.map_or(Cell::Null, |ns| Cell::Fixed(ns.to_le_bytes()));
            let of_all = || all.iter().map(|dt| cell(Some(*dt))).collect();
            self.dt.append(&if is_all { Cell::List(of_all()) } else { cell(dt) })?;
            if self.stream.is_between() {
                self.gap.append(&cell(gap))?;
            }
        }
        let mut take = |decoded: &Decoded| {
            let enough = left.checked_sub(decoded.bytes);
            let too_many = || {
                let why = format!("the messages of one row have over {MAX_BYTES} bytes: take fewer of them, or more rows");
                Error::unsupported(why)
            };
            enough.map(|enough| *left = enough).ok_or_else(too_many)
        };
        let is_slerp = self.stream.policy() == Some(Policy::Slerp);
        let one;
        let made;
        let cells: &[Cell] = match pick {
            Pick::None => {
                made = vec![Cell::Null; self.columns.len()];
                &made
            }
            // The messages are in a table of their own.
            Pick::One(_) if self.stream.is_apart() => &[],
            Pick::One(number) if is_slerp => {
                let decoded = self.decoded(log, *number)?;
                take(&decoded)?;
                let whole = self.stream.columns.iter().zip(&decoded.cells).map(|(column, a)| slerp::between(&column.ty, a, None));
                made = whole.collect::<Result<_>>()?;
                &made
            }
            Pick::One(number) => {
                one = self.decoded(log, *number)?;
                take(&one)?;
                &one.cells
            }
            Pick::Between(a, b) => {
                let weight = weight(&self.messages.entries, *a, *b, time)?;
                let (a, b) = (self.decoded(log, *a)?, self.decoded(log, *b)?);
                take(&a).and_then(|()| take(&b))?;
                let between = self.stream.columns.iter().zip(a.cells.iter().zip(&b.cells));
                let between = between.map(|(column, (a, b))| {
                    let found = match is_slerp {
                        true => slerp::between(&column.ty, a, Some((b, weight))),
                        false => interpolated(&column.ty, a, b, weight),
                    };
                    found.map_err(|error| error.at(format!("column `{}`", column.name)))
                });
                made = between.collect::<Result<_>>()?;
                &made
            }
            Pick::All(range) => {
                let mut lists: Vec<Vec<Cell>> = vec![Vec::with_capacity(range.len()); self.stream.columns.len()];
                for number in range.clone() {
                    let decoded = self.decoded(log, number)?;
                    take(&decoded)?;
                    lists.iter_mut().zip(&decoded.cells).for_each(|(list, cell)| list.push(cell.clone()));
                }
                made = lists.into_iter().zip(&self.stream.columns).map(|(list, column)| stack(&column.ty, list)).collect();
                &made
            }
        };
        let mut bytes = 0;
        for ((builder, cell), column) in self.columns.iter_mut().zip(cells).zip(&self.stream.columns) {
            bytes += builder.append(cell).map_err(|error| error.at(format!("column `{}`", column.name)))?;
        }
        Ok(bytes)
    }

    /// Whether the messages of a row have a rotation. A row that only has quaternions that are zero or not finite has got no message.
    fn has_rotation(&mut self, log: &Log, pick: &Pick) -> Result<bool> {
        let (a, b) = match pick {
            Pick::One(number) => (*number, *number),
            Pick::Between(a, b) => (*a, *b),
            Pick::None | Pick::All(_) => return Ok(true),
        };
        let (a, b) = (self.decoded(log, a)?, self.decoded(log, b)?);
        let mut cells = self.stream.columns.iter().zip(a.cells.iter().zip(&b.cells));
        Ok(self.stream.columns.is_empty()
            || cells.any(|(column, (a, b))| slerp::rotation(&column.ty, a).is_some() && slerp::rotation(&column.ty, b).is_some()))
    }

    fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(_, decoded)| decoded.bytes).sum()
    }

    fn decoded(&mut self, log: &Log, number: usize) -> Result<Arc<Decoded>> {
        if let Some((_, decoded)) = self.kept.iter().find(|(kept, _)| *kept == number) {
            return Ok(Arc::clone(decoded));
        }
        let entry: Entry = self.messages.entries.get(number)?;
        let decode = || {
            let message = self.decoder.unpacked(&log.message(&entry)?)?;
            let value = self.decoder.decode_unpacked(&message)?;
            let cells = self.stream.columns.iter().map(|column| column.cell(&value)).collect::<Result<Vec<Cell>>>()?;
            // Values may be parts of the message.
            let bytes = message.len().max(cells.iter().map(Cell::memory).sum());
            Ok::<_, Error>(Decoded { cells, bytes })
        };
        let decoded = Arc::new(decode().map_err(|error| error.at(format!("message logged at {}", entry.log_time)))?);
        self.kept.push_back((number, Arc::clone(&decoded)));
        while self.kept.len() > KEPT || (self.kept.len() > 2 && self.kept_bytes() > KEPT_BYTES) {
            self.kept.pop_front();
        }
        Ok(decoded)
    }
}

/// Returns `a + (b - a) * weight`, number by number.
fn interpolated(ty: &ColumnType, a: &Cell, b: &Cell, weight: f64) -> Result<Cell> {
    let is_wide = match ty {
        ColumnType::Scalar(element) | ColumnType::Tensor { element, .. } => *element == Primitive::F64,
        _ => return Err(Error::internal("numbers of another type")),
    };
    let line = |a: f64, b: f64| a + (b - a) * weight;
    let number = |a: &[u8], b: &[u8], out: &mut Vec<u8>| match is_wide {
        true => {
            let of = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
            out.extend_from_slice(&line(of(a), of(b)).to_le_bytes());
        }
        false => {
            let of = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().unwrap_or_default()));
            #[expect(clippy::cast_possible_truncation, reason = "the number has the type of its column")]
            out.extend_from_slice(&(line(of(a), of(b)) as f32).to_le_bytes());
        }
    };
    let width = if is_wide { 8 } else { 4 };
    match (a, b) {
        (Cell::Fixed(a), Cell::Fixed(b)) => {
            let mut out = Vec::with_capacity(8);
            number(&a[..width], &b[..width], &mut out);
            out.resize(8, 0);
            Ok(Cell::Fixed(out.try_into().unwrap_or_default()))
        }
        _ => {
            let (Some((shape, a, one)), Some((others, b, other))) = (a.numbers(), b.numbers()) else { return Ok(Cell::Null) };
            if shape != others {
                return Err(Error::invalid(format!("linear between arrays of shapes {shape:?} and {others:?}")));
            }
            let mut out = Vec::with_capacity(a.len());
            a.chunks_exact(width).zip(b.chunks_exact(width)).for_each(|(a, b)| number(a, b, &mut out));
            let has = |valid: Option<&[bool]>, at: usize| valid.is_none_or(|valid| valid.get(at) == Some(&true));
            let valid = (0..a.len() / width).map(|at| has(one, at) && has(other, at)).collect();
            Ok(Cell::masked(shape.to_vec(), out, valid))
        }
    }
}
