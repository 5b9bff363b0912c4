//! Schema changes: each returns a new schema. Names and groups change; the id of a column never changes and is never reused.
//! Follows `format-spec/manifest.md#schema`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{BLOOM_FILTER, Column, ColumnGroup, ColumnId, ColumnType, Schema};
use crate::error::{Error, Result};

/// The parts of a schema.
struct Parts {
    columns: Vec<Column>,
    groups: Vec<ColumnGroup>,
    index: Vec<ColumnId>,
    sequence_by: Vec<ColumnId>,
    order_by: Vec<ColumnId>,
    next: u32,
}

impl Parts {
    fn of(schema: &Schema) -> Self {
        let ids = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.id).collect();
        Self {
            columns: schema.columns().to_vec(),
            groups: schema.groups().to_vec(),
            index: ids(&mut schema.index()),
            sequence_by: ids(&mut schema.sequence_by()),
            order_by: ids(&mut schema.order_by()),
            next: schema.next_id(),
        }
    }

    fn build(self) -> Result<Schema> {
        let schema = Schema::from_parts(self.columns, self.groups, self.index, self.sequence_by, self.order_by)?;
        Ok(schema.with_next_id(self.next))
    }
}

impl Schema {
    internal! {
        /// Returns the schema with one more column group of new columns.
        ///
        /// # Errors
        /// - `Invalid`: a name is taken, the group has no columns, or no column ids are left.
        fn with_group(&self, name: &str, columns: impl IntoIterator<Item = (String, ColumnType)>) -> Result<Self> {
            self.with_group_of(name, columns.into_iter().map(|(name, ty)| (name, ty, BTreeMap::new())))
        }
    }

    /// Returns the schema with one more column group of new columns that have properties.
    ///
    /// # Errors
    /// - `Invalid`: a name is taken, the group has no columns, or no column ids are left.
    pub(crate) fn with_group_of(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = (String, ColumnType, BTreeMap<String, Value>)>,
    ) -> Result<Self> {
        self.is_new_group(name)?;
        let mut parts = Parts::of(self);
        let mut ids = Vec::new();
        for (id, (name, ty, properties)) in (u64::from(self.next_id())..).zip(columns) {
            if self.column_named(&name).is_some() {
                return Err(Error::invalid(format!("there is a column `{name}` already; leave it out, or give it another name")));
            }
            let id = ColumnId(u32::try_from(id).map_err(|_| Error::invalid("no column ids are left"))?);
            ids.push(id);
            parts.columns.push(Column { id, name, ty, properties });
        }
        parts.groups.push(ColumnGroup { name: name.to_owned(), columns: ids, masked: Vec::new() });
        parts.build()
    }

    /// Checks that no column group has this name.
    ///
    /// # Errors
    /// - `Invalid`: the name is taken.
    pub(crate) fn is_new_group(&self, name: &str) -> Result<()> {
        match self.groups().iter().any(|group| group.name == name) {
            true => Err(Error::invalid(format!(
                "there is a column group `{name}` already; replace its values (`tetrys replace-group`, `Table.replace_group`), or \
                 choose another name"
            ))),
            false => Ok(()),
        }
    }

    internal! {
        /// Returns the schema in which a group has the valid copies of its columns. Copies of these columns in other groups
        /// are masked.
        ///
        /// # Errors
        /// - `Invalid`: the group does not exist.
        fn with_group_valid(&self, group: usize) -> Result<Self> {
            let mut parts = Parts::of(self);
            let columns = parts.groups.get(group).map(|group| group.columns.clone());
            let columns = columns.ok_or_else(|| Error::invalid(format!("no column group {group}")))?;
            for (number, other) in parts.groups.iter_mut().enumerate() {
                if number == group {
                    other.masked.clear();
                    continue;
                }
                other.masked.extend(other.columns.iter().filter(|id| columns.contains(id)));
                other.masked.sort_unstable();
                other.masked.dedup();
            }
            parts.build()
        }
    }

    internal! {
        /// Returns the schema in which a column is renamed to `name`.
        ///
        /// # Errors
        /// - `NotFound`: the column does not exist.
        /// - `Invalid`: the new name is taken.
        fn with_name(&self, column: &str, name: &str) -> Result<Self> {
            let mut parts = Parts::of(self);
            let found = parts.columns.iter_mut().find(|existing| existing.name == column);
            name.clone_into(&mut found.ok_or_else(|| Error::not_found(format!("no column `{column}`")))?.name);
            parts.build()
        }
    }

    internal! {
        /// Returns the schema without some columns, and the numbers of the groups of `self` that remain.
        ///
        /// A group that loses all of its columns is dropped. A group that loses some of its columns must be rewritten, because blocks
        /// identify columns by position only. The rewritten group has no masked copies: they are dropped too.
        ///
        /// # Errors
        /// - `NotFound`: a column does not exist.
        /// - `Invalid`: a column is the last index column, or belongs to `sequence_by` or `order_by`.
        fn without(&self, columns: &[&str]) -> Result<(Self, Vec<usize>)> {
            let mut parts = Parts::of(self);
            let mut gone = Vec::new();
            for name in columns {
                let found = parts.columns.iter().find(|existing| existing.name == *name);
                gone.push(found.ok_or_else(|| Error::not_found(format!("no column `{name}`")))?.id);
            }
            let name = |id: &ColumnId| self.column(*id).map_or("", |column| &column.name);
            for (what, list) in [("sequence_by", &parts.sequence_by), ("order_by", &parts.order_by)] {
                if let Some(id) = list.iter().find(|id| gone.contains(id)) {
                    return Err(Error::invalid(format!("column `{}` is in {what} and cannot be dropped", name(id))));
                }
            }
            parts.index.retain(|id| !gone.contains(id));
            if parts.index.is_empty() {
                return Err(Error::invalid("the last index column cannot be dropped: a table needs at least one"));
            }
            let (mut groups, mut kept) = (Vec::new(), Vec::new());
            for (number, group) in self.groups().iter().enumerate() {
                if !group.columns.iter().any(|id| gone.contains(id)) {
                    groups.push(group.clone());
                    kept.push(number);
                    continue;
                }
                let stays = |id: &&ColumnId| !gone.contains(id) && !group.masked.contains(id);
                let left: Vec<ColumnId> = group.columns.iter().filter(stays).copied().collect();
                if !left.is_empty() {
                    groups.push(ColumnGroup { name: group.name.clone(), columns: left, masked: Vec::new() });
                    kept.push(number);
                }
            }
            parts.groups = groups;
            parts.columns.retain(|column| !gone.contains(&column.id));
            Ok((parts.build()?, kept))
        }
    }

    internal! {
        /// Returns the schema in which a property of a column is set, or removed if `value` is `None`.
        ///
        /// # Errors
        /// - `NotFound`: the column does not exist.
        /// - `Invalid`: the property asks for bloom filters, which the column cannot have.
        fn with_property(&self, column: &str, key: &str, value: Option<serde_json::Value>) -> Result<Self> {
            let mut parts = Parts::of(self);
            let found = parts.columns.iter_mut().find(|existing| existing.name == column);
            let properties = &mut found.ok_or_else(|| Error::not_found(format!("no column `{column}`")))?.properties;
            match value {
                Some(value) => drop(properties.insert(key.to_owned(), value)),
                None => drop(properties.remove(key)),
            }
            let changed = parts.build()?;
            match changed.column_named(column) {
                Some(existing) if key == BLOOM_FILTER => changed.check_bloom_filter(existing)?,
                _ => {}
            }
            Ok(changed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let schema = Schema::builder().index("log", "utf8").index("host", "utf8").sequence_by(["log"]);
        schema.group("camera", [("jpeg", "binary"), ("pose", "f64[3]")]).group("labels", [("boxes", "f32[?,4]")]).build().unwrap()
    }

    #[test]
    fn ids_are_never_used_again() {
        let grown = schema().with_group("radar", [("radar.x".to_owned(), "f32".parse().unwrap())]).unwrap();
        assert_eq!(grown.groups()[2].columns, [ColumnId(5)]);
        let (shrunk, kept) = grown.without(&["boxes", "host"]).unwrap();
        assert_eq!((kept, shrunk.index().len()), (vec![0, 2], 1));
        assert_eq!(shrunk.column_named("radar.x").unwrap().id, ColumnId(5));
        let (without, _) = shrunk.without(&["radar.x"]).unwrap();
        let again = without.with_group("radar", [("radar.x".to_owned(), "f32".parse().unwrap())]).unwrap();
        assert_eq!(again.column_named("radar.x").unwrap().id, ColumnId(6));
        let renamed = shrunk.with_name("jpeg", "camera.jpeg").unwrap();
        assert_eq!(renamed.column_named("camera.jpeg").unwrap().id, schema().column_named("jpeg").unwrap().id);
    }

    #[test]
    fn bloom_filters_are_checked_for_the_column_that_asks_for_them() {
        let ask = || Some(Value::Bool(true));
        let error = schema().with_property("pose", BLOOM_FILTER, ask()).unwrap_err().to_string();
        assert!(error.contains("column `pose` (f64[3]) cannot have bloom filters"), "{error}");
        // Another writer may have set the property of a column that cannot have filters.
        let mut parts = Parts::of(&schema());
        parts.columns.iter_mut().for_each(|column| drop(column.properties.insert(BLOOM_FILTER.to_owned(), true.into())));
        let found = parts.build().unwrap();
        assert!(found.with_property("log", BLOOM_FILTER, ask()).is_ok());
        let without = found.with_property("pose", BLOOM_FILTER, None).unwrap().with_property("jpeg", BLOOM_FILTER, None).unwrap();
        assert!(!without.column_named("pose").unwrap().has_bloom_filter());
    }

    #[test]
    fn a_group_keeps_its_other_columns_and_goes_with_the_last_valid_one() {
        let (rest, kept) = schema().without(&["pose"]).unwrap();
        let jpeg = schema().column_named("jpeg").unwrap().id;
        assert_eq!((kept, rest.groups()[0].columns.as_slice()), (vec![0, 1], [jpeg].as_slice()));
        assert!(rest.column_named("pose").is_none());

        let copied = Schema::builder().index("log", "utf8").group("all", [("jpeg", "binary"), ("pose", "f64[3]")]);
        let copied = copied.group("camera", [("jpeg", "binary")]).build().unwrap().with_group_valid(1).unwrap();
        assert_eq!(copied.groups()[0].masked, [jpeg_of(&copied)]);
        let (rest, kept) = copied.without(&["pose"]).unwrap();
        assert_eq!((kept, rest.groups().len(), rest.has_masked_copies()), (vec![1], 1, false));
    }

    fn jpeg_of(schema: &Schema) -> ColumnId {
        schema.column_named("jpeg").unwrap().id
    }

    #[test]
    fn what_cannot_go_is_named() {
        let message = |columns: &[&str]| schema().without(columns).unwrap_err().to_string();
        assert_eq!(message(&["log"]), "column `log` is in sequence_by and cannot be dropped");
        assert_eq!(message(&["nothing"]), "no column `nothing`");
        assert!(schema().with_name("jpeg", "pose").unwrap_err().to_string().contains("appears twice"));
    }
}
