"""Data loaders: batches of samples for training, in random order, shared between ranks, and resumable."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from . import _tetrys
from ._arguments import choice, each, limited, path_of, size, span, text, texts, truth, whole
from ._batches import Batch, Maker
from ._epochs import Loader, Transform
from ._errors import WrongType, array_of, found
from ._images import image
from ._index import Index, no_column, read_index
from ._processes import MOST
from ._rows import CACHE_BYTES, Columns, RowLoader, Window, _patterns, _window
from ._table import Table
from ._tetrys import Image, Invalid

__all__ = ["Batch", "DataLoader", "MixedLoader", "mix"]

Shuffle = Literal["none", "global", "block", "sequence"]
"""Order of the samples; see `tetrys.DataLoader`."""
Last = Literal["drop", "pad", "short"]
"""What happens to the samples that do not fill a last batch; see `tetrys.DataLoader`."""
Arrays = Literal["numpy", "torch", "jax", "arrow"]
"""Type of the arrays of a batch; see `tetrys.DataLoader`."""
Raggeds = Literal["list", "pad", "offsets"]
"""How values of different shapes are given; see `tetrys.DataLoader`."""
WorkerKind = Literal["thread", "process"]
"""Where transforms run; see `tetrys.DataLoader`."""
Stop = Literal["first", "longest"]
"""End of an epoch of a mix; see `tetrys.mix`."""


class SampleSource(Protocol):
    """Samples that are computed from rows, such as `tetrys.l5.EgoDataset`: one for each position of an index."""

    def loader_source(self) -> Index | Table:
        """Returns the rows: position i belongs to sample i."""

    def batch(self, indices: Iterable[int]) -> dict[str, Any]:
        """Computes samples. Returns arrays with one entry for each."""


class DataLoader(Loader):
    """Delivers the samples of an index in batches, epoch after epoch.

    Reads run ahead on the library's own threads: no worker processes are needed, and the order of the batches does not depend
    on threads. The order of the samples depends on the seed and the epoch alone, not on the batch size or the number of ranks,
    so that an epoch can be resumed with other sizes.

    Each `for` loop runs one epoch; the next loop runs the next one, in another order. A loop after `load_state_dict` runs the
    rest of the epoch of the state. Iterators are independent: while one of them runs, `iter(loader)` begins the epoch after that of
    the newest one, and each gives every sample of its epoch. Each of them reads up to `prefetch` bytes ahead.

    Args:
        source: An `Index` or a `Table`; or samples that are computed from rows, such as a `tetrys.l5.EgoDataset`, whose arrays then
            are those of the batch.
        batch_size: Samples of a batch, on each rank.
        columns: Patterns of the columns; default: all columns of the column groups. Index columns may be named too.
        offsets: Windows around each sample, {pattern: offsets}, as in `{"lidar.*": range(-3, 1)}`; or one window for all columns.
            Columns without a window are read at the sample itself.
        shuffle: Order of the samples: `"global"` mixes all of them, `"block"` blocks of neighbours (few large ranges for object
            stores), `"sequence"` keeps sequences whole, and `"none"` keeps the order of the index.
        seed: Seed of the order.
        block_rows: With `"block"`: samples of a block; default: those that share a chunk.
        blocks: With `"block"`: number of blocks whose samples are mixed.
        last: What happens to the samples that do not fill a last batch on all ranks: `"drop"` them (a `UserWarning` if no batch
            is left), `"pad"` with samples from the start of the epoch (marked in `batch["padding"]`), or deliver a `"short"` batch.
        rank, world_size: Share of this process; default: those of `torch.distributed` if it is initialised, else the environment
            variables RANK and WORLD_SIZE, else 0 of 1.
        weights: Weight of each sample: the name of a number column of the index, or one number for each position. Samples are
            drawn by weight.
        balance_by: Name of a column of the index, or one class number for each position: each class gets the same number of draws.
        replacement: With `weights`: whether a sample may be drawn several times.
        samples: With `weights` or `balance_by`: number of draws of an epoch; default: the number of positions.
        skip_incomplete: Leaves out samples whose windows reach beyond their sequence.
        max_step: Also leaves out samples whose windows reach over a gap in time: two rows of the table that follow each other, from the
            first to the last row of the window and the sample itself, are further apart than `"150ms"` (`ns us ms s min h`), by the first
            `order_by` column; a plain number is in units of that column. Turns `skip_incomplete` on.
        decode: Decoders of columns of pictures, {pattern: `tetrys.image(..)`}, or patterns of columns whose pictures are decoded to
            all of their pixels. They run on the threads that read. A picture that cannot be decoded is a sample that cannot be read.
            Random crops, flips and colours follow `seed`.
        prefetch: Bound of the rows that are read ahead, in bytes, or as text: `"512MiB"`, which is the default. If the environment
            variable LOCAL_WORLD_SIZE says that several processes of this machine train, as `torchrun` sets it, the default is their share
            of 512 MiB, at least 64 MiB. Before an epoch ends, the first batches of the next one are read too, up to half of the
            bound; before the first end of an epoch, at most a tenth of one.
        cache_bytes: Bound of the decoded blocks that are kept in memory for later batches, in bytes, or as text: `"4GiB"`; default
            64 MiB, and 0 keeps none. It is for blocks of several small rows, of which a batch of a global shuffle needs one or two: if
            the decoded columns fit, an epoch reads each of these blocks once, and the next epoch none of them. A block that a batch
            needs whole, such as one with a single large row, is not kept. Each process has a cache of its own.
            `stats()["cached_blocks"]` counts what it found.
        on_error: Number of samples of an epoch that may be left out because they cannot be read; default: such a sample raises. A batch
            of which nothing is left is filled with a sample from the start of the epoch (marked in `batch["padding"]`), so that all
            ranks do the same number of steps.
        to: Type of the arrays: `"numpy"`, `"torch"`, `"jax"`, or `"arrow"` (pyarrow arrays; tensors as lists of fixed size).
        ragged: How bytes, lists of numbers and tensors of variable shape are given. `"list"`: a list of arrays, None for null; for a
            window, a list of such lists.
            `"pad"`: one array, filled up with zeros, and the shapes as `NAME.shapes`, i64 [batch, rank]. `"offsets"`: the flat values
            of all samples, with `NAME.shapes` and `NAME.offsets`, i64 [batch + 1]. Default: `Ragged` for numpy, a list for torch and
            jax.
        transform: Called with each batch, returns what the loop gets: a dict, a tuple, a list, an array or an object of yours, but not
            None, a number or text. Runs ahead of the loop, on `workers` threads or in processes; batches keep their order. An
            exception has a note that names the samples; an iterator (`iter(loader)`) can go on after it. Up to `workers` + 1 batches
            wait for the loop besides those of `prefetch`.
        transform_rows: Calls `transform` with each sample instead, a dict without the batch dimension, and stacks what it returns.
        workers: Number of threads, or of processes, that transform batches, 1 to 1,024; default: as many as the machine has cores, at
            most 4.
        worker_kind: `"thread"`, or `"process"` for a transform in plain Python, which holds the interpreter's lock: see below.
        device: With `to="torch"`: the device that tensors are copied to. Copies to CUDA devices run ahead of the loop, from pinned
            memory.
        progress: Shows a progress bar (`pip install tqdm`).
        trace: Path of a new file: what the loader does, for https://ui.perfetto.dev. Copies of the loader, as in worker processes, write
            no trace.

    With `worker_kind="process"`, `transform` runs in worker processes. Reads, decoders and copies to devices stay on threads of this
    process. Arrays travel in shared memory, and are copied once to a worker and once from it; everything else is pickled. So are
    the transform, by its name or with `cloudpickle` if that is installed, and what it returns. The workers start afresh at the first
    `iter(loader)`, with the copy of the transform that they get then, and stay for the epochs that follow. They import the script that
    runs, whose own work must be under `if __name__ == "__main__":`. Another batch begins only if it and the batches in workers or
    waiting for the loop fit into `prefetch`; its size is taken as that of the largest batch so far. One batch is always allowed. If a
    worker dies, its batch raises `tetrys.Unavailable`, also a `RuntimeError`, and another worker takes the next one.

    A batch is a dict: the columns by name, [batch, *shape] or for windows [batch, time, *shape]; `positions`, i64 [batch], the
    positions of the samples in the index; for each column with a window `NAME.mask`, bool [batch, time], whether the row exists;
    and with `last="pad"` or `on_error` also `padding`, bool [batch]. A null number reads as 0. An array of numpy with a null element
    inside a tensor or a list of numbers is masked (`numpy.ma`); with `to="torch"` or `"jax"`, such an element is an error.

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
        >>> from operator import itemgetter
        >>> how = {"transform": itemgetter("timestamp"), "workers": 2, "worker_kind": "process"}
        >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=4, columns=["timestamp"], shuffle="none", **how)
        >>> next(iter(loader)).tolist()
        [0, 100, 200, 300]

    Raises:
        Invalid: an argument is impossible, or with `last="short"` some rank would get no sample in the last step. From `iter(loader)`:
            the transform cannot be pickled; from the iterator: a worker cannot load it.
        NotFound: a pattern matches no column.
        Unavailable: a worker process has ended before it returned a batch (raised by the iterator).
        Unsupported: an element inside a tensor or a list of numbers is null, and `to` has no null (raised by the iterator); or there are
            no worker processes on this system, such as Windows (raised by `iter(loader)`).
    """

    def __init__(
        self,
        source: Index | Table | SampleSource,
        *,
        batch_size: int,
        columns: Columns = None,
        offsets: Mapping[str, Window] | Window | None = None,
        shuffle: Shuffle = "global",
        seed: int = 0,
        block_rows: int | None = None,
        blocks: int = 16,
        last: Last = "drop",
        rank: int | None = None,
        world_size: int | None = None,
        weights: str | Iterable[float] | None = None,
        balance_by: str | Iterable[int] | None = None,
        replacement: bool = True,
        samples: int | None = None,
        skip_incomplete: bool = False,
        max_step: str | int | None = None,
        decode: Mapping[str, Image] | str | Iterable[str] | None = None,
        prefetch: int | str | None = None,
        cache_bytes: int | str = CACHE_BYTES,
        on_error: int | None = None,
        to: Arrays = "numpy",
        ragged: Raggeds | None = None,
        transform: Transform | None = None,
        transform_rows: bool = False,
        workers: int | None = None,
        worker_kind: WorkerKind = "thread",
        device: Any = None,
        progress: bool = False,
        trace: str | os.PathLike[str] | None = None,
    ) -> None:
        computed: SampleSource | None = None
        given = source
        if not isinstance(source, (Index, Table)) and hasattr(source, "loader_source"):
            if columns is not None or offsets is not None or decode is not None:
                raise Invalid(f"columns, offsets and decode are those of rows, and {type(source).__name__} computes its samples")
            computed, source = source, source.loader_source()
        if not isinstance(source, (Index, Table)):
            raise WrongType(f"a data loader delivers the samples of an Index or a Table, such as `tetrys.read_index(url)`, found {found(source)}")
        if weights is not None and balance_by is not None:
            raise Invalid("weights and balance_by exclude each other")
        if samples is not None and weights is None and balance_by is None:
            raise Invalid("samples: the number of draws needs weights or balance_by")
        choice("to", to, Arrays)
        if ragged is not None:
            choice("ragged", ragged, Raggeds)
            if to == "arrow":
                raise Invalid('ragged: with to="arrow", such columns are Arrow lists')
        if transform is not None and not callable(transform):
            raise WrongType(f"transform: expected a function, found {found(transform)}")
        if truth("transform_rows", transform_rows) and ragged == "offsets":
            raise Invalid('transform_rows: with ragged="offsets", the values of a column are one flat array')
        if transform_rows and transform is None:
            raise Invalid("transform_rows needs a transform")
        choice("worker_kind", worker_kind, WorkerKind)
        if worker_kind == "process" and transform is None:
            raise Invalid('worker_kind="process" needs a transform: everything else runs on threads')
        if workers is not None:
            workers = whole("workers", workers, 1, MOST)
            if transform is None and computed is None and device is None:
                raise Invalid("workers: without a transform, the threads of the library do all the work: leave it out")
        if device is not None and to != "torch":
            raise Invalid(f'device: only tensors can be copied to a device, expected to="torch", found to="{to}"')
        choice("shuffle", shuffle, Shuffle)
        choice("last", last, Last)
        if prefetch is None:
            prefetch = _tetrys.shared_prefetch()
        # Copies of the loader need these again, and an iterator gives its values once.
        columns, offsets = _patterns(columns), _fixed(offsets)
        if decode is not None and not isinstance(decode, Mapping):
            decode = texts("decode", decode)
        settings: dict[str, Any] = dict(
            batch_size=batch_size, columns=columns, offsets=offsets, shuffle=shuffle, seed=seed, block_rows=block_rows,
            blocks=blocks, last=last, rank=rank, world_size=world_size, weights=weights, balance_by=balance_by,
            replacement=truth("replacement", replacement), samples=samples, skip_incomplete=skip_incomplete, max_step=max_step,
            decode=decode, prefetch=prefetch, cache_bytes=cache_bytes, on_error=on_error, to=to, ragged=ragged, transform=transform,
            transform_rows=bool(transform_rows), workers=workers, worker_kind=worker_kind, device=device, progress=truth("progress", progress), trace=trace,
        )  # fmt: skip
        self._source = given
        self._rows = RowLoader(source, columns=columns if computed is None else [], cache_bytes=cache_bytes)
        windows = _windows(offsets)
        masks = self._rows.columns if windows else []
        if ragged in ("pad", "offsets"):
            masks = [*masks, *self._rows.columns]
        taken = {"positions", *(["padding"] if _has_padding(settings) else []), *(f"{name}.{kind}" for name in masks for kind in ("mask", "shapes", "offsets"))}
        if both := sorted(taken.intersection(self._rows.columns)):
            raise Invalid(f"column `{both[0]}` has the name of another entry of a batch: leave it out of columns")
        self.rank, self.world_size = _rank(rank, world_size)
        drawn = None if weights is None else _weights(source, weights)
        classes = None if balance_by is None else _classes(source, balance_by)
        # A pickled loader takes these values along: another process may have no rank, and a forked one cannot use frames.
        settings |= dict(rank=self.rank, world_size=self.world_size, weights=drawn, balance_by=classes)
        native = _tetrys.DataLoader(
            self._rows._native,
            batch_size=whole("batch_size", batch_size, 1),
            windows=[(pattern, _window(window)) for pattern, window in windows],
            decoders=_decoders(decode),
            shuffle=(shuffle, 0 if block_rows is None else whole("block_rows", block_rows, 1), whole("blocks", blocks, 1)),
            seed=whole("seed", seed, 0, 2**64 - 1),
            rank=(self.rank, self.world_size),
            last=last,
            prefetch=size("prefetch", prefetch),
            skip=None if on_error is None else whole("on_error", on_error),
            skip_incomplete=truth("skip_incomplete", skip_incomplete),
            max_step=None if max_step is None else span("max_step", max_step),
            weights=None if drawn is None else (drawn, bool(replacement)),
            classes=classes,
            samples=None if samples is None else whole("samples", samples, 1),
            trace=None if trace is None else path_of("trace", trace),
        )
        super().__init__(native, Maker(to, ragged, _has_padding(settings), False, worker_kind == "process"), settings)
        self._samples = None if computed is None else computed.batch

    def _with(self, **settings: Any) -> DataLoader:
        """Returns a loader of the same samples with other settings, at the same state."""
        return _restored(self._source, {**self._settings, "trace": None, **settings}, self.state_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the source, the arguments and the state."""
        return _restored, (self._source, {**self._settings, "trace": None}, self.state_dict())

    def __repr__(self) -> str:
        return f"DataLoader: {self.samples} samples in {len(self)} batches of {self._settings['batch_size']}, epoch {self.epoch}"


def _restored(source: Index | Table | SampleSource, settings: dict[str, Any], state: dict[str, Any]) -> DataLoader:
    loader = DataLoader(source, **settings)
    loader.load_state_dict(state)
    return loader


def mix(
    loaders: Sequence[DataLoader],
    *,
    weights: Iterable[float],
    stop: Stop = "first",
    samples: int | None = None,
) -> MixedLoader:
    """Mixes the samples of several loaders by weight: a batch has samples of all of them.

    Of n samples, loader i gives n * weights[i] / sum(weights), give or take one, at the same places in every run. The samples of each
    loader come in the order that it gives them. A batch also has `sources`, i64 [batch]: the number of the loader of each sample.

    Args:
        loaders: Loaders with the same columns, windows, batch size and rank. Everything else that is not of the samples (`to`,
            `transform`, `workers`, `prefetch`, ..) is that of the first one.
        weights: Weight of each loader, above 0.
        stop: End of an epoch: `"first"` ends it when the next sample would be one of a loader that has given all of its samples,
            `"longest"` when every loader has given all. Loaders that are done earlier begin again, in another order.
        samples: Ends an epoch after this number of samples instead.

    Returns a `MixedLoader`, which is used as a `DataLoader` is. Its state can be loaded by a mix with other weights: it goes on with
    them from there.

    Example:
        >>> index = tt.read_index("drives")
        >>> city = tt.DataLoader(index, batch_size=8, columns=["camera.intrinsics"])
        >>> highway = tt.DataLoader(index, batch_size=8, columns=["camera.intrinsics"], seed=1)
        >>> batch = next(iter(tt.mix([city, highway], weights=[3, 1])))
        >>> batch["sources"].tolist().count(0)
        6

    Raises:
        Invalid: the loaders differ in what they must have in common, or a weight is not above 0.
    """
    return MixedLoader(loaders, weights, stop, samples)


class MixedLoader(Loader):
    """Several loaders whose samples are mixed by weight; `tetrys.mix` makes it."""

    def __init__(self, loaders: Sequence[DataLoader], weights: Iterable[float], stop: Stop, samples: int | None) -> None:
        loaders = each("loaders", loaders, DataLoader, "a tetrys.DataLoader")
        if not loaders:
            raise Invalid("a mix of no loaders: expected 1 or more")
        if len({id(loader) for loader in loaders}) < len(loaders):
            raise Invalid("the same loader twice: make another one of the same index")
        if "sources" in loaders[0]._rows.columns:
            raise Invalid("column `sources` has the name of another entry of a batch: leave it out of columns")
        choice("stop", stop, Stop)
        values = array_of("weights", limited("weights", weights, 2**16))
        if values.dtype.kind not in "iuf" or values.ndim != 1:
            raise WrongType(f"weights: expected a number for each loader, found {found(weights)}")
        self._loaders = loaders
        self._weights: list[float] = values.astype(np.float64).tolist()
        self._stop = stop
        self._most = None if samples is None else whole("samples", samples, 1)
        first = loaders[0]
        natives = [loader._base for loader in loaders]
        native = _tetrys.DataLoader.mix(natives, self._weights, stop == "longest", self._most)
        settings = first._settings
        self.rank, self.world_size = first.rank, first.world_size
        is_sent = settings["worker_kind"] == "process"
        super().__init__(native, Maker(settings["to"], settings["ragged"], _has_padding(settings), True, is_sent), settings)

    def _with(self, **settings: Any) -> MixedLoader:
        """Returns a loader of the same samples with other settings, at the same state."""
        loaders = [loader._with(**settings) for loader in self._loaders]
        return _remixed(loaders, self._weights, self._stop, self._most, self.state_dict())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the loaders, the arguments and the state."""
        return _remixed, (self._loaders, self._weights, self._stop, self._most, self.state_dict())

    def __repr__(self) -> str:
        of = ", ".join(f"{loader.samples} x {weight!r}" for loader, weight in zip(self._loaders, self._weights, strict=True))
        return f"MixedLoader: {self.samples} samples of {of} in {len(self)} batches, epoch {self.epoch}"


def _remixed(loaders: list[DataLoader], weights: list[float], stop: Stop, samples: int | None, state: dict[str, Any]) -> MixedLoader:
    loader = MixedLoader(loaders, weights, stop, samples)
    loader.load_state_dict(state)
    return loader


def _has_padding(settings: Mapping[str, Any]) -> bool:
    """Whether batches have the entry `padding`."""
    return settings["last"] == "pad" or settings["on_error"] is not None


def _windows(offsets: Mapping[str, Window] | Window | None) -> list[tuple[str, Window]]:
    if offsets is None:
        return []
    if isinstance(offsets, Mapping):
        return [(text("offsets, a pattern", pattern), window) for pattern, window in offsets.items()]
    return [("*", offsets)]


def _fixed(offsets: Mapping[str, Window] | Window | None) -> Any:
    """Returns windows whose offsets can be read more than once."""
    if isinstance(offsets, Mapping):
        return {pattern: _fixed(window) for pattern, window in offsets.items()}
    return offsets if offsets is None or isinstance(offsets, range) else _window(offsets)


def _decoders(decode: Mapping[str, Image] | str | Iterable[str] | None) -> list[tuple[str, Image]]:
    if decode is None:
        return []
    if not isinstance(decode, Mapping):
        return [(pattern, image()) for pattern in texts("decode", decode)]
    for pattern, decoder in decode.items():
        if not isinstance(decoder, Image):
            raise WrongType(f"decode, pattern `{text('decode, a pattern', pattern)}`: expected tetrys.image(..), found {found(decoder)}")
    return list(decode.items())


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
        raise no_column(index, name)
    return frame[name]


def _of_each(what: str, values: Any, source: Index | Table) -> np.ndarray[Any, Any]:
    """Returns the values for the positions of a source as an array."""
    return array_of(what, limited(what, values, len(source)) if isinstance(values, (range, Iterator)) else values)


def _weights(source: Index | Table, weights: str | Iterable[float]) -> list[float]:
    values = _column(source, weights).to_numpy() if isinstance(weights, str) else _of_each("weights", weights, source)
    if values.dtype.kind not in "iufb" or values.ndim != 1:
        raise WrongType(f"weights: expected one number for each position, found {found(weights)}")
    numbers: list[float] = values.astype(np.float64).tolist()
    return numbers


def _classes(source: Index | Table, classes: str | Iterable[int]) -> list[int]:
    if not isinstance(classes, str):
        numbers = _of_each("balance_by", classes, source)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise WrongType(f"balance_by: expected the name of a column or one class number for each position, found {found(classes)}")
        codes: list[int] = np.unique(numbers, return_inverse=True)[1].tolist()
        return codes
    codes = (_column(source, classes).rank("dense") - 1).to_list()
    if any(code is None for code in codes):
        raise Invalid(f"balance_by: column `{classes}` has nulls: fill them or filter them out")
    return codes
