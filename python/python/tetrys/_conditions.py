"""Conditions on the rows of an index, as expressions of polars: what a read needs for them, and their errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import polars as pl
from polars.io.plugins import register_io_source

from . import _tetrys
from ._arguments import exactly, text
from ._tetrys import Invalid, NotFound

if TYPE_CHECKING:
    from ._table import Table

_KEPT = "__tetrys_kept"


class Stream:
    """Wraps an Arrow C stream capsule, so that polars can import it."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream


POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError, OverflowError, AttributeError)
"""Exceptions of polars for arguments that it rejects."""


def refused(what: str, error: BaseException) -> NoReturn:
    """Raises a polars error as a `tetrys` error of the matching kind."""
    if isinstance(error, pl.exceptions.PanicException):
        raise Invalid(f"{what}: polars fails at this expression") from error
    kind = NotFound if isinstance(error, pl.exceptions.ColumnNotFoundError) else Invalid
    # polars adds its plan, and a list of columns that has those of locators.
    message = str(error).split("\n\nResolved plan", 1)[0].split("; valid columns:", 1)[0]
    raise kind(f"{what}: {message}") from error


class ByRow(NamedTuple):
    """The part of a condition that looks at one row at a time."""

    skipped: str | None = None
    """Its JSON, by which the native module skips rows; None if there is no such part, or polars cannot write it."""
    mask: tuple[list[str], Callable[[object], pl.DataFrame]] | None = None
    """Columns, and a function that returns whether each row of a frame of them is kept."""


def needed(
    table: Table, columns: list[str] | None, where: str | pl.Expr | None, categorical: bool = False
) -> tuple[list[str] | None, str | None, ByRow]:
    """Returns what the native module reads for a condition: patterns of columns, the condition if it is SQL, and, if it is an expression,
    its part that looks at one row at a time."""
    if not isinstance(where, pl.Expr):
        return columns, None if where is None else text("where", where), ByRow()
    if where.meta.has_multiple_outputs():
        # It may read any column: `pl.all()`, a selector or a pattern.
        columns = None
    if columns is not None:
        names = {*_tetrys.Index.chosen(table._native, columns), *where.meta.root_names()}
        columns = [exactly(name) for name, _ in table.index_columns if name in names]
    return columns, None, ByRow() if table.is_view else _by_row(table, where, categorical)


def _by_row(table: Table, where: pl.Expr, categorical: bool) -> ByRow:
    """Returns the part of a condition that looks at one row at a time. polars passes only such conditions to an IO source."""
    empty = pl.DataFrame(Stream(_tetrys.IndexScan(table._native, categorical).empty()))
    given: list[pl.Expr] = []

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        given.extend([] if predicate is None else [predicate])
        yield empty if columns is None else empty.select(columns)

    try:
        register_io_source(source, schema=empty.schema).filter(where).collect()
    except POLARS:
        # `Index.filter` reports the error later.
        return ByRow()
    if not given:
        return ByRow()
    predicate, skipped = given[0], serialized(given[0])
    # Columns of text are not categorical yet when conditions are evaluated.
    types = {name: empty.schema[name] for name in predicate.meta.root_names()}

    def mask(rows: object) -> pl.DataFrame:
        part = pl.DataFrame(Stream(rows))
        if part.is_empty():
            # A function of the user may need rows. polars has checked names and types above.
            return pl.DataFrame(schema={_KEPT: pl.Boolean})
        try:
            part = pl.DataFrame([column.cast(types[column.name]) for column in part])
            return part.with_columns(predicate.cast(pl.Boolean).alias(_KEPT)).select(_KEPT)
        except POLARS as error:
            refused("filter", error)

    return ByRow(skipped, (list(types), mask))


def serialized(predicate: pl.Expr) -> str | None:
    """Returns a predicate as text, by which the native module skips rows; None if polars cannot write it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return predicate.meta.serialize(format="json")
    except Exception:
        return None


def rows_where(table: Table, condition: pl.Expr) -> list[int]:
    """Returns the numbers of the rows of a table for which a condition is true."""
    index = _tetrys.Index.of_table(table._native)
    try:
        frame = pl.DataFrame(index).filter(condition)
    except POLARS as error:
        refused("filter", error)
    return index.with_frame(frame).rows_of(table._native)
