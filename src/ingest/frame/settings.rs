//! Settings of an import: they assign a frame's columns to the index, to column groups and to files, and define the schema of the
//! table.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{columns::FrameColumn, source::Frame};
use crate::{
    error::{Error, Result, short},
    ingest::target::{IngestOptions, Target, check_columns, check_setting},
    schema::{self, Column, ColumnGroup, ColumnType, Schema},
    table::Table,
    work::Stop,
};

/// Group of small columns that no setting assigns.
const REST: &str = "rest";

/// Maximum bytes of a file, because a page cannot hold more.
pub(super) const MAX_BLOB: u64 = 1 << 30;

/// A column whose values are the contents of files that the frame names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blob {
    /// Name of the new column. If it equals `paths`, the new column replaces the column of paths.
    pub column: String,
    /// Text column that holds the paths.
    pub paths: String,
    /// The content of the files that the column holds.
    pub content: Content,
}

impl Blob {
    /// Names a column of contents of the files whose paths another column has.
    pub fn new(column: impl Into<String>, paths: impl Into<String>, content: Content) -> Self {
        Self { column: column.into(), paths: paths.into(), content }
    }
}

/// The content of a file that a column holds: its bytes, or its array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// All bytes of the file. The column is `binary`.
    #[default]
    Bytes,
    /// The array of an `.npy` file, as numpy loads it. The column is a tensor of this type; an array of another type or shape is an
    /// error. `None`: the type of the table's column if the rows join a table, else the type that all files have. Extents that
    /// differ between files vary: `f32[?,4]`.
    Npy(Option<ColumnType>),
}

/// Where the types of arrays come from, unless the settings declare them.
#[derive(Clone, Debug)]
pub(super) enum Types {
    /// The files.
    OfFiles,
    /// The files. If the table has a type that all of them fit, that type.
    LikeTable(Schema),
    /// The table, which the rows join. The files, if the table has no such tensor column.
    OfTable(Schema),
}

/// How to treat missing files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Return an error that names row and path.
    #[default]
    Error,
    /// Store a null.
    Null,
}

/// Counts missing files by blob column during an import with [`Missing::Null`]. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct MissingFiles(Arc<Mutex<BTreeMap<String, u64>>>);

impl MissingFiles {
    /// Returns the number of missing files of each blob column that has any.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.lock().clone()
    }

    pub(super) fn count(&self, blob: &str) {
        *self.lock().entry(blob.to_owned()).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How to import a frame. By default every column of an indexable type is an index column, and every other column is a group of
/// its own. If the rows become a version of an existing table ([`Target`]), the defaults are those of the table.
///
/// Columns are named by [patterns](crate::schema::ColumnPattern).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FrameSettings {
    /// Index columns. `None`: every column of an indexable type that no group takes.
    pub index: Option<Vec<String>>,
    /// Column groups and their columns. Columns that neither a group nor the index takes become groups of their own, and all
    /// small ones of them form the group `rest`.
    pub groups: Vec<(String, Vec<String>)>,
    /// Columns whose values are the contents of files.
    pub blobs: Vec<Blob>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Whether to leave out columns that have no column type. Otherwise such columns are an error. See [`Frame::unsupported`].
    pub skip_unsupported: bool,
    /// Columns that define sequences: rows with equal values in them. The rows of a sequence must be consecutive in the frame.
    pub sequence_by: Vec<String>,
    /// Columns whose values never fall within a sequence.
    pub order_by: Vec<String>,
    /// Base of relative paths. No file outside of this folder is read. `None`: the folder of the frame,
    /// or the current folder for a pipe or a reader.
    pub root: Option<PathBuf>,
    /// How to treat missing files.
    pub missing: Missing,
    /// Counts missing files. The lineage of the table has these counts, too.
    pub missing_files: MissingFiles,
    /// Maximum bytes of a file. `None`: 1 GiB, which is also the upper limit.
    pub max_blob: Option<u64>,
    /// How to store rows, and what they become. The default of `partition_rows` is 8,192, or 1,024 if files are read.
    pub options: IngestOptions,
}

impl FrameSettings {
    /// Reads the files that the column `paths` names into `column`.
    pub fn blob(mut self, column: impl Into<String>, paths: impl Into<String>) -> Self {
        self.blobs.push(Blob { column: column.into(), paths: paths.into(), content: Content::Bytes });
        self
    }

    /// Reads the arrays of the `.npy` files that the column `paths` names into the tensor column `column`. Its type is the one
    /// that all files have ([`Content::Npy`]).
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Store, ingest::frame::{Frame, FrameSettings, ingest}};
    /// // The frame has the columns log_id, timestamp and sweep: `0042.npy`.
    /// let frame = Frame::parquet("recordings/labels.parquet")?;
    /// let settings = FrameSettings::default().npy("lidar.points", "sweep").sequence_by(["log_id"]);
    /// let table = ingest(&frame, Store::open("drives")?, &settings, |_| {}).await?;
    /// let row = table.row_loader().get_row(0).await?;
    /// println!("{:?}", row.tensor::<f32>("lidar.points")?.shape()); // [612, 4]
    /// # Ok(()) }
    /// ```
    pub fn npy(mut self, column: impl Into<String>, paths: impl Into<String>) -> Self {
        self.blobs.push(Blob { column: column.into(), paths: paths.into(), content: Content::Npy(None) });
        self
    }

    /// Stores the columns that match these patterns in one column group.
    pub fn group<P: Into<String>>(mut self, name: impl Into<String>, patterns: impl IntoIterator<Item = P>) -> Self {
        self.groups.push((name.into(), patterns.into_iter().map(Into::into).collect()));
        self
    }

    /// Sets the index columns. The columns of `sequence_by` and `order_by` are index columns in any case.
    pub fn index<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.index = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the columns that define sequences: rows with equal values in them.
    pub fn sequence_by<P: Into<String>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.sequence_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the columns whose values never fall within a sequence.
    pub fn order_by<P: Into<String>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.order_by = names.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the schema of the new table for `frame`. Arrays without a declared type are looked up in the headers of their files.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column of the frame; the message names the nearest column. Or a file is missing.
    /// - `Unsupported`: a column has a type without a column type.
    /// - `Invalid`: the settings break a rule of schemas. The message names the column.
    /// - `Denied`, `Corrupt`: a file of an array is outside the root, or no array.
    pub fn schema(&self, frame: &Frame) -> Result<Schema> {
        let settings = self.with_types(frame, &Types::OfFiles, &Stop::default())?;
        settings.choose(frame.columns()).map(|(schema, _)| schema)
    }

    /// Returns the schema of a version of `table` with rows of `frame`, for [`Target::Append`] and [`Target::Overwrite`].
    ///
    /// Rows to append must have the table's columns, and the settings for index, groups, sequences and order must equal those of
    /// the table. Rows that overwrite the table have the schema of these settings. Missing settings come from the table, as far
    /// as the frame has these columns.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column of the frame. The message names the nearest column.
    /// - `Unsupported`: a column has a type without a column type.
    /// - `Invalid`: the settings break a rule of schemas, or the rows to append do not fit the table. The message names what the
    ///   table has.
    pub fn schema_for(&self, frame: &Frame, table: &Table) -> Result<Schema> {
        let settings = self.with_types(frame, &self.types_for(table), &Stop::default())?;
        settings.choose_for(frame, table).map(|(schema, _)| schema)
    }

    /// Where the types of arrays come from, if the rows become a version of `table`.
    pub(super) fn types_for(&self, table: &Table) -> Types {
        match self.options.target {
            Target::Append => Types::OfTable(table.schema().clone()),
            _ => Types::LikeTable(table.schema().clone()),
        }
    }

    /// Returns the schema for the target, and the columns of the frame that are stored.
    pub(super) fn choose_for(&self, frame: &Frame, table: &Table) -> Result<(Schema, Vec<FrameColumn>)> {
        match self.options.target {
            target @ Target::Append => {
                let chosen = self.choose_as(target, &frame.columns_for(table.schema()), table.schema());
                chosen.map_err(|error| error.at(table.url()))
            }
            _ => self.choose_like(frame.columns(), table.schema()),
        }
    }

    /// Returns the schema of a version of a table with the schema `here`, and the columns of the frame that are stored.
    pub(super) fn choose_as(&self, target: Target, columns: &[FrameColumn], here: &Schema) -> Result<(Schema, Vec<FrameColumn>)> {
        match target {
            Target::New => self.choose(columns),
            Target::Append => self.choose_more(columns, here),
            Target::Overwrite => {
                let (schema, columns) = self.choose_like(columns, here)?;
                Ok((target.schema(here, schema)?, columns))
            }
        }
    }

    /// Chooses as for a new table. Missing settings come from the schema `here`, as far as the frame has its columns.
    pub(super) fn choose_like(&self, columns: &[FrameColumn], here: &Schema) -> Result<(Schema, Vec<FrameColumn>)> {
        let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
        // `names` has names of columns, which must not act as patterns.
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
                // As in a new table, a column that the table lacks becomes an index column if its type allows.
                let new = columns.iter().filter(|column| here.column_named(&column.name).is_none());
                let new =
                    new.filter(|column| column.ty.as_ref().is_some_and(ColumnType::is_indexable) && !self.is_blob(&column.name));
                settings.index = Some(index.iter().chain(new.map(|column| &column.name)).map(exact).collect());
            } else {
                // Columns that the settings assign to the index leave their group.
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
        // Remove columns that are left out from the index and the groups.
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

    /// Checks rows to append. Their schema is the table's.
    fn choose_more(&self, columns: &[FrameColumn], here: &Schema) -> Result<(Schema, Vec<FrameColumn>)> {
        let kept = self.kept(columns)?;
        let binary = ColumnType::Binary;
        let none = BTreeMap::new();
        let own = kept.iter().map(|column| (&*column.name, column.ty.as_ref().unwrap_or(&binary), Some(&column.properties)));
        let of_files = self.blob_types()?;
        let is_new_null = |column: &&FrameColumn| column.is_nulls && here.column_named(&column.name).is_none();
        if let Some(column) = kept.iter().find(is_new_null) {
            return Err(Error::invalid(format!(
                "rows to append have structs that are not null although all their fields are null, and the table lacks the column \
                 `{}` that would tell them from null; drop it to store them as null",
                column.name
            )));
        }
        let found: Vec<_> = own.chain(of_files.iter().map(|(name, ty)| (*name, ty, Some(&none)))).collect();
        check_columns(here, found.iter().copied())?;
        let chosen = |what: &str, wanted: &[String]| select(wanted, found.iter().map(|(name, ..)| *name), what);
        if let Some(index) = &self.index {
            // The columns of sequences are always in the index.
            let keys = here.sequence_by().chain(here.order_by()).map(|column| column.name.clone());
            let index: Vec<String> = index.iter().cloned().chain(keys).collect();
            check_setting("index", chosen("index", &index)?, here.index())?;
        }
        check_setting("sequence_by", chosen("sequence_by", &self.sequence_by)?, here.sequence_by())?;
        check_setting("order_by", chosen("order_by", &self.order_by)?, here.order_by())?;
        for (name, patterns) in &self.groups {
            let group = here.groups().iter().find(|group| group.name == *name);
            let has = group.iter().flat_map(|group| &group.columns).filter_map(|id| here.column(*id));
            let setting = format!("group `{name}`");
            check_setting(&setting, chosen(&setting, patterns)?, has)?;
        }
        Ok((here.clone(), kept))
    }

    /// Returns the schema of a new table, and the columns of the frame that are stored.
    pub(super) fn choose(&self, columns: &[FrameColumn]) -> Result<(Schema, Vec<FrameColumn>)> {
        let all = self.kept(columns)?;
        let of_files = self.blob_types()?;
        let own = all.iter().map(|column| (column.name.as_str(), column.ty.as_ref()));
        let kept: Vec<(&str, Option<&ColumnType>)> = own.chain(of_files.iter().map(|(name, ty)| (*name, Some(ty)))).collect();
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
        // Columns keep the order of the frame, whatever the order of the settings.
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
    /// Returns the columns of the frame that are neither left out nor replaced by a blob. All of them have types.
    ///
    /// # Errors
    /// - `Unsupported`: columns have no type. The message names all of them.
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

    /// Returns the columns to leave out: those that are named, and with `skip_unsupported` those without a type.
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

    /// Returns the columns of files with their types.
    pub(super) fn blob_types(&self) -> Result<Vec<(&str, ColumnType)>> {
        self.blobs.iter().map(|blob| Ok((blob.column.as_str(), blob.ty()?))).collect()
    }

    /// Returns the base of the paths in `frame`.
    pub(super) fn root_of<'a>(&'a self, frame: &'a Frame) -> &'a Path {
        self.root.as_deref().filter(|root| !root.as_os_str().is_empty()).unwrap_or(frame.folder())
    }

    /// Checks that each blob names one text column, and has the name of no other column.
    pub(super) fn check_blobs(&self, columns: &[FrameColumn]) -> Result<()> {
        for blob in &self.blobs {
            let found = select([&blob.paths], columns.iter().map(|column| column.name.as_str()), blob.option())?;
            let paths = columns.iter().find(|column| found.contains(column.name.as_str()));
            if let Some(column) = paths.filter(|column| column.name != blob.paths || !is_text(column)) {
                return Err(Error::invalid(format!(
                    "{}: expected the name of a column of paths, found `{}` of type {}",
                    blob.describe(),
                    column.name,
                    column.arrow
                )));
            }
            if blob.paths != blob.column && columns.iter().any(|column| column.name == blob.column) {
                return Err(Error::invalid(format!("{}: the frame has a column of that name", blob.describe())));
            }
        }
        Ok(())
    }
}

impl Blob {
    /// Returns the name of the setting.
    fn option(&self) -> &'static str {
        match self.content {
            Content::Bytes => "blob",
            Content::Npy(_) => "npy",
        }
    }

    /// Names the setting in a message: blob `camera.jpeg`.
    pub(super) fn describe(&self) -> String {
        format!("{} `{}`", self.option(), self.column)
    }

    /// Returns the type of the column.
    pub(super) fn ty(&self) -> Result<ColumnType> {
        match &self.content {
            Content::Bytes => Ok(ColumnType::Binary),
            Content::Npy(ty) => ty.clone().ok_or_else(|| Error::internal("arrays without a type")),
        }
    }
}

fn is_text(column: &FrameColumn) -> bool {
    matches!(column.ty, Some(ColumnType::Utf8 | ColumnType::Categorical))
}

/// Returns the names that match any of the patterns.
fn select<'a, P: AsRef<str>>(
    patterns: impl IntoIterator<Item = P>,
    names: impl Iterator<Item = &'a str>,
    place: &str,
) -> Result<BTreeSet<&'a str>> {
    let names: Vec<&str> = names.collect();
    let chosen = schema::select(&names, &[], patterns).map_err(|error| error.at(place))?;
    Ok(chosen.into_iter().filter_map(|place| names.get(place).copied()).collect())
}
