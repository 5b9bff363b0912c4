"""Notebook views of tables, indexes and rows: sizes, shapes and small pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _images, _tetrys
from ._tetrys import Error, Ragged, Rows

if TYPE_CHECKING:
    from ._index import Index
    from ._table import Table

SHOWN = 4
"""Number of rows whose pictures an index shows."""
MOST = 16 << 20
"""Largest number of bytes that are read for the pictures."""


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _size(count: int) -> str:
    for step, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count} B"


def of_table(table: Table) -> str:
    """Shows the number of rows, and the columns and sizes of each group."""
    head = f"<p>Table <code>{escape(table.url)}</code> version {table.version}: {len(table):,} rows</p>"
    sizes = table.group_sizes
    rows = []
    for group, columns in table.groups:
        stored, logical = sizes[group]
        names = ", ".join(f"{escape(name)} <i>{escape(ty)}</i>" for name, ty in columns)
        rows.append((escape(group), names, _size(stored), _size(logical)))
    return head + _grid(["column group", "columns", "stored", "decoded"], rows)


def of_index(index: Index) -> str:
    """Shows the tables, the frame, and the pictures of the first rows."""
    tables = "".join(of_table(table) for table in index.tables)
    html: str = index.to_polars()._repr_html_()
    return f"<p>Index of {len(index):,} rows</p>{html}{_pictures(index)}{tables}"


def _pictures(index: Index) -> str:
    """Shows nothing if there are no pictures or if they need too many bytes; an error becomes text."""
    loader = _tetrys.RowLoader.of_index(index._native, "pad", MOST, None)
    there = set(loader.column_names())
    groups = [columns for table in index.tables for _, columns in table.groups]
    names = [name for columns in groups for name, ty in columns if ty == "binary" and name in there]
    names = list(dict.fromkeys(names))
    positions = list(range(min(SHOWN, len(index))))
    if not names or not positions:
        return ""
    try:
        escaped = [f"re:^{_pattern(name)}$" for name in names]
        if loader.explain(positions, escaped, None, places=False)["bytes"] > MOST:
            return ""
        rows = loader.take(positions, escaped)
    except Error as error:
        return f"<p>no pictures: {escape(str(error))}</p>"
    shown = []
    for name in names:
        values = rows[name].to_list()
        if any(value is not None and _images.kind(value) for value in values):
            shown.append((escape(name), *("" if value is None else _images.thumbnail(value) for value in values)))
    return _grid(["pictures", *(f"row {position}" for position in positions)], shown) if shown else ""


def _pattern(name: str) -> str:
    """Returns a regular expression of Rust that matches this name alone."""
    return "".join(f"\\{one}" if one in r"\.+*?()|[]{}^$#&-~" else one for one in name)


def of_rows(rows: Rows) -> str:
    """Shows the type and shape of each column, and the first pictures."""
    there = int(rows.mask.sum())
    shown = []
    for name, ty in rows.types.items():
        values = rows[name]
        shape, look = str(list(values.shape)) if isinstance(values, np.ndarray) else f"{len(values)} rows", ""
        if isinstance(values, Ragged):
            shape = f"{len(values)} rows, values {list(values.values.shape)}"
            if ty == "binary":
                first: list[Any] = [value for value in (values[row] for row in range(min(len(values), SHOWN))) if value is not None]
                look = "".join(_images.thumbnail(value) for value in first if _images.kind(value))
        shown.append((escape(name), f"<i>{escape(ty)}</i>", shape, look))
    return f"<p>Rows: {len(rows)}, of which {there} exist</p>" + _grid(["column", "type", "shape", ""], shown)
