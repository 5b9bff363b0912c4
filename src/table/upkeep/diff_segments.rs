//! Chooses what a comparison reads. Objects are named by their content: a segment that both tables have is equal in both, and is not
//! read. Segments with one index object have the same rows in the same order, so that only what differs of their column groups is read.

use std::collections::{BTreeMap, VecDeque};

use twox_hash::XxHash3_64;

use crate::{
    format::Segment,
    id::Hash,
    schema::{Column, Schema},
    table::version::table::Table,
};

/// A segment that is compared, and the parts of it that the comparison reads.
#[derive(Clone, Debug)]
pub(super) struct SegmentToCompare {
    pub(super) segment: usize,
    /// The number of the pair of segments of both tables that have the same index; `None` if the index is read.
    pub(super) pair: Option<u64>,
    /// The numbers of the column groups whose blocks are compared.
    pub(super) groups: Vec<usize>,
}

/// The segments of the table before and of the table now that are compared, both in table order.
pub(super) type Chosen = [Vec<SegmentToCompare>; 2];

/// Returns all segments of a table.
pub(super) fn whole(table: &Table) -> Vec<SegmentToCompare> {
    let groups: Vec<usize> = (0..table.manifest().schema.groups().len()).collect();
    let of = |segment| SegmentToCompare { segment, pair: None, groups: groups.clone() };
    (0..table.manifest().segments.len()).map(of).collect()
}

/// Returns the segments to compare. Without `keys`, rows are matched by their numbers, and so are segments.
pub(super) fn choose(before: &Table, now: &Table, keys: &[String]) -> Chosen {
    let (old, new) = (&before.manifest().schema, &now.manifest().schema);
    if before.is_view() || now.is_view() || !typed(old.index()).eq(typed(new.index())) {
        return [whole(before), whole(now)];
    }
    let groups = groups_of_both(old, new);
    let is_equal =
        |old: &Segment, new: &Segment, of_old: usize, of_new: usize| match (old.groups.get(of_old), new.groups.get(of_new)) {
            (Some(old), Some(new)) => (old.layout.blake3, old.hashes.blake3) == (new.layout.blake3, new.hashes.blake3),
            _ => false,
        };
    // The segments of the older table that have no partner yet, by their index.
    let mut rest: BTreeMap<(Hash, u64, u64), VecDeque<usize>> = BTreeMap::new();
    let name = |segment: &Segment| (segment.index.blake3, segment.rows, if keys.is_empty() { segment.first_row } else { 0 });
    for (number, segment) in before.manifest().segments.iter().enumerate() {
        rest.entry(name(segment)).or_default().push_back(number);
    }
    let (olds, news) = (&before.manifest().segments, &now.manifest().segments);
    let mut partners: Vec<Option<usize>> = vec![None; news.len()];
    // Equal segments find each other first, before others with the same index.
    for only_equal in [true, false] {
        for (segment, partner) in news.iter().zip(&mut partners).filter(|(_, partner)| partner.is_none()) {
            let Some(left) = rest.get_mut(&name(segment)) else { continue };
            let fits = |old: &usize| {
                !only_equal || groups.iter().all(|(of_old, of_new)| is_equal(&olds[*old], segment, *of_old, *of_new))
            };
            *partner = left.iter().position(fits).and_then(|place| left.remove(place));
        }
    }
    let mut chosen: Chosen = [Vec::new(), Vec::new()];
    let [of_before, of_now] = &mut chosen;
    for (number, (segment, partner)) in news.iter().zip(&partners).enumerate() {
        let Some(partner) = *partner else { continue };
        let differs = |(of_old, of_new): &&(usize, usize)| !is_equal(&olds[partner], segment, *of_old, *of_new);
        let differing: Vec<(usize, usize)> = groups.iter().filter(differs).copied().collect();
        if differing.is_empty() {
            continue;
        }
        let (of_old, of_new) = differing.into_iter().unzip();
        let pair = Some(number as u64);
        of_before.push(SegmentToCompare { segment: partner, pair, groups: of_old });
        of_now.push(SegmentToCompare { segment: number, pair, groups: of_new });
    }
    let (every_old, every_new): (Vec<usize>, Vec<usize>) = groups.iter().copied().unzip();
    let unpaired = |segment, groups: &[usize]| SegmentToCompare { segment, pair: None, groups: groups.to_vec() };
    of_before.extend(rest.into_values().flatten().map(|segment| unpaired(segment, &every_old)));
    let of_new = partners.iter().enumerate().filter(|(_, partner)| partner.is_none());
    of_now.extend(of_new.map(|(segment, _)| unpaired(segment, &every_new)));
    chosen.iter_mut().for_each(|segments| segments.sort_unstable_by_key(|chosen| chosen.segment));
    chosen
}

/// Returns the numbers of the column groups that both schemas have with columns of the same types.
fn groups_of_both(old: &Schema, new: &Schema) -> Vec<(usize, usize)> {
    let types = |schema: &Schema, group: usize| -> Vec<String> {
        let columns = schema.groups().get(group).into_iter().flat_map(|group| &group.columns);
        columns.filter_map(|id| schema.column(*id)).map(|column| column.ty.to_string()).collect()
    };
    let of_new = new.groups().iter().enumerate().filter_map(|(of_new, group)| {
        let of_old = old.groups().iter().position(|existing| existing.name == group.name)?;
        (types(old, of_old) == types(new, of_new)).then_some((of_old, of_new))
    });
    of_new.collect()
}

fn typed<'a>(columns: impl Iterator<Item = &'a Column>) -> impl Iterator<Item = (u32, &'a str, String)> {
    columns.map(|column| (column.id.0, column.name.as_str(), column.ty.to_string()))
}

/// Returns the key of a row of a paired segment: no other row has it but the row at this place of the other segment.
pub(super) fn paired_key(pair: u64, place: u64) -> u128 {
    let bytes = [*b"in pairs", pair.to_le_bytes(), place.to_le_bytes()].concat();
    let half = |seed| u128::from(XxHash3_64::oneshot_with_seed(seed, &bytes));
    half(0) << 64 | half(1)
}
