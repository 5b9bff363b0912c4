"""Measures how many rows a second a reader delivers: `python -m tetrys.petastorm.benchmark.cli TABLE`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .throughput import ReadMethod, WorkerPoolType, reader_throughput

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program with some arguments; None: those of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tetrys.petastorm.benchmark.cli", description="Measures how many rows a second a reader delivers.")
    parser.add_argument("dataset_path", help="URL or path of the table")
    parser.add_argument("--field-regex", nargs="+", help="regular expressions of the names of the fields to read")
    parser.add_argument("-w", "--workers-count", type=int, default=3, help="threads or processes of the reader")
    parser.add_argument("-p", "--pool-type", type=WorkerPoolType, default=WorkerPoolType.THREAD, choices=list(WorkerPoolType), help="workers of the reader")
    parser.add_argument("-m", "--warmup-cycles", type=int, default=200, help="rows before the measurement")
    parser.add_argument("-n", "--measure-cycles", type=int, default=1000, help="rows that are measured")
    parser.add_argument("-d", "--read-method", type=ReadMethod, default=ReadMethod.PYTHON, choices=list(ReadMethod), help="`python`; TensorFlow is not measured")
    for short, unused in (("-q", "--shuffling-queue-size"), (None, "--min-after-dequeue")):
        parser.add_argument(*filter(None, (short, unused)), type=int, help="unused")
    for unused in ("--profile-threads", "-v", "-vv"):
        parser.add_argument(unused, action="store_true", help="unused")
    given = parser.parse_args(arguments)
    result = reader_throughput(
        given.dataset_path, given.field_regex, given.warmup_cycles, given.measure_cycles, given.pool_type, given.workers_count, read_method=given.read_method
    )
    print(
        f"Average sample read rate: {result.samples_per_second:1.2f} samples/sec; RAM {result.memory_info.rss / 2**20:1.2f} MB (rss); CPU {result.cpu:1.2f}%"
    )


_main = main

if __name__ == "__main__":
    main(sys.argv[1:])
