"""Makes vectors of agents and lanes, step by step as L5Kit's notebook `urban_driver`: a map, vectorized samples, and an open-loop evaluation.

    L5KIT_DATA_FOLDER=/data python examples/l5/urban_driver.py work

The data folder has the files that `config.yaml` names. In place of a network, the driver keeps its speed.
Needs PyYAML.
"""

import argparse
from pathlib import Path

import numpy as np
import tetrys as tt
from tetrys.l5 import AckermanPerturbation, ChunkedDataset, EgoDatasetVectorized, GaussianRandomGenerator, LocalDataManager, build_vectorizer, load_config_data


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
    vectorizer = build_vectorizer(cfg, data)
    offsets = GaussianRandomGenerator(mean=np.array([0.0, 0.0, 0.0]), std=np.array([1.0, 0.2, np.pi / 12]))
    dataset = ChunkedDataset(str(table)).open()
    train = EgoDatasetVectorized(cfg, dataset, vectorizer, AckermanPerturbation(random_offset_generator=offsets, perturb_prob=0.3))

    # Batches of vectors, as a network gets them.
    seen = 0
    for batch in tt.DataLoader(train, batch_size=cfg["train_data_loader"]["batch_size"], seed=7, last="short"):
        if seen == 0:
            for name in ("agent_trajectory_polyline", "other_agents_polyline", "lanes_mid", "crosswalks", "target_positions"):
                print(f"{name:>25}: {batch[name].dtype} {batch[name].shape}")
        seen += len(batch["yaw"])
        assert batch["lanes_mid"].shape[1:] == (30, 20, 3) and batch["other_agents_polyline"].shape[1] == 30
    assert seen == len(dataset.frames)

    # Open loop: the ego car keeps the speed of its last steps. Steps that nobody saw do not count: 5 of the past, and each of the future.
    recorded = EgoDatasetVectorized(cfg, dataset, vectorizer)
    off, counted, plans, nearby = np.zeros(future), np.zeros(future), 0, 0
    for batch in tt.DataLoader(recorded, batch_size=cfg["train_data_loader"]["batch_size"], shuffle="none", last="short"):
        step = (batch["history_positions"][:, 0] - batch["history_positions"][:, 5]) / 5
        planned = step[:, None] * np.arange(1, future + 1)[None, :, None]
        distances = np.linalg.norm(planned - batch["target_positions"], axis=2)
        is_planned = batch["history_availabilities"][:, 5] > 0
        available = batch["target_availabilities"] * is_planned[:, None]
        off += (distances * available).sum(axis=0)
        counted += available.sum(axis=0)
        plans += is_planned.sum()
        nearby += (is_planned & batch["lanes_mid_availabilities"].any(axis=(1, 2))).sum()
    error = off.sum() / counted.sum()
    print(f"{plans} plans: ADE {error:.2f} m, FDE {off[-1] / counted[-1]:.2f} m; lanes are near in {nearby / plans:.0%} of them")
    assert error < 1.0, "a car of 12 steps of 0.1 s keeps its speed nearly"


if __name__ == "__main__":
    main()
