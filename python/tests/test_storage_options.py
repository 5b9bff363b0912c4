"""Options of stores by the names of fsspec and of object_store, in the calls that open and write tables."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tetrys as tt
from tetrys._places import option_of
from tetrys import cluster
from tetrys._places import options_of

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
    with pytest.raises(tt.Invalid, match="the table is open already: pass them to `open_table`"):
        tt.read_index(tt.open_table(drives), storage_options={"max_retries": 1})


def test_every_call_that_opens_or_writes_takes_them() -> None:
    calls = [tt.open_table, tt.read_index, tt.scan_index, tt.Table, tt.write_table, tt.Writer, cluster.plan_read, cluster.plan_write, cluster.open_sessions]
    assert [call for call in calls if "storage_options" not in inspect.signature(call).parameters] == []


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
