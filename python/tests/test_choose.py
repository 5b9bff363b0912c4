"""Selecting rows: by boolean masks and by integers, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from conftest import ROWS
from hypothesis import given
from hypothesis import strategies as st

KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda rows: np.array(rows, None if rows else np.int64),
    "objects": lambda rows: np.array(rows, object),
    "polars": lambda rows: pl.Series(rows, dtype=None if rows else pl.Int64),
    "pyarrow": lambda rows: pa.array(rows, None if rows else pa.int64()),
    "chunked": lambda rows: pa.chunked_array([rows], None if rows else pa.int64()),
    "pandas": lambda rows: pd.Series(rows, dtype=None if rows else "int64"),
    "nullable": lambda rows: pd.Series(rows, dtype="boolean" if rows and isinstance(rows[0], bool) else "Int64"),
    "generator": iter,
}

numbers = st.lists(st.integers(-ROWS, ROWS - 1), max_size=8)
masks = st.lists(st.booleans(), min_size=ROWS, max_size=ROWS)


def rows_of(index: tt.Index) -> list[int]:
    return tt.row_loader(index).take(range(len(index))).table_rows.tolist()


@pytest.mark.parametrize("kind", KINDS)
@given(numbers | masks)
def test_every_way_of_choosing_means_the_same(index: tt.Index, kind: str, rows: list[Any]) -> None:
    is_mask = len(rows) == ROWS and all(isinstance(row, bool) for row in rows)
    expected = [row for row, there in enumerate(rows) if there] if is_mask else [row % ROWS for row in rows]
    loader, of = tt.row_loader(index, columns=["labels.*"]), KINDS[kind]
    assert loader.take(of(rows)).table_rows.tolist() == expected
    assert rows_of(index[of(rows)]) == expected
    assert [window.table_rows.tolist() for window in loader.get_windows(of(rows), offsets=[0])] == [[row] for row in expected]
    assert loader.explain(of(rows)) == loader.explain(expected)
    if is_mask:
        assert rows_of(index.filter(of(rows))) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_deletes_the_rows_that_it_marks(drives_copy: tt.Table, kind: str) -> None:
    index = tt.read_index(drives_copy)
    late = [bool(time >= 500) for time in index["timestamp"].to_list()]
    assert tt.read_index(drives_copy.delete(KINDS[kind](late)))["timestamp"].to_list() == [0, 100, 200, 300, 400]
    left = tt.open_table(drives_copy.url).delete(KINDS[kind]([1, 3]))
    assert tt.read_index(left)["timestamp"].to_list() == [0, 200, 400]
    assert tt.read_index(left.delete(pl.col("timestamp") >= 200))["timestamp"].to_list() == [0]


@pytest.fixture
def drives_copy(drives: str, tmp_path: Path) -> tt.Table:
    import shutil

    shutil.copytree(drives, tmp_path / "copy")
    return tt.open_table(tmp_path / "copy@1")


CALLS: dict[str, Callable[[tt.Index, Any], Any]] = {
    "take": lambda index, rows: tt.row_loader(index).take(rows),
    "get_windows": lambda index, rows: tt.row_loader(index).get_windows(rows, offsets=[0]),
    "explain": lambda index, rows: tt.row_loader(index).explain(rows),
    "index": lambda index, rows: index[rows],
    "delete": lambda index, rows: index.tables[0].delete(rows),
}

WRONG = [
    [1.9],
    [1.0],
    np.array([1.0, 2.0]),
    np.array([1.5], object),
    np.array([1, True], object),
    [True, 1],
    [1, None],
    [None],
    ["1"],
    "12",
    b"12",
    {1: 2},
    5.5,
    np.array(["a"]),
    np.array([1], "M8[s]"),
    [[1]],
    [object()],
    pl.Series([1.5]),
    pl.Series(["a"]),
    pa.array([1.5]),
    pd.Series([1.5]),
    [1 + 2j],
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("rows", WRONG, ids=repr)
def test_what_is_neither_a_mask_nor_numbers_is_a_type_error(index: tt.Index, call: str, rows: Any) -> None:
    # `index[..]` with a name or a list of names selects columns.
    if call == "index" and (isinstance(rows, str) or type(rows) is list and rows == ["1"]):
        return
    with pytest.raises(tt.Invalid) as caught:
        CALLS[call](index, rows)
    assert isinstance(caught.value, TypeError)
    assert index.tables[0].versions()[0]["version"] == 1


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([True] * 3, f"a mask of 3 rows for .* of {ROWS} rows"),
        (np.ones(ROWS + 1, bool), f"a mask of {ROWS + 1} rows for .* of {ROWS} rows"),
        (pl.Series([True, None] * 10), "10 null"),
        (pd.Series([True, None] * 10, dtype="boolean"), "10 null"),
        (pa.array([1, None]), "1 null"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
        (np.zeros((2, 2), int), "2 dimensions"),
        ([ROWS], f"{ROWS}"),
        ([2**80], f"{2**80}"),
        ([-(2**80)], f"-{2**80}"),
        (range(2**80, 2**80 + 2), f"{2**80}"),
        ([-ROWS - 1], f"-{ROWS + 1}"),
    ],
    ids=repr,
)
def test_a_choice_that_fits_no_row_says_so(index: tt.Index, call: str, rows: Any, message: str) -> None:
    with pytest.raises(tt.Invalid, match=message):
        CALLS[call](index, rows)


def test_no_row_is_a_choice_too_and_a_deletion_counts_from_the_start(index: tt.Index) -> None:
    for nothing in ([], np.array([]), range(0), pl.Series([], dtype=pl.Int64)):
        assert len(index[nothing]) == len(tt.row_loader(index).take(nothing)) == 0
    with pytest.raises(tt.Invalid, match="row -1: expected 0 or more"):
        index.tables[0].delete([-1])


@pytest.mark.parametrize("row", [1.5, "1", None, True, [1], 2**70, -(2**70), ROWS, -ROWS - 1], ids=repr)
def test_one_row_is_an_integer_that_is_there(index: tt.Index, row: Any) -> None:
    loader = tt.row_loader(index)
    rows = loader.take([0, 1])
    ragged = rows["lidar.points"]
    for call in (loader.get_row, loader.__getitem__, lambda row: loader.get_rows(row, offsets=[0]), rows.row, ragged.__getitem__):
        with pytest.raises(tt.Invalid) as caught:
            call(row)
        assert isinstance(caught.value, IndexError if isinstance(row, int) and row is not True else TypeError)
    assert loader.get_row(np.int8(3))["labels.text"] is None
