"""Random scenes in L5Kit's record layout, full of the cases that go wrong, and a writer of zarr folders as L5Kit writes them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[Any]

SCENE = np.dtype([("frame_index_interval", "<i8", (2,)), ("host", "<U16"), ("start_time", "<i8"), ("end_time", "<i8")])
FRAME = np.dtype(
    [
        ("timestamp", "<i8"),
        ("agent_index_interval", "<i8", (2,)),
        ("traffic_light_faces_index_interval", "<i8", (2,)),
        ("ego_translation", "<f8", (3,)),
        ("ego_rotation", "<f8", (3, 3)),
    ]
)
AGENT = np.dtype(
    [
        ("centroid", "<f8", (2,)),
        ("extent", "<f4", (3,)),
        ("yaw", "<f4"),
        ("velocity", "<f4", (2,)),
        ("track_id", "<u8"),
        ("label_probabilities", "<f4", (17,)),
    ]
)
FACE = np.dtype([("face_id", "<U16"), ("traffic_light_id", "<U16"), ("traffic_light_face_status", "<f4", (3,))])
LABELS = (
    *("NOT_SET", "UNKNOWN", "DONTCARE", "CAR", "VAN", "TRAM", "BUS", "TRUCK", "EMERGENCY_VEHICLE", "OTHER_VEHICLE"),
    *("BICYCLE", "MOTORCYCLE", "CYCLIST", "MOTORCYCLIST", "PEDESTRIAN", "ANIMAL"),
)
NAMES = ("scenes", "frames", "agents", "traffic_light_faces")
"""Folders of the four arrays."""
CHUNK_ROWS = {"agents": 20_000}
"""Rows per chunk of L5Kit; 10,000 where nothing else is said."""

START_NS = 1_570_000_000_000_000_000
STEP_NS = 100_000_000
EXTENTS = [(4.6, 1.9, 1.6), (0.8, 0.7, 1.7), (0.1, 0.1, 0.1), (0.1, 0.0999, 0.1), (0.0, 0.0, 0.0)]


def random_dataset(
    seed: int, scenes: int = 4, max_frames: int = 30, tracks: int = 12, threshold: float = 0.5
) -> tuple[Records, Records, Records, Records]:
    """Makes scenes, frames, agents and traffic light faces that depend on the seed alone.

    The second scene has one frame. Some frames have no agents, tracks have gaps, and some frames have a track twice. Labels add
    up to about `threshold`, areas are near 0 or change by about 10 %, agents are about 50 m away, and yaws jump by about 30
    degrees. Each is now and then just below and above L5Kit's limit. No two agents are equally far from the ego.

    Args:
        max_frames: Frames of the longest scene.
        tracks: Tracks of a scene.
    """
    rng = np.random.default_rng(seed)
    scene_rows = np.zeros(scenes, SCENE)
    frame_rows, agent_rows, face_rows = [np.zeros(0, FRAME)], [np.zeros(0, AGENT)], [np.zeros(0, FACE)]
    agent_end = face_end = 0
    for scene in range(scenes):
        count = 1 if scene == 1 else int(rng.integers(1, max_frames + 1))
        frames = _ego(rng, count, scene)
        start = sum(len(rows) for rows in frame_rows)
        host = f"host-{'ab'[scene % 2]}{rng.integers(100, 110)}"
        # As in the real data, the times of a scene do not fit those of its frames.
        times = (frames["timestamp"][0] + 18_000_000_000, frames["timestamp"][-1] + 18_000_000_000)
        scene_rows[scene] = ((start, start + count), host, *times)
        around = [_track(rng, track_id, frames, threshold) for track_id in _track_ids(rng, tracks)]
        for number, frame in enumerate(frames):
            here = np.concatenate([agent_rows[0][:0], *(rows[number] for rows in around)])
            if rng.random() < 0.08:
                here = here[:0]
            faces = _faces(rng)
            agent_rows.append(here[rng.permutation(len(here))])
            face_rows.append(faces)
            frame["agent_index_interval"] = agent_end, agent_end + len(here)
            frame["traffic_light_faces_index_interval"] = face_end, face_end + len(faces)
            agent_end, face_end = agent_end + len(here), face_end + len(faces)
        frame_rows.append(frames)
    return scene_rows, np.concatenate(frame_rows), np.concatenate(agent_rows), np.concatenate(face_rows)


def _ego(rng: np.random.Generator, count: int, scene: int) -> Records:
    """Returns frames of an ego that drives a curve, now and then standing still."""
    frames = np.zeros(count, FRAME)
    late = rng.integers(-500_000, 500_000, count)
    frames["timestamp"] = START_NS + scene * 10**12 + np.arange(count) * STEP_NS + late
    yaw = rng.uniform(-math.pi, math.pi) + np.cumsum(rng.normal(0, 0.03, count))
    speed = rng.choice([0.0, rng.uniform(0, 25)]) * 0.1
    frames["ego_translation"][:, 0] = rng.uniform(-2000, 2000) + np.cumsum(np.cos(yaw) * speed)
    frames["ego_translation"][:, 1] = rng.uniform(-2000, 2000) + np.cumsum(np.sin(yaw) * speed)
    frames["ego_translation"][:, 2] = rng.uniform(200, 300)
    tilt = rng.normal(0, 0.01, count)
    for frame, angle, pitch in zip(frames, yaw, tilt, strict=True):
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        nod = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
        frame["ego_rotation"] = turn @ nod
    return frames


def _track_ids(rng: np.random.Generator, count: int) -> list[int]:
    """Returns different ids: small ones, and now and then huge ones. Scenes use the same ids again."""
    small = rng.choice(np.arange(1, 4 * count + 1), count, replace=False).tolist()
    return [int(one) + (int(rng.integers(1, 2**31)) << 32 if rng.random() < 0.05 else 0) for one in small]


def _track(rng: np.random.Generator, track_id: int, frames: Records, threshold: float) -> list[Records]:
    """Returns the rows of a track in each frame: none, one, or two. One track in three is a car beside the ego in every frame."""
    count = len(frames)
    calm = rng.random() < 0.33
    first, last = (0, count - 1) if calm or rng.random() < 0.5 else sorted(rng.integers(0, count, 2))
    gaps, twice = (0.0, 0.0) if calm else (rng.choice([0.0, 0.05, 0.3]), rng.choice([0.0, 0.1]))
    extent = np.array(_pick(rng, EXTENTS), np.float32)
    labels = _labels(rng, threshold)
    if calm:
        extent, labels = np.array(EXTENTS[0], np.float32), np.eye(17, dtype=np.float32)[3]
    # Most agents are near the ego, and some at the limit of 50 m.
    distance = rng.uniform(2, 45) if calm else rng.choice([rng.uniform(2, 45), 50.0])
    bearing, yaw, turn = rng.uniform(-math.pi, math.pi), rng.uniform(-math.pi, math.pi), rng.normal(0, 0.02)
    centre = frames["ego_translation"][0, :2] + distance * np.array([math.cos(bearing), math.sin(bearing)])
    velocity = rng.choice([0.0, 1.0]) * rng.normal(0, 5, 2)
    rows = []
    for number in range(count):
        here = 0 if not first <= number <= last or rng.random() < gaps else 2 if rng.random() < twice else 1
        agents = np.zeros(here, AGENT)
        ego = frames["ego_translation"][number, :2]
        centre = centre + velocity * 0.1
        if calm:
            centre = ego + distance * np.array([math.cos(bearing), math.sin(bearing)])
        sudden = 0.0 if calm else rng.random()
        yaw += turn
        if sudden > 0.92:
            yaw += _pick(rng, [math.pi / 6, -math.pi / 6, 0.5, -0.6, math.pi, 3.0])
        elif sudden > 0.82:
            extent = extent * np.float32(_pick(rng, [1.09, 1.0999999, 1.1, 1.11, 1 / 1.1, 0.5]))
        elif sudden > 0.77:
            labels = _labels(rng, threshold)
        agents["track_id"], agents["extent"], agents["velocity"] = track_id, extent, velocity
        agents["yaw"] = math.remainder(yaw, 2 * math.pi)
        agents["label_probabilities"] = labels
        # The noise of a tracker; it also makes every distance unique.
        agents["centroid"] = centre + rng.normal(0, 0.02, (here, 2))
        if distance == 50.0 and rng.random() < 0.3:
            # Not at exactly 50 m: there, the last bit of a norm decides.
            agents["centroid"] = ego + _pick(rng, [49.9999999, 50.0000001]) * _units(rng, here)
        rows.append(agents)
    return rows


def _labels(rng: np.random.Generator, threshold: float) -> npt.NDArray[np.float32]:
    """Returns label probabilities [17] that add up to 1, or nearly."""
    labels = np.zeros(17, np.float32)
    kind = rng.random()
    if kind < 0.6:
        labels[_pick(rng, [3, 3, 3, 12, 14])] = 1
    elif kind < 0.8:
        labels[_pick(rng, [0, 1, 2, 16])] = 1
    else:
        # Road users have `threshold` up to rounding.
        kept = rng.dirichlet(np.ones(13)) * threshold
        labels[3:16] = kept + rng.choice([-1e-8, 0.0, 1e-8])
        labels[1] = 1 - threshold
    return labels


def _faces(rng: np.random.Generator) -> Records:
    """Returns traffic light faces of a frame. Each is there several times, as in the real data."""
    lights = rng.integers(0, 4, rng.integers(0, 3))
    faces = np.zeros(len(lights) * 6, FACE)
    for place, light in enumerate(np.repeat(lights, 6)):
        colour = place // 2 % 3
        status = np.eye(3, dtype=np.float32)[int(rng.choice([0, 1, 1, 2]))]
        faces[place] = (f"f{light}+{colour}/", f"light-{light}", status)
    return faces


def _pick(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _units(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Returns unit vectors [N, 2]."""
    angles = rng.uniform(-math.pi, math.pi, count)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def write_zarr(
    folder: Path,
    arrays: tuple[Records, ...] | Mapping[str, Records],
    chunk_rows: int | Mapping[str, int] | None = None,
    compressed: bool = True,
) -> Path:
    """Writes arrays as the zarr group that L5Kit writes, and returns its folder.

    Args:
        folder: The folder, which must not exist. L5Kit expects a name that ends in `.zarr`.
        arrays: Scenes, frames, agents and traffic light faces, or arrays by name. A name may have slashes: `agents_mask/0.5`.
        chunk_rows: Rows per chunk, for all arrays or by name; default: those of L5Kit.
        compressed: Blosc with LZ4, which needs numcodecs. Otherwise chunks are plain bytes.
    """
    named = arrays if isinstance(arrays, Mapping) else dict(zip(NAMES, arrays, strict=False))
    folder.mkdir(parents=True)
    _write_json(folder / ".zgroup", {"zarr_format": 2})
    labels = [*(f"PERCEPTION_LABEL_{label}" for label in LABELS), "AVRESEARCH_LABEL_DONTCARE"]
    _write_json(folder / ".zattrs", {"format_version": 2, "labels": labels})
    for name, array in named.items():
        rows = CHUNK_ROWS.get(name, 10_000)
        if chunk_rows is not None:
            rows = chunk_rows if isinstance(chunk_rows, int) else chunk_rows.get(name, rows)
        for parent in Path(name).parents[:-1]:
            (folder / parent).mkdir(parents=True, exist_ok=True)
            _write_json(folder / parent / ".zgroup", {"zarr_format": 2})
        _write_array(folder / name, array, rows, compressed)
    return folder


def _write_array(folder: Path, array: Records, rows: int, compressed: bool) -> None:
    """Writes chunks of `rows` rows. The last one is filled up with zeros."""
    folder.mkdir()
    shape = (rows, *array.shape[1:])
    encode, compressor = bytes, None
    if compressed:
        from numcodecs import Blosc  # type: ignore[import-untyped]

        blosc = Blosc(cname="lz4", clevel=5, shuffle=1, blocksize=0)
        encode, compressor = blosc.encode, blosc.get_config()
    zeros = base64.standard_b64encode(bytes(array.dtype.itemsize)).decode()
    described = {
        "chunks": list(shape),
        "compressor": compressor,
        "dtype": _described(array.dtype),
        "fill_value": zeros if array.dtype.names else 0,
        "filters": None,
        "order": "C",
        "shape": list(array.shape),
        "zarr_format": 2,
    }
    _write_json(folder / ".zarray", described)
    for number, start in enumerate(range(0, len(array), rows)):
        chunk = np.zeros(shape, array.dtype)
        part = array[start : start + rows]
        chunk[: len(part)] = part
        (folder / ".".join([str(number), *["0"] * (array.ndim - 1)])).write_bytes(encode(chunk))


def _described(dtype: np.dtype[Any]) -> Any:
    """Returns a type as `.zarray` has it: a name, or a list of fields."""
    if dtype.names is None:
        return dtype.str
    return [[name, *(list(part) if isinstance(part, tuple) else part for part in rest)] for name, *rest in dtype.descr]


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=4, sort_keys=True, ensure_ascii=True))
