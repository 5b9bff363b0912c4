"""Row loaders: read rows and windows of rows by their position in an index or a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, overload

import numpy as np
import polars as pl

from . import _images, _tetrys
from ._arguments import Edge, Pick, Span, choice, chosen, is_whole, limited, size, span, text, texts, truth, whole
from ._errors import WrongType, found, short
from ._index import Index, _restore
from ._table import Table
from ._tetrys import Error, Image, Rows, Times
from ._turns import Shared
from ._windows import Windows

CACHE_BYTES = 64 << 20
MOST_OFFSETS = 1 << 24
Window = Iterable[int] | str | Times
Columns = str | Iterable[str] | None
"""Patterns of column names; None stands for the columns of the loader."""
Positions = Iterable[int] | Iterable[bool]
Decoding = str | Iterable[str] | Mapping[str, Image] | bool
"""Patterns of picture columns, {pattern: `tetrys.image(..)`}, True for all pictures, or False."""


class RowLoader:
    """Reads rows and windows of rows by their position in an index or a table.

    A loader is cheap to make, may be shared by threads, can be pickled, and works in a forked child. Columns are chosen by
    patterns: `"lidar.*"`, `"*.jpeg"`, `"re:.*_left"`. A pattern that matches no column of a column group selects index columns,
    as in `columns=["timestamp", "lidar.*"]`; their values are those stored in the table. If a call names no columns, it reads
    those of the loader; if the loader names none, all columns of the column groups.

    Reads may raise `Unavailable`, `Denied`, `Corrupt` and `Conflict` (a garbage collection deleted the version), beside the errors
    that each method lists.
    """

    def __init__(
        self, source: Index | Table, *, columns: Columns = None, edge: Edge = "pad", cache_bytes: int | str = CACHE_BYTES
    ) -> None:
        """Makes a loader; see `tetrys.row_loader` for the arguments."""
        choice("edge", edge, Edge)
        options = edge, size("cache_bytes", cache_bytes), _patterns(columns)
        self._settings = dict(zip(("edge", "cache_bytes", "columns"), options, strict=True))
        self._source = source
        if isinstance(source, Table):
            # Uses no polars frame: polars does not work in a forked child.
            self._native = _tetrys.RowLoader.of_table(source._native, *options)
        elif isinstance(source, Index):
            self._native = _tetrys.RowLoader.of_index(source._native, *options)
        else:
            raise WrongType(f"a loader reads the rows of an Index or a Table, such as `tetrys.read_index(url)`, found {found(source)}")

    @property
    def columns(self) -> list[str]:
        """Names of the columns that a call without `columns` reads."""
        return self._native.column_names()

    def get_row(
        self, position: int, columns: Columns = None, *, decode: Decoding = False
    ) -> dict[str, Any]:
        """Reads the row at a position into a dict.

        Numbers are numpy scalars, tensors are arrays of their own shape, bytes are u8 arrays, text is str, null is None. Arrays
        are read-only views of the buffers that were read.

        Args:
            position: Row number, from 0; negative numbers count from the end.
            columns: Column patterns.
            decode: Patterns of picture columns to decode to pixels, u8 [height, width, 3] (see `tetrys.decode`). True decodes
                every bytes column whose value begins like a picture. {pattern: `tetrys.image(..)`} also crops and resizes; its
                random changes are drawn for the position.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> row = rows.get_row(7, columns=["lidar.*", "camera.jpeg"], decode=["*.jpeg"])
            >>> row["lidar.points"].shape, row["camera.jpeg"].shape
            ((3, 4), (6, 8, 3))
            >>> rows.get_row(7, columns=["timestamp", "labels.*"])
            {'timestamp': np.int64(700), 'labels.text': 'row 7'}

        Raises:
            IndexError (an `Invalid`): the position is outside the index.
            NotFound: a pattern matches no column.
            Invalid: the bytes to decode are not a complete picture.
            Corrupt: stored bytes fail a check.
        """
        names = _patterns(columns)
        return self._decoded(self._native.get_row(position, names), names, decode, position)

    def _decoded(self, row: dict[str, Any], columns: list[str] | None, decode: Decoding, position: int) -> dict[str, Any]:
        """Decodes the pictures of the row at a position, which was read with these columns."""
        if isinstance(decode, bool) and not decode:
            return row
        if isinstance(decode, Mapping):
            for pattern, decoder in decode.items():
                if not isinstance(decoder, Image):
                    raise WrongType(f"decode: expected tetrys.image(..), found {found(decoder)}")
                random = [_tetrys.sample_random(0, 0, position % len(self))]
                for name in self._native.selected(pattern, columns):
                    (row[name],) = _images.decode_all(name, [row[name]], decoder, random)
            return row
        if decode is True:
            named = [name for name, value in row.items() if _is_bytes(value) and _images.kind(value)]
        else:
            named = [name for name in self._native.matching(_patterns(decode) or []) if name in row]
        for name in named:
            (row[name],) = _images.decode_all(name, [row[name]])
        return row

    @overload
    def get_rows(self, position: int, columns: Columns = None, *, offsets: Mapping[str, Window]) -> dict[str, Rows]: ...
    @overload
    def get_rows(self, position: int, columns: Columns = None, *, offsets: Window) -> Rows: ...
    def get_rows(
        self, position: int, columns: Columns = None, *, offsets: Window | Mapping[str, Window]
    ) -> Rows | dict[str, Rows]:
        """Reads the window of rows around a position. The window follows the sequence of the unfiltered table.

        Args:
            position: Row number in the index, from 0; negative numbers count from the end.
            columns: Column patterns.
            offsets: Row offsets relative to the row (`range(-10, 1)`, `[-20, -10, 0]`, `"-10..=0"`), or time offsets by
                `tetrys.times`. {pattern: offsets} reads each group of columns in a window of its own, with one plan.

        Returns one place for each offset. Offsets beyond the ends of the sequence are null and False in `Rows.mask`, unless the
        loader has another `edge`. With {pattern: offsets}, returns {pattern: rows}.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> history = rows.get_rows(11, columns=["camera.intrinsics"], offsets=range(-3, 1))
            >>> history["camera.intrinsics"].shape, history.mask.tolist()
            ((4, 3, 3), [False, False, True, True])
            >>> parts = rows.get_rows(11, offsets={"lidar.*": range(-1, 1), "labels.*": [0]})
            >>> len(parts["lidar.*"]), parts["labels.*"]["labels.text"].tolist()
            (2, ['row 11'])

        Raises:
            IndexError (an `Invalid`): the position is outside the index.
            NotFound: a pattern matches no column.
            Invalid: the offsets are impossible, or a row is missing and the loader has `edge="error"`.
            Corrupt: stored bytes fail a check.
        """
        if not isinstance(offsets, Mapping):
            return self._native.get_rows(position, _patterns(columns), _window(offsets))
        return {pattern: windows.rows for pattern, windows in self.get_windows([position], columns, offsets=offsets).items()}

    @overload
    def get_windows(self, positions: Positions, columns: Columns = None, *, offsets: Mapping[str, Window]) -> dict[str, Windows]: ...
    @overload
    def get_windows(self, positions: Positions, columns: Columns = None, *, offsets: Window) -> Windows: ...
    def get_windows(
        self, positions: Positions, columns: Columns = None, *, offsets: Window | Mapping[str, Window]
    ) -> Windows | dict[str, Windows]:
        """Reads the windows around several positions with one plan: a block that several windows share is read once.

        Args:
            positions: Row numbers, or a boolean mask with one value for each row.
            columns: Column patterns.
            offsets: As for `get_rows`.

        Returns a list of `Rows` that also stacks columns into arrays `[batch, time, *shape]`; with {pattern: offsets}, one for each
        pattern, {pattern: windows}.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> [window["labels.text"].tolist() for window in rows.get_windows([4, 5], ["labels.*"], offsets=[-1, 0])]
            [['row 3', 'row 4'], ['row 4', 'row 5']]
            >>> batch = rows.get_windows([4, 5, 6], ["camera.intrinsics"], offsets=range(-1, 1))
            >>> batch["camera.intrinsics"].shape, batch.mask.shape
            ((3, 2, 3, 3), (3, 2))

        Raises:
            IndexError (an `Invalid`): a position is outside the index.
            NotFound: a pattern matches no column.
            Invalid: the offsets are impossible, or a row is missing and the loader has `edge="error"`.
            Corrupt: stored bytes fail a check.
        """
        numbers, names = self._positions(positions), _patterns(columns)
        if not isinstance(offsets, Mapping):
            return Windows(*self._native.get_windows(numbers, names, _window(offsets)))
        found = self._native.get_parts(numbers, names, _parts(offsets))
        return {pattern: Windows(*part) for pattern, part in zip(offsets, found, strict=True)}

    def take(self, positions: Positions, columns: Columns = None) -> Rows:
        """Reads the rows at several positions with one plan: each block is read once.

        Args:
            positions: Row numbers in any order, with repetitions, or a boolean mask with one value for each row.
            columns: Column patterns.

        Example:
            >>> tt.row_loader(tt.read_index("drives")).take([9, 0, 9], ["labels.text"])["labels.text"].tolist()
            ['row 9', 'row 0', 'row 9']

        Raises:
            IndexError (an `Invalid`): a position is outside the index.
            NotFound: a pattern matches no column.
            Corrupt: stored bytes fail a check.
        """
        return self._native.take(self._positions(positions), _patterns(columns))

    def scan(self, batch_size: int = 256, columns: Columns = None) -> Iterator[Rows]:
        """Iterates over all rows in order, in batches of `batch_size` rows. Prefetches the next batches. Threads that share the
        iterator get different batches.

        Example:
            >>> [len(batch) for batch in tt.row_loader(tt.read_index("drives")).scan(batch_size=8)]
            [8, 8, 4]

        Raises:
            Invalid: `batch_size` is 0.
            NotFound: a pattern matches no column.
            Corrupt: stored bytes fail a check (raised by the iterator).
        """
        return self._native.scan(whole("batch_size", batch_size, 1), _patterns(columns))

    def rows(
        self, positions: Positions, columns: Columns = None, *, ahead: int = 64, decode: Decoding = False
    ) -> Iterator[dict[str, Any]]:
        """Iterates over the rows at several positions, each as a dict as `get_row` returns it. Threads that share the iterator get
        different rows.

        Args:
            positions: Row numbers in any order, or a boolean mask with one value for each row.
            columns: Column patterns.
            ahead: Number of rows that are read together, as by `take`. At most one such batch is in memory.
            decode: As for `get_row`.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> [row["labels.text"] for row in rows.rows([9, 0, 9], ["labels.*"], ahead=2)]
            ['row 9', 'row 0', 'row 9']

        Raises:
            IndexError (an `Invalid`): a position is outside the index.
            Invalid: `ahead` is 0.
            NotFound: a pattern matches no column (raised by the iterator).
            Corrupt: stored bytes fail a check (raised by the iterator).
        """
        numbers, most, names = self._positions(positions), whole("ahead", ahead, 1), _patterns(columns)
        parts = (numbers[start : start + most] for start in range(0, len(numbers), most))
        taken = ((part, self._native.take(part, names)) for part in parts)
        found = (self._decoded(rows.row(row), names, decode, position) for part, rows in taken for row, position in enumerate(part))
        return Shared(found, "an iterator over rows", "pickle the row loader, and call `rows` in the other process")

    def explain(
        self,
        positions: int | Positions,
        columns: Columns = None,
        *,
        offsets: Window | Mapping[str, Window] | None = None,
        places: bool = False,
    ) -> dict[str, Any]:
        """Returns the cost of a read without reading payload.

        Args:
            positions: A row number, several, or a boolean mask.
            columns: Column patterns.
            offsets: Offsets of the windows, as for `get_rows`; without them, the rows alone.
            places: Whether each group also has `places`, which are as many as the read has ranges.

        Returns a dict with `ranges` (byte ranges), `requests`, `bytes` (requested), `payload_bytes` (needed), `hops` (requests
        that wait for one another), `file_reads` (reads of local files) and `groups`, the same for each column group. `places` has
        for each range its `object`, the store that owns it (`owner`, 0 for the table of the group), its `bytes` as (start, end), and
        the `blocks` in it: the number of the `block` in the object, its number of `rows`, and the `bytes` that are needed of it.

        Example:
            >>> cost = tt.row_loader(tt.read_index("drives")).explain(5, ["camera.*"], offsets=range(-3, 1))
            >>> cost["ranges"], cost["requests"], cost["hops"]
            (1, 1, 1)

        Raises:
            IndexError (an `Invalid`): a position is outside the index.
            NotFound: a pattern matches no column.
            Invalid: the offsets are impossible.
        """
        numbers = self._positions([positions] if is_whole(positions) else positions)
        if isinstance(offsets, Mapping):
            return self._native.explain_parts(numbers, _patterns(columns), _parts(offsets), truth("places", places))
        return self._native.explain(numbers, _patterns(columns), None if offsets is None else _window(offsets), truth("places", places))

    def _positions(self, positions: object) -> list[int]:
        numbers: list[int] = chosen(positions, len(self), "a loader").tolist()
        return numbers

    @overload
    def __getitem__(self, position: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, position: slice) -> Rows: ...
    def __getitem__(self, position: int | slice) -> dict[str, Any] | Rows:
        """Reads a row by position, as `get_row` does, or several by a slice, as `take` does.

        Example:
            >>> rows = tt.row_loader(tt.read_index("drives"), columns=["labels.*"])
            >>> rows[-1], rows[0:3]["labels.text"].tolist()
            ({'labels.text': 'row 19'}, ['row 0', 'row 1', 'row 2'])
        """
        if isinstance(position, slice):
            try:
                return self.take(range(*position.indices(len(self))))
            except (TypeError, ValueError) as error:
                if isinstance(error, Error):
                    raise
                raise WrongType(f"rows by {short(position)}: {error}") from error
        if isinstance(position, (str, list, tuple)):
            raise WrongType(
                f"expected the position of a row or a slice, found {found(position)}: write `rows.take(positions)` for several rows, and "
                '`rows.get_row(position, columns=["NAME"])` for some columns'
            )
        return self.get_row(position)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"RowLoader of {len(self)} rows, {len(self.columns)} columns"

    def __reduce__(self) -> tuple[Callable[..., RowLoader], tuple[Any, ...]]:
        """Pickles the tables by URL and version, the locators of the rows, and the settings."""
        if isinstance(self._source, Table):
            return _of_table, (self._source, self._settings)
        locators = self._source.to_polars().select(self._source._native.locators())
        return _restore_loader, (self._source._remake, locators, self._settings)


def _of_table(table: Table, settings: dict[str, Any]) -> RowLoader:
    return RowLoader(table, **settings)


def _restore_loader(
    remake: tuple[Callable[..., Index], tuple[Any, ...]], locators: pl.DataFrame, settings: dict[str, Any]
) -> RowLoader:
    return RowLoader(_restore(remake, locators), **settings)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1


def _patterns(columns: Columns) -> list[str] | None:
    return None if columns is None else texts("columns", columns)


def _window(offsets: Window) -> Any:
    """Converts offsets for the native module: integers, text or times."""
    if isinstance(offsets, (str, Times)):
        return text("offsets", offsets) if isinstance(offsets, str) else offsets
    if isinstance(offsets, (int, slice)):
        raise WrongType(f"offsets: expected a list or a range, such as `range(-3, 1)`, found {found(offsets)}")
    return [whole("an offset", offset, -(2**63)) for offset in limited("offsets", offsets, MOST_OFFSETS)]


def _parts(offsets: Mapping[str, Window]) -> list[tuple[str, Any]]:
    return [(text("offsets, a pattern", pattern), _window(window)) for pattern, window in offsets.items()]


def row_loader(
    source: Index | Table, *, columns: Columns = None, edge: Edge = "pad", cache_bytes: int | str = CACHE_BYTES
) -> RowLoader:
    """Makes a loader of the rows of an index, or of all rows of a table.

    Args:
        source: An `Index` or a `Table`.
        columns: Patterns of the columns to read if a call names none; default: all columns of the column groups.
        edge: Rule for windows beyond the ends of a sequence: `"pad"` with missing rows, `"skip"` them, or raise an `"error"`.
        cache_bytes: Bytes of decoded blocks to cache, as a number or as text: `"1GiB"` (default 64 MiB). A block of several small rows
            is cached when a read uses only some of its rows, so that reads of neighbouring rows need no second request. 0 turns the
            cache off.

    Example:
        >>> rows = tt.row_loader(tt.read_index("drives"), cache_bytes=0)
        >>> [rows.get_row(row, ["labels.text"])["labels.text"] for row in (3, 4)]
        ['row 3', 'row 4']

    Raises:
        NotFound: a pattern matches no column.
        Invalid: `edge` is unknown.
        TypeError (an `Invalid`): `source` is neither an index nor a table.
    """
    return RowLoader(source, columns=columns, edge=edge, cache_bytes=cache_bytes)


def times(
    column: str, deltas: Span | Iterable[Span], *, pick: Pick = "nearest", tolerance: Span | None = None
) -> Times:
    """Defines a window by time offsets: the rows whose time is nearest to the time of the row plus each offset.

    Args:
        column: Index column that holds the times.
        deltas: Offsets from the time of the row: text with a unit (`"-500ms"`; `ns`, `us`, `ms`, `s`, `min`, `h`), a timedelta,
            or a number in units of the column.
        pick: Takes the `"nearest"` row, the last one at or `"before"` the time, or the first one at or `"after"` it.
        tolerance: Largest distance between a row and its offset. Default: half the distance from the offset to the nearest
            other offset (0 counts as one).

    Example:
        >>> rows = tt.row_loader(tt.read_index("drives"))
        >>> rows.get_rows(5, offsets=tt.times("timestamp", ["-210ms", "0s"], tolerance="20ms")).table_rows.tolist()
        [3, 5]

    Raises:
        Invalid: there is no offset, a text is no span of time, or `pick` is unknown.
    """
    alone = isinstance(deltas, (str, int, timedelta, np.timedelta64))
    spans = [span("a delta", delta) for delta in ([deltas] if alone else limited("deltas", deltas, MOST_OFFSETS))]
    choice("pick", pick, Pick)
    return Times(text("column", column), spans, pick, None if tolerance is None else span("tolerance", tolerance))
