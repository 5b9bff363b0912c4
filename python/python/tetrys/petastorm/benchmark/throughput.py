"""Measures how many rows a second a reader delivers."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from enum import Enum
from multiprocessing import get_context
from typing import Any, NamedTuple

from ..._arguments import members, truth, whole
from ..errors import NotSupportedError, WrongType, found
from ..etl.dataset_metadata import get_schema_from_dataset_url
from ..reader import make_reader
from ..unischema import match_unischema_fields

__all__ = ["BenchmarkResult", "MemoryInfo", "ReadMethod", "WorkerPoolType", "reader_throughput"]


class WorkerPoolType(Enum):
    """The argument `reader_pool_type` of a reader."""

    THREAD = "thread"
    PROCESS = "process"
    NONE = "dummy"

    def __str__(self) -> str:
        return self.value


class ReadMethod(Enum):
    """What takes the rows: a loop in Python, or TensorFlow."""

    TF = "tf"
    PYTHON = "python"

    def __str__(self) -> str:
        return self.value


class MemoryInfo(NamedTuple):
    """Memory of a process."""

    rss: int
    """Resident bytes."""


class BenchmarkResult(NamedTuple):
    """What a measurement found."""

    time_mean: float
    """Seconds for a row."""
    samples_per_second: float
    """Rows a second."""
    memory_info: MemoryInfo
    """Memory of the process after the last row."""
    cpu: float
    """Percent of a core that all threads of the process used."""


def reader_throughput(
    dataset_url: Any,
    field_regex: Iterable[str] | None = None,
    warmup_cycles_count: int = 300,
    measure_cycles_count: int = 1000,
    pool_type: WorkerPoolType = WorkerPoolType.THREAD,
    loaders_count: int = 3,
    profile_threads: bool = False,
    read_method: ReadMethod = ReadMethod.PYTHON,
    shuffling_queue_size: int = 500,
    min_after_dequeue: int = 400,
    reader_extra_args: Mapping[str, Any] | None = None,
    spawn_new_process: bool = True,
) -> BenchmarkResult:
    """Makes a reader of a table, and measures how fast it delivers rows.

    Args:
        dataset_url: URL or path of the table.
        field_regex: Regular expressions of whole field names; None: all fields.
        warmup_cycles_count: Rows before the measurement.
        measure_cycles_count: Rows that are measured, 1 or more.
        pool_type, loaders_count: `reader_pool_type` and `workers_count` of the reader.
        profile_threads, shuffling_queue_size, min_after_dequeue: Unused.
        read_method: `ReadMethod.PYTHON`. TensorFlow is not measured: its cost is not that of the reader.
        reader_extra_args: Other arguments of `make_reader`.
        spawn_new_process: Whether a new process measures, so that its memory is that of the reader.

    Example:
        >>> from tetrys.petastorm.benchmark.throughput import reader_throughput
        >>> result = reader_throughput("drives", ["timestamp"], warmup_cycles_count=5, measure_cycles_count=50, spawn_new_process=False)
        >>> result.samples_per_second > 0
        True

    Raises:
        FileNotFoundError (a `NotFound`): there is no table.
        NotImplementedError (an `Unsupported`): `ReadMethod.TF`.
    """
    for name, value, kind in (("pool_type", pool_type, WorkerPoolType), ("read_method", read_method, ReadMethod)):
        if not isinstance(value, kind):
            raise WrongType(f"{name}: expected a {kind.__name__}, found {found(value)}")
    if read_method is ReadMethod.TF:
        raise NotSupportedError("read_method: TensorFlow is not measured: use ReadMethod.PYTHON")
    warmup, measured = whole("warmup_cycles_count", warmup_cycles_count, 0, 1 << 32), whole("measure_cycles_count", measure_cycles_count, 1, 1 << 32)
    extra = members("reader_extra_args", reader_extra_args)
    if "schema_fields" not in extra:
        matched = match_unischema_fields(get_schema_from_dataset_url(dataset_url), field_regex)
        extra["schema_fields"] = [field.name for field in matched] or None
    arguments = {"reader_pool_type": str(pool_type), "workers_count": loaders_count, "num_epochs": None, **extra}
    if not truth("spawn_new_process", spawn_new_process):
        return _measured(dataset_url, arguments, warmup, measured)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(_measured, dataset_url, arguments, warmup, measured).result()


def _measured(dataset_url: Any, arguments: Mapping[str, Any], warmup: int, measured: int) -> BenchmarkResult:
    with make_reader(dataset_url, **arguments) as reader:
        return _time_warmup_and_work(reader, warmup, measured)


def _time_warmup_and_work(
    reader: Any, warmup_cycles_count: int, measure_cycles_count: int, do_work_func: Callable[[], object] | None = None
) -> BenchmarkResult:
    work: Callable[[], object] = (lambda: next(reader)) if do_work_func is None else do_work_func
    for _ in range(warmup_cycles_count):
        work()
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(measure_cycles_count):
        work()
    seconds = max(time.perf_counter() - started, 1e-9)
    mean = seconds / measure_cycles_count
    return BenchmarkResult(mean, 1 / mean, MemoryInfo(_resident()), 100 * (time.process_time() - cpu) / seconds)


def _resident() -> int:
    """Returns the resident bytes of this process: now on Linux, else at most."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
