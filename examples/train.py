"""Trains a small PyTorch model on a Tetrys table, on one or several processes, and resumes where it was stopped.

    python examples/train.py FOLDER                                  # one process
    torchrun --nproc-per-node 2 examples/train.py FOLDER --batch 16  # two processes, each with half of the samples

Stop it at any time and start it again, with another number of processes or another batch size: it continues behind the last
checkpoint with exactly the samples that are left. With the same number of samples in each step, the model ends the same.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import tetrys as tt
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def table(folder: Path) -> tt.Index:
    """Returns the index of a table of poses whose next position is to be learned; writes the table on the first run."""
    url = folder / "poses"
    if not url.exists():
        row = np.arange(960)
        pose = np.stack([np.sin(row / 9), np.cos(row / 7)], axis=1)
        columns = {"log": [f"{one:02}" for one in row // 80], "time": row, "ego.pose": pose, "ego.next": np.roll(pose, -1, axis=0)}
        tt.write_table(url, columns, index=["log", "time"], sequence_by=["log"], order_by=["time"])
    return tt.read_index(url)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=32, help="samples of a step on each process")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--save-every", type=int, default=5, help="steps between two checkpoints")
    arguments = parser.parse_args()
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    torch.manual_seed(0)
    model: Any = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)).double()
    if world_size > 1:
        dist.init_process_group("gloo")
        model = DistributedDataParallel(model)
    # The first rank writes the table, the others wait for it.
    if rank == 0:
        table(arguments.folder)
    if world_size > 1:
        dist.barrier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # The last four poses of each sample, and the one to be learned. Ranks come from torch.distributed.
    loader = tt.DataLoader(
        table(arguments.folder), batch_size=arguments.batch, offsets={"ego.pose": range(-3, 1)}, skip_incomplete=True, seed=7, to="torch"
    )
    checkpoint = arguments.folder / "checkpoint.pt"
    step, loss, plain = 0, None, model.module if world_size > 1 else model
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        plain.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]

    while loader.epoch < arguments.epochs:
        for batch in loader:
            loss = torch.nn.functional.mse_loss(model(batch["ego.pose"].flatten(1)), batch["ego.next"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % arguments.save_every == 0 and rank == 0:
                # Any rank's state fits all ranks. The rename replaces the checkpoint at once.
                state = {"model": plain.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "step": step}
                torch.save(state, checkpoint.with_suffix(".new"))
                checkpoint.with_suffix(".new").rename(checkpoint)
    if rank == 0:
        torch.save(plain.state_dict(), arguments.folder / "model.pt")
        last = "no step was left" if loss is None else f"last loss {loss.item():.6f}"
        print(f"{step} steps of {arguments.batch * world_size} samples, {last}")
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
