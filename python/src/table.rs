//! Tables: what they say of themselves, and the versions that are made of them.

use std::{collections::BTreeMap, time::Duration};

use pyo3::{prelude::*, types::PyDict};
use tetrys::table::{GcSettings, now_ms};

use crate::{
    diff::Diff,
    error::{IntoPython, Invalid},
    index::Index,
    json::{from_python, to_python},
    runtime::{check_frames, wait_long},
};

/// One version of a table; `tetrys.Table` is the face of it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Table {
    pub(crate) table: tetrys::Table,
}

impl From<tetrys::Table> for Table {
    fn from(table: tetrys::Table) -> Self {
        Self { table }
    }
}

impl Table {
    /// A version that was made of this one, or a table behind it: it may follow what this one may.
    fn like(&self, table: tetrys::Table) -> Self {
        Self::from(table).allowing(self.table.allowed().to_vec())
    }
}

/// Tells a function of Python how far something is. What a progress bar raises cannot stop the work; it is printed.
pub(crate) fn reporter(progress: Option<Py<PyAny>>) -> impl FnMut(u64, u64) + Send + 'static {
    move |done, all| {
        if let Some(progress) = &progress {
            Python::attach(|py| progress.call1(py, (done, all)).map(drop).unwrap_or_else(|error| error.print(py)));
        }
    }
}

#[pymethods]
impl Table {
    /// Opens the newest version of the table at `url`, or the one that `url@VERSION` or `url@TAG` names. References to tables that
    /// are no neighbours of it are followed below the URLs of `allow` alone.
    #[new]
    #[pyo3(signature = (url, *, allow = Vec::new()))]
    fn new(py: Python<'_>, url: String, allow: Vec<String>) -> PyResult<Self> {
        let options = tetrys::StoreOptions::from_env().allow(allow.iter().cloned());
        let table = wait_long(py, async move { tetrys::Table::open_with(&url, &options).await })?;
        Ok(Self::from(table).allowing(allow))
    }

    /// Where references to absolute URLs may lead.
    #[getter]
    fn allowed(&self) -> Vec<String> {
        self.table.allowed().to_vec()
    }

    /// Where the table lies.
    #[getter]
    fn url(&self) -> &str {
        self.table.url()
    }

    /// The number of this version.
    #[getter]
    fn version(&self) -> u64 {
        self.table.version()
    }

    /// The table, the same in all versions.
    #[getter]
    fn uuid(&self) -> String {
        self.table.id().to_string()
    }

    /// The tags, as this version says: {name: version}.
    #[getter]
    fn tags(&self) -> BTreeMap<String, u64> {
        self.table.tags().clone()
    }

    /// What made this version: writer, operation, and what the operation says.
    #[getter]
    fn lineage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.table.lineage())
    }

    /// The preset that it was written with: `fast`, `balanced` or `compact`.
    #[getter]
    fn preset(&self) -> &str {
        self.table.preset()
    }

    /// Whether the table is a view: a saved merge, filter or split, with rows of other tables.
    #[getter]
    fn is_view(&self) -> bool {
        self.table.is_view()
    }

    /// The index columns and their types.
    #[getter]
    fn index_columns(&self) -> Vec<(String, String)> {
        self.table.schema().index().map(|column| (column.name.clone(), column.ty.to_string())).collect()
    }

    /// The index columns whose equal values make a sequence.
    #[getter]
    fn sequence_by(&self) -> Vec<String> {
        self.table.schema().sequence_by().map(|column| column.name.clone()).collect()
    }

    /// The index columns that order the rows of a sequence.
    #[getter]
    fn order_by(&self) -> Vec<String> {
        self.table.schema().order_by().map(|column| column.name.clone()).collect()
    }

    /// The column groups, each with its columns and their types.
    #[getter]
    fn groups(&self) -> Vec<(String, Vec<(String, String)>)> {
        let schema = self.table.schema();
        let column = |id| schema.column(id).map(|column| (column.name.clone(), column.ty.to_string()));
        let columns = |group: &tetrys::schema::ColumnGroup| group.columns.iter().filter_map(|id| column(*id)).collect();
        schema.groups().iter().map(|group| (group.name.clone(), columns(group))).collect()
    }

    /// Stored bytes, and bytes of the values, of each column group: {group: (stored, decoded)}.
    #[getter]
    fn group_sizes(&self) -> BTreeMap<String, (u64, u64)> {
        let sizes = |(number, group): (usize, &tetrys::schema::ColumnGroup)| {
            let bytes = self.table.group_bytes(number);
            (group.name.clone(), (bytes.stored, bytes.logical))
        };
        self.table.schema().groups().iter().enumerate().map(sizes).collect()
    }

    /// What the table says of itself.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.table.properties())
    }

    /// What is said of a column: its unit, and what else was set.
    fn column_properties<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.table.schema().column_named(column);
        let found = found.ok_or_else(|| crate::error::NotFound::new_err(format!("no column `{column}`")))?;
        to_python(py, &found.properties)
    }

    /// The content of an attachment.
    fn attachment<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let table = self.table.clone();
        let content = wait_long(py, async move { table.attachment(&name).await })?;
        Ok(pyo3::types::PyBytes::new(py, &content))
    }

    /// What the table is, in numbers: what `tetrys info --json` prints, as a dict. Loads the layouts.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { table.info().await })?)
    }

    /// What each version takes, and shares with others: what `tetrys du --json` prints, as a dict. Bytes; versions newest first.
    fn du<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let store = self.table.store().clone();
        to_python(py, &wait_long(py, async move { tetrys::Table::usage(&store).await })?)
    }

    /// The versions that are there, newest first, each a dict: `version`, `parent`, `written_ms` (milliseconds since 1970 in UTC, by
    /// the store's clock), `operation`, `tags`, `rows`, `sequences`, `bytes_added`, `preset`, `writer`, `manifest_blake3`.
    fn versions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { table.history().await })?)
    }

    /// Reads every byte of this version and checks it: a dict with `objects`, `chunks`, `blocks`, `bytes`, and `damage`, a list of
    /// dicts with `object` and `problem`, empty for a sound table. `progress` is told bytes done and bytes in all.
    #[pyo3(signature = (*, all_versions = false, sources = false, progress = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        all_versions: bool,
        sources: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        let report = reporter(progress);
        let reach = tetrys::table::VerifyReach { all_versions, sources };
        to_python(py, &wait_long(py, async move { table.verify_more(reach, report).await })?)
    }

    /// What differs between this table and one that was before it, told by index columns and hashes; no payload is read. Rows are
    /// matched by the index columns `on`, else by those of sequence and order, else by their numbers.
    #[pyo3(signature = (before, on = Vec::new(), *, exact = false))]
    fn diff(&self, py: Python<'_>, before: &Self, on: Vec<String>, exact: bool) -> PyResult<Diff> {
        let (now, before) = (self.table.clone(), before.table.clone());
        let found = async move { if exact { now.diff_exact(&before, on).await } else { now.diff(&before, on).await } };
        wait_long(py, found).map(Diff)
    }

    /// Of a view, the table versions whose rows it has, in the order in which they were put together; else none.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let table = self.table.clone();
        let sources = wait_long(py, async move { table.sources().await })?;
        Ok(sources.iter().cloned().map(|source| self.like(source)).collect())
    }

    /// Of a view, or of a table with references: a version that looks for other tables at these URLs first. A table that moved is
    /// known by its UUID and the hash of the version; another one is refused.
    fn rebind(&self, py: Python<'_>, urls: Vec<String>, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        let options = tetrys::StoreOptions::from_env().allow(self.table.allowed());
        wait_long(py, async move { table.rebind_with(urls, &options).await }).map(|table| self.like(table))
    }

    /// The same version, which may also follow references to absolute URLs at or below these.
    #[pyo3(signature = (*urls))]
    fn allow(&self, urls: Vec<String>) -> Self {
        self.like(self.table.clone()).allowing(urls)
    }

    /// The URLs in other stores that a reader of this table has to allow.
    fn must_allow(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let table = self.table.clone();
        wait_long(py, async move { Ok(table.must_allow().await) })
    }

    fn _delete(&self, py: Python<'_>, rows: Vec<u64>, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        wait_long(py, async move { table.delete(rows, Default::default()).await }).map(|table| self.like(table))
    }

    /// A version of which other things are said, all changes at once: columns under other names (`rename={"old": "new"}`), without
    /// columns (`drop`), with properties of the table (`properties`, None takes one back) or of columns (`column_properties`,
    /// {column: {key: value}}), with names of versions (`tags`, {name: version or None for this one}), without some (`untag`). No
    /// payload is written.
    #[pyo3(signature = (*, rename = None, drop = Vec::new(), properties = None, column_properties = None, tags = None, untag = Vec::new(), allow_unpinned = false))]
    #[expect(clippy::too_many_arguments, reason = "changes by their names")]
    fn edit(
        &self,
        py: Python<'_>,
        rename: Option<&Bound<'_, PyDict>>,
        drop: Vec<String>,
        properties: Option<&Bound<'_, PyDict>>,
        column_properties: Option<&Bound<'_, PyDict>>,
        tags: Option<&Bound<'_, PyDict>>,
        untag: Vec<String>,
        allow_unpinned: bool,
    ) -> PyResult<Self> {
        let mut edit = self.unpinned_if(allow_unpinned).edit();
        for (old, new) in rename.into_iter().flat_map(|rename| rename.iter()) {
            edit = edit.rename_column(&old.extract::<String>()?, &new.extract::<String>()?);
        }
        if !drop.is_empty() {
            edit = edit.drop_columns(&drop.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for (key, value) in properties.into_iter().flat_map(|properties| properties.iter()) {
            let key: String = key.extract()?;
            edit = match value.is_none() {
                true => edit.remove_property(&key),
                false => edit.set_property(&key, from_python::<serde_json::Value>(&format!("property `{key}`"), &value)?),
            };
        }
        for (column, said) in column_properties.into_iter().flat_map(|said| said.iter()) {
            let column: String = column.extract()?;
            for (key, value) in said.cast::<PyDict>()?.iter() {
                let key: String = key.extract()?;
                let value = match value.is_none() {
                    true => None,
                    false => Some(from_python::<serde_json::Value>(&format!("property `{key}` of `{column}`"), &value)?),
                };
                edit = edit.set_column_property(&column, &key, value);
            }
        }
        for (name, version) in tags.into_iter().flat_map(|tags| tags.iter()) {
            let version = version.extract::<Option<u64>>()?.unwrap_or(self.table.version());
            edit = edit.tag(&name.extract::<String>()?, version);
        }
        for name in &untag {
            edit = edit.untag(name);
        }
        if edit.is_empty() {
            return Err(Invalid::new_err("nothing to change"));
        }
        wait_long(py, edit.commit()).map(|table| self.like(table))
    }

    /// A version whose index segments have up to `segment_rows` rows: neighbours are put together, payload stays where it is. The
    /// same version where nothing can be put together.
    fn compact(&self, py: Python<'_>, segment_rows: u64, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        wait_long(py, async move { table.compact(segment_rows).await }).map(|table| self.like(table))
    }

    /// A version that needs no other table: the chunks that it uses of others are copied, compared with their names, and the ties
    /// are cut. `progress` is told chunks done and chunks in all.
    #[pyo3(signature = (*, progress = None))]
    fn materialize(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let table = self.table.clone();
        let report = reporter(progress);
        wait_long(py, async move { table.materialize(report).await }).map(|table| self.like(table))
    }

    /// Collects garbage: what no kept version names is condemned by a version, and what was condemned `age` ago (a timedelta; a
    /// week) is deleted. Kept are the `keep` newest versions (0: all), those with a tag and those that other tables use. Without
    /// `apply` nothing is done, and the plan says what would be: a dict with `expired`, `pinned`, `condemn`, `delete`, `sweep`
    /// ({name: bytes}), `waiting` and `done`.
    #[pyo3(signature = (*, keep = 0, age = None, apply = false))]
    fn gc<'py>(&self, py: Python<'py>, keep: usize, age: Option<Duration>, apply: bool) -> PyResult<Bound<'py, PyAny>> {
        let mut settings = GcSettings { keep_versions: keep, ..GcSettings::default() };
        settings.age = age.unwrap_or(settings.age);
        let store = self.table.store().clone();
        let work = async move {
            match apply {
                true => tetrys::Table::collect_garbage(&store, settings, now_ms()).await,
                false => tetrys::Table::plan_garbage(&store, settings, now_ms()).await,
            }
        };
        to_python(py, &wait_long(py, work)?)
    }

    /// The index, or those of its columns that match any of the patterns.
    #[pyo3(signature = (columns = None))]
    fn _index(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<Index> {
        check_frames().py()?;
        let table = self.table.clone();
        let open = async move {
            match columns {
                None => table.index().await,
                Some(columns) => table.index_columns(columns).await,
            }
        };
        wait_long(py, open).map(Index)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.table.rows()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("Table {} version {}: {} rows", self.table.url(), self.table.version(), self.table.rows())
    }
}

impl Table {
    /// The table, of which versions may be made although an owner cannot be told, if so allowed.
    fn unpinned_if(&self, allowed: bool) -> tetrys::Table {
        // A new handle loads what the old one has loaded again.
        if crate::unpinned_if(allowed) { self.table.allow_unpinned() } else { self.table.clone() }
    }

    fn allowing(self, urls: Vec<String>) -> Self {
        // A new handle loads what the old one has loaded again.
        match urls.iter().all(|url| self.table.allowed().contains(url)) {
            true => self,
            false => Self::from(self.table.allow(urls)),
        }
    }
}
