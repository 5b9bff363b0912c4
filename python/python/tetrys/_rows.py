"""Rows and windows of rows, by their position in an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from . import _images, _tetrys
from ._arguments import Span, choice, chosen, several, span, text, texts, whole
from ._errors import WrongType, found
from ._index import Index, _restore
from ._table import Table
from ._tetrys import Rows
from ._windows import Windows

KEEP = 64 << 20
Window = Iterable[int] | str | _tetrys.Times
Columns = str | Iterable[str] | None
"""Patterns of column names; None: those of the loader."""
Positions = Iterable[int] | Iterable[bool]


class RowLoader:
    """Reads rows by their position in an index. Cheap to make; shared by threads; reads in a forked child.

    Columns are named by patterns (`"lidar.*"`, `"*.jpeg"`, `"re:.*_left"`); those of the loader, or all, without any. A pattern that
    matches no column of a group means index columns: `columns=["timestamp", "lidar.*"]`. Their values are those of the tables.
    """

    def __init__(self, source: Index | Table, *, columns: Columns = None, edge: str = "pad", keep: int = KEEP) -> None:
        """As `row_loader`."""
        choice("edge", edge, ("pad", "skip", "error"))
        self._settings = {"edge": edge, "keep": whole("keep", keep), "columns": _patterns(columns)}
        self._source = source
        options = edge, keep, _patterns(columns)
        if isinstance(source, Table):
            # Without a frame, which a forked child could not make.
            self._native = _tetrys.RowLoader.of_table(source._native, *options)
        elif isinstance(source, Index):
            self._native = _tetrys.RowLoader.of_index(source._native, *options)
        else:
            raise WrongType(f"a loader reads the rows of an Index or a Table, found {found(source)}")

    @property
    def columns(self) -> list[str]:
        """The names of the columns that are read where a call names none."""
        return self._native.column_names()

    def get_row(self, position: int, columns: Columns = None, *, decode: str | Iterable[str] | bool = False) -> dict[str, Any]:
        """The row at a position: numbers as numpy scalars, tensors as arrays of their shape, bytes as u8 arrays, text as str, None
        for null. Arrays are read-only views of the memory that was read.

        `decode` names columns of pictures (by patterns; True: all that begin as a picture does), which come as their pixels then,
        u8 [height, width, 3], as `tetrys.decode` gives them.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> row = rows.get_row(7, columns=["lidar.*", "camera.jpeg"], decode=["*.jpeg"])
            >>> row["lidar.points"].shape, row["camera.jpeg"].shape
            ((3, 4), (6, 8, 3))
            >>> rows.get_row(7, columns=["timestamp", "labels.*"])
            {'timestamp': np.int64(700), 'labels.text': 'row 7'}

        Raises `IndexError` for a position outside, `NotFound` for a pattern that matches nothing, `Corrupt` for damaged bytes,
        `Invalid` for bytes that are no picture.
        """
        row = self._native.get_row(position, _patterns(columns))
        if isinstance(decode, bool) and not decode:
            return row
        if decode is True:
            named = [name for name, value in row.items() if _is_bytes(value) and _images.kind(value)]
        else:
            named = [name for name in self._native.matching(_patterns(decode) or []) if name in row]
        for name in named:
            (row[name],) = _images.decode_all(name, [row[name]])
        return row

    def get_rows(self, position: int, columns: Columns = None, *, offsets: Window) -> Rows:
        """The rows around a position, in its sequence of the unfiltered table: by offsets (`range(-10, 1)`, `[-20, -10, 0]`,
        `"-10..=0"`) or by `tetrys.times`. Rows past the edge of the sequence are null, and false in the mask.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> history = rows.get_rows(11, columns=["camera.intrinsics"], offsets=range(-3, 1))
            >>> history["camera.intrinsics"].shape, history.mask.tolist()
            ((4, 3, 3), [False, False, True, True])
        """
        return self._native.get_rows(position, _patterns(columns), _window(offsets))

    def get_windows(self, positions: Positions, columns: Columns = None, *, offsets: Window) -> Windows:
        """The windows around several positions (numbers, or a mask of all), read together: a block that they share is read once.
        They are a list of rows, and stacked by column: arrays `[batch, time, *shape]`.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> [window["labels.text"].tolist() for window in rows.get_windows([4, 5], ["labels.*"], offsets=[-1, 0])]
            [['row 3', 'row 4'], ['row 4', 'row 5']]
            >>> batch = rows.get_windows([4, 5, 6], ["camera.intrinsics"], offsets=range(-1, 1))
            >>> batch["camera.intrinsics"].shape, batch.mask.shape
            ((3, 2, 3, 3), (3, 2))
        """
        return Windows(*self._native.get_windows(self._positions(positions), _patterns(columns), _window(offsets)))

    def take(self, positions: Positions, columns: Columns = None) -> Rows:
        """The rows at these positions, in this order; they may repeat. Or those that a mask chooses: a boolean for each row.
        Each block is read once.

            >>> tt.row_loader(tt.read_index("drives")).take([9, 0, 9], ["labels.text"])["labels.text"].tolist()
            ['row 9', 'row 0', 'row 9']
        """
        return self._native.take(self._positions(positions), _patterns(columns))

    def scan(self, batch_size: int = 256, columns: Columns = None) -> Iterator[Rows]:
        """All rows in order, `batch_size` at a time; the next batches are read while one is used.

            >>> [len(batch) for batch in tt.row_loader(tt.read_index("drives")).scan(batch_size=8)]
            [8, 8, 4]
        """
        return self._native.scan(whole("batch_size", batch_size, 1), _patterns(columns))

    def rows(self, positions: Positions, columns: Columns = None, *, ahead: int = 64) -> Iterator[dict[str, Any]]:
        """The rows at these positions one by one, in this order. `ahead` of them are planned and read together, as `take` does, and
        no more of them are in memory.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> [row["labels.text"] for row in rows.rows([9, 0, 9], ["labels.*"], ahead=2)]
            ['row 9', 'row 0', 'row 9']

        Raises as `get_row`, and `Invalid` for 0 rows ahead.
        """
        numbers, size, names = self._positions(positions), whole("ahead", ahead, 1), _patterns(columns)
        taken = (self._native.take(numbers[start : start + size], names) for start in range(0, len(numbers), size))
        return (rows.row(row) for rows in taken for row in range(len(rows)))

    def explain(
        self, positions: int | Positions, columns: Columns = None, *, offsets: Window | None = None
    ) -> dict[str, Any]:
        """What reading costs: groups, ranges, requests, bytes, payload_bytes, dependent hops.

            >>> cost = tt.row_loader(tt.read_index("drives")).explain(5, ["camera.*"], offsets=range(-3, 1))
            >>> cost["ranges"], cost["requests"], cost["hops"]
            (1, 1, 1)
        """
        alone = isinstance(positions, (int, np.integer)) and not isinstance(positions, bool)
        numbers = self._positions([positions] if alone else positions)
        return self._native.explain(numbers, _patterns(columns), None if offsets is None else _window(offsets))

    def _positions(self, positions: object) -> list[int]:
        numbers: list[int] = chosen(positions, len(self), "a loader").tolist()
        return numbers

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.get_row(position)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"RowLoader of {len(self)} rows, {len(self.columns)} columns"

    def __reduce__(self) -> tuple[Callable[..., RowLoader], tuple[Any, ...]]:
        """The tables by URL and version, the locators of the rows, and the settings."""
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
    """Offsets as the native half takes them: integers, text, or times."""
    if isinstance(offsets, (str, _tetrys.Times)):
        return offsets
    return [whole("an offset", offset, -(2**63)) for offset in several("offsets", offsets)]


def row_loader(source: Index | Table, *, columns: Columns = None, edge: str = "pad", keep: int = KEEP) -> RowLoader:
    """A loader of the rows of an index, or of all rows of a table. `columns` are those that a call reads which names none; `edge` says what windows do where a sequence ends: `pad` with
    missing rows, `skip` them, or make them an `error`. `keep` is how many bytes of decoded blocks are kept for later reads (64
    MiB): small rows share a block, and one of which some rows came out and not all is read and decoded once.

        >>> rows = tt.row_loader(tt.read_index("drives"), keep=0)
        >>> [rows.get_row(row, ["labels.text"])["labels.text"] for row in (3, 4)]
        ['row 3', 'row 4']
    """
    return RowLoader(source, columns=columns, edge=edge, keep=keep)


def times(
    column: str, deltas: Span | Iterable[Span], *, pick: str = "nearest", tolerance: Span | None = None
) -> _tetrys.Times:
    """A window by time: the rows at these distances (`"-500ms"`, a timedelta, or a plain number in units of the column) from the
    row in an index column. `pick` is nearest, before or after; further away than `tolerance` there is none. Without one a row is
    taken within half the distance from its delta to the nearest other (0 being one always).

        >>> rows = tt.row_loader(tt.read_index("drives"))
        >>> rows.get_rows(5, offsets=tt.times("timestamp", ["-210ms", "0s"], tolerance="20ms")).table_rows.tolist()
        [3, 5]
    """
    alone = isinstance(deltas, (str, int, timedelta, np.timedelta64))
    spans = [span("a delta", delta) for delta in ([deltas] if alone else several("deltas", deltas))]
    choice("pick", pick, ("nearest", "before", "after"))
    return _tetrys.Times(text("column", column), spans, pick, None if tolerance is None else span("tolerance", tolerance))
