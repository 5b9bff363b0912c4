"""Samples as tensors of PyTorch (L5Kit's `dataset.utils`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import text, whole
from .._errors import NotMet, WrongType, WrongValue, array_of, found, imported, short
from ._checks import with_method

kMaxStrLength = 70
"""Characters of a text that becomes a tensor: those of `host_id`."""


def convert_str_to_fixed_length_tensor(string: str, max_length: int = kMaxStrLength) -> Any:
    """Returns a text as a tensor of PyTorch, u8 [max_length], filled up with zeros.

    Args:
        string: Text of ASCII characters, without NUL.
        max_length: Characters that it has at most.

    Raises:
        AssertionError (an `Invalid`): the text is longer, or has a NUL character.
        Unsupported: PyTorch is not installed.
    """
    if (given := text("string", string)) and not given.isascii():
        raise WrongValue(f"string: expected ASCII characters, found {short(repr(given))}")
    length = whole("max_length", max_length, 0, 1 << 24)
    if len(given) > length or "\0" in given:
        raise NotMet(f"string: expected at most {length} characters and no NUL, found {short(repr(given))}")
    torch = imported("torch", "a tensor needs PyTorch: pip install torch")
    return torch.from_numpy(np.frombuffer(given.encode().ljust(length, b"\0"), np.uint8).copy())


def move_to_device(data: Mapping[str, Any], device: Any) -> dict[str, Any]:
    """Returns a batch whose tensors are on a device: a dict of tensors of PyTorch, and a device such as `"cuda"`."""
    return {name: with_method(f"data, `{name}`", value, "to", "a tensor").to(device) for name, value in _members(data)}


def move_to_numpy(data: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Returns a batch of tensors of PyTorch as arrays. Arrays stay as they are.

    Example:
        >>> from tetrys.l5 import move_to_numpy
        >>> move_to_numpy({"yaw": np.array([1.5])})
        {'yaw': array([1.5])}
    """
    return {name: array_of(f"data, `{name}`", value.cpu() if callable(getattr(value, "cpu", None)) else value) for name, value in _members(data)}


def _members(data: object) -> list[tuple[str, Any]]:
    if not isinstance(data, Mapping):
        raise WrongType(f"data: expected a dict of tensors, found {found(data)}")
    return [(text("data, a key", name), value) for name, value in data.items()]
