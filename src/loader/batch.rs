//! Batches: reads the planned samples, and finds the damaged ones among them.

use super::{
    draws::{Draw, Drawing, Sources},
    mix::Mix,
    options::OnError,
};
use crate::{
    error::{Error, ErrorKind, Result},
    table::Windows,
};

/// A batch of samples.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// Position of each sample in its index.
    pub positions: Vec<u64>,
    /// The number of the loader that each sample belongs to, in the order given to [`DataLoader::mix`](super::DataLoader::mix); 0
    /// without a mix.
    pub sources: Vec<u32>,
    /// Whether each sample only fills the batch ([`Last::Pad`](super::Last::Pad), [`OnError::Skip`]).
    pub padding: Vec<bool>,
    /// The columns without a window, then those of each window, in the order of
    /// [`LoaderOptions::window`](super::LoaderOptions::window). Part i has one window for each sample.
    pub parts: Vec<Windows>,
}

/// The samples of one batch, or of a part of it.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) draws: Vec<Draw>,
    /// Number of samples at the end that only fill the batch.
    pub(super) padding: usize,
}

/// A batch that was read, and the samples that were left out of it.
#[derive(Debug)]
pub(super) struct ReadBatch {
    pub(super) batch: Batch,
    /// Bytes of its decoded columns.
    pub(super) bytes: u64,
    pub(super) left_out: u64,
    /// The error of the first sample that was left out.
    pub(super) first_error: Option<Error>,
}

/// Where the samples come from that fill a batch of which no sample can be read: the start of the epoch.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    pub(super) mix: Option<Mix>,
    pub(super) epoch: u64,
    /// Number of samples of the epoch.
    pub(super) samples: u64,
    pub(super) ranks: u64,
}

impl Filling {
    /// Returns the first sample of the epoch that can be read. Looks at no more damaged samples than all ranks may leave out.
    ///
    /// # Errors
    /// Errors that are not of a sample, as those of a store that does not answer.
    async fn first_good(&self, sources: &Sources, on_error: OnError) -> Result<Option<Draw>> {
        let OnError::Skip { limit } = on_error else { return Ok(None) };
        let mut drawing = Drawing::new(sources, self.mix.as_ref(), self.epoch);
        for number in 0..self.samples.min(limit.saturating_add(1).saturating_mul(self.ranks)) {
            let draw = drawing.at(number);
            match sources.read(&[draw]).await {
                Ok(_) => return Ok(Some(draw)),
                Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Reads a batch that has `all` times the first good sample of the epoch, all of them as padding; `None` if no sample can be read.
    ///
    /// # Errors
    /// As [`Filling::first_good`].
    pub(super) async fn batch(&self, all: u64, sources: &Sources, on_error: OnError) -> Result<Option<ReadBatch>> {
        let Some(draw) = self.first_good(sources, on_error).await? else { return Ok(None) };
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        read_good(sources, &Planned { draws: vec![draw; all], padding: all }).await.map(Some)
    }
}

impl ReadBatch {
    /// Joins the parts of a batch that two plans have read.
    ///
    /// # Errors
    /// - `Invalid`: the columns differ.
    pub(super) fn join(self, rest: Self) -> Result<Self> {
        let (left_out, bytes) = (self.left_out + rest.left_out, self.bytes + rest.bytes);
        let first_error = self.first_error.or(rest.first_error);
        let (one, other) = (self.batch, rest.batch);
        let batch = match (one.positions.len(), other.positions.len()) {
            (_, 0) => one,
            (0, _) => other,
            (first, rest) => {
                let places: Vec<(usize, usize)> =
                    (0..first).map(|place| (0, place)).chain((0..rest).map(|place| (1, place))).collect();
                let parts = one.parts.iter().zip(&other.parts).map(|(one, other)| Windows::interleave(&[one, other], &places));
                Batch {
                    parts: parts.collect::<Result<_>>()?,
                    positions: [one.positions, other.positions].concat(),
                    sources: [one.sources, other.sources].concat(),
                    padding: [one.padding, other.padding].concat(),
                }
            }
        };
        Ok(Self { batch, bytes, left_out, first_error })
    }
}

/// Reads batches with one plan. If samples are damaged, reads the batches one by one, so that only those with a damaged sample fail.
///
/// # Errors
/// Errors that are not of a sample, as those of a store that does not answer.
pub(super) async fn read(sources: &Sources, batches: Vec<Planned>, on_error: OnError) -> Result<Vec<Result<ReadBatch>>> {
    let all: Vec<Draw> = batches.iter().flat_map(|batch| &batch.draws).copied().collect();
    let mut found = Vec::with_capacity(batches.len());
    match sources.read(&all).await {
        Ok(windows) => {
            // Of all batches together: slices of lists count the values of all of them.
            let bytes = bytes_of(&windows);
            let mut end = 0;
            for batch in batches {
                let start = end;
                end += batch.draws.len();
                let bytes = bytes / (all.len().max(1) as u64) * batch.draws.len() as u64;
                found.push(Ok(whole(&batch, windows.iter().map(|window| window.slice(start..end)).collect(), bytes)));
            }
        }
        Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
        Err(_) => {
            for batch in batches {
                found.push(match without_damaged(sources, batch, on_error).await {
                    Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                    batch => batch,
                });
            }
        }
    }
    Ok(found)
}

/// Reads a batch in ever smaller parts, to find its damaged samples: leaves them out, or returns the error of the first one with its
/// position. The result is empty if no sample can be read.
async fn without_damaged(sources: &Sources, Planned { draws, padding }: Planned, on_error: OnError) -> Result<ReadBatch> {
    let (real, all) = (draws.len() - padding, draws.len());
    let (mut good, mut first_error) = (Planned { draws: Vec::new(), padding: 0 }, None);
    // Places that are not read yet, the first of them on top.
    let mut ranges: Vec<std::ops::Range<usize>> = std::iter::once(0..all).collect();
    while let Some(range) = ranges.pop() {
        let part = draws.get(range.clone()).unwrap_or_default();
        match sources.read(part).await {
            Ok(_) => {
                good.padding += range.filter(|place| *place >= real).count();
                good.draws.extend_from_slice(part);
            }
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            Err(_) if range.len() > 1 => {
                let middle = range.start + range.len() / 2;
                ranges.extend([middle..range.end, range.start..middle]);
            }
            Err(error) => {
                let error = error.at(part.first().map_or(String::new(), |draw| sources.name(*draw)));
                if on_error == OnError::Raise {
                    return Err(error);
                }
                first_error = first_error.or(Some(error));
            }
        }
    }
    let left_out = (all - good.draws.len()) as u64;
    Ok(ReadBatch { left_out, first_error, ..read_good(sources, &good).await? })
}

async fn read_good(sources: &Sources, good: &Planned) -> Result<ReadBatch> {
    let windows = sources.read(&good.draws).await?;
    let bytes = bytes_of(&windows);
    Ok(whole(good, windows, bytes))
}

fn whole(Planned { draws, padding }: &Planned, parts: Vec<Windows>, bytes: u64) -> ReadBatch {
    let real = draws.len() - padding;
    let batch = Batch {
        positions: draws.iter().map(|draw| draw.position).collect(),
        sources: draws.iter().map(|draw| u32::try_from(draw.source).unwrap_or(u32::MAX)).collect(),
        padding: (0..draws.len()).map(|place| place >= real).collect(),
        parts,
    };
    ReadBatch { batch, bytes, left_out: 0, first_error: None }
}

fn bytes_of(parts: &[Windows]) -> u64 {
    let columns = parts.iter().flat_map(|part| part.rows().batch().columns());
    columns.map(|array| array.to_data().get_slice_memory_size().unwrap_or(0) as u64).sum::<u64>().max(1)
}
