"""What the tests share: a small table of two drives, and how many cases a property draws."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tetrys as tt
from hypothesis import HealthCheck, settings

settings.register_profile(
    "tetrys",
    max_examples=int(os.environ.get("TETRYS_CASES", "25")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tetrys")

ROWS = 20


def points(row: int) -> np.ndarray:
    return np.arange(row % 4 * 4, dtype=np.float32).reshape(-1, 4) + row


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten rows of `monday`, ten of `tuesday`."""
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

