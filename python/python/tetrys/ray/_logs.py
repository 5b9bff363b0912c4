"""Imports logs on a Ray cluster: one task for each log, which reads it and writes its rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ray
import ray.exceptions

from .._arguments import Url, whole
from .._ingest_logs import Failed, LogTask, import_of, ingest_by, write_log
from .._table import Table
from .._tetrys import Receipt
from ._extract import AHEAD
from ._write import task_options


def ingest_logs(
    logs: Url | Iterable[Url],
    url: Url,
    recipe: str | os.PathLike[str] | Mapping[str, Any],
    *,
    retries: int = 3,
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> Table:
    """Imports MCAP and ROS recordings as `tetrys.ingest_logs` does, with one Ray task for each log. The table is the same.

    A worker reads a log and writes to the store; this process commits when all logs are done. All of them must see the logs and the
    table under the same URLs, and folders of `msgs` under the same paths.

    Args:
        logs: Paths or URLs of recordings, or folders of rosbag2.
        url: URL or path of the table.
        recipe: Path of a TOML file, which this process reads, or the recipe as a mapping.
        retries: How often a log is tried again after its worker died. A log that cannot be read is not tried again.
        ray_remote_args: Options of the tasks, for example {"num_cpus": 2, "memory": 2**30}.
        options: Further arguments of `tetrys.ingest_logs`, but `workers` and `progress`.

    A log that fails is named in a `UserWarning`, and the others are committed. The same call again imports what is missing, also after
    this process was lost: logs that are written are not read again.

    Example:
        >>> len(tetrys.ray.ingest_logs(["monday.mcap", "tuesday.mcap"], "synced", recipe))
        100

    Raises:
        Invalid: the recipe is wrong, two logs have the same name, the table was made with another recipe, or no log could be imported.
        Conflict: another writer published the table first.
        OutcomeUnknown: the store did not confirm the commit; call again.
    """
    whole("retries", retries, 0, 2**31 - 1)
    remote = ray.remote(write_log).options(max_retries=retries, **task_options(ray_remote_args))

    def run(tasks: Iterable[LogTask]) -> Iterator[Receipt | Failed]:
        left = iter(tasks)
        running: dict[Any, LogTask] = {}
        try:
            while True:
                running |= {remote.remote(task): task for task in itertools.islice(left, AHEAD - len(running))}
                if not running:
                    return
                (ready,), _ = ray.wait(list(running))
                task = running.pop(ready)
                try:
                    yield ray.get(ready)
                except ray.exceptions.RayError as error:
                    yield Failed(task.log, f"no worker finished it: {error}")
        finally:
            for task in running:
                ray.cancel(task)

    return ingest_by(run, import_of(logs, url, recipe, **options))
