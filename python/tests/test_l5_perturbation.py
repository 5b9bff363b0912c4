"""Perturbed samples and random generators give the numbers of L5Kit. The expected numbers are outputs of its own functions."""

from __future__ import annotations

import math
import os
import signal
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tetrys as tt
from hypothesis import given
from hypothesis import strategies as st
from tetrys.l5._perturbation import (
    AckermanPerturbation,
    GaussianRandomGenerator,
    LambdaRandomGenerator,
    Perturbation,
    ReplayRandomGenerator,
    UniformRandomGenerator,
    fit_ackerman_model_exact,
)

Frames = npt.NDArray[Any]

OFFSETS = [0.5, -0.3, 0.1]
"""To the left, ahead, and of the yaw."""


def assert_near(ours: npt.ArrayLike, theirs: npt.ArrayLike, off: float = 1e-8) -> None:
    """Compares with numbers of L5Kit. Versions of SciPy end the search at slightly different places."""
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=0, atol=off)


def frames() -> tuple[Frames, Frames]:
    """Returns four history frames, newest first, and five future frames of a slight curve."""
    drive = np.zeros(9, [("ego_translation", "f8", (3,)), ("ego_rotation", "f8", (3, 3))])
    for step, frame in enumerate(drive):
        yaw = 0.3 + 0.02 * step
        frame["ego_translation"] = 100 + step * 1.2 * math.cos(0.3), -50 + step * 1.2 * math.sin(0.3) + 0.01 * step * step, 7
        frame["ego_rotation"] = [[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]]
    return drive[3::-1].copy(), drive[4:].copy()


def always(min_displacement: float = 0) -> AckermanPerturbation:
    return AckermanPerturbation(ReplayRandomGenerator([OFFSETS]), 1.0, min_displacement)


def test_the_ego_moves_aside_and_its_future_leads_back() -> None:
    (before, _), (history, future) = frames(), frames()
    moved, path = always().perturb(history, future)
    assert moved is history and path is future
    assert_near(moved["ego_translation"][0], [102.982302815452, -48.483860421076, 7], 1e-11)
    assert_near(moved["ego_rotation"][0, :2, 0], [0.896052491175, 0.443948119784], 1e-11)
    np.testing.assert_array_equal(moved[1:], before[1:])
    expected = [
        [104.162450833425, -48.010494961363, 7],
        [105.398241513537, -47.613683154234, 7],
        [106.652890937785, -47.242344900594, 7],
        [107.909888362479, -46.870457271373, 7],
        [109.164883629325, -46.492255957, 7],
    ]
    assert_near(path["ego_translation"], expected)
    sines = [0.372276107708, 0.30572521703, 0.283800451767, 0.283698350776, 0.288539460913]
    assert_near(path["ego_rotation"][:, 1, 0], sines)


def test_a_slow_ego_moves_only_ahead() -> None:
    history, future = always(min_displacement=100).perturb(*frames())
    assert_near(history["ego_translation"][0], [103.158439938783, -48.951808830395, 7], 1e-11)
    sine, cosine = history["ego_rotation"][0, 1, 0], history["ego_rotation"][0, 0, 0]
    # The recorded yaw of 0.36 rad, rounded to f32.
    assert math.atan2(sine, cosine) == pytest.approx(0.36000001430511475, abs=1e-15)
    assert_near(future["ego_translation"][-1], [109.177857563907, -46.543345227116, 7])


def test_the_fit_is_that_of_l5kit() -> None:
    ones, zeros, steps = np.ones(4), np.zeros(4), np.arange(4.0)
    found = fit_ackerman_model_exact(0, 0, 0.2, 1.5, steps + 1, steps * 0.5, steps * 0.1, ones, ones, ones, zeros, zeros)
    expected = (
        [1.272602508204, 2.418065902933, 3.496965711901, 4.552834783799],
        [0.321395029828, 0.667934483461, 1.03070951751, 1.40035461747],
        [0.247376677483, 0.293778205902, 0.324369067665, 0.33675153332],
        [1.312559297359, 1.196735552071, 1.138257669914, 1.118703265802],
        [-0.187440702641, -0.115823745289, -0.058477882156, -0.019554404112],
        [0.047376677483, 0.046401528419, 0.030590861763, 0.012382465655],
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert_near(ours, theirs, 1e-6)


@given(
    start=st.tuples(*[st.floats(-2, 2)] * 4),
    turns=st.lists(st.floats(-0.05, 0.05), min_size=1, max_size=12),
)
def test_a_fitted_path_obeys_the_model_and_its_limits(start: tuple[float, ...], turns: list[float]) -> None:
    count = len(turns)
    yaws, steps, ones = np.cumsum(turns), np.arange(1.0, count + 1), np.ones(count)
    x, y, yaw, speed, acc, steer = fit_ackerman_model_exact(
        start[0], start[1], start[2], start[3], steps, steps * 0.1, yaws, ones, ones, ones, ones, ones
    )
    assert_near(np.diff(yaw, prepend=start[2]), steer, 1e-12)
    assert_near(np.diff(speed, prepend=start[3]), acc, 1e-12)
    assert_near(np.diff(x, prepend=start[0]), np.cos(yaw) * speed, 1e-12)
    assert_near(np.diff(y, prepend=start[1]), np.sin(yaw) * speed, 1e-12)
    assert np.all(np.abs(acc) <= 0.3) and np.all(np.abs(steer) <= math.radians(45) * 0.1)


def test_one_goal_that_is_where_the_car_drives_costs_nothing() -> None:
    one, none = np.ones(1), np.zeros(1)
    fit = fit_ackerman_model_exact(0, 0, 0, 1, one, none, none, one, one, one, one, one)
    assert [values.tolist() for values in fit] == [[1.0], [0.0], [0.0], [1.0], [0.0], [0.0]]


def test_ctrl_c_ends_a_long_fit() -> None:
    """A step of this fit takes about a second, and it has many."""
    count = 500
    goals = np.random.default_rng(1).normal(0, 50, (4, count))
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit_ackerman_model_exact(0, 0, 0, 1, *goals, *np.ones((4, count)))
    timer.join()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gx": np.ones(0)}, r"gx: expected one coordinate for each of 1 to 4096 goals, found the shape \[0\]"),
        ({"gx": np.ones((3, 2))}, r"gx: .*found the shape \[3, 2\]"),
        ({"gx": np.ones(4097)}, r"gx: .*found the shape \[4097\]"),
        ({"gr": np.ones(2)}, r"gr: expected the shape \[3\], found \[2\]"),
        ({"wgv": np.ones((3, 1))}, r"wgv: expected the shape \[3\], found \[3, 1\]"),
        ({"gy": np.array([0, np.nan, 0])}, "gy: expected finite numbers"),
        ({"wgx": np.array([0, np.inf, 0])}, "wgx: expected finite numbers"),
        ({"r0": math.nan}, "r0: expected finite numbers"),
        ({"ws": 1e16}, "ws: expected finite numbers below 1e15"),
        ({"x0": np.ones(3)}, r"x0: expected the shape \[\], found \[3\]"),
    ],
)
def test_a_fit_of_bad_input_is_refused(changed: dict[str, Any], message: str) -> None:
    goals = dict.fromkeys(("gx", "gy", "gr", "gv", "wgx", "wgy", "wgr", "wgv"), np.ones(3))
    with pytest.raises(ValueError, match=message) as raised:
        fit_ackerman_model_exact(**{"x0": 0.0, "y0": 0.0, "r0": 0.0, "v0": 1.0} | goals | changed)
    assert isinstance(raised.value, tt.Invalid)


def test_the_global_generator_decides_which_samples_change() -> None:
    replay = ReplayRandomGenerator([OFFSETS] * 6)
    perturbation = AckermanPerturbation(replay, 0.5)
    np.random.seed(5)
    changed = []
    for _ in range(6):
        history, future = frames()
        found, path = perturbation.perturb(history, future)
        # A sample that stays as it is comes back as copies.
        assert (found is history) == (path is future)
        changed.append(found is history)
    # The first values after this seed are 0.22, 0.87, 0.21, 0.92, 0.49 and 0.61.
    assert changed == [True, False, True, False, True, False]
    assert replay._next == 3


def test_a_sample_that_stays_needs_no_offsets() -> None:
    with pytest.warns(RuntimeWarning, match="pass None") as warned:
        never = AckermanPerturbation(ReplayRandomGenerator([]), 0)
    assert warned[0].filename == __file__
    for ours, theirs in zip(never.perturb(*frames()), frames(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_perturbation_needs_a_current_frame_and_a_future() -> None:
    history, future = frames()
    with pytest.raises(tt.Invalid, match="4 history frames and 0 future frames"):
        always().perturb(history, future[:0])
    with pytest.raises(tt.Invalid, match="0 history frames and 5 future frames"):
        always().perturb(history[:0], future)


def test_generators_draw_as_those_of_l5kit() -> None:
    gaussian = GaussianRandomGenerator([0, 0, 0], [0.5, 1.5, math.pi / 6])
    np.random.seed(7)
    assert_near(gaussian(), [0.062865110547, -0.198157294937, 0.335324515638], 1e-12)
    assert not np.array_equal(gaussian(), GaussianRandomGenerator([0, 0, 0], [0.5, 1.5, math.pi / 6], random_seed=1)())
    np.random.seed(3)
    assert_near(UniformRandomGenerator([-1, 0], [1, 5])(), [0.101595805149, 3.540739113091], 1e-12)
    np.testing.assert_array_equal(LambdaRandomGenerator(lambda: np.arange(3))(), [0, 1, 2])


def test_replayed_values_are_copies_and_end() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    replay = ReplayRandomGenerator(values)
    replay()[:] = 0
    assert replay().tolist() == [3, 4] and values[0].tolist() == [1, 2]
    with pytest.raises(IndexError):
        replay()


def test_own_perturbations_need_their_method() -> None:
    class Shift(Perturbation):
        def perturb(self, history_frames: Frames, future_frames: Frames) -> tuple[Frames, Frames]:
            return history_frames, future_frames

    assert Shift().perturb(*frames())[0].shape == (4,)
    with pytest.raises(TypeError):
        Perturbation()  # type: ignore[abstract]


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.3), (-0.3, 0.0), (0.1, 0.2), (-0.2, -0.1)])
def test_limits_of_a_fitted_path_need_not_be_on_both_sides_of_zero(low: float, high: float) -> None:
    steps, ones = np.arange(4.0), np.ones(4)
    goals = (steps, steps * 0.1, steps * 0.0, ones, ones, ones, ones, ones)
    for name in ("acc", "steer"):
        fit = fit_ackerman_model_exact(0, 0, 0, 1, *goals, **{f"min_{name}": low, f"max_{name}": high})  # type: ignore[arg-type]
        found = fit[4 if name == "acc" else 5]
        assert (found >= low).all() and (found <= high).all()
        for wrong in ((high, low), (low, low)):
            with pytest.raises(ValueError, match="expected lower limits below the upper"):
                fit_ackerman_model_exact(0, 0, 0, 1, *goals, **dict(zip((f"min_{name}", f"max_{name}"), wrong, strict=True)))  # type: ignore[arg-type]


@dataclass
class Problem:
    """A start (x, y, yaw and speed), goals, and weights of the distances, of steering and of acceleration."""

    start: list[float]
    goals: list[npt.NDArray[np.float64]]
    weights: list[npt.NDArray[np.float64]]
    efforts: tuple[float, float] = (5.0, 5.0)
    steer: tuple[float, float] = (-math.radians(45) * 0.1, math.radians(45) * 0.1)
    acc: tuple[float, float] = (-0.3, 0.3)

    def fitted(self) -> tuple[npt.NDArray[np.float64], ...]:
        return fit_ackerman_model_exact(*self.start, *self.goals, *self.weights, *self.efforts, *self.acc, *self.steer)  # type: ignore[arg-type]

    def residuals(self, controls: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns what the fit makes small, as L5Kit computes it, but for yaws that are equal modulo a full turn."""
        x, y, yaw, speed = self.driven(controls)
        turned = (yaw - self.goals[2] + np.pi) % (2 * np.pi) - np.pi
        away = [x - self.goals[0], y - self.goals[1], turned, speed - self.goals[3]]
        return np.concatenate([*(weight * one for weight, one in zip(self.weights, away, strict=True)), np.repeat(self.efforts, len(x)) * controls])

    def driven(self, controls: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
        """Returns x, y, yaw and speed."""
        yaw, speed = (first + np.cumsum(part) for first, part in zip(self.start[2:], np.split(controls, 2), strict=True))
        return [self.start[0] + np.cumsum(np.cos(yaw) * speed), self.start[1] + np.cumsum(np.sin(yaw) * speed), yaw, speed]

    def jacobian(self, controls: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns how each residual changes with each control, which acts on its own step and on all that follow."""
        _, _, yaw, speed = self.driven(controls)
        after = np.tri(len(yaw))

        def moved(rate: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return np.asarray(np.cumsum((after * rate)[:, ::-1], axis=1)[:, ::-1])

        by_steer = [moved(-np.sin(yaw) * speed), moved(np.cos(yaw) * speed), after, 0 * after]
        by_acc = [moved(np.cos(yaw)), moved(np.sin(yaw)), 0 * after, after]
        columns = [np.concatenate([weight[:, None] * one for weight, one in zip(self.weights, by, strict=True)]) for by in (by_steer, by_acc)]
        return np.concatenate([np.hstack(columns), np.diag(np.repeat(self.efforts, len(yaw)))])

    def of_scipy(self) -> npt.NDArray[np.float64]:
        """Returns steering and acceleration as SciPy finds them."""
        least, most = (np.repeat([steer, acc], len(self.goals[0])) for steer, acc in zip(self.steer, self.acc, strict=True))
        optimize = pytest.importorskip("scipy.optimize")
        found: npt.NDArray[np.float64] = optimize.least_squares(self.residuals, np.clip(0.0, least, most), self.jacobian, (least, most)).x
        return found


def a_problem(random: np.random.Generator, kind: str) -> Problem:
    """Returns a drive of up to 50 steps that turns and changes its speed, and a start beside it."""
    count = int(random.integers(1, 51))
    yaw = random.uniform(-3, 3) + np.cumsum(random.uniform(-0.08, 0.08) + random.normal(0, 0.01, count))
    speed = np.clip(random.uniform(-1, 2) + np.cumsum(random.normal(0, 0.05, count)), -1, 3)
    x, y = (np.cumsum(turn(yaw) * speed) + random.normal(0, 0.05, count) for turn in (np.cos, np.sin))
    start = list(np.array([0, 0, yaw[0], speed[0]]) + random.normal(0, 1, 4) * [1, 1, 0.3, 0.3])
    ones, zeros = np.ones(count), np.zeros(count)
    made = Problem(start, [x, y, yaw, speed], [ones, ones, ones, zeros])
    if kind == "weighted":
        return replace(made, weights=[random.uniform(0, 5, count) for _ in range(4)])
    if kind == "far from the origin":
        return replace(made, start=[start[0] + 1e4, start[1] - 2e5, *start[2:]], goals=[x + 1e4, y - 2e5, yaw, speed])
    if kind == "far from the goals":
        return replace(made, start=list(np.array([0, 0, yaw[0], speed[0]]) * -7 + 8 * np.array(start)))
    if kind == "bounds without zero":
        return replace(made, steer=(0.01, 0.3), acc=(-1.0, -0.01))
    if kind == "without efforts":
        return replace(made, efforts=(0.0, 0.0))
    return made


@pytest.mark.parametrize("kind", ["plain", "weighted", "far from the origin", "far from the goals", "bounds without zero", "without efforts"])
def test_a_fit_is_as_good_as_that_of_scipy(kind: str) -> None:
    random = np.random.default_rng(8)
    apart = []
    for number in range(12):
        problem = a_problem(random, kind)
        *path, acc, steer = problem.fitted()
        ours, theirs = np.concatenate([steer, acc]), problem.of_scipy()
        for one, other in zip(path, problem.driven(ours), strict=True):
            assert_near(one, other, 1e-9)
        costs = [0.5 * float(np.sum(problem.residuals(controls) ** 2)) for controls in (ours, theirs)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-5, abs=1e-6), number
        apart.append(max(float(np.abs(one - other).max()) for one, other in zip(path, problem.driven(theirs), strict=True)))
    # A long search amplifies rounding: the path of SciPy itself moves by millimetres if an input changes in its last place.
    assert np.median(apart) < 1e-8, apart
