"""Plans where the ego car goes, step by step as L5Kit's notebook `planning`: rasters, perturbed trajectories, and an open-loop evaluation.

    L5KIT_DATA_FOLDER=/data python examples/l5/planning.py work

The data folder has the files that `config.yaml` names. In place of a network, a linear model of the past positions learns from all batches.
Needs PyYAML.
"""

import argparse
from pathlib import Path

import numpy as np
import tetrys as tt
from tetrys.l5 import AckermanPerturbation, ChunkedDataset, EgoDataset, GaussianRandomGenerator, LocalDataManager, build_rasterizer, load_config_data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the table")
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)

    cfg = load_config_data(Path(__file__).with_name("config.yaml"))
    cfg["model_params"]["future_num_frames"] = future = 12
    data = LocalDataManager()
    table = work / "sample"
    if not table.exists():
        tt.ingest_l5(data.require(cfg["train_data_loader"]["key"]), table)
    dataset, rasterizer = ChunkedDataset(str(table)).open(), build_rasterizer(cfg, data)

    # Some trajectories start beside the lane and lead back, so that a planner learns to return.
    offsets = GaussianRandomGenerator(mean=np.array([0.0, 0.0, 0.0]), std=np.array([1.0, 0.2, np.pi / 12]))
    recorded = EgoDataset(cfg, dataset, rasterizer)
    perturbed = EgoDataset(cfg, dataset, rasterizer, AckermanPerturbation(random_offset_generator=offsets, perturb_prob=0.3))

    learned = {}
    for name, samples in (("recorded", recorded), ("perturbed", perturbed)):
        pairs = [], []
        for batch in tt.DataLoader(samples, batch_size=cfg["train_data_loader"]["batch_size"], seed=7, last="short"):
            whole = batch["target_availabilities"].all(axis=1)
            assert batch["image"].shape[1:] == (rasterizer.num_channels(), *cfg["raster_params"]["raster_size"])
            pairs[0].append(inputs(batch)[whole])
            pairs[1].append(batch["target_positions"][whole].reshape(-1, 2 * future))
        past, targets = (np.concatenate(part).astype(np.float64) for part in pairs)
        learned[name] = np.linalg.lstsq(past, targets, rcond=1e-6)[0]
        print(f"{name:>9}: learned from {len(past)} samples")

    # Open loop: plans from recorded places against what the car did. Steps of the future that nobody saw do not count.
    off, seen = {name: np.zeros(future) for name in learned}, np.zeros(future)
    for batch in tt.DataLoader(recorded, batch_size=cfg["train_data_loader"]["batch_size"], shuffle="none", last="short"):
        available = batch["target_availabilities"]
        seen += available.sum(axis=0)
        for name, weights in learned.items():
            planned = (inputs(batch) @ weights).reshape(-1, future, 2)
            off[name] += (np.linalg.norm(planned - batch["target_positions"], axis=2) * available).sum(axis=0)
    errors = {name: distances.sum() / seen.sum() for name, distances in off.items()}
    for name, distances in off.items():
        print(f"{name:>9}: ADE {errors[name]:.2f} m, FDE {distances[-1] / seen[-1]:.2f} m")
    assert errors["recorded"] < 1.0, "a car of 12 steps of 0.1 s goes nearly straight on"


def inputs(batch: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the positions of the past as vectors [B, 2 * (H + 1) + 1], with a one at the end."""
    history = batch["history_positions"].reshape(len(batch["history_positions"]), -1)
    return np.concatenate([history, np.ones((len(history), 1))], axis=1)


if __name__ == "__main__":
    main()
