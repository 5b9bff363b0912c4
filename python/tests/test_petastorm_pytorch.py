"""The PyTorch loaders of `tetrys.petastorm`: promotions and collation of Petastorm, and length, state and n-grams."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import tetrys as tt
import torch
from hypothesis import given
from hypothesis import strategies as st
from tetrys.petastorm import TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.ngram import NGram
from tetrys.petastorm.predicates import in_lambda
from tetrys.petastorm.pytorch import BatchedDataLoader, DataLoader, InMemBatchedDataLoader, decimal_friendly_collate
from tetrys.petastorm.weighted_sampling_reader import WeightedSamplingReader

pytestmark = pytest.mark.torch

ROWS = 50


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    data = {
        "id": np.arange(ROWS, dtype=np.int64),
        "odd": np.arange(ROWS) % 2 == 1,
        "name": [f"row {row}" for row in range(ROWS)],
        "price": [f"{row}.50" for row in range(ROWS)],
        "maybe": [None if row == 9 else row for row in range(ROWS)],
        "u16": np.full((ROWS, 2), 2**16 - 1, np.uint16),
        "u32": np.full((ROWS, 2), 2**32 - 1, np.uint32),
        "i8": np.full((ROWS, 2), -7, np.int8),
        "flags": np.ones((ROWS, 3), bool),
        "image": np.arange(ROWS * 12, dtype=np.uint8).reshape(ROWS, 2, 2, 3),
        "words": [["a", "b"]] * ROWS,
    }
    url = str(tmp_path_factory.mktemp("torch") / "t")
    groups = {name: [name] for name in ("u16", "u32", "i8", "flags", "image", "words")}
    index = ["id", "odd", "name", "price", "maybe"]
    properties = {"petastorm.schema": {"name": "S", "fields": list(data)}}
    table = tt.write_table(url, data, index=index, groups=groups, schema={"words": "list<utf8>"}, properties=properties)
    dtypes = {"id": "int64", "odd": "bool_", "name": "str_", "price": "Decimal", "maybe": "int64", "u16": "uint16", "u32": "uint32", "i8": "int8", "flags": "bool_", "image": "uint8", "words": "str_"}
    shapes = {"u16": [2], "u32": [2], "i8": [2], "flags": [3], "image": [2, 2, 3], "words": [None]}
    return table.edit(
        column_properties={name: {"petastorm.dtype": kind, "petastorm.shape": shapes.get(name, []), "petastorm.nullable": True} for name, kind in dtypes.items()}
    )


TENSORS = ["id", "odd", "u16", "u32", "i8", "flags", "image"]
EXPECTED = {"id": torch.int64, "odd": torch.uint8, "u16": torch.int32, "u32": torch.int64, "i8": torch.int8, "flags": torch.uint8, "image": torch.uint8}


@pytest.mark.parametrize("make", [make_reader, make_batch_reader])
@pytest.mark.parametrize("kind", [DataLoader, BatchedDataLoader])
def test_types_are_promoted_as_petastorm_does(table: tt.Table, make: Any, kind: Any) -> None:
    with kind(make(table, schema_fields=TENSORS, shuffle_row_groups=False), batch_size=16) as loader:
        batches = list(loader)
        assert len(loader) == len(batches) == 4
    assert [len(batch["id"]) for batch in batches] == [16, 16, 16, 2]
    assert {name: values.dtype for name, values in batches[0].items()} == EXPECTED
    assert torch.cat([batch["id"] for batch in batches]).tolist() == list(range(ROWS))
    assert batches[0]["u16"].max() == 2**16 - 1 and batches[0]["u32"].max() == 2**32 - 1 and batches[0]["i8"].min() == -7
    assert batches[3]["image"].tolist() == np.arange(ROWS * 12, dtype=np.uint8).reshape(ROWS, 2, 2, 3)[48:].tolist()


def test_text_and_decimals_stay_lists_and_nulls_are_errors(table: tt.Table) -> None:
    with DataLoader(make_reader(table, schema_fields=["name", "price"], shuffle_row_groups=False), batch_size=2) as loader:
        batch = next(iter(loader))
    assert batch == {"name": ["row 0", "row 1"], "price": [Decimal("0.50"), Decimal("1.50")]}
    loader = DataLoader(make_reader(table, schema_fields=["maybe"]), batch_size=4)
    with pytest.raises(TypeError, match="field `maybe` is None"):
        list(loader)
    with pytest.raises(RuntimeError, match="the loop before failed"):
        list(loader)
    for kind in (DataLoader, BatchedDataLoader):
        with pytest.raises(TypeError, match="field `words`: PyTorch has no arrays of text"):
            list(kind(make_reader(table, schema_fields=["words"])))
    with pytest.raises(TypeError, match="field `name`: PyTorch has no arrays of text"):
        list(BatchedDataLoader(make_reader(table, schema_fields=["name"])))
    there = in_lambda(["maybe"], lambda maybe: maybe is not None)
    assert sum(len(batch["maybe"]) for batch in DataLoader(make_reader(table, schema_fields=["maybe"], predicate=there), batch_size=4)) == ROWS - 1


def test_a_collate_function_gets_samples(table: tt.Table) -> None:
    loader = DataLoader(make_reader(table, schema_fields=["id", "name"], shuffle_row_groups=False), batch_size=3, collate_fn=lambda samples: samples)
    assert next(iter(loader)) == [{"id": row, "name": f"row {row}"} for row in range(3)]
    assert decimal_friendly_collate([[Decimal(1), 2], [Decimal(3), 4]])[0] == (Decimal(1), Decimal(3))


@pytest.mark.parametrize("kind", [DataLoader, BatchedDataLoader])
def test_ngrams_become_tensors_of_each_offset(table: tt.Table, kind: Any) -> None:
    ngram = NGram({0: ["id", "image"], 1: ["id", "u16"]}, 1, "id")
    with kind(make_reader(table, schema_fields=ngram, shuffle_row_groups=False), batch_size=20) as loader:
        batches = list(loader)
        assert len(loader) == 3
    assert [len(batch[0]["id"]) for batch in batches] == [20, 20, 9]
    assert batches[0][0]["image"].shape == (20, 2, 2, 3) and batches[0][1]["u16"].dtype == torch.int32
    assert batches[1][1]["id"].tolist() == list(range(21, 41))
    padded = NGram({0: ["id"], 1: ["id"]}, 1, "id", padding="null")
    with pytest.raises(TypeError, match='no row at offset 1.* use padding="repeat"'):
        list(kind(make_reader(table, schema_fields=padded)))
    repeated = NGram({0: ["id"], 1: ["id"]}, 1, "id", padding="repeat")
    assert sum(len(batch[1]["id"]) for batch in kind(make_reader(table, schema_fields=repeated), batch_size=7)) == ROWS


@given(data=st.data(), size=st.integers(1, 60), epochs=st.integers(1, 3), batched=st.booleans(), kind=st.sampled_from([DataLoader, BatchedDataLoader]))
def test_a_state_continues_exactly_behind_the_last_batch(table: tt.Table, data: st.DataObject, size: int, epochs: int, batched: bool, kind: Any) -> None:
    def loader(seed: int) -> Any:
        options: dict[str, Any] = {"schema_fields": ["id"], "seed": seed, "num_epochs": epochs}
        return kind(make_batch_reader(table, batch_size=13, **options) if batched else make_reader(table, **options), batch_size=size)

    whole = loader(5)
    batches = iter(whole)
    taken = data.draw(st.integers(0, len(whole)))
    before = [row for _ in range(taken) for row in next(batches)["id"].tolist()]
    state = json.loads(json.dumps(whole.state_dict()))
    again = loader(6)
    again.load_state_dict(state)
    left = [row for batch in batches for row in batch["id"].tolist()]
    assert [row for batch in again for row in batch["id"].tolist()] == left
    assert sorted(before + left) == sorted([*range(ROWS)] * epochs)


def test_a_shuffling_queue_mixes_rows_of_a_reader_that_keeps_their_order(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=["id"], shuffle_row_groups=False, seed=1)
    order = [row for batch in DataLoader(reader, batch_size=8, shuffling_queue_capacity=16) for row in batch["id"].tolist()]
    assert sorted(order) == list(range(ROWS)) != order


def test_another_loop_starts_again_and_two_at_once_are_an_error(table: tt.Table) -> None:
    loader = DataLoader(make_reader(table, schema_fields=["id"], seed=2), batch_size=8)
    first, second = ([row for batch in loader for row in batch["id"].tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) and first != second
    running = iter(loader)
    next(running)
    with pytest.raises(RuntimeError, match="another loop over this loader"):
        next(iter(loader))
    with pytest.raises(RuntimeError, match="another loop over this loader"):
        loader.load_state_dict(loader.state_dict())


@pytest.mark.parametrize("make", [make_reader, make_batch_reader])
def test_rows_in_memory_have_the_order_of_petastorm(table: tt.Table, make: Any) -> None:
    loader = InMemBatchedDataLoader(
        make(table, schema_fields=["id", "image"], shuffle_row_groups=False), batch_size=8, num_epochs=2, seed=3, rows_capacity=20, shuffle=True
    )
    assert len(loader) == 6
    found = [row for batch in loader for row in batch["id"].tolist()]
    expected = [row for epoch in range(2) for row in torch.randperm(20, generator=torch.Generator().manual_seed(3 + epoch)).tolist()]
    assert found == expected
    with pytest.raises(RuntimeError, match="iterated once"):
        list(loader)


def test_a_mix_of_readers_feeds_a_loader(table: tt.Table) -> None:
    readers = [make_reader(table, schema_fields=["id"], num_epochs=None, seed=seed) for seed in (1, 2)]
    loader = DataLoader(WeightedSamplingReader(readers, [1, 1], seed=3), batch_size=8)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    expected = next(batches)["id"].tolist()
    readers = [make_reader(table, schema_fields=["id"], num_epochs=None, seed=seed) for seed in (5, 6)]
    again = DataLoader(WeightedSamplingReader(readers, [1, 1], seed=4), batch_size=8)
    again.load_state_dict(state)
    assert next(iter(again))["id"].tolist() == expected
    with pytest.raises(TypeError, match="no length"):
        len(loader)
    with pytest.raises(ValueError, match="some deliver rows"):
        WeightedSamplingReader([make_reader(table), make_batch_reader(table)], [1, 1])
    for wrong in ([1], [1, -1], [0, 0], [1, float("nan")], ["a", "b"]):
        with pytest.raises(ValueError, match="probabilities"):
            WeightedSamplingReader(readers, wrong)


def test_silly_arguments_are_errors(table: tt.Table) -> None:
    reader = make_reader(table, schema_fields=["id"])
    for arguments in ((None, 4), (iter([]), 4), (reader, 0), (reader, 2.5), (reader, None), (reader, True)):
        for kind in (DataLoader, BatchedDataLoader, InMemBatchedDataLoader):
            with pytest.raises(tt.Invalid):
                kind(*arguments)
    with pytest.raises(tt.Invalid, match="shuffling_queue_capacity"):
        DataLoader(reader, 4, shuffling_queue_capacity=-1)
    with pytest.raises(tt.Invalid, match="rows_capacity"):
        InMemBatchedDataLoader(reader, rows_capacity=0)


def test_transformed_rows_are_collated(table: tt.Table) -> None:
    spec = TransformSpec(lambda row: {"id": row["id"], "mean": np.float32(row["image"].mean())}, [("mean", np.float32, (), False)], ["image"])
    with BatchedDataLoader(make_reader(table, schema_fields=["id", "image"], transform_spec=spec), batch_size=25, transform_fn=torch.tensor) as loader:
        assert [tuple(batch["mean"].shape) for batch in loader] == [(25,), (25,)]


def test_a_loader_of_a_reader_without_a_state_delivers_and_cannot_be_saved() -> None:
    from tetrys.petastorm.test_util.reader_mock import ReaderMock, schema_data_generator_example
    from tetrys.petastorm.unischema import Unischema, UnischemaField

    mocks = [ReaderMock(Unischema("S", [UnischemaField("x", np.float32, (3,))]), schema_data_generator_example) for _ in range(2)]
    for reader in (mocks[0], WeightedSamplingReader(mocks, [1, 1])):
        loader = DataLoader(reader, batch_size=4)
        assert tuple(next(iter(loader))["x"].shape) == (4, 3)
        with pytest.raises(RuntimeError, match="a ReaderMock has no state"):
            loader.state_dict()
