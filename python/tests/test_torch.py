"""Rows as PyTorch tensors over the same memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tetrys as tt

pytestmark = pytest.mark.torch


def test_rows_become_tensors_over_the_same_memory(tmp_path: Path) -> None:
    import torch

    data = {
        "i": np.arange(3),
        "t.matrix": np.arange(12.0, dtype=np.float32).reshape(3, 2, 2),
        "t.points": [np.arange(8.0).reshape(2, 4), None, np.zeros((0, 4))],
        "t.jpeg": [b"abc", b"", b"d"],
        "t.flag": np.array([True, False, True]),
        "t.half": np.array([1, 2, 3], np.float16),
        "t.brain": np.array([1.5, -2, 0], ml_dtypes.bfloat16),
        "t.when": np.array([1, 2, 3], "M8[ms]"),
        "t.text": ["a", None, "c"],
        "t.wide": np.array([2**64 - 1, 0, 1], np.uint64),
    }
    rows = tt.row_loader(tt.write_table(str(tmp_path / "t"), data, index=["i"])).take([0, 1, 2])
    found = rows.to_torch()
    assert list(found) == rows.keys()
    matrix = found["t.matrix"]
    assert matrix.data_ptr() == rows["t.matrix"].__array_interface__["data"][0]
    assert (matrix.dtype, matrix.shape) == (torch.float32, (3, 2, 2)) and matrix[2, 1, 1] == 11
    points = found["t.points"]
    assert [None if one is None else tuple(one.shape) for one in points] == [(2, 4), None, (0, 4)]
    assert points[0].data_ptr() == rows["t.points"].values.__array_interface__["data"][0] and points[0][1, 3] == 7
    assert [bytes(one.tolist()) for one in found["t.jpeg"]] == [b"abc", b"", b"d"]
    assert (found["t.flag"].dtype, found["t.flag"].tolist()) == (torch.bool, [True, False, True])
    assert (found["t.half"].dtype, found["t.brain"].dtype) == (torch.float16, torch.bfloat16)
    assert found["t.brain"].tolist() == [1.5, -2, 0]
    assert found["t.when"].tolist() == [1, 2, 3] and found["t.text"] == ["a", None, "c"]
    assert found["t.wide"].tolist() == [2**64 - 1, 0, 1]


def test_without_torch_the_next_step_is_named(index: tt.Index) -> None:
    program = "import sys, pickle; sys.modules['torch'] = None\nimport tetrys as tt\nrows = pickle.load(sys.stdin.buffer).take([0])\ntry: rows.to_torch()\nexcept tt.Unsupported as error: print(error)"
    import pickle

    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(tt.row_loader(index)), capture_output=True, check=True, timeout=60)
    assert b"pip install torch" in done.stdout


def test_other_libraries_take_arrays_by_dlpack(index: tt.Index) -> None:
    """`to_torch` uses DLPack for each array; numpy, which is always installed, does the same here."""
    rows = tt.row_loader(index).take(range(20))
    for array in (rows["camera.intrinsics"], rows["lidar.points"].values):
        taken = np.from_dlpack(array)
        assert taken.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        np.testing.assert_array_equal(taken, array, strict=True)
