"""Converts batches of Tetrys to blocks of Ray and back, and cuts sorted blocks into batches of bounded size.

Ray has extension types of its own for tensors. Converting copies no payload: a tensor column keeps its buffer of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from ray.data.extensions import ArrowPythonObjectType, ArrowTensorType, ArrowTensorTypeV2, ArrowVariableShapedTensorType

from .._errors import NoColumn
from .._nested import BOUNDS, as_integers, flattened, integers, is_list, listed
from .._tetrys import Invalid, Unsupported


def to_ray(batch: Any) -> pa.Table:
    """Returns a record batch or table of `tetrys.cluster.read` as a block whose tensor columns are Ray tensors.

    Tensors of fixed shape, and windows [time, *shape] of numbers and of such tensors, become fixed-shape Ray tensors. Tensors of
    variable shape become variable-shaped Ray tensors. Other columns stay as they are.

    Raises:
        Unsupported: an element of a tensor is null.
    """
    arrays = {name: _one(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    columns = [_to_ray(_without_gaps(array, arrays.get(f"{name}.mask")), name) for name, array in arrays.items()]
    return pa.Table.from_arrays(columns, names=batch.schema.names) if columns else pa.table(batch)


def ray_schema(schema: pa.Schema) -> pa.Schema:
    """Returns the schema of `to_ray` of batches with this schema."""
    return pa.schema([(field.name, _ray_type(field.type)) for field in schema])


def _one(column: Any) -> pa.Array:
    """Returns a column of a batch or table as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        # `concat_arrays` copies even one.
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _ray_type(kind: pa.DataType) -> pa.DataType:
    if (fixed := _fixed_shape(kind)) is not None:
        return ArrowTensorTypeV2(fixed[1], fixed[0])
    if _is_variable(kind):
        return ArrowVariableShapedTensorType(kind.field("data").type.value_type, kind.field("shape").type.list_size)
    return kind


def _fixed_shape(kind: pa.DataType) -> tuple[pa.DataType, tuple[int, ...]] | None:
    """Returns the types of the elements and the shape of a column whose rows are numbers in one shape."""
    if isinstance(kind, pa.FixedShapeTensorType):
        return kind.value_type, tuple(kind.shape)
    if pa.types.is_fixed_size_list(kind):
        inner = _fixed_shape(kind.value_type)
        if inner is None and _is_element(kind.value_type):
            inner = kind.value_type, ()
        return None if inner is None else (inner[0], (kind.list_size, *inner[1]))
    return None


def _is_element(kind: pa.DataType) -> bool:
    """Whether a tensor may have elements of this type."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _flat(array: pa.Array) -> pa.Array:
    """Returns the elements of all rows of such a column, of null rows too."""
    if isinstance(array.type, pa.FixedShapeTensorType):
        return _flat(array.storage)
    return _flat(_items(array)) if pa.types.is_fixed_size_list(array.type) else array


def _without_gaps(array: pa.Array, mask: pa.Array | None) -> pa.Array:
    """Returns windows [time] of numbers or booleans with 0 or false where `mask` says that no row exists. Returns any other column as it is."""
    if mask is None or not pa.types.is_fixed_size_list(array.type) or not _is_element(array.type.value_type):
        return array
    items = _items(array)
    if not items.null_count:
        return array
    filled = pc.if_else(_items(mask).fill_null(False), items, pa.scalar(0).cast(items.type))
    return pa.FixedSizeListArray.from_arrays(filled, type=array.type, mask=array.is_null() if array.null_count else None)


def _refuse_null_elements(array: pa.Array, name: str) -> None:
    elements = _elements(array)
    # The elements of null rows say nothing.
    if elements.null_count and (not array.null_count or _elements(array.drop_null()).null_count):
        raise Unsupported(f"column `{name}`: an element of a tensor is null, and Ray has no null: leave such rows or the column out")


def _elements(array: pa.Array) -> pa.Array:
    return array.field("data").flatten() if _is_variable(array.type) else _flat(array)


def _to_ray(array: pa.Array, name: str) -> pa.Array:
    kind, mask = _ray_type(array.type), array.is_null() if array.null_count else None
    if isinstance(kind, (ArrowTensorTypeV2, ArrowVariableShapedTensorType)):
        _refuse_null_elements(array, name)
    if isinstance(kind, ArrowTensorTypeV2):
        offsets = pa.array(np.arange(len(array) + 1, dtype=np.int64) * math.prod(kind.shape))
        return kind.wrap_array(pa.LargeListArray.from_arrays(offsets, _flat(array), mask=mask))
    if isinstance(kind, ArrowVariableShapedTensorType):
        shapes = _items(array.field("shape")).cast(pa.int64()).fill_null(0)
        starts = pa.array(np.arange(len(array) + 1, dtype=np.int32) * kind.ndim)
        parts = [array.field("data"), pa.ListArray.from_arrays(starts, shapes)]
        return kind.wrap_array(pa.StructArray.from_arrays(parts, ["data", "shape"], mask=mask))
    return array


def _items(array: pa.Array) -> pa.Array:
    """Returns the items of the rows of a fixed-size list, of null rows too."""
    size = array.type.list_size
    return array.values.slice(array.offset * size, len(array) * size)


def _is_variable(kind: pa.DataType) -> bool:
    """Whether a column has tensors of variable shape: their elements, and the shape of each."""
    return (
        pa.types.is_struct(kind)
        and [kind.field(number).name for number in range(kind.num_fields)] == ["data", "shape"]
        and pa.types.is_large_list(kind.field("data").type)
        and pa.types.is_fixed_size_list(kind.field("shape").type)
    )


def of_ray(block: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Returns a block of Ray as a table that a partition takes: Ray tensors become tensors of Arrow, and fields that `kinds` does not name
    the columns of their parts.

    Raises:
        Invalid: a column has Python objects, a number does not fit its column, or a struct is not null although all its fields are.
    """
    columns = [tensors_of_ray(name, column, kinds) for name, column in zip(block.column_names, block.columns, strict=True)]
    return _with_parts(pa.Table.from_arrays(columns, names=block.column_names) if columns else block, kinds)


def _with_parts(block: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Returns a block with the columns of parts, and with types that do not depend on the values of the block: large lists, and the integers
    that `kinds` says. Ray's types of integers depend on whether one of them is 2^63 or more.
    """
    columns = flattened(block, kinds)
    for name, column in columns.items():
        if pa.types.is_integer(column.type) or is_list(column.type):
            array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            columns[name] = _of_kind(array, _element(kinds.get(name, "")), f"column `{name}`")
    return pa.table(columns) if columns else block


def tensors_of_ray(name: str, column: pa.ChunkedArray, kinds: Mapping[str, str]) -> pa.ChunkedArray:
    """Returns a column of a block with Ray tensors as tensors of Arrow, and Python objects as Arrow values."""
    kind = column.type
    if isinstance(kind, ArrowPythonObjectType):
        return pa.chunked_array([_of_objects(name, column.to_pylist(), kinds)])
    if isinstance(kind, (ArrowTensorType, ArrowTensorTypeV2)):
        to = pa.fixed_shape_tensor(kind.storage_type.value_type, kind.shape)
        return pa.chunked_array([_fixed(chunk, to) for chunk in column.chunks], to)
    if isinstance(kind, ArrowVariableShapedTensorType):
        shape = pa.list_(pa.int32(), kind.ndim)
        to = pa.struct([("data", kind.storage_type.field("data").type), ("shape", shape)])
        return pa.chunked_array([_variable(chunk, shape) for chunk in column.chunks], to)
    return column


def for_shuffle(block: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Returns a block whose columns have the same types as those of other blocks, which may have no Python objects: Ray shuffles no
    mixture. Ray tensors stay as they are.
    """
    for place, name in enumerate(block.column_names):
        if isinstance(block[name].type, ArrowPythonObjectType):
            block = block.set_column(place, name, _to_ray(_of_objects(name, block[name].to_pylist(), kinds), name))
    return _with_parts(block, kinds)


def _of_kind(array: pa.Array, kind: str, what: str) -> pa.Array:
    """Returns lists as large lists, and integers as those of the type `kind` if it is one of integers. Returns other values as they are."""
    if is_list(array.type):
        # Ray makes nulls of empty lists where it concatenates large lists with others.
        return listed(array, _of_kind(array.flatten(), kind, f"{what}, an item"))
    return as_integers(array, kind, what) if kind in BOUNDS and pa.types.is_integer(array.type) else array


def _element(kind: str) -> str:
    """Returns the type of the innermost items of lists, and of the elements of tensors."""
    return kind.rpartition("<")[2].partition("[")[0].rstrip(">")


def _of_objects(name: str, values: list[Any], kinds: Mapping[str, str]) -> pa.Array:
    """Converts tensors and nulls, or values with integers that do not fit 64 bits with a sign. Ray keeps such columns as Python objects."""
    there = [value for value in values if value is not None]
    if there and any(all(map(is_kind, there)) for is_kind in (_is_integer, _is_of(list), _is_of(dict))):
        return _of_values(name, values, kinds, f"column `{name}`")
    seen = {(value.dtype.name, value.ndim) if isinstance(value, np.ndarray) else type(value).__name__ for value in there}
    if len(seen) > 1 or not all(isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "biuf" for value in there):
        type_names = " and ".join(sorted(map(str, seen)))
        raise Invalid(f"column `{name}`: Python objects ({type_names}): expected numbers, text, bytes, times, lists, dicts, or arrays of one type")
    if not there:
        return pa.nulls(len(values))
    rank = there[0].ndim
    shapes = np.array([(0,) * rank if value is None else value.shape for value in values], np.int32)
    flat = pa.array(np.concatenate([value.reshape(-1) for value in there]))
    return _tensors(flat, shapes, pa.array([value is None for value in values]))


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def _is_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


def _of_values(name: str, values: list[Any], kinds: Mapping[str, str], what: str) -> pa.Array:
    """Converts integers, lists, dicts and what Arrow knows. Integers without a declared type are `u64` if none is negative.

    Args:
        name: Name of the column that the values become.
        what: Name of the values in messages.

    Raises:
        Invalid: an integer does not fit its column, or there is no Arrow type for the values.
    """
    there = [value for value in values if value is not None]
    if there and all(map(_is_integer, there)):
        declared = _element(kinds.get(name, ""))
        return integers(values, declared if declared in BOUNDS else "u64" if min(there) >= 0 else "i64", what)
    nulls = [value is None for value in values]
    if there and all(map(_is_of(list), there)):
        items = _of_values(name, [item for value in there for item in value], kinds, f"{what}, an item")
        ends = np.concatenate([[0], np.cumsum([0 if value is None else len(value) for value in values], dtype=np.int64)])
        return pa.LargeListArray.from_arrays(pa.array(ends), items, mask=pa.array(nulls))
    fields = dict.fromkeys(field for value in there for field in value) if all(map(_is_of(dict), there)) else {}
    if fields and all(map(_is_of(str), fields)):
        parts = []
        for one in fields:
            inner = [None if value is None else value.get(one) for value in values]
            parts.append(_of_values(f"{name}.{one}", inner, kinds, f"column `{name}.{one}`"))
        return pa.StructArray.from_arrays(parts, list(fields), mask=pa.array(nulls))
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        type_names = " and ".join(sorted({type(value).__name__ for value in there}))
        raise Invalid(f"{what}: Python objects ({type_names}): expected values of one type") from error


def _tensors(flat: pa.Array, shapes: npt.NDArray[np.int32], nulls: pa.Array | None) -> pa.Array:
    """Returns tensors of variable shape: `flat` has the elements of all rows, and `shapes` is [rows, rank]."""
    ends = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    data = pa.LargeListArray.from_arrays(pa.array(ends), flat)
    return pa.StructArray.from_arrays(
        [data, pa.FixedSizeListArray.from_arrays(pa.array(shapes.reshape(-1)), shapes.shape[1])], ["data", "shape"], mask=nulls
    )


def _alike(pieces: Sequence[pa.RecordBatch]) -> list[pa.Table]:
    """Gives batches the same types: Ray has a tensor column as tensors of one shape in one block, and of any shape in another."""
    kinds = {name: {piece[name].type for piece in pieces if name in piece.schema.names} for name in pieces[0].schema.names}
    made = []
    for piece in pieces:
        columns = {}
        for name in piece.schema.names:
            array = piece[name]
            if len(kinds.get(name, ())) > 1 and isinstance(array.type, pa.FixedShapeTensorType):
                shapes = np.tile(np.array(array.type.shape, np.int32), (len(array), 1))
                array = _tensors(_flat(array), shapes, array.is_null() if array.null_count else None)
            columns[name] = array
        made.append(pa.table(columns))
    return made


def _fixed(chunk: pa.Array, to: pa.FixedShapeTensorType) -> pa.Array:
    size = math.prod(to.shape)
    storage, mask = chunk.storage, chunk.is_null() if chunk.null_count else None
    if len(chunk) and storage.offsets[-1].as_py() - storage.offsets[0].as_py() == size * len(chunk):
        values = storage.values.slice(storage.offsets[0].as_py(), size * len(chunk))
        return pa.ExtensionArray.from_storage(to, pa.FixedSizeListArray.from_arrays(values, size, mask=mask))
    # Null rows without elements, as Arrow writes them.
    return pa.ExtensionArray.from_storage(to, storage.cast(to.storage_type))


def _variable(chunk: pa.Array, kind: pa.FixedSizeListType) -> pa.Array:
    data, shape = (chunk.storage.field(name) for name in ("data", "shape"))
    rank, mask = kind.list_size, chunk.is_null() if chunk.null_count else None
    lengths = pc.list_value_length(shape).fill_null(0).to_numpy()
    if (lengths == rank).all():
        flat = shape.flatten()
    else:
        zeros = np.zeros((len(chunk), rank), np.int32)
        zeros[lengths == rank] = shape.flatten().to_numpy().reshape(-1, rank)
        flat = pa.array(zeros.reshape(-1))
    shapes = pa.FixedSizeListArray.from_arrays(flat.cast(pa.int32()), rank)
    return pa.StructArray.from_arrays([data, shapes], ["data", "shape"], mask=mask)


def sorted_batches(blocks: Iterable[pa.Table], by: Sequence[str], batch_bytes: int, kinds: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yields the rows of all blocks in the order of the columns `by`, in batches of about `batch_bytes`, or of one row.

    Only the columns `by` are sorted; rows with equal values keep their order. Payload is copied one batch at a time, and not at
    all where neighbours in the order are neighbours in a block. Without `by`, blocks are not held.

    Raises:
        NotFound: a block has no column of `by`.
        Invalid: a column of `by` has different types in two blocks.
    """
    parts = (part for block in blocks if block.num_rows for part in of_ray(block, kinds).to_batches())
    if not by:
        for part in parts:
            yield from (part.slice(start, end - start) for start, end in _cuts(row_bytes(part), batch_bytes))
        return
    received = list(parts)
    for part in received:
        if missing := [name for name in by if name not in part.schema.names]:
            raise NoColumn(f"no column `{missing[0]}`: rows are sorted by {', '.join(by)}; the columns are {', '.join(part.schema.names)}")
    if not received:
        return
    keys = pa.table({name: _joined(name, [part[name] for part in received]) for name in by})
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in by]).to_numpy().astype(np.int64)
    starts = np.cumsum([0, *(len(part) for part in received)])
    sizes = np.concatenate([row_bytes(part) for part in received])[order]
    for start, end in _cuts(sizes, batch_bytes):
        yield _taken(received, starts, order[start:end])


def _joined(name: str, arrays: Sequence[pa.Array]) -> pa.ChunkedArray:
    kinds = {str(array.type) for array in arrays}
    if len(kinds) > 1:
        raise Invalid(f"column `{name}`: {' and '.join(sorted(kinds))} in blocks of one task: expected one type")
    return pa.chunked_array(arrays)


def _taken(parts: Sequence[pa.RecordBatch], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> pa.Table:
    """Returns rows of several batches, by their numbers in all of them, in this order."""
    of = np.searchsorted(starts, rows, side="right") - 1
    places = rows - starts[of]
    if of[0] == of[-1] and (np.diff(rows) == 1).all():
        return pa.table(parts[of[0]].slice(int(places[0]), len(rows)))
    order = np.argsort(of, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(of[order])) + 1).tolist(), len(rows)]
    pieces = [parts[of[order[first]]].take(pa.array(places[order[first:last]])) for first, last in zip(bounds, bounds[1:], strict=False)]
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    together = pa.concat_tables(_alike(pieces), promote_options="permissive")
    return together if (np.diff(order) == 1).all() else together.combine_chunks().take(pa.array(inverse))


def _cuts(sizes: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cuts rows of these sizes into runs of at most `most` bytes, or of one row."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield start, end
        start = end


def row_bytes(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Returns the bytes of the values of each row, without those of offsets and null masks, i64 [rows]."""
    return sum((_bytes(column) for column in batch.columns), np.zeros(len(batch), np.int64))


def _bytes(array: pa.Array) -> npt.NDArray[np.int64]:
    sizes: npt.NDArray[np.int64]
    kind = array.type
    if (width := _width(kind)) is not None:
        return np.full(len(array), width, np.int64)
    if isinstance(kind, pa.BaseExtensionType):
        return _bytes(array.storage)
    if pa.types.is_struct(kind):
        return sum((_bytes(array.field(number)) for number in range(kind.num_fields)), np.zeros(len(array), np.int64))
    if any(is_kind(kind) for is_kind in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_string, pa.types.is_large_string)):
        sizes = pc.binary_length(array).fill_null(0).to_numpy().astype(np.int64)
    elif pa.types.is_fixed_size_list(kind):
        sizes = _bytes(_items(array)).reshape(len(array), kind.list_size).sum(axis=1)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        sizes = pc.list_value_length(array).fill_null(0).to_numpy().astype(np.int64)
        if (width := _width(kind.value_type)) is not None:
            return sizes * width
        ends, offsets = np.concatenate([[0], np.cumsum(_bytes(array.values))]), array.offsets.to_numpy()
        sizes = np.where(sizes > 0, ends[offsets[1:]] - ends[offsets[:-1]], 0)
    else:
        # A type without a column type: the writer refuses it.
        sizes = np.ones(len(array), np.int64)
    return sizes


def _width(kind: pa.DataType) -> int | None:
    """Returns the bytes of a value if all values have as many."""
    if isinstance(kind, pa.BaseExtensionType):
        return _width(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _width(kind.index_type)
    if pa.types.is_fixed_size_list(kind):
        width = _width(kind.value_type)
        return None if width is None else width * kind.list_size
    return max(1, kind.bit_width // 8) if pa.types.is_primitive(kind) else None
