"""Epochs of a data loader: iterates over its batches, transforms them ahead on threads or in processes, and keeps its state."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from inspect import isroutine
from numbers import Number
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from . import _tetrys
from ._arguments import as_json, size, whole
from ._batches import Batch, Maker, Read
from ._errors import WrongType, array_of, found, imported, short, unpicklable
from ._processes import Carried, Pool, over
from ._tetrys import Invalid, Ragged, Unavailable
from ._torch import pytorch
from ._turns import Turns

Transform = Callable[[dict[str, Any]], Any]
Call = Callable[[tuple[Any, ...], str, "Carried | None"], Any]

# Held while an iteration begins, so that two threads get two epochs. Loaders are pickled, so it is in none of them.
_BEGINNING = Turns()


class _Run:
    """Where an epoch stands. A loader shares it with its newest iterator."""

    def __init__(self, native: _tetrys.DataLoader) -> None:
        self.native = native
        self.epoch = native.sizes()[3]
        # Whether the epoch is not begun, or has ended: the next iterator goes on here. Otherwise it runs the next epoch.
        self.is_fresh = True
        # The state after the last batch that the loop got, if batches are transformed ahead of the loop.
        self.behind: str | None = None
        # Grows when the loader goes to another place.
        self.jumps = 0

    def rest(self) -> None:
        """Notes that the native loader is where the next iterator goes on."""
        self.epoch, self.is_fresh, self.behind = self.native.sizes()[3], True, None

    def jump(self) -> None:
        """Notes that the native loader is at another place. The iterator drops the batches that it transformed ahead."""
        self.rest()
        self.jumps += 1

    def state(self) -> str:
        return self.behind or self.native.state()


class Loader:
    """Base class of `DataLoader` and `MixedLoader`: iteration, state and statistics."""

    rank: int
    world_size: int

    def __init__(self, native: _tetrys.DataLoader, maker: Maker, settings: Mapping[str, Any]) -> None:
        # Has the seed and the weights; iterators read with forks of it.
        self._base = native
        self._run = _Run(native.fork())
        self._maker = maker
        self._settings = dict(settings)
        transform: Transform | None = settings["transform"]
        self._work = None if transform is None else Work(transform, settings["transform_rows"])
        # Computes the arrays of the samples at some positions, if the source is not rows but samples.
        self._samples: Callable[[list[int]], dict[str, Any]] | None = None
        self._device = None if settings["device"] is None else _Device(settings["device"])
        self._pool: ThreadPoolExecutor | Pool | None = None
        self._bound_bytes = size("prefetch", settings["prefetch"])
        self._of_process = os.getpid()
        # Held while workers are looked up: of two threads, one starts them.
        self._starting = Turns()
        # Whether the workers were told to end, until the next iterator begins.
        self._has_ended = False
        # Whether the warning of an epoch without batches was given.
        self._has_warned = False
        # Seconds that the loop waited for batches that are made ahead, and that it worked on them.
        self._times = [0.0, 0.0]

    @property
    def _is_ahead(self) -> bool:
        """Whether batches are made ahead of the loop, after they are read."""
        return any(part is not None for part in (self._work, self._device, self._samples))

    @property
    def _native(self) -> _tetrys.DataLoader:
        return self._run.native

    def __iter__(self) -> Iterator[Batch]:
        """Runs the next epoch, or the rest of the epoch of a loaded state, whatever other iterators do."""
        self._warn_if_empty()
        return self._next_epoch()

    def _warn_if_empty(self) -> None:
        """Warns once if all samples of an epoch are left out."""
        if self._has_warned or self._settings["last"] != "drop" or len(self) > 0 or self.samples == 0:
            return
        self._has_warned = True
        step = self._settings["batch_size"] * self.world_size
        warnings.warn(
            f"an epoch has no batch: its {self.samples} samples do not fill one step of {step} (batch_size {self._settings['batch_size']}, "
            f'world_size {self.world_size}), and last="drop" leaves them out: pass last="pad" or a smaller batch_size',
            stacklevel=3,
        )

    def _next_epoch(self) -> _Epoch:
        """Begins the epoch after that of the newest iterator. The loader follows the new one."""
        with _BEGINNING.lock:
            self._has_ended = False
            if self._has_processes:
                # They start while the first batch is read. A transform that cannot be sent to them raises here.
                self._workers()
            before = self._run
            if before.is_fresh:
                native = before.native.fork()
                # A state at the end of an epoch is the start of the next one.
                native.load_state(before.state())
            else:
                # Another thread may wait for a batch of the newest iterator, so its native loader is not asked.
                native = self._base.fork()
                native.set_epoch((before.epoch + 1) % 2**64)
            run = _Run(native)
            run.is_fresh = False
            self._run = run
        return _Epoch(self, run)

    def _made(self, read: Read, carried: Carried | None = None, call: Call | None = None) -> tuple[Batch, Any]:
        """Makes and transforms a batch, and begins to copy it to the device. Runs on a thread.

        `call` lets a worker process transform the batch, and `carried` then counts its bytes.
        """
        batch: Any = self._maker.batch(read)
        positions: list[int] = read[0].tolist()
        if self._samples is not None:
            with _Calls("source", positions):
                made = self._samples(positions)
                if not isinstance(made, Mapping):
                    raise WrongType(f"a source of samples returns a dict of arrays, found {found(made)}")
            batch = self._maker.arrays(made) | batch
        if self._work is not None:
            if call is None:
                batch, seconds = self._work(batch, positions)
            else:
                batch, seconds = call((batch, positions), f"the samples at positions {_few(positions)}", carried)
            self._base.traced("transform", seconds)
            batch = self._maker.finished(batch)
        return (batch, None) if self._device is None else self._device.copied(batch)

    def _submit(self, read: Read, carried: Carried) -> Future[tuple[Batch, Any]]:
        """Lets a thread make a batch."""
        pool = self._workers()
        return pool.submit(self._made, read, carried) if isinstance(pool, Pool) else pool.submit(self._made, read)

    def _is_full(self, carried: list[Carried]) -> bool:
        """Whether no further batch may begin beside these, which are being made or wait for the loop."""
        if not carried:
            return False
        if len(carried) > self._threads:
            return True
        if not isinstance(pool := self._workers(), Pool):
            return False
        expected = pool.expects(carried)
        # Before the first result, it is not known how large batches are.
        return expected is None or expected > self._bound_bytes

    def _workers(self) -> ThreadPoolExecutor | Pool:
        with self._starting.lock:
            if self._has_ended:
                raise over()
            # A forked child does not have the threads of its parent.
            pool = self._pool
            if pool is None or self._of_process != os.getpid():
                if self._has_processes and self._work is not None:
                    pool = Pool(self._work, self._threads, self._maker.by_threads)
                else:
                    pool = ThreadPoolExecutor(self._threads, "tetrys-transform")
                self._pool, self._of_process = pool, os.getpid()
            return pool

    def _end_workers(self) -> None:
        """Lets worker processes end. The next iterator starts others; those that there are get errors."""
        if self._has_processes:
            with self._starting.lock:
                self._pool, self._has_ended = None, True

    @property
    def _has_processes(self) -> bool:
        return bool(self._settings["worker_kind"] == "process")

    @property
    def _threads(self) -> int:
        return int(self._settings["workers"] or min(4, os.cpu_count() or 1))

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch belongs to, from 0."""
        return self._run.epoch

    def set_epoch(self, epoch: int) -> None:
        """Goes to the start of an epoch, with the newest iterator: the next loop runs it."""
        self._native.set_epoch(whole("epoch", epoch))
        self._run.jump()

    @property
    def samples(self) -> int:
        """Number of samples of an epoch, over all ranks."""
        return self._base.sizes()[2]

    def __len__(self) -> int:
        """Returns the number of batches of a whole epoch on this rank, also after `load_state_dict`; see `remaining`."""
        return self._base.sizes()[0]

    @property
    def remaining(self) -> int:
        """Number of batches after the state: a loop after `load_state_dict` gives so many. At the end of an epoch, those of the
        next one.

        Example:
            >>> loader = tt.DataLoader(tt.read_index("drives"), batch_size=5)
            >>> batch = next(iter(loader))
            >>> again = tt.DataLoader(tt.read_index("drives"), batch_size=5)
            >>> again.load_state_dict(loader.state_dict())
            >>> len(again), again.remaining, len(list(again)), again.remaining
            (4, 3, 3, 4)
        """
        native = self._base.fork()
        native.load_state(self._run.state())
        return native.sizes()[1]

    def __getitem__(self, key: object) -> NoReturn:
        raise WrongType(
            f"loader[{short(key)}]: a data loader gives the batches of an epoch in their order: write `next(iter(loader))` or "
            "`itertools.islice(loader, 3)`; to read rows by position, write `tetrys.row_loader(index)[0:3]`"
        )

    def state_dict(self) -> dict[str, Any]:
        """Returns the state after the last batch that the loop got, as a dict of JSON values of less than 1 KiB (256 bytes more for
        each loader of a mix). Of several iterators, the state is that of the newest.

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
        state: dict[str, Any] = json.loads(self._run.state())
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a saved state: with its seed, and with exactly the samples after it, in the same order. The newest
        iterator goes on there too.

        `len(loader)` stays the number of batches of a whole epoch; `remaining` is the number of those after the state.

        Batch size, number of ranks, threads and machine may differ from those that saved the state. A state that was saved at the
        end of an epoch starts the next one. A mix may have other weights than the state: it goes on with them from there.

        Raises:
            Invalid: the state belongs to other tables, versions, rows, columns, windows or another order; the message says which.
        """
        if not isinstance(state, Mapping):
            raise WrongType(f"a state is the dict that state_dict returned, found {found(state)}")
        text = as_json("state", dict(state))
        self._native.load_state(text)
        self._base.load_state(text)
        self._run.jump()

    def stats(self) -> dict[str, Any]:
        """Returns what was delivered by all iterators of the loader, and where time went.

        Returns a dict with `batches`, `samples`, `bytes` (of the decoded columns), `skipped` (samples left out by `on_error`),
        `requests` and `requested_bytes` (sent to the stores; of a local table, reads of files), `planned_requests` and
        `planned_bytes` (what the read plans name; a cache of the store, and reads that share a request, send fewer), `blocks` and
        `cached_blocks` (needed, and found in the block cache), `consumer_waited` (seconds that the loop waited for batches),
        `loader_waited` (seconds that the loop body took) and `wait_share` (the share of both that the loop waited, from 0 to 1; None
        before the first batch). Requests for the index and the layouts of a table do not count.
        """
        stats = self._base.stats()
        if self._is_ahead:
            # The loop waits for the transform, not for the native loader.
            waited, worked = self._times
            share = waited / (waited + worked) if waited + worked else None
            stats |= {"consumer_waited": waited, "loader_waited": worked, "wait_share": share}
        return stats

    def quality(self) -> dict[str, float]:
        """Measures how well the order of this epoch mixes the index; of a mix, the index of the first loader.

        Returns a dict with `neighbour_distance` (mean distance in the index of two samples that follow each other, as a share of
        the index), `largest_share` (mean share of a step that comes from one sequence), and for both the value of a perfect
        shuffle: `perfect_distance`, `perfect_share`.
        """
        return self._native.quality()


class _Epoch(Iterator[Batch]):
    """The batches of an epoch. An error ends neither the epoch nor the iterator: the next batch follows. Threads take turns."""

    def __init__(self, loader: Loader, run: _Run) -> None:
        self._loader = loader
        self._run = run
        self._turns = Turns()
        self._is_ahead = loader._is_ahead
        # When the loop got its last batch.
        self._handed: float | None = None
        # The queue of transformed batches. Each entry has the state after the batch, whether a store failed to answer, and the bytes
        # that travel between processes.
        self._ahead: deque[tuple[Future[tuple[Batch, Any]], str, bool, Carried]] = deque()
        self._jumps = run.jumps
        self._process = os.getpid()
        if self._is_ahead:
            run.behind = run.native.state()
        # Whether the native loader has given all batches: it would go on with the next epoch.
        self._is_read = False
        self._is_over = False
        self._bar = _bar(loader, run) if loader._settings["progress"] else None

    def __next__(self) -> Batch:
        with self._turns.lock:
            return self._next()

    def __reduce__(self) -> NoReturn:
        unpicklable("an iterator of a data loader", "pickle the data loader: it goes on where its newest iterator is")

    def _next(self) -> Batch:
        if self._is_over:
            raise StopIteration
        try:
            batch = self._timed() if self._is_ahead else self._loader._maker.batch(self.read())
        except StopIteration:
            self._is_over = True
            if self._bar is not None:
                self._bar.close()
            raise
        if self._bar is not None:
            self._bar.update()
        return batch

    def read(self) -> Read:
        """Returns the next batch as it was read.

        Raises:
            StopIteration: the epoch has ended.
        """
        if self._is_read:
            raise StopIteration
        read = self._run.native.next()
        if read is None:
            self._is_read = True
            self._run.rest()
            raise StopIteration
        return read

    def _timed(self) -> Batch:
        """Returns the next batch, and counts how long the loop waited for it, and worked before."""
        times, began = self._loader._times, perf_counter()
        if self._handed is not None:
            times[1] += began - self._handed
        self._handed = None
        try:
            batch = self._transformed()
            self._handed = perf_counter()
            return batch
        finally:
            times[0] += (self._handed or perf_counter()) - began

    def _transformed(self) -> Batch:
        loader, run = self._loader, self._run
        self._catch_up()
        # A call starts at most two batches, so that the first batch does not wait until the queue is full.
        for _ in range(2):
            if self._is_read or any(outage for _, _, outage, _ in self._ahead) or loader._is_full([carried for *_, carried in self._ahead]):
                break
            work: Future[tuple[Batch, Any]]
            outage, carried = False, Carried()
            try:
                read = run.native.next()
                if read is None:
                    self._is_read = True
                    break
                work = loader._submit(read, carried)
            except _tetrys.Error as error:
                # Raised when it is this batch's turn.
                work = Future()
                work.set_exception(error)
                outage = not isinstance(error, _tetrys.Corrupt)
            self._ahead.append((work, run.native.state(), outage, carried))
        if not self._ahead:
            run.rest()
            raise StopIteration
        # If Ctrl-C interrupts the wait, the batch stays in the queue. A wait without an end may miss a Ctrl-C that comes just before it.
        while not wait([self._ahead[0][0]], 0.5).done:
            pass
        work, run.behind, *_ = self._ahead.popleft()
        try:
            batch, copy = work.result()
        except StopIteration as error:
            # It would end the loop.
            raise RuntimeError("a function that makes batches raised StopIteration") from error
        if copy is not None:
            copy.finish(batch)
        return batch

    def _catch_up(self) -> None:
        """Clears the queue if the loader has moved to another place, or if this process is a fork: the threads of its parent, which
        transform the batches, do not exist here.
        """
        run = self._run
        is_child = self._process != os.getpid()
        if is_child and self._jumps == run.jumps and run.behind is not None:
            run.native.load_state(run.behind)
        if is_child or self._jumps != run.jumps:
            self._ahead.clear()
            self._is_read = False
            self._process, self._jumps = os.getpid(), run.jumps


class Work:
    """Transforms batches, on a thread or in a worker process."""

    def __init__(self, transform: Transform, by_row: bool) -> None:
        self._transform = transform
        self._by_row = by_row

    def __call__(self, batch: Batch, positions: list[int]) -> tuple[Any, float]:
        """Returns the transformed batch, and the seconds that it took."""
        began = perf_counter()
        with _Calls("transform", positions):
            made: Any = _by_row(self._transform, batch, len(positions)) if self._by_row else self._transform(batch)
            if not _is_batch(made):
                raise WrongType(f"a transform returns the batch that the loop gets, found {found(made)}: return a dict, a tuple, a list or an array")
        return made, perf_counter() - began


class _Calls:
    """Notes in an error of a function of the caller which samples it was called with."""

    def __init__(self, what: str, positions: list[int]) -> None:
        self._what = what
        self._positions = positions

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StopIteration):
            # It would end the loop.
            raise RuntimeError(f"the {self._what} raised StopIteration") from error
        if isinstance(error, Exception):
            _note(error, f"in the {self._what} of the samples at positions {_few(self._positions)}")


def _is_batch(value: Any) -> bool:
    """Whether a value can be a batch: a dict, a tuple, a list, an array, or an object of the caller. A number or text is none."""
    none = (str, bytes, bytearray, Number, np.generic, Iterator, type, BaseException)
    return value is not None and value is not Ellipsis and not isinstance(value, none) and not isroutine(value) and getattr(value, "shape", None) != ()


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
        what = "a value that a transform of rows returned"
        arrays = [value if isinstance(value, np.ma.MaskedArray) else array_of(what, value) for value in values]
        if all(array.shape == arrays[0].shape and array.dtype == arrays[0].dtype for array in arrays):
            # `np.stack` would drop masks.
            return np.ma.stack(arrays) if any(isinstance(array, np.ma.MaskedArray) for array in arrays) else np.stack(arrays)
    return values


class _Device:
    """Copies batches of tensors to a device of PyTorch."""

    def __init__(self, device: Any) -> None:
        torch = self._torch = pytorch()
        try:
            self._device = torch.device(device)
        except (RuntimeError, TypeError) as error:
            raise Invalid(f'device: expected a device of PyTorch, such as "cuda:0", found {found(device)}') from error
        # Counts the devices without a context of CUDA, which a forked process could not use.
        if self._device.type == "cuda" and (self._device.index or 0) >= (there := torch.cuda.device_count()):
            raise Invalid(f'device: {self._device}, and PyTorch finds {there} CUDA devices here: use another one, or device="cpu"')

    def copied(self, batch: Batch) -> tuple[Batch, _Copy | None]:
        """Begins to copy a batch. The copies to a CUDA device are made from pinned memory, on a stream of their own."""
        try:
            return self._copied(batch)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise Unavailable(f"device: a batch cannot be copied to {self._device}: {short(error)}") from error

    def _copied(self, batch: Batch) -> tuple[Batch, _Copy | None]:
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


def _bar(loader: Loader, run: _Run) -> Any:
    bars = imported("tqdm.auto", "a progress bar needs tqdm: pip install tqdm")
    batches, left, *_ = run.native.sizes()
    return bars.tqdm(total=batches, initial=batches - left, desc=f"epoch {run.epoch}", unit="batch")


def _note(error: Exception, text: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(text)


def _few(positions: list[int]) -> str:
    return ", ".join(map(str, positions[:8])) + (f" and {len(positions) - 8} more" if len(positions) > 8 else "")
