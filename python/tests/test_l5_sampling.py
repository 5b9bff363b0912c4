"""`tetrys.l5.sampling` gives what L5Kit's functions gave on its own scene, and what the data sets give on random ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import l5_maps
import numpy as np
import pytest
import tetrys as tt
from l5_scenes import random_dataset
from tetrys.l5 import (
    AgentDataset,
    BoxRasterizer,
    ChunkedDataset,
    EgoDataset,
    EgoDatasetVectorized,
    MapAPI,
    RenderContext,
    StubRasterizer,
    Vectorizer,
    get_other_agents_ids,
)
from tetrys.l5.geometry import angular_distance
from tetrys.l5.sampling import (
    compute_agent_velocity,
    generate_agent_sample,
    generate_agent_sample_vectorized,
    get_agent_context,
    get_future_slice,
    get_history_slice,
    get_relative_poses,
)

SHARED = Path(__file__).parents[3] / "shared" / "l5"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
FACES = "traffic_light_faces_index_interval"
CONTEXT = RenderContext((224, 224), (0.5, 0.5), (0.25, 0.5), True)
ROUNDED = {"rtol": 2**-23, "atol": 1e-9}
"""The tolerance of `shared/l5/golden/README.md` for positions and velocities."""


@pytest.fixture(scope="module")
def scene() -> ChunkedDataset:
    return ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()


@needs_data
def test_slices_are_those_of_l5kit() -> None:
    cases = json.loads(str(np.load(SHARED / "golden" / "unit_functions.npz")["slices_json"]))
    assert len(cases) > 50
    for frame, states, step, with_current, history, future in cases:
        numbers = list(range(40))
        assert numbers[get_history_slice(frame, states, step, with_current)] == history
        assert numbers[get_future_slice(frame, states, step)] == future
    for get_slice in (get_history_slice, get_future_slice):
        for wrong in (0, -1):
            with pytest.raises(IndexError, match="expected 1 or more"):
                get_slice(3, 1, wrong)


@needs_data
def test_the_angle_from_a_number_to_an_array_of_f32_is_f32_as_in_l5kit() -> None:
    golden = np.load(SHARED / "golden" / "unit_functions.npz")
    for angle, expected in zip(golden["ang_b"], golden["angular_distance_f32_minus_f64scalar"], strict=True):
        found = angular_distance(golden["ang_a"], angle)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)


@needs_data
@pytest.mark.parametrize("number", [0, 3, 100, 247])
def test_the_steps_of_a_sample_of_the_ego_car_are_those_of_l5kit(scene: ChunkedDataset, number: int) -> None:
    check_steps(scene, np.load(SHARED / "golden" / "ego_h10_f50.npz"), number, number, None)


@needs_data
@pytest.mark.parametrize("number", [0, 500, 1126])
def test_the_steps_of_a_sample_of_an_agent_are_those_of_l5kit(scene: ChunkedDataset, number: int) -> None:
    golden = np.load(SHARED / "golden" / "agent_h10_f50.npz")
    check_steps(scene, golden, number, int(golden["frame_index"][number]), int(golden["track_id"][number]))


def check_steps(scene: ChunkedDataset, golden: Any, number: int, frame: int, track: int | None) -> None:
    past, after, past_agents, after_agents, past_faces, after_faces = get_agent_context(frame, scene.frames, scene.agents, scene.tl_faces, 10, 50)
    assert [len(part) for part in (past, past_agents, past_faces)] == [min(frame, 10) + 1] * 3
    assert [len(part) for part in (after, after_agents, after_faces)] == [min(247 - frame, 50)] * 3
    np.testing.assert_array_equal(past["timestamp"], scene.frames[max(frame - 10, 0) : frame + 1]["timestamp"][::-1])
    first, last = scene.frames[frame]["agent_index_interval"].tolist()
    np.testing.assert_array_equal(past_agents[0], scene.agents[first:last])
    first, last = scene.frames[frame][FACES].tolist()
    np.testing.assert_array_equal(past_faces[0], scene.tl_faces[first:last])
    to_agent, yaw = golden["agent_from_world"][number], golden["yaw"][number]
    history = get_relative_poses(11, past, track, past_agents, to_agent, yaw)
    future = get_relative_poses(50, after, track, after_agents, to_agent, float(yaw))
    for time, extents, (positions, yaws, sizes, availabilities) in (("history", "history_extents", history), ("target", "future_extents", future)):
        np.testing.assert_allclose(positions, golden[f"{time}_positions"][number], **ROUNDED)
        np.testing.assert_array_equal(yaws, golden[f"{time}_yaws"][number])
        np.testing.assert_array_equal(sizes, golden[extents][number])
        np.testing.assert_array_equal(availabilities, golden[f"{time}_availabilities"][number])
        assert {array.dtype for array in (positions, yaws, sizes, availabilities)} == {np.dtype(np.float32)}
    velocities = compute_agent_velocity(history[0], future[0], 0.1)
    for time, found in zip(("history", "target"), velocities, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, golden[f"{time}_velocities"][number], rtol=2**-22, atol=1e-7)


@needs_data
@pytest.mark.parametrize("of", ["ego", "agent"])
def test_a_sample_is_that_of_l5kit(scene: ChunkedDataset, of: str) -> None:
    golden = np.load(SHARED / "golden" / f"{of}_h10_f50.npz")
    drawn = np.load(SHARED / "golden" / "ras_box_h10.npz")
    for place in (0, len(drawn[f"{of}_index"]) - 1):
        number = int(drawn[f"{of}_index"][place])
        frame = int(golden["frame_index"][number])
        track = None if of == "ego" else int(golden["track_id"][number])
        sample = generate_agent_sample(
            frame, scene.frames, scene.agents, scene.tl_faces, track, CONTEXT, 10, 50, 0.1, 0.5, BoxRasterizer(CONTEXT, 0.5, 10)
        )
        np.testing.assert_array_equal(sample["image"].transpose(2, 0, 1), drawn[f"{of}_image"][place])
        keys = {name for name in golden.files if not name.startswith("__")} - {"scene_index", "host_id", "timestamp", "track_id"}
        assert sample.keys() == keys | {"image"} and sample["frame_index"] == frame
        for name in keys:
            np.testing.assert_allclose(sample[name], golden[name][number], err_msg=name, rtol=2**-22, atol=1e-7)


def in_memory(seed: int, **sizes: int) -> ChunkedDataset:
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = random_dataset(seed, **sizes)
    return dataset


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_of_arrays_is_that_of_the_data_set(seed: int) -> None:
    whole = in_memory(seed, scenes=3, max_frames=20)
    cfg: dict[str, Any] = {
        "model_params": {"history_num_frames": 2, "future_num_frames": 4, "step_time": 0.1, "render_ego_history": True},
        "raster_params": {"raster_size": [24, 24], "pixel_size": [1, 1], "ego_center": [0.5, 0.5], "filter_agents_threshold": 0.4, "set_origin_to_bottom": True},
    }
    context = RenderContext((24, 24), (1, 1), (0.5, 0.5), True)
    rasterizer = BoxRasterizer(context, 0.4, 2)
    everyone = np.ones(len(whole.agents), np.bool_)
    compared = 0
    for dataset in (EgoDataset(cfg, whole, rasterizer), AgentDataset(cfg, whole, rasterizer, agents_mask=everyone)):
        for number in range(0, len(dataset), 5):
            try:
                expected = dataset[number]
            except IndexError:
                continue
            frames = whole.frames[slice(*whole.scenes[expected["scene_index"]]["frame_index_interval"])]
            track = None if expected["track_id"] < 0 else int(expected["track_id"])
            found = generate_agent_sample(expected["frame_index"], frames, whole.agents, whole.tl_faces, track, context, 2, 4, 0.1, 0.4, rasterizer)
            found["image"] = found["image"].transpose(2, 0, 1)
            for name, value in found.items():
                np.testing.assert_array_equal(value, expected[name], err_msg=name)
                assert np.asarray(value).dtype == np.asarray(expected[name]).dtype
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("track", [None, 0])
def test_a_vectorized_sample_of_arrays_is_that_of_the_data_set(track: int | None) -> None:
    whole = in_memory(5, scenes=2, max_frames=15)
    points = np.array([[-9.0, 0.0, 0.0], [9.0, 1.0, 0.0]])
    ground = MapAPI(l5_maps.fragment([l5_maps.lane("lane", points, points + 3)]), l5_maps.world_to_ecef(whole.frames[0]["ego_translation"]))
    lanes = dict(max_num_lanes=3, max_points_per_lane=4, max_points_per_crosswalk=4, max_num_crosswalks=2, max_retrieval_distance_m=35)
    cfg: dict[str, Any] = {
        "model_params": dict(history_num_frames_ego=1, history_num_frames_agents=2, future_num_frames=3, step_time=0.1),
        "raster_params": {"filter_agents_threshold": -1.0, "disable_traffic_light_faces": False},
        "data_generation_params": dict(other_agents_num=3, max_agents_distance=35, lane_params=lanes),
    }
    vectorizer = Vectorizer(cfg, ground)
    frames = whole.frames[slice(*whole.scenes[0]["frame_index_interval"])]
    state = next(number for number, frame in enumerate(frames) if np.diff(frame["agent_index_interval"]) > 0)
    if track is not None:
        track = int(whole.agents[frames[state]["agent_index_interval"][0]]["track_id"])
    expected = EgoDatasetVectorized(cfg, whole, vectorizer).get_frame(0, state, track)
    found = generate_agent_sample_vectorized(state, frames, whole.agents, whole.tl_faces, track, 1, 2, 3, 0.1, -1.0, vectorizer)
    assert expected.keys() - found.keys() == {"scene_index", "host_id", "timestamp", "track_id"}
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    with pytest.raises(ValueError, match="not in frame"):
        generate_agent_sample_vectorized(state, frames, whole.agents, whole.tl_faces, 2**60, 1, 2, 3, 0.1, -1.0, vectorizer)


def test_frames_and_tracks_that_are_not_there_are_index_errors_as_in_l5kit() -> None:
    whole = in_memory(3, scenes=1, max_frames=12)
    stub = StubRasterizer(CONTEXT)
    for state, track in ((len(whole.frames), None), (-1, None), (0, 2**60)):
        with pytest.raises(IndexError):
            generate_agent_sample(state, whole.frames, whole.agents, whole.tl_faces, track, CONTEXT, 1, 1, 0.1, 0.5, stub)
    with pytest.raises(IndexError, match="at most num_frames"):
        get_relative_poses(1, whole.frames[:2], None, [whole.agents[:0]] * 2, np.eye(3), 0.0)
    with pytest.raises(AssertionError, match="step_time"):
        compute_agent_velocity(np.zeros((2, 2)), np.zeros((2, 2)), 0)


def test_faces_that_are_left_out_are_in_no_frame() -> None:
    whole = in_memory(3, scenes=1, max_frames=12)
    *_, past_faces, after_faces = get_agent_context(1, whole.frames, whole.agents, whole.tl_faces[:0], 1, 2)
    assert [len(faces) for faces in (*past_faces, *after_faces)] == [0] * len([*past_faces, *after_faces])


def test_other_agents_come_in_the_order_of_a_set_of_their_tracks() -> None:
    tracks = np.arange(40, 0, -1, dtype=np.uint64)
    found = get_other_agents_ids(tracks, tracks[:3], 39, 4)
    assert set(found) == {40, 38, 37, 36} and found == list({np.uint64(one) for one in (40, 38, 37, 36)})
    assert get_other_agents_ids(tracks, [], None, 0) == []
    with pytest.raises(tt.Invalid):
        get_other_agents_ids([-1], [], None, 3)
