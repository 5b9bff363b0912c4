"""Generated drives for the tests of cluster engines: rows of any log and size, the same in every process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
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


def nested(rows: int, seed: int) -> pa.Table:
    """Returns random rows with structs, lists of structs, maps and decimals, all of which may be null. A struct that is not null may have
    nulls alone.
    """
    rng = np.random.default_rng(seed)
    box = pa.struct([("size", pa.struct([("length", pa.float32()), ("width", pa.float32())])), ("class", pa.string())])
    fields = {
        "i": pa.int64(),
        "ego": pa.struct([("speed", pa.float64()), ("pose", pa.struct([("xyz", pa.list_(pa.float64())), ("at", pa.timestamp("us", "UTC"))]))]),
        "boxes": pa.list_(box),
        "tags": pa.map_(pa.string(), pa.int32()),
        "named": pa.map_(pa.string(), box),
        "price": pa.decimal128(9, 2),
        "tiny": pa.decimal128(38, 20),
        "prices": pa.list_(pa.decimal128(12, 3)),
        "costs": pa.map_(pa.string(), pa.struct([("net", pa.decimal128(20, 0))])),
    }

    def value(kind: pa.DataType) -> Any:
        if rng.random() < 0.25:
            return None
        if pa.types.is_struct(kind):
            return {one.name: value(one.type) for one in kind}
        if pa.types.is_map(kind):
            return [(f"key {number}", value(kind.item_type)) for number in range(rng.integers(0, 4))]
        if pa.types.is_list(kind):
            return [value(kind.value_type) for _ in range(rng.integers(0, 4))]
        if pa.types.is_decimal(kind):
            unscaled = int(rng.integers(-(10**9) + 1, 10**9)) if rng.random() < 0.7 else int(rng.integers(-9, 10))
            return Decimal(unscaled).scaleb(-kind.scale)
        if pa.types.is_string(kind):
            return "".join(rng.choice(list("aé "), rng.integers(0, 4)))
        if pa.types.is_timestamp(kind):
            return int(rng.integers(0, 2**50))
        return float(rng.integers(-99, 99)) / 4 if pa.types.is_floating(kind) else int(rng.integers(-99, 99))

    columns = {name: [value(kind) for _ in range(rows)] for name, kind in fields.items()} | {"i": list(range(rows))}
    return pa.table({name: pa.array(columns[name], kind) for name, kind in fields.items()})


def described(table: tt.Table) -> dict[str, Any]:
    """Returns types, properties and values of all columns, in the order of the rows."""
    index = tt.read_index(table)
    columns = pa.table(tt.row_loader(index).take(range(len(index)), [*index.columns, "*"]))
    kinds = dict(table.index_columns) | {name: kind for _, members in table.groups for name, kind in members}
    return {name: (kind, table.column_properties(name), columns[name].to_pylist()) for name, kind in sorted(kinds.items())}


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
