//! Reads views: tables whose rows are rows of other tables, their sources. Opening a view reads its manifest, and then
//! concurrently its index, its join maps and the manifests of its sources. Follows `format-spec/views.md#sources`.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::{Array, cast::AsArray, types::Int64Type};
use bytes::Bytes;
use futures::{
    FutureExt,
    future::{BoxFuture, try_join, try_join_all},
};

use super::source::{LoaderSource, NO_ROW};
use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{Manifest, View, ViewSource, index_columns_reader, read_join, read_lists},
    id::ObjectRef,
    schema::Column,
    table::version::{lists::Lists, seen::ViewRows, table::Table},
    work::{Stop, offload_large},
};

/// The join map and the lists of a source, both optional. The join map has, for each row of the base source, the row of this
/// source.
pub(in crate::table) type JoinMaps = (Option<Arc<[i64]>>, Option<Arc<Lists>>);

impl Table {
    internal! {
        /// Returns the member `view` of the manifest; `None` for a table with rows of its own.
        fn view(&self) -> Option<&View> {
            self.manifest().view.as_ref()
        }
    }

    /// Returns the sources of a view, in the order in which they were combined: the table versions whose rows it has. Opens them
    /// on first use. Returns no tables if this table is not a view.
    ///
    /// # Errors
    /// - `NotFound`: a source is at none of its URLs, or the version there has another manifest.
    /// - `Denied`: a URL of a source is not [allowed](Table::allow).
    /// - `Corrupt`: a source differs from the description in the view.
    /// - Errors of the stores.
    pub async fn sources(&self) -> Result<Arc<[Self]>> {
        let table = self.clone();
        self.inner.sources.get_or_load(|| async move { table.open_sources(&[]).await }.boxed()).await
    }

    /// Returns the absolute URLs that a reader of this version has to [allow](crate::store::StoreOptions::allow): the URLs by which
    /// the version refers to tables that are not its neighbours. For a view, the result includes the URLs that its source tables
    /// need, if these tables can be opened.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{StoreOptions, Table};
    /// let options = StoreOptions::from_env().allow(["s3://lab/sensors"]);
    /// let view = Table::open_with("/data/labelled", &options).await?;
    /// assert_eq!(view.must_allow().await, ["s3://lab/sensors"]);
    /// # Ok(()) }
    /// ```
    pub async fn must_allow(&self) -> Vec<String> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut tables = vec![self.clone()];
        while let Some(table) = tables.pop() {
            if !seen.insert((table.manifest().table, table.version())) {
                continue;
            }
            // The first URL is the last known location of the table.
            let first = table.manifest().stores.iter().filter_map(|foreign| foreign.urls.first());
            found.extend(first.filter(|url| url.contains("://")).cloned());
            // The references of a table that cannot be opened are unknown.
            tables.extend(table.sources().await.iter().flat_map(|sources| sources.iter().cloned()));
        }
        found.into_iter().collect()
    }

    /// Opens the tables of the sources. `given` has tables that are open already, by their position in the manifest's `stores`.
    pub(in crate::table) async fn open_sources(&self, given: &[Option<Self>]) -> Result<Arc<[Self]>> {
        let Some(view) = self.view() else { return Ok(Arc::new([])) };
        let mut opened = Vec::new();
        for number in 0..self.manifest().stores.len() {
            opened.push(self.open_source(view, number, given.get(number).cloned().flatten()));
        }
        let opened = try_join_all(opened).await?;
        let of = |source: &ViewSource| {
            let found = (source.store as usize).checked_sub(1).and_then(|store| opened.get(store)).cloned().flatten();
            found.ok_or_else(|| Error::internal(format!("no store {}", source.store)))
        };
        view.sources.iter().map(of).collect()
    }

    /// Opens the table of one of the manifest's `stores`. Returns `None` if no source uses it.
    async fn open_source(&self, view: &View, number: usize, given: Option<Self>) -> Result<Option<Self>> {
        let foreign = &self.manifest().stores[number];
        let sources: Vec<&ViewSource> = view.sources.iter().filter(|source| source.store as usize == number + 1).collect();
        if sources.is_empty() {
            return Ok(None);
        }
        if let Some(table) = given {
            let place = || format!("{}: source {} version {}", self.url(), table.url(), table.version());
            sources.iter().try_for_each(|source| source.check_against(table.manifest())).map_err(|error| error.at(place()))?;
            return Ok(Some(table));
        }
        let (store, bytes) = self.open_foreign(foreign).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::Denied => {
                let message = format!("{error}; if the table has moved, give the view its new URL with `rebind`");
                Error::new(error.kind(), message).with_source(error)
            }
            _ => error,
        })?;
        let place = format!("{}: source {} version {}", self.url(), store.url(), foreign.version);
        let (manifest, hash) = Manifest::parse(&bytes, foreign.version).map_err(|error| error.at(&place))?;
        if manifest.table != foreign.table {
            return Err(Error::corrupt(format!("{place}: table {}, the view says {}", manifest.table, foreign.table)));
        }
        for source in sources {
            source.check_against(&manifest).map_err(|error| error.at(&place))?;
        }
        Ok(Some(Self::of(store, manifest, hash, self.inner.allowed.clone())))
    }

    /// Returns the source rows of each row of the view. Reads them on first use.
    pub(in crate::table) async fn view_rows(&self) -> Result<Arc<ViewRows>> {
        let table = self.clone();
        let load = || {
            async move {
                let (objects, maps) = try_join(table.index_objects(), table.join_maps()).await?;
                let work = table.index_work(&objects, maps.len());
                offload_large(work, move |_| table.view_rows_of(&objects, maps).map(Arc::new)).await
            }
            .boxed()
        };
        self.inner.view.get_or_load(load).await
    }

    async fn join_object(&self, object: Option<&ObjectRef>) -> Result<Option<Bytes>> {
        match object {
            Some(object) => self.object("joins", object).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reads the join maps and the lists of the sources.
    pub(in crate::table) async fn join_maps(&self) -> Result<Vec<JoinMaps>> {
        let sources = self.view().map(|view| view.sources.as_slice()).unwrap_or_default();
        let rows = |number: usize| sources.get(number).map_or(0, |source| source.rows);
        let found = sources.iter().map(|source| async move {
            let (join, lists): (Option<Bytes>, Option<Bytes>) =
                try_join(self.join_object(source.join.as_ref()), self.join_object(source.lists.as_ref())).await?;
            let (base_rows, own_rows) = (rows(source.base), source.rows);
            let most = usize::try_from(base_rows.max(own_rows)).unwrap_or(usize::MAX);
            let work = if join.is_some() || lists.is_some() { most.saturating_mul(8) } else { 0 };
            let decode = move |_: &Stop| {
                let join = join.map(|bytes| read_join(bytes, base_rows, own_rows)).transpose()?;
                let join = join.map(|partners| partners.into_iter().map(|row| row.map_or(NO_ROW, u64::cast_signed)).collect());
                let lists = lists.map(|bytes| read_lists(bytes, own_rows)).transpose()?;
                Ok((join, lists.map(|firsts| Arc::new(Lists::new(&firsts)))))
            };
            offload_large::<JoinMaps>(work, decode).await
        });
        try_join_all(found).await
    }

    /// Decodes the row columns from the index segments, checks them, and returns them with the join maps and lists.
    pub(in crate::table) fn view_rows_of(&self, objects: &[Bytes], maps: Vec<JoinMaps>) -> Result<ViewRows> {
        let (partners, lists): (Vec<_>, Vec<_>) = maps.into_iter().unzip();
        let sources = self.view().map(|view| view.sources.as_slice()).unwrap_or_default();
        let stored = &self.manifest().schema;
        let index: Vec<&Column> = stored.index().collect();
        let place = |source: &ViewSource| index.iter().position(|column| column.id == source.row);
        let places: Vec<usize> = sources.iter().filter_map(place).collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        let rows = usize::try_from(self.rows()).unwrap_or_default();
        let mut at: Vec<Vec<i64>> = vec![Vec::new(); sources.len()];
        let mut first = 0;
        for (bytes, segment) in objects.iter().zip(&self.manifest().segments) {
            for batch in index_columns_reader(bytes.clone(), stored, segment.rows, &sorted)? {
                let batch = batch?;
                for ((at, place), source) in at.iter_mut().zip(&places).zip(sources) {
                    let column = sorted.binary_search(place).ok().and_then(|column| batch.columns().get(column));
                    let values = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
                    let values = values.filter(|values| values.null_count() == 0);
                    let values = values.ok_or_else(|| Error::corrupt("index: a row column has a null"))?.values();
                    let wrong = values.iter().position(|row| !(NO_ROW..source.rows.cast_signed()).contains(row));
                    if let Some(wrong) = wrong {
                        let row = values.get(wrong).copied().unwrap_or_default();
                        return Err(Error::corrupt(format!(
                            "index: view row {}: found row {row} of a source that has {}",
                            first + wrong,
                            counted(source.rows, "row")
                        )));
                    }
                    at.extend_from_slice(values);
                }
                first += batch.num_rows();
            }
        }
        let nowhere = |row: &usize| at.iter().all(|rows| rows.get(*row).is_none_or(|row| *row == NO_ROW));
        if let Some(row) = (0..rows).find(nowhere) {
            return Err(Error::corrupt(format!("index: view row {row} is in no source")));
        }
        for (number, lists) in lists.iter().enumerate() {
            let of = |rows: &[i64]| lists.as_ref().and_then(|lists| lists.first_stranger(rows));
            let joined = partners.get(number).and_then(Option::as_ref).and_then(|rows| of(rows));
            if let Some(row) = at.get(number).and_then(|rows| of(rows)).or(joined) {
                return Err(Error::corrupt(format!("source {number} of the view: row {row} is not the first row of a list")));
            }
        }
        Ok(ViewRows { at: at.into_iter().map(Arc::from).collect(), partners, lists })
    }

    /// Returns the future of [`Table::loader_sources`] in a box, so that its type is not part of the future of every read.
    pub(in crate::table) fn bound_sources(&self) -> BoxFuture<'static, Result<Arc<[LoaderSource]>>> {
        let view = self.clone();
        Box::pin(async move { view.loader_sources().await })
    }

    /// Returns the sources that a loader reads from: the sources of a view, or else this table itself.
    async fn loader_sources(&self) -> Result<Arc<[LoaderSource]>> {
        let Some(view) = self.view() else { return Ok([LoaderSource::of_table(self, None)].into()) };
        let (tables, rows) = try_join(self.sources(), self.view_rows()).await?;
        let found = view.sources.iter().zip(tables.iter()).enumerate().map(|(number, (source, table))| LoaderSource {
            table: table.clone(),
            base: source.base,
            partners: rows.partners.get(number).cloned().flatten(),
            at: rows.at.get(number).cloned(),
            lists: rows.lists.get(number).cloned().flatten(),
            columns: source.columns.iter().map(|column| (column.name.clone(), column.id)).collect(),
            index: source.index.iter().map(|column| (column.name.clone(), column.id)).collect(),
        });
        Ok(found.collect())
    }
}
