"""From a data set to its rows: what the real library wrote and read (`petastorm_real/write.py`), stores of S3, files that change, and
damaged Parquet files.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from petastorm_real.described import described
from test_petastorm_ingest import Maker, npy, refused, simple, write
from tetrys.petastorm import make_batch_reader, make_reader
from tetrys.petastorm.predicates import in_lambda, in_set
from tetrys.petastorm.selectors import SingleIndexSelector

WIDE = "png_wide_rgb"
REAL = Path(__file__).parent / "petastorm_real"
ROWS = [json.loads(line) for line in (REAL / "rows.jsonl").read_text().splitlines()]


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture(scope="session", params=[False, True], ids=["files", "pixels"])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    """The table of the data set, with pictures as files or as pixels."""
    url = str(tmp_path_factory.mktemp("real") / "table")
    with pytest.warns(UserWarning, match="is kept as its"):
        return tt.ingest_petastorm(REAL / "set", url, decode=request.param)


def native(golden: Any) -> Any:
    """Returns a value with the byte order of the machine, as a table stores all numbers."""
    if isinstance(golden, dict) and golden.get("dtype", "").startswith(">"):
        array = np.frombuffer(base64.b64decode(golden["b64"]), golden["dtype"]).reshape(golden["shape"])
        return described(array.astype(array.dtype.newbyteorder("=")))
    return golden


def test_every_value_has_the_type_and_the_bytes_that_petastorm_gives(real: tt.Table) -> None:
    with make_reader(real) as reader:
        names = list(reader.schema.fields)
    assert names == list(ROWS[0])
    if dict(real.index_columns + [column for _, columns in real.groups for column in columns])[WIDE] == "binary" and importlib.util.find_spec("cv2") is None:
        with pytest.raises(tt.Unsupported, match="three channels need OpenCV"), make_reader(real, schema_fields=[WIDE]) as reader:
            list(reader)
        names.remove(WIDE)
    with make_reader(real, schema_fields=names, shuffle_row_groups=False) as reader:
        rows = list(reader)
    assert len(rows) == len(ROWS) == 6
    for number, row in enumerate(rows):
        for name in names:
            assert described(getattr(row, name)) == native(ROWS[number][name]), (name, number, getattr(row, name))


def test_the_values_of_indexes_are_those_of_petastorm() -> None:
    found = tt.read_petastorm_metadata(REAL / "set")["indexes"]
    golden = json.loads((REAL / "indexes.json").read_text())
    assert set(found) == set(golden)
    assert found["has_text"]["values"] == [[None, "None", golden["has_text"]]]
    for name, expected in golden.items():
        if name == "has_text":
            continue
        assert [groups for *_, groups in found[name]["values"]] == [groups for _, groups in expected], name
        for (value, kind, _), (wanted, _) in zip(found[name]["values"], expected, strict=True):
            if kind == "Decimal":
                assert {"k": "decimal", "v": value} == wanted
            elif kind in ("str_", "bytes_"):
                assert described(getattr(np, kind)(value if kind == "str_" else value.encode("latin1"))) == wanted
            else:
                dtype = np.dtype(kind.rstrip("_"))
                assert described(np.array(value, np.int64).astype(dtype)[()] if dtype.kind == "M" else dtype.type(value)) == wanted, name


def test_null_floats_are_nan_to_predicates_and_null_to_filters(real: tt.Table) -> None:
    def count(**options: Any) -> int:
        with make_reader(real, schema_fields=["i8"], **options) as reader:
            return len(list(reader))

    assert count(predicate=in_lambda(["f64"], lambda value: value > 0)) == count(filters=[("f64", ">", 0)]) == 4
    assert count(predicate=in_lambda(["f64"], lambda value: value != 7)) == 5
    assert count(filters=[("f64", "!=", 7)]) == 4
    assert count(rowgroup_selector=SingleIndexSelector("has_text", [])) == 5


def test_batches_of_real_fields_are_arrays(real: tt.Table) -> None:
    with make_batch_reader(real, schema_fields=["i64_plain", "f32", "text", "price"], shuffle_row_groups=False) as reader:
        (batch,) = list(reader)
    assert batch.f32.dtype == np.float32 and np.isnan(batch.f32[3]) and batch.f32[4] == 7
    assert batch.text[3] is None and batch.price[1] == Decimal("10000000.00")
    assert batch.i64_plain.dtype == np.float64 and np.isnan(batch.i64_plain[3])


# --------------------------------------------------------------------------------------------------------------------- stores


def uploaded(folder: Path, bucket: str, name: str) -> str:
    """Copies a folder or a file into the bucket. Returns its URL."""
    import urllib.request

    for file in [path for path in folder.rglob("*") if path.is_file()] or [folder]:
        below = "" if file == folder else f"/{file.relative_to(folder)}"
        url = f"{os.environ['AWS_ENDPOINT_URL']}/{bucket.removeprefix('s3://')}/{name}{urllib.request.quote(below)}"
        urllib.request.urlopen(urllib.request.Request(url, file.read_bytes(), {"Content-Type": "application/octet-stream"}, method="PUT")).close()
    return f"{bucket}/{name}"


def test_data_sets_and_readers_work_on_s3(bucket: str, tmp_path: Path) -> None:
    source = uploaded(REAL / "set", bucket, f"{tmp_path.name}/set")
    with pytest.warns(UserWarning, match="is kept as its"):
        made = tt.ingest_petastorm(source, f"{bucket}/{tmp_path.name}/table")
    names = [name for name in ROWS[0] if name != WIDE]
    for url in (made.url, made.url.replace("s3://", "s3a://") + "/"):
        cache = {"cache_type": "local-disk", "cache_location": str(tmp_path / "cache"), "cache_size_limit": 10**8}
        for _ in range(2):
            with make_reader(url, schema_fields=names, shuffle_row_groups=False, **cache) as reader:
                assert [{name: described(value) for name, value in row._asdict().items()} for row in reader] == [{name: native(row[name]) for name in names} for row in ROWS]
    with make_reader([made.url, made.url], schema_fields=["i32", "npy_float32"], predicate=in_set([20], "part_i32"), num_epochs=2) as reader:
        assert len(list(reader)) == 2 * len(reader) == 12
    with make_batch_reader(made.url, schema_fields=["i32_plain", "text"], cur_shard=1, shard_count=4, shuffle_row_groups=False) as reader:
        assert [len(batch.text) for batch in reader] == [2]


def test_one_parquet_file_on_s3_is_a_store(bucket: str, tmp_path: Path, table: str) -> None:
    file = tmp_path / "one.parquet"
    pl.DataFrame({"a": range(5)}).write_parquet(file)
    url = uploaded(file, bucket, f"{tmp_path.name}/one.parquet")
    assert len(tt.ingest_petastorm(url, table)) == 5
    with pytest.raises(tt.NotFound, match="found no files"):
        tt.ingest_petastorm(f"{url}.gone", f"{table}-2")


# -------------------------------------------------------------------------------------------------------------- changes, damage


def test_a_plain_file_that_changes_during_the_import_is_an_error(tmp_path: Path, table: str) -> None:
    for number, parts in enumerate([1, 3]):
        folder = tmp_path / f"plain-{number}"
        folder.mkdir()
        for part in range(parts):
            pl.DataFrame({"a": range(3000), "b": [float(part)] * 3000}).write_parquet(folder / f"{part}.parquet", row_group_size=100)
        done: list[int] = []

        def once(rows: int, folder: Path = folder, parts: int = parts, done: list[int] = done) -> None:
            if not done:
                os.utime(folder / f"{parts - 1}.parquet", (1, 1))
            done.append(rows)

        refused(folder, table, tt.Conflict, "changed", partition_rows=500, workers=1, progress=once)
        assert done


def test_damaged_parquet_files_are_clear_errors_and_print_nothing(tmp_path: Path) -> None:
    maker = Maker()
    folder = simple(maker, tmp_path / "set", rows=40)
    plain = tmp_path / "plain"
    plain.mkdir()
    pl.DataFrame({"a": range(500), "b": [f"text {number % 7}" for number in range(500)]}).write_parquet(plain / "x.parquet", row_group_size=100)
    code = """
import pathlib, random, shutil, sys, tetrys as tt, resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
random.seed(int(sys.argv[3]))
errors = 0
source, folder = map(pathlib.Path, sys.argv[1:3])
for turn in range(60):
    target = folder / f"{turn}"
    shutil.copytree(source, target)
    file = random.choice([path for path in target.rglob("*") if path.is_file() and path.name != "_common_metadata"])
    damaged = bytearray(file.read_bytes())
    for _ in range(random.randrange(1, 6)):
        damaged[random.randrange(4, len(damaged))] = random.randrange(256)
    file.write_bytes(damaged[: random.choice([len(damaged), len(damaged), random.randrange(len(damaged))])])
    try:
        tt.ingest_petastorm(target, str(folder / f"{turn}.table"))
    except tt.Error as error:
        assert str(file) in str(error), error
        assert isinstance(error, (tt.Corrupt, tt.Invalid, tt.Unsupported)), repr(error)
        errors += 1
    shutil.rmtree(target)
print(errors)
"""
    seed = random.randrange(1 << 30)
    for number, source in enumerate((folder, plain)):
        (scratch := tmp_path / f"scratch-{number}").mkdir()
        ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(source), str(scratch), str(seed)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0 and ran.stderr == "", (seed, ran.stderr[-3000:])
        assert int(ran.stdout) > 10, (seed, ran.stdout)


def test_a_field_that_no_column_stores_can_be_left_out(tmp_path: Path, table: str) -> None:
    maker = Maker()
    fields = [("id", np.int64, (), maker.scalar("LongType"), False), ("odd", np.float32, (None,), None, True), ("gone", np.int32, (), maker.scalar(), True)]
    frame = pl.DataFrame({"id": [1, 2], "odd": [[[1.0]], [[2.0], [3.0]]]})
    folder = write(tmp_path / "set", maker.schema(fields), {"part-0.parquet": frame})
    refused(folder, table, tt.Unsupported, "field `odd`", "a Parquet list of")
    refused(folder, table, tt.Invalid, "field `gone`", "expected a Parquet column or a folder of this name", drop="odd")
    made = tt.ingest_petastorm(folder, table, drop=["odd", "gone"])
    assert made.properties["petastorm.schema"]["fields"] == ["id"]
    refused(folder, f"{table}-2", tt.NotFound, "drop: no field matches `x*`; there are: id, odd, gone", drop="x*")
    refused(folder, f"{table}-2", tt.Invalid, "expected fields to be left", drop="*")


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "says"),
    [
        (np.complex64, (2,), np.zeros(2, np.complex128), "expected an array of numpy's type `c8`, found `c16`"),
        (np.complex64, (2,), np.zeros(3, np.complex64), "expected an array of shape [2], found [3]"),
        (np.datetime64, (None,), np.zeros(3, np.int64), "expected an array of numpy's type `M8`, found `i8`"),
    ],
)
def test_arrays_that_stay_files_are_checked_too(dtype: Any, shape: Any, value: Any, says: str, tmp_path: Path, table: str) -> None:
    maker = Maker()
    fields = [("id", np.int64, (), maker.scalar("LongType"), False), ("x", dtype, shape, maker.codec("NdarrayCodec"), True)]
    folder = write(tmp_path / "set", maker.schema(fields), {"part-0": pl.DataFrame({"id": [1], "x": [npy(value)]})})
    refused(folder, table, tt.Invalid, "row group 0, row 0, column `x`", says)
