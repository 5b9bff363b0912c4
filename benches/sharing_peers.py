"""Stored size of twenty versions of one data set in Lance, and in Parquet with content-defined chunking: the last row of
`benches/sharing.rs` for these formats.

`python sharing_peers.py [--rows 3000] [--versions 20] [--seed 1] [--folder DIR]`; needs pylance, pyarrow and numpy
(`sh tests/venv.sh benches/sharing_peers.txt` prints a python that has them). Prints a table in Markdown; bytes are exact.

Rows are {log, time, camera 80 KB, lidar 20 KB, labels 1 KB}; all payload is noise from a seed. Each version is written with all
rows: 5 % of the labels are edited, 1 % of the rows are deleted, 2 % are appended. The figures are compared with the unique
payload: every picture, sweep and label that ever existed, counted once.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import tempfile
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CAMERA, LIDAR, LABELS = 80_000, 20_000, 1_000
ROW = CAMERA + LIDAR + LABELS
SCHEMA = pa.schema(
    [("log", pa.string()), ("time", pa.int64()), ("camera", pa.large_binary()), ("lidar", pa.large_binary()), ("labels", pa.large_binary())]
)


def noise(seed: int, part: int, size: int) -> bytes:
    return np.random.Generator(np.random.SFC64([seed, part])).bytes(size)


class History:
    """The rows of one version after the other: (log, time, seed of camera and lidar, seed of labels)."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.version = 0
        self.rows = [(f"log-{row // 100:05}", 1000 * (row % 100), *self._seeds()) for row in range(rows)]
        self.unique = rows * ROW
        self.alone = rows * ROW

    def _seeds(self) -> tuple[int, int]:
        first, second = self.rng.integers(0, 2**63, 2)
        return int(first), int(second)

    def next(self) -> None:
        self.version += 1
        count = len(self.rows)
        for row in self.rng.choice(count, count // 20, replace=False):
            log, time, seed, _ = self.rows[row]
            self.rows[row] = (log, time, seed, self._seeds()[1])
        self.unique += count // 20 * LABELS
        gone = set(self.rng.choice(count, count // 100, replace=False).tolist())
        self.rows = [row for number, row in enumerate(self.rows) if number not in gone]
        more = count // 50
        self.rows += [(f"log-{1000 + self.version:05}", 1000 * row, *self._seeds()) for row in range(more)]
        self.unique += more * ROW
        self.alone += len(self.rows) * ROW


def batches(rows: list[tuple[str, int, int, int]]):
    for start in range(0, len(rows), 64):
        some = rows[start : start + 64]
        yield pa.record_batch(
            [
                pa.array([row[0] for row in some], pa.string()),
                pa.array([row[1] for row in some], pa.int64()),
                pa.array([noise(row[2], 0, CAMERA) for row in some], pa.large_binary()),
                pa.array([noise(row[2], 1, LIDAR) for row in some], pa.large_binary()),
                pa.array([noise(row[3], 2, LABELS) for row in some], pa.large_binary()),
            ],
            schema=SCHEMA,
        )


def below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class LanceOverwrite:
    """Writes every version with `lance.write_dataset(mode="overwrite")` and counts all versions.

    A file counts when it is written. Data files of earlier versions are then removed, because twenty full copies may not fit on
    the disk.
    """

    name = "Lance, `overwrite`"

    def __init__(self, folder: Path) -> None:
        self.url, self.counted, self.known = folder / "lance-overwrite", 0, set()

    def write(self, history: History) -> None:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches(history.rows))
        lance.write_dataset(reader, str(self.url), mode="overwrite" if history.version else "create")
        for path in sorted(path for path in self.url.rglob("*") if path.is_file() and path not in self.known):
            self.known.add(path)
            self.counted += path.stat().st_size
        assert lance.dataset(str(self.url)).count_rows() == len(history.rows)
        for path in self.url.glob("data/*.lance"):
            path.unlink()

    def bytes(self) -> int:
        return self.counted


class LanceUpdates:
    """The best case for Lance: applies the changes instead of writing all rows. Deleted rows become deletion files, appended rows
    new fragments, and edited labels are merged into the column `labels` by key, which rewrites this column of the fragments
    with edited rows.
    """

    name = "Lance, told what changed: delete, column update, append"

    def __init__(self, folder: Path) -> None:
        self.url = folder / "lance-updates"
        self.labels: dict[tuple[str, int], int] = {}

    def write(self, history: History) -> None:
        now = {(row[0], row[1]): row for row in history.rows}
        if not history.version:
            lance.write_dataset(pa.RecordBatchReader.from_batches(SCHEMA, batches(history.rows)), str(self.url))
        else:
            dataset = lance.dataset(str(self.url))
            gone = [key for key in self.labels if key not in now]
            if gone:
                dataset.delete(" OR ".join(f"(log = '{log}' AND time = {time})" for log, time in gone))
            edited = {key: row[3] for key, row in now.items() if key in self.labels and self.labels[key] != row[3]}
            self._update(lance.dataset(str(self.url)), edited)
            more = [row for key, row in now.items() if key not in self.labels]
            lance.write_dataset(pa.RecordBatchReader.from_batches(SCHEMA, batches(more)), str(self.url), mode="append")
        self.labels = {key: row[3] for key, row in now.items()}

    def _update(self, dataset: lance.LanceDataset, edited: dict[tuple[str, int], int]) -> None:
        """Runs `LanceFragment.update_columns`, then one commit: only `labels` of fragments with edited rows is written."""
        fragments, fields = [], []
        for fragment in dataset.get_fragments():
            table = fragment.to_table(columns=["log", "time"], with_row_id=True)
            keys = zip(table["log"].to_pylist(), table["time"].to_pylist(), table["_rowid"].to_pylist())
            found = [(row_id, edited[log, time]) for log, time, row_id in keys if (log, time) in edited]
            if not found:
                continue
            update = pa.table(
                {
                    "_rowid": pa.array([row_id for row_id, _ in found], pa.uint64()),
                    "labels": pa.array([noise(label, 2, LABELS) for _, label in found], pa.large_binary()),
                }
            )
            changed, modified = fragment.update_columns(update, left_on="_rowid", right_on="_rowid")
            fragments.append(changed)
            fields = modified
        operation = lance.LanceOperation.Update(updated_fragments=fragments, fields_modified=fields)
        lance.LanceDataset.commit(str(self.url), operation, read_version=dataset.version)

    def bytes(self) -> int:
        return below(self.url)

    def check(self, history: History) -> None:
        table = lance.dataset(str(self.url)).to_table(columns=["log", "time", "labels"])
        found = {(log, time): label for log, time, label in zip(*(table[name].to_pylist() for name in ("log", "time", "labels")))}
        assert len(found) == len(history.rows)
        assert all(found[row[0], row[1]] == noise(row[3], 2, LABELS) for row in history.rows)


class Parquet:
    """Writes each version as one Parquet file of one row group with content-defined chunking, and counts each distinct data page
    once: the lower bound for a store that deduplicates byte ranges. Bytes between the pages all count.
    """

    def __init__(self, folder: Path, cdc: bool | dict, name: str) -> None:
        self.path, self.cdc, self.name = folder / "version.parquet", cdc, name
        self.seen: set[bytes] = set()
        self.total = 0

    def write(self, history: History) -> None:
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        # One call writes all rows: each call would begin a row group, and pages end at the end of a row group.
        table = pa.Table.from_batches(list(batches(history.rows)), SCHEMA).combine_chunks()
        pq.write_table(table, self.path, use_content_defined_chunking=self.cdc, **plain)
        size = self.path.stat().st_size
        self.total += size
        metadata = pq.read_metadata(self.path)
        assert (metadata.num_rows, metadata.num_row_groups) == (len(history.rows), 1)
        with open(self.path, "rb") as file:
            for start, end in pages(file, metadata):
                file.seek(start)
                digest = hashlib.blake2b(file.read(end - start), digest_size=16).digest()
                if digest in self.seen:
                    self.total -= end - start
                self.seen.add(digest)
        self.path.unlink()

    def bytes(self) -> int:
        return self.total


def pages(file, metadata):
    """Yields the byte ranges of the data pages with their headers."""
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            start = min(offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset is not None)
            end = start + chunk.total_compressed_size
            while start < end:
                file.seek(start)
                header, length = struct(memoryview(file.read(512)), 0)
                yield start, start + length + header[3]  # 3: compressed_page_size
                start += length + header[3]


def varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def struct(data: memoryview, at: int) -> tuple[dict[int, object], int]:
    """Parses a Thrift compact struct, as far as page headers need it; returns its integers by field, and its end."""
    found: dict[int, object] = {}
    field = 0
    while data[at]:
        delta, kind = data[at] >> 4, data[at] & 15
        at += 1
        if delta:
            field += delta
        else:
            value, at = varint(data, at)
            field = value >> 1
        if kind in (4, 5, 6):
            value, at = varint(data, at)
            found[field] = (value >> 1) ^ -(value & 1)
        elif kind == 8:
            length, at = varint(data, at)
            at += length
        elif kind == 12:
            found[field], at = struct(data, at)
        elif kind not in (1, 2):
            raise ValueError(f"a page header with a field of kind {kind}")
    return found, at + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", default="", help="engines whose name has this text")
    given = parser.parse_args()
    made = [
        LanceOverwrite,
        LanceUpdates,
        lambda folder: Parquet(folder, True, "Parquet, content-defined chunking (256 KiB to 1 MiB)"),
        lambda folder: Parquet(
            folder, {"min_chunk_size": 4 << 10, "max_chunk_size": 16 << 10}, "Parquet, content-defined chunking (4 KiB to 16 KiB)"
        ),
    ]
    print(f"pylance {lance.__version__}, pyarrow {pa.__version__}, Python {platform.python_version()}; seed {given.seed}\n")
    print("| engine | stored bytes | of the unique payload |\n|---|---|---|")
    for make in made:
        folder = Path(tempfile.mkdtemp(prefix="sharing-", dir=given.folder))
        try:
            engine = make(folder)
            if given.only not in engine.name:
                continue
            history = History(given.rows, given.seed)
            engine.write(history)
            for _ in range(1, given.versions):
                history.next()
                engine.write(history)
            if isinstance(engine, LanceUpdates):
                engine.check(history)
            print(f"| {engine.name} | {engine.bytes():,} | {engine.bytes() / history.unique:.3f} |", flush=True)
        finally:
            shutil.rmtree(folder)
    print(f"\nunique payload {history.unique:,} bytes; all versions whole {history.alone:,} ({history.alone / history.unique:.1f})")


if __name__ == "__main__":
    main()
