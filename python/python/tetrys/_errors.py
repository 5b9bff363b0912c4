"""Errors that are also built-in exceptions, so that either class catches them."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ._tetrys import Corrupt, Error, Exists, Invalid, NotFound, Unavailable, Unsupported

SHOWN = 200
"""Characters of a value that a message shows."""
_HEAD, _TAIL = 1200, 600
"""Characters that stay of a message that is too long."""


def short(value: object) -> str:
    """Returns the text of a value for a message, shortened: an argument may have many megabytes."""
    # Python refuses to write integers of more than 4,300 digits.
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    try:
        shown = _unicode(str(value))
    except Exception:
        # The value is one of the caller, whose text fails.
        return type(value).__name__
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}.."


def _unicode(text: str) -> str:
    """Escapes lone surrogates: no terminal and no file takes them."""
    return text.encode(errors="backslashreplace").decode()


def _cut(message: Any) -> Any:
    if not isinstance(message, str):
        return message
    message = _unicode(message)
    if len(message) <= _HEAD + _TAIL:
        return message
    return f"{message[:_HEAD]} .. {len(message) - _HEAD - _TAIL} more characters .. {message[-_TAIL:]}"


def _of_cut_messages(self: Error, *arguments: Any) -> None:
    Exception.__init__(self, *map(_cut, arguments))


# Here pass the messages of this package and those of the native module alike.
Error.__init__ = _of_cut_messages  # type: ignore[method-assign, assignment]


class WrongType(Invalid, TypeError):
    """A value has another type than expected."""


class OutOfRange(Invalid, IndexError):
    """A row does not exist."""


class WrongValue(Invalid, ValueError):
    """A value of an argument or of a configuration breaks a rule."""


class LostWorker(Unavailable, RuntimeError):
    """A worker process has ended before it returned a batch."""


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


class NotSupportedError(Unsupported, NotImplementedError):
    """An argument asks for something that does not exist here."""


class NoKey(Invalid, KeyError):
    """A configuration lacks a key."""

    # `KeyError.__str__` would quote the message.
    __str__ = Exception.__str__


class NoColumn(NotFound, KeyError):
    """A column does not exist."""

    # `KeyError.__str__` would quote the message.
    __str__ = Exception.__str__


def unpicklable(what: str, instead: str) -> NoReturn:
    """Raises the error for an object that cannot be pickled. `instead` says what to do."""
    raise WrongType(f"{what} cannot be pickled: {instead}")


def imported(module: str, without: str) -> Any:
    """Imports an optional library. `without` is the message if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(without) from error


def found(value: object) -> str:
    """Describes a value in a message: its type, and its text if that is short."""
    name = short(type(value).__name__)
    try:
        shown = repr(value)
    except Exception:
        # As of an integer of more than 4,300 digits.
        return name
    return f"{name} {shown}" if len(shown) <= 40 and value is not None else "None" if value is None else name


def array_of(what: str, value: Any) -> npt.NDArray[Any]:
    """Converts a value to a numpy array: a list, or an array of another library, such as a tensor. Rejects masked values."""
    if np.ma.is_masked(value):
        raise WrongType(f"{what}: found masked values: fill them or leave them out")
    try:
        return np.asarray(value)
    except Exception as error:
        # Other libraries have errors of their own.
        raise WrongType(f"{what}: {found(value)} does not become an array: {_advice(value) or short(error)}") from error


def _advice(value: Any) -> str | None:
    """Says how a tensor of PyTorch becomes one that numpy takes."""
    if not type(value).__module__.startswith("torch"):
        return None
    if getattr(value, "requires_grad", False):
        return "it is part of a graph of gradients: pass tensor.detach()"
    if value.device.type != "cpu":
        return f"it is on the device {value.device}: pass tensor.cpu()"
    if str(value.dtype) == "torch.bfloat16":
        return "numpy has no bfloat16: pass tensor.float()"
    return None
