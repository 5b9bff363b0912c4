"""`tetrys.l5.MapAPI` gives the coordinates of L5Kit, and L5Kit's exceptions."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import l5_maps
import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from tetrys.l5 import LocalDataManager, load_metadata
from tetrys.l5._map import InterpolationMethod, MapAPI, indices_in_bounds

L5 = Path(__file__).parents[3] / "shared" / "l5"
GOLDEN = L5 / "golden"
golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"no outputs of L5Kit: there is no folder {GOLDEN}")

METER, ENSURE_LEN = InterpolationMethod.INTER_METER, InterpolationMethod.INTER_ENSURE_LEN
SHIFT = (10.0, -20.0, 5.0)
LEFT = np.array([[0.0, 2.0, 0.0], [10.0, 2.0, 0.0], [20.0, 4.0, 1.0]])
RIGHT = np.array([[0.0, -2.0, 0.0], [21.0, -1.0, 1.0]])
OUTLINE = np.array([[5.0, 5.0, 0.0], [7.0, 5.0, 0.0], [7.0, 9.0, 0.0]])


def small_map() -> bytes:
    return l5_maps.fragment(
        [
            l5_maps.lane("lane", LEFT, RIGHT, ["light", "face-r", "light"]),
            l5_maps.crosswalk("crosswalk", OUTLINE),
            l5_maps.traffic_light("light", ["face-r", "face-g"]),
            l5_maps.face("face-r", "red"),
            l5_maps.face("face-g", "green"),
            l5_maps.lane("free", LEFT + 100, RIGHT + 100),
            l5_maps.lane("broken", LEFT, RIGHT, ["nothing"]),
        ]
    )


@pytest.fixture
def opened() -> MapAPI:
    return MapAPI(small_map(), l5_maps.world_to_ecef(SHIFT))


def synthetic() -> MapAPI:
    return MapAPI(str(GOLDEN / "synth_semantic_map.pb"), load_metadata(L5 / "artefacts" / "meta.json")["world_to_ecef"])


def outputs() -> dict[str, npt.NDArray[Any]]:
    with np.load(GOLDEN / "mapapi_synth.npz") as file:
        return dict(file)


def interpolated(points: npt.NDArray[np.float64], steps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    along = np.insert(np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=-1)), 0, 0)
    return np.stack([np.interp(steps, along, points[:, axis]) for axis in range(3)], axis=-1)


@golden
def test_coordinates_are_those_of_l5kit() -> None:
    ours, theirs = synthetic(), outputs()
    assert len(ours) == 84
    for kind in ("lane", "crosswalk"):
        info = ours.bounds_info[f"{kind}s"]
        assert info["ids"] == theirs[f"{kind}_ids"].tolist()
        assert info["bounds"].shape == theirs[f"{kind}_bounds"].shape and info["bounds"].dtype == np.float64
        np.testing.assert_allclose(info["bounds"], theirs[f"{kind}_bounds"], rtol=0, atol=1e-8)
    for name in theirs["lane_ids"].tolist():
        for side, points in ours.get_lane_coords(name).items():
            expected = theirs[f"lane_{side.removeprefix('xyz_')}.{name}"]
            assert points.shape == expected.shape
            np.testing.assert_allclose(points, expected, rtol=0, atol=1e-8)
    for name in theirs["crosswalk_ids"].tolist():
        np.testing.assert_allclose(ours.get_crosswalk_coords(name)["xyz"], theirs[f"crosswalk.{name}"], rtol=0, atol=1e-8)


@golden
def test_points_along_lanes_are_those_of_l5kit() -> None:
    ours, theirs = synthetic(), outputs()
    for row, name in enumerate(theirs["lane_ids"].tolist()):
        found = ours.get_lane_as_interpolation(name, 20, ENSURE_LEN)
        assert sorted(found) == ["xyz_left", "xyz_midlane", "xyz_right"]
        for side, points in found.items():
            np.testing.assert_allclose(points, theirs[f"interp20_{side}"][row], rtol=0, atol=1e-8)


@golden
def test_a_map_of_a_configuration_is_that_of_its_files() -> None:
    raster = {"semantic_map_key": "golden/synth_semantic_map.pb", "dataset_meta_key": "artefacts/meta.json"}
    ours = MapAPI.from_cfg(LocalDataManager(L5), {"raster_params": raster})
    assert ours.ids_to_el == synthetic().ids_to_el
    with pytest.raises(FileNotFoundError):
        MapAPI.from_cfg(LocalDataManager(L5), {"raster_params": {**raster, "semantic_map_key": "no.pb"}})
    with pytest.raises(KeyError):
        MapAPI.from_cfg(LocalDataManager(L5), {"raster_params": {}})


def test_elements_are_found_by_number_and_by_id(opened: MapAPI) -> None:
    assert len(opened) == 7 and [MapAPI.id_as_str(element.id) for element in opened] == list(opened.ids_to_el)
    assert opened["lane"] == opened[b"lane"] == opened[0] == opened[-7] == opened.elements[0]
    assert [element.kind for element in opened][:4] == ["lane", "crosswalk", "traffic_light", "traffic_face"]
    lane = opened["lane"].lane
    assert lane is not None and lane.traffic_controls == ("light", "face-r") and opened["light"].lane is None
    assert opened["crosswalk"].message == l5_maps.crosswalk("crosswalk", OUTLINE)
    assert MapAPI.is_lane(opened[0]) and not MapAPI.is_lane(opened[1]) and MapAPI.is_crosswalk(opened[1])


def test_coordinates_lie_where_the_file_says(opened: MapAPI) -> None:
    np.testing.assert_allclose(opened.get_lane_coords("lane")["xyz_left"], LEFT + SHIFT, rtol=0, atol=1e-7)
    np.testing.assert_allclose(opened.get_lane_coords("lane")["xyz_right"], RIGHT + SHIFT, rtol=0, atol=1e-7)
    np.testing.assert_allclose(opened.get_crosswalk_coords("crosswalk")["xyz"], OUTLINE + SHIFT, rtol=0, atol=1e-7)
    bounds = opened.bounds_info["lanes"]["bounds"]
    np.testing.assert_allclose(bounds[0], [[10, -22], [31, -16]], rtol=0, atol=1e-7)
    assert opened.bounds_info["lanes"]["ids"] == ["lane", "free", "broken"]


@pytest.mark.parametrize(("step", "method"), [(2, ENSURE_LEN), (7, ENSURE_LEN), (1.5, METER), (100.0, METER)])
def test_points_along_a_lane_are_those_of_numpy(opened: MapAPI, step: float, method: InterpolationMethod) -> None:
    def new(points: npt.NDArray[np.float64], step: float, method: InterpolationMethod) -> npt.NDArray[np.float64]:
        total = np.linalg.norm(np.diff(points, axis=0), axis=-1).sum()
        return interpolated(points, np.linspace(0, total, int(step)) if method == ENSURE_LEN else np.arange(0, total, step))

    sides = opened.get_lane_coords("lane")
    left, right = sides["xyz_left"], sides["xyz_right"]
    same = step if method == ENSURE_LEN else 3
    middle = (new(left, same, ENSURE_LEN) + new(right, same, ENSURE_LEN)) / 2
    found = opened.get_lane_as_interpolation("lane", step, method)
    for name, points in (("xyz_left", left), ("xyz_right", right), ("xyz_midlane", middle)):
        np.testing.assert_allclose(found[name], new(points, step, method), rtol=0, atol=1e-9)
        np.testing.assert_allclose(MapAPI.interpolate(points, step, method), found[name], rtol=0, atol=1e-12)
    # L5Kit would start from the points of the call before.
    opened.get_lane_as_interpolation("lane", 2, ENSURE_LEN)
    np.testing.assert_array_equal(opened.get_lane_as_interpolation("lane", step, method)["xyz_left"], found["xyz_left"])
    np.testing.assert_array_equal(opened.get_lane_coords("lane")["xyz_left"], left)


def test_traffic_lights_have_colours(opened: MapAPI) -> None:
    assert opened.get_lane_traffic_control_ids("lane") == {"light", "face-r"}
    assert opened.get_lane_traffic_control_ids("light") == set()
    assert opened.is_traffic_light("light") and not opened.is_traffic_light("face-r")
    assert opened.is_traffic_face("face-r") and not opened.is_traffic_face("light")
    assert opened.is_traffic_face_color("face-r", "red") and not opened.is_traffic_face_colour("face-r", "green")
    assert (opened.get_color_for_face("face-r"), opened.get_color_for_face("face-g")) == ("RED", "GREEN")
    assert opened.get_tl_feature_for_lane("free", {"face-r": "red"}) == 4
    assert opened.get_tl_feature_for_lane("lane", {}) == opened.get_tl_feature_for_lane("lane", {"face-g": "green"}) == 0
    assert opened.get_tl_feature_for_lane("lane", {"face-r": "red", "face-g": "green"}) == 3


def test_what_is_not_in_the_map_raises_as_in_l5kit(opened: MapAPI) -> None:
    for call in (
        opened.get_lane_coords,
        opened.get_crosswalk_coords,
        opened.get_lane_traffic_control_ids,
        opened.is_traffic_light,
        opened.is_traffic_face,
        opened.get_color_for_face,
        opened.__getitem__,
        lambda name: opened.get_lane_as_interpolation(name, 2, ENSURE_LEN),
        lambda name: opened.get_tl_feature_for_lane(name, {}),
    ):
        with pytest.raises(KeyError, match="no element 'no'"):
            call("no")
    with pytest.raises(KeyError, match="nothing"):
        opened.get_tl_feature_for_lane("broken", {})
    with pytest.raises(KeyError):
        opened.get_tl_feature_for_lane("lane", {"face-r": "pink"})
    with pytest.raises(ValueError, match="not a lane"):
        opened.get_lane_coords("light")
    with pytest.raises(ValueError, match="not a crosswalk"):
        opened.get_crosswalk_coords("lane")
    with pytest.raises(ValueError, match="no valid color"):
        opened.get_color_for_face("light")
    with pytest.raises(ValueError, match="expected 'red'"):
        opened.is_traffic_face_color("face-r", "RED")
    for number in (7, -8):
        with pytest.raises(IndexError):
            opened[number]
    for key in (1.0, None, True):
        with pytest.raises(TypeError):
            opened[key]  # type: ignore[index]


@pytest.mark.parametrize(("step", "method"), [(1, ENSURE_LEN), (-1, ENSURE_LEN), (0, METER), (-1, METER), (float("nan"), METER)])
def test_steps_without_sense_are_refused(opened: MapAPI, step: float, method: InterpolationMethod) -> None:
    for call in (lambda: opened.get_lane_as_interpolation("lane", step, method), lambda: MapAPI.interpolate(LEFT, step, method)):
        with pytest.raises(ValueError):
            call()


def test_other_arguments_without_sense_are_refused(opened: MapAPI, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="INTER_METER"):
        opened.get_lane_as_interpolation("lane", 2, 5)  # type: ignore[arg-type]
    for points in (LEFT[:0], LEFT[:, :2], LEFT[0]):
        with pytest.raises(ValueError):
            MapAPI.interpolate(points, 2, ENSURE_LEN)
    for matrix in (np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan)):
        with pytest.raises(ValueError):
            MapAPI(small_map(), matrix)
    with pytest.raises(FileNotFoundError):
        MapAPI(tmp_path / "no.pb", np.eye(4))


def test_a_damaged_map_raises_or_is_another_map() -> None:
    content, matrix = small_map(), l5_maps.world_to_ecef(SHIFT)
    with pytest.raises(ValueError, match="semantic map"):
        MapAPI(content[:-1], matrix)
    for place in range(0, len(content), 3):
        for damaged in (content[:place], content[:place] + bytes([content[place] ^ 0x24]) + content[place + 1 :]):
            try:
                MapAPI(damaged, matrix)
            except ValueError:
                continue


def test_a_map_can_be_pickled(opened: MapAPI, tmp_path: Path) -> None:
    file = tmp_path / "map.pb"
    file.write_bytes(small_map())
    for one in (opened, MapAPI(file, l5_maps.world_to_ecef(SHIFT))):
        again = pickle.loads(pickle.dumps(one))
        assert again.ids_to_el == opened.ids_to_el
        np.testing.assert_array_equal(again.get_lane_coords("lane")["xyz_left"], opened.get_lane_coords("lane")["xyz_left"])


def test_chains_of_centimetres_become_coordinates_of_the_world(opened: MapAPI) -> None:
    origin = SimpleNamespace(lat_e7=round(l5_maps.LATITUDE * 1e7), lng_e7=round(l5_maps.LONGITUDE * 1e7))
    steps = np.diff(np.rint(LEFT * 100).astype(int), axis=0, prepend=np.zeros((1, 3), int))
    found = opened.unpack_deltas_cm(steps[:, 0], steps[:, 1], steps[:, 2], SimpleNamespace(origin=origin))
    np.testing.assert_array_equal(found, opened.get_lane_coords("lane")["xyz_left"])
    np.testing.assert_allclose(found, LEFT + SHIFT, atol=1e-6)
    assert opened.unpack_deltas_cm([], [], [], SimpleNamespace(origin=origin)).shape == (0, 3)
    wrong: list[Any] = [([1], [1, 2], [1]), ([1.5], [1], [1]), ([2**31], [1], [1]), ([[1]], [[1]], [[1]]), (None, [1], [1]), ("1", "1", "1")]
    for dx, dy, dz in wrong:
        with pytest.raises(ValueError):
            opened.unpack_deltas_cm(dx, dy, dz, SimpleNamespace(origin=origin))


def test_a_map_can_be_an_attachment_of_a_table(opened: MapAPI, tmp_path: Path) -> None:
    writer = tt.Writer(str(tmp_path / "t"), schema={"time": "i64"}, index=["time"])
    writer.attach("semantic_map.pb", small_map())
    writer.attach("meta.json", json.dumps({"world_to_ecef": l5_maps.world_to_ecef(SHIFT).tolist()}).encode())
    writer.attach("broken.json", b"{}")
    with writer.partition() as partition:
        partition.write({"time": [0]})
    table = writer.commit([partition.receipt])
    assert MapAPI.from_table(table).ids_to_el == opened.ids_to_el
    with pytest.raises(tt.NotFound):
        MapAPI.from_table(table, "other.pb")
    with pytest.raises(ValueError, match=r"broken\.json"):
        MapAPI.from_table(table, meta="broken.json")


def test_bounds_that_only_touch_a_square_are_outside() -> None:
    bounds = np.array([[[0, 0], [1, 1]], [[4, 4], [9, 9]], [[-9, -9], [9, 9]], [[3, 0], [5, 1]]], float)
    assert indices_in_bounds([2.0, 0.5], bounds, 1).tolist() == [2]
    assert indices_in_bounds(np.array([2.0, 0.5]), bounds, 1.1).tolist() == [0, 2, 3]
    assert indices_in_bounds([0, 0], np.empty((0, 2, 2)), 5).tolist() == []
