"""Loaders that make batches of PyTorch tensors of the items of a reader."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from .._arguments import truth, whole
from .._errors import short
from .errors import UnequalShapesError, WrongStateError, WrongType, found
from .weighted_sampling_reader import state_of

try:
    import torch
    from torch.utils.data import default_collate
except ImportError as error:
    from .._tetrys import Unsupported

    raise Unsupported("PyTorch is not installed: pip install torch") from error

__all__ = ["BatchedDataLoader", "DataLoader", "InMemBatchedDataLoader", "decimal_friendly_collate"]

_PROMOTED: dict[Any, Any] = {np.dtype(np.uint16): np.int32, np.dtype(np.uint32): np.int64, np.dtype(np.bool_): np.uint8}
_NOT_OPEN = "another loop over this loader is under way: finish it, or make another reader and loader"


def _promoted(name: str, value: Any) -> Any:
    """Returns a value of a type that tensors have."""
    if isinstance(value, np.ndarray):
        known = next((one for one in value if one is not None), None) if value.dtype.kind == "O" and value.ndim == 1 else None
        if isinstance(known, np.ndarray):
            raise UnequalShapesError(
                f"field `{name}` has null, or arrays of different shapes, in one batch: make them equal in a TransformSpec, leave the field out, or read rows "
                "with make_reader"
            )
        if type(known) is datetime.date:
            value = value.astype("M8[D]")
        if value.dtype.kind in "SaUO":
            raise WrongType(f"field `{name}`: PyTorch has no arrays of text or objects: leave the field out, or change it in a TransformSpec")
        if value.dtype.kind in "mM":
            return value.astype(np.int64)
        return value.astype(_PROMOTED[value.dtype]) if value.dtype in _PROMOTED else value
    if isinstance(value, np.bool_):
        return np.uint8(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value.astype(np.int64)
    if value is None:
        raise WrongType(f"field `{name}` is None, and PyTorch has no null: filter such rows out, or change them in a TransformSpec")
    return value


def _as_dict(item: Any) -> dict[Any, Any]:
    """Returns the fields of a row; of an n-gram, the fields of each offset."""
    if isinstance(item, Mapping):
        if missing := [offset for offset, row in item.items() if row is None]:
            raise WrongType(f'an n-gram has no row at offset {missing[0]}, and PyTorch has no null: use padding="repeat"')
        return {offset: _as_dict(row) for offset, row in item.items()}
    return {name: _promoted(name, value) for name, value in item._asdict().items()}


def decimal_friendly_collate(batch: list[Any] | tuple[Any, ...]) -> Any:
    """Collates as PyTorch does, but decimals and text stay lists; those inside of sequences become tuples.

    Args:
        batch: Samples: dicts of values, or dicts of such dicts.

    Example:
        >>> from decimal import Decimal
        >>> from tetrys.petastorm.pytorch import decimal_friendly_collate
        >>> decimal_friendly_collate([{"price": Decimal("1.5"), "id": 1}, {"price": Decimal("2.5"), "id": 2}])
        {'price': [Decimal('1.5'), Decimal('2.5')], 'id': tensor([1, 2])}
    """
    if not isinstance(batch, (list, tuple)) or not batch:
        raise WrongType(f"batch: expected a list of one sample or more, found {found(batch)}")
    first = batch[0]
    if isinstance(first, (decimal.Decimal, str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        if wrong := [sample for sample in batch if not isinstance(sample, collections.abc.Mapping) or sample.keys() != first.keys()]:
            raise WrongType(f"batch: expected samples with the keys {short(', '.join(map(str, first)))}, found {found(wrong[0])}")
        return {key: decimal_friendly_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, range):
        # It may have more values than memory holds.
        raise WrongType(f"batch: expected lists or arrays, found {found(first)}")
    if isinstance(first, collections.abc.Sequence):
        if wrong := [sample for sample in batch if not isinstance(sample, collections.abc.Sequence) or len(sample) != len(first)]:
            raise WrongType(f"batch: expected samples of {len(first)} values, found {found(wrong[0])}")
        return [decimal_friendly_collate(samples) for samples in zip(*batch, strict=True)]
    if wrong := [sample for sample in batch if isinstance(sample, (collections.abc.Mapping, collections.abc.Sequence))]:
        raise WrongType(f"batch: expected samples as the first one, {found(first)}, found {found(wrong[0])}")
    try:
        return default_collate(batch)
    except RuntimeError as error:
        raise UnequalShapesError(f"batch: PyTorch cannot stack values of different shapes: {short(error)}") from error
    except (TypeError, ValueError) as error:
        raise WrongType(f"batch: PyTorch makes no tensor of {found(first)}: {short(error)}") from error


class LoaderBase:
    """Base class of the loaders over a reader: one loop at a time, the length and the state."""

    def __init__(self, reader: Any, batch_size: int, shuffling_queue_capacity: int) -> None:
        if isinstance(reader, type) or not all(hasattr(reader, name) for name in ("schema", "batched_output")):
            raise WrongType(f"reader: expected a reader of tetrys.petastorm, found {found(reader)}")
        self.reader = reader
        self.batch_size = whole("batch_size", batch_size, 1)
        self.shuffling_queue_capacity = whole("shuffling_queue_capacity", shuffling_queue_capacity)
        if self.shuffling_queue_capacity:
            # The order is that of the reader, so that a loop can be resumed exactly.
            reader._mix()
        self._in_iter: bool | None = None
        self._error: Exception | None = None
        # The state after the last batch, and rows of the last item of a batch reader that are not in it.
        self._behind: dict[str, Any] | None = None
        self._remaining = 0

    def __iter__(self) -> Iterator[Any]:
        if self._error is not None:
            raise WrongStateError(f"the loop before failed with {self._error!r}: make another reader and loader")
        if self._in_iter:
            raise WrongStateError(_NOT_OPEN)
        if self._in_iter is not None and self.reader.last_row_consumed:
            self.reader.reset()
        self._in_iter = True
        try:
            yield from self._batches()
        except Exception as error:
            self._error = error
            raise
        finally:
            self._in_iter = False

    def _batches(self) -> Iterator[Any]:
        """Yields batches of `batch_size` rows; the last one may be shorter."""
        samples: list[Any] = []
        for sample in self._samples():
            samples.append(sample)
            if len(samples) == self.batch_size:
                yield self._delivered(samples)
                samples = []
        if samples:
            yield self._delivered(samples)

    def _samples(self) -> Iterator[dict[Any, Any]]:
        for item in self.reader:
            if not self.reader.batched_output:
                yield _as_dict(item)
                continue
            arrays = _as_dict(item)
            rows = len(next(iter(arrays.values())))
            for row in range(rows):
                self._remaining = rows - row - 1
                yield {name: values[row] for name, values in arrays.items()}

    def _delivered(self, batch: Any) -> Any:
        """Collates a batch that the loop is about to get, and notes the state after it."""
        try:
            self._behind = state_of(self.reader)
        except WrongStateError as error:
            self._behind = {"unknown": str(error)}
        if self._remaining and "unknown" not in self._behind:
            if "loader" not in self._behind:
                self._behind = {"unknown": "a mix of batch readers has a state only where a batch of the loader ends with one of a reader"}
            else:
                self._behind["loader"]["offset"] -= self._remaining
        return self._collated(batch)

    def _collated(self, samples: list[Any]) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        """Returns the number of batches of a loop: all epochs of the reader.

        Raises:
            TypeError (an `Invalid`): the reader never ends, or mixes others at random.
        """
        epochs = getattr(self.reader, "num_epochs", None)
        if epochs is None:
            raise WrongType("a loader of a reader without end, or of a mix, has no length")
        return -(-len(self.reader) * int(epochs) // self.batch_size)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state after the last batch that the loop got, as a dict of JSON values."""
        if self._behind is not None and "unknown" in self._behind:
            raise WrongStateError(self._behind["unknown"])
        return state_of(self.reader) if self._behind is None else self._behind

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a saved state: the next loop delivers what comes after it.

        Raises:
            Invalid: the state belongs to another reader.
        """
        if self._in_iter:
            raise WrongStateError(_NOT_OPEN)
        self.reader.load_state_dict(state)
        self._in_iter = self._behind = self._error = None
        self._remaining = 0

    def __enter__(self) -> LoaderBase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.reader.stop()
        self.reader.join()


class DataLoader(LoaderBase):
    """Batches of the rows or n-grams of a reader, collated as PyTorch's own loader does.

    uint16 arrays become int32, uint32 arrays int64, and booleans uint8. Text and decimals stay lists. A batch of n-grams is a dict
    {offset: {field: tensor}}. The last batch may be shorter. A loop runs all epochs of the reader; the next loop starts it again.

    Args:
        reader: A reader of `tetrys.petastorm`.
        batch_size: Rows of a batch.
        collate_fn: Makes a batch of a list of samples, dicts of the fields.
        shuffling_queue_capacity: Above 0: a reader that keeps the order of the table mixes its rows instead, as with
            `shuffle_row_groups=True`. There is no queue, so that its size does not matter, and a loop can be resumed.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.pytorch import DataLoader
        >>> with DataLoader(make_reader("drives", schema_fields=["timestamp", "camera_intrinsics"]), batch_size=8) as loader:
        ...     [tuple(batch["camera_intrinsics"].shape) for batch in loader]
        [(8, 3, 3), (8, 3, 3), (4, 3, 3)]

    Raises:
        TypeError (an `Invalid`), from the loop: a value is null, or an array of text.
    """

    def __init__(
        self,
        reader: Any,
        batch_size: int = 1,
        collate_fn: Callable[[list[Any]], Any] = decimal_friendly_collate,
        shuffling_queue_capacity: int = 0,
    ) -> None:
        super().__init__(reader, batch_size, shuffling_queue_capacity)
        self.collate_fn = _function("collate_fn", collate_fn)

    def _collated(self, samples: list[Any]) -> Any:
        return self.collate_fn(samples)


class BatchedDataLoader(LoaderBase):
    """As `DataLoader`, but each field of a batch becomes one array, which `transform_fn` converts. Text and decimals are errors.

    Args:
        reader: A reader of `tetrys.petastorm`. Batches of a batch reader are cut and joined without a loop over their rows.
        batch_size: Rows of a batch.
        transform_fn: Makes a tensor of an array; default: `torch.as_tensor`.
        shuffling_queue_capacity: As for `DataLoader`.
    """

    def __init__(
        self, reader: Any, batch_size: int = 1, transform_fn: Callable[[Any], Any] | None = None, shuffling_queue_capacity: int = 0
    ) -> None:
        super().__init__(reader, batch_size, shuffling_queue_capacity)
        self.transform_fn = torch.as_tensor if transform_fn is None else _function("transform_fn", transform_fn)

    def _batches(self) -> Iterator[Any]:
        if not self.reader.batched_output:
            yield from super()._batches()
            return
        parts: list[dict[str, Any]] = []
        rows = 0
        for item in self.reader:
            arrays = _as_dict(item)
            there, start = len(next(iter(arrays.values()))), 0
            while start < there:
                end = min(there, start + self.batch_size - rows)
                parts.append({name: values[start:end] for name, values in arrays.items()})
                rows, start = rows + end - start, end
                if rows == self.batch_size:
                    self._remaining = there - start
                    yield self._delivered(parts)
                    parts, rows = [], 0
        if parts:
            self._remaining = 0
            yield self._delivered(parts)

    def _collated(self, samples: list[Any]) -> Any:
        return _joined(samples, np.concatenate if self.reader.batched_output else _stacked, self.transform_fn)


def _joined(samples: list[Any], join: Callable[[list[Any]], Any], transform: Callable[[Any], Any]) -> dict[Any, Any]:
    """Makes one tensor of each field; of n-grams, for each offset."""
    made: dict[Any, Any] = {}
    for name, first in samples[0].items():
        values = [sample[name] for sample in samples]
        if isinstance(first, dict):
            made[name] = _joined(values, join, transform)
            continue
        try:
            array = join(values)
        except ValueError as error:
            raise UnequalShapesError(f"field `{name}`: numpy cannot join values of different shapes: {short(error)}") from error
        made[name] = transform(_promoted(str(name), array))
    return made


def _stacked(values: list[Any]) -> Any:
    return np.stack(values) if isinstance(values[0], np.ndarray) else np.array(values)


class InMemBatchedDataLoader:
    """Loads rows into memory once, and delivers them for several epochs. It can be iterated once.

    Args:
        reader: A reader of `tetrys.petastorm`, which is stopped when the rows are loaded.
        batch_size: Rows of a batch.
        transform_fn: Makes a tensor of the array of a field; default: `torch.as_tensor`.
        num_epochs: Number of epochs.
        seed: Seed of the order, as in Petastorm: epoch e has the order of `torch.randperm` with the seed `seed + e`.
        rows_capacity: Largest number of rows that are loaded.
        shuffle: Whether each epoch has another order.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.pytorch import InMemBatchedDataLoader
        >>> loader = InMemBatchedDataLoader(make_reader("drives", schema_fields=["timestamp"]), batch_size=8, num_epochs=2, rows_capacity=10)
        >>> [len(batch["timestamp"]) for batch in loader]
        [8, 2, 8, 2]
    """

    def __init__(
        self,
        reader: Any,
        batch_size: int = 1,
        transform_fn: Callable[[Any], Any] | None = None,
        num_epochs: int = 1,
        seed: int = 0,
        rows_capacity: int = 1024,
        shuffle: bool = False,
    ) -> None:
        self._batch_size = whole("batch_size", batch_size, 1)
        self._num_epochs = whole("num_epochs", num_epochs, 1)
        self._seed = whole("seed", seed)
        self._shuffle = truth("shuffle", shuffle)
        capacity = whole("rows_capacity", rows_capacity, 1)
        whole_batch = BatchedDataLoader(reader, capacity, transform_fn)
        self._fields: dict[Any, Any] = next(iter(whole_batch), {})
        reader.stop()
        self._rows = _rows(self._fields)
        self._in_iter = False

    def __len__(self) -> int:
        """Returns the number of batches of all epochs."""
        return -(-self._rows // self._batch_size) * self._num_epochs

    def __iter__(self) -> Iterator[Any]:
        if self._in_iter:
            raise WrongStateError("an InMemBatchedDataLoader can be iterated once: choose the number of epochs with num_epochs")
        self._in_iter = True
        for epoch in range(self._num_epochs):
            order = torch.arange(self._rows)
            if self._shuffle:
                order = torch.randperm(self._rows, generator=torch.Generator().manual_seed(self._seed + epoch))
            for start in range(0, self._rows, self._batch_size):
                yield _chosen(self._fields, order[start : start + self._batch_size])

    def __enter__(self) -> InMemBatchedDataLoader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass


def _function(what: str, given: Any) -> Callable[..., Any]:
    if not callable(given):
        raise WrongType(f"{what}: expected a function, found {found(given)}")
    function: Callable[..., Any] = given
    return function


def _rows(fields: dict[Any, Any]) -> int:
    """Returns the number of rows of arrays or tensors, which may be those of each offset of an n-gram."""
    rows = 0
    for name, values in fields.items():
        there = (_rows(values),) if isinstance(values, dict) else getattr(values, "shape", ())
        if not there or there[0] != (rows or there[0]):
            raise WrongType(f"transform_fn, field `{name}`: expected an array or a tensor with an entry for each row, found {found(values)}")
        rows = int(there[0])
    return rows


def _chosen(fields: dict[Any, Any], rows: Any) -> dict[Any, Any]:
    return {name: _chosen(values, rows) if isinstance(values, dict) else values[rows] for name, values in fields.items()}
