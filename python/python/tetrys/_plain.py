"""Rows as Arrow tables of plain types: tensors as nested lists, for libraries that do not know the tensors of Arrow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._errors import imported
from ._tetrys import Rows


def table_of(rows: Rows) -> Any:
    """Returns the columns of rows as a pyarrow table without extension types; see `Rows.to_arrow`."""
    arrow = imported("pyarrow", "an Arrow table needs pyarrow: pip install pyarrow")
    table = arrow.table(rows)
    columns = {}
    for name, type_name in rows.types.items():
        column = table[name].combine_chunks()
        # A number type with extents: `timestamp[us]` has none.
        if not re.match(r"(bool|bf16|[iuf]\d+)\[", type_name):
            columns[name] = column
        elif "?" in type_name:
            columns[name] = _of_any_shape(arrow, column, type_name, rows[name].shapes)
        else:
            columns[name] = _of_one_shape(arrow, column)
    # The locators, and other metadata of fields, mean nothing elsewhere.
    return arrow.table(columns)


def _of_one_shape(arrow: Any, column: Any) -> Any:
    """Makes lists of fixed size of an array of tensors."""
    storage, shape = column.storage, column.type.shape
    size = storage.type.list_size
    if 0 in shape:
        # No list of Arrow has a fixed size of 0.
        nested, empty = storage.type.value_type, np.empty(shape).tolist()
        for _ in shape:
            nested = arrow.large_list(nested)
        return arrow.array([empty if valid else None for valid in storage.is_valid().to_pylist()], nested)
    if not shape:
        return imported("pyarrow.compute", "an Arrow table needs pyarrow: pip install pyarrow").list_element(storage, 0)
    # `values` has those before the offset of the array too.
    lists = storage.values.slice(storage.offset * size, len(storage) * size)
    for extent in reversed(shape[1:]):
        lists = arrow.FixedSizeListArray.from_arrays(lists, extent)
    return arrow.FixedSizeListArray.from_arrays(lists, shape[0], mask=storage.is_null() if storage.null_count else None)


def _of_any_shape(arrow: Any, column: Any, type_name: str, shapes: Any) -> Any:
    """Makes lists of tensors whose shapes, i64 [rows, rank], differ: the struct of their values and shapes. Null values have no elements."""
    extents = type_name.rstrip("]").split("[")[1].split(",")
    lists = column.field("data").flatten()
    for level in reversed(range(1, len(extents))):
        if extents[level] not in ("?", "0"):
            lists = arrow.FixedSizeListArray.from_arrays(lists, int(extents[level]))
        else:
            lengths = np.repeat(shapes[:, level], shapes[:, :level].prod(axis=1))
            lists = arrow.LargeListArray.from_arrays(_offsets(lengths), lists)
    # Null rows have no lists, so the outermost ones have no fixed size.
    mask = column.is_null() if column.null_count else None
    return arrow.LargeListArray.from_arrays(arrow.array(_offsets(shapes[:, 0])), lists, mask=mask)


def _offsets(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
