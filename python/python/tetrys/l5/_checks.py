"""Checks the arguments of the calls of Level 5: configurations, records, arrays of numbers and data sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import several, text
from .._errors import NoKey, WrongType, WrongValue, array_of, found, short

Floats = npt.NDArray[np.float64]


def setting(cfg: object, *names: str) -> Any:
    """Returns a member of a configuration.

    Raises:
        KeyError (an `Invalid`): the configuration lacks it.
    """
    value: Any = cfg
    for depth, name in enumerate(names):
        where = ".".join(("cfg", *names[:depth]))
        if not isinstance(value, Mapping):
            raise WrongType(f"{where}: expected a dict, found {found(value)}")
        if name not in value:
            raise NoKey(f"{where}: the key `{name}` is missing; there are: {short(', '.join(map(str, value)))}")
        value = value[name]
    return value


def numbers(what: str, value: object, shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
    """Returns numbers as an array with their own type, of a shape where one is given."""
    array = array_of(what, value)
    if array.dtype.kind not in "biuf":
        raise WrongType(f"{what}: expected numbers, found {found(value) if array.dtype.kind == 'O' else short(array.dtype)}")
    if shape is not None and array.shape != shape:
        raise WrongValue(f"{what}: expected the shape {list(shape)}, found {list(array.shape)}")
    return array


def floats(what: str, value: object, shape: tuple[int, ...] | None = None) -> Floats:
    """Returns numbers as an array of f64, of a shape where one is given."""
    return np.asarray(numbers(what, value, shape), np.float64, order="C")


def two(what: str, value: object) -> Floats:
    """Returns two finite numbers."""
    made = floats(what, value, (2,))
    if not np.isfinite(made).all():
        raise WrongValue(f"{what}: expected finite numbers, found {made.tolist()}")
    return made


def mask(what: str, value: object, length: int, of: str) -> npt.NDArray[np.bool_]:
    """Returns one bool for each of some records."""
    array = array_of(what, value)
    if array.shape != (length,):
        raise WrongValue(f"{what} has the shape {array.shape}, expected one bool for each of {length} {of}")
    if array.dtype.kind not in "biu":
        raise WrongType(f"{what}: expected bools, found {short(array.dtype)}")
    return array.astype(np.bool_, copy=False)


def records(what: str, value: object, fields: np.dtype[Any] | Collection[str], dtype: np.dtype[Any] | None = None) -> npt.NDArray[Any]:
    """Returns a structured array. Checks that it has some fields, of the shapes and of kinds that fit those of `dtype`."""
    kinds = fields if isinstance(fields, np.dtype) else dtype
    array = array_of(what, value)
    if array.dtype.names is None:
        raise WrongType(f"{what}: expected a structured array with the fields {', '.join(_names(fields))}, found {_described(value, array)}")
    for name in _names(fields):
        if name not in array.dtype.names:
            raise WrongValue(f"{what}: no field of name {name}; there are: {short(', '.join(array.dtype.names))}")
        if kinds is not None:
            _check_field(what, name, array.dtype[name], kinds[name])
    return array


def list_of(what: str, value: object, fields: np.dtype[Any]) -> list[npt.NDArray[Any]]:
    """Returns the records of each frame, from the first frame to the last one."""
    return [records(f"{what}[{number}]", one, fields) for number, one in enumerate(several(what, value))]


def _names(fields: np.dtype[Any] | Collection[str]) -> Collection[str]:
    return fields.names or () if isinstance(fields, np.dtype) else fields


def _described(value: object, array: npt.NDArray[Any]) -> str:
    return f"{found(value)} of {short(array.dtype)}" if isinstance(value, np.ndarray) else found(value)


def _check_field(what: str, name: str, given: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    fits = "U" if wanted.base.kind == "U" else "iu" if wanted.base.kind in "iu" else "iuf"
    if given.base.kind not in fits or given.shape != wanted.shape:
        raise WrongType(f"{what}: the field {name} has the type {_type(given)}, expected {_type(wanted)}")


def _type(dtype: np.dtype[Any]) -> str:
    return f"{dtype.base}{list(dtype.shape)}" if dtype.shape else str(dtype)


def function(what: str, value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise WrongType(f"{what}: expected a function, found {found(value)}")
    made: Callable[..., Any] = value
    return made


def with_method(what: str, value: Any, method: str, expected: str) -> Any:
    """Returns an object that has a method: any class of the caller with this method will do."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise WrongType(f"{what}: expected {expected} with the method `{method}`, found {found(value)}")
    return value


def of_kind(what: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise WrongType(f"{what}: expected a {kind.__name__}, found {found(value)}")
    return value


def key_of(value: object) -> str:
    """Returns the key of a file of a data set."""
    return text("a key", value)
