"""Measures the memory of an `AgentDataset` over millions of agents: while its mask is computed, and while it delivers samples.

    python l5/benches/memory.py shared/l5/artefacts/single_scene.zarr --agents 32000000

The data set is a view that has one ingested scene many times: no payload is copied. A new process opens it, makes the data set and
takes samples. The memory is `RssAnon` of /proc, so cached files do not count, with its peak taken every 2 ms. The bound is 1 byte for
each agent, 8 for each valid one, and 100 MB, beyond what the process has after its imports.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ALLOWED = 100 << 20
"""Bytes beside the mask and the indices."""


def anonymous() -> int:
    """Returns the anonymous memory of this process in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) << 10


class Peak:
    """Takes the largest memory between its calls."""

    def __init__(self) -> None:
        self.largest = anonymous()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.largest = max(self.largest, anonymous())
            time.sleep(0.002)

    def take(self) -> int:
        largest, self.largest = max(self.largest, anonymous()), anonymous()
        return largest


def measure(table: str) -> None:
    """Opens the view and reports the memory of each step."""
    import numpy as np
    from tetrys.l5 import AgentDataset, ChunkedDataset, Rasterizer, RenderContext

    peak, before = Peak(), anonymous()
    cfg = {
        "model_params": {"history_num_frames": 10, "future_num_frames": 50, "step_time": 0.1},
        "raster_params": {"filter_agents_threshold": 0.5},
    }
    context = RenderContext([1, 1], [0.5, 0.5], [0.25, 0.5], True)
    dataset = ChunkedDataset(table).open(cache_size_bytes=16 << 20)
    opened = peak.take() - before
    started = time.monotonic()
    agents = AgentDataset(cfg, dataset, Rasterizer("stub_debug", context, 0.5, 0, True))
    made, seconds = peak.take() - before, time.monotonic() - started
    order = np.random.default_rng(0)
    for _ in range(20):
        agents.batch(order.integers(0, len(agents), 64).tolist())
    sampled = peak.take() - before
    rows, valid = len(dataset.agents), len(agents)
    bound = rows + 8 * valid + ALLOWED
    print(f"{rows} agents, {valid} valid; mask in {seconds:.1f} s; the imports take {before >> 20} MiB")
    for what, taken in (("opened", opened), ("mask computed", made), ("20 batches of 64", sampled)):
        verdict = "" if taken <= bound else ", MORE"
        print(f"{what:17} {taken / 2**20:8.1f} MiB, {(taken - 8 * valid) / rows:.2f} bytes for each agent; bound {bound >> 20} MiB{verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zarr", help="a zarr group of few scenes")
    parser.add_argument("--agents", type=int, default=32_000_000, help="agents of the view, at least")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.zarr)
        return
    import tetrys as tt
    from tetrys.l5 import ChunkedDataset, zarr_concat

    with tempfile.TemporaryDirectory() as folder:
        tt.ingest_l5(arguments.zarr, f"{folder}/scene", preset="fast")
        copies = arguments.agents / len(ChunkedDataset(f"{folder}/scene").open().agents)
        # A view of views: each step opens its inputs one by one.
        each = math.ceil(math.sqrt(copies))
        zarr_concat([f"{folder}/scene"] * each, f"{folder}/some")
        zarr_concat([f"{folder}/some"] * math.ceil(copies / each), f"{folder}/all")
        subprocess.run([sys.executable, __file__, f"{folder}/all", "--measure"], check=True)


if __name__ == "__main__":
    main()
