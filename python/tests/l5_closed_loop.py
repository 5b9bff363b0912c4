"""Lets L5Kit's simulation unroll a scene over L5Kit's own data set and over one of Tetrys, and compares all that it gives, and the metrics.

The argument is the folder of the shared Level 5 data. `PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python` must be set.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

# Names that numpy has removed, and L5Kit 1.5 uses.
for name, value in {"int": int, "float": float, "bool": bool, "in1d": np.isin}.items():
    if name not in vars(np):
        setattr(np, name, value)

import l5kit.data  # noqa: E402
import l5kit.dataset  # noqa: E402
import l5kit.dataset.ego  # noqa: E402
import l5kit.rasterization  # noqa: E402
import l5kit.simulation.utils  # noqa: E402
from l5kit.cle.closed_loop_evaluator import ClosedLoopEvaluator, EvaluationPlan  # noqa: E402
from l5kit.cle.metrics import CollisionFrontMetric, CollisionRearMetric, CollisionSideMetric, DisplacementErrorL2Metric  # noqa: E402
from l5kit.cle.validators import RangeValidator  # noqa: E402
from l5kit.simulation.dataset import SimulationConfig  # noqa: E402
from l5kit.simulation.unroll import ClosedLoopSimulator  # noqa: E402
from l5kit.visualization import utils as theirs  # noqa: E402
from tetrys import l5  # noqa: E402
from tetrys.l5 import visualization as ours  # noqa: E402

CFG: dict[str, Any] = {
    "model_params": {"history_num_frames": 3, "future_num_frames": 5, "step_time": 0.1, "render_ego_history": True},
    "raster_params": {
        "raster_size": [64, 48], "pixel_size": [0.5, 0.5], "ego_center": [0.25, 0.5], "map_type": "box_debug", "filter_agents_threshold": 0.5,
        "disable_traffic_light_faces": False, "set_origin_to_bottom": True, "dataset_meta_key": "meta.json",
    },
}  # fmt: skip
SPAN = {"start_frame_index": 5, "num_simulation_steps": 30}
CASES: list[dict[str, Any]] = [
    SPAN, {**SPAN, "use_agents_gt": True, "disable_new_agents": True}, {**SPAN, "use_ego_gt": True, "distance_th_close": 30.0},
]  # fmt: skip

# numpy 2.4 makes no `int` of an array with one element, which `insert_agent` asks for.
l5kit.simulation.utils.int = lambda value: np.asarray(value).item()
# The one of L5Kit calls a part of PyTorch that is deprecated.
l5kit.dataset.ego.convert_str_to_fixed_length_tensor = l5.convert_str_to_fixed_length_tensor


class Model(torch.nn.Module):
    """Keeps the speed of the last step, and goes further where the raster has more boxes."""

    def forward(self, batch: dict[str, Any]) -> dict[str, Any]:
        history = batch["history_positions"]
        step = history[:, 0] - history[:, 1] + batch["image"].mean(dim=(1, 2, 3))[:, None]
        times = torch.arange(1, 6)[None, :, None]
        return {"positions": step[:, None] * times, "yaws": torch.full((len(history), 5, 1), 0.01)}


def unrolled(dataset: Any, case: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    simulator = ClosedLoopSimulator(SimulationConfig(**case), dataset, torch.device("cpu"), Model(), Model())
    outputs = simulator.unroll([0])
    metrics = [DisplacementErrorL2Metric(), CollisionFrontMetric(), CollisionRearMetric(), CollisionSideMetric()]
    evaluator = ClosedLoopEvaluator(EvaluationPlan(metrics, [RangeValidator("l2", DisplacementErrorL2Metric, max_value=1)]))
    evaluator.evaluate(outputs)
    return outputs[0], {name: np.array(values.tolist()) for name, values in evaluator.scene_metric_results[0].items()}


def compare_simulations(zarr: str) -> None:
    stored = l5.ChunkedDataset(zarr).open()
    own = l5.EgoDataset(CFG, stored, l5.build_rasterizer(CFG, l5.LocalDataManager(".")))
    # In memory, because L5Kit opens zarr groups with another version of zarr.
    in_memory = l5kit.data.ChunkedDataset("")
    for name in ("scenes", "frames", "agents", "tl_faces"):
        setattr(in_memory, name, getattr(stored, name)[:])
    real = l5kit.dataset.EgoDataset(CFG, in_memory, l5kit.rasterization.build_rasterizer(CFG, l5kit.data.LocalDataManager(".")))
    for case in CASES:
        (found, scores), (expected, known) = unrolled(own, case), unrolled(real, case)
        for name in ("simulated_agents", "simulated_ego", "recorded_agents", "recorded_ego"):
            one, other = getattr(found, name), getattr(expected, name)
            assert one.dtype == other.dtype and one.shape == other.shape, name
            for field in one.dtype.names:
                np.testing.assert_allclose(one[field], other[field], rtol=0, atol=1e-9, err_msg=f"{name}, {field}")
        seen = [[*output.ego_ins_outs, *(one for frame in output.agents_ins_outs for one in frame)] for output in (found, expected)]
        assert len(seen[0]) == len(seen[1]) >= 30
        for one, other in zip(*seen, strict=True):
            assert one.track_id == other.track_id
            for given, wanted in ((one.inputs, other.inputs), (one.outputs, other.outputs)):
                assert given.keys() == wanted.keys()
                for key in given:
                    assert np.asarray(given[key]).dtype == np.asarray(wanted[key]).dtype, key
                    np.testing.assert_allclose(given[key], wanted[key], rtol=1e-9, atol=1e-8, err_msg=key)
        assert scores.keys() == known.keys() and len(scores) == 4
        for name in scores:
            np.testing.assert_allclose(scores[name], known[name], atol=1e-5, err_msg=name)
        moved = np.abs(found.simulated_ego["ego_translation"] - found.recorded_ego["ego_translation"]).max()
        assert (moved > 0.1) != case.get("use_ego_gt", False)
        print(f"{len(seen[0])} samples, off by {scores['displacement_error_l2'].mean():.2f} m: the same")


def compare_pictures() -> None:
    """Draws random trajectories with L5Kit's functions and with those of Tetrys."""
    random = np.random.default_rng(1)
    for case in range(600):
        pictures = [np.zeros((*random.integers(1, 20, 2), 3), np.uint8)] * 2
        pictures[1] = pictures[1].copy()
        positions, color = random.uniform(-6, 26, (3, 2)), tuple(random.integers(1, 256, 3).tolist())
        yaws, matrix, radius = random.uniform(-7, 7, (3, 1)), np.eye(3) + np.pad(random.uniform(-0.5, 0.5, (2, 3)), ((0, 1), (0, 0))), case // 3 % 9
        for drawn, module in zip(pictures, (ours, theirs), strict=True):
            if case % 3 == 2:
                module.draw_reference_trajectory(drawn, matrix, positions)
            else:
                module.draw_trajectory(drawn, positions, color, radius, [None, yaws][case % 3])
        np.testing.assert_array_equal(*pictures)


if __name__ == "__main__":
    compare_pictures()
    compare_simulations(str(Path(sys.argv[1]) / "artefacts" / "single_scene.zarr"))
