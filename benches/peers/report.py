"""The tables of `loaders.py`, as Markdown: the figures of each loader, and what Tetrys wants of them.

A loss is marked: a peer is faster than Tetrys with a cache of the same share of the data. A peer without a cache on disk is compared
with the slowest Tetrys of all shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

GLOBAL, BLOCK, PLAIN = "Tetrys, global", "Tetrys, block", "plain ranges"
OURS = (GLOBAL, BLOCK)
RANGE = 8 << 20
"""Bytes of a range in which objects are read one after the other."""


@dataclass(frozen=True)
class Row:
    """A loader in one place, with medians of its figures."""

    loader: str
    place: str
    processes: int
    cached: float | None
    """The share of the data that its cache on disk may hold; None without such a cache."""
    version: str = "-"
    order: str = "-"
    workers: int = 0
    note: str = ""
    error: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    """`first` and `second`: rows/s of the epochs; `requests_first`, `bytes_first`, ..; `mixing`; `memory`: bytes of all processes."""

    @property
    def is_peer(self) -> bool:
        return self.loader not in (*OURS, PLAIN)

    @property
    def share(self) -> str:
        return "-" if self.cached is None else "none" if self.cached == 0 else "all" if self.cached >= 1 else f"{self.cached:g}"


@dataclass(frozen=True)
class Check:
    """A figure that is wanted, and what was found."""

    figure: str
    wanted: str
    found: str
    holds: bool

    def line(self) -> str:
        return f"| {self.figure} | {self.wanted} | {self.found}{'' if self.holds else ': **missed**'} |"


def ratio(rows: list[Row], ours: str, other: Row, epoch: str) -> float | None:
    """Returns the speed of one of our loaders in units of another one's: the least of the rows that it is compared with."""
    alike = [row for row in rows if row.loader == ours and not row.error and (row.place, row.processes) == (other.place, other.processes)]
    if other.cached is not None:
        alike = [row for row in alike if row.cached == other.cached]
    return min((row.figures[epoch] / other.figures[epoch] for row in alike), default=None)


def table(rows: list[Row], place: str, processes: int) -> Iterator[str]:
    """Returns the lines of the table of one place and number of processes."""
    shown = [row for row in rows if (row.place, row.processes) == (place, processes)]
    ours = [name for name in OURS if any(row.loader == name and not row.error for row in shown)]
    epochs = ("first", "second")
    columns = ["loader", "version", "order", "cache", "workers", "mixing", "first epoch rows/s", "second epoch rows/s"]
    columns += [f"{name} / it: {epoch}" for name in ours for epoch in epochs]
    if place == "s3":
        columns += [f"{what}: {epoch}" for what in ("requests", "MB") for epoch in epochs]
    columns += ["memory MB", "notes"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for row in shown:
        cells = [row.loader, row.version, row.order, row.share]
        if not row.error:
            figures = row.figures
            cells += [str(row.workers), f"{figures['mixing']:.2f}", *(f"{figures[epoch]:,.0f}" for epoch in epochs)]
            for name in ours:
                cells += [_against(rows, name, row, epoch) for epoch in epochs]
            if place == "s3":
                cells += [f"{figures[f'requests_{epoch}']:,.0f}" for epoch in epochs]
                cells += [f"{figures[f'bytes_{epoch}'] / 1e6:,.0f}" for epoch in epochs]
            cells += [f"{figures['memory'] / 1e6:,.0f}" if figures["memory"] else "-"]
        cells += [""] * (len(columns) - 1 - len(cells)) + [row.error or row.note]
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _against(rows: list[Row], ours: str, row: Row, epoch: str) -> str:
    found = None if row.loader in OURS else ratio(rows, ours, row, epoch)
    if found is None:
        return ""
    return f"{found:.2f}" + (" **lost**" if found < 1 and row.is_peer else "")


def checks(rows: list[Row], payload: int, stored: int) -> Iterator[Check]:
    """Compares the figures with those that are wanted. `payload` has the bytes of all rows, `stored` those of the objects of Tetrys.

    A check whose rows are not there is left out.
    """
    good = [row for row in rows if not row.error]
    for processes in sorted({row.processes for row in good}):
        some = [row for row in good if row.processes == processes]
        for check in (*_speeds(some), *_traffic(some, payload, stored)):
            yield Check(f"{check.figure}; {_processes_text(processes)}", check.wanted, check.found, check.holds)
    yield from _shared(good)


def _processes_text(processes: int) -> str:
    return "1 process" if processes == 1 else f"{processes} processes"


def _at_least(figure: str, wanted: float, found: float) -> Check:
    return Check(figure, f">= {wanted:g}", f"{found:.2f}", found >= wanted)


def _at_most(figure: str, wanted: float, found: float) -> Check:
    return Check(figure, f"<= {wanted:g}", f"{found:.2f}", found <= wanted)


def _speeds(rows: list[Row]) -> Iterator[Check]:
    remote = [row for row in rows if row.place == "s3"]
    for plain in (row for row in remote if row.loader == PLAIN):
        if (found := ratio(remote, GLOBAL, plain, "first")) is not None:
            yield _at_least("global shuffle, first epoch, of plain ranges", 0.9, found)
    for ours, epoch, wanted in ((GLOBAL, "first", 1.0), (GLOBAL, "second", 1.0), (BLOCK, "first", 1.1), (BLOCK, "second", 1.1)):
        against = [(ratio(remote, ours, row, epoch), row) for row in remote if row.is_peer]
        if found_all := [(found, row) for found, row in against if found is not None]:
            found, row = min(found_all, key=lambda one: one[0])
            figure = f"{ours.split(', ')[1]} shuffle, {epoch} epoch, of the fastest peer ({row.loader}, cache {row.share})"
            yield _at_least(figure, wanted, found)
    seconds = {row.cached: row.figures["second"] for row in remote if row.loader == GLOBAL and row.cached is not None}
    local = [row.figures["second"] for row in rows if row.loader == GLOBAL and row.place == "local"]
    whole = max((share for share in seconds if share >= 1), default=None)
    if whole is not None and local:
        yield _at_least("global shuffle, second epoch, all on disk, of the local one", 0.8, seconds[whole] / local[0])
    for share in sorted(share for share in seconds if 0 < share < 1):
        if whole is not None and 0 in seconds:
            # The time of a row, if its bytes come from the disk as often as the cache is large.
            expected = 1 / (share / seconds[whole] + (1 - share) / seconds[0])
            yield _at_least(f"global shuffle, second epoch, {share:g} on disk, of the mean of both by time", 0.9, seconds[share] / expected)


def _traffic(rows: list[Row], payload: int, stored: int) -> Iterator[Check]:
    for row in rows:
        if row.place != "s3":
            continue
        requests, read = row.figures["requests_first"], row.figures["bytes_first"]
        if row.loader == BLOCK:
            yield _at_most(f"block shuffle, cache {row.share}: requests, of the objects in ranges of 8 MiB", 1.1, requests / math.ceil(stored / RANGE))
            yield _at_most(f"block shuffle, cache {row.share}: bytes, of the payload", 1.1, read / payload)
        if row.loader == GLOBAL:
            yield _at_most(f"global shuffle, cache {row.share}: requests, of one a row and group", 1.0, requests / row.figures["rows"])


def _shared(rows: list[Row]) -> Iterator[Check]:
    """Compares processes that share a cache on disk with a single one."""
    for row in rows:
        if row.place != "s3" or row.loader not in OURS or row.processes == 1 or row.cached is None or row.cached < 1:
            continue
        for one in rows:
            if (one.loader, one.place, one.processes, one.cached) == (row.loader, row.place, 1, row.cached):
                found = row.figures["requests_first"] / one.figures["requests_first"]
                yield _at_most(f"{row.loader}, all on disk: requests of {row.processes} processes, of one process's", 1.1, found)
