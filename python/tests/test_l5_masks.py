"""Masks of agents: where their counts are kept, and what a damaged or foreign file does. Maps as attachments of tables."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import l5_maps
import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from l5_reference import Dataset, select_agents, valid_rows
from l5_scenes import random_dataset, write_zarr
from tetrys.l5 import (
    AgentDataset,
    ChunkedDataset,
    EgoDataset,
    MapAPI,
    Rasterizer,
    RenderContext,
    TableDataManager,
    attach,
    build_rasterizer,
    get_valid_agents,
)
from tetrys.l5 import select_agents as count_all
from tetrys.l5._masks import load_agents_mask

SHARED = Path(__file__).parents[3] / "shared" / "l5"

LIMITS = (2, 1)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tetrys" / "agents_mask"


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, npt.NDArray[np.bool_]]:
    """Returns a zarr group and the mask that a plain implementation computes."""
    arrays = random_dataset(5, scenes=4, max_frames=40)
    expected = np.zeros(len(arrays[2]), np.bool_)
    expected[valid_rows(select_agents(Dataset(*arrays))[0], *LIMITS)] = True
    assert 0 < expected.sum() < len(expected)
    return write_zarr(tmp_path / "made.zarr", arrays), expected


def opened(path: str | Path) -> ChunkedDataset:
    return ChunkedDataset(str(path)).open()


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_counts_are_kept_beside_the_data_and_read_from_there(made: tuple[Path, npt.NDArray[np.bool_]], tmp_path: Path, cache: Path) -> None:
    zarr, expected = made
    tt.ingest_l5(str(zarr), str(tmp_path / "t"))
    archive = shutil.make_archive(str(tmp_path / "zipped.zarr"), "zip", zarr.parent, zarr.name)
    for place in (zarr, tmp_path / "t", Path(archive)):
        beside = place.with_name(f"{place.name}.agents_mask")
        np.testing.assert_array_equal(load_agents_mask(opened(place), 0.5, *LIMITS), expected)
        (file,) = files(beside)
        counts = np.load(file)
        assert counts.dtype == np.uint32 and counts.shape == (len(expected), 2) and files(cache) == []
        # The counts are read, and not computed again.
        np.save(file, np.full_like(counts, 7))
        assert load_agents_mask(opened(place), 0.5, 7, 7).all() and not load_agents_mask(opened(place), 0.5, 7, 8).any()
        np.testing.assert_array_equal(load_agents_mask(opened(place), 0.25, -1, 2**70), np.zeros(len(expected), np.bool_))


@pytest.mark.parametrize("kind", ["table", "zarr"])
def test_counts_of_data_in_an_object_store_are_kept_in_the_cache_folder(
    kind: str, made: tuple[Path, npt.NDArray[np.bool_]], tmp_path: Path, cache: Path
) -> None:
    zarr, expected = made
    url = f"memory://{uuid.uuid4().hex}" if kind == "table" else f"file://{zarr}"
    if kind == "table":
        stored = tt.ingest_l5(str(zarr), url)
    dataset = opened(url)
    np.testing.assert_array_equal(load_agents_mask(dataset, 0.5, *LIMITS), expected)
    (file,) = files(cache)
    np.save(file, np.full((len(expected), 2), 7, np.uint32))
    assert load_agents_mask(opened(url), 0.5, 7, 7).all()
    # Another version, or other data at the same URL, has other counts.
    if kind == "table":
        attach(stored, {"note": b"another version"})
        np.testing.assert_array_equal(load_agents_mask(opened(url), 0.5, *LIMITS), expected)
    else:
        shutil.rmtree(zarr)
        write_zarr(zarr, random_dataset(6, scenes=4, max_frames=40))
        assert len(load_agents_mask(opened(url), 0.5, *LIMITS)) == len(opened(url).agents)
    assert len(files(cache)) == 2


def test_a_group_whose_agents_were_changed_has_other_counts(made: tuple[Path, npt.NDArray[np.bool_]], cache: Path) -> None:
    zarr, expected = made
    np.testing.assert_array_equal(load_agents_mask(opened(zarr), 0.5, *LIMITS), expected)
    # The frames and the number of the agents stay.
    (chunk,) = (file for file in (zarr / "agents").iterdir() if file.name == "0")
    arrays = random_dataset(5, scenes=4, max_frames=40)
    arrays[2]["label_probabilities"] = 0
    written = write_zarr(zarr.with_name("other.zarr"), arrays)
    chunk.write_bytes((written / "agents" / "0").read_bytes())
    assert not load_agents_mask(opened(zarr), 0.5, *LIMITS).any()


@pytest.mark.parametrize("content", [b"", b"not numpy", b"\x93NUMPY\x01\x00", "shape", "dtype", "pickle"])
def test_a_file_that_does_not_have_the_counts_stays_as_it_is(
    content: bytes | str, made: tuple[Path, npt.NDArray[np.bool_]], cache: Path
) -> None:
    zarr, expected = made
    load_agents_mask(opened(zarr), 0.5, *LIMITS)
    (file,) = files(zarr.with_name(f"{zarr.name}.agents_mask"))
    foreign: dict[str, Any] = {"shape": np.zeros((3, 2), np.uint32), "dtype": np.zeros((len(expected), 2)), "pickle": np.array([{}])}
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        np.save(file, foreign[content], allow_pickle=True)
    before = file.read_bytes()
    np.testing.assert_array_equal(load_agents_mask(opened(zarr), 0.5, *LIMITS), expected)
    assert file.read_bytes() == before
    # The counts went to the next place.
    (kept,) = files(cache)
    np.save(kept, np.full((len(expected), 2), 7, np.uint32))
    assert load_agents_mask(opened(zarr), 0.5, 7, 7).all()


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(
    made: tuple[Path, npt.NDArray[np.bool_]], tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zarr, expected = made
    # Files where the folders would be: nobody can make these folders, whatever the user's rights are.
    zarr.with_name(f"{zarr.name}.agents_mask").write_bytes(b"")
    np.testing.assert_array_equal(load_agents_mask(opened(zarr), 0.5, *LIMITS), expected)
    assert len(files(cache)) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(zarr.with_name(f"{zarr.name}.agents_mask")))
    np.testing.assert_array_equal(load_agents_mask(opened(zarr), 0.5, *LIMITS), expected)
    if os.path.exists("/dev/full"):
        # A full disk: the file that could not be written to its end is gone.
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "full"))
        monkeypatch.setattr("tetrys.l5._masks.written_whole", lambda _: open("/dev/full", "wb", buffering=0))
        np.testing.assert_array_equal(load_agents_mask(opened(zarr), 0.5, *LIMITS), expected)


def test_arrays_that_the_caller_has_set_keep_nothing(made: tuple[Path, npt.NDArray[np.bool_]], cache: Path) -> None:
    zarr, expected = made
    load_agents_mask(opened(zarr), 0.5, *LIMITS)
    dataset = opened(zarr)
    dataset.agents = dataset.agents[:]
    dataset.agents["label_probabilities"] = 0
    assert not load_agents_mask(dataset, 0.5, *LIMITS).any(), "the file beside the zarr group is for other agents"
    assert len(files(zarr.with_name(f"{zarr.name}.agents_mask"))) == 1 and files(cache) == []


@pytest.mark.parametrize("kind", ["table", "zarr", "arrays"])
def test_the_counts_of_the_frames_of_a_scene_are_those_of_all_scenes(
    kind: str, made: tuple[Path, npt.NDArray[np.bool_]], tmp_path: Path
) -> None:
    zarr, _ = made
    if kind == "table":
        tt.ingest_l5(str(zarr), str(tmp_path / "t"))
    dataset = opened(tmp_path / "t" if kind == "table" else zarr)
    if kind == "arrays":
        dataset.frames, dataset.agents = dataset.frames[:], dataset.agents[:]
    expected, rejected = count_all(dataset, 0.5)
    total: Counter[str] = Counter()
    for scene in dataset.scenes:
        counts, report, (start, stop) = get_valid_agents(scene["frame_index_interval"], dataset, 0.5, 30, 1.1, 50)
        assert counts.dtype == np.uint32 and isinstance(report, Counter)
        np.testing.assert_array_equal(counts, expected[start:stop])
        assert report["total_agent_frames"] == stop - start == len(counts)
        total += report
    assert {name: total[name] for name in rejected} == rejected and total["total_reject"] == sum(rejected.values())
    # A part of a scene counts alone, as a plain implementation of L5Kit does.
    first, last = 1, min(9, int(dataset.scenes[0]["frame_index_interval"][1]))
    part = ChunkedDataset("")
    part.frames, part.agents = np.array(dataset.frames[first:last]), dataset.agents[:]
    counts, _, (start, stop) = get_valid_agents([first, last], dataset, 0.5, 30, 1.1, 50)
    scenes = np.zeros(1, dataset.scenes.dtype)
    scenes["frame_index_interval"] = 0, last - first
    part.frames["agent_index_interval"] -= start
    plain = select_agents(Dataset(scenes, part.frames, part.agents[start:stop], np.empty(0)))[0]
    np.testing.assert_array_equal(counts, plain)
    for wrong in ([0, 0], [3, 2], [-1, 4], [0, len(dataset.frames) + 1]):
        with pytest.raises(IndexError, match="expected one or more of"):
            get_valid_agents(wrong, dataset, 0.5, 30, 1.1, 50)


@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
@pytest.mark.parametrize(("limits", "name"), [((30, 1.1, 50), "0.5"), ((10, 1.1, 50), "yaw10"), ((30, 1.02, 50), "ext1.02"), ((30, 1.1, 20), "dist20")])
def test_the_report_of_a_scene_is_that_of_l5kit(limits: tuple[float, float, float], name: str) -> None:
    dataset = opened(SHARED / "artefacts" / "single_scene.zarr")
    counts, report, agents = get_valid_agents(dataset.scenes[0]["frame_index_interval"], dataset, 0.5, *limits)
    expected = json.loads((SHARED / "golden" / "manifest.json").read_text())["notes"]["select_agents_report"][name]
    expected.pop("valid_10_1", None)
    assert report == Counter(expected) and agents == (0, 20_802)
    if name == "0.5":
        np.testing.assert_array_equal(counts, np.load(SHARED / "golden" / "agents_mask_0.5.npz")["agents_mask_raw"])


def test_a_data_set_of_agents_loads_its_counts_and_keeps_them(made: tuple[Path, npt.NDArray[np.bool_]], tmp_path: Path, cache: Path) -> None:
    zarr, expected = made
    context = RenderContext([8, 8], [1, 1], [0.5, 0.5], True)
    cfg = {
        "model_params": {"history_num_frames": 0, "future_num_frames": 1, "step_time": 0.1},
        "raster_params": {"filter_agents_threshold": 0.5},
    }

    def counts_of(dataset: ChunkedDataset) -> npt.NDArray[np.uint32]:
        samples = AgentDataset(cfg, dataset, Rasterizer("stub_debug", context, 0.5, 0, True), agents_mask=np.zeros(len(dataset.agents), bool))
        return samples.load_agents_mask()

    counts = counts_of(opened(zarr))
    np.testing.assert_array_equal(counts, count_all(opened(zarr), 0.5)[0])
    np.testing.assert_array_equal((counts[:, 0] >= LIMITS[0]) & (counts[:, 1] >= LIMITS[1]), expected)
    (file,) = files(zarr.with_name(f"{zarr.name}.agents_mask"))
    np.testing.assert_array_equal(np.load(file), counts)
    # The file is read, by this call and by that of masks, and not computed again.
    np.save(file, np.full_like(counts, 7))
    assert (counts_of(opened(zarr)) == 7).all() and load_agents_mask(opened(zarr), 0.5, 7, 7).all()
    # Arrays of the caller keep nothing.
    dataset = opened(zarr)
    dataset.agents = dataset.agents[:]
    np.testing.assert_array_equal(counts_of(dataset), counts)
    assert len(files(zarr.parent / f"{zarr.name}.agents_mask")) == 1 and files(cache) == []


def test_maps_are_attachments_of_an_ingested_table(tmp_path: Path) -> None:
    arrays = random_dataset(2, scenes=3, max_frames=12)
    place = arrays[1]["ego_translation"][0]
    points = np.array([[-9.0, 0.0, 0.0], [9.0, 1.0, 0.0]])
    semantic = l5_maps.fragment([l5_maps.lane("lane", points, points + 3), l5_maps.crosswalk("crossing", points)])
    (tmp_path / "map.pb").write_bytes(semantic)
    meta = b'{"world_to_ecef": %s}' % str(l5_maps.world_to_ecef(place).tolist()).encode()
    url = f"memory://{uuid.uuid4().hex}"
    before = tt.ingest_l5(str(write_zarr(tmp_path / "a.zarr", arrays)), url)
    table = attach(url, {"map.pb": tmp_path / "map.pb", "meta.json": meta})
    assert table.version == before.version + 1 and len(table) == len(before)
    assert attach(table, {"map.pb": semantic, "other": b""}).attachment("meta.json") == meta
    manager = TableDataManager(url)
    cfg: dict[str, Any] = {
        "model_params": {"history_num_frames": 1, "future_num_frames": 2, "step_time": 0.1, "render_ego_history": True},
        "raster_params": {
            "raster_size": [40, 30], "pixel_size": [0.5, 0.5], "ego_center": [0.5, 0.5], "map_type": "py_semantic",
            "semantic_map_key": "map.pb", "dataset_meta_key": "meta.json", "satellite_map_key": "aerial.png",
            "filter_agents_threshold": 0.5, "set_origin_to_bottom": True,
        },
    }  # fmt: skip
    ground = (semantic, l5_maps.world_to_ecef(place).tolist())
    expected = Rasterizer("py_semantic", RenderContext([40, 30], [0.5, 0.5], [0.5, 0.5], True), 0.5, 1, True, map=ground)
    dataset = opened(url)
    found = EgoDataset(cfg, dataset, build_rasterizer(cfg, manager))[0]["image"]
    np.testing.assert_array_equal(found, EgoDataset(cfg, dataset, expected)[0]["image"])
    assert (found[-3:] < 1).any()
    for map_api in (MapAPI.from_cfg(manager, cfg), MapAPI.from_table(manager.table, "map.pb")):
        np.testing.assert_allclose(map_api.get_lane_coords("lane")["xyz_left"], points + place, atol=1e-6)
    assert Path(manager.require("map.pb")).read_bytes() == semantic and Path(manager.require("map.pb")).name == "map.pb"
    for call in (manager.require, manager.read):
        with pytest.raises(FileNotFoundError, match=r"aerial\.png"):
            call("aerial.png")
    with pytest.raises(FileNotFoundError):
        build_rasterizer(cfg | {"raster_params": cfg["raster_params"] | {"map_type": "py_satellite"}}, manager)


@pytest.mark.parametrize("files", [{}, None, ["map.pb"], {"map": 7}, {7: b"map"}, {"map": None}])
def test_attachments_without_a_name_or_content_are_refused(files: Any, tmp_path: Path) -> None:
    table = tt.ingest_l5(str(write_zarr(tmp_path / "a.zarr", random_dataset(1, scenes=2, max_frames=3))), str(tmp_path / "t"))
    with pytest.raises((ValueError, TypeError)):
        attach(table, files)
    with pytest.raises(FileNotFoundError):
        attach(table, {"map": tmp_path / "nothing"})
    assert tt.open_table(str(tmp_path / "t")).version == table.version


def test_a_mask_of_another_length_and_no_mask_at_all(made: tuple[Path, npt.NDArray[np.bool_]], cache: Path) -> None:
    zarr, expected = made
    dataset, context = opened(zarr), RenderContext([8, 8], [1, 1], [0.5, 0.5], True)
    drawn = Rasterizer("stub_debug", context, 0.5, 0, True)
    cfg = {
        "model_params": {"history_num_frames": 0, "future_num_frames": 1, "step_time": 0.1},
        "raster_params": {"filter_agents_threshold": 0.5},
    }
    samples = AgentDataset(cfg, dataset, drawn, min_frame_history=LIMITS[0], min_frame_future=LIMITS[1])
    np.testing.assert_array_equal(samples.agents_mask, expected)
    assert samples.agents_mask.nbytes == len(expected) and samples.agents_indices.nbytes == 8 * expected.sum()
    for wrong in (expected[1:], expected[None], np.append(expected, True), np.empty(0, bool)):
        with pytest.raises(ValueError, match="expected one bool for each of"):
            AgentDataset(cfg, dataset, drawn, agents_mask=wrong)
    for limit in (1.5, True, None, "3"):
        with pytest.raises(ValueError, match="expected a number of frames"):
            AgentDataset(cfg, dataset, drawn, min_frame_history=limit)  # type: ignore[arg-type]
