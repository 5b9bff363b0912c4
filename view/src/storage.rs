//! Where rows are stored: the blocks of each column group over a range of rows, as many as fit on a screen, and those that a read takes.
//!
//! Blocks are joined until a span has as many rows as a place on the screen. The layout of a range whose layout objects are too large is drawn by
//! segments, whose sizes the manifest has.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde_json::{Value, json};
use tetrys::{
    Explain, Result, Table,
    table::{BlockPlace, Layout, SegmentInfo},
};

/// Bytes of layout objects that are read for a picture.
const MOST_LAYOUT: u64 = 8 << 20;
/// Runs of blocks that a picture looks at.
const MOST_RUNS: u64 = 100_000;
/// Most ranges of a read that are listed, and most blocks of a group that light up.
const MOST_PLACES: usize = 200;

/// Neighbouring blocks of a column group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Span {
    rows: Range<u64>,
    bytes: u64,
    blocks: u64,
    /// Number of the first chunk in the range, and how many chunks there are.
    chunk: u64,
    chunks: u64,
    /// The table that stores the first block: 0 for this one, k for the k-th of its [owners](tetrys::table::Storage::owners).
    owner: u32,
}

impl Span {
    fn json(&self) -> Value {
        json!([self.rows.start, self.rows.end, self.bytes, self.blocks, self.chunk, self.chunks, self.owner])
    }

    /// Takes in the blocks that follow.
    fn join(&mut self, next: &Self) {
        self.rows.end = next.rows.end;
        self.bytes += next.bytes;
        self.blocks += next.blocks;
        self.chunks = next.chunk + next.chunks - self.chunk;
    }
}

/// The picture of a column group.
#[derive(Clone, Debug, Default)]
struct Band {
    spans: Vec<Span>,
    /// Rows at which chunks begin.
    starts: BTreeSet<u64>,
    lit: Vec<Range<u64>>,
    chunks: u64,
}

/// Describes the blocks of these rows, with up to about `cells` spans for each column group. `read` lights up.
pub(crate) async fn layout(table: &Table, rows: Range<u64>, cells: u64, read: Option<&Explain>) -> Result<Value> {
    let segments: Vec<SegmentInfo> =
        table.storage().segments().filter(|segment| segment.rows.start < rows.end && rows.start < segment.rows.end).collect();
    let groups = || segments.iter().flat_map(|segment| &segment.groups);
    let is_small = groups().map(|group| group.layout).sum::<u64>() <= MOST_LAYOUT;
    let is_small = is_small && groups().map(|group| group.runs).sum::<u64>() <= MOST_RUNS;
    let width = (rows.end - rows.start).div_ceil(cells.max(1)).max(1);
    let mut bands = Vec::new();
    for number in 0..table.schema().groups().len() {
        bands.push(match is_small {
            true => of_blocks(&*table.storage().layout_of_rows(number, rows.clone()).await?, &rows, width, &lit_blocks(read))?,
            false => of_segments(&segments, number, &rows, width),
        });
    }
    // A partition begins where every group begins a chunk.
    let mut starts = bands.iter().filter(|band| !band.spans.is_empty()).map(|band| &band.starts);
    let seams = starts.next().map(|first| starts.fold(first.clone(), |common, starts| &common & starts)).unwrap_or_default();
    let seams: Vec<u64> = if is_small && seams.len() as u64 <= cells { seams.into_iter().collect() } else { Vec::new() };
    let begins: Vec<u64> = segments.iter().map(|segment| segment.rows.start).filter(|row| *row > rows.start).collect();
    let begins = if begins.len() as u64 <= cells { begins } else { Vec::new() };
    let drawn = table.schema().groups().iter().zip(&bands).enumerate().map(|(number, (group, band))| {
        let bytes = table.storage().group_bytes(number);
        let lit: Vec<Value> = band.lit.iter().map(|rows| json!([rows.start, rows.end])).collect();
        json!({
            "name": group.name, "columns": group.columns.len(), "stored": bytes.stored, "logical": bytes.logical,
            "blocks": band.spans.iter().map(|span| span.blocks).sum::<u64>(), "chunks": band.chunks,
            "spans": band.spans.iter().map(Span::json).collect::<Vec<_>>(), "lit": lit,
        })
    });
    let owners: Vec<Value> =
        table.storage().owners().iter().map(|owner| json!({"url": owner.urls.first(), "version": owner.version})).collect();
    Ok(json!({
        "rows": table.rows(), "start": rows.start, "end": rows.end, "level": if is_small { "blocks" } else { "segments" },
        "segments": table.storage().segment_count(), "begins": begins, "seams": seams, "owners": owners,
        "groups": drawn.collect::<Vec<_>>(),
    }))
}

/// Returns the numbers of the blocks that a read takes, by the names of their objects.
fn lit_blocks(read: Option<&Explain>) -> BTreeMap<&str, BTreeSet<u32>> {
    let mut lit: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for place in read.into_iter().flat_map(|read| &read.groups).flat_map(|group| &group.places) {
        lit.entry(&*place.object).or_default().extend(place.blocks.iter().map(|block| block.block));
    }
    lit
}

/// Joins the blocks of a layout.
fn of_blocks(layout: &Layout, rows: &Range<u64>, width: u64, lit: &BTreeMap<&str, BTreeSet<u32>>) -> Result<Band> {
    let mut band = Band::default();
    let (mut row, mut last) = (rows.start, None);
    while row < rows.end {
        let place = layout.locate(row)?.block;
        let run = layout.chunk_run(place)?;
        let first = layout.first_row(BlockPlace { block: 0, ..place })?;
        // Two equal partitions in a row share one chunk, which then begins again.
        if last != Some(run.chunk()) || run.first_block() == 0 {
            band.chunks += 1;
            band.starts.extend((first > rows.start).then_some(first));
        }
        last = Some(run.chunk());
        let blocks = if lit.is_empty() { None } else { lit.get(run.chunk().object_name().as_str()) };
        if let Some(blocks) = blocks {
            let of_run = blocks.range(run.first_block()..).map(|block| (block - run.first_block()) as usize);
            for block in of_run.take_while(|block| *block < run.blocks()) {
                let start = first + run.rows_before(block);
                let end = start + u64::from(run.block_rows(block));
                if start < rows.end && rows.start < end && band.lit.len() < MOST_PLACES {
                    band.lit.push(start.max(rows.start)..end.min(rows.end));
                }
            }
        }
        let end = (first + run.rows()).min(rows.end);
        let mut block = place.block;
        while row < end {
            // The block with the last row of this place, and the one behind it.
            let after = match run.block_of((row + width - 1).min(end - 1) - first) {
                Some(last) => last + 1,
                None => run.blocks(),
            };
            let until = (first + run.rows_before(after)).min(end);
            let span = Span {
                rows: row..until,
                bytes: run.bytes_before(after) - run.bytes_before(block),
                blocks: (after - block) as u64,
                chunk: band.chunks - 1,
                chunks: 1,
                owner: run.owner(),
            };
            push(&mut band.spans, span, width);
            (row, block) = (until, after);
        }
    }
    Ok(band)
}

/// Joins the segments.
fn of_segments(segments: &[SegmentInfo], group: usize, rows: &Range<u64>, width: u64) -> Band {
    let mut band = Band::default();
    for segment in segments {
        let Some(stored) = segment.groups.get(group) else { continue };
        let shown = segment.rows.start.max(rows.start)..segment.rows.end.min(rows.end);
        if shown.is_empty() {
            continue;
        }
        // Of a segment that is shown in part, the part of its bytes.
        let part = |number: u64| {
            let part = u128::from(number) * u128::from(shown.end - shown.start);
            (part / u128::from(segment.rows.end - segment.rows.start).max(1)) as u64
        };
        let (bytes, blocks, chunks) = (part(stored.stored), part(stored.blocks), part(stored.runs).max(1));
        push(&mut band.spans, Span { rows: shown, bytes, blocks, chunk: band.chunks, chunks, owner: 0 }, width);
        band.chunks += chunks;
    }
    band
}

/// Adds a span, to the last one if both are narrower than a place on the screen.
fn push(spans: &mut Vec<Span>, span: Span, width: u64) {
    match spans.last_mut() {
        Some(last) if last.rows.end == span.rows.start && span.rows.end - last.rows.start <= width => last.join(&span),
        _ => spans.push(span),
    }
}

/// Describes the requests of a read.
pub(crate) fn read(explain: &Explain) -> Value {
    let groups: Vec<Value> = explain
        .groups
        .iter()
        .map(|group| {
            json!({
                "name": group.name, "blocks": group.blocks, "ranges": group.ranges, "requests": group.requests,
                "bytes": group.bytes, "payload": group.payload_bytes,
            })
        })
        .collect();
    let places = explain.groups.iter().flat_map(|group| group.places.iter().map(move |place| (group, place)));
    let listed: Vec<Value> = places
        .take(MOST_PLACES)
        .map(|(group, place)| {
            let needed: u64 = place.blocks.iter().flat_map(|block| &block.bytes).map(|bytes| bytes.end - bytes.start).sum();
            json!({
                "group": group.name, "object": &*place.object, "owner": place.owner, "start": place.bytes.start,
                "end": place.bytes.end, "blocks": place.blocks.len(), "needed": needed,
            })
        })
        .collect();
    json!({
        "groups": groups, "requests": explain.requests, "bytes": explain.bytes, "payload": explain.payload_bytes,
        "hops": explain.hops, "file_reads": explain.file_reads, "ranges": explain.ranges, "places": listed,
    })
}

#[cfg(test)]
mod tests {
    use tetrys::table::SegmentGroup;

    use super::*;

    #[test]
    fn segments_are_drawn_with_their_part_of_the_bytes() {
        let segment = |number: u64| {
            let (mut segment, mut group) = (SegmentInfo::default(), SegmentGroup::default());
            (group.blocks, group.runs, group.stored, group.layout) = (100, 10, 1000, 1);
            (segment.rows, segment.groups) = (number * 100..number * 100 + 100, vec![group]);
            segment
        };
        let segments: Vec<SegmentInfo> = (0..10).map(segment).collect();
        let band = of_segments(&segments, 0, &(0..1000), 300);
        let rows: Vec<_> = band.spans.iter().map(|span| (span.rows.clone(), span.bytes, span.blocks, span.chunks)).collect();
        assert_eq!(
            rows,
            [(0..300, 3000, 300, 30), (300..600, 3000, 300, 30), (600..900, 3000, 300, 30), (900..1000, 1000, 100, 10)]
        );
        assert_eq!(band.chunks, 100);
        let band = of_segments(&segments, 0, &(50..125), 1);
        let rows: Vec<_> = band.spans.iter().map(|span| (span.rows.clone(), span.bytes, span.blocks)).collect();
        assert_eq!(rows, [(50..100, 500, 50), (100..125, 250, 25)]);
        assert!(of_segments(&segments, 1, &(0..1000), 1).spans.is_empty(), "no such group");
    }
}
