"""Random crops, flips and colours of pictures: those of torchvision, drawn for each sample of each epoch."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tetrys as tt
from PIL import Image, ImageEnhance
from tetrys.typing import Image as Decoder

HEIGHT, WIDTH, ROWS = 48, 64, 24
MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
VARIED: dict[str, Any] = dict(crop_scale=(0.2, 1.0), flip=0.5, brightness=0.4, contrast=(0.5, 1.5), saturation=0.7)


def scene(row: int) -> np.ndarray:
    """A smooth picture: red grows to the right, green to the bottom, blue with the row."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([x * 255 // (WIDTH - 1), y * 255 // (HEIGHT - 1), np.full_like(x, row * 9 % 256)], 2).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tt.Index:
    """An index of 24 rows in two logs, each with a picture and a mask of the same shape."""
    url = str(tmp_path_factory.mktemp("augment") / "scenes")
    files = [png(scene(row)) for row in range(ROWS)]
    columns = {"log": ["a"] * 12 + ["b"] * 12, "time": np.arange(ROWS), "class": [0] * 21 + [1] * 3, "front.png": files, "mask.png": files}
    tt.write_table(url, columns, index=["log", "time", "class"], sequence_by=["log"], order_by=["time"])
    return tt.read_index(url)


def loader_of(scenes: tt.Index, decoder: Decoder, **options: Any) -> tt.DataLoader:
    return tt.DataLoader(scenes, **{"batch_size": 4, "columns": ["front.*"], "decode": {"*.png": decoder}, "seed": 7, "to": "numpy"} | options)


def pictures(batches: Any) -> np.ndarray:
    return np.concatenate([np.asarray(batch["front.png"]) for batch in batches])


# The reference: torchvision's code with the random numbers of Tetrys.


def mixed(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def random_of(*parts: int) -> int:
    state = 0
    for part in (*parts, 0):
        state = mixed((state + GOLDEN & MASK) ^ mixed(part + GOLDEN & MASK))
    return state


class Numbers:
    def __init__(self, random: int, seed: int, what: int) -> None:
        self.state = mixed(mixed(random ^ seed) ^ what)

    def next(self) -> int:
        self.state = self.state + GOLDEN & MASK
        return mixed(self.state)

    def uniform(self, least: float, most: float) -> float:
        return least + (most - least) * ((self.next() >> 11) / 2**53)

    def below(self, n: int) -> int:
        return self.next() * n >> 64


def part_of(numbers: Numbers, height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float]) -> tuple[int, int, int, int]:
    """`RandomResizedCrop.get_params` of torchvision 0.20: top, left, height and width."""
    for _ in range(10):
        target = height * width * numbers.uniform(*scale)
        aspect = math.exp(numbers.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            return numbers.below(height - h + 1), numbers.below(width - w + 1), h, w
    if width / height < min(ratio):
        w, h = width, round(width / min(ratio))
    elif width / height > max(ratio):
        w, h = round(height * max(ratio)), height
    else:
        w, h = width, height
    return (height - h) // 2, (width - w) // 2, h, w


def coloured(picture: Image.Image, numbers: Numbers, factors: list[tuple[float, float] | None]) -> Image.Image:
    """`ColorJitter` of torchvision for a picture of Pillow: three changes in random order."""
    changes: list[tuple[Any, float]] = []
    for change, bounds in zip((ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color), factors, strict=True):
        place = numbers.below(len(changes) + 1)
        changes.insert(place, (change, numbers.uniform(*(bounds or (1, 1)))))
    for change, factor in changes:
        picture = change(picture).enhance(factor)
    return picture


def expected(pixels: np.ndarray, random: int, size: tuple[int, int] | None, scale: Any, flip: float, factors: Any, ratio: Any = (3 / 4, 4 / 3)) -> np.ndarray:
    picture = Image.fromarray(pixels)
    if scale is not None:
        top, left, h, w = part_of(Numbers(random, 0, 0), picture.height, picture.width, scale, ratio)
        picture = picture.crop((left, top, left + w, top + h))
    if size is not None:
        picture = picture.resize(size[::-1], Image.Resampling.BILINEAR)
    if Numbers(random, 0, 1).uniform(0, 1) < flip:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(coloured(picture, Numbers(random, 0, 2), factors))


def test_pictures_are_those_of_torchvision_with_the_numbers_of_the_sample(scenes: tt.Index) -> None:
    found = list(loader_of(scenes, tt.image((20, 24), **VARIED)))
    for number in range(ROWS):
        batch, place = found[number // 4], number % 4
        wanted = expected(scene(int(batch["positions"][place])), random_of(7, 0, number), (20, 24), (0.2, 1), 0.5, [(0.6, 1.4), (0.5, 1.5), (0.3, 1.7)])
        difference = np.abs(batch["front.png"][place].astype(int) - wanted)
        # A resize is within one level of Pillow's, and the factors up to 1.4 * 1.5 * 1.7 enlarge that.
        assert difference.max() <= 6 and difference.mean() < 1, number


def test_flips_and_colours_without_a_size_are_exactly_those_of_pillow(scenes: tt.Index) -> None:
    index = scenes[:8]
    loader = loader_of(index, tt.image(flip=0.5, brightness=1.0, contrast=1.0, saturation=1.0), ragged="pad", batch_size=8)
    for epoch in range(4):
        (batch,) = loader
        for number, position in enumerate(batch["positions"]):
            wanted = expected(scene(int(position)), random_of(7, epoch, number), None, None, 0.5, [(0, 2)] * 3)
            np.testing.assert_array_equal(batch["front.png"][number], wanted)


@pytest.mark.parametrize("ratio", [(0.1, 0.2), (6.0, 9.0), (1.0, 1.0)])
def test_where_no_part_fits_it_is_the_largest_in_the_middle(scenes: tt.Index, ratio: tuple[float, float]) -> None:
    batch = next(iter(loader_of(scenes, tt.image((16, 16), crop_scale=(1.0, 1.0), crop_ratio=ratio), shuffle="none")))
    for number in range(4):
        wanted = expected(scene(number), random_of(7, 0, number), (16, 16), (1, 1), 0, [None] * 3, ratio)
        assert np.abs(batch["front.png"][number].astype(int) - wanted).max() <= 1


def test_what_is_drawn_stays_within_its_bounds_and_reaches_them(scenes: tt.Index) -> None:
    areas, ratios, flips, factors = [], [], [], []
    crops = loader_of(scenes, tt.image((32, 32), crop_scale=(0.3, 0.6), crop_ratio=(0.8, 1.25)), batch_size=ROWS)
    flipped = loader_of(scenes, tt.image((8, 8), flip=0.25), batch_size=ROWS)
    bright = loader_of(scenes, tt.image((8, 8), brightness=(0.5, 0.9)), batch_size=ROWS)
    for _ in range(20):
        for picture in pictures(crops).astype(float):
            # Red and green tell where the columns and rows of the result were.
            width = (picture[:, -2, 0] - picture[:, 1, 0]).mean() / 255 * (WIDTH - 1) * 32 / 29
            height = (picture[-2, :, 1] - picture[1, :, 1]).mean() / 255 * (HEIGHT - 1) * 32 / 29
            areas.append(width * height / (WIDTH * HEIGHT))
            ratios.append(width / height)
        flips += [picture[0, 0, 0] > picture[0, -1, 0] for picture in pictures(flipped)]
        factors += [picture[..., 0].mean() / 127.5 for picture in pictures(bright)]
    assert 0.27 < min(areas) < 0.33 and 0.55 < max(areas) < 0.63 and 0.42 < np.mean(areas) < 0.48
    assert 0.75 < min(ratios) < 0.85 and 1.18 < max(ratios) < 1.33
    assert 0.17 < np.mean(flips) < 0.33
    assert 0.48 < min(factors) < 0.53 and 0.86 < max(factors) < 0.91 and 0.67 < np.mean(factors) < 0.73


def test_all_frames_of_a_window_get_one_crop_flip_and_colour(tmp_path: Path) -> None:
    columns = {"log": ["a"] * 8, "time": np.arange(8), "front.png": [png(scene(0))] * 8}
    tt.write_table(str(tmp_path / "t"), columns, index=["log", "time"], sequence_by=["log"])
    index, decoder = tt.read_index(str(tmp_path / "t")), tt.image((16, 16), **VARIED)
    (batch,) = loader_of(index, decoder, batch_size=8, columns=["front.*", "time"], offsets={"front.*": range(-2, 1)})
    first = None
    for frames, mask in zip(batch["front.png"], batch["front.png.mask"], strict=True):
        there = frames[mask]
        assert (there == there[0]).all() and not frames[~mask].any()
        assert first is None or (there[0] != first).any(), "each sample is drawn anew"
        first = there[0]


def test_pictures_depend_on_seed_epoch_and_number_alone(scenes: tt.Index) -> None:
    decoder = tt.image((16, 16), **VARIED)
    loader = loader_of(scenes, decoder)
    first, second = pictures(loader), pictures(loader)
    assert (first != second).any()
    assert (first == pictures(loader_of(scenes, decoder, batch_size=12, prefetch=0))).all()
    assert (first == pictures(pickle.loads(pickle.dumps(loader_of(scenes, decoder))))).all()
    assert (first != pictures(loader_of(scenes, decoder, seed=8))).any()
    again = loader_of(scenes, decoder)
    again.set_epoch(1)
    assert (second == pictures(again)).all()
    ranks = [list(loader_of(scenes, decoder, batch_size=2, rank=rank, world_size=2)) for rank in range(2)]
    shared = [np.stack([ranks[0][step]["front.png"], ranks[1][step]["front.png"]], 1).reshape(4, 16, 16, 3) for step in range(6)]
    assert (first == np.concatenate(shared)).all()


def test_a_resumed_epoch_has_the_same_pictures(scenes: tt.Index) -> None:
    decoder = tt.image((16, 16), **VARIED)
    whole = pictures(loader_of(scenes, decoder))
    loader = loader_of(scenes, decoder)
    batches = iter(loader)
    seen = pictures([next(batches), next(batches)])
    again = loader_of(scenes, decoder, batch_size=2, seed=0)
    again.load_state_dict(loader.state_dict())
    assert (whole == np.concatenate([seen, pictures(again)])).all()


def test_a_row_that_is_drawn_twice_gets_two_pictures(scenes: tt.Index) -> None:
    loader = loader_of(scenes, tt.image((16, 16), crop_scale=(0.2, 0.5)), balance_by="class", batch_size=ROWS)
    (batch,) = loader
    same: dict[int, list[np.ndarray]] = {}
    for position, picture in zip(batch["positions"].tolist(), batch["front.png"], strict=True):
        same.setdefault(position, []).append(picture)
    repeated = [found for found in same.values() if len(found) > 1]
    assert repeated and all((found[0] != found[1]).any() for found in repeated)


def test_columns_with_one_seed_stay_aligned(scenes: tt.Index) -> None:
    coloured, plain = tt.image((16, 16), **VARIED), tt.image((16, 16), crop_scale=(0.2, 1.0), flip=0.5)
    other = tt.image((16, 16), crop_scale=(0.2, 1.0), flip=0.5, seed=1)

    def of(front: Decoder, mask: Decoder) -> dict[str, Any]:
        return next(iter(tt.DataLoader(scenes, batch_size=ROWS, columns=["*.png"], decode={"front.png": front, "mask.png": mask})))

    batch = of(plain, plain)
    assert (batch["front.png"] == batch["mask.png"]).all()
    # A change of colours takes no part in crop and flip.
    assert (of(coloured, plain)["mask.png"] == batch["mask.png"]).all()
    assert (of(plain, other)["mask.png"] != batch["mask.png"]).any()


def test_a_mix_draws_for_its_own_samples(scenes: tt.Index) -> None:
    def mixed_pictures() -> np.ndarray:
        loaders = [loader_of(scenes, tt.image((16, 16), **VARIED), seed=seed) for seed in (1, 2)]
        return pictures(tt.mix(loaders, weights=[1, 1], stop="longest"))

    first = mixed_pictures()
    assert (first == mixed_pictures()).all()
    # Each sample draws for itself: the pictures of a loader alone have other crops.
    assert len({one.tobytes() for one in first}) > len(first) // 2


def test_samples_beside_one_that_cannot_be_read_keep_their_pictures(tmp_path: Path) -> None:
    files = [png(scene(row)) for row in range(8)]
    for name, broken in (("good", b""), ("bad", b"broken")):
        columns = {"time": np.arange(8), "front.png": [broken or file if row == 3 else file for row, file in enumerate(files)]}
        tt.write_table(str(tmp_path / name), columns, index=["time"])
    decoder = tt.image((16, 16), **VARIED)
    good, bad = (next(iter(loader_of(tt.read_index(str(tmp_path / name)), decoder, batch_size=8, on_error=1))) for name in ("good", "bad"))
    left = good["positions"] != 3
    assert (good["front.png"][left] == bad["front.png"]).all()


def test_reduced_decoding_takes_the_same_part(tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.fromarray(np.repeat(np.repeat(scene(0), 8, 0), 8, 1)).resize((WIDTH * 8, HEIGHT * 8)).save(file, "jpeg", quality=95)
    tt.write_table(str(tmp_path / "t"), {"time": np.arange(6), "front.png": [file.getvalue()] * 6}, index=["time"])
    slow, fast = (pictures(loader_of(tt.read_index(str(tmp_path / "t")), tt.image((24, 32), crop_scale=(0.2, 1), fast=fast), batch_size=6)) for fast in (False, True))
    assert np.abs(slow.astype(int) - fast).max() <= 12 and (slow[0] != slow[1]).any()


def test_rows_are_drawn_by_their_position(scenes: tt.Index) -> None:
    decode = {"front.*": tt.image((20, 24), **VARIED)}
    rows = tt.row_loader(scenes)
    found = rows.get_row(5, decode=decode)["front.png"]
    wanted = expected(scene(5), random_of(0, 0, 5), (20, 24), (0.2, 1), 0.5, [(0.6, 1.4), (0.5, 1.5), (0.3, 1.7)])
    assert np.abs(found.astype(int) - wanted).max() <= 6
    assert (found == rows.get_row(5 - ROWS, decode=decode)["front.png"]).all()
    assert (found == next(rows.rows([5], decode=decode))["front.png"]).all()


@pytest.mark.torch
@pytest.mark.parametrize("workers", [1, 4])
def test_workers_of_pytorch_change_no_picture(scenes: tt.Index, workers: int) -> None:
    import torch.utils.data
    from tetrys.torch import IterableDataset

    def found(workers: int) -> dict[int, np.ndarray]:
        batches = IterableDataset(loader_of(scenes, tt.image((16, 16), **VARIED), batch_size=2, to="torch"))
        read = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers, multiprocessing_context="spawn" if workers else None)
        return {position: picture.numpy() for batch in read for position, picture in zip(batch["positions"].tolist(), batch["front.png"], strict=True)}

    alone, shared = found(0), found(workers)
    assert alone.keys() == shared.keys() == set(range(ROWS))
    assert all((alone[position] == shared[position]).all() for position in alone)


@pytest.mark.torch
def test_a_data_set_of_pytorch_draws_by_seed_epoch_and_position(scenes: tt.Index) -> None:
    import torch.utils.data
    from tetrys.torch import Dataset

    samples = Dataset(scenes, columns=["front.*"], offsets=range(-1, 1), decode={"*.png": tt.image((20, 24), **VARIED)}, seed=3)
    wanted = expected(scene(5), random_of(3, 2, 5), (20, 24), (0.2, 1), 0.5, [(0.6, 1.4), (0.5, 1.5), (0.3, 1.7)])
    assert samples[5]["front.png"].shape == (2, 20, 24, 3)
    for workers in (0, 1, 4):
        loader = torch.utils.data.DataLoader(
            samples, batch_size=6, num_workers=workers, persistent_workers=workers > 0, multiprocessing_context="spawn" if workers else None
        )
        first = torch.cat([batch["front.png"] for batch in loader])
        samples.set_epoch(2)
        second = torch.cat([batch["front.png"] for batch in loader])
        assert (first != second).any() and np.abs(second[5, 1].numpy().astype(int) - wanted).max() <= 6
        samples.set_epoch(0)
        assert (first == torch.stack([samples[position]["front.png"] for position in range(ROWS)])).all()


def wrong_arguments() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"crop_scale": (0.2, 1.0)}, "a random crop needs a size"
    yield {"size": (4, 4), "crop_scale": (0.5, 0.2)}, "crop_scale: expected two shares above 0 and up to 1, the smaller one first, found 0.5 to 0.2"
    yield {"size": (4, 4), "crop_scale": (0.5, 1.2)}, "crop_scale: .* found 0.5 to 1.2"
    yield {"size": (4, 4), "crop_scale": (0.0, 1.0)}, "crop_scale: .* found 0.0 to 1.0"
    yield {"size": (4, 4), "crop_scale": (0.2, 1.0), "crop_ratio": (0.0, 1.0)}, "crop_ratio: expected two numbers above 0, the smaller one first, found 0.0 to 1.0"
    yield {"size": (4, 4), "crop_scale": 0.2}, "crop_scale: expected two numbers, the smaller one first, found"
    yield {"size": (4, 4), "crop_ratio": (1, 1)}, "crop_ratio: needs crop_scale"
    yield {"flip": 1.5}, "flip: expected a probability from 0 to 1, found 1.5"
    yield {"flip": True}, "flip: expected a number"
    yield {"brightness": -0.1}, "brightness: -0.1: expected 0 or more"
    yield {"contrast": (1.5, 0.5)}, "contrast: expected two factors of 0 or more, the smaller one first, found 1.5 to 0.5"
    yield {"saturation": (0.5, math.inf)}, "saturation: .* found 0.5 to inf"
    yield {"saturation": (0.5, math.nan)}, "saturation: expected a number, found NaN"
    yield {"seed": -1}, "seed: -1 is outside"


@pytest.mark.parametrize(("arguments", "message"), list(wrong_arguments()))
def test_impossible_changes_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(tt.Invalid, match=message):
        tt.image(**arguments)


def test_a_decoder_with_random_changes_is_shown_and_pickled_as_it_is_written() -> None:
    text = "tetrys.image((24, 32), crop_scale=(0.2, 1.0), crop_ratio=(0.75, 1.25), flip=0.5, brightness=(0.5, 1.5), seed=2)"
    decoder = tt.image((24, 32), crop_scale=(0.2, 1), crop_ratio=(0.75, 1.25), flip=0.5, brightness=0.5, seed=2)
    assert repr(decoder) == repr(pickle.loads(pickle.dumps(decoder))) == text
