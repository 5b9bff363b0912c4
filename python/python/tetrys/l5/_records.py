"""Structured arrays of Level 5 data: their types, and arrays that are read when they are indexed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import is_whole, path_of, whole
from .._errors import NotSupportedError, OutOfRange, WrongType, WrongValue, array_of, found, short
from ._checks import function, of_kind
from ._files import written_whole
from ._labels import PERCEPTION_LABELS, TL_FACE_LABELS

Records = npt.NDArray[Any]
"""A structured array."""

SCENE_DTYPE = np.dtype([("frame_index_interval", "<i8", (2,)), ("host", "<U16"), ("start_time", "<i8"), ("end_time", "<i8")])
FRAME_DTYPE = np.dtype(
    [
        ("timestamp", "<i8"),
        ("agent_index_interval", "<i8", (2,)),
        ("traffic_light_faces_index_interval", "<i8", (2,)),
        ("ego_translation", "<f8", (3,)),
        ("ego_rotation", "<f8", (3, 3)),
    ]
)
AGENT_DTYPE = np.dtype(
    [
        ("centroid", "<f8", (2,)),
        ("extent", "<f4", (3,)),
        ("yaw", "<f4"),
        ("velocity", "<f4", (2,)),
        ("track_id", "<u8"),
        ("label_probabilities", "<f4", (len(PERCEPTION_LABELS),)),
    ]
)
TL_FACE_DTYPE = np.dtype(
    [("face_id", "<U16"), ("traffic_light_id", "<U16"), ("traffic_light_face_status", "<f4", (len(TL_FACE_LABELS),))]
)

# Records that are copied at a time: agents of 30 MB.
_AT_A_TIME = 1 << 18


class LazyRecords:
    """A structured array that is read when it is indexed: by an int, a slice, a mask, a list of ints, or the name of a field.

    The result is a copy: writing to it changes nothing in the data set.
    """

    def __init__(self, dtype: np.dtype[Any], length: int, read: Callable[[int, int, Sequence[str]], Records]) -> None:
        """`read` returns the records of a range with some of the fields, in the order of the dtype."""
        self.dtype: np.dtype[Any] = of_kind("dtype", dtype, np.dtype)
        if dtype.names is None:
            raise WrongType(f"dtype: expected one with fields, found {short(dtype)}")
        self.shape: tuple[int, ...] = (whole("length", length),)
        self._read = function("read", read)
        # The name of a file with these records, without its end: it has the identity of the data set. None if there is none.
        self._file: Callable[[], str] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of dimensions: 1."""
        return 1

    @property
    def size(self) -> int:
        """Number of records."""
        return len(self)

    def __getitem__(self, key: Any) -> Any:
        fields = self.dtype.names or ()
        if isinstance(key, str):
            if key not in fields:
                raise WrongValue(f"no field of name {key}; there are: {', '.join(fields)}")
            return self._records(0, len(self), [key])[key]
        if is_whole(key):
            place = int(key) + len(self) if key < 0 else int(key)
            if not 0 <= place < len(self):
                raise OutOfRange(f"index {short(key)} is outside of {len(self)} records")
            return self._records(place, place + 1, fields)[0]
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._records(start, max(start, stop), fields)
            return self[np.arange(start, stop, step)]
        if key is Ellipsis or (isinstance(key, tuple) and key == ()):
            return self._records(0, len(self), fields)
        if isinstance(key, tuple) and len(key) == 1:
            # As Dask and xarray index.
            return self[key[0]]
        if isinstance(key, (bytes, bytearray, memoryview)):
            raise WrongType(f"records are chosen by an int, a slice, a mask, a list of ints or a field, found {found(key)}")
        return self._chosen(self._places(key), fields)

    def _records(self, start: int, stop: int, fields: Sequence[str]) -> Records:
        read = self._read(start, stop, fields)
        if not isinstance(read, np.ndarray) or read.shape != (stop - start,):
            raise WrongType(f"read: expected it to return {stop - start} records, found {found(read)}")
        return read

    def _places(self, given: Any) -> npt.NDArray[np.int64]:
        """Returns the places of records that are chosen by a mask or a list of ints, counted from the first one."""
        key = array_of("places of records", given)
        if key.dtype == np.bool_:
            if key.shape != self.shape:
                raise OutOfRange(f"a mask of shape {key.shape}, expected {self.shape}")
            key = np.flatnonzero(key)
        if key.size == 0:
            return np.empty(key.shape, np.int64)
        if key.dtype.kind not in "iu" or key.ndim != 1:
            raise WrongType(f"records are chosen by an int, a slice, a mask, a list of ints or a field, found {found(key)}")
        least, most = int(key.min()), int(key.max())
        if least < -len(self) or most >= len(self):
            raise OutOfRange(f"places {least}..{most} are outside of {len(self)} records")
        places = key.astype(np.int64)
        return np.where(places < 0, places + len(self), places)

    def _chosen(self, places: npt.NDArray[np.int64], fields: Sequence[str]) -> Records:
        """Reads records by their places, in runs of neighbours."""
        if places.size == 0:
            return np.empty(places.shape, self.dtype)
        order, inverse = np.unique(places, return_inverse=True)
        result = np.empty(len(order), self.dtype)
        bounds = [0, *(np.flatnonzero(np.diff(order) > 64) + 1).tolist(), len(order)]
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            first = int(order[start])
            result[start:stop] = self._records(first, int(order[stop - 1]) + 1, fields)[order[start:stop] - first]
        chosen: Records = result[inverse]
        return chosen

    def memmap(self, folder: str | os.PathLike[str]) -> np.memmap[Any, Any]:
        """Copies the records to a file without compression, and returns a memory map of it, read-only.

        Args:
            folder: Folder of the file, which is made where it is missing. The name of the file has that of the array and the identity of
                the data set: a second call maps the file that is there, and another version of the data set gets another file.

        The map costs no memory until it is used, and processes of a machine share what they read. The file is a `.npy` file, as large
        as all records; Tetrys never deletes it.

        A local zarr group is another version once a chunk has another path, size or time. Of a zarr group in an object store, only the
        metadata, the scenes, and the times and counts of the frames are compared.

        Example:
            >>> from tetrys.l5 import ChunkedDataset
            >>> dataset = ChunkedDataset("sample").open()
            >>> agents = dataset.agents.memmap("maps")
            >>> agents["yaw"].mean()

        Raises:
            NotImplementedError (an `Unsupported`): the array is none of an open data set.
        """
        where = Path(path_of("folder", folder))
        if self._file is None:
            raise NotSupportedError("only arrays of an open data set are mapped: ChunkedDataset(path).open()")
        file = where / f"{self._file()}.npy"
        if not file.exists():
            where.mkdir(parents=True, exist_ok=True)
            with written_whole(file) as stream:
                header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": self.shape}
                np.lib.format.write_array_header_1_0(stream, header)
                for start in range(0, len(self), _AT_A_TIME):
                    stream.write(np.ascontiguousarray(self[start : start + _AT_A_TIME]).view(np.uint8))
        mapped = np.lib.format.open_memmap(file, mode="r")
        if mapped.dtype != self.dtype or mapped.shape != self.shape:
            raise WrongValue(f"{file}: found {mapped.shape[0] if mapped.ndim else 1} records of {mapped.dtype}, expected those of this array; delete it")
        return mapped

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Records:
        records: Records = self[:]
        return records if dtype is None else records.astype(dtype)

    def __repr__(self) -> str:
        return f"LazyRecords of {len(self)} records: {', '.join(self.dtype.names or ())}"
