"""The index of a table: a frame whose rows can be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import polars as pl

from . import _tetrys
from ._arguments import Span, Url, as_json, choice, chosen, mask_of, members, several, span, text, texts, truth, url_of, urls_of, whole
from ._errors import NoColumn, WrongType, found
from ._tetrys import Error, Invalid, NotFound, Unsupported
from ._table import Table, tell


class ArrowStream(Protocol):
    """A frame of polars, pandas, pyarrow, DuckDB or anything else that speaks Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _Stream:
    """A frame that was sent already."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream


def refused(what: str, error: Exception) -> NoReturn:
    """Raises an error of polars as one of ours."""
    kind = NotFound if isinstance(error, pl.exceptions.ColumnNotFoundError) else Invalid
    raise kind(f"{what}: {error}") from error


POLARS = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, AttributeError)
"""What polars raises for arguments that it cannot use."""


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
        return [Table._of(table) for table in self._native.tables()]

    def filter(self, *predicates: pl.Expr | Sequence[bool] | Any, **equal: Any) -> Index:
        """The rows for which all polars expressions (or masks) are true, and the named columns equal the values.

            >>> index = tt.read_index("drives")
            >>> len(index.filter(pl.col("pedestrians") > 3)), len(index.filter(log_id="monday"))
            (4, 10)
        """
        all_of = [one if isinstance(one, pl.Expr) else pl.Series(mask_of(one, len(self), "an index")) for one in predicates]
        try:
            frame = self.to_polars().filter(*all_of, **equal)
        except POLARS as error:
            refused("filter", error)
        return self.with_frame(frame)

    def sort(self, by: str | Sequence[str], *, descending: bool = False) -> Index:
        """The rows in the order of these columns; equal ones stay in their order."""
        return self._of(self._native.sort(texts("by", by), truth("descending", descending)))

    def sample(self, rows: int, *, seed: int) -> Index:
        """Rows drawn at random, none twice; the same for the same seed."""
        return self._of(self._native.sample(whole("rows", rows), whole("seed", seed, most=2**64 - 1)))

    def sql(self, query: str) -> Index:
        """The rows that a query over the table `t` gives; it must keep the locators, as `*` does.

            >>> tt.read_index("drives").sql("SELECT * FROM t WHERE pedestrians > 3 ORDER BY timestamp DESC")["timestamp"].to_list()
            [1900, 1400, 900, 400]
        """
        return self._of(self._native.sql(text("query", query)))

    def query(self, query: str) -> pl.DataFrame:
        """The answer of any query over the table `t`, as a frame of polars.

            >>> tt.read_index("drives").query("SELECT log_id, count(*) AS rows FROM t GROUP BY log_id ORDER BY log_id").rows()
            [('monday', 10), ('tuesday', 10)]
        """
        return pl.DataFrame(_Stream(self._native.query(text("query", query))))

    def with_frame(self, frame: ArrowStream) -> Index:
        """The same tables under another frame: its locator columns say which rows it means.

            >>> index = tt.read_index("drives")
            >>> frame = index.to_polars().sort("pedestrians").with_columns(twice=pl.col("pedestrians") * 2)
            >>> index.with_frame(frame[:2])["twice"].to_list()
            [0, 0]

        Raises `Invalid` where a locator column is missing, null, not i64, or of another table version.
        """
        try:
            return self._of(self._native.with_frame(frame))
        except ImportError as error:
            raise Unsupported(f"{type(frame).__name__} speaks Arrow by pyarrow, which is not installed") from error
        except (TypeError, ValueError) as error:
            if isinstance(error, Error):
                raise
            raise Invalid(f"a frame that Arrow does not take: {error}") from error

    def merge(
        self,
        right: Index,
        on: str | Sequence[str],
        *,
        how: str = "inner",
        right_on: str | Sequence[str] | None = None,
        direction: str = "backward",
        tolerance: Span | None = None,
        keep_left: bool = False,
        first: bool = False,
        last: bool = False,
        group_to_list: bool = False,
        suffix: str = "_right",
    ) -> Index:
        """As `tetrys.merge(self, right, on, ...)`."""
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
        """The same index, which may be merged again: one with all rows of its tables may be at once, that of a view with some of
        them after the indexes of those tables were loaded, which this does.
        """
        return Index(self._native.with_sources(), (_with_sources, (self._remake,)))

    def split(self, by: str | Sequence[str], shares: Mapping[str, float], *, salt: str = "") -> dict[str, Index]:
        """Parts of about these shares, by the hash of the index columns `by`: all rows with equal keys are in one part, and stay
        there whatever rows come later. Shares that add up to less than 1 leave rows out. Another `salt` makes other parts.

            >>> parts = tt.read_index("drives").split("timestamp", {"train": 0.8, "val": 0.2})
            >>> sum(len(part) for part in parts.values()), list(parts)
            (20, ['train', 'val'])

        Raises `NotFound` for a key that is not there, `Invalid` for one of floats and for shares past 1.
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
    ) -> Table:
        """Saves the index as a view: a table with these rows, in this order, that copies no payload. It is opened, read and merged
        like every table, and bound to the versions of the tables behind it, which are told. One that cannot be told, being read-only,
        is an error, or with `allow_unpinned` a `UserWarning`: a garbage collection there may delete the rows. With `update` it is the
        next version of a view that is there, whose references `allow` lets be followed, as in `open_table`.

            >>> busy = tt.read_index("drives").filter(pl.col("pedestrians") > 3).save("busy")
            >>> len(busy), busy.is_view, [len(source) for source in busy.sources()]
            (4, True, [20])
            >>> tt.row_loader(busy).get_rows(0, ["labels.*"], offsets=[-1, 0])["labels.text"].tolist()
            ['row 3', 'row 4']

        Raises `Exists` where there is a table, `Invalid` for a column that an index cannot hold, `Denied` for a table that cannot be
        told, `Conflict` where one was collected in the meantime.
        """
        said = None if properties is None else members("properties", properties)
        as_json("properties", said)
        unpinned = truth("allow_unpinned", allow_unpinned)
        table, untold = self._native.save(url_of(url), said, truth("update", update), urls_of("allow", allow), unpinned)
        tell(untold)
        return Table._of(table)

    def view_size(self) -> dict[str, Any]:
        """What `save` would store: `rows`, `columns`, `index_bytes`, `join_bytes`, `payload_bytes` (always 0), `sources`."""
        return self._native.view_size()

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
            frame = self.to_polars()
            if key not in frame.columns:
                raise NoColumn(f"no index column `{key}`; there are: {', '.join(self.columns)}")
            return frame[key]
        if isinstance(key, slice):
            try:
                return self.with_frame(self.to_polars()[slice(*key.indices(len(self)))])
            except (TypeError, ValueError) as error:
                if isinstance(error, Error):
                    raise
                raise WrongType(f"rows by {key}: {error}") from error
        return self.with_frame(self.to_polars()[chosen(key, len(self), "an index")])

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
        made = Index(native, self._remake)
        if len(made) == len(self) and native.locators() == self._native.locators():
            before, now = self.to_polars(), made.to_polars()
            rows = native.locators()
            if now.select(rows).equals(before.select(rows)) and not now.equals(before):
                # Of all rows in their order, an index knows the columns of its frame also after a filter.
                known = self._remake[1][0] if self._remake[0] is _restore else self._remake
                made._remake = (_restore, (known, now))
        return made


def _restore(remake: tuple[Callable[..., Index], tuple[Any, ...]], frame: pl.DataFrame) -> Index:
    return remake[0](*remake[1]).with_frame(frame)


def _shares(shares: object) -> list[tuple[str, float]]:
    said = members("shares", shares)
    if wrong := [share for share in said.values() if isinstance(share, bool) or not isinstance(share, (int, float))]:
        raise WrongType(f"shares: expected numbers, found {found(wrong[0])}")
    return [(name, float(share)) for name, share in said.items()]


def read_index(url: Url | Table, columns: str | Iterable[str] | None = None, *, allow: Url | Iterable[Url] = ()) -> Index:
    """The index of the table at `url` (`/data/sensors`, `file:///data/sensors`, `...@7` for version 7), or those of its columns
    that match any of the patterns. `allow` is that of `open_table`.

        >>> tt.read_index("drives", columns=["log*"]).columns
        ['log_id']

    Raises `NotFound` where there is no table, `Corrupt` where its bytes are not what was written.
    """
    table = url.allow(*urls_of("allow", allow)) if isinstance(url, Table) else Table(url, allow=allow)
    columns = None if columns is None else texts("columns", columns)
    return Index(table._native._index(columns), (read_index, (table, columns)))


def _with_sources(remake: tuple[Callable[..., Index], tuple[Any, ...]]) -> Index:
    return remake[0](*remake[1]).with_sources()


def open_table(url: Url, *, allow: Url | Iterable[Url] = ()) -> Table:
    """The newest version of the table at `url`, or the one that `url@VERSION` or `url@TAG` names. References to tables in other
    stores are followed to the URLs of `allow` and below them, and to those that `TETRYS_ALLOW` and the configuration file allow;
    no others are. `Table.must_allow` says which a table needs.

        >>> tt.open_table("drives@1").version
        1

    Raises `NotFound` where there is no table, no such version or tag; `Corrupt` where its bytes are not what was written.
    """
    return Table(url, allow=allow)


def run(
    recipe: str | os.PathLike[str] | Mapping[str, Any],
    *,
    dry_run: bool = False,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
) -> list[dict[str, Any]]:
    """Makes the views of a recipe: of a TOML file (`tetrys run --help` shows one), or of a dict with the same words. The answer has
    a dict for each view: `view`, `rows`, `columns`, `sources`, `index_bytes`, `join_bytes`, `payload_bytes` (0), `written`, and
    `version` and `uuid` of what was saved, and `must_allow` where the view refers to other stores. A dry run writes nothing.
    The sources may refer to each other, and to the URLs of `allow`; `allow_unpinned` is that of `Index.save`.

        >>> recipe = {"from": "drives", "filter": "pedestrians > 3", "sources": {"drives": "drives"}, "output": {"view": "busy"}}
        >>> [(view["rows"], view["payload_bytes"], view["written"]) for view in tt.run(recipe, dry_run=True)]
        [(4, 0, False)]

    Raises `Invalid` for a word that recipes do not have, naming the nearest; what the tables raise, naming the source.
    """
    if isinstance(recipe, Mapping):
        said: Any = members("recipe", recipe)
        as_json("recipe", said)
    else:
        said = _text_of(url_of(recipe))
    made, untold = _tetrys.run(said, truth("dry_run", dry_run), urls_of("allow", allow), truth("allow_unpinned", allow_unpinned))
    tell(untold)
    return made


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text()
    except FileNotFoundError as error:
        raise NotFound(f"no recipe at {file}") from error
    except (OSError, ValueError) as error:
        raise Invalid(f"the recipe {file}: {error}") from error


def index_of(what: str, index: object) -> Index:
    if not isinstance(index, Index):
        raise WrongType(f"{what}: expected an Index, as `read_index` gives it, found {found(index)}")
    return index


def merge(
    left: Index,
    right: Index,
    on: str | Sequence[str],
    *,
    how: str = "inner",
    right_on: str | Sequence[str] | None = None,
    direction: str = "backward",
    tolerance: Span | None = None,
    keep_left: bool = False,
    first: bool = False,
    last: bool = False,
    group_to_list: bool = False,
    suffix: str = "_right",
) -> Index:
    """Puts the columns of `right` beside those of `left` where the keys `on` are equal; no payload is read or copied. `right_on` has
    the names of the keys on the right, where they are others. Windows then follow the rows of the left table through both.

    `how="inner"` keeps rows with a partner, `how="left"` all. With `how="asof"` the last key is a time: of the rows whose other
    keys are equal, the last before (`direction="backward"`), the first after (`"forward"`) or the `"nearest"` is taken, no further
    away than `tolerance` (`"50ms"`, a timedelta; a plain number counts in units of the column); rows without a partner go, unless `keep_left`.

    Several rows on the right with equal keys (and the same time) are an error, unless the `first` or the `last` of them is taken, or
    they become a list (`group_to_list`). Names that are on the left too get the `suffix`. Keys are what the two indexes say, also
    where their frames were changed.

        >>> index = tt.read_index("drives")
        >>> merged = tt.merge(index, index[:5], on=["log_id", "timestamp"])
        >>> len(merged), tt.row_loader(merged).get_row(4, ["labels.*"])
        (5, {'labels.text': 'row 4', 'labels.text_right': 'row 4'})
        >>> near = tt.merge(index, index[::2], on=["log_id", "timestamp"], how="asof", tolerance="100ms")
        >>> len(near), tt.row_loader(near).get_row(3, ["labels.text_right"])
        (20, {'labels.text_right': 'row 2'})

    Raises `NotFound` for a key that is not there, `Invalid` for keys of different types and several partners.
    """
    choice("how", how, ("inner", "left", "asof"))
    choice("direction", direction, ("backward", "forward", "nearest"))
    native = index_of("left", left)._native, index_of("right", right)._native
    names = texts("on", on)
    right_names = names if right_on is None else texts("right_on", right_on)
    if len(names) != len(right_names):
        raise Invalid(f"{len(names)} keys on the left, {len(right_names)} on the right")
    if how != "asof" and tolerance is not None:
        raise Invalid("a tolerance goes with how=\"asof\"")
    if how == "asof" and not names:
        raise Invalid("`on` is empty: name the keys, and the time as the last of them")
    pairs = list(zip(names, right_names, strict=True))
    times = pairs.pop() if how == "asof" else None
    within = None if tolerance is None else span("tolerance", tolerance)
    keeps_left = truth("keep_left", keep_left) or how == "left"
    partners = truth("first", first), truth("last", last), truth("group_to_list", group_to_list)
    if sum(partners) > 1:
        raise Invalid("first, last and group_to_list: choose one")
    options = (pairs, times, direction, within, keeps_left, *partners, text("suffix", suffix))
    return _merged(left, right, options)


def _merged(left: Index, right: Index, options: tuple[Any, ...]) -> Index:
    """A merge that can be made again elsewhere: of the same two frames, since their keys are what they say."""
    return Index(left._native.merge(right._native, *options), (_merged, (left, right, options)))


def concat(indexes: Iterable[Index], *, fill: bool = False) -> Index:
    """Indexes one below the other; with `fill`, columns that some do not have are null there.

        >>> index = tt.read_index("drives")
        >>> tt.concat([index[:1], index[5:6]])["timestamp"].to_list()
        [0, 500]
    """
    indexes = [index_of("indexes", index) for index in several("indexes", indexes)]
    truth("fill", fill)
    return Index(_tetrys.concat([index._native for index in indexes], fill), (_concat, (indexes, fill)))


def _concat(indexes: list[Index], fill: bool) -> Index:
    return concat(indexes, fill=fill)
