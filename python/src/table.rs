//! Tables: what they say of themselves, and the versions that are made of them.

use std::{collections::BTreeMap, time::Duration};

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use serde::Serialize;
use tetrys::table::{GcSettings, now_ms};

use crate::{
    diff::Diff,
    error::{Internal, IntoPython, Invalid},
    index::Index,
    runtime::{check_frames, wait_long},
};

/// One version of a table; immutable.
#[pyclass(frozen, module = "tetrys")]
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

/// A value as Python has it: dicts, lists, numbers, text.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(value).map_err(|error| Internal::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}

/// A value of Python that JSON has too.
pub(crate) fn from_python<T: serde::de::DeserializeOwned>(what: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let json: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&json).map_err(|error| Invalid::new_err(format!("{what}: {error}")))
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
    ///
    ///     >>> table = tt.Table("drives")
    ///     >>> table.version, len(table), tt.Table("drives@1").version
    ///     (1, 20, 1)
    ///
    /// Raises `NotFound` where there is no table, no such version or tag; `Corrupt` where its bytes are not what was written.
    #[new]
    #[pyo3(signature = (url, *, allow = Vec::new()))]
    fn new(py: Python<'_>, url: String, allow: Vec<String>) -> PyResult<Self> {
        let options = tetrys::StoreOptions::from_env().allow(allow.iter().cloned());
        let table = wait_long(py, async move { tetrys::Table::open_with(&url, &options).await })?;
        Ok(Self::from(table).allowing(allow))
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
        self.table.manifest().table.to_string()
    }

    /// The tags, as this version says: {name: version}.
    #[getter]
    fn tags(&self) -> BTreeMap<String, u64> {
        self.table.manifest().tags.clone()
    }

    /// What made this version: writer, operation, and what the operation says.
    #[getter]
    fn lineage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.table.manifest().lineage)
    }

    /// The preset that it was written with: `fast`, `balanced` or `compact`.
    #[getter]
    fn preset(&self) -> &str {
        &self.table.manifest().preset
    }

    /// Whether the table is a view: a saved merge, filter or split, with rows of other tables.
    #[getter]
    fn is_view(&self) -> bool {
        self.table.view().is_some()
    }

    /// The index columns and their types.
    #[getter]
    fn index_columns(&self) -> Vec<(String, String)> {
        self.table.schema().index().map(|column| (column.name.clone(), column.ty.to_string())).collect()
    }

    /// The column groups, each with its columns and their types.
    #[getter]
    fn groups(&self) -> Vec<(String, Vec<(String, String)>)> {
        let schema = self.table.schema();
        let column = |id| schema.column(id).map(|column| (column.name.clone(), column.ty.to_string()));
        let columns = |group: &tetrys::ColumnGroup| group.columns.iter().filter_map(|id| column(*id)).collect();
        schema.groups().iter().map(|group| (group.name.clone(), columns(group))).collect()
    }

    /// Stored bytes, and bytes of the values, of each column group: {group: (stored, decoded)}.
    #[getter]
    fn group_sizes(&self) -> BTreeMap<String, (u64, u64)> {
        let segments = &self.table.manifest().segments;
        let sizes = |(number, group): (usize, &tetrys::ColumnGroup)| {
            let of = segments.iter().filter_map(|segment| segment.groups.get(number));
            let logical = of.clone().flat_map(|group| &group.columns).map(|column| column.logical).sum();
            (group.name.clone(), (of.map(|group| group.stored_bytes).sum(), logical))
        };
        self.table.schema().groups().iter().enumerate().map(sizes).collect()
    }

    /// What the table says of itself.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.table.manifest().properties)
    }

    /// What is said of a column: its unit, and what else was set.
    ///
    ///     >>> tt.Table("drives").column_properties("timestamp")
    ///     {'unit': 'ms'}
    ///
    /// Raises `NotFound` for a column that is not there.
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
    ///
    ///     >>> info = tt.Table("drives").info()
    ///     >>> info["rows"], info["sequences"], info["preset"]
    ///     (20, 2, 'balanced')
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { table.info().await })?)
    }

    /// What each version takes, and shares with others: what `tetrys du --json` prints, as a dict. Bytes; versions newest first.
    ///
    ///     >>> usage = tt.Table("drives").du()
    ///     >>> [(one["version"], one["rows"], one["referenced_bytes"]) for one in usage["versions"]]
    ///     [(1, 20, 0)]
    fn du<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let store = self.table.store().clone();
        to_python(py, &wait_long(py, async move { tetrys::Table::usage(&store).await })?)
    }

    /// The versions that are there, newest first, each a dict: `version`, `parent`, `written_ms` (milliseconds since 1970 in UTC, by
    /// the store's clock), `operation`, `tags`, `rows`, `sequences`, `bytes_added`, `preset`, `writer`, `manifest_blake3`.
    ///
    ///     >>> table = tt.Table("drives").tag("gold")
    ///     >>> [(one["version"], one["operation"], one["tags"]) for one in table.versions()]
    ///     [(2, 'edit', []), (1, 'create', ['gold'])]
    fn versions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.table.clone();
        to_python(py, &wait_long(py, async move { table.history().await })?)
    }

    /// Reads every byte of this version and checks it: a dict with `objects`, `chunks`, `blocks`, `bytes`, and `damage`, a list of
    /// dicts with `object` and `problem`, empty for a sound table. With `all_versions` every version is checked, with `sources` the
    /// tables behind a view too; `not_checked` lists what was left. `progress` is told bytes done and bytes in all.
    ///
    ///     >>> tt.Table("drives").verify()["damage"]
    ///     []
    ///
    /// Raises `Unavailable`, `Denied` where the store does not answer: damage is listed, not raised.
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
    /// matched by the index columns `on`, else by those of sequence and order, else by their numbers. Rows that share a block with
    /// others are known to differ together only (`Diff.is_exact`); with `exact` they are read and compared.
    ///
    ///     >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> print(old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"]))
    ///     2 rows -> 3: 1 added, 0 removed, 0 changed, 2 unchanged
    ///
    /// Raises `NotFound` for a key that is no index column of both, `Invalid` for one of different types.
    #[pyo3(signature = (before, on = Vec::new(), *, exact = false))]
    fn diff(&self, py: Python<'_>, before: &Self, on: Vec<String>, exact: bool) -> PyResult<Diff> {
        let (now, before) = (self.table.clone(), before.table.clone());
        let found = async move { if exact { now.diff_exact(&before, on).await } else { now.diff(&before, on).await } };
        wait_long(py, found).map(Diff)
    }

    /// Of a view, the table versions whose rows it has, in the order in which they were put together; else none.
    ///
    /// Raises `NotFound` where one is not there any more, or there in another state; `Denied` where it may not be followed.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let table = self.table.clone();
        let sources = wait_long(py, async move { table.sources().await })?;
        Ok(sources.iter().cloned().map(|source| self.like(source)).collect())
    }

    /// Of a view, or of a table with references: a version that looks for other tables at these URLs first. A table that moved is
    /// known by its UUID and the hash of the version; another one is refused.
    ///
    /// Raises `NotFound` where none of the URLs has a table that is needed.
    #[pyo3(signature = (*urls))]
    fn rebind(&self, py: Python<'_>, urls: Vec<String>) -> PyResult<Self> {
        let table = self.table.clone();
        wait_long(py, async move { table.rebind(urls).await }).map(|table| self.like(table))
    }

    /// The same version, which may also follow references to absolute URLs at or below these.
    #[pyo3(signature = (*urls))]
    fn allow(&self, urls: Vec<String>) -> Self {
        self.like(self.table.clone()).allowing(urls)
    }

    /// The URLs in other stores that a reader of this table has to allow: those by which it refers to tables that are no
    /// neighbours of it. Of a view the tables behind it are opened, as far as they can be.
    ///
    ///     >>> tt.Table("drives").must_allow()
    ///     []
    fn must_allow(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let table = self.table.clone();
        wait_long(py, async move { Ok(table.must_allow().await) })
    }

    /// A version with more rows, cut as this table's are; blocks that an earlier version or one of the tables `reference` has are
    /// not stored again. `data` is what `tt.write_table` takes; options are `reference`, `reuse`, `locality`, `preset`,
    /// `write_memory`, `properties` and `progress`, as there.
    ///
    ///     >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> table = table.append({"time": [2], "lidar.count": [8]})
    ///     >>> table.version, tt.row_loader(table).take([1, 2])["lidar.count"].tolist()
    ///     (2, [9, 8])
    ///
    /// Raises `Invalid` for other columns or a sequence that comes back, `Conflict` where another writer changed the same.
    #[pyo3(signature = (data, **options))]
    fn append<'py>(
        this: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.getattr("append")?.call((this, data), options)
    }

    /// A version with other rows; what was before stays in the versions before, and blocks that are the same are not stored again.
    /// `data` and options are those of `tt.write_table`.
    ///
    ///     >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> table = table.overwrite({"time": [0, 1, 2], "lidar.count": [7, 9, 9]}, index=["time"])
    ///     >>> table.version, len(table), len(tt.open_table("sweeps@1"))
    ///     (2, 3, 2)
    ///
    /// Raises `Conflict` where another writer committed rows in the meantime.
    #[pyo3(signature = (data, **options))]
    fn overwrite<'py>(
        this: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.getattr("overwrite")?.call((this, data), options)
    }

    /// A version with other values in the columns of one group; nothing else is written. `data` has one row for each row of the
    /// table, in its order, or batches of them; or with `on`, index columns that tell which row is which, and rows that are not
    /// there become null.
    ///
    ///     >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> table = table.replace_group("lidar", {"time": [1, 0], "lidar.count": [5, 6]}, on=["time"])
    ///     >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
    ///     [6, 5]
    ///
    /// Raises `NotFound` for no such group, `Invalid` for missing rows or columns and keys that are not there or there twice,
    /// `Conflict` where another writer changed the group or the rows.
    #[pyo3(signature = (name, data, **options))]
    fn replace_group<'py>(
        this: &Bound<'py, Self>,
        name: &str,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.getattr("replace_group")?.call((this, name, data), options)
    }

    /// A version with one more column group; rows are given as to `replace_group`, types by `schema` where they should not be
    /// guessed.
    ///
    ///     >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> table = table.add_group("labels", {"labels.text": ["car", None]})
    ///     >>> tt.row_loader(table)[0]
    ///     {'lidar.count': np.int64(7), 'labels.text': 'car'}
    ///
    /// Raises `Invalid` for names that are there already; as `replace_group`.
    #[pyo3(signature = (name, data, **options))]
    fn add_group<'py>(
        this: &Bound<'py, Self>,
        name: &str,
        data: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.getattr("add_group")?.call((this, name, data), options)
    }

    /// A version with other values in some rows, in columns of one group: `data` has these columns and the index columns `on` that
    /// find the rows. Blocks without such rows stay.
    ///
    ///     >>> table = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
    ///     >>> table = table.patch({"time": [1], "lidar.count": [10]}, on=["time"])
    ///     >>> tt.row_loader(table).take([0, 1])["lidar.count"].tolist()
    ///     [7, 10]
    ///
    /// Raises `Invalid` for keys that are not there or there twice, and columns of several groups; `Conflict` where another writer
    /// changed the group.
    #[pyo3(signature = (data, on, **options))]
    fn patch<'py>(
        this: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        on: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.getattr("patch")?.call((this, data, on), options)
    }

    /// A version without some rows: row numbers, those of an index of this table, or those for which a polars expression is true.
    /// Wide rows vanish without a byte of payload written.
    ///
    ///     >>> table = tt.Table("drives").delete(pl.col("pedestrians") == 0)
    ///     >>> table.version, len(table)
    ///     (2, 16)
    ///
    /// Raises `Invalid` for a row outside the table, `Conflict` where another writer changed these rows.
    fn delete<'py>(this: &Bound<'py, Self>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._change")?.call_method1("delete", (this, rows))
    }

    fn _delete(&self, py: Python<'_>, rows: Vec<u64>) -> PyResult<Self> {
        let table = self.table.clone();
        wait_long(py, async move { table.delete(rows, Default::default()).await }).map(|table| self.like(table))
    }

    /// A version of which other things are said, all changes at once: columns under other names (`rename={"old": "new"}`), without
    /// columns (`drop`), with properties of the table (`properties`, None takes one back) or of columns (`column_properties`,
    /// {column: {key: value}}), with names of versions (`tags`, {name: version or None for this one}), without some (`untag`). No
    /// payload is written.
    ///
    ///     >>> table = tt.Table("drives").edit(rename={"labels.text": "labels.note"}, properties={"license": "CC0"}, tags={"gold": 1})
    ///     >>> table.version, table.properties, tt.open_table("drives@gold").version
    ///     (2, {'license': 'CC0'}, 1)
    ///
    /// Raises `NotFound` for what is not there, `Invalid` for names that are taken and columns that others need, `Conflict` where
    /// another writer changed the same.
    #[pyo3(signature = (*, rename = None, drop = Vec::new(), properties = None, column_properties = None, tags = None, untag = Vec::new()))]
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
    ) -> PyResult<Self> {
        let mut edit = self.table.edit();
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

    /// A version without these columns; a column group goes with its last one. As `edit(drop=columns)`.
    ///
    ///     >>> [name for name, _ in tt.Table("drives").drop_columns("labels.text").groups]
    ///     ['lidar', 'camera']
    #[pyo3(signature = (*columns))]
    fn drop_columns(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Self> {
        self.edit(py, None, columns, None, None, None, Vec::new())
    }

    /// A version in which a column has another name. As `edit(rename={column: name})`.
    ///
    ///     >>> table = tt.Table("drives").rename_column("labels.text", "labels.note")
    ///     >>> tt.row_loader(table).get_row(0, ["labels.*"])
    ///     {'labels.note': 'row 0'}
    fn rename_column(&self, py: Python<'_>, column: &str, name: &str) -> PyResult<Self> {
        let rename = PyDict::new(py);
        rename.set_item(column, name)?;
        self.edit(py, Some(&rename), Vec::new(), None, None, None, Vec::new())
    }

    /// A version that says these things of the table; None takes one back. As `edit(properties={...})`.
    ///
    ///     >>> tt.Table("drives").set_properties(license="CC0", rig=3).properties
    ///     {'license': 'CC0', 'rig': 3}
    #[pyo3(signature = (**properties))]
    fn set_properties(&self, py: Python<'_>, properties: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.edit(py, None, Vec::new(), properties, None, None, Vec::new())
    }

    /// A version in which this version, or another one, has a name: `url@NAME` opens it. A name that is there moves.
    ///
    ///     >>> tt.Table("drives").tag("gold").tags
    ///     {'gold': 1}
    #[pyo3(signature = (name, version = None))]
    fn tag(&self, py: Python<'_>, name: &str, version: Option<u64>) -> PyResult<Self> {
        let tags = PyDict::new(py);
        tags.set_item(name, version)?;
        self.edit(py, None, Vec::new(), None, None, Some(&tags), Vec::new())
    }

    /// A version in which these names of versions are taken back.
    #[pyo3(signature = (*names))]
    fn untag(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        self.edit(py, None, Vec::new(), None, None, None, names)
    }

    /// A version whose index segments have up to `segment_rows` rows: neighbours are put together, payload stays where it is. The
    /// same version where nothing can be put together.
    #[pyo3(signature = (*, segment_rows = 4_194_304))]
    fn compact(&self, py: Python<'_>, segment_rows: u64) -> PyResult<Self> {
        let table = self.table.clone();
        wait_long(py, async move { table.compact(segment_rows).await }).map(|table| self.like(table))
    }

    /// A version that needs no other table: the chunks that it uses of others are copied, compared with their names, and the ties
    /// are cut. `progress` is told chunks done and chunks in all.
    ///
    /// Raises `Corrupt` where a chunk is missing or damaged, naming it and its owner.
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
    ///
    ///     >>> plan = tt.Table("drives").gc(keep=3)
    ///     >>> plan["done"], plan["condemn"], plan["delete"]
    ///     (False, {}, {})
    ///
    /// Raises `Conflict` where another writer committed in the meantime, `Corrupt` where what a kept version names cannot be read.
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

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._html")?.call_method1("of_table", (this,))
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

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("tetrys._change")?.getattr("restore")?;
        let url = format!("{}@{}", self.table.url(), self.table.version());
        Ok((restore, (url, self.table.allowed().to_vec()).into_pyobject(py)?))
    }
}

impl Table {
    fn allowing(self, urls: Vec<String>) -> Self {
        // A new handle loads what the old one has loaded again.
        match urls.iter().all(|url| self.table.allowed().contains(url)) {
            true => self,
            false => Self::from(self.table.allow(urls)),
        }
    }
}
