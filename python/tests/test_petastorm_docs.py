"""The examples in the docstrings of `tetrys.petastorm` run, and so does the code of its chapter of the guide."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
import tetrys.petastorm
from conftest import ROWS, picture, points

OPTIONAL = {"tetrys.petastorm.fs_utils": "fsspec", "tetrys.petastorm.pytorch": "torch", "tetrys.petastorm.tf_utils": "tensorflow"}


def modules() -> list[Any]:
    found = [one.name for one in pkgutil.walk_packages(tetrys.petastorm.__path__, "tetrys.petastorm.")]
    there = [name for name in found if name not in OPTIONAL or importlib.util.find_spec(OPTIONAL[name]) is not None]
    named = ["tetrys.petastorm", *(name for name in there if not name.rpartition(".")[2].startswith("_"))]
    return [pytest.param(name, marks=pytest.mark.torch) if OPTIONAL.get(name) == "torch" else name for name in named]


def public(name: str) -> Iterator[tuple[str, object]]:
    module = importlib.import_module(name)
    yield name, module
    for one in getattr(module, "__all__", ()):
        thing = getattr(module, one)
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("tetrys.petastorm"):
            yield f"{name}.{one}", thing
            if inspect.isclass(thing):
                yield from ((f"{name}.{one}.{member}", value) for member, value in vars(thing).items() if not member.startswith("_") and (callable(value) or isinstance(value, property)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the table `drives` that the examples use."""
    monkeypatch.chdir(tmp_path)
    data = {
        "log_id": ["monday"] * 10 + ["tuesday"] * 10, "timestamp": np.arange(ROWS) * 100, "pedestrians": np.arange(ROWS) % 5,
        "lidar.points": [points(row) for row in range(ROWS)], "camera.intrinsics": np.arange(ROWS * 9.0).reshape(ROWS, 3, 3),
        "camera.jpeg": [picture(row, "jpeg") for row in range(ROWS)], "labels.text": [f"row {row}" for row in range(ROWS)],
    }  # fmt: skip
    tt.write_table("drives", data, index=["log_id", "timestamp", "pedestrians"], sequence_by=["log_id"], order_by=["timestamp"])
    return tmp_path


@pytest.mark.parametrize("name", modules())
def test_examples_do_what_they_say_and_public_names_are_documented(folder: Path, name: str) -> None:
    for place, thing in public(name):
        text = inspect.getdoc(thing) or ""
        inherited = place.rpartition(".")[2] in ("encode", "decode", "spark_dtype", "get_fields", "do_include", "get_index_names")
        assert text or inherited, f"{place} has no docstring"
        example = doctest.DocTestParser().get_doctest(text, {"tt": tt, "np": np}, place, None, None)
        output: list[str] = []
        failed, _ = doctest.DocTestRunner().run(example, out=output.append)
        assert not failed, "".join(output)


def test_the_code_of_the_chapter_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "guide" / "petastorm.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "petastorm.md", "exec"), names)
    rows = names["rows"]
    assert isinstance(rows, list) and rows and all(row % 20 >= 10 for row in rows)


def test_every_module_of_petastorm_that_the_chapter_names_exists() -> None:
    text = (Path(__file__).parents[2] / "docs" / "guide" / "petastorm.md").read_text(encoding="utf-8")
    lines = re.findall(r"`from (tetrys\.petastorm\S*) import ([\w, ]+)`", text)
    assert len(lines) >= 12
    for module, names in lines:
        path = Path(tetrys.petastorm.__file__).parent.joinpath(*module.split(".")[2:])
        source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
        for name in names.split(", "):
            assert re.search(rf"^(class|def) {name}\b|^from \S+ import .*\b{name}\b", source, re.MULTILINE), f"{module} has no {name}"
