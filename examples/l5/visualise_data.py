"""Looks at Level 5 data, step by step as L5Kit's notebook `visualise_data`: counts, positions, labels, rasters and pictures of a scene.

    L5KIT_DATA_FOLDER=/data python examples/l5/visualise_data.py pictures

The data folder has the files that `config.yaml` names. Writes pictures to the folder of the argument. Needs Pillow and PyYAML.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import tetrys as tt
from PIL import Image
from tetrys.l5 import PERCEPTION_LABELS, AgentDataset, ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer, load_config_data
from tetrys.l5.visualization import draw_sample, draw_scene, write_gif


def table_of(zarr: str, folder: Path) -> str:
    """Returns the table of a zarr group, which is ingested once."""
    table = folder / Path(zarr).stem
    if not table.exists():
        tt.ingest_l5(zarr, table)
    return str(table)


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
        Image.fromarray(draw_sample(ego, 50)).save(output / f"ego {map_type}.png")
        ego.plot(50).save(output / f"plot {map_type}.png")
    agents = AgentDataset(cfg, dataset, rasterizer)
    Image.fromarray(draw_sample(agents, 0)).save(output / "agent py_satellite.png")
    print(f"{len(agents)} samples of agents")

    # A scene as a moving picture: every fifth frame.
    cfg["raster_params"]["map_type"] = "py_semantic"
    ego = EgoDataset(cfg, dataset, build_rasterizer(cfg, data))
    frames = list(draw_scene(ego, 0, step=5))
    width, height = cfg["raster_params"]["raster_size"]
    assert {frame.shape for frame in frames} == {(height, width, 3)}
    write_gif(output / "scene.gif", frames, (width, height), fps=10)
    print(f"{len(frames)} frames in {output / 'scene.gif'}")


if __name__ == "__main__":
    main()
