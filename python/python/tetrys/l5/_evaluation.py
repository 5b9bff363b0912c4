"""Metrics of predictions, and the files of ground truth and predictions (L5Kit's `evaluation`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .. import _tetrys
from .._arguments import path_of, several
from .._errors import WrongType, WrongValue, array_of, found
from ._checks import floats, numbers, records
from ._files import written_whole
from ._records import AGENT_DTYPE

__all__ = [
    "MAX_MODES",
    "CollisionType",
    "average_displacement_error_mean",
    "average_displacement_error_oracle",
    "compute_metrics_csv",
    "detect_collision",
    "distance_to_reference_trajectory",
    "final_displacement_error_mean",
    "final_displacement_error_oracle",
    "neg_multi_log_likelihood",
    "prob_true_mode",
    "read_gt_csv",
    "read_pred_csv",
    "rmse",
    "time_displace",
    "write_gt_csv",
    "write_pred_csv",
]

Floats = npt.NDArray[np.float64]
File = str | os.PathLike[str] | IO[Any]
"""A path, or a file object of text or bytes."""
Metric = Callable[[Floats, Floats, Floats, Floats], Any]
"""A function of the truth [T, 2], the prediction [M, T, 2], the confidences [M] and the availabilities [T]."""

MAX_MODES = 3
"""Modes in a file of predictions."""


def neg_multi_log_likelihood(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> np.float64:
    """Returns the negative logarithm of the likelihood of the truth: the competition's score.

    The prediction is a mixture of normal distributions with variance 1 m² around each mode.

    Args:
        ground_truth: Positions [T, 2] in metres.
        pred: Positions of each mode [M, T, 2].
        confidences: Confidence of each mode [M]; they add up to 1.
        avails: 1 for steps that count, 0 for others, [T].

    Raises:
        ValueError: shapes do not fit together, values are not finite, or confidences do not add up to 1. All metrics raise this.
    """
    return np.float64(_metric("neg_multi_log_likelihood", ground_truth, pred, confidences, avails)[0])


def rmse(ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike) -> np.float64:
    """Returns the root of the mean squared error that `neg_multi_log_likelihood` corresponds to, in metres."""
    return np.float64(_metric("rmse", ground_truth, pred, confidences, avails)[0])


def prob_true_mode(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> Floats:
    """Returns the probability of each mode given the truth, [M]."""
    return _metric("prob_true_mode", ground_truth, pred, confidences, avails)


def time_displace(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> Floats:
    """Returns the distance to the truth at each step in metres, averaged over the modes by their probability, [T]."""
    return _metric("time_displace", ground_truth, pred, confidences, avails)


def average_displacement_error_oracle(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> np.float64:
    """Returns the distance to the truth in metres, averaged over the steps, of the best mode."""
    return np.float64(_metric("average_displacement_error_oracle", ground_truth, pred, confidences, avails)[0])


def average_displacement_error_mean(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> np.float64:
    """Returns the distance to the truth in metres, averaged over steps and modes."""
    return np.float64(_metric("average_displacement_error_mean", ground_truth, pred, confidences, avails)[0])


def final_displacement_error_oracle(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> np.float64:
    """Returns the distance to the truth at the last step in metres, of the best mode."""
    return np.float64(_metric("final_displacement_error_oracle", ground_truth, pred, confidences, avails)[0])


def final_displacement_error_mean(
    ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> np.float64:
    """Returns the distance to the truth at the last step in metres, averaged over the modes."""
    return np.float64(_metric("final_displacement_error_mean", ground_truth, pred, confidences, avails)[0])


_NATIVE: tuple[Metric, ...] = (
    neg_multi_log_likelihood,
    rmse,
    prob_true_mode,
    time_displace,
    average_displacement_error_oracle,
    average_displacement_error_mean,
    final_displacement_error_oracle,
    final_displacement_error_mean,
)


def write_gt_csv(
    csv_path: File, timestamps: npt.ArrayLike, track_ids: npt.ArrayLike, coords: npt.ArrayLike, avails: npt.ArrayLike
) -> None:
    """Writes the ground truth of N agents, one line each.

    Args:
        csv_path: A path, whose file is replaced, or an open file.
        timestamps, track_ids: Frame and agent, [N].
        coords: Positions [N, T, 2] in metres.
        avails: 1 for steps that count, 0 for others, [N, T].

    Raises:
        ValueError: shapes do not fit together.
    """
    positions, steps = _coords(coords, (3,)), array_of("avails", avails)
    if steps.shape != positions.shape[:2]:
        raise WrongValue(f"avails: expected the shape {positions.shape[:2]}, found {steps.shape}")
    times, tracks = _names("timestamps", timestamps, len(positions)), _names("track_ids", track_ids, len(positions))
    flat_steps = _numbers("avails", steps)
    with _opened(csv_path, "wb") as file:
        _tetrys.l5_write_gt_csv(file, times, tracks, positions.reshape(-1), flat_steps, positions.shape[1])


def write_pred_csv(
    csv_path: File,
    timestamps: npt.ArrayLike,
    track_ids: npt.ArrayLike,
    coords: npt.ArrayLike,
    confs: npt.ArrayLike | None = None,
) -> None:
    """Writes the predictions for N agents, one line each. Fewer than three modes are filled up with zeros.

    Args:
        csv_path: A path, whose file is replaced, or an open file.
        timestamps, track_ids: Frame and agent, [N].
        coords: Positions in metres: of one mode [N, T, 2], or of up to three modes [N, M, T, 2].
        confs: Confidence of each mode [N, M]; they add up to 1. None if there is one mode.

    Raises:
        ValueError: shapes do not fit together, or confidences do not add up to 1.
    """
    positions = _coords(coords, (3, 4))
    if (confs is None) != (positions.ndim == 3):
        raise WrongValue(f"coords of shape {positions.shape}: confs belong to coords [N, M, T, 2] and to no other ones")
    confidences = None
    if confs is not None:
        confidences = numbers("confs", confs)
        if confidences.shape != positions.shape[:2] or not 1 <= positions.shape[1] <= MAX_MODES:
            raise WrongValue(f"confs of shape {confidences.shape}: expected {positions.shape[:2]}, with 1 to {MAX_MODES} modes")
        confidences = np.ascontiguousarray(confidences, np.float32 if confidences.dtype == np.float32 else np.float64).reshape(-1)
    times, tracks = _names("timestamps", timestamps, len(positions)), _names("track_ids", track_ids, len(positions))
    with _opened(csv_path, "wb") as file:
        _tetrys.l5_write_pred_csv(file, times, tracks, positions.reshape(-1), confidences, positions.shape[-2])


def read_gt_csv(csv_path: File) -> Iterator[dict[str, Any]]:
    """Reads a file of ground truth line by line: dicts with `track_id`, `timestamp` (texts), `coord` [T, 2] and `avail` [T].

    Raises:
        ValueError: the file has other columns, or a line has something else than numbers.
    """
    with _opened(csv_path, "rb") as file:
        for track_id, timestamp, coord, avail in _tetrys.L5CsvRows(file, False):
            yield {"track_id": track_id, "timestamp": timestamp, "coord": coord.reshape(-1, 2), "avail": avail}


def read_pred_csv(csv_path: File) -> Iterator[dict[str, Any]]:
    """Reads a file of predictions line by line: dicts with `track_id`, `timestamp` (texts), `coords` [3, T, 2] and `conf` [3].

    Raises:
        ValueError: the file has other columns, or a line has something else than numbers.
    """
    with _opened(csv_path, "rb") as file:
        for track_id, timestamp, coords, conf in _tetrys.L5CsvRows(file, True):
            steps = len(coords) // (2 * MAX_MODES)
            yield {"track_id": track_id, "timestamp": timestamp, "coords": coords.reshape(MAX_MODES, steps, 2), "conf": conf}


def compute_metrics_csv(ground_truth_path: File, inference_output_path: File, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Returns the average of each metric over all agents of a file of ground truth and a file of predictions, by its name.

    Args:
        metrics: Functions of this module, or other functions with the same arguments.

    Raises:
        ValueError: the files do not have the same agents, there is no metric, or a line is damaged.
    """
    chosen = [_function(metric) for metric in several("metrics", metrics)]
    if len(chosen) == 0:
        raise WrongValue("you must pass at least one metric to compute")
    if all(metric in _NATIVE for metric in chosen):
        names = [_name(metric) for metric in chosen]
        with _opened(ground_truth_path, "rb") as truth, _opened(inference_output_path, "rb") as predictions:
            averages = _tetrys.l5_compute_metrics_csv(truth, predictions, names)
        per_step = {"prob_true_mode", "time_displace"}
        return {name: np.array(values) if name in per_step else np.float64(values[0]) for name, values in averages}
    return _computed_in_python(ground_truth_path, inference_output_path, chosen)


def _function(metric: Any) -> Metric:
    if not callable(metric):
        raise WrongType(f"metrics: expected functions, found {found(metric)}")
    function: Metric = metric
    return function


def _name(metric: Metric) -> str:
    """Returns the name of a metric; an object of the caller without a name has that of its class."""
    return str(getattr(metric, "__name__", type(metric).__name__))


def _computed_in_python(ground_truth: File, predictions: File, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Computes metrics that are functions of the caller."""
    truth = {row["track_id"] + row["timestamp"]: row for row in read_gt_csv(ground_truth)}
    predicted = {row["track_id"] + row["timestamp"]: row for row in read_pred_csv(predictions)}
    if truth.keys() != predicted.keys():
        missing, unknown = sorted(truth.keys() - predicted.keys()), sorted(predicted.keys() - truth.keys())
        raise WrongValue(f"the files have different agents. Missing predictions: {missing[:5]}. Unknown: {unknown[:5]}")
    values: dict[str, list[Any]] = {_name(metric): [] for metric in metrics}
    for name, row in truth.items():
        for metric in metrics:
            values[_name(metric)].append(metric(row["coord"], predicted[name]["coords"], predicted[name]["conf"], row["avail"]))
    return {name: np.mean(floats(f"what the metric {name} returned", of_metric), axis=0) for name, of_metric in values.items() if of_metric}


class CollisionType(IntEnum):
    """The side of the ego car that another car touches."""

    FRONT = 0
    REAR = 1
    SIDE = 2


def detect_collision(
    pred_centroid: npt.ArrayLike, pred_yaw: npt.ArrayLike, pred_extent: npt.ArrayLike, target_agents: npt.NDArray[Any]
) -> tuple[CollisionType, Any] | None:
    """Returns with which side the ego car hits the first of other agents, and that agent's track id. None without a collision.

    Args:
        pred_centroid: Position of the ego car [2] in metres.
        pred_yaw: Its yaw in rad.
        pred_extent: Its length and width, in metres.
        target_agents: Records with `centroid`, `yaw`, `extent` and `track_id`.
    """
    agents = np.atleast_1d(records("target_agents", target_agents, ["centroid", "yaw", "extent", "track_id"], AGENT_DTYPE)).reshape(-1)
    centroid, extent = floats("pred_centroid", pred_centroid).reshape(-1), floats("pred_extent", pred_extent).reshape(-1)
    if len(centroid) < 2 or len(extent) < 2:
        raise WrongValue(f"pred_centroid and pred_extent: expected two numbers each, found {len(centroid)} and {len(extent)}")
    others = list(zip(agents["centroid"].tolist(), agents["yaw"].tolist(), agents["extent"][:, :2].tolist(), strict=True))
    if (yaws := floats("pred_yaw", pred_yaw)).size != 1:
        raise WrongValue(f"pred_yaw: expected one number, found the shape {list(yaws.shape)}")
    yaw = float(yaws.reshape(()))
    hit = _tetrys.l5_detect_collision(centroid[:2].tolist(), yaw, extent[:2].tolist(), others)
    return None if hit is None else (CollisionType(hit[0]), agents["track_id"][hit[1]])


def distance_to_reference_trajectory(pred_centroid: Any, ref_traj: Any) -> Any:
    """Returns the distance from each position to the nearest point of its reference, in metres, [B].

    Args:
        pred_centroid: Positions [B, 2].
        ref_traj: References [B, T, 2].

    Arrays give an array, and PyTorch's tensors a tensor.
    """
    is_tensor = hasattr(ref_traj, "amin") and hasattr(ref_traj, "device")
    if not is_tensor:
        pred_centroid, ref_traj = numbers("pred_centroid", pred_centroid), numbers("ref_traj", ref_traj)
    found_shapes = tuple(getattr(pred_centroid, "shape", ())), tuple(ref_traj.shape)
    if [len(shape) for shape in found_shapes] != [2, 3] or found_shapes[0][1] != 2 or found_shapes[1][::2] != found_shapes[0]:
        raise WrongValue(f"expected positions [B, 2] and references [B, T, 2], found the shapes {found_shapes[0]} and {found_shapes[1]}")
    if ref_traj.shape[1] == 0:
        raise WrongValue("ref_traj: expected one point or more in each reference, found none")
    if is_tensor:
        return (((pred_centroid[:, None] - ref_traj) ** 2).sum(-1) ** 0.5).amin(1)
    return np.linalg.norm(pred_centroid[:, None] - ref_traj, axis=-1).min(axis=1)


def _metric(
    name: str, ground_truth: npt.ArrayLike, pred: npt.ArrayLike, confidences: npt.ArrayLike, avails: npt.ArrayLike
) -> Floats:
    truth, predicted = floats("ground_truth", ground_truth), floats("pred", pred)
    modes, steps = floats("confidences", confidences), floats("avails", avails)
    if predicted.ndim != 3:
        raise WrongValue(f"pred: expected an array [M, T, 2], found the shape {predicted.shape}")
    for what, array, shape in (
        ("ground_truth", truth, predicted.shape[1:]),
        ("confidences", modes, predicted.shape[:1]),
        ("avails", steps, predicted.shape[1:2]),
    ):
        if array.shape != shape:
            raise WrongValue(f"{what}: expected the shape {shape} by that of pred, found {array.shape}")
    values = _tetrys.l5_metric(name, truth.reshape(-1), predicted.reshape(-1), modes, steps, predicted.shape[2])
    return np.array(values)


@contextmanager
def _opened(file: File, mode: str) -> Iterator[IO[Any]]:
    """Opens a path. A file that is written appears when it is complete. A file object stays open afterwards."""
    if not isinstance(file, (str, os.PathLike)):
        if not hasattr(file, "write" if "w" in mode else "read"):
            raise WrongType(f"expected a path or an open file, found {found(file)}")
        yield file
    elif "w" not in mode:
        with open(path_of("a file", file), mode) as opened:
            yield opened
    else:
        with written_whole(Path(path_of("csv_path", file))) as opened:
            yield opened


def _coords(coords: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
    positions = floats("coords", coords)
    if positions.ndim not in dimensions or positions.shape[-1] != 2:
        expected = " or ".join({3: "[N, T, 2]", 4: "[N, M, T, 2]"}[count] for count in dimensions)
        raise WrongValue(f"coords: expected the shape {expected}, found {positions.shape}")
    return positions


def _names(what: str, values: npt.ArrayLike, count: int) -> npt.NDArray[Any]:
    array = array_of(what, values)
    if array.shape != (count,):
        raise WrongValue(f"{what}: expected the shape {(count,)}, found {array.shape}")
    return _numbers(what, array)


def _numbers(what: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns numbers as one of the types that are written: bool, i64, u64, f32 or f64."""
    kinds: dict[str, Any] = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float32 if array.itemsize <= 4 else np.float64}
    if array.dtype.kind not in kinds:
        raise WrongType(f"{what}: expected numbers, found {array.dtype}")
    return np.ascontiguousarray(array, kinds[array.dtype.kind]).reshape(-1)
