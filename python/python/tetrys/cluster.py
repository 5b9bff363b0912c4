"""Plans reads and writes that many processes carry out. The adapters for Ray and Spark are thin layers over this module.

Writing: a driver plans partitions, any processes write them, and a driver commits. Delivery is at least once: a partition may be
written several times, at the same time, or half by a process that is killed; the table has its rows once.

    plan = cluster.plan_write("s3://bucket/drives", schema=schema, index=["log", "time"], sequence_by=["log"], labels=sources)
    receipts = engine.map(lambda task: cluster.write(task, batches_of(task.label)), plan.tasks)
    table = cluster.commit(plan, receipts)

Reading: a driver cuts the rows of a table into splits, and any processes read them as Arrow batches.

    splits = cluster.plan_read("s3://bucket/drives", columns=["lidar.*"], splits=64)
    engine.map(lambda split: [use(batch) for batch in cluster.read(split)], splits)

Plans, tasks, receipts and splits are small and can be pickled. Payload goes between the workers and the store, and never through
the driver. Options of stores are in a plan, task or split only if the caller passed them. No `repr`, receipt or stored object has
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from . import _tetrys
from ._arguments import Preset, Reuse, Url, called, choice, each, names, text, texts, url_of, whole
from ._data import Data, batches_of, parts_of
from ._errors import WrongType
from ._errors import found as described_value
from ._options import Layout, Locality, Options, Types, described, types, warn_not_pinned
from ._places import Place, StorageOptions, partition_of, place_of
from ._splits import ReadSplit, plan_read, read, read_index
from ._table import Table, opened
from ._tetrys import Error, Invalid, NotFound, Receipt, Unsupported

__all__ = [
    "ReadSplit",
    "Receipt",
    "WritePlan",
    "WriteTask",
    "abort",
    "commit",
    "found",
    "open_sessions",
    "plan_read",
    "plan_write",
    "read",
    "read_index",
    "write",
]

Mode = Literal["create", "append", "overwrite"]
"""What a write session makes of the rows; see `plan_write`."""
MOST_PARTITIONS = 2**32 - 2


@dataclass(frozen=True)
class WriteTask:
    """A partition for any process to write by `write`. Small, and can be pickled.

    Attributes:
        url: URL of the table.
        number: Number of the partition. The table has partitions in the order of their numbers.
        label: Name of what the partition is made from, or None.
        schema: Type of each column, {column: type}.
    """

    url: str
    number: int
    label: str | None
    schema: dict[str, str] = field(repr=False)
    _ticket: str = field(repr=False)
    _place: Place = field(repr=False)

    def __post_init__(self) -> None:
        text("url", self.url)
        whole("number", self.number, 0, MOST_PARTITIONS)
        if self.label is not None:
            text("label", self.label)
        if not isinstance(self.schema, dict):
            raise WrongType(f"schema: expected a dict, found {described_value(self.schema)}")
        text("the ticket", self._ticket)

    def __str__(self) -> str:
        label = "" if self.label is None else f" (`{self.label}`)"
        return f"partition {self.number}{label} of {self.url}"


@dataclass(frozen=True)
class WritePlan:
    """A write session that any process can take part in. Small, and can be pickled. `plan_write` and `open_sessions` make it.

    Attributes:
        url: URL of the table.
        session: UUID of the session.
        partitions: Number of partitions, or None if it is not planned.
        labels: Names of the partitions, or None.
        schema: Type of each column, {column: type}.
        sequence_by: Columns that define sequences: rows with equal values must be in one partition.
        sorted_by: Columns by which the rows of a partition must be sorted. Appended rows take both from the table.
    """

    url: str
    session: str
    partitions: int | None
    labels: list[str] | None = field(repr=False)
    schema: dict[str, str] = field(repr=False)
    sequence_by: list[str] = field(repr=False)
    sorted_by: list[str] = field(repr=False)
    _text: str = field(repr=False)
    _ticket: str = field(repr=False)
    _place: Place = field(repr=False)

    def __post_init__(self) -> None:
        text("url", self.url)
        text("session", self.session)
        if self.partitions is not None:
            whole("partitions", self.partitions, 0, MOST_PARTITIONS + 1)
        if self.labels is not None:
            if not isinstance(self.labels, list):
                raise WrongType(f"labels: expected a list of names, found {described_value(self.labels)}")
            count = len(_labels(self.labels))
            if count != self.partitions:
                many = "an unplanned number of" if self.partitions is None else self.partitions
                raise Invalid(f"labels: {count} names for {many} partitions: expected one name for each")
        if not isinstance(self.schema, dict):
            raise WrongType(f"schema: expected a dict, found {described_value(self.schema)}")
        texts("sequence_by", self.sequence_by)
        texts("sorted_by", self.sorted_by)
        text("the text of the plan", self._text)
        text("the ticket", self._ticket)

    def task(self, number: int) -> WriteTask:
        """Returns the task that writes a partition.

        Args:
            number: Number of the partition, from 0. If the number of partitions is not planned, up to 4,294,967,294.

        Raises:
            Invalid: the plan has no such partition.
        """
        number = whole("number", number)
        most = MOST_PARTITIONS if self.partitions is None else self.partitions - 1
        if number > most:
            raise Invalid(f"partition {number} of {self.url}: the plan has partitions 0 to {most}")
        label = None if self.labels is None else self.labels[number]
        return WriteTask(self.url, number, label, self.schema, self._ticket, self._place)

    @property
    def tasks(self) -> list[WriteTask]:
        """Tasks of all partitions, if their number is planned.

        Raises:
            Invalid: the number of partitions is not planned.
        """
        if self.partitions is None:
            raise Invalid(f"{self.url}: the number of partitions is not planned: pass `partitions` or `labels`, or use `plan.task`")
        return [self.task(number) for number in range(self.partitions)]


def plan_write(
    url: Url,
    *,
    schema: Mapping[str, str],
    index: str | Sequence[str],
    mode: Mode = "create",
    partitions: int | None = None,
    labels: Sequence[Url] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    sequence_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    preset: Preset | None = None,
    presets: Mapping[str, Preset] | None = None,
    required: str | Sequence[str] = (),
    bloom_filters: str | Sequence[str] = (),
    properties: Mapping[str, Any] | None = None,
    write_memory: int | None = None,
    reference: Url | Table | Iterable[Url | Table] = (),
    reuse: Reuse = "auto",
    locality: Locality = None,
    allow: Url | Iterable[Url] = (),
    allow_unpinned: bool = False,
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
) -> WritePlan:
    """Starts a write session, and keeps its plan in the store, so that another driver finds it if this one is lost.

    All rows of a sequence must be in one partition, in the order of `order_by`. Partitions share blocks with the tables of
    `reference` and with the table itself, as `reuse` says, in every process.

    Args:
        url: URL or path of the table.
        schema: Type of each column, {column: type}.
        index: Columns that are kept in the index.
        mode: `"create"` a table, `"append"` rows to a table, or `"overwrite"` the rows of a table. If there is no table, the
            last two create it. With `"append"`, the columns are those of the table, and `schema` must agree with them.
        partitions: Number of partitions. `commit` then requires a receipt of each.
        labels: Names of the partitions, such as the sources that they are made from, as text or paths, instead of `partitions`. They
            are in messages and receipts, as text.
        preset: Codec preset; default: that of an existing table, else `"balanced"`.
        write_memory: Bytes of encoded data that a worker buffers for a partition before it spills to a temporary file; default
            512 MiB.
        allow: URLs of other stores that the workers may read blocks of references from; see `tetrys.open_table`. The tables of
            `reference` are allowed.
        storage_options: Options of the store, as for `tetrys.open_table`; default: those of the environment of each process. They
            travel in the plan and its tasks, and are used for this store alone.
        store_options: Another name of `storage_options`.

    The other arguments are those of `tetrys.write_table`.

    Example:
        >>> plan = cluster.plan_write("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"], partitions=2)
        >>> def work(task):                                     # in any process, any number of times
        ...     return cluster.write(task, {"time": [task.number], "lidar.points": [np.zeros((7, 4))]})
        >>> receipts = [work(task) for task in plan.tasks]
        >>> len(cluster.commit(plan, receipts))
        2

    Raises:
        Exists: there is a table, and the mode is `"create"`.
        Invalid: the schema or an option breaks a rule.
        Unsupported: a column type is unknown, the table is a view, or the store ignores create-only puts.
        Denied: a referenced table cannot be pinned.
    """
    choice("mode", mode, Mode)
    named = None if labels is None else _labels(labels)
    count = None if partitions is None else whole("partitions", partitions, 0, MOST_PARTITIONS + 1)
    if named is not None and count not in (None, len(named)):
        raise Invalid(f"{len(named)} labels for {count} partitions: expected as many; leave out `partitions`")
    count = count if named is None else len(named)
    columns, address = types("schema", schema), url_of(url)
    place = place_of(address, storage_options, allow, store_options)
    references = [_referenced(one, place) for one in _several_urls(reference)]
    table = None if mode == "create" else _table_if_there(place)
    if table is not None and table.is_view:
        raise Unsupported(f"{table.url} is a view: its rows belong to other tables; write to those")
    options = Options.of(
        table,
        preset="balanced" if table is None and preset is None else preset,
        reuse=reuse,
        locality=locality,
        write_memory=write_memory,
        allow_unpinned=allow_unpinned,
        reference=references,
        properties=properties,
    )
    kept = schema.properties if isinstance(schema, Types) else []
    layout = described(columns, Layout(index, groups, sequence_by, order_by, units, presets, required, bloom_filters), kept)
    if table is None:
        native = _tetrys.cluster_create(place, layout, options)
    elif mode == "overwrite":
        native = _tetrys.TableWriter.overwrite(table._native, layout, options, False)
    else:
        native = _tetrys.cluster_append(table._native, layout, options)
    warn_not_pinned(native.unpinned())
    # Workers follow references that are not neighbours of the table only to URLs that are allowed.
    place = (*place[:2], [*place[2], *(one.url for one in references if one.url not in place[2])])
    return _plan(place, _tetrys.cluster_plan(native, count, named or []), named=named is not None)


def write(task: WriteTask, batches: Data | Iterable[Data], progress: Callable[[int], object] | None = None) -> Receipt:
    """Writes the rows of a task as its partition, in this process, and returns the receipt.

    May be called any number of times for a task, also at the same time in several processes: each call is an attempt, and
    `commit` takes one complete attempt. Memory holds one batch and `write_memory`, however many rows there are.

    Args:
        batches: A dict of columns, a frame, record batches, or an iterable of these or of row dicts, as for `tetrys.write_table`.
        progress: Called with the number of rows written so far.

    Example:
        >>> plan = cluster.plan_write("sweeps", schema={"time": "i64", "lidar.count": "i32"}, index=["time"], labels=["a.zarr"])
        >>> cluster.write(plan.task(0), [{"time": [0], "lidar.count": [7]}, {"time": [1], "lidar.count": [9]}])
        Receipt of partition 0 (a.zarr): 2 rows

    Raises:
        Invalid: the rows do not fit the schema, a sequence is broken, or the session is over. The message names partition and label.
        Denied, NotFound: a table of `reference` cannot be read here.
    """
    if not isinstance(task, WriteTask):
        raise WrongType(f"task: expected a task of a plan, found {described_value(task)}")
    called(progress)
    partition, rows = _partition(task), 0
    for batch in batches_of(batches, task.schema):
        for part in _named(task, rows, parts_of, batch, task.schema):
            partition.write(part)
            rows += len(part[0][1]) if part else 0
            if progress is not None:
                progress(rows)
    receipt: Receipt = _named(task, 0, partition.finish)
    return receipt


def commit(plan: WritePlan, receipts: Iterable[Receipt] | None = None) -> Table:
    """Publishes the rows of finished partitions as a table, or as its next version.

    Args:
        receipts: Exactly these are committed: those that the engine chose. If partitions are planned, each needs one; otherwise
            partitions without a receipt are left out. Receipts of a partition that only differ in their attempt count as one.
            None takes the receipts in the store; of several attempts the first, by name. So another driver commits what a lost one
            has left (see `open_sessions`).

    If the session was committed before, by this driver or another one, returns the version of that commit. After an error the
    table is absent or unchanged, and the session stays open: write the missing partitions and commit again, or `abort` it.

    Example:
        >>> plan = cluster.plan_write("sweeps", schema={"time": "i64", "lidar.count": "i32"}, index=["time"], partitions=1)
        >>> receipt = cluster.write(plan.task(0), {"time": [0], "lidar.count": [7]})
        >>> cluster.commit(plan).version, cluster.commit(plan, [receipt]).version
        (1, 1)

    Raises:
        Invalid: receipts are missing, contradict each other or belong to another session; rows of one sequence are in several
            partitions; or the session was aborted. The message names partition and label.
        Conflict: another writer created the table, or changed the same part; start a new session.
        Denied: a pin cannot be written to a referenced table.
        OutcomeUnknown: the store did not confirm the commit; commit again.
    """
    given = None
    if receipts is not None:
        given = each("receipts", receipts, Receipt, "receipts of `tetrys.cluster.write`")
    place, plan_text = _of_plan(plan)
    return Table._of(_tetrys.cluster_commit(place, plan_text, given), place[1])


def abort(plan: WritePlan) -> None:
    """Ends a session without a commit: deletes its plan, its receipts, and its other temporary objects.

    Chunks that were written stay until a garbage collection (`Table.gc`, `tetrys gc`). Nothing happens if the session is over. A
    worker that still writes may leave objects after this call; a garbage collection deletes these too.

    Example:
        >>> plan = cluster.plan_write("sweeps", schema={"time": "i64"}, index=["time"])
        >>> cluster.abort(plan)
        >>> cluster.open_sessions("sweeps")
        []

    Raises:
        Denied, Unavailable: the store refuses, or does not respond.
    """
    _tetrys.cluster_abort(*_of_plan(plan))


def found(plan: WritePlan) -> list[Receipt]:
    """Lists the receipts of finished partitions that are in the store, one for each partition: of several attempts the first, by
    name. Use it to write only the partitions that are not done.

    Example:
        >>> plan = cluster.plan_write("sweeps", schema={"time": "i64"}, index=["time"], labels=["a", "b"])
        >>> receipt = cluster.write(plan.task(1), {"time": [1]})
        >>> [(done.partition, done.label, done.rows) for done in cluster.found(plan)]
        [(1, 'b', 1)]

    Raises:
        Corrupt: a receipt in the store is damaged.
    """
    return _tetrys.cluster_found(*_of_plan(plan))


def open_sessions(
    url: Url, storage_options: StorageOptions = None, *, allow: Url | Iterable[Url] = (), store_options: StorageOptions = None
) -> list[WritePlan]:
    """Lists the sessions of a table that are neither committed nor aborted. Their drivers were lost, or are still running.

    Args:
        url: URL or path of the table.
        storage_options: Options of the store, as for `tetrys.open_table`; they travel in the plans.
        store_options: Another name of `storage_options`.
        allow: URLs of other stores to which references of the sessions may be followed; see `tetrys.open_table`.

    Example:
        >>> plan = cluster.plan_write("sweeps", schema={"time": "i64"}, index=["time"], partitions=1)
        >>> receipt = cluster.write(plan.task(0), {"time": [1]})
        >>> [lost] = cluster.open_sessions("sweeps")            # in another driver
        >>> lost.session == plan.session, len(cluster.commit(lost))
        (True, 1)

    Raises:
        Corrupt: the plan of a session is damaged.
        Unsupported: a session was started by a later version of Tetrys.
    """
    place = place_of(url_of(url), storage_options, allow, store_options)
    return [_plan(place, planned, named=bool(planned[4])) for planned in _tetrys.cluster_open_sessions(place)]


def _to_resume(url: Url, labels: Sequence[str], storage_options: StorageOptions, allow: Iterable[Url]) -> WritePlan | None:
    """Returns the open session with these labels; of several, the one with the most finished partitions."""
    place = place_of(url_of(url), storage_options, allow)
    planned = _tetrys.cluster_to_resume(place, list(labels))
    return None if planned is None else _plan(place, planned, named=True)


def _missing(plan: WritePlan, receipts: Iterable[Receipt]) -> list[int]:
    """Returns the numbers of the planned partitions that have no receipt yet."""
    return _tetrys.cluster_missing(plan._text, list(receipts))


def _labels(labels: object) -> list[str]:
    if isinstance(labels, (str, os.PathLike)):
        raise WrongType("labels: expected a list of names, found one name")
    return names("labels", labels)


def _several_urls(reference: object) -> list[Any]:
    if isinstance(reference, (str, os.PathLike, Table)):
        return [reference]
    return each("reference", reference, (str, os.PathLike, Table), "URLs or tables")


def _referenced(reference: Url | Table, place: Place) -> Table:
    """Opens a referenced table; in the store of the table that is written, with its options."""
    if isinstance(reference, Table):
        return reference.allow(*place[2]) if place[2] else reference
    url = url_of(reference)
    same = urlsplit(url)[:2] == urlsplit(place[0])[:2]
    return opened((url, place[1] if same else None, place[2]))


def _table_if_there(place: Place) -> Table | None:
    try:
        return opened(place)
    except NotFound:
        return None


def _plan(place: Place, planned: tuple[Any, ...], *, named: bool) -> WritePlan:
    plan, ticket, session, partitions, labels, columns, sequence_by, sorted_by = planned
    return WritePlan(place[0], session, partitions, labels if named else None, dict(columns), sequence_by, sorted_by, plan, ticket, place)


def _of_plan(plan: object) -> tuple[Place, str]:
    if not isinstance(plan, WritePlan):
        raise WrongType(f"plan: expected a plan of `plan_write`, found {described_value(plan)}")
    return plan._place, plan._text


def _partition(task: WriteTask) -> _tetrys.Partition:
    """Opens the partition of a task."""

    def opened(writer: _tetrys.TableWriter) -> _tetrys.Partition:
        return _tetrys.cluster_partition(writer, task.number, task.label)

    partition: _tetrys.Partition = _named(task, 0, partition_of, task._place, task._ticket, opened)
    return partition


def _named(task: WriteTask, rows: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function. Its errors name the task."""
    try:
        return call(*arguments)
    except Error as error:
        raise type(error)(f"{task}, rows from {rows}: {error}" if rows else f"{task}: {error}") from error
