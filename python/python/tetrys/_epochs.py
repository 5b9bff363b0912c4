"""Epochs of a data loader: iterates over its batches, transforms them ahead on threads, and keeps its state."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any

import numpy as np

from . import _tetrys
from ._arguments import whole
from ._batches import Batch, Maker, Read
from ._errors import WrongType, found, imported
from ._tetrys import Ragged
from ._torch import pytorch

Transform = Callable[[dict[str, Any]], Any]


class Loader:
    """Base class of `DataLoader` and `MixedLoader`: iteration, state and statistics."""

    _native: _tetrys.DataLoader

    def __init__(self, native: _tetrys.DataLoader, maker: Maker, settings: Mapping[str, Any]) -> None:
        self._native = native
        self._maker = maker
        self._settings = dict(settings)
        self._transform: Transform | None = settings["transform"]
        # Computes the arrays of the samples at some positions, if the source is not rows but samples.
        self._samples: Callable[[list[int]], dict[str, Any]] | None = None
        self._by_row: bool = settings["transform_rows"]
        self._device = None if settings["device"] is None else _Device(settings["device"])
        self._pool: ThreadPoolExecutor | None = None
        self._of_process = os.getpid()
        self._generation = 0
        self._is_fresh = True
        self._restart()

    def _restart(self) -> None:
        """Continues where the native loader is. Iterators that are under way drop the batches that they transformed ahead."""
        self._generation += 1
        self._running = self._native.sizes()[3]
        # The state behind the last batch that the loop got, if batches are transformed ahead of the loop.
        self._behind: str | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Runs the next epoch, or the rest of the epoch of a loaded state."""
        if not self._is_fresh:
            # The loop before was left early: its epoch ends here.
            self._native.set_epoch(self._running + 1)
        self._is_fresh = False
        self._restart()
        return _Epoch(self)

    def _made(self, read: Read) -> tuple[Batch, Any]:
        """Makes and transforms a batch, and begins to copy it to the device. Runs on a thread."""
        batch = self._maker.batch(read)
        if self._samples is not None:
            batch = self._maker.arrays(self._samples(read[0].tolist())) | batch
        if self._transform is not None:
            began = perf_counter()
            try:
                batch = _by_row(self._transform, batch, len(read[0])) if self._by_row else self._transform(batch)
            except StopIteration as error:
                # It would end the loop.
                raise RuntimeError("the transform raised StopIteration") from error
            except Exception as error:
                _note(error, f"in the transform of the samples at positions {_few(read[0].tolist())}")
                raise
            self._native.traced("transform", perf_counter() - began)
        return (batch, None) if self._device is None else self._device.copied(batch)

    def _workers(self) -> ThreadPoolExecutor:
        # A forked child does not have the threads of its parent.
        if self._pool is None or self._of_process != os.getpid():
            self._of_process = os.getpid()
            self._pool = ThreadPoolExecutor(self._threads, "tetrys-transform")
        return self._pool

    @property
    def _threads(self) -> int:
        return min(4, os.cpu_count() or 1)

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch belongs to, from 0."""
        return self._native.sizes()[3] if self._is_fresh else self._running

    def set_epoch(self, epoch: int) -> None:
        """Goes to the start of an epoch: the next loop runs it."""
        self._native.set_epoch(whole("epoch", epoch))
        self._is_fresh = True
        self._restart()

    @property
    def samples(self) -> int:
        """Number of samples of an epoch, over all ranks."""
        return self._native.sizes()[2]

    def __len__(self) -> int:
        """Returns the number of batches of an epoch on this rank."""
        return self._native.sizes()[0]

    def state_dict(self) -> dict[str, Any]:
        """Returns the state behind the last batch that the loop got, as a dict of JSON values of less than 1 KiB (256 bytes more for
        each loader of a mix).

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
        state: dict[str, Any] = json.loads(self._behind or self._native.state())
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues behind a saved state: with its seed, and with exactly the samples behind it, in the same order.

        Batch size, number of ranks, threads and machine may differ from those that saved the state. A state that was saved at the
        end of an epoch starts the next one. A mix may have other weights than the state: it goes on with them from there.

        Raises:
            Invalid: the state belongs to other tables, versions, rows, columns, windows or another order; the message says which.
        """
        if not isinstance(state, Mapping):
            raise WrongType(f"a state is the dict that state_dict returned, found {found(state)}")
        self._native.load_state(json.dumps(dict(state)))
        self._is_fresh = True
        self._restart()

    def stats(self) -> dict[str, Any]:
        """Returns what was delivered, and where time went.

        Returns a dict with `batches`, `samples`, `bytes` (of the decoded columns), `skipped` (samples left out by `on_error`),
        `requests` and `requested_bytes` (to the stores), `blocks` and `cached_blocks` (needed, and found in the block cache),
        `consumer_waited` (seconds that the loop waited for batches) and `loader_waited` (seconds that the loop body took).
        """
        return self._native.stats()

    def quality(self) -> dict[str, float]:
        """Measures how well the order of this epoch mixes the index; of a mix, the index of the first loader.

        Returns a dict with `neighbour_distance` (mean distance in the index of two samples that follow each other, as a share of
        the index), `largest_share` (mean share of a step that comes from one sequence), and for both the value of a perfect
        shuffle: `perfect_distance`, `perfect_share`.
        """
        return self._native.quality()


class _Epoch(Iterator[Batch]):
    """The batches of an epoch. An error ends neither the epoch nor the iterator: the next batch follows."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._is_ahead = any(part is not None for part in (loader._transform, loader._device, loader._samples))
        # The queue of transformed batches. Each entry has the state behind the batch, and whether a store failed to answer.
        self._ahead: deque[tuple[Future[tuple[Batch, Any]], str, bool]] = deque()
        self._generation = loader._generation
        self._process = os.getpid()
        if self._is_ahead:
            loader._behind = loader._native.state()
        # Whether the native loader has given all batches: it would go on with the next epoch.
        self._is_read = False
        self._is_over = False
        self._bar = _bar(loader) if loader._settings["progress"] else None

    def __next__(self) -> Batch:
        batch = self._transformed() if self._is_ahead else self._read()
        if self._bar is not None:
            if batch is None:
                self._bar.close()
            else:
                self._bar.update()
        if batch is None:
            if not self._is_over:
                self._is_over = self._loader._is_fresh = True
            raise StopIteration
        return batch

    def _read(self) -> Batch | None:
        read = None if self._is_read else self._loader._native.next()
        self._is_read = read is None
        return None if read is None else self._loader._maker.batch(read)

    def _transformed(self) -> Batch | None:
        loader = self._loader
        self._catch_up()
        # A call starts at most two batches, so that the first batch does not wait until the queue is full.
        for _ in range(2):
            if self._is_read or len(self._ahead) > loader._threads or any(outage for *_, outage in self._ahead):
                break
            work: Future[tuple[Batch, Any]]
            outage = False
            try:
                read = loader._native.next()
                if read is None:
                    self._is_read = True
                    break
                work = loader._workers().submit(loader._made, read)
            except _tetrys.Error as error:
                # Raised when it is this batch's turn.
                work = Future()
                work.set_exception(error)
                outage = not isinstance(error, _tetrys.Corrupt)
            self._ahead.append((work, loader._native.state(), outage))
        if not self._ahead:
            loader._behind = None
            return None
        # If Ctrl-C interrupts the wait, the batch stays in the queue.
        wait([self._ahead[0][0]])
        work, loader._behind, _ = self._ahead.popleft()
        batch, copy = work.result()
        if copy is not None:
            copy.finish(batch)
        return batch

    def _catch_up(self) -> None:
        """Clears the queue if the loader has moved to another place, or if this process is a fork: the threads of its parent, which
        transform the batches, do not exist here.
        """
        loader = self._loader
        is_child = self._process != os.getpid()
        if is_child and self._generation == loader._generation and loader._behind is not None:
            loader._native.load_state(loader._behind)
        if is_child or self._generation != loader._generation:
            self._ahead.clear()
            self._is_read = False
            self._process, self._generation = os.getpid(), loader._generation


def _by_row(transform: Transform, batch: Batch, samples: int) -> Batch:
    """Calls a transform for each sample, and stacks what it returns."""
    made: list[dict[str, Any]] = []
    for number in range(samples):
        try:
            sample = transform({name: _of_sample(values, number, samples) for name, values in batch.items()})
            if not isinstance(sample, Mapping):
                raise WrongType(f"a transform of rows returns a dict, found {found(sample)}")
        except Exception as error:
            _note(error, f"sample {number} of the batch, at position {int(batch['positions'][number])}")
            raise
        made.append(dict(sample))
        if made[0].keys() != sample.keys():
            raise WrongType(f"a transform of rows returned the entries {sorted(sample)} for a sample, {sorted(made[0])} for the first")
    return {name: _stacked([sample[name] for sample in made]) for name in (made[0] if made else {})}


def _of_sample(values: Any, number: int, samples: int) -> Any:
    """The entry of one sample; of a window of ragged values, a list."""
    if isinstance(values, Ragged) and len(values) != samples:
        time = len(values) // samples
        return [values[number * time + place] for place in range(time)]
    return values[number]


def _stacked(values: list[Any]) -> Any:
    """One array of all values, if they are numbers or arrays of one shape; else a list."""
    first = values[0]
    for library, stacking in (("torch", "torch"), ("jax", "jax.numpy")):
        if type(first).__module__.startswith(library) and hasattr(first, "shape"):
            is_one_shape = all(value.shape == first.shape for value in values)
            return sys.modules[stacking].stack(values) if is_one_shape else values
    if isinstance(first, (bool, int, float, np.generic, np.ndarray)):
        arrays = [np.asarray(value) for value in values]
        if all(array.shape == arrays[0].shape and array.dtype == arrays[0].dtype for array in arrays):
            return np.stack(arrays)
    return values


class _Device:
    """Copies batches of tensors to a device of PyTorch."""

    def __init__(self, device: Any) -> None:
        self._torch = pytorch()
        self._device = self._torch.device(device)

    def copied(self, batch: Batch) -> tuple[Batch, _Copy | None]:
        """Begins to copy a batch. The copies to a CUDA device are made from pinned memory, on a stream of their own."""
        torch = self._torch
        if self._device.type != "cuda":
            return self._moved(batch, lambda tensor: tensor.to(self._device)), None
        stream = torch.cuda.Stream(self._device)
        with torch.cuda.stream(stream):
            moved = self._moved(batch, lambda tensor: tensor.pin_memory().to(self._device, non_blocking=True))
        return moved, _Copy(torch, stream)

    def _moved(self, batch: Batch, move: Callable[[Any], Any]) -> Batch:
        moved: Batch = _mapped(batch, lambda value: move(value) if self._torch.is_tensor(value) else value)
        return moved


def _mapped(value: Any, map_one: Callable[[Any], Any]) -> Any:
    """Replaces the members of dicts, lists and tuples."""
    if isinstance(value, dict):
        return {name: _mapped(one, map_one) for name, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(one, map_one) for one in value)
    return map_one(value)


class _Copy:
    """A copy to a CUDA device that is under way."""

    def __init__(self, torch: Any, stream: Any) -> None:
        self._torch = torch
        self._stream = stream

    def finish(self, batch: Batch) -> None:
        """Lets the current stream wait for the copy."""
        current = self._torch.cuda.current_stream(self._stream.device)
        current.wait_stream(self._stream)
        _mapped(batch, lambda value: value.record_stream(current) if self._torch.is_tensor(value) else None)


def _bar(loader: Loader) -> Any:
    bars = imported("tqdm.auto", "a progress bar needs tqdm: pip install tetrys[progress]")
    batches, left, *_ = loader._native.sizes()
    return bars.tqdm(total=batches, initial=batches - left, desc=f"epoch {loader.epoch}", unit="batch")


def _note(error: Exception, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)


def _few(positions: list[int]) -> str:
    return ", ".join(map(str, positions[:8])) + (f" and {len(positions) - 8} more" if len(positions) > 8 else "")
