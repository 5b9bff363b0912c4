"""Speed of reading a table through Ray, against `scan` in one process: `run.sh ray [--gigabytes 2]`.

Writes a table of camera pictures (200 KB of bytes, a 3 x 3 tensor and a label per row). Then reads all rows

- by `RowLoader.scan` in one process, on one thread of the reader's pool (`TETRYS_THREADS=1`), and on as many as the machine has cores,
- by `tetrys.ray.read(..).iter_torch_batches()`, on a Ray cluster of one node with as many CPUs as the machine, and
- from a Ray source that reads nothing and yields blocks of zeros, which is what Ray takes for itself.

Each is a process of its own that reads several times. Prints MB/s per core of the first reading, which starts the workers, and of the
best one, and the seconds of a core that all its processes took for a GB, which other work on the machine changes less. Counts the bytes of
the arrays that arrive. Needs Ray and PyTorch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import tetrys as tt

ROW_BYTES = 200_000
BATCH = 64
ROUNDS = 4


def rows(count: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(1)
    for start in range(0, count, BATCH):
        numbers = np.arange(start, min(start + BATCH, count))
        yield {
            "time": numbers,
            "camera.raw": random.integers(0, 256, (len(numbers), ROW_BYTES), np.uint8),
            "camera.intrinsics": np.tile(np.eye(3), (len(numbers), 1, 1)),
            "labels.class": numbers % 7,
        }


def cpu_seconds() -> float:
    """Returns the seconds that this process and its children had a core."""
    seconds = 0.0
    for process in (me := psutil.Process(), *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            seconds += sum(process.cpu_times()[:2])
    return seconds


def measured(read: Callable[[], Iterator[int]]) -> dict[str, float]:
    """Reads several times. Returns bytes per second of the first and of the best time, and the least seconds of a core for a GB."""
    speeds, costs = [], []
    for _ in range(ROUNDS):
        cpu, start = cpu_seconds(), time.perf_counter()
        size = sum(read())
        speeds.append(size / (time.perf_counter() - start))
        costs.append((cpu_seconds() - cpu) / size * 1e9)
    return {"first": speeds[0], "best": max(speeds), "cpu": min(costs[1:])}


def bytes_of(batches: Iterable[Any]) -> Iterator[int]:
    for batch in batches:
        # Touches each page of the arrays, which some readers only map.
        for values in batch.values():
            array = np.asarray(values)
            array.reshape(-1).view(np.uint8)[::4096].sum()
            yield array.nbytes


def scan(url: str) -> dict[str, float]:
    loader = tt.row_loader(tt.open_table(url), columns=["camera.*", "labels.*"])
    return measured(lambda: bytes_of({name: batch[name] for name in batch} for batch in loader.scan(BATCH)))


def started() -> Any:
    """Starts a cluster of one node. Returns Ray."""
    import ray
    import ray.data

    # Ray replaces 127.0.0.1 by the address of the machine.
    ray.init(address="local", num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.2")
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def with_ray(url: str) -> dict[str, float]:
    started()
    import tetrys.ray

    columns = ["camera.*", "labels.*"]
    return measured(lambda: bytes_of(tetrys.ray.read(url, columns=columns).iter_torch_batches(batch_size=BATCH)))


def ray_alone(url: str) -> dict[str, float]:
    """Reads zeros: as many tasks, each with a block of as many bytes."""
    ray = started()
    import pyarrow as pa
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask
    from ray.data.extensions import ArrowTensorArray

    count = len(tt.open_table(url))
    tasks = max(2 * (os.cpu_count() or 1), -(-count * ROW_BYTES // (64 << 20)))

    class Zeros(Datasource):  # type: ignore[misc]
        def estimate_inmemory_data_size(self) -> int:
            return count * ROW_BYTES

        def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> list[ReadTask]:
            rows = -(-count // tasks)
            about = BlockMetadata(num_rows=rows, size_bytes=rows * ROW_BYTES, input_files=None, exec_stats=None)
            block = lambda: [pa.table({"zeros": ArrowTensorArray.from_numpy(np.zeros((rows, ROW_BYTES), np.uint8))})]  # noqa: E731
            return [ReadTask(block, about) for _ in range(tasks)]

    return measured(lambda: bytes_of(ray.data.read_datasource(Zeros(), override_num_blocks=tasks).iter_torch_batches(batch_size=BATCH)))


def main() -> None:
    if sys.argv[1] in ("scan", "with_ray", "ray_alone"):
        print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where data is written")
    parser.add_argument("--gigabytes", type=float, default=2)
    options = parser.parse_args()
    url = str(options.folder / "pictures")
    count = int(options.gigabytes * 1e9 / ROW_BYTES)
    if not Path(url).exists():
        tt.write_table(url, rows(count), index=["time"], preset="fast")
    cores = os.cpu_count() or 1
    found = {}
    for name, threads, over in (("scan", 1, 1), ("scan", cores, cores), ("with_ray", 1, cores), ("ray_alone", 1, cores)):
        environment = os.environ | {"TETRYS_THREADS": str(threads), "RAY_USAGE_STATS_ENABLED": "0"}
        ran = subprocess.run([sys.executable, __file__, name, url], env=environment, capture_output=True, text=True, check=True)
        one = found[name, threads] = json.loads(ran.stdout.splitlines()[-1])
        first, best = (one[key] / over / 1e6 for key in ("first", "best"))
        print(f"{name:10} {threads} threads: first {first:8,.0f}, best {best:8,.0f} MB/s per core; {one['cpu']:.2f} s of a core for a GB", flush=True)
    reading, ray, alone = found["scan", cores], found["with_ray", 1], found["ray_alone", 1]
    print(f"ray / scan per core: {ray['best'] / reading['best']:.2f} by time, {reading['cpu'] / ray['cpu']:.2f} by seconds of a core")
    print(f"Ray alone / scan per core: {alone['best'] / reading['best']:.2f} by time, {reading['cpu'] / alone['cpu']:.2f} by seconds of a core")


if __name__ == "__main__":
    main()
