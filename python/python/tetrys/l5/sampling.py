"""The samples of arrays in memory, step by step, as in `l5kit.sampling`. The data sets of `tetrys.l5` compute theirs natively."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import is_whole, number, several, truth, whole
from .._errors import NotMet, OutOfRange, WrongType, WrongValue, array_of, found
from ._checks import numbers, records, with_method
from ._chunked import ChunkedDataset, scene_of
from ._datasets import EgoDataset
from ._filter import filter_agents_by_frames, filter_agents_by_track_id, filter_tl_faces_by_frames
from ._perturbation import Perturbation
from ._rasterizers import EGO_EXTENT_LENGTH, EGO_EXTENT_WIDTH, Rasterizer, RenderContext
from ._records import AGENT_DTYPE, FRAME_DTYPE, LazyRecords, Records
from ._samples import count
from ._vectorized import EgoDatasetVectorized, Vectorizer
from .geometry import angular_distance, rotation33_as_yaw, transform_points

__all__ = [
    "compute_agent_velocity",
    "generate_agent_sample",
    "generate_agent_sample_vectorized",
    "get_agent_context",
    "get_future_slice",
    "get_history_slice",
    "get_relative_poses",
]

F32 = npt.NDArray[np.float32]
Context = tuple[Records, Records, list[Records], list[Records], list[Records], list[Records]]
_FACES = "traffic_light_faces_index_interval"

# What a data set adds to its samples: it knows the scene.
_OF_DATASET = ("scene_index", "host_id", "timestamp", "track_id")


def get_history_slice(frame_index: int, history_num_states: int, history_step_size: int, include_current_state: bool = False) -> slice:
    """Returns the slice of the frames before a frame, the newest first; it ends at the first frame of the scene.

    Args:
        frame_index: Number of the frame in its scene.
        history_num_states: Frames before it.
        history_step_size: Frames from one to the next, 1 or more.
        include_current_state: Whether the frame itself comes first.

    Example:
        >>> from tetrys.l5.sampling import get_history_slice
        >>> list(range(30))[get_history_slice(20, 2, 2, include_current_state=True)]
        [20, 18, 16]

    Raises:
        IndexError (an `Invalid`): the step is less than 1.
    """
    frame, states, step = _steps("history", frame_index, history_num_states, history_step_size)
    newest, before_oldest = frame - (0 if truth("include_current_state", include_current_state) else step), frame - states * step - 1
    if newest < 0:
        return slice(0, 0, -step)
    # Only without a stop does a slice that goes backward reach the first frame.
    reaches_first = before_oldest < 0 and frame % step == 0
    return slice(newest, None if reaches_first else max(0, before_oldest), -step)


def get_future_slice(frame_index: int, future_num_states: int, future_step_size: int) -> slice:
    """Returns the slice of the frames after a frame.

    Args:
        frame_index: Number of the frame in its scene.
        future_num_states: Frames after it.
        future_step_size: Frames from one to the next, 1 or more.

    Example:
        >>> from tetrys.l5.sampling import get_future_slice
        >>> list(range(30))[get_future_slice(20, 2, 2)]
        [22, 24]

    Raises:
        IndexError (an `Invalid`): the step is less than 1.
    """
    frame, states, step = _steps("future", frame_index, future_num_states, future_step_size)
    return slice(frame + step, frame + states * step + 1, step)


def _steps(what: str, frame: object, states: object, step: object) -> tuple[int, int, int]:
    if not is_whole(step) or not is_whole(frame):
        name, wrong = (f"{what}_step_size", step) if not is_whole(step) else ("frame_index", frame)
        raise WrongType(f"{name}: expected an integer, found {found(wrong)}")
    if step <= 0:
        raise OutOfRange(f"{what}_step_size: expected 1 or more, found {step}")
    return whole("frame_index", frame, -(2**40), 2**40), count(f"{what}_num_states", states), whole(f"{what}_step_size", step, 1, 2**31)


def get_agent_context(
    state_index: int, frames: Any, agents: Any, tl_faces: Any, history_num_frames: int, future_num_frames: int
) -> Context:
    """Returns the frames around a frame of a scene, with their agents and traffic light faces.

    Args:
        state_index: Number of the frame among `frames`.
        frames: Frames of the scene.
        agents: Agents that the frames number: those of the data set.
        tl_faces: Traffic light faces that the frames number.
        history_num_frames: Frames before it, as many as the scene has.
        future_num_frames: Frames after it, as many as the scene has.

    Returns copies: the frames of the history (the current one first, then backward), those of the future, the agents of each frame of
    the history and of the future, and the faces of each frame of the history and of the future. The intervals of the frames begin at
    the oldest one.

    Raises:
        IndexError (an `Invalid`): the scene has no such frame.
    """
    part, now = _part(state_index, frames, agents, tl_faces, history_num_frames, future_num_frames)
    past, after = part.frames[now::-1].copy(), part.frames[now + 1 :].copy()
    of_agents = [filter_agents_by_frames(some, part.agents) for some in (past, after)]
    has_faces = _FACES in (part.frames.dtype.names or ())
    of_faces = [filter_tl_faces_by_frames(some, part.tl_faces) if has_faces else [part.tl_faces] * len(some) for some in (past, after)]
    return past, after, *of_agents, *of_faces


def _window(state_index: object, frames: Any, history: object, future: object) -> tuple[Records, int]:
    """Returns the frames around a frame in the order of time, and its place among them."""
    before, after = count("history_num_frames", history), count("future_num_frames", future)
    fields = [name for name in FRAME_DTYPE.names or () if name != _FACES]
    given = frames if isinstance(frames, LazyRecords) else records("frames", frames, fields, FRAME_DTYPE)
    if given.ndim != 1:
        raise WrongValue(f"frames: expected the shape [N], found {list(given.shape)}")
    if not is_whole(state_index):
        raise WrongType(f"state_index: expected an integer, found {found(state_index)}")
    if not 0 <= state_index < len(given):
        raise OutOfRange(f"state_index: expected a frame of 0..{len(given)}, found {found(state_index)}")
    first = max(0, int(state_index) - before)
    window: Records = given[first : int(state_index) + after + 1]
    return window, int(state_index) - first


def compute_agent_velocity(history_positions_m: npt.ArrayLike, future_positions_m: npt.ArrayLike, step_time: float) -> tuple[F32, F32]:
    """Returns the velocities between positions, in metres per second.

    Args:
        history_positions_m: Positions [H + 1, 2] in metres, the current one first, then backward.
        future_positions_m: Positions [F, 2] in metres, from the current one, which is the origin.
        step_time: Seconds from position to position.

    Returns f32 [H, 2] and f32 [F, 2].

    Example:
        >>> from tetrys.l5.sampling import compute_agent_velocity
        >>> compute_agent_velocity([[0.0, 0.0], [-1.0, 0.0]], [[2.0, 0.0], [3.0, 0.0]], 0.5)
        (array([[2., 0.]], dtype=float32), array([[4., 0.],
               [2., 0.]], dtype=float32))

    Raises:
        AssertionError (an `Invalid`): the time is not above 0.
        ValueError (an `Invalid`): positions have other shapes.
    """
    step = number("step_time", step_time)
    if not step > np.finfo(np.float64).eps:
        raise NotMet(f"step_time must be greater than 0, got {step}")
    past, later = (_positions(name, value) for name, value in (("history_positions_m", history_positions_m), ("future_positions_m", future_positions_m)))
    after = np.concatenate([later[:1], np.diff(later, axis=0)])
    return (-np.diff(past, axis=0) / step).astype(np.float32), (after / step).astype(np.float32)


def _positions(what: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    positions = numbers(what, value)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise WrongValue(f"{what}: expected the shape [N, 2], found {list(positions.shape)}")
    # Integers and booleans would be subtracted as such.
    return positions if positions.dtype.kind == "f" else positions.astype(np.float64)


def get_relative_poses(
    num_frames: int, frames: Any, selected_track_id: int | None, agents: Any, agent_from_world: npt.ArrayLike, current_agent_yaw: float
) -> tuple[F32, F32, F32, F32]:
    """Returns the poses of an agent or the ego car in some frames, as seen from where it is now.

    Args:
        num_frames: Poses to return, at least as many as there are frames; those beyond the frames are 0.
        frames: Frames, such as the history or the future of `get_agent_context`.
        selected_track_id: Track of the agent; None for the ego car.
        agents: Agents of each frame.
        agent_from_world: The matrix from the world to the agent, [3, 3].
        current_agent_yaw: Its yaw in rad.

    Returns positions f32 [num_frames, 2] in metres, yaws f32 [num_frames, 1] in rad, lengths and widths f32 [num_frames, 2] in metres,
    and availabilities f32 [num_frames]: 1 where the agent is in the frame, else 0.

    Raises:
        IndexError (an `Invalid`): there are more frames than poses.
    """
    wanted = count("num_frames", num_frames, most=1 << 24)
    given = array_of("frames", frames)
    matrix, yaw_now = numbers("agent_from_world", agent_from_world, (3, 3)), number("current_agent_yaw", current_agent_yaw)
    if given.size:
        given = records("frames", given, ["ego_translation", "ego_rotation"], FRAME_DTYPE)
    if given.ndim != 1 or len(given) > wanted:
        raise OutOfRange(f"frames: expected at most num_frames = {wanted}, found the shape {list(given.shape)}")
    positions, yaws = np.zeros((wanted, 2), np.result_type(matrix.dtype, np.float32)), np.zeros((wanted, 1), np.float32)
    extents, availabilities = np.zeros((wanted, 2), np.float32), np.zeros(wanted, np.float32)
    for place, (frame, of_frame) in enumerate(zip(given, several("agents", agents), strict=False)):
        if selected_track_id is None:
            positions[place], yaws[place] = frame["ego_translation"][:2], rotation33_as_yaw(frame["ego_rotation"])
            extents[place] = EGO_EXTENT_LENGTH, EGO_EXTENT_WIDTH
        else:
            track = filter_agents_by_track_id(records("agents", of_frame, ["centroid", "yaw", "extent", "track_id"], AGENT_DTYPE), selected_track_id)
            if not len(track):
                continue
            positions[place], yaws[place], extents[place] = track[0]["centroid"], track[0]["yaw"], track[0]["extent"][:2]
        availabilities[place] = 1
    available = availabilities[:, None]
    moved = transform_points(positions, matrix) * available
    turned: npt.NDArray[Any] = angular_distance(yaws, np.asarray(yaw_now))
    return moved.astype(np.float32), (turned * available).astype(np.float32), extents, availabilities


def generate_agent_sample(
    state_index: int,
    frames: Any,
    agents: Any,
    tl_faces: Any,
    selected_track_id: int | None,
    render_context: RenderContext,
    history_num_frames: int,
    future_num_frames: int,
    step_time: float,
    filter_agents_threshold: float,
    rasterizer: Rasterizer,
    perturbation: Perturbation | None = None,
) -> dict[str, Any]:
    """Computes the sample of a frame: of the ego car, or of an agent by its track. `EgoDataset` computes the same, and faster.

    Args:
        state_index: Number of the frame among `frames`.
        frames: Frames of the scene.
        agents: Agents that the frames number: those of the data set.
        tl_faces: Traffic light faces that the frames number.
        selected_track_id: Track of the agent; None for the ego car.
        render_context: Where the raster lies.
        history_num_frames, future_num_frames: Frames before and after.
        step_time: Seconds from frame to frame.
        filter_agents_threshold: Label probability above which an agent counts.
        rasterizer: Draws `image`.
        perturbation: Changes the trajectory.

    Returns the keys of L5Kit: those of a sample of `EgoDataset` without `scene_index`, `host_id`, `timestamp` and `track_id`. `image` is
    f32 [height, width, channels].

    Raises:
        IndexError (an `Invalid`): the track is not in the frame, its probability is not above the threshold, or there is no such frame.
    """
    if not isinstance(render_context, RenderContext):
        raise WrongType(f"render_context: expected a RenderContext, found {found(render_context)}")
    drawn = with_method("rasterizer", rasterizer, "rasterize", "a rasterizer")
    raster = {
        "raster_size": render_context.raster_size_px, "pixel_size": render_context.pixel_size_m, "ego_center": render_context.center_in_raster_ratio,
        "set_origin_to_bottom": render_context.set_origin_to_bottom, "filter_agents_threshold": filter_agents_threshold,
    }  # fmt: skip
    cfg = {"model_params": {"history_num_frames": history_num_frames, "future_num_frames": future_num_frames, "step_time": step_time}, "raster_params": raster}
    part, now = _part(state_index, frames, agents, tl_faces, history_num_frames, future_num_frames)
    # The rasterizer has a context of its own, so it only draws.
    samples: Any = EgoDataset(cfg, part, SimpleNamespace(rasterize=drawn.rasterize), perturbation, threads=1)  # type: ignore[arg-type]
    sample = _without_scene(samples.get_frame(0, now, selected_track_id))
    sample["image"] = sample["image"].transpose(1, 2, 0)
    sample["frame_index"] = state_index
    return sample


def generate_agent_sample_vectorized(
    state_index: int,
    frames: Any,
    agents: Any,
    tl_faces: Any,
    selected_track_id: int | None,
    history_num_frames_ego: int,
    history_num_frames_agents: int,
    future_num_frames: int,
    step_time: float,
    filter_agents_threshold: float,
    vectorizer: Vectorizer,
    perturbation: Perturbation | None = None,
) -> dict[str, Any]:
    """Computes the vectorized sample of a frame: of the ego car, or of an agent by its track.

    Args:
        history_num_frames_ego, history_num_frames_agents: Frames before, of the ego car and of agents.
        vectorizer: Makes the vectors of agents and of the map.

    The other arguments are those of `generate_agent_sample`. Returns the keys of L5Kit: those of a sample of `EgoDatasetVectorized` without
    `scene_index`, `host_id`, `timestamp` and `track_id`.

    Raises:
        ValueError (an `Invalid`): the track is not in the frame, or its probability is not above the threshold.
        IndexError (an `Invalid`): there is no such frame.
    """
    history = max(count("history_num_frames_ego", history_num_frames_ego), count("history_num_frames_agents", history_num_frames_agents))
    cfg = {
        "model_params": {
            "history_num_frames_ego": history_num_frames_ego, "history_num_frames_agents": history_num_frames_agents,
            "future_num_frames": future_num_frames, "step_time": step_time,
        },
        "raster_params": {"filter_agents_threshold": filter_agents_threshold},
    }  # fmt: skip
    part, now = _part(state_index, frames, agents, tl_faces, history, future_num_frames)
    return _without_scene(EgoDatasetVectorized(cfg, part, vectorizer, perturbation, threads=1).get_frame(0, now, selected_track_id))


def _part(state_index: int, frames: Any, agents: Any, tl_faces: Any, history: int, future: int) -> tuple[ChunkedDataset, int]:
    """Returns the frames around a frame as a data set of one scene, and the number of the frame in it."""
    window, now = _window(state_index, frames, history, future)
    for name, given in (("agents", agents), ("tl_faces", tl_faces)):
        if not isinstance(given, (np.ndarray, LazyRecords)) or given.ndim != 1:
            raise WrongType(f"{name}: expected an array of records, found {found(given)}")
    return scene_of(window, agents, tl_faces), now


def _without_scene(sample: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sample.items() if name not in _OF_DATASET}
