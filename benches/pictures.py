"""JPEGs to small arrays: `tetrys.image` in a data loader beside Pillow, on two threads each.

Writes a table of JPEGs of 1920 x 1200 pixels, and makes arrays of 224 x 224 pixels of them, in alternating rounds: by a data loader with and
without `fast=True`, and by Pillow with a full decode and with `draft`, both with a bilinear resize. Prints medians, ratios, and how much the
pixels differ.

    TETRYS_THREADS=2 python benches/pictures.py --pictures 1000 --rounds 3
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tetrys as tt
from PIL import Image

SIZE = (224, 224)
BATCH = 50


def jpeg(seed: int, width: int = 1920, height: int = 1200) -> bytes:
    """Smooth colours, edges and noise, 4:2:0, quality 90: about as many bytes as a photograph."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = [np.sin(x / (40 + c + seed % 9)) * 60 + np.cos(y / (50 - c)) * 60 + ((x // 90 + y // 70) % 2) * 40 + 90 for c in range(3)]
    pixels = (np.stack(planes, -1) + rng.normal(0, 6, (height, width, 1))).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg", quality=90)
    return file.getvalue()


def by_pillow(file: bytes, draft: bool) -> np.ndarray[Any, Any]:
    image = Image.open(io.BytesIO(file))
    if draft:
        image.draft("RGB", SIZE)
    return np.asarray(image.resize(SIZE, Image.Resampling.BILINEAR))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    different = [jpeg(seed) for seed in range(20)]
    # A number behind the end mark: each value is decoded once in a batch, so that equal ones would cost nothing.
    files = [different[row % 20] + row.to_bytes(4, "little") for row in range(chosen.pictures)]
    with tempfile.TemporaryDirectory() as folder:
        table = tt.write_table(f"{folder}/t", {"id": np.arange(len(files)), "camera.jpeg": files}, index=["id"])
        pool = ThreadPoolExecutor(2)

        def loaded(fast: bool) -> np.ndarray[Any, Any]:
            decode = {"camera.jpeg": tt.image(SIZE, fast=fast)}
            loader = tt.DataLoader(table, batch_size=BATCH, shuffle="none", columns=["camera.jpeg"], decode=decode)
            return np.concatenate([batch["camera.jpeg"] for batch in loader])

        ways: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
            "tetrys": lambda: loaded(False),
            "tetrys, fast": lambda: loaded(True),
            "Pillow": lambda: np.stack(list(pool.map(lambda file: by_pillow(file, False), files))),
            "Pillow, draft": lambda: np.stack(list(pool.map(lambda file: by_pillow(file, True), files))),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        made: dict[str, np.ndarray[Any, Any]] = {}
        for _ in range(chosen.rounds):
            for name, way in ways.items():
                began = time.perf_counter()
                made[name] = way()
                times[name].append(time.perf_counter() - began)
    base = statistics.median(times["Pillow"])
    print(f"{len(files)} JPEGs of 1920 x 1200, {sum(map(len, files)) / len(files) / 1e3:.0f} KB each, {chosen.rounds} rounds")
    for name in ways:
        median = statistics.median(times[name])
        length = min(len(made[name]), len(made["Pillow"]))
        difference = np.abs(made[name][:length].astype(int) - made["Pillow"][:length]).mean()
        print(f"{name:14} {length / median:7.1f} pictures/s  {base / median:5.2f}x of Pillow  mean pixel difference {difference:.3f}")


if __name__ == "__main__":
    main()
