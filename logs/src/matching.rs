//! Which messages belong to which row. Functions of times: the same input gives the same rows on any number of threads.

use std::{cmp::Ordering, ops::Range};

use tetrys::{Error, Result};

use crate::{
    entries::{Entries, Entry, Sorter},
    recipe::{Bound, Clock, Edge, Jump, Match, OnEqual, OnLate, Policy, Rate, Topic},
    transforms::Arrival,
};

/// Maximum rows of a log: those of a partition.
const MAX_ROWS: usize = 4 << 20;
/// Lateness and jumps that are allowed if a recipe says nothing.
const ONE_SECOND: Bound = Bound::At(1_000_000_000);

/// The messages of a topic: one sorted run for each part of the log, one behind the other.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) entries: Entries,
    /// Where each run begins, and the end of the last.
    starts: Vec<usize>,
    /// The message of each run that arrived first.
    firsts: Vec<Option<Arrival>>,
}

/// A run of the messages of a topic. The numbers of its messages are those among all messages of the topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) entries: &'a Entries,
    start: usize,
    end: usize,
}

impl Runs {
    fn of(sorter: Sorter, lengths: &[usize], firsts: Vec<Option<Arrival>>) -> Result<Self> {
        let ends = lengths.iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        Ok(Self { entries: sorter.list()?, starts: [0].into_iter().chain(ends).collect(), firsts })
    }

    /// Returns the number of runs.
    pub(crate) fn parts(&self) -> usize {
        self.firsts.len()
    }

    /// Returns a run; one without messages if there is none of this number.
    pub(crate) fn run(&self, part: usize) -> Run<'_> {
        let (start, end) = self.starts.get(part).zip(self.starts.get(part + 1)).map_or((0, 0), |(start, end)| (*start, *end));
        Run { entries: &self.entries, start, end }
    }
}

impl Run<'_> {
    fn point(&self, before: impl Fn(&Entry) -> bool) -> Result<usize> {
        self.entries.partition_point(self.start..self.end, before)
    }

    /// Returns the message before one, if the run has it.
    fn before(&self, number: usize) -> Option<usize> {
        number.checked_sub(1).filter(|before| *before >= self.start)
    }

    /// Returns the time of a message, if the run has it.
    fn time(&self, number: Option<usize>) -> Result<Option<i64>> {
        let number = number.filter(|number| (self.start..self.end).contains(number));
        number.map(|number| self.entries.get(number).map(|entry| entry.time)).transpose()
    }
}

/// Sorts the messages of a topic, which are sorted as they arrived, by their times, and checks how late they are. They have a run for each
/// part, which jumps of the clock of the topic separate if its settings say so. Returns also the number of messages left out. `bound` is
/// that of messages in memory.
///
/// # Errors
/// - `Invalid`: a message is too late, or the clock of the topic jumps back.
/// - Errors of temporary files.
pub(crate) fn runs(received: Sorter, topic: &Topic, bound: usize) -> Result<(Runs, u64)> {
    let drops = topic.on_late == Some(OnLate::Drop);
    let jump = match topic.jump {
        Some(Jump::Error(ns)) => Bound::At(ns),
        Some(Jump::None | Jump::Split) => Bound::None,
        // A recipe that leaves out late messages means those of long ago, too.
        None if drops => Bound::None,
        None => ONE_SECOND,
    };
    let lateness = topic.max_lateness.unwrap_or(ONE_SECOND);
    let mut received = received.sorted()?;
    let mut sorter = Sorter::new(Entry::by_time, bound);
    let (mut lengths, mut firsts) = (vec![0], vec![None]);
    let (mut latest, mut before, mut late_ones) = (i64::MIN, None::<i64>, 0);
    while let Some(entry) = received.next()? {
        let back = before.map_or(0, |before| before.saturating_sub(entry.time));
        if topic.jump == Some(Jump::Split) && !ONE_SECOND.allows(back) {
            lengths.push(0);
            firsts.push(None);
            latest = i64::MIN;
        }
        before = Some(entry.time);
        let late = if latest == i64::MIN { 0 } else { latest.saturating_sub(entry.time) };
        if !jump.allows(back) {
            return Err(Error::invalid(format!(
                "the time steps back by {back} ns to {}: more than jump; check the clock of the sensor, or set jump = \"split\" or \"none\"",
                entry.time
            )));
        }
        if !lateness.allows(late) {
            if !drops {
                return Err(Error::invalid(format!(
                    "the message at {} is {late} ns late: more than max_lateness; set on_late = \"drop\" or another max_lateness",
                    entry.time
                )));
            }
            late_ones += 1;
            continue;
        }
        latest = latest.max(entry.time);
        let part = lengths.len() - 1;
        lengths[part] += 1;
        firsts[part].get_or_insert(entry.arrival());
        sorter.push(Entry { part: number_of(part)?, ..entry })?;
    }
    Ok((Runs::of(sorter, &lengths, firsts)?, late_ones))
}

fn number_of(part: usize) -> Result<u32> {
    u32::try_from(part).map_err(|_| Error::unsupported("over 2^32 parts of a log"))
}

/// Gives all topics as many runs as the first one that jumps, which is the clock if it does. A topic that does not jump is cut where the
/// first messages behind the jumps arrived. Returns also these places in the order of arrival. `bound` is that of messages in memory.
///
/// # Errors
/// - `Invalid`: a topic has another number of jumps.
/// - Errors of temporary files.
pub(crate) fn aligned(topics: Vec<(&str, Runs)>, has_clock: bool, bound: usize) -> Result<(Vec<Runs>, Vec<Arrival>)> {
    let of_clock = has_clock.then_some(0).filter(|clock| topics.get(*clock).is_some());
    let Some(lead) = of_clock.or_else(|| topics.iter().position(|(_, runs)| runs.parts() > 1)) else {
        return Ok((topics.into_iter().map(|(_, runs)| runs).collect(), Vec::new()));
    };
    let (name, runs) = &topics[lead];
    let (name, parts) = ((*name).to_owned(), runs.parts());
    // A run whose messages are all too late has no first one: there is always one that is not.
    let cuts: Vec<Arrival> = runs.firsts.iter().skip(1).copied().flatten().collect();
    let align = |(topic, runs): (&str, Runs)| match runs.parts() {
        len if len == parts => Ok(runs),
        1 => cut(&runs.entries, parts, &cuts, bound),
        len => Err(Error::invalid(format!(
            "the time of topic {topic} jumps back {} times, and that of topic {name} {} times: parts of the log need the same jumps",
            len - 1,
            parts - 1
        ))),
    };
    let runs = topics.into_iter().map(align).collect::<Result<_>>()?;
    Ok((runs, cuts))
}

/// Cuts the messages of a topic into parts where these messages arrived.
fn cut(entries: &Entries, parts: usize, cuts: &[Arrival], bound: usize) -> Result<Runs> {
    let mut sorter = Sorter::new(Entry::by_time, bound);
    let (mut lengths, mut firsts) = (vec![0; parts], vec![None::<Arrival>; parts]);
    for number in 0..entries.len() {
        let entry = entries.get(number)?;
        let part = cuts.partition_point(|cut| *cut <= entry.arrival());
        let Some((len, first)) = lengths.get_mut(part).zip(firsts.get_mut(part)) else { continue };
        *len += 1;
        *first = Some(first.map_or(entry.arrival(), |first| first.min(entry.arrival())));
        sorter.push(Entry { part: number_of(part)?, ..entry })?;
    }
    Runs::of(sorter, &lengths, firsts)
}

/// A row before it has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// The number of the run of its messages.
    pub(crate) run: usize,
    pub(crate) time: i64,
    /// The message of the clock, if a topic is the clock.
    pub(crate) message: Option<usize>,
}

/// The ticks of a log in their order.
#[derive(Debug)]
pub(crate) enum Ticks {
    /// Those of a rate.
    Rate { rate: Rate, spans: Vec<Span> },
    /// Those of the messages of a clock topic, up to a time.
    Topic { on_equal: OnEqual, to: Option<i64> },
}

/// The ticks of a rate in a part of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: i64,
    /// The number of ticks in the parts before.
    before: usize,
    ticks: usize,
}

impl Ticks {
    /// Returns the ticks of a clock topic up to a time.
    ///
    /// # Errors
    /// - `Invalid`: two messages have the same time, and the recipe says that this is an error.
    /// - Errors of temporary files.
    pub(crate) fn of_topic(clock: &Runs, on_equal: OnEqual, to: Option<i64>) -> Result<Self> {
        if on_equal == OnEqual::Error {
            for part in 0..clock.parts() {
                let run = clock.run(part);
                for number in run.start + 1..run.end.max(run.start + 1) {
                    let time = clock.entries.get(number)?.time;
                    if clock.entries.get(number - 1)?.time == time {
                        return Err(Error::invalid(format!("two messages of the clock have the time {time}")));
                    }
                }
            }
        }
        Ok(Self::Topic { on_equal, to })
    }

    /// Returns the ticks of a rate over the messages of the matched topics, up to a time.
    ///
    /// # Errors
    /// - `Invalid`: there would be too many rows.
    /// - Errors of temporary files.
    pub(crate) fn of_rate(rate: Rate, clock: &Clock, topics: &[Runs], to: Option<i64>) -> Result<Self> {
        let (mut spans, mut before, mut all) = (Vec::new(), 0, 0_usize);
        for part in 0..topics.iter().map(Runs::parts).max().unwrap_or(0) {
            let runs: Vec<Run<'_>> = topics.iter().map(|runs| runs.run(part)).collect();
            let mut span = Span { start: 0, before, ticks: 0 };
            if let Some((start, end)) = edges(clock, &runs)? {
                all = all.saturating_add(ticks_between(rate, start, end));
                check_rows(all, start, end)?;
                span = Span { start, before, ticks: ticks_between(rate, start, to.map_or(end, |to| to.min(end))) };
            }
            before += span.ticks;
            spans.push(span);
        }
        Ok(Self::Rate { rate, spans })
    }

    /// Returns the tick at a place, or behind it, and moves the place behind it. Begin with 0. `clock` has the messages of the clock topic.
    ///
    /// # Errors
    /// - Errors of temporary files.
    pub(crate) fn next(&self, clock: Option<&Runs>, at: &mut usize) -> Result<Option<Tick>> {
        let (on_equal, to) = match self {
            Self::Rate { rate, spans } => {
                let number = *at;
                *at += 1;
                let run = spans.partition_point(|span| span.before <= number).checked_sub(1);
                let found = run.and_then(|run| Some((run, spans.get(run)?)));
                let found = found.filter(|(_, span)| number - span.before < span.ticks);
                let time = |span: &Span| span.start.saturating_add(after(*rate, number - span.before));
                return Ok(found.map(|(run, span)| Tick { run, time: time(span), message: None }));
            }
            Self::Topic { on_equal, to } => (*on_equal, *to),
        };
        let Some(clock) = clock else { return Ok(None) };
        while *at < clock.entries.len() {
            let number = *at;
            *at += 1;
            let entry = clock.entries.get(number)?;
            let (part, time) = (entry.part as usize, entry.time);
            let run = clock.run(part);
            let is_kept = match on_equal {
                OnEqual::First => run.time(run.before(number))? != Some(time),
                OnEqual::Last => run.time(Some(number + 1))? != Some(time),
                OnEqual::Keep | OnEqual::Error => true,
            };
            if is_kept && to.is_none_or(|to| time <= to) {
                return Ok(Some(Tick { run: part, time, message: Some(number) }));
            }
        }
        Ok(None)
    }
}

/// Returns the time of the first tick of a rate over a run of the messages of the matched topics, and the end of the ticks.
fn edges(clock: &Clock, topics: &[Run<'_>]) -> Result<Option<(i64, i64)>> {
    let mut firsts = Vec::new();
    let mut lasts = Vec::new();
    for topic in topics {
        firsts.extend(topic.time(Some(topic.start))?);
        lasts.extend(topic.time(topic.before(topic.end))?);
    }
    let is_empty = topics.iter().any(|topic| topic.start == topic.end);
    let start = match clock.start.unwrap_or(Edge::Overlap) {
        Edge::Overlap if is_empty => None,
        Edge::Overlap => firsts.iter().max().copied(),
        Edge::Any => firsts.iter().min().copied(),
        Edge::At(time) => Some(time),
    };
    let end = match clock.end.unwrap_or(Edge::Overlap) {
        Edge::Overlap if is_empty => None,
        Edge::Overlap => lasts.iter().min().copied(),
        Edge::Any => lasts.iter().max().copied(),
        Edge::At(time) => Some(time),
    };
    Ok(start.zip(end))
}

/// Returns the time from the first tick to another one.
fn after(rate: Rate, number: usize) -> i64 {
    let after = number as i128 * 1_000_000_000 * i128::from(rate.seconds) / i128::from(rate.rows);
    i64::try_from(after).unwrap_or(i64::MAX)
}

/// Returns how many ticks of a rate there are from the first one up to a time.
fn ticks_between(rate: Rate, start: i64, end: i64) -> usize {
    if end < start {
        return 0;
    }
    // The last n with n * second / rows <= end - start, where the quotient is rounded down.
    let (length, second) = (i128::from(end) - i128::from(start), 1_000_000_000 * i128::from(rate.seconds));
    let last = ((length + 1).saturating_mul(i128::from(rate.rows)) - 1) / second;
    usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1)
}

fn check_rows(rows: usize, start: i64, end: i64) -> Result<()> {
    match rows > MAX_ROWS {
        true => Err(Error::invalid(format!(
            "over {MAX_ROWS} rows, with those between {start} and {end}; set start and end, or split the log"
        ))),
        false => Ok(()),
    }
}

/// The messages that a row gets of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    None,
    One(usize),
    /// Two messages and the row between them.
    Between(usize, usize),
    /// Any number of messages.
    All(Range<usize>),
}

impl Pick {
    /// Returns the numbers of the messages.
    pub(crate) fn numbers(&self) -> Range<usize> {
        match self {
            Self::None => 0..0,
            Self::One(number) => *number..number + 1,
            Self::Between(a, b) => *a..b + 1,
            Self::All(range) => range.clone(),
        }
    }
}

/// The tick before a row. It bounds the messages that `all` takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    /// The time of the tick before, which has messages of its own, also if its row is left out.
    pub(crate) before: Option<i64>,
    /// Whether the tick is the first of its part.
    pub(crate) is_first: bool,
}

/// Returns the messages of a row at `time`.
///
/// # Errors
/// - Errors of temporary files.
pub(crate) fn pick(of: &Match, run: Run<'_>, time: i64, since: Since) -> Result<Pick> {
    let not_after = run.point(|entry| entry.time <= time)?;
    let tolerance = of.tolerance.unwrap_or(Bound::None);
    let within = |of_message: i64| tolerance.allows(of_message.abs_diff(time).try_into().unwrap_or(i64::MAX));
    let one = |number: Option<usize>| -> Result<Pick> {
        let is_within = run.time(number)?.is_some_and(within);
        Ok(number.filter(|_| is_within).map_or(Pick::None, Pick::One))
    };
    let earlier = run.before(not_after);
    match of.policy {
        Policy::Last if of.strict => one(run.before(run.point(|entry| entry.time < time)?)),
        Policy::Last => one(earlier),
        Policy::Next => one(Some(run.point(|entry| entry.time < time)?)),
        Policy::Nearest => {
            let (before, after) = (run.time(earlier)?, run.time(Some(not_after))?);
            let is_later = match (before, after) {
                (Some(before), Some(after)) => after.abs_diff(time) < before.abs_diff(time),
                (before, _) => before.is_none(),
            };
            match after.filter(|_| is_later) {
                // Of equal times the last.
                Some(after) => one(run.before(run.point(|entry| entry.time <= after)?)),
                None => one(earlier),
            }
        }
        Policy::Linear | Policy::Slerp => Ok(match (earlier.zip(run.time(earlier)?), run.time(Some(not_after))?) {
            (Some((a, at)), _) if at == time => Pick::One(a),
            (Some((a, at)), Some(after)) if of.max_gap.unwrap_or(Bound::None).allows(after - at) => Pick::Between(a, not_after),
            _ => Pick::None,
        }),
        Policy::All => {
            let after = match since.before {
                Some(before) => run.point(|entry| entry.time <= before)?,
                None => run.start,
            };
            let near = match (since.is_first, tolerance) {
                (true, Bound::At(ns)) => run.point(|entry| entry.time < time.saturating_sub(ns))?,
                _ => run.start,
            };
            Ok(Pick::All(after.max(near).min(not_after)..not_after))
        }
    }
}

/// Returns the difference of a row to its messages, message - row, and of `linear` and `slerp` the distance of its two messages.
///
/// # Errors
/// - Errors of temporary files.
pub(crate) fn difference(pick: &Pick, entries: &Entries, time: i64) -> Result<(Option<i64>, Option<i64>)> {
    Ok(match pick {
        Pick::One(number) => (Some(entries.get(*number)?.time - time), Some(0)),
        Pick::Between(a, b) => {
            let (a, b) = (entries.get(*a)?.time, entries.get(*b)?.time);
            let nearer = match (time - a).cmp(&(b - time)) {
                Ordering::Greater => b,
                _ => a,
            };
            (Some(nearer - time), Some(b - a))
        }
        Pick::None | Pick::All(_) => (None, None),
    })
}

/// Returns the weight of the second of two messages around a row.
///
/// # Errors
/// - Errors of temporary files.
#[expect(clippy::cast_precision_loss, reason = "the rule of the recipe")]
pub(crate) fn weight(entries: &Entries, a: usize, b: usize, time: i64) -> Result<f64> {
    let (a, b) = (entries.get(a)?.time, entries.get(b)?.time);
    Ok((time - a) as f64 / (b - a) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    /// Three thousand messages, whose times step back by 20 s behind each thousand, and otherwise by at most 30 ms.
    fn received(bound: usize, seed: u64) -> Sorter {
        let (mut sorter, mut state) = (Sorter::new(Entry::by_arrival, bound), seed);
        for number in 0..3_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let jitter = i64::try_from((state >> 33) % 7).unwrap() * 5_000_000;
            let log_time = 10_000_000 * i64::from(number);
            let time = log_time - jitter - 20_000_000_000 * i64::from(number / 1_000);
            let (block, offset) = (number / 100, u64::from(number % 100));
            sorter.push(Entry { part: 0, time, log_time, file: 0, block, offset, channel: 3 }).unwrap();
        }
        sorter
    }

    #[test]
    fn the_ticks_of_a_rate_are_counted_as_they_are_made() {
        for (rows, seconds) in [(1, 1), (30_000, 1_001), (3, 7), (50_000_000, 1), (1_000_000_000, 1), (1, 3_600)] {
            let rate = Rate { rows, seconds };
            for length in [0, 1, 19, 20, 21, 333_333_333, 1_000_000_000, 7_000_000_001] {
                let count = ticks_between(rate, -5, length - 5);
                assert!(
                    after(rate, count - 1) <= length && after(rate, count) > length,
                    "{count} ticks of {rate:?} in {length} ns"
                );
            }
            assert_eq!(ticks_between(rate, 5, 4), 0);
        }
    }

    #[test]
    fn messages_have_the_same_parts_and_rows_in_any_memory() {
        let splits = Topic {
            jump: Some(Jump::Split),
            on_late: Some(OnLate::Drop),
            max_lateness: Some(Bound::At(10_000_000)),
            ..Topic::default()
        };
        let sorts = Topic { jump: Some(Jump::None), max_lateness: Some(Bound::None), ..Topic::default() };
        let of = |bound: usize| {
            let (clock, late) = runs(received(bound, 1), &splits, bound).unwrap();
            let (other, none) = runs(received(bound, 2), &sorts, bound).unwrap();
            assert!(late > 100 && none == 0, "{late} of the clock, {none} of the other are late");
            aligned(vec![("/clock", clock), ("/other", other)], true, bound).unwrap()
        };
        let ((memory, cuts), (file, cuts_of_file)) = (of(1 << 20), of(50));
        assert_eq!((cuts.len(), &cuts), (2, &cuts_of_file));
        for (one, other) in memory.iter().zip(&file) {
            assert!(matches!((&one.entries, &other.entries), (Entries::Memory(_), Entries::File(_))));
            assert_eq!((one.parts(), &one.starts, &one.firsts), (3, &other.starts, &other.firsts));
            assert_eq!(one.entries.len(), other.entries.len());
            for number in 0..one.entries.len() {
                assert_eq!(one.entries.get(number).unwrap(), other.entries.get(number).unwrap());
            }
        }
        let mut text = "[clock]\ntopic = \"/clock\"\nname = \"clock\"\ntime = \"log\"\n".to_owned();
        for (policy, bound) in
            [("last", "tolerance"), ("next", "tolerance"), ("nearest", "tolerance"), ("linear", "max_gap"), ("all", "tolerance")]
        {
            text += &format!("[[match]]\nname = \"{policy}\"\ntopic = \"/other\"\npolicy = \"{policy}\"\n{bound} = \"7ms\"\n");
            text += if ["last", "all"].contains(&policy) { "time = \"log\"\n" } else { "time = \"log\"\nfuture = true\n" };
        }
        let recipe = Recipe::parse(&text).unwrap();
        let ticks = Ticks::of_topic(&memory[0], OnEqual::First, None).unwrap();
        let (mut at, mut at_of_file, mut rows) = (0, 0, 0);
        while let Some(tick) = ticks.next(Some(&memory[0]), &mut at).unwrap() {
            assert_eq!(ticks.next(Some(&file[0]), &mut at_of_file).unwrap(), Some(tick));
            for matched in &recipe.matches {
                let since = Since { before: Some(tick.time - 15_000_000), is_first: rows % 2 == 0 };
                let of = |runs: &[Runs]| {
                    let found = pick(matched, runs[1].run(tick.run), tick.time, since).unwrap();
                    let difference = difference(&found, &runs[1].entries, tick.time).unwrap();
                    (found, difference)
                };
                assert_eq!(of(&memory), of(&file), "{matched:?} at {tick:?}");
            }
            rows += 1;
        }
        assert!(rows > 500 && ticks.next(Some(&file[0]), &mut at_of_file).unwrap().is_none(), "{rows} rows");
    }
}
