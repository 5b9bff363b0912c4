"""Trains a small planner on Level 5 data: the next positions of the ego car from its past, with PyTorch.

    tetrys generate l5 sample.zarr --scenes 4
    python examples/train_planner.py sample.zarr --epochs 3

Ingests the data set into a table beside it once, trains, and prints the mean distance to the real positions after each epoch.
"""

import argparse
from pathlib import Path

import numpy as np
import tetrys as tt
import torch
from tetrys.l5 import ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer

HISTORY, FUTURE = 5, 10
CONFIG = {
    "model_params": {"history_num_frames": HISTORY, "future_num_frames": FUTURE, "step_time": 0.1, "render_ego_history": True},
    "raster_params": {
        "raster_size": [32, 32], "pixel_size": [1.0, 1.0], "ego_center": [0.25, 0.5], "map_type": "box_debug",
        "filter_agents_threshold": 0.5, "disable_traffic_light_faces": True, "set_origin_to_bottom": True,
    },
}  # fmt: skip


class Planner(torch.nn.Module):
    """A convolution over the boxes, and a layer over its result and the past positions."""

    def __init__(self) -> None:
        super().__init__()
        self.look = torch.nn.Sequential(
            torch.nn.Conv2d(2 * (HISTORY + 1), 8, 5, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 7 * 7, 32)
        )
        self.plan = torch.nn.Sequential(torch.nn.Linear(32 + 2 * (HISTORY + 1), 64), torch.nn.ReLU(), torch.nn.Linear(64, 2 * FUTURE))

    def forward(self, image: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        return self.plan(torch.cat([self.look(image), past.flatten(1)], 1)).reshape(-1, FUTURE, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a Level 5 data set in zarr")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()

    table = arguments.data.with_suffix(".table")
    if not table.exists():
        tt.ingest_l5(str(arguments.data), str(table))
    rasterizer = build_rasterizer(CONFIG, LocalDataManager("."))
    samples = EgoDataset(CONFIG, ChunkedDataset(str(table)).open(), rasterizer)
    loader = tt.DataLoader(samples, batch_size=arguments.batch, seed=7, last="short", to="torch")

    torch.manual_seed(0)
    planner = Planner()
    optimizer = torch.optim.Adam(planner.parameters(), lr=3e-3)
    for epoch in range(arguments.epochs):
        distances = []
        for batch in loader:
            there = batch["target_availabilities"]
            distance = (planner(batch["image"], batch["history_positions"]) - batch["target_positions"]).norm(dim=2)
            loss = (distance * there).sum() / there.sum().clamp(min=1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            distances.append(loss.item())
        print(f"epoch {epoch}: {np.mean(distances):.2f} m from the real positions")


if __name__ == "__main__":
    main()
