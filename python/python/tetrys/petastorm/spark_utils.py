"""Rows of a table in Spark, as Petastorm decodes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._index import Index, read_index
from .._table import Table
from ._source import opened
from .errors import WrongType, found
from .reader import make_reader
from .unischema import UnischemaField

__all__ = ["dataset_as_rdd"]

_PARTITION_BYTES = 128 << 20


def dataset_as_rdd(
    dataset_url: Any, spark_session: Any, schema_fields: Sequence[UnischemaField | str] | None = None, hdfs_driver: str = "libhdfs3"
) -> Any:
    """Returns the rows of a table as an RDD of namedtuples, in the order of the table.

    Executors read the rows; each task reads a range of them. `spark.read.format("tetrys")` is faster where a DataFrame of the stored
    columns will do.

    Args:
        dataset_url: URL or path of a table that the executors can read, or a `Table`.
        spark_session: The Spark session.
        schema_fields: Fields and regular expressions; default: all fields.
        hdfs_driver: Unused.

    Raises:
        NotFound: there is no table.
        TypeError (an `Invalid`): `dataset_url` is a list or an `Index`.
        ValueError (an `Invalid`): a field does not exist.
    """
    del hdfs_driver
    if not callable(getattr(getattr(spark_session, "sparkContext", None), "parallelize", None)):
        raise WrongType(f"spark_session: expected a Spark session with a SparkContext, found {found(spark_session)}")
    if isinstance(dataset_url, (list, tuple, Index)):
        advice = ": save an index as a view by `Index.save`" if isinstance(dataset_url, Index) else ""
        raise WrongType(f"dataset_url: expected the URL or path of one table, found {found(dataset_url)}{advice}")
    source = opened(dataset_url)
    table = source.tables[0]
    names = None if schema_fields is None else list(source.schema.create_schema_view(schema_fields).fields)
    context, rows = spark_session.sparkContext, len(source)
    bytes_of_all = rows * source.row_bytes(list(source.fields.values()))
    parts = max(1, min(rows, max(context.defaultParallelism, int(bytes_of_all / _PARTITION_BYTES))))
    ranges = [(part * rows // parts, (part + 1) * rows // parts) for part in range(parts)]
    # The table carries its version and the options of its store.
    return context.parallelize(ranges, parts).mapPartitions(lambda given: _rows(table, names, given))


def _rows(table: Table, names: list[str] | None, ranges: Iterable[tuple[int, int]]) -> Iterator[Any]:
    """Reads ranges of rows on an executor."""
    for start, end in ranges:
        if start < end:
            fields = None if names is None else [UnischemaField(name, None, ()) for name in names]
            with make_reader(read_index(table)[start:end], schema_fields=fields, shuffle_row_groups=False) as reader:
                yield from reader
