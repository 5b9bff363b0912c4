"""Level 5 data sets as structured arrays: tables, zarr groups, and arrays in memory."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import is_whole, number, path_of, text, truth
from .._errors import WrongType, WrongValue, array_of, found, short
from .._index import open_table
from .._rows import CACHE_BYTES, RowLoader
from .._table import Table
from .._tetrys import Corrupt, Invalid, NotFound
from ._checks import records
from ._records import AGENT_DTYPE, FRAME_DTYPE, SCENE_DTYPE, TL_FACE_DTYPE, LazyRecords, Records

_AGENT_COLUMNS = {
    "centroid": "agents.pose.centroid",
    "extent": "agents.pose.extent",
    "yaw": "agents.pose.yaw",
    "velocity": "agents.velocity",
    "track_id": "agents.pose.track_id",
    "label_probabilities": "agents.label_probabilities",
}
_FACE_COLUMNS = {"face_id": "tl_faces.face_id", "traffic_light_id": "tl_faces.traffic_light_id", "traffic_light_face_status": "tl_faces.status"}
_FACES = "traffic_light_faces_index_interval"
_EGO_COLUMNS = {"ego_translation": "ego.translation", "ego_rotation": "ego.rotation"}
_NUMPY = {"f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8", "u32": "<u4", "u64": "<u8"}


class ChunkedDataset:
    """A Level 5 data set: `scenes`, `frames`, `agents` and `tl_faces` as structured arrays with L5Kit's dtypes.

    Args:
        path: Path or URL of a table that `tetrys.ingest_l5` made, or of a zarr group (a folder, or a `.zip`). An empty text is a data
            set in memory, whose arrays the caller sets.
        key: Not used, as in L5Kit.

    Example:
        >>> from tetrys.l5 import ChunkedDataset
        >>> dataset = ChunkedDataset("sample").open()
        >>> dataset.frames[10]["ego_translation"], dataset.agents[100:110]["track_id"]

    A table or zarr group is read when arrays are indexed, and decoded blocks are cached. Unlike in L5Kit, masks and lists of ints
    work as indexes.
    """

    def __init__(self, path: str | Table = "", key: str = "") -> None:
        self.path = path.url if isinstance(path, Table) else path_of("path", path)
        self.key = key
        self._table = path if isinstance(path, Table) else None
        self._zarr: _tetrys.L5Zarr | None = None
        # The files of a local zarr group, as they were when it was opened.
        self._files: bytes = b""
        self._cache_bytes = 0
        self._native: _tetrys.Level5 | None = None
        # The arrays that `open` made, or the bytes of those in memory that `_native` was made of.
        self._opened: tuple[Any, ...] | None = None
        self._contents: tuple[bytes, ...] = ()
        self.scenes: Any = np.empty(0, SCENE_DTYPE)
        self.frames: Any = np.empty(0, FRAME_DTYPE)
        self.agents: Any = np.empty(0, AGENT_DTYPE)
        self.tl_faces: Any = np.empty(0, TL_FACE_DTYPE)

    def open(self, mode: str = "r", cached: bool = True, cache_size_bytes: int = int(1e9)) -> ChunkedDataset:
        """Opens the data set for reading. `cache_size_bytes` bounds the decoded scenes and blocks of samples; `cached=False` turns the
        cache off. The arrays of a table cache up to 64 MiB more, those of a zarr group as much again.

        Raises:
            ValueError: a mode other than `"r"`.
            tetrys.NotFound: nothing is at the path.
            tetrys.Invalid: what is there is no Level 5 data set.
        """
        if not isinstance(mode, str) or mode != "r":
            raise WrongValue(f"mode {found(mode)}: a data set is opened for reading, expected 'r'")
        bound = number("cache_size_bytes", cache_size_bytes)
        if not bound >= 0:
            raise WrongValue(f"cache_size_bytes: {bound} is outside: expected 0 or more")
        self._cache_bytes = int(min(bound, 2**62)) if truth("cached", cached) else 0
        if self._table is None and _is_zarr(self.path):
            self._open_zarr()
        else:
            self._open_table(self._table if self._table is not None else open_table(self.path))
        self._opened = (self.scenes, self.frames, self.agents, self.tl_faces)
        for name in ("frames", "agents", "tl_faces"):
            if isinstance(array := getattr(self, name), LazyRecords):
                array._file = partial(_name_of, f"{name}-", self._table, self._zarr, self._files, self.native())
        return self

    def initialize(
        self, mode: str = "w", num_scenes: int = 0, num_frames: int = 0, num_agents: int = 0, num_tl_faces: int = 0
    ) -> ChunkedDataset:
        """Makes a new zarr group at the path, whose arrays have records of zeros, for the caller to fill.

        Args:
            mode: `"w"`, `"w-"` or `"x"`, which are the same: unlike in L5Kit, an existing group is never replaced.
            num_scenes, num_frames, num_agents, num_tl_faces: Records of each array.

        `dataset.frames[0:10] = records` writes records, and `dataset.frames.append(records)` adds some. Chunks are not compressed. L5Kit
        and `tetrys.ingest_l5` read the group. Open it again to compute samples.

        Example:
            >>> from tetrys.l5 import ChunkedDataset
            >>> scene = ChunkedDataset("sample").open().get_scene_dataset(0)
            >>> sizes = {"num_frames": len(scene.frames), "num_agents": len(scene.agents), "num_tl_faces": len(scene.tl_faces)}
            >>> copy = ChunkedDataset("copy.zarr").initialize(num_scenes=1, **sizes)
            >>> copy.scenes[:], copy.frames[:], copy.agents[:], copy.tl_faces[:] = scene.scenes, scene.frames, scene.agents, scene.tl_faces

        Raises:
            AssertionError (also a `tetrys.Exists`): something exists at the path.
            ValueError: another mode, or the path is empty or a URL.
        """
        from ._writable import make_group

        lengths = {"num_scenes": num_scenes, "num_frames": num_frames, "num_agents": num_agents, "num_tl_faces": num_tl_faces}
        made = make_group(self.path, mode, lengths)
        self._table = self._zarr = self._native = self._opened = None
        self.scenes, self.frames, self.agents, self.tl_faces = (made[name] for name in ("scenes", "frames", "agents", "tl_faces"))
        return self

    def _open_table(self, table: Table) -> None:
        self._table = table
        native = self._native = _tetrys.Level5.open(table._native, self._cache_bytes)
        rows = RowLoader(table, cache_bytes=min(self._cache_bytes, CACHE_BYTES))
        timestamps, agent_ends, face_ends = native.frames()
        self.scenes = _scenes(native)
        ego = _Columns(rows, _EGO_COLUMNS, FRAME_DTYPE)
        agents = _Columns(rows, _AGENT_COLUMNS, AGENT_DTYPE)
        frame_fields = [(name, *_field(ego.dtype if name in _EGO_COLUMNS else FRAME_DTYPE, name)) for name in FRAME_DTYPE.names or ()]
        if not native.has_faces():
            frame_fields = [field for field in frame_fields if field[0] != "traffic_light_faces_index_interval"]
        frame_dtype = np.dtype(frame_fields)
        intervals = {"agent_index_interval": agent_ends, "traffic_light_faces_index_interval": face_ends}

        def read_frames(start: int, stop: int, fields: Sequence[str]) -> Records:
            records = np.zeros(stop - start, _only(frame_dtype, fields))
            for name in fields:
                if name == "timestamp":
                    records[name] = timestamps[start:stop]
                elif name in intervals:
                    ends = intervals[name][start:stop]
                    records[name][:, 1] = ends
                    records[name][1:, 0] = ends[:-1]
                    records[name][:1, 0] = intervals[name][start - 1] if start else 0
            stored = [name for name in fields if name in _EGO_COLUMNS]
            if stored and stop > start:
                for name, values in ego.of_frames(start, stop, stored).items():
                    records[name] = values
            return records

        self.frames = LazyRecords(frame_dtype, len(timestamps), read_frames)
        self.agents = LazyRecords(agents.dtype, native.counts()[2], agents.reader(agent_ends))
        if native.has_faces():
            faces = _Columns(rows, _FACE_COLUMNS, TL_FACE_DTYPE)
            self.tl_faces = LazyRecords(faces.dtype, native.counts()[3], faces.reader(face_ends))

    def _open_zarr(self) -> None:
        zarr = self._zarr = _tetrys.L5Zarr(self.path)
        # Before records are read: if somebody changes some in the meantime, whoever opens the group then gets another identity.
        self._files = _files_of(self.path)
        native = self._native = _tetrys.Level5.of_zarr(zarr, self._cache_bytes)
        cache = _ChunkCache(zarr, max(self._cache_bytes, 1))
        self.scenes = cache.array("scenes")[:]
        self.frames = cache.array("frames")
        self.agents = cache.array("agents")
        if native.has_faces():
            self.tl_faces = cache.array("traffic_light_faces")
        else:
            warnings.warn(f"traffic_light_faces not found in {self.path}! Traffic lights will be disabled", RuntimeWarning, stacklevel=3)

    def native(self) -> _tetrys.Level5:
        """Not for users: the data set as the samples read it. Arrays in memory are compared with what was last read, and taken again
        if they have changed.
        """
        arrays = (self.scenes, self.frames, self.agents, self.tl_faces)
        if self._native is not None and self._opened is not None and all(one is other for one, other in zip(arrays, self._opened, strict=True)):
            return self._native
        checked = _checked_arrays(*arrays)
        contents = tuple(array.tobytes() for array in checked)
        if self._native is None or self._opened is not None or contents != self._contents:
            self._native, self._contents, self._opened = _of_arrays(*checked), contents, None
        return self._native

    def identity(self) -> str:
        """Not for users: a text that differs for another data set or version at the same place."""
        return _name_of("", self._table, self._zarr, self._files, self.native())

    def is_stored(self) -> bool:
        """Not for users: whether the arrays are those of the table or zarr group, and not others that the caller has set."""
        self.native()
        return self._opened is not None

    def get_scene_dataset(self, scene_index: int) -> ChunkedDataset:
        """Returns one scene as a data set in memory, whose arrays are copies and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        if not is_whole(scene_index):
            raise WrongType(f"a scene is chosen by its number, found {found(scene_index)}")
        if scene_index >= len(self.scenes) or scene_index < -len(self.scenes):
            raise WrongValue(f"scene index {short(scene_index)} is too high for dataset with {len(self.scenes)} scenes")
        scene = scene_index % len(self.scenes)
        scenes = np.array(self.scenes[scene : scene + 1])
        first, last = scenes[0]["frame_index_interval"].tolist()
        frames = np.array(self.frames[first:last])
        dataset = ChunkedDataset("")
        dataset.scenes, dataset.frames = scenes, frames
        if len(frames):
            dataset.agents = _cut(frames, "agent_index_interval", self.agents)
            if "traffic_light_faces_index_interval" in (frames.dtype.names or ()):
                dataset.tl_faces = _cut(frames, "traffic_light_faces_index_interval", self.tl_faces)
        scenes["frame_index_interval"] -= first
        return dataset

    def __str__(self) -> str:
        """Returns counts and averages as a table."""
        frames, agents, scenes = len(self.frames), len(self.agents), len(self.scenes)
        frequency = 10.0
        if frames > 1:
            times = self.frames[0:50]["timestamp"]
            frequency = float(np.mean(1 / (np.diff(times) / 1e9)))
        else:
            warnings.warn(f"not enough frames({frames}) to read the frequency, 10 will be set", RuntimeWarning, stacklevel=2)
        values = {
            "Num Scenes": scenes,
            "Num Frames": frames,
            "Num Agents": agents,
            "Num TR lights": len(self.tl_faces),
            "Total Time (hr)": frames / max(frequency, 1) / 3600,
            "Avg Frames per Scene": frames / max(scenes, 1),
            "Avg Agents per Frame": agents / max(frames, 1),
            "Avg Scene Time (sec)": frames / max(scenes, 1) / frequency,
            "Avg Frame frequency": frequency,
        }
        return _table({name: f"{value:.2f}" if isinstance(value, float) else str(value) for name, value in values.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path and version, or the arrays of a data set in memory."""
        if isinstance(self.frames, LazyRecords):
            return _reopened, (self._table if self._table is not None else self.path, self._cache_bytes)
        return _in_memory, (self.path, self.scenes, self.frames, self.agents, self.tl_faces)


def of_window(
    frames: Records, agents: Sequence[Records], tl_faces: Sequence[Records], later: Sequence[Records] = ()
) -> ChunkedDataset:
    """Makes a data set of one scene.

    Args:
        frames: Frames in the order of time.
        agents: Agents of each of the first frames.
        tl_faces: Traffic light faces of each of the first frames.
        later: Agents of each of the frames after these.
    """
    dataset, count = ChunkedDataset(""), len(frames)
    dataset.frames = np.zeros(count, FRAME_DTYPE)
    for name in ("timestamp", "ego_translation", "ego_rotation"):
        dataset.frames[name] = frames[name]
    for name, interval, lists, dtype in (
        ("agents", "agent_index_interval", [*agents, *later], AGENT_DTYPE),
        ("tl_faces", "traffic_light_faces_index_interval", tl_faces, TL_FACE_DTYPE),
    ):
        arrays = [np.asarray(records) for records in lists]
        ends = np.cumsum([len(records) for records in arrays] + [0] * (count - len(arrays)))
        if len(ends) != count:
            raise WrongValue(f"{name}: expected arrays of at most {count} frames, found {len(ends)}")
        dataset.frames[interval][:, 1] = ends
        dataset.frames[interval][1:, 0] = ends[:-1]
        setattr(dataset, name, np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype))
    dataset.scenes = np.zeros(1, SCENE_DTYPE)
    dataset.scenes["frame_index_interval"][0] = 0, count
    return dataset


def _name_of(name: str, table: Table | None, zarr: _tetrys.L5Zarr | None, files: bytes, native: _tetrys.Level5) -> str:
    """Returns a name, followed by the identity of a data set."""
    if table is not None:
        return f"{name}{table.info()['uuid']}-{table.version}"
    digest = hashlib.sha256(files + (zarr.properties().encode() if zarr is not None else b""))
    for column in native.frames():
        digest.update(column.tobytes())
    return f"{name}{digest.hexdigest()[:32]}"


def _files_of(path: str) -> bytes:
    """Returns paths, sizes and times of the chunks of a local zarr group, or of its `.zip`; nothing for a group in an object store."""
    local = url2pathname(urlsplit(path).path) if path.startswith("file://") else path
    if "://" in local:
        return b""
    root = Path(local).resolve()
    folders = [folder for name in ("scenes", "frames", "agents", "traffic_light_faces") if (folder := root / name).is_dir()]
    # Names of chunks are numbers. Other files may be temporary ones of a writer.
    files = [root] if root.is_file() else sorted(file for folder in folders for file in folder.iterdir() if file.name[0].isdigit())
    return repr([(str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in files]).encode()


def scene_of(frames: Records, agents: Any, tl_faces: Any = None) -> ChunkedDataset:
    """Makes a data set of one scene.

    Args:
        frames: Frames in the order of time, whose intervals number `agents` and `tl_faces`.
        agents: Agents of all frames and of others.
        tl_faces: Traffic light faces of all frames and of others; None, or none of them: the scene has no faces.
    """
    dataset = ChunkedDataset("")
    dataset.frames = frames = np.array(frames)
    dataset.scenes = np.zeros(1, SCENE_DTYPE)
    dataset.scenes["frame_index_interval"][0] = 0, len(frames)
    dataset.agents = _cut(frames, "agent_index_interval", agents)
    if _FACES in (frames.dtype.names or ()):
        if tl_faces is None or not len(tl_faces):
            frames[_FACES] = 0
        else:
            dataset.tl_faces = _cut(frames, _FACES, tl_faces)
    return dataset


def _reopened(path: str | Table, cache_bytes: int) -> ChunkedDataset:
    return ChunkedDataset(path).open(cached=cache_bytes > 0, cache_size_bytes=cache_bytes)


def _in_memory(path: str, scenes: Records, frames: Records, agents: Records, tl_faces: Records) -> ChunkedDataset:
    dataset = ChunkedDataset(path)
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = scenes, frames, agents, tl_faces
    return dataset


def _is_zarr(path: str) -> bool:
    if path.endswith(".zip"):
        return True
    try:
        is_group = _tetrys.L5Zarr.exists(path) if "://" in path else (Path(path) / ".zgroup").exists()
    except OSError:
        # As of a name that is too long: opening it says so.
        return False
    return is_group and not _is_table(path)


def _is_table(path: str) -> bool:
    """Whether there is a table where a `.zgroup` lies: tools for zarr, such as L5Kit's masks, leave one in its folder."""
    try:
        open_table(path)
    except (NotFound, Invalid):
        return False
    except Corrupt:
        # Opening it says what is damaged.
        return True
    return True


def _scenes(native: _tetrys.Level5) -> Records:
    fields = native.scenes()
    scenes = np.zeros(len(fields["host"]), SCENE_DTYPE)
    for name, values in fields.items():
        scenes[name] = values
    return scenes


def _field(dtype: np.dtype[Any], name: str) -> tuple[Any, tuple[int, ...]]:
    field: np.dtype[Any] = dtype[name]
    return field.base, field.shape


def _only(dtype: np.dtype[Any], fields: Sequence[str]) -> np.dtype[Any]:
    """Returns the type of records with some of the fields."""
    return dtype if tuple(fields) == dtype.names else np.dtype([(name, *_field(dtype, name)) for name in fields])


def _cut(frames: Records, interval: str, records: Any) -> Records:
    """Copies the records of some frames, and makes the intervals of the frames start at 0."""
    start, stop = int(frames[interval][0, 0]), int(frames[interval][-1, 1])
    frames[interval] -= start
    return np.array(records[start:stop])


class _Columns:
    """Fields of records that are columns of a table."""

    def __init__(self, rows: RowLoader, columns: dict[str, str], dtype: np.dtype[Any]) -> None:
        self._rows = rows
        self._columns = columns
        types = rows.take([], list(columns.values())).types
        fields = []
        for name in dtype.names or ():
            if name in columns:
                kind, shape = _field(dtype, name)
                # Early data sets have narrower numbers than the dtype says.
                stored = kind if kind.kind == "U" else np.dtype(_NUMPY[types[columns[name]].split("[")[0]])
                fields.append((name, stored, shape))
        self.dtype = np.dtype(fields)

    def of_frames(self, start: int, stop: int, fields: Sequence[str]) -> dict[str, Any]:
        """Reads fields with one value for each frame."""
        rows = self._rows.take(range(start, stop), [self._columns[name] for name in fields])
        return {name: rows[self._columns[name]] for name in fields}

    def reader(self, ends: npt.NDArray[np.uint64]) -> Callable[[int, int, Sequence[str]], Records]:
        """Returns a function that reads records, of which `ends` has the number up to the end of each frame."""

        def read(start: int, stop: int, fields: Sequence[str]) -> Records:
            records = np.zeros(max(stop - start, 0), _only(self.dtype, fields))
            if not len(records):
                return records
            first, last = np.searchsorted(ends, [start, stop - 1], side="right").tolist()
            rows = self._rows.take(range(first, last + 1), [self._columns[name] for name in fields])
            skipped = start - (int(ends[first - 1]) if first else 0)
            for name in fields:
                values = rows[self._columns[name]]
                shape = self.dtype[name].shape
                flat = [text for texts in values for text in texts] if self.dtype[name].kind == "U" else values.values
                records[name] = np.asarray(flat).reshape(-1, *shape)[skipped : skipped + len(records)]
            return records

        return read


class _ChunkCache:
    """The arrays of a zarr group, with a cache of decoded chunks: the chunks that were used last stay."""

    def __init__(self, zarr: _tetrys.L5Zarr, most: int) -> None:
        self._zarr = zarr
        self._most = most
        self._cached: OrderedDict[tuple[str, int], Records] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def array(self, name: str) -> LazyRecords:
        length, chunk, fields = self._zarr.meta(name)
        dtype = np.dtype([(field, kind, tuple(shape)) for field, kind, shape in fields])

        def read(start: int, stop: int, _: Sequence[str]) -> Records:
            parts = [
                self._chunk(name, number, dtype, chunk, length)[max(start - number * chunk, 0) : stop - number * chunk]
                for number in range(start // chunk, -(-stop // chunk))
            ]
            return np.concatenate(parts) if parts else np.empty(0, dtype)

        return LazyRecords(dtype, length, read)

    def _chunk(self, name: str, number: int, dtype: np.dtype[Any], chunk: int, length: int) -> Records:
        key = (name, number)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        start = number * chunk
        records = np.frombuffer(self._zarr.records(name, start, min(start + chunk, length)), dtype)
        with self._lock:
            if key not in self._cached:
                self._cached[key] = records
                self._bytes += records.nbytes
            while self._bytes > self._most and len(self._cached) > 1:
                self._bytes -= self._cached.popitem(last=False)[1].nbytes
        return records


def _checked_arrays(scenes: Any, frames: Any, agents: Any, tl_faces: Any) -> tuple[Records, Records, Records, Records]:
    """Returns arrays of the caller, if they have the fields of a data set. Frames of early data sets have no traffic light faces."""
    fields = [name for name in FRAME_DTYPE.names or () if name != _FACES]
    made = [records("scenes", scenes, SCENE_DTYPE), records("frames", frames, fields, FRAME_DTYPE)]
    made.append(records("agents", agents, [name for name in AGENT_DTYPE.names or () if name != "velocity"], AGENT_DTYPE))
    if _FACES in (made[1].dtype.names or ()):
        records("frames", made[1], [_FACES], FRAME_DTYPE)
        made.append(records("tl_faces", tl_faces, TL_FACE_DTYPE))
    else:
        made.append(array_of("tl_faces", tl_faces))
    for name, array in zip(("scenes", "frames", "agents", "tl_faces"), made, strict=True):
        if array.ndim != 1:
            raise WrongValue(f"{name}: expected the shape [N], found {list(array.shape)}")
    return made[0], made[1], made[2], made[3]


def _of_arrays(scenes: Records, frames: Records, agents: Records, tl_faces: Records) -> _tetrys.Level5:
    """Makes the native data set of structured arrays."""
    faces = tl_faces

    def flat(records: Records, name: str, dtype: Any) -> npt.NDArray[Any]:
        return np.ascontiguousarray(records[name], dtype).reshape(-1)

    has_faces = _FACES in (frames.dtype.names or ())
    for name in ("agent_index_interval", "traffic_light_faces_index_interval") if has_faces else ("agent_index_interval",):
        bounds = frames[name]
        if len(bounds) and (bounds[0, 0] != 0 or (bounds[1:, 0] != bounds[:-1, 1]).any()):
            raise WrongValue(f"frames: {name}: expected intervals that start at 0 and follow each other without gaps")
    return _tetrys.Level5.of_arrays(
        {
            "frame_index_interval": flat(scenes, "frame_index_interval", np.int64),
            "host": _texts("scenes, host", scenes["host"]),
            "start_time": flat(scenes, "start_time", np.int64),
            "end_time": flat(scenes, "end_time", np.int64),
        },
        {
            "timestamp": flat(frames, "timestamp", np.int64),
            "agent_ends": np.ascontiguousarray(frames["agent_index_interval"][:, 1], np.uint64),
            "face_ends": np.ascontiguousarray(frames["traffic_light_faces_index_interval"][:, 1], np.uint64)
            if has_faces
            else np.zeros(len(frames), np.uint64),
            "ego_translation": flat(frames, "ego_translation", np.float64),
            "ego_rotation": flat(frames, "ego_rotation", np.float64),
        },
        {
            "centroid": flat(agents, "centroid", np.float64),
            "extent": flat(agents, "extent", np.float32),
            "yaw": flat(agents, "yaw", np.float32),
            "track_id": flat(agents, "track_id", np.uint64),
            "label_probabilities": flat(agents, "label_probabilities", np.float32),
        },
        {
            "face_id": _texts("tl_faces, face_id", faces["face_id"]) if has_faces else [],
            "traffic_light_id": _texts("tl_faces, traffic_light_id", faces["traffic_light_id"]) if has_faces else [],
            "traffic_light_face_status": flat(faces, "traffic_light_face_status", np.float32) if has_faces else np.empty(0, np.float32),
        },
    )


def _texts(what: str, values: Records) -> list[str]:
    return [text(what, value) for value in values.tolist()]


def _table(values: dict[str, str]) -> str:
    """Draws a table with one row, as L5Kit prints it."""
    widths = [max(len(name), len(value)) for name, value in values.items()]

    def cell(text: str, width: int) -> str:
        left = (width - len(text) + (len(text) + 1) % 2) // 2
        return f" {' ' * left}{text}{' ' * (width - len(text) - left)} "

    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    rows = ["|" + "|".join(cell(text, width) for text, width in zip(row, widths, strict=True)) + "|" for row in (values, values.values())]
    return "\n".join([line, rows[0], line, rows[1], line])
