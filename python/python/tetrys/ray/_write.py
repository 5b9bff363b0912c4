"""Writes a Ray dataset as a table: a Ray datasink over the tasks of `tetrys.cluster`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data
import ray.exceptions
from ray.data.block import Block, BlockAccessor
from ray.data.datasource import Datasink
from ray.data.extensions import ArrowPythonObjectType

from .. import _tetrys, cluster
from .._arguments import Url, members, texts, whole
from .._columns import column
from .._data import types_of
from .._errors import NoColumn, WrongType, WrongValue, found, short
from .._nested import Part, chosen, is_decimal, parts_of
from .._options import Types, types
from .._places import option_of
from .._sources import COMMIT_AGAIN, end_session
from .._table import Table
from .._tetrys import Column, Error, Invalid, NotFound, OutcomeUnknown, Receipt, Unavailable
from ._arrow import for_shuffle, sorted_batches, tensors_of_ray

BATCH_BYTES = 32 << 20
"""Most bytes of a batch for the writer. Rows of several blocks are copied three times on their way into a batch."""


def write(
    ds: ray.data.Dataset,
    url: Url,
    *,
    index: str | Sequence[str],
    schema: Mapping[str, str] | None = None,
    sequence_by: str | Sequence[str] = (),
    order_by: str | Sequence[str] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    mode: cluster.Mode = "create",
    reference: Url | Table | Iterable[Url | Table] = (),
    partitions: int | None = None,
    concurrency: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> Table:
    """Writes the rows of a Ray dataset as a table, or appends them to one, and returns the table.

    Ray brings all rows of a sequence to one partition (a hash shuffle by `sequence_by`). The task of a partition sorts its rows by
    `sequence_by` and `order_by`, and writes them. This process commits; rows do not pass through it.

    A task holds a partition in Ray's object store until it is written, and the shuffle takes two to three times its bytes when
    it puts the partition together. Beside that, a task has `write_memory` (512 MiB by default) and one batch of rows. Choose
    `partitions` so that a partition fits into the memory of a worker.

    Without `sequence_by`, each of Ray's blocks is a partition, and Ray sorts them by `order_by`, if it is given. Rows that are appended
    are shuffled and sorted as the table says.

    Args:
        ds: The rows. Columns may be Ray tensors. Structs, lists of structs, maps and decimals become the columns that
            `tetrys ingest parquet` makes of them, such as `s.a` for the field `a` of a struct `s`. Other columns keep their names.
        url: URL or path of the table.
        index: Columns that are kept in the index, which readers load into memory.
        schema: Type of each column, {column: type}. Default: those of the table to append to, else those of the dataset; Ray
            computes the first rows if it does not know them.
            A struct `s` that is not null although all its fields are null needs the column `{"s.is_null": "bool"}`.
        mode: "create" fails if there is a table. "append" and "overwrite" publish a new version of a table, or create it.
        partitions: Number of partitions; default: one for each GiB if Ray knows the size of the dataset, else two for each CPU.
        concurrency: Largest number of tasks that write at the same time.
        ray_remote_args: Options of the tasks that write, for example {"num_cpus": 2, "memory": 2**30}.
        options: Further arguments of `tetrys.cluster.plan_write`, such as `units`, `preset` and `storage_options`.

    The sequences may stand in another order after each run. Rows of a sequence that `order_by` does not order, or orders equally,
    stand in any order.

    Example:
        >>> ds = ray.data.from_items([{"log": "a", "time": 1, "lidar.count": 7}, {"log": "a", "time": 0, "lidar.count": 9}])
        >>> table = tetrys.ray.write(ds, "sweeps", index=["log", "time"], sequence_by=["log"], order_by=["time"], partitions=1)
        >>> tt.read_index(table)["time"].to_list()
        [0, 1]

    Raises:
        Exists: there is a table at `url`, and the mode is "create".
        NotFound: the dataset has no column of `sequence_by` or `order_by`.
        Invalid: a column is missing, unknown or of another type, or rows break a rule of the table. Nothing is committed then.
        Conflict: another writer published a table here first.
        OutcomeUnknown: the store did not confirm the commit; open the table before a retry.
    """
    if not isinstance(ds, ray.data.Dataset):
        raise WrongType(f"ds: expected a ray.data.Dataset, found {found(ds)}")
    keys, order = texts("sequence_by", sequence_by), texts("order_by", order_by)
    count = None if partitions is None else whole("partitions", partitions, 1, cluster.MOST_PARTITIONS + 1)
    if concurrency is not None:
        whole("concurrency", concurrency, 1)
    remote = task_options(ray_remote_args)
    kinds, known = _types_of(ds, url, mode, schema, option_of(options))
    if known is not None and (missing := [name for name in [*keys, *order] if name not in known]):
        raise NoColumn(f"no column `{missing[0]}` in the dataset: its columns are {', '.join(known)}")
    sink = TetrysDatasink(
        url,
        schema=kinds,
        index=index,
        sequence_by=keys,
        order_by=order,
        groups=groups,
        mode=mode,
        reference=reference,
        **options,
    )
    # Starts the session before the shuffle, which may take hours. Rows to append are shuffled and sorted as the table says.
    sink.on_write_start()
    plan = sink._plan
    assert plan is not None
    context, settings = ds.context, ds.context.execution_options
    before = settings.preserve_order, context.raise_original_map_exception
    try:
        # Ray would keep the message alone of an error of `for_shuffle`, in a trace.
        context.raise_original_map_exception = True
        parts = count or _partitions(ds)
        if known is not None and (missing := [name for name in plan.sorted_by if name not in known]):
            raise NoColumn(f"no column `{missing[0]}` in the dataset: its columns are {', '.join(known)}")
        if plan.sorted_by:
            ds = ds.map_batches(for_shuffle, fn_kwargs={"kinds": kinds}, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
        if plan.sequence_by:
            ds = ds.repartition(parts, keys=plan.sequence_by)
        elif plan.sorted_by:
            ds = ds.sort(plan.sorted_by)
        # Tasks have their numbers in the order of the blocks: of the sorted rows, or of the dataset. After a hash shuffle, they have
        # the order in which Ray finished the partitions.
        settings.preserve_order = True
        ds.write_datasink(sink, concurrency=concurrency, ray_remote_args=remote)
    except BaseException as error:
        # Ray tells a datasink of exceptions in the write alone: not of interrupts, and not of what happens before.
        sink.on_write_failed(error)
        if isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, Error):
            # Ray adds lines about its own retries to the message.
            raise type(error.cause)(str(error.cause).split("\nFailed to apply UDF")[0]) from error
        raise
    finally:
        settings.preserve_order, context.raise_original_map_exception = before
    return sink.table


def task_options(given: object) -> dict[str, Any]:
    """Returns options of tasks. Ray checks them here, before a session starts."""
    options = members("ray_remote_args", given)
    try:
        ray.remote(_types_of).options(**options)
    except (TypeError, ValueError) as error:
        raise WrongValue(f"ray_remote_args: {short(error)}") from error
    return options


class TetrysDatasink(Datasink):  # type: ignore[misc]
    """Ray datasink of a table, for `Dataset.write_datasink`. Each task of the write is a partition of the table.

    All rows of a sequence must be in one task: `tetrys.ray.write` arranges that. Use the datasink itself for a dataset whose
    blocks hold whole sequences already.

    Args:
        schema: Type of each column, {column: type}.

    The other arguments are those of `tetrys.cluster.plan_write`.

    Example:
        >>> sink = tetrys.ray.TetrysDatasink("numbers", schema={"id": "i64"}, index=["id"])
        >>> ray.data.range(20).write_datasink(sink)
        >>> len(sink.table)
        20

    Raises:
        Invalid: the schema or an option breaks a rule, a sequence is in two tasks, or values do not fit the schema.
    """

    def __init__(
        self,
        url: Url,
        *,
        schema: Mapping[str, str],
        index: str | Sequence[str],
        sequence_by: str | Sequence[str] = (),
        order_by: str | Sequence[str] = (),
        write_memory: int | None = None,
        **options: Any,
    ) -> None:
        sequence_by, order_by = texts("sequence_by", sequence_by), texts("order_by", order_by)
        # A batch is converted on its way to the writer, and counts beside its memory.
        self._batch_bytes = BATCH_BYTES if write_memory is None else min(BATCH_BYTES, max(1, whole("write_memory", write_memory, 1) // 16))
        self._url = url
        self._options = {
            "schema": schema, "index": index, "sequence_by": sequence_by, "order_by": order_by, "write_memory": write_memory, **options
        }  # fmt: skip
        self._plan: cluster.WritePlan | None = None
        self._table: Table | None = None
        self._is_decided = False

    @property
    def min_bytes_per_write(self) -> int | None:
        """Returns None if a task of the dataset has whole sequences: Ray then writes in the task that makes them. Otherwise a number
        of bytes that any block has: each block is then written in a task of its own, and no task holds more than a block.
        """
        keys = self._options["sequence_by"] if self._plan is None else self._plan.sequence_by
        return None if keys else 1

    @property
    def table(self) -> Table:
        """The table, after the write.

        Raises:
            Invalid: nothing was committed.
        """
        if self._table is None:
            raise Invalid(f"nothing was committed to {self._url}: write a dataset by `write_datasink` first")
        return self._table

    def on_write_start(self, schema: Any = None) -> None:
        """Starts the write session, on the driver."""
        if self._plan is None:
            self._plan = cluster.plan_write(self._url, **self._options)

    def write(self, blocks: Iterable[Block], ctx: Any) -> Receipt | None:
        """Writes the rows of a task as a partition. Ray may run a task again; the commit uses one of the receipts."""
        assert self._plan is not None
        tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
        batches = sorted_batches(tables, self._plan.sorted_by, self._batch_bytes, self._plan.schema)
        task = self._plan.task(ctx.task_idx)
        try:
            first = next(batches, None)
            return None if first is None else cluster.write(task, itertools.chain([first], batches))
        except Error as error:
            message = str(error) if str(task) in str(error) else f"{task}: {error}"
            raise type(error)(f"{message}. Nothing was committed: correct the rows, and write again") from error

    def on_write_complete(self, write_result: Any) -> None:
        """Commits the receipts of the tasks, on the driver."""
        self.on_write_start()
        assert self._plan is not None
        try:
            self._table = cluster.commit(self._plan, [receipt for receipt in write_result.write_returns if receipt is not None])
        except (OutcomeUnknown, Unavailable) as error:
            self._is_decided = True
            raise type(error)(f"{error}. {COMMIT_AGAIN}") from error

    def on_write_failed(self, error: BaseException) -> None:
        """Ends the session without a table, on the driver."""
        if self._plan is not None and self._table is None and not self._is_decided:
            end_session(self._plan)


def _types_of(ds: ray.data.Dataset, url: Url, mode: str, schema: Mapping[str, str] | None, storage_options: Any) -> tuple[Types, list[str] | None]:
    """Returns the types that are declared, those of the table to append to, or those of the dataset; and the columns that the dataset
    becomes, if Ray knows them.
    """
    given = types("schema", schema)
    if schema is None and mode == "append":
        with contextlib.suppress(NotFound):
            (split,) = cluster.plan_read(url, splits=1, storage_options=storage_options)
            given = types_of(split._table())
    is_given = schema is not None or bool(given)
    found = ds.schema(fetch_if_missing=not is_given)
    if found is None or not found.names:
        if not is_given:
            raise Invalid("schema: the dataset has no rows, which define the types: pass `schema`")
        return Types(given), None
    if is_given and not isinstance(found.base_schema, pa.Schema):
        return Types(given), found.names
    block = _typed_rows(ds, found.base_schema, is_given)
    parts = [part for name in block.column_names for part in _parts_of(name, block[name], given.get(name))]
    made = chosen(parts, given, {}, found.names)
    names = [part.name for part in parts]
    return (Types(given, [entry for entry in made.properties if entry[0] in given]) if is_given else made), names


def _typed_rows(ds: ray.data.Dataset, schema: Any, is_given: bool) -> pa.Table:
    """Returns rows, or none, whose columns have types."""
    if not isinstance(schema, pa.Schema):
        return BlockAccessor.for_block(ds.take_batch(1, batch_format="pandas")).to_arrow()
    objects = [one.name for one in schema if isinstance(one.type, ArrowPythonObjectType)]
    if is_given or not objects:
        return schema.empty_table()
    rows = ds.take_batch(1, batch_format="pyarrow")
    for name in objects:
        # Ray has integers as objects if one of them has no 64 bits with a sign.
        if pa.types.is_int64(rows[name].type) and pc.all(pc.greater_equal(rows[name], 0)).as_py():
            rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(pa.uint64()))
    return rows


def _parts_of(name: str, values: pa.ChunkedArray, given: str | None) -> list[Part]:
    """Returns the columns that a column of the dataset becomes: itself, or its parts."""
    if given is not None and not is_decimal(values.type):
        return [Part(name, given)]
    array = tensors_of_ray(name, values, {}).combine_chunks()
    if pa.types.is_null(array.type) or Column.arrow(array).is_typed:
        return [Part(name, column(name, array, None).type)]
    return parts_of(pa.schema([(name, array.type)]))


def _partitions(ds: ray.data.Dataset) -> int:
    """Returns the default number of partitions."""
    size = ds._logical_plan.dag.infer_metadata().size_bytes
    return _tetrys.cluster_partitions(None if size is None else int(size), int(ray.cluster_resources().get("CPU", 1)))
