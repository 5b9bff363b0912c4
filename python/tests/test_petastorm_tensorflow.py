"""`make_petastorm_dataset` and `tf_tensors`: Petastorm's dtypes and shapes, n-grams, and the nulls that TensorFlow does not have."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from silly import wrong_answers
from tetrys.petastorm import TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.ngram import NGram
from tetrys.petastorm.spark import SparkDatasetConverter

tf = pytest.importorskip("tensorflow")
tf_utils = pytest.importorskip("tetrys.petastorm.tf_utils")

ROWS = 12
KINDS = {
    "id": ("int64", []), "i8": ("int8", []), "u16": ("uint16", []), "u32": ("uint32", []), "f32": ("float32", []), "f64": ("float64", []),
    "flag": ("bool_", []), "name": ("str_", []), "price": ("Decimal", []), "time": ("datetime64", []), "maybe": ("int32", []),
    "image": ("uint16", [2, None]), "points": ("float32", [None, 3]), "words": ("str_", [None]), "raw": ("bytes_", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    data: dict[str, Any] = {
        "id": np.arange(ROWS), "i8": np.arange(ROWS, dtype=np.int8), "u16": np.full(ROWS, 2**16 - 1, np.uint16), "u32": np.full(ROWS, 2**32 - 1, np.uint32),
        "f32": np.arange(ROWS, dtype=np.float32), "f64": np.arange(ROWS) / 3, "flag": np.arange(ROWS) % 2 == 1, "name": [f"näme {row}" for row in range(ROWS)],
        "price": [f"{row}.500" for row in range(ROWS)], "time": (np.arange(ROWS) * 1000).astype("M8[us]"), "maybe": [None if row == 5 else row for row in range(ROWS)],
        "image": [np.full((2, 3), row, np.uint16) for row in range(ROWS)], "points": [np.full((row, 3), row, np.float32) for row in range(ROWS)],
        "words": [["a", "bc"][: row % 3] for row in range(ROWS)], "raw": [bytes([row, 0, 255]) for row in range(ROWS)],
    }  # fmt: skip
    groups = {name: [name] for name in ("image", "points", "words", "raw")}
    url = str(tmp_path_factory.mktemp("tf") / "t")
    properties = {"petastorm.schema": {"name": "S", "fields": list(data)}}
    schema = {"image": "u16[2,?]", "points": "f32[?,3]", "words": "list<utf8>", "maybe": "i32"}
    table = tt.write_table(url, data, index=[name for name in data if name not in groups], groups=groups, schema=schema, properties=properties)
    return table.edit(column_properties={name: {"petastorm.dtype": kind, "petastorm.shape": shape, "petastorm.nullable": True} for name, (kind, shape) in KINDS.items()})


NAMES = [name for name in KINDS if name != "maybe"]
DTYPES = {
    "id": tf.int64, "i8": tf.int8, "u16": tf.int32, "u32": tf.int64, "f32": tf.float32, "f64": tf.float64, "flag": tf.bool, "name": tf.string,
    "price": tf.string, "time": tf.int64, "image": tf.int32, "points": tf.float32, "words": tf.string, "raw": tf.string,
}  # fmt: skip


def check(row: Any, number: int) -> None:
    assert int(row.id) == int(row.i8) == number and int(row.u16) == 2**16 - 1 and int(row.u32) == 2**32 - 1 and bool(row.flag) == (number % 2 == 1)
    assert row.name.numpy().decode() == f"näme {number}" and row.raw.numpy() == bytes([number, 0, 255]) and float(row.f64) == number / 3
    assert row.price.numpy().decode() == str(Decimal(f"{number}.500").normalize()) and int(row.time) == number * 1_000_000
    assert row.image.numpy().tolist() == [[number] * 3] * 2 and row.points.shape == (number, 3)
    assert row.words.numpy().tolist() == [b"a", b"bc"][: number % 3]


def test_rows_have_the_dtypes_and_shapes_of_the_schema(table: tt.Table) -> None:
    with make_reader(table, schema_fields=NAMES, shuffle_row_groups=False) as reader:
        data = tf_utils.make_petastorm_dataset(reader)
        spec = data.element_spec
        assert type(spec).__name__ == "S_view_view" and {name: part.dtype for name, part in spec._asdict().items()} == DTYPES
        assert {name: part.shape.as_list() for name, part in spec._asdict().items()} == {name: KINDS[name][1] for name in NAMES}
        rows = list(data)
    assert len(rows) == ROWS
    for number, row in enumerate(rows):
        check(row, number)


def test_a_second_iteration_starts_the_reader_again(table: tt.Table) -> None:
    with make_reader(table, schema_fields=["id"], num_epochs=2, seed=1) as reader:
        data = tf_utils.make_petastorm_dataset(reader)
        first = [int(row.id) for row in data]
        second = [int(row.id) for row in data]
    assert sorted(first) == sorted(second) == sorted([*range(ROWS)] * 2) and first != second


def test_batches_and_transforms_become_tensors(table: tt.Table) -> None:
    with make_batch_reader(table, schema_fields=["id", "name", "image", "time"], batch_size=5, shuffle_row_groups=False) as reader:
        batches = list(tf_utils.make_petastorm_dataset(reader))
    assert [batch.image.shape.as_list() for batch in batches] == [[5, 2, 3], [5, 2, 3], [2, 2, 3]]
    assert batches[1].name.numpy()[0].decode() == "näme 5" and int(batches[1].time[0]) == 5_000_000
    spec = TransformSpec(lambda row: {"mean": np.float32(row["image"].mean())}, [("mean", np.float32, (), False)], ["image"])
    with make_reader(table, schema_fields=["image"], transform_spec=spec, shuffle_row_groups=False) as reader:
        assert [float(row.mean) for row in tf_utils.make_petastorm_dataset(reader)] == list(range(ROWS))


def test_ngrams_are_dicts_of_rows(table: tt.Table) -> None:
    ngram = NGram({-1: ["id", "image"], 1: ["id", "price"]}, 1, "id")
    with make_reader(table, schema_fields=ngram, shuffle_row_groups=False) as reader:
        found = list(tf_utils.make_petastorm_dataset(reader))
    assert len(found) == ROWS - 2 and list(found[3]) == [-1, 0, 1] and found[3][0] == ()
    assert int(found[3][-1].id) == 3 and int(found[3][1].id) == 5 and found[3][1].price.numpy() == b"5.5" and found[3][-1].image.dtype == tf.int32


def test_a_null_is_an_error_that_names_the_field(table: tt.Table) -> None:
    with make_reader(table, schema_fields=["maybe"], shuffle_row_groups=False) as reader:
        with pytest.raises(tf.errors.OpError, match="field `maybe` is None"):
            list(tf_utils.make_petastorm_dataset(reader))
    with make_reader(table, schema_fields=NGram({0: ["id"], 1: ["id"]}, 1, "id", padding="null")) as reader:
        with pytest.raises(tf.errors.OpError, match="no row at offset 1"):
            list(tf_utils.make_petastorm_dataset(reader))


def test_tensors_are_the_next_row(table: tt.Table) -> None:
    with make_reader(table, schema_fields=NAMES, shuffle_row_groups=False) as reader:
        for number in range(ROWS):
            row = tf_utils.tf_tensors(reader)
            assert {name: tensor.dtype for name, tensor in row._asdict().items()} == DTYPES
            check(row, number)
    with make_reader(table, schema_fields=NAMES, shuffle_row_groups=False) as reader, tf.Graph().as_default():
        tensors = tf_utils.tf_tensors(reader)
        assert tensors.points.shape.as_list() == [None, 3]
        with tf.compat.v1.Session() as session:
            assert [int(session.run(tensors).id) for _ in range(ROWS)] == list(range(ROWS))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(tensors)
    with make_reader(table, schema_fields=NGram({0: ["id"], 1: ["id"]}, 1, "id"), shuffle_row_groups=False) as reader:
        ngram = tf_utils.tf_tensors(reader)
        assert (int(ngram[0].id), int(ngram[1].id)) == (0, 1)


def test_silly_arguments_are_errors(table: tt.Table) -> None:
    with pytest.raises(TypeError, match="reader: expected"):
        tf_utils.make_petastorm_dataset([1, 2])
    with make_batch_reader(table, schema_fields=["id"]) as batches, pytest.raises(ValueError, match="with a batch reader"):
        tf_utils.tf_tensors(batches, shuffling_queue_capacity=10)
    with make_reader(table, schema_fields=["id"], shuffle_row_groups=False, seed=1) as reader:
        tf_utils.tf_tensors(reader, shuffling_queue_capacity=10, min_after_dequeue=5)
        assert reader._settings["shuffle"] == "block"
    odd = TransformSpec(lambda row: row, [("z", np.complex64, (), False)])
    with pytest.raises(ValueError, match="field `z`: TensorFlow has no dtype"):
        tf_utils.make_petastorm_dataset(make_reader(table, schema_fields=["id"], transform_spec=odd))


def test_a_silly_argument_is_an_error_of_tetrys_or_has_a_meaning(table: tt.Table) -> None:
    def reader() -> Any:
        return make_reader(table, schema_fields=["id", "f32"], shuffle_row_groups=False)

    def dataset(**given: Any) -> Any:
        with SparkDatasetConverter(table.url, [table.url], ROWS).make_tf_dataset(schema_fields=["id"], num_epochs=1, **given) as made:
            return next(iter(made))

    odd = {"reader": {"class": lambda: type(reader()), "list": lambda: [reader()], "table": lambda: table, "schema": lambda: reader().schema}}
    calls: dict[str, Any] = {
        "make_petastorm_dataset": lambda: (lambda **given: next(iter(tf_utils.make_petastorm_dataset(**given))), {"reader": reader()}),
        "tf_tensors": lambda: (tf_utils.tf_tensors, {"reader": reader(), "shuffling_queue_capacity": 0, "min_after_dequeue": 0}),
        "make_tf_dataset": lambda: (dataset, {"batch_size": 4, "prefetch": 1, "workers_count": None, "shuffling_queue_capacity": None}),
    }
    for name, make in calls.items():
        assert not (wrong := wrong_answers(make, odd)), f"{name}\n" + "\n".join(wrong)


def test_values_that_do_not_fit_the_schema_name_the_field(table: tt.Table) -> None:
    for changed, message in (
        ({"id": "x"}, "field `id`: expected int64, as its schema says, found str 'x'"),
        ({"id": object()}, "field `id`: expected int64"),
        ({"image": np.zeros((3, 2))}, r"field `image`: expected the shape \(2, None\), as its schema says, found \(3, 2\)"),
    ):
        spec = TransformSpec(lambda row, changed=changed: {**row, **changed})
        with make_reader(table, schema_fields=["id", "image"], transform_spec=spec, shuffle_row_groups=False) as reader:
            with pytest.raises(tf.errors.OpError, match=message):
                next(iter(tf_utils.make_petastorm_dataset(reader)))
            with pytest.raises(tt.Invalid, match=message):
                tf_utils.tf_tensors(reader)


def test_a_reader_that_has_ended_ends_tensors_as_tensorflow_does(table: tt.Table) -> None:
    with make_reader(table, schema_fields=["id"]) as reader:
        assert len(list(reader)) == ROWS
        with pytest.raises(tf.errors.OutOfRangeError):
            tf_utils.tf_tensors(reader)


def test_a_data_set_serves_code_of_tensorflow_1_and_2(table: tt.Table) -> None:
    names = ["id", "name", "points"]
    with make_reader(table, schema_fields=names, shuffle_row_groups=False) as reader:
        made = tf_utils.make_petastorm_dataset(reader)
        assert isinstance(made, tf.data.Dataset) and [int(row.id) for row in made] == list(range(ROWS))
    with tf.Graph().as_default(), make_reader(table, schema_fields=names, shuffle_row_groups=False) as reader:
        old = tf_utils.make_petastorm_dataset(reader)
        assert [shape.as_list() for shape in tf.compat.v1.data.get_output_shapes(old)] == [[], [], [None, 3]]
        following = old.map(lambda row: row).prefetch(2).make_one_shot_iterator().get_next()
        with tf.compat.v1.Session() as session:
            rows = [session.run(following) for _ in range(ROWS)]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)
    assert [int(row.id) for row in rows] == list(range(ROWS)) and rows[3].points.shape == (3, 3) and rows[3].name.decode() == "näme 3"
