"""Vectorized samples: those of L5Kit, and those of a plain implementation of L5Kit's formulas over random scenes."""

from __future__ import annotations

import copy
import importlib
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import l5_maps
import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from l5_reference import Dataset, scene_and_state, select_agents, valid_rows, window
from l5_reference_vectorized import Lanes, VectorSettings, in_bounds, vector_map, vector_sample
from l5_scenes import random_dataset, write_zarr
from tetrys import l5
from tetrys.l5 import ChunkedDataset, LocalDataManager
from tetrys.l5._map import InterpolationMethod, MapAPI
from tetrys.l5._vectorized import EgoAgentDatasetVectorized, EgoDatasetVectorized, Vectorizer, build_vectorizer

L5 = Path(__file__).parents[3] / "shared" / "l5"
golden = pytest.mark.skipif(not L5.is_dir(), reason=f"no outputs of L5Kit: there is no folder {L5}")

MATRICES = {"agent_from_world": 1e-11}
"""Greatest difference of keys that are f64 and not equal: L5Kit inverts with LAPACK."""
LANES = {"lanes", "lanes_mid"}
"""Off by the rounding of coordinates of a few kilometres at most: 3.8e-6 m."""


def config(**changes: Any) -> dict[str, Any]:
    """Returns a configuration with some of its numbers changed."""
    lanes = dict(max_num_lanes=30, max_points_per_lane=20, max_points_per_crosswalk=20, max_num_crosswalks=20)
    lanes["max_retrieval_distance_m"] = 35
    parts: dict[str, dict[str, Any]] = {
        "model_params": dict(history_num_frames_ego=10, history_num_frames_agents=5, future_num_frames=50, step_time=0.1),
        "raster_params": dict(
            filter_agents_threshold=0.5, disable_traffic_light_faces=False,
            semantic_map_key="golden/synth_semantic_map.pb", dataset_meta_key="artefacts/meta.json",
        ),
        "data_generation_params": dict(other_agents_num=30, max_agents_distance=35, lane_params=lanes),
    }  # fmt: skip
    for part in (*parts.values(), lanes):
        part |= {name: changes[name] for name in changes.keys() & part.keys()}
    return parts


def settings_of(cfg: dict[str, Any]) -> VectorSettings:
    model, generation = cfg["model_params"], cfg["data_generation_params"]
    lanes = generation["lane_params"]
    return VectorSettings(
        model["history_num_frames_ego"], model["history_num_frames_agents"], model["future_num_frames"], model["step_time"],
        cfg["raster_params"]["filter_agents_threshold"], generation["other_agents_num"], generation["max_agents_distance"],
        lanes["max_num_lanes"], lanes["max_points_per_lane"], lanes["max_num_crosswalks"], lanes["max_points_per_crosswalk"],
        lanes["max_retrieval_distance_m"],
    )  # fmt: skip


def in_memory(data: Dataset) -> ChunkedDataset:
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = data.scenes, data.frames, data.agents, data.tl_faces
    return dataset


def random_data(seed: int) -> Dataset:
    return Dataset(*random_dataset(seed, scenes=3, max_frames=16, tracks=14))


def map_around(seed: int, place: npt.NDArray[np.float64]) -> MapAPI:
    """Returns lanes, crosswalks and traffic lights around a place. The ids of the faces are those of `random_dataset`."""
    rng = np.random.default_rng(seed)
    elements = [l5_maps.traffic_light(f"light-{light}") for light in range(4)]
    elements += [l5_maps.face(f"f{light}+{row}/", color) for light in range(4) for row, color in enumerate(l5_maps.COLORS)]
    for number in range(25):
        start = np.append(rng.uniform(-50, 50, 2), 0.0)
        left = start + np.cumsum(rng.uniform(-6, 9, (rng.integers(1, 9), 3)), axis=0)
        right = left[: rng.integers(1, len(left) + 1)] + rng.uniform(1, 3, 3)
        light = rng.integers(0, 4)
        faces = [f"f{light}+{row}/" for row in range(3) if rng.random() < 0.8]
        controls = [[], faces, [f"light-{light}", *faces]][int(rng.integers(0, 3))]
        elements.append(l5_maps.lane(f"lane-{number}", left, right, controls))
    for number in range(6):
        outline = np.append(rng.uniform(-45, 45, 2), 0.0) + rng.uniform(-4, 4, (rng.integers(1, 7), 3))
        elements.append(l5_maps.crosswalk(f"crosswalk-{number}", outline))
    order = rng.permutation(len(elements)).tolist()
    return MapAPI(l5_maps.fragment(elements[number] for number in order), l5_maps.world_to_ecef(place))


def reference(data: Dataset, map_api: MapAPI, frame: int, track_id: int | None, settings: VectorSettings) -> dict[str, Any]:
    """Returns a whole sample by plain code: agents, map and traffic lights."""
    scene, state = scene_and_state(data, frame)
    expected = vector_sample(data, scene, state, track_id, settings)
    lanes, crosswalks = map_api.bounds_info["lanes"], map_api.bounds_info["crosswalks"]
    method = InterpolationMethod.INTER_ENSURE_LEN
    lines = [map_api.get_lane_as_interpolation(name, settings.lane_points, method) for name in lanes["ids"]]
    left, right, middle = (np.array([line[f"xyz_{side}"][:, :2] for line in lines]) for side in ("left", "right", "midlane"))
    outlines = [map_api.get_crosswalk_coords(name)["xyz"][:, :2] for name in crosswalks["ids"]]
    drawn = Lanes(lanes["bounds"], left, right, middle, crosswalks["bounds"], outlines)
    expected |= vector_map(drawn, expected["centroid"], expected["agent_from_world"], settings)
    faces = data.tl_faces[slice(*data.frames[frame]["traffic_light_faces_index_interval"])]
    active = set(faces["face_id"][faces["traffic_light_face_status"][:, 0] > 0].tolist()) & map_api.ids_to_el.keys()
    colors = {name: map_api.get_color_for_face(name).lower() for name in active}
    reached = in_bounds(expected["centroid"], drawn.bounds, settings.max_map_distance)
    distances = [np.linalg.norm(middle[lane] - expected["centroid"], axis=-1).min() for lane in reached]
    for row, lane in enumerate(reached[np.argsort(distances)][: settings.max_lanes]):
        expected["lanes_mid"][row, :, 2] = map_api.get_tl_feature_for_lane(lanes["ids"][lane], colors)
    return expected


def assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        expected, found = np.asarray(value), np.asarray(ours[name])
        assert found.shape == expected.shape, name
        assert found.dtype == expected.dtype or name in ("type", "scene_index"), (name, found.dtype, expected.dtype)
        if name in MATRICES:
            np.testing.assert_allclose(found, expected, rtol=0, atol=MATRICES[name], err_msg=name)
        elif name in LANES:
            np.testing.assert_allclose(found, expected, rtol=0, atol=4e-6, err_msg=name)
        elif expected.dtype == np.float32:
            np.testing.assert_allclose(found, expected, rtol=2**-23, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=name)


@cache
def outputs() -> dict[str, npt.NDArray[Any]]:
    with np.load(L5 / "golden" / "vectorized_ego_synth_e10_a5_f50.npz") as file:
        return dict(file)


@golden
@pytest.mark.parametrize("source", ["zarr", "fast", "compact"])
def test_samples_are_those_of_l5kit(source: str, tmp_path: Path) -> None:
    path, theirs = L5 / "artefacts" / "single_scene.zarr", outputs()
    if source != "zarr":
        path = tmp_path / "t"
        tt.ingest_l5(str(L5 / "artefacts" / "single_scene.zarr"), str(path), preset=source)
    cfg = config()
    ours = EgoDatasetVectorized(cfg, ChunkedDataset(str(path)).open(), build_vectorizer(cfg, LocalDataManager(L5)))
    assert len(ours) == 248
    indices = theirs["__dataset_index"].tolist()
    for row, sample in enumerate(ours.__getitems__(indices)):
        assert_same(sample, {name: values[row] for name, values in theirs.items() if name != "__dataset_index"})
        assert list(sample) == list(theirs)[:-1]
    assert (type(sample["type"]), type(sample["yaw"]), type(sample["scene_index"])) == (int, float, int)
    assert (type(sample["speed"]), type(sample["timestamp"]), type(sample["track_id"])) == (np.float32, np.int64, np.int64)
    assert_same(ours[indices[0] - 248], ours[indices[0]])


CONFIGS = [
    config(),
    config(history_num_frames_ego=0, history_num_frames_agents=0, future_num_frames=1, other_agents_num=0, max_num_lanes=0),
    config(
        history_num_frames_ego=1, history_num_frames_agents=4, future_num_frames=3, other_agents_num=6, max_agents_distance=60,
        filter_agents_threshold=0.3, step_time=0.2, max_num_lanes=3, max_points_per_lane=5, max_points_per_crosswalk=3,
        max_num_crosswalks=2, max_retrieval_distance_m=20.5,
    ),
]  # fmt: skip


@pytest.mark.parametrize("cfg", CONFIGS)
@pytest.mark.parametrize("seed", range(4))
def test_random_scenes_give_the_samples_of_a_plain_implementation(cfg: dict[str, Any], seed: int) -> None:
    data = random_data(seed)
    map_api = map_around(seed, data.frames["ego_translation"][0])
    ours = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, map_api), threads=2)
    settings, lights = settings_of(cfg), 0.0
    samples = ours.__getitems__(range(len(ours)))
    for frame in range(0, len(data.frames), 1 if seed == 0 else 3):
        expected = reference(data, map_api, frame, None, settings)
        assert_same(samples[frame], expected)
        lights += np.isin(expected["lanes_mid"][..., 2], [1, 2, 3]).sum()
        scene, state = scene_and_state(data, frame)
        for track_id in np.unique(data.agents[slice(*data.frames[frame]["agent_index_interval"])]["track_id"])[:3].tolist():
            try:
                expected = reference(data, map_api, frame, track_id, settings)
            except IndexError:
                with pytest.raises(ValueError, match="not in frame or below threshold"):
                    ours.get_frame(scene, state, track_id)
            else:
                assert_same(ours.get_frame(scene, state, track_id), expected)
    assert lights or seed or settings.max_lanes == 0


@pytest.mark.parametrize("preset", ["fast", "compact"])
def test_a_table_gives_the_samples_of_its_arrays(preset: str, tmp_path: Path) -> None:
    arrays = random_dataset(5, scenes=4, max_frames=20)
    data, cfg = Dataset(*arrays), config(future_num_frames=7)
    vectorizer = Vectorizer(cfg, map_around(5, data.frames["ego_translation"][0]))
    tt.ingest_l5(str(write_zarr(tmp_path / "a.zarr", arrays, compressed=False)), str(tmp_path / "t"), preset=preset)
    table = EgoDatasetVectorized(cfg, ChunkedDataset(str(tmp_path / "t")).open(), vectorizer)
    memory = EgoDatasetVectorized(cfg, in_memory(data), vectorizer, threads=1)
    order = np.random.default_rng(0).permutation(len(memory)).tolist()
    for index, sample in zip(order, table.__getitems__(order), strict=True):
        for name, value in memory[index].items():
            np.testing.assert_array_equal(sample[name], value, err_msg=name)


def test_the_order_by_distance_has_the_same_agents() -> None:
    data, cfg = random_data(1), config(future_num_frames=4)
    map_api = map_around(1, data.frames["ego_translation"][0])
    settings = settings_of(cfg)
    vectorizers = [Vectorizer(cfg, map_api, order=order) for order in ("python-set", "distance")]
    theirs, ours = (EgoDatasetVectorized(cfg, in_memory(data), vectorizer) for vectorizer in vectorizers)
    different = 0
    for index in range(len(ours)):
        a, b = theirs[index], ours[index]
        there = {track_id: row for row, track_id in enumerate(a["all_other_agents_track_ids"].tolist())}
        rows = [there[track_id] for track_id in b["all_other_agents_track_ids"].tolist()]
        known = np.count_nonzero(b["all_other_agents_track_ids"])
        for name in a:
            expected = a[name][rows] if name.startswith(("all_other", "other_agents")) else a[name]
            if expected is not a[name]:
                np.testing.assert_array_equal(b[name][:known], expected[:known], err_msg=name)
        now = b["all_other_agents_history_availability"][:known, 0]
        distances = np.linalg.norm(b["all_other_agents_history_positions"][:known, 0], axis=-1)
        near = now & (distances < settings.max_agents_distance)
        # The nearest agent comes first. A track that is twice in the frame lies where its first row is.
        agents = data.agents[slice(*data.frames[index]["agent_index_interval"])]["track_id"]
        if len(np.unique(agents)) == len(agents) and near.all():
            assert np.all(np.diff(distances) >= 0)
        different += rows[:known] != sorted(rows[:known])
    assert different


def test_the_ego_is_a_row_of_the_agents() -> None:
    cfg, smaller = (config(future_num_frames=4, history_num_frames_agents=12, other_agents_num=rows) for rows in (5, 4))
    data = random_data(2)
    vectorizer = Vectorizer(cfg, map_around(2, data.frames["ego_translation"][0]))
    mask = np.ones(len(data.agents), np.bool_)
    fewer = EgoDatasetVectorized(smaller, in_memory(data), Vectorizer(smaller, vectorizer.mapAPI))
    for _ in range(3):
        ours = EgoAgentDatasetVectorized(cfg, in_memory(data), vectorizer, agents_mask=mask)
    # L5Kit would take one row away three times.
    assert vectorizer.other_agents_num == 5
    ego = {"positions": "positions", "yaws": "yaws", "extents": "extents", "availability": "availabilities"}
    cut = 0
    for index in range(len(ours)):
        found, expected = ours[index], fewer[index]
        assert_same(ours.get_frame(*scene_and_state(data, index)), expected)
        for time, of_ego in (("history", "history"), ("future", "target")):
            for name, ego_name in ego.items():
                key = f"all_other_agents_{time}_{name}"
                expected[key] = np.concatenate([expected[f"{of_ego}_{ego_name}"][None], expected[key]])
        expected["all_other_agents_types"] = np.concatenate([[3], expected["all_other_agents_types"]])
        expected["all_other_agents_track_ids"] = np.concatenate([[-1], expected["all_other_agents_track_ids"]])
        for name, of_ego in (("polyline", "agent_trajectory_polyline"), ("polyline_availability", "agent_polyline_availability")):
            expected[f"other_agents_{name}"] = np.concatenate([expected[of_ego][None], expected[f"other_agents_{name}"]])
        past = expected["all_other_agents_history_availability"].sum(-1) > 10
        future = expected["all_other_agents_future_availability"].sum(-1) > 1
        cut += expected["all_other_agents_future_availability"][~(past & future)].sum()
        expected["all_other_agents_future_availability"] &= (past & future)[:, None]
        expected["all_valid_agents_track_ids"] = np.zeros(50)
        assert_same(found, expected)
    assert cut


def long_scenes() -> Dataset:
    return Dataset(*random_dataset(0, scenes=3, max_frames=130, tracks=6))


def test_eval_mode_has_the_valid_tracks_of_the_hundredth_frame() -> None:
    data, cfg = long_scenes(), config(future_num_frames=4)
    lengths = np.diff(data.scenes["frame_index_interval"], axis=1)[:, 0]
    assert lengths[0] > 99 > lengths[1]
    vectorizer = Vectorizer(cfg, map_around(2, data.frames["ego_translation"][0]))
    mask = np.zeros(len(data.agents), np.bool_)
    mask[5:300:9] = True
    ours = EgoAgentDatasetVectorized(cfg, in_memory(data), vectorizer, agents_mask=mask, eval_mode=True)
    plain = EgoAgentDatasetVectorized(cfg, in_memory(data), vectorizer, agents_mask=mask)
    assert (len(ours), len(plain)) == (3, len(data.frames))
    expected = plain[99]
    end = data.frames["agent_index_interval"][lengths[0] - 1, 1]
    tracks = data.agents["track_id"][:end][mask[:end]]
    expected["all_valid_agents_track_ids"][: len(tracks)] = tracks
    assert_same(ours[0], expected)
    with pytest.raises(IndexError, match="frame 99 is outside of the 1 frames of scene 1"):
        ours[1]
    mask[:60] = True
    with pytest.raises(ValueError, match="expected at most 50"):
        EgoAgentDatasetVectorized(cfg, in_memory(data), vectorizer, agents_mask=mask, eval_mode=True)[0]


def test_valid_agents_are_those_of_the_mask(tmp_path: Path) -> None:
    data, cfg = long_scenes(), config()
    path = write_zarr(tmp_path / "a.zarr", (data.scenes, data.frames, data.agents, data.tl_faces), compressed=False)
    vectorizer = Vectorizer(cfg, map_around(2, data.frames["ego_translation"][0]))
    ours = EgoAgentDatasetVectorized(cfg, ChunkedDataset(str(path)).open(), vectorizer, min_frame_history=2, min_frame_future=3)
    rows = valid_rows(select_agents(data)[0], 2, 3)
    assert len(rows) and ours.agents_indices.tolist() == rows.tolist()
    frames = [ours.get_frame_indices(frame).tolist() for frame in range(len(ours))]
    scenes = [ours.get_scene_indices(scene).tolist() for scene in range(3)]
    assert sum(frames, []) == sum(scenes, []) == list(range(len(rows)))
    for scene, (start, stop) in enumerate(data.scenes["frame_index_interval"].tolist()):
        assert sum(frames[start:stop], []) == scenes[scene]
        part = ours.get_scene_dataset(scene)
        assert type(part) is EgoAgentDatasetVectorized and part.agents_mask.sum() == len(scenes[scene])
        sample = ours[start]
        sample["scene_index"] = 0
        assert_same(part[0], sample)
    for call, argument in ((ours.get_scene_indices, 3), (ours.get_frame_indices, len(ours))):
        with pytest.raises(AssertionError):
            call(argument)


def test_scenes_and_frames_of_the_ego() -> None:
    data, cfg = random_data(3), config()
    ours = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, map_around(3, data.frames["ego_translation"][0])))
    for scene, (start, stop) in enumerate(data.scenes["frame_index_interval"].tolist()):
        assert ours.get_scene_indices(scene).tolist() == list(range(start, stop))
        part = ours.get_scene_dataset(scene)
        assert len(part) == stop - start and type(part) is EgoDatasetVectorized
        sample = ours[stop - 1]
        sample["scene_index"] = 0
        assert_same(part[-1], sample)
    assert ours.get_frame_indices(4).tolist() == [4]
    assert str(ours) == str(ours.dataset) and ours.__getitems__([]) == []
    with pytest.raises(ValueError):
        ours.get_scene_dataset(3)


@pytest.mark.parametrize("seed", range(3))
def test_frames_of_the_caller_give_the_vectors_of_a_sample(seed: int) -> None:
    data, cfg = random_data(seed), config(history_num_frames_ego=3, history_num_frames_agents=5, future_num_frames=4, other_agents_num=6)
    vectorizer = Vectorizer(cfg, map_around(seed, data.frames["ego_translation"][0]))
    ours = EgoDatasetVectorized(cfg, in_memory(data), vectorizer)
    compared = 0
    for frame in range(0, len(ours), 3):
        scene, state = scene_and_state(data, frame)
        here = window(data, scene, state, 5, 4)
        tracks = data.agents[slice(*data.frames[frame]["agent_index_interval"])]["track_id"][:2].tolist()
        for track_id in [None, *tracks]:
            try:
                sample = ours.get_frame(scene, state, track_id)
            except ValueError:
                continue
            arguments: dict[str, Any] = dict(
                selected_track_id=track_id, agent_centroid_m=sample["centroid"], agent_yaw_rad=sample["yaw"],
                agent_from_world=sample["agent_from_world"], history_frames=here.history_frames, history_agents=here.history_agents,
                history_tl_faces=here.history_tl_faces, history_position_m=sample["history_positions"],
                history_yaws_rad=sample["history_yaws"], history_availability=sample["history_availabilities"],
                future_frames=here.future_frames, future_agents=here.future_agents,
            )  # fmt: skip
            found = vectorizer.vectorize(**arguments)
            assert {"lanes", "lanes_mid", "crosswalks", "all_other_agents_types", "other_agents_polyline"} < found.keys()
            assert_same(found, {name: sample[name] for name in found})
            compared += 1
            for name, value in (("agent_yaw_rad", sample["yaw"] + 0.1), ("agent_centroid_m", sample["centroid"] + 1)):
                with pytest.raises(ValueError, match="expected that of the current frame"):
                    vectorizer.vectorize(**arguments | {name: value})
            with pytest.raises(ValueError, match="not in frame"):
                vectorizer.vectorize(**arguments | {"selected_track_id": 10**6})
    assert compared > 5


class OfFrames(EgoDatasetVectorized):
    """Overrides `get_frame`, as L5Kit's users do."""

    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> dict[str, Any]:
        return super().get_frame(scene_index, state_index, track_id) | {"state": np.int64(state_index)}


class OfFramesWithEgo(EgoAgentDatasetVectorized):
    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> dict[str, Any]:
        return super().get_frame(scene_index, state_index, track_id) | {"state": np.int64(state_index)}


class OfItems(EgoAgentDatasetVectorized):
    def __getitem__(self, index: int) -> dict[str, Any]:
        return super().__getitem__(index) | {"index": np.int64(index)}


@pytest.mark.parametrize("eval_mode", [False, True])
def test_subclasses_change_samples_in_batches_too(eval_mode: bool) -> None:
    data, cfg = long_scenes(), config(future_num_frames=4, history_num_frames_agents=12, other_agents_num=4)
    vectorizer = Vectorizer(cfg, map_around(2, data.frames["ego_translation"][0]))
    mask = np.zeros(len(data.agents), np.bool_)
    mask[5:300:9] = True
    indices = [0] if eval_mode else [7, 20, 99, 130]
    states = {0: 99} if eval_mode else {index: scene_and_state(data, index)[1] for index in indices}
    kinds: list[Any] = [OfFramesWithEgo, OfItems] if eval_mode else [OfFrames, OfFramesWithEgo, OfItems]
    for kind in kinds:
        arguments: dict[str, Any] = {} if kind is OfFrames else {"agents_mask": mask, "eval_mode": eval_mode}
        plain: Any = EgoDatasetVectorized if kind is OfFrames else EgoAgentDatasetVectorized
        ours = kind(cfg, in_memory(data), vectorizer, **arguments)
        expected: list[dict[str, Any]] = plain(cfg, in_memory(data), vectorizer, **arguments).__getitems__(indices)
        for index, sample in zip(indices, expected, strict=True):
            sample |= {"index": np.int64(index)} if kind is OfItems else {"state": np.int64(states[index])}
        for samples in (ours.__getitems__(indices), [ours[index] for index in indices]):
            for found, sample in zip(samples, expected, strict=True):
                assert_same(found, sample)
        for name, values in ours.batch(indices).items():
            np.testing.assert_array_equal(values, np.stack([sample[name] for sample in expected]), err_msg=name)


class Shift:
    """Moves the current frame and the future, and draws from numpy's global generator."""

    def __init__(self) -> None:
        self.drawn: list[float] = []

    def perturb(self, history_frames: Any, future_frames: Any) -> tuple[Any, Any]:
        self.drawn.append(np.random.rand())
        for frames in (history_frames[:1], future_frames):
            frames["ego_translation"][:, :2] += self.drawn[-1], 3.0
            frames["ego_rotation"] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        return history_frames, future_frames


def test_a_perturbation_changes_the_ego_before_all_else() -> None:
    data, cfg = random_data(6), config(future_num_frames=3, history_num_frames_ego=2)
    map_api, settings = map_around(6, data.frames["ego_translation"][0]), settings_of(cfg)
    shift = Shift()
    ours = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, map_api), shift)  # type: ignore[arg-type]
    np.random.seed(4)
    samples = ours.__getitems__(range(len(ours)))
    drawn, calls = iter(shift.drawn), 0
    before = data.frames.copy()
    for frame, sample in enumerate(samples):
        scene, _ = scene_and_state(data, frame)
        changed = Dataset(data.scenes, data.frames.copy(), data.agents, data.tl_faces)
        if frame + 3 < data.scenes["frame_index_interval"][scene, 1]:
            offset, calls = next(drawn), calls + 1
            changed.frames["ego_translation"][frame : frame + 4, :2] += offset, 3.0
            changed.frames["ego_rotation"][frame : frame + 4] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
        assert_same(sample, reference(changed, map_api, frame, None, settings))
    np.random.seed(4)
    assert shift.drawn == np.random.rand(calls).tolist() and 0 < calls < len(samples)
    assert np.array_equal(data.frames, before)

    class Short:
        def perturb(self, history_frames: Any, future_frames: Any) -> tuple[Any, Any]:
            return history_frames, future_frames[:-1]

    with pytest.raises(ValueError, match="the perturbation returned"):
        wrong = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, map_api), Short())  # type: ignore[arg-type]
        wrong.__getitems__(range(len(ours)))


def test_data_sets_can_be_pickled(tmp_path: Path) -> None:
    data, cfg = random_data(7), config()
    path = write_zarr(tmp_path / "a.zarr", (data.scenes, data.frames, data.agents, data.tl_faces), compressed=False)
    vectorizer = Vectorizer(cfg, map_around(7, data.frames["ego_translation"][0]))
    for ours in (
        EgoDatasetVectorized(cfg, ChunkedDataset(str(path)).open(), vectorizer),
        EgoAgentDatasetVectorized(cfg, in_memory(data), vectorizer, agents_mask=np.ones(len(data.agents), np.bool_)),
    ):
        again = pickle.loads(pickle.dumps(ours))
        assert type(again) is type(ours)
        assert_same(again[3], ours[3])


@pytest.mark.torch
def test_workers_of_pytorch_give_the_same_samples(tmp_path: Path) -> None:
    data = importlib.import_module("torch.utils.data")
    arrays, cfg = random_dataset(8, scenes=3, max_frames=16), config(future_num_frames=5)
    tt.ingest_l5(str(write_zarr(tmp_path / "a.zarr", arrays, compressed=False)), str(tmp_path / "t"), preset="fast")
    vectorizer = Vectorizer(cfg, map_around(8, arrays[1]["ego_translation"][0]))
    ours = EgoDatasetVectorized(cfg, ChunkedDataset(str(tmp_path / "t")).open(), vectorizer, threads=2)
    expected = ours.__getitems__(range(len(ours)))
    for context in ("fork", "spawn"):
        loader = data.DataLoader(ours, batch_size=5, num_workers=2, multiprocessing_context=context)
        place = 0
        for batch in loader:
            for row in range(len(batch["yaw"])):
                for name, value in expected[place].items():
                    np.testing.assert_array_equal(batch[name][row].numpy(), value, err_msg=name)
                place += 1
        assert place == len(ours)


def test_disabled_traffic_lights_have_no_colour() -> None:
    data = random_data(0)
    map_api = map_around(0, data.frames["ego_translation"][0])
    cfg = config(disable_traffic_light_faces=True)
    without = Dataset(data.scenes, data.frames.copy(), data.agents, data.tl_faces[:0])
    without.frames["traffic_light_faces_index_interval"] = 0
    ours = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, map_api))
    for frame, sample in enumerate(ours.__getitems__(range(len(ours)))):
        assert_same(sample, reference(without, map_api, frame, None, settings_of(cfg)))


def test_arguments_without_sense_are_refused() -> None:
    data, cfg = random_data(0), config()
    map_api = map_around(0, data.frames["ego_translation"][0])
    vectorizer, dataset = Vectorizer(cfg, map_api), in_memory(data)
    ours = EgoDatasetVectorized(cfg, dataset, vectorizer)
    with pytest.raises(ValueError, match="order"):
        Vectorizer(cfg, map_api, order="size")
    with pytest.raises(TypeError):
        Vectorizer(cfg, "map.pb")  # type: ignore[arg-type]
    for part, key in {
        "model_params": "step_time",
        "raster_params": "filter_agents_threshold",
        "data_generation_params": "lane_params",
    }.items():
        lacking = copy.deepcopy(cfg)
        del lacking[part][key]
        with pytest.raises(KeyError):
            EgoDatasetVectorized(lacking, dataset, Vectorizer(lacking, map_api))
    impossible: dict[str, list[Any]] = {
        "history_num_frames_ego": [-1, 1.5, None, True],
        "history_num_frames_agents": [-1],
        "future_num_frames": [0, -1],
        "step_time": [0, float("nan")],
        "other_agents_num": [-1],
        "max_num_lanes": [-1, 2**40],
        "max_points_per_lane": [1, -1],
    }
    for name, values in impossible.items():
        for value in values:
            wrong = config(**{name: value})
            with pytest.raises(ValueError):
                EgoDatasetVectorized(wrong, dataset, Vectorizer(wrong, map_api))
    wrong = copy.deepcopy(cfg)
    wrong["raster_params"]["filter_agents_threshold"] = float("nan")
    with pytest.raises(ValueError, match="filter_agents_threshold: expected a number, found NaN"):
        EgoDatasetVectorized(wrong, dataset, vectorizer)
    for index in (len(ours), len(ours) + 7):
        with pytest.raises(IndexError):
            ours[index]
    for frame in (-len(ours) - 1, -(2**63), -(10**5000)):
        with pytest.raises(IndexError):
            ours.get_frame_indices(frame)
    calls: list[Any] = [ours.__getitem__, ours.get_scene_indices, ours.get_frame_indices, ours.get_scene_dataset, lambda one: ours.get_frame(one, 0), lambda one: ours.get_frame(0, one)]
    for place in (1.5, "1", None, True, [0], np.timedelta64(0, "s")):
        for call in calls:
            with pytest.raises(TypeError, match="is chosen by its number"):
                call(place)
    for limits in ({"th_agent_prob": "0.5"}, {"th_agent_prob": 0.5, "th_yaw_degree": None}, {"th_agent_prob": 0.5, "workers": -1}, {"th_agent_prob": 0.5, "progress": 5}):
        with pytest.raises(tt.Invalid, match="|".join(limits)):
            l5.select_agents(dataset, **limits)
    with pytest.raises(TypeError, match="path: expected a path, found int 5"):
        ChunkedDataset(5)  # type: ignore[arg-type]
    for size in (-1, float("nan"), "many", None):
        with pytest.raises(tt.Invalid, match="cache_size_bytes"):
            ChunkedDataset("").open(cache_size_bytes=size)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        ours[-len(ours) - 1]
    keys: list[Any] = [1.0, "1", None, True]
    for key in keys:
        with pytest.raises(TypeError):
            ours[key]
    for scene, state in ((3, 0), (-4, 0), (0, 10**6), (0, -1)):
        with pytest.raises(IndexError):
            ours.get_frame(scene, state)
    for track_id in (10**9, -1):
        with pytest.raises(ValueError, match="not in frame"):
            ours.get_frame(0, 0, track_id)
    for mask in (np.ones(3, np.bool_), np.ones((len(data.agents), 2), np.bool_)):
        with pytest.raises(ValueError, match="agents_mask"):
            EgoAgentDatasetVectorized(cfg, dataset, vectorizer, agents_mask=mask)
    with pytest.raises(ValueError, match="the row of the ego"):
        none = config(other_agents_num=0)
        EgoAgentDatasetVectorized(none, dataset, Vectorizer(none, map_api))
    with pytest.raises(ValueError, match="threads"):
        EgoDatasetVectorized(cfg, dataset, vectorizer, threads=0)


def test_an_incomplete_map_raises_as_in_l5kit() -> None:
    data, cfg = random_data(0), config()
    place = data.frames["ego_translation"][0]
    near = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    missing = MapAPI(l5_maps.fragment([l5_maps.lane("lane", near, near + 1, ["nothing"])]), l5_maps.world_to_ecef(place))
    with pytest.raises(KeyError, match="nothing"):
        EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, missing))[0]
    faces = data.tl_faces[data.tl_faces["traffic_light_face_status"][:, 0] > 0]["face_id"]
    lights = MapAPI(l5_maps.fragment(l5_maps.traffic_light(name) for name in np.unique(faces)), l5_maps.world_to_ecef(place))
    ours = EgoDatasetVectorized(cfg, in_memory(data), Vectorizer(cfg, lights))
    with pytest.raises(ValueError, match="no valid color"):
        ours.__getitems__(range(len(ours)))
