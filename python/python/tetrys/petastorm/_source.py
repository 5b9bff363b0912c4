"""Sources of readers: the tables behind a URL, and the rows of them that are selected."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import choice, members, path_of, size, text, url_of
from .._errors import short
from .._index import Index, concat, read_index, table_at
from .._ingest_petastorm import ingest_petastorm, read_petastorm_metadata
from .._rows import RowLoader
from .._table import Table
from .._tetrys import Error, Exists, Invalid, NotFound, Rows, Unsupported
from ._stored import Stored, Values, microseconds, stored_fields
from .errors import NoColumn, NoDataSet, NoTable, WrongType, WrongValue, found
from .unischema import Unischema

Positions = npt.NDArray[np.int64]
_READ_BYTES = 4 << 20
"""Bytes of decoded rows that are read together."""
_lock = threading.Lock()


@dataclass(frozen=True)
class Source:
    """Rows in their order: all rows of a table, or those of an index."""

    rows: Table | Index
    tables: list[Table]
    name: str
    """Name of the schema."""
    fields: dict[str, Stored]
    """All fields that the tables store."""

    @cached_property
    def schema(self) -> Unischema:
        """The schema of all fields."""
        return Unischema(self.name, [stored.field for stored in self.fields.values()])

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, positions: Positions | None, stored: Sequence[Stored]) -> Table | Index:
        """Returns the rows at some positions, to read these fields from; all rows for None."""
        if positions is None:
            return self.rows
        index = self.rows
        if isinstance(index, Table):
            known = [name for name, _ in index.index_columns]
            wanted = {column for one in stored for column in one.columns}
            # Any one index column brings the locators.
            index = read_index(index, [name for name in known if name in wanted] or known[:1])
        chosen: Index = index[positions]
        return chosen

    def loader(self) -> RowLoader:
        """Returns a loader of all rows."""
        return RowLoader(self.rows)

    def named(self, name: str, what: str) -> Stored:
        """Returns a field by its name, or an index column that is no field.

        Raises:
            KeyError (a `NotFound`): there is neither.
        """
        if name in self.fields:
            return self.fields[name]
        extra = _columns(self.tables)
        if name not in extra:
            raise NoColumn(f"{what}: no field `{name}` in {self.tables[0].url}; there are: {', '.join(self.fields)}")
        return extra[name]

    def is_indexed(self, stored: Stored) -> bool:
        """Whether the index has a field, so that its values cost no payload."""
        known = {name for name, _ in self.tables[0].index_columns}
        return known.issuperset(stored.columns)

    def values(
        self, stored: Sequence[Stored], positions: Positions, loader: RowLoader, *, with_none: bool = False
    ) -> Iterator[tuple[Positions, list[Values]]]:
        """Yields positions and the values of some fields there, in parts that fit into memory. `with_none`: each null is None."""
        columns = [column for one in stored for column in one.columns]
        step = 1 << 16 if all(map(self.is_indexed, stored)) else self.rows_for(stored, _READ_BYTES, 1 << 16)
        for start in range(0, len(positions), step):
            part = positions[start : start + step]
            rows = loader._native.take(part.tolist(), columns)
            yield part, [one.values_or_none(rows) if with_none else one.values(rows) for one in stored]

    def rows_for(self, stored: Sequence[Stored], budget: int, most: int) -> int:
        """Returns a number of rows, at least 1 and at most `most`, whose decoded fields take about `budget` bytes."""
        return max(1, min(most, int(budget / max(1.0, self.row_bytes(stored)))))

    def row_bytes(self, stored: Sequence[Stored]) -> float:
        """Returns the mean size of a decoded row with these fields, in bytes."""
        columns = {column for one in stored for column in one.columns}
        largest = 0.0
        for table in self.tables:
            sizes, rows, total = table.group_sizes, max(1, len(table)), 0.0
            for group, names in table.groups:
                if columns.intersection(name for name, _ in names):
                    total += sizes[group][1] / rows
            largest = max(largest, total)
        return largest + sum(_pixels(one) for one in stored if one.picture is not None) + 8.0 * len(columns)


def _pixels(stored: Stored) -> float:
    """Bytes of a decoded picture; of an open size, those of a full HD one."""
    return float(np.prod([extent or 1920 if place else extent or 1080 for place, extent in enumerate(stored.field.shape)]))


def _columns(tables: Sequence[Table]) -> dict[str, Stored]:
    """Returns the index columns by their own names, fields or not."""
    from ._stored import _inferred

    table = tables[0]
    types = dict(table.index_columns)
    return {stored.columns[0]: stored for stored in _inferred(table, list(types), types).values()}


def opened(
    dataset_url: Any,
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    cache: Mapping[str, str] | None = None,
    ingest_to: Any = None,
) -> Source:
    """Opens the data set at a URL, at several, or that a `Table` or an `Index` is.

    Args:
        dataset_url: `file://`, `s3://`, `gs://`, `abfs://`, `http(s)://`, or a path; a list of them; a `Table`; or an `Index`.
        storage_options: Options of the store; see `tetrys.open_table`.
        cache: Environment variables of the cache, set while the table is opened.
        ingest_to: URL of the table that the data set of Petastorm, or of Parquet files, at `dataset_url` becomes; see `ingested`.

    Raises:
        FileNotFoundError (a `NotFound`): there is no table, or a data set that is not ingested yet.
        Invalid: there are options, and the table is open already.
        Unsupported: the URL has a scheme that no store has, or there is a file system of another library.
    """
    if filesystem is not None:
        raise Unsupported("filesystem: tables are read by the stores of tetrys: pass the URL alone")
    # Petastorm passes an empty dict on.
    options = members("storage_options", storage_options) or None
    if ingest_to is not None:
        dataset_url, options = ingested(dataset_url, ingest_to, options), None
    with _environment(cache or {}):
        source = _opened(dataset_url, options)
    if cache and all(not table.is_view and ("://" not in table.url or table.url.startswith("file://")) for table in source.tables):
        warnings.warn(f'cache_type="local-disk": {source.tables[0].url} is on a local disk already, and nothing is cached: leave the cache out', stacklevel=3)
    return source


def _opened(dataset_url: Any, options: Mapping[str, Any] | None) -> Source:
    if isinstance(dataset_url, Index):
        if options is not None:
            raise Invalid("storage_options: the tables of an index are open already: pass them to `tetrys.read_index`")
        return _source(dataset_url, dataset_url.tables)
    if isinstance(dataset_url, (list, tuple)):
        if not dataset_url:
            raise WrongValue("dataset_url: an empty list, expected one URL or more")
        tables = [_table(one, options) for one in dataset_url]
        return _source(concat([read_index(table) for table in tables]), tables)
    table = _table(dataset_url, options)
    return _source(table, [table])


def _table(given: Any, options: Mapping[str, Any] | None) -> Table:
    if isinstance(given, Table):
        return table_at(given, (), options)
    url = table_url(given)
    try:
        return table_at(url, (), options)
    except NotFound as error:
        if not _is_data_set(url, options):
            raise NoTable(*error.args) from error
        raise NoDataSet(
            f"{url}: a data set of Petastorm or of Parquet files, expected a table: make one with tetrys.ingest_petastorm({url!r}, TABLE) and read that, or pass "
            "ingest_to=TABLE to the reader"
        ) from error


def _is_data_set(url: str, options: Mapping[str, Any] | None) -> bool:
    """Whether there are Parquet files at a URL that has no table."""
    try:
        return bool(read_petastorm_metadata(url, storage_options=options)["row_groups"])
    except Error:
        return False


def ingested(dataset_url: Any, table: Any, options: Mapping[str, Any] | None) -> Table:
    """Returns the table at the URL `table`. If there is none yet, imports the data set at `dataset_url` into it first.

    A table that is there is taken as it is: the data set is not looked at.
    """
    place = table_url(table)
    # As for `ingest_petastorm`: options are those of the data set if the table is in a folder.
    of_table = options if "://" in place and not place.startswith("file://") else None
    with suppress(NotFound):
        return table_at(place, (), of_table)
    source = table_url(dataset_url)
    try:
        return ingest_petastorm(source, place, storage_options=options)
    except Exists:
        # Another process was faster.
        return table_at(place, (), of_table)


def _source(rows: Table | Index, tables: list[Table]) -> Source:
    if not tables:
        raise WrongValue("the index has no table")
    name, fields = stored_fields(tables)
    if isinstance(rows, Index):
        # An index may have been loaded with some of its columns.
        gone = {column for column, _ in tables[0].index_columns}.difference(rows.columns)
        fields = {field: stored for field, stored in fields.items() if not gone.intersection(stored.columns)}
    return Source(rows, tables, name, fields)


_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}
_FOREIGN = ("hdfs", "viewfs", "dbfs", "wasb", "wasbs")


def shown(url: str) -> str:
    """Returns a URL for a message: shortened, and without the user and the password."""
    start = url.find("//") + 2 if "//" in url else 0
    # A password may have slashes and more.
    return short(url[:start] + re.sub(r"^(.*:.*|[^/?#]*)@", "", url[start:], flags=re.DOTALL))


def table_url(url: Any) -> str:
    """Returns the URL of a table for a URL as Petastorm takes it."""
    if not isinstance(url, (str, os.PathLike)):
        raise WrongType(f"dataset_url: expected a URL, a path, a Table or an Index, found {found(url)}")
    plain = url_of(url)
    scheme, _, rest = plain.partition("://")
    if rest and scheme in _FOREIGN:
        raise Unsupported(f"{shown(plain)}: tables are not read from {scheme}: copy the folder of the table to a disk or an object store, where it works as it is")
    if rest:
        plain = f"{_SCHEMES.get(scheme, scheme)}://{rest}"
    return re.sub(r"(?<=[^/:])/+$", "", plain)


def cache_settings(kind: Any, location: Any, limit: Any) -> dict[str, str]:
    """Returns the environment variables of the cache that `cache_type` and the arguments with it ask for."""
    if kind is None or choice("cache_type", kind, ("null", "local-disk")) == "null":
        return {}
    if location is None:
        raise WrongValue('cache_location: cache_type="local-disk" needs the folder of the cache')
    # The cache of the library has a folder of its own, and touches nothing beside it.
    settings = {"TETRYS_CACHE": os.path.join(path_of("cache_location", location), "tetrys")}
    if limit is not None:
        settings["TETRYS_CACHE_SIZE"] = str(size("cache_size_limit", limit))
    return settings


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables; a table keeps the options of the store that it was opened with."""
    if not settings:
        yield
        return
    with _lock:
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[text("a variable", name)]
                else:
                    os.environ[name] = value


def plain_array(source: Source, stored: Stored, positions: Positions, loader: RowLoader) -> npt.NDArray[Any]:
    """Returns the values of a field of numbers, times or decimals as one array.

    Raises:
        ValueError (an `Invalid`): a value is null, or the field is none of these.
    """
    rows: Rows = loader._native.take(positions.tolist(), list(stored.columns))
    if not (valid := rows.valid(stored.columns[0])).all():
        raise WrongValue(f"field `{stored.field.name}` is null in row {positions[int((~valid).argmax())]}: filter such rows out with a predicate")
    values = rows[stored.columns[0]]
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufM":
        return microseconds(values) if stored.is_declared else values
    listed = stored.values(rows)
    made = np.empty(len(listed), object)
    made[:] = listed
    return made
