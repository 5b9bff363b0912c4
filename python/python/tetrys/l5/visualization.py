"""Pictures of samples and scenes, as in `l5kit.visualization`: trajectories on rasters, and animations.

No OpenCV and no bokeh is needed. Lines and circles have the pixels that OpenCV gives them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arguments import number, path_of, several, whole
from .._errors import NotMet, WrongType, WrongValue, array_of, found, imported, short
from ._checks import floats, numbers, of_kind, with_method
from ._datasets import EgoDataset
from ._files import written_whole
from .geometry import transform_points

__all__ = [
    "PREDICTED_POINTS_COLOR",
    "REFERENCE_TRAJ_COLOR",
    "TARGET_POINTS_COLOR",
    "draw_reference_trajectory",
    "draw_sample",
    "draw_scene",
    "draw_trajectory",
    "write_gif",
]

Picture = npt.NDArray[np.uint8]
"""Colours, u8 [height, width, 3]: red, green and blue."""
PREDICTED_POINTS_COLOR = (0, 255, 255)
"""Colour of predicted positions."""
TARGET_POINTS_COLOR = (255, 0, 255)
"""Colour of true positions."""
REFERENCE_TRAJ_COLOR = (255, 255, 0)
"""Colour of a reference trajectory."""

_ARROW, _TIP = 2, 1.8
"""Length of an arrow in pixels, and of the sides of its tip as a multiple of it."""
_MOST_PIXELS = 1 << 16
"""Pixels of a radius, or of a side of a picture."""


def draw_trajectory(
    on_image: Picture, positions: npt.ArrayLike, rgb_color: tuple[int, int, int], radius: int = 1, yaws: npt.ArrayLike | None = None
) -> None:
    """Draws positions onto a picture: as discs, or as arrows if there are yaws.

    Args:
        on_image: The picture, u8 [height, width, 3], which is changed.
        positions: Pixels [N, 2], x and y, such as `transform_points(sample["target_positions"], sample["raster_from_agent"])`.
            What lies outside of the picture is not drawn.
        rgb_color: Red, green and blue, 0 to 255.
        radius: Radius of the discs in pixels. Arrows have a length of two pixels.
        yaws: Directions of the arrows, [N, 1] or [N], in rad from the x axis of the picture towards its y axis.

    The pixels are those of L5Kit, which calls `circle` and `arrowedLine` of OpenCV.

    Example:
        >>> from tetrys.l5.visualization import TARGET_POINTS_COLOR, draw_trajectory
        >>> picture = np.zeros((4, 6, 3), np.uint8)
        >>> draw_trajectory(picture, np.array([[1.0, 1.0], [4.0, 2.0]]), TARGET_POINTS_COLOR)
        >>> picture[:, :, 0] // 255
        array([[0, 1, 0, 0, 0, 0],
               [1, 1, 1, 0, 1, 0],
               [0, 1, 0, 1, 1, 1],
               [0, 0, 0, 0, 1, 0]], dtype=uint8)

    Raises:
        AssertionError (an `Invalid`): there is not one yaw for each position.
        ValueError, TypeError: an argument has another shape or type, or numbers that are not finite.
    """
    picture, color = _canvas(on_image), _color(rgb_color)
    points, size = _points("positions", positions), whole("radius", radius, 0, _MOST_PIXELS)
    if yaws is None:
        for x, y in points.tolist():
            _disc(picture, int(x), int(y), size, color)
        return
    angles = floats("yaws", yaws)
    if angles.shape not in ((len(points), 1), (len(points),)):
        raise NotMet(f"yaws: expected one for each of {len(points)} positions, found the shape {list(angles.shape)}")
    if not np.isfinite(angles).all():
        raise WrongValue("yaws: expected finite numbers")
    for (x, y), yaw in zip(points.tolist(), angles.reshape(-1).tolist(), strict=True):
        _arrow(picture, x, y, yaw, color)


def draw_reference_trajectory(on_image: Picture, world_to_pixel: npt.ArrayLike, positions: npt.ArrayLike) -> None:
    """Draws a trajectory onto a picture as discs of radius 1, in `REFERENCE_TRAJ_COLOR`.

    Args:
        on_image: The picture, u8 [height, width, 3], which is changed.
        world_to_pixel: The matrix from the world, in metres, to pixels, [3, 3], such as the `raster_from_world` of a sample.
        positions: Positions in the world, [N, 2], in metres.

    As in L5Kit, positions are left out unless 0 < x < height and 0 < y < width: in pictures that are not square, x and y are confused.

    Example:
        >>> from tetrys.l5.visualization import draw_reference_trajectory
        >>> picture = np.zeros((4, 4, 3), np.uint8)
        >>> draw_reference_trajectory(picture, [[2, 0, 0], [0, 2, 0], [0, 0, 1]], [[0.5, 0.5], [9.0, 9.0]])
        >>> picture[:, :, 0] // 255
        array([[0, 1, 0, 0],
               [1, 1, 1, 0],
               [0, 1, 0, 0],
               [0, 0, 0, 0]], dtype=uint8)

    Raises:
        ValueError, TypeError: an argument has another shape or type.
    """
    picture, matrix = _canvas(on_image), floats("world_to_pixel", world_to_pixel, (3, 3))
    pixels = transform_points(_points("positions", positions), matrix)
    for x, y in np.floor(pixels[np.all(pixels > 0, axis=1) & np.all(pixels < picture.shape[:2], axis=1)]).tolist():
        _disc(picture, int(x), int(y), 1, REFERENCE_TRAJ_COLOR)


def draw_sample(dataset: EgoDataset, index: int) -> Picture:
    """Draws a sample: its raster, and its future as arrows in `TARGET_POINTS_COLOR`, as L5Kit's notebook `visualise_data` does.

    Args:
        dataset: An `EgoDataset` or an `AgentDataset`.
        index: Number of the sample. Negative numbers count from the end.

    Returns a picture, u8 [height, width, 3]. Steps of the future that nobody saw are left out. Arrows point where the agent goes: the notebook
    draws yaws of the agent without turning them into the picture.

    Example:
        >>> from tetrys.l5.visualization import draw_sample
        >>> picture = draw_sample(EgoDataset(cfg, dataset, rasterizer), 10)

    Raises:
        IndexError: there is no such sample.
        TypeError: the samples have no raster.
    """
    of_kind("dataset", dataset, EgoDataset)
    with_method("dataset, its rasterizer", dataset.rasterizer, "to_rgb", "a rasterizer")
    sample = dataset[index]
    drawn = np.array(dataset.rasterizer.to_rgb(sample["image"].transpose(1, 2, 0)))
    seen = sample["target_availabilities"] > 0
    pixels = transform_points(sample["target_positions"][seen].astype(np.float64), sample["raster_from_agent"])
    draw_trajectory(drawn, pixels, TARGET_POINTS_COLOR, yaws=_turned(sample["target_yaws"][seen], sample["raster_from_agent"]))
    return drawn


def draw_scene(dataset: EgoDataset, scene_index: int, step: int = 1) -> Iterator[Picture]:
    """Draws the samples of a scene one after the other, each when it is asked for.

    Args:
        dataset: An `EgoDataset`: a picture of each frame. Of an `AgentDataset`, a picture of each valid agent of each frame.
        scene_index: Number of the scene.
        step: Draws each so many-th sample.

    Returns pictures as those of `draw_sample`. `write_gif` makes an animation of them.

    Example:
        >>> from tetrys.l5.visualization import draw_scene, write_gif
        >>> write_gif("scene.gif", draw_scene(EgoDataset(cfg, dataset, rasterizer), 0), (224, 224), fps=10)

    Raises:
        AssertionError (an `Invalid`), IndexError: there is no such scene.
        TypeError: the samples have no raster.
    """
    of_kind("dataset", dataset, EgoDataset)
    indices = dataset.get_scene_indices(scene_index)[:: whole("step", step, 1)]
    return (draw_sample(dataset, index) for index in indices.tolist())


def write_gif(
    output_filepath: str | os.PathLike[str], images: Iterable[npt.NDArray[Any]], resolution: tuple[int, int], fps: float = 24.0, loop: int = 0
) -> None:
    """Writes pictures to an animated GIF. An existing file is replaced.

    Args:
        output_filepath: The file.
        images: Pictures, u8 [height, width, 3] or [3, height, width].
        resolution: Width and height of the animation in pixels. Pictures of another size are resized with Pillow's bicubic filter.
        fps: Pictures in a second, from 0.01 to 50. The format has steps of 10 ms, and viewers show shorter ones than 20 ms for longer.
        loop: How often it is repeated; 0: for ever.

    Example:
        >>> from tetrys.l5.visualization import write_gif
        >>> write_gif("blink.gif", [np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)], (8, 8), fps=2)

    Raises:
        ValueError: there is no picture, or a number is impossible.
        tetrys.Unsupported: Pillow is not installed.
    """
    path, rate, repeats = Path(path_of("output_filepath", output_filepath)), number("fps", fps), whole("loop", loop, 0, 65_535)
    if not 0.01 <= rate <= 50:
        raise WrongValue(f"fps: {rate} is outside: expected 0.01 to 50")
    sides = array_of("resolution", resolution)
    if sides.shape != (2,):
        raise WrongValue(f"resolution: expected a width and a height, found {found(resolution)}")
    width, height = (whole("resolution", side, 1, _MOST_PIXELS) for side in sides.tolist())
    pillow = imported("PIL.Image", "a GIF needs Pillow: pip install pillow")
    drawn = []
    for place, image in enumerate(several("images", images)):
        picture = pillow.fromarray(np.ascontiguousarray(_colors(f"images[{place}]", image)))
        drawn.append(picture if picture.size == (width, height) else picture.resize((width, height), pillow.Resampling.BICUBIC))
    if not drawn:
        raise WrongValue("images: found none, expected one or more")
    with written_whole(path) as file:
        drawn[0].save(file, format="GIF", save_all=True, append_images=drawn[1:], duration=round(1000 / rate), loop=repeats)


def _colors(what: str, value: Any) -> Picture:
    """Returns a picture [height, width, 3] of one that may be [3, height, width], as L5Kit's writers take it."""
    picture = numbers(what, value)
    if picture.ndim == 3 and picture.shape[0] == 3:
        picture = picture.transpose(1, 2, 0)
    return _picture(what, picture)


def _picture(what: str, value: Any) -> Picture:
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim != 3 or value.shape[2] != 3:
        kind = f"{short(value.dtype)} {list(value.shape)}" if isinstance(value, np.ndarray) else found(value)
        raise WrongType(f"{what}: expected a picture, uint8 [height, width, 3], found {kind}")
    return value


def _canvas(value: Any) -> Picture:
    """Returns a picture that can be drawn onto."""
    picture = _picture("on_image", value)
    if not picture.flags.writeable:
        raise WrongValue("on_image: the array is read-only: draw onto a copy, np.array(on_image)")
    return picture


def _color(given: Any) -> tuple[int, ...]:
    color = array_of("rgb_color", given)
    if color.shape != (3,):
        raise WrongValue(f"rgb_color: expected red, green and blue, found {found(given)}")
    return tuple(whole("rgb_color", part, 0, 255) for part in color.tolist())


def _points(what: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns positions as f64 [N, 2]. Further columns are not used, as in L5Kit."""
    points = floats(what, value)
    if points.ndim != 2 or points.shape[1] < 2:
        raise WrongValue(f"{what}: expected the shape [N, 2], found {list(points.shape)}")
    if not np.isfinite(points).all():
        raise WrongValue(f"{what}: expected finite numbers: leave out what is not available")
    return points[:, :2]


def _turned(yaws: npt.NDArray[Any], matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns directions in a picture, f64 [N], of yaws [N, 1] in the coordinates that a matrix [3, 3] transforms into it."""
    angles = yaws.astype(np.float64).reshape(-1)
    x, y = matrix[:2, :2] @ np.stack([np.cos(angles), np.sin(angles)])
    turned: npt.NDArray[np.float64] = np.arctan2(y, x)
    return turned


def _disc(picture: Picture, x: int, y: int, radius: int, color: tuple[int, ...]) -> None:
    """Fills a disc as OpenCV's `circle` does (`Circle` in its `drawing.cpp`): rows of pixels from the middle outwards."""
    height, width = picture.shape[:2]
    error, wide, high, plus, minus = 0, radius, 0, 1, 2 * radius - 1
    while wide >= high:
        for row, half in ((y - high, wide), (y + high, wide), (y - wide, high), (y + wide, high)):
            if 0 <= row < height and x + half >= 0:
                picture[row, max(x - half, 0) : x + half + 1] = color
        high, error, plus = high + 1, error + plus, plus + 2
        if error > 0:
            wide, error, minus = wide - 1, error - minus, minus - 2


def _arrow(picture: Picture, x: float, y: float, yaw: float, color: tuple[int, ...]) -> None:
    """Draws an arrow as L5Kit does with OpenCV's `arrowedLine`: a line, and two shorter ones at its end."""
    # OpenCV takes degrees, and a rotation the other way round.
    angle = math.degrees(-yaw) * (math.pi / 180)
    start = int(x), int(y)
    end = int(x + _ARROW * math.cos(angle)), int(y - _ARROW * math.sin(angle))
    _line(picture, start, end, color)
    length = math.hypot(start[0] - end[0], start[1] - end[1]) * _TIP
    back = math.atan2(start[1] - end[1], start[0] - end[0])
    for side in (back + math.pi / 4, back - math.pi / 4):
        _line(picture, (round(end[0] + length * math.cos(side)), round(end[1] + length * math.sin(side))), end, color)


def _line(picture: Picture, start: tuple[int, int], end: tuple[int, int], color: tuple[int, ...]) -> None:
    """Draws a line one pixel wide as OpenCV's `line` does (`LineIterator` in its `drawing.cpp`), from left to right."""
    ends = _clipped(picture.shape[1] - 1, picture.shape[0] - 1, start, end)
    if ends is None:
        return
    (x, y), (last_x, last_y) = sorted(ends, key=lambda point: point[0]) if ends[0][0] != ends[1][0] else ends
    step_y = 1 if last_y >= y else -1
    long, small = last_x - x, abs(last_y - y)
    is_steep = small > long
    if is_steep:
        long, small = small, long
    error = long - 2 * small
    for _ in range(long + 1):
        picture[y, x] = color
        turns = error < 0
        error += 2 * long - 2 * small if turns else -2 * small
        x += 1 if not is_steep or turns else 0
        y += step_y if is_steep or turns else 0


def _clipped(right: int, bottom: int, start: tuple[int, int], end: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Returns the part of a line in a picture whose last column and row are given, as OpenCV's `clipLine` does; None if there is none."""

    def sides(x: int, y: int) -> int:
        return (x < 0) + 2 * (x > right) + 4 * (y < 0) + 8 * (y > bottom)

    if right < 0 or bottom < 0:
        return None
    points = [start, end]
    # First above and below, then left and right: a point that was moved along the line may still be outside.
    for of_rows in (True, False):
        for place in (0, 1):
            (x1, y1), (x2, y2) = points
            codes = sides(x1, y1), sides(x2, y2)
            if codes[0] & codes[1]:
                return None
            x, y = points[place]
            if of_rows and codes[place] & 12:
                edge = 0 if codes[place] & 4 else bottom
                points[place] = x + int((edge - y) * (x2 - x1) / (y2 - y1)), edge
            elif not of_rows and codes[place]:
                edge = 0 if codes[place] & 1 else right
                points[place] = edge, y + int((edge - x) * (y2 - y1) / (x2 - x1))
    (x1, y1), (x2, y2) = points
    return None if sides(x1, y1) or sides(x2, y2) else (points[0], points[1])
