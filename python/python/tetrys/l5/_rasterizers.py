"""Rasterizers: pictures of agents, lanes and aerial photographs around the ego car or an agent."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import choice, number, path_of, truth, whole
from .._errors import DamagedFile, NotSupportedError, WrongType, WrongValue, found, imported, short
from ._checks import floats, list_of, numbers, of_kind, records, setting, two
from ._chunked import of_window
from ._config import DataManager, matrix_of, metadata_of, read_key
from ._records import AGENT_DTYPE, FRAME_DTYPE, TL_FACE_DTYPE, Records
from .geometry import compute_agent_pose, vertical_flip

Floats = npt.NDArray[np.float64]
EGO_EXTENT_LENGTH, EGO_EXTENT_WIDTH, EGO_EXTENT_HEIGHT = 4.87, 1.85, 1.8
"""Size of the ego car in metres."""

_MOST_PIXELS = 1 << 16
"""Pixels of a side of a raster."""
_MAP_TYPES = ("stub_debug", "box_debug", "semantic_debug", "satellite_debug", "py_semantic", "py_satellite")


class RenderContext:
    """Where a raster lies: its size, the size of a pixel in metres, and the place of the agent in it (x and y).

    Raises:
        ValueError, TypeError: an argument is no pair of numbers, or a size is impossible.
    """

    def __init__(
        self,
        raster_size_px: npt.ArrayLike,
        pixel_size_m: npt.ArrayLike,
        center_in_raster_ratio: npt.ArrayLike,
        set_origin_to_bottom: bool,
    ) -> None:
        sizes = two("raster_size", raster_size_px)
        if (sizes != np.floor(sizes)).any() or (sizes < 1).any() or (sizes > _MOST_PIXELS).any():
            raise WrongValue(f"raster_size: expected whole numbers of pixels from 1 to {_MOST_PIXELS}, found {sizes.tolist()}")
        self.raster_size_px = np.asarray(raster_size_px)
        self.pixel_size_m = two("pixel_size", pixel_size_m)
        self.center_in_raster_ratio = two("ego_center", center_in_raster_ratio)
        self.set_origin_to_bottom = truth("set_origin_to_bottom", set_origin_to_bottom)

    @property
    def raster_from_local(self) -> Floats:
        """The matrix from coordinates of the agent, in metres, to pixels, f64 [3, 3]."""
        made = np.diag([*(1 / self.pixel_size_m), 1.0])
        made[:2, 2] = self.center_in_raster_ratio * self.raster_size_px
        return vertical_flip(made, int(self.raster_size_px[1])) if self.set_origin_to_bottom else made

    def raster_from_world(self, position_m: npt.ArrayLike, angle_rad: float) -> Floats:
        """Returns the matrix from the world, in metres, to pixels of the raster around an agent, f64 [3, 3].

        Args:
            position_m: Position of the agent [2] or [3] in metres; a height is not used.
            angle_rad: Yaw of the agent in rad.

        Raises:
            ValueError, TypeError: an argument is no position or no angle.
        """
        position = floats("position_m", position_m)
        if position.shape not in ((2,), (3,)):
            raise WrongValue(f"position_m: expected two or three numbers, found the shape {list(position.shape)}")
        return self.raster_from_local @ np.linalg.inv(compute_agent_pose(position[:2], angle_rad))


class Rasterizer:
    """Draws the image of a sample; `build_rasterizer` makes it.

    Subclasses with another `rasterize`, `to_rgb` and `num_channels` work with all data sets. They run in Python.
    """

    def __init__(self, map_type: str, context: RenderContext, threshold: float, history: int, render_ego_history: bool, **ground: Any) -> None:
        """`ground` has `map` (a native map) or `aerial` (pixels and two matrices)."""
        of_kind("context", context, RenderContext)
        choice("map_type", map_type, _MAP_TYPES)
        self.render_context = context
        self.raster_size, self.pixel_size, self.ego_center = context.raster_size_px, context.pixel_size_m, context.center_in_raster_ratio
        self.filter_agents_threshold, self.history_num_frames, self.render_ego_history = threshold, history, render_ego_history
        self._arguments = (map_type, context, threshold, history, render_ego_history, ground)
        self._history = history
        self._threshold = threshold
        self._native = _made(*self._arguments)

    def num_channels(self) -> int:
        """Returns the number of channels of an image."""
        return self._native.num_channels()

    def rasterize(
        self,
        history_frames: Records,
        history_agents: Sequence[Records],
        history_tl_faces: Sequence[Records],
        agent: Any = None,
    ) -> npt.NDArray[np.float32]:
        """Draws an image, f32 [height, width, channels] in 0..=1.

        Args:
            history_frames: Frames, the current one first.
            history_agents: Agents of each of these frames.
            history_tl_faces: Traffic light faces of each of these frames.
            agent: Record of the agent to draw around; None for the ego car.
        """
        frames = records("history_frames", history_frames, ["timestamp", "ego_translation", "ego_rotation"], FRAME_DTYPE)
        if frames.ndim != 1 or not len(frames):
            raise WrongValue(f"history_frames: expected one frame or more, found the shape {frames.shape}")
        agents, faces = list_of("history_agents", history_agents, AGENT_DTYPE), list_of("history_tl_faces", history_tl_faces, TL_FACE_DTYPE)
        dataset = of_window(frames[::-1], agents[::-1], faces[::-1])
        sampler = _tetrys.L5Sampler(
            self._native, history=self._history, future=0, step_time=0.1, threshold=self._threshold,
            agents=agent is not None, faces=True, threads=1,
        )  # fmt: skip
        place = len(frames) - 1
        if agent is not None:
            agent = records("agent", agent, ["track_id"], AGENT_DTYPE)
            if agent.shape != ():
                raise WrongValue(f"agent: expected one record, found the shape {agent.shape}")
            start, stop = dataset.frames[-1]["agent_index_interval"].tolist()
            rows = np.flatnonzero(dataset.agents["track_id"][start:stop] == np.uint64(agent["track_id"]))
            if not len(rows):
                raise WrongValue(f"track {agent['track_id']} is not among the {stop - start} agents of the current frame")
            place = start + int(rows[0])
        (image,) = sampler.batch(dataset.native(), [place])["image"]
        return np.ascontiguousarray(image.transpose(1, 2, 0))

    def to_rgb(self, in_im: npt.NDArray[np.float32], **kwargs: Any) -> npt.NDArray[np.uint8]:
        """Makes a picture, u8 [height, width, 3], of an image [height, width, channels]."""
        image = numbers("in_im", in_im).astype(np.float32)
        if image.ndim != 3 or image.shape[2] != self.num_channels():
            raise WrongValue(f"expected an image [height, width, {self.num_channels()}], found the shape {image.shape}")
        return self._native.to_rgb(np.ascontiguousarray(image.transpose(2, 0, 1)))

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the native rasterizer, which `__setstate__` makes again."""
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = _made(*self._arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Rasterizer:
        """Copies the attributes, and shares the map or photograph, which nobody changes: L5Kit's simulation copies its data sets."""
        made = memo[id(self)] = type(self).__new__(type(self))
        shared = ("_native", "_arguments")
        made.__dict__.update({name: value if name in shared else copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made


def is_native(rasterizer: Any) -> bool:
    """Whether the library draws the images of a rasterizer: no subclass of the caller has another `rasterize`."""
    return isinstance(rasterizer, Rasterizer) and type(rasterizer).rasterize is Rasterizer.rasterize


class StubRasterizer(Rasterizer):
    """Draws nothing: black images of three channels.

    Args:
        render_context: Where the raster lies.
    """

    def __init__(self, render_context: RenderContext) -> None:
        super().__init__("stub_debug", render_context, 0.0, 0, True)


class BoxRasterizer(Rasterizer):
    """Draws the boxes of the agents, and of the ego car or the agent of the sample, for each frame of the history.

    Args:
        render_context: Where the raster lies.
        filter_agents_threshold: Least probability of the labels of an agent that is drawn.
        history_num_frames: Frames of the history besides the current one.
        render_ego_history: Whether the ego car is also drawn in the history.
    """

    def __init__(self, render_context: RenderContext, filter_agents_threshold: float, history_num_frames: int, render_ego_history: bool = True) -> None:
        super().__init__("box_debug", render_context, filter_agents_threshold, history_num_frames, render_ego_history)


class SemanticRasterizer(Rasterizer):
    """Draws the lanes and crosswalks of a map, with the colours of the traffic lights.

    Args:
        render_context: Where the raster lies.
        semantic_map_path: Path of a map, or its bytes.
        world_to_ecef: The matrix from the world to the coordinates of the map, [4, 4].

    Raises:
        FileNotFoundError: there is no map.
        ValueError: the map is damaged.
    """

    def __init__(self, render_context: RenderContext, semantic_map_path: Any, world_to_ecef: npt.ArrayLike) -> None:
        super().__init__("semantic_debug", render_context, 0.0, 0, True, map=_map_of(semantic_map_path, world_to_ecef))

    @property
    def world_to_ecef(self) -> Floats:
        """The matrix from the world to the coordinates of the map, f64 [4, 4]."""
        return np.array(self._arguments[5]["map"][1], np.float64)


class SatelliteRasterizer(Rasterizer):
    """Draws an aerial photograph.

    Args:
        render_context: Where the raster lies.
        map_im: Pixels of the photograph, u8 [height, width, 3].
        world_to_aerial: The matrix from the world to pixels of the photograph, [4, 4].
    """

    def __init__(self, render_context: RenderContext, map_im: npt.ArrayLike, world_to_aerial: npt.ArrayLike) -> None:
        super().__init__("satellite_debug", render_context, 0.0, 0, True, aerial=_aerial_of(map_im, world_to_aerial))

    @property
    def map_im(self) -> npt.NDArray[np.uint8]:
        """Pixels of the photograph, u8 [height, width, 3]."""
        return np.asarray(self._arguments[5]["aerial"][0])

    @property
    def world_to_aerial(self) -> Floats:
        """The matrix from the world to pixels of the photograph, f64 [4, 4]."""
        _, world_to_ecef, ecef_to_aerial = self._arguments[5]["aerial"]
        return np.array(ecef_to_aerial, np.float64) @ np.array(world_to_ecef, np.float64)


class _WithBoxes(Rasterizer):
    """A rasterizer of boxes over a ground, in one pass; `box_rast` and the one of the ground draw each of them alone."""

    @cached_property
    def box_rast(self) -> BoxRasterizer:
        """Draws the boxes alone: the first channels."""
        return BoxRasterizer(self.render_context, self.filter_agents_threshold, self.history_num_frames, self.render_ego_history)


class SemBoxRasterizer(_WithBoxes):
    """Draws boxes as `BoxRasterizer`, then a map as `SemanticRasterizer`; arguments as for both."""

    def __init__(
        self,
        render_context: RenderContext,
        filter_agents_threshold: float,
        history_num_frames: int,
        semantic_map_path: Any,
        world_to_ecef: npt.ArrayLike,
        render_ego_history: bool = True,
    ) -> None:
        ground = _map_of(semantic_map_path, world_to_ecef)
        super().__init__("py_semantic", render_context, filter_agents_threshold, history_num_frames, render_ego_history, map=ground)

    @cached_property
    def sem_rast(self) -> SemanticRasterizer:
        """Draws the map alone: the last three channels."""
        return _of_kind(SemanticRasterizer, "semantic_debug", *self._arguments[1:5], self._arguments[5])


class SatBoxRasterizer(_WithBoxes):
    """Draws boxes as `BoxRasterizer`, then an aerial photograph as `SatelliteRasterizer`; arguments as for both."""

    def __init__(
        self,
        render_context: RenderContext,
        filter_agents_threshold: float,
        history_num_frames: int,
        map_im: npt.ArrayLike,
        world_to_aerial: npt.ArrayLike,
        render_ego_history: bool = True,
    ) -> None:
        ground = _aerial_of(map_im, world_to_aerial)
        super().__init__("py_satellite", render_context, filter_agents_threshold, history_num_frames, render_ego_history, aerial=ground)

    @cached_property
    def sat_rast(self) -> SatelliteRasterizer:
        """Draws the photograph alone: the last three channels."""
        return _of_kind(SatelliteRasterizer, "satellite_debug", *self._arguments[1:5], self._arguments[5])


def _map_of(path: Any, world_to_ecef: npt.ArrayLike) -> tuple[bytes, list[list[float]]]:
    matrix = floats("world_to_ecef", world_to_ecef, (4, 4)).tolist()
    if isinstance(path, bytes):
        return path, matrix
    with open(path_of("semantic_map_path", path), "rb") as file:
        return file.read(), matrix


def _aerial_of(pixels: Any, world_to_aerial: npt.ArrayLike) -> tuple[Any, list[list[float]], list[list[float]]]:
    # The product of the two matrices is what counts.
    return pixels, np.eye(4).tolist(), floats("world_to_aerial", world_to_aerial, (4, 4)).tolist()


Kind = TypeVar("Kind", bound=Rasterizer)


def _of_kind(kind: type[Kind], map_type: str, context: RenderContext, threshold: float, history: int, renders: bool, ground: Mapping[str, Any]) -> Kind:
    """Makes a rasterizer of the arguments that all kinds have: the rasterizers of a configuration check all of its settings."""
    made = kind.__new__(kind)
    Rasterizer.__init__(made, map_type, context, threshold, history, renders, **ground)
    return made


def _made(
    map_type: str, context: RenderContext, threshold: float, history: int, render_ego_history: bool, ground: dict[str, Any]
) -> _tetrys.L5Rasterizer:
    return _tetrys.L5Rasterizer(
        map_type,
        raster_size=[int(extent) for extent in context.raster_size_px],
        pixel_size=[float(extent) for extent in context.pixel_size_m],
        center=[float(place) for place in context.center_in_raster_ratio],
        set_origin_to_bottom=context.set_origin_to_bottom,
        threshold=number("filter_agents_threshold", threshold),
        history=whole("history_num_frames", history, 0, 2**31 - 1),
        render_ego_history=truth("render_ego_history", render_ego_history),
        **{name: _native_ground(name, value) for name, value in ground.items()},
    )


def _native_ground(name: str, value: Any) -> Any:
    """Makes a native map of its file and matrix; pixels and matrices stay as they are."""
    if name == "map" and isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[0], bytes):
        return _tetrys.L5Map(value[0], floats("map, world_to_ecef", value[1], (4, 4)).tolist())
    if name == "aerial" and isinstance(value, (tuple, list)) and len(value) == 3:
        pixels = numbers("aerial, pixels", value[0])
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise WrongValue(f"aerial, pixels: expected u8 [height, width, 3], found {pixels.dtype} {list(pixels.shape)}")
        return (pixels, *(floats(f"aerial, {which}", one, (4, 4)).tolist() for which, one in zip(("world_to_ecef", "ecef_to_aerial"), value[1:], strict=True)))
    raise WrongType(f"{short(name)}: expected the file and the matrix of a `map`, or pixels and two matrices as `aerial`, found {found(value)}")


def build_rasterizer(cfg: Mapping[str, Any], data_manager: DataManager) -> Rasterizer:
    """Makes the rasterizer of a configuration: `map_type` is `stub_debug`, `box_debug`, `semantic_debug`, `satellite_debug`,
    `py_semantic` or `py_satellite`.

    Raises:
        KeyError: the configuration lacks a key.
        NotImplementedError: the map type is unknown.
        FileNotFoundError: a map or its metadata is missing.
        ValueError: a size is impossible, or a map is damaged.
    """
    map_type = setting(cfg, "raster_params", "map_type")
    if not isinstance(map_type, str) or map_type not in _MAP_TYPES:
        raise NotSupportedError(f"Rasterizer for map type {short(map_type)} is not supported: expected one of {', '.join(_MAP_TYPES)}")
    context = context_of(cfg)
    ground: dict[str, Any] = {}
    if map_type in ("semantic_debug", "py_semantic"):
        file = read_key(data_manager, setting(cfg, "raster_params", "semantic_map_key"))
        meta = setting(cfg, "raster_params", "dataset_meta_key")
        ground["map"] = (file, matrix_of(metadata_of(data_manager, meta), "world_to_ecef", meta).tolist())
    if map_type in ("satellite_debug", "py_satellite"):
        pixels = _picture(read_key(data_manager, setting(cfg, "raster_params", "satellite_map_key")))
        meta = setting(cfg, "raster_params", "dataset_meta_key")
        metadata = metadata_of(data_manager, meta)
        ground["aerial"] = (pixels, *(matrix_of(metadata, name, meta).tolist() for name in ("world_to_ecef", "ecef_to_aerial")))
    threshold = setting(cfg, "raster_params", "filter_agents_threshold")
    history, renders = (setting(cfg, "model_params", name) for name in ("history_num_frames", "render_ego_history"))
    return _of_kind(_KINDS[map_type], map_type, context, threshold, history, renders, ground)


_KINDS: dict[str, type[Rasterizer]] = {
    "stub_debug": StubRasterizer, "box_debug": BoxRasterizer, "semantic_debug": SemanticRasterizer, "satellite_debug": SatelliteRasterizer,
    "py_semantic": SemBoxRasterizer, "py_satellite": SatBoxRasterizer,
}  # fmt: skip


def context_of(cfg: Mapping[str, Any]) -> RenderContext:
    """Returns where the raster of a configuration lies."""
    return RenderContext(*(setting(cfg, "raster_params", name) for name in ("raster_size", "pixel_size", "ego_center", "set_origin_to_bottom")))


def _picture(content: bytes) -> npt.NDArray[np.uint8]:
    pillow = imported("PIL.Image", "an aerial map needs Pillow: pip install pillow")
    # The real aerial maps are larger than Pillow's bound against decompression bombs.
    most, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
    try:
        with pillow.open(io.BytesIO(content)) as image:
            return np.ascontiguousarray(image.convert("RGB"), np.uint8)
    except MemoryError:
        raise
    except Exception as error:
        # Damaged files make Pillow raise exceptions of many types.
        raise DamagedFile(f"aerial map: {len(content)} bytes are not a complete picture: {short(error)}") from error
    finally:
        pillow.MAX_IMAGE_PIXELS = most
