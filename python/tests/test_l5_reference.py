"""The plain implementation of L5Kit's samples gives what L5Kit itself gave; and random scenes and zarr folders are what they say.

The outputs of L5Kit lie beside the checkout, in `shared/l5`. Tolerances are those of `shared/l5/golden/README.md`.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from l5_reference import (
    Dataset,
    Records,
    Settings,
    agent_sample,
    ego_sample,
    frame_indices,
    future_states,
    history_states,
    of_interest,
    raster_from_local,
    scene_and_state,
    scene_dataset,
    scene_indices,
    select_agents,
    valid_rows,
    wrap,
    yaw_of,
)
from l5_reference_raster import box_image, fill, line
from l5_reference_vectorized import Lanes, VectorSettings, ego_vector_sample, vector_map, vector_sample
from l5_scenes import AGENT, CHUNK_ROWS, FACE, FRAME, NAMES, SCENE, random_dataset, write_zarr

L5 = Path(__file__).parents[3] / "shared" / "l5"
GOLDEN = L5 / "golden"
golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"no outputs of L5Kit: there is no folder {GOLDEN}")

Arrays = dict[str, npt.NDArray[Any]]
MATRICES = {"world_to_image", "raster_from_agent", "raster_from_world", "agent_from_world"}
"""Off by 1e-11 at most: L5Kit inverts with LAPACK."""
ROUNDED = {"target_positions", "history_positions", "target_velocities", "history_velocities", "curr_speed", "speed"}
ROUNDED |= {"agent_trajectory_polyline", "other_agents_polyline", "lanes", "lanes_mid", "crosswalks"}
ROUNDED |= {"all_other_agents_history_positions", "all_other_agents_future_positions"}
"""Off by 1e-9 and one unit in the last place at most."""
PYTHON_NUMBERS = {"frame_index", "scene_index", "yaw", "type"}


@cache
def outputs(name: str) -> Arrays:
    with np.load(GOLDEN / f"{name}.npz") as file:
        return dict(file)


@cache
def recorded() -> Dataset:
    """Returns the real scene of L5Kit's own tests."""
    raw, arrays = outputs("raw"), []
    for name, dtype in (("scenes", SCENE), ("frames", FRAME), ("agents", AGENT), ("tl_faces", FACE)):
        fields = dtype.names or ()
        rows = np.zeros(len(raw[f"{name}.{fields[0]}"]), dtype)
        for field in fields:
            rows[field] = raw[f"{name}.{field}"]
        arrays.append(rows)
    return Dataset(*arrays)


def beginning(data: Dataset, frames: int) -> Dataset:
    """Returns the first frames of a scene."""
    scenes = data.scenes.copy()
    scenes["frame_index_interval"][0, 1] = frames
    last = data.frames[frames - 1]
    agents, faces = last["agent_index_interval"][1], last["traffic_light_faces_index_interval"][1]
    return Dataset(scenes, data.frames[:frames], data.agents[:agents], data.tl_faces[:faces])


def joined(parts: list[Dataset]) -> Dataset:
    """Returns scenes one after another."""
    scenes, frames = [], []
    at_frame = at_agent = at_face = 0
    for part in parts:
        scenes.append(part.scenes.copy())
        frames.append(part.frames.copy())
        scenes[-1]["frame_index_interval"] += at_frame
        frames[-1]["agent_index_interval"] += at_agent
        frames[-1]["traffic_light_faces_index_interval"] += at_face
        at_frame, at_agent, at_face = at_frame + len(part.frames), at_agent + len(part.agents), at_face + len(part.tl_faces)
    agents = np.concatenate([part.agents for part in parts])
    return Dataset(np.concatenate(scenes), np.concatenate(frames), agents, np.concatenate([part.tl_faces for part in parts]))


def assert_same(ours: dict[str, Any], theirs: Arrays, row: int) -> None:
    """Compares a sample with row `row` of L5Kit's samples: keys, types, shapes and values."""
    assert ours.keys() == {name for name in theirs if not name.startswith("__")}
    for name, value in ours.items():
        mine, its = np.asarray(value), theirs[name][row]
        assert mine.shape == its.shape and (mine.dtype == its.dtype or name in PYTHON_NUMBERS), name
        if name in MATRICES:
            np.testing.assert_allclose(mine, its, rtol=0, atol=1e-11, err_msg=name)
        elif name in ROUNDED:
            off = np.abs(mine.astype(np.float64) - its.astype(np.float64))
            assert np.all(off <= 1e-9 + np.spacing(np.abs(its))), (name, off.max())
        else:
            np.testing.assert_array_equal(mine, its, err_msg=name)


SHORT = Settings(history=0, future=12)


@golden
@pytest.mark.parametrize(("name", "settings"), [("ego_h10_f50", Settings()), ("ego_h0_f12", SHORT)])
def test_samples_of_the_ego_are_those_of_l5kit(name: str, settings: Settings) -> None:
    for row in range(248):
        assert_same(ego_sample(recorded(), row, settings), outputs(name), row)


@golden
@pytest.mark.parametrize(("name", "settings"), [("agent_h10_f50", Settings()), ("agent_h0_f12", SHORT)])
def test_samples_of_agents_are_those_of_l5kit(name: str, settings: Settings) -> None:
    theirs = outputs(name)
    for row in range(0, 1127, 5):
        assert_same(agent_sample(recorded(), int(theirs["__agent_row"][row]), settings), theirs, row)


@golden
def test_windows_end_at_the_borders_of_scenes() -> None:
    whole = recorded()
    data = joined([whole, beginning(whole, 100), beginning(whole, 37), whole])
    theirs = outputs("multi_ego_h10_f50")
    for row, index in enumerate(theirs["__dataset_index"].tolist()):
        assert_same(ego_sample(data, index, Settings()), theirs, row)
    for row, index in enumerate((-1, -633)):
        negative = ego_sample(data, index, Settings())
        for key in ("frame_index", "scene_index"):
            assert negative[key] == theirs[f"__neg_{key}"][row]
    assert scene_dataset(data, 3).agents.tobytes() == whole.agents.tobytes()
    assert all(np.array_equal(scene_dataset(data, 3).frames[field], whole.frames[field]) for field in FRAME.names or ())


@golden
def test_masks_are_those_of_l5kit() -> None:
    data, theirs = recorded(), outputs("agents_mask_0.5")
    counts, reasons = select_agents(data)
    np.testing.assert_array_equal(counts, theirs["agents_mask_raw"])
    assert reasons == Counter(label=14_666, distance=2_341, extent=853, yaw=62)
    rows, indices = valid_rows(counts), outputs("agent_frame_indices")
    np.testing.assert_array_equal(rows, theirs["agents_indices"])
    np.testing.assert_array_equal(scene_indices(data, rows, 0), indices["scene0"])
    for frame, (first, end) in enumerate(zip(indices["offsets"], indices["offsets"][1:], strict=False)):
        np.testing.assert_array_equal(frame_indices(data, rows, frame), indices["values"][first:end])


@golden
def test_parts_of_a_sample_are_those_of_l5kit() -> None:
    theirs = outputs("unit_functions")
    for threshold in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0):
        np.testing.assert_array_equal(of_interest(theirs["label_probabilities"], threshold), theirs[f"label_filter_{threshold}"])
    for row, origin in enumerate(theirs["ang_b"]):
        np.testing.assert_array_equal(wrap(theirs["ang_a"], origin), theirs["angular_distance_f32_minus_f64scalar"][row])
    assert [yaw_of(rotation) for rotation in theirs["rot"]] == theirs["rot_yaw"].tolist()
    for state, length, step, with_current, past, future in json.loads(str(theirs["slices_json"])):
        if step == 1 and with_current:
            assert history_states(state, length) == past and future_states(state, length, 40) == future
    assert np.array_equal(raster_from_local(Settings()), theirs["raster_from_local_a"])
    assert np.array_equal(raster_from_local(Settings(origin_bottom=False)), theirs["raster_from_local_c"])


@golden
def test_polygons_and_lines_are_those_of_opencv() -> None:
    theirs = outputs("cv2_primitives")
    for row, quad in enumerate(theirs["quads_fixed_shift9"]):
        filled, lines = np.zeros((64, 64), np.uint8), np.zeros((64, 64), np.uint8)
        fill(filled, quad[None])
        for (x0, y0), (x1, y1) in zip(quad[:-1].tolist(), quad[1:].tolist(), strict=True):
            line(lines, (x0 << 7, y0 << 7), (x1 << 7, y1 << 7))
        np.testing.assert_array_equal(filled, theirs["fillpoly_64x64"][row])
        np.testing.assert_array_equal(lines, theirs["polylines_open_64x64"][row])


@golden
@pytest.mark.parametrize(("name", "history", "every"), [("ras_box_h0", 0, 1), ("ras_box_h10", 10, 3)])
def test_box_images_are_those_of_l5kit(name: str, history: int, every: int) -> None:
    data, theirs, settings = recorded(), outputs(name), Settings(history=history)
    ends = data.frames["agent_index_interval"][:, 1].tolist()
    for row in range(0, 10, every):
        place = scene_and_state(data, int(theirs["ego_index"][row]))
        np.testing.assert_array_equal(box_image(data, *place, None, settings), theirs["ego_image"][row])
        agent = int(theirs["agent_row"][row])
        place = scene_and_state(data, bisect_right(ends, agent))
        image = box_image(data, *place, int(data.agents[agent]["track_id"]), settings)
        np.testing.assert_array_equal(image, theirs["agent_image"][row])


@golden
def test_vectorized_samples_are_those_of_l5kit() -> None:
    theirs, given, settings = outputs("vectorized_ego_synth_e10_a5_f50"), outputs("mapapi_synth"), VectorSettings()
    left, right, middle = (given[f"interp20_xyz_{side}"][..., :2] for side in ("left", "right", "midlane"))
    crosswalks = [given[f"crosswalk.{name}"][:, :2] for name in given["crosswalk_ids"]]
    lanes = Lanes(given["lane_bounds"], left, right, middle, given["crosswalk_bounds"], crosswalks)
    # The colours of traffic lights are not in the arrays of the map.
    colourless = {**theirs, "lanes_mid": theirs["lanes_mid"] * np.array([1, 1, 0], np.float32)}
    for row, index in enumerate(theirs["__dataset_index"].tolist()):
        ours = ego_vector_sample(recorded(), index, settings)
        ours |= vector_map(lanes, ours["centroid"], ours["agent_from_world"], settings)
        assert_same(ours, colourless, row)


@golden
def test_a_zarr_folder_has_the_layout_of_l5kit(tmp_path: Path) -> None:
    real = L5 / "artefacts" / "single_scene.zarr"
    data = recorded()
    ours = write_zarr(tmp_path / "ours.zarr", (data.scenes, data.frames, data.agents, data.tl_faces), compressed=False)
    assert files(ours) == files(real)
    for name in (".zgroup", ".zattrs"):
        assert (ours / name).read_text() == (real / name).read_text()
    for name in NAMES:
        described = [json.loads((folder / name / ".zarray").read_text()) for folder in (ours, real)]
        assert {**described[0], "compressor": described[1]["compressor"]} == described[1]


@golden
def test_compressed_chunks_are_as_large_as_those_of_l5kit(tmp_path: Path) -> None:
    pytest.importorskip("numcodecs")
    real = L5 / "artefacts" / "single_scene.zarr"
    data = recorded()
    ours = write_zarr(tmp_path / "ours.zarr", (data.scenes, data.frames, data.agents, data.tl_faces))
    for name in NAMES:
        assert (ours / name / ".zarray").read_text() == (real / name / ".zarray").read_text()
        # Threads write the blocks of a chunk in any order, so only the headers and sizes are the same.
        for chunk in files(real / name) - {Path(".zarray")}:
            mine, its = ((folder / name / chunk).read_bytes() for folder in (ours, real))
            assert mine[:16] == its[:16] and len(mine) == len(its)


def files(folder: Path) -> set[Path]:
    return {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("chunk_rows", [1, 7, {"agents": 50}, None])
def test_chunks_hold_the_rows_and_then_zeros(tmp_path: Path, chunk_rows: int | dict[str, int] | None) -> None:
    arrays = random_dataset(3)
    counts, _ = select_agents(Dataset(*arrays))
    named: dict[str, Records] = {**dict(zip(NAMES, arrays, strict=True)), "agents_mask/0.5": counts}
    folder = write_zarr(tmp_path / "random.zarr", named, chunk_rows, compressed=False)
    assert json.loads((folder / "agents_mask" / ".zgroup").read_text()) == {"zarr_format": 2}
    for name, array in named.items():
        rows = chunk_rows if isinstance(chunk_rows, int) else {**CHUNK_ROWS, **(chunk_rows or {})}.get(name, 10_000)
        assert json.loads((folder / name / ".zarray").read_text())["chunks"][0] == rows
        suffix = ".0" * (array.ndim - 1)
        chunks = [(folder / name / f"{number}{suffix}").read_bytes() for number in range(-(-len(array) // rows))]
        stored = b"".join(chunks)
        assert len(stored) == len(chunks) * rows * array[:1].nbytes
        assert stored[: array.nbytes] == array.tobytes() and not any(stored[array.nbytes :])


def test_random_scenes_depend_on_the_seed_alone_and_are_consistent() -> None:
    for seed in range(8):
        scenes, frames, agents, faces = arrays = random_dataset(seed)
        assert all(one.tobytes() == two.tobytes() for one, two in zip(arrays, random_dataset(seed), strict=True))
        intervals = (
            (scenes["frame_index_interval"], len(frames)),
            (frames["agent_index_interval"], len(agents)),
            (frames["traffic_light_faces_index_interval"], len(faces)),
        )
        for interval, rows in intervals:
            np.testing.assert_array_equal(interval[:, 0], [0, *interval[:-1, 1]])
            assert interval[-1, 1] == rows
        turns = frames["ego_rotation"] @ np.swapaxes(frames["ego_rotation"], 1, 2)
        np.testing.assert_allclose(turns, np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)


def test_random_scenes_have_the_cases_that_go_wrong() -> None:
    met: Counter[str] = Counter()
    for seed in range(20):
        data = Dataset(*random_dataset(seed))
        counts, reasons = select_agents(data)
        met += reasons
        met["long runs"] += len(valid_rows(counts))
        met["one frame"] += int(np.sum(np.diff(data.scenes["frame_index_interval"]) == 1))
        for first, end in data.frames["agent_index_interval"]:
            tracks = data.agents["track_id"][first:end]
            met["empty frames"] += first == end
            met["a track twice"] += len(tracks) != len(np.unique(tracks))
        met["huge ids"] += int(np.sum(data.agents["track_id"] > 2**32))
        met["no area"] += int(np.sum(data.agents["extent"][:, 0] == 0))
        kept = data.agents["label_probabilities"][:, 3:16].sum(axis=1)
        met["labels at the threshold"] += int(np.sum(np.abs(kept - 0.5) < 1e-6))
    cases = {"long runs", "one frame", "empty frames", "a track twice", "huge ids", "no area", "labels at the threshold"}
    assert set(met) == cases | {"label", "distance", "hole", "yaw", "extent"} and min(met.values()) > 10


def test_a_perturbation_moves_the_ego_of_samples_with_a_whole_future() -> None:
    data, settings = Dataset(*random_dataset(1)), Settings(history=2, future=3)

    def shift(history: Records, future: Records) -> tuple[Records, Records]:
        history["ego_translation"][0, :2] += 1
        return history, future

    end = int(data.scenes["frame_index_interval"][0, 1])
    for index in range(end):
        plain, moved = (ego_sample(data, index, settings, hook) for hook in (None, shift))
        off = 1 if index + settings.future < end else 0
        np.testing.assert_allclose(moved["centroid"], plain["centroid"] + off, rtol=0, atol=1e-9)
        assert moved["yaw"] == plain["yaw"] and moved["world_from_agent"][0, 2] == moved["centroid"][0]
    assert np.all(np.abs(ego_sample(data, 0, settings, shift)["history_positions"][0]) < 1e-9)


def test_samples_of_random_scenes_have_no_surprises() -> None:
    for seed in range(6):
        data, settings = Dataset(*random_dataset(seed)), Settings(history=3, future=4, raster_size=(40, 30))
        for index in range(0, len(data.frames), 5):
            sample = ego_sample(data, index, settings)
            assert all(np.all(np.isfinite(np.asarray(value))) for value in sample.values())
            assert np.array_equal(sample["target_availabilities"], np.sort(sample["target_availabilities"])[::-1])
        for row in np.flatnonzero(of_interest(data.agents["label_probabilities"], 0.5))[::40].tolist():
            sample = agent_sample(data, row, settings)
            track_id = int(data.agents[row]["track_id"])
            assert sample["track_id"] == track_id and sample["history_availabilities"][0] == 1
            image = box_image(data, sample["scene_index"], sample["frame_index"], track_id, settings)
            assert image.shape == (8, 30, 40) and image.max() <= 1
            vectors = VectorSettings(history_ego=2, history_agents=3, future=4, other_agents=5)
            vector = vector_sample(data, sample["scene_index"], sample["frame_index"], track_id, vectors)
            np.testing.assert_array_equal(vector["target_positions"], sample["target_positions"])
            assert track_id not in vector["all_other_agents_track_ids"]
            there = vector["all_other_agents_history_availability"] > 0
            assert np.array_equal(np.any(there, axis=1), vector["all_other_agents_track_ids"] > 0)
