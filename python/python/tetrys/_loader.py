"""Data loaders: batches of samples for training, in random order, shared between ranks, and resumable."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _tetrys
from ._arguments import choice, size, text, truth, whole
from ._errors import WrongType, found
from ._index import Index, read_index
from ._rows import Columns, RowLoader, Window, _patterns, _window
from ._table import Table
from ._tetrys import Invalid, Ragged, Rows

Batch = dict[str, Any]
"""Columns by name, `positions`, and the masks of windows."""
Shuffle = Literal["none", "global", "block", "sequence"]


class DataLoader:
    """Delivers the samples of an index in batches, epoch after epoch.

    Reads run ahead on the library's own threads: no worker processes are needed, and the order of the batches does not depend
    on threads. The order of the samples depends on the seed and the epoch alone, not on the batch size or the number of ranks,
    so that an epoch can be resumed with other sizes.

    Each `for` loop runs one epoch; the next loop runs the next one, in another order. A loop after `load_state_dict` runs the
    rest of the epoch of the state.

    Args:
        source: An `Index` or a `Table`.
        batch_size: Samples of a batch, on each rank.
        columns: Patterns of the columns; default: all columns of the column groups. Index columns may be named too.
        offsets: Windows around each sample, {pattern: offsets}, as in `{"lidar.*": range(-3, 1)}`; or one window for all columns.
            Columns without a window are read at the sample itself.
        shuffle: Order of the samples: `"global"` mixes all of them, `"block"` blocks of neighbours (few large ranges for object
            stores), `"sequence"` keeps sequences whole, and `"none"` keeps the order of the index.
        seed: Seed of the order.
        block_rows: With `"block"`: samples of a block; default: those that share a chunk.
        blocks: With `"block"`: number of blocks whose samples are mixed.
        last: What happens to the samples that do not fill a last batch on all ranks: `"drop"` them, `"pad"` with samples from the
            start of the epoch (marked in `batch["padding"]`), or deliver a `"short"` batch.
        rank, world_size: Share of this process; default: those of `torch.distributed` if it is initialised, else the environment
            variables RANK and WORLD_SIZE, else 0 of 1.
        weights: Weight of each sample: the name of a number column of the index, or one number for each position. Samples are
            drawn by weight.
        balance_by: Name of a column of the index, or one class number for each position: each class gets the same number of draws.
        replacement: With `weights`: whether a sample may be drawn several times.
        samples: With `weights` or `balance_by`: number of draws of an epoch; default: the number of positions.
        skip_incomplete: Leaves out samples whose windows reach beyond their sequence.
        prefetch: Bound of the rows that are read ahead, in bytes, or as text: `"512MiB"`.
        on_error: Number of samples of an epoch that may be left out because they cannot be read; default: such a sample raises.
        to: Type of the arrays: `"numpy"`, or `"torch"` for tensors.

    A batch is a dict: the columns by name, [batch, *shape] or for windows [batch, time, *shape]; `positions`, i64 [batch], the
    positions of the samples in the index; for each column with a window `NAME.mask`, bool [batch, time], whether the row exists;
    and with `last="pad"` also `padding`, bool [batch]. Bytes and tensors of variable shape are `Ragged` (torch: lists).

    Example:
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=8, columns=["camera.intrinsics", "timestamp"], seed=7)
        >>> [batch["camera.intrinsics"].shape for batch in loader]
        [(8, 3, 3), (8, 3, 3)]
        >>> windows = {"camera.intrinsics": range(-1, 1)}
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=4, offsets=windows, shuffle="none")
        >>> batch = next(iter(loader))
        >>> batch["camera.intrinsics"].shape, batch["positions"].tolist()
        ((4, 2, 3, 3), [0, 1, 2, 3])
        >>> batch["camera.intrinsics.mask"].tolist()[0]
        [False, True]

    Raises:
        Invalid: an argument is impossible, or with `last="short"` some rank would get no sample in the last step.
        NotFound: a pattern matches no column.
    """

    def __init__(
        self,
        source: Index | Table,
        *,
        batch_size: int,
        columns: Columns = None,
        offsets: Mapping[str, Window] | Window | None = None,
        shuffle: Shuffle = "global",
        seed: int = 0,
        block_rows: int | None = None,
        blocks: int = 16,
        last: Literal["drop", "pad", "short"] = "drop",
        rank: int | None = None,
        world_size: int | None = None,
        weights: str | Iterable[float] | None = None,
        balance_by: str | Iterable[int] | None = None,
        replacement: bool = True,
        samples: int | None = None,
        skip_incomplete: bool = False,
        prefetch: int | str = "512MiB",
        on_error: int | None = None,
        to: Literal["numpy", "torch"] = "numpy",
    ) -> None:
        if not isinstance(source, (Index, Table)):
            raise WrongType(f"a data loader reads the rows of an Index or a Table, found {found(source)}")
        if weights is not None and balance_by is not None:
            raise Invalid("weights and balance_by exclude each other")
        if samples is not None and weights is None and balance_by is None:
            raise Invalid("samples: the number of draws needs weights or balance_by")
        choice("to", to, ("numpy", "torch"))
        choice("shuffle", shuffle, ("none", "global", "block", "sequence"))
        choice("last", last, ("drop", "pad", "short"))
        self._settings: dict[str, Any] = dict(
            batch_size=batch_size, columns=columns, offsets=offsets, shuffle=shuffle, seed=seed, block_rows=block_rows,
            blocks=blocks, last=last, rank=rank, world_size=world_size, weights=weights, balance_by=balance_by,
            replacement=replacement, samples=samples, skip_incomplete=skip_incomplete, prefetch=prefetch, on_error=on_error, to=to,
        )  # fmt: skip
        self._source = source
        self._rows = RowLoader(source, columns=columns)
        windows = _windows(offsets)
        masks = self._rows.columns if windows else []
        taken = {"positions", *(["padding"] if last == "pad" else []), *(f"{name}.mask" for name in masks)}
        if both := sorted(taken.intersection(self._rows.columns)):
            raise Invalid(f"column `{both[0]}` has the name of another entry of a batch: leave it out of columns")
        self.rank, self.world_size = _rank(rank, world_size)
        drawn = None if weights is None else _weights(source, weights)
        classes = None if balance_by is None else _classes(source, balance_by)
        # A pickled loader takes these values along: another process may have no rank, and a forked one cannot use frames.
        self._settings |= dict(rank=self.rank, world_size=self.world_size, weights=drawn, balance_by=classes)
        self._to = to
        self._pad = last == "pad"
        self._native = _tetrys.DataLoader(
            self._rows._native,
            batch_size=whole("batch_size", batch_size, 1),
            windows=[(pattern, _window(window)) for pattern, window in windows],
            shuffle=(shuffle, 0 if block_rows is None else whole("block_rows", block_rows, 1), whole("blocks", blocks, 1)),
            seed=whole("seed", seed, 0, 2**64 - 1),
            rank=(self.rank, self.world_size),
            last=last,
            prefetch=size("prefetch", prefetch),
            skip=None if on_error is None else whole("on_error", on_error),
            skip_incomplete=truth("skip_incomplete", skip_incomplete),
            weights=None if drawn is None else (drawn, truth("replacement", replacement)),
            classes=classes,
            samples=None if samples is None else whole("samples", samples, 1),
        )
        self._is_fresh = True

    def __iter__(self) -> Iterator[Batch]:
        """Runs the next epoch, or the rest of the epoch of a loaded state."""
        if not self._is_fresh:
            # The loop before was left early: its epoch ends here.
            self._native.set_epoch(self.epoch + 1)
        self._is_fresh = False
        return _Epoch(self)

    def _batch(
        self, positions: npt.NDArray[np.uint64], padding: npt.NDArray[np.bool_], parts: list[tuple[Rows, int | None]]
    ) -> Batch:
        batch: Batch = {}
        for rows, time in parts:
            shape = (len(positions),) if time is None else (len(positions), time)
            if self._to == "torch":
                from ._torch import tensors

                columns = tensors(rows)
            else:
                columns = {name: rows[name] for name in rows}
            for name, values in columns.items():
                is_array = not isinstance(values, (Ragged, list))
                batch[name] = values.reshape(*shape, *values.shape[1:]) if is_array and time is not None else values
                if time is not None:
                    batch[f"{name}.mask"] = self._array(rows.column_mask(name).reshape(shape))
        batch["positions"] = self._array(positions.astype(np.int64))
        if self._pad:
            batch["padding"] = self._array(padding)
        return batch

    def _array(self, array: npt.NDArray[Any]) -> Any:
        if self._to == "torch":
            from ._torch import tensor

            return tensor(array)
        return array

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch belongs to, from 0."""
        return self._native.sizes()[3]

    def set_epoch(self, epoch: int) -> None:
        """Goes to the start of an epoch: the next loop runs it."""
        self._native.set_epoch(whole("epoch", epoch))
        self._is_fresh = True

    @property
    def samples(self) -> int:
        """Number of samples of an epoch, over all ranks."""
        return self._native.sizes()[2]

    def __len__(self) -> int:
        """Returns the number of batches of an epoch on this rank."""
        return self._native.sizes()[0]

    def state_dict(self) -> dict[str, Any]:
        """Returns the state behind the last batch that the loop got, as a dict of JSON values of less than 1 KiB.

        A batch that the loop body works on counts as delivered; batches that were read ahead do not. All ranks save at the same
        step. The state of any rank fits all ranks.

        Example:
            >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=8)
            >>> for batch in loader:
            ...     break
            >>> state = loader.state_dict()
            >>> state["epoch"], state["offset"]
            (0, 8)
        """
        state: dict[str, Any] = json.loads(self._native.state())
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues behind a saved state: with its seed, and with exactly the samples behind it, in the same order.

        Batch size, number of ranks, threads and machine may differ from those that saved the state. A state that was saved at the
        end of an epoch starts the next one.

        Raises:
            Invalid: the state belongs to other tables, versions, rows, columns, windows or another order; the message says which.
        """
        if not isinstance(state, Mapping):
            raise WrongType(f"a state is the dict that state_dict returned, found {found(state)}")
        self._native.load_state(json.dumps(dict(state)))
        self._is_fresh = True

    def stats(self) -> dict[str, Any]:
        """Returns what was delivered, and where time went.

        Returns a dict with `batches`, `samples`, `bytes` (of the decoded columns), `skipped` (samples left out by `on_error`),
        `consumer_waited` (seconds that the loop waited for batches) and `loader_waited` (seconds that the loop body took).
        """
        return self._native.stats()

    def quality(self) -> dict[str, float]:
        """Measures how well the order of this epoch mixes the index.

        Returns a dict with `neighbour_distance` (mean distance in the index of two samples that follow each other, as a share of
        the index), `largest_share` (mean share of a step that comes from one sequence), and for both the value of a perfect
        shuffle: `perfect_distance`, `perfect_share`.
        """
        return self._native.quality()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the source, the arguments and the state."""
        return _restored, (self._source, self._settings, self.state_dict())

    def __repr__(self) -> str:
        return f"DataLoader: {self.samples} samples in {len(self)} batches of {self._settings['batch_size']}, epoch {self.epoch}"


class _Epoch(Iterator[Batch]):
    """The batches of an epoch. An error ends neither the epoch nor the iterator: the next batch follows."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader

    def __next__(self) -> Batch:
        batch = self._loader._native.next()
        if batch is None:
            self._loader._is_fresh = True
            raise StopIteration
        return self._loader._batch(*batch)


def _restored(source: Index | Table, settings: dict[str, Any], state: dict[str, Any]) -> DataLoader:
    loader = DataLoader(source, **settings)
    loader.load_state_dict(state)
    return loader


def _windows(offsets: Mapping[str, Window] | Window | None) -> list[tuple[str, Window]]:
    if offsets is None:
        return []
    if isinstance(offsets, Mapping):
        return [(text("offsets, a pattern", pattern), window) for pattern, window in offsets.items()]
    return [("*", offsets)]


def _rank(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns rank and world size: the arguments, else those of torch.distributed, else those of the environment, else 0 of 1."""
    if (rank is None) != (world_size is None):
        raise Invalid("rank and world_size belong together: give both or none")
    torch = sys.modules.get("torch")
    there = None
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        there = torch.distributed.get_rank(), torch.distributed.get_world_size()
    if rank is not None and world_size is not None:
        chosen = whole("rank", rank), whole("world_size", world_size, 1)
        # The workers of PyTorch's loader have ranks of their own.
        in_worker = torch is not None and torch.utils.data.get_worker_info() is not None
        if there is not None and chosen != there and not in_worker:
            warnings.warn(f"rank {chosen[0]} of {chosen[1]}, but torch.distributed says {there[0]} of {there[1]}", stacklevel=3)
        return chosen
    if there is not None:
        return there
    try:
        return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    except ValueError as error:
        raise Invalid(f"the environment variables RANK and WORLD_SIZE: {error}") from error


def _column(source: Index | Table, name: str) -> Any:
    index = source if isinstance(source, Index) else read_index(source)
    frame = index.to_polars()
    if name not in frame.columns:
        raise _tetrys.NotFound(f"no index column `{name}`; there are: {', '.join(index.columns)}")
    return frame[name]


def _weights(source: Index | Table, weights: str | Iterable[float]) -> list[float]:
    values = _column(source, weights).to_numpy() if isinstance(weights, str) else np.asarray(weights)
    if values.dtype.kind not in "iufb" or values.ndim != 1:
        raise WrongType(f"weights: expected one number for each position, found {found(weights)}")
    numbers: list[float] = values.astype(np.float64).tolist()
    return numbers


def _classes(source: Index | Table, classes: str | Iterable[int]) -> list[int]:
    if not isinstance(classes, str):
        numbers = np.asarray(classes)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise WrongType(f"balance_by: expected the name of a column or one class number for each position, found {found(classes)}")
        codes: list[int] = np.unique(numbers, return_inverse=True)[1].tolist()
        return codes
    codes = (_column(source, classes).rank("dense") - 1).to_list()
    if any(code is None for code in codes):
        raise Invalid(f"balance_by: column `{classes}` has nulls: fill them or filter them out")
    return codes
