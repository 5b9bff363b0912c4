"""Writing tables from arrays, frames and record batches."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, cast

import numpy as np

from . import _tetrys
from ._index import ArrowStream, tell
from ._tetrys import Invalid, Receipt, Table

Data = Mapping[str, Any] | ArrowStream

Locality = int | Sequence[int] | str | None

_DTYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
_NUMPY = {name: dtype for dtype, name in _DTYPES.items()} | {"bf16": "uint16"}
_TYPE = re.compile(r"^(\w+?)(?:\[([^\]]*)\])?$")


class Writer:
    """The session that makes a table. Nothing is visible before `commit`; partitions are written by any thread, in any order."""

    def __init__(
        self,
        url: str,
        *,
        schema: Mapping[str, str],
        index: Sequence[str],
        groups: Mapping[str, Sequence[str]] | None = None,
        sequence_by: Sequence[str] = (),
        order_by: Sequence[str] = (),
        units: Mapping[str, str] | None = None,
        preset: str = "balanced",
        presets: Mapping[str, str] | None = None,
        required: Sequence[str] = (),
        properties: Mapping[str, Any] | None = None,
        write_memory: int | None = None,
        reference: str | Table | Iterable[str | Table] = (),
        reuse: str = "any",
        locality: Locality = None,
    ) -> None:
        """`schema` has the type of each column (`"i64"`, `"utf8"`, `"f32[?,4]"`), `index` the columns held in memory, `groups` those
        stored and read together (by default the columns of one prefix: `lidar.points` and `lidar.times` in `lidar`). Any column may
        be null but those in `required`. `preset` is fast, balanced or compact, `presets` has columns with another one; `write_memory` bytes are what a partition holds before it spills to a file.

        Blocks that one of the tables `reference` has (URLs or tables) are neither encoded nor stored again, but referred to where
        they lie: all of them, those of the `same-preset`, or `none`, as `reuse` says. Partitions of other processes (`task`) look
        at no reference. A reference that cannot be told that it is needed is a `UserWarning`.

        What is shared may lie apart. `locality` says what that may cost the windows that you read: the rows of the widest one, or
        these, the ranges it may take beyond those of a table that shares nothing, and the bytes it may read in percent of its own
        (`11`, `(16, 1, 150)`, which is the default, or `"none"`). What would cost more is stored again;
        `table.lineage["shared"]["stored_again_bytes"]` says how much.

            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> partition = writer.partition()
            >>> partition.write({"time": [0, 1], "lidar.points": [np.zeros((7, 4)), None]})
            >>> len(writer.commit([partition.finish()]))
            2

        Raises `Exists` where there is a table already, `Invalid` for a broken rule, `Unsupported` for an unknown type.
        """
        self.schema = dict(schema)
        plan = described(self.schema, index, groups, sequence_by, order_by, units, presets, required)
        self._made_by = (str(url), plan, preset, json.dumps(dict(properties or {})), write_memory)
        self._native = _tetrys.TableWriter(*self._made_by, None, opened(reference), reuse, bound_of(locality))
        tell(self._native.untold())

    def partition(self) -> Partition:
        """The next partition; partitions follow each other in the table in the order in which they were asked for."""
        return Partition(self._native.partition(), self.schema)

    def task(self) -> PartitionTask:
        """The next partition, for another process to write: a task can be pickled, and the receipt that it ends in as well.

            >>> writer = tt.Writer("lidars", schema={"time": "i64", "lidar.points": "f32[?,4]"}, index=["time"])
            >>> def work(task):                                  # in any process, on any machine that sees the URL
            ...     with task.partition() as partition:
            ...         partition.write({"time": [0], "lidar.points": [np.zeros((7, 4))]})
            ...     return partition.receipt
            >>> len(writer.commit([work(writer.task())]))
            1
        """
        session, number = self._native.reserve()
        return PartitionTask(self._made_by, session, number, self.schema)

    def attach(self, name: str, content: bytes) -> None:
        """Stores a small object beside the rows: a map, a calibration."""
        self._native.attach(name, content)

    def receipts(self) -> list[Receipt]:
        """The receipts that finished partitions of this session left in the store, where some were lost on their way."""
        return self._native.receipts()

    def abandon(self, partition: int) -> None:
        """Leaves the rows of a partition out: `commit` asks for no receipt of it any more."""
        self._native.abandon(partition)

    def commit(self, receipts: Iterable[Receipt]) -> Table:
        """Makes the table exist with the rows of these receipts, one for each partition that was not abandoned, in any order.

        Where receipts are missing, nothing has happened: take them from `receipts`, or `abandon` their partitions, and call it again.

        Raises `Conflict` where another writer was first, `OutcomeUnknown` where that cannot be told.
        """
        return self._native.commit(list(receipts))


class Partition:
    """Rows written independently of all others, by one thread."""

    def __init__(self, native: _tetrys.Partition, schema: Mapping[str, str]) -> None:
        """Made by `Writer.partition`."""
        self._native = native
        self._schema = schema
        self._receipt: Receipt | None = None

    def write(self, data: Data) -> None:
        """Appends rows: a mapping of columns, or a frame."""
        for batch in parts_of(data, self._schema):
            self._native.write(batch)

    def finish(self) -> Receipt:
        """Ends the partition; its receipt goes to `Writer.commit`, from another process too: it can be pickled."""
        self._receipt = self._native.finish()
        return self._receipt

    @property
    def receipt(self) -> Receipt:
        """The receipt, once the partition is finished: behind a `with` block that raised nothing, it is."""
        if self._receipt is None:
            raise Invalid("the partition is not finished")
        return self._receipt

    def __enter__(self) -> Partition:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and self._receipt is None:
            self.finish()


def bound_of(locality: Locality) -> str | None:
    """What sharing may cost a window, as the library reads it."""
    if locality is None or isinstance(locality, str):
        return locality
    return ",".join(str(number) for number in ([locality] if isinstance(locality, int) else locality))


class PartitionTask:
    """A partition for another process to write; small, and picklable. Made by `Writer.task`."""

    def __init__(self, made_by: tuple[Any, ...], session: str, number: int, schema: Mapping[str, str]) -> None:
        """Made by `Writer.task`."""
        self._made_by = made_by
        self._session = session
        self._number = number
        self._schema = dict(schema)

    def partition(self) -> Partition:
        """The partition, empty. Where a worker died its task can be done again; of two receipts of it the commit takes one, and
        refuses them where they differ.
        """
        made_by = (*self._made_by, self._session)
        native = _tetrys.TableWriter(*made_by)
        return Partition(native.partition_at(self._number), self._schema)

    def __repr__(self) -> str:
        return f"PartitionTask: partition {self._number} of {self._made_by[0]}"


def write_table(
    url: str,
    data: Data | Iterable[Data],
    *,
    index: Sequence[str],
    schema: Mapping[str, str] | None = None,
    progress: Callable[[int], object] | None = None,
    **options: Any,
) -> Table:
    """Writes a table at once: a mapping of columns, a frame, or an iterable of such batches.

    A column is a numpy array with one entry a row (`[rows, *shape]`), a list of arrays (a tensor whose first extent differs from
    row to row), of text, of bytes or of lists, with None for null, or anything of Arrow. `schema` declares the types that should
    not be those of the first batch; `options` are those of `Writer`. `progress` is told the rows written so far.

        >>> columns = {"time": np.arange(2), "lidar.points": [np.zeros((7, 4), np.float32), np.zeros((9, 4), np.float32)]}
        >>> tt.write_table("sweeps", columns, index=["time"]).groups
        [('lidar', [('lidar.points', 'f32[?,4]')])]
    """
    parts, rest, found = first_of(data, schema or {})
    writer = Writer(url, schema=found, index=index, **options)
    return written(writer._native, rest, found, progress, parts)


Parts = list[list[tuple[str, _tetrys.Column]]]


def first_of(data: Data | Iterable[Data], schema: Mapping[str, str]) -> tuple[Parts, Iterator[Data], dict[str, str]]:
    """The first batch, those behind it, and the types of all columns."""
    alone = isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")
    batches: Iterator[Data] = iter([cast("Data", data)] if alone else cast("Iterable[Data]", data))
    first = next(batches, None)
    if first is None:
        raise Invalid("no batch of rows: their columns are not known")
    parts = list(parts_of(first, schema))
    if not parts:
        raise Invalid("a frame without batches: its columns are not known")
    found = {name: column.type for name, column in parts[0]}
    return parts, batches, found | dict(schema)


def written(
    native: _tetrys.TableWriter,
    data: Data | Iterable[Data],
    schema: Mapping[str, str],
    progress: Callable[[int], object] | None,
    before: Parts | None = None,
) -> Table:
    """Writes all batches as one partition, and commits."""
    partition, rows = native.partition(), 0
    alone = isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")
    batches = [cast("Data", data)] if alone else cast("Iterable[Data]", data)
    for parts in itertools.chain([before or []], (parts_of(batch, schema) for batch in batches)):
        for part in parts:
            partition.write(part)
            rows += len(part[0][1]) if part else 0
            if progress is not None:
                progress(rows)
    return native.commit([partition.finish()])


def opened(reference: str | Table | Iterable[str | Table]) -> list[Table]:
    """The tables that are referred to."""
    named = [reference] if isinstance(reference, (str, Table)) else list(reference)
    return [one if isinstance(one, Table) else Table(str(one)) for one in named]


def types_of(table: Table) -> dict[str, str]:
    """The type of each column."""
    return dict(table.index_columns) | {name: ty for _, columns in table.groups for name, ty in columns}


def described(
    schema: Mapping[str, str],
    index: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None,
    sequence_by: Sequence[str],
    order_by: Sequence[str],
    units: Mapping[str, str] | None,
    presets: Mapping[str, str] | None,
    required: Sequence[str],
) -> tuple[Any, ...]:
    """The parts of a schema, as the native side takes them."""
    said = [
        *((column, "unit", json.dumps(unit)) for column, unit in (units or {}).items()),
        *((column, "tetrys.preset", json.dumps(preset)) for column, preset in (presets or {}).items()),
        *((column, "tetrys.nullable", "false") for column in required),
    ]
    if missing := [name for name in index if name not in schema]:
        raise Invalid(f"index columns that are not there: {', '.join(missing)}")
    named = _groups(schema, index, groups)
    return (
        [(name, schema[name]) for name in index],
        [(group, [(name, schema[name]) for name in columns]) for group, columns in named.items()],
        list(sequence_by),
        list(order_by),
        said,
    )


def ingest_l5(
    source: str, url: str, *, preset: str = "balanced", workers: int = 0, progress: Callable[[int], object] | None = None
) -> Table:
    """Takes a Level 5 data set (a zarr folder) in as a new table, one row a frame, one sequence a scene. `progress` is told the
    frames done, from another thread; `workers=0` takes as many as the machine has threads.
    """
    return _tetrys.ingest_l5(str(source), str(url), preset, workers, progress)


def _groups(
    schema: Mapping[str, str], index: Sequence[str], groups: Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    named = {group: [columns] if isinstance(columns, str) else list(columns) for group, columns in (groups or {}).items()}
    placed = {name for columns in named.values() for name in columns} | set(index)
    if unknown := sorted(placed - set(schema)):
        raise Invalid(f"columns that are not there: {', '.join(unknown)}")
    for name in schema:
        if name not in placed:
            named.setdefault(name.split(".")[0], []).append(name)
    return named


def parts_of(data: Data, schema: Mapping[str, str]) -> Iterable[list[tuple[str, _tetrys.Column]]]:
    if isinstance(data, Mapping):
        return [[(name, _column(name, values, schema.get(name))) for name, values in data.items()]]
    return _tetrys.columns_of(data)


def _column(name: str, values: Any, declared: str | None) -> _tetrys.Column:
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return _tetrys.Column.arrow(values)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "OSUT":
            return _of_array(values, declared)
        return _of_list(list(values), declared)
    except (Invalid, TypeError, ValueError, OverflowError) as error:
        raise Invalid(f"column `{name}`: {error}") from error


def _of_array(values: np.ndarray[Any, Any], declared: str | None, valid: list[bool] | None = None) -> _tetrys.Column:
    """Scalars, times and tensors of one shape."""
    element, shape = _element(values.dtype, declared)
    rows = len(values)
    if shape is None:
        shape = [str(extent) for extent in values.shape[1:]]
    elif "?" in shape:
        return _ragged(element, list(values), declared)
    ty = declared or (element if values.ndim == 1 else f"{element}[{','.join(shape)}]")
    return _tetrys.Column.fixed(ty, rows, _flat(element, values), valid)


def _element(dtype: np.dtype[Any], declared: str | None) -> tuple[str, list[str] | None]:
    """The element type of an array, and the shape that was declared for it."""
    if declared is not None and (match := _TYPE.match(declared)) and match[1] in _NUMPY:
        return match[1], None if match[2] is None else match[2].split(",") if match[2] else []
    if declared is not None:
        return declared, None
    if dtype.kind in "mM":
        unit, step = np.datetime_data(dtype)
        if unit == "D" and dtype.kind == "M" and step == 1:
            return "date", None
        if unit not in ("s", "ms", "us", "ns") or step != 1:
            raise Invalid(f"{dtype}: expected units of s, ms, us, ns, or days since the epoch")
        return f"{'timestamp' if dtype.kind == 'M' else 'duration'}[{unit}]", None
    if dtype.name not in _DTYPES:
        raise Invalid(f"no column type for numpy's {dtype}")
    return _DTYPES[dtype.name], None


def _flat(element: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All elements in C order, as the numpy type that the native side takes for them."""
    if values.dtype.name == "bfloat16":
        values = values.view(np.uint16)
    if element == "date":
        values = values.astype("M8[D]").astype(np.int64)
    elif element.startswith(("timestamp", "duration")) and values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[{element[element.index('[') + 1 : -1].split(',')[0]}]").view(np.int64)
    wanted = np.dtype(_NUMPY.get(element, "int32" if element == "date" else "int64"))
    cast = np.ascontiguousarray(values).astype(wanted, casting="unsafe", copy=False)
    if values.dtype.kind in "iu" and wanted.kind in "iu":
        fits = bool(np.array_equal(cast, values))
    else:
        fits = values.size == 0 or np.can_cast(values.dtype, wanted, "same_kind")
    if not fits:
        raise Invalid(f"{values.dtype} does not fit {element}")
    return cast.reshape(-1)


def _of_list(values: list[Any], declared: str | None) -> _tetrys.Column:
    """One value a row, None where it is null."""
    kind = next((value for value in values if value is not None), None)
    if declared in ("utf8", "categorical") or isinstance(kind, str):
        return _tetrys.Column.text(values)
    if declared == "binary" or isinstance(kind, (bytes, bytearray, memoryview)):
        return _tetrys.Column.bytes([None if value is None else bytes(value) for value in values])
    if kind is None and declared is None:
        raise Invalid("no value says what type it has: declare it in `schema`")
    if declared is not None and declared.startswith("list<"):
        return _lists(values, declared[5:-1])
    if isinstance(kind, (list, tuple)) and any(isinstance(item, (str, bytes, list, tuple)) for item in kind):
        return _lists(values, None)
    shaped = declared is not None and "[" in declared and not declared.startswith(("timestamp", "duration"))
    if shaped or (kind is not None and np.ndim(kind) > 0):
        arrays = [None if value is None else np.asarray(value) for value in values]
        known = next((array for array in arrays if array is not None), np.zeros(0))
        element, shape = _element(known.dtype, declared)
        if shape is not None and "?" not in shape:
            size = [int(extent) for extent in shape]
            blank = np.zeros(size, known.dtype)
            if wrong := [list(array.shape) for array in arrays if array is not None and list(array.shape) != size]:
                raise Invalid(f"a row of shape {wrong[0]}: expected {declared}")
            stacked = np.stack([blank if array is None else array for array in arrays]) if arrays else np.zeros([0, *size])
            return _of_array(stacked.astype(known.dtype), declared, _valid(values))
        return _ragged(element, arrays, declared)
    scalars = np.asarray([value for value in values if value is not None])
    if scalars.dtype.kind == "O":
        raise Invalid(f"values of {type(kind).__name__}: expected numbers, text, bytes, arrays or lists")
    full = np.zeros(len(values), scalars.dtype)
    valid = np.array([value is not None for value in values], bool)
    full[valid] = scalars
    return _of_array(full, declared, _valid(values))


def _ragged(element: str, arrays: Sequence[Any], declared: str | None) -> _tetrys.Column:
    """Tensors of variable shape: the first extent differs from row to row, the others where they do."""
    known = [array for array in arrays if array is not None]
    ranks = {array.ndim for array in known}
    if declared is None:
        if len(ranks) != 1:
            raise Invalid(f"arrays of {sorted(ranks)} dimensions in one column")
        extents = [{array.shape[axis] for array in known} for axis in range(1, ranks.pop())]
        declared = f"{element}[{','.join(['?', *(str(one.pop()) if len(one) == 1 else '?' for one in extents)])}]"
    shape = declared[declared.index("[") + 1 : -1].split(",")
    for array in known:
        if array.ndim != len(shape) or any(want not in ("?", str(have)) for want, have in zip(shape, array.shape, strict=True)):
            raise Invalid(f"an array of shape {list(array.shape)}: expected {declared}")
    shapes = [[0] * len(shape) if array is None else list(array.shape) for array in arrays]
    flat = [_flat(element, np.asarray(array)) for array in known]
    values = np.concatenate(flat) if flat else np.zeros(0, _NUMPY[element])
    return _tetrys.Column.ragged(declared, shapes, values, _valid(arrays))


def _lists(values: list[Any], item: str | None) -> _tetrys.Column:
    items = _of_list([one for value in values if value is not None for one in value], item)
    return _tetrys.Column.lists([0 if value is None else len(value) for value in values], items, _valid(values))


def _valid(values: Sequence[Any]) -> list[bool] | None:
    return [value is not None for value in values] if any(value is None for value in values) else None
