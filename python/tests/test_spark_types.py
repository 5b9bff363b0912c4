"""Types and batches of Spark: every column type goes there and back, and wrong shapes are refused. Needs PySpark, and no Java."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import cluster_data
import numpy as np
import pytest
import tetrys as tt
from tetrys import cluster

pytest.importorskip("pyspark", minversion="4.0", reason="no PySpark")

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type
from tetrys.spark import _types

pytestmark = pytest.mark.slice

FULL = os.environ.get("TETRYS_FULL") == "1"


def assert_same(table: tt.Table, expected: tt.Table) -> None:
    diff = table.diff(expected, exact=True)
    assert (len(diff.added), len(diff.removed), len(diff.changed), len(table)) == (0, 0, 0, len(expected)), str(diff)


EVERY = {
    "i": "i64",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "u8": "u8",
    "u16": "u16",
    "u32": "u32",
    "u64": "u64",
    "flag": "bool",
    "name": "utf8",
    "kind": "categorical",
    "day": "date",
    "ns": "timestamp[ns]",
    "utc": "timestamp[us,UTC]",
    "local": "timestamp[ms,Europe/Berlin]",
    "s": "timestamp[s]",
    "span": "duration[ms]",
    "fine": "duration[ns]",
    "p.f16": "f16",
    "p.bf16": "bf16",
    "p.f32": "f32",
    "p.f64": "f64",
    "p.raw": "binary",
    "p.fixed": "f32[2,3]",
    "p.points": "f32[?,4]",
    "p.bits": "bool[?]",
    "p.wide": "u64[?,2]",
    "p.picture": "u8[?,?,3]",
    "p.words": "list<utf8>",
    "p.nested": "list<i64[?]>",
    "p.times": "list<timestamp[ns]>",
    "p.halves": "list<f16[?,2]>",
}
INDEX = [name for name in EVERY if "." not in name]


def every(rows: int, seed: int) -> dict[str, Any]:
    """Returns random rows of all column types, with nulls."""
    rng = np.random.default_rng(seed)
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

    def value(kind: str) -> Any:
        shaped = _types.tensor(kind)
        if shaped is not None:
            shape = tuple(int(rng.integers(0, 4)) if extent is None else extent for extent in shaped[1])
            kind = "f32" if shaped[0] == "f16" else shaped[0]
            made = rng.integers(0, 2 if kind == "bool" else 200, shape)
            return made.astype({"bool": np.bool_, "u8": np.uint8, "u64": np.uint64, "i64": np.int64, "f32": np.float32}[kind])
        if kind.startswith("list<"):
            return [value(kind[5:-1]) for _ in range(rng.integers(0, 4))]
        if kind.startswith(("timestamp", "duration")):
            unit = kind.split("[")[1].rstrip("]").split(",")[0]
            ticks = int(rng.integers(0, 2**30)) * scale[unit] + int(rng.integers(0, scale[unit]))
            return np.datetime64(ticks, unit) if kind.startswith("t") else np.timedelta64(ticks, unit)
        if kind == "date":
            return np.datetime64(int(rng.integers(-(10**4), 10**4)), "D")
        if kind in ("utf8", "categorical"):
            return "".join(rng.choice(list("aé✓ \n"), rng.integers(0, 4)))
        if kind == "binary":
            return rng.bytes(rng.integers(0, 5))
        if kind == "bool":
            return bool(rng.integers(0, 2))
        if kind in ("f16", "bf16", "f32", "f64"):
            return float(rng.choice([0.0, 1.5, -2.0, np.inf, np.nan, 96.0]))
        least, most = (0, 2 ** int(kind[1:]) - 1) if kind[0] == "u" else (-(2 ** (int(kind[1:]) - 1)), 2 ** (int(kind[1:]) - 1) - 1)
        return (least, most)[int(rng.integers(0, 2))] if rng.random() < 0.3 else int(rng.integers(0, 100))

    columns = {name: [None if rng.random() < 0.2 else value(kind) for _ in range(rows)] for name, kind in EVERY.items()}
    return columns | {"i": list(range(rows))}


def to_rows(table: tt.Table, names: list[str]) -> pa.Table:
    """Returns rows as this process reads them, in Spark's types."""
    schema = st.StructType([_types.field(name, tt._data.types_of(table)[name]) for name in names])
    splits = cluster.plan_read(table, columns=names, splits=1)
    kinds = [tt._data.types_of(table)[name] for name in names]
    parts = [part for split in splits for batch in cluster.read(split) for part in _types.to_spark(batch.select(names), kinds, _types.arrow_schema(schema))]
    return pa.Table.from_batches(parts, _types.arrow_schema(schema))


@pytest.mark.parametrize("seed", range(12 if FULL else 3))
def test_values_of_every_type_come_back_after_the_types_of_spark(tmp_path: Path, seed: int) -> None:
    rows = 7 + seed
    table = tt.write_table(str(tmp_path / "a"), every(rows, seed), schema=EVERY, index=INDEX, order_by=["i"])
    made = to_rows(table, list(EVERY))
    assert len(_types.of_spark(pa.RecordBatch.from_pylist([], made.schema), EVERY)) == 0
    for start, end in [(0, rows), (2, 5)]:
        batches = made.slice(start, end - start).combine_chunks().to_batches()
        url = str(tmp_path / f"{start}-{end}")
        back = tt.write_table(url, [_types.of_spark(one, EVERY) for one in batches], schema=EVERY, index=INDEX, order_by=["i"])
        expected = tt.write_table(f"{url}x", {name: values[start:end] for name, values in every(rows, seed).items()}, schema=EVERY, index=INDEX, order_by=["i"])
        assert_same(back, expected)


def test_a_batch_for_spark_has_at_most_10000_rows_and_64_mib() -> None:
    kinds = ["i64", "f32[?,4]"]
    schema = _types.arrow_schema(st.StructType([_types.field("i", kinds[0]), _types.field("p.x", kinds[1])]))
    numbers = pa.array(np.arange(25_001))
    empty = pa.array([{"data": [], "shape": [0, 4]}] * 25_001, pa.struct([("data", pa.large_list(pa.float32())), ("shape", pa.list_(pa.int32(), 2))]))
    parts = _types.to_spark(pa.record_batch([numbers, empty], ["i", "p.x"]), kinds, schema)
    assert max(part.num_rows for part in parts) <= 10_000
    np.testing.assert_array_equal(pa.Table.from_batches(parts)["i"], numbers)
    starts = np.arange(21) * 2_500_000
    data = pa.LargeListArray.from_arrays(pa.array(starts), pa.array(np.zeros(starts[-1], np.float32)))
    shape = pa.FixedSizeListArray.from_arrays(pa.array(np.tile(np.int32([625_000, 4]), 20)), 2)
    wide = pa.StructArray.from_arrays([data, shape], ["data", "shape"])
    parts = _types.to_spark(pa.record_batch([numbers.slice(0, 20), wide], ["i", "p.x"]), kinds, schema)
    assert max(part.nbytes for part in parts) <= 64 << 20
    assert sum(part.num_rows for part in parts) == 20


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (pa.array([[1.0, 2.0], [1.0]]), "f32[2]", "row 1 of the batch has 1 values, expected 2"),
        (pa.array([[1.0] * 8, [1.0] * 6]), "f32[?,4]", "row 1 of the batch has 6 values, expected a multiple of 4"),
        (pa.array([[1.0] * 8]), "f32[?,?]", "expected nested arrays, or a struct"),
        (pa.array([[[1.0], [1.0, 2.0]]]), "f32[?,?]", "row 0 of the batch has parts of different lengths in dimension 1"),
        (pa.array([[[1.0], None]]), "f32[?,?]", "a null within dimension 0"),
        (pa.array([[[1.0]]]), "f32[?,?,?]", "nested 3 deep, found 2"),
        (pa.array([{"data": [1.0], "shape": [2, 1]}]), "f32[?,?]", r"row 0 of the batch has 1 values, its shape is \[2, 1\]"),
        (pa.array([{"data": [1.0], "shape": [1]}]), "f32[?,?]", "a shape of 1 extents, expected 2"),
        (pa.array([{"a": 1}]), "f32[?,?]", "a struct of `data` and `shape`, found one of a"),
        (pa.array([{"data": [1.0, 2.0], "shape": [1.5, 2.0]}]), "f32[?,?]", "`shape` one of integers"),
        (pa.array([{"data": [1.0], "shape": ["1", "1"]}]), "f32[?,?]", "`shape` one of integers"),
        (pa.array([{"data": 1.0, "shape": [1, 1]}]), "f32[?,?]", "expected `data` to be an array of elements"),
        (pa.array([{"data": [1.0], "shape": [1, 1]}, {"data": None, "shape": [0, 2]}]), "f32[?,?]", "row 1 of the batch has a shape, and null as `data`"),
        (pa.array([None, {"data": [1.0], "shape": [1, 1]}, {"data": [], "shape": [0, None]}]), "f32[?,?]", "row 2 of the batch has a null extent"),
        (pa.array([{"data": [1.0, 2.0], "shape": [-1, -2]}]), "f32[?,?]", r"row 0 of the batch has the shape \[-1, -2\]: expected extents of 0 to 2147483647"),
        (pa.array([{"data": [], "shape": [2**32, 0]}], pa.struct({"data": pa.list_(pa.float32()), "shape": pa.list_(pa.int64())})), "f32[?,?]", "expected extents of 0 to"),
    ],
)
def test_arrays_without_the_shape_of_their_column_are_refused(values: pa.Array, kind: str, message: str) -> None:
    with pytest.raises(tt.Invalid, match=f"column `p.x`: .*{message}"):
        _types.of_spark(pa.record_batch([values], ["p.x"]), {"p.x": kind})


def test_nested_arrays_are_tensors() -> None:
    values = pa.array([[[1, 2], [3, 4]], None, [], [[5, 6]]], pa.list_(pa.list_(pa.float32())))
    made = _types.of_spark(pa.record_batch([values, values], ["a", "b"]), {"a": "f32[?,2]", "b": "f32[?,?]"})
    for name, last in [("a", 2), ("b", 0)]:
        assert made[name].to_pylist() == [
            {"data": [1, 2, 3, 4], "shape": [2, 2]},
            None,
            {"data": [], "shape": [0, last]},
            {"data": [5, 6], "shape": [1, 2]},
        ]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (st.NullType(), "Spark's void: declare it in `schema`, or leave the column out"),
        (st.ArrayType(st.NullType()), "Spark's void: declare it"),
        (st.YearMonthIntervalType(), "Spark's interval year to month: cast it"),
        (st.StructType([]), "Spark's struct<>: declare it in `schema`, or leave"),
        (st.ArrayType(st.ArrayType(st.StructType([st.StructField("a", st.LongType())]))), "list<.*>: convert the values"),
    ],
)
def test_the_error_for_a_type_without_a_column_type_says_what_to_do_with_it(kind: st.DataType, message: str) -> None:
    with pytest.raises(tt.Invalid, match=f"column `p.x`: no column type for {message}"):
        _types.types_of_frame(st.StructType([st.StructField("p.x", kind)]), None)


@pytest.mark.parametrize("kind", [st.NullType(), st.YearMonthIntervalType()])
def test_the_error_for_a_part_without_a_column_type_names_the_part(kind: st.DataType) -> None:
    inner = st.StructType([st.StructField("a", st.MapType(st.StringType(), kind))])
    with pytest.raises(tt.Invalid, match=f"column `x.a.value`: no column type for Spark's {kind.simpleString()}"):
        _types.types_of_frame(st.StructType([st.StructField("x", inner)]), None)


def frame_schema(rows: pa.Table) -> st.StructType:
    """Returns the schema of a DataFrame with these columns."""
    return st.StructType([st.StructField(one.name, from_arrow_type(one.type)) for one in rows.schema])


def written(url: str, rows: pa.Table, declared: dict[str, str], batch: int) -> tt.Table:
    """Writes rows as a task of Spark does."""
    plan = cluster.plan_write(url, schema=_types.types_of_frame(frame_schema(rows), declared), index="i", partitions=1)
    batches = rows.to_batches(max_chunksize=batch)
    return cluster.commit(plan, [cluster.write(plan.task(0), [_types.of_spark(one, plan.schema) for one in batches])])


@pytest.mark.parametrize("seed", range(30 if FULL else 5))
def test_structs_maps_and_decimals_become_what_an_import_of_parquet_makes_of_them(tmp_path: Path, seed: int) -> None:
    rows = cluster_data.nested(40, seed)
    pq.write_table(rows, tmp_path / "rows.parquet")
    imported = cluster_data.described(tt.ingest_petastorm(str(tmp_path / "rows.parquet"), str(tmp_path / "imported"), index="i"))
    declared = {name: kind for name, (kind, _, _) in imported.items() if name.endswith(".is_null")}
    assert declared.keys() >= {"ego.is_null", "ego.pose.is_null", "boxes.size.is_null", "named.value.is_null"}
    assert cluster_data.described(written(str(tmp_path / "whole"), rows, declared, 40)) == imported
    assert cluster_data.described(written(str(tmp_path / "parts"), rows, declared, 7)) == imported
    for name in declared:
        with pytest.raises(tt.Invalid, match=f"declare the column `{name}` in `schema`"):
            written(str(tmp_path / name), rows, {other: kind for other, kind in declared.items() if other != name}, 40)


def test_a_struct_of_nulls_is_refused_unless_a_column_tells_it_from_null(tmp_path: Path) -> None:
    rows = pa.table({"i": [0, 1, 2], "s": pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())]))})
    with pytest.raises(tt.Invalid, match=r"column `s`: `s` \(row 2 of the batch\) is a struct that is not null.*declare the column `s.is_null`"):
        written(str(tmp_path / "a"), rows, {}, 3)
    table = written(str(tmp_path / "b"), rows, {"s.is_null": "bool"}, 3)
    assert tt.row_loader(table).take(range(3))["s.is_null"].tolist() == [False, True, False]


def test_two_columns_of_one_name_are_refused() -> None:
    schema = st.StructType([st.StructField("s", st.StructType([st.StructField("a", st.LongType())])), st.StructField("s.a", st.LongType())])
    with pytest.raises(tt.Invalid, match="two columns `s.a`: rename one; the columns of the frame are s, s.a"):
        _types.types_of_frame(schema, None)


MOST = 2**64 - 1


@pytest.mark.parametrize(("digits", "scale"), [(20, 0), (38, 0), (38, 18)])
def test_a_decimal_of_the_whole_range_is_a_u64(tmp_path: Path, digits: int, scale: int) -> None:
    numbers = [0, 1, 2**63 - 1, 2**63, MOST, None]
    decimals = pa.array([None if one is None else Decimal(one) for one in numbers], pa.decimal128(digits, scale))
    rows = pa.table({"i": range(6), "x": decimals, "p.x": decimals, "p.list": pa.ListArray.from_arrays(list(range(7)), decimals)})
    table = written(str(tmp_path / "t"), rows, {"x": "u64", "p.x": "u64", "p.list": "u64[?]"}, 6)
    found = pa.table(tt.row_loader(tt.read_index(table)).take(range(6), ["x", "p.*"]))
    assert (found["x"].to_pylist(), found["p.x"].to_pylist()) == (numbers, numbers)
    assert [row["data"] for row in found["p.list"].to_pylist()] == [[one] for one in numbers]


@pytest.mark.parametrize("value", [-1, MOST + 1, Decimal("0.5")])
@pytest.mark.parametrize("of", ["x", "list"])
def test_a_decimal_that_is_no_u64_is_refused_with_its_place(value: Any, of: str) -> None:
    decimals = pa.array([Decimal(1), Decimal(value)], pa.decimal128(22, 1))
    values, kind, message = (decimals, "u64", "column `x`") if of == "x" else (pa.array([decimals.to_pylist()]), "u64[?]", "column `x`, an item")
    with pytest.raises(tt.Invalid, match=rf"{message}: value 1: {value}(\.0)? does not fit u64: expected an integer from 0 to {MOST}"):
        _types.of_spark(pa.record_batch([values], ["x"]), {"x": kind})


def test_null_elements_go_there_and_back(tmp_path: Path) -> None:
    values = pa.array([[1.5, None], None, []])
    table = written(str(tmp_path / "t"), pa.table({"i": range(3), "p.x": values}), {}, 3)
    assert to_rows(table, ["p.x"])["p.x"].to_pylist() == values.to_pylist()


def test_rows_to_append_must_have_decimals_of_the_same_digits(tmp_path: Path) -> None:
    rows = pa.table({"i": [0], "x": pa.array([Decimal("1.5")], pa.decimal128(9, 2))})
    table = written(str(tmp_path / "t"), rows, {}, 1)
    other = pa.table({"i": [0], "x": pa.array([Decimal("1.5")], pa.decimal128(9, 3))})
    kinds = _types.types_of_frame(frame_schema(other), {}, tt._data.types_of(table))
    with pytest.raises(tt.Invalid, match=r"column `x`: the rows have type Decimal128\(9, 3\), the table's column had type Decimal128\(9, 2\)"):
        cluster.plan_write(table.url, schema=kinds, index="i", mode="append")
