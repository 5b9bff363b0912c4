"""Writes DataFrames as tables, and extracts tables from sources, with one partition for each task of Spark."""

from __future__ import annotations

import contextlib
import itertools
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyspark import TaskContext
from pyspark.resource import ResourceProfile

from .. import _tetrys, cluster
from .._arguments import Url, choice, names, texts, truth, url_of, whole
from .._data import types_of
from .._errors import WrongType, found
from .._options import Types
from .._places import option_of, place_of
from .._sources import COMMIT_AGAIN, end_session, open_session, write_source
from .._table import Table, opened
from .._tetrys import Exists, Invalid, NotFound, OutcomeUnknown, Receipt, Unavailable
from ._types import of_spark, types_of_frame

Mode = Literal["errorifexists", "error", "create", "append", "overwrite", "ignore"]
"""What a write makes of the rows, in words of Spark; see `write`."""
MODES: Mapping[str, cluster.Mode] = {"errorifexists": "create", "error": "create", "create": "create", "append": "append", "overwrite": "overwrite"}
"""Spark's names of modes, and ours, which they mean."""


def write(
    df: Any,
    url: Url,
    *,
    index: str | Sequence[str],
    mode: Mode = "errorifexists",
    schema: Mapping[str, str] | None = None,
    sequence_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    partitions: int | None = None,
    **options: Any,
) -> Table:
    """Writes a DataFrame as a table. Spark brings the rows of a sequence together and sorts them; each task writes a partition.

    Args:
        df: The DataFrame. A tensor is an array of its elements in C order, nested arrays, or, if it has several `?`, a struct of
            `data` and `shape`. Frames that were read with the format `tetrys` have the types of their columns in the metadata.
            Structs, arrays of structs, maps and decimals become the columns that `tetrys ingest parquet` makes of them, such as `s.a`
            for the field `a` of a struct `s`.
        url: URL or path of the table.
        index: Columns that are kept in the index.
        mode: `"errorifexists"` (also `"error"`, `"create"`), `"append"` (also creates), `"overwrite"`, or `"ignore"`: if there is a
            table, returns it and writes nothing.
        schema: Types of columns, {column: type}, such as `{"lidar.points": "f32[?,4]"}`. Default: the type in the metadata of the
            field, else that of the table to append to, else the one that holds the values of the Spark type. A struct `s` that is not
            null although all its fields are null needs the column `{"s.is_null": "bool"}`.
        sequence_by: Index columns that define sequences. Spark repartitions the rows by them. Rows that are appended take these and
            `order_by` from the table.
        order_by: Index columns that order the rows within a sequence. Spark sorts the rows by them. Without `sequence_by`, Spark
            sorts the whole frame, and computes it twice for that.
        partitions: Number of tasks after the rows are repartitioned. Default: what Spark chooses
            (`spark.sql.shuffle.partitions`, adaptive execution).
        options: The other arguments of `tetrys.cluster.plan_write`, such as `groups`, `preset` and `reference`.

    Tasks may run any number of times: the table has the rows of the attempts that Spark accepted. If the job fails, the table is
    absent or unchanged, and `Table.gc` finds the chunks that it left.

    Example:
        >>> df = spark.createDataFrame([("monday", 1, [0.5, 1.5]), ("monday", 0, [])], "log string, time long, `a.x` array<float>")
        >>> table = tetrys.spark.write(df, "drives", index=["log", "time"], sequence_by=["log"], order_by=["time"])
        >>> table.index_columns, table.groups
        ([('log', 'utf8'), ('time', 'i64')], [('a', [('a.x', 'f32[?]')])])

    Raises:
        Exists: there is a table at `url`, and the mode is `"errorifexists"`.
        Invalid: there is no column type for a Spark type, decimals to append have other digits than those of the table, or an option
            breaks a rule.
        Conflict: another writer published a version first.
        OutcomeUnknown, Unavailable: the store did not confirm the commit. The message says how to commit again.
        pyspark.errors.PythonException: a task failed; the message has the error, with the partition and the column.
    """
    choice("mode", mode, [*MODES, "ignore"])
    keys, order = texts("sequence_by", sequence_by), texts("order_by", order_by)
    # A `Column` of Spark answers every attribute name, so `hasattr` says nothing.
    if not isinstance(getattr(df, "isStreaming", None), bool) or not hasattr(df, "mapInArrow"):
        raise WrongType(f"df: expected a DataFrame of Spark, found {found(df)}")
    if df.isStreaming:
        raise WrongType('df: expected a DataFrame of all rows, found a stream: write its batches by `foreachBatch`, with mode="append"')
    count = None if partitions is None else whole("partitions", partitions, 1, 2**31 - 1)
    kinds = types_of_frame(df.schema, schema, types_there(url, mode, options))
    options |= {"index": index, "sequence_by": keys, "order_by": order}
    try:
        plan = cluster.plan_write(url, schema=kinds, mode=MODES.get(mode, "create"), **options)
    except Exists:
        if mode == "ignore":
            return opened(place_of(url_of(url), option_of(options), options.get("allow", ())))
        raise
    try:
        # `mapInArrow` finds no columns whose names have dots, and Spark no columns whose names differ in case alone.
        plain = df.toDF(*[f"c{number}" for number in range(len(df.columns))])
        by = {name: _key(plain, df.schema, kinds, name) for name in plan.sorted_by}
        rows = _prepared(plain, [by[name] for name in plan.sequence_by], list(by.values()), count)
        receipts = _receipts(rows.mapInArrow(_Task(plan, df.columns), _RECEIPT))
    except BaseException:
        end_session(plan)
        raise
    try:
        return cluster.commit(plan, receipts)
    except (OutcomeUnknown, Unavailable) as error:
        raise type(error)(f"{error}. {COMMIT_AGAIN}") from error
    except BaseException:
        end_session(plan)
        raise


def extract(
    spark: Any,
    sources: Sequence[Url],
    fn: Callable[[str], Iterable[Any]],
    url: Url,
    *,
    schema: Mapping[str, str],
    index: str | Sequence[str],
    mode: Mode = "errorifexists",
    resume: bool = False,
    profile: Any = None,
    **options: Any,
) -> Table:
    """Writes a table of many sources, with one task and one partition for each. Tasks carry the names of sources, never data.

    Args:
        spark: The Spark session.
        sources: Names of the sources, such as URLs of recordings, as text or paths. `fn` gets them as text. The table has their rows in
            this order.
        fn: Called with a source in a worker. Yields its rows in order, each a dict of values, or batches of rows: dicts of columns,
            frames or record batches. All rows of a sequence come from one source.
        url: URL or path of the table.
        schema: Types of all columns, {column: type}.
        index: Columns that are kept in the index.
        mode: `"errorifexists"` (also `"error"`, `"create"`), `"append"` (also creates) or `"overwrite"`.
        resume: Continue a call that failed or lost its driver: sources whose receipts are in the store are not read again. Pass the
            same sources. Without such a call, all sources are read.
        profile: `pyspark.resource.ResourceProfile` of the tasks.
        options: The other arguments of `tetrys.cluster.plan_write`, such as `sequence_by`, `order_by`, `groups` and `reference`.

    If the job fails, the table is absent or unchanged. The receipts of the sources that are done stay in the store: call `extract`
    with `resume=True`, or `tetrys.cluster.abort` for each plan of `tetrys.cluster.open_sessions`.

    Example:
        >>> def rows_of(name):
        ...     yield {"log": [name] * 3, "time": [0, 1, 2], "a.x": np.zeros((3, 2), np.float32)}
        >>> types = {"log": "utf8", "time": "i64", "a.x": "f32[2]"}
        >>> table = tetrys.spark.extract(spark, ["a.bag", "b.bag"], rows_of, "logs", schema=types, index=["log", "time"], sequence_by=["log"])
        >>> len(table)
        6

    Raises:
        Exists: there is a table at `url`, and the mode is `"errorifexists"`.
        Invalid: the schema or an option breaks a rule.
        Conflict: another writer published a version first.
        pyspark.errors.PythonException: a task failed; the message has the error, with the partition and the source.
    """
    choice("mode", mode, MODES)
    labels = names("sources", sources)
    if not callable(fn):
        raise WrongType(f"fn: expected a function of a source, found {found(fn)}")
    check_session(spark)
    if profile is not None and not isinstance(profile, ResourceProfile):
        raise WrongType(f"profile: expected a pyspark.resource.ResourceProfile, found {found(profile)}")
    plan = open_session(url, labels, schema, options) if truth("resume", resume) else None
    done = [] if plan is None else cluster.found(plan)
    plan = plan or cluster.plan_write(url, schema=schema, index=index, mode=MODES[mode], labels=labels, **options)
    left = cluster._missing(plan, done)
    receipts = []
    if left:
        numbers = spark.range(0, len(left), 1, len(left))
        arguments = {} if profile is None else {"profile": profile}
        receipts = _receipts(numbers.mapInArrow(_Extraction(plan, left, fn, texts("index", index)), _RECEIPT, **arguments))
    return cluster.commit(plan, [*done, *receipts])


def check_session(spark: Any) -> None:
    """Raises an error for what is no Spark session. Sessions of Spark Connect have a class of their own."""
    if isinstance(spark, type) or not hasattr(spark, "dataSource") or not callable(getattr(spark, "range", None)):
        raise WrongType(f"spark: expected a Spark session, found {found(spark)}")


_RECEIPT = "receipt binary"


def _receipts(frame: Any) -> list[Receipt]:
    return [pickle.loads(bytes(row.receipt)) for row in frame.collect()]


def _sent(receipt: Receipt) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(receipt)])], names=["receipt"])


class _Task:
    """Writes the rows of a task of Spark; yields the receipt."""

    def __init__(self, plan: cluster.WritePlan, names: list[str]) -> None:
        self._plan, self._names = plan, names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        receipt = write_partition(self._plan, (batch.rename_columns(self._names) for batch in batches))
        if receipt is not None:
            yield _sent(receipt)


class _Extraction:
    """Writes the sources of the numbers in a task of Spark; yields the receipts."""

    def __init__(self, plan: cluster.WritePlan, left: list[int], fn: Callable[[str], Iterable[Any]], index: list[str]) -> None:
        self._plan, self._left, self._fn, self._index = plan, left, fn, index

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _sent(write_source(self._plan.task(self._left[number]), self._fn, self._index))


def write_partition(plan: cluster.WritePlan, batches: Iterator[pa.RecordBatch]) -> Receipt | None:
    """Writes the rows of the running task of Spark as the partition of its number. Returns None if there are no rows."""
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    context = TaskContext.get()
    if context is None:
        raise Invalid("partitions are written in tasks of Spark: there is none")
    task = plan.task(context.partitionId())
    with advice():
        return cluster.write(task, (of_spark(batch, plan.schema) for batch in itertools.chain([first], filled)))


@contextlib.contextmanager
def advice() -> Iterator[None]:
    """Names the function that prepares frames in errors about sequences and their order."""
    try:
        yield
    except Invalid as error:
        if "sequence" not in str(error) and "order" not in str(error):
            raise
        raise type(error)(f"{error}; tetrys.spark.write(df, url, ..) brings the rows of sequences together and sorts them") from error


def types_there(url: Url, mode: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Returns the types of the table that rows are appended to; none if there is no table, or if the rows make a new one."""
    if mode != "append":
        return {}
    try:
        return types_of(opened(place_of(url_of(url), option_of(options), options.get("allow", ()))))
    except NotFound:
        return {}


def _key(plain: Any, schema: Any, kinds: Types, name: str) -> Any:
    """Returns a column of the table as an expression of the frame `plain`, whose columns have other names."""
    names = schema.fieldNames()
    path = [name]
    if name not in names:
        (within,) = [json.loads(value) for column, key, value in kinds.properties if (column, key) == (name, "nested")]
        path = [step[0] for step in within]
        path.append(name.removeprefix(".".join(path) + "."))
    key = plain[f"c{names.index(path[0])}"]
    for one in path[1:]:
        key = key.getField(one)
    # Text has another order than numbers.
    return key.cast("string") if kinds[name] in ("utf8", "categorical") else key


def _prepared(df: Any, keys: Sequence[Any], by: Sequence[Any], partitions: int | None) -> Any:
    """Returns the frame with whole sequences in its partitions, sorted: a plan names both."""
    count = [] if partitions is None else [partitions]
    if by:
        spread = df.repartition(*count, *keys) if keys else df.repartitionByRange(*count, *by)
        return spread.sortWithinPartitions(*by)
    return df.repartition(partitions) if partitions is not None else df
