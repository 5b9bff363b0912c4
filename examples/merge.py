"""Merges two tables of the same drives in Python, then filters, splits and compares them. No payload is copied.

Usage: python examples/merge.py FOLDER
"""

import os
import sys

import numpy as np
import polars as pl
import tetrys as tt

os.chdir(sys.argv[1])

# Generates two tables: the sensor frames of twenty drives, and their labels.
DRIVES, FRAMES = 20, 50
drive = np.repeat(np.arange(DRIVES), FRAMES)
frame = np.tile(np.arange(FRAMES), DRIVES)
time = frame * 100_000_000
agents = (drive * 7 + frame * 3) % 13
sensors = tt.write_table(
    "sensors",
    {
        "drive": drive,
        "frame": frame,
        "time": time,
        "ego.pose": np.random.default_rng(1).normal(size=(DRIVES * FRAMES, 3, 4)).astype(np.float32),
        "lidar.points": [np.full((100 + count, 4), count, np.float32) for count in agents],
    },
    index=["drive", "frame", "time"],
    sequence_by=["drive"],
    order_by=["time"],
    units={"time": "ns"},
)
labels = tt.write_table(
    "labels",
    {
        "drive": drive,
        "frame": frame,
        "time": time + 20_000_000,
        "agents": agents,
        "labels.boxes": [np.full((count, 7), count, np.float32) for count in agents],
    },
    index=["drive", "frame", "time", "agents"],
    sequence_by=["drive"],
    order_by=["time"],
    units={"time": "ns"},
)
left, right = tt.read_index(sensors), tt.read_index(labels)

# Merges by equal keys, and saves the rows with many agents. Every sensor row has labels. No payload is read.
labelled = tt.merge(left, right, on=["drive", "frame"])
assert (len(labelled), labelled.columns) == (1000, ["drive", "frame", "time", "time_right", "agents"])
busy = labelled.filter(pl.col("agents") > 8).save("busy")
assert busy.info()["own_bytes"] < sensors.info()["own_bytes"] / 20

# Merges by time within 50 ms, and splits by drive into parts for training and testing.
synced = tt.merge(left, right, on=["drive", "time"], how="asof", direction="nearest", tolerance="50ms")
assert len(synced) == 1000
parts = synced.split("drive", {"train": 0.8, "test": 0.2})
views = {name: part.save(f"parts/{name}") for name, part in parts.items()}
assert sum(map(len, views.values())) == 1000 and not set(parts["train"]["drive"]) & set(parts["test"]["drive"])

# Makes the first view with a recipe, after a dry run.
recipe = {
    "from": "sensors",
    "sources": {"sensors": "sensors", "labels": {"table": "labels", "filter": "agents > 0"}},
    "join": [{"with": "labels", "on": ["drive", "frame"]}],
    "filter": "agents > 8",
    "columns": {"many": "agents > 10"},
    "output": {"view": "busy-again"},
}
(planned,) = tt.run(recipe, dry_run=True)
(made,) = tt.run(recipe)
assert (planned["rows"], planned["written"], made["payload_bytes"]) == (made["rows"], False, 0)

# Compares both views without reading payload: the rows are equal, and only one view has the column `many`.
found = tt.open_table("busy-again").diff(busy, on=["drive", "frame"])
assert (len(found.added), len(found.removed), found.columns_added) == (0, 0, {"many": "bool"})
print(found.summary())

# A window of the view reads one byte range of each table, with rows that the filter left out.
rows = tt.row_loader(tt.open_table("busy"))
cost = rows.explain(5, ["lidar.*", "labels.*"], offsets=range(-2, 1))
window = rows.get_rows(5, columns=["lidar.*", "labels.*"], offsets=range(-2, 1))
assert (list(window), list(window.mask)) == (["lidar.points", "labels.boxes"], [True] * 3)
assert [len(boxes) for boxes in window["labels.boxes"]] == [len(points) - 100 for points in window["lidar.points"]]
assert cost["ranges"] == 2
print(f"{len(busy)} busy rows of 1000, windows of {window['lidar.points'].values.nbytes + window['labels.boxes'].values.nbytes:,} bytes")
