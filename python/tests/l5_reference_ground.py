"""A slow, plain implementation of L5Kit's semantic and satellite rasters, for tests to compare with.

Lanes and crosswalks are drawn with the lines and polygons of `l5_reference_raster`, colour by colour. The aerial picture is rotated and
resized in floating point, where OpenCV takes fixed-point numbers: the results differ by a few levels at most, if the picture is smooth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from l5_reference import F32, F64, Dataset, Settings, by_status, inverse, pose, raster_from_local, subject, transform, window
from l5_reference_raster import ONE_BITS, SUB_BITS, Bytes, fill, line

POINTS = 20
"""Points of a lane's boundary."""
ROAD, CROSSWALK = (17, 17, 31), (255, 117, 69)
LANES = {None: (255, 217, 82), "red": (255, 0, 0), "green": (0, 255, 0), "yellow": (255, 255, 0)}


@dataclass(frozen=True)
class Lane:
    """Boundaries [N, 3] in the world, in metres, and the ids of what controls the lane."""

    left: F64
    right: F64
    controls: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ground:
    """A map. `colors` has the colour of each face of a traffic light."""

    lanes: list[Lane]
    crosswalks: list[F64]
    colors: dict[str, str]


def centre(data: Dataset, scene: int, state: int, track_id: int | None, settings: Settings) -> tuple[F64, F64, float, float]:
    """Returns the matrix from the world to pixels, the world position of the raster's centre, and height and yaw of the subject."""
    here = window(data, scene, state, 0, 0)
    current = subject(here.history_frames[0], here.history_agents[0], track_id, settings.threshold)
    yaw = current.yaw if current.row is None else current.row["yaw"]
    raster_from_world = raster_from_local(settings) @ inverse(pose(current.centroid, yaw))
    middle = np.asarray(settings.raster_size)[None] * 0.5
    position = transform(middle, np.asarray(np.linalg.inv(raster_from_world), np.float64))[0]
    return raster_from_world, position, float(here.history_frames[0]["ego_translation"][2]), float(yaw)


def resampled(points: F64) -> F64:
    """Returns `POINTS` points at equal distances along a chain."""
    along = np.insert(np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=-1)), 0, 0)
    steps = np.linspace(0, along[-1], POINTS)
    return np.stack([np.interp(steps, along, points[:, axis]) for axis in range(3)], axis=-1)


def reaches(points: F64, position: F64, radius: float) -> bool:
    """Whether the rectangle around points reaches into a square."""
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    return bool(np.all(low < position + radius) and np.all(high > position - radius))


def semantic_image(data: Dataset, scene: int, state: int, track_id: int | None, settings: Settings, ground: Ground) -> F32:
    """Returns the image [3, height, width] of the map around a sample."""
    raster_from_world, position, _, _ = centre(data, scene, state, track_id, settings)
    width, height = settings.raster_size
    planes = [np.full((height, width), 255, np.uint8) for _ in range(3)]
    radius = float(np.linalg.norm(np.multiply(settings.raster_size, settings.pixel_size))) / 2
    active = set(by_status(window(data, scene, state, 0, 0).history_tl_faces[0], 0)["face_id"].tolist())

    def pixels(points: F64) -> list[tuple[int, int]]:
        fixed = (transform(points[:, :2], raster_from_world) * (1 << SUB_BITS)).astype(np.int64)
        return [(x, y) for x, y in fixed.tolist()]

    def draw(chain: list[tuple[int, int]], colour: tuple[int, int, int]) -> None:
        finer = [(x << ONE_BITS - SUB_BITS, y << ONE_BITS - SUB_BITS) for x, y in chain]
        for start, end in zip(finer[:-1], finer[1:], strict=True):
            for plane, value in zip(planes, colour, strict=True):
                line(plane, start, end, value)

    borders: dict[str | None, list[list[tuple[int, int]]]] = {}
    for lane in ground.lanes:
        if not reaches(np.concatenate([lane.left, lane.right]), position, radius):
            continue
        left, right = pixels(resampled(lane.left)), pixels(resampled(lane.right)[::-1])
        for plane, value in zip(planes, ROAD, strict=True):
            fill(plane, np.array([left + right]), value)
        lights = [ground.colors[control] for control in lane.controls if control in active and control in ground.colors]
        borders.setdefault(lights[-1] if lights else None, []).extend([left, right])
    for light, chains in borders.items():
        for chain in chains:
            draw(chain, LANES[light])
    for outline in ground.crosswalks:
        if reaches(outline, position, radius):
            around = pixels(outline)
            draw([around[-1], *around], CROSSWALK)
    return np.stack(planes).astype(np.float32) / np.float32(255)


def bilinear(image: F64, x: F64, y: F64) -> F64:
    """Returns the values [..., 3] of an image [H, W, 3] between pixels. Outside of it, all is 0."""
    padded = np.zeros((image.shape[0] + 2, image.shape[1] + 2, 3))
    padded[1:-1, 1:-1] = image
    x, y = np.clip(x, -1, image.shape[1]) + 1, np.clip(y, -1, image.shape[0]) + 1
    left, top = np.minimum(x.astype(int), image.shape[1]), np.minimum(y.astype(int), image.shape[0])
    right, bottom = (x - left)[..., None], (y - top)[..., None]
    above = padded[top, left] * (1 - right) + padded[top, left + 1] * right
    below = padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right
    return np.asarray(above * (1 - bottom) + below * bottom)


def satellite_image(
    data: Dataset, scene: int, state: int, track_id: int | None, settings: Settings, aerial: Bytes, aerial_from_world: F64
) -> F32:
    """Returns the image [3, height, width] of an aerial picture [H, W, 3] around a sample. Raises IndexError outside of the picture."""
    _, position, altitude, yaw = centre(data, scene, state, track_id, settings)
    row, column = (aerial_from_world @ [*position, altitude, 1.0])[:2]
    metres = np.mean([1 / np.linalg.norm(aerial_from_world[axis, :3]) for axis in (0, 1)])
    side = max(settings.raster_size)
    wanted = int(np.rint(side * settings.pixel_size[0] / metres))
    cut = int(np.ceil(wanted * np.sqrt(2)))
    top, left = int(np.trunc(row - cut // 2)), int(np.trunc(column - cut // 2))
    if min(top, left) < 0 or top + cut >= aerial.shape[0] or left + cut >= aerial.shape[1]:
        raise IndexError("the raster leaves the aerial picture")
    square = aerial[top : top + cut, left : left + cut].astype(np.float64)
    # A turn by -yaw around the middle in pixels, whose y grows downwards.
    cosine, sine = np.cos(-yaw), np.sin(-yaw)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    first, second = int(cut / 2 - wanted / 2), np.arange(wanted)
    y, x = np.meshgrid(first + second - cut / 2, first + second - cut / 2, indexing="ij")
    source = np.linalg.inv(turn) @ np.stack([x.ravel(), y.ravel()]) + cut / 2
    turned = np.rint(bilinear(square, source[0], source[1])).reshape(wanted, wanted, 3)
    steps = np.clip((np.arange(side) + 0.5) * wanted / side - 0.5, 0, wanted - 1)
    down, right = np.meshgrid(steps, steps, indexing="ij")
    image = bilinear(turned, right, down)
    (width, height), size = settings.raster_size, side / 2
    image = image[int(size - height / 2) :, int(size - width / 2) :][:height, :width]
    if not settings.origin_bottom:
        image = image[::-1]
    return np.asarray(image.transpose(2, 0, 1) / 255, np.float32)
