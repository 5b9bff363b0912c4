"""Predicts where agents go, step by step as L5Kit's notebook `agent_motion_prediction`: training samples, a chopped test set, and metrics.

    L5KIT_DATA_FOLDER=/data python examples/l5/agent_motion_prediction.py work

The data folder has the files that `config.yaml` names. In place of a network, a linear model of the past positions learns from all batches.
Needs PyYAML.
"""

import argparse
from pathlib import Path

import numpy as np
import tetrys as tt
from tetrys.l5 import (
    AgentDataset,
    ChunkedDataset,
    LocalDataManager,
    build_rasterizer,
    compute_metrics_csv,
    create_chopped_dataset,
    load_config_data,
    neg_multi_log_likelihood,
    time_displace,
    write_pred_csv,
)

FRAMES_TO_KEEP, LEAST_FUTURE = 100, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the tables and the predictions")
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)

    cfg = load_config_data(Path(__file__).with_name("config.yaml"))
    data = LocalDataManager()
    table = work / "sample"
    if not table.exists():
        tt.ingest_l5(data.require(cfg["train_data_loader"]["key"]), table)
    rasterizer = build_rasterizer(cfg, data)

    # Training: batches of samples in random order. Steps of the future that nobody saw do not count.
    train = AgentDataset(cfg, ChunkedDataset(str(table)).open(), rasterizer)
    history, future = cfg["model_params"]["history_num_frames"], cfg["model_params"]["future_num_frames"]
    size = 2 * (history + 1) + 1
    squares, products = np.zeros((future, size, size)), np.zeros((future, size, 2))
    loader = tt.DataLoader(train, batch_size=cfg["train_data_loader"]["batch_size"], seed=7, last="short")
    for batch in loader:
        past, seen = inputs(batch["history_positions"]), batch["target_availabilities"]
        squares += np.einsum("bt,bi,bj->tij", seen, past, past)
        products += np.einsum("bt,bi,btc->tic", seen, past, batch["target_positions"])
    weights = np.linalg.solve(squares + 1e-3 * np.eye(size), products)

    # The test set: the first frames of each scene, the agents to predict, and their true future.
    chopped = Path(f"{table}_chopped_{FRAMES_TO_KEEP}")
    if not (chopped / table.name).exists():
        create_chopped_dataset(table, cfg["raster_params"]["filter_agents_threshold"], FRAMES_TO_KEEP, future, LEAST_FUTURE)
    mask = np.load(chopped / "mask.npz")["arr_0"]
    test = AgentDataset(cfg, ChunkedDataset(str(chopped / table.name)).open(), rasterizer, agents_mask=mask)
    print(f"{len(train)} samples to learn from, {len(test)} agents to predict")

    # Predictions are offsets from the agent in the axes of the world.
    batch = test.batch(range(len(test)))
    predicted = np.einsum("bi,tic->btc", inputs(batch["history_positions"]), weights)
    offsets = np.einsum("bxy,bty->btx", batch["world_from_agent"][:, :2, :2], predicted)
    still = np.zeros_like(offsets)
    scores = {}
    for name, coords in (("linear", offsets), ("standing still", still)):
        file = work / f"{name}.csv"
        write_pred_csv(file, batch["timestamp"], batch["track_id"], coords)
        found = compute_metrics_csv(chopped / "gt.csv", file, [neg_multi_log_likelihood, time_displace])
        scores[name] = found["neg_multi_log_likelihood"]
        print(f"{name:>14}: NLL {scores[name]:.0f}, off by {found['time_displace'][0]:.2f} m after a step, {found['time_displace'][-1]:.2f} m after {future}")
    assert scores["linear"] < scores["standing still"], "the linear model predicts better than standing still"


def inputs(history: np.ndarray) -> np.ndarray:
    """Returns the positions of the past as vectors [B, 2 * (H + 1) + 1], with a one at the end."""
    flat = history.reshape(len(history), -1).astype(np.float64)
    return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)


if __name__ == "__main__":
    main()
