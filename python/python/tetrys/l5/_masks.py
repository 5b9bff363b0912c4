"""Masks: which agents are reliable enough to learn from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import is_whole, number, whole
from .._errors import WrongValue, found
from .._rows import RowLoader
from .._table import called
from ._checks import of_kind
from ._chunked import ChunkedDataset
from ._files import written_whole

TH_YAW_DEGREE = 30
TH_EXTENT_RATIO = 1.1
TH_DISTANCE_AV = 50

# Frames whose masks are read at a time, and agents.
_FRAMES = 4096
_AGENTS = 1 << 20

Counts = npt.NDArray[Any]
"""Frames before and after each agent, [agents, 2], or a mask of early data sets, bool [agents]."""
_COUNTS = np.dtype("<u4")


def select_agents(
    dataset: ChunkedDataset,
    th_agent_prob: float,
    th_yaw_degree: float = TH_YAW_DEGREE,
    th_extent_ratio: float = TH_EXTENT_RATIO,
    th_distance_av: float = TH_DISTANCE_AV,
    *,
    workers: int = 0,
    progress: Callable[[int], Any] | None = None,
) -> tuple[npt.NDArray[np.uint32], dict[str, int]]:
    """Counts the frames before and after each agent in which it stays reliable.

    An agent is reliable if its label probability is above `th_agent_prob`, it is nearer to the ego car than `th_distance_av` metres,
    and from one frame to the next it turns by less than `th_yaw_degree` degrees and its area changes by less than `th_extent_ratio`.

    Returns the counts, u32 [agents, 2], and the numbers of rejected agents by L5Kit's names. `progress` receives the number of frames
    done. Scenes run in parallel.
    """
    limits = (
        number("th_agent_prob", th_agent_prob), number("th_yaw_degree", th_yaw_degree), number("th_extent_ratio", th_extent_ratio),
        number("th_distance_av", th_distance_av),
    )  # fmt: skip
    of_kind("dataset", dataset, ChunkedDataset)
    return dataset.native().select_agents(*limits, whole("workers", workers, 0, 4096), called(progress))


def load_agents_mask(dataset: ChunkedDataset, threshold: float, min_frame_history: int, min_frame_future: int) -> npt.NDArray[np.bool_]:
    """Returns which agents have enough reliable frames around them, bool [agents].

    The counts come from the data set if an ingest took them in; else from a file beside the data set, or in the user's cache folder;
    else they are computed and stored there. The name of the file has the identity of the data set, and no file is ever replaced.
    """
    number("filter_agents_threshold", threshold)
    for name, value in (("min_frame_history", min_frame_history), ("min_frame_future", min_frame_future)):
        if not is_whole(value):
            raise WrongValue(f"{name}: expected a number of frames, found {found(value)}")
    least = int(np.clip(min_frame_history, -1, 2**32)), int(np.clip(min_frame_future, -1, 2**32))
    agents = len(dataset.agents)
    parts, files = None, []
    if dataset.is_stored():
        files = _files(dataset, threshold)
        parts = _ingested(dataset, f"{threshold}") or next((kept for kept in map(_kept(agents), files) if kept is not None), None)
    if parts is None:
        return _computed(dataset, threshold, least, files)
    mask, done = np.empty(agents, np.bool_), 0
    for counts in parts:
        valid = counts if counts.ndim == 1 else (counts[:, 0] >= least[0]) & (counts[:, 1] >= least[1])
        mask[done : done + len(counts)] = valid
        done += len(counts)
    return mask


def _ingested(dataset: ChunkedDataset, name: str) -> Iterator[Counts] | None:
    """Returns the mask of the data set itself in parts, or None if it has none."""
    if dataset._table is not None:
        # In a view, the frames around an agent may be others than when they were counted.
        rows = None if dataset._table.is_view else RowLoader(dataset._table, cache_bytes=0)
        column = f"agents_mask.{name}"
        if rows is None or column not in rows.columns:
            return None
        starts = range(0, len(rows), _FRAMES)
        parts = (rows.take(range(start, min(start + _FRAMES, len(rows))), [column])[column] for start in starts)
        return (np.asarray(values.values).reshape(-1, 2) for values in parts)
    zarr = dataset._zarr
    if zarr is None or f"agents_mask/{name}" not in zarr.arrays():
        return None
    length, _, ((_, kind, shape),) = zarr.meta(f"agents_mask/{name}")
    raw = (zarr.records(f"agents_mask/{name}", start, min(start + _AGENTS, length)) for start in range(0, length, _AGENTS))
    return (np.frombuffer(part, kind).reshape(-1, *shape) for part in raw)


def _kept(agents: int) -> Callable[[Path], Iterator[Counts] | None]:
    """Returns a function that opens the counts of a file. They are None if the file does not have those of so many agents."""

    def kept(file: Path) -> Iterator[Counts] | None:
        try:
            counts = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        if counts.shape != (agents, 2) or counts.dtype != _COUNTS:
            return None
        return (counts[start : start + _AGENTS] for start in range(0, agents, _AGENTS))

    return kept


def _files(dataset: ChunkedDataset, threshold: float) -> list[Path]:
    """Returns the files that may hold the counts of a data set: beside it, and in the user's cache folder."""
    # Another data set at the same place has another name of the file.
    if dataset._table is not None:
        identity = f"{dataset._table.info()['uuid']}-{dataset._table.version}"
    else:
        digest = hashlib.sha256(dataset._zarr.properties().encode() if dataset._zarr is not None else b"")
        for column in dataset.native().frames():
            digest.update(column.tobytes())
        identity = digest.hexdigest()[:32]
    name = f"{threshold}-{identity}.npy"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tetrys" / "agents_mask"
    if "://" in dataset.path:
        return [cache / name]
    path = Path(dataset.path)
    return [path.with_name(f"{path.name}.agents_mask") / name, cache / name]


def _computed(dataset: ChunkedDataset, threshold: float, least: tuple[int, int], files: list[Path]) -> npt.NDArray[np.bool_]:
    """Computes the mask, and stores the counts in the first file that can be written."""
    limits = (float(threshold), float(TH_YAW_DEGREE), float(TH_EXTENT_RATIO), float(TH_DISTANCE_AV))
    for file in files:
        if file.exists():
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(file) as stream:
                header = {"descr": _COUNTS.str, "fortran_order": False, "shape": (len(dataset.agents), 2)}
                np.lib.format.write_array_header_1_0(stream, header)
                return dataset.native().agents_mask(*limits, least, stream.write)
        except OSError:
            # A folder that cannot be written, or a full disk.
            continue
    return dataset.native().agents_mask(*limits, least, None)
