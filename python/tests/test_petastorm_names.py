"""Names and behaviours of Petastorm that programs rely on, after a change of their imports alone: schemas of data sets that are not
ingested, encoded rows, n-grams in memory, the errors that are caught, and the values of batches of plain Parquet files.
"""

from __future__ import annotations

import datetime
import pickle
import random
import threading
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tetrys as tt
from test_petastorm_ingest import Maker, simple
from tetrys.petastorm import NoDataAvailableError, TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.codecs import CompressedImageCodec, NdarrayCodec, ScalarCodec
from tetrys.petastorm.etl.dataset_metadata import PetastormMetadataError, get_schema, get_schema_from_dataset_url, infer_or_load_unischema
from tetrys.petastorm.generator import generate_datapoint
from tetrys.petastorm.ngram import NGram
from tetrys.petastorm.predicates import PredicateBase, in_lambda, in_negate, in_reduce, in_set
from tetrys.petastorm.test_util.reader_mock import ReaderMock, schema_data_generator_example
from tetrys.petastorm.transform import transform_schema
from tetrys.petastorm.unischema import Unischema, UnischemaField, encoded_row
from tetrys.petastorm.utils import DecodeFieldError, decode_row, run_in_subprocess

# ------------------------------------------------------------------------------------------------------------- schemas and data sets


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder of Parquet files without a schema of Petastorm."""
    folder = tmp_path / "plain"
    folder.mkdir()
    day, moment = datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31, 12)
    columns = {
        "id": pa.array([1, 2, 3], pa.int32()),
        "price": pa.array([Decimal("1.20"), None, Decimal("3.14")], pa.decimal128(10, 2)),
        "day": pa.array([day, None, day + datetime.timedelta(1)]),
        "moment": pa.array([moment, None, moment]),
        "name": ["a", None, "b"],
        "even": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32())),
        "ragged": pa.array([[1, 2], [3], [5, 6]], pa.list_(pa.float32())),
        "gaps": pa.array([[1, 2], None, [5, 6]], pa.list_(pa.float32())),
        "words": pa.array([["a"], ["b", "c"], None]),
    }
    pq.write_table(pa.table(columns), folder / "part-0.parquet")
    return folder


def test_a_schema_is_read_from_a_data_set_from_its_table_and_from_a_list_of_urls(tmp_path: Path) -> None:
    folder = simple(Maker(), tmp_path / "set", rows=4)
    table = tt.ingest_petastorm(folder, tmp_path / "table")
    with make_reader(table) as reader:
        expected = reader.schema.fields
    for place in (folder, f"file://{folder}", tmp_path / "table", table):
        assert dict(get_schema(place).fields) == dict(expected), place
        assert str(get_schema(place)) == str(get_schema(table))
    assert get_schema_from_dataset_url([f"file://{folder}"]).fields == infer_or_load_unischema(f"file://{folder}").fields == expected
    with pytest.raises(NotImplementedError, match="filesystem"):
        get_schema_from_dataset_url(str(folder), filesystem=object())
    with pytest.raises(ValueError, match="an empty list"):
        get_schema_from_dataset_url([])
    with pytest.raises(FileNotFoundError, match="no table there"):
        get_schema(tmp_path / "nothing")


def test_a_schema_is_inferred_from_parquet_files_on_request_alone(plain: Path) -> None:
    with pytest.raises(PetastormMetadataError, match="without a schema of Petastorm: infer_or_load_unischema"):
        get_schema(plain)
    schema = infer_or_load_unischema(plain)
    found = {name: (field.numpy_dtype, field.shape, field.nullable, field.codec) for name, field in schema.fields.items()}
    assert schema._name == "inferred_schema"
    assert found["price"] == (Decimal, (), True, None) and found["day"] == (np.datetime64, (), True, None)
    assert found["words"] == (np.str_, (None,), True, None) and found["ragged"] == (np.float32, (None,), True, None)


def test_a_schema_of_arrow_leaves_out_what_no_field_has() -> None:
    fields = [("id", pa.int8()), ("names", pa.list_(pa.string())), ("half", pa.float16()), ("deep", pa.list_(pa.list_(pa.int8()))), ("blob", pa.binary(3))]
    arrow = pa.schema([pa.field("flag", pa.bool_(), nullable=False), *(pa.field(*one) for one in fields)])
    with pytest.warns(UserWarning, match="left out") as caught:
        schema = Unischema.from_arrow_schema(arrow)
    assert [str(one.message).partition(":")[0] for one in caught] == ["column `half`", "column `deep`"]
    assert list(schema.fields) == ["flag", "id", "names", "blob"] and not schema.flag.nullable and schema.names.shape == (None,)
    assert schema.blob.numpy_dtype is np.bytes_
    with pytest.raises(ValueError, match="column `half`: a field cannot have values of halffloat"):
        Unischema.from_arrow_schema(arrow, omit_unsupported_fields=False)
    for wrong in (None, {}, "file:///data"):
        with pytest.raises(TypeError, match=r"expected a pyarrow\.Schema"):
            Unischema.from_arrow_schema(wrong)


def test_all_lists_of_arrow_are_fields_and_those_of_a_fixed_size_as_readers_have_them(tmp_path: Path) -> None:
    lists = {"large": pa.large_list(pa.float32()), "fixed": pa.list_(pa.float32(), 2), "words": pa.large_list(pa.string()), "pair": pa.list_(pa.int64(), 2)}
    (folder := tmp_path / "set").mkdir()
    cells = {name: pa.array([["a", "b"]] * 2 if name == "words" else [[1, 2], [3, 4]], kind) for name, kind in lists.items()}
    pq.write_table(pa.table({"id": [1, 2], **cells}), folder / "x.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = infer_or_load_unischema(folder)
    assert {name: (field.numpy_dtype, field.shape) for name, field in schema.fields.items()} == {
        "id": (np.int64, ()), "large": (np.float32, (None,)), "fixed": (np.float32, (2,)), "words": (np.str_, (None,)), "pair": (np.int64, (2,)),
    }  # fmt: skip
    assert schema.fields == get_schema(tt.ingest_petastorm(folder, tmp_path / "table")).fields
    for deep in (pa.large_list(pa.list_(pa.int8())), pa.list_(pa.list_(pa.int8()), 2)):
        with pytest.warns(UserWarning, match="column `deep`: .* left out"):
            assert not Unischema.from_arrow_schema(pa.schema({"deep": deep}), omit_unsupported_fields=False).fields


def test_options_of_a_store_are_not_dropped_where_pyarrow_reads(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "price" in infer_or_load_unischema(plain, storage_options={"cache": ""}).fields

    def no_schema(*_: Any, **__: Any) -> Unischema:
        raise PetastormMetadataError("no schema")

    monkeypatch.setattr("tetrys.petastorm.etl.dataset_metadata.get_schema", no_schema)
    with pytest.raises(NotImplementedError, match=r"^s3://bucket/plain: .* does not know storage_options") as caught:
        infer_or_load_unischema("s3://bucket/plain", storage_options={"secret": "hidden"})
    assert isinstance(caught.value, tt.Unsupported) and "hidden" not in str(caught.value)


def test_a_partition_column_of_another_type_is_an_error() -> None:
    class Old:
        def __init__(self, values: list[Any]) -> None:
            piece = type("Piece", (), {"get_metadata": lambda self: self, "schema": type("", (), {"to_arrow_schema": staticmethod(lambda: pa.schema({"id": pa.int8()}))})})
            partition = type("Partition", (), {"name": "part", "dictionary": pa.array(values)})
            self.pieces, self.partitions = [piece()], [partition()]

    assert Unischema.from_arrow_schema(Old(["a"])).part.numpy_dtype is np.str_ and Unischema.from_arrow_schema(Old([1])).part.numpy_dtype is np.int64
    with pytest.raises(RuntimeError, match="partition column `part`: expected text or whole numbers, found double"):
        Unischema.from_arrow_schema(Old([0.5]))


def test_a_data_set_that_was_not_ingested_is_named_and_ingested_where_asked(plain: Path, tmp_path: Path) -> None:
    for read in (make_reader, make_batch_reader):
        with pytest.raises(FileNotFoundError, match=r"a data set of Petastorm or of Parquet files, expected a table: make one with tetrys\.ingest_petastorm\('"):
            read(str(plain))
        with pytest.raises(FileNotFoundError, match="no table there") as caught:
            read(tmp_path / "nothing")
        assert isinstance(caught.value, tt.NotFound)
    table = tmp_path / "table"
    for _ in range(2):
        with make_reader(f"file://{plain}", schema_fields=["id"], ingest_to=table) as reader:
            assert sorted(int(row.id) for row in reader) == [1, 2, 3]
    assert tt.Table(table).version == 1
    # The table is taken as it is: the data set is not looked at.
    with make_batch_reader("file:///gone", schema_fields=["id"], ingest_to=table) as reader:
        assert len(reader) == 3
    with pytest.raises(tt.NotFound):
        make_reader("file:///gone", ingest_to=tmp_path / "other")
    with pytest.raises(TypeError, match="expected a URL"):
        make_reader(str(plain), ingest_to=3)


# ---------------------------------------------------------------------------------------------------------------- batches and errors


def test_batches_of_plain_parquet_have_decimals_dates_and_ragged_arrays(plain: Path, tmp_path: Path) -> None:
    table = tt.ingest_petastorm(plain, tmp_path / "table")
    with make_batch_reader(table, shuffle_row_groups=False) as reader:
        (batch,) = list(reader)
    assert reader.schema.price.numpy_dtype is Decimal
    assert batch.price.tolist() == [Decimal("1.20"), None, Decimal("3.14")]
    assert batch.day.tolist() == [datetime.date(2020, 1, 31), None, datetime.date(2020, 2, 1)] and batch.day.dtype == object
    assert batch.moment.dtype.kind == "M" and batch.name.tolist() == ["a", None, "b"]
    assert batch.even.tolist() == [[1, 2], [3, 4], [5, 6]] and batch.even.dtype == np.int32
    assert batch.ragged.dtype == object and [value.tolist() for value in batch.ragged] == [[1, 2], [3], [5, 6]]
    assert batch.gaps.shape == (3,) and batch.gaps[1] is None and batch.gaps[2].tolist() == [5, 6]
    assert batch.words[1].tolist() == ["b", "c"] and batch.words[2] is None
    with make_reader(table, schema_fields=["price", "day"], shuffle_row_groups=False) as rows:
        first = next(rows)
    assert first.price == Decimal("1.20") and first.day == np.datetime64("2020-01-31")
    with make_reader(table, schema_fields=["id"], filters=[("price", ">", Decimal(2))]) as rows:
        assert [int(row.id) for row in rows] == [3]


def test_any_lists_of_parquet_come_back_as_they_are(tmp_path: Path, random_seed: int) -> None:
    chance = random.Random(random_seed)
    for turn in range(15):
        given = [None if chance.random() < 0.2 else [chance.randrange(9) for _ in range(chance.randrange(3))] for _ in range(chance.randrange(1, 9))]
        (folder := tmp_path / f"{turn}").mkdir()
        pq.write_table(pa.table({"id": range(len(given)), "values": pa.array(given, pa.list_(pa.int64()))}), folder / "x.parquet")
        with make_batch_reader(folder, ingest_to=tmp_path / f"{turn}.table", shuffle_row_groups=False) as reader:
            (batch,) = list(reader)
        assert [None if value is None else value.tolist() for value in batch.values] == given
        lengths = {None if value is None else len(value) for value in given}
        assert (batch.values.dtype == object) == (len(lengths) > 1 or None in lengths), given


def test_arrays_of_a_transform_get_their_shape_also_beside_nulls(plain: Path, tmp_path: Path) -> None:
    table = tt.ingest_petastorm(plain, tmp_path / "table")

    def batch(values: list[Any], dtype: Any, shape: tuple[int | None, ...]) -> Any:
        spec = TransformSpec(lambda frame: frame.assign(x=pd.Series(values, dtype=object)), edit_fields=[("x", dtype, shape, True)], selected_fields=["x"])
        with make_batch_reader(table, schema_fields=["id"], transform_spec=spec, shuffle_row_groups=False) as reader:
            return next(reader).x

    one = np.array([1.0], np.float32)
    made = batch([one, None, one], np.float32, (1,))
    assert made.shape == (3,) and made[1] is None and made[0].shape == made[2].shape == (1,)
    flat = np.arange(4.0)
    made = batch([flat, flat, None], np.float64, (2, 2))
    assert made.shape == (3,) and made[2] is None and made[0].tolist() == made[1].tolist() == [[0, 1], [2, 3]]
    assert batch([flat] * 3, np.float64, (2, 2)).shape == (3, 2, 2)
    assert batch([1.0, 2.0, 3.0], np.float64, (1,)).tolist() == [[1], [2], [3]]
    words = np.array(["a", None], object)
    assert batch([words] * 3, np.str_, (2, 1)).tolist() == [[["a"], [None]]] * 3
    # What does not fit stays as it is.
    assert batch([flat] * 3, np.float64, (3,)).shape == (3, 4) and batch([flat] * 3, np.float64, (None, 2)).shape == (3, 4)


class OnPartition(PredicateBase):
    """A predicate of a user, for single rows: as Petastorm evaluates one on the folders of partitions."""

    def __init__(self, wanted: set[str]) -> None:
        self.wanted = wanted

    def get_fields(self) -> set[str]:
        return {"part"}

    def do_include(self, values: Any) -> bool:
        return values["part"] in self.wanted


class InFrames(PredicateBase):
    """A predicate of a user, for frames."""

    def get_fields(self) -> set[str]:
        return {"id"}

    def do_include(self, values: Any) -> Any:
        return values["id"] % 2 == 0


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    data = {"id": np.arange(40), "part": [f"p_{row // 10}" for row in range(40)], "vector": np.arange(80.0).reshape(40, 2)}
    return tt.write_table(tmp_path_factory.mktemp("names") / "table", data, index=["id", "part"])


def test_a_predicate_of_single_rows_works_in_a_batch_reader(table: tt.Table) -> None:
    def ids(predicate: Any) -> list[int]:
        with make_batch_reader(table, schema_fields=["id"], predicate=predicate, shuffle_row_groups=False) as reader:
            return [one for batch in reader for one in batch.id.tolist()]

    assert ids(OnPartition({"p_0", "p_2"})) == [*range(10), *range(20, 30)]
    assert ids(in_negate(OnPartition({"p_0", "p_2"}))) == [*range(10, 20), *range(30, 40)]
    assert ids(in_reduce([OnPartition({"p_1"}), InFrames()], all)) == [10, 12, 14, 16, 18]
    assert ids(in_lambda(["id"], lambda id: id > 37)) == [38, 39]
    assert ids(in_lambda(["part"], lambda part: part.isin(["p_3"]))) == [*range(30, 40)]

    with pytest.raises(ValueError, match="expected one boolean for each"):
        ids(in_lambda(["id"], lambda id: (id > 3).any()))
    with make_batch_reader(tt.read_index(table)[5:6], schema_fields=["id"], predicate=in_lambda(["id"], lambda id: True if int(id.iloc[0] if hasattr(id, "iloc") else id) == 5 else False)) as reader:
        assert len(reader) == 1

    class Wrong(OnPartition):
        def do_include(self, values: Any) -> Any:
            raise LookupError("as of a user")

    with pytest.raises(LookupError, match="as of a user"):
        ids(Wrong(set()))


@pytest.mark.parametrize(
    ("arguments", "raised", "says"),
    [
        ({"num_epochs": 0}, ValueError, "num_epochs: 0 is outside: expected 1 or more"),
        ({"num_epochs": -10}, ValueError, "num_epochs: -10 is outside"),
        ({"num_epochs": "2"}, ValueError, "num_epochs: expected an integer"),
        ({"cur_shard": 2, "shard_count": 2}, ValueError, "cur_shard: 2 is outside: expected 0 to 1"),
        ({"cur_shard": "0", "shard_count": 2}, ValueError, "cur_shard: expected an integer, found str '0'"),
        ({"cur_shard": 0, "shard_count": "2"}, ValueError, "shard_count: expected an integer"),
        ({"cur_shard": 0}, ValueError, "belong together"),
        ({"cur_shard": 0, "shard_count": 41}, NoDataAvailableError, "41 shards of 40 selected rows"),
        ({"predicate": in_set({1}, "nope")}, ValueError, "no field `nope`"),
        ({"predicate": in_set({1}, "nope")}, KeyError, "no field `nope`"),
        ({"schema_fields": "id"}, ValueError, "schema_fields"),
    ],
)
def test_errors_are_those_that_programs_catch(table: tt.Table, arguments: dict[str, Any], raised: type[Exception], says: str) -> None:
    for read in (make_reader, make_batch_reader):
        with pytest.raises(raised, match=says) as caught:
            read(table, **arguments)
        assert isinstance(caught.value, tt.Error)


@pytest.mark.parametrize("url", [None, 123, []])
def test_what_is_no_url_is_a_value_error(url: Any) -> None:
    with pytest.raises(ValueError, match="dataset_url"):
        make_reader(url)


def test_threads_share_a_reader(table: tt.Table) -> None:
    for options in ({}, {"transform_spec": TransformSpec(lambda row: row)}, {"shuffle_rows": True, "num_epochs": 5}):
        with make_reader(table, **options) as reader:  # type: ignore[arg-type]
            total = 40 * int(reader.num_epochs or 0)
            found: list[int] = []
            over = threading.Event()

            def read(reader: Any = reader, found: list[int] = found, over: threading.Event = over) -> None:
                for row in reader:
                    found.append(int(row.id))
                    reader.state_dict(), reader.diagnostics
                over.set()

            threads = [threading.Thread(target=read) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert over.is_set() and Counter(found) == Counter([*range(40)] * (total // 40))


def test_a_cache_of_a_local_table_says_that_it_caches_nothing(table: tt.Table, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="is on a local disk already, and nothing is cached"):
        make_reader(table.url, cache_type="local-disk", cache_location=tmp_path / "cache", cache_size_limit=10**6).stop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_reader(table.url).stop()


# ------------------------------------------------------------------------------------------------------------------- rows and n-grams

FIELDS = [
    UnischemaField("id", np.int32, (), ScalarCodec()),
    UnischemaField("name", np.str_, (), None, True),
    UnischemaField("price", Decimal, (), None, True),
    UnischemaField("points", np.float32, (None, 3), NdarrayCodec()),
    UnischemaField("image", np.uint8, (4, 6, 3), CompressedImageCodec("png")),
]
SCHEMA = Unischema("Rows", FIELDS)


def test_a_row_that_was_encoded_is_decoded_to_the_same_values() -> None:
    row = {"id": np.int32(3), "name": None, "price": Decimal("1.5"), "points": np.ones((2, 3), np.float32), "image": np.full((4, 6, 3), 7, np.uint8)}
    decoded = decode_row({**encoded_row(SCHEMA, row), "unknown": 5}, SCHEMA)
    assert list(decoded) == list(row) and decoded["name"] is None
    for name, value in row.items():
        assert type(decoded[name]) is type(value) and np.array_equal(decoded[name], value), name
    assert decode_row({"price": "123.45"}, SCHEMA) == {"price": Decimal("123.45")}
    with pytest.raises(DecodeFieldError, match="field `points`: decoding str 'bogus' failed: .*expected the bytes of a cell"):
        decode_row({"points": "bogus"}, SCHEMA)
    with pytest.raises(RuntimeError, match="field `price`: decoding str 'much' failed"):
        decode_row({"price": "much"}, SCHEMA)
    with pytest.raises(TypeError, match="a row: expected a dict"):
        decode_row([1], SCHEMA)  # type: ignore[arg-type]


def test_a_function_runs_in_another_process() -> None:
    import os

    assert run_in_subprocess(os.getpid) != os.getpid() and run_in_subprocess(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        run_in_subprocess(divmod, 7, 0)
    with pytest.raises(TypeError, match="func: expected a function"):
        run_in_subprocess(3)  # type: ignore[arg-type]


def reference(rows: list[dict[str, Any]], fields: dict[int, list[str]], threshold: int, overlap: bool) -> list[Any]:
    """N-grams by the definition: runs of rows, each within the threshold of the one before."""
    first, length = min(fields), max(fields) - min(fields) + 1
    made, end = [], None
    for start in range(len(rows) - length + 1):
        run = rows[start : start + length]
        if not overlap and end is not None and run[0]["time"] <= end:
            continue
        if all(after["time"] - before["time"] <= threshold for before, after in zip(run, run[1:], strict=False)):
            made.append({first + place: {name: row[name] for name in fields.get(first + place, [])} for place, row in enumerate(run)})
            end = run[-1]["time"]
    return made


def test_n_grams_of_rows_in_memory_are_those_of_the_definition(random_seed: int) -> None:
    chance = random.Random(random_seed)
    schema = Unischema("Times", [UnischemaField("time", np.int64, ()), UnischemaField("id", np.int64, ())])
    for _ in range(200):
        times = sorted(chance.randrange(30) for _ in range(chance.randrange(12)))
        rows = [{"time": time, "id": number} for number, time in enumerate(times)]
        offsets = sorted(chance.sample(range(-3, 4), chance.randrange(1, 4)))
        fields = {offset: chance.choice([["time"], ["id", "time"], ["id"]]) for offset in offsets}
        threshold, overlap = chance.randrange(8), chance.random() < 0.5
        ngram = NGram(fields, threshold, "time", overlap)  # type: ignore[arg-type]
        made = ngram.form_ngram(rows, schema)
        assert made == reference(rows, fields, threshold, overlap), (times, fields, threshold, overlap)
        for one in made[:2]:
            tuples = ngram.make_namedtuple(schema, one)
            assert {offset: row._asdict() for offset, row in tuples.items()} == {offset: dict(row) for offset, row in one.items()}


def test_n_grams_of_wrong_rows_are_errors() -> None:
    schema = Unischema("Times", [UnischemaField("time", np.int64, ())])
    pairs = NGram({0: ["time"], 1: ["time"]}, 5, "time")
    with pytest.raises(NotImplementedError, match="in the order of `time`"):
        pairs.form_ngram([{"time": 3}, {"time": 1}], schema)
    with pytest.raises(KeyError, match="data, row 1: no field `time`"):
        pairs.form_ngram([{"time": 3}, {}], schema)
    with pytest.raises(TypeError, match="timestamps of `time`, such as str 'a', are no times"):
        pairs.form_ngram([{"time": "a"}, {"time": "b"}], schema)
    with pytest.raises(TypeError, match="a row: expected a dict"):
        pairs.form_ngram([3], schema)  # type: ignore[list-item]
    padded = NGram({-1: ["time"], 0: ["time"]}, 5, "time", padding="null").form_ngram([{"time": 3}], schema)
    assert padded == [{-1: None, 0: {"time": 3}}]


# ------------------------------------------------------------------------------------------------------------------ helpers of programs


def test_edited_fields_may_be_fields_of_a_schema(table: tt.Table) -> None:
    edited = UnischemaField("half", np.float32, (2,), NdarrayCodec(), True)
    spec = TransformSpec(lambda row: {**row, "half": row["vector"].astype(np.float32) / 2}, edit_fields=[edited], removed_fields=["vector"])  # type: ignore[list-item]
    assert transform_schema(Unischema("X", [UnischemaField("vector", np.float64, (2,))]), spec).half == edited
    with make_reader(table, transform_spec=spec, shuffle_row_groups=False) as reader:
        row = next(reader)
    assert row._fields == ("id", "part", "half") and row.half.tolist() == [0, 0.5] and reader.schema.half.nullable and reader.schema.half.codec is None


def test_a_mock_delivers_rows_of_its_schema() -> None:
    with ReaderMock(SCHEMA, schema_data_generator_example) as reader:
        rows = [next(reader), reader.next(), reader.fetch()]
    assert all(row.points.shape == (10, 3) and row.image.dtype == np.uint8 and row.price == 0 for row in rows)
    with pytest.raises(ValueError, match="ngram"):
        ReaderMock(SCHEMA, schema_data_generator_example, ngram=3)
    with pytest.raises(TypeError, match="expected a function"):
        ReaderMock(SCHEMA, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="returns a dict of the fields, it returned int 3"):
        next(ReaderMock(SCHEMA, lambda schema: 3))  # type: ignore[arg-type,return-value]


def test_random_rows_fit_their_schema() -> None:
    dtypes = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]
    schema = Unischema("Random", [UnischemaField(f"f{number}", dtype, (None, 5)) for number, dtype in enumerate(dtypes)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [generate_datapoint(schema) for _ in range(20)]
    for name, field in schema.fields.items():
        values = np.stack([row[name] for row in rows])
        assert values.shape == (20, 13, 5) and values.dtype == field.numpy_dtype
        if values.dtype.kind in "iu":
            limits = np.iinfo(values.dtype)
            assert values.min() < limits.min + (float(limits.max) - limits.min) / 4 and values.max() > limits.max - (float(limits.max) - limits.min) / 4
    for dtype in (Decimal, np.datetime64):
        with pytest.raises(ValueError, match="field `x`"):
            generate_datapoint(Unischema("Random", [UnischemaField("x", dtype, ())]))


@pytest.mark.parametrize("call", [make_reader, make_batch_reader, get_schema])
def test_errors_of_a_url_have_no_user_and_no_password(call: Any) -> None:
    with pytest.raises(tt.Error, match="^hdfs://h/x: ") as caught:
        call("hdfs://user:secret@h/x")
    assert "secret" not in str(caught.value)


def test_a_table_of_polars_without_properties_has_inferred_fields(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1, 2], "text": ["a", "b"]}).write_parquet(tmp_path / "x.parquet")
    table = tt.ingest_petastorm(tmp_path / "x.parquet", tmp_path / "table")
    assert get_schema(table)._name == "inferred_schema" and list(get_schema(table).fields) == ["id", "text"]
