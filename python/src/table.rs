//! Handles of table versions, and the methods that publish new ones. The docstrings for users are in `python/tetrys/_table.py`.

use std::{collections::BTreeMap, time::Duration};

use pyo3::{prelude::*, types::PyDict};
use tetrys::table::{DiffOptions, GcSettings, Locality, Storage, Versions, now_ms};

use crate::{
    diff::Diff,
    error::{IntoPython, Invalid},
    json::{from_python, to_python},
    place::{Place, options_of, store_of},
    runtime::wait_long,
};

/// One version of a table; `tetrys.Table` wraps it.
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
    /// Wraps a new version of this table, or one of its sources, with the same allowed URLs.
    fn like(&self, table: tetrys::Table) -> Self {
        Self::from(table).allowing(self.table.allowed().to_vec())
    }
}

/// Returns a callback that reports progress to a Python function. An exception that the function raises is printed and ignored.
pub(crate) fn reporter(progress: Option<Py<PyAny>>) -> impl FnMut(u64, u64) + Send + 'static {
    move |done, all| {
        if let Some(progress) = &progress {
            Python::attach(|py| progress.call1(py, (done, all)).map(drop).unwrap_or_else(|error| error.print(py)));
        }
    }
}

#[pymethods]
impl Table {
    /// Opens the newest version of the table at `url`, or the one that `url@VERSION` or `url@TAG` names. References to other
    /// stores are followed to the URLs of `allow` and below them only.
    #[new]
    #[pyo3(signature = (url, *, allow = Vec::new()))]
    fn new(py: Python<'_>, url: String, allow: Vec<String>) -> PyResult<Self> {
        let options = tetrys::StoreOptions::from_env().allow(allow.iter().cloned());
        let table = wait_long(py, async move { tetrys::Table::open_with(&url, &options).await })?;
        Ok(Self::from(table).allowing(allow))
    }

    /// Absolute URLs that references may be followed to.
    #[getter]
    fn allowed(&self) -> Vec<String> {
        self.table.allowed().to_vec()
    }

    /// URL of the table.
    #[getter]
    fn url(&self) -> &str {
        self.table.url()
    }

    /// Number of this version.
    #[getter]
    fn version(&self) -> u64 {
        self.table.version()
    }

    /// UUID of the table, the same in all its versions.
    #[getter]
    fn uuid(&self) -> String {
        self.table.id().to_string()
    }

    /// Tags recorded in this version: {name: version}.
    #[getter]
    fn tags(&self) -> BTreeMap<String, u64> {
        self.table.versions().tags().clone()
    }

    /// Operation that made this version, with its writer and parameters.
    #[getter]
    fn lineage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.table.lineage())
    }

    /// Codec preset of the table: `fast`, `balanced` or `compact`.
    #[getter]
    fn preset(&self) -> &str {
        self.table.preset()
    }

    /// Whether the table is a view: a saved merge, filter or split whose rows are rows of other tables.
    #[getter]
    fn is_view(&self) -> bool {
        self.table.is_view()
    }

    /// Index columns and their types.
    #[getter]
    fn index_columns(&self) -> Vec<(String, String)> {
        self.table.schema().index().map(|column| (column.name.clone(), column.ty.to_string())).collect()
    }

    /// Index columns that define sequences.
    #[getter]
    fn sequence_by(&self) -> Vec<String> {
        self.table.schema().sequence_by().map(|column| column.name.clone()).collect()
    }

    /// Index columns that order the rows within a sequence.
    #[getter]
    fn order_by(&self) -> Vec<String> {
        self.table.schema().order_by().map(|column| column.name.clone()).collect()
    }

    /// Column groups, each with its columns and their types.
    #[getter]
    fn groups(&self) -> Vec<(String, Vec<(String, String)>)> {
        let schema = self.table.schema();
        let column = |id| schema.column(id).map(|column| (column.name.clone(), column.ty.to_string()));
        let columns = |group: &tetrys::schema::ColumnGroup| group.columns.iter().filter_map(|id| column(*id)).collect();
        schema.groups().iter().map(|group| (group.name.clone(), columns(group))).collect()
    }

    /// Bytes of each column group, stored and decoded: {group: (stored, decoded)}.
    #[getter]
    fn group_sizes(&self) -> BTreeMap<String, (u64, u64)> {
        let sizes = |(number, group): (usize, &tetrys::schema::ColumnGroup)| {
            let bytes = self.table.storage().group_bytes(number);
            (group.name.clone(), (bytes.stored, bytes.logical))
        };
        self.table.schema().groups().iter().enumerate().map(sizes).collect()
    }

    /// Properties of the table.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.table.properties())
    }

    /// Returns the properties of a column, such as its unit.
    fn column_properties<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.table.schema().column_named(column);
        let found = found.ok_or_else(|| crate::error::NotFound::new_err(format!("no column `{column}`")))?;
        to_python(py, &found.properties)
    }

    /// Reads the bytes of an attachment.
    fn attachment<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let table = self.table.clone();
        let content = wait_long(py, async move { table.attachment(&name).await })?;
        Ok(pyo3::types::PyBytes::new(py, &content))
    }

    /// Returns sizes and counts: the dict that `tetrys info --json` prints. Loads the layouts.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { table.info().await })?)
    }

    /// Returns the disk usage of each version, newest first: the dict that `tetrys du --json` prints. Sizes are bytes.
    fn du<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let store = self.table.store().clone();
        to_python(py, &wait_long(py, async move { Storage::of(&store).usage().await })?)
    }

    /// Lists the versions that exist, newest first, each as a dict: the newest `limit`, or all.
    #[pyo3(signature = (limit = None))]
    fn versions<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { Ok(table.versions().recent(limit.unwrap_or(usize::MAX)).await?.0) })?)
    }

    /// Reads every byte of this version and checks it; returns counts and a list of damage. Calls `progress` with (bytes done,
    /// bytes in total).
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
        to_python(py, &wait_long(py, async move { table.storage().verify_more(reach, report).await })?)
    }

    /// Compares this table with an earlier one by index columns and block hashes. Rows are matched by the index columns `on`,
    /// else by those of `sequence_by` and `order_by`, else by row number. Only an exact comparison reads payload.
    #[pyo3(signature = (before, on = Vec::new(), *, exact = false, memory_limit = None, temporary_folder = None))]
    fn diff(
        &self,
        py: Python<'_>,
        before: &Self,
        on: Vec<String>,
        exact: bool,
        memory_limit: Option<u64>,
        temporary_folder: Option<String>,
    ) -> PyResult<Diff> {
        let (now, before) = (self.table.clone(), before.table.clone());
        let options = DiffOptions { exact, memory_limit, temporary_folder: temporary_folder.map(Into::into) };
        wait_long(py, async move { now.diff_with(&before, on, &options).await }).map(Diff)
    }

    /// Opens the table versions that a view reads its rows from, in merge order; none for a table that is no view.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let table = self.table.clone();
        let sources = wait_long(py, async move { table.sources().await })?;
        Ok(sources.iter().cloned().map(|source| self.like(source)).collect())
    }

    /// Publishes a version that looks for its source or referenced tables at these URLs first. A table is recognised by its UUID
    /// and the hash of the version's manifest.
    fn rebind(
        &self,
        py: Python<'_>,
        urls: Vec<String>,
        storage: Option<BTreeMap<String, String>>,
        allow_unpinned: bool,
    ) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        let (_, options) = options_of((String::new(), storage, self.table.allowed().to_vec()));
        wait_long(py, async move { table.rebind_with(urls, &options).await }).map(|table| self.like(table))
    }

    /// Returns this version with permission to follow references to these URLs and below them.
    #[pyo3(signature = (*urls))]
    fn allow(&self, urls: Vec<String>) -> Self {
        self.like(self.table.clone()).allowing(urls)
    }

    /// Lists the URLs in other stores that a reader of this table must allow.
    fn must_allow(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let table = self.table.clone();
        wait_long(py, async move { Ok(table.must_allow().await) })
    }

    fn _delete(&self, py: Python<'_>, rows: Vec<u64>, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        wait_long(py, async move { table.delete(rows, Default::default()).await }).map(|table| self.like(table))
    }

    /// Publishes a version with renamed and dropped columns, changed properties and tags, all in one commit. None removes a
    /// property, and tags this version. Payload is written only if a group keeps some of its columns.
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
        for (column, values) in column_properties.into_iter().flat_map(|values| values.iter()) {
            let column: String = column.extract()?;
            for (key, value) in values.cast::<PyDict>()?.iter() {
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
            return Err(Invalid::new_err("nothing to change: expected a rename, drop, property or tag"));
        }
        wait_long(py, edit.commit()).map(|table| self.like(table))
    }

    /// Publishes a version with the content of an earlier one; returns this version if it has that content already. Payload is not
    /// copied.
    fn restore(&self, py: Python<'_>, version: u64, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        wait_long(py, async move { table.versions().restore(version).await }).map(|table| self.like(table))
    }

    /// Publishes a version that merges neighbouring index segments up to `segment_rows` rows; returns this version if there is
    /// nothing to merge. With a bound in `runs`, also copies scattered blocks side by side.
    #[pyo3(signature = (segment_rows, runs, allow_unpinned))]
    fn compact(&self, py: Python<'_>, segment_rows: u64, runs: Option<&str>, allow_unpinned: bool) -> PyResult<Self> {
        let table = self.unpinned_if(allow_unpinned);
        let bound = runs.map(str::parse::<Locality>).transpose().py()?;
        let compacted = wait_long(py, async move {
            match bound {
                Some(bound) => table.storage().compact_runs(segment_rows, bound).await.map(|(table, _)| table),
                None => table.storage().compact(segment_rows).await,
            }
        });
        compacted.map(|table| self.like(table))
    }

    /// Publishes a version that needs no other table: copies the chunks that it uses from other tables and verifies their hashes.
    /// Calls `progress` with (chunks done, chunks in total).
    #[pyo3(signature = (*, progress = None))]
    fn materialize(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let table = self.table.clone();
        let report = reporter(progress);
        wait_long(py, async move { table.storage().materialize(report).await }).map(|table| self.like(table))
    }

    /// Collects garbage: condemns objects that no kept version names, and deletes those that were condemned at least `age` ago.
    /// Returns the plan; without `apply`, the call is a dry run.
    #[pyo3(signature = (*, keep = 0, age = None, apply = false))]
    fn gc<'py>(&self, py: Python<'py>, keep: usize, age: Option<Duration>, apply: bool) -> PyResult<Bound<'py, PyAny>> {
        let mut settings = GcSettings { keep_versions: keep, ..GcSettings::default() };
        settings.age = age.unwrap_or(settings.age);
        let store = self.table.store().clone();
        let work = async move {
            match apply {
                true => Storage::of(&store).collect_garbage(settings, now_ms()).await,
                false => Storage::of(&store).plan_garbage(settings, now_ms()).await,
            }
        };
        to_python(py, &wait_long(py, work)?)
    }

    /// Gives up a version whose manifest is damaged.
    fn give_up(&self, py: Python<'_>, version: u64) -> PyResult<()> {
        let table = self.table.clone();
        wait_long(py, async move { table.versions().give_up(version).await })
    }

    /// Deletes what writers left at `url` that never committed a first version, if all of it is at least `age` old. Returns the
    /// plan; without `apply`, the call is a dry run.
    #[staticmethod]
    #[pyo3(signature = (place, *, age = None, apply = false))]
    fn collect_abandoned(py: Python<'_>, place: Place, age: Option<Duration>, apply: bool) -> PyResult<Bound<'_, PyAny>> {
        let (age, store) = (age.unwrap_or(GcSettings::default().age), store_of(place)?);
        let work = async move {
            match apply {
                true => Storage::of(&store).collect_abandoned(age, now_ms()).await,
                false => Storage::of(&store).plan_abandoned(age, now_ms()).await,
            }
        };
        to_python(py, &wait_long(py, work)?)
    }

    /// Tells what became of the commit with this id that was to make this version. `rules_out`: it must not arrive any more.
    #[staticmethod]
    #[pyo3(signature = (place, version, commit, rules_out))]
    fn resolve(py: Python<'_>, place: Place, version: u64, commit: &str, rules_out: bool) -> PyResult<String> {
        let id =
            commit.parse().map_err(|_| Invalid::new_err(format!("commit: expected the id of a commit, found {commit:?}")))?;
        let store = store_of(place)?;
        let work = async move {
            match rules_out {
                true => Versions::of(&store).rule_out(version, id).await,
                false => Versions::of(&store).fate_of(version, id).await,
            }
        };
        Ok(wait_long(py, work)?.to_string().replace(' ', "_"))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.table.rows()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("Table {} version {}: {} rows", self.table.url(), self.table.version(), self.table.rows())
    }
}

impl Table {
    /// Returns the table, with permission to publish versions although a table that they use cannot be pinned, if allowed.
    fn unpinned_if(&self, allowed: bool) -> tetrys::Table {
        // Reuses the handle if possible: a new one would load the metadata again.
        if crate::unpinned_if(allowed) { self.table.allow_unpinned() } else { self.table.clone() }
    }

    fn allowing(self, urls: Vec<String>) -> Self {
        // Reuses the handle if possible: a new one would load the metadata again.
        match urls.iter().all(|url| self.table.allowed().contains(url)) {
            true => self,
            false => Self::from(self.table.allow(urls)),
        }
    }
}
