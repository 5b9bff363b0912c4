"""Daft: reads tables as lazy DataFrames. Needs `pip install daft pyarrow`.

    df = tetrys.daft.read("s3://bucket/drives")
    df.where(daft.col("pedestrians") > 3).select("log_id", "lidar.points")

Daft pushes down the columns of a query and its filters. A filter on index columns prunes rows before payload is read. A filter on
other columns reads all columns of the frame: name those that you need in `columns`. Tensors are tensors of Daft.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import polars as pl
import pyarrow as pa

from . import cluster
from ._arguments import Url, exactly, url_of, whole
from ._data import types_of
from ._errors import NoColumn, imported
from ._index import read_index
from ._places import StorageOptions, place_of
from ._rows import RowLoader
from ._table import Table, opened

daft = imported("daft", "tetrys.daft needs Daft: pip install daft pyarrow")
source = imported("daft.io.source", "tetrys.daft needs a Daft with `daft.io.source`: pip install --upgrade daft")
recordbatch = imported("daft.recordbatch", "tetrys.daft needs Daft: pip install daft pyarrow")

__all__ = ["read"]


def read(
    url: Url,
    *,
    columns: str | Iterable[str] | None = None,
    splits: int | None = None,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Any:
    """Reads a table as a `daft.DataFrame`.

    Args:
        url: URL or path of the table. The frame reads the version that is the newest now, or that of the URL (`drives@7`).
        columns: Patterns of columns; default: all columns. Columns that a query does not need are not read.
        splits: Number of tasks; default: by the bytes that they read.
        allow: URLs of other stores that references in the table may be followed to.
        storage_options: Options of the store, as for `tetrys.open_table`; default: those of the environment.
        store_options: Another name of `storage_options`.

    Example:
        >>> df = tetrys.daft.read("drives", columns=["timestamp", "pedestrians", "lidar.*"])
        >>> df.where(daft.col("pedestrians") == 4).count_rows()
        4

    Raises:
        NotFound: there is no table at `url`, or `columns` matches no column.
        Unsupported: Daft is not installed.
    """
    if splits is not None:
        whole("splits", splits, 1)
    table = opened(place_of(url_of(url), storage_options, allow, store_options))
    index = [name for name, _ in table.index_columns]
    names = RowLoader(table, columns=columns).columns if columns is not None else list(types_of(table))
    if not names:
        raise NoColumn(f"{table.url}: `columns` matches none of {', '.join(types_of(table))}")
    options = {"splits": splits, "allow": allow, "storage_options": table._storage}
    return _Source(table, names, index, {name: value for name, value in options.items() if value is not None}).read()


class _Source(source.DataSource):  # type: ignore[misc, name-defined]
    """Plans the splits of a table for a query of Daft."""

    def __init__(self, table: Table, names: list[str], index: list[str], options: dict[str, Any]) -> None:
        self._table, self._names, self._index, self._options = table, names, index, options
        self._schema = _batch(pa.table(RowLoader(table, columns=[exactly(name) for name in names]).take([])).select(names)).schema()

    @property
    def name(self) -> str:
        return "tetrys"

    @property
    def schema(self) -> Any:
        return self._schema

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[_Task]:
        where, needed = self._filtered(pushdowns)
        names = [name for name in self._names if not pushdowns.columns or name in pushdowns.columns or name in needed]
        url = f"{self._table.url}@{self._table.version}"
        for split in cluster.plan_read(url, columns=[exactly(name) for name in names], where=where, **self._options):
            yield _Task(split, names)

    def _filtered(self, pushdowns: Any) -> tuple[pl.Expr | None, set[str]]:
        """Returns the rows of the index that pass the filters of a query, if these need the index alone, and the columns that they
        need: Daft applies them again to what is read.
        """
        if pushdowns.filters is None:
            return None, set()
        frame = _batch(read_index(self._table).to_arrow().select(self._index))
        try:
            # Daft evaluates its own filters, so that its rules for nulls and comparisons hold.
            passed = frame.eval_expression_list([pushdowns.filters.alias("passed")]).to_arrow_table()["passed"]
            return pl.lit(pl.Series(passed.fill_null(False).to_pylist(), dtype=pl.Boolean)), set(self._index)
        except daft.exceptions.DaftCoreException:
            return None, set(self._names)


class _Task(source.DataSourceTask):  # type: ignore[misc, name-defined]
    """Reads a split."""

    def __init__(self, split: cluster.ReadSplit, names: list[str]) -> None:
        self._split, self._names = split, names

    @property
    def schema(self) -> Any:
        return _batch(self._split.schema().empty_table().select(self._names)).schema()

    async def read(self) -> AsyncIterator[Any]:
        for batch in cluster.read(self._split):
            yield _batch(pa.table(batch.select(self._names)))


def _batch(table: pa.Table) -> Any:
    """Returns a record batch of Daft, in which tensors of variable shape are tensors of Daft."""
    return recordbatch.RecordBatch.from_pydict({name: _series(table[name], table.schema.field(name).type) for name in table.column_names})


def _series(column: pa.ChunkedArray, kind: pa.DataType) -> Any:
    series = daft.Series.from_arrow(column)
    if pa.types.is_struct(kind) and [kind.field(number).name for number in range(kind.num_fields)] == ["data", "shape"]:
        return series.cast(daft.DataType.tensor(daft.DataType.from_arrow_type(kind.field("data").type.value_type)))
    return series
