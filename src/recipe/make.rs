//! Runs a recipe: builds the index, and saves it as views.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use super::{Output, Recipe, Several, Source, listed, nearest, unknown};
use crate::{
    commit::Unpinned,
    error::{Error, ErrorKind, Result},
    schema::ColumnPattern,
    store::{Store, StoreOptions},
    table::{Index, MergeWriter, SavedView, SplitWriter, Table, ViewSize, check_part_names, check_targets, split_name},
};

/// A view that a recipe has made, or would make in a dry run.
#[derive(Clone, Debug, Serialize)]
pub struct MadeView {
    /// URL of the view.
    pub view: String,
    /// Name of the part, if the recipe has a split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Size of the view.
    #[serde(flatten)]
    pub size: ViewSize,
    /// Whether the view was saved; false in a dry run.
    pub written: bool,
    /// Version of the saved view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// UUID of the saved view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// URLs in other stores that readers of the view must allow: [`Table::must_allow`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub must_allow: Vec<String>,
    /// Sources to which no pin could be written.
    #[serde(skip)]
    pub unpinned: Vec<Unpinned>,
}

/// How [`Recipe::run_with`] makes views.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Recipe, StoreOptions, recipe::RunOptions};
/// let recipe = Recipe::parse(&std::fs::read_to_string("merge.toml")?)?;
/// let options = RunOptions { memory_limit: Some(8 << 30), temporary_folder: Some("/scratch".into()), ..RunOptions::default() };
/// recipe.run_with(&StoreOptions::from_env(), &options).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Whether to write nothing, and to return what would be saved.
    pub dry_run: bool,
    /// Whether to save views also if no pin can be written to a source, see
    /// [`ViewWriter::allow_unpinned`](crate::table::ViewWriter::allow_unpinned).
    pub allow_unpinned: bool,
    /// Memory in bytes up to which views are made in memory, see [`MergeWriter::memory_limit`] and [`SplitWriter::memory_limit`].
    /// Only recipes that merge two tables and do nothing else use it, and recipes that filter, keep or split the rows of one table.
    /// Others run in memory.
    pub memory_limit: Option<u64>,
    /// Folder for the temporary files of such a recipe, see [`MergeWriter::temporary_folder`].
    pub temporary_folder: Option<PathBuf>,
}

impl Recipe {
    /// Saves the views of the recipe, with the recipe in their lineage. A dry run saves no view and returns what it would save; a
    /// large one writes to the temporary folder. `stores` has the options of the stores of tables and views.
    ///
    /// # Errors
    /// - `Invalid`: the recipe has no output, or a step is impossible.
    /// - `NotFound`: a source, a column, or the view to update does not exist.
    /// - `Exists`: a view exists and `update` is false.
    /// - `Conflict`: the view to update has a newer version, or a garbage collection deleted a version of a source.
    /// - `Denied`: no pin can be written to a source.
    /// - `Corrupt`: stored data of a source is damaged.
    /// - Errors of the stores.
    pub async fn run(&self, stores: &StoreOptions, dry_run: bool) -> Result<Vec<MadeView>> {
        self.run_with(stores, &RunOptions { dry_run, ..RunOptions::default() }).await
    }

    /// Runs the recipe as [`Recipe::run_with`] does, with [`RunOptions::allow_unpinned`].
    ///
    /// # Errors
    /// Those of [`Recipe::run_with`].
    pub async fn run_allowing(&self, stores: &StoreOptions, dry_run: bool, allow_unpinned: bool) -> Result<Vec<MadeView>> {
        self.run_with(stores, &RunOptions { dry_run, allow_unpinned, ..RunOptions::default() }).await
    }

    /// Runs the recipe as [`Recipe::run`] does, with these options. A recipe that only merges two tables, or that only filters and
    /// splits one table, may need more than fits into memory.
    ///
    /// # Errors
    /// - `Invalid`: the recipe has no output, or a step is impossible.
    /// - `NotFound`: a source, a column, or the view to update does not exist.
    /// - `Exists`: a view exists and `update` is false.
    /// - `Conflict`: the view to update has a newer version, or a garbage collection deleted a version of a source.
    /// - `Denied`: no pin can be written to a source, and `allow_unpinned` is false.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    /// - `Corrupt`: stored data of a source is damaged.
    /// - Errors of the stores.
    pub async fn run_with(&self, stores: &StoreOptions, options: &RunOptions) -> Result<Vec<MadeView>> {
        let output = self.output.as_ref().ok_or_else(|| Error::invalid("recipe: no [output]; set `view` there to a URL"))?;
        if output.view.is_empty() {
            // With the name of a part behind it, it would be a folder of the root.
            return Err(Error::invalid("recipe: `view` of [output] is empty: expected the URL of a view"));
        }
        // The names become a part of URLs.
        check_part_names(self.split.iter().flat_map(|split| split.shares.keys()).map(String::as_str))?;
        let stores = &self.allowing(stores);
        let (mut made, mut tables) = (Vec::new(), BTreeMap::new());
        if let Some(merge) = self.large_merge(stores, options, &mut tables).await? {
            let writer = merge.allow_unpinned(options.allow_unpinned).lineage("recipe", self.lineage());
            let mut one = MadeView::of(output.view.clone(), None, ViewSize::default());
            let join = |error: Error| match self.join.first() {
                Some(join) if error.to_string().starts_with("merge: ") => error.at(format!("join with `{}`", join.with)),
                _ => error,
            };
            if options.dry_run {
                one.size = writer.size().await.map_err(join)?;
                return Ok(vec![one]);
            }
            let saved = match output.update {
                true => writer.save_over(&Table::open_with(&one.view, stores).await?).await.map_err(join)?,
                false => writer.save_in(Store::open_with(&one.view, stores)?).await.map_err(join)?,
            };
            one.size = ViewSize::of(&saved.table).await?;
            one.saved(saved).await;
            return Ok(vec![one]);
        }
        if let Some(selection) = self.large_selection(stores, options, &mut tables).await? {
            return self.selected(selection, output, stores, options).await;
        }
        let mut writers = Vec::new();
        for (part, index) in self.executed(stores, &tables).await? {
            let mut writer = index.view_writer().allow_unpinned(options.allow_unpinned).lineage("recipe", self.lineage());
            if let Some(part) = &part {
                writer = writer.lineage("part", part.as_str());
            }
            made.push(MadeView::of(output.view_of(part.as_deref()), part, writer.size().await?));
            writers.push(writer);
        }
        if options.dry_run {
            return Ok(made);
        }
        let targets = output.targets(made.iter().map(|one| one.part.as_deref()), stores).await?;
        if targets.len() > 1 {
            // A part that cannot be saved leaves none of the others behind.
            check_targets(&targets).await?;
        }
        let mut done: Vec<String> = Vec::new();
        for ((one, writer), (store, before)) in made.iter_mut().zip(writers).zip(targets) {
            let saved = match before {
                Some(view) => writer.save_over(&view).await,
                None => writer.save_in(store).await,
            };
            let saved = saved.map_err(|error| match done.as_slice() {
                [] => error,
                saved => error.at(format!("after saving {}", saved.join(", "))),
            })?;
            done.push(format!("`{}`", one.view));
            one.saved(saved).await;
        }
        Ok(made)
    }

    /// Saves the views of a selection or a split that is too large for memory.
    async fn selected(
        &self,
        writer: SplitWriter,
        output: &Output,
        stores: &StoreOptions,
        options: &RunOptions,
    ) -> Result<Vec<MadeView>> {
        let writer = writer.allow_unpinned(options.allow_unpinned).lineage("recipe", self.lineage());
        let view_of = |part: Option<String>, size| MadeView::of(output.view_of(part.as_deref()), part, size);
        if options.dry_run {
            return Ok(writer.sized().await?.into_iter().map(|(part, size)| view_of(part, size)).collect());
        }
        let targets = output.targets(writer.names().iter().map(Option::as_deref), stores).await?;
        let mut made = Vec::with_capacity(targets.len());
        for (part, saved) in writer.publish(targets).await? {
            let mut one = view_of(part, ViewSize::of(&saved.table).await?);
            one.saved(saved).await;
            made.push(one);
        }
        Ok(made)
    }

    /// Returns the index that the recipe makes, or with a split an index for each part, with the name of the part. Saves nothing.
    ///
    /// # Errors
    /// The message names the source or the join.
    /// - `NotFound`: a source or a column does not exist.
    /// - `Invalid`: a step is impossible, such as a merge by keys of different types, or SQL that polars refuses.
    /// - `Corrupt`: stored data of a source is damaged.
    /// - Errors of the stores.
    pub async fn execute(&self, stores: &StoreOptions) -> Result<Vec<(Option<String>, Index)>> {
        self.executed(&self.allowing(stores), &BTreeMap::new()).await
    }

    /// Returns the indexes that the recipe makes. `tables` are open already.
    async fn executed(&self, stores: &StoreOptions, tables: &BTreeMap<&str, Table>) -> Result<Vec<(Option<String>, Index)>> {
        // The only source is filtered while it is loaded.
        let none = Several::default();
        let early = self.from.is_some() && self.concat.is_empty() && self.join.is_empty() && self.columns.is_empty();
        let (early, mut late) = if early { (&self.filter, &none) } else { (&none, &self.filter) };
        let mut opened: BTreeMap<&str, Index> = BTreeMap::new();
        for name in self.from.iter().chain(&self.concat).chain(self.join.iter().map(|join| &join.with)) {
            if opened.contains_key(name.as_str()) {
                continue;
            }
            let mut index = self.open(name, stores, tables, early).await;
            if index.as_ref().is_err_and(|error| error.kind() == ErrorKind::Invalid) {
                // The conditions below explain what is wrong with them.
                (index, late) = (self.open(name, stores, tables, &none).await, &self.filter);
            }
            opened.insert(name, index.map_err(|error| error.at(format!("source `{name}`")))?);
        }
        let source = |name: &str| opened.get(name).ok_or_else(|| Error::internal(format!("source `{name}` is not open")));
        let mut index = match &self.from {
            Some(name) => source(name)?.clone(),
            None => {
                let all = self.concat.iter().map(|name| source(name)).collect::<Result<Vec<_>>>()?;
                if self.fill { Index::concat_filling(all)? } else { Index::concat(all)? }
            }
        };
        if !self.join.is_empty() {
            index = index.with_sources().await?;
        }
        for join in &self.join {
            index = index
                .merge(source(&join.with)?, &join.merge()?)
                .map_err(|error| error.at(format!("join with `{}`", join.with)))?;
        }
        if !self.columns.is_empty() {
            index = index.with_columns_sql(&self.columns).map_err(|error| hinted(&error, &index))?;
        }
        index = filtered(index, late)?;
        if !self.sort.is_empty() {
            index = index.sort(self.sort.0.iter().map(String::as_str), self.descending)?;
        }
        if let Some(rows) = self.sample {
            index = index.sample(rows, self.seed)?;
        }
        if !self.keep.is_empty() {
            index = keep(&index, &self.keep.0)?;
        }
        match &self.split {
            None => Ok(vec![(None, index)]),
            Some(split) => {
                let parts = index.split(&split.by.0, split.ordered(), &split.salt)?;
                Ok(parts.into_iter().map(|(name, part)| (Some(name), part)).collect())
            }
        }
    }

    /// Returns the options with the URLs of all sources allowed: tables of the recipe may refer to them, because the recipe names
    /// them.
    fn allowing(&self, stores: &StoreOptions) -> StoreOptions {
        let roots = self.sources.values().map(|source| match source {
            Source::Table(table) | Source::Some { table, .. } => split_name(table).map_or(table.as_str(), |(root, _)| root),
        });
        // Opening the source refuses an empty URL.
        stores.clone().allow(roots.filter(|root| !root.is_empty()))
    }

    /// Loads the rows of a source for which its own conditions and then `more` conditions are true.
    async fn open(&self, name: &str, stores: &StoreOptions, tables: &BTreeMap<&str, Table>, more: &Several) -> Result<Index> {
        let none = Several::default();
        let (url, filter) = match self.source(name)? {
            Source::Table(table) => (table, &none),
            Source::Some { table, filter } => (table, filter),
        };
        match tables.get(name) {
            Some(table) => chosen(table, filter, more).await,
            None => chosen(&Table::open_with(url, stores).await?, filter, more).await,
        }
    }

    fn source(&self, name: &str) -> Result<&Source> {
        self.sources.get(name).ok_or_else(|| unknown("source", name, "[sources]", []))
    }

    /// Returns the merge that the recipe is, if it only merges two tables and is too large for memory. Adds tables that were
    /// opened to `tables`.
    async fn large_merge<'a>(
        &'a self,
        stores: &StoreOptions,
        options: &RunOptions,
        tables: &mut BTreeMap<&'a str, Table>,
    ) -> Result<Option<MergeWriter>> {
        let steps = self.concat.is_empty() && self.filter.is_empty() && self.columns.is_empty() && self.sort.is_empty();
        let is_merge = steps && self.sample.is_none() && self.keep.is_empty() && self.split.is_none();
        let (Some(left), [join], true) = (self.from.as_deref(), self.join.as_slice(), is_merge) else { return Ok(None) };
        for name in [left, join.with.as_str()] {
            let Source::Table(url) = self.source(name).map_err(|error| error.at(format!("source `{name}`")))? else {
                return Ok(None);
            };
            if !tables.contains_key(name) {
                let opened = Table::open_with(url, stores).await.map_err(|error| error.at(format!("source `{name}`")))?;
                tables.insert(name, opened);
            }
        }
        let (Some(left), Some(right)) = (tables.get(left), tables.get(join.with.as_str())) else { return Ok(None) };
        let mut writer = left.merge_writer(right, join.merge()?);
        if let Some(bytes) = options.memory_limit {
            writer = writer.memory_limit(bytes);
        }
        if let Some(folder) = &options.temporary_folder {
            writer = writer.temporary_folder(folder);
        }
        Ok((!writer.is_in_memory()).then_some(writer))
    }

    /// Returns the selection or the split that the recipe is, if it only filters and splits one table and is too large for memory.
    /// Adds the table to `tables`.
    async fn large_selection<'a>(
        &'a self,
        stores: &StoreOptions,
        options: &RunOptions,
        tables: &mut BTreeMap<&'a str, Table>,
    ) -> Result<Option<SplitWriter>> {
        let steps = self.concat.is_empty() && self.join.is_empty() && self.columns.is_empty() && self.sort.is_empty();
        let (Some(name), true, None) = (self.from.as_deref(), steps, self.sample) else { return Ok(None) };
        let source = |error: Error| error.at(format!("source `{name}`"));
        let none = Several::default();
        let (url, filter) = match self.source(name).map_err(source)? {
            Source::Table(table) => (table, &none),
            Source::Some { table, filter } => (table, filter),
        };
        let table = Table::open_with(url, stores).await.map_err(source)?;
        tables.insert(name, table.clone());
        let mut writer = match &self.split {
            Some(split) => table.split_writer(&split.by.0, split.ordered()).salt(&split.salt),
            None => SplitWriter::whole(&table),
        };
        if let Some(bytes) = options.memory_limit {
            writer = writer.memory_limit(bytes);
        }
        if let Some(folder) = &options.temporary_folder {
            writer = writer.temporary_folder(folder);
        }
        if writer.is_small() {
            return Ok(None);
        }
        // Errors about conditions and patterns name the column that was probably meant.
        let empty = if table.is_view() { table.empty_index_of_view().await? } else { table.empty_index()? };
        let empty = filtered(filtered(empty, filter).map_err(source)?, &self.filter)?;
        if !self.keep.is_empty() {
            writer = writer.columns(keep(&empty, &self.keep.0)?.column_names());
        }
        writer = filter.0.iter().chain(&self.filter.0).fold(writer, |writer, condition| writer.filter_sql(condition));
        Ok((!writer.is_in_memory()?).then_some(writer))
    }
}

impl Output {
    /// Returns where the views of these parts are saved; with `update`, the views that are there.
    async fn targets(
        &self,
        parts: impl Iterator<Item = Option<&str>>,
        stores: &StoreOptions,
    ) -> Result<Vec<(Store, Option<Table>)>> {
        let mut targets = Vec::new();
        for view in parts.map(|part| self.view_of(part)) {
            targets.push(match self.update {
                true => {
                    let view = Table::open_with(&view, stores).await?;
                    (view.store().clone(), Some(view))
                }
                false => (Store::open_with(&view, stores)?, None),
            });
        }
        Ok(targets)
    }

    /// Returns the URL of the view of a part.
    fn view_of(&self, part: Option<&str>) -> String {
        part.map_or_else(|| self.view.clone(), |part| format!("{}/{part}", self.view))
    }
}

impl MadeView {
    /// Describes a view that is not saved.
    fn of(view: String, part: Option<String>, size: ViewSize) -> Self {
        let (version, uuid, unpinned, must_allow) = Default::default();
        Self { view, part, size, written: false, version, uuid, unpinned, must_allow }
    }

    /// Describes the saved view.
    async fn saved(&mut self, saved: SavedView) {
        self.written = true;
        self.version = Some(saved.table.version());
        self.uuid = Some(saved.table.manifest().table.to_string());
        self.must_allow = saved.table.must_allow().await;
        self.unpinned = saved.unpinned;
    }
}

/// Loads the rows of a table for which all conditions are true.
async fn chosen(table: &Table, filter: &Several, more: &Several) -> Result<Index> {
    let conditions = filter.0.iter().chain(&more.0);
    match conditions.fold(table.index(), |request, condition| request.filter_sql(condition.as_str())).await {
        // The whole index tells which column was probably meant.
        Err(error) if error.kind() == ErrorKind::Invalid && more.0.is_empty() => filtered(table.index().await?, filter),
        loaded => loaded,
    }
}

fn filtered(index: Index, filters: &Several) -> Result<Index> {
    filters.0.iter().try_fold(index, |index, filter| index.filter_sql(filter).map_err(|error| hinted(&error, &index)))
}

/// Returns the error of polars about an expression, with the column that was probably meant.
fn hinted(error: &Error, index: &Index) -> Error {
    let said = error.to_string();
    let missing = said.split_once("unable to find column").and_then(|(_, said)| said.split(['"', '\'', '`']).nth(1));
    let near = missing.and_then(|column| nearest(column, index.column_names()));
    let hint = match near {
        Some(near) => format!("nearest: `{near}`"),
        None => format!("index columns: {}", listed(index.column_names())),
    };
    Error::new(error.kind(), format!("{said}\n  hint: {hint}"))
}

/// Keeps the index columns that match any of the patterns.
fn keep(index: &Index, patterns: &[String]) -> Result<Index> {
    let mut kept: Vec<String> = Vec::new();
    for text in patterns {
        let pattern: ColumnPattern = text.parse()?;
        let found: Vec<&str> = index.column_names().filter(|name| pattern.matches(name)).collect();
        if found.is_empty() {
            return Err(unknown("column", text, "the index", index.column_names()));
        }
        for name in found {
            if !kept.iter().any(|held| held == name) {
                kept.push(name.to_owned());
            }
        }
    }
    index.only(&kept.iter().map(String::as_str).collect::<Vec<_>>())
}
