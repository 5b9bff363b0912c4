"""Data sets of samples whose scenes are changed while they are read, as L5Kit's simulation does; and the simulation itself, where
L5Kit and PyTorch are installed.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import l5_maps
import numpy as np
import pytest
from l5_scenes import random_dataset
from tetrys.l5 import AgentDataset, ChunkedDataset, EgoDataset, EgoDatasetVectorized, LocalDataManager, MapAPI, Vectorizer, build_rasterizer
from tetrys.l5.geometry import yaw_as_rotation33

SHARED = Path(__file__).parents[3] / "shared" / "l5"
CFG: dict[str, Any] = {
    "model_params": {
        "history_num_frames": 2, "future_num_frames": 3, "history_num_frames_ego": 2, "history_num_frames_agents": 2, "step_time": 0.1,
        "render_ego_history": True,
    },
    "raster_params": {
        "raster_size": [24, 20], "pixel_size": [1.0, 1.0], "ego_center": [0.25, 0.5], "map_type": "box_debug", "filter_agents_threshold": 0.5,
        "disable_traffic_light_faces": False, "set_origin_to_bottom": True,
    },
    "data_generation_params": {
        "other_agents_num": 4, "max_agents_distance": 35,
        "lane_params": dict(max_num_lanes=2, max_points_per_lane=4, max_points_per_crosswalk=4, max_num_crosswalks=2, max_retrieval_distance_m=35),
    },
}  # fmt: skip
KINDS = ("boxes", "vectors")


def samples(kind: str, dataset: ChunkedDataset) -> Any:
    if kind == "boxes":
        return EgoDataset(CFG, dataset, build_rasterizer(CFG, LocalDataManager(".")), threads=1)
    side = np.cumsum(np.full((4, 3), 2.0), axis=0)
    content = l5_maps.fragment([l5_maps.lane("lane", side, side + [0, 3, 0])])
    return EgoDatasetVectorized(CFG, dataset, Vectorizer(CFG, MapAPI(content, l5_maps.world_to_ecef([0, 0, 0])), "distance"), threads=1)


@pytest.fixture
def scenes() -> ChunkedDataset:
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = random_dataset(5, scenes=3, max_frames=20)
    return dataset


def of_another_class(dataset: ChunkedDataset) -> Any:
    """Returns the arrays as members of an object that Tetrys does not know, such as L5Kit's data set in memory."""
    return SimpleNamespace(**{name: np.array(getattr(dataset, name)) for name in ("scenes", "frames", "agents", "tl_faces")})


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_data_set_of_another_class_gives_the_samples_of_its_arrays(kind: str, scenes: ChunkedDataset) -> None:
    expected, foreign = samples(kind, scenes), of_another_class(scenes)
    for dataset in (samples(kind, foreign), samples(kind, ChunkedDataset(""))):
        dataset.dataset = foreign
        dataset.cumulative_sizes = foreign.scenes["frame_index_interval"][:, 1]
        assert dataset.dataset is foreign and len(dataset) == len(expected)
        for index in (0, len(expected) // 2, -1):
            assert_same(dataset[index], expected[index])
        assert_same(dataset.batch([1, 3]), expected.batch([1, 3]))
        assert_same(dataset.get_scene_dataset(2)[0], expected.get_scene_dataset(2)[0])
        assert_same(pickle.loads(pickle.dumps(dataset))[1], expected[1])


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_its_arrays_are_seen_by_the_next_sample_and_not_by_copies(kind: str, scenes: ChunkedDataset) -> None:
    dataset = samples(kind, of_another_class(scenes.get_scene_dataset(0)))
    before, recorded = dataset[4], copy.deepcopy(dataset)
    # As L5Kit's `set_ego` and `insert_agent` do it.
    foreign = dataset.dataset
    foreign.frames[4]["ego_translation"][:2] += (3.0, 1.0)
    foreign.frames[4]["ego_rotation"] = yaw_as_rotation33(0.5)
    stop = int(foreign.frames[4]["agent_index_interval"][1])
    added = foreign.agents[:1].copy()
    added["track_id"], added["centroid"], added["label_probabilities"][:, 3] = 987, foreign.frames[4]["ego_translation"][:2] + 2, 1
    foreign.agents = np.concatenate([foreign.agents[:stop], added, foreign.agents[stop:]])
    foreign.frames[4]["agent_index_interval"] += (0, 1)
    foreign.frames[5:]["agent_index_interval"] += 1
    after, other = dataset[4], ChunkedDataset("")
    other.scenes, other.frames, other.agents, other.tl_faces = foreign.scenes, foreign.frames, foreign.agents, foreign.tl_faces
    assert_same(after, samples(kind, other)[4])
    np.testing.assert_allclose(after["centroid"], before["centroid"] + (3.0, 1.0))
    assert dataset.get_frame(0, 4, 987)["track_id"] == 987
    assert_same(recorded[4], before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_deep_copy_shares_the_map_and_no_attributes(kind: str, scenes: ChunkedDataset) -> None:
    dataset = samples(kind, scenes)
    copied = copy.deepcopy(dataset)
    if kind == "boxes":
        assert copied.rasterizer is not dataset.rasterizer and copied.rasterizer._native is dataset.rasterizer._native
        copied.rasterizer.render_context.pixel_size_m[0] = 7
        assert dataset.rasterizer.render_context.pixel_size_m[0] == 1
    else:
        assert copied.vectorizer is not dataset.vectorizer and copied.vectorizer.mapAPI is dataset.vectorizer.mapAPI
    assert_same(copied[2], dataset[2])


def test_agents_of_a_data_set_of_another_class_have_their_own_mask(scenes: ChunkedDataset) -> None:
    rasterizer = build_rasterizer(CFG, LocalDataManager("."))
    agents, expected = (AgentDataset(CFG, dataset, rasterizer, None, None, 1, 1, threads=1) for dataset in (of_another_class(scenes), scenes))
    np.testing.assert_array_equal(agents.agents_indices, expected.agents_indices)
    assert len(agents) > 0
    assert_same(agents[0], expected[0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_data_set_in_memory_is_refused_with_the_call_to_make(kind: str, scenes: ChunkedDataset) -> None:
    dataset = samples(kind, scenes)
    with pytest.raises(TypeError, match="zarr_dataset: expected a ChunkedDataset, found str 'sample.zarr'"):
        dataset.dataset = "sample.zarr"
    stored = of_another_class(scenes)
    stored.agents = SimpleNamespace(shape=stored.agents.shape)
    with pytest.raises(TypeError, match=r"expected arrays of numpy, found .* SimpleNamespace, ndarray: use tetrys.l5.ChunkedDataset\(path\).open\(\)"):
        samples(kind, stored)
    assert dataset.dataset is scenes


@pytest.mark.torch
@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
@pytest.mark.skipif(importlib.util.find_spec("l5kit") is None, reason="L5Kit is not installed: python/tests/l5kit.txt")
def test_l5kit_simulates_over_these_data_sets_what_it_simulates_over_its_own() -> None:
    script = Path(__file__).with_name("l5_closed_loop.py")
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    ran = subprocess.run([sys.executable, script, SHARED], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("the same") == 3, ran.stdout
