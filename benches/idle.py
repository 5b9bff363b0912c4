"""Measures how long a consumer waits for the data loader of Tetrys: a GPU that waits is idle.

`idle` first measures the capacity of the loader: samples/s of the first epoch of a new loader, the median of three. Then a consumer
takes 0.8 of that: it sleeps for the time of its step, or multiplies matrices on a CUDA device for as long. It runs whole epochs and half
of one, saves the state, goes on with a new loader, and runs whole epochs again. "wait share" is what the loader says (`stats()`), from
the second batch of each loader on, over the ends of epochs. "by the clock" is the share of the time that `next()` took, measured by this
script: it checks what the loader says. At most 1 % is wanted. The first batch of each loader has columns of its own.

The samples: rows of 320 KB, windows of ten rows of 32 KB, JPEGs of 640 x 400 that are decoded to 224 x 224, and the rows through a
function in Python. "local" reads from a folder with a warm page cache, "s3" from the S3 server of the tests (30 ms, 90 MB/s a stream)
without a cache on disk.

`bursts` lets that server stall in the middle of an epoch: every request waits. A budget for prefetching hides that if it holds as many
samples as the consumer takes meanwhile. The consumer takes half of the capacity, so that the loader can run ahead.

`cold` measures the first batch of a table of a million rows on S3, in new processes without a cache: from opening the table, when all
processes have imported what they need. "with the start" is from the start of the processes.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from nodes import Node, Seat, end_on_sigterm
from server import BUCKET, COMMAND, Server

EXAMPLES = f"""
examples:
  peers/run.sh idle                                      all tables, with the builds and packages that they need
  idle.py --what idle --places local --rows 300 --seconds 1    a quick look
  idle.py --what bursts --stall 2                        a server that stalls for two seconds
  idle.py --what cold --processes 1,8                    the first batch of a cold table

The S3 server is a program that prints its address; its default is
`{COMMAND}`.
Pictures need Pillow, which makes them. A row needs 0.5 MB on disk, and as much memory for s3.
"""
PICTURE = 80_000
SIZE = (224, 224)
ROW = 4 * PICTURE
"""Bytes of the pictures of a row."""
LOG = 50
"""Rows of a recording."""
MOST = 0.01
"""The largest share of the time that a consumer should wait."""
LOAD = 0.8
"""The speed of the consumer in units of the capacity."""
ROOM = 1.5
"""A budget that hides a stall, in units of what the consumer takes meanwhile."""

Batch = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """Samples, as arguments of `tetrys.DataLoader`."""

    name: str
    arguments: dict[str, Any]


def works() -> list[Work]:
    import tetrys as tt

    found = [
        Work("rows", {"columns": ["camera.*"]}),
        Work("windows of ten", {"columns": ["lidar.*"], "offsets": range(-9, 1)}),
        Work("transform", {"columns": ["camera.*"], "transform": normalised}),
    ]
    if has_pictures():
        decode = {"front.jpeg": tt.image(SIZE, layout="chw", dtype="float32")}
        found.append(Work("JPEGs decoded", {"columns": ["front.jpeg"], "decode": decode}))
    return found


def has_pictures() -> bool:
    import importlib.util

    import tetrys as tt

    return hasattr(tt, "image") and importlib.util.find_spec("PIL") is not None


def normalised(batch: Batch) -> Batch:
    """A transform as people write them: it normalises each picture of a batch, one after the other."""
    for name in [name for name in batch if name.startswith("camera.")]:
        pictures = np.empty((len(batch[name]), PICTURE // 16), np.float32)
        for number, picture in enumerate(np.asarray(batch[name])):
            small = picture[::16].astype(np.float32)
            pictures[number] = (small - small.mean()) / (small.std() + 1e-6)
        batch[name] = pictures
    return batch


def write(url: str, rows: int) -> None:
    """Writes the table of `idle` and `bursts`, with the defaults."""
    import tetrys as tt

    random = np.random.default_rng(7)
    columns: dict[str, Any] = {"log": [f"log {row // LOG:04}" for row in range(rows)], "row": np.arange(rows)}
    for camera in "abcd":
        columns[f"camera.{camera}"] = random.integers(0, 256, (rows, PICTURE), np.uint8)
    columns["lidar.points"] = random.normal(0, 30, (rows, 2000, 4)).astype(np.float32)
    if has_pictures():
        from pictures import jpeg

        different = [jpeg(seed, 640, 400) for seed in range(20)]
        # A number behind the end mark: equal values would be stored and decoded once.
        columns["front.jpeg"] = [different[row % 20] + row.to_bytes(4, "little") for row in range(rows)]
    tt.write_table(url, columns, index=["log", "row"], sequence_by=["log"], order_by=["row"])


Step = Callable[[float], Callable[[], None]]
"""Makes the step of a consumer, which takes so many seconds."""


def sleeping(seconds: float) -> Callable[[], None]:
    return lambda: time.sleep(seconds)


def multiplying(seconds: float) -> Callable[[], None]:
    """Returns a step that multiplies matrices on the CUDA device for so many seconds."""
    import torch

    matrix = torch.randn(2048, 2048, device="cuda") / 2048

    def multiply(times: int) -> float:
        torch.cuda.synchronize()
        began, product = time.perf_counter(), matrix
        for _ in range(times):
            product = product @ matrix
        torch.cuda.synchronize()
        return time.perf_counter() - began

    multiply(10)
    times = max(1, round(seconds / multiply(200) * 200))
    return lambda: None if multiply(times) else None


def consumers() -> dict[str, Step]:
    found: dict[str, Step] = {"sleeps": sleeping}
    try:
        import torch
    except ImportError:
        return found
    return found | ({"CUDA": multiplying} if torch.cuda.is_available() else {})


@dataclass
class Part:
    """What a consumer waited for a loader, from the second batch on."""

    first: float = 0.0
    """Seconds until the first batch."""
    samples: int = 0
    seconds: float = 0.0
    by_clock: float = 0.0
    """Seconds that `next()` took."""
    waited: float = 0.0
    """Seconds that the consumer waited, as the loader says."""
    worked: float = 0.0
    """Seconds that the consumer worked, as the loader says."""

    def __add__(self, other: Part) -> Part:
        sums = (self.samples + other.samples, self.seconds + other.seconds, self.by_clock + other.by_clock)
        return Part(self.first, *sums, self.waited + other.waited, self.worked + other.worked)

    @property
    def rate(self) -> float:
        return self.samples / self.seconds

    @property
    def share(self) -> float:
        return self.waited / (self.waited + self.worked) if self.waited + self.worked else 0.0

    @property
    def clock_share(self) -> float:
        return self.by_clock / self.seconds


def consume(
    loader: Any,
    work: Callable[[], None],
    seconds: float = 0,
    and_half: bool = False,
    halfway: Callable[[], object] | None = None,
) -> Part:
    """Works after each batch: for whole epochs until `seconds` are over, at least one, and then perhaps for half of another one.

    Calls `halfway` in the middle of the first epoch.
    """
    part, begun = Part(), 0.0
    before: dict[str, Any] = {}
    half = max(1, len(loader) // 2)
    began = time.perf_counter()
    is_over, epochs = False, 0
    while not is_over:
        is_half = and_half and epochs > 0 and time.perf_counter() - began >= seconds
        batches = iter(loader)
        for count in range(half if is_half else len(loader) + 1):
            asked = time.perf_counter()
            batch = next(batches, None)
            came = time.perf_counter()
            if not before:
                part.first, before, begun = came - asked, loader.stats(), came
            else:
                part.by_clock += came - asked
                part.samples += 0 if batch is None else len(batch["positions"])
            if batch is not None:
                work()
            if halfway and epochs == 0 and count + 1 == half:
                halfway()
        epochs += 1
        is_over = is_half or (not and_half and time.perf_counter() - began >= seconds)
    part.seconds, after = time.perf_counter() - begun, loader.stats()
    part.waited, part.worked = (after[name] - before[name] for name in ("consumer_waited", "loader_waited"))
    return part


@dataclass
class Bench:
    """The table of `idle` and `bursts` in one place, and how it is read."""

    url: str
    batch: int

    def loader(self, shuffle: Any, work: Work, consumer: str = "sleeps", **arguments: Any) -> Any:
        import tetrys as tt

        arguments |= work.arguments | ({"to": "torch", "device": "cuda"} if consumer == "CUDA" else {})
        return tt.DataLoader(tt.read_index(self.url), batch_size=self.batch, shuffle=shuffle, **arguments)

    def capacity(self, shuffle: str, work: Work, consumer: str = "sleeps") -> float:
        """Returns the samples/s of the first epoch of a new loader, for a consumer that does nothing."""
        parts = [consume(self.loader(shuffle, work, consumer), lambda: None) for _ in range(3)]
        return statistics.median((part.samples + self.batch) / (part.first + part.seconds) for part in parts)


def idle(bench: Bench, place: str, arguments: argparse.Namespace, chosen: list[Work]) -> Iterator[list[str]]:
    """Measures the share that a consumer waits. Returns the cells of the table."""
    for shuffle in arguments.shuffles.split(","):
        for work in chosen:
            for name, step in consumers().items():
                capacity = bench.capacity(shuffle, work, name)
                take = step(bench.batch / (arguments.load * capacity))
                loader = bench.loader(shuffle, work, name)
                first = consume(loader, take, arguments.seconds / 2, and_half=True)
                state = loader.state_dict()
                loader = bench.loader(shuffle, work, name)
                loader.load_state_dict(state)
                second = consume(loader, take, arguments.seconds / 2)
                both = first + second
                cells = [place, shuffle, work.name, name, f"{capacity:,.0f}", f"{both.rate:,.0f}"]
                cells += [f"{part.first * 1e3:,.0f} ms" for part in (first, second)]
                yield [*cells, *(percent(share) for share in (both.share, both.clock_share))]


def percent(share: float) -> str:
    return f"{share:.2%}" + ("" if share <= MOST else ": **missed**")


def bursts(bench: Bench, server: Server, arguments: argparse.Namespace, rows: Work) -> Iterator[list[str]]:
    """Measures the share that a consumer waits for a server that stalls in the middle of an epoch. Returns the cells of the table."""
    for shuffle in arguments.shuffles.split(","):
        # Half of the epoch takes four stalls at most.
        rate = min(bench.capacity(shuffle, rows) / 2, arguments.rows / 2 / (2 * arguments.stall))
        for room in (ROOM, ROOM / 6):
            budget = int(room * arguments.stall * rate * ROW)
            parts = []
            for halfway in (None, lambda: server.command(f"stall {arguments.stall}")):
                loader = bench.loader(shuffle, rows, prefetch=budget)
                parts.append(consume(loader, sleeping(bench.batch / rate), halfway=halfway))
            calm, stalled = parts
            cells = [shuffle, f"{rate:,.0f}", f"{budget / 2**20:,.0f} MiB", f"{room * arguments.stall:.1f} s"]
            wanted = percent(stalled.share) if room == ROOM else f"{stalled.share:.2%}"
            yield [*cells, f"{calm.share:.2%}", wanted, f"{stalled.clock_share:.2%}"]


def write_cold(url: str, rows: int) -> None:
    """Writes a table of narrow rows: a recording, a time and 50 words."""
    import tetrys as tt

    random = np.random.default_rng(7)
    columns: dict[str, Any] = {"log": [f"recording {row // 2500:06}" for row in range(rows)], "time": np.arange(rows) * 100}
    columns["words.ids"] = random.integers(0, 50_000, (rows, 50)).astype(np.uint16)
    tt.write_table(url, columns, index=["log", "time"], sequence_by=["log"], order_by=["time"])


def cold_one(url: str, batch: int) -> None:
    """Reads the first batch, as a process of a node. Says the seconds."""
    import tetrys as tt

    seat = Seat()
    seat.wait()
    began = time.perf_counter()
    loader = tt.DataLoader(tt.read_index(url), batch_size=batch)
    first = next(iter(loader))
    seat.say({"seconds": time.perf_counter() - began, "samples": len(first["positions"])})
    seat.wait()


def cold(server: Server, arguments: argparse.Namespace) -> Iterator[list[str]]:
    """Measures the first batch of a cold table. Returns the cells of the table."""
    url = f"s3://{BUCKET}/cold"
    server.command("near")
    write_cold(url, arguments.cold_rows)
    for processes in (int(number) for number in arguments.processes.split(",")):
        found: dict[str, list[float]] = {"seconds": [], "all": [], "requests": [], "bytes": []}
        for _ in range(arguments.rounds):
            server.command("far")
            began = time.perf_counter()
            with Node([sys.executable, __file__, "--one", url, "--batch", str(arguments.batch)], processes) as node:
                node.ready()
                node.go()
                figures = node.figures()
                took, traffic = time.perf_counter() - began, server.command("far")
            assert all(one["samples"] == arguments.batch for one in figures)
            found["seconds"].append(max(one["seconds"] for one in figures))
            for name, value in (("all", took), ("requests", traffic["requests"]), ("bytes", traffic["bytes"])):
                found[name].append(value)
        middle = {name: statistics.median(values) for name, values in found.items()}
        limit = 0.5 if processes == 1 else 1.0
        seconds = f"{middle['seconds']:.2f} s" + ("" if middle["seconds"] < limit else ": **missed**")
        cells = [f"{arguments.cold_rows:,}", str(processes), seconds, f"{limit:g} s", f"{middle['all']:.2f} s"]
        yield [*cells, f"{middle['requests']:,.0f}", f"{middle['bytes'] / 1e6:,.1f}"]


def show(title: str, columns: str, lines: Iterator[list[str]]) -> None:
    """Prints a table line by line, as it is measured."""
    print(f"\n{title}\n\n| {' | '.join(columns.split(', '))} |\n{'|---' * len(columns.split(', '))}|", flush=True)
    for cells in lines:
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="idle,bursts,cold", help="tables to make (default: %(default)s)")
    parser.add_argument("--places", default="local,s3", help="idle: where to read from (default: %(default)s)")
    parser.add_argument("--shuffles", default="global,block", help="orders of the samples (default: %(default)s)")
    parser.add_argument("--works", default="", help="idle: samples, with `,` between them: rows, windows of ten, transform, JPEGs decoded (default: all)")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the table of idle and bursts (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="samples of a batch (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="idle: how long a consumer runs at least (default: %(default)s)")
    parser.add_argument("--load", type=float, default=LOAD, help="idle: speed of the consumer, of the capacity (default: %(default)s)")
    parser.add_argument("--stall", type=float, default=2, help="bursts: seconds that the server stalls (default: %(default)s)")
    parser.add_argument("--cold-rows", type=int, default=1_000_000, help="cold: rows of the table (default: %(default)s)")
    parser.add_argument("--processes", default="1,8", help="cold: processes with ranks (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="cold: rounds (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="folder for the data, which is removed in the end (default: a temporary one)")
    parser.add_argument("--server", default=COMMAND, metavar="COMMAND", help="command of the S3 server")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name in ("TETRYS_CACHE", "TETRYS_CACHE_MEMORY"):
        os.environ.pop(name, None)
    if arguments.one:
        cold_one(arguments.one, arguments.batch)
        os._exit(0)
    end_on_sigterm()
    what, places = arguments.what.split(","), arguments.places.split(",")
    if unknown := (set(what) - {"idle", "bursts", "cold"}) | (set(places) - {"local", "s3"}):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are idle, bursts and cold, and local and s3")
    all_ = works()
    chosen = [work for work in all_ if not arguments.works or work.name in arguments.works.split(",")]
    if not chosen:
        parser.error(f"--works: there are {', '.join(work.name for work in all_)}")
    if not has_pictures():
        print("no pictures: Pillow is missing", file=sys.stderr)
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, {arguments.rows} rows, batches of {arguments.batch}")
    server = Server(arguments.server) if "s3" in places or set(what) & {"bursts", "cold"} else None
    try:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            urls = {"local": f"{folder}/rows", "s3": f"s3://{BUCKET}/rows"}
            if "idle" not in what:
                places = []
            needed = {*places, *(["s3"] if "bursts" in what else [])}
            for place in sorted(needed):
                if server:
                    server.command("near")
                write(urls[place], arguments.rows)
            if server:
                server.command("far")
            for place in places:
                columns = "place, shuffle, samples, consumer, capacity /s, rate /s, first batch, first after the resume, wait share, by the clock"
                show(f"No idle consumer, {place}:", columns, idle(Bench(urls[place], arguments.batch), place, arguments, chosen))
            if "bursts" in what and server:
                columns = "shuffle, rate /s, prefetch, holds, wait share without a stall, with a stall, by the clock"
                title = f"The server stalls for {arguments.stall:g} s:"
                show(title, columns, bursts(Bench(urls["s3"], arguments.batch), server, arguments, all_[0]))
            if "cold" in what and server:
                show("First batch of a cold table:", "rows, processes, first batch, wanted, with the start, requests, MB", cold(server, arguments))
    finally:
        if server:
            server.end()


if __name__ == "__main__":
    main()
