"""Compares Tetrys with other formats: the same rows and the same reads in one run, with every byte of each answer summed up.

`run.sh [--rows 2000] [--small 65536] [--engines fast,Lance] [--seconds 0.5]` prints tables in Markdown. Each engine runs in its
own process, and its first answers are compared with the data. Only one engine works at a time: each step runs on one engine
after the other, for several rounds, so that a slow phase of the machine affects all engines. A rate is the median of these
rounds, all over the same random rows. The page cache is warm if the memory of the machine holds the files of all engines (14 GB
for 2,000 rows). A scan is measured with small and with large batches, and the better figure of the engine counts. Writes are
timed twice: until the call returns, and until `sync` has returned too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from data import FIELDS, LOG, WINDOW, Wide, small
from engines import CAMERA, ENGINES, LIDAR, Engine

ROUNDS = 5
BATCH = 1000
BATCHES = (8, 64)
"""Batch sizes of a scan, in rows: the better figure of the engine counts."""
ASKED: dict[str, Callable[[Engine, int], list[Any]]] = {
    "camera": lambda engine, row: engine.fields(row, [CAMERA]),
    "lidar": lambda engine, row: engine.fields(row, [LIDAR]),
    "row": lambda engine, row: engine.fields(row, FIELDS),
    "camera_window": lambda engine, row: engine.window(row, CAMERA),
    "lidar_window": lambda engine, row: engine.window(row, LIDAR),
}
"""Reads of one row or window."""
SCANS = {f"scan {batch}": batch for batch in BATCHES}
Steps = dict[str, Callable[[], "dict[str, float] | float"]]
"""Steps that the process of an engine runs by name. A step returns figures by name, or one figure for its own name."""
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
    """Sums every byte of an answer, eight at a time if possible."""
    total = 0
    for part in answer:
        flat = np.frombuffer(part, np.uint8) if not isinstance(part, np.ndarray) else part.reshape(-1).view(np.uint8)
        end = len(flat) & ~7
        total += int(np.add.reduce(flat[:end].view(np.uint64))) + (int(np.add.reduce(flat[end:])) if end < len(flat) else 0)
    return total


def rate(ask: Callable[[Any], list[Any]], questions: list[Any], seconds: float) -> float:
    """Returns answers per second of one round."""
    for question in questions[:3]:
        touch(ask(question))
    done, start = 0, time.perf_counter()
    while done < 3 or time.perf_counter() - start < seconds:
        touch(ask(questions[done % len(questions)]))
        done += 1
    return done / (time.perf_counter() - start)


def scan_rate(engine: Engine, batch: int) -> float:
    """Returns GB of sweeps per second for one scan of all rows in order."""
    start, found = time.perf_counter(), 0
    for answer in engine.scan(LIDAR, batch):
        touch(answer)
        found += sum(len(part) if isinstance(part, bytes) else part.nbytes for part in answer)
    return found / 1e9 / (time.perf_counter() - start)


def stored(path: str) -> int:
    """Returns the total length of the files."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files)


def same(answer: list[Any], expected: list[np.ndarray], padded: bool) -> None:
    """Checks that the answer of an engine has the expected bytes. Padded fields begin with them."""
    found = b"".join(bytes(memoryview(np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part).cast("B")) for part in answer)
    wanted = b"".join(part.tobytes() for part in expected)
    if padded:
        assert found.startswith(wanted), f"{len(found)} bytes, expected {len(wanted)} and padding"
    else:
        assert found == wanted, f"{len(found)} bytes, expected {len(wanted)}"


def wide_steps(engine: Engine, rows: int, seconds: float) -> Steps:
    """Returns the steps of an engine with the wide rows, by name."""
    rng = np.random.default_rng(3)
    asked = [int(row) for row in rng.integers(0, rows, 4000) if row % LOG >= WINDOW]

    def write() -> dict[str, float]:
        data = Wide.made(rows)
        prepared = engine.prepare(data)
        os.sync()
        start = time.perf_counter()
        engine.write(prepared)
        written = time.perf_counter() - start
        os.sync()
        synced = time.perf_counter() - start
        engine.open()
        padded = engine.name == "zarr"
        for row in (WINDOW, rows // 2 + WINDOW, rows - 1):
            for name in FIELDS:
                same(engine.fields(row, [name]), [data.field(name, row)], padded)
            for name in (CAMERA, LIDAR):
                same(engine.window(row, name), [data.field(name, one) for one in range(row + 1 - WINDOW, row + 1)], False)
        for _ in engine.scan(LIDAR, BATCHES[-1]):
            pass
        return {"write": data.bytes / 1e6 / written, "synced": data.bytes / 1e6 / synced, "size": stored(engine.path) / 1e9}

    def ask(question: Callable[[Engine, int], list[Any]]) -> Callable[[], float]:
        return lambda: rate(lambda row: question(engine, row), asked, seconds)

    def scan(batch: int) -> Callable[[], float]:
        return lambda: scan_rate(engine, batch)

    return {"write": write} | {name: ask(question) for name, question in ASKED.items()} | {name: scan(batch) for name, batch in SCANS.items()}


def small_steps(engine: Engine, rows: int, seconds: float) -> Steps:
    """Returns the steps of an engine with the small rows, by name."""
    rng = np.random.default_rng(4)
    ones = [[int(row)] for row in rng.integers(0, rows, 4000)]
    batches = [[int(row) for row in rng.integers(0, rows, BATCH)] for _ in range(64)]

    def write() -> dict[str, float]:
        words = small(rows)
        engine.write_small(engine.prepare_small(words))
        engine.open_small()
        same(engine.small([7]), [words[7]], False)
        same(engine.small([5, 900, 1300]), [words[[5, 900, 1300]]], False)
        return {"small_size": stored(engine.small_path) / 1e6}

    batch = lambda: BATCH * rate(engine.small, batches, seconds)  # noqa: E731
    return {"write_small": write, "single": lambda: rate(engine.small, ones, seconds), "batch": batch}


def serve(steps: Steps) -> None:
    """Reads names of steps from standard input, runs them, and prints their figures."""
    for line in sys.stdin:
        name = line.strip()
        found = steps[name]()
        print(json.dumps(found if isinstance(found, dict) else {name: found}), flush=True)


class Process:
    """An engine in its own process, its figures so far, and its error."""

    def __init__(self, kind: type[Engine], folder: Path, arguments: argparse.Namespace, part: str) -> None:
        self.folder = folder / f"{kind.name.replace(' ', '-')}-{part}"
        self.folder.mkdir()
        command = [sys.executable, __file__, "--one", kind.name, "--part", part, "--folder", str(self.folder)]
        command += ["--rows", str(arguments.rows), "--small", str(arguments.small), "--seconds", str(arguments.seconds)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.found: dict[str, list[float]] = {}
        self.error = ""

    def step(self, name: str) -> None:
        if self.error:
            return
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.error = f"failed with status {self.process.wait()} at {name}"
            return
        for key, value in json.loads(answer).items():
            self.found.setdefault(key, []).append(value)

    def end(self) -> dict[str, float]:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)
        figures = {key: statistics.median(values) for key, values in self.found.items()}
        scans = [figures[name] for name in SCANS if name in figures]
        return figures | ({"scan": max(scans)} if scans else {})


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
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        (kind,) = [one for one in ENGINES if one.name == arguments.one]
        engine = kind(arguments.folder)
        if arguments.part == "wide":
            return serve(wide_steps(engine, arguments.rows, arguments.seconds))
        return serve(small_steps(engine, arguments.small, arguments.seconds))
    wanted = [one for one in ENGINES if not arguments.engines or one.name in arguments.engines.split(",")]
    results: dict[str, dict[str, Any]] = {}
    for kind in wanted:
        label = f"Tetrys, {kind.name}" if kind.name in ("fast", "balanced", "compact") else kind.name
        try:
            results[label] = {"version": kind.version()}
        except Exception as error:  # noqa: BLE001: a peer that is not installed is reported
            results[label] = {"version": "-", "error": f"not installed: {error}"}
    there = [(label, kind) for (label, result), kind in zip(results.items(), wanted, strict=True) if "error" not in result]
    for part, steps in {"wide": ["write", *ASKED, *SCANS], "small": ["write_small", "single", "batch"]}.items():
        processes = {label: Process(kind, arguments.folder, arguments, part) for label, kind in there}
        for step in steps:
            for _ in range(1 if step.startswith("write") else ROUNDS):
                for process in processes.values():
                    process.step(step)
            print(f"{part}: {step}: done", file=sys.stderr, flush=True)
        for label, process in processes.items():
            results[label] |= process.end()
            if process.error:
                results[label]["error"] = process.error
            print(f"{label}: {results[label]}", file=sys.stderr, flush=True)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, {arguments.rows} rows, {arguments.small} small rows")
    table(QUESTIONS, results)
    table(SMALL, results)
    print()
    for kind in wanted:
        if kind.note:
            print(f"- {kind.name}: {kind.note}")


if __name__ == "__main__":
    main()
