"""Logs: recordings become rows, by a recipe that is a mapping or a file."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from log_data import apart, recordings, values
from tetrys._ingest_logs import Failed, LogTask, import_of, ingest_by, write_log
from tetrys.cluster import Receipt


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the recording of the chapter, `monday.mcap`."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/guide/logs.md").read_text(encoding="utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert code is not None
    exec(compile(code[1], "logs.md", "exec"), {})
    return tmp_path


RECIPE: dict[str, Any] = {
    "clock": {"topic": "/camera", "name": "camera", "time": "stamp"},
    "match": [
        {"name": "imu", "topic": "/imu", "time": "stamp", "policy": "all", "tolerance": "20ms"},
        {"name": "odom", "topic": "/odom", "time": "stamp", "policy": "nearest", "tolerance": "none", "future": True, "fields": ["speed", "stamp"]},
    ],
}
START = 1_770_000_000_000_000_000


def test_rows_have_the_messages_that_the_recipe_says_and_their_differences(folder: Path) -> None:
    seen: list[int] = []
    table = tt.ingest_logs("monday.mcap", "synced", RECIPE, progress=seen.append)
    assert len(table) == 50 and seen[-1] == 50
    frame = tt.read_index(table).to_polars()
    assert frame["log"].unique().to_list() == ["monday"]
    assert frame["time"].dtype == pl.Datetime("ns") and frame["odom.dt"].dtype == pl.Duration("ns")
    assert frame["time"].cast(pl.Int64).to_list() == [START + tick * 10**8 for tick in range(50)]
    assert frame["odom.dt"].cast(pl.Int64).to_list() == [0] * 50
    assert (frame["odom.stamp"] == frame["time"]).all()
    rows = tt.row_loader(table).take([0, 1, 49])
    # The IMU has five messages between two pictures, and the first row takes those of 20 ms.
    assert [np.shape(rows["imu.acceleration"][row]) for row in range(3)] == [(1, 3), (5, 3), (5, 3)]
    assert np.array_equal(rows["imu.acceleration"][1], np.tile([0.0, 0.1, 9.81], (5, 1)))
    assert bytes(rows["camera.data"][2]) == bytes([49]) * 1000
    report = json.loads(table.attachment("logs.report.json"))
    assert [(one["name"], one["matched"], one["missing"]) for one in report["logs"][0]["matches"]] == [("camera", 50, 0), ("imu", 50, 0), ("odom", 50, 0)]


def test_the_same_call_adds_the_logs_that_are_missing_and_names_those_that_fail(folder: Path) -> None:
    monday = (folder / "monday.mcap").read_bytes()
    (folder / "broken.mcap").write_bytes(b"no recording")
    with pytest.warns(UserWarning, match="log broken failed and is not in the table: .*broken.mcap: expected a file that begins with"):
        table = tt.ingest_logs(["broken.mcap", "monday.mcap"], "synced", RECIPE)
    assert (len(table), table.version) == (50, 1)
    (folder / "broken.mcap").write_bytes(monday)
    table = tt.ingest_logs(["broken.mcap", "monday.mcap"], "synced", RECIPE)
    assert (len(table), table.version) == (100, 2)
    assert tt.ingest_logs(["broken.mcap", "monday.mcap"], "synced", RECIPE).version == 2
    other = {**RECIPE, "match": []}
    with pytest.raises(tt.Invalid, match="the table was made with another recipe"):
        tt.ingest_logs("tuesday.mcap", "synced", other)


def test_a_cut_log_gives_its_beginning_with_a_warning_and_strict_refuses_it(folder: Path) -> None:
    cut = (folder / "monday.mcap").read_bytes()[:100_000]
    (folder / "cut.mcap").write_bytes(cut)
    with pytest.warns(UserWarning, match="cut.mcap: the file is cut at byte 100000"):
        table = tt.ingest_logs("cut.mcap", "synced", RECIPE)
    assert 10 < len(table) < 50
    with pytest.raises(tt.Corrupt, match="cut.mcap: the file is cut at byte 100000"):
        tt.ingest_logs("cut.mcap", "strict", RECIPE, strict=True)


def test_a_plan_is_a_recipe_that_works_and_info_says_why(folder: Path) -> None:
    (info,) = tt.logs.info("monday.mcap")
    imu = next(topic for topic in info["topics"] if topic["topic"] == "/imu")
    assert (imu["messages"], imu["time"], imu["delay"]) == (250, "stamp", [2_200_000] * 3)
    plan = tt.logs.plan(["monday.mcap"])
    assert tomllib.loads(plan)["clock"] == {"topic": "/camera", "name": "camera", "time": "stamp"}
    (folder / "sync.toml").write_text(plan)
    by_file = tt.ingest_logs("monday.mcap", "file", Path("sync.toml"), start="2026-02-02T02:40:01Z", end=START + 2 * 10**9)
    by_mapping = tt.ingest_logs("monday.mcap", "mapping", tomllib.loads(plan))
    assert (len(by_file), len(by_mapping)) == (11, 50)


def test_ctrl_c_ends_an_import_and_nothing_is_read_or_written_afterwards(folder: Path) -> None:
    monday = (folder / "monday.mcap").read_bytes()
    logs = [f"log{number}.mcap" for number in range(200)]
    for log in logs:
        (folder / log).write_bytes(monday)
    seen: list[int] = []

    def stop(rows: int) -> None:
        if not seen:
            os.kill(os.getpid(), signal.SIGINT)
        seen.append(rows)

    with pytest.raises(KeyboardInterrupt):
        tt.ingest_logs(logs, "synced", RECIPE, workers=1, progress=stop)
    # What is under way ends soon.
    time.sleep(0.5)
    rows = len(seen)
    time.sleep(1)
    assert rows == len(seen) < 200
    with pytest.raises(tt.NotFound):
        tt.open_table("synced")
    assert len(tt.ingest_logs(logs[:3], "synced", RECIPE)) == 150


def test_the_report_of_a_table_has_the_logs_of_all_imports(folder: Path) -> None:
    (folder / "tuesday.mcap").write_bytes((folder / "monday.mcap").read_bytes())
    tt.ingest_logs("monday.mcap", "synced", RECIPE)
    table = tt.ingest_logs(["monday.mcap", "tuesday.mcap"], "synced", RECIPE)
    report = json.loads(table.attachment("logs.report.json"))
    assert [(log["log"], log["rows"]) for log in report["logs"]] == [("monday", 50), ("tuesday", 50)]


def test_a_match_with_a_table_has_all_its_messages_there_and_the_table_is_a_view(folder: Path) -> None:
    plain = tt.ingest_logs("monday.mcap", "plain", RECIPE)
    view = tt.ingest_logs("monday.mcap", "synced", apart(RECIPE, folder))
    assert view.is_view and len(tt.open_table("odom")) == 100 and len(tt.open_table("synced-rows")) == 50
    found, expected = values(view), values(plain)
    assert found.select(expected.columns).equals(expected)
    assert found["odom.speed"].to_list() == [5.0] * 50
    assert tt.ingest_logs("monday.mcap", "synced", apart(RECIPE, folder)).version == 1


def run(tasks: Iterable[LogTask]) -> Iterator[Receipt | Failed]:
    """Carries tasks out as an engine does: in another order, some of them twice, and pickled."""
    for task in reversed([*tasks]):
        sent = pickle.dumps(task)
        write_log(pickle.loads(sent))
        yield pickle.loads(pickle.dumps(write_log(pickle.loads(sent))))


@pytest.mark.parametrize("is_apart", [False, True])
def test_tasks_of_an_engine_make_the_table_of_one_process(folder: Path, is_apart: bool) -> None:
    logs = recordings(folder, "monday", "broken", "tuesday")
    recipe, other = (apart(RECIPE, folder / name) if is_apart else RECIPE for name in ("alone", "tasks"))
    with pytest.warns(UserWarning, match="log broken failed"):
        alone = tt.ingest_logs(logs, "alone/table", recipe)
    with pytest.warns(UserWarning, match="log broken failed and is not in the table: .*expected a file that begins with"):
        table = ingest_by(run, import_of(["monday.mcap", "broken.mcap", "tuesday.mcap"], "tasks/table", other))
    assert table.is_view == is_apart and len(table) == 100
    assert values(table).equals(values(alone))
    if not is_apart:
        assert json.loads(table.attachment("logs.report.json"))["logs"] == json.loads(alone.attachment("logs.report.json"))["logs"]
    recordings(folder, "monday")
    (folder / "broken.mcap").write_bytes((folder / "monday.mcap").read_bytes())
    table = ingest_by(run, import_of(logs, "tasks/table", other))
    assert (len(table), table.version) == (150, 2)
    assert ingest_by(run, import_of(logs, "tasks/table", other)).version == 2
    with pytest.raises(tt.Invalid, match="the table was made with another recipe"):
        ingest_by(run, import_of(logs, "tasks/table", {**RECIPE, "match": []}))


def test_a_table_that_cannot_become_the_view_is_refused_before_any_task_runs(folder: Path) -> None:
    tt.ingest_logs("monday.mcap", "plain", RECIPE)
    (folder / "full").mkdir()
    (folder / "full/notes.txt").write_text("mine")

    def refused(tasks: Iterable[LogTask]) -> Iterator[Receipt | Failed]:
        raise AssertionError(f"{[*tasks]} were to run")

    for url, kind, message in [("plain", tt.Invalid, "made with another recipe"), ("full", tt.Exists, "found `notes.txt`")]:
        with pytest.raises(kind, match=message):
            ingest_by(refused, import_of("monday.mcap", url, apart(RECIPE, folder)))
    assert not (folder / "odom").exists()


def test_tasks_of_an_engine_go_on_without_a_log_that_can_never_be_read(folder: Path) -> None:
    logs = recordings(folder, "monday", "broken")
    recipe = apart(RECIPE, folder)
    # An import wrote the table of the match, and then was interrupted.
    odom = recipe["match"][-1]
    alone = {"clock": {key: odom[key] for key in ("topic", "name", "time", "fields")}}
    with pytest.warns(UserWarning, match="log broken failed"):
        tt.ingest_logs(logs, "odom", alone)
    for _ in range(2):
        with pytest.warns(UserWarning, match="log broken failed"):
            table = ingest_by(run, import_of(logs, "table", recipe))
        assert (len(table), table.version) == (50, 1)
    with pytest.raises(tt.Invalid, match="log broken: .*expected a file that begins with"):
        ingest_by(run, import_of(logs[1:], "table", recipe))
    plain = tt.ingest_logs("monday.mcap", "plain", RECIPE)
    with pytest.raises(tt.Invalid, match="log broken: .*expected a file that begins with"):
        ingest_by(run, import_of(logs, "plain", RECIPE))
    assert tt.open_table("plain").version == plain.version


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"clock": {}}, "expected either topic or rate"),
        ({"clock": {"topic": "/camera"}}, "[clock]: expected time"),
        ({"clock": {"topic": "/camera", "rat": "1Hz"}}, "rat"),
        ({"clock": {"time": "log", "topic": "/nothing"}}, "no topic /nothing; there are: /camera, /imu, /odom"),
        ({"clock": {"topic": "/camera"}, "defaults": {"time": "log"}, "match": [{"name": "a", "topic": "/imu", "policy": "nearest", "tolerance": 1}]}, "match `a`: this policy uses messages after the row"),
        ({"clock": {"topic": "/camera"}, "defaults": {"time": "log"}, "match": [{"name": "a", "topic": "/imu", "policy": "last", "tolerance": "5 parsecs"}]}, "5 parsecs"),
        ({"clock": {"time": "log", "topic": "/camera", "fields": ["nothing"]}}, "none matches `nothing`; there are: data, format, stamp"),
    ],
)
def test_a_wrong_recipe_is_refused_with_what_is_wrong(folder: Path, recipe: dict[str, Any], message: str) -> None:
    with pytest.raises(tt.Error, match=re.escape(message)):
        tt.ingest_logs("monday.mcap", "synced", recipe)
