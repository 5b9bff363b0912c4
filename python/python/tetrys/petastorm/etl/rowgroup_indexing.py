"""Names the indexes of a table for selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._select import INDEXES
from .._source import opened
from ..errors import WrongType, WrongValue, found
from .rowgroup_indexers import SingleFieldIndexer

__all__ = ["build_rowgroup_index"]


def build_rowgroup_index(dataset_url: Any, spark_context: Any, indexers: Sequence[SingleFieldIndexer], hdfs_driver: str = "libhdfs3") -> None:
    """Records names of indexes in the property `petastorm.indexes` of a table, as a new version. Reads no rows, and uses no Spark.

    A selector may also use the name of a field without that.

    Args:
        dataset_url: URL or path of the table.
        spark_context, hdfs_driver: Unused.
        indexers: The names and their fields.

    Raises:
        NotFound: there is no table; as a KeyError, there is no such field.
        ValueError, TypeError (both an `Invalid`): there are no indexers, or something else is among them.
    """
    del spark_context, hdfs_driver
    if not isinstance(indexers, (list, tuple)) or not indexers:
        raise WrongValue(f"indexers: expected a list of one or more, found {found(indexers)}")
    source = opened(dataset_url)
    named: dict[str, Any] = {}
    for indexer in indexers:
        if not isinstance(indexer, SingleFieldIndexer):
            raise WrongType(f"indexers: expected SingleFieldIndexer or FieldNotNullIndexer, found {found(indexer)}")
        source.named(indexer.column_names[0], f"indexer `{indexer.index_name}`")
        named[indexer.index_name] = {"class": type(indexer).__name__, "columns": indexer.column_names}
    table = source.tables[0]
    table.edit(properties={INDEXES: {**table.properties.get(INDEXES, {}), **named}})
