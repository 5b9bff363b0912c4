"""What the README says of other formats is true of the versions that are installed; and the scripts that compare loaders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lance
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import tetrys as tt

BENCHES = Path(__file__).parents[2] / "benches"
VALUES = [np.random.default_rng(row).bytes(50_000) for row in range(20)]


def flip_a_bit(folder: Path) -> None:
    """Flips a bit in the middle of value 7, in whichever file of the folder has it."""
    middle = VALUES[7][25_000:25_032]
    files = [file for file in folder.rglob("*") if file.is_file() and middle in file.read_bytes()]
    assert len(files) == 1
    content = bytearray(files[0].read_bytes())
    content[content.index(middle)] ^= 1
    files[0].chmod(0o644)
    files[0].write_bytes(content)


def test_lance_returns_a_flipped_bit_as_data_and_a_table_reports_it(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"id": range(20), "jpeg": VALUES}), tmp_path / "lance")
    flip_a_bit(tmp_path / "lance")
    found = lance.dataset(tmp_path / "lance").take([7])["jpeg"][0].as_py()
    assert found != VALUES[7] and len(found) == len(VALUES[7])

    table = tt.write_table(tmp_path / "table", {"id": np.arange(20), "camera.jpeg": VALUES}, index=["id"])
    flip_a_bit(tmp_path / "table")
    with pytest.raises(tt.Corrupt, match="checksum"):
        tt.row_loader(tt.open_table(table.url)).get_row(7)


def test_polars_scans_indexes_in_lance_and_parquet_lazily(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(20)})
    lance.write_dataset(frame.to_arrow(), tmp_path / "lance")
    frame.write_parquet(tmp_path / "frame.parquet")
    for scan in (pl.scan_lance(str(tmp_path / "lance")), pl.scan_parquet(tmp_path / "frame.parquet")):
        assert isinstance(scan, pl.LazyFrame) and scan.filter(pl.col("id") > 16).collect().height == 3


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tests import the scripts of benches/peers."""
    monkeypatch.syspath_prepend(str(BENCHES / "peers"))


def row(loader: str, first: float, second: float, **more: Any) -> Any:
    from report import Row

    settings = {"place": "s3", "processes": 1, "cached": None} | more
    traffic = {"requests_first": 105.0, "requests_second": 0.0, "bytes_first": 330e6, "bytes_second": 0.0}
    figures = {"first": first, "second": second, "rows": 1000.0, "mixing": 1.0, "memory": 5e8} | traffic
    return Row(loader, figures=figures, **settings)


def test_a_faster_peer_is_a_loss_and_a_peer_without_a_cache_meets_the_slowest(peers: None) -> None:
    import report

    rows = [
        row(report.GLOBAL, 600, 3000, cached=1.0),
        row(report.GLOBAL, 500, 400, cached=0.0),
        row("Lance", 450, 500),
        row("WebDataset", 700, 1500, cached=1.0),
        row(report.PLAIN, 650, 640),
    ]
    assert report.ratio(rows, report.GLOBAL, rows[2], "first") == 500 / 450
    assert report.ratio(rows, report.GLOBAL, rows[3], "second") == 2
    lines = list(report.table(rows, "s3", 1))
    assert all(line.count("|") == lines[0].count("|") for line in lines)
    assert [line.count("**lost**") for line in lines[2:]] == [0, 0, 1, 1, 0]
    assert "0.80 **lost**" in lines[4] and "0.86 **lost**" in lines[5] and "| - | 0 |" in lines[4]


def test_the_wanted_figures_are_computed_from_the_rows(peers: None) -> None:
    import report

    rows = [
        row(report.GLOBAL, 600, 3000, cached=1.0),
        row(report.GLOBAL, 600, 1000, cached=0.5),
        row(report.GLOBAL, 600, 600, cached=0.0),
        row(report.BLOCK, 1600, 3000, cached=1.0),
        row(report.GLOBAL, 600, 3000, cached=1.0, processes=8),
        row(report.GLOBAL, 5000, 5000, place="local"),
        row("Lance", 1500, 500),
        row(report.PLAIN, 650, 640),
    ]
    found = {check.figure: check for check in report.checks(rows, payload=320_000_000, stored=800_000_000)}
    one = {figure.removesuffix("; 1 process"): check for figure, check in found.items()}
    assert one["global shuffle, first epoch, of plain ranges"].line().endswith("| >= 0.9 | 0.92 |")
    assert one["global shuffle, first epoch, of the fastest peer (Lance, cache -)"].line().endswith("| >= 1 | 0.40: **missed** |")
    assert one["block shuffle, first epoch, of the fastest peer (Lance, cache -)"].found == "1.07"
    assert one["global shuffle, second epoch, all on disk, of the local one"].found == "0.60"
    assert one["global shuffle, second epoch, 0.5 on disk, of the mean of both by time"].found == "1.00"
    assert one["block shuffle, cache all: requests, of the objects in ranges of 8 MiB"].found == "1.09"
    assert one["block shuffle, cache all: bytes, of the payload"].found == "1.03"
    assert found["Tetrys, global, all on disk: requests of 8 processes, of one process's"].holds
    assert not list(report.checks([], 1, 1))


def test_processes_of_a_node_wait_for_each_other_and_end_with_it(peers: None, tmp_path: Path) -> None:
    from nodes import Failed, Node, pss, rollup

    script = tmp_path / "one.py"
    script.write_text(
        f"import os, sys, time\nsys.path.insert(0, {str(BENCHES / 'peers')!r})\nfrom nodes import Seat\n"
        "seat, rank = Seat(), int(os.environ['RANK'])\nprint('noise')\n"
        "for epoch in range(2):\n    time.sleep(rank / 10)\n    seat.wait()\n    seat.say([epoch, rank, os.environ['WORLD_SIZE']])\n"
        "if rank: raise ValueError('no more')\nseat.wait()\n"
    )
    with Node([sys.executable, str(script)], 2, 60) as node:
        for epoch in range(2):
            node.ready()
            node.go()
            assert node.figures() == [[epoch, 0, "2"], [epoch, 1, "2"]]
        with pytest.raises(Failed, match="ValueError: no more"):
            node.ready()
    assert all(process.returncode is not None for process in node.processes)
    assert rollup("00400000-7ff Rollup\nRss: 9 kB\nPss:       12 kB\nPss_Dirty: 1 kB\n") == 12 * 1024
    if Path("/proc/self/smaps_rollup").exists():
        assert pss({os.getsid(0)}) > 1 << 20 and pss({-1}) == 0


def test_the_rows_of_all_processes_are_checked(peers: None) -> None:
    from loaders import Epoch
    from nodes import Failed

    sums = np.arange(4, dtype=np.uint64) + 2**63
    answers = [{"seconds": 1.0, "rows": [0, 1], "sums": sums[:2].tolist()}, {"seconds": 2.0, "rows": [3, 0], "sums": sums[[3, 0]].tolist()}]
    epoch = Epoch.of(answers, sums)
    assert (epoch.seconds, epoch.rows, epoch.note) == (2.0, 3, "drops 1 rows, repeats 1 rows")
    with pytest.raises(Failed, match="repeats 1 rows of 4"):
        Epoch.of([{"seconds": 1.0, "rows": [0, 1, 2, 3, 3], "sums": sums[[0, 1, 2, 3, 3]].tolist()}], sums)
    with pytest.raises(Failed, match="1 rows have wrong bytes, such as row 1"):
        Epoch.of([{"seconds": 1.0, "rows": [0, 1], "sums": [int(sums[0]), 5]}], sums)


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_consumer_that_is_timed_gets_a_table(tmp_path: Path) -> None:
    small = ("--what", "idle", "--places", "local", "--rows", "40", "--batch", "8", "--seconds", "0.2", "--works", "rows")
    message = run(str(BENCHES / "idle.py"), *small, "--folder", str(tmp_path))
    assert [line.split(" | ")[:4] for line in message.splitlines() if line.startswith("| local")] == [
        ["| local", shuffle, "rows", "sleeps"] for shuffle in ("global", "block")
    ]
    assert "stall" in run(str(BENCHES / "idle.py"), "--help") and "examples:" in run(str(BENCHES / "peers/loaders.py"), "--help")


@pytest.mark.torch
def test_two_processes_read_a_table_that_one_has_written(tmp_path: Path) -> None:
    small = ("--rows", "40", "--rounds", "1", "--places", "local", "--processes", "1,2", "--loaders", "Tetrys, global; Tetrys, block")
    message = run(str(BENCHES / "peers/loaders.py"), *small, "--folder", str(tmp_path))
    lines = [line for line in message.splitlines() if line.startswith("| Tetrys")]
    assert len(lines) == 4 and all(line.endswith("|  |") for line in lines), message
