"""Errors of `tetrys.petastorm`. Each is a `tetrys.Error`, and also the built-in exception that Petastorm raises in its place."""

from __future__ import annotations

from .._errors import NoColumn, NotSupportedError, WrongType, WrongValue, found
from .._tetrys import Invalid, NotFound

__all__ = [
    "NoColumn",
    "NoDataAvailableError",
    "NoFieldsError",
    "NotSupportedError",
    "UnequalShapesError",
    "WrongStateError",
    "WrongType",
    "WrongValue",
    "found",
]


class NoDataAvailableError(Invalid):
    """There are more shards than rows: some of them would be empty."""


class NoFieldsError(NotFound, RuntimeError):
    """No field of the schema is selected."""


class UnequalShapesError(Invalid, RuntimeError):
    """The arrays of a column have different shapes, and a batch needs one array."""


class WrongStateError(Invalid, RuntimeError):
    """A reader or a loader is used after it was stopped, or while another loop runs over it."""
