"""`tetrys.l5.geometry`, the matrices of rasters, and the classes of rasterizers: the same numbers as their definitions."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import l5_maps
import numpy as np
import pytest
import tetrys as tt
from test_l5_ground import config, data_of, ground_of, samples_of, settings_of
from tetrys import l5
from tetrys.l5 import EgoDataset, RenderContext, geometry
from tetrys.l5._rasterizers import is_native

KINDS = {
    "stub_debug": l5.StubRasterizer, "box_debug": l5.BoxRasterizer, "semantic_debug": l5.SemanticRasterizer, "satellite_debug": l5.SatelliteRasterizer,
    "py_semantic": l5.SemBoxRasterizer, "py_satellite": l5.SatBoxRasterizer,
}  # fmt: skip


@pytest.mark.parametrize("size", [2, 3])
def test_points_are_transformed_one_by_one(size: int, random_seed: int) -> None:
    rng = np.random.default_rng(random_seed)
    for points, matrices in (((7, size), ()), ((4, 7, size), ()), ((4, 7, size), (4,)), ((0, size), ())):
        given, matrix = rng.normal(size=points), rng.normal(size=(*matrices, size + 1, size + 1))
        made = geometry.transform_points(given, matrix)
        assert made.shape == given.shape
        if matrices:
            assert geometry.transform_points(given[:1], matrix).shape == given.shape
        for place in np.ndindex(*points[:-1]):
            one = matrix[place[0]] if matrices else matrix
            expected = [sum(one[row, column] * given[place][column] for column in range(size)) + one[row, size] for row in range(size)]
            np.testing.assert_allclose(made[place], expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(geometry.transform_point(given[place], one), made[place], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("points", "matrix"), [((3,), (3, 3)), ((2, 4), (5, 5)), ((2, 2), (4, 4)), ((2, 2), (3, 2)), ((2, 2), (2, 3, 3)), ((5, 2, 2), (4, 3, 3)), ((1, 1, 1, 2), (3, 3))]
)
def test_shapes_that_do_not_fit_are_refused(points: tuple[int, ...], matrix: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError, match="found points") as caught:
        geometry.transform_points(np.zeros(points), np.zeros(matrix))
    assert isinstance(caught.value, tt.Invalid)


def test_angles_and_rotations_are_inverse_to_each_other(random_seed: int) -> None:
    rng = np.random.default_rng(random_seed)
    for yaw in [*rng.uniform(-math.pi, math.pi, 50), 0.0, math.pi / 2]:
        rotation = geometry.yaw_as_rotation33(yaw)
        np.testing.assert_allclose(rotation @ [1, 0, 0], [math.cos(yaw), math.sin(yaw), 0], atol=1e-15)
        assert geometry.rotation33_as_yaw(rotation) == pytest.approx(yaw)
        pose = geometry.compute_agent_pose([3.0, 4.0], yaw)
        np.testing.assert_allclose(pose, [[math.cos(yaw), -math.sin(yaw), 3], [math.sin(yaw), math.cos(yaw), 4], [0, 0, 1]])
        for other in rng.uniform(-9, 9, 3):
            distance = geometry.angular_distance(yaw, other)
            assert -math.pi <= distance < math.pi and math.cos(distance) == pytest.approx(math.cos(yaw - other))
    assert geometry.rotation33_as_yaw([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]) == 0
    assert geometry.angular_distance(np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    assert geometry.angle_between_vectors([1, 0], [0, 2]) == pytest.approx(math.pi / 2)
    assert geometry.angle_between_vectors([1, 0, 0], [-1, 0, 0]) == pytest.approx(math.pi)
    assert geometry.compute_yaw_around_north_from_direction([0, -1]) == pytest.approx(math.pi)
    for call in (lambda: geometry.angle_between_vectors([1], [1]), lambda: geometry.angular_distance(np.zeros(2), np.zeros(3))):
        with pytest.raises(ValueError):
            call()


def test_places_on_the_earth_come_back(random_seed: int) -> None:
    np.testing.assert_allclose(geometry.geodetic_to_ecef([0, 0]), [6_378_137, 0, 0])
    np.testing.assert_allclose(geometry.geodetic_to_ecef([90, 0, 10]), [0, 0, 6_356_752.314245 + 10], atol=1e-6)
    np.testing.assert_allclose(geometry.geodetic_to_ecef([37.4, -122.1, 12.0]), [-2_695_821.6, -4_297_442.9, 3_852_735.0], atol=2_000)
    rng = np.random.default_rng(random_seed)
    for place in zip(rng.uniform(-90, 90, 100), rng.uniform(-180, 180, 100), rng.uniform(-5_000, 1e7, 100), strict=True):
        np.testing.assert_allclose(geometry.ecef_to_geodetic(geometry.geodetic_to_ecef(place)), place, rtol=1e-9, atol=1e-6)
    for wrong in ([91, 0], [0], [float("nan"), 0]):
        with pytest.raises(ValueError, match="lla_point"):
            geometry.geodetic_to_ecef(wrong)
    with pytest.raises(ValueError, match="100 km or more from the centre"):
        geometry.ecef_to_geodetic([0, 0, 0])


@pytest.mark.parametrize("seed", range(3))
def test_the_matrices_of_a_context_are_those_of_samples(seed: int) -> None:
    _, dataset = data_of(seed)
    settings = settings_of(seed)
    context = RenderContext(settings.raster_size, settings.pixel_size, settings.ego_center, settings.origin_bottom)
    ego = EgoDataset(config(settings), dataset, l5.StubRasterizer(context))
    for sample in ego.__getitems__(range(0, len(ego), 3)):
        made = context.raster_from_world(sample["centroid"], sample["yaw"])
        np.testing.assert_allclose(made, sample["raster_from_world"], rtol=1e-9, atol=1e-6)
        pixel = geometry.transform_point(np.zeros(2), context.raster_from_local)
        np.testing.assert_allclose(geometry.transform_point(np.asarray(sample["centroid"]), made), pixel, atol=1e-6)
        np.testing.assert_allclose(sample["world_from_agent"], geometry.compute_agent_pose(sample["centroid"], sample["yaw"]), atol=1e-6)
    flipped = geometry.vertical_flip(context.raster_from_local, int(settings.raster_size[1]))
    other = RenderContext(settings.raster_size, settings.pixel_size, settings.ego_center, not settings.origin_bottom)
    if not settings.origin_bottom:
        np.testing.assert_allclose(other.raster_from_local, flipped)
    for wrong in ([1.0], "x", [[1, 2]]):
        with pytest.raises(tt.Invalid):
            context.raster_from_world(wrong, 0.0)


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Scenes, a map and an aerial photograph around them, and a folder with both as a configuration names them."""
    from PIL import Image

    data, dataset = data_of(4)
    place = data.frames["ego_translation"][0]
    _, file = ground_of(4, place)
    matrix = l5_maps.world_to_ecef(place)
    pixels = np.random.default_rng(4).integers(0, 255, (260, 280, 3), np.uint8)
    to_aerial = np.diag([0.02, 0.02, 1.0, 1.0])
    to_aerial[:2, 3] = 130 - 0.02 * place[:2]
    (tmp_path / "map.pb").write_bytes(file)
    Image.fromarray(pixels).save(tmp_path / "aerial.png")
    meta = {"world_to_ecef": matrix.tolist(), "ecef_to_aerial": (to_aerial @ np.linalg.inv(matrix)).tolist()}
    import json

    (tmp_path / "meta.json").write_text(json.dumps(meta))
    return {"data": data, "dataset": dataset, "matrix": matrix, "to_aerial": to_aerial, "pixels": pixels, "folder": tmp_path}


def built(world: dict[str, Any], map_type: str) -> Any:
    cfg = config(settings_of(4))
    cfg["model_params"]["render_ego_history"] = True
    cfg["raster_params"] |= {"map_type": map_type, "semantic_map_key": "map.pb", "satellite_map_key": "aerial.png", "dataset_meta_key": "meta.json"}
    return l5.build_rasterizer(cfg, l5.LocalDataManager(str(world["folder"])))


@pytest.mark.parametrize("map_type", list(KINDS))
def test_each_class_draws_what_the_configuration_draws(world: dict[str, Any], map_type: str) -> None:
    settings = settings_of(4)
    context = RenderContext(settings.raster_size, settings.pixel_size, settings.ego_center, settings.origin_bottom)
    boxes = () if map_type in ("stub_debug", "semantic_debug", "satellite_debug") else (settings.threshold, settings.history)
    path = world["folder"] / "map.pb"
    ground = {"semantic": (path, world["matrix"]), "satellite": (world["pixels"], world["to_aerial"])}.get(map_type.removeprefix("py_").removesuffix("_debug"), ())
    of_config, direct = built(world, map_type), KINDS[map_type](context, *boxes, *ground)
    assert type(of_config) is type(direct) is KINDS[map_type] and isinstance(direct, l5.Rasterizer)
    assert of_config.num_channels() == direct.num_channels() and list(direct.raster_size) == list(settings.raster_size)
    assert is_native(direct) and not is_native(type("Own", (KINDS[map_type],), {"rasterize": lambda self, *_: None})(context, *boxes, *ground))
    images = [[one[3] for one in samples_of(world["data"], world["dataset"], settings, drawn, 4)] for drawn in (of_config, direct, pickle.loads(pickle.dumps(direct)))]
    for expected, *others in zip(*images, strict=True):
        for image in others:
            # The two matrices of an aerial map are multiplied here.
            assert np.abs(image - expected).max() <= (2 / 255 if "satellite" in map_type else 0)


@pytest.mark.parametrize(("map_type", "name"), [("py_semantic", "sem_rast"), ("py_satellite", "sat_rast")])
def test_the_parts_of_a_rasterizer_draw_its_channels(world: dict[str, Any], map_type: str, name: str) -> None:
    whole = built(world, map_type)
    parts = [whole.box_rast, getattr(whole, name)]
    assert whole.num_channels() == sum(part.num_channels() for part in parts)
    both = [[one[3] for one in samples_of(world["data"], world["dataset"], settings_of(4), drawn, 4)] for drawn in (whole, *parts)]
    for image, boxes, ground in zip(*both, strict=True):
        np.testing.assert_array_equal(image, np.concatenate([boxes, ground]))
    np.testing.assert_allclose(getattr(parts[1], "world_to_ecef" if name == "sem_rast" else "world_to_aerial"), world["matrix" if name == "sem_rast" else "to_aerial"], atol=1e-6)


def test_a_missing_map_and_pixels_of_another_type_are_errors(tmp_path: Path) -> None:
    context = RenderContext([8, 8], [1, 1], [0.5, 0.5], True)
    with pytest.raises(FileNotFoundError, match=r"map\.pb"):
        l5.SemanticRasterizer(context, tmp_path / "map.pb", np.eye(4))
    with pytest.raises(ValueError, match="aerial, pixels"):
        l5.SatelliteRasterizer(context, np.zeros((4, 4)), np.eye(4))
    with pytest.raises(ValueError, match="world_to_aerial"):
        l5.SatBoxRasterizer(context, 0.5, 1, np.zeros((4, 4, 3), np.uint8), np.eye(3))
    assert (l5.EGO_EXTENT_LENGTH, l5.EGO_EXTENT_WIDTH, l5.EGO_EXTENT_HEIGHT) == (4.87, 1.85, 1.8)
