"""Data sets for PyTorch's own DataLoader.

`tetrys.DataLoader` needs no worker processes, and its batches come faster: use it where you can. These classes are for programs
that are built around `torch.utils.data.DataLoader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from ._arguments import chosen
from ._errors import WrongType, found
from ._index import Index
from ._loader import Batch, DataLoader, MixedLoader, _windows
from ._rows import Columns, RowLoader, Window
from ._table import Table
from ._tetrys import Invalid
from ._torch import tensor, tensors

__all__ = ["Dataset", "IterableDataset"]


class Dataset(torch.utils.data.Dataset[dict[str, Any]]):  # type: ignore[misc]
    """A map-style data set: sample i is position i of an index. PyTorch chooses the order.

    A batch is one read (`__getitems__`). Use `num_workers=0` for tables of numbers; with workers, each process opens the table
    for itself, which pays if `collate_fn` or transforms take longer than reading. The data set can be pickled, and works with
    spawn, forkserver and fork, `persistent_workers` and `DistributedSampler`.

    Args:
        source: An `Index` or a `Table`.
        columns: Patterns of the columns; default: all columns of the column groups.
        offsets: Windows around each sample, {pattern: offsets}, or one window for all columns. A sample has them stacked,
            [time, *shape], with the mask `NAME.mask`, bool [time].

    Example:
        >>> samples = Dataset(index, columns=["camera.*", "labels.*"], offsets={"camera.*": range(-3, 1)})
        >>> loader = torch.utils.data.DataLoader(samples, batch_size=64, shuffle=True)
    """

    def __init__(self, source: Index | Table, *, columns: Columns = None, offsets: Mapping[str, Window] | Window | None = None) -> None:
        self._rows = RowLoader(source, columns=columns)
        windows = dict(_windows(offsets))
        self._names = {pattern: self._rows._native.selected(pattern, None) for pattern in windows}
        in_windows = {name for names in self._names.values() for name in names}
        # A column without a window is a part of its own with the row itself, so that a batch is one plan.
        self._parts: dict[str, Window] = windows | {name: [0] for name in self._rows.columns if name not in in_windows}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: Iterable[int]) -> list[dict[str, Any]]:
        """Reads several samples with one plan."""
        places = chosen(positions, len(self), "a data set")
        samples: list[dict[str, Any]] = [{} for _ in places]
        for pattern, windows in self._rows.get_windows(places, offsets=self._parts).items():
            is_window = pattern in self._names
            mask, time = tensor(windows.mask), windows.shape[1]
            for name, values in tensors(windows.rows).items():
                for number, sample in enumerate(samples):
                    sample[name] = values[number * time : (number + 1) * time] if is_window else values[number]
                    if is_window:
                        sample[f"{name}.mask"] = mask[number]
        return samples


class IterableDataset(torch.utils.data.IterableDataset[Batch]):  # type: ignore[misc]
    """The batches of a `tetrys.DataLoader` as an iterable data set. Use it with `batch_size=None`.

    Without workers, each loop runs the next epoch, and `state_dict` and `load_state_dict` work as those of the loader. With workers,
    each worker delivers its share of the batches of this rank. Workers that end after each loop (`persistent_workers=False`) do not
    know the epochs before: call `set_epoch` before each loop, as for PyTorch's `DistributedSampler`.

    To save the state in the middle of an epoch with workers, use `torchdata.stateful_dataloader.StatefulDataLoader`: it collects the
    states of the workers, and continues exactly, with the same number of workers.

    Example:
        >>> batches = IterableDataset(tt.DataLoader(index, batch_size=64, columns=["camera.*"]))
        >>> loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=2)
        >>> for epoch in range(3):
        ...     batches.set_epoch(epoch)
        ...     for batch in loader: ...
    """

    def __init__(self, loader: DataLoader | MixedLoader) -> None:
        if not isinstance(loader, (DataLoader, MixedLoader)):
            raise WrongType(f"expected a tetrys.DataLoader, found {found(loader)}")
        self._loader = loader._with(to="torch")
        self._share: DataLoader | MixedLoader | None = None
        # The epoch that `set_epoch` chose, and how often: shared with the workers.
        self._chosen = torch.zeros(2, dtype=torch.int64).share_memory_()
        self._seen = 0
        # In a worker: whether its newest epoch has ended, and a state that it got before its first loop.
        self._end = _End()
        self._loaded: Mapping[str, Any] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Lets the next loop run this epoch, also in workers."""
        self._loader.set_epoch(epoch)
        self._chosen[0] = epoch
        self._chosen[1] += 1

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of the loader; in a worker, that of its share. Batches of workers are not counted in the main process."""
        if self._share is None:
            return self._loader.state_dict()
        return {"share": self._share.state_dict(), "is_over": self._end.is_over}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues behind a state, as `tetrys.DataLoader.load_state_dict` does."""
        if torch.utils.data.get_worker_info() is not None:
            if "share" not in state or "is_over" not in state:
                raise Invalid("the state of a data set without workers: load it without workers")
            self._loaded = state
            return
        self._loader.load_state_dict(state)
        self._share = None

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        if worker is None:
            return iter(self._loader)
        if self._share is None:
            rank = self._loader.rank * worker.num_workers + worker.id
            self._share = self._loader._with(rank=rank, world_size=self._loader.world_size * worker.num_workers)
        epoch, times = self._chosen.tolist()
        if times != self._seen:
            self._seen = times
            self._share.set_epoch(epoch)
        self._end = _End()
        if self._loaded is not None:
            loaded, self._loaded = self._loaded, None
            self._share.load_state_dict(loaded["share"])
            # The other workers may have batches left: this one must not begin the next epoch before them.
            if loaded["is_over"] or self._share.epoch != loaded["share"]["epoch"]:
                self._end.is_over = True
                return iter(())
        return _Share(iter(self._share), self._end)

    def __len__(self) -> int:
        return len(self._loader)


class _End:
    """Whether an epoch of a worker has ended."""

    is_over = False


class _Share(Iterator[Batch]):
    """The batches of a worker. Notes when they have ended."""

    def __init__(self, batches: Iterator[Batch], end: _End) -> None:
        self._batches = batches
        self._end = end

    def __next__(self) -> Batch:
        try:
            return next(self._batches)
        except StopIteration:
            self._end.is_over = True
            raise
