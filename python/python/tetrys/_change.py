"""Implements the methods of `Table` that publish versions with new, other or fewer rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from . import _tetrys
from ._arguments import called, chosen, native_of, texts
from ._conditions import rows_where
from ._data import Data, batch_of, batches_of, first_of, parts_of, types_of, written
from ._options import Layout, Options, described, types, warn_not_pinned
from ._tetrys import Column

if TYPE_CHECKING:
    from ._table import Table

Progress = Callable[[int], object] | None


def append(table: Table, data: Data | Iterable[Data], options: Options, progress: Progress) -> _tetrys.Table:
    called(progress)
    native = _tetrys.TableWriter.append(table._native, options)
    warn_not_pinned(native.unpinned())
    return written(native, data, types_of(table), progress)


def overwrite(
    table: Table,
    data: Data | Iterable[Data],
    schema: Mapping[str, str] | None,
    layout: Layout,
    options: Options,
    progress: Progress,
) -> _tetrys.Table:
    declared = types("schema", schema)
    parts, rest, found = first_of(data, declared, types_of(table), declared)
    called(progress)
    native = _tetrys.TableWriter.overwrite(table._native, described(found, layout, inherits=True), options, True)
    warn_not_pinned(native.unpinned())
    return written(native, rest, found, progress, parts)


def replace_group(
    table: Table, name: str, data: Data | Iterable[Data], on: str | Sequence[str] | None, options: Options
) -> _tetrys.Table:
    return _grouped(_tetrys.GroupReplacer.replace(table._native, name, options), data, types_of(table), _keys(on))


def add_group(
    table: Table,
    name: str,
    data: Data | Iterable[Data],
    on: str | Sequence[str] | None,
    schema: Mapping[str, str] | None,
    options: Options,
) -> _tetrys.Table:
    declared = types("schema", schema)
    parts, rest, found = first_of(data, types_of(table) | declared, known=declared)
    keys = _keys(on)
    columns = [(column, found[column]) for column, _ in parts[0] if column not in (keys or ())]
    return _grouped(_tetrys.GroupReplacer.add(table._native, name, columns, options), rest, found, keys, parts)


def patch(table: Table, data: Data | Iterable[Mapping[str, Any]], on: str | Sequence[str], options: Options) -> _tetrys.Table:
    names = texts("on", on)
    first, *others = parts_of(batch_of(data), types_of(table))
    # A frame may consist of several chunks.
    columns = [(name, Column.concat([column, *(part[place][1] for part in others)])) for place, (name, column) in enumerate(first)]
    return _tetrys.patch(table._native, names, columns, options)


def delete(table: Table, rows: Any, allow_unpinned: bool) -> _tetrys.Table:
    if isinstance(rows, pl.Expr):
        numbers = rows_where(table, rows)
    elif (index := native_of(rows, _tetrys.Index)) is not None:
        numbers = index.rows_of(table._native)
    else:
        numbers = chosen(rows, len(table), "a table", negative=False).tolist()
    return table._native._delete(numbers, allow_unpinned)


def _grouped(
    native: _tetrys.GroupReplacer,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    keys: list[str] | None,
    before: Iterable[list[tuple[str, _tetrys.Column]]] = (),
) -> _tetrys.Table:
    for part in [*before, *(part for batch in batches_of(data) for part in parts_of(batch, schema))]:
        native.write(part, keys)
    return native.commit()


def _keys(on: str | Sequence[str] | None) -> list[str] | None:
    return None if on is None else texts("on", on)
