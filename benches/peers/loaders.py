"""Compares the data loader of Tetrys with those of others: the same rows, two epochs, batches of 64, every byte summed up.

A row has four pictures of 80,000 bytes of noise (those of data.py) and its number. With LOADERS_LEVEL5=PATH, it has the agents of a frame
of the Level 5 data set at PATH, as bytes; the frames are repeated at other places until there are enough. Each format is written once, with its own
writer and its defaults. A measurement is one process, or several that share an epoch as those of a node do: they make the loader, wait
for each other, and run two epochs. "first" includes the start of worker processes, "second" finds them running. The time of an epoch is
that of the slowest process. The loaders take turns for several rounds, so that a slow phase of the machine is slow for all, and the
figures are medians. Before that, a trial round that does not count picks the number of workers of each loader. Each batch is read
completely inside the timed loop. The sum of each row must be that of the data. All processes together must deliver each row once: a
loader that drops or repeats rows of several processes has a note, and rows/s counts different rows; with one process, it is an error. A
loader that fails is a line of the table with its error.

The table says how each loader orders the rows, and how far that mixes them: the mean distance in the data between two rows that
follow each other in a process, as a share of that of a perfect shuffle. 1.00 is a global shuffle, 0 is the order of the data.

"local" reads from a folder with a warm page cache. "s3" reads from the S3 server of the tests on the loopback, 30 ms and 90 MB/s a
stream away. The server counts requests and bytes over all processes, of the first epoch with those that open the data, of the second
with those that prepare a third. Loaders with a cache on disk have a row for each share of the data that it may hold: `--cached`. It is
empty before the first epoch, and all processes share its folder. Caches stay until all is measured: ext4 looks for a free inode for a
long time where thousands were just deleted. Tetrys' cache in memory holds at most a twentieth of the data, over all
processes. "memory" is the most that all processes of a measurement had at a time (PSS, sampled; mapped files count).

"plain ranges" is the limit of a global shuffle: the same bytes as ranges of one object, at the same concurrency, nothing checked.
Behind the tables of all places is one of what Tetrys wants, computed from them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from data import DATA
from loader_kinds import LOADERS, NAMES, ROW, Loader, Petastorm, Place, Tetrys
from nodes import Failed, Node, Seat, end_on_sigterm
from report import Row, checks, table
from server import BUCKET, COMMAND, Server

LIMIT = 600
"""Seconds after which a measurement counts as failed."""
MEMORY = 64 << 20
"""Bytes of Tetrys' cache in memory, if that is less than a twentieth of the data: its default."""
EXAMPLES = f"""
examples:
  run.sh loaders                                       all loaders, both places, with the builds and packages that it needs
  run.sh loaders --places s3 --processes 1,8           also with eight processes of a node
  LOADERS_LEVEL5=single_scene.zarr run.sh loaders      frames of Level 5 scenes instead of pictures
  loaders.py --rows 200 --rounds 1 --places local      a quick look
  loaders.py --cached 0.5 --processes 8 --places s3    eight processes, whose cache on disk holds half of the data
  loaders.py --loaders 'Tetrys, global; MosaicML'      Tetrys against one peer, with the names of the table
  loaders.py --petastorm venv/bin/python --json all.json

Petastorm needs an old pyarrow, so a python of its own (loaders_petastorm.txt). The S3 server is a program that prints its address;
its default is `{COMMAND}`.
Pictures need 0.32 MB a row and format on disk, on s3 as much memory again, and as much disk for each cache and round.
"""


def row_sums(columns: list[Any]) -> np.ndarray:
    """Sums every byte of each row over all columns, eight at a time, modulo 2^64."""
    arrays = [np.asarray(column) for column in columns]
    sums = [np.add.reduce(array.reshape(len(array), -1).view(np.uint64), axis=1) for array in arrays]
    total: np.ndarray = np.add.reduce(sums)
    return total


def measure(loader: Loader, place: Place) -> None:
    """Runs the epochs, each when all processes have come there. Says the seconds, the rows in their order, and the sum of each."""
    seat = Seat()
    for epoch in loader.epochs(place):
        seat.wait()
        rows, sums, begun = [], [], time.perf_counter()
        for batch in epoch:
            rows.append(np.array(batch["row"]))
            sums.append(row_sums([batch[name] for name in NAMES]))
        seconds = time.perf_counter() - begun
        seat.say({"seconds": seconds, "rows": _joined(rows), "sums": _joined(sums)})
    seat.wait()


def _joined(arrays: list[np.ndarray]) -> list[int]:
    found: list[int] = np.concatenate(arrays).tolist() if arrays else []
    return found


@dataclass
class Epoch:
    """What all processes together delivered in an epoch."""

    seconds: float
    rows: int
    """Number of different rows."""
    mixing: float
    note: str

    @classmethod
    def of(cls, figures: list[dict[str, Any]], expected: np.ndarray) -> Epoch:
        """Checks the rows of all processes.

        Raises:
            Failed: a row has not the bytes of the data, or a single process did not deliver each row once.
        """
        orders = [np.array(one["rows"], np.int64) for one in figures]
        rows = np.concatenate(orders)
        wrong = np.concatenate([np.array(one["sums"], np.uint64) for one in figures]) != expected[rows]
        if wrong.any():
            raise Failed(f"{wrong.sum()} rows have wrong bytes, such as row {rows[wrong][0]}")
        counts = np.bincount(rows, minlength=len(expected))
        dropped, repeated = int((counts == 0).sum()), int(len(rows) - (counts > 0).sum())
        note = ", ".join(f"{what} {number} rows" for what, number in (("drops", dropped), ("repeats", repeated)) if number)
        if note and len(figures) == 1:
            raise Failed(f"an epoch {note} of {len(expected)}")
        distances = [float(np.abs(np.diff(order)).mean()) / (len(expected) / 3) for order in orders if len(order) > 1]
        return cls(max(one["seconds"] for one in figures), len(expected) - dropped, statistics.mean(distances) if distances else 0, note)


@dataclass
class Written:
    """A format on disk, and who wrote it."""

    python: str
    version: str = "-"
    error: str = ""
    bytes: int = 0


@dataclass
class Contender:
    """A loader in one place, with its figures so far, or its error."""

    kind: type[Loader]
    written: Written
    place: str
    processes: int
    cached: float | None
    workers: int = 0
    error: str = ""
    notes: set[str] = field(default_factory=set)
    found: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, server: Server | None, scratch: Path, workers: int, expected: np.ndarray) -> dict[str, float]:
        """Runs the two epochs with an empty cache. Returns the figures.

        Raises:
            Failed: the loader failed, or delivered other rows than those of the data.
        """
        url = f"s3://{BUCKET}/{self.kind.files}" if server else str(scratch / self.kind.files)
        own = Path(tempfile.mkdtemp(dir=scratch))
        (own / "cache").mkdir()
        arguments = ["--url", url, "--workers", str(workers), "--scratch", str(own)]
        arguments += ["--memory", str(min(MEMORY, len(expected) * ROW // 20 // self.processes))]
        if self.cached:
            arguments += ["--cache", str(own / "cache")]
        if self.cached and self.cached < 1:
            arguments += ["--cache-bytes", str(int(self.cached * self.written.bytes))]
        figures: dict[str, float] = {"rows": len(expected)}
        epochs = []
        os.sync()
        if server:
            server.command("far")
        with Node([self.written.python, __file__, "--one", self.kind.name, *arguments], self.processes, LIMIT) as node:
            for name in ("first", "second"):
                node.ready()
                node.go()
                epoch = Epoch.of(node.figures(), expected)
                traffic = server.command("far") if server else {}
                figures |= {name: epoch.rows / epoch.seconds} | {f"{what}_{name}": number for what, number in traffic.items()}
                epochs.append(epoch)
        self.notes |= {epoch.note for epoch in epochs if epoch.note}
        return figures | {"mixing": statistics.mean(epoch.mixing for epoch in epochs), "memory": node.memory.peak}

    def row(self) -> Row:
        figures = {name: statistics.median(values) for name, values in self.found.items()}
        error = self.error or ("" if figures else "not measured")
        note = "; ".join(sorted(self.notes))
        cells = (self.kind.name, self.place, self.processes, self.cached, self.written.version, self.kind.order, self.workers)
        return Row(*cells, note, error, figures)


def write(kind: type[Loader], python: str, path: Path, rows: int, parts: int) -> Written:
    """Writes the rows in the format of a loader, in a process of its own."""
    found = Written(python)
    try:
        with Node([python, __file__, "--one", kind.name, "--write", str(path), "--rows", str(rows), "--parts", str(parts)], 1, LIMIT) as node:
            (found.version,) = node.figures()
    except Failed as error:
        found.error = str(error)
    found.bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(f"written: {kind.files} {found.version} {found.error}", file=sys.stderr, flush=True)
    return found


def compare(contenders: list[Contender], server: Server | None, scratch: Path, expected: np.ndarray, rounds: int) -> None:
    """Lets the loaders take turns: a trial round for the number of workers, then the rounds that count."""
    for number in range(rounds + 1):
        for one in contenders:
            tried: dict[int, float] = {}
            failed = ""
            for workers in one.kind.workers if number == 0 else (one.workers,):
                if one.error:
                    break
                try:
                    found = one.measure(server, scratch, workers, expected)
                except Failed as error:
                    failed = str(error)
                    # In the trial round, another number of workers may do.
                    one.error = failed if number else ""
                    continue
                tried[workers] = sum(1 / found[name] for name in ("first", "second"))
                for name, value in found.items() if number else ():
                    one.found.setdefault(name, []).append(value)
            if number == 0 and tried:
                one.workers = min(tried, key=lambda workers: tried[workers])
            elif number == 0:
                one.error = one.error or failed
            text = one.error or {workers: f"{2 / both:.0f} rows/s" for workers, both in tried.items()}
            name = f"{one.kind.name}, cache {one.row().share}, {one.processes} processes"
            print(f"{one.place}: round {number} of {rounds}: {name}: {text}", file=sys.stderr, flush=True)


def contenders_of(kinds: list[type[Loader]], written: dict[str, Written], place: str, processes: int, cached: list[float]) -> Iterator[Contender]:
    """Returns the loaders of a place: one for each share of the data that the cache of a loader may hold."""
    for kind in kinds:
        shares: list[float | None] = [None]
        if place == "s3" and kind.cache != "none":
            shares = [share for share in cached if share > 0 or kind.cache == "any"]
        if place in kind.places:
            for share in shares:
                of = written[kind.files]
                yield Contender(kind, of, place, processes, share, error=of.error)


def run_one(arguments: argparse.Namespace) -> None:
    """Runs a step of one loader, as a process of a node."""
    (kind,) = [one for one in LOADERS if one.name == arguments.one]
    if arguments.write:
        seat = Seat()
        kind().write(arguments.write, dict(zip(NAMES, DATA.made(arguments.rows), strict=True)), arguments.parts)
        seat.say(kind.version())
    else:
        for name in ("TETRYS_CACHE", "TETRYS_CACHE_SIZE", "TETRYS_CACHE_MEMORY"):
            os.environ.pop(name, None)
        rank, processes = (int(os.environ.get(name, default)) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1")))
        bound = int(arguments.cache_bytes) if arguments.cache_bytes else None
        place = Place(arguments.url, arguments.cache, bound, int(arguments.memory), arguments.workers, rank, processes, arguments.scratch)
        measure(kind(), place)
    # Skips the shutdown of the interpreter, in which threads of the loaders may abort the process.
    os._exit(0)


def parsed() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000, help="number of rows (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument("--places", default="local,s3", help="where to read from: local, s3 (default: %(default)s)")
    parser.add_argument("--cached", default="1,0.5,0", help="s3: shares of the data that a cache on disk may hold; 0: no cache (default: %(default)s)")
    parser.add_argument("--processes", default="1", help="processes of a node that share an epoch, such as 1,8 (default: %(default)s)")
    parser.add_argument("--loaders", default="", help="names of the loaders, with `;` between them (default: all)")
    parser.add_argument("--folder", type=Path, help="folder for the data, which is removed in the end (default: a temporary one)")
    parser.add_argument("--petastorm", default=sys.executable, metavar="PYTHON", help="python that has petastorm (default: this one)")
    parser.add_argument("--server", default=COMMAND, metavar="COMMAND", help="command of the S3 server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all figures of all rounds")
    for hidden in ("--one", "--write", "--url", "--cache", "--cache-bytes", "--memory", "--scratch"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    for hidden in ("--workers", "--parts"):
        parser.add_argument(hidden, type=int, default=0, help=argparse.SUPPRESS)
    return parser, parser.parse_args()


def main() -> None:
    parser, arguments = parsed()
    if arguments.one:
        run_one(arguments)
    end_on_sigterm()
    known = {one.name: one for one in LOADERS}
    names = [name.strip() for name in arguments.loaders.split(";") if name.strip()] or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no loader {unknown}; there are: {'; '.join(known)}")
    places = arguments.places.split(",")
    if unknown := [place for place in places if place not in ("local", "s3")]:
        parser.error(f"no place {unknown}; there are: local, s3")
    try:
        processes = [int(number) for number in arguments.processes.split(",")]
        cached = [float(share) for share in arguments.cached.split(",")]
    except ValueError as error:
        parser.error(f"--processes and --cached are numbers with `,` between them: {error}")
    if min(processes) < 1 or min(cached) < 0:
        parser.error("--processes: at least 1; --cached: at least 0")
    kinds = [known[name] for name in names]
    # Files for each worker of each process.
    parts = 1 if max(processes) == 1 else max(processes) * max(Loader.workers)
    scratch = Path(tempfile.mkdtemp(prefix="tetrys-loaders.", dir=arguments.folder)).resolve()
    server = None
    try:
        server = Server(arguments.server) if "s3" in places else None
        written: dict[str, Written] = {}
        for kind in kinds:
            if kind.files not in written and set(kind.places) & set(places):
                python = arguments.petastorm if kind is Petastorm else sys.executable
                one = written[kind.files] = write(kind, python, scratch / kind.files, arguments.rows, parts)
                if server and "s3" in kind.places and not one.error:
                    server.upload(scratch / kind.files)
        expected = row_sums(DATA.made(arguments.rows))
        print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, {arguments.rows} rows, {arguments.rounds} rounds")
        print(f"{DATA.description}, {ROW} bytes each")
        all_: list[Contender] = []
        for place in places:
            for number in processes:
                some = list(contenders_of(kinds, written, place, number, cached))
                compare(some, server if place == "s3" else None, scratch, expected, arguments.rounds)
                all_ += some
                print(f"\n{place}, processes: {number}\n", *table([one.row() for one in some], place, number), sep="\n", flush=True)
        rows = [one.row() for one in all_]
        stored = written[Tetrys.files].bytes if Tetrys.files in written else 0
        if wanted := list(checks(rows, arguments.rows * ROW, stored)):
            print("\n| figure | wanted | found |\n|---|---|---|", *(check.line() for check in wanted), sep="\n")
        print()
        for kind in kinds:
            if kind.note:
                print(f"- {kind.name}: {kind.note}")
        if arguments.json:
            arguments.json.write_text(json.dumps([vars(one.row()) | {"rounds": one.found} for one in all_], indent=1))
    finally:
        if server:
            server.end()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
