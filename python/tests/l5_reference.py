"""A slow, plain implementation of L5Kit's samples and masks, for tests to compare with.

It follows a description of L5Kit's behaviour, and shares no code with the crate. It is given the four structured arrays of a zarr
(scenes, frames, agents, traffic light faces) in memory, with L5Kit's field names. Clarity goes before speed: a sample takes a few
milliseconds. `l5_reference_raster` draws boxes, and `l5_reference_vectorized` makes vectors.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[Any]
"""A structured array."""
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Perturb = Callable[[Records, Records], tuple[Records, Records]]
"""Changes the ego poses of (history frames, newest first; future frames)."""

EGO_EXTENT = (4.87, 1.85, 1.8)
"""Length, width and height of the ego vehicle in metres."""
KEPT_LABELS = range(3, 16)
"""Label indices of road users: cars to animals."""


@dataclass(frozen=True)
class Dataset:
    """The four arrays of a zarr."""

    scenes: Records
    frames: Records
    agents: Records
    tl_faces: Records


@dataclass(frozen=True)
class Settings:
    """The keys of L5Kit's configuration that change a sample. Sizes and centres are (x, y); a pixel size is in metres."""

    history: int = 10
    future: int = 50
    step_time: float = 0.1
    threshold: float = 0.5
    raster_size: tuple[int, int] = (224, 224)
    pixel_size: tuple[float, float] = (0.5, 0.5)
    ego_center: tuple[float, float] = (0.25, 0.5)
    origin_bottom: bool = True
    render_ego_history: bool = True


# --- Filters -------------------------------------------------------------------------------------------------------------------


def of_interest(probabilities: F32, threshold: float) -> Bools:
    """Says for each row [N, 17] whether the probabilities of road users add up to more than `threshold`.

    L5Kit adds in f32, in the order of the labels.
    """
    total = np.zeros(len(probabilities), np.float32)
    for label in KEPT_LABELS:
        total = total + probabilities[:, label]
    return np.asarray(total > np.float32(threshold))


def by_labels(agents: Records, threshold: float) -> Records:
    """Returns the agents that are probably road users."""
    kept: Records = agents[of_interest(agents["label_probabilities"], threshold)]
    return kept


def by_track(agents: Records, track_id: int) -> Records:
    """Returns the rows of a track."""
    rows: Records = agents[agents["track_id"] == track_id]
    return rows


def by_distance(agents: Records, centre: F64, limit: float) -> Records:
    """Returns the agents nearer than `limit` metres to `centre`, the nearest first."""
    distances = np.linalg.norm(agents["centroid"] - centre, axis=-1)
    near = distances < limit
    ordered: Records = agents[near][np.argsort(distances[near])]
    return ordered


def by_status(tl_faces: Records, status: int) -> Records:
    """Returns the faces with a status: 0 active, 1 inactive, 2 unknown."""
    return tl_faces[tl_faces["traffic_light_face_status"][:, status] > 0]


# --- Angles and poses ----------------------------------------------------------------------------------------------------------


def yaw_of(rotation: F64) -> float:
    """Returns the yaw of a rotation matrix [3, 3] in rad; 0 if the vehicle points straight up or down."""
    sine, cosine = float(rotation[1, 0]), float(rotation[0, 0])
    if math.sqrt(cosine * cosine + sine * sine) <= 4 * np.finfo(np.float64).eps:
        return 0.0
    return math.atan2(sine, cosine)


def wrap(yaws: F32, origin: float) -> F32:
    """Returns `yaws - origin` in [-pi, pi), with every step rounded to f32."""
    pi, turn = np.float32(math.pi), np.float32(2 * math.pi)
    return np.asarray(np.mod(yaws - np.float32(origin) + pi, turn) - pi, np.float32)


def pose(centroid: F64, yaw: float) -> F64:
    """Returns the matrix [3, 3] from the agent's frame to the world."""
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return np.array([[cosine, -sine, centroid[0]], [sine, cosine, centroid[1]], [0.0, 0.0, 1.0]])


def inverse(world_from_agent: F64) -> F64:
    """Returns the inverse of a pose."""
    (cosine, _, x), (sine, _, y), _ = world_from_agent
    unit = cosine * cosine + sine * sine
    cosine, sine = cosine / unit, sine / unit
    return np.array([[cosine, sine, -cosine * x - sine * y], [-sine, cosine, sine * x - cosine * y], [0.0, 0.0, 1.0]])


def transform(points: F64, matrix: F64) -> F64:
    """Applies a matrix [3, 3] to points [N, 2]."""
    x, y = points[:, 0], points[:, 1]
    moved = [matrix[row, 0] * x + matrix[row, 1] * y + matrix[row, 2] for row in (0, 1)]
    return np.stack(moved, axis=-1)


def raster_from_local(settings: Settings) -> F64:
    """Returns the matrix [3, 3] from the agent's frame (metres) to pixels."""
    (width, height), (pixel_x, pixel_y), (centre_x, centre_y) = settings.raster_size, settings.pixel_size, settings.ego_center
    matrix = np.array([[1 / pixel_x, 0.0, centre_x * width], [0.0, 1 / pixel_y, centre_y * height], [0.0, 0.0, 1.0]])
    if settings.origin_bottom:
        matrix[1] *= -1
        matrix[1, 2] += height
    return matrix


# --- Windows -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Frames around a state of a scene with their agents and faces. History is newest first and begins with the current frame."""

    history_frames: Records
    future_frames: Records
    history_agents: list[Records]
    future_agents: list[Records]
    history_tl_faces: list[Records]


def history_states(state: int, length: int) -> list[int]:
    """Returns the current state and up to `length` before it, newest first."""
    return list(range(state, max(state - length, 0) - 1, -1))


def future_states(state: int, length: int, end: int) -> list[int]:
    """Returns up to `length` states after this one, before `end`."""
    return list(range(state + 1, min(state + length + 1, end)))


def scene_and_state(data: Dataset, frame: int) -> tuple[int, int]:
    """Returns the scene of a frame and the number of the frame inside it."""
    ends = [int(end) for end in data.scenes["frame_index_interval"][:, 1]]
    scene = bisect_right(ends, frame)
    return scene, frame - (ends[scene - 1] if scene else 0)


def window(data: Dataset, scene: int, state: int, history: int, future: int) -> Window:
    """Returns what lies around a state. Windows end at the borders of the scene."""
    start, end = (int(border) for border in data.scenes["frame_index_interval"][scene])
    frames = data.frames[start:end]
    past = frames[history_states(state, history)].copy()
    coming = frames[future_states(state, future, len(frames))].copy()
    faces = len(data.tl_faces) > 0 and "traffic_light_faces_index_interval" in (data.frames.dtype.names or ())
    return Window(
        history_frames=past,
        future_frames=coming,
        history_agents=[data.agents[slice(*frame["agent_index_interval"])] for frame in past],
        future_agents=[data.agents[slice(*frame["agent_index_interval"])] for frame in coming],
        history_tl_faces=[
            data.tl_faces[slice(*frame["traffic_light_faces_index_interval"])] if faces else data.tl_faces[:0] for frame in past
        ],
    )


# --- Samples -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Poses:
    """Steps of one agent relative to a pose: positions [T, 2] in metres, yaws [T, 1] in rad, extents [T, 2], availability [T]."""

    positions: F32
    yaws: F32
    extents: F32
    available: F32


def relative_poses(
    length: int, frames: Records, agents: list[Records], track_id: int | None, agent_from_world: F64, yaw: float
) -> Poses:
    """Returns `length` steps of a track (None: the ego). A step is available if the track has a row in the frame."""
    positions = np.zeros((length, 2))
    yaws = np.zeros((length, 1), np.float32)
    extents = np.zeros((length, 2), np.float32)
    available = np.zeros(length, np.float32)
    for step, (frame, around) in enumerate(zip(frames, agents, strict=True)):
        if track_id is None:
            positions[step] = frame["ego_translation"][:2]
            yaws[step] = yaw_of(frame["ego_rotation"])
            extents[step] = EGO_EXTENT[:2]
        else:
            rows = by_track(around, track_id)
            if len(rows) == 0:
                continue
            positions[step] = rows[0]["centroid"]
            yaws[step] = rows[0]["yaw"]
            extents[step] = rows[0]["extent"][:2]
        available[step] = 1
    moved = transform(positions, agent_from_world) * available[:, None]
    return Poses(moved.astype(np.float32), wrap(yaws, yaw) * available[:, None], extents, available)


def velocities(history: F32, future: F32, step_time: float) -> tuple[F32, F32]:
    """Returns velocities of the history [H, 2] and the future [F, 2] in m/s: differences of neighbouring positions, in f32."""
    step = np.float32(step_time)
    return -np.diff(history, axis=0) / step, np.diff(future, axis=0, prepend=np.zeros((1, 2), np.float32)) / step


@dataclass(frozen=True)
class Subject:
    """The agent that a sample is about: its state in the current frame. `row` is None for the ego."""

    centroid: F64
    yaw: float
    extent: Any
    row: Any | None


def subject(frame: Records, agents: Records, track_id: int | None, threshold: float) -> Subject:
    """Returns the ego, or the first row of a track among the road users of the current frame.

    Raises IndexError if the track has no such row.
    """
    if track_id is None:
        return Subject(frame["ego_translation"][:2], yaw_of(frame["ego_rotation"]), np.array(EGO_EXTENT), None)
    row = by_track(by_labels(agents, threshold), track_id)[0]
    return Subject(row["centroid"], float(row["yaw"]), row["extent"], row)


def sample(
    data: Dataset, scene: int, state: int, track_id: int | None, settings: Settings, perturb: Perturb | None = None
) -> dict[str, Any]:
    """Returns the sample of a state without its image. Without a track id, it is about the ego."""
    around = window(data, scene, state, settings.history, settings.future)
    past, coming = around.history_frames, around.future_frames
    if perturb is not None and len(coming) == settings.future:
        past, coming = perturb(past, coming)
    current = subject(past[0], around.history_agents[0], track_id, settings.threshold)
    world_from_agent = pose(current.centroid, current.yaw)
    agent_from_world = inverse(world_from_agent)
    raster_from_world = raster_from_local(settings) @ agent_from_world
    future = relative_poses(settings.future, coming, around.future_agents, track_id, agent_from_world, current.yaw)
    history = relative_poses(settings.history + 1, past, around.history_agents, track_id, agent_from_world, current.yaw)
    before, after = velocities(history.positions, future.positions, settings.step_time)
    found = {
        "frame_index": state,
        "target_positions": future.positions,
        "target_yaws": future.yaws,
        "target_velocities": after,
        "target_availabilities": future.available,
        "history_positions": history.positions,
        "history_yaws": history.yaws,
        "history_velocities": before,
        "history_availabilities": history.available,
        "world_to_image": raster_from_world,
        "raster_from_agent": raster_from_world @ world_from_agent,
        "raster_from_world": raster_from_world,
        "agent_from_world": agent_from_world,
        "world_from_agent": world_from_agent,
        "centroid": current.centroid,
        "yaw": current.yaw,
        "extent": current.extent,
        "history_extents": history.extents,
        "future_extents": future.extents,
        **identity(data, scene, past[0], track_id),
    }
    if settings.history > 0:
        found["curr_speed"] = np.linalg.norm(before[0])
    return found


def identity(data: Dataset, scene: int, frame: Any, track_id: int | None) -> dict[str, Any]:
    """Returns what says where a sample comes from: scene, host, time in ns and track (-1 for the ego)."""
    host = np.zeros(70, np.uint8)
    name = str(data.scenes[scene]["host"]).encode("ascii")
    host[: len(name)] = list(name)
    return {
        "scene_index": scene,
        "host_id": host,
        "timestamp": np.int64(frame["timestamp"]),
        "track_id": np.int64(-1 if track_id is None else track_id),
    }


def ego_sample(data: Dataset, index: int, settings: Settings, perturb: Perturb | None = None) -> dict[str, Any]:
    """Returns sample `index` of L5Kit's EgoDataset, which has one sample per frame. A negative index counts from the end."""
    scene, state = scene_and_state(data, index + len(data.frames) if index < 0 else index)
    return sample(data, scene, state, None, settings, perturb)


def agent_sample(data: Dataset, row: int, settings: Settings) -> dict[str, Any]:
    """Returns the sample of L5Kit's AgentDataset for an agent row."""
    frame = bisect_right([int(end) for end in data.frames["agent_index_interval"][:, 1]], row)
    scene, state = scene_and_state(data, frame)
    return sample(data, scene, state, int(data.agents[row]["track_id"]), settings)


# --- Masks ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """When `select_agents` ends a run of a track: label sum, metres from the ego, degrees and ratio of areas between frames."""

    threshold: float = 0.5
    distance: float = 50.0
    yaw_degree: float = 30.0
    extent_ratio: float = 1.1


def select_agents(data: Dataset, limits: Limits = Limits()) -> tuple[npt.NDArray[np.uint32], Counter[str]]:
    """Counts for each agent row the steps before and after it in its run, [N, 2], and the rows that ended a run, by reason.

    A run is a sequence of rows of one track in consecutive frames without a sudden change.
    """
    counts = np.zeros((len(data.agents), 2), np.uint32)
    reasons: Counter[str] = Counter()
    for scene in data.scenes:
        runs: dict[int, list[tuple[int, int]]] = {}
        for number, frame in enumerate(data.frames[slice(*scene["frame_index_interval"])]):
            first, end = (int(border) for border in frame["agent_index_interval"])
            kept = of_interest(data.agents[first:end]["label_probabilities"], limits.threshold)
            for row in range(first, end):
                agent = data.agents[row]
                run = runs.setdefault(int(agent["track_id"]), [])
                reason, starts = _ends_run(data, frame, number, row, bool(kept[row - first]), run, limits)
                if reason is not None:
                    reasons[reason] += 1
                    _close(counts, run)
                    run.clear()
                if reason is None or starts:
                    run.append((number, row))
        for run in runs.values():
            _close(counts, run)
    return counts, reasons


def _ends_run(
    data: Dataset, frame: Any, number: int, row: int, kept: bool, run: list[tuple[int, int]], limits: Limits
) -> tuple[str | None, bool]:
    """Returns why a row ends the run of its track (None: it does not), and whether the row begins the next run."""
    agent = data.agents[row]
    if not kept:
        return "label", False
    if not np.linalg.norm(frame["ego_translation"][:2] - agent["centroid"]) < limits.distance:
        return "distance", False
    if not run:
        return None, True
    previous = data.agents[run[-1][1]]
    if number != run[-1][0] + 1:
        return "hole", True
    # The difference is f32; numpy 1.19 takes the rest of scalar arithmetic to f64.
    turned = (float(agent["yaw"] - previous["yaw"]) + math.pi) % (2 * math.pi) - math.pi
    if not abs(turned) * 180 / math.pi < limits.yaw_degree:
        return "yaw", True
    small, large = sorted(np.float32(one["extent"][0] * one["extent"][1]) for one in (previous, agent))
    if float(small) < 0.01 or not float(large / small) < limits.extent_ratio:
        return "extent", True
    return None, True


def _close(counts: npt.NDArray[np.uint32], run: list[tuple[int, int]]) -> None:
    for step, (_, row) in enumerate(run):
        counts[row] = step, len(run) - step - 1


def valid_rows(counts: npt.NDArray[np.uint32], min_history: int = 10, min_future: int = 1) -> npt.NDArray[np.int64]:
    """Returns the agent rows that AgentDataset iterates: those with enough steps before and after."""
    return np.flatnonzero((counts[:, 0] >= min_history) & (counts[:, 1] >= min_future))


def frame_indices(data: Dataset, rows: npt.NDArray[np.int64], frame: int) -> npt.NDArray[np.int64]:
    """Returns the indices into `rows` (and so into AgentDataset) of the agents of a frame."""
    first, end = data.frames[frame]["agent_index_interval"]
    return np.flatnonzero((rows >= first) & (rows < end))


def scene_indices(data: Dataset, rows: npt.NDArray[np.int64], scene: int) -> npt.NDArray[np.int64]:
    """Returns the indices into `rows` of the agents of a scene."""
    start, end = data.scenes[scene]["frame_index_interval"]
    frames = data.frames[start:end]["agent_index_interval"]
    return np.flatnonzero((rows >= frames[0, 0]) & (rows < frames[-1, 1]))


def scene_dataset(data: Dataset, scene: int) -> Dataset:
    """Returns one scene as a dataset of its own, with intervals that begin at 0."""
    scenes = data.scenes[scene : scene + 1].copy()
    start, end = (int(border) for border in scenes["frame_index_interval"][0])
    frames = data.frames[start:end].copy()
    scenes["frame_index_interval"] -= start
    cut = {}
    for field, rows in (("agent_index_interval", data.agents), ("traffic_light_faces_index_interval", data.tl_faces)):
        first, last = int(frames[field][0, 0]), int(frames[field][-1, 1])
        frames[field] -= first
        cut[field] = rows[first:last].copy()
    return Dataset(scenes, frames, cut["agent_index_interval"], cut["traffic_light_faces_index_interval"])
