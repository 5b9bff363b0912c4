"""Zarr groups that `ChunkedDataset.initialize` makes, and memory maps of the arrays of a data set."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import tensorstore
import tetrys as tt
from l5_scenes import random_dataset, write_zarr
from tetrys.l5 import AGENT_DTYPE, FRAME_DTYPE, ChunkedDataset, EgoDataset, LazyRecords, RenderContext, StubRasterizer, _writable, attach, export

SHARED = Path(__file__).parents[3] / "shared" / "l5"
NAMES = ("scenes", "frames", "agents", "tl_faces")


def numbers_of(arrays: Any) -> dict[str, int]:
    return {f"num_{name}": len(array) for name, array in zip(NAMES, arrays, strict=True)}


def filled(path: Path, arrays: Any) -> ChunkedDataset:
    dataset = ChunkedDataset(str(path)).initialize(**numbers_of(arrays))
    for name, array in zip(NAMES, arrays, strict=True):
        getattr(dataset, name)[:] = array
    return dataset


@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_is_filled_is_the_one_that_l5kit_writes(tmp_path: Path, seed: int) -> None:
    arrays = random_dataset(seed, scenes=3, max_frames=30)
    written = filled(tmp_path / "new.zarr", arrays)
    opened, other = (ChunkedDataset(str(path)).open() for path in (tmp_path / "new.zarr", write_zarr(tmp_path / "l5kit.zarr", arrays)))
    for name, array in zip(NAMES, arrays, strict=True):
        for dataset in (written, opened, other):
            found = getattr(dataset, name)[:]
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
    # But for the compression, the metadata are the same.
    for file in ("", "scenes", "frames", "agents", "traffic_light_faces"):
        for kind in (".zgroup", ".zattrs") if not file else (".zarray",):
            made, expected = (json.loads((tmp_path / name / file / kind).read_text()) for name in ("new.zarr", "l5kit.zarr"))
            assert made | {"compressor": None} == expected | {"compressor": None}
    table = tt.ingest_l5(tmp_path / "new.zarr", tmp_path / "t")
    assert len(table) == len(arrays[1])
    # What was just filled gives the same samples as what is opened.
    cfg = {"model_params": {"history_num_frames": 1, "future_num_frames": 2, "step_time": 0.1}, "raster_params": {"filter_agents_threshold": 0.5}}
    stub = StubRasterizer(RenderContext((8, 8), (1, 1), (0.5, 0.5), True))
    for name, value in EgoDataset(cfg, written, stub)[1].items():
        np.testing.assert_array_equal(value, EgoDataset(cfg, opened, stub)[1][name])


@pytest.mark.skipif(not SHARED.exists(), reason="no shared Level 5 data")
def test_a_copy_of_the_scene_of_l5kit_has_its_records(tmp_path: Path) -> None:
    scene = ChunkedDataset(str(SHARED / "artefacts" / "single_scene.zarr")).open()
    copy = ChunkedDataset(str(tmp_path / "copy.zarr")).initialize(num_agents=5)
    for name in NAMES:
        array = getattr(copy, name)
        array.resize(0)
        assert array.append(getattr(scene, name)[:7]) == min(7, len(getattr(scene, name)))
        array.append(getattr(scene, name)[7:])
    again = ChunkedDataset(str(tmp_path / "copy.zarr")).open()
    raw = np.load(SHARED / "golden" / "raw.npz")
    for name in NAMES:
        for field in getattr(again, name).dtype.names:
            np.testing.assert_array_equal(getattr(again, name)[:][field], raw[f"{name}.{field}"])


def test_records_are_written_by_places_as_numpy_writes_them(tmp_path: Path, random_seed: int) -> None:
    rng = np.random.default_rng(random_seed)
    dataset = ChunkedDataset(str(tmp_path / "new.zarr")).initialize(num_frames=25_000)
    frames, expected = dataset.frames, np.zeros(25_000, FRAME_DTYPE)

    def some(count: int | None) -> Any:
        made = np.zeros(() if count is None else count, FRAME_DTYPE)
        made["timestamp"] = rng.integers(0, 2**60, made.shape)
        return made

    mask = rng.random(25_000) < 0.001
    places = [7, -1, 9_999, 10_000, 24_000]
    for key, count in ((3, None), (-2, None), (slice(9_990, 10_020), 30), (slice(5, 25_000, 4_999), 5), (slice(20_010, 9_999, -10_000), 2), (mask, int(mask.sum())), (places, 5)):
        value = some(count)
        frames[key] = value
        expected[key] = value
    frames[100:200] = some(None)
    expected[100:200] = frames[100]
    frames[5:5] = some(0)
    np.testing.assert_array_equal(frames[:], expected)
    chunks = [np.fromfile(tmp_path / "new.zarr" / "frames" / str(number), FRAME_DTYPE) for number in range(3)]
    np.testing.assert_array_equal(np.concatenate(chunks)[:25_000], expected)
    frames.resize(10_005)
    frames.resize(25_000)
    expected[10_005:] = np.zeros((), FRAME_DTYPE)
    np.testing.assert_array_equal(frames[:], expected)
    np.testing.assert_array_equal(frames["timestamp"], expected["timestamp"])
    assert frames.shape == (25_000,) and frames.chunks == (10_000,) and len(list((tmp_path / "new.zarr" / "frames").iterdir())) == 4
    for key, value, error in (
        (25_000, some(None), IndexError), (slice(0, 3), some(4), ValueError), (0, np.zeros(1, AGENT_DTYPE), TypeError), ("timestamp", 1, TypeError),
        ([25_000], some(1), IndexError), (slice(0, 2), [1, 2], TypeError), (mask[1:], some(1), IndexError),
    ):  # fmt: skip
        with pytest.raises(error):
            frames[key] = value
    np.testing.assert_array_equal(frames[:], expected)


def test_nothing_that_exists_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    filled(tmp_path / "new.zarr", random_dataset(1, scenes=1, max_frames=3))
    before = ChunkedDataset(str(tmp_path / "new.zarr")).open().frames[:]
    for name in ("file", "new.zarr"):
        for mode in ("w", "x", "w-"):
            with pytest.raises(AssertionError, match="something exists there"):
                ChunkedDataset(str(tmp_path / name)).initialize(mode)
            with pytest.raises(tt.Exists):
                ChunkedDataset(str(tmp_path / name)).initialize(mode)
    np.testing.assert_array_equal(ChunkedDataset(str(tmp_path / "new.zarr")).open().frames[:], before)
    (tmp_path / "empty").mkdir()
    assert len(ChunkedDataset(str(tmp_path / "empty")).initialize("x").frames) == 0
    for path in ("", "s3://bucket/new.zarr"):
        with pytest.raises(ValueError, match="local folder"):
            ChunkedDataset(path).initialize()
    with pytest.raises(ValueError, match="expected w, w- or x"):
        ChunkedDataset(str(tmp_path / "other")).initialize("a")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("file", [".zgroup", ".zattrs", "traffic_light_faces/.zarray", "scenes/.zarray"])
def test_a_group_that_was_not_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    (tmp_path / "empty").mkdir()

    def full(path: Path, value: Any) -> None:
        if str(path).endswith(f"new.zarr/{file}") or str(path).endswith(f"empty/{file}"):
            raise OSError("no space left")
        path.write_text(json.dumps(value))

    with monkeypatch.context() as patch:
        patch.setattr(_writable, "_write_json", full)
        for name in ("a/b/new.zarr", "empty"):
            with pytest.raises(OSError, match="no space left"):
                ChunkedDataset(str(tmp_path / name)).initialize(num_agents=30_000)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]
    assert len(ChunkedDataset(str(tmp_path / "a/b/new.zarr")).initialize(num_agents=3).agents) == 3


def test_an_append_looks_at_no_earlier_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = ChunkedDataset(str(tmp_path / "new.zarr")).initialize(num_frames=95_000).frames
    looked, exists = [], Path.exists
    monkeypatch.setattr(Path, "exists", lambda path, **options: (looked.append(path.name), exists(path, **options))[1])
    for _ in range(2):
        frames.append(np.ones(5_000, FRAME_DTYPE))
    assert {name for name in looked if name.isdigit()} == {"9", "10"} and len(frames) == 105_000
    monkeypatch.undo()
    assert not frames[:95_000]["timestamp"].any() and (frames[95_000:]["timestamp"] == 1).all()


@pytest.mark.parametrize("kind", ["table", "zarr"])
def test_memory_maps_have_the_records_of_the_data_set(tmp_path: Path, kind: str) -> None:
    arrays = random_dataset(4, scenes=3, max_frames=30)
    path, maps = tmp_path / kind, tmp_path / "maps"
    zarr = write_zarr(tmp_path / "zarr", arrays)
    if kind == "table":
        tt.ingest_l5(zarr, path)
    dataset = ChunkedDataset(str(path)).open()
    for name, array in zip(NAMES[1:], arrays[1:], strict=True):
        mapped = getattr(dataset, name).memmap(maps)
        assert isinstance(mapped, np.memmap) and mapped.dtype == array.dtype and not mapped.flags.writeable
        np.testing.assert_array_equal(mapped, array)
    files = sorted(maps.iterdir())
    assert [file.name.split("-")[0] for file in files] == ["agents", "frames", "tl_faces"]
    # The file is mapped again, and not written again; another process maps it too.
    written = [file.stat().st_mtime_ns for file in files]
    again = ChunkedDataset(str(path)).open()
    np.testing.assert_array_equal(again.agents.memmap(str(maps)), arrays[2])
    assert [file.stat().st_mtime_ns for file in sorted(maps.iterdir())] == written
    script = "import sys, numpy as np; print(len(np.load(sys.argv[1], mmap_mode='r')))"
    assert subprocess.run([sys.executable, "-c", script, files[0]], capture_output=True, text=True, check=True).stdout.split() == [str(len(arrays[2]))]
    # Another version, or another group at the same place, has another file.
    if kind == "table":
        attach(str(path), {"note": b"another version"})
    else:
        other = random_dataset(5, scenes=3, max_frames=30)
        zarr.rename(tmp_path / "before")
        write_zarr(zarr, other)
        arrays = other
    np.testing.assert_array_equal(ChunkedDataset(str(path)).open().agents.memmap(maps), arrays[2])
    assert len(list(maps.iterdir())) == 4
    # A file that somebody damaged is named.
    for file in maps.glob("agents-*"):
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="expected those of this array; delete it"):
        ChunkedDataset(str(path)).open().agents.memmap(maps)


def test_maps_of_groups_that_differ_in_one_array_are_different(tmp_path: Path) -> None:
    arrays = random_dataset(4, scenes=2, max_frames=30)
    for changed, (place, field) in {"agents": (2, "yaw"), "tl_faces": (3, "traffic_light_face_status"), "frames": (1, "ego_translation")}.items():
        other = [array.copy() for array in arrays]
        other[place][field] += 1
        maps = tmp_path / f"maps of {changed}"
        for name, expected in ((f"first {changed}", arrays), (f"second {changed}", other)):
            filled(tmp_path / name, expected)
            np.testing.assert_array_equal(getattr(ChunkedDataset(str(tmp_path / name)).open(), changed).memmap(maps), expected[place])
        # Also in an archive, and through another name of the same folder, which is the same group.
        archive = shutil.make_archive(str(tmp_path / f"{changed}.zarr"), "zip", tmp_path / f"second {changed}")
        np.testing.assert_array_equal(getattr(ChunkedDataset(archive).open(), changed).memmap(maps), other[place])
        getattr(ChunkedDataset(f"file://{tmp_path}/second%20{changed}").open(), changed).memmap(maps)
        assert len(list(maps.iterdir())) == 3


def test_a_group_that_was_edited_in_place_has_another_map(tmp_path: Path) -> None:
    arrays = random_dataset(4, scenes=2, max_frames=30)
    written, maps = filled(tmp_path / "new.zarr", arrays), tmp_path / "maps"
    before = ChunkedDataset(str(tmp_path / "new.zarr")).open()
    before.agents.memmap(maps)
    changed = arrays[2][3:4].copy()
    changed["yaw"] = 3.0
    # Times of files are coarse on some systems.
    time.sleep(0.02)
    written.agents[3] = changed[0]
    assert ChunkedDataset(str(tmp_path / "new.zarr")).open().agents.memmap(maps)[3]["yaw"] == 3.0
    np.testing.assert_array_equal(before.agents.memmap(maps), arrays[2])
    assert len(list(maps.iterdir())) == 2


def test_dask_reads_the_parts_that_it_needs(tmp_path: Path) -> None:
    arrays = random_dataset(4, scenes=4, max_frames=30)
    tt.ingest_l5(write_zarr(tmp_path / "zarr", arrays), tmp_path / "t")
    agents = ChunkedDataset(str(tmp_path / "t")).open().agents
    read, taken = agents._read, []
    agents._read = lambda start, stop, fields: (taken.append((start, stop)), read(start, stop, fields))[1]
    parts = da.from_array(agents, chunks=10)
    assert parts.dtype == AGENT_DTYPE and all(start == stop for start, stop in taken), "no record is read before the parts are"
    taken.clear()
    np.testing.assert_array_equal(parts[25:41]["yaw"].compute(), arrays[2][25:41]["yaw"])
    assert taken and min(start for start, _ in taken) >= 20 and max(stop for _, stop in taken) <= 50
    np.testing.assert_array_equal(parts.compute(), arrays[2])


def test_tensorstore_reads_the_numbers_of_an_exported_group(tmp_path: Path) -> None:
    arrays = random_dataset(4, scenes=4, max_frames=30)
    export(tt.ingest_l5(write_zarr(tmp_path / "zarr", arrays), tmp_path / "t"), tmp_path / "out.zarr")
    for name, array in (("frames", arrays[1]), ("agents", arrays[2])):
        for field in array.dtype.names or ():
            spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{tmp_path}/out.zarr/{name}/"}, "field": field}
            np.testing.assert_array_equal(tensorstore.open(spec, open=True).result().read().result(), array[field])


def test_only_arrays_of_an_open_data_set_are_mapped(tmp_path: Path) -> None:
    lazy = LazyRecords(AGENT_DTYPE, 2, lambda start, stop, _: np.zeros(stop - start, AGENT_DTYPE))
    with pytest.raises(NotImplementedError, match="of an open data set"):
        lazy.memmap(tmp_path)
    zarr = write_zarr(tmp_path / "z", random_dataset(1, scenes=1, max_frames=3))
    dataset: ChunkedDataset = pickle.loads(pickle.dumps(ChunkedDataset(str(zarr)).open()))
    assert len(dataset.agents.memmap(tmp_path / "maps")) == len(dataset.agents)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        dataset.agents.memmap(tmp_path / "file")
