"""A slow, plain implementation of L5Kit's box raster, for tests to compare with.

L5Kit draws with `cv2.fillPoly(.., lineType=LINE_AA, shift=9)` of OpenCV 4.5. The integer arithmetic and the tables below follow
OpenCV's `modules/imgproc/src/drawing.cpp` (Apache-2.0): anti-aliased outlines first, then an even-odd fill of all boxes together.
So overlapping boxes cut holes in each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from l5_reference import (
    EGO_EXTENT,
    F32,
    F64,
    Dataset,
    Records,
    Settings,
    by_labels,
    by_track,
    inverse,
    pose,
    raster_from_local,
    subject,
    transform,
    window,
    yaw_of,
)

Bytes = npt.NDArray[np.uint8]
Point = tuple[int, int]
"""x and y, in units that the function names."""

SUB_BITS = 9
"""Corners are whole numbers of 1/512 pixel."""
ONE_BITS = 16
ONE = 1 << ONE_BITS
"""One pixel in fixed-point coordinates."""
# How much fainter a line becomes that is not parallel to an axis, by its slope.
SLOPES = (
    *(181, 181, 181, 182, 182, 183, 184, 185, 187, 188, 190, 192, 194, 196, 198, 201),
    *(203, 206, 209, 211, 214, 218, 221, 224, 227, 231, 235, 238, 242, 246, 250, 254),
)
# Coverage of a pixel by its distance from the line, in 1/32 pixel.
COVERAGE = (
    *(168, 177, 185, 194, 202, 210, 218, 224, 231, 236, 241, 246, 249, 252, 254, 254),
    *(254, 254, 252, 249, 246, 241, 236, 231, 224, 218, 210, 202, 194, 185, 177, 168),
    *(158, 149, 140, 131, 122, 114, 105, 97, 89, 82, 75, 68, 62, 56, 50, 45),
    *(40, 36, 32, 28, 25, 22, 19, 16, 14, 12, 11, 9, 8, 7, 5, 5),
)


def toward_zero(number: int, by: int) -> int:
    """Divides as C does."""
    quotient = abs(number) // abs(by)
    return quotient if (number < 0) == (by < 0) else -quotient


def clip(start: Point, end: Point, width: int, height: int) -> tuple[Point, Point] | None:
    """Cuts a line to 0 <= x < width, 0 <= y < height. Returns None if it lies outside."""
    right, bottom = width - 1, height - 1
    (x1, y1), (x2, y2) = start, end
    sides1 = (x1 < 0) + (x1 > right) * 2 + (y1 < 0) * 4 + (y1 > bottom) * 8
    sides2 = (x2 < 0) + (x2 > right) * 2 + (y2 < 0) * 4 + (y2 > bottom) * 8
    if sides1 & sides2 == 0 and sides1 | sides2 != 0:
        if sides1 & 12:
            edge = 0 if sides1 < 8 else bottom
            x1 += int(float(edge - y1) * (x2 - x1) / (y2 - y1))
            y1 = edge
            sides1 = (x1 < 0) + (x1 > right) * 2
        if sides2 & 12:
            edge = 0 if sides2 < 8 else bottom
            x2 += int(float(edge - y2) * (x2 - x1) / (y2 - y1))
            y2 = edge
            sides2 = (x2 < 0) + (x2 > right) * 2
        if sides1 & sides2 == 0 and sides1 | sides2 != 0:
            if sides1:
                edge = 0 if sides1 == 1 else right
                y1 += int(float(edge - x1) * (y2 - y1) / (x2 - x1))
                x1 = edge
                sides1 = 0
            if sides2:
                edge = 0 if sides2 == 1 else right
                y2 += int(float(edge - x2) * (y2 - y1) / (x2 - x1))
                x2 = edge
                sides2 = 0
    return ((x1, y1), (x2, y2)) if sides1 | sides2 == 0 else None


def line(image: Bytes, start: Point, end: Point, colour: int = 255) -> None:
    """Draws an anti-aliased line, one pixel wide, into image [H, W]. Coordinates are in 1/65536 pixel."""
    height, width = image.shape
    clipped = clip(start, end, width << ONE_BITS, height << ONE_BITS)
    if clipped is None:
        return
    first, last = clipped
    steep = abs(last[0] - first[0]) <= abs(last[1] - first[1])
    # Steps go along the axis that the line changes most on: `pixels[along, across]`.
    pixels = image if steep else image.T
    if steep:
        first, last = first[::-1], last[::-1]
    if last[0] < first[0]:
        first, last = last, first
    (along, across), (last_along, last_across) = first, last
    step = toward_zero((last_across - across) << ONE_BITS, (last_along - along) | 1)
    last_along += ONE
    count = (last_along >> ONE_BITS) - (along >> ONE_BITS)
    across += (step * -(along & (ONE - 1)) >> ONE_BITS) + (ONE >> 1)
    slope = (step >> (ONE_BITS - 5)) & 0x3F ^ (0x3F if step < 0 else 0)
    strength = 0x100 if slope & 0x20 else SLOPES[slope]
    ends = _ends(strength, (along >> (ONE_BITS - 7)) & 0x78, (last_along >> (ONE_BITS - 7)) & 0x78)
    for done in range(count + 1):
        at = (along >> ONE_BITS) + done
        corrected = ends[min(done, 2) * 3 + min(count - done, 2)]
        below, distance = (across >> ONE_BITS) - 1, across >> (ONE_BITS - 5) & 31
        across += step
        if not 0 <= at < pixels.shape[0]:
            continue
        for side, coverage in enumerate((COVERAGE[distance + 32], COVERAGE[distance], COVERAGE[63 - distance])):
            if 0 <= below + side < pixels.shape[1]:
                value, alpha = int(pixels[at, below + side]), corrected * coverage >> 8 & 0xFF
                for _ in range(2):
                    value += (colour - value) * alpha + 127 >> 8
                pixels[at, below + side] = value


def _ends(strength: int, start: int, end: int) -> tuple[int, ...]:
    """Returns the strength of a pixel by its distance (0, 1, more) from the start, times 3, plus that from the end of the line.

    `start` and `end` are the fractions of the line's ends in 1/128 pixel.
    """
    full, before, after = strength << 7, (0x78 - start | 4) * strength, (end | 4) * strength
    both = (end - start & 0x78 | 4) * strength
    between = (end - start + 0x80 | 4) * strength
    cut = [both, before, both, between, before + full, after, after + full]
    middle = [value >> 8 & 0x1FF for value in cut]
    return (0, *middle, strength)


def fill(image: Bytes, polygons: npt.NDArray[np.int64], colour: int = 255) -> None:
    """Draws polygons [N, K, 2] with corners in 1/512 pixel into image [H, W], as one call of `cv2.fillPoly`."""
    height, width = image.shape
    edges: list[tuple[int, int, int, int]] = []  # first row, end row, x in the first row, x per row
    for polygon in polygons.tolist():
        corners = [(x << (ONE_BITS - SUB_BITS), (y + (1 << SUB_BITS - 1)) >> SUB_BITS) for x, y in polygon]
        for (x0, y0), (x1, y1) in zip([corners[-1], *corners[:-1]], corners, strict=True):
            line(image, (x0, y0 << ONE_BITS), (x1, y1 << ONE_BITS), colour)
            if y0 != y1:
                dx = toward_zero(x1 - x0, y1 - y0)
                edges.append((y0, y1, x0, dx) if y0 < y1 else (y1, y0, x1, dx))
    for y in range(height):
        crossings = sorted(x + (y - first) * dx for first, end, x, dx in edges if first <= y < end)
        for left, right in zip(crossings[::2], crossings[1::2], strict=True):
            begin, stop = max(left + ONE - 1 >> ONE_BITS, 0), min(right >> ONE_BITS, width - 1)
            if begin <= stop:
                image[y, begin : stop + 1] = colour


def corners_in_world(boxes: Records) -> F64:
    """Returns the corners [N, 4, 2] of boxes in the world, in metres."""
    signs = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * 0.5
    around = signs[None] * boxes["extent"][:, None, :2]
    cosine, sine = np.cos(boxes["yaw"])[:, None], np.sin(boxes["yaw"])[:, None]
    x, y = around[..., 0], around[..., 1]
    turned = np.stack([x * cosine - y * sine, x * sine + y * cosine], axis=-1)
    return np.asarray(turned + boxes["centroid"][:, None, :])


def draw(settings: Settings, raster_from_world: F64, boxes: Records) -> Bytes:
    """Returns an image [H, W] of boxes."""
    width, height = settings.raster_size
    image = np.zeros((height, width), np.uint8)
    pixels = transform(corners_in_world(boxes).reshape(-1, 2), raster_from_world)
    fill(image, (pixels * (1 << SUB_BITS)).astype(np.int64).reshape(-1, 4, 2))
    return image


def ego_as_agent(frame: Any, dtype: np.dtype[Any]) -> Records:
    """Returns the ego vehicle as one agent row."""
    ego = np.zeros(1, dtype)
    ego["centroid"] = frame["ego_translation"][:2]
    ego["yaw"] = yaw_of(frame["ego_rotation"])
    ego["extent"] = EGO_EXTENT
    return ego


def box_image(data: Dataset, scene: int, state: int, track_id: int | None, settings: Settings) -> F32:
    """Returns the image [2 (H + 1), height, width] of a sample: agents now and before, then the subject now and before."""
    around = window(data, scene, state, settings.history, 0)
    current = subject(around.history_frames[0], around.history_agents[0], track_id, settings.threshold)
    # For agents, L5Kit's rasterizer takes sine and cosine in f32.
    yaw = current.yaw if current.row is None else current.row["yaw"]
    raster_from_world = raster_from_local(settings) @ inverse(pose(current.centroid, yaw))
    channels = settings.history + 1
    image = np.zeros((2 * channels, settings.raster_size[1], settings.raster_size[0]), np.uint8)
    for step, (frame, agents) in enumerate(zip(around.history_frames, around.history_agents, strict=True)):
        others = by_labels(agents, settings.threshold)
        ego = ego_as_agent(frame, agents.dtype)
        if track_id is None:
            chosen = ego
        else:
            chosen = by_track(others, track_id)
            if len(chosen) > 0:
                others = others[others != chosen[0]]
            others = np.concatenate([others, ego])
        image[step] = draw(settings, raster_from_world, others)
        if len(chosen) > 0 and (settings.render_ego_history or step == 0):
            image[channels + step] = draw(settings, raster_from_world, chosen)
    return image.astype(np.float32) / np.float32(255)
