"""The index as a frame: export to other libraries, and import of their frames."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tetrys as tt

BUSY = [4, 9, 14, 19]


def table_rows(index: tt.Index) -> list[int]:
    return list(tt.row_loader(index).take(range(len(index))).table_rows)


def test_an_expression_of_polars_filters(index: tt.Index) -> None:
    busy = index.filter(pl.col("pedestrians") > 3)
    assert (len(index), len(busy), table_rows(busy)) == (20, 4, BUSY)
    assert table_rows(index.filter(log_id="tuesday", pedestrians=4)) == [14, 19]


@pytest.mark.parametrize("mask", [lambda column: column > 3, lambda column: (column > 3).to_numpy(), lambda column: list(column > 3)])
def test_a_mask_filters_as_with_pandas(index: tt.Index, mask: object) -> None:
    assert table_rows(index[mask(index["pedestrians"])]) == BUSY  # type: ignore[operator]
    frame = index.to_pandas()
    assert table_rows(index[frame["pedestrians"] > 3]) == BUSY


def test_slices_positions_and_order(index: tt.Index) -> None:
    assert table_rows(index[3:6]) == [3, 4, 5]
    assert table_rows(index[[7, 2, 2]]) == [7, 2, 2]
    assert table_rows(index.sort(["pedestrians", "timestamp"], descending=True)[:2]) == [19, 14]
    assert table_rows(index.sample(5, seed=1)) == table_rows(index.sample(5, seed=1))
    assert table_rows(index.sql("SELECT * FROM t WHERE pedestrians > 3")) == BUSY
    with pytest.raises(tt.Invalid, match="mask of 3 rows"):
        index[[True, False, True]]


def test_polars_takes_an_index_and_gives_one_back(index: tt.Index) -> None:
    frame = index.to_polars().filter(pl.col("pedestrians") > 3).with_columns(twice=pl.col("pedestrians") * 2)
    found = index.with_frame(frame)
    assert table_rows(found) == BUSY
    assert found.columns == ["log_id", "timestamp", "pedestrians", "twice"]


def test_pandas_takes_an_index_and_gives_one_back(index: tt.Index) -> None:
    frame = index.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    found = index.with_frame(frame[frame["pedestrians"] > 3])
    assert table_rows(found) == BUSY
    assert found.columns == ["log_id", "timestamp", "pedestrians"]


def test_pyarrow_takes_an_index_and_gives_one_back(index: tt.Index) -> None:
    table = index.to_arrow()
    assert isinstance(table, pa.Table)
    assert table_rows(index.with_frame(table.filter(pc.greater(table["pedestrians"], 3)))) == BUSY
    empty = index.with_frame(table.slice(0, 0))
    assert (len(empty), empty.columns) == (0, index.columns)


def test_duckdb_takes_an_index_and_gives_one_back(index: tt.Index) -> None:
    frame = index.to_arrow()  # noqa: F841: named in the query
    relation = duckdb.sql("SELECT *, pedestrians * 2 AS twice FROM frame WHERE pedestrians > 3 ORDER BY timestamp")
    assert table_rows(index.with_frame(relation)) == BUSY


def test_locators_are_i64_and_never_null(index: tt.Index) -> None:
    frame = index.to_polars()
    (locator,) = [name for name in frame.columns if name not in index.columns]
    assert (frame[locator].dtype, frame[locator].null_count()) == (pl.Int64, 0)


def test_a_type_that_no_index_has_is_refused_by_the_name_of_its_column(index: tt.Index) -> None:
    with pytest.raises(tt.Invalid, match="^column `z`: no index has its type: cast it to another one"):
        index.with_frame(index.to_polars().with_columns(z=pl.lit(1, dtype=pl.UInt128)))


def test_a_frame_without_its_locators_is_refused(index: tt.Index) -> None:
    with pytest.raises(tt.Invalid, match="no locator column"):
        index.with_frame(index.to_polars().select("log_id"))
    with pytest.raises(tt.Invalid, match="expected i64, found f64"):
        index.with_frame(index.to_polars().with_columns(pl.exclude(index.columns).cast(pl.Float64)))
    with pytest.raises(tt.Invalid, match="__arrow_c_stream__"):
        index.with_frame([1, 2])  # type: ignore[arg-type]


def test_an_index_and_a_loader_are_pickled_by_their_table_and_rows(index: tt.Index) -> None:
    busy = index.filter(pl.col("pedestrians") > 3).with_frame(index.to_polars().with_columns(pedestrians=pl.lit(7))[BUSY])
    again = pickle.loads(pickle.dumps(busy))
    assert again.to_polars().equals(busy.to_polars())
    loader = pickle.loads(pickle.dumps(tt.row_loader(busy, edge="skip")))
    assert loader.get_row(1)["labels.text"] == "row 9"
    assert len(loader.get_rows(0, offsets=range(-10, 1))) == 5
    merged = tt.concat([tt.merge(index[5:8], index[6:], on="timestamp")] * 2)
    again = pickle.loads(pickle.dumps(merged))
    assert again.to_polars().equals(merged.to_polars())
    rows = tt.row_loader(again).get_rows(0, offsets=[-1, 0, 1])
    assert list(rows.column_mask("labels.text_right")) == [False, True, True]


def test_it_says_what_it_is(index: tt.Index, drives: str) -> None:
    assert repr(index).startswith(f"Index of 20 rows of file://{drives}@1\n")
    assert "Index of 20 rows" in index._repr_html_()
    (table,) = index.tables
    assert (table.version, len(table), pickle.loads(pickle.dumps(table)).uuid) == (1, 20, table.uuid)
    assert dict(table.groups)["camera"] == [("camera.intrinsics", "f64[3,3]"), ("camera.jpeg", "binary")]
    assert table.index_columns == [("log_id", "utf8"), ("timestamp", "i64"), ("pedestrians", "i64")]
    assert tt.read_index(drives, columns=["log*"]).columns == ["log_id"]


@pytest.fixture
def labels(tmp_path: object) -> tt.Index:
    """Returns labels of every second row of the drives, 20 ms later."""
    rows = np.arange(0, 20, 2)
    tt.write_table(
        f"{tmp_path}/labels",
        {"timestamp": rows * 100, "seen": rows * 100 + 20, "labels.boxes": [np.full((row % 3, 4), row, np.int32) for row in rows]},
        index=["timestamp", "seen"],
        units={"seen": "ms"},
    )
    return tt.read_index(f"{tmp_path}/labels")


def test_a_merge_by_key_reads_both_tables(index: tt.Index, labels: tt.Index) -> None:
    merged = tt.merge(index, labels, on="timestamp")
    row = tt.row_loader(merged).get_row(4, columns=["labels.*", "*.jpeg"])
    assert list(row) == ["camera.jpeg", "labels.text", "labels.boxes"]
    assert (len(merged), row["labels.boxes"].shape, bytes(row["camera.jpeg"])) == (10, (2, 4), b"\x08" * 8)
    rows = tt.row_loader(merged).get_rows(5, columns=["labels.boxes"], offsets=range(-1, 2))
    assert list(rows.mask) == [False, True, True]
    assert list(rows.column_mask("labels.boxes")) == [False, True, False]


def test_a_left_merge_keeps_rows_without_a_partner(index: tt.Index, labels: tt.Index) -> None:
    merged = index.merge(labels, on="timestamp", how="left")
    assert len(merged) == 20
    assert tt.row_loader(merged).get_row(1)["labels.boxes"] is None
    with pytest.raises(tt.Invalid, match="expected inner, left or asof"):
        index.merge(labels, on="timestamp", how="outer")
    with pytest.raises(tt.NotFound):
        index.merge(labels, on="no such key")


def test_a_merge_by_time_takes_the_nearest_row(index: tt.Index, labels: tt.Index) -> None:
    merged = tt.merge(index, labels, on="timestamp", right_on="seen", how="asof", direction="nearest", tolerance="30")
    assert list(merged["timestamp"]) == [row * 100 for row in range(0, 20, 2)]


def test_concat_puts_tables_one_below_the_other(index: tt.Index, labels: tt.Index) -> None:
    assert table_rows(tt.concat([index[:2], index[5:6]])) == [0, 1, 5]
    with pytest.raises(tt.Invalid, match="concat"):
        tt.concat([index, labels])
    both = tt.concat([index, labels], fill=True)
    loader = tt.row_loader(both)
    assert (len(both), loader.get_row(20)["labels.text"], loader.get_row(0)["labels.boxes"]) == (30, None, None)


def test_text_becomes_categorical_on_request_and_takes_four_bytes_a_row(drives: str) -> None:
    index, categorical = tt.read_index(drives), tt.read_index(drives, categorical=True)
    assert index["log_id"].dtype == pl.String and categorical["log_id"].dtype == pl.Categorical
    assert categorical["log_id"].cast(pl.String).equals(index["log_id"])
    assert [column["bytes"] for column in categorical.memory()["columns"]] == [80, 160, 160]
    assert table_rows(categorical.filter(log_id="tuesday", pedestrians=4)) == [14, 19]
    assert table_rows(pickle.loads(pickle.dumps(categorical.filter(pl.col("pedestrians") > 3)))) == BUSY
    assert table_rows(categorical.sql("SELECT * FROM t WHERE log_id = 'tuesday' AND pedestrians = 4")) == [14, 19]
    frame = categorical.to_polars().filter(pl.col("log_id") == "monday")
    assert table_rows(categorical.with_frame(frame)) == list(range(10))
    with pytest.raises(TypeError, match="categorical"):
        tt.read_index(drives, categorical=1)  # type: ignore[arg-type]


def test_locators_of_consecutive_rows_take_no_memory(index: tt.Index) -> None:
    assert index.memory()["locator_bytes"] == 0
    assert index.to_polars().columns[-1].startswith("_row_")
    assert index.memory()["locator_bytes"] == 0, "an export keeps nothing"
    assert index.filter(log_id="tuesday").memory()["locator_bytes"] == 0
    assert index.filter(pl.col("pedestrians") > 3).memory()["locator_bytes"] == 4 * 8
    assert index.memory()["rows"] == 20


def test_a_condition_and_columns_load_a_part_of_the_index(tmp_path: pathlib.Path) -> None:
    rows = 40_000
    url = str(tmp_path / "large")
    weights = np.where(np.arange(rows) % 97 == 0, np.nan, np.arange(rows) / 7)
    columns = {
        "log": [f"log-{row // 500:03}" for row in range(rows)],
        "time": np.arange(rows),
        "weight": weights,
        "note": [None if row % 5 == 0 else "a note" for row in range(rows)],
        "payload": np.arange(rows, dtype=np.uint32),
    }
    table = tt.write_table(url, columns, index=["log", "time", "weight", "note"], sequence_by=["log"])
    whole = tt.read_index(url)
    for where in ["log = 'log-013'", "time >= 39990 OR time < 3", "weight > 5000.0", "note IS NULL AND time BETWEEN 500 AND 600"]:
        expected = whole.sql(f"SELECT * FROM t WHERE {where}")
        for found in [tt.read_index(url, where=where), tt.read_index(table, where=pl.sql_expr(where))]:
            assert found.to_polars().equals(expected.to_polars())
            assert table_rows(found) == table_rows(expected)
        parts = [tt.read_index(url, ["t*"], where=where), tt.read_index(url, "t*", where=pl.sql_expr(where))]
        for part in [*parts, pickle.loads(pickle.dumps(parts[0])), pickle.loads(pickle.dumps(parts[1]))]:
            assert (part.columns, part["time"].to_list()) == (["time"], expected["time"].to_list())
    # Such conditions may name any column.
    for condition in (cs.by_name("weight") > 5_000, pl.all_horizontal(pl.col("weight", "time") > 30_000), pl.nth(2) > 5_000):
        assert tt.read_index(url, "log", where=condition)["log"].to_list() == whole.filter(condition)["log"].to_list()
    some, all_of = table.explain_index(["time"], "log = 'log-013'"), table.explain_index()
    assert (some["objects"], some["whole_objects"], all_of["whole_objects"], some["rows"]) == (1, 0, 1, 8192)
    assert some["bytes"] * 3 < all_of["bytes"] == all_of["index_bytes"]
    assert table.explain_index(["time"], pl.col("log") == "log-013") == some
    assert table.explain_index(["time"], pl.col("log").str.head(7) == "log-013")["rows"] == rows
    # Such conditions see all rows.
    late, heavy = pl.col("time") >= 39_000, pl.col("weight") > pl.col("weight").mean()
    first = pl.col("time") == pl.col("time").min().over("log")
    for condition in (late & heavy, heavy & late, late & first, heavy | (pl.col("log") == "log-013"), pl.col("time").rank() > 39_990):
        assert tt.read_index(table, where=condition).to_polars().equals(whole.filter(condition).to_polars())
        assert table.explain_index(where=condition)["rows"] == rows
    with pytest.raises(tt.NotFound, match="nothing"):
        tt.read_index(table, where=pl.col("nothing") > 3)
    with pytest.raises(tt.Invalid, match="expected one expression"):
        tt.read_index(url, where="time > 3; DROP TABLE t")
    with pytest.raises(tt.Error, match="where"):
        tt.read_index(url, where=3)  # type: ignore[arg-type]
    with pytest.raises(tt.NotFound, match="nearest"):
        tt.read_index(url, ["tims"], where="time > 3")


def test_memory_holds_only_the_rows_that_an_expression_chooses(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 300_000
    columns = {
        "log": [f"log-{row // 50_000}" for row in range(rows)],
        "time": np.arange(rows),
        "payload": np.zeros(rows, np.uint8),
    }
    table = tt.write_table(str(tmp_path / "t"), columns, index=["log", "time"], sequence_by=["log"])
    native, loaded = tt._tetrys.Index, []

    class Index:
        explain, chosen, of_frame = native.explain, native.chosen, native.of_frame

        @staticmethod
        def of_table(*arguments: Any) -> Any:
            loaded.append(native.of_table(*arguments))
            return loaded[-1]

    whole = tt.read_index(table)
    monkeypatch.setattr(tt._tetrys, "Index", Index)
    seventh, middle = pl.col("time") % 7 == 3, pl.col("log").cast(pl.String).str.ends_with("3")
    for where, categorical, kept in [
        (seventh, False, rows // 7),
        (seventh & middle, False, 7_143),
        (pl.col("log") == "log-5", True, 50_000),
        ((pl.col("time") > 9) & pl.col("log").is_in(["log-0", "log-9"]), True, 49_990),
        # A mean is that of all rows.
        (seventh & (pl.col("time") > pl.col("time").mean()), False, rows),
        (pl.lit(True) & seventh, False, rows // 7),
    ]:
        expected = whole.filter(where).to_polars()
        assert tt.read_index(table, where=where, categorical=categorical).to_polars().cast(dict(expected.schema)).equals(expected)
        assert abs(len(loaded.pop()) - kept) <= 1, str(where)
        assert tt.read_index(table, ["time"], where=where)["time"].to_list() == expected["time"].to_list()
        assert abs(len(loaded.pop()) - kept) <= 1, str(where)

    # With cloudpickle, polars evaluates this function part by part too.
    seventy_seven = pl.col("time").map_elements(lambda time: time == [77][0], return_dtype=pl.Boolean)
    assert tt.read_index(table, where=seventy_seven)["time"].to_list() == [77]
    assert len(loaded.pop()) in (1, rows)
    # The numbers of categories differ between parts, and a cast might show them.
    assert len(tt.read_index(table, where=middle, categorical=True)) == 50_000 and len(loaded.pop()) == rows
    with pytest.raises(tt.Invalid, match="filter: conversion from `str` to `i64` failed"):
        tt.read_index(table, where=pl.col("log").cast(pl.Int64) > 3)


NUMBERS = """
import sys, polars as pl, tetrys as tt
for categorical in (False, True):
    for name in ("kind", "text") if categorical else ("kind",):
        for number in (pl.col(name).to_physical(), pl.col(name).cast(pl.Categorical).to_physical()):
            counts = [len(tt.read_index(sys.argv[1], where=number == k, categorical=categorical)) for k in range(3)]
            assert counts == [100_000, 166_667, 133_333], (categorical, name, str(number), counts)
"""


def test_numbers_of_categories_and_names_like_patterns_are_those_of_all_rows(tmp_path: pathlib.Path) -> None:
    rows = 400_000
    texts = [("a" if row % 2 else "b") if row < rows // 2 else ("c" if row % 3 else "a") for row in range(rows)]
    frame = pl.DataFrame({"time": np.arange(rows), "text": texts, "payload": np.zeros(rows, np.uint8)})
    frame = frame.with_columns(pl.col("text").cast(pl.Categorical).alias("kind"), pl.col("time").alias("^time$"), pl.col("time").alias("*"))
    table = tt.write_table(str(tmp_path / "t"), frame, index=["*", "^time$", "time", "text", "kind"])
    whole = tt.read_index(table)
    for where in ((pl.nth(0) > 399_990) & (pl.col("time") % 5 < 2), (pl.nth(1) > 399_990) & (pl.col("time") % 5 < 2), pl.col("kind") == "c"):
        assert tt.read_index(table, where=where).to_polars().equals(whole.filter(where).to_polars())
    # polars shares the numbers of categories as long as any frame has them, so another process reads.
    subprocess.run([sys.executable, "-c", NUMBERS, table.url], check=True)


def test_segments_that_an_expression_excludes_are_not_read(tmp_path: pathlib.Path) -> None:
    def rows(part: int) -> dict[str, Any]:
        return {"log": [f"log-{part}"] * 500, "time": np.arange(500) + 500 * part, "payload": np.arange(500)}

    table = tt.write_table(str(tmp_path / "t"), rows(0), index=["log", "time"])
    kept = set((tmp_path / "t/index").rglob("*.parquet"))
    table = table.append(rows(1))
    for path in set((tmp_path / "t/index").rglob("*.parquet")) - kept:
        path.unlink()
    early = (pl.col("time") < 300) & (pl.col("log") != "log-9")
    for source in (table, tt.open_table(table.url)):
        found = tt.read_index(source, where=early)
        assert (len(found), table_rows(found)) == (300, list(range(300)))
        assert tt.read_index(source, ["time"], where=pl.col("log").is_in(["log-0"]), categorical=True).columns == ["time"]
    assert table.explain_index(where=early)["bytes"] < table.explain_index()["bytes"]
    with pytest.raises(tt.Corrupt):
        tt.read_index(table, where=pl.col("time") % 2 == 0)
    # A merge needs all rows of the left table, and the segment of some is gone.
    with pytest.raises(tt.Corrupt):
        tt.merge(found, found, ["log", "time"])


def test_bloom_filters_find_a_key_in_no_order(tmp_path: pathlib.Path) -> None:
    rows = 140_000
    ids = (np.arange(rows, dtype=np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15) >> np.uint64(1)).astype(np.int64)
    columns = {"time": np.arange(rows), "id": ids, "weight": np.zeros(rows), "payload": np.zeros(rows, np.uint8)}
    index = ["time", "id", "weight"]
    table = tt.write_table(tmp_path / "filtered", columns, index=index, bloom_filters="id")
    plain = tt.write_table(tmp_path / "plain", columns, index=index)
    assert table.column_properties("id") == {"tetrys.bloom_filter": True}
    # No row has this id, and the filters of all row groups say so.
    none, most = (one.explain_index(["time"], f"id = {ids[5] + 1}") for one in (table, plain))
    assert (none["rows"], most["rows"]) == (0, rows) and none["bytes"] * 2 < most["bytes"]
    for where in [f"id = {ids[99_999]}", pl.col("id") == int(ids[99_999]), pl.col("id").is_in([int(ids[3]), int(ids[70_000]), 5])]:
        assert tt.read_index(table, where=where)["time"].to_list() == tt.read_index(plain, where=where)["time"].to_list()
    assert tt.scan_index(table).filter(pl.col("id") == int(ids[99_999])).select("time").collect()["time"].to_list() == [99_999]
    # Overwritten rows keep the property, unless the column leaves the index or another list is given.
    assert table.overwrite(columns).column_properties("id") == {"tetrys.bloom_filter": True}
    assert tt.open_table(table.url).overwrite(columns, index=["time"]).column_properties("id") == {}
    other = tt.open_table(table.url).overwrite(columns, index=index, bloom_filters=["time"])
    assert other.column_properties("time") == {"tetrys.bloom_filter": True}
    for wrong in ["weight", "payload", "nothing"]:
        with pytest.raises(tt.Error, match=wrong):
            tt.write_table(tmp_path / "wrong", columns, index=index, bloom_filters=wrong)
    with pytest.raises(tt.Error, match="bloom_filters"):
        tt.write_table(tmp_path / "wrong", columns, index=index, bloom_filters=3)  # type: ignore[arg-type]


def test_an_index_has_the_methods_of_a_frame(index: tt.Index) -> None:
    assert index.shape == (20, 3)
    assert table_rows(index.head()) == [0, 1, 2, 3, 4]
    assert table_rows(index.head(2)) == [0, 1] and table_rows(index.head(-18)) == [0, 1] and len(index.head(99)) == 20
    with pytest.raises(tt.Invalid, match="rows: expected an integer, found str"):
        index.head("a")  # type: ignore[arg-type]
    statistics = index.describe(percentiles=[0.5])
    assert statistics.columns == ["statistic", *index.columns]
    assert dict(statistics.select("statistic", "pedestrians").iter_rows())["50%"] == 2
    assert index.describe(1)["statistic"].to_list()[-2:] == ["100%", "max"] and "50%" not in index.describe(None)["statistic"]
    for wrong in (2, [2]):
        with pytest.raises(tt.Invalid, match="percentiles.* range"):
            index.describe(wrong)
    for wrong, message in (("half", "percentiles: expected .*found str"), ([None], "percentiles: expected a number, found None")):
        with pytest.raises(tt.Invalid, match=message):
            index.describe(wrong)  # type: ignore[arg-type]


def test_select_keeps_the_rows_and_their_locators(index: tt.Index) -> None:
    for few in (index.select("timestamp", "log_id"), index.select(["timestamp", "log_id"]), index[["timestamp", "log_id"]]):
        assert few.columns == ["timestamp", "log_id"] and table_rows(few[3:5]) == [3, 4]
    made = index.select(cs.string(), twice=pl.col("pedestrians") * 2, mean=pl.col("pedestrians").mean())
    assert made.columns == ["log_id", "twice", "mean"]
    assert made["twice"].to_list()[:5] == [0, 2, 4, 6, 8] and made["mean"].to_list() == [2] * 20
    assert index.select(pl.all()).columns == index.columns and index.select().shape == (20, 0)
    assert table_rows(pickle.loads(pickle.dumps(made))[[7, 2]]) == [7, 2]
    with pytest.raises(tt.Invalid, match="select: .*length 2"):
        index.select(pl.col("timestamp").head(2))
    with pytest.raises(tt.NotFound, match='select: unable to find column "nothing"'):
        index.select(pl.col("nothing") + 1)
    with pytest.raises(tt.Invalid, match="select: expected names of columns or polars expressions, found int 3"):
        index.select(["timestamp", 3])  # type: ignore[list-item]


def test_an_index_has_columns_by_name(index: tt.Index) -> None:
    (locator,) = set(index.to_polars().columns) - set(index.columns)
    assert "timestamp" in index and locator in index
    assert "camera.jpeg" not in index and "weather" not in index and 3 not in index
    rows = tt.row_loader(index, columns=["timestamp", "labels.*"])
    windows = rows.get_windows([4, 5], offsets=[-1, 0])
    assert "labels.text" in windows and "camera.jpeg" not in windows and windows[1] in windows and 3 not in windows
    complete: Any
    for complete in (index, rows.take([3]), windows):
        assert all(len(complete[name]) for name in complete._ipython_key_completions_())
    assert index._ipython_key_completions_() == index.columns
    assert windows._ipython_key_completions_() == rows.take([3])._ipython_key_completions_() == ["timestamp", "labels.text"]


def test_errors_of_names_say_what_to_write(drives: str, index: tt.Index) -> None:
    for call in (lambda: index["camera.jpeg"], lambda: index.select("camera.jpeg"), lambda: tt.DataLoader(index, batch_size=4, balance_by="camera.jpeg")):
        with pytest.raises(KeyError, match=r"`camera.jpeg` is no index column: .*`tetrys.row_loader\(index, columns=\['camera.jpeg'\]\)`"):
            call()
    with pytest.raises(tt.NotFound, match="no index column `timestmp`: did you mean `timestamp`"):
        index["timestmp"]
    with pytest.raises(tt.NotFound, match="no index column `q`; there are: log_id, timestamp, pedestrians"):
        index["q"]
    with pytest.raises(tt.NotFound, match="`timestamp` of .* is not in this frame: name it in `columns` of `read_index`"):
        tt.read_index(drives, columns=["log_id"])["timestamp"]
    with pytest.raises(TypeError, match=r"index\[3\]: write `index\[\[3\]\]` .* `tetrys.row_loader\(index\)\[3\]`"):
        index[3]
    with pytest.raises(TypeError, match=r"`index.columns` lists its columns, `index.to_polars\(\).iter_rows\(\)`"):
        list(index)


def test_loaders_take_slices_of_rows_and_none_of_batches(index: tt.Index) -> None:
    rows = tt.row_loader(index, columns=["labels.*"])
    assert rows[4:1:-2]["labels.text"].tolist() == ["row 4", "row 2"] and rows[18:99].table_rows.tolist() == [18, 19] and len(rows[5:5]) == 0
    assert rows[np.int64(4)] == {"labels.text": "row 4"} and [row["labels.text"] for row in rows] == [None if row == 3 else f"row {row}" for row in range(20)]
    with pytest.raises(TypeError, match=r"found str 'labels.text': write `rows.take\(positions\)` .*`rows.get_row\(position, columns="):
        rows["labels.text"]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="rows by slice"):
        rows["a":"b"]  # type: ignore[misc]
    loader = tt.DataLoader(index, batch_size=8, columns=["labels.*"])
    for key in (0, slice(0, 3)):
        with pytest.raises(TypeError, match=r"`itertools.islice\(loader, 3\)`.* `tetrys.row_loader\(index\)\[0:3\]`"):
            loader[key]
    assert [len(batch["positions"]) for batch in loader] == [8, 8]


def test_sql_errors_name_the_table_of_the_rows(drives: str, index: tt.Index) -> None:
    for call in (index.sql, index.query):
        with pytest.raises(tt.Invalid, match="no table `drives` in the query: the rows of the index are the table `t`: write `SELECT .. FROM t`"):
            call("SELECT * FROM drives WHERE pedestrians > 3")
        with pytest.raises(tt.Invalid, match="unable to find column"):
            call("SELECT nothing FROM t")
    with pytest.raises(tt.Invalid, match="no table `nowhere` in the query: the rows of the lazy index are the table `self`"):
        tt.scan_index(drives).sql("SELECT * FROM nowhere").collect_index()
