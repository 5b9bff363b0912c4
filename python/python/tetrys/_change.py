"""Implements the methods of `Table` that publish versions with new, other or fewer rows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from . import _tetrys
from ._arguments import chosen, texts
from ._index import Index, read_index
from ._options import Layout, Options, described, types
from ._table import Table, called, made, tell
from ._tetrys import Column
from ._write import Data, batch_of, batches_of, first_of, parts_of, types_of, written

Progress = Callable[[int], object] | None


def append(table: Table, data: Data | Iterable[Data], options: Options, progress: Progress) -> Table:
    called(progress)
    native = _tetrys.TableWriter.append(table._native, options)
    tell(native.untold())
    return written(native, data, types_of(table), progress)


def overwrite(
    table: Table,
    data: Data | Iterable[Data],
    schema: Mapping[str, str] | None,
    layout: Layout,
    options: Options,
    progress: Progress,
) -> Table:
    before = types_of(table)
    declared = types("schema", schema)
    parts, rest, found = first_of(data, declared, before, declared)
    index = [name for name, _ in table.index_columns] if layout.index is None else texts("index", layout.index)
    groups = layout.groups
    if groups is None:
        there = ((group, [name for name, _ in columns if name in found and name not in index]) for group, columns in table.groups)
        groups = {group: columns for group, columns in there if columns}
    kept = [
        (name, key, json.dumps(value))
        for name in before
        if name in found
        for key, value in table.column_properties(name).items()
        if not (key == "tetrys.nullable" and layout.required is not None)
        if not (
            key == "tetrys.bloom_filter"
            and (layout.bloom_filters is not None or name not in index or found[name] in ("f32", "f64", "bool"))
        )
    ]
    layout = dataclasses.replace(
        layout,
        index=index,
        groups=groups,
        sequence_by=table.sequence_by if layout.sequence_by is None else layout.sequence_by,
        order_by=table.order_by if layout.order_by is None else layout.order_by,
    )
    called(progress)
    native = _tetrys.TableWriter.overwrite(table._native, described(found, layout, kept), options)
    tell(native.untold())
    return written(native, rest, found, progress, parts)


def replace_group(
    table: Table, name: str, data: Data | Iterable[Data], on: str | Sequence[str] | None, options: Options
) -> Table:
    return _grouped(_tetrys.GroupReplacer.replace(table._native, name, options), data, types_of(table), _keys(on))


def add_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    on: str | Sequence[str] | None,
    schema: Mapping[str, str] | None,
    options: Options,
) -> Table:
    declared = types("schema", schema)
    parts, rest, found = first_of(data, types_of(table) | declared, known=declared)
    keys = _keys(on)
    columns = [(column, found[column]) for column, _ in parts[0] if column not in (keys or ())]
    return _grouped(_tetrys.GroupReplacer.add(table._native, name, columns, options), rest, found, keys, parts)


def patch(table: Table, data: Data | Iterable[Mapping[str, Any]], on: str | Sequence[str], options: Options) -> Table:
    names = texts("on", on)
    first, *others = parts_of(batch_of(data), types_of(table))
    # A frame may consist of several chunks.
    columns = [(name, Column.concat([column, *(part[place][1] for part in others)])) for place, (name, column) in enumerate(first)]
    return made(_tetrys.patch(table._native, names, columns, options))


def delete(table: Table, rows: Any, allow_unpinned: bool) -> Table:
    if isinstance(rows, pl.Expr):
        rows = read_index(table).filter(rows)
    if isinstance(rows, Index):
        numbers = rows._native.rows_of(table._native)
    else:
        numbers = chosen(rows, len(table), "a table", negative=False).tolist()
    return made(table._native._delete(numbers, allow_unpinned))


def _grouped(
    native: _tetrys.GroupReplacer,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    keys: list[str] | None,
    before: Iterable[list[tuple[str, _tetrys.Column]]] = (),
) -> Table:
    for part in [*before, *(part for batch in batches_of(data) for part in parts_of(batch, schema))]:
        native.write(part, keys)
    return made(native.commit())


def _keys(on: str | Sequence[str] | None) -> list[str] | None:
    return None if on is None else texts("on", on)
