"""Rows and windows of rows, by their position in an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from . import _images, _tetrys
from ._index import Index, _restore, read_index
from ._tetrys import Rows, Table

KEEP = 64 << 20
Window = Iterable[int] | str | _tetrys.Times


class RowLoader:
    """Reads rows by their position in an index. Cheap to make; shared by threads; reads in a forked child.

    Columns are named by patterns (`"lidar.*"`, `"*.jpeg"`, `"re:.*_left"`); all columns without any.
    """

    def __init__(self, source: Index | Table, *, edge: str = "pad", keep: int = KEEP) -> None:
        """As `row_loader`."""
        self._settings = {"edge": edge, "keep": keep}
        self._index = read_index(source) if isinstance(source, Table) else source
        self._native = _tetrys.RowLoader(self._index._native, edge, keep)

    @property
    def columns(self) -> list[str]:
        """The names of all columns that can be read."""
        return self._native.column_names()

    def get_row(self, position: int, columns: Iterable[str] | None = None, *, decode: Iterable[str] | bool = False) -> dict[str, Any]:
        """The row at a position: numbers as numpy scalars, tensors as arrays of their shape, bytes as u8 arrays, text as str, None
        for null. Arrays are read-only views of the memory that was read.

        `decode` names columns of pictures (by patterns; True: all that begin as a picture does), which come as their pixels then,
        u8 [height, width, 3], as `tetrys.decode` gives them.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> row = rows.get_row(7, columns=["lidar.*", "camera.jpeg"], decode=["*.jpeg"])
            >>> row["lidar.points"].shape, row["camera.jpeg"].shape
            ((3, 4), (6, 8, 3))

        Raises `IndexError` for a position outside, `NotFound` for a pattern that matches nothing, `Corrupt` for damaged bytes,
        `Invalid` for bytes that are no picture.
        """
        row = self._native.get_row(position, _patterns(columns))
        if decode is False:
            return row
        if decode is True:
            named = [name for name, value in row.items() if _is_bytes(value) and _images.kind(value)]
        else:
            named = [name for name in self._native.matching(_patterns(decode) or []) if name in row]
        for name in named:
            (row[name],) = _images.decode_all(name, [row[name]])
        return row

    def get_rows(self, position: int, columns: Iterable[str] | None = None, *, offsets: Window) -> Rows:
        """The rows around a position, in its sequence of the unfiltered table: by offsets (`range(-10, 1)`, `[-20, -10, 0]`,
        `"-10..=0"`) or by `tetrys.times`. Rows past the edge of the sequence are null, and false in the mask.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> history = rows.get_rows(11, columns=["camera.intrinsics"], offsets=range(-3, 1))
            >>> history["camera.intrinsics"].shape, history.mask.tolist()
            ((4, 3, 3), [False, False, True, True])
        """
        return self._native.get_rows(position, _patterns(columns), offsets)

    def get_windows(self, positions: Sequence[int], columns: Iterable[str] | None = None, *, offsets: Window) -> list[Rows]:
        """The windows around several positions, read together: a block that they share is read once.

            >>> rows = tt.row_loader(tt.read_index("drives"))
            >>> [window["labels.text"].tolist() for window in rows.get_windows([4, 5], ["labels.*"], offsets=[-1, 0])]
            [['row 3', 'row 4'], ['row 4', 'row 5']]
        """
        return self._native.get_windows(list(positions), _patterns(columns), offsets)

    def take(self, positions: Iterable[int], columns: Iterable[str] | None = None) -> Rows:
        """The rows at these positions, in this order; they may repeat. Each block is read once.

            >>> tt.row_loader(tt.read_index("drives")).take([9, 0, 9], ["labels.text"])["labels.text"].tolist()
            ['row 9', 'row 0', 'row 9']
        """
        return self._native.take([int(position) for position in positions], _patterns(columns))

    def scan(self, batch_size: int = 256, columns: Iterable[str] | None = None) -> Iterator[Rows]:
        """All rows in order, `batch_size` at a time; the next batches are read while one is used.

            >>> [len(batch) for batch in tt.row_loader(tt.read_index("drives")).scan(batch_size=8)]
            [8, 8, 4]
        """
        return self._native.scan(batch_size, _patterns(columns))

    def explain(
        self, positions: int | Sequence[int], columns: Iterable[str] | None = None, *, offsets: Window | None = None
    ) -> dict[str, Any]:
        """What reading costs: groups, ranges, requests, bytes, payload_bytes, dependent hops.

            >>> cost = tt.row_loader(tt.read_index("drives")).explain(5, ["camera.*"], offsets=range(-3, 1))
            >>> cost["ranges"], cost["requests"], cost["hops"]
            (1, 1, 1)
        """
        positions = [positions] if isinstance(positions, int) else list(positions)
        return self._native.explain(positions, _patterns(columns), offsets)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.get_row(position)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"RowLoader of {len(self)} rows, {len(self.columns)} columns"

    def __reduce__(self) -> tuple[Callable[..., RowLoader], tuple[Any, ...]]:
        """The tables by URL and version, the locators of the rows, and the settings."""
        locators = self._index.to_polars().select(self._index._native.locators())
        return _restore_loader, (self._index._remake, locators, self._settings)


def _restore_loader(
    remake: tuple[Callable[..., Index], tuple[Any, ...]], locators: pl.DataFrame, settings: dict[str, Any]
) -> RowLoader:
    return RowLoader(_restore(remake, locators), **settings)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1


def _patterns(columns: Iterable[str] | None) -> list[str] | None:
    return None if columns is None else [columns] if isinstance(columns, str) else list(columns)


def row_loader(source: Index | Table, *, edge: str = "pad", keep: int = KEEP) -> RowLoader:
    """A loader of the rows of an index, or of all rows of a table. `edge` says what windows do where a sequence ends: `pad` with
    missing rows, `skip` them, or make them an `error`. `keep` is how many bytes of decoded blocks are kept for later reads (64
    MiB): small rows share a block, and one of which some rows came out and not all is read and decoded once.

        >>> rows = tt.row_loader(tt.read_index("drives"), keep=0)
        >>> [rows.get_row(row, ["labels.text"])["labels.text"] for row in (3, 4)]
        ['row 3', 'row 4']
    """
    return RowLoader(source, edge=edge, keep=keep)


def times(column: str, deltas: Iterable[str], *, pick: str = "nearest", tolerance: str | None = None) -> _tetrys.Times:
    """A window by time: the rows at these distances (`"-500ms"`, `"0s"`) from the row in an index column. `pick` is nearest,
    before or after; further away than `tolerance` there is none. Without one a row is taken within half the distance from its
    delta to the nearest other (0 being one always).

        >>> rows = tt.row_loader(tt.read_index("drives"))
        >>> rows.get_rows(5, offsets=tt.times("timestamp", ["-210ms", "0s"], tolerance="20ms")).table_rows.tolist()
        [3, 5]
    """
    return _tetrys.Times(column, list(deltas), pick, tolerance)
