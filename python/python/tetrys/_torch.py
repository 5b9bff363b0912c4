"""Rows as PyTorch tensors over the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import imported
from ._tetrys import Ragged, Rows, Unsupported


def pytorch() -> Any:
    """Returns the module `torch`."""
    return imported("torch", "PyTorch is not installed: pip install torch")


def tensor(array: np.ndarray[Any, Any]) -> Any:
    """Returns a tensor over the memory of an array, by DLPack. Times become their i64 ticks."""
    torch = pytorch()
    if array.dtype.name == "bfloat16":
        return torch.from_dlpack(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_dlpack(array.view(np.int64) if array.dtype.kind in "mM" else array)


def refuse_null_elements(rows: Rows, name: str, values: Any, library: str) -> None:
    """Raises an error if a row of a column has a null element, which the tensors of a library cannot say."""
    flat = values.values if isinstance(values, Ragged) else values
    if not isinstance(flat, np.ma.MaskedArray):
        return
    for row in np.flatnonzero(rows.valid(name)).tolist():
        nulls = np.ma.getmaskarray(values[row])
        if nulls.any():
            place = np.argwhere(nulls)[0].tolist()
            raise Unsupported(
                f"column `{name}`, row {row} of those read: the element at {place} is null, and {library} has no null: read the column as arrays of "
                "numpy, which mask it, or leave the row or the column out"
            )


def tensors(rows: Rows) -> dict[str, Any]:
    """Implements `Rows.to_torch`."""
    found: dict[str, Any] = {}
    for name in rows:
        values = rows[name]
        refuse_null_elements(rows, name, values, "PyTorch")
        if isinstance(values, Ragged):
            whole = tensor(values.values).reshape(-1)
            shapes, offsets = values.shapes.tolist(), np.concatenate([[0], np.cumsum(values.shapes.prod(axis=1))]).tolist()
            valid = rows.valid(name).tolist()
            found[name] = [
                whole[offsets[row] : offsets[row + 1]].reshape(shapes[row]) if valid[row] else None for row in range(len(values))
            ]
        else:
            found[name] = values.tolist() if values.dtype.kind == "O" else tensor(values)
    return found
