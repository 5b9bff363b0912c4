"""Unischemas: names, dtypes, shapes and codecs of the fields of a data set."""

from __future__ import annotations

import re
import warnings
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._arguments import is_whole, limited, several, text
from .._errors import imported, short
from .errors import NoSchema, WrongPartition, WrongType, WrongValue, found

__all__ = ["Unischema", "UnischemaField", "dict_to_spark_row", "insert_explicit_nulls", "match_unischema_fields"]


class UnischemaField(NamedTuple):
    """A field of a schema. Two fields are equal if all but their codecs are.

    - `name`: name of the field.
    - `numpy_dtype`: a numpy scalar type such as `np.uint8`, or `decimal.Decimal`.
    - `shape`: extents of the array, `()` for a scalar; None stands for any extent.
    - `codec`: an object of `tetrys.petastorm.codecs`, or None.
    - `nullable`: whether the value may be None.

    Example:
        >>> from tetrys.petastorm.unischema import UnischemaField
        >>> UnischemaField("points", np.float32, (None, 3)).nullable
        False
    """

    name: str
    numpy_dtype: Any
    shape: tuple[int | None, ...]
    codec: Any = None
    nullable: bool | None = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(other) == 5 and _without_codec(self) == _without_codec(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_without_codec(self))


def _without_codec(field: tuple[Any, ...]) -> tuple[Any, ...]:
    return (field[0], field[1], field[2], field[4])


@lru_cache(maxsize=1024)
def _row_class(schema_name: str, names: tuple[str, ...]) -> Any:
    """Returns the class of rows: always the same one for a schema and its fields, because TensorFlow compares classes."""
    return namedtuple(f"{schema_name}_view", names)


_MOST_FIELDS = 1 << 16


def checked_field(field: Any) -> UnischemaField:
    """Returns a field of a schema, if its parts have the types that they need."""
    if not isinstance(getattr(field, "name", None), str) or not hasattr(field, "numpy_dtype") or not hasattr(field, "shape"):
        raise WrongType(f"fields: expected UnischemaField objects, found {found(field)}")
    name = text("fields, a name", field.name)
    if not isinstance(field.numpy_dtype, (type, np.dtype)):
        raise WrongType(f"field `{short(name)}`: numpy_dtype: expected a type such as np.float32, found {found(field.numpy_dtype)}")
    if not isinstance(field.shape, tuple) or not all(extent is None or is_whole(extent) and 0 <= extent < 2**31 for extent in field.shape):
        raise WrongType(f"field `{short(name)}`: shape: expected a tuple of extents, each from 0 or None, found {found(field.shape)}")
    codec = getattr(field, "codec", None)
    if codec is not None and (isinstance(codec, type) or not callable(getattr(codec, "encode", None)) or not callable(getattr(codec, "decode", None))):
        raise WrongType(f"field `{short(name)}`: codec: expected an object of tetrys.petastorm.codecs, found {found(codec)}")
    if not isinstance(getattr(field, "nullable", None), (bool, np.bool_, type(None))):
        raise WrongType(f"field `{short(name)}`: nullable: expected True or False, found {found(field.nullable)}")
    made: UnischemaField = field
    return made


class Unischema:
    """Names and types of the fields of a data set. `schema.NAME` is a field, too.

    Args:
        name: Name of the schema.
        fields: The fields, in order.

    Example:
        >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
        >>> schema = Unischema("Scan", [UnischemaField("id", np.int64, ()), UnischemaField("points", np.float32, (None, 3))])
        >>> list(schema.create_schema_view(["p.*"]).fields)
        ['points']

    Raises:
        ValueError (an `Invalid`): two fields have the same name.
        TypeError (an `Invalid`): something else than a field is among them, or a field has no dtype or shape.
    """

    def __init__(self, name: str, fields: Iterable[UnischemaField]) -> None:
        self._name = text("name", name)
        self._fields: dict[str, UnischemaField] = {}
        for field in several("fields", fields):
            checked_field(field)
            if field.name in self._fields:
                raise WrongValue(f"schema {name}: two fields are called `{field.name}`")
            self._fields[field.name] = field
            if hasattr(self, field.name):
                warnings.warn(f"schema {name}: `schema.{field.name}` is a method, so use `schema.fields[{field.name!r}]`", stacklevel=2)
            else:
                setattr(self, field.name, field)

    @property
    def fields(self) -> dict[str, UnischemaField]:
        """The fields by name, in order."""
        return self._fields

    def create_schema_view(self, fields: Sequence[UnischemaField | str]) -> Unischema:
        """Returns a schema with some of the fields: those given, then those that match a regular expression, in schema order.

        Args:
            fields: Fields, which must exist in this schema by name, and regular expressions, which match whole names.

        Raises:
            ValueError (an `Invalid`): an entry is neither a field nor text, or a field does not exist.
        """
        chosen = limited("fields", fields, _MOST_FIELDS)
        patterns = [field for field in chosen if isinstance(field, str)]
        given = [field for field in chosen if isinstance(field, tuple) and field]
        if len(patterns) + len(given) != len(chosen):
            wrong = next(field for field in chosen if not isinstance(field, (str, tuple)) or field == ())
            raise WrongValue(f"fields: expected UnischemaField objects and regular expressions, found {found(wrong)}")
        if unknown := [field[0] for field in given if not isinstance(field[0], str) or field[0] not in self._fields]:
            raise WrongValue(f"schema {self._name} has no field `{short(unknown[0])}`; there are: {', '.join(self._fields)}")
        names = dict.fromkeys([field[0] for field in given] + [field.name for field in match_unischema_fields(self, patterns)])
        return Unischema(f"{self._name}_view", [self._fields[name] for name in names])

    def make_namedtuple(self, **values: Any) -> Any:
        """Returns a row: a namedtuple with the fields of this schema."""
        return self._made(**values)

    def make_namedtuple_tf(self, *args: Any, **values: Any) -> Any:
        """Returns a row, as `make_namedtuple` does."""
        return self._made(*args, **values)

    def _made(self, *args: Any, **values: Any) -> Any:
        row = self._get_namedtuple()
        try:
            return row(*args, **values)
        except TypeError as error:
            given = f"{len(args)} values" if args else short(", ".join(values))
            raise WrongType(f"schema {self._name}: a row has the fields {', '.join(self._fields)}, found {given}") from error

    def _get_namedtuple(self) -> Any:
        try:
            return _row_class(self._name, tuple(self._fields))
        except ValueError as error:
            # A namedtuple has attributes of these names.
            raise WrongValue(f"schema {short(self._name)}: {short(error)}: rows are namedtuples, so the schema and its fields need names of Python") from error

    def as_spark_schema(self) -> Any:
        """Returns the schema of the cells as a `pyspark.sql.types.StructType`.

        Raises:
            ValueError (an `Invalid`): an array has no codec, or Spark has no type for a dtype.
            Unsupported: pyspark is not installed.
        """
        types = imported("pyspark.sql.types", "a Spark schema needs pyspark: pip install 'pyspark>=4.0' pyarrow")
        return types.StructType([types.StructField(field.name, _spark_dtype(field, types), bool(field.nullable)) for field in self._fields.values()])

    @classmethod
    def from_arrow_schema(cls, parquet_dataset: Any, omit_unsupported_fields: bool = True) -> Unischema:
        """Returns the schema `inferred_schema` of columns of Parquet files: scalars, and lists of scalars with the shape (None,); of
        a fixed size, with that size.

        Partition columns come first, then the columns in their order. No field has a codec.

        Args:
            parquet_dataset: A `pyarrow.Schema`, or what has one as `schema`, such as a `pyarrow.parquet.ParquetDataset`.
            omit_unsupported_fields: Leaves out columns of other types, with a warning. Lists of lists and of structs are left out in
                any case.

        Example:
            >>> import pyarrow as pa
            >>> from tetrys.petastorm.unischema import Unischema
            >>> Unischema.from_arrow_schema(pa.schema({"id": pa.int32(), "scores": pa.list_(pa.float32())})).scores.shape
            (None,)

        Raises:
            ValueError (an `Invalid`): a column has an unsupported type, and none is to be left out.
            RuntimeError (an `Invalid`): a partition column is neither text nor whole numbers.
        """
        arrow = imported("pyarrow", "a schema of Arrow needs pyarrow: pip install pyarrow")
        schema, partitions = _arrow_schema(parquet_dataset, arrow)
        fields = [UnischemaField(partition.name, _partition_dtype(partition, arrow), ()) for partition in partitions]
        for column in schema:
            kind = column.type
            is_fixed = arrow.types.is_fixed_size_list(kind)
            is_list = is_fixed or arrow.types.is_list(kind) or arrow.types.is_large_list(kind)
            item = kind.value_type if is_list else kind
            dtype = _arrow_dtype(item, arrow)
            if dtype is None:
                message = f"column `{column.name}`: a field cannot have values of {kind}"
                if not omit_unsupported_fields and not (is_list and arrow.types.is_nested(item)):
                    raise WrongValue(f"{message}: drop the column")
                warnings.warn(f"{message}, and the column is left out", stacklevel=2)
                continue
            shape = ((kind.list_size if is_fixed else None),) if is_list else ()
            fields.append(UnischemaField(column.name, dtype, shape, None, column.nullable))
        return cls("inferred_schema", fields)

    def __str__(self) -> str:
        lines = "".join(
            f"  UnischemaField('{field.name}', {getattr(field.numpy_dtype, '__name__', field.numpy_dtype)}, {field.shape}, {field.codec}, {field.nullable}),\n"
            for field in self._fields.values()
        )
        return f"Unischema({self._name}, [\n{lines}])"

    def __getattr__(self, name: str) -> Any:
        # Fields are attributes; this method tells type checkers that any name may be one.
        raise AttributeError(f"schema {self.__dict__.get('_name')} has no field `{name}`")


_SPARK = {
    np.int8: "ByteType", np.uint8: "ShortType", np.int16: "ShortType", np.uint16: "IntegerType", np.int32: "IntegerType",
    np.int64: "LongType", np.float32: "FloatType", np.float64: "DoubleType", np.str_: "StringType", np.bytes_: "StringType",
    np.bool_: "BooleanType",
}  # fmt: skip


def _spark_dtype(field: UnischemaField, types: Any) -> Any:
    known = None if field.codec is None else field.codec.spark_dtype()
    if known is not None:
        return known
    if field.shape != ():
        raise WrongValue(f"field `{field.name}`: an array of shape {field.shape} needs a codec, such as NdarrayCodec()")
    if field.numpy_dtype not in _SPARK:
        raise WrongValue(f"field `{field.name}`: Spark has no type for {field.numpy_dtype}: name one, as in ScalarCodec(LongType())")
    return getattr(types, _SPARK[field.numpy_dtype])()


def _arrow_schema(given: Any, arrow: Any) -> tuple[Any, list[Any]]:
    """Returns the schema of Arrow of a data set, and its partition columns if those are not in it."""
    if isinstance(given, arrow.Schema):
        return given, []
    # What pyarrow had before version 15, and what code for it still makes.
    pieces = getattr(given, "pieces", None)
    if isinstance(pieces, list) and pieces:
        return pieces[0].get_metadata().schema.to_arrow_schema(), list(getattr(given, "partitions", None) or ())
    if isinstance(schema := getattr(given, "schema", None), arrow.Schema):
        return schema, []
    raise WrongType(f"parquet_dataset: expected a pyarrow.Schema, or an object with one as `schema`, found {found(given)}")


def _partition_dtype(partition: Any, arrow: Any) -> Any:
    kind = partition.dictionary.type
    if arrow.types.is_string(kind):
        return np.str_
    if arrow.types.is_int64(kind):
        return np.int64
    raise WrongPartition(f"partition column `{partition.name}`: expected text or whole numbers, found {kind}")


_ARROW: dict[str, Any] = {
    "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32, "int64": np.int64,
    "uint64": np.uint64, "bool": np.bool_, "float": np.float32, "double": np.float64, "string": np.str_, "large_string": np.str_,
    "binary": np.bytes_, "large_binary": np.bytes_,
}  # fmt: skip


def _arrow_dtype(kind: Any, arrow: Any) -> Any:
    """Returns the dtype of values of a type of Arrow; None if a field cannot have them."""
    types = arrow.types
    if types.is_dictionary(kind):
        # As a partition column that pyarrow has read.
        kind = kind.value_type
    if types.is_decimal(kind):
        return Decimal
    if types.is_date(kind) or types.is_timestamp(kind):
        return np.datetime64
    return np.bytes_ if types.is_fixed_size_binary(kind) else _ARROW.get(str(kind))


def match_unischema_fields(schema: Unischema, field_regex: Iterable[str] | None) -> list[UnischemaField]:
    """Returns the fields whose whole name matches one of the regular expressions, in schema order.

    Raises:
        ValueError (an `Invalid`): a text is no regular expression.
    """
    checked_schema(schema)
    patterns = [] if field_regex is None else limited("field_regex", field_regex, _MOST_FIELDS)
    for pattern in patterns:
        text("a regular expression", pattern)
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise WrongValue(f"`{short(pattern)}` is no regular expression: {error}") from error
    return [field for field in schema.fields.values() if any(re.fullmatch(pattern, field.name) for pattern in patterns)]


def checked_schema(schema: object) -> Unischema:
    if not isinstance(schema, Unischema):
        raise NoSchema(f"expected a Unischema, found {found(schema)}")
    return schema


def checked_row(row: object) -> Mapping[str, Any]:
    """Returns the values of a row by field name."""
    if not isinstance(row, Mapping):
        raise WrongType(f"a row: expected a dict of its fields, found {found(row)}")
    if wrong := [name for name in row if not isinstance(name, str)]:
        raise WrongType(f"a row: expected names of fields as keys, found {found(wrong[0])}")
    return row


def insert_explicit_nulls(unischema: Unischema, row_dict: dict[str, Any]) -> None:
    """Adds None for nullable fields that the row does not have.

    Raises:
        ValueError (an `Invalid`): a field that is not nullable is missing.
    """
    checked_row(row_dict)
    for name, field in checked_schema(unischema).fields.items():
        if name not in row_dict:
            if not field.nullable:
                raise WrongValue(f"the row has no field `{name}`, which is not nullable")
            row_dict[name] = None


def encoded_row(unischema: Unischema, row_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the cells of a row, in schema order, after checks of names, types, shapes and nulls."""
    checked_schema(unischema)
    row = dict(checked_row(row_dict))
    insert_explicit_nulls(unischema, row)
    if unknown := [name for name in row if name not in unischema.fields]:
        raise WrongValue(f"the row has a field `{short(unknown[0])}`, which schema {unischema._name} does not; there are: {', '.join(unischema.fields)}")
    cells: dict[str, Any] = {}
    for name, field in unischema.fields.items():
        value = row[name]
        if value is None and not field.nullable:
            raise WrongValue(f"field `{name}` is None, and it is not nullable")
        if value is not None and field.codec is not None:
            value = field.codec.encode(field, value)
        cells[name] = value.tolist() if isinstance(value, np.generic) else value
    return cells


def dict_to_spark_row(unischema: Unischema, row_dict: Mapping[str, Any]) -> Any:
    """Returns a `pyspark.Row` with the cells of a row: each value is checked, and encoded by its codec.

    Write such rows with `tetrys.spark.write`, inside of `tetrys.petastorm.etl.dataset_metadata.materialize_dataset`.

    Args:
        unischema: The schema.
        row_dict: The values by field name. Nullable fields may be missing.

    Raises:
        ValueError (an `Invalid`): a field is missing or unknown, or a value has another type or shape than its field.
        Unsupported: pyspark is not installed.
    """
    pyspark = imported("pyspark", "rows of Spark need pyspark: pip install 'pyspark>=4.0' pyarrow")
    cells = encoded_row(unischema, row_dict)
    row = pyspark.Row(*cells.values())
    row.__fields__ = list(cells)
    return row
