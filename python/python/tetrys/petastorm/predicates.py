"""Predicates: which rows a reader delivers.

A reader evaluates its predicate once, when it is made. Values of index columns are already in memory, so that a row that such a
predicate rejects costs no payload. Other columns of a predicate are read for the rows that the index did not reject.
"""

from __future__ import annotations

import abc
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._arguments import is_whole, limited, number, several, text, texts
from .._errors import imported, short
from .._tetrys import Invalid
from .errors import WrongType, WrongValue, found

__all__ = ["PredicateBase", "in_intersection", "in_lambda", "in_negate", "in_pseudorandom_split", "in_reduce", "in_set"]

Values = Mapping[str, Sequence[Any]]
"""Values of fields for some rows: one sequence for each field."""
_MOST_VALUES = 1 << 24


class PredicateBase(abc.ABC):
    """Base class of predicates. A predicate of your own implements `get_fields` and `do_include`."""

    @abc.abstractmethod
    def get_fields(self) -> set[str]:
        """Returns the names of the fields that `do_include` needs."""

    @abc.abstractmethod
    def do_include(self, values: Any) -> Any:
        """Returns whether a row is delivered. `values` is a dict of its fields; in `make_batch_reader`, a pandas frame of many rows,
        and the result is one boolean for each. A predicate that cannot work with frames is called with dicts there too.
        """


class in_set(PredicateBase):
    """Accepts rows whose field is one of some values.

    Example:
        >>> from tetrys.petastorm import make_reader
        >>> from tetrys.petastorm.predicates import in_set
        >>> with make_reader("drives", schema_fields=["timestamp"], predicate=in_set({300, 700}, "timestamp")) as reader:
        ...     len(reader)
        2
    """

    def __init__(self, inclusion_values: Iterable[Any], predicate_field: str) -> None:
        self._inclusion_values = values_of("inclusion_values", inclusion_values)
        self._predicate_field = text("predicate_field", predicate_field)

    def get_fields(self) -> set[str]:
        return {self._predicate_field}

    def do_include(self, values: Any) -> bool:
        value = _value(self, values, self._predicate_field)
        try:
            return value in self._inclusion_values
        except TypeError as error:
            raise WrongType(f"in_set: field `{self._predicate_field}` of a row: expected a scalar, found {found(value)}") from error

    def _accepts(self, values: Values) -> list[bool]:
        accepted = self._inclusion_values
        return [value in accepted for value in values[self._predicate_field]]


class in_intersection(PredicateBase):
    """Accepts rows whose field, an array, has at least one of some values. A field that is None is an error."""

    def __init__(self, inclusion_values: Iterable[Any], _predicate_field: str) -> None:
        self._inclusion_values = list(values_of("inclusion_values", inclusion_values))
        self._predicate_field = text("_predicate_field", _predicate_field)

    def get_fields(self) -> set[str]:
        return {self._predicate_field}

    def do_include(self, values: Any) -> bool:
        value = _value(self, values, self._predicate_field)
        if not isinstance(value, Iterable):
            raise WrongValue(f"in_intersection: field `{self._predicate_field}` is {found(value)}, expected an array: filter such rows out before")
        return bool(np.isin(np.asarray(value), self._inclusion_values).any())


class in_lambda(PredicateBase):
    """Accepts rows for which a function returns true.

    Args:
        predicate_fields: A list of the fields whose values the function gets, in this order.
        predicate_func: The function. In `make_batch_reader`, it gets pandas series and returns one boolean for each row.
        state_arg: If not None, the last argument of the function.
    """

    def __init__(self, predicate_fields: list[str], predicate_func: Callable[..., Any], state_arg: Any = None) -> None:
        if not isinstance(predicate_fields, list):
            raise WrongValue(f"in_lambda: expected a list of fields, found {type(predicate_fields).__name__}")
        if not callable(predicate_func):
            raise WrongType(f"in_lambda: expected a function, found {type(predicate_func).__name__}")
        self._predicate_fields = texts("predicate_fields", predicate_fields)
        self._predicate_func = predicate_func
        self._state_arg = state_arg

    def get_fields(self) -> set[str]:
        return set(self._predicate_fields)

    def do_include(self, values: Any) -> Any:
        arguments = [_value(self, values, field) for field in self._predicate_fields]
        if self._state_arg is not None:
            arguments.append(self._state_arg)
        return self._predicate_func(*arguments)


class in_negate(PredicateBase):
    """Accepts the rows that another predicate rejects."""

    def __init__(self, predicate: PredicateBase) -> None:
        self._predicate = _checked(predicate)

    def get_fields(self) -> set[str]:
        return set(self._predicate.get_fields())

    def do_include(self, values: Any) -> bool:
        return not _truth(self._predicate, self._predicate.do_include(values))

    def _accepts_part(self, part: Callable[[PredicateBase], list[bool]]) -> list[bool]:
        return [not accepted for accepted in part(self._predicate)]


class in_reduce(PredicateBase):
    """Accepts rows by the results of several predicates: `all` accepts what all of them accept, `any` what one of them accepts.

    Args:
        predicate_list: The predicates.
        reduce_func: Called with the list of their results for a row.
    """

    def __init__(self, predicate_list: Sequence[PredicateBase], reduce_func: Callable[[list[Any]], Any]) -> None:
        self._predicate_list = [_checked(predicate) for predicate in several("predicate_list", predicate_list)]
        if not callable(reduce_func):
            raise WrongType(f"reduce_func: expected a function, found {found(reduce_func)}")
        self._reduce_func = reduce_func

    def get_fields(self) -> set[str]:
        return set().union(*(predicate.get_fields() for predicate in self._predicate_list))

    def do_include(self, values: Any) -> Any:
        return self._reduce_func([predicate.do_include(values) for predicate in self._predicate_list])

    def _accepts_part(self, part: Callable[[PredicateBase], list[bool]]) -> list[bool]:
        return [_truth(self, self._reduce_func(list(results))) for results in zip(*[part(one) for one in self._predicate_list], strict=True)]


class in_pseudorandom_split(PredicateBase):
    """Accepts the rows of one part of a split by a hash of a field: rows with equal values are in the same part, in every run.

    The parts are those of Petastorm, bit for bit: md5 of the value as text, modulo `sys.maxsize`.

    Args:
        fraction_list: Share of each part. What is left of 1 is in no part.
        subset_index: Number of the part.
        predicate_field: The field.
    """

    def __init__(self, fraction_list: Sequence[float], subset_index: int, predicate_field: str) -> None:
        shares = [number("fraction_list", share) for share in limited("fraction_list", fraction_list, 2**16)]
        if not all(share >= 0 for share in shares) or sum(shares) > 1 + 1e-9:
            raise WrongValue(f"fraction_list: expected shares of 0 or more that add up to at most 1, found {short(shares)}")
        if not is_whole(subset_index) or not 0 <= subset_index < len(shares):
            raise WrongValue(f"subset_index: {short(subset_index)} is outside 0..{len(shares)}, the parts of the split")
        self._predicate_field = text("predicate_field", predicate_field)
        borders = [0, *(sum(shares[: place + 1]) for place in range(len(shares)))]
        self._bucket_low = borders[subset_index] * (sys.maxsize - 1)
        self._bucket_high = borders[subset_index + 1] * (sys.maxsize - 1)

    def get_fields(self) -> set[str]:
        return {self._predicate_field}

    def do_include(self, values: Any) -> bool:
        digest = hashlib.md5(str(_value(self, values, self._predicate_field)).encode(), usedforsecurity=False).hexdigest()
        return self._bucket_low <= int(digest, 16) % sys.maxsize < self._bucket_high


def values_of(what: str, values: object) -> set[Any]:
    """Returns values as a set. Checks that they are scalars."""
    try:
        return set(limited(what, values, _MOST_VALUES))
    except TypeError as error:
        if isinstance(error, Invalid):
            raise
        raise WrongType(f"{what}: expected numbers, text and other scalars, found {found(values)}") from error


def _checked(predicate: Any) -> Any:
    if not callable(getattr(predicate, "get_fields", None)) or not callable(getattr(predicate, "do_include", None)):
        raise WrongValue(f"expected a predicate, with get_fields and do_include, found {type(predicate).__name__}")
    return predicate


def _value(predicate: PredicateBase, values: Any, field: str) -> Any:
    """Returns the value of a field of a row, or its values in a frame."""
    try:
        return values[field]
    except Exception as error:
        # Frames of other libraries raise exceptions of their own.
        raise WrongValue(f"{type(predicate).__name__}: the row has no field `{short(field)}`, found {found(values)}") from error


def _truth(predicate: PredicateBase, result: Any) -> bool:
    """Returns whether a row is accepted by what a predicate of the caller returned for it."""
    try:
        return bool(result)
    except Exception as error:
        # As of an array, or of a frame.
        raise WrongType(f"{type(predicate).__name__} returned {found(result)} for a row, expected True or False") from error


def fields_of(predicate: PredicateBase) -> list[str]:
    """Returns the names of the fields of a predicate, in order."""
    return sorted(set(texts(f"get_fields of {type(predicate).__name__}", predicate.get_fields())))


def accepted(predicate: PredicateBase, values: Values, rows: int, in_frames: bool) -> list[bool]:
    """Returns whether a predicate accepts each of `rows` rows.

    Args:
        values: The fields of the predicate.
        in_frames: Calls `in_lambda`, and predicates of the user, with pandas objects of all rows instead of single rows, if they take
            those.
    """
    if isinstance(predicate, in_set):
        return predicate._accepts(values)
    if isinstance(predicate, (in_negate, in_reduce)):
        return predicate._accepts_part(lambda part: accepted(part, values, rows, in_frames))
    names = fields_of(predicate)
    if in_frames and not isinstance(predicate, (in_intersection, in_pseudorandom_split)):
        return _by_frame(predicate, names, values, rows)
    return _by_row(predicate, names, values)


def _by_row(predicate: PredicateBase, names: list[str], values: Values) -> list[bool]:
    sequences = [values[name] for name in names]
    return [_truth(predicate, predicate.do_include(dict(zip(names, row, strict=True)))) for row in zip(*sequences, strict=True)]


def _by_frame(predicate: PredicateBase, names: list[str], values: Values, rows: int) -> list[bool]:
    pandas = imported("pandas", "predicates of a batch reader get pandas frames: pip install pandas")
    frame = pandas.DataFrame({name: list(values[name]) for name in names})
    try:
        returned = predicate.do_include(frame)
    except (TypeError, ValueError, AttributeError):
        # A predicate for single rows, which Petastorm calls so for the folders of partitions. If it is none, the first error is told.
        with suppress(Exception):
            return _by_row(predicate, names, values)
        raise
    if rows == 1 and isinstance(returned, (bool, np.bool_)):
        # A predicate for single rows takes a frame of one row, too.
        return [bool(returned)]
    result = np.asarray(returned)
    if result.shape != (rows,) or result.dtype != np.bool_:
        raise WrongValue(
            f"the predicate returned {result.dtype} {list(result.shape)} for a frame of {rows} rows, expected one boolean for each: "
            "in make_batch_reader, the function gets pandas series"
        )
    accepted_rows: list[bool] = result.tolist()
    return accepted_rows


def conjuncts(predicate: PredicateBase) -> list[PredicateBase]:
    """Returns predicates that together accept what this one accepts, so that cheap ones can be evaluated first."""
    if isinstance(predicate, in_reduce) and predicate._reduce_func is all and predicate._predicate_list:
        return [part for one in predicate._predicate_list for part in conjuncts(one)]
    return [predicate]
