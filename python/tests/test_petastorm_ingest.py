"""The import of Petastorm data sets: rows, schemas and indexes equal those of the real library; hostile files are refused and run nothing.

What Petastorm itself decodes lies beside the checkout, in `shared/petastorm`. Other data sets are made here: pickles of classes with
Petastorm's names, and footers byte by byte.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import random
import struct
import subprocess
import sys
import types
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt

SHARED = Path(__file__).parents[3] / "shared" / "petastorm"
RELEASES = ("0.4.0", "0.5.1", "0.7.6")
GOLDENS = pytest.mark.skipif(not SHARED.exists(), reason="the data sets of Petastorm are not beside the checkout")

# ---------------------------------------------------------------------------------------------------------- data sets of tests


def modules() -> dict[str, types.ModuleType]:
    """Returns modules with the names and classes of Petastorm and Spark, to pickle objects of them."""

    def module(name: str, **members: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        for key, value in members.items():
            value.__module__ = name
            value.__qualname__ = key
            setattr(made, key, value)
        return made

    def plain(name: str) -> type:
        return type(name, (), {})

    field = type("UnischemaField", (tuple,), {"__getnewargs__": lambda self: tuple(self)})
    field.__new__ = lambda cls, *values: tuple.__new__(cls, values)  # type: ignore[assignment,method-assign]
    codecs = {name: plain(name) for name in ("ScalarCodec", "NdarrayCodec", "CompressedNdarrayCodec", "CompressedImageCodec")}
    spark = {name: plain(name) for name in ("IntegerType", "LongType", "StringType", "DecimalType", "DoubleType", "DateType")}
    return {
        "petastorm": module("petastorm"),
        "petastorm.unischema": module("petastorm.unischema", Unischema=plain("Unischema"), UnischemaField=field),
        "petastorm.codecs": module("petastorm.codecs", **codecs),
        "pyspark": module("pyspark"),
        "pyspark.sql": module("pyspark.sql"),
        "pyspark.sql.types": module("pyspark.sql.types", **spark),
        "mine": module("mine"),
        "mine.codecs": module("mine.codecs", Lidar=plain("Lidar")),
    }


class Maker:
    """Makes pickled schemas."""

    def __init__(self) -> None:
        self.modules = modules()

    def of(self, module: str, name: str, **state: Any) -> Any:
        made = getattr(self.modules[module], name)()
        made.__dict__.update(state)
        return made

    def codec(self, name: str, **state: Any) -> Any:
        return self.of("petastorm.codecs", name, **state)

    def scalar(self, spark: str = "IntegerType", **state: Any) -> Any:
        return self.codec("ScalarCodec", _spark_type=self.of("pyspark.sql.types", spark, **state))

    def schema(self, fields: list[tuple[Any, ...]], protocol: int = 4) -> bytes:
        field = self.modules["petastorm.unischema"].UnischemaField
        made = {name: field(name, *rest) for name, *rest in fields}
        schema = self.of("petastorm.unischema", "Unischema", _name="Made", _fields=OrderedDict(made))
        # Petastorm sets each field as an attribute, too.
        schema.__dict__.update(made)
        before = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)
        try:
            return pickle.dumps(schema, protocol)
        finally:
            for name, module in before.items():
                sys.modules.pop(name)
                if module is not None:
                    sys.modules[name] = module


def number(value: int) -> bytes:
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def footer(entries: dict[str, bytes]) -> bytes:
    """Returns a Parquet file without rows and columns, whose footer has these key-value metadata."""

    def text(value: bytes) -> bytes:
        return number(len(value)) + value

    pairs = b"".join(b"\x18" + text(key.encode()) + b"\x18" + text(value) + b"\x00" for key, value in entries.items())
    body = b"\x15\x02" + b"\x49" + bytes([len(entries) << 4 | 12]) + pairs + b"\x00"
    return b"PAR1" + body + struct.pack("<I", len(body)) + b"PAR1"


def write(folder: Path, pickled: bytes, files: dict[str, pl.DataFrame], **extra: bytes) -> Path:
    """Writes a data set: the schema, and its files with row groups of three rows."""
    for name, frame in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(folder / name, row_group_size=3, use_pyarrow=False)
    groups = {name: -(-len(frame) // 3) for name, frame in files.items()}
    entries = {"dataset-toolkit.unischema.v1": pickled, "dataset-toolkit.num_row_groups_per_file.v1": json.dumps(groups).encode()}
    (folder / "_common_metadata").write_bytes(footer(entries | {key.replace("__", "."): value for key, value in extra.items()}))
    return folder


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(array: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, arr=array)
    return out.getvalue()


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def values(table: tt.Table, name: str) -> Iterator[Any]:
    """Yields the values of a field as Petastorm gives them: arrays of text with their own width."""
    frame = tt.read_index(table.url).to_polars()
    if name in frame.columns:
        yield from frame[name]
        return
    rows = tt.row_loader(tt.read_index(table.url))
    for row in range(len(rows)):
        read = rows.get_row(row)
        value = read[name]
        if f"{name}.shape" in types_of(table) and value is not None:
            binary = types_of(table)[name] == "list<binary>"
            items = [bytes(item) if binary else item for item in value]
            value = np.array(items, f"{'S' if binary else 'U'}{int(read[f'{name}.width'])}").reshape(read[f"{name}.shape"])
        yield value


def types_of(table: tt.Table) -> dict[str, str]:
    return dict(table.index_columns) | {name: ty for _, columns in table.groups for name, ty in columns}


# -------------------------------------------------------------------------------------------------------------------- goldens


def same(value: Any, golden: Any, decimal: bool) -> bool:
    if golden is None or value is None:
        return golden is None and value is None
    if golden["k"] == "decimal":
        return decimal and Decimal(value) == Decimal(golden["v"]) and str(value) == golden["v"]
    if golden["k"] == "scalar":
        if "bits" in golden:
            return struct.pack(">d", value).hex() == golden["bits"]
        return bool(value == golden["v"])
    array = np.asarray(value)
    shape = list(array.shape) == golden["shape"] and array.dtype == np.dtype(golden["dtype"])
    return bool(shape and np.ascontiguousarray(array).tobytes() == base64.b64decode(golden["b64"]))


@GOLDENS
@pytest.mark.parametrize("release", RELEASES)
def test_every_field_of_every_row_equals_what_petastorm_decodes(release: str, table: str) -> None:
    made = tt.ingest_petastorm(f"file://{SHARED}/legacy/{release}", table, decode=True, partition_rows=17)
    goldens = [json.loads(line) for line in (SHARED / f"{release}.rows.jsonl").read_text().splitlines()]
    fields = json.loads((SHARED / f"{release}.schema.json").read_text())["fields"]
    assert made.properties["petastorm.schema"] == {"name": "TestSchema", "fields": [field["name"] for field in fields]}
    assert len(goldens) == len(made) == 100
    compared = 0
    for field in fields:
        name, is_decimal = field["name"], field["numpy_dtype"] == "decimal.Decimal"
        for row, (value, golden) in enumerate(zip(values(made, name), goldens, strict=True)):
            assert same(value, golden[name], is_decimal), (name, row, value, golden[name])
            compared += 1
    assert compared == 100 * len(fields)
    groups = tt.read_index(table).to_polars()["petastorm.row_group"]
    assert groups.to_list() == [row // 10 for row in range(100)]


@GOLDENS
@pytest.mark.parametrize("release", RELEASES)
def test_pictures_are_kept_as_the_files_that_they_are(release: str, table: str) -> None:
    made = tt.ingest_petastorm(SHARED / "legacy" / release, table)
    assert types_of(made)["image_png"] == "binary"
    folder = SHARED / "legacy" / release
    files = sorted(path for path in folder.rglob("*.parquet"))
    stored = [value for path in files for value in pl.read_parquet(path, hive_partitioning=False)["image_png"]]
    assert [bytes(value) for value in values(made, "image_png")] == stored


def plain_dtype(name: str) -> str:
    return name.removeprefix("numpy.").removeprefix("decimal.")


@GOLDENS
@pytest.mark.parametrize("release", RELEASES)
def test_schemas_and_indexes_equal_those_of_petastorm(release: str) -> None:
    found = tt.read_petastorm_metadata(SHARED / "legacy" / release)
    golden = json.loads((SHARED / f"{release}.schema.json").read_text())
    for field, expected in zip(found["schema"]["fields"], golden["fields"], strict=True):
        codec, wanted = field["codec"], dict(expected["codec"])
        if "_image_codec" in wanted:
            wanted = {"class": wanted["class"], "image_codec": wanted["_image_codec"][1:], "quality": wanted["_quality"]}
        own = (field["name"], field["dtype"], field["shape"], field["nullable"], codec)
        assert own == (expected["name"], plain_dtype(expected["numpy_dtype"]), expected["shape"], expected["nullable"], wanted)
    assert dict(map(tuple, found["row_groups"])) == golden["num_row_groups_per_file"]
    assert [path for path, _ in found["row_groups"]] == sorted(golden["num_row_groups_per_file"])
    indexes = json.loads((SHARED / f"{release}.rowgroup_index.json").read_text())
    assert set(found["indexes"]) == set(indexes)
    for name, expected in indexes.items():
        index = found["indexes"][name]
        assert (index["class"].rsplit(".", 1)[1], [index["column"]]) == (expected["class"], expected["column_names"])
        found_values = {(repr(value), tuple(groups)) for value, _, groups in index["values"]}
        assert found_values == {(key, tuple(groups)) for key, _, groups in expected["index"]}


# ------------------------------------------------------------------------------------------------------------------ all codecs


def random_columns(maker: Maker, rng: random.Random, rows: int) -> tuple[list[tuple[Any, ...]], dict[str, list[Any]], pl.DataFrame]:
    """Returns the fields of a schema with all codecs, the values that Petastorm would decode, and the Parquet columns."""
    nulls = [rng.random() < 0.2 for _ in range(rows)]
    random_array = np.random.default_rng(rng.randrange(1 << 32))

    def sized(*most: int) -> tuple[int, ...]:
        return tuple(rng.randrange(extent + 1) for extent in most)

    made: dict[str, tuple[Any, Any, Any, list[Any], list[Any], Any]] = {}
    ints = [rng.randrange(-(1 << 31), 1 << 31) for _ in range(rows)]
    made["int"] = (np.int32, (), maker.scalar(), ints, ints, pl.Int32)
    small = [rng.randrange(256) for _ in range(rows)]
    made["narrow"] = (np.uint8, (), maker.scalar(), small, small, pl.Int16)
    floats = [rng.choice([rng.random(), -0.0, float("inf"), 1e300]) for _ in range(rows)]
    made["float"] = (np.float64, (), maker.scalar("DoubleType"), floats, floats, pl.Float64)
    bools = [rng.random() < 0.5 for _ in range(rows)]
    made["bool"] = (np.bool_, (), maker.scalar(), bools, bools, pl.Boolean)
    texts = [rng.choice(["", "a", "grüße", "\0x", "😀" * 9]) for _ in range(rows)]
    made["text"] = (np.str_, (), maker.scalar("StringType"), texts, texts, pl.String)
    decimals = [Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-4) for _ in range(rows)]
    made["decimal"] = (Decimal, (), maker.scalar("DecimalType", precision=12, scale=4), decimals, decimals, pl.Decimal(12, 4))
    raw = [rng.randbytes(rng.randrange(9)) for _ in range(rows)]
    made["raw"] = (np.bytes_, (), None, raw, raw, pl.Binary)
    made["lidar"] = (np.float32, (None, 3), maker.of("mine.codecs", "Lidar", rate=10), raw, raw, pl.Binary)
    lists = [[rng.randrange(100) for _ in range(rng.randrange(4))] for _ in range(rows)]
    made["list"] = (np.int64, (None,), None, [np.array(items, np.int64) for items in lists], lists, pl.List(pl.Int64))
    for number, (dtype, shape) in enumerate(
        [("<f4", (2, 3)), ("|u1", (None, None, 3)), ("<i8", (None,)), ("|b1", (4,)), ("<f2", (2, None)), (">f8", (2, 2)), ("<u2", (0, 2))]
    ):
        most = [extent or 4 for extent in shape]
        arrays = []
        for _ in range(rows):
            extents = [extent or drawn for extent, drawn in zip(shape, sized(*most), strict=True)]
            array = random_array.integers(0, 2 if dtype == "|b1" else 100, extents).astype(dtype)
            arrays.append(np.asfortranarray(array) if rng.random() < 0.3 else array)
        for codec, write_array in (("NdarrayCodec", npy), ("CompressedNdarrayCodec", npz)):
            name = f"{codec[:1]}{number}"
            made[name] = (np.dtype(dtype).type, shape, maker.codec(codec), arrays, [write_array(array) for array in arrays], pl.Binary)
    for kind, of_text in (("U", np.str_), ("S", np.bytes_)):
        words = ["", "a", "bc", "longer"]
        arrays = [np.array(rng.choices(words, k=6), kind).reshape(rng.choice([(2, 3), (1, 6), (6, 1)])) for _ in range(rows)]
        made[f"texts_{kind}"] = (of_text, (None, None), maker.codec("NdarrayCodec"), arrays, [npy(array) for array in arrays], pl.Binary)
    complex_ones = [np.array([1j * rng.random()]) for _ in range(rows)]
    stored = [npy(array) for array in complex_ones]
    made["complex"] = (np.complex128, (1,), maker.codec("NdarrayCodec"), stored, stored, pl.Binary)
    fields = [(name, dtype, shape, codec, True) for name, (dtype, shape, codec, *_) in made.items()]
    hide = [[None if null and rng.random() < 0.5 else 1 for null in nulls] for _ in made]
    expected, columns = {}, {}
    for (name, (_, _, _, decoded, stored_values, dtype)), keep in zip(made.items(), hide, strict=True):
        expected[name] = [None if kept is None else value for value, kept in zip(decoded, keep, strict=True)]
        columns[name] = pl.Series(name, [None if kept is None else value for value, kept in zip(stored_values, keep, strict=True)], dtype)
    return fields, expected, pl.DataFrame(columns)


@pytest.mark.parametrize("seed", range(4))
def test_random_data_sets_read_back_whatever_the_codec(seed: int, maker: Maker, tmp_path: Path, table: str) -> None:
    rng = random.Random(seed)
    fields, expected, frame = random_columns(maker, rng, 40)
    files = {f"part-{number}.parquet": frame[10 * number : 10 * number + 10] for number in range(4)}
    folder = write(tmp_path / "set", maker.schema(fields, protocol=rng.randrange(6)), files)
    with pytest.warns(UserWarning) as warned:
        made = tt.ingest_petastorm(folder, table, partition_rows=rng.choice([1, 7, 100]), workers=rng.choice([1, 3]))
    sentences = [str(warning.message) for warning in warned]
    assert any("`lidar`: codec mine.codecs.Lidar is unknown" in sentence for sentence in sentences), sentences
    assert any("`complex`: an array of complex128 is kept as its .npy file" in sentence for sentence in sentences), sentences
    assert made.properties["petastorm.schema"]["fields"] == [field[0] for field in fields]
    for name, dtype, *_ in fields:
        for row, (value, wanted) in enumerate(zip(values(made, name), expected[name], strict=True)):
            if wanted is None or value is None:
                assert value is None and wanted is None, (name, row)
            elif dtype is Decimal:
                assert str(value) == f"{wanted:.4f}", (name, row)
            elif isinstance(wanted, np.ndarray):
                assert value.shape == wanted.shape and value.dtype == wanted.dtype.newbyteorder("="), (name, row, value, wanted)
                assert (value == wanted).all(), (name, row)
            elif isinstance(wanted, bytes):
                assert bytes(value) == wanted, (name, row)
            else:
                assert value == wanted, (name, row)
    assert types_of(made)["C1"] == types_of(made)["N1"] == "u8[?,?,3]"


def test_columns_keep_what_their_fields_declare(maker: Maker, tmp_path: Path, table: str) -> None:
    picture = maker.codec("CompressedImageCodec", _image_codec=".jpeg", _quality=91)
    fields = [("b", np.int64, (), maker.scalar("LongType"), False), ("a", np.uint8, (None, 4, 3), picture, True)]
    frame = pl.DataFrame({"a": pl.Series([None], dtype=pl.Binary), "b": [7]})
    made = tt.ingest_petastorm(write(tmp_path / "set", maker.schema(fields), {"x.parquet": frame}), table)
    info = made.properties["petastorm.schema"]
    assert info == {"name": "Made", "fields": ["b", "a"]}
    assert made.column_properties("a") == {
        "petastorm.dtype": "uint8",
        "petastorm.shape": [None, 4, 3],
        "petastorm.nullable": True,
        "petastorm.codec": {"class": "petastorm.codecs.CompressedImageCodec", "image_codec": "jpeg", "quality": 91},
    }
    assert made.column_properties("b")["petastorm.codec"]["spark_type"] == {"class": "pyspark.sql.types.LongType", "attrs": {}}


# --------------------------------------------------------------------------------------------------------------------- options


def simple(maker: Maker, folder: Path, rows: int = 9) -> Path:
    fields = [
        ("id", np.int64, (), maker.scalar("LongType"), False),
        ("log", np.str_, (), maker.scalar("StringType"), False),
        ("vector", np.float32, (2,), maker.codec("NdarrayCodec"), False),
        ("key", np.int32, (), maker.scalar(), True),
    ]
    def frame(first: int) -> pl.DataFrame:
        ids = range(first, first + rows)
        vectors = [npy(np.array([number, -number], np.float32)) for number in ids]
        return pl.DataFrame({"id": ids, "log": [f"log{number // 4}" for number in ids], "vector": vectors})
    files = {"key=2/part-0": frame(0), "key=10/part-0": frame(rows), "key=__HIVE_DEFAULT_PARTITION__/part-0": frame(2 * rows)}
    return write(folder, maker.schema(fields), files)


def test_rows_are_in_the_order_of_their_paths_and_folders_have_values(maker: Maker, tmp_path: Path, table: str) -> None:
    made = tt.ingest_petastorm(simple(maker, tmp_path / "set"), table, partition_rows=2)
    frame = tt.read_index(made.url).to_polars()
    assert frame["key"].to_list() == [10] * 9 + [2] * 9 + [None] * 9
    assert frame["id"].to_list() == [*range(9, 18), *range(9), *range(18, 27)]
    assert frame["petastorm.row_group"].to_list() == [row // 3 for row in range(27)]


def test_options_choose_index_groups_and_fields(maker: Maker, tmp_path: Path, table: str) -> None:
    folder = simple(maker, tmp_path / "set")
    made = tt.ingest_petastorm(folder, table, index="id", groups={"all": ["vec*", "log"]}, drop="key")
    assert dict(made.index_columns) == {"id": "i64", "petastorm.row_group": "u32"}
    assert made.groups == [("all", [("log", "utf8"), ("vector", "f32[2]")])]
    assert made.properties["petastorm.schema"]["fields"] == ["id", "log", "vector"]
    for options in ({"index": "nothing"}, {"drop": "no_*"}, {"groups": {"a": "x"}}):
        with pytest.raises(tt.NotFound):
            tt.ingest_petastorm(folder, f"{table}-{len(options)}", **options)
    with pytest.raises(tt.Exists):
        tt.ingest_petastorm(folder, table)
    for wrong in ({"mode": "newest"}, {"preset": "fastest"}, {"workers": -1}, {"decode": 1}, {"index": 3}):
        with pytest.raises((tt.Invalid, TypeError, ValueError)):
            tt.ingest_petastorm(folder, f"{table}-2", **wrong)


def test_a_reference_stores_only_what_is_new_and_rows_can_be_appended(maker: Maker, tmp_path: Path, table: str) -> None:
    folder = simple(maker, tmp_path / "set", rows=300)
    first = tt.ingest_petastorm(folder, table)
    again = tt.ingest_petastorm(folder, f"{table}-again", reference=table)
    assert again.lineage["shared"]["new_bytes"] == 0
    more = tt.ingest_petastorm(folder, table, mode="append")
    assert len(more) == 2 * len(first)
    groups = tt.read_index(table).to_polars()["petastorm.row_group"].to_list()
    assert groups == [row // 3 for row in range(1800)]
    replaced = tt.ingest_petastorm(folder, table, mode="overwrite")
    assert len(replaced) == len(first) and replaced.version == 3


def test_sequences_are_whole_in_windows(maker: Maker, tmp_path: Path, table: str) -> None:
    folder = simple(maker, tmp_path / "set")
    made = tt.ingest_petastorm(folder, table, sequence_by=["key", "log"], order_by="id", partition_rows=1)
    assert len(made) == 27
    window = tt.row_loader(tt.read_index(table)).get_rows(5, offsets=range(-5, 4))
    logs = [f"log{number // 4}" for number in range(9, 18)]
    assert window.mask.tolist() == [log == logs[5] for log in logs]


def test_a_plain_parquet_store_is_imported_as_frames(tmp_path: Path, table: str) -> None:
    folder = tmp_path / "plain"
    frame = pl.DataFrame({"a": [1, 2], "b": [[1.0], [2.0, 3.0]], "s": [{"x": 1}, {"x": 2}]})
    for day in (3, 20):
        (folder / f"day={day}" / "kind=a b").mkdir(parents=True)
        frame.write_parquet(folder / f"day={day}" / "kind=a b" / "part.parquet")
    (folder / "_SUCCESS").touch()
    made = tt.ingest_petastorm(folder, table)
    rows = tt.read_index(table).to_polars()
    assert rows.select("day", "kind", "a", "s.x").rows() == [(20, "a b", 1, 1), (20, "a b", 2, 2), (3, "a b", 1, 1), (3, "a b", 2, 2)]
    assert types_of(made)["b"] == "f64[?]"
    assert "petastorm.schema" not in made.properties
    assert tt.read_petastorm_metadata(folder)["schema"] is None
    with pytest.raises(tt.Invalid, match="decode"):
        tt.ingest_petastorm(folder, f"{table}-2", decode=True)
    single = tt.ingest_petastorm(folder / "day=3" / "kind=a b" / "part.parquet", f"{table}-3")
    assert len(single) == 2


# --------------------------------------------------------------------------------------------------------------------- hostile


def refused(folder: Path, table: str, kind: type[tt.Error], *parts: str, **options: Any) -> None:
    """Checks that an import fails with these parts in its message, and that it leaves no table."""
    with pytest.raises(kind) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tt.ingest_petastorm(folder, table, **options)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    with pytest.raises(tt.NotFound):
        tt.open_table(table)


def array_set(maker: Maker, folder: Path, stored: list[Any], dtype: Any = np.float32, shape: Any = (2,), codec: Any = None) -> Path:
    fields = [("id", np.int64, (), maker.scalar("LongType"), False), ("x", dtype, shape, codec or maker.codec("NdarrayCodec"), True)]
    frame = pl.DataFrame({"id": range(len(stored)), "x": stored})
    return write(folder, maker.schema(fields), {"part-0.parquet": frame})


GOOD = np.zeros(2, np.float32)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (npy(np.zeros(3, np.float32)), "expected an array of shape [2], found [3]"),
        (npy(np.zeros((2, 1), np.float32)), "found [2, 1]"),
        (npy(np.zeros(2)), "expected an array of f32, found one of numpy's type `f8`"),
        (npy(GOOD)[:-1], "expected 8 bytes of elements, found 7"),
        (npy(GOOD) + b"x", "found 9"),
        (b"", "expected its magic bytes"),
        (npy(GOOD).replace(b"'<f4'", b"'|O8'"), "Python objects"),
        (npy(GOOD).replace(b"(2,)", b"(-2)"), "an extent of 0 or more"),
        (npy(GOOD).replace(b"(2,), }         ", b"(99999999999,) }"), "expected at most 1073741824 bytes"),
        (pickle.dumps(GOOD), "expected its magic bytes"),
    ],
)
def test_an_array_that_does_not_fit_names_file_row_group_row_and_column(
    value: bytes, says: str, maker: Maker, tmp_path: Path, table: str
) -> None:
    folder = array_set(maker, tmp_path / "set", [npy(GOOD)] * 4 + [value])
    place = f"{folder}/part-0.parquet: row group 1, row 1, column `x`: "
    refused(folder, table, tt.Error, place, says)


def test_object_arrays_are_never_decoded(maker: Maker, tmp_path: Path, table: str) -> None:
    class Hostile:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    folder = array_set(maker, tmp_path / "set", [npy(np.array([Hostile()], object))])
    refused(folder, table, tt.Unsupported, "Python objects", "never decoded")
    assert not (tmp_path / "ran").exists()


def test_zip_bombs_take_no_memory(maker: Maker, tmp_path: Path, table: str) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("arr.npy", "w", force_zip64=True) as member:
        member.write(npy(GOOD))
        for _ in range(512):
            member.write(bytes(1 << 20))
    folder = array_set(maker, tmp_path / "set", [out.getvalue()], codec=maker.codec("CompressedNdarrayCodec"))
    code = f"""
import resource, tetrys as tt
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    tt.ingest_petastorm({str(folder)!r}, {table!r})
except tt.Corrupt as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "expected 8 bytes of elements" in output[0] or "not a valid .npz file" in output[0], output
    assert int(output[-1]) < 200_000, output


def test_hostile_pickles_run_nothing(maker: Maker, tmp_path: Path, table: str) -> None:
    ran = tmp_path / "ran"

    class Hostile:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(ran),)

    for number, protocol in enumerate(range(6)):
        hostile = [
            pickle.dumps(Hostile(), protocol),
            maker.schema([("x", Hostile(), (), None, False)], protocol),
            maker.schema([("x", np.int32, (Hostile(),), None, False)], protocol),
            maker.schema([("x", np.int32, (), None, Hostile())], protocol),
        ]
        for other, pickled in enumerate(hostile):
            folder = write(tmp_path / f"set-{number}-{other}", pickled, {"part.parquet": pl.DataFrame({"x": [1]})})
            refused(folder, table, tt.Unsupported, "_common_metadata: pickle of the Unischema", "which was not made")
    # What #741 of Petastorm publishes: `getattr(__import__("os"), "mkdir")(..)` out of allowed modules.
    path = str(ran).encode()
    bypass = b"\x80\x04(\x8c\x08builtins\x8c\x07getattr\x93\x8c\x08builtins\x8c\n__import__\x93\x8c\x02os\x85R\x8c\x05mkdir\x86R"
    bypass += b"\x8c" + bytes([len(path)]) + path + b"\x85R1N."
    assert not ran.exists()
    pickle.loads(bypass)
    assert ran.exists(), "the pickle does what it is meant to do"
    ran.rmdir()
    folder = write(tmp_path / "set", bypass, {"part.parquet": pl.DataFrame({"x": [1]})})
    refused(folder, table, tt.Unsupported, "expected a petastorm.unischema.Unischema")
    assert not ran.exists()


def test_every_damaged_footer_is_an_error_or_the_same_schema(maker: Maker, tmp_path: Path) -> None:
    folder = simple(maker, tmp_path / "set", rows=3)
    whole = (folder / "_common_metadata").read_bytes()
    expected = tt.read_petastorm_metadata(folder)["schema"]
    rng = random.Random(5)
    errors = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        damaged = damaged[: rng.choice([len(damaged), len(damaged), rng.randrange(len(damaged))])]
        (folder / "_common_metadata").write_bytes(damaged)
        try:
            found = tt.read_petastorm_metadata(folder)["schema"]
            assert found is None or len(found["fields"]) <= len(expected["fields"])
        except (tt.Corrupt, tt.Unsupported) as error:
            assert "_common_metadata" in str(error) or "_metadata" in str(error)
            errors += 1
    assert errors > 100


def picture(width: int, height: int, channels: int) -> bytes:
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(width * height * channels, dtype=np.uint8).reshape((height, width, channels)[: 2 if channels == 1 else 3])
    out = io.BytesIO()
    image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_pictures_that_lie_about_their_size_are_refused(maker: Maker, tmp_path: Path, table: str) -> None:
    import zlib

    codec = maker.codec("CompressedImageCodec", _image_codec=".png", _quality=80)
    file = picture(4, 5, 3)
    lie = bytearray(file)
    lie[16:24] = struct.pack(">II", 4000, 5)
    lie[29:33] = struct.pack(">I", zlib.crc32(lie[12:29]))
    huge = bytearray(file)
    huge[16:24] = struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF)
    huge[29:33] = struct.pack(">I", zlib.crc32(huge[12:29]))
    of = {"dtype": np.uint8, "codec": codec}
    made = tt.ingest_petastorm(array_set(maker, tmp_path / "good", [file], shape=(5, 4, 3), **of), table + "-good", decode=True)
    assert (next(values(made, "x")) == np.arange(60, dtype=np.uint8).reshape(5, 4, 3)).all()
    for number, (stored, shape, decode, says) in enumerate(
        [
            (file, (4, 5, 3), False, "expected an array of shape [4, 5, 3], found [5, 4, 3]"),
            (file, (5, 4), False, "found [5, 4, 3]"),
            (bytes(lie), (5, 4, 3), False, "found [5, 4000, 3]"),
            (bytes(lie), (None, None, 3), True, "not a whole PNG"),
            (bytes(huge), (None, None, 3), True, "expected at most"),
            (file[:-20], (5, 4, 3), True, "not a whole PNG"),
            (b"GIF89a", (5, 4, 3), False, "do not begin as a whole PNG or JPEG"),
        ]
    ):
        folder = array_set(maker, tmp_path / f"set-{number}", [stored], shape=shape, **of)
        refused(folder, table, tt.Error, "row group 0, row 0, column `x`", says, decode=decode)


def test_scalars_never_wrap_around(maker: Maker, tmp_path: Path, table: str) -> None:
    fields = [("x", np.uint8, (), maker.scalar(), False)]
    folder = write(tmp_path / "set", maker.schema(fields), {"part-0": pl.DataFrame({"x": [1, 255, 256]})})
    refused(folder, table, tt.Invalid, "row group 0, row 2, column `x`: expected u8, found 256")


def test_a_data_set_that_changes_during_the_import_is_an_error(maker: Maker, tmp_path: Path, table: str) -> None:
    def added(folder: Path) -> None:
        (folder / "part-9").write_bytes((folder / "key=2" / "part-0").read_bytes())

    def rewritten(folder: Path) -> None:
        os.utime(folder / "key=2" / "part-0", (1, 1))

    def deleted(folder: Path) -> None:
        (folder / "_common_metadata").unlink()

    for number, (change, says) in enumerate([(added, "it was added"), (rewritten, "changed"), (deleted, "it was deleted")]):
        folder = simple(maker, tmp_path / f"set-{number}")
        done: list[int] = []

        def once(rows: int, folder: Path = folder, change: Any = change, done: list[int] = done) -> None:
            if not done:
                change(folder)
            done.append(rows)

        refused(folder, table, tt.Conflict, "the data set changed during the import", says, partition_rows=3, workers=1, progress=once)
        assert done


def test_row_group_indexes_that_cannot_be_read_are_left_out_with_a_warning(maker: Maker, tmp_path: Path, table: str) -> None:
    fields = [("x", np.uint8, (), maker.scalar(), False)]
    files = {"part-0": pl.DataFrame({"x": [1, 2, 3, 4]}, schema={"x": pl.UInt8})}
    damaged = {"dataset-toolkit__rowgroups_index__v1": b"no pickle"}
    folder = write(tmp_path / "set", maker.schema(fields), files, **damaged)
    with pytest.warns(UserWarning, match="the row-group indexes cannot be read and are left out: "):
        found = tt.ingest_petastorm(folder, table)
    assert len(found) == 4 and "petastorm.indexes" not in found.properties


def test_files_that_do_not_fit_the_metadata_are_named(maker: Maker, tmp_path: Path, table: str) -> None:
    folder = simple(maker, tmp_path / "set")
    (folder / "key=2" / "part-0").rename(folder / "key=2" / "part-1")
    refused(folder, table, tt.Corrupt, "lists the file key=2/part-0, and there is none")
    (folder / "key=2" / "part-1").rename(folder / "key=2" / "part-0")
    (folder / "key=2" / "other").write_bytes(b"no Parquet")
    refused(folder, table, tt.Corrupt, "key=2/other", "expected `PAR1`")
    (folder / "key=2" / "other").write_bytes((folder / "key=2" / "part-0").read_bytes())
    with pytest.warns(UserWarning, match="key=2/other: is not in _common_metadata; its rows are imported too"):
        assert len(tt.ingest_petastorm(folder, table)) == 36
    refused(tmp_path / "nothing", f"{table}-2", tt.NotFound, "nothing")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", f"{table}-2", tt.NotFound, "found no files")
    with pytest.raises(tt.Unsupported, match="hdfs"):
        tt.ingest_petastorm("hdfs://server/folder", f"{table}-2")
