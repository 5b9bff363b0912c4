"""A slow, plain implementation of L5Kit's vectorized samples, for tests to compare with: the agents, and lanes and crosswalks.

The map is given as arrays in world metres. The tests take them from files that L5Kit's MapAPI has written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from l5_reference import (
    F32,
    F64,
    Bools,
    Dataset,
    Records,
    Subject,
    Window,
    by_distance,
    by_labels,
    by_track,
    identity,
    inverse,
    pose,
    relative_poses,
    scene_and_state,
    subject,
    transform,
    velocities,
    window,
)

CAR = 3
"""Label index of the ego."""
VECTOR_THRESHOLD = 0.5
"""Label sum that other agents need; L5Kit does not take it from the configuration."""


@dataclass(frozen=True)
class VectorSettings:
    """The keys of L5Kit's configuration that change a vectorized sample. Distances are in metres."""

    history_ego: int = 10
    history_agents: int = 5
    future: int = 50
    step_time: float = 0.1
    threshold: float = 0.5
    other_agents: int = 30
    max_agents_distance: float = 35.0
    max_lanes: int = 30
    lane_points: int = 20
    max_crosswalks: int = 20
    crosswalk_points: int = 20
    max_map_distance: float = 35.0

    @property
    def history(self) -> int:
        """Steps of every history."""
        return max(self.history_ego, self.history_agents)


@dataclass(frozen=True)
class Lanes:
    """Lanes and crosswalks of a map: bounds [N, 2, 2], points of the left and right boundary and the middle [N, P, 2]."""

    bounds: F64
    left: F64
    right: F64
    middle: F64
    crosswalk_bounds: F64
    crosswalks: Sequence[F64]


def other_tracks(first: Iterable[int], then: Iterable[int], selected: int | None, limit: int) -> list[int]:
    """Returns up to `limit` different track ids, in the order that CPython iterates a set of them."""
    taken: set[int] = set()
    for track_id in [*first, *then]:
        if len(taken) >= limit:
            break
        if track_id != selected:
            taken.add(track_id)
    return list(taken)


def vector_sample(data: Dataset, scene: int, state: int, track_id: int | None, settings: VectorSettings) -> dict[str, Any]:
    """Returns the vectorized sample of a state without its map. Without a track id, it is about the ego."""
    around = window(data, scene, state, settings.history, settings.future)
    current = subject(around.history_frames[0], around.history_agents[0], track_id, settings.threshold)
    kind = CAR if current.row is None else int(np.argmax(current.row["label_probabilities"]))
    world_from_agent = pose(current.centroid, current.yaw)
    agent_from_world = inverse(world_from_agent)
    future = relative_poses(settings.future, around.future_frames, around.future_agents, track_id, agent_from_world, current.yaw)
    history = relative_poses(
        settings.history + 1, around.history_frames, around.history_agents, track_id, agent_from_world, current.yaw
    )
    for part in (history.positions, history.yaws, history.extents, history.available):
        part[settings.history_ego + 1 :] = 0
    _, after = velocities(history.positions, future.positions, settings.step_time)
    return {
        "extent": current.extent,
        "type": kind,
        "agent_from_world": agent_from_world,
        "world_from_agent": world_from_agent,
        "target_positions": future.positions,
        "target_yaws": future.yaws,
        "target_extents": future.extents,
        "target_availabilities": future.available > 0,
        "history_positions": history.positions,
        "history_yaws": history.yaws,
        "history_extents": history.extents,
        "history_availabilities": history.available > 0,
        "centroid": current.centroid,
        "yaw": current.yaw,
        "speed": np.linalg.norm(after[0]),
        "agent_trajectory_polyline": np.concatenate([history.positions, history.yaws], axis=-1),
        "agent_polyline_availability": history.available > 0,
        **_others(around, current, track_id, agent_from_world, settings),
        **identity(data, scene, around.history_frames[0], track_id),
    }


def _others(
    around: Window, current: Subject, track_id: int | None, agent_from_world: F64, settings: VectorSettings
) -> dict[str, Any]:
    """Returns what a sample says about the other agents. Rows without an agent are 0."""

    def near(agents: Records) -> Records:
        return by_distance(by_labels(agents, VECTOR_THRESHOLD), current.centroid, settings.max_agents_distance)

    seen, now = near(np.concatenate(around.history_agents)), near(around.history_agents[0])
    tracks = other_tracks(now["track_id"].tolist(), seen["track_id"].tolist(), track_id, settings.other_agents)
    found = {
        "all_other_agents_types": np.zeros(settings.other_agents, np.int64),
        "all_other_agents_track_ids": np.zeros(settings.other_agents, np.int64),
    }
    steps = {"history": settings.history + 1, "future": settings.future}
    for time, length in steps.items():
        for name, width in (("positions", 2), ("yaws", 1), ("extents", 2)):
            found[f"all_other_agents_{time}_{name}"] = np.zeros((settings.other_agents, length, width), np.float32)
        found[f"all_other_agents_{time}_availability"] = np.zeros((settings.other_agents, length), np.bool_)
    for place, track in enumerate(tracks):
        found["all_other_agents_types"][place] = np.argmax(by_track(seen, track)[0]["label_probabilities"])
        found["all_other_agents_track_ids"][place] = track
        for time, frames, agents in (
            ("history", around.history_frames, around.history_agents),
            ("future", around.future_frames, around.future_agents),
        ):
            track_poses = relative_poses(steps[time], frames, agents, track, agent_from_world, current.yaw)
            found[f"all_other_agents_{time}_positions"][place] = track_poses.positions
            found[f"all_other_agents_{time}_yaws"][place] = track_poses.yaws
            found[f"all_other_agents_{time}_extents"][place] = track_poses.extents
            found[f"all_other_agents_{time}_availability"][place] = track_poses.available > 0
    for name in ("positions", "yaws", "extents", "availability"):
        found[f"all_other_agents_history_{name}"][:, settings.history_agents + 1 :] = 0
    history = [found["all_other_agents_history_positions"], found["all_other_agents_history_yaws"]]
    found["other_agents_polyline"] = np.concatenate(history, axis=-1)
    found["other_agents_polyline_availability"] = found["all_other_agents_history_availability"]
    return found


def ego_vector_sample(data: Dataset, index: int, settings: VectorSettings) -> dict[str, Any]:
    """Returns sample `index` of L5Kit's EgoDatasetVectorized without its map."""
    return vector_sample(data, *scene_and_state(data, index), None, settings)


# --- Map -----------------------------------------------------------------------------------------------------------------------


def in_bounds(centre: F64, bounds: F64, half: float) -> npt.NDArray[np.int64]:
    """Returns the rows of bounds [N, 2, 2] (lower and upper corner) that reach into a square around `centre`."""
    x, y = centre[:2]
    across = (x > bounds[:, 0, 0] - half) & (x < bounds[:, 1, 0] + half)
    along = (y > bounds[:, 0, 1] - half) & (y < bounds[:, 1, 1] + half)
    return np.flatnonzero(across & along)


def vector_map(lanes: Lanes, centroid: F64, agent_from_world: F64, settings: VectorSettings) -> dict[str, F32 | Bools]:
    """Returns what a sample says about the map, with a 0 in the place of the colour of traffic lights."""
    reached = in_bounds(centroid, lanes.bounds, settings.max_map_distance)
    distances = [np.linalg.norm(lanes.middle[lane] - centroid, axis=-1).min() for lane in reached]
    nearest = reached[np.argsort(distances)][: settings.max_lanes]
    shape = (settings.max_lanes, settings.lane_points, 3)
    sides, middle = np.zeros((2 * shape[0], *shape[1:]), np.float32), np.zeros(shape, np.float32)
    sides_there, middle_there = np.zeros(sides.shape[:2], np.bool_), np.zeros(shape[:2], np.bool_)
    for place, lane in enumerate(nearest):
        for into, there, row, line in (
            (sides, sides_there, 2 * place, lanes.left[lane]),
            (sides, sides_there, 2 * place + 1, lanes.right[lane]),
            (middle, middle_there, place, lanes.middle[lane]),
        ):
            into[row, :, :2] = transform(line, agent_from_world)
            there[row] = np.linalg.norm(into[row, :, :2], axis=-1) < settings.max_map_distance
    crosswalks = np.zeros((settings.max_crosswalks, settings.crosswalk_points, 3), np.float32)
    crosswalks_there = np.zeros(crosswalks.shape[:2], np.bool_)
    found = in_bounds(centroid, lanes.crosswalk_bounds, settings.max_map_distance)
    for place, crosswalk in enumerate(found[: settings.max_crosswalks]):
        points = lanes.crosswalks[crosswalk][: settings.crosswalk_points]
        crosswalks[place, : len(points), :2] = transform(points, agent_from_world)
        crosswalks_there[place, : len(points)] = True
    return {
        "lanes": sides,
        "lanes_availabilities": sides_there,
        "lanes_mid": middle,
        "lanes_mid_availabilities": middle_there,
        "crosswalks": crosswalks,
        "crosswalks_availabilities": crosswalks_there,
    }
