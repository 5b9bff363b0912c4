"""Extracts a table on a Ray cluster: one task for each source, which runs a user's function and writes what it yields."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
import ray.exceptions

from .. import cluster
from .._arguments import Url, names, texts, truth, whole
from .._errors import WrongType, found, imported, short
from .._sources import open_session, write_source
from .._table import Table
from .._tetrys import Error, Receipt, Unavailable
from ._write import task_options

AHEAD = 1000
"""Tasks that run or wait for a worker at a time."""


@dataclass(frozen=True)
class Progress:
    """State of an extraction."""

    sources: int
    """Number of sources."""
    done: int
    """Sources that are written."""
    rows: int
    """Rows of these."""
    bytes: int
    """Stored bytes of their blocks, new and shared."""
    shared_bytes: int
    """Stored bytes of blocks that were in the table, in `reference` or in another part of the source already."""

    @property
    def share_deduplicated(self) -> float:
        """Share of the bytes that was not stored again, from 0 to 1."""
        return self.shared_bytes / self.bytes if self.bytes else 0.0


def extract(
    sources: Iterable[Url],
    fn: Callable[[str], Iterable[Any]],
    url: Url,
    *,
    schema: Mapping[str, str],
    index: str | Sequence[str],
    mode: cluster.Mode = "create",
    resume: bool = False,
    retries: int = 3,
    ray_remote_args: Mapping[str, Any] | None = None,
    progress: bool | Callable[[Progress], object] = False,
    **options: Any,
) -> Table:
    """Writes what `fn` yields for each source as a table, one Ray task and one partition for each source, and returns the table.

    A task carries the name of its source, and no rows. The worker reads the source and writes to the store; this process
    commits when all sources are done. The table has the sources in their order here.

    Args:
        sources: Names of the sources, such as URLs, as text or paths. Each may be there once. `fn` gets them as text.
        fn: Function of a source's name. It yields rows ({column: value}) or batches of rows (dicts of columns, frames, record
            batches): whole sequences, in order. Rows are collected to batches. Ray ships the function to the workers.
        schema: Type of each column, {column: type}.
        index: Columns that are kept in the index, which readers load into memory.
        mode: "create", "append" or "overwrite"; see `tetrys.ray.write`.
        resume: Continue an unfinished session at `url` with the same sources (of several, the one with the most sources written),
            and skip the sources that are written. Without such a session, start at the beginning.
        retries: How often a source is tried again after its worker died or `fn` raised.
        ray_remote_args: Options of the tasks, for example {"num_cpus": 2, "memory": 2**30, "resources": {"disk": 1}}.
        progress: True shows a bar of sources, rows, bytes and the share of bytes that was not stored again. A function is
            called with a `Progress` after each source.
        options: Further arguments of `tetrys.cluster.plan_write`, such as `sequence_by`, `order_by`, `groups`, `reference` and
            `storage_options`.

    A source that fails ends the extraction: no new task starts, and the table stays as it was. Sources that are written are kept:
    call again with `resume=True`, or give them up with `tetrys.cluster.abort`.

    Example:
        >>> def rows_of(log):
        ...     for time in range(10):
        ...         yield {"log": log, "time": time, "lidar.count": 7 * time}
        >>> schema = {"log": "utf8", "time": "i64", "lidar.count": "i64"}
        >>> layout = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"]}
        >>> len(tetrys.ray.extract(["monday", "tuesday"], rows_of, "extracted", schema=schema, **layout))
        20

    Raises:
        Exists: there is a table at `url`, and the mode is "create".
        Invalid: a source failed, or its rows break a rule; the message names the source and its error.
        Conflict: another writer published a table here first.
        OutcomeUnknown: the store did not confirm the commit; open the table before a retry.
    """
    if not callable(fn):
        raise WrongType(f"fn: expected a function of a source's name, found {found(fn)}")
    labels = names("sources", sources)
    whole("retries", retries, 0, 2**31 - 1)
    remote = ray.remote(write_source).options(max_retries=retries, retry_exceptions=True, **task_options(ray_remote_args))
    if not callable(progress):
        truth("progress", progress)
    try:
        shipped = ray.put(fn)
    except TypeError as error:
        raise WrongType(f"fn: Ray cannot send it to the workers: {short(error)}") from error
    plan = open_session(url, labels, schema, options) if truth("resume", resume) else None
    done: dict[int, Receipt] = {}
    if plan is None:
        plan = cluster.plan_write(url, schema=schema, index=index, mode=mode, labels=labels, **options)
    else:
        done = {receipt.partition: receipt for receipt in cluster.found(plan)}
    with _reporting(progress, len(labels)) as report:
        _run(plan, done, partial(remote.remote, fn=shipped, index=texts("index", index)), report)
    return cluster.commit(plan, done.values())


def _run(
    plan: cluster.WritePlan,
    done: dict[int, Receipt],
    start: Callable[[cluster.WriteTask], Any],
    report: Callable[[dict[int, Receipt]], object],
) -> None:
    """Runs the tasks of the partitions without a receipt, and adds their receipts."""
    labels = plan.labels or []
    left = iter(cluster._missing(plan, done.values()))
    running: dict[Any, int] = {}
    try:
        report(done)
        while True:
            running |= {start(plan.task(number)): number for number in itertools.islice(left, AHEAD - len(running))}
            if not running:
                return
            (ready,), _ = ray.wait(list(running))
            number = running.pop(ready)
            try:
                done[number] = ray.get(ready)
            except ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None)
                kept = f"{len(done)} of {len(labels)} sources are written. Call `extract` with `resume=True` to write the others"
                if isinstance(cause, Error):
                    raise type(cause)(f"{cause}. {kept}") from error
                raise Unavailable(f"source `{labels[number]}` (partition {number}): no worker finished it: {error}. {kept}") from error
            report(done)
    finally:
        for task in running:
            ray.cancel(task)


@contextlib.contextmanager
def _reporting(progress: bool | Callable[[Progress], object], sources: int) -> Iterator[Callable[[dict[int, Receipt]], object]]:
    """Gives a function that reports the receipts so far."""
    if not progress:
        yield lambda done: None
        return
    bar = None
    if progress is True:
        bars = imported("tqdm.auto", "a progress bar needs tqdm: pip install tqdm")
        bar = bars.tqdm(total=sources, desc="extract", unit="source")

    def report(done: dict[int, Receipt]) -> None:
        receipts = done.values()
        shared = sum(receipt.shared_bytes for receipt in receipts)
        stored = sum(receipt.new_bytes for receipt in receipts) + shared
        state = Progress(sources, len(done), sum(receipt.rows for receipt in receipts), stored, shared)
        if bar is None:
            progress(state)  # type: ignore[operator]
            return
        bar.set_postfix_str(f"{state.rows:,} rows, {state.bytes / 1e6:,.1f} MB, {state.share_deduplicated:.0%} shared", refresh=False)
        bar.update(state.done - bar.n)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
