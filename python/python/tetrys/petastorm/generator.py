"""Random rows that follow a schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import WrongValue
from .unischema import Unischema, checked_schema

__all__ = ["generate_datapoint"]

_EXTENT = 13
"""Extent of a dimension that the schema leaves open, as in Petastorm."""


def generate_datapoint(schema: Unischema) -> dict[str, Any]:
    """Returns a row of random arrays, {field: array}: integers over the whole range of their dtype, other numbers from 0 to 1.

    A dimension of any extent has 13 entries. The numbers are those of numpy's global generator: `np.random.seed` repeats them.

    Example:
        >>> from tetrys.petastorm.generator import generate_datapoint
        >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
        >>> generate_datapoint(Unischema("Scan", [UnischemaField("points", np.float32, (None, 3))]))["points"].shape
        (13, 3)

    Raises:
        ValueError (an `Invalid`): a field has a dtype without numbers.
    """
    row: dict[str, Any] = {}
    for name, field in checked_schema(schema).fields.items():
        try:
            dtype = np.dtype(field.numpy_dtype)
        except TypeError as error:
            raise WrongValue(f"field `{name}`: {field.numpy_dtype} is no dtype of numpy") from error
        if dtype.kind not in "biufSU":
            raise WrongValue(f"field `{name}`: there are no random values of {dtype}")
        values = np.asarray(np.random.rand(*(_EXTENT if extent is None else extent for extent in field.shape)))
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            # In floats, the largest i64 and u64 would round up to numbers that do not fit.
            scaled = np.floor(values * (float(limits.max) - float(limits.min)) + float(limits.min))
            values = np.minimum(scaled, np.nextafter(float(limits.max), 0) if dtype.itemsize == 8 else float(limits.max))
        row[name] = values.astype(dtype)
    return row
