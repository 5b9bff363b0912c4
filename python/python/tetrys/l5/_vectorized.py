"""L5Kit's vectorized data sets: agents, lanes and crosswalks around the ego as arrays of numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._errors import OutOfRange, WrongType, WrongValue, found
from .._table import Table
from .._tetrys import Unsupported
from ._chunked import ChunkedDataset
from ._config import DataManager
from ._map import MapAPI
from ._masks import load_agents_mask
from ._perturbation import Perturbation

__all__ = ["EgoAgentDatasetVectorized", "EgoDatasetVectorized", "Vectorizer", "build_vectorizer"]

Sample = dict[str, Any]
# The frame of a sample, the track id in its centre, the track ids to evaluate, and poses of the ego that were perturbed.
_Place = tuple[int, int | None, list[int], Any]

EVAL_FRAME = 99
"""With `eval_mode`, the sample of a scene is that of this frame."""
VALID_TRACK_IDS = 50
"""The length of `all_valid_agents_track_ids`."""


class Vectorizer:
    """What a vectorized sample has, and how much of it.

    Args:
        cfg: L5Kit's configuration: `data_generation_params` and `model_params`.
        mapAPI: The map of lanes and crosswalks.
        order: The order of the other agents. `"python-set"` is L5Kit's: that in which CPython iterates a set of their track ids.
            `"distance"`: those of the current frame first, the nearest first; then those that were seen before.

    A data set takes the attributes over when it is made, and never changes them.

    Raises:
        KeyError: the configuration lacks a key.
        ValueError: there is no such order.
    """

    def __init__(self, cfg: Mapping[str, Any], mapAPI: MapAPI, order: str = "python-set") -> None:
        model, generation = cfg["model_params"], cfg["data_generation_params"]
        if not isinstance(mapAPI, MapAPI):
            raise WrongType(f"mapAPI: expected a MapAPI, found {found(mapAPI)}")
        if order not in ("python-set", "distance"):
            raise WrongValue(f"order {order!r}: expected 'python-set' or 'distance'")
        self.lane_cfg_params: Mapping[str, Any] = generation["lane_params"]
        self.mapAPI = mapAPI
        self.order = order
        self.max_agents_distance = generation["max_agents_distance"]
        self.history_num_frames_agents = _count("model_params.history_num_frames_agents", model["history_num_frames_agents"])
        self.future_num_frames = _count("model_params.future_num_frames", model["future_num_frames"])
        history_ego = _count("model_params.history_num_frames_ego", model["history_num_frames_ego"])
        self.history_num_frames_max = max(history_ego, self.history_num_frames_agents)
        self.other_agents_num = _count("data_generation_params.other_agents_num", generation["other_agents_num"])


def build_vectorizer(cfg: Mapping[str, Any], data_manager: DataManager, order: str = "python-set") -> Vectorizer:
    """Makes the vectorizer of a configuration, with the map that `raster_params` names.

    Raises:
        KeyError: the configuration lacks a key.
        FileNotFoundError: the map or its metadata is missing.
        ValueError: the map is damaged.
    """
    return Vectorizer(cfg, MapAPI.from_cfg(data_manager, cfg), order)


class EgoDatasetVectorized:
    """The vectorized samples of the ego car, one for each frame, with the keys, types and values of L5Kit.

    Args:
        cfg: L5Kit's configuration: `model_params` and `raster_params`.
        zarr_dataset: An open data set.
        vectorizer: See `build_vectorizer`.
        perturbation: Changes the trajectory of a sample.
        threads: Threads that compute a batch; default: those of the machine.

    `dataset[i]` computes one sample. `__getitems__` computes a batch with one read plan; PyTorch's `DataLoader` calls it. The data
    set can be pickled and survives a fork.

    Raises:
        KeyError: the configuration lacks a key.
        ValueError: a number of the configuration is impossible.
    """

    _ego_as_agent = False

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        vectorizer: Vectorizer,
        perturbation: Perturbation | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.cfg = cfg
        self.dataset = zarr_dataset
        self.vectorizer = vectorizer
        self.perturbation = perturbation
        self.cumulative_sizes = np.asarray(zarr_dataset.scenes["frame_index_interval"])[:, 1]
        self._threads = _count("threads", threads, 1) if threads is not None else os.cpu_count() or 1
        self._natives: dict[bool, _tetrys.L5Vectorizer] = {}
        # Finds mistakes in the configuration now.
        self._native(self._ego_as_agent)

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.dataset.frames)

    def __getitem__(self, index: int) -> Sample:
        """Computes a sample. Negative numbers count from the end.

        Raises:
            IndexError: there is no such sample.
            ValueError: a negative number is too small, as in L5Kit.
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Iterable[int]) -> list[Sample]:
        """Computes several samples with one read plan."""
        return self._samples(*self._places(indices))

    def batch(self, indices: Iterable[int]) -> dict[str, npt.NDArray[Any]]:
        """Computes several samples with one read plan. Returns arrays with one entry for each sample."""
        places, ego_as_agent = self._places(indices)
        return self._batch(places, ego_as_agent)

    def loader_source(self) -> Table:
        """Returns the rows of the samples, for `tetrys.DataLoader`.

        Raises:
            tetrys.Unsupported: the data set is no table.
        """
        if self.dataset._table is None:
            raise Unsupported("a data loader needs a table: ingest the data set with tetrys.ingest_l5")
        return self.dataset._table

    def _places(self, indices: Iterable[int]) -> tuple[list[_Place], bool]:
        """Returns what the samples are around, and whether the ego is the first of the other agents."""
        return [(index, None, [], None) for index in self._indices(indices)], self._ego_as_agent

    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> Sample:
        """Computes the sample of a frame of a scene: of the ego car, or of an agent by its track.

        Raises:
            IndexError: there is no such scene or frame.
            ValueError: the track is not in the frame, or its label probability is not above the threshold.
        """
        frame = self._frame(scene_index, state_index)
        if track_id is not None and not 0 <= track_id < 2**64:
            raise WrongValue(f"track_id {track_id} not in frame: expected 0 or more")
        (sample,) = self._samples([(frame, None if track_id is None else int(track_id), [], None)], ego_as_agent=False)
        return sample

    def get_scene_dataset(self, scene_index: int) -> EgoDatasetVectorized:
        """Returns the samples of one scene, whose arrays are in memory and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        dataset = self.dataset.get_scene_dataset(scene_index)
        return EgoDatasetVectorized(self.cfg, dataset, self.vectorizer, self.perturbation, threads=self._threads)

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a scene."""
        assert scene_idx < len(self.dataset.scenes), f"scene_idx {scene_idx} is over len {len(self.dataset.scenes)}"
        return np.arange(*self._interval(scene_idx), dtype=np.int64)

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a frame."""
        assert frame_idx < len(self.dataset.frames), f"frame_idx {frame_idx} is over len {len(self.dataset.frames)}"
        return np.asarray((frame_idx,), dtype=np.int64)

    def __str__(self) -> str:
        return str(self.dataset)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_natives": {}}

    def _other_agents(self) -> int:
        """Returns the rows for other agents, without the row of the ego."""
        return _count("vectorizer.other_agents_num", self.vectorizer.other_agents_num)

    def _native(self, ego_as_agent: bool) -> _tetrys.L5Vectorizer:
        """Returns what computes samples, made at the first use."""
        if ego_as_agent not in self._natives:
            model, raster, vectorizer = self.cfg["model_params"], self.cfg["raster_params"], self.vectorizer
            lanes = {name: f"lane_params.{name}" for name in _LANE_KEYS}
            counts = {_LANE_KEYS[name]: _count(where, vectorizer.lane_cfg_params[name]) for name, where in lanes.items()}
            self._natives[ego_as_agent] = _tetrys.L5Vectorizer(
                vectorizer.mapAPI._native,
                history_ego=_count("model_params.history_num_frames_ego", model["history_num_frames_ego"]),
                history_agents=_count("model_params.history_num_frames_agents", model["history_num_frames_agents"]),
                future=_count("model_params.future_num_frames", model["future_num_frames"]),
                step_time=float(model["step_time"]),
                threshold=float(raster["filter_agents_threshold"]),
                other_agents=self._other_agents(),
                max_agents_distance=float(vectorizer.max_agents_distance),
                max_map_distance=float(vectorizer.lane_cfg_params["max_retrieval_distance_m"]),
                order=vectorizer.order,
                ego_as_agent=ego_as_agent,
                faces=not raster.get("disable_traffic_light_faces", False),
                threads=self._threads,
                **counts,
            )
        return self._natives[ego_as_agent]

    def _batch(self, places: list[_Place], ego_as_agent: bool) -> dict[str, npt.NDArray[Any]]:
        if self.perturbation is not None:
            places = [self._perturbed(place, self.perturbation) for place in places]
        return self._native(ego_as_agent).batch(self.dataset.native(), places)

    def _samples(self, places: list[_Place], ego_as_agent: bool) -> list[Sample]:
        """Computes samples, with or without the ego as the first row of the other agents."""
        if not places:
            return []
        batch = self._batch(places, ego_as_agent)
        return [_sample(batch, number, track_id) for number, (_, track_id, _, _) in enumerate(places)]

    def _perturbed(self, place: _Place, perturbation: Perturbation) -> _Place:
        """Returns a sample with the poses of a perturbation, if all frames of its future exist."""
        frame, track_id, valid, _ = place
        scene = int(np.searchsorted(self.cumulative_sizes, frame, side="right"))
        start, stop = self._interval(scene)
        model = self.cfg["model_params"]
        history = max(model["history_num_frames_ego"], model["history_num_frames_agents"])
        first, last = max(frame - history, start), min(frame + model["future_num_frames"] + 1, stop)
        window, current = np.array(self.dataset.frames[first:last]), frame - first
        past, future = window[current::-1].copy(), window[current + 1 :].copy()
        if len(future) != model["future_num_frames"]:
            return place
        lengths = len(past), len(future)
        past, future = perturbation.perturb(history_frames=past, future_frames=future)
        if (len(past), len(future)) != lengths:
            expected = f"{lengths[0]} history and {lengths[1]} future frames"
            raise WrongValue(f"the perturbation returned {len(past)} and {len(future)} frames, expected {expected}")
        window = np.concatenate([past[::-1], future])
        return frame, track_id, valid, (window["ego_translation"].tolist(), window["ego_rotation"].tolist())

    def _indices(self, indices: Iterable[int]) -> list[int]:
        return [self._index(index) for index in indices]

    def _index(self, index: int) -> int:
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise WrongType(f"a sample is chosen by its number, found {found(index)}")
        if index < -len(self):
            raise WrongValue("absolute value of index should not exceed dataset length")
        if index >= len(self):
            raise OutOfRange(f"sample {index} is outside of {len(self)}")
        return int(index) + len(self) if index < 0 else int(index)

    def _interval(self, scene: int) -> tuple[int, int]:
        """Returns the first frame of a scene and the one behind the last."""
        scenes = self.dataset.scenes
        if not -len(scenes) <= scene < len(scenes):
            raise OutOfRange(f"scene {scene} is outside of {len(scenes)}")
        start, stop = np.asarray(scenes[scene]["frame_index_interval"]).tolist()
        return start, stop

    def _frame(self, scene: int, state: int) -> int:
        start, stop = self._interval(scene)
        if not 0 <= state < stop - start:
            raise OutOfRange(f"frame {state} is outside of the {stop - start} frames of scene {scene}")
        return start + int(state)


class EgoAgentDatasetVectorized(EgoDatasetVectorized):
    """The vectorized samples of the ego car, with the ego as the first row of the other agents.

    One row of `vectorizer.other_agents_num` is the ego's. (L5Kit takes one row more away with each data set that is made.) The
    future of an agent that was seen too shortly is not available. `get_frame` gives samples without the ego's row, as in L5Kit.

    Args:
        agents_mask: Which agents count, bool [agents]; default: the mask of the configuration's threshold, as for `AgentDataset`.
        min_frame_history, min_frame_future: Frames before and behind that an agent of this mask has at least.
        eval_mode: One sample for each scene, that of its 100th frame, with the track ids of the valid agents of the scene.

    The other arguments are those of `EgoDatasetVectorized`. `get_scene_indices` and `get_frame_indices` count valid agents.
    """

    _ego_as_agent = True

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        vectorizer: Vectorizer,
        perturbation: Perturbation | None = None,
        agents_mask: npt.NDArray[np.bool_] | None = None,
        min_frame_history: int = 10,
        min_frame_future: int = 1,
        eval_mode: bool = False,
        *,
        threads: int | None = None,
    ) -> None:
        self.eval_mode = bool(eval_mode)
        self._mask_limits = (min_frame_history, min_frame_future)
        self._agents_mask: npt.NDArray[np.bool_] | None = None
        self._agents_indices: npt.NDArray[np.int64] | None = None
        super().__init__(cfg, zarr_dataset, vectorizer, perturbation, threads=threads)
        if agents_mask is not None:
            mask, agents = np.asarray(agents_mask), len(zarr_dataset.agents)
            if mask.shape != (agents,):
                raise WrongValue(f"agents_mask has the shape {mask.shape}, expected one bool for each of {agents} agents")
            self._agents_mask = mask.astype(np.bool_, copy=False)

    @property
    def agents_mask(self) -> npt.NDArray[np.bool_]:
        """Which agents count. The mask is loaded at the first use."""
        if self._agents_mask is None:
            self._agents_mask = load_agents_mask(
                self.dataset, self.cfg["raster_params"]["filter_agents_threshold"], *self._mask_limits
            )
        return self._agents_mask

    @property
    def agents_indices(self) -> npt.NDArray[np.int64]:
        """Rows of the agents that count."""
        if self._agents_indices is None:
            self._agents_indices = np.flatnonzero(self.agents_mask)
        return self._agents_indices

    def __len__(self) -> int:
        """Returns the number of frames; with `eval_mode`, that of scenes."""
        return len(self.dataset.scenes) if self.eval_mode else len(self.dataset.frames)

    def _places(self, indices: Iterable[int]) -> tuple[list[_Place], bool]:
        if not self.eval_mode:
            return super()._places(indices)
        scenes = self._indices(indices)
        return [(self._frame(scene, EVAL_FRAME), None, self._valid(scene), None) for scene in scenes], True

    def loader_source(self) -> Table:
        """Returns the rows of the samples, for `tetrys.DataLoader`. In `eval_mode`, a sample belongs to a scene and not to a row."""
        if self.eval_mode:
            raise Unsupported("eval_mode has a sample for each scene: read it with dataset[i]")
        return super().loader_source()

    def get_scene_dataset(self, scene_index: int) -> EgoAgentDatasetVectorized:
        """Returns the samples of one scene, whose arrays are in memory and can be changed. As in L5Kit, it is not in `eval_mode`.

        Raises:
            ValueError: there is no such scene.
        """
        dataset = self.dataset.get_scene_dataset(scene_index)
        start = self._agents(*self._interval(scene_index)).start
        mask = self.agents_mask[start : start + len(dataset.agents)].copy()
        made = EgoAgentDatasetVectorized(
            self.cfg, dataset, self.vectorizer, self.perturbation, mask, *self._mask_limits, threads=self._threads
        )
        return made

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the valid agents of a scene."""
        assert scene_idx < len(self.dataset.scenes), f"scene_idx {scene_idx} is over len {len(self.dataset.scenes)}"
        return self._within(self._agents(*self._interval(scene_idx)))

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the valid agents of a frame, by its number in the data set."""
        frames = len(self.dataset.frames)
        assert frame_idx < frames, f"frame_idx {frame_idx} is over len {frames}"
        frame = frame_idx % frames
        return self._within(self._agents(frame, frame + 1))

    def _other_agents(self) -> int:
        rows = super()._other_agents()
        if rows == 0:
            raise WrongValue("vectorizer.other_agents_num: expected at least 1, the row of the ego, found 0")
        return rows - 1

    def _agents(self, first: int, last: int) -> slice:
        """Returns the rows of the agents of some frames."""
        ends = self.dataset.native().frames()[1]
        start, stop = (int(ends[frame - 1]) if frame else 0 for frame in (first, max(first, last)))
        return slice(start, stop)

    def _within(self, rows: slice) -> npt.NDArray[np.int64]:
        return np.arange(*np.searchsorted(self.agents_indices, [rows.start, rows.stop]), dtype=np.int64)

    def _valid(self, scene: int) -> list[int]:
        """Returns the track ids of the valid agents of a scene."""
        rows = self.agents_indices[self.get_scene_indices(scene)]
        if len(rows) > VALID_TRACK_IDS:
            raise WrongValue(f"scene {scene} has {len(rows)} valid agents, expected at most {VALID_TRACK_IDS}: use another mask")
        tracks: list[int] = np.asarray(self.dataset.agents[rows]["track_id"]).tolist() if len(rows) else []
        return tracks


_LANE_KEYS = {
    "max_num_lanes": "max_lanes",
    "max_points_per_lane": "lane_points",
    "max_points_per_crosswalk": "crosswalk_points",
    "max_num_crosswalks": "max_crosswalks",
}


def _count(what: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**31:
        raise WrongValue(f"{what}: expected a number from {least}, found {found(value)}")
    return int(value)


def _sample(batch: dict[str, npt.NDArray[Any]], number: int, track_id: int | None) -> Sample:
    """Returns a sample of a batch: views of its arrays, and numbers as L5Kit gives them."""
    sample: Sample = {name: values[number] for name, values in batch.items()}
    sample["yaw"], sample["scene_index"] = float(sample["yaw"]), int(sample["scene_index"])
    if track_id is None:
        sample["type"] = int(sample["type"])
    else:
        sample["extent"] = sample["extent"].astype(np.float32)
    return sample
