"""Rows as PyTorch tensors over the same memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tetrys as tt


@pytest.mark.torch
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


@pytest.mark.torch
def test_tensors_that_numpy_does_not_take_are_refused_with_the_next_step(index: tt.Index, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    graded, brain = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.bfloat16)
    meta = torch.ones(2, device="meta")
    for tensor, step in ((graded, "tensor.detach"), (brain, "tensor.float"), (meta, "tensor.cpu")):
        for number, values in enumerate((tensor, [tensor, tensor])):
            with pytest.raises(tt.Invalid, match=f"column `x`: .*{step}"):
                tt.write_table(tmp_path / f"t{number}", {"i": [0, 1], "x": values}, index="i")
        with pytest.raises(tt.Invalid, match=step):
            tt.row_loader(index).take(tensor)
        with pytest.raises(tt.Invalid, match=f"weights: .*{step}"):
            tt.DataLoader(index, batch_size=4, weights=tensor)
        with pytest.raises(tt.Invalid, match=f"mean: .*{step}"):
            tt.image(dtype="float32", mean=tensor, std=(1, 1, 1))
    written = tt.write_table(tmp_path / "t", {"i": torch.arange(2), "x": graded.detach(), "y": brain.float()}, index="i")
    assert tt.row_loader(written).take([0, 1])["y"].tolist() == [1, 1]


@pytest.mark.torch
def test_a_device_that_is_not_there_is_refused_before_the_first_batch(index: tt.Index) -> None:
    torch = pytest.importorskip("torch")
    there = torch.cuda.device_count()
    for device, text in ((f"cuda:{there}", f"finds {there} CUDA devices"), ("gpu", "expected a device of PyTorch"), (1.5, "expected a device of PyTorch")):
        with pytest.raises(tt.Invalid, match=f"device: .*{text}"):
            tt.DataLoader(index, batch_size=4, columns=["timestamp"], to="torch", device=device)
    # PyTorch has the name of this device, but nothing to copy to it with.
    batches = iter(tt.DataLoader(index, batch_size=4, columns=["timestamp"], to="torch", device="fpga"))
    with pytest.raises(tt.Unavailable, match="device: a batch cannot be copied to fpga"):
        next(batches)
