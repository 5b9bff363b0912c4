"""Selection of rows by predicates, filters and selectors. The index answers first; payload is read for the rows that are left."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import limited
from .._errors import short
from .._rows import RowLoader
from ._source import Positions, Source
from ._stored import Stored
from .errors import WrongType, WrongValue, found
from .predicates import _MOST_VALUES, PredicateBase, _checked, accepted, conjuncts, fields_of
from .selectors import RowGroupSelectorBase

INDEXES = "petastorm.indexes"
"""Table property with the indexes of the data set in Petastorm: {name: {"class": .., "columns": [field]}}."""


def selected(
    source: Source,
    *,
    predicate: PredicateBase | None,
    filters: Any,
    selector: RowGroupSelectorBase | None,
    in_frames: bool,
) -> Positions | None:
    """Returns the positions of the rows that pass all of them, in order; None if there is nothing to pass.

    Raises:
        ValueError (an `Invalid`): an argument is no predicate, filter or selector.
        KeyError (a `NotFound`): a field does not exist.
    """
    if predicate is None and not _given(filters) and selector is None:
        return None
    loader = source.loader()
    positions = np.arange(len(source), dtype=np.int64)
    if selector is not None:
        positions = positions[_by_selector(source, selector, positions, loader)]
    if _given(filters):
        positions = positions[_by_filters(source, filters, positions, loader)]
    if predicate is not None:
        parts = [(part, [source.named(name, "predicate") for name in fields_of(part)]) for part in conjuncts(_checked(predicate))]
        # Index columns first: a row that they reject costs no payload.
        for part, stored in sorted(parts, key=lambda one: not all(map(source.is_indexed, one[1]))):
            positions = _by_predicate(source, part, stored, positions, loader, in_frames)
    return positions


def _by_predicate(
    source: Source, predicate: PredicateBase, stored: list[Stored], positions: Positions, loader: RowLoader, in_frames: bool
) -> Positions:
    names = fields_of(predicate)
    if not stored:
        raise WrongValue(f"{type(predicate).__name__}: get_fields returned no field")
    kept = [np.zeros(0, np.int64)]
    for part, values in source.values(stored, positions, loader):
        kept.append(part[np.array(accepted(predicate, dict(zip(names, values, strict=True)), len(part), in_frames), np.bool_)])
    return np.concatenate(kept)


def _by_selector(source: Source, selector: object, positions: Positions, loader: RowLoader) -> npt.NDArray[np.bool_]:
    if not isinstance(selector, RowGroupSelectorBase):
        raise WrongValue(f"rowgroup_selector: expected a selector of tetrys.petastorm.selectors, found {found(selector)}")
    indexes = source.tables[0].properties.get(INDEXES, {})
    known = indexes if isinstance(indexes, dict) else {}

    def rows_with(index: str, wanted: set[Any]) -> npt.NDArray[np.bool_]:
        entry = known.get(index, {})
        field = str(entry.get("columns", [index])[0])
        if field not in source.fields:
            names = ", ".join(dict.fromkeys([*known, *source.fields]))
            raise WrongValue(f"no index `{index}`: an index of the data set or a field is expected, there are: {names}")
        stored = source.fields[field]
        if entry.get("class") == "FieldNotNullIndexer":
            parts = [[value is not None for value in values] for _, (values,) in source.values([stored], positions, loader, with_none=True)]
        else:
            parts = [[_has(value, wanted) for value in values] for _, (values,) in source.values([stored], positions, loader)]
        return np.array([one for part in parts for one in part], np.bool_)

    return selector._rows(rows_with)


def _has(value: Any, wanted: set[Any]) -> bool:
    if isinstance(value, np.ndarray):
        return any(one in wanted for one in value.reshape(-1).tolist())
    return value is not None and value in wanted


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda value, wanted: value in wanted, "not in": lambda value, wanted: value not in wanted,
}  # fmt: skip


def _given(filters: Any) -> bool:
    if filters is None:
        return False
    if isinstance(filters, (str, bytes)) or not isinstance(filters, (list, tuple)):
        raise WrongType(f"filters: expected [(field, op, value), ..] or a list of such lists, found {found(filters)}")
    return len(filters) > 0


def _by_filters(source: Source, filters: Any, positions: Positions, loader: RowLoader) -> npt.NDArray[np.bool_]:
    """Evaluates a disjunction of conjunctions, as pyarrow writes it. A null passes no condition."""
    groups = [filters] if all(_is_condition(one) for one in filters) else list(filters)
    result = np.zeros(len(positions), np.bool_)
    for group in groups:
        if not isinstance(group, (list, tuple)) or not group or not all(_is_condition(one) for one in group):
            raise WrongValue(f"filters: expected [(field, op, value), ..] or a list of such lists, found {found(group)}")
        result |= np.logical_and.reduce([_holds(source, one, positions, loader) for one in group])
    return result


def _is_condition(one: Any) -> bool:
    return isinstance(one, (tuple, list)) and len(one) == 3 and isinstance(one[0], str) and isinstance(one[1], str)


def _holds(source: Source, condition: Sequence[Any], positions: Positions, loader: RowLoader) -> npt.NDArray[np.bool_]:
    name, op, wanted = condition
    if op not in _COMPARE:
        raise WrongValue(f"filters, field `{short(name)}`: operator `{short(op)}`: expected one of {', '.join(_COMPARE)}")
    stored = source.named(name, "filters")
    if stored.field.shape != ():
        raise WrongValue(f"filters: field `{name}` is an array of shape {stored.field.shape}, expected a scalar: use a predicate")
    if op in ("in", "not in"):
        if isinstance(wanted, (str, bytes)) or not isinstance(wanted, Iterable):
            raise WrongType(f"filters, field `{name}`: `{op}` needs a list of values, found {found(wanted)}")
        wanted = {_as_field(stored, one) for one in limited(f"filters, field `{name}`, `{op}`", wanted, _MOST_VALUES)}
    else:
        wanted = _as_field(stored, wanted)
    compare = _COMPARE[op]
    read = source.values([stored], positions, loader, with_none=True)
    parts = [[value is not None and bool(compare(value, wanted)) for value in values] for _, (values,) in read]
    return np.array([one for part in parts for one in part], np.bool_)


def _as_field(stored: Stored, wanted: Any) -> Any:
    """Returns a value as one of the field. Numbers, times and decimals may be given as text, as in the path of a hive partition."""
    dtype: Any = stored.field.numpy_dtype
    name = getattr(dtype, "__name__", dtype)
    kind, given = _kind(dtype), "nothing" if wanted is None else _kind(type(wanted))
    if kind != given and given == "text" or kind == given == "time":
        try:
            return dtype(wanted)
        except (ValueError, ArithmeticError) as error:
            raise WrongType(f"filters, field `{stored.field.name}`: {found(wanted)} is no {name}") from error
    if kind != given:
        raise WrongType(f"filters, field `{stored.field.name}`: expected a value of {name}, found {found(wanted)}")
    return wanted


def _kind(kind: type) -> str:
    """Returns which values can be compared with those of a type."""
    if issubclass(kind, (str, bytes)):
        return "text"
    # A timedelta64 is a number for numpy.
    if issubclass(kind, (np.datetime64, np.timedelta64, date, timedelta)):
        return "time"
    return "number" if issubclass(kind, (bool, int, float, np.integer, np.floating, np.bool_, Decimal)) else kind.__name__
