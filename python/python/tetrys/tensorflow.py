"""Data sets for TensorFlow: the batches of a `tetrys.DataLoader` as a `tf.data.Dataset`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ._epochs import _Epoch as _Batches
from ._errors import WrongType, found
from ._loader import Batch, DataLoader, _decoders, _has_padding, _windows
from ._rows import _window
from ._tetrys import Invalid, Ragged, Rows, Unsupported
from ._torch import refuse_null_elements

try:
    import tensorflow as tf
except ImportError as error:
    raise Unsupported("TensorFlow is not installed: pip install tensorflow, or tensorflow-cpu") from error

__all__ = ["dataset"]

Extent = int | None
"""Extent of a dimension; None if it differs from row to row, or from batch to batch."""
_ELEMENTS = {
    "bool": tf.bool, "i8": tf.int8, "i16": tf.int16, "i32": tf.int32, "i64": tf.int64, "u8": tf.uint8, "u16": tf.uint16,
    "u32": tf.uint32, "u64": tf.uint64, "f16": tf.float16, "bf16": tf.bfloat16, "f32": tf.float32, "f64": tf.float64,
    "utf8": tf.string, "categorical": tf.string,
}  # fmt: skip
"""Column types whose lists become tensors too."""
_OTHERS = {"binary": tf.string, "date": tf.int64, "timestamp": tf.int64, "duration": tf.int64}


def dataset(loader: DataLoader) -> tf.data.Dataset:
    """Returns the batches of a data loader as a `tf.data.Dataset`: each element is one batch, a dict of tensors.

    Each iteration runs the next epoch of the loader, in another order; after `load_state_dict`, the rest of the epoch of the
    state. The column types give `element_spec`: no payload is read for it.

    | column | tensor |
    |---|---|
    | number, bool | its dtype, float16 and bfloat16 included, [batch] |
    | timestamp, duration | int64 [batch]: ticks in the unit of the column |
    | date | int64 [batch]: days since 1970-01-01 |
    | text, bytes | string [batch] |
    | tensor of fixed shape | its dtype, [batch, *shape] |
    | tensor of variable shape, list of numbers | `tf.RaggedTensor` [batch, *shape], ragged up to the last variable dimension |
    | list of text | `tf.RaggedTensor` of strings, [batch, None] |

    A column with a window is [batch, time, ...], and `NAME.mask`, bool [batch, time], says whether each row exists. Where none
    does, numbers and times are 0, text and bytes are empty, and ragged rows have no elements. `positions` is int64 [batch]. With
    `last="pad"` or `on_error`, `padding` is bool [batch]. Batches may be shorter with `last="short"` or `on_error`: then the batch dimension of
    the spec is None.

    TensorFlow has no null. An iteration raises an error at a null value, or at a row without a partner in a merge, and names
    column and position, and at a null element inside a tensor or a list of numbers.

    `loader.state_dict()` counts the batches that tf.data took. In a loop over this data set, those are the batches that the loop
    got. `map`, `prefetch` and `shuffle` take batches ahead of the loop: a state that is saved in such a loop leaves these batches
    out, and `state_dict()` raises `Invalid` while another thread waits for a batch. Save the state between two epochs then, or
    transform each batch in the loop. The loader itself reads ahead, without `prefetch`.

    Iterations are independent: when another one begins, it runs the next epoch, and the earlier one goes on. The data set cannot
    be saved, or sent to another process. Its cardinality is unknown, because an epoch after `load_state_dict` is shorter; for whole
    epochs, `batches.apply(tf.data.experimental.assert_cardinality(len(loader)))` sets it.

    Args:
        loader: A loader of numpy arrays, the default of `tetrys.DataLoader`. It may not transform batches: tf.data has `map`.

    Example:
        >>> import tetrys.tensorflow
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=8, columns=["camera.intrinsics", "timestamp"])
        >>> batches = tetrys.tensorflow.dataset(loader)
        >>> batches.element_spec["camera.intrinsics"]
        TensorSpec(shape=(8, 3, 3), dtype=tf.float64, name=None)
        >>> pairs = batches.map(lambda batch: (batch["camera.intrinsics"], batch["timestamp"]))
        >>> [timestamp.shape.as_list() for intrinsics, timestamp in pairs]
        [[8], [8]]

    Raises:
        TypeError (an `Invalid`): `loader` is no `DataLoader`.
        Invalid: the loader makes other arrays than those of numpy, computes its samples (`tetrys.l5`), or has `transform`, `ragged` or
            `progress`.
        Unsupported: a column is a list of lists, of times or of bytes.
        tf.errors.OpError: raised by the iteration; its text has the error of the loader, or names a null. The next batch follows.
    """
    if not isinstance(loader, DataLoader):
        raise WrongType(f"loader: expected a tetrys.DataLoader, found {found(loader)}")
    if loader._samples is not None:
        raise Invalid("loader: it computes samples from rows, whose types are not known before: make a loader of an Index or a Table")
    if (to := loader._settings["to"]) != "numpy":
        raise Invalid(f'the loader was made with to="{to}": make it with to="numpy", the default')
    for name in ("transform", "ragged", "progress"):
        if loader._settings[name]:
            raise Invalid(f"the loader was made with `{name}`, which tf.data does not use: make it without; `map` transforms batches")
    spec = _spec(loader)
    options = tf.data.Options()
    # Otherwise tf.data takes batches ahead of the loop unasked, and a state would leave them out.
    options.experimental_optimization.inject_prefetch = False
    return tf.data.Dataset.from_generator(_Epochs(loader, spec), output_signature=spec).with_options(options)


class _Epochs:
    """Begins an epoch with each call. Threads of tf.data call it, and take the batches."""

    def __init__(self, loader: DataLoader, spec: dict[str, tf.TypeSpec]) -> None:
        self.loader = loader
        self.spec = spec

    def __call__(self) -> _Epoch:
        return _Epoch(self.loader._next_epoch(), self.spec)


class _Epoch(Iterator[Batch]):
    """The batches of an epoch. An error does not end it: the next batch follows."""

    def __init__(self, batches: _Batches, spec: dict[str, tf.TypeSpec]) -> None:
        self._batches = batches
        self._spec = spec

    def __next__(self) -> Batch:
        with self._batches._turns.lock:
            positions, padding, _, parts = self._batches.read()
        return _batch(self._spec, positions, padding, parts)


def _spec(loader: DataLoader) -> dict[str, tf.TypeSpec]:
    """Returns the type of each entry of a batch. Reads of no rows tell the types of the columns and the length of a window."""
    settings, rows = loader._settings, loader._rows
    size = settings["batch_size"] if settings["last"] != "short" and settings["on_error"] is None else None
    spec = {"positions": tf.TensorSpec([size], tf.int64)}
    if _has_padding(settings):
        spec["padding"] = tf.TensorSpec([size], tf.bool)
    types = rows.take([]).types
    for pattern, decoder in _decoders(settings["decode"]):
        types.update(dict.fromkeys(rows._native.selected(pattern, None), decoder.type))
    for pattern, window in _windows(settings["offsets"]):
        time = rows._native.get_windows([], None, _window(window))[2]
        for name in rows._native.selected(pattern, None):
            spec[name] = _column_spec(name, types.pop(name), [size, time])
            spec[f"{name}.mask"] = tf.TensorSpec([size, time], tf.bool)
    return spec | {name: _column_spec(name, kind, [size]) for name, kind in types.items()}


def _column_spec(name: str, kind: str, outer: list[Extent]) -> tf.TypeSpec:
    """Returns the type of a column of this column type, such as `f32[?,4]`."""
    item = re.fullmatch(r"list<(\w+)>", kind)
    element, _, inside = kind.removesuffix("]").partition("[")
    dtype = _ELEMENTS.get(item[1] if item else element) or _OTHERS.get(element)
    if dtype is None:
        raise Unsupported(f"column `{name}`: values of {kind} do not become tensors: leave it out of `columns` of the loader")
    shape: list[Extent] = [None] if item else []
    if element in _ELEMENTS:
        shape = [None if extent == "?" else int(extent) for extent in inside.split(",") if extent]
    variable = [place for place, extent in enumerate(shape, len(outer)) if extent is None]
    if not variable:
        return tf.TensorSpec([*outer, *shape], dtype)
    return tf.RaggedTensorSpec([*outer, *shape], dtype, ragged_rank=variable[-1], row_splits_dtype=tf.int64)


def _batch(
    spec: dict[str, tf.TypeSpec],
    positions: npt.NDArray[np.uint64],
    padding: npt.NDArray[np.bool_],
    parts: list[tuple[Rows, int | None]],
) -> Batch:
    """Returns tensors, and arrays where tf.data makes the tensors: those can share the memory of the read."""
    batch: Batch = {"positions": positions.astype(np.int64)}
    if "padding" in spec:
        batch["padding"] = padding
    for rows, time in parts:
        outer = [len(positions)] if time is None else [len(positions), time]
        for name in rows:
            values, valid = rows[name], rows.valid(name)
            refuse_null_elements(rows, name, values, "TensorFlow")
            there = rows.column_mask(name) if time is not None else np.full(len(rows), True)
            if (nulls := _nulls(values, valid, there)).any():
                raise Unsupported(_null_at(name, int(nulls.argmax()), positions, time))
            batch[name] = _tensor(values, valid, spec[name], outer)
            if time is not None:
                batch[f"{name}.mask"] = there.reshape(outer)
    return batch


def _nulls(values: Any, valid: npt.NDArray[np.bool_], there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Returns whether each row exists and is null, or is a list of text with a null in it."""
    nulls = there & ~valid
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        nulls |= [isinstance(row, list) and None in row for row in values]
    return nulls


def _null_at(name: str, row: int, positions: npt.NDArray[np.uint64], time: int | None) -> str:
    sample, place = divmod(row, time or 1)
    window = "" if time is None else f", at place {place} of its window"
    return (
        f"column `{name}` is null for the sample at position {positions[sample]}{window}, and TensorFlow has no null: "
        "leave such rows out of the index, or the column out of `columns` of the loader"
    )


def _tensor(values: Any, valid: npt.NDArray[np.bool_], spec: tf.TypeSpec, outer: list[int]) -> Any:
    """Converts the rows of a column. Those that are not valid are places of windows where no row exists."""
    shape = spec.shape.as_list()[len(outer) :]
    if isinstance(spec, tf.RaggedTensorSpec):
        ragged = _ragged(values, valid, spec.dtype, shape)
        return ragged if len(outer) == 1 else tf.RaggedTensor.from_uniform_row_length(ragged, outer[1], nrows=outer[0])
    if spec.dtype == tf.string:
        rows = [b"" if row is None else row.tobytes() if isinstance(values, Ragged) else row for row in values]
        return tf.reshape(tf.constant(rows, tf.string), outer)
    if values.dtype.kind in "mM":
        values = np.where(valid, values.view(np.int64), 0)
    return values.reshape(*outer, *shape)


def _ragged(values: Any, valid: npt.NDArray[np.bool_], dtype: tf.DType, shape: list[Extent]) -> tf.RaggedTensor:
    """Converts rows of this shape. Dimensions behind the last variable one stay dense."""
    if isinstance(values, Ragged):
        shapes, flat = values.shapes, values.values
    else:
        rows = [row or [] for row in values]
        shapes, flat = np.array([[len(row)] for row in rows]), np.array([item for row in rows for item in row], object)
    shapes = np.where(valid[:, None], shapes, [extent or 0 for extent in shape])
    ragged = max(place for place, extent in enumerate(shape) if extent is None) + 1
    lengths, count = [], np.ones(len(shapes), np.int64)
    for extents in shapes[:, :ragged].T:
        lengths.append(np.repeat(extents, count))
        count = count * extents
    items = tf.constant(flat.reshape(count.sum(), *shape[ragged:]), dtype)
    return tf.RaggedTensor.from_nested_row_lengths(items, lengths, validate=False)
