"""Data sets for TensorFlow: the values of the loader, every column type, windows, states, errors, and a model that trains.

`.ci/full` runs this file; where TensorFlow is not installed, it is not collected (`conftest.py`).
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
import tetrys as tt
import tetrys.tensorflow
from conftest import ROWS, damaged_table, picture
from silly import SILLY, wrong_answers

KINDS: dict[str, Any] = {
    "n.bool": np.arange(ROWS) % 3 == 0,
    **{f"n.{kind}": np.arange(ROWS, dtype=kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")},
    "n.brain": np.arange(ROWS).astype(ml_dtypes.bfloat16),
    "n.matrix": np.arange(ROWS * 6, dtype=np.float32).reshape(ROWS, 2, 3),
    "n.brains": np.arange(ROWS * 2).reshape(ROWS, 2).astype(ml_dtypes.bfloat16),
    "t.date": np.arange(ROWS).astype("M8[D]"),
    "t.zoned": np.arange(ROWS).astype("M8[us]"),
    "t.span": np.arange(ROWS).astype("m8[ms]"),
    "s.text": [f"ü{row}\0" for row in range(ROWS)],
    "s.class": ["car", "bus"] * (ROWS // 2),
    "s.bytes": [bytes([row, 0]) * (row % 3) for row in range(ROWS)],
    "s.texts": [["a", "", "ß"][: row % 4] for row in range(ROWS)],
    "r.numbers": [list(range(row % 4)) for row in range(ROWS)],
    "r.points": [np.full((row % 3, 4), row, np.float32) for row in range(ROWS)],
    "r.maps": [np.full((row % 3, 5 - row % 4, 2), row, np.float16) for row in range(ROWS)],
    "r.rows": [np.full((3, row % 3), row, np.int8) for row in range(ROWS)],
    "r.between": [np.full((row % 3, 2, row % 2), row, np.uint8) for row in range(ROWS)],
    "r.brains": [np.full((row % 3, 2), row, ml_dtypes.bfloat16) for row in range(ROWS)],
}
TYPES = {"t.zoned": "timestamp[us,UTC]", "s.class": "categorical", "r.maps": "f16[?,?,2]", "r.rows": "i8[3,?]", "r.between": "u8[?,2,?]"}
EXPECTED = {
    "n.bool": ([], tf.bool), "n.i1": ([], tf.int8), "n.u8": ([], tf.uint64), "n.f2": ([], tf.float16), "n.brain": ([], tf.bfloat16),
    "n.matrix": ([2, 3], tf.float32), "t.date": ([], tf.int64), "t.zoned": ([], tf.int64), "s.class": ([], tf.string),
    "s.bytes": ([], tf.string), "s.texts": ([None], tf.string), "r.numbers": ([None], tf.int64), "r.points": ([None, 4], tf.float32),
    "r.maps": ([None, None, 2], tf.float16), "r.rows": ([3, None], tf.int8), "r.between": ([None, 2, None], tf.uint8),
}  # fmt: skip


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    """Returns a table with a column of every type, without nulls, in two sequences."""
    return tt.write_table(
        str(tmp_path_factory.mktemp("tables") / "kinds"),
        {"log": ["a"] * 10 + ["b"] * 10, "time": np.arange(ROWS) * 100, **KINDS},
        schema=TYPES,
        index=["log", "time"],
        sequence_by=["log"],
        order_by=["time"],
        units={"time": "ms"},
    )


def dataset(source: tt.Table | tt.Index, batch_size: int = 4, **arguments: Any) -> tf.data.Dataset:
    return tetrys.tensorflow.dataset(tt.DataLoader(source, batch_size=batch_size, **arguments))


def positions(batches: tf.data.Dataset) -> list[int]:
    return [position for batch in batches for position in batch["positions"].numpy().tolist()]


def listed(tensor: Any) -> Any:
    return tensor.to_list() if isinstance(tensor, tf.RaggedTensor) else tensor.numpy().tolist()


def plain(values: Any, there: Any = True) -> list[Any]:
    """Returns the rows of a column of a loader as Python values, empty where no row exists."""
    if isinstance(values, tt.Ragged):
        # Of the ragged types here, only i8[3,?] begins with a fixed dimension, which a missing row keeps.
        fixed = 3 if values.values.dtype == np.int8 else 0
        rows = [[[]] * fixed if row is None else row.tolist() for row in values]
        return [bytes(row) for row in rows] if values.values.dtype == np.uint8 and values.shapes.shape[1] == 1 else rows
    if values.dtype.kind == "O":
        empty = [] if any(isinstance(row, list) for row in values) else ""
        rows = [empty if row is None else row for row in values]
        return [[text.encode() for text in row] if isinstance(row, list) else row.encode() for row in rows]
    if values.dtype.kind in "mM":
        values = np.where(there, values.view(np.int64), 0)
    return values.tolist()


def check_specs(batches: tf.data.Dataset) -> None:
    """Checks that each batch has exactly the types and static shapes of the spec."""
    for batch in batches:
        assert batch.keys() == batches.element_spec.keys()
        for name, spec in batches.element_spec.items():
            if spec.shape[0] is None:
                assert spec.is_compatible_with(batch[name]), name
            else:
                assert tf.type_spec_from_value(batch[name]) == spec, name


@pytest.mark.parametrize("last", ["drop", "pad", "short"])
def test_an_epoch_has_every_sample_once_with_the_values_of_a_row_loader(kinds: tt.Table, last: Any) -> None:
    batches, rows, found = dataset(kinds, batch_size=8, last=last, seed=1), tt.row_loader(kinds), []
    for batch in batches:
        taken = batch["positions"].numpy()
        read = rows.take(taken)
        assert batch.keys() - {"positions", "padding"} == KINDS.keys() == set(read.keys())
        for name in read:
            assert listed(batch[name]) == plain(read[name]), name
        found += taken[~batch["padding"].numpy()].tolist() if last == "pad" else taken.tolist()
    assert len(set(found)) == len(found) == (16 if last == "drop" else ROWS)


@pytest.mark.parametrize("offsets", [range(-1, 2), [0, 3], "-2..=0", tt.times("time", ["-100ms", "0s"])])
def test_windows_have_a_time_dimension_and_masks(kinds: tt.Table, offsets: Any) -> None:
    batches, rows = dataset(kinds, columns=["*", "time"], offsets=offsets, seed=2), tt.row_loader(kinds)
    check_specs(batches)
    cut = 0
    for batch in batches:
        windows = rows.get_windows(batch["positions"].numpy(), ["*", "time"], offsets=offsets)
        size, time = windows.mask.shape
        cut += (~windows.mask).sum()
        for name, values in ((name, windows.rows[name]) for name in windows.rows):
            expected = plain(values, windows.mask.reshape(-1))
            assert listed(batch[name]) == [expected[start : start + time] for start in range(0, size * time, time)], name
            np.testing.assert_array_equal(batch[f"{name}.mask"], windows.mask)
    assert cut, "some windows reach beyond their sequence"


@pytest.mark.parametrize(
    ("offsets", "windowed"),
    [
        ({"*": [0, 1]}, {"time", "n.i8", "n.u1"}),
        ({".*": [0, 1]}, {"time", "n.i8", "n.u1"}),
        ({"n.*": [0, 1]}, {"n.i8", "n.u1"}),
        ({"n.?8": [0, 1], "time": [1]}, {"n.i8", "time"}),
        ({"re:t.*|n[.]u1": [0, 1]}, {"time", "n.u1"}),
    ],
)
def test_the_patterns_of_windows_select_the_columns_that_the_loader_selects(kinds: tt.Table, offsets: Any, windowed: set[str]) -> None:
    batches = dataset(kinds, columns=["time", "n.i8", "n.u1"], offsets=offsets)
    check_specs(batches)
    assert {name for name in batches.element_spec if f"{name}.mask" in batches.element_spec} == windowed


def test_the_spec_has_the_types_of_the_columns_and_the_batch_size_where_it_is_fixed(kinds: tt.Table) -> None:
    for arguments, size in (({}, 8), ({"last": "pad"}, 8), ({"last": "short"}, None), ({"on_error": 1}, None)):
        batches = dataset(kinds, batch_size=8, **arguments)
        spec = batches.element_spec
        assert {name: (list(spec[name].shape), spec[name].dtype) for name in EXPECTED} == {
            name: ([size, *shape], dtype) for name, (shape, dtype) in EXPECTED.items()
        }
        assert all(isinstance(spec[name], tf.RaggedTensorSpec) == (None in shape) for name, (shape, _) in EXPECTED.items())
        assert spec["positions"] == tf.TensorSpec([size], tf.int64)
        assert spec.get("padding") == (tf.TensorSpec([size], tf.bool) if arguments.get("last") == "pad" or "on_error" in arguments else None)
        check_specs(batches)


def test_making_a_data_set_reads_no_payload(kinds: tt.Table, tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"i": np.arange(4), "a.x": np.arange(4.0)}, index=["i"])
    loader = tt.DataLoader(table, batch_size=2, offsets=[0, 1])
    for chunk in (tmp_path / "t/chunks").rglob("*"):
        if chunk.is_file():
            chunk.unlink()
    assert tetrys.tensorflow.dataset(loader).element_spec["a.x"] == tf.TensorSpec([2, 2], tf.float64)


def test_each_iteration_runs_the_next_epoch_in_another_order(index: tt.Index) -> None:
    loader = tt.DataLoader(index, batch_size=4, columns=["camera.*"], seed=3)
    batches = tetrys.tensorflow.dataset(loader)
    epochs = [positions(batches) for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(ROWS)) and epochs[0] != epochs[1] and loader.epoch == 2
    loader.set_epoch(0)
    assert positions(batches.repeat(2)) == epochs[0] + epochs[1]
    for share in range(2):
        arguments: dict[str, Any] = dict(batch_size=2, columns=["camera.*"], seed=3, rank=share, world_size=2)
        assert positions(dataset(index, **arguments)) == [p for batch in tt.DataLoader(index, **arguments) for p in batch["positions"]]


def test_a_state_counts_the_batches_of_the_loop_and_the_rest_follows(index: tt.Index) -> None:
    arguments: dict[str, Any] = dict(columns=["camera.*"], seed=5)
    loader = tt.DataLoader(index, batch_size=4, **arguments)
    whole = positions(tetrys.tensorflow.dataset(loader))
    loader.set_epoch(0)
    for step, _ in enumerate(tetrys.tensorflow.dataset(loader)):
        state = loader.state_dict()
        assert (state["epoch"], state["offset"]) == ((0, 4 * step + 4) if step < 4 else (0, ROWS))
        if step == 1:
            saved = state
    again = tt.DataLoader(index, batch_size=3, last="short", **arguments)
    again.load_state_dict(saved)
    batches = tetrys.tensorflow.dataset(again)
    assert positions(batches) == whole[8:] and again.epoch == 1
    assert sorted(positions(batches.prefetch(2))) == list(range(ROWS)) and again.state_dict()["epoch"] == 2


def test_a_loop_that_is_left_early_ends_its_epoch_also_while_it_prefetches(index: tt.Index) -> None:
    loader = tt.DataLoader(index, batch_size=1, columns=["camera.*"])
    epochs = [positions(tetrys.tensorflow.dataset(loader)) for _ in range(30)]
    loader.set_epoch(0)
    batches = tetrys.tensorflow.dataset(loader).prefetch(2)
    for epoch in range(0, 30, 2):
        for batch in batches:
            assert batch["positions"].numpy().tolist() == epochs[epoch][:1]
            break
        assert positions(batches) == epochs[epoch + 1]


def test_iterations_are_independent(index: tt.Index) -> None:
    batches = dataset(index, columns=["camera.*"], batch_size=4)
    first = iter(batches)
    found = next(first)["positions"].numpy().tolist()
    assert sorted(positions(batches)) == list(range(ROWS))
    assert sorted(found + [position for batch in first for position in batch["positions"].numpy().tolist()]) == list(range(ROWS))
    pairs = [(one["positions"].numpy().tolist(), other["positions"].numpy().tolist()) for one, other in zip(batches, batches, strict=True)]
    assert all(sorted(position for part in parts for position in part) == list(range(ROWS)) for parts in zip(*pairs, strict=True))


def test_transformations_of_tensorflow_take_the_batches(kinds: tt.Table) -> None:
    batches = dataset(kinds, columns=["n.matrix", "r.points", "s.text"], shuffle="none")
    sums = batches.map(lambda batch: tf.reduce_sum(batch["r.points"], axis=[1, 2]), num_parallel_calls=2).prefetch(1)
    assert [value for batch in sums for value in batch.numpy().tolist()] == [float(row % 3 * 4 * row) for row in range(ROWS)]
    (both,) = batches.take(2).batch(2)
    assert both["n.matrix"].shape == (2, 4, 2, 3) and both["positions"].numpy().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    samples = batches.unbatch()
    assert samples.element_spec["n.matrix"] == tf.TensorSpec([2, 3], tf.float32)
    assert [sample["r.points"].shape[0] for sample in samples] == [row % 3 for row in range(ROWS)]
    assert sorted(positions(samples.shuffle(8).batch(5))) == list(range(ROWS))

    @tf.function
    def total() -> Any:
        found = tf.constant(0, tf.int64)
        for batch in batches:
            found += tf.reduce_sum(batch["positions"])
        return found

    assert total().numpy() == sum(range(ROWS))


def test_a_null_is_an_error_that_names_column_and_position(index: tt.Index) -> None:
    batches = dataset(index, columns=["lidar.*", "camera.*"], shuffle="none")
    found, taken = [], iter(batches)
    found += next(taken)["positions"].numpy().tolist()
    with pytest.raises(tf.errors.OpError, match="Unsupported: column `lidar.points` is null for the sample at position 7, and"):
        next(taken)
    assert found + [p for batch in taken for p in batch["positions"].numpy().tolist()] == [*range(4), *range(8, ROWS)], "the rest follows"
    with pytest.raises(tf.errors.OpError, match="column `labels.text` is null for the sample at position 2, at place 1 of its window,"):
        list(dataset(index, columns=["labels.*"], offsets=[0, 1], shuffle="none"))
    there = tt.concat([index.filter(log_id="tuesday")])
    check_specs(dataset(there, columns=["lidar.*", "labels.*"], offsets=range(-2, 1)))


def test_nulls_of_numbers_times_lists_and_merges_are_errors_too(tmp_path: Path) -> None:
    columns = {
        "a.number": [1, None],
        "a.time": np.array([1, "NaT"], "M8[s]"),
        "a.matrix": [np.zeros((2, 2)), None],
        "a.bytes": [b"", None],
        "a.texts": [["a"], ["b", None]],
    }
    table = tt.write_table(str(tmp_path / "t"), {"i": [0, 1], **columns}, index=["i"])
    for name in columns:
        with pytest.raises(tf.errors.OpError, match=f"column `{name}` is null for the sample at position 1,"):
            list(dataset(table, batch_size=2, columns=[name]))
    right = tt.write_table(str(tmp_path / "r"), {"i": [0], "b.x": [5]}, index=["i"])
    merged = tt.read_index(table).merge(tt.read_index(right), on="i", how="left")
    with pytest.raises(tf.errors.OpError, match="column `b.x` is null for the sample at position 1,"):
        list(dataset(merged, batch_size=2, columns=["b.x"]))
    (batch,) = dataset(merged, batch_size=2, columns=["b.x"], offsets=[0], shuffle="none")
    assert listed(batch["b.x"]) == [[5], [0]] and listed(batch["b.x.mask"]) == [[True], [False]]


def test_errors_of_the_loader_keep_their_text_and_damaged_rows_can_be_left_out(tmp_path: Path) -> None:
    table = damaged_table(tmp_path)
    with pytest.raises(tf.errors.OpError, match="tetrys.Corrupt: .*sample at position"):
        list(dataset(table))
    loader = tt.DataLoader(table, batch_size=4, on_error=1)
    batches = tetrys.tensorflow.dataset(loader)
    assert len(positions(batches)) == 11 and loader.stats()["skipped"] == 1
    check_specs(batches)


def test_foreign_loaders_and_columns_are_refused(index: tt.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (None, index, tt.row_loader(index), [1]):
        with pytest.raises(TypeError, match="loader: expected a tetrys.DataLoader, found"):
            tetrys.tensorflow.dataset(wrong)  # type: ignore[arg-type]
    with pytest.raises(tt.Invalid, match='made with to="torch": make it with to="numpy"'):
        dataset(index, columns=["camera.*"], to="torch")
    for name, value in (("transform", dict), ("ragged", "pad"), ("progress", True)):
        loader = tt.DataLoader(index, batch_size=4, columns=["camera.*"])
        monkeypatch.setitem(loader._settings, name, value)
        with pytest.raises(tt.Invalid, match=f"made with `{name}`"):
            tetrys.tensorflow.dataset(loader)
    columns = {"a.lists": [[[1], []], []], "a.times": [[np.datetime64(1, "s")], []]}
    table = tt.write_table(str(tmp_path / "t"), {"i": [0, 1], **columns}, index=["i"])
    for name in columns:
        with pytest.raises(tt.Unsupported, match=f"column `{name}`: values of list<.*> do not become tensors: leave it out"):
            dataset(table, columns=[name])


def test_a_silly_loader_is_an_error_of_tetrys(index: tt.Index) -> None:
    good: dict[str, Any] = {"loader": tt.DataLoader(index, batch_size=4, columns=["camera.*"])}
    odd = {"a mix": lambda: tt.mix([good["loader"], tt.DataLoader(index, batch_size=4, columns=["camera.*"])], weights=[1, 1]), "class": lambda: tt.DataLoader}
    assert not (wrong := wrong_answers(lambda: (tetrys.tensorflow.dataset, good), {"loader": odd})), "\n".join(wrong)
    for value in SILLY.values():
        with pytest.raises(TypeError, match="loader: expected a tetrys.DataLoader, found"):
            tetrys.tensorflow.dataset(value())


def test_a_loader_of_computed_samples_is_refused(index: tt.Index) -> None:
    class Squares:
        def loader_source(self) -> tt.Index:
            return index

        def batch(self, indices: Any) -> dict[str, Any]:
            return {"square": np.asarray(indices) ** 2}

    with pytest.raises(tt.Invalid, match="loader: it computes samples from rows"):
        tetrys.tensorflow.dataset(tt.DataLoader(Squares(), batch_size=4))


def test_pictures_are_decoded_by_pattern_as_by_decoder(tmp_path: Path) -> None:
    table = tt.write_table(str(tmp_path / "t"), {"i": np.arange(4), "a.jpeg": [picture(row) for row in range(4)]}, index=["i"])
    for decode in ("a.jpeg", ["a.*"], {"a.jpeg": tt.image()}):
        (batch,) = dataset(table, shuffle="none", decode=decode)
        assert batch["a.jpeg"].to_tensor().shape == (4, 6, 8, 3)


def test_a_model_of_keras_trains(tmp_path: Path) -> None:
    inputs = np.random.default_rng(2).normal(size=(256, 3)).astype(np.float32)
    data = {"i": np.arange(256), "a.input": inputs, "a.target": inputs @ np.float32([1, -2, 3])}
    loader = tt.DataLoader(tt.write_table(str(tmp_path / "t"), data, index=["i"]), batch_size=16)
    pairs = tetrys.tensorflow.dataset(loader).map(lambda batch: (batch["a.input"], batch["a.target"]))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    pairs = pairs.apply(tf.data.experimental.assert_cardinality(len(loader)))
    losses = model.fit(pairs, epochs=3, verbose=0).history["loss"]
    assert losses[2] < 0.01 * losses[0] and loader.epoch == 3, "each epoch of Keras is one of the loader"


def test_tetrys_does_not_import_tensorflow_and_names_the_next_step_without_it() -> None:
    program = (
        "import sys, tetrys\nassert 'tensorflow' not in sys.modules\nsys.modules['tensorflow'] = None\n"
        "try: import tetrys.tensorflow\nexcept tetrys.Unsupported as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert b"pip install tensorflow" in done.stdout


def test_the_examples_of_the_docstring_and_the_guide_run(drives: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drives").symlink_to(drives)
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(tetrys.tensorflow.dataset.__doc__, {"tt": tt}, "dataset", None, None)
    output: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=output.append)
    assert tried == 6 and not failed, "".join(output)
    text = (Path(__file__).parents[2] / "docs/guide/training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|py)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (of_tensorflow,) = (block for kind, block in blocks if kind == "py" and "tetrys.tensorflow" in block)
    names: dict[str, Any] = {}
    (tmp_path / "guide").mkdir()
    monkeypatch.chdir(tmp_path / "guide")
    for block in (blocks[0][1], of_tensorflow):
        exec(compile(block, "training.md", "exec"), names)
