//! The plain model of a table: a version is a list of rows, and a change turns one list into another. The model has no segments,
//! blocks or objects. It says which two changes must not both succeed.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    Bytes,
}

/// A column. Its id is unique in a history, over all tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

/// A row and its values, by column id. A missing value is null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u64,
    pub(crate) cells: BTreeMap<u64, Value>,
}

impl Row {
    pub(crate) fn value(&self, column: &Column) -> &Value {
        self.cells.get(&column.id).unwrap_or(&Value::Null)
    }
}

/// The content of a version. The first two index columns are the log, which defines the sequences, and the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) index: Vec<Column>,
    pub(crate) groups: Vec<Group>,
    pub(crate) rows: Vec<Row>,
}

/// New values for some columns of some rows, by row id and column id.
pub(crate) type Cells = BTreeMap<u64, BTreeMap<u64, Value>>;

/// One change of a table.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// If `goes_on`, the first rows belong to the last log of the version that the writer began with.
    Append {
        rows: Vec<Row>,
        goes_on: bool,
    },
    Overwrite {
        rows: Vec<Row>,
    },
    Delete {
        rows: BTreeSet<u64>,
    },
    Patch {
        group: String,
        cells: Cells,
    },
    Replace {
        group: String,
        cells: Cells,
    },
    AddGroup {
        group: Group,
        cells: Cells,
    },
    /// `group`: the column group that loses some of its columns and keeps others.
    Drop {
        column: Column,
        from_group: Option<String>,
        whole_group: bool,
    },
    Rename {
        column: Column,
        name: String,
    },
    Compact,
    CompactRuns,
    Materialize,
    Tag {
        name: String,
        version: Option<u64>,
    },
}

impl State {
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.index.iter().chain(self.groups.iter().flat_map(|group| &group.columns))
    }

    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Returns the log of a row.
    pub(crate) fn log(&self, row: &Row) -> Value {
        self.index.first().map_or(Value::Null, |column| row.value(column).clone())
    }

    /// Returns the number of runs of rows with the same log.
    pub(crate) fn sequences(&self) -> u64 {
        let logs: Vec<Value> = self.rows.iter().map(|row| self.log(row)).collect();
        (0..logs.len()).filter(|row| *row == 0 || logs[*row] != logs[row - 1]).count() as u64
    }

    /// Returns the version that the change makes of this version, if the writer began with `base`.
    #[must_use]
    pub(crate) fn after(&self, change: &Change, base: &Self) -> Self {
        let mut next = self.clone();
        match change {
            Change::Append { rows, .. } => next.rows.extend(rows.iter().cloned()),
            Change::Overwrite { rows } => {
                // Rows that other writers have appended since `base` follow the new rows.
                let known: BTreeSet<u64> = base.rows.iter().map(|row| row.id).collect();
                let later = next.rows.into_iter().filter(|row| !known.contains(&row.id));
                next.rows = rows.iter().cloned().chain(later).collect();
            }
            Change::Delete { rows } => next.rows.retain(|row| !rows.contains(&row.id)),
            Change::Patch { cells, .. } | Change::Replace { cells, .. } => next.set(cells),
            Change::AddGroup { group, cells } => {
                next.groups.push(group.clone());
                next.set(cells);
            }
            Change::Drop { column, .. } => {
                next.index.retain(|existing| existing.id != column.id);
                next.groups.iter_mut().for_each(|group| group.columns.retain(|existing| existing.id != column.id));
                next.groups.retain(|group| !group.columns.is_empty());
            }
            Change::Rename { column, name } => {
                let columns = next.index.iter_mut().chain(next.groups.iter_mut().flat_map(|group| &mut group.columns));
                columns.filter(|existing| existing.id == column.id).for_each(|existing| existing.name.clone_from(name));
            }
            Change::Compact | Change::CompactRuns | Change::Materialize | Change::Tag { .. } => {}
        }
        next
    }

    /// Returns the name that a column has here.
    pub(crate) fn name_of(&self, column: &Column) -> Option<&str> {
        self.columns().find(|existing| existing.id == column.id).map(|existing| existing.name.as_str())
    }

    /// Returns what is here in the place of these cells; `None` for each row that is not here.
    fn values_of(&self, cells: &Cells) -> Vec<Option<Vec<Option<Value>>>> {
        let row = |id: &u64| self.rows.iter().find(|row| row.id == *id);
        let values = |(id, cells): (&u64, &BTreeMap<u64, Value>)| {
            row(id).map(|row| cells.keys().map(|column| row.cells.get(column).cloned()).collect())
        };
        cells.iter().map(values).collect()
    }

    /// Whether any of these cells, in columns that are here and in `other`, has another value than in `other`.
    pub(crate) fn has_other_values(&self, cells: &Cells, other: &Self) -> bool {
        let ids = |state: &Self| state.columns().map(|column| column.id).collect::<BTreeSet<u64>>();
        let columns: BTreeSet<u64> = ids(self).intersection(&ids(other)).copied().collect();
        let known = |cells: &BTreeMap<u64, Value>| {
            cells.iter().filter(|(id, _)| columns.contains(id)).map(|(id, value)| (*id, value.clone())).collect()
        };
        let cells: Cells = cells.iter().map(|(row, cells)| (*row, known(cells))).collect();
        cells.values().any(|cells| !cells.is_empty()) && self.values_of(&cells) != other.values_of(&cells)
    }

    /// Whether `other` has the same columns, whatever their names, and begins with the rows that are here.
    pub(crate) fn begins(&self, other: &Self) -> bool {
        let columns = |state: &Self| state.columns().map(|column| column.id).collect::<BTreeSet<u64>>();
        other.rows.starts_with(&self.rows) && columns(self) == columns(other)
    }

    /// Whether every row here is also in `other`.
    pub(crate) fn has_only_rows_of(&self, other: &Self) -> bool {
        let known: BTreeSet<u64> = other.rows.iter().map(|row| row.id).collect();
        self.rows.iter().all(|row| known.contains(&row.id))
    }

    fn set(&mut self, cells: &Cells) {
        for row in &mut self.rows {
            row.cells.extend(cells.get(&row.id).into_iter().flatten().map(|(column, value)| (*column, value.clone())));
        }
    }
}

/// The expected result of a change whose writer did not know another change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The changes affect different things: the change is rebased and succeeds.
    Succeeds,
    /// The changes affect the same thing, and the storage decides (e.g. values and deletion of rows): `Conflict`, or the change
    /// is rebased and succeeds.
    Either,
    /// The changes contradict each other: `Conflict`.
    Conflict,
}

/// Returns the rule for a pair of changes. The order of the two does not matter.
pub(crate) fn verdict(one: &Change, other: &Change) -> Verdict {
    use Change::{AddGroup, Append, Compact, CompactRuns, Delete, Drop, Materialize, Overwrite, Patch, Rename, Replace, Tag};
    use Verdict::{Conflict, Either, Succeeds};
    let only = |is: bool| if is { Either } else { Succeeds };
    match (one, other) {
        // Tags are independent of all other changes.
        (Tag { name: a, version: x }, Tag { name: b, version: y }) => match a == b {
            true if x == y => Either,
            true => Conflict,
            false => Succeeds,
        },
        (Tag { .. }, _) | (_, Tag { .. }) => Succeeds,
        // A rename is independent of all changes except those of the same column.
        (Rename { column: a, name: x }, Rename { column: b, name: y }) => match a.id == b.id {
            true if x == y => Either,
            true => Conflict,
            false => Succeeds,
        },
        (Rename { column: a, .. }, Drop { column: b, .. }) | (Drop { column: b, .. }, Rename { column: a, .. }) => {
            only(a.id == b.id)
        }
        (Rename { .. }, _) | (_, Rename { .. }) => Succeeds,
        // Rows that continue a log need that log at the end of the table.
        (Append { goes_on: a, .. }, Append { goes_on: b, .. }) => only(*a || *b),
        (Append { goes_on, .. }, Overwrite { .. } | Delete { .. })
        | (Overwrite { .. } | Delete { .. }, Append { goes_on, .. }) => only(*goes_on),
        // The new rows have no values for the new group.
        (Append { .. }, AddGroup { .. }) | (AddGroup { .. }, Append { .. }) => Conflict,
        (Append { .. }, Drop { from_group, whole_group, .. }) | (Drop { from_group, whole_group, .. }, Append { .. }) => {
            only(from_group.is_some() && !whole_group)
        }
        (Append { .. }, Materialize) | (Materialize, Append { .. }) => Either,
        (Append { .. }, _) | (_, Append { .. }) => Succeeds,
        // Compaction and materialization rewrite the layout of the whole table.
        (Compact | CompactRuns | Materialize, _) | (_, Compact | CompactRuns | Materialize) => Either,
        (Overwrite { .. }, Drop { .. }) | (Drop { .. }, Overwrite { .. }) => Either,
        (Overwrite { .. }, _) | (_, Overwrite { .. }) => Conflict,
        (Delete { .. }, Delete { .. } | AddGroup { .. }) | (AddGroup { .. }, Delete { .. }) => Either,
        (Delete { rows }, Patch { cells, .. } | Replace { cells, .. })
        | (Patch { cells, .. } | Replace { cells, .. }, Delete { rows }) => {
            if rows.iter().any(|row| cells.contains_key(row)) {
                Conflict
            } else {
                Either
            }
        }
        (Delete { .. }, Drop { from_group, whole_group, .. }) | (Drop { from_group, whole_group, .. }, Delete { .. }) => {
            only(from_group.is_some() && !whole_group)
        }
        (
            Patch { group: a, cells: x } | Replace { group: a, cells: x },
            Patch { group: b, cells: y } | Replace { group: b, cells: y },
        ) => {
            let differ = |row: &u64| {
                let (Some(x), Some(y)) = (x.get(row), y.get(row)) else { return false };
                x.iter().any(|(column, value)| y.get(column).is_some_and(|other| other != value))
            };
            match a == b {
                true if x.keys().any(differ) => Conflict,
                true => Either,
                false => Succeeds,
            }
        }
        (Patch { group, .. } | Replace { group, .. }, Drop { from_group, .. })
        | (Drop { from_group, .. }, Patch { group, .. } | Replace { group, .. }) => only(from_group.as_ref() == Some(group)),
        (Patch { .. } | Replace { .. }, AddGroup { .. }) | (AddGroup { .. }, Patch { .. } | Replace { .. }) => Succeeds,
        (AddGroup { .. }, AddGroup { .. } | Drop { .. }) | (Drop { .. }, AddGroup { .. }) => Succeeds,
        // Two index columns, or two columns of one group.
        (Drop { from_group: a, .. }, Drop { from_group: b, .. }) => only(a == b),
    }
}
