"""Writes the data set beside this file with the classes of the real library, and the rows that its reader gives: what no data set in
`shared/petastorm` has. Fields of every numpy dtype with and without a codec, times, lists, all codecs, nulls, and partition columns.

    sh tests/venv.sh benches/peers/petastorm_readers.txt    # prints the python
    python python/tests/petastorm_real/write.py

The rows are in `rows.jsonl`, with the types that their values have, and the row-group indexes in `indexes.json`. Petastorm's pictures
come from OpenCV. Tests compare an import with both files. Nothing may rewrite the data set: another release would write another one.
"""

from __future__ import annotations

import datetime
import json
import pickle
import shutil
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from petastorm import make_reader
from petastorm.codecs import CompressedImageCodec, CompressedNdarrayCodec, NdarrayCodec, ScalarCodec
from petastorm.etl.rowgroup_indexers import FieldNotNullIndexer, SingleFieldIndexer
from petastorm.unischema import Unischema, UnischemaField
from pyspark.sql import types as spark
from described import described

HERE = Path(__file__).parent
ROWS = 6
GROUP = 2
random = np.random.default_rng(20)
fields: list[UnischemaField] = []
columns: dict[str, Any] = {}


def whole(low: int, high: int) -> list[int]:
    return [low, high, *(int(value) for value in random.integers(low, high, ROWS - 2, endpoint=True))]


def scalar(name: str, dtype: Any, kind: Any, stored: Any, values: list[Any], nullable: bool = True) -> None:
    """Adds a field with a codec, and one without; row 3 is null."""
    for suffix, codec in (("", ScalarCodec(kind)), ("_plain", None)):
        fields.append(UnischemaField(name + suffix, dtype, (), codec, nullable))
        columns[name + suffix] = pa.array([None if nullable and row == 3 else value for row, value in enumerate(values)], stored)


def array(name: str, dtype: Any, shape: tuple[Any, ...], codec: Any, values: list[Any]) -> None:
    """Adds a field that is stored as files; row 4 is null."""
    field = UnischemaField(name, dtype, shape, codec, True)
    fields.append(field)
    columns[name] = pa.array([None if row == 4 else bytes(codec.encode(field, value)) for row, value in enumerate(values)], pa.binary())


def make() -> None:
    floats = [0.1, -0.0, float("inf"), 1e-30, 7.0, 1.5]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=row * 400) for row in range(ROWS)]
    times = [datetime.datetime(1999, 12, 31, 23, 59, 59, 999_999) + datetime.timedelta(days=row * 1000, microseconds=row) for row in range(ROWS)]
    scalar("i8", np.int8, spark.ByteType(), pa.int8(), whole(-(2**7), 2**7 - 1))
    scalar("i16", np.int16, spark.ShortType(), pa.int16(), whole(-(2**15), 2**15 - 1))
    scalar("i32", np.int32, spark.IntegerType(), pa.int32(), whole(-(2**31), 2**31 - 1))
    scalar("i64", np.int64, spark.LongType(), pa.int64(), whole(-(2**63), 2**63 - 1))
    scalar("u8", np.uint8, spark.ShortType(), pa.int16(), whole(0, 2**8 - 1))
    scalar("u16", np.uint16, spark.IntegerType(), pa.int32(), whole(0, 2**16 - 1))
    scalar("u32", np.uint32, spark.LongType(), pa.int64(), whole(0, 2**32 - 1))
    scalar("u64", np.uint64, spark.LongType(), pa.int64(), whole(0, 2**63 - 1))
    scalar("f16", np.float16, spark.FloatType(), pa.float32(), floats)
    scalar("f32", np.float32, spark.FloatType(), pa.float32(), floats)
    scalar("f64", np.float64, spark.DoubleType(), pa.float64(), floats)
    scalar("narrowed", np.float32, spark.DoubleType(), pa.float64(), floats)
    scalar("flag", np.bool_, spark.BooleanType(), pa.bool_(), [True, False] * 3)
    scalar("flag_of_int", np.bool_, spark.IntegerType(), pa.int32(), [1, 0] * 3)
    scalar("text", np.str_, spark.StringType(), pa.string(), ["", "a", "grüße", "", "😀" * 3, "x\0y"])
    scalar("raw", np.bytes_, spark.BinaryType(), pa.binary(), [b"", b"a", b"\0\1", b"", b"\xff" * 9, b"c"])
    scalar("raw_of_text", np.bytes_, spark.StringType(), pa.string(), ["", "a", "b", "c", "d", "e"])
    scalar("price", Decimal, spark.DecimalType(10, 2), pa.decimal128(10, 2), [Decimal(number).scaleb(-2) for number in whole(-(10**9), 10**9)])
    scalar("exact", Decimal, spark.DecimalType(38, 18), pa.decimal128(38, 18), [Decimal(number).scaleb(-18) for number in whole(-(10**18), 10**18)])
    # Petastorm's reader fails on a time that is null.
    scalar("time", np.datetime64, spark.TimestampType(), pa.timestamp("us"), times, nullable=False)
    scalar("time_ns", np.datetime64, spark.TimestampType(), pa.timestamp("ns"), times, nullable=False)
    scalar("day", np.datetime64, spark.DateType(), pa.date32(), days)
    scalar("python_int", int, spark.LongType(), pa.int64(), whole(-5, 5))
    scalar("python_float", float, spark.DoubleType(), pa.float64(), floats)
    scalar("python_text", str, spark.StringType(), pa.string(), list("abcdef"))
    for name, dtype in (("list_i64", np.int64), ("list_f32", np.float32)):
        fields.append(UnischemaField(name, dtype, (None,), None, True))
        columns[name] = pa.array([None if row == 2 else list(range(row)) for row in range(ROWS)], pa.list_(pa.from_numpy_dtype(dtype)))
    numbers = [
        np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64, np.bool_, np.complex64,
        np.complex128,
    ]  # fmt: skip
    for dtype in numbers:
        values = [(random.random((row % 3, 2)) * 100).astype(dtype) for row in range(ROWS)]
        array(f"npy_{dtype.__name__}", dtype, (None, 2), NdarrayCodec(), values)
    packed = CompressedNdarrayCodec()
    array("npz_float32", np.float32, (2, 3), packed, [random.random((2, 3), np.float32) for _ in range(ROWS)])
    array("npz_complex64", np.complex64, (1,), packed, [np.array([1j * row], np.complex64) for row in range(ROWS)])
    array("npz_text", np.str_, (2, None), packed, [np.array([["é" * row, "x"], ["", "y"]]) for row in range(ROWS)])
    array("npy_text", np.str_, (None,), NdarrayCodec(), [np.array(["a" * size for size in range(row % 3)], np.str_) for row in range(ROWS)])
    array("npy_bytes", np.bytes_, (2,), NdarrayCodec(), [np.array([b"a\0b\0", b""], "S7") for _ in range(ROWS)])
    array("npy_fortran", np.float64, (2, 3), NdarrayCodec(), [np.asfortranarray(random.random((2, 3))) for _ in range(ROWS)])
    array("npy_big_endian", np.float32, (2,), NdarrayCodec(), [random.random(2).astype(">f4") for _ in range(ROWS)])
    array("npy_scalar", np.float64, (), NdarrayCodec(), [np.array(float(row)) for row in range(ROWS)])
    array("npy_times", np.datetime64, (None,), NdarrayCodec(), [np.arange(row % 3).astype("M8[ms]") for row in range(ROWS)])

    def scene(height: int, width: int, channels: int, dtype: Any) -> Any:
        waves = np.add.outer(np.arange(height) * 7, np.arange(width) * 5)
        levels = np.stack([(waves * (channel + 1)) % np.iinfo(dtype).max for channel in range(channels)], -1)
        return (levels[..., 0] if channels == 1 else levels).astype(dtype)

    for kind in ("png", "jpeg", "bmp"):
        array(f"{kind}_rgb", np.uint8, (None, 17, 3), CompressedImageCodec(kind, quality=90), [scene(9 + row, 17, 3, np.uint8) for row in range(ROWS)])
    array("png_grey", np.uint8, (8, 9), CompressedImageCodec("png"), [scene(8, 9, 1, np.uint8)] * ROWS)
    array("jpeg_grey", np.uint8, (8, 9), CompressedImageCodec("jpeg"), [scene(8, 9, 1, np.uint8)] * ROWS)
    array("png_wide", np.uint16, (4, 5), CompressedImageCodec("png"), [scene(4, 5, 1, np.uint16) * 700] * ROWS)
    array("png_wide_rgb", np.uint16, (4, 5, 3), CompressedImageCodec("png"), [scene(4, 5, 3, np.uint16) * 700] * ROWS)


PARTITIONS = [
    ("part_i32", np.int32, ScalarCodec(spark.IntegerType()), ["-1", "20"]),
    ("part_text", np.str_, ScalarCodec(spark.StringType()), ["a-b", "c"]),
    ("part_f64", np.float64, ScalarCodec(spark.DoubleType()), ["0.5", "1e3"]),
    ("part_day", np.datetime64, ScalarCodec(spark.DateType()), ["2020-01-31", "2020-02-01"]),
    ("part_price", Decimal, None, ["1.50", "2.25"]),
]


def main() -> None:
    warnings.simplefilter("ignore")
    make()
    fields.extend(UnischemaField(name, dtype, (), codec, False) for name, dtype, codec, _ in PARTITIONS)
    data = HERE / "set"
    shutil.rmtree(data, ignore_errors=True)
    whole_table, counts = pa.table(columns), {}
    for number in range(2):
        folder = "/".join(f"{name}={values[number]}" for name, _, _, values in PARTITIONS)
        (data / folder).mkdir(parents=True)
        part = whole_table.slice(number * 3, 3)
        pq.write_table(part, data / folder / "part-0.parquet", row_group_size=GROUP, compression="zstd", store_schema=False, write_statistics=False)
        counts[f"{folder}/part-0.parquet"] = 2
    indexers = [SingleFieldIndexer(f"by_{name}", name) for name in ("i32", "f64", "text", "flag", "time", "day", "price", "raw", "npy_text", "part_i32")]
    indexers.append(FieldNotNullIndexer("has_text", "text"))
    schema = Unischema("Real", fields)
    metadata = {"dataset-toolkit.unischema.v1": pickle.dumps(schema), "dataset-toolkit.num_row_groups_per_file.v1": json.dumps(counts)}
    pq.write_metadata(whole_table.schema.with_metadata(metadata), data / "_common_metadata")
    with make_reader(f"file://{data}", reader_pool_type="dummy", shuffle_row_groups=False) as reader:
        rows = [row._asdict() for row in reader]
    # Two row groups a file: of two rows and of one.
    for indexer in indexers:
        for group, part in enumerate((rows[:2], rows[2:3], rows[3:5], rows[5:])):
            indexer.build_index(part, group)
    metadata["dataset-toolkit.rowgroups_index.v1"] = pickle.dumps({indexer.index_name: indexer for indexer in indexers}, pickle.HIGHEST_PROTOCOL)
    pq.write_metadata(whole_table.schema.with_metadata(metadata), data / "_common_metadata")
    with (HERE / "rows.jsonl").open("w") as lines:
        for row in rows:
            lines.write(json.dumps({name: described(row[name]) for name in schema.fields}) + "\n")
    groups = {
        one.index_name: [[described(value), sorted(found)] for value, found in one._index_data.items()] if isinstance(one, SingleFieldIndexer) else sorted(one._index_data)
        for one in indexers
    }
    (HERE / "indexes.json").write_text(json.dumps(groups) + "\n")


if __name__ == "__main__":
    main()
