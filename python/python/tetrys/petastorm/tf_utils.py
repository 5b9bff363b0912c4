"""TensorFlow data sets and tensors of the items of a reader."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import whole
from .._tetrys import Invalid
from .errors import UnequalShapesError, WrongType, WrongValue, found
from .ngram import NGram
from .unischema import Unischema

try:
    import tensorflow as tf
except ImportError as error:
    from .._tetrys import Unsupported

    raise Unsupported("TensorFlow is not installed: pip install tensorflow, or tensorflow-cpu") from error

__all__ = ["make_petastorm_dataset", "tf_tensors"]

_DTYPES: dict[Any, tf.DType] = {
    np.int8: tf.int8, np.int16: tf.int16, np.int32: tf.int32, np.int64: tf.int64, np.uint8: tf.uint8, np.uint16: tf.int32, np.uint32: tf.int64,
    np.float16: tf.float16, np.float32: tf.float32, np.float64: tf.float64, np.bytes_: tf.string, np.str_: tf.string, np.bool_: tf.bool,
    Decimal: tf.string, np.datetime64: tf.int64, int: tf.int64, float: tf.float64, str: tf.string, bytes: tf.string, bool: tf.bool,
}  # fmt: skip
_DAY = 86_400 * 10**9


def _dtype(schema: Unischema, name: str) -> tf.DType:
    dtype = schema.fields[name].numpy_dtype
    if dtype not in _DTYPES:
        raise WrongValue(f"field `{name}`: TensorFlow has no dtype for {dtype}: leave the field out, or change it in a TransformSpec")
    return _DTYPES[dtype]


def _sanitized(name: str, value: Any) -> Any:
    """Returns a value of a type that TensorFlow has."""
    if value is None:
        raise WrongType(f"field `{name}` is None, and TensorFlow has no null: filter such rows out with a predicate")
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind == "M":
            return value.astype("M8[ns]").astype(np.int64)
        if value.dtype.kind in "SU":
            return value.tolist() if value.size else np.zeros(value.shape, object)
        if value.dtype in (np.dtype(np.uint16), np.dtype(np.uint32)):
            return value.astype(np.int32 if value.dtype.itemsize == 2 else np.int64)
        if value.dtype.kind == "O":
            return _of_objects(name, value)
    return value


def _of_objects(name: str, values: Any) -> Any:
    """Returns an array of objects as one of numbers or text."""
    made = [_sanitized(name, value) for value in values.reshape(-1)]
    if any(isinstance(value, np.ndarray) for value in made):
        raise UnequalShapesError(f"field `{name}` has arrays of different shapes in one batch: make them equal in a TransformSpec, or read rows with make_reader")
    if made and isinstance(made[0], datetime.date):
        made = [(day - datetime.date(1970, 1, 1)).days * _DAY for day in made]
    return np.array(made, object if any(isinstance(value, (str, bytes)) for value in made) else None).reshape(values.shape)


def _shape(schema: Unischema, name: str, is_batch: bool) -> tf.TensorShape:
    return tf.TensorShape(([None] if is_batch else []) + list(schema.fields[name].shape))


def _fitted(value: tuple[str, Any], dtype: tf.DType, shape: tf.TensorShape) -> npt.NDArray[Any]:
    """Returns a value of a field as an array of the dtype and shape of its tensor."""
    name, given = value
    try:
        array = np.asarray(_sanitized(name, given), dtype.as_numpy_dtype)
    except (TypeError, ValueError) as error:
        if isinstance(error, Invalid):
            raise
        raise WrongType(f"field `{name}`: expected {dtype.name}, as its schema says, found {found(given)}") from error
    if not shape.is_compatible_with(array.shape):
        raise WrongValue(f"field `{name}`: expected the shape {tuple(shape)}, as its schema says, found {array.shape}")
    return array


class _Layout:
    """How the items of a reader become a flat list of tensors, and namedtuples again."""

    def __init__(self, reader: Any) -> None:
        self.ngram: NGram | None = reader.ngram
        self.is_batch = bool(reader.batched_output)
        self.views: dict[int, Unischema] = {0: reader.schema}
        if self.ngram is not None:
            self.views = {offset: self.ngram.get_schema_at_timestep(reader.schema, offset) for offset in self.ngram.offsets}
        self.dtypes = [_dtype(view, name) for view in self.views.values() for name in view.fields]
        self.shapes = [_shape(view, name, self.is_batch) for view in self.views.values() for name in view.fields]

    def flat(self, item: Any) -> tuple[Any, ...]:
        """Returns the values of an item."""
        rows = item if isinstance(item, Mapping) else {0: item}
        if missing := [offset for offset, row in rows.items() if row is None]:
            raise WrongType(f'an n-gram has no row at offset {missing[0]}, and TensorFlow has no null: use padding="repeat"')
        values = [(name, value) for row in rows.values() for name, value in row._asdict().items()]
        return tuple(_fitted(*one) for one in zip(values, self.dtypes, self.shapes, strict=True))

    def item(self, tensors: Any) -> Any:
        """Returns an item of tensors."""
        rows, rest = {}, list(tensors)
        for offset, view in self.views.items():
            rows[offset] = view.make_namedtuple_tf(*rest[: len(view.fields)])
            rest = rest[len(view.fields) :]
        return rows if self.ngram is not None else rows[0]


def _check_reader(reader: Any) -> None:
    known = isinstance(getattr(reader, "schema", None), Unischema) and isinstance(getattr(reader, "ngram", 0), (NGram, type(None)))
    if not known or not all(hasattr(reader, name) for name in ("batched_output", "last_row_consumed")):
        raise WrongType(f"reader: expected a reader of tetrys.petastorm, found {found(reader)}")


def make_petastorm_dataset(reader: Any) -> tf.compat.v1.data.Dataset:
    """Returns the items of a reader as a `tf.data.Dataset`: namedtuples of tensors; of n-grams, dicts {offset: namedtuple}.

    It is a data set of TensorFlow 1, which is one of TensorFlow 2 too: `make_one_shot_iterator` works in a graph, and a loop in eager mode.

    uint16 becomes int32, uint32 int64, a decimal a string without trailing zeros, a time the int64 nanoseconds since 1970, and text
    bytes. The shapes are those of the schema.

    An iteration runs all epochs of the reader. A further iteration starts the reader again: its `num_epochs` is the better way.

    Args:
        reader: A reader of `tetrys.petastorm`.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.tf_utils import make_petastorm_dataset
        >>> with make_reader("drives", schema_fields=["timestamp", "camera_intrinsics"], shuffle_row_groups=False) as reader:
        ...     row = next(iter(make_petastorm_dataset(reader)))
        >>> row.camera_intrinsics.shape
        TensorShape([3, 3])

    Raises:
        ValueError (an `Invalid`): TensorFlow has no dtype for a field.
        tf.errors.OpError: raised by the iteration: a value is None, or the reader failed.
    """
    _check_reader(reader)
    layout = _Layout(reader)

    def items() -> Iterator[tuple[Any, ...]]:
        if reader.last_row_consumed:
            warnings.warn("the reader starts again: use its num_epochs, or cache() of the data set, for several passes", stacklevel=2)
            reader.reset()
        return map(layout.flat, reader)

    signature = tuple(tf.TensorSpec(shape, dtype) for shape, dtype in zip(layout.shapes, layout.dtypes, strict=True))
    options = tf.data.Options()
    # Otherwise tf.data takes items ahead of the loop unasked, and a state of the reader would leave them out.
    options.experimental_optimization.inject_prefetch = False
    return tf.compat.v1.data.Dataset.from_generator(items, output_signature=signature).map(lambda *tensors: layout.item(tensors)).with_options(options)


def tf_tensors(reader: Any, shuffling_queue_capacity: int = 0, min_after_dequeue: int = 0) -> Any:
    """Returns the next item of a reader as a namedtuple of tensors; of n-grams, a dict {offset: namedtuple}.

    In a graph of TensorFlow 1, each run of the session gets the next item. In eager mode, each call does. dtypes and shapes are those
    of `make_petastorm_dataset`.

    Args:
        reader: A reader of `tetrys.petastorm`.
        shuffling_queue_capacity: Above 0: a reader that keeps the order of the table mixes its rows instead.
        min_after_dequeue: Unused: there is no queue.

    Raises:
        ValueError (an `Invalid`): `shuffling_queue_capacity` is given with a batch reader.
        tf.errors.OutOfRangeError: the reader has no more items.
    """
    del min_after_dequeue
    _check_reader(reader)
    if whole("shuffling_queue_capacity", shuffling_queue_capacity) > 0:
        if reader.batched_output:
            raise WrongValue("shuffling_queue_capacity cannot be used with a batch reader: its rows are mixed by shuffle_rows=True")
        reader._mix()
    layout = _Layout(reader)

    try:
        made = tf.compat.v1.py_func(lambda: list(layout.flat(next(reader))), [], layout.dtypes)
    except StopIteration:
        # In eager mode. In a graph, TensorFlow makes this error.
        raise tf.errors.OutOfRangeError(None, None, "the reader has no more items") from None
    # In eager mode, one tensor comes without a list.
    tensors = made if isinstance(made, (list, tuple)) else [made]
    for tensor, shape in zip(tensors, layout.shapes, strict=True):
        tensor.set_shape(shape)
    return layout.item(tensors)
