"""The columns that writes from Ray and Spark make of structs, lists of structs, maps and decimals are those of an import of Parquet."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import cluster_data
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tetrys as tt
from tetrys import cluster
from tetrys._nested import chosen, flattened, parts_of

I8, I16, I32, I64, F32 = pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32()

WITHIN: dict[str, Callable[[pa.DataType], pa.DataType]] = {
    "nothing": lambda kind: kind,
    "a list": lambda kind: pa.list_(kind),
    "a struct": lambda kind: pa.struct([("a", kind)]),
    "structs": lambda kind: pa.struct([("s", pa.struct([("x", kind), ("b", pa.bool_())])), ("n", I32)]),
    "a list of structs": lambda kind: pa.list_(pa.struct([("a", kind), ("b", I32)])),
    "a map": lambda kind: pa.map_(pa.string(), kind),
    "lists in a list": lambda kind: pa.large_list(pa.struct([("s", pa.struct([("x", kind)])), ("l", pa.list_(pa.struct([("y", kind)])))])),
    "maps in a map": lambda kind: pa.map_(pa.string(), pa.struct([("x", kind), ("m", pa.map_(pa.string(), kind))])),
}
INSIDE = [
    *(I8, I64, pa.uint16(), pa.uint64(), pa.float16(), F32, pa.float64(), pa.bool_()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(4), pa.dictionary(I32, pa.string())),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.decimal128(9, 2), pa.decimal128(38, 20), pa.decimal128(5, 0), pa.decimal256(60, 3)),
    *(pa.list_(I64), pa.list_(pa.list_(I16)), pa.large_list(pa.string()), pa.list_(pa.binary(3)), pa.list_(pa.decimal128(5, 2))),
    *(pa.list_(pa.time32("s")), pa.list_(pa.date64()), pa.list_(pa.timestamp("s"))),
]


def value(kind: pa.DataType, rng: random.Random) -> Any:
    """Returns a random value, which may be null, or have nulls inside."""
    if rng.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {one.name: value(one.type, rng) for one in kind}
    if pa.types.is_map(kind):
        return [(f"key {number}", value(kind.item_type, rng)) for number in range(rng.randrange(4))]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value(kind.value_type, rng) for _ in range(rng.randrange(4))]
    if pa.types.is_decimal(kind):
        return Decimal(rng.randint(-9999, 9999)).scaleb(-kind.scale)
    if pa.types.is_fixed_size_binary(kind):
        return rng.randbytes(kind.byte_width)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return rng.randbytes(rng.randrange(3))
    if pa.types.is_date(kind):
        return dt.date(2020, 1, rng.randint(1, 31))
    if pa.types.is_time(kind):
        return dt.time(rng.randrange(24), rng.randrange(60), rng.randrange(60))
    if pa.types.is_timestamp(kind):
        return dt.datetime(2020, 1, rng.randint(1, 31), rng.randrange(24), tzinfo=dt.timezone.utc if kind.tz else None)
    if pa.types.is_duration(kind):
        return dt.timedelta(seconds=rng.randrange(9999))
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_floating(kind):
        return rng.randint(-9, 9) / 4
    return rng.randrange(100) if pa.types.is_integer(kind) else rng.choice(["", "é", "xyz"])


def written(url: Path, batches: list[Any], kinds: dict[str, str]) -> tt.Table:
    """Writes batches as a task of Ray or Spark does."""
    plan = cluster.plan_write(str(url), schema=kinds, index="i", partitions=1)
    return cluster.commit(plan, [cluster.write(plan.task(0), [pa.table(flattened(batch, plan.schema)) for batch in batches])])


@pytest.mark.parametrize("within", WITHIN)
def test_the_columns_are_those_of_an_import_of_parquet(tmp_path: Path, within: str) -> None:
    kinds, rng = {f"{inside} {number}": WITHIN[within](inside) for number, inside in enumerate(INSIDE)}, random.Random(within)
    rows = pa.table({"i": range(20)} | {name: pa.array([value(kind, rng) for _ in range(20)], kind) for name, kind in kinds.items()})
    pq.write_table(rows, tmp_path / "rows.parquet")
    imported = cluster_data.described(tt.ingest_petastorm(tmp_path / "rows.parquet", tmp_path / "imported", index="i"))
    # The import declares these columns where it finds structs of nulls.
    declared = {name: kind for name, (kind, *_) in imported.items() if name.endswith(".is_null")}
    types = chosen(parts_of(rows.schema), declared, {}, rows.column_names)
    made = cluster_data.described(written(tmp_path / "t", rows.to_batches(max_chunksize=7), types))
    assert made.keys() == imported.keys()
    assert not [name for name in made if made[name] != imported[name]]


FULL = pa.struct([("a", I64), ("t", pa.string()), ("l", pa.list_(pa.struct([("x", I64), ("y", pa.list_(pa.string()))]))), ("s", pa.struct([("z", F32)]))])


def without_nulls(one: Any) -> Any:
    """Returns a value without the fields that are null, as Python programs have them. A struct of nulls alone is null."""
    if isinstance(one, dict):
        return {name: inner for name, inner in ((name, without_nulls(inner)) for name, inner in one.items()) if inner is not None} or None
    return [without_nulls(item) for item in one] if isinstance(one, list) else one


@pytest.mark.parametrize("seed", range(20))
def test_batches_whose_structs_lack_fields_have_nulls_in_their_place(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    values = [without_nulls(value(FULL, rng)) for _ in range(12)]
    whole = pa.table({"i": range(12), "f": pa.array(values, FULL)})
    # Each batch has the types that its values suggest.
    parts = [pa.table({"i": range(start, start + 2), "f": pa.array(values[start : start + 2])}) for start in range(0, 12, 2)]
    kinds = chosen(parts_of(whole.schema), {}, {}, whole.column_names)
    assert cluster_data.described(written(tmp_path / "parts", parts, kinds)) == cluster_data.described(written(tmp_path / "whole", [whole], kinds))


def test_structs_that_a_batch_lacks_are_null() -> None:
    kinds = {"s.x": "i64", "s.is_null": "bool", "l.s.x": "i64[?]", "l.s.is_null": "bool[?]"}
    lists = pa.array([[None], []], pa.list_(pa.null()))
    found = flattened(pa.table({"s": pa.nulls(2), "l": lists}), kinds)
    assert {name: found[name].to_pylist() for name in ("s.x", "s.is_null", "l.s.x", "l.s.is_null")} == {
        "s.x": [None, None],
        "s.is_null": [True, True],
        "l.s.x": [[None], []],
        "l.s.is_null": [[True], []],
    }


def test_a_column_of_a_declared_type_keeps_its_place_in_the_struct() -> None:
    schema = pa.schema([("s", pa.struct([("id", pa.decimal128(20, 0)), ("price", pa.decimal128(9, 2))]))])
    kinds = chosen(parts_of(schema), {"s.id": "u64", "s.is_null": "bool"}, {}, schema.names)
    properties = {name: {key: text for column, key, text in kinds.properties if column == name} for name in kinds}
    assert properties["s.id"] == {"nested": '[["s", "struct", 0]]'}
    assert properties["s.price"] == {"nested": '[["s", "struct", 1]]', "arrow": '"decimal128"', "precision": "9", "scale": "2"}
    assert properties["s.is_null"] == {"nested": '[["s", "struct", 2]]', "nested_nulls": "true"}


def test_the_error_for_a_struct_of_nulls_says_whether_it_is_a_row_or_an_item() -> None:
    inner = pa.struct([("a", I64)])
    for kind, values, place in [
        (inner, [None, {"a": None}], r"`f` \(row 1"),
        (pa.list_(inner), [[{"a": 1}], [{"a": None}]], r"an item of `f` \(item 1"),
        (pa.struct([("l", pa.list_(inner))]), [{"l": [{"a": None}]}], r"an item of `f.l` \(item 0"),
        (pa.map_(pa.string(), inner), [[("k", {"a": None})]], r"an item of `f.value` \(item 0"),
    ]:
        with pytest.raises(tt.Invalid, match=f"column `f`: {place} of the batch\\) is a struct that is not null, although"):
            flattened(pa.table({"f": pa.array(values, kind)}), {})
