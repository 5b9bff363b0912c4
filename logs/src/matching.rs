//! Which messages belong to which row. Pure functions of times: the same input gives the same rows on any number of threads.

use std::{cmp::Ordering, ops::Range};

use tetrys::{Error, Result};

use crate::{
    recipe::{Bound, Clock, Edge, Jump, Match, OnEqual, OnLate, Policy, Rate, Topic},
    transforms::Arrival,
};

/// Maximum rows of a log: those of a partition.
const MAX_ROWS: usize = 4 << 20;
/// Lateness and jumps that are allowed if a recipe says nothing.
const ONE_SECOND: Bound = Bound::At(1_000_000_000);

/// A message: its time, and where it is. Ordered by time; equal times keep the order in which they arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) time: i64,
    pub(crate) log_time: i64,
    pub(crate) file: u32,
    pub(crate) block: u32,
    pub(crate) offset: u64,
    pub(crate) channel: u16,
}

impl Entry {
    /// The place of the message in the order of arrival.
    fn arrival(&self) -> Arrival {
        (self.log_time, self.file, self.block, self.offset)
    }
}

/// The messages of a topic: one sorted run for each part of the log.
pub(crate) type Runs = Vec<Vec<Entry>>;

/// Sorts the messages of a topic by their times, and checks how late they are. Returns a run for each part, which jumps of the clock of
/// the topic separate if its settings say so, and the number of messages left out.
///
/// # Errors
/// - `Invalid`: a message is too late, or the clock of the topic jumps back.
pub(crate) fn runs(mut entries: Vec<Entry>, topic: &Topic) -> Result<(Runs, u64)> {
    entries.sort_unstable_by_key(Entry::arrival);
    let is_jump = |pair: &[Entry; 2]| !ONE_SECOND.allows(pair[0].time - pair[1].time);
    let mut runs: Runs = match topic.jump {
        Some(Jump::Split) => {
            let jumps = entries.array_windows::<2>().enumerate().filter(|(_, pair)| is_jump(pair)).map(|(at, _)| at + 1);
            let starts: Vec<usize> = [0].into_iter().chain(jumps).collect();
            // From the last one to the first, so that each is cut off where it begins.
            let mut runs: Runs = starts.into_iter().rev().map(|start| entries.split_off(start)).collect();
            runs.reverse();
            runs
        }
        // The messages of a long log are many, so they are not copied.
        _ => vec![entries],
    };
    let late = runs.iter_mut().map(|run| settle(run, topic)).sum::<Result<u64>>()?;
    Ok((runs, late))
}

/// Gives all topics as many runs as the first one that jumps, which is the clock if it does. A topic that does not jump is cut where the
/// first messages behind the jumps arrived. Returns also these places in the order of arrival.
///
/// # Errors
/// - `Invalid`: a topic has another number of jumps.
pub(crate) fn aligned(topics: Vec<(&str, Runs)>, has_clock: bool) -> Result<(Vec<Runs>, Vec<Arrival>)> {
    let of_clock = has_clock.then_some(0).filter(|clock| topics.get(*clock).is_some());
    let Some(lead) = of_clock.or_else(|| topics.iter().position(|(_, runs)| runs.len() > 1)) else {
        return Ok((topics.into_iter().map(|(_, runs)| runs).collect(), Vec::new()));
    };
    let (name, runs) = &topics[lead];
    let (name, parts) = ((*name).to_owned(), runs.len());
    let first = |run: &Vec<Entry>| run.iter().map(Entry::arrival).min();
    // A run whose messages are all too late has no first one: there is always one that is not.
    let cuts: Vec<_> = runs.iter().skip(1).filter_map(first).collect();
    let align = |(topic, runs): (&str, Runs)| match runs.len() {
        len if len == parts => Ok(runs),
        1 => {
            let mut cut: Runs = vec![Vec::new(); parts];
            for entry in runs.into_iter().flatten() {
                let part = cuts.partition_point(|cut| *cut <= entry.arrival());
                if let Some(run) = cut.get_mut(part) {
                    run.push(entry);
                }
            }
            Ok(cut)
        }
        len => Err(Error::invalid(format!(
            "the time of topic {topic} jumps back {} times, and that of topic {name} {} times: parts of the log need the same jumps",
            len - 1,
            parts - 1
        ))),
    };
    let runs = topics.into_iter().map(align).collect::<Result<_>>()?;
    Ok((runs, cuts))
}

/// Sorts the messages of a part, which are in the order of arrival, and checks how late they are. Returns the number left out.
fn settle(entries: &mut Vec<Entry>, topic: &Topic) -> Result<u64> {
    let drops = topic.on_late == Some(OnLate::Drop);
    let jump = match topic.jump {
        Some(Jump::Error(ns)) => Bound::At(ns),
        Some(Jump::None | Jump::Split) => Bound::None,
        // A recipe that leaves out late messages means those of long ago, too.
        None if drops => Bound::None,
        None => ONE_SECOND,
    };
    let lateness = topic.max_lateness.unwrap_or(ONE_SECOND);
    let (mut latest, mut before, mut fault) = (i64::MIN, None::<i64>, None);
    let all = entries.len();
    entries.retain(|entry| {
        let back = before.map_or(0, |before: i64| before.saturating_sub(entry.time));
        before = Some(entry.time);
        let late = if latest == i64::MIN { 0 } else { latest.saturating_sub(entry.time) };
        if fault.is_none() && !jump.allows(back) {
            fault = Some(Error::invalid(format!(
                "the time steps back by {back} ns to {}: more than jump; check the clock of the sensor, or set jump = \"split\" or \"none\"",
                entry.time
            )));
        } else if !lateness.allows(late) {
            if fault.is_none() && !drops {
                fault = Some(Error::invalid(format!(
                    "the message at {} is {late} ns late: more than max_lateness; set on_late = \"drop\" or another max_lateness",
                    entry.time
                )));
            }
            return false;
        }
        latest = latest.max(entry.time);
        true
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    entries.sort_unstable();
    Ok((all - entries.len()) as u64)
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

/// Returns the ticks of a run of a clock topic.
///
/// # Errors
/// - `Invalid`: two messages have the same time, and the recipe says that this is an error.
pub(crate) fn ticks_of_topic(run: usize, entries: &[Entry], on_equal: OnEqual) -> Result<Vec<Tick>> {
    let equal =
        |one: usize, other: usize| entries.get(one).zip(entries.get(other)).is_some_and(|(one, other)| one.time == other.time);
    let is_kept = |number: usize| match on_equal {
        OnEqual::First => number == 0 || !equal(number - 1, number),
        OnEqual::Last => !equal(number, number + 1),
        OnEqual::Keep | OnEqual::Error => true,
    };
    if on_equal == OnEqual::Error
        && let Some(pair) = entries.windows(2).find(|pair| pair[0].time == pair[1].time)
    {
        return Err(Error::invalid(format!("two messages of the clock have the time {}", pair[0].time)));
    }
    let kept = entries.iter().enumerate().filter(|(number, _)| is_kept(*number));
    Ok(kept.map(|(number, entry)| Tick { run, time: entry.time, message: Some(number) }).collect())
}

/// Returns the ticks of a rate over a run of the messages of the matched topics. `before` is the number of ticks of the runs before.
///
/// # Errors
/// - `Invalid`: there would be too many rows.
pub(crate) fn ticks_of_rate(run: usize, rate: Rate, clock: &Clock, topics: &[&[Entry]], before: usize) -> Result<Vec<Tick>> {
    let firsts = || topics.iter().filter_map(|entries| entries.first()).map(|entry| entry.time);
    let lasts = || topics.iter().filter_map(|entries| entries.last()).map(|entry| entry.time);
    let is_empty = topics.iter().any(|entries| entries.is_empty());
    let start = match clock.start.unwrap_or(Edge::Overlap) {
        Edge::Overlap if is_empty => None,
        Edge::Overlap => firsts().max(),
        Edge::Any => firsts().min(),
        Edge::At(time) => Some(time),
    };
    let end = match clock.end.unwrap_or(Edge::Overlap) {
        Edge::Overlap if is_empty => None,
        Edge::Overlap => lasts().min(),
        Edge::Any => lasts().max(),
        Edge::At(time) => Some(time),
    };
    let (Some(start), Some(end)) = (start, end) else { return Ok(Vec::new()) };
    let mut ticks = Vec::new();
    for number in 0_i128.. {
        let after = number * 1_000_000_000 * i128::from(rate.seconds) / i128::from(rate.rows);
        let time = i64::try_from(i128::from(start) + after).ok().filter(|time| *time <= end);
        let Some(time) = time else { break };
        ticks.push(Tick { run, time, message: None });
        check_rows(before + ticks.len(), start, end)?;
    }
    Ok(ticks)
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

    /// Returns the same messages, whose numbers begin with `start`.
    pub(crate) fn behind(self, start: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::One(number) => Self::One(number + start),
            Self::Between(a, b) => Self::Between(a + start, b + start),
            Self::All(range) => Self::All(range.start + start..range.end + start),
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

/// Returns the messages of a row at `time`. `entries` are sorted.
pub(crate) fn pick(of: &Match, entries: &[Entry], time: i64, since: Since) -> Pick {
    let not_after = entries.partition_point(|entry| entry.time <= time);
    let before = entries.partition_point(|entry| entry.time < time);
    let tolerance = of.tolerance.unwrap_or(Bound::None);
    let within = |number: usize| tolerance.allows(entries[number].time.abs_diff(time).try_into().unwrap_or(i64::MAX));
    let one = |number: Option<usize>| number.filter(|number| within(*number)).map_or(Pick::None, Pick::One);
    match of.policy {
        Policy::Last => one(if of.strict { before } else { not_after }.checked_sub(1)),
        Policy::Next => one(Some(before).filter(|number| *number < entries.len())),
        Policy::Nearest => {
            let earlier = not_after.checked_sub(1);
            // Of equal times the last.
            let later = entries.get(not_after).map(|later| entries.partition_point(|entry| entry.time <= later.time) - 1);
            let distance = |number: usize| entries[number].time.abs_diff(time);
            one(match (earlier, later) {
                (Some(earlier), Some(later)) if distance(later) < distance(earlier) => Some(later),
                (Some(earlier), _) => Some(earlier),
                (None, later) => later,
            })
        }
        Policy::Linear | Policy::Slerp => match (not_after.checked_sub(1), entries.get(not_after)) {
            (Some(a), _) if entries[a].time == time => Pick::One(a),
            (Some(a), Some(b)) if of.max_gap.unwrap_or(Bound::None).allows(b.time - entries[a].time) => {
                Pick::Between(a, not_after)
            }
            _ => Pick::None,
        },
        Policy::All => {
            let after = since.before.map_or(0, |before| entries.partition_point(|entry| entry.time <= before));
            let near = match (since.is_first, tolerance) {
                (true, Bound::At(ns)) => entries.partition_point(|entry| entry.time < time.saturating_sub(ns)),
                _ => 0,
            };
            Pick::All(after.max(near).min(not_after)..not_after)
        }
    }
}

/// Returns the difference of a row to its messages, message - row, and of `linear` and `slerp` the distance of its two messages.
pub(crate) fn difference(pick: &Pick, entries: &[Entry], time: i64) -> (Option<i64>, Option<i64>) {
    match pick {
        Pick::One(number) => (Some(entries[*number].time - time), Some(0)),
        Pick::Between(a, b) => {
            let (a, b) = (entries[*a].time, entries[*b].time);
            let nearer = match (time - a).cmp(&(b - time)) {
                Ordering::Greater => b,
                _ => a,
            };
            (Some(nearer - time), Some(b - a))
        }
        Pick::None | Pick::All(_) => (None, None),
    }
}

/// Returns the weight of the second of two messages around a row.
#[expect(clippy::cast_precision_loss, reason = "the rule of the recipe")]
pub(crate) fn weight(entries: &[Entry], a: usize, b: usize, time: i64) -> f64 {
    let (a, b) = (entries[a].time, entries[b].time);
    (time - a) as f64 / (b - a) as f64
}
