"""The data loader: every sample once an epoch, the same values as a row loader, windows, ranks, states, workers and bad input."""

from __future__ import annotations

import json
import importlib
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from conftest import damaged_table
from hypothesis import given
from hypothesis import strategies as st

ROWS = 20
COLUMNS = ["camera.*", "labels.*", "timestamp"]


def positions(loader: tt.DataLoader) -> list[int]:
    return [int(position) for batch in loader for position in batch["positions"]]


@given(
    batch_size=st.integers(1, 25),
    world_size=st.integers(1, 3),
    shuffle=st.sampled_from(["none", "global", "block", "sequence"]),
    seed=st.integers(0, 2**64 - 1),
    prefetch=st.sampled_from([1, "1MiB"]),
    low=st.integers(0, 4),
)
def test_an_epoch_has_every_sample_once_with_the_values_of_a_row_loader(
    drives: str, batch_size: int, world_size: int, shuffle: Any, seed: int, prefetch: Any, low: int
) -> None:
    index = tt.read_index(drives).filter(pl.col("pedestrians") >= low)
    rows, found = tt.row_loader(index), []
    for rank in range(world_size):
        loader = tt.DataLoader(
            index, batch_size=batch_size, columns=COLUMNS, shuffle=shuffle, seed=seed, rank=rank, world_size=world_size,
            last="pad", prefetch=prefetch, blocks=2, block_rows=3,
        )  # fmt: skip
        batches = list(loader)
        assert len(batches) == len(loader) and loader.samples == len(index)
        for batch in batches:
            read = rows.take(batch["positions"], COLUMNS)
            np.testing.assert_array_equal(batch["camera.intrinsics"], read["camera.intrinsics"])
            np.testing.assert_array_equal(batch["timestamp"], read["timestamp"])
            assert batch["labels.text"].tolist() == read["labels.text"].tolist()
            assert [bytes(one) for one in batch["camera.jpeg"]] == [bytes(one) for one in read["camera.jpeg"]]
            found += batch["positions"][~batch["padding"]].tolist()
    assert sorted(found) == list(range(len(index)))


def test_windows_are_stacked_with_masks_and_every_epoch_has_another_order(index: tt.Index) -> None:
    offsets = {"camera.intrinsics": range(-2, 1), "labels.*": [0, 1]}
    loader = tt.DataLoader(index, batch_size=5, columns=["camera.intrinsics", "labels.*", "timestamp"], offsets=offsets, seed=3)
    rows, orders = tt.row_loader(index), []
    for _ in range(2):
        order: list[int] = []
        for batch in loader:
            taken = batch["positions"].tolist()
            windows = rows.get_windows(taken, ["camera.intrinsics"], offsets=range(-2, 1))
            assert batch["camera.intrinsics"].shape == (5, 3, 3, 3)
            np.testing.assert_array_equal(batch["camera.intrinsics"], windows["camera.intrinsics"])
            np.testing.assert_array_equal(batch["camera.intrinsics.mask"], windows.mask)
            assert batch["labels.text"].shape == batch["labels.text.mask"].shape == (5, 2)
            assert batch["timestamp"].shape == (5,) and "timestamp.mask" not in batch
            order += taken
        orders.append(order)
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(ROWS)) and orders[0] != orders[1]
    assert loader.epoch == 2 and loader.stats()["samples"] == 40


def test_a_state_continues_with_exactly_the_rest_in_another_process_and_with_other_sizes(index: tt.Index, tmp_path: Path) -> None:
    made = lambda size, **more: tt.DataLoader(index, batch_size=size, columns=["labels.*"], last="short", seed=5, **more)  # noqa: E731
    order = positions(made(3))
    for steps in range(7):
        loader = made(3)
        batches = iter(loader)
        for _ in range(steps):
            next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        assert (state["epoch"], state["offset"]) == (0, steps * 3)
        for size in (1, 4, 25):
            again = made(size)
            again.load_state_dict(state)
            assert positions(again) == order[steps * 3 :]
    list(batches)
    after = made(4)
    after.load_state_dict(loader.state_dict())
    assert positions(after) == [p for batch in loader for p in batch["positions"]], "a state at the end starts the next epoch"
    program = (
        "import json, sys, tetrys as tt\n"
        "index = tt.read_index(sys.argv[1])\n"
        "loader = tt.DataLoader(index, batch_size=7, columns=['labels.*'], last='short')\n"
        "loader.load_state_dict(json.loads(sys.argv[2]))\n"
        "print([int(p) for batch in loader for p in batch['positions']])"
    )
    state = {**state, "epoch": 0, "offset": 6}
    done = subprocess.run([sys.executable, "-c", program, index.tables[0].url, json.dumps(state)], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == order[6:]


def test_a_loop_after_break_runs_the_next_epoch_and_set_epoch_any(index: tt.Index) -> None:
    loader = tt.DataLoader(index, batch_size=4, columns=["labels.*"])
    epochs = [positions(loader) for _ in range(3)]
    loader.set_epoch(0)
    for _ in loader:
        break
    assert positions(loader) == epochs[1] and positions(loader) == epochs[2]
    loader.set_epoch(1)
    assert positions(loader) == epochs[1]


def test_weights_and_classes_choose_what_is_drawn(index: tt.Index) -> None:
    by_column = tt.DataLoader(index, batch_size=5, columns=["labels.*"], weights="pedestrians", samples=500)
    drawn = np.bincount(np.asarray(positions(by_column)) % 5, minlength=5)
    assert drawn[0] == 0 and drawn.sum() == 500 and drawn[4] > drawn[1]
    of_table = tt.DataLoader(tt.Table(index.tables[0].url), batch_size=5, columns=["labels.*"], weights="pedestrians", samples=500)
    assert positions(of_table) == positions(tt.DataLoader(index, batch_size=5, columns=["labels.*"], weights="pedestrians", samples=500))
    once = tt.DataLoader(index, batch_size=2, columns=["labels.*"], weights=np.arange(ROWS), replacement=False, samples=18)
    assert len(set(positions(once))) == 18
    skewed = tt.concat([index.filter(log_id="monday"), index.filter(log_id="tuesday").sample(2, seed=1)])
    balanced = tt.DataLoader(skewed, batch_size=4, columns=["labels.*"], balance_by="log_id", samples=40)
    of_monday = sum(position < 10 for position in positions(balanced))
    assert of_monday == 20
    numbered = tt.DataLoader(skewed, batch_size=4, columns=["labels.*"], balance_by=np.arange(12) // 10, samples=40)
    assert sum(position < 10 for position in positions(numbered)) == 20
    assert positions(pickle.loads(pickle.dumps(balanced))) == positions(balanced), "both run their second epoch"


@pytest.mark.torch
def test_tensors_have_the_same_values(index: tt.Index) -> None:
    import torch

    arguments: dict[str, Any] = dict(batch_size=4, columns=["camera.intrinsics"], offsets=range(-1, 1), seed=1)
    for tensors, arrays in zip(tt.DataLoader(index, to="torch", **arguments), tt.DataLoader(index, **arguments), strict=True):
        assert tensors["camera.intrinsics"].shape == (4, 2, 3, 3) and tensors["camera.intrinsics.mask"].dtype == torch.bool
        for name, array in arrays.items():
            np.testing.assert_array_equal(tensors[name].numpy(), array)


def first_batches(loader: tt.DataLoader) -> list[list[int]]:
    return [batch["positions"].tolist() for batch in loader]


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_a_loader_goes_on_in_another_process(drives: str, method: str) -> None:
    loader = tt.DataLoader(tt.Table(drives), batch_size=4, columns=["labels.*"], seed=2)
    whole = first_batches(loader)
    loader.set_epoch(0)
    next(iter(loader))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as workers:
        assert workers.submit(first_batches, loader).result(timeout=60) == whole[1:]
    assert pickle.loads(pickle.dumps(loader)).state_dict() == loader.state_dict()


def test_a_forked_child_goes_on_behind_the_reads_of_its_parent(drives: str) -> None:
    loader = tt.DataLoader(tt.Table(drives), batch_size=4, columns=["labels.*"], seed=2)
    whole = first_batches(loader)
    loader.set_epoch(0)
    batches = iter(loader)
    assert next(batches)["positions"].tolist() == whole[0]
    child = os.fork()
    if child == 0:
        os._exit(0 if [batch["positions"].tolist() for batch in batches] == whole[1:] else 1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert [batch["positions"].tolist() for batch in batches] == whole[1:], "and so does the parent"


def test_the_processes_of_a_machine_share_the_default_of_prefetch(index: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def bound(**arguments: Any) -> int:
        return tt.DataLoader(index, batch_size=4, **arguments)._bound_bytes

    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert bound() == 512 << 20
    for processes, share in (("1", 512), ("4", 128), ("8", 64), ("64", 64), ("0", 512)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", processes)
        assert bound() == share << 20
    assert bound(prefetch="1GiB") == 1 << 30, "what is given is that of each process"
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "eight")
    assert bound(prefetch=0) == 0
    with pytest.raises(tt.Invalid, match="LOCAL_WORLD_SIZE=eight: expected the number of processes"):
        bound()


def test_ranks_come_from_the_environment(index: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    arguments: dict[str, Any] = dict(batch_size=2, columns=["labels.*"])
    assert positions(tt.DataLoader(index, **arguments)) == positions(tt.DataLoader(index, rank=1, world_size=2, **arguments))
    monkeypatch.setenv("RANK", "one")
    with pytest.raises(tt.Invalid, match="RANK and WORLD_SIZE"):
        tt.DataLoader(index, **arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"batch_size": 0}, "batch_size: 0"),
        ({"batch_size": 2.5}, "batch_size: expected an integer"),
        ({"batch_size": True}, "batch_size"),
        ({"shuffle": "all"}, "shuffle `all`: expected none, global, block or sequence"),
        ({"shuffle": None}, "shuffle"),
        ({"last": "keep"}, "last `keep`: expected drop, pad or short"),
        ({"rank": 1}, "belong together"),
        ({"rank": 2, "world_size": 2}, "rank 2: expected 0 to 1"),
        ({"rank": 0, "world_size": 0}, "world_size: 0"),
        ({"seed": -1}, "seed: -1"),
        ({"prefetch": "much"}, "prefetch: `much`: expected a size such as 512MiB"),
        ({"weights": [1.0]}, "1 weight, expected one for each of 20 positions"),
        ({"weights": "log_id"}, "weights: expected one number"),
        ({"weights": [-1.0] * ROWS}, "weight of sample 0: -1"),
        ({"weights": "nothing"}, "no index column `nothing`"),
        ({"balance_by": "nothing"}, "no index column `nothing`"),
        ({"balance_by": [0.5] * ROWS}, "one class number for each position"),
        ({"weights": [1e308] * ROWS}, "not finite"),
        ({"offsets": {"labels.*": tt.times("nothing", ["0s"])}}, "nothing"),
        ({"weights": "pedestrians", "balance_by": "log_id"}, "exclude each other"),
        ({"samples": 3}, "needs weights or balance_by"),
        ({"samples": 3, "weights": "pedestrians", "shuffle": "sequence"}, "expected a global shuffle, found a shuffle of sequences$"),
        ({"balance_by": "log_id", "shuffle": "block"}, "expected a global shuffle, found a shuffle of blocks$"),
        ({"columns": ["lidar.nothing"]}, "lidar.nothing"),
        ({"offsets": {"radar.*": [0]}}, "radar"),
        ({"offsets": {"labels.*": []}}, "offset"),
        ({"offsets": {"labels.*": [0], "*": [1]}}, "two windows"),
        ({"offsets": {"labels.*": [1.5]}}, "integer"),
        ({"to": "cupy"}, "to `cupy`"),
        ({"to": "arrow", "ragged": "pad"}, "Arrow lists"),
        ({"ragged": "cut"}, "ragged `cut`"),
        ({"transform": 3}, "expected a function"),
        ({"transform_rows": True}, "needs a transform"),
        ({"transform_rows": np.zeros(2)}, "transform_rows: expected True or False"),
        ({"batch_size": np.timedelta64(4, "s")}, "batch_size: expected an integer"),
        ({"device": "cpu"}, "only tensors"),
        ({"max_step": "-1s"}, "max_step -1s"),
        ({"max_step": "soon"}, "soon"),
        ({"decode": {"labels.*": tt.image()}}, "only columns of binary"),
        ({"decode": {"camera.jpeg": "rgb"}}, "tetrys.image"),
        ({"decode": ["labels.*"]}, "only columns of binary"),
        ({"decode": {"camera.jpeg": tt.image(), "*.jpeg": tt.image()}}, "two decoders"),
        ({"progress": 1}, "progress"),
        ({"trace": "/"}, "trace"),
        ({"on_error": -1}, "on_error: -1"),
        ({"skip_incomplete": 1}, "skip_incomplete"),
    ],
)
def test_impossible_arguments_are_refused_before_the_first_batch(index: tt.Index, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(tt.Error, match=text.replace("(", r"\(")):
        tt.DataLoader(index, **{"batch_size": 4, **arguments})


def test_foreign_states_and_sources_are_refused(index: tt.Index, drives: str) -> None:
    loader = tt.DataLoader(index, batch_size=4, columns=["labels.*"])
    other = tt.DataLoader(index.filter(log_id="monday"), batch_size=4, columns=["labels.*"])
    with pytest.raises(tt.Invalid, match="differs in the rows of the index"):
        loader.load_state_dict(other.state_dict())
    for wrong in ({}, {**loader.state_dict(), "offset": -1}, {**loader.state_dict(), "more": 1}):
        with pytest.raises(tt.Invalid, match="loader state"):
            loader.load_state_dict(wrong)
    for wrong in (None, "state", [1]):
        with pytest.raises(TypeError):
            loader.load_state_dict(wrong)  # type: ignore[arg-type]
    for entry in (object(), b"x", float("nan"), {1, 2}, np.int64(3), 10**5000):
        with pytest.raises(tt.Invalid, match="state"):
            loader.load_state_dict({**loader.state_dict(), "offset": entry})
    for several in (5, loader, range(10**12), [loader, 5]):
        with pytest.raises(tt.Invalid, match="loaders|mix"):
            tt.mix(several, weights=[1, 1])  # type: ignore[arg-type]
    for source in (drives, None, tt.row_loader(index)):
        with pytest.raises(TypeError, match="an Index or a Table"):
            tt.DataLoader(source, batch_size=4)  # type: ignore[arg-type]
    assert sorted(positions(loader)) == list(range(ROWS))


def test_a_damaged_row_raises_or_is_left_out(tmp_path: Path) -> None:
    table = damaged_table(tmp_path)
    loader = tt.DataLoader(table, batch_size=4, seed=1)
    found: list[int] = []
    batches = iter(loader)
    with pytest.raises(tt.Corrupt, match="sample at position"):
        for batch in batches:
            found += batch["positions"].tolist()
    # The iterator goes on behind the batch with the damaged row.
    found += [position for batch in batches for position in batch["positions"].tolist()]
    assert len(found) == 8 and loader.epoch == 1
    skipping = tt.DataLoader(table, batch_size=4, seed=1, on_error=1)
    left = positions(skipping)
    assert len(left) == 11 and skipping.stats()["skipped"] == 1 and set(found) <= set(left)


def test_ctrl_c_ends_a_loop_that_would_not_end(drives: str) -> None:
    program = (
        "import sys, time, tetrys as tt\n"
        "loader = tt.DataLoader(tt.Table(sys.argv[1]), batch_size=4, columns=['labels.*'])\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for batch in loader: pass\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, drives], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=300)
    assert b"KeyboardInterrupt" in errors and child.returncode != 0


@pytest.mark.torch
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_loader_of_pytorch_reads_the_data_sets(drives: str, workers: int, method: str) -> None:
    import torch

    data = importlib.import_module("tetrys.torch")
    table = tt.Table(drives)
    settings: dict[str, Any] = dict(num_workers=workers)
    if workers:
        settings |= dict(multiprocessing_context=method, persistent_workers=True)
    samples = data.Dataset(table, columns=["camera.intrinsics", "timestamp"], offsets={"camera.intrinsics": range(-1, 1)})
    assert len(samples) == ROWS and samples[3]["camera.intrinsics"].shape == (2, 3, 3) and samples[-1]["timestamp"] == 1900
    sampler = torch.utils.data.DistributedSampler(samples, num_replicas=2, rank=1, seed=3)
    loader = torch.utils.data.DataLoader(samples, batch_size=4, sampler=sampler, **settings)
    rows = tt.row_loader(table)
    for _ in range(2):
        for batch, taken in zip(loader, torch.tensor(list(sampler)).split(4), strict=True):
            assert batch["timestamp"].tolist() == (taken * 100).tolist()
            windows = rows.get_windows(taken.numpy(), ["camera.intrinsics"], offsets=range(-1, 1))
            np.testing.assert_array_equal(batch["camera.intrinsics"].numpy(), windows["camera.intrinsics"])
            np.testing.assert_array_equal(batch["camera.intrinsics.mask"].numpy(), windows.mask)
    with pytest.raises(IndexError):
        samples[ROWS]
    batches = data.IterableDataset(tt.DataLoader(table, batch_size=2, columns=["timestamp"], seed=1, last="short"))
    epochs = []
    loader = torch.utils.data.DataLoader(batches, batch_size=None, **settings)
    for _ in range(2):
        epochs.append([position for batch in loader for position in batch["positions"].tolist()])
        assert sorted(epochs[-1]) == list(range(ROWS)), "the workers share an epoch"
    assert epochs[0] != epochs[1]
    if workers:
        # Workers that end after each loop run the epochs that they are told.
        loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers, multiprocessing_context=method)
        for epoch in (0, 1, 1):
            batches.set_epoch(epoch)
            assert [position for batch in loader for position in batch["positions"].tolist()] == epochs[epoch]
    else:
        state = batches.state_dict()
        batches.load_state_dict(state)
        assert batches.state_dict() == state


@pytest.mark.torch
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_of_pytorch_continues_at_every_batch(drives: str, workers: int) -> None:
    stateful = importlib.import_module("torchdata.stateful_dataloader")
    import tetrys.torch as data

    def loader() -> Any:
        batches = data.IterableDataset(tt.DataLoader(tt.open_table(drives), batch_size=3, columns=["timestamp"], seed=1, last="short"))
        return stateful.StatefulDataLoader(batches, batch_size=None, num_workers=workers)

    whole = [batch["positions"].tolist() for batch in loader()]
    assert sorted(position for batch in whole for position in batch) == list(range(ROWS))
    for done in range(1, len(whole)):
        killed = loader()
        batches = iter(killed)
        assert [next(batches)["positions"].tolist() for _ in range(done)] == whole[:done]
        state = killed.state_dict()
        resumed = loader()
        resumed.load_state_dict(state)
        assert [batch["positions"].tolist() for batch in resumed] == whole[done:]


def train(folder: Path, batch: int, world_size: int = 1, save_every: int = 5) -> list[subprocess.Popen[bytes]]:
    """Starts the example that trains a model, on `world_size` ranks."""
    script = Path(__file__).parents[2] / "examples" / "train.py"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [sys.executable, str(script), str(folder), "--batch", str(batch), "--save-every", str(save_every)]
    shared = {**os.environ, "WORLD_SIZE": str(world_size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    return [subprocess.Popen(arguments, env={**shared, "RANK": str(rank)}, stderr=subprocess.PIPE) for rank in range(world_size)]


@pytest.mark.torch
def test_two_ranks_that_are_killed_resume_as_one_and_end_with_the_same_model(tmp_path: Path) -> None:
    import torch

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    (alone,) = train(whole, 32)
    _, errors = alone.communicate(timeout=300)
    assert alone.returncode == 0, errors.decode()
    ranks = train(killed, 16, world_size=2, save_every=2)
    for _ in range(3000):
        if (killed / "checkpoint.pt").exists() or any(rank.poll() is not None for rank in ranks):
            break
        time.sleep(0.02)
    for rank in ranks:
        rank.send_signal(signal.SIGKILL)
    errors = b"".join(rank.communicate(timeout=60)[1] for rank in ranks)
    assert (killed / "checkpoint.pt").exists(), errors.decode()
    before = torch.load(killed / "checkpoint.pt")
    assert 0 < before["step"] < 84 and not (killed / "model.pt").exists(), "the run was killed before its end"
    (resumed,) = train(killed, 32)
    _, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors.decode()
    expected, found = torch.load(whole / "model.pt"), torch.load(killed / "model.pt")
    for name in expected:
        # The sum of the gradients of two ranks is rounded in another order.
        torch.testing.assert_close(found[name], expected[name], rtol=1e-9, atol=1e-9)


TRAIN = """
import json, os, sys, time
import tetrys as tt

index, folder, size = tt.read_index(sys.argv[1]), sys.argv[2], int(sys.argv[3])
loader = tt.DataLoader(index, batch_size=size, columns=["camera.intrinsics"], seed=5, last="short", transform=dict)
state, seen = folder + "/state", []
if os.path.exists(state):
    saved = json.load(open(state))
    loader.load_state_dict(saved["loader"])
    seen = saved["seen"]
while loader.epoch < 3:
    for batch in loader:
        seen += batch["positions"].tolist()
        time.sleep(0.002)
        json.dump({"loader": loader.state_dict(), "seen": seen}, open(state + ".new", "w"))
        os.replace(state + ".new", state)
        print(len(seen), flush=True)
"""


def test_a_killed_process_goes_on_behind_its_last_state(drives: str, tmp_path: Path) -> None:
    def train(size: int, batches: int | None) -> None:
        command = [sys.executable, "-c", TRAIN, drives, str(tmp_path), str(size)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for number, _ in enumerate(process.stdout, 1):
                if number == batches:
                    process.send_signal(signal.SIGKILL)
                    break
            process.stdout.read()
        assert process.returncode == (0 if batches is None else -signal.SIGKILL)

    for size, batches in [(3, 4), (1, 9), (7, 3), (2, 5), (4, None)]:
        train(size, batches)
    seen = json.loads((tmp_path / "state").read_text())["seen"]
    orders = [seen[start : start + ROWS] for start in range(0, len(seen), ROWS)]
    assert len(orders) == 3 and all(sorted(order) == list(range(ROWS)) for order in orders)
    index = tt.read_index(drives)
    loader = tt.DataLoader(index, batch_size=ROWS, columns=["camera.intrinsics"], seed=5)
    assert orders == [positions(loader) for _ in range(3)]


def test_an_epoch_that_drops_all_samples_warns_once(index: tt.Index) -> None:
    loader = tt.DataLoader(index, batch_size=8, columns=["timestamp"], rank=0, world_size=3)
    with pytest.warns(UserWarning, match='its 20 samples do not fill one step of 24 .*last="drop" leaves them out: pass last="pad"') as seen:
        assert [list(loader) for _ in range(2)] == [[], []]
    assert len(seen) == 1 and seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(tt.DataLoader(index, batch_size=8, columns=["timestamp"], rank=0, world_size=3, last="pad"))) == 1
        assert list(tt.DataLoader(index[:0], batch_size=8, columns=["timestamp"])) == []


def test_the_length_is_that_of_a_whole_epoch_and_remaining_that_behind_a_state(index: tt.Index) -> None:
    for transform in (None, dict):
        loader = tt.DataLoader(index, batch_size=4, columns=["timestamp"], transform=transform)
        assert (len(loader), loader.remaining) == (5, 5)
        batches = iter(loader)
        next(batches), next(batches)
        assert (len(loader), loader.remaining) == (5, 3)
        for size, left in ((4, 3), (3, 4), (6, 2), (12, 1)):
            again = tt.DataLoader(index, batch_size=size, columns=["timestamp"])
            again.load_state_dict(loader.state_dict())
            assert (len(again), again.remaining) == (20 // size, left)
            assert len(list(again)) == left
            assert (len(again), again.remaining) == (20 // size, 20 // size)
