"""Jobs of the Ray tests whose workers and drivers are killed, and the tables that such jobs are compared with."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import cluster_data as data
import pyarrow as pa
import ray.data
import tetrys as tt
import tetrys.ray
from tetrys import cluster
from tetrys._sources import write_source

LOGS = data.names(6)
HEAD = "127.0.0.2"
"""Address of the head node."""


def alone(url: str, logs: Iterable[str], **size: int) -> tt.Table:
    """Writes logs in this process, each as a partition."""
    writer = tt.Writer(url, schema=data.SCHEMA, **data.LAYOUT)
    receipts = []
    for log in logs:
        with writer.partition() as partition:
            for batch in data.batches(log, **size):
                partition.write(batch)
        receipts.append(partition.receipt)
    return writer.commit(receipts)


def content(source: tt.Table | str, by: tuple[str, ...] = ("log", "time")) -> Any:
    """Returns all rows of a table, sorted, as Arrow data."""
    index = tt.read_index(source).sort(list(by))
    columns = [*index.columns, "*"]
    return pa.table(tt.row_loader(index).take(range(len(index)), columns))


def chunks(table: tt.Table) -> dict[str, int]:
    """Returns the chunk files of a table in a folder: names, which are hashes of the bytes, and sizes."""
    folder = Path(table.url.removeprefix("file://")) / "chunks"
    return {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def is_absent(url: str) -> bool:
    try:
        tt.Table(url)
    except tt.NotFound:
        return True
    return False


def assert_collected(table: tt.Table, like: tt.Table) -> None:
    """Collects garbage, and compares the chunks that are left with those of a table that was written without faults."""
    for _ in range(3):
        table.gc(age=timedelta(0), apply=True)
    assert chunks(table) == chunks(like)
    assert table.verify()["damage"] == []


class Dying:
    """Function of a source that kills its worker at a random time, while it reads or after that, up to `lives` times for a source."""

    def __init__(self, folder: Path, seed: int, lives: int, logs: list[str]) -> None:
        self.folder, self.seed, self.lives, self.logs = folder, seed, lives, logs
        folder.mkdir(exist_ok=True)

    def runs(self) -> int:
        return len(list(self.folder.iterdir()))

    def begin(self, source: str) -> None:
        (self.folder / f"{source} {time.time_ns()}").touch()
        run = sum(path.name.startswith(source) for path in self.folder.iterdir())
        if run <= self.lives:
            delay = random.Random(f"{self.seed} {source} {run}").uniform(0, 0.3)
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def __call__(self, source: str) -> Iterator[Any]:
        self.begin(source)
        for batch in data.batches(source, batch=4):
            time.sleep(0.02)
            yield batch


class DyingSink(tetrys.ray.TetrysDatasink):  # type: ignore[misc]
    """Datasink whose tasks run twice, and whose workers die now and then."""

    dying: Dying

    def write(self, blocks: Iterable[Any], ctx: Any) -> tt.Receipt | None:
        blocks = list(blocks)
        self.dying.begin(f"task {ctx.task_idx}")
        receipts = [super(DyingSink, self).write(blocks, ctx) for _ in range(2)]
        return random.choice(receipts)


DRIVER = """
import os, pickle, signal, sys
import ray
import tetrys.ray
from tetrys import cluster
import cluster_data as data

address, url, moment, folder = sys.argv[1:]
ray.init(address=address, log_to_driver=False, _node_ip_address=address.split(":")[0])
commit = cluster.commit

def dies(plan, receipts=None):
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    commit(plan, receipts)
    os.kill(os.getpid(), signal.SIGKILL)

cluster.commit = dies
dying = pickle.loads(open(folder, "rb").read())
tetrys.ray.extract(dying.logs, dying, url, schema=data.SCHEMA, retries=20, **data.LAYOUT)
"""


def job(engine: str, folder: Path, seed: int, like: tt.Table) -> str:
    """Runs a job whose workers, and maybe whose driver, die. Whatever happens, the table is absent or complete, a new try succeeds,
    and a garbage collection leaves what a job without faults would have left.
    """
    chance = random.Random(seed)
    url = str(folder / "t")
    dying = Dying(folder / "runs", seed, chance.randrange(3), LOGS)
    kind = chance.choice(["extract", "twice", "sink", "before", "after"])
    settings = {"schema": data.SCHEMA, **data.LAYOUT}
    if kind == "extract":
        table = tetrys.ray.extract(LOGS, dying, url, retries=20, **settings)
    elif kind == "twice":
        plan = cluster.plan_write(url, labels=LOGS, **settings)
        task = ray.remote(write_source).options(max_retries=20, retry_exceptions=True)
        started = [[task.remote(one, dying, ["log", "time"]) for _ in range(2)] for one in plan.tasks]
        winners = [chance.choice(ray.get(both)) if chance.random() < 0.5 else ray.get(ray.wait(both)[0])[0] for both in started]
        table = cluster.commit(plan, winners)
        ray.wait([one for both in started for one in both], num_returns=2 * len(LOGS))
    elif kind == "sink":
        sink = DyingSink(url, **settings)
        sink.dying = dying
        ds = ray.data.from_items([{"log": log} for log in LOGS], override_num_blocks=len(LOGS))
        ds = ds.flat_map(lambda row: data.rows(row["log"]))
        ds.write_datasink(sink, ray_remote_args={"max_retries": 20})
        table = sink.table
    else:
        (folder / "dying").write_bytes(pickle.dumps(dying))
        driver = subprocess.run(
            [sys.executable, "-c", DRIVER, engine, url, kind, str(folder / "dying")], capture_output=True, text=True, check=False, timeout=1800
        )
        assert driver.returncode == -signal.SIGKILL, driver.stderr
        runs = dying.runs()
        if kind == "after":
            table = tt.Table(url)
            assert cluster.open_sessions(url) == []
        else:
            assert is_absent(url)
            table = tetrys.ray.extract(LOGS, dying, url, resume=True, **settings)
            assert dying.runs() == runs, "sources that were written ran again"
    assert content(table).equals(content(like))
    if kind != "sink":
        # The datasink's tasks have the logs in the order in which they come.
        assert tt.read_index(table).to_polars()["log"].to_list() == tt.read_index(like).to_polars()["log"].to_list()
    assert_collected(table, like)
    return kind
