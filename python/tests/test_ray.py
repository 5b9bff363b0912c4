"""Ray reads and writes tables, on a cluster of three nodes that these tests start."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import cluster_data as data
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from log_data import RECIPE, apart, recordings, values
from silly import wrong_answers
from tetrys import cluster

ray = pytest.importorskip("ray", reason="no Ray")
pa = pytest.importorskip("pyarrow")
import ray.data  # noqa: E402
from ray_jobs import HEAD, LOGS, alone, chunks, content, is_absent, job  # noqa: E402
import tetrys.ray  # noqa: E402
from ray.data.expressions import col  # noqa: E402
from ray.data._internal.arrow_ops.transform_pyarrow import concat  # noqa: E402
from ray.data._internal.tensor_extensions.arrow import convert_to_pyarrow_array  # noqa: E402
from tetrys.ray._arrow import to_ray  # noqa: E402
from tetrys.ray import TetrysDatasink, TetrysDatasource, _arrow  # noqa: E402
from tetrys._sources import batches_of  # noqa: E402

FULL = os.environ.get("TETRYS_FULL") == "1"
SEED = int(os.environ["TETRYS_SEED"], 0) if os.environ.get("TETRYS_SEED") else random.randrange(2**32)
L5 = Path(os.environ.get("TETRYS_SHARED", Path(__file__).parents[3] / "shared")) / "l5" / "artefacts"


# --- the cluster, a store, and tables to compare with


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """A Ray cluster of three nodes with small object stores; its address. Workers find the modules and the bucket by the environment."""
    with contextlib.suppress(pytest.skip.Exception):
        request.getfixturevalue("bucket")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_register_timeout_seconds", "300")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
        nodes = started()
        try:
            ray.init(address=nodes.address, log_to_driver=False, _node_ip_address=HEAD)
            # Ray turns the signal of a time limit into `SystemExit`, which pytest takes for a failure of the test that is running.
            signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM: no test failed", 143))
            ray.data.DataContext.get_current().enable_progress_bars = False
            yield nodes.address
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            ray.shutdown()
            nodes.shutdown()


def started(tries: int = 4) -> Any:
    """Starts the nodes. Ray gives a node 30 seconds to start, which is too short on a busy machine."""
    from ray.cluster_utils import Cluster

    # Each node has a loopback address of its own. Ray replaces 127.0.0.1 by the address of the machine.
    node: dict[str, Any] = {"num_cpus": 2, "object_store_memory": 100 << 20}
    nodes = Cluster()
    try:
        nodes.add_node(**node, include_dashboard=False, node_ip_address=HEAD)
        for number in (3, 4):
            nodes.add_node(**node, node_ip_address=f"127.0.0.{number}")
    except Exception:
        nodes.shutdown()
        if tries == 1:
            raise
        return started(tries - 1)
    return nodes


@pytest.fixture(params=["disk", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty place."""
    return str(tmp_path) if request.param == "disk" else f"{request.getfixturevalue('bucket')}/{tmp_path.name}"


@pytest.fixture(scope="session")
def drives(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    """A table of six logs, each a partition."""
    return alone(str(tmp_path_factory.mktemp("ray") / "drives"), LOGS)


# --- reading


@pytest.mark.slice
def test_a_dataset_knows_its_rows_bytes_and_types_and_gives_tensors(engine: str, drives: tt.Table) -> None:
    ds = tetrys.ray.read(drives)
    assert (ds.count(), ds.schema().names) == (len(drives), list(data.SCHEMA))
    assert ds.size_bytes() > 0
    # Blocks come in the order in which tasks end.
    rows = sorted(ds.take_all(), key=lambda row: (row["log"], row["time"]))
    for found, expected in zip(rows, (row for log in LOGS for row in data.rows(log)), strict=True):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(found[name], value, err_msg=name)
                assert found[name].dtype == (np.float64 if name == "camera.intrinsics" else np.float32)
            else:
                assert found[name] == value, name
    batch = next(iter(ds.select_columns(["time", "camera.intrinsics"]).iter_torch_batches(batch_size=50)))
    assert (tuple(batch["camera.intrinsics"].shape), str(batch["camera.intrinsics"].dtype)) == ((50, 3, 3), "torch.float64")
    summed = ds.map_batches(lambda batch: {"traces": batch["camera.intrinsics"].trace(axis1=1, axis2=2)}).sum("traces")
    assert summed == sum(3 + 3 * frame for _ in LOGS for frame in range(20))


FIRST = """
import sys
import tetrys.ray
rows = tetrys.ray.read(sys.argv[1], columns=["time"]).take_all()
print(len(rows), sum(row["time"] for row in rows))
"""


def test_a_read_may_be_the_first_call_of_ray_in_a_process(drives: tt.Table) -> None:
    # Without `ray.init`, the process starts a cluster of its own.
    environment = os.environ | {"RAY_ADDRESS": "local", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", FIRST, drives.url], capture_output=True, text=True, check=False, timeout=600, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[-2:] == [str(len(drives)), str(tt.read_index(drives)["time"].sum())]


@pytest.mark.slice
def test_windows_become_tensors_with_the_time_first(engine: str, drives: tt.Table) -> None:
    ds = tetrys.ray.read(drives, columns=["camera.intrinsics", "labels.count"], offsets=range(-2, 1), override_num_blocks=1)
    rows = ds.take_all()
    windows = tt.row_loader(drives).get_windows(range(len(drives)), ["camera.intrinsics", "labels.count"], offsets=range(-2, 1))
    for number, row in enumerate(rows):
        assert row["camera.intrinsics"].shape == (3, 3, 3)
        there = windows.mask[number]
        np.testing.assert_array_equal(row["camera.intrinsics"][there], windows["camera.intrinsics"][number][there])
        np.testing.assert_array_equal(row["labels.count"][there], windows["labels.count"][number][there])


@pytest.mark.slice
def test_a_window_has_zeros_where_no_row_is_and_no_null_in_a_row() -> None:
    flags = pa.list_(pa.bool_(), 2)
    for kind in [pa.list_(one, 2) for one in (pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.int64())]:
        given = pa.array([[None, 7], [5, 3]], pa.list_(pa.float64(), 2)).cast(kind)
        windows = pa.table({"n": given, "n.mask": pa.array([[False, True], [True, True]], flags)})
        expected = np.array([[0, 7], [5, 3]]).astype(kind.value_type.to_pandas_dtype())
        np.testing.assert_array_equal(to_ray(windows)["n"].chunk(0).to_numpy(zero_copy_only=False), expected)
    null = pa.table({"n": pa.array([[4, 7], [None, 3]], kind), "n.mask": pa.array([[False, True], [True, True]], flags)})
    with pytest.raises(tt.Unsupported, match="column `n`: an element of a tensor is null"):
        to_ray(null)


CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(
            st.sampled_from(["time", "pedestrians", "labels.count"]), st.sampled_from("< <= > >= == !=".split()), st.integers(-1, 120)
        ),
        st.tuples(
            st.sampled_from(["log", "labels.text"]), st.sampled_from("== > isin null".split()), st.sampled_from([*LOGS, "frame 3 of log 001"])
        ),
    ),
    lambda inner: st.tuples(inner, st.sampled_from(["and", "or", "not"]), inner),
    max_leaves=5,
)


def condition(condition_given: Any, name: Callable[[str], Any]) -> Any:
    left, operator, right = condition_given
    if operator in ("and", "or", "not"):
        left, right = condition(left, name), condition(right, name)
        return left & right if operator == "and" else left | right if operator == "or" else ~left
    column = name(left)
    operators: dict[str, Callable[[], Any]] = {
        "<": lambda: column < right, "<=": lambda: column <= right, ">": lambda: column > right, ">=": lambda: column >= right,
        "==": lambda: column == right, "!=": lambda: column != right,
        "isin": lambda: column.is_in([right]) if isinstance(column, pl.Expr | ray.data.expressions.Expr) else None,
        "null": lambda: column.is_null(),
    }  # fmt: skip
    return operators[operator]()


@given(condition_given=CONDITIONS, where=st.none() | st.integers(0, 5), wanted=st.sets(st.sampled_from(list(data.SCHEMA))), tasks=st.integers(1, 9))
def test_pushed_conditions_and_projections_give_what_pyarrow_gives(
    drives: tt.Table, condition_given: Any, where: int | None, wanted: set[str], tasks: int
) -> None:
    names = [name for name in data.SCHEMA if name in wanted]
    chosen = None if where is None else pl.col("pedestrians") >= where
    made = TetrysDatasource(drives, where=chosen).apply_predicate(condition(condition_given, col)).apply_projection(dict.fromkeys(names))
    blocks = [block for task in made.get_read_tasks(tasks) for block in task()]
    rows = content(drives)
    rows = rows if where is None else rows.filter(pa.compute.field("pedestrians") >= where)
    rows = rows.filter(condition(condition_given, col).to_pyarrow())
    assert sum(map(len, blocks)) == len(rows)
    known = [task.metadata.num_rows for task in made.get_read_tasks(1)]
    assert None in known or sum(known) == len(rows)
    for name in names:
        if data.SCHEMA[name] in ("utf8", "i64", "i32", "binary"):
            assert [value for block in blocks for value in block[name].to_pylist()] == rows[name].to_pylist()


@pytest.mark.slice
def test_columns_and_rows_that_are_not_wanted_are_not_read(engine: str, tmp_path: Path) -> None:
    table = alone(str(tmp_path / "t"), ["log 000"])
    before = chunks(table)
    table = table.append(data.batches("log 001"))
    for path in (tmp_path / "t/chunks").rglob("*"):
        if path.is_file() and path.name not in before:
            path.unlink()
    ds = tetrys.ray.read(table)
    assert ds.filter(expr=col("log") == "log 000").count() == 20
    assert len(ds.filter(expr=(col("log") == "log 000") & (col("labels.count") >= 0)).select_columns(["labels.text"]).take_all()) == 20
    assert len(ds.select_columns(["time", "log"]).take_all()) == 40
    with pytest.raises(Exception, match="chunk"):
        ds.materialize()


def test_a_small_table_is_read_in_few_tasks_unless_a_number_is_asked_for(engine: str, drives: tt.Table) -> None:
    assert tetrys.ray.read(drives).materialize().num_blocks() == 1
    assert tetrys.ray.read(drives, override_num_blocks=5).materialize().num_blocks() == 5
    source = TetrysDatasource(drives)
    source.estimate_inmemory_data_size = lambda: 1 << 30  # type: ignore[method-assign]
    assert tetrys.ray._read._tasks(source) == 16
    source.estimate_inmemory_data_size = lambda: 8 << 20  # type: ignore[method-assign]
    # Two for each of the six CPUs, but no smaller ones than Ray makes.
    assert tetrys.ray._read._tasks(source) == 8
    source.estimate_inmemory_data_size = lambda: 1 << 40  # type: ignore[method-assign]
    assert tetrys.ray._read._tasks(source) is None


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_few_rows_are_read(engine: str, tmp_path: Path, rows: int) -> None:
    table = alone(str(tmp_path / "t"), LOGS[:1], frames=rows)
    assert tetrys.ray.read(table).count() == rows
    assert len(tetrys.ray.read(table, columns=["time", "lidar.*"]).take_all()) == rows


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"columns": ["nothing.*"]}, tt.NotFound),
        ({"columns": 3}, tt.Invalid),
        ({"where": pl.col("nothing") > 1}, tt.Error),
        ({"batch_bytes": 0}, tt.Invalid),
        ({"batch_bytes": 1.5}, tt.Invalid),
        ({"offsets": [10**30]}, tt.Error),
    ],
)
def test_silly_reads_are_refused_before_anything_runs(drives: tt.Table, arguments: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        TetrysDatasource(drives, **arguments)
    with pytest.raises(tt.NotFound):
        TetrysDatasource(str(Path(drives.url.removeprefix("file://")).parent / "nothing"))


# --- writing


@pytest.mark.parametrize("shuffled", [False, pytest.param(True, marks=pytest.mark.slice)])
def test_a_dataset_in_any_order_becomes_a_table_of_whole_sequences(engine: str, store: str, drives: tt.Table, shuffled: bool) -> None:
    ds = tetrys.ray.read(drives, override_num_blocks=7)
    ds = ds.random_shuffle(seed=SEED) if shuffled else ds
    table = tetrys.ray.write(ds, f"{store}/t", partitions=3, schema=data.SCHEMA, **data.LAYOUT)
    assert content(table).equals(content(drives))
    frame = tt.read_index(table).to_polars()
    assert table.info()["sequences"] == len(LOGS) == frame["log"].rle().len()
    assert all(part["time"].is_sorted() for part in frame.partition_by("log"))


def test_the_same_rows_in_another_order_make_the_same_chunks(engine: str, tmp_path: Path, drives: tt.Table) -> None:
    settings = {"partitions": 3, "schema": data.SCHEMA, **data.LAYOUT}
    shuffled = (tetrys.ray.read(drives).random_shuffle(seed=seed) for seed in (1, 2))
    tables = [tetrys.ray.write(ds, str(tmp_path / f"{number}"), **settings) for number, ds in enumerate(shuffled)]
    assert chunks(tables[0]) == chunks(tables[1])
    # Ray may give the partitions of a shuffle other numbers.
    assert content(tables[0]).equals(content(tables[1]))


def test_types_come_from_the_dataset_and_appends_take_those_of_the_table(engine: str, tmp_path: Path) -> None:
    rows = [{"log": "a", "time": time, "x.tensor": np.full((2, 3), time, np.float32), "x.text": f"{time}"} for time in (3, 1, 2)]
    url = str(tmp_path / "t")
    layout = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"], "partitions": 1}
    table = tetrys.ray.write(ray.data.from_items(rows), url, mode="append", **layout)
    assert (table.version, dict(table.groups[0][1])) == (1, {"x.tensor": "f32[2,3]", "x.text": "utf8"})
    assert tt.row_loader(table).take(range(3))["x.tensor"][:, 0, 0].tolist() == [1, 2, 3]
    table = tetrys.ray.write(ray.data.from_items([row | {"log": "b"} for row in rows]), url, mode="append", **layout)
    assert (table.version, tt.read_index(table)["log"].to_list()) == (2, ["a"] * 3 + ["b"] * 3)
    with pytest.raises(tt.Exists):
        tetrys.ray.write(ray.data.from_items(rows), url, **layout)
    table = tetrys.ray.write(ray.data.from_items(rows[:1]), url, mode="overwrite", **layout)
    assert (table.version, len(table), len(tt.Table(f"{url}@2"))) == (3, 1, 6)
    table = tetrys.ray.write(ray.data.from_items([row | {"log": "c"} for row in rows]), url, index=layout["index"], mode="append", partitions=1)
    assert tt.read_index(table)["time"].to_list() == [3, 1, 2, 3], "sequences and their order are those of the table"


def test_structs_maps_and_decimals_become_what_an_import_of_parquet_makes_of_them(engine: str, tmp_path: Path) -> None:
    rows = data.nested(40, 1)
    ds = ray.data.from_arrow([rows.slice(start, 10) for start in (20, 0, 30, 10)])
    ds.sort("i").repartition(1).write_parquet(str(tmp_path / "rows"))
    imported = tt.ingest_petastorm(str(tmp_path / "rows"), str(tmp_path / "imported"), index=["i", "ego.speed"])
    layout = {"index": ["i", "ego.speed"], "order_by": "i"}
    nulls = {name: kind for name, (kind, *_) in data.described(imported).items() if name.endswith(".is_null")}
    with pytest.raises(tt.Invalid, match=r"`[a-z.]+.is_null` in `schema`"):
        tetrys.ray.write(ds, str(tmp_path / "t"), **layout)
    assert is_absent(str(tmp_path / "t"))
    schema = {name: kind for name, (kind, *_) in data.described(imported).items()}
    assert nulls and data.described(tetrys.ray.write(ds, str(tmp_path / "t"), schema=schema, **layout)) == data.described(imported)
    # Without structs of nulls, the types are those of the dataset.
    plain = ray.data.from_arrow(rows.select(["i", "price", "prices", "tags"]))
    plain.write_parquet(str(tmp_path / "plain"))
    imported = tt.ingest_petastorm(str(tmp_path / "plain"), str(tmp_path / "imported too"), index="i")
    assert data.described(tetrys.ray.write(plain, str(tmp_path / "u"), index="i", order_by="i")) == data.described(imported)


def test_rows_without_some_structs_or_fields_are_written(engine: str, tmp_path: Path) -> None:
    rows = [{"i": 0, "s": {"log": "b", "a": 1}}, {"i": 1, "s": None}, {"i": 2, "s": {"log": "a"}}, {"i": 3, "s": {"log": "a", "a": 2}}]
    ds = ray.data.from_items(rows, override_num_blocks=4)
    schema = {"i": "i64", "s.log": "utf8", "s.a": "i64"}
    layout = {"index": ["s.log", "i"], "sequence_by": "s.log", "order_by": "i", "partitions": 1}
    index = tt.read_index(tetrys.ray.write(ds, str(tmp_path / "t"), schema=schema, **layout))
    assert index.sort("i").to_polars().select("s.log", "i").rows() == [("b", 0), (None, 1), ("a", 2), ("a", 3)]
    assert pa.table(tt.row_loader(index.sort("i")).take(range(4)))["s.a"].to_pylist() == [1, None, None, 2]


MOST = 2**64 - 1


@pytest.mark.parametrize("values", [[MOST, 2**63, 0, 5], [5, None, 2**63, MOST], [1, 2, 3, MOST]], ids=["large", "null", "last"])
def test_integers_of_the_whole_range_are_a_u64(engine: str, tmp_path: Path, values: list[int | None]) -> None:
    layout = {"index": ["x", "i"], "sequence_by": "x", "order_by": "i"}
    for number, schema in enumerate([{"x": "u64", "i": "i64"}, None]):
        ds = ray.data.from_items([{"x": one, "i": place} for place, one in enumerate(values)], override_num_blocks=4)
        table = tetrys.ray.write(ds, str(tmp_path / f"{number}"), schema=schema, partitions=1, **layout)
        assert dict(table.index_columns)["x"] == "u64"
        assert tt.read_index(table).sort("i")["x"].to_list() == values
    decimals = pa.array([None if one is None else Decimal(one) for one in values], pa.decimal256(40, 0))
    ds = ray.data.from_arrow(pa.table({"x": decimals, "i": range(4)}))
    table = tetrys.ray.write(ds, str(tmp_path / "decimals"), schema={"x": "u64", "i": "i64"}, index="i")
    assert pa.table(tt.row_loader(table).take(range(4)))["x"].to_pylist() == values


@pytest.mark.parametrize("value", [-1, MOST + 1, Decimal("0.5")])
@pytest.mark.parametrize("sequence_by", [(), "x"], ids=["alone", "shuffled"])
def test_a_number_that_is_no_u64_is_refused_with_its_place(engine: str, tmp_path: Path, value: Any, sequence_by: Any) -> None:
    number = type(value)
    ds = ray.data.from_items([{"x": number(1), "i": 0}, {"x": value, "i": 1}, {"x": number(MOST), "i": 2}], override_num_blocks=1)
    with pytest.raises(tt.Invalid, match=f"column `x`: value 1: {value} does not fit u64: expected an integer from 0 to {MOST}") as refused:
        tetrys.ray.write(ds, str(tmp_path / "t"), schema={"x": "u64", "i": "i64"}, index=["x", "i"], sequence_by=sequence_by)
    assert "Traceback" not in str(refused.value) and is_absent(str(tmp_path / "t"))


@pytest.mark.parametrize("sequence_by", [(), "i"], ids=["alone", "shuffled"])
def test_lists_and_structs_have_integers_of_the_whole_range(engine: str, tmp_path: Path, sequence_by: Any) -> None:
    lists = [[MOST], [1, 0], None, [], [2**63, 5]]
    rows = [
        {"i": i, "x": one, "y": one and [one, []], "s": {"id": MOST - i % 2 * 2**63, "n": -i}, "b": [{"id": item} for item in one or []]}
        for i, one in enumerate(lists)
    ]
    schema = {"i": "i64", "x": "u64[?]", "y": "list<u64[?]>", "s.id": "u64", "s.n": "i32", "b.id": "u64[?]"}
    ds = ray.data.from_items(rows, override_num_blocks=5)
    table = tetrys.ray.write(ds, str(tmp_path / "t"), schema=schema, index="i", sequence_by=sequence_by, order_by="i", partitions=1)
    found = pa.table(tt.row_loader(tt.read_index(table).sort("i")).take(range(5)))
    assert [one and one["data"] for one in found["x"].to_pylist()] == lists
    assert [one and [item["data"] for item in one] for one in found["y"].to_pylist()] == [row["y"] for row in rows]
    assert [one["data"] for one in found["b.id"].to_pylist()] == [one or [] for one in lists]
    assert (found["s.id"].to_pylist(), found["s.n"].to_pylist()) == ([row["s"]["id"] for row in rows], [row["s"]["n"] for row in rows])


def objects(values: list[Any]) -> pa.Table:
    """Returns a block of Ray with a column of Python objects."""
    return pa.table({"x": ray.data.extensions.ArrowPythonObjectArray.from_objects(values)})


def lists_and_dicts(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3) | st.dictionaries(st.sampled_from("ab"), items, min_size=1)


@pytest.mark.slice
@given(st.recursive(st.none() | st.integers(0, MOST), lists_and_dicts, max_leaves=8))
def test_integers_in_objects_are_converted_or_refused(value: Any) -> None:
    kinds = {name: "u64" for name in ("x", "x.a", "x.b", "x.a.a", "x.a.b", "x.b.a", "x.b.b")}
    with contextlib.suppress(tt.Invalid):
        assert _arrow._of_values("x", [value, None], kinds, "x").to_pylist() == [whole(value), None]


def whole(value: Any) -> Any:
    """Returns a value in which dicts of a list have the same fields."""
    if isinstance(value, dict):
        return {field: whole(one) for field, one in value.items()}
    if isinstance(value, list):
        fields = dict.fromkeys(field for one in value if isinstance(one, dict) for field in one)
        return [whole({field: one.get(field) for field in fields}) if isinstance(one, dict) else whole(one) for one in value]
    return value


@pytest.mark.slice
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([MOST, 1, None, 2**63], "u64"),
        ([[MOST], [1, 0], None, [], [None]], "u64[?]"),
        ([[[MOST], []], [], None, [[1, 2]]], "list<u64[?]>"),
        ([[Decimal("1.5")], [], None, [None]], "list<utf8>"),
        ([["a"], [], None, [None]], "list<utf8>"),
        ([[1.5], [], None], "f32[?]"),
    ],
)
def test_blocks_whose_types_depend_on_their_values_are_concatenated(values: list[Any], kind: str) -> None:
    kinds = {"i": "i64", "x": kind, "s.x": kind, "s.is_null": "bool"}
    columns = [{"i": [row], "x": [one], "s": [{"x": one}]} for row, one in reversed(list(enumerate(values)))]
    blocks = [pa.table({name: convert_to_pyarrow_array(column, name) for name, column in one.items()}) for one in columns]
    expected = [[str(item) if isinstance(item, Decimal) else item for item in one] if isinstance(one, list) else one for one in values]
    for prepared in (blocks, [concat([_arrow.for_shuffle(block, kinds) for block in blocks], promote_types=True)]):
        (batch,) = _arrow.sorted_batches(prepared, ["i"], 10**6, kinds)
        assert (batch["x"].to_pylist(), batch["s.x"].to_pylist()) == (expected, expected)


@pytest.mark.slice
@pytest.mark.parametrize(
    ("values", "kinds", "message"),
    [
        ([[1], [MOST + 1]], {"x": "u64[?]"}, f"column `x`, an item: value 1: {MOST + 1} does not fit u64: expected an integer from 0 to {MOST}"),
        ([{"a": MOST}, {"a": -1}], {"x.a": "u64"}, f"column `x.a`: value 1: -1 does not fit u64: expected an integer from 0 to {MOST}"),
        ([[MOST, "a"]], {"x": "u64[?]"}, r"column `x`, an item: Python objects \(int and str\): expected values of one type"),
        ([[[MOST], 1]], {"x": "list<u64[?]>"}, r"column `x`, an item: Python objects \(int and list\): expected values of one type"),
        ([[True, MOST]], {"x": "u64[?]"}, r"column `x`, an item: Python objects \(bool and int\): expected values of one type"),
        ([{1: MOST}], {"x.a": "u64"}, r"column `x`: Python objects \(dict\)"),
    ],
)
def test_objects_that_are_no_u64_are_refused_with_their_place(values: list[Any], kinds: dict[str, str], message: str) -> None:
    for convert in (_arrow.of_ray, _arrow.for_shuffle):
        with pytest.raises(tt.Invalid, match=message):
            convert(objects(values), kinds)


def test_a_dataset_without_rows_is_a_table_without_rows(engine: str, tmp_path: Path) -> None:
    empty = ray.data.range(5).map_batches(lambda batch: {"log": batch["id"].astype(str), "time": batch["id"]}).filter(lambda row: False)
    schema = {"log": "utf8", "time": "i64"}
    assert len(tetrys.ray.write(empty, str(tmp_path / "t"), schema=schema, index=["log", "time"], sequence_by=["log"], partitions=2)) == 0


def test_a_sequence_in_two_tasks_is_refused_by_name_and_nothing_is_written(engine: str, tmp_path: Path, drives: tt.Table) -> None:
    sink = TetrysDatasink(str(tmp_path / "t"), schema=data.SCHEMA, **data.LAYOUT)
    with pytest.raises(tt.Invalid, match=r"log 00\d"):
        tetrys.ray.read(drives, override_num_blocks=4).random_shuffle(seed=1).write_datasink(sink)
    assert is_absent(str(tmp_path / "t")) and cluster.open_sessions(str(tmp_path / "t")) == []
    with pytest.raises(tt.Invalid, match="nothing was committed"):
        sink.table  # noqa: B018


@pytest.mark.slice
def test_columns_that_do_not_fit_name_the_partition_and_leave_the_table_as_it_was(engine: str, tmp_path: Path, drives: tt.Table) -> None:
    url = str(tmp_path / "t")
    before = alone(url, LOGS)

    def other(batch: dict[str, Any]) -> dict[str, Any]:
        return batch | {"log": batch["log"] + "x", "labels.count": batch["labels.count"].astype(str)}

    with pytest.raises(tt.Invalid, match=r"partition \d+ of .*labels\.count.*[Nn]othing was committed"):
        tetrys.ray.write(tetrys.ray.read(drives).map_batches(other), url, mode="append", partitions=2, **data.LAYOUT)
    with pytest.raises(tt.NotFound, match="`log`"):
        tetrys.ray.write(
            tetrys.ray.read(drives, columns=["time", "labels.*"]), url + "2", schema=data.SCHEMA, order_by=["log"], index=["log", "time"]
        )
    assert tt.Table(url).version == before.version and is_absent(url + "2")


def test_an_exception_of_user_code_ends_the_session(engine: str, tmp_path: Path, drives: tt.Table) -> None:
    url = str(tmp_path / "t")
    with pytest.raises(Exception, match="division by zero"):
        tetrys.ray.write(tetrys.ray.read(drives).map_batches(lambda batch: 1 / 0), url, schema=data.SCHEMA, partitions=2, **data.LAYOUT)
    assert is_absent(url) and cluster.open_sessions(url) == []


@pytest.mark.parametrize(
    "arguments",
    [{"partitions": 0}, {"partitions": 1.5}, {"partitions": True}, {"mode": "ignore"}, {"index": []}, {"index": ["nothing"]}, {"write_memory": 0}],
)
def test_silly_writes_are_refused(engine: str, tmp_path: Path, arguments: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"index": ["id"], "sequence_by": ["id"], **arguments}
    with pytest.raises(tt.Error):
        tetrys.ray.write(ray.data.range(3), str(tmp_path / "t"), **settings)
    with pytest.raises(tt.Invalid):
        tetrys.ray.write([1, 2], str(tmp_path / "t"), index=["id"])  # type: ignore[arg-type]
    assert is_absent(str(tmp_path / "t"))


KINDS = {"log": "utf8", "time": "i64", "text": "list<utf8>", "tensor": "f32[?,?]", "bytes": "binary"}


@pytest.mark.slice
@given(
    blocks=st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 40)), max_size=20), max_size=5),
    most=st.integers(1, 200),
    cut=st.integers(0, 3),
)
def test_sorted_batches_have_all_rows_in_order_and_are_bounded(blocks: list[list[tuple[str, int, int]]], most: int, cut: int) -> None:
    def block(rows: list[tuple[str, int, int]]) -> Any:
        columns = {"log": [row[0] for row in rows], "time": [row[1] for row in rows]}
        tensors = [np.full((length, 2), length, np.float32) for _, _, length in rows]
        text = pa.array([["x" * length] * (length % 3) for _, _, length in rows], pa.list_(pa.string()))
        kind = {"log": pa.string(), "time": pa.int64()}
        made = {name: pa.array(values, kind[name]) for name, values in columns.items()} | {"text": text}
        made["tensor"] = ray.data.extensions.ArrowVariableShapedTensorArray.from_numpy(tensors) if tensors else pa.nulls(0)
        made["bytes"] = pa.array([b"y" * length for _, _, length in rows], pa.binary())
        return pa.table(made).slice(min(cut, len(rows)))

    made = list(_arrow.sorted_batches(map(block, blocks), ["log", "time"], most, KINDS))
    expected = sorted((row for rows in blocks for row in rows[cut:]), key=lambda row: row[:2])
    found = [
        (row["log"], row["time"], len(row["bytes"])) for table in made for row in table.select(["log", "time", "bytes"]).to_pylist()
    ]
    assert found == expected
    for table in made:
        (part,) = table.combine_chunks().to_batches()
        lengths = [len(value) for value in table["bytes"].to_pylist()]
        # Text and time, the list of texts, the elements and the shape of the tensor, and the bytes.
        sizes = [1 + 8 + length * (length % 3) + 8 * length + 8 + length for length in lengths]
        assert _arrow.row_bytes(part).tolist() == sizes
        assert len(table) == 1 or sum(sizes) <= most
        for row, length in zip(table["tensor"].to_pylist(), lengths, strict=True):
            assert (row["data"], row["shape"]) == ([float(length)] * 2 * length, [length, 2])


@pytest.mark.slice
@given(start=st.integers(0, 120), rows=st.integers(0, 120))
def test_tensors_of_ray_and_back_are_the_same(drives: tt.Table, start: int, rows: int) -> None:
    table = content(drives).slice(start, rows)
    assert _arrow.of_ray(_arrow.to_ray(table), data.SCHEMA).equals(table)
    assert _arrow.to_ray(table).schema == _arrow.ray_schema(table.schema)


@pytest.mark.slice
def test_tensors_keep_their_memory_on_the_way_to_ray(drives: tt.Table) -> None:
    def values(array: Any) -> int:
        buffers = (array.storage if isinstance(array, pa.ExtensionArray) else array).buffers()
        return max((one.size, one.address) for one in buffers if one is not None)[1]

    (split,) = cluster.plan_read(drives, columns=["camera.*", "lidar.points"], splits=1)
    for batch in cluster.read(split):
        block = _arrow.to_ray(pa.table(batch))
        for name in ("camera.intrinsics", "camera.raw", "lidar.points"):
            assert values(block[name].chunk(0)) == values(batch[name]), name


def test_null_elements_of_tensors_are_refused_by_name(tmp_path: Path) -> None:
    rows = {"fixed": [[1, 2], None, [3, None]], "ragged": [[1.5], None, [2.5, None]]}
    table = tt.write_table(tmp_path / "t", {"i": [0, 1, 2], **rows}, index="i", schema={"fixed": "i8[2]", "ragged": "f32[?]"})
    for column in rows:
        (split,) = cluster.plan_read(table, columns=[column], splits=1)
        (batch,) = cluster.read(split)
        with pytest.raises(tt.Unsupported, match=f"column `{column}`: an element of a tensor is null, and Ray has no null"):
            _arrow.to_ray(batch)
        assert _arrow.to_ray(batch.slice(0, 2)).num_rows == 2


def test_tensors_of_other_shapes_and_nulls_in_each_block_are_written(engine: str, tmp_path: Path) -> None:
    def row(number: int) -> dict[str, Any]:
        return {"id": number % 3, "time": -number, "x.a": None if number % 5 == 1 else np.full((number // 4, 2), number, np.float32)}

    ds = ray.data.range(24, override_num_blocks=6).map(lambda row_of_ray: row(row_of_ray["id"]))
    schema = {"id": "i64", "time": "i64", "x.a": "f32[?,2]"}
    layout = {"schema": schema, "index": ["id", "time"], "sequence_by": ["id"], "order_by": ["time"]}
    table = tetrys.ray.write(ds, str(tmp_path / "t"), partitions=2, **layout)
    index = tt.read_index(table).sort(["id", "time"])
    found = tt.row_loader(index).take(range(24))["x.a"].to_list()
    expected = sorted(map(row, range(24)), key=lambda row: (row["id"], row["time"]))
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted["x.a"])
    blocks = [pa.table({"id": [0], "x.a": ray.data.extensions.ArrowTensorArray.from_numpy(np.ones((1, rows, 2)))}) for rows in (1, 2, 1)]
    (batch,) = _arrow.sorted_batches(blocks, ["id"], 10**6, {"id": "i64", "x.a": "f32[?,2]"})
    assert [value["shape"] for value in batch["x.a"].to_pylist()] == [[1, 2], [2, 2], [1, 2]]
    with pytest.raises(tt.Invalid, match=r"x\.a"):
        tetrys.ray.write(ds.map(lambda row: row | {"x.a": {1, 2}}), str(tmp_path / "u"), partitions=1, **layout)


def test_blocks_of_pandas_are_written(engine: str, tmp_path: Path) -> None:
    ds = ray.data.range(9).map_batches(lambda frame: frame.assign(**{"a.text": frame["id"].astype(str)}), batch_format="pandas")
    table = tetrys.ray.write(ds, str(tmp_path / "t"), index=["id"])
    assert tt.row_loader(table).take(range(9))["a.text"].tolist() == [str(number) for number in range(9)]


# --- extracting


@pytest.mark.slice
def test_extraction_is_what_one_process_writes(engine: str, store: str, tmp_path: Path) -> None:
    size = {"frames": 2000, "raw_bytes": 50_000} if FULL else {"frames": 60, "raw_bytes": 5_000}
    logs = data.names(20 if FULL else 6)
    seen: list[tetrys.ray.Progress] = []
    table = tetrys.ray.extract(
        logs, lambda log: data.batches(log, **size), f"{store}/t", schema=data.SCHEMA, progress=seen.append, **data.LAYOUT
    )
    expected = alone(str(tmp_path / "alone"), logs, **size)
    if FULL:
        for log in logs:
            one, other = (tt.row_loader(tt.read_index(each).filter(log=log)) for each in (table, expected))
            assert all(pa.table(a).equals(pa.table(b)) for a, b in zip(one.scan(200), other.scan(200), strict=True))
    else:
        assert content(table).equals(content(expected))
    assert tt.read_index(table)["log"].unique(maintain_order=True).to_list() == logs
    if store == str(tmp_path):
        assert chunks(table) == chunks(expected)
    assert [state.done for state in seen] == list(range(len(logs) + 1))
    assert seen[-1].rows == len(table) and seen[-1].bytes > 0 and seen[-1].shared_bytes == 0


def test_rows_and_batches_are_the_same_to_extract(engine: str, tmp_path: Path) -> None:
    def mixed(log: str) -> Iterator[Any]:
        yield from (data.row(log, frame) for frame in range(5))
        yield from data.batches(log, 8, start=5)
        yield pa.table(tt.row_loader(alone(f"{tmp_path}/{log}", [log]), columns=[*data.SCHEMA]).take(range(8, 12)))
        yield from (data.row(log, frame) for frame in range(12, 20))

    table = tetrys.ray.extract(LOGS[:2], mixed, str(tmp_path / "t"), schema=data.SCHEMA, **data.LAYOUT)
    assert content(table).equals(content(alone(str(tmp_path / "alone"), LOGS[:2])))


@pytest.mark.parametrize("yielded", [3, "text", None, [3], [{"log": "a"}, {"log": "a", "time": 1}]])
def test_what_is_no_row_and_no_batch_is_refused(yielded: Any, tmp_path: Path) -> None:
    with pytest.raises(tt.Error):
        cluster.write(
            cluster.plan_write(str(tmp_path / "t"), schema=data.SCHEMA, labels=["a"], **data.LAYOUT).task(0), batches_of(yielded, ["log", "time"])
        )


@pytest.mark.skipif(not L5.exists(), reason="no shared Level 5 data")
@pytest.mark.parametrize(("name", "count"), [("multi_scene", 4), ("single_scene", 1), ("oldformat_v1", 1)])
def test_level_5_scenes_are_extracted_as_they_are_ingested(engine: str, store: str, tmp_path: Path, name: str, count: int) -> None:
    ingested = tt.ingest_l5(str(L5 / f"{name}.zarr"), str(tmp_path / "ingested"))
    sources = [f"{L5}/{name}.zarr#{scene}" for scene in range(count)]
    table = tetrys.ray.extract(sources, data.scenes, f"{store}/t", **data.layout_of(ingested))
    assert content(table, ("scene_index", "frame_index")).equals(content(ingested, ("scene_index", "frame_index")))


@pytest.mark.slice
def test_sources_are_text_or_paths(engine: str, tmp_path: Path) -> None:
    settings = {"schema": {"name": "utf8"}, "index": "name"}
    sources = [tmp_path / "a.bag", "s3://team/b.bag"]
    table = tetrys.ray.extract(sources, lambda name: [{"name": name}], str(tmp_path / "t"), **settings)
    assert tt.read_index(table)["name"].to_list() == [str(tmp_path / "a.bag"), "s3://team/b.bag"]
    for source, message in [(table, "Table"), (b"a.bag", "bytes b'a.bag'"), (3, "int 3")]:
        with pytest.raises(TypeError, match=f"sources: expected names as text or paths, found {message}"):
            tetrys.ray.extract([source], lambda name: [], str(tmp_path / "u"), **settings)


@pytest.mark.slice
def test_a_source_that_raises_is_named_and_resume_writes_the_others(engine: str, tmp_path: Path) -> None:
    url, ran, broken = str(tmp_path / "t"), tmp_path / "ran", tmp_path / "broken"
    ran.mkdir()
    broken.touch()

    def rows(log: str) -> Iterator[Any]:
        (ran / f"{log} {time.time_ns()}").touch()
        if log == LOGS[3] and broken.exists():
            while len(list(ran.iterdir())) < 4:
                time.sleep(0.01)
            yield data.row(log, 0)
            raise RuntimeError("the file is cut")
        yield from data.rows(log)

    settings = {"schema": data.SCHEMA, "retries": 1, **data.LAYOUT}
    with pytest.raises(tt.Invalid, match=r"source `log 003` \(partition 3 of .*RuntimeError: the file is cut.*resume=True"):
        tetrys.ray.extract(LOGS[:4], rows, url, **settings)
    assert is_absent(url)
    (plan,) = cluster.open_sessions(url)
    done = {receipt.partition for receipt in cluster.found(plan)}
    assert 3 not in done
    assert sum(path.name.startswith(LOGS[3]) for path in ran.iterdir()) == 2
    broken.unlink()
    before = {path.name for path in ran.iterdir()}
    table = tetrys.ray.extract(LOGS[:4], rows, url, resume=True, **settings)
    again = {path.name[:7] for path in ran.iterdir() if path.name not in before}
    assert again == {log for number, log in enumerate(LOGS[:4]) if number not in done}
    assert content(table).equals(content(alone(str(tmp_path / "alone"), LOGS[:4])))
    assert cluster.open_sessions(url) == []


def test_rows_out_of_order_and_sequences_of_two_sources_are_refused(engine: str, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    settings = {"schema": data.SCHEMA, "retries": 0, **data.LAYOUT}
    with pytest.raises(tt.Error, match="log 001"):
        tetrys.ray.extract(LOGS[:2], lambda log: [data.row(log, 3), data.row(log, 2)] if log == LOGS[1] else data.rows(log), url, **settings)
    with pytest.raises(tt.Invalid, match=r"log 00[01]"):
        tetrys.ray.extract(LOGS[:2], lambda log: data.rows(LOGS[0]), url, **settings)
    with pytest.raises(tt.Error, match="log 001.*labels.count|labels.count.*log 001"):
        tetrys.ray.extract(LOGS[:2], lambda log: [data.row(log, 0) | ({"labels.count": "x"} if log == LOGS[1] else {})], url, **settings)
    assert is_absent(url)
    with pytest.raises(tt.Invalid, match="schema"):
        tetrys.ray.extract(LOGS[:2], data.rows, url, resume=True, **settings | {"schema": data.SCHEMA | {"labels.count": "i32"}})


@pytest.mark.parametrize(
    "arguments", [{"sources": 3}, {"sources": ["a", "a"]}, {"sources": [b"a"]}, {"fn": None}, {"resume": 1}, {"retries": -1}, {"retries": 1.5}, {"schema": {}}, {"index": []}]
)
def test_silly_extractions_are_refused(engine: str, tmp_path: Path, arguments: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"sources": LOGS[:1], "fn": data.rows, "schema": data.SCHEMA, **data.LAYOUT} | arguments
    with pytest.raises(tt.Error):
        tetrys.ray.extract(settings.pop("sources"), settings.pop("fn"), str(tmp_path / "t"), **settings)
    assert is_absent(str(tmp_path / "t"))


def test_a_task_carries_the_name_of_its_source_and_no_rows(tmp_path: Path) -> None:
    plan = cluster.plan_write(str(tmp_path / "t"), schema=data.SCHEMA, labels=LOGS, **data.LAYOUT)
    assert len(pickle.dumps(plan.task(3))) < 4096


# --- arguments

# Values that no argument means: a try then runs no job.
NEVER = ["-1", "10**5000", "1.5", "nan", "surrogate", "bytes", "ragged", "[object]", "{1: 2}", "object", "mute", "array[2,2]", "endless", "NA"]
OPTIONS: dict[str, dict[str, Callable[[], object]]] = {
    "ray_remote_args": {"unknown": lambda: {"cpus": 1}, "text": lambda: {"num_cpus": "x"}, "negative": lambda: {"num_cpus": -1}},
    "retries": {"too many": lambda: 2**31},
    "schema": {"a class": lambda: {"id": int}, "unknown": lambda: {"id": "int"}, "pairs": lambda: [("id", "i64")]},
    "fn": {"not sent": lambda: (lambda lock: lambda name: [lock])(threading.Lock())},
    "partitions": {"too many": lambda: 2**40},
    "predicate_expr": {"polars": lambda: pl.col("time") > 1, "SQL": lambda: "time > 1"},
    "ds": {"a list": lambda: [{"id": 1}], "a table": lambda: pa.table({"id": [1]}), "class": lambda: ray.data.Dataset},
}


@pytest.mark.slice
def test_a_silly_argument_is_an_error_of_tetrys_or_has_a_meaning(engine: str, drives: tt.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read = {"columns": ["time"], "offsets": None, "where": None, "view": None, "batch_bytes": 1000, "allow": (), "storage_options": None}
    layout: dict[str, Any] = {"url": "t", "schema": {"id": "i64"}, "index": ["id"], "sequence_by": (), "order_by": (), "mode": "create"}
    source = TetrysDatasource(drives, columns=["time"])
    calls: dict[str, Any] = {
        "read": lambda: (tetrys.ray.read, {"source": drives, **read, "concurrency": None, "override_num_blocks": 1}),
        "TetrysDatasource": lambda: (TetrysDatasource, {"source": drives, **read}),
        "apply_predicate": lambda: (source.apply_predicate, {"predicate_expr": col("time") > 1}),
        "get_read_tasks": lambda: (source.get_read_tasks, {"parallelism": 1}),
        "write": lambda: (tetrys.ray.write, {"ds": ray.data.range(3), **layout, "partitions": None, "concurrency": None, "ray_remote_args": None}),
        "TetrysDatasink": lambda: (lambda **given: TetrysDatasink(**given).on_write_start(), {**layout, "write_memory": None}),
        "extract": lambda: (tetrys.ray.extract, {"sources": ["a"], "fn": data.rows, **layout, "retries": 0, "ray_remote_args": None, "progress": False, "resume": False}),
    }
    for name, make in calls.items():
        assert not (wrong := wrong_answers(make, OPTIONS, NEVER)), f"{name}\n" + "\n".join(wrong)


def test_what_ray_refuses_starts_no_session(engine: str, tmp_path: Path) -> None:
    url, layout = str(tmp_path / "t"), {"schema": {"id": "i64"}, "index": ["id"]}
    with pytest.raises(ValueError, match="ray_remote_args: .*cpus"):
        tetrys.ray.write(ray.data.range(3), url, ray_remote_args={"cpus": 1}, **layout)
    with pytest.raises(ValueError, match="ray_remote_args: .*cpus"):
        tetrys.ray.extract(["a"], data.rows, url, ray_remote_args={"cpus": 1}, **layout)
    with pytest.raises(TypeError, match="fn: Ray cannot send it to the workers"):
        tetrys.ray.extract(["a"], OPTIONS["fn"]["not sent"](), url, **layout)  # type: ignore[arg-type]
    assert cluster.open_sessions(url) == []


# --- faults


@pytest.mark.parametrize("number", [pytest.param(number, marks=() if number else pytest.mark.slice) for number in range(12 if FULL else 5)])
def test_killed_workers_and_drivers_leave_no_table_or_the_whole_one(engine: str, tmp_path: Path, drives: tt.Table, number: int) -> None:
    seed = SEED + number
    print(f"seed {seed:#x}")
    job(engine, tmp_path, seed, drives)


def private_bytes() -> int:
    with open("/proc/self/smaps_rollup") as lines:
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


class Watched(TetrysDatasink):  # type: ignore[misc]
    """Datasink that returns the growth of private memory of each task, instead of receipts."""

    def write(self, blocks: Iterable[Any], ctx: Any) -> int:
        return growth(lambda: super(Watched, self).write(blocks, ctx))

    def on_write_complete(self, write_result: Any) -> None:
        self.growth = [one for one in write_result.write_returns if one]


def growth(work: Callable[[], Any]) -> int:
    """Returns the most private memory that a function takes."""
    before, most, done = private_bytes(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, private_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(0, most - before)


MEGABYTES_10 = 10_000_000
WRITE_MEMORY = 512 << 20


def test_a_worker_that_writes_rows_of_10_mb_stays_within_the_memory_of_its_writer(engine: str, tmp_path: Path) -> None:
    """Without the object store, in which Ray holds the input of a task."""
    memory = tmp_path / "memory"

    def rows(log: str) -> Iterator[Any]:
        most, before = 0, private_bytes()
        for frame in range(80):
            yield data.row(log, frame, MEGABYTES_10)
            most = max(most, private_bytes())
        memory.write_text(str(most - before))

    table = tetrys.ray.extract(LOGS[:1], rows, str(tmp_path / "t"), schema=data.SCHEMA, write_memory=WRITE_MEMORY, **data.LAYOUT)
    assert len(table) == 80
    assert int(memory.read_text()) < WRITE_MEMORY * 5 // 4


def test_a_worker_that_writes_blocks_of_ray_stays_within_the_memory_of_its_writer(engine: str, tmp_path: Path) -> None:
    sink = Watched(str(tmp_path / "t"), schema={"id": "i64", "camera.raw": "binary"}, index=["id"], sequence_by=["id"], order_by=["id"])
    ds = ray.data.range(40, override_num_blocks=2)
    ds = ds.map(lambda row: {"id": row["id"], "camera.raw": np.random.default_rng(row["id"]).bytes(MEGABYTES_10)})
    ds.repartition(2, keys=["id"]).write_datasink(sink)
    print(f"growth of private memory: {[int(one) >> 20 for one in sink.growth]} MiB")
    assert len(sink.growth) == 2 and max(sink.growth) < WRITE_MEMORY * 5 // 4


def test_a_dataset_without_sequences_is_sorted_by_ray(engine: str, tmp_path: Path) -> None:
    ds = ray.data.range(1000, override_num_blocks=5).random_shuffle(seed=SEED).map_batches(lambda batch: batch | {"a.x": batch["id"] * 2})
    table = tetrys.ray.write(ds, str(tmp_path / "t"), index=["id"], order_by=["id"])
    assert tt.row_loader(table).take(range(1000))["a.x"].tolist() == list(range(0, 2000, 2))
    table = tetrys.ray.write(ray.data.range(1000, override_num_blocks=5), str(tmp_path / "u"), index=["id"])
    assert tt.read_index(table)["id"].to_list() == list(range(1000))


# --- the guide


def test_the_code_of_the_guide_runs_from_top_to_bottom(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/cluster.md").read_text()
    chapters = {part.splitlines()[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)}
    code = chapters["Ray"] + chapters["Any scheduler, or none"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", code, re.MULTILINE | re.DOTALL):
        # Workers have another working folder.
        block = re.sub(r'"(drives|labels|counts)"', rf'"{tmp_path}/\1"', block)
        *lines, last = ast.parse(block).body
        exec(compile(ast.Module(lines, []), str(page), "exec"), names)
        if isinstance(last, ast.Expr):
            names["shown"] = eval(compile(ast.Expression(last.value), "guide", "eval"), names)
            assert names["shown"] in (60, 6, True, (4, 3, 3), None) or names["shown"] == (60, True)
        else:
            exec(compile(ast.Module([last], []), "guide", "exec"), names)


@pytest.mark.slice
@pytest.mark.parametrize("is_apart", [False, True])
def test_recordings_become_the_table_of_one_process(engine: str, tmp_path: Path, is_apart: bool) -> None:
    logs = recordings(tmp_path, "monday", "broken", "tuesday")
    recipe, other = (apart(RECIPE, tmp_path / name) if is_apart else RECIPE for name in ("alone", "ray"))
    with pytest.warns(UserWarning, match="log broken failed"):
        alone = tt.ingest_logs(logs, tmp_path / "alone" / "table", recipe)
    with pytest.warns(UserWarning, match="log broken failed and is not in the table: .*expected a file that begins with"):
        table = tetrys.ray.ingest_logs(logs, tmp_path / "ray" / "table", other, ray_remote_args={"num_cpus": 1})
    assert (len(table), table.is_view) == (100, is_apart)
    assert values(table).equals(values(alone))
    # The same call again adds what is missing.
    recordings(tmp_path, "monday")
    (tmp_path / "broken.mcap").write_bytes((tmp_path / "monday.mcap").read_bytes())
    assert len(tetrys.ray.ingest_logs(logs, tmp_path / "ray" / "table", other)) == 150


DOCUMENTED = [tetrys.ray.read, tetrys.ray.write, tetrys.ray.extract, tetrys.ray.ingest_logs, TetrysDatasource, TetrysDatasink]


@pytest.mark.parametrize("thing", DOCUMENTED, ids=lambda thing: thing.__name__)
def test_an_example_does_what_it_says(engine: str, drives_of_docs: Path, thing: Any) -> None:
    # Workers have another working folder.
    recordings(drives_of_docs, "monday", "tuesday")
    text = re.sub(r'"(drives|sweeps|numbers|extracted|synced|\w+\.mcap)"', rf'"{drives_of_docs}/\1"', inspect.getdoc(thing) or "")
    names = {"tt": tt, "np": np, "pl": pl, "ray": ray, "tetrys": tetrys, "recipe": RECIPE}
    output: list[str] = []
    failed, tried = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, names, thing.__name__, None, None), out=output.append)
    assert tried > 0 and not failed, "".join(output)


@pytest.fixture
def drives_of_docs(tmp_path: Path) -> Path:
    """A folder with the table `drives` that the examples use."""
    rows = {"log_id": ["monday"] * 10 + ["tuesday"] * 10, "timestamp": np.arange(20) * 100, "pedestrians": np.arange(20) % 5}
    tt.write_table(
        str(tmp_path / "drives"), rows | {"camera.intrinsics": np.zeros((20, 3, 3))}, index=["log_id", "timestamp", "pedestrians"], sequence_by="log_id"
    )
    return tmp_path
