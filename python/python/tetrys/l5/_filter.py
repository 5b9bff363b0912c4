"""Filters of agents and traffic light faces, and slices of frames and scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._errors import WrongValue, short
from ._labels import TL_FACE_LABEL_TO_INDEX

Records = npt.NDArray[Any]

# Labels that count as agents: CAR to ANIMAL.
_KEPT = slice(3, 16)


def get_frames_slice_from_scenes(scene_a: Any, scene_b: Any = None) -> slice:
    """Returns the frames of a scene, or those from the first to the last of two scenes."""
    return _joined(scene_a, scene_b, "frame_index_interval")


def get_agents_slice_from_frames(frame_a: Any, frame_b: Any = None) -> slice:
    """Returns the agents of a frame, or those from the first to the last of two frames."""
    return _joined(frame_a, frame_b, "agent_index_interval")


def get_tl_faces_slice_from_frames(frame_a: Any, frame_b: Any = None) -> slice:
    """Returns the traffic light faces of a frame, or those from the first to the last of two frames."""
    return _joined(frame_a, frame_b, "traffic_light_faces_index_interval")


def _joined(first: Any, last: Any, interval: str) -> slice:
    start, stop = first[interval][0], (first if last is None else last)[interval][1]
    return slice(int(start), int(stop))


def filter_agents_by_labels(agents: Records, threshold: float = 0.5) -> Records:
    """Returns the agents whose probabilities of the labels CAR to ANIMAL add up to more than a threshold."""
    probabilities = agents["label_probabilities"][:, _KEPT]
    # Added one after another in f32, as L5Kit's numpy does.
    total = np.zeros(len(agents), probabilities.dtype)
    for column in range(probabilities.shape[1]):
        total += probabilities[:, column]
    return agents[total > threshold]


def filter_agents_by_track_id(agents: Records, track_id: int) -> Records:
    """Returns the agents of a track: one, or none if it is not there."""
    if not 0 <= track_id < 2**64:
        return agents[:0]
    chosen: Records = agents[agents["track_id"] == np.uint64(track_id)]
    return chosen


def filter_agents_by_frames(frames: Records, agents: Any) -> list[Records]:
    """Returns the agents of each frame."""
    return _by_frames(frames, agents, "agent_index_interval")


def filter_tl_faces_by_frames(frames: Records, tl_faces: Any) -> list[Records]:
    """Returns the traffic light faces of each frame."""
    return _by_frames(frames, tl_faces, "traffic_light_faces_index_interval")


def _by_frames(frames: Records, records: Any, interval: str) -> list[Records]:
    frames = frames.reshape(1) if frames.shape == () else frames
    return [records[int(start) : int(stop)] for start, stop in frames[interval]]


def filter_agents_by_distance(agents: Records, centroid: npt.ArrayLike, max_distance: float) -> Records:
    """Returns the agents nearer to a point than a distance in metres, the nearest first."""
    distances = np.linalg.norm(agents["centroid"] - np.asarray(centroid), axis=-1)
    agents = agents[distances < max_distance]
    return agents[np.argsort(distances[distances < max_distance])]


def filter_tl_faces_by_status(tl_faces: Records, status: str) -> Records:
    """Returns the faces whose probability of a status (`"ACTIVE"`, `"INACTIVE"`, `"UNKNOWN"`) is above 0."""
    if not isinstance(status, str) or status not in TL_FACE_LABEL_TO_INDEX:
        raise WrongValue(f"status {short(repr(status))}: expected one of {', '.join(TL_FACE_LABEL_TO_INDEX)}")
    return tl_faces[tl_faces["traffic_light_face_status"][:, TL_FACE_LABEL_TO_INDEX[status]] > 0]
