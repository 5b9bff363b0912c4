"""Decodes encoded rows with the codecs of their schema, and runs functions in processes of their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from .._errors import short
from .._tetrys import Invalid
from .errors import WrongType, found
from .unischema import Unischema, checked_row, checked_schema

__all__ = ["DecodeFieldError", "decode_row", "run_in_subprocess"]


class DecodeFieldError(Invalid, RuntimeError):
    """A cell cannot be decoded by the codec of its field."""


def decode_row(row: Mapping[str, Any], schema: Unischema) -> dict[str, Any]:
    """Returns the values of the cells of a row, such as those that `dict_to_spark_row` made. Cells that are no field are left out.

    The codec of a field decodes its cell. Without a codec, the cell becomes a value of the dtype of the field. None stays None.
    Readers need no such call: a table stores decoded values.

    Args:
        row: The cells by field name.
        schema: The schema of the row.

    Example:
        >>> from tetrys.petastorm.codecs import NdarrayCodec
        >>> from tetrys.petastorm.unischema import Unischema, UnischemaField
        >>> from tetrys.petastorm.utils import decode_row
        >>> field = UnischemaField("points", np.float32, (None, 3), NdarrayCodec(), False)
        >>> decode_row({"points": field.codec.encode(field, np.zeros((2, 3), np.float32))}, Unischema("Scan", [field]))["points"].shape
        (2, 3)

    Raises:
        DecodeFieldError: a cell is no value of its field; the message names the field.
    """
    fields = checked_schema(schema).fields
    decoded: dict[str, Any] = {}
    for name, cell in checked_row(row).items():
        if name not in fields:
            continue
        field = fields[name]
        try:
            if cell is not None and field.codec is not None:
                cell = field.codec.decode(field, cell)
            elif cell is not None and isinstance(field.numpy_dtype, type) and issubclass(field.numpy_dtype, (np.generic, Decimal)):
                cell = field.numpy_dtype(cell)
        except Exception as error:
            # A codec of the caller may raise anything.
            raise DecodeFieldError(f"field `{name}`: decoding {found(cell)} failed: {short(error)}") from error
        decoded[name] = cell
    return decoded


def run_in_subprocess(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Returns what a function returns in a process of its own, which ends afterwards.

    Args:
        func: A function at the top of a module, with its arguments; all of them are pickled.
    """
    if not callable(func):
        raise WrongType(f"func: expected a function, found {found(func)}")
    with multiprocessing.Pool(1) as pool:
        return pool.apply(func, args, kwargs)
