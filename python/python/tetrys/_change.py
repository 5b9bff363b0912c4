"""Versions that are made of a table: what `Table.append`, `overwrite`, `replace_group`, `add_group`, `patch`, `delete` do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from . import _tetrys
from ._index import Index, read_index, tell
from ._tetrys import Invalid, Table
from ._write import Data, Locality, bound_of, described, first_of, opened, parts_of, types_of, written


def append(
    table: Table,
    data: Data | Iterable[Data],
    *,
    reference: str | Table | Iterable[str | Table] = (),
    reuse: str = "any",
    locality: Locality = None,
    preset: str | None = None,
    write_memory: int | None = None,
    properties: Mapping[str, Any] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Table:
    schema = types_of(table)
    said = json.dumps(dict(properties or {}))
    bound, references = bound_of(locality), opened(reference)
    native = _tetrys.TableWriter.append(table, _preset(table, preset), said, write_memory, references, reuse, bound)
    tell(native.untold())
    return written(native, data, schema, progress)


def overwrite(
    table: Table,
    data: Data | Iterable[Data],
    *,
    index: Sequence[str],
    schema: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    sequence_by: Sequence[str] = (),
    order_by: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    presets: Mapping[str, str] | None = None,
    required: Sequence[str] = (),
    reference: str | Table | Iterable[str | Table] = (),
    reuse: str = "any",
    locality: Locality = None,
    preset: str | None = None,
    write_memory: int | None = None,
    properties: Mapping[str, Any] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Table:
    parts, rest, found = first_of(data, schema or {})
    plan = described(found, index, groups, sequence_by, order_by, units, presets, required)
    said = json.dumps(dict(properties or {}))
    bound, references = bound_of(locality), opened(reference)
    native = _tetrys.TableWriter.overwrite(table, plan, _preset(table, preset), said, write_memory, references, reuse, bound)
    tell(native.untold())
    return written(native, rest, found, progress, parts)


def replace_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    *,
    on: str | Sequence[str] | None = None,
    reuse: str = "any",
    locality: Locality = None,
    preset: str | None = None,
    write_memory: int | None = None,
) -> Table:
    native = _tetrys.GroupReplacer.replace(table, name, _preset(table, preset), write_memory, reuse, bound_of(locality))
    return _grouped(native, data, types_of(table), on)


def add_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    *,
    on: str | Sequence[str] | None = None,
    schema: Mapping[str, str] | None = None,
    reuse: str = "any",
    locality: Locality = None,
    preset: str | None = None,
    write_memory: int | None = None,
) -> Table:
    parts, rest, found = first_of(data, dict(types_of(table)) | dict(schema or {}))
    there = [column for column, _ in parts[0] if column not in _names(on)]
    columns = [(column, found[column]) for column in there]
    native = _tetrys.GroupReplacer.add(table, name, columns, _preset(table, preset), write_memory, reuse, bound_of(locality))
    return _grouped(native, rest, found, on, parts)


def patch(
    table: Table,
    data: Data,
    on: str | Sequence[str],
    *,
    reuse: str = "any",
    locality: Locality = None,
    preset: str | None = None,
    write_memory: int | None = None,
) -> Table:
    parts = list(parts_of(data, types_of(table)))
    if len(parts) != 1:
        raise Invalid(f"a patch of {len(parts)} batches: give one, as a frame in one chunk or a mapping of columns")
    return _tetrys.patch(table, _names(on), parts[0], _preset(table, preset), write_memory, reuse, bound_of(locality))


def delete(table: Table, rows: Any) -> Table:
    if isinstance(rows, pl.Expr):
        rows = read_index(table).filter(rows)
    if isinstance(rows, Index):
        rows = rows._native.rows_of(table)
    return table._delete([int(row) for row in np.asarray(list(rows)).reshape(-1)])


def restore(url: str, allow: list[str]) -> Table:
    """What a pickled table becomes."""
    return Table(url, allow=allow)


def _grouped(
    native: _tetrys.GroupReplacer,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    on: str | Sequence[str] | None,
    before: Iterable[list[tuple[str, _tetrys.Column]]] = (),
) -> Table:
    keys = None if on is None else _names(on)
    for part in [*before, *(part for batch in _several(data) for part in parts_of(batch, schema))]:
        native.write(part, keys)
    return native.commit()


def _several(data: Data | Iterable[Data]) -> Iterable[Data]:
    alone = isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")
    return [cast("Data", data)] if alone else cast("Iterable[Data]", data)


def _names(on: str | Sequence[str] | None) -> list[str]:
    return [] if on is None else [on] if isinstance(on, str) else list(on)


def _preset(table: Table, preset: str | None) -> str:
    """That of the table, unless another one is asked for."""
    return preset if preset is not None else table.preset
