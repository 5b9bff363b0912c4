"""Batches as arrays of JAX. A file of its own: JAX starts threads, which other tests would fork with. Only `.ci/full` runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import tetrys as tt
from silly import wrong_answers


def test_batches_of_jax_have_the_same_values(index: tt.Index) -> None:
    columns = ["lidar.points", "camera.*", "labels.*", "timestamp"]
    offsets = {"camera.intrinsics": [-1, 0]}
    ours, theirs = (tt.DataLoader(index, batch_size=6, columns=columns, offsets=offsets, seed=1, to=to) for to in ("jax", "numpy"))  # type: ignore[arg-type]
    for one, other in zip(ours, theirs, strict=True):
        assert one.keys() == other.keys()
        for name, value in other.items():
            if isinstance(value, tt.Ragged):
                for mine, its in zip(one[name], value, strict=True):
                    assert (mine is None) == (its is None) and (its is None or isinstance(mine, jax.Array))
                    np.testing.assert_array_equal(mine, its)
            elif value.dtype.kind == "O":
                assert one[name] == value.tolist()
            else:
                assert isinstance(one[name], jax.Array) and one[name].shape == value.shape
                np.testing.assert_array_equal(one[name], value)
    padded = next(iter(tt.DataLoader(index, batch_size=6, columns=["lidar.points"], to="jax", ragged="pad")))
    assert jax.numpy.sum(padded["lidar.points"]).dtype == np.float32


def test_a_silly_argument_of_a_loader_of_jax_is_an_error_of_tetrys_or_has_a_meaning(index: tt.Index) -> None:
    def batch(**given: Any) -> Any:
        return next(iter(tt.DataLoader(index, to="jax", **given)))

    good = {"batch_size": 4, "columns": ["camera.intrinsics"], "offsets": None, "ragged": "list", "device": None, "decode": None}
    odd = {"device": {"a device of JAX": lambda: jax.devices()[0]}, "offsets": {"an array of JAX": lambda: jax.numpy.arange(2)}}
    assert not (wrong := wrong_answers(lambda: (batch, good), odd)), "\n".join(wrong)


@pytest.mark.parametrize("kind", ["floats", "bfloat16", "complex", "two dimensions", "no dimension", "deleted", "key"])
def test_an_odd_array_of_jax_is_an_error_of_tetrys_or_has_a_meaning(index: tt.Index, tmp_path: Path, kind: str) -> None:
    numbers = jax.numpy.arange(3)

    def deleted() -> Any:
        made = jax.numpy.arange(3) + 1
        made.delete()
        return made

    makers: dict[str, Any] = {
        "floats": lambda: numbers + 0.5, "bfloat16": lambda: numbers.astype("bfloat16"), "complex": lambda: numbers + 1j, "two dimensions": lambda: numbers[None],
        "no dimension": lambda: numbers[0], "deleted": deleted, "key": lambda: jax.random.key(0),
    }  # fmt: skip
    calls: dict[str, Any] = {
        "take": lambda: (lambda rows: tt.row_loader(index).take(rows), {"rows": [0]}),
        "get_row": lambda: (lambda row: tt.row_loader(index).get_row(row), {"row": 0}),
        "filter": lambda: (lambda predicate: index.filter(predicate), {"predicate": np.full(20, True)}),
        "weights": lambda: (lambda weights: tt.DataLoader(index, batch_size=4, weights=weights), {"weights": np.ones(20)}),
        "write_table": lambda: (lambda x: tt.write_table(tmp_path / "t", {"i": [0, 1, 2], "x": x}, index="i"), {"x": [1, 2, 3]}),
    }
    for name, make in calls.items():
        wrong = wrong_answers(make, {argument: {kind: makers[kind]} for argument in make()[1]}, values=())
        assert not wrong, f"{name}\n" + "\n".join(wrong)


def doubled(batch: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(batch["camera.intrinsics"], jax.Array)
    return {**batch, "twice": batch["camera.intrinsics"] * 2}


def test_worker_processes_get_and_return_arrays_of_jax(index: tt.Index) -> None:
    made: dict[str, Any] = dict(batch_size=6, columns=["lidar.points", "camera.*"], seed=1, to="jax", transform=doubled)
    for one, other in zip(tt.DataLoader(index, **made, workers=2, worker_kind="process"), tt.DataLoader(index, **made), strict=True):
        assert one.keys() == other.keys() and isinstance(one["twice"], jax.Array)
        np.testing.assert_array_equal(one["twice"], other["twice"])
        for mine, its in zip(one["lidar.points"], other["lidar.points"], strict=True):
            assert (mine is None) == (its is None) and (its is None or isinstance(mine, jax.Array) and bool((mine == its).all()))
