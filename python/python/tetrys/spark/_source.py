"""Data source `tetrys` of Spark: reads the splits of a table, and writes frames that are prepared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import datasource as ds
from pyspark.sql.types import StructType

from .. import cluster
from .._arguments import exactly
from .._data import types_of
from .._places import place_of
from .._rows import RowLoader
from .._table import Table, opened
from .._tetrys import Invalid, Receipt
from ._options import READ, WRITE, options_of
from ._types import BATCH_BYTES, BATCH_ROWS, arrow_schema, field, spark_type, to_spark, types_of_frame
from ._write import MODES, advice, check_session, types_there, write_partition


def register(spark: Any) -> None:
    """Makes the format `tetrys` known to a Spark session.

    Example:
        >>> tetrys.spark.register(spark)
        >>> spark.read.format("tetrys").option("payload", "false").load("drives").count()
        20

    Options of `spark.read.format("tetrys")`:

    - `columns`: Patterns of columns, separated by commas; default: all. Spark never tells a source in Python which columns a query
      needs, so a query reads all columns of its DataFrame.
    - `payload`: `false` leaves out the columns of column groups. The index alone is read.
    - `where`: SQL condition on index columns, such as `pedestrians > 3`. It prunes rows before payload is read. Filters of a query do
      not: Spark (4.3) keeps the plan of a filtered query, and would give its rows to later queries of the DataFrame too.
    - `splits`, `split_bytes`: Number of Spark partitions, or bytes of stored payload in each.
    - `allow`: URLs of other stores that references may be followed to.
    - `store.NAME`: Option of the store; default: those of the environment.

    A DataFrame reads the version that is the newest when `load` is called.

    `df.write.format("tetrys").mode(..).options(..).save(url)` takes frames whose tasks have whole sequences in order; see `write`,
    which prepares them. Its options are the arguments of `tetrys.cluster.plan_write`: lists separated by commas, dicts as JSON.
    Spark refuses its default mode `errorifexists` for sources in Python. `mode("append")` with `option("mode", "create")` does the
    same: it fails if there is a table.
    """
    check_session(spark)
    spark.dataSource.register(TetrysDataSource)


class TetrysDataSource(ds.DataSource):  # type: ignore[misc, unused-ignore]
    """Data source with the name `tetrys`. `register` makes it known to a session."""

    _pinned: str | None = None
    """URL with the version that `load` found."""

    @classmethod
    def name(cls) -> str:
        return "tetrys"

    def _table(self) -> tuple[Table, dict[str, Any]]:
        url, options = options_of(self.options, READ, "spark.read")
        place = place_of(self._pinned or url, options.get("storage_options"), options.get("allow", ()))
        table = opened(place)
        self._pinned = self._pinned or f"{table.url}@{table.version}"
        return table, options

    def schema(self) -> StructType:
        table, options = self._table()
        kinds = types_of(table)
        index = [name for name, _ in table.index_columns]
        patterns = options.get("columns")
        names = list(kinds) if patterns is None else RowLoader(table, columns=patterns).columns
        if not options.get("payload", True):
            names = [name for name in names if name in index]
        if not names:
            raise Invalid(f"{table.url}: no column is selected: `columns` matches none of the index columns {', '.join(index)}")
        return StructType([field(name, kinds[name]) for name in names])

    def reader(self, schema: StructType) -> ds.DataSourceReader:
        table, options = self._table()
        kinds = types_of(table)
        for one in schema.fields:
            if one.name not in kinds:
                raise Invalid(f"{table.url}: no column `{one.name}`; the columns are {', '.join(kinds)}")
            kind, type_name = kinds[one.name], one.dataType.simpleString()
            if type_name != (expected := spark_type(kind).simpleString()):
                raise Invalid(f"column `{one.name}`: the schema says {type_name}, expected {expected} for {kind}")
        return TetrysReader(table, schema, options)

    def writer(self, schema: StructType, overwrite: bool) -> ds.DataSourceWriter:
        url, options = options_of(self.options, WRITE, "df.write")
        given = options.pop("mode", None)
        if overwrite and given is not None:
            raise Invalid(f'option mode: `{given}`, but Spark\'s mode is overwrite: use `.mode("append")` with this option')
        mode = "overwrite" if overwrite else MODES.get(given or "append")
        if mode is None:
            raise Invalid(f"option mode: `{given}`: expected {', '.join(MODES)}")
        if "index" not in options:
            raise Invalid('option index is missing: name the index columns, as in `.option("index", "log_id,time")`')
        kinds = types_of_frame(schema, options.pop("schema", None), types_there(url, mode, options))
        return TetrysWriter(cluster.plan_write(url, schema=kinds, mode=mode, **options))


class TetrysPartition(ds.InputPartition):  # type: ignore[misc, unused-ignore]
    """A split, as Spark's partition of a read."""


class TetrysReader(ds.DataSourceReader):  # type: ignore[misc, unused-ignore]
    """Reads the splits of a table."""

    def __init__(self, table: Table, schema: StructType, options: dict[str, Any]) -> None:
        self._url = f"{table.url}@{table.version}"
        self._schema = schema
        self._kinds = [types_of(table)[name] for name in schema.fieldNames()]
        self._index = {name for name, _ in table.index_columns}
        self._options = options
        self._where: pl.Expr | None = options.get("where")

    def partitions(self) -> list[TetrysPartition]:
        given = {name: self._options[name] for name in ("splits", "split_bytes", "allow", "storage_options") if name in self._options}
        columns = [exactly(name) for name in self._schema.fieldNames()]
        splits = cluster.plan_read(self._url, columns=columns, where=self._where, **given)
        return [TetrysPartition(split) for split in splits]

    def read(self, partition: ds.InputPartition) -> Iterator[pa.RecordBatch]:
        split = partition.value
        if split is None:
            # Spark asks for one partition where there is none.
            return
        names = self._schema.fieldNames()
        schema = arrow_schema(self._schema)
        indexed = self._index.issuperset(names)
        batches: Iterable[Any] = (
            cluster.read_index(split).to_batches(max_chunksize=BATCH_ROWS) if indexed else cluster.read(split, BATCH_BYTES)
        )
        for batch in batches:
            yield from to_spark(batch.select(names), self._kinds, schema)


class TetrysWriter(ds.DataSourceArrowWriter):  # type: ignore[misc, unused-ignore]
    """Writes each task of Spark as a partition, and commits the receipts of the tasks that Spark accepted."""

    def __init__(self, plan: cluster.WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TetrysMessage:
        return TetrysMessage(write_partition(self._plan, iterator))

    def commit(self, messages: list[ds.WriterCommitMessage | None]) -> None:
        receipts = [message.receipt for message in messages if isinstance(message, TetrysMessage)]
        if len(receipts) < len(messages):
            lost = messages.index(None)
            raise Invalid(f"{self._plan.url}: Spark has no result of task {lost}: nothing was committed; write the frame again")
        with advice():
            cluster.commit(self._plan, [receipt for receipt in receipts if receipt is not None])

    def abort(self, messages: list[ds.WriterCommitMessage | None]) -> None:
        cluster.abort(self._plan)


class TetrysMessage(ds.WriterCommitMessage):  # type: ignore[misc, unused-ignore]
    """Receipt of a task; None if it had no rows."""

    def __init__(self, receipt: Receipt | None) -> None:
        self.receipt = receipt
