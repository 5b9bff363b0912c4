"""Compares `tetrys.petastorm` with Petastorm: the same rows, through the same call, in one run.

Petastorm needs an old pyarrow, so a python of its own: `petastorm_readers.py --petastorm venv/bin/python`, with the packages of
petastorm_readers.txt. It writes the data sets, as `materialize_dataset` would do with Spark, and `tetrys.ingest_petastorm` makes the
tables of them.

A row has a picture (png, 128 x 256 x 3), a vector of 64 floats and a number; 4 files of 10 row groups of 50 rows. "noise" has random
pixels, "photo" a smooth picture with a little noise. A measurement is one process. Both libraries take turns for several rounds, so
that a slow phase of the machine is slow for both, and the figures are medians. Each process counts its rows and sums up a part of
every value, and both must get the same.

The floor is what decoding the pictures alone takes: pyarrow reads the files, and OpenCV decodes on two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

GROUP, GROUPS, FILES = 50, 10, 4
HEIGHT, WIDTH = 128, 256
LARGE = 16 << 20
"""Bytes of a row of the data set that shows the memory."""
LARGE_ROWS = 64
LOOKUPS = 20
EPOCHS = 5
"""Epochs of a measurement of rows, so that the start of a reader does not decide."""
LIMIT = 900
"""Seconds after which a measurement counts as failed."""
Found = dict[str, Any]


def picture(kind: str, number: int) -> np.ndarray:
    noise = np.random.default_rng(number)
    if kind == "noise":
        return noise.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [128 + 90 * np.sin((x * (channel + 1) + y * 2 + number) / 40) for channel in range(3)]
    return np.clip(np.stack(waves, -1) + noise.normal(0, 4, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)


def vector(number: int) -> np.ndarray:
    return np.random.default_rng(number).random(64, np.float32)


# What Petastorm's python does.


def write(folder: str, kind: str, rows: int) -> Found:
    """Writes a data set as `materialize_dataset` does, without Spark."""
    import pickle

    import pyarrow as pa
    import pyarrow.parquet as pq
    from petastorm.codecs import CompressedImageCodec, NdarrayCodec, ScalarCodec
    from petastorm.unischema import Unischema, UnischemaField
    from pyspark.sql.types import IntegerType

    fields = [UnischemaField("id", np.int32, (), ScalarCodec(IntegerType()), False)]
    if kind == "large":
        fields += [UnischemaField("block", np.uint8, (LARGE,), NdarrayCodec(), False)]
        values: Callable[[int], dict[str, Any]] = lambda number: {"block": np.full(LARGE, number, np.uint8)}  # noqa: E731
        group, groups = 4, 4
    else:
        fields += [UnischemaField("image1", np.uint8, (HEIGHT, WIDTH, 3), CompressedImageCodec("png"), False)]
        fields += [UnischemaField("vec", np.float32, (64,), NdarrayCodec(), False)]
        values = lambda number: {"image1": picture(kind, number), "vec": vector(number)}  # noqa: E731
        group, groups = GROUP, GROUPS
    schema, counts, first = Unischema("Rows", fields), {}, None
    Path(folder).mkdir()
    for start in range(0, rows, group * groups):
        numbers = range(start, min(rows, start + group * groups))
        cells = [{one.name: bytes(one.codec.encode(one, values(number)[one.name])) for one in fields[1:]} for number in numbers]
        part = pa.table({"id": pa.array(numbers, pa.int32())} | {one.name: pa.array([cell[one.name] for cell in cells], pa.binary()) for one in fields[1:]})
        file = f"part-{start:06}.parquet"
        pq.write_table(part, f"{folder}/{file}", row_group_size=group, compression="none", use_dictionary=False)
        counts[file], first = -(-len(part) // group), part.schema
    metadata = {"dataset-toolkit.unischema.v1": pickle.dumps(schema), "dataset-toolkit.num_row_groups_per_file.v1": json.dumps(counts)}
    pq.write_metadata(first.with_metadata(metadata), f"{folder}/_common_metadata")
    return {"bytes": sum(file.stat().st_size for file in Path(folder).iterdir())}


def floor(folder: str) -> Found:
    """Reads the pictures with pyarrow, and decodes them with OpenCV on two threads."""
    import cv2
    import pyarrow.parquet as pq

    def decoded(cell: Any) -> int:
        return int(cv2.imdecode(np.frombuffer(cell.as_buffer(), np.uint8), cv2.IMREAD_UNCHANGED)[0, 0, 0])

    cv2.setNumThreads(1)
    began, rows = time.perf_counter(), 0
    with ThreadPoolExecutor(2) as threads:
        for path in sorted(Path(folder).glob("*.parquet")):
            file = pq.ParquetFile(path)
            for number in range(file.num_row_groups):
                rows += sum(1 for _ in threads.map(decoded, file.read_row_group(number, ["image1"])["image1"]))
    return {"rows_per_second": rows / (time.perf_counter() - began)}


def read_all(folder: str) -> Found:
    """Reads everything with pyarrow alone, and decodes what an ingest decodes: the vectors."""
    import io

    import pyarrow.parquet as pq

    began = time.perf_counter()
    for path in sorted(Path(folder).glob("*.parquet")):
        table = pq.read_table(path)
        for cell in table["vec"]:
            np.load(io.BytesIO(cell.as_buffer()))
    return {"seconds": time.perf_counter() - began}


# What both do, with `make_reader` of their own.


def library(is_ours: bool) -> tuple[Any, Any]:
    if is_ours:
        from tetrys.petastorm import make_reader
        from tetrys.petastorm.predicates import in_set
    else:
        from petastorm import make_reader
        from petastorm.predicates import in_set
    return make_reader, in_set


def rows_of(is_ours: bool, url: str, fields: list[str] | None, workers: int) -> Found:
    make_reader, _ = library(is_ours)
    began, rows, total = time.perf_counter(), 0, 0.0
    with make_reader(url, schema_fields=fields, workers_count=workers, num_epochs=EPOCHS, shuffle_row_groups=False) as reader:
        for row in reader:
            rows += 1
            total += float(row.vec[0]) + (int(row.image1[5, 7, 1]) if fields is None else 0)
    return {"rows_per_second": rows / (time.perf_counter() - began), "rows": rows, "sum": round(total, 3)}


def lookups(is_ours: bool, url: str, rows: int) -> Found:
    make_reader, in_set = library(is_ours)
    wanted, times = random.Random(1).sample(range(rows), LOOKUPS), []
    for number in wanted:
        began = time.perf_counter()
        with make_reader(url, predicate=in_set([number], "id"), workers_count=2, shuffle_row_groups=False) as reader:
            (row,) = list(reader)
        times.append(time.perf_counter() - began)
        assert int(row.id) == number and row.image1.shape == (HEIGHT, WIDTH, 3)
    return {"milliseconds": statistics.median(times) * 1000}


def memory(is_ours: bool, url: str) -> Found:
    """Reads rows of 16 MB with the default settings. Returns the peak of the memory of the process."""
    make_reader, _ = library(is_ours)
    with make_reader(url) as reader:
        total = sum(int(row.block[0]) for row in reader)
    assert total == sum(range(LARGE_ROWS)), total
    return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def ingest(folder: str, url: str) -> Found:
    import tetrys as tt

    shutil.rmtree(url, ignore_errors=True)
    began = time.perf_counter()
    table = tt.ingest_petastorm(folder, url)
    return {"seconds": time.perf_counter() - began, "rows": len(table)}


PARTS: dict[str, Callable[..., Found]] = {
    "write": write, "floor": floor, "read_all": read_all, "rows": rows_of, "lookups": lookups, "memory": memory, "ingest": ingest,
}  # fmt: skip


def measured(python: str, part: str, *arguments: Any) -> Found:
    """Runs a part in a process of its own."""
    command = [python, __file__, "--part", part, "--arguments", json.dumps(arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if ran.returncode:
        raise SystemExit(f"{part} {arguments} by {python} failed:\n{ran.stderr[-2000:]}")
    found: Found = json.loads(ran.stdout.splitlines()[-1])
    return found


def medians(rounds: int, parts: dict[str, Callable[[], Found]]) -> dict[str, Found]:
    """Runs the parts in turn for several rounds, after one that does not count. Returns the median of each number."""
    found: dict[str, list[Found]] = {name: [] for name in parts}
    for turn in range(rounds + 1):
        for name, part in parts.items():
            result = part()
            if turn:
                found[name].append(result)
    made = {name: {key: statistics.median(one[key] for one in results) for key in results[0]} for name, results in found.items()}
    return made


def compare(folder: Path, petastorm: str, rows: int, rounds: int) -> list[tuple[str, str, str, str, str]]:
    """Returns the lines of the table: figure, Petastorm, Tetrys, ratio, wanted."""
    lines: list[tuple[str, str, str, str, str]] = []
    ours = sys.executable

    def line(what: str, theirs: float, mine: float, unit: str, ratio: float, wanted: str) -> None:
        lines.append((what, f"{theirs:,.1f} {unit}", f"{mine:,.1f} {unit}", f"{ratio:.1f}x", wanted))

    for kind, wanted in (("photo", ">= 2x"), ("noise", ">= 2.5x")):
        data, table = str(folder / kind), str(folder / f"{kind}.tetrys")
        size = measured(petastorm, "write", data, kind, rows)["bytes"]
        ingested = medians(rounds, {"pyarrow": lambda: measured(petastorm, "read_all", data), "ingest": lambda: measured(ours, "ingest", data, table)})
        speeds = {name: size / 1e6 / found["seconds"] for name, found in ingested.items()}
        line(f"ingest, {kind} (beside: pyarrow reads and decodes)", speeds["pyarrow"], speeds["ingest"], "MB/s", speeds["ingest"] / speeds["pyarrow"], ">= 0.5x")
        for what, fields, target in ((f"rows, {kind}", None, wanted), (f"rows, id and vec, {kind}", ["id", "vec"], ">= 20x")):
            found = medians(
                rounds,
                {
                    "theirs": lambda: measured(petastorm, "rows", False, f"file://{data}", fields, 2),  # noqa: B023
                    "ours": lambda: measured(ours, "rows", True, f"file://{table}", fields, 2),  # noqa: B023
                },
            )
            assert (found["theirs"]["rows"], found["theirs"]["sum"]) == (found["ours"]["rows"], found["ours"]["sum"]) and found["ours"]["rows"] == rows * EPOCHS, found
            theirs, mine = (found[name]["rows_per_second"] for name in ("theirs", "ours"))
            line(what, theirs, mine, "rows/s", mine / theirs, target)
            if fields is None:
                lowest = medians(rounds, {"floor": lambda: measured(petastorm, "floor", data)})["floor"]["rows_per_second"]
                line(f"floor, {kind} (OpenCV decodes, two threads)", lowest, mine, "rows/s", mine / lowest, "")
        if kind == "noise":
            found = medians(
                rounds,
                {"theirs": lambda: measured(petastorm, "lookups", False, f"file://{data}", rows), "ours": lambda: measured(ours, "lookups", True, f"file://{table}", rows)},
            )
            theirs, mine = (found[name]["milliseconds"] for name in ("theirs", "ours"))
            line("one row by predicate, a new reader each time", theirs, mine, "ms", theirs / mine, ">= 50x")
    data, table = str(folder / "large"), str(folder / "large.tetrys")
    measured(petastorm, "write", data, "large", LARGE_ROWS)
    measured(ours, "ingest", data, table)
    theirs, mine = measured(petastorm, "memory", False, f"file://{data}")["peak"], measured(ours, "memory", True, f"file://{table}")["peak"]
    line("peak memory, rows of 16 MB", theirs / 1e9, mine / 1e9, "GB", theirs / mine, "< 2 GB")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--petastorm", metavar="PYTHON", help="python that has petastorm (petastorm_readers.txt)")
    parser.add_argument("--rows", type=int, default=FILES * GROUPS * GROUP, help="rows of a data set (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="folder for the data, which is removed in the end (default: a temporary one)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="[]", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        warnings.simplefilter("ignore")
        print(json.dumps(PARTS[arguments.part](*json.loads(arguments.arguments))), flush=True)
        # Skips the shutdown of the interpreter, in which threads of Petastorm may hang.
        os._exit(0)
    if not arguments.petastorm:
        parser.error("--petastorm: the python that has petastorm is needed")
    folder = Path(tempfile.mkdtemp(prefix="tetrys-petastorm.", dir=arguments.folder))
    try:
        lines = compare(folder, arguments.petastorm, arguments.rows, arguments.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| figure | Petastorm | Tetrys | ratio | wanted |\n|---|---|---|---|---|")
    for line in lines:
        print(f"| {' | '.join(line)} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
