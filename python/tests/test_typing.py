"""The names in public signatures are public: of `tetrys`, `tetrys.typing`, `tetrys.cluster`, or of Python."""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import datetime
import inspect
import os
import typing
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
import tetrys as tt
import tetrys.typing
from tetrys import cluster

KNOWN = {
    *tt.__all__,
    *tetrys.typing.__all__,
    *cluster.__all__,
    *dir(__builtins__ if not isinstance(__builtins__, dict) else __import__("builtins")),
    *collections.abc.__all__,
    *typing.__all__,
    *vars(datetime),
    "PathLike",
    "Expr",
    "DataFrame",
    "LazyFrame",
    "NDArray",
    "bool_",
    "uint8",
}
WITHIN = {"os", "pl", "np", "npt", "TracebackType", "Mode"}


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (tt, cluster):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing) and thing.__module__.startswith("tetrys") and thing is not tt.LazyIndex:
                for member, value in vars(thing).items():
                    # The constructors of data classes are called by the functions that return them.
                    is_made = member == "__init__" and dataclasses.is_dataclass(thing)
                    if inspect.isfunction(value) and not is_made and (member == "__init__" or not member.startswith("_")):
                        # Only the package calls the methods whose docstring says so.
                        if not (value.__doc__ or "").startswith("Not for users"):
                            yield f"{name}.{member}", value


def test_names_in_public_signatures_are_public() -> None:
    hidden = set()
    for name, value in callables():
        for annotation in value.__annotations__.values():
            for node in ast.walk(ast.parse(str(annotation), mode="eval")):
                used = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
                if used is not None and used not in KNOWN | WITHIN:
                    hidden.add((name, used))
    assert hidden == set()


@pytest.mark.parametrize("name", ["Options", "Layout"])
def test_private_classes_are_no_public_names(name: str) -> None:
    for module in (tt, tetrys.typing, cluster):
        assert name not in module.__all__


def test_words_of_options_are_types_whose_errors_list_them(index: tt.Index, drives: str, tmp_path: os.PathLike[str]) -> None:
    calls: dict[Any, Callable[[Any], object]] = {
        tetrys.typing.How: lambda word: tt.merge(index, index, "timestamp", how=word),
        tetrys.typing.Direction: lambda word: tt.merge(index, index, "timestamp", how="asof", direction=word),
        tetrys.typing.Edge: lambda word: tt.row_loader(index, edge=word),
        tetrys.typing.Pick: lambda word: tt.times("timestamp", 0, pick=word),
        tetrys.typing.Preset: lambda word: tt.write_table(tmp_path, {"i": [1]}, index="i", preset=word),
        tetrys.typing.Reuse: lambda word: tt.write_table(tmp_path, {"i": [1]}, index="i", reuse=word),
        tetrys.typing.Shuffle: lambda word: tt.DataLoader(index, batch_size=1, shuffle=word),
        tetrys.typing.Last: lambda word: tt.DataLoader(index, batch_size=1, last=word),
        tetrys.typing.Arrays: lambda word: tt.DataLoader(index, batch_size=1, to=word),
        tetrys.typing.Raggeds: lambda word: tt.DataLoader(index, batch_size=1, ragged=word),
        tetrys.typing.Stop: lambda word: tt.mix([tt.DataLoader(index, batch_size=1)], weights=[1], stop=word),
        tetrys.typing.ImageLayout: lambda word: tt.image(layout=word),
        tetrys.typing.ImageType: lambda word: tt.image(dtype=word),
        cluster.Mode: lambda word: cluster.plan_write(drives, schema={"i": "i64"}, index="i", mode=word),
    }
    for words, call in calls.items():
        *most, last = get_args(words)
        with pytest.raises(ValueError, match=f"`sideways`: expected {', '.join(most)} or {last}$") as raised:
            call("sideways")
        assert isinstance(raised.value, tt.Invalid)
