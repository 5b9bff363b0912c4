"""Errors that are also built-in exceptions, so that either class catches them."""

from __future__ import annotations

import importlib
from typing import Any

from ._tetrys import Corrupt, Exists, Invalid, NotFound, Unsupported


class WrongType(Invalid, TypeError):
    """A value has another type than expected."""


class OutOfRange(Invalid, IndexError):
    """A row does not exist."""


class WrongValue(Invalid, ValueError):
    """A value of an argument or of a configuration breaks a rule."""


class NotMet(Invalid, AssertionError):
    """What L5Kit asserts of an argument does not hold."""


class Taken(Exists, AssertionError):
    """Something exists where L5Kit asserts that nothing does."""


class DamagedFile(Corrupt, ValueError):
    """A file that is not part of a table, such as a map, is damaged."""


class NoElement(NotFound, KeyError):
    """An element of a map does not exist."""

    # `KeyError.__str__` would quote the message.
    __str__ = Exception.__str__


class NoColumn(NotFound, KeyError):
    """A column does not exist."""

    # `KeyError.__str__` would quote the message.
    __str__ = Exception.__str__


def imported(module: str, without: str) -> Any:
    """Imports an optional library. `without` is the message if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(without) from error


def found(value: object) -> str:
    """Describes a value in a message: its type, and its text if that is short."""
    said = repr(value)
    name = type(value).__name__
    return f"{name} {said}" if len(said) <= 40 and value is not None else "None" if value is None else name
