//! Assigns the columns of a frame: the index, the groups, the files to read; and from that the schema of the table.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{columns::FrameColumn, source::Frame};
use crate::{
    error::{Error, Result, short},
    ingest::{foreign::check_same, partitions::Target},
    schema::{self, Column, ColumnGroup, ColumnType, Schema},
    table::Table,
    write::WriteOptions,
};

/// The group of the small columns that nobody named.
const REST: &str = "rest";

/// Bytes of the largest file that is read, as a page cannot hold more.
pub(super) const MAX_BLOB: u64 = 1 << 30;

/// A column whose values are files that the frame names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The new column; it may take the name of the column of paths, whose place it then takes.
    pub column: String,
    /// The text column that holds the paths.
    pub paths: String,
}

/// The treatment of files that are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// An error that names row and path.
    #[default]
    Error,
    /// A null.
    Null,
}

/// Counts the files that were not there, by blob, while a frame is taken in with [`Missing::Null`]. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct MissingFiles(Arc<Mutex<BTreeMap<String, u64>>>);

impl MissingFiles {
    /// The blobs of which files were missing, and how many.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.held().clone()
    }

    pub(super) fn count(&self, blob: &str) {
        *self.held().entry(blob.to_owned()).or_default() += 1;
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a frame is taken in. The default: every column that can be one is an index column, every other a group of its own. Where
/// the rows become a version of a table that is there ([`Target`]), the default is what that table has.
///
/// Columns are named as [patterns](crate::ColumnPattern).
#[derive(Clone, Debug, Default)]
pub struct FrameSettings {
    /// The index columns; `None`: every column of an indexable type that no group takes.
    pub index: Option<Vec<String>>,
    /// Column groups and what they hold. Columns that stand neither here nor in the index get groups of their own, the small
    /// ones among them one group, `rest`.
    pub groups: Vec<(String, Vec<String>)>,
    /// Columns whose values are files.
    pub blobs: Vec<Blob>,
    /// Columns left out.
    pub drop: Vec<String>,
    /// Leave out every column for whose type the format has none, instead of an error that names them:
    /// [`Frame::unsupported`].
    pub skip_unsupported: bool,
    /// Rows with equal values of these make a sequence; they must stand together in the frame.
    pub sequence_by: Vec<String>,
    /// These never fall within a sequence.
    pub order_by: Vec<String>,
    /// Where relative paths begin, and outside of which no file is read; `None`: the folder of the frame.
    pub root: Option<PathBuf>,
    /// The treatment of files that are not there.
    pub missing: Missing,
    /// Counts such files; what becomes a table says so in its lineage, too.
    pub missing_files: MissingFiles,
    /// Bytes of the largest file that is read; `None`: 1 GiB, which is the most.
    pub max_blob: Option<u64>,
    /// How rows are stored.
    pub write: WriteOptions,
    /// Partitions written at once; 0 = as many as the machine has threads.
    pub workers: usize,
    /// Rows a partition, at least, as partitions end with sequences; 0 = 8,192, and 1,024 where files are read.
    pub partition_rows: u64,
    /// Tables whose chunks may be used: what they have is not stored again.
    pub references: Vec<Table>,
    /// A new table, or a version of one that is there.
    pub target: Target,
}

impl FrameSettings {
    /// Reads the files that `paths` names into `column`.
    pub fn blob(mut self, column: impl Into<String>, paths: impl Into<String>) -> Self {
        self.blobs.push(Blob { column: column.into(), paths: paths.into() });
        self
    }

    /// Stores these columns together.
    pub fn group<P: Into<String>>(mut self, name: impl Into<String>, patterns: impl IntoIterator<Item = P>) -> Self {
        self.groups.push((name.into(), patterns.into_iter().map(Into::into).collect()));
        self
    }

    /// Takes only these columns, and those of `sequence_by` and `order_by`, into the index.
    pub fn index<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.index = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Rows with equal values of these columns make a sequence.
    pub fn sequence_by<P: Into<String>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.sequence_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// These columns never fall within a sequence.
    pub fn order_by<P: Into<String>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.order_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// The schema of the table that `frame` becomes.
    ///
    /// # Errors
    /// `NotFound` for a column that the frame has not, naming the nearest; `Unsupported` for a type that has no column type, and
    /// `Invalid` for a broken rule, naming the column.
    pub fn schema(&self, frame: &Frame) -> Result<Schema> {
        self.choose(frame.columns()).map(|(schema, _)| schema)
    }

    /// The schema of rows of `frame` that become a version of `table`: [`Target::Append`] and [`Target::Overwrite`].
    ///
    /// Rows to append have the table's columns, and what these settings say of index, groups, sequences and order is what the
    /// table has. Rows to put in place of the others have what these settings say, and where they say nothing, what the table
    /// has, as far as the frame has those columns.
    ///
    /// # Errors
    /// As [`FrameSettings::schema`]; `Invalid` for rows to append that do not fit, naming what the table has.
    pub fn schema_for(&self, frame: &Frame, table: &Table) -> Result<Schema> {
        self.choose_for(frame.columns(), table).map(|(schema, _)| schema)
    }

    /// The schema of the rows of the target, and the columns of the frame that are stored.
    pub(super) fn choose_for(&self, columns: &[FrameColumn], table: &Table) -> Result<(Schema, Vec<FrameColumn>)> {
        let here = table.schema();
        let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
        if self.target == Target::Append {
            return self.choose_more(columns, here).map_err(|error| error.at(table.url()));
        }
        // Columns are named here, not patterns.
        let exact = |name: &String| format!("re:{}", regex::escape(name));
        let there: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).chain(self.blob_names()).collect();
        let mut settings = self.clone();
        if settings.sequence_by.is_empty() && settings.order_by.is_empty() {
            settings.sequence_by = names(&mut here.sequence_by());
            settings.order_by = names(&mut here.order_by());
        }
        let grouped: BTreeSet<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
        let index = names(&mut here.index().filter(|column| there.contains(column.name.as_str())));
        if settings.groups.is_empty() {
            let members = |group: &ColumnGroup| {
                let members = group.columns.iter().filter_map(|id| here.column(*id));
                members.filter(|column| there.contains(column.name.as_str())).map(|column| exact(&column.name)).collect()
            };
            let groups = here.groups().iter().map(|group| (group.name.clone(), members(group)));
            let taken = |patterns: &Vec<String>| !patterns.is_empty();
            settings.groups = groups.filter(|(name, members)| taken(members) && !grouped.contains(name.as_str())).collect();
            if settings.index.is_none() {
                // A column that the table has not is an index column where it can be one, as in a new table.
                let new = columns.iter().filter(|column| here.column_named(&column.name).is_none());
                let new =
                    new.filter(|column| column.ty.as_ref().is_some_and(ColumnType::is_indexable) && !self.is_blob(&column.name));
                settings.index = Some(index.iter().chain(new.map(|column| &column.name)).map(exact).collect());
            } else {
                // What is asked for in the index leaves its group.
                let wanted = select(settings.index.iter().flatten(), there.iter().copied(), "index")?;
                let free = |pattern: &String| !wanted.iter().any(|name| exact(&(*name).to_owned()) == *pattern);
                settings.groups.iter_mut().for_each(|(_, members)| members.retain(free));
                settings.groups.retain(|(_, members)| taken(members));
            }
        } else if settings.index.is_none() {
            let mut grouped = BTreeSet::new();
            for (name, patterns) in &settings.groups {
                grouped.extend(select(patterns, there.iter().copied(), &format!("group `{name}`"))?);
            }
            settings.index = Some(index.iter().filter(|name| !grouped.contains(name.as_str())).map(exact).collect());
        }
        // What is left out is not chosen either.
        let dropped = settings.left_out(columns)?;
        let kept = |pattern: &String| !dropped.iter().any(|name| exact(&(*name).to_owned()) == *pattern);
        settings.groups.iter_mut().for_each(|(_, members)| members.retain(kept));
        settings.groups.retain(|(_, members)| !members.is_empty());
        if self.index.is_none()
            && let Some(index) = &mut settings.index
        {
            index.retain(kept);
        }
        settings.choose(columns)
    }

    /// Rows to append: their columns are the table's, and so is everything else.
    pub(super) fn choose_more(&self, columns: &[FrameColumn], here: &Schema) -> Result<(Schema, Vec<FrameColumn>)> {
        let kept = self.kept(columns)?;
        let binary = ColumnType::Binary;
        let own = kept.iter().map(|column| (column.name.as_str(), column.ty.as_ref().unwrap_or(&binary)));
        let found: Vec<(&str, &ColumnType)> = own.chain(self.blob_names().map(|name| (name, &binary))).collect();
        let none = BTreeMap::new();
        for (name, ty) in &found {
            match here.column_named(name) {
                None => {
                    let names = here.columns().iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
                    let names = short(names);
                    return Err(Error::invalid(format!(
                        "rows to append have a column `{name}`, the table has not; leave it out with drop (the table has {names})"
                    )));
                }
                Some(column) if column.ty != **ty => {
                    return Err(Error::invalid(format!(
                        "column `{name}`: rows to append have {ty}, the table has {}",
                        column.ty
                    )));
                }
                Some(column) => {
                    let own = kept.iter().find(|own| own.name == *name);
                    check_same(column, ty, own.map_or(&none, |own| &own.properties))?;
                }
            }
        }
        let lacking: Vec<&str> = here.columns().iter().map(|column| column.name.as_str()).collect();
        let lacking: Vec<&str> = lacking.into_iter().filter(|name| !found.iter().any(|(other, _)| other == name)).collect();
        if !lacking.is_empty() {
            return Err(Error::invalid(format!("rows to append lack columns that the table has: {}", short(lacking.join(", ")))));
        }
        let all = || found.iter().map(|(name, _)| *name);
        let set = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<BTreeSet<_>>();
        let said = |what: &str, wanted: &[String], has: BTreeSet<String>| -> Result<()> {
            let chosen: BTreeSet<String> = select(wanted, all(), what)?.into_iter().map(str::to_owned).collect();
            match wanted.is_empty() || chosen == has {
                true => Ok(()),
                false => Err(Error::invalid(format!(
                    "{what}: rows to append take what the table has, {}; found {}; leave it away, or overwrite",
                    if has.is_empty() { "none".to_owned() } else { short(Vec::from_iter(has).join(", ")) },
                    short(Vec::from_iter(chosen).join(", "))
                ))),
            }
        };
        // The columns of sequences are in the index whether they are named there or not.
        let keys = set(&mut here.sequence_by().chain(here.order_by()));
        if let Some(index) = &self.index {
            let index: Vec<String> = index.iter().cloned().chain(keys).collect();
            said("index", &index, set(&mut here.index()))?;
        }
        said("sequence_by", &self.sequence_by, set(&mut here.sequence_by()))?;
        said("order_by", &self.order_by, set(&mut here.order_by()))?;
        for (name, patterns) in &self.groups {
            let group = here.groups().iter().find(|group| group.name == *name);
            let has = group.iter().flat_map(|group| &group.columns).filter_map(|id| here.column(*id));
            said(&format!("group `{name}`"), patterns, has.map(|column| column.name.clone()).collect())?;
        }
        Ok((here.clone(), kept))
    }

    /// The schema, and the columns of the frame that are stored.
    pub(super) fn choose(&self, columns: &[FrameColumn]) -> Result<(Schema, Vec<FrameColumn>)> {
        let all = self.kept(columns)?;
        let binary = ColumnType::Binary;
        let own = all.iter().map(|column| (column.name.as_str(), column.ty.as_ref()));
        let blobs = self.blobs.iter().map(|blob| (blob.column.as_str(), Some(&binary)));
        let kept: Vec<(&str, Option<&ColumnType>)> = own.chain(blobs).collect();
        let names = || kept.iter().map(|(name, _)| *name);
        let mut builder = Schema::builder();
        let mut grouped: BTreeSet<&str> = BTreeSet::new();
        let mut groups: Vec<(&str, BTreeSet<&str>)> = Vec::new();
        for (name, patterns) in &self.groups {
            let members = select(patterns, names(), &format!("group `{name}`"))?;
            grouped.extend(&members);
            groups.push((name, members));
        }
        let mut index = match &self.index {
            Some(patterns) => select(patterns, names(), "index")?,
            None => {
                let free = kept.iter().filter(|(name, ty)| !grouped.contains(name) && ty.is_some_and(ColumnType::is_indexable));
                free.map(|(name, _)| *name).collect()
            }
        };
        for (what, wanted) in [("sequence_by", &self.sequence_by), ("order_by", &self.order_by)] {
            index.extend(select(wanted, names(), what)?);
        }
        let mut rest = BTreeSet::new();
        let (mut alone, narrow) = (Vec::new(), |ty: &ColumnType| ty.is_indexable() || matches!(ty, ColumnType::Scalar(_)));
        for (name, ty) in kept.iter().filter(|(name, _)| !index.contains(name) && !grouped.contains(name)) {
            match ty.is_some_and(narrow) {
                true => rest.insert(*name),
                false => {
                    alone.push((*name, BTreeSet::from([*name])));
                    true
                }
            };
        }
        groups.extend(Some((REST, rest)).filter(|(_, members)| !members.is_empty()));
        groups.extend(alone);
        let typed = |name: &str| {
            let found = kept.iter().find(|(other, _)| *other == name).and_then(|(_, ty)| *ty);
            found.cloned().ok_or_else(|| Error::internal(format!("column `{name}` has no type")))
        };
        // In the order of the frame, whatever was named first.
        for name in names().filter(|name| index.contains(name)) {
            builder = builder.index(name, typed(name)?);
        }
        for (group, members) in groups {
            let members: Vec<_> = names().filter(|name| members.contains(name)).collect();
            let members = members.into_iter().map(|name| Ok((name, typed(name)?))).collect::<Result<Vec<_>>>()?;
            builder = builder.group(group, members);
        }
        builder = builder.sequence_by(&self.sequence_by).order_by(&self.order_by);
        for column in &all {
            for (key, value) in &column.properties {
                builder = builder.property(&column.name, key, value.clone());
            }
        }
        for blob in &self.blobs {
            builder = builder.property(&blob.column, "paths", blob.paths.as_str());
        }
        Ok((builder.build()?, all))
    }
}

impl FrameSettings {
    /// The columns of the frame that are not left out and whose names no file takes: all have types.
    ///
    /// # Errors
    /// `Unsupported` where one has none, naming all of them.
    pub(super) fn kept(&self, columns: &[FrameColumn]) -> Result<Vec<FrameColumn>> {
        self.check_blobs(columns)?;
        let dropped = self.left_out(columns)?;
        let stays = |column: &&FrameColumn| !dropped.contains(column.name.as_str()) && !self.is_blob(&column.name);
        let kept: Vec<FrameColumn> = columns.iter().filter(stays).cloned().collect();
        let lacking = kept.iter().filter(|column| column.ty.is_none());
        let lacking: Vec<String> = lacking.map(|column| format!("`{}` ({})", column.name, short(&column.arrow))).collect();
        match lacking.len() {
            0 => Ok(kept),
            _ => Err(Error::unsupported(format!(
                "no column type for the frame's {}; leave them out with drop, or all such columns with skip_unsupported",
                lacking.join(", ")
            ))),
        }
    }

    /// The columns that are not taken: those that are named, and those without a type where that is said.
    fn left_out<'a>(&self, columns: &'a [FrameColumn]) -> Result<BTreeSet<&'a str>> {
        let mut dropped = select(&self.drop, columns.iter().map(|column| column.name.as_str()), "drop")?;
        if self.skip_unsupported {
            dropped.extend(columns.iter().filter(|column| column.ty.is_none()).map(|column| column.name.as_str()));
        }
        Ok(dropped)
    }

    fn is_blob(&self, name: &str) -> bool {
        self.blob_names().any(|blob| blob == name)
    }

    fn blob_names(&self) -> impl Iterator<Item = &str> {
        self.blobs.iter().map(|blob| blob.column.as_str())
    }

    /// Each blob names one column of text, and takes no other column's name.
    fn check_blobs(&self, columns: &[FrameColumn]) -> Result<()> {
        for blob in &self.blobs {
            let found = select([&blob.paths], columns.iter().map(|column| column.name.as_str()), "blob")?;
            let paths = columns.iter().find(|column| found.contains(column.name.as_str()));
            if let Some(column) = paths.filter(|column| column.name != blob.paths || !is_text(column)) {
                return Err(Error::invalid(format!(
                    "blob `{}`: expected the name of a column of paths, found `{}` of type {}",
                    blob.column, column.name, column.arrow
                )));
            }
            if blob.paths != blob.column && columns.iter().any(|column| column.name == blob.column) {
                return Err(Error::invalid(format!("blob `{}`: the frame has a column of that name", blob.column)));
            }
        }
        Ok(())
    }
}

fn is_text(column: &FrameColumn) -> bool {
    matches!(column.ty, Some(ColumnType::Utf8 | ColumnType::Categorical))
}

/// The names that any of the patterns matches.
fn select<'a, P: AsRef<str>>(
    patterns: impl IntoIterator<Item = P>,
    names: impl Iterator<Item = &'a str>,
    place: &str,
) -> Result<BTreeSet<&'a str>> {
    let names: Vec<&str> = names.collect();
    let chosen = schema::select(&names, &[], patterns).map_err(|error| error.at(place))?;
    Ok(chosen.into_iter().filter_map(|place| names.get(place).copied()).collect())
}
