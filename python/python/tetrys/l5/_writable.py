"""New zarr groups of Level 5 data, whose arrays the caller fills (L5Kit's `ChunkedDataset.initialize`).

Chunks are files of plain bytes without compression, mapped while they are read or written. L5Kit, zarr and `tetrys.ingest_l5` read them.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._arguments import choice, is_whole, whole
from .._errors import OutOfRange, Taken, WrongType, WrongValue, array_of, found, short
from ._files import written_whole
from ._labels import PERCEPTION_LABELS
from ._records import AGENT_DTYPE, FRAME_DTYPE, SCENE_DTYPE, TL_FACE_DTYPE, LazyRecords, Records

FORMAT_VERSION = 2
"""Version of the layout that L5Kit writes."""
FRAME_ARRAY_KEY, AGENT_ARRAY_KEY, SCENE_ARRAY_KEY, TL_FACE_ARRAY_KEY = "frames", "agents", "scenes", "traffic_light_faces"
"""Names of the arrays in the zarr group."""
FRAME_CHUNK_SIZE, AGENT_CHUNK_SIZE, SCENE_CHUNK_SIZE, TL_FACE_CHUNK_SIZE = (10_000,), (20_000,), (10_000,), (10_000,)
"""Records of a chunk of each array."""

_MODES = ("w", "w-", "x")
# An array of 2^40 records would have some 10^8 files.
_MOST = 1 << 36


class ZarrRecords(LazyRecords):
    """A structured array in a new zarr group, which the caller fills: `array[places] = records`, or `array.append(records)`."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], length: int, chunk: int) -> None:
        super().__init__(dtype, 0, self._copied)
        self._folder = folder
        self.chunks = (chunk,)
        folder.mkdir()
        try:
            self.resize(length)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str):
            raise WrongType(f"a field is not written alone: read records, change them, and write them back: array[a:b] = records, found {short(repr(key))}")
        if is_whole(key):
            if not -len(self) <= key < len(self):
                raise OutOfRange(f"index {short(key)} is outside of {len(self)} records")
            start = int(key) % len(self)
            self._put(start, self._fitting(value, 1, f"record {start}"))
            return
        if key is Ellipsis or (isinstance(key, tuple) and key == ()):
            key = slice(None)
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                self._put(start, self._fitting(value, max(stop - start, 0), f"records {start}..{stop}"))
                return
            key = np.arange(start, stop, step)
        places = self._places(key)
        values = self._fitting(value, len(places), f"{len(places)} records")
        chunks, within = np.divmod(places, self.chunks[0])
        for chunk in np.unique(chunks).tolist():
            mapped, here = self._mapped(chunk, "r+"), chunks == chunk
            mapped[within[here]] = values[here]
            mapped.flush()

    def append(self, data: Any) -> int:
        """Adds records at the end. Returns the number of records of the array."""
        records = array_of("data", data)
        before = len(self)
        if records.ndim != 1:
            raise WrongValue(f"data: expected records of the shape [N], found {list(records.shape)}")
        checked = self._fitting(records, len(records), "the records")
        self.resize(before + len(records))
        self._put(before, checked)
        return len(self)

    def resize(self, length: int) -> None:
        """Changes the number of records. New ones are zeros."""
        now, size = whole("length", length, 0, _MOST), self.dtype.itemsize
        (chunk,) = self.chunks
        if now < len(self) and now % chunk:
            # Records behind the end are zeros, also where the array grows again.
            end = min(-(-now // chunk) * chunk, len(self))
            self._put(now, np.zeros(end - now, self.dtype))
        # All chunks before the end are there.
        for number in range(len(self) // chunk, -(-now // chunk)):
            if not (file := self._folder / str(number)).exists():
                with open(file, "wb") as made:
                    made.truncate(chunk * size)
        for number in range(-(-now // chunk), -(-len(self) // chunk)):
            (self._folder / str(number)).unlink(missing_ok=True)
        described = {
            "chunks": [chunk],
            "compressor": None,
            "dtype": [[name, *([part[0], list(part[1])] if len(part) == 2 else part)] for name, *part in self.dtype.descr],
            "fill_value": base64.standard_b64encode(bytes(size)).decode(),
            "filters": None,
            "order": "C",
            "shape": [now],
            "zarr_format": 2,
        }
        _write_json(self._folder / ".zarray", described)
        self.shape = (now,)

    def _copied(self, start: int, stop: int, fields: Sequence[str]) -> Records:
        records = np.empty(max(stop - start, 0), self.dtype)
        for chunk, of_chunk, of_range in self._parts(start, stop):
            records[of_range] = self._mapped(chunk, "r")[of_chunk]
        return records if tuple(fields) == self.dtype.names else records[list(fields)]

    def _put(self, start: int, records: Records) -> None:
        for chunk, of_chunk, of_range in self._parts(start, start + len(records)):
            mapped = self._mapped(chunk, "r+")
            mapped[of_chunk] = records[of_range]
            mapped.flush()

    def _parts(self, start: int, stop: int) -> list[tuple[int, slice, slice]]:
        """Returns the chunks of a range of records, with the places in the chunk and in the range."""
        (chunk,) = self.chunks
        parts = []
        for number in range(start // chunk, -(-stop // chunk) if stop > start else 0):
            first, last = max(start, number * chunk), min(stop, (number + 1) * chunk)
            parts.append((number, slice(first - number * chunk, last - number * chunk), slice(first - start, last - start)))
        return parts

    def _mapped(self, chunk: int, mode: Any) -> np.memmap[Any, Any]:
        return np.memmap(self._folder / str(chunk), self.dtype, mode, shape=self.chunks)

    def _fitting(self, value: Any, length: int, what: str) -> Records:
        """Returns records of this dtype, as many as are written."""
        records = array_of("the value", value)
        if records.dtype.names != self.dtype.names:
            raise WrongType(f"the value: expected records with the fields {', '.join(self.dtype.names or ())}, found {found(value)}")
        try:
            cast = records.astype(self.dtype, casting="same_kind")
            return np.array(np.broadcast_to(cast.reshape(-1) if cast.ndim == 0 else cast, (length,)))
        except (TypeError, ValueError) as error:
            raise WrongValue(f"the value does not fit {what}: {short(error)}") from error

    def __repr__(self) -> str:
        return f"ZarrRecords of {len(self)} records: {', '.join(self.dtype.names or ())}"


def make_group(path: str, mode: object, lengths: Mapping[str, object]) -> dict[str, ZarrRecords]:
    """Makes a zarr group with arrays of zeros. `lengths` has the records of `scenes`, `frames`, `agents` and `tl_faces`."""
    choice("mode", mode, _MODES)
    counts = {name: whole(name, length, 0, _MOST) for name, length in lengths.items()}
    if not path or "://" in path:
        raise WrongValue(f"{short(repr(path))}: a new zarr group is a local folder: name one in ChunkedDataset(path)")
    folder = Path(path)
    if os.path.lexists(folder) and not (folder.is_dir() and not os.listdir(folder)):
        raise Taken(f"{path}: something exists there; a zarr group is made at a new place")
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    kinds = {
        "scenes": (SCENE_ARRAY_KEY, SCENE_DTYPE, SCENE_CHUNK_SIZE),
        "frames": (FRAME_ARRAY_KEY, FRAME_DTYPE, FRAME_CHUNK_SIZE),
        "agents": (AGENT_ARRAY_KEY, AGENT_DTYPE, AGENT_CHUNK_SIZE),
        "tl_faces": (TL_FACE_ARRAY_KEY, TL_FACE_DTYPE, TL_FACE_CHUNK_SIZE),
    }
    made: dict[str, ZarrRecords] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (key, dtype, (chunk,)) in kinds.items():
            made[name] = ZarrRecords(folder / key, dtype, counts[f"num_{name}"], chunk)
        _write_json(folder / ".zattrs", {"format_version": FORMAT_VERSION, "labels": PERCEPTION_LABELS})
        # The last file makes it a group.
        _write_json(folder / ".zgroup", {"zarr_format": 2})
    except BaseException:
        # What another process made at the same time stays.
        for array in made.values():
            shutil.rmtree(array._folder, ignore_errors=True)
        if len(made) == len(kinds):
            (folder / ".zattrs").unlink(missing_ok=True)
        for place in new:
            with suppress(OSError):
                place.rmdir()
        raise
    return made


def _write_json(file: Path, value: Any) -> None:
    with written_whole(file) as stream:
        stream.write(json.dumps(value, indent=4, sort_keys=True).encode())
