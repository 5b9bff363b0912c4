"""Data sets for PyTorch's own DataLoader.

`tetrys.DataLoader` needs no worker processes, and its batches come faster: use it where you can. These classes are for programs
that are built around `torch.utils.data.DataLoader`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.utils.data

from ._arguments import choice, chosen, each, whole
from ._errors import WrongType, found, short
from ._images import decode_all
from ._index import Index
from ._loader import Batch, DataLoader, MixedLoader, Raggeds, _decoders, _windows
from ._rows import CACHE_BYTES, Columns, RowLoader, Window
from ._table import Table
from ._tetrys import Image, Invalid, Ragged, sample_random
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
        decode: Decoders of columns of pictures, {pattern: `tetrys.image(..)`}, or patterns of columns whose pictures are decoded to
            all of their pixels, as for `tetrys.DataLoader`. A null picture is one of zeros if the decoder has a size, else None.
            Random changes depend on `seed`, the epoch of `set_epoch`, and the position of the sample.
        seed: Seed of the random changes of pictures.
        cache_bytes: Bound of the decoded blocks that each process keeps for later reads; see `tetrys.DataLoader`.
        ragged: How `collate` gives bytes, lists of numbers and tensors of variable shape: `"list"`, `"pad"` or `"offsets"`, as for
            `tetrys.DataLoader`.

    PyTorch's own collate function stacks tensors of one shape alone. For columns of variable shape, pass `collate_fn=samples.collate`.

    Example:
        >>> samples = Dataset(index, columns=["camera.*", "lidar.*"], offsets={"camera.*": range(-3, 1)}, ragged="pad")
        >>> loader = torch.utils.data.DataLoader(samples, batch_size=64, shuffle=True, collate_fn=samples.collate)

    Raises:
        NotFound: a pattern matches no column.
        Invalid: the offsets are impossible, `ragged` is unknown, or a picture cannot be decoded (from a read).
    """

    def __init__(
        self,
        source: Index | Table,
        *,
        columns: Columns = None,
        offsets: Mapping[str, Window] | Window | None = None,
        decode: Mapping[str, Image] | str | Iterable[str] | None = None,
        ragged: Raggeds = "list",
        seed: int = 0,
        cache_bytes: int | str = CACHE_BYTES,
    ) -> None:
        self._ragged = choice("ragged", ragged, Raggeds)
        self._seed = whole("seed", seed, 0, 2**64 - 1)
        # Shared with the workers.
        self._epoch = torch.zeros(1, dtype=torch.int64).share_memory_()
        self._rows = RowLoader(source, columns=columns, cache_bytes=cache_bytes)
        windows = dict(_windows(offsets))
        self._names = {pattern: self._rows._native.selected(pattern, None) for pattern in windows}
        in_windows = {name for names in self._names.values() for name in names}
        self._in_windows = in_windows
        self._decoders = {name: decoder for pattern, decoder in _decoders(decode) for name in self._rows._native.selected(pattern, None)}
        # Rank and type of the columns whose rows have different shapes.
        empty = self._rows.take([])
        self._varying = {name: (empty[name].shapes.shape[1], tensor(empty[name].values).dtype) for name in empty if isinstance(empty[name], Ragged)}
        for name, decoder in self._decoders.items():
            if name not in self._varying:
                raise WrongType(f"decode: column `{name}` is {empty.types[name]}: expected a column of bytes")
            if "?" in decoder.type:
                self._varying[name] = 3, tensor(_zeros(decoder, 0)).dtype
            else:
                del self._varying[name]
        # A column without a window is a part of its own with the row itself, so that a batch is one plan.
        self._parts: dict[str, Window] = windows | {name: [0] for name in self._rows.columns if name not in in_windows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A copy shares its epoch with workers of its own.
        self._epoch.share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Draws the random changes of pictures (see `tetrys.image`) for this epoch from here on, also in workers that run already.
        Without this call, every epoch has those of epoch 0.
        """
        self._epoch[0] = whole("epoch", epoch)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int) -> dict[str, Any]:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: Iterable[int]) -> list[dict[str, Any]]:
        """Reads several samples with one plan."""
        places = chosen(positions, len(self), "a data set")
        samples: list[dict[str, Any]] = [{} for _ in places]
        epoch = int(self._epoch[0])
        randoms = [sample_random(self._seed, epoch, place) for place in places.tolist()]
        for pattern, windows in self._rows.get_windows(places, offsets=self._parts).items():
            is_window = pattern in self._names
            mask, time = tensor(windows.mask), windows.shape[1]
            found = tensors(windows.rows)
            of_rows = [random for random in randoms for _ in range(time)]
            found |= {name: _pictures(name, decoder, windows.rows[name], of_rows) for name, decoder in self._decoders.items() if name in found}
            for name, values in found.items():
                for number, sample in enumerate(samples):
                    sample[name] = values[number * time : (number + 1) * time] if is_window else values[number]
                    if is_window:
                        sample[f"{name}.mask"] = mask[number]
        return samples

    def collate(self, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Makes a batch of samples, as `tetrys.DataLoader` with `to="torch"` and the same `ragged` does: the `collate_fn` of PyTorch's
        `DataLoader`, also over a `Subset` of this data set.

        Tensors of one shape are stacked, [batch, *shape]. Text is a list. Columns of variable shape are, with `ragged="list"`, a list
        of tensors, None for null (of a window, a list of such lists); with `"pad"`, one tensor, filled up with zeros, and the shapes
        as `NAME.shapes`, i64 [batch, rank]; with `"offsets"`, the flat values of all samples, `NAME.shapes`, and `NAME.offsets`,
        i64 [batch + 1].
        """
        samples = each("samples", samples, dict, "samples of this data set")
        batch: dict[str, Any] = {}
        for name in samples[0] if samples else ():
            if not all(name in sample for sample in samples):
                raise WrongType(f"samples: one lacks `{short(name)}` of the first one: expected samples of one data set")
            values = [sample[name] for sample in samples]
            if name in self._varying and self._ragged != "list":
                batch.update(self._collated(name, values))
            elif name not in self._varying and torch.is_tensor(values[0]):
                batch[name] = _stacked(name, values)
            else:
                batch[name] = values
        return batch

    def _collated(self, name: str, values: list[Any]) -> Iterator[tuple[str, Any]]:
        """The entries of a column of variable shape."""
        rank, dtype = self._varying[name]
        windows = values if name in self._in_windows else [[one] for one in values]
        if not all(isinstance(window, list) for window in windows) or len({len(window) for window in windows}) > 1:
            raise WrongType(f"samples, column `{name}`: expected windows of one length, each a list of tensors")
        flat: list[Any] = [one for window in windows for one in window]
        if wrong := [one for one in flat if one is not None and (not torch.is_tensor(one) or one.dim() != rank)]:
            raise WrongType(f"samples, column `{name}`: expected tensors of {rank} dimensions or None, found {found(wrong[0])}")
        outer = (len(values), len(windows[0])) if name in self._in_windows else (len(values),)
        shapes = torch.tensor([[0] * rank if one is None else list(one.shape) for one in flat], dtype=torch.int64).reshape(len(flat), rank)
        if self._ragged == "offsets":
            yield name, torch.cat([torch.zeros(0, dtype=dtype), *(one.reshape(-1) for one in flat if one is not None)])
            yield f"{name}.offsets", torch.cat([torch.zeros(1, dtype=torch.int64), shapes.prod(1).cumsum(0)])
        else:
            padded = torch.zeros((len(flat), *shapes.amax(0).tolist()), dtype=dtype)
            for number, one in enumerate(flat):
                if one is not None:
                    padded[(number, *map(slice, one.shape))] = one
            yield name, padded.reshape(*outer, *padded.shape[1:])
        yield f"{name}.shapes", shapes.reshape(*outer, rank)


def _stacked(name: str, values: list[Any]) -> torch.Tensor:
    try:
        return torch.stack(values)
    except (TypeError, RuntimeError) as error:
        raise WrongType(f"samples, column `{name}`: PyTorch cannot stack the values: {short(error)}") from error


def _zeros(decoder: Image, pictures: int) -> npt.NDArray[Any]:
    """Returns black pictures, as a decoder makes them; of no pixels if they have no fixed size."""
    dtype, extents = decoder.type.rstrip("]").split("[")
    shape = [0 if extent == "?" else int(extent) for extent in extents.split(",")]
    return np.zeros((pictures, *shape), np.uint8 if dtype == "u8" else np.float32)


def _pictures(name: str, decoder: Image, files: Iterable[Any], randoms: list[int]) -> Any:
    """Decodes a column of pictures: one tensor if the decoder has a size, else a list of tensors, None for null. `randoms` has the
    random number of the sample of each picture.
    """
    pictures = decode_all(name, files, decoder, randoms)
    if "?" in decoder.type:
        return [None if picture is None else tensor(picture) for picture in pictures]
    made = _zeros(decoder, len(pictures))
    for number, picture in enumerate(pictures):
        if picture is not None:
            made[number] = picture
    return tensor(made)


class IterableDataset(torch.utils.data.IterableDataset[Batch]):  # type: ignore[misc]
    """The batches of a `tetrys.DataLoader` as an iterable data set. Use it with `batch_size=None`.

    Without workers, each loop runs the next epoch, and `state_dict` and `load_state_dict` work as those of the loader. With workers,
    each worker delivers its share of the batches of this rank, as if it were a rank: `last="drop"` leaves out what does not fill a
    batch of each worker, and `len` does not know the workers (120 samples in batches of 24 are 5 batches, and 4 with two workers).
    Workers that end after each loop (`persistent_workers=False`) do not know the epochs before: call `set_epoch` before each loop, as
    for PyTorch's `DistributedSampler`. Otherwise every loop has the same order, and a worker warns once.

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
            raise WrongType(f"loader: expected a tetrys.DataLoader, found {found(loader)}")
        self._loader = loader._with(to="torch")
        self._share: DataLoader | MixedLoader | None = None
        # The epoch that `set_epoch` chose, how often, and how many loops began in new workers since: shared with the workers.
        self._chosen = torch.zeros(3, dtype=torch.int64).share_memory_()
        self._seen = 0
        # In a worker: whether its newest epoch has ended, and a state that it got before its first loop.
        self._end = _End()
        self._loaded: Mapping[str, Any] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Lets the next loop run this epoch, also in workers."""
        self._loader.set_epoch(epoch)
        self._chosen[0] = epoch
        self._chosen[1] += 1
        self._chosen[2] = 0

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of the loader; in a worker, that of its share. Batches of workers are not counted in the main process."""
        if self._share is None:
            return self._loader.state_dict()
        return {"share": self._share.state_dict(), "is_over": self._end.is_over}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a state, as `tetrys.DataLoader.load_state_dict` does."""
        if torch.utils.data.get_worker_info() is not None:
            if not isinstance(state, Mapping):
                raise WrongType(f"a state is the dict that state_dict returned, found {found(state)}")
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
            # One worker speaks for all.
            self._share._has_warned = worker.id > 0
            if worker.id == 0 and self._loaded is None:
                self._chosen[2] += 1
                if self._chosen[2] == 2:
                    warnings.warn(
                        "new workers run the same epoch again, in the same order: call `set_epoch(epoch)` of the data set before each loop, "
                        "or pass persistent_workers=True",
                        stacklevel=2,
                    )
        epoch, times, _ = self._chosen.tolist()
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
        """Returns the number of batches of a whole epoch without workers, also after `load_state_dict`."""
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
