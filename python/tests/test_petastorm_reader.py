"""Readers of `tetrys.petastorm`: exactly the selected rows, in any shard, epoch and order; and every argument that is impossible is an
error with a reason. Each test that is called after a fault of Petastorm shows that the fault is not here.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tetrys as tt
from conftest import picture
from hypothesis import given
from hypothesis import strategies as st
from tetrys.petastorm import NoDataAvailableError, TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.codecs import CompressedImageCodec
from tetrys.petastorm.etl.rowgroup_indexers import FieldNotNullIndexer, SingleFieldIndexer
from tetrys.petastorm.etl.rowgroup_indexing import build_rowgroup_index
from tetrys.petastorm.predicates import PredicateBase, in_lambda, in_negate, in_pseudorandom_split, in_reduce, in_set
from tetrys.petastorm.selectors import IntersectIndexSelector, SingleIndexSelector, UnionIndexSelector
from tetrys.petastorm.transform import edit_field
from tetrys.petastorm.unischema import Unischema, UnischemaField
from tetrys.petastorm.weighted_sampling_reader import WeightedSamplingReader

ROWS = 200


def columns(rows: int = ROWS) -> dict[str, Any]:
    return {
        "id": np.arange(rows, dtype=np.int64),
        "year": (2000 + np.arange(rows) // 50).astype(np.int32),
        "name": [f"log {row // 20}" for row in range(rows)],
        "maybe": [None if row % 3 == 0 else row for row in range(rows)],
        "time": (np.arange(rows) * 10).astype("M8[ms]"),
        "vector": np.arange(rows * 4, dtype=np.float32).reshape(rows, 4),
        "points": [None if row % 7 == 6 else np.full((row % 4, 3), row, np.float32) for row in range(rows)],
        "blob": [bytes([row % 256]) * 3 for row in range(rows)],
        "png": [picture(row % 25) for row in range(rows)],
    }


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    groups = {name: [name] for name in ("vector", "points", "blob", "png")}
    url = str(tmp_path_factory.mktemp("petastorm") / "table")
    return tt.write_table(url, columns(), index=["id", "year", "name", "maybe", "time"], groups=groups)


def ids(reader: Any) -> list[int]:
    with reader:
        return [int(row.id) for row in reader]


# The faults of Petastorm.


def test_rows_out_are_the_rows_selected_and_a_loss_would_be_an_error(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=["id"])
    assert Counter(ids(reader)) == Counter(range(ROWS))
    reader = make_reader(table, schema_fields=["id"])
    next(reader)
    reader._left += 1
    with pytest.raises(tt.Internal, match="200 selected rows ended with 1 not delivered"):
        list(reader)


def test_every_epoch_has_another_order_also_with_seed_0(table: tt.Table) -> None:
    for shuffle in ({"shuffle_row_groups": True}, {"shuffle_rows": True}):
        found = ids(make_reader(table, schema_fields=["id"], seed=0, num_epochs=3, **shuffle))
        epochs = [found[start : start + ROWS] for start in range(0, 3 * ROWS, ROWS)]
        assert [sorted(epoch) for epoch in epochs] == [list(range(ROWS))] * 3
        assert len({tuple(epoch) for epoch in epochs}) == 3
        assert found == ids(make_reader(table, schema_fields=["id"], seed=0, num_epochs=3, **shuffle))
        assert found != ids(make_reader(table, schema_fields=["id"], seed=1, num_epochs=3, **shuffle))


def test_without_a_seed_two_readers_have_other_orders(table: tt.Table) -> None:
    assert ids(make_reader(table, schema_fields=["id"])) != ids(make_reader(table, schema_fields=["id"]))


def test_a_predicate_never_mixes_the_columns_of_rows(table: tt.Table) -> None:
    keep = in_lambda(["id"], lambda id: id % 4 == 1)
    with make_reader(table, predicate=keep, shuffle_rows=True) as reader:
        rows = list(reader)
    assert len(rows) == 50
    for row in rows:
        number = int(row.id)
        assert row.vector.tolist() == list(range(4 * number, 4 * number + 4)) and row.blob == bytes([number]) * 3
        assert row.year == 2000 + number // 50 and row.maybe == (None if number % 3 == 0 else number)
    with make_batch_reader(table, schema_fields=["id", "vector"], predicate=keep, shuffle_rows=True, batch_size=7) as batches:
        for batch in batches:
            assert batch.id.dtype == np.int64 and batch.vector[:, 0].tolist() == (4 * batch.id).tolist()


def test_drop_partitions_and_shuffled_rows_deliver_every_row_once(table: tt.Table) -> None:
    found = ids(make_reader(table, schema_fields=["id"], shuffle_rows=True, shuffle_row_drop_partitions=4, seed=3))
    assert Counter(found) == Counter(range(ROWS))


@given(count=st.integers(1, 30), seed=st.one_of(st.none(), st.integers(0, 2**64 - 1)), epochs=st.integers(1, 3), workers=st.integers(1, 12), kept=st.integers(1, 5))
def test_shards_have_each_row_once_in_every_epoch_and_differ_by_one_row(
    table: tt.Table, count: int, seed: int | None, epochs: int, workers: int, kept: int
) -> None:
    expected = [row for row in range(ROWS) if row % kept == 0]
    shards = []
    for shard in range(count):
        options = dict(seed=seed, num_epochs=epochs, workers_count=workers, predicate=in_lambda(["id"], lambda id: id % kept == 0))
        shards.append(ids(make_reader(table, schema_fields=["id"], cur_shard=shard, shard_count=count, **options)))
    sizes = [len(rows) // epochs for rows in shards]
    assert max(sizes) - min(sizes) <= 1
    for epoch in range(epochs):
        union = [row for rows, size in zip(shards, sizes, strict=True) for row in rows[epoch * size : (epoch + 1) * size]]
        assert sorted(union) == expected
    # A shard has the same rows in every epoch and with any seed, as a part of the data that is set aside must.
    assert all(set(rows) == {expected[place] for place in range(shard, len(expected), count)} for shard, rows in enumerate(shards))


def test_filters_work_on_every_index_column(table: tt.Table) -> None:
    def chosen(*filters: Any) -> list[int]:
        return ids(make_reader(table, schema_fields=["id"], filters=list(filters), shuffle_row_groups=False))

    assert chosen(("id", "<", 5)) == [0, 1, 2, 3, 4]
    assert chosen(("year", "=", 2003), ("id", ">=", 198)) == [198, 199]
    assert chosen(("year", "=", "2003"), ("id", ">=", "198")) == [198, 199]
    assert chosen([("id", "=", 3)], [("name", "in", {"log 9"}), ("id", "!=", 180), ("id", "<=", 182)]) == [3, 181, 182]
    assert chosen(("maybe", "<", 6)) == [1, 2, 4, 5]
    assert chosen(("maybe", "not in", range(5, 200))) == [1, 2, 4]
    assert chosen(("time", ">", np.datetime64("1970-01-01T00:00:01.980"))) == [199]
    assert chosen(("time", ">", "1970-01-01T00:00:01.980")) == [199]
    with pytest.raises(KeyError, match="filters: no field `nope`"):
        chosen(("nope", "=", 1))
    with pytest.raises(TypeError, match=r"filters, field `name`: expected a value of str_, found int 3"):
        chosen(("name", "=", 3))
    with pytest.raises(TypeError, match="'x' is no int64"):
        chosen(("id", "=", "x"))
    with pytest.raises(ValueError, match="operator `~`"):
        chosen(("id", "~", 3))
    with pytest.raises(ValueError, match="field `vector` is an array"):
        chosen(("vector", "=", 3))


def test_a_row_that_the_index_rejects_costs_no_payload(tmp_path: Path) -> None:
    rows = 2000
    noise = np.random.default_rng(1).integers(0, 256, (rows, 5000), dtype=np.uint8)
    table = tt.write_table(str(tmp_path / "t"), {"id": np.arange(rows), "raw": noise}, index=["id"], groups={"raw": ["raw"]})
    with make_reader(table, predicate=in_set([1234], "id")) as reader:
        row = next(reader)
        assert row.raw.tobytes() == noise[1234].tobytes()
        assert reader.diagnostics["requested_bytes"] < 100_000 < noise.nbytes


def test_field_order_is_that_of_the_schema_in_every_process(table: tt.Table) -> None:
    with make_reader(table, schema_fields=[".*a.*|id", "time", "id"]) as reader:
        assert list(reader.schema.fields) == ["id", "year", "name", "maybe", "time"]
    with make_reader(table, schema_fields=[reader.schema.time, "id"]) as reader:
        assert next(reader)._fields == ("time", "id")


@given(data=st.data(), epochs=st.integers(1, 3), batched=st.booleans(), transformed=st.booleans())
def test_a_state_continues_exactly_behind_the_last_row(table: tt.Table, data: st.DataObject, epochs: int, batched: bool, transformed: bool) -> None:
    def reader(seed: int) -> Any:
        spec = TransformSpec(lambda row: row) if transformed else None
        if batched:
            return make_batch_reader(table, schema_fields=["id"], seed=seed, num_epochs=epochs, transform_spec=spec, batch_size=33)
        return make_reader(table, schema_fields=["id"], seed=seed, num_epochs=epochs, transform_spec=spec)

    whole = reader(5)
    taken = data.draw(st.integers(0, epochs * (7 if batched else ROWS)))
    for _ in range(taken):
        next(whole)
    state = json.loads(json.dumps(whole.state_dict()))
    again = reader(6)
    next(again)
    again.load_state_dict(state)
    left = [np.asarray(item.id).reshape(-1).tolist() for item in whole]
    assert [np.asarray(item.id).reshape(-1).tolist() for item in again] == left
    assert sum(map(len, left)) == epochs * ROWS - (min(taken * 33, taken // 7 * ROWS + taken % 7 * 33) if batched else taken)


def test_seek_goes_to_a_row_of_the_epoch(table: tt.Table) -> None:
    order = ids(make_reader(table, schema_fields=["id"], seed=4))
    reader = make_reader(table, schema_fields=["id"], seed=4)
    for place in (150, 3, 199, 0):
        reader.seek(place)
        assert int(next(reader).id) == order[place]
    for wrong in (-1, ROWS, 1.5, None, True):
        with pytest.raises(tt.Invalid, match="position"):
            reader.seek(wrong)


def test_a_weighted_mix_is_seeded(table: tt.Table) -> None:
    def mix(seed: int | None) -> list[int]:
        parts = [make_reader(table, schema_fields=["id"], seed=1, num_epochs=None, filters=[("year", "=", year)]) for year in (2000, 2001)]
        with WeightedSamplingReader(parts, [1, 3], seed=seed) as reader:
            return [int(next(reader).id) for _ in range(400)]

    assert mix(7) == mix(7) != mix(8)
    assert 60 < sum(row < 50 for row in mix(7)) < 140
    assert mix(None) != mix(None)


def test_the_cache_serves_the_second_reader_and_leaves_other_files_alone(table: tt.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TETRYS_CACHE", raising=False)
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            file = Path(self.translate_path(self.path))
            if not file.is_file():
                self.send_error(404)
                return
            content, status = file.read_bytes(), 200
            if (wanted := self.headers.get("Range")) is not None:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                start, end = (int(first), min(int(last or len(content)), len(content) - 1)) if first else (len(content) - int(last), len(content) - 1)
                whole, content, status = len(content), content[start : end + 1], 206
            self.send_response(status)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{end}/{whole}")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{file.stat().st_mtime_ns}"')
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "mine.txt").write_text("keep")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(Path(table.url.removeprefix("file://")).parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        counts = []
        for _ in range(2):
            asked.clear()
            url = f"http://127.0.0.1:{server.server_port}/table@1"
            with make_reader(url, schema_fields=["id", "vector", "blob"], cache_type="local-disk", cache_location=cache, cache_size_limit=10**8) as reader:
                assert len(list(reader)) == ROWS
            counts.append(sum("chunks" in path for path in asked))
    finally:
        server.shutdown()
        server.server_close()
    assert counts[0] > 0 and counts[1] == 0
    assert (cache / "mine.txt").read_text() == "keep" and len(list(cache.rglob("*"))) > 2


# Rows, transforms, batches.


def test_plain_tables_have_fields_of_their_column_types(table: tt.Table) -> None:
    with make_reader(table, shuffle_row_groups=False) as reader:
        rows = list(reader)
    expected = columns()
    assert rows[6].points is None and rows[3].maybe is None and type(rows[4].maybe) is np.int64
    assert rows[5].points.tolist() == expected["points"][5].tolist() and rows[5].png == expected["png"][5]
    assert isinstance(rows[5].name, np.str_) and rows[5].time == np.datetime64(50, "ms")
    with make_reader(tt.Table(table.url), schema_fields=["vec.*"]) as reader:
        assert reader.schema.vector == UnischemaField("vector", np.float32, (4,), None, True)


def test_urls_paths_views_indexes_and_lists_are_sources(table: tt.Table, tmp_path: Path) -> None:
    path = table.url.removeprefix("file://")
    for source in (path, Path(path), f"file://{path}", f"file://{path}/", table, tt.read_index(table), [path], (table,)):
        assert len(make_reader(source, schema_fields=["id"])) == ROWS
    assert sorted(ids(make_reader([path, table], schema_fields=["id", "vector"]))) == sorted([*range(ROWS)] * 2)
    view = tt.read_index(table).filter(year=2002).save(str(tmp_path / "view"))
    assert sorted(ids(make_reader(view.url, schema_fields=["id", "blob"]))) == list(range(100, 150))
    some = tt.read_index(table, columns=["id"])[5:8]
    with make_reader(some, shuffle_row_groups=False) as reader:
        assert list(reader.schema.fields) == ["id", "vector", "points", "blob", "png"] and [int(row.id) for row in reader] == [5, 6, 7]


def test_a_field_may_have_the_name_of_an_entry_of_the_loader(tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"id": np.arange(9), "positions": np.arange(27).reshape(9, 3)}, index=["id"], groups={"positions": ["positions"]})
    with make_reader(table, filters=[("id", ">", 2)], shuffle_row_groups=False) as reader:
        rows = list(reader)
    assert [(int(row.id), row.positions.tolist()) for row in rows] == [(row, [3 * row, 3 * row + 1, 3 * row + 2]) for row in range(3, 9)]
    with make_batch_reader(table, batch_size=4, num_epochs=2) as batches:
        assert [batch.positions.shape for batch in batches] == [(4, 3), (4, 3), (1, 3)] * 2


def test_a_view_of_an_ingested_table_has_its_schema(tmp_path: Path) -> None:
    url = str(tmp_path / "t")
    tt.write_table(url, {"id": np.arange(4), "price": ["1.50"] * 4}, index=["id", "price"], properties={"petastorm.schema": {"name": "S", "fields": ["price", "id"]}})
    kind = {"petastorm.shape": [], "petastorm.nullable": False, "petastorm.codec": None}
    table = tt.Table(url).edit(column_properties={"id": {"petastorm.dtype": "int64", **kind}, "price": {"petastorm.dtype": "Decimal", **kind}})
    view = tt.read_index(table)[1:3].save(str(tmp_path / "view"))
    with make_reader(view.url, shuffle_row_groups=False) as reader:
        assert str(next(reader)) == "S_view(price=Decimal('1.50'), id=np.int64(1))"


def test_a_transform_changes_rows_and_schema(table: tt.Table) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        row["vector"] *= 2
        row["sum"] = np.float64(row["vector"].sum())
        del row["name"]
        return row

    spec = TransformSpec(change, edit_fields=[edit_field("sum", np.float64, ()), ("vector", np.float32, (4,), False)], removed_fields=["name"])
    with make_reader(table, schema_fields=["id", "vector", "name"], transform_spec=spec, shuffle_row_groups=False) as reader:
        assert list(reader.schema.fields) == ["id", "sum", "vector"]
        for number, row in enumerate(reader):
            assert row._fields == ("id", "sum", "vector") and row.id == number and row.sum == 2 * sum(range(4 * number, 4 * number + 4))
    only = TransformSpec(selected_fields=["vector", "id"])
    with make_reader(table, transform_spec=only) as reader:
        assert next(reader)._fields == ("vector", "id")
    with pytest.warns(UserWarning, match="removed_fields: nope"):
        make_reader(table, transform_spec=TransformSpec(removed_fields=["nope"]))


def test_errors_of_a_transform_name_the_rows(table: tt.Table) -> None:
    broken = TransformSpec(lambda row: {} if row["id"] == 3 else row)
    with pytest.raises(KeyError, match="returned no field `id`"):
        list(make_reader(table, schema_fields=["id"], transform_spec=broken))
    with pytest.raises(TypeError, match="returns a dict, found None"):
        list(make_reader(table, schema_fields=["id"], transform_spec=TransformSpec(lambda row: None)))
    with pytest.raises(KeyError, match="`new` is a new field, and the TransformSpec has no function"):
        make_reader(table, transform_spec=TransformSpec(edit_fields=[("new", np.int64, (), False)]))
    with pytest.raises(RuntimeError, match="it removes all fields"):
        make_reader(table, schema_fields=["id"], transform_spec=TransformSpec(removed_fields=["id"]))
    with pytest.raises(ValueError, match="exclude each other"):
        TransformSpec(removed_fields=["id"], selected_fields=["id"])
    with pytest.raises(ValueError, match="edit_fields: expected"):
        TransformSpec(edit_fields=[("id", np.int64)])
    with pytest.raises(TypeError, match="transform_spec: expected a TransformSpec"):
        make_reader(table, transform_spec=lambda row: row)


def test_a_batch_reader_delivers_arrays(table: tt.Table) -> None:
    with make_batch_reader(table, schema_fields=["id", "name", "maybe", "time", "vector", "blob"], batch_size=90, shuffle_row_groups=False) as reader:
        batches = list(reader)
        assert len(reader) == ROWS and [len(batch.id) for batch in batches] == [90, 90, 20]
    first = batches[0]
    assert (first.name.dtype.kind, first.vector.shape, first.time.dtype) == ("U", (90, 4), "M8[ms]")
    assert first.maybe.dtype == np.float64 and np.isnan(first.maybe[3]) and first.maybe[4] == 4 and first.blob[1] == b"\1\1\1"
    first.vector[:] = 0
    with make_batch_reader(table, schema_fields=["points"], batch_size=90, shuffle_row_groups=False) as reader:
        ragged = next(reader).points
    assert ragged.shape == (90,) and ragged[6] is None and ragged[7].shape == (3, 3) and (ragged[7] == 7).all()
    frames = TransformSpec(lambda frame: frame.assign(points=[np.zeros(6)] * len(frame)), edit_fields=[("points", np.float64, (2, 3), False)])
    with make_batch_reader(table, schema_fields=["id", "points"], transform_spec=frames, batch_size=64) as reader:
        assert next(reader).points.shape == (64, 2, 3)


def test_predicates_of_a_batch_reader_get_pandas_objects(table: tt.Table) -> None:
    def chosen(predicate: Any) -> list[int]:
        with make_batch_reader(table, schema_fields=["id"], predicate=predicate, shuffle_row_groups=False) as reader:
            return [row for batch in reader for row in batch.id.tolist()]

    assert chosen(in_lambda(["id", "year"], lambda id, year: id.isin([3, 60]) & (year == 2001))) == [60]
    assert chosen(in_set([3, 60], "id")) == [3, 60]
    assert chosen(in_negate(in_lambda(["id"], lambda id: id > 1))) == [0, 1]
    assert chosen(in_reduce([in_lambda(["id"], lambda id: id < 3), in_set(["log 0"], "name")], all)) == [0, 1, 2]
    with pytest.raises(ValueError, match="expected one boolean for each"):
        chosen(in_lambda(["id"], lambda id: True))


def test_a_predicate_of_the_user_may_use_payload(table: tt.Table) -> None:
    class Bright(PredicateBase):
        def get_fields(self) -> set[str]:
            return {"vector", "points"}

        def do_include(self, values: dict[str, Any]) -> bool:
            return values["vector"][0] > 400 and values["points"] is not None and len(values["points"]) == 2

    found = ids(make_reader(table, schema_fields=["id"], predicate=in_reduce([Bright(), in_set(range(120), "id")], all), shuffle_row_groups=False))
    assert found == [102, 106, 110, 114]


def test_indexes_of_the_old_data_set_are_names_of_selectors(tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"id": np.arange(6), "maybe": [None, 1, None, 2, 3, None], "tags.x": [["a"], ["b"], [], ["a", "b"], None, ["c"]]}, index=["id", "maybe"])
    build_rowgroup_index(table.url, None, [SingleFieldIndexer("by_tag", "tags_x"), FieldNotNullIndexer("there", "maybe")])

    def chosen(selector: Any) -> list[int]:
        return ids(make_reader(table.url, rowgroup_selector=selector, shuffle_row_groups=False))

    tag, there = SingleIndexSelector("by_tag", ["a"]), SingleIndexSelector("there", ["Field is Not Null"])
    assert (chosen(tag), chosen(there)) == ([0, 3], [1, 3, 4])
    assert (chosen(IntersectIndexSelector([tag, there])), chosen(UnionIndexSelector([tag, there]))) == ([3], [0, 1, 3, 4])
    with pytest.raises(ValueError, match="no index `nope`: .* there are: by_tag, there, id"):
        chosen(SingleIndexSelector("nope", [1]))
    with pytest.raises(KeyError, match="no field `nope`"):
        build_rowgroup_index(table.url, None, [SingleFieldIndexer("x", "nope")])


# Silly arguments and states.


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"schema_fields": ["nope"]}, RuntimeError, r"no field of .* matches \['nope'\]; there are: id, year"),
        ({"schema_fields": []}, RuntimeError, "no field"),
        ({"schema_fields": "id"}, ValueError, "schema_fields: expected a list"),
        ({"schema_fields": 3}, ValueError, "schema_fields: expected a list"),
        ({"schema_fields": [3]}, ValueError, "regular expressions, found int 3"),
        ({"schema_fields": ["("]}, ValueError, r"`\(` is no regular expression"),
        ({"schema_fields": [UnischemaField("nope", np.int64, ())]}, ValueError, "no field `nope`"),
        ({"reader_pool_type": "gpu"}, ValueError, "reader_pool_type `gpu`: expected thread, process or dummy"),
        ({"reader_pool_type": np.array([True, False])}, ValueError, "reader_pool_type .*: expected thread, process or dummy"),
        ({"cache_type": np.array([True, False])}, ValueError, "cache_type .*: expected null or local-disk"),
        ({"storage_options": np.array(5)}, TypeError, "storage_options: expected a dict, found ndarray"),
        ({"schema_fields": np.array(5)}, TypeError, "schema_fields: expected a list, found ndarray"),
        ({"schema_fields": range(10**12)}, tt.Invalid, "schema_fields: found more than 65536 values"),
        ({"workers_count": 0}, tt.Invalid, "workers_count: 0 is outside"),
        ({"workers_count": 2.5}, TypeError, "workers_count: expected an integer"),
        ({"results_queue_size": None}, TypeError, "results_queue_size"),
        ({"seed": -1}, tt.Invalid, "seed: -1 is outside"),
        ({"seed": "7"}, TypeError, "seed: expected an integer"),
        ({"shuffle_rows": 1}, TypeError, "shuffle_rows: expected True or False"),
        ({"shuffle_row_groups": None}, TypeError, "shuffle_row_groups: expected True or False"),
        ({"shuffle_row_drop_partitions": 0}, tt.Invalid, "shuffle_row_drop_partitions: 0"),
        ({"num_epochs": 0}, tt.Invalid, "num_epochs: 0"),
        ({"num_epochs": True}, TypeError, "num_epochs"),
        ({"cur_shard": 0}, ValueError, "belong together"),
        ({"shard_count": 3}, ValueError, "belong together"),
        ({"cur_shard": 3, "shard_count": 3}, tt.Invalid, "cur_shard: 3 is outside: expected 0 to 2"),
        ({"cur_shard": 0, "shard_count": 0}, tt.Invalid, "shard_count: 0"),
        ({"cur_shard": 0, "shard_count": ROWS + 1}, NoDataAvailableError, "201 shards of 200 selected rows"),
        ({"predicate": lambda row: True}, ValueError, "expected a predicate"),
        ({"predicate": in_set([1], "nope")}, KeyError, "predicate: no field `nope`"),
        ({"rowgroup_selector": "id"}, ValueError, "rowgroup_selector: expected a selector"),
        ({"filters": "id=3"}, TypeError, "filters: expected"),
        ({"filters": [("id", "=")]}, ValueError, "filters: expected"),
        ({"filters": [[]]}, ValueError, "filters: expected"),
        ({"filters": [("id", "in", "abc")]}, TypeError, "needs a list of values"),
        ({"filters": [("id", "=", None)]}, TypeError, "expected a value of int64, found None"),
        ({"cache_type": "memory"}, ValueError, "cache_type `memory`: expected null or local-disk"),
        ({"cache_type": np.zeros(2)}, ValueError, "cache_type"),
        ({"reader_pool_type": pd.NA}, ValueError, "reader_pool_type"),
        ({"storage_options": 3}, TypeError, "storage_options: expected a dict"),
        ({"storage_options": np.zeros(2)}, TypeError, "storage_options: expected a dict"),
        ({"cache_type": "local-disk"}, ValueError, "cache_location"),
        ({"cache_type": "local-disk", "cache_location": "x", "cache_size_limit": "many"}, tt.Invalid, "cache_size_limit"),
        ({"storage_options": {"key": "secret"}}, tt.Invalid, "storage_options: the table is open already: pass them to `open_table`"),
        ({"filesystem": object()}, tt.Unsupported, "filesystem"),
        ({"prefetch": -1}, tt.Invalid, "prefetch"),
    ],
)
def test_a_silly_argument_is_an_error_with_a_reason(table: tt.Table, options: dict[str, Any], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason) as raised:
        make_reader(table, **options)
    assert isinstance(raised.value, tt.Error) and "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "error", "reason"),
    [
        (None, TypeError, "dataset_url"), (3, TypeError, "dataset_url"), ([], ValueError, "empty list"), (["/no/table", 3], tt.NotFound, "no/table"),
        ("hdfs://host/data", tt.Unsupported, "not read from hdfs"), ("/no/such/table", tt.NotFound, "no/such/table"), ("", tt.Error, "no table|no manifest|empty"),
        ("ftp://host/data", tt.Error, "ftp"),
    ],
)  # fmt: skip
def test_a_silly_url_is_an_error_with_a_reason(url: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        make_reader(url)


def test_no_row_selected_is_a_warning_and_no_loop(table: tt.Table) -> None:
    with pytest.warns(UserWarning, match="no row of"):
        reader = make_reader(table, predicate=in_set([-1], "id"), num_epochs=None, cur_shard=0, shard_count=5)
    assert len(reader) == 0 and list(reader) == [] and reader.last_row_consumed
    with pytest.raises(tt.Invalid, match="no rows"):
        reader.seek(0)


def test_a_reader_that_is_stopped_while_it_reads_says_so(table: tt.Table) -> None:
    def stop(row: dict[str, Any]) -> dict[str, Any]:
        reader.stop()
        return row

    reader = make_reader(table, schema_fields=["id"], transform_spec=TransformSpec(stop), shuffle_row_groups=False)
    with pytest.raises(RuntimeError, match="the reader was stopped"):
        next(reader)


def test_a_stopped_reader_says_so_and_reset_starts_again(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=["id"], num_epochs=2, seed=1)
    first = [int(row.id) for row in reader]
    assert reader.last_row_consumed and list(reader) == []
    reader.reset()
    second = [int(row.id) for row in reader]
    assert len(second) == 2 * ROWS and second[:ROWS] not in (first[:ROWS], first[ROWS:])
    reader.reset()
    next(reader)
    reader.reset()
    assert len(list(reader)) == 2 * ROWS
    with reader:
        pass
    with pytest.raises(RuntimeError, match="the reader was stopped"):
        next(reader)


def test_a_state_of_something_else_is_an_error(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=["id"])
    other = make_reader(table, schema_fields=["id"], predicate=in_set([1, 2], "id"))
    for wrong in (None, {}, {"format": 1}, 3, {"format": 1, "loader": {}}, other.state_dict(), {**reader.state_dict(), "end": "x"}):
        with pytest.raises(tt.Invalid):
            reader.load_state_dict(wrong)


def test_a_damaged_row_is_an_error_and_the_loop_can_go_on(tmp_path: Path) -> None:
    from conftest import damaged_table

    reader = make_reader(damaged_table(tmp_path), schema_fields=["i", "a_raw"], shuffle_row_groups=False)
    reader._settings["batch_size"] = 1
    reader._start()
    found, errors = [], 0
    while not reader.last_row_consumed:
        try:
            found.append(int(next(reader).i))
        except tt.Corrupt:
            errors += 1
        except StopIteration:
            break
    assert errors == 1 and len(found) == 11


def test_readers_of_threads_do_not_disturb_each_other(table: tt.Table) -> None:
    results: dict[int, list[int]] = {}

    def work(seed: int) -> None:
        results[seed] = ids(make_reader(table, schema_fields=["id", "png"], seed=seed, num_epochs=2))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(Counter(found) == Counter([*range(ROWS)] * 2) for found in results.values()) and len(results) == 4


@given(values=st.lists(st.one_of(st.none(), st.integers(-50, 50), st.floats(allow_nan=False), st.text(max_size=3), st.booleans()), max_size=8))
def test_in_set_accepts_what_the_row_by_row_rule_accepts(table: tt.Table, values: list[Any]) -> None:
    for field in ("id", "maybe", "name"):
        predicate = in_set(values, field)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with make_reader(table, schema_fields=["id", field], shuffle_row_groups=False) as reader:
                expected = [int(row.id) for row in reader if predicate.do_include(row._asdict())]
            assert ids(make_reader(table, schema_fields=["id"], predicate=predicate, shuffle_row_groups=False)) == expected


@pytest.mark.parametrize("wrong", [-1, 3, 10, 1.5, "1", True, None, np.timedelta64(1, "s"), float("nan")])
def test_a_split_has_only_its_parts(wrong: Any) -> None:
    with pytest.raises(ValueError, match="outside 0..3"):
        in_pseudorandom_split([0.5, 0.2, 0.3], wrong, "id")


def reader_of(**options: Any) -> Any:
    return lambda table: make_reader(table, schema_fields=["id"], **options)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda table: WeightedSamplingReader(5, [1, 1]), "readers: expected a list"),  # type: ignore[arg-type]
        (lambda table: WeightedSamplingReader([1, 2], [1, 1]), "readers: expected what make_reader"),
        (lambda table: WeightedSamplingReader([make_reader(table)] * 2, 5), "probabilities: expected a list"),  # type: ignore[arg-type]
        (lambda table: WeightedSamplingReader([make_reader(table)] * 2, range(10**12)), "probabilities: found more than 2"),
        (lambda table: in_set("abc", "name"), "inclusion_values: expected a list, found str"),
        (lambda table: in_set(5, "id"), "inclusion_values: expected a list"),  # type: ignore[arg-type]
        (lambda table: in_set([1], ["id"]), "predicate_field: expected text"),  # type: ignore[arg-type]
        (lambda table: in_lambda([["id"]], len), "predicate_fields: expected text"),  # type: ignore[list-item]
        (lambda table: in_set([[1]], "id"), "inclusion_values: expected numbers, text and other scalars"),
        (lambda table: in_set(range(10**12), "id"), "inclusion_values: found more than"),
        (lambda table: in_pseudorandom_split(5, 0, "id"), "fraction_list: expected a list"),  # type: ignore[arg-type]
        (lambda table: in_pseudorandom_split(["a"], 0, "id"), "fraction_list: expected a number"),  # type: ignore[list-item]
        (lambda table: in_pseudorandom_split([0.5, float("nan")], 0, "id"), "fraction_list: expected a number, found NaN"),
        (lambda table: in_pseudorandom_split([0.8, 0.8], 0, "id"), "fraction_list: expected shares"),
        (lambda table: SingleIndexSelector(None, [1]), "index_name: expected text"),  # type: ignore[arg-type]
        (lambda table: SingleIndexSelector("id", "abc"), "values_list: expected a list"),
        (lambda table: SingleIndexSelector("id", [{}]), "values_list: expected numbers, text"),
        (lambda table: UnionIndexSelector(5), "UnionIndexSelector: expected a list"),  # type: ignore[arg-type]
        (lambda table: TransformSpec(edit_fields=5), "edit_fields: expected a list"),  # type: ignore[arg-type]
        (lambda table: TransformSpec(removed_fields="id"), "removed_fields: expected a list"),
        (lambda table: TransformSpec(selected_fields=[5]), "selected_fields: expected text"),  # type: ignore[list-item]
        (lambda table: CompressedImageCodec(5), "image_codec: expected text"),  # type: ignore[arg-type]
        (lambda table: Unischema("s", 5), "fields: expected a list"),  # type: ignore[arg-type]
        (lambda table: Unischema("s", ["id"]), "fields: expected UnischemaField"),  # type: ignore[list-item]
        (reader_of(seed=np.timedelta64(1, "s")), "seed: expected an integer, found timedelta64"),
        (reader_of(filters=[("id", "<", np.complex64(1))]), "expected a value of int64"),
    ],
)
def test_what_selects_rows_is_checked_when_it_is_made(table: tt.Table, make: Any, reason: str) -> None:
    with pytest.raises(tt.Invalid, match=reason):
        make(table)


def test_a_refused_state_moves_no_reader_of_a_mix(table: tt.Table) -> None:
    def mix() -> WeightedSamplingReader:
        return WeightedSamplingReader([make_reader(table, schema_fields=["id"], seed=seed, num_epochs=None) for seed in (1, 2)], [1, 1], seed=3)

    moved, mixed, same = mix(), mix(), mix()
    for _ in range(30):
        next(moved)
    state = moved.state_dict()
    wrong: list[Any] = [5, {}, {"readers": 5}, {"readers": [5, 6]}, {**state, "random": 5}, {**state, "random": {}}, {**state, "readers": [state["readers"][0], {}]}]
    for one in wrong:
        with pytest.raises(tt.Invalid):
            mixed.load_state_dict(one)
    assert [next(mixed).id for _ in range(50)] == [next(same).id for _ in range(50)]
    mixed.load_state_dict(state)
    assert [next(mixed).id for _ in range(50)] == [next(moved).id for _ in range(50)]


def test_a_schema_is_what_user_code_expects() -> None:
    schema = Unischema("Scan", [UnischemaField("id", np.int64, ()), UnischemaField("points", np.float32, (None, 3), None, True)])
    assert schema.id.name == "id" and list(schema.fields) == ["id", "points"]
    assert schema.make_namedtuple(id=1, points=None)._fields == ("id", "points")
    assert schema._get_namedtuple() is schema._get_namedtuple()
    assert UnischemaField("a", np.int8, (), 1, False) == UnischemaField("a", np.int8, (), 2, False) != UnischemaField("b", np.int8, (), 1, False)
    with pytest.raises(AttributeError, match="no field `nope`"):
        _ = schema.nope
    with pytest.raises(ValueError, match="two fields are called `a`"):
        Unischema("S", [UnischemaField("a", np.int8, ()), UnischemaField("a", np.int16, ())])
    with pytest.warns(UserWarning, match="is a method"):
        Unischema("S", [UnischemaField("fields", np.int8, ())])


def test_null_elements_are_nan_or_refused(tmp_path: Path) -> None:
    columns = {
        "id": [0, 1],
        "floats": np.ma.masked_array([[1.5, 2.5], [3.5, 4.5]], [[0, 0], [1, 0]]),
        "ragged": [[0.5], [None]],
        "whole": [[1], [2, None]],
        "doubles": [[0.5, 1.5], [None, 2.5]],
        "counts": [[1], [2, None]],
    }
    schema = {"petastorm.schema": {"name": "S", "fields": ["doubles", "counts"]}}
    table = tt.write_table(tmp_path / "t", columns, index="id", schema={"doubles": "list<f64>", "counts": "list<i32>"}, properties=schema)
    kind = {"petastorm.shape": [None], "petastorm.nullable": True, "petastorm.codec": None}
    table = table.edit(column_properties={"doubles": {"petastorm.dtype": "float64", **kind}, "counts": {"petastorm.dtype": "int32", **kind}})
    with make_reader(table, schema_fields=["floats", "ragged"], shuffle_row_groups=False) as reader:
        rows = [(row.floats, row.ragged) for row in reader]
    np.testing.assert_array_equal([floats for floats, _ in rows], [[1.5, 2.5], [np.nan, 4.5]])
    np.testing.assert_array_equal([ragged for _, ragged in rows], [[0.5], [np.nan]])
    assert not any(isinstance(value, np.ma.MaskedArray) for row in rows for value in row)
    with make_reader(table, schema_fields=["doubles"], shuffle_row_groups=False) as reader:
        doubles = [row.doubles for row in reader]
    np.testing.assert_array_equal(doubles, [[0.5, 1.5], [np.nan, 2.5]])
    assert all(type(row) is np.ndarray and row.dtype == np.float64 for row in doubles)
    for name in ("whole", "counts"):
        with make_reader(table, schema_fields=[name], shuffle_row_groups=False) as reader:
            with pytest.raises(tt.Unsupported, match=f"column `{name}`, row 1 of those read: the element at .1. is null, and Petastorm has no null"):
                list(reader)
