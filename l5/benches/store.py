"""Measures the samples of a Level 5 table on S3, cold and from decoded blocks in memory, beside plain reads of ranges.

    tetrys generate scenes.zarr --scenes 100 --agents 100
    python l5/benches/store.py scenes.zarr --server 'remote-bench serve'

`--server` starts the S3 server of the tests (`cargo bench -p tetrys --bench remote -- serve`) on the loopback, 30 ms and 90 MB/s a stream
away. Samples are those of agents, in random order, batches of 64, history 10, future 50, no raster. The first epoch is cold, the second one reads decoded blocks, and
the third one is cold again, through the data loader, which prefetches. Plain reads get the objects of the
table in ranges of 8 MiB, 16 at a time. Rates are medians of all rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

URL = "s3://data/l5"
BATCH = 64
RANGE = 8 << 20


class Server:
    """The S3 server, a process that ends with its standard input."""

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        address = self._answer()
        os.environ |= {"AWS_ACCESS_KEY_ID": address["key"], "AWS_SECRET_ACCESS_KEY": address["secret"], "AWS_REGION": "us-east-1"}
        os.environ |= {"AWS_ENDPOINT": address["endpoint"], "AWS_ENDPOINT_URL": address["endpoint"], "AWS_ALLOW_HTTP": "true"}
        os.environ |= {"AWS_EC2_METADATA_DISABLED": "true"}

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def far(self) -> dict[str, Any]:
        """Returns the requests and bytes since the last call."""
        assert self.process.stdin
        self.process.stdin.write("far\n")
        self.process.stdin.flush()
        return self._answer()


def plain() -> float:
    """Returns the rate of plain range reads of all objects of the table, in MB/s."""
    import boto3

    client = boto3.client("s3")
    objects = [(one["Key"], one["Size"]) for one in client.list_objects_v2(Bucket="data", Prefix="l5/")["Contents"]]
    ranges = [(key, start, min(start + RANGE, size) - 1) for key, size in objects for start in range(0, size, RANGE)]

    def read(part: tuple[str, int, int]) -> int:
        key, first, last = part
        return len(client.get_object(Bucket="data", Key=key, Range=f"bytes={first}-{last}")["Body"].read())

    started = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(read, ranges))
    return total / (time.monotonic() - started) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zarr", help="a zarr group")
    parser.add_argument("--server", required=True, metavar="COMMAND", help="command of the S3 server")
    parser.add_argument("--batches", type=int, default=100, help="batches of an epoch (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with a new cache (default: %(default)s)")
    arguments = parser.parse_args()
    server = Server(arguments.server)
    import numpy as np
    import tetrys as tt
    from tetrys.l5 import AgentDataset, ChunkedDataset, Rasterizer, RenderContext

    tt.ingest_l5(arguments.zarr, URL)
    cfg = {
        "model_params": {"history_num_frames": 10, "future_num_frames": 50, "step_time": 0.1},
        "raster_params": {"filter_agents_threshold": 0.5},
    }
    stub = Rasterizer("stub_debug", RenderContext([1, 1], [0.5, 0.5], [0.25, 0.5], True), 0.5, 0, True)
    mask = AgentDataset(cfg, ChunkedDataset(URL).open(), stub).agents_mask
    rates: dict[str, list[float]] = {"plain ranges, MB/s": [], "cold, MB/s": [], "cold, samples/s": []}
    rates |= {"decoded, samples/s": [], "cold, loader, MB/s": [], "cold, loader, samples/s": []}
    for number in range(arguments.rounds):
        rates["plain ranges, MB/s"].append(plain())
        opened = lambda: AgentDataset(cfg, ChunkedDataset(URL).open(cache_size_bytes=1 << 30), stub, agents_mask=mask)  # noqa: E731
        agents = opened()
        order = np.random.default_rng(number).permutation(len(agents))[: arguments.batches * BATCH].reshape(-1, BATCH).tolist()
        for kind in ("cold", "decoded", "cold, loader"):
            batches = map(agents.batch, order)
            if kind == "cold, loader":
                batches = itertools.islice(tt.DataLoader(opened(), batch_size=BATCH, seed=number), arguments.batches)
            server.far()
            started = time.monotonic()
            for _ in batches:
                pass
            seconds = time.monotonic() - started
            traffic = server.far()
            rates[f"{kind}, samples/s"].append(len(order) * BATCH / seconds)
            if kind != "decoded":
                rates[f"{kind}, MB/s"].append(traffic["bytes"] / seconds / 1e6)
            print(f"round {number}, {kind}: {seconds:.2f} s, {traffic['requests']} requests, {traffic['bytes'] / 1e6:.1f} MB", flush=True)
    for name, found in rates.items():
        print(f"{name:24} {statistics.median(found):10,.0f}")
    assert server.process.stdin
    server.process.stdin.close()
    server.process.wait()


if __name__ == "__main__":
    main()
