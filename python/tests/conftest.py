"""Shared by the tests: a small table of two drives, pictures, the number of cases of a property, and the log of skipped tests."""

from __future__ import annotations

import importlib.util
import io
import os
from pathlib import Path

import numpy as np
import pytest
import tetrys as tt
from hypothesis import HealthCheck, settings
from PIL import Image

settings.register_profile(
    "tetrys",
    max_examples=int(os.environ.get("TETRYS_CASES", "25")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tetrys")

ROWS = 20

# Only .ci/full installs these.
NEEDED = {"test_jax.py": "jax", "test_tensorflow.py": "tensorflow", "test_petastorm_tensorflow.py": "tensorflow"}
collect_ignore = [file for file, name in NEEDED.items() if importlib.util.find_spec(name) is None]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Appends skipped tests to the file that `.ci/run` counts, as the Rust tests do."""
    if report.skipped and (file := os.environ.get("TETRYS_SKIPPED")):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(file, "a") as lines:
            lines.write(f"skipped: {report.nodeid}: {reason}\n")


def points(row: int) -> np.ndarray:
    return np.arange(row % 4 * 4, dtype=np.float32).reshape(-1, 4) + row


def picture(row: int, kind: str = "png") -> bytes:
    """Returns a picture of one colour, six pixels high and eight wide."""
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (row * 10, 255 - row * 10, 7)).save(file, kind)
    return file.getvalue()


def damaged_table(folder: Path) -> tt.Table:
    """Returns a table of twelve rows in a folder, one of which is damaged."""
    noise = np.random.default_rng(1).integers(0, 256, (12, 40_000), dtype=np.uint8)
    table = tt.write_table(str(folder / "t"), {"i": np.arange(12), "a.raw": noise}, index=["i"], preset="fast")
    chunk = max((folder / "t/chunks").rglob("*"), key=lambda path: path.stat().st_size)
    damaged = bytearray(chunk.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    chunk.unlink()
    chunk.write_bytes(damaged)
    return table


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the URL of a table with ten rows of `monday` and ten of `tuesday`."""
    url = str(tmp_path_factory.mktemp("tables") / "drives")
    tt.write_table(
        url,
        {
            "log_id": ["monday"] * 10 + ["tuesday"] * 10,
            "timestamp": np.arange(ROWS) * 100,
            "pedestrians": np.arange(ROWS) % 5,
            "lidar.points": [None if row == 7 else points(row) for row in range(ROWS)],
            "camera.intrinsics": np.arange(ROWS * 9, dtype=np.float64).reshape(ROWS, 3, 3),
            "camera.jpeg": [bytes([row]) * row for row in range(ROWS)],
            "labels.text": [None if row == 3 else f"row {row}" for row in range(ROWS)],
        },
        index=["log_id", "timestamp", "pedestrians"],
        sequence_by=["log_id"],
        order_by=["timestamp"],
        units={"timestamp": "ms"},
    )
    return url


@pytest.fixture
def index(drives: str) -> tt.Index:
    return tt.read_index(drives)

