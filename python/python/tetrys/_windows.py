"""Windows around several rows, one by one and stacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ._arguments import is_whole
from ._errors import OutOfRange, WrongType, found, short
from ._tetrys import Invalid, Ragged, Rows

# Notebooks complete `rows["`.
Rows._ipython_key_completions_ = Rows.keys  # type: ignore[method-assign]


class Windows(Sequence[Rows]):
    """Windows around several rows: a list of `Rows`, and their columns stacked into arrays `[batch, time, *shape]`.

    Columns of text and lists are object arrays `[batch, time]`. Bytes and tensors of variable shape are a `Ragged` with the
    rows of all windows in order: row t of window b is `windows[name][b * time + t]`.

    Example:
        >>> rows = tt.row_loader(tt.read_index("drives"))
        >>> windows = rows.get_windows([0, 4], ["timestamp", "lidar.*"], offsets=range(-1, 1))
        >>> windows["timestamp"].tolist(), windows.mask.tolist()
        ([[0, 0], [300, 400]], [[False, True], [True, True]])
        >>> len(windows), windows[1]["timestamp"].tolist()
        (2, [300, 400])
    """

    def __init__(self, rows: Rows, parts: list[Rows], time: int) -> None:
        """Not for users: `RowLoader.get_windows` makes windows."""
        self._rows = rows
        self._parts = parts
        self._time = time

    @property
    def rows(self) -> Rows:
        """Rows of all windows in order, as one `Rows`."""
        return self._rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of windows, and rows of each window.

        Raises:
            Invalid: the windows have different lengths, as with `edge="skip"`.
        """
        if any(len(part) != self._time for part in self._parts):
            raise Invalid('windows of different length cannot be stacked: read them with edge="pad", or one by one')
        return len(self._parts), self._time

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Whether each row exists, bool [batch, time]. A place is False if its sequence has no such row."""
        return self._rows.mask.reshape(self.shape)

    @property
    def table_rows(self) -> npt.NDArray[np.int64]:
        """Row number in the table at each place, i64 [batch, time]; -1 for a missing row."""
        return self._rows.table_rows.reshape(self.shape)

    def keys(self) -> list[str]:
        """Returns the names of the columns."""
        return self._rows.keys()

    def valid(self, name: str) -> npt.NDArray[np.bool_]:
        """Returns whether each value of a column is not null, bool [batch, time]."""
        return self._rows.valid(name).reshape(self.shape)

    def column_mask(self, name: str) -> npt.NDArray[np.bool_]:
        """Returns whether a table has the row of a column, bool [batch, time]; see `Rows.column_mask`."""
        return self._rows.column_mask(name).reshape(self.shape)

    def to_torch(self) -> dict[str, Any]:
        """Returns the columns as PyTorch tensors, as `Rows.to_torch` does. Columns of one shape become `[batch, time, *shape]`.

        Raises:
            Unsupported: PyTorch is not installed, or an element inside a tensor or a list of numbers is null.
            Invalid: the windows have different lengths.
        """
        found = self._rows.to_torch()
        return {name: value.reshape(*self.shape, *value.shape[1:]) if hasattr(value, "reshape") else value for name, value in found.items()}

    @overload
    def __getitem__(self, key: int) -> Rows: ...
    @overload
    def __getitem__(self, key: slice) -> list[Rows]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        """Returns a window by position (`Rows`), windows by slice, or a column of all windows by name."""
        if isinstance(key, str):
            values = self._rows[key]
            return values if isinstance(values, Ragged) else values.reshape(*self.shape, *values.shape[1:])
        if not is_whole(key) and not isinstance(key, slice):
            raise WrongType(f"expected the position of a window or the name of a column, found {found(key)}")
        try:
            return self._parts[key]
        except IndexError:
            raise OutOfRange(f"window {short(key)} is outside 0..{len(self)}") from None

    def __contains__(self, value: object) -> bool:
        """Whether there is a column of this name, or a window that is this object."""
        return value in self._rows if isinstance(value, str) else any(value is part for part in self._parts)

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    def __iter__(self) -> Iterator[Rows]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return f"Windows: {len(self)} of {self._time} rows; {', '.join(f'{name}: {ty}' for name, ty in self._rows.types.items())}"
