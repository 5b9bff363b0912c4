"""The data of the comparison: wide rows of a drive, and small rows of words; for the data loaders, also frames of Level 5 scenes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

CAMERAS = 4
JPEG = 80_000
POINTS = 20_000
LOG = 200
"""Number of rows of one recording."""
WINDOW = 10
WORDS = 200

FIELDS = [f"cam{camera}.{part}" for camera in range(CAMERAS) for part in ("jpeg", "intrinsics")]
FIELDS += ["lidar.points", "radar.returns", "boxes.boxes"]


@dataclass
class Ragged:
    values: np.ndarray
    offsets: np.ndarray

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]


@dataclass
class Wide:
    """Wide rows: four cameras of 80 KB of noise and their intrinsics, a lidar sweep in millimetres, radar returns of 6 numbers,
    and boxes of 9 numbers.
    """

    rows: int
    jpeg: list[np.ndarray]  # u8 [rows, JPEG] each
    intrinsics: list[np.ndarray]  # f64 [rows, 9] each
    lidar: np.ndarray  # f32 [rows, POINTS * 4]
    radar: Ragged
    boxes: Ragged

    @staticmethod
    def made(rows: int) -> Wide:
        rng = np.random.default_rng(7)
        jpeg = cameras(rows, rng)
        intrinsics = [np.tile(rng.random(9), (rows, 1)) for _ in range(CAMERAS)]
        lidar = np.empty((rows, POINTS * 4), np.float32)
        for row in range(rows):
            lidar[row] = rng.integers(-60_000, 60_000, POINTS * 4, np.int32) / 1000
        radar = _ragged(rng, rows, 30, 70, 6)
        return Wide(rows, jpeg, intrinsics, lidar, radar, _ragged(rng, rows, 5, 40, 9))

    def field(self, name: str, row: int) -> np.ndarray:
        group, part = name.split(".")
        if part == "jpeg":
            return self.jpeg[int(group[3:])][row]
        if part == "intrinsics":
            return self.intrinsics[int(group[3:])][row]
        return {"lidar": self.lidar, "radar": self.radar, "boxes": self.boxes}[group][row]

    @property
    def bytes(self) -> int:
        fixed = sum(array.nbytes for array in [*self.jpeg, *self.intrinsics, self.lidar])
        return fixed + self.radar.values.nbytes + self.boxes.values.nbytes

    def arrow(self) -> pa.Table:
        """Returns the rows as an Arrow table over the same memory, with the log and the time of each row."""
        columns = {"log_id": pa.array([f"log-{row // LOG:04}" for row in range(self.rows)]), "timestamp": pa.array(np.arange(self.rows) * 100)}
        for camera in range(CAMERAS):
            offsets = pa.py_buffer(np.arange(self.rows + 1, dtype=np.int64) * JPEG)
            buffers = [None, offsets, pa.py_buffer(self.jpeg[camera].reshape(-1))]
            columns[f"cam{camera}.jpeg"] = pa.Array.from_buffers(pa.large_binary(), self.rows, buffers)
            columns[f"cam{camera}.intrinsics"] = pa.FixedSizeListArray.from_arrays(pa.array(self.intrinsics[camera].reshape(-1)), 9)
        columns["lidar.points"] = pa.FixedSizeListArray.from_arrays(pa.array(self.lidar.reshape(-1)), POINTS * 4)
        columns["radar.returns"] = pa.LargeListArray.from_arrays(self.radar.offsets, pa.array(self.radar.values))
        columns["boxes.boxes"] = pa.LargeListArray.from_arrays(self.boxes.offsets, pa.array(self.boxes.values))
        return pa.table(columns)


def cameras(rows: int, rng: np.random.Generator | None = None) -> list[np.ndarray]:
    """Returns the pictures of the wide rows alone: u8 [rows, JPEG] for each camera."""
    rng = rng or np.random.default_rng(7)
    return [rng.integers(0, 2**64, (rows, JPEG // 8), np.uint64).view(np.uint8) for _ in range(CAMERAS)]


@dataclass(frozen=True)
class Fields:
    """Rows of byte fields of one length, which the data loaders read."""

    description: str
    """What a row is, for people."""
    names: list[str]
    length: int
    """Bytes of a field: a multiple of 8."""
    made: Callable[[int], list[np.ndarray]]
    """Returns the given number of rows: u8 [rows, length] for each name."""

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return len(self.names) * self.length


def fields(level5: str = "") -> Fields:
    """Returns the camera rows; or the agents of each frame of the Level 5 data set at this path."""
    if not level5:
        return Fields(f"rows of {CAMERAS} pictures of {JPEG} bytes", [f"camera{number}" for number in range(CAMERAS)], JPEG, cameras)
    from tetrys.l5 import ChunkedDataset

    dataset = ChunkedDataset(level5).open()
    agents, intervals = np.asarray(dataset.agents[:]), np.asarray(dataset.frames["agent_index_interval"][:])
    most = int((intervals[:, 1] - intervals[:, 0]).max())
    length = -(-most * agents.itemsize // 8) * 8

    def made(rows: int) -> list[np.ndarray]:
        """Repeats the frames. Each copy of the scenes is at another place, so that no two rows are equal."""
        found = np.zeros((rows, length), np.uint8)
        for row in range(rows):
            copy, frame = divmod(row, len(intervals))
            start, end = intervals[frame]
            some = agents[start:end].copy()
            some["centroid"] += copy
            found[row, : some.nbytes] = np.frombuffer(some.tobytes(), np.uint8)
        return [found]

    return Fields(f"the agents of a Level 5 frame, at most {most}, padded to {length} bytes", ["agents"], length, made)


DATA = fields(os.environ.get("LOADERS_LEVEL5", ""))
"""What the data loaders read."""


def _ragged(rng: np.random.Generator, rows: int, least: int, most: int, width: int) -> Ragged:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(least, most, rows) * width)])
    return Ragged((rng.integers(0, 50_000, offsets[-1], np.int32) / 1000).astype(np.float32), offsets)


def small(rows: int) -> np.ndarray:
    """Returns records of words as numbers of a vocabulary, small for frequent words: u32 [rows, WORDS]."""
    rng = np.random.default_rng(11)
    return np.minimum(rng.zipf(1.3, (rows, WORDS)), 30_000).astype(np.uint32)
