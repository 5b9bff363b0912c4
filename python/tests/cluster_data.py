"""Generated drives for the tests of cluster engines: rows of any log and size, the same in every process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import tetrys as tt

SCHEMA = {
    "log": "utf8",
    "time": "i64",
    "pedestrians": "i32",
    "lidar.points": "f32[?,4]",
    "camera.raw": "binary",
    "camera.intrinsics": "f64[3,3]",
    "labels.text": "utf8",
    "labels.boxes": "f32[?,?]",
    "labels.count": "i64",
}
"""Types of the columns: numbers, text, bytes, a tensor of fixed shape, and tensors of variable shape."""
LAYOUT: dict[str, Any] = {"index": ["log", "time", "pedestrians"], "sequence_by": ["log"], "order_by": ["time"], "units": {"time": "ms"}}


def row(log: str, frame: int, raw_bytes: int = 200) -> dict[str, Any]:
    """Returns a frame of a log. `camera.raw` has about `raw_bytes` incompressible bytes, or is null (each eleventh frame)."""
    random = np.random.default_rng([*log.encode(), frame])
    boxes = random.integers(1, 4, 2)
    return {
        "log": log,
        "time": frame * 100,
        "pedestrians": frame % 5,
        "lidar.points": None if frame % 7 == 3 else random.random((frame % 4, 4), np.float32),
        "camera.raw": None if frame % 11 == 5 else random.bytes(raw_bytes - frame % 3),
        "camera.intrinsics": np.eye(3) + frame,
        "labels.text": None if frame % 5 == 2 else f"frame {frame} of {log}",
        "labels.boxes": random.random(boxes, np.float32),
        "labels.count": int(random.integers(0, 100)),
    }


def rows(log: str, frames: int = 20, raw_bytes: int = 200) -> Iterator[dict[str, Any]]:
    """Yields the frames of a log, in order."""
    return (row(log, frame, raw_bytes) for frame in range(frames))


def batches(log: str, frames: int = 20, raw_bytes: int = 200, batch: int = 8, start: int = 0) -> Iterator[dict[str, list[Any]]]:
    """Yields the frames `start..frames` of a log as dicts of columns, `batch` frames at a time."""
    for first in range(start, frames, batch):
        taken = [row(log, frame, raw_bytes) for frame in range(first, min(first + batch, frames))]
        yield {name: [one[name] for one in taken] for name in SCHEMA}


def names(logs: int) -> list[str]:
    """Returns the names of logs, in order."""
    return [f"log {number:03}" for number in range(logs)]


def scenes(source: str) -> Iterator[Any]:
    """Yields the frames of a scene of a Level 5 zarr, as `tetrys.ingest_l5` takes them in. `source` is FOLDER#SCENE."""
    zarr, scene = source.split("#")
    with tempfile.TemporaryDirectory() as folder:
        table = tt.ingest_l5(zarr, f"{folder}/t")
        index = tt.read_index(table).filter(scene_index=int(scene))
        yield from tt.row_loader(index, columns=[*index.columns, "*"]).scan(50)


def layout_of(table: tt.Table) -> dict[str, Any]:
    """Returns the arguments of a write that makes a table with the columns, groups and order of this one."""
    columns = [*table.index_columns, *(column for _, columns in table.groups for column in columns)]
    return {
        "schema": dict(columns),
        "index": [name for name, _ in table.index_columns],
        "groups": {group: [name for name, _ in columns] for group, columns in table.groups},
        "sequence_by": table.sequence_by,
        "order_by": table.order_by,
    }
