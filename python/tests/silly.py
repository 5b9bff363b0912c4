"""Silly values of arguments, and the rule for the answer to them: a value has a meaning, or raises an error of Tetrys that says in terms
of Python what was expected.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import tetrys as tt

RUST = re.compile(r"[A-Z]\w+::\w+|PyO3|PyString|Option<|Vec<|unwrap|panicked|&str|\bisize\b|\busize\b|ssize_t|C long")


class Mute:
    """A value of a caller whose text fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def closed() -> Any:
    file = io.BytesIO()
    file.close()
    return file


SILLY: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "-1": lambda: -1, "0": lambda: 0, "2**40": lambda: 2**40, "-2**70": lambda: -(2**70), "10**5000": lambda: 10**5000,
    "True": lambda: True, "1.5": lambda: 1.5, "nan": lambda: float("nan"), "1j": lambda: 1j, "empty text": lambda: "", "x": lambda: "x",
    "a megabyte": lambda: "x" * 10**6, "surrogate": lambda: "a\ud800", "nul": lambda: "a\0b", "pattern": lambda: "re:(", "bytes": lambda: b"x",
    "bytearray": lambda: bytearray(b"xy"), "[]": list, "[[]]": lambda: [[]], "ragged": lambda: [[1], [1, 2]], "[None]": lambda: [None],
    "mixed": lambda: [1, "a"], "[object]": lambda: [object()], "()": tuple, "{}": dict, "{1: 2}": lambda: {1: 2}, "set": lambda: {1},
    "object": object, "mute": Mute, "function": lambda: lambda *_, **__: 1, "type": lambda: int, "array()": lambda: np.array(5),
    "array[0]": lambda: np.array([]), "array[2,2]": lambda: np.zeros((2, 2)), "texts": lambda: np.array(["a"]), "objects": lambda: np.array([object()]),
    "complex": lambda: np.zeros(3, complex), "bools": lambda: np.array([True, False]), "nans": lambda: np.full((4, 4), np.nan),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]), "other fields": lambda: np.zeros(2, [("q", "i4")]), "int64": lambda: np.int64(-1),
    "float32": lambda: np.float32(1.5), "NaT": lambda: np.datetime64("NaT"), "timedelta64": lambda: np.timedelta64(1, "s"), "timedelta": lambda: timedelta(1),
    "Decimal": lambda: Decimal("1.5"), "used up": lambda: iter([]), "endless": lambda: range(10**12), "path": lambda: Path("x"), "folder": lambda: Path("."),
    "closed": closed, "open": lambda: io.BytesIO(b"abc"), "NA": lambda: pd.NA, "frame": lambda: pd.DataFrame({"a": [1]}), "series": lambda: pl.Series([1.5]),
    "column": lambda: pl.col("a"), "arrow": lambda: pa.table({"a": [1]}), "slice": lambda: slice(None),
}  # fmt: skip


def wrong_answer(call: Callable[[], object], of_library: str = "an error of Tetrys alone") -> str | None:
    """Calls a function. Returns what is wrong with the error that it raises, or None: it has none, or a clear one.

    Args:
        of_library: Name of another exception that the call may raise, if its text has an error of Tetrys, such as
            `tetrys.Invalid: ..`: engines wrap the errors of their workers.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except tt.Error as error:
        message = str(error)
        if isinstance(error, tt.Internal) or not message or RUST.search(message) or len(message) > 2500 or "ambiguous" in message:
            return f"{type(error).__name__}: {message[:200]}"
    except OSError as error:
        # The errors of the operating system name the file.
        if not error.filename and not isinstance(error, FileNotFoundError):
            return f"{error!r:.200}"
    except Exception as error:
        if type(error).__name__ != of_library or not any(f"{kind.__name__}: " in str(error) for kind in _kinds(tt.Error)):
            return f"{type(error).__name__}: {error!s:.200}".encode(errors="backslashreplace").decode()
    return None


def _kinds(kind: type[tt.Error]) -> list[type[tt.Error]]:
    return [kind, *(below for one in kind.__subclasses__() for below in _kinds(one))]


def wrong_answers(
    make: Callable[[], tuple[Callable[..., object], dict[str, Any]]],
    odd: Mapping[str, Mapping[str, Callable[[], object]]] | None = None,
    values: Iterable[str] = tuple(SILLY),
    of_library: str = "an error of Tetrys alone",
) -> list[str]:
    """Tries silly values, and odd ones, for each of the good arguments of a call, and lists the wrong answers.

    Args:
        make: Returns the call and its good arguments. Each try begins with those.
        odd: Further values, {argument: {name: function that makes it}}.
        values: Names of the silly values to try; default: all.
        of_library: As for `wrong_answer`.
    """
    wrong = []
    for argument, good in make()[1].items():
        # A class in place of a function is one. Its errors are those of the caller.
        names = [name for name in values if name != "type" or not callable(good)]
        tries = {**{name: SILLY[name] for name in names}, **(odd or {}).get(argument, {})}
        for name, value in tries.items():
            call, given = make()
            if message := wrong_answer(lambda: call(**{**given, argument: value()}), of_library):
                wrong.append(f"{argument}={name}: {message}")
    return wrong
