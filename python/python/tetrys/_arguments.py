"""Checks the arguments of calls: URLs, names, numbers, spans of time and selections of rows."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sized
from datetime import timedelta
from itertools import islice
from typing import Any, Literal, TypeGuard, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from ._errors import OutOfRange, WrongType, WrongValue, array_of, found, short
from ._tetrys import Invalid

Native = TypeVar("Native")
Url = str | os.PathLike[str]
"""Location of a table: a URL as text, or a path."""
_LONGEST_PATH = 4096
"""Characters of a path; Linux takes as many bytes."""
Span = str | int | timedelta | np.timedelta64
"""A span of time: text with a unit (`"50ms"`), a timedelta, or a plain number in units of a column."""
How = Literal["inner", "left", "asof"]
"""How a merge matches rows; see `tetrys.merge`."""
Direction = Literal["backward", "forward", "nearest"]
"""The partner that a merge by time takes; see `tetrys.merge`."""
Edge = Literal["pad", "skip", "error"]
"""Rule for windows beyond the ends of a sequence; see `tetrys.row_loader`."""
Pick = Literal["nearest", "before", "after"]
"""The row that a window by time takes; see `tetrys.times`."""
Preset = Literal["fast", "balanced", "compact"]
"""Codec preset; see `tetrys.write_table`."""
Reuse = Literal["auto", "any", "same-preset", "none"]
"""Blocks that may be shared; see `tetrys.write_table`."""


def url_of(url: object) -> str:
    """Returns a URL or a path as text."""
    if isinstance(url, str):
        return text("a URL", url)
    if isinstance(url, os.PathLike):
        path = os.fspath(url)
        if isinstance(path, str):
            # `Path` collapses the `//` of a URL to one slash.
            if scheme := re.match(r"[a-z][a-z0-9+.-]+:/(?!/)", path):
                raise Invalid(f"{short(repr(path))}: a path made from a URL lacks a slash: pass {scheme[0]}/... as text")
            return text("a path", path)
    raise WrongType(f"a URL is text or a path, found {found(url)}")


def path_of(what: str, path: object) -> str:
    """Returns a path as text."""
    found_path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(found_path, str):
        raise WrongType(f"{what}: expected a path, found {found(path)}")
    if "\0" in found_path:
        raise WrongValue(f"{what}: {short(repr(found_path))}: a path has no NUL character")
    if len(found_path) > _LONGEST_PATH:
        raise WrongValue(f"{what}: a path of {len(found_path)} characters, expected at most {_LONGEST_PATH}")
    return text(what, found_path)


def paths_of(what: str, paths: object) -> list[str]:
    """Returns one or several paths as a list of texts."""
    if isinstance(paths, (str, os.PathLike)):
        return [path_of(what, paths)]
    return [path_of(what, path) for path in several(what, paths)]


def urls_of(what: str, urls: object) -> list[str]:
    """Returns one or several URLs as a list."""
    if isinstance(urls, (str, os.PathLike)):
        return [url_of(urls)]
    return [url_of(url) for url in several(what, urls)]


def several(what: str, values: object) -> Iterable[Any]:
    """Checks that `values` is an iterable, and neither text, a dict nor a file. An array without dimensions is none."""
    is_one = isinstance(values, (str, bytes, bytearray, memoryview, Mapping, io.IOBase))
    if not isinstance(values, Iterable) or is_one or isinstance(shape := getattr(values, "shape", None), tuple) and not shape:
        raise WrongType(f"{what}: expected a list, found {found(values)}")
    try:
        iter(values)
    except TypeError as error:
        # A column of Spark has `__iter__`, which raises.
        raise WrongType(f"{what}: expected a list, found {found(values)}") from error
    return values


def each(what: str, values: object, kind: type | tuple[type, ...], expected: str) -> list[Any]:
    """Returns the values of an iterable as a list. Checks the type of each before it takes the next one."""
    taken = []
    for value in several(what, values):
        if not isinstance(value, kind):
            raise WrongType(f"{what}: expected {expected}, found {found(value)}")
        taken.append(value)
    return taken


def limited(what: str, values: object, most: int) -> list[Any]:
    """Returns the values of an iterable as a list. Checks that there are at most `most`, without taking more of them."""
    given = several(what, values)
    try:
        is_more = isinstance(given, Sized) and len(given) > most
    except OverflowError:
        # As of a range of 2^63 values.
        is_more = True
    taken = [] if is_more else list(islice(given, most + 1))
    if is_more or len(taken) > most:
        raise WrongValue(f"{what}: found more than {most} values, expected at most {most}")
    return taken


def text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{what}: expected text, found {found(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise WrongValue(f"{what}: expected Unicode text, found a lone surrogate at {error.start} of {short(repr(value))}") from None
    return value


def texts(what: str, values: object) -> list[str]:
    """Returns one or several texts as a list."""
    return [text(what, values)] if isinstance(values, str) else [text(what, value) for value in several(what, values)]


def names(what: str, values: object) -> list[str]:
    """Returns one or several names, given as text or paths, as text."""
    listed = [values] if isinstance(values, (str, os.PathLike)) else several(what, values)
    return [url_of(value) if isinstance(value, os.PathLike) else _name(what, value) for value in listed]


def _name(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{what}: expected names as text or paths, found {found(value)}")
    return text(what, value)


def exactly(name: str) -> str:
    """Returns a pattern that matches this column alone, whatever characters its name has."""
    return "re:^" + "".join(letter if letter.isalnum() else f"\\x{{{ord(letter):x}}}" for letter in name) + "$"


def choice(what: str, value: object, words: Collection[str] | object) -> str:
    """Returns one of some words. `words` are these words, or a type `Literal` of them."""
    allowed: Collection[str] = get_args(words) or words  # type: ignore[assignment]
    if not isinstance(value, str) or value not in allowed:
        *most, last = allowed
        raise WrongValue(f"{what} `{short(value)}`: expected {', '.join(most)} or {last}")
    return value


def truth(what: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise WrongType(f"{what}: expected True or False, found {found(value)}")
    return bool(value)


def is_whole(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Whether a value is an integer. Booleans are none, nor are spans of time, which numpy counts among its integers."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def whole(what: str, value: object, least: int = 0, most: int = 2**63 - 1) -> int:
    """Returns an integer in `least..=most`. Booleans are rejected."""
    if not is_whole(value):
        raise WrongType(f"{what}: expected an integer, found {found(value)}")
    if not least <= value <= most:
        bounds = f"{least} to {most}" if most < 2**63 - 1 else f"{least} or more" if value < least else "less than 2**63"
        # Python refuses to print integers of thousands of digits.
        shown = value if -(2**64) < value < 2**64 else f"a number of {int(value).bit_length()} bits"
        raise WrongValue(f"{what}: {shown} is outside: expected {bounds}")
    return int(value)


def number(what: str, value: object) -> float:
    """Returns an integer or a float as a float. Booleans and NaN are rejected."""
    if not is_whole(value) and not isinstance(value, (float, np.floating)):
        raise WrongType(f"{what}: expected a number, found {found(value)}")
    try:
        made = float(value)
    except OverflowError:
        raise WrongValue(f"{what}: {short(value)} is too large") from None
    if made != made:
        raise WrongValue(f"{what}: expected a number, found NaN")
    return made


def size(what: str, value: object) -> int:
    """Returns a number of bytes, given as an integer or as text: `"512MiB"`, `"1.5GB"`."""
    if not isinstance(value, str):
        return whole(what, value)
    units = {"": 1, "B": 1, **{f"{unit}B": 1000**power for power, unit in enumerate("kMGT", 1)}}
    units |= {f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", 1)} | {"KB": 1000}
    parsed = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", value)
    if parsed is None or parsed[2] not in units:
        raise Invalid(f"{what}: `{short(value)}`: expected a size such as 512MiB")
    made = float(parsed[1]) * units[parsed[2]]
    if made >= 2**63:
        raise WrongValue(f"{what}: `{short(value)}` is too large: expected less than 2**63 bytes")
    return int(made)


def members(what: str, value: object) -> dict[str, Any]:
    """Returns a dict with text keys; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WrongType(f"{what}: expected a dict, found {found(value)}")
    return {text(f"{what}, a key", key): one for key, one in value.items()}


def as_json(what: str, value: object) -> str:
    """Returns a value as JSON text. JSON has no NaN and no infinity, and what is stored has no integers of more than 64 bits."""
    try:
        _check_json(value)
        return text(what, json.dumps(value, allow_nan=False, ensure_ascii=False))
    except WrongValue:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{what}: {error}; expected JSON values: text, finite numbers, booleans, lists, dicts") from error


def _check_json(value: object) -> None:
    """Rejects what JSON would turn into another value: integers that become floats, and keys that become text."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"the integer {short(value)} does not fit 64 bits")
    if isinstance(value, dict):
        for key in value:
            text("a key", key)
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_json(one)


def span(what: str, value: object) -> str:
    """Returns a span of time as text: with a unit, or a plain number."""
    if isinstance(value, str):
        return text(what, value)
    if isinstance(value, np.timedelta64):
        if np.isnat(value):
            raise Invalid(f"{what}: not a time (NaT)")
        unit, step = np.datetime_data(value.dtype)
        scale = {"W": ("h", 168), "D": ("h", 24), "h": ("h", 1), "m": ("min", 1), "s": ("s", 1), "ms": ("ms", 1), "us": ("us", 1), "ns": ("ns", 1)}
        if unit not in scale:
            raise Invalid(f"{what}: {value!r}: expected weeks, days, h, m, s, ms, us or ns")
        name, times = scale[unit]
        return f"{int(value.astype(np.int64)) * step * times}{name}"
    if isinstance(value, timedelta):
        # A pandas Timedelta also has nanoseconds.
        rest = getattr(value, "nanoseconds", 0)
        return f"{value // timedelta(microseconds=1) * 1000 + rest}ns" if rest else f"{value // timedelta(microseconds=1)}us"
    if is_whole(value):
        return str(whole(what, value, -(2**63)))
    raise WrongType(f"{what}: expected text with a unit such as '50ms', a timedelta or an integer, found {found(value)}")


def chosen(rows: object, count: int, of: str, *, negative: bool = True) -> npt.NDArray[np.int64]:
    """Returns the row numbers that a mask of `count` booleans or a list of integers selects, in its order.

    `of` names the object with the rows in messages. Negative numbers count from the end if `negative` is true. Floats, text and
    nulls are rejected.
    """
    if isinstance(rows, range) and rows:
        # Checked before the numbers take memory.
        least, most = min(rows[0], rows[-1]), max(rows[0], rows[-1])
        # Of a range behind the rows, the error names the first number.
        _within(least, least if least >= count else most, count, negative)
    array = _typed(rows, count, of)
    if array.dtype.kind == "b":
        return np.flatnonzero(array).astype(np.int64)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise WrongType(f"rows are chosen by integers or a mask of booleans, found {array.dtype}")
    least, most = int(array.min()), int(array.max())
    _within(least, most, count, negative)
    numbers = array.astype(np.int64)
    return np.where(numbers < 0, numbers + count, numbers) if least < 0 else numbers


def _within(least: int, most: int, count: int, negative: bool) -> None:
    """Checks the least and the largest of some row numbers."""
    if least < 0 and not negative:
        raise OutOfRange(f"row {short(least)}: expected 0 or more")
    if most >= count or least < -count:
        raise OutOfRange(f"row {short(most if most >= count else least)} is outside 0..{count}")


def mask_of(rows: object, count: int, of: str) -> npt.NDArray[np.bool_]:
    """Returns a mask of `count` booleans."""
    if isinstance(rows, range) and rows:
        raise WrongType(f"a predicate is a polars expression or a mask of booleans, found {found(rows)}")
    array = _typed(rows, count, of)
    if array.dtype.kind != "b" and (len(array) or count):
        raise WrongType(f"a predicate is a polars expression or a mask of booleans, found {found(rows)}")
    return array.astype(np.bool_)


def _typed(rows: object, count: int, of: str) -> np.ndarray[Any, Any]:
    """Returns a one-dimensional array; a boolean array must have `count` values."""
    array = _plain(rows)
    if array.ndim == 0:
        raise WrongType(f"rows are chosen by integers or a mask of booleans, found {found(rows)}")
    if array.ndim != 1:
        raise Invalid(f"rows by an array of {array.ndim} dimensions: expected a mask or row numbers, one dimension")
    if array.dtype.kind == "O":
        array = _of_objects(array.tolist(), count)
    if array.dtype.kind == "b" and len(array) != count:
        raise Invalid(f"a mask of {len(array)} rows for {of} of {count} rows")
    return array


def _plain(rows: object) -> np.ndarray[Any, Any]:
    """Converts to a numpy array and rejects nulls."""
    if isinstance(rows, np.ma.MaskedArray) and np.ma.getmaskarray(rows).any():
        raise Invalid("rows are chosen by integers or booleans, found masked values")
    if isinstance(rows, np.ndarray):
        return np.asarray(rows)
    if isinstance(rows, range):
        return np.arange(rows.start, rows.stop, rows.step) if _is_small(rows) else np.array(list(rows), object)
    if hasattr(rows, "to_numpy"):
        # polars, pyarrow and pandas would convert null to another value.
        nulls: Any = getattr(rows, "null_count", None)
        nulls = nulls() if callable(nulls) else nulls
        if nulls is None:
            nulls = int(np.sum(rows.isna())) if hasattr(rows, "isna") else 0
        if not isinstance(nulls, (int, np.integer)):
            raise WrongType(f"rows are chosen by integers or a mask of booleans, found {found(rows)}")
        if nulls:
            raise Invalid(f"rows are chosen by integers or booleans, found {nulls} null")
        return array_of("rows", rows)
    if hasattr(rows, "__array__"):
        return array_of("rows", rows)
    if isinstance(rows, (str, bytes, bytearray, memoryview, Mapping, io.IOBase)) or not isinstance(rows, Iterable):
        raise WrongType(f"rows are chosen by integers or a mask of booleans, found {found(rows)}")
    values = list(rows)
    made = np.empty(len(values), object)
    try:
        made[:] = values
    except Exception as error:
        # As of a tensor among them that numpy does not take.
        raise WrongType(f"rows are chosen by integers or a mask of booleans: {short(error)}") from error
    return made


def _is_small(rows: range) -> bool:
    return all(abs(end) < 2**62 for end in (rows.start, rows.stop, rows.step))


def _of_objects(values: list[Any], count: int) -> np.ndarray[Any, Any]:
    """Converts objects that are all booleans, or all integers."""
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, np.bool_) if values else np.zeros(0, np.int64)
    for place, value in enumerate(values):
        if not is_whole(value):
            raise WrongType(f"rows are chosen by integers alone, or by booleans alone, found {found(value)} at {place}")
        if not -(2**63) <= value < 2**63:
            raise OutOfRange(f"row {short(value)} is outside 0..{count}")
    return np.array(values, np.int64)


def called(progress: Any) -> Any:
    """Checks that `progress` is a function or None."""
    if progress is not None and not callable(progress):
        raise WrongType(f"progress: expected a function, found {found(progress)}")
    return progress


def native_of(value: object, kind: type[Native]) -> Native | None:
    """Returns what a table or an index has of the native module, if it is of this kind. Their classes use this module, so it does not
    know them.
    """
    native = inspect.getattr_static(value, "_native", None)
    return native if isinstance(native, kind) else None
