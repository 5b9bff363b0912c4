"""Masks: which agents are reliable enough to learn from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._errors import WrongValue, found
from .._rows import RowLoader
from ._chunked import ChunkedDataset
from ._files import written_whole

TH_YAW_DEGREE = 30
TH_EXTENT_RATIO = 1.1
TH_DISTANCE_AV = 50

# Frames whose masks are read at a time.
_FRAMES = 4096


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
    """Counts the frames before and behind each agent in which it stays reliable.

    An agent is reliable if its label probability is above `th_agent_prob`, it is nearer to the ego car than `th_distance_av` metres,
    and from one frame to the next it turns by less than `th_yaw_degree` degrees and its area changes by less than `th_extent_ratio`.

    Returns the counts, u32 [agents, 2], and the numbers of rejected agents by L5Kit's names. `progress` receives the number of frames
    done. Scenes run in parallel.
    """
    return dataset.native().select_agents(
        float(th_agent_prob), float(th_yaw_degree), float(th_extent_ratio), float(th_distance_av), int(workers), progress
    )


def checked_mask(mask: npt.ArrayLike, agents: int) -> npt.NDArray[np.bool_]:
    """Returns a mask of the caller, which has one bool for each agent."""
    array = np.asarray(mask)
    if array.shape != (agents,):
        raise WrongValue(f"agents_mask has the shape {array.shape}, expected one bool for each of {agents} agents")
    return array.astype(np.bool_, copy=False)


def load_agents_mask(dataset: ChunkedDataset, threshold: float, min_frame_history: int, min_frame_future: int) -> npt.NDArray[np.bool_]:
    """Returns which agents have enough reliable frames around them, bool [agents].

    The counts come from the data set if an ingest took them in; else from a file beside the data set; else they are computed and
    stored there. Data sets that are not in a folder, or whose folder cannot be written, keep nothing: they are computed each time.
    """
    for name, value in (("min_frame_history", min_frame_history), ("min_frame_future", min_frame_future)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise WrongValue(f"{name}: expected a number of frames, found {found(value)}")

    def valid(counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        mask: npt.NDArray[np.bool_] = counts if counts.ndim == 1 else (counts[:, 0] >= min_frame_history) & (counts[:, 1] >= min_frame_future)
        return mask.astype(np.bool_, copy=False)

    ingested = _ingested(dataset, str(threshold), valid)
    if ingested is not None:
        return ingested
    file = _beside(dataset, threshold)
    if file is not None and file.exists():
        counts = np.load(file, mmap_mode="r", allow_pickle=False)
        if counts.shape == (len(dataset.agents), 2):
            return np.concatenate([valid(counts[start : start + (1 << 20)]) for start in range(0, len(counts), 1 << 20)] or [np.empty(0, np.bool_)])
    counts, _ = select_agents(dataset, threshold)
    if file is not None:
        _store(file, counts)
    return valid(counts)


def _ingested(
    dataset: ChunkedDataset, name: str, valid: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
) -> npt.NDArray[np.bool_] | None:
    """Returns the mask of the data set itself, or None if it has none."""
    if dataset._table is not None:
        if dataset._table.is_view:
            # The frames around an agent may be others than when they were counted.
            return None
        rows = RowLoader(dataset._table, cache_bytes=0)
        column = f"agents_mask.{name}"
        if column not in rows.columns:
            return None
        parts = []
        for start in range(0, len(rows), _FRAMES):
            values = rows.take(range(start, min(start + _FRAMES, len(rows))), [column])[column]
            parts.append(valid(np.asarray(values.values).reshape(-1, 2)))
        return np.concatenate([np.empty(0, np.bool_), *parts])
    if dataset._native is not None and dataset.path:
        zarr = _tetrys.L5Zarr(dataset.path)
        if f"agents_mask/{name}" in zarr.arrays():
            length, _, ((_, kind, shape),) = zarr.meta(f"agents_mask/{name}")
            parts = []
            for start in range(0, length, 1 << 20):
                raw = zarr.records(f"agents_mask/{name}", start, min(start + (1 << 20), length))
                parts.append(valid(np.frombuffer(raw, kind).reshape(-1, *shape)))
            return np.concatenate([np.empty(0, np.bool_), *parts])
    return None


def _beside(dataset: ChunkedDataset, threshold: float) -> Path | None:
    """Returns the file beside the data set that holds its counts."""
    if not dataset.path or "://" in dataset.path:
        return None
    path = Path(dataset.path)
    # Another data set at the same path has another name of the file.
    if dataset._table is not None:
        made_of = f"{dataset._table.info()['uuid']}-{dataset._table.version}"
    else:
        arrays = [(path / name / ".zarray").read_bytes() for name in ("frames", "agents") if (path / name).exists()]
        made_of = hashlib.sha256(b"".join([np.asarray(dataset.scenes).tobytes(), *arrays])).hexdigest()[:16]
    return path.with_name(f"{path.name}.agents_mask") / f"{threshold}-{made_of}.npy"


def _store(file: Path, counts: npt.NDArray[np.uint32]) -> None:
    """Stores counts whole or not at all. A folder that cannot be written stays without them."""
    try:
        file.parent.mkdir(exist_ok=True)
        with written_whole(file) as stream:
            np.save(stream, counts, allow_pickle=False)
    except OSError:
        return
