//! Draws random changes that a version allows.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Cells, Change, Column, Group, Kind, Row, State, Value};
use crate::common::tables::Rng;

/// The kind of change to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Append,
    Overwrite,
    Delete,
    Patch,
    Replace,
    AddGroup,
    Drop,
    Rename,
    Compact,
    CompactRuns,
    Materialize,
    Tag,
    Untag,
}

/// Hands out numbers that are unique in a history: for ids of rows and columns, names, and times.
#[derive(Debug, Default)]
pub(crate) struct Fresh(u64);

impl Fresh {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    pub(crate) fn column(&mut self, name: impl Into<String>, kind: Kind) -> Column {
        Column { id: self.next(), name: name.into(), kind }
    }

    /// Returns the columns of a new table. The names of all columns except the key begin with `table`.
    pub(crate) fn columns(&mut self, table: &str) -> State {
        let index = vec![
            self.column("log", Kind::Text),
            self.column("time", Kind::Int),
            self.column(format!("{table}_weight"), Kind::Int),
            self.column(format!("{table}_host"), Kind::Text),
        ];
        let groups = vec![
            self.group(&format!("{table}_camera"), &[Kind::Bytes, Kind::Int]),
            self.group(&format!("{table}_labels"), &[Kind::Text]),
        ];
        State { index, groups, rows: Vec::new() }
    }

    pub(crate) fn group(&mut self, name: &str, kinds: &[Kind]) -> Group {
        let columns = kinds.iter().map(|kind| {
            let id = self.next();
            Column { id, name: format!("{name}.{id}"), kind: *kind }
        });
        Group { name: name.to_owned(), columns: columns.collect() }
    }
}

pub(crate) fn value(rng: &mut Rng, kind: Kind) -> Value {
    if rng.once_in(6) {
        return Value::Null;
    }
    match kind {
        Kind::Int => Value::Int(rng.below(50) as i64),
        Kind::Text => Value::Text("abcdefgh".chars().take(rng.below(9) as usize).collect::<String>() + &rng.below(9).to_string()),
        Kind::Bytes => {
            let length = if rng.once_in(4) { 300 } else { 40 };
            Value::Bytes((0..rng.below(length)).map(|_| rng.next() as u8).collect())
        }
    }
}

/// Returns `count` new rows of the table. They belong to new logs; the first of them belong to the log `goes_on`, if there is
/// one.
pub(crate) fn rows(rng: &mut Rng, fresh: &mut Fresh, state: &State, count: u64, goes_on: Option<Value>) -> Vec<Row> {
    let mut log = goes_on.unwrap_or_else(|| Value::Text(format!("log-{}", fresh.next())));
    let mut rows = Vec::new();
    for _ in 0..count {
        if !rows.is_empty() && rng.once_in(4) {
            log = Value::Text(format!("log-{}", fresh.next()));
        }
        let mut cells: BTreeMap<u64, Value> = state.columns().map(|column| (column.id, value(rng, column.kind))).collect();
        cells.insert(state.index[0].id, log.clone());
        cells.insert(state.index[1].id, Value::Int(fresh.next() as i64));
        rows.push(Row { id: fresh.next(), cells });
    }
    rows
}

/// Returns new values in some columns of some rows. Unchanged values are left out.
fn cells(rng: &mut Rng, rows: &[Row], columns: &[Column], one_in: u64) -> Cells {
    let mut changed = Cells::new();
    for row in rows {
        for column in columns {
            let new = value(rng, column.kind);
            if rng.once_in(one_in) && new != *row.value(column) {
                changed.entry(row.id).or_default().insert(column.id, new);
            }
        }
    }
    changed
}

/// Draws a change of this kind, if the version allows one. A new tag names one of `versions`; `tags` exist already.
pub(crate) fn change(
    op: Op,
    rng: &mut Rng,
    fresh: &mut Fresh,
    state: &State,
    versions: &[u64],
    tags: &[String],
) -> Option<Change> {
    let group = |rng: &mut Rng| (!state.groups.is_empty()).then(|| rng.pick(&state.groups).clone());
    let some = |rng: &mut Rng| 1 + rng.below(4);
    match op {
        Op::Append => {
            let last = state.rows.last().filter(|_| rng.once_in(3)).map(|row| state.log(row));
            let goes_on = last.is_some();
            let count = some(rng);
            Some(Change::Append { rows: rows(rng, fresh, state, count, last), goes_on })
        }
        // The first row is always dropped, so that the overwrite is not an append.
        Op::Overwrite => {
            let one_in = some(rng);
            let kept = state.rows.get(1..)?.iter().filter(|_| !rng.once_in(one_in + 1));
            let mut all: Vec<Row> = kept.map(|row| Row { id: fresh.next(), cells: row.cells.clone() }).collect();
            let columns: Vec<Column> = state.groups.iter().flat_map(|group| group.columns.clone()).collect();
            let changed = cells(rng, &all, &columns, 6);
            for row in &mut all {
                row.cells.extend(changed.get(&row.id).cloned().unwrap_or_default());
            }
            let count = rng.below(3);
            all.extend(rows(rng, fresh, state, count, None));
            (!all.is_empty()).then_some(Change::Overwrite { rows: all })
        }
        Op::Delete => {
            let one_in = some(rng);
            let rows: BTreeSet<u64> = state.rows.iter().filter(|_| rng.once_in(one_in)).map(|row| row.id).collect();
            (!rows.is_empty()).then_some(Change::Delete { rows })
        }
        Op::Patch | Op::Replace => {
            let group = group(rng)?;
            let columns = if op == Op::Patch { vec![rng.pick(&group.columns).clone()] } else { group.columns.clone() };
            let one_in = some(rng);
            let cells = cells(rng, &state.rows, &columns, one_in);
            let group = group.name;
            match op {
                _ if cells.is_empty() => None,
                Op::Patch => Some(Change::Patch { group, cells }),
                _ => Some(Change::Replace { group, cells }),
            }
        }
        Op::AddGroup => {
            let kinds = [Kind::Int, Kind::Text, Kind::Bytes];
            let kinds: Vec<Kind> = (0..1 + rng.below(2)).map(|_| *rng.pick(&kinds)).collect();
            let group = fresh.group(&format!("added-{}", fresh.0), &kinds);
            let cells = cells(rng, &state.rows, &group.columns, 1);
            Some(Change::AddGroup { group, cells })
        }
        Op::Drop => {
            let free: Vec<Column> = state.index.iter().skip(2).cloned().collect();
            let group = group(rng);
            if !free.is_empty() && (rng.once_in(2) || state.groups.len() < 2) {
                let column = rng.pick(&free).clone();
                return Some(Change::Drop { column, from_group: None, whole_group: false });
            }
            let group = group.filter(|group| state.groups.len() > 1 || group.columns.len() > 1)?;
            let (column, whole_group) = (rng.pick(&group.columns).clone(), group.columns.len() == 1);
            Some(Change::Drop { column, from_group: Some(group.name), whole_group })
        }
        Op::Rename => {
            let columns: Vec<&Column> = state.columns().skip(2).collect();
            let column = (*columns.get(rng.below(columns.len() as u64) as usize)?).clone();
            let name = format!("{}-{}", column.name.split('-').next().unwrap_or_default(), fresh.next());
            Some(Change::Rename { column, name })
        }
        Op::Compact => Some(Change::Compact),
        Op::CompactRuns => Some(Change::CompactRuns),
        Op::Materialize => Some(Change::Materialize),
        Op::Tag => {
            let name = (*rng.pick(&["gold", "silver", "lead"])).to_owned();
            Some(Change::Tag { name, version: Some(*versions.get(rng.below(versions.len() as u64) as usize)?) })
        }
        Op::Untag => Some(Change::Tag { name: tags.get(rng.below(tags.len() as u64) as usize)?.clone(), version: None }),
    }
}
