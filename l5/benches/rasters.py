"""Measures rasters from Python: samples one by one, and in batches of 64, in memory that the batch before has left and in new memory.

    python l5/benches/rasters.py scenes.zarr --map-type box_debug --rounds 5

`scenes.zarr` is a Level 5 data set with 64 frames or more. The contenders take turns; rates are medians. Two further columns keep all
batches of a round, so that each needs new memory.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from tetrys.l5 import ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer

BATCH = 64


def config(map_type: str) -> dict:
    """Returns a configuration with 22 channels of boxes of 224 x 224 pixels."""
    return {
        "model_params": {"history_num_frames": 10, "future_num_frames": 50, "step_time": 0.1, "render_ego_history": True},
        "raster_params": {
            "raster_size": [224, 224], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": map_type,
            "semantic_map_key": "semantic_map.pb", "satellite_map_key": "aerial_map.png", "dataset_meta_key": "meta.json",
            "filter_agents_threshold": 0.5, "disable_traffic_light_faces": False, "set_origin_to_bottom": True,
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a Level 5 data set in zarr, or its table")
    parser.add_argument("--map-type", default="box_debug", help="kind of the rasterizer; maps are found in --folder")
    parser.add_argument("--folder", default=".", help="folder of the maps and their metadata")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()

    cfg = config(given.map_type)
    dataset = ChunkedDataset(given.data).open()
    of_threads = {threads: EgoDataset(cfg, dataset, build_rasterizer(cfg, LocalDataManager(given.folder)), threads=threads) for threads in (1, 2)}
    places = [number * 37 % len(dataset.frames) for number in range(len(dataset.frames) // BATCH * BATCH)]
    batches = [places[start : start + BATCH] for start in range(0, len(places), BATCH)]

    def one_by_one() -> object:
        for place in places:
            of_threads[1][place]
        return None

    def in_batches(threads: int, keeps: bool) -> Callable[[], object]:
        def run() -> object:
            kept = []
            for batch in batches:
                made = of_threads[threads].batch(batch)
                if keeps:
                    kept.append(made)
                del made
            return kept

        return run

    contenders: dict[str, Callable[[], object]] = {"one by one": one_by_one}
    contenders |= {f"batches, {threads} thread(s){', new memory' if keeps else ''}": in_batches(threads, keeps) for keeps in (False, True) for threads in (1, 2)}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(given.rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            kept = run()
            seconds[name].append(time.perf_counter() - start)
            del kept
    for name, found in seconds.items():
        print(f"{name:>32}: {len(places) / statistics.median(found):8.0f} samples/s")


if __name__ == "__main__":
    main()
