"""Semantic maps as bytes: the messages of L5Kit's `road_network.proto`, written by hand."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

LATITUDE, LONGITUDE = 37.4, -122.1
"""The origin of all coordinates, in degrees."""
COLORS = {"red": 11, "yellow": 12, "green": 13}
"""Fields of the faces of traffic lights."""

F64 = npt.NDArray[np.float64]


def world_to_ecef(shift: npt.ArrayLike) -> F64:
    """Returns the matrix of a world frame whose axes point east, north and up, and in which the origin lies at `shift` [3]."""
    lat, lng = math.radians(LATITUDE), math.radians(LONGITUDE)
    major, flattening = 6378137.0, 1 / 298.257223563
    squeezed = flattening * (2 - flattening)
    normal = major / math.sqrt(1 - squeezed * math.sin(lat) ** 2)
    matrix = np.eye(4)
    matrix[:3, 0] = -math.sin(lng), math.cos(lng), 0
    matrix[:3, 1] = -math.sin(lat) * math.cos(lng), -math.sin(lat) * math.sin(lng), math.cos(lat)
    matrix[:3, 2] = math.cos(lat) * math.cos(lng), math.cos(lat) * math.sin(lng), math.sin(lat)
    origin = np.array([math.cos(lat) * math.cos(lng), math.cos(lat) * math.sin(lng), (1 - squeezed) * math.sin(lat)]) * normal
    matrix[:3, 3] = origin - matrix[:3, :3] @ np.asarray(shift)
    return matrix


def lane(name: str, left: F64, right: F64, controls: Iterable[str] = ()) -> bytes:
    """Returns a lane with boundaries [N, 3] in metres around the origin; they are rounded to centimetres."""
    sides = _field(3, _deltas(left, 1)) + _field(4, _deltas(right, 1))
    return _element(name, 3, _frame() + sides + b"".join(_field(8, _id(control)) for control in controls))


def crosswalk(name: str, outline: F64) -> bytes:
    return _element(name, 4, _frame() + _deltas(outline, 3) + _field(16, b""))


def traffic_light(name: str, faces: Iterable[str] = ()) -> bytes:
    return _element(name, 4, _field(29, b"".join(_field(3, _id(face)) for face in faces)))


def face(name: str, color: str) -> bytes:
    return _element(name, 4, _field(COLORS[color], b""))


def fragment(elements: Iterable[bytes]) -> bytes:
    """Returns a map of elements."""
    return b"".join(_field(2, element) for element in elements)


def _element(name: str, kind: int, content: bytes) -> bytes:
    return _field(1, _id(name)) + _field(2, _field(kind, content))


def _frame() -> bytes:
    degrees = [round(LATITUDE * 1e7), round(LONGITUDE * 1e7)]
    location = b"".join(_varint(number << 3 | 5) + struct.pack("<i", value) for number, value in enumerate(degrees, 1))
    return _field(2, _field(1, location))


def _deltas(points: F64, first: int) -> bytes:
    """Returns three fields with the steps from point to point in centimetres."""
    steps = np.diff(np.rint(np.asarray(points) * 100).astype(int), axis=0, prepend=np.zeros((1, 3), int))
    axes = [b"".join(_varint((step << 1) ^ (step >> 31)) for step in axis) for axis in steps.T.tolist()]
    return b"".join(_field(number, content) for number, content in enumerate(axes, first))


def _id(name: str) -> bytes:
    return _field(1, name.encode())


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])
