"""Stored fields: how a table keeps the fields of a Unischema, and how the rows that were read become their values.

The ingest writes these properties: the table property `petastorm.schema` has the name of the schema and the fields in order, and each
column has `petastorm.dtype`, `petastorm.shape`, `petastorm.nullable` and `petastorm.codec`. Columns without them, as in any other
table, become fields by their types.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _images
from .._table import Table
from .._tetrys import Corrupt, Image, Invalid, NotFound, Ragged, Rows
from .._torch import refuse_null_elements
from .codecs import (
    CompressedImageCodec,
    CompressedNdarrayCodec,
    DataframeColumnCodec,
    NdarrayCodec,
    ScalarCodec,
    StoredCodec,
    spark_type,
)
from .unischema import UnischemaField

SCHEMA = "petastorm.schema"
ROW_GROUP = "petastorm.row_group"
_PYTHON_TYPES: dict[str, Any] = {
    "int": int, "float": float, "str": str, "bytes": bytes, "bool": bool, "Decimal": Decimal, "datetime.date": date, "datetime.datetime": datetime,
}  # fmt: skip
_NUMBERS = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
_OTHERS: dict[str, Any] = {
    "utf8": np.str_, "categorical": np.str_, "binary": np.bytes_, "date": np.datetime64, "timestamp": np.datetime64, "duration": np.timedelta64,
}  # fmt: skip

Values = list[Any]
"""The value of a field for each row; None is null."""


@dataclass(frozen=True)
class Stored:
    """A field and where it is stored.

    `columns` are read for it. `values` converts rows that were read. A column of pictures has the decoder that the threads that read
    use, in `picture`; then the rows have pixels, unless they were read without a decoder.
    """

    field: UnischemaField
    columns: tuple[str, ...]
    type: str
    values: Callable[[Rows], Values]
    picture: Image | None = None
    is_declared: bool = False
    """Whether the field is one of a Unischema, not one that follows from the type of a column."""

    def values_or_none(self, rows: Rows) -> Values:
        """Returns the values, with None for each null: `values` has NaN for a null in a field of floats."""
        return _nulls(rows, self.columns[0], self.values(rows))

    @property
    def decodes(self) -> bool:
        """Whether `values` decodes files with a codec, which takes long."""
        return self.picture is None and isinstance(self.field.codec, (NdarrayCodec, CompressedNdarrayCodec, CompressedImageCodec))

    @property
    def is_plain(self) -> bool:
        """Whether a batch of values can be one array straight from the rows: numbers, and tensors of one shape."""
        element, _, inside = self.type.removesuffix("]").partition("[")
        known = _NUMBERS.get(element)
        return "?" not in inside and element != "bf16" and known is not None and self.field.numpy_dtype in (known, int, float, bool)


def stored_fields(tables: Sequence[Table]) -> tuple[str, dict[str, Stored]]:
    """Returns the name of the schema of tables with the same columns, and their fields in order.

    A view takes the properties from the tables behind it.

    Raises:
        Corrupt: the properties of a table are damaged.
    """
    table = tables[0]
    types = dict(table.index_columns) | {name: kind for _, columns in table.groups for name, kind in columns}
    behind = with_sources(table)
    source = next((one for one in behind if SCHEMA in one.properties), None)
    if source is None:
        return "inferred_schema", _inferred(table, [name for name in types if name != ROW_GROUP], types)
    stored = source.properties[SCHEMA]
    try:
        name, names = stored["name"], [str(one) for one in stored["fields"]]
    except (TypeError, KeyError) as error:
        raise Corrupt(f"{source.url}: the table property `{SCHEMA}` is {stored!r}, expected a name and fields: ingest the data set again") from error
    fields: dict[str, Stored] = {}
    taken = {ROW_GROUP}
    for field in names:
        if field in types:
            fields[field] = _declared(field, types, column_properties(behind, field), source.url)
            taken.update(fields[field].columns)
    # Columns that were added later have no properties.
    return str(name), fields | _inferred(table, [one for one in types if one not in taken and one not in names], types)


def with_sources(table: Table) -> list[Table]:
    """Returns a table; for a view, also all tables behind it, since a view does not have their properties."""
    return [table, *(one for source in table.sources() for one in with_sources(source))] if table.is_view else [table]


def _is_stored_decimal(tables: Sequence[Table], column: str) -> bool:
    """Whether a column of text has the decimals of a column of Parquet or Arrow."""
    for table in tables:
        with suppress(NotFound):
            return str(table.column_properties(column).get("arrow", "")).startswith("decimal")
    return False


def column_properties(tables: Sequence[Table], column: str) -> dict[str, Any]:
    """Returns the properties of a column: those of the first table that describes it as a field, else of the first that has some."""
    some: dict[str, Any] = {}
    for table in tables:
        try:
            properties = table.column_properties(column)
        except NotFound:
            continue
        if "petastorm.dtype" in properties:
            return properties
        some = some or properties
    return some


def _declared(name: str, types: dict[str, str], properties: dict[str, Any], url: str) -> Stored:
    """Returns a field by the properties of its column."""
    try:
        dtype = _dtype(properties["petastorm.dtype"], types[name])
        shape = tuple(None if extent is None else int(extent) for extent in properties["petastorm.shape"])
        nullable = bool(properties["petastorm.nullable"])
        codec = _codec(properties.get("petastorm.codec"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Corrupt(f"{url}: the properties of column `{name}` do not describe a field ({error!r}): ingest the data set again") from error
    return _stored(UnischemaField(name, dtype, shape, codec, nullable), name, types, is_declared=True)


def field_of(stored: dict[str, Any]) -> UnischemaField:
    """Returns a field as `read_petastorm_metadata` describes it."""
    shape = tuple(None if extent is None else int(extent) for extent in stored["shape"])
    return UnischemaField(str(stored["name"]), _dtype(stored["dtype"], ""), shape, _codec(stored.get("codec")), bool(stored["nullable"]))


def _dtype(name: str, column: str) -> Any:
    """Returns the type of this name; that of the column if Petastorm does not convert values to a type of this name."""
    if not isinstance(name, str):
        raise TypeError(f"expected the name of a dtype, found {name!r}")
    known = _PYTHON_TYPES.get(name) or getattr(np, name, None)
    if isinstance(known, type) and (known in _PYTHON_TYPES.values() or issubclass(known, np.generic) and known is not np.object_):
        return known
    element = column.partition("[")[0].removeprefix("list<").removesuffix(">")
    return _NUMBERS.get(element) or _OTHERS.get(element, np.bytes_)


def dtype_name(dtype: Any) -> str:
    """Returns the name of a dtype for the column properties."""
    if dtype in _PYTHON_TYPES.values():
        return next(name for name, known in _PYTHON_TYPES.items() if known is dtype)
    scalar: str = np.dtype(dtype).type.__name__
    return {"bool": "bool_", "str": "str_", "bytes": "bytes_"}.get(scalar, scalar)


def _codec(stored: dict[str, Any] | None) -> DataframeColumnCodec | None:
    if stored is None:
        return None
    package, _, name = str(stored["class"]).rpartition(".")
    if package != "petastorm.codecs":
        return StoredCodec(str(stored["class"]))
    if name == "ScalarCodec":
        kind = stored.get("spark_type")
        return ScalarCodec(None if kind is None else spark_type(str(kind["class"]).rpartition(".")[2], dict(kind.get("attrs", {}))))
    if name == "CompressedImageCodec":
        return CompressedImageCodec(str(stored["image_codec"]), int(stored.get("quality", 80)))
    made = {"NdarrayCodec": NdarrayCodec, "CompressedNdarrayCodec": CompressedNdarrayCodec}.get(name)
    return StoredCodec(str(stored["class"])) if made is None else made()


def codec_property(codec: Any) -> dict[str, Any] | None:
    """Returns the column property of a codec."""
    if codec is None:
        return None
    name = type(codec).__name__
    if isinstance(codec, StoredCodec):
        return {"class": codec.name}
    if not isinstance(codec, (ScalarCodec, NdarrayCodec, CompressedNdarrayCodec, CompressedImageCodec)):
        return {"class": f"{type(codec).__module__}.{name}"}
    stored: dict[str, Any] = {"class": f"petastorm.codecs.{name}"}
    if isinstance(codec, CompressedImageCodec):
        stored |= {"image_codec": codec.image_codec, "quality": codec._quality}
    if isinstance(codec, ScalarCodec) and codec._spark_type is not None:
        attributes = {key: value for key, value in vars(codec._spark_type).items() if isinstance(value, (bool, int, str))}
        stored["spark_type"] = {"class": f"pyspark.sql.types.{type(codec._spark_type).__name__}", "attrs": attributes}
    return stored


def _inferred(table: Table, names: Sequence[str], types: dict[str, str]) -> dict[str, Stored]:
    """Returns fields by the types of their columns. A name that no attribute can have, such as `lidar.points`, gets underscores."""
    fields: dict[str, Stored] = {}
    behind = with_sources(table)
    for name in names:
        element, _, inside = types[name].removesuffix("]").partition("[")
        item = re.fullmatch(r"list<(utf8|categorical)>", types[name])
        dtype = _NUMBERS.get(element) or _OTHERS.get("utf8" if item else element)
        if element == "utf8" and _is_stored_decimal(behind, name):
            dtype = Decimal
        if dtype is None:
            warnings.warn(f"column `{name}` of {table.url}: values of {types[name]} do not become fields", stacklevel=4)
            continue
        shape: tuple[int | None, ...] = (None,) if item else ()
        if element in _NUMBERS and inside:
            shape = tuple(None if extent == "?" else int(extent) for extent in inside.split(","))
        plain = re.sub(r"\W", "_", name)
        plain = f"f_{plain}" if not plain.isidentifier() or plain.startswith("_") else plain
        if plain in fields:
            raise Invalid(f"{table.url}: columns `{fields[plain].columns[0]}` and `{name}` would both be the field `{plain}`: rename one of them")
        fields[plain] = _stored(UnischemaField(plain, dtype, shape, None, True), name, types)
    return fields


def _stored(field: UnischemaField, column: str, types: dict[str, str], *, is_declared: bool = False) -> Stored:
    """Decides by the type of the column first: bytes may be a file that a codec decodes, everything else is decoded already.

    A field that a Unischema declares has values of the types that Petastorm gives: bytes as `np.bytes_`, times in microseconds.
    """
    kind, dtype = types[column], field.numpy_dtype
    element = kind.partition("[")[0]
    if kind == "binary":
        is_rgb = dtype is np.uint8 and len(field.shape) == 3 and field.shape[2] == 3
        if isinstance(field.codec, CompressedImageCodec) and field.codec.image_codec in ("png", "jpeg", "jpg") and is_rgb:
            return Stored(field, (column,), kind, lambda rows: _pictures(rows, column, field), _images.image())
        if isinstance(field.codec, (NdarrayCodec, CompressedNdarrayCodec, CompressedImageCodec)):
            codec = field.codec
            return Stored(field, (column,), kind, lambda rows: _of_bytes(rows, column, lambda cell: codec.decode(field, cell)))
        of_bytes = _numpy_bytes if is_declared and dtype is np.bytes_ and (field.codec is None or isinstance(field.codec, ScalarCodec)) else bytes
        return Stored(field, (column,), kind, lambda rows: _of_bytes(rows, column, of_bytes))
    if kind.startswith("list<") and f"{column}.shape" in types and f"{column}.width" in types:
        return Stored(field, (column, f"{column}.shape", f"{column}.width"), kind, lambda rows: _texts(rows, column, dtype))
    if kind.startswith("list<"):
        item = kind.removeprefix("list<").removesuffix(">")
        return Stored(field, (column,), kind, lambda rows: _lists(rows, column, item, dtype))
    if dtype is Decimal:
        return Stored(field, (column,), kind, lambda rows: _decimals(rows, column))
    if element in ("utf8", "categorical"):
        # Spark has text where a schema declares bytes.
        make = dtype if dtype in (str, np.str_) else (lambda value: np.bytes_(value.encode())) if dtype is np.bytes_ else np.dtype(dtype).type
        return Stored(field, (column,), kind, lambda rows: [None if value is None else make(value) for value in rows[column]])
    if dtype in (int, float, bool, date, datetime):
        return Stored(field, (column,), kind, lambda rows: _nulls(rows, column, microseconds(rows[column]).tolist(), _null(field)))
    if field.shape == () and isinstance(field.codec, (NdarrayCodec, CompressedNdarrayCodec)):
        return Stored(field, (column,), kind, lambda rows: _nulls(rows, column, [np.array(value) for value in rows[column]]))
    if is_declared and dtype is np.datetime64 and field.shape == ():
        return Stored(field, (column,), kind, lambda rows: _nulls(rows, column, list(microseconds(rows[column]))), None, True)
    return Stored(field, (column,), kind, lambda rows: _numbers(rows, column, dtype, _null(field)))


def _null(field: UnischemaField) -> Any:
    """Returns what a reader delivers for null: NaN in a field of floats, as Petastorm does, and None elsewhere."""
    spark = None if field.codec is None else getattr(field.codec, "_spark_type", None)
    is_float = field.numpy_dtype is float or field.numpy_dtype in (np.float16, np.float32, np.float64)
    if field.shape or not is_float or not isinstance(field.codec, (ScalarCodec, type(None))):
        return None
    return field.numpy_dtype("nan") if spark is None or type(spark).__name__ in ("FloatType", "DoubleType") else None


def microseconds(times: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns times in microseconds, as Petastorm's readers give them. Days, and values that are no times, stay as they are."""
    return times if times.dtype.kind != "M" or times.dtype == np.dtype("M8[D]") else times.astype("M8[us]")


def _nulls(rows: Rows, column: str, values: Values, null: Any = None) -> Values:
    valid = rows.valid(column)
    return values if valid.all() else [value if there else null for value, there in zip(values, valid.tolist(), strict=True)]


def _numbers(rows: Rows, column: str, dtype: Any, null: Any = None) -> Values:
    """Scalars, and arrays of their own, which may be changed and do not keep the other rows of their batch in memory."""
    values = rows[column]
    if rows.types[column].partition("[")[0] not in ("f16", "f32", "f64"):
        refuse_null_elements(rows, column, values, "Petastorm")
    if isinstance(values, Ragged):
        return [None if value is None else _copied(value) for value in values]
    # Spark has no unsigned numbers: a column that it wrote is wider than its field.
    if values.dtype.kind not in "mM" and values.dtype.type is not dtype and issubclass(dtype, np.generic):
        values = values.astype(dtype)
    return _nulls(rows, column, list(values) if values.ndim == 1 else [_copied(value) for value in values], null)


def _lists(rows: Rows, column: str, element: str, dtype: Any) -> Values:
    """Arrays of the elements of lists. As in Petastorm, null elements of floats are NaN."""
    values = rows[column]
    if element not in ("f16", "f32", "f64"):
        refuse_null_elements(rows, column, values, "Petastorm")
    bare = (row.filled(np.nan) if isinstance(row, np.ma.MaskedArray) else row for row in values)
    return [None if row is None else _array_of(row, dtype) for row in bare]


def _copied(value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Copies an array of its own. As in Petastorm, null elements of floats are NaN."""
    return value.filled(np.nan) if isinstance(value, np.ma.MaskedArray) else value.copy()


def _numpy_bytes(value: bytes) -> bytes:
    """Returns bytes as Petastorm gives them, unless numpy would drop the NULs at their end."""
    return value if value.endswith(b"\0") else np.bytes_(value)


def _of_bytes(rows: Rows, column: str, decode: Callable[[bytes], Any]) -> Values:
    return [None if value is None else decode(value.tobytes()) for value in rows[column]]


def _pictures(rows: Rows, column: str, field: UnischemaField) -> Values:
    """Pixels, whether the threads that read have decoded them or not."""
    if rows.types[column] != "binary":
        return _numbers(rows, column, np.uint8)
    decoder = _images.image()
    return [None if value is None else value.copy() for value in _images.decode_all(column, rows[column], decoder)]


def _decimals(rows: Rows, column: str) -> Values:
    try:
        return [None if value is None else Decimal(value) for value in rows[column]]
    except InvalidOperation as error:
        wrong = next(value for value in rows[column] if value is not None and not _is_decimal(value))
        raise Invalid(f"column `{column}`: `{wrong}` is no decimal number, and the field is declared as Decimal") from error


def _is_decimal(value: str) -> bool:
    try:
        Decimal(value)
    except InvalidOperation:
        return False
    return True


def _texts(rows: Rows, column: str, dtype: Any) -> Values:
    """Arrays of strings: the elements in C order, with their shape and width."""
    kind = "U" if np.dtype(dtype).kind == "U" else "S"
    shapes, widths = rows[f"{column}.shape"], rows[f"{column}.width"]
    valid = rows.valid(column).tolist()
    made: Values = []
    for row, items in enumerate(rows[column]):
        if not valid[row] or items is None:
            made.append(None)
            continue
        shape, width = tuple(int(extent) for extent in shapes[row]), int(widths[row])
        if int(np.prod(shape, dtype=np.int64)) != len(items) or width < 0:
            raise Corrupt(f"column `{column}`, row {row} of those read: {len(items)} elements for the shape {shape} of width {width}")
        cells = items if kind == "U" else [bytes(item) for item in items]
        made.append(np.array(cells, f"{kind}{width}").reshape(shape))
    return made


def _array_of(items: Sequence[Any] | npt.NDArray[Any], dtype: Any) -> Any:
    if np.dtype(dtype).kind == "S":
        return np.array([b"" if item is None else bytes(item) for item in items], np.bytes_)
    if any(item is None for item in items):
        return np.array(items, object)
    return np.array(items, np.str_ if np.dtype(dtype).kind == "U" else dtype)
