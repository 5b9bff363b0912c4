"""Rows and windows of rows, by their position in an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from . import _tetrys
from ._index import Index, _restore, read_index
from ._tetrys import Rows, Table

Window = Iterable[int] | str | _tetrys.Times


class RowLoader:
    """Reads rows by their position in an index. Cheap to make; shared by threads; reads in a forked child.

    Columns are named by patterns (`"lidar.*"`, `"*.jpeg"`, `"re:.*_left"`); all columns without any.
    """

    def __init__(self, source: Index | Table, *, edge: str = "pad") -> None:
        """As `row_loader`."""
        self._edge = edge
        self._index = read_index(source) if isinstance(source, Table) else source
        self._native = _tetrys.RowLoader(self._index._native, edge)

    @property
    def columns(self) -> list[str]:
        """The names of all columns that can be read."""
        return self._native.column_names()

    def get_row(self, position: int, columns: Iterable[str] | None = None) -> dict[str, Any]:
        """The row at a position: numbers as numpy scalars, tensors as arrays of their shape, bytes as u8 arrays, text as str, None
        for null. Arrays are read-only views of the memory that was read.

        Raises `IndexError` for a position outside, `NotFound` for a pattern that matches nothing, `Corrupt` for damaged bytes.
        """
        return self._native.get_row(position, _patterns(columns))

    def get_rows(self, position: int, columns: Iterable[str] | None = None, *, offsets: Window) -> Rows:
        """The rows around a position, in its sequence of the unfiltered table: by offsets (`range(-10, 1)`, `[-20, -10, 0]`,
        `"-10..=0"`) or by `tetrys.times`. Rows past the edge of the sequence are null, and false in the mask.
        """
        return self._native.get_rows(position, _patterns(columns), offsets)

    def get_windows(self, positions: Sequence[int], columns: Iterable[str] | None = None, *, offsets: Window) -> list[Rows]:
        """The windows around several positions, read together: a block that they share is read once."""
        return self._native.get_windows(list(positions), _patterns(columns), offsets)

    def take(self, positions: Iterable[int], columns: Iterable[str] | None = None) -> Rows:
        """The rows at these positions, in this order; they may repeat. Each block is read once."""
        return self._native.take([int(position) for position in positions], _patterns(columns))

    def scan(self, batch_size: int = 256, columns: Iterable[str] | None = None) -> Iterator[Rows]:
        """All rows in order, `batch_size` at a time; the next batches are read while one is used."""
        return self._native.scan(batch_size, _patterns(columns))

    def explain(
        self, positions: int | Sequence[int], columns: Iterable[str] | None = None, *, offsets: Window | None = None
    ) -> dict[str, Any]:
        """What reading costs: groups, ranges, requests, bytes, payload_bytes, dependent hops."""
        positions = [positions] if isinstance(positions, int) else list(positions)
        return self._native.explain(positions, _patterns(columns), offsets)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.get_row(position)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"RowLoader of {len(self)} rows, {len(self.columns)} columns"

    def __reduce__(self) -> tuple[Callable[..., RowLoader], tuple[Any, ...]]:
        """The tables by URL and version, the locators of the rows, and the edge."""
        locators = self._index.to_polars().select(self._index._native.locators())
        return _restore_loader, (self._index._remake, locators, self._edge)


def _restore_loader(remake: tuple[Callable[..., Index], tuple[Any, ...]], locators: pl.DataFrame, edge: str) -> RowLoader:
    return RowLoader(_restore(remake, locators), edge=edge)


def _patterns(columns: Iterable[str] | None) -> list[str] | None:
    return None if columns is None else [columns] if isinstance(columns, str) else list(columns)


def row_loader(source: Index | Table, *, edge: str = "pad") -> RowLoader:
    """A loader of the rows of an index, or of all rows of a table. `edge` says what windows do where a sequence ends: `pad` with
    missing rows, `skip` them, or make them an `error`.
    """
    return RowLoader(source, edge=edge)


def times(column: str, deltas: Iterable[str], *, pick: str = "nearest", tolerance: str | None = None) -> _tetrys.Times:
    """A window by time: the rows at these distances (`"-500ms"`, `"0s"`) from the row in an index column. `pick` is nearest,
    before or after; further away than `tolerance` there is none.
    """
    return _tetrys.Times(column, list(deltas), pick, tolerance)
