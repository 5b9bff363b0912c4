//! The schema of a table: columns with ids that are never reused, column groups, index columns, sequence columns.
//! Follows `format-spec/manifest.md#schema`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ColumnType;
use crate::error::{Error, Result, counted, short};

/// Identifies a column within a table, whatever its name. An id is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnId(pub u32);

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Identifies the column in the objects of the table.
    pub id: ColumnId,
    /// Name: UTF-8, 1 to 1,024 bytes, unique within the table, compared byte by byte.
    pub name: String,
    /// Type of the values.
    pub ty: ColumnType,
    /// Properties set by the user: units, provenance, labels.
    pub properties: BTreeMap<String, serde_json::Value>,
}

/// Key of the column property with the name of the column's own [`Preset`](crate::Preset). Writers choose the codecs of the
/// column by this preset.
pub const PRESET: &str = "tetrys.preset";
/// Key of the column property that makes writers refuse nulls if its value is `false`.
pub const NULLABLE: &str = "tetrys.nullable";
/// Key of the column property that makes writers store bloom filters of an index column if its value is `true`.
pub const BLOOM_FILTER: &str = "tetrys.bloom_filter";

impl Column {
    /// Whether writers accept nulls in this column.
    pub fn is_nullable(&self) -> bool {
        self.properties.get(NULLABLE) != Some(&serde_json::Value::Bool(false))
    }

    /// Whether writers store bloom filters of this column.
    pub fn has_bloom_filter(&self) -> bool {
        self.properties.get(BLOOM_FILTER) == Some(&serde_json::Value::Bool(true))
    }
}

/// Columns that are stored together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnGroup {
    /// Name, unique within the table.
    pub name: String,
    /// Columns in the order of the pages of a block.
    pub columns: Vec<ColumnId>,
    /// Columns of this group whose copy here is no longer valid. Readers use the copy in another group.
    pub masked: Vec<ColumnId>,
}

/// The columns of a table.
///
/// ```
/// use tetrys::Schema;
/// let schema = Schema::builder()
///     .index("log_id", "utf8")
///     .index("timestamp", "i64")
///     .group("camera", [("camera.jpeg", "binary"), ("camera.intrinsics", "f64[3,3]")])
///     .group("lidar", [("lidar.points", "f32[?,4]")])
///     .sequence_by(["log_id"])
///     .order_by(["timestamp"])
///     .build()?;
/// assert_eq!(schema.select(["camera.*"])?.len(), 2);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<Column>,
    groups: Vec<ColumnGroup>,
    index: Vec<ColumnId>,
    sequence_by: Vec<ColumnId>,
    order_by: Vec<ColumnId>,
    /// Each id and its position in `columns`, sorted by id.
    places: Vec<(ColumnId, usize)>,
    /// Positions in `columns`, sorted by name.
    by_name: Vec<usize>,
    /// The id of the next new column: above the ids of all columns, including dropped columns.
    next: u32,
}

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 1024;
/// Maximum number of columns of a table.
const MAX_COLUMNS: usize = 100_000;

impl Schema {
    /// Starts a schema. Columns get their ids in the order in which they are added.
    pub fn builder() -> SchemaBuilder {
        SchemaBuilder::default()
    }

    /// Creates a schema from its parts. The rules: names and ids are unique, every id is known, index columns have indexable
    /// types, group columns are not index columns, and `sequence_by` and `order_by` name index columns.
    ///
    /// # Errors
    /// - `Invalid`: a rule is violated. The message names the column or group and the rule.
    pub fn from_parts(
        columns: Vec<Column>,
        groups: Vec<ColumnGroup>,
        index: Vec<ColumnId>,
        sequence_by: Vec<ColumnId>,
        order_by: Vec<ColumnId>,
    ) -> Result<Self> {
        if columns.len() > MAX_COLUMNS {
            return Err(Error::invalid(format!("schema: {}, at most {MAX_COLUMNS}", counted(columns.len(), "column"))));
        }
        let mut names = BTreeSet::new();
        let mut by_id = BTreeMap::new();
        for column in &columns {
            if column.name.is_empty() || column.name.len() > MAX_NAME {
                return Err(Error::invalid(format!(
                    "column name `{}`: expected 1 to {MAX_NAME} bytes, found {}",
                    column.name.chars().take(40).collect::<String>(),
                    column.name.len()
                )));
            }
            if !names.insert(column.name.as_str()) {
                return Err(Error::invalid(format!("column `{}` appears twice", column.name)));
            }
            if by_id.insert(column.id, column).is_some() {
                return Err(Error::invalid(format!("column id {} appears twice", column.id.0)));
            }
        }
        let known = |id: &ColumnId, place: &str| {
            by_id.get(id).copied().ok_or_else(|| Error::invalid(format!("{place}: column id {} is not in the schema", id.0)))
        };
        let mut in_index = BTreeSet::new();
        for id in &index {
            let column = known(id, "index")?;
            if !column.ty.is_indexable() {
                return Err(Error::invalid(format!(
                    "index column `{}`: type {} cannot be indexed, put it into a column group",
                    column.name, column.ty
                )));
            }
            if !in_index.insert(*id) {
                return Err(Error::invalid(format!("index: column `{}` appears twice", column.name)));
            }
        }
        let mut group_names = BTreeSet::new();
        let mut in_group = BTreeSet::new();
        for group in &groups {
            if group.name.is_empty() || group.name.len() > MAX_NAME || !group_names.insert(group.name.as_str()) {
                return Err(Error::invalid(format!(
                    "column group `{}`: the name is empty, too long or a duplicate",
                    short(&group.name)
                )));
            }
            if group.columns.is_empty() {
                return Err(Error::invalid(format!("column group `{}` has no column", group.name)));
            }
            if !group.masked.is_sorted_by(|a, b| a < b) {
                return Err(Error::invalid(format!("column group `{}`: masked columns are not sorted", group.name)));
            }
            let mut here = BTreeSet::new();
            for id in &group.columns {
                let column = known(id, &format!("column group `{}`", group.name))?;
                if in_index.contains(id) || !here.insert(*id) {
                    return Err(Error::invalid(format!(
                        "column group `{}`: column `{}` appears twice or belongs to the index",
                        group.name, column.name
                    )));
                }
                if group.masked.binary_search(id).is_err() {
                    in_group.insert(*id);
                }
            }
            if let Some(id) = group.masked.iter().find(|id| !here.contains(id)) {
                return Err(Error::invalid(format!("column group `{}`: masked column id {} is not in it", group.name, id.0)));
            }
        }
        if let Some(column) = columns.iter().find(|column| !in_index.contains(&column.id) && !in_group.contains(&column.id)) {
            return Err(Error::invalid(format!(
                "column `{}` is neither in the index nor in a group that has a valid copy of it",
                column.name
            )));
        }
        for (place, ids) in [("sequence_by", &sequence_by), ("order_by", &order_by)] {
            let mut here = BTreeSet::new();
            for id in ids {
                let column = known(id, place)?;
                if !here.insert(*id) {
                    return Err(Error::invalid(format!("{place}: column `{}` appears twice", column.name)));
                }
                if !in_index.contains(id) {
                    return Err(Error::invalid(format!("{place}: column `{}` is not an index column", column.name)));
                }
            }
        }
        let mut places: Vec<(ColumnId, usize)> = columns.iter().enumerate().map(|(place, column)| (column.id, place)).collect();
        places.sort_unstable();
        let mut by_name: Vec<usize> = (0..columns.len()).collect();
        by_name.sort_unstable_by_key(|place| columns.get(*place).map(|column| column.name.as_str()));
        let next = places.last().map_or(0, |(id, _)| id.0.saturating_add(1));
        Ok(Self { columns, groups, index, sequence_by, order_by, places, by_name, next })
    }

    internal! {
        /// Returns the id of the next new column.
        fn next_id(&self) -> u32 {
            self.next
        }
    }

    internal! {
        /// Returns the schema with `next` as a lower bound of the next id. Dropped columns may have used the ids below `next`.
        fn with_next_id(mut self, next: u32) -> Self {
            self.next = self.next.max(next);
            self
        }
    }

    internal! {
        /// Returns the schema with ids that continue an earlier schema of the table. A column keeps its id if the earlier schema has
        /// a column of the same name and type, and both are index columns or both are group columns. Every other column gets a
        /// new id.
        ///
        /// # Errors
        /// - `Invalid`: no column ids are left.
        fn with_ids_after(&self, before: &Self) -> Result<Self> {
            let mut next = u64::from(before.next);
            let mut ids = BTreeMap::new();
            for column in &self.columns {
                let in_index = |schema: &Self, id: &ColumnId| schema.index.contains(id);
                let same = before.column_named(&column.name).filter(|existing| existing.ty == column.ty);
                let same = same.filter(|existing| in_index(before, &existing.id) == in_index(self, &column.id));
                let id = match same {
                    Some(existing) => existing.id,
                    None => {
                        let id = u32::try_from(next).map_err(|_| Error::invalid("no column ids are left"))?;
                        next += 1;
                        ColumnId(id)
                    }
                };
                ids.insert(column.id, id);
            }
            let all = |existing: &[ColumnId]| existing.iter().filter_map(|id| ids.get(id)).copied().collect::<Vec<_>>();
            let columns = self.columns.iter().filter_map(|column| Some(Column { id: *ids.get(&column.id)?, ..column.clone() }));
            let masked = |group: &ColumnGroup| {
                let mut masked = all(&group.masked);
                masked.sort_unstable();
                masked
            };
            let groups = self.groups.iter();
            let groups = groups
                .map(|group| ColumnGroup { name: group.name.clone(), columns: all(&group.columns), masked: masked(group) })
                .collect();
            let schema = Self::from_parts(columns.collect(), groups, all(&self.index), all(&self.sequence_by), all(&self.order_by))?;
            Ok(schema.with_next_id(before.next))
        }
    }

    /// Returns all columns: index columns and group columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Checks that a column that asks for bloom filters can have them.
    ///
    /// # Errors
    /// - `Invalid`: it is not in the index, or has a type without bloom filters.
    pub(super) fn check_bloom_filter(&self, column: &Column) -> Result<()> {
        let can_have = column.ty.may_have_bloom_filter() && self.index().any(|existing| existing.id == column.id);
        if can_have || !column.has_bloom_filter() {
            return Ok(());
        }
        let Column { name, ty, .. } = column;
        Err(Error::invalid(format!(
            "column `{name}` ({ty}) cannot have bloom filters: expected an index column of integers, text, dates or times"
        )))
    }

    /// Returns the column groups. Segments refer to a group by its position in this slice.
    pub fn groups(&self) -> &[ColumnGroup] {
        &self.groups
    }

    /// Returns the position of each group by its name.
    pub(crate) fn groups_by_name(&self) -> BTreeMap<&str, usize> {
        self.groups.iter().enumerate().map(|(place, group)| (group.name.as_str(), place)).collect()
    }

    internal! {
        /// Whether a group has a masked copy of a column.
        fn has_masked_copies(&self) -> bool {
            self.groups.iter().any(|group| !group.masked.is_empty())
        }
    }

    /// Returns the index columns in order.
    pub fn index(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.index.iter().filter_map(|id| self.column(*id)).collect::<Vec<_>>().into_iter()
    }

    /// Returns the `sequence_by` columns: consecutive rows with equal values in these index columns are a sequence. Empty if the
    /// whole table is one sequence.
    pub fn sequence_by(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.sequence_by.iter().filter_map(|id| self.column(*id)).collect::<Vec<_>>().into_iter()
    }

    /// Returns the index columns that order the rows of a sequence; may be empty.
    pub fn order_by(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.order_by.iter().filter_map(|id| self.column(*id)).collect::<Vec<_>>().into_iter()
    }

    /// Returns the column with this id.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        // In tables that never dropped a column, the id is the position.
        match self.columns.get(id.0 as usize) {
            Some(column) if column.id == id => Some(column),
            _ => {
                let found = self.places.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                self.columns.get(self.places.get(found)?.1)
            }
        }
    }

    /// Returns the column with this name.
    pub fn column_named(&self, name: &str) -> Option<&Column> {
        let named = |place: &usize| self.columns.get(*place).map_or("", |column| column.name.as_str());
        let found = self.by_name.binary_search_by(|place| named(place).cmp(name)).ok()?;
        self.columns.get(*self.by_name.get(found)?)
    }

    /// Returns the group columns that match any of the patterns, in schema order, each once.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no group column. The message suggests the nearest column, or the index column that the
    ///   pattern matches.
    /// - `Invalid`: a pattern is malformed.
    pub fn select<P: AsRef<str>>(&self, patterns: impl IntoIterator<Item = P>) -> Result<Vec<&Column>> {
        let in_index: BTreeSet<ColumnId> = self.index.iter().copied().collect();
        let candidates: Vec<&Column> = self.columns.iter().filter(|column| !in_index.contains(&column.id)).collect();
        let names: Vec<&str> = candidates.iter().map(|column| column.name.as_str()).collect();
        let index: Vec<&str> = self.index().map(|column| column.name.as_str()).collect();
        let chosen = super::pattern::select(&names, &index, patterns)?;
        Ok(chosen.into_iter().filter_map(|place| candidates.get(place).copied()).collect())
    }
}

/// Builds a [`Schema`]; see its example.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SchemaBuilder {
    index: Vec<(String, String)>,
    groups: Vec<(String, Vec<(String, String)>)>,
    sequence_by: Vec<String>,
    order_by: Vec<String>,
    properties: Vec<(String, String, serde_json::Value)>,
}

impl SchemaBuilder {
    /// Adds an index column. `ty` is the type as text, such as `i64`.
    pub fn index(mut self, name: impl Into<String>, ty: impl ToString) -> Self {
        self.index.push((name.into(), ty.to_string()));
        self
    }

    /// Adds a column group. Each column is a pair of name and type.
    pub fn group<N: Into<String>, T: ToString>(
        mut self,
        name: impl Into<String>,
        columns: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        self.groups.push((name.into(), columns.into_iter().map(|(name, ty)| (name.into(), ty.to_string())).collect()));
        self
    }

    /// Sets the index columns that define sequences: consecutive rows with equal values in them are a sequence.
    pub fn sequence_by<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.sequence_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the index columns that order the rows of a sequence. A commit checks that they never decrease within a sequence.
    pub fn order_by<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.order_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a property of a column, such as its unit.
    pub fn property(mut self, column: impl Into<String>, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.properties.push((column.into(), key.into(), value.into()));
        self
    }

    /// Sets the preset of a column (`fast`, `balanced`, `compact`). Every later write chooses the codecs of the column by this
    /// preset. Useful for a column that is read often, or one that does not compress, in a table with another preset.
    ///
    /// ```
    /// use tetrys::{Preset, Schema};
    /// let schema = Schema::builder()
    ///     .index("time", "i64")
    ///     .group("lidar", [("lidar.points", "f32[?,4]"), ("lidar.raw", "binary")])
    ///     .preset("lidar.points", Preset::Fast)
    ///     .required("time")
    ///     .build()?;
    /// assert!(!schema.column_named("time").unwrap().is_nullable());
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn preset(self, column: impl Into<String>, preset: impl ToString) -> Self {
        self.property(column, PRESET, preset.to_string())
    }

    /// Declares that a column has no nulls. Writing a null is an error that names the column and the row.
    pub fn required(self, column: impl Into<String>) -> Self {
        self.property(column, NULLABLE, false)
    }

    /// Stores bloom filters of an index column: about a byte for each distinct value of 65,536 rows. A read of the index with a
    /// condition such as `id = 17`, or `is_in` of a list, then skips the row groups that do not have the value. Useful for keys
    /// that the rows are not sorted by. Columns that the rows are sorted by are found by their bounds.
    ///
    /// Only segments with a tail have bloom filters (see [`WriteOptions::index_tails`](crate::WriteOptions::index_tails)).
    ///
    /// ```
    /// let schema = tetrys::Schema::builder()
    ///     .index("log_id", "utf8")
    ///     .index("frame_id", "u64")
    ///     .bloom_filter("frame_id")
    ///     .build()?;
    /// assert!(schema.column_named("frame_id").unwrap().has_bloom_filter());
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn bloom_filter(self, column: impl Into<String>) -> Self {
        self.property(column, BLOOM_FILTER, true)
    }

    /// Builds the schema. A column that is added to several groups is one column, stored once in each of these groups.
    ///
    /// # Errors
    /// - `Unsupported`: a type is unknown.
    /// - `Invalid`: a column is added twice to the index, or to the index and a group; a property names an unknown column; or a
    ///   rule of [`Schema::from_parts`] is violated.
    pub fn build(self) -> Result<Schema> {
        let mut columns: Vec<Column> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut add = |name: String, ty: String, shared: bool| -> Result<ColumnId> {
            let ty: ColumnType = ty.parse().map_err(|error: Error| error.at(format!("column `{name}`")))?;
            if let Some(column) = places.get(&name).and_then(|place| columns.get(*place)) {
                if shared && column.ty == ty {
                    return Ok(column.id);
                }
                return Err(Error::invalid(format!("column `{name}` appears twice")));
            }
            let id = ColumnId(u32::try_from(columns.len()).map_err(|_| Error::invalid("too many columns"))?);
            places.insert(name.clone(), columns.len());
            columns.push(Column { id, name, ty, properties: BTreeMap::new() });
            Ok(id)
        };
        let index = self.index.into_iter().map(|(name, ty)| add(name, ty, false)).collect::<Result<Vec<_>>>()?;
        let mut groups = Vec::new();
        for (name, members) in self.groups {
            let columns = members.into_iter().map(|(name, ty)| add(name, ty, true)).collect::<Result<Vec<_>>>()?;
            groups.push(ColumnGroup { name, columns, masked: Vec::new() });
        }
        let find = |name: &str| places.get(name).copied().ok_or_else(|| Error::invalid(format!("schema: no column `{name}`")));
        for (name, key, value) in self.properties {
            let position = find(&name)?;
            columns[position].properties.insert(key, value);
        }
        let ids = |names: Vec<String>| {
            names.iter().map(|name| find(name).map(|position| columns[position].id)).collect::<Result<Vec<_>>>()
        };
        let (sequence_by, order_by) = (ids(self.sequence_by)?, ids(self.order_by)?);
        let schema = Schema::from_parts(columns, groups, index, sequence_by, order_by)?;
        schema.columns().iter().try_for_each(|column| schema.check_bloom_filter(column))?;
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_pattern_that_matches_nothing_names_the_nearest_column() {
        let schema = Schema::builder().index("time", "i64").group("lidar", [("lidar.points", "f32[?,4]")]).build().unwrap();
        let error = schema.select(["ti*"]).unwrap_err();
        assert_eq!(error.to_string(), "no group column matches `ti*`; `time` is an index column, found in the index");
        let error = schema.select(["lidr.*"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), "no column matches `lidr.*`; nearest: `lidar.*`");
        let error = schema.select(["lidar.point"]).unwrap_err();
        assert_eq!(error.to_string(), "no column matches `lidar.point`; nearest: `lidar.points`");
    }

    #[test]
    fn broken_rules_are_named() {
        let cases = [
            (Schema::builder().index("a", "i64").index("a", "i64"), "column `a` appears twice"),
            (
                Schema::builder().index("a", "f32[3]"),
                "index column `a`: type f32[3] cannot be indexed, put it into a column group",
            ),
            (Schema::builder().index("a", "i64").sequence_by(["b"]), "schema: no column `b`"),
            (Schema::builder().group("g", [("a", "i64")]).order_by(["a"]), "order_by: column `a` is not an index column"),
            (Schema::builder().group("g", Vec::<(String, String)>::new()), "column group `g` has no column"),
        ];
        for (builder, message) in cases {
            assert_eq!(builder.build().unwrap_err().to_string(), message);
        }
    }
}
