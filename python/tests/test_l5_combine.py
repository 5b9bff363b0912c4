"""Views of Level 5 tables: the arrays that L5Kit's tools copy, without a copy."""

from __future__ import annotations

import csv
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tetrys as tt
from l5_scenes import SCENE, random_dataset, write_zarr
from tetrys import _tetrys
from tetrys.l5 import AgentDataset, ChunkedDataset, EgoDataset, Rasterizer, RenderContext, select_agents
from tetrys.l5._chop import create_chopped_dataset, export_zarr_to_csv
from tetrys.l5._combine import GIGABYTE, export, get_combined_scenes, scene_subset, zarr_concat, zarr_scenes_chop, zarr_split

SHARED = Path(__file__).parents[3] / "shared" / "l5"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")

Arrays = tuple[Any, Any, Any, Any]
AGENTS, FACES = "agent_index_interval", "traffic_light_faces_index_interval"


def copied(parts: Sequence[tuple[Arrays, int, int | None]]) -> Arrays:
    """Copies the first frames (None: all) of scenes of data sets into a new one, as L5Kit does."""
    scenes, frames, agents, faces = [], [], [], []
    for (all_scenes, all_frames, all_agents, all_faces), number, most in parts:
        scene = all_scenes[number].copy()
        first, last = scene["frame_index_interval"]
        here = all_frames[first:last][:most].copy()
        scene["frame_index_interval"] = sum(map(len, frames)), sum(map(len, frames)) + len(here)
        for interval, records, kept in ((AGENTS, all_agents, agents), (FACES, all_faces, faces)):
            start, stop = here[interval][0, 0], here[interval][-1, 1]
            here[interval] += sum(map(len, kept)) - start
            kept.append(records[start:stop])
        scenes.append(scene)
        frames.append(here)
    return np.array(scenes, SCENE), np.concatenate(frames), np.concatenate(agents), np.concatenate(faces)


def long_scenes(seed: int, more_than: int, max_frames: int = 40) -> Arrays:
    """Makes random scenes of more than some frames."""
    arrays = random_dataset(seed, scenes=8, max_frames=max_frames)
    lengths = np.diff(arrays[0]["frame_index_interval"])[:, 0]
    return copied([(arrays, int(scene), None) for scene in np.flatnonzero(lengths > more_than)])


def table(folder: Path, arrays: Arrays, name: str = "t", masks: dict[str, Any] | None = None) -> Path:
    named = dict(zip(("scenes", "frames", "agents", "traffic_light_faces"), arrays, strict=True))
    write_zarr(folder / f"{name}.zarr", named | (masks or {}), chunk_rows=53)
    tt.ingest_l5(folder / f"{name}.zarr", folder / name)
    return folder / name


def assert_arrays(place: Any, expected: Arrays) -> None:
    """Compares the arrays of a view, and those of its zarr group."""
    exported = Path(f"{place}-back.zarr")
    export(place, exported)
    for dataset in (ChunkedDataset(str(place)).open(), ChunkedDataset(str(exported)).open()):
        for name, records in zip(("scenes", "frames", "agents", "tl_faces"), expected, strict=True):
            found = np.asarray(getattr(dataset, name))
            assert found.dtype == records.dtype and len(found) == len(records)
            for field in found.dtype.names or ():
                np.testing.assert_array_equal(found[field], records[field], err_msg=f"{name}.{field}")


def in_memory(arrays: Arrays) -> ChunkedDataset:
    dataset = ChunkedDataset("")
    dataset.scenes, dataset.frames, dataset.agents, dataset.tl_faces = arrays
    return dataset


def config(history: int, future: int) -> dict[str, Any]:
    model = {"history_num_frames": history, "future_num_frames": future, "step_time": 0.1, "render_ego_history": True}
    return {
        "model_params": model,
        "raster_params": {
            "raster_size": [40, 40], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": "box_debug",
            "filter_agents_threshold": 0.5, "set_origin_to_bottom": True, "disable_traffic_light_faces": False,
        },
    }  # fmt: skip


def boxes(history: int) -> Rasterizer:
    return Rasterizer("box_debug", RenderContext([40, 40], [0.5, 0.5], [0.25, 0.5], True), 0.5, history, True)


def assert_same_samples(left: EgoDataset, right: EgoDataset) -> int:
    assert len(left) == len(right)
    pairs = zip(left.__getitems__(range(len(left))), right.__getitems__(range(len(right))), strict=True)
    for number, (found, expected) in enumerate(pairs):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value, err_msg=f"{name} of sample {number}")
    return len(left)


@needs_data
def test_l5kits_own_combination_of_chopped_scenes(tmp_path: Path) -> None:
    real = SHARED / "artefacts" / "multi_scene.zarr"
    single = tmp_path / "single"
    tt.ingest_l5(SHARED / "artefacts" / "single_scene.zarr", single)
    zarr_scenes_chop(single, tmp_path / "chop100", 100)
    zarr_scenes_chop(single, tmp_path / "chop37", 37)
    view = zarr_concat([single, tmp_path / "chop100", tmp_path / "chop37", single], tmp_path / "multi")
    assert view.is_view and not any((tmp_path / "multi").glob("**/chunks/*"))
    source = ChunkedDataset(str(real)).open()
    assert_arrays(tmp_path / "multi", (source.scenes, source.frames[:], source.agents[:], source.tl_faces[:]))
    for name in (".zgroup", ".zattrs", *(f"{array}/.zarray" for array in ("scenes", "frames", "agents", "traffic_light_faces"))):
        assert (tmp_path / "multi-back.zarr" / name).read_bytes() == (real / name).read_bytes()
    golden = dict(np.load(SHARED / "golden" / "multi_ego_h10_f50.npz"))
    samples = EgoDataset(config(10, 50), ChunkedDataset(view).open(), boxes(10))
    for number, index in enumerate(golden["__dataset_index"].tolist()):
        for name in "target_availabilities history_availabilities target_yaws history_yaws centroid yaw scene_index".split():
            np.testing.assert_array_equal(samples[index][name], golden[name][number], err_msg=name)
        for name in ("target_positions", "history_positions", "target_velocities", "history_velocities"):
            np.testing.assert_allclose(samples[index][name], golden[name][number], rtol=2**-23, atol=1e-9, err_msg=name)
    written = _tetrys.L5Zarr(str(real)).records("agents_mask/0.5", 0, len(source.agents))
    counts, _ = select_agents(ChunkedDataset(view).open(), 0.5)
    np.testing.assert_array_equal(counts, np.frombuffer(written, "<u4").reshape(-1, 2))


@pytest.mark.parametrize("seed", range(4))
def test_concatenations_are_copies_of_all_scenes(seed: int, tmp_path: Path) -> None:
    left, right = random_dataset(seed), random_dataset(seed + 100, scenes=3)
    one, other = table(tmp_path, left, "one"), table(tmp_path, right, "other")
    view = zarr_concat([one, tt.Table(other), str(one), one], tmp_path / "view")
    parts = [left, right, left, left]
    expected = copied([(arrays, scene, None) for arrays in parts for scene in range(len(arrays[0]))])
    assert_arrays(tmp_path / "view", expected)
    cfg, drawn = config(2, 5), boxes(2)
    assert_same_samples(EgoDataset(cfg, ChunkedDataset(view).open(), drawn), EgoDataset(cfg, in_memory(expected), drawn))
    again = zarr_concat([view, other], tmp_path / "again")
    assert len(again) == len(expected[1]) + len(right[1]) and all(not source.is_view for source in again.sources())
    parts = [*parts, right]
    assert_arrays(tmp_path / "again", copied([(arrays, scene, None) for arrays in parts for scene in range(len(arrays[0]))]))


@pytest.mark.parametrize("seed", range(4))
def test_subsets_have_their_scenes_in_order(seed: int, tmp_path: Path) -> None:
    arrays = random_dataset(seed, scenes=5)
    source = table(tmp_path, arrays)
    for number, chosen in enumerate([[3, 1, 1, -5], [4], np.array([True, False, True, True, False]), range(1, 5)]):
        scene_subset(source, tmp_path / f"v{number}", chosen)
        expected = np.arange(5)[np.asarray(chosen)].tolist()
        assert_arrays(tmp_path / f"v{number}", copied([(arrays, scene, None) for scene in expected]))
    empty = scene_subset(source, tmp_path / "none", [])
    dataset = ChunkedDataset(empty).open()
    assert [len(dataset.scenes), len(dataset.frames), len(dataset.agents), len(dataset.tl_faces)] == [0, 0, 0, 0]
    with pytest.raises(IndexError):
        scene_subset(source, tmp_path / "beyond", [5])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("frames", [1, 7])
def test_a_chop_ends_every_window(seed: int, frames: int, tmp_path: Path) -> None:
    arrays = long_scenes(seed, frames)
    source = table(tmp_path, arrays)
    view = zarr_scenes_chop(source, tmp_path / "view", frames)
    expected = copied([(arrays, scene, frames) for scene in range(len(arrays[0]))])
    assert_arrays(tmp_path / "view", expected)
    for history, future in ((3, 10), (0, 2), (9, 50)):
        cfg, drawn = config(history, future), boxes(history)
        dataset = ChunkedDataset(view).open()
        ego = EgoDataset(cfg, dataset, drawn)
        assert assert_same_samples(ego, EgoDataset(cfg, in_memory(expected), drawn)) == frames * len(arrays[0])
        for sample in ego.__getitems__(range(len(ego))):
            assert sample["target_availabilities"][frames - 1 - sample["frame_index"] :].sum() == 0
        # The masks are those of the chopped scenes too: nobody behind the chop counts.
        for settings in ((0, 0), (1, 0), (2, 1)):
            least: dict[str, Any] = dict(zip(("min_frame_history", "min_frame_future"), settings, strict=True))
            mask = AgentDataset(cfg, in_memory(expected), drawn, **least).agents_mask
            np.testing.assert_array_equal(AgentDataset(cfg, dataset, drawn, **least).agents_mask, mask)
        valid = expected[2]["label_probabilities"][:, 3:16].sum(axis=1) > 0.6
        agents = AgentDataset(cfg, dataset, drawn, agents_mask=valid)
        assert_same_samples(agents, AgentDataset(cfg, in_memory(expected), drawn, agents_mask=valid))
        for sample in agents.__getitems__(range(len(agents))):
            assert sample["target_availabilities"][frames - 1 - sample["frame_index"] :].sum() == 0


def test_scenes_that_are_too_short_are_not_chopped(tmp_path: Path) -> None:
    arrays = long_scenes(3, 5)
    source = table(tmp_path, arrays)
    shortest = int(np.diff(arrays[0]["frame_index_interval"]).min())
    zarr_scenes_chop(source, tmp_path / "most", shortest - 1)
    for frames in (shortest, 1000):
        with pytest.raises(AssertionError, match="not enough frames: scene"):
            zarr_scenes_chop(source, tmp_path / "more", frames)
        with pytest.raises(AssertionError, match="not enough frames: scene"):
            create_chopped_dataset(source, 0.5, frames, 10, 10)
    for wrong in (0, -3, 2.5, True):
        with pytest.raises(tt.Invalid, match="num_frames_to_copy"):
            zarr_scenes_chop(source, tmp_path / "more", wrong)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["most", "t", "t.zarr"]


def test_splits_have_their_share_of_the_scenes(tmp_path: Path) -> None:
    arrays = random_dataset(5, scenes=11)
    source = table(tmp_path, arrays)
    size = sum(stored for stored, _ in tt.Table(source).group_sizes.values()) / GIGABYTE
    sizes = {"a": size * 0.25, "b.zarr": size * 0.5, "c": -1}
    infos = [{"name": name, "split_size_GB": share} for name, share in sizes.items()]
    assert zarr_split(source, tmp_path / "parts", infos) == [(0, 2), (2, 7), (7, 11)]
    for name, scenes in (("a", range(2)), ("b.zarr", range(2, 7)), ("c", range(7, 11))):
        assert_arrays(tmp_path / "parts" / name, copied([(arrays, scene, None) for scene in scenes]))
    # A view of the table twice is twice as large.
    zarr_concat([source, source], tmp_path / "twice")
    assert zarr_split(tmp_path / "twice", tmp_path / "of-twice", infos) == [(0, 2), (2, 7), (7, 22)]
    scene_subset(source, tmp_path / "half", np.flatnonzero(np.arange(11) % 2))
    rows = len(tt.Table(tmp_path / "half")) / len(arrays[1])
    infos = [{"name": "a", "split_size_GB": size * rows * 0.41}, {"name": "b", "split_size_GB": -1}]
    assert zarr_split(tmp_path / "half", tmp_path / "of-half", infos) == [(0, 2), (2, 5)]
    assert zarr_split(source, tmp_path, [{"name": "all", "split_size_GB": -1}]) == [(0, 11)]


@pytest.mark.parametrize("sizes", [[], [0.5], [0.5, 0.5], [1.0, -1], [0.6, 0.5, -1], [0.01, -1]])
def test_impossible_splits_save_nothing(sizes: list[float], tmp_path: Path) -> None:
    source = table(tmp_path, random_dataset(5))
    size = sum(stored for stored, _ in tt.Table(source).group_sizes.values()) / GIGABYTE
    infos = [{"name": str(number), "split_size_GB": share * size if share > 0 else -1} for number, share in enumerate(sizes)]
    with pytest.raises(AssertionError):
        zarr_split(source, tmp_path / "parts", infos)
    assert not (tmp_path / "parts").exists()


def test_nothing_is_replaced_and_zarr_groups_are_refused(tmp_path: Path) -> None:
    source = table(tmp_path, long_scenes(3, 5))
    (tmp_path / "empty").mkdir()
    zarr_concat([source], tmp_path / "view")
    for taken in (tmp_path / "empty", tmp_path / "view", f"file://{tmp_path}/view"):
        with pytest.raises(AssertionError) as refused:
            zarr_concat([source], taken)
        assert isinstance(refused.value, tt.Exists)
        with pytest.raises(AssertionError):
            scene_subset(source, taken, [0])
        with pytest.raises(AssertionError):
            zarr_scenes_chop(source, taken, 3)
    with pytest.raises(ValueError, match="output_path is empty"):
        # Without the check, this would be the root of the file system, where the name exists.
        zarr_split(source, "", [{"name": "tmp", "split_size_GB": -1}])
    with pytest.raises(tt.Exists):
        export(source, tmp_path / "empty")
    zarr = tmp_path / "t.zarr"
    for attempt in (
        lambda: zarr_concat([source, zarr], tmp_path / "out"),
        lambda: zarr_split(zarr, tmp_path / "out", [{"name": "a", "split_size_GB": -1}]),
        lambda: zarr_scenes_chop(zarr, tmp_path / "out", 3),
        lambda: scene_subset(str(zarr), tmp_path / "out", [0]),
        lambda: create_chopped_dataset(zarr, 0.5, 3, 5, 1),
    ):
        with pytest.raises(ValueError, match="is a zarr group, .* tetrys.ingest_l5"):
            attempt()
    with pytest.raises(TypeError):
        zarr_concat([7], tmp_path / "out")  # type: ignore[list-item]
    assert not (tmp_path / "out").exists()


def test_a_stray_zgroup_does_not_hide_a_table(tmp_path: Path) -> None:
    arrays = random_dataset(2)
    source = table(tmp_path, arrays)
    # As L5Kit's `select_agents` leaves it, where its `ChunkedDataset` has the path of a table.
    (source / ".zgroup").write_text('{"zarr_format": 2}')
    (source / "agents_mask").mkdir()
    for place in (source, f"file://{source}", tt.open_table(source)):
        dataset = ChunkedDataset(place if isinstance(place, tt.Table) else str(place)).open()
        assert dataset._table is not None
        np.testing.assert_array_equal(dataset.agents[:], arrays[2])
    zarr_concat([source], tmp_path / "view")
    assert_arrays(tmp_path / "view", arrays)
    # A group without a table is a group, and a damaged table is no group.
    assert ChunkedDataset(str(tmp_path / "t.zarr")).open()._table is None
    for manifest in (source / "manifests").iterdir():
        manifest.chmod(0o644)
        manifest.write_bytes(b"damaged")
    with pytest.raises(tt.Corrupt):
        ChunkedDataset(str(source)).open()


@pytest.mark.parametrize("kind", ["zarr", "table"])
def test_a_scene_of_a_zarr_group_is_that_of_its_table(kind: str, tmp_path: Path) -> None:
    arrays = random_dataset(6, scenes=4)
    path = table(tmp_path, arrays)
    dataset = ChunkedDataset(str(path if kind == "table" else tmp_path / "t.zarr")).open()
    for number in range(-1, 4):
        found = dataset.get_scene_dataset(number)
        for made, expected in zip((found.scenes, found.frames, found.agents, found.tl_faces), copied([(arrays, number, None)]), strict=True):
            np.testing.assert_array_equal(made, expected)
    for wrong in (4, -5):
        with pytest.raises(ValueError, match="is too high for dataset with 4 scenes"):
            dataset.get_scene_dataset(wrong)


def test_a_second_call_that_makes_a_test_set_says_what_to_do(tmp_path: Path) -> None:
    source = table(tmp_path, long_scenes(3, 6))
    folder = Path(create_chopped_dataset(source, 0.5, 4, 3, 1))
    with pytest.raises(AssertionError, match="use the one that is there, or remove .*_chopped_4 first, or name another `output`"):
        create_chopped_dataset(source, 0.5, 4, 3, 1)
    (folder / source.name).rename(tmp_path / "elsewhere")
    with pytest.raises(AssertionError, match="a call before may have been stopped, or remove"):
        create_chopped_dataset(source, 0.5, 4, 3, 1)
    with pytest.raises(AssertionError, match="name another one, or remove what is there first"):
        zarr_scenes_chop(source, tmp_path / "elsewhere", 4)


def test_inputs_that_cannot_be_read_are_skipped_with_a_warning(tmp_path: Path) -> None:
    arrays = random_dataset(2)
    source = table(tmp_path, arrays)
    tt.write_table(tmp_path / "other", {"a": [1, 2]}, index=["a"])
    with pytest.warns(RuntimeWarning) as warned:
        zarr_concat([tmp_path / "nothing", source, tmp_path / "other"], tmp_path / "view")
    messages = [str(one.message) for one in warned]
    assert [one.split(" is not valid! skipping: ")[0] for one in messages] == [str(tmp_path / "nothing"), str(tmp_path / "other")]
    assert_arrays(tmp_path / "view", arrays)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="no input"):
        warnings.simplefilter("ignore")
        zarr_concat([tmp_path / "nothing"], tmp_path / "out")
    with pytest.raises(tt.Invalid, match="not made from an L5 data set"):
        export(tmp_path / "other", tmp_path / "out.zarr")


@needs_data
def test_tables_with_other_types_are_not_put_together(tmp_path: Path) -> None:
    source = table(tmp_path, random_dataset(2))
    tt.ingest_l5(SHARED / "artefacts" / "oldformat_v1.zarr", tmp_path / "old")
    with pytest.raises(ValueError, match="frames has the type"):
        zarr_concat([source, tmp_path / "old"], tmp_path / "out")
    zarr_scenes_chop(tmp_path / "old", tmp_path / "chopped", 30)
    export(tmp_path / "chopped", tmp_path / "chopped.zarr")
    with pytest.warns(RuntimeWarning, match="traffic_light_faces not found"):
        back = ChunkedDataset(str(tmp_path / "chopped.zarr")).open()
    raw = np.load(SHARED / "golden" / "raw_oldformat_v1.npz")
    assert len(back.frames) == 30 and back.frames.dtype["ego_translation"].base == np.float32
    for field in back.agents.dtype.names:
        np.testing.assert_array_equal(back.agents[field], raw[f"agents.{field}"][: len(back.agents)])


def test_views_without_these_tools_are_exported_too(tmp_path: Path) -> None:
    arrays = random_dataset(6)
    source = table(tmp_path, arrays)
    # A part of a scene: windows and numbers begin where it begins.
    index = tt.read_index(source)
    first, last = arrays[0]["frame_index_interval"][2].tolist()
    rows = index.filter(pl.col("scene_index") == 2)
    assert last - first > 4
    view = rows[2:].with_frame(rows[2:].to_polars().with_columns(mine=pl.lit(1))).save(tmp_path / "view")
    scene = arrays[0][2:3].copy()
    scene["frame_index_interval"][0, 0] += 2
    expected = copied([((scene, *arrays[1:]), 0, None)])
    assert_arrays(tmp_path / "view", expected)
    cfg, drawn = config(3, 4), boxes(3)
    assert_same_samples(EgoDataset(cfg, ChunkedDataset(view).open(), drawn), EgoDataset(cfg, in_memory(expected), drawn))
    zarr_concat([source, tmp_path / "view"], tmp_path / "both")
    assert_arrays(tmp_path / "both", copied([*((arrays, number, None) for number in range(4)), (expected, 0, None)]))


def test_scenes_without_frames_stay_in_a_table_and_are_left_out_of_views(tmp_path: Path) -> None:
    arrays = random_dataset(6)
    empty = arrays[0][:1].copy()
    empty["host"] = "nowhere"
    with_empty = np.concatenate([arrays[0][:1], empty, arrays[0][1:], empty])
    with_empty["frame_index_interval"][1] = arrays[0]["frame_index_interval"][0, 1]
    with_empty["frame_index_interval"][-1] = len(arrays[1])
    source = table(tmp_path, (with_empty, *arrays[1:]))
    assert_arrays(source, (with_empty, *arrays[1:]))
    scene_subset(source, tmp_path / "view", [2, 1, 0])
    assert_arrays(tmp_path / "view", copied([(arrays, 1, None), (arrays, 0, None)]))
    zarr_concat([source], tmp_path / "all")
    assert_arrays(tmp_path / "all", arrays)


def test_masks_come_back_from_a_table_and_are_left_out_of_views(tmp_path: Path) -> None:
    arrays = long_scenes(7, 6)
    counts = np.arange(2 * len(arrays[2]), dtype=np.uint32).reshape(-1, 2)
    source = table(tmp_path, arrays, masks={"agents_mask/0.5": counts})
    export(source, tmp_path / "back.zarr")
    for name in ("agents_mask/.zgroup", "agents_mask/0.5/.zarray"):
        assert (tmp_path / "back.zarr" / name).read_bytes() == (tmp_path / "t.zarr" / name).read_bytes()
    found = ChunkedDataset(str(tmp_path / "back.zarr")).open()
    np.testing.assert_array_equal(AgentDataset(config(0, 1), found, boxes(0), min_frame_history=9).agents_mask, counts[:, 0] >= 9)
    zarr_scenes_chop(source, tmp_path / "view", 6)
    export(tmp_path / "view", tmp_path / "view.zarr")
    assert not (tmp_path / "view.zarr" / "agents_mask").exists()


def test_a_chopped_view_of_a_table_with_masks_has_its_own_masks(tmp_path: Path) -> None:
    arrays = long_scenes(7, 6)
    counts, _ = select_agents(in_memory(arrays), 0.5)
    view = zarr_scenes_chop(table(tmp_path, arrays, masks={"agents_mask/0.5": counts}), tmp_path / "view", 6)
    expected = copied([(arrays, scene, 6) for scene in range(len(arrays[0]))])
    cfg, drawn = config(0, 1), boxes(0)
    mask = AgentDataset(cfg, in_memory(expected), drawn, None, None, 0, 1).agents_mask
    np.testing.assert_array_equal(AgentDataset(cfg, ChunkedDataset(view).open(), drawn, None, None, 0, 1).agents_mask, mask)


def test_the_index_of_a_view_keeps_the_numbers_of_its_table(tmp_path: Path) -> None:
    arrays = long_scenes(4, 5)
    view = zarr_scenes_chop(table(tmp_path, arrays), tmp_path / "view", 5)
    starts = arrays[0]["frame_index_interval"][:, 0]
    assert tt.read_index(view)["frame"].to_list() == (starts[:, None] + np.arange(5)).reshape(-1).tolist()


def combined_plainly(scenes: Any) -> Any:
    """L5Kit's loop."""
    combined: list[Any] = []
    for scene in scenes:
        if combined and combined[-1]["host"] == scene["host"] and combined[-1]["end_time"] == scene["start_time"]:
            combined[-1]["end_time"] = scene["end_time"]
            combined[-1]["frame_index_interval"][1] = scene["frame_index_interval"][1]
        else:
            combined.append(scene.copy())
    return np.array(combined, SCENE)


class Lazy:
    """Records that are read when they become an array, as those of zarr are."""

    def __init__(self, records: np.ndarray[Any, Any]) -> None:
        self._records = records

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._records


@pytest.mark.parametrize("seed", range(5))
def test_scenes_that_follow_each_other_are_combined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scenes = np.zeros(60, SCENE)
    times = np.cumsum(rng.integers(1, 9, 61))
    ends = np.cumsum(rng.integers(1, 9, 60))
    scenes["frame_index_interval"] = np.stack([np.append(0, ends[:-1]), ends], axis=1)
    scenes["start_time"], scenes["end_time"] = times[:-1], times[1:] + (rng.random(60) < 0.3)
    scenes["host"] = rng.choice(["a", "a", "a", "b"], 60)
    before = scenes.copy()
    found = get_combined_scenes(scenes)
    assert found.dtype == SCENE and 1 < len(found) < 60
    np.testing.assert_array_equal(found, combined_plainly(scenes))
    np.testing.assert_array_equal(scenes, before)
    np.testing.assert_array_equal(get_combined_scenes(Lazy(scenes)), found)
    assert len(get_combined_scenes(scenes[:0])) == 0
    np.testing.assert_array_equal(get_combined_scenes(scenes[:1]), scenes[:1])


def truth(arrays: Arrays, last: int, scene: int, row: int, frames: int) -> tuple[Any, Any]:
    """Returns the future of an agent: offsets in world axes, and whether it is there."""
    offsets, there = np.zeros((frames, 2)), np.zeros(frames)
    for step in range(1, frames + 1):
        if last + step < arrays[0]["frame_index_interval"][scene, 1]:
            start, stop = arrays[1][AGENTS][last + step]
            same = np.flatnonzero(arrays[2]["track_id"][start:stop] == arrays[2]["track_id"][row])
            if len(same):
                there[step - 1] = 1
                offsets[step - 1] = arrays[2]["centroid"][start + same[0]] - arrays[2]["centroid"][row]
    return offsets, there


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_masks", [False, True])
def test_a_test_set_has_a_view_a_mask_and_the_truth(seed: int, with_masks: bool, tmp_path: Path) -> None:
    frames, future, least = 6, 8, 2
    arrays = long_scenes(seed, frames)
    counts, _ = select_agents(in_memory(arrays), 0.5)
    source = table(tmp_path, arrays, "drives.v2", {"agents_mask/0.5": counts} if with_masks else None)
    folder = create_chopped_dataset(f"{source}@1" if seed == 1 else source, 0.5, frames, future, least)
    assert folder == str(tmp_path / f"drives_chopped_{frames}")
    assert sorted(path.name for path in Path(folder).iterdir()) == ["drives.v2", "gt.csv", "mask.npz"]
    expected = copied([(arrays, scene, frames) for scene in range(len(arrays[0]))])
    with np.load(Path(folder) / "mask.npz") as stored:
        assert stored.files == ["arr_0"]
        mask = stored["arr_0"]
    assert_arrays(Path(folder) / "drives.v2", expected)
    assert mask.dtype == np.bool_ and mask.shape == expected[2].shape
    wanted, lines = np.zeros(len(mask), bool), []
    for scene, (first, _) in enumerate(arrays[0]["frame_index_interval"]):
        last = first + frames - 1
        start = arrays[1][AGENTS][last, 0]
        for row in range(*arrays[1][AGENTS][last]):
            if counts[row, 1] >= least:
                wanted[expected[1][AGENTS][(scene + 1) * frames - 1, 0] + row - start] = True
                lines.append((arrays[1]["timestamp"][last], arrays[2]["track_id"][row], *truth(arrays, last, scene, row, future)))
    assert wanted.any()
    np.testing.assert_array_equal(mask, wanted)
    with (Path(folder) / "gt.csv").open() as file:
        written = list(csv.DictReader(file))
    assert len(written) == len(lines)
    for line, (timestamp, track, offsets, there) in zip(written, lines, strict=True):
        assert (int(line["timestamp"]), int(line["track_id"])) == (timestamp, np.uint64(track).astype(np.int64))
        for step in range(future):
            assert float(line[f"avail_{step}"]) == there[step]
            assert math.isclose(float(line[f"coord_x0{step}"]), offsets[step, 0], abs_tol=2e-5)
            assert math.isclose(float(line[f"coord_y0{step}"]), offsets[step, 1], abs_tol=2e-5)
    # The samples of the agents to predict have nothing behind the chop.
    test_set = AgentDataset(config(4, future), ChunkedDataset(f"{folder}/drives.v2").open(), boxes(4), agents_mask=mask)
    assert len(test_set) == len(lines)
    for sample, (timestamp, _, _, _) in zip(test_set.__getitems__(range(len(lines))), lines, strict=True):
        assert sample["frame_index"] == frames - 1 and sample["timestamp"] == timestamp
        assert not sample["target_availabilities"].any()
    with pytest.raises(AssertionError):
        create_chopped_dataset(source, 0.5, frames, future, least)


def test_a_test_set_can_be_made_elsewhere(tmp_path: Path) -> None:
    source = table(tmp_path, long_scenes(2, 6))
    with pytest.raises(ValueError, match="name their folder in `output`"):
        create_chopped_dataset(f"file://{source}", 0.5, 6, 8, 2)
    folder = create_chopped_dataset(f"file://{source}", 0.5, 6, 8, 2, output=tmp_path / "deep" / "set")
    assert sorted(os.listdir(folder)) == ["gt.csv", "mask.npz", "t"]
    (tmp_path / "one.csv").write_text("")
    dataset = ChunkedDataset(str(source)).open()
    export_zarr_to_csv(dataset, tmp_path / "one.csv", 3, 0.5, agents_mask=np.zeros(len(dataset.agents), bool))
    assert len((tmp_path / "one.csv").read_text().splitlines()) == 1
