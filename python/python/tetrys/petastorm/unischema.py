"""Unischemas: names, dtypes, shapes and codecs of the fields of a data set."""

from __future__ import annotations

import re
import warnings
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._arguments import several
from .._errors import WrongType, WrongValue, found, imported

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
    """

    def __init__(self, name: str, fields: Iterable[UnischemaField]) -> None:
        self._name = name
        self._fields: dict[str, UnischemaField] = {}
        for field in several("fields", fields):
            if not isinstance(getattr(field, "name", None), str) or not hasattr(field, "numpy_dtype"):
                raise WrongType(f"fields: expected UnischemaField objects, found {found(field)}")
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
        patterns = [field for field in fields if isinstance(field, str)]
        given = [field for field in fields if isinstance(field, tuple)]
        if len(patterns) + len(given) != len(fields):
            wrong = next(field for field in fields if not isinstance(field, (str, tuple)))
            raise WrongValue(f"fields: expected UnischemaField objects and regular expressions, found {found(wrong)}")
        if unknown := [field[0] for field in given if field[0] not in self._fields]:
            raise WrongValue(f"schema {self._name} has no field `{unknown[0]}`; there are: {', '.join(self._fields)}")
        names = dict.fromkeys([field[0] for field in given] + [field.name for field in match_unischema_fields(self, patterns)])
        return Unischema(f"{self._name}_view", [self._fields[name] for name in names])

    def make_namedtuple(self, **values: Any) -> Any:
        """Returns a row: a namedtuple with the fields of this schema."""
        return self._get_namedtuple()(**values)

    def make_namedtuple_tf(self, *args: Any, **values: Any) -> Any:
        """Returns a row, as `make_namedtuple` does."""
        return self._get_namedtuple()(*args, **values)

    def _get_namedtuple(self) -> Any:
        return _row_class(self._name, tuple(self._fields))

    def as_spark_schema(self) -> Any:
        """Returns the schema of the cells as a `pyspark.sql.types.StructType`.

        Raises:
            ValueError (an `Invalid`): an array has no codec, or Spark has no type for a dtype.
            Unsupported: pyspark is not installed.
        """
        types = imported("pyspark.sql.types", "a Spark schema needs pyspark: pip install 'pyspark>=4.0' pyarrow")
        return types.StructType([types.StructField(field.name, _spark_dtype(field, types), bool(field.nullable)) for field in self._fields.values()])

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
    np.int64: "LongType", np.float32: "FloatType", np.float64: "DoubleType", np.str_: "StringType", np.bool_: "BooleanType",
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


def match_unischema_fields(schema: Unischema, field_regex: Iterable[str] | None) -> list[UnischemaField]:
    """Returns the fields whose whole name matches one of the regular expressions, in schema order.

    Raises:
        ValueError (an `Invalid`): a text is no regular expression.
    """
    patterns = list(field_regex or ())
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise WrongValue(f"`{pattern}` is no regular expression: {error}") from error
    return [field for field in schema.fields.values() if any(re.fullmatch(pattern, field.name) for pattern in patterns)]


def insert_explicit_nulls(unischema: Unischema, row_dict: dict[str, Any]) -> None:
    """Adds None for nullable fields that the row does not have.

    Raises:
        ValueError (an `Invalid`): a field that is not nullable is missing.
    """
    for name, field in unischema.fields.items():
        if name not in row_dict:
            if not field.nullable:
                raise WrongValue(f"the row has no field `{name}`, which is not nullable")
            row_dict[name] = None


def encoded_row(unischema: Unischema, row_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the cells of a row, in schema order, after checks of names, types, shapes and nulls."""
    if not isinstance(unischema, Unischema):
        raise WrongType(f"expected a Unischema, found {found(unischema)}")
    row = dict(row_dict)
    insert_explicit_nulls(unischema, row)
    if unknown := [name for name in row if name not in unischema.fields]:
        raise WrongValue(f"the row has a field `{unknown[0]}`, which schema {unischema._name} does not; there are: {', '.join(unischema.fields)}")
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
