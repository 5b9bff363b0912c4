"""The index of a table as a lazy frame: polars plans the query and streams it, the native module decodes the rows it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from typing import Any, ClassVar, cast

import polars as pl
from polars.io.plugins import register_io_source

from . import _tetrys
from ._arguments import Url, truth
from ._conditions import POLARS, Stream, refused, serialized
from ._errors import imported
from ._index import Index, no_table, read_index, table_at
from ._places import StorageOptions
from ._table import Table
from ._tetrys import Error

_ROW = "__tetrys_row"


class LazyIndex(pl.LazyFrame):
    """A polars lazy frame over the index of a table, with its locator column; `scan_index` makes it.

    All methods of a lazy frame work. Those that keep rows as rows (`filter`, `sort`, `select`, `with_columns`, `join`, `head`,
    `sql`, ..) return a `LazyIndex`, so that `collect_index` can end the query.
    """

    _index_of: ClassVar[Callable[[pl.DataFrame], Index]]

    def collect_index(self) -> Index:
        """Runs the query with the streaming engine of polars, and returns its rows as an index.

        The result must fit into memory, and must have the locator column.

        Example:
            >>> rows = tt.scan_index("drives").filter(pl.col("pedestrians") > 3).sort("timestamp", descending=True)
            >>> tt.row_loader(rows.collect_index()).get_row(0, ["labels.*"])
            {'labels.text': 'row 19'}

        Raises:
            NotFound: a column does not exist.
            Invalid: polars rejects the query, or the query drops or changes the locator column.
        """
        try:
            frame = self.collect(engine="streaming")
        except Error:
            raise
        except POLARS as error:
            if unknown := no_table(error, "self", "lazy index"):
                raise unknown from error
            refused("collect_index", error)
        return type(self)._index_of(frame)

    def sql(self, query: str, *, table_name: str = "self") -> LazyIndex:
        """Returns the result of a SQL query over this frame, which is the table `self`; see `polars.LazyFrame.sql`. polars
        rejects a wrong query when it runs.
        """
        return cast(LazyIndex, type(self)._from_pyldf(super().sql(query, table_name=table_name)._ldf))

    def __reduce__(self) -> tuple[Callable[..., LazyIndex], tuple[Any, ...]]:
        """Pickles the query, and the URL and version of the table. Of a table that is no view, polars needs cloudpickle for this."""
        try:
            query = self.serialize()
        except POLARS as error:
            imported("cloudpickle", "a lazy index is pickled by cloudpickle, which is not installed: pip install cloudpickle, or call `scan_index` in the other process")
            refused("pickling a lazy index", error)
        return _restored, (query, type(self)._index_of)


def scan_index(
    url: Url | Table,
    *,
    categorical: bool = False,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> LazyIndex:
    """Returns the index of a table as a polars lazy frame, for an index that is larger than memory.

    Only the columns that a query uses are decoded, and the other columns of a filter only where it keeps rows. Segments whose
    bounds exclude a filter are not read. Of a segment with a tail, only these columns are read, and only the row groups and pages
    whose bounds do not exclude the filter. Memory holds one part of a segment at a time, up to 128 MiB of tails, and what the query
    keeps: `collect(engine="streaming")`, `sink_parquet` and `collect_index` stream. The index of a view is loaded whole.

    Args:
        url: URL, path or `Table`. `url@7` is version 7, `url@TAG` a tagged version.
        categorical: Decode text as categorical columns; see `read_index`.
        allow: URLs of other stores that references may be followed to; see `open_table`.
        storage_options: Options of the store of a URL; see `open_table`.
        store_options: Another name of `storage_options`.

    Example:
        >>> scan = tt.scan_index("drives")
        >>> scan.group_by("log_id").agg(pl.col("pedestrians").sum()).sort("log_id").collect(engine="streaming").rows()
        [('monday', 20), ('tuesday', 20)]
        >>> len(scan.filter(log_id="monday").collect_index())
        10

    Raises:
        NotFound: the table, version or tag does not exist.
        Unsupported: this process was forked from one that has used frames; polars does not survive a fork.
    """
    table = table_at(url, allow, storage_options, store_options)
    categorical = truth("categorical", categorical)
    if table.is_view:
        index = read_index(table, categorical=categorical)
        return _lazy(index.to_polars().lazy(), index.with_frame)
    scan = _tetrys.IndexScan(table._native, categorical)
    empty = pl.DataFrame(Stream(scan.empty()))
    names, locator = empty.columns[:-1], empty.columns[-1]

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = [*names, locator] if columns is None else columns
        read = [name for name in dict.fromkeys([*wanted, *_tested(predicate)]) if name != locator]
        # polars asks for the first `rows` rows of the table, and filters these: then no row may be left out.
        pruned = None if predicate is None or rows is not None else serialized(predicate)
        scan = _tetrys.IndexScan(table._native, categorical, read, pruned)
        left = rows
        while left is None or left > 0:
            part = scan.next()
            if part is None:
                return
            found = _rows_of(part, empty, wanted, predicate, left)
            left = None if left is None else left - min(left, len(part))
            yield found

    return _lazy(register_io_source(source, schema=empty.schema), partial(_of_frame, table))


def _rows_of(
    part: _tetrys.IndexPart, empty: pl.DataFrame, wanted: list[str], predicate: pl.Expr | None, limit: int | None
) -> pl.DataFrame:
    """Returns the wanted columns of the rows of a part that a predicate keeps. Other columns than those of the predicate are
    decoded only if it keeps any row. `empty` has the columns of the table, the locator last."""
    locator = empty.columns[-1]

    def decoded(columns: list[str]) -> pl.DataFrame:
        frame = pl.DataFrame(Stream(part.frame([name for name in columns if name != locator], locator in columns)))
        return frame if limit is None else frame.head(limit)

    if predicate is None:
        return decoded(wanted).select(wanted)
    tested = _tested(predicate) or wanted[:1]
    others = [name for name in wanted if name not in tested]
    kept = decoded(list(dict.fromkeys(tested))).with_row_index(_ROW).filter(predicate)
    if not others:
        return kept.select(wanted)
    if kept.is_empty():
        return empty.select(wanted)
    return pl.concat([kept, decoded(others)[kept[_ROW]]], how="horizontal").select(wanted)


def _tested(predicate: pl.Expr | None) -> list[str]:
    """Returns the columns of a predicate."""
    return [] if predicate is None else predicate.meta.root_names()


def _lazy(frame: pl.LazyFrame, index_of: Callable[[pl.DataFrame], Index]) -> LazyIndex:
    """Returns the frame as a `LazyIndex`. The methods of a lazy frame return frames of its class, so the class has the table."""
    members = {"_index_of": staticmethod(index_of), "__doc__": LazyIndex.__doc__}
    made = cast(type[LazyIndex], type("LazyIndex", (LazyIndex,), members))
    return cast(LazyIndex, made._from_pyldf(frame._ldf))


def _restored(query: bytes, index_of: Callable[[pl.DataFrame], Index]) -> LazyIndex:
    return _lazy(pl.LazyFrame.deserialize(BytesIO(query)), index_of)


def _of_frame(table: Table, frame: pl.DataFrame) -> Index:
    return Index(_tetrys.Index.of_frame(table._native, frame), (_without_rows, (table,)))


def _without_rows(table: Table) -> Index:
    """Makes an index without rows, which another process gives its frame."""
    empty: Any = Stream(_tetrys.IndexScan(table._native, False).empty())
    return _of_frame(table, pl.DataFrame(empty))
