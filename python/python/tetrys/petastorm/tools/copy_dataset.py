"""Copies a table with some of its fields and rows: `python -m tetrys.petastorm.tools.copy_dataset SOURCE TARGET`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..._arguments import exactly, limited, truth, url_of, whole
from ..._errors import short
from ..._index import read_index
from ..._rows import RowLoader
from ..._table import Table
from ..._tetrys import NotFound
from ..._write import write_table
from .._source import Source, opened
from .._stored import ROW_GROUP, SCHEMA, Stored, column_properties, with_sources
from ..errors import NoColumn, WrongType, WrongValue, found
from ..unischema import match_unischema_fields

__all__ = ["args_parser", "copy_dataset", "main"]

# Rows that are written together.
_ROWS = 256


def copy_dataset(
    spark: Any,
    source_url: Any,
    target_url: Any,
    field_regex: Iterable[str] | None,
    not_null_fields: Iterable[str] | None,
    overwrite_output: bool,
    partitions_count: int | None,
    row_group_size_mb: int | None,
    hdfs_driver: str = "libhdfs3",
) -> None:
    """Copies a table: all rows, or those without nulls in some fields; all fields, or those that match patterns. Values are copied as they
    are stored: pictures are not encoded again.

    Args:
        spark, hdfs_driver: Unused.
        source_url: URL or path of the table or view.
        target_url: URL or path of the new table.
        field_regex: Regular expressions of whole field names; None or an empty list: all fields.
        not_null_fields: Fields; rows with a null in one of them are left out.
        overwrite_output: Whether a new version of an existing table has the rows, in place of those before. Else it must not exist.
        partitions_count, row_group_size_mb: Checked and otherwise unused: the library chooses the size of objects.

    Example:
        >>> from tetrys.petastorm.tools.copy_dataset import copy_dataset
        >>> copy_dataset(None, "drives", "times", ["timestamp", "labels.*"], [], False, None, None)
        >>> tt.open_table("times").groups
        [('labels', [('labels.text', 'utf8')])]

    Raises:
        ValueError (an `Invalid`): no field matches, or no scalar of the index is among those that do.
        KeyError (a `NotFound`): there is no such field in `not_null_fields`.
        FileNotFoundError (a `NotFound`): there is no table. A data set of Petastorm is made one by `tetrys.ingest_petastorm`.
        Exists: there is a table at the target.
    """
    del spark, hdfs_driver
    for name, value in (("partitions_count", partitions_count), ("row_group_size_mb", row_group_size_mb)):
        if value is not None:
            whole(name, value, 1)
    replaces, target = truth("overwrite_output", overwrite_output), url_of(target_url)
    source = opened(source_url)
    patterns = None if field_regex is None else limited("field_regex", field_regex, 1 << 16)
    matched = match_unischema_fields(source.schema, patterns)
    if patterns and not matched:
        raise WrongValue(f"regular expressions {short(patterns)} do not match any fields; there are: {', '.join(source.fields)}")
    fields = [source.fields[field.name] for field in matched] or list(source.fields.values())
    rows, kept = source.rows, _without_nulls(source, not_null_fields)
    if kept is not None:
        rows = (read_index(rows) if isinstance(rows, Table) else rows)[kept]
    _write(source, fields, RowLoader(rows), target, replaces)


def _without_nulls(source: Source, names: Any) -> Any:
    """Returns the positions of the rows that have a value in each of some fields; None for all rows."""
    if names is None:
        return None
    if not isinstance(names, (list, tuple)):
        raise WrongType(f"not_null_fields: expected a list of names, found {found(names)}")
    if missing := [name for name in names if not isinstance(name, str) or name not in source.fields]:
        raise NoColumn(f"not_null_fields: no field {found(missing[0])}; there are: {', '.join(source.fields)}")
    if not names:
        return None
    chosen = [source.fields[name] for name in names]
    parts = source.values(chosen, np.arange(len(source)), source.loader(), with_none=True)
    kept = [places[[all(value is not None for value in row) for row in zip(*values, strict=True)]] for places, values in parts]
    return np.concatenate([np.empty(0, np.int64), *kept])


def _write(source: Source, fields: Sequence[Stored], rows: RowLoader, target: str, replaces: bool) -> None:
    table = source.tables[0]
    kinds = dict(table.index_columns) | {name: kind for _, columns in table.groups for name, kind in columns}
    columns = [column for stored in fields for column in stored.columns]
    if ROW_GROUP in kinds:
        columns = [ROW_GROUP, *columns]
    of_table = [name for name, _ in table.index_columns]
    index = [name for name in columns if name in of_table]
    if not index:
        raise WrongValue(f"none of the fields that match is a scalar of the index: let one more match: {', '.join(of_table)}")
    layout: dict[str, Any] = {
        "index": index,
        "schema": {name: kinds[name] for name in columns},
        "groups": {group: kept for group, names in table.groups if (kept := [name for name, _ in names if name in columns])},
        "sequence_by": table.sequence_by if set(table.sequence_by) <= set(index) else [],
        "order_by": table.order_by if set(table.order_by) <= set(index) else [],
    }
    data: Any = rows.scan(_ROWS, [exactly(name) for name in columns]) if len(rows) else {name: [] for name in columns}
    before = _existing(target) if replaces else None
    if before is None:
        made = write_table(target, data, preset=table.preset, **layout)
    else:
        # An overwrite keeps the properties of the table. Until the edit below, no field may be named whose column has no properties.
        unnamed = {SCHEMA: {"name": source.name, "fields": []}} if SCHEMA in before.properties else None
        made = before.overwrite(data, properties=unnamed, **layout)
    behind = with_sources(table)
    declared = {name: properties for name in columns if (properties := column_properties(behind, name))}
    named: dict[str, Any] = {}
    if any(SCHEMA in one.properties for one in behind):
        named = {SCHEMA: {"name": source.name, "fields": [stored.field.name for stored in fields]}}
    elif SCHEMA in made.properties:
        named = {SCHEMA: None}
    if declared or named:
        made.edit(properties=named, column_properties=declared)


def _existing(url: str) -> Table | None:
    try:
        return Table(url)
    except NotFound:
        return None


def args_parser() -> argparse.ArgumentParser:
    """Returns the parser of the arguments of the program: those of Petastorm's."""
    parser = argparse.ArgumentParser(prog="python -m tetrys.petastorm.tools.copy_dataset", description="Copies a table with some of its fields and rows.")
    parser.add_argument("source_url", help="URL or path of the table")
    parser.add_argument("target_url", help="URL or path of the new table")
    parser.add_argument("--overwrite-output", action="store_true", help="let a new version of an existing table have the rows")
    parser.add_argument("--field-regex", nargs="+", help="regular expressions of the names of the fields to copy")
    parser.add_argument("--not-null-fields", nargs="+", help="fields without nulls in the rows to copy")
    parser.add_argument("--partition-count", type=int, help="checked and otherwise unused")
    parser.add_argument("--row-group-size-mb", type=int, help="checked and otherwise unused")
    for unused in ("--hdfs-driver", "--master"):
        parser.add_argument(unused, help="unused")
    parser.add_argument("--spark-session-config", nargs="+", help="unused")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program with some arguments; None: those of the command line."""
    given = args_parser().parse_args(arguments)
    copy_dataset(
        None, given.source_url, given.target_url, given.field_regex, given.not_null_fields, given.overwrite_output, given.partition_count,
        given.row_group_size_mb,
    )  # fmt: skip


_main = main

if __name__ == "__main__":
    main(sys.argv[1:])
