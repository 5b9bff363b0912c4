//! Rebases a change onto the versions that other writers published since it began. [`commit::rebase`] decides from the manifests
//! which changes are compatible. This file reads the objects where the manifests alone cannot tell:
//!
//! - An index segment may have the same rows although another writer renamed index columns. It is rewritten with the new names.
//! - Another writer may have merged several small segments of the base into one. A change of the base's segments is carried over.
//! - Layouts number the tables whose blocks they use. The numbers must still be those of the rebased manifest.
//!
//! `base` is the version that both changes started from, `ours` is the change that is rebased, `theirs` is the newest version.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::{
    commit::{self, SameRows, SegmentIndex},
    error::{Error, ErrorKind, Result},
    format::{
        ColumnBytes, ForeignTable, GroupSegment, Manifest, Segment, SequenceKey, SequenceTracker, index_arrow_schema,
        index_reader, read_layout,
    },
    id::Hash,
    schema::{ColumnId, Schema},
    store::Store,
    table::version::table::Table,
    work::offload_large,
    write::WrittenGroup,
};

/// Rebases `ours` onto `theirs`; both were made from `base`. See [`commit::rebase`].
///
/// # Errors
/// - `Conflict`: both changed the same part differently. The message names the part.
/// - `Corrupt`: an index, layout or hashes object is damaged.
/// - Errors of the store.
pub(in crate::table) async fn rebase(store: &Store, base: &Manifest, ours: &Manifest, theirs: &Manifest) -> Result<Manifest> {
    let sides = Sides::of(store, [base, ours, theirs]);
    let same = sides.same_rows().await?;
    let mut rebased = match commit::rebase(base, ours, theirs, &same) {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            // If the schemas or properties conflict, aligning the segments does not help, and this error names what conflicts.
            let [base_alone, ours_alone, theirs_alone] = [base, ours, theirs].map(without_rows);
            commit::rebase(&base_alone, &ours_alone, &theirs_alone, &same)?;
            let Some([base, ours, theirs]) = sides.cut_alike(&same).await? else { return Err(error) };
            commit::rebase(&base, &ours, &theirs, &same)?
        }
        rebased => rebased?,
    };
    sides.check_owners(&rebased).await?;
    sides.name_index(&mut rebased).await?;
    Ok(rebased)
}

/// The three versions as tables, so that their objects can be read.
struct Sides {
    base: Table,
    ours: Table,
    theirs: Table,
}

impl Sides {
    fn of(store: &Store, manifests: [&Manifest; 3]) -> Self {
        let [base, ours, theirs] =
            manifests.map(|manifest| Table::of(store.clone(), manifest.clone(), Hash::of(b""), Vec::new()));
        Self { base, ours, theirs }
    }

    /// Returns the index columns that all three versions have.
    fn common(&self) -> Vec<ColumnId> {
        let has = |table: &Table, id: ColumnId| table.manifest().schema.index().any(|column| column.id == id);
        let ids = self.base.manifest().schema.index().map(|column| column.id);
        ids.filter(|id| has(&self.ours, *id) && has(&self.theirs, *id)).collect()
    }

    /// Finds index objects that hold the same rows as a segment of the base, although index columns were renamed or dropped.
    async fn same_rows(&self) -> Result<SameRows> {
        let mut same = SameRows::new();
        let columns = |table: &Table| named(&table.manifest().schema);
        if columns(&self.base) == columns(&self.ours) && columns(&self.base) == columns(&self.theirs) {
            return Ok(same);
        }
        let ids = self.common();
        for (number, before) in self.base.manifest().segments.iter().enumerate() {
            let now =
                [&self.ours, &self.theirs].map(|table| table.manifest().segments.get(number).map(|segment| (table, segment)));
            let other =
                now.into_iter().flatten().filter(|(_, segment)| segment.index != before.index && segment.rows == before.rows);
            for (table, segment) in other.chain([(&self.base, before)]) {
                same.insert(segment.index.blake3, rows_of(table, &[segment], 0..segment.rows, &ids).await?);
            }
        }
        Ok(same)
    }

    /// Gives all three manifests the same segment boundaries, so that they can be compared segment by segment. The boundaries are
    /// those of `theirs`, or those of the base if `ours` changed the rows of its segments. Returns `None` if `theirs` did not
    /// merge segments of the base.
    async fn cut_alike(&self, same: &SameRows) -> Result<Option<[Manifest; 3]>> {
        let (base, ours, theirs) = (self.base.manifest(), self.ours.manifest(), self.theirs.manifest());
        let Some(covers) = covers(&base.segments, &theirs.segments) else { return Ok(None) };
        let ids = self.common();
        for (segment, cover) in theirs.segments.iter().zip(&covers) {
            let part: Vec<&Segment> = base.segments[cover.clone()].iter().collect();
            let rows = 0..part.iter().map(|segment| segment.rows).sum();
            if part.is_empty() || part.len() == 1 && part[0].index == segment.index {
                continue;
            }
            if rows_of(&self.theirs, &[segment], rows.clone(), &ids).await? != rows_of(&self.base, &part, rows, &ids).await? {
                return Ok(None);
            }
        }
        let keeps = |before: &Segment, now: &Segment| {
            let rows = |segment: &Segment| same.get(&segment.index.blake3).copied().unwrap_or(segment.index.blake3);
            before.rows == now.rows && rows(before) == rows(now)
        };
        let kept = ours.segments.len() >= base.segments.len();
        if kept && base.segments.iter().zip(&ours.segments).all(|(before, now)| keeps(before, now)) {
            let (base, ours) = self.put_together(&covers).await?;
            Ok(Some([base, ours, theirs.clone()]))
        } else {
            let theirs = self.taken_apart(&covers).await?;
            Ok(theirs.map(|theirs| [base.clone(), ours.clone(), theirs]))
        }
    }

    /// Merges the segments of `base` and `ours` as `theirs` did. If `theirs` merged appended rows into the same segment, adds
    /// these rows to both.
    async fn put_together(&self, covers: &[Range<usize>]) -> Result<(Manifest, Manifest)> {
        let (base, ours, theirs) = (self.base.manifest(), self.ours.manifest(), self.theirs.manifest());
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for (whole, cover) in theirs.segments.iter().zip(covers).filter(|(_, cover)| !cover.is_empty()) {
            let [part, changed] = [base, ours].map(|manifest| manifest.segments[cover.clone()].iter().collect::<Vec<_>>());
            let rest = whole.rows - part.iter().map(|segment| segment.rows).sum::<u64>();
            if part.len() == 1 && rest == 0 {
                before.push(part[0].clone());
                now.push(changed[0].clone());
                continue;
            }
            let mut groups: BTreeMap<&str, GroupSegment> = BTreeMap::new();
            for (number, group) in base.schema.groups().iter().enumerate() {
                // The base gets their group, so a group counts as changed by us exactly where ours differs from theirs.
                let of_theirs = self.group_of(&self.theirs, &group.name).and_then(|place| whole.groups.get(place));
                groups.insert(&group.name, of_theirs.unwrap_or(&part[0].groups[number]).clone());
            }
            let mut mine = Vec::new();
            for (number, group) in ours.schema.groups().iter().enumerate() {
                let of_base = self.group_of(&self.base, &group.name);
                let is_as_it_was = of_base.is_some_and(|of_base| {
                    part.iter().zip(&changed).all(|(before, now)| before.groups.get(of_base) == now.groups.get(number))
                });
                if is_as_it_was && let Some(unchanged) = groups.get(group.name.as_str()) {
                    mine.push(unchanged.clone());
                    continue;
                }
                let place = self.group_of(&self.theirs, &group.name);
                let tail = match (of_base, place) {
                    (Some(of_base), Some(place)) => self.behind(&part, of_base, whole, place).await?,
                    _ => None,
                };
                let mut joined = self.ours.joined(&changed, number).await?;
                match tail {
                    Some(tail) if of_base.is_some_and(|of_base| base.schema.groups()[of_base].columns == group.columns) => {
                        append(&mut joined, tail);
                    }
                    Some(_) if rest == 0 => {}
                    // The appended rows have no values for a group that we added, or whose columns we changed.
                    None if of_base.is_none() && rest == 0 => {}
                    _ => return Err(conflict(&group.name)),
                }
                mine.push(self.ours.put_group(self.ours.store(), joined).await?);
            }
            before.push(Segment { groups: groups_in_order(&base.schema, groups), ..whole.clone() });
            now.push(Segment { groups: mine, ..whole.clone() });
        }
        now.extend(ours.segments[base.segments.len()..].iter().cloned());
        Ok((Manifest { segments: before, ..base.clone() }, Manifest { segments: now, ..ours.clone() }))
    }

    /// Splits the merged segments of `theirs` again: into the segments of the base, and one segment for the rows that `theirs`
    /// appended. Returns `None` if `theirs` changed blocks of the base too.
    async fn taken_apart(&self, covers: &[Range<usize>]) -> Result<Option<Manifest>> {
        let (base, theirs) = (self.base.manifest(), self.theirs.manifest());
        let mut segments: Vec<Segment> = Vec::new();
        for (whole, cover) in theirs.segments.iter().zip(covers) {
            let part: Vec<&Segment> = base.segments[cover.clone()].iter().collect();
            let rows: u64 = part.iter().map(|segment| segment.rows).sum();
            if part.is_empty() {
                segments.push(whole.clone());
                continue;
            }
            let mut tails = Vec::new();
            let mut kept: Vec<Vec<GroupSegment>> = vec![Vec::new(); part.len()];
            for (place, group) in theirs.schema.groups().iter().enumerate() {
                let Some(of_base) = self.group_of(&self.base, &group.name) else { return Ok(None) };
                let Some(tail) = self.behind(&part, of_base, whole, place).await? else { return Ok(None) };
                tails.push(tail);
                kept.iter_mut().zip(&part).for_each(|(groups, segment)| groups.push(segment.groups[of_base].clone()));
            }
            segments.extend(kept.into_iter().zip(&part).map(|(groups, segment)| Segment { groups, ..(*segment).clone() }));
            if rows == whole.rows {
                continue;
            }
            let mut index = SegmentIndex::new(&theirs.schema, whole.tail.is_some())?;
            let mut tracker = SequenceTracker::new(&theirs.schema);
            let mut row = 0;
            for batch in index_reader(self.theirs.object("index", &whole.index).await?, &theirs.schema, whole.rows)? {
                let batch = batch?;
                let skipped = usize::try_from(rows.saturating_sub(row)).unwrap_or(usize::MAX).min(batch.num_rows());
                row += batch.num_rows() as u64;
                index.push(&batch.slice(skipped, batch.num_rows() - skipped), &mut tracker)?;
            }
            let mut groups = Vec::new();
            for tail in tails {
                groups.push(self.theirs.put_group(self.theirs.store(), tail).await?);
            }
            segments.push(Segment { groups, ..index.finish(self.theirs.store(), whole.first_row + rows).await? });
        }
        Ok(Some(Manifest { segments, ..theirs.clone() }))
    }

    fn group_of(&self, table: &Table, name: &str) -> Option<usize> {
        table.manifest().schema.groups().iter().position(|group| group.name == name)
    }

    /// Returns the blocks of a column group that `theirs` appended: the blocks of a merged segment after those of the base's
    /// segments. `None` if the merged segment does not begin with exactly the base's blocks.
    async fn behind(&self, part: &[&Segment], of_base: usize, whole: &Segment, place: usize) -> Result<Option<WrittenGroup>> {
        let (before, now) = (self.base.joined(part, of_base).await?, self.theirs.joined(&[whole], place).await?);
        let numbered = |stores: &[ForeignTable], owner: u32| stores.get((owner as usize).wrapping_sub(1)).map(place_of);
        let (base, theirs) = (&self.base.manifest().stores, &self.theirs.manifest().stores);
        let is_same = now.runs.len() >= before.runs.len()
            && now.hashes.starts_with(&before.hashes)
            && before.columns.len() == now.columns.len()
            && before
                .runs
                .iter()
                .zip(&now.runs)
                .all(|(before, now)| before == now && numbered(base, before.owner) == numbered(theirs, now.owner));
        if !is_same {
            return Ok(None);
        }
        let columns = now.columns.iter().zip(&before.columns).map(|(now, before)| ColumnBytes {
            stored: now.stored.saturating_sub(before.stored),
            logical: now.logical.saturating_sub(before.logical),
        });
        Ok(Some(WrittenGroup {
            runs: now.runs[before.runs.len()..].to_vec(),
            hashes: now.hashes[before.hashes.len()..].to_vec(),
            columns: columns.collect(),
        }))
    }

    /// Checks that each layout uses the same numbers for other tables as the rebased manifest.
    ///
    /// # Errors
    /// - `Conflict`: a layout has blocks of other tables under numbers that have changed.
    /// - `Corrupt`: a layout is damaged.
    /// - Errors of the store.
    async fn check_owners(&self, rebased: &Manifest) -> Result<()> {
        let stores: Vec<_> = rebased.stores.iter().map(place_of).collect();
        let sides = [&self.theirs, &self.ours].map(|table| {
            let manifest = table.manifest();
            let known: Vec<_> = manifest.stores.iter().map(place_of).collect();
            let layouts = manifest.segments.iter().flat_map(|segment| &segment.groups).map(|group| group.layout.blake3);
            (stores.starts_with(&known), layouts.collect::<BTreeSet<Hash>>())
        });
        let numbers_of = |layout: &Hash| sides.iter().any(|(is_kept, layouts)| *is_kept && layouts.contains(layout));
        let same = self.ours.manifest().stores == self.theirs.manifest().stores;
        for segment in rebased.segments.iter().filter(|_| !same) {
            for group in segment.groups.iter().filter(|group| !numbers_of(&group.layout.blake3)) {
                let layout = self.theirs.object("layout", &group.layout).await?;
                let (columns, rows) = (group.columns.len(), segment.rows);
                let runs = offload_large(layout.len(), move |_| read_layout(layout, columns, rows, u32::MAX as usize)).await?;
                if runs.iter().any(|run| run.owner > 0) {
                    let message = "another writer changed the referenced tables as well; reload and retry";
                    return Err(Error::conflict(message));
                }
            }
        }
        Ok(())
    }

    /// Rewrites the index segments whose columns, or names of columns, differ from the rebased schema.
    async fn name_index(&self, rebased: &mut Manifest) -> Result<()> {
        let wanted = named(&rebased.schema);
        let tables = [&self.theirs, &self.ours, &self.base];
        if tables.iter().all(|table| named(&table.manifest().schema) == wanted) {
            return Ok(());
        }
        let mut of: BTreeMap<Hash, &Table> = BTreeMap::new();
        for table in tables {
            for segment in &table.manifest().segments {
                of.entry(segment.index.blake3).or_insert(table);
            }
        }
        let schema = rebased.schema.clone();
        for segment in &mut rebased.segments {
            // A segment that was split from a merged one is in no manifest; it was written with the schema of `theirs`.
            let table = of.get(&segment.index.blake3).copied().unwrap_or(&self.theirs);
            let written = &table.manifest().schema;
            if named(written).iter().map(|(_, name)| name).eq(wanted.iter().map(|(_, name)| name)) {
                continue;
            }
            let places = wanted.iter().map(|(id, name)| {
                let found = written.index().position(|column| column.id == *id);
                found.ok_or_else(|| Error::conflict(format!("the newer one made the index column `{name}`; open it and retry")))
            });
            let places = places.collect::<Result<Vec<usize>>>()?;
            let (mut index, mut tracker) = (SegmentIndex::new(&schema, segment.tail.is_some())?, SequenceTracker::new(&schema));
            for batch in index_reader(table.object("index", &segment.index).await?, written, segment.rows)? {
                let columns = batch?.project(&places).map_err(|error| Error::internal(error.to_string()))?.columns().to_vec();
                let batch = arrow_array::RecordBatch::try_new(index_arrow_schema(&schema), columns);
                index.push(&batch.map_err(|error| Error::internal(error.to_string()))?, &mut tracker)?;
            }
            let (first_row, continues, groups) = (segment.first_row, segment.continues, std::mem::take(&mut segment.groups));
            *segment = Segment { continues, groups, ..index.finish(table.store(), first_row).await? };
        }
        Ok(())
    }
}

fn without_rows(manifest: &Manifest) -> Manifest {
    Manifest { segments: Vec::new(), ..manifest.clone() }
}

fn conflict(group: &str) -> Error {
    Error::conflict(format!("both change column group `{group}` or its rows; open the newest version and retry"))
}

/// Returns the identity of a version of a table, which does not depend on its URL.
fn place_of(foreign: &ForeignTable) -> (uuid::Uuid, u64, Hash) {
    (foreign.table, foreign.version, foreign.blake3)
}

fn named(schema: &Schema) -> Vec<(ColumnId, String)> {
    schema.index().map(|column| (column.id, column.name.clone())).collect()
}

fn groups_in_order(schema: &Schema, mut groups: BTreeMap<&str, GroupSegment>) -> Vec<GroupSegment> {
    schema.groups().iter().filter_map(|group| groups.remove(group.name.as_str())).collect()
}

fn append(joined: &mut WrittenGroup, tail: WrittenGroup) {
    joined.runs.extend(tail.runs);
    joined.hashes.extend(tail.hashes);
    for (sum, column) in joined.columns.iter_mut().zip(tail.columns) {
        (sum.stored, sum.logical) = (sum.stored + column.stored, sum.logical + column.logical);
    }
}

/// Returns for each segment of `theirs` the range of base segments that it consists of, judged by row counts. The last one that
/// covers base segments may have more rows. `None` if a boundary of `theirs` falls inside a base segment.
fn covers(base: &[Segment], theirs: &[Segment]) -> Option<Vec<Range<usize>>> {
    let mut next = 0;
    let mut covers = Vec::new();
    for segment in theirs {
        let (start, mut rows) = (next, 0);
        while let Some(before) = base.get(next).filter(|before| rows + before.rows <= segment.rows) {
            rows += before.rows;
            next += 1;
        }
        if rows < segment.rows && next < base.len() {
            return None;
        }
        covers.push(start..next);
    }
    (next == base.len()).then_some(covers)
}

/// Hashes the values of these index columns in a range of rows; the range counts from the first row of the first segment.
async fn rows_of(table: &Table, part: &[&Segment], rows: Range<u64>, ids: &[ColumnId]) -> Result<Hash> {
    let schema = &table.manifest().schema;
    let places: Vec<usize> = ids.iter().filter_map(|id| schema.index().position(|column| column.id == *id)).collect();
    let mut hasher = blake3::Hasher::new();
    let mut row = 0;
    for segment in part {
        for batch in index_reader(table.object("index", &segment.index).await?, schema, segment.rows)? {
            let batch = batch?;
            for place in 0..batch.num_rows() {
                if rows.contains(&row) {
                    let key = SequenceKey::of(&batch, &places, place)?;
                    hasher.update(&(key.as_bytes().len() as u64).to_le_bytes()).update(key.as_bytes());
                }
                row += 1;
            }
        }
    }
    Ok(Hash(*hasher.finalize().as_bytes()))
}
