"""Worker processes of a data loader: the batches of threads, in their order and exactly once, whatever a transform does to its process."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
import tetrys as tt
import worker_transforms as transforms
from conftest import ROWS, points
from hypothesis import given, settings
from hypothesis import strategies as st
from tetrys import _parcels, _processes
from tetrys.petastorm import TransformSpec, make_batch_reader, make_reader
from tetrys.petastorm.ngram import NGram

PROCESSES: dict[str, Any] = {"workers": 2, "worker_kind": "process"}


def order(loader: Any) -> list[list[int]]:
    return [batch["positions"].tolist() for batch in loader]


def assert_same(found: Any, expected: Any) -> None:
    """Compares types, values, masks, and whether arrays can be written to."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, tt.Ragged):
        assert_same(found.values, expected.values)
        assert_same(found.to_list(), expected.to_list())
        assert_same([found.shapes, found.offsets, found.valid], [expected.shapes, expected.offsets, expected.valid])
    elif isinstance(expected, np.ma.MaskedArray):
        assert_same(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
        assert_same(np.asarray(found.filled(0)), np.asarray(expected.filled(0)))
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind == "O":
            assert_same(found.tolist(), expected.tolist())
        else:
            assert found.tobytes() == expected.tobytes()
            assert found.flags.writeable or not expected.flags.writeable
    elif type(expected).__module__ == "torch" and hasattr(expected, "shape"):
        assert found.dtype == expected.dtype and found.shape == expected.shape and bool((found == expected).all())
    elif isinstance(expected, pa.Array):
        assert found.equals(expected)
    else:
        assert found == expected or found != found


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> tt.Index:
    """Columns of all kinds, with nulls."""
    values = np.ma.masked_array(np.arange(ROWS * 3, dtype=np.float32).reshape(ROWS, 3), np.arange(ROWS * 3).reshape(ROWS, 3) % 7 == 0)
    columns: dict[str, Any] = {
        "log_id": ["monday"] * 10 + ["tuesday"] * 10,
        "timestamp": np.arange(ROWS) * 100,
        "camera.intrinsics": np.arange(ROWS * 300, dtype=np.float64).reshape(ROWS, 300),
        "labels.text": [None if row == 3 else f"row {row}" for row in range(ROWS)],
        "lidar.points": [None if row == 7 else points(row) for row in range(ROWS)],
        "camera.jpeg": [bytes([row]) * row * 50 for row in range(ROWS)],
        "labels.lists": [[row, row] for row in range(ROWS)],
        "labels.names": [["a", f"b{row}"] for row in range(ROWS)],
        "labels.time": (np.arange(ROWS) * 10).astype("M8[ms]"),
        "labels.flag": np.arange(ROWS) % 2 == 0,
        "camera.half": np.ones((ROWS, 200), ml_dtypes.bfloat16),
        "camera.masked": values,
    }
    url = str(tmp_path_factory.mktemp("tables") / "varied")
    tt.write_table(url, columns, index=["log_id", "timestamp"], sequence_by=["log_id"], order_by=["timestamp"])
    return tt.read_index(url)


# The batches of threads.


@settings(max_examples=max(5, settings.default.max_examples // 3))
@given(
    arguments=st.fixed_dictionaries(
        {
            "batch_size": st.integers(1, 9),
            "shuffle": st.sampled_from(["none", "global", "block", "sequence"]),
            "seed": st.integers(0, 100),
            "last": st.sampled_from(["drop", "pad", "short"]),
            "ragged": st.sampled_from([None, "list", "pad", "offsets"]),
            "offsets": st.sampled_from([None, {"camera.*": range(-2, 1)}, {"*": [0, 1]}]),
            "prefetch": st.sampled_from([1, "100kB", "64MiB"]),
        }
    ),
    transform=st.sampled_from([transforms.changed, transforms.as_list, transforms.Own, dict]),
    workers=st.integers(1, 3),
)
def test_processes_give_the_batches_of_threads_in_their_order(varied: tt.Index, arguments: Any, transform: Any, workers: int) -> None:
    by_threads = tt.DataLoader(varied, transform=transform, **arguments)
    by_processes = tt.DataLoader(varied, transform=transform, workers=workers, worker_kind="process", **arguments)
    for _ in range(2):
        assert_same(list(by_processes), list(by_threads))


@pytest.mark.parametrize("to", ["numpy", "arrow", pytest.param("torch", marks=pytest.mark.torch)])
def test_arrays_of_other_libraries_and_transforms_of_rows_are_those_of_threads(varied: tt.Index, to: Any) -> None:
    columns = ["camera.intrinsics", "camera.jpeg", "camera.half", "labels.*", "lidar.*"]
    arguments: dict[str, Any] = dict(batch_size=4, columns=columns, to=to, seed=1, last="pad")
    loaders = [tt.DataLoader(varied, transform=dict, **how, **arguments) for how in ({}, PROCESSES)]
    assert_same(list(loaders[1]), list(loaders[0]))
    if to == "arrow":
        return
    rows = [tt.DataLoader(varied, transform=transforms.of_row, transform_rows=True, **how, **arguments) for how in ({}, PROCESSES)]
    assert_same(list(rows[1]), list(rows[0]))
    mixes = []
    for how in ({}, PROCESSES):
        parts = [tt.DataLoader(varied, transform=dict, **how, **{**arguments, "seed": seed}) for seed in (1, 2)]
        mixes.append(tt.mix(parts, weights=[2, 1], samples=30))
    assert_same(list(mixes[1]), list(mixes[0]))


@pytest.mark.torch
def test_tensors_come_to_the_device_and_from_the_workers_of_pytorch(varied: tt.Index) -> None:
    import tetrys.torch
    import torch

    arguments: dict[str, Any] = dict(batch_size=4, columns=["camera.intrinsics"], seed=1)
    loader = tt.DataLoader(varied, transform=dict, to="torch", device="cpu", **PROCESSES, **arguments)
    expected = order(tt.DataLoader(varied, **arguments))
    assert order(loader) == expected
    tensor = next(iter(loader))["camera.intrinsics"]
    tensor += 1
    samples = tetrys.torch.IterableDataset(tt.DataLoader(varied, transform=dict, **PROCESSES, **arguments))
    for method in ("fork", "spawn"):
        batches = torch.utils.data.DataLoader(samples, batch_size=None, num_workers=1, multiprocessing_context=method)
        samples.set_epoch(0)
        assert order(batches) == expected


class Sampled:
    """Samples that are computed."""

    def __init__(self, index: tt.Index) -> None:
        self.index = index

    def loader_source(self) -> tt.Index:
        return self.index

    def batch(self, indices: Any) -> dict[str, Any]:
        return {"twice": np.repeat(np.array(list(indices))[:, None] * 2, 100, 1)}


def test_computed_samples_are_transformed_in_processes(varied: tt.Index) -> None:
    loaders = [tt.DataLoader(Sampled(varied), batch_size=3, transform=transforms.as_list, **how) for how in ({}, PROCESSES)]
    assert_same(list(loaders[1]), list(loaders[0]))


def test_any_batch_resumes_with_exactly_the_rest_and_other_numbers_of_workers(varied: tt.Index) -> None:
    def made(workers: int | None, size: int = 3) -> tt.DataLoader:
        how: Any = {} if workers is None else {"workers": workers, "worker_kind": "process"}
        return tt.DataLoader(varied, batch_size=size, columns=["labels.*"], last="short", seed=5, transform=dict, **how)

    whole = list(itertools.chain(*order(made(None))))
    loader = made(2)
    for steps, batch in enumerate(iter(loader), 1):
        assert batch["positions"].tolist() == whole[3 * (steps - 1) : 3 * steps]
        state = json.loads(json.dumps(loader.state_dict()))
        if steps * 3 < ROWS:
            again = made([None, 1, 3][steps % 3], 4)
            again.load_state_dict(state)
            assert list(itertools.chain(*order(again))) == whole[3 * steps :]
    copy = pickle.loads(pickle.dumps(loader))
    assert order(copy) == order(loader), "both run their second epoch"


def test_a_jump_clears_what_is_in_the_workers(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=2, columns=["labels.*"], transform=dict, **PROCESSES)
    epochs = [order(loader) for _ in range(2)]
    batches = iter(loader)
    next(batches)
    loader.set_epoch(0)
    assert order(batches) == epochs[0]
    assert order(loader) == epochs[1]


def test_iterators_at_once_and_loops_in_threads_share_the_workers(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=3, columns=["labels.*"], transform=transforms.marked, **PROCESSES)
    other = tt.DataLoader(varied, batch_size=3, columns=["labels.*"])
    epochs = [order(other) for _ in range(10)]
    first, second = iter(loader), iter(loader)
    pairs = list(zip(first, second, strict=True))
    assert [order(one for one, _ in pairs), order(two for _, two in pairs)] == epochs[:2]
    paused = iter(loader)
    next(paused)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: list(loader), range(4)))
    assert sorted(order(batches) for batches in found) == sorted(epochs[3:7]), "an iterator that is not being read stops no other"
    assert order(paused) == epochs[2][1:]
    pids = {batch["pid"] for batches in (*found, *pairs) for batch in batches}
    assert len(pids) <= 2 and {pair[0]["parent"] for pair in pairs} == {os.getpid()} and os.getpid() not in pids


# Objects that travel between processes arrive as they were.

PARCELS: list[Any] = [
    None, 5, "text", b"bytes" * 1000, [np.arange(3000)] * 3, {"a": {"b": (np.zeros((0, 4)), np.array(5))}}, np.arange(3000)[::2], np.zeros((90, 90), order="F"),
    np.arange("2000", "2010", dtype="M8[D]"), np.array(3, "m8[s]"), np.array(["a", None], object), np.array(["abc"] * 900), np.ones((300, 2), ml_dtypes.bfloat16),
    np.ones(2000, [("a", "f4"), ("b", "i2")]), np.ma.masked_array(np.arange(900.0), np.arange(900) % 2 == 0, fill_value=7), np.ma.masked_array(np.arange(900)),
    pa.array(range(3000)), pa.array([["a"], None, []]), pa.array(range(3000))[10:20], np.float32(1.5), np.ones(700, np.complex128), np.ones(5000, bool),
    [np.full(600, row % 250, np.uint8) for row in range(1500)],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PARCELS)))
def test_a_parcel_arrives_as_it_was_sent(number: int) -> None:
    ours, theirs = map(_parcels.Channel, socket.socketpair())
    frozen = np.arange(3000)
    frozen.flags.writeable = False
    sent = [PARCELS[number], frozen]
    size = ours.send(sent)
    found, received = theirs.receive(lambda: False)
    assert_same(found, sent)
    assert size == received and not found[1].flags.writeable
    assert_same(_parcels.unpacked(memoryview(bytearray(b"".join(_parcels.packed(sent))))), sent)
    for channel in (ours, theirs):
        channel.close()


@pytest.mark.torch
def test_tensors_travel_beside_the_pickle() -> None:
    import torch

    tensors = [torch.arange(3000), torch.ones(3, 400, dtype=torch.bfloat16), torch.zeros(0, 4), torch.tensor(5.5), torch.ones(1000, dtype=torch.bool)]
    tensors += [torch.arange(3000)[::2], torch.ones(2000, dtype=torch.complex64).conj(), torch.arange(900.0).reshape(30, 30).T]
    parts = _parcels.packed(tensors)
    assert len(parts) > 12
    assert_same(_parcels.unpacked(memoryview(bytearray(b"".join(parts)))), tensors)
    odd = [torch.ones(3, requires_grad=True), torch.eye(3).to_sparse(), torch.nn.Parameter(torch.ones(900))]
    found = _parcels.unpacked(memoryview(bytearray(b"".join(_parcels.packed(odd)))))
    assert found[0].requires_grad and found[1].is_sparse and isinstance(found[2], torch.nn.Parameter)


def test_batches_that_are_kept_take_few_descriptors(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=1, columns=["camera.intrinsics"], transform=dict, **PROCESSES)
    kept = [batch for _ in range(6) for batch in loader]
    mapped = []
    for file in os.listdir("/proc/self/fd"):
        # Other threads close theirs meanwhile.
        with contextlib.suppress(OSError):
            if "memfd:tetrys" in os.readlink(f"/proc/self/fd/{file}"):
                mapped.append(file)
    assert 0 < len(mapped) <= 2 * (_parcels._MAPPED + 1) < len(kept)
    rows = tt.row_loader(varied).take([int(batch["positions"][0]) for batch in kept])
    assert np.concatenate([batch["camera.intrinsics"] for batch in kept]).tolist() == rows["camera.intrinsics"].tolist()


def test_an_empty_message_needs_no_descriptor_and_keeps_its_place() -> None:
    ours, theirs = map(_parcels.Channel, socket.socketpair())
    ours.send_nothing()
    ours.send(5)
    ours.send_nothing()
    assert [theirs.receive(lambda: False)[0] for _ in range(3)] == [None, 5, None]
    ours.close()
    with pytest.raises(EOFError):
        theirs.send_nothing()
    with pytest.raises(EOFError):
        theirs.receive(lambda: False)
    theirs.close()


def test_a_parcel_that_cannot_be_mapped_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise OSError(24, "Too many open files")

    ours, theirs = map(_parcels.Channel, socket.socketpair())
    monkeypatch.setattr(_parcels.mmap, "mmap", fails)
    ours.send(np.arange(3000))
    assert_same(theirs.receive(lambda: False)[0], np.arange(3000))
    for channel in (ours, theirs):
        channel.close()


# Back-pressure.


@given(batch_size=st.integers(1, 4), room=st.integers(0, 6))
@settings(max_examples=max(4, settings.default.max_examples // 5))
def test_batches_in_workers_and_waiting_hold_no_more_bytes_than_prefetch(varied: tt.Index, batch_size: int, room: int) -> None:
    arguments: dict[str, Any] = dict(batch_size=batch_size, columns=["camera.intrinsics"], transform=dict, worker_kind="process")
    probe = iter(tt.DataLoader(varied, workers=1, **arguments))
    next(probe), next(probe)
    one = probe._ahead[0][3]  # type: ignore[attr-defined]
    wait([probe._ahead[0][0]])  # type: ignore[attr-defined]
    bound = max(1, (one.sent + one.received) * room)
    loader = tt.DataLoader(varied, prefetch=bound, workers=3, **arguments)
    batches = iter(loader)
    most = 0
    for batch in batches:
        queue = list(batches._ahead)  # type: ignore[attr-defined]
        wait([work for work, *_ in queue])
        assert all(carried.is_done for *_, carried in queue)
        received = sum(carried.received for *_, carried in queue)
        assert received <= bound or len(queue) <= 1, "one batch is always allowed"
        most = max(most, len(queue))
        assert len(batch["positions"]) == batch_size
    assert most <= 3 and (most > 1 or room < 4)


def test_a_trace_has_the_transform_of_each_batch(varied: tt.Index, tmp_path: Path) -> None:
    loader = tt.DataLoader(varied, batch_size=4, columns=["labels.*"], transform=dict, trace=tmp_path / "trace.json", **PROCESSES)
    assert len(list(loader)) == 5 and loader.stats()["batches"] == 5
    del loader
    events = json.loads((tmp_path / "trace.json").read_text())
    assert len([event for event in events if event["name"] == "transform" and event["ph"] == "b"]) == 5


# Errors.


@pytest.mark.parametrize("name", transforms.RAISED)
def test_an_exception_reaches_the_loop_at_its_batch_with_its_traceback(varied: tt.Index, name: str) -> None:
    loader = tt.DataLoader(varied, batch_size=4, columns=["labels.*"], shuffle="none", transform=transforms.Raises(name, 9), **PROCESSES)
    batches = iter(loader)
    assert order(itertools.islice(batches, 2)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    expected = {"StopIteration": RuntimeError, "Refuses": RuntimeError, "Unpicklable": RuntimeError}.get(name, type(transforms.RAISED[name]()))
    with pytest.raises(expected) as failed:
        next(batches)
    assert type(failed.value) is expected
    messages = {"StopIteration": "the transform raised StopIteration", "Refuses": "the transform raised Refuses: 1 and 2", "Unpicklable": "Unpicklable: secret"}
    assert messages.get(name, str(transforms.RAISED[name]())) in str(failed.value)
    trace = str(failed.value.__cause__)
    assert "worker_transforms.py" in trace and "raise RAISED[self.name]()" in trace
    if hasattr(failed.value, "__notes__"):
        assert "in the transform of the samples at positions 8, 9, 10, 11" in failed.value.__notes__
    assert order(batches) == [[12, 13, 14, 15], [16, 17, 18, 19]], "the iterator goes on after it"
    assert loader.epoch == 1


def test_what_is_no_batch_and_what_cannot_be_sent_are_errors(varied: tt.Index) -> None:
    wrong: list[tuple[Any, str]] = [
        (len, "a transform returns the batch that the loop gets, found int"),
        (transforms.Unsendable, "no memory for this"),
        (transforms.generator, "what the transform returned cannot be sent from its worker process: .*generator"),
    ]
    for transform, text in wrong:
        batches = iter(tt.DataLoader(varied, batch_size=8, columns=["labels.*"], transform=transform, **PROCESSES))
        for _ in range(2):
            with pytest.raises((TypeError, tt.Unavailable), match=text) as failed:
                next(batches)
            assert isinstance(failed.value, tt.Unavailable) == (transform is transforms.Unsendable), "an error of the library stays what it is"
        assert list(batches) == []


class Unsent(Sampled):
    """Samples that cannot be pickled."""

    def batch(self, indices: Any) -> dict[str, Any]:
        return {"generator": (one for one in indices)}


def test_a_batch_that_cannot_be_sent_is_an_error_that_names_its_samples(varied: tt.Index) -> None:
    batches = iter(tt.DataLoader(Unsent(varied), batch_size=10, shuffle="none", transform=dict, **PROCESSES))
    for first in ("0, 1, 2", "10, 11, 12"):
        with pytest.raises(TypeError, match=f'the samples at positions {first}.* cannot be sent to a worker process: .*: use worker_kind="thread"'):
            next(batches)
    assert list(batches) == []


def test_a_pool_whose_threads_cannot_be_started_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def second_fails(thread: threading.Thread) -> None:
        if begun:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", second_fails)
        with pytest.raises(tt.Unavailable, match="cannot be started: can't start new thread"):
            _processes.Pool(dict, 3, "")
    begun[0].join(120)
    assert not begun[0].is_alive()


@pytest.mark.parametrize(
    ("what", "how"),
    [(transforms.kill, "was killed by SIGKILL"), (transforms.leave, "ended with exit status 7"), (transforms.fork_and_kill, "was killed by SIGKILL")],
)
def test_a_lost_worker_is_an_error_of_its_batch_and_the_next_one_gets_another(varied: tt.Index, tmp_path: Path, what: Any, how: str) -> None:
    transform = transforms.Once(6, tmp_path, what)
    loader = tt.DataLoader(varied, batch_size=4, columns=["labels.*"], shuffle="none", transform=transform, **PROCESSES)
    batches = iter(loader)
    next(batches)
    with pytest.raises(tt.Unavailable, match=f"worker process [0-9]+ {how} while it had the samples at positions 4, 5, 6, 7") as failed:
        next(batches)
    assert isinstance(failed.value, RuntimeError)
    assert order(batches) == [[8, 9, 10, 11], [12, 13, 14, 15], [16, 17, 18, 19]]
    assert len(order(loader)) == 5


def test_a_worker_that_dies_while_idle_is_replaced(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=5, columns=["labels.*"], transform=transforms.marked, **PROCESSES)
    whole = list(loader)
    for pid in {batch["pid"] for batch in whole}:
        os.kill(pid, signal.SIGKILL)
        transforms.wait_until(lambda pid=pid: not transforms.is_alive(pid), "the worker lives")  # type: ignore[misc]
    loader.set_epoch(0)
    again = list(loader)
    assert order(again) == order(whole)
    assert not {batch["pid"] for batch in again} & {batch["pid"] for batch in whole}


def test_a_batch_that_a_dying_worker_has_not_taken_gets_another(varied: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = tt.DataLoader(varied, batch_size=5, columns=["labels.*"], transform=transforms.marked, workers=1, worker_kind="process")
    whole = list(loader)
    pid = whole[0]["pid"]
    send, is_sent = _processes._Worker._send, threading.Event()

    def sends(*arguments: Any) -> int:
        sent = send(*arguments)
        is_sent.set()
        return sent

    monkeypatch.setattr(_processes._Worker, "_send", sends)
    # A process that is stopped takes nothing, like one whose end has begun.
    os.kill(pid, signal.SIGSTOP)
    loader.set_epoch(0)
    with ThreadPoolExecutor(1) as thread:
        again = thread.submit(list, loader)
        assert is_sent.wait(120)
        os.kill(pid, signal.SIGKILL)
        found = again.result(120)
    assert order(found) == order(whole)
    assert pid not in {batch["pid"] for batch in found}


@pytest.mark.parametrize("what", ["memory file", "socket", "send"])
def test_a_worker_that_cannot_be_started_is_an_error_and_leaves_nothing(varied: tt.Index, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    workers: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            workers.append(self)

    def fails(*_: Any) -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", Popen)
    loader = tt.DataLoader(varied, batch_size=5, columns=["labels.*"], shuffle="none", transform=dict, workers=1, worker_kind="process")
    with monkeypatch.context() as patched:
        patched.setattr(*{"memory file": (os, "memfd_create"), "socket": (socket, "socketpair"), "send": (socket, "send_fds")}[what], fails)
        batches = iter(loader)
        for _ in range(2):
            with pytest.raises(tt.Unavailable, match="a worker process cannot be started: .*Too many open files"):
                next(batches)
    assert all(worker.poll() is not None for worker in workers[:2]), "no process is left"
    transforms.wait_until(lambda: bool(order(loader)), "the loader hangs")
    assert sum(worker.poll() is None for worker in workers) == 1
    del loader, batches
    gc.collect()
    transforms.wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before, "a descriptor is open")


def test_a_transform_that_cannot_be_sent_says_what_to_do(varied: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = tt.DataLoader(varied, batch_size=4, columns=["labels.*"], shuffle="none", transform=lambda batch: {"n": len(batch["positions"])}, **PROCESSES)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    for _ in range(2):
        with pytest.raises(TypeError, match="the transform cannot be sent to worker processes: .*lambda.*pip install cloudpickle.*worker_kind=\"thread\""):
            iter(loader)
    assert loader.epoch == 0
    monkeypatch.setitem(sys.modules, "cloudpickle", transforms.Cloud("cloudpickle"))
    assert list(loader) == [{"n": 4}] * 5


def test_there_are_no_workers_where_no_descriptor_can_be_sent(varied: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "send_fds")
    with pytest.raises(tt.Unsupported, match='worker processes do not work on .*: use worker_kind="thread"'):
        iter(tt.DataLoader(varied, batch_size=4, transform=dict, **PROCESSES))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"workers": 0, "transform": dict}, "workers: 0 is outside: expected 1 to 1024"),
        ({"workers": 2**40, "transform": dict}, "workers: .* expected 1 to 1024"),
        ({"workers": True, "transform": dict}, "workers: expected an integer"),
        ({"workers": 2}, "workers: without a transform"),
        ({"worker_kind": "fiber", "transform": dict}, "worker_kind `fiber`: expected thread or process"),
        ({"worker_kind": None, "transform": dict}, "worker_kind"),
        ({"worker_kind": "process"}, 'worker_kind="process" needs a transform'),
    ],
)
def test_impossible_workers_are_refused(varied: tt.Index, arguments: Any, text: str) -> None:
    with pytest.raises(tt.Invalid, match=text):
        tt.DataLoader(varied, batch_size=4, **arguments)


def test_workers_are_also_the_number_of_threads(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=1, columns=["labels.*"], transform=dict, workers=7)
    batches = iter(loader)
    assert len(list(batches)) == ROWS and isinstance(loader._pool, ThreadPoolExecutor) and loader._pool._max_workers == 7


# Processes that begin and end.


def test_workers_stay_for_the_next_epoch_and_end_with_the_loader(varied: tt.Index) -> None:
    loader = tt.DataLoader(varied, batch_size=5, columns=["labels.*"], transform=transforms.marked, **PROCESSES)
    pids = [{batch["pid"] for batch in loader} for _ in range(3)]
    assert len(set.union(*pids)) <= 2
    del loader
    gc.collect()
    for pid in set.union(*pids):
        transforms.wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), "a worker lives, or is a zombie")  # type: ignore[misc]


def test_a_forked_child_has_workers_of_its_own(varied: tt.Index) -> None:
    table = tt.Table(varied.tables[0].url)
    loader = tt.DataLoader(table, batch_size=4, columns=["labels.*"], transform=transforms.marked, seed=2, **PROCESSES)
    whole = list(loader)
    loader.set_epoch(0)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        is_right = False
        try:
            rest = list(batches)
            is_right = order(rest) == order(whole)[1:] and {batch["parent"] for batch in rest} == {os.getpid()}
            del loader, batches
        finally:
            # No exception may go on with the tests here.
            os._exit(0 if is_right else 1)
    transforms.wait_until(lambda: not transforms.is_alive(child), "the child hangs")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    rest = list(batches)
    assert order(rest) == order(whole)[1:], "and so does the parent"
    assert {batch["pid"] for batch in rest} <= {batch["pid"] for batch in whole}, "whose workers the child left alone"


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_daemonic_process_may_have_workers(varied: tt.Index, method: str) -> None:
    table = tt.Table(varied.tables[0].url)
    loader = tt.DataLoader(table, batch_size=4, columns=["labels.*"], transform=dict, seed=2, **PROCESSES)
    context: Any = multiprocessing.get_context(method)
    found = context.Queue()
    process = context.Process(target=transforms.in_daemon, args=(loader, found), daemon=True)
    process.start()
    assert found.get(timeout=120) == order(loader)
    process.join(120)
    assert process.exitcode == 0


HEAD = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
import tetrys as tt

def slow(batch):
    time.sleep(0.01)
    return {**batch, "pid": os.getpid()}

def stuck(batch):
    if 3 in batch["positions"]:
        time.sleep(1000)
    return {**batch, "pid": os.getpid()}

def made(transform):
    return tt.DataLoader(tt.Table(sys.argv[1]), batch_size=1, columns=["labels.*"], shuffle="none", transform=transform, workers=2, worker_kind="process")
"""

ENDS = """
if __name__ == "__main__":
    loader = made(stuck)
    batches = iter(loader)
    print(next(batches)["pid"], next(batches)["pid"], flush=True)
"""

LOOP = """
if __name__ == "__main__":
    loader = made(slow)
    pids = sorted({batch["pid"] for batch in loader})
    print(*pids, flush=True)
    while True:
        for batch in loader:
            pass
"""

STUCK = ENDS + """
    for batch in batches:
        pass
"""

FORKED = """
if __name__ == "__main__":
    loader = made(slow)
    pids = sorted({batch["pid"] for batch in loader})
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    print(*pids, flush=True)
    time.sleep(1000)
"""

UNGUARDED = """
for batch in made(slow):
    print(batch["pid"], flush=True)
"""

BROKEN = """
if __name__ != "__main__":
    raise KeyError("no main")
batches = iter(made(slow))
for _ in range(2):
    try:
        next(batches)
    except tt.Invalid as error:
        print(error, "|", type(error.__cause__).__name__, flush=True)
"""


def script(varied: tt.Index, folder: Path, code: str) -> subprocess.Popen[str]:
    """Runs a script in a group of processes of its own."""
    (folder / "script.py").write_text(HEAD + code)
    command = [sys.executable, str(folder / "script.py"), varied.tables[0].url, transforms.HERE]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def pids_of(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    return [int(pid) for pid in process.stdout.readline().split()]


def ended(pids: list[int]) -> None:
    for pid in pids:
        transforms.wait_until(lambda pid=pid: not transforms.is_alive(pid), "a worker lives")  # type: ignore[misc]


def shared() -> set[str]:
    """Names of shared memory, as libraries of Python give them."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("tetrys", "psm_", "torch_", "pym-"))}


def test_the_end_of_a_program_ends_its_workers_also_in_the_middle_of_a_batch(varied: tt.Index, tmp_path: Path) -> None:
    process = script(varied, tmp_path, ENDS)
    pids = pids_of(process)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (0, "", "") and len(pids) == 2
    ended(pids)


@pytest.mark.parametrize("code", [LOOP, STUCK, FORKED])
def test_a_killed_parent_leaves_no_worker_and_no_shared_memory(varied: tt.Index, tmp_path: Path, code: str) -> None:
    before = shared()
    process = script(varied, tmp_path, code)
    pids = pids_of(process)
    assert pids and all(map(transforms.is_alive, pids))
    process.kill()
    ended(pids)
    assert process.wait(120) == -signal.SIGKILL
    assert shared() <= before


@pytest.mark.parametrize("code", [LOOP, STUCK])
def test_ctrl_c_ends_a_loop_and_its_workers_with_one_traceback(varied: tt.Index, tmp_path: Path, code: str) -> None:
    process = script(varied, tmp_path, code)
    pids = pids_of(process)
    for pid in pids:
        os.kill(pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT, errors
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
    ended(pids)


def test_a_script_without_a_guard_is_an_error_that_says_so(varied: tt.Index, tmp_path: Path) -> None:
    process = script(varied, tmp_path, UNGUARDED)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and output == ""
    assert 'put what the script does under `if __name__ == "__main__":`' in errors


def test_a_worker_that_cannot_import_the_script_is_an_error_of_each_batch(varied: tt.Index, tmp_path: Path) -> None:
    process = script(varied, tmp_path, BROKEN)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    lines = output.splitlines()
    assert len(lines) == 2 and all("a worker process cannot load the transform: KeyError: 'no main'" in line and line.endswith("| _Trace") for line in lines)


def test_functions_of_a_main_module_without_a_file_need_cloudpickle(varied: tt.Index) -> None:
    code = "import sys\nsys.modules['cloudpickle'] = None\n" + HEAD
    code += "try:\n    list(made(slow))\nexcept tt.Invalid as error:\n    print(error)\nprint(len(list(made(dict))))"
    command = [sys.executable, "-c", code, varied.tables[0].url, transforms.HERE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot load the transform: AttributeError" in done.stdout and "pip install cloudpickle" in done.stdout
    assert done.stdout.rstrip().endswith(str(ROWS))


def test_a_pool_that_has_ended_answers_its_jobs(varied: tt.Index) -> None:
    pool = _processes.Pool(dict, 1, 'worker_kind="thread"')
    crew = pool._crew

    def job(call: Any) -> Any:
        return call(({"a": 1},), "nothing", _processes.Carried())

    assert pool.submit(job).result(120) == {"a": 1}
    crew.end()
    late: Future[Any] = pool.submit(job)
    assert isinstance(late.exception(120), tt.Unavailable)
    crew.wait(120)
    assert not any(thread.is_alive() for thread in crew._threads)


# The readers of Petastorm.


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tt.Table:
    columns: dict[str, Any] = {
        "id": np.arange(90, dtype=np.int64),
        "year": (2000 + np.arange(90) // 50).astype(np.int32),
        "name": [f"log {row // 20}" for row in range(90)],
        "label": np.arange(90),
        "vector": np.arange(90 * 200, dtype=np.float32).reshape(90, 200),
    }
    return tt.write_table(str(tmp_path_factory.mktemp("logs") / "t"), columns, index=["id", "year", "name", "label"], order_by=["id"])


POOLS: list[dict[str, Any]] = [{"reader_pool_type": "thread"}, {"reader_pool_type": "process", "workers_count": 2}]


def test_readers_of_petastorm_deliver_the_same_from_processes(logs: tt.Table) -> None:
    spec = TransformSpec(transforms.rows, edit_fields=[("sum", np.float64, (), False)])
    found: list[Any] = []
    for pool in POOLS:
        with make_reader(logs, transform_spec=spec, seed=3, num_epochs=2, **pool) as reader:
            found.append(list(reader))
    assert_same([row._asdict() for row in found[1]], [row._asdict() for row in found[0]])
    assert len(found[1]) == 180 and found[1][0]._fields == found[0][0]._fields
    assert all(row.vector.base is None or row.vector.base.nbytes == row.vector.nbytes for row in found[1]), "a row keeps no other one in memory"
    frames = []
    for pool in POOLS:
        with make_batch_reader(logs, transform_spec=TransformSpec(transforms.frames), batch_size=32, seed=3, **pool) as batches:
            frames.append([batch._asdict() for batch in batches])
    assert_same(frames[1], frames[0])
    offsets = NGram({0: ["id", "label"], 1: ["vector"]}, delta_threshold=1, timestamp_field="id")
    ngrams = []
    for pool in POOLS:
        with make_reader(logs, schema_fields=offsets, transform_spec=TransformSpec(transforms.frames_of_rows), seed=3, **pool) as reader:
            ngrams.append([{offset: row._asdict() for offset, row in one.items()} for one in reader])
    assert_same(ngrams[1], ngrams[0])
    assert len(ngrams[1]) == 89


def test_a_field_with_the_name_of_an_entry_comes_from_processes_too(tmp_path: Path) -> None:
    table = tt.write_table(tmp_path / "t", {"id": np.arange(9), "positions": np.arange(27).reshape(9, 3)}, index=["id"], groups={"positions": ["positions"]})
    with make_reader(table, transform_spec=TransformSpec(transforms.same), shuffle_row_groups=False, **POOLS[1]) as reader:
        assert [(int(row.id), row.positions.tolist()) for row in reader] == [(row, [3 * row, 3 * row + 1, 3 * row + 2]) for row in range(9)]


def test_readers_with_processes_resume_say_errors_and_end_their_workers(logs: tt.Table, tmp_path: Path) -> None:
    spec = TransformSpec(transforms.rows, edit_fields=[("sum", np.float64, (), False)])
    reader = make_reader(logs, schema_fields=["id", "vector"], transform_spec=spec, seed=3, **POOLS[1])
    whole = [int(row.id) for row in make_reader(logs, schema_fields=["id"], seed=3)]
    first = [int(next(reader).id) for _ in range(70)]
    again = make_reader(logs, schema_fields=["id", "vector"], transform_spec=spec, **POOLS[0])
    again.load_state_dict(reader.state_dict())
    assert sorted([*first, *(int(row.id) for row in again)]) == sorted(whole)
    workers = list(reader._loader._pool._crew._workers)
    pids = [worker._process.pid for worker in workers if worker._process is not None]
    with reader:
        pass
    assert len(pids) <= 2
    ended(pids)
    with pytest.raises(RuntimeError, match="the reader was stopped"):
        next(reader)
    broken = make_reader(logs, schema_fields=["id"], transform_spec=TransformSpec(transforms.rows), **POOLS[1])
    with pytest.raises(KeyError, match="vector"):
        next(broken)
    unknown = make_reader(logs, schema_fields=["id"], transform_spec=TransformSpec(lambda row: row), **POOLS[1])
    if "cloudpickle" not in sys.modules:
        with pytest.raises(TypeError, match='the transform cannot be sent to worker processes: .* or use reader_pool_type="thread"'):
            next(unknown)
    without = make_reader(logs, schema_fields=["id"], transform_spec=TransformSpec(removed_fields=["year"]), **POOLS[1])
    assert len(list(without)) == 90 and not without._loader._has_processes, "without a function, there is nothing for processes to do"


@pytest.mark.parametrize("kind", ["thread", "dummy", "process"])
def test_a_function_that_raises_stop_iteration_is_an_error_and_loses_no_other_batch(logs: tt.Table, kind: str) -> None:
    how: dict[str, Any] = dict(shuffle_row_groups=False, reader_pool_type=kind, workers_count=2)
    message = "the function of the transform raised StopIteration"
    offsets = NGram({0: ["id"], 1: ["id"]}, delta_threshold=1, timestamp_field="id")
    for fields, after in ((["id", "vector"], list(range(64, 90))), (offsets, list(range(32, 89)))):
        reader = make_reader(logs, schema_fields=fields, transform_spec=TransformSpec(transforms.stops_at_5), **how)
        with pytest.raises(RuntimeError, match=message):
            next(reader)
        rest = list(reader)
        assert [int((row if fields is not offsets else row[0]).id) for row in rest] == after
    batches = make_batch_reader(logs, transform_spec=TransformSpec(transforms.stops), batch_size=50, **how)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            next(batches)
    assert list(batches) == []


def test_a_reader_that_another_thread_stops_says_so_and_leaves_no_workers(logs: tt.Table) -> None:
    spec = TransformSpec(transforms.rows, edit_fields=[("sum", np.float64, (), False)])
    for _ in range(5):
        reader = make_reader(logs, transform_spec=spec, num_epochs=None, **POOLS[1])
        next(reader)
        with ThreadPoolExecutor(1) as threads:
            loop = threads.submit(lambda reader=reader: [0 for _ in reader])  # type: ignore[misc]
            reader.stop()
            with pytest.raises(RuntimeError, match="the reader was stopped"):
                loop.result(120)
        assert reader._loader._pool is None
    # The other thread stops the reader just before an epoch begins.
    reader = make_reader(logs, transform_spec=spec, **POOLS[1])
    begin = reader._loader._next_epoch

    def stopped() -> Any:
        reader.stop()
        return begin()

    reader._loader._next_epoch = stopped  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="the reader was stopped"):
        next(reader)
    assert reader._loader._pool is None


def test_threads_that_need_workers_at_once_share_a_pool(varied: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = tt.DataLoader(varied, batch_size=4, columns=["labels.*"], transform=dict, **PROCESSES)
    made = _processes.Pool.__init__

    def slow(*arguments: Any) -> None:
        time.sleep(0.1)
        made(*arguments)

    monkeypatch.setattr(_processes.Pool, "__init__", slow)
    with ThreadPoolExecutor(4) as threads:
        pools = list(threads.map(lambda _: loader._workers(), range(4)))
    assert len(set(map(id, pools))) == 1
    # A child that was forked meanwhile has a lock of its own.
    with loader._starting.lock:
        child = os.fork()
        if child == 0:
            try:
                os._exit(int(loader._starting.lock.locked()))
            finally:
                os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.torch
def test_a_converter_passes_the_number_of_workers_on(logs: tt.Table) -> None:
    from tetrys.petastorm.spark.spark_dataset_converter import SparkDatasetConverter

    converter = SparkDatasetConverter(logs.url, [logs.url], len(logs))
    how: dict[str, Any] = dict(reader_pool_type="process", transform_spec=TransformSpec(transforms.frames), data_loader_fn=lambda reader, **_: reader)
    for workers in (1, 2):
        with converter.make_torch_dataloader(num_epochs=1, workers_count=workers, **how) as reader:
            assert reader._loader._settings["workers"] == min(workers, os.cpu_count() or 1)
