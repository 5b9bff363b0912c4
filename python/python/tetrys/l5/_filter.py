"""Filters of agents and traffic light faces, and slices of frames and scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import is_whole, number, whole
from .._errors import WrongType, WrongValue, found, short
from ._checks import floats, numbers, records
from ._labels import PERCEPTION_LABEL_TO_INDEX, PERCEPTION_LABELS, TL_FACE_LABEL_TO_INDEX
from ._records import AGENT_DTYPE, FRAME_DTYPE, SCENE_DTYPE, TL_FACE_DTYPE, LazyRecords

Records = npt.NDArray[Any]

# Labels that count as agents: CAR to ANIMAL.
_KEPT = slice(3, 16)
PERCEPTION_LABELS_TO_KEEP = PERCEPTION_LABELS[_KEPT]
"""Labels that count as agents."""
PERCEPTION_LABEL_INDICES_TO_KEEP = [PERCEPTION_LABEL_TO_INDEX[label] for label in PERCEPTION_LABELS_TO_KEEP]
"""Columns of these labels."""


def get_frames_slice_from_scenes(scene_a: Any, scene_b: Any = None) -> slice:
    """Returns the frames of a scene, or those from the first to the last of two scenes."""
    return _joined("scene", scene_a, scene_b, "frame_index_interval", SCENE_DTYPE)


def get_agents_slice_from_frames(frame_a: Any, frame_b: Any = None) -> slice:
    """Returns the agents of a frame, or those from the first to the last of two frames."""
    return _joined("frame", frame_a, frame_b, "agent_index_interval", FRAME_DTYPE)


def get_tl_faces_slice_from_frames(frame_a: Any, frame_b: Any = None) -> slice:
    """Returns the traffic light faces of a frame, or those from the first to the last of two frames."""
    return _joined("frame", frame_a, frame_b, "traffic_light_faces_index_interval", FRAME_DTYPE)


def _joined(what: str, first: Any, last: Any, interval: str, dtype: np.dtype[Any]) -> slice:
    """Returns the records of a scene or frame, or of two and those between."""
    bounds = []
    for name, record in ((f"{what}_a", first), (f"{what}_b", first if last is None else last)):
        checked = records(name, record, [interval], dtype)
        if checked.shape != ():
            raise WrongValue(f"{name}: expected one {what}, found the shape {checked.shape}")
        bounds.append(checked[interval])
    return slice(int(bounds[0][0]), int(bounds[1][1]))


def filter_agents_by_labels(agents: Records, threshold: float = 0.5) -> Records:
    """Returns the agents whose probabilities of the labels CAR to ANIMAL add up to more than a threshold."""
    number("threshold", threshold)
    agents = _several("agents", agents, ["label_probabilities"], AGENT_DTYPE)
    probabilities = agents["label_probabilities"][:, _KEPT]
    # Added one after another in f32, as L5Kit's numpy does.
    total = np.zeros(len(agents), probabilities.dtype)
    for column in range(probabilities.shape[1]):
        total += probabilities[:, column]
    return agents[total > threshold]


def filter_agents_by_track_id(agents: Records, track_id: int) -> Records:
    """Returns the agents of a track: one, or none if it is not there."""
    agents = _several("agents", agents, ["track_id"], AGENT_DTYPE)
    if not is_whole(track_id):
        raise WrongType(f"track_id: expected an integer, found {found(track_id)}")
    if not 0 <= track_id < 2**64:
        return agents[:0]
    chosen: Records = agents[agents["track_id"] == np.uint64(track_id)]
    return chosen


def filter_agents_by_frames(frames: Records, agents: Any) -> list[Records]:
    """Returns the agents of each frame."""
    return _by_frames(frames, "agents", agents, "agent_index_interval")


def filter_tl_faces_by_frames(frames: Records, tl_faces: Any) -> list[Records]:
    """Returns the traffic light faces of each frame."""
    return _by_frames(frames, "tl_faces", tl_faces, "traffic_light_faces_index_interval")


def _by_frames(frames: Records, what: str, of_frames: Any, interval: str) -> list[Records]:
    frames = records("frames", frames, [interval], FRAME_DTYPE)
    if frames.ndim > 1:
        raise WrongValue(f"frames: expected the shape [N], found {list(frames.shape)}")
    if not isinstance(of_frames, (np.ndarray, LazyRecords)) or of_frames.ndim != 1:
        raise WrongType(f"{what}: expected an array of records, found {found(of_frames)}")
    return [of_frames[int(start) : int(stop)] for start, stop in frames.reshape(-1)[interval]]


def _several(what: str, given: Any, fields: list[str], dtype: np.dtype[Any]) -> Records:
    checked = records(what, given, fields, dtype)
    if checked.ndim != 1:
        raise WrongValue(f"{what}: expected the shape [N], found {list(checked.shape)}")
    return checked


def filter_agents_by_distance(agents: Records, centroid: npt.ArrayLike, max_distance: float) -> Records:
    """Returns the agents nearer to a point than a distance in metres, the nearest first."""
    agents = _several("agents", agents, ["centroid"], AGENT_DTYPE)
    number("max_distance", max_distance)
    distances = np.linalg.norm(agents["centroid"] - floats("centroid", centroid, (2,)), axis=-1)
    agents = agents[distances < max_distance]
    return agents[np.argsort(distances[distances < max_distance])]


def filter_tl_faces_by_status(tl_faces: Records, status: str) -> Records:
    """Returns the faces whose probability of a status (`"ACTIVE"`, `"INACTIVE"`, `"UNKNOWN"`) is above 0."""
    if not isinstance(status, str) or status not in TL_FACE_LABEL_TO_INDEX:
        raise WrongValue(f"status {short(repr(status)) if isinstance(status, str) else found(status)}: expected one of {', '.join(TL_FACE_LABEL_TO_INDEX)}")
    tl_faces = _several("tl_faces", tl_faces, ["traffic_light_face_status"], TL_FACE_DTYPE)
    return tl_faces[tl_faces["traffic_light_face_status"][:, TL_FACE_LABEL_TO_INDEX[status]] > 0]


def get_other_agents_ids(
    all_agents_ids: npt.ArrayLike, priority_ids: npt.ArrayLike, selected_track_id: int | None, max_agents: int
) -> list[np.uint64]:
    """Returns the tracks of the agents around one: those that come first, then others, in the order of CPython's sets, as L5Kit.

    Args:
        all_agents_ids: Tracks of agents, [N], from now to the past.
        priority_ids: Tracks that come first, [M].
        selected_track_id: The track that is left out; None for the ego car.
        max_agents: Tracks to return at most.
    """
    first, others = (_tracks(name, given) for name, given in (("priority_ids", priority_ids), ("all_agents_ids", all_agents_ids)))
    if selected_track_id is not None and not is_whole(selected_track_id):
        raise WrongType(f"selected_track_id: expected an integer, found {found(selected_track_id)}")
    most = whole("max_agents", max_agents, -(2**63))
    taken: set[np.uint64] = set()
    for track in np.concatenate([first, others]):
        if len(taken) >= most:
            break
        if track != selected_track_id:
            taken.add(track)
    return list(taken)


def _tracks(what: str, given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    tracks = numbers(what, given)
    if tracks.ndim != 1 or (tracks.size and tracks.dtype.kind not in "iu"):
        raise WrongType(f"{what}: expected integers of the shape [N], found {short(tracks.dtype)} of the shape {list(tracks.shape)}")
    if tracks.size and tracks.dtype.kind == "i" and tracks.min() < 0:
        raise WrongValue(f"{what}: expected tracks of 0 or more, found {tracks.min()}")
    return tracks.astype(np.uint64)
