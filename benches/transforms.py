"""Transforms in plain Python: a data loader with threads beside one with worker processes.

A transform of some milliseconds of plain Python for each sample, which holds the interpreter's lock all the time. Measures samples per second of
one thread, two threads and two processes, in alternating rounds, each behind a first epoch that starts the workers. Then the same with a transform
that does nothing, to see what the way to a worker and back costs. Prints medians and ratios, and how often the bytes of a batch are copied: once to
a worker and once from it.

    python benches/transforms.py --samples 512 --rounds 3
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from functools import partial
from typing import Any

import numpy as np
import tetrys as tt

WAYS: dict[str, dict[str, Any]] = {
    "1 thread": {"workers": 1},
    "2 threads": {"workers": 2},
    "2 processes": {"workers": 2, "worker_kind": "process"},
}


def steps(milliseconds: float) -> int:
    """Returns how many steps of `busy` take this long here."""
    tries = []
    for _ in range(5):
        began = time.perf_counter()
        busy(100_000)
        tries.append(time.perf_counter() - began)
    return int(100_000 * milliseconds / 1000 / min(tries))


def busy(count: int) -> int:
    found = 0
    for number in range(count):
        found += number & 3
    return found


def slow(count: int, sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample, "busy": busy(count)}


def same(batch: dict[str, Any]) -> dict[str, Any]:
    return batch


def rate(loader: tt.DataLoader) -> float:
    """Samples per second of an epoch."""
    began = time.perf_counter()
    samples = sum(len(batch["positions"]) for batch in loader)
    return samples / (time.perf_counter() - began)


def compared(made: dict[str, tt.DataLoader], rounds: int) -> dict[str, float]:
    """Medians of rounds in which the loaders take turns. The first epoch of each starts its workers, and does not count."""
    for loader in made.values():
        list(loader)
    rates: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, loader in made.items():
            rates[name].append(rate(loader))
    return {name: statistics.median(values) for name, values in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pixels = np.random.default_rng(1).integers(0, 256, (chosen.samples, 64, 64, 3), np.uint8)
        table = tt.write_table(f"{folder}/t", {"id": np.arange(chosen.samples), "camera.raw": pixels}, index=["id"])
        index, count = tt.read_index(table), steps(chosen.milliseconds)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {count} steps of Python a sample")
        transform = partial(slow, count)
        made = {name: tt.DataLoader(index, batch_size=16, transform=transform, transform_rows=True, **way) for name, way in WAYS.items()}
        found = compared(made, chosen.rounds)
        for name, samples in found.items():
            print(f"{chosen.milliseconds:g} ms a sample, {name}: {samples:.1f} samples/s, {samples / found['1 thread']:.2f} of one thread")
        found = compared({name: tt.DataLoader(index, batch_size=16, transform=same, **way) for name, way in WAYS.items()}, chosen.rounds)
        for name, samples in found.items():
            megabytes = samples * pixels[0].nbytes / 1e6
            print(f"nothing to do, {name}: {samples:.0f} samples/s, {megabytes:.0f} MB/s, {16 / samples * 1000:.2f} ms a batch")
        loader = tt.DataLoader(index, batch_size=16, transform=same, worker_kind="process", workers=1)
        batches: Any = iter(loader)
        next(batches), next(batches)
        work, *_, carried = batches._ahead[0]
        work.result()
        print(f"a batch of {16 * pixels[0].nbytes} bytes: {carried.sent} bytes to a worker and {carried.received} from it, each written once and mapped")


if __name__ == "__main__":
    main()
