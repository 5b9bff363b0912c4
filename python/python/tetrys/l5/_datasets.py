"""L5Kit's data sets of samples: `EgoDataset` and `AgentDataset`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import whole
from .._errors import OutOfRange, WrongType, WrongValue, found, imported
from .._index import Index, read_index
from .._table import Table
from .._tetrys import Unsupported
from ._chunked import ChunkedDataset, LazyRecords, Records
from ._masks import load_agents_mask
from ._perturbation import Perturbation
from ._rasterizers import Rasterizer

Sample = dict[str, Any]

# A scene has about 250 frames.
_MOST_FRAMES = 1 << 16

# Keys of a sample that are plain Python numbers.
_INTEGERS = ("frame_index", "scene_index")


class EgoDataset:
    """The samples of the ego car, one for each frame, with the keys, types and values of L5Kit.

    Args:
        cfg: L5Kit's configuration: `model_params` and `raster_params`.
        zarr_dataset: An open data set.
        rasterizer: What draws `image`; see `build_rasterizer`.
        perturbation: Changes the trajectory of a sample.
        threads: Threads that compute a batch; default: those of the machine.

    `dataset[i]` computes one sample. `__getitems__` computes a batch with one read plan; PyTorch's `DataLoader` calls it. The data set
    can be pickled and survives a fork.
    """

    _is_of_agents = False

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        rasterizer: Rasterizer,
        perturbation: Perturbation | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.cfg = cfg
        self.dataset = zarr_dataset
        self.rasterizer = rasterizer
        self.perturbation = perturbation
        self.cumulative_sizes = np.asarray(zarr_dataset.scenes["frame_index_interval"])[:, 1]
        self._threads = whole("threads", threads, 1) if threads is not None else os.cpu_count() or 1
        model, raster = cfg["model_params"], cfg["raster_params"]
        self._history, self._future = _frames(model, "history_num_frames"), _frames(model, "future_num_frames")
        settings: dict[str, Any] = dict(
            history=self._history, future=self._future, step_time=float(model["step_time"]),
            threshold=float(raster["filter_agents_threshold"]), faces=not raster.get("disable_traffic_light_faces", False),
            threads=self._threads,
        )  # fmt: skip
        drawn = rasterizer._native if type(rasterizer) is Rasterizer else _stub(raster)
        self._made_of: dict[str, Any] = settings | {"agents": self._is_of_agents}
        self._sampler = _tetrys.L5Sampler(drawn, **self._made_of)
        self._ends: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.dataset.frames)

    def __getitem__(self, index: int) -> Sample:
        """Computes a sample. Negative numbers count from the end.

        Raises:
            IndexError: there is no such sample.
        """
        place = self._place(index)
        if type(self).get_frame is not EgoDataset.get_frame:
            return self._through_get_frame(place)
        return self._samples(self._rows([place]))[0]

    def __getitems__(self, indices: Iterable[int]) -> list[Sample]:
        """Computes several samples with one read plan."""
        if type(self).__getitem__ is not EgoDataset.__getitem__ or type(self).get_frame is not EgoDataset.get_frame:
            # A subclass changes samples.
            return [self[index] for index in indices]
        places = [self._place(index) for index in indices]
        return self._samples(self._rows(places)) if places else []

    def _through_get_frame(self, place: int) -> Sample:
        """Computes a sample by the method that a subclass has changed."""
        (row,) = self._rows([place])
        frame = int(np.searchsorted(self._agent_ends(), row, side="right")) if self._is_of_agents else row
        scene = int(np.searchsorted(self.cumulative_sizes, frame, side="right"))
        state = frame - (int(self.cumulative_sizes[scene - 1]) if scene else 0)
        if self._is_of_agents:
            return self.get_frame(scene, state, track_id=int(self.dataset.agents[row]["track_id"]))
        return self.get_frame(scene, state)

    def batch(self, indices: Iterable[int]) -> dict[str, npt.NDArray[Any]]:
        """Computes several samples with one read plan. Returns arrays with one entry for each sample."""
        rows = self._rows([self._place(index) for index in indices])
        if self._is_native:
            return self._sampler.batch(self.dataset.native(), rows)
        samples = [self._sample_in_python(row) for row in rows]
        return {name: np.stack([sample[name] for sample in samples]) for name in (samples[0] if samples else {})}

    def plot(self, index: int) -> Any:
        """Draws a sample: its image, the past as an orange line and the future as a pink one, and the traffic light faces.

        Returns a picture of Pillow, which notebooks show. Of a rasterizer in Python, only the lines and faces are drawn.

        Raises:
            IndexError: there is no such sample.
            tetrys.Unsupported: Pillow is not installed.
        """
        (row,) = self._rows([self._place(index)])
        pillow = imported("PIL.Image", "drawing a sample needs Pillow: pip install tetrys[images]")
        return pillow.fromarray(self._sampler.picture(self.dataset.native(), row))

    def loader_source(self) -> Index | Table:
        """Returns the rows of the samples, for `tetrys.DataLoader`.

        Raises:
            tetrys.Unsupported: the data set is no table.
        """
        return self._table()

    def _table(self) -> Table:
        if self.dataset._table is None:
            raise Unsupported("a data loader needs a table: ingest the data set with tetrys.ingest_l5")
        return self.dataset._table

    @property
    def _is_native(self) -> bool:
        return self.perturbation is None and type(self.rasterizer) is Rasterizer

    def _place(self, index: int) -> int:
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise WrongType(f"a sample is chosen by its number, found {found(index)}")
        if index < 0:
            if -index > len(self):
                raise WrongValue("absolute value of index should not exceed dataset length")
            index += len(self)
        if index >= len(self):
            raise OutOfRange(f"sample {index} is outside of {len(self)}")
        return int(index)

    def _rows(self, places: list[int]) -> list[int]:
        """Returns the frames of samples; of agents, their rows."""
        return places

    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> Sample:
        """Computes the sample of a frame of a scene: of the ego car, or of an agent by its track.

        Raises:
            IndexError: there is no such scene or frame, or the track is not in the frame.
        """
        scenes = self.dataset.scenes
        if not -len(scenes) <= scene_index < len(scenes):
            raise OutOfRange(f"scene {scene_index} is outside of {len(scenes)}")
        start, stop = np.asarray(scenes[scene_index]["frame_index_interval"]).tolist()
        if not 0 <= state_index < stop - start:
            raise OutOfRange(f"frame {state_index} is outside of the {stop - start} frames of scene {scene_index}")
        if track_id is None:
            if self._is_of_agents:
                return _of(EgoDataset, self)._samples([start + state_index])[0]
            return self._samples([start + state_index])[0]
        first, last = np.asarray(self.dataset.frames[start + state_index]["agent_index_interval"]).tolist()
        tracks = np.asarray(self.dataset.agents[first:last]["track_id"])
        rows: list[int] = np.flatnonzero(tracks == np.uint64(track_id)).tolist() if 0 <= track_id < 2**64 else []
        if not len(rows):
            raise OutOfRange(f"track {track_id} is not in frame {state_index} of scene {scene_index}")
        return (self if self._is_of_agents else _of(_AgentSamples, self))._samples([first + int(rows[0])])[0]

    def _samples(self, rows: list[int]) -> list[Sample]:
        if self._is_native:
            return _split(self._sampler.batch(self.dataset.native(), rows), len(rows), self._is_of_agents)
        return [self._sample_in_python(row) for row in rows]

    def _sample_in_python(self, row: int) -> Sample:
        """Computes a sample whose perturbation or rasterizer is Python code."""
        frames = self.dataset.frames
        frame = row
        if self._is_of_agents:
            frame = int(np.searchsorted(self._agent_ends(), row, side="right"))
        scene = int(np.searchsorted(self.cumulative_sizes, frame, side="right"))
        start, stop = np.asarray(self.dataset.scenes[scene]["frame_index_interval"]).tolist()
        first, last = max(frame - self._history, start), min(frame + self._future + 1, stop)
        window = np.array(frames[first:last])
        current = frame - first
        past, future = window[current::-1].copy(), window[current + 1 :].copy()
        if self.perturbation is not None and len(future) == self._future:
            past, future = self.perturbation.perturb(history_frames=past, future_frames=future)
            if len(past) != current + 1 or len(future) != self._future:
                raise WrongValue(
                    f"the perturbation returned {len(past)} frames of history and {len(future)} of the future, expected {current + 1} and {self._future}"
                )
            window[: current + 1], window[current + 1 :] = past[::-1], future
        part = ChunkedDataset("")
        part.scenes = np.array(self.dataset.scenes[scene : scene + 1])
        part.scenes["frame_index_interval"][0] = 0, len(window)
        agents_start, agents_stop = int(window["agent_index_interval"][0, 0]), int(window["agent_index_interval"][-1, 1])
        part.agents = np.array(self.dataset.agents[agents_start:agents_stop])
        window["agent_index_interval"] -= agents_start
        faces = "traffic_light_faces_index_interval"
        disabled = self.cfg["raster_params"].get("disable_traffic_light_faces", False)
        if faces in (window.dtype.names or ()):
            faces_start, faces_stop = int(window[faces][0, 0]), int(window[faces][-1, 1])
            part.tl_faces = np.array(self.dataset.tl_faces[faces_start:faces_stop])
            window[faces] -= faces_start
            if disabled:
                part.tl_faces, window[faces] = part.tl_faces[:0], 0
        part.frames = window
        place = row - agents_start if self._is_of_agents else current
        (sample,) = _split(self._sampler.batch(part.native(), [place]), 1, self._is_of_agents)
        sample["frame_index"], sample["scene_index"] = frame - start, scene
        if type(self.rasterizer) is not Rasterizer:
            sample["image"] = self._drawn_in_python(part, current, place)
        return sample

    def _drawn_in_python(self, part: ChunkedDataset, current: int, place: int) -> npt.NDArray[np.float32]:
        past = part.frames[current::-1]
        agents = [part.agents[slice(*frame["agent_index_interval"])] for frame in past]
        faces = "traffic_light_faces_index_interval"
        lights = [part.tl_faces[slice(*frame[faces])] for frame in past] if faces in (past.dtype.names or ()) else [part.tl_faces] * len(past)
        image = self.rasterizer.rasterize(past, agents, lights, part.agents[place] if self._is_of_agents else None)
        return np.asarray(image).transpose(2, 0, 1)

    def _agent_ends(self) -> npt.NDArray[np.int64]:
        if self._ends is None or not isinstance(self.dataset.frames, LazyRecords):
            self._ends = self.dataset.native().frames()[1].astype(np.int64)
        return self._ends

    def get_scene_dataset(self, scene_index: int) -> EgoDataset:
        """Returns the samples of one scene, whose arrays are in memory and can be changed.

        Raises:
            ValueError: there is no such scene.
        """
        return EgoDataset(self.cfg, self.dataset.get_scene_dataset(scene_index), self.rasterizer, self.perturbation, threads=self._threads)

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a scene."""
        assert scene_idx < len(self.dataset.scenes), f"scene_idx {scene_idx} is over len {len(self.dataset.scenes)}"
        return np.arange(*np.asarray(self.dataset.scenes[scene_idx]["frame_index_interval"]))

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a frame."""
        assert frame_idx < len(self.dataset.frames), f"frame_idx {frame_idx} is over len {len(self.dataset.frames)}"
        return np.asarray((frame_idx,), dtype=np.int64)

    def __str__(self) -> str:
        return str(self.dataset)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the native sampler, which `__setstate__` makes again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_sampler", "_ends")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _ends=None)
        drawn = self.rasterizer._native if type(self.rasterizer) is Rasterizer else _stub(self.cfg["raster_params"])
        self._sampler = _tetrys.L5Sampler(drawn, **self._made_of)


def _of(kind: type[EgoDataset], other: EgoDataset) -> EgoDataset:
    """Returns samples of another kind over the same data."""
    samples: EgoDataset = kind.__new__(kind)
    EgoDataset.__init__(samples, other.cfg, other.dataset, other.rasterizer, other.perturbation, threads=other._threads)
    return samples


class _AgentSamples(EgoDataset):
    """Samples of agents, by their rows in `agents`."""

    _is_of_agents = True


class AgentDataset(_AgentSamples):
    """The samples of agents, with the keys, types and values of L5Kit.

    Args:
        agents_mask: Which agents count, bool [agents]. Default: the mask of the threshold of the configuration, which is loaded, or
            computed and stored beside the data set (see `select_agents`), with at least `min_frame_history` frames before and
            `min_frame_future` frames behind.

    The other arguments are those of `EgoDataset`. A sample costs 8 bytes of memory, and each agent one byte.
    """

    def __init__(
        self,
        cfg: Mapping[str, Any],
        zarr_dataset: ChunkedDataset,
        rasterizer: Rasterizer,
        perturbation: Perturbation | None = None,
        agents_mask: npt.NDArray[np.bool_] | None = None,
        min_frame_history: int = 10,
        min_frame_future: int = 1,
        *,
        threads: int | None = None,
    ) -> None:
        assert perturbation is None, "AgentDataset does not support perturbation (yet)"
        super().__init__(cfg, zarr_dataset, rasterizer, None, threads=threads)
        if agents_mask is None:
            agents_mask = load_agents_mask(
                zarr_dataset, cfg["raster_params"]["filter_agents_threshold"], min_frame_history, min_frame_future
            )
        mask = np.asarray(agents_mask)
        if mask.shape != (len(zarr_dataset.agents),):
            raise WrongValue(f"agents_mask has the shape {mask.shape}, expected one bool for each of {len(zarr_dataset.agents)} agents")
        self.agents_mask = mask.astype(np.bool_, copy=False)
        self.agents_indices = np.flatnonzero(self.agents_mask)

    def __len__(self) -> int:
        """Returns the number of valid agents."""
        return len(self.agents_indices)

    def _rows(self, places: list[int]) -> list[int]:
        rows: list[int] = self.agents_indices[places].tolist()
        return rows

    def loader_source(self) -> Index | Table:
        """Returns the frame of each sample, for `tetrys.DataLoader`."""
        index = read_index(self._table())
        frames = np.searchsorted(self._agent_ends(), self.agents_indices, side="right")
        return index.with_frame(index.to_polars()[frames])

    def get_scene_dataset(self, scene_index: int) -> AgentDataset:
        """Returns the samples of one scene, whose arrays are in memory and can be changed."""
        dataset = self.dataset.get_scene_dataset(scene_index)
        start = self._agents_of_scene(scene_index).start
        mask = self.agents_mask[start : start + len(dataset.agents)].copy()
        return AgentDataset(self.cfg, dataset, self.rasterizer, None, mask, threads=self._threads)

    def _agents_of_scene(self, scene: int) -> slice:
        first, last = np.asarray(self.dataset.scenes[scene]["frame_index_interval"]).tolist()
        return self._agents_of_frames(first, last)

    def _agents_of_frames(self, first: int, last: int) -> slice:
        ends = self._agent_ends()
        return slice(int(ends[first - 1]) if first else 0, int(ends[last - 1]) if last > first else int(ends[first - 1]) if first else 0)

    def _within(self, rows: slice) -> npt.NDArray[np.int64]:
        return np.arange(*np.searchsorted(self.agents_indices, [rows.start, rows.stop]), dtype=np.int64)

    def get_scene_indices(self, scene_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a scene."""
        assert scene_idx < len(self.dataset.scenes), f"scene_idx {scene_idx} is over len {len(self.dataset.scenes)}"
        return self._within(self._agents_of_scene(scene_idx))

    def get_frame_indices(self, frame_idx: int) -> npt.NDArray[np.int64]:
        """Returns the numbers of the samples of a frame, by its number in the data set."""
        frames = len(self.dataset.frames)
        assert frame_idx < frames, f"frame_idx {frame_idx} is over len {frames}"
        frame = frame_idx % frames
        return self._within(self._agents_of_frames(frame, frame + 1))


def _frames(model: Mapping[str, Any], key: str) -> int:
    frames = model[key]
    if isinstance(frames, bool) or not isinstance(frames, (int, np.integer)) or not 0 <= frames <= _MOST_FRAMES:
        raise WrongValue(f"model_params.{key}: expected a number of frames from 0 to {_MOST_FRAMES}, found {found(frames)}")
    return int(frames)


def _stub(raster: Mapping[str, Any]) -> _tetrys.L5Rasterizer:
    """Returns a native rasterizer that draws nothing, for samples whose image is drawn in Python."""
    from ._rasterizers import RenderContext

    context = RenderContext(raster["raster_size"], raster["pixel_size"], raster["ego_center"], raster["set_origin_to_bottom"])
    return Rasterizer("stub_debug", context, raster["filter_agents_threshold"], 0, True)._native


def _split(batch: dict[str, Records], samples: int, of_agents: bool) -> list[Sample]:
    """Returns the samples of a batch: views of its arrays, and numbers as L5Kit gives them."""
    found: list[Sample] = []
    for number in range(samples):
        sample = {name: values[number] for name, values in batch.items()}
        for name in _INTEGERS:
            sample[name] = int(sample[name])
        sample["yaw"] = float(sample["yaw"])
        found.append(sample)
    return found
