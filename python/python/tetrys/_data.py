"""Rows that a caller passes, as columns of the native module: dicts of columns, frames, record batches, and row dicts."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import polars as pl

from . import _tetrys
from ._arguments import text
from ._columns import as_declared, column, is_untyped, refuse_types
from ._errors import WrongType, found
from ._records import batches_of_rows, is_row
from ._tetrys import Column, Error, Invalid, Unsupported

if TYPE_CHECKING:
    from ._table import Table


class ArrowStream(Protocol):
    """A frame of polars, pandas, pyarrow, DuckDB or any other library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Data = Mapping[str, Any] | ArrowStream
Parts = list[list[tuple[str, _tetrys.Column]]]
Frame = TypeVar("Frame")
Taken = TypeVar("Taken")

# Maximum rows of a partition; None: that of the format. Tests lower it.
PARTITION_ROWS: int | None = None


def batches_of(data: Data | Iterable[Data], known: Iterable[str] = (), *, even: bool = False) -> Iterator[Data]:
    """Yields the batches of `data`, which may be a single batch, or rows. Rows get the `known` columns; see `batches_of_rows`."""
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__"):
        yield cast("Data", data)
        return
    if isinstance(data, (str, bytes, io.IOBase)) or not isinstance(data, Iterable) or getattr(data, "shape", None) == ():
        raise WrongType(f"expected a dict of columns, a frame, or an iterable of these or of row dicts, found {found(data)}")
    batches = iter(data)
    for first in batches:
        if is_row(first):
            rows = itertools.chain([first], batches)
            yield from batches_of_rows(rows, known, in_one=even or isinstance(data, Sequence), even=even)
        else:
            yield first
            # Memory holds one batch.
            del first
            yield from batches


def batch_of(data: Data | Iterable[Mapping[str, Any]]) -> Data:
    """Returns a single batch: columns, a frame, or rows that all have the same columns."""
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__"):
        return cast("Data", data)
    # An iterator may have no end.
    batches = list(itertools.islice(batches_of(data, even=True), 2))
    if len(batches) != 1:
        raise WrongType(f"expected a dict of columns, a frame, or a list of row dicts, found {'several' if batches else 'no'} batches")
    return batches[0]


def first_of(
    data: Data | Iterable[Data], schema: Mapping[str, str], otherwise: Mapping[str, str] | None = None, known: Iterable[str] = ()
) -> tuple[Parts, Iterator[Data], dict[str, str]]:
    """Returns the columns of the first batch, the other batches, and the types of all columns. `otherwise` has the types of
    columns without any typed value, and `known` columns that rows may lack.
    """
    for name, ty in schema.items():
        # Values are looked at by their type.
        as_declared(name, Column.nulls(0), ty)
    batches = batches_of(data, known)
    first = next(batches, None)
    if first is None:
        raise Invalid("no batch of rows: expected at least one, which defines the columns")
    parts = list(parts_of(first, schema, otherwise))
    return parts, batches, {name: column.type for name, column in parts[0]} | dict(schema)


class Rows:
    """Rows of a session in their order, in as many partitions as they need."""

    def __init__(self, native: _tetrys.TableWriter) -> None:
        self._session = native
        self._rows = _tetrys.RowsWriter(native, PARTITION_ROWS)

    def write(self, part: Sequence[tuple[str, _tetrys.Column]]) -> None:
        """Appends rows."""
        self._rows.write(self._session, part)

    def finish(self) -> list[_tetrys.Receipt]:
        """Returns the receipts of all partitions."""
        return self._rows.finish()


def written(
    native: _tetrys.TableWriter,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    progress: Callable[[int], object] | None,
    before: Parts | None = None,
) -> _tetrys.Table:
    """Writes all batches as partitions in their order, and commits."""
    writer, rows = Rows(native), 0
    for parts in itertools.chain([before or []], (parts_of(batch, schema) for batch in batches_of(data, schema))):
        for part in parts:
            writer.write(part)
            rows += len(part[0][1]) if part else 0
            if progress is not None:
                progress(rows)
    return native.commit(writer.finish())


def types_of(table: Table) -> dict[str, str]:
    """Returns the type of each column, {column: type}."""
    return dict(table.index_columns) | {name: ty for _, columns in table.groups for name, ty in columns}


def exported(frame: Frame, take: Callable[[Frame], Taken]) -> Taken:
    """Returns what `take` makes of the Arrow data of a frame. Its library may lack pyarrow, or refuse."""
    try:
        return take(frame)
    except ImportError as error:
        raise Unsupported(f"{type(frame).__name__} needs pyarrow to export Arrow data: pip install pyarrow") from error
    except Error:
        raise
    except (TypeError, ValueError, NotImplementedError) as error:
        raise Invalid(f"this frame cannot be exported to Arrow: {error}") from error


def parts_of(
    data: Data, schema: Mapping[str, str], otherwise: Mapping[str, str] | None = None
) -> Iterable[list[tuple[str, _tetrys.Column]]]:
    """Converts a batch to columns of the types that `schema` declares. `otherwise` has the types of columns without any typed
    value.
    """
    other = (otherwise or {}).get
    if isinstance(data, Mapping):
        named = {text("a column", name): values for name, values in data.items()}
        return [[(name, column(name, values, schema.get(name), other(name))) for name, values in named.items()]]
    if isinstance(data, pl.DataFrame):
        for name, dtype in data.schema.items():
            refuse_types(dtype, f"column `{name}`: ")
        if any(is_untyped(dtype) for dtype in data.dtypes):
            return parts_of(data.to_dict(), schema, otherwise)
    if not hasattr(data, "__arrow_c_stream__"):
        raise WrongType(f"expected a dict of columns, a frame, or an iterable of these or of row dicts, found {found(data)}")
    parts = exported(data, lambda frame: _tetrys.columns_of(_with_row_labels(frame)))
    names = [name for name, _ in parts[0]]
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise Invalid(f"column `{twice[0]}` is in the frame twice")
    return [[(name, as_declared(name, made, schema.get(name), other(name))) for name, made in part] for part in parts]


def _with_row_labels(data: Any) -> Any:
    """Makes row labels of pandas that have a name a column. pandas does not export them if they are a range, as evenly spaced numbers
    become in `set_index`.
    """
    labels = getattr(data, "index", None)
    if labels is not None and type(data).__module__.partition(".")[0] == "pandas" and type(labels).__name__ == "RangeIndex" and labels.name is not None:
        return data.reset_index()
    return data
