"""Compares the data loader of Tetrys with those of others: the same camera rows, two epochs, batches of 64, every byte summed up.

A row has four pictures of 80,000 bytes of noise (those of data.py) and its number. Each format is written once, with its own
writer. A measurement is one process, which makes the loader and runs two epochs: "first" includes the start of worker processes,
"second" finds them running. The loaders take turns for several rounds, so that a slow phase of the machine is slow for all, and
the figures are medians. Before that, a trial round that does not count picks the number of workers of each loader. Each batch is
read completely inside the timed loop. The number of rows, the rows themselves and the sum of all bytes must be those of the data;
a loader that fails is a line of the table with its error.

The table says how each loader orders the rows, and how far that mixes them: the mean distance in the data between two rows that
follow each other, as a share of that of a perfect shuffle. 1.00 is a global shuffle, 0 is the order of the data.

"local" reads from a folder with a warm page cache. "s3" reads from the S3 server of the tests on the loopback, 30 ms and 90 MB/s a
stream away, each measurement with an empty local cache; loaders that have a cache on disk fill it in the first epoch.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from data import CAMERAS, JPEG, cameras

BATCH = 64
EPOCHS = 2
SHARD = 200
"""Rows of a shard or a file, in formats that want several: 64 MB."""
BUFFER = 1000
"""Rows of a shuffle buffer."""
GROUP = 50
"""Rows of a Parquet row group: 16 MB."""
NAMES = [f"camera{number}" for number in range(CAMERAS)]
BUCKET = "data"
LIMIT = 600
"""Seconds after which a measurement counts as failed."""
SERVER = "cargo bench --quiet --package tetrys --no-default-features --bench remote -- serve"
EXAMPLES = f"""
examples:
  run.sh loaders                                       all loaders, both places, with the builds and packages that it needs
  loaders.py --rows 200 --rounds 1 --places local       a quick look
  loaders.py --loaders 'Tetrys, global; MosaicML'      Tetrys against one peer, with the names of the table
  loaders.py --petastorm venv/bin/python --json all.json

Petastorm needs an old pyarrow, so a python of its own (loaders_petastorm.txt). The S3 server is a program that prints its address;
its default is `{SERVER}`.
The data needs 0.32 MB a row and format on disk, and on s3 as much memory again.
"""

Batch = dict[str, Any]
"""`row` and the cameras: torch tensors or numpy arrays, [batch] and [batch, JPEG]."""
Epochs = Iterator[Iterable[Batch]]
"""Nothing of an epoch starts before it is iterated: that is when its time starts."""


@dataclass
class Place:
    """Where a loader reads: a path or an S3 URL. `cache` is an empty folder for what is read from S3, `options` the address."""

    url: str
    cache: str
    workers: int

    @property
    def is_s3(self) -> bool:
        return self.url.startswith("s3://")


def binary(pictures: np.ndarray) -> pa.Array:
    """Returns pictures as an Arrow column of bytes over the same memory."""
    offsets = pa.py_buffer(np.arange(len(pictures) + 1, dtype=np.int64) * JPEG)
    return pa.Array.from_buffers(pa.large_binary(), len(pictures), [None, offsets, pa.py_buffer(pictures.reshape(-1))])


def unpacked(rows: pa.Table | pa.RecordBatch) -> Batch:
    """Returns tensors over the memory of an Arrow table with columns of bytes."""
    import torch

    def tensor(column: Any) -> Any:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_integer(column.type):
            return torch.from_numpy(column.to_numpy().copy())
        start = int(np.frombuffer(column.buffers()[1], np.int64)[column.offset])
        return torch.from_numpy(np.frombuffer(column.buffers()[2], np.uint8, len(column) * JPEG, start).reshape(-1, JPEG))

    return {name: tensor(rows.column(name)) for name in ("row", *NAMES)}


def as_is(batch: Any) -> Any:
    return batch


class Loader:
    """A loader, with the settings that its documentation recommends."""

    name = ""
    package = ""
    files = ""
    """Name of the files, which several loaders may share."""
    order = ""
    note = ""
    workers = (0, 2)
    places: tuple[str, ...] = ("local", "s3")

    @classmethod
    def version(cls) -> str:
        return version(cls.package)

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None: ...
    def epochs(self, place: Place) -> Epochs: ...


def torch_loader(samples: Any, place: Place, **settings: Any) -> Any:
    """Returns a DataLoader of PyTorch whose workers stay for the next epoch."""
    import torch.utils.data

    if place.workers:
        settings |= {"num_workers": place.workers, "persistent_workers": True}
    else:
        settings.pop("multiprocessing_context", None)
    return torch.utils.data.DataLoader(samples, **settings)


class TakeRows:
    """A map-style dataset for PyTorch that answers a batch with one read: `take` turns a list of rows into a batch."""

    def __init__(self, rows: int, take: Callable[[list[int]], Batch]) -> None:
        self.rows, self.take = rows, take

    def __len__(self) -> int:
        return self.rows

    def __getitems__(self, rows: list[int]) -> Batch:
        return self.take(rows)


class Tetrys(Loader):
    name, files, order, shuffle = "Tetrys, global", "tetrys", "global", "global"
    workers = (0,)

    @classmethod
    def version(cls) -> str:
        import tetrys

        return tetrys.__version__

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        import tetrys as tt

        columns = {"row": np.arange(len(pictures[NAMES[0]]))}
        columns |= {f"camera.{name}": values for name, values in pictures.items()}
        tt.write_table(path, columns, index=["row"], preset="fast")

    def epochs(self, place: Place) -> Epochs:
        if place.is_s3:
            os.environ["TETRYS_CACHE"] = place.cache
        import tetrys as tt
        import torch  # noqa: F401 - the other loaders have it before their first epoch

        columns = ["row", "camera.*"]
        loader = tt.DataLoader(tt.read_index(place.url), batch_size=BATCH, columns=columns, shuffle=self.shuffle, last="short", to="torch")

        def epoch() -> Iterator[Batch]:
            for batch in loader:
                yield {name.removeprefix("camera."): values for name, values in batch.items()}

        for _ in range(EPOCHS):
            yield epoch()


class TetrysBlock(Tetrys):
    name, order, shuffle = "Tetrys, block", "16 blocks of 8 MiB mixed", "block"


class LanceTake:
    """Takes the rows of a batch from a dataset, which each worker opens for itself, as `SafeLanceDataset` does."""

    def __init__(self, url: str) -> None:
        self.url, self.dataset = url, None

    def __call__(self, rows: list[int]) -> Batch:
        import lance

        self.dataset = self.dataset or lance.dataset(self.url)
        return unpacked(self.dataset.take(rows))


class Lance(Loader):
    name, package, files, order = "Lance, map-style", "pylance", "lance", "global"
    note = "SafeLanceDataset without its Python lists: one `take` a batch, workers by spawn; pictures as binary, file format 2.1"

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        import lance

        columns = {name: binary(values) for name, values in pictures.items()}
        lance.write_dataset(pa.table({"row": np.arange(len(pictures[NAMES[0]]))} | columns), path, data_storage_version="2.1")

    def epochs(self, place: Place) -> Epochs:
        import lance

        samples = TakeRows(lance.dataset(place.url).count_rows(), LanceTake(place.url))
        loader = torch_loader(samples, place, batch_size=BATCH, shuffle=True, collate_fn=as_is, multiprocessing_context="spawn")
        for _ in range(EPOCHS):
            yield loader


class LanceScan(Lance):
    name, order = "Lance, LanceDataset", "batches of 64 neighbours"
    workers = (0,)
    note = "ShardedBatchSampler with randomize, read ahead by its own threads"

    def epochs(self, place: Place) -> Epochs:
        from lance.sampler import ShardedBatchSampler
        from lance.torch.data import LanceDataset

        for epoch in range(EPOCHS):
            sampler = ShardedBatchSampler(0, 1, randomize=True, seed=epoch)
            yield LanceDataset(place.url, BATCH, sampler=sampler, to_tensor_fn=lambda rows, **_: unpacked(rows))


class MosaicML(Loader):
    name, package, files, order = "MosaicML", "mosaicml-streaming", "mds", "py1e, blocks of 2^18 rows"
    note = "StreamingDataset and StreamingDataLoader, shards of 64 MiB"

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        from streaming import MDSWriter

        with MDSWriter(out=path, columns={"row": "int"} | dict.fromkeys(NAMES, f"ndarray:uint8:{JPEG}")) as writer:
            for row in range(len(pictures[NAMES[0]])):
                writer.write({"row": row} | {name: values[row] for name, values in pictures.items()})

    def epochs(self, place: Place) -> Epochs:
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        # The process of the measurement before was killed, and may have left its shared memory.
        clean_stale_shared_memory()
        where = {"remote": place.url, "local": place.cache} if place.is_s3 else {"local": place.url}
        samples = StreamingDataset(**where, shuffle=True, batch_size=BATCH)
        loader = StreamingDataLoader(samples, batch_size=BATCH, num_workers=place.workers, persistent_workers=place.workers > 0)
        for _ in range(EPOCHS):
            yield loader


class HuggingFace(Loader):
    name, package, files, order, places = "Hugging Face, numpy", "datasets", "datasets", "global", ("local",)
    note = 'Arrow on disk, map-style, `with_format("numpy", dtype=np.uint8)`, one read a batch'
    format: dict[str, Any] = {"type": "numpy", "columns": NAMES, "output_all_columns": True, "dtype": np.uint8}

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        import datasets

        types = {"row": datasets.Value("int64")} | dict.fromkeys(NAMES, datasets.Sequence(datasets.Value("uint8"), length=JPEG))
        columns = {name: pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), JPEG) for name, values in pictures.items()}
        rows = pa.table({"row": np.arange(len(pictures[NAMES[0]]))} | columns)
        datasets.Dataset(rows.cast(datasets.Features(types).arrow_schema)).save_to_disk(path)

    def epochs(self, place: Place) -> Epochs:
        import datasets

        rows = datasets.load_from_disk(place.url).with_format(**self.format)
        loader = torch_loader(TakeRows(len(rows), lambda some: self.batch(rows[some])), place, batch_size=BATCH, shuffle=True, collate_fn=as_is)
        for _ in range(EPOCHS):
            yield loader

    def batch(self, rows: Any) -> Batch:
        return rows


class HuggingFaceArrow(HuggingFace):
    name, format = "Hugging Face, arrow", {"type": "arrow"}
    note = 'the same with `with_format("arrow")`: arrays over the memory of the Arrow table, made by hand'

    def batch(self, rows: pa.Table) -> Batch:
        pictures = {name: rows.column(name).combine_chunks().flatten().to_numpy().reshape(-1, JPEG) for name in NAMES}
        return {"row": rows.column("row").to_numpy()} | pictures


class WebDataset(Loader):
    name, package, files, order = "WebDataset", "webdataset", "webdataset", f"shards, and a buffer of {BUFFER} rows"
    note = f"tar files of {SHARD} rows; s3: signed URLs in `pipe:curl`, `cache_dir`"

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        import webdataset as wds

        Path(path).mkdir()
        with wds.ShardWriter(f"{path}/%04d.tar", maxcount=SHARD, maxsize=1 << 40, verbose=0) as writer:
            for row in range(len(pictures[NAMES[0]])):
                writer.write({"__key__": f"{row:09}"} | {f"{name}.bin": values[row].tobytes() for name, values in pictures.items()})

    def epochs(self, place: Place) -> Epochs:
        import webdataset as wds

        def sample(files: dict[str, Any]) -> list[Any]:
            return [int(files["__key__"]), *(np.frombuffer(files[f"{name}.bin"], np.uint8) for name in NAMES)]

        def batch(samples: list[Any]) -> Batch:
            import torch

            columns = zip(("row", *NAMES), zip(*samples, strict=True), strict=True)
            return {name: torch.from_numpy(np.stack(values)) for name, values in columns}

        if place.is_s3:
            client, prefix = s3_client(), f"{self.files}/"
            found = [one["Key"] for one in client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]]
            signed = [client.generate_presigned_url("get_object", {"Bucket": BUCKET, "Key": key}) for key in found]
            urls, cache = [f"pipe:curl --silent --fail '{url}'" for url in signed], {"cache_dir": place.cache}
        else:
            urls, cache = sorted(str(path) for path in Path(place.url).iterdir()), {}
        samples = wds.WebDataset(urls, shardshuffle=len(urls), empty_check=False, **cache)
        samples = samples.shuffle(BUFFER).map(sample).batched(BATCH, collation_fn=batch)
        loader = torch_loader(samples, place, batch_size=None)
        for _ in range(EPOCHS):
            yield loader


class Petastorm(Loader):
    name, package, files, order = "Petastorm", "petastorm", "petastorm", f"row groups, and a buffer of {BUFFER} rows"
    workers, places = (2, 10), ("local",)
    note = f"make_reader with threads (the workers of the table), NdarrayCodec, row groups of {GROUP} rows; not on s3: with pyarrow 12 and \
14 it passes `validate_schema`, which pyarrow rejects for file systems other than local ones"

    def write(self, path: str, pictures: dict[str, np.ndarray]) -> None:
        """Writes what `materialize_dataset` does, without Spark."""
        import pickle

        import pyarrow.parquet as pq
        from petastorm.codecs import NdarrayCodec, ScalarCodec
        from petastorm.unischema import Unischema, UnischemaField
        from pyspark.sql.types import LongType

        fields = [UnischemaField(name, np.uint8, (JPEG,), NdarrayCodec(), False) for name in NAMES]
        schema = Unischema("Cameras", [UnischemaField("row", np.int64, (), ScalarCodec(LongType()), False), *fields])
        columns = {one.name: pa.array([bytes(one.codec.encode(one, row)) for row in pictures[one.name]], pa.binary()) for one in fields}
        rows, groups = pa.table({"row": np.arange(len(pictures[NAMES[0]]))} | columns), {}
        Path(path).mkdir()
        for start in range(0, len(rows), SHARD):
            part, file = rows.slice(start, SHARD), f"part-{start:06}.parquet"
            pq.write_table(part, f"{path}/{file}", row_group_size=GROUP, compression="none", use_dictionary=False)
            groups[file] = -(-len(part) // GROUP)
        said = {"dataset-toolkit.unischema.v1": pickle.dumps(schema), "dataset-toolkit.num_row_groups_per_file.v1": json.dumps(groups)}
        pq.write_metadata(rows.schema.with_metadata(said), f"{path}/_common_metadata")

    def epochs(self, place: Place) -> Epochs:
        from petastorm import make_reader
        from petastorm.pytorch import DataLoader

        settings: dict[str, Any] = {"workers_count": place.workers, "shuffle_rows": True, "shuffle_row_groups": True}

        def epoch() -> Iterator[Batch]:
            with DataLoader(make_reader(f"file://{place.url}", num_epochs=1, **settings), batch_size=BATCH, shuffling_queue_capacity=BUFFER) as loader:
                yield from loader

        for _ in range(EPOCHS):
            yield epoch()


LOADERS: list[type[Loader]] = [
    Tetrys, TetrysBlock, Lance, LanceScan, MosaicML, HuggingFace, HuggingFaceArrow, WebDataset, Petastorm,
]  # fmt: skip


def s3_client() -> Any:
    import boto3

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])


def summed(array: Any) -> int:
    """Sums every byte, eight at a time, modulo 2^64."""
    return int(np.add.reduce(np.asarray(array).reshape(-1).view(np.uint64)))


def measure(loader: Loader, place: Place) -> dict[str, Any]:
    """Runs the epochs. Returns seconds, rows, their order, and the sum of all bytes, for each."""
    figures: dict[str, Any] = {"seconds": [], "rows": [], "distinct": [], "sums": [], "mixing": []}
    for epoch in loader.epochs(place):
        rows, total, begun = [], 0, time.perf_counter()
        for batch in epoch:
            rows.append(np.array(batch["row"]))
            total += sum(summed(batch[name]) for name in NAMES)
        seconds, order = time.perf_counter() - begun, np.concatenate(rows)
        distance = float(np.abs(np.diff(order)).mean()) / (len(order) / 3)
        for name, value in zip(figures, (seconds, len(order), len(np.unique(order)), total % 2**64, distance), strict=True):
            figures[name].append(value)
    return figures


class Server:
    """The S3 server, while it runs. It ends when its standard input does."""

    def __init__(self, command: str) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(shlex.split(command), cwd=Path(__file__).parents[2], **pipes)
        address = self._line()
        os.environ |= {"AWS_ACCESS_KEY_ID": address["key"], "AWS_SECRET_ACCESS_KEY": address["secret"]}
        os.environ |= dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "S3_ENDPOINT_URL"), address["endpoint"])
        os.environ |= dict.fromkeys(("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1")
        os.environ |= {"AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true"}
        # The server knows no checksums in trailers.
        os.environ |= dict.fromkeys(("AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"), "when_required")

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        if not (line := self.process.stdout.readline()):
            raise SystemExit(f"the S3 server ended with status {self.process.wait()}: see --server in --help")
        return json.loads(line)

    def move(self, where: str) -> dict[str, int]:
        """Moves the server `near` or `far`. Returns the requests since the last call, and the bytes that were read."""
        assert self.process.stdin
        self.process.stdin.write(f"{where}\n")
        self.process.stdin.flush()
        return self._line()

    def upload(self, folder: Path) -> None:
        client = s3_client()
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            client.upload_file(str(path), BUCKET, str(path.relative_to(folder.parent)))

    def end(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


@dataclass
class Contender:
    """A loader in one place, with its figures so far, or its error."""

    kind: type[Loader]
    python: str
    version: str = "-"
    workers: int = 0
    error: str = ""
    found: dict[str, list[float]] = field(default_factory=dict)

    def run(self, *arguments: str) -> dict[str, Any]:
        """Runs a step of the loader in a process of its own, which ends with all its workers. Returns the figures."""
        command = [self.python, __file__, "--one", self.kind.name, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            said, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            said, errors = "", f"not done after {LIMIT} s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.wait() or not said:
            self.error = (errors.strip().splitlines() or [f"status {process.returncode}"])[-1][:200]
            print(f"{self.kind.name}: {errors[-2000:]}", file=sys.stderr, flush=True)
            return {}
        return json.loads(said.splitlines()[-1])

    def measure(self, url: str, scratch: Path, workers: int, rows: int, expected: int) -> dict[str, Any]:
        """Runs the two epochs with an empty cache, and checks that they delivered each row and each byte."""
        cache = tempfile.mkdtemp(dir=scratch)
        found = self.run("--url", url, "--cache", cache, "--workers", str(workers))
        shutil.rmtree(cache)
        delivered = set(zip(*(found.get(name, []) for name in ("rows", "distinct", "sums")), strict=True))
        if found and delivered != {(rows, rows, expected)}:
            self.error = f"delivered (rows, distinct rows, sum) {delivered}, expected {(rows, rows, expected)}"
            return {}
        return found

    def add(self, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.found.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.found[name])


def compare(contenders: list[Contender], place: str, server: Server | None, scratch: Path, arguments: argparse.Namespace) -> None:
    """Lets the loaders take turns: a trial round for the number of workers, then the rounds that count."""
    total = sum(summed(pictures) for pictures in cameras(arguments.rows)) % 2**64
    for number in range(arguments.rounds + 1):
        for one in contenders:
            url = f"s3://{BUCKET}/{one.kind.files}" if server else str(scratch / one.kind.files)
            tried, failed = {}, ""
            for workers in one.kind.workers if number == 0 else (one.workers,):
                if one.error:
                    break
                if server:
                    server.move("far")
                found = one.measure(url, scratch, workers, arguments.rows, total)
                traffic = server.move("far") if server else {}
                if not found:
                    # In the trial round, another number of workers may do.
                    failed, one.error = one.error, "" if number == 0 else one.error
                    continue
                first, second = found["seconds"]
                tried[workers] = first + second
                if number:
                    rates = {"first": arguments.rows / first, "second": arguments.rows / second, "both": 2 * arguments.rows / (first + second)}
                    one.add(rates | {"mixing": statistics.mean(found["mixing"])} | traffic)
            if number == 0:
                one.error = one.error or (failed if not tried else "")
            if number == 0 and tried:
                one.workers = min(tried, key=lambda workers: tried[workers])
            print(f"{place}: round {number} of {arguments.rounds}: {one.kind.name}: {one.error or tried}", file=sys.stderr, flush=True)


def table(contenders: list[Contender], place: str) -> None:
    ours = {one.kind: one for one in contenders if one.found and issubclass(one.kind, Tetrys)}
    columns = ["loader", "version", "order", "mixing", "workers", "first epoch rows/s", "second epoch rows/s", "both rows/s"]
    columns += [f"{kind.name} / it" for kind in ours]
    if place == "s3":
        columns += ["requests", "MB read"]
    print(f"\n{place}:\n\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for one in contenders:
        cells = [one.kind.name, one.version, one.kind.order]
        if one.error:
            cells += [one.error]
        else:
            cells += [f"{one.median('mixing'):.2f}", str(one.workers)]
            cells += [f"{one.median(name):,.0f}" for name in ("first", "second", "both")]
            cells += [f"{mine.median('both') / one.median('both'):.2f}" for mine in ours.values()]
            if place == "s3":
                cells += [f"{one.median('requests'):,.0f}", f"{one.median('bytes') / 1e6:,.0f}"]
        print(f"| {' | '.join(cells)} {'| ' * (len(columns) - len(cells))}|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000, help="camera rows of 320 KB (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument("--places", default="local,s3", help="where to read from: local, s3 (default: %(default)s)")
    parser.add_argument("--loaders", default="", help="names of the loaders, with `;` between them (default: all)")
    parser.add_argument("--folder", type=Path, help="folder for the data, which is removed in the end (default: a temporary one)")
    parser.add_argument("--petastorm", default=sys.executable, metavar="PYTHON", help="python that has petastorm (default: this one)")
    parser.add_argument("--server", default=SERVER, metavar="COMMAND", help="command of the S3 server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all figures of all rounds")
    for hidden in ("--one", "--write", "--url", "--cache"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        (kind,) = [one for one in LOADERS if one.name == arguments.one]
        if arguments.write:
            kind().write(arguments.write, dict(zip(NAMES, cameras(arguments.rows), strict=True)))
            found: dict[str, Any] = {"version": kind.version()}
        else:
            found = measure(kind(), Place(arguments.url, arguments.cache, arguments.workers))
        print(json.dumps(found), flush=True)
        # Skips the shutdown of the interpreter, in which threads of the loaders may abort the process.
        os._exit(0)

    known = {one.name: one for one in LOADERS}
    names = [name.strip() for name in arguments.loaders.split(";") if name.strip()] or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no loader {unknown}; there are: {'; '.join(known)}")
    places = arguments.places.split(",")
    if unknown := [place for place in places if place not in ("local", "s3")]:
        parser.error(f"no place {unknown}; there are: local, s3")
    scratch = Path(tempfile.mkdtemp(prefix="tetrys-loaders.", dir=arguments.folder)).resolve()
    server = None
    try:
        server = Server(arguments.server) if "s3" in places else None
        written: dict[str, Contender] = {}
        for name in names:
            kind = known[name]
            if kind.files not in written:
                one = written[kind.files] = Contender(kind, arguments.petastorm if kind is Petastorm else sys.executable)
                one.version = one.run("--write", str(scratch / kind.files), "--rows", str(arguments.rows)).get("version", "-")
                if server and "s3" in kind.places and not one.error:
                    server.upload(scratch / kind.files)
                print(f"written: {kind.files} {one.version} {one.error}", file=sys.stderr, flush=True)
        print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, {arguments.rows} rows, {arguments.rounds} rounds")
        results = {}
        for place in places:
            kinds = [known[name] for name in names if place in known[name].places]
            contenders = [Contender(kind, of.python, of.version, error=of.error) for kind in kinds for of in (written[kind.files],)]
            compare(contenders, place, server if place == "s3" else None, scratch, arguments)
            table(contenders, place)
            results[place] = {one.kind.name: {"version": one.version, "workers": one.workers, "error": one.error} | one.found for one in contenders}
        print()
        for name in names:
            if known[name].note:
                print(f"- {name}: {known[name].note}")
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1))
    finally:
        if server:
            server.end()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
