"""Iterators of a data loader: several at a time, transforms that return no batch, padded steps, traces, and bounds of arguments."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from conftest import ROWS, damaged_table
from hypothesis import given
from hypothesis import strategies as st

BATCH = 3
STEPS = 6
KINDS = ["plain", "transformed", "mix"]


def same(batch: dict[str, Any]) -> dict[str, Any]:
    return batch


def made(index: tt.Index, kind: str) -> Any:
    """Returns a loader of six batches an epoch."""
    arguments: dict[str, Any] = dict(batch_size=BATCH, columns=["timestamp"], seed=4, transform=None if kind == "plain" else same)
    if kind != "mix":
        return tt.DataLoader(index, **arguments)
    return tt.mix([tt.DataLoader(index, **arguments), tt.DataLoader(index, **{**arguments, "seed": 5})], weights=[2, 1], samples=18)


def order(loader: Any) -> list[list[int]]:
    return [batch["positions"].tolist() for batch in loader]


class Model:
    """What a loader and its iterators do: each has an epoch and a step; the newest is that of the loader."""

    def __init__(self) -> None:
        self.newest: dict[str, Any] = {"epoch": 0, "step": 0, "fresh": True}
        self.runs: list[dict[str, Any]] = []
        self.over: list[bool] = []

    def begin(self) -> None:
        epoch, step = self.newest["epoch"], self.newest["step"]
        if not self.newest["fresh"] or step == STEPS:
            epoch, step = epoch + 1, 0
        self.newest = {"epoch": epoch, "step": step, "fresh": False}
        self.runs.append(self.newest)
        self.over.append(False)

    def next(self, number: int) -> tuple[int, int] | None:
        """Returns epoch and step of the next batch of an iterator; None at its end."""
        run = self.runs[number]
        if self.over[number]:
            return None
        if run["step"] == STEPS:
            self.over[number] = True
            run.update(epoch=run["epoch"] + 1, step=0, fresh=True)
            return None
        run["step"] += 1
        return run["epoch"], run["step"] - 1

    def jump(self, epoch: int, step: int) -> None:
        epoch, step = (epoch + 1, 0) if step == STEPS else (epoch, step)
        self.newest.update(epoch=epoch, step=step, fresh=True)


EPOCHS: dict[str, list[list[list[int]]]] = {}


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_iterators_in_any_order_give_what_a_model_gives(drives: str, kind: str, data: st.DataObject) -> None:
    index = tt.read_index(drives)
    loader, model = made(index, kind), Model()
    if kind not in EPOCHS:
        other = made(index, kind)
        EPOCHS[kind] = [order(other) for _ in range(12)]
    iterators: list[Iterator[Any]] = []
    states: list[tuple[dict[str, Any], int, int]] = []
    for _ in range(data.draw(st.integers(1, 40), label="steps")):
        what = data.draw(st.sampled_from(["iter", *["next"] * 6, "save", "load", "epoch"]))
        if what == "iter" and model.newest["epoch"] < 10:
            model.begin()
            iterators.append(iter(loader))
        elif what == "next" and iterators:
            number = data.draw(st.integers(0, len(iterators) - 1), label="iterator")
            expected, batch = model.next(number), next(iterators[number], None)
            assert (batch is None) == (expected is None)
            if batch is not None and expected is not None:
                assert batch["positions"].tolist() == EPOCHS[kind][expected[0]][expected[1]]
        elif what == "save":
            states.append((loader.state_dict(), model.newest["epoch"], model.newest["step"]))
        elif what == "load" and states:
            state, epoch, step = data.draw(st.sampled_from(states))
            loader.load_state_dict(state)
            model.jump(epoch, step)
        elif what == "epoch":
            epoch = data.draw(st.integers(0, 3), label="epoch")
            loader.set_epoch(epoch)
            model.jump(epoch, 0)
        state = loader.state_dict()
        assert (state["epoch"], state["offset"] // BATCH) == (model.newest["epoch"], model.newest["step"])
        assert loader.epoch == model.newest["epoch"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_in_a_loop_and_threads_see_every_sample_of_their_epochs(index: tt.Index, kind: str) -> None:
    epochs = EPOCHS.setdefault(kind, [order(loader) for loader in [made(index, kind)] for _ in range(12)])
    loader, outer = made(index, kind), []
    for batch in loader:
        outer.append(batch["positions"].tolist())
        next(iter(loader))
    assert outer == epochs[0] and loader.epoch == STEPS
    loader = made(index, kind)
    pairs = list(zip(loader, loader, strict=True))
    assert [order([one for one, _ in pairs]), order([other for _, other in pairs])] == epochs[:2]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: order(made_once), range(8))) if (made_once := made(index, kind)) else []
    assert all(epoch in epochs for epoch in found)


class Sampled:
    """Samples that are computed, by a function of the test."""

    def __init__(self, index: tt.Index, batch: Any) -> None:
        self.index, self.batch = index, batch

    def loader_source(self) -> tt.Index:
        return self.index


@pytest.mark.parametrize("value", [None, 0, 1.5, True, "text", b"bytes", np.float32(1), np.array(3), ..., print, iter([1]), int, ValueError("no")])
def test_a_transform_that_returns_no_batch_is_an_error_that_says_so(index: tt.Index, value: Any) -> None:
    arguments: dict[str, Any] = dict(batch_size=8, columns=["timestamp"])
    loader = tt.DataLoader(index, transform=lambda batch: value, **arguments)
    batches = iter(loader)
    for _ in range(2):
        with pytest.raises(TypeError, match="a transform returns the batch that the loop gets, found") as failed:
            next(batches)
        assert isinstance(failed.value, tt.Invalid) and "positions" in " ".join(getattr(failed.value, "__notes__", ["positions"]))
    assert list(batches) == [] and loader.epoch == 1, "an error does not end the epoch"
    by_row = tt.DataLoader(index, transform=lambda sample: value, transform_rows=True, **arguments)
    with pytest.raises(TypeError, match="a transform of rows returns a dict"):
        next(iter(by_row))
    source: Any = Sampled(index, lambda positions: value)
    with pytest.raises(TypeError, match="a source of samples returns a dict of arrays"):
        next(iter(tt.DataLoader(source, batch_size=8)))


def test_what_a_transform_may_return_reaches_the_loop(index: tt.Index) -> None:
    for value in ({}, {"a": 1}, (), (1, 2), [], [None], np.zeros(3), np.zeros((0, 2)), Model(), {1, 2}):
        loader = tt.DataLoader(index, batch_size=8, columns=["timestamp"], transform=lambda batch, value=value: value)
        assert all(found is value for found in loader) and loader.epoch == 1

    def stop(positions: list[int]) -> dict[str, Any]:
        raise StopIteration

    source: Any = Sampled(index, stop)
    with pytest.raises(RuntimeError, match="the source raised StopIteration"):
        list(tt.DataLoader(source, batch_size=8))


def test_a_batch_of_damaged_samples_is_a_step_of_padding(tmp_path: Path) -> None:
    table = damaged_table(tmp_path)
    for last in ("drop", "short", "pad"):
        steps, found = [], []
        for rank in range(2):
            loader = tt.DataLoader(table, batch_size=1, shuffle="none", on_error=1, last=last, rank=rank, world_size=2)  # type: ignore[arg-type]
            batches = list(loader)
            steps.append(len(batches) - len(loader))
            found += [batch["positions"][~batch["padding"]].tolist() for batch in batches]
            assert all(batch["a.raw"].shape == (1, 40_000) and len(batch["padding"]) == 1 for batch in batches)
        assert steps == [0, 0] and sorted(map(len, found)) == [0] + [1] * 11
    with pytest.raises(tt.Invalid, match="padding"):
        tt.DataLoader(tt.write_table(tmp_path / "p", {"i": [0], "padding": [1.5]}, index="i"), batch_size=1, on_error=1)


TRACED = """
import sys, tetrys as tt
loader = tt.DataLoader(tt.Table(sys.argv[1]), batch_size=2, columns=["timestamp"], trace=sys.argv[2], transform=lambda batch: batch)
print("ready", flush=True)
how = sys.argv[3]
for epoch in range(10**9 if how == "kill" else 3):
    for batch in loader:
        if how == "break":
            break
        loader._native.traced("x" * (epoch % 700), 0.001)
"""


def traced(drives: str, path: Path, how: str) -> list[dict[str, Any]]:
    """Runs a loop in a process, which may be killed, and returns the events of its trace."""
    child = subprocess.Popen([sys.executable, "-c", TRACED, drives, str(path), how], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    if how == "kill":
        time.sleep(random.random() * 0.3)
        child.kill()
    code = child.wait(timeout=120)
    assert code == (-signal.SIGKILL if how == "kill" else 0)
    events: list[dict[str, Any]] = json.loads(path.read_text())
    return events


def test_a_trace_is_valid_json_after_a_break_a_kill_and_an_end(drives: str, tmp_path: Path) -> None:
    assert len(traced(drives, tmp_path / "break.json", "break")) > 2
    whole = traced(drives, tmp_path / "end.json", "end")
    assert len([event for event in whole if event["name"] == "transform" and event["ph"] == "b"]) == 30
    for number in range(max(3, int(os.environ.get("TETRYS_CASES", "25")) // 5)):
        events = traced(drives, tmp_path / f"{number}.json", "kill")
        assert len(events) % 2 == 0, "each event is there whole"


def test_windows_and_positions_without_end_are_refused_at_once(index: tt.Index) -> None:
    rows = tt.row_loader(index)
    for offsets in (range(-5, 10**12), range(10**30), itertools.count(), {"camera.*": range(-5, 10**12)}):
        for call in (
            lambda offsets=offsets: tt.DataLoader(index, batch_size=4, offsets=offsets),
            lambda offsets=offsets: rows.get_rows(0, offsets=offsets),
            lambda offsets=offsets: rows.get_windows([0], offsets=offsets),
            lambda offsets=offsets: rows.explain(0, offsets=offsets),
        ):
            with pytest.raises(tt.Invalid, match="offsets: found more than 16777216 values"):
                call()
    with pytest.raises(tt.Invalid, match="deltas: found more than 16777216 values"):
        tt.times("timestamp", range(10**12))
    for positions in (range(10**12), range(-(10**12), 0), range(10**30)):
        for read in (rows.take, lambda positions: list(rows.rows(positions)), rows.explain, lambda positions: rows.get_windows(positions, offsets=[0])):
            with pytest.raises(IndexError, match="is outside 0..20"):
                read(positions)
    for arguments in ({"weights": range(10**12)}, {"balance_by": range(10**30)}):
        with pytest.raises(tt.Invalid, match="found more than 20 values"):
            tt.DataLoader(index, batch_size=4, **arguments)  # type: ignore[arg-type]
    with pytest.raises(tt.Invalid, match="weights: found more than"):
        tt.mix([tt.DataLoader(index, batch_size=4)], weights=itertools.repeat(1.0))
    assert len(rows.take(range(ROWS))) == len(rows.take(range(-1, -ROWS - 1, -1))) == ROWS and len(rows.take(range(10**30, 0))) == 0
    most = 2**63 - 1
    assert len(list(rows.rows([1, 2], ahead=most))) == 2 and len(list(rows.scan(most))) == 1
    assert len(tt.row_loader(index, cache_bytes=most).take([0])) == 1
    last = tt.DataLoader(index, batch_size=8, columns=["timestamp"], prefetch=most)
    last.load_state_dict({**last.state_dict(), "epoch": 2**64 - 1, "offset": 8})
    next(iter(last))
    assert len(list(last)) == 2 and last.epoch == 1, "numbers of epochs begin again at 0"


LONG = "x" * 1_000_000


def test_messages_do_not_repeat_long_inputs(index: tt.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = tt.row_loader(index)
    data = {"i": [0], "x": [1.5]}
    calls: list[Any] = [
        lambda: tt.open_table(LONG),
        lambda: tt.read_index(index.tables[0].url + "@" + LONG),
        lambda: rows.take([0], [LONG]),
        lambda: rows.take([0], ["re:(" + LONG]),
        lambda: rows.take([0])[LONG],
        lambda: rows.take(LONG),  # type: ignore[arg-type]
        lambda: rows.get_row(10**5000),
        lambda: rows.take([10**5000]),
        lambda: rows.take([0] * 5 + [LONG]),  # type: ignore[list-item]
        lambda: rows.get_rows(0, offsets=LONG),
        lambda: tt.row_loader(index, edge=LONG),
        lambda: tt.times("timestamp", LONG),
        lambda: tt.times(LONG, ["0s"], pick=LONG),
        lambda: index.filter(f"{LONG} > 1"),
        lambda: index.filter(**{LONG: 1}),
        lambda: index.sort(LONG),
        lambda: tt.write_table("t", data, index=LONG),
        lambda: tt.write_table("t", data, index="i", preset=LONG),
        lambda: tt.write_table("t", data, index="i", schema={"x": LONG}),
        lambda: tt.write_table("t", {**data, LONG: [1, 2]}, index="i"),
        lambda: tt.write_table("t", {**data, "y": [LONG, 1]}, index="i"),
        lambda: tt.write_table("t", {**data, "y": [object()]}, index="i"),
        lambda: tt.image(layout=LONG),  # type: ignore[arg-type]
        lambda: tt.DataLoader(index, batch_size=10**5000),
        lambda: tt.DataLoader(index, batch_size=4, prefetch=LONG),
        lambda: tt.DataLoader(index, batch_size=4, shuffle=LONG),  # type: ignore[arg-type]
        lambda: tt.DataLoader(index, batch_size=4, weights=LONG),
        lambda: tt.DataLoader(index, batch_size=4, balance_by=LONG),
        lambda: tt.DataLoader(index, batch_size=4, max_step=LONG),
        lambda: tt.DataLoader(index, batch_size=4, trace=LONG),
        lambda: tt.DataLoader(index, batch_size=4).load_state_dict({LONG: 1}),
        lambda: tt.DataLoader(index, batch_size=4).load_state_dict({**tt.DataLoader(index, batch_size=4).state_dict(), "seed": LONG}),
        lambda: tt.merge(index, index, LONG),
        lambda: tt.merge(index, index, "timestamp", how=LONG),  # type: ignore[arg-type]
        lambda: tt.run(LONG),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(tt.Error) as failed:
            call()
        assert len(str(failed.value)) < 3000 and all(len(repr(argument)) < 8000 for argument in failed.value.args), number
    error = tt.NotFound("no such thing: " + LONG + " (there are: a, b)")
    assert str(error).startswith("no such thing: xxx") and str(error).endswith("xx (there are: a, b)") and "more characters" in str(error)
    assert str(tt.Invalid("short")) == "short" and tt.Invalid("a", 1).args == ("a", 1)
