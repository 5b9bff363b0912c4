//! What becomes of a frame's columns: the index, the groups, the files to read; and from that the schema of the table.

use std::{collections::BTreeSet, path::PathBuf};

use super::{columns::FrameColumn, source::Frame};
use crate::{
    error::{Error, Result},
    ingest::partitions::Target,
    schema::{self, ColumnType, Schema},
    table::Table,
    write::WriteOptions,
};

/// The group of the small columns that nobody named.
const REST: &str = "rest";

/// A column whose values are files that the frame names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The new column; it may take the name of the column of paths, whose place it then takes.
    pub column: String,
    /// The text column that holds the paths.
    pub paths: String,
}

/// What a file that is not there becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// An error that names row and path.
    #[default]
    Error,
    /// A null.
    Null,
}

/// How a frame is taken in. The default: every column that can be one is an index column, every other a group of its own.
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
    /// Rows with equal values of these make a sequence; they must stand together in the frame.
    pub sequence_by: Vec<String>,
    /// These never fall within a sequence.
    pub order_by: Vec<String>,
    /// Where relative paths begin, and outside of which no file is read; `None`: the folder of the frame.
    pub root: Option<PathBuf>,
    /// What a file that is not there becomes.
    pub missing: Missing,
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

    /// The schema, and the columns of the frame that are stored.
    pub(super) fn choose(&self, columns: &[FrameColumn]) -> Result<(Schema, Vec<FrameColumn>)> {
        self.check_blobs(columns)?;
        let binary = ColumnType::Binary;
        let dropped = select(&self.drop, columns.iter().map(|column| column.name.as_str()), "drop")?;
        let is_blob = |name: &str| self.blobs.iter().any(|blob| blob.column == name);
        let stays = |column: &&FrameColumn| !dropped.contains(column.name.as_str()) && !is_blob(&column.name);
        let own = columns.iter().filter(stays).map(|column| (column.name.as_str(), column.ty.as_ref()));
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
            found.cloned().ok_or_else(|| {
                let arrow = columns.iter().find(|column| column.name == name).map(|column| column.arrow.to_string());
                Error::unsupported(format!(
                    "column `{name}`: no column type for the frame's {}; leave it out with drop",
                    arrow.unwrap_or_default()
                ))
            })
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
        for column in columns.iter().filter(stays) {
            for (key, value) in &column.properties {
                builder = builder.property(&column.name, key, value.clone());
            }
        }
        for blob in &self.blobs {
            builder = builder.property(&blob.column, "paths", blob.paths.as_str());
        }
        Ok((builder.build()?, columns.iter().filter(stays).cloned().collect()))
    }
}

impl FrameSettings {
    /// The columns of the frame that are not left out and whose names no file takes.
    pub(super) fn kept(&self, columns: &[FrameColumn]) -> Result<Vec<FrameColumn>> {
        self.check_blobs(columns)?;
        let dropped = select(&self.drop, columns.iter().map(|column| column.name.as_str()), "drop")?;
        let is_blob = |name: &str| self.blobs.iter().any(|blob| blob.column == name);
        let stays = |column: &&FrameColumn| !dropped.contains(column.name.as_str()) && !is_blob(&column.name);
        Ok(columns.iter().filter(stays).cloned().collect())
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
