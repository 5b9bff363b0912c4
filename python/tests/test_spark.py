"""Spark reads, writes and extracts tables: a real cluster of two executors, whose processes the tests kill."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import cluster_data
import log_data
import numpy as np
import polars as pl
import pytest
import tetrys as tt
from tetrys import cluster

pytest.importorskip("pyspark", minversion="4.0", reason="no PySpark")

import psutil
import pyarrow as pa
import pyspark
import tetrys
import tetrys.spark as ts
from pyspark.errors import AnalysisException, PySparkException
from silly import wrong_answers
from test_spark_types import EVERY, INDEX, assert_same, every

FULL = os.environ.get("TETRYS_FULL") == "1"
SCHEMA, LAYOUT = cluster_data.SCHEMA, cluster_data.LAYOUT
LISTS = {name: ",".join(value) for name, value in LAYOUT.items() if isinstance(value, list)}
OPTIONS = LISTS | {"units": json.dumps(LAYOUT["units"])}
HERE = str(Path(__file__).parent)
SHARED = Path(os.environ.get("TETRYS_SHARED", Path(__file__).parents[3] / "shared")) / "l5"


@pytest.fixture(scope="module")
def java() -> None:
    if shutil.which("java") is None:
        pytest.skip("no Java")


def environment(folder: Path) -> dict[str, str]:
    """Returns the environment of Spark. Spark writes below `SPARK_HOME`, so this is a folder of links to the package."""
    home = folder / "spark"
    home.mkdir(exist_ok=True)
    for one in Path(pyspark.__file__).parent.iterdir():
        with contextlib.suppress(FileExistsError):
            (home / one.name).symlink_to(one)
    return {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), HERE])),
        "PYTHONWARNINGS": "ignore",
    }


def session(master: str) -> Any:
    builder = pyspark.sql.SparkSession.builder.master(master).appName("tetrys")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": os.path.join(os.environ["SPARK_HOME"], "warehouse"),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.excludeOnFailure.enabled": "false",
        "spark.task.maxFailures": "8",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    ts.register(made)
    return made


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, java: None) -> Iterator[Any]:
    # Executors find the bucket by the environment.
    with contextlib.suppress(pytest.skip.Exception):
        request.getfixturevalue("bucket")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp_path_factory.mktemp("spark")).items():
            patch.setenv(name, value)
        made = session("local-cluster[2,1,1024]")
        yield made
        made.stop()
        pyspark.SparkContext._gateway.shutdown()
        # The next session of this process starts a JVM of its own.
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None


@pytest.fixture(params=["disk", "s3"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a table that does not exist yet, on disk or in the bucket."""
    return str(tmp_path / "t") if request.param == "disk" else f"{request.getfixturevalue('bucket')}/{tmp_path.name}"


def load(spark: Any, url: str, **options: Any) -> Any:
    return spark.read.format("tetrys").options(**options).load(url)


def logs_of(log: str) -> Iterator[dict[str, Any]]:
    return cluster_data.batches(log)


def ingested(url: str, logs: list[str], fn: Callable[[str], Iterator[Any]] = logs_of) -> tt.Table:
    """Writes the logs in this process, a partition for each."""
    plan = cluster.plan_write(url, schema=SCHEMA, labels=logs, **LAYOUT)
    return cluster.commit(plan, [cluster.write(task, fn(str(task.label))) for task in plan.tasks])


def chunks(table: tt.Table) -> dict[str, int]:
    """Returns names and sizes of the chunks in the folder of a table. Their names are hashes of their bytes."""
    folder = Path(table.url.removeprefix("file://")) / "chunks"
    return {file.name: file.stat().st_size for file in folder.rglob("*") if file.is_file()}


def swept(table: tt.Table) -> tt.Table:
    """Collects garbage: a call condemns, the next one deletes."""
    for _ in range(2):
        table.gc(age=timedelta(0), apply=True)
    return table


LOGS = cluster_data.names(3)


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    return ingested(str(tmp_path_factory.mktemp("tables") / "drives"), LOGS)


# Reads


@pytest.mark.slice
def test_a_table_is_read_with_shapes_in_the_metadata(spark: Any, drives: tt.Table) -> None:
    df = load(spark, drives.url)
    assert {field.name: field.dataType.simpleString() for field in df.schema} == {
        "log": "string",
        "time": "bigint",
        "pedestrians": "int",
        "lidar.points": "array<float>",
        "camera.raw": "binary",
        "camera.intrinsics": "array<double>",
        "labels.text": "string",
        "labels.boxes": "struct<data:array<float>,shape:array<int>>",
        "labels.count": "bigint",
    }
    assert df.schema["lidar.points"].metadata == {"tetrys.type": "f32[?,4]", "shape": [-1, 4]}
    assert df.schema["camera.intrinsics"].metadata["shape"] == [3, 3]
    rows = {(row.log, row.time): row for row in df.collect()}
    loader = tt.row_loader(drives)
    assert len(rows) == len(drives) == 60
    for number, key in enumerate(zip(*tt.read_index(drives).to_polars().select("log", "time"), strict=True)):
        expected, row = loader.get_row(number), rows[key]
        for name in ("lidar.points", "camera.intrinsics"):
            if expected[name] is None:
                assert row[name] is None
            else:
                np.testing.assert_array_equal(np.reshape(row[name], df.schema[name].metadata["shape"]), expected[name])
        boxes = row["labels.boxes"]
        np.testing.assert_array_equal(np.reshape(boxes.data, boxes.shape).astype(np.float32), expected["labels.boxes"])
        assert (row["labels.text"], row["labels.count"]) == (expected["labels.text"], expected["labels.count"])
        raw = expected["camera.raw"]
        assert row["camera.raw"] == (None if raw is None else raw.tobytes())


def test_every_type_is_written_and_read_by_spark(spark: Any, tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "a"), every(9, 5), schema=EVERY, index=INDEX, order_by=["i"])
    copy = ts.write(load(spark, table.url), str(tmp_path / "b"), index=INDEX, order_by="i")
    assert (copy.index_columns, copy.groups) == (table.index_columns, table.groups)
    assert_same(copy, table)


@pytest.mark.slice
def test_columns_and_payload_select_what_is_read(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    assert load(spark, drives.url, columns="time, labels.*").columns == ["time", "labels.text", "labels.boxes", "labels.count"]
    assert load(spark, drives.url, columns='["re:l.*"]').columns == [name for name in SCHEMA if name.startswith("l") and "." in name]
    assert load(spark, drives.url, payload="false", columns="log,lidar.*").columns == ["log"]
    index = load(spark, drives.url, payload="false")
    assert index.columns == ["log", "time", "pedestrians"]
    assert (index.count(), load(spark, drives.url, columns="labels.text", splits=4).count()) == (60, 60)
    # Without payload, a table whose chunks are gone is read.
    copy = shutil.copytree(drives.url.removeprefix("file://"), tmp_path / "copy")
    shutil.rmtree(copy / "chunks")
    assert load(spark, str(copy), payload="false").toPandas().equals(index.toPandas())
    with pytest.raises(PySparkException, match="(?i)chunk"):
        load(spark, str(copy), columns="labels.text").collect()


@pytest.mark.slice
def test_sql_reads_tables(spark: Any, drives: tt.Table) -> None:
    spark.sql("DROP VIEW IF EXISTS drives")
    spark.sql(f"CREATE TEMPORARY VIEW drives USING tetrys OPTIONS (path '{drives.url}', columns 'log,pedestrians,labels.count')")
    found = spark.sql("SELECT log, count(*) AS n, sum(`labels.count`) AS counted FROM drives WHERE pedestrians > 2 GROUP BY log ORDER BY log").collect()
    frame = tt.read_index(drives).to_polars().with_columns(pl.Series("counted", tt.row_loader(drives).take(range(60))["labels.count"]))
    expected = frame.filter(pl.col("pedestrians") > 2).group_by("log").agg(pl.len(), pl.col("counted").sum()).sort("log")
    assert [tuple(row) for row in found] == expected.rows()


FILTERS = [
    ("log = 'log 001'", pl.col("log") == "log 001"),
    ("time >= 500 AND time < 900", pl.col("time").is_between(500, 900, closed="left")),
    ("pedestrians IN (1, 4) AND NOT time = 100", pl.col("pedestrians").is_in([1, 4]) & (pl.col("time") != 100)),
    ("log <=> 'log 002' OR time = 0", (pl.col("log") == "log 002") | (pl.col("time") == 0)),
    ("log LIKE '%1' AND `labels.text` IS NOT NULL", None),
    ("time > 100000", pl.lit(False)),
    ("pedestrians IS NULL", pl.lit(False)),
    ("time > pedestrians * 300", pl.col("time") > pl.col("pedestrians") * 300),
]


@pytest.mark.parametrize("offered", ["true", "false"])
def test_filters_choose_the_right_rows_whether_spark_offers_them_or_not(spark: Any, drives: tt.Table, offered: str) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", offered)
    try:
        frame = tt.read_index(drives).to_polars().with_columns(pl.Series("labels.text", tt.row_loader(drives).take(range(60))["labels.text"].tolist()))
        for text, expression in FILTERS:
            expression = pl.col("log").str.ends_with("1") & pl.col("labels.text").is_not_null() if expression is None else expression
            found = load(spark, drives.url, columns="log,time,pedestrians,labels.text").where(text).select("log", "time")
            assert sorted(map(tuple, found.collect())) == frame.filter(expression).select("log", "time").sort("log", "time").rows(), text
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_a_condition_keeps_payload_of_other_rows_unread(spark: Any, tmp_path: Path) -> None:
    from conftest import damaged_table

    table = damaged_table(tmp_path)
    readable = []
    for row in range(12):
        with contextlib.suppress(tt.Corrupt):
            tt.row_loader(table).get_row(row)
            readable.append(row)
    assert 0 < len(readable) < 12
    condition = f"i IN ({', '.join(map(str, readable))})"
    df = load(spark, table.url, where=condition)
    assert sorted(row.i for row in df.collect()) == readable
    assert df.count() == len(readable)
    for df in (load(spark, table.url), load(spark, table.url).where(condition)):
        with pytest.raises(PySparkException, match="Corrupt"):
            df.collect()


def test_a_frame_answers_every_query_by_itself(spark: Any, drives: tt.Table) -> None:
    """Spark keeps the plan of a filtered query, so the filters of queries must not choose what is read."""
    df = load(spark, drives.url, payload="false")
    assert [one.count() for one in (df, df.where("log = 'log 001'"), df, df.where("time % 200 = 0"))] == [60, 20, 60, 30]
    with pytest.raises(PySparkException, match="no option `pushdown`"):
        load(spark, drives.url, pushdown="true")


def test_a_frame_stays_at_the_version_that_load_found(spark: Any, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    table = tt.write_table(url, {"i": [0, 1]}, index=["i"])
    df = load(spark, url)
    table.append({"i": [2]})
    assert (df.count(), load(spark, url).count(), load(spark, f"{url}@1").count()) == (2, 3, 2)


def test_a_condition_on_a_column_that_is_not_in_the_index_is_refused(spark: Any, drives: tt.Table) -> None:
    with pytest.raises(PySparkException, match="labels"):
        load(spark, drives.url, where='"labels.text" IS NULL').collect()


def test_empty_tables_and_empty_selections_are_read(spark: Any, tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"i": [], "a.x": []}, schema={"i": "i64", "a.x": "f32[?]"}, index=["i"])
    df = load(spark, table.url)
    assert (df.columns, df.count(), df.collect()) == (["i", "a.x"], 0, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colums": "a"}, "no option `colums`; there are columns, payload"),
        ({"payload": "no"}, "option payload: `no`: expected true or false"),
        ({"splits": "many"}, "option splits: `many`: expected an integer"),
        ({"splits": "many"}, "option splits: `many`"),
        ({"where": "time >"}, "option where: `time >`"),
        ({"columns": "nothing.*"}, "nothing"),
    ],
)
def test_wrong_options_of_reads_are_refused(spark: Any, drives: tt.Table, options: dict[str, str], message: str) -> None:
    with pytest.raises(AnalysisException, match=message):
        load(spark, drives.url, **options)


def test_a_table_that_is_not_there_and_a_wrong_schema_are_refused(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="NotFound"):
        load(spark, str(tmp_path / "none"))
    with pytest.raises(PySparkException, match="no column `x`; the columns are log, time"):
        spark.read.format("tetrys").schema("x long").load(drives.url).collect()
    with pytest.raises(PySparkException, match="column `time`: the schema says double, expected bigint for i64"):
        spark.read.format("tetrys").schema("time double").load(drives.url).collect()
    assert spark.read.format("tetrys").schema("time long").load(drives.url).count() == 60


# Writes


@pytest.mark.slice
def test_a_shuffled_frame_is_written_in_whole_sequences(spark: Any, drives: tt.Table, empty: str) -> None:
    shuffled = load(spark, drives.url, splits=5).orderBy("pedestrians", "time").repartition(4)
    table = ts.write(shuffled, empty, partitions=3, **LAYOUT)
    assert (table.sequence_by, table.order_by, table.groups) == (drives.sequence_by, drives.order_by, drives.groups)
    assert_same(table, drives)
    table.verify()


def test_the_writer_of_spark_takes_prepared_frames_and_names_the_function_that_prepares_others(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    df = load(spark, drives.url)
    url = str(tmp_path / "t")
    prepared = df.repartition(2, "log").sortWithinPartitions("log", "time")
    prepared.write.format("tetrys").mode("append").options(**OPTIONS).save(url)
    assert_same(tt.open_table(url), drives)
    for wrong in (df.repartition(1).sortWithinPartitions("time"), df.orderBy(df.time.desc()).coalesce(1), df.repartition(3, "time").sortWithinPartitions("log", "time")):
        with pytest.raises(PySparkException, match=r"tetrys\.spark\.write\(df, url"):
            wrong.write.format("tetrys").mode("append").options(**OPTIONS).save(str(tmp_path / "u"))
        with pytest.raises(tt.NotFound):
            tt.open_table(str(tmp_path / "u"))


def test_modes_create_append_overwrite_and_ignore(spark: Any, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    df = spark.createDataFrame([("a", 0, [1.0, 2.0])], "log string, time long, `x.y` array<double>")
    more = spark.createDataFrame([("b", 0, None)], df.schema)
    layout: dict[str, Any] = {"index": ["log", "time"], "sequence_by": "log"}
    assert ts.write(df, url, **layout).version == 1
    with pytest.raises(tt.Exists):
        ts.write(more, url, **layout)
    assert ts.write(more, url, mode="ignore", **layout).version == 1
    assert (ts.write(more, url, mode="append", **layout).version, len(tt.open_table(url))) == (2, 2)
    replaced = ts.write(more, url, mode="overwrite", **layout)
    assert (replaced.version, len(replaced)) == (3, 1)
    apart = spark.createDataFrame([(log, time, None) for time in range(4) for log in "cd"], df.schema).repartition(4, "time")
    assert len(ts.write(apart, url, mode="append", index=["log", "time"])) == 9, "sequences are those of the table"
    with pytest.raises(tt.Invalid, match="mode `upsert`: expected errorifexists"):
        ts.write(more, url, mode="upsert", **layout)


def test_the_modes_of_sparks_own_writer(spark: Any, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    write = spark.createDataFrame([(1,), (2,)], "i long").coalesce(1).write.format("tetrys").option("index", "i")
    write.mode("append").option("mode", "create").save(url)
    with pytest.raises(PySparkException, match="Exists"):
        write.mode("append").option("mode", "create").save(url)
    write = spark.createDataFrame([(3,)], "i long").write.format("tetrys").option("index", "i")
    write.mode("append").save(url)
    assert (len(tt.open_table(url)), tt.open_table(url).version) == (3, 2)
    write.mode("overwrite").save(url)
    assert (len(tt.open_table(url)), tt.open_table(url).version) == (1, 3)
    # Spark itself refuses its default mode for sources in Python.
    with pytest.raises(AnalysisException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        write.mode("errorifexists").save(url)
    assert tt.open_table(url).version == 3


def test_frames_without_rows_make_empty_tables(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([], "log string, time long")
    assert len(ts.write(df, str(tmp_path / "t"), index=["log", "time"], sequence_by="log")) == 0


def test_rows_without_sequences_are_sorted_as_a_whole(spark: Any, tmp_path: Path) -> None:
    df = spark.range(0, 1000).selectExpr("(id * 7919) % 1000 AS i", "id AS `a.x`")
    table = ts.write(df, str(tmp_path / "t"), index="i", order_by="i", partitions=3)
    assert tt.read_index(table)["i"].to_list() == list(range(1000))


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ("NULL AS x", {}, "column `x`: no column type for Spark's void: declare it in `schema`"),
        ("named_struct('a', 1) AS x", {"schema": {"x.b": "i64"}}, "schema: no column `x.b`; the columns are i, x.a"),
        ("1 AS x", {"schema": {"y": "i64"}}, "schema: no column `y`; the columns are i, x"),
        ("1 AS x", {"partitions": 0}, "partitions: 0 is outside"),
        ("1 AS x", {"partitions": True}, "partitions: expected an integer, found bool True"),
        ("1 AS x", {"preset": "best"}, "preset `best`: expected fast"),
    ],
)
def test_wrong_frames_and_arguments_of_writes_are_refused(spark: Any, tmp_path: Path, columns: str, arguments: Any, message: str) -> None:
    with pytest.raises(tt.Error, match=message):
        ts.write(spark.range(3).selectExpr("id AS i", columns), str(tmp_path / "t"), index="i", **arguments)
    with pytest.raises(tt.NotFound):
        tt.open_table(str(tmp_path / "t"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option index is missing"),
        ({"index": "i", "mode": "upsert"}, "option mode: `upsert`: expected errorifexists"),
        ({"index": "i", "groups": "a,b"}, "option groups: `a,b`"),
        ({"index": "i", "indx": "i"}, "no option `indx`"),
        ({"index": "i", "write_memory": "-1"}, "write_memory: -1 is outside"),
    ],
)
def test_wrong_options_of_sparks_own_writer_are_refused(spark: Any, tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException, match=message):
        spark.range(3).withColumnRenamed("id", "i").write.format("tetrys").mode("append").options(**options).save(str(tmp_path / "t"))
    with pytest.raises(tt.NotFound):
        tt.open_table(str(tmp_path / "t"))


def test_structs_maps_and_decimals_become_what_an_import_of_parquet_makes_of_them(spark: Any, tmp_path: Path) -> None:
    rows = cluster_data.nested(60, 7)
    df = spark.createDataFrame(rows).repartition(3)
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    df.coalesce(1).sortWithinPartitions("i").write.parquet(str(tmp_path / "rows"))
    layout = {"index": ["ego.speed", "i", "price"], "order_by": "i"}
    imported = cluster_data.described(tt.ingest_petastorm(str(tmp_path / "rows"), str(tmp_path / "imported"), **layout))
    nulls = {name: kind for name, (kind, *_) in imported.items() if name.endswith(".is_null")}
    with pytest.raises(PySparkException, match=r"declare the column `[a-z.]+.is_null` in `schema`"):
        ts.write(df, str(tmp_path / "t"), **layout)
    assert cluster_data.described(ts.write(df, str(tmp_path / "t"), schema=nulls, **layout)) == imported
    # Spark's own writer needs rows in order, in one task.
    options = {"index": "i,ego.speed,price", "order_by": "i", "schema": json.dumps(nulls)}
    df.coalesce(1).sortWithinPartitions("i").write.format("tetrys").mode("append").options(**options).save(str(tmp_path / "u"))
    assert cluster_data.described(tt.open_table(str(tmp_path / "u"))) == imported
    # Spark reads what was written.
    back = cluster_data.described(ts.write(load(spark, str(tmp_path / "t")), str(tmp_path / "back"), **layout))
    assert {name: (kind, values) for name, (kind, _, values) in back.items()} == {name: (kind, values) for name, (kind, _, values) in imported.items()}


@pytest.mark.parametrize("schema", [None, {"of.log": "categorical", "of.at.time": "u16"}])
def test_fields_of_structs_are_keys_of_sequences(spark: Any, tmp_path: Path, schema: Any) -> None:
    df = spark.range(0, 60).selectExpr("named_struct('log', concat('log ', id % 5), 'at', named_struct('time', 60 - id)) AS of", "id AS `a.x`")
    layout = {"index": ["of.log", "of.at.time"], "sequence_by": "of.log", "order_by": "of.at.time"}
    index = tt.read_index(ts.write(df, str(tmp_path / "t"), partitions=2, schema=schema, **layout)).to_polars().sort("of.log", "of.at.time")
    assert index.select("of.log", "of.at.time").rows() == sorted((f"log {id % 5}", 60 - id) for id in range(60))


def test_decimals_of_20_digits_are_u64_and_keys(spark: Any, tmp_path: Path) -> None:
    most, url = 2**64 - 1, str(tmp_path / "t")
    df = spark.createDataFrame([(Decimal(most), 0), (Decimal(2**63), 1), (Decimal(9), 2), (None, 3)], "x decimal(20,0), i long")
    for place, sequence_by in [(f"{url} of sequences", "x"), (url, ())]:
        table = ts.write(df, place, schema={"x": "u64"}, index=["x", "i"], sequence_by=sequence_by)
        assert tt.read_index(table).sort("i")["x"].to_list() == [most, 2**63, 9, None]
    # Rows that are appended get the types of the table.
    assert len(ts.write(df, url, mode="append", index=["x", "i"])) == 8
    df.coalesce(1).write.format("tetrys").mode("append").option("index", "x,i").save(url)
    assert tt.read_index(url)["x"].to_list().count(most) == 3
    for value in (-1, most + 1):
        wrong = spark.createDataFrame([(Decimal(5), 0), (Decimal(value), 1)], "x decimal(20,0), i long").coalesce(1)
        with pytest.raises(PySparkException, match=f"column `x`: value 1: {value} does not fit u64: expected an integer from 0 to {most}"):
            ts.write(wrong, url, mode="append", index=["x", "i"])
    assert tt.open_table(url).version == 3


def test_sources_are_text_or_paths(spark: Any, tmp_path: Path) -> None:
    settings = {"schema": {"name": "utf8"}, "index": "name"}
    table = ts.extract(spark, [tmp_path / "a.bag", "s3://team/b.bag"], lambda name: [{"name": name}], str(tmp_path / "t"), **settings)
    assert tt.read_index(table)["name"].to_list() == [str(tmp_path / "a.bag"), "s3://team/b.bag"]
    for source, message in [(table, "Table"), (b"a.bag", "bytes b'a.bag'"), (3, "int 3")]:
        with pytest.raises(TypeError, match=f"sources: expected names as text or paths, found {message}"):
            ts.extract(spark, [source], lambda name: [], str(tmp_path / "u"), **settings)


def test_null_elements_are_read(spark: Any, tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"i": [0, 1], "p.x": pa.array([[1.5, None], []])}, index="i")
    assert [row["p.x"] for row in load(spark, table.url).orderBy("i").collect()] == [[1.5, None], []]


def test_names_may_differ_in_case_alone(spark: Any, tmp_path: Path) -> None:
    schema = pyspark.sql.types.StructType().add("i", "long").add("I", "long").add("a.x", "long")
    df = spark.createDataFrame([(1, 1, 5), (0, 1, 6), (1, 0, 7)], schema)
    table = ts.write(df, str(tmp_path / "t"), index=["i", "I"], sequence_by="i", order_by="I", partitions=1)
    frame = tt.read_index(table).to_polars().select("i", "I").with_columns(x=pl.Series(tt.row_loader(table).take(range(3))["a.x"]))
    assert sorted(frame.rows()) == [(0, 1, 6), (1, 0, 7), (1, 1, 5)]


def test_a_stream_is_no_frame_to_write(spark: Any, tmp_path: Path) -> None:
    df = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match="df: expected a DataFrame of all rows, found a stream: write its batches by `foreachBatch`"):
        ts.write(df, str(tmp_path / "t"), index="value")
    assert not (tmp_path / "t").exists()


# Values that no argument means: a try then runs no job.
NEVER = ["-1", "10**5000", "1.5", "nan", "surrogate", "bytes", "ragged", "[object]", "{1: 2}", "object", "mute", "array[2,2]", "endless", "NA"]


@pytest.mark.slice
def test_a_silly_argument_is_an_error_of_tetrys_or_has_a_meaning(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    layout: dict[str, Any] = {"url": "t", "schema": {"i": "i64"}, "index": ["i"], "sequence_by": (), "mode": "error"}
    sessions = {"class": lambda: pyspark.sql.SparkSession, "context": lambda: spark.sparkContext, "reader": lambda: spark.read}
    odd: dict[str, Any] = {
        "spark": sessions,
        "df": {"class": lambda: pyspark.sql.DataFrame, "session": lambda: spark, "groups": lambda: spark.range(3).groupBy("id"), "list": lambda: [{"i": 1}]},
        "schema": {"a class": lambda: {"i": int}, "unknown": lambda: {"i": "int"}, "pairs": lambda: [("i", "i64")], "name": lambda: "i"},
        "profile": {"dict": lambda: {"cpus": 1}, "class": lambda: pyspark.resource.ResourceProfile},
        "partitions": {"too many": lambda: 2**31},
    }
    calls: dict[str, Any] = {
        "register": lambda: (ts.register, {"spark": spark}),
        "write": lambda: (ts.write, {"df": spark.range(3).withColumnRenamed("id", "i"), **layout, "order_by": (), "partitions": None}),
        "extract": lambda: (ts.extract, {"spark": spark, "sources": ["a"], "fn": logs_of, **layout, "resume": False, "profile": None}),
    }
    for name, make in calls.items():
        assert not (wrong := wrong_answers(make, odd, NEVER)), f"{name}\n" + "\n".join(wrong)
    assert cluster.open_sessions("t") == []


def test_cells_of_10_megabytes_pass_through_spark(spark: Any, tmp_path: Path) -> None:
    def cells(name: str) -> Iterator[dict[str, Any]]:
        for number in range(24 if FULL else 4):
            random = np.random.default_rng([*name.encode(), number])
            yield {"log": name, "time": number, "lidar.points": random.random((625_000, 4), np.float32), "camera.raw": random.bytes(10_000_000)}

    schema = {"log": "utf8", "time": "i64", "lidar.points": "f32[?,4]", "camera.raw": "binary"}
    layout: dict[str, Any] = {"index": ["log", "time"], "sequence_by": ["log"], "order_by": ["time"], "preset": "fast", "write_memory": 64 << 20}
    table = ts.extract(spark, ["a", "b"], cells, str(tmp_path / "a"), schema=schema, **layout)
    copy = ts.write(load(spark, table.url), str(tmp_path / "b"), partitions=2, **layout)
    assert_same(copy, table)
    # Spark's own batches have several such rows; each is still read as it was written.
    sums = load(spark, copy.url, columns="log,time,camera.raw").selectExpr("log", "time", "sha2(`camera.raw`, 256) AS hash").collect()
    assert len({row.hash for row in sums}) == len(table)


# Extraction


@pytest.mark.slice
def test_an_extraction_stores_the_bytes_of_the_single_process(spark: Any, drives: tt.Table, empty: str) -> None:
    table = ts.extract(spark, LOGS, logs_of, empty, schema=SCHEMA, **LAYOUT)
    assert_same(table, drives)
    assert tt.read_index(table)["log"].to_list() == tt.read_index(drives)["log"].to_list()
    if not empty.startswith("s3:"):
        assert chunks(table) == chunks(drives)
    else:
        # The preset may choose other codecs for an object store than for a folder.
        assert table.group_sizes == ingested(f"{empty}-alone", LOGS).group_sizes
    table.verify()


def test_rows_and_batches_of_a_source_are_the_same_table(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    table = ts.extract(spark, LOGS, cluster_data.rows, str(tmp_path / "t"), schema=SCHEMA, **LAYOUT)
    assert_same(table, drives)


def raising(log: str) -> Iterator[dict[str, Any]]:
    yield from logs_of(log)
    if log == "log 001":
        raise OSError("the disk is gone")


def other_type(log: str) -> Iterator[dict[str, Any]]:
    for batch in logs_of(log):
        yield batch | ({"time": ["noon"] * len(batch["time"])} if log == "log 001" else {})


def unsorted(log: str) -> Iterator[dict[str, Any]]:
    batches = list(logs_of(log))
    yield from batches[::-1] if log == "log 001" else batches


def shared_sequence(log: str) -> Iterator[dict[str, Any]]:
    return logs_of("log 000")


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        pytest.param(raising, "source `log 001` .*OSError: the disk is gone", marks=pytest.mark.slice),
        (other_type, "log 001.*time"),
        (unsorted, "log 001"),
        (lambda log: 7, "source `log 00.` .*expected an iterable of rows or batches, found int 7"),
    ],
)
def test_a_source_that_fails_is_named_and_can_be_resumed(spark: Any, drives: tt.Table, tmp_path: Path, fn: Any, message: str) -> None:
    url = str(tmp_path / "t")
    with pytest.raises(PySparkException, match=f"(?s){message}"):
        ts.extract(spark, LOGS, fn, url, schema=SCHEMA, **LAYOUT)
    with pytest.raises(tt.NotFound):
        tt.open_table(url)
    table = ts.extract(spark, LOGS, logs_of, url, schema=SCHEMA, resume=True, **LAYOUT)
    assert_same(table, drives)


def test_a_sequence_in_two_sources_is_refused(spark: Any, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    with pytest.raises(tt.Invalid, match="sequence"):
        ts.extract(spark, LOGS, shared_sequence, url, schema=SCHEMA, **LAYOUT)
    with pytest.raises(tt.NotFound):
        tt.open_table(url)


@pytest.mark.slice
def test_resuming_reads_only_the_sources_that_are_left(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    url, seen = str(tmp_path / "t"), tmp_path / "seen"

    def watched(log: str) -> Iterator[dict[str, Any]]:
        with open(seen, "a") as lines:
            lines.write(f"{log}\n")
        yield from logs_of(log)

    plan = cluster.plan_write(url, schema=SCHEMA, labels=LOGS, **LAYOUT)
    cluster.write(plan.task(1), logs_of(LOGS[1]))
    table = ts.extract(spark, LOGS, watched, url, schema=SCHEMA, resume=True, **LAYOUT)
    assert set(seen.read_text().split("\n")) == {"", LOGS[0], LOGS[2]}
    assert_same(table, drives)
    assert not cluster.open_sessions(url)


# Failures


def once(folder: Path, name: str) -> bool:
    """Whether this call is the first one with this name, on all workers."""
    with contextlib.suppress(FileExistsError):
        (folder / name).touch(exist_ok=False)
        return True
    return False


def executors() -> list[psutil.Process]:
    """Lists the processes of executors: children of this process's JVM."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline()):
                found.append(child)
    return found


@pytest.mark.slice
def test_tasks_that_are_written_twice_or_half_count_once(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def half(log: str) -> Iterator[dict[str, Any]]:
        """Kills its process after half of the rows, the first time."""
        for number, batch in enumerate(logs_of(log)):
            if number == 2 and once(marks, log):
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    table = ts.extract(spark, LOGS, half, str(tmp_path / "half"), schema=SCHEMA, **LAYOUT)
    assert_same(table, drives)
    assert len(list(marks.iterdir())) == 3
    assert chunks(swept(table)) == chunks(drives)

    class Twice(ts._source.TetrysWriter):
        """Writes each task twice at a time, as speculation does. Then the first attempt fails, after its receipts are in the store."""

        def write(self, iterator: Iterator[pa.RecordBatch]) -> Any:
            batches, once_more = list(iterator), super().write
            with ThreadPoolExecutor(2) as threads:
                made, _ = threads.map(lambda _: once_more(iter(batches)), range(2))
            if once(marks, f"task {pyspark.TaskContext.get().partitionId()}"):
                raise OSError("lost the answer")
            return made

    class Source(ts.TetrysDataSource):
        @classmethod
        def name(cls) -> str:
            return "tetrys_twice"

        def writer(self, schema: Any, overwrite: bool) -> Any:
            return Twice(super().writer(schema, overwrite)._plan)

    spark.dataSource.register(Source)
    prepared = load(spark, drives.url).repartition(2, "log").sortWithinPartitions("log", "time")
    prepared.write.format("tetrys_twice").mode("append").options(**OPTIONS).save(str(tmp_path / "twice"))
    assert_same(swept(tt.open_table(str(tmp_path / "twice"))), drives)


def slow_logs(log: str) -> Iterator[dict[str, Any]]:
    for batch in logs_of(log):
        time.sleep(0.6)
        yield batch


@pytest.mark.parametrize("job", [pytest.param(job, marks=() if job else pytest.mark.slice) for job in range(12 if FULL else 2)])
def test_jobs_whose_executors_are_killed_leave_a_complete_table_or_none(spark: Any, drives: tt.Table, tmp_path: Path, job: int) -> None:
    rng = random.Random(job)
    url, stop = str(tmp_path / "t"), threading.Event()
    killed = []

    def kill() -> None:
        while not stop.wait(rng.uniform(0.3, 3)) and len(killed) < 3:
            with contextlib.suppress(psutil.Error, IndexError):
                victim = rng.choice(executors())
                workers = [one for one in victim.children(recursive=True) if "python" in one.name()]
                victim = rng.choice([victim, *workers])
                victim.kill()
                killed.append(victim.pid)

    def run() -> tt.Table:
        if job % 2:
            return ts.write(load(spark, drives.url, splits=3), url, partitions=3, **LAYOUT)
        return ts.extract(spark, LOGS, slow_logs, url, schema=SCHEMA, resume=True, **LAYOUT)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        table = run()
    except PySparkException:
        with pytest.raises(tt.NotFound):
            tt.open_table(url)
        table = None
    finally:
        stop.set()
        killer.join()
    table = run() if table is None else table
    assert killed or job % 2
    assert_same(table, drives)
    table.verify()
    swept(table)
    assert_same(table, drives)
    assert job % 2 or chunks(table) == chunks(drives)


DRIVER = """
import os, signal, sys
import cluster_data, test_spark
import tetrys.spark as ts
from tetrys import cluster

when, url = sys.argv[1:]
commit = cluster.commit

def dying(*arguments):
    if when == "after":
        commit(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

cluster.commit = dying
ts.extract(test_spark.session("local[2,4]"), test_spark.LOGS, test_spark.logs_of, url, schema=test_spark.SCHEMA, **test_spark.LAYOUT)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_driver_that_is_killed_around_its_commit_leaves_no_table_or_all_of_it(java: None, drives: tt.Table, tmp_path: Path, when: str) -> None:
    url = str(tmp_path / "t")
    done = subprocess.run([sys.executable, "-c", DRIVER, when, url], env=os.environ | environment(tmp_path), capture_output=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    if when == "after":
        assert_same(tt.open_table(url), drives)
        assert not cluster.open_sessions(url)
        return
    with pytest.raises(tt.NotFound):
        tt.open_table(url)
    (plan,) = cluster.open_sessions(url)
    assert [receipt.partition for receipt in cluster.found(plan)] == [0, 1, 2]
    table = cluster.commit(plan)
    assert_same(table, drives)
    assert chunks(swept(table)) == chunks(drives)


def test_a_failed_write_leaves_nothing_that_garbage_collection_misses(spark: Any, drives: tt.Table, tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    df = load(spark, drives.url).selectExpr("log", "time", "`camera.raw`", "IF(time = 1900, raise_error('no such frame'), 1) AS `a.x`")
    with pytest.raises(PySparkException, match="no such frame"):
        ts.write(df, url, index=["log", "time"], sequence_by="log", order_by="time", partitions=2)
    assert not cluster.open_sessions(url)
    table = tt.write_table(url, {"i": [1]}, index=["i"])
    swept(table)
    assert chunks(table) == {}


# Data


def test_a_level_5_data_set_is_the_table_of_the_single_process(spark: Any, tmp_path: Path) -> None:
    sources = sorted(SHARED.rglob("*.zarr")) if FULL and SHARED.is_dir() else []
    sources += [Path(os.environ["TETRYS_L5"])] if "TETRYS_L5" in os.environ else []
    if not sources:
        pytest.skip("no Level 5 data")
    for number, zarr in enumerate(sources):
        expected = tt.ingest_l5(zarr, tmp_path / f"single {number}")
        types = tt._data.types_of(expected)
        layout = {"index": [name for name, _ in expected.index_columns], "sequence_by": expected.sequence_by, "order_by": expected.order_by}
        copy = ts.write(load(spark, expected.url), tmp_path / f"spark {number}", partitions=2, groups=groups_of(expected), **layout)
        assert tt._data.types_of(copy) == types
        assert_same(copy, expected)


def groups_of(table: tt.Table) -> dict[str, list[str]]:
    return {group: [name for name, _ in columns] for group, columns in table.groups}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared Level 5 data")
@pytest.mark.parametrize(("name", "count"), [("multi_scene", 4), ("single_scene", 1), ("oldformat_v1", 1)])
def test_level_5_scenes_are_extracted_as_they_are_ingested(spark: Any, tmp_path: Path, empty: str, name: str, count: int) -> None:
    zarr = SHARED / "artefacts" / f"{name}.zarr"
    ingested = tt.ingest_l5(str(zarr), str(tmp_path / "ingested"))
    table = ts.extract(spark, [f"{zarr}#{scene}" for scene in range(count)], cluster_data.scenes, empty, **cluster_data.layout_of(ingested))
    assert_same(table, ingested)


@pytest.mark.skipif(not FULL, reason="2 GB of data: TETRYS_FULL=1")
def test_two_gigabytes_of_sensor_data_are_extracted(spark: Any, tmp_path: Path, empty: str) -> None:
    logs = cluster_data.names(40)

    def wide(log: str) -> Iterator[dict[str, Any]]:
        return cluster_data.batches(log, 50, 1_000_000)

    expected = ingested(str(tmp_path / "single"), logs, wide)
    table = ts.extract(spark, logs, wide, empty, schema=SCHEMA, **LAYOUT)
    assert_same(table, expected)
    if not empty.startswith("s3:"):
        assert chunks(table) == chunks(expected)


# The guide and the documentation

GUIDE = (Path(__file__).parents[2] / "docs/guide/cluster.md").read_text()
FRAMES = {"log_id": "utf8", "timestamp": "i64", "pedestrians": "i32", "lidar.points": "f32[?,4]"}


class Message:
    def __init__(self, time: int) -> None:
        self.time, self.points = time, np.full((time % 3, 4), time, np.float32)


def open_recording(name: str) -> list[Message]:
    return [Message(100 * frame) for frame in range(20)]


def recorded(url: str, *names: str) -> tt.Table:
    """Writes recordings, as the guide has them."""
    rows = [(name, frame) for name in names for frame in range(20)]
    columns: dict[str, Any] = {"log_id": [name for name, _ in rows], "timestamp": [100 * frame for _, frame in rows]}
    columns |= {"pedestrians": [frame % 5 for _, frame in rows], "lidar.points": [Message(frame).points for _, frame in rows]}
    return tt.write_table(url, columns, schema=FRAMES, index=list(FRAMES)[:3], sequence_by="log_id", order_by="timestamp")


@pytest.mark.slice
def test_the_code_of_the_guide_runs_from_top_to_bottom(spark: Any, tmp_path: Path) -> None:
    chapter = GUIDE.split("\n## Spark\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```py\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)
    tables = {name: recorded(f"{tmp_path}/{name}", name) for name in ("monday", "tuesday", "friday")}
    recorded(f"{tmp_path}/drives", "monday", "tuesday")
    frames = {name: load(spark, table.url) for name, table in tables.items()}
    spark.sql("DROP VIEW IF EXISTS drives")
    # Workers unpickle the functions of `__main__` by value.
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark, "open_recording": open_recording, "names": ["a.bag", "b.bag"]}
    names |= {"schema": {name: kind for name, kind in FRAMES.items() if name != "pedestrians"}}
    for block, (df, more) in zip(blocks, [("monday", "tuesday")] * 2 + [("friday", "friday")] * 2, strict=True):
        names |= {"df": frames[df], "more": frames[more]}
        exec(compile(block.replace("s3://team", str(tmp_path)).replace("partitions=64", "partitions=2"), "guide", "exec"), names)
    assert (names["drives"].count(), names["index"].columns) == (40, ["log_id", "timestamp", "pedestrians"])
    assert tt.read_index(f"{tmp_path}/copy")["log_id"].unique(maintain_order=True).to_list() == ["monday", "tuesday", "friday"]
    assert len(tt.open_table(f"{tmp_path}/recordings")) == 40


@pytest.mark.slice
def test_recordings_become_the_table_of_one_process(spark: Any, tmp_path: Path) -> None:
    logs = log_data.recordings(tmp_path, "monday", "broken", "tuesday")
    recipe, other = (log_data.apart(log_data.RECIPE, tmp_path / name) for name in ("alone", "spark"))
    with pytest.warns(UserWarning, match="log broken failed"):
        alone = tt.ingest_logs(logs, tmp_path / "alone" / "table", recipe)
    with pytest.warns(UserWarning, match="log broken failed and is not in the table: .*expected a file that begins with"):
        table = ts.ingest_logs(spark, logs, tmp_path / "spark" / "table", other)
    assert (len(table), table.is_view) == (100, True)
    assert log_data.values(table).equals(log_data.values(alone))
    # The same call again adds what is missing.
    log_data.recordings(tmp_path, "monday")
    (tmp_path / "broken.mcap").write_bytes((tmp_path / "monday.mcap").read_bytes())
    assert len(ts.ingest_logs(spark, logs, tmp_path / "spark" / "table", other)) == 150


DOCUMENTED = [ts.register, ts.write, ts.extract, ts.ingest_logs, ts._types.spark_type]


@pytest.mark.parametrize("thing", DOCUMENTED, ids=lambda thing: thing.__name__)
def test_an_example_does_what_it_says(spark: Any, tmp_path: Path, thing: Any) -> None:
    recorded(f"{tmp_path}/drives0", "monday")
    # Executors have another working folder.
    log_data.recordings(tmp_path, "monday", "tuesday")
    text = re.sub(r'"(drives|logs|synced|\w+\.mcap)"', rf'"{tmp_path}/\1"', inspect.getdoc(thing) or "")
    if thing is ts.register:
        text = text.replace(f"{tmp_path}/drives", f"{tmp_path}/drives0")
    names = {"tt": tt, "np": np, "tetrys": tetrys, "spark": spark, "spark_type": ts._types.spark_type, "recipe": log_data.RECIPE}
    output: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, {**names, "__name__": "__main__"}, thing.__name__, None, None)
    failed, tried = doctest.DocTestRunner().run(example, out=output.append)
    assert tried > 0 and not failed, "".join(output)
