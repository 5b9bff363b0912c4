"""Reads and writes that many processes carry out: whatever is killed, repeated or lost, a table is absent or complete."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.fs
import pytest
import tetrys as tt
from conftest import ROWS, picture, points
from hypothesis import given
from hypothesis import strategies as st
from tetrys import cluster

SCHEMA = {"log": "utf8", "time": "i64", "a.x": "f32[2]", "b.points": "i16[?,3]", "b.text": "utf8"}
LAYOUT: dict[str, Any] = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"]}
FULL = os.environ.get("TETRYS_FULL") == "1"
SECRET = "hunter2hunter2hunter2"


def rows(log: str, count: int, ties: bool = False) -> dict[str, Any]:
    """Returns the rows of a log. Two rows each have the same time; `ties` exchanges them."""
    order = np.arange(count)
    if ties:
        order = order[: count // 2 * 2].reshape(-1, 2)[:, ::-1].reshape(-1)
        order = np.concatenate([order, np.arange(len(order), count)])
    return {
        "log": [log] * count,
        "time": order // 2,
        "a.x": np.stack([order, order * 2], axis=1).astype(np.float32),
        "b.points": [np.full((row % 4, 3), row, np.int16) for row in order],
        "b.text": [f"{log} {row}" for row in order],
    }


def halves(batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    half = len(batch["log"]) // 2
    yield {name: values[:half] for name, values in batch.items()}
    yield {name: values[half:] for name, values in batch.items()}


def texts(source: tt.Table | str, **options: Any) -> list[str]:
    """Returns a column of all rows, as splits give it."""
    splits = cluster.plan_read(source, splits=3, **options)
    batches = (batch for split in splits for batch in cluster.read(split, 2000))
    return [text for batch in batches for text in batch["b.text"].to_pylist()]


def clean(table: tt.Table) -> None:
    """Collects all garbage, and checks that nothing is left over and nothing is missing."""
    for _ in range(4):
        table.gc(age=timedelta(), apply=True)
    table = tt.Table(table.url)
    plan = table.gc(age=timedelta())
    assert not plan["condemn"] and not plan["delete"] and not plan["sweep"] and not plan["waiting"], plan
    assert table.verify(all_versions=True)["damage"] == []
    if "://" not in table.url or table.url.startswith("file:"):
        root = Path(table.url.removeprefix("file://"))
        assert not (root / "sessions").exists()


class Killed(Exception):
    """Stands for a worker that stops in the middle."""


def broken_off(batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield next(halves(batch))
    raise Killed


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Any]:
    partitions = draw(st.integers(1, 4))
    attempt = st.tuples(st.sampled_from(["whole", "ties", "broken"]), st.booleans())
    return {
        "mode": draw(st.sampled_from(get_args(cluster.Mode))),
        "planned": draw(st.sampled_from(["labels", "count", "none"])),
        "exists": draw(st.booleans()),
        "reference": draw(st.booleans()),
        "sizes": draw(st.lists(st.integers(0, 9), min_size=partitions, max_size=partitions)),
        "attempts": draw(st.lists(st.lists(attempt, max_size=3), min_size=partitions, max_size=partitions)),
        "end": draw(st.sampled_from(["winners", "store", "lost driver", "abort"])),
        "winner": draw(st.integers(0, 10)),
        "again": draw(st.booleans()),
    }


@given(histories())
def test_random_histories_give_the_rows_of_one_attempt_each_or_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, history: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    url, mode = str(folder / "t"), history["mode"]
    before: list[str] = []
    if history["exists"] and mode != "create":
        cluster_before = rows("before", 5)
        tt.write_table(url, cluster_before, schema=SCHEMA, **LAYOUT)
        before = cluster_before["b.text"]
    options: dict[str, Any] = {}
    if history["reference"]:
        options["reference"] = tt.write_table(str(folder / "r"), rows("part 0", history["sizes"][0] or 4), schema=SCHEMA, **LAYOUT)
    count = len(history["sizes"])
    if history["planned"] == "labels":
        options["labels"] = [f"source {number}" for number in range(count)]
    elif history["planned"] == "count":
        options["partitions"] = count
    plan = cluster.plan_write(url, schema=SCHEMA, mode=mode, **LAYOUT, **options)
    made: dict[str, list[str]] = {}
    receipts: dict[int, list[tt.Receipt]] = {}

    def attempt(number: int, kind: str) -> tt.Receipt | None:
        batch = rows(f"part {number}", history["sizes"][number], kind == "ties")
        task = pickle.loads(pickle.dumps(plan.task(number)))
        if kind == "broken":
            with pytest.raises(Killed):
                cluster.write(task, broken_off(batch))
            return None
        receipt = pickle.loads(pickle.dumps(cluster.write(task, halves(batch))))
        made[receipt.attempt] = batch["b.text"]
        assert (receipt.partition, receipt.rows, receipt.label) == (number, history["sizes"][number], task.label)
        assert tt.Receipt(receipt.to_json()) == receipt
        return receipt

    for number, tries in enumerate(history["attempts"]):
        with ThreadPoolExecutor(3) as threads:
            done = [attempt(number, kind) for kind, apart in tries if apart]
            done += threads.map(lambda one, number=number: attempt(number, one[0]), [one for one in tries if not one[1]])
        receipts[number] = [receipt for receipt in done if receipt is not None]
    found = cluster.found(plan)
    assert [one.partition for one in found] == [number for number, some in receipts.items() if some]
    assert all(one.attempt == min(other.attempt for other in receipts[one.partition]) for one in found)
    if history["end"] == "abort":
        cluster.abort(plan)
        cluster.abort(plan)
        with pytest.raises(tt.Invalid, match="is over"):
            cluster.commit(plan, found)
        with pytest.raises(tt.Invalid, match=r"partition 0 .*is over"):
            cluster.write(plan.task(0), rows("late", 2))
        assert cluster.open_sessions(url) == []
        assert (texts(url) if before else []) == before
        if before:
            clean(tt.Table(url))
        return
    if history["end"] == "lost driver":
        (plan,) = cluster.open_sessions(url)
    chosen = found
    if history["end"] == "winners":
        chosen = [some[history["winner"] % len(some)] for some in receipts.values() if some]
    given_receipts = chosen if history["end"] == "winners" else None
    missing = [number for number, some in receipts.items() if not some]
    if missing and history["planned"] != "none":
        with pytest.raises(tt.Invalid, match=f"no receipt for partition {missing[0]}") as refused:
            cluster.commit(plan, given_receipts)
        assert history["planned"] != "labels" or f"(`source {missing[0]}`)" in str(refused.value)
        more = [attempt(number, "whole") for number in missing]
        chosen = sorted([*chosen, *(one for one in more if one is not None)], key=lambda one: one.partition)
        given_receipts = chosen if history["end"] == "winners" else None
    elif not chosen and given_receipts is None:
        with pytest.raises(tt.Invalid, match="no partition was finished"):
            cluster.commit(plan)
        cluster.abort(plan)
        return
    with ThreadPoolExecutor(3) as threads:
        tables = list(threads.map(lambda _: cluster.commit(plan, given_receipts), range(3 if history["again"] else 1)))
    assert {table.version for table in tables} == {2 if before else 1}
    assert cluster.commit(plan).version == tables[0].version
    expected = [text for one in chosen for text in made[one.attempt]]
    assert texts(url) == (before if mode == "append" else []) + expected
    assert cluster.open_sessions(url) == []
    if history["reference"] and history["sizes"][0] >= 4 and history["attempts"][0][:1] == [("whole", True)]:
        assert tables[0].du()["versions"][0]["referenced_bytes"] > 0 or chosen[0].attempt != receipts[0][0].attempt
    clean(tables[0])


WORKER = """
import pickle, sys, time
from tetrys import cluster
sys.path.insert(0, {tests!r})
from test_cluster import rows
task, log, count = pickle.load(open({task!r}, "rb"))
def slowly():
    batch = rows(log, count)
    for row in range(count):
        print(row, flush=True)
        time.sleep({pause})
        yield {{name: values[row : row + 1] for name, values in batch.items()}}
print(cluster.write(task, slowly()).to_json(), flush=True)
"""


def worker(folder: Path, task: cluster.WriteTask, log: str, count: int, pause: float) -> subprocess.Popen[str]:
    """Starts a process that writes a partition row by row."""
    file = folder / f"{task.number}-{time.monotonic_ns()}"
    file.write_bytes(pickle.dumps((task, log, count)))
    code = WORKER.format(tests=str(Path(__file__).parent), task=str(file), pause=pause)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", range(50 if FULL else 3))
def test_workers_killed_at_random_times_leave_a_table_that_is_absent_or_complete(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    url, labels = str(tmp_path / "t"), ["a.zarr", "b.zarr"]
    plan = cluster.plan_write(url, schema=SCHEMA, labels=labels, **LAYOUT)
    done: list[tt.Receipt] = []
    workers = [worker(tmp_path, plan.task(number), f"log {number}", 12, 0.02) for number in (0, 1, 1)]
    killed = workers[: 1 + seed % 3]
    for process in killed:
        for _ in range(int(random.integers(0, 14))):
            process.stdout.readline()  # type: ignore[union-attr]
        process.send_signal(signal.SIGKILL)
    for process in workers:
        lines, _ = process.communicate(timeout=120)
        output = lines.splitlines()
        if output and output[-1].startswith("{"):
            done.append(tt.Receipt(output[-1]))
    with pytest.raises(tt.NotFound):
        tt.Table(url)
    # The engine runs the tasks again that have no answer. Some were finished all the same.
    for number in {0, 1} - {receipt.partition for receipt in done}:
        done.append(cluster.write(plan.task(number), rows(f"log {number}", 12)))
    winners = list({receipt.partition: receipt for receipt in done}.values())
    table = cluster.commit(plan, winners if seed % 2 else None)
    assert texts(table) == rows("log 0", 12)["b.text"] + rows("log 1", 12)["b.text"]
    clean(table)


DRIVER = """
import os, signal, sys
from tetrys import cluster
sys.path.insert(0, {tests!r})
from test_cluster import LAYOUT, SCHEMA, rows
plan = cluster.plan_write({url!r}, schema=SCHEMA, labels=["a", "b"], mode="append", **LAYOUT)
for task in plan.tasks[:{tasks}]:
    cluster.write(task, rows(task.label, 6))
if {commits}:
    cluster.commit(plan)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("tasks", "commits"), [(0, False), (1, False), (2, False), (2, True)])
def test_another_driver_commits_or_aborts_what_a_killed_one_left(tmp_path: Path, tasks: int, commits: bool) -> None:
    url = str(tmp_path / "t")
    code = DRIVER.format(tests=str(Path(__file__).parent), url=url, tasks=tasks, commits=commits)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    plans = cluster.open_sessions(url)
    if commits:
        assert plans == []
    elif tasks == 0:
        cluster.abort(plans[0])
        with pytest.raises(tt.NotFound):
            tt.Table(url)
        plans = [cluster.plan_write(url, schema=SCHEMA, labels=["a", "b"], **LAYOUT)]
    for plan in plans:
        there = {receipt.label for receipt in cluster.found(plan)}
        for task in plan.tasks:
            if task.label not in there:
                cluster.write(task, rows(str(task.label), 6))
        cluster.commit(plan)
    assert texts(url) == rows("a", 6)["b.text"] + rows("b", 6)["b.text"]
    clean(tt.Table(url))


def test_rows_of_one_sequence_in_two_tasks_are_refused_by_name(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    plan = cluster.plan_write(url, schema=SCHEMA, labels=["a.zarr", "b.zarr", "c.zarr"], **LAYOUT)
    one, two, other = (cluster.write(task, rows(log, 4)) for task, log in zip(plan.tasks, ["x", "x", "y"], strict=True))
    with pytest.raises(tt.Invalid, match=r"partition 1 \(`b.zarr`\)"):
        cluster.commit(plan, [one, two, other])
    with pytest.raises(tt.NotFound):
        tt.Table(url)
    table = cluster.commit(plan, [one, cluster.write(plan.task(1), rows("z", 4)), other])
    assert len(table) == 12


def test_what_a_task_cannot_write_is_refused_with_its_name(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    plan = cluster.plan_write(url, schema=SCHEMA, labels=["a.zarr"], **LAYOUT)
    (task,) = plan.tasks
    place = r"partition 0 \(`a.zarr`\)"
    falling = {name: values[::-1] for name, values in rows("x", 4).items()}
    for wrong, message in [
        (falling, "less than in the row before"),
        ({name: values for name, values in rows("x", 4).items() if name != "a.x"}, "no column `a.x`"),
        (rows("x", 4) | {"b.more": [1] * 4}, "`b.more`"),
        (rows("x", 4) | {"a.x": ["text"] * 4}, "a.x"),
        (rows("x", 4) | {"a.x": np.zeros((4, 3))}, "a.x"),
    ]:
        with pytest.raises(tt.Error, match=f"{place}.*{message}"):
            cluster.write(task, wrong)
    assert cluster.found(plan) == []
    other = cluster.plan_write(str(tmp_path / "other"), schema=SCHEMA, partitions=1, **LAYOUT)
    foreign = cluster.write(other.task(0), rows("x", 2))
    with pytest.raises(tt.Invalid, match=f"receipt of partition 0 is of session {other.session}, expected {plan.session}"):
        cluster.commit(plan, [foreign])
    table = cluster.commit(plan, [cluster.write(task, iter([]))])
    assert len(table) == 0
    assert [one.name for one in cluster.plan_read(url)[0].schema()] == list(SCHEMA)


def test_an_append_must_have_the_columns_of_the_table(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    tt.write_table(url, rows("x", 4), schema=SCHEMA, **LAYOUT)
    for schema, message in [
        (SCHEMA | {"a.x": "f32[3]"}, r"t: column `a.x`: rows to append have f32\[3\], the table has f32\[2\]"),
        (SCHEMA | {"c.new": "i8"}, "t: rows to append have a column `c.new` that the table lacks"),
        ({name: ty for name, ty in SCHEMA.items() if name != "b.text"}, "t: rows to append lack columns that the table has: b.text"),
    ]:
        with pytest.raises(tt.Invalid, match=message):
            cluster.plan_write(url, schema=schema, mode="append", **LAYOUT)
    with pytest.raises(tt.Invalid, match="sequence_by"):
        cluster.plan_write(url, schema=SCHEMA, mode="append", index=["log", "time"], sequence_by=["time"])
    with pytest.raises(tt.Exists):
        cluster.plan_write(url, schema=SCHEMA, **LAYOUT)
    plan = cluster.plan_write(url, schema=SCHEMA, mode="append", index=["log", "time"])
    assert (plan.sequence_by, plan.sorted_by) == (["log"], ["log", "time"]), "as the table says"
    cluster.abort(plan)
    assert cluster.open_sessions(url) == []
    view = tt.read_index(url)[:2].save(str(tmp_path / "v"))
    with pytest.raises(tt.Unsupported, match="view"):
        cluster.plan_write(view.url, schema=SCHEMA, mode="append", **LAYOUT)


def test_labels_are_text_or_paths(tmp_path: Path) -> None:
    plan = cluster.plan_write(str(tmp_path / "t"), schema=SCHEMA, labels=[tmp_path / "a.bag", "b.bag"], **LAYOUT)
    assert plan.labels == [task.label for task in plan.tasks] == [str(tmp_path / "a.bag"), "b.bag"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda url: cluster.plan_write(url, schema=SCHEMA, mode="replace", **LAYOUT), "mode `replace`"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, partitions=-1, **LAYOUT), "partitions"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, partitions=1.5, **LAYOUT), "partitions: expected an integer"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, partitions=True, **LAYOUT), "partitions: expected an integer"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, partitions=2**40, **LAYOUT), "outside"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, labels="abc", **LAYOUT), "labels: expected a list"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, labels=[1], **LAYOUT), "labels: expected names as text or paths, found int 1"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, labels=Path("a"), **LAYOUT), "labels: expected a list of names, found one name"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, labels=["a"], partitions=2, **LAYOUT), "1 labels for 2 partitions"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, index=[]), "no index column"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, store_options=["region"], **LAYOUT), "store_options: expected a dict"),
        (lambda url: cluster.plan_write(url, schema=SCHEMA, store_options={"region": 1.5}, **LAYOUT), "store_options: expected text"),
        (lambda url: cluster.plan_write(5, schema=SCHEMA, **LAYOUT), "a URL is text or a path"),
        (lambda url: cluster.write("task", {}), "expected a task of a plan"),
        (lambda url: cluster.commit("plan"), "expected a plan"),
        (lambda url: cluster.abort(None), "expected a plan"),
        (lambda url: cluster.read(None), "expected a split"),
        (lambda url: cluster.read_index({}), "expected a split"),
    ],
)
def test_silly_arguments_are_refused(tmp_path: Path, call: Any, error: str) -> None:
    with pytest.raises(tt.Invalid, match=error):
        call(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_silly_arguments_of_plans_and_reads_are_refused(tmp_path: Path, drives: str) -> None:
    plan = cluster.plan_write(str(tmp_path / "t"), schema=SCHEMA, partitions=2, **LAYOUT)
    free = cluster.plan_write(str(tmp_path / "t"), schema=SCHEMA, **LAYOUT)
    for number in (2, -1, 2**32, True, 1.0, None):
        with pytest.raises(tt.Invalid):
            plan.task(number)  # type: ignore[arg-type]
    with pytest.raises(tt.Invalid, match="0 to 4294967294"):
        free.task(2**32 - 1)
    with pytest.raises(tt.Invalid, match="not planned"):
        free.tasks  # noqa: B018
    for wrong in (["receipt"], "receipts", {"a": 1}, 7):
        with pytest.raises(tt.Invalid, match="receipts"):
            cluster.commit(plan, wrong)  # type: ignore[arg-type]
    for options in (
        {"splits": 0},
        {"splits": 1.5},
        {"split_bytes": 0},
        {"split_bytes": "many"},
        {"columns": 5},
        {"columns": ["no.such"]},
        {"offsets": 1.5},
        {"offsets": [0.5]},
        {"offsets": "wide"},
        {"offsets": range(10**12)},
        {"offsets": {"*": range(2**70)}},
        {"offsets": {"lidar.*": None, 3: [0]}},
        {"where": "time > 3"},
        {"where": [True]},
        {"store_options": {"no_such_option": SECRET}} if False else {"store_options": 3},
    ):
        with pytest.raises(tt.Error):
            cluster.plan_read(drives, **options)  # type: ignore[arg-type]
    (split,) = cluster.plan_read(drives, splits=1)
    for size in (0, -1, 1.5, None, "large"):
        with pytest.raises(tt.Invalid):
            cluster.read(split, size)  # type: ignore[arg-type]
    assert sum(len(batch) for batch in cluster.read(split, 2**62)) == ROWS
    assert [len(batch) for batch in cluster.read(split, 1)] == [1] * ROWS


def test_splits_of_index_columns_alone_are_balanced_by_the_bytes_of_the_index(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).permutation(40_000)
    table = tt.write_table(str(tmp_path / "t"), {"i": numbers, "a.x": numbers}, index=["i"])
    stored = table.info()["index_bytes"]
    splits = cluster.plan_read(table, columns=["i"], split_bytes=stored // 4)
    assert 4 <= len(splits) <= 5 and {split.rows for split in splits} <= {8_000, 10_000}
    assert stored * 0.99 <= sum(split.bytes for split in splits) <= stored
    found = [value for split in splits for batch in cluster.read(split) for value in batch["i"].to_pylist()]
    assert found == numbers.tolist()
    (whole,) = cluster.plan_read(table, columns=["i"])
    (some,) = cluster.plan_read(table, columns=["i"], where=pl.col("i") < 4_000)
    assert whole.bytes == stored and 0 < some.bytes <= stored // 9


def test_splits_are_small_and_have_all_rows(drives: str) -> None:
    splits = cluster.plan_read(drives, splits=4)
    assert all(len(pickle.dumps(split)) <= 1024 for split in splits)
    assert sum(split.rows for split in splits) == ROWS
    tables = [pa.Table.from_batches(list(cluster.read(pickle.loads(pickle.dumps(split)))), split.schema()) for split in splits]
    found = pa.concat_tables(tables)
    assert found.column_names[:3] == ["log_id", "timestamp", "pedestrians"]
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [row * 100 for row in range(ROWS)]
    assert found["labels.text"].to_pylist() == [None if row == 3 else f"row {row}" for row in range(ROWS)]
    assert [len(cluster.read_index(split)) for split in splits] == [split.rows for split in splits]
    assert cluster.read_index(splits[0]).column_names == ["log_id", "timestamp", "pedestrians"]


def test_a_filtered_index_is_read_as_ranges_or_as_a_view(tmp_path: Path, drives: str) -> None:
    busy = tt.read_index(drives).filter(pl.col("pedestrians") > 2)
    expected = [f"row {row}" if row != 3 else None for row in range(ROWS) if row % 5 > 2]
    as_view = cluster.plan_read(busy, columns=["labels.*"], splits=2, view=tmp_path / "view")
    assert all(len(split.ranges) == 1 and split.url.endswith("/view") for split in as_view)
    assert len(tt.Table(str(tmp_path / "view"))) == len(expected)
    for splits in (
        as_view,
        cluster.plan_read(busy, columns=["labels.*"], splits=2),
        cluster.plan_read(drives, columns=["labels.*"], where=pl.col("pedestrians") > 2),
        cluster.plan_read(tt.Table(drives), columns="labels.*", where=np.arange(ROWS) % 5 > 2),
    ):
        found = [text for split in splits for batch in cluster.read(split) for text in batch["labels.text"].to_pylist()]
        assert found == expected
        index = pa.concat_tables([cluster.read_index(tt_split) for tt_split in splits])
        assert index.num_columns == 0 or index["timestamp"].to_pylist() == [row * 100 for row in range(ROWS) if row % 5 > 2]
    backwards = busy.sort("timestamp", descending=True)
    with pytest.raises(tt.Invalid, match="pass `view`"):
        cluster.plan_read(backwards)
    turned = cluster.plan_read(backwards, columns=["labels.*"], view=tmp_path / "turned")
    found = [text for split in turned for batch in cluster.read(split) for text in batch["labels.text"].to_pylist()]
    assert found == expected[::-1]
    (nothing,) = cluster.plan_read(drives, where=pl.lit(False))
    assert (nothing.rows, list(cluster.read(nothing)), len(cluster.read_index(nothing))) == (0, [], 0)
    assert "labels.text" in nothing.schema().names


def test_windows_are_lists_with_masks(drives: str) -> None:
    (split,) = cluster.plan_read(drives, columns=["camera.intrinsics", "labels.text"], offsets=range(-1, 1))
    found = pa.Table.from_batches(cluster.read(split, 2000))
    assert found.schema.names == split.schema().names and len(found) == ROWS
    loader = tt.row_loader(tt.Table(drives), columns=["camera.intrinsics", "labels.text"])
    for row in (0, 1, 10, 19):
        window = loader.get_rows(row, offsets=range(-1, 1))
        assert found["labels.text"][row].as_py() == window["labels.text"].tolist()
        assert found["labels.text.mask"][row].as_py() == window.mask.tolist()
    (split,) = cluster.plan_read(drives, offsets={"labels.*": [-1, 0, 1], "lidar.*": [0]})
    (batch,) = cluster.read(split)
    assert batch.schema.names == ["labels.text", "labels.text.mask", "lidar.points", "lidar.points.mask"]
    assert batch["labels.text"][1].as_py() == ["row 0", "row 1", "row 2"] and len(batch["lidar.points"][1]) == 1


def test_batches_are_bounded_whatever_a_row_weighs(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    blobs = [random.bytes(size) for size in itertools.chain([10] * 50, [400_000] * 20)] + [bytes(3_000_000)] * 6
    tt.write_table(str(tmp_path / "t"), {"i": np.arange(len(blobs)), "a.blob": blobs}, index=["i"])
    (split,) = cluster.plan_read(str(tmp_path / "t"), split_bytes="1TiB")
    for most in (1000, 1_000_000, 7_000_000):
        batches = list(cluster.read(split, most))
        assert all(batch.nbytes <= most or len(batch) == 1 for batch in batches)
        assert [blob for batch in batches for blob in batch["a.blob"].to_pylist()] == blobs


@pytest.fixture
def s3(s3_server: str) -> dict[str, str]:
    """Options of a server with the bucket `data`. The environment has none of them."""
    return {
        "endpoint": s3_server,
        "access_key_id": "testing",
        "secret_access_key": SECRET,
        "region": "us-east-1",
        "allow_http": "true",
        "aws_ec2_metadata_disabled": "true",
    }


def test_a_split_reads_the_index_of_its_segments_alone_and_gives_what_a_loader_gives(tmp_path: Path) -> None:
    url, columns = str(tmp_path / "t"), ["log", "time", "b.*", "a.*"]
    table = tt.write_table(url, rows("x", 30), schema=SCHEMA, **LAYOUT)
    first = {path.name for path in (tmp_path / "t/index").rglob("*")}
    table = table.append(rows("y", 20))
    expected = pa.table(tt.row_loader(table, columns=[*LAYOUT["index"], "*"]).take(range(50)))
    for most in (1, 300, 10**6):
        found = [batch for split in cluster.plan_read(url, splits=3) for batch in cluster.read(split, most)]
        assert pa.Table.from_batches(found).cast(expected.schema).equals(expected)
        assert all(batch.nbytes <= most or len(batch) == 1 for batch in found)
        assert all(batch.schema == cluster.plan_read(url)[0].schema() for batch in found)
    only = [one["time"].to_pylist() for split in cluster.plan_read(url, columns=["time"], splits=1) for one in cluster.read(split, 80)]
    assert sum(only, []) == expected["time"].to_pylist() and max(map(len, only)) <= 10
    splits = cluster.plan_read(url, columns=columns, splits=2)
    for path in (tmp_path / "t/index").rglob("*"):
        if path.is_file() and path.name not in first:
            path.unlink()
    (early,) = (split for split in splits if split.ranges[0][0] == 0)
    early = dataclasses.replace(early, ranges=[(3, 9), (11, 30)])
    assert pa.Table.from_batches(cluster.read(early))["time"].to_pylist() == expected["time"].to_pylist()[3:9] + expected["time"].to_pylist()[11:30]
    with pytest.raises(tt.Corrupt, match="index"):
        list(cluster.read(dataclasses.replace(early, ranges=[(25, 35)])))


def test_a_store_without_create_only_puts_is_refused_before_any_task(tmp_path: Path, overwriting_store: dict[str, str], s3: dict[str, str]) -> None:
    url = f"s3://data/{tmp_path.name}/t"
    settings: dict[str, Any] = {"schema": SCHEMA, "labels": ["a"], "store_options": overwriting_store, **LAYOUT}
    for mode in ("create", "append", "overwrite"):
        with pytest.raises(tt.Unsupported, match=rf"{url}: the store ignores create-only puts .*single_writer=true"):
            cluster.plan_write(url, mode=mode, **settings)
    # The table is made through another server: a session that is open cannot be committed through this one.
    plan = cluster.plan_write(url, **settings | {"store_options": s3})
    receipt = cluster.write(plan.task(0), rows("x", 9))
    (found,) = cluster.open_sessions(url, overwriting_store)
    with pytest.raises(tt.Unsupported, match="create-only"):
        cluster.commit(found, [receipt])
    with pytest.raises(tt.NotFound):
        cluster.plan_read(url, store_options=s3)
    assert len(cluster.commit(plan, [receipt])) == 9
    # A user who is the only writer can promise that.
    single = overwriting_store | {"single_writer": "true"}
    more = cluster.plan_write(url, **settings | {"mode": "append", "store_options": single})
    assert len(cluster.commit(more, [cluster.write(more.task(0), rows("y", 7))])) == 16


def test_options_of_stores_travel_in_tasks_alone(tmp_path: Path, s3: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    url = f"s3://data/{tmp_path.name}/t"
    plan = cluster.plan_write(url, schema=SCHEMA, labels=["a", "b"], store_options=s3, **LAYOUT)
    (task, other), shown = plan.tasks, [repr(plan), str(plan), *map(repr, plan.tasks), *map(str, plan.tasks)]
    assert SECRET.encode() in pickle.dumps(task), "the caller passed it, so that workers have it"
    code = "import pickle, sys; from tetrys import cluster; sys.path.insert(0, sys.argv[1]); from test_cluster import rows\n"
    code += "print(cluster.write(pickle.load(sys.stdin.buffer), rows('x', 9)).to_json())"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)], input=pickle.dumps(task), capture_output=True, check=True
    )
    receipts = [tt.Receipt(ran.stdout.decode()), cluster.write(other, rows("y", 7))]
    cluster.write(other, rows("y", 7, ties=True))
    shown += [ran.stderr.decode(), *(receipt.to_json() for receipt in receipts), *map(repr, receipts)]
    (lost,) = cluster.open_sessions(url, s3)
    assert [one.attempt for one in cluster.found(lost)][0] == receipts[0].attempt
    with pytest.raises(tt.Invalid, match="no receipt for partition 1") as refused:
        cluster.commit(lost, receipts[:1])
    shown.append(str(refused.value))
    stored = listed(s3, f"{tmp_path.name}/t")
    assert any(name.endswith("plan.json") for name in stored)
    assert not [name for name, content in stored.items() if SECRET.encode() in content or SECRET in name]
    table = cluster.commit(lost, receipts)
    assert texts(table, store_options=s3) == rows("x", 9)["b.text"] + rows("y", 7)["b.text"]
    splits = cluster.plan_read(url, splits=2, store_options=s3)
    shown += [repr(split) for split in splits]
    assert sum(len(cluster.read_index(pickle.loads(pickle.dumps(split)))) for split in splits) == 16
    assert not [name for name in listed(s3, f"{tmp_path.name}/t") if "/sessions/" in name]
    wrong = {"no_such_option": SECRET}
    for call in (lambda: cluster.open_sessions(url, wrong), lambda: cluster.plan_read(url, store_options=wrong)):
        with pytest.raises(tt.Invalid) as refused:
            call()
        shown.append(str(refused.value))
    more = cluster.plan_write(url, schema=SCHEMA, mode="append", reference=url, store_options=s3, **LAYOUT)
    cluster.write(more.task(0), rows("z", 4))
    cluster.abort(more)
    assert not [name for name in listed(s3, f"{tmp_path.name}/t") if "/sessions/" in name]
    assert not [text for text in [*shown, caplog.text] if SECRET in text]


def listed(s3: dict[str, str], prefix: str) -> dict[str, bytes]:
    """Returns the objects below a prefix of the bucket."""
    store = pyarrow.fs.S3FileSystem(
        endpoint_override=s3["endpoint"], scheme="http", region=s3["region"], access_key=s3["access_key_id"], secret_key=SECRET
    )
    chosen = pyarrow.fs.FileSelector(f"data/{prefix}", recursive=True, allow_not_found=True)
    files = [found.path for found in store.get_file_info(chosen) if found.is_file]
    return {name: store.open_input_file(name).read() for name in files}


PUBLIC = [(name, getattr(cluster, name)) for name in cluster.__all__ if name != "Receipt"]
EXAMPLES = {name: inspect.getdoc(thing) or "" for name, thing in PUBLIC if ">>>" in (inspect.getdoc(thing) or "")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    tt.write_table(
        "drives",
        {
            "log_id": ["monday"] * 10 + ["tuesday"] * 10,
            "timestamp": np.arange(ROWS) * 100,
            "pedestrians": np.arange(ROWS) % 5,
            "lidar.points": [points(row) for row in range(ROWS)],
            "camera.intrinsics": np.zeros((ROWS, 3, 3)),
            "camera.jpeg": [picture(row, "jpeg") for row in range(ROWS)],
            "labels.text": [f"row {row}" for row in range(ROWS)],
        },
        index=["log_id", "timestamp", "pedestrians"],
        sequence_by=["log_id"],
        order_by=["timestamp"],
    )
    names = {"tt": tt, "np": np, "pl": pl, "cluster": cluster}
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, None)
    output: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=output.append)
    assert tried > 0 and not failed, "".join(output)


def test_every_public_function_is_documented_by_example() -> None:
    functions = {name for name, thing in PUBLIC if inspect.isfunction(thing)}
    assert functions == EXAMPLES.keys() and all(inspect.getdoc(thing) for _, thing in PUBLIC)
