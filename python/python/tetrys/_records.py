"""Rows as dicts, {column: value}: what tells them from batches of columns, and their conversion to such batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._arguments import text
from ._errors import NoColumn, WrongType, found, short
from ._tetrys import Invalid

ROWS_BYTES = 4 << 20
"""Bytes of single rows that are collected to a batch."""


def is_row(one: object) -> bool:
    """Whether a dict is a row: at least one of its values is no list and no array, as the values of a batch of columns are."""
    return isinstance(one, Mapping) and any(_is_single(value) for value in one.values())


def _is_single(value: object) -> bool:
    if value is None or isinstance(value, (str, bytes, bytearray, memoryview)):
        return True
    # The other libraries have iterable scalars too: arrays and tensors without dimensions.
    return not isinstance(value, Iterable) and not hasattr(value, "__arrow_c_array__") or getattr(value, "shape", None) == ()


def batches_of_rows(rows: Iterable[Any], known: Iterable[str], *, in_one: bool, even: bool = False) -> Iterator[dict[str, list[Any]]]:
    """Yields rows as batches of columns: those of the first row, and the `known` ones. A value that a row lacks is null.

    Args:
        in_one: Yields one batch; otherwise one for each 4 MiB.
        even: Rows that lack a column of the first row are an error.
    """
    names: dict[str, None] = {}
    batch: list[Mapping[str, Any]] = []
    size = 0
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise WrongType(f"row {number}: expected a dict, as the first row is, found {found(row)}")
        if number == 0:
            names = dict.fromkeys([*(text("row 0, a column", name) for name in row), *known])
        if unknown := [name for name in row if name not in names]:
            raise NoColumn(
                f"row {number}: no column `{short(unknown[0])}`: the columns are those of the first row and of `schema`: {', '.join(names)}; "
                "give the first row a value or None, or declare the type"
            )
        if even and (missing := [name for name in names if name not in row]):
            raise Invalid(f"row {number}: column `{missing[0]}` is missing, and the first row has it: give it a value, or None for null")
        batch.append(row)
        size += sum(bytes_of(value) for value in row.values())
        if size >= ROWS_BYTES and not in_one:
            yield columns_of_rows(batch, names)
            batch, size = [], 0
    if batch:
        yield columns_of_rows(batch, names)


def columns_of_rows(rows: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}


def bytes_of(value: Any) -> int:
    """Estimates the bytes of a value. The items of a list count as much as its first one."""
    if isinstance(value, (list, tuple)):
        return len(value) * bytes_of(value[0]) if value else 8
    return len(value) if isinstance(value, (str, bytes)) else int(getattr(value, "nbytes", 8))
