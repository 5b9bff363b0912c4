"""Speed of reading a table through Ray, against `scan` in one process: `run.sh ray [--gigabytes 2]`.

Writes a table of camera pictures (200 KB of bytes, a 3 x 3 tensor and a label per row). Then reads all rows

- by `RowLoader.scan` in this process, on one thread of the reader's pool (`TETRYS_THREADS=1`) that is measured in a child, and
- by `tetrys.ray.read(..).iter_torch_batches()`, on a Ray cluster of one node with as many CPUs as the machine,

three times each, and prints the best MB/s per core. Both count the bytes of the arrays that arrive. Needs Ray and PyTorch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tetrys as tt

ROW_BYTES = 200_000
BATCH = 64
ROUNDS = 3


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


def best(read: Any) -> float:
    """Returns the most bytes per second of some rounds."""
    speeds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        speeds.append(sum(read()) / (time.perf_counter() - start))
    return max(speeds)


def bytes_of(batches: Iterable[Any]) -> Iterator[int]:
    for batch in batches:
        # Touches each page of the arrays, which some readers only map.
        for values in batch.values():
            array = np.asarray(values)
            array.reshape(-1).view(np.uint8)[::4096].sum()
            yield array.nbytes


def scan(url: str) -> float:
    loader = tt.row_loader(tt.open_table(url), columns=["camera.*", "labels.*"])
    return best(lambda: bytes_of({name: batch[name] for name in batch} for batch in loader.scan(BATCH)))


def with_ray(url: str) -> float:
    import ray
    import tetrys.ray

    # Ray replaces 127.0.0.1 by the address of the machine.
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.2")
    ray.data.DataContext.get_current().enable_progress_bars = False
    columns = ["camera.*", "labels.*"]
    return best(lambda: bytes_of(tetrys.ray.read(url, columns=columns).iter_torch_batches(batch_size=BATCH)))


def main() -> None:
    if sys.argv[1] in ("scan", "with_ray"):
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
    measured = {}
    for name, threads, over in (("scan", "1", 1), ("scan", str(cores), cores), ("with_ray", "1", cores)):
        environment = os.environ | {"TETRYS_THREADS": threads, "RAY_USAGE_STATS_ENABLED": "0"}
        ran = subprocess.run([sys.executable, __file__, name, url], env=environment, capture_output=True, text=True, check=True)
        measured[f"{name}, {threads} threads"] = json.loads(ran.stdout.splitlines()[-1]) / over
    for name, speed in measured.items():
        print(f"{name:20} {speed / 1e6:10,.0f} MB/s per core")
    first, second, third = measured.values()
    print(f"ray / scan per core: {third / second:.2f} of all cores, {third / first:.2f} of one")


if __name__ == "__main__":
    main()
