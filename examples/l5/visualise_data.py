"""Looks at Level 5 data, step by step as L5Kit's notebook `visualise_data`: counts, positions, labels, rasters and pictures of a scene.

    L5KIT_DATA_FOLDER=/data python examples/l5/visualise_data.py pictures

The data folder has the files that `config.yaml` names. Writes pictures to the folder of the argument. Needs Pillow and PyYAML.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import tetrys as tt
from PIL import Image, ImageDraw
from tetrys.l5 import PERCEPTION_LABELS, AgentDataset, ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer, load_config_data
from tetrys.l5.geometry import transform_points


def table_of(zarr: str, folder: Path) -> str:
    """Returns the table of a zarr group, which is ingested once."""
    table = folder / Path(zarr).stem
    if not table.exists():
        tt.ingest_l5(zarr, table)
    return str(table)


def drawn(dataset: EgoDataset, index: int) -> Image.Image:
    """Returns the raster of a sample with its future: pixels of the raster are those of `raster_from_agent`."""
    sample = dataset[index]
    picture = Image.fromarray(dataset.rasterizer.to_rgb(sample["image"].transpose(1, 2, 0)))
    future = sample["target_positions"][sample["target_availabilities"] > 0]
    for x, y in transform_points(future, sample["raster_from_agent"]):
        ImageDraw.Draw(picture).ellipse((x - 1, y - 1, x + 1, y + 1), fill=(255, 0, 255))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="folder of the table and the pictures")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    cfg = load_config_data(Path(__file__).with_name("config.yaml"))
    data = LocalDataManager()
    dataset = ChunkedDataset(table_of(data.require(cfg["train_data_loader"]["key"]), output)).open()
    print(dataset)

    # Where the ego car drove. A field of an array is read alone.
    positions = dataset.frames["ego_translation"][:, :2]
    print(f"the ego car drove {np.linalg.norm(np.diff(positions, axis=0), axis=1).sum():.0f} m")

    # The kinds of the agents.
    labels = Counter(np.argmax(dataset.agents["label_probabilities"], axis=1).tolist())
    for label, number in labels.most_common():
        print(f"{PERCEPTION_LABELS[label]:>28}: {number}")
    assert sum(labels.values()) == len(dataset.agents)

    # A sample on a map of lanes, and on an aerial photograph.
    for map_type in ("py_semantic", "py_satellite"):
        cfg["raster_params"]["map_type"] = map_type
        rasterizer = build_rasterizer(cfg, data)
        ego = EgoDataset(cfg, dataset, rasterizer)
        drawn(ego, 50).save(output / f"ego {map_type}.png")
        ego.plot(50).save(output / f"plot {map_type}.png")
    agents = AgentDataset(cfg, dataset, rasterizer)
    drawn(agents, 0).save(output / "agent py_satellite.png")
    print(f"{len(agents)} samples of agents")

    # A scene as a moving picture: every fifth frame.
    cfg["raster_params"]["map_type"] = "py_semantic"
    ego = EgoDataset(cfg, dataset, build_rasterizer(cfg, data))
    frames = [drawn(ego, index) for index in ego.get_scene_indices(0)[::5]]
    frames[0].save(output / "scene.gif", save_all=True, append_images=frames[1:], duration=100, loop=0)
    assert {frame.size for frame in frames} == {tuple(cfg["raster_params"]["raster_size"])}
    print(f"{len(frames)} frames in {output / 'scene.gif'}")


if __name__ == "__main__":
    main()
