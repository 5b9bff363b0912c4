"""Errors of `tetrys.petastorm`. Each is a `tetrys.Error`, and also the built-in exception that Petastorm raises in its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .. import _errors
from .._errors import NotSupportedError, WrongValue, found
from .._tetrys import Invalid, NotFound

__all__ = [
    "NoColumn",
    "NoDataAvailableError",
    "NoDataSet",
    "NoFieldsError",
    "NoSchema",
    "NoTable",
    "NotSupportedError",
    "UnequalShapesError",
    "WrongPartition",
    "WrongStateError",
    "WrongType",
    "WrongValue",
    "as_petastorm",
    "found",
]


class WrongType(_errors.WrongType, ValueError):
    """An argument or a value has another type than expected. Petastorm raises a ValueError for some of these, a TypeError for others."""


class NoSchema(WrongType, AssertionError):
    """What Petastorm asserts to be a Unischema is none."""


class NoColumn(_errors.NoColumn, ValueError):
    """A field does not exist. Petastorm raises a ValueError for some of these, a KeyError for others."""


@contextmanager
def as_petastorm() -> Iterator[None]:
    """Raises the wrong types that a check of any argument finds as `WrongType` of this module."""
    try:
        yield
    except _errors.WrongType as error:
        if isinstance(error, ValueError):
            raise
        raise WrongType(*error.args) from error


class NoDataAvailableError(Invalid):
    """There are more shards than rows: some of them would be empty."""


class NoTable(NotFound, FileNotFoundError):
    """There is no table at a URL."""

    # `OSError.__str__` expects an error number.
    __str__ = Exception.__str__


class NoDataSet(NoTable):
    """There is a data set of Petastorm or of Parquet files at a URL, and no table."""


class NoFieldsError(NotFound, RuntimeError):
    """No field of the schema is selected."""


class UnequalShapesError(Invalid, RuntimeError):
    """The arrays of a column have different shapes, and a batch needs one array."""


class WrongPartition(Invalid, RuntimeError):
    """A partition column has values of a type that no field has."""


class WrongStateError(Invalid, RuntimeError):
    """A reader or a loader is used after it was stopped, or while another loop runs over it."""
