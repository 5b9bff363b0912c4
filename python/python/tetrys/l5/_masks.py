"""Masks: which agents are reliable enough to learn from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._arguments import called, is_whole, number, whole
from .._errors import OutOfRange, WrongType, WrongValue, found
from .._rows import RowLoader
from ._checks import numbers, of_kind
from ._chunked import ChunkedDataset, scene_of
from ._files import written_whole

TH_YAW_DEGREE = 30
TH_EXTENT_RATIO = 1.1
TH_DISTANCE_AV = 50

MIN_FRAME_HISTORY = 10
"""Frames before it that an agent of the default mask has at least."""
MIN_FRAME_FUTURE = 1
"""Frames after it that an agent of the default mask has at least."""

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


def get_valid_agents(
    frames_range: npt.ArrayLike,
    dataset: ChunkedDataset,
    th_agent_filter_probability_threshold: float,
    th_yaw_degree: float,
    th_extent_ratio: float,
    th_distance_av: float,
) -> tuple[npt.NDArray[np.uint32], Counter[str], tuple[int, int]]:
    """Counts the frames before and after each agent of some frames in which it stays reliable, as `select_agents` does for all scenes.

    Args:
        frames_range: The first frame and the one after the last, [2]: the `frame_index_interval` of a scene. Frames outside of it do
            not count.
        dataset: An open data set.
        th_agent_filter_probability_threshold: Label probability above which an agent counts.
        th_yaw_degree: Degrees by which an agent turns less from one frame to the next.
        th_extent_ratio: Ratio by which its area changes less.
        th_distance_av: Metres to the ego car within which it is.

    Returns the counts, u32 [agents of the frames, 2]; the numbers of rejected agents by L5Kit's names, with `total_reject` and
    `total_agent_frames`; and the first agent and the one after the last.

    Example:
        >>> from tetrys.l5 import ChunkedDataset, get_valid_agents
        >>> dataset = ChunkedDataset("sample").open()
        >>> counts, rejected, (start, stop) = get_valid_agents(dataset.scenes[0]["frame_index_interval"], dataset, 0.5, 30, 1.1, 50)

    Raises:
        IndexError (an `Invalid`): there are no such frames, or none.
    """
    limits = (
        number("th_agent_filter_probability_threshold", th_agent_filter_probability_threshold), number("th_yaw_degree", th_yaw_degree),
        number("th_extent_ratio", th_extent_ratio), number("th_distance_av", th_distance_av),
    )  # fmt: skip
    of_kind("dataset", dataset, ChunkedDataset)
    bounds = numbers("frames_range", frames_range, (2,))
    if bounds.dtype.kind not in "iu":
        raise WrongType(f"frames_range: expected two integers, found {bounds.dtype}")
    first, last = bounds.tolist()
    if not 0 <= first < last <= len(dataset.frames):
        raise OutOfRange(f"frames_range: expected one or more of {len(dataset.frames)} frames, found {first}..{last}")
    agents = (int(dataset.frames[first]["agent_index_interval"][0]), int(dataset.frames[last - 1]["agent_index_interval"][1]))
    counts, rejected = scene_of(dataset.frames[first:last], dataset.agents).native().select_agents(*limits, 1, None)
    report = Counter({name: rows for name, rows in rejected.items() if rows})
    report["total_reject"] = sum(report.values())
    report["total_agent_frames"] = len(counts)
    return counts, report, agents


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
    parts, files = _counted(dataset, threshold)
    if parts is None:
        return _computed(dataset, threshold, least, files)
    mask, done = np.empty(len(dataset.agents), np.bool_), 0
    for counts in parts:
        valid = counts if counts.ndim == 1 else (counts[:, 0] >= least[0]) & (counts[:, 1] >= least[1])
        mask[done : done + len(counts)] = valid
        done += len(counts)
    return mask


def load_agents_counts(dataset: ChunkedDataset, threshold: float) -> Counts:
    """Returns the reliable frames before and after each agent, u32 [agents, 2], from where `load_agents_mask` finds or stores them."""
    number("filter_agents_threshold", threshold)
    parts, files = _counted(dataset, threshold)
    if parts is not None:
        return np.concatenate([*parts] or [np.empty((0, 2), _COUNTS)])
    counts = dataset.native().select_agents(*_limits(threshold), 0, None)[0]
    _stored(files, len(counts), lambda file: file.write(np.ascontiguousarray(counts, _COUNTS)))
    return counts


def _counted(dataset: ChunkedDataset, threshold: float) -> tuple[Iterator[Counts] | None, list[Path]]:
    """Returns the counts in parts, or None if nothing has them; and the files that may hold them."""
    if not dataset.is_stored():
        return None, []
    files = _files(dataset, threshold)
    found_parts = _ingested(dataset, f"{threshold}")
    return found_parts or next((kept for kept in map(_kept(len(dataset.agents)), files) if kept is not None), None), files


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
    name = f"{threshold}-{dataset.identity()}.npy"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tetrys" / "agents_mask"
    if "://" in dataset.path:
        return [cache / name]
    path = Path(dataset.path)
    return [path.with_name(f"{path.name}.agents_mask") / name, cache / name]


def _limits(threshold: float) -> tuple[float, float, float, float]:
    return float(threshold), float(TH_YAW_DEGREE), float(TH_EXTENT_RATIO), float(TH_DISTANCE_AV)


def _computed(dataset: ChunkedDataset, threshold: float, least: tuple[int, int], files: list[Path]) -> npt.NDArray[np.bool_]:
    """Computes the mask, and stores the counts in the first file that can be written."""
    native, limits = dataset.native(), _limits(threshold)
    made = _stored(files, len(dataset.agents), lambda file: native.agents_mask(*limits, least, file.write))
    return native.agents_mask(*limits, least, None) if made is None else made


Made = TypeVar("Made")


def _stored(files: list[Path], agents: int, write: Callable[[IO[Any]], Made]) -> Made | None:
    """Lets `write` write the counts of so many agents to the first file that can be written. Returns what it returns, or None."""
    for file in files:
        if file.exists():
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(file) as stream:
                header = {"descr": _COUNTS.str, "fortran_order": False, "shape": (agents, 2)}
                np.lib.format.write_array_header_1_0(stream, header)
                return write(stream)
        except OSError:
            # A folder that cannot be written, or a full disk.
            continue
    return None
