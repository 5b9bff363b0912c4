"""L5Kit's data sets over tables, zarr groups and arrays: outputs of the real library, and random data sets against a plain reference."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import l5_reference as reference
import numpy as np
import pytest
import tetrys as tt
from l5_reference_raster import box_image
from l5_scenes import random_dataset, write_zarr
from tetrys.l5 import AgentDataset, ChunkedDataset, EgoDataset, Rasterizer, RenderContext, build_rasterizer, select_agents

SHARED = Path(__file__).parents[3] / "shared" / "l5"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")

EXACT = (
    "frame_index scene_index track_id timestamp host_id target_availabilities history_availabilities target_yaws history_yaws "
    "history_extents future_extents extent centroid yaw world_from_agent"
).split()
MATRICES = "agent_from_world raster_from_world world_to_image raster_from_agent".split()


def config(history: int = 10, future: int = 50, map_type: str = "stub_debug", **raster: Any) -> dict[str, Any]:
    return {
        "model_params": {"history_num_frames": history, "future_num_frames": future, "step_time": 0.1, "render_ego_history": True},
        "raster_params": {
            "raster_size": [224, 224], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": map_type,
            "satellite_map_key": "golden/synth_aerial_map.png", "semantic_map_key": "golden/synth_semantic_map.pb",
            "dataset_meta_key": "artefacts/meta.json", "filter_agents_threshold": 0.5, "set_origin_to_bottom": True,
            "disable_traffic_light_faces": False, **raster,
        },
    }  # fmt: skip


class Shared:
    """A data manager over the shared data."""

    def require(self, key: str) -> str:
        return str(SHARED / key)


def rasterizer(cfg: dict[str, Any]) -> Rasterizer:
    return build_rasterizer(cfg, Shared())  # type: ignore[arg-type]


def assert_equal(found: dict[str, Any], expected: Any, number: int, names: Any = None) -> None:
    """Compares a sample with row `number` of a golden file."""
    for name in names or [*EXACT, *MATRICES, "target_positions", "history_positions", "target_velocities", "history_velocities", "curr_speed"]:
        if name not in expected:
            continue
        value, wanted = np.asarray(found[name]), expected[name][number]
        assert value.shape == wanted.shape and (name in ("frame_index", "scene_index", "yaw") or value.dtype == wanted.dtype), name
        if name in EXACT:
            np.testing.assert_array_equal(value, wanted, err_msg=name)
        elif name in MATRICES:
            np.testing.assert_allclose(value, wanted, rtol=0, atol=1e-11, err_msg=name)
        else:
            np.testing.assert_allclose(value, wanted, rtol=2**-23, atol=1e-9, err_msg=name)


@pytest.fixture(scope="session", params=["fast", "compact", "zarr", "arrays"])
def single(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChunkedDataset:
    return opened(SHARED / "artefacts" / "single_scene.zarr", request.param, tmp_path_factory.mktemp("single"))


def opened(zarr: Path, kind: str, folder: Path) -> ChunkedDataset:
    if kind == "zarr":
        return ChunkedDataset(str(zarr)).open()
    if kind == "store":
        return ChunkedDataset(f"file://{zarr}").open()
    if kind == "arrays":
        source, dataset = ChunkedDataset(str(zarr)).open(), ChunkedDataset("")
        dataset.scenes, dataset.frames, dataset.agents = np.array(source.scenes), source.frames[:], source.agents[:]
        dataset.tl_faces = source.tl_faces[:]
        return dataset
    tt.ingest_l5(str(zarr), str(folder / "t"), preset=kind)
    return ChunkedDataset(str(folder / "t")).open()


@needs_data
def test_arrays_are_those_of_the_zarr_group(single: ChunkedDataset) -> None:
    raw = np.load(SHARED / "golden" / "raw.npz")
    for name, array in (("scenes", single.scenes), ("frames", single.frames), ("agents", single.agents), ("tl_faces", single.tl_faces)):
        whole = array[:]
        for field in whole.dtype.names:
            expected = raw[f"{name}.{field}"]
            np.testing.assert_array_equal(whole[field], expected, err_msg=f"{name}.{field}")
            assert whole[field].dtype == expected.dtype
        if name == "scenes":
            continue
        assert len(array) == len(whole)
        np.testing.assert_array_equal(array[5], whole[5])
        np.testing.assert_array_equal(array[-1], whole[-1])
        np.testing.assert_array_equal(array[100:131], whole[100:131])
        np.testing.assert_array_equal(array[3:90:7], whole[3:90:7])
        np.testing.assert_array_equal(array[[7, 3, 200, 3, -2]], whole[[7, 3, 200, 3, -2]])
        mask = np.arange(len(whole)) % 50 == 3
        np.testing.assert_array_equal(array[mask], whole[mask])
        field = whole.dtype.names[0]
        np.testing.assert_array_equal(array[field], whole[field])
        for wrong in (len(whole), -len(whole) - 1):
            with pytest.raises(IndexError):
                array[wrong]
        with pytest.raises(ValueError):
            array["no_such_field"]
    assert "|     1      |    248     |   20802    |" in str(single)


@needs_data
@pytest.mark.parametrize(("history", "future"), [(10, 50), (0, 12)])
def test_ego_samples_are_those_of_l5kit(single: ChunkedDataset, history: int, future: int) -> None:
    golden = dict(np.load(SHARED / "golden" / f"ego_h{history}_f{future}.npz"))
    cfg = config(history, future)
    dataset = EgoDataset(cfg, single, rasterizer(cfg))
    assert len(dataset) == 248
    samples = dataset.__getitems__(range(248))
    for number, sample in enumerate(samples):
        assert_equal(sample, golden, number)
        assert sample["image"].shape == (3, 224, 224) and not sample["image"].any() and ("curr_speed" in sample) == (history > 0)
        assert type(sample["frame_index"]) is int and type(sample["yaw"]) is float and type(sample["track_id"]) is np.int64
    for number in (0, 5, 247, -1):
        alone = dataset[number]
        assert alone.keys() == samples[number].keys()
        for name, value in alone.items():
            np.testing.assert_array_equal(value, samples[number][name])
    again = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(again[17]["target_positions"], samples[17]["target_positions"])
    with pytest.raises(IndexError):
        dataset[248]
    with pytest.raises(ValueError):
        dataset[-249]


@needs_data
@pytest.mark.parametrize(("history", "future"), [(10, 50), (0, 12)])
def test_agent_samples_are_those_of_l5kit(single: ChunkedDataset, history: int, future: int) -> None:
    golden = dict(np.load(SHARED / "golden" / f"agent_h{history}_f{future}.npz"))
    mask = np.load(SHARED / "golden" / "agents_mask_0.5.npz")["agents_mask_bool"]
    cfg = config(history, future)
    dataset = AgentDataset(cfg, single, rasterizer(cfg), agents_mask=mask)
    assert len(dataset) == 1127
    for start in range(0, 1127, 64):
        for number, sample in enumerate(dataset.__getitems__(range(start, min(start + 64, 1127)))):
            assert_equal(sample, golden, start + number)
            assert sample["extent"].dtype == np.float32
    indices = np.load(SHARED / "golden" / "agent_frame_indices.npz")
    for frame in range(0, 248, 7):
        expected = indices["values"][indices["offsets"][frame] : indices["offsets"][frame + 1]]
        np.testing.assert_array_equal(dataset.get_frame_indices(frame), expected)
    np.testing.assert_array_equal(dataset.get_scene_indices(0), indices["scene0"])


@needs_data
def test_masks_are_those_of_l5kit(single: ChunkedDataset) -> None:
    golden = np.load(SHARED / "golden" / "agents_mask_0.5.npz")
    counts, rejected = select_agents(single, 0.5)
    np.testing.assert_array_equal(counts, golden["agents_mask_raw"])
    assert counts.dtype == np.uint32
    assert [rejected[f"reject_th_{name}"] for name in ("agent_filter_probability_threshold", "AV_distance", "extent", "yaw", "hole")] == [
        14666, 2341, 853, 62, 0,
    ]  # fmt: skip


@needs_data
@pytest.mark.parametrize(
    ("map_type", "history", "file", "most"),
    [
        ("box_debug", 0, "ras_box_h0", 0),
        ("box_debug", 10, "ras_box_h10", 0),
        ("semantic_debug", 0, "ras_semantic_synth", 8),
        ("py_semantic", 10, "ras_sembox_synth", 8),
        ("satellite_debug", 0, "ras_sat_synth", 0),
    ],
)
def test_rasters_are_those_of_l5kit(single: ChunkedDataset, map_type: str, history: int, file: str, most: int) -> None:
    golden = np.load(SHARED / "golden" / f"{file}.npz")
    cfg = config(history, 50, map_type)
    drawn = rasterizer(cfg)
    mask = np.load(SHARED / "golden" / "agents_mask_0.5.npz")["agents_mask_bool"]
    for kind, dataset in (("ego", EgoDataset(cfg, single, drawn)), ("agent", AgentDataset(cfg, single, drawn, agents_mask=mask))):
        samples = dataset.__getitems__(golden[f"{kind}_index"].tolist())
        images = np.stack([sample["image"] for sample in samples])
        wanted = golden[f"{kind}_image"]
        assert images.shape == wanted.shape and images.dtype == wanted.dtype
        levels = np.abs(images - wanted) * 255
        assert levels.max() <= most + 1e-3 and (levels > 1e-3).mean() <= 1e-4, f"{(levels > 1e-3).sum()} values differ, by {levels.max()}"
        if kind == "ego" and most == 0:
            for sample, picture in zip(samples, golden["ego_rgb"], strict=True):
                np.testing.assert_array_equal(drawn.to_rgb(sample["image"].transpose(1, 2, 0)), picture)


@needs_data
@pytest.mark.parametrize("kind", ["fast", "zarr"])
def test_scenes_end_the_windows(kind: str, tmp_path: Path) -> None:
    golden = dict(np.load(SHARED / "golden" / "multi_ego_h10_f50.npz"))
    dataset = opened(SHARED / "artefacts" / "multi_scene.zarr", kind, tmp_path)
    cfg = config()
    samples = EgoDataset(cfg, dataset, rasterizer(cfg))
    for number, index in enumerate(golden["__dataset_index"].tolist()):
        assert_equal(samples[index], golden, number)
    assert len(AgentDataset(cfg, dataset, rasterizer(cfg))) == int(
        sum(len(samples.get_scene_dataset(scene)) > 0 and AgentDataset(cfg, dataset, rasterizer(cfg)).get_scene_indices(scene).size for scene in range(4))
    )


@needs_data
def test_a_scene_is_a_data_set_in_memory_that_can_be_changed(tmp_path: Path) -> None:
    dataset = opened(SHARED / "artefacts" / "multi_scene.zarr", "fast", tmp_path)
    cfg = config(3, 5)
    agents = AgentDataset(cfg, dataset, rasterizer(cfg))
    scene = agents.get_scene_dataset(2)
    places = agents.get_scene_indices(2)
    assert len(scene) == len(places)
    for number in (0, len(places) // 2, len(places) - 1):
        one, other = scene[number], agents[int(places[number])]
        for name in one:
            if name != "scene_index":
                np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    ego = EgoDataset(cfg, dataset, rasterizer(cfg)).get_scene_dataset(1)
    before = ego[4]["centroid"]
    ego.dataset.frames["ego_translation"] += 10
    changed = EgoDataset(cfg, copy.copy(ego.dataset), rasterizer(cfg))
    changed.dataset._native = None
    np.testing.assert_allclose(changed[4]["centroid"], before + 10)
    with pytest.raises(ValueError, match="scene index 4 is too high for dataset with 4 scenes"):
        dataset.get_scene_dataset(4)


@needs_data
def test_the_first_format_works_without_traffic_lights(tmp_path: Path) -> None:
    raw = np.load(SHARED / "golden" / "raw_oldformat_v1.npz")
    for kind in ("zarr", "fast"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            dataset = opened(SHARED / "artefacts" / "oldformat_v1.zarr", kind, tmp_path)
        agents = dataset.agents[1000:2000]
        for field in agents.dtype.names:
            np.testing.assert_array_equal(agents[field], raw[f"agents.{field}"][1000:2000])
            assert agents[field].dtype == raw[f"agents.{field}"].dtype
        assert len(dataset.tl_faces) == 0 and dataset.frames[7]["ego_translation"].dtype == np.float32
        cfg = config(2, 3, "box_debug")
        sample = EgoDataset(cfg, dataset, rasterizer(cfg))[300]
        assert sample["image"].any() and sample["target_availabilities"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["fast", "zarr", "store", "arrays"])
def test_random_data_sets_give_the_samples_of_the_reference(seed: int, kind: str, tmp_path: Path) -> None:
    scenes, frames, agents, faces = random_dataset(seed)
    write_zarr(tmp_path / "made.zarr", (scenes, frames, agents, faces), chunk_rows=37 + seed)
    dataset = opened(tmp_path / "made.zarr", kind, tmp_path)
    np.testing.assert_array_equal(dataset.agents[:], agents)
    np.testing.assert_array_equal(dataset.frames[:], frames)
    data = reference.Dataset(scenes, frames, agents, faces)
    counts, rejected = select_agents(dataset, 0.5)
    expected, reasons = reference.select_agents(data)
    np.testing.assert_array_equal(counts, expected)
    assert sum(rejected.values()) == sum(reasons.values())
    history, future = seed % 4, 3 + seed
    settings = reference.Settings(history=history, future=future, raster_size=(60, 40), render_ego_history=seed % 2 == 0)
    context = RenderContext([60, 40], [0.5, 0.5], [0.25, 0.5], True)
    drawn = Rasterizer("box_debug", context, 0.5, history, seed % 2 == 0)
    cfg = config(history, future, "box_debug", raster_size=[60, 40])
    ego = EgoDataset(cfg, dataset, drawn)
    assert len(ego) == len(frames)
    numbers = np.random.default_rng(seed).permutation(len(frames))[:12].tolist()
    for number, sample in zip(numbers, ego.__getitems__(numbers), strict=True):
        assert_as_reference(sample, reference.ego_sample(data, number, settings))
        scene, state = reference.scene_and_state(data, number)
        np.testing.assert_array_equal(sample["image"], box_image(data, scene, state, None, settings))
    valid = agents["label_probabilities"][:, 3:16].sum(axis=1) > 0.6
    of_agents = AgentDataset(cfg, dataset, drawn, agents_mask=valid)
    rows = np.flatnonzero(valid)
    places = np.random.default_rng(seed).permutation(len(rows))[:12].tolist()
    for place, sample in zip(places, of_agents.__getitems__(places), strict=True):
        assert_as_reference(sample, reference.agent_sample(data, int(rows[place]), settings))
    for frame in range(len(frames)):
        np.testing.assert_array_equal(of_agents.get_frame_indices(frame), reference.frame_indices(data, rows, frame))
    for scene in range(len(scenes)):
        if np.diff(scenes["frame_index_interval"][scene])[0]:
            np.testing.assert_array_equal(of_agents.get_scene_indices(scene), reference.scene_indices(data, rows, scene))


def assert_as_reference(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, wanted in expected.items():
        if name != "image":
            np.testing.assert_allclose(np.asarray(found[name]), wanted, rtol=2**-22, atol=1e-8, err_msg=name)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"model_params": {}}, KeyError),
        ({"raster_params": {"raster_size": [0, 10]}}, ValueError),
        ({"raster_params": {"pixel_size": [0.5, 0.25]}}, (ValueError, NotImplementedError)),
        ({"raster_params": {"map_type": "no_such"}}, NotImplementedError),
        ({"model_params": {"history_num_frames": -1}}, (ValueError, OverflowError)),
        ({"raster_params": {"semantic_map_key": "golden/README.md", "map_type": "py_semantic"}}, (ValueError, tt.Corrupt)),
        ({"raster_params": {"semantic_map_key": "nothing", "map_type": "py_semantic"}}, FileNotFoundError),
    ],
)
@needs_data
def test_wrong_configurations_raise_what_callers_catch(change: dict[str, Any], error: Any, tmp_path: Path) -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    cfg = config()
    for part, values in change.items():
        if values:
            cfg[part] |= values
        else:
            cfg[part] = {}
    with pytest.raises(error):
        EgoDataset(cfg, dataset, rasterizer(cfg))[0]


@needs_data
def test_masks_of_another_length_and_tracks_that_are_not_there_are_errors() -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    cfg = config(2, 3)
    drawn = rasterizer(cfg)
    with pytest.raises(ValueError, match="expected one bool for each of 20802 agents"):
        AgentDataset(cfg, dataset, drawn, agents_mask=np.ones(7, bool))
    with pytest.raises(IndexError):
        # An agent that is probably none of the labels that count.
        other = int(np.flatnonzero(dataset.agents["label_probabilities"].argmax(axis=1) == 1)[0])
        AgentDataset(cfg, dataset, drawn, agents_mask=np.ones(20802, bool))[other]
    ego = EgoDataset(cfg, dataset, drawn)
    with pytest.raises(IndexError, match="track 99999 is not in frame 3 of scene 0"):
        ego.get_frame(0, 3, 99999)
    with pytest.raises(IndexError):
        ego.get_frame(1, 0)
    with pytest.raises(IndexError):
        ego.get_frame(0, 248)
    with pytest.raises(TypeError):
        ego[1.5]  # type: ignore[index]
    with pytest.raises(AssertionError):
        ego.get_scene_indices(1)


@needs_data
def test_the_training_loader_delivers_samples_in_its_order_and_resumes(tmp_path: Path) -> None:
    dataset = opened(SHARED / "artefacts" / "single_scene.zarr", "fast", tmp_path)
    cfg = config(2, 3)
    mask = np.load(SHARED / "golden" / "agents_mask_0.5.npz")["agents_mask_bool"]
    for samples in (EgoDataset(cfg, dataset, rasterizer(cfg)), AgentDataset(cfg, dataset, rasterizer(cfg), agents_mask=mask)):
        loader = tt.DataLoader(samples, batch_size=100, seed=3, last="short")
        seen: list[int] = []
        for number, batch in enumerate(loader):
            seen += batch["positions"].tolist()
            assert batch["target_positions"].shape == (len(batch["positions"]), 3, 2)
            if number == 1:
                state = loader.state_dict()
                for place in (0, 57, 99):
                    wanted = samples[int(batch["positions"][place])]
                    for name, value in wanted.items():
                        np.testing.assert_array_equal(batch[name][place], value, err_msg=name)
        assert sorted(seen) == list(range(len(samples))) and seen != sorted(seen)
        again = pickle.loads(pickle.dumps(tt.DataLoader(samples, batch_size=48, seed=3, last="short")))
        again.load_state_dict(state)
        assert [position for batch in again for position in batch["positions"].tolist()] == seen[200:]
    with pytest.raises(tt.Invalid, match="computes its samples"):
        tt.DataLoader(samples, batch_size=4, columns=["ego.*"])
    with pytest.raises(tt.Unsupported, match="needs a table"):
        tt.DataLoader(EgoDataset(cfg, opened(SHARED / "artefacts" / "single_scene.zarr", "zarr", tmp_path), rasterizer(cfg)), batch_size=4)
    with pytest.raises(TypeError):
        tt.DataLoader([1, 2, 3], batch_size=1)  # type: ignore[arg-type]


@needs_data
def test_a_sample_is_drawn_with_its_past_and_future() -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    cfg = config(10, 50, "box_debug")
    samples = EgoDataset(cfg, dataset, rasterizer(cfg))
    picture = np.asarray(samples.plot(100))
    assert picture.shape == (224, 224, 3)
    sample = samples[100]
    plain = samples.rasterizer.to_rgb(sample["image"].transpose(1, 2, 0))
    changed = (picture != plain).any(axis=2)
    for position in sample["target_positions"][[10, 30]]:
        x, y = (sample["raster_from_agent"] @ [*position, 1])[:2]
        if 1 < x < 222 and 1 < y < 222:
            assert changed[int(y) - 1 : int(y) + 3, int(x) - 1 : int(x) + 3].any(), "the future is drawn where it is"
    assert (picture[2:8, 2:8] != plain[2:8, 2:8]).any(), "the first traffic light face"
    with pytest.raises(IndexError):
        samples.plot(248)


class Doubled(EgoDataset):
    """A data set that changes its samples, as L5Kit's users write them."""

    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> dict[str, Any]:
        return super().get_frame(scene_index, state_index, track_id) | {"twice": 2 * state_index}


class DoubledAgents(AgentDataset):
    def get_frame(self, scene_index: int, state_index: int, track_id: int | None = None) -> dict[str, Any]:
        assert track_id is not None
        return super().get_frame(scene_index, state_index, track_id) | {"twice": 2 * state_index}


@needs_data
def test_subclasses_stay_themselves_in_batches_and_pickles() -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    cfg = config(1, 2)
    samples = pickle.loads(pickle.dumps(Doubled(cfg, dataset, rasterizer(cfg))))
    assert type(samples) is Doubled
    np.testing.assert_array_equal(samples.batch([3, 9])["twice"], [6, 18])
    mask = np.load(SHARED / "golden" / "agents_mask_0.5.npz")["agents_mask_bool"]
    plain, of_agents = (kind(cfg, dataset, rasterizer(cfg), agents_mask=mask) for kind in (AgentDataset, DoubledAgents))
    for found, expected in zip(of_agents.__getitems__([3, -9]), plain.__getitems__([3, -9]), strict=True):
        assert found.pop("twice") == 2 * expected["frame_index"] and found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert [sample["twice"] for sample in samples.__getitems__([3, 9])] == [6, 18] and samples[-1]["twice"] == 494


@needs_data
def test_arrays_in_memory_are_read_again_when_they_change() -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    scene, cfg = dataset.get_scene_dataset(0), config(1, 2)
    samples = EgoDataset(cfg, scene, rasterizer(cfg))
    before = samples[5]["centroid"].copy()
    scene.frames["ego_translation"][:, :2] += 7
    np.testing.assert_allclose(samples[5]["centroid"], before + 7)
    scene.agents = scene.agents[:100]
    with pytest.raises(ValueError):
        samples[5]
    scene = dataset.get_scene_dataset(0)
    scene.frames = scene.frames[100:].copy()
    scene.scenes["frame_index_interval"] = 0, 148
    with pytest.raises(ValueError, match="intervals that start at 0"):
        EgoDataset(cfg, scene, rasterizer(cfg))[5]


@needs_data
def test_impossible_numbers_are_errors_and_not_panics() -> None:
    dataset = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    for key in ("history_num_frames", "future_num_frames"):
        for wrong in (2**64 - 1, 10**12, -1, 1.5, "3", None):
            cfg = config()
            cfg["model_params"][key] = wrong
            with pytest.raises((ValueError, TypeError)):
                EgoDataset(cfg, dataset, Rasterizer("stub_debug", RenderContext([8, 8], [1, 1], [0.5, 0.5], True), 0.5, 0, True))
    cfg = config(1, 2)
    for threads in (-1, 0, "2", 1.5):
        with pytest.raises(tt.Invalid):
            EgoDataset(cfg, dataset, rasterizer(cfg), threads=threads)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        EgoDataset(cfg, dataset, rasterizer(cfg)).get_frame(0, 5, -1)


@needs_data
def test_a_mask_beside_a_table_belongs_to_that_table(tmp_path: Path) -> None:
    cfg = config(1, 2)
    zarr = SHARED / "artefacts" / "single_scene.zarr"
    for _ in range(2):
        tt.ingest_l5(str(zarr), str(tmp_path / "t"))
        dataset = ChunkedDataset(str(tmp_path / "t")).open()
        assert len(AgentDataset(cfg, dataset, rasterizer(cfg))) == 1127
        file = max((tmp_path / "t.agents_mask").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        np.save(file, np.full((20802, 2), 20, np.uint32))
        assert len(AgentDataset(cfg, dataset, rasterizer(cfg))) == 20802, "the file is read"
        shutil.rmtree(tmp_path / "t")


@pytest.mark.torch
def test_the_example_trains_a_planner(tmp_path: Path) -> None:
    scenes, frames, agents, faces = random_dataset(3, scenes=4, max_frames=60)
    write_zarr(tmp_path / "sample.zarr", (scenes, frames, agents, faces))
    script = Path(__file__).parents[2] / "examples" / "train_planner.py"
    command = [sys.executable, str(script), str(tmp_path / "sample.zarr"), "--epochs", "4"]
    output = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert output.returncode == 0, output.stderr
    distances = [float(line.split()[2]) for line in output.stdout.splitlines()]
    assert len(distances) == 4 and distances[-1] < distances[0], output.stdout
