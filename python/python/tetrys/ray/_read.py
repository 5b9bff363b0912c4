"""Reads a table as a Ray dataset: a Ray datasource over the splits of `tetrys.cluster`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import ray
import ray.data
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask
from ray.data.expressions import BinaryExpr, ColumnExpr, Expr, Operation

from .. import _tetrys, cluster
from .._arguments import Url, size, whole
from .._errors import WrongType, found
from .._index import Index
from .._places import StorageOptions
from .._rows import Columns, Window
from .._table import Table
from ._arrow import ray_schema, to_ray

BATCH_BYTES = 64 << 20
STUB = "__bsp_stub"
"""Column by which Ray's own sources keep the number of rows of blocks without columns. Ray hides it."""
NUMBER = "\0row"
"""Name of a column of row numbers that no table has."""


def read(
    source: Url | Table | Index,
    *,
    columns: Columns = None,
    offsets: Mapping[str, Window] | Window | None = None,
    where: pl.Expr | None = None,
    view: Url | None = None,
    batch_bytes: int | str = BATCH_BYTES,
    allow: Url | Iterable[Url] = (),
    storage_options: StorageOptions = None,
    store_options: StorageOptions = None,
    concurrency: int | None = None,
    override_num_blocks: int | None = None,
    **resources: Any,
) -> ray.data.Dataset:
    """Returns the rows of a table as a Ray dataset. Nothing is read before the dataset is used, except the index.

    Ray pushes `select_columns` and `filter(expr=..)` down to this read. Conditions on index columns choose rows before payload is
    read; conditions on other columns are checked by the tasks that read. Numbers of rows and bytes are known without reading.

    Args:
        source: URL, table or index.
        columns: Patterns of the columns, such as `["log_id", "lidar.*"]`; default: the index columns and all columns of the
            column groups.
        offsets: Windows around each row, one for all columns or {pattern: offsets}; see `RowLoader.get_rows`. A column of numbers
            becomes a Ray tensor [time], and a tensor of fixed shape a Ray tensor [time, *shape]; `NAME.mask`, bool [time], says
            which rows exist.
        where: polars expression on index columns: the rows to read. With `offsets`, the only way to choose rows before payload is
            read: Ray's conditions then are about windows.
        view: URL at which to save the rows of an index, or of `where`, as a view. An index with rows of several tables, or with
            rows in another order, needs one. It keeps tasks small if the rows are scattered.
        batch_bytes: Bytes of a batch of rows, such as "64MiB". A task that reads has about three times as much in memory.
        allow: URLs of other stores that references in the table may be followed to; see `tetrys.open_table`.
        storage_options: Options of the store for all tasks, as for `tetrys.open_table`. Without them, each worker uses its environment.
        store_options: Another name of `storage_options`.
        override_num_blocks: Number of tasks. Default: one for each 64 MiB in memory, and at least two for each CPU if each has at least
            Ray's smallest block (1 MiB), until that is more than Ray's default (200, and one for each 128 MiB).
        concurrency, resources: Options of `ray.data.read_datasource`, such as `num_cpus=1`.

    Tensors become Ray tensors: of fixed shape, or variable-shaped. In batches of numpy arrays, Ray shows null tensors as zeros or
    empty arrays; rows (`take`, `iter_rows`) have None.

    Example:
        >>> ds = tetrys.ray.read("drives", columns=["timestamp", "camera.intrinsics"], where=pl.col("pedestrians") > 3)
        >>> ds.count(), ds.take(1)[0]["camera.intrinsics"].shape
        (4, (3, 3))

    Raises:
        NotFound: there is no table at the URL, or a pattern matches no column.
        Invalid: polars rejects `where`, or the offsets are impossible.
    """
    datasource = TetrysDatasource(
        source,
        columns=columns,
        offsets=offsets,
        where=where,
        view=view,
        batch_bytes=batch_bytes,
        allow=allow,
        storage_options=storage_options,
        store_options=store_options,
    )
    for name, value in (("concurrency", concurrency), ("override_num_blocks", override_num_blocks)):
        if value is not None:
            whole(name, value, 1)
    blocks = _tasks(datasource) if override_num_blocks is None else override_num_blocks
    return ray.data.read_datasource(datasource, concurrency=concurrency, override_num_blocks=blocks, **resources)


class TetrysDatasource(Datasource):  # type: ignore[misc]
    """Ray datasource of a table, for `ray.data.read_datasource`. See `tetrys.ray.read` for the arguments.

    Example:
        >>> ray.data.read_datasource(tetrys.ray.TetrysDatasource("drives", columns=["timestamp"])).count()
        20
    """

    def __init__(
        self,
        source: Url | Table | Index,
        *,
        columns: Columns = None,
        offsets: Mapping[str, Window] | Window | None = None,
        where: pl.Expr | None = None,
        view: Url | None = None,
        batch_bytes: int | str = BATCH_BYTES,
        allow: Url | Iterable[Url] = (),
        storage_options: StorageOptions = None,
        store_options: StorageOptions = None,
    ) -> None:
        super().__init__()
        self._source: Url | Table | Index = source
        self._columns, self._where = columns, where
        self._batch_bytes = whole("batch_bytes", size("batch_bytes", batch_bytes), 1)
        # `plan_read` checks that only one of the two names is given.
        self._options: dict[str, Any] = {"offsets": offsets, "allow": allow, "storage_options": storage_options, "store_options": store_options}
        self._projection_map: dict[str, str] | None = None
        self._on_index: Expr | None = None
        """Condition on index columns that Ray pushed down."""
        self._on_payload: Expr | None = None
        """Condition on other columns that Ray pushed down."""
        self._chosen: Any = None
        """Mask of the rows that `where` and `_on_index` choose, once it is known."""
        self._index_rows: pa.Table | None = None
        """Index columns of all rows, once they are needed."""
        (split,) = cluster.plan_read(source, columns=columns, where=where, splits=1, view=view, **self._options)
        self._names: list[str] = ray_schema(split.schema()).names
        if view is not None or not isinstance(source, (Table, Index)):
            # All plans of this read have the rows of this version; those of a view are chosen already.
            self._source = f"{split.url}@{split.version}"
            self._where = None if view is not None else where

    def supports_projection_pushdown(self) -> bool:
        """Returns True: the tasks read no other columns."""
        return True

    def supports_predicate_pushdown(self) -> bool:
        """Returns True: conditions on index columns choose rows before payload is read. False for windows: their columns have a
        value for each offset, and a condition on these means something else than one on the index.
        """
        return self._options["offsets"] is None

    def apply_predicate(self, predicate_expr: Expr) -> TetrysDatasource:
        """Returns this datasource for the rows for which the predicate is true."""
        if not isinstance(predicate_expr, Expr):
            raise WrongType(f"predicate_expr: expected an expression of Ray, as ray.data.expressions.col(..) > 3, found {found(predicate_expr)}")
        made: TetrysDatasource = super().apply_predicate(predicate_expr)
        made._chosen = None
        for condition in _conditions(predicate_expr):
            if _columns_of(condition) <= set(self._index().column_names):
                made._on_index = condition if made._on_index is None else made._on_index & condition
            else:
                made._on_payload = condition if made._on_payload is None else made._on_payload & condition
        return made

    def estimate_inmemory_data_size(self) -> int:
        """Returns the bytes of the rows and columns in memory."""
        return sum(task.metadata.size_bytes for task in self.get_read_tasks(1))

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> list[ReadTask]:
        """Cuts the rows into tasks along chunk boundaries, balanced by bytes."""
        wanted, condition = self._wanted(), None if self._on_payload is None else self._on_payload.to_pyarrow()
        splits = self._plan(parallelism, self._needed())
        schema = pa.schema([ray_schema(splits[0].schema()).field(name) for name in wanted])
        tasks = []
        for split in splits:
            rows = split.rows if condition is None else None
            metadata = BlockMetadata(num_rows=rows, size_bytes=split._memory_bytes, input_files=[split.url], exec_stats=None)
            read_fn = partial(_blocks, split, wanted, condition, self._batch_bytes)
            tasks.append(ReadTask(read_fn, metadata, schema, per_task_row_limit))
        return tasks

    def _plan(self, splits: int, columns: Columns) -> list[cluster.ReadSplit]:
        return cluster.plan_read(self._source, columns=columns, where=self._rows(), splits=splits, **self._options)

    def _wanted(self) -> list[str]:
        """Columns of the blocks."""
        return self._names if self._projection_map is None else list(self._projection_map)

    def _needed(self) -> Columns:
        """Columns to read: those of the blocks, and those of the conditions. At least one, which has the number of rows."""
        if self._projection_map is None and self._on_payload is None:
            return self._columns
        wanted = [*self._wanted(), *(() if self._on_payload is None else sorted(_columns_of(self._on_payload)))]
        # The mask of a window comes with its column.
        return list(dict.fromkeys(name.removesuffix(".mask") for name in wanted)) or self._names[:1]

    def _rows(self) -> Any:
        """Rows to read: None for all, an expression, or a mask of the index."""
        if self._on_index is None or self._chosen is not None:
            return self._where if self._on_index is None else self._chosen
        index = self._index()
        # pyarrow decides, as in Ray's own filters.
        numbered = index.append_column(NUMBER, pa.array(np.arange(len(index))))
        self._chosen = _mask(numbered.filter(self._on_index.to_pyarrow())[NUMBER], len(index))
        if self._where is not None:
            frame = pl.DataFrame(pl.from_arrow(index)).with_row_index(NUMBER)
            self._chosen &= _mask(frame.filter(self._where)[NUMBER], len(index))
        return self._chosen

    def _index(self) -> pa.Table:
        """Loads the index columns of all rows."""
        if self._index_rows is None:
            if isinstance(self._source, Index):
                self._index_rows = self._source.to_arrow().select(self._source.columns)
            else:
                (split,) = cluster.plan_read(self._source, splits=1, **self._options)
                self._index_rows = cluster.read_index(split)
        return self._index_rows


def _tasks(datasource: TetrysDatasource) -> int | None:
    """Returns the number of tasks; None if it is Ray's choice, which takes projections and conditions into account."""
    # `cluster_resources` does not start Ray, as other calls do.
    if not ray.is_initialized():
        ray.init()
    context, size = ray.data.DataContext.get_current(), datasource.estimate_inmemory_data_size()
    tasks = _tetrys.cluster_tasks(size, int(ray.cluster_resources().get("CPU", 1)), context.target_min_block_size)
    return tasks if tasks < context.read_op_min_num_blocks else None


def _mask(numbers: Any, rows: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(rows, np.bool_)
    mask[numbers.to_numpy()] = True
    return mask


def _blocks(split: cluster.ReadSplit, columns: Sequence[str], condition: Any, batch_bytes: int) -> Iterator[pa.Table]:
    """Reads the blocks of a task."""
    for batch in cluster.read(split, batch_bytes):
        table = pa.table(batch) if condition is None else pa.table(batch).filter(condition)
        yield to_ray(table).select(columns) if columns else pa.table({STUB: pa.nulls(len(table))})


def _conditions(predicate: Expr) -> list[Expr]:
    """Returns the conditions that a predicate joins by AND."""
    if isinstance(predicate, BinaryExpr) and predicate.op == Operation.AND:
        return [*_conditions(predicate.left), *_conditions(predicate.right)]
    return [predicate]


def _columns_of(expression: Any) -> set[str]:
    """Returns the names of the columns that an expression uses."""
    if isinstance(expression, ColumnExpr):
        return {expression.name}
    if isinstance(expression, (list, tuple)):
        return {name for one in expression for name in _columns_of(one)}
    if isinstance(expression, Expr) and is_dataclass(expression):
        return _columns_of([getattr(expression, field.name) for field in fields(expression)])
    return set()

