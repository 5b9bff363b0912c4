"""Arguments of the adapters: each silly value of each argument is an error of Tetrys that says what was expected, or has a meaning. The
adapters of TensorFlow, JAX, Ray, Spark and Daft are tried in the files of their own tests.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tetrys as tt
from silly import SILLY, wrong_answers
from tetrys import cluster
from tetrys.petastorm import make_batch_reader, make_reader
from tetrys.petastorm.spark import SparkDatasetConverter, make_spark_converter
from tetrys.petastorm.spark.spark_dataset_converter import register_delete_dir_handler
from tetrys.petastorm.spark_utils import dataset_as_rdd

Call = tuple[Callable[..., object], dict[str, Any]]
ROWS = {"i": [1], "x": [1.5]}


def plan() -> cluster.WritePlan:
    """Starts a session of one partition below the working folder."""
    return cluster.plan_write(uuid.uuid4().hex, schema={"i": "i64", "x": "f32"}, index="i", partitions=1)


def replaced(one: Any, given: dict[str, Any]) -> Any:
    """Returns a plan or a split with some fields replaced, as by a caller who stores the fields in another format."""
    return dataclasses.replace(one, **given)


def committed() -> Call:
    session = plan()
    return cluster.commit, {"plan": session, "receipts": [cluster.write(session.task(0), ROWS)]}


CALLS_OF_CLUSTER: dict[str, Callable[[str], Call]] = {
    "plan_write": lambda drives: (cluster.plan_write, {
        "url": "w", "schema": {"i": "i64", "x": "f32"}, "index": ["i"], "mode": "create", "partitions": None, "labels": None, "groups": None, "sequence_by": (),
        "order_by": (), "units": None, "preset": None, "presets": None, "required": (), "bloom_filters": (), "properties": None, "write_memory": None,
        "reference": (), "reuse": "auto", "locality": None, "allow": (), "allow_unpinned": False, "storage_options": None,
    }),
    "WritePlan.task": lambda drives: (plan().task, {"number": 0}),
    "write": lambda drives: (cluster.write, {"task": plan().task(0), "batches": ROWS, "progress": None}),
    "write, a batch": lambda drives: (lambda batch: cluster.write(plan().task(0), [ROWS, batch]), {"batch": ROWS}),
    "write, values": lambda drives: (lambda i, x: cluster.write(plan().task(0), {"i": i, "x": x}), ROWS),
    "commit": lambda drives: committed(),
    "abort": lambda drives: (cluster.abort, {"plan": plan()}),
    "found": lambda drives: (cluster.found, {"plan": plan()}),
    "open_sessions": lambda drives: (cluster.open_sessions, {"url": drives}),
    "plan_read": lambda drives: (cluster.plan_read, {"source": drives, "columns": ["timestamp"], "where": None, "splits": 2, "offsets": None}),
    "plan_read, bytes": lambda drives: (cluster.plan_read, {"source": drives, "split_bytes": "1KiB"}),
    "WritePlan": lambda drives: (lambda **given: replaced(plan(), given).task(0), {"url": "w", "session": "s", "partitions": 1, "labels": ["a"], "schema": {}}),
    "ReadSplit.rows": lambda drives: (lambda **given: replaced(cluster.plan_read(drives)[0], given).rows, {"ranges": [(0, 2)]}),
    "read": lambda drives: (lambda **given: list(cluster.read(**given)), {"split": cluster.plan_read(drives, columns=["timestamp"])[0], "batch_bytes": 1000}),
    "read_index": lambda drives: (cluster.read_index, {"split": cluster.plan_read(drives)[0]}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS_OF_CLUSTER)
def test_a_silly_argument_of_cluster_is_an_error_of_tetrys_or_has_a_meaning(drives: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not (wrong := wrong_answers(lambda: CALLS_OF_CLUSTER[name](drives))), "\n".join(wrong)


def test_a_size_that_no_machine_has_is_refused(drives: str) -> None:
    for wrong in ("9" * 400 + "TB", "99999999999999TB"):
        with pytest.raises(ValueError, match="split_bytes: .* is too large: expected less than 2\\*\\*63 bytes"):
            cluster.plan_read(drives, split_bytes=wrong)


def test_a_split_is_read_by_ranges_that_went_through_json(drives: str) -> None:
    [split] = cluster.plan_read(drives, columns=["timestamp"], splits=1)
    split = replaced(split, {"ranges": json.loads(json.dumps([(3, 5)]))})
    assert [batch.to_pydict() for batch in cluster.read(split)] == [{"timestamp": [300, 400]}]
    assert (split.rows, cluster.read_index(split)["timestamp"].to_pylist()) == (2, [300, 400])


class Session:
    """Has what Petastorm's code uses of a Spark session. As a class, it is no session."""

    @property
    def sparkContext(self) -> Any:
        raise AssertionError("nothing runs")


def test_a_silly_argument_of_the_spark_parts_of_petastorm_is_refused_before_spark_starts(drives: str) -> None:
    for value in [*(make() for make in SILLY.values()), tt.open_table(drives), Session, [drives]]:
        if not isinstance(value, (str, Path)):
            with pytest.raises(TypeError, match="df: expected a DataFrame or a URL, found"):
                make_spark_converter(value)
        with pytest.raises(TypeError, match="spark_session: expected a Spark session with a SparkContext, found"):
            dataset_as_rdd(drives, value)
        if value is not None and not callable(value):
            with pytest.raises(TypeError, match="handler: expected a function of a URL, found"):
                register_delete_dir_handler(value)


def test_an_rdd_has_the_rows_of_one_whole_table(drives: str) -> None:
    session = SimpleNamespace(sparkContext=SimpleNamespace(parallelize=lambda *_: pytest.fail("a job was made"), defaultParallelism=1))
    for wrong in (tt.read_index(drives)[5:9], [drives, drives]):
        with pytest.raises(TypeError, match="dataset_url: expected the URL or path of one table, found"):
            dataset_as_rdd(wrong, session)


def reader(drives: str) -> Any:
    return make_reader(drives, schema_fields=["timestamp"], shuffle_row_groups=False)


def test_a_state_without_its_end_is_refused_and_moves_nothing(drives: str) -> None:
    first = reader(drives)
    state = {**first.state_dict(), "loader": {**first.state_dict()["loader"], "offset": 5}}
    without = {name: value for name, value in state.items() if name != "end"}
    for wrong in (without, {**state, "end": "x"}, {**state, "end": -1}):
        with pytest.raises(tt.Invalid, match="a state is the dict|its last epoch"):
            first.load_state_dict(wrong)
    assert len(list(first)) == 20


# --- PyTorch


def batches(drives: str) -> Any:
    return make_batch_reader(drives, schema_fields=["timestamp"], shuffle_row_groups=False)


def calls_of_torch(drives: str) -> dict[str, Callable[[], Call]]:
    """Returns the good arguments of each public call of the adapters for PyTorch."""
    import torch
    from tetrys.petastorm import pytorch
    from tetrys.torch import Dataset, IterableDataset

    table = tt.open_table(drives)
    samples = Dataset(table, columns=["camera.intrinsics", "lidar.points"])
    loader = tt.DataLoader(table, batch_size=4, columns=["camera.intrinsics"])

    def three(batches: Any) -> list[Any]:
        return [batch for batch, _ in zip(batches, range(3), strict=False)]

    def converted(**given: Any) -> Any:
        with SparkDatasetConverter(drives, [drives], 20).make_torch_dataloader(schema_fields=["timestamp"], num_epochs=1, **given) as made:
            # It is what `data_loader_fn` returned.
            return three(made) if isinstance(made, Iterable) else made

    made: dict[str, Callable[[], Call]] = {
        "Dataset": lambda: (Dataset, {"source": table, "columns": ["camera.*"], "offsets": None, "decode": None, "ragged": "list"}),
        "Dataset.__getitem__": lambda: (samples.__getitem__, {"position": 0}),
        "Dataset.__getitems__": lambda: (samples.__getitems__, {"positions": [0, 1]}),
        "IterableDataset": lambda: (IterableDataset, {"loader": loader}),
        "IterableDataset.set_epoch": lambda: (IterableDataset(loader).set_epoch, {"epoch": 1}),
        "IterableDataset.load_state_dict": lambda: (IterableDataset(loader).load_state_dict, {"state": loader.state_dict()}),
        "DataLoader": lambda: (
            lambda **given: three(pytorch.DataLoader(**given)),
            {"reader": reader(drives), "batch_size": 4, "collate_fn": pytorch.decimal_friendly_collate, "shuffling_queue_capacity": 0},
        ),
        "BatchedDataLoader": lambda: (
            lambda **given: three(pytorch.BatchedDataLoader(**given)), {"reader": batches(drives), "batch_size": 4, "transform_fn": torch.as_tensor, "shuffling_queue_capacity": 0}
        ),
        "InMemBatchedDataLoader": lambda: (
            lambda **given: three(pytorch.InMemBatchedDataLoader(**given)),
            {"reader": batches(drives), "batch_size": 4, "transform_fn": torch.as_tensor, "num_epochs": 1, "seed": 0, "rows_capacity": 100, "shuffle": True},
        ),
        "load_state_dict": lambda: (pytorch.DataLoader(reader(drives), 4).load_state_dict, {"state": pytorch.DataLoader(reader(drives), 4).state_dict()}),
        "decimal_friendly_collate": lambda: (pytorch.decimal_friendly_collate, {"batch": [{"a": 1}, {"a": 2}]}),
        "decimal_friendly_collate, values": lambda: (lambda **given: pytorch.decimal_friendly_collate([given, given]), {"a": 1}),
        "make_torch_dataloader": lambda: (converted, {"batch_size": 4, "shuffling_queue_capacity": 0, "data_loader_fn": pytorch.DataLoader}),
    }  # fmt: skip
    for ragged in ("list", "pad", "offsets"):
        collating = Dataset(table, columns=["camera.intrinsics", "lidar.points"], ragged=ragged)  # type: ignore[arg-type]
        made[f"Dataset.collate, {ragged}"] = lambda collating=collating: (collating.collate, {"samples": collating.__getitems__([0, 1])})  # type: ignore[misc]
    return made


@pytest.mark.torch
def test_a_silly_argument_of_pytorch_is_an_error_of_tetrys_or_has_a_meaning(drives: str) -> None:
    for name, make in calls_of_torch(drives).items():
        assert not (wrong := wrong_answers(make)), f"{name}\n" + "\n".join(wrong)


@pytest.mark.torch
def test_samples_of_other_data_sets_are_not_collated(drives: str) -> None:
    import torch
    from tetrys.torch import Dataset

    samples = Dataset(tt.open_table(drives), columns=["camera.intrinsics", "lidar.points"], ragged="pad")
    one, two = samples.__getitems__([0, 1])
    with pytest.raises(TypeError, match="samples: one lacks `lidar.points` of the first one: expected samples of one data set"):
        samples.collate([one, {"camera.intrinsics": one["camera.intrinsics"]}])
    with pytest.raises(TypeError, match="samples, column `camera.intrinsics`: PyTorch cannot stack the values"):
        samples.collate([one, {**two, "camera.intrinsics": torch.zeros(2)}])
    with pytest.raises(TypeError, match="samples: expected samples of this data set, found dict_keys"):
        samples.collate([one.keys()])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="samples, column `lidar.points`: expected tensors of 2 dimensions"):
        samples.collate([one, {**two, "lidar.points": torch.zeros(3)}])


@pytest.mark.torch
def test_rows_of_different_shapes_are_not_joined(drives: str) -> None:
    from tetrys.petastorm.pytorch import BatchedDataLoader

    loader = BatchedDataLoader(make_reader(drives, schema_fields=["lidar_points"], shuffle_row_groups=False), batch_size=3)
    with pytest.raises(RuntimeError, match="field `lidar_points`: numpy cannot join values of different shapes"):
        next(iter(loader))


@pytest.mark.torch
def test_samples_of_several_kinds_are_not_collated() -> None:
    from tetrys.petastorm.pytorch import decimal_friendly_collate

    for wrong in (range(10**12), {"b": 1}, "x"):
        with pytest.raises(TypeError, match="batch: expected samples as the first one, int 1, found"):
            decimal_friendly_collate([{"a": 1}, {"a": wrong}])


@pytest.mark.torch
def test_what_a_function_makes_of_rows_in_memory_has_an_entry_for_each(drives: str) -> None:
    from tetrys.petastorm.pytorch import InMemBatchedDataLoader

    for made in (1, None, [1] * 20):
        with pytest.raises(TypeError, match="transform_fn, field `timestamp`: expected an array or a tensor with an entry for each row, found"):
            InMemBatchedDataLoader(batches(drives), transform_fn=lambda array, made=made: made)  # type: ignore[misc]


@pytest.mark.torch
def test_a_tensor_that_numpy_does_not_take_is_no_position(drives: str) -> None:
    import torch
    from tetrys.torch import Dataset

    samples = Dataset(tt.open_table(drives), columns=["camera.*"])
    for wrong in (torch.ones(1, requires_grad=True), torch.ones(1, dtype=torch.bfloat16), torch.ones(1, device="meta"), torch.eye(3).to_sparse()):
        with pytest.raises(TypeError, match="rows are chosen by integers or a mask of booleans"):
            samples[wrong]
