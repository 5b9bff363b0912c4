"""Rows as PyTorch tensors over the same memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tetrys as tt
from conftest import picture, points


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
    bare = (("cuda", "finds 0 CUDA devices"),) if there == 0 else ()
    for device, text in (*bare, (f"cuda:{there}", f"finds {there} CUDA devices"), ("gpu", "expected a device of PyTorch"), (1.5, "expected a device of PyTorch")):
        with pytest.raises(tt.Invalid, match=f"device: .*{text}"):
            tt.DataLoader(index, batch_size=4, columns=["timestamp"], to="torch", device=device)
    # PyTorch has the name of this device, but nothing to copy to it with.
    batches = iter(tt.DataLoader(index, batch_size=4, columns=["timestamp"], to="torch", device="fpga"))
    with pytest.raises(tt.Unavailable, match="device: a batch cannot be copied to fpga"):
        next(batches)


@pytest.mark.torch
@pytest.mark.parametrize("ragged", ["list", "pad", "offsets"])
@pytest.mark.parametrize("size", [None, (3, 4)])
def test_a_collated_batch_is_that_of_the_loader(tmp_path: Path, ragged: Any, size: tuple[int, int] | None) -> None:
    torch = pytest.importorskip("torch")
    import tetrys.torch
    from torch.utils.data import DataLoader, Subset

    data = {
        "time": np.arange(8),
        "camera.png": [None if row == 5 else picture(row) for row in range(8)],
        "camera.raw": [None if row == 6 else bytes([row]) * row for row in range(8)],
        "lidar.points": [points(row) for row in range(8)],
        "label.box": np.arange(16.0).reshape(8, 2),
        "label.text": [f"row {row}" for row in range(8)],
    }
    index = tt.read_index(tt.write_table(str(tmp_path / "t"), data, index=["time"], sequence_by=[]))
    given: dict[str, Any] = {"offsets": {"lidar.*": range(-1, 1)}, "decode": {"*.png": tt.image(size)}, "ragged": ragged}
    samples = tetrys.torch.Dataset(index, **given)
    expected = list(tt.DataLoader(index, batch_size=4, shuffle="none", to="torch", **given))
    for loader in (
        DataLoader(samples, batch_size=4, collate_fn=samples.collate),
        DataLoader(samples, batch_size=4, collate_fn=samples.collate, num_workers=2, multiprocessing_context="spawn"),
        DataLoader(Subset(samples, range(8)), batch_size=4, collate_fn=samples.collate),
    ):
        found = list(loader)
        assert len(found) == 2
        for batch, other in zip(found, expected, strict=True):
            assert batch.keys() == other.keys() - {"positions"}
            for name, values in batch.items():
                assert_same(torch, values, other[name])


def assert_same(torch: Any, one: Any, other: Any) -> None:
    if isinstance(one, list):
        assert isinstance(other, list) and len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(torch, left, right)
    elif torch.is_tensor(one):
        assert one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    else:
        assert one == other


@pytest.mark.torch
def test_a_data_set_refuses_what_it_cannot_decode_or_give(index: tt.Index) -> None:
    pytest.importorskip("torch")
    import tetrys.torch

    with pytest.raises(tt.Invalid, match="decode: column `camera.intrinsics` is f64.*: expected a column of bytes"):
        tetrys.torch.Dataset(index, decode="*.intrinsics")
    with pytest.raises(tt.Invalid, match="ragged `nested`: expected list, pad or offsets"):
        tetrys.torch.Dataset(index, ragged="nested")  # type: ignore[arg-type]


@pytest.mark.torch
def test_new_workers_without_set_epoch_warn_once(drives: str) -> None:
    pytest.importorskip("torch")
    program = """
import sys, torch.utils.data, tetrys as tt, tetrys.torch
batches = tetrys.torch.IterableDataset(tt.DataLoader(tt.open_table(sys.argv[1]), batch_size=2, columns=["timestamp"]))
loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=2, persistent_workers=sys.argv[2] == "persistent")
for epoch in range(4):
    if sys.argv[2] == "set":
        batches.set_epoch(epoch)
    list(loader)
"""
    for way, warnings in (("plain", 1), ("persistent", 0), ("set", 0)):
        done = subprocess.run([sys.executable, "-c", program, drives, way], capture_output=True, check=True, timeout=300, text=True)
        assert done.stderr.count("new workers run the same epoch again") == warnings, done.stderr


@pytest.mark.torch
def test_workers_share_an_epoch_as_ranks_do(index: tt.Index) -> None:
    pytest.importorskip("torch")
    import tetrys.torch
    from torch.utils.data import DataLoader

    for last, with_workers in (("drop", 4), ("pad", 6)):
        batches = tetrys.torch.IterableDataset(tt.DataLoader(index, batch_size=4, columns=["timestamp"], last=last))
        assert len(batches) == len(list(DataLoader(batches, batch_size=None))) == 5
        assert len(list(DataLoader(batches, batch_size=None, num_workers=2, multiprocessing_context="spawn"))) == with_workers
