"""Converts column types and record batches of Tetrys to those of Spark, and back.

| Tetrys | Spark |
|---|---|
| `i8` `i16` `i32` `i64`, `bool`, `f32` `f64` | the same |
| `u8` `u16` `u32` `u64`, `f16` `bf16` | the next wider type: `smallint`, `int`, `bigint`, `decimal(20,0)`, `float` |
| `utf8` `categorical`, `binary`, `date` | `string`, `binary`, `date` |
| `timestamp`, `duration` | `timestamp` with a zone, `timestamp_ntz` without one, `interval`; in nanoseconds `bigint`: Spark has microseconds |
| a tensor with at most one `?` | an array of its elements in C order |
| a tensor with several `?` | a struct of `data`, the elements, and `shape`, the extents |
| `list<..>` | an array |

Of a DataFrame, a struct, an array of structs, a map and a decimal become the columns that `tetrys ingest parquet` makes of them (see
`tetrys._nested`), unless the column has a type in the metadata or in `schema`.

The metadata of a field has the Tetrys type as `tetrys.type`, and the shape of a tensor as `shape`, with -1 for `?`. So
`numpy.reshape(value, shape)` gives the tensor back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from .._errors import NoColumn
from .._nested import Part, as_type, chosen, flattened, is_list, parts_of
from .._options import Types, types
from .._tetrys import Invalid

TYPE = "tetrys.type"
"""Key of the metadata of a Spark field: the Tetrys type."""
BATCH_ROWS, BATCH_BYTES = 10_000, 64 << 20
"""Most rows and bytes of a record batch for Spark."""

_SCALARS: dict[str, st.DataType] = {
    "bool": st.BooleanType(),
    "i8": st.ByteType(),
    "i16": st.ShortType(),
    "i32": st.IntegerType(),
    "i64": st.LongType(),
    "u8": st.ShortType(),
    "u16": st.IntegerType(),
    "u32": st.LongType(),
    "u64": st.DecimalType(20, 0),
    "f16": st.FloatType(),
    "bf16": st.FloatType(),
    "f32": st.FloatType(),
    "f64": st.DoubleType(),
    "utf8": st.StringType(),
    "categorical": st.StringType(),
    "binary": st.BinaryType(),
    "date": st.DateType(),
}
_INFERRED: dict[type[st.DataType], str] = {
    st.BooleanType: "bool",
    st.ByteType: "i8",
    st.ShortType: "i16",
    st.IntegerType: "i32",
    st.LongType: "i64",
    st.FloatType: "f32",
    st.DoubleType: "f64",
    st.StringType: "utf8",
    st.VarcharType: "utf8",
    st.CharType: "utf8",
    st.BinaryType: "binary",
    st.DateType: "date",
    st.TimestampType: "timestamp[us,UTC]",
    st.TimestampNTZType: "timestamp[us]",
    st.DayTimeIntervalType: "duration[us]",
}


def tensor(kind: str) -> tuple[str, list[int | None]] | None:
    """Returns the element and the extents of a tensor type, None for `?`; None for other types."""
    parsed = re.fullmatch(r"(\w+)\[((?:\d+|\?)(?:,(?:\d+|\?))*)\]", kind)
    return None if parsed is None else (parsed[1], [None if one == "?" else int(one) for one in parsed[2].split(",")])


def spark_type(kind: str) -> st.DataType:
    """Returns the Spark type of a Tetrys type.

    Example:
        >>> spark_type("f32[?,4]")
        ArrayType(FloatType(), True)
    """
    if kind in _SCALARS:
        return _SCALARS[kind]
    if shaped := tensor(kind):
        values = st.ArrayType(_SCALARS[shaped[0]])
        if shaped[1].count(None) <= 1:
            return values
        return st.StructType([st.StructField("data", values), st.StructField("shape", st.ArrayType(st.IntegerType(), False))])
    if kind.startswith("list<"):
        return st.ArrayType(spark_type(kind[5:-1]))
    if kind.endswith("[ns]") or kind.startswith("timestamp[ns,"):
        return st.LongType()
    if kind.startswith("timestamp["):
        return st.TimestampType() if "," in kind else st.TimestampNTZType()
    if kind.startswith("duration["):
        return st.DayTimeIntervalType()
    raise Invalid(f"type {kind}: Spark has no type for it")


def field(name: str, kind: str) -> st.StructField:
    """Returns the Spark field of a column."""
    metadata: dict[str, Any] = {TYPE: kind}
    if shaped := tensor(kind):
        metadata["shape"] = [-1 if extent is None else extent for extent in shaped[1]]
    return st.StructField(name, spark_type(kind), True, metadata)


def types_of_frame(schema: st.StructType, declared: Mapping[str, str] | None, here: Mapping[str, str] | None = None) -> Types:
    """Returns the Tetrys types of the columns that a DataFrame becomes: the declared one, that of the metadata, that of the table `here` to
    append to, or that of the Spark type.

    Raises:
        NotFound: `declared` names a column that the frame does not have.
        Invalid: there is no Tetrys type for a Spark type, or two columns have one name.
    """
    names, here = schema.fieldNames(), here or {}
    declared = types("schema", declared)
    given = {one.name: one.metadata[TYPE] for one in schema.fields if TYPE in one.metadata} | declared
    parts = [part for one in schema.fields for part in _parts_of(one, given.get(one.name), here.get(one.name))]
    known = [part.name for part in parts]
    if strangers := [name for name in declared if name not in known]:
        columns = [part.name for part in parts if not part.is_nulls]
        raise NoColumn(f"schema: no column `{strangers[0]}`; the columns are {', '.join(columns)}")
    return chosen(parts, given, here, names)


def _parts_of(one: st.StructField, given: str | None, here: str | None) -> list[Part]:
    """Returns the columns that a field becomes: the field, or its parts."""
    # A struct may be a tensor with its shape.
    tensor = here if isinstance(one.dataType, st.StructType) else None
    kind = given or _inferred(one.dataType) or tensor
    if kind is not None and not _is_decimal(one.dataType):
        return [Part(one.name, kind)]
    _refuse(one.name, one.dataType)
    return parts_of(to_arrow_schema(st.StructType([one]), timezone="UTC"))


def _is_decimal(kind: st.DataType) -> bool:
    """Whether values are decimals, or lists of these."""
    return _is_decimal(kind.elementType) if isinstance(kind, st.ArrayType) else isinstance(kind, st.DecimalType)


def _inferred(kind: st.DataType) -> str | None:
    """Returns the type of columns that have the values as they are; None if they have parts of them, or if there is no such type."""
    if isinstance(kind, st.ArrayType):
        item = _inferred(kind.elementType)
        is_element = isinstance(kind.elementType, (st.NumericType, st.BooleanType))
        return None if item is None else f"{item}[?]" if is_element else f"list<{item}>"
    return _INFERRED.get(type(kind))


def _refuse(name: str, kind: st.DataType) -> None:
    """Raises an error for values without a column type."""
    if isinstance(kind, st.ArrayType):
        _refuse(name, kind.elementType)
    elif isinstance(kind, st.MapType):
        _refuse(f"{name}.key", kind.keyType)
        _refuse(f"{name}.value", kind.valueType)
    elif isinstance(kind, st.StructType) and kind.fields:
        for one in kind.fields:
            _refuse(f"{name}.{one.name}", one.dataType)
    elif type(kind) not in (*_INFERRED, st.DecimalType):
        message = f"column `{name}`: no column type for Spark's {kind.simpleString()}"
        if isinstance(kind, (st.NullType, st.StructType)):
            raise Invalid(f"{message}: declare it in `schema`, or leave the column out")
        if isinstance(kind, st.UserDefinedType):
            raise Invalid(f"{message}: convert it to an array first, or declare it in `schema`")
        raise Invalid(f"{message}: cast it to a float, an integer or text, or declare it in `schema`")


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """Returns the Arrow schema that Spark expects of batches with these columns."""
    return to_arrow_schema(schema, timezone="UTC")


def to_spark(batch: pa.RecordBatch, kinds: Sequence[str], schema: pa.Schema) -> list[pa.RecordBatch]:
    """Converts a batch of `tetrys.cluster.read` to batches that Spark takes: of at most 10,000 rows, and at most 64 MiB if
    they have several rows.
    """
    arrays = []
    for name, kind in zip(schema.names, kinds, strict=True):
        try:
            arrays.append(_to_spark(batch.column(name), kind, schema.field(name).type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Invalid(f"column `{name}`: {kind} as Spark's {spark_type(kind).simpleString()}: {error}") from error
    return _bounded(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _bounded(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    rows = batch.num_rows
    if rows <= BATCH_ROWS and (rows <= 1 or batch.nbytes <= BATCH_BYTES):
        return [batch] if rows else []
    return _bounded(batch.slice(0, rows // 2)) + _bounded(batch.slice(rows // 2))


def _to_spark(array: pa.Array, kind: str, to: pa.DataType) -> pa.Array:
    shaped = tensor(kind)
    if shaped is None and kind.startswith("list<"):
        starts, items = _items(array)
        return _list(starts, _to_spark(items, kind[5:-1], to.value_type), array, to)
    if shaped is None:
        return _elements(array, kind, to)
    element, shape = shaped
    if None not in shape:
        storage = array.storage if isinstance(array, pa.ExtensionArray) else array
        size = storage.type.list_size
        values = storage.values.slice(storage.offset * size, len(storage) * size)
        return _list(np.arange(len(storage) + 1) * size, _elements(values, element, to.value_type), array, to)
    starts, items = _items(array.field("data"))
    values = _elements(items, element, (to if shape.count(None) == 1 else to.field("data").type).value_type)
    if shape.count(None) == 1:
        return _list(starts, values, array, to)
    extents = array.field("shape")
    flat = extents.values.slice(extents.offset * len(shape), len(extents) * len(shape))
    shapes = _list(np.arange(len(array) + 1) * len(shape), flat.fill_null(0), None, to.field("shape").type)
    data = _list(starts, values, None, to.field("data").type)
    return pa.StructArray.from_arrays([data, shapes], fields=list(to), mask=_nulls(array))


def _elements(values: pa.Array, kind: str, to: pa.DataType) -> pa.Array:
    if kind != "bf16":
        return values.cast(to)
    bits = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint32) << 16
    return pa.array(bits.view(np.float32), mask=values.is_null().to_numpy(zero_copy_only=False))


def _items(array: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """Returns where the items of each row begin, i64 [rows + 1], and the items."""
    starts = array.offsets.to_numpy().astype(np.int64)
    return starts - starts[0], array.values.slice(starts[0], starts[-1] - starts[0])


def _list(starts: npt.NDArray[np.int64], items: pa.Array, nulls_of: pa.Array | None, to: pa.DataType) -> pa.Array:
    made = pa.LargeListArray if pa.types.is_large_list(to) else pa.ListArray
    offsets = pa.array(starts, pa.int64() if pa.types.is_large_list(to) else pa.int32())
    return made.from_arrays(offsets, items, type=to, mask=None if nulls_of is None else _nulls(nulls_of))


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def of_spark(batch: pa.RecordBatch, kinds: Mapping[str, str]) -> pa.Table:
    """Converts a batch of Spark to one that a partition takes.

    Raises:
        Invalid: a value does not have the shape that the type of its column says, or is outside of the type.
    """
    columns = {}
    for name, array in flattened(batch, kinds).items():
        try:
            columns[name] = _of_spark(array, kinds[name])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, Invalid) as error:
            raise Invalid(f"column `{name}`: {array.type} as {kinds[name]}: {error}") from error
    return pa.table(columns)


def _of_spark(array: pa.Array, kind: str) -> pa.Array:
    shaped = tensor(kind)
    if shaped is None and kind.startswith("list<") and is_list(array.type):
        starts, items = _items(array)
        made = _of_spark(items, kind[5:-1])
        return _list(starts, made, array, pa.large_list(made.type))
    if shaped is None:
        return array
    _, shape = shaped
    if pa.types.is_struct(array.type):
        return _of_struct(array, kind, len(shape))
    if not is_list(array.type):
        return array
    if len(shape) > 1 and is_list(array.type.value_type):
        items, extents = _flattened(array, shape)
    else:
        items = array.flatten()
        extents = _extents(pc.list_value_length(array), kind, shape)
    return _tensors(items, extents, array)


def _extents(lengths: pa.Array, kind: str, shape: Sequence[int | None]) -> npt.NDArray[np.int64]:
    """Returns the shapes [rows, dimensions] of flat values of these lengths."""
    if shape.count(None) > 1:
        raise Invalid("the shape of flat values is unknown: expected nested arrays, or a struct of `data` and `shape`")
    step = int(np.prod([extent for extent in shape if extent is not None], dtype=np.int64))
    counts = lengths.fill_null(0).to_numpy().astype(np.int64)
    filled = lengths.is_valid().to_numpy(zero_copy_only=False)
    wrong = filled & (counts % step != 0 if None in shape and step else counts != step)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        expected = f"a multiple of {step}" if None in shape and step else str(step)
        raise Invalid(f"row {row} of the batch has {counts[row]} values, expected {expected}")
    known = np.array([[-1 if extent is None else extent for extent in shape]])
    return np.where(known < 0, (counts // max(step, 1))[:, None], known)


def _flattened(array: pa.Array, shape: Sequence[int | None]) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Returns the elements of nested arrays, and their shapes [rows, dimensions]."""
    rows = np.arange(len(array))
    extents = np.zeros((len(array), len(shape)), np.int64)
    for axis, known in enumerate(shape):
        if not is_list(array.type):
            raise Invalid(f"expected arrays nested {len(shape)} deep, found {axis}")
        if axis and array.null_count:
            raise Invalid(f"a null within dimension {axis - 1}: tensors have no nulls")
        lengths = pc.list_value_length(array).fill_null(0).to_numpy().astype(np.int64)
        extents[:, axis] = 0 if known is None else known
        extents[rows, axis] = lengths
        if (wrong := extents[rows, axis] != lengths).any():
            row = int(rows[np.flatnonzero(wrong)[0]])
            raise Invalid(f"row {row} of the batch has parts of different lengths in dimension {axis}")
        rows, array = np.repeat(rows, lengths), array.flatten()
    return array, extents


def _of_struct(array: pa.Array, kind: str, rank: int) -> pa.Array:
    names = [array.type.field(number).name for number in range(array.type.num_fields)]
    if names != ["data", "shape"]:
        raise Invalid(f"expected an array, or a struct of `data` and `shape`, found one of {', '.join(names)}")
    data, shape = as_type(array.field("data"), kind, "`data`"), array.field("shape")
    if not is_list(data.type) or not is_list(shape.type) or not pa.types.is_integer(shape.type.value_type):
        raise Invalid("expected `data` to be an array of elements, and `shape` one of integers")
    lengths = pc.list_value_length(shape).fill_null(0).to_numpy()
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if (wrong := valid & (lengths != rank)).any():
        row = int(np.flatnonzero(wrong)[0])
        raise Invalid(f"row {row} of the batch has a shape of {lengths[row]} extents, expected {rank}")
    if (wrong := valid & data.is_null().to_numpy(zero_copy_only=False)).any():
        row = int(np.flatnonzero(wrong)[0])
        raise Invalid(f"row {row} of the batch has a shape, and null as `data`: expected elements, or null in place of the struct")
    known = shape.filter(array.is_valid()).flatten()
    if known.null_count:
        row = int(np.flatnonzero(valid)[known.is_null().to_numpy(zero_copy_only=False).argmax() // rank])
        raise Invalid(f"row {row} of the batch has a null extent in its shape")
    extents = np.zeros((len(array), rank), np.int64)
    extents[valid] = known.to_numpy().reshape(-1, rank)
    if (wrong := ((extents < 0) | (extents >= 2**31)).any(axis=1)).any():
        row = int(np.flatnonzero(wrong)[0])
        raise Invalid(f"row {row} of the batch has the shape {extents[row].tolist()}: expected extents of 0 to {2**31 - 1}")
    kept = data if array.null_count == 0 else pc.if_else(array.is_valid(), data, pa.scalar(None, data.type))
    counts = pc.list_value_length(kept).fill_null(0).to_numpy()
    if (wrong := valid & (counts != extents.prod(axis=1))).any():
        row = int(np.flatnonzero(wrong)[0])
        raise Invalid(f"row {row} of the batch has {counts[row]} values, its shape is {extents[row].tolist()}")
    return _tensors(kept.flatten(), extents, array)


def _tensors(items: pa.Array, extents: npt.NDArray[np.int64], nulls_of: pa.Array) -> pa.Array:
    """Returns tensors as the struct of `data` and `shape` that the engine takes."""
    valid = nulls_of.is_valid().to_numpy(zero_copy_only=False)
    counts = np.where(valid, extents.prod(axis=1), 0)
    data = _list(np.concatenate([[0], np.cumsum(counts)]), items, None, pa.large_list(items.type))
    flat = pa.array(extents.astype(np.int32).reshape(-1))
    shape = pa.FixedSizeListArray.from_arrays(flat, extents.shape[1])
    return pa.StructArray.from_arrays([data, shape], ["data", "shape"], mask=_nulls(nulls_of))
