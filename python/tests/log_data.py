"""Recordings for the tests of imports on clusters: those of the chapter of the guide."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import tetrys as tt

RECIPE: dict[str, Any] = {
    "clock": {"topic": "/camera", "name": "camera", "time": "stamp"},
    "match": [
        {"name": "imu", "topic": "/imu", "time": "stamp", "policy": "all", "tolerance": "20ms"},
        {"name": "odom", "topic": "/odom", "time": "stamp", "policy": "nearest", "tolerance": "none", "future": True},
    ],
}
"""One row for each of the 50 pictures."""


def recordings(folder: Path, *names: str) -> list[str]:
    """Writes recordings of 50 pictures with these names, and returns their paths. `broken` is none."""
    page = (Path(__file__).parents[2] / "docs/guide/logs.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code is not None
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(compile(code[1], "logs.md", "exec"), {})
    finally:
        os.chdir(here)
    paths = [folder / f"{name}.mcap" for name in names]
    for path in paths:
        if path.name == "broken.mcap":
            path.write_bytes(b"no recording")
        elif path.name != "monday.mcap":
            shutil.copy(folder / "monday.mcap", path)
    return [str(path) for path in paths]


def apart(recipe: dict[str, Any], folder: Path | str) -> dict[str, Any]:
    """Returns the recipe with a table of its own for the last match."""
    return {**recipe, "match": [*recipe["match"][:-1], {**recipe["match"][-1], "table": f"{folder}/odom"}]}


def values(table: tt.Table) -> pl.DataFrame:
    """Returns the index of a table without its locators."""
    index = tt.read_index(table)
    return index.to_polars().select(index.columns)
