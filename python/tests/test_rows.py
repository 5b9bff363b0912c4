"""Rows and windows as numpy arrays."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from conftest import points
from tetrys import cluster
from tetrys.petastorm import make_reader


def address(array: np.ndarray) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def test_a_row_is_a_dict_of_arrays(index: tt.Index) -> None:
    row = tt.row_loader(index.filter(pl.col("pedestrians") > 3)).get_row(1)
    assert list(row) == ["lidar.points", "camera.intrinsics", "camera.jpeg", "labels.text"]
    np.testing.assert_array_equal(row["lidar.points"], points(9), strict=True)
    np.testing.assert_array_equal(row["camera.intrinsics"], np.arange(81.0, 90.0).reshape(3, 3), strict=True)
    assert (row["camera.jpeg"].dtype, bytes(row["camera.jpeg"]), row["labels.text"]) == (np.uint8, b"\t" * 9, "row 9")


def test_null_is_none_and_not_empty(index: tt.Index) -> None:
    loader = tt.row_loader(index)
    assert loader[7]["lidar.points"] is None
    assert loader[8]["lidar.points"].shape == (0, 4)
    assert loader[3]["labels.text"] is None
    assert loader[0]["camera.jpeg"].shape == (0,)


def test_a_window_stays_in_its_sequence(index: tt.Index) -> None:
    loader = tt.row_loader(index)
    history = loader.get_rows(12, columns=["lidar.*", "*.intrinsics"], offsets=range(-4, 1))
    assert list(history.mask) == [False, False, True, True, True]
    assert list(history.table_rows) == [-1, -1, 10, 11, 12]
    assert history["camera.intrinsics"].shape == (5, 3, 3)
    assert not history["camera.intrinsics"][:2].any()
    ragged = history["lidar.points"]
    assert list(ragged.offsets) == [0, 0, 0, 2, 5, 5]
    np.testing.assert_array_equal(ragged.values, np.concatenate([points(10), points(11)]), strict=True)
    assert ragged[0] is None and ragged[-1].shape == (0, 4)
    assert [None if row is None else row.shape for row in ragged] == [None, None, (2, 4), (3, 4), (0, 4)]
    assert ragged.shapes[2:].tolist() == [[2, 4], [3, 4], [0, 4]]


def test_windows_by_text_list_time_and_edge(index: tt.Index) -> None:
    loader = tt.row_loader(index)
    for offsets in (range(-4, 1, 2), [-4, -2, 0], "-4..=0/2"):
        assert list(loader.get_rows(14, offsets=offsets).table_rows) == [10, 12, 14]
    by_time = tt.times("timestamp", ["-210ms", "0ms"], tolerance="20ms")
    assert list(loader.get_rows(14, offsets=by_time).table_rows) == [12, 14]
    assert len(tt.row_loader(index, edge="skip").get_rows(12, offsets=range(-4, 1))) == 3
    with pytest.raises(tt.Invalid):
        tt.row_loader(index, edge="error").get_rows(12, offsets=range(-4, 1))
    first, second = loader.get_windows([2, 12], ["labels.*"], offsets=range(-1, 1))
    assert (list(first["labels.text"]), list(second["labels.text"])) == (["row 1", "row 2"], ["row 11", "row 12"])


def test_rows_are_a_mapping_and_an_arrow_table(index: tt.Index) -> None:
    rows = tt.row_loader(index).take([9, 0, 9])
    assert list(rows) == rows.keys() == list(dict(rows.items()))
    assert ("labels.text" in rows, "labels" in rows, len(rows)) == (True, False, 3)
    with pytest.raises(KeyError):
        rows["labels"]
    assert pa.table(rows)["labels.text"].to_pylist() == ["row 9", "row 0", "row 9"]
    assert rows.row(1)["labels.text"] == "row 0"
    assert repr(rows).startswith("Rows: 3 of which 3 exist; lidar.points: f32[?,4], ")


def test_every_column_type_is_taken_by_pyarrow_and_written_again(tmp_path: object) -> None:
    """Tensors of variable shape are exported as a struct: pyarrow rejects Arrow's extension type for them with 64-bit offsets."""
    data = {
        "i": np.arange(3),
        "t.points": [np.arange(8.0).reshape(2, 4), None, np.zeros((0, 4))],
        "t.image": [np.arange(6, dtype=np.uint8).reshape(1, 2, 3), np.zeros((2, 0, 3), np.uint8), None],
        "t.half": [np.ones(2, np.float16), None, np.zeros(1, np.float16)],
        "t.matrix": np.arange(12.0).reshape(3, 2, 2),
        "t.lists": [["a"], None, []],
        "t.bytes": [b"a", None, b""],
        "t.flags": np.array([[True, False]] * 3),
    }
    rows = tt.row_loader(tt.write_table(f"{tmp_path}/one", data, index=["i"])).take([0, 1, 2])
    table = pa.table(rows)
    assert table["t.points"].to_pylist() == [{"data": list(range(8)), "shape": [2, 4]}, None, {"data": [], "shape": [0, 4]}]
    assert table["t.image"].null_count == 1 and table["t.image"].type.field("data").type == pa.large_list(pa.uint8())
    batches = table.append_column("i", pa.array([0, 1, 2]))
    again = tt.row_loader(tt.write_table(f"{tmp_path}/two", batches, index=["i"], schema={"t.points": "f64[?,4]"})).take([0, 1, 2])
    for row in range(3):
        found, expected = again.row(row), rows.row(row)
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, strict=isinstance(value, np.ndarray))


def test_a_scan_gives_all_rows_in_order(index: tt.Index) -> None:
    batches = list(tt.row_loader(index).scan(batch_size=7, columns=["labels.*"]))
    assert [len(batch) for batch in batches] == [7, 7, 6]
    assert [row for batch in batches for row in batch.table_rows] == list(range(20))


def test_threads_that_share_an_iterator_get_every_item_once(tmp_path: Path) -> None:
    table = tt.write_table(tmp_path / "t", {"i": np.arange(600), "a.x": np.arange(600)}, index="i")
    loader = tt.row_loader(table)
    (split,) = cluster.plan_read(table, splits=1)
    loaders = [tt.DataLoader(table, batch_size=2, seed=3, transform=transform) for transform in (None, dict)]
    shared: list[tuple[Iterator[Any], Callable[[Any], list[int]]]] = [
        (loader.scan(batch_size=2), lambda rows: rows["a.x"].tolist()),
        (loader.rows(range(600), ahead=2), lambda row: [int(row["a.x"])]),
        (cluster.read(split, batch_bytes=64), lambda batch: batch["a.x"].to_pylist()),
        *((iter(batches), lambda batch: batch["a.x"].tolist()) for batches in [*loaders, tt.mix(loaders[:1], weights=[1], samples=600)]),
        (make_reader(table, shuffle_row_groups=False), lambda row: [int(row.a_x)]),
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for iterator, of in shared:
                together = threading.Barrier(4)

                def work(_: int) -> list[int]:
                    together.wait()
                    return [value for item in iterator for value in of(item)]

                found = [value for part in threads.map(work, range(4)) for value in part]
                assert sorted(found) == list(range(600)), iterator
    finally:
        sys.setswitchinterval(interval)


def test_what_cannot_be_pickled_says_what_can(index: tt.Index, drives: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, loader = tt.open_table(drives), tt.row_loader(index)
    writer = tt.Writer(tmp_path / "t", schema={"i": "i64"}, index="i")
    (split,) = cluster.plan_read(table, splits=1)
    for thing, what, instead in [
        (loader.scan(), "a scan", "pickle the row loader, and call `scan`"),
        (loader.rows([0]), "an iterator over rows", "pickle the row loader, and call `rows`"),
        (cluster.read(split), "an iterator over the batches of a split", "pickle the split"),
        (iter(tt.DataLoader(index, batch_size=4)), "an iterator of a data loader", "pickle the data loader"),
        (iter(tt.DataLoader(index, batch_size=4, transform=dict)), "an iterator of a data loader", "pickle the data loader"),
        (table.diff(table), "the differences of two tables", "pickle `to_dict()`"),
        (writer, "a writer", "pickle what `task` returns"),
        (writer.partition(), "a partition", "pickle what `Writer.task` returns"),
    ]:
        for call in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=re.escape(f"{what} cannot be pickled: {instead}")) as caught:
                call(thing)
            assert isinstance(caught.value, tt.Invalid)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(tt.Unsupported, match="pip install cloudpickle, or call `scan_index`"):
        pickle.dumps(tt.scan_index(drives).filter(pl.col("pedestrians") > 3))
    # polars needs no other library for the index of a view, which is in memory.
    view = index.filter(pl.col("pedestrians") > 3).save(tmp_path / "view")
    again = pickle.loads(pickle.dumps(tt.scan_index(view).filter(timestamp=400)))
    assert isinstance(again, tt.LazyIndex) and again.collect_index()["timestamp"].to_list() == [400]


def test_explain_says_what_a_read_costs(index: tt.Index) -> None:
    cost = tt.row_loader(index).explain(12, ["lidar.*"], offsets=range(-2, 1))
    assert (cost["ranges"], cost["requests"], cost["hops"]) == (1, 1, 1)
    assert [group["name"] for group in cost["groups"]] == ["lidar"]
    assert tt.row_loader(index).explain([0, 19])["bytes"] >= cost["payload_bytes"]


def test_numbers_are_views_of_what_was_read(index: tt.Index) -> None:
    rows = tt.row_loader(index).take(range(20))
    table = pa.table(rows)
    cameras = table["camera.intrinsics"].chunk(0)
    assert address(rows["camera.intrinsics"]) == cameras.storage.values.buffers()[1].address
    assert address(rows["camera.intrinsics"]) == address(rows["camera.intrinsics"])
    ragged = rows["lidar.points"]
    assert address(ragged.values) == address(rows["lidar.points"].values)
    assert address(ragged[2]) == address(ragged.values) + int(ragged.offsets[2]) * 16
    row = rows.row(5)
    assert address(row["camera.intrinsics"]) == address(rows["camera.intrinsics"]) + 5 * 72
    assert address(row["camera.jpeg"]) == address(rows["camera.jpeg"].values) + sum(range(5))
    assert not row["camera.intrinsics"].flags.writeable


def test_other_libraries_look_at_the_same_memory(index: tt.Index) -> None:
    array = tt.row_loader(index).get_row(4)["camera.intrinsics"]
    assert address(np.from_dlpack(array)) == address(array)
    assert pa.py_buffer(array).address == address(array)


def test_a_view_outlives_its_rows(index: tt.Index) -> None:
    array = tt.row_loader(index).get_row(4, ["*.intrinsics"])["camera.intrinsics"]
    for _ in range(50):
        tt.row_loader(index).get_row(5)
    np.testing.assert_array_equal(array, np.arange(36.0, 45.0).reshape(3, 3))


def test_every_type_comes_back_as_numpy_has_it(tmp_path: object) -> None:
    days = np.array(["2024-02-29", "1969-12-31"], "M8[D]")
    data = {
        "i": np.arange(2),
        "t.bool": np.array([True, False]),
        "t.bools": np.array([[True, False, True], [False, False, True]]),
        "t.f16": np.array([1.5, np.inf], np.float16),
        "t.bf16": np.array([1.5, -2], ml_dtypes.bfloat16),
        "t.days": days,
        "t.ns": days.astype("M8[ns]"),
        "t.ms": np.array([5, -7], "m8[ms]"),
        "t.u64": np.array([2**64 - 1, 0], np.uint64),
        "t.empty": np.zeros((2, 0, 3), np.int8),
    }
    tt.write_table(f"{tmp_path}/types", data, index=["i"])
    rows = tt.row_loader(tt.read_index(f"{tmp_path}/types")).take([0, 1])
    for name, values in data.items():
        if name != "i":
            np.testing.assert_array_equal(rows[name], values, strict=True)
            assert rows[name].dtype == values.dtype
            np.testing.assert_array_equal(rows.row(1)[name], values[1])


def test_null_numbers_are_zero_and_said_to_be_null(tmp_path: object) -> None:
    tt.write_table(f"{tmp_path}/nulls", {"i": [0, 1], "a.speed": [None, 2.5], "a.when": pl.Series([None, 5], dtype=pl.Duration("us"))}, index=["i"])
    rows = tt.row_loader(tt.read_index(f"{tmp_path}/nulls")).take([0, 1])
    assert (list(rows["a.speed"]), list(rows.valid("a.speed"))) == ([0.0, 2.5], [False, True])
    assert np.isnat(rows["a.when"][0]) and rows["a.when"][1] == np.timedelta64(5, "us")
    assert rows.row(0) == {"a.speed": None, "a.when": None}


NULL_ELEMENTS: dict[str, tuple[Any, list[Any]]] = {
    "i8[2]": (pa.array([[1, None], [3, 4], None], pa.list_(pa.int8(), 2)), [[1, None], [3, 4], None]),
    "f32[2,2]": (np.ma.masked_array(np.ones((3, 2, 2), np.float32), [[[0, 1], [0, 0]]] + [[[0, 0], [0, 0]]] * 2), [[[1, None], [1, 1]], [[1, 1], [1, 1]], [[1, 1], [1, 1]]]),
    "bool[1]": (pa.array([[None], [True], None], pa.list_(pa.bool_(), 1)), [[None], [True], None]),
    "i64[?]": ([[2**60 + 1, None], [], None], [[2**60 + 1, None], [], None]),
    "f64[?,2]": ([np.ma.masked_array([[1.0, 2.0]], [[True, False]]), np.zeros((0, 2)), None], [[[None, 2.0]], [], None]),
    "list<u8>": ([[None, 7], [8], None], [[None, 7], [8], None]),
    "list<i16[?]>": ([[[1, None], [2]], [], None], [[[1, None], [2]], [], None]),
    "bf16[1]": (np.ma.masked_array(np.ones((3, 1), ml_dtypes.bfloat16), [[1], [0], [0]]), [[None], [1], [1]]),
}


def nested(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else [nested(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("ty", NULL_ELEMENTS)
def test_null_elements_of_tensors_and_lists_are_masked_and_never_zero(tmp_path: Path, ty: str) -> None:
    values, expected = NULL_ELEMENTS[ty]
    table = tt.write_table(tmp_path / "t", {"i": [0, 1, 2], "a.x": values}, index="i", schema={"a.x": ty})
    loader = tt.row_loader(table)
    rows, stacked = loader.take([0, 1, 2]), loader.get_windows([0, 1, 2], offsets=[0])["a.x"]
    for column in (rows["a.x"], pickle.loads(pickle.dumps(rows))["a.x"], stacked if isinstance(stacked, tt.Ragged) else stacked.reshape(3, *stacked.shape[2:])):
        assert [nested(value) if there else None for value, there in zip(column, rows.valid("a.x"), strict=True)] == expected
    each = [loader.get_row(row)["a.x"] for row in range(3)]
    assert [nested(value) for value in each] == expected == [nested(rows.row(row)["a.x"]) for row in range(3)]
    # Only arrays with null elements are masked.
    assert not any(isinstance(value, np.ma.MaskedArray) for value in [*each[1:], *loader.take([1, 2])["a.x"]])
    # What was read is written as it was.
    again = tt.write_table(tmp_path / "again", {"i": [0, 1, 2], "a.x": each}, index="i", schema={"a.x": ty})
    assert again.diff(table).is_empty


def test_null_elements_are_kept_by_loaders_or_refused_by_name_and_place(tmp_path: Path) -> None:
    columns = {"i": [0, 1], "a.fixed": np.ma.masked_array([[1, 2], [3, 4]], [[0, 0], [0, 1]]), "a.ragged": [[1.5], [None, 2.5]]}
    table = tt.write_table(tmp_path / "t", columns, index="i")
    fixed, ragged = [[1, 2], [3, None]], [[1.5], [None, 2.5]]
    arguments: dict[str, Any] = dict(batch_size=2, shuffle="none")
    for transform in ({}, {"transform": dict}, {"transform": dict, "transform_rows": True}):
        batch = next(iter(tt.DataLoader(table, **arguments, **transform)))
        assert (batch["a.fixed"].tolist(), [row.tolist() for row in batch["a.ragged"]]) == (fixed, ragged)
    padded = next(iter(tt.DataLoader(table, ragged="pad", **arguments)))
    assert padded["a.ragged"].tolist() == [[1.5, 0], [None, 2.5]]
    assert next(iter(tt.DataLoader(table, ragged="offsets", **arguments)))["a.ragged"].tolist() == [1.5, None, 2.5]
    assert pa.table(tt.row_loader(table).take([0, 1]))["a.fixed"].to_pylist() == fixed
    for to, library in (("torch", "PyTorch"), ("jax", "JAX")):
        for column, place in (("a.fixed", "[1]"), ("a.ragged", "[0]")):
            with pytest.raises(tt.Unsupported, match=re.escape(f"column `{column}`, row 1 of those read: the element at {place} is null, and {library} has no null")):
                next(iter(tt.DataLoader(table, columns=column, to=to, **arguments)))  # type: ignore[arg-type]
    with pytest.raises(tt.Unsupported, match="column `a.fixed`, row 1 of those read: the element at .1. is null, and PyTorch has no null"):
        tt.row_loader(table, columns="a.fixed").take([0, 1]).to_torch()


def test_each_kind_of_error_is_an_exception(index: tt.Index, drives: str, tmp_path: object) -> None:
    loader = tt.row_loader(index)
    with pytest.raises(IndexError, match="20 is outside 0..20"):
        loader.get_row(20)
    assert loader.get_row(-1)["labels.text"] == "row 19"
    with pytest.raises(tt.NotFound, match="nearest"):
        loader.get_row(0, columns=["lidra.points"])
    with pytest.raises(tt.NotFound):
        tt.read_index(f"{tmp_path}/nothing")
    with pytest.raises(tt.Exists):
        tt.write_table(drives, {"i": [1], "a.b": [1]}, index=["i"])
    assert all(issubclass(kind, tt.Error) for kind in (tt.Corrupt, tt.Conflict, tt.OutcomeUnknown, tt.Internal))


def test_damage_is_an_error_and_never_data(tmp_path: object) -> None:
    import pathlib

    url = f"{tmp_path}/damaged"
    tt.write_table(url, {"i": np.arange(4), "a.x": np.random.default_rng(1).random((4, 500))}, index=["i"], preset="fast")
    (chunk,) = [file for file in pathlib.Path(url, "chunks").rglob("*") if file.is_file()]
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.chmod(0o644)
    chunk.write_bytes(content)
    with pytest.raises(tt.Corrupt, match="checksum"):
        tt.row_loader(tt.read_index(url)).take(range(4))


def test_blocks_of_which_rows_came_out_are_kept_and_are_read_again_without_a_request(index: tt.Index) -> None:
    rows, without = tt.row_loader(index), tt.row_loader(index, cache_bytes=0)
    for loader in (rows, without):
        assert loader[9]["labels.text"] == "row 9"
        assert loader.take([8, 9], ["labels.text"])["labels.text"].tolist() == ["row 8", "row 9"]
    assert rows.explain(8, ["labels.text"])["requests"] == 0
    assert without.explain(8, ["labels.text"])["requests"] == 1
    assert pickle.loads(pickle.dumps(without)).explain([8, 8], ["labels.text"])["requests"] == 1
    assert pickle.loads(pickle.dumps(rows))[9]["labels.text"] == "row 9"


def test_a_forked_child_reads_rows_and_is_told_of_frames(index: tt.Index, tmp_path: Path) -> None:
    loader = tt.row_loader(index)
    assert loader.get_row(0)["labels.text"] == "row 0"
    # Several threads read in the parent; they do not exist in the child.
    noise = np.random.default_rng(1).integers(0, 256, (2, 3, 300_000), np.uint8)
    wide = {"i": np.arange(3), "a.jpeg": [bytes(row) for row in noise[0]], "b.jpeg": [bytes(row) for row in noise[1]]}
    shared = tt.row_loader(tt.write_table(str(tmp_path / "wide"), wide, index=["i"], preset="fast"))
    assert bytes(shared.get_row(0)["b.jpeg"]) == bytes(noise[1, 0])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        row = shared.get_row(2)
        output = f"{bytes(row['a.jpeg']) == bytes(noise[0, 2])} {bytes(row['b.jpeg']) == bytes(noise[1, 2])} "
        output += str(loader.get_row(9)["labels.text"])
        try:
            index.sort("timestamp")
            output += "; a frame"
        except tt.Unsupported as error:
            output += f"; {error}"
        os.write(writing, output.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert output.startswith("True True row 9; frames do not survive a fork")


def _in_frames(index: tt.Index, folder: str) -> dict[str, Callable[[], object]]:
    """Calls that use frames, by name."""
    table = index.tables[0]
    return {
        "filter": lambda: index.filter(pl.col("pedestrians") > 3),
        "sort": lambda: index.sort("timestamp"),
        "sample": lambda: index.sample(3, seed=1),
        "sql": lambda: index.sql("SELECT * FROM t WHERE pedestrians > 3"),
        "query": lambda: index.query("SELECT count(*) FROM t"),
        "split": lambda: index.split("timestamp", {"a": 0.5, "b": 0.5}),
        "merge": lambda: index.merge(index, "timestamp", first=True),
        "read_index": lambda: tt.read_index(table, where="pedestrians > 3"),
        "concat": lambda: tt.concat([index, index]),
        "merge_tables": lambda: tt.merge_tables(table.url, table.url, "timestamp", f"{folder}/merged", first=True),
        "save": lambda: index.sort("timestamp").save(f"{folder}/saved"),
        "to_polars": lambda: index.to_polars(),
    }


def _attempt(index: tt.Index, folder: str, answers: Any) -> None:
    """Sends what each call of `_in_frames` does in a forked child."""
    signal.alarm(60)
    for name, call in _in_frames(index, folder).items():
        try:
            call()
            answers.put((name, "no error"))
        except tt.Unsupported as error:
            answers.put((name, str(error)))


def test_a_forked_child_is_told_of_frames_by_every_call(index: tt.Index, tmp_path: Path) -> None:
    assert [name for name, call in _in_frames(index, str(tmp_path)).items() if call() is None] == []
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=_attempt, args=(index, str(tmp_path), answers))
    child.start()
    child.join(60)
    assert child.exitcode == 0, "the child hung"
    messages = {}
    while not answers.empty():
        name, text = answers.get()
        messages[name] = text
    assert messages.keys() == _in_frames(index, "").keys()
    assert [name for name, text in messages.items() if "frames do not survive a fork: process" not in text] == []


def test_a_spawned_process_reads_with_a_pickled_loader(index: tt.Index) -> None:
    loader = tt.row_loader(index.filter(pl.col("pedestrians") > 3))
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[2]['labels.text'])"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(loader), capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().strip() == "row 14"


def test_ctrl_c_ends_a_wait_for_a_store_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def interrupt_the_request() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            os.kill(os.getpid(), signal.SIGINT)
            is_over.wait()
            connection.close()

        is_over = threading.Event()
        thread = threading.Thread(target=interrupt_the_request, daemon=True)
        thread.start()
        # Without the interrupt, the idle timeout would end the wait with `tetrys.Unavailable`.
        with pytest.raises(KeyboardInterrupt):
            tt.open_table(f"http://127.0.0.1:{server.getsockname()[1]}/table@1")
        is_over.set()
        thread.join()


def test_other_threads_run_while_rows_are_read(index: tt.Index) -> None:
    loader, seen = tt.row_loader(index), []

    def read() -> None:
        seen.extend(loader.get_row(row)["labels.text"] for row in range(20))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, seen)) == sorted(["None" if row == 3 else f"row {row}" for row in range(20)] * 4)


@pytest.mark.parametrize("ahead", [1, 3, 1000])
def test_rows_come_one_by_one_as_they_are_taken_together(index: tt.Index, ahead: int) -> None:
    rows = tt.row_loader(index)
    positions = [4, 0, len(rows) - 1, 4]
    taken = rows.take(positions, ["labels.*"])
    names = [row["labels.text"] for row in rows.rows(iter(positions), (name for name in ["labels.*"]), ahead=ahead)]
    assert names == taken["labels.text"].tolist()
    with pytest.raises(tt.Invalid, match="ahead: 0 is outside"):
        rows.rows(positions, ahead=0)


def test_columns_in_windows_of_their_own_are_one_plan(index: tt.Index) -> None:
    rows = tt.row_loader(index, columns=["timestamp", "lidar.*", "labels.*", "camera.*"])
    windows = {"lidar.*": range(-2, 1), "labels.text": [0, 3], "timestamp": tt.times("timestamp", ["-100ns", "0ns"])}
    found = rows.get_windows([4, 11, 19], offsets=windows)
    assert list(found) == list(windows)
    for pattern, window in windows.items():
        alone = rows.get_windows([4, 11, 19], [pattern], offsets=window)
        assert found[pattern].keys() == alone.keys()
        np.testing.assert_array_equal(found[pattern].table_rows, alone.table_rows)
        for name in alone.keys():
            assert [list(map(str, part[name])) for part in found[pattern]] == [list(map(str, part[name])) for part in alone]
        one = rows.get_rows(11, offsets=windows)[pattern]
        np.testing.assert_array_equal(one.table_rows, alone[1].table_rows)
    cost = rows.explain([4, 5], offsets={"camera.intrinsics": [0], "camera.jpeg": [-1, 0]})
    apart = [rows.explain([4, 5], [name], offsets=window) for name, window in [("camera.intrinsics", [0]), ("camera.jpeg", [-1, 0])]]
    assert cost["ranges"] <= sum(part["ranges"] for part in apart)
    assert rows.get_rows(3, offsets={}) == {}
    for wrong in ({"nothing.*": [0]}, {"lidar.*": []}, {7: [0]}, {"lidar.*": None}):
        with pytest.raises(tt.Error):
            rows.get_windows([3], offsets=wrong)  # type: ignore[arg-type]


def test_rows_are_a_table_of_pyarrow(index: tt.Index) -> None:
    import pyarrow

    rows = tt.row_loader(index).take([4, 7], ["timestamp", "camera.*", "labels.*"])
    table = pyarrow.table(rows)
    assert table.column_names == rows.keys() and table["labels.text"].to_pylist() == ["row 4", "row 7"]
    # Libraries that know no tensors of Arrow, as Hugging Face's `datasets`, take their lists.
    plain = pyarrow.table({name: column.combine_chunks() for name, column in zip(table.column_names, table.columns, strict=True)})
    plain = plain.set_column(1, "camera.intrinsics", plain["camera.intrinsics"].combine_chunks().storage)
    assert plain["camera.intrinsics"].to_pylist() == [one.reshape(-1).tolist() for one in rows["camera.intrinsics"]]


def test_times_texts_and_lists_stay_what_they_are(tmp_path: Path) -> None:
    when = pa.array([0, None, 2], pa.timestamp("us"))
    given = pa.table({"i": [0, 1, 2], "a.when": when, "a.took": when.cast(pa.int64()).cast(pa.duration("us")), "a.names": [["x"], [], None]})
    rows = tt.row_loader(tt.write_table(tmp_path / "t", given, index="i")).take([0, 1, 2])
    table = rows.to_arrow()
    for name in ("a.when", "a.took", "a.names"):
        assert table[name].to_pylist() == given[name].to_pylist()
