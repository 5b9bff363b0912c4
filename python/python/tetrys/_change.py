"""Versions that are made of a table: what `Table.append`, `overwrite`, `replace_group`, `add_group`, `patch`, `delete` do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from . import _tetrys
from ._arguments import Url, as_json, chosen, members, texts
from ._index import Index, read_index, tell
from ._table import Table, called, write_options
from ._tetrys import Invalid
from ._write import Data, Locality, batches_of, bound_of, described, first_of, opened, parts_of, types, types_of, written


def append(
    table: Table,
    data: Data | Iterable[Data],
    *,
    reference: Url | Table | Iterable[Url | Table],
    reuse: str,
    locality: Locality,
    preset: str | None,
    write_memory: int | None,
    properties: Mapping[str, Any] | None,
    progress: Callable[[int], object] | None,
) -> Table:
    reuse, preset, write_memory = write_options(reuse, preset, write_memory)
    said = as_json("properties", members("properties", properties))
    options = _preset(table, preset), said, write_memory, opened(reference), reuse, bound_of(locality)
    called(progress)
    native = _tetrys.TableWriter.append(table._native, *options)
    tell(native.untold())
    return written(native, data, types_of(table), progress)


def overwrite(
    table: Table,
    data: Data | Iterable[Data],
    *,
    index: Sequence[str] | None,
    schema: Mapping[str, str] | None,
    groups: Mapping[str, Sequence[str]] | None,
    sequence_by: Sequence[str] | None,
    order_by: Sequence[str] | None,
    units: Mapping[str, str] | None,
    presets: Mapping[str, str] | None,
    required: Sequence[str] | None,
    reference: Url | Table | Iterable[Url | Table],
    reuse: str,
    locality: Locality,
    preset: str | None,
    write_memory: int | None,
    properties: Mapping[str, Any] | None,
    progress: Callable[[int], object] | None,
) -> Table:
    reuse, preset, write_memory = write_options(reuse, preset, write_memory)
    before = types_of(table)
    parts, rest, found = first_of(data, types("schema", schema), before)
    index = [name for name, _ in table.index_columns] if index is None else texts("index", index)
    sequence_by = table.sequence_by if sequence_by is None else sequence_by
    order_by = table.order_by if order_by is None else order_by
    if groups is None:
        there = ((group, [name for name, _ in columns if name in found and name not in index]) for group, columns in table.groups)
        groups = {group: columns for group, columns in there if columns}
    kept = [
        (name, key, json.dumps(value))
        for name in before
        if name in found
        for key, value in table.column_properties(name).items()
        if not (key == "tetrys.nullable" and required is not None)
    ]
    plan = described(found, index, groups, sequence_by, order_by, units, presets, () if required is None else required, kept)
    said = as_json("properties", members("properties", properties))
    options = _preset(table, preset), said, write_memory, opened(reference), reuse, bound_of(locality)
    called(progress)
    native = _tetrys.TableWriter.overwrite(table._native, plan, *options)
    tell(native.untold())
    return written(native, rest, found, progress, parts)


def replace_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    *,
    on: str | Sequence[str] | None,
    reuse: str,
    locality: Locality,
    preset: str | None,
    write_memory: int | None,
) -> Table:
    reuse, preset, write_memory = write_options(reuse, preset, write_memory)
    native = _tetrys.GroupReplacer.replace(table._native, name, _preset(table, preset), write_memory, reuse, bound_of(locality))
    return _grouped(native, data, types_of(table), on)


def add_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    *,
    on: str | Sequence[str] | None,
    schema: Mapping[str, str] | None,
    reuse: str,
    locality: Locality,
    preset: str | None,
    write_memory: int | None,
) -> Table:
    reuse, preset, write_memory = write_options(reuse, preset, write_memory)
    parts, rest, found = first_of(data, types_of(table) | types("schema", schema))
    there = [column for column, _ in parts[0] if column not in _names(on)]
    columns = [(column, found[column]) for column in there]
    native = _tetrys.GroupReplacer.add(table._native, name, columns, _preset(table, preset), write_memory, reuse, bound_of(locality))
    return _grouped(native, rest, found, on, parts)


def patch(
    table: Table,
    data: Data,
    on: str | Sequence[str],
    *,
    reuse: str,
    locality: Locality,
    preset: str | None,
    write_memory: int | None,
) -> Table:
    reuse, preset, write_memory = write_options(reuse, preset, write_memory)
    names = texts("on", on)
    parts = list(parts_of(data, types_of(table)))
    if len(parts) != 1:
        raise Invalid(f"a patch of {len(parts)} batches: give one, as a frame in one chunk or a mapping of columns")
    return Table._of(_tetrys.patch(table._native, names, parts[0], _preset(table, preset), write_memory, reuse, bound_of(locality)))


def delete(table: Table, rows: Any) -> Table:
    if isinstance(rows, pl.Expr):
        rows = read_index(table).filter(rows)
    if isinstance(rows, Index):
        numbers = rows._native.rows_of(table._native)
    else:
        numbers = chosen(rows, len(table), "a table", negative=False).tolist()
    return Table._of(table._native._delete(numbers))


def _grouped(
    native: _tetrys.GroupReplacer,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    on: str | Sequence[str] | None,
    before: Iterable[list[tuple[str, _tetrys.Column]]] = (),
) -> Table:
    keys = None if on is None else _names(on)
    for part in [*before, *(part for batch in batches_of(data) for part in parts_of(batch, schema))]:
        native.write(part, keys)
    return Table._of(native.commit())


def _names(on: str | Sequence[str] | None) -> list[str]:
    return [] if on is None else texts("on", on)


def _preset(table: Table, preset: str | None) -> str:
    """That of the table, unless another one is asked for."""
    return preset if preset is not None else table.preset
