"""Lets a planner drive, step by step as L5Kit's notebook `closed_loop_test`: L5Kit's own simulation and metrics, over a data set of Tetrys.

    L5KIT_DATA_FOLDER=/data python examples/l5/closed_loop.py work

The data folder has the files that `config.yaml` names. In place of a network, the ego car drives straight on. Needs PyYAML, Pillow, PyTorch and
L5Kit; the guide says how to install L5Kit.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import tetrys as tt
import torch
from tetrys.l5 import ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer, load_config_data
from tetrys.l5.visualization import draw_scene, write_gif

# L5Kit 1.5 was made for protobuf 3, and for a numpy with this name.
os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
if "in1d" not in vars(np):
    np.in1d = np.isin

from l5kit.cle.closed_loop_evaluator import ClosedLoopEvaluator, EvaluationPlan  # noqa: E402
from l5kit.cle.metrics import CollisionFrontMetric, CollisionRearMetric, CollisionSideMetric, DisplacementErrorL2Metric  # noqa: E402
from l5kit.cle.validators import RangeValidator, ValidationCountingAggregator  # noqa: E402
from l5kit.simulation.dataset import SimulationConfig  # noqa: E402
from l5kit.simulation.unroll import ClosedLoopSimulator  # noqa: E402

STEPS = 50


class StraightOn(torch.nn.Module):
    """Plans the next steps, each as long as the first one of the scene, in metres."""

    def __init__(self, lengths: list[float], future: int) -> None:
        super().__init__()
        self.lengths, self.future = torch.tensor(lengths, dtype=torch.float64), future

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        along = self.lengths[batch["scene_index"]][:, None] * torch.arange(1, self.future + 1)
        return {"positions": torch.stack([along, torch.zeros_like(along)], dim=-1), "yaws": torch.zeros_like(along)[..., None]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the table and the picture")
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)

    cfg = load_config_data(Path(__file__).with_name("config.yaml"))
    cfg["model_params"]["future_num_frames"] = future = 12
    data = LocalDataManager()
    table = work / "sample"
    if not table.exists():
        tt.ingest_l5(data.require(cfg["train_data_loader"]["key"]), table)
    dataset = EgoDataset(cfg, ChunkedDataset(str(table)).open(), build_rasterizer(cfg, data))
    scenes = list(range(len(dataset.dataset.scenes)))
    starts = [dataset.dataset.frames[first : first + 2]["ego_translation"][:, :2] for first, _ in dataset.dataset.scenes["frame_index_interval"]]
    model = StraightOn([float(np.linalg.norm(to - start)) for start, to in starts], future)

    # The ego car drives as it plans, and the other agents as they were recorded.
    settings = SimulationConfig(
        use_ego_gt=False, use_agents_gt=True, disable_new_agents=True, distance_th_far=500, distance_th_close=50, num_simulation_steps=STEPS
    )
    outputs = ClosedLoopSimulator(settings, dataset, torch.device("cpu"), model_ego=model).unroll(scenes)

    metrics = [DisplacementErrorL2Metric(), CollisionFrontMetric(), CollisionRearMetric(), CollisionSideMetric()]
    plan = EvaluationPlan(metrics, [RangeValidator("displacement_error_l2", DisplacementErrorL2Metric, max_value=30)])
    evaluator = ClosedLoopEvaluator(plan)
    evaluator.evaluate(outputs)
    errors = torch.stack([evaluator.scene_metric_results[scene]["displacement_error_l2"] for scene in scenes])
    failed = ValidationCountingAggregator().aggregate(evaluator.validation_results())
    print(f"{len(scenes)} scenes of {STEPS} steps: off by {float(errors[:, 10].mean()):.2f} m after 10 steps, {float(errors[:, -1].mean()):.2f} m at the end")
    print(f"scenes in which it was off by more than 30 m: {int(failed['displacement_error_l2'])}")
    assert float(errors[:, 10].mean()) < 2.0, "a car goes nearly straight on for a second"

    # The simulated scenes are a data set of samples, too.
    write_gif(work / "simulated.gif", draw_scene(outputs[0].simulated_dataset, 0), tuple(cfg["raster_params"]["raster_size"]), fps=10)
    print(f"{len(outputs[0].simulated_ego)} frames in {work / 'simulated.gif'}")


if __name__ == "__main__":
    main()
