"""The Spark parts of `tetrys.petastorm`, on a real Spark session. Skipped without pyspark or Java."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from tetrys.petastorm import make_reader
from tetrys.petastorm.codecs import CompressedImageCodec, CompressedNdarrayCodec, NdarrayCodec, ScalarCodec
from tetrys.petastorm.etl.dataset_metadata import PetastormMetadataError, materialize_dataset
from tetrys.petastorm.spark import SparkDatasetConverter, make_spark_converter
from tetrys.petastorm.spark_utils import dataset_as_rdd
from tetrys.petastorm.unischema import Unischema, UnischemaField, dict_to_spark_row

pyspark = pytest.importorskip("pyspark", reason="no pyspark")
import tetrys.spark
types = pytest.importorskip("pyspark.sql.types")
if shutil.which("java") is None:
    pytest.skip("no Java", allow_module_level=True)

SCHEMA = Unischema(
    "Scan",
    [
        UnischemaField("id", np.int64, (), ScalarCodec(types.LongType()), False),
        UnischemaField("small", np.uint8, (), ScalarCodec(types.ShortType()), True),
        UnischemaField("name", np.str_, (), ScalarCodec(types.StringType()), False),
        UnischemaField("price", Decimal, (), ScalarCodec(types.DecimalType(10, 3)), False),
        UnischemaField("points", np.float32, (None, 3), NdarrayCodec(), False),
        UnischemaField("packed", np.int16, (4,), CompressedNdarrayCodec(), True),
        UnischemaField("image", np.uint8, (5, 4, 3), CompressedImageCodec("png"), False),
        UnischemaField("words", np.str_, (None,), NdarrayCodec(), False),
    ],
)


def row(number: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": np.int64(number),
        "name": f"row {number}",
        "price": Decimal(f"{number}.125"),
        "points": np.full((number % 3, 3), number, np.float32),
        "packed": np.full(4, number, np.int16) if number % 4 else None,
        "image": np.full((5, 4, 3), number, np.uint8),
        "words": np.array(["a", "bc"][: number % 3], np.str_),
    }
    # A nullable field may be missing.
    return made if number % 5 == 0 else {**made, "small": np.uint8(200 + number)}


def check(rows: list[Any], count: int) -> None:
    assert [int(one.id) for one in rows] == list(range(count))
    for number, one in enumerate(rows):
        expected = {"small": None, **row(number)}
        assert one._fields == tuple(SCHEMA.fields) and type(one.id) is np.int64 and one.small == expected["small"]
        assert one.small is None or type(one.small) is np.uint8
        assert (one.name, one.price, one.words.tolist()) == (expected["name"], expected["price"], expected["words"].tolist())
        assert one.points.dtype == np.float32 and one.points.tolist() == expected["points"].tolist() and (one.image == number).all()
        assert one.image.shape == (5, 4, 3) and (one.packed is None) == (number % 4 == 0)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "home").mkdir()
    for one in Path(pyspark.__file__).parent.iterdir():
        with suppress(FileExistsError):
            (folder / "home" / one.name).symlink_to(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(folder / "home"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "local"))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).parent)])))
        builder = pyspark.sql.SparkSession.builder.master("local[2]").appName("petastorm").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
        yield session
        session.stop()
        pyspark.SparkContext._gateway.shutdown()
        # The next session of this process starts a JVM of its own.
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None


def test_a_dataset_written_by_spark_has_its_schema(spark: Any, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/scans"
    with materialize_dataset(spark, url, SCHEMA, 256) as writer:
        rows = spark.sparkContext.parallelize(range(20), 3).map(row).map(lambda one: dict_to_spark_row(SCHEMA, one))
        writer.write(spark.createDataFrame(rows, SCHEMA.as_spark_schema()))
    with make_reader(url, shuffle_row_groups=False) as reader:
        assert reader.schema.price == SCHEMA.price and str(reader.schema.id.codec) == "ScalarCodec(LongType())"
        check(sorted(reader, key=lambda one: int(one.id)), 20)


def test_an_rdd_has_the_rows_of_the_table_in_order(spark: Any, tmp_path: Path) -> None:
    url = str(tmp_path / "scans")
    with materialize_dataset(None, url, SCHEMA) as writer:
        writer.write(map(row, range(10)))
    check(dataset_as_rdd(url, spark).collect(), 10)
    some = dataset_as_rdd(url, spark, [SCHEMA.name, "id"]).collect()
    assert some[3]._fields == ("name", "id") and some[3].name == "row 3"


def test_a_dataframe_becomes_tensors_and_is_materialized_once(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    frame = spark.range(100).selectExpr("id", "cast(id as double) / 3 as x", "array(cast(id as double), 1.5D) as pair")
    with pytest.raises(ValueError, match="parentCacheDirUrl is missing"):
        make_spark_converter(frame)
    (tmp_path / "mine.txt").write_text("keep")
    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    converter = make_spark_converter(frame)
    assert make_spark_converter(frame.select("*")) is converter and len(converter) == 100
    assert make_spark_converter(frame, dtype="float64") is not converter
    with pickle.loads(pickle.dumps(converter)).make_torch_dataloader(batch_size=30, num_epochs=1) as loader:
        batches = list(loader)
    assert [len(batch["id"]) for batch in batches] == [30, 30, 30, 10]
    assert sorted(one for batch in batches for one in batch["id"].tolist()) == list(range(100))
    assert str(batches[0]["x"].dtype) == "torch.float32" and tuple(batches[0]["pair"].shape) == (30, 2)
    table = tt.Table(converter.cache_dir_url)
    assert len(make_spark_converter(table.url)) == 100
    converter.delete()
    with pytest.raises(tt.NotFound):
        tt.Table(table.url)
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_parquet_folder_is_read_by_spark(spark: Any, tmp_path: Path) -> None:
    spark.range(10).write.parquet(f"file://{tmp_path}/parquet")
    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    assert len(make_spark_converter(f"file://{tmp_path}/parquet")) == 10


def test_odd_frames_and_urls_are_materialized_or_refused(spark: Any, tmp_path: Path) -> None:
    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    frame = spark.range(3).selectExpr("id", "cast(id as double) as `a.x`", "array(1D) as `b``c`")
    table = tt.Table(make_spark_converter(frame).cache_dir_url)
    assert [column for _, columns in table.groups for column in columns] == [("a.x", "f32"), ("b`c", "f32[?]")]
    assert len(make_spark_converter(Path(table.url.removeprefix("file://")))) == 3
    with pytest.raises(tt.Invalid, match="two columns `x`: rename one"):
        make_spark_converter(frame.selectExpr("1.5D as x", "2.5D as x"))
    with pytest.raises(tt.NotFound, match="df: .* has no table, and Spark reads no Parquet files there"):
        make_spark_converter(str(tmp_path / "nothing"))
    for wrong in (pyspark.sql.DataFrame, spark, frame.groupBy("id"), [frame]):
        with pytest.raises(TypeError, match="df: expected a DataFrame or a URL, found"):
            make_spark_converter(wrong)
    with pytest.raises(TypeError, match="spark_session: expected a Spark session"):
        dataset_as_rdd(table.url, pyspark.sql.SparkSession)


CASES = {"i": types.LongType(), "x": types.DoubleType(), "X": types.DoubleType()}


def test_columns_keep_their_values_whatever_their_names(spark: Any, tmp_path: Path) -> None:
    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    for name in ("petastorm_row", "Petastorm_Row"):
        converter = make_spark_converter(spark.range(2).selectExpr(f"id + 0.5D AS {name}"), dtype=None)
        table = tt.Table(converter.cache_dir_url)
        assert table.index_columns == [("petastorm_row_", "i64")]
        assert sorted(tt.row_loader(table).take([0, 1])[name].tolist()) == [0.5, 1.5]
    frame = spark.createDataFrame([(1, 2.5, 3.5)], types.StructType([types.StructField(name, kind) for name, kind in CASES.items()]))
    row = tt.row_loader(tt.Table(make_spark_converter(frame).cache_dir_url), columns=["*"])[0]
    assert (row["x"], row["X"]) == (2.5, 3.5)


def test_null_vectors_are_null_and_a_folder_of_other_files_is_no_parquet_folder(spark: Any, tmp_path: Path) -> None:
    from pyspark.ml.linalg import Vectors

    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    frame = spark.createDataFrame([(1, Vectors.dense([1.5])), (2, None)], ["i", "v"]).coalesce(1)
    rows = tt.row_loader(tt.Table(make_spark_converter(frame).cache_dir_url))
    assert rows[0]["v"].tolist() == [1.5] and rows[1]["v"] is None
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.txt").write_text("no rows")
    with pytest.raises(tt.NotFound, match="df: .*other has no table, and Spark reads no Parquet files there"):
        make_spark_converter(str(tmp_path / "other"))


def test_a_frame_without_a_field_is_refused_and_publishes_nothing(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([dict_to_spark_row(SCHEMA, row(1))], SCHEMA.as_spark_schema())
    for name in ("price", "points"):
        with pytest.raises(ValueError, match=f"the DataFrame has no column `{name}`, which schema Scan has"), materialize_dataset(spark, str(tmp_path / "t"), SCHEMA) as writer:
            writer.write(frame.drop(name))
        with pytest.raises(tt.NotFound):
            tt.Table(str(tmp_path / "t"))


def test_frames_with_other_names_are_materialized_apart(spark: Any, tmp_path: Path) -> None:
    spark.conf.set(SparkDatasetConverter.PARENT_CACHE_DIR_URL_CONF, f"file://{tmp_path}")
    frame = spark.range(3).selectExpr("id", "id + 1 AS a")
    assert make_spark_converter(frame) is make_spark_converter(frame.select("*"))
    table = tt.Table(make_spark_converter(frame.withColumnRenamed("a", "b")).cache_dir_url)
    assert [column for _, columns in table.groups for column in columns] == [("b", "i64")]


def test_a_column_of_spark_is_no_frame_and_no_session(spark: Any, tmp_path: Path) -> None:
    column = pyspark.sql.functions.col("a")
    with pytest.raises(TypeError, match="df: expected a DataFrame or a URL, found"):
        make_spark_converter(column)
    with pytest.raises(TypeError, match="spark_session: expected a Spark session"):
        dataset_as_rdd(str(tmp_path), column)
    with pytest.raises(TypeError, match="rows: expected dicts, or a Spark DataFrame, found"), materialize_dataset(spark, str(tmp_path / "t"), SCHEMA) as writer:
        writer.write(column)
    with pytest.raises(TypeError, match="df: expected a DataFrame of Spark, found"):
        tetrys.spark.write(column, str(tmp_path / "t"), index="a")
    with pytest.raises(TypeError, match="order_by: expected a list, found"):
        tetrys.spark.write(spark.range(3), str(tmp_path / "t"), index="id", order_by=column)


def test_a_block_that_writes_nothing_is_an_error(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(PetastormMetadataError, match="no table was written"), materialize_dataset(spark, str(tmp_path / "t"), SCHEMA):
        pass
    with pytest.raises(tt.Invalid, match="dtype: expected"):
        make_spark_converter(spark.range(3), dtype="float16")
    with pytest.raises(TypeError, match="df: expected"):
        make_spark_converter(3)
    with pytest.raises(TypeError, match="spark_session"):
        dataset_as_rdd(str(tmp_path), None)
