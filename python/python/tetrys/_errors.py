"""Errors that are also what Python itself raises for such a thing, so that both are caught."""

from __future__ import annotations

from ._tetrys import Invalid, NotFound


class WrongType(Invalid, TypeError):
    """A value of another type than is expected."""


class OutOfRange(Invalid, IndexError):
    """A row that is not there."""


class NoColumn(NotFound, KeyError):
    """A column that is not there."""

    # KeyError quotes its message.
    __str__ = Exception.__str__


def found(value: object) -> str:
    """What was found instead: its type, and the value where it is short."""
    said = repr(value)
    name = type(value).__name__
    return f"{name} {said}" if len(said) <= 40 and value is not None else "None" if value is None else name
