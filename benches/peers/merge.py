"""Merges two tables by key with Tetrys and with Lance, and compares bytes written, seconds and memory.

`python merge.py TETRYS [--rows 1048576] [--folder FOLDER]`; TETRYS is the binary of the command line. Both tables have the same
number of rows, in logs of 1,024: a key, two small columns and 64 random bytes for each row. The logs of the right table are in
another order. Tetrys merges on (log_id, timestamp) and saves a view. Lance merges on one column only, a number made of both.
Each merge runs in its own process; its memory is its largest resident set (this process stays small, because its own set is the
least that can be measured). The page cache is warm. Bytes written are the sizes of all files after the merge minus those before
it.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

LOG = 1024
PAYLOAD = 64


def make(folder: Path, rows: int) -> None:
    """Writes both tables as Parquet and with Lance. Runs in its own process."""
    import lance
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    for seed, name in enumerate(("left", "right")):
        rng = np.random.default_rng(seed)
        logs = np.repeat(rng.permutation(rows // LOG), LOG)
        times = np.tile(np.arange(LOG) * 100_000_000, rows // LOG)
        payload = pa.FixedSizeBinaryArray.from_buffers(pa.binary(PAYLOAD), rows, [None, pa.py_buffer(rng.bytes(rows * PAYLOAD))])
        columns = {
            "log_id": pa.array([f"log-{log:06}" for log in logs]),
            "timestamp": times,
            "key": logs.astype(np.int64) << 40 | times,
            f"{name}_agents": rng.integers(0, 100, rows),
            f"{name}_speed": rng.random(rows),
            f"{name}_bytes": payload.cast(pa.binary()),
        }
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        lance.write_dataset(pa.table(columns), str(folder / "lance" / name))


def merge_lance(left: str, right: str) -> None:
    """Merges with Lance, in its own process, without right columns that the left table has: Lance rejects them."""
    import lance

    names = [name for name in lance.dataset(right).schema.names if name not in ("log_id", "timestamp")]
    dataset = lance.dataset(left)
    dataset.merge(lance.dataset(right).scanner(columns=names).to_reader(), left_on="key")


def check_lance(left: str) -> None:
    """Checks that every row has a partner."""
    import lance

    missing = lance.dataset(left).to_table(columns=["right_agents"]).column(0).null_count
    assert missing == 0, f"{missing} rows without a partner"


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measured(folder: Path, command: list[str]) -> tuple[float, int, int]:
    """Runs a command; returns its seconds, the bytes that it wrote, and its largest resident set."""
    before, start = size(folder), time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command}: exit status {child.returncode}")
    return seconds, size(folder) - before, usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tetrys", type=Path)
    parser.add_argument("--rows", type=int, default=1 << 20)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tetrys-merge.", dir=asked.folder))
    tetrys = str(asked.tetrys.resolve())
    try:
        (folder / "lance").mkdir()
        (folder / "ours").mkdir()
        subprocess.run([sys.executable, __file__, "--make", folder, str(asked.rows)], check=True)
        for name in ("left", "right"):
            index = ["log_id", "timestamp", "key", f"{name}_agents", f"{name}_speed"]
            ingest = [tetrys, "ingest", "parquet", f"{name}.parquet", f"ours/{name}", "--index", ",".join(index), "--sequence-by", "log_id"]
            subprocess.run([*ingest, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        tables = {name: (size(folder / "ours" / name), size(folder / "lance" / name)) for name in ("left", "right")}
        ours = ["merge", "left", "right", "--on", "log_id,timestamp"]
        lances = [sys.executable, __file__, "--lance", "lance/left", "lance/right"]
        found = [
            ("Tetrys, merged and not saved", measured(folder / "ours", [tetrys, *ours, "--out", "dry", "--dry-run"])),
            ("Tetrys, saved as a view", measured(folder / "ours", [tetrys, *ours, "--out", "view"])),
            (f"Lance {version('pylance')}", measured(folder, lances)),
        ]
        subprocess.run([sys.executable, __file__, "--check", folder / "lance" / "left"], check=True)
        version_text = subprocess.run([tetrys, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        cores = os.cpu_count()
        print(f"{asked.rows:,} x {asked.rows:,} rows; {version_text}; pylance {version('pylance')}; {platform.machine()}, {cores} cores")
        print(f"stored before, left and right: ours {tables['left'][0]:,} and {tables['right'][0]:,} bytes, Lance {tables['left'][1]:,} and {tables['right'][1]:,}\n")
        print("| merge | bytes written | seconds | peak memory MB |\n|---|---|---|---|")
        for what, (seconds, written, memory) in found:
            print(f"| {what} | {written:,} | {seconds:.2f} | {memory / 1e6:,.0f} |")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--make", folder, rows]:
            make(Path(folder), int(rows))
        case ["--lance", left, right]:
            merge_lance(left, right)
        case ["--check", left]:
            check_lance(left)
        case _:
            main()
