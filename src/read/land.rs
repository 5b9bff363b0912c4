//! Zero-copy reads of long plain values from local files.
//!
//! The result of a column is one buffer. The values of each page are read directly into their place in that buffer and verified
//! there. The head of each page is read first: a few bytes that give the length of the values.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use bytes::Bytes;

use super::{
    columns::Columns,
    decode::at_block,
    files::Files,
    gather::Gather,
    group_plan::{BlockRead, Slice},
    landing::{Column, Landing},
};
use crate::{
    error::{Error, Result, counted},
    format::{LayoutRun, PageHead, PagePlace, fixed_to_array, page_to_array, verify_parts},
    schema::{ColumnId, ColumnType},
    store::{PooledBuffer, RangeRequest},
    work::{Stop, others_for, share},
};

/// Bytes of a page that are read first to parse its head, besides those of [`HEAD_OF_ROW`] for each row. Longer heads, as those of
/// lists with nulls, need a second read.
const HEAD: usize = 64;
/// See [`HEAD`].
const HEAD_OF_ROW: usize = 16;
/// The most bytes that [`HEAD_OF_ROW`] adds.
const MOST_HEAD: usize = 1 << 10;
/// The most bytes behind the values of a page: less than 8 bytes of padding, and the checksum.
const AFTER: usize = 16;

/// The parsed head of a page, and the number of bytes behind its values.
struct Head {
    bytes: Vec<u8>,
    parsed: PageHead,
    after: usize,
}

/// The values of one page and their places in the result.
struct Job<'a> {
    column: &'a Column,
    block: usize,
    head: &'a Head,
    /// The values are read to this place.
    values: &'a mut [u8],
    /// The values are copied to these places, if the result contains the block several times.
    copies: Vec<&'a mut [u8]>,
}

impl Job<'_> {
    fn bytes(&self) -> u64 {
        self.values.len() as u64 * (1 + self.copies.len() as u64)
    }
}

impl Landing {
    /// Reads the columns from `files`.
    ///
    /// # Errors
    /// - `Corrupt`: stored bytes fail their checks, or a chunk does not exist.
    /// - `Internal`: the caller no longer waits for the result.
    /// - Any error of the stores.
    pub(super) fn read(&self, files: &Files, stop: &Stop) -> Result<Columns> {
        let mut results = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            stop.check()?;
            let heads = (0..self.blocks.len()).map(|block| self.head(files, column, block)).collect::<Result<Vec<_>>>()?;
            results.push(Landed::new(self, column, heads)?);
        }
        let mut jobs = Vec::new();
        for landed in &mut results {
            jobs.extend(landed.jobs()?);
        }
        self.read_values(files, jobs, stop)?;
        results.into_iter().map(|landed| landed.finish()).collect()
    }

    /// Reads and verifies the values of all pages. Threads share large reads.
    fn read_values(&self, files: &Files, jobs: Vec<Job<'_>>, stop: &Stop) -> Result<()> {
        let bytes = jobs.iter().map(Job::bytes).sum();
        share(jobs, others_for(bytes), |job| stop.check().and_then(|()| self.read_one(files, job))).map(drop)
    }

    fn read_one(&self, files: &Files, job: Job<'_>) -> Result<()> {
        let Job { column, block, head, values, mut copies } = job;
        let place = self.place(column, block)?;
        let (at, start) = (self.at(column, block)?, head.parsed.values.start);
        let mut tail = [0; AFTER];
        let mut read = || {
            let tail = tail.get_mut(..head.after).unwrap_or_default();
            self.read_at(files, block, at.start + start as u64..at.end, [&mut *values, &mut *tail])?;
            verify_parts(&place, &head.bytes, values, tail)?;
            copies.iter_mut().for_each(|copy| copy.copy_from_slice(values));
            Ok(())
        };
        read().map_err(|error| self.blame(column, block, error))
    }

    /// Reads and parses the bytes before the values of a page.
    fn head(&self, files: &Files, column: &Column, block: usize) -> Result<Head> {
        let at = self.at(column, block)?;
        let usual = HEAD + HEAD_OF_ROW.saturating_mul(self.block(block)?.rows as usize).min(MOST_HEAD);
        let read = || {
            let mut bytes = vec![0; usize::try_from(at.end - at.start).unwrap_or(usize::MAX).min(usual)];
            self.read_at(files, block, at.start..at.start + bytes.len() as u64, [&mut bytes, &mut []])?;
            let len = PageHead::len(&bytes)?;
            if at.start.saturating_add(len as u64) > at.end {
                let page = counted(at.end - at.start, "byte");
                return Err(Error::corrupt(format!("page of {page}: its head takes {}", counted(len, "byte"))));
            }
            let first = bytes.len().min(len);
            bytes.resize(len, 0);
            if first < len {
                self.read_at(
                    files,
                    block,
                    at.start + first as u64..at.start + len as u64,
                    [bytes.get_mut(first..).unwrap_or_default(), &mut []],
                )?;
            }
            let parsed = PageHead::parse(&bytes, &self.place(column, block)?)?;
            // This check comes before memory is allocated for the claimed length of the values.
            let after = at.end.checked_sub(at.start.saturating_add(parsed.values.end as u64));
            let after = after.and_then(|bytes| usize::try_from(bytes).ok()).filter(|after| *after <= AFTER);
            let (page, end) = (at.end - at.start, parsed.values.end);
            let after =
                after.ok_or_else(|| Error::corrupt(format!("page of {}: its values end at {end}", counted(page, "byte"))))?;
            Ok(Head { bytes, parsed, after })
        };
        read().map_err(|error| self.blame(column, block, error))
    }

    fn read_at(&self, files: &Files, block: usize, range: Range<u64>, parts: [&mut [u8]; 2]) -> Result<()> {
        let run = self.run(block)?;
        let object = self.layout.object(self.block(block)?.place, run);
        files.read_into(run.owner, &RangeRequest::new(object, run.chunk_bytes, range), parts)
    }

    fn block(&self, block: usize) -> Result<&BlockRead> {
        self.blocks.get(block).ok_or_else(|| Error::internal(format!("no block {block}")))
    }

    fn run(&self, block: usize) -> Result<&LayoutRun> {
        self.layout.run(self.block(block)?.place)
    }

    fn at(&self, column: &Column, block: usize) -> Result<Range<u64>> {
        column.places.get(block).cloned().ok_or_else(|| Error::internal(format!("no block {block}")))
    }

    fn place<'a>(&'a self, column: &Column, block: usize) -> Result<PagePlace<'a>> {
        let chain = self.run(block)?.chains.get(column.page);
        let read = self.block(block)?;
        read.place(&self.group, column.page, chain)
    }

    /// Adds the column group, the block, its chunk and the byte range of the page to an error.
    fn blame(&self, column: &Column, block: usize, error: Error) -> Error {
        let place = self.at(column, block).and_then(|at| Ok((self.run(block)?.chunk, at)));
        match self.block(block) {
            Ok(read) => at_block(&self.group, read, place.ok(), error),
            Err(_) => error,
        }
    }
}

/// A column whose values are being read.
struct Landed<'a> {
    landing: &'a Landing,
    column: &'a Column,
    ty: &'a ColumnType,
    heads: Vec<Head>,
    /// The byte range in `values` of the values of each slice.
    places: Vec<Range<usize>>,
    values: PooledBuffer,
}

impl<'a> Landed<'a> {
    fn new(landing: &'a Landing, column: &'a Column, heads: Vec<Head>) -> Result<Self> {
        let ty = landing.group.ty(column.page)?;
        let mut end = 0_usize;
        let bytes = |slice: &Slice| match slice {
            Slice::Missing(rows) => rows.saturating_mul(null_bytes(ty)),
            Slice::Rows { block, .. } => heads.get(*block).map_or(0, |head| head.parsed.values.len()),
        };
        let next = |slice: &Slice| {
            let start = end;
            end = end.saturating_add(bytes(slice));
            start..end
        };
        let places = landing.slices.iter().map(next).collect();
        Ok(Self { landing, column, ty, values: PooledBuffer::of_len(end), heads, places })
    }

    /// Fills the values below null rows with zeros, and returns one job for each block. Together they write every byte of
    /// `values`.
    fn jobs(&mut self) -> Result<Vec<Job<'_>>> {
        let unknown = || Error::internal("values have no place in the result");
        let mut rest = self.values.as_mut_slice();
        let mut job_of: Vec<Option<usize>> = vec![None; self.heads.len()];
        let mut jobs: Vec<Job<'_>> = Vec::with_capacity(self.heads.len());
        for (slice, place) in self.landing.slices.iter().zip(&self.places) {
            let (values, behind) = std::mem::take(&mut rest).split_at_mut_checked(place.len()).ok_or_else(unknown)?;
            rest = behind;
            let Some(block) = slice.block() else {
                values.fill(0);
                continue;
            };
            let (job, head) = job_of.get_mut(block).zip(self.heads.get(block)).ok_or_else(unknown)?;
            match job.and_then(|job| jobs.get_mut(job)) {
                Some(job) => job.copies.push(values),
                None => {
                    *job = Some(jobs.len());
                    jobs.push(Job { column: self.column, block, head, values, copies: Vec::new() });
                }
            }
        }
        Ok(jobs)
    }

    /// Returns the column. All jobs must be done.
    fn finish(self) -> Result<(ColumnId, ArrayRef)> {
        let (group, page) = (&self.landing.group, self.column.page);
        let (id, arrow) = (group.id(page)?, group.arrow(page)?);
        let values = Bytes::from_owner(self.values);
        let is_missing = |slice: &Slice| matches!(slice, Slice::Missing(_));
        let all_valid = self.heads.iter().all(|head| head.parsed.structure.is_all_valid());
        if group.width(page).is_some() && all_valid && !self.landing.slices.iter().any(is_missing) {
            return Ok((id, fixed_to_array(arrow, Buffer::from(values), self.landing.rows)?));
        }
        let mut rows = Gather::around(arrow, self.landing.rows, &Buffer::from(values.clone()))?;
        for (slice, place) in self.landing.slices.iter().zip(self.places) {
            match slice {
                Slice::Missing(count) => rows.append_nulls(*count),
                Slice::Rows { block, len, .. } => {
                    let head = self.heads.get(*block).ok_or_else(|| Error::internal(format!("no block {block}")))?;
                    let array = page_to_array(self.ty, &head.parsed.structure, values.slice(place));
                    let array = array.map_err(|error| self.landing.blame(self.column, *block, error))?;
                    rows.append_array(&array.to_data(), 0, *len)?;
                }
            }
        }
        Ok((id, rows.finish()?))
    }
}

/// Returns the number of value bytes below a null row: 0 if rows differ in length.
fn null_bytes(ty: &ColumnType) -> usize {
    let elements = ty.fixed_elements().and_then(|elements| usize::try_from(elements).ok()).unwrap_or(0);
    elements.saturating_mul(ty.element_width())
}
