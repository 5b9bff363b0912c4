"""Written values are read back, whatever type they were given as."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NUMBERS = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


def fixed(rows: int) -> st.SearchStrategy[np.ndarray]:
    return st.tuples(st.sampled_from(NUMBERS), shapes).flatmap(lambda one: hnp.arrays(one[0], (rows, *one[1])))


def ragged(rows: int) -> st.SearchStrategy[list[Any]]:
    def of(dtype: str, trailing: tuple[int, ...]) -> st.SearchStrategy[list[Any]]:
        array = st.integers(0, 3).flatmap(lambda extent: hnp.arrays(dtype, (extent, *trailing)))
        # At least one array defines the type of the column.
        return st.tuples(array, st.lists(st.none() | array, min_size=rows - 1, max_size=rows - 1)).map(lambda one: [one[0], *one[1]])

    trailing = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    return st.tuples(st.sampled_from(NUMBERS), trailing).flatmap(lambda one: of(*one))


def values(rows: int, of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.tuples(of, st.lists(st.none() | of, min_size=rows - 1, max_size=rows - 1)).map(lambda one: [one[0], *one[1]])


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(st.integers(1, 12))
    kinds = st.one_of(
        fixed(rows), ragged(rows), values(rows, text), values(rows, st.binary(max_size=9)), values(rows, st.lists(text, min_size=1, max_size=3))
    )
    columns = draw(st.lists(kinds, min_size=1, max_size=4))
    return {"row": np.arange(rows)} | {f"{'ab'[place % 2]}.{place}": column for place, column in enumerate(columns)}


def same(found: Any, expected: Any) -> None:
    if expected is None or isinstance(expected, (str, list)):
        assert found == expected
    elif isinstance(expected, bytes):
        assert found.dtype == np.uint8 and bytes(found) == expected
    else:
        found = np.asarray(found)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        # The bits of NaN are kept.
        assert found.tobytes() == expected.tobytes()


@given(tables(), st.sampled_from(["fast", "balanced", "compact"]), st.data())
def test_a_table_is_a_dict_of_columns(tmp_path: Path, columns: dict[str, Any], preset: str, data: st.DataObject) -> None:
    url = str(tmp_path / uuid.uuid4().hex)
    table = tt.write_table(url, columns, index=["row"], preset=preset)
    rows, names = len(columns["row"]), [name for name in columns if name != "row"]
    assert len(table) == rows
    index = tt.read_index(table)
    order = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=8), label="order")
    loader = tt.row_loader(index[order])
    for position, row in enumerate(order):
        found = loader.get_row(position)
        assert set(found) == set(names)
        for name in names:
            same(found[name], columns[name][row])
    taken = loader.take(range(len(order)))
    for name in names:
        for position, row in enumerate(order):
            if taken.valid(name)[position]:
                same(taken[name][position], columns[name][row])
            else:
                assert columns[name][row] is None
    offsets = data.draw(st.lists(st.integers(-rows, rows), min_size=1, max_size=5), label="offsets")
    window = loader.get_rows(0, offsets=offsets)
    there = [0 <= order[0] + offset < rows for offset in offsets]
    assert list(window.mask) == there
    for name in names:
        for place, offset in enumerate(offsets):
            expected = columns[name][order[0] + offset] if there[place] else None
            same(window.row(place)[name], expected)


FRAME = pl.DataFrame(
    {
        "host": pl.Series(["a", "a", None], dtype=pl.Categorical),
        "day": pl.Series([0, 1, 2], dtype=pl.Date),
        "c.text": ["one", None, "three"],
        "c.list": [["x"], [], None],
        "n.vector": pl.Series([[1.0, 2.0], [3.0, 4.0], None], dtype=pl.Array(pl.Float32, 2)),
        "n.ragged": pl.Series([[1], [], [2, 3]], dtype=pl.List(pl.Int16)),
        "n.when": pl.Series([1, 2, 3], dtype=pl.Datetime("us", "UTC")),
    }
)


@pytest.mark.parametrize("frame", [FRAME, FRAME.to_arrow(), FRAME.to_arrow().to_reader()], ids=["polars", "pyarrow", "batches"])
def test_a_frame_of_any_library_is_written(tmp_path: Path, frame: Any) -> None:
    table = tt.write_table(str(tmp_path / "frame"), frame, index=["host", "day"])
    assert table.index_columns == [("host", "categorical"), ("day", "date")]
    types = {name: ty for _, columns in table.groups for name, ty in columns}
    assert types == {
        "c.text": "utf8",
        "c.list": "list<utf8>",
        "n.vector": "f32[2]",
        "n.ragged": "i16[?]",
        "n.when": "timestamp[us,UTC]",
    }
    index = tt.read_index(table)
    assert index.to_polars()["host"].cast(pl.String).to_list() == ["a", "a", None]
    assert index.to_polars()["day"].equals(FRAME["day"])
    rows = tt.row_loader(index).take([0, 1, 2])
    assert list(rows["c.text"]) == ["one", None, "three"]
    assert list(rows["c.list"]) == [["x"], [], None]
    assert rows["n.vector"].tolist() == [[1, 2], [3, 4], [0, 0]] and list(rows.valid("n.vector")) == [True, True, False]
    assert [row.tolist() for row in rows["n.ragged"]] == [[1], [], [2, 3]]
    assert rows["n.when"].astype(np.int64).tolist() == [1, 2, 3]


ROWS = pl.DataFrame({"i": [1, 2, 3], "a.x": [1.5, None, 3.5], "a.text": ["x", None, "z"]})


@pytest.mark.parametrize("frame", [ROWS, ROWS.to_arrow(), ROWS.to_pandas()], ids=["polars", "pyarrow", "pandas"])
def test_a_frame_without_rows_has_columns(tmp_path: Path, frame: Any) -> None:
    none = frame[:0]
    table = tt.write_table(tmp_path / "t", none, index="i")
    assert (len(table), table.groups) == (0, [("a", [("a.x", "f64"), ("a.text", "utf8")])])
    table = table.append(none).append(frame).append([none, none])
    assert tt.row_loader(table).take([0, 2])["a.x"].tolist() == [1.5, 3.5] and len(table) == 3
    assert len(table.patch(none, on="i")) == 3
    assert (len(table.overwrite(none)), table.overwrite(none).groups) == (0, table.groups)


@pytest.mark.parametrize(
    "parts",
    [
        pl.concat([ROWS[:1], ROWS[1:]], rechunk=False),
        pa.concat_tables([ROWS.to_arrow()[:1], ROWS.to_arrow()[1:]]),
        pa.RecordBatchReader.from_batches(ROWS.to_arrow().schema, ROWS.to_arrow().to_batches(max_chunksize=2)),
    ],
    ids=["polars", "pyarrow", "batches"],
)
def test_a_patch_is_a_frame_of_any_number_of_chunks(tmp_path: Path, parts: Any) -> None:
    table = tt.write_table(tmp_path / "t", {"i": [3, 1, 2, 0], "a.x": np.zeros(4), "a.text": ["old"] * 4}, index="i")
    rows = tt.row_loader(table.patch(parts, on="i")).take(range(4))
    assert (list(rows["a.text"]), rows["a.x"].tolist(), rows.valid("a.x").tolist()) == (["z", "x", None, "old"], [3.5, 1.5, 0, 0], [True, True, False, True])


@pytest.mark.parametrize("times", [[0, 1], [5, 9], [5, 9, 100], [7]])
def test_row_labels_of_pandas_with_a_name_are_a_column(tmp_path: Path, times: list[int]) -> None:
    """pandas makes a range of evenly spaced labels, and exports no range."""
    frame = pd.DataFrame({"time": times, "a.x": np.arange(len(times)) * 0.5})
    table = tt.write_table(tmp_path / "t", frame.set_index("time"), index="time").append(frame.set_index("time"))
    assert tt.read_index(table)["time"].to_list() == times * 2
    assert tt.write_table(tmp_path / "without", frame, index="time").index_columns == [("time", "i64")]
    with pytest.raises(tt.Invalid, match="time"):
        tt.write_table(tmp_path / "both", frame.rename_axis("time"), index="time")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pa.table([[0], [1.5], [2.5]], names=["i", "a.x", "a.x"]), "column `a.x` is in the frame twice"),
        (pa.chunked_array([pa.array([{"i": 1, "a.x": 1.5}]), pa.array([{"i": 2, "a.x": 2.5}, None])]), "row 2 of the frame is null"),
        (pl.Series("i", [1]), "expected a frame, found a single column"),
        (pa.chunked_array([[1]]), "expected a frame, found a single column"),
        (pl.DataFrame(), "index columns that do not exist: i"),
        (pl.LazyFrame({"i": [1]}), "found LazyFrame"),
        (np.zeros(2, [("i", "i8")]), "found void"),
    ],
)
def test_what_is_no_frame_of_named_columns_is_refused(tmp_path: Path, frame: Any, message: str) -> None:
    with pytest.raises(tt.Invalid, match=message):
        tt.write_table(tmp_path / "t", frame, index="i")
    table = tt.write_table(tmp_path / "old", {"i": [0], "a.x": [0.5]}, index="i")
    for change in (table.append, table.overwrite, lambda data: table.patch(data, on="i"), lambda data: table.replace_group("a", data, on="i")):
        with pytest.raises(tt.Invalid):
            change(frame)
    assert tt.open_table(tmp_path / "old").version == 1


@pytest.mark.parametrize("ty", ["f32[?,a]", "f32[", "f32[2,]", "f32[-1]", "list<f32[>", "[2]", "", "decimal", "f32[99999999999]"])
def test_a_declared_type_is_read_before_the_values(tmp_path: Path, ty: str) -> None:
    values: list[Any] = [[np.zeros(0, np.float32)], [[]], [None], [1.5], np.zeros((1, 2)), pl.Series([[1.5]])]
    for value in values:
        with pytest.raises(tt.Unsupported, match="column `a.x`: column type `.*expected one of"):
            tt.write_table(tmp_path / "t", {"i": [0], "a.x": value}, index="i", schema={"a.x": ty})


def test_a_column_of_nulls_of_any_library_takes_the_type_of_the_table(tmp_path: Path) -> None:
    table = tt.write_table(tmp_path / "t", {"i": [0], "a.x": [[1.5]], "a.text": ["x"]}, index="i")
    for frame in (pl.DataFrame({"i": [1], "a.x": [None], "a.text": [None]}), pa.table({"i": [1], "a.x": [None], "a.text": [None]}), {"i": [1], "a.x": pl.Series([None]), "a.text": [None]}):
        table = table.append(frame)
    rows = tt.row_loader(table).take(range(4))
    assert rows.valid("a.x").tolist() == rows.valid("a.text").tolist() == [True, False, False, False]


def test_columns_of_arrow_stand_beside_arrays(tmp_path: Path) -> None:
    columns = {"i": [1, 2], "a.polars": pl.Series(["x", None]), "a.arrow": pa.chunked_array([[1.5], [None]])}
    rows = tt.row_loader(tt.Table(tt.write_table(str(tmp_path / "t"), columns, index=["i"]).url)).take([0, 1])
    assert (list(rows["a.polars"]), list(rows["a.arrow"]), list(rows.valid("a.arrow"))) == (["x", None], [1.5, 0.0], [True, False])


def test_types_groups_and_properties_are_declared(tmp_path: Path) -> None:
    columns = {"i": [1, 2], "x": [[1, 2], [3]], "y": [None, None], "z": np.array([1, 2])}
    table = tt.write_table(
        str(tmp_path / "t"),
        columns,
        index=["i"],
        schema={"i": "i16", "x": "list<u8>", "y": "f16[?,2]", "z": "f32"},
        groups={"both": ["x", "y"]},
        properties={"labels": "v7"},
    )
    assert (table.index_columns, table.properties) == ([("i", "i16")], {"labels": "v7"})
    assert table.groups == [("both", [("x", "list<u8>"), ("y", "f16[?,2]")]), ("z", [("z", "f32")])]
    row = tt.row_loader(tt.read_index(table))[0]
    assert (row["x"].dtype, row["x"].tolist(), row["y"], row["z"].dtype) == (np.uint8, [1, 2], None, np.float32)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([None, None], "declare it"),
        ([object(), None], "expected numbers, text"),
        ([np.zeros(2), np.zeros((2, 2))], r"arrays of \[1, 2\] dimensions"),
        (["a", 1], "column `a.x`"),
        (np.zeros(2, "c8"), "no column type for numpy's complex64"),
        (np.zeros(3), "column `a.x` has 3 rows, the first column 2"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(tmp_path: Path, column: Any, message: str) -> None:
    with pytest.raises(tt.Invalid, match=message):
        tt.write_table(str(tmp_path / "t"), {"i": [1, 2], "a.x": column}, index=["i"])
    with pytest.raises(tt.NotFound):
        tt.Table(str(tmp_path / "t"))


def test_a_number_that_does_not_fit_is_refused_and_not_wrapped(tmp_path: Path) -> None:
    for value, declared in ((300, "u8"), (-1, "u64"), (1.5, "i64")):
        with pytest.raises(tt.Invalid, match=f"does not fit {declared}"):
            tt.write_table(str(tmp_path / "t"), {"i": [0], "a.x": [value]}, index=["i"], schema={"a.x": declared})


def test_batches_are_written_one_after_the_other(tmp_path: Path) -> None:
    done: list[int] = []
    batches = ({"i": np.arange(start, start + 3), "a.x": [np.full(start, start)] * 3} for start in (0, 3, 6))
    table = tt.write_table(str(tmp_path / "t"), batches, index=["i"], progress=done.append)
    assert (len(table), done) == (9, [3, 6, 9])
    assert tt.row_loader(table)[8]["a.x"].tolist() == [6] * 6


def test_partitions_are_written_by_many_threads_and_their_receipts_pickled(tmp_path: Path) -> None:
    writer = tt.Writer(str(tmp_path / "t"), schema={"i": "i64", "a.x": "f32[2]"}, index=["i"])
    writer.attach("map", b"roads")
    partitions = [writer.partition() for _ in range(4)]

    def write(number: int) -> bytes:
        for start in (0, 5):
            rows = np.arange(start, start + 5) + number * 10
            partitions[number].write({"i": rows, "a.x": np.stack([rows, rows], axis=1).astype(np.float32)})
        return pickle.dumps(partitions[number].finish())

    with ThreadPoolExecutor(4) as threads:
        receipts = [pickle.loads(receipt) for receipt in threads.map(write, range(4))]
    assert (receipts[1].partition, receipts[1].rows) == (1, 10)
    table = writer.commit(reversed(receipts))
    assert table.attachment("map") == b"roads"
    rows = tt.row_loader(table).take(range(40))
    np.testing.assert_array_equal(rows["a.x"][:, 0], np.arange(40))
    with pytest.raises(tt.Invalid, match="committed"):
        writer.partition()


def test_a_missing_receipt_is_named(tmp_path: Path) -> None:
    writer = tt.Writer(str(tmp_path / "t"), schema={"i": "i64", "a.x": "f32"}, index=["i"])
    first, second = writer.partition(), writer.partition()
    first.write({"i": [1], "a.x": [1]})
    second.write({"i": [2], "a.x": [2]})
    with pytest.raises(tt.Invalid, match="1"):
        writer.commit([first.finish()])


def test_a_level_5_data_set_is_taken_in(tmp_path: Path) -> None:
    source = os.environ.get("TETRYS_L5")
    assert source is not None, "TETRYS_L5 names a generated data set"
    done: list[int] = []
    table = tt.ingest_l5(source, str(tmp_path / "scenes"), workers=1, progress=done.append)
    assert (len(table), max(done)) == (40, 40)
    loader = tt.row_loader(tt.read_index(table))
    history = loader.get_rows(22, columns=["agents.pose.*"], offsets=range(-10, 1))
    assert history.mask.sum() == 3
    centroid = history["agents.pose.centroid"]
    assert centroid.values.shape == (centroid.offsets[-1], 2)


def test_columns_have_presets_of_their_own_and_may_be_declared_without_nulls(tmp_path: Path) -> None:
    rows = {"i": np.arange(4000), "a.x": np.arange(4000) * 0.5, "a.y": np.arange(4000) * 0.5}
    options: dict[str, Any] = {"index": ["i"], "preset": "compact", "presets": {"a.x": "fast"}, "required": ["a.y"]}
    table = tt.write_table(str(tmp_path / "t"), rows, **options)
    fast = tt.write_table(str(tmp_path / "fast"), rows, index=["i"], preset="fast")
    (own,), (all_fast,) = (one.info()["column_groups"] for one in (table, fast))
    assert own["codecs"][0] == all_fast["codecs"][0] and own["codecs"][1] != all_fast["codecs"][1]
    assert table.column_properties("a.y") == {"tetrys.nullable": False}
    with pytest.raises(tt.Invalid, match="column `a.y`: row 1 of the batch is null"):
        table.append({"i": [1, 2], "a.x": [1.0, None], "a.y": [1.0, None]})
    with pytest.raises(tt.Invalid, match="column `a.x`: its property `tetrys.preset`"):
        tt.write_table(str(tmp_path / "wrong"), rows, index=["i"], presets={"a.x": "quick"})


ROW_DICTS: list[dict[str, Any]] = [
    {"log": "a", "time": time, "lidar.points": np.full((time + 1, 4), time, np.float32), "note.text": f"row {time}"} for time in range(5)
]


def test_rows_as_dicts_are_the_table_of_their_columns(tmp_path: Path) -> None:
    columns = {name: [row[name] for row in ROW_DICTS] for name in ROW_DICTS[0]}
    expected = tt.write_table(tmp_path / "columns", columns, index=["log", "time"])
    made = tt.write_table(tmp_path / "rows", ROW_DICTS, index=["log", "time"])
    streamed = tt.write_table(tmp_path / "streamed", (row for row in ROW_DICTS), index=["log", "time"])
    for table in (made, streamed):
        assert table.groups == expected.groups and table.index_columns == expected.index_columns
        found = tt.row_loader(table).take(range(5))
        assert [one.tolist() for one in found["lidar.points"]] == [row["lidar.points"].tolist() for row in ROW_DICTS]
        assert found["note.text"].tolist() == columns["note.text"]


def test_an_iterator_of_rows_is_written_in_batches(tmp_path: Path) -> None:
    given: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for time in range(9):
            given.append(time)
            yield {"time": time, "camera.raw": np.zeros(1 << 20, np.uint8)}

    written: list[tuple[int, int]] = []
    table = tt.write_table(tmp_path / "t", rows(), index=["time"], progress=lambda rows: written.append((rows, len(given))))
    assert written == [(4, 4), (8, 8), (9, 9)] and len(table) == 9


def test_values_that_rows_lack_are_null(tmp_path: Path) -> None:
    rows = [ROW_DICTS[0], *({name: value for name, value in row.items() if name != "note.text"} for row in ROW_DICTS[1:])]
    table = tt.write_table(tmp_path / "t", rows, index=["log", "time"], schema={"note.score": "f32"})
    assert tt.row_loader(table).take([0, 1])["note.text"].tolist() == ["row 0", None]
    assert tt.row_loader(table)[0]["note.score"] is None
    table = table.append([{"log": "a", "time": 5}, {}][:1])
    assert tt.row_loader(table)[5] == {"lidar.points": None, "note.text": None, "note.score": None}
    table = table.append(row for row in [{"log": "a", "time": 6, "note.text": "new"}])
    assert tt.row_loader(table).get_row(6, ["note.text"]) == {"note.text": "new"}
    table = table.add_group("labels", ({"time": 6 - row, "labels.count": row} for row in range(7)), on="time")
    assert tt.row_loader(table).take([0, 6])["labels.count"].tolist() == [6, 0]
    table = table.replace_group("labels", [{"labels.count": row} for row in range(7)])
    assert tt.row_loader(table).take([0, 6])["labels.count"].tolist() == [0, 6]
    table = table.patch([{"time": 1, "labels.count": 10}, {"time": 3, "labels.count": None}], on="time")
    assert tt.row_loader(table).take(range(5), ["labels.*"]).valid("labels.count").tolist() == [True, True, True, False, True]
    assert len(table.overwrite([{"log": "b", "time": 1}])) == 1
    with tt.Writer(tmp_path / "w", schema={"time": "i64", "a.x": "f32[2]"}, index=["time"]).partition() as partition:
        partition.write([{"time": 0, "a.x": [1, 2]}, {"time": 1}])
        partition.write({"time": [2], "a.x": [[3, 4]]})
    assert partition.receipt.rows == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROW_DICTS, {"log": "a", "tme": 6}], "row 5: no column `tme`: .*: log, time, lidar.points, note.text; give the first row"),
        ([*ROW_DICTS, 7], "row 5: expected a dict, as the first row is, found int 7"),
        ([{"time": 1, 7: 2}], "row 0, a column: expected text, found int 7"),
        ([{"time": 1}, {"time": [2]}], "column `time`: lists and numbers in one column"),
    ],
)
def test_uneven_rows_are_refused_with_their_number(tmp_path: Path, rows: list[Any], message: str) -> None:
    for data in (rows, iter(rows)):
        with pytest.raises(tt.Error, match=message):
            tt.write_table(tmp_path / "t", data, index=["time"])


def test_the_first_dict_decides_between_rows_and_batches(tmp_path: Path) -> None:
    batches = [{"time": [0, 1], "a.x": [[1.0], [2.0, 3.0]]}, {"time": [2], "a.x": [[4.0]]}]
    assert len(tt.write_table(tmp_path / "batches", batches, index=["time"])) == 3
    rows = [{"time": np.array(0), "a.x": [1.0, 2.0]}, {"time": np.int64(1), "a.x": [3.0]}]
    assert len(tt.write_table(tmp_path / "rows", rows, index=["time"])) == 2
    with pytest.raises(tt.Invalid, match="column `time`: expected a list or an array"):
        tt.write_table(tmp_path / "t", {"time": 1, "a.x": [1.0]}, index=["time"])


def test_a_patch_by_rows_changes_the_same_columns_in_all_rows(tmp_path: Path) -> None:
    table = tt.write_table(tmp_path / "t", ROW_DICTS, index=["log", "time"])
    with pytest.raises(tt.Invalid, match="row 1: column `note.text` is missing, and the first row has it"):
        table.patch([{"time": 1, "note.text": "new"}, {"time": 2}], on="time")
    with pytest.raises(tt.Invalid, match="a list of row dicts, found no batches"):
        table.patch([], on="time")
    assert table.patch(iter([{"time": 1, "note.text": "new"}]), on="time").version == 2


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_rows_beyond_the_bound_of_a_partition_become_several_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr("tetrys._data.PARTITION_ROWS", 10)
    logs = ["a"] * 3 + ["b"] * 30 + ["c"] * 6 + ["d"] * 2
    frame = pl.DataFrame({"log": logs, "time": range(len(logs)), "a.x": [row * 0.5 for row in range(len(logs))]})
    batches = [frame.slice(first, batch) for first in range(0, len(logs), batch)]
    counts: list[int] = []
    layout: dict[str, Any] = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"]}
    table = tt.write_table(tmp_path / "t", batches, progress=counts.append, **layout)
    assert counts[-1] == len(table) == len(logs)
    loader = tt.row_loader(table)
    assert loader.take(range(len(logs)))["a.x"].tolist() == frame["a.x"].to_list()
    for row, log in enumerate(logs):
        valid = loader.get_rows(row, offsets=[-1, 0, 1]).mask.tolist()
        assert valid == [0 <= row + step < len(logs) and logs[row + step] == log for step in (-1, 0, 1)]
    more = frame.with_columns(log=pl.lit("e"))
    assert len(table.append(more)) == 2 * len(logs)
    assert tt.open_table(tmp_path / "t").overwrite(frame, **layout).version == 3
    monkeypatch.setattr("tetrys._data.PARTITION_ROWS", 0)
    with pytest.raises(tt.Invalid, match="rows of a partition: expected 1 to 4194304, found 0"):
        tt.write_table(tmp_path / "none", frame, index=["log", "time"])
