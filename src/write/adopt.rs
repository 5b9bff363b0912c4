//! Prepares known blocks for a layout: compares blocks of other tables with the rows before it trusts their hashes, and stores
//! blocks again that lie too far apart.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use futures::{StreamExt, stream};

use super::{
    chunk::{CutChunk, OpenChunk},
    known::{Known, Place},
    locality::{Locality, Spot, Worst, keep_within, last_rows},
    receipt::Sharing,
};
use crate::{
    codec::Chooser,
    error::{Error, Result, counted},
    format::{BlockDirectory, CanonicalPage, DecodedPage, PagePlace, decode_page, page_range},
    id::ChunkId,
    schema::ColumnType,
    store::{RangeRequest, Store},
    work::yield_now,
};

/// Maximum number of requests for known blocks at a time, and maximum bytes of one request.
const AT_ONCE: usize = 8;
const REQUEST: u64 = 8 << 20;

/// Checks the known blocks of finished chunks of one column group, before the chunks are uploaded.
#[derive(Debug)]
pub(super) struct Adopter {
    bound: Locality,
    /// A number for each chunk that holds known blocks.
    chunks: BTreeMap<(u32, ChunkId), u64>,
    /// The last blocks of the previous chunks, as many as a window may touch.
    tail: Vec<Spot>,
    stretch: u64,
    pub(super) sharing: Sharing,
}

impl Adopter {
    pub(super) fn new(bound: Locality) -> Self {
        Self { bound, chunks: BTreeMap::new(), tail: Vec::new(), stretch: 0, sharing: Sharing::default() }
    }

    /// Compares the waiting blocks with the stored ones. A block that differs or cannot be read is stored again.
    pub(super) async fn prove(
        &mut self,
        known: &Known,
        chunk: &mut OpenChunk,
        types: &[ColumnType],
        choosers: &[Chooser],
    ) -> Result<()> {
        let unproven = chunk.take_unproven();
        let places: Vec<Place> = unproven.iter().filter_map(|(number, _)| chunk.place(*number).cloned()).collect();
        let fetched = fetch(known.stores(), &places).await?;
        for (((number, pages), place), bytes) in unproven.into_iter().zip(&places).zip(fetched) {
            yield_now().await;
            let same = bytes.and_then(|bytes| {
                let (lengths, found) = decode(&bytes, place, types)?;
                let is_same = |(page, found): (&CanonicalPage, &DecodedPage)| {
                    page.structure.as_slice() == &*found.structure_bytes && page.values.as_slice() == &*found.values
                };
                match pages.iter().zip(&found).all(is_same) {
                    true => Ok(lengths),
                    false => Err(Error::corrupt("its rows do not match its hash")),
                }
            });
            match same {
                Ok(lengths) => chunk.set_pages(number, lengths),
                Err(error) => {
                    self.sharing.refused += 1;
                    self.sharing.first_refused.get_or_insert_with(|| {
                        format!("block {} of chunk {} of owner {}: {error}", place.ordinal, place.chunk, place.owner)
                    });
                    chunk.store_again(number, choosers, types, &pages)?;
                }
            }
        }
        Ok(())
    }

    /// Prepares a finished chunk for upload: compares its known blocks, and stores blocks again that lie too far apart.
    pub(super) async fn settle(
        &mut self,
        known: Option<&Known>,
        chunk: &mut OpenChunk,
        types: &[ColumnType],
        choosers: &[Chooser],
    ) -> Result<()> {
        let Some(known) = known else { return Ok(()) };
        self.prove(known, chunk, types, choosers).await?;
        self.bring_together(known, chunk, types, choosers).await
    }

    /// Counts the shared blocks of a chunk, and its new bytes.
    pub(super) fn count(&mut self, cut: &CutChunk, new_bytes: u64) {
        self.sharing.new_bytes += new_bytes;
        let own = cut.chunk.as_ref().map(|chunk| chunk.id);
        for run in &cut.runs {
            if run.owner != 0 || Some(run.chunk) != own {
                self.sharing.blocks += run.lengths.len() as u64;
                self.sharing.bytes += run.stored_bytes();
            }
        }
    }

    async fn bring_together(
        &mut self,
        known: &Known,
        chunk: &mut OpenChunk,
        types: &[ColumnType],
        choosers: &[Chooser],
    ) -> Result<()> {
        self.stretch += 1;
        let chunks = &mut self.chunks;
        let spots = chunk.spots(self.stretch, |place| {
            let next = chunks.len() as u64;
            *chunks.entry((place.owner, place.chunk)).or_insert(next)
        });
        let fixed = self.tail.len();
        let mut all = std::mem::take(&mut self.tail);
        all.extend(spots);
        let (again, worst) = keep_within(&mut all, fixed, self.bound);
        self.sharing.worst = Worst::or(self.sharing.worst, worst);
        self.tail = last_rows(&all, self.bound.window).to_vec();
        // Only a few at a time, because decoded blocks are held in memory.
        let again: Vec<usize> = again.into_iter().map(|number| number - fixed).collect();
        for numbers in again.chunks(AT_ONCE) {
            let places: Vec<Place> = numbers.iter().filter_map(|number| chunk.place(*number).cloned()).collect();
            for ((number, place), bytes) in numbers.iter().zip(&places).zip(fetch(known.stores(), &places).await?) {
                let pages = bytes.and_then(|bytes| {
                    let (_, pages) = decode(&bytes, place, types)?;
                    Ok(pages.iter().map(DecodedPage::to_canonical).collect::<Vec<_>>())
                });
                let pages = pages.map_err(|error| {
                    error.at(format!("block {} of chunk {}, which must be stored again", place.ordinal, place.chunk))
                })?;
                let before = chunk.stored();
                chunk.store_again(*number, choosers, types, &pages)?;
                self.sharing.stored_again += 1;
                self.sharing.stored_again_bytes += (chunk.stored() - before) as u64;
            }
        }
        Ok(())
    }
}

/// Fetches the stored bytes of known blocks, in order. Adjacent blocks are coalesced into one request.
pub(super) async fn fetch(stores: &BTreeMap<u32, Store>, places: &[Place]) -> Result<Vec<Result<Bytes>>> {
    let end = |place: &Place| place.offset + 8 * u64::from(place.length);
    let mut requests: Vec<(Range<usize>, Range<u64>)> = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let joins = requests.last_mut().filter(|(numbers, bytes)| {
            let last = &places[numbers.end - 1];
            (last.owner, last.chunk) == (place.owner, place.chunk)
                && bytes.end == place.offset
                && end(place) - bytes.start <= REQUEST
        });
        match joins {
            Some((numbers, bytes)) => (numbers.end, bytes.end) = (number + 1, end(place)),
            None => requests.push((number..number + 1, place.offset..end(place))),
        }
    }
    let requests = requests.into_iter().map(|(numbers, range)| {
        let first = &places[numbers.start];
        let store = stores.get(&first.owner).ok_or_else(|| Error::internal(format!("no store of owner {}", first.owner)))?;
        Ok((numbers, store.clone(), RangeRequest::new(first.chunk.object_name(), first.chunk_bytes, range)))
    });
    let requests = requests.collect::<Result<Vec<_>>>()?;
    // A disk begins with all of them at once.
    if requests.iter().any(|(_, store, request)| store.is_cold_now(request)) {
        requests.iter().for_each(|(_, store, request)| store.prefetch_now(request));
    }
    let reads = requests.into_iter().map(|(numbers, store, request)| async move {
        let start = request.range.start;
        let bytes = match store.read_now(&request) {
            Some(read) => read,
            None => store
                .read(std::slice::from_ref(&request))
                .await
                .and_then(|mut read| read.pop().ok_or_else(|| Error::internal("a range without an answer"))),
        };
        let part = |place: &Place| match &bytes {
            Ok(bytes) => Ok(bytes.slice((place.offset - start) as usize..(end(place) - start) as usize)),
            Err(error) => Err(Error::new(error.kind(), error.to_string())),
        };
        Ok::<_, Error>(places[numbers].iter().map(part).collect::<Vec<_>>())
    });
    let answers: Vec<Result<Vec<Result<Bytes>>>> = stream::iter(reads).buffered(AT_ONCE).collect().await;
    Ok(answers.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Verifies the checksums of a stored block and decodes its pages. Returns the stored page lengths in units of 8, and the pages.
pub(super) fn decode(bytes: &Bytes, place: &Place, types: &[ColumnType]) -> Result<(Vec<u32>, Vec<DecodedPage>)> {
    let directory = BlockDirectory::parse(bytes, place.seed, place.ordinal, types.len())?;
    if directory.rows != place.rows {
        return Err(Error::corrupt(format!("{}, the layout says {}", counted(directory.rows, "row"), place.rows)));
    }
    let mut lengths = Vec::with_capacity(types.len());
    let mut pages = Vec::with_capacity(types.len());
    for (page, (ty, chain)) in types.iter().zip(place.chains.iter()).enumerate() {
        let range = page_range(&directory, page)?;
        lengths.push((range.len() / 8) as u32);
        let at = PagePlace { seed: place.seed, ordinal: place.ordinal, page: page as u16, rows: place.rows, ty, chain };
        pages.push(decode_page(bytes.slice(range), at)?);
    }
    Ok((lengths, pages))
}
