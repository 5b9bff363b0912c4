"""L5Kit's data sets of samples: `EgoDataset` and `AgentDataset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import is_whole
from .._errors import NotMet, OutOfRange, WrongType, found, imported, short
from .._index import Index, read_index
from ._checks import setting, with_method
from ._chunked import ChunkedDataset
from ._masks import MIN_FRAME_FUTURE, MIN_FRAME_HISTORY, load_agents_counts
from ._perturbation import Perturbation
from ._rasterizers import Rasterizer, context_of, is_native
from ._samples import Sample, SampleDataset, ValidAgents, count, shared_settings, stacked

# A scene has about 250 frames.
_MOST_FRAMES = 1 << 16

# Keys of a sample that are plain Python numbers.
_INTEGERS = ("frame_index", "scene_index")

_FACES = "traffic_light_faces_index_interval"


class EgoDataset(SampleDataset):
    """The samples of the ego car, one for each frame, with the keys, types and values of L5Kit.

    Args:
        cfg: L5Kit's configuration: `model_params` and `raster_params`.
        zarr_dataset: An open data set.
        rasterizer: Draws `image`; see `build_rasterizer`.
        perturbation: Changes the trajectory of a sample.
        threads: Threads that compute a batch; default: `TETRYS_THREADS`, or those of the machine.

    `dataset[i]` computes one sample. `__getitems__` computes a batch with one read plan; PyTorch's `DataLoader` calls it. The data set
    can be pickled and survives a fork.

    Raises:
        KeyError: the configuration lacks a key.
        ValueError: a number of the configuration is impossible.
    """

    _of_agents = False

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        rasterizer: Rasterizer,
        perturbation: Perturbation | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(cfg, zarr_dataset, perturbation, threads)
        self.rasterizer: Rasterizer = with_method("rasterizer", rasterizer, "rasterize", "a rasterizer")
        history, future = (setting(cfg, "model_params", name) for name in ("history_num_frames", "future_num_frames"))
        self._history = count("model_params.history_num_frames", history, most=_MOST_FRAMES)
        self._future = count("model_params.future_num_frames", future, most=_MOST_FRAMES)
        self._settings: dict[str, Any] = dict(history=self._history, future=self._future, threads=self._threads or 0, **shared_settings(cfg))
        # Finds mistakes in the configuration now.
        self._sampler(self._of_agents)

    def plot(self, index: int) -> Any:
        """Draws a sample: its image, the past as an orange line and the future as a pink one, and the traffic light faces.

        Returns a picture of Pillow, which notebooks show. Of a rasterizer in Python, only the lines and faces are drawn.

        Raises:
            IndexError: there is no such sample.
            tetrys.Unsupported: Pillow is not installed.
        """
        (row,) = self._rows([self._place(index)])
        pillow = imported("PIL.Image", "drawing a sample needs Pillow: pip install pillow")
        return pillow.fromarray(self._sampler(self._of_agents).picture(self._own().native(), row))

    def get_scene_dataset(self, scene_index: int) -> EgoDataset:
        """Returns the samples of one scene, whose arrays are in memory and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        return EgoDataset(self.cfg, self._own().get_scene_dataset(scene_index), self.rasterizer, self.perturbation, threads=self._threads)

    def _rows(self, places: list[int]) -> list[int]:
        """Returns the frames of samples; of agents, their rows."""
        return places

    def _compute(self, places: list[int]) -> list[Sample]:
        return self._of_rows(self._rows(places), self._of_agents)

    def _compute_batch(self, places: list[int]) -> dict[str, npt.NDArray[Any]]:
        rows = self._rows(places)
        if self._is_native:
            return self._sampler(self._of_agents).batch(self._own().native(), rows)
        return stacked([self._sample_in_python(row, self._of_agents) for row in rows])

    def _compute_at(self, scene_index: int, state_index: int, track_id: int | None) -> Sample:
        frame = self._frame(scene_index, state_index)
        if track_id is None:
            return self._of_rows([frame], of_agents=False)[0]
        first, last = np.asarray(self.dataset.frames[frame]["agent_index_interval"]).tolist()
        tracks = np.asarray(self.dataset.agents[first:last]["track_id"])
        if not is_whole(track_id):
            raise WrongType(f"a track is chosen by its number, found {found(track_id)}")
        rows: list[int] = np.flatnonzero(tracks == np.uint64(track_id)).tolist() if 0 <= track_id < 2**64 else []
        if not rows:
            raise OutOfRange(f"track {short(track_id)} is not in frame {state_index} of scene {scene_index}")
        return self._of_rows([first + rows[0]], of_agents=True)[0]

    def _sampler(self, of_agents: bool) -> _tetrys.L5Sampler:
        """Returns the native sampler of the ego car or of agents, made at the first use."""
        if of_agents not in self._natives:
            drawn = self.rasterizer._native if is_native(self.rasterizer) else _stub(self.cfg)
            self._natives[of_agents] = _tetrys.L5Sampler(drawn, agents=of_agents, **self._settings)
        sampler: _tetrys.L5Sampler = self._natives[of_agents]
        return sampler

    @property
    def _is_native(self) -> bool:
        return self.perturbation is None and is_native(self.rasterizer)

    def _of_rows(self, rows: list[int], of_agents: bool) -> list[Sample]:
        """Computes the samples of frames, or of rows of agents."""
        if self._is_native:
            return _split(self._sampler(of_agents).batch(self._own().native(), rows), len(rows))
        return [self._sample_in_python(row, of_agents) for row in rows]

    def _sample_in_python(self, row: int, of_agents: bool) -> Sample:
        """Computes a sample whose perturbation or rasterizer is Python code."""
        frame = int(np.searchsorted(self._agent_ends(), row, side="right")) if of_agents else row
        scene, state = self._scene_and_state(frame)
        window, current = self._window(frame, self._history, self._future)
        part = ChunkedDataset("")
        part.scenes = np.array(self.dataset.scenes[scene : scene + 1])
        part.scenes["frame_index_interval"][0] = 0, len(window)
        agents_start, agents_stop = int(window["agent_index_interval"][0, 0]), int(window["agent_index_interval"][-1, 1])
        part.agents = np.array(self.dataset.agents[agents_start:agents_stop])
        window["agent_index_interval"] -= agents_start
        if _FACES in (window.dtype.names or ()):
            faces_start, faces_stop = int(window[_FACES][0, 0]), int(window[_FACES][-1, 1])
            part.tl_faces = np.array(self.dataset.tl_faces[faces_start:faces_stop])
            window[_FACES] -= faces_start
            if not self._settings["faces"]:
                part.tl_faces, window[_FACES] = part.tl_faces[:0], 0
        part.frames = window
        place = row - agents_start if of_agents else current
        (sample,) = _split(self._sampler(of_agents).batch(part.native(), [place]), 1)
        sample["frame_index"], sample["scene_index"] = state, scene
        if not is_native(self.rasterizer):
            sample["image"] = self._drawn_in_python(part, current, part.agents[place] if of_agents else None)
        return sample

    def _drawn_in_python(self, part: ChunkedDataset, current: int, agent: Any) -> npt.NDArray[np.float32]:
        past = part.frames[current::-1]
        agents = [part.agents[slice(*frame["agent_index_interval"])] for frame in past]
        lights = [part.tl_faces[slice(*frame[_FACES])] for frame in past] if _FACES in (past.dtype.names or ()) else [part.tl_faces] * len(past)
        return np.asarray(self.rasterizer.rasterize(past, agents, lights, agent)).transpose(2, 0, 1)


class AgentDataset(ValidAgents, EgoDataset):
    """The samples of agents, with the keys, types and values of L5Kit.

    Args:
        agents_mask: Which agents count, bool [agents]. Default: the mask of the threshold of the configuration, which is loaded, or
            computed and stored beside the data set (see `select_agents`), with at least `min_frame_history` frames before and
            `min_frame_future` frames after.

    The other arguments are those of `EgoDataset`. A sample costs 8 bytes of memory, and each agent one byte.
    """

    _of_agents = True

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        rasterizer: Rasterizer,
        perturbation: Perturbation | None = None,
        agents_mask: npt.NDArray[np.bool_] | None = None,
        min_frame_history: int = MIN_FRAME_HISTORY,
        min_frame_future: int = MIN_FRAME_FUTURE,
        *,
        threads: int | None = None,
    ) -> None:
        if perturbation is not None:
            raise NotMet("AgentDataset does not support perturbation (yet)")
        super().__init__(cfg, zarr_dataset, rasterizer, None, threads=threads)
        self._take_mask(agents_mask, min_frame_history, min_frame_future)
        self.agents_indices = np.flatnonzero(self.agents_mask)

    def __len__(self) -> int:
        """Returns the number of valid agents."""
        return len(self.agents_indices)

    def loader_source(self) -> Index:
        """Returns the frame of each sample, for `tetrys.DataLoader`.

        Raises:
            tetrys.Unsupported: the data set is no table.
        """
        index = read_index(self._table())
        frames = np.searchsorted(self._agent_ends(), self.agents_indices, side="right")
        return index.with_frame(index.to_polars()[frames])

    def load_agents_mask(self) -> npt.NDArray[np.uint32]:
        """Returns the reliable frames before and after each agent, u32 [agents, 2], for the threshold of the configuration.

        They come from the data set, or from a file beside it or in the user's cache folder; else they are computed and stored there.
        L5Kit stores them in the zarr group. A mask that an early data set has for the threshold is bool [agents].

        Example:
            >>> counts = AgentDataset(cfg, dataset, rasterizer).load_agents_mask()
            >>> agents_mask = (counts[:, 0] >= 10) & (counts[:, 1] >= 1)
        """
        return load_agents_counts(self._own(), setting(self.cfg, "raster_params", "filter_agents_threshold"))

    def get_scene_dataset(self, scene_index: int) -> AgentDataset:
        """Returns the samples of one scene, whose arrays are in memory and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        dataset = self._own().get_scene_dataset(scene_index)
        return AgentDataset(self.cfg, dataset, self.rasterizer, None, self._scene_mask(scene_index), threads=self._threads)

    def _rows(self, places: list[int]) -> list[int]:
        rows: list[int] = self.agents_indices[places].tolist()
        return rows

    def _through_get_frame(self, place: int) -> Sample:
        (row,) = self._rows([place])
        frame = int(np.searchsorted(self._agent_ends(), row, side="right"))
        return self.get_frame(*self._scene_and_state(frame), track_id=int(self.dataset.agents[row]["track_id"]))


def _stub(cfg: Mapping[str, Any]) -> _tetrys.L5Rasterizer:
    """Returns a native rasterizer that draws nothing, for samples whose image is drawn in Python."""
    return Rasterizer("stub_debug", context_of(cfg), setting(cfg, "raster_params", "filter_agents_threshold"), 0, True)._native


def _split(batch: dict[str, npt.NDArray[Any]], samples: int) -> list[Sample]:
    """Returns the samples of a batch: views of its arrays, and numbers as L5Kit gives them."""
    found: list[Sample] = []
    for number in range(samples):
        sample: Sample = {name: values[number] for name, values in batch.items()}
        for name in _INTEGERS:
            sample[name] = int(sample[name])
        sample["yaw"] = float(sample["yaw"])
        found.append(sample)
    return found
