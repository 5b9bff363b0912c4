"""Test sets of chopped scenes, with the truth after the chop in a file (L5Kit's `evaluation.chop_dataset`)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import Url, number, path_of, url_of
from .._errors import Taken, WrongValue
from ._chunked import ChunkedDataset
from ._combine import chopped_starts, opened, zarr_scenes_chop
from ._datasets import AgentDataset
from ._masks import load_agents_mask
from ._rasterizers import Rasterizer, RenderContext
from ._samples import count

MIN_FUTURE_STEPS = 10

# Samples that are computed at a time.
_BATCH = 256


def create_chopped_dataset(
    zarr_path: Url,
    th_agent_prob: float,
    num_frames_to_copy: int,
    num_frames_gt: int,
    min_frame_future: int = MIN_FUTURE_STEPS,
    *,
    output: str | os.PathLike[str] | None = None,
    allow_unpinned: bool = False,
) -> str:
    """Makes a test set: a view with the first frames of each scene, a mask of agents to predict, and their true future.

    Args:
        zarr_path: A table that `tetrys.ingest_l5` made, or a view of such tables.
        th_agent_prob: Label probability above which an agent counts, as in `select_agents`.
        num_frames_to_copy: Frames of each scene, at least 1. All scenes have more.
        num_frames_gt: Frames after the chop in the file of the truth.
        min_frame_future: Reliable frames after the chop that an agent needs.
        output: The folder to make; default: `<stem>_chopped_<num_frames_to_copy>` beside the table.
        allow_unpinned: See `Index.save`.

    Returns the folder. It has the view, under the name of the table; `mask.npz`, whose `arr_0` is true for agents of the last
    frame of each scene that count, bool [agents of the view]; and `gt.csv`, see `write_gt_csv`. The view is saved last.

    Raises:
        AssertionError: a scene has no more frames than that, or something exists where the test set would be. Unlike in L5Kit, a second
            call replaces nothing: use the folder that the first one made, or remove it.
        ValueError: the input is a zarr group, or a URL without an `output`.
    """
    place = url_of(zarr_path)
    name = _tetrys.root_of(place.rstrip("/")).rsplit("/", 1)[-1]
    if output is None and "://" in place:
        raise WrongValue(f"{place}: the files of a test set are local: name their folder in `output`")
    number("th_agent_prob", th_agent_prob)
    count("num_frames_gt", num_frames_gt)
    count("min_frame_future", min_frame_future)
    folder = Path(path_of("output", output)) if output is not None else Path(place).parent / f"{Path(name).stem}_chopped_{num_frames_to_copy}"
    for taken in (folder / name, folder / "mask.npz", folder / "gt.csv"):
        if os.path.lexists(taken):
            is_whole = os.path.lexists(folder / name)
            made = "use the one that is there" if is_whole else "a call before may have been stopped"
            raise Taken(f"{taken}: something exists there; a test set is made in a new place: {made}, or remove {folder} first, or name another `output`")
    dataset = opened(zarr_path)
    # The last frame that is kept of each scene.
    lasts = chopped_starts(dataset, num_frames_to_copy) + num_frames_to_copy - 1
    ends = np.append(0, dataset.native().frames()[1].astype(np.int64))
    reliable = load_agents_mask(dataset, th_agent_prob, 0, min_frame_future)
    of_table = np.zeros(len(reliable), np.bool_)
    of_view: list[npt.NDArray[np.bool_]] = [np.empty(0, np.bool_)]
    for last in lasts:
        here = slice(ends[last], ends[last + 1])
        of_table[here] = reliable[here]
        of_view += [np.zeros(ends[last] - ends[last + 1 - num_frames_to_copy], np.bool_), reliable[here]]
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "mask.npz", np.concatenate(of_view))
    export_zarr_to_csv(dataset, folder / "gt.csv", num_frames_gt, th_agent_prob, agents_mask=of_table)
    zarr_scenes_chop(zarr_path, folder / name, num_frames_to_copy, allow_unpinned=allow_unpinned)
    return str(folder)


def export_zarr_to_csv(
    zarr_dataset: ChunkedDataset,
    csv_file_path: str | os.PathLike[str],
    future_num_frames: int,
    filter_agents_threshold: float,
    step_time: float = 0.1,
    agents_mask: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Writes the true future of agents: their positions in the next frames, in metres from where they are, in world axes.

    Args:
        zarr_dataset: An open data set.
        csv_file_path: The file; see `write_gt_csv`.
        future_num_frames: Frames after the one of each agent.
        filter_agents_threshold: Label probability above which an agent counts.
        step_time: Seconds from frame to frame.
        agents_mask: The agents, as in `AgentDataset`.
    """
    from ._evaluation import write_gt_csv

    raster = {
        "pixel_size": (0.25, 0.25), "raster_size": (1, 1), "ego_center": (0.5, 0.5), "set_origin_to_bottom": True,
        "filter_agents_threshold": filter_agents_threshold, "disable_traffic_light_faces": True,
    }  # fmt: skip
    cfg = {
        "raster_params": raster,
        "model_params": {"history_num_frames": 0, "future_num_frames": future_num_frames, "step_time": step_time},
    }
    context = RenderContext((1, 1), (0.25, 0.25), (0.5, 0.5), True)
    dataset = AgentDataset(
        cfg, zarr_dataset, Rasterizer("stub_debug", context, filter_agents_threshold, 0, True), agents_mask=agents_mask
    )
    agents = len(dataset)
    times, tracks = np.zeros(agents, np.int64), np.zeros(agents, np.int64)
    coords, avails = np.zeros((agents, future_num_frames, 2)), np.zeros((agents, future_num_frames), np.float32)
    for start in range(0, agents, _BATCH):
        numbers = range(start, min(start + _BATCH, agents))
        for number, sample in zip(numbers, dataset.__getitems__(numbers), strict=True):
            times[number], tracks[number] = sample["timestamp"], sample["track_id"]
            turn = sample["world_from_agent"]
            positions = sample["target_positions"].astype(np.float64)
            coords[number] = positions @ turn[:2, :2].T + turn[:2, 2] - sample["centroid"]
            avails[number] = sample["target_availabilities"]
    write_gt_csv(csv_file_path, times, tracks, coords, avails)
