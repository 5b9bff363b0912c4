"""Batches of a data loader: the arrays that are read, as numpy arrays, or as those of PyTorch, JAX or Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _torch
from ._errors import imported
from ._tetrys import Ragged, Rows

Batch = dict[str, Any]
"""Columns by name, `positions`, and the masks of windows."""
Read = tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_], npt.NDArray[np.uint32], list[tuple[Rows, int | None]]]
"""A batch as it was read: positions, padding, sources, and the rows of each part with the length of its windows."""


class Maker:
    """Makes batches of what was read.

    Args:
        to: Type of the arrays: numpy, torch, jax or arrow.
        ragged: How values of different shapes are given: list, pad, offsets, or None for the usual way of `to`.
        with_padding, with_sources: Whether batches have these entries.
        is_sent: Whether batches go to a worker process, which makes the tensors.
    """

    by_threads = 'worker_kind="thread"'
    """The argument with which threads transform the batches, for messages."""

    def __init__(self, to: str, ragged: str | None, with_padding: bool, with_sources: bool, is_sent: bool = False) -> None:
        self._array: Callable[[npt.NDArray[Any]], Any] = {"numpy": _numpy, "torch": _torch.tensor, "jax": _jax, "arrow": _arrow}[to]
        if is_sent and to in ("torch", "jax"):
            self._array = partial(_Later, self._array)
        self._to = to
        # The library whose tensors have no null elements.
        self._library = {"torch": "PyTorch", "jax": "JAX"}.get(to)
        self._ragged = ragged or ("list" if to in ("torch", "jax") else None)
        self._with_padding = with_padding
        self._with_sources = with_sources

    def arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> Batch:
        """Converts arrays that a source of samples has computed."""
        return {name: self._array(values) for name, values in arrays.items()}

    def batch(self, read: Read) -> Batch:
        """Returns a batch."""
        positions, padding, sources, parts = read
        batch: Batch = {}
        for rows, time in parts:
            shape = (len(positions),) if time is None else (len(positions), time)
            batch.update(_of_arrow(rows, time) if self._to == "arrow" else self._columns(rows, shape))
            if time is not None:
                batch.update((f"{name}.mask", self._array(rows.column_mask(name).reshape(shape))) for name in rows)
        batch["positions"] = self._array(positions.astype(np.int64))
        if self._with_sources:
            batch["sources"] = self._array(sources.astype(np.int64))
        if self._with_padding:
            batch["padding"] = self._array(padding)
        return batch

    def finished(self, batch: Any) -> Any:
        """Returns what the loop gets for a batch that the transform has returned."""
        return batch

    def _columns(self, rows: Rows, shape: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
        """The entries of each column."""
        for name in rows:
            values = rows[name]
            if self._library is not None:
                _torch.refuse_null_elements(rows, name, values, self._library)
            if isinstance(values, Ragged):
                yield from self._of_ragged(name, values, shape)
            elif values.dtype.kind == "O":
                yield name, values.reshape(shape) if self._to == "numpy" else values.reshape(shape).tolist()
            else:
                yield name, self._array(values.reshape(*shape, *values.shape[1:]))

    def _of_ragged(self, name: str, values: Ragged, shape: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
        shapes = values.shapes
        if self._ragged is None:
            yield name, values
        elif self._ragged == "list":
            listed = [None if value is None else self._array(value) for value in values]
            times = shape[1] if len(shape) > 1 else None
            yield name, listed if times is None else [listed[start : start + times] for start in range(0, len(listed), times)]
        elif self._ragged == "offsets":
            yield name, self._array(values.values.reshape(-1))
            yield f"{name}.offsets", self._array(np.concatenate([[0], shapes.prod(axis=1).cumsum()]).astype(np.int64))
            yield f"{name}.shapes", self._array(shapes.reshape(*shape, shapes.shape[1]))
        else:
            flat = values.values
            make = np.ma.zeros if isinstance(flat, np.ma.MaskedArray) else np.zeros
            padded: Any = make((len(values), *shapes.max(axis=0, initial=0)), flat.dtype)
            for row, value in enumerate(values):
                if value is not None:
                    place: tuple[Any, ...] = (row, *(slice(extent) for extent in value.shape))
                    padded[place] = value
            yield name, self._array(padded.reshape(*shape, *padded.shape[1:]))
            yield f"{name}.shapes", self._array(shapes.reshape(*shape, shapes.shape[1]))


class _Later:
    """An array that becomes a tensor in the process that unpickles it."""

    def __init__(self, convert: Callable[[npt.NDArray[Any]], Any], array: npt.NDArray[Any]) -> None:
        self._arguments = convert, array

    def __reduce__(self) -> tuple[Any, ...]:
        convert, array = self._arguments
        return convert, (array,)


def _numpy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array


def _jax(array: npt.NDArray[Any]) -> Any:
    jax = imported("jax", "jax is not installed: pip install jax")
    array = array.view(np.int64) if array.dtype.kind in "mM" else array
    # Without its 64-bit mode, JAX has no 64-bit types, and narrows them with a warning.
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return jax.numpy.asarray(array.astype(dtype, copy=False))


def _pyarrow() -> Any:
    return imported("pyarrow", "pyarrow is not installed: pip install pyarrow")


def _arrow(array: npt.NDArray[Any]) -> Any:
    arrow = _pyarrow()
    if array.ndim == 1:
        return arrow.array(array)
    flat = arrow.array(np.ascontiguousarray(array).reshape(-1))
    for extent in reversed(array.shape[1:]):
        flat = arrow.FixedSizeListArray.from_arrays(flat, extent)
    return flat


def _of_arrow(rows: Rows, time: int | None) -> Iterator[tuple[str, Any]]:
    arrow = _pyarrow()
    columns = arrow.table(rows)
    for name in columns.column_names:
        values = columns[name].combine_chunks()
        yield name, values if time is None else arrow.FixedSizeListArray.from_arrays(values, time)
