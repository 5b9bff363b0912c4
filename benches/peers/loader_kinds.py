"""The data loaders that `loaders.py` compares: each with the settings that its documentation recommends, over its own format.

`PlainRanges` is no loader: it reads the same rows as plain ranges of one object, which is the most that a loader can reach.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from data import DATA
from nodes import process_group
from server import BUCKET, client

BATCH = 64
EPOCHS = 2
SHARD = 200
"""Rows of a shard or a file, in formats that want several: 64 MB."""
BUFFER = 1000
"""Rows of a shuffle buffer."""
GROUP = 50
"""Rows of a Parquet row group: 16 MB."""
NAMES, LENGTH, ROW = DATA.names, DATA.length, DATA.row
"""Fields of a row, bytes of a field, and bytes of a row."""
IN_FLIGHT = 64
"""Concurrent requests of a process for plain ranges: those of Tetrys."""
PLAIN = "plain ranges"
AHEAD = 8
"""Batches of plain ranges that are read ahead: 164 MB."""
LEAST_CACHE = 16 << 20
"""The smallest cache of Tetrys, in bytes."""

Batch = dict[str, Any]
"""`row` and the cameras: torch tensors or numpy arrays, [batch] and [batch, LENGTH]."""
Epochs = Iterator[Iterable[Batch]]
"""Nothing of an epoch starts before it is iterated: that is when its time starts."""


@dataclass
class Place:
    """Where a process of a loader reads: a path or an S3 URL.

    `cache` is a folder that is empty before the first epoch, for what is read from S3, or "" for no cache on disk; all processes of the
    node share it. It may hold `cache_bytes`, or any number of bytes if that is None.
    """

    url: str
    cache: str = ""
    cache_bytes: int | None = None
    memory: int = 64 << 20
    """The most bytes of a cache in memory, for each process."""
    workers: int = 0
    rank: int = 0
    processes: int = 1
    scratch: str = ""
    """A folder of the measurement, which is the same for all processes."""

    @property
    def is_s3(self) -> bool:
        return self.url.startswith("s3://")


def binary(fields: np.ndarray) -> pa.Array:
    """Returns fields as an Arrow column of bytes over the same memory."""
    offsets = pa.py_buffer(np.arange(len(fields) + 1, dtype=np.int64) * LENGTH)
    return pa.Array.from_buffers(pa.large_binary(), len(fields), [None, offsets, pa.py_buffer(fields.reshape(-1))])


def unpacked(rows: pa.Table | pa.RecordBatch) -> Batch:
    """Returns tensors over the memory of an Arrow table with columns of bytes."""
    import torch

    def tensor(column: Any) -> Any:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_integer(column.type):
            return torch.from_numpy(column.to_numpy().copy())
        start = int(np.frombuffer(column.buffers()[1], np.int64)[column.offset])
        return torch.from_numpy(np.frombuffer(column.buffers()[2], np.uint8, len(column) * LENGTH, start).reshape(-1, LENGTH))

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
    workers: tuple[int, ...] = (0, 2)
    places: tuple[str, ...] = ("local", "s3")
    cache = "none"
    """Whether it has a cache on disk: "none", "any" or "needed"."""

    @classmethod
    def version(cls) -> str:
        return version(cls.package)

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        """Writes all rows. A format of several files that are dealt to processes has a multiple of `parts` files."""

    def epochs(self, place: Place) -> Epochs:
        """Makes the loader, then runs `EPOCHS` epochs with it."""
        raise NotImplementedError


def torch_loader(samples: Any, place: Place, **settings: Any) -> Any:
    """Returns a DataLoader of PyTorch whose workers stay for the next epoch."""
    import torch.utils.data

    if place.workers:
        settings |= {"num_workers": place.workers, "persistent_workers": True}
    else:
        settings.pop("multiprocessing_context", None)
    return torch.utils.data.DataLoader(samples, **settings)


def shuffled(samples: TakeRows, place: Place, **settings: Any) -> Epochs:
    """Runs epochs of a DataLoader of PyTorch in random order, of which each process has its share."""
    import torch.utils.data

    order: Any = None
    if place.processes > 1:
        order = torch.utils.data.DistributedSampler(samples, place.processes, place.rank)  # type: ignore[arg-type]
    loader = torch_loader(samples, place, batch_size=BATCH, shuffle=order is None, sampler=order, collate_fn=as_is, **settings)
    for epoch in range(EPOCHS):
        if order is not None:
            order.set_epoch(epoch)
        yield loader

class TakeRows:
    """A map-style dataset for PyTorch that answers a batch with one read: `take` turns a list of rows into a batch."""

    def __init__(self, rows: int, take: Callable[[list[int]], Batch]) -> None:
        self.rows, self.take = rows, take

    def __len__(self) -> int:
        return self.rows

    def __getitems__(self, rows: list[int]) -> Batch:
        return self.take(rows)


class Tetrys(Loader):
    name, files, order = "Tetrys, global", "tetrys", "global"
    shuffle: Any = "global"
    workers, cache = (0,), "any"
    note = "the defaults, but `last=\"short\"`; ranks from the environment"

    @classmethod
    def version(cls) -> str:
        import tetrys

        return tetrys.__version__

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        import tetrys as tt

        columns = {"row": np.arange(len(fields[NAMES[0]]))}
        columns |= {f"camera.{name}": values for name, values in fields.items()}
        tt.write_table(path, columns, index=["row"])

    def epochs(self, place: Place) -> Epochs:
        if place.cache:
            os.environ["TETRYS_CACHE"] = place.cache
            os.environ["TETRYS_CACHE_SIZE"] = str(max(place.cache_bytes or 1 << 40, LEAST_CACHE))
            os.environ["TETRYS_CACHE_MEMORY"] = str(place.memory)
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
        self.url = url
        self.dataset: Any = None

    def __call__(self, rows: list[int]) -> Batch:
        import lance

        self.dataset = self.dataset or lance.dataset(self.url)
        return unpacked(self.dataset.take(rows))


class Lance(Loader):
    name, package, files, order = "Lance, map-style", "pylance", "lance", "global"
    note = "SafeLanceDataset without its Python lists: one `take` a batch, workers by spawn; fields as binary, file format 2.1; \
processes: DistributedSampler, which repeats rows so that all processes have as many"

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        import lance

        columns = {name: binary(values) for name, values in fields.items()}
        lance.write_dataset(pa.table({"row": np.arange(len(fields[NAMES[0]]))} | columns), path, data_storage_version="2.1")

    def epochs(self, place: Place) -> Epochs:
        import lance

        samples = TakeRows(lance.dataset(place.url).count_rows(), LanceTake(place.url))
        yield from shuffled(samples, place, multiprocessing_context="spawn")


class LanceScan(Lance):
    name, order = "Lance, LanceDataset", "batches of 64 neighbours"
    workers = (0,)
    note = "ShardedBatchSampler with randomize and the rank, read ahead by its own threads"

    def epochs(self, place: Place) -> Epochs:
        from lance.sampler import ShardedBatchSampler
        from lance.torch.data import LanceDataset

        as_tensors: Any = lambda rows, **_: unpacked(rows)  # noqa: E731
        for epoch in range(EPOCHS):
            sampler = ShardedBatchSampler(place.rank, place.processes, randomize=True, seed=epoch)
            yield LanceDataset(place.url, BATCH, sampler=sampler, to_tensor_fn=as_tensors)


class MosaicML(Loader):
    name, package, files, order = "MosaicML", "mosaicml-streaming", "mds", "py1e, blocks of 2^18 rows"
    cache = "needed"
    note = "StreamingDataset and StreamingDataLoader, shards of 64 MiB; s3: always through its folder, `cache_limit`; \
processes: torch.distributed"

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        from streaming import MDSWriter

        with MDSWriter(out=path, columns={"row": "int"} | dict.fromkeys(NAMES, f"ndarray:uint8:{LENGTH}")) as writer:
            for row in range(len(fields[NAMES[0]])):
                writer.write({"row": row} | {name: values[row] for name, values in fields.items()})

    def epochs(self, place: Place) -> Epochs:
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        if place.processes > 1:
            process_group(place.scratch, place.rank, place.processes)
        # The processes of the measurement before were killed, and may have left their shared memory. One process removes it, and the
        # others wait.
        clean_stale_shared_memory()
        where: dict[str, Any] = {"local": place.url}
        if place.is_s3:
            where = {"remote": place.url, "local": place.cache, "cache_limit": place.cache_bytes}
        samples = StreamingDataset(**where, shuffle=True, batch_size=BATCH)
        loader = StreamingDataLoader(samples, batch_size=BATCH, num_workers=place.workers, persistent_workers=place.workers > 0)
        for _ in range(EPOCHS):
            yield loader


class HuggingFace(Loader):
    name, package, files, order, places = "Hugging Face, numpy", "datasets", "datasets", "global", ("local",)
    note = 'Arrow on disk, map-style, `with_format("numpy", dtype=np.uint8)`, one read a batch'
    format: dict[str, Any] = {"type": "numpy", "columns": NAMES, "output_all_columns": True, "dtype": np.uint8}

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        import datasets

        types = {"row": datasets.Value("int64")} | dict.fromkeys(NAMES, datasets.Sequence(datasets.Value("uint8"), length=LENGTH))
        columns = {name: pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), LENGTH) for name, values in fields.items()}
        rows = pa.table({"row": np.arange(len(fields[NAMES[0]]))} | columns)
        datasets.Dataset(rows.cast(datasets.Features(types).arrow_schema)).save_to_disk(path)

    def epochs(self, place: Place) -> Epochs:
        import datasets

        rows = datasets.load_from_disk(place.url).with_format(**self.format)
        yield from shuffled(TakeRows(len(rows), lambda some: self.batch(rows[some])), place)

    def batch(self, rows: Any) -> Any:
        return rows


class HuggingFaceArrow(HuggingFace):
    name, format = "Hugging Face, arrow", {"type": "arrow"}
    note = 'the same with `with_format("arrow")`: arrays over the memory of the Arrow table, made by hand'

    def batch(self, rows: pa.Table) -> Batch:
        fields = {name: rows.column(name).combine_chunks().flatten().to_numpy().reshape(-1, LENGTH) for name in NAMES}
        return {"row": rows.column("row").to_numpy()} | fields


class WebDataset(Loader):
    name, package, files, order = "WebDataset", "webdataset", "webdataset", f"shards, and a buffer of {BUFFER} rows"
    cache = "any"
    note = f"tar files of at most {SHARD} rows; s3: signed URLs in `pipe:curl`, `cache_dir`, `cache_size`, which it enforces each 30 s; \
processes: split_by_node, with as many files for each worker of each process"

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        import webdataset as wds

        Path(path).mkdir()
        rows = len(fields[NAMES[0]])
        files = -(-rows // SHARD // parts) * parts
        with wds.ShardWriter(f"{path}/%04d.tar", maxcount=-(-rows // files), maxsize=1 << 40, verbose=0) as writer:
            for row in range(rows):
                writer.write({"__key__": f"{row:09}"} | {f"{name}.bin": values[row].tobytes() for name, values in fields.items()})

    def epochs(self, place: Place) -> Epochs:
        import webdataset as wds

        def sample(files: dict[str, Any]) -> list[Any]:
            return [int(files["__key__"]), *(np.frombuffer(files[f"{name}.bin"], np.uint8) for name in NAMES)]

        def batch(samples: list[Any]) -> Batch:
            import torch

            columns = zip(("row", *NAMES), zip(*samples, strict=True), strict=True)
            return {name: torch.from_numpy(np.stack(values)) for name, values in columns}

        urls, settings = sorted(str(path) for path in Path(place.url).iterdir()) if not place.is_s3 else [], {}
        if place.is_s3:
            listed = client().list_objects_v2(Bucket=BUCKET, Prefix=f"{self.files}/")["Contents"]
            urls = [f"pipe:curl --silent --fail '{signed(one['Key'])}'" for one in listed]
        if place.cache:
            settings = {"cache_dir": place.cache, "cache_size": place.cache_bytes or -1}
        if place.processes > 1:
            settings["nodesplitter"] = wds.split_by_node
        samples = wds.WebDataset(urls, shardshuffle=len(urls), empty_check=False, **settings)
        samples = samples.shuffle(BUFFER).map(sample).batched(BATCH, collation_fn=batch)
        loader = torch_loader(samples, place, batch_size=None)
        for _ in range(EPOCHS):
            yield loader


class Petastorm(Loader):
    name, package, files, order = "Petastorm", "petastorm", "petastorm", f"row groups, and a buffer of {BUFFER} rows"
    workers, places = (2, 10), ("local",)
    note = f"make_reader with threads (the workers of the table), NdarrayCodec, row groups of {GROUP} rows; not on s3: with pyarrow 12 and \
14 it passes `validate_schema`, which pyarrow rejects for file systems other than local ones"

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        """Writes what `materialize_dataset` does, without Spark."""
        import pickle

        import pyarrow.parquet as pq
        from petastorm.codecs import NdarrayCodec, ScalarCodec
        from petastorm.unischema import Unischema, UnischemaField
        from pyspark.sql.types import LongType

        typed = [UnischemaField(name, np.uint8, (LENGTH,), NdarrayCodec(), False) for name in NAMES]
        schema = Unischema("Fields", [UnischemaField("row", np.int64, (), ScalarCodec(LongType()), False), *typed])
        columns = {one.name: pa.array([bytes(one.codec.encode(one, row)) for row in fields[one.name]], pa.binary()) for one in typed}
        rows, groups = pa.table({"row": np.arange(len(fields[NAMES[0]]))} | columns), {}
        Path(path).mkdir()
        for start in range(0, len(rows), SHARD):
            part, file = rows.slice(start, SHARD), f"part-{start:06}.parquet"
            pq.write_table(part, f"{path}/{file}", row_group_size=GROUP, compression="none", use_dictionary=False)
            groups[file] = -(-len(part) // GROUP)
        metadata = {"dataset-toolkit.unischema.v1": pickle.dumps(schema), "dataset-toolkit.num_row_groups_per_file.v1": json.dumps(groups)}
        pq.write_metadata(rows.schema.with_metadata(metadata), f"{path}/_common_metadata")

    def epochs(self, place: Place) -> Epochs:
        from petastorm import make_reader
        from petastorm.pytorch import DataLoader

        settings: dict[str, Any] = {"workers_count": place.workers, "shuffle_rows": True, "shuffle_row_groups": True}
        if place.processes > 1:
            settings |= {"cur_shard": place.rank, "shard_count": place.processes}

        def epoch() -> Iterator[Batch]:
            with DataLoader(make_reader(f"file://{place.url}", num_epochs=1, **settings), batch_size=BATCH, shuffling_queue_capacity=BUFFER) as loader:
                yield from loader

        for _ in range(EPOCHS):
            yield epoch()


class PlainRanges(Loader):
    """The rows as ranges of one object, in random order: one request a row, many at a time, and no checks."""

    name, files, order, places = PLAIN, "plain", "global", ("s3",)
    workers = (0,)
    note = f"no loader but the limit: one object, a range a row, {IN_FLIGHT} requests at a time in each process, nothing checked"

    @classmethod
    def version(cls) -> str:
        return "-"

    def write(self, path: str, fields: dict[str, np.ndarray], parts: int) -> None:
        Path(path).mkdir()
        with Path(path, "rows").open("wb") as file:
            for row in zip(*(fields[name] for name in NAMES), strict=True):
                file.write(b"".join(row))

    def epochs(self, place: Place) -> Epochs:
        key = f"{self.files}/rows"
        rows = client().head_object(Bucket=BUCKET, Key=key)["ContentLength"] // ROW
        ranges, pool = Ranges(signed(key)), ThreadPoolExecutor(IN_FLIGHT)

        def epoch(number: int) -> Iterator[Batch]:
            order = np.random.default_rng(number).permutation(rows)[place.rank :: place.processes]
            ahead: deque[tuple[np.ndarray, np.ndarray, list[Future[None]]]] = deque()
            for start in range(0, len(order), BATCH):
                some = order[start : start + BATCH]
                bytes_ = np.empty((len(some), ROW), np.uint8)
                reads = [pool.submit(ranges.read, int(row) * ROW, into) for row, into in zip(some, bytes_, strict=True)]
                ahead.append((some, bytes_, reads))
                if len(ahead) > AHEAD:
                    yield batch(*ahead.popleft())
            while ahead:
                yield batch(*ahead.popleft())

        def batch(some: np.ndarray, bytes_: np.ndarray, reads: list[Future[None]]) -> Batch:
            for read in reads:
                read.result()
            return {"row": some} | {name: bytes_[:, number * LENGTH :][:, :LENGTH] for number, name in enumerate(NAMES)}

        for number in range(EPOCHS):
            yield epoch(number)


class Ranges:
    """Reads ranges of one object by HTTP. Each thread has a connection."""

    def __init__(self, url: str) -> None:
        self._url = urllib.parse.urlsplit(url)
        self._of_thread = threading.local()

    def read(self, start: int, into: np.ndarray) -> None:
        """Reads the bytes from `start` on, as many as the array has."""
        if not hasattr(self._of_thread, "connection"):
            self._of_thread.connection = http.client.HTTPConnection(self._url.netloc)
        connection: http.client.HTTPConnection = self._of_thread.connection
        connection.request("GET", f"{self._url.path}?{self._url.query}", headers={"Range": f"bytes={start}-{start + len(into) - 1}"})
        answer, bytes_ = connection.getresponse(), memoryview(into)  # type: ignore[arg-type]
        if answer.status != 206:
            raise OSError(f"status {answer.status}: {answer.read(200)!r}")
        while len(bytes_) and (read := answer.readinto(bytes_)):
            bytes_ = bytes_[read:]
        # Also the end of the body, so that the connection is free for the next request.
        if len(bytes_) or answer.read():
            raise OSError(f"a range of {len(into)} bytes, and {len(bytes_)} bytes did not come")


def signed(key: str) -> str:
    """Returns a URL of an object that needs no keys."""
    url: str = client().generate_presigned_url("get_object", {"Bucket": BUCKET, "Key": key})
    return url


LOADERS: list[type[Loader]] = [
    Tetrys, TetrysBlock, Lance, LanceScan, MosaicML, HuggingFace, HuggingFaceArrow, WebDataset, Petastorm, PlainRanges,
]  # fmt: skip
