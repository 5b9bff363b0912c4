"""Metrics and their files: the formulas of L5Kit in plain numpy, and its files byte by byte with Python's `csv`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from l5_scenes import AGENT
from tetrys.l5 import _evaluation as ours
from tetrys.l5._evaluation import CollisionType, detect_collision, distance_to_reference_trajectory

Floats = npt.NDArray[np.float64]


def forecast(rng: np.random.Generator, modes: int = 3, steps: int = 12) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns truth, prediction, confidences and availabilities; one step in five does not count, one confidence in four is 0."""
    truth = np.cumsum(rng.normal(0, 1, (steps, 2)), axis=0)
    predicted = truth + rng.normal(0, rng.choice([0.1, 3.0]), (modes, steps, 2))
    confidences = rng.dirichlet(np.ones(modes)) * (rng.random(modes) < 0.75)
    confidences[0] += 1 - confidences.sum()
    return truth, predicted, confidences, (rng.random(steps) < 0.8).astype(float)


def plain(truth: Floats, predicted: Floats, confidences: Floats, avails: Floats) -> dict[str, Any]:
    """Returns all metrics, by the formulas of L5Kit's `competition.md`."""
    squared = (((truth - predicted) * avails[:, None]) ** 2).sum(-1)
    with np.errstate(divide="ignore"):
        logs = np.log(confidences) - 0.5 * squared.sum(-1)
    likelihood = -logs.max() - np.log(np.exp(logs - logs.max()).sum())
    of_mode = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    distances = np.sqrt(squared)
    return {
        "neg_multi_log_likelihood": likelihood,
        "rmse": np.sqrt(2 * likelihood / len(truth)),
        "prob_true_mode": of_mode,
        "time_displace": (of_mode[:, None] * distances).sum(0),
        "average_displacement_error_oracle": distances.mean(-1).min(),
        "average_displacement_error_mean": distances.mean(),
        "final_displacement_error_oracle": distances[:, -1].min(),
        "final_displacement_error_mean": distances[:, -1].mean(),
    }


METRICS = list(plain(*forecast(np.random.default_rng(0))))


@pytest.mark.parametrize(("modes", "steps"), [(3, 50), (1, 12), (2, 1), (7, 3)])
def test_metrics_are_their_formulas(modes: int, steps: int) -> None:
    rng = np.random.default_rng(modes)
    for _ in range(50):
        given = forecast(rng, modes, steps)
        with np.errstate(invalid="ignore"):
            expected = plain(*given)
        for name, value in expected.items():
            found = getattr(ours, name)(*given)
            assert np.shape(found) == np.shape(value) and found.dtype == np.float64
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-12, err_msg=name)
            single = getattr(ours, name)(*(part.astype(np.float32) for part in given[:2]), *given[2:])
            np.testing.assert_allclose(single, value, rtol=1e-3, atol=1e-3, err_msg=name)


def test_a_sure_and_exact_forecast_has_no_error() -> None:
    path = np.arange(10.0).reshape(5, 2)
    assert ours.neg_multi_log_likelihood(path, path[None], [1.0], np.ones(5)) == 0
    assert ours.prob_true_mode(path, path[None].tolist(), [1], [1] * 5).tolist() == [1]


@pytest.mark.parametrize("name", METRICS)
def test_forecasts_without_sense_are_refused(name: str) -> None:
    truth, predicted, confidences, avails = forecast(np.random.default_rng(1))
    metric, nan = getattr(ours, name), np.full(12, np.nan)
    for given in (
        (truth[:-1], predicted, confidences, avails),
        (truth, predicted[0], confidences, avails),
        (truth, predicted, confidences[:-1], avails),
        (truth, predicted, confidences / 2, avails),
        (truth, predicted, confidences, avails[:-1]),
        (truth, predicted, confidences, nan),
        (truth * np.inf, predicted, confidences, avails),
        (truth[:0], predicted[:, :0], confidences, avails[:0]),
        (truth, predicted[:0], confidences[:0], avails),
    ):
        with pytest.raises(ValueError):
            metric(*given)


# --- Files ---------------------------------------------------------------------------------------------------------------------


def examples(count: int, modes: int = 3, steps: int = 4) -> dict[str, npt.NDArray[Any]]:
    rng = np.random.default_rng(count)
    forecasts = [forecast(rng, modes, steps) for _ in range(count)]
    truth, predicted, confidences, avails = (
        np.array([one[part] for one in forecasts]).reshape(shape)
        for part, shape in enumerate([(count, steps, 2), (count, modes, steps, 2), (count, modes), (count, steps)])
    )
    return {
        "timestamps": rng.integers(0, 2**60, count),
        "track_ids": rng.permutation(count),
        "truth": truth,
        "predicted": predicted,
        "confidences": confidences,
        "avails": avails,
    }


def coord_names(mode: int, steps: int) -> list[str]:
    return [f"coord_{axis}{mode}{step}" for step in range(steps) for axis in "xy"]


def written(header: list[str], rows: list[list[Any]]) -> bytes:
    """Writes a file with Python's `csv`."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows([header, *rows])
    return file.getvalue().encode()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_, np.uint8])
def test_ground_truth_is_written_as_python_writes_it(dtype: Any, tmp_path: Path) -> None:
    given = examples(9)
    avails, coords = given["avails"].astype(dtype), given["truth"].astype(np.float32)
    header = ["timestamp", "track_id", *(f"avail_{step}" for step in range(4)), *coord_names(0, 4)]
    rows = [
        [given["timestamps"][row], given["track_ids"][row], *avails[row], *(f"{coord:.5f}" for coord in coords[row].reshape(-1))]
        for row in range(9)
    ]
    file = tmp_path / "gt.csv"
    ours.write_gt_csv(file, given["timestamps"], given["track_ids"], coords, avails)
    assert file.read_bytes() == written(header, rows)
    if dtype is np.bool_:
        # L5Kit writes `True`, too, and cannot read it either.
        with pytest.raises(ValueError, match="True|False"):
            list(ours.read_gt_csv(file))
        return
    for row, read in enumerate(ours.read_gt_csv(str(file))):
        assert (read["timestamp"], read["track_id"]) == (str(given["timestamps"][row]), str(given["track_ids"][row]))
        assert read["coord"].shape == (4, 2) and read["coord"].dtype == read["avail"].dtype == np.float64
        np.testing.assert_allclose(read["coord"], coords[row], atol=5.1e-6)
        np.testing.assert_array_equal(read["avail"], avails[row])
    assert row == 8


@pytest.mark.parametrize("modes", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_written_as_python_writes_them(modes: int, dtype: Any, tmp_path: Path) -> None:
    given = examples(7, modes)
    confidences = np.zeros((7, 3), dtype)
    confidences[:, :modes] = given["confidences"]
    coords = np.zeros((7, 3, 4, 2))
    coords[:, :modes] = given["predicted"]
    header = ["timestamp", "track_id", *(f"conf_{mode}" for mode in range(3))]
    header += [name for mode in range(3) for name in coord_names(mode, 4)]
    times, tracks = given["timestamps"], given["track_ids"]
    rows = [
        [times[row], tracks[row], *confidences[row], *(f"{coord:.5f}" for coord in coords[row].reshape(-1))]
        for row in range(7)
    ]
    file = tmp_path / "pred.csv"
    ours.write_pred_csv(str(file), times, tracks, given["predicted"], given["confidences"].astype(dtype))
    assert file.read_bytes() == written(header, rows)
    read = list(ours.read_pred_csv(file))
    assert len(read) == 7 and read[0]["coords"].shape == (3, 4, 2)
    np.testing.assert_array_equal([row["conf"].astype(dtype) for row in read], confidences)
    np.testing.assert_allclose([row["coords"] for row in read], coords, atol=5.1e-6)
    if modes == 1:
        ours.write_pred_csv(file, times, tracks, given["predicted"][:, 0])
        assert [row["conf"].tolist() for row in ours.read_pred_csv(file)] == [[1, 0, 0]] * 7


def test_files_can_be_open_files_of_text_or_bytes(tmp_path: Path) -> None:
    given = examples(2000)
    named = given["timestamps"], given["track_ids"]
    ours.write_gt_csv(tmp_path / "gt.csv", *named, given["truth"], given["avails"])
    ours.write_pred_csv(tmp_path / "pred.csv", *named, given["predicted"], given["confidences"])
    for make in (io.BytesIO, lambda: io.StringIO(newline="")):
        truth, predictions = make(), make()
        ours.write_gt_csv(truth, *named, given["truth"], given["avails"])
        ours.write_pred_csv(predictions, *named, given["predicted"], given["confidences"])
        for file, name in ((truth, "gt.csv"), (predictions, "pred.csv")):
            content = file.getvalue()
            assert (content if isinstance(content, bytes) else content.encode()) == (tmp_path / name).read_bytes()
            file.seek(0)
        assert len(list(ours.read_gt_csv(truth))) == len(list(ours.read_pred_csv(predictions))) == 2000
        truth.seek(0)
        predictions.seek(0)
        metrics = [ours.neg_multi_log_likelihood]
        found = ours.compute_metrics_csv(truth, predictions, metrics)
        assert found == ours.compute_metrics_csv(tmp_path / "gt.csv", tmp_path / "pred.csv", metrics)


def test_metrics_of_files_are_averages(tmp_path: Path) -> None:
    given = examples(30)
    truth, predictions = str(tmp_path / "gt.csv"), str(tmp_path / "pred.csv")
    named, order = (given["timestamps"], given["track_ids"]), np.random.default_rng(0).permutation(30)
    ours.write_gt_csv(truth, *named, given["truth"], given["avails"])
    ours.write_pred_csv(predictions, *(part[order] for part in (*named, given["predicted"], given["confidences"])))
    found = ours.compute_metrics_csv(truth, predictions, [getattr(ours, name) for name in METRICS])
    rounded = [np.round(given[name], 5) for name in ("truth", "predicted")]
    each = [plain(rounded[0][row], rounded[1][row], given["confidences"][row], given["avails"][row]) for row in range(30)]
    assert list(found) == METRICS
    for name, value in found.items():
        expected = np.mean([one[name] for one in each], axis=0)
        assert type(value) is type(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-6, err_msg=name)

    def steps(ground_truth: Floats, pred: Floats, confidences: Floats, avails: Floats) -> Floats:
        assert pred.shape == (3, 4, 2) and ground_truth.shape == (4, 2) and confidences.shape == (3,)
        return avails

    mixed = ours.compute_metrics_csv(truth, predictions, [steps, ours.rmse])
    np.testing.assert_allclose(mixed["steps"], given["avails"].mean(0))
    np.testing.assert_allclose(mixed["rmse"], found["rmse"], rtol=1e-12)


def test_files_with_other_agents_are_refused(tmp_path: Path) -> None:
    given = examples(5)
    truth, predictions = tmp_path / "gt.csv", tmp_path / "pred.csv"
    ours.write_gt_csv(truth, given["timestamps"], given["track_ids"], given["truth"], given["avails"])
    for rows, times in ((slice(0, 4), 0), (slice(0, 5), 1)):
        named = given["timestamps"][rows] + times, given["track_ids"][rows]
        ours.write_pred_csv(predictions, *named, given["predicted"][rows], given["confidences"][rows])
        both: list[list[ours.Metric]] = [[ours.rmse], [ours.rmse, lambda *_: 0]]
        for metrics in both:
            with pytest.raises(ValueError, match="Missing"):
                ours.compute_metrics_csv(truth, predictions, metrics)
    with pytest.raises(ValueError, match="at least one metric"):
        ours.compute_metrics_csv(truth, predictions, [])
    empty = examples(0)
    named = empty["timestamps"], empty["track_ids"]
    ours.write_gt_csv(truth, *named, empty["truth"], empty["avails"])
    ours.write_pred_csv(predictions, *named, empty["predicted"], empty["confidences"])
    assert ours.compute_metrics_csv(truth, predictions, [ours.rmse]) == {} == ours.compute_metrics_csv(truth, predictions, [max])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "timestamp,track_id,avail_0\r\n",
        "a,b,c,d,e\r\n1,2,3,4,5\r\n",
        "timestamp,track_id,avail_0,coord_x00,coord_y00\r\n1,2,x,0,0\r\n",
    ],
)
def test_damaged_files_are_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "gt.csv"
    file.write_text(content, newline="")
    with pytest.raises(ValueError):
        list(ours.read_gt_csv(file))
    with pytest.raises(ValueError):
        list(ours.read_pred_csv(io.StringIO(content)))
    with pytest.raises(FileNotFoundError):
        list(ours.read_gt_csv(tmp_path / "no.csv"))


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    given, file = examples(5), tmp_path / "file.csv"
    times, tracks = given["timestamps"], given["track_ids"]
    truth, predicted, confidences, avails = (given[name] for name in ("truth", "predicted", "confidences", "avails"))
    for arrays in ((times[1:], tracks, truth, avails), (times, tracks, truth[0], avails), (times, tracks, truth, avails[:, 1:])):
        with pytest.raises(ValueError):
            ours.write_gt_csv(file, *arrays)
    for coords, confs in (
        (predicted, None),
        (predicted[:, 0], confidences),
        (predicted, confidences[:, 1:]),
        (predicted, confidences / 2),
        (np.tile(predicted, (1, 2, 1, 1)), np.tile(confidences, 2) / 2),
        (predicted[:, :0], confidences[:, :0]),
    ):
        with pytest.raises(ValueError):
            ours.write_pred_csv(file, times, tracks, coords, confs)
    for bad in (times.astype(str), times.astype(object)):
        with pytest.raises(TypeError):
            ours.write_gt_csv(file, bad, tracks, truth, avails)
    with pytest.raises(TypeError):
        ours.write_gt_csv(7, times, tracks, truth, avails)  # type: ignore[arg-type]


# --- Closed loop ---------------------------------------------------------------------------------------------------------------


def cars(*places: tuple[float, float, float]) -> npt.NDArray[Any]:
    """Returns cars of 4 by 2 metres, at x, y and yaw."""
    made = np.zeros(len(places), AGENT)
    for number, (x, y, yaw) in enumerate(places):
        made[number]["centroid"], made[number]["yaw"], made[number]["extent"] = (x, y), yaw, (4, 2, 1.5)
        made[number]["track_id"] = 100 + number
    return made


@pytest.mark.parametrize(
    ("place", "side"),
    [
        ((3.5, 0.2, 0.0), CollisionType.FRONT),
        ((-3.5, 0.2, 0.0), CollisionType.REAR),
        ((0.0, 1.8, 0.0), CollisionType.SIDE),
        ((0.3, -1.8, 0.0), CollisionType.SIDE),
    ],
)
def test_the_first_car_that_is_hit_is_found(place: tuple[float, float, float], side: CollisionType) -> None:
    agents = cars((30, 0, 0), (0, 2.5, 0), place, (0, 0, 0))
    found = detect_collision(np.zeros(2), np.array(0.0), np.array([4.0, 2.0, 1.5]), agents)
    assert found == (side, 102)
    assert detect_collision([0, 0], 0.0, [4, 2], agents[:2]) is None and detect_collision([0, 0], 0, [4, 2], agents[:0]) is None
    # Turned with its surroundings, the ego hits the same car.
    turned = agents.copy()
    turned["centroid"], turned["yaw"] = agents["centroid"] @ [[0, 1], [-1, 0]], np.pi / 2
    assert detect_collision([0, 0], np.pi / 2, [4, 2], turned) == found


def test_collisions_of_other_things_are_refused() -> None:
    with pytest.raises(TypeError):
        detect_collision([0, 0], 0, [4, 2], np.zeros((2, 2)))
    for centroid, extent in (([0], [4, 2]), ([0, 0], [4])):
        with pytest.raises(ValueError):
            detect_collision(centroid, 0, extent, cars((0, 0, 0)))


def test_distances_are_those_of_the_nearest_point() -> None:
    places = np.array([[0.0, 0.0], [1.0, 1.0]], np.float32)
    paths = np.array([[[9, 0], [3, 4], [6, 8]], [[1, 1], [0, 0], [5, 5]]], np.float32)
    found = distance_to_reference_trajectory(places, paths)
    assert found.dtype == np.float32 and found.tolist() == [5, 0]
    with pytest.raises(ValueError):
        distance_to_reference_trajectory(places[0], paths)


@pytest.mark.torch
def test_distances_of_tensors_are_tensors() -> None:
    import torch

    places, paths = [[0.0, 0.0], [1.0, 1.0]], [[[9.0, 0], [3, 4], [6, 8]], [[1, 1], [0, 0], [5, 5]]]
    tensor = distance_to_reference_trajectory(torch.tensor(places), torch.tensor(paths))
    assert isinstance(tensor, torch.Tensor) and tensor.tolist() == [5, 0]
