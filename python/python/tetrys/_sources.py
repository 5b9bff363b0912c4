"""Writes what a user's function yields for a source, and finds the session of an extraction that was interrupted.

The adapters for cluster engines share this module.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import cluster
from ._arguments import Url, urls_of
from ._errors import WrongType, found
from ._options import types
from ._places import option_of
from ._records import ROWS_BYTES, bytes_of, columns_of_rows
from ._table import Table
from ._tetrys import Error, Invalid, Receipt

COMMIT_AGAIN = "The partitions are kept: `tetrys.cluster.commit(plan)` with the plan of `tetrys.cluster.open_sessions(url)` commits them"
"""Advice after a commit that the store did not confirm."""


def write_source(task: cluster.WriteTask, fn: Callable[[str], Any], index: Sequence[str]) -> Receipt:
    """Writes what `fn` yields for the source of a task. Runs on a worker.

    Raises:
        Invalid: `fn` raised an exception, or yielded something else than rows; the message names the source.
        Error: an error of the engine, with the source.
    """
    try:
        return cluster.write(task, batches_of(fn(str(task.label)), index))
    except Exception as error:
        if isinstance(error, Error) and str(task) in str(error):
            raise
        message = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
        kind = type(error) if isinstance(error, Error) else Invalid
        raise kind(f"source `{task.label}` (partition {task.number} of {task.url}): {message}") from error


def batches_of(yielded: Any, index: Sequence[str]) -> Iterator[Any]:
    """Yields batches of rows: collects single rows, and passes batches on.

    A dict is a row if its values of index columns are no lists and no arrays.
    """
    if isinstance(yielded, (str, bytes)) or not isinstance(yielded, Iterable) or getattr(yielded, "shape", None) == ():
        raise WrongType(f"expected an iterable of rows or batches, found {found(yielded)}")
    batch: list[Mapping[str, Any]] = []
    size = 0
    for one in [yielded] if isinstance(yielded, Mapping) or hasattr(yielded, "__arrow_c_stream__") else yielded:
        row = _row(one, index)
        if batch and (row is None or size >= ROWS_BYTES):
            yield columns_of_rows(batch, batch[0])
            batch, size = [], 0
        if row is None:
            yield one
            continue
        if batch and row.keys() != batch[0].keys():
            raise Invalid(f"a row with the columns {', '.join(row)} after one with {', '.join(batch[0])}: expected the same columns")
        batch.append(row)
        size += sum(bytes_of(value) for value in row.values())
    if batch:
        yield columns_of_rows(batch, batch[0])


def _row(one: Any, index: Sequence[str]) -> Mapping[str, Any] | None:
    """Returns a row as it is; None for batches of rows."""
    values = [one[name] for name in index if name in one] if isinstance(one, Mapping) else []
    return one if values and all(not isinstance(value, (list, tuple)) and np.ndim(value) == 0 for value in values) else None


def open_session(url: Url, labels: Sequence[str], schema: Mapping[str, str], options: Mapping[str, Any]) -> cluster.WritePlan | None:
    """Returns the open session at `url` with these labels; of several, the one with the most finished partitions.

    Args:
        options: Arguments of `tetrys.cluster.plan_write`, such as `storage_options` and `reference`.

    Raises:
        Invalid: that session has another schema.
    """
    # As in a new session, workers may follow references to the tables of `reference`.
    references = [one.url if isinstance(one, Table) else one for one in cluster._several_urls(options.get("reference", ()))]
    allow = [*urls_of("allow", options.get("allow", ())), *urls_of("reference", references)]
    plan = cluster._to_resume(url, labels, option_of(options), allow)
    if plan is None:
        return None
    if plan.schema != (given := types("schema", schema)):
        raise Invalid(f"schema: the session to resume has {plan.schema}, found {given}: pass that schema, or `resume=False`")
    return plan


def end_session(plan: cluster.WritePlan) -> None:
    """Aborts the session of a job that failed. If the store refuses that, the error of the job is still the one that is raised, and
    a garbage collection finds what is left.
    """
    with contextlib.suppress(Error):
        cluster.abort(plan)
