"""Converts Python values to columns: lists, numpy arrays, and Arrow data of any library.

This module turns lists into arrays without changing a value. The native module decides which column type an array has, and
whether it fits a declared type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ._arguments import limited, text
from ._errors import WrongType, array_of, found
from ._tetrys import Column, Error, Invalid, Unsupported

_MOST_VALUES = 1 << 32
"""Values of a column in a batch."""
Array = np.ndarray[Any, Any]
Mask = npt.NDArray[np.bool_]


def column(name: str, values: Any, declared: str | None, otherwise: str | None = None) -> Column:
    """Converts values to a column of the declared type, of the type that they suggest, or of type `otherwise`."""
    try:
        made = _suggested(values, declared)
    except Error as error:
        raise type(error)(f"column `{name}`: {error}") from error
    except (TypeError, ValueError, ArithmeticError, NotImplementedError) as error:
        raise Invalid(f"column `{name}`: {error}") from error
    return as_declared(name, made, declared, otherwise)


def as_declared(name: str, made: Column, declared: str | None, otherwise: str | None = None) -> Column:
    """Casts a column to its declared type. Without one, an untyped column is cast to `otherwise`."""
    try:
        if declared is not None:
            return made.cast(declared)
        if otherwise is not None and not made.is_typed:
            return made.cast(otherwise)
        made.type  # noqa: B018: raises if the values suggest no type
        return made
    except Error as error:
        raise type(error)(f"column `{name}`: {error}") from error


def refuse_types(dtype: pl.DataType, where: str = "") -> None:
    """Rejects types of polars: objects of Python, which polars exports as pointers, and integers of 128 bits."""
    inner = _innermost(dtype)
    if inner == pl.Object:
        raise Invalid(f"{where}polars' type {dtype}: expected numbers, text, bytes, times, arrays or lists")
    if repr(inner) in ("Int128", "UInt128"):
        raise Invalid(f"{where}polars' type {dtype}: expected integers of up to 64 bits: cast it to those, to floats or to text")


def is_untyped(dtype: pl.DataType) -> bool:
    """Whether a polars column has nulls alone, or lists of these: polars exports them wrongly."""
    return _innermost(dtype) == pl.Null


def _innermost(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of the items of lists and arrays; another type as it is."""
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner  # type: ignore[assignment]
    return dtype


def _suggested(values: Any, declared: str | None) -> Column:
    if isinstance(values, pl.Series):
        refuse_types(values.dtype)
        if is_untyped(values.dtype):
            return _of_list(values.to_list(), declared)
    values = _series_of(values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        try:
            return Column.arrow(values)
        except ImportError as error:
            raise Unsupported(f"{type(values).__name__} needs pyarrow to export Arrow data: pip install pyarrow") from error
    if isinstance(values, np.ndarray):
        return _of_array(values, declared)
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping, set, frozenset)) or values is None or np.isscalar(values):
        raise WrongType(f"expected a list or an array with a value for each row, found {found(values)}")
    if hasattr(values, "__array__"):
        return _of_array(array_of("values", values), declared)
    if not isinstance(values, Iterable):
        raise WrongType(f"expected a list or an array with a value for each row, found {found(values)}")
    return _of_list(limited("a column", values, _MOST_VALUES), declared)


def _series_of(values: Any) -> Any:
    """Returns an array or an index of pandas whose type numpy lacks as a series, which exports its values with their nulls.

    As arrays of numpy, large integers beside a null would become floats.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(values, (pandas.api.extensions.ExtensionArray, pandas.Index)):
        return values
    return values if isinstance(values.dtype, (np.dtype, pandas.SparseDtype)) else pandas.Series(values)


def _native(values: Array) -> tuple[Array, bool]:
    """Returns the elements in C order and native byte order, and whether they are the bits of bf16."""
    is_bf16 = values.dtype.name == "bfloat16"
    flat = np.ascontiguousarray(values.view(np.uint16) if is_bf16 else values)
    return flat.astype(flat.dtype.newbyteorder("="), copy=False).reshape(-1), is_bf16


def _of_array(values: Array, declared: str | None) -> Column:
    """Converts an array with one entry for each row: scalars, times, or tensors of one shape. Masked entries are null."""
    hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.asarray(np.ma.getdata(values))
    if values.ndim == 0:
        raise WrongType(f"expected an array with an entry for each row, found {found(values)}")
    if values.dtype.kind in "OSUT":
        rows = values.astype(object)
        if hidden is not None:
            rows[hidden] = None
        return _of_list(rows.tolist() if rows.ndim == 1 else list(rows), declared)
    if values.dtype.kind in "mM":
        return _of_times(values, hidden)
    flat, is_bf16 = _native(values)
    valid = None if hidden is None else ~hidden.reshape(-1)
    if values.ndim == 1:
        return Column.fixed(len(values), None, flat, is_bf16, valid, None)
    return Column.fixed(len(values), list(values.shape[1:]), flat, is_bf16, None, valid)


_SECONDS = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60}


def _of_times(values: Array, hidden: Mask | None) -> Column:
    """Converts numpy times and spans. NaT is null; units that columns do not have become the next finer one."""
    if values.ndim > 1:
        items = _of_times(values.reshape(-1, *values.shape[2:]), None if hidden is None else hidden.reshape(-1, *values.shape[2:]))
        return Column.lists([values.shape[1]] * len(values), items, None)
    missing = np.isnat(values) if hidden is None else np.isnat(values) | hidden
    kind = "timestamp" if values.dtype.kind == "M" else "duration"
    unit, step = np.datetime_data(values.dtype)
    if missing.all() and unit == "generic":
        return Column.nulls(len(values))
    if unit in ("Y", "M") and kind == "timestamp":
        # Keeps the conversion to days from overflowing.
        if (np.abs(values[~missing].astype(np.int64)) > 10_000_000).any():
            raise Invalid(f"{values.dtype}: a year is out of range for dates")
        values, unit, step = values.astype("M8[D]"), "D", 1
    ticks = np.where(missing, 0, values.astype(values.dtype.newbyteorder("=")).view(np.int64))
    if unit in _SECONDS and (kind == "duration" or unit in "hm"):
        unit, step = "s", step * _SECONDS[unit]
    elif unit == "W":
        unit, step = "D", 7 * step
    if unit not in ("s", "ms", "us", "ns", "D"):
        raise Invalid(f"{values.dtype}: expected units of s, ms, us, ns, or days since the epoch")
    if step != 1:
        most = (2**63 - 1) // step
        if ((ticks > most) | (ticks < -most)).any():
            raise Invalid(f"{values.dtype}: a time does not fit 64 bits in units of {unit}")
        ticks = ticks * step
    return Column.times("date" if unit == "D" else f"{kind}[{unit}]", ticks, _some(~missing), kind == "timestamp")


def _some(valid: Mask) -> Mask | None:
    return None if valid.all() else valid


def _bare(value: Any) -> Any:
    """Converts a value to a Python or numpy value; None for every kind of missing value."""
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return None
    if hasattr(value, "as_py"):
        return value.as_py()
    if isinstance(value, pl.Series) or hasattr(value, "to_pylist"):
        return value.to_list() if isinstance(value, pl.Series) else value.to_pylist()
    if isinstance(value, np.ndarray):
        return value if value.ndim else _bare(value[()])
    if isinstance(value, np.generic | str | bytes | list | tuple):
        return value
    if "pandas" in sys.modules and isinstance(series := _series_of(value), sys.modules["pandas"].Series):
        return _of_pandas(series)
    return array_of("a value", value) if hasattr(value, "__array__") and not isinstance(value, (date, timedelta)) else value


def _of_pandas(series: Any) -> Array | list[Any]:
    """Converts a series of pandas in a row: to an array of numpy whose nulls are masked, or to a list if numpy lacks its type."""
    dtype, gone = getattr(series.dtype, "numpy_dtype", series.dtype), np.asarray(series.isna())
    if not isinstance(dtype, np.dtype) or dtype.kind == "O":
        # One by one: all at once, the integers of a categorical series would become floats beside a null.
        return [None if is_gone else value for value, is_gone in zip(map(series.array.__getitem__, range(len(series))), gone, strict=True)]
    if isinstance(series.dtype, np.dtype) or not gone.any():
        return array_of("a value", series.to_numpy(dtype))
    return np.ma.masked_array(series.to_numpy(dtype, na_value=dtype.type(0)), gone)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "lists" if value.dtype.kind in "OSUT" else "arrays"
    if isinstance(value, (list, tuple)):
        return "lists"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    if isinstance(value, np.datetime64):
        return "days" if np.datetime_data(value.dtype)[0] == "D" else "times"
    if isinstance(value, (timedelta, np.timedelta64)):
        return "spans"
    if isinstance(value, (int, float, np.number)) or (isinstance(value, np.generic) and value.dtype.name == "bfloat16"):
        return "numbers"
    if isinstance(value, datetime):
        return "times"
    if isinstance(value, date):
        return "days"
    raise Invalid(f"values of {type(value).__name__}: expected numbers, text, bytes, times, arrays or lists")


def _of_list(rows: Sequence[Any], declared: str | None) -> Column:
    """Converts a list with one value for each row; None is null."""
    values = [_bare(value) for value in rows]
    there = {_kind(value): value for value in values if value is not None}
    valid = np.array([value is not None for value in values], bool)
    if not there:
        return Column.nulls(len(values))
    if there.keys() == {"days", "times"} and all(isinstance(value, np.datetime64) or value is None for value in values):
        there = {"times": None}
    if there.keys() == {"arrays", "lists"}:
        there = {"lists": None} if _rank(declared) is None and any(_is_nested(value) for value in values) else {"arrays": None}
    if len(there) > 1:
        raise Invalid(f"{' and '.join(sorted(there))} in one column: expected values of one kind")
    (kind,) = there
    if kind == "text":
        texts = [None if value is None else str(value) for value in values]
        try:
            return Column.text(texts)
        except UnicodeEncodeError:
            return Column.text([one if one is None else text(f"row {row}", one) for row, one in enumerate(texts)])
    if kind == "bytes":
        return Column.bytes([None if value is None else bytes(value) for value in values])
    if kind == "booleans":
        return Column.fixed(len(values), None, np.array([bool(value) for value in values]), False, _some(valid), None)
    if kind == "numbers":
        array, is_bf16 = _native(_numbers(values))
        return Column.fixed(len(values), None, array, is_bf16, _some(valid), None)
    if kind == "lists":
        return _of_lists(values, valid, declared)
    if kind == "arrays":
        return _of_arrays([value if value is None else np.asanyarray(value) for value in values], valid, declared)
    return _of_instants(kind, values, valid, declared)


def _numbers(values: Sequence[Any]) -> Array:
    """Returns an array of one type that holds each number exactly, with 0 for None. Booleans stay booleans."""
    of_type: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            of_type.setdefault(value.dtype if isinstance(value, np.generic) else type(value), []).append(place)
    parts: list[Array] = []
    for dtype, places in of_type.items():
        some = [values[place] for place in places]
        if isinstance(dtype, np.dtype):
            parts.append(np.array(some, dtype))
        elif issubclass(dtype, bool):
            parts.append(np.array(some, np.bool_))
        elif issubclass(dtype, int):
            parts.append(_integers(some))
        else:
            parts.append(np.array(some, np.float64))
    common = _common(parts)
    whole = np.zeros(len(values), common)
    for places, part in zip(of_type.values(), parts, strict=True):
        whole[places] = part.astype(common)
    return whole


def _integers(values: list[int]) -> Array:
    """Converts Python integers to i64 if they fit, else to u64."""
    least, most = min(values), max(values)
    if -(2**63) <= least and most < 2**63:
        return np.array(values, np.int64)
    if least < 0 or most >= 2**64:
        raise Invalid(f"integers from {least} to {most} fit no column: i64 goes from -2^63 to 2^63 - 1, u64 from 0 to 2^64 - 1")
    return np.array(values, np.uint64)


def _common(parts: Sequence[Array]) -> np.dtype[Any]:
    """Returns the type that holds the numbers of all parts exactly."""
    dtypes: set[np.dtype[Any]] = {part.dtype.newbyteorder("=") for part in parts}
    if len(dtypes) == 1:
        return dtypes.pop()
    if any(dtype.kind not in "biuf" and dtype.name != "bfloat16" for dtype in dtypes):
        raise Invalid(f"numbers of {' and '.join(sorted(dtype.name for dtype in dtypes))} in one column")
    if any(dtype.kind == "b" for dtype in dtypes):
        raise Invalid("booleans and numbers in one column: expected values of one kind")
    if all(dtype.kind in "iu" for dtype in dtypes):
        common: np.dtype[Any] = np.result_type(*dtypes)
        if common.kind in "iu":
            return common
        filled = [part for part in parts if part.size]
        edges = _integers([int(edge) for part in filled for edge in (part.min(), part.max())])
        return np.dtype(edges.dtype)
    known = [np.dtype(np.float32) if dtype.name == "bfloat16" else dtype for dtype in dtypes]
    common = np.dtype(np.result_type(*known))
    for part in parts:
        if part.dtype.kind in "iu":
            big = part[(part > 2**53) | (part < -(2**53))] if part.dtype.itemsize == 8 else part[:0]
            if wrong := [int(value) for value in big.reshape(-1) if int(float(value)) != int(value)]:
                raise Invalid(f"integers and floats in one column: {common.name} cannot hold {wrong[0]} exactly")
    return common


def _rank(declared: str | None) -> int | None:
    """Returns the number of dimensions of a declared tensor; None if no tensor is declared."""
    if declared is None or "[" not in declared or declared.startswith(("timestamp", "duration", "list<")):
        return None
    return len(_extents(declared))


def _extents(declared: str) -> list[str]:
    inside = declared[declared.index("[") + 1 : -1]
    return inside.split(",") if inside else []


def _of_arrays(arrays: Sequence[Array | None], valid: Mask, declared: str | None) -> Column:
    """Converts rows that are arrays: tensors whose first extent may differ between rows. Arrays of times become lists."""
    rank = _rank(declared)
    if declared is not None and rank is not None and rank > 1:
        # An array of shape (0,) has no rows, and takes its other extents from the declared type.
        inner = [0 if extent == "?" else int(extent) for extent in _extents(declared)[1:]]
        arrays = [np.zeros((0, *inner), array.dtype) if array is not None and array.shape == (0,) else array for array in arrays]
    known = [array for array in arrays if array is not None]
    if any(array.dtype.kind in "mM" for array in known):
        if any(array.ndim != 1 or array.dtype.kind != known[0].dtype.kind for array in known):
            raise Invalid("times in arrays: expected arrays of one dimension and kind")
        items = _of_list([item for array in known for item in _times_of(array)], None)
        return Column.lists([0 if array is None else len(array) for array in arrays], items, _some(valid))
    ranks = {array.ndim for array in known}
    if len(ranks) != 1:
        raise Invalid(f"arrays of {sorted(ranks)} dimensions in one column")
    rank = ranks.pop()
    # Arrays without elements have no values of another type than the declared one.
    typed = known if declared is None else [array for array in known if array.size]
    common = _common(typed) if typed else np.dtype(np.bool_ if declared is not None and declared.startswith("bool[") else np.float64)
    shapes = np.array([[0] * rank if array is None else array.shape for array in arrays], np.int32).reshape(-1, rank)
    flat = np.concatenate([np.ma.getdata(array).astype(common).reshape(-1) for array in known])
    hidden = None
    if any(isinstance(array, np.ma.MaskedArray) for array in known):
        hidden = np.concatenate([np.ma.getmaskarray(array).reshape(-1) for array in known])
    flat, is_bf16 = _native(flat)
    return Column.ragged(shapes, flat, is_bf16, _some(valid), None if hidden is None else _some(~hidden))


def _times_of(array: Array) -> list[Any]:
    hidden = np.ma.getmaskarray(array)
    return [None if gone else item for item, gone in zip(np.ma.getdata(array), hidden, strict=True)]


def _is_nested(value: Any) -> bool:
    """Whether a value is a list of anything but numbers."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "OSUT"
    return isinstance(value, (list, tuple)) and any(_kind(item) not in ("numbers", "booleans") for item in map(_bare, value) if item is not None)


def _of_lists(values: Sequence[Any], valid: Mask, declared: str | None) -> Column:
    """Converts rows that are lists: numbers become a tensor whose first extent may differ between rows, anything else a list."""
    rank = _rank(declared)
    if rank is None and not any(_is_nested(value) for value in values):
        if not any(item is not None for value in values if value is not None for item in map(_bare, value)):
            lengths = [0 if value is None else len(value) for value in values]
            return Column.lists(lengths, Column.nulls(sum(lengths)), _some(valid))
        rank = 1
    if rank is None or declared is not None and declared.startswith("list<"):
        item = declared[5:-1] if declared is not None and declared.startswith("list<") else None
        items = _of_list([one for value in values if value is not None for one in value], item)
        return Column.lists([0 if value is None else len(value) for value in values], items, _some(valid))
    extents = ["?"] if _rank(declared) is None or declared is None else _extents(declared)
    leaves: list[Any] = []
    shapes = np.zeros((len(values), rank), np.int32)
    for row, value in enumerate(values):
        if value is not None:
            shapes[row] = _shape(value, extents, leaves.append)
    if all(leaf is None for leaf in leaves):
        # Lists without numbers have the declared type.
        numbers: Array = np.zeros(len(leaves), np.bool_ if declared is not None and declared.startswith("bool[") else np.float64)
    else:
        numbers = _numbers(leaves)
    array, is_bf16 = _native(numbers)
    return Column.ragged(shapes, array, is_bf16, _some(valid), _some(np.array([leaf is not None for leaf in leaves], bool)))


def _shape(value: Any, extents: Sequence[str], leaf: Callable[[Any], None]) -> list[int]:
    """Returns the shape of nested lists, and calls `leaf` with each number."""
    if not extents:
        if value is not None and _kind(value) not in ("numbers", "booleans"):
            raise Invalid(f"{found(value)} in a tensor: expected a number")
        leaf(value)
        return []
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise Invalid(f"{found(value)} in a tensor: expected a list of {len(extents)} dimensions")
    inner = [_shape(_bare(item), extents[1:], leaf) for item in value]
    if any(shape != inner[0] for shape in inner):
        raise Invalid("lists of different lengths in one tensor")
    # An empty list takes its inner extents from the declared type.
    return [len(inner), *(inner[0] if inner else [0 if extent == "?" else int(extent) for extent in extents[1:]])]


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _of_instants(kind: str, values: Sequence[Any], valid: Mask, declared: str | None) -> Column:
    """Converts dates, times and spans of Python, pandas and numpy."""
    if all(isinstance(value, (np.datetime64, np.timedelta64)) or value is None for value in values):
        return _of_times(_one_unit([value for value in values if value is not None], values), None)
    if kind == "days":
        days = [0 if value is None else (_day(value) - date(1970, 1, 1)).days for value in values]
        return Column.times("date", np.array(days, np.int64), _some(valid), False)
    found_units, zones, counts = set(), {}, []
    for value in values:
        unit, count, zone = ("us", 0, None) if value is None else _instant(value)
        if count is None:
            valid = valid & np.array([one is not value for one in values])
            counts.append(0)
            continue
        counts.append(count)
        if value is not None:
            found_units.add(unit)
            zones[zone] = value
    if not zones:
        return Column.nulls(len(values))
    unit = min(found_units, key=lambda unit: _NANOSECONDS[unit])
    if None in zones and len(zones) > 1:
        raise Invalid("times with and without a time zone in one column")
    if len(zones) > 1:
        # A column with a declared zone stores instants, so that the zones of its values may differ.
        if declared is None or "," not in declared:
            raise Invalid(f"times of several zones ({', '.join(sorted(map(str, zones)))}): convert them to one zone, or declare the zone in `schema`")
        zones = {"UTC": None}
    (zone,) = zones
    ticks = [count // _NANOSECONDS[unit] for count in counts]
    if any(not -(2**63) < tick < 2**63 for tick in ticks):
        raise Invalid(f"a time does not fit 64 bits in units of {unit}")
    ty = f"duration[{unit}]" if kind == "spans" else f"timestamp[{unit}]" if zone is None else f"timestamp[{unit},{zone}]"
    return Column.times(ty, np.array(ticks, np.int64), _some(valid), False)


def _one_unit(known: Sequence[Any], values: Sequence[Any]) -> Array:
    """Converts numpy times to the finest of their units; rejects a time that it cannot hold."""
    kind = known[0].dtype.kind
    dtypes = {value.dtype for value in known if not (np.isnat(value) and np.datetime_data(value.dtype)[0] == "generic")}
    if len(dtypes) > 1:
        finest = np.result_type(*dtypes)
        for value in known:
            if not np.isnat(value) and value.astype(finest).astype(value.dtype) != value:
                raise Invalid(f"{value!r} does not fit {finest}")
    else:
        finest = dtypes.pop() if dtypes else np.dtype(f"{kind}8")
    return np.array([np.array("NaT", finest) if value is None else value.astype(finest) for value in values], finest)


def _day(value: Any) -> date:
    return value if isinstance(value, date) else value.astype("M8[D]").item()


def _instant(value: Any) -> tuple[str, int | None, str | None]:
    """Returns the finest unit of a time or span, its nanoseconds since the epoch (None for NaT), and its zone."""
    if hasattr(value, "to_numpy") or isinstance(value, np.generic):
        # pandas and numpy are finer than Python; `to_numpy` gives instants in UTC.
        exact = value.to_numpy() if hasattr(value, "to_numpy") else value
        if np.isnat(exact):
            return "us", None, None
        unit = np.datetime_data(exact.dtype)[0]
        if unit not in _NANOSECONDS:
            raise Invalid(f"{value!r}: expected units of s, ms, us or ns")
        zone = getattr(value, "tzinfo", None)
        return unit, int(exact.astype(np.int64)) * _NANOSECONDS[unit], None if zone is None else _zone(value)
    if isinstance(value, timedelta):
        return "us", value // timedelta(microseconds=1) * 1000, None
    zone = None if value.tzinfo is None else _zone(value)
    since = (value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)) - _EPOCH
    return "us", since // timedelta(microseconds=1) * 1000, zone


def _zone(value: datetime) -> str:
    """Returns the name of the zone of a time: its IANA key, else its offset."""
    zone = value.tzinfo
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if isinstance(name, str):
        return name
    if zone == timezone.utc:
        return "UTC"
    offset = value.utcoffset()
    if not isinstance(zone, timezone) or offset is None or offset % timedelta(minutes=1):
        raise Invalid(f"{value!r}: a time zone without a name: use a zone of `zoneinfo`, or an offset of whole minutes")
    sign, minutes = ("-", -offset // timedelta(minutes=1)) if offset < timedelta() else ("+", offset // timedelta(minutes=1))
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}"
