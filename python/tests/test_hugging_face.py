"""Rows as data sets of Hugging Face, with the real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import tetrys as tt


@pytest.fixture
def rows(tmp_path: Path) -> tt.RowLoader:
    columns = {
        "i": np.arange(6),
        "a.fixed": np.arange(54, dtype=np.float64).reshape(6, 3, 3),
        "a.points": [None if row == 2 else np.full((row, 4), row, np.float32) for row in range(6)],
        "a.text": [f"row {row}" for row in range(6)],
    }
    return tt.row_loader(tt.write_table(str(tmp_path / "t"), columns, index=["i"]), columns=["i", "a.*"])


def test_a_data_set_is_made_of_rows(rows: tt.RowLoader) -> None:
    made = datasets.Dataset(rows.take([1, 2, 5]).to_arrow())
    assert made.features["a.fixed"] == datasets.List(datasets.List(datasets.Value("float64"), length=3), length=3)
    found = made.with_format("numpy")
    np.testing.assert_array_equal(found[2]["a.fixed"], np.arange(45, 54).reshape(3, 3))
    assert found[2]["a.points"].shape == (5, 4) and found["a.text"][0] == "row 1" and made[1]["a.points"] is None


def test_tensors_are_cast_to_arrays_of_two_dimensions(rows: tt.RowLoader) -> None:
    made = datasets.Dataset(rows.take([1, 3, 5]).to_arrow())
    made = made.cast_column("a.fixed", datasets.Array2D((3, 3), "float64")).cast_column("a.points", datasets.Array2D((None, 4), "float32"))
    assert made.features["a.fixed"] == datasets.Array2D((3, 3), "float64")
    found = made.with_format("numpy")[1]
    np.testing.assert_array_equal(found["a.fixed"], np.arange(27, 36).reshape(3, 3))
    np.testing.assert_array_equal(found["a.points"], np.full((3, 4), 3))


def test_a_table_goes_out_by_a_generator_and_comes_back_by_arrow(rows: tt.RowLoader, tmp_path: Path) -> None:
    features = datasets.Dataset(rows.take([]).to_arrow()).features

    def each() -> Iterator[dict[str, Any]]:
        for part in rows.scan(2):
            yield from part.to_arrow().to_pylist()

    made = datasets.Dataset.from_generator(each, features=features, cache_dir=str(tmp_path / "cache"))
    assert len(made) == 6 and made.features == features
    again = tt.write_table(str(tmp_path / "again"), (part for part in made.with_format("arrow").iter(4)), index=["i"])
    back = tt.row_loader(again).take(range(6))
    np.testing.assert_array_equal(np.asarray(back.to_arrow()["a.fixed"].to_pylist()), np.arange(54).reshape(6, 3, 3))
    assert back["a.text"].tolist() == [f"row {row}" for row in range(6)]
