"""Measures what a person waits for in the viewer, in a headless Chromium, and the memory of its server.

Writes a table of many rows with twelve index columns, and one of rows with four JPEGs of about 80 KB and a sweep of 320 KB. `tetrys view`
serves both from a folder with a warm page cache. `view.mjs` then measures, from the act to the frame that shows its result: the first
rows; all heads; pages at 200 places; a sort by a column of floats; a filter that keeps half of the rows; and 60 steps to the next row of
pictures. Beside pages and steps stand the time of their requests, and what the main thread of the page did for each of them: script,
style, layout, and all together. "memory" is the most that the server had at a time (VmHWM). The engine's own scan of the twelve columns is beside the heads.

    python benches/view.py --tetrys target/release/tetrys

Needs Node, the packages of `view/web` (`npm ci` there), a Chromium, and Pillow.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import tetrys as tt
from pictures import jpeg

PARTITION = 2_500_000
"""Rows of a partition of the large table."""


def write_rows(url: str, rows: int) -> None:
    """Writes a table of twelve index columns: a log, a time, floats, whole numbers and texts."""
    random, words = np.random.default_rng(7), np.array(["rain", "fog", "sun", "snow"])
    floats, whole = [f"c{number}" for number in range(3, 9)], [f"n{number}" for number in range(9, 12)]
    schema = {"log": "i64", "time": "i64"} | dict.fromkeys(floats, "f64") | dict.fromkeys(whole, "i64") | {"weather": "utf8"}
    writer = tt.Writer(url, schema=schema, index=list(schema), sequence_by=["log"], order_by=["time"])
    receipts = []
    for first in range(0, rows, PARTITION):
        row = np.arange(first, min(first + PARTITION, rows), dtype=np.int64)
        columns = {"log": row // 20_000, "time": row * 100_000_000}
        columns |= {name: random.random(len(row)) for name in floats} | {name: random.integers(0, 1000, len(row)) for name in whole}
        partition = writer.partition()
        partition.write(columns | {"weather": words[(row // 5000) % 4]})
        receipts.append(partition.finish())
    writer.commit(receipts)


def write_pictures(url: str, rows: int) -> None:
    random = np.random.default_rng(7)
    different = [jpeg(seed, 720, 450) for seed in range(20)]
    columns = {"log": np.zeros(rows, np.int64), "row": np.arange(rows)}
    # A number behind the end mark: equal values would be stored once.
    columns |= {f"{name}.jpeg": [different[(row + place) % 20] + row.to_bytes(4, "little") for row in range(rows)] for place, name in enumerate(("front", "left", "right", "rear"))}
    columns["lidar.points"] = random.normal(0, 30, (rows, 20_000, 4)).astype(np.float32)
    tt.write_table(url, columns, index=["log", "row"], sequence_by=["log"], order_by=["row"])
    print(f"a picture has {sum(map(len, different)) / len(different) / 1e3:.0f} KB")


def scanned(url: str) -> float:
    """Returns the seconds of a scan of all columns of the index by a new frame."""
    began = time.perf_counter()
    tt.read_index(url).to_polars()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large table (default: %(default)s)")
    parser.add_argument("--pictures", type=int, default=400, help="rows of the table of pictures (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="servers that are measured (default: %(default)s)")
    parser.add_argument("--tetrys", default="target/release/tetrys", metavar="PROGRAM", help="the command line (default: %(default)s)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        many, pictures = f"{folder}/many", f"{folder}/pictures"
        write_rows(many, chosen.rows)
        write_pictures(pictures, chosen.pictures)
        print(f"{platform.machine()}, {chosen.rows:,} rows; a scan of the index: {scanned(many):.2f} s, {scanned(many):.2f} s")
        for _ in range(chosen.rounds):
            with subprocess.Popen([chosen.tetrys, "view", many, pictures, "--no-open"], stdout=subprocess.PIPE, text=True) as server:
                assert server.stdout
                url = server.stdout.readline().split()[-1]
                run = ["node", str(Path(__file__).with_name("view.mjs")), url, str(chosen.rows)]
                try:
                    found = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout, parse_float=lambda text: round(float(text), 1))
                    status = Path(f"/proc/{server.pid}/status").read_text()
                finally:
                    server.terminate()
            found["memory_mb"] = int(status.split("VmHWM:")[1].split()[0]) // 1024
            print(json.dumps(found))


if __name__ == "__main__":
    main()
