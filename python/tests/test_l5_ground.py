"""Semantic and satellite rasters of random scenes are those of a plain implementation."""

from __future__ import annotations

from typing import Any

import l5_maps
import numpy as np
import numpy.typing as npt
import pytest
from l5_reference import Dataset, Settings, scene_and_state
from l5_reference_ground import Ground, Lane, satellite_image, semantic_image
from l5_reference_raster import box_image
from l5_scenes import random_dataset
from tetrys.l5 import AgentDataset, ChunkedDataset, EgoDataset, Rasterizer, RenderContext

COLORS = [*l5_maps.COLORS]


def data_of(seed: int) -> tuple[Dataset, ChunkedDataset]:
    arrays = random_dataset(seed, scenes=3, max_frames=12, tracks=6)
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = arrays
    return Dataset(*arrays), dataset


def ground_of(seed: int, place: npt.NDArray[np.float64]) -> tuple[Ground, bytes]:
    """Returns random lanes, crosswalks and lights around a place, and the same as a file. Coordinates are whole centimetres."""
    rng = np.random.default_rng(seed)
    colors = {f"f{light}+{row}/": color for light in range(4) for row, color in enumerate(COLORS)}
    lanes, crosswalks = [], []
    for _ in range(14):
        start = np.append(rng.uniform(-25, 25, 2), 0.0)
        left = np.round(start + np.cumsum(rng.uniform(-4, 7, (rng.integers(2, 8), 3)), axis=0), 2)
        right = np.round(left[: rng.integers(2, len(left) + 1)] + rng.uniform(1, 3, 3), 2)
        chosen = rng.permutation(list(colors))[: rng.integers(0, 5)].tolist()
        lanes.append(Lane(left, right, chosen))
    for _ in range(5):
        crosswalks.append(np.round(np.append(rng.uniform(-25, 25, 2), 0.0) + rng.uniform(-4, 4, (rng.integers(1, 7), 3)), 2))
    elements = [l5_maps.lane(f"lane-{n}", lane.left, lane.right, lane.controls) for n, lane in enumerate(lanes)]
    elements += [l5_maps.crosswalk(f"crosswalk-{n}", outline) for n, outline in enumerate(crosswalks)]
    elements += [l5_maps.face(name, color) for name, color in colors.items()]
    shifted = [Lane(lane.left + place, lane.right + place, lane.controls) for lane in lanes]
    return Ground(shifted, [outline + place for outline in crosswalks], colors), l5_maps.fragment(elements)


def settings_of(seed: int) -> Settings:
    size = [(48, 32), (32, 40), (33, 33)][seed % 3]
    return Settings(
        history=1, future=2, raster_size=size, pixel_size=(0.8, 0.8), ego_center=(0.3, 0.5), origin_bottom=seed % 2 == 0
    )


def drawn(map_type: str, settings: Settings, **ground: Any) -> Rasterizer:
    context = RenderContext(settings.raster_size, settings.pixel_size, settings.ego_center, settings.origin_bottom)
    return Rasterizer(map_type, context, settings.threshold, settings.history, settings.render_ego_history, **ground)


def config(settings: Settings) -> dict[str, Any]:
    return {
        "model_params": {"history_num_frames": settings.history, "future_num_frames": settings.future, "step_time": 0.1},
        "raster_params": {
            "raster_size": settings.raster_size, "pixel_size": settings.pixel_size, "ego_center": settings.ego_center,
            "filter_agents_threshold": settings.threshold, "set_origin_to_bottom": settings.origin_bottom,
        },
    }  # fmt: skip


def samples_of(data: Dataset, dataset: ChunkedDataset, settings: Settings, rasterizer: Rasterizer, seed: int) -> list[Any]:
    """Returns scene, state, track and image of some samples of the ego car and of agents."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    ego = EgoDataset(config(settings), dataset, rasterizer)
    numbers = rng.permutation(len(ego))[:4].tolist()
    for number, sample in zip(numbers, ego.__getitems__(numbers), strict=True):
        found.append((*scene_and_state(data, number), None, sample["image"]))
    valid = data.agents["label_probabilities"][:, 3:16].sum(axis=1) > 0.6
    agents = AgentDataset(config(settings), dataset, rasterizer, agents_mask=valid)
    numbers = rng.permutation(len(agents))[:3].tolist()
    for sample in agents.__getitems__(numbers):
        found.append((sample["scene_index"], sample["frame_index"], int(sample["track_id"]), sample["image"]))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_maps_of_random_scenes_are_those_of_a_plain_implementation(seed: int) -> None:
    data, dataset = data_of(seed)
    place, settings = data.frames["ego_translation"][0], settings_of(seed)
    ground, file = ground_of(seed, place)
    matrix = l5_maps.world_to_ecef(place)
    semantic, both = (drawn(kind, settings, map=(file, matrix.tolist())) for kind in ("semantic_debug", "py_semantic"))
    alone, with_boxes = (samples_of(data, dataset, settings, rasterizer, seed) for rasterizer in (semantic, both))
    painted = 0
    for (scene, state, track_id, image), (_, _, _, combined) in zip(alone, with_boxes, strict=True):
        expected = semantic_image(data, scene, state, track_id, settings, ground)
        assert image.shape == expected.shape
        levels = np.abs(image - expected) * 255
        # A coordinate on a bound of 1/512 pixel falls on either side of it.
        assert levels.max() <= 8 and (levels > 0.5).mean() <= 1e-3, f"scene {scene}, state {state}: {(levels > 0.5).sum()} values differ"
        np.testing.assert_array_equal(combined[-3:], image)
        np.testing.assert_array_equal(combined[:-3], box_image(data, scene, state, track_id, settings))
        painted += (expected < 1).sum()
    assert painted > 1000


@pytest.mark.parametrize("seed", range(6))
def test_aerial_pictures_of_random_scenes_are_those_of_a_plain_implementation(seed: int) -> None:
    data, dataset = data_of(seed)
    settings, rng = settings_of(seed), np.random.default_rng(seed)
    # A smooth picture of 0.7 m per pixel, so large that some rasters leave it.
    rows, columns = np.mgrid[0:190, 0:210]
    waves = [(np.sin(rows / rng.uniform(9, 20) + rng.uniform(0, 6)) + np.cos(columns / rng.uniform(9, 20))) * 63 + 127 for _ in range(3)]
    aerial = np.rint(np.stack(waves, axis=-1)).astype(np.uint8)
    x, y, _ = data.frames["ego_translation"][0]
    scale = 1 / 0.7
    aerial_from_world = np.array([[0, -scale, 0, 95 + y * scale], [scale, 0, 0, 105 - x * scale], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    ground = (aerial, np.eye(4).tolist(), aerial_from_world.tolist())
    satellite, both = (drawn(kind, settings, aerial=ground) for kind in ("satellite_debug", "py_satellite"))
    compared = outside = 0
    ego = EgoDataset(config(settings), dataset, satellite)
    for number in range(0, len(ego), 2):
        scene, state = scene_and_state(data, number)
        try:
            expected = satellite_image(data, scene, state, None, settings, aerial, aerial_from_world)
        except IndexError:
            with pytest.raises(IndexError, match="aerial picture"):
                ego[number]
            outside += 1
            continue
        levels = np.abs(ego[number]["image"] - expected) * 255
        assert levels.max() <= 3, f"scene {scene}, state {state}: {levels.max()} levels"
        compared += 1
        combined = EgoDataset(config(settings), dataset, both)[number]["image"]
        np.testing.assert_array_equal(combined[-3:], ego[number]["image"])
        np.testing.assert_array_equal(combined[:-3], box_image(data, scene, state, None, settings))
    assert compared, f"{outside} rasters leave the picture"
