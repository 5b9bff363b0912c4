"""Semantic maps: lanes, crosswalks and traffic lights in the world frame of a data set (L5Kit's `map_api`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import is_whole, number, path_of, text
from .._errors import NoElement, NoKey, OutOfRange, WrongType, WrongValue, array_of, found, short
from .._table import Table
from ._checks import floats, of_kind, setting
from ._config import DataManager, matrix_of, metadata_of, place_of_key

__all__ = ["GlobalId", "InterpolationMethod", "MapAPI", "MapElement", "MapLane", "TLFacesColors", "indices_in_bounds"]

Points = npt.NDArray[np.float64]
"""Points in the world frame, [N, 3], in metres."""

_PRIORITY = {"unknown": 0, "green": 1, "yellow": 2, "red": 3, "none": 4}


class InterpolationMethod(IntEnum):
    """Where new points along a lane lie."""

    INTER_METER = 0
    """A point each so many metres."""
    INTER_ENSURE_LEN = 1
    """So many points."""


class TLFacesColors(IntEnum):
    """The colours of the faces of traffic lights."""

    RED = 0
    GREEN = 1
    YELLOW = 2


@dataclass(frozen=True)
class GlobalId:
    """The id of an element, in UTF-8."""

    id: bytes


@dataclass(frozen=True)
class MapLane:
    """The neighbours and traffic controls of a lane. Ids are empty where the map has none."""

    parent: str
    """The segment or the junction that the lane is a part of."""
    lanes_ahead: tuple[str, ...]
    change_left: str
    change_right: str
    traffic_controls: tuple[str, ...]
    """Ids of the traffic lights, their faces and signs of the lane."""


@dataclass(frozen=True)
class MapElement:
    """An element of a map. L5Kit has a protobuf message of type `MapElement` here; `message` has the bytes of that message."""

    id: GlobalId
    kind: str
    """`lane`, `crosswalk`, `traffic_light`, `traffic_face`, `traffic_control`, `segment`, `node`, `junction` or `other`."""
    lane: MapLane | None
    message: bytes


class MapAPI:
    """A semantic map.

    Args:
        protobuf_map_path: The map's file, or its content as bytes.
        world_to_ecef: The matrix [4, 4] from the world frame to earth-centred coordinates; `meta.json` of the data set has it.

    Example:
        >>> from tetrys.l5 import MapAPI, load_metadata
        >>> matrix = load_metadata("meta.json")["world_to_ecef"]
        >>> map_api = MapAPI("semantic_map.pb", matrix)
        >>> left = map_api.get_lane_coords(map_api.bounds_info["lanes"]["ids"][0])["xyz_left"]

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no map, or the matrix has another shape or no inverse.
    """

    def __init__(self, protobuf_map_path: str | os.PathLike[str] | bytes, world_to_ecef: npt.ArrayLike) -> None:
        matrix = floats("world_to_ecef", world_to_ecef, (4, 4))
        self.protobuf_map_path = None if isinstance(protobuf_map_path, bytes) else path_of("protobuf_map_path", protobuf_map_path)
        self._source = protobuf_map_path
        self._world_to_ecef = matrix
        content = protobuf_map_path if isinstance(protobuf_map_path, bytes) else Path(protobuf_map_path).read_bytes()
        self._native = _tetrys.L5Map(content, matrix.tolist())
        self.ecef_to_world = np.linalg.inv(matrix)
        self._ids = self._native.ids()
        self.ids_to_el = {name: number for number, name in enumerate(self._ids)}
        self.bounds_info = self.get_bounds()

    @classmethod
    def from_cfg(cls, data_manager: DataManager, cfg: Mapping[str, Any]) -> MapAPI:
        """Opens the map of a configuration: `raster_params.semantic_map_key` and `dataset_meta_key`.

        Raises:
            KeyError: the configuration lacks a key.
            FileNotFoundError: a file is missing.
        """
        source = place_of_key(data_manager, setting(cfg, "raster_params", "semantic_map_key"))
        meta = setting(cfg, "raster_params", "dataset_meta_key")
        return cls(source, matrix_of(metadata_of(data_manager, meta), "world_to_ecef", meta))

    @classmethod
    def from_table(cls, table: Table, name: str = "semantic_map.pb", meta: str = "meta.json") -> MapAPI:
        """Opens a map that a table has as an attachment, beside its metadata.

        Raises:
            NotFound: the table has no such attachment.
            ValueError: an attachment is damaged.
        """
        of_kind("table", table, Table)
        return cls(table.attachment(text("name", name)), _matrix(table.attachment(text("meta", meta)), meta))

    @property
    def elements(self) -> list[MapElement]:
        """All elements, in the order of the map."""
        return list(self)

    @staticmethod
    def id_as_str(element_id: GlobalId) -> str:
        """Returns an id as text."""
        return _decoded(of_kind("element_id", element_id, GlobalId).id)

    @staticmethod
    def is_lane(element: MapElement) -> bool:
        """Whether an element is a lane."""
        return bool(of_kind("element", element, MapElement).kind == "lane")

    @staticmethod
    def is_crosswalk(element: MapElement) -> bool:
        """Whether an element is a crosswalk with an outline."""
        return bool(of_kind("element", element, MapElement).kind == "crosswalk")

    def get_lane_coords(self, element_id: str) -> dict[str, Points]:
        """Returns the boundaries of a lane: `xyz_left` and `xyz_right`. They may have different numbers of points.

        Raises:
            KeyError: there is no such element.
            ValueError: it is no lane.
        """
        left, right = self._native.lane_coords(self._number(element_id))
        return {"xyz_left": left, "xyz_right": right}

    @staticmethod
    def interpolate(xyz: npt.ArrayLike, step: float, method: InterpolationMethod) -> Points:
        """Returns points along a chain of points: one each `step` metres without the last one, or `step` points.

        Raises:
            ValueError: the step is too small or too large, or there is no point.
        """
        chain = floats("xyz", xyz)
        if chain.ndim != 2 or chain.shape[1] != 3:
            raise WrongValue(f"xyz: expected points [N, 3], found the shape {chain.shape}")
        return _tetrys.L5Map.interpolate(chain, *_step(step, method))

    def unpack_deltas_cm(self, dx: npt.ArrayLike, dy: npt.ArrayLike, dz: npt.ArrayLike, frame: Any) -> Points:
        """Returns the world coordinates of a chain of points as the map stores it.

        Args:
            dx, dy, dz: Differences to the point before in whole centimetres: to the east, to the north and up, [N].
            frame: The place of the local frame: an object with `origin.lat_e7` and `origin.lng_e7`, in degrees times 1e7.

        Raises:
            ValueError: the arrays have different lengths, or values are no whole numbers of 32 bits.
        """
        chains = []
        for name, deltas in (("dx", dx), ("dy", dy), ("dz", dz)):
            chain = array_of(name, deltas)
            if chain.ndim != 1 or (chain.size and (chain.dtype.kind not in "iu" or chain.min() < -(2**31) or chain.max() >= 2**31)):
                raise WrongValue(f"{name}: expected whole centimetres [N] of 32 bits, found {found(deltas)}")
            chains.append(chain.tolist())
        x, y, z = chains
        origin = getattr(frame, "origin", None)
        if not hasattr(origin, "lat_e7") or not hasattr(origin, "lng_e7"):
            raise WrongType(f"frame: expected an object with origin.lat_e7 and origin.lng_e7, found {found(frame)}")
        lat, lng = (number(f"frame.origin.{name}", getattr(origin, name)) / 1e7 for name in ("lat_e7", "lng_e7"))
        return self._native.unpack_deltas(x, y, z, lat, lng)

    def get_lane_as_interpolation(self, element_id: str, step: float, method: InterpolationMethod) -> dict[str, Points]:
        """Returns new points of the boundaries of a lane and of the line between them: `xyz_left`, `xyz_right` and `xyz_midlane`.

        Unlike L5Kit's, the result does not depend on earlier calls.

        Raises:
            KeyError: there is no such element.
            ValueError: it is no lane, or the step is too small or too large.
        """
        left, right, middle = self._native.lane_points(self._number(element_id), *_step(step, method))
        return {"xyz_left": left, "xyz_right": right, "xyz_midlane": middle}

    def get_lane_traffic_control_ids(self, element_id: str) -> set[str]:
        """Returns the ids of the elements that control the traffic at the end of a lane.

        Raises:
            KeyError: there is no such element.
        """
        lane = self._native.lane(self._number(element_id))
        return set(lane["traffic_controls"]) if lane else set()

    def get_crosswalk_coords(self, element_id: str) -> dict[str, Points]:
        """Returns the outline of a crosswalk: `xyz`.

        Raises:
            KeyError: there is no such element.
            ValueError: it is no crosswalk.
        """
        return {"xyz": self._native.crosswalk_coords(self._number(element_id))}

    def is_traffic_light(self, element_id: str) -> bool:
        """Whether an element is a traffic light. A face of one is not.

        Raises:
            KeyError: there is no such element.
        """
        return self._native.element(self._number(element_id))[0] == "traffic_light"

    def is_traffic_face(self, element_id: str) -> bool:
        """Whether an element is a red, green or yellow face of a traffic light.

        Raises:
            KeyError: there is no such element.
        """
        return self._native.color(self._number(element_id)) is not None

    def is_traffic_face_color(self, element_id: str, color: str) -> bool:
        """Whether an element is a face of a traffic light of a colour: `red`, `green` or `yellow`.

        Raises:
            KeyError: there is no such element.
            ValueError: there is no such colour.
        """
        if not isinstance(color, str) or color not in ("red", "green", "yellow"):
            raise WrongValue(f"color {short(repr(color)) if isinstance(color, str) else found(color)}: expected 'red', 'green' or 'yellow'")
        return self._native.color(self._number(element_id)) == color.upper()

    is_traffic_face_colour = is_traffic_face_color
    """The name of `is_traffic_face_color` in early versions of L5Kit."""

    def get_color_for_face(self, face_id: str) -> str:
        """Returns the colour of a face of a traffic light: `RED`, `GREEN` or `YELLOW`.

        Raises:
            KeyError: there is no such element.
            ValueError: it is no such face.
        """
        color = self._native.color(self._number(face_id))
        if color is None:
            raise WrongValue(f"Face {short(face_id)} has no valid color among RED, GREEN and YELLOW")
        return color

    def get_tl_feature_for_lane(self, lane_id: str, active_tl_face_to_color: Mapping[str, str]) -> int:
        """Returns the state of the traffic lights of a lane: 4 without any, else the strongest of its active faces, else 0.

        Green is 1, yellow 2 and red 3. `active_tl_face_to_color` has the lower-case colour of each active face.

        Raises:
            KeyError: the map has no such lane or lacks an element that controls it, or there is no such colour.
        """
        if not isinstance(active_tl_face_to_color, Mapping):
            raise WrongType(f"active_tl_face_to_color: expected a dict, found {found(active_tl_face_to_color)}")
        controls = self.get_lane_traffic_control_ids(lane_id)
        # A list: each of them is looked up.
        if not any([self.is_traffic_light(control) for control in controls]):
            return _PRIORITY["none"]
        return max((_priority(face, active_tl_face_to_color[face]) for face in active_tl_face_to_color.keys() & controls), default=_PRIORITY["unknown"])

    def get_bounds(self) -> dict[str, dict[str, Any]]:
        """Returns `lanes` and `crosswalks`, each with their `ids` and `bounds`: smallest and largest x and y, [N, 2, 2]."""
        lanes, crosswalks = self._native.bounds()
        return {name: {"bounds": bounds, "ids": ids} for name, (ids, bounds) in (("lanes", lanes), ("crosswalks", crosswalks))}

    def _number(self, element_id: str) -> int:
        try:
            return self.ids_to_el[element_id]
        except (KeyError, TypeError):
            shown = short(repr(element_id)) if isinstance(element_id, str) else found(element_id)
            raise NoElement(f"semantic map of {len(self)} elements: no element {shown}") from None

    def __getitem__(self, item: int | str | bytes) -> MapElement:
        """Returns an element by its id or its number.

        Raises:
            KeyError: there is no such id.
            IndexError: there is no such number.
        """
        if isinstance(item, (str, bytes)):
            place = self._number(item if isinstance(item, str) else _decoded(item))
        elif is_whole(item):
            place = int(item) + len(self) if item < 0 else int(item)
            if not 0 <= place < len(self):
                raise OutOfRange(f"element {short(item)} is outside of the {len(self)} elements of the map")
        else:
            raise WrongType(f"an element is chosen by its id or its number, found {found(item)}")
        return self._element(place, self._ids[place])

    def _element(self, number: int, name: str) -> MapElement:
        kind, message = self._native.element(number)
        connected = self._native.lane(number)
        lane = None
        if connected is not None:
            ahead, controls = tuple(connected["lanes_ahead"]), tuple(connected["traffic_controls"])
            lane = MapLane(connected["parent"], ahead, connected["change_left"], connected["change_right"], controls)
        return MapElement(GlobalId(name.encode()), kind, lane, message)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[MapElement]:
        for number, name in enumerate(self._ids):
            yield self._element(number, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> MapAPI:
        """Returns the map itself, which nobody changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path, or the content of a map that was not in a file."""
        return MapAPI, (self._source, self._world_to_ecef)


def indices_in_bounds(center: npt.ArrayLike, bounds: npt.ArrayLike, half_extent: float) -> npt.NDArray[np.int64]:
    """Returns the rows of `bounds` [N, 2, 2] that reach into a square around `center`.

    The side of the square is `2 * half_extent` metres long. Bounds that only touch the square do not count.
    """
    x, y = floats("center", center).reshape(-1)[:2]
    low, high = np.moveaxis(floats("bounds", bounds).reshape(-1, 2, 2), 1, 0)
    reaches = (low < [x + half_extent, y + half_extent]) & (high > [x - half_extent, y - half_extent])
    return np.flatnonzero(reaches.all(axis=1))


def _step(step: float, method: InterpolationMethod) -> tuple[float, bool]:
    """Returns the arguments of the native interpolation."""
    if not is_whole(method) or method not in (InterpolationMethod.INTER_METER, InterpolationMethod.INTER_ENSURE_LEN):
        raise WrongValue(f"interpolation method: expected INTER_METER or INTER_ENSURE_LEN, found {found(method)}")
    if not np.isfinite(number("step", step)):
        raise WrongValue(f"step: expected a finite number, found {found(step)}")
    ensure_len = method == InterpolationMethod.INTER_ENSURE_LEN
    return float(int(step) if ensure_len else step), ensure_len


def _decoded(name: object) -> str:
    """Returns an id as text."""
    if not isinstance(name, bytes):
        raise WrongType(f"an id: expected bytes, found {found(name)}")
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise NoElement(f"an id is UTF-8, found {short(repr(name))}: {error.reason}") from error


def _priority(face: str, color: object) -> int:
    """Returns the strength of an active face by its colour."""
    if not isinstance(color, str) or color not in _PRIORITY:
        raise NoKey(f"active_tl_face_to_color, face {short(face)}: expected one of {', '.join(_PRIORITY)}, found {found(color)}")
    return _PRIORITY[color]


def _matrix(content: bytes, name: str) -> Any:
    try:
        return json.loads(content)["world_to_ecef"]
    except (ValueError, KeyError, TypeError) as error:
        raise WrongValue(f"{name}: expected JSON with the matrix world_to_ecef: {error}") from error
