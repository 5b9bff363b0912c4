"""Batches as arrays of JAX. A file of its own: JAX starts threads, which other tests would fork with. Only `.ci/full` runs it."""

from __future__ import annotations

import jax
import numpy as np
import tetrys as tt


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
