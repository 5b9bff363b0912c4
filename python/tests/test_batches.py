"""What a data loader makes of the samples that it reads: pictures, other arrays, ragged columns, transforms, mixes and traces."""

from __future__ import annotations

import importlib
import io
import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from conftest import ROWS
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

RNG = np.random.default_rng(7)


def scene(height: int, width: int, channels: int = 3) -> npt.NDArray[np.uint8]:
    """Smooth colours with edges and noise."""
    y, x = np.mgrid[:height, :width]
    planes = [np.sin(x / (5 + c)) * 60 + np.cos(y / (7 - c)) * 60 + ((x // 9 + y // 7) % 2) * 40 + 90 for c in range(channels)]
    return (np.stack(planes, -1) + RNG.normal(0, 8, (height, width, channels))).clip(0, 255).astype(np.uint8)


def file_of(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pillow(file: bytes) -> npt.NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))


def decoded(decoder: Any, file: bytes) -> npt.NDArray[Any]:
    shape, elements = decoder.decode(file)
    array: npt.NDArray[Any] = elements.reshape(shape)
    return array


def jpegs() -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for height, width in [(1, 1), (7, 13), (48, 64), (101, 77)]:
        rgb = Image.fromarray(scene(height, width))
        for subsampling in ["4:4:4", "4:2:2", "4:2:0"]:
            for options in [{}, {"progressive": True}, {"optimize": True, "quality": 30}, {"restart_marker_blocks": 2, "quality": 95}]:
                name = f"{height}x{width} {subsampling} {options}"
                files[name] = file_of(rgb, "jpeg", subsampling=subsampling, **options)
        files[f"{height}x{width} grey"] = file_of(rgb.convert("L"), "jpeg")
        files[f"{height}x{width} cmyk"] = file_of(rgb.convert("CMYK"), "jpeg")
    return files


def pngs() -> dict[str, bytes]:
    rgb = Image.fromarray(scene(33, 45))
    alpha = Image.fromarray(scene(33, 45, 1)[..., 0])
    with_alpha = rgb.copy()
    with_alpha.putalpha(alpha)
    files = {mode: file_of(rgb.convert(mode), "png") for mode in ["RGB", "L", "1", "P"]}
    files |= {"RGBA": file_of(with_alpha, "png"), "LA": file_of(with_alpha.convert("LA"), "png")}
    files |= {f"P {bits} bits": file_of(rgb.quantize(2**bits), "png", bits=bits) for bits in (1, 2, 4)}
    files["transparent palette"] = file_of(rgb.quantize(16), "png", transparency=3)
    files["transparent grey"] = file_of(rgb.convert("L"), "png", transparency=100)
    return files


@pytest.mark.parametrize("name, file", [*jpegs().items(), *pngs().items()])
def test_pixels_are_those_of_pillow(name: str, file: bytes) -> None:
    np.testing.assert_array_equal(decoded(tt.image(), file), pillow(file), strict=True)


def test_pictures_are_cropped_resized_laid_out_and_normalised() -> None:
    file = file_of(Image.fromarray(scene(300, 400)), "jpeg", quality=90)
    whole = Image.open(io.BytesIO(file))
    for size, crop in [((64, 48), None), ((224, 224), (20, 30, 150, 200)), ((350, 500), None), ((10, 7), (299, 399, 1, 1))]:
        part = whole if crop is None else whole.crop((crop[1], crop[0], crop[1] + crop[3], crop[0] + crop[2]))
        expected = np.asarray(part.resize(size[::-1], Image.Resampling.BILINEAR)).astype(int)
        found = decoded(tt.image(size, crop=crop), file)
        assert found.shape == (*size, 3) and np.abs(found - expected).max() <= 1
        planes = decoded(tt.image(size, crop=crop, layout="chw"), file)
        np.testing.assert_array_equal(planes, found.transpose(2, 0, 1))
        mean, std = (0.5, 0.25, 0.1), (0.2, 0.3, 0.4)
        floats = decoded(tt.image(size, crop=crop, layout="chw", dtype="float32", mean=mean, std=std), file)
        wanted = (planes / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
        assert floats.dtype == np.float32
        np.testing.assert_allclose(floats, wanted, rtol=1e-5, atol=1e-6)
        unit = decoded(tt.image(size, crop=crop, dtype="float32"), file)
        np.testing.assert_allclose(unit, found / 255, rtol=1e-6)
    np.testing.assert_array_equal(decoded(tt.image(crop=(5, 6, 40, 50)), file), pillow(file)[5:45, 6:56])
    # A reduced scale is that of Pillow's `draft`, which asks for a size that the result is not smaller than.
    fast = decoded(tt.image((50, 50), fast=True), file)
    draft = Image.open(io.BytesIO(file))
    draft.draft("RGB", (100, 75))
    assert draft.size == (100, 75)
    assert np.abs(fast - np.asarray(draft.resize((50, 50), Image.Resampling.BILINEAR)).astype(int)).max() <= 1
    assert np.abs(fast - decoded(tt.image((50, 50)), file).astype(int)).mean() < 8
    np.testing.assert_array_equal(decoded(tt.image((299, 399), fast=True), file), decoded(tt.image((299, 399)), file))


@given(data=st.data())
def test_resized_pixels_are_within_one_level_of_those_of_pillow(data: st.DataObject) -> None:
    sizes = st.tuples(st.integers(1, 120), st.integers(1, 120))
    (height, width), size = data.draw(sizes), data.draw(sizes)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    levels = data.draw(st.sampled_from([2, 3, 256]))
    noise = random.integers(0, levels, (height, width, 3)) * 255 // (levels - 1)
    file = file_of(Image.fromarray(noise.astype(np.uint8)), "png")
    expected = np.asarray(Image.open(io.BytesIO(file)).resize(size[::-1], Image.Resampling.BILINEAR)).astype(int)
    assert np.abs(decoded(tt.image(size), file) - expected).max() <= 1


FILES = [file_of(Image.fromarray(scene(24, 32)), kind) for kind in ("jpeg", "png")]


@given(data=st.data())
def test_damaged_pictures_are_errors_and_nothing_else(data: st.DataObject) -> None:
    file = bytearray(data.draw(st.sampled_from(FILES)))
    for _ in range(data.draw(st.integers(0, 6))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(file[: data.draw(st.integers(0, len(file)))])
    for decoder in (tt.image(), tt.image((8, 8), fast=True)):
        try:
            assert decoded(decoder, cut).size > 0
        except tt.Corrupt as error:
            assert str(error)
    whole = data.draw(st.sampled_from(FILES))
    # A file without its end is never a picture.
    with pytest.raises(tt.Corrupt):
        decoded(tt.image(), whole[: data.draw(st.integers(0, len(whole) - 2))])


def test_impossible_pictures_are_refused() -> None:
    for arguments, text in [
        ({"size": (0, 5)}, "size 0 x 5"),
        ({"size": (2**31, 2**31)}, "expected 1 to"),
        ({"size": 5}, "height and width"),
        ({"size": (1.5, 2)}, "size"),
        ({"crop": (1, 2)}, "crop"),
        ({"layout": "whc"}, "layout `whc`"),
        ({"dtype": "f4"}, "dtype `f4`"),
        ({"mean": (0, 0, 0)}, "mean and std"),
        ({"mean": (0, 0, 0), "std": (1, 1, 1)}, "float32"),
        ({"mean": (0, 0), "std": (1, 1, 1), "dtype": "float32"}, "three numbers"),
        ({"mean": (0, 0, 0), "std": (1, 1, 0), "dtype": "float32"}, "deviation"),
    ]:
        with pytest.raises(tt.Error, match=text):
            tt.image(**arguments)  # type: ignore[arg-type]
    with pytest.raises(tt.Corrupt, match="no area"):
        decoded(tt.image(crop=(0, 0, 10, 10)), file_of(Image.fromarray(scene(9, 20)), "png"))
    huge = bytearray(file_of(Image.fromarray(scene(8, 8)), "jpeg"))
    frame = huge.index(b"\xff\xc0")
    huge[frame + 5 : frame + 9] = b"\xea\x60\xea\x60"
    with pytest.raises(tt.Corrupt, match="60000 x 60000"):
        decoded(tt.image(), bytes(huge))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tt.Index:
    """Thirty rows of two cameras of different sizes, one null and one broken picture."""
    rear: list[bytes | None] = [file_of(Image.fromarray(scene(20 + row, 31)), "png" if row % 2 else "jpeg") for row in range(30)]
    rear[4] = None
    front = [file_of(Image.fromarray(scene(48, 64)), "jpeg") for _ in range(30)]
    broken = list(front)
    broken[11] = b"no picture"
    columns = {"log": ["a"] * 18 + ["b"] * 12, "t": np.arange(30), "cam.front": front, "cam.rear": rear, "cam.broken": broken}
    url = str(tmp_path_factory.mktemp("pictures") / "t")
    return tt.read_index(tt.write_table(url, columns, index=["log", "t"], sequence_by=["log"], order_by=["t"]))


def test_batches_have_pixels_alone_and_in_windows(pictures: tt.Index) -> None:
    decode = {"cam.front": tt.image((12, 16)), "cam.rear": tt.image()}
    loader = tt.DataLoader(pictures, batch_size=7, columns=["cam.front", "cam.rear"], decode=decode, last="short")
    rows = tt.row_loader(pictures)
    seen = []
    for batch in loader:
        read = rows.take(batch["positions"], ["cam.front", "cam.rear"])
        for number, position in enumerate(batch["positions"].tolist()):
            np.testing.assert_array_equal(batch["cam.front"][number], decoded(decode["cam.front"], bytes(read["cam.front"][number])))
            rear = read["cam.rear"][number]
            if rear is None:
                assert batch["cam.rear"][number] is None and position == 4
            else:
                np.testing.assert_array_equal(batch["cam.rear"][number], pillow(bytes(rear)))
            seen.append(position)
    assert sorted(seen) == list(range(30))
    arguments: dict[str, Any] = dict(batch_size=30, columns=["cam.front", "t"], decode={"cam.front": decode["cam.front"]}, shuffle="none")
    windows = tt.DataLoader(pictures, offsets={"cam.*": [-1, 0, 0]}, **arguments)
    batch = next(iter(windows))
    assert batch["cam.front"].shape == (30, 3, 12, 16, 3)
    np.testing.assert_array_equal(batch["cam.front"][:, 1], batch["cam.front"][:, 2])
    np.testing.assert_array_equal(batch["cam.front"][1:18, 0], batch["cam.front"][:17, 1])
    assert batch["cam.front.mask"][0].tolist() == [False, True, True] and not batch["cam.front"][0, 0].any()
    row = rows.get_row(3, ["cam.*"], decode={"cam.front": tt.image((5, 5)), "cam.rear": tt.image()})
    assert row["cam.front"].shape == (5, 5, 3) and row["cam.rear"].shape == (23, 31, 3)
    with pytest.raises(tt.Invalid, match="cam.broken"):
        rows.get_row(11, ["cam.*"], decode={"cam.broken": tt.image()})


def test_a_broken_picture_fails_its_batch_or_is_left_out(pictures: tt.Index) -> None:
    arguments: dict[str, Any] = dict(batch_size=5, columns=["cam.broken"], decode={"cam.broken": tt.image((4, 4))}, shuffle="none")
    batches = iter(tt.DataLoader(pictures, **arguments))
    found = []
    for _ in range(6):
        try:
            found += next(batches)["positions"].tolist()
        except tt.Corrupt as error:
            text = str(error)
            assert "sample at position 11" in text and "column `cam.broken`" in text and "10 bytes that start with `6e 6f 20 70`" in text
    assert found == [*range(10), *range(15, 30)]
    loader = tt.DataLoader(pictures, on_error=1, **arguments)
    assert [position for batch in loader for position in batch["positions"].tolist()] == [row for row in range(30) if row != 11]
    assert loader.stats()["skipped"] == 1


COLUMNS = ["lidar.points", "camera.*", "labels.*", "timestamp"]


def test_ragged_columns_become_lists_padded_arrays_or_offsets(index: tt.Index) -> None:
    def loaded(**arguments: Any) -> dict[str, Any]:
        return next(iter(tt.DataLoader(index, batch_size=ROWS, columns=COLUMNS, shuffle="none", **arguments)))

    rows = tt.row_loader(index).take(range(ROWS), COLUMNS)["lidar.points"].to_list()
    listed = loaded(ragged="list")["lidar.points"]
    for ours, theirs in zip(listed, rows, strict=True):
        assert (ours is None) == (theirs is None)
        np.testing.assert_array_equal(ours, theirs)
    padded = loaded(ragged="pad")
    assert padded["lidar.points"].shape == (ROWS, 3, 4) and padded["lidar.points.shapes"].shape == (ROWS, 2)
    flat = loaded(ragged="offsets")
    offsets = flat["lidar.points.offsets"]
    for number, theirs in enumerate(rows):
        if theirs is not None:
            height, width = padded["lidar.points.shapes"][number]
            assert theirs.shape == (height, width) and not padded["lidar.points"][number, height:].any()
            np.testing.assert_array_equal(padded["lidar.points"][number, :height], theirs)
            np.testing.assert_array_equal(flat["lidar.points"][offsets[number] : offsets[number + 1]], theirs.reshape(-1))
    windows = loaded(ragged="pad", offsets={"lidar.*": range(-1, 2)})
    assert windows["lidar.points"].shape == (ROWS, 3, 3, 4) and windows["lidar.points.shapes"].shape == (ROWS, 3, 2)
    np.testing.assert_array_equal(windows["lidar.points"][:, 1], padded["lidar.points"])
    assert loaded(ragged="pad")["camera.jpeg"].shape == (ROWS, ROWS - 1)


@pytest.mark.parametrize("to", [pytest.param("torch", marks=pytest.mark.torch), "arrow"])
def test_other_arrays_have_the_same_values(index: tt.Index, to: Any) -> None:
    library = pytest.importorskip("pyarrow" if to == "arrow" else to)
    offsets = {"camera.intrinsics": [-1, 0], "labels.*": [0, 1]}
    loaders = [tt.DataLoader(index, batch_size=6, columns=COLUMNS, offsets=offsets, seed=1, to=kind) for kind in (to, "numpy")]
    for ours, theirs in zip(*loaders, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            if isinstance(value, tt.Ragged):
                expected = [None if one is None else one.reshape(-1).tolist() for one in value]
                if to == "arrow":
                    given = ours[name].field("data").to_pylist() if library.types.is_struct(ours[name].type) else ours[name].to_pylist()
                    given = [None if one is None else list(one) for one in given]
                    expected = [one for one in expected if one is not None]
                    given = [one for one, there in zip(given, value, strict=True) if there is not None]
                else:
                    given = [None if one is None else one.reshape(-1).tolist() for one in ours[name]]
                assert given == expected, name
            elif to == "arrow":
                flat = ours[name]
                while library.types.is_fixed_size_list(flat.type):
                    flat = flat.flatten() if flat.null_count == 0 else flat.values
                assert len(ours[name]) == 6
                if name == "labels.text":
                    assert flat.to_pylist() == value.reshape(-1).tolist()
                elif "intrinsics" not in name or name.endswith(".mask"):
                    assert [np.asarray(one).item() for one in flat.to_numpy(zero_copy_only=False)] == value.reshape(-1).tolist(), name
            elif isinstance(ours[name], list):
                assert ours[name] == value.tolist()
            else:
                assert ours[name].shape == value.shape
                np.testing.assert_array_equal(np.asarray(ours[name]), value)


def test_a_library_that_is_missing_is_named(index: tt.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    original = importlib.import_module

    def without(name: str, *arguments: Any) -> Any:
        if name in ("jax", "pyarrow", "tqdm.auto"):
            raise ImportError(name)
        return original(name, *arguments)

    monkeypatch.setattr(importlib, "import_module", without)
    for arguments, text in [({"to": "jax"}, "pip install jax"), ({"to": "arrow"}, "pip install pyarrow"), ({"progress": True}, "pip install tqdm")]:
        with pytest.raises(tt.Unsupported, match=text):
            next(iter(tt.DataLoader(index, batch_size=2, columns=["timestamp"], **arguments)))  # type: ignore[arg-type]


def slow(delays: dict[int, float], seen: list[int]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def transform(batch: dict[str, Any]) -> dict[str, Any]:
        first = int(batch["positions"][0])
        time.sleep(delays.get(first, 0))
        seen.append(first)
        if first == 8:
            raise KeyError("no such class")
        return batch | {"sum": batch["timestamp"].sum()}

    return transform


def test_transforms_run_ahead_on_threads_and_keep_the_order_and_the_state(index: tt.Index) -> None:
    seen: list[int] = []
    transform = slow({0: 0.3}, seen)
    loader = tt.DataLoader(index, batch_size=2, columns=["timestamp"], shuffle="none", transform=transform)
    batches, found = iter(loader), []
    states = [loader.state_dict()["offset"]]
    for step in range(10):
        if step == 4:
            with pytest.raises(KeyError, match="no such class") as failed:
                next(batches)
            assert "positions 8, 9" in " ".join(getattr(failed.value, "__notes__", ["positions 8, 9"]))
            assert any("slow" in str(frame.path) or frame.name == "transform" for frame in failed.traceback)
        else:
            batch = next(batches)
            assert batch["sum"] == batch["timestamp"].sum()
            found += batch["positions"].tolist()
        states.append(loader.state_dict()["offset"])
    with pytest.raises(StopIteration):
        next(batches)
    assert found == [position for position in range(ROWS) if position not in (8, 9)]
    assert states == list(range(0, 22, 2))
    # The first batch was slow: later ones were done before it.
    assert seen[0] != 0 and sorted(seen) == list(range(0, ROWS, 2))
    # The state is that of the loop, not of the batches ahead of it.
    other = tt.DataLoader(index, batch_size=2, columns=["timestamp"], shuffle="none", transform=transform)
    for batch in other:
        if batch["positions"][0] == 4:
            break
    state = json.loads(json.dumps(other.state_dict()))
    again = tt.DataLoader(index, batch_size=2, columns=["timestamp"], shuffle="none")
    again.load_state_dict(state)
    assert next(iter(again))["positions"].tolist() == [6, 7]
    # A loop that was left early ends its epoch, as without a transform.
    assert (other.epoch, next(iter(other))["positions"].tolist(), other.epoch) == (0, [0, 1], 1)
    before = threading.active_count()
    del batches, loader
    assert threading.active_count() <= before


def doubled(sample: dict[str, Any]) -> dict[str, Any]:
    if sample["positions"] == 13:
        raise ValueError("unlucky")
    return {"twice": sample["camera.intrinsics"] * 2, "text": sample["labels.text"], "at": sample["positions"]}


def test_transforms_of_rows_are_stacked(index: tt.Index) -> None:
    arguments: dict[str, Any] = dict(batch_size=4, columns=["camera.intrinsics", "labels.*"], shuffle="none", transform=doubled, transform_rows=True)
    loader = tt.DataLoader(index, **arguments)
    for batches in (iter(loader), iter(pickle.loads(pickle.dumps(tt.DataLoader(index, **arguments))))):
        batch = next(batches)
        assert batch.keys() == {"twice", "text", "at"} and batch["twice"].shape == (4, 3, 3)
        assert batch["text"] == ["row 0", "row 1", "row 2", None] and batch["at"].tolist() == [0, 1, 2, 3]
    list(zip(range(2), batches))
    with pytest.raises(ValueError, match="unlucky") as failed:
        next(batches)
    assert "position 13" in " ".join(getattr(failed.value, "__notes__", ["position 13"]))
    no_dict = tt.DataLoader(index, batch_size=4, columns=["timestamp"], transform=lambda sample: 3, transform_rows=True)
    with pytest.raises(TypeError, match="returns a dict"):
        next(iter(no_dict))


@pytest.mark.torch
def test_a_device_takes_batches_and_rows_of_transforms(index: tt.Index) -> None:
    import torch

    arguments: dict[str, Any] = dict(batch_size=4, columns=["camera.intrinsics", "labels.*"], shuffle="none", transform=doubled, transform_rows=True)
    tensors = next(iter(tt.DataLoader(index, to="torch", device="cpu", **arguments)))
    assert torch.is_tensor(tensors["twice"]) and tensors["twice"].shape == (4, 3, 3)
    meta = next(iter(tt.DataLoader(index, batch_size=4, columns=["camera.*"], to="torch", device="meta")))
    assert meta["camera.intrinsics"].device.type == "meta" and meta["positions"].device.type == "meta"


def test_mixed_loaders(index: tt.Index, drives: str) -> None:
    def loaders(size: int, **arguments: Any) -> list[tt.DataLoader]:
        return [tt.DataLoader(index, batch_size=size, columns=["timestamp", "labels.*"], seed=seed, **arguments) for seed in (1, 2)]

    mixed = tt.mix(loaders(4), weights=[3, 1])
    rows = tt.row_loader(index)
    epochs = []
    for _ in range(2):
        batches = list(mixed)
        for batch in batches:
            assert batch["sources"].tolist().count(0) == 3
            np.testing.assert_array_equal(batch["timestamp"], rows.take(batch["positions"], ["timestamp"])["timestamp"])
        epochs.append([pair for batch in batches for pair in zip(batch["sources"].tolist(), batch["positions"].tolist(), strict=True)])
    assert epochs[0] != epochs[1] and all(len(set(epoch)) == len(epoch) for epoch in epochs)
    assert mixed.samples == 27 and len(mixed) == 6 and "20 x 3" in repr(mixed)
    assert tt.mix(loaders(4), weights=[3, 1], stop="longest").samples > 60
    assert tt.mix(loaders(4), weights=[3, 1], samples=100).samples == 100
    # Continues with other batch sizes and other weights.
    first = tt.mix(loaders(4), weights=[3, 1], samples=60)
    whole = [pair for batch in first for pair in zip(batch["sources"].tolist(), batch["positions"].tolist(), strict=True)]
    second = tt.mix(loaders(4), weights=[3, 1], samples=60)
    for number, _ in enumerate(second):
        if number == 2:
            break
    state = json.loads(json.dumps(second.state_dict()))
    assert len(json.dumps(state)) < 1024 + 2 * 256
    for size in (1, 6, 48):
        resumed = tt.mix(loaders(size, last="short"), weights=[3, 1], samples=60)
        resumed.load_state_dict(state)
        assert [pair for batch in resumed for pair in zip(batch["sources"].tolist(), batch["positions"].tolist(), strict=True)] == whole[12:]
    changed = tt.mix(loaders(6), weights=[1, 1], samples=60)
    changed.load_state_dict(state)
    assert next(iter(changed))["sources"].tolist().count(0) == 3
    again = pickle.loads(pickle.dumps(second))
    assert next(iter(again))["positions"].tolist() == [position for _, position in whole[12:16]]
    for arguments, text in [
        (([], [1]), "no loaders"),
        ((loaders(4), [1]), "2 loaders with 1 weights"),
        ((loaders(4), [1, 0]), "weight of loader 1: 0"),
        ((loaders(4), ["a", "b"]), "a number for each"),
        ((loaders(4) + loaders(5), [1, 1, 1, 1]), "loader 2 of a mix has"),
        (([mixed, mixed], [1, 1]), "tetrys.DataLoader"),
        (([index], [1]), "tetrys.DataLoader"),
    ]:
        with pytest.raises(tt.Error, match=text):
            tt.mix(arguments[0], weights=arguments[1])  # type: ignore[arg-type]


@pytest.mark.torch
def test_the_loader_of_pytorch_reads_a_mix(index: tt.Index) -> None:
    import tetrys.torch
    import torch

    def mixed() -> tt.MixedLoader:
        loaders = [tt.DataLoader(index, batch_size=4, columns=["timestamp"], seed=seed) for seed in (1, 2)]
        return tt.mix(loaders, weights=[3, 1], samples=60)

    whole = [pair for batch in mixed() for pair in zip(batch["sources"].tolist(), batch["positions"].tolist(), strict=True)]
    data = tetrys.torch.IterableDataset(mixed())
    found = [pair for batch in torch.utils.data.DataLoader(data, batch_size=None) for pair in zip(batch["sources"].tolist(), batch["positions"].tolist(), strict=True)]
    assert found == whole


def test_windows_over_a_gap_in_time_are_left_out(index: tt.Index) -> None:
    def found(step: Any) -> list[int]:
        loader = tt.DataLoader(index, batch_size=1, columns=["camera.intrinsics"], offsets=[-1, 0], max_step=step, shuffle="none")
        return [int(batch["positions"][0]) for batch in loader]

    whole = [position for position in range(ROWS) if position % 10]
    assert found("100ms") == found(100) == whole and found("99ms") == []


def test_traces_progress_and_statistics(index: tt.Index, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    loader = tt.DataLoader(index, batch_size=3, columns=COLUMNS, transform=lambda batch: batch, trace=trace, progress=True)
    batches = list(loader)
    events = json.loads(trace.read_text())
    assert {event["name"] for event in events} == {"read", "transform", "wait for a batch", "work on a batch"}
    reads = [event for event in events if event["name"] == "read" and event["ph"] == "b"]
    assert sum(event["args"]["samples"] for event in reads) == 18 and all(event["ts"] >= 0 for event in events)
    ends = {event["id"]: event["ts"] for event in events if event["ph"] == "e"}
    assert all(ends[event["id"]] >= event["ts"] for event in events if event["ph"] == "b") and len(ends) * 2 == len(events)
    assert "6/6" in capfd.readouterr().err
    stats = loader.stats()
    assert stats["samples"] == 18 and stats["batches"] == len(batches) == 6
    assert stats["requests"] > 0 and stats["requested_bytes"] > 0 and stats["blocks"] >= stats["cached_blocks"]
    assert stats["planned_requests"] >= stats["requests"] and stats["planned_bytes"] >= stats["requested_bytes"]
    assert stats["wait_share"] == pytest.approx(stats["consumer_waited"] / (stats["consumer_waited"] + stats["loader_waited"]))
    with pytest.raises(tt.Exists, match="trace"):
        tt.DataLoader(index, batch_size=3, trace=trace)


def test_the_loop_waits_for_a_transform_too(index: tt.Index) -> None:
    def slow(batch: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.2)
        return batch

    loader = tt.DataLoader(index, batch_size=4, columns=COLUMNS, transform=slow)
    assert loader.stats()["wait_share"] is None
    batches = iter(loader)
    next(batches)
    first = loader.stats()
    # The call that starts the first batch waits for all of it.
    assert first["consumer_waited"] >= 0.2 and first["loader_waited"] == 0 and first["wait_share"] == 1
    next(batches)
    assert loader.stats()["loader_waited"] > 0


@pytest.fixture(scope="module")
def small_rows(tmp_path_factory: pytest.TempPathFactory) -> tt.Index:
    """An index of 6,000 rows of 1 KiB, of which several share a block."""
    noise = np.random.default_rng(3).integers(0, 256, (6000, 1024), dtype=np.uint8)
    return tt.read_index(tt.write_table(str(tmp_path_factory.mktemp("cache") / "t"), {"i": np.arange(6000), "a.raw": noise}, index=["i"], preset="fast"))


def counted(index: tt.Index, **options: Any) -> list[dict[str, Any]]:
    """The counts of two epochs of a global shuffle, one batch read at a time, and a check of their values."""
    loader = tt.DataLoader(index, batch_size=20, seed=1, **{"prefetch": 0} | options)
    rows, counts = tt.row_loader(index), [loader.stats()]
    for _ in range(2):
        for step, batch in enumerate(loader):
            if step == 0:
                np.testing.assert_array_equal(batch["a.raw"], rows.take(batch["positions"])["a.raw"])
        counts.append(loader.stats())
    names = ("requests", "requested_bytes", "blocks", "cached_blocks")
    return [{name: after[name] - before[name] for name in names} for before, after in zip(counts, counts[1:])]


def test_blocks_that_fit_into_the_cache_are_read_once(small_rows: tt.Index) -> None:
    (stored, decoded) = small_rows.tables[0].group_sizes["a"]
    first, second = counted(small_rows, cache_bytes=3 * decoded)
    assert 0.9 * stored < first["requested_bytes"] < 1.1 * stored and first["cached_blocks"] > 0
    assert second["requests"] == second["requested_bytes"] == 0 and second["cached_blocks"] == second["blocks"] > 0
    none, again = counted(small_rows, cache_bytes=0)
    assert none["requested_bytes"] == pytest.approx(again["requested_bytes"], rel=0.1)
    assert none["requested_bytes"] > 3 * stored and none["cached_blocks"] == again["cached_blocks"] == 0
    ahead, _ = counted(small_rows, cache_bytes="64MiB", prefetch="512MiB")
    # Plans that are read at the same time may ask for a block that is not cached yet.
    assert ahead["requested_bytes"] < none["requested_bytes"]


def test_a_smaller_cache_finds_fewer_blocks(small_rows: tt.Index) -> None:
    decoded = small_rows.tables[0].group_sizes["a"][1]
    read = [counted(small_rows, cache_bytes=decoded * share // 4)[1]["requested_bytes"] for share in (0, 1, 2, 8)]
    assert read == sorted(read, reverse=True) and read[0] > read[2] > read[3] == 0


def test_copies_of_a_loader_have_the_bound_of_its_cache(small_rows: tt.Index) -> None:
    loader = tt.DataLoader(small_rows, batch_size=20, cache_bytes="32MiB")
    for copy in (loader, pickle.loads(pickle.dumps(loader)), loader._with(to="arrow")):
        assert copy._rows._settings["cache_bytes"] == 32 << 20
    for wrong in (-1, "much", 1.5):
        with pytest.raises(tt.Invalid, match="cache_bytes"):
            tt.DataLoader(small_rows, batch_size=20, cache_bytes=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("to", ["numpy", pytest.param("torch", marks=pytest.mark.torch)])
def test_rows_of_windows_reach_a_transform_whole(index: tt.Index, to: Any) -> None:
    arguments: dict[str, Any] = dict(batch_size=4, columns=["camera.jpeg", "labels.*", "lidar.*"], offsets=range(-1, 1), shuffle="none")
    rows = tt.row_loader(index).take(range(ROWS), ["camera.jpeg", "labels.*"])
    seen: dict[int, tuple[list[bytes | None], list[str | None]]] = {}

    def look(sample: dict[str, Any]) -> dict[str, Any]:
        pictures = [None if one is None else bytes(one.tolist()) for one in sample["camera.jpeg"]]
        seen[int(sample["positions"])] = (pictures, list(sample["labels.text"]))
        return {"at": sample["positions"]}

    loader = tt.DataLoader(index, transform=look, transform_rows=True, skip_incomplete=True, to=to, **arguments)
    assert len(list(loader)) == 4
    for position, (pictures, texts) in seen.items():
        assert pictures == [bytes(rows["camera.jpeg"][at]) for at in (position - 1, position)]
        assert texts == [rows["labels.text"][at] for at in (position - 1, position)]
    nested = next(iter(tt.DataLoader(index, ragged="list", **arguments)))["camera.jpeg"]
    assert len(nested) == 4 and all(len(window) == 2 for window in nested)
    with pytest.raises(tt.Invalid, match="one flat array"):
        tt.DataLoader(index, transform=look, transform_rows=True, ragged="offsets", **arguments)
    with pytest.raises(tt.Invalid, match="max_step is for windows"):
        tt.DataLoader(index, batch_size=4, max_step="1s")


def test_mixes_of_different_parts_are_refused_and_windows_of_all_columns_mixed(index: tt.Index) -> None:
    def loader(seed: int = 0, **arguments: Any) -> tt.DataLoader:
        return tt.DataLoader(index, batch_size=4, columns=["camera.intrinsics", "labels.*"], seed=seed, **arguments)

    for one, other in [(loader(), loader(offsets={"labels.*": [0]})), (loader(offsets={"labels.*": [0]}), loader())]:
        with pytest.raises(tt.Invalid, match="loader 1 of a mix has"):
            tt.mix([one, other], weights=[1, 1])
    batch = next(iter(tt.mix([loader(offsets=[0, 1]), loader(1, offsets=[0, 1])], weights=[1, 1])))
    assert batch["camera.intrinsics"].shape == (4, 2, 3, 3)
    same = loader()
    with pytest.raises(tt.Invalid, match="twice"):
        tt.mix([same, same], weights=[1, 1])
    alone = tt.mix([loader()], weights=[1], samples=24)
    with pytest.raises(tt.Invalid, match="expected one of a mix"):
        alone.load_state_dict(loader().state_dict())
    with pytest.raises(tt.Invalid, match="expected one of a single loader"):
        loader().load_state_dict(alone.state_dict())
    many = tt.mix([loader(seed) for seed in range(60)], weights=[1] * 60)
    assert len(next(iter(many))["positions"]) == 4
    assert tt.mix([loader(), loader(1)], weights=[1, 1]).stats()["requests"] == 0
    assert tt.mix([loader(), loader(1)], weights=[1, 1]).stats()["wait_share"] is None


def end(batch: dict[str, Any]) -> dict[str, Any]:
    if batch["positions"][0] == 8:
        raise StopIteration
    return batch


def test_iterators_survive_jumps_forks_and_bad_transforms(index: tt.Index) -> None:
    arguments: dict[str, Any] = dict(batch_size=4, columns=["timestamp"], shuffle="none")
    batches = iter(tt.DataLoader(index, transform=end, **arguments))
    assert [next(batches)["positions"][0] for _ in range(2)] == [0, 4]
    with pytest.raises(RuntimeError, match="StopIteration"):
        next(batches)
    assert next(batches)["positions"][0] == 12
    # A jump drops the batches that were transformed ahead.
    loader = tt.DataLoader(index, transform=dict, **arguments)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    loader.load_state_dict(state | {"offset": 16})
    assert next(batches)["positions"][0] == 16 and loader.state_dict()["offset"] == 20
    # A forked child goes on behind the batch that its parent got.
    batches = iter(tt.DataLoader(index, transform=dict, **arguments))
    next(batches)
    if hasattr(os, "fork"):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            os._exit(int(next(batches)["positions"][0]))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert next(batches)["positions"][0] == 4


def test_loaders_of_pictures_are_pickled_and_move_whatever_a_transform_returns(pictures: tt.Index) -> None:
    arguments: dict[str, Any] = dict(batch_size=5, columns=["cam.front"], shuffle="none", decode={"*": tt.image((4, 5), dtype="float32")})
    loader = tt.DataLoader(pictures, **arguments)
    again = pickle.loads(pickle.dumps(loader))
    np.testing.assert_array_equal(next(iter(again))["cam.front"], next(iter(loader))["cam.front"])
    assert tt.image((4, 4), dtype="float32", mean=np.zeros(3), std=np.ones(3)).type == "f32[4,4,3]"  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tetrys.image"):
        tt.row_loader(pictures).get_row(0, decode={"cam.front": True})  # type: ignore[dict-item]


@pytest.mark.torch
def test_whatever_a_transform_returns_moves_to_the_device(pictures: tt.Index) -> None:
    import torch

    arguments: dict[str, Any] = dict(batch_size=5, columns=["cam.front"], shuffle="none", decode={"*": tt.image((4, 5), dtype="float32")})
    pairs = tt.DataLoader(pictures, transform=pair, to="torch", device="meta", **arguments)
    first, second = next(iter(pairs))
    assert torch.is_tensor(first) and first.device.type == second[0].device.type == "meta"


def pair(batch: dict[str, Any]) -> Any:
    return batch["cam.front"], [batch["positions"], "text"]
