"""The index of a table: a frame whose rows can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl

from . import _tetrys
from ._tetrys import Invalid, Table


class ArrowStream(Protocol):
    """A frame of polars, pandas, pyarrow, DuckDB or anything else that speaks Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _Stream:
    """A frame that was sent already."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream


class Index:
    """The index columns of a table's rows, and for each table behind them a locator column of i64.

    Do anything to the frame (`to_polars`, `to_pandas`, `to_arrow`, or any library that speaks Arrow's PyCapsule interface) and
    give it back by `with_frame`: as long as the locators stay, its rows can be read.

        >>> index = tt.read_index("drives")
        >>> len(index), index.columns
        (20, ['log_id', 'timestamp', 'pedestrians'])
        >>> index[index["pedestrians"] > 3]["timestamp"].to_list()
        [400, 900, 1400, 1900]
    """

    def __init__(self, native: _tetrys.Index, remake: tuple[Callable[..., Index], tuple[Any, ...]]) -> None:
        """Made by `read_index`, `merge` and `concat`; `remake` makes an index of the same tables in another process."""
        self._native = native
        self._remake = remake

    @property
    def columns(self) -> list[str]:
        """The names of the columns that are not locators."""
        return self._native.column_names()

    @property
    def tables(self) -> list[Table]:
        """The table versions that the locators point to."""
        return self._native.tables()

    def filter(self, *predicates: pl.Expr, **equal: Any) -> Index:
        """The rows for which all polars expressions are true, and the named columns equal the values.

            >>> index = tt.read_index("drives")
            >>> len(index.filter(pl.col("pedestrians") > 3)), len(index.filter(log_id="monday"))
            (4, 10)
        """
        return self.with_frame(self.to_polars().filter(*predicates, **equal))

    def sort(self, by: str | Sequence[str], *, descending: bool = False) -> Index:
        """The rows in the order of these columns; equal ones stay in their order."""
        return self._of(self._native.sort([by] if isinstance(by, str) else list(by), descending))

    def sample(self, rows: int, *, seed: int) -> Index:
        """Rows drawn at random, none twice; the same for the same seed."""
        return self._of(self._native.sample(rows, seed))

    def sql(self, query: str) -> Index:
        """The rows that a query over the table `t` gives; it must keep the locators, as `*` does.

            >>> tt.read_index("drives").sql("SELECT * FROM t WHERE pedestrians > 3 ORDER BY timestamp DESC")["timestamp"].to_list()
            [1900, 1400, 900, 400]
        """
        return self._of(self._native.sql(query))

    def query(self, query: str) -> pl.DataFrame:
        """The answer of any query over the table `t`, as a frame of polars.

            >>> tt.read_index("drives").query("SELECT log_id, count(*) AS rows FROM t GROUP BY log_id ORDER BY log_id").rows()
            [('monday', 10), ('tuesday', 10)]
        """
        return pl.DataFrame(_Stream(self._native.query(query)))

    def with_frame(self, frame: ArrowStream) -> Index:
        """The same tables under another frame: its locator columns say which rows it means.

            >>> index = tt.read_index("drives")
            >>> frame = index.to_polars().sort("pedestrians").with_columns(twice=pl.col("pedestrians") * 2)
            >>> index.with_frame(frame[:2])["twice"].to_list()
            [0, 0]

        Raises `Invalid` where a locator column is missing, null, not i64, or of another table version.
        """
        return self._of(self._native.with_frame(frame))

    def merge(self, right: Index, on: str | Sequence[str], **options: Any) -> Index:
        """As `tetrys.merge(self, right, on, ...)`."""
        return merge(self, right, on, **options)

    def to_polars(self) -> pl.DataFrame:
        """The frame, locators included. Numbers are not copied."""
        return pl.DataFrame(self)

    def to_pandas(self) -> Any:
        """The frame as one of pandas, which must be installed (3 or later)."""
        import pandas

        return pandas.DataFrame.from_arrow(self)

    def to_arrow(self) -> Any:
        """The frame as a table of pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        """A column by its name (a polars series); rows by a boolean mask, a slice, or a list of positions (an index)."""
        if isinstance(key, str):
            return self.to_polars()[key]
        if isinstance(key, slice):
            return self.with_frame(self.to_polars()[key])
        key = np.asarray(key)
        if key.ndim != 1:
            raise Invalid(f"rows by an array of {key.ndim} dimensions: expected a mask or positions")
        if key.dtype == np.bool_:
            return self._of(self._native.mask(np.ascontiguousarray(key)))
        return self.with_frame(self.to_polars()[key.astype(np.int64)])

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def _repr_html_(self) -> str:
        """The frame, the pictures of its first rows, the tables with their groups and sizes."""
        from ._html import of_index

        return of_index(self)

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        """The tables by URL and version, and the frame."""
        return _restore, (self._remake, self.to_polars())

    def _of(self, native: _tetrys.Index) -> Index:
        return Index(native, self._remake)


def _restore(remake: tuple[Callable[..., Index], tuple[Any, ...]], frame: pl.DataFrame) -> Index:
    return remake[0](*remake[1]).with_frame(frame)


def read_index(url: str | Table, columns: Iterable[str] | None = None) -> Index:
    """The index of the table at `url` (`/data/sensors`, `file:///data/sensors`, `...@7` for version 7), or those of its columns
    that match any of the patterns.

        >>> tt.read_index("drives", columns=["log*"]).columns
        ['log_id']

    Raises `NotFound` where there is no table, `Corrupt` where its bytes are not what was written.
    """
    table = url if isinstance(url, Table) else Table(url)
    columns = None if columns is None else list(columns)
    return Index(table._index(columns), (read_index, (table, columns)))


def merge(
    left: Index,
    right: Index,
    on: str | Sequence[str],
    *,
    how: str = "inner",
    right_on: str | Sequence[str] | None = None,
    by_time: str | tuple[str, str] | None = None,
    pick: str = "before",
    tolerance: str | None = None,
    first: bool = False,
    suffix: str = "_right",
) -> Index:
    """Puts the columns of `right` beside those of `left` where the keys `on` are equal; no payload is read or copied.

    Windows then follow the rows of the left table through both. `how="inner"` keeps rows with a partner, `how="left"` all.
    `by_time` names a time column (or a pair of left and right): of the rows with equal keys the one that is nearest, the last
    before or the first after (`pick`), no further than `tolerance` (`"50ms"`). `first` takes the first of several partners,
    which are an error otherwise.

        >>> index = tt.read_index("drives")
        >>> merged = tt.merge(index, index[:5], on=["log_id", "timestamp"])
        >>> len(merged), tt.row_loader(merged).get_row(4, ["labels.*"])
        (5, {'labels.text': 'row 4', 'labels.text_right': 'row 4'})
    """
    if how not in ("inner", "left"):
        raise Invalid(f"how `{how}`: expected inner or left")
    names = [on] if isinstance(on, str) else list(on)
    right_names = names if right_on is None else [right_on] if isinstance(right_on, str) else list(right_on)
    time, right_time = by_time if isinstance(by_time, tuple) else (by_time, None)
    options = (names, right_names, how == "left", time, right_time, pick, tolerance, first, suffix)
    merged = left._native.merge(right._native, *options)
    return Index(merged, (_merge_whole, (left._remake, right, options)))


def _merge_whole(left: tuple[Callable[..., Index], tuple[Any, ...]], right: Index, options: tuple[Any, ...]) -> Index:
    """The merge of the whole left table: a selection of it is any merge with the same right side."""
    whole = left[0](*left[1])
    return Index(whole._native.merge(right._native, *options), (_merge_whole, (left, right, options)))


def concat(indexes: Iterable[Index], *, fill: bool = False) -> Index:
    """Indexes one below the other; with `fill`, columns that some do not have are null there.

        >>> index = tt.read_index("drives")
        >>> tt.concat([index[:1], index[5:6]])["timestamp"].to_list()
        [0, 500]
    """
    indexes = list(indexes)
    return Index(_tetrys.concat([index._native for index in indexes], fill), (_concat, (indexes, fill)))


def _concat(indexes: list[Index], fill: bool) -> Index:
    return concat(indexes, fill=fill)
