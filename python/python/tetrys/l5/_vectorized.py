"""L5Kit's vectorized data sets: agents, lanes and crosswalks around the ego as arrays of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import is_whole, number, truth
from .._errors import WrongType, WrongValue, array_of, found, short
from .._index import Index
from .._table import Table
from .._tetrys import Unsupported
from ._checks import floats, list_of, numbers, of_kind, records, setting
from ._chunked import ChunkedDataset, of_window
from ._config import DataManager
from ._map import MapAPI
from ._perturbation import Perturbation
from ._records import AGENT_DTYPE, FRAME_DTYPE, TL_FACE_DTYPE, Records
from ._samples import Sample, SampleDataset, ValidAgents, count, shared_settings

__all__ = ["EgoAgentDatasetVectorized", "EgoDatasetVectorized", "Vectorizer", "build_vectorizer"]

# The frame of a sample, the track id in its centre, the track ids to evaluate, and poses of the ego that were perturbed.
_Place = tuple[int, int | None, list[int], Any]

EVAL_FRAME = 99
"""With `eval_mode`, the sample of a scene is that of this frame."""
VALID_TRACK_IDS = 50
"""The length of `all_valid_agents_track_ids`."""
_VECTORS = ("all_other_agents_", "other_agents_", "agent_trajectory_", "agent_polyline_", "lanes", "crosswalks")
"""Beginnings of the keys that `Vectorizer.vectorize` returns."""
_CAR = 3
"""The type of the ego among the other agents."""
_SEEN_HISTORY, _SEEN_FUTURE = 10, 1
"""The future of an agent is available if it was seen in more frames than these, up to the current one and after it."""


class Vectorizer:
    """Settings of vectorized samples: other agents, lanes and crosswalks.

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
        if not isinstance(mapAPI, MapAPI):
            raise WrongType(f"mapAPI: expected a MapAPI, found {found(mapAPI)}")
        if not isinstance(order, str) or order not in ("python-set", "distance"):
            raise WrongValue(f"order {found(order)}: expected 'python-set' or 'distance'")
        self.lane_cfg_params: Mapping[str, Any] = setting(cfg, "data_generation_params", "lane_params")
        self.mapAPI = mapAPI
        self.order = order
        self.max_agents_distance = setting(cfg, "data_generation_params", "max_agents_distance")
        self.history_num_frames_agents = _count(cfg, "model_params", "history_num_frames_agents")
        self.future_num_frames = _count(cfg, "model_params", "future_num_frames")
        self.history_num_frames_max = max(_count(cfg, "model_params", "history_num_frames_ego"), self.history_num_frames_agents)
        self.other_agents_num = _count(cfg, "data_generation_params", "other_agents_num")

    def vectorize(
        self,
        selected_track_id: int | None,
        agent_centroid_m: npt.ArrayLike,
        agent_yaw_rad: float,
        agent_from_world: npt.ArrayLike,
        history_frames: Records,
        history_agents: Sequence[Records],
        history_tl_faces: Sequence[Records],
        history_position_m: npt.ArrayLike,
        history_yaws_rad: npt.ArrayLike,
        history_availability: npt.ArrayLike,
        future_frames: Records,
        future_agents: Sequence[Records],
    ) -> Sample:
        """Returns the other agents, lanes and crosswalks around the ego car or an agent, as `dataset[i]` has them.

        Args:
            selected_track_id: The track in the centre; None for the ego car.
            agent_centroid_m, agent_yaw_rad, agent_from_world: Its pose. It must be that of the current frame.
            history_frames: Frames, the current one first. `history_agents` and `history_tl_faces` have their agents and faces.
            history_position_m, history_yaws_rad, history_availability: The polyline in the centre: [H + 1, 2], [H + 1, 1], [H + 1].
            future_frames: Frames after the current one in the order of time. `future_agents` has their agents.

        Raises:
            ValueError: the pose is not that of the frames, or the track is not in the current frame.
        """
        fields = ["timestamp", "ego_translation", "ego_rotation"]
        past = records("history_frames", history_frames, fields, FRAME_DTYPE)
        if past.ndim != 1 or not len(past):
            raise WrongValue(f"history_frames: expected one frame or more, found the shape {past.shape}")
        later = array_of("future_frames", future_frames)
        if later.size:
            records("future_frames", later, fields, FRAME_DTYPE)
            if later.ndim != 1:
                raise WrongValue(f"future_frames: expected the shape [N], found {list(later.shape)}")
        frames = np.concatenate([past[fields][::-1], later[fields]]) if later.size else past[::-1]
        agents, faces = list_of("history_agents", history_agents, AGENT_DTYPE), list_of("history_tl_faces", history_tl_faces, TL_FACE_DTYPE)
        dataset = of_window(frames, agents[::-1], faces[::-1], list_of("future_agents", future_agents, AGENT_DTYPE))
        native = _tetrys.L5Vectorizer(
            self.mapAPI._native, history_ego=self.history_num_frames_max, history_agents=self.history_num_frames_agents,
            future=self.future_num_frames, step_time=0.1, threshold=-1.0, other_agents=self.other_agents_num,
            ego_as_agent=False, faces=True, threads=1, **self._lanes(),
        )  # fmt: skip
        track_id = _track(selected_track_id)
        sample = _sample(native.batch(dataset.native(), [(len(past) - 1, track_id, [], None)]), 0, track_id)
        for name, given in (("centroid", agent_centroid_m), ("yaw", agent_yaw_rad), ("agent_from_world", agent_from_world)):
            values = floats(name, given, np.shape(sample[name]))
            if not np.allclose(sample[name], values, rtol=1e-6, atol=1e-6):
                raise WrongValue(f"{name}: expected that of the current frame, {sample[name]}, found {values}")
        positions, yaws = numbers("history_position_m", history_position_m), numbers("history_yaws_rad", history_yaws_rad)
        available = numbers("history_availability", history_availability)
        if positions.ndim != 2 or positions.shape[1] != 2 or yaws.shape != (len(positions), 1) or available.shape != (len(positions),):
            shapes = f"{list(positions.shape)}, {list(yaws.shape)} and {list(available.shape)}"
            raise WrongValue(f"the history: expected positions [H + 1, 2], yaws [H + 1, 1] and availabilities [H + 1], found {shapes}")
        sample["agent_trajectory_polyline"] = np.concatenate([positions, yaws], axis=-1)
        sample["agent_polyline_availability"] = available.astype(np.bool_)
        return {name: value for name, value in sample.items() if name.startswith(_VECTORS)}

    def _lanes(self) -> dict[str, Any]:
        """Returns the settings of the native vectorizer that do not depend on a data set."""
        # The attributes may have been changed since they were read.
        lanes = {"lane_params": self.lane_cfg_params}
        return dict(
            max_lanes=_count(lanes, "lane_params", "max_num_lanes"),
            lane_points=_count(lanes, "lane_params", "max_points_per_lane"),
            crosswalk_points=_count(lanes, "lane_params", "max_points_per_crosswalk"),
            max_crosswalks=_count(lanes, "lane_params", "max_num_crosswalks"),
            max_map_distance=number("lane_params.max_retrieval_distance_m", setting(lanes, "lane_params", "max_retrieval_distance_m")),
            max_agents_distance=number("data_generation_params.max_agents_distance", self.max_agents_distance),
            order=self.order,
        )


def build_vectorizer(cfg: Mapping[str, Any], data_manager: DataManager, order: str = "python-set") -> Vectorizer:
    """Makes the vectorizer of a configuration, with the map that `raster_params` names.

    Raises:
        KeyError: the configuration lacks a key.
        FileNotFoundError: the map or its metadata is missing.
        ValueError: the map is damaged.
    """
    return Vectorizer(cfg, MapAPI.from_cfg(data_manager, cfg), order)


class EgoDatasetVectorized(SampleDataset):
    """The vectorized samples of the ego car, one for each frame, with the keys, types and values of L5Kit.

    Args:
        cfg: L5Kit's configuration: `model_params` and `raster_params`.
        zarr_dataset: An open data set.
        vectorizer: See `build_vectorizer`.
        perturbation: Changes the trajectory of a sample.
        threads: Threads that compute a batch; default: `TETRYS_THREADS`, or those of the machine.

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
        super().__init__(cfg, zarr_dataset, perturbation, threads)
        self.vectorizer: Vectorizer = of_kind("vectorizer", vectorizer, Vectorizer)
        self._settings: dict[str, Any] = dict(
            history_ego=_count(cfg, "model_params", "history_num_frames_ego"),
            history_agents=_count(cfg, "model_params", "history_num_frames_agents"),
            future=_count(cfg, "model_params", "future_num_frames"),
            other_agents=self._other_agents(),
            threads=self._threads or 0,
            **shared_settings(cfg),
            **vectorizer._lanes(),
        )
        # Finds mistakes in the configuration now.
        self._native(self._ego_as_agent)

    def get_scene_dataset(self, scene_index: int) -> EgoDatasetVectorized:
        """Returns the samples of one scene, whose arrays are in memory and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        dataset = self._own().get_scene_dataset(scene_index)
        return EgoDatasetVectorized(self.cfg, dataset, self.vectorizer, self.perturbation, threads=self._threads)

    def _other_agents(self) -> int:
        """Returns the rows for other agents, without the row of the ego."""
        return count("vectorizer.other_agents_num", self.vectorizer.other_agents_num)

    def _native(self, ego_as_agent: bool) -> _tetrys.L5Vectorizer:
        """Returns the native sampler with or without the ego as the first of the other agents, made at the first use."""
        if ego_as_agent not in self._natives:
            made = _tetrys.L5Vectorizer(self.vectorizer.mapAPI._native, ego_as_agent=ego_as_agent, **self._settings)
            self._natives[ego_as_agent] = made
        native: _tetrys.L5Vectorizer = self._natives[ego_as_agent]
        return native

    def _around(self, number: int) -> _Place:
        """Returns the centre of a sample."""
        return number, None, [], None

    def _compute(self, places: list[int]) -> list[Sample]:
        batch = self._compute_batch(places)
        return [_sample(batch, number, None) for number in range(len(places))]

    def _compute_batch(self, places: list[int]) -> dict[str, npt.NDArray[Any]]:
        return self._batch([self._around(number) for number in places], self._ego_as_agent)

    def _compute_at(self, scene_index: int, state_index: int, track_id: int | None) -> Sample:
        frame = self._frame(scene_index, state_index)
        track_id = _track(track_id)
        return _sample(self._batch([(frame, track_id, [], None)], ego_as_agent=False), 0, track_id)

    def _batch(self, places: list[_Place], ego_as_agent: bool) -> dict[str, npt.NDArray[Any]]:
        if self.perturbation is not None:
            places = [self._perturbed(place) for place in places]
        return self._native(ego_as_agent).batch(self._own().native(), places)

    def _perturbed(self, place: _Place) -> _Place:
        """Returns a sample with the poses of the perturbation."""
        frame, track_id, valid, _ = place
        history = max(self._settings["history_ego"], self._settings["history_agents"])
        window, _ = self._window(frame, history, self._settings["future"])
        return frame, track_id, valid, (window["ego_translation"].tolist(), window["ego_rotation"].tolist())


class EgoAgentDatasetVectorized(ValidAgents, EgoDatasetVectorized):
    """The vectorized samples of the ego car, with the ego as the first row of the other agents.

    One row of `vectorizer.other_agents_num` is the ego's. (L5Kit takes one row more away with each data set that is made.) The
    future of an agent that was seen too shortly is not available. `get_frame` gives samples without the ego's row, as in L5Kit.

    Args:
        agents_mask: Which agents count, bool [agents]; default: the mask of the configuration's threshold, as for `AgentDataset`.
        min_frame_history, min_frame_future: Frames before and after that an agent of this mask has at least.
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
        super().__init__(cfg, zarr_dataset, vectorizer, perturbation, threads=threads)
        self.eval_mode = truth("eval_mode", eval_mode)
        self._take_mask(agents_mask, min_frame_history, min_frame_future)

    def __len__(self) -> int:
        """Returns the number of frames; with `eval_mode`, that of scenes."""
        return len(self.dataset.scenes) if self.eval_mode else len(self.dataset.frames)

    def loader_source(self) -> Index | Table:
        """Returns the rows of the samples, for `tetrys.DataLoader`. In `eval_mode`, a sample belongs to a scene and not to a row."""
        if self.eval_mode:
            raise Unsupported("eval_mode has a sample for each scene: read it with dataset[i]")
        return super().loader_source()

    def get_scene_dataset(self, scene_index: int) -> EgoAgentDatasetVectorized:
        """Returns the samples of one scene, whose arrays are in memory and can be changed. As in L5Kit, it is not in `eval_mode`.

        Raises:
            ValueError: there is no such scene.
        """
        dataset, mask = self._own().get_scene_dataset(scene_index), self._scene_mask(scene_index)
        return EgoAgentDatasetVectorized(
            self.cfg, dataset, self.vectorizer, self.perturbation, mask, *self._mask_limits, threads=self._threads
        )

    def _other_agents(self) -> int:
        rows = super()._other_agents()
        if rows == 0:
            raise WrongValue("vectorizer.other_agents_num: expected at least 1, the row of the ego, found 0")
        return rows - 1

    def _around(self, number: int) -> _Place:
        if not self.eval_mode:
            return super()._around(number)
        return self._frame(number, EVAL_FRAME), None, self._valid(number), None

    def _through_get_frame(self, place: int) -> Sample:
        frame, _, valid, _ = self._around(place)
        return _with_ego(self.get_frame(*self._scene_and_state(frame)), valid)

    def _valid(self, scene: int) -> list[int]:
        """Returns the track ids of the valid agents of a scene."""
        rows = self.agents_indices[self.get_scene_indices(scene)]
        if len(rows) > VALID_TRACK_IDS:
            raise WrongValue(f"scene {scene} has {len(rows)} valid agents, expected at most {VALID_TRACK_IDS}: use another mask")
        tracks: list[int] = np.asarray(self.dataset.agents[rows]["track_id"]).tolist() if len(rows) else []
        return tracks


def _count(cfg: Mapping[str, Any], part: str, name: str) -> int:
    """Returns a number of a part of the configuration."""
    return count(f"{part}.{name}", setting(cfg, part, name))


def _track(track_id: object) -> int | None:
    if track_id is None:
        return None
    if not is_whole(track_id):
        raise WrongType(f"track_id: expected an integer, found {found(track_id)}")
    if not 0 <= track_id < 2**64:
        raise WrongValue(f"track_id {short(track_id)} not in frame: expected 0 or more")
    return int(track_id)


def _with_ego(sample: Sample, valid: list[int]) -> Sample:
    """Adds the ego as the first row of the other agents to a sample of `get_frame`, as the native code does to its own samples."""

    def first(name: str, row: Any) -> None:
        sample[name] = np.concatenate([np.asarray(row, sample[name].dtype)[None], sample[name]])

    for time, of_ego in (("history", "history"), ("future", "target")):
        for name in ("positions", "yaws", "extents"):
            first(f"all_other_agents_{time}_{name}", sample[f"{of_ego}_{name}"])
        first(f"all_other_agents_{time}_availability", sample[f"{of_ego}_availabilities"])
    first("all_other_agents_types", _CAR)
    first("all_other_agents_track_ids", -1)
    first("other_agents_polyline", sample["agent_trajectory_polyline"])
    first("other_agents_polyline_availability", sample["agent_polyline_availability"])
    past, future = (sample[f"all_other_agents_{time}_availability"].sum(-1) for time in ("history", "future"))
    sample["all_other_agents_future_availability"] &= ((past > _SEEN_HISTORY) & (future > _SEEN_FUTURE))[:, None]
    sample["all_valid_agents_track_ids"] = np.array([*valid, *[0] * (VALID_TRACK_IDS - len(valid))], np.float64)
    return sample


def _sample(batch: dict[str, npt.NDArray[Any]], number: int, track_id: int | None) -> Sample:
    """Returns a sample of a batch: views of its arrays, and numbers as L5Kit gives them."""
    sample: Sample = {name: values[number] for name, values in batch.items()}
    sample["yaw"], sample["scene_index"] = float(sample["yaw"]), int(sample["scene_index"])
    if track_id is None:
        sample["type"] = int(sample["type"])
    else:
        sample["extent"] = sample["extent"].astype(np.float32)
    return sample
