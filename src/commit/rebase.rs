//! Optimistic concurrency: puts one writer's change of a version on top of the change that another writer committed meanwhile.
//! All functions are pure.
//!
//! Each part of a manifest (a segment's rows, a column group of a segment, a column, a property) is compared with the base
//! version of both writers. A part that only one writer changed has that writer's value. A part that both changed differently is
//! a conflict.
//!
//! An index object contains the names of its columns. Renaming an index column therefore makes another object with the same rows.
//! The caller knows such objects ([`SameRows`]), and rewrites those whose columns differ from the result.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::{Error, Result},
    format::{GroupSegment, Manifest, Segment},
    id::Hash,
    schema::{Column, ColumnGroup, ColumnId, Schema},
};

/// A key for the rows of each index object: objects with equal keys have the same rows. An object that is missing here shares its
/// rows with no other object.
pub type SameRows = BTreeMap<Hash, Hash>;

/// Rebases `ours` onto `theirs`. Both were made from `base`, and `theirs` is published. The caller sets version and parent. `same` names
/// different index objects that have the same rows.
///
/// # Errors
/// - `Conflict`: both changed the same part differently. The message names the part.
pub(crate) fn rebase(base: &Manifest, ours: &Manifest, theirs: &Manifest, same: &SameRows) -> Result<Manifest> {
    let stores = pick("the referenced tables", &base.stores, &ours.stores, &theirs.stores)?.clone();
    let moved = Moved::of(base, ours, theirs)?;
    let mut rebased = Manifest {
        schema: moved.schema.clone(),
        preset: pick("the preset", &base.preset, &ours.preset, &theirs.preset)?.clone(),
        cuts: *pick("the cut limits", &base.cuts, &ours.cuts, &theirs.cuts)?,
        segments: segments([base, ours, theirs], &moved, same)?,
        attachments: map("attachment", &base.attachments, &ours.attachments, &theirs.attachments)?,
        properties: map("property", &base.properties, &ours.properties, &theirs.properties)?,
        tags: map("tag", &base.tags, &ours.tags, &theirs.tags)?,
        // Only garbage collection changes these, and it never rebases.
        condemned: theirs.condemned.clone(),
        deleting: theirs.deleting.clone(),
        collections: theirs.collections.clone(),
        write_features: theirs.write_features.clone(),
        view: pick("the tables behind a view", &base.view, &ours.view, &theirs.view)?.clone(),
        stores,
        ..ours.clone()
    };
    let mut first_row = 0;
    for segment in &mut rebased.segments {
        segment.first_row = first_row;
        first_row += segment.rows;
    }
    Ok(rebased)
}

/// The error for a part that both change. The caller puts both versions in front: theirs is newer because another writer was faster,
/// or because the caller opened an older version.
fn conflict(what: impl std::fmt::Display) -> Error {
    Error::conflict(format!("both change {what}; open the newest version and retry"))
}

/// Returns the value of the side that changed it.
fn pick<'a, T: PartialEq>(what: &str, base: &T, ours: &'a T, theirs: &'a T) -> Result<&'a T> {
    if ours == base || ours == theirs {
        Ok(theirs)
    } else if theirs == base {
        Ok(ours)
    } else {
        Err(conflict(what))
    }
}

fn map<V: PartialEq + Clone>(
    what: &str,
    base: &BTreeMap<String, V>,
    ours: &BTreeMap<String, V>,
    theirs: &BTreeMap<String, V>,
) -> Result<BTreeMap<String, V>> {
    let names: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut found = BTreeMap::new();
    for name in names {
        let place = format!("the {what} `{name}`");
        if let Some(value) = pick(&place, &base.get(name), &ours.get(name), &theirs.get(name))? {
            found.insert(name.clone(), (*value).clone());
        }
    }
    Ok(found)
}

/// Columns of both sides, and the origin of each column group of the result.
struct Moved {
    schema: Schema,
    /// First id of new columns, and the shift of our new columns' ids.
    shift: (u32, u32),
    /// Positions of the group in base, ours and theirs.
    groups: Vec<[Option<usize>; 3]>,
    /// Whether the group has the same columns there. If not, its stored blocks there cannot be used.
    fits: Vec<[bool; 3]>,
}

impl Moved {
    fn of(base: &Manifest, ours: &Manifest, theirs: &Manifest) -> Result<Self> {
        let [base, ours, theirs] = [&base.schema, &ours.schema, &theirs.schema];
        // Both sides gave their new columns the same ids, so ours move behind all others.
        let shift = theirs.next_id().saturating_sub(base.next_id());
        let shift = (base.next_id(), shift);
        let id_of = |id: ColumnId| shifted(id, shift);
        let next = ours.next_id().saturating_add(shift.1).max(theirs.next_id());
        let ours = renumbered(ours, id_of)?;
        let column = |schema: &Schema, id: ColumnId| schema.column(id).cloned();
        let mut ids: Vec<ColumnId> = theirs.columns().iter().map(|column| column.id).collect();
        ids.extend(ours.columns().iter().map(|column| column.id).filter(|id| theirs.column(*id).is_none()));
        let mut columns: Vec<Column> = Vec::new();
        for id in ids {
            let (before, mine, other) = (column(base, id), column(&ours, id), column(theirs, id));
            let name = [&mine, &other, &before].into_iter().flatten().next().map_or(String::new(), |column| column.name.clone());
            columns.extend(pick(&format!("column `{name}`"), &before, &mine, &other)?.clone());
        }
        let places = [base, &ours, theirs].map(Schema::groups_by_name);
        let mut names: Vec<&str> = theirs.groups().iter().map(|group| group.name.as_str()).collect();
        names.extend(ours.groups().iter().map(|group| group.name.as_str()).filter(|name| !places[2].contains_key(name)));
        let (mut groups, mut numbers, mut fits): (Vec<ColumnGroup>, Vec<_>, Vec<_>) = Default::default();
        for name in names {
            let found = places.each_ref().map(|places| places.get(name).copied());
            let at = |schema: &Schema, number: Option<usize>| number.and_then(|number| schema.groups().get(number)).cloned();
            let (before, mine, other) = (at(base, found[0]), at(&ours, found[1]), at(theirs, found[2]));
            if let Some(kept) = pick(&format!("column group `{name}`"), &before, &mine, &other)? {
                fits.push(
                    [&before, &mine, &other].map(|group| group.as_ref().is_some_and(|group| group.columns == kept.columns)),
                );
                groups.push(kept.clone());
                numbers.push(found);
            }
        }
        let list = |schema: &Schema, of: fn(&Schema) -> Vec<ColumnId>| of(schema);
        let mut lists = Vec::new();
        for (what, of) in [
            (
                "the index columns",
                (|schema: &Schema| schema.index().map(|column| column.id).collect()) as fn(&Schema) -> Vec<ColumnId>,
            ),
            ("sequence_by", |schema| schema.sequence_by().map(|column| column.id).collect()),
            ("order_by", |schema| schema.order_by().map(|column| column.id).collect()),
        ] {
            lists.push(pick(what, &list(base, of), &list(&ours, of), &list(theirs, of))?.clone());
        }
        let [index, sequence_by, order_by] = <[Vec<ColumnId>; 3]>::try_from(lists).unwrap_or_default();
        let schema = Schema::from_parts(columns, groups, index, sequence_by, order_by)
            .map_err(|error| conflict(format_args!("the columns ({error})")).with_source(error))?;
        Ok(Self { schema: schema.with_next_id(next), shift, groups: numbers, fits })
    }
}

fn shifted(id: ColumnId, (first, shift): (u32, u32)) -> ColumnId {
    if id.0 < first { id } else { ColumnId(id.0.saturating_add(shift)) }
}

fn renumbered(schema: &Schema, id_of: impl Fn(ColumnId) -> ColumnId) -> Result<Schema> {
    let all = |ids: &[ColumnId]| ids.iter().map(|id| id_of(*id)).collect::<Vec<_>>();
    let columns = schema.columns().iter().map(|column| Column { id: id_of(column.id), ..column.clone() }).collect();
    let groups = schema.groups().iter();
    let groups = groups
        .map(|group| ColumnGroup { name: group.name.clone(), columns: all(&group.columns), masked: all(&group.masked) })
        .collect();
    let ids = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| id_of(column.id)).collect::<Vec<_>>();
    let (index, sequence_by) = (ids(&mut schema.index()), ids(&mut schema.sequence_by()));
    let order_by = ids(&mut schema.order_by());
    Schema::from_parts(columns, groups, index, sequence_by, order_by)
}

/// Whether two segments have the same rows, whatever their groups and positions.
fn same_rows(one: &Segment, other: &Segment, same: &SameRows) -> bool {
    let rows = |segment: &Segment| {
        let index = segment.index.blake3;
        same.get(&index).copied().unwrap_or(index)
    };
    one.rows == other.rows && rows(one) == rows(other)
}

/// Returns the segments after those of the base, if the base's segments still have the same rows.
fn appended<'a>(base: &Manifest, now: &'a Manifest, same: &SameRows) -> Option<&'a [Segment]> {
    let (kept, appended) = now.segments.split_at_checked(base.segments.len())?;
    kept.iter().zip(&base.segments).all(|(now, before)| same_rows(now, before, same)).then_some(appended)
}

/// Whether all groups that remain from the base have unchanged blocks. `side`: 1 for ours, 2 for theirs.
fn is_untouched(base: &Manifest, now: &Manifest, moved: &Moved, side: usize) -> bool {
    moved.groups.iter().filter_map(|numbers| numbers[0].zip(numbers[side])).all(|(before, after)| {
        let segments = base.segments.iter().zip(&now.segments);
        segments.into_iter().all(|(base, now)| base.groups.get(before) == now.groups.get(after))
    })
}

fn segments([base, ours, theirs]: [&Manifest; 3], moved: &Moved, same: &SameRows) -> Result<Vec<Segment>> {
    let of = |segments: &[Segment], side: usize| {
        let placed = segments.iter().map(|segment| {
            let mut sides = [None, None, None];
            sides[side] = Some(segment);
            merged_segment(sides, moved)
        });
        placed.collect::<Result<Vec<_>>>()
    };
    match (appended(base, ours, same), appended(base, theirs, same)) {
        // We deleted rows or moved segment boundaries. The other side may have appended rows, but changed nothing else.
        (None, Some(appended)) => match is_untouched(base, theirs, moved, 2) {
            true => Ok([of(&ours.segments, 1)?, of(appended, 2)?].concat()),
            false => Err(conflict("rows or column groups")),
        },
        (Some(appended), None) => match is_untouched(base, ours, moved, 1) {
            true => Ok([of(&theirs.segments, 2)?, of(appended, 1)?].concat()),
            false => Err(conflict("rows or column groups")),
        },
        (None, None) if ours.segments == theirs.segments => of(&theirs.segments, 2),
        (None, None) => Err(conflict("the rows")),
        (Some(mine), Some(other)) => {
            let kept = base.segments.iter().zip(&ours.segments).zip(&theirs.segments);
            let kept = kept.map(|((base, ours), theirs)| merged_segment([Some(base), Some(ours), Some(theirs)], moved));
            Ok([kept.collect::<Result<Vec<_>>>()?, of(other, 2)?, of(mine, 1)?].concat())
        }
    }
}

/// Merges a segment: takes its index and each group from the side that changed them.
fn merged_segment([base, ours, theirs]: [Option<&Segment>; 3], moved: &Moved) -> Result<Segment> {
    let mine = ours.map(|segment| {
        let mut segment = segment.clone();
        segment.statistics.iter_mut().for_each(|column| column.column = shifted(column.column, moved.shift));
        segment
    });
    // Both sides have the same rows, so only the names of index columns can differ.
    let is_theirs = mine.is_none() || base.zip(theirs).is_some_and(|(base, theirs)| base.index != theirs.index);
    let whole = if is_theirs { theirs.cloned() } else { mine };
    let whole = whole.ok_or_else(|| Error::internal("a segment that neither side has"))?;
    let mut groups: Vec<GroupSegment> = Vec::new();
    for ((group, numbers), fits) in moved.schema.groups().iter().zip(&moved.groups).zip(&moved.fits) {
        let [before, mine, other] = [(base, numbers[0]), (ours, numbers[1]), (theirs, numbers[2])]
            .map(|(segment, group)| segment.zip(group).and_then(|(segment, group)| segment.groups.get(group)));
        let what = format!("column group `{}` in the segment at row {}", group.name, whole.first_row);
        let found = match (ours, theirs) {
            (Some(_), Some(_)) => *pick(&what, &before, &mine, &other)?,
            _ => mine.filter(|_| fits[1]).or(other.filter(|_| fits[2])),
        };
        // Rows that one writer appended have no values in a group that the other writer added or gave other columns.
        let missing =
            || Error::conflict(format!("{what} has no values for rows appended meanwhile; open the newest version and retry"));
        groups.push(found.ok_or_else(missing)?.clone());
    }
    Ok(Segment { groups, ..whole })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::{
        error::ErrorKind,
        format::{ColumnBytes, Cuts, IndexStatistics},
        id::{Hash, ObjectRef},
    };

    fn object(text: &str) -> ObjectRef {
        ObjectRef { blake3: Hash::of(text.as_bytes()), bytes: 1 }
    }

    fn cell(text: &str) -> GroupSegment {
        let columns = vec![ColumnBytes { stored: 1, logical: 1 }];
        GroupSegment { layout: object(text), hashes: object(text), blocks: 1, runs: 1, stored_bytes: 8, columns }
    }

    /// A segment of 10 rows. `text` names its index and its groups: `rows camera labels`.
    fn segment(text: &str) -> Segment {
        let mut words = text.split_whitespace();
        let index = object(words.next().unwrap());
        let statistics = vec![IndexStatistics { column: ColumnId(0), min: None, max: None, nulls: 0 }];
        Segment {
            first_row: 0,
            rows: 10,
            sequences: 1,
            continues: false,
            index,
            tail: None,
            statistics,
            groups: words.map(cell).collect(),
        }
    }

    fn schema(groups: &[&str]) -> Schema {
        let mut builder = Schema::builder().index("log", "utf8");
        for group in groups {
            builder = builder.group(*group, [(format!("{group}.x"), "i64")]);
        }
        builder.build().unwrap()
    }

    fn manifest(schema: Schema, segments: &[&str]) -> Manifest {
        let mut segments: Vec<Segment> = segments.iter().map(|text| segment(text)).collect();
        (0..).zip(&mut segments).for_each(|(number, segment)| segment.first_row = 10 * number);
        Manifest {
            table: Uuid::nil(),
            version: 1,
            parent: None,
            commit_id: Uuid::nil(),
            schema,
            preset: "fast".to_owned(),
            cuts: Cuts::default(),
            segments,
            attachments: BTreeMap::new(),
            properties: BTreeMap::new(),
            tags: BTreeMap::new(),
            lineage: Value::Null,
            view: None,
            stores: Vec::new(),
            condemned: Vec::new(),
            collections: None,
            deleting: None,
            write_features: Vec::new(),
        }
    }

    fn two(segments: &[&str]) -> Manifest {
        manifest(schema(&["camera", "labels"]), segments)
    }

    fn rebase(base: &Manifest, ours: &Manifest, theirs: &Manifest) -> Result<Manifest> {
        super::rebase(base, ours, theirs, &SameRows::new())
    }

    #[test]
    fn changes_of_different_things_are_put_on_top_of_each_other() {
        let base = two(&["r0 c0 l0", "r1 c1 l1"]);
        // Ours replaces the labels. Theirs appends rows, patches camera and sets a property.
        let ours = two(&["r0 c0 L0", "r1 c1 L1"]);
        let mut theirs = two(&["r0 c0 l0", "r1 C1 l1", "r2 c2 l2"]);
        theirs.properties.insert("unit".to_owned(), json!("m"));
        let wanted = two(&["r0 c0 L0", "r1 C1 L1", "r2 c2 l2"]);
        let rebased = rebase(&base, &ours, &theirs).unwrap();
        assert_eq!(rebased.segments, wanted.segments);
        assert_eq!(rebased.properties["unit"], json!("m"));
        let other_way = rebase(&base, &theirs, &ours).unwrap();
        assert_eq!(other_way.segments, wanted.segments);
    }

    #[test]
    fn rows_appended_by_both_follow_each_other() {
        let base = two(&["r0 c0 l0"]);
        let rebased = rebase(&base, &two(&["r0 c0 l0", "mine c l"]), &two(&["r0 c0 l0", "other c l"])).unwrap();
        assert_eq!(rebased.segments, two(&["r0 c0 l0", "other c l", "mine c l"]).segments);
    }

    #[test]
    fn rows_deleted_by_one_and_appended_by_the_other_go_together() {
        let base = two(&["r0 c0 l0", "r1 c1 l1"]);
        let rebased = rebase(&base, &two(&["R0 C0 L0", "r1 c1 l1"]), &two(&["r0 c0 l0", "r1 c1 l1", "new c l"])).unwrap();
        assert_eq!(rebased.segments, two(&["R0 C0 L0", "r1 c1 l1", "new c l"]).segments);
    }

    #[test]
    fn groups_added_by_both_keep_their_own_columns() {
        let base = manifest(schema(&["camera"]), &["r0 c0"]);
        let ours = manifest(schema(&["camera", "boxes"]), &["r0 c0 b0"]);
        let theirs = manifest(schema(&["camera", "masks"]), &["r0 c0 m0"]);
        let rebased = rebase(&base, &ours, &theirs).unwrap();
        assert_eq!(rebased.segments, manifest(schema(&["camera", "masks", "boxes"]), &["r0 c0 m0 b0"]).segments);
        let ids: BTreeSet<u32> = rebased.schema.columns().iter().map(|column| column.id.0).collect();
        assert_eq!(ids.len(), 4, "{ids:?}");
        assert_eq!(rebased.schema.column_named("boxes.x").unwrap().id, rebased.schema.groups()[2].columns[0]);
    }

    #[test]
    fn rows_do_not_come_under_other_columns_than_they_were_written_for() {
        // The labels are dropped and added again as another column. Meanwhile rows with the old column were appended.
        let base = two(&["r0 c0 l0"]);
        let (without, kept) = base.schema.without(&["labels.x"]).unwrap();
        assert_eq!(kept, [0]);
        let other = without.with_group("labels", [("labels.x".to_owned(), "i64".parse().unwrap())]).unwrap();
        let theirs = manifest(other, &["r0 c0 other"]);
        let ours = two(&["r0 c0 l0", "r1 c1 l1"]);
        for (ours, theirs) in [(&ours, &theirs), (&theirs, &ours)] {
            let error = rebase(&base, ours, theirs).unwrap_err();
            assert!(error.to_string().contains("no values for rows appended meanwhile"), "{error}");
        }
    }

    #[test]
    fn changes_of_one_thing_are_a_conflict_that_names_it() {
        let base = two(&["r0 c0 l0", "r1 c1 l1"]);
        let message = |ours: &Manifest, theirs: &Manifest| {
            let error = rebase(&base, ours, theirs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            error.to_string()
        };
        let labels = |text: &str| two(&[&format!("r0 c0 {text}"), "r1 c1 l1"]);
        assert!(message(&labels("mine"), &labels("other")).contains("column group `labels` in the segment at row 0"));
        assert!(message(&two(&["r1 c1 l1"]), &labels("other")).contains("rows or column groups"));
        assert!(message(&two(&["r1 c1 l1"]), &two(&["r0 c0 l0"])).contains("the rows"));
        let with = |value: i64| {
            let mut manifest = base.clone();
            manifest.properties.insert("n".to_owned(), json!(value));
            manifest
        };
        assert!(message(&with(1), &with(2)).contains("the property `n`"));
        assert_eq!(rebase(&base, &with(1), &with(1)).unwrap().properties["n"], json!(1));
        let added = manifest(schema(&["camera", "labels", "boxes"]), &["r0 c0 l0 b0", "r1 c1 l1 b1"]);
        let appended = two(&["r0 c0 l0", "r1 c1 l1", "r2 c2 l2"]);
        assert!(message(&added, &appended).contains("no values for rows appended meanwhile"));
    }
}
