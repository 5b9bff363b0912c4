//! Runs a recipe: builds the index, and saves it as views.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Output, Recipe, Several, Source, unknown};
use crate::{
    commit::Unpinned,
    error::{Error, ErrorKind, Mark, Result},
    schema::ColumnPattern,
    store::StoreOptions,
    table::{
        Index, SavedView, Table, TableSplit, TableUrl, ViewInput, ViewOptions, ViewSize, ViewTarget, check_part_names,
        save_views, view_sizes,
    },
};

/// A view that a recipe has made, or would make in a dry run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
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

impl Recipe {
    /// Saves the views of the recipe, with the recipe in their lineage. `stores` has the options of the stores of tables and views.
    ///
    /// A recipe that only merges two tables, or only filters, keeps columns of and splits one table, may need more than fits into
    /// memory: see [`ViewOptions::memory_limit`]. Others run in memory.
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
    pub async fn run(&self, stores: &StoreOptions, options: &ViewOptions) -> Result<Vec<MadeView>> {
        let (output, stores) = (self.checked_output()?, &self.allowing(stores));
        let input = self.input(stores).await?;
        let target = output.target(&input.parts(), stores).await?;
        let options = options.clone().lineage("recipe", self.lineage());
        let mut made = Vec::new();
        for (part, saved) in save_views(input, target, &options).await.map_err(|error| self.joined(error))? {
            made.push(MadeView::saved(output.view_of(part.as_deref()), part, saved).await);
        }
        Ok(made)
    }

    /// Returns the views that [`Recipe::run`] would save, and saves none. A large one is written to the temporary folder for that.
    ///
    /// # Errors
    /// Those of [`Recipe::run`].
    pub async fn dry_run(&self, stores: &StoreOptions, options: &ViewOptions) -> Result<Vec<MadeView>> {
        let output = self.checked_output()?;
        let sizes = view_sizes(self.input(&self.allowing(stores)).await?, options).await.map_err(|error| self.joined(error))?;
        Ok(sizes.into_iter().map(|(part, size)| MadeView::of(output.view_of(part.as_deref()), part, size)).collect())
    }

    /// Returns the output, and checks names that become parts of URLs.
    fn checked_output(&self) -> Result<&Output> {
        let output = self.output.as_ref().ok_or_else(|| Error::invalid("recipe: no [output]; set `view` there to a URL"))?;
        if output.view.is_empty() {
            // With the name of a part behind it, it would be a folder of the root.
            return Err(Error::invalid("recipe: `view` of [output] is empty: expected the URL of a view"));
        }
        check_part_names(self.split.iter().flat_map(|split| split.shares.keys()).map(String::as_str))?;
        Ok(output)
    }

    /// Adds the name of the join to an error of a merge.
    fn joined(&self, error: Error) -> Error {
        match self.join.first() {
            Some(join) if error.is(Mark::Merge) => error.at(format!("join with `{}`", join.with)),
            _ => error,
        }
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
        self.executed(&self.allowing(stores)).await
    }

    /// Compiles the recipe: to the merge of two tables or to the split of one table, if it does nothing else, or else to indexes.
    async fn input(&self, stores: &StoreOptions) -> Result<ViewInput> {
        let is_plain = self.concat.is_empty() && self.columns.is_empty() && self.sort.is_empty() && self.sample.is_none();
        let is_whole = self.filter.is_empty() && self.keep.is_empty() && self.split.is_none();
        match (&self.from, self.join.as_slice()) {
            (Some(left), [join]) if is_plain && is_whole && self.is_table(left) && self.is_table(&join.with) => {
                let (of_left, _) = self.open(left, stores).await?;
                let of_right = if join.with == *left { of_left.clone() } else { self.open(&join.with, stores).await?.0 };
                Ok(ViewInput::Merge(of_left.merge(&of_right, join.merge()?).of_sources(left, &join.with)))
            }
            (Some(name), []) if is_plain => self.selection(name, stores).await.map(ViewInput::Split),
            _ => self.executed(stores).await.map(ViewInput::Indexes),
        }
    }

    /// Whether all rows of a source are used.
    fn is_table(&self, name: &str) -> bool {
        matches!(self.sources.get(name), Some(Source::Table(_)))
    }

    /// Returns the selection or the split of a source that the recipe is.
    async fn selection(&self, name: &str, stores: &StoreOptions) -> Result<TableSplit> {
        let (table, filter) = self.open(name, stores).await?;
        // Errors about conditions and patterns name the column that was probably meant.
        let source = |error: Error| error.at(format!("source `{name}`"));
        let empty = filtered(table.index_without_rows().await.map_err(source)?, &filter).map_err(source)?;
        let empty = filtered(empty, &self.filter)?;
        let mut split = match &self.split {
            Some(split) => table.split(&split.by.0, split.ordered()).salt(&split.salt),
            None => table.unsplit(),
        };
        split = split.of_source(name);
        if !self.keep.is_empty() {
            split = split.columns(keep(&empty, &self.keep.0)?.column_names());
        }
        Ok(filter.0.iter().chain(&self.filter.0).fold(split, |split, condition| split.filter_sql(condition)))
    }

    /// Returns the indexes that the recipe makes.
    async fn executed(&self, stores: &StoreOptions) -> Result<Vec<(Option<String>, Index)>> {
        // The only source is filtered while it is loaded.
        let none = Several::default();
        let early = self.from.is_some() && self.concat.is_empty() && self.join.is_empty() && self.columns.is_empty();
        let (early, mut late) = if early { (&self.filter, &none) } else { (&none, &self.filter) };
        let mut opened: BTreeMap<&str, Index> = BTreeMap::new();
        for name in self.from.iter().chain(&self.concat).chain(self.join.iter().map(|join| &join.with)) {
            if opened.contains_key(name.as_str()) {
                continue;
            }
            let (table, filter) = self.open(name, stores).await?;
            let mut index = chosen(&table, &filter, early).await;
            if index.as_ref().is_err_and(|error| error.kind() == ErrorKind::Invalid) {
                // The conditions below explain what is wrong with them.
                (index, late) = (chosen(&table, &filter, &none).await, &self.filter);
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
            Source::Table(table) | Source::Some { table, .. } => TableUrl::new(table).root(),
        });
        // Opening the source refuses an empty URL.
        stores.clone().allow(roots.filter(|root| !root.is_empty()))
    }

    /// Opens a source. Returns its table, and its own conditions.
    async fn open(&self, name: &str, stores: &StoreOptions) -> Result<(Table, Several)> {
        let opened = async {
            let source = self.sources.get(name).ok_or_else(|| unknown("source", name, "[sources]", []))?;
            let (url, filter) = match source {
                Source::Table(table) => (table, Several::default()),
                Source::Some { table, filter } => (table, filter.clone()),
            };
            Ok::<_, Error>((Table::open_with(url, stores).await?, filter))
        };
        opened.await.map_err(|error| error.at(format!("source `{name}`")))
    }
}

impl Output {
    /// Returns where the views of these parts are saved.
    async fn target(&self, parts: &[Option<String>], stores: &StoreOptions) -> Result<ViewTarget> {
        if !self.update {
            return Ok(ViewTarget::New(self.view.clone(), stores.clone()));
        }
        let mut views = Vec::with_capacity(parts.len());
        for part in parts {
            views.push(Table::open_with(&self.view_of(part.as_deref()), stores).await?);
        }
        Ok(ViewTarget::Next(views))
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

    /// Describes a saved view.
    async fn saved(view: String, part: Option<String>, saved: SavedView) -> Self {
        Self {
            written: true,
            version: Some(saved.table.version()),
            uuid: Some(saved.table.manifest().table.to_string()),
            must_allow: saved.table.must_allow().await,
            unpinned: saved.unpinned,
            ..Self::of(view, part, saved.size)
        }
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
    let message = error.to_string();
    let missing = message.split_once("unable to find column").and_then(|(_, message)| message.split(['"', '\'', '`']).nth(1));
    Error::new(error.kind(), format!("{message}\n  hint: {}", index.hint(missing.unwrap_or_default())))
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
            if !kept.iter().any(|existing| existing == name) {
                kept.push(name.to_owned());
            }
        }
    }
    index.only(&kept.iter().map(String::as_str).collect::<Vec<_>>())
}
