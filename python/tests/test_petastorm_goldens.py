"""`tetrys.petastorm` gives the rows, n-grams, splits and selections that the real library gave for its own data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tetrys as tt
from petastorm_tables import RELEASES, SHARED, behaviour, declared, goldens, needs_data, same, write
from tetrys.petastorm import make_reader
from tetrys.petastorm.ngram import NGram
from tetrys.petastorm.predicates import in_intersection, in_lambda, in_negate, in_pseudorandom_split, in_reduce, in_set
from tetrys.petastorm.selectors import IntersectIndexSelector, SingleIndexSelector, UnionIndexSelector

pytestmark = [needs_data, pytest.mark.filterwarnings("ignore:no row of")]


@pytest.fixture(scope="session", params=["ingested", "written"])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tt.Table]:
    """The tables of the data sets: what the import makes of them, and what `write_table` makes of the goldens."""
    folder = tmp_path_factory.mktemp("petastorm")
    if request.param == "ingested":
        return {release: tt.ingest_petastorm(SHARED / "legacy" / release, folder / release) for release in RELEASES}
    return {release: write(str(folder / release), release) for release in RELEASES}


@pytest.fixture(scope="session")
def table(tables: dict[str, tt.Table]) -> tt.Table:
    return tables["0.7.6"]


def ids(table: tt.Table, **options: Any) -> list[int]:
    with make_reader(table, shuffle_row_groups=False, **options) as reader:
        found = [int(row.id) for row in reader]
        assert len(found) == len(reader) * (options.get("num_epochs") or 1)
        return found


@pytest.mark.parametrize("release", RELEASES)
def test_every_field_of_every_row_equals_the_golden(tables: dict[str, tt.Table], release: str) -> None:
    with make_reader(tables[release], shuffle_row_groups=False) as reader:
        assert list(reader.schema.fields) == [field["name"] for field in declared(release)]
        rows = list(reader)
    assert len(rows) == len(goldens(release))
    for number, (row, expected) in enumerate(zip(rows, goldens(release), strict=True)):
        assert type(row).__name__ == "TestSchema_view"
        for name, value in expected.items():
            assert same(getattr(row, name), value), f"row {number}, {name}: {getattr(row, name)!r}, expected {value!r}"


@pytest.mark.parametrize("release", RELEASES)
def test_the_schema_equals_the_golden(tables: dict[str, tt.Table], release: str) -> None:
    with make_reader(tables[release]) as reader:
        for field in declared(release):
            found = reader.schema.fields[field["name"]]
            dtype = {"bool": "bool_", "str": "str_", "bytes": "bytes_"}.get(found.numpy_dtype.__name__, found.numpy_dtype.__name__)
            assert (dtype, list(found.shape), found.nullable) == (field["dtype"], field["shape"], field["nullable"])
            assert type(found.codec).__name__ == field["codec"]["class"].rpartition(".")[2]
            kind = field["codec"].get("spark_type")
            assert str(found.codec) == f"ScalarCodec({kind['class'].rpartition('.')[2]}())" if kind else "ScalarCodec" not in str(found.codec)


def test_views_of_the_schema_equal_the_goldens(table: tt.Table) -> None:
    with make_reader(table) as reader:
        schema = reader.schema
    for pattern in ("id.*", "matrix", "[im].*_?nullable|decimal"):
        assert sorted(schema.create_schema_view([pattern]).fields) == sorted(behaviour()[f"view/{pattern}"])
    shown = str(schema.create_schema_view([schema.id, schema.image_png]))
    assert shown == behaviour()["view/str"]


CASES = [name for name, golden in (behaviour().items() if SHARED.exists() else ()) if name.startswith("ngram/") and "spec" in golden]


def golden_ngram(spec: dict[str, Any]) -> NGram:
    fields = {int(offset): names for offset, names in spec["fields"].items()}
    return NGram(fields, spec["delta_threshold"], spec["timestamp_field"], spec["timestamp_overlap"], group_by="petastorm.row_group")


@pytest.mark.parametrize("name", CASES)
def test_ngrams_inside_row_groups_equal_the_goldens(table: tt.Table, name: str) -> None:
    golden = behaviour()[name]
    spec = golden["spec"]
    predicate = in_lambda(["id"], lambda id: id % 3 != 0) if "predicate" in spec else None
    drops = int(spec.get("shuffle_row_drop_partitions", 0)) + 1
    options: dict[str, Any] = {"predicate": predicate, "shuffle_row_drop_partitions": drops, "shuffle_row_groups": False}
    with make_reader(table, schema_fields=golden_ngram(spec), **options) as reader:
        assert len(reader) == golden["count"]
        found = list(reader)
    assert [{str(at): None if not row._fields else int(row.id) for at, row in ngram.items()} for ngram in found] == golden["ids"]
    if found:
        assert {str(at): sorted(row._fields) for at, row in found[0].items()} == {at: sorted(of) for at, of in golden["fields_of_first"].items()}


def test_ngrams_that_the_real_library_refuses_are_errors(table: tt.Table) -> None:
    both: dict[int, list[Any]] = {0: ["id"], 1: ["id"]}
    with pytest.raises(ValueError, match=r"timestamp_field `id\.\*` matches 4 fields"):
        make_reader(table, schema_fields=NGram(both, 1, "id.*"))
    with pytest.raises(KeyError, match="timestamp_field `id` must be among the fields"):
        make_reader(table, schema_fields=NGram({0: ["id2"], 1: ["id2"]}, 1, "id"))
    with pytest.raises(NotImplementedError, match="in the order of `id2`"):
        make_reader(table, schema_fields=NGram({0: ["id", "id2"], 1: ["id"]}, 1, "id2", group_by="petastorm.row_group"))
    with pytest.raises(NotImplementedError, match="shuffle_row_drop_partitions"):
        make_reader(table, schema_fields=NGram(both, 1, "id", False), shuffle_row_drop_partitions=2)


def test_predicates_equal_the_goldens(table: tt.Table) -> None:
    expected = {name.removeprefix("pred/"): golden for name, golden in behaviour().items() if name.startswith("pred/")}
    by_partition = in_set(["p_2", "p_7"], "partition_key")
    found = {
        "in_set_id": ids(table, predicate=in_set([3, 5, 77, 1000], "id")),
        "in_set_partition": ids(table, predicate=by_partition),
        "in_negate": ids(table, predicate=in_negate(by_partition)),
        "in_reduce_all": ids(table, predicate=in_reduce([in_lambda(["id"], lambda id: id >= 20), in_lambda(["id_odd"], lambda odd: bool(odd))], all)),
        "in_reduce_any": ids(table, predicate=in_reduce([in_set([4], "id"), in_set(["p_3"], "partition_key")], any)),
        "lambda_null": ids(table, predicate=in_lambda(["integer_nullable"], lambda value: value is None)),
        "lambda_two_fields": ids(table, predicate=in_lambda(["id", "integer_nullable"], lambda id, value: id > 50 and value is not None)),
        "in_intersection_sensor": ids(table, predicate=in_intersection(["test_sensor"], "sensor_name")),
    }
    for name, rows in found.items():
        assert rows == expected[name], name


def test_an_intersection_with_null_is_the_error_of_the_real_library(table: tt.Table) -> None:
    with pytest.raises(ValueError, match="string_array_nullable` is None, expected an array"):
        make_reader(table, predicate=in_intersection(["1"], "string_array_nullable"))
    there = in_lambda(["string_array_nullable"], lambda value: value is not None)
    assert ids(table, predicate=there) == behaviour()["pred/in_intersection"]
    wanted = in_intersection(["2", "77"], "string_array_nullable")
    assert ids(table, predicate=in_reduce([there, wanted], all)) == [1, 2, 77]


@pytest.mark.parametrize("part", range(3))
def test_the_pseudorandom_split_is_equal_bit_for_bit(table: tt.Table, part: int) -> None:
    expected = behaviour()[f"pred/pseudorandom_split_0.5_0.2_0.3/{part}"]
    assert ids(table, predicate=in_pseudorandom_split([0.5, 0.2, 0.3], part, "id")) == expected
    if part < 2:
        expected = behaviour()[f"pred/pseudorandom_split_by_partition_0.6_0.4/{part}"]
        assert ids(table, predicate=in_pseudorandom_split([0.6, 0.4], part, "partition_key")) == expected


def test_selectors_choose_exact_rows_inside_the_row_groups_of_the_goldens(table: tt.Table) -> None:
    groups = {number: number // 10 for number in range(100)}

    def chosen(selector: Any, **options: Any) -> tuple[list[int], list[int]]:
        rows = ids(table, rowgroup_selector=selector, **options)
        touched = {groups[row] for row in rows}
        return rows, [row for row in range(100) if groups[row] in touched]

    single = SingleIndexSelector("id", [2, 18, 95])
    assert chosen(single) == ([2, 18, 95], behaviour()["selector/single"])
    assert chosen(SingleIndexSelector("id", [5000])) == ([], behaviour()["selector/single_missing_value"])
    both = IntersectIndexSelector([SingleIndexSelector("id", [2, 18]), SingleIndexSelector("sensor_name", ["test_sensor"])])
    assert chosen(both) == ([2, 18], behaviour()["selector/intersect"])
    either = UnionIndexSelector([SingleIndexSelector("id", [2]), SingleIndexSelector("partition_key", ["p_9"])])
    assert chosen(either) == ([2, *range(90, 100)], behaviour()["selector/union"])
    assert ids(table, rowgroup_selector=single, predicate=in_set([18], "id")) == behaviour()["selector/single+predicate"]


def test_filters_epochs_and_drop_partitions_equal_the_goldens(table: tt.Table) -> None:
    assert ids(table, filters=[("partition_key", "=", "p_4")]) == behaviour()["filters/partition"]
    either = [[("partition_key", "=", "p_4")], [("partition_key", ">=", "p_8")]]
    assert ids(table, filters=either) == behaviour()["filters/partition_or"]
    assert ids(table, num_epochs=2) == behaviour()["num_epochs/2"]
    for drops in (2, 3):
        assert ids(table, shuffle_row_drop_partitions=drops) == sorted(behaviour()[f"row_drop_partitions/{drops}"])


def test_row_groups_as_shards_equal_the_goldens(table: tt.Table) -> None:
    for shard in range(3):
        group = in_lambda(["petastorm.row_group"], lambda group, shard=shard: int(group) % 3 == shard)
        assert ids(table, predicate=group) == behaviour()[f"shard/3/{shard}"]


def test_rows_of_a_reader_may_be_changed(table: tt.Table) -> None:
    with make_reader(table, schema_fields=["matrix", "image_png", "matrix_string"]) as reader:
        row = next(reader)
    row.matrix[:] = 7
    row.image_png[:] = 7
    assert float(np.mean(row.matrix)) == 7 and row.matrix_string.flags.writeable
