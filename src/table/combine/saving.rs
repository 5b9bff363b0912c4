//! Saves views. Indexes, merges of tables and splits of tables take the same path: check the targets, load what fits into memory,
//! store the rows of all views, and publish one view after the other.

use super::{
    TableMerge, TableSplit,
    new_view::{NewView, Place, Publishing, SavedView, Stored, ViewOptions, ViewSize},
    splits::check_part_names,
};
use crate::{
    error::{Error, Result, counted},
    store::{Store, StoreOptions},
    table::{
        index::index::Index,
        session::{is_new_name, is_vacant},
        version::table::Table,
    },
};

/// Where views are saved. Functions that save views take a URL, a [`Store`] or a [`Table`] for it.
#[derive(Clone, Debug)]
pub enum ViewTarget {
    /// A new view at this URL, or with a split a new view for each part, at `URL/name`. The options are those of its store.
    New(String, StoreOptions),
    /// A new view in this store.
    Store(Store),
    /// The next versions of views that exist, one for each part. Their tags and attachments stay, and so do properties that get no
    /// new value.
    Next(Vec<Table>),
}

impl From<&str> for ViewTarget {
    fn from(url: &str) -> Self {
        Self::New(url.to_owned(), StoreOptions::from_env())
    }
}

impl From<&String> for ViewTarget {
    fn from(url: &String) -> Self {
        Self::from(url.as_str())
    }
}

impl From<String> for ViewTarget {
    fn from(url: String) -> Self {
        Self::New(url, StoreOptions::from_env())
    }
}

impl From<Store> for ViewTarget {
    fn from(store: Store) -> Self {
        Self::Store(store)
    }
}

impl From<&Store> for ViewTarget {
    fn from(store: &Store) -> Self {
        Self::Store(store.clone())
    }
}

impl From<&Table> for ViewTarget {
    fn from(view: &Table) -> Self {
        Self::Next(vec![view.clone()])
    }
}

impl ViewTarget {
    /// Returns the place of the view of each part, and checks that views can be saved there.
    async fn places(self, parts: &[Option<String>]) -> Result<Vec<Place>> {
        check_part_names(parts.iter().flatten().map(String::as_str))?;
        let places: Vec<Place> = match self {
            Self::New(url, stores) => {
                let url_of = |part: &Option<String>| part.as_ref().map_or_else(|| url.clone(), |part| format!("{url}/{part}"));
                parts.iter().map(|part| Ok((Store::open_with(&url_of(part), &stores)?, None))).collect::<Result<_>>()?
            }
            Self::Store(store) => vec![(store, None)],
            Self::Next(views) => views.into_iter().map(|view| (view.store().clone(), Some(view))).collect(),
        };
        if places.len() != parts.len() {
            let (views, parts) = (counted(places.len(), "view"), counted(parts.len(), "part"));
            return Err(Error::invalid(format!(
                "{views} for {parts}: expected one for each; a split needs a URL or a view for each part"
            )));
        }
        for (store, before) in &places {
            match before {
                Some(view) => {
                    view.next_version_may_be_written()?;
                    if !view.is_view() {
                        let url = view.url();
                        return Err(Error::invalid(format!("{url} has rows of its own: a view cannot be its next version")));
                    }
                }
                None => {
                    is_new_name(store)?;
                    is_vacant(store, "; choose another place, or update the view there, which writes its next version").await?;
                }
            }
        }
        Ok(places)
    }
}

/// The input of [`save_views`]: the rows that become views.
pub(crate) enum ViewInput {
    /// Indexes with the names of their parts.
    Indexes(Vec<(Option<String>, Index)>),
    Merge(TableMerge),
    Split(TableSplit),
}

impl ViewInput {
    fn of(index: &Index) -> Self {
        Self::Indexes(vec![(None, index.clone())])
    }

    /// Returns the name of the part of each view.
    pub(crate) fn parts(&self) -> Vec<Option<String>> {
        match self {
            Self::Indexes(indexes) => indexes.iter().map(|(part, _)| part.clone()).collect(),
            Self::Merge(_) => vec![None],
            Self::Split(split) => split.names(),
        }
    }

    /// Returns the views. The second value is the merge or the split that stores their rows part by part, because they do not fit
    /// into memory.
    async fn views(self, options: &ViewOptions) -> Result<(Vec<NewView>, Option<Self>)> {
        let (indexes, in_parts) = match self {
            Self::Indexes(indexes) => (indexes, None),
            Self::Merge(merge) if merge.is_in_memory(options) => (vec![(None, merge.in_memory().await?)], None),
            Self::Merge(merge) => (vec![(None, merge.without_rows()?)], Some(Self::Merge(merge))),
            Self::Split(split) if split.is_in_memory(options)? => (split.in_memory().await?, None),
            Self::Split(split) => (split.without_rows().await?, Some(Self::Split(split))),
        };
        Ok((indexes.into_iter().map(|(part, index)| NewView { part, index }).collect(), in_parts))
    }
}

/// Stores the rows of views.
async fn store(in_parts: Option<&ViewInput>, views: &[NewView], places: &[Place], options: &ViewOptions) -> Result<Vec<Stored>> {
    if let Some(ViewInput::Split(split)) = in_parts {
        return split.store(views, places, options).await;
    }
    let mut stored = Vec::with_capacity(views.len());
    for (view, place) in views.iter().zip(places) {
        stored.push(match in_parts {
            Some(ViewInput::Merge(merge)) => merge.store(view, place, options).await?,
            _ => view.store(place).await?,
        });
    }
    Ok(stored)
}

/// Saves views. Returns them with the names of their parts.
pub(crate) async fn save_views(
    input: ViewInput,
    target: ViewTarget,
    options: &ViewOptions,
) -> Result<Vec<(Option<String>, SavedView)>> {
    let places = target.places(&input.parts()).await?;
    let (views, in_parts) = input.views(options).await?;
    let begun = views.iter().zip(&places).map(|(view, place)| view.begin(place, options)).collect::<Result<Vec<_>>>()?;
    let salted: Vec<Place> =
        begun.iter().map(Publishing::store).zip(&places).map(|(store, (_, before))| (store.clone(), before.clone())).collect();
    // Rows first: columns that cannot be stored fail before any pin is written, and before any part is published.
    let stored = store(in_parts.as_ref(), &views, &salted, options).await?;
    let mut saved: Vec<(Option<String>, SavedView)> = Vec::with_capacity(views.len());
    for (((view, place), publishing), stored) in views.into_iter().zip(places).zip(begun).zip(stored) {
        let made = view.finish(publishing, place, stored, options).await.map_err(|error| after(&saved, error))?;
        saved.push((view.part, made));
    }
    Ok(saved)
}

/// Returns the error with the views that are saved already.
fn after(saved: &[(Option<String>, SavedView)], error: Error) -> Error {
    let urls: Vec<String> = saved.iter().map(|(_, view)| format!("`{}`", view.table.url())).collect();
    if urls.is_empty() { error } else { error.at(format!("after saving {}", urls.join(", "))) }
}

/// Returns the sizes of the views that [`save_views`] would save.
pub(crate) async fn view_sizes(input: ViewInput, options: &ViewOptions) -> Result<Vec<(Option<String>, ViewSize)>> {
    let (views, in_parts) = input.views(options).await?;
    let sized = |view: NewView, stored: &Stored| {
        let size = view.size_of(stored);
        (view.part, size)
    };
    let Some(input) = &in_parts else {
        let mut sizes = Vec::with_capacity(views.len());
        for view in views {
            // Memory holds the objects of one view at a time.
            let stored = view.store(&(Store::open("memory://")?, None)).await?;
            sizes.push(sized(view, &stored));
        }
        return Ok(sizes);
    };
    let what = if matches!(input, ViewInput::Merge(_)) { "merge" } else { "split" };
    let place = options.temporary_folder.clone().unwrap_or_else(std::env::temp_dir);
    let failed = |error: std::io::Error| Error::from(error).at(format!("{what}: a temporary folder in {}", place.display()));
    let folder = tempfile::tempdir_in(&place).map_err(failed)?;
    let url_of = |number: usize| folder.path().join(number.to_string()).display().to_string();
    let places = (0..views.len()).map(|number| Ok((Store::open(&url_of(number))?, None))).collect::<Result<Vec<Place>>>()?;
    let stored = store(in_parts.as_ref(), &views, &places, options).await?;
    Ok(views.into_iter().zip(&stored).map(|(view, stored)| sized(view, stored)).collect())
}

/// Returns the only view.
fn only<T>(views: Vec<(Option<String>, T)>) -> Result<T> {
    views.into_iter().next().map(|(_, view)| view).ok_or_else(|| Error::internal("no view of an index"))
}

/// Returns the views with the names of their parts.
fn named<T>(views: Vec<(Option<String>, T)>) -> Vec<(String, T)> {
    views.into_iter().map(|(part, view)| (part.unwrap_or_default(), view)).collect()
}

impl Index {
    /// Saves the index as a new view at a URL: a table that has these rows in this order, and copies no payload. Save merges,
    /// filters, sorts, samples and splits this way. Columns computed by [`Index::with_columns`] become index columns.
    ///
    /// A view is opened, read and merged like any table. It names exact versions of its sources. A pin in each source keeps that
    /// version from garbage collection. With a view instead of a URL, the index becomes the next version of that view.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use polars::prelude::{col, lit};
    /// use tetrys::{Merge, RowLoader, Table};
    /// let sensors = Table::open("/data/sensors").await?.index().await?;
    /// let labels = Table::open("/data/labels").await?.index().await?;
    /// let merged = sensors.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
    /// merged.filter(col("pedestrians").gt(lit(3)))?.save("/data/busy").await?;
    ///
    /// let busy = Table::open("/data/busy").await?.index().await?;
    /// let history = RowLoader::new(&busy)?.columns(["lidar.*", "labels.*"])?.get_rows(0, -10..=0).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Denied`: no pin can be written to a source (see [`ViewOptions::allow_unpinned`]).
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column; or the table to update is not a view.
    /// - `Conflict`: a garbage collection deleted a version of a source, or the view to update has a newer version.
    /// - `Unsupported`: the next version of the view needs a later writer.
    /// - Errors of the stores.
    pub async fn save(&self, target: impl Into<ViewTarget>) -> Result<SavedView> {
        self.save_with(target, &ViewOptions::default()).await
    }

    /// Saves the index as a view, as [`Index::save`] does, with properties, lineage and other options.
    ///
    /// # Errors
    /// Those of [`Index::save`].
    pub async fn save_with(&self, target: impl Into<ViewTarget>, options: &ViewOptions) -> Result<SavedView> {
        only(save_views(ViewInput::of(self), target.into(), options).await?)
    }

    /// Returns the size of the view that [`Index::save`] would store. Stores nothing.
    ///
    /// # Errors
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column.
    pub async fn view_size(&self) -> Result<ViewSize> {
        only(view_sizes(ViewInput::of(self), &ViewOptions::default()).await?)
    }
}

impl TableMerge {
    /// Merges the tables, and saves the result as a new view, or as the next version of a view.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Merge, Table, ViewOptions};
    /// let (sensors, labels) = (Table::open("/data/sensors").await?, Table::open("/data/labels").await?);
    /// let options = ViewOptions { memory_limit: Some(4 << 30), ..ViewOptions::default() };
    /// let view = sensors.merge(&labels, Merge::on(["log_id", "timestamp"])).save("/data/labelled", &options).await?;
    /// println!("{} rows", view.table.rows());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Index::save`], and:
    /// - `NotFound`: a key column does not exist, or the folder for temporary files.
    /// - `Invalid`: the key types differ, or keys on the right are equal without [`Merge::first`](crate::Merge::first) or
    ///   [`Merge::last`](crate::Merge::last).
    /// - `Unsupported`: a merge by time has more unsorted rows with equal keys than fit into the memory limit.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    pub async fn save(self, target: impl Into<ViewTarget>, options: &ViewOptions) -> Result<SavedView> {
        only(save_views(ViewInput::Merge(self), target.into(), options).await?)
    }

    /// Returns the size of the view that [`TableMerge::save`] would save. A large view is written to a folder in the temporary
    /// folder for that, and this folder stays if the process is killed.
    ///
    /// # Errors
    /// Those of [`TableMerge::save`].
    pub async fn size(self, options: &ViewOptions) -> Result<ViewSize> {
        only(view_sizes(ViewInput::Merge(self), options).await?)
    }
}

impl TableSplit {
    /// Splits the rows, and saves each part as a new view at `URL/name`, or as the next version of a view. Returns the views in the
    /// order of the shares. They are published one after the other, when the rows of all of them are stored. If that fails, some
    /// may be there and others not.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Table, ViewOptions};
    /// let sensors = Table::open("/data/sensors").await?;
    /// let split = sensors.split(["log_id"], [("train", 0.8), ("val", 0.1), ("test", 0.1)]);
    /// for (name, view) in split.save("/data/splits", &ViewOptions::default()).await? {
    ///     println!("/data/splits/{name}: {} rows", view.table.rows());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Index::save`], and:
    /// - `NotFound`: a key or a column does not exist, or the folder for temporary files.
    /// - `Invalid`: there is no key, a key column is not text, integers, booleans or times, there are no shares, a share is not
    ///   positive, the shares add up to more than 1, two parts have one name, the name of a part is not that of a folder, a
    ///   condition is malformed, or there are more or fewer views to update than shares.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    pub async fn save(self, target: impl Into<ViewTarget>, options: &ViewOptions) -> Result<Vec<(String, SavedView)>> {
        Ok(named(save_views(ViewInput::Split(self), target.into(), options).await?))
    }

    /// Returns the sizes of the views that [`TableSplit::save`] would save. Large views are written to a folder in the temporary
    /// folder for that, and this folder stays if the process is killed.
    ///
    /// # Errors
    /// Those of [`TableSplit::save`].
    pub async fn sizes(self, options: &ViewOptions) -> Result<Vec<(String, ViewSize)>> {
        Ok(named(view_sizes(ViewInput::Split(self), options).await?))
    }
}
