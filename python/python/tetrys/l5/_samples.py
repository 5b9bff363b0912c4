"""What all data sets of samples share: the numbers of samples, scenes and frames, batches, perturbations, and masks of agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import is_whole, number, several, truth
from .._errors import NotMet, OutOfRange, WrongType, WrongValue, found, short
from .._index import Index
from .._table import Table
from .._tetrys import Unsupported
from ._checks import mask as checked_mask
from ._checks import records, setting, with_method
from ._chunked import ChunkedDataset
from ._masks import load_agents_mask
from ._perturbation import Perturbation
from ._records import FRAME_DTYPE, Records

Sample = dict[str, Any]

_ARRAYS = ("scenes", "frames", "agents", "tl_faces")


class SampleDataset(ABC):
    """Samples of a Level 5 data set, one for each frame.

    `dataset[i]` computes one sample. `__getitems__` and `batch` compute several with one read plan. If a subclass overrides `get_frame`
    or `__getitem__`, all of them give the samples of the subclass. A data set can be pickled and survives a fork.
    """

    def __init__(
        self, cfg: Mapping[str, Any], dataset: ChunkedDataset, perturbation: Perturbation | None, threads: int | None
    ) -> None:
        self.cfg = cfg
        # Arrays of a data set of another class, as this library reads them.
        self._taken = ChunkedDataset("")
        self.dataset = dataset
        if perturbation is not None:
            with_method("perturbation", perturbation, "perturb", "a perturbation")
        self.perturbation = perturbation
        # Finds arrays of the caller that are none of a data set.
        self._own().native()
        self.cumulative_sizes = np.asarray(dataset.scenes["frame_index_interval"])[:, 1]
        self._threads = None if threads is None else count("threads", threads, 1)
        # The native samplers, made at the first use and left out of pickles.
        self._natives: dict[bool, Any] = {}
        # The number of agents up to the end of each frame, and the native data set that it was taken from.
        self._ends: tuple[Any, npt.NDArray[np.int64]] | None = None

    @property
    def dataset(self) -> ChunkedDataset:
        """The data set. It can be set to another one: also to one of L5Kit's class whose arrays are in memory, as L5Kit's simulation does.

        The arrays may be changed in place, and replaced by others.

        Raises:
            TypeError: it is no data set, or one of another class whose arrays are not in memory.
        """
        return self._dataset

    @dataset.setter
    def dataset(self, dataset: ChunkedDataset) -> None:
        if not isinstance(dataset, ChunkedDataset):
            arrays = [getattr(dataset, name, None) for name in _ARRAYS]
            if any(array is None for array in arrays):
                raise WrongType(f"zarr_dataset: expected a ChunkedDataset, found {found(dataset)}")
            if not all(isinstance(array, np.ndarray) for array in arrays):
                opened = "tetrys.l5.ChunkedDataset(path).open()"
                raise WrongType(f"zarr_dataset: expected arrays of numpy, found {', '.join(short(type(array).__name__) for array in arrays)}: use {opened}")
        self._dataset = dataset

    def _own(self) -> ChunkedDataset:
        """Returns the data set as one of this library: of another class, one with its arrays."""
        if isinstance(self._dataset, ChunkedDataset):
            return self._dataset
        for name in _ARRAYS:
            setattr(self._taken, name, getattr(self._dataset, name))
        return self._taken

    @abstractmethod
    def _compute(self, places: list[int]) -> list[Sample]:
        """Computes samples by their numbers."""

    @abstractmethod
    def _compute_batch(self, places: list[int]) -> dict[str, npt.NDArray[Any]]:
        """Computes samples by their numbers, as arrays with one entry for each sample."""

    @abstractmethod
    def _compute_at(self, scene_index: int, state_index: int, track_id: int | None) -> Sample:
        """Computes the sample of the ego car or an agent in a frame of a scene."""

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.dataset.frames)

    def __getitem__(self, index: int) -> Sample:
        """Computes a sample. Negative numbers count from the end.

        Raises:
            IndexError: there is no such sample.
            ValueError: a negative number is too small, as in L5Kit.
        """
        place = self._place(index)
        if type(self).get_frame is not SampleDataset.get_frame:
            return self._through_get_frame(place)
        return self._compute([place])[0]

    def __getitems__(self, indices: Iterable[int]) -> list[Sample]:
        """Computes several samples with one read plan."""
        if self._is_overridden:
            return [self[index] for index in several("indices", indices)]
        places = [self._place(index) for index in several("indices", indices)]
        return self._compute(places) if places else []

    def batch(self, indices: Iterable[int]) -> dict[str, npt.NDArray[Any]]:
        """Computes several samples with one read plan. Returns arrays with one entry for each sample."""
        if self._is_overridden or type(self).__getitems__ is not SampleDataset.__getitems__:
            return stacked(self.__getitems__(indices))
        return self._compute_batch([self._place(index) for index in several("indices", indices)])

    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> Sample:
        """Computes the sample of a frame of a scene: of the ego car, or of an agent by its track.

        Raises:
            IndexError: there is no such scene or frame, or the track is not in the frame.
            ValueError: the track is not in the frame, or its label probability is not above the threshold (vectorized samples).
        """
        return self._compute_at(scene_index, state_index, track_id)

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a scene."""
        self._check_scene(scene_idx)
        return np.arange(*self._interval(scene_idx), dtype=np.int64)

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a frame."""
        _check_frame(frame_idx, len(self.dataset.frames))
        return np.asarray((frame_idx,), dtype=np.int64)

    def loader_source(self) -> Index | Table:
        """Returns the rows of the samples, for `tetrys.DataLoader`.

        Raises:
            tetrys.Unsupported: the data set is no table.
        """
        return self._table()

    def __str__(self) -> str:
        return str(self.dataset)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_natives": {}, "_ends": None, "_taken": ChunkedDataset("")}

    @property
    def _is_overridden(self) -> bool:
        """Whether a subclass computes single samples otherwise."""
        kind = type(self)
        return kind.__getitem__ is not SampleDataset.__getitem__ or kind.get_frame is not SampleDataset.get_frame

    def _through_get_frame(self, place: int) -> Sample:
        """Computes a sample with `get_frame`, which a subclass has overridden."""
        return self.get_frame(*self._scene_and_state(place))

    def _table(self) -> Table:
        table = self._own()._table
        if table is None:
            raise Unsupported("a data loader needs a table: ingest the data set with tetrys.ingest_l5")
        return table

    def _place(self, index: int) -> int:
        """Returns the number of a sample, counted from the first one."""
        _check_number("a sample", index)
        length = len(self)
        if index < -length:
            raise WrongValue("absolute value of index should not exceed dataset length")
        if index >= length:
            raise OutOfRange(f"sample {short(index)} is outside of {length}")
        return int(index) + length if index < 0 else int(index)

    def _check_scene(self, scene: int) -> None:
        """Checks the number of a scene as L5Kit does: negative numbers count from the end."""
        _check_number("a scene", scene)
        if scene >= len(self.dataset.scenes):
            raise NotMet(f"scene_idx {short(scene)} is over len {len(self.dataset.scenes)}")

    def _interval(self, scene: int) -> tuple[int, int]:
        """Returns the first frame of a scene and the one after the last."""
        scenes = self.dataset.scenes
        _check_number("a scene", scene)
        if not -len(scenes) <= scene < len(scenes):
            raise OutOfRange(f"scene {short(scene)} is outside of {len(scenes)}")
        start, stop = np.asarray(scenes[scene]["frame_index_interval"]).tolist()
        return start, stop

    def _frame(self, scene: int, state: int) -> int:
        """Returns the number of a frame of a scene in the data set."""
        start, stop = self._interval(scene)
        _check_number("a frame", state)
        if not 0 <= state < stop - start:
            raise OutOfRange(f"frame {short(state)} is outside of the {stop - start} frames of scene {scene}")
        return start + int(state)

    def _scene_and_state(self, frame: int) -> tuple[int, int]:
        """Returns the scene of a frame and the number of the frame in it."""
        scene = int(np.searchsorted(self.cumulative_sizes, frame, side="right"))
        return scene, frame - (int(self.cumulative_sizes[scene - 1]) if scene else 0)

    def _agent_ends(self) -> npt.NDArray[np.int64]:
        """Returns the number of agents up to the end of each frame."""
        native = self._own().native()
        if self._ends is None or self._ends[0] is not native:
            self._ends = native, native.frames()[1].astype(np.int64)
        return self._ends[1]

    def _window(self, frame: int, history: int, future: int) -> tuple[Records, int]:
        """Returns a copy of the frames around a frame, in the order of time, and the place of the frame in them. The perturbation has
        changed them if the scene has all frames of the future.
        """
        start, stop = self._interval(self._scene_and_state(frame)[0])
        first, last = max(frame - history, start), min(frame + future + 1, stop)
        window, current = np.array(self.dataset.frames[first:last]), frame - first
        past, after = window[current::-1].copy(), window[current + 1 :].copy()
        if self.perturbation is not None and len(after) == future:
            past, after = _two_windows(self.perturbation.perturb(history_frames=past, future_frames=after))
            if (len(past), len(after)) != (current + 1, future):
                raise WrongValue(
                    f"the perturbation returned {len(past)} frames of history and {len(after)} of the future, expected {current + 1} and {future}"
                )
            window[: current + 1], window[current + 1 :] = past[::-1], after
        return window, current


class ValidAgents(SampleDataset):
    """Data sets with a mask of agents: `get_scene_indices` and `get_frame_indices` count the agents of the mask."""

    def _take_mask(self, mask: npt.ArrayLike | None, min_frame_history: int, min_frame_future: int) -> None:
        """Takes a mask of the caller, or notes the frames that an agent needs before and after it."""
        self._mask_limits = (min_frame_history, min_frame_future)
        if mask is not None:
            self.agents_mask = checked_mask("agents_mask", mask, len(self.dataset.agents), "agents")
        for name, value in (("min_frame_history", min_frame_history), ("min_frame_future", min_frame_future)):
            if not is_whole(value):
                raise WrongValue(f"{name}: expected a number of frames, found {found(value)}")

    @cached_property
    def agents_mask(self) -> npt.NDArray[np.bool_]:
        """Which agents count, bool [agents]. It is loaded at the first use."""
        return load_agents_mask(self._own(), setting(self.cfg, "raster_params", "filter_agents_threshold"), *self._mask_limits)

    @cached_property
    def agents_indices(self) -> npt.NDArray[np.int64]:
        """Rows of the agents that count, int64 [valid agents]."""
        return np.flatnonzero(self.agents_mask)

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the valid agents of a scene."""
        self._check_scene(scene_idx)
        return self._within(*self._interval(scene_idx))

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the valid agents of a frame, by its number in the data set."""
        frames = len(self.dataset.frames)
        _check_frame(frame_idx, frames)
        frame = frame_idx % frames
        return self._within(frame, frame + 1)

    def _agents(self, first: int, last: int) -> tuple[int, int]:
        """Returns the first row of the agents of some frames, and the one after the last."""
        ends = self._agent_ends()
        start, stop = (int(ends[frame - 1]) if frame else 0 for frame in (first, last))
        return start, stop

    def _within(self, first: int, last: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the valid agents of some frames."""
        return np.arange(*np.searchsorted(self.agents_indices, self._agents(first, last)), dtype=np.int64)

    def _scene_mask(self, scene: int) -> npt.NDArray[np.bool_]:
        """Returns the mask of the agents of a scene."""
        start, stop = self._agents(*self._interval(scene))
        return self.agents_mask[start:stop].copy()


def _check_number(what: str, value: object) -> None:
    if not is_whole(value):
        raise WrongType(f"{what} is chosen by its number, found {found(value)}")


def _check_frame(frame: int, frames: int) -> None:
    """Checks the number of a frame in the data set. Negative numbers count from the end."""
    _check_number("a frame", frame)
    if frame >= frames:
        raise NotMet(f"frame_idx {short(frame)} is over len {frames}")
    if frame < -frames:
        raise OutOfRange(f"frame {short(frame)} is outside of {frames}")


def count(what: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """Returns a number of the configuration, or raises `ValueError`."""
    if not is_whole(value) or not least <= value <= most:
        raise WrongValue(f"{what}: expected a number from {least} to {most}, found {found(value)}")
    return int(value)


def shared_settings(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that all samples have."""
    raster = setting(cfg, "raster_params")
    threshold = setting(cfg, "raster_params", "filter_agents_threshold")
    return dict(
        step_time=number("model_params.step_time", setting(cfg, "model_params", "step_time")),
        threshold=number("raster_params.filter_agents_threshold", threshold),
        faces=not truth("raster_params.disable_traffic_light_faces", raster.get("disable_traffic_light_faces", False)),
    )


def _two_windows(returned: object) -> tuple[Records, Records]:
    """Checks what a perturbation of the caller returned."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise WrongType(f"the perturbation returned {found(returned)}, expected the frames of history and of the future")
    past, after = (records("frames of the perturbation", part, FRAME_DTYPE) for part in returned)
    return past, after


def stacked(samples: list[Sample]) -> dict[str, npt.NDArray[Any]]:
    """Returns samples as arrays with one entry for each of them."""
    return {name: np.stack([sample[name] for sample in samples]) for name in (samples[0] if samples else {})}
