"""Daft reads tables; DuckDB and DataFusion query the index. Each is skipped if it is not installed."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from silly import wrong_answers

pytestmark = pytest.mark.slice

BUSY = [("monday", 400), ("monday", 900), ("tuesday", 1400), ("tuesday", 1900)]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param, reason=f"no {request.param}")
    return importlib.import_module(request.param)


@pytest.mark.parametrize("engine", ["duckdb"], indirect=True)
def test_duckdb_queries_the_index_and_its_rows_are_read(engine: Any, drives: str) -> None:
    index = tt.read_index(drives)
    found = index.with_frame(engine.sql("SELECT * FROM index WHERE pedestrians = 4 ORDER BY timestamp").to_arrow_table())
    assert found.to_polars().select("log_id", "timestamp").rows() == BUSY
    assert tt.row_loader(found).get_row(0)["labels.text"] == "row 4"


@pytest.mark.parametrize("engine", ["datafusion"], indirect=True)
def test_datafusion_queries_the_index_and_its_rows_are_read(engine: Any, drives: str) -> None:
    index = tt.read_index(drives)
    context = engine.SessionContext()
    context.from_arrow(index, "drives")
    found = index.with_frame(context.sql("SELECT * FROM drives WHERE pedestrians = 4 ORDER BY timestamp"))
    assert found.to_polars().select("log_id", "timestamp").rows() == BUSY
    assert tt.row_loader(found).get_row(0)["labels.text"] == "row 4"


@pytest.fixture
def reading() -> Any:
    pytest.importorskip("daft", reason="no Daft")
    return importlib.import_module("tetrys.daft")


def test_daft_reads_rows_as_they_were_written(reading: Any, drives: str) -> None:
    rows = reading.read(drives, splits=3).to_pydict()
    expected = tt.row_loader(tt.read_index(drives)).take(range(20))
    assert rows["log_id"] == ["monday"] * 10 + ["tuesday"] * 10
    assert rows["labels.text"] == expected["labels.text"].tolist()
    assert rows["camera.jpeg"] == [bytes([row]) * row for row in range(20)]
    for name in ("lidar.points", "camera.intrinsics"):
        for found, value in zip(rows[name], expected[name], strict=True):
            assert found is value is None or np.array_equal(found, value), name


def test_daft_reads_only_columns_and_rows_that_a_query_needs(reading: Any, tmp_path: Path) -> None:
    from conftest import damaged_table
    from daft import col

    table = damaged_table(tmp_path)
    readable = []
    for row in range(12):
        try:
            tt.row_loader(table).get_row(row)
            readable.append(row)
        except tt.Corrupt:
            pass
    assert 0 < len(readable) < 12
    df = reading.read(table.url)
    assert df.select("i").to_pydict() == {"i": list(range(12))}
    assert df.where(col("i").is_in(readable)).to_pydict()["i"] == readable
    assert df.where(col("i").is_in(readable) & (col("i") > 100)).to_pydict()["i"] == []
    with pytest.raises(Exception, match="Corrupt"):
        df.to_pydict()


def test_filters_of_daft_choose_the_rows_that_polars_chooses(reading: Any, drives: str) -> None:
    from daft import col

    df = reading.read(drives, columns=["log_id", "timestamp", "pedestrians", "labels.*"])
    frame = tt.read_index(drives).to_polars()
    for chosen, expected in [
        (col("pedestrians") > 2, pl.col("pedestrians") > 2),
        ((col("log_id") == "monday") | (col("timestamp") >= 1500), (pl.col("log_id") == "monday") | (pl.col("timestamp") >= 1500)),
        (col("log_id").is_null(), pl.lit(False)),
        (~col("pedestrians").is_in([0, 1]), ~pl.col("pedestrians").is_in([0, 1])),
    ]:
        rows = frame.filter(expected).select("log_id", "timestamp").rows()
        assert [tuple(row.values()) for row in df.where(chosen).select("log_id", "timestamp").to_pylist()] == rows
        assert df.where(chosen).count_rows() == len(rows)
    assert df.where((col("pedestrians") > 2) & col("labels.text").is_null()).select("timestamp").to_pydict() == {"timestamp": [300]}
    assert df.limit(3).count_rows() == 3


def test_daft_reads_a_fixed_version_and_empty_tables(reading: Any, tmp_path: Path) -> None:
    empty = tt.write_table(tmp_path / "t", {"i": [], "a.x": []}, schema={"i": "i64", "a.x": "f32[?,4]"}, index=["i"])
    df = reading.read(tmp_path / "t")
    empty.append({"i": [1], "a.x": [None]})
    assert (df.column_names, df.count_rows()) == (["i", "a.x"], 0)
    assert reading.read(tmp_path / "t").to_pydict() == {"i": [1], "a.x": [None]}
    with pytest.raises(tt.NotFound):
        reading.read(tmp_path / "none")
    with pytest.raises(tt.NotFound, match="nothing"):
        reading.read(tmp_path / "t", columns="nothing.*")


def test_a_silly_argument_of_daft_is_an_error_of_tetrys_or_has_a_meaning(reading: Any, drives: str) -> None:
    given = {"url": drives, "columns": ["timestamp"], "splits": 2, "allow": (), "storage_options": None, "store_options": None}
    assert not (wrong := wrong_answers(lambda: (reading.read, given))), "\n".join(wrong)


def test_the_lines_of_the_guide_run(reading: Any, drives: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="no duckdb")
    datafusion = pytest.importorskip("datafusion", reason="no datafusion")
    page = (Path(__file__).parents[2] / "docs/guide/cluster.md").read_text()
    chapter = page.split("\n## Daft, DuckDB and DataFusion\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```py\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)
    names = {"tetrys": tt, "duckdb": duckdb, "index": tt.read_index(drives), "context": datafusion.SessionContext()}
    # DuckDB finds the frame among the variables of its caller.
    results = []
    for line in block.replace("s3://team/drives", drives).splitlines():
        *before, last = [one.strip() for one in line.split("  # ")[0].split(";")]
        for statement in before:
            exec(statement, names)
        results.append(eval(last, names))
    df, found, queried = results
    assert df.count_rows() == 20 and "lidar.points" in df.column_names
    for frame in (found.to_arrow_table(), queried):
        rows = names["index"].with_frame(frame).to_polars()
        assert sorted(rows.select("log_id", "timestamp").rows()) == BUSY


def test_the_example_of_daft_does_what_it_says(reading: Any, drives: str) -> None:
    daft = importlib.import_module("daft")
    text = (inspect.getdoc(reading.read) or "").replace('"drives"', f'"{drives}"')
    output: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, {"tetrys": tt, "daft": daft}, "read", None, None)
    failed, tried = doctest.DocTestRunner().run(example, out=output.append)
    assert tried > 0 and not failed, "".join(output)
