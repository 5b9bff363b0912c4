"""Makes columns of structs, lists of structs, maps and decimals, as `tetrys ingest parquet` does. The adapters for Ray and Spark share
this module.

| values | columns |
|---|---|
| a struct `s` | a column for each field: `s.a` |
| a list of structs, a map | a list for each field: `s.a`; `s.key` and `s.value` |
| a decimal | `utf8`: the exact number in decimal digits |
| a time of day | `duration` |

The import of Parquet files names the columns, with their types and properties: it takes in a file without rows. The property `nested` says
which part of which field a column is.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ._arguments import exactly
from ._data import types_of
from ._errors import short
from ._ingest_petastorm import ingest_petastorm
from ._options import Types
from ._tetrys import Invalid, Unsupported

BOUNDS = {f"{sign}{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign == "i" else (0, 2**bits - 1) for sign in "iu" for bits in (8, 16, 32, 64)}
"""The least and the largest value of each type of integers."""
_LISTS = ("list", "map")
"""Kinds of enclosing types that make a list of a column."""
_IS_NULL, _NULLS = "is_null", "nested_nulls"
"""Name of the column that says which structs are null, inside the struct, and the property that marks it."""
_PLACE = ("nested", _NULLS)
"""Properties that say which part of a field a column is."""


@dataclass(frozen=True)
class Part:
    """A column that is made of a field, or of a part of it."""

    name: str
    kind: str
    """Its column type."""
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def within(self) -> list[tuple[str, str, int]]:
        """The enclosing types, the outermost first: name, kind, and the place of the column in it."""
        return [(name, kind, place) for name, kind, place in self.properties.get("nested", [])]

    @property
    def root(self) -> str:
        """Name of the field."""
        return self.within[0][0] if self.within else self.name

    @property
    def is_nulls(self) -> bool:
        """Whether the values say which structs are null."""
        return bool(self.properties.get(_NULLS))


def parts_of(schema: pa.Schema) -> list[Part]:
    """Returns the columns of fields. Behind those of each struct is one that says where it is null, see `Part.is_nulls`.

    Raises:
        Invalid: there is no column type for a field, or two columns have one name.
    """
    return list(_parts_of(schema.serialize().to_pybytes()))


@lru_cache(maxsize=64)
def _parts_of(serialized: bytes) -> tuple[Part, ...]:
    schema = pa.ipc.read_schema(pa.py_buffer(serialized))
    try:
        parts = _ingested(schema)
    except (Unsupported, pa.ArrowException) as error:
        if len(schema) > 1:
            return tuple(part for one in schema for part in _parts_of(pa.schema([one]).serialize().to_pybytes()))
        name, kind = schema.field(0).name, schema.field(0).type
        raise Invalid(f"column `{name}`: no column type for {short(kind)}: convert the values, or leave the column out") from error
    return (*parts, *_nulls_of(parts))


def _ingested(schema: pa.Schema) -> list[Part]:
    """Returns the columns that an import makes of a Parquet file with these fields."""
    if not schema.names:
        return []
    longest = max(map(len, schema.names))
    # A table needs an index column: one whose name is longer than those of the fields, and than the parts that have no dot.
    key = pa.field("_" * (longest + 1), pa.int64())
    with tempfile.TemporaryDirectory(prefix="tetrys-") as folder:
        pq.write_table(pa.schema([*schema, key]).empty_table(), f"{folder}/rows.parquet")
        others = {"columns": f"re:.*[^_].*|_{{0,{longest}}}"}
        table = ingest_petastorm(f"{folder}/rows.parquet", f"{folder}/table", index=exactly(key.name), groups=others)
        return [Part(name, kind, table.column_properties(name)) for name, kind in types_of(table).items() if name != key.name]


def _nulls_of(parts: Sequence[Part]) -> Iterator[Part]:
    """Yields a column for each struct that says where the struct is null."""
    fields: dict[tuple[tuple[str, str], ...], int] = {}
    for part in parts:
        for depth in range(1, len(part.within) + 1):
            around = tuple((name, kind) for name, kind, _ in part.within[:depth])
            fields[around] = max(fields.get(around, 0), part.within[depth - 1][2] + 1)
    taken = {part.name for part in parts}
    for around, count in fields.items():
        name = ".".join([*(name for name, _ in around), _IS_NULL])
        if around[-1][1] == "map" or name in taken:
            continue
        kind = "bool"
        for _ in [kind for _, kind in around if kind in _LISTS]:
            kind = "bool[?]" if kind == "bool" else f"list<{kind}>"
        # The places of the types around the struct are those of any column inside it.
        (like,) = [part.within for part in parts if tuple((name, kind) for name, kind, _ in part.within[: len(around)]) == around][:1]
        within = [*like[: len(around) - 1], (*around[-1], count)]
        yield Part(name, kind, {"nested": [list(one) for one in within], _NULLS: True})


def chosen(parts: Iterable[Part], declared: Mapping[str, str], here: Mapping[str, str], names: Sequence[str]) -> Types:
    """Returns the types and properties of columns: the declared type, that of the table `here` to append to, or that of the part.

    Args:
        names: Names of the frame's columns, for messages.

    Raises:
        Invalid: two columns have one name.
    """
    made = Types()
    for part in parts:
        if part.is_nulls and part.name not in declared and part.name not in here:
            continue
        if part.name in made:
            raise Invalid(f"two columns `{part.name}`: rename one; the columns of the frame are {', '.join(names)}")
        made[part.name] = declared.get(part.name) or here.get(part.name) or part.kind
        if part.properties.get("arrow") == "null" and made[part.name] == part.kind:
            raise Invalid(f"column `{part.name}`: no value suggests a type: declare it in `schema`")
        # Values of another type do not have the Arrow type that the other properties name.
        kept = part.properties if made[part.name] == part.kind else {key: part.properties[key] for key in _PLACE if key in part.properties}
        made.properties += [(part.name, key, json.dumps(value)) for key, value in kept.items()]
    return made


def flattened(rows: pa.Table | pa.RecordBatch, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Returns the columns of rows: those that `kinds` names, and of other fields their parts. Decimals become what `kinds` says. A part
    that `kinds` names and the rows lack is null.

    Raises:
        Invalid: a decimal does not fit its column; a struct is not null although all its fields are null, and `kinds` has no column
            that tells it from null; or two columns have one name.
    """
    parts: dict[str, list[Part]] = {}
    for part in parts_of(pa.schema([one for one in rows.schema if one.name not in kinds])):
        parts.setdefault(part.root, []).append(part)
    columns: dict[str, Any] = {name: None for name in rows.schema.names if name in kinds}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if name in kinds:
            columns[name] = as_type(column, kinds[name], f"column `{name}`")
            continue
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        _refuse_structs_of_nulls(array, name, kinds)
        # Engines that find the types by the values have batches whose structs lack fields, and whose lists have no items.
        inside = [part for part in kinds if part.startswith(f"{name}.") and part not in columns]
        for part in parts[name]:
            is_empty = part.properties.get("arrow") == "null" and any(one.startswith(f"{part.name}.") for one in inside)
            if part.name not in kinds and (part.is_nulls or is_empty):
                continue
            if part.name in columns:
                raise Invalid(f"two columns `{part.name}`: rename one; the columns of the batch are {', '.join(rows.schema.names)}")
            values = _walk(array, _path(part))
            columns[part.name] = as_type(values, kinds.get(part.name, part.kind), f"column `{part.name}`")
        columns |= {part: _lacking(array, part.removeprefix(f"{name}.")) for part in inside if part not in columns}
    return columns


def _lacking(array: pa.Array, part: str) -> pa.Array:
    """Returns nulls in place of a part that the values lack, in the lists around it. A struct that they lack is null."""
    kind = array.type
    if pa.types.is_map(kind) or is_list(kind):
        lists = _lists(array)
        return listed(lists, _lacking(lists.flatten(), part))
    for number in range(kind.num_fields if pa.types.is_struct(kind) else 0):
        if part.startswith(within := f"{kind.field(number).name}."):
            return _lacking(array.flatten()[number], part.removeprefix(within))
    is_nulls = part.rsplit(".", 1)[-1] == _IS_NULL
    return pa.array([True] * len(array), pa.bool_()) if is_nulls else pa.nulls(len(array))


def _path(part: Part) -> list[tuple[str, int | None]]:
    """Returns the steps from a field down to the values of a part. The step to the nulls of a struct has no place."""
    path: list[tuple[str, int | None]] = []
    for _, kind, place in part.within:
        path += [*([("items", None)] if kind in _LISTS else []), ("field", place)]
    return [*path[:-1], ("field", None)] if part.is_nulls else path


def _walk(array: pa.Array, path: Sequence[tuple[str, int | None]]) -> pa.Array:
    """Follows a path; returns the values at its end, in the lists on it."""
    if not path:
        return _leaf(array)
    (step, place), rest = path[0], path[1:]
    if step == "items":
        lists = _lists(array)
        return listed(lists, _walk(lists.flatten(), rest))
    return array.is_null() if place is None else _walk(array.flatten()[place], rest)


def _lists(array: pa.Array) -> pa.Array:
    """Returns maps as lists of structs of key and value, and lists as they are."""
    if not pa.types.is_map(array.type):
        return array
    return array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))


def listed(array: pa.Array, items: pa.Array) -> pa.Array:
    """Returns the lists of a column with other items."""
    lengths = pc.list_value_length(array).fill_null(0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0]), pc.cumulative_sum(lengths)])
    return pa.LargeListArray.from_arrays(offsets, items, mask=array.is_null() if array.null_count else None)


def _leaf(array: pa.Array) -> pa.Array:
    """Converts values of Arrow types without a column type."""
    kind = array.type
    if pa.types.is_time(kind):
        return array.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64()).cast(pa.duration(kind.unit))
    if pa.types.is_date64(kind):
        return array.cast(pa.timestamp("ms"))
    if is_list(kind):
        items = array.flatten()
        made = _leaf(items)
        return array if made is items else listed(array, made)
    return array


def is_decimal(kind: pa.DataType) -> bool:
    """Whether values are decimals, or lists of these."""
    return is_decimal(kind.value_type) if is_list(kind) else bool(pa.types.is_decimal(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists of variable length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _refuse_structs_of_nulls(array: pa.Array, name: str, kinds: Mapping[str, str]) -> None:
    found: dict[str, str] = {}
    _valid(array, name, "row", found)
    for struct, place in found.items():
        if (column := f"{struct}.{_IS_NULL}") not in kinds:
            of = "an item of " if place.startswith("item") else ""
            raise Invalid(
                f"column `{name}`: {of}`{struct}` ({place} of the batch) is a struct that is not null, although all its fields are null: "
                f"declare the column `{column}` in `schema`, which tells it from null, or make it null"
            )


def _valid(array: pa.Array, name: str, what: str, found: dict[str, str]) -> pa.Array:
    """Returns the values that are not null when only the fields of structs are kept. Adds the structs that become null: their names, and
    the first such value.

    Args:
        what: What the values are: rows or items.
    """
    kind = array.type
    if pa.types.is_struct(kind):
        some = pa.array([False] * len(array), pa.bool_())
        for number, part in enumerate(array.flatten()):
            some = pc.or_(some, _valid(part, f"{name}.{kind.field(number).name}", what, found))
        lost = pc.and_not(array.is_valid(), some)
        if pc.any(lost, min_count=0).as_py():
            found.setdefault(name, f"{what} {pc.index(lost, True).as_py()}")
        return some
    if pa.types.is_map(kind):
        _valid(_lists(array).flatten().flatten()[1], f"{name}.value", "item", found)
    elif is_list(kind) and pa.types.is_struct(kind.value_type):
        _valid(array.flatten(), name, "item", found)
    return array.is_valid()


def as_type(values: Any, kind: str, what: str) -> Any:
    """Converts decimals to the integers or the text of a column type, times of day to durations, and lists of both. Returns other values
    as they are.

    Args:
        what: Name of the values in messages.

    Raises:
        Invalid: a decimal does not fit the type.
    """
    if isinstance(values, pa.ChunkedArray):
        made = [as_type(chunk, kind, what) for chunk in values.chunks]
        return pa.chunked_array(made) if made and made[0].type != values.type else values
    if is_list(values.type):
        items = values.flatten()
        made = as_type(items, kind[5:-1] if kind.startswith("list<") else kind.partition("[")[0], f"{what}, an item")
        return values if made is items else listed(values, made)
    if pa.types.is_time(values.type) and kind.startswith("duration"):
        return _leaf(values)
    if not pa.types.is_decimal(values.type):
        return values
    if kind in BOUNDS:
        return as_integers(values, kind, what)
    if kind in ("utf8", "categorical"):
        # Arrow writes small numbers as 1E-9.
        return pa.array([None if value is None else f"{value:f}" for value in values.to_pylist()], pa.large_string())
    return values


def as_integers(values: pa.Array, kind: str, what: str) -> pa.Array:
    """Converts decimals or integers to the integers of a column type.

    Raises:
        Invalid: a value is no integer, or outside of the type.
    """
    try:
        return values.cast(_arrow_integer(kind))
    except pa.ArrowInvalid:
        # Arrow also refuses some integers with zeros behind the point.
        return integers(values.to_pylist(), kind, what)


def _arrow_integer(kind: str) -> pa.DataType:
    """Returns the Arrow type of a type of integers."""
    return pa.type_for_alias(kind.replace("i", "int").replace("u", "uint"))


def integers(values: Sequence[Any], kind: str, what: str) -> pa.Array:
    """Converts numbers or None to the integers of a column type.

    Raises:
        Invalid: a number is no integer, or outside of the type.
    """
    least, most = BOUNDS[kind]
    for row, value in enumerate(values):
        if value is not None and not (least <= value <= most and value == int(value)):
            raise Invalid(f"{what}: value {row}: {short(value)} does not fit {kind}: expected an integer from {least} to {most}")
    return pa.array([value if value is None else int(value) for value in values], _arrow_integer(kind))
