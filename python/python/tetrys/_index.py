"""The index of a table: a frame whose rows can be read with a row loader."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from . import _tetrys
from ._arguments import Direction, How, Span, Url, as_json, choice, chosen, is_whole, limited, mask_of, members, number, path_of, several, span, text, texts, truth, url_of, urls_of, whole
from ._conditions import POLARS, Stream, needed, refused
from ._data import ArrowStream, exported
from ._errors import NoColumn, WrongType, found, short
from ._html import of_index
from ._options import warn_not_pinned
from ._places import StorageOptions, place_of
from ._table import Table
from ._tetrys import Error, Invalid, NotFound

_VALUES = (bool, int, float, str, bytes, date, time, timedelta, Decimal, Enum, np.generic, np.ndarray, list, tuple, pl.Series, pl.Expr)
"""Types of values that columns are compared with."""


class Index:
    """Rows of one or several tables, as a frame: the index columns, and for each table a locator column of type i64.

    Use any library with the Arrow PyCapsule interface on the frame (`to_polars`, `to_pandas`, `to_arrow`), then pass the result
    to `with_frame`. `row_loader` reads the payload of the rows. The frame must keep the locator columns; rows may be filtered,
    sorted, joined and repeated.

    Example:
        >>> index = tt.read_index("drives")
        >>> len(index), index.columns
        (20, ['log_id', 'timestamp', 'pedestrians'])
        >>> index[index["pedestrians"] > 3]["timestamp"].to_list()
        [400, 900, 1400, 1900]
    """

    def __init__(self, native: _tetrys.Index, remake: tuple[Callable[..., Index], tuple[Any, ...]]) -> None:
        """Not for users: `read_index`, `merge` and `concat` make indexes. `remake` makes the same index in another process."""
        self._native = native
        self._remake = remake

    @property
    def columns(self) -> list[str]:
        """Names of the columns, without the locator columns."""
        return self._native.column_names()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and number of columns without the locator columns."""
        return len(self), len(self.columns)

    @property
    def tables(self) -> list[Table]:
        """Table versions that the locators refer to."""
        return [Table._of(table) for table in self._native.tables()]

    def filter(self, *predicates: pl.Expr | Sequence[bool] | Any, **equal: Any) -> Index:
        """Returns the rows for which every predicate is true.

        Args:
            predicates: polars expressions, or boolean masks with one value for each row.
            equal: Column and value, as in `log_id="monday"`: keeps the rows with this value.

        Example:
            >>> index = tt.read_index("drives")
            >>> len(index.filter(pl.col("pedestrians") > 3)), len(index.filter(log_id="monday"))
            (4, 10)

        Raises:
            NotFound: a column does not exist.
            TypeError (an `Invalid`): no column has such a value, or a predicate is text.
            Invalid: polars rejects an expression, or a mask has another length.
        """
        for one in predicates:
            if isinstance(one, str):
                raise WrongType(f"filter: expected an expression of polars or a mask, found {found(one)}: for SQL write `index.sql(\"SELECT * FROM t WHERE ..\")`")
        all_of = [one if isinstance(one, pl.Expr) else pl.Series(mask_of(one, len(self), "an index")) for one in predicates]
        for name, value in equal.items():
            # NaT is a datetime that no column has.
            if value is not None and not isinstance(value, _VALUES) or type(value).__name__ == "NaTType":
                raise WrongType(f"filter, column `{name}`: expected a value of a column, found {found(value)}")
        try:
            frame = self.to_polars().filter(*all_of, **equal)
        except POLARS as error:
            refused("filter", error)
        return self.with_frame(frame)

    def select(self, *columns: str | pl.Expr | Iterable[str | pl.Expr], **named: str | pl.Expr) -> Index:
        """Returns all rows with these columns alone, and the locator columns.

        Args:
            columns: Names of columns, or polars expressions and selectors with one value for each row. A single value is repeated.
            named: The same, {name of the new column: expression}.

        Example:
            >>> tt.read_index("drives").select("timestamp", busy=pl.col("pedestrians") > 3)[3:5].to_polars()["busy"].to_list()
            [False, True]

        Raises:
            KeyError (a `NotFound`): a column does not exist; the message says what to write for payload.
            Invalid: polars rejects an expression, or it gives another number of rows.
        """
        frame = self._columns_alone()
        wanted = [one for given in columns for one in ([given] if isinstance(given, (str, pl.Expr)) else limited("columns", given, 100_000))]
        for one in [*wanted, *named.values()]:
            if not isinstance(one, (str, pl.Expr)):
                raise WrongType(f"select: expected names of columns or polars expressions, found {found(one)}")
            # polars takes a name between ^ and $ for a pattern.
            if isinstance(one, str) and one not in frame.columns and not one.startswith("^") and one != "*":
                raise no_column(self, one)
        try:
            names = frame.lazy().select(*wanted, **named).collect_schema().names()
            # Unlike `select`, this keeps the number of rows.
            made = frame.with_columns(*wanted, **named).select(names)
            return self.with_frame(pl.DataFrame([*made, *self.to_polars().select(self._native.locators())]))
        except POLARS as error:
            if isinstance(error, Error):
                raise
            refused("select", error)

    def head(self, rows: int = 5) -> Index:
        """Returns the first rows: the same as `index[:rows]`. -2 stands for all rows but the last two.

        Example:
            >>> tt.read_index("drives").head(3)["timestamp"].to_list()
            [0, 100, 200]
        """
        return self[: whole("rows", rows, -(2**63))]  # type: ignore[no-any-return]

    def describe(self, percentiles: Sequence[float] | float | None = (0.25, 0.5, 0.75)) -> pl.DataFrame:
        """Returns statistics of each column, without the locator columns, as `polars.DataFrame.describe` does.

        Args:
            percentiles: Percentiles to list, from 0 to 1; None for none.

        Example:
            >>> statistics = tt.read_index("drives").describe()
            >>> dict(zip(statistics["statistic"], statistics["pedestrians"]))["max"]
            4.0

        Raises:
            Invalid: there is no column, or a percentile is outside 0 to 1.
        """
        wanted = [percentiles] if isinstance(percentiles, (int, float)) else percentiles
        shares = None if wanted is None else [number("percentiles", share) for share in limited("percentiles", wanted, 100)]
        try:
            return self._columns_alone().describe(shares)
        except POLARS as error:
            refused("describe", error)

    def _columns_alone(self) -> pl.DataFrame:
        """Returns the frame without its locator columns."""
        return self.to_polars().drop(self._native.locators())

    def sort(self, by: str | Sequence[str], *, descending: bool = False) -> Index:
        """Returns the rows ordered by these columns. Rows with equal values keep their order.

        Raises:
            Invalid: a column does not exist.
        """
        return self._of(self._native.sort(texts("by", by), truth("descending", descending)))

    def sample(self, rows: int, *, seed: int) -> Index:
        """Returns `rows` random rows without repetition, in random order. The same `seed` gives the same rows.

        Raises:
            Invalid: there are fewer rows.
        """
        return self._of(self._native.sample(whole("rows", rows), whole("seed", seed, most=2**64 - 1)))

    def sql(self, query: str) -> Index:
        """Returns the rows that a SQL query over the table `t` selects. The query must keep the locator columns, as `SELECT *`
        does.

        Example:
            >>> tt.read_index("drives").sql("SELECT * FROM t WHERE pedestrians > 3 ORDER BY timestamp DESC")["timestamp"].to_list()
            [1900, 1400, 900, 400]

        Raises:
            Invalid: the text is not one SELECT statement, polars rejects it (so for another table than `t`), or it drops the locator
                columns.
        """
        return self._of(_queried(self._native.sql, query))

    def query(self, query: str) -> pl.DataFrame:
        """Returns the result of any SQL query over the table `t`, as a polars frame.

        Example:
            >>> tt.read_index("drives").query("SELECT log_id, count(*) AS rows FROM t GROUP BY log_id ORDER BY log_id").rows()
            [('monday', 10), ('tuesday', 10)]

        Raises:
            Invalid: the text is not one SELECT statement, or polars rejects it (so for another table than `t`).
        """
        return pl.DataFrame(Stream(_queried(self._native.query, query)))

    def with_frame(self, frame: ArrowStream) -> Index:
        """Returns an index of the same tables with another frame. The locator columns of the frame identify its rows.

        Args:
            frame: A frame of polars, pandas, pyarrow, DuckDB or any library with `__arrow_c_stream__`.

        Example:
            >>> index = tt.read_index("drives")
            >>> frame = index.to_polars().sort("pedestrians").with_columns(twice=pl.col("pedestrians") * 2)
            >>> index.with_frame(frame[:2])["twice"].to_list()
            [0, 0]

        Raises:
            Invalid: a locator column is missing, has nulls, is not i64, or belongs to another table version.
            Unsupported: the frame needs pyarrow, which is not installed.
        """
        return self._of(exported(frame, self._native.with_frame))

    def merge(
        self,
        right: Index,
        on: str | Sequence[str],
        *,
        how: How = "inner",
        right_on: str | Sequence[str] | None = None,
        direction: Direction = "backward",
        tolerance: Span | None = None,
        keep_left: bool = False,
        first: bool = False,
        last: bool = False,
        group_to_list: bool = False,
        suffix: str = "_right",
    ) -> Index:
        """Merges this index with `right`: the same as `tetrys.merge(self, right, on, ...)`."""
        return merge(
            self,
            right,
            on,
            how=how,
            right_on=right_on,
            direction=direction,
            tolerance=tolerance,
            keep_left=keep_left,
            first=first,
            last=last,
            group_to_list=group_to_list,
            suffix=suffix,
        )

    def with_sources(self) -> Index:
        """Loads the rows of its tables that this index does not have, for merges in which it is the left side.

        A merge finds partners for all rows that windows reach. `tetrys.merge` loads these rows itself; load them once for several
        merges of the same index.
        """
        return Index(self._native.with_sources(), (_with_sources, (self._remake,)))

    def split(self, by: str | Sequence[str], shares: Mapping[str, float], *, salt: str = "") -> dict[str, Index]:
        """Splits the rows by a hash of their keys into parts of about these shares.

        Rows with equal keys are in the same part, and stay there when rows are added later.

        Args:
            by: Index columns of the key; not floats.
            shares: Fraction of the rows of each part, {name: share}. If they add up to less than 1, the rest is left out.
            salt: Another salt gives other parts.

        Example:
            >>> parts = tt.read_index("drives").split("timestamp", {"train": 0.8, "val": 0.2})
            >>> sum(len(part) for part in parts.values()), list(parts)
            (20, ['train', 'val'])

        Raises:
            NotFound: a column does not exist.
            Invalid: a key has floats, no key is given, the shares are not positive or add up to more than 1, or the name of a part
                is not that of a folder.
        """
        parts = self._native.split(texts("by", by), _shares(shares), text("salt", salt))
        return {name: self._of(part) for name, part in parts}

    def save(
        self,
        url: Url,
        *,
        properties: Mapping[str, Any] | None = None,
        update: bool = False,
        allow: Url | Iterable[Url] = (),
        allow_unpinned: bool = False,
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> Table:
        """Saves the index as a view: a table with these rows, in this order, that copies no payload.

        A view is opened, read and merged like any table. It reads from fixed versions of its source tables, and pins them: a
        small object in each source keeps its garbage collection from deleting them.

        Args:
            url: URL or path of the view.
            properties: Table properties, {key: JSON value}.
            update: Publish the next version of an existing view.
            allow: URLs of other stores that the existing view may refer to; see `tetrys.open_table`.
            allow_unpinned: Save although a source cannot be pinned, for example in a read-only store. Without it, that is an
                error; with it, a `UserWarning`, and a garbage collection of the source may delete rows of the view.
            storage_options: Options of the store of the view; see `open_table`. The sources are pinned with the options that they were
                opened with.
            store_options: Another name of `storage_options`.

        Example:
            >>> busy = tt.read_index("drives").filter(pl.col("pedestrians") > 3).save("busy")
            >>> len(busy), busy.is_view, [len(source) for source in busy.sources()]
            (4, True, [20])
            >>> tt.row_loader(busy).get_rows(0, ["labels.*"], offsets=[-1, 0])["labels.text"].tolist()
            ['row 3', 'row 4']

        Raises:
            Exists: there is a table at `url` and `update` is false.
            Invalid: an index cannot store a column, or `update` is true and the table at `url` is no view.
            Denied: a source cannot be pinned.
            Conflict: a source version was garbage-collected, or another writer updated the view; reload and retry.
        """
        values = None if properties is None else members("properties", properties)
        as_json("properties", values)
        unpinned = truth("allow_unpinned", allow_unpinned)
        place = place_of(url_of(url), storage_options, allow, store_options)
        table, not_pinned = self._native.save(place, values, truth("update", update), unpinned)
        warn_not_pinned(not_pinned)
        return Table._of(table, place[1])

    def view_size(self) -> dict[str, Any]:
        """Returns what `save` would store, without writing: a dict with `rows`, `columns`, `index_bytes`, `join_bytes`,
        `payload_bytes` (always 0) and `sources`.
        """
        return self._native.view_size()

    def memory(self) -> dict[str, Any]:
        """Returns the bytes that the index takes in memory: a dict with `rows`, `columns` (of each, its `name`, `type` and
        `bytes`) and `locator_bytes`. The locators of an index that is not filtered take none.

        Example:
            >>> memory = tt.read_index("drives", categorical=True).memory()
            >>> memory["columns"][0], memory["locator_bytes"]
            ({'name': 'log_id', 'type': 'cat', 'bytes': 80}, 0)
        """
        return self._native.memory()

    def to_polars(self) -> pl.DataFrame:
        """Returns the frame, with its locator columns, as a polars frame. Numbers are not copied."""
        return pl.DataFrame(self)

    def to_pandas(self) -> Any:
        """Returns the frame as a pandas frame. Needs pandas 3 or later."""
        import pandas

        return pandas.DataFrame.from_arrow(self)

    def to_arrow(self) -> Any:
        """Returns the frame as a pyarrow table. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        """Returns a column by name (a polars series), an index of some columns by a list of names, or an index of some rows by a
        boolean mask, a slice or row positions.
        """
        if isinstance(key, str):
            frame = self.to_polars()
            if key not in frame.columns:
                raise no_column(self, key)
            return frame[key]
        if isinstance(key, list) and key and all(isinstance(name, str) for name in key):
            return self.select(key)
        if is_whole(key):
            raise WrongType(f"index[{short(key)}]: write `index[[{short(key)}]]` for an index of this row, or `tetrys.row_loader(index)[{short(key)}]` to read the row")
        if isinstance(key, slice):
            try:
                return self.with_frame(self.to_polars()[slice(*key.indices(len(self)))])
            except (TypeError, ValueError) as error:
                if isinstance(error, Error):
                    raise
                raise WrongType(f"rows by {short(key)}: {error}") from error
        return self.with_frame(self.to_polars()[chosen(key, len(self), "an index")])

    def __contains__(self, name: object) -> bool:
        """Whether `index[name]` is a column."""
        return isinstance(name, str) and (name in self.columns or name in self._native.locators())

    def __iter__(self) -> NoReturn:
        raise WrongType(
            "an index is no iterator: `index.columns` lists its columns, `index.to_polars().iter_rows()` gives its rows, and "
            "`tetrys.row_loader(index)` the payload of its rows"
        )

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def _repr_html_(self) -> str:
        """Shows the frame, the pictures of the first rows, and the tables in notebooks."""
        return of_index(self)

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        """Pickles the tables by URL and version, and the frame."""
        return _restore, (self._remake, self.to_polars())

    def _of(self, native: _tetrys.Index) -> Index:
        made = Index(native, self._remake)
        if len(made) == len(self) and native.locators() == self._native.locators():
            before, now = self.to_polars(), made.to_polars()
            rows = native.locators()
            if now.select(rows).equals(before.select(rows)) and not now.equals(before):
                # The native index remembers a frame that has all rows in table order, and merges use its columns after a filter.
                # Another process must be given the same frame.
                known = self._remake[1][0] if self._remake[0] is _restore else self._remake
                made._remake = (_restore, (known, now))
        return made


def _queried(query_by: Callable[[str], Any], query: str) -> Any:
    """Runs a query. The error for a table that does not exist says which one does."""
    try:
        return query_by(text("query", query))
    except Invalid as error:
        raise no_table(error, "t", "index") or error from None


def no_table(error: BaseException, name: str, what: str) -> Invalid | None:
    """Returns the error for a table in SQL that does not exist, if `error` is of one: the rows are the table `name`."""
    unknown = re.search("relation '([^']*)' was not found", str(error))
    if unknown is None:
        return None
    return Invalid(f"no table `{short(unknown[1])}` in the query: the rows of the {what} are the table `{name}`: write `SELECT .. FROM {name}`")


def no_column(index: Index, name: str) -> NoColumn:
    """Returns the error for a column that an index does not have."""
    # Not all text of Python is Unicode.
    return NoColumn(index._native.no_column(name.encode(errors="backslashreplace").decode()))


def _restore(remake: tuple[Callable[..., Index], tuple[Any, ...]], frame: pl.DataFrame) -> Index:
    return remake[0](*remake[1]).with_frame(frame)


def _shares(shares: object) -> list[tuple[str, float]]:
    return [(name, number(f"share `{name}`", share)) for name, share in members("shares", shares).items()]


def read_index(
    url: Url | Table,
    columns: str | Iterable[str] | None = None,
    *,
    where: str | pl.Expr | None = None,
    categorical: bool = False,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> Index:
    """Loads the index of a table, or a part of it.

    Args:
        url: URL, path or `Table`. `url@7` is version 7, `url@TAG` a tagged version.
        columns: Patterns of index columns to load, such as `"log*"`; default: all.
        where: Keep only the rows for which this condition is true: SQL, as after WHERE, or a polars expression. Segments that the
            condition excludes by the bounds of their columns are not read; where the table has index tails, neither are such row
            groups and pages. Memory holds only parts of the index and the rows that are kept, if the table is no view and the condition
            looks at one row at a time: an expression that polars evaluates row by row, or SQL with comparisons and no functions. The
            expression is evaluated part by part, on several threads. If polars refuses it for some rows, that is an error, unless
            another part of the condition excludes these rows. A merge with such an index on the left loads the other rows again.
        categorical: Load text as categorical columns: 4 bytes a row and each distinct text once, where a column of text takes 16
            bytes a row and its texts of more than 12 bytes. For columns with few distinct texts.
        allow: URLs of other stores that references may be followed to; see `open_table`.
        storage_options: Options of the store of a URL; see `open_table`.
        store_options: Another name of `storage_options`.

    Example:
        >>> tt.read_index("drives", columns=["log*"]).columns
        ['log_id']
        >>> tt.read_index("drives", categorical=True)["log_id"].dtype
        Categorical
        >>> tt.read_index("drives", columns=["timestamp"], where="pedestrians > 3")["timestamp"].to_list()
        [400, 900, 1400, 1900]

    Raises:
        NotFound: the table, version or tag does not exist, or a pattern matches no column.
        Invalid: the condition is not one expression over the index columns.
        Corrupt: an index object fails its checks.
        Unsupported: this process was forked from one that has used frames; polars does not survive a fork.
    """
    table = table_at(url, allow, storage_options, store_options)
    columns = None if columns is None else texts("columns", columns)
    return _read(table, columns, truth("categorical", categorical), where)


def table_at(url: Url | Table, allow: Url | Iterable[Url], storage_options: StorageOptions, store_options: StorageOptions = None) -> Table:
    """Opens a table, or returns an open one with permission to follow references to more URLs."""
    if not isinstance(url, Table):
        return Table(url, allow=allow, storage_options=storage_options, store_options=store_options)
    if storage_options is not None or store_options is not None:
        raise Invalid("storage_options: the table is open already: pass them to `open_table`")
    return url.allow(*urls_of("allow", allow))


def _read(table: Table, columns: list[str] | None, categorical: bool, where: str | pl.Expr | None = None) -> Index:
    patterns, condition, by_row = needed(table, columns, where, categorical)
    native = _tetrys.Index.of_table(table._native, patterns, categorical, condition, by_row.skipped, by_row.mask)
    index = Index(native, (_read, (table, columns, categorical, where)))
    if not isinstance(where, pl.Expr):
        return index
    index = index.filter(where)
    if columns is None:
        return index
    wanted = _tetrys.Index.chosen(table._native, columns)
    return index.with_frame(index.to_polars().select([*wanted, *index._native.locators()]))


def _with_sources(remake: tuple[Callable[..., Index], tuple[Any, ...]]) -> Index:
    return remake[0](*remake[1]).with_sources()


def open_table(
    url: Url, *, allow: Url | Iterable[Url] = (), storage_options: StorageOptions = None, store_options: StorageOptions = None
) -> Table:
    """Opens a version of a table.

    Args:
        url: URL or path. `url` opens the newest version, `url@VERSION` a version by number, `url@TAG` a version by tag;
            `url@VERSION/` with a slash is a folder of that name.
        allow: URLs of other stores. References into other stores are followed to these URLs and below them, and to those that
            `TETRYS_ALLOW` and the configuration file list; to no others. `Table.must_allow` lists what a table needs.
        storage_options: Options of the store, {name: value}, before those of the environment: by the names of object_store, such as
            `{"aws_access_key_id": .., "endpoint_url": .., "max_retries": 3}`, or of fsspec, such as
            `{"key": .., "secret": .., "client_kwargs": {"endpoint_url": ..}}`. They are used for this store alone, and travel with
            the table when it is pickled. No message shows them.
        store_options: Another name of `storage_options`.

    Example:
        >>> tt.open_table("drives@1").version
        1

    Raises:
        NotFound: the table, version or tag does not exist.
        Corrupt: the manifest fails its checks.
        Invalid: the store has no option of this name.
    """
    return Table(url, allow=allow, storage_options=storage_options, store_options=store_options)


def run(
    recipe: str | os.PathLike[str] | Mapping[str, Any],
    *,
    dry_run: bool = False,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    memory_limit: int | None = None,
    temporary_folder: str | os.PathLike[str] | None = None,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> list[dict[str, Any]]:
    """Makes the views of a recipe.

    Args:
        recipe: Path of a TOML file, or a dict with the same keys. `tetrys run --help` shows an example.
        dry_run: Compute the views and write nothing.
        allow: URLs of other stores that references in the sources may be followed to.
        allow_unpinned: See `Index.save`.
        memory_limit: A recipe that only merges two tables, or that only filters and splits one table, works in memory up to so
            many bytes, and part by part beyond that. The default is 2 GiB.
        temporary_folder: Folder for the temporary files of such a recipe. The default is that of the system.
        storage_options: Options of the stores of all sources and views, as for `open_table`.
        store_options: Another name of `storage_options`.

    Returns a dict for each view: `view`, `rows`, `columns`, `sources`, `index_bytes`, `join_bytes`, `payload_bytes` (0) and
    `written`; for a saved view also `version` and `uuid`; and `must_allow` if the view refers to other stores.

    Example:
        >>> recipe = {"from": "drives", "filter": "pedestrians > 3", "sources": {"drives": "drives"}, "output": {"view": "busy"}}
        >>> [(view["rows"], view["payload_bytes"], view["written"]) for view in tt.run(recipe, dry_run=True)]
        [(4, 0, False)]

    Raises:
        NotFound: the file, a source or a column does not exist; the message names the source.
        Invalid: the recipe has an unknown key (the message names the nearest known one), or a step is impossible.
        Exists: a view exists and the recipe does not update it.
        Denied: a source cannot be pinned.
    """
    if isinstance(recipe, Mapping):
        content: Any = members("recipe", recipe)
        as_json("recipe", content)
    else:
        content = _text_of(url_of(recipe))
    # The names of options depend on the service: that of the first URL that is a value of the recipe, an object store's before others.
    lines = content if isinstance(content, str) else json.dumps(content)
    urls = re.findall(r"[\"']([a-z][a-z0-9]*://[^\s\"']+)", re.sub(r"(?m)^\s*#.*$", "", lines))
    first = next((url for url in urls if not url.startswith("http")), urls[0] if urls else "")
    place = place_of(first, storage_options, allow, store_options)
    made, not_pinned = _tetrys.run(
        content,
        truth("dry_run", dry_run),
        place,
        truth("allow_unpinned", allow_unpinned),
        None if memory_limit is None else whole("memory_limit", memory_limit, 0),
        None if temporary_folder is None else path_of("temporary_folder", temporary_folder),
    )
    warn_not_pinned(not_pinned)
    return made


def merge_tables(
    left: Url,
    right: Url,
    on: str | Sequence[str],
    view: Url,
    *,
    how: How = "inner",
    right_on: str | Sequence[str] | None = None,
    direction: Direction = "backward",
    tolerance: Span | None = None,
    keep_left: bool = False,
    first: bool = False,
    last: bool = False,
    group_to_list: bool = False,
    suffix: str = "_right",
    update: bool = False,
    memory_limit: int | None = None,
    temporary_folder: str | os.PathLike[str] | None = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> dict[str, Any]:
    """Merges two tables and saves the result as a view, even if their indexes are larger than memory.

    The view equals `tetrys.merge(tt.read_index(left), tt.read_index(right), on, ...).save(view)`. Beyond `memory_limit` both
    indexes are read part by part. That is fast for tables with sequences by the same keys, and for sorted tables; others go
    through temporary files. Views are merged in memory.

    Args:
        left: URL or path of the table whose rows are kept in order.
        right: URL or path of the table whose rows become partners.
        on, how, right_on, direction, tolerance, keep_left, first, last, group_to_list, suffix: See `tetrys.merge`.
        view: URL or path of the view.
        update: Publish the next version of an existing view.
        memory_limit: Bytes up to which the merge is made in memory. The default is 2 GiB.
        temporary_folder: Folder for temporary files. The default is that of the system.
        allow: URLs of other stores that references in the tables may be followed to.
        allow_unpinned: See `Index.save`.
        storage_options: Options of the stores of the tables and of the view, as for `open_table`.
        store_options: Another name of `storage_options`.

    Returns a dict as `tetrys.run` does for a view.

    Example:
        >>> made = tt.merge_tables("drives", "drives", ["log_id", "timestamp"], "twice", memory_limit=0)
        >>> made["rows"], made["payload_bytes"], tt.row_loader(tt.read_index("twice")).get_row(4, ["labels.*"])
        (20, 0, {'labels.text': 'row 4', 'labels.text_right': 'row 4'})

    Raises:
        NotFound: a table or a key does not exist.
        Invalid: keys have different types, or several right rows have equal keys and none of `first`, `last` and
            `group_to_list` is set.
        Unsupported: a merge by time has more unsorted rows with equal keys than fit into `memory_limit`.
        Unavailable: a temporary file cannot be written, as on a full disk.
        Exists: there is a table at `view` and `update` is false.
        Denied: a source cannot be pinned.
    """
    pairs, within = _keys(on, right_on, how, direction, tolerance)
    if strange := [key for key, _ in pairs if "=" in key]:
        # A recipe writes two names as LEFT=RIGHT, so only the right one may have the sign.
        raise Invalid(f"on: `{strange[0]}` has an equals sign: rename the column in `left`, or use `tetrys.merge` and `Index.save`")
    partners = _partners(first, last, group_to_list)
    join: dict[str, Any] = {
        "with": "right",
        "on": [a if a == b else f"{a}={b}" for a, b in pairs],
        "how": how,
        "suffix": text("suffix", suffix),
        "keep": truth("keep_left", keep_left),
        **dict(zip(("first", "last", "group_to_list"), partners, strict=True)),
    }
    if how == "asof":
        join["pick"] = direction
    if within is not None:
        join["tolerance"] = within
    recipe = {
        "sources": {"left": url_of(left), "right": url_of(right)},
        "from": "left",
        "join": [join],
        "output": {"view": url_of(view), "update": truth("update", update)},
    }
    (made,) = run(
        recipe,
        allow=allow,
        allow_unpinned=allow_unpinned,
        memory_limit=memory_limit,
        temporary_folder=temporary_folder,
        storage_options=storage_options,
        store_options=store_options,
    )
    return made


def split_table(
    table: Url,
    by: str | Sequence[str],
    shares: Mapping[str, float],
    view: Url,
    *,
    where: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    salt: str = "",
    update: bool = False,
    memory_limit: int | None = None,
    temporary_folder: str | os.PathLike[str] | None = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> dict[str, dict[str, Any]]:
    """Splits the rows of a table by a hash of their keys and saves each part as a view, even if the index is larger than memory.

    Each view equals the part that `Index.split` of `tt.read_index(table)` returns, saved by `Index.save`. Beyond `memory_limit` the
    index is read part by part. Rows that a condition with an aggregation chooses are split in memory.

    Args:
        table: URL or path of the table.
        by, salt: See `Index.split`.
        shares: Fraction of the rows of each part, {name: share}. The parts are in the order train, val, test, then by name.
        view: URL or path of the views; a part is saved at `view/name`.
        where: SQL conditions; only rows for which all are true are split.
        keep: Patterns of the index columns of the views. Default: all.
        update: Publish the next versions of existing views.
        memory_limit: Bytes up to which the split is made in memory. The default is 2 GiB.
        temporary_folder: Folder for temporary files. The default is that of the system.
        allow: URLs of other stores that references in the table may be followed to.
        allow_unpinned: See `Index.save`.
        storage_options: Options of the stores of the table and of the views, as for `open_table`.
        store_options: Another name of `storage_options`.

    Returns a dict as `tetrys.run` does for each part, by its name.

    Example:
        >>> made = tt.split_table("drives", "timestamp", {"train": 0.8, "val": 0.2}, "parts", memory_limit=0)
        >>> sum(part["rows"] for part in made.values()), list(made), tt.open_table("parts/val").version
        (20, ['train', 'val'], 1)

    Raises:
        NotFound: the table or a column does not exist.
        Invalid: a key has floats, no key is given, the shares are not positive or add up to more than 1, or the name of a part is
            not that of a folder.
        Unavailable: a temporary file cannot be written, as on a full disk.
        Exists: there is a table at the place of a view and `update` is false.
        Denied: the table cannot be pinned.
    """
    recipe = {
        "sources": {"table": url_of(table)},
        "from": "table",
        "filter": texts("where", where),
        "keep": texts("keep", keep),
        "split": {"by": texts("by", by), "shares": dict(_shares(shares)), "salt": text("salt", salt)},
        "output": {"view": url_of(view), "update": truth("update", update)},
    }
    made = run(
        recipe,
        allow=allow,
        allow_unpinned=allow_unpinned,
        memory_limit=memory_limit,
        temporary_folder=temporary_folder,
        storage_options=storage_options,
        store_options=store_options,
    )
    return {part["part"]: part for part in made}


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text()
    except FileNotFoundError as error:
        raise NotFound(f"no recipe at {file}") from error
    except (OSError, ValueError) as error:
        raise Invalid(f"the recipe {file}: {error}") from error


def index_of(what: str, index: object) -> Index:
    if not isinstance(index, Index):
        raise WrongType(f"{what}: expected an Index, as `read_index` returns it, found {found(index)}")
    return index


def merge(
    left: Index,
    right: Index,
    on: str | Sequence[str],
    *,
    how: How = "inner",
    right_on: str | Sequence[str] | None = None,
    direction: Direction = "backward",
    tolerance: Span | None = None,
    keep_left: bool = False,
    first: bool = False,
    last: bool = False,
    group_to_list: bool = False,
    suffix: str = "_right",
) -> Index:
    """Merges two indexes: puts the columns of `right` beside those of `left` where the keys are equal. Reads and copies no
    payload.

    Windows of the result follow the rows of the left table, and find their partners on the right. Keys are compared as they
    stand in the two frames, also if the frames were changed.

    Args:
        left: The index whose rows are kept in order.
        right: The index whose rows become partners.
        on: Key columns. With `how="asof"`, the last one is the time.
        how: `"inner"` keeps rows with a partner; `"left"` keeps all rows of `left`; `"asof"` matches by time within equal other
            keys.
        right_on: Names of the keys on the right, if they differ.
        direction: With `"asof"`, takes the last row at or before the time (`"backward"`), the first at or after it
            (`"forward"`), or the `"nearest"`.
        tolerance: With `"asof"`, the largest distance in time: `"50ms"`, a timedelta, or a number in units of the column.
        keep_left: With `"asof"`, keeps rows without a partner.
        first, last: Of several right rows with equal keys (and equal time), takes the first or the last.
        group_to_list: Collects several right rows with equal keys into lists. Index columns of the right table become columns of
            lists, also in a saved view.
        suffix: Appended to right names that also exist on the left.

    Example:
        >>> index = tt.read_index("drives")
        >>> merged = tt.merge(index, index[:5], on=["log_id", "timestamp"])
        >>> len(merged), tt.row_loader(merged).get_row(4, ["labels.*"])
        (5, {'labels.text': 'row 4', 'labels.text_right': 'row 4'})
        >>> near = tt.merge(index, index[::2], on=["log_id", "timestamp"], how="asof", tolerance="100ms")
        >>> len(near), tt.row_loader(near).get_row(3, ["labels.text_right"])
        (20, {'labels.text_right': 'row 2'})

    Raises:
        NotFound: a key does not exist.
        Invalid: keys have different types, or several right rows have equal keys and none of `first`, `last` and
            `group_to_list` is set.
    """
    index_of("left", left)
    index_of("right", right)
    pairs, within = _keys(on, right_on, how, direction, tolerance)
    times = pairs.pop() if how == "asof" else None
    keeps_left = truth("keep_left", keep_left) or how == "left"
    partners = _partners(first, last, group_to_list)
    options = (pairs, times, direction, within, keeps_left, *partners, text("suffix", suffix))
    return _merged(left, right, options)


def _keys(
    on: str | Sequence[str], right_on: str | Sequence[str] | None, how: How, direction: Direction, tolerance: Span | None
) -> tuple[list[tuple[str, str]], str | None]:
    """Returns the key columns of a merge by their left and right names, and the tolerance as text."""
    choice("how", how, How)
    choice("direction", direction, Direction)
    names = texts("on", on)
    right_names = names if right_on is None else texts("right_on", right_on)
    if len(names) != len(right_names):
        raise Invalid(f"{len(names)} keys on the left, {len(right_names)} on the right: expected as many")
    if not names:
        raise Invalid("`on` is empty: name the keys, and with how=\"asof\" the time as the last of them")
    if how != "asof" and tolerance is not None:
        raise Invalid("a tolerance goes with how=\"asof\"")
    return list(zip(names, right_names, strict=True)), None if tolerance is None else span("tolerance", tolerance)


def _partners(first: bool, last: bool, group_to_list: bool) -> tuple[bool, bool, bool]:
    """Checks that at most one choice among several partners is made."""
    partners = truth("first", first), truth("last", last), truth("group_to_list", group_to_list)
    if sum(partners) > 1:
        raise Invalid("first, last and group_to_list: choose one")
    return partners


def _merged(left: Index, right: Index, options: tuple[Any, ...]) -> Index:
    """Merges, and remembers both indexes: their frames define the keys, so another process needs them to repeat the merge."""
    return Index(left._native.merge(right._native, *options), (_merged, (left, right, options)))


def concat(indexes: Iterable[Index], *, fill: bool = False) -> Index:
    """Concatenates the rows of several indexes.

    Args:
        indexes: Indexes with the same columns.
        fill: Columns that an index does not have are null in its rows. Without it, different columns are an error.

    Example:
        >>> index = tt.read_index("drives")
        >>> tt.concat([index[:1], index[5:6]])["timestamp"].to_list()
        [0, 500]

    Raises:
        Invalid: there is no index, or columns differ in name (without `fill`) or type.
    """
    indexes = [index_of("indexes", index) for index in several("indexes", indexes)]
    truth("fill", fill)
    return Index(_tetrys.concat([index._native for index in indexes], fill), (_concat, (indexes, fill)))


def _concat(indexes: list[Index], fill: bool) -> Index:
    return concat(indexes, fill=fill)
