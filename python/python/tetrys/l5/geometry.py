"""Angles, rotations and transforms, as in `l5kit.geometry`."""

from __future__ import annotations

import math
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .._arguments import number
from .._errors import NotMet, WrongValue, found
from ._checks import floats, numbers
from ._perturbation import _rotation, _yaw

__all__ = [
    "angle_between_vectors",
    "angular_distance",
    "compute_agent_pose",
    "compute_yaw_around_north_from_direction",
    "ecef_to_geodetic",
    "geodetic_to_ecef",
    "rotation33_as_yaw",
    "transform_point",
    "transform_points",
    "vertical_flip",
    "yaw_as_rotation33",
]

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
_SEMI_MAJOR, _FLATTENING = 6_378_137.0, 1 / 298.257_223_563
"""The ellipsoid of WGS 84, in metres."""
_ECCENTRICITY = _FLATTENING * (2 - _FLATTENING)
"""Square of its first eccentricity."""


def transform_points(points: npt.ArrayLike, transf_matrix: npt.ArrayLike) -> Array:
    """Transforms points by matrices.

    Args:
        points: [N, F], or [B, N, F], with F of 2 or 3.
        transf_matrix: [F + 1, F + 1]; of points [B, N, F] also [B, F + 1, F + 1]. The last row of a matrix is not used.

    Returns the points, of the same shape; of points [1, N, F] and matrices [B, ..], each with the points, [B, N, F].

    Example:
        >>> from tetrys.l5.geometry import compute_agent_pose, transform_points
        >>> transform_points(np.array([[1.0, 0.0]]), compute_agent_pose(np.array([10.0, 20.0]), 0.0))
        array([[11., 20.]])

    Raises:
        AssertionError (an `Invalid`): the shapes do not fit together.
    """
    given, matrix = numbers("points", points), numbers("transf_matrix", transf_matrix)
    shapes = f"found points {list(given.shape)} and matrices {list(matrix.shape)}"
    if given.ndim not in (2, 3) or given.shape[-1] not in (2, 3):
        raise NotMet(f"points: expected the shape [N, F] or [B, N, F], with F of 2 or 3, {shapes}")
    size = given.shape[-1] + 1
    if matrix.ndim not in (2, 3) or matrix.ndim > given.ndim or matrix.shape[-2:] != (size, size):
        raise NotMet(f"transf_matrix: expected the shape [{size}, {size}], or one matrix for each [N, F] of points, {shapes}")
    if matrix.ndim == 3 and matrix.shape[0] not in (1, given.shape[0]) and given.shape[0] != 1:
        raise NotMet(f"transf_matrix: expected one matrix for each of {given.shape[0]} sequences of points, {shapes}")
    turned = np.swapaxes(matrix, -1, -2)
    made: Array = given @ turned[..., :-1, :-1] + turned[..., -1:, :-1]
    return made


def transform_point(point: npt.ArrayLike, transf_matrix: npt.ArrayLike) -> Array:
    """Transforms a point [F] by a matrix [F + 1, F + 1], with F of 2 or 3.

    Raises:
        AssertionError (an `Invalid`): the shapes do not fit together.
    """
    made: Array = transform_points(numbers("point", point)[None], transf_matrix)[0]
    return made


def vertical_flip(tm: npt.ArrayLike, y_dim_size: int) -> Floats:
    """Returns a transform [3, 3] that also flips the y axis of a picture.

    Args:
        tm: A transform into the picture, [3, 3].
        y_dim_size: Height of the picture in pixels.
    """
    made = floats("tm", tm, (3, 3)).copy()
    made[1] = -made[1]
    made[1, 2] += number("y_dim_size", y_dim_size)
    return made


def rotation33_as_yaw(rotation: npt.ArrayLike) -> float:
    """Returns the yaw of a rotation matrix [3, 3] in rad; 0 if it points straight up or down."""
    return _yaw(floats("rotation", rotation, (3, 3)))


def yaw_as_rotation33(yaw: float) -> Floats:
    """Returns the rotation matrix [3, 3] of a yaw in rad, counter-clockwise."""
    return _rotation(_finite("yaw", yaw))


def compute_agent_pose(agent_centroid_m: npt.ArrayLike, agent_yaw_rad: float) -> Floats:
    """Returns the matrix world_from_agent, f64 [3, 3], of a position [2] in metres and a yaw in rad."""
    pose = _rotation(_finite("agent_yaw_rad", agent_yaw_rad))
    pose[:2, 2] = floats("agent_centroid_m", agent_centroid_m, (2,))
    return pose


Angles = TypeVar("Angles", float, Array)


def angular_distance(angle_a: Angles, angle_b: Angles) -> Angles:
    """Returns the angles from `angle_b` to `angle_a` in rad, in -pi..pi. Both may be numbers, or arrays that numpy broadcasts.

    Example:
        >>> from tetrys.l5.geometry import angular_distance
        >>> round(angular_distance(3.0, -3.0), 6)
        -0.283185
    """
    first, other = numbers("angle_a", angle_a), numbers("angle_b", angle_b)
    # Beside an array, a number leaves the type as it is: f32 minus a number is f32, as in L5Kit.
    a, b = (one.item() if one.ndim == 0 and beside.ndim else one for one, beside in ((first, other), (other, first)))
    try:
        made = (a - b + np.pi) % (2 * np.pi) - np.pi
    except ValueError as error:
        raise WrongValue(f"angle_a, angle_b: the shapes {list(first.shape)} and {list(other.shape)} do not fit together") from error
    return cast(Angles, made)


def angle_between_vectors(v1: npt.ArrayLike, v2: npt.ArrayLike) -> float:
    """Returns the angle between two vectors [2] or [3] in rad, in 0..pi."""
    first, other = floats("v1", v1), floats("v2", v2)
    if first.shape not in ((2,), (3,)) or other.shape != first.shape:
        raise WrongValue(f"v1, v2: expected two vectors [2] or [3], found {list(first.shape)} and {list(other.shape)}")
    if first.shape == (2,):
        sine = abs(first[0] * other[1] - first[1] * other[0])
    else:
        sine = np.linalg.norm(np.cross(first, other))
    return float(np.arctan2(sine, np.dot(first, other)))


def compute_yaw_around_north_from_direction(direction_vector: npt.ArrayLike) -> float:
    """Returns the angle between a vector [2] and north, (0, 1), in rad, in 0..pi."""
    return angle_between_vectors(floats("direction_vector", direction_vector, (2,)), (0.0, 1.0))


def geodetic_to_ecef(lla_point: npt.ArrayLike) -> Floats:
    """Returns the earth-centred coordinates [3] in metres of a latitude and a longitude in degrees, and a height in metres or none (0)."""
    point = floats("lla_point", lla_point)
    if point.shape not in ((2,), (3,)) or not np.isfinite(point).all() or abs(point[0]) > 90:
        raise WrongValue(f"lla_point: expected a latitude of -90 to 90 degrees, a longitude, and a height or none, found {found(point.tolist())}")
    latitude, longitude, height = *np.radians(point[:2]), point[2] if len(point) == 3 else 0.0
    radius = _SEMI_MAJOR / math.sqrt(1 - _ECCENTRICITY * math.sin(latitude) ** 2)
    across = (radius + height) * math.cos(latitude)
    return np.array([across * math.cos(longitude), across * math.sin(longitude), (radius * (1 - _ECCENTRICITY) + height) * math.sin(latitude)])


def ecef_to_geodetic(point: npt.ArrayLike) -> Floats:
    """Returns the latitude and the longitude in degrees and the height in metres, f64 [3], of earth-centred coordinates [3] in metres.

    Raises:
        ValueError (an `Invalid`): the point lies within 100 km of the centre of the earth, where latitudes are not unique.
    """
    x, y, z = floats("point", point, (3,)).tolist()
    if not math.isfinite(x + y + z) or math.hypot(x, y, z) < 100_000:
        raise WrongValue(f"point: expected coordinates of 100 km or more from the centre of the earth, found {found([x, y, z])}")
    across = math.hypot(x, y)
    latitude = math.atan2(z, across * (1 - _ECCENTRICITY))
    # Bowring's iteration: each step gains some six digits near the surface.
    for _ in range(20):
        reduced = math.atan2((1 - _FLATTENING) * math.sin(latitude), math.cos(latitude))
        minor = _SEMI_MAJOR * (1 - _FLATTENING)
        above = z + _ECCENTRICITY / (1 - _ECCENTRICITY) * minor * math.sin(reduced) ** 3
        latitude = math.atan2(above, across - _ECCENTRICITY * _SEMI_MAJOR * math.cos(reduced) ** 3)
    sine, cosine = math.sin(latitude), math.cos(latitude)
    height = across * cosine + z * sine - _SEMI_MAJOR * math.sqrt(1 - _ECCENTRICITY * sine**2)
    return np.array([math.degrees(latitude), math.degrees(math.atan2(y, x)), height])


def _finite(what: str, value: object) -> float:
    made = number(what, value)
    if not math.isfinite(made):
        raise WrongValue(f"{what}: expected a finite number, found {made}")
    return made
