"""Tetrys beside other formats: the same rows, the same questions, one run, every byte of each answer added up.

`run.sh [--rows 2000] [--small 65536] [--engines fast,Lance] [--seconds 0.5]` prints tables in Markdown. Each engine has a process
of its own, one after the other; its first answers are compared with the data. A rate is the median of three rounds over the same
random rows; the page cache is warm. A scan is measured with small and with large batches, and the engine's better one counts. Writing is timed twice: until the call returns, and until `sync` has returned too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from data import FIELDS, LOG, WINDOW, Wide, small
from engines import CAMERA, ENGINES, LIDAR, Engine, remove

ROUNDS = 3
BATCH = 1000
BATCHES = (8, 64)
"""Rows of a batch of a scan: the engine's better one counts."""
QUESTIONS = {
    "camera": "one camera field /s",
    "lidar": "one lidar field /s",
    "row": "whole row /s",
    "camera_window": f"{WINDOW}-row camera window /s",
    "lidar_window": f"{WINDOW}-row lidar window /s",
    "scan": "lidar scan GB/s",
    "write": "written MB/s",
    "synced": "written and synced MB/s",
    "size": "size GB",
}
SMALL = {"single": "single rows /s", "batch": f"rows /s in batches of {BATCH:,}", "small_size": "size MB"}


def touch(answer: list[Any]) -> int:
    """Adds up every byte, eight at a time where that goes."""
    total = 0
    for part in answer:
        flat = np.frombuffer(part, np.uint8) if not isinstance(part, np.ndarray) else part.reshape(-1).view(np.uint8)
        end = len(flat) & ~7
        total += int(np.add.reduce(flat[:end].view(np.uint64))) + (int(np.add.reduce(flat[end:])) if end < len(flat) else 0)
    return total


def rate(ask: Callable[[Any], list[Any]], questions: list[Any], seconds: float) -> float:
    """Answers a second."""
    for question in questions[:3]:
        touch(ask(question))
    rates = []
    for _ in range(ROUNDS):
        done, start = 0, time.perf_counter()
        while done < 3 or time.perf_counter() - start < seconds:
            touch(ask(questions[done % len(questions)]))
            done += 1
        rates.append(done / (time.perf_counter() - start))
    return statistics.median(rates)


def scan_rate(engine: Engine, batch: int) -> float:
    """GB of sweeps a second, all rows in order."""
    rates = []
    for _ in range(ROUNDS):
        start, found = time.perf_counter(), 0
        for answer in engine.scan(LIDAR, batch):
            touch(answer)
            found += sum(len(part) if isinstance(part, bytes) else part.nbytes for part in answer)
        rates.append(found / 1e9 / (time.perf_counter() - start))
    return statistics.median(rates)


def stored(path: str) -> int:
    """Bytes of the files, as long as they are."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files)


def same(answer: list[Any], expected: list[np.ndarray], padded: bool) -> None:
    """The engine answers with these bytes; padded fields begin with them."""
    found = b"".join(bytes(memoryview(np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part).cast("B")) for part in answer)
    wanted = b"".join(part.tobytes() for part in expected)
    if padded:
        assert found.startswith(wanted), f"{len(found)} bytes, expected {len(wanted)} and padding"
    else:
        assert found == wanted, f"{len(found)} bytes, expected {len(wanted)}"


def measure(engine: Engine, rows: int, small_rows: int, seconds: float) -> Iterator[tuple[str, float]]:
    data = Wide.made(rows)
    prepared = engine.prepare(data)
    os.sync()
    start = time.perf_counter()
    engine.write(prepared)
    written = time.perf_counter() - start
    os.sync()
    synced = time.perf_counter() - start
    yield "write", data.bytes / 1e6 / written
    yield "synced", data.bytes / 1e6 / synced
    yield "size", stored(engine.path) / 1e9
    engine.open()
    padded = engine.name == "zarr"
    for row in (WINDOW, rows // 2 + WINDOW, rows - 1):
        for name in FIELDS:
            same(engine.fields(row, [name]), [data.field(name, row)], padded)
        for name in (CAMERA, LIDAR):
            same(engine.window(row, name), [data.field(name, one) for one in range(row + 1 - WINDOW, row + 1)], False)
    del data, prepared
    rng = np.random.default_rng(3)
    asked = [int(row) for row in rng.integers(0, rows, 4000) if row % LOG >= WINDOW]
    yield "camera", rate(lambda row: engine.fields(row, [CAMERA]), asked, seconds)
    yield "lidar", rate(lambda row: engine.fields(row, [LIDAR]), asked, seconds)
    yield "row", rate(lambda row: engine.fields(row, FIELDS), asked, seconds)
    yield "camera_window", rate(lambda row: engine.window(row, CAMERA), asked, seconds)
    yield "lidar_window", rate(lambda row: engine.window(row, LIDAR), asked, seconds)
    yield "scan", max(scan_rate(engine, batch) for batch in BATCHES)
    remove(engine.path)
    words = small(small_rows)
    engine.write_small(engine.prepare_small(words))
    yield "small_size", stored(engine.small_path) / 1e6
    engine.open_small()
    same(engine.small([7]), [words[7]], False)
    same(engine.small([5, 900, 1300]), [words[[5, 900, 1300]]], False)
    ones = [[int(row)] for row in rng.integers(0, small_rows, 4000)]
    yield "single", rate(engine.small, ones, seconds)
    batches = [[int(row) for row in rng.integers(0, small_rows, BATCH)] for _ in range(64)]
    yield "batch", BATCH * rate(engine.small, batches, seconds)
    remove(engine.small_path)


def table(questions: dict[str, str], results: dict[str, dict[str, Any]]) -> None:
    print(f"\n| engine | version | {' | '.join(questions.values())} |")
    print("|---" * (len(questions) + 2) + "|")
    for name, found in results.items():
        if "error" in found:
            print(f"| {name} | {found['version']} | {found['error']} {'| ' * len(questions)}|")
            continue
        cells = [f"{found[key]:,.3f}" if found[key] < 10 else f"{found[key]:,.1f}" if found[key] < 100 else f"{found[key]:,.0f}" for key in questions]
        print(f"| {name} | {found['version']} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--small", type=int, default=65_536)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--engines", default="")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    wanted = [one for one in ENGINES if not arguments.engines or one.name in arguments.engines.split(",")]
    if arguments.one:
        (kind,) = [one for one in ENGINES if one.name == arguments.one]
        for key, value in measure(kind(arguments.folder), arguments.rows, arguments.small, arguments.seconds):
            print(json.dumps([key, value]), flush=True)
        return
    results: dict[str, dict[str, Any]] = {}
    for kind in wanted:
        folder = arguments.folder / kind.name.replace(" ", "-")
        folder.mkdir()
        label = f"Tetrys, {kind.name}" if kind.name in ("fast", "balanced", "compact") else kind.name
        results[label] = {}
        try:
            results[label]["version"] = kind.version()
        except Exception as error:  # noqa: BLE001: a peer that is not installed is reported
            results[label] |= {"version": "-", "error": f"not installed: {error}"}
            continue
        command = [sys.executable, __file__, "--one", kind.name, "--folder", str(folder), "--rows", str(arguments.rows)]
        command += ["--small", str(arguments.small), "--seconds", str(arguments.seconds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        results[label] |= dict(json.loads(line) for line in done.stdout.splitlines())
        if done.returncode != 0:
            results[label]["error"] = f"failed with status {done.returncode} behind {', '.join(results[label])}"
        print(f"{label}: {results[label]}", file=sys.stderr, flush=True)
        subprocess.run(["rm", "-rf", str(folder)], check=True)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, {arguments.rows} rows, {arguments.small} small rows")
    table(QUESTIONS, results)
    table(SMALL, results)
    print()
    for kind in wanted:
        if kind.note:
            print(f"- {kind.name}: {kind.note}")


if __name__ == "__main__":
    main()
