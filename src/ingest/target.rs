//! An import makes a new table, appends rows to a table, or overwrites them. The rules of these three are here, for every format and for
//! Python.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::foreign::check_same;
use crate::{
    error::{Error, Result, short},
    schema::{BLOOM_FILTER, Column, ColumnType, NULLABLE, Schema},
    store::Store,
    table::{Table, TableWriter},
    write::WriteOptions,
};

/// Table or version that the rows become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A new table.
    #[default]
    New,
    /// More rows at the end of an existing table.
    Append,
    /// A new version of a table with these rows instead of the old ones. Blocks that are equal to old blocks are not stored
    /// again.
    Overwrite,
}

impl Target {
    /// Returns the target of the rows of a session.
    pub(super) fn of(writer: &TableWriter) -> Self {
        match (writer.appends(), writer.overwrites()) {
            (true, _) => Self::Append,
            (_, true) => Self::Overwrite,
            _ => Self::New,
        }
    }

    /// Returns the schema of the version that rows with the schema `new` make of a table with the schema `base`.
    ///
    /// # Errors
    /// - `Invalid`: the rows cannot be appended, see [`check_columns`]; or no column ids are left.
    pub fn schema(self, base: &Schema, new: Schema) -> Result<Schema> {
        match self {
            Self::New => Ok(new),
            Self::Append => {
                check_columns(base, new.columns().iter().map(|column| (&*column.name, &column.ty, Some(&column.properties))))?;
                Ok(base.clone())
            }
            Self::Overwrite => new.with_ids_after(base),
        }
    }
}

/// The options of every import, whatever the format of its source.
///
/// ```
/// use tetrys::ingest::{IngestOptions, Target, frame::FrameSettings};
/// let options = IngestOptions { target: Target::Append, ..IngestOptions::default() };
/// let settings = FrameSettings { options, ..FrameSettings::default() };
/// ```
#[derive(Clone, Debug, Default)]
pub struct IngestOptions {
    /// How to store rows.
    pub write: WriteOptions,
    /// Number of partitions written at a time. 0 = `TETRYS_THREADS`, or the number of threads of the machine.
    pub workers: usize,
    /// Minimum rows of a partition; a partition ends where a sequence ends. 0 = the default of the format, about 8,192 rows.
    pub partition_rows: u64,
    /// Tables whose chunks may be shared: blocks that they have are not stored again.
    pub references: Vec<Table>,
    /// Whether the rows become a new table or a version of an existing one.
    pub target: Target,
}

impl IngestOptions {
    /// Opens the table that gets the rows. Returns `None` if they become a new table.
    ///
    /// # Errors
    /// - `NotFound`: a new version is wanted, but there is no table.
    /// - Errors of the store.
    pub async fn base(&self, store: &Store) -> Result<Option<Table>> {
        match self.target {
            Target::New => Ok(None),
            Target::Append | Target::Overwrite => Table::open_in(store.clone()).await.map(Some),
        }
    }
}

/// The roles of the columns of rows, as a caller has named them. `None` stands for a role that was not named: a version that overwrites a table
/// takes it from the table.
///
/// ```
/// use tetrys::{Schema, ingest::Roles};
/// let base = Schema::builder().index("time", "i64").group("lidar", [("lidar.points", "f32[?,4]")]).build()?;
/// let columns = ["time", "lidar.points", "camera.jpeg"].map(str::to_owned).into_iter().zip(["i64", "f32[?,4]", "binary"].map(str::to_owned));
/// let schema = Roles::default().schema(&columns.collect::<Vec<_>>(), Some(&base))?;
/// assert_eq!(schema.groups().iter().map(|group| &*group.name).collect::<Vec<_>>(), ["lidar", "camera"]);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Index columns.
    pub index: Option<Vec<String>>,
    /// Column groups and their columns. A column that is neither in a group nor in the index is in the group of its prefix: `lidar.points` is
    /// in `lidar`.
    pub groups: Option<Vec<(String, Vec<String>)>>,
    /// Index columns that define sequences.
    pub sequence_by: Option<Vec<String>>,
    /// Index columns that order the rows of a sequence.
    pub order_by: Option<Vec<String>>,
    /// Columns without nulls.
    pub required: Option<Vec<String>>,
    /// Index columns with bloom filters.
    pub bloom_filters: Option<Vec<String>>,
    /// Properties of columns: column, key and value.
    pub properties: Vec<(String, String, Value)>,
    /// Properties of columns that hold unless one of the others says something else. Those of columns that the rows lack are left out.
    pub defaults: Vec<(String, String, Value)>,
}

/// The columns of each role.
struct Placed {
    index: Vec<String>,
    groups: Vec<(String, Vec<String>)>,
    sequence_by: Vec<String>,
    order_by: Vec<String>,
    properties: Vec<(String, String, Value)>,
}

impl Roles {
    /// Returns the schema of rows whose columns have these names and types, as a new table, or as a version that overwrites a table with the
    /// schema `base`. Columns of both versions then stay in their group, and keep their properties; all columns keep the ids of `base` when
    /// the version is written.
    ///
    /// # Errors
    /// - `Invalid`: a role names a column that the rows lack, or the schema breaks a rule of [`SchemaBuilder::build`](crate::SchemaBuilder::build).
    /// - `Unsupported`: a type is unknown.
    pub fn schema(&self, columns: &[(String, String)], base: Option<&Schema>) -> Result<Schema> {
        let Placed { index, groups, sequence_by, order_by, properties } = self.placed(columns, base)?;
        let types: BTreeMap<&String, &String> = columns.iter().map(|(name, ty)| (name, ty)).collect();
        let typed = |name: String| types.get(&name).map(|ty| (name, (*ty).clone()));
        let mut builder = Schema::builder().sequence_by(sequence_by).order_by(order_by);
        for (name, ty) in index.into_iter().filter_map(typed) {
            builder = builder.index(name, ty);
        }
        for (group, members) in groups {
            builder = builder.group(group, members.into_iter().filter_map(typed));
        }
        for (column, key, value) in properties {
            builder = builder.property(column, key, value);
        }
        builder.build()
    }

    /// Checks that rows whose columns have these names and types can be appended to a table with the schema `base`, and that the roles are
    /// those of the table.
    ///
    /// # Errors
    /// - `Invalid`: a role names a column that the rows lack, the rows have other columns or types than the table, or a role is another one.
    /// - `Unsupported`: a type is unknown.
    pub fn check_appended(&self, columns: &[(String, String)], base: &Schema) -> Result<()> {
        let placed = self.placed(columns, None)?;
        let mut declared: BTreeMap<&str, BTreeMap<String, Value>> = BTreeMap::new();
        for (column, key, value) in &placed.properties {
            declared.entry(column).or_default().insert(key.clone(), value.clone());
        }
        // Without the Arrow type, the values may have been of any.
        declared.retain(|_, properties| properties.contains_key("arrow"));
        let types =
            columns.iter().map(|(name, ty)| Ok((name.as_str(), ty.parse::<ColumnType>().map_err(|error| error.at(name))?)));
        let types = types.collect::<Result<Vec<_>>>()?;
        check_columns(base, types.iter().map(|(name, ty)| (*name, ty, declared.get(name))))?;
        check_setting("index", placed.index.iter().map(String::as_str), base.index())?;
        check_setting("sequence_by", placed.sequence_by.iter().map(String::as_str), base.sequence_by())?;
        check_setting("order_by", placed.order_by.iter().map(String::as_str), base.order_by())
    }

    /// Gives each column its role. Roles that are not named come from `base`.
    fn placed(&self, columns: &[(String, String)], base: Option<&Schema>) -> Result<Placed> {
        let there: BTreeSet<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
        let like = |named: &Option<Vec<String>>, of: &dyn Fn(&Schema) -> Vec<String>| {
            named.clone().or_else(|| base.map(of)).unwrap_or_default()
        };
        let index = like(&self.index, &|base| names(&mut base.index()));
        let lacking: Vec<&str> = index.iter().map(String::as_str).filter(|name| !there.contains(name)).collect();
        if !lacking.is_empty() {
            return Err(Error::invalid(format!("index columns that do not exist: {}", short(lacking.join(", ")))));
        }
        let groups = match (&self.groups, base) {
            (Some(groups), _) => groups.clone(),
            (None, Some(base)) => {
                let in_index: BTreeSet<&str> = index.iter().map(String::as_str).collect();
                groups_within(base, |name| there.contains(name) && !in_index.contains(name))
            }
            (None, None) => Vec::new(),
        };
        let groups = grouped(columns, &index, groups)?;
        let properties = self.properties_like(base, &there, &index, columns);
        let sequence_by = like(&self.sequence_by, &|base| names(&mut base.sequence_by()));
        let order_by = like(&self.order_by, &|base| names(&mut base.order_by()));
        Ok(Placed { index, groups, sequence_by, order_by, properties })
    }

    /// Returns the properties of the columns: those that the caller has named, the defaults, and those of `base`.
    fn properties_like(
        &self,
        base: Option<&Schema>,
        there: &BTreeSet<&str>,
        index: &[String],
        columns: &[(String, String)],
    ) -> Vec<(String, String, Value)> {
        let flags = |columns: &Option<Vec<String>>, key: &str, value: bool| -> Vec<(String, String, Value)> {
            columns.iter().flatten().map(|column| (column.clone(), key.to_owned(), Value::from(value))).collect()
        };
        let mut properties = self.properties.clone();
        properties.extend(flags(&self.required, NULLABLE, false));
        properties.extend(flags(&self.bloom_filters, BLOOM_FILTER, true));
        let mut seen: BTreeSet<(String, String)> =
            properties.iter().map(|(column, key, _)| (column.clone(), key.clone())).collect();
        let can_have_filter = |name: &str| {
            let ty = columns.iter().find(|(existing, _)| existing == name).and_then(|(_, ty)| ty.parse::<ColumnType>().ok());
            index.iter().any(|existing| existing == name) && ty.is_some_and(|ty| ty.may_have_bloom_filter())
        };
        let of_base = base
            .iter()
            .flat_map(|base| base.columns())
            .flat_map(|column| column.properties.iter().map(|(key, value)| (column.name.clone(), key.clone(), value.clone())));
        let of_base = of_base.filter(|(name, key, _)| match key.as_str() {
            // A list of such columns names them all.
            NULLABLE => self.required.is_none(),
            BLOOM_FILTER => self.bloom_filters.is_none() && can_have_filter(name),
            _ => true,
        });
        for (column, key, value) in self.defaults.iter().cloned().chain(of_base) {
            if there.contains(column.as_str()) && seen.insert((column.clone(), key.clone())) {
                properties.push((column, key, value));
            }
        }
        properties
    }
}

/// Returns the groups of a schema with those of their columns for which `keep` is true, without groups that then have none.
fn groups_within(base: &Schema, keep: impl Fn(&str) -> bool) -> Vec<(String, Vec<String>)> {
    let groups = base.groups().iter().map(|group| {
        let members = group.columns.iter().filter_map(|id| base.column(*id)).map(|column| column.name.clone());
        (group.name.clone(), members.filter(|name| keep(name)).collect::<Vec<_>>())
    });
    groups.filter(|(_, members)| !members.is_empty()).collect()
}

/// Puts the columns that have no place yet into the groups of their prefixes.
///
/// # Errors
/// - `Invalid`: a group has a column that does not exist.
fn grouped(
    columns: &[(String, String)],
    index: &[String],
    mut groups: Vec<(String, Vec<String>)>,
) -> Result<Vec<(String, Vec<String>)>> {
    let there: BTreeSet<&String> = columns.iter().map(|(name, _)| name).collect();
    let placed: BTreeSet<String> = groups.iter().flat_map(|(_, members)| members).chain(index).cloned().collect();
    let unknown: Vec<&str> = placed.iter().filter(|name| !there.contains(name)).map(String::as_str).collect();
    if !unknown.is_empty() {
        return Err(Error::invalid(format!("columns of `groups` that do not exist: {}", short(unknown.join(", ")))));
    }
    let mut places: BTreeMap<String, usize> =
        groups.iter().enumerate().map(|(place, (group, _))| (group.clone(), place)).collect();
    for (name, _) in columns.iter().filter(|(name, _)| !placed.contains(name)) {
        let prefix = name.split('.').next().unwrap_or_default();
        let place = *places.entry(prefix.to_owned()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, members)) => members.push(name.clone()),
            None => groups.push((prefix.to_owned(), vec![name.clone()])),
        }
    }
    Ok(groups)
}

/// Creates the writer of rows with this schema, for a new table or a new version of `base`. Opens the base if it is not given.
///
/// # Errors
/// - `Exists`: a new table is wanted, but there is one already.
/// - `NotFound`: a new version is wanted, but there is no table.
/// - `Invalid`: the rows to append have other columns than the table.
pub async fn writer(store: Store, base: Option<Table>, schema: Schema, options: &IngestOptions) -> Result<TableWriter> {
    let base = if base.is_none() { options.base(&store).await? } else { base };
    let write = options.write.clone();
    let writer = match (base, options.target) {
        (Some(table), Target::Append) => {
            Target::Append.schema(table.schema(), schema).map_err(|error| error.at(table.url()))?;
            table.append(write).await?
        }
        (Some(table), Target::Overwrite) => table.overwrite(schema, write).await?,
        _ => Table::create_in(store, schema, write).await?,
    };
    writer.references(&options.references).await
}

/// Checks that columns of rows to append are those of the table: their names, their types, and the Arrow types that their values had
/// before. A column has a name, a type and properties, or `None` if nothing is known of its values.
///
/// # Errors
/// - `Invalid`: a column is missing, the table lacks one, or a type differs. The message names the column.
pub fn check_columns<'a>(
    base: &Schema,
    columns: impl IntoIterator<Item = (&'a str, &'a ColumnType, Option<&'a BTreeMap<String, Value>>)>,
) -> Result<()> {
    let names = |lacking: &dyn Fn(&str) -> bool| {
        let names = base.columns().iter().map(|column| column.name.as_str()).filter(|name| lacking(name));
        names.collect::<Vec<_>>()
    };
    let mut found = BTreeSet::new();
    for (name, ty, properties) in columns {
        let Some(here) = base.column_named(name) else {
            let all = short(names(&|_| true).join(", "));
            return Err(Error::invalid(format!(
                "rows to append have a column `{name}` that the table lacks; drop it (the table has {all})"
            )));
        };
        if here.ty != *ty {
            return Err(Error::invalid(format!("column `{name}`: rows to append have {ty}, the table has {}", here.ty)));
        }
        properties.map_or(Ok(()), |properties| check_same(here, ty, properties))?;
        found.insert(name);
    }
    match names(&|name| !found.contains(name)).as_slice() {
        [] => Ok(()),
        lacking => Err(Error::invalid(format!("rows to append lack columns that the table has: {}", short(lacking.join(", "))))),
    }
}

/// Checks that a setting for rows to append names the columns that the table has in this role. A setting without columns is not given.
///
/// # Errors
/// - `Invalid`: the columns differ. The message names the setting and the columns.
pub fn check_setting<'a, 'b>(
    setting: &str,
    given: impl IntoIterator<Item = &'a str>,
    base: impl IntoIterator<Item = &'b Column>,
) -> Result<()> {
    let given: BTreeSet<&str> = given.into_iter().collect();
    let has: BTreeSet<&str> = base.into_iter().map(|column| column.name.as_str()).collect();
    if given.is_empty() || given == has {
        return Ok(());
    }
    let listed = |names: BTreeSet<&str>| short(Vec::from_iter(names).join(", "));
    Err(Error::invalid(format!(
        "{setting}: rows to append must match the table: {}; found {}; omit the setting, or overwrite",
        if has.is_empty() { "none".to_owned() } else { listed(has) },
        listed(given)
    )))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    /// Numbers that look random.
    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below.max(1)
    }

    const NAMES: [&str; 8] = ["log", "time", "a.x", "a.y", "b.x", "b.y.z", "c", "id"];
    const TYPES: [&str; 2] = ["i64", "utf8"];

    /// Returns random columns, of which the first are in the index, each other one in a random group or in none, and properties.
    fn rows(state: &mut u64) -> (Vec<(String, String)>, Roles) {
        let kept = NAMES.iter().filter(|name| **name == "log" || random(state, 4) > 0).collect::<Vec<_>>();
        let columns: Vec<(String, String)> =
            kept.iter().map(|name| ((**name).to_owned(), TYPES[random(state, 2) as usize].to_owned())).collect();
        let index: Vec<String> = columns.iter().map(|(name, _)| name.clone()).take(1 + random(state, 2) as usize).collect();
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for (name, _) in &columns[index.len()..] {
            let group = ["a", "mine", ""][random(state, 3) as usize];
            match groups.iter_mut().find(|(existing, _)| existing == group) {
                _ if group.is_empty() => {}
                Some((_, members)) => members.push(name.clone()),
                None => groups.push((group.to_owned(), vec![name.clone()])),
            }
        }
        let some = |of: Vec<String>, state: &mut u64| (random(state, 2) > 0).then_some(of);
        let properties = columns.iter().filter(|_| random(state, 3) == 0);
        let properties = properties.map(|(name, _)| (name.clone(), "unit".to_owned(), Value::from("ms"))).collect();
        let roles = Roles {
            sequence_by: some(vec![index[0].clone()], state),
            order_by: some(index[1..].to_vec(), state),
            required: some(vec![columns.last().unwrap().0.clone()], state),
            index: Some(index),
            groups: some(Vec::new(), state).map(|_| groups),
            properties,
            ..Roles::default()
        };
        (columns, roles)
    }

    fn names<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<&'a str> {
        columns.map(|column| column.name.as_str()).collect()
    }

    /// Returns the group of each group column.
    fn group_of(schema: &Schema) -> BTreeMap<&str, &str> {
        let pairs = schema.groups().iter().flat_map(|group| {
            group.columns.iter().filter_map(|id| schema.column(*id)).map(|column| (column.name.as_str(), group.name.as_str()))
        });
        pairs.collect()
    }

    /// A plain model: each column alone, by the rules of the guide.
    #[test]
    fn random_versions_that_overwrite_a_table_keep_what_is_not_named() {
        for seed in 0..2_000 {
            let mut state = seed * 2 + 1;
            let (columns, roles) = rows(&mut state);
            let base = roles.schema(&columns, None).unwrap();
            assert_eq!(names(base.index()), roles.index.clone().unwrap(), "seed {seed}");
            let named = |roles: &Roles, name: &str| {
                let found = roles.groups.iter().flatten().find(|(_, members)| members.iter().any(|existing| existing == name));
                found.map(|(group, _)| group.clone())
            };
            let prefix = |name: &str| name.split('.').next().unwrap().to_owned();
            for (name, group) in group_of(&base) {
                assert_eq!(group, named(&roles, name).unwrap_or_else(|| prefix(name)), "seed {seed}: {name}");
            }
            let (columns, again) = rows(&mut state);
            let again = if random(&mut state, 2) == 0 { Roles::default() } else { again };
            let there = |name: &str| columns.iter().any(|(existing, _)| existing == name);
            let wanted: Vec<&str> =
                again.index.as_ref().map_or_else(|| names(base.index()), |index| index.iter().map(String::as_str).collect());
            let found = again.schema(&columns, Some(&base));
            let keys =
                again.sequence_by.clone().unwrap_or_else(|| names(base.sequence_by()).into_iter().map(str::to_owned).collect());
            let order = again.order_by.clone().unwrap_or_else(|| names(base.order_by()).into_iter().map(str::to_owned).collect());
            let in_index = |name: &String| wanted.contains(&name.as_str());
            if !wanted.iter().all(|name| there(name)) || !keys.iter().chain(&order).all(in_index) {
                assert_eq!(found.unwrap_err().kind(), crate::error::ErrorKind::Invalid, "seed {seed}");
                continue;
            }
            let found = found.unwrap();
            assert_eq!((names(found.index()), names(found.sequence_by())), (wanted, keys.iter().map(String::as_str).collect()));
            let old = group_of(&base);
            for (name, group) in group_of(&found) {
                let kept = again.groups.is_none().then(|| old.get(name)).flatten().map(|group| (*group).to_owned());
                assert_eq!(group, named(&again, name).or(kept).unwrap_or_else(|| prefix(name)), "seed {seed}: {name}");
            }
            for column in found.columns() {
                let before = base.column_named(&column.name);
                let was_required = before.is_some_and(|column| !column.is_nullable());
                let required = again.required.as_ref().map_or(was_required, |required| required.contains(&column.name));
                assert_eq!(column.is_nullable(), !required, "seed {seed}: {}", column.name);
                let has_unit = |column: &Column| column.properties.contains_key("unit");
                let declared = again.properties.iter().any(|(name, ..)| *name == column.name);
                assert_eq!(has_unit(column), declared || before.is_some_and(has_unit), "seed {seed}: {}", column.name);
            }
        }
    }

    #[test]
    fn bloom_filters_are_kept_where_the_column_still_can_have_them() {
        let columns = |ty: &str| vec![("id".to_owned(), ty.to_owned()), ("log".to_owned(), "utf8".to_owned())];
        let index = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let roles = Roles { index: index(&["id", "log"]), bloom_filters: index(&["id"]), ..Roles::default() };
        let base = roles.schema(&columns("i64"), None).unwrap();
        for (roles, ty, has) in [
            (Roles::default(), "i64", true),
            (Roles::default(), "f64", false),
            (Roles { index: index(&["log"]), ..Roles::default() }, "i64", false),
            (Roles { bloom_filters: index(&["log"]), ..Roles::default() }, "i64", false),
        ] {
            let found = roles.schema(&columns(ty), Some(&base)).unwrap();
            assert_eq!(found.column_named("id").unwrap().has_bloom_filter(), has, "{roles:?}, {ty}");
        }
    }

    #[test]
    fn roles_of_columns_that_do_not_exist_are_refused_by_name() {
        let columns = vec![("time".to_owned(), "i64".to_owned())];
        let message = |roles: Roles| roles.schema(&columns, None).unwrap_err().to_string();
        let index = Roles { index: Some(vec!["log".to_owned()]), ..Roles::default() };
        assert_eq!(message(index), "index columns that do not exist: log");
        let groups = Roles { groups: Some(vec![("g".to_owned(), vec!["x".to_owned(), "time".to_owned()])]), ..Roles::default() };
        assert_eq!(message(groups), "columns of `groups` that do not exist: x");
        let base = Schema::builder().index("time", "i64").build().unwrap();
        let roles = Roles { sequence_by: Some(vec!["time".to_owned()]), ..Roles::default() };
        let error = roles.check_appended(&columns, &base).unwrap_err().to_string();
        assert!(error.starts_with("sequence_by: rows to append must match the table: none; found time"), "{error}");
        assert!(Roles::default().check_appended(&columns, &base).is_ok());
    }
}
