//! The samples of one index: which ones there are, in which order an epoch draws them, and how they are read.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    decode::{self, Decode, Decoded, decoded},
    options::{Choice, LoaderOptions},
    order::{Draws, Order, Shuffle, ShuffleQuality, quality},
    state::MadeOf,
};
use crate::{
    error::{Error, Result, counted},
    id::Digest,
    read::{Edge, Window},
    schema::ColumnType,
    table::{RowLoader, SampleColumns, SampleKey, Windows},
};

/// Decoded bytes of a block of samples that share a chunk: few enough that the blocks of a window fit the default bound of the bytes
/// read ahead, and enough for large requests to a remote store.
const BLOCK_BYTES: u64 = 8 << 20;

/// The samples of one index.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) rows: RowLoader,
    /// The columns without a window, then those of each window.
    pub(super) parts: Arc<[SampleColumns]>,
    /// The positions that are delivered, if they are not all positions.
    positions: Option<Arc<[u64]>>,
    decoders: Arc<[Decoded]>,
    pub(super) order: Order,
    pub(super) made_of: MadeOf,
}

impl Source {
    /// Chooses the samples of `rows`, and their order.
    ///
    /// # Errors
    /// As [`DataLoader::new`](super::DataLoader::new).
    pub(super) async fn new(rows: RowLoader, options: LoaderOptions) -> Result<Self> {
        let LoaderOptions { shuffle, seed, windows, skip_incomplete, max_step, choice, decoders, .. } = options;
        let rows = rows.edge(Edge::Pad).counted();
        let parts = parts_of(&rows, &windows)?;
        let decoders = decoders_of(&rows, decoders)?;
        if max_step.is_some() && windows.is_empty() {
            return Err(Error::invalid("max_step is for windows, and no column has one"));
        }
        let mut positions: Option<Arc<[u64]>> = match skip_incomplete {
            true => {
                let windows: Vec<Window> = windows.iter().map(|(_, window)| window.clone()).collect();
                Some(Arc::from(rows.complete(&windows, max_step).await?))
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
                let samples = positions.as_ref().map_or(rows.len(), |chosen| chosen.len() as u64);
                starts = (0..samples).step_by(usize::try_from(block).unwrap_or(usize::MAX)).chain([samples]).collect();
            }
            _ => {}
        }
        let samples = positions.as_ref().map_or(rows.len(), |chosen| chosen.len() as u64);
        let draws = draws_of(choice, rows.len(), positions.as_deref())?;
        let made_of = made_of(&rows, &parts, &windows, (shuffle, &draws, &*starts), samples).await?;
        let order = Order::new(seed, samples, shuffle, draws, starts)?;
        let source = Self { rows, parts: parts.into(), positions, decoders: decoders.into(), order, made_of };
        // Refuses an impossible window at once. Otherwise every sample would fail.
        if samples > 0 {
            for part in &*source.parts {
                source.rows.check_window(source.position(0), part).await?;
            }
        }
        Ok(source)
    }

    /// Reads the samples at positions, and decodes them with their random numbers. Returns the windows of each part, one for each
    /// sample.
    pub(super) async fn read(&self, positions: &[u64], randoms: Vec<u64>) -> Result<Vec<Windows>> {
        decoded(self.rows.samples(positions, &self.parts).await?, &self.decoders, randoms).await
    }

    /// Returns the same samples with counts of their own.
    pub(super) fn counted(self) -> Self {
        Self { rows: self.rows.counted(), ..self }
    }

    /// Returns the same samples in the order of another seed.
    pub(super) fn with_seed(self, seed: u64) -> Self {
        Self { order: self.order.with_seed(seed), ..self }
    }

    /// Says in what the batches of this source differ from those of another one; `None` if they can be mixed.
    pub(super) fn differs(&self, other: &Self) -> Option<String> {
        let described = |source: &Self| {
            let window = |part: &SampleColumns| (source.described(&part.0), part.1.as_ref().map(Window::len));
            source.parts.iter().map(window).collect::<Vec<_>>()
        };
        let (ours, theirs) = (described(self), described(other));
        if ours.len() != theirs.len() {
            return Some(format!("has {}, expected {}, as loader 0 has", counted(ours.len() - 1, "window"), theirs.len() - 1));
        }
        let (ours, theirs) = ours.into_iter().zip(theirs).find(|(ours, theirs)| ours != theirs)?;
        let text = |(columns, window): (Vec<String>, Option<usize>)| match window {
            Some(len) => format!("columns {} in windows of {}", columns.join(", "), counted(len, "row")),
            None => format!("columns {}", columns.join(", ")),
        };
        Some(format!("has {}, expected {}, as loader 0 has", text(ours), text(theirs)))
    }

    /// Returns the names and types of columns.
    fn described(&self, places: &[usize]) -> Vec<String> {
        let ty = |name: &str, stored: ColumnType| {
            let decoder = self.decoders.iter().find(|existing| existing.columns.iter().any(|column| column == name));
            decoder.map_or(stored, |existing| existing.decoder.column_type())
        };
        self.rows.typed(places).map(|(name, stored)| format!("{name}: {}", ty(name, stored.clone()))).collect()
    }

    /// Returns the position of a sample in the index.
    pub(super) fn position(&self, sample: u64) -> u64 {
        match &self.positions {
            Some(chosen) => usize::try_from(sample).ok().and_then(|sample| chosen.get(sample)).copied().unwrap_or(0),
            None => sample,
        }
    }

    /// Measures how well the order of an epoch mixes neighbours and sequences, in steps of `step` samples.
    pub(super) async fn quality(&self, step: u64, epoch: u64) -> Result<ShuffleQuality> {
        let runs = self.rows.sequence_runs().await?;
        let numbers = numbered(&runs);
        let sequence = |sample: u64| {
            let run = runs.partition_point(|(start, _)| *start <= self.position(sample)).checked_sub(1);
            run.and_then(|run| numbers.get(run)).map_or(0, |number| *number as u64)
        };
        Ok(quality(&self.order, step, epoch, sequence))
    }
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
    let place = |start: u64| positions.map_or(start, |chosen| chosen.partition_point(|position| *position < start) as u64);
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
                Some(chosen) => {
                    let place = |end: u64| chosen.partition_point(|position| *position < end);
                    all.extend_from_slice(chosen.get(place(start)..place(end)).unwrap_or_default());
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

/// Returns the columns that each decoder decodes.
fn decoders_of(rows: &RowLoader, decoders: Vec<(String, Arc<dyn Decode>)>) -> Result<Vec<Decoded>> {
    let mut found: Vec<Decoded> = Vec::with_capacity(decoders.len());
    for (pattern, decoder) in decoders {
        let places = rows.places(&pattern)?;
        for (name, ty) in rows.typed(&places) {
            decode::check(name, ty, &*decoder)?;
            if found.iter().any(|existing| existing.columns.iter().any(|column| column == name)) {
                return Err(Error::invalid(format!("column `{name}` has two decoders: pattern `{pattern}` selects it again")));
            }
        }
        let columns = rows.typed(&places).map(|(name, _)| name.to_owned()).collect();
        found.push(Decoded { columns, decoder });
    }
    Ok(found)
}

async fn made_of(
    rows: &RowLoader,
    parts: &[SampleColumns],
    windows: &[(String, Window)],
    (shuffle, draws, starts): (Shuffle, &Draws, &[u64]),
    samples: u64,
) -> Result<MadeOf> {
    let [tables, content, all] = rows.identity().await?;
    // Decoders are left out: they change no sample, and an epoch may go on with larger pictures.
    let mut columns = Digest::default();
    columns.number(rows.column_names().count() as u64);
    rows.column_names().for_each(|name| {
        columns.text(name);
    });
    columns.number(parts.len() as u64);
    for (places, window) in parts {
        columns.numbers(places.iter().map(|place| *place as u64));
        match window {
            None => columns.number(0),
            Some(window) => window.digest(columns.number(1)),
        };
    }
    // The patterns of the windows.
    columns.number(windows.len() as u64);
    windows.iter().for_each(|(pattern, _)| {
        columns.text(pattern);
    });
    let (mut order, floats) =
        (Digest::default(), |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
    match draws {
        Draws::Once => {
            match shuffle {
                Shuffle::None => order.number(0),
                Shuffle::Global => order.number(1),
                // 2 was another order within windows.
                Shuffle::Block { rows, window } => order.number(7).number(rows).number(window),
                Shuffle::Sequence => order.number(3),
            };
            // A copy of the table in another kind of store may choose other column groups, and so other blocks.
            order.numbers(starts.iter().copied())
        }
        Draws::Replaced { sums, draws } => order.number(4).number(*draws).numbers(floats(sums).into_iter()),
        Draws::Weighted { weights, draws } => order.number(5).number(*draws).numbers(floats(weights).into_iter()),
        Draws::Balanced { samples, starts, draws } => {
            order.number(6).number(*draws).numbers(samples.iter().copied()).numbers(starts.iter().copied())
        }
    };
    let mut rows = Digest::default();
    rows.hash(&all).number(samples);
    let [tables, content] = [tables, content].map(|hash| Digest::default().hash(&hash).digits());
    Ok(MadeOf { tables, content, versions: None, rows: rows.digits(), columns: columns.digits(), order: order.digits() })
}
