"""Mixes the items of several readers at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from .._arguments import limited, truth, whole
from .._errors import array_of
from .._tetrys import Error
from .errors import WrongStateError, WrongType, WrongValue, found

__all__ = ["WeightedSamplingReader"]


class WeightedSamplingReader(Iterator[Any]):
    """Delivers the next item of a reader that is chosen at random for each item. Ends when the chosen reader has no more.

    Args:
        readers: Two readers or more, with the same fields and the same n-gram, or all of them batch readers.
        probabilities: Weight of each reader; they need not add up to 1.
        seed: Seed of the choices; default: other choices in each run.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.weighted_sampling_reader import WeightedSamplingReader
        >>> readers = [make_reader("drives", schema_fields=["timestamp"], num_epochs=None, seed=seed) for seed in (1, 2)]
        >>> with WeightedSamplingReader(readers, [0.1, 0.9], seed=7) as reader:
        ...     int(next(reader).timestamp) % 100
        0

    Raises:
        ValueError (an `Invalid`): there are fewer than two readers, they do not fit together, or a weight is negative.
    """

    def __init__(self, readers: Sequence[Any], probabilities: Iterable[float], *, seed: int | None = None) -> None:
        self._readers = limited("readers", readers, 2**16)
        if len(self._readers) < 2:
            raise WrongValue(f"readers: expected two or more, found {len(self._readers)}")
        if wrong := [reader for reader in self._readers if not hasattr(reader, "batched_output") or not hasattr(reader, "schema")]:
            raise WrongType(f"readers: expected what make_reader or make_batch_reader returns, found {found(wrong[0])}")
        weights = array_of("probabilities", limited("probabilities", probabilities, len(self._readers)))
        if weights.shape != (len(self._readers),) or weights.dtype.kind not in "iuf":
            raise WrongValue(f"probabilities: expected one number for each of {len(self._readers)} readers, found {found(probabilities)}")
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
            raise WrongValue(f"probabilities: expected numbers from 0, not all of them 0, found {weights.tolist()}")
        self._limits = np.cumsum(weights / weights.sum())
        first = self._readers[0]
        for other in self._readers[1:]:
            if first.batched_output != other.batched_output:
                raise WrongValue("readers: some deliver rows and some deliver batches")
            if set(first.schema.fields) != set(other.schema.fields):
                raise WrongValue(f"readers: the fields differ: {', '.join(first.schema.fields)}, and {', '.join(other.schema.fields)}")
            if first.ngram != other.ngram:
                raise WrongValue("readers: the n-grams differ")
        self.batched_output, self.ngram, self.schema = first.batched_output, first.ngram, first.schema
        self._random = np.random.default_rng(None if seed is None else whole("seed", seed))
        self.last_row_consumed = False

    def __len__(self) -> int:
        return sum(len(reader) for reader in self._readers)

    def __iter__(self) -> WeightedSamplingReader:
        return self

    def __next__(self) -> Any:
        if self.last_row_consumed:
            raise StopIteration
        number = min(int(np.searchsorted(self._limits, self._random.random(), "right")), len(self._readers) - 1)
        try:
            return next(self._readers[number])
        except StopIteration:
            self.last_row_consumed = True
            raise

    def next(self) -> Any:
        """Returns the next item, as `next(reader)` does."""
        return self.__next__()

    def reset(self) -> None:
        """Starts all readers again."""
        for reader in self._readers:
            reader.reset()
        self.last_row_consumed = False

    def state_dict(self) -> dict[str, Any]:
        """Returns the state after the last item, as a dict of JSON values.

        Raises:
            RuntimeError (an `Invalid`): a reader has no state, as a `ReaderMock`.
        """
        return {
            "format": 1,
            "readers": [state_of(reader) for reader in self._readers],
            "random": self._random.bit_generator.state,
            "is_over": self.last_row_consumed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a saved state.

        Raises:
            Invalid: the state is none of such readers.
        """
        parts = state.get("readers") if isinstance(state, Mapping) else None
        if not isinstance(parts, (list, tuple)) or len(parts) != len(self._readers):
            raise WrongType(f"a state of {len(self._readers)} readers is expected, found {found(state)}")
        before = self.state_dict()
        random: Any = state.get("random")
        is_over = truth("the state, is_over", state.get("is_over", False))
        try:
            self._random.bit_generator.state = random
            for reader, part in zip(self._readers, parts, strict=True):
                reader.load_state_dict(part)
        except Exception as error:
            # All readers stay where they were.
            self._random.bit_generator.state = before["random"]
            for reader, part in zip(self._readers, before["readers"], strict=True):
                reader.load_state_dict(part)
            if isinstance(error, Error):
                raise
            raise WrongValue(f"the state has no state of the random choices: found {found(random)}") from error
        self.last_row_consumed = is_over

    def _mix(self) -> None:
        for reader in self._readers:
            reader._mix()

    def stop(self) -> None:
        """Stops all readers."""
        for reader in self._readers:
            reader.stop()

    def join(self) -> None:
        """Does nothing, as `Reader.join`."""

    def __enter__(self) -> WeightedSamplingReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def state_of(reader: Any) -> dict[str, Any]:
    """Returns the state of a reader.

    Raises:
        WrongStateError: it has none.
    """
    if not callable(getattr(reader, "state_dict", None)):
        raise WrongStateError(f"a {type(reader).__name__} has no state: only the readers of make_reader and make_batch_reader can be resumed")
    state: dict[str, Any] = reader.state_dict()
    return state
