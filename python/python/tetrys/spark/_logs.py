"""Imports logs on a Spark cluster: one task for each log, which reads it and writes its rows."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.resource import ResourceProfile

from .._arguments import Url
from .._errors import WrongType, found
from .._ingest_logs import Failed, LogTask, import_of, ingest_by, write_log
from .._table import Table
from .._tetrys import Receipt
from ._write import check_session


def ingest_logs(
    spark: Any,
    logs: Url | Iterable[Url],
    url: Url,
    recipe: str | os.PathLike[str] | Mapping[str, Any],
    *,
    profile: Any = None,
    **options: Any,
) -> Table:
    """Imports MCAP and ROS recordings as `tetrys.ingest_logs` does, with one task of Spark for each log. The table is the same.

    An executor reads a log and writes to the store; the driver commits when all logs are done. All of them must see the logs and the
    table under the same URLs, and folders of `msgs` under the same paths.

    Args:
        spark: The Spark session.
        logs: Paths or URLs of recordings, or folders of rosbag2.
        url: URL or path of the table.
        recipe: Path of a TOML file, which the driver reads, or the recipe as a mapping.
        profile: `pyspark.resource.ResourceProfile` of the tasks.
        options: Further arguments of `tetrys.ingest_logs`, but `workers` and `progress`.

    A log that fails is named in a `UserWarning`, and the others are committed. The same call again imports what is missing, also after
    the driver was lost: logs that are written are not read again.

    Example:
        >>> len(tetrys.spark.ingest_logs(spark, ["monday.mcap", "tuesday.mcap"], "synced", recipe))
        100

    Raises:
        Invalid: the recipe is wrong, two logs have the same name, the table was made with another recipe, or no log could be imported.
        Conflict: another writer published the table first.
        OutcomeUnknown: the store did not confirm the commit; call again.
        pyspark.errors.PythonException: an executor failed otherwise than by an error of a log.
    """
    check_session(spark)
    if profile is not None and not isinstance(profile, ResourceProfile):
        raise WrongType(f"profile: expected a pyspark.resource.ResourceProfile, found {found(profile)}")
    arguments = {} if profile is None else {"profile": profile}

    def run(tasks: Sequence[LogTask]) -> list[Receipt | Failed]:
        numbers = spark.range(0, len(tasks), 1, len(tasks))
        rows = numbers.mapInArrow(_Logs([pickle.dumps(task) for task in tasks]), "result binary", **arguments).collect()
        return [pickle.loads(bytes(row.result)) for row in rows]

    return ingest_by(run, import_of(logs, url, recipe, **options))


class _Logs:
    """Writes the logs of the numbers in a task of Spark; yields the results."""

    def __init__(self, tasks: list[bytes]) -> None:
        self._tasks = tasks

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = write_log(pickle.loads(self._tasks[number]))
                yield pa.record_batch([pa.array([pickle.dumps(result)])], names=["result"])
