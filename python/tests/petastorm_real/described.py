"""A value of a data set as JSON, with its type: what `write.py` keeps of the rows of the real library, and what the tests compare."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import numpy as np


def described(value: Any) -> Any:
    """Returns a value as JSON, with its type."""
    if value is None or isinstance(value, (bool, int, str)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, Decimal):
        return {"k": "decimal", "v": str(value)}
    if isinstance(value, np.ndarray):
        return {"k": "ndarray", "dtype": value.dtype.str, "shape": list(value.shape), "b64": base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()}
    if isinstance(value, np.generic):
        return {"k": "scalar", "dtype": value.dtype.str, "b64": base64.b64encode(value.tobytes()).decode()}
    return {"k": type(value).__name__, "v": repr(value)}
