"""Options of stores by the names of fsspec and of object_store, in the calls that open and write tables."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from tetrys._places import option_of
from tetrys import cluster
from tetrys._places import options_of, places_of

SECRET = "wJalrXUtnFEMIhunter2"


@pytest.mark.parametrize(
    ("url", "given", "expected"),
    [
        ("s3://b/t", {"key": "k", "secret": "s", "token": "t"}, {"access_key_id": "k", "secret_access_key": "s", "session_token": "t"}),
        (
            "s3a://b/t",
            {"client_kwargs": {"endpoint_url": "http://h", "region_name": "r"}, "use_ssl": False},
            {"endpoint_url": "http://h", "region": "r", "allow_http": "true"},
        ),
        ("s3://b/t", {"anon": True, "max_retries": 3}, {"skip_signature": "true", "max_retries": "3"}),
        ("s3://b/t", {"aws_access_key_id": "k", "endpoint": "e"}, {"aws_access_key_id": "k", "endpoint": "e"}),
        ("gs://b/t", {"token": "/key.json"}, {"service_account": "/key.json"}),
        ("gcs://b/t", {"token": "anon"}, {"skip_signature": "true"}),
        ("abfss://b/t", {"account_name": "n", "sas_token": "s"}, {"account_name": "n", "sas_token": "s"}),
        ("https://h/t", {"timeout": "30s"}, {"timeout": "30s"}),
    ],
)
def test_names_of_fsspec_become_those_of_the_store(url: str, given: dict[str, Any], expected: dict[str, str]) -> None:
    assert options_of(url, given) == options_of(url, None, given) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (3, "storage_options: expected a dict, found int"),
        ({3: "x"}, "storage_options: expected text for names, found int"),
        ({"key": None}, "storage_options: expected text, an integer, True or False for `key`, found NoneType"),
        ({"secret": SECRET.encode()}, "for `secret`, found bytes"),
        ({"client_kwargs": SECRET}, "storage_options, client_kwargs: expected a dict, found str"),
        ({"key": SECRET, "access_key_id": "other"}, "`access_key_id` is given twice, with different values"),
        ({"no_such_option": SECRET}, "no_such_option"),
    ],
)
def test_wrong_options_are_refused_without_their_values(options: Any, message: str) -> None:
    url = "s3://data/t"
    for call in (tt.open_table, tt.read_index, tt.scan_index, tt.Table, cluster.open_sessions, cluster.plan_read):
        with pytest.raises(tt.Invalid, match=message) as raised:
            call(url, storage_options=options)  # type: ignore[operator]
        assert SECRET not in str(raised.value)
    with pytest.raises(tt.Invalid, match=message):
        tt.write_table(url, {"time": [1]}, index=["time"], storage_options=options)


def test_both_names_of_the_argument_are_an_error(drives: str) -> None:
    schema: dict[str, Any] = {"schema": {"time": "i64"}, "index": ["time"]}
    both: dict[str, Any] = {"storage_options": {"max_retries": 1}, "store_options": {"max_retries": 1}}
    for call in (
        lambda: cluster.plan_read(drives, **both),
        lambda: cluster.open_sessions(drives, **both),
        lambda: cluster.plan_write(drives, **schema, **both),
    ):
        with pytest.raises(tt.Invalid, match="two names of one argument: pass `storage_options` alone"):
            call()
    for name in ("storage_options", "store_options"):
        with pytest.raises(tt.Invalid, match="the table is open already: pass them to `open_table`"):
            tt.read_index(tt.open_table(drives), **{name: {"max_retries": 1}})
    index = tt.read_index(drives)
    for opened in (
        lambda: tt.open_table(drives, **both),
        lambda: tt.read_index(drives, **both),
        lambda: tt.scan_index(drives, **both),
        lambda: index.save(f"{drives}-view", **both),
        lambda: tt.run({}, **both),
        lambda: tt.open_table(drives).rebind(drives, **both),
        lambda: tt.Table.collect_abandoned(drives, **both),
        lambda: tt.ingest_l5(drives, drives, **both),
        lambda: tt.ingest_logs(drives, drives, {}, **both),
        lambda: tt.logs.info(drives, **both),
        lambda: tt.logs.plan(drives, **both),
        lambda: tt.view(drives, **both),
        lambda: tt.ingest_petastorm(drives, drives, **both),
        lambda: tt.read_petastorm_metadata(drives, **both),
    ):
        with pytest.raises(tt.Invalid, match="two names of one argument: pass `storage_options` alone"):
            opened()


CALLS = [
    *(tt.open_table, tt.read_index, tt.scan_index, tt.Table, tt.Table.rebind, tt.Table.collect_abandoned, tt.write_table, tt.Writer),
    *(tt.Index.save, tt.run, tt.merge_tables, tt.split_table, tt.ingest_l5, tt.ingest_petastorm, tt.read_petastorm_metadata),
    *(tt.ingest_logs, tt.logs.info, tt.logs.plan, tt.view),
    *(cluster.plan_read, cluster.plan_write, cluster.open_sessions),
]


def test_every_call_that_opens_or_writes_takes_them_by_both_names() -> None:
    names = {"storage_options", "store_options"}
    assert [call for call in CALLS if not names <= inspect.signature(call).parameters.keys()] == []


@pytest.mark.parametrize(
    ("source", "url", "read", "written"),
    [
        ("s3://b/zarr", "s3a://c/t", {"access_key_id": "k"}, {"access_key_id": "k"}),
        ("/data/zarr", "s3://c/t", None, {"access_key_id": "k"}),
        ("s3://b/zarr", "file:///t", {"access_key_id": "k"}, None),
        ("gs://b/zarr", "s3://c/t", None, {"access_key_id": "k"}),
    ],
)
def test_options_go_to_the_places_that_they_are_of(source: str, url: str, read: Any, written: Any) -> None:
    found = places_of(source, url, {"key": "k"})
    assert [place[1] for place in found] == [read, written]


def test_a_table_keeps_the_options_it_was_opened_with(s3_server: str, tmp_path: Path) -> None:
    url = f"s3://data/{tmp_path.name}/t"
    options: dict[str, Any] = {
        "key": "testing",
        "secret": SECRET,
        "client_kwargs": {"endpoint_url": s3_server, "region_name": "us-east-1"},
        "use_ssl": False,
    }
    # The environment has no options of this server.
    table = tt.write_table(url, {"time": [0, 1], "a.x": [1.0, 2.0]}, index=["time"], storage_options=options)
    table = table.append([{"time": 2, "a.x": 3.0}]).patch({"time": [0], "a.x": [9.0]}, on="time").edit(properties={"license": "CC0"}).delete([1])
    assert tt.row_loader(pickle.loads(pickle.dumps(table))).take([0, 1])["a.x"].tolist() == [9, 3]
    index = tt.read_index(url, where=pl.col("time") > 1, storage_options=options)
    assert index["time"].to_list() == [2] == tt.scan_index(url, storage_options=options).filter(pl.col("time") > 1).collect_index()["time"].to_list()
    code = "import pickle, sys, tetrys as tt; print(pickle.load(sys.stdin.buffer)[0])"
    for source in (table, index):
        ran = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(tt.row_loader(source)), capture_output=True, check=True)
        assert b"a.x" in ran.stdout
    writer = tt.Writer(f"{url}2", schema={"time": "i64", "a.x": "f64"}, index=["time"], reference=url, storage_options=options)
    task = pickle.loads(pickle.dumps(writer.task()))
    with task.partition() as partition:
        partition.write({"time": [0], "a.x": [1.0]})
    other = writer.commit([partition.receipt])
    (split,) = cluster.plan_read(other, splits=1)
    assert [batch.num_rows for batch in cluster.read(split)] == [1]
    assert SECRET not in "".join(map(repr, (table, index, writer, task, other, split)))


def test_an_adapter_takes_either_name_also_where_the_other_is_none() -> None:
    options = {"region": "eu-1"}
    for one, other in ((options, None), (None, options)):
        assert option_of({"storage_options": one, "store_options": other}) == options
    assert option_of({}) is None
    with pytest.raises(tt.Invalid, match="two names of one argument"):
        option_of({"storage_options": options, "store_options": options})


def put(server: str, name: str, content: bytes) -> None:
    """Writes an object to the bucket of a server, which would take the body for a form without another type."""
    request = urllib.request.Request(f"{server}/data/{name}", content, {"Content-Type": "application/octet-stream"}, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


def test_views_recipes_and_rebinds_use_them_for_all_their_stores(s3_server: str, tmp_path: Path) -> None:
    url, options = f"s3://data/{tmp_path.name}", {"key": "testing", "secret": SECRET, "endpoint_url": s3_server, "region": "us-east-1", "use_ssl": False}
    columns = {"log": ["a"] * 3 + ["b"] * 3, "time": np.arange(6), "x.y": np.arange(6.0)}
    table = tt.write_table(f"{url}/t", columns, index=["log", "time"], storage_options=options)
    view = tt.read_index(table).filter(pl.col("time") > 3).save(f"{url}/view", storage_options=options)
    assert tt.row_loader(pickle.loads(pickle.dumps(view))).take([0, 1])["x.y"].tolist() == [4, 5]
    view = tt.read_index(table)[:1].save(f"{url}/view", update=True, store_options=options)
    assert (view.version, len(view)) == (2, 1)
    assert len(view.rebind(f"{url}/t")) == 1, "with the options of the view"
    recipe = {"from": "t", "filter": "time < 2", "sources": {"t": f"{url}/t"}, "output": {"view": f"{url}/early"}}
    assert [made["rows"] for made in tt.run(recipe, storage_options=options)] == [2]
    text = f'from = "t"\nfilter = "time < 3"\n[sources]\nt = "{url}/t"\n[output]\nview = "{url}/text"\n'
    (tmp_path / "recipe.toml").write_text(text)
    assert [made["rows"] for made in tt.run(tmp_path / "recipe.toml", store_options=options)] == [3]
    for limit in (None, 0):
        made = tt.merge_tables(f"{url}/t", f"{url}/early", ["log", "time"], f"{url}/merged{limit}", memory_limit=limit, storage_options=options)
        assert made["rows"] == 2
        parts = tt.split_table(f"{url}/t", "time", {"train": 0.5, "val": 0.5}, f"{url}/parts{limit}", memory_limit=limit, storage_options=options)
        assert sum(part["rows"] for part in parts.values()) == 6
    (split, *_) = cluster.plan_read(table, where=pl.col("time") > 4, view=f"{url}/planned", splits=1)
    assert split.rows == 1
    with pytest.raises(tt.Exists):
        tt.Table.collect_abandoned(f"{url}/t", storage_options=options)


def test_imports_read_and_write_with_them(s3_server: str, tmp_path: Path) -> None:
    name = tmp_path.name
    url, options = f"s3://data/{name}", {"key": "testing", "secret": SECRET, "endpoint_url": s3_server, "region": "us-east-1", "use_ssl": False}
    pl.DataFrame({"id": [1, 2, 3]}).write_parquet(tmp_path / "part.parquet")
    put(s3_server, f"{name}/parquet/part.parquet", (tmp_path / "part.parquet").read_bytes())
    table = tt.ingest_petastorm(f"{url}/parquet", f"{url}/rows", storage_options=options)
    assert tt.read_index(pickle.loads(pickle.dumps(table)))["id"].to_list() == [1, 2, 3]
    assert len(tt.ingest_petastorm(tmp_path / "part.parquet", f"{url}/rows", mode="append", storage_options=options)) == 6
    assert len(tt.ingest_petastorm(f"{url}/parquet", tmp_path / "local", storage_options=options | {"access_key_id": "testing"})) == 3
    assert tt.read_petastorm_metadata(f"{url}/parquet", storage_options=options)["row_groups"] == [["part.parquet", 1]]
    zarr = Path(os.environ["TETRYS_L5"])
    for file in zarr.rglob("*"):
        if file.is_file():
            put(s3_server, f"{name}/zarr/{file.relative_to(zarr)}", file.read_bytes())
    frames = tt.ingest_l5(f"{url}/zarr", f"{url}/frames", storage_options=options)
    assert len(frames) == len(tt.ingest_l5(zarr, f"{url}/again", store_options=options)) > 0
