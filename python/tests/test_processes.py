"""Other processes write partitions and use pickled loaders."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tetrys as tt


def write(task: tt.PartitionTask, start: int) -> tt.Receipt:
    with task.partition() as partition:
        for rows in (np.arange(start, start + 5), np.arange(start + 5, start + 10)):
            partition.write({"i": rows, "a.x": np.stack([rows, rows], axis=1)})
    return partition.receipt


def read(loader: tt.RowLoader, position: int) -> float:
    return float(loader.get_row(position)["a.x"][1])


def writer(folder: Path) -> tt.Writer:
    return tt.Writer(str(folder / "t"), schema={"i": "i64", "a.x": "f32[2]"}, index=["i"], write_memory=1 << 20)


def test_spawned_processes_write_partitions_and_read_rows(tmp_path: Path) -> None:
    session = writer(tmp_path)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
        receipts = list(workers.map(write, [session.task() for _ in range(3)], [0, 10, 20]))
        assert [(receipt.partition, receipt.rows) for receipt in receipts] == [(0, 10), (1, 10), (2, 10)]
        table = session.commit(reversed(receipts))
        loader = tt.row_loader(table)
        np.testing.assert_array_equal(loader.take(range(30))["a.x"][:, 0], np.arange(30))
        assert list(workers.map(read, [loader] * 3, [0, 15, 29])) == [0.0, 15.0, 29.0]


def test_tasks_of_other_processes_share_blocks_with_the_reference(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 2**31, (10, 5000), np.int32)
    older = tt.write_table(str(tmp_path / "elsewhere" / "older"), {"i": np.arange(10), "a.x": noise}, index=["i"])
    session = tt.Writer(str(tmp_path / "t"), schema={"i": "i64", "a.x": "i32[5000]"}, index=["i"], reference=older)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as workers:
        receipt = workers.submit(write_noise, session.task(), noise).result()
    assert receipt.new_bytes == 0 and receipt.shared_bytes > 100_000
    table = session.commit([receipt])
    np.testing.assert_array_equal(tt.row_loader(tt.open_table(table.url, allow=older.url)).take(range(10))["a.x"], noise)


def write_noise(task: tt.PartitionTask, noise: np.ndarray) -> tt.Receipt:
    with task.partition() as partition:
        partition.write({"i": np.arange(10), "a.x": noise})
    return partition.receipt


def test_a_task_done_twice_is_taken_once(tmp_path: Path) -> None:
    session = writer(tmp_path)
    task = pickle.loads(pickle.dumps(session.task()))
    assert repr(task).startswith("PartitionTask: partition 0 of ")
    assert len(session.commit([write(task, 0), write(task, 0)])) == 10


def test_two_answers_of_one_task_and_none_are_refused(tmp_path: Path) -> None:
    session = writer(tmp_path)
    task = session.task()
    with pytest.raises(tt.Invalid, match="partition 0"):
        session.commit([write(task, 0), write(task, 5)])
    session = writer(tmp_path)
    first, _ = session.task(), session.task()
    with pytest.raises(tt.Invalid, match="1"):
        session.commit([write(first, 0)])


def test_a_partition_that_raised_is_not_finished(tmp_path: Path) -> None:
    session = writer(tmp_path)
    with pytest.raises(RuntimeError), session.partition() as partition:
        raise RuntimeError("the source broke off")
    with pytest.raises(tt.Invalid, match="not finished"):
        partition.receipt  # noqa: B018
