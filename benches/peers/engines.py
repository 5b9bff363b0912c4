"""The engines, used for random rows as their documentation recommends, opened once. An answer is a list of arrays or bytes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from data import CAMERAS, FIELDS, LOG, WINDOW, WORDS, Wide

Answer = list[Any]
CAMERA, LIDAR = "cam1.jpeg", "lidar.points"


def parts(column: pa.ChunkedArray | pa.Array) -> Answer:
    """Returns the values of an Arrow column, without a copy."""
    found: Answer = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if pa.types.is_nested(chunk.type):
            found.append(chunk.flatten().to_numpy(zero_copy_only=True))
        elif pa.types.is_integer(chunk.type):
            found.append(chunk.to_numpy(zero_copy_only=True))
        else:
            found.extend(value.as_buffer() for value in chunk)
    return found


class Engine:
    name = ""
    package = ""
    note = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "wide")
        self.small_path = str(folder / "small")

    def prepare(self, data: Wide) -> Any:
        """Converts the rows in memory to the argument of `write`."""
        return data.arrow()

    def prepare_small(self, words: np.ndarray) -> Any:
        return pa.table({"words": pa.FixedSizeListArray.from_arrays(pa.array(words.reshape(-1)), WORDS)})

    def write(self, rows: Any) -> None: ...
    def open(self) -> None: ...
    def fields(self, row: int, names: list[str]) -> Answer: ...
    def window(self, row: int, name: str) -> Answer: ...
    def scan(self, name: str, batch: int) -> Iterator[Answer]: ...
    def write_small(self, rows: Any) -> None: ...
    def open_small(self) -> None: ...
    def small(self, rows: list[int]) -> Answer: ...

    @classmethod
    def version(cls) -> str:
        return version(cls.package)


class Tetrys(Engine):
    preset = ""

    @classmethod
    def version(cls) -> str:
        import tetrys

        return tetrys.__version__

    def write(self, rows: Any) -> None:
        import tetrys as tt

        # Writes batches, as a recorder does; slices of an Arrow table share its memory.
        batches = (rows.slice(start, 50) for start in range(0, len(rows), 50))
        tt.write_table(self.path, batches, index=["log_id", "timestamp"], sequence_by=["log_id"], order_by=["timestamp"], preset=self.preset)

    def open(self) -> None:
        import tetrys as tt

        self.loader = tt.row_loader(tt.read_index(self.path))

    def fields(self, row: int, names: list[str]) -> Answer:
        return list(self.loader.get_row(row, names).values())

    def window(self, row: int, name: str) -> Answer:
        values = self.loader.get_rows(row, [name], offsets=range(1 - WINDOW, 1))[name]
        return [getattr(values, "values", values)]

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        return ([rows[name]] for rows in self.loader.scan(batch, [name]))

    def write_small(self, rows: Any) -> None:
        import tetrys as tt

        rows = rows.append_column("row", pa.array(np.arange(len(rows))))
        tt.write_table(self.small_path, rows, index=["row"], preset=self.preset)

    def open_small(self) -> None:
        import tetrys as tt

        self.loader = tt.row_loader(tt.read_index(self.small_path))

    def small(self, rows: list[int]) -> Answer:
        if len(rows) == 1:
            return list(self.loader.get_row(rows[0]).values())
        return [self.loader.take(rows)["words"]]


class Fast(Tetrys):
    name = preset = "fast"


class Balanced(Tetrys):
    name = preset = "balanced"


class Compact(Tetrys):
    name = preset = "compact"


class Lance(Engine):
    name, package, note = "Lance", "pylance", "file format 2.1; its column names have no dots"

    def prepare(self, data: Wide) -> Any:
        rows = data.arrow()
        return rows.rename_columns([name.replace(".", "_") for name in rows.column_names])

    def write(self, rows: Any) -> None:
        import lance

        lance.write_dataset(rows, self.path, data_storage_version="2.1")

    def open(self) -> None:
        import lance

        self.dataset = lance.dataset(self.path)

    def fields(self, row: int, names: list[str]) -> Answer:
        names = [name.replace(".", "_") for name in names]
        return [part for column in self.dataset.take([row], columns=names).columns for part in parts(column)]

    def window(self, row: int, name: str) -> Answer:
        rows = list(range(row + 1 - WINDOW, row + 1))
        return parts(self.dataset.take(rows, columns=[name.replace(".", "_")]).column(0))

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        batches = self.dataset.to_batches(columns=[name.replace(".", "_")], batch_size=batch)
        return (parts(rows.column(0)) for rows in batches)

    def write_small(self, rows: Any) -> None:
        import lance

        lance.write_dataset(rows, self.small_path, data_storage_version="2.1")

    def open_small(self) -> None:
        import lance

        self.dataset = lance.dataset(self.small_path)

    def small(self, rows: list[int]) -> Answer:
        return parts(self.dataset.take(rows).column(0))


class Vortex(Engine):
    name, package, note = "Vortex", "vortex-data", "default writer; rows of a batch sorted, as its scans want them"

    def options(self) -> Any:
        import vortex

        return vortex.io.VortexWriteOptions.default()

    def write(self, rows: Any) -> None:
        self.options().write(rows, self.path)

    def open(self) -> None:
        self._open(self.path)

    def _open(self, path: str) -> None:
        import vortex

        self.file = vortex.open(path)
        self.scans: dict[tuple[str, ...], Any] = {}

    def _rows(self, names: list[str], start: int, stop: int) -> Answer:
        key = tuple(names)
        if key not in self.scans:
            self.scans[key] = self.file.to_repeated_scan(names)
        batches = self.scans[key].execute(row_range=(start, stop)).to_arrow()
        return [part for batch in batches for column in batch.columns for part in parts(column)]

    def fields(self, row: int, names: list[str]) -> Answer:
        return self._rows(names, row, row + 1)

    def window(self, row: int, name: str) -> Answer:
        return self._rows([name], row + 1 - WINDOW, row + 1)

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        return (parts(rows.column(0)) for rows in self.file.scan([name], batch_size=batch).to_arrow())

    def write_small(self, rows: Any) -> None:
        self.options().write(rows, self.small_path)

    def open_small(self) -> None:
        self._open(self.small_path)

    def small(self, rows: list[int]) -> Answer:
        import vortex

        if len(rows) == 1:
            return self._rows(["words"], rows[0], rows[0] + 1)
        indices = vortex.array(pa.array(sorted(set(rows)), pa.uint64()))
        batches = self.file.scan(["words"], indices=indices).to_arrow()
        return [part for batch in batches for part in parts(batch.column(0))]


class VortexCompact(Vortex):
    name, note = "Vortex compact", "compact writer"

    def options(self) -> Any:
        import vortex

        return vortex.io.VortexWriteOptions.compact()


class Parquet(Engine):
    name, package, note = "Parquet", "pyarrow", "zstd, row groups of 50 rows (small rows: 1,000)"
    group = 50

    def write(self, rows: Any) -> None:
        import pyarrow.parquet as pq

        pq.write_table(rows, self.path, compression="zstd", row_group_size=50)

    def open(self) -> None:
        import pyarrow.parquet as pq

        self.file = pq.ParquetFile(self.path, memory_map=True)

    def fields(self, row: int, names: list[str]) -> Answer:
        group = self.file.read_row_group(row // 50, columns=names)
        return [part for column in group.slice(row % 50, 1).columns for part in parts(column)]

    def window(self, row: int, name: str) -> Answer:
        first, last = (row + 1 - WINDOW) // 50, row // 50
        groups = self.file.read_row_groups(list(range(first, last + 1)), columns=[name])
        return parts(groups.column(0).slice(row + 1 - WINDOW - first * 50, WINDOW))

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        return (parts(rows.column(0)) for rows in self.file.iter_batches(batch_size=batch, columns=[name]))

    def write_small(self, rows: Any) -> None:
        import pyarrow.parquet as pq

        pq.write_table(rows, self.small_path, compression="zstd", row_group_size=1000)

    def open_small(self) -> None:
        import pyarrow.parquet as pq

        self.file = pq.ParquetFile(self.small_path, memory_map=True)

    def small(self, rows: list[int]) -> Answer:
        groups = sorted({row // 1000 for row in rows})
        place = {group: number * 1000 for number, group in enumerate(groups)}
        read = self.file.read_row_groups(groups)
        return parts(read.take([place[row // 1000] + row % 1000 for row in rows]).column(0))


class ArrowMmap(Engine):
    name, package, note = "Arrow IPC mmap", "pyarrow", "uncompressed, nothing checked: the limit of any format"

    def _write(self, rows: Any, path: str, batch: int) -> None:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=batch)

    def write(self, rows: Any) -> None:
        self._write(rows, self.path, 50)

    def open(self) -> None:
        reader = pa.ipc.open_file(pa.memory_map(self.path))
        self.batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]

    def fields(self, row: int, names: list[str]) -> Answer:
        batch, place = self.batches[row // 50], row % 50
        return [part for name in names for part in parts(batch.column(name).slice(place, 1))]

    def window(self, row: int, name: str) -> Answer:
        start, found = row + 1 - WINDOW, []
        while start <= row:
            stop = min(row + 1, (start // 50 + 1) * 50)
            found += parts(self.batches[start // 50].column(name).slice(start % 50, stop - start))
            start = stop
        return found

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        return (parts(batch.column(name)) for batch in self.batches)

    def write_small(self, rows: Any) -> None:
        self._write(rows, self.small_path, 1 << 16)

    def open_small(self) -> None:
        reader = pa.ipc.open_file(pa.memory_map(self.small_path))
        self.words = reader.get_batch(0).column(0).flatten().to_numpy(zero_copy_only=True).reshape(-1, WORDS)

    def small(self, rows: list[int]) -> Answer:
        return [self.words[rows[0]] if len(rows) == 1 else self.words[rows]]


class ArrayRecord(Engine):
    name, package, note = "ArrayRecord", "array_record", "a row a record and a group, uncompressed, readahead 0"

    def prepare(self, data: Wide) -> Any:
        return data

    def prepare_small(self, words: np.ndarray) -> Any:
        return words

    def _write(self, records: Iterator[bytes], path: str) -> None:
        from array_record.python.array_record_module import ArrayRecordWriter

        writer = ArrayRecordWriter(path, "group_size:1,uncompressed")
        for record in records:
            writer.write(record)
        writer.close()

    def _reader(self, path: str) -> Any:
        from array_record.python.array_record_module import ArrayRecordReader

        return ArrayRecordReader(path, "readahead_buffer_size:0,max_parallelism:0")

    def write(self, rows: Any) -> None:
        def record(row: int) -> bytes:
            values = [rows.field(name, row).view(np.uint8).data for name in FIELDS]
            ends = np.cumsum([len(value) for value in values]).astype(np.int64)
            return b"".join([ends.tobytes(), *values])

        self._write((record(row) for row in range(rows.rows)), self.path)

    def open(self) -> None:
        self.reader = self._reader(self.path)

    def _fields(self, record: bytes, names: list[str]) -> Answer:
        head = 8 * len(FIELDS)
        ends = np.frombuffer(record, np.int64, len(FIELDS))
        found = []
        for name in names:
            place = FIELDS.index(name)
            start = int(ends[place - 1]) if place else 0
            found.append(np.frombuffer(record, np.uint8, int(ends[place]) - start, head + start))
        return found

    def fields(self, row: int, names: list[str]) -> Answer:
        return self._fields(self.reader.read([row])[0], names)

    def window(self, row: int, name: str) -> Answer:
        return [part for record in self.reader.read(list(range(row + 1 - WINDOW, row + 1))) for part in self._fields(record, [name])]

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        for start in range(0, self.reader.num_records(), batch):
            stop = min(start + batch, self.reader.num_records())
            yield [part for record in self.reader.read(start, stop) for part in self._fields(record, [name])]

    def write_small(self, rows: Any) -> None:
        self._write((row.tobytes() for row in rows), self.small_path)

    def open_small(self) -> None:
        self.reader = self._reader(self.small_path)

    def small(self, rows: list[int]) -> Answer:
        return [b"".join(self.reader.read(rows))]


class Zarr(Engine):
    name, package, note = "zarr", "zarr", "an array a field, a row a chunk (small rows: 64), default codecs; ragged fields padded"

    def prepare(self, data: Wide) -> Any:
        def padded(ragged: Any) -> np.ndarray:
            full = np.zeros((data.rows, int(np.diff(ragged.offsets).max())), np.float32)
            for row in range(data.rows):
                full[row, : len(ragged[row])] = ragged[row]
            return full

        columns = {f"cam{camera}.jpeg": data.jpeg[camera] for camera in range(CAMERAS)}
        columns |= {f"cam{camera}.intrinsics": data.intrinsics[camera] for camera in range(CAMERAS)}
        return columns | {LIDAR: data.lidar, "radar.returns": padded(data.radar), "boxes.boxes": padded(data.boxes)}

    def prepare_small(self, words: np.ndarray) -> Any:
        return words

    def write(self, rows: Any) -> None:
        import zarr

        group = zarr.create_group(self.path)
        for name, values in rows.items():
            group.create_array(name, data=values, chunks=(1, values.shape[1]))

    def open(self) -> None:
        import zarr

        group = zarr.open_group(self.path, mode="r")
        self.arrays = {name: group[name] for name in FIELDS}

    def fields(self, row: int, names: list[str]) -> Answer:
        return [self.arrays[name][row] for name in names]

    def window(self, row: int, name: str) -> Answer:
        return [self.arrays[name][row + 1 - WINDOW : row + 1]]

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        array = self.arrays[name]
        return ([array[start : start + batch]] for start in range(0, array.shape[0], batch))

    def write_small(self, rows: Any) -> None:
        import zarr

        zarr.create_array(self.small_path, data=rows, chunks=(64, WORDS))

    def open_small(self) -> None:
        import zarr

        self.array = zarr.open_array(self.small_path, mode="r")

    def small(self, rows: list[int]) -> Answer:
        return [self.array[rows[0]] if len(rows) == 1 else self.array.oindex[rows]]


class Files(Engine):
    name, note = "one file a field", "raw bytes, a folder a row"

    @classmethod
    def version(cls) -> str:
        return "-"

    def prepare(self, data: Wide) -> Any:
        return data

    def prepare_small(self, words: np.ndarray) -> Any:
        return words

    def write(self, rows: Any) -> None:
        for row in range(rows.rows):
            folder = Path(self.path, str(row))
            folder.mkdir(parents=True)
            for name in FIELDS:
                folder.joinpath(name).write_bytes(rows.field(name, row).data)
        self.rows = rows.rows

    def open(self) -> None: ...

    def _read(self, row: int, name: str) -> bytes:
        with open(f"{self.path}/{row}/{name}", "rb", buffering=0) as file:
            return file.read()

    def fields(self, row: int, names: list[str]) -> Answer:
        return [self._read(row, name) for name in names]

    def window(self, row: int, name: str) -> Answer:
        return [self._read(one, name) for one in range(row + 1 - WINDOW, row + 1)]

    def scan(self, name: str, batch: int) -> Iterator[Answer]:
        return ([self._read(row, name)] for row in range(self.rows))

    def write_small(self, rows: Any) -> None:
        Path(self.small_path).mkdir()
        for row, words in enumerate(rows):
            with open(f"{self.small_path}/{row}", "wb", buffering=0) as file:
                file.write(words.data)

    def open_small(self) -> None: ...

    def small(self, rows: list[int]) -> Answer:
        found = []
        for row in rows:
            with open(f"{self.small_path}/{row}", "rb", buffering=0) as file:
                found.append(file.read())
        return [b"".join(found)]


ENGINES: list[type[Engine]] = [Fast, Balanced, Compact, Lance, Vortex, VortexCompact, Parquet, ArrowMmap, ArrayRecord, Zarr, Files]


__all__ = ["CAMERA", "ENGINES", "LIDAR", "LOG", "Engine"]
